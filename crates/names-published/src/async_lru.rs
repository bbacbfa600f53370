//! Design 2, async-lru (Chen & Yan 2009; SYSTEMS.md section 2): a chained hash table whose nodes are on a
//! usable list that orders itself by transposition.
//!
//! Guarantees, which the tests repeat:
//! 1. At most `capacity` names. Lookup, insertion and removal take a bounded number of steps.
//! 2. A hit moves the name one position forward on the usable list, never more.
//! 3. A new name takes a free node, or the node at the list's tail, and is inserted after the list's head.
//! 4. An answer is valid for the cache's own period whatever its TTL; the next answer updates the node in
//!    place, and the node then moves one position forward.
//! 5. Failures are not cached.
//!
//! Choices where the paper is silent: the head of the list is a sentinel that is never in use, which makes
//! its two rules consistent (a node swaps with a predecessor *in use*; a new node comes *after the head*).
//! The hash starts at 5381, the usual start of its form (Bernstein's). Since anyone can construct names that
//! share a chain, a chain has at most [`MAX_CHAIN`] nodes: a further name replaces the chain's oldest one.

use crate::kept::{Kept, heap};
use lycosa_names::cache::{Answer, CacheStatistics, Class, Found, NameCache, Resolution, SLOW, Seconds};
use lycosa_names::{Families, HostName};

/// Maximum nodes in one chain: with two names per bucket, as published, random names make no chain half as
/// long.
const MAX_CHAIN: usize = 64;

/// Settings of an [`AsyncLru`]; the defaults are those of the paper's experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsyncLruSettings {
    /// Maximum number of names (nodes): 1 to 2^31 (default 50,000).
    pub capacity: usize,
    /// Buckets of the hash table: 1 to 2^31 (default 21,911).
    pub buckets: usize,
    /// How long an answer is valid, in seconds (default 1,800).
    pub period: Seconds,
    /// Resolution time in milliseconds from which a name counts as slow; for display only (default
    /// [`SLOW`](lycosa_names::cache::SLOW)).
    pub slow: u32,
}

impl Default for AsyncLruSettings {
    fn default() -> Self {
        AsyncLruSettings { capacity: 50_000, buckets: 21_911, period: 1_800, slow: SLOW }
    }
}

/// The cache.
pub struct AsyncLru {
    settings: AsyncLruSettings,
    /// The first node of each chain, or [`HEAD`].
    buckets: Vec<u32>,
    /// Node 0 is the head of the usable list, which is circular.
    nodes: Vec<Node>,
    /// Free nodes.
    free: Vec<u32>,
    /// Heap memory of names and addresses in bytes.
    heap: usize,
    statistics: CacheStatistics,
}

/// The head of the usable list; also marks the end of a chain.
const HEAD: u32 = 0;

/// A name with its answer.
struct Node {
    name: Box<str>,
    answer: Kept,
    /// When the answer was inserted; `None` if it was invalidated.
    created: Option<Seconds>,
    chain_next: u32,
    chain_previous: u32,
    next: u32,
    previous: u32,
    families: Families,
    class: Class,
    in_use: bool,
}

impl AsyncLru {
    /// Creates an empty cache; settings beyond their limits are clamped.
    pub fn new(settings: AsyncLruSettings) -> Self {
        let limit = |value: usize| value.clamp(1, 1 << 31);
        let settings = AsyncLruSettings {
            capacity: limit(settings.capacity),
            buckets: limit(settings.buckets),
            ..settings
        };
        AsyncLru {
            settings,
            buckets: vec![HEAD; settings.buckets],
            nodes: vec![Node::free()],
            free: Vec::new(),
            heap: 0,
            statistics: CacheStatistics::default(),
        }
    }

    /// The bucket of a name, by the paper's hash.
    fn bucket(&self, name: &str) -> usize {
        let add = |hash: u32, byte: u8| (hash << 5).wrapping_add(hash).wrapping_add(u32::from(byte));
        name.bytes().fold(5381, add) as usize % self.buckets.len()
    }

    /// Returns a name's node, and the length of the chain before it, or of the whole chain.
    fn find(&self, bucket: usize, name: &str) -> (Option<u32>, usize) {
        let (mut at, mut steps) = (self.buckets[bucket], 0);
        while at != HEAD {
            let node = self.node(at);
            if *node.name == *name {
                return (Some(at), steps);
            }
            (at, steps) = (node.chain_next, steps + 1);
        }
        (None, steps)
    }

    /// Applies the transposition rule.
    fn transpose(&mut self, at: u32) {
        let before = self.node(at).previous;
        if self.node(before).in_use {
            self.unlist(at);
            self.list_after(self.node(before).previous, at);
        }
    }

    /// Returns a node for a new name of a chain: a free one, or one that is evicted.
    fn take_node(&mut self, bucket: usize, chain: usize, now: Seconds) -> u32 {
        if chain >= MAX_CHAIN {
            let mut last = self.buckets[bucket];
            while self.node(last).chain_next != HEAD {
                last = self.node(last).chain_next;
            }
            self.evict(last, now);
        } else if self.free.is_empty() && self.nodes.len() > self.settings.capacity {
            self.evict(self.node(HEAD).previous, now);
        }
        self.free.pop().unwrap_or_else(|| {
            self.nodes.push(Node::free());
            (self.nodes.len() - 1) as u32
        })
    }

