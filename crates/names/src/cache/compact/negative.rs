//! Names that do not resolve: the negative filter, cuts, and failures.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

use lycosa_url::registered_domain;
use quick_cache::sync::Cache;

use super::super::kept::pause;
use super::super::{Seconds, Trouble};
use super::key::{GOLDEN, NameKey};
use super::layout::word;
use super::record::{NegativeEntry, NegativeKind, Record, State, families_bits};
use super::{CompactCache, add, scan};
use crate::host::HostName;
use crate::settings::Families;

/// One Bloom filter, or several generations of them.
///
/// Guarantees:
/// - With n generations a name is found for (n − 1)/n to all of the retention; if the filter is cleared as a whole, for up to all of
///   it. After that it is not found, except as a false positive.
/// - The false-positive rate of a full filter stays below the setting. If more names are inserted than it was made for, the
///   oldest are dropped early: a forgotten name costs a query, a false positive loses a site.
/// - Bits are only set, or cleared by generation: writers need no lock, and one that dies leaves a consistent filter.
#[derive(Clone, Copy)]
pub(super) struct Filter<'m> {
    /// All generations.
    pub(super) words: &'m [AtomicU64],
    /// Their number.
    pub(super) generations: u64,
    /// Bits per name.
    pub(super) hashes: u64,
    /// Retention of a name, in seconds.
    pub(super) ttl: u64,
    /// The current generation (8 bits) and the second at which it began (56 bits).
    pub(super) state: &'m AtomicU64,
    /// Names in the current generation, approximately.
    pub(super) filled: &'m AtomicU64,
}

/// The hash of a name in the filter. Each bit is drawn from 128 bits of hash: plain double hashing (first bit and step only)
/// exceeds the false-positive rate of small filters (Dillinger and Manolios 2004, section 4).
#[derive(Clone, Copy)]
pub(super) struct FilterHash {
    first: u64,
    step: u64,
}

impl FilterHash {
    /// Derived from the keyed hash of a whole name and the queried families.
    pub(super) fn of(hash: &NameKey, families: Families) -> Self {
        let salt = GOLDEN.wrapping_mul(u64::from(families_bits(families)) + 1);
        // The same hash selects the buckets; multiplication makes the bits independent of them.
        let mix = |word: u64| {
            let word = (word ^ word >> 32 ^ salt).wrapping_mul(0xd6e8_feb8_6659_fd93);
            word ^ word >> 32
        };
        FilterHash {
            first: mix(hash.pick).wrapping_mul(GOLDEN),
            step: mix(hash.verify).wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1,
        }
    }

    /// The words and masks of its bits below `bound`.
    fn bits(self, count: u64, bound: u64) -> impl Iterator<Item = (usize, u64)> {
        let mut state = self.first;
        (0..count).map(move |_| {
            state = state.wrapping_add(self.step);
            let hash = (state ^ state >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
            let bit = ((u128::from(hash) * u128::from(bound)) >> 64) as u64;
            ((bit / 64) as usize, 1 << (bit % 64))
        })
    }
}

impl Filter<'_> {
    /// Whether the cache has a filter.
    pub(super) fn exists(&self) -> bool {
        self.generations > 0 && !self.words.is_empty()
    }

    /// Whether a name is in it, or is a false positive.
    pub(super) fn contains(&self, hash: FilterHash) -> bool {
        let size = self.size();
        let is_in = |generation: &[AtomicU64]| {
            let mut bits = hash.bits(self.hashes, size as u64 * 64);
            bits.all(|(word, bit)| generation[word].load(Relaxed) & bit != 0)
        };
        size > 0 && self.words.chunks_exact(size).any(is_in)
    }

    /// Prefetches the first bit of a name in each generation: of a name that is in none, few others are read.
    pub(super) fn prefetch(&self, hash: FilterHash) {
        let size = self.size();
        let Some((word, _)) = hash.bits(1, size as u64 * 64).next() else { return };
        self.words.iter().skip(word).step_by(size.max(1)).for_each(lycosa_mapped::prefetch);
    }

