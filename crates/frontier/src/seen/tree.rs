//! The MD5 dedup tree in memory: inner nodes of 256 children, one for each value of the next byte, and leaves of
//! up to 300,000 keys.

use super::arena::Arena;
use super::bucket::{Entry, Shape};
use super::leaf::{Crowded, Leaf, Shapes};

/// A key: a digest of a URL. Where keys are shorter than sixteen bytes, the rest is zero.
pub(super) type Key = [u8; 16];

/// Keys whose memory is loaded at once before the first of them is looked for: the loads overlap.
pub(super) const AHEAD: usize = 32;

/// A set of keys.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) root: Node,
    pub(super) arena: Arena,
    pub(super) shapes: Shapes,
    pub(super) len: u64,
}

/// A place in the tree.
#[derive(Debug, Default)]
pub(super) enum Node {
    /// No key has come here.
    #[default]
    Empty,
    /// The keys themselves.
    Leaf(Leaf),
    /// By the next byte.
    Inner(Box<[Node; 256]>),
}

impl Tree {
    /// The empty set of keys of `width` bytes.
    pub(super) fn new(width: usize) -> Self {
        Tree { root: Node::Empty, arena: Arena::default(), shapes: Shapes::new(width), len: 0 }
    }

    /// Loads what searches for at most [`AHEAD`] keys will look at: each step for all, so that the waits overlap.
    pub(super) fn touch(&self, group: &[Key]) -> u8 {
        let mut places = [None; AHEAD];
        for (place, key) in places.iter_mut().zip(group) {
            *place = self.leaf(key).and_then(|(leaf, depth)| {
                let entry = Entry::of(key, depth);
                let (own, next) = leaf.first_buckets(entry.head())?;
                Some((own, next, entry.tag, self.shapes.of(depth, leaf.buckets.len())))
            });
        }
        let tags = |(own, ..): &(u32, u32, u8, &Shape)| self.arena.get(*own).touch_tags();
        let loaded = places.iter().flatten().map(tags).fold(0, |all, load| all | load);
        let deeper = places.iter().flatten().map(|&(own, next, tag, shape)| {
            let own = self.arena.get(own);
            let next = if own.has_overflown() { self.arena.get(next).touch_tags() } else { 0 };
            next | own.touch_body(shape, tag)
        });
        deeper.fold(loaded, |all, load| all | load)
    }

    /// Adds a key; tells whether it was new.
    pub(super) fn insert(&mut self, key: &Key) -> bool {
        let new = insert_below(&mut self.root, 0, key, &mut self.arena, &self.shapes);
        self.len += u64::from(new);
        new
    }

    /// Whether a key is here.
    pub(super) fn contains(&self, key: &Key) -> bool {
        self.leaf(key).is_some_and(|(leaf, depth)| {
            let shape = self.shapes.of(depth, leaf.buckets.len());
            leaf.find(&Entry::of(key, depth), shape, &self.arena).is_some()
        })
    }

    /// Removes a key; tells whether it was here.
    pub(super) fn delete(&mut self, key: &Key) -> bool {
        let Tree { root, arena, shapes, len } = self;
        let (mut node, mut depth) = (root, 0);
        while let Node::Inner(children) = node {
            node = &mut children[usize::from(key[depth])];
            depth += 1;
        }
        let Node::Leaf(leaf) = node else { return false };
        let shape = shapes.of(depth, leaf.buckets.len());
        let Some(place) = leaf.find(&Entry::of(key, depth), shape, arena) else { return false };
        leaf.remove(place, shape, arena);
        *len -= 1;
        true
    }

    /// Bytes of memory of its buckets, without those that are to spare.
    pub(super) fn used_memory(&self) -> usize {
        self.arena.used_memory()
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.arena.memory() + self.root.memory()
    }

    /// Calls `each` with the keys of one leaf after the other, sorted; keys of a leaf are smaller than those of the
    /// next.
    pub(super) fn walk<E>(&self, mut each: impl FnMut(&[Key]) -> Result<(), E>) -> Result<(), E> {
        let mut sorted = Vec::new();
        self.walk_node(&self.root, [0; 16], 0, &mut sorted, &mut each)
    }

