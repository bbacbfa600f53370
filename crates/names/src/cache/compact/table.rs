//! The buckets: where a name lives, how one gets in, who has to go.
//!
//! Guarantees:
//! - A name has two buckets, which its slot tells from either: no name is lost to a table that is not nearly full.
//! - It is in one slot at most. A reader may miss it while it moves from one bucket to the other, never see it torn.
//! - Who has to go before it expires has the lowest weight of twelve: names that nobody asked for again go first, so that a
//!   scan of one-time names pushes out itself.

use std::sync::atomic::{AtomicU32, AtomicU64};

use super::bucket::{Bucket, Held, Obituary, SLOTS, WORDS, Writer, used};
use super::key::Key;
use super::map::prefetch;
use super::memory::Machine;
use super::slot::{Kind, MAX_WEIGHT, Meta, Slot};

/// The part of the slots beyond which no resident is moved to make room, in percent: in a table that is full it would
/// only cost twelve looks far away.
const MOVE_BELOW: u64 = 97;

/// One insertion in so many lowers the weights of those who might have gone, so that what was asked for long ago gives way.
const AGE_EVERY: u64 = 16;

/// All buckets.
#[derive(Clone, Copy)]
pub(super) struct Table<'m> {
    wide: &'m [AtomicU64],
    narrow: &'m [AtomicU32],
}

/// What became of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    /// What stood in the slot before, if anything did: the name's own, an expired name's or one that had to go.
    pub(super) before: Option<Slot>,
    /// Whether that was the name itself.
    pub(super) same: bool,
    /// Whether it had to go before it expired.
    pub(super) early: bool,
    /// Whether a dead writer's bucket was emptied.
    pub(super) inherited: bool,
}

impl<'m> Table<'m> {
    /// The buckets in these words, in both views of the same memory.
    #[inline]
    pub(super) fn new(wide: &'m [AtomicU64], narrow: &'m [AtomicU32]) -> Self {
        Table { wide, narrow }
    }

