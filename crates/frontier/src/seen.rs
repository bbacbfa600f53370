//! The MD5 dedup tree (SYSTEMS.md section 5): which URLs are known, by their digests, with deletion.
//!
//! The published tree is one of digits; here its leaves are reached in one step. A leaf is chosen by the first bits
//! of the digest, as many as the number of URLs asks for, and does not store the bytes that its place
//! implies. Leaves split one at a time (Litwin's linear hashing, VLDB 1980), so that no call pays for all. Within
//! a leaf keys stand in order of their last four bytes, which are evenly spread: the place of a key is
//! computed, not searched.
//!
//! Guarantees: a key is new exactly once until it is deleted; answers are exact (no false positives beyond
//! those of the key itself); at 100 million keys a key takes at most 15 bytes.

use lycosa_url::Digest;

/// Keys per leaf, on average, at which the next leaf splits: more save memory, fewer save moving.
const LEAF_KEYS: usize = 128;

/// Keys that a full leaf grows by: small, since this is the room that stands empty.
const LEAF_GROWTH: usize = 6;

/// How much of the MD5 is the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyWidth {
    /// All 16 bytes: two of 100 million URLs collide with probability 1.5e-23.
    #[default]
    Full,
    /// The middle 8 bytes ("16-digit MD5"), as published: 2.7e-4.
    Published,
}

/// The set of known URLs.
#[derive(Debug)]
pub struct Seen {
    width: KeyWidth,
    /// Every leaf has a place of `level` bits; those before `split` and from 2^level on have one more.
    level: u32,
    split: usize,
    leaves: Vec<Vec<u8>>,
    len: usize,
}

impl Default for Seen {
    fn default() -> Self {
        Seen::new(KeyWidth::Full)
    }
}

impl Seen {
    /// The empty set.
    pub fn new(width: KeyWidth) -> Self {
        Seen { width, level: 0, split: 0, leaves: vec![Vec::new()], len: 0 }
    }

    /// How many keys are known.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds keys in order; tells of each whether it was new.
    pub fn add(&mut self, digests: &[Digest]) -> Vec<bool> {
        // Looking at all leaves first lets the loads overlap, whose waiting is most of the cost in a large set.
        let touched: usize = digests.iter().map(|digest| self.touch(digest)).sum();
        std::hint::black_box(touched);
        digests.iter().map(|digest| self.insert(digest)).collect()
    }

    /// Whether a key is known.
    pub fn contains(&self, digest: &Digest) -> bool {
        let (leaf, skip) = self.place(digest);
        let key = self.key(digest);
        self.find(&self.leaves[leaf], &key[skip..]).is_ok()
    }

    /// Adds one key; tells whether it was new.
    pub fn insert(&mut self, digest: &Digest) -> bool {
        let (place, skip) = self.place(digest);
        let full = self.key(digest);
        let key = &full[skip..];
        let Err(position) = self.find(&self.leaves[place], key) else { return false };
        let leaf = &mut self.leaves[place];
        if leaf.len() + key.len() > leaf.capacity() {
            leaf.reserve_exact(LEAF_GROWTH * key.len());
        }
        let at = position * key.len();
        let end = leaf.len();
        leaf.extend_from_slice(key);
        leaf.copy_within(at..end, at + key.len());
        leaf[at..at + key.len()].copy_from_slice(key);
        self.len += 1;
        if self.len > self.leaves.len() * LEAF_KEYS {
            self.split_one();
        }
        true
    }

    /// Forgets a key; tells whether it was known.
    pub fn delete(&mut self, digest: &Digest) -> bool {
        let (place, skip) = self.place(digest);
        let full = self.key(digest);
        let key = &full[skip..];
        let Ok(position) = self.find(&self.leaves[place], key) else { return false };
        self.leaves[place].drain(position * key.len()..(position + 1) * key.len());
        self.len -= 1;
        true
    }

