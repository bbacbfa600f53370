//! How a name gets into the table, and who has to go for it.

use super::bucket::{Held, SLOTS, Writers, used};
use super::key::Key;
use super::memory::Machine;
use super::slot::{Kind, Slot};
use super::table::Table;

/// Slots of two buckets.
const ALL: usize = 2 * SLOTS;

/// The part of the slots in use, in percent, beyond which no resident is moved to make room: in a table that is full it would
/// only cost twelve looks far away.
const MOVE_BELOW: u64 = 97;

/// One insertion that drives somebody out in so many lowers the weights of those who might have gone instead, so that what was
/// asked for long ago gives way. Of names with full weight nineteen in twenty outlive a scan three times as large as the table.
const AGE_EVERY: u64 = 16;

/// What became of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    /// What stood in the slot before, if anything did: the name's own, an expired name's or one that had to go.
    pub(super) before: Option<Slot>,
    /// Whether it had to go before it expired.
    pub(super) early: bool,
    /// Whether a dead writer's bucket was emptied.
    pub(super) inherited: bool,
}

impl Table<'_> {
    /// Puts a name in, in its own slot if it has one; `None` when a bucket was busy all the time. `load`: the part of the slots
    /// in use, in percent.
    pub(super) fn place(
        &self,
        key: &Key,
        slot: Slot,
        minute: u64,
        load: u64,
        writers: &impl Writers,
        fits: impl Fn(&Slot) -> bool,
    ) -> Option<Placed> {
        let homes = self.homes(key);
        let homes = [homes[0].min(homes[1]), homes[0].max(homes[1])];
        let buckets = homes.map(|home| self.bucket(home));
        // Always in this order, so that two writers of one name meet at the first and it is never put in twice.
        let first = buckets[0].take(writers)?;
        let second = if homes[0] == homes[1] { None } else { Some(buckets[1].take(writers)?) };
        let mut pair = Pair::new(homes, [Some(first), second]);
        let done = |before, early| Placed { before, early, inherited: false };
        let own = |resident: &Slot| resident.verify == key.verify && fits(resident);
        let expired = |resident: &Slot| resident.meta.left(minute).is_none();
        let placed = if let Some(at) = pair.find(own) {
            let weight = pair.slots[at].map_or(0, |before| before.meta.weight()).max(slot.meta.weight());
            done(pair.put(at, Slot { meta: slot.meta.with_weight(weight), ..slot }), false)
        } else if let Some(at) = pair.room().or_else(|| pair.find(expired)) {
            done(pair.put(at, slot), false)
        } else if let Some(at) = (load < MOVE_BELOW).then(|| pair.make_room(self, writers)).flatten() {
            pair.put(at, slot); // who stood there stands elsewhere now
            done(None, false)
        } else {
            let dice = pair.dice(key);
            let at = pair.least(minute, dice)?;
            let before = pair.put(at, slot);
            pair.age(at, before, dice);
            done(before, true)
        };
        Some(Placed { inherited: pair.held.iter().flatten().any(|held| held.inherited), ..placed })
    }
}

/// The two buckets of a name, both taken; one, where they are the same.
struct Pair<'b, 'm> {
    homes: [usize; 2],
    held: [Option<Held<'b, 'm, Machine>>; 2],
    /// What stands in them; `None` where there is no second one.
    slots: [Option<Slot>; ALL],
}

impl<'b, 'm> Pair<'b, 'm> {
    /// The two buckets and what stands in them.
    fn new(homes: [usize; 2], held: [Option<Held<'b, 'm, Machine>>; 2]) -> Self {
        let slots = std::array::from_fn(|at| held[at / SLOTS].as_ref().map(|held| held.slot(at % SLOTS)));
        Pair { homes, held, slots }
    }

    /// The first resident of which this holds.
    fn find(&self, holds: impl Fn(&Slot) -> bool) -> Option<usize> {
        (0..ALL).find(|&at| self.slots[at].is_some_and(|slot| slot.kind != Kind::Empty && holds(&slot)))
    }

    /// An empty slot, in the bucket that has more of them: so both fill evenly.
    fn room(&self) -> Option<usize> {
        let is_free = |at: &usize| self.slots[*at].is_some_and(|slot| slot.kind == Kind::Empty);
        let free = |side: usize| (side * SLOTS..(side + 1) * SLOTS).filter(is_free);
        free(usize::from(free(1).count() > free(0).count())).next()
    }

    /// Writes a slot; gives who stood there.
    fn put(&mut self, at: usize, slot: Slot) -> Option<Slot> {
        self.held[at / SLOTS].as_mut()?.put(at % SLOTS, slot);
        self.slots[at].replace(slot).filter(|before| before.kind != Kind::Empty)
    }

    /// Moves a resident to its other bucket; gives the place where it still stands, and which is free to be written. A reader finds
    /// it in one of the two, or misses it.
    fn make_room(&self, table: &Table<'_>, writers: &impl Writers) -> Option<usize> {
        // All looks first, so that they overlap.
        let mut targets: [Option<(u32, usize, usize)>; ALL] = std::array::from_fn(|at| {
            let target = table.other(self.homes[at / SLOTS], self.slots[at]?.verify);
            let control = (!self.homes.contains(&target)).then(|| table.bucket(target).control())?;
            Some((used(control), target, at))
        });
        targets.sort_unstable();
        targets.into_iter().flatten().take_while(|(used, ..)| *used < SLOTS as u32).find_map(
            |(_, target, at)| {
                let (bucket, resident) = (table.bucket(target), self.slots[at]?);
                let mut held = bucket.try_take(writers, false)?;
                let room = held.position(|slot| slot.kind == Kind::Empty)?;
                held.put(room, resident);
                Some(at)
            },
        )
    }

    /// The resident that is worth least: by weight, then by the time it has left, then by chance.
    fn least(&self, minute: u64, dice: u64) -> Option<usize> {
        let worth = |at: &usize| {
            let slot = self.slots[*at].unwrap_or_default();
            (slot.meta.weight(), slot.meta.left(minute), (*at as u64 + dice) % ALL as u64)
        };
        (0..ALL).filter(|&at| self.slots[at].is_some()).min_by_key(worth)
    }

    /// Lowers the weights of all but one when that is due, so that somebody has the lowest again.
    fn age(&mut self, except: usize, gone: Option<Slot>, dice: u64) {
        let due = u32::from(dice.is_multiple_of(AGE_EVERY));
        let by = gone.map_or(0, |gone| gone.meta.weight()).max(due);
        for at in (0..ALL).filter(|&at| by > 0 && at != except) {
            let slow = self.slots[at].is_some_and(|slot| slot.meta.slow());
            // Slow names age half as fast: asking for them again costs more.
            if let Some(held) =
                self.held[at / SLOTS].as_mut().filter(|_| !slow || (dice / AGE_EVERY).is_multiple_of(2))
            {
                held.lower(at % SLOTS, by);
            }
        }
    }

    /// A number that is another one each time, also for a name that comes again and again.
    fn dice(&self, key: &Key) -> u64 {
        let mix = |dice: u64, held: &Held<'_, '_, Machine>| {
            (dice ^ held.sequence).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        self.held.iter().flatten().fold(key.pick, mix) >> 32
    }
}