    /// How many buckets there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.wide.len() / WORDS
    }

    /// A bucket below [`Self::len`].
    #[inline]
    pub(super) fn bucket(&self, index: usize) -> Bucket<'m, Machine> {
        let wide = &self.wide[index * WORDS..][..1 + SLOTS];
        let narrow = &self.narrow[index * 2 * WORDS + 2 * (1 + SLOTS)..][..3 * SLOTS];
        Bucket::new(&wide[0], &wide[1..], narrow)
    }

    /// The two buckets of a name.
    #[inline]
    pub(super) fn homes(&self, key: &Key) -> [usize; 2] {
        let first = spread(key.pick, self.len());
        [first, self.other(first, key.verify)]
    }

    /// The other bucket of a name that lives in this one: their sum is the same, whichever one is asked.
    #[inline]
    pub(super) fn other(&self, bucket: usize, verify: u64) -> usize {
        let sum = spread(verify.wrapping_mul(0x9e37_79b9_7f4a_7c15), self.len());
        if sum >= bucket { sum - bucket } else { sum + self.len() - bucket }
    }

    /// Brings a name's buckets near.
    #[inline]
    pub(super) fn prefetch(&self, homes: [usize; 2]) {
        for home in homes {
            prefetch(&self.wide[home * WORDS]);
            prefetch(&self.wide[home * WORDS + WORDS / 2]);
        }
    }

    /// Finds a name; `seen` looks at what its slot refers to while the slot stands. A bucket that writers keep busy is taken
    /// for one without the name.
    #[inline]
    pub(super) fn find<R>(
        &self,
        key: &Key,
        homes: [usize; 2],
        fits: impl Fn(&Slot) -> bool,
        seen: impl Fn(&Slot) -> R,
    ) -> Option<Place<R>> {
        homes.into_iter().find_map(|home| {
            let look = |(index, slot): (usize, Slot)| Place { home, index, slot, more: seen(&slot) };
            self.bucket(home).read(|glance| glance.find(key.verify, &fits).map(look)).flatten()
        })
    }

    /// Puts a name in, in its own slot if it has one; `None` when a bucket was busy all the time.
    pub(super) fn place(
        &self,
        key: &Key,
        slot: Slot,
        minute: u64,
        load: u64,
        writer: Writer,
        obituary: &impl Obituary,
        fits: impl Fn(&Slot) -> bool,
    ) -> Option<Placed> {
        let homes = self.homes(key);
        let (low, high) = (homes[0].min(homes[1]), homes[0].max(homes[1]));
        // Always in this order, so that two writers of one name meet at the first and it is never put in twice.
        let (low_bucket, high_bucket) = (self.bucket(low), self.bucket(high));
        let mut held: [Option<Held<'_, '_, _>>; 2] = [Some(low_bucket.take(writer, obituary)?), None];
        if high != low {
            held[1] = Some(high_bucket.take(writer, obituary)?);
        }
        let inherited = held.iter().flatten().any(|held| held.inherited);
        let put = |held: &mut [Option<Held<'_, '_, _>>; 2], (side, index): (usize, usize), new: Slot| {
            let held = held[side].as_mut()?;
            let before = Some(held.slot(index)).filter(|slot| slot.kind != Kind::Empty);
            held.put(index, new);
            before
        };
        let all = || (0..2).flat_map(|side| (0..SLOTS).map(move |index| (side, index)));
        let slots: [Option<Slot>; 2 * SLOTS] =
            std::array::from_fn(|n| held[n / SLOTS].as_ref().map(|held| held.slot(n % SLOTS)));
        let find = |holds: &dyn Fn(&Slot) -> bool| {
            all().find(|(side, index)| slots[side * SLOTS + index].as_ref().is_some_and(holds))
        };
        let placed = Placed { before: None, same: false, early: false, inherited };
        if let Some(at) = find(&|slot| slot.kind != Kind::Empty && slot.verify == key.verify && fits(slot)) {
            let weight = slots[at.0 * SLOTS + at.1].map_or(0, |slot| slot.meta.weight());
            let meta = slot.meta.with_weight(weight.max(slot.meta.weight()));
            let before = put(&mut held, at, Slot { meta, ..slot });
            return Some(Placed { before, same: true, ..placed });
        }
        let free = |side: usize| {
            (0..SLOTS)
                .filter(|index| slots[side * SLOTS + index].is_some_and(|slot| slot.kind == Kind::Empty))
                .count()
        };
        let roomier = usize::from(free(1) > free(0));
        let room = (0..SLOTS)
            .map(|index| (roomier, index))
            .find(|(side, index)| slots[side * SLOTS + index].is_some_and(|slot| slot.kind == Kind::Empty));
        if let Some(at) = room.or_else(|| find(&|slot| slot.meta.left(minute).is_none())) {
            let before = put(&mut held, at, slot);
            return Some(Placed { before, ..placed });
        }
        let moved =
            (load < MOVE_BELOW).then(|| self.make_room([low, high], &slots, writer, obituary)).flatten();
        if let Some(at) = moved {
            put(&mut held, at, slot);
            return Some(placed);
        }
        let worth = |&(side, index): &(usize, usize)| {
            let turn = (side * SLOTS + index + key.pick as usize % (2 * SLOTS)) % (2 * SLOTS);
            let worth = |slot: Slot| (slot.meta.weight(), slot.meta.left(minute).unwrap_or_default(), turn);
            slots[side * SLOTS + index].map_or((MAX_WEIGHT + 1, 0, 0), worth)
        };
        let victim = all().min_by_key(worth)?;
        let least = worth(&victim).0;
        let before = put(&mut held, victim, slot);
        // A number that is another one each time, also for a name that comes again and again.
        let dice = held
            .iter()
            .flatten()
            .fold(key.pick, |dice, held| (dice ^ held.sequence).wrapping_mul(0x9e37_79b9_7f4a_7c15))
            >> 32;
        let by = least.max(u32::from(dice.is_multiple_of(AGE_EVERY)));
        for (side, index) in all().filter(|at| *at != victim) {
            let slow = slots[side * SLOTS + index].is_some_and(|slot| slot.meta.slow());
            // Slow names age half as fast: asking for them again costs more.
            if let Some(held) =
                held[side].as_mut().filter(|_| by > 0 && !(slow && (dice / AGE_EVERY).is_multiple_of(2)))
            {
                held.lower(index, by);
            }
        }
        Some(Placed { before, early: true, ..placed })
    }

    /// Moves one of the residents of two full buckets to its other bucket; gives the place that is free then.
    fn make_room(
        &self,
        homes: [usize; 2],
        slots: &[Option<Slot>; 2 * SLOTS],
        writer: Writer,
        obituary: &impl Obituary,
    ) -> Option<(usize, usize)> {
        // All looks first, so that they overlap.
        let targets: [Option<(usize, u64)>; 2 * SLOTS] = std::array::from_fn(|n| {
            let target = self.other(homes[n / SLOTS], slots[n]?.verify);
            (!homes.contains(&target)).then(|| (target, self.bucket(target).control()))
        });
        let roomy = |n: &usize| {
            targets[*n]
                .is_some_and(|(_, control)| used(control) < SLOTS as u32 && control >> 12 & 0xf_ffff == 0)
        };
        let mut by_room: [usize; 2 * SLOTS] = std::array::from_fn(|n| n);
        by_room.sort_unstable_by_key(|&n| targets[n].map_or(u32::MAX, |(_, control)| used(control)));
        by_room.into_iter().filter(roomy).find_map(|n| {
            let (target, resident) = (self.bucket(targets[n]?.0), slots[n]?);
            let mut held = target.take(writer, obituary)?;
            let room = held.position(|slot| slot.kind == Kind::Empty)?;
            held.put(room, resident);
            Some((n / SLOTS, n % SLOTS))
        })
    }

    /// Empties all slots of a bucket of which this holds; gives what stood there. `None` when the bucket was busy.
    pub(super) fn purge(
        &self,
        bucket: usize,
        writer: Writer,
        obituary: &impl Obituary,
        holds: impl Fn(&Slot) -> bool,
    ) -> Option<(Vec<Slot>, bool)> {
        let bucket = self.bucket(bucket);
        let mut held = bucket.take(writer, obituary)?;
        let mut gone = Vec::new();
        for index in 0..SLOTS {
            let slot = held.slot(index);
            if slot.kind != Kind::Empty && holds(&slot) {
                held.put(index, Slot::default());
                gone.push(slot);
            }
        }
        Some((gone, held.inherited))
    }
}

/// Where a name was found.
pub(super) struct Place<R> {
    /// Its bucket.
    pub(super) home: usize,
    /// The slot in it.
    pub(super) index: usize,
    /// What the slot says.
    pub(super) slot: Slot,
    /// What it refers to.
    pub(super) more: R,
}

impl<R> Place<R> {
    /// Raises the name's weight; costs a write only as long as it is not the highest.
    #[inline]
    pub(super) fn raise(&self, table: &Table<'_>) {
        let meta: Meta = self.slot.meta;
        if meta.weight() < MAX_WEIGHT {
            table.bucket(self.home).raise(self.index, meta);
        }
    }
}

/// A number below `bound` that is as evenly spread as the hash.
#[inline]
fn spread(hash: u64, bound: usize) -> usize {
    ((u128::from(hash) * bound as u128) >> 64) as usize
}
