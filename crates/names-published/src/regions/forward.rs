//! The forward region: names that resolve quickly.
//!
//! Table 1 (domain → its hosts) and table 2 (host → address) of the patent are one index of nodes here, since no name is
//! in both. The nodes make the patent's tree: the first host is its domain's left child, the others are siblings to the
//! right, and so are the names of the third level below their host.
//!
//! Guarantees: names of the third level are `deeper` at most, all others `hosts`; when one more comes, those of its kind
//! that were not used since the median of their last accesses go. A node without an address stays only as long as names
//! below it have one, so that there are three nodes a name at most.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::Record;
use super::levels::Path;
use crate::kept::heap;
use lycosa_names::cache::Seconds;

/// Nothing, as a number of a node.
const NONE: u32 = u32::MAX;

/// The region.
pub(super) struct Forward {
    /// The most names of each kind.
    limits: [usize; 2],
    /// How many there are of each kind that have an address.
    counts: [usize; 2],
    nodes: Vec<Node>,
    /// Free places in `nodes`.
    free: Vec<u32>,
    /// Tables 1 and 2: nodes by name.
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// Counts accesses, so that no two are at the same time.
    accesses: u64,
    /// Bytes of names and addresses.
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
    /// The first name below: the left child.
    child: u32,
    /// The next name below the same one: the right child.
    next: u32,
    /// The one that points here as its `next`.
    previous: u32,
}

/// Whose limit counts for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A domain, or a host of the second level.
    Host,
    /// A name of the third level.
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

    /// A name's record; this is an access.
    pub(super) fn find(&mut self, name: &str) -> Option<&Record> {
        let at = self.place(name)?;
        self.accesses += 1;
        let node = &mut self.nodes[at as usize];
        node.accessed = self.accesses;
        node.record.as_ref()
    }

    /// Takes a record in place of the name's former one; gives how many names went that were still wanted.
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

    /// Drops a name; whether it had an address.
    pub(super) fn forget(&mut self, name: &str) -> bool {
        self.place(name).is_some_and(|at| self.drop_record(at).is_some())
    }

    /// Names with an address.
    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum::<usize>() as u64
    }

    /// Bytes in use.
    pub(super) fn memory(&self) -> usize {
        let nodes = self.nodes.capacity() * size_of::<Node>() + self.free.capacity() * size_of::<u32>();
        nodes + self.index.allocation_size() + self.heap
    }

    /// The names with an address at and below a name.
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

    /// The patent's eviction: those of a kind go whose last access is before the median. Half of them go, so that each
    /// insertion pays for a bounded part of it.
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

    /// Takes the record of a node, and the node with those above it as far as nothing needs them.
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

    /// Takes a node out of index and tree; gives the one above.
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

    /// A name's node; a new one becomes the first child of the one above.
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

    /// Where a name's node is.
    fn place(&self, name: &str) -> Option<u32> {
        self.index.find(self.hasher.hash_one(name), |&at| *self.nodes[at as usize].name == *name).copied()
    }

    /// Panics where tree, index and counts disagree.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let (mut counts, mut linked, mut bytes) = ([0; 2], 0, 0);
        for at in self.index.iter().copied() {
            let node = &self.nodes[at as usize];
            assert_eq!(self.place(&node.name), Some(at));
            assert!(node.record.is_some() || node.child != NONE, "{} is of no use", node.name);
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
