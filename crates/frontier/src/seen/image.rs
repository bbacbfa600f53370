//! The set as bytes. A tree: its leaves as they lie in memory, so that loading is reading.
//! What is on disk: the numbers of its runs, with what was deleted from each.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use hashbrown::HashSet;

use super::arena::{LINE, MAX_LINES};
use super::disk::Disk;
use super::leaf::Leaf;
use super::tree::{Key, MAX_LEVEL, Tree};

/// An error about bytes that are no such set.
pub(super) fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the saved set of known URLs is damaged: {what}"))
}

impl Tree {
    /// Writes the tree.
    pub(super) fn write(&self, into: &mut impl Write) -> io::Result<()> {
        into.write_all(&[self.level as u8])?;
        into.write_all(&(self.split as u64).to_le_bytes())?;
        for (number, leaf) in self.leaves.iter().enumerate() {
            let [low, high] = leaf.count.to_le_bytes();
            into.write_all(&[low, high, u8::from(leaf.has_overflown)])?;
            into.write_all(leaf.keys(self.stride(self.bits(number)), &self.arena))?;
        }
        write_keys(&self.overflow, into)
    }

    /// Reads a tree of keys of `width` bytes that [`Tree::write`] wrote.
    pub(super) fn read(width: usize, from: &mut impl Read) -> io::Result<Self> {
        let mut tree = Tree::new(width);
        let mut level = [0];
        from.read_exact(&mut level)?;
        tree.level = u32::from(level[0]);
        tree.split = read_u64(from)? as usize;
        if tree.level > MAX_LEVEL || tree.split >= 1 << tree.level {
            return Err(damaged("the number of its leaves"));
        }
        tree.leaves.clear();
        for number in 0..(1 << tree.level) + tree.split {
            let leaf = tree.read_leaf(number, from)?;
            tree.leaves.push(leaf);
            tree.len += u64::from(leaf.count);
        }
        tree.overflow = read_keys(from)?;
        tree.len += tree.overflow.len() as u64;
        if tree.wants_split() {
            return Err(damaged("it has more keys than its leaves are for"));
        }
        if !tree.overflow.iter().all(|key| tree.is_overflow(key)) {
            return Err(damaged("a key stands beside a leaf that is not its own"));
        }
        Ok(tree)
    }

    /// Reads the leaf of a number.
    fn read_leaf(&mut self, number: usize, from: &mut impl Read) -> io::Result<Leaf> {
        let stride = self.stride(self.bits(number));
        let mut head = [0; 3];
        from.read_exact(&mut head)?;
        let [low, high, has_overflown] = head;
        let count = usize::from(u16::from_le_bytes([low, high]));
        if count > Leaf::capacity(stride) {
            return Err(damaged("a leaf holds more than it can"));
        }
        let mut keys = [0; MAX_LINES * LINE];
        let keys = &mut keys[..count * stride];
        from.read_exact(keys)?;
        if !self.belong(number, keys) {
            return Err(damaged("the keys of a leaf are out of order or those of another one"));
        }
        let mut leaf = Leaf::of(number, keys, stride, &mut self.arena);
        leaf.has_overflown = has_overflown != 0;
        Ok(leaf)
    }
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
