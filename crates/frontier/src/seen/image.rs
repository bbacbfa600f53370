//! The set as bytes. A tree: its nodes from the root on, its buckets as they lie in memory, so that loading is reading.
//! What is on disk: the numbers of its runs, with what was deleted from each.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use hashbrown::HashSet;

use super::bucket::BUCKET_BYTES;
use super::disk::Disk;
use super::leaf::Leaf;
use super::tree::{Key, Node, Tree};

/// What stands before each node.
const EMPTY: u8 = 0;
/// A leaf: the number of its keys and of its buckets, four bytes each, and the buckets follow.
const LEAF: u8 = 1;
/// An inner node: its 256 children follow.
const INNER: u8 = 2;

/// More buckets than a leaf can have.
const TOO_MANY_BUCKETS: usize = 1 << 20;

/// An error about bytes that are no such set.
pub(super) fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the saved set of known URLs is damaged: {what}"))
}

impl Tree {
    /// Writes the tree.
    pub(super) fn write(&self, into: &mut impl Write) -> io::Result<()> {
        self.write_node(&self.root, into)
    }

    /// Reads a tree of keys of `width` bytes that [`Tree::write`] wrote.
    pub(super) fn read(width: usize, from: &mut impl Read) -> io::Result<Self> {
        let mut tree = Tree::new(width);
        tree.root = tree.read_node(0, from, &mut Vec::new())?;
        Ok(tree)
    }

    /// Writes a node and what is below it.
    fn write_node(&self, node: &Node, into: &mut impl Write) -> io::Result<()> {
        match node {
            Node::Empty => into.write_all(&[EMPTY]),
            Node::Leaf(leaf) => {
                into.write_all(&[LEAF])?;
                into.write_all(&leaf.count.to_le_bytes())?;
                into.write_all(&(leaf.buckets.len() as u32).to_le_bytes())?;
                leaf.buckets.iter().try_for_each(|bucket| into.write_all(&self.arena.get(*bucket).0))
            }
            Node::Inner(children) => {
                into.write_all(&[INNER])?;
                children.iter().try_for_each(|child| self.write_node(child, into))
            }
        }
    }

    /// Reads a node at a depth, and what is below it.
    fn read_node(&mut self, depth: usize, from: &mut impl Read, bytes: &mut Vec<u8>) -> io::Result<Node> {
        let mut kind = [0];
        from.read_exact(&mut kind)?;
        match kind[0] {
            EMPTY => Ok(Node::Empty),
            LEAF => self.read_leaf(depth, from, bytes).map(Node::Leaf),
            INNER if depth < self.shapes.deepest() => {
                let mut children: Box<[Node; 256]> = Box::new([const { Node::Empty }; 256]);
                for child in &mut *children {
                    *child = self.read_node(depth + 1, from, bytes)?;
                }
                Ok(Node::Inner(children))
            }
            _ => Err(damaged("an unknown kind of node")),
        }
    }

    /// Reads a leaf at a depth.
    fn read_leaf(&mut self, depth: usize, from: &mut impl Read, bytes: &mut Vec<u8>) -> io::Result<Leaf> {
        let (count, buckets) = (read_u32(from)?, read_u32(from)? as usize);
        if buckets == 0 || buckets >= TOO_MANY_BUCKETS {
            return Err(damaged("a leaf's size"));
        }
        let shape = *self.shapes.of(depth, buckets);
        let mut leaf = Leaf { buckets: Vec::new(), count };
        let mut keys = 0;
        // Some buckets at a time: what a damaged number asks for is not allocated before it has been read.
        for from_bucket in (0..buckets).step_by(1024) {
            let some = (buckets - from_bucket).min(1024);
            bytes.resize(some * BUCKET_BYTES, 0);
            from.read_exact(bytes)?;
            leaf.buckets.reserve_exact(some);
            for image in bytes.chunks_exact(BUCKET_BYTES) {
                let number = self.arena.allocate();
                let bucket = self.arena.get_mut(number);
                bucket.0.copy_from_slice(image);
                if !bucket.is_sound(&shape) {
                    return Err(damaged("a bucket holds more than it can"));
                }
                keys += bucket.count();
                leaf.buckets.push(number);
            }
        }
        if keys != count as usize {
            return Err(damaged("a leaf's keys are not as many as it says"));
        }
        self.len += u64::from(count);
        Ok(leaf)
    }
}

