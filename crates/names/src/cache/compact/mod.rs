//! The compact cache (SYSTEMS.md section 1): about 24 bytes a name, in one mapped file that all processes of a machine share.
//!
//! The way of a lookup: `key` hashes the name → `table` finds its slot in one of two buckets (`bucket`, the protocol) →
//! the address is there, or in `sets` → else `filter` knows whether it did not resolve, and `cuts` whether a name above it does
//! not exist. `file` makes and opens; `sweep` removes what has expired; `scan` counts.
//!
//! Guarantees:
//! - A lookup takes no lock and never waits for a writer; it gives what one writer left whole, or nothing.
//! - Another name's answer is given once in 10^18 lookups or more seldom, whatever the number of names ([`WRONG_ANSWERS`]).
//! - An expired answer is never given, except by a filter's rate of false positives.
//! - Any number of processes up to 1,023 read and write one file. One that is killed at any moment neither blocks nor corrupts
//!   it; it takes with it the names of the buckets that it was just writing to.
//! - Memory is fixed when the cache is made: 24 bytes a name of its capacity, and what address sets and the filter take.
//! - A damaged file gives wrong answers at worst, never a panic; one whose header is wrong is refused. One that is cut or written
//!   over while it is open (`loss`, `sigbus`) reads as empty and takes nothing any more; that is told once.
//! - A name that was asked for again is not pushed out by names that nobody asks for again.

mod bucket;
mod cuts;
mod error;
mod failures;
mod file;
mod filter;
mod header;
mod insert;
mod key;
mod layout;
mod lookup;
mod loss;
mod map;
mod memory;
#[cfg(test)]
mod model_tests;
mod place;
mod record;
mod roster;
mod scan;
mod sets;
mod settings;
mod sigbus;
mod slot;
mod sweep;
mod table;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use super::{CacheStatistics, Found, NameCache, Resolution, Seconds};
use crate::host::HostName;
use crate::settings::Families;
pub use error::{CompactError, Refusal};
pub use loss::Notices;
pub use record::{Record, State};
pub use scan::{BadRange, Entry, KeyRange};
pub use settings::{CompactSettings, Negative, Verify, WRONG_ANSWERS};

use bucket::Writer;
use failures::Failures;
use filter::Filter;
use header::{Live, Made};
use key::Keys;
use layout::in_words;
use map::Mapping;
use memory::Machine;
use roster::{Locks, Roster};
use sets::Area;
use table::Table;

/// The cache. All of its work goes through shared references: threads of a process may share one.
#[derive(Debug)]
pub struct CompactCache {
    settings: CompactSettings,
    made: Made,
    keys: Keys,
    map: Mapping,
    failures: Failures,
    place: PlaceOf,
    locks: Option<Locks>,
    me: Writer,
    /// Who forks shares the lock of its number with the child, which must not write by it.
    process: u32,
    /// Held by the thread that sweeps or rotates; other processes are kept away by a lock of the file.
    maintenance: Mutex<()>,
    tally: Tally,
    /// What was done to bring its file up to date.
    renewed: Option<String>,
    /// What happened to its file since, and the second at which that was last looked for.
    notices: Arc<Notices>,
    looked: AtomicU64,
}

/// Where a cache lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceOf {
    /// In a file, which other processes may share.
    File(PathBuf),
    /// In the memory of this process alone; if it was to be a file, why it is not.
    Memory(Option<String>),
}

/// What one process has done.
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

