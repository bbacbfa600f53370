//! Address sets: several addresses of a name, shared by all names with the same addresses.
//!
//! Guarantees:
//! - A set is immutable while it is referenced: its reference count is incremented before a slot is published and decremented
//!   after the slot is removed. A reader copies the set first and then validates the slot.
//! - Equal sets are stored once, except that concurrent insertions may store two.
//! - A writer that dies may leak references, but never releases too many; the next process that has exclusive
//!   use of the file recounts.
//!
//! A cell: a header of 64 bits (32 references, 8 generation, 1 ready, 3 + 3 numbers of addresses, 16 tag), then
//! the addresses, IPv4 first. Small cells (32 bytes) have space for 24 bytes of addresses, large ones (96
//! bytes) for the maximum. The hash of a set selects two windows of eight cells.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::memory::{Memory, Word};

/// Words of the largest set: four IPv4 addresses, four IPv6 addresses of four words.
const MAX_WORDS: usize = 20;
/// Cells of a window.
const WINDOW: usize = 8;
/// The header's bit of a completely written set.
const READY: u64 = 1 << 40;

/// The addresses of a set in words: IPv4, one each, then IPv6, four each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AddressSet {
    /// The words.
    pub(super) words: [u32; MAX_WORDS],
    /// IPv4 addresses.
    pub(super) v4: usize,
    /// IPv6 addresses.
    pub(super) v6: usize,
}

impl AddressSet {
    /// Words in use.
    pub(super) fn len(&self) -> usize {
        self.v4 + 4 * self.v6
    }
}

/// All cells of one size.
pub(super) struct SetArea<'m, M: Memory> {
    /// The memory in words of 64 bits, used for headers only.
    wide: &'m [M::W64],
    /// The same memory in words of 32 bits, used for addresses only.
    narrow: &'m [M::W32],
    /// Words of 64 bits of a cell.
    size: usize,
}

impl<'m, M: Memory> SetArea<'m, M> {
    /// An area of cells of `size` words of 64 bits.
    pub(super) fn new((wide, narrow): (&'m [M::W64], &'m [M::W32]), size: usize) -> Self {
        SetArea { wide, narrow, size }
    }

    /// The number of cells.
    pub(super) fn cells(&self) -> usize {
        self.wide.len() / self.size
    }

    /// Words of addresses that fit into a cell.
    pub(super) fn capacity(&self) -> usize {
        (2 * self.size - 2).min(MAX_WORDS)
    }

    /// References a set with this hash, which is stored if absent; returns its cell, or `None` if both windows
    /// are full.
    pub(super) fn acquire(&self, set: &AddressSet, hash: u64) -> Option<u32> {
        let tag = hash >> 48 << 48 | (set.v4 as u64) << 41 | (set.v6 as u64) << 44 | READY;
        self.candidates(hash)
            .find(|&cell| self.reference(cell, set, tag))
            .or_else(|| self.candidates(hash).find(|&cell| self.store(cell, set, tag)))
            .map(|cell| cell as u32)
    }

    /// Drops a reference.
    pub(super) fn release(&self, cell: u32) {
        let Some(header) = self.header(cell as usize) else { return };
        loop {
            let current = header.load(Relaxed);
            // A count that is too low in a damaged file stays at 0.
            if current as u32 == 0 || header.replace(current, current - 1, AcqRel) {
                return;
            }
            M::pause();
        }
    }

    /// Copies a set; valid only if the slot that refers to it is validated afterwards.
    #[inline]
    pub(super) fn copy(&self, cell: u32) -> Option<AddressSet> {
        let header = self.header(cell as usize)?.load(Acquire);
        let (v4, v6) = ((header >> 41 & 7) as usize, (header >> 44 & 7) as usize);
        let mut set = AddressSet { v4, v6, ..AddressSet::default() };
        if v4 > 4 || v6 > 4 || set.len() > self.capacity() || set.len() == 0 {
            return None;
        }
        for (into, word) in set.words[..v4 + 4 * v6].iter_mut().zip(self.words(cell as usize)) {
            *into = word.load(Relaxed);
        }
        Some(set)
    }

    /// The number of referenced cells.
    pub(super) fn in_use(&self) -> u64 {
        let is_used = |&cell: &usize| self.header(cell).is_some_and(|header| header.load(Relaxed) as u32 > 0);
        (0..self.cells()).filter(is_used).count() as u64
    }

    /// Sets the reference count of a cell. Requires exclusive use of the file.
    pub(super) fn recount(&self, cell: usize, references: u32) {
        if let Some(header) = self.header(cell) {
            let current = header.load(Relaxed);
            let ready = if references == 0 { 0 } else { current & READY };
            header.store(current & !READY & !0xffff_ffff | ready | u64::from(references), Relaxed);
        }
    }

    /// The cells that a set with this hash may be in.
    fn candidates(&self, hash: u64) -> impl Iterator<Item = usize> {
        let windows = self.cells().saturating_sub(WINDOW) as u64 + 1;
        let (cells, high, low) = (self.cells(), hash >> 32, hash & 0xffff_ffff);
        let start = move |part: u64| ((part * windows) >> 32) as usize;
        let starts = [start(high ^ low), start(low)];
        starts.into_iter().flat_map(|start| start..start + WINDOW).filter(move |&cell| cell < cells)
    }

    /// References a cell if it has this set.
    fn reference(&self, cell: usize, set: &AddressSet, tag: u64) -> bool {
        let Some(header) = self.header(cell) else { return false };
        let current = header.load(Relaxed);
        let same = current & !(0xff << 32) & !0xffff_ffff == tag;
        if !same || matches!(current as u32, 0 | u32::MAX) || !header.replace(current, current + 1, Acquire) {
            return false;
        }
        // The cell is immutable now that it is referenced.
        let is_equal = |(word, own): (&M::W32, &u32)| word.load(Relaxed) == *own;
        if self.words(cell).iter().zip(&set.words[..set.len()]).all(is_equal) {
            return true;
        }
        self.release(cell as u32);
        false
    }

    /// Stores a set in an unreferenced cell, with one reference.
    fn store(&self, cell: usize, set: &AddressSet, tag: u64) -> bool {
        let Some(header) = self.header(cell) else { return false };
        let current = header.load(Relaxed);
        let generation = (current >> 32).wrapping_add(1) & 0xff;
        // Acquire pairs with `release`: a reader that sees our words also sees that the previous slots were removed.
        if current as u32 != 0 || !header.replace(current, generation << 32 | 1, Acquire) {
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

    /// The address words of an existing cell.
    #[inline]
    fn words(&self, cell: usize) -> &'m [M::W32] {
        let start = cell * self.size * 2 + 2;
        self.narrow.get(start..start + 2 * self.size - 2).unwrap_or(&[])
    }
}
