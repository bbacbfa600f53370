//! Address sets: several addresses of a name, shared by all names that have the same.
//!
//! Guarantees:
//! - A set stays as it is while anybody refers to it: references rise before a name is published and drop after it is
//!   gone. A reader copies a set first and looks then whether its name still stood there.
//! - Equal sets are one, but for races, in which there are two for a while.
//! - A writer that dies may leave a reference too many, never one too few; opening the file alone counts again.
//!
//! A cell: a header of 64 bits (32 references, 8 generation, 1 ready, 3 + 3 numbers of addresses, 16 tag), then the
//! addresses, IPv4 first. Small cells (32 bytes) hold 24 bytes of addresses, large ones (96) all that are allowed.
//! A set's hash gives two windows of eight cells, one of which it lives in.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::memory::{Memory, Word};

/// Words of addresses that a set has at most: four of IPv4, four times four of IPv6.
pub(super) const MOST: usize = 20;
/// Cells of a window.
const WINDOW: usize = 8;
/// The header's bit that says that a set is whole.
const READY: u64 = 1 << 40;

/// The addresses of a set, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Set {
    /// The words.
    pub(super) words: [u32; MOST],
    /// Addresses of IPv4, a word each.
    pub(super) v4: usize,
    /// Addresses of IPv6, four words each.
    pub(super) v6: usize,
}

impl Set {
    /// Words in use.
    pub(super) fn len(&self) -> usize {
        self.v4 + 4 * self.v6
    }
}

/// Cells of one size.
pub(super) struct Area<'m, M: Memory> {
    /// All words of the area, in one view.
    wide: &'m [M::W64],
    /// The same memory in the other view: headers are used in the first only, addresses in this only.
    narrow: &'m [M::W32],
    /// Words of 64 bits of a cell.
    size: usize,
}

impl<'m, M: Memory> Area<'m, M> {
    /// An area of cells of `size` words of 64 bits.
    pub(super) fn new(wide: &'m [M::W64], narrow: &'m [M::W32], size: usize) -> Self {
        Area { wide, narrow, size }
    }

    /// How many cells there are.
    pub(super) fn cells(&self) -> usize {
        self.wide.len() / self.size
    }

    /// Words of addresses that a cell has room for.
    pub(super) fn room(&self) -> usize {
        (2 * self.size - 2).min(MOST)
    }

    /// Refers to a set with this hash, which is put there where it is not yet; `None` where there is no room.
    pub(super) fn acquire(&self, set: &Set, hash: u64) -> Option<u32> {
        let tag = hash >> 48 << 48 | (set.v4 as u64) << 41 | (set.v6 as u64) << 44 | READY;
        self.places(hash)
            .find(|&cell| self.join(cell, set, tag))
            .or_else(|| self.places(hash).find(|&cell| self.settle(cell, set, tag)))
            .map(|cell| cell as u32)
    }

    /// Drops a reference.
    pub(super) fn release(&self, cell: u32) {
        let Some(header) = self.header(cell as usize) else { return };
        loop {
            let now = header.load(Relaxed);
            // A count that a damaged file has too low stays at 0.
            if now as u32 == 0 || header.replace(now, now - 1, AcqRel) {
                return;
            }
            M::pause();
        }
    }

    /// Copies a set; it counts only if the name that refers to it is seen to stand there afterwards.
    #[inline]
    pub(super) fn copy(&self, cell: u32) -> Option<Set> {
        let header = self.header(cell as usize)?.load(Acquire);
        let (v4, v6) = ((header >> 41 & 7) as usize, (header >> 44 & 7) as usize);
        let mut set = Set { words: [0; MOST], v4, v6 };
        if v4 > 4 || v6 > 4 || set.len() > self.room() || set.len() == 0 {
            return None;
        }
        let words = self.words(cell as usize);
        for (into, word) in set.words[..v4 + 4 * v6].iter_mut().zip(words) {
            *into = word.load(Relaxed);
        }
        Some(set)
    }

    /// References to a cell.
    pub(super) fn references(&self, cell: usize) -> u32 {
        self.header(cell).map_or(0, |header| header.load(Relaxed) as u32)
    }

    /// Sets the references of a cell: for one who is alone.
    pub(super) fn recount(&self, cell: usize, references: u32) {
        if let Some(header) = self.header(cell) {
            let now = header.load(Relaxed);
            let ready = if references == 0 { 0 } else { now & READY };
            header.store(now & !READY & !0xffff_ffff | ready | u64::from(references), Relaxed);
        }
    }

    /// Cells in which a set with this hash may live.
    fn places(&self, hash: u64) -> impl Iterator<Item = usize> {
        let windows = self.cells().saturating_sub(WINDOW) as u64 + 1;
        let (cells, high, low) = (self.cells(), hash >> 32, hash & 0xffff_ffff);
        let start = move |part: u64| ((part * windows) >> 32) as usize;
        [start(high ^ low), start(low)]
            .into_iter()
            .flat_map(|start| start..start + WINDOW)
            .filter(move |&cell| cell < cells)
    }

    /// Refers to a cell if it has this set.
    fn join(&self, cell: usize, set: &Set, tag: u64) -> bool {
        let Some(header) = self.header(cell) else { return false };
        let now = header.load(Relaxed);
        let same = now & !(0xff << 32) & !0xffff_ffff == tag;
        if !same || now as u32 == 0 || now as u32 == u32::MAX || !header.replace(now, now + 1, Acquire) {
            return false;
        }
        // Nobody changes it now.
        if self.words(cell).iter().zip(&set.words[..set.len()]).all(|(word, own)| word.load(Relaxed) == *own)
        {
            return true;
        }
        self.release(cell as u32);
        false
    }

    /// Puts a set into a cell that nobody refers to.
    fn settle(&self, cell: usize, set: &Set, tag: u64) -> bool {
        let Some(header) = self.header(cell) else { return false };
        let now = header.load(Relaxed);
        let generation = (now >> 32).wrapping_add(1) & 0xff;
        // Acquire: all who dropped it have unpublished their names before; readers shall see that if they see our words.
        if now as u32 != 0 || !header.replace(now, generation << 32 | 1, Acquire) {
            return false;
        }
        M::fence(Release);
        for (word, own) in self.words(cell).iter().zip(&set.words[..set.len()]) {
            word.store(*own, Relaxed);
        }
        header.store(tag | generation << 32 | 1, Release);
        true
    }

    /// The header of a cell.
    #[inline]
    fn header(&self, cell: usize) -> Option<&'m M::W64> {
        self.wide.get(cell.checked_mul(self.size)?)
    }

    /// The words for addresses of a cell that exists.
    #[inline]
    fn words(&self, cell: usize) -> &'m [M::W32] {
        let start = cell * self.size * 2 + 2;
        self.narrow.get(start..start + 2 * self.size - 2).unwrap_or(&[])
    }
}