    /// Inserts a name into the current generation.
    pub(super) fn insert(&self, hash: FilterHash) {
        let Some(generation) = self.generation(self.state.load(Acquire) >> 56) else { return };
        let mut is_new = false;
        for (word, bit) in hash.bits(self.hashes, generation.len() as u64 * 64) {
            is_new |= generation[word].fetch_or(bit, Relaxed) & bit == 0;
        }
        self.filled.fetch_add(is_new.into(), Relaxed);
    }

    /// Whether [`Self::advance`] has work because of the time.
    #[inline]
    pub(super) fn is_due(&self, now: Seconds) -> bool {
        let began = self.state.load(Relaxed) << 8 >> 8;
        self.steps(began, now) > 0 || is_absurd(began, now)
    }

    /// Whether the current generation has the number of names that it was made for: half of its bits are set.
    pub(super) fn is_full(&self) -> bool {
        let bits = self.size() as f64 * 64.0;
        self.filled.load(Relaxed) as f64 * self.hashes as f64 >= bits * std::f64::consts::LN_2
    }

    /// Clears the generations that are due. Requires the maintenance lock; may be repeated after a crash.
    pub(super) fn advance(&self, now: Seconds) {
        let state = self.state.load(Acquire);
        let (mut newest, mut began) = (state >> 56, state << 8 >> 8);
        let store = |newest, began| self.state.store(newest << 56 | began & (u64::MAX >> 8), Release);
        if is_absurd(began, now) {
            began = now;
            store(newest, began);
        }
        let by_time = self.steps(began, now);
        let steps = by_time.max(self.is_full().into());
        if steps == 0 || self.generations == 0 {
            return;
        }
        for _ in 0..steps.min(self.generations) {
            newest = (newest + 1) % self.generations;
            self.generation(newest).unwrap_or(&[]).iter().for_each(|word| word.store(0, Relaxed));
        }
        self.filled.store(0, Relaxed);
        let is_partial = by_time > 0 && steps < self.generations;
        store(newest, if is_partial { began + steps * self.slice() } else { began.max(now) });
    }

    /// Removes all names. Requires exclusive use of the file.
    pub(super) fn clear(&self) {
        self.words.iter().for_each(|word| word.store(0, Relaxed));
        self.filled.store(0, Relaxed);
    }

    /// The share of bits that are set.
    pub(super) fn fill(&self) -> f64 {
        let set: u64 = self.words.iter().map(|word| u64::from(word.load(Relaxed).count_ones())).sum();
        set as f64 / (self.words.len().max(1) * 64) as f64
    }

    /// The number of generations that have to begin. 0 if the current one began in the future (a clock was set
    /// back, or clocks of processes differ): otherwise two such processes would clear the filter in turn.
    fn steps(&self, began: Seconds, now: Seconds) -> u64 {
        now.saturating_sub(began) / self.slice()
    }

    /// Seconds from one generation to the next.
    fn slice(&self) -> u64 {
        (self.ttl / self.generations.max(1)).max(1)
    }

    /// Words of a generation.
    fn size(&self) -> usize {
        self.words.len() / self.generations.max(1) as usize
    }

    /// The words of a generation.
    fn generation(&self, number: u64) -> Option<&[AtomicU64]> {
        let (size, number) = (self.size(), number as usize);
        self.words.get(number * size..(number + 1) * size).filter(|words| !words.is_empty())
    }
}

/// Whether a generation began more than a day in the future, the largest tolerated clock difference: it then
/// begins now.
fn is_absurd(began: Seconds, now: Seconds) -> bool {
    began.saturating_sub(now) > 86_400
}

/// Cuts (RFC 8020): if a name does not exist, no name below it does.
///
/// They are entries of the table, because a filter's false positive would deny a whole domain. They apply at or below the
/// registered domain only, so that no answer denies names of other registrants. In a chain of aliases the cut is at the last
/// target, because the aliases exist (RFC 6604 section 3).
impl CompactCache {
    /// Inserts a cut at the queried name or, if that is an alias, at the last target. False for a public
    /// suffix, or without space.
    pub fn put_cut(&self, name: HostName<'_>, ttl: u32, now: Seconds) -> bool {
        let name = name.as_str();
        if scan::is_public_suffix(name) || !self.may_write() {
            return false;
        }
        let ttl = u64::from(ttl).clamp(1, self.header.negative_ttl);
        let kind = NegativeKind::Cut;
        let entry = NegativeEntry { kind, families: Families::Both, attempts: 0, seconds: 0 };
        add(self.live(word::CUTS), 1);
        self.put_entry(name, &self.keys.of(name), entry, now + ttl, now)
    }

