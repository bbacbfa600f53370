//! A leaf of the dedup tree: keys in buckets, in the order of their first two bytes.
//!
//! Its `n` buckets share the range of those evenly. A key stands in its own bucket or, when that is
//! full, in the next; from where it stands, the bits that are not stored follow. When too few
//! places are left the leaf grows by some buckets and its keys move on: all leaves stay nearly full
//! all the time, and nothing is moved but within a leaf.

use super::arena::Arena;
use super::bucket::{Entry, Shape};

/// A leaf grows by its size divided by this: larger saves memory, smaller saves moving.
const GROWTH: usize = 16;

/// Hundredths of its places that may be taken before a leaf grows.
const FULLEST: usize = 95;

/// Hundredths below which a leaf that has no room for a key is not grown: its keys are not evenly spread, and only
/// more levels help.
const UNEVEN: usize = 50;

/// How many full buckets in a row may each pass a key on, before a leaf grows instead.
const MAX_MOVES: usize = 16;

/// Buckets above which a leaf becomes a level of 256 leaves: two bytes cannot tell many more apart evenly.
const MAX_BUCKETS: usize = 2048;

/// Why a leaf cannot take a key: its keys want another level of the tree. With those that found no place any more.
#[derive(Debug, Default)]
pub(super) struct Crowded(pub(super) Vec<Entry>);

/// The layouts of all leaves of a tree, by depth and bits.
#[derive(Clone, Debug)]
pub(super) struct Shapes {
    /// Bytes of a key.
    width: usize,
    by_depth: Vec<[Shape; 9]>,
}

impl Shapes {
    /// The layouts for keys of `width` bytes.
    pub(super) fn new(width: usize) -> Self {
        let of = |depth| std::array::from_fn(|bits| Shape::new(width, depth, bits as u32));
        Shapes { width, by_depth: (0..=width - 2).map(of).collect() }
    }

    /// Bytes of a key that are implied in the deepest leaf: two are left, and those can always be spread.
    pub(super) fn deepest(&self) -> usize {
        self.width - 2
    }

    /// The layout of a leaf.
    pub(super) fn of(&self, depth: usize, buckets: usize) -> &Shape {
        &self.by_depth[depth][stored_bits(buckets) as usize]
    }
}

/// How many bits of the first byte are stored: where a key stands tells its head to within two buckets,
/// and what is stored must tell the heads in such a range apart.
fn stored_bits(buckets: usize) -> u32 {
    let implied = buckets.max(1).ilog2().saturating_sub(1);
    8_u32.saturating_sub(implied)
}

/// Keys that share their first bytes.
#[derive(Debug, Default)]
pub(super) struct Leaf {
    pub(super) buckets: Vec<u32>,
    pub(super) count: u32,
}

impl Leaf {
    /// A leaf with room for so many keys.
    pub(super) fn with_room(keys: usize, depth: usize, arena: &mut Arena, shapes: &Shapes) -> Self {
        let mut buckets = 1;
        while keys * 100 > buckets * shapes.of(depth, buckets).capacity * (FULLEST - 4) {
            buckets += buckets.div_ceil(GROWTH);
        }
        let mut leaf = Leaf::default();
        leaf.extend(buckets, arena);
        leaf
    }

    /// The bucket that a search looks at first and the one after it.
    pub(super) fn first_buckets(&self, head: u32) -> Option<(u32, u32)> {
        let own = home(head, self.buckets.len());
        Some((*self.buckets.get(own)?, *self.buckets.get(self.after(own, 1))?))
    }

    /// The bucket and the slot of a key.
    pub(super) fn find(&self, entry: &Entry, shape: &Shape, arena: &Arena) -> Option<(u32, usize)> {
        let own = home(entry.head(), self.buckets.len());
        let number = *self.buckets.get(own)?;
        let bucket = arena.get(number);
        if let Some(slot) = bucket.find(shape, entry) {
            return Some((number, slot));
        }
        let next = *self.buckets.get(self.after(own, 1)).filter(|_| bucket.has_overflown())?;
        arena.get(next).find(shape, entry).map(|slot| (next, slot))
    }

