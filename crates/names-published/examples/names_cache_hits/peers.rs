//! Baselines: exact LRU and SIEVE (Zhang et al., NSDI 2024). Both respect TTLs and cache failures.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use lru::LruCache;
use lycosa_names::cache::{Answer, CacheStatistics, Class, Found, NameCache, Resolution, SLOW, Seconds};
use lycosa_names::{Families, HostName};

/// Seconds that a failure is cached.
const FAILURE: u32 = 30;

/// Cached data of a name: 16 bytes, enough for one address; the streams have no other answers.
#[derive(Clone)]
struct Kept {
    answer: Small,
    class: Class,
    expires: u32,
}

/// An answer.
#[derive(Clone)]
enum Small {
    Address(std::net::Ipv4Addr),
    NxDomain,
    Other(Box<Answer>),
}

impl Kept {
    /// Converts a resolution.
    fn new(resolution: &Resolution, now: Seconds) -> Self {
        let answer = match &resolution.answer {
            Answer::Addresses(addresses) => match (addresses.v4.as_slice(), addresses.v6.as_slice()) {
                ([address], []) => Small::Address(*address),
                _ => Small::Other(Box::new(resolution.answer.clone())),
            },
            Answer::NxDomain => Small::NxDomain,
            answer => Small::Other(Box::new(answer.clone())),
        };
        let ttl = if matches!(resolution.answer, Answer::Failed { .. }) { FAILURE } else { resolution.ttl };
        Kept { answer, class: resolution.class(SLOW), expires: now as u32 + ttl }
    }

    /// The answer, if it is still valid.
    fn found(&self, now: Seconds) -> Option<Found> {
        let answer = match &self.answer {
            Small::Address(address) => {
                Answer::Addresses(lycosa_names::cache::Addresses { v4: vec![*address], v6: Vec::new() })
            }
            Small::NxDomain => Answer::NxDomain,
            Small::Other(answer) => Answer::clone(answer),
        };
        let expires = Seconds::from(self.expires);
        (now < expires).then_some(Found { answer, expires: Some(expires), class: self.class })
    }
}

/// Memory of an allocation with glibc's malloc.
fn heap(bytes: usize) -> usize {
    (bytes + 8).next_multiple_of(16).max(32)
}

/// Memory of a hash table: one control byte per slot, at most seven eighths full, a power of two.
fn table(capacity: usize, entry: usize) -> usize {
    (capacity * 8 / 7).next_power_of_two() * (entry + 1)
}

/// Counts a lookup.
fn count(statistics: &mut CacheStatistics, found: Option<Found>) -> Option<Found> {
    match found {
        Some(_) => statistics.hits += 1,
        None => statistics.misses += 1,
    }
    found
}

/// Exact LRU by the `lru` crate.
pub(crate) struct ExactLru {
    kept: LruCache<Box<str>, Kept>,
    heap: usize,
    statistics: CacheStatistics,
}

impl ExactLru {
    /// Creates an empty cache.
    pub(crate) fn new(capacity: usize) -> Self {
        let capacity = NonZeroUsize::new(capacity).expect("a capacity");
        ExactLru { kept: LruCache::new(capacity), heap: 0, statistics: CacheStatistics::default() }
    }
}

impl NameCache for ExactLru {
    fn lookup(&mut self, name: HostName<'_>, _: Families, now: Seconds) -> Option<Found> {
        let found = self.kept.get(name.as_str()).and_then(|kept| kept.found(now));
        count(&mut self.statistics, found)
    }

    fn insert(&mut self, name: HostName<'_>, _: Families, resolution: &Resolution, now: Seconds) {
        self.statistics.insertions += 1;
        self.heap += heap(name.as_str().len());
        if let Some((name, kept)) = self.kept.push(name.as_str().into(), Kept::new(resolution, now)) {
            self.heap -= heap(name.len());
            self.statistics.evictions += u64::from(kept.found(now).is_some());
        }
    }

    fn forget(&mut self, name: HostName<'_>) -> bool {
        self.kept.pop(name.as_str()).map(|_| self.heap -= heap(name.as_str().len())).is_some()
    }

    fn count(&self) -> u64 {
        self.kept.len() as u64
    }

