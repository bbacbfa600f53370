//! The MD5 dedup tree in memory. A leaf is chosen by the first bits of a key, as many as the number of keys asks for.
//!
//! The published tree is one of digits; here its leaves are reached in one step. They split one at a time, in turn
//! (linear hashing, Litwin, VLDB 1980), so that no call pays for all. Keys of a leaf are in order, so that a
//! split is a cut.

use hashbrown::HashSet;

use super::arena::Arena;
use super::leaf::{Full, Leaf, Rest};

/// A key: a digest of a URL. Where keys are shorter than sixteen bytes, the rest is zero.
pub(super) type Key = [u8; 16];

/// Keys whose memory is loaded at once before the first of them is looked for: the loads overlap.
pub(super) const AHEAD: usize = 32;

/// Keys of a leaf, on average, at which the next leaf splits: more save memory, fewer save moving.
const LEAF_KEYS: u64 = 96;

/// Bits that choose a leaf, at most: more than enough for memory, and few enough for the shortest keys.
pub(super) const MAX_LEVEL: u32 = 30;

/// A set of keys.
#[derive(Debug)]
pub(super) struct Tree {
    /// Bytes of a key that are not always zero.
    width: usize,
    /// A leaf's number is the first `level` bits of its keys, the first one lowest; for leaves before `split`, and those
    /// from 2^`level` on that were split off them, one bit more.
    pub(super) level: u32,
    pub(super) split: usize,
    pub(super) leaves: Vec<Leaf>,
    pub(super) arena: Arena,
    /// Keys whose leaf is full: none, unless keys were chosen to collide.
    pub(super) overflow: HashSet<Key>,
    pub(super) len: u64,
}

impl Tree {
    /// The empty set of keys of `width` bytes.
    pub(super) fn new(width: usize) -> Self {
        Tree {
            width,
            level: 0,
            split: 0,
            leaves: vec![Leaf::default()],
            arena: Arena::default(),
            overflow: HashSet::new(),
            len: 0,
        }
    }

    /// Loads what searches for at most [`AHEAD`] keys will look at: each step for all, so that the waits overlap.
    pub(super) fn touch(&self, group: &[Key]) -> u8 {
        let mut leaves = [(Leaf::default(), 0); AHEAD];
        for (leaf, key) in leaves.iter_mut().zip(group) {
            let (number, bits) = self.locate(key);
            *leaf = (self.leaves[number], bits);
        }
        let touch =
            |((leaf, bits), key): (&(Leaf, u32), &Key)| leaf.touch(rest(key, *bits, self.width), &self.arena);
        leaves.iter().zip(group).map(touch).fold(0, |all, load| all | load)
    }

    /// Adds a key; tells whether it was new.
    pub(super) fn insert(&mut self, key: &Key) -> bool {
        let is_new = self.put(key);
        if is_new {
            self.len += 1;
            if self.wants_split() {
                self.split_next();
            }
        }
        is_new
    }

    /// Whether a key is here.
    pub(super) fn contains(&self, key: &Key) -> bool {
        let (number, bits) = self.locate(key);
        let leaf = &self.leaves[number];
        leaf.find(rest(key, bits, self.width), &self.arena).is_ok()
            || leaf.has_overflown && self.overflow.contains(key)
    }

    /// Removes a key; tells whether it was here.
    pub(super) fn delete(&mut self, key: &Key) -> bool {
        let (number, bits) = self.locate(key);
        let stride = self.stride(bits);
        let leaf = &mut self.leaves[number];
        let deleted = match leaf.find(rest(key, bits, self.width), &self.arena) {
            Ok(index) => {
                leaf.remove(index, stride, &mut self.arena);
                true
            }
            Err(_) => leaf.has_overflown && self.overflow.remove(key),
        };
        self.len -= u64::from(deleted);
        deleted
    }

    /// Bytes of memory of its leaves.
    pub(super) fn used_memory(&self) -> usize {
        self.arena.used_memory() + self.memory_of_leaves()
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.arena.memory() + self.memory_of_leaves()
    }

    /// Bytes of memory that tell where leaves are, and of keys outside them.
    fn memory_of_leaves(&self) -> usize {
        self.leaves.capacity() * size_of::<Leaf>() + super::disk::set_memory(&self.overflow)
    }

    /// Calls `each` with the keys of one leaf after the other, sorted; keys of a leaf are smaller than those of the
    /// next.
    pub(super) fn walk<E>(&self, mut each: impl FnMut(&[Key]) -> Result<(), E>) -> Result<(), E> {
        let mut sorted = Vec::new();
        for prefix in 0..1_u64 << self.level {
            let number = reverse(prefix, self.level);
            if number < self.split {
                self.collect(number, prefix << 1, self.level + 1, &mut sorted);
                each(&sorted)?;
                self.collect(number | 1 << self.level, prefix << 1 | 1, self.level + 1, &mut sorted);
            } else {
                self.collect(number, prefix, self.level, &mut sorted);
            }
            each(&sorted)?;
        }
        Ok(())
    }

    /// The keys of a leaf, sorted; they begin with these bits.
    fn collect(&self, number: usize, prefix: u64, bits: u32, sorted: &mut Vec<Key>) {
        let (leaf, implied) = (&self.leaves[number], self.width - self.stride(bits));
        let mut key = (u128::from(prefix) << 1 << (127 - bits)).to_be_bytes();
        sorted.clear();
        for rest in leaf.keys(self.stride(bits), &self.arena).chunks_exact(self.stride(bits)) {
            key[implied..self.width].copy_from_slice(rest);
            sorted.push(key);
        }
        if leaf.has_overflown {
            sorted.extend(self.overflow.iter().filter(|key| self.locate(key).0 == number));
            sorted.sort_unstable();
        }
    }

