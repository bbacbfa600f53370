//! A bucket: six slots under one control word.
//!
//! Guarantees:
//! - A reader takes no lock, writes nothing to the bucket and never waits: what it sees is what one writer left whole,
//!   or nothing.
//! - At most one writer has a bucket. A writer that finds it taken by one that lives gives up after a bounded time.
//! - A writer that dies in the midst of writing neither blocks the bucket nor leaves anything torn: the next writer
//!   takes the bucket over, empty.
//!
//! The control word: 12 bits kinds of the slots, 20 bits who has it (0: nobody), 32 bits sequence number. Orders of
//! memory as in Boehm, "Can seqlocks get along with programming language memory models?" (MSPC 2012): words are atomic, a
//! writer's words come after a release fence, a reader's second look at the control word comes after an acquire fence.
//!
//! 128 bytes: control word, six verifying words of 64 bits, then 18 words of 32 bits: six metas, six values, six labels.
//! Whether a name is there is thus decided in the first cache line.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::memory::{Memory, Word};
use super::slot::{Kind, MAX_WEIGHT, Meta, Slot};

/// Slots of a bucket.
pub(super) const SLOTS: usize = 6;
/// Words of 64 bits of a bucket.
pub(super) const WORDS: usize = 16;
/// Bytes of a bucket.
pub(super) const BYTES: usize = WORDS * 8;

/// Who writes: the number of a writer (10 bits, from 1) and how many before it had that number (10 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Writer(pub(super) u32);

impl Writer {
    /// The bits of a number and of its turn.
    pub(super) fn new(number: u32, turn: u32) -> Self {
        Writer(number & 0x3ff | (turn & 0x3ff) << 10)
    }

    /// Its number.
    pub(super) fn number(self) -> u32 {
        self.0 & 0x3ff
    }

    /// How many had the number before it.
    pub(super) fn turn(self) -> u32 {
        self.0 >> 10
    }
}

/// All who write, as one of them sees them.
pub(super) trait Writers {
    /// Who it is itself.
    fn me(&self) -> Writer;
    /// Whether another has died; when in doubt, no.
    fn is_dead(&self, writer: Writer) -> bool;
}

/// A bucket.
pub(super) struct Bucket<'m, M: Memory> {
    control: &'m M::W64,
    verify: &'m [M::W64],
    rest: &'m [M::W32],
}

impl<'m, M: Memory> Bucket<'m, M> {
    /// A bucket of its words: the control word, [`SLOTS`] words and three times as many.
    #[inline]
    pub(super) fn new(control: &'m M::W64, verify: &'m [M::W64], rest: &'m [M::W32]) -> Self {
        Bucket { control, verify, rest }
    }

    /// Has a look, several times if need be; `None` when writers kept the bucket busy. What `look` sees may be torn: only
    /// what this returns counts.
    #[inline]
    pub(super) fn read<R>(&self, mut look: impl FnMut(Glance<'_, 'm, M>) -> R) -> Option<R> {
        for _ in 0..M::LOOKS {
            let control = self.control.load(Acquire);
            if control >> 12 & 0xf_ffff == 0 {
                let seen = look(Glance { bucket: self, kinds: control });
                M::fence(Acquire);
                if self.control.load(Relaxed) == control {
                    return Some(seen);
                }
            }
            M::pause();
        }
        None
    }

    /// The control word as it is: kinds of slots for statistics and guesses, and what brings the bucket near.
    #[inline]
    pub(super) fn control(&self) -> u64 {
        self.control.load(Relaxed)
    }

    /// A slot as it stands, which may be torn: for counts.
    #[inline]
    pub(super) fn glimpse(&self, index: usize) -> Slot {
        self.slot(index, Kind::of(self.control() >> (2 * index)))
    }

    /// Takes the bucket for writing; `None` when one who lives kept it all the time.
    pub(super) fn take(&self, writers: &impl Writers) -> Option<Held<'_, 'm, M>> {
        for turn in 1..=M::TURNS {
            let look = turn % M::LOOK_AFTER == 0;
            if let Some(held) = self.try_take(writers, look) {
                return Some(held);
            }
            if look {
                M::rest(turn / M::LOOK_AFTER);
            }
            M::pause();
        }
        None
    }

