//! The table of buckets: where a name is stored, how it is inserted, which entry is evicted.
//!
//! Guarantees:
//! - A name has two buckets, each computable from the other and the slot (cuckoo hashing): names are evicted before they expire
//!   only if the table is nearly full.
//! - A name has one slot at most. A reader may miss it while it is moved between its buckets, but never sees it torn.
//! - The eviction victim has the lowest weight of twelve slots: names that were not looked up again go first, so that a
//!   scan of one-time names evicts itself.

use std::sync::atomic::{AtomicU32, AtomicU64};

use lycosa_mapped::prefetch;

use super::bucket::{Bucket, SLOTS, WORDS, WriteGuard, Writers, occupied};
use super::key::{GOLDEN, NameKey};
use super::memory::Native;
use super::record::{MAX_WEIGHT, Slot, SlotKind};

/// Slots of two buckets.
const PAIR: usize = 2 * SLOTS;

/// Occupied slots in percent from which no entry is moved to free a slot: in a full table that would only cost twelve cache misses.
const MOVE_BELOW: u64 = 97;

/// One eviction in so many lowers the weights of the other entries, so that entries that were useful long ago
/// are evicted. Of names with full weight, nineteen in twenty survive a scan three times as large as the table.
const AGE_EVERY: u64 = 16;

/// All buckets.
#[derive(Clone, Copy)]
pub(super) struct BucketTable<'m> {
    wide: &'m [AtomicU64],
    narrow: &'m [AtomicU32],
}

impl<'m> BucketTable<'m> {
    /// The buckets in the same memory as words of 64 and of 32 bits.
    #[inline]
    pub(super) fn new((wide, narrow): (&'m [AtomicU64], &'m [AtomicU32])) -> Self {
        BucketTable { wide, narrow }
    }

