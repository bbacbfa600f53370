//! The MD5 dedup tree in memory: nodes of 256 places, one for each value of the next byte, and leaves of about two
//! thousand keys. A leaf takes a half, a quarter … of a node's places: what its keys share is not stored.

use super::arena::Arena;
use super::bucket::Entry;
use super::leaf::{Crowded, Leaf, Shapes};

/// A key: a digest of a URL. Where keys are shorter than sixteen bytes, the rest is zero.
pub(super) type Key = [u8; 16];

/// Keys whose memory is loaded at once before the first of them is looked for: the loads overlap.
pub(super) const AHEAD: usize = 32;

/// A set of keys.
#[derive(Debug)]
pub(super) struct Tree {
    /// The first is the root.
    pub(super) nodes: Vec<[Place; 256]>,
    pub(super) leaves: Vec<Leaf>,
    pub(super) arena: Arena,
    pub(super) shapes: Shapes,
    pub(super) len: u64,
}

/// What a place of a node leads to: the number of a leaf or, with the highest bit set, of another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(u32);

/// What it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Keys.
    Leaf(usize),
    /// A node of the next byte.
    Node(usize),
}

impl Place {
    /// The bit that tells a node.
    const NODE: u32 = 1 << 31;

    /// The place that leads to it.
    pub(super) fn to(target: Target) -> Self {
        match target {
            Target::Leaf(number) => Place(number as u32),
            Target::Node(number) => Place(number as u32 | Self::NODE),
        }
    }

    /// What it leads to.
    pub(super) fn target(self) -> Target {
        let number = (self.0 & !Self::NODE) as usize;
        if self.0 & Self::NODE == 0 { Target::Leaf(number) } else { Target::Node(number) }
    }
}

impl Tree {
    /// The empty set of keys of `width` bytes.
    pub(super) fn new(width: usize) -> Self {
        Tree {
            nodes: vec![[Place::to(Target::Leaf(0)); 256]],
            leaves: vec![Leaf::new(0, 0)],
            arena: Arena::default(),
            shapes: Shapes::new(width),
            len: 0,
        }
    }

    /// Loads what searches for at most [`AHEAD`] keys will look at: each step for all, so that the waits overlap.
    pub(super) fn touch(&self, group: &[Key]) -> u8 {
        let mut leaves = [0; AHEAD];
        for (leaf, key) in leaves.iter_mut().zip(group) {
            *leaf = self.locate(key).0;
        }
        let mut places = [None; AHEAD];
        for ((place, leaf), key) in places.iter_mut().zip(leaves).zip(group) {
            let leaf = &self.leaves[leaf];
            let entry = Entry::of(key, leaf.depth);
            *place = leaf
                .first_buckets(entry.choice())
                .map(|(own, next)| (own, next, entry, self.shapes.of(leaf)));
        }
        let tags = |(own, ..): &(u32, _, _, _)| self.arena.get(*own).touch_tags();
        let loaded = places.iter().flatten().map(tags).fold(0, |all, load| all | load);
        let deeper = places.iter().flatten().map(|&(own, next, entry, shape)| {
            let own = self.arena.get(own);
            let next = if own.has_overflown() { self.arena.get(next).touch_tags() } else { 0 };
            next | own.touch_body(shape, &entry)
        });
        deeper.fold(loaded, |all, load| all | load)
    }

    /// Adds a key; tells whether it was new.
    pub(super) fn insert(&mut self, key: &Key) -> bool {
        let (number, _) = self.locate(key);
        let leaf = &mut self.leaves[number];
        let (entry, shape) = (Entry::of(key, leaf.depth), self.shapes.of(leaf));
        if leaf.find(&entry, shape, &self.arena).is_some() {
            return false;
        }
        self.len += 1;
        if let Err(crowded) = leaf.insert(&entry, shape, &mut self.arena) {
            self.split(key, crowded);
            self.put(key);
        }
        true
    }

    /// Whether a key is here.
    pub(super) fn contains(&self, key: &Key) -> bool {
        let leaf = &self.leaves[self.locate(key).0];
        leaf.find(&Entry::of(key, leaf.depth), self.shapes.of(leaf), &self.arena).is_some()
    }

    /// Removes a key; tells whether it was here.
    pub(super) fn delete(&mut self, key: &Key) -> bool {
        let (number, _) = self.locate(key);
        let leaf = &mut self.leaves[number];
        let shape = self.shapes.of(leaf);
        let Some(place) = leaf.find(&Entry::of(key, leaf.depth), shape, &self.arena) else { return false };
        leaf.remove(place, shape, &mut self.arena);
        self.len -= 1;
        true
    }

    /// Bytes of memory of its buckets, without those that are to spare.
    pub(super) fn used_memory(&self) -> usize {
        self.arena.used_memory()
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        let nodes = self.nodes.capacity() * size_of::<[Place; 256]>();
        self.arena.memory() + nodes + self.leaves.capacity() * size_of::<Leaf>()
    }

    /// Calls `each` with the keys of one leaf after the other, sorted; keys of a leaf are smaller than those of the
    /// next.
    pub(super) fn walk<E>(&self, mut each: impl FnMut(&[Key]) -> Result<(), E>) -> Result<(), E> {
        self.walk_node(0, [0; 16], 0, &mut Vec::new(), &mut each)
    }