    /// Takes the bucket if nobody has it, or, where that is to be looked at, one who died. Who has another bucket already
    /// and may meet somebody who has this one takes no other way: they would wait for each other.
    pub(super) fn try_take(&self, writers: &impl Writers, look: bool) -> Option<Held<'_, 'm, M>> {
        let control = self.control.load(Relaxed);
        let owner = Writer((control >> 12 & 0xf_ffff) as u32);
        let free = owner.0 == 0;
        if !(free || look && writers.is_dead(owner)) {
            return None;
        }
        let taken = control & !(0xf_ffff << 12) | u64::from(writers.me().0) << 12;
        if !self.control.replace(control, taken, Acquire) {
            return None;
        }
        M::fence(Release);
        // What a dead writer left may be torn: it goes, and may take references to address sets with it.
        let kinds = if free { control & 0xfff } else { 0 };
        Some(Held { bucket: self, kinds, sequence: control >> 32, inherited: !free })
    }

    /// Raises the weight of a slot whose meta was this, unless something has changed. No lock: whatever stands there
    /// now with the same expiry, domain and flags may have the weight.
    #[inline]
    pub(super) fn raise(&self, slot: usize, meta: Meta) {
        if meta.weight() < MAX_WEIGHT {
            self.rest[slot].replace(meta.0, meta.with_weight(meta.weight() + 1).0, Relaxed);
        }
    }

    /// The slot as it stands.
    #[inline]
    fn slot(&self, index: usize, kind: Kind) -> Slot {
        Slot {
            kind,
            verify: self.verify[index].load(Relaxed),
            meta: Meta(self.rest[index].load(Relaxed)),
            value: self.rest[SLOTS + index].load(Relaxed),
            label: self.rest[2 * SLOTS + index].load(Relaxed),
        }
    }
}

/// What a reader sees; it may be torn.
pub(super) struct Glance<'b, 'm, M: Memory> {
    bucket: &'b Bucket<'m, M>,
    kinds: u64,
}

impl<M: Memory> Glance<'_, '_, M> {
    /// The first slot that is not empty and has this verifying word, if the rest fits too.
    #[inline]
    pub(super) fn find(&self, verify: u64, fits: impl Fn(&Slot) -> bool) -> Option<(usize, Slot)> {
        let here = |&index: &usize| self.bucket.verify[index].load(Relaxed) == verify;
        (0..SLOTS).filter(here).find_map(|index| {
            let slot = self.slot(index);
            (slot.kind != Kind::Empty && fits(&slot)).then_some((index, slot))
        })
    }

    /// A slot.
    #[inline]
    pub(super) fn slot(&self, index: usize) -> Slot {
        self.bucket.slot(index, Kind::of(self.kinds >> (2 * index)))
    }
}

/// A bucket that a writer has; dropping it makes what was written public.
pub(super) struct Held<'b, 'm, M: Memory> {
    bucket: &'b Bucket<'m, M>,
    kinds: u64,
    /// How often the bucket was written to, modulo 2^32.
    pub(super) sequence: u64,
    /// Whether its last writer died in it, so that it was emptied.
    pub(super) inherited: bool,
}

impl<M: Memory> Held<'_, '_, M> {
    /// The kind of a slot.
    pub(super) fn kind(&self, index: usize) -> Kind {
        Kind::of(self.kinds >> (2 * index))
    }

    /// A slot.
    pub(super) fn slot(&self, index: usize) -> Slot {
        self.bucket.slot(index, self.kind(index))
    }

    /// Writes a slot.
    pub(super) fn put(&mut self, index: usize, slot: Slot) {
        self.bucket.verify[index].store(slot.verify, Relaxed);
        self.bucket.rest[index].store(slot.meta.0, Relaxed);
        self.bucket.rest[SLOTS + index].store(slot.value, Relaxed);
        self.bucket.rest[2 * SLOTS + index].store(slot.label, Relaxed);
        self.kinds = self.kinds & !(3 << (2 * index)) | (slot.kind as u64) << (2 * index);
    }

    /// Lowers the weight of a slot.
    pub(super) fn lower(&mut self, index: usize, by: u32) {
        let meta = Meta(self.bucket.rest[index].load(Relaxed));
        let lower = meta.with_weight(meta.weight().saturating_sub(by));
        self.bucket.rest[index].replace(meta.0, lower.0, Relaxed);
    }

    /// The places of slots of which this holds.
    pub(super) fn position(&self, holds: impl Fn(Slot) -> bool) -> Option<usize> {
        (0..SLOTS).find(|&index| holds(self.slot(index)))
    }
}

impl<M: Memory> Drop for Held<'_, '_, M> {
    fn drop(&mut self) {
        let sequence = (self.sequence + 1) & 0xffff_ffff;
        self.bucket.control.store(sequence << 32 | self.kinds, Release);
    }
}

/// How many slots of a control word are not empty.
pub(super) fn used(control: u64) -> u32 {
    ((control | control >> 1) & 0x555).count_ones()
}