    /// Writes all keys.
    pub fn save(&self, into: &mut dyn std::io::Write) -> std::io::Result<()> {
        into.write_all(&(self.leaves.len() as u64).to_le_bytes())?;
        for number in [self.level as u64, self.split as u64, self.len as u64] {
            into.write_all(&number.to_le_bytes())?;
        }
        for leaf in &self.leaves {
            into.write_all(&(leaf.len() as u64).to_le_bytes())?;
            into.write_all(leaf)?;
        }
        Ok(())
    }

    /// Reads them.
    pub fn load(from: &mut dyn std::io::Read) -> std::io::Result<Self> {
        let mut number = || -> std::io::Result<u64> {
            let mut bytes = [0; 8];
            from.read_exact(&mut bytes)?;
            Ok(u64::from_le_bytes(bytes))
        };
        let leaves = number()?;
        let (level, split, len) = (number()? as u32, number()? as usize, number()? as usize);
        let mut seen = Seen { width: KeyWidth::Full, level, split, leaves: Vec::new(), len };
        for _ in 0..leaves {
            let mut bytes = [0; 8];
            from.read_exact(&mut bytes)?;
            let mut leaf = vec![0; u64::from_le_bytes(bytes) as usize];
            from.read_exact(&mut leaf)?;
            seen.leaves.push(leaf);
        }
        Ok(seen)
    }

    /// Bytes of memory held, allocations rounded as they are asked for.
    pub fn memory(&self) -> usize {
        let leaves: usize = self.leaves.iter().map(Vec::capacity).sum();
        leaves + self.leaves.capacity() * size_of::<Vec<u8>>()
    }

    /// The key of a digest: its bytes, or the middle eight of them.
    fn key<'a>(&self, digest: &'a Digest) -> &'a [u8] {
        match self.width {
            KeyWidth::Full => digest,
            KeyWidth::Published => &digest[4..12],
        }
    }

    /// The leaf of a key, and how many of its bytes the place implies.
    fn place(&self, digest: &Digest) -> (usize, usize) {
        let key = self.key(digest);
        let head = u32::from_le_bytes([key[0], key[1], key[2], key[3]]) as usize;
        let place = head & ((1 << self.level) - 1);
        if place < self.split {
            (head & ((2 << self.level) - 1), skip(self.level + 1))
        } else {
            (place, skip(self.level))
        }
    }

    /// Where a key stands in a leaf, or where it would.
    fn find(&self, leaf: &[u8], key: &[u8]) -> Result<usize, usize> {
        let (stride, keys) = (key.len(), leaf.len() / key.len());
        let wanted = order(key);
        let at = |index: usize| &leaf[index * stride..(index + 1) * stride];
        let mut index = estimate(wanted, keys);
        while index < keys && order(at(index)) < wanted {
            index += 1;
        }
        while index > 0 && order(at(index - 1)) >= wanted {
            index -= 1;
        }
        while index < keys && order(at(index)) == wanted {
            if at(index) == key {
                return Ok(index);
            }
            index += 1;
        }
        Err(index)
    }

    /// Loads what a key's search will look at first.
    fn touch(&self, digest: &Digest) -> usize {
        let (place, skip) = self.place(digest);
        let (leaf, key) = (&self.leaves[place], &self.key(digest)[skip..]);
        let first = estimate(order(key), leaf.len() / key.len()) * key.len();
        leaf.get(first).copied().map_or(0, usize::from)
    }

    /// Splits the next leaf in two by one more bit of its keys.
    fn split_one(&mut self) {
        let (before, after) = (skip(self.level), skip(self.level + 1));
        let bytes = match self.width {
            KeyWidth::Full => 16,
            KeyWidth::Published => 8,
        };
        let old = std::mem::take(&mut self.leaves[self.split]);
        let (mut low, mut high) = (Vec::new(), Vec::new());
        let moves = |key: &[u8]| {
            // The bit lies in the first byte that the old place did not imply.
            key[0] >> (self.level % 8) & 1 == 1
        };
        let stride = bytes - before;
        let high_keys = old.chunks_exact(stride).filter(|key| moves(key)).count();
        let keep = bytes - after;
        high.reserve_exact((high_keys + LEAF_GROWTH / 2) * keep);
        low.reserve_exact((old.len() / stride - high_keys + LEAF_GROWTH / 2) * keep);
        for key in old.chunks_exact(stride) {
            let half = if moves(key) { &mut high } else { &mut low };
            half.extend_from_slice(&key[after - before..]);
        }
        self.leaves[self.split] = low;
        self.leaves.push(high);
        self.split += 1;
        // The first four bytes choose a leaf, and at least the last four are kept.
        if self.split == 1 << self.level && self.level < 30 {
            self.level += 1;
            self.split = 0;
        }
    }
}