    /// Walks what is below a node whose keys begin with the first `depth` bytes of `path`.
    fn walk_node<E>(
        &self,
        node: usize,
        mut path: Key,
        depth: usize,
        sorted: &mut Vec<Key>,
        each: &mut impl FnMut(&[Key]) -> Result<(), E>,
    ) -> Result<(), E> {
        let places = &self.nodes[node];
        for byte in 0..256 {
            path[depth] = byte as u8;
            match places[byte].target() {
                Target::Node(child) => self.walk_node(child, path, depth + 1, sorted, each)?,
                Target::Leaf(_) if byte > 0 && places[byte] == places[byte - 1] => {}
                Target::Leaf(number) => {
                    let leaf = &self.leaves[number];
                    sorted.clear();
                    let entries = leaf.entries(self.shapes.of(leaf), &self.arena);
                    sorted.extend(entries.map(|entry| whole(&path, leaf, &entry)));
                    sorted.sort_unstable_by_key(|key| u128::from_be_bytes(*key));
                    each(sorted)?;
                }
            }
        }
        Ok(())
    }

    /// The number of the leaf where a key is, if it is, and the node above it.
    fn locate(&self, key: &Key) -> (usize, usize) {
        let (mut node, mut depth) = (0, 0);
        loop {
            match self.nodes[node][usize::from(key[depth])].target() {
                Target::Leaf(number) => return (number, node),
                Target::Node(child) => (node, depth) = (child, depth + 1),
            }
        }
    }

    /// Adds a key that is not here, without counting it.
    fn put(&mut self, key: &Key) {
        loop {
            let (number, _) = self.locate(key);
            let leaf = &mut self.leaves[number];
            let entry = Entry::of(key, leaf.depth);
            match leaf.insert(&entry, self.shapes.of(leaf), &mut self.arena) {
                Ok(()) => return,
                Err(crowded) => self.split(key, crowded),
            }
        }
    }

    /// Makes two leaves of the one where `key` belongs, by one bit more that is implied.
    fn split(&mut self, key: &Key, Crowded(homeless): Crowded) {
        let (number, mut node) = self.locate(key);
        let leaf = &self.leaves[number];
        let entries = leaf.entries(self.shapes.of(leaf), &self.arena).chain(homeless);
        let mut entries: Vec<Entry> = entries.collect();
        leaf.free(&mut self.arena);
        let (mut depth, mut bits) = (leaf.depth, leaf.bits);
        if bits == 8 {
            let child = self.nodes.len();
            self.nodes.push([Place::to(Target::Leaf(number)); 256]);
            self.nodes[node][usize::from(key[usize::from(depth)])] = Place::to(Target::Node(child));
            (node, depth, bits) = (child, depth + 1, 0);
            entries.iter_mut().for_each(|entry| *entry = entry.deeper());
        }
        let other = self.leaves.len();
        let bit = 0x80_u8 >> bits;
        for (byte, place) in self.nodes[node].iter_mut().enumerate() {
            if place.target() == Target::Leaf(number) && byte as u8 & bit != 0 {
                *place = Place::to(Target::Leaf(other));
            }
        }
        if other == self.leaves.capacity() {
            self.leaves.reserve_exact(other / 8 + 1);
        }
        self.leaves[number] = Leaf::new(depth, bits + 1);
        self.leaves.push(Leaf::new(depth, bits + 1));
        let (with, without): (Vec<Entry>, Vec<Entry>) =
            entries.into_iter().partition(|entry| entry.first & bit != 0);
        let mut path = *key;
        for (number, entries, bits) in [(number, without, 0), (other, with, bit)] {
            path[usize::from(depth)] = path[usize::from(depth)] & !bit | bits;
            self.fill(number, &path, &entries);
        }
    }

    /// Puts keys into an empty leaf, whose keys begin as `path` does.
    fn fill(&mut self, number: usize, path: &Key, entries: &[Entry]) {
        let leaf = &mut self.leaves[number];
        let shape = self.shapes.of(leaf);
        leaf.make_room_for(entries.len(), shape, &mut self.arena);
        for (at, entry) in entries.iter().enumerate() {
            let Err(crowded) = leaf.insert(entry, shape, &mut self.arena) else { continue };
            let rest: Vec<Key> = entries[at..].iter().map(|entry| whole(path, leaf, entry)).collect();
            self.split(path, crowded);
            rest.iter().for_each(|key| self.put(key));
            return;
        }
    }
}

/// The key of an entry in a leaf whose keys begin as `path` does.
fn whole(path: &Key, leaf: &Leaf, entry: &Entry) -> Key {
    let implied = u128::from_le_bytes(*path) & ((1 << (8 * leaf.depth)) - 1);
    let upper = path[usize::from(leaf.depth)] & !(0xff_u16 >> leaf.bits) as u8;
    let rest = entry.body << 24
        | u128::from(entry.spread) << 16
        | u128::from(entry.tag) << 8
        | u128::from(entry.first | upper);
    (implied | rest << (8 * leaf.depth)).to_le_bytes()
}
