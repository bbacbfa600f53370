//! Consistent hashing (Karger et al. 1997): decides which node owns a host, a domain or a URL.
//!
//! Guarantees (the paper's four properties and determinism), which the tests check:
//! 1. Balance: each of n nodes of equal weight owns about 1/n of the keys; a node of weight w owns w shares.
//! 2. Monotonicity: a node that joins only takes keys; if it leaves, only its keys move.
//! 3. Spread: observers that know different nodes, at least 1/t of them each, see few owners of a key.
//! 4. Load: for all such observers together, no node owns much more than for one.
//! 5. Determinism: the owner is a pure function of names, weights, virtual nodes and key, in each process and
//!    version.
//!
//! Keys and nodes are hashed by MD5, which dedup uses, too, so that one hash suffices (SYSTEMS.md section 5);
//! a position on the ring is the digest's first 8 bytes, big-endian.

use std::sync::Arc;

use md5::{Digest as _, Md5};

use crate::{Digest, UrlRef, registered_domain};

/// Default number of virtual nodes per unit of weight: the most loaded of ten nodes then owns about 1.1 times
/// the mean.
pub const DEFAULT_VIRTUAL_NODES: u32 = 256;

/// Maximum number of points on a ring, 16 bytes each.
const MAX_POINTS: usize = 1 << 24;

/// The part of a URL that decides its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingKey {
    /// The host: one owner has its pace and its robots.txt. The default.
    Host,
    /// The registered domain: all hosts of a site have one owner.
    Domain,
    /// The URL, by the digest of dedup, as in the paper: politeness then requires that owners share each
    /// host's rate.
    Url,
}

impl RingKey {
    /// The text whose MD5 finds a URL's owner.
    pub fn text<'a>(self, url: impl Into<UrlRef<'a>>) -> &'a str {
        let url = url.into();
        self.text_of_host(url.host()).unwrap_or(url.as_str())
    }

    /// The text whose MD5 finds the owner of a host's URLs; `None` if they have several.
    pub fn text_of_host(self, host: &str) -> Option<&str> {
        match self {
            RingKey::Host => Some(host),
            RingKey::Domain => Some(registered_domain(host)),
            RingKey::Url => None,
        }
    }

    /// The digest that decides a URL's owner: of [`RingKey::text`].
    pub fn digest<'a>(self, url: impl Into<UrlRef<'a>>) -> Digest {
        let url = url.into();
        match self {
            RingKey::Host | RingKey::Domain => digest_of(self.text(url)),
            RingKey::Url => *url.digest(),
        }
    }
}

/// The digest of a key other than a URL, such as a name or a host.
pub fn digest_of(key: impl AsRef<[u8]>) -> Digest {
    Md5::digest(key).into()
}

/// Why a ring is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadRing {
    /// Two nodes have the same name.
    SameName,
    /// A weight that is not a positive finite number, or no virtual nodes.
    Weight,
    /// More than 16,777,216 virtual nodes in total.
    TooLarge,
}

impl std::fmt::Display for BadRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            BadRing::SameName => "nodes of different names",
            BadRing::Weight => "weights greater than 0, and at least one virtual node for the weight 1",
            BadRing::TooLarge => "at most 16,777,216 virtual nodes in all",
        })
    }
}

impl std::error::Error for BadRing {}

/// Nodes on a ring. The owner of a key is the first node clockwise from its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Ring {
    names: Arc<[Box<str>]>,
    /// Positions in ascending order, each with the index of its node.
    points: Arc<[(u64, u32)]>,
    /// For each prefix of a position, the index of the first point at or after it: most searches end there.
    starts: Arc<[u32]>,
    /// Right shift of a position to its prefix.
    shift: u32,
}

