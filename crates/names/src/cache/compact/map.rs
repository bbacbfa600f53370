//! The memory that is shared: a mapped file, or memory of this process alone.
//!
//! With `sigbus` the one file of this crate with `unsafe`: it turns an address range into slices of atomic words. Everything else works
//! on those slices. A file that is cut while it is mapped reads as empty from then on.

#![allow(unsafe_code, reason = "mapped memory is reached through raw pointers")]

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64};

use memmap2::{Advice, MmapMut, MmapOptions, MmapRaw};

use super::sigbus::Watch;

/// Mapped memory, as atomic words: other processes may write to it at any time.
#[derive(Debug)]
pub(super) struct Mapping {
    /// None: no file. Before the memory, so that it ends before that is unmapped.
    watch: Option<Watch>,
    map: MmapRaw,
    bytes: usize,
}

impl Mapping {
    /// Maps the first bytes of a file, which has them allocated.
    pub(super) fn of_file(file: &File, bytes: usize) -> io::Result<Self> {
        Mapping::watched(MmapOptions::new().len(bytes).map_raw(file)?, bytes)
    }

    /// Maps the first bytes of a file that has them, for reading: what is written stays in the memory of this process.
    pub(super) fn copy_of_file(file: &File, bytes: usize) -> io::Result<Self> {
        // SAFETY: as in `of_file`: all access is by atomic operations, and any bits are valid words.
        let map = unsafe { MmapOptions::new().len(bytes).map_copy(file)? };
        Mapping::watched(MmapRaw::from(map), bytes)
    }

    /// A mapped file, which others may cut.
    fn watched(map: MmapRaw, bytes: usize) -> io::Result<Self> {
        // SAFETY: all access is by the functions below, which give atomic words; the watch is dropped before the memory.
        let watch = unsafe { Watch::over(map.as_mut_ptr(), bytes)? };
        Ok(Mapping { watch: Some(watch), map, bytes })
    }

    /// Memory of this process alone, all zero.
    pub(super) fn anonymous(bytes: usize) -> io::Result<Self> {
        let map = MmapRaw::from(MmapMut::map_anon(bytes)?);
        // Names are looked up at random: large pages spare a walk through the page tables. It is a wish only.
        drop(map.advise(Advice::HugePage));
        Ok(Mapping { watch: None, map, bytes })
    }

    /// Whether its file was cut: it is empty memory of this process now.
    #[inline]
    pub(super) fn is_lost(&self) -> bool {
        self.watch.as_ref().is_some_and(Watch::is_lost)
    }

    /// Makes it empty memory of this process, where it is a file.
    pub(super) fn lose(&self) {
        self.watch.iter().for_each(Watch::lose);
    }

    /// Its length.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Words of 64 bits; the range is in such words and is cut to what is mapped.
    #[inline]
    pub(super) fn wide(&self, range: Range<usize>) -> &[AtomicU64] {
        let end = range.end.min(self.bytes / 8);
        let start = range.start.min(end);
        // SAFETY: start..end lies within the mapping, which lives as long as `self` and is aligned to a page; zero or any
        // other bits are a valid word; all access, here and in other processes, is by atomic operations.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr().cast::<AtomicU64>().add(start), end - start) }
    }

    /// Words of 32 bits; the range is in such words and is cut to what is mapped.
    #[inline]
    pub(super) fn narrow(&self, range: Range<usize>) -> &[AtomicU32] {
        let end = range.end.min(self.bytes / 4);
        let start = range.start.min(end);
        // SAFETY: as in `wide`. Each place in a file is used in one width only, so that no two widths race.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr().cast::<AtomicU32>().add(start), end - start) }
    }

    /// Has everything that was written brought to the disk.
    pub(super) fn flush(&self) -> io::Result<()> {
        self.map.flush()
    }

    /// The same for the first page alone.
    pub(super) fn flush_header(&self) -> io::Result<()> {
        self.map.flush_range(0, 4_096.min(self.bytes))
    }
}

/// Brings the line of a word near, so that a later look at it need not wait.
#[inline]
pub(super) fn prefetch(word: &AtomicU64) {
    // SAFETY: a hint that reads nothing and never faults; the address is that of a reference anyway.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(word).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::black_box(word.load(std::sync::atomic::Ordering::Relaxed));
}