    /// Adds a key that is not here; the leaf may grow.
    pub(super) fn insert(
        &mut self,
        entry: &Entry,
        depth: usize,
        arena: &mut Arena,
        shapes: &Shapes,
    ) -> Result<(), Crowded> {
        let shape = shapes.of(depth, self.buckets.len());
        let room = self.buckets.len() * shape.capacity;
        if (self.count as usize + 1) * 100 > room * FULLEST || !self.place(entry, shape, arena) {
            self.grow(depth, arena, shapes)?;
            return self.insert(entry, depth, arena, shapes);
        }
        self.count += 1;
        Ok(())
    }

    /// Removes the key of a slot.
    pub(super) fn remove(&mut self, (bucket, slot): (u32, usize), shape: &Shape, arena: &mut Arena) {
        arena.get_mut(bucket).remove(shape, slot);
        self.count -= 1;
    }

    /// Calls `each` with every key's entry, its first byte made whole.
    pub(super) fn for_each(&self, shape: &Shape, arena: &Arena, mut each: impl FnMut(Entry)) {
        for (position, bucket) in self.buckets.iter().enumerate() {
            let range = Range::of(position, self.buckets.len(), shape.bits);
            let bucket = arena.get(*bucket);
            for slot in 0..bucket.count() {
                let first = (range.complete(bucket.head(shape, slot)) >> 8) as u8;
                each(Entry { first, ..bucket.get(shape, slot) });
            }
        }
    }

    /// Gives all buckets back.
    pub(super) fn free(self, arena: &mut Arena) {
        self.buckets.into_iter().for_each(|bucket| arena.free(bucket));
    }

