//! A leaf of the dedup tree: up to thirty buckets of keys that share their first bits.
//!
//! A byte of a key chooses its bucket; when that is full, the key stands in the next one. A leaf grows by one bucket at a
//! time, to which each of the others gives its share and nothing else moves (the idea of the jump consistent hash,
//! Lamping and Veach 2014). So all leaves stay nearly full all the time, and keys seldom move.

use super::arena::Arena;
use super::bucket::{Entry, Shape};

/// Buckets above which a leaf becomes two; with these a leaf is two cache lines.
pub(super) const MAX_BUCKETS: usize = 30;

/// Hundredths of its places that may be taken before a leaf grows.
const FULLEST: usize = 97;

/// Hundredths below which a leaf that has no room for a key is not grown: its keys are not evenly spread, and only
/// more leaves help.
const UNEVEN: usize = 50;

/// How many full buckets in a row may each pass a key on, before a leaf grows instead.
const MAX_MOVES: usize = 16;

/// The bucket of each value of the byte that chooses, by the number of buckets.
static HOMES: [[u8; 256]; MAX_BUCKETS + 1] = share_out();

/// Shares those values out: each bucket more takes its part from those that have most.
const fn share_out() -> [[u8; 256]; MAX_BUCKETS + 1] {
    let mut homes = [[0; 256]; MAX_BUCKETS + 1];
    let mut values = [0; MAX_BUCKETS];
    values[0] = 256;
    let mut buckets = 2;
    while buckets <= MAX_BUCKETS {
        homes[buckets] = homes[buckets - 1];
        let newest = buckets - 1;
        while values[newest] < 256 / buckets {
            let (mut most, mut other) = (0, 1);
            while other < newest {
                if values[other] > values[most] {
                    most = other;
                }
                other += 1;
            }
            let mut value = 0;
            while homes[buckets][value] as usize != most {
                value += 1;
            }
            homes[buckets][value] = newest as u8;
            values[most] -= 1;
            values[newest] += 1;
        }
        buckets += 1;
    }
    homes
}

/// Why a leaf cannot take a key: it must become two. With those of its keys that found no place any more.
#[derive(Debug, Default)]
pub(super) struct Crowded(pub(super) Vec<Entry>);

/// The layouts of all leaves of a tree, by depth and implied bits.
#[derive(Clone, Debug)]
pub(super) struct Shapes {
    /// Bytes of a key.
    width: usize,
    by_depth: Vec<[Shape; 9]>,
}

impl Shapes {
    /// The layouts for keys of `width` bytes.
    pub(super) fn new(width: usize) -> Self {
        let of = |depth| std::array::from_fn(|implied| Shape::new(width, depth, 8 - implied as u32));
        Shapes { width, by_depth: (0..=width - 2).map(of).collect() }
    }

    /// Whole bytes that are implied in the deepest leaf: when the next is implied too, its keys differ in what chooses the bucket.
    pub(super) fn deepest(&self) -> usize {
        self.width - 2
    }

    /// The layout of a leaf.
    pub(super) fn of(&self, leaf: &Leaf) -> &Shape {
        &self.by_depth[usize::from(leaf.depth)][usize::from(leaf.bits)]
    }
}

/// Keys that share their first bits: `depth` bytes and `bits` bits of the byte after them.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Leaf {
    pub(super) count: u32,
    pub(super) depth: u8,
    /// Zero to eight.
    pub(super) bits: u8,
    len: u8,
    buckets: [u32; MAX_BUCKETS],
}

impl Leaf {
    /// A leaf without keys, and without buckets yet.
    pub(super) const fn new(depth: u8, bits: u8) -> Self {
        Leaf { count: 0, depth, bits, len: 0, buckets: [0; MAX_BUCKETS] }
    }

    /// The numbers of its buckets.
    pub(super) fn buckets(&self) -> &[u32] {
        &self.buckets[..usize::from(self.len)]
    }

    /// Gets buckets for so many keys, but no more than it can have.
    pub(super) fn make_room_for(&mut self, keys: usize, shape: &Shape, arena: &mut Arena) {
        let wanted = (keys * 100).div_ceil(shape.capacity * (FULLEST - 3)).min(MAX_BUCKETS);
        while self.buckets().len() < wanted {
            self.add_bucket(arena);
        }
    }

    /// The bucket that a search looks at first and the one after it.
    pub(super) fn first_buckets(&self, choice: u8) -> Option<(u32, u32)> {
        let own = self.home(choice);
        (self.len > 0).then(|| (self.buckets[own], self.buckets[self.after(own)]))
    }

    /// The bucket and the slot of a key.
    pub(super) fn find(&self, entry: &Entry, shape: &Shape, arena: &Arena) -> Option<(u32, usize)> {
        let (own, next) = self.first_buckets(entry.choice())?;
        let bucket = arena.get(own);
        if let Some(slot) = bucket.find(shape, entry) {
            return Some((own, slot));
        }
        if !bucket.has_overflown() {
            return None;
        }
        arena.get(next).find(shape, entry).map(|slot| (next, slot))
    }

    /// Adds a key that is not here; the leaf may grow.
    pub(super) fn insert(&mut self, entry: &Entry, shape: &Shape, arena: &mut Arena) -> Result<(), Crowded> {
        loop {
            let room = self.buckets().len() * shape.capacity;
            if (self.count as usize + 1) * 100 <= room * FULLEST && self.place(entry, shape, arena) {
                self.count += 1;
                return Ok(());
            }
            let uneven = self.len > 2 && (self.count as usize) * 100 < room * UNEVEN;
            if uneven || self.buckets().len() == MAX_BUCKETS {
                return Err(Crowded::default());
            }
            self.grow(shape, arena)?;
        }
    }

