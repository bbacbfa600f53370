//! A bucket: one kibibyte of keys, without what the bucket's place implies.
//!
//! The first two cache lines hold a byte of each key, so that nearly always they alone say that a key is
//! not here. Keys stand in the order in which they came.
//!
//! Of a key in a leaf at depth `d`, the first `d` bytes are implied by the way to the leaf. Of byte `d` the lower
//! `bits` bits are stored, packed; byte `d + 1` is the tag, which a search looks for, byte `d + 2` with the tag chooses
//! the bucket; what follows is the body.

/// Bytes of a bucket: 70 to 80 keys. Larger ones fill more evenly, smaller ones let a leaf grow in finer steps.
pub(super) const BUCKET_BYTES: usize = 1024;

/// Where tags begin: after the count and the mark of an overflow.
const TAGS: usize = 2;

/// Bodies are read and written sixteen bytes at a time.
const WORD: usize = 16;

/// How the keys of a leaf are laid out in its buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Bytes that the way to the leaf implies.
    pub(super) depth: usize,
    /// Bits that are stored of the byte after them; the way implies the others.
    pub(super) bits: u32,
    /// Bytes of a key's body.
    body: usize,
    /// Keys that fit.
    pub(super) capacity: usize,
    /// Where bodies begin.
    bodies: usize,
}

impl Shape {
    /// The layout for keys of `width` bytes at a depth of at most `width - 2`.
    pub(super) const fn new(width: usize, depth: usize, bits: u32) -> Self {
        let body = (width - depth - 2).saturating_sub(1);
        let mut capacity = 255;
        loop {
            let bodies = TAGS + 2 * capacity + (capacity * bits as usize).div_ceil(8);
            // Bits are read two bytes at a time; what follows them is left as it is.
            if bodies + capacity * body < BUCKET_BYTES || body > 0 && bodies + capacity * body == BUCKET_BYTES
            {
                return Shape { depth, bits, body, capacity, bodies };
            }
            capacity -= 1;
        }
    }
}

/// What is stored of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Byte `depth` of the key; only its lower `bits` bits are stored.
    pub(super) first: u8,
    /// Byte `depth + 1`.
    pub(super) tag: u8,
    /// Byte `depth + 2`; zero where keys end before it.
    pub(super) spread: u8,
    /// The bytes after it, the first one lowest.
    pub(super) body: u128,
}

impl Entry {
    /// What a leaf at `depth` keeps of a key.
    pub(super) fn of(key: &[u8; 16], depth: u8) -> Self {
        let rest = u128::from_le_bytes(*key) >> (8 * depth);
        Entry { first: rest as u8, tag: (rest >> 8) as u8, spread: (rest >> 16) as u8, body: rest >> 24 }
    }
}

impl Entry {
    /// What a leaf one byte deeper keeps of the key.
    pub(super) fn deeper(&self) -> Self {
        Entry { first: self.tag, tag: self.spread, spread: self.body as u8, body: self.body >> 8 }
    }

    /// What chooses the bucket: where keys end with the tag it alone, so that keys of the deepest leaves are told apart.
    pub(super) fn choice(&self) -> u8 {
        self.tag ^ self.spread
    }
}

/// A fixed block of keys. All-zero is the empty one.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Bucket(pub(super) [u8; BUCKET_BYTES]);

impl Bucket {
    /// The empty bucket.
    pub(super) const EMPTY: Bucket = Bucket([0; BUCKET_BYTES]);

    /// Becomes as if new.
    pub(super) fn clear(&mut self) {
        self.0[..TAGS].fill(0);
    }

    /// How many keys are here.
    pub(super) fn count(&self) -> usize {
        usize::from(self.0[0])
    }

    /// Whether a key that belongs here may stand in the next bucket.
    pub(super) fn has_overflown(&self) -> bool {
        self.0[1] != 0
    }

    /// Notes that a key which belongs here stands in the next bucket.
    pub(super) fn overflow(&mut self) {
        self.0[1] = 1;
    }

    /// Takes that note back.
    pub(super) fn no_overflow(&mut self) {
        self.0[1] = 0;
    }

    /// Whether what it says of itself can be.
    pub(super) fn is_sound(&self, shape: &Shape) -> bool {
        self.count() <= shape.capacity
    }

    /// Where a key stands.
    pub(super) fn find(&self, shape: &Shape, entry: &Entry) -> Option<usize> {
        let first = entry.first & mask(shape.bits) as u8;
        self.candidates(shape, entry)
            .find(|&slot| self.body(shape, slot) == entry.body && self.first(shape, slot) == first)
    }

    /// Slots of keys whose first two contiguous bytes are those of a key: its own, and one in a thousand others.
    fn candidates(&self, shape: &Shape, entry: &Entry) -> impl Iterator<Item = usize> {
        let spread = entry.spread;
        memchr::memchr_iter(entry.tag, self.tags()).filter(move |&slot| self.spread(shape, slot) == spread)
    }

