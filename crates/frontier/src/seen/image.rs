//! The set as bytes. A tree: its nodes from the root on, its buckets as they lie in memory, so that loading is reading.
//! What is on disk: the numbers of its runs, with what was deleted from each.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use hashbrown::HashSet;

use super::disk::Disk;
use super::leaf::{Leaf, MAX_BUCKETS};
use super::tree::{Key, Place, Target, Tree};

/// What stands before a leaf: the number of its implied bits, of its keys and of its buckets, and the buckets follow.
const LEAF: u8 = 1;
/// What stands before a node: what its places lead to follows, each but once.
const NODE: u8 = 2;

/// An error about bytes that are no such set.
pub(super) fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the saved set of known URLs is damaged: {what}"))
}

impl Tree {
    /// Writes the tree.
    pub(super) fn write(&self, into: &mut impl Write) -> io::Result<()> {
        self.write_node(0, into)
    }

    /// Reads a tree of keys of `width` bytes that [`Tree::write`] wrote.
    pub(super) fn read(width: usize, from: &mut impl Read) -> io::Result<Self> {
        let mut tree = Tree::new(width);
        tree.leaves.clear();
        tree.read_node(0, 0, from)?;
        Ok(tree)
    }

    /// Writes what is below a node.
    fn write_node(&self, node: usize, into: &mut impl Write) -> io::Result<()> {
        let places = &self.nodes[node];
        for (byte, place) in places.iter().enumerate() {
            match place.target() {
                Target::Node(child) => {
                    into.write_all(&[NODE])?;
                    self.write_node(child, into)?;
                }
                Target::Leaf(_) if byte > 0 && *place == places[byte - 1] => {}
                Target::Leaf(number) => self.write_leaf(&self.leaves[number], into)?,
            }
        }
        Ok(())
    }

    /// Writes a leaf.
    fn write_leaf(&self, leaf: &Leaf, into: &mut impl Write) -> io::Result<()> {
        into.write_all(&[LEAF, leaf.bits, leaf.buckets().len() as u8])?;
        into.write_all(&leaf.count.to_le_bytes())?;
        leaf.buckets().iter().try_for_each(|bucket| into.write_all(&self.arena.get(*bucket).0))
    }

    /// Reads what is below a node at a depth.
    fn read_node(&mut self, node: usize, depth: usize, from: &mut impl Read) -> io::Result<()> {
        let mut byte = 0;
        while byte < 256 {
            let mut kind = [0];
            from.read_exact(&mut kind)?;
            match kind[0] {
                LEAF => {
                    let (leaf, number) = (self.read_leaf(depth, from)?, self.leaves.len());
                    let places = 1 << (8 - leaf.bits);
                    if byte % places != 0 {
                        return Err(damaged("a leaf is out of place"));
                    }
                    self.leaves.push(leaf);
                    self.nodes[node][byte..byte + places].fill(Place::to(Target::Leaf(number)));
                    byte += places;
                }
                NODE if depth < self.shapes.deepest() => {
                    let child = self.nodes.len();
                    self.nodes.push(self.nodes[node]);
                    self.nodes[node][byte] = Place::to(Target::Node(child));
                    self.read_node(child, depth + 1, from)?;
                    byte += 1;
                }
                _ => return Err(damaged("an unknown kind of node")),
            }
        }
        Ok(())
    }

    /// Reads a leaf at a depth.
    fn read_leaf(&mut self, depth: usize, from: &mut impl Read) -> io::Result<Leaf> {
        let mut head = [0; 2];
        from.read_exact(&mut head)?;
        let [bits, buckets] = head;
        let count = read_u32(from)?;
        if bits > 8 || usize::from(buckets) > MAX_BUCKETS {
            return Err(damaged("a leaf's size"));
        }
        let mut leaf = Leaf::new(depth as u8, bits);
        for _ in 0..buckets {
            let number = leaf.add_bucket(&mut self.arena);
            let bucket = self.arena.get_mut(number);
            from.read_exact(&mut bucket.0)?;
            if !bucket.is_sound(self.shapes.of(&leaf)) {
                return Err(damaged("a bucket holds more than it can"));
            }
            leaf.count += bucket.count() as u32;
        }
        if leaf.count != count {
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
