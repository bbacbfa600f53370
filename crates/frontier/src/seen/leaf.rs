//! A leaf of the dedup tree: keys that share their first bits, one after the other, in order.
//!
//! The bytes that all of them share are not stored. Keys are evenly spread, so that the place of one is computed and
//! not searched: it is seldom more than a cache line away.

use super::arena::{Arena, LINE, MAX_LINES};

/// Where a leaf's keys lie and how many there are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Leaf {
    block: u32,
    pub(super) count: u16,
    /// Lines of the block.
    pub(super) lines: u8,
    /// Whether keys that belong here were put elsewhere, because it was full.
    pub(super) has_overflown: bool,
}

/// What is stored of a key in a leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest<'k> {
    /// The bytes after those that the leaf implies.
    pub(super) bytes: &'k [u8],
    /// How many bits of the first of them the leaf implies, too.
    pub(super) implied: u32,
}

/// A leaf is full.
#[derive(Debug)]
pub(super) struct Full;

impl Leaf {
    /// The leaf of a number and of keys that are in order, each of `stride` bytes.
    pub(super) fn of(number: usize, keys: &[u8], stride: usize, arena: &mut Arena) -> Self {
        let mut leaf = Leaf { count: (keys.len() / stride) as u16, ..Leaf::default() };
        if !keys.is_empty() {
            leaf.take_block(number, keys.len(), arena);
            arena.get_mut(leaf.block, keys.len()).copy_from_slice(keys);
        }
        leaf
    }

    /// How many keys of `stride` bytes a leaf can hold.
    pub(super) fn capacity(stride: usize) -> usize {
        MAX_LINES * LINE / stride
    }

    /// Its keys.
    pub(super) fn keys<'a>(&self, stride: usize, arena: &'a Arena) -> &'a [u8] {
        if self.count == 0 { &[] } else { arena.get(self.block, usize::from(self.count) * stride) }
    }

    /// Loads what a search will look at first.
    pub(super) fn touch(&self, rest: Rest<'_>, arena: &Arena) -> u8 {
        let stride = rest.bytes.len();
        let at = rest.estimate(self.count) * stride;
        let keys = self.keys(stride, arena);
        keys.get(at).copied().unwrap_or_default()
    }

    /// The place of a key, or the one where it would stand.
    pub(super) fn find(&self, rest: Rest<'_>, arena: &Arena) -> Result<usize, usize> {
        let stride = rest.bytes.len();
        let keys = self.keys(stride, arena);
        let count = usize::from(self.count);
        let wanted = head(rest.bytes);
        let head_at = |index: usize| head(&keys[index * stride..]);
        let mut index = rest.estimate(self.count);
        while index < count && head_at(index) < wanted {
            index += 1;
        }
        while index > 0 && head_at(index - 1) >= wanted {
            index -= 1;
        }
        // Those with the same first bytes are few, if there are any.
        while index < count && head_at(index) == wanted {
            match keys[index * stride..][..stride].cmp(rest.bytes) {
                std::cmp::Ordering::Less => index += 1,
                std::cmp::Ordering::Equal => return Ok(index),
                std::cmp::Ordering::Greater => break,
            }
        }
        Err(index)
    }

    /// Puts a key at the place that [`Leaf::find`] gave for it; the leaf has this number.
    pub(super) fn insert(
        &mut self,
        number: usize,
        index: usize,
        rest: Rest<'_>,
        arena: &mut Arena,
    ) -> Result<(), Full> {
        let stride = rest.bytes.len();
        let (at, end) = (index * stride, usize::from(self.count) * stride);
        if end + stride <= usize::from(self.lines) * LINE {
            let keys = arena.get_mut(self.block, end + stride);
            keys.copy_within(at..end, at + stride);
            keys[at..at + stride].copy_from_slice(rest.bytes);
        } else if end + stride <= MAX_LINES * LINE {
            let old = *self;
            self.take_block(number, end + stride, arena);
            arena.get_mut(self.block, end + stride)[at..at + stride].copy_from_slice(rest.bytes);
            if old.lines > 0 {
                arena.copy((old.block, 0..at), (self.block, 0));
                arena.copy((old.block, at..end), (self.block, at + stride));
                arena.free(old.block);
            }
        } else {
            return Err(Full);
        }
        self.count += 1;
        Ok(())
    }

    /// Moves it to another block of the same size.
    pub(super) fn relocate(&mut self, number: usize, arena: &mut Arena) {
        let (old, bytes) = (self.block, usize::from(self.lines) * LINE);
        self.take_block(number, bytes, arena);
        arena.copy((old, 0..bytes), (self.block, 0));
        arena.free(old);
    }

    /// Gets a block for so many bytes, in place of the one it has.
    fn take_block(&mut self, number: usize, bytes: usize, arena: &mut Arena) {
        self.lines = bytes.div_ceil(LINE) as u8;
        self.block = arena.allocate(self.lines, number as u32);
    }

    /// Removes the key at a place.
    pub(super) fn remove(&mut self, index: usize, stride: usize, arena: &mut Arena) {
        let end = usize::from(self.count) * stride;
        let keys = arena.get_mut(self.block, end);
        keys.copy_within((index + 1) * stride..end, index * stride);
        self.count -= 1;
    }

    /// Returns its block to the arena.
    pub(super) fn free(&self, arena: &mut Arena) {
        if self.lines > 0 {
            arena.free(self.block);
        }
    }
}

impl Rest<'_> {
    /// About where the key stands among so many evenly spread ones.
    fn estimate(&self, count: u16) -> usize {
        ((u64::from(head(self.bytes) << self.implied) * u64::from(count)) >> 32) as usize
    }
}

/// The first four bytes, which nearly always tell keys apart.
fn head(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}