    /// Removes the key of a slot.
    pub(super) fn remove(&mut self, (bucket, slot): (u32, usize), shape: &Shape, arena: &mut Arena) {
        arena.get_mut(bucket).remove(shape, slot);
        self.count -= 1;
    }

    /// What is stored of each key.
    pub(super) fn entries<'a>(
        &'a self,
        shape: &'a Shape,
        arena: &'a Arena,
    ) -> impl Iterator<Item = Entry> + 'a {
        let buckets = self.buckets().iter().map(|number| arena.get(*number));
        buckets.flat_map(|bucket| (0..bucket.count()).map(|slot| bucket.get(shape, slot)))
    }

    /// Gives all buckets back.
    pub(super) fn free(&self, arena: &mut Arena) {
        self.buckets().iter().for_each(|bucket| arena.free(*bucket));
    }

    /// Adds an empty bucket.
    pub(super) fn add_bucket(&mut self, arena: &mut Arena) -> u32 {
        let number = arena.allocate();
        self.buckets[usize::from(self.len)] = number;
        self.len += 1;
        number
    }

    /// Puts a key into its bucket or, when that is full, into the next; tells whether there was room.
    fn place(&self, entry: &Entry, shape: &Shape, arena: &mut Arena) -> bool {
        let own = self.home(entry.choice());
        let bucket = arena.get_mut(self.buckets[own]);
        if bucket.count() < shape.capacity {
            bucket.push(shape, entry);
            return true;
        }
        let next = self.after(own);
        if !self.make_room(next, shape, arena) {
            return false;
        }
        arena.get_mut(self.buckets[own]).overflow();
        arena.get_mut(self.buckets[next]).push(shape, entry);
        true
    }

    /// Makes room for a key in a bucket: where all are full, each gives one of its own keys to the next.
    fn make_room(&self, position: usize, shape: &Shape, arena: &mut Arena) -> bool {
        let mut gives = [(0, 0); MAX_MOVES];
        let (mut giver, mut moves) = (position, 0);
        while arena.get(self.buckets[giver]).count() == shape.capacity {
            let Some(slot) = self.own_key(giver, shape, arena).filter(|_| moves < gives.len()) else {
                return false;
            };
            gives[moves] = (giver, slot);
            moves += 1;
            giver = self.after(giver);
        }
        for (giver, slot) in gives[..moves].iter().rev().copied() {
            let bucket = arena.get_mut(self.buckets[giver]);
            let entry = bucket.get(shape, slot);
            bucket.remove(shape, slot);
            bucket.overflow();
            arena.get_mut(self.buckets[self.after(giver)]).push(shape, &entry);
        }
        true
    }

    /// The slot of a key that stands in the bucket where it belongs.
    fn own_key(&self, position: usize, shape: &Shape, arena: &Arena) -> Option<usize> {
        // Those that were moved here tend to have come first.
        arena.get(self.buckets[position]).choices(shape).rposition(|choice| self.home(choice) == position)
    }

    /// Gets one bucket more, and moves keys to it: those that belong there now, and those that stood in the first
    /// bucket because the one that was last is full.
    fn grow(&mut self, shape: &Shape, arena: &mut Arena) -> Result<(), Crowded> {
        let newest = self.buckets().len();
        let newest_number = self.add_bucket(arena);
        let homes = &HOMES[usize::from(self.len)];
        let mut homeless = Vec::new();
        // All that will be looked at is loaded at once: the waits overlap.
        let tags = self.buckets().iter().fold(0, |all, number| all | arena.get(*number).touch_tags());
        std::hint::black_box(tags);
        let mut last_overflows = false;
        for position in 0..newest {
            let number = self.buckets[position];
            arena.get_mut(number).no_overflow();
            let (mut movers, mut moves, mut displaced) = ([0; 256], 0, false);
            // Which keys move cannot be foreseen: without branches this takes half the time.
            for (slot, choice) in arena.get(number).choices(shape).enumerate() {
                let own = usize::from(homes[usize::from(choice)]);
                let from_below = own + 1 == position;
                displaced |= from_below;
                movers[moves] = slot as u8;
                moves += usize::from((own != position) & !from_below);
            }
            if displaced {
                arena.get_mut(self.buckets[position - 1]).overflow();
            }
            let bodies = movers[..moves].iter();
            let bucket = arena.get(number);
            std::hint::black_box(
                bodies.fold(0, |all, slot| all | bucket.touch_slot(shape, usize::from(*slot))),
            );
            for slot in movers[..moves].iter().rev().map(|slot| usize::from(*slot)) {
                let bucket = arena.get_mut(number);
                let entry = bucket.get(shape, slot);
                bucket.remove(shape, slot);
                let target = arena.get_mut(newest_number);
                if target.count() < shape.capacity {
                    target.push(shape, &entry);
                    last_overflows |= usize::from(homes[usize::from(entry.choice())]) != newest;
                } else {
                    homeless.push(entry);
                }
            }
        }
        if last_overflows {
            arena.get_mut(self.buckets[newest - 1]).overflow();
        }
        homeless.retain(|entry| !self.place(entry, shape, arena));
        if homeless.is_empty() { Ok(()) } else { Err(Crowded(homeless)) }
    }

    /// The position of the bucket to which a key belongs.
    fn home(&self, choice: u8) -> usize {
        usize::from(HOMES[usize::from(self.len)][usize::from(choice)])
    }

    /// The position after one, around the end.
    fn after(&self, position: usize) -> usize {
        if position + 1 < usize::from(self.len) { position + 1 } else { 0 }
    }
}
