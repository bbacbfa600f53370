//! The compact cache (SYSTEMS.md section 1): about 24 bytes per name, in one mapped file shared by all processes of a machine.
//!
//! A lookup (`lookup`): `key` hashes the name → `table` finds its slot in one of two buckets (`bucket`, a sequence lock over the
//! atomic words of `memory`) → `record` decodes the slot and its address set (`sets`) → if there is none, `negative` checks the
//! filter, cuts above the name, and failures. `insert` writes; `file` creates and opens files; `layout` has their format;
//! `sharing` has locks and writer IDs; `scan` counts, sweeps and repairs.
//!
//! Guarantees:
//! - A lookup takes no lock and never waits for a writer; it returns what one writer completed, or `None`.
//! - A lookup returns another name's answer with probability 10^-18 at most, for any number of names
//!   ([`WRONG_ANSWERS`]).
//! - An expired answer is never returned, except by a filter's false positive.
//! - Up to 1,023 processes read and write one file. A process that is killed at any moment neither blocks nor corrupts it; only the
//!   buckets that it was writing to are lost.
//! - Memory is fixed at creation: 24 bytes per name of the capacity, plus address sets and filter.
//! - A damaged file gives wrong answers at worst, never a panic; one with a wrong header is refused. One that is truncated or
//!   overwritten while it is open reads as empty and accepts nothing; that is reported once.
//! - Names that were looked up again are not evicted by names that were not.

mod bucket;
mod file;
mod insert;
mod key;
mod layout;
mod lookup;
mod memory;
#[cfg(test)]
mod model_tests;
mod negative;
mod record;
mod scan;
mod sets;
mod settings;
mod sharing;
mod table;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use lycosa_mapped::Mapping;

use super::{CacheStatistics, Found, NameCache, Resolution, Seconds};
use crate::host::HostName;
use crate::settings::Families;
pub use record::{Record, State};
pub use scan::{BadRange, Entry, KeyRange};
pub use settings::{CompactError, CompactSettings, Negative, Refusal, Verify, WRONG_ANSWERS};
pub use sharing::Notices;

use bucket::WriterId;
use key::KeyHasher;
use layout::{FileHeader, GENERATIONS, HEADER, SET_WORDS, word};
use memory::Native;
use negative::{Failures, Filter};
use sets::SetArea;
use sharing::{FileLocks, WriterRegistry};
use table::BucketTable;

/// The cache. All methods take shared references: threads of a process may share it.
#[derive(Debug)]
pub struct CompactCache {
    settings: CompactSettings,
    header: FileHeader,
    keys: KeyHasher,
    map: Mapping,
    failures: Failures,
    place: PlaceOf,
    locks: Option<FileLocks>,
    me: WriterId,
    /// The process that opened it. A forked child shares the writer-ID lock and must not write.
    process: u32,
    /// Locked while sweeping or rotating the filter; the maintenance lock of the file excludes other processes.
    maintenance: Mutex<()>,
    tally: Tally,
    /// How the file was upgraded or replaced when it was opened.
    renewed: Option<String>,
    /// Events of the file since it was opened.
    notices: Arc<Notices>,
    /// The second at which the file was last checked.
    checked: AtomicU64,
}

/// Where a cache is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceOf {
    /// In a file, which other processes may share.
    File(PathBuf),
    /// In the memory of this process; with the reason, if a file was requested.
    Memory(Option<String>),
}

/// Counters of this process.
#[derive(Debug, Default)]
struct Tally {
    hits: AtomicU64,
    misses: AtomicU64,
    insertions: AtomicU64,
    evictions: AtomicU64,
    refused: AtomicU64,
    sets_full: AtomicU64,
    negative_hits: AtomicU64,
    suspected: AtomicU64,
    inherited: AtomicU64,
}

/// Figures of a compact cache beyond [`CacheStatistics`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CompactStatistics {
    /// Lookups answered by the filter.
    pub negative_hits: u64,
    /// Names in the filter that were then resolved: false positives, or names registered since.
    pub suspected_false_positives: u64,
    /// Insertions without space for their address set, which stored one IPv4 address or nothing.
    pub sets_full: u64,
    /// Buckets taken over from dead writers.
    pub inherited: u64,
    /// Occupied slots, by all processes: names with addresses, negative entries, cuts.
    pub used: u64,
    /// All slots.
    pub slots: u64,
    /// Bytes of the buckets.
    pub table_bytes: u64,
    /// Bytes of the address sets.
    pub set_bytes: u64,
    /// Address sets in use, small and large.
    pub sets: [u64; 2],
    /// Bytes of the filter.
    pub filter_bytes: u64,
    /// The share of the filter's bits that are set.
    pub filter_fill: f64,
}

impl CompactCache {
    /// Where it is stored.
    pub fn place(&self) -> &PlaceOf {
        &self.place
    }

    /// Why it is in the memory of this process, if a file was requested.
    pub fn fallen_back(&self) -> Option<&str> {
        match &self.place {
            PlaceOf::Memory(why) => why.as_deref(),
            PlaceOf::File(_) => None,
        }
    }

    /// How an outdated file was upgraded or replaced when it was opened.
    pub fn renewed(&self) -> Option<&str> {
        self.renewed.as_deref()
    }

    /// Events of its file while it was open.
    pub fn notices(&self) -> &Arc<Notices> {
        &self.notices
    }

