//! Histograms of times, with the same bucket bounds everywhere, so that counts of several servers can be added.

use lycosa_url::Micros;

/// The upper bound of each bucket, in microseconds: half powers of ten, from a cached answer to one that is too
/// late.
pub const TIME_BOUNDS: [Micros; 13] =
    [10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000];

/// Buckets: one for each bound, and one for longer times.
const BUCKETS: usize = TIME_BOUNDS.len() + 1;

/// A histogram of times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// The number of times in each bucket: above the previous bound, up to and including its own. The last
    /// bucket has no bound.
    pub counts: [u64; BUCKETS],
    /// The sum of all times, in microseconds.
    pub sum: Micros,
}

impl Times {
    /// The bucket of a time: its index in [`counts`](Self::counts).
    #[inline]
    pub fn bucket(time: Micros) -> usize {
        TIME_BOUNDS.iter().take_while(|bound| **bound < time).count()
    }

    /// Adds a time.
    pub(crate) fn add(&mut self, time: Micros) {
        self.counts[Times::bucket(time)] += 1;
        self.sum = self.sum.saturating_add(time);
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Times) {
        for (count, others) in self.counts.iter_mut().zip(other.counts) {
            *count += others;
        }
        self.sum = self.sum.saturating_add(other.sum);
    }
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
}
