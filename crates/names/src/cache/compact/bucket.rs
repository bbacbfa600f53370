//! A bucket: six slots under one control word, a sequence lock with one owner.
//!
//! Guarantees:
//! - A reader takes no lock, writes nothing and never waits: it gets a consistent snapshot, or `None`.
//! - At most one writer owns a bucket. A writer that finds it locked by a live owner gives up after a bounded time.
//! - A writer that dies while it owns a bucket neither blocks it nor leaves torn slots: the next writer takes it over, empty.
//!
//! Control word: 12 bits of slot kinds, 20 bits of owner (0: unlocked), 32 bits of sequence number. Memory orders as in Boehm, "Can
//! seqlocks get along with programming language memory models?" (MSPC 2012): words are atomic, a writer stores after a
//! release fence, a reader validates the control word after an acquire fence.
//!
//! 128 bytes: control word, six `verify` words of 64 bits, then six metas, six values and six labels of 32 bits. The first
//! cache line thus decides whether a name is present.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::memory::{Memory, Word};
use super::record::{MAX_WEIGHT, Slot, SlotKind, SlotMeta};

/// Slots of a bucket.
pub(super) const SLOTS: usize = 6;
/// Words of 64 bits of a bucket.
pub(super) const WORDS: usize = 16;

/// Identifies a writer: its ID (10 bits, from 1) and a generation of that ID (10 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WriterId(pub(super) u32);

impl WriterId {
    /// Packs ID and generation.
    pub(super) fn new(id: u32, generation: u32) -> Self {
        WriterId(id & 0x3ff | (generation & 0x3ff) << 10)
    }

    /// The ID.
    pub(super) fn id(self) -> u32 {
        self.0 & 0x3ff
    }

    /// The generation.
    pub(super) fn generation(self) -> u32 {
        self.0 >> 10
    }
}

/// The writers of a table as one of them sees them.
pub(super) trait Writers {
    /// This writer.
    fn me(&self) -> WriterId;
    /// Whether another writer has died; false when in doubt.
    fn is_dead(&self, writer: WriterId) -> bool;
}

/// The owner in a control word; 0: unlocked.
#[inline]
pub(super) fn owner(control: u64) -> u32 {
    (control >> 12 & 0xf_ffff) as u32
}

/// The number of occupied slots by a control word.
pub(super) fn occupied(control: u64) -> u32 {
    ((control | control >> 1) & 0x555).count_ones()
}