/// What a compact cache has done and holds, beyond [`CacheStatistics`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CompactStatistics {
    /// Lookups that the filter answered.
    pub negative_hits: u64,
    /// Names that the filter holds and that were then resolved: false positives, or names that came to life.
    pub suspected_false_positives: u64,
    /// Insertions that found no room for their address set and kept one IPv4 address, or nothing.
    pub sets_full: u64,
    /// Buckets that were taken over from a writer that had died.
    pub inherited: u64,
    /// Slots in use, of all processes: names with addresses, failures, cuts.
    pub used: u64,
    /// Slots in all.
    pub slots: u64,
    /// Bytes of the slots' buckets.
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
    /// Where it lies.
    pub fn place(&self) -> &PlaceOf {
        &self.place
    }

    /// Why it lies in the memory of this process, when it was to be in a file.
    pub fn fallen_back(&self) -> Option<&str> {
        match &self.place {
            PlaceOf::Memory(why) => why.as_deref(),
            PlaceOf::File(_) => None,
        }
    }

    /// What was done when it was opened, because its file was of before: made with other lists of suffixes or of top-level
    /// domains, or of the version before.
    pub fn renewed(&self) -> Option<&str> {
        self.renewed.as_deref()
    }

    /// What happened to its file while it was open.
    pub fn notices(&self) -> &Arc<Notices> {
        &self.notices
    }

    /// How it was told to be.
    pub fn settings(&self) -> &CompactSettings {
        &self.settings
    }

    /// What was done so far, and how full it is; counting sets and bits takes a pass over them.
    pub fn details(&self) -> CompactStatistics {
        let layout = &self.made.layout;
        let bytes = |range: std::ops::Range<u64>| range.end - range.start;
        let sets = |area: Area<'_, Machine>| {
            (0..area.cells()).filter(|&cell| area.references(cell) > 0).count() as u64
        };
        CompactStatistics {
            negative_hits: self.tally.negative_hits.load(Relaxed),
            suspected_false_positives: self.tally.suspected.load(Relaxed),
            sets_full: self.tally.sets_full.load(Relaxed),
            inherited: self.tally.inherited.load(Relaxed),
            used: self.used(),
            slots: layout.buckets * bucket::SLOTS as u64,
            table_bytes: bytes(layout.bucket_bytes()),
            set_bytes: bytes(layout.small_bytes()) + bytes(layout.large_bytes()),
            sets: [sets(self.sets(false)), sets(self.sets(true))],
            filter_bytes: bytes(layout.filter_bytes()),
            filter_fill: self.filter().fill(),
        }
    }

    /// How many names with addresses are held, by all processes; some of them may have expired.
    pub fn count(&self) -> u64 {
        self.live().names().load(Relaxed)
    }

    /// Slots in use, by all processes: names with addresses, failures, cuts.
    pub fn used(&self) -> u64 {
        self.live().used().load(Relaxed)
    }

    /// Bytes of the file or memory.
    pub fn memory(&self) -> usize {
        self.map.bytes()
    }

    /// What this process did so far.
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

    /// Words of the header that change.
    fn live(&self) -> Live<'_> {
        Live(self.map.wide(0..512))
    }

    /// The buckets.
    #[inline]
    fn table(&self) -> Table<'_> {
        let bytes = self.made.layout.bucket_bytes();
        Table::new(self.map.wide(in_words(bytes.clone(), 8)), self.map.narrow(in_words(bytes, 4)))
    }

    /// The address sets of one size.
    #[inline]
    fn sets(&self, large: bool) -> Area<'_, Machine> {
        let layout = &self.made.layout;
        let (bytes, size) = match large {
            false => (layout.small_bytes(), layout::SMALL),
            true => (layout.large_bytes(), layout::LARGE),
        };
        Area::new(self.map.wide(in_words(bytes.clone(), 8)), self.map.narrow(in_words(bytes, 4)), size)
    }

    /// The negative filter.
    fn filter(&self) -> Filter<'_> {
        let layout = &self.made.layout;
        Filter {
            words: self.map.wide(in_words(layout.filter_bytes(), 8)),
            generations: layout.generations,
            hashes: layout.hashes,
            ttl: self.made.negative_ttl,
            state: self.live().generation(),
            filled: self.live().filled(),
        }
    }

    /// Whether the filter is as published: it takes every failure, and is cleared as a whole.
    fn clears_all(&self) -> bool {
        self.made.layout.generations == 1 && self.made.layout.filter_words > 0
    }

    /// Who writes, and who lives.
    fn roster(&self) -> Roster<'_> {
        Roster { locks: self.locks.as_ref(), turns: self.map.narrow(1_024..2_048), me: self.me }
    }

    /// Runs work that only one may do at a time, unless another is at it.
    fn alone_for(&self, work: impl FnOnce()) -> bool {
        let Ok(_guard) = self.maintenance.try_lock() else { return false };
        if !self.locks.as_ref().is_none_or(Locks::try_enter) {
            return false;
        }
        work();
        if let Some(locks) = &self.locks {
            locks.leave();
        }
        true
    }
}

impl Drop for CompactCache {
    /// A file that is closed in order outlives a loss of power.
    fn drop(&mut self) {
        // Without it the file is still right for as long as the machine runs.
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

/// The directory of a path.
fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
