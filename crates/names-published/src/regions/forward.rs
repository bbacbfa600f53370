//! The forward region: names that resolve quickly.
//!
//! Table 1 (domain → its hosts) and table 2 (host → address) of the patent are one index of nodes here, since
//! no name is in both. The nodes form the patent's tree: a domain's left child is its first host, the other
//! hosts are siblings to the right, and likewise the third-level names below their host.
//!
//! Guarantees: at most `deeper` third-level names and `hosts` others; when a limit is exceeded, names of that
//! kind last used before the median access are evicted. A node without an address exists only while a name
//! below it has one, so there are at most three nodes per name.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::Record;
use super::levels::Path;
use crate::kept::heap;
use lycosa_names::cache::Seconds;

/// Null index of nodes.
const NONE: u32 = u32::MAX;

/// The region.
pub(super) struct Forward {
    /// Maximum number of names of each kind.
    limits: [usize; 2],
    /// Number of names with an address, by kind.
    counts: [usize; 2],
    nodes: Vec<Node>,
    /// Free indexes in `nodes`.
    free: Vec<u32>,
    /// Nodes by name (tables 1 and 2).
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// Counts accesses, which orders them.
    accesses: u64,
    /// Heap memory of names and addresses in bytes.
    heap: usize,
}

/// A name in the tree.
struct Node {
    name: Box<str>,
    record: Option<Record>,
    /// The number of the last access.
    accessed: u64,
    kind: Kind,
    parent: u32,
    /// The first child: the left child of the patent's tree.
    child: u32,
    /// The next sibling: the right child of the patent's tree.
    next: u32,
    /// The previous sibling.
    previous: u32,
}

/// Which limit applies to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A domain or a second-level host.
    Host,
    /// A third-level name.
    Deeper,
}

impl Forward {
    /// An empty region.
    pub(super) fn new(hosts: usize, deeper: usize) -> Self {
        Forward {
            limits: [hosts, deeper],
            counts: [0; 2],
            nodes: Vec::new(),
            free: Vec::new(),
            index: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            accesses: 0,
            heap: 0,
        }
    }

    /// Looks up a name's record; counts as an access.
    pub(super) fn find(&mut self, name: &str) -> Option<&Record> {
        let at = self.place(name)?;
        self.accesses += 1;
        let node = &mut self.nodes[at as usize];
        node.accessed = self.accesses;
        node.record.as_ref()
    }

    /// Inserts or replaces a record; returns how many valid names were evicted.
    pub(super) fn insert(&mut self, path: &Path<'_>, record: Record, now: Seconds) -> u64 {
        let mut at = self.node(path.domain, Kind::Host, NONE);
        if let Some(host) = path.host {
            at = self.node(host, Kind::Host, at);
        }
        if let Some(deeper) = path.deeper {
            at = self.node(deeper, Kind::Deeper, at);
        }
        self.accesses += 1;
        let node = &mut self.nodes[at as usize];
        let kind = node.kind;
        node.accessed = self.accesses;
        self.heap += record.answer.heap();
        match node.record.replace(record) {
            Some(before) => self.heap -= before.answer.heap(),
            None => self.counts[kind as usize] += 1,
        }
        if self.counts[kind as usize] > self.limits[kind as usize] { self.drop_old(kind, now) } else { 0 }
    }

    /// Removes a name; returns whether it had an address.
    pub(super) fn forget(&mut self, name: &str) -> bool {
        self.place(name).is_some_and(|at| self.drop_record(at).is_some())
    }