impl Ring {
    /// A ring of nodes with name and weight; each unit of weight is `virtual_nodes` points. Their order does
    /// not matter. Point i of a node is at the MD5 of `name#i`.
    pub fn new(nodes: &[(&str, f64)], virtual_nodes: u32) -> Result<Self, BadRing> {
        let mut nodes = nodes.to_vec();
        nodes.sort_by(|a, b| a.0.cmp(b.0));
        if nodes.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(BadRing::SameName);
        }
        let mut points = Vec::new();
        for (number, (name, weight)) in (0..).zip(&nodes) {
            let count = (weight * f64::from(virtual_nodes)).round();
            if !weight.is_finite() || *weight <= 0.0 || virtual_nodes == 0 {
                return Err(BadRing::Weight);
            }
            if count + points.len() as f64 > MAX_POINTS as f64 {
                return Err(BadRing::TooLarge);
            }
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most MAX_POINTS")]
            let count = (count as u32).max(1);
            points.extend((0..count).map(|i| (place(&digest_of(format!("{name}#{i}"))), number)));
        }
        points.sort_unstable();
        // About one point per prefix.
        let bits = points.len().next_power_of_two().trailing_zeros().max(1);
        let shift = u64::BITS - bits;
        let starts = (0..1u64 << bits)
            .map(|beginning| points.partition_point(|(point, _)| point >> shift < beginning))
            .map(|start| u32::try_from(start).unwrap_or(u32::MAX))
            .collect();
        let names = nodes.iter().map(|(name, _)| (*name).into()).collect();
        Ok(Ring { names, points: points.into(), starts, shift })
    }

    /// The name of the node that owns a key; `None` if the ring is empty.
    pub fn owner(&self, key: &Digest) -> Option<&str> {
        let (_, number) = self.points.get(self.first(key))?;
        self.names.get(*number as usize).map(|name| &**name)
    }

    /// The owner and the nodes that follow clockwise, each once, at most `count`: each takes over if the ones
    /// before it fail.
    pub fn owners(&self, key: &Digest, count: usize) -> Vec<&str> {
        let count = count.min(self.names.len());
        let mut numbers: Vec<u32> = Vec::with_capacity(count);
        let first = if self.points.is_empty() { 0 } else { self.first(key) };
        for (_, number) in self.points[first..].iter().chain(&self.points[..first]) {
            if numbers.len() == count {
                break;
            }
            if !numbers.contains(number) {
                numbers.push(*number);
            }
        }
        numbers.iter().filter_map(|&number| self.names.get(number as usize)).map(|name| &**name).collect()
    }

    /// The names of the nodes, sorted.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    /// The index of the first point at or after a key's position, or of the first point of all.
    fn first(&self, key: &Digest) -> usize {
        let place = place(key);
        let beginning = usize::try_from(place >> self.shift).unwrap_or_default();
        let mut at = self.starts.get(beginning).map_or(0, |start| *start as usize);
        while self.points.get(at).is_some_and(|(point, _)| *point < place) {
            at += 1;
        }
        if at == self.points.len() { 0 } else { at }
    }
}