    fn memory(&self) -> usize {
        // Two pointers per entry in the table; the entry is an allocation of key, value and two pointers.
        let entry = heap(size_of::<Box<str>>() + size_of::<Kept>() + 16);
        table(self.kept.cap().get(), 16) + self.kept.len() * entry + self.heap
    }

    fn statistics(&self) -> CacheStatistics {
        self.statistics
    }
}

/// SIEVE: a queue in insertion order, and a hand that moves from its old end to its new one and spares
/// entries used since it last passed. A hit sets a bit and moves nothing.
pub(crate) struct Sieve {
    capacity: usize,
    places: HashMap<Box<str>, u32>,
    entries: Vec<Entry>,
    newest: u32,
    oldest: u32,
    hand: u32,
    heap: usize,
    statistics: CacheStatistics,
}

/// A name in SIEVE's queue.
struct Entry {
    name: Box<str>,
    kept: Kept,
    used: bool,
    newer: u32,
    older: u32,
}

/// Null index.
const NONE: u32 = u32::MAX;

impl Sieve {
    /// Creates an empty cache.
    pub(crate) fn new(capacity: usize) -> Self {
        Sieve {
            capacity,
            places: HashMap::new(),
            entries: Vec::new(),
            newest: NONE,
            oldest: NONE,
            hand: NONE,
            heap: 0,
            statistics: CacheStatistics::default(),
        }
    }

    /// Evicts an entry from queue and table; returns its index.
    fn evict(&mut self, now: Seconds) -> u32 {
        let mut at = if self.hand == NONE { self.oldest } else { self.hand };
        while std::mem::take(&mut self.entries[at as usize].used) {
            at = match self.entries[at as usize].newer {
                NONE => self.oldest,
                newer => newer,
            };
        }
        self.hand = self.entries[at as usize].newer;
        self.statistics.evictions += u64::from(self.entries[at as usize].kept.found(now).is_some());
        self.unlink(at);
        let name = std::mem::take(&mut self.entries[at as usize].name);
        self.places.remove(&name);
        self.heap -= 2 * heap(name.len());
        at
    }

    /// Removes an entry from the queue.
    fn unlink(&mut self, at: u32) {
        let (newer, older) = (self.entries[at as usize].newer, self.entries[at as usize].older);
        match older {
            NONE => self.oldest = newer,
            older => self.entries[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.entries[newer as usize].older = older,
        }
    }
}

impl NameCache for Sieve {
    fn lookup(&mut self, name: HostName<'_>, _: Families, now: Seconds) -> Option<Found> {
        let found = self.places.get(name.as_str()).and_then(|&at| {
            let entry = &mut self.entries[at as usize];
            entry.used = true;
            entry.kept.found(now)
        });
        count(&mut self.statistics, found)
    }

    fn insert(&mut self, name: HostName<'_>, _: Families, resolution: &Resolution, now: Seconds) {
        self.statistics.insertions += 1;
        let kept = Kept::new(resolution, now);
        if let Some(&at) = self.places.get(name.as_str()) {
            self.entries[at as usize].kept = kept;
            return;
        }
        let older = self.newest;
        let entry = Entry { name: name.as_str().into(), kept, used: false, newer: NONE, older };
        let at = if self.entries.len() < self.capacity {
            self.entries.push(entry);
            (self.entries.len() - 1) as u32
        } else {
            let at = self.evict(now);
            self.entries[at as usize] = Entry { older: self.newest, ..entry };
            at
        };
        match self.entries[at as usize].older {
            NONE => self.oldest = at,
            older => self.entries[older as usize].newer = at,
        }
        self.newest = at;
        self.places.insert(name.as_str().into(), at);
        self.heap += 2 * heap(name.as_str().len());
    }

    fn forget(&mut self, name: HostName<'_>) -> bool {
        let Some(&at) = self.places.get(name.as_str()) else { return false };
        self.entries[at as usize].kept.expires = 0;
        true
    }

    fn count(&self) -> u64 {
        self.places.len() as u64
    }

    fn memory(&self) -> usize {
        // The names could be stored in the queue alone, as in the other caches: they are counted once.
        table(self.capacity, 4) + self.entries.len() * size_of::<Entry>() + self.heap / 2
    }

    fn statistics(&self) -> CacheStatistics {
        self.statistics
    }
}