    /// Number of names with an address.
    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum::<usize>() as u64
    }

    /// Memory in bytes.
    pub(super) fn memory(&self) -> usize {
        let nodes = self.nodes.capacity() * size_of::<Node>() + self.free.capacity() * size_of::<u32>();
        nodes + self.index.allocation_size() + self.heap
    }

    /// Names with an address at and below a name.
    pub(super) fn under(&self, name: &str) -> Vec<&str> {
        let (mut names, mut waiting) = (Vec::new(), Vec::from_iter(self.place(name)));
        while let Some(at) = waiting.pop() {
            let node = &self.nodes[at as usize];
            if node.record.is_some() {
                names.push(&*node.name);
            }
            let mut child = node.child;
            while child != NONE {
                waiting.push(child);
                child = self.nodes[child as usize].next;
            }
        }
        names
    }

    /// The patent's eviction: removes the names of a kind whose last access is before the median. That is
    /// half of them, so that each insertion has a bounded amortized cost.
    fn drop_old(&mut self, kind: Kind, now: Seconds) -> u64 {
        let held = |node: &&Node| node.kind == kind && node.record.is_some();
        let mut accesses: Vec<u64> = self.nodes.iter().filter(held).map(|node| node.accessed).collect();
        let middle = accesses.len() / 2;
        let (_, &mut median, _) = accesses.select_nth_unstable(middle);
        let mut wanted = 0;
        for at in 0..self.nodes.len() as u32 {
            if Some(&self.nodes[at as usize]).filter(held).is_some_and(|node| node.accessed < median) {
                wanted += u64::from(self.drop_record(at).is_some_and(|record| now < record.expires));
            }
        }
        wanted
    }

    /// Removes the record of a node, then the node and its ancestors as far as they are unused.
    fn drop_record(&mut self, mut at: u32) -> Option<Record> {
        let node = &mut self.nodes[at as usize];
        let record = node.record.take()?;
        self.counts[node.kind as usize] -= 1;
        self.heap -= record.answer.heap();
        while at != NONE && self.nodes[at as usize].record.is_none() && self.nodes[at as usize].child == NONE
        {
            at = self.unlink(at);
        }
        Some(record)
    }

    /// Removes a node from index and tree; returns its parent.
    fn unlink(&mut self, at: u32) -> u32 {
        let node = &mut self.nodes[at as usize];
        let (name, parent, next, previous) =
            (std::mem::take(&mut node.name), node.parent, node.next, node.previous);
        if previous != NONE {
            self.nodes[previous as usize].next = next;
        } else if parent != NONE {
            self.nodes[parent as usize].child = next;
        }
        if next != NONE {
            self.nodes[next as usize].previous = previous;
        }
        if let Ok(entry) = self.index.find_entry(self.hasher.hash_one(&*name), |&own| own == at) {
            entry.remove();
        }
        self.heap -= heap(name.len());
        self.free.push(at);
        parent
    }

    /// Returns a name's node; a new one becomes the first child of its parent.
    fn node(&mut self, name: &str, kind: Kind, parent: u32) -> u32 {
        if let Some(at) = self.place(name) {
            return at;
        }
        let next = if parent == NONE { NONE } else { self.nodes[parent as usize].child };
        let node = Node {
            name: name.into(),
            record: None,
            accessed: 0,
            kind,
            parent,
            child: NONE,
            next,
            previous: NONE,
        };
        let at = match self.free.pop() {
            Some(at) => {
                self.nodes[at as usize] = node;
                at
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
        };
        if next != NONE {
            self.nodes[next as usize].previous = at;
        }
        if parent != NONE {
            self.nodes[parent as usize].child = at;
        }
        self.heap += heap(name.len());
        let (nodes, hasher) = (&self.nodes, &self.hasher);
        let hash = |&own: &u32| hasher.hash_one(&*nodes[own as usize].name);
        self.index.insert_unique(hasher.hash_one(name), at, hash);
        at
    }

    /// Finds a name's node.
    fn place(&self, name: &str) -> Option<u32> {
        self.index.find(self.hasher.hash_one(name), |&at| *self.nodes[at as usize].name == *name).copied()
    }

    /// Panics if tree, index and counts disagree.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let (mut counts, mut linked, mut bytes) = ([0; 2], 0, 0);
        for at in self.index.iter().copied() {
            let node = &self.nodes[at as usize];
            assert_eq!(self.place(&node.name), Some(at));
            assert!(node.record.is_some() || node.child != NONE, "{} is unused", node.name);
            counts[node.kind as usize] += usize::from(node.record.is_some());
            bytes += heap(node.name.len()) + node.record.as_ref().map_or(0, |record| record.answer.heap());
            let (mut child, mut before) = (node.child, NONE);
            while child != NONE {
                let own = &self.nodes[child as usize];
                assert_eq!((own.parent, own.previous), (at, before));
                assert!(own.name.ends_with(&format!(".{}", node.name)));
                (before, child, linked) = (child, own.next, linked + 1);
            }
            linked += usize::from(node.parent == NONE);
        }
        assert_eq!((counts, bytes, linked), (self.counts, self.heap, self.index.len()));
        assert_eq!(self.nodes.len(), self.index.len() + self.free.len());
        assert!(counts[0] <= self.limits[0] && counts[1] <= self.limits[1]);
        assert!(self.index.len() <= 3 * (counts[0] + counts[1]));
    }
}