    /// Releases a node; counts an eviction if its answer is still valid.
    fn evict(&mut self, at: u32, now: Seconds) {
        self.statistics.evictions += u64::from(self.expires(at).is_some_and(|expires| now < expires));
        self.release(at);
    }

    /// When a node's answer expires.
    fn expires(&self, at: u32) -> Option<Seconds> {
        self.node(at).created.map(|created| created.saturating_add(self.settings.period))
    }

    /// Removes a node from its chain and lists it as free.
    fn release(&mut self, at: u32) {
        self.unlist(at);
        let (next, previous) = (self.node(at).chain_next, self.node(at).chain_previous);
        if previous == HEAD {
            let bucket = self.bucket(&self.node(at).name);
            self.buckets[bucket] = next;
        } else {
            self.node_mut(previous).chain_next = next;
        }
        if next != HEAD {
            self.node_mut(next).chain_previous = previous;
        }
        let node = std::mem::replace(self.node_mut(at), Node::free());
        self.heap -= node.heap();
        self.free.push(at);
    }

    /// Removes a node from the usable list.
    fn unlist(&mut self, at: u32) {
        let (next, previous) = (self.node(at).next, self.node(at).previous);
        self.node_mut(previous).next = next;
        self.node_mut(next).previous = previous;
    }

    /// Inserts a node into the usable list.
    fn list_after(&mut self, previous: u32, at: u32) {
        let next = self.node(previous).next;
        (self.node_mut(at).previous, self.node_mut(at).next) = (previous, next);
        self.node_mut(previous).next = at;
        self.node_mut(next).previous = at;
    }

    /// A node by its number.
    fn node(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    /// A mutable node by its number.
    fn node_mut(&mut self, at: u32) -> &mut Node {
        &mut self.nodes[at as usize]
    }
}

impl Node {
    /// A free node.
    fn free() -> Self {
        Node {
            name: "".into(),
            answer: Kept::NoData,
            created: None,
            chain_next: HEAD,
            chain_previous: HEAD,
            next: HEAD,
            previous: HEAD,
            families: Families::V4,
            class: Class::Failed,
            in_use: false,
        }
    }

    /// Heap memory in bytes.
    fn heap(&self) -> usize {
        heap(self.name.len()) + self.answer.heap()
    }
}

impl NameCache for AsyncLru {
    fn lookup(&mut self, name: HostName<'_>, families: Families, now: Seconds) -> Option<Found> {
        let (found, _) = self.find(self.bucket(name.as_str()), name.as_str());
        let hit = found
            .filter(|&at| self.node(at).families == families)
            .and_then(|at| Some((at, self.expires(at).filter(|&expires| now < expires)?)));
        let Some((at, expires)) = hit else {
            self.statistics.misses += 1;
            return None;
        };
        self.statistics.hits += 1;
        self.transpose(at);
        let node = self.node(at);
        Some(Found { answer: node.answer.answer(), expires: Some(expires), class: node.class })
    }

    fn insert(&mut self, name: HostName<'_>, families: Families, resolution: &Resolution, now: Seconds) {
        let bucket = self.bucket(name.as_str());
        let (found, chain) = self.find(bucket, name.as_str());
        match (&resolution.answer, found) {
            (Answer::Addresses(addresses), _) if !addresses.is_empty() => (),
            // A failure says nothing about the name; a valid answer stays.
            (Answer::Failed { .. }, _) | (_, None) => return,
            (_, Some(at)) => return self.node_mut(at).created = None,
        }
        self.statistics.insertions += 1;
        let at = found.unwrap_or_else(|| self.take_node(bucket, chain, now));
        let before = self.node(at).heap();
        let node = self.node_mut(at);
        node.answer = Kept::new(&resolution.answer);
        node.families = families;
        node.created = Some(now);
        let slow = self.settings.slow;
        self.node_mut(at).class = resolution.class(slow);
        if found.is_some() {
            self.transpose(at);
        } else {
            self.node_mut(at).name = name.as_str().into();
            self.node_mut(at).in_use = true;
            let first = std::mem::replace(&mut self.buckets[bucket], at);
            self.node_mut(at).chain_next = first;
            if first != HEAD {
                self.node_mut(first).chain_previous = at;
            }
            self.list_after(HEAD, at);
        }
        self.heap = self.heap + self.node(at).heap() - before;
    }

    fn forget(&mut self, name: HostName<'_>) -> bool {
        let (found, _) = self.find(self.bucket(name.as_str()), name.as_str());
        found.map(|at| self.release(at)).is_some()
    }

    fn count(&self) -> u64 {
        (self.nodes.len() - 1 - self.free.len()) as u64
    }

    fn memory(&self) -> usize {
        let nodes = self.nodes.capacity() * size_of::<Node>();
        nodes + (self.buckets.capacity() + self.free.capacity()) * 4 + self.heap
    }

    fn statistics(&self) -> CacheStatistics {
        self.statistics
    }
}

#[cfg(test)]
#[path = "async_lru_tests.rs"]
mod tests;