/// The position of a digest.
fn place(digest: &Digest) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *digest;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use proptest::prelude::*;

    use super::*;
    use crate::CrawlUrl;

    /// Keys of hosts that do not exist.
    fn keys(count: usize) -> impl Iterator<Item = Digest> {
        (0..count).map(|number| digest_of(format!("www{number}.example")))
    }

    /// A ring of nodes `0…n` with weight 1, except those in `out`.
    fn ring_without(nodes: usize, out: &HashSet<usize>, virtual_nodes: u32) -> Ring {
        let names: Vec<String> =
            (0..nodes).filter(|node| !out.contains(node)).map(|node| format!("w{node}")).collect();
        let nodes: Vec<(&str, f64)> = names.iter().map(|name| (&**name, 1.0)).collect();
        Ring::new(&nodes, virtual_nodes).unwrap()
    }

    /// How many keys each node owns.
    fn counts(ring: &Ring, keys: usize) -> HashMap<&str, usize> {
        let mut counts = HashMap::new();
        self::keys(keys).for_each(|key| *counts.entry(ring.owner(&key).unwrap()).or_default() += 1);
        counts
    }

    #[test]
    fn owners_are_the_same_for_ever() {
        let ring = Ring::new(&[("b", 1.0), ("a", 2.0), ("c", 0.5)], 64).unwrap();
        let url = CrawlUrl::parse("https://news.example.co.uk/a?b").unwrap();
        let owners = |key: RingKey| ring.owners(&key.digest(&url), 3);
        assert_eq!(owners(RingKey::Host), OWNERS[0]);
        assert_eq!(owners(RingKey::Domain), OWNERS[1]);
        assert_eq!(owners(RingKey::Url), OWNERS[2]);
        assert_eq!(ring, Ring::new(&[("c", 0.5), ("a", 2.0), ("b", 1.0)], 64).unwrap());
        assert_eq!(ring.nodes().collect::<Vec<_>>(), ["a", "b", "c"]);
        let other = CrawlUrl::parse("http://www.example.co.uk/").unwrap();
        assert_eq!(RingKey::Domain.digest(&url), RingKey::Domain.digest(&other));
    }

    #[test]
    fn rings_that_make_no_sense_are_refused() {
        assert_eq!(Ring::new(&[("a", 1.0), ("a", 2.0)], 8), Err(BadRing::SameName));
        for (weight, virtual_nodes) in [(0.0, 8), (-1.0, 8), (f64::NAN, 8), (f64::INFINITY, 8), (1.0, 0)] {
            assert_eq!(Ring::new(&[("a", weight)], virtual_nodes), Err(BadRing::Weight));
        }
        assert_eq!(Ring::new(&[("a", 1e9)], 8), Err(BadRing::TooLarge));
        let empty = Ring::new(&[], 8).unwrap();
        assert_eq!(empty.owner(&[0; 16]), None);
        assert!(empty.owners(&[0; 16], 2).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        #[test]
        fn balance(nodes in 1usize..40) {
            let ring = ring_without(nodes, &HashSet::new(), DEFAULT_VIRTUAL_NODES);
            let counts = counts(&ring, 40_000);
            let mean = 40_000 / nodes;
            prop_assert_eq!(counts.len(), nodes);
            // A share's relative deviation is 1/√256; the greatest of 40 stays below 4 of them, and keys add a little.
            prop_assert!(counts.values().all(|&count| count * 10 < mean * 13 && count * 10 > mean * 7), "{:?}", counts);
        }

        #[test]
        fn weights_are_shares(weight in 1u8..8) {
            let ring = Ring::new(&[("a", 1.0), ("b", f64::from(weight)), ("c", 1.0)], DEFAULT_VIRTUAL_NODES).unwrap();
            let share = counts(&ring, 40_000)["b"] as f64 / 40_000.0;
            let expected = f64::from(weight) / f64::from(weight + 2);
            prop_assert!((share / expected - 1.0).abs() < 0.2, "{share} {expected}");
        }

        #[test]
        fn monotonicity(nodes in 1usize..30, new in 0usize..30, virtual_nodes in 1u32..200) {
            let before = ring_without(nodes.max(new + 1) + 1, &HashSet::from([new]), virtual_nodes);
            let after = ring_without(nodes.max(new + 1) + 1, &HashSet::new(), virtual_nodes);
            let joined = format!("w{new}");
            for key in keys(2_000) {
                let (old, new) = (before.owner(&key), after.owner(&key));
                prop_assert!(old == new || new == Some(&joined));
                // Seen from the other side: when a node fails, the one that follows it takes over.
                let heirs = after.owners(&key, 2);
                prop_assert_eq!(old, if heirs[0] == joined { Some(heirs[1]) } else { new });
            }
        }

        #[test]
        fn spread_and_load(views in proptest::collection::vec(proptest::collection::hash_set(0usize..20, 0..10), 20)) {
            // 20 observers, each of whom knows at least half of 20 nodes (t = 2).
            let rings: Vec<Ring> = views.iter().map(|out| ring_without(20, out, DEFAULT_VIRTUAL_NODES)).collect();
            let mut of_node: HashMap<&str, usize> = HashMap::new();
            let mut widest = 0;
            for key in keys(3_000) {
                let owners: HashSet<&str> = rings.iter().filter_map(|ring| ring.owner(&key)).collect();
                widest = widest.max(owners.len());
                owners.into_iter().for_each(|owner| *of_node.entry(owner).or_default() += 1);
            }
            // Each of the paper's bounds is O(t log C), C the number of nodes: 2 × ln 20 ≈ 6, and a factor of 2.
            prop_assert!(widest <= 12, "spread {widest}");
            prop_assert!(of_node.values().all(|&load| load <= 6 * 3_000 / 20), "load {:?}", of_node);
        }

        #[test]
        fn owners_are_distinct_and_begin_with_the_owner(nodes in 1usize..12, count in 0usize..14, key in any::<[u8; 16]>()) {
            let ring = ring_without(nodes, &HashSet::new(), 16);
            let owners = ring.owners(&key, count);
            prop_assert_eq!(owners.len(), count.min(nodes));
            prop_assert_eq!(owners.iter().collect::<HashSet<_>>().len(), owners.len());
            prop_assert!(count == 0 || owners.first().copied() == ring.owner(&key));
            // The plain model: the nearest point clockwise.
            let nearest = ring.points.iter().min_by_key(|(point, _)| point.wrapping_sub(place(&key)));
            prop_assert_eq!(nearest.map(|(_, number)| &*ring.names[*number as usize]), ring.owner(&key));
        }
    }

    /// The owners of a URL by host, by domain and by URL, on a ring that never changes: worked out by hand
    /// with another MD5, Python's.
    const OWNERS: [[&str; 3]; 3] = [["a", "c", "b"], ["a", "c", "b"], ["b", "a", "c"]];
}