/// The kind of a slot by a control word.
#[inline]
fn kind(control: u64, index: usize) -> SlotKind {
    SlotKind::from_bits(control >> (2 * index))
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

    /// Runs `look` on a snapshot until it is validated; `None` if writers kept the bucket locked. What `look` sees may be
    /// torn: only the returned value is consistent.
    #[inline]
    pub(super) fn read<R>(&self, mut look: impl FnMut(Snapshot<'_, 'm, M>) -> R) -> Option<R> {
        for _ in 0..M::READS {
            let control = self.control.load(Acquire);
            if owner(control) == 0 {
                let seen = look(Snapshot { bucket: self, control });
                M::fence(Acquire);
                if self.control.load(Relaxed) == control {
                    return Some(seen);
                }
            }
            M::pause();
        }
        None
    }

    /// The control word, without validation.
    #[inline]
    pub(super) fn control(&self) -> u64 {
        self.control.load(Relaxed)
    }

    /// A slot without validation, possibly torn: for counts.
    #[inline]
    pub(super) fn peek(&self, index: usize) -> Slot {
        self.slot(index, self.control())
    }

    /// Locks the bucket for writing; `None` if a live owner kept it all the time.
    pub(super) fn take(&self, writers: &impl Writers) -> Option<WriteGuard<'_, 'm, M>> {
        for turn in 1..=M::SPINS {
            let check = turn % M::CHECK_EVERY == 0;
            if let Some(guard) = self.try_take(writers, check) {
                return Some(guard);
            }
            if check {
                M::back_off(turn / M::CHECK_EVERY);
            }
            M::pause();
        }
        None
    }

    /// Locks the bucket if it is unlocked or, with `check`, if its owner has died. A caller that owns another bucket out of
    /// order must use `try_take`; blocking could deadlock.
    pub(super) fn try_take(&self, writers: &impl Writers, check: bool) -> Option<WriteGuard<'_, 'm, M>> {
        let control = self.control.load(Relaxed);
        let is_free = owner(control) == 0;
        if !(is_free || check && writers.is_dead(WriterId(owner(control)))) {
            return None;
        }
        let taken = control & !(0xf_ffff << 12) | u64::from(writers.me().0) << 12;
        if !self.control.replace(control, taken, Acquire) {
            return None;
        }
        M::fence(Release);
        // Slots of a dead owner may be torn: they are dropped, and their references to address sets leak until the next recount.
        let kinds = if is_free { control & 0xfff } else { 0 };
        Some(WriteGuard { bucket: self, kinds, sequence: control >> 32, inherited: !is_free })
    }

    /// Increments the weight of a slot by compare-and-swap, unless its meta has changed. Lock-free: a slot written meanwhile
    /// with the same meta may get the weight.
    #[inline]
    pub(super) fn raise(&self, index: usize, meta: SlotMeta) {
        if meta.weight() < MAX_WEIGHT {
            self.rest[index].replace(meta.0, meta.with_weight(meta.weight() + 1).0, Relaxed);
        }
    }

    /// Loads a slot whose kind is in a control word.
    #[inline]
    fn slot(&self, index: usize, control: u64) -> Slot {
        Slot {
            kind: kind(control, index),
            verify: self.verify[index].load(Relaxed),
            meta: SlotMeta(self.rest[index].load(Relaxed)),
            value: self.rest[SLOTS + index].load(Relaxed),
            label: self.rest[2 * SLOTS + index].load(Relaxed),
        }
    }
}

/// A reader's view of a bucket before validation.
pub(super) struct Snapshot<'b, 'm, M: Memory> {
    bucket: &'b Bucket<'m, M>,
    control: u64,
}

impl<M: Memory> Snapshot<'_, '_, M> {
    /// The first occupied slot with this `verify` word that matches.
    #[inline]
    pub(super) fn find(&self, verify: u64, matches: impl Fn(&Slot) -> bool) -> Option<(usize, Slot)> {
        let has_word = |&index: &usize| self.bucket.verify[index].load(Relaxed) == verify;
        (0..SLOTS).filter(has_word).find_map(|index| {
            let slot = self.slot(index);
            (slot.kind != SlotKind::Empty && matches(&slot)).then_some((index, slot))
        })
    }

    /// A slot.
    #[inline]
    pub(super) fn slot(&self, index: usize) -> Slot {
        self.bucket.slot(index, self.control)
    }

    /// All slots.
    #[inline]
    pub(super) fn slots(&self) -> [Slot; SLOTS] {
        std::array::from_fn(|index| self.slot(index))
    }
}

/// Exclusive write access to a bucket; dropping it publishes the changes.
pub(super) struct WriteGuard<'b, 'm, M: Memory> {
    bucket: &'b Bucket<'m, M>,
    kinds: u64,
    /// Sequence number: writes to the bucket, modulo 2^32.
    pub(super) sequence: u64,
    /// Whether the previous owner died in it, so that it was emptied.
    pub(super) inherited: bool,
}

impl<M: Memory> WriteGuard<'_, '_, M> {
    /// A slot.
    pub(super) fn slot(&self, index: usize) -> Slot {
        self.bucket.slot(index, self.kinds)
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
        let meta = SlotMeta(self.bucket.rest[index].load(Relaxed));
        let lower = meta.with_weight(meta.weight().saturating_sub(by));
        self.bucket.rest[index].replace(meta.0, lower.0, Relaxed);
    }
}

impl<M: Memory> Drop for WriteGuard<'_, '_, M> {
    fn drop(&mut self) {
        let sequence = (self.sequence + 1) & 0xffff_ffff;
        self.bucket.control.store(sequence << 32 | self.kinds, Release);
    }
}
