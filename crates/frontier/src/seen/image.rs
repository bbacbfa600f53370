//! A tree as bytes: its nodes from the root on, its buckets as they lie in memory, so that loading is reading.

use std::io::{self, Read, Write};

use super::bucket::BUCKET_BYTES;
use super::leaf::Leaf;
use super::tree::{Node, Tree};

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