    /// The number of buckets.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.wide.len() / WORDS
    }

    /// A bucket below [`Self::len`].
    #[inline]
    pub(super) fn bucket(&self, index: usize) -> Bucket<'m, Native> {
        let wide = &self.wide[index * WORDS..][..1 + SLOTS];
        let narrow = &self.narrow[index * 2 * WORDS + 2 * (1 + SLOTS)..][..3 * SLOTS];
        Bucket::new(&wide[0], &wide[1..], narrow)
    }

    /// The two buckets of a name.
    #[inline]
    pub(super) fn homes(&self, key: &NameKey) -> [usize; 2] {
        let first = reduce(key.pick, self.len());
        [first, self.other(first, key.verify)]
    }

    /// The other bucket of a name in this one: the sum of both modulo the number of buckets is a hash of `verify`.
    #[inline]
    fn other(&self, bucket: usize, verify: u64) -> usize {
        let sum = reduce(verify.wrapping_mul(GOLDEN), self.len());
        if sum >= bucket { sum - bucket } else { sum + self.len() - bucket }
    }

    /// Prefetches the buckets of a name.
    #[inline]
    pub(super) fn prefetch(&self, homes: [usize; 2]) {
        for home in homes {
            prefetch(&self.wide[home * WORDS]);
            prefetch(&self.wide[home * WORDS + WORDS / 2]);
        }
    }

    /// Finds a name; `load` reads what its slot refers to before the slot is validated. Buckets that stay locked are skipped.
    #[inline]
    pub(super) fn find<R>(
        &self,
        key: &NameKey,
        homes: [usize; 2],
        load: impl Fn(&Slot) -> R,
    ) -> Option<Located<R>> {
        let matches = key.matches();
        homes.into_iter().find_map(|home| {
            let look = |(index, slot): (usize, Slot)| Located { home, index, slot, loaded: load(&slot) };
            self.bucket(home).read(|snapshot| snapshot.find(key.verify, &matches).map(look)).flatten()
        })
    }

    /// Empties the matching slots of a bucket; returns their contents, and whether the bucket was taken over
    /// from a dead owner. `None` if the bucket stayed locked.
    pub(super) fn purge(
        &self,
        bucket: usize,
        writers: &impl Writers,
        matches: impl Fn(&Slot) -> bool,
    ) -> Option<(Vec<Slot>, bool)> {
        let bucket = self.bucket(bucket);
        let mut guard = bucket.take(writers)?;
        let mut removed = Vec::new();
        for index in 0..SLOTS {
            let slot = guard.slot(index);
            if slot.kind != SlotKind::Empty && matches(&slot) {
                guard.put(index, Slot::default());
                removed.push(slot);
            }
        }
        Some((removed, guard.inherited))
    }

    /// Inserts a name or replaces its slot; `None` if a bucket stayed locked. `load`: occupied slots in percent.
    pub(super) fn insert(
        &self,
        key: &NameKey,
        slot: Slot,
        minute: u64,
        load: u64,
        writers: &impl Writers,
    ) -> Option<Insertion> {
        let mut homes = self.homes(key);
        homes.sort_unstable(); // the lock order: concurrent writers of a name meet at the first bucket and insert it once
        let buckets = homes.map(|home| self.bucket(home));
        let first = buckets[0].take(writers)?;
        let second = if homes[0] == homes[1] { None } else { Some(buckets[1].take(writers)?) };
        let mut pair = BucketPair::new(homes, [Some(first), second]);
        let inherited = pair.guards.iter().flatten().any(|guard| guard.inherited);
        let matches = key.matches();
        let own = pair.find(|resident| resident.verify == key.verify && matches(resident));
        let (before, early) = if let Some(at) = own {
            let weight = pair.slots[at].map_or(0, |before| before.meta.weight()).max(slot.meta.weight());
            (pair.put(at, Slot { meta: slot.meta.with_weight(weight), ..slot }), false)
        } else if let Some(at) =
            pair.free().or_else(|| pair.find(|resident| resident.meta.left(minute).is_none()))
        {
            (pair.put(at, slot), false)
        } else if let Some(at) = (load < MOVE_BELOW).then(|| pair.make_room(self, writers)).flatten() {
            pair.put(at, slot); // its former content was moved
            (None, false)
        } else {
            let random = pair.random(key);
            let at = pair.victim(minute, random)?;
            let before = pair.put(at, slot);
            pair.age(at, before, random);
            (before, true)
        };
        Some(Insertion { before, early, inherited })
    }
}

/// The outcome of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Insertion {
    /// The former content of the slot: the name's own, an expired entry or an evicted one.
    pub(super) before: Option<Slot>,
    /// Whether that was evicted before it expired.
    pub(super) early: bool,
    /// Whether a bucket was taken over from a dead owner.
    pub(super) inherited: bool,
}

/// Where a name was found.
pub(super) struct Located<R> {
    home: usize,
    index: usize,
    /// Its slot.
    pub(super) slot: Slot,
    /// What the slot refers to.
    pub(super) loaded: R,
}

impl<R> Located<R> {
    /// Raises the name's weight; writes only if it is below the maximum.
    #[inline]
    pub(super) fn raise(&self, table: &BucketTable<'_>) {
        if self.slot.meta.weight() < MAX_WEIGHT {
            table.bucket(self.home).raise(self.index, self.slot.meta);
        }
    }
}

/// Maps a hash to a number below `bound`, evenly (Lemire's reduction).
#[inline]
fn reduce(hash: u64, bound: usize) -> usize {
    ((u128::from(hash) * bound as u128) >> 64) as usize
}

/// The two buckets of a name, both locked; or the one, if they are the same.
struct BucketPair<'b, 'm> {
    homes: [usize; 2],
    guards: [Option<WriteGuard<'b, 'm, Native>>; 2],
    /// Their slots; `None` for a missing second bucket.
    slots: [Option<Slot>; PAIR],
}

impl<'b, 'm> BucketPair<'b, 'm> {
    /// Loads the slots of locked buckets.
    fn new(homes: [usize; 2], guards: [Option<WriteGuard<'b, 'm, Native>>; 2]) -> Self {
        let slots = std::array::from_fn(|at| guards[at / SLOTS].as_ref().map(|guard| guard.slot(at % SLOTS)));
        BucketPair { homes, guards, slots }
    }