/// Reads a number of four bytes.
pub(super) fn read_u32(from: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

/// Reads a number of eight bytes.
fn read_u64(from: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Writes keys that were deleted.
fn write_keys(keys: &HashSet<Key>, into: &mut impl Write) -> io::Result<()> {
    into.write_all(&(keys.len() as u64).to_le_bytes())?;
    keys.iter().try_for_each(|key| into.write_all(key))
}

/// Reads keys that were deleted.
fn read_keys(from: &mut impl Read) -> io::Result<HashSet<Key>> {
    let count = read_u64(from)?;
    let mut keys = HashSet::new();
    for _ in 0..count {
        let mut key = Key::default();
        from.read_exact(&mut key)?;
        keys.insert(key);
    }
    Ok(keys)
}

impl Disk {
    /// Writes which runs are in use, and the tree that is becoming one.
    pub(super) fn write(&self, into: &mut impl Write) -> io::Result<()> {
        into.write_all(&(self.levels.len() as u64).to_le_bytes())?;
        for level in &self.levels {
            into.write_all(&level.run.number.to_le_bytes())?;
            into.write_all(&level.run.keys.to_le_bytes())?;
            write_keys(&level.deleted, into)?;
        }
        match &self.frozen {
            Some(frozen) => {
                into.write_all(&[1])?;
                frozen.tree.write(into)?;
                write_keys(&frozen.deleted, into)
            }
            None => into.write_all(&[0]),
        }
    }

    /// Writes that there is nothing on disk.
    pub(super) fn write_none(into: &mut impl Write) -> io::Result<()> {
        into.write_all(&[0; 9])
    }
}

/// What [`Disk::write`] wrote.
pub(super) struct SavedDisk {
    /// Numbers of runs, how many keys each has, what was deleted from it.
    runs: Vec<(u64, u64, HashSet<Key>)>,
    frozen: Option<(Tree, HashSet<Key>)>,
}

impl SavedDisk {
    /// Reads it.
    pub(super) fn read(width: usize, from: &mut impl Read) -> io::Result<Self> {
        let mut runs = Vec::new();
        for _ in 0..read_u64(from)? {
            runs.push((read_u64(from)?, read_u64(from)?, read_keys(from)?));
        }
        let mut frozen = [0];
        from.read_exact(&mut frozen)?;
        let frozen = match frozen[0] {
            0 => None,
            1 => Some((Tree::read(width, from)?, read_keys(from)?)),
            _ => return Err(damaged("an unknown kind of tree")),
        };
        Ok(SavedDisk { runs, frozen })
    }

    /// Opens the runs.
    pub(super) fn open(self, directory: Option<PathBuf>, width: usize) -> io::Result<Option<Disk>> {
        let Some(directory) = directory else {
            if self.runs.is_empty() && self.frozen.is_none() {
                return Ok(None);
            }
            let message =
                "the saved set of known URLs is partly on disk: give the directory that it was begun with";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        };
        let numbers: Vec<u64> = self.runs.iter().map(|(number, ..)| *number).collect();
        let mut disk = Disk::open(directory, width, &numbers)?;
        for (level, (_, keys, deleted)) in disk.levels.iter_mut().zip(self.runs) {
            if level.run.keys != keys || deleted.len() as u64 > keys {
                return Err(damaged("a run is another than the one that was saved"));
            }
            level.deleted = deleted;
        }
        if let Some((tree, deleted)) = self.frozen {
            if deleted.len() as u64 > tree.len {
                return Err(damaged("more was deleted than there was"));
            }
            disk.freeze(tree, deleted);
        }
        Ok(Some(disk))
    }
}