    /// Adds a key behind the others; there must be room.
    pub(super) fn push(&mut self, shape: &Shape, entry: &Entry) {
        let slot = self.count();
        self.0[0] += 1;
        self.0[TAGS + slot] = entry.tag;
        self.0[TAGS + shape.capacity + slot] = entry.spread;
        self.set_first(shape, slot, entry.first);
        self.set_body(shape, slot, entry.body);
    }

    /// The tags of its keys.
    fn tags(&self) -> &[u8] {
        self.0.get(TAGS..TAGS + self.count()).unwrap_or_default()
    }

    /// What stands in a slot.
    pub(super) fn get(&self, shape: &Shape, slot: usize) -> Entry {
        Entry {
            first: self.first(shape, slot),
            tag: self.0[TAGS + slot],
            spread: self.spread(shape, slot),
            body: self.body(shape, slot),
        }
    }

    /// Removes the key of a slot; the last one takes its place.
    pub(super) fn remove(&mut self, shape: &Shape, slot: usize) {
        let last = self.count() - 1;
        self.0[TAGS + slot] = self.0[TAGS + last];
        self.0[TAGS + shape.capacity + slot] = self.spread(shape, last);
        self.set_first(shape, slot, self.first(shape, last));
        let from = shape.bodies + last * shape.body;
        let at = shape.bodies + slot * shape.body;
        self.0.copy_within(from..from + shape.body, at);
        self.0[0] -= 1;
    }

    /// Loads what a search looks at first: three cache lines.
    pub(super) fn touch_tags(&self) -> u8 {
        self.0[0] | self.0[64] | self.0[128]
    }

    /// Loads the body that a search will find or write.
    pub(super) fn touch_body(&self, shape: &Shape, entry: &Entry) -> u8 {
        self.touch_slot(shape, self.candidates(shape, entry).next().unwrap_or(self.count()))
    }

    /// Loads the body in a slot.
    pub(super) fn touch_slot(&self, shape: &Shape, slot: usize) -> u8 {
        self.0.get(shape.bodies + slot * shape.body).copied().unwrap_or_default()
    }

    /// The stored bits of a key's first byte.
    fn first(&self, shape: &Shape, slot: usize) -> u8 {
        let (at, shift) = shape.bit(slot);
        (u16::from_le_bytes([self.0[at], self.0[at + 1]]) >> shift & mask(shape.bits)) as u8
    }

    /// Stores the lower bits of a key's first byte.
    fn set_first(&mut self, shape: &Shape, slot: usize, first: u8) {
        let (at, shift) = shape.bit(slot);
        let others = u16::from_le_bytes([self.0[at], self.0[at + 1]]) & !(mask(shape.bits) << shift);
        let both = others | (u16::from(first) & mask(shape.bits)) << shift;
        self.0[at..at + 2].copy_from_slice(&both.to_le_bytes());
    }

    /// What chooses the bucket of each key.
    pub(super) fn choices(&self, shape: &Shape) -> impl DoubleEndedIterator<Item = u8> + ExactSizeIterator {
        let spreads = &self.0[TAGS + shape.capacity..][..self.count()];
        self.tags().iter().zip(spreads).map(|(tag, spread)| tag ^ spread)
    }

    /// A key's byte after the tag.
    fn spread(&self, shape: &Shape, slot: usize) -> u8 {
        self.0[TAGS + shape.capacity + slot]
    }

    /// A key's body.
    fn body(&self, shape: &Shape, slot: usize) -> u128 {
        let (at, shift) = shape.word(slot);
        (self.word(at) >> shift) & ((1 << (8 * shape.body)) - 1)
    }

    /// Stores the body of the last key: what stood behind it is lost.
    fn set_body(&mut self, shape: &Shape, slot: usize, body: u128) {
        let (at, shift) = shape.word(slot);
        let word = if shift == 0 { body } else { self.word(at) & ((1 << shift) - 1) | body << shift };
        self.0[at..at + WORD].copy_from_slice(&word.to_le_bytes());
    }

    /// Sixteen bytes.
    fn word(&self, at: usize) -> u128 {
        let mut word = [0; WORD];
        word.copy_from_slice(&self.0[at..at + WORD]);
        u128::from_le_bytes(word)
    }
}

impl Shape {
    /// The word in which a body stands and by how many bits it is shifted there: words do not reach beyond the bucket.
    fn word(&self, slot: usize) -> (usize, usize) {
        let at = self.bodies + slot * self.body;
        let word = at.min(BUCKET_BYTES - WORD);
        (word, 8 * (at - word))
    }

    /// The byte and the bit in it where a key's first byte is stored.
    fn bit(&self, slot: usize) -> (usize, usize) {
        let bit = slot * self.bits as usize;
        (TAGS + 2 * self.capacity + bit / 8, bit % 8)
    }
}

/// The lower bits of a byte.
fn mask(bits: u32) -> u16 {
    (1 << bits) - 1
}