/// How many bytes a place of so many bits implies.
fn skip(bits: u32) -> usize {
    (bits / 8) as usize
}

/// What keys of a leaf are ordered by: their last four bytes.
fn order(key: &[u8]) -> u32 {
    match key {
        [.., a, b, c, d] => u32::from_be_bytes([*a, *b, *c, *d]),
        _ => 0,
    }
}

/// Where a key stands among `keys` evenly spread ones.
fn estimate(order: u32, keys: usize) -> usize {
    (order as usize * keys) >> 32
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    /// A digest as evenly spread as MD5's (splitmix64).
    fn digest(number: u64) -> Digest {
        let mix = |mut z: u64| {
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ z >> 31
        };
        let (high, low) = (mix(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)), mix(!number));
        (u128::from(high) << 64 | u128::from(low)).to_le_bytes()
    }

    #[test]
    fn a_key_is_new_exactly_once() {
        for width in [KeyWidth::Full, KeyWidth::Published] {
            let mut seen = Seen::new(width);
            let digests: Vec<Digest> = (0..200_000).map(digest).collect();
            for batch in digests.chunks(1000) {
                assert!(seen.add(batch).iter().all(|new| *new));
            }
            assert_eq!(seen.len(), digests.len());
            for batch in digests.chunks(1000) {
                assert!(seen.add(batch).iter().all(|new| !*new));
            }
            assert!((200_000..300_000).all(|number| !seen.contains(&digest(number))));
        }
    }

    #[test]
    fn a_key_takes_little_more_than_its_own_bytes() {
        let mut seen = Seen::default();
        (0..1_000_000).for_each(|number| assert!(seen.insert(&digest(number))));
        let bytes = seen.memory() as f64 / 1e6;
        assert!(bytes < 16.0, "{bytes} bytes a key");
    }

    #[test]
    fn a_batch_that_repeats_itself_is_new_once() {
        let mut seen = Seen::default();
        assert_eq!(seen.add(&[digest(1), digest(1), digest(2)]), [true, false, true]);
    }

    #[test]
    fn keys_that_an_attacker_chose_cost_time_but_no_wrong_answer() {
        // All in one leaf, all of one order: only the middle differs.
        let mut seen = Seen::default();
        let keys: Vec<Digest> = (0..2_000u32)
            .map(|number| {
                let mut key = [7; 16];
                key[5..9].copy_from_slice(&number.to_le_bytes());
                key
            })
            .collect();
        assert!(seen.add(&keys).iter().all(|new| *new));
        assert!(keys.iter().all(|key| seen.contains(key)));
    }

    proptest! {
        #[test]
        fn it_is_a_set(steps in proptest::collection::vec((0u8..3, 0u64..600), 0..3000)) {
            let (mut seen, mut model) = (Seen::default(), HashSet::new());
            for (step, number) in steps {
                let key = digest(number);
                match step {
                    0 => prop_assert_eq!(seen.insert(&key), model.insert(number)),
                    1 => prop_assert_eq!(seen.delete(&key), model.remove(&number)),
                    _ => prop_assert_eq!(seen.contains(&key), model.contains(&number)),
                }
                prop_assert_eq!(seen.len(), model.len());
            }
        }
    }
}