    /// Puts a key into its bucket or, when that is full, into the next; tells whether there was room.
    fn place(&self, entry: &Entry, shape: &Shape, arena: &mut Arena) -> bool {
        let own = home(entry.head(), self.buckets.len());
        let bucket = arena.get_mut(self.buckets[own]);
        if bucket.count() < shape.capacity {
            bucket.push(shape, entry);
            return true;
        }
        if !self.make_room(self.after(own, 1), shape, arena) {
            return false;
        }
        arena.get_mut(self.buckets[own]).overflow();
        arena.get_mut(self.buckets[self.after(own, 1)]).push(shape, entry);
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
            giver = self.after(giver, 1);
        }
        for (giver, slot) in gives[..moves].iter().rev().copied() {
            let bucket = arena.get_mut(self.buckets[giver]);
            let entry = bucket.get(shape, slot);
            bucket.remove(shape, slot);
            bucket.overflow();
            arena.get_mut(self.buckets[self.after(giver, 1)]).push(shape, &entry);
        }
        true
    }

    /// The slot of a key that stands in the bucket where it belongs.
    fn own_key(&self, position: usize, shape: &Shape, arena: &Arena) -> Option<usize> {
        let range = Range::of(position, self.buckets.len(), shape.bits);
        let bucket = arena.get(self.buckets[position]);
        // Those that were moved here tend to have come first.
        let is_own =
            |slot: &usize| home(range.complete(bucket.head(shape, *slot)), self.buckets.len()) == position;
        (0..bucket.count()).rev().find(is_own)
    }

    /// Gets more buckets and moves keys to where they belong then.
    fn grow(&mut self, depth: usize, arena: &mut Arena, shapes: &Shapes) -> Result<(), Crowded> {
        let may_split = depth < shapes.deepest();
        let mut homeless = Vec::new();
        loop {
            let before = self.buckets.len();
            let shape = shapes.of(depth, before);
            let uneven = (self.count as usize) * 100 < before * shape.capacity * UNEVEN;
            if may_split && (before >= MAX_BUCKETS || before > 2 && uneven) {
                return Err(Crowded(homeless));
            }
            self.extend((before / GROWTH).max(1), arena);
            self.move_up(before, shape, arena, &mut homeless);
            let shape = self.convert(before, depth, arena, shapes);
            homeless.retain(|entry| !self.place(entry, shape, arena));
            if homeless.is_empty() {
                return Ok(());
            }
        }
    }

    /// Moves keys up to the buckets where they belong since the leaf has more than `before`.
    ///
    /// No key has to move down: one that stands in its bucket's next may stay there.
    fn move_up(&self, before: usize, shape: &Shape, arena: &mut Arena, homeless: &mut Vec<Entry>) {
        let after = self.buckets.len();
        self.buckets.iter().for_each(|number| arena.get_mut(*number).no_overflow());
        for position in (0..before).rev() {
            let range = Range::of(position, before, shape.bits);
            let below = (position + after - 1) % after;
            let bucket = arena.get(self.buckets[position]);
            // Half of the keys move, which ones cannot be foreseen: without branches this takes half the time.
            let (mut movers, mut moves, mut displaced) = ([0; 256], 0, false);
            for slot in 0..bucket.count() {
                let own = home(range.complete(bucket.head(shape, slot)), after);
                displaced |= own == below;
                movers[moves] = slot as u8;
                moves += usize::from((own != position) & (own != below));
            }
            if displaced {
                arena.get_mut(self.buckets[below]).overflow();
            }
            for slot in movers[..moves].iter().rev().map(|slot| usize::from(*slot)) {
                let bucket = arena.get_mut(self.buckets[position]);
                let head = range.complete(bucket.head(shape, slot));
                let entry = Entry { first: (head >> 8) as u8, ..bucket.get(shape, slot) };
                bucket.remove(shape, slot);
                let target = arena.get_mut(self.buckets[home(head, after)]);
                if target.count() < shape.capacity {
                    target.push(shape, &entry);
                } else {
                    homeless.push(entry);
                }
            }
        }
    }

    /// Gives all buckets the layout that their new number wants, and returns it.
    fn convert<'a>(&self, before: usize, depth: usize, arena: &mut Arena, shapes: &'a Shapes) -> &'a Shape {
        let (old, new) = (shapes.of(depth, before), shapes.of(depth, self.buckets.len()));
        if old != new {
            for (position, number) in self.buckets.iter().enumerate() {
                let range = Range::of(position, self.buckets.len(), old.bits);
                let image = arena.get(*number).clone();
                let bucket = arena.get_mut(*number);
                bucket.clear_keys();
                for slot in 0..image.count() {
                    let entry = image.get(old, slot);
                    let first = (range.complete(image.head(old, slot)) >> 8) as u8;
                    bucket.push(new, &Entry { first, ..entry });
                }
            }
        }
        new
    }

    /// Adds empty buckets.
    fn extend(&mut self, buckets: usize, arena: &mut Arena) {
        self.buckets.reserve_exact(buckets);
        self.buckets.extend((0..buckets).map(|_| arena.allocate()));
    }

    /// The position `distance` buckets further on, around the end.
    fn after(&self, position: usize, distance: usize) -> usize {
        let sum = position + distance;
        if sum < self.buckets.len() { sum } else { sum % self.buckets.len() }
    }
}

/// The bucket to which a key belongs.
fn home(head: u32, buckets: usize) -> usize {
    (head as usize * buckets) >> 16
}

/// The heads that keys of one bucket can have.
#[derive(Clone, Copy)]
struct Range {
    lowest: u32,
    stored: u32,
}

impl Range {
    /// The range of the bucket at a position: its own keys, and those of the bucket before.
    fn of(position: usize, buckets: usize, bits: u32) -> Self {
        let first = (position + buckets - 1) % buckets;
        Range { lowest: (first << 16).div_ceil(buckets) as u32, stored: u32::from(u16::MAX >> (8 - bits)) }
    }

    /// The head of which the lower bits are stored.
    fn complete(&self, stored: u32) -> u32 {
        (self.lowest + (stored.wrapping_sub(self.lowest) & self.stored)) & u32::from(u16::MAX)
    }
}
