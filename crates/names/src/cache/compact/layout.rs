//! Where everything lies in the file.
//!
//! | part | bytes |
//! |---|---|
//! | header (see `header`) | 4,096 |
//! | how often each writer's number was taken | 4,096 |
//! | buckets | 128 each |
//! | small and large address sets | 32 and 96 each |
//! | generations of the negative filter | 8 a word |

use std::ops::Range;

use super::bucket;
use super::settings::{CompactSettings, Negative};
use super::slot::MOST_CELLS;

/// Bytes before the buckets.
const START: u64 = 8_192;
/// Bytes of a page.
const PAGE: u64 = 4_096;
/// Numbers of writers, of which 0 is nobody's.
pub(super) const WRITERS: usize = 1_024;
/// Words of 64 bits of a small address set.
pub(super) const SMALL: usize = 4;
/// Words of 64 bits of a large address set.
pub(super) const LARGE: usize = 12;
/// Names to a slot when a cache holds what it was made for.
const LOAD: f64 = 0.9;

/// The sizes of all parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Buckets.
    pub(super) buckets: u64,
    /// Small address sets.
    pub(super) small: u64,
    /// Large address sets.
    pub(super) large: u64,
    /// Generations of the filter; 1: all is cleared at once.
    pub(super) generations: u64,
    /// Words of a generation; 0: there is no filter.
    pub(super) filter_words: u64,
    /// Bits of a name in the filter.
    pub(super) hashes: u64,
}

impl Layout {
    /// What settings ask for.
    pub(super) fn of(settings: &CompactSettings) -> Self {
        let generations = match settings.negative {
            Negative::ClearAll => 1,
            Negative::Generations(count) => u64::from(count),
        };
        let names = settings.negative_capacity.unwrap_or(settings.capacity / 5);
        // Any generation may err, so each has its part of the rate; a Bloom filter takes log2(1/rate) / ln 2 bits a name.
        let hashes = (generations as f64 / settings.false_positives).log2();
        let bits = names as f64 / generations as f64 * hashes / std::f64::consts::LN_2;
        Layout {
            buckets: ((settings.capacity as f64 / (LOAD * bucket::SLOTS as f64)).ceil() as u64).max(2),
            small: settings.small_sets.unwrap_or((settings.capacity / 8).max(64)),
            large: settings.large_sets.unwrap_or((settings.capacity / 32).max(64)),
            generations,
            filter_words: (bits / 64.0).ceil() as u64,
            hashes: (hashes.round() as u64).max(1),
        }
    }

    /// Whether settings can ask for it: what else a header may say.
    pub(super) fn is_possible(&self) -> bool {
        (2..=1 << 32).contains(&self.buckets)
            && self.small.max(self.large) <= MOST_CELLS
            && (1..=16).contains(&self.generations)
            && self.filter_words <= 1 << 36
            && (1..=64).contains(&self.hashes)
    }

    /// Bytes of the whole.
    pub(super) fn bytes(&self) -> u64 {
        (self.filter_start() + self.generations * self.filter_words * 8).next_multiple_of(PAGE)
    }

    /// The buckets, in bytes.
    pub(super) fn bucket_bytes(&self) -> Range<u64> {
        START..START + self.buckets * bucket::BYTES as u64
    }

    /// The small address sets, in bytes.
    pub(super) fn small_bytes(&self) -> Range<u64> {
        let start = self.bucket_bytes().end;
        start..start + self.small * SMALL as u64 * 8
    }

    /// The large address sets, in bytes.
    pub(super) fn large_bytes(&self) -> Range<u64> {
        let start = self.small_bytes().end;
        start..start + self.large * LARGE as u64 * 8
    }

    /// The filter, in bytes.
    pub(super) fn filter_bytes(&self) -> Range<u64> {
        let start = self.filter_start();
        start..start + self.generations * self.filter_words * 8
    }

    /// Where the filter starts: at a cache line.
    fn filter_start(&self) -> u64 {
        self.large_bytes().end.next_multiple_of(64)
    }
}

/// A range of bytes in words of this many.
pub(super) fn in_words(bytes: Range<u64>, width: u64) -> Range<usize> {
    (bytes.start / width) as usize..(bytes.end / width) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_takes_less_than_24_bytes_and_a_negative_one_the_bits_that_are_promised() {
        let settings = CompactSettings {
            capacity: 10_000_000,
            negative_capacity: Some(10_000_000),
            ..CompactSettings::default()
        };
        for (negative, bits) in [(Negative::ClearAll, 29.0), (Negative::Generations(4), 32.0)] {
            let layout = Layout::of(&CompactSettings { negative, ..settings.clone() });
            assert!((layout.bucket_bytes().end as f64) < 24.0 * 1e7);
            assert!((layout.filter_bytes().end - layout.filter_bytes().start) as f64 * 8.0 <= bits * 1e7);
        }
    }

    #[test]
    fn parts_follow_each_other_and_are_aligned() {
        let layout = Layout::of(&CompactSettings { capacity: 12_345, ..CompactSettings::default() });
        let parts =
            [layout.bucket_bytes(), layout.small_bytes(), layout.large_bytes(), layout.filter_bytes()];
        assert!(parts.windows(2).all(|two| two[0].end <= two[1].start));
        assert!(parts.iter().all(|part| part.start % 8 == 0));
        assert_eq!(layout.bucket_bytes().start % bucket::BYTES as u64, 0);
        assert!(layout.bytes() >= layout.filter_bytes().end && layout.bytes().is_multiple_of(PAGE));
    }
}
