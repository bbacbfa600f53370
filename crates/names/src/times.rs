//! How long things took, counted in buckets whose bounds are the same everywhere, so that counts of several servers can be added.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lycosa_url::Micros;

/// The upper bound of each bucket, in microseconds: half powers of ten, from an answer out of memory to one that came too late.
pub const TIME_BOUNDS: [Micros; 13] =
    [10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000];

/// Buckets: one for each bound, and one for all that took longer.
const BUCKETS: usize = TIME_BOUNDS.len() + 1;

/// A histogram of times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// How many were in each bucket: above the bound before, up to its own, that included. The last one has no bound.
    pub counts: [u64; BUCKETS],
    /// The sum of all times, in microseconds.
    pub sum: Micros,
}

impl Times {
    /// Counts one.
    pub(crate) fn add(&mut self, time: Micros) {
        self.counts[bucket(time)] += 1;
        self.sum = self.sum.saturating_add(time);
    }

    /// Counts what another one has counted.
    pub(crate) fn merge(&mut self, other: &Times) {
        for (count, others) in self.counts.iter_mut().zip(other.counts) {
            *count += others;
        }
        self.sum = self.sum.saturating_add(other.sum);
    }
}

/// The same, counted by one thread while others read: a reader may see a time in its bucket that is not in the sum yet.
#[derive(Debug, Default)]
pub(crate) struct SharedTimes {
    counts: [AtomicU64; BUCKETS],
    sum: AtomicU64,
}

impl SharedTimes {
    /// Counts several that took equally long.
    pub(crate) fn add_many(&self, time: Micros, count: u64) {
        self.counts[bucket(time)].fetch_add(count, Relaxed);
        self.sum.fetch_add(time.saturating_mul(count), Relaxed);
    }

    /// What was counted.
    pub(crate) fn read(&self) -> Times {
        Times {
            counts: std::array::from_fn(|bucket| self.counts[bucket].load(Relaxed)),
            sum: self.sum.load(Relaxed),
        }
    }
}

/// The bucket of a time.
fn bucket(time: Micros) -> usize {
    TIME_BOUNDS.iter().take_while(|bound| **bound < time).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_counted_up_to_its_bound_that_included() {
        let mut times = Times::default();
        for time in [0, 10, 11, 1_000, 1_001, 10_000_000, 10_000_001, Micros::MAX / 4] {
            times.add(time);
        }
        assert_eq!(times.counts, [2, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert!(TIME_BOUNDS.is_sorted());
    }

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