    /// Walks what is below a node whose keys begin with the first `depth` bytes of `path`.
    fn walk_node<E>(
        &self,
        node: &Node,
        mut path: Key,
        depth: usize,
        sorted: &mut Vec<Key>,
        each: &mut impl FnMut(&[Key]) -> Result<(), E>,
    ) -> Result<(), E> {
        match node {
            Node::Empty => Ok(()),
            Node::Inner(children) => children.iter().enumerate().try_for_each(|(byte, child)| {
                path[depth] = byte as u8;
                self.walk_node(child, path, depth + 1, sorted, each)
            }),
            Node::Leaf(leaf) => {
                sorted.clear();
                let shape = self.shapes.of(depth, leaf.buckets.len());
                leaf.for_each(shape, &self.arena, |entry| sorted.push(whole(&path, depth, &entry)));
                sorted.sort_unstable_by_key(|key| u128::from_be_bytes(*key));
                each(sorted)
            }
        }
    }

    /// The leaf where a key is, if it is, and its depth.
    fn leaf(&self, key: &Key) -> Option<(&Leaf, usize)> {
        let (mut node, mut depth) = (&self.root, 0);
        while let Node::Inner(children) = node {
            node = &children[usize::from(key[depth])];
            depth += 1;
        }
        match node {
            Node::Leaf(leaf) => Some((leaf, depth)),
            _ => None,
        }
    }
}

impl Node {
    /// Bytes of memory held by nodes and their lists of buckets.
    fn memory(&self) -> usize {
        /// What an allocator adds to an allocation, about.
        const OVERHEAD: usize = 16;
        match self {
            Node::Empty => 0,
            Node::Leaf(leaf) => leaf.buckets.capacity() * size_of::<u32>() + OVERHEAD,
            Node::Inner(children) => {
                size_of_val::<[Node; 256]>(children) + children.iter().map(Node::memory).sum::<usize>()
            }
        }
    }
}

/// Adds a key below a node at a depth; tells whether it was new.
fn insert_below(
    mut node: &mut Node,
    mut depth: usize,
    key: &Key,
    arena: &mut Arena,
    shapes: &Shapes,
) -> bool {
    loop {
        match node {
            Node::Inner(children) => {
                node = &mut children[usize::from(key[depth])];
                depth += 1;
            }
            Node::Empty => *node = Node::Leaf(Leaf::with_room(1, depth, arena, shapes)),
            Node::Leaf(leaf) => {
                let entry = Entry::of(key, depth);
                if leaf.find(&entry, shapes.of(depth, leaf.buckets.len()), arena).is_some() {
                    return false;
                }
                let Err(Crowded(homeless)) = leaf.insert(&entry, depth, arena, shapes) else { return true };
                *node = split(std::mem::take(leaf), homeless, depth, arena, shapes);
            }
        }
    }
}

/// The level that takes the place of a leaf and of keys that found no room in it.
fn split(leaf: Leaf, homeless: Vec<Entry>, depth: usize, arena: &mut Arena, shapes: &Shapes) -> Node {
    let mut parts: Vec<Vec<Key>> = vec![Vec::new(); 256];
    let mut sort = |entry: Entry| parts[usize::from(entry.first)].push(whole(&[0; 16], depth, &entry));
    leaf.for_each(shapes.of(depth, leaf.buckets.len()), arena, &mut sort);
    homeless.into_iter().for_each(sort);
    leaf.free(arena);
    let mut children: Box<[Node; 256]> = Box::new([const { Node::Empty }; 256]);
    for (child, keys) in children.iter_mut().zip(parts) {
        if !keys.is_empty() {
            *child = Node::Leaf(Leaf::with_room(keys.len(), depth + 1, arena, shapes));
        }
        for key in &keys {
            insert_below(child, depth + 1, key, arena, shapes);
        }
    }
    Node::Inner(children)
}

/// The key of an entry in a leaf whose keys begin with the first `depth` bytes of `path`.
fn whole(path: &Key, depth: usize, entry: &Entry) -> Key {
    let rest = entry.body << 16 | u128::from(entry.tag) << 8 | u128::from(entry.first);
    let path = u128::from_le_bytes(*path) & ((1 << (8 * depth)) - 1);
    (path | rest << (8 * depth)).to_le_bytes()
}
