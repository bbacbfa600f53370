//! Whether a key can be in a run at all: a blocked Bloom filter, one cache line a key.

use std::io;

use super::tree::Key;

/// Bits a key: with six bits set in a block of 512, about one key in a hundred is taken for another.
const BITS: usize = 10;

/// Bits that a key sets in its block.
const SET: u32 = 6;

/// A cache line of bits.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Line([u64; 8]);

/// A Bloom filter.
#[derive(Debug)]
pub(super) struct Filter(Vec<Line>);

impl Filter {
    /// An empty filter for so many keys.
    pub(super) fn with_room(keys: u64) -> Self {
        Filter(vec![Line::default(); Self::lines(keys)])
    }

    /// Bytes of memory of a filter for so many keys.
    pub(super) fn size(keys: u64) -> usize {
        Self::lines(keys) * size_of::<Line>()
    }

    /// Adds a key.
    pub(super) fn insert(&mut self, key: &Key) {
        let (at, bits) = self.place(key);
        bits.for_each(|bit| self.0[at].0[bit / 64] |= 1 << (bit % 64));
    }

    /// Whether a key may have been added; if not, it surely was not.
    pub(super) fn may_contain(&self, key: &Key) -> bool {
        let (at, mut bits) = self.place(key);
        bits.all(|bit| self.0[at].0[bit / 64] >> (bit % 64) & 1 == 1)
    }

    /// Loads what [`Filter::may_contain`] will look at.
    pub(super) fn touch(&self, key: &Key) -> u8 {
        self.0[self.place(key).0].0[0] as u8
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.0.len() * size_of::<Line>()
    }

    /// The filter as words.
    pub(super) fn words(&self) -> impl Iterator<Item = u64> {
        self.0.iter().flat_map(|line| line.0)
    }

    /// The filter of `count` words that [`Filter::words`] gave: eight in a line.
    pub(super) fn read(count: usize, mut word: impl FnMut() -> io::Result<u64>) -> io::Result<Self> {
        let mut lines = Vec::with_capacity(count / 8);
        for _ in 0..count / 8 {
            let mut line = Line::default();
            for slot in &mut line.0 {
                *slot = word()?;
            }
            lines.push(line);
        }
        Ok(Filter(lines))
    }

    /// Lines of a filter for so many keys.
    fn lines(keys: u64) -> usize {
        (keys as usize * BITS).div_ceil(512).max(1)
    }

    /// A key's line and its bits in it.
    fn place(&self, key: &Key) -> (usize, impl Iterator<Item = usize> + use<>) {
        let both = u128::from_le_bytes(*key);
        let hash = mix(both as u64 ^ mix((both >> 64) as u64));
        let line = ((u128::from(hash) * self.0.len() as u128) >> 64) as usize;
        let bits = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (line, (0..SET).map(move |index| (bits >> (9 * index) & 511) as usize))
    }
}

/// Spreads a number over all bits (the finaliser of splitmix64).
fn mix(mut number: u64) -> u64 {
    number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}