    /// The number of the leaf where a key is, if it is, and how many bits of the key choose it.
    fn locate(&self, key: &Key) -> (usize, u32) {
        let [a, b, c, d, ..] = *key;
        let bits = u32::from_be_bytes([a, b, c, d]).reverse_bits() as usize;
        let number = bits & ((1 << self.level) - 1);
        if number < self.split {
            (bits & ((2 << self.level) - 1), self.level + 1)
        } else {
            (number, self.level)
        }
    }

    /// Bytes that are stored of a key in a leaf that so many bits choose.
    pub(super) fn stride(&self, bits: u32) -> usize {
        self.width - bits as usize / 8
    }

    /// Whether the next leaf is to be split; never between two calls.
    pub(super) fn wants_split(&self) -> bool {
        self.len > self.leaves.len() as u64 * LEAF_KEYS && self.level < MAX_LEVEL
    }

    /// Whether keys, as they are stored, can be those of the leaf of this number: each greater than the one before, with the bits that
    /// the leaf implies. Searching and splitting rely on it.
    pub(super) fn belong(&self, number: usize, keys: &[u8]) -> bool {
        let bits = self.bits(number);
        let (stride, mask) = (self.stride(bits), !(u8::MAX >> (bits % 8)));
        let implied = ((number >> (bits / 8 * 8)) as u8).reverse_bits();
        let keys = keys.chunks_exact(stride);
        keys.clone().is_sorted_by(|one, next| one < next)
            && keys.into_iter().all(|key| key[0] & mask == implied)
    }

    /// Whether a key may stand outside its leaf: the leaf says that some do, and does not hold this one.
    pub(super) fn is_overflow(&self, key: &Key) -> bool {
        let (number, bits) = self.locate(key);
        let leaf = &self.leaves[number];
        let is_short = key[self.width..].iter().all(|byte| *byte == 0);
        is_short && leaf.has_overflown && leaf.find(rest(key, bits, self.width), &self.arena).is_err()
    }

    /// How many bits choose a leaf.
    pub(super) fn bits(&self, number: usize) -> u32 {
        self.level + u32::from(number < self.split || number >= 1 << self.level)
    }

    /// Adds a key without counting it; tells whether it was new.
    fn put(&mut self, key: &Key) -> bool {
        let (number, bits) = self.locate(key);
        let leaf = &mut self.leaves[number];
        let rest = rest(key, bits, self.width);
        let Err(index) = leaf.find(rest, &self.arena) else { return false };
        if leaf.has_overflown && self.overflow.contains(key) {
            return false;
        }
        let lines = leaf.lines;
        if let Err(Full) = leaf.insert(number, index, rest, &mut self.arena) {
            leaf.has_overflown = true;
            self.overflow.insert(*key);
        } else if leaf.lines != lines {
            self.move_some(lines);
        }
        true
    }

    /// Moves leaves where too many blocks of so many lines are free.
    fn move_some(&mut self, lines: u8) {
        for number in self.arena.choose_to_move(lines) {
            let number = number as usize;
            self.leaves[number].relocate(number, &mut self.arena);
        }
    }

    /// Makes two leaves of the one whose turn it is, by one bit more.
    fn split_next(&mut self) {
        let old = self.leaves[self.split];
        let (stride, less) = (self.stride(self.level), self.stride(self.level + 1));
        let keys = old.keys(stride, &self.arena);
        let (byte, bit) = (self.level as usize / 8 - (self.width - stride), 0x80 >> (self.level % 8));
        let has_bit = |key: &[u8]| key[byte] & bit != 0;
        let low = keys.chunks_exact(stride).take_while(|key| !has_bit(key)).count() * stride;
        let shorten = |keys: &[u8]| -> Vec<u8> {
            if stride == less {
                return keys.to_vec();
            }
            keys.chunks_exact(stride).flat_map(|key| &key[stride - less..]).copied().collect()
        };
        let (low, high) = (shorten(&keys[..low]), shorten(&keys[low..]));
        old.free(&mut self.arena);
        let low = Leaf::of(self.split, &low, less, &mut self.arena);
        let high = Leaf::of(self.leaves.len(), &high, less, &mut self.arena);
        if self.leaves.len() == self.leaves.capacity() {
            self.leaves.reserve_exact(self.leaves.len() / 8 + 1);
        }
        self.leaves[self.split] = low;
        self.leaves.push(high);
        self.split += 1;
        if self.split == 1 << self.level {
            (self.level, self.split) = (self.level + 1, 0);
        }
        self.move_some(old.lines);
        if old.has_overflown {
            // Most of those that belong elsewhere do not fit again: there are few, and this happens seldom.
            let keys: Vec<Key> = self.overflow.drain().collect();
            for key in keys {
                self.put(&key);
            }
        }
    }
}

/// What is stored of a key where so many bits are implied.
fn rest(key: &Key, bits: u32, width: usize) -> Rest<'_> {
    Rest { bytes: &key[bits as usize / 8..width], implied: bits % 8 }
}

/// The lowest `bits` bits, the other way round.
fn reverse(number: u64, bits: u32) -> usize {
    (number << 1 << (63 - bits)).reverse_bits() as usize
}
