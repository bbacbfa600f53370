//! Names that do not resolve: a Bloom filter, or several of different age.
//!
//! Guarantees:
//! - A name that was put in is found for at least (n − 1)/n of its time (n generations), all of it or none of it where all is
//!   cleared at once; after its time it is not found again, but for false positives.
//! - False positives of a full filter stay below the rate it was made for, all generations together. Where more names come
//!   than it was made for, the oldest are forgotten before their time: a name asked for again costs a question, a false
//!   positive a site.
//! - Bits are only ever set or, a whole generation at a time, cleared: writers cannot disturb each other, and one that
//!   dies leaves nothing worse than a name that is asked for again.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::super::Seconds;
use super::key::Key;
use super::slot::families_bits;
use crate::settings::Families;

/// The filter in the mapped memory.
#[derive(Clone, Copy)]
pub(super) struct Filter<'m> {
    /// All generations.
    pub(super) words: &'m [AtomicU64],
    /// How many.
    pub(super) generations: u64,
    /// Bits of a name.
    pub(super) hashes: u64,
    /// How long a name is kept.
    pub(super) ttl: u64,
    /// The newest generation (8 bits) and when it began (56 bits).
    pub(super) state: &'m AtomicU64,
    /// Names in the newest generation, about.
    pub(super) filled: &'m AtomicU64,
}

/// The bits of a name: each from 128 bits of hash. Double hashing, which picks first place and step only, gives two names all
/// bits in common once in the square of the places: in a filter for a few thousand names more often than its rate allows
/// (Dillinger and Manolios 2004, section 4).
#[derive(Clone, Copy)]
pub(super) struct Bits {
    first: u64,
    step: u64,
}

impl Bits {
    /// Of the keyed hash of a whole name and the families that were asked for.
    pub(super) fn of(hash: &Key, families: Families) -> Self {
        let salt = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(u64::from(families_bits(families)) + 1);
        // Buckets are picked by the same hash; multiplied, what they tell of a name says nothing about its bits.
        let mix = |word: u64| {
            let word = (word ^ word >> 32 ^ salt).wrapping_mul(0xd6e8_feb8_6659_fd93);
            word ^ word >> 32
        };
        Bits {
            first: mix(hash.pick).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            step: mix(hash.verify).wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1,
        }
    }

    /// Places below `bound`.
    fn places(self, count: u64, bound: u64) -> impl Iterator<Item = (usize, u64)> {
        let mut state = self.first;
        (0..count).map(move |_| {
            state = state.wrapping_add(self.step);
            let hash = (state ^ state >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
            let place = ((u128::from(hash) * u128::from(bound)) >> 64) as u64;
            ((place / 64) as usize, 1 << (place % 64))
        })
    }
}

impl Filter<'_> {
    /// Whether there is one at all.
    pub(super) fn exists(&self) -> bool {
        self.generations > 0 && !self.words.is_empty()
    }

    /// Whether a name is in it, or seems to be.
    pub(super) fn contains(&self, bits: Bits) -> bool {
        let size = self.size();
        size > 0
            && self.words.chunks_exact(size).any(|generation| {
                bits.places(self.hashes, size as u64 * 64)
                    .all(|(word, bit)| generation[word].load(Relaxed) & bit != 0)
            })
    }

    /// Puts a name into the newest generation.
    pub(super) fn insert(&self, bits: Bits) {
        let Some(generation) = self.generation(self.state.load(Acquire) >> 56) else { return };
        let mut is_new = false;
        for (word, bit) in bits.places(self.hashes, generation.len() as u64 * 64) {
            is_new |= generation[word].fetch_or(bit, Relaxed) & bit == 0;
        }
        self.filled.fetch_add(is_new.into(), Relaxed);
    }

    /// Whether a generation has to be cleared, or the time at which the newest began to be put right.
    #[inline]
    pub(super) fn is_due(&self, now: Seconds) -> bool {
        let began = self.state.load(Relaxed) << 8 >> 8;
        self.steps(began, now) > 0 || is_absurd(began, now)
    }

    /// Whether the newest generation has as many names as it was made for: half of its bits are set.
    pub(super) fn is_full(&self) -> bool {
        let bits = self.size() as f64 * 64.0;
        self.filled.load(Relaxed) as f64 * self.hashes as f64 >= bits * std::f64::consts::LN_2
    }

    /// Clears what has had its time: for one at a time. Who dies in it is followed by another who does it again.
    pub(super) fn advance(&self, now: Seconds) {
        let state = self.state.load(Acquire);
        let (mut newest, mut began) = (state >> 56, state << 8 >> 8);
        if is_absurd(began, now) {
            began = now;
            self.state.store(newest << 56 | began & (u64::MAX >> 8), Release);
        }
        let by_time = self.steps(began, now);
        let steps = by_time.max(self.is_full().into());
        if steps == 0 || self.generations == 0 {
            return;
        }
        for _ in 0..steps.min(self.generations) {
            newest = (newest + 1) % self.generations;
            self.generation(newest).unwrap_or(&[]).iter().for_each(|word| word.store(0, Relaxed));
        }
        self.filled.store(0, Relaxed);
        began = if by_time > 0 && steps < self.generations {
            began + steps * self.slice()
        } else {
            began.max(now)
        };
        self.state.store(newest << 56 | began & (u64::MAX >> 8), Release);
    }

    /// Forgets all names: for one who is alone with the file.
    pub(super) fn clear(&self) {
        self.words.iter().for_each(|word| word.store(0, Relaxed));
        self.filled.store(0, Relaxed);
    }

    /// The share of bits that are set.
    pub(super) fn fill(&self) -> f64 {
        let set: u64 = self.words.iter().map(|word| u64::from(word.load(Relaxed).count_ones())).sum();
        set as f64 / (self.words.len().max(1) * 64) as f64
    }

    /// How many generations have to begin. None while the newest one began in the future: a clock was set back, or another
    /// process has one that is ahead. If that cleared anything, two such processes would clear for each other for ever.
    fn steps(&self, began: Seconds, now: Seconds) -> u64 {
        now.saturating_sub(began) / self.slice()
    }

    /// Seconds after which the next generation begins.
    fn slice(&self) -> u64 {
        (self.ttl / self.generations.max(1)).max(1)
    }

    /// Words of a generation.
    fn size(&self) -> usize {
        self.words.len() / self.generations.max(1) as usize
    }

    /// The words of a generation.
    fn generation(&self, number: u64) -> Option<&[AtomicU64]> {
        let size = self.size();
        self.words.get(number as usize * size..(number as usize + 1) * size).filter(|words| !words.is_empty())
    }
}

/// By how much clocks may differ, in seconds; names stay in the filter for longer by this at most.
const MOST_AHEAD: Seconds = 86_400;

/// Whether a generation began so far in the future that the clock was wrong then: it begins now.
fn is_absurd(began: Seconds, now: Seconds) -> bool {
    began.saturating_sub(now) > MOST_AHEAD
}