    /// The first occupied slot that matches.
    fn find(&self, matches: impl Fn(&Slot) -> bool) -> Option<usize> {
        (0..PAIR)
            .find(|&at| self.slots[at].is_some_and(|slot| slot.kind != SlotKind::Empty && matches(&slot)))
    }

    /// A free slot in the bucket that has more of them, so that both fill evenly.
    fn free(&self) -> Option<usize> {
        let is_free = |at: &usize| self.slots[*at].is_some_and(|slot| slot.kind == SlotKind::Empty);
        let free = |side: usize| (side * SLOTS..(side + 1) * SLOTS).filter(is_free);
        free(usize::from(free(1).count() > free(0).count())).next()
    }

    /// Writes a slot; returns its former content.
    fn put(&mut self, at: usize, slot: Slot) -> Option<Slot> {
        self.guards[at / SLOTS].as_mut()?.put(at % SLOTS, slot);
        self.slots[at].replace(slot).filter(|before| before.kind != SlotKind::Empty)
    }

    /// Copies an entry to its other bucket; returns its slot here, which may be overwritten. A reader finds the
    /// entry in one of the two, or misses it.
    fn make_room(&self, table: &BucketTable<'_>, writers: &impl Writers) -> Option<usize> {
        // All control words are loaded first, so that the cache misses overlap.
        let mut targets: [Option<(u32, usize, usize)>; PAIR] = std::array::from_fn(|at| {
            let target = table.other(self.homes[at / SLOTS], self.slots[at]?.verify);
            let control = (!self.homes.contains(&target)).then(|| table.bucket(target).control())?;
            Some((occupied(control), target, at))
        });
        targets.sort_unstable();
        let mut targets = targets.into_iter().flatten().take_while(|(used, ..)| *used < SLOTS as u32);
        targets.find_map(|(_, target, at)| {
            let (bucket, resident) = (table.bucket(target), self.slots[at]?);
            let mut guard = bucket.try_take(writers, false)?;
            let free = (0..SLOTS).find(|&index| guard.slot(index).kind == SlotKind::Empty)?;
            guard.put(free, resident);
            Some(at)
        })
    }

    /// The entry to evict: of least weight, then of least time left, then random.
    fn victim(&self, minute: u64, random: u64) -> Option<usize> {
        let worth = |at: &usize| {
            let slot = self.slots[*at].unwrap_or_default();
            (slot.meta.weight(), slot.meta.left(minute), (*at as u64 + random) % PAIR as u64)
        };
        (0..PAIR).filter(|&at| self.slots[at].is_some()).min_by_key(worth)
    }

    /// Lowers all weights but one by the evicted entry's, or by one if that is due. Slow names age half as fast: resolving them
    /// again costs more.
    fn age(&mut self, except: usize, evicted: Option<Slot>, random: u64) {
        let due = u32::from(random.is_multiple_of(AGE_EVERY));
        let by = evicted.map_or(0, |evicted| evicted.meta.weight()).max(due);
        let ages_slow = (random / AGE_EVERY).is_multiple_of(2);
        for at in (0..PAIR).filter(|&at| by > 0 && at != except) {
            let is_slow = self.slots[at].is_some_and(|slot| slot.meta.slow());
            if let Some(guard) = self.guards[at / SLOTS].as_mut().filter(|_| !is_slow || ages_slow) {
                guard.lower(at % SLOTS, by);
            }
        }
    }

    /// A pseudo-random number that differs with each write, also for the same name.
    fn random(&self, key: &NameKey) -> u64 {
        let mix =
            |state: u64, guard: &WriteGuard<'_, '_, Native>| (state ^ guard.sequence).wrapping_mul(GOLDEN);
        self.guards.iter().flatten().fold(key.pick, mix) >> 32
    }
}
