//! The buckets: where a name lives, how one gets in, who has to go.
//!
//! Guarantees:
//! - A name has two buckets, which its slot tells from either: no name is lost to a table that is not nearly full.
//! - It is in one slot at most. A reader may miss it while it moves from one bucket to the other, never see it torn.
//! - Who has to go before it expires has the lowest weight of twelve: names that nobody asked for again go first, so that a
//!   scan of one-time names pushes out itself.

use std::sync::atomic::{AtomicU32, AtomicU64};

use super::bucket::{Bucket, SLOTS, WORDS, Writers};
use super::key::Key;
use super::map::prefetch;
use super::memory::Machine;
use super::slot::{Kind, MAX_WEIGHT, Meta, Slot};

/// All buckets.
#[derive(Clone, Copy)]
pub(super) struct Table<'m> {
    wide: &'m [AtomicU64],
    narrow: &'m [AtomicU32],
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

    /// Empties all slots of a bucket of which this holds; gives what stood there. `None` when the bucket was busy.
    pub(super) fn purge(
        &self,
        bucket: usize,

        writers: &impl Writers,
        holds: impl Fn(&Slot) -> bool,
    ) -> Option<(Vec<Slot>, bool)> {
        let bucket = self.bucket(bucket);
        let mut held = bucket.take(writers)?;
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
