//! A histogram of answer times that one thread updates while others read.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lycosa_names::{TIME_BOUNDS, Times};
use lycosa_url::Micros;

/// [`Times`] shared by threads: a reader may see a time counted in its bucket before the sum includes it.
#[derive(Debug, Default)]
pub(crate) struct SharedTimes {
    counts: [AtomicU64; TIME_BOUNDS.len() + 1],
    sum: AtomicU64,
}

impl SharedTimes {
    /// Counts several answers with the same time.
    pub(crate) fn add_many(&self, time: Micros, count: u64) {
        self.counts[Times::bucket(time)].fetch_add(count, Relaxed);
        self.sum.fetch_add(time.saturating_mul(count), Relaxed);
    }

    /// A snapshot of the counts.
    pub(crate) fn read(&self) -> Times {
        Times {
            counts: std::array::from_fn(|bucket| self.counts[bucket].load(Relaxed)),
            sum: self.sum.load(Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_threads_count_is_added_up() {
        let (one, other) = (SharedTimes::default(), SharedTimes::default());
        one.add_many(20, 3);
        other.add_many(20, 1);
        other.add_many(5_000, 2);
        let mut all = one.read();
        all.merge(&other.read());
        assert_eq!((all.counts[1], all.counts[6], all.sum), (4, 2, 80 + 10_000));
    }
}