    /// The denial by a cut above a name.
    pub(super) fn cut_above(&self, name: &str, now: Seconds) -> Option<Record> {
        if self.live(word::CUTS).load(Relaxed) == 0 {
            return None;
        }
        let domain = registered_domain(name);
        let mut above = name;
        while above.len() > domain.len() {
            above = above.split_once('.')?.1;
            if let Some(record) = self.cut_at(&self.keys.of(above), now) {
                return Some(Record::without(State::NxDomain, record.expires));
            }
        }
        None
    }

    /// The valid cut at a name.
    pub(super) fn cut_at(&self, key: &NameKey, now: Seconds) -> Option<Record> {
        let found = self.locate(key, |_| ()).filter(|found| found.slot.is_cut())?;
        Record::of(&found.slot, None, Families::Both, now)
    }
}

/// Most failures that are stored, about 6 MB; the least used are evicted first.
const MAX_FAILURES: usize = 65_536;

/// Resolution failures, which are no evidence about the name (RFC 9520): per family, in the memory of this
/// process only.
///
/// Guarantees: a failure takes no slot, so that it evicts no addresses, valid or expired; it counts with
/// earlier ones until the name is resolved; a failure while an answer is valid only lengthens the retry pause:
/// after the answer expires the name is queried again. Memory is bounded.
#[derive(Debug)]
pub(super) struct Failures {
    known: Cache<(u64, u64), Failure>,
    /// Whether there was ever one: until then lookups skip the table.
    any: AtomicBool,
}

/// A failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// Its kind.
    pub(super) trouble: Trouble,
    /// How many times in a row, at least 1.
    pub(super) attempts: u8,
    /// When it happened.
    since: Seconds,
    /// When the pause after it ends.
    pub(super) until: Seconds,
    /// Whether an answer was valid at that time.
    pub(super) is_beside: bool,
}

impl Failures {
    /// An empty table, for a cache of `capacity` names.
    pub(super) fn new(capacity: u64) -> Self {
        let most = usize::try_from(capacity).unwrap_or(MAX_FAILURES).saturating_mul(4);
        Failures { known: Cache::new(most.clamp(4_096, MAX_FAILURES)), any: AtomicBool::new(false) }
    }

    /// Adds a failure; it continues a row of failures until the longest pause has passed after the last pause.
    pub(super) fn add(
        &self,
        key: (u64, u64),
        (trouble, attempts): (Trouble, u8),
        (first, last): (u32, u32),
        is_beside: bool,
        now: Seconds,
    ) {
        let before = self.known.get(&key).filter(|before| now < before.until + Seconds::from(last));
        let row = before.map_or(0, |before| before.attempts).saturating_add(1);
        let attempts = attempts.max(row).clamp(1, 127);
        let until = now + Seconds::from(pause(attempts, first, last));
        self.any.store(true, Relaxed);
        self.known.insert(key, Failure { trouble, attempts, since: now, until, is_beside });
    }

    /// The failure whose pause has not ended. `None` if it lies more than 2 s in the future (threads read the
    /// clock at different times): then the clock was set back, which would prolong the pause.
    pub(super) fn get(&self, key: (u64, u64), now: Seconds) -> Option<Failure> {
        let failure = self.any.load(Relaxed).then(|| self.known.get(&key))??;
        (now < failure.until && failure.since <= now + 2).then_some(failure)
    }

    /// Removes all failures.
    pub(super) fn clear(&self) {
        self.known.clear();
    }

    /// Removes a failure; returns whether there was one.
    pub(super) fn remove(&self, key: (u64, u64)) -> bool {
        self.any.load(Relaxed) && self.known.remove(&key).is_some()
    }
}