    /// Its settings.
    pub fn settings(&self) -> &CompactSettings {
        &self.settings
    }

    /// Further statistics; counting sets and bits takes a pass over them.
    pub fn details(&self) -> CompactStatistics {
        let layout = &self.header.layout;
        let bytes = |range: std::ops::Range<u64>| range.end - range.start;
        CompactStatistics {
            negative_hits: self.tally.negative_hits.load(Relaxed),
            suspected_false_positives: self.tally.suspected.load(Relaxed),
            sets_full: self.sets_full(),
            inherited: self.tally.inherited.load(Relaxed),
            used: self.used(),
            slots: layout.buckets * bucket::SLOTS as u64,
            table_bytes: bytes(layout.bucket_bytes()),
            set_bytes: bytes(layout.set_bytes(false)) + bytes(layout.set_bytes(true)),
            sets: [self.sets(false).in_use(), self.sets(true).in_use()],
            filter_bytes: bytes(layout.filter_bytes()),
            filter_fill: self.filter().fill(),
        }
    }

    /// Insertions by this process without space for their address set, which stored one IPv4 address or nothing.
    pub fn sets_full(&self) -> u64 {
        self.tally.sets_full.load(Relaxed)
    }

    /// Names with addresses, by all processes; some may have expired.
    pub fn count(&self) -> u64 {
        self.live(word::NAMES).load(Relaxed)
    }

    /// Occupied slots, by all processes: names with addresses, negative entries, cuts.
    pub fn used(&self) -> u64 {
        self.live(word::USED).load(Relaxed)
    }

    /// Bytes of the file or memory.
    pub fn memory(&self) -> usize {
        self.map.bytes()
    }

    /// Counts of this process.
    pub fn statistics(&self) -> CacheStatistics {
        let Tally { hits, misses, insertions, evictions, refused, .. } = &self.tally;
        CacheStatistics {
            hits: hits.load(Relaxed),
            misses: misses.load(Relaxed),
            insertions: insertions.load(Relaxed),
            evictions: evictions.load(Relaxed),
            refused: refused.load(Relaxed),
        }
    }

    /// A header word that changes; see [`word`].
    #[inline]
    fn live(&self, word: usize) -> &AtomicU64 {
        &self.map.words(HEADER).0[word]
    }

    /// The buckets.
    #[inline]
    fn table(&self) -> BucketTable<'_> {
        BucketTable::new(self.map.words(self.header.layout.bucket_bytes()))
    }

    /// The small or large address sets.
    #[inline]
    fn sets(&self, is_large: bool) -> SetArea<'_, Native> {
        let words = self.map.words(self.header.layout.set_bytes(is_large));
        SetArea::new(words, SET_WORDS[usize::from(is_large)])
    }

    /// The negative filter.
    fn filter(&self) -> Filter<'_> {
        let layout = &self.header.layout;
        Filter {
            words: self.map.words(layout.filter_bytes()).0,
            generations: layout.generations,
            hashes: layout.hashes,
            ttl: self.header.negative_ttl,
            state: self.live(word::FILTER),
            filled: self.live(word::FILLED),
        }
    }

    /// Whether this process reads and writes the filter. A shared file may have one although the settings ask for
    /// none: its retention is uniform, which is wrong for who needs each name's own TTL.
    #[inline]
    fn uses_filter(&self) -> bool {
        self.header.layout.filter_words > 0 && self.settings.negative_capacity != Some(0)
    }

    /// Whether the filter is in the published mode: it takes all failures and is cleared as a whole.
    fn clears_all(&self) -> bool {
        self.header.layout.generations == 1 && self.uses_filter()
    }

    /// This writer and the others.
    fn writers(&self) -> WriterRegistry<'_> {
        let generations = self.map.words(GENERATIONS).1;
        WriterRegistry { locks: self.locks.as_ref(), generations, me: self.me }
    }
}

/// Adds to a shared count, which stays at 0 rather than underflow.
fn add(count: &AtomicU64, by: i64) {
    if by != 0 {
        let _ = count.fetch_update(Relaxed, Relaxed, |count| Some(count.saturating_add_signed(by)));
    }
}

impl Drop for CompactCache {
    /// Flushes, so that the file survives a power failure.
    fn drop(&mut self) {
        // If that fails the file is still valid until the machine stops.
        drop(self.flush());
    }
}

impl NameCache for CompactCache {
    fn lookup(&mut self, name: HostName<'_>, families: Families, now: Seconds) -> Option<Found> {
        self.get(name, families, now).map(|record| record.found())
    }

    fn insert(&mut self, name: HostName<'_>, families: Families, resolution: &Resolution, now: Seconds) {
        self.put(name, families, resolution, now);
    }

    fn foresee(&self, name: &str) {
        self.prefetch(name);
    }

    fn cut(&mut self, name: HostName<'_>, ttl: u32, now: Seconds) {
        self.put_cut(name, ttl, now);
    }

    fn paused_until(&mut self, name: HostName<'_>, families: Families, now: Seconds) -> Option<Seconds> {
        CompactCache::paused_until(self, name, families, now)
    }

    fn forget(&mut self, name: HostName<'_>) -> bool {
        self.remove(name)
    }

    fn count(&self) -> u64 {
        CompactCache::count(self)
    }

    fn memory(&self) -> usize {
        CompactCache::memory(self)
    }

    fn statistics(&self) -> CacheStatistics {
        CompactCache::statistics(self)
    }
}
