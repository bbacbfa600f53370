//! Buckets and address sets, model-checked by loom: all interleavings, and all values that a weak memory model allows a load to
//! return. The code under test is the production code on loom's words.

use std::sync::Arc;

use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use loom::thread::{self, JoinHandle};

use super::bucket::{Bucket, SLOTS, WriterId, Writers};
use super::memory::{Memory, Word, word};
use super::record::{Slot, SlotKind, SlotMeta};
use super::sets::{AddressSet, SetArea};

/// Loom's memory.
struct LoomMemory;

impl Memory for LoomMemory {
    type W64 = AtomicU64;
    type W32 = AtomicU32;

    fn fence(order: Ordering) {
        loom::sync::atomic::fence(order);
    }

    fn pause() {
        thread::yield_now();
    }

    fn back_off(_: usize) {}

    const READS: usize = 2;
    const SPINS: usize = 2;
    const CHECK_EVERY: usize = 1;
}

word!(AtomicU64, u64);
word!(AtomicU32, u32);

/// A bucket and a cell for an address set.
struct Words {
    control: AtomicU64,
    verify: [AtomicU64; SLOTS],
    rest: [AtomicU32; 3 * SLOTS],
    wide: [AtomicU64; 4],
    narrow: [AtomicU32; 8],
    /// Whether writer 1 has died.
    dead: AtomicBool,
}

impl Words {
    /// All words zero.
    fn new() -> Arc<Self> {
        Arc::new(Words {
            control: AtomicU64::new(0),
            verify: std::array::from_fn(|_| AtomicU64::new(0)),
            rest: std::array::from_fn(|_| AtomicU32::new(0)),
            wide: std::array::from_fn(|_| AtomicU64::new(0)),
            narrow: std::array::from_fn(|_| AtomicU32::new(0)),
            dead: AtomicBool::new(false),
        })
    }

    fn bucket(&self) -> Bucket<'_, LoomMemory> {
        Bucket::new(&self.control, &self.verify, &self.rest)
    }

    fn sets(&self) -> SetArea<'_, LoomMemory> {
        SetArea::new((&self.wide, &self.narrow), 4)
    }

    /// Writes a slot as a writer, if it gets the lock.
    fn put(&self, writer: u32, index: usize, slot: Slot) {
        if let Some(mut guard) = self.bucket().take(&As(writer, self)) {
            assert!(is_whole(&guard.slot(index)));
            guard.put(index, slot);
        }
    }

    /// Reads the first two slots, which must be whole.
    fn read(&self) {
        if let Some(slots) = self.bucket().read(|snapshot| [snapshot.slot(0), snapshot.slot(1)]) {
            assert!(slots.iter().all(is_whole), "{slots:?}");
        }
    }
}

/// A writer by its ID.
struct As<'w>(u32, &'w Words);

impl Writers for As<'_> {
    fn me(&self) -> WriterId {
        WriterId(self.0)
    }

    fn is_dead(&self, writer: WriterId) -> bool {
        writer == WriterId(1) && self.1.dead.load(Ordering::Acquire)
    }
}

/// A slot all of whose words are the same number.
fn slot(number: u32) -> Slot {
    let meta = SlotMeta(number);
    Slot { kind: SlotKind::Address, verify: number.into(), label: number, value: number, meta }
}

/// Whether all words of a slot are of one write.
fn is_whole(slot: &Slot) -> bool {
    slot.kind == SlotKind::Empty
        || (slot.verify == slot.label.into() && slot.label == slot.value && slot.value == slot.meta.0)
}

/// Checks all executions of a scenario with at most two preemptions.
fn check(scenario: impl Fn(&Arc<Words>) + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.max_branches = 20_000;
    model.check(move || scenario(&Words::new()));
}

/// Starts a thread.
fn spawn(words: &Arc<Words>, work: impl FnOnce(&Words) + 'static) -> JoinHandle<()> {
    let words = words.clone();
    thread::spawn(move || work(&words))
}

#[test]
fn a_reader_never_sees_a_torn_slot_of_a_writer() {
    check(|words| {
        let writer = spawn(words, |words| (1..=2).for_each(|number| words.put(1, 0, slot(number))));
        words.read();
        writer.join().unwrap();
    });
}

#[test]
fn a_reader_never_sees_a_torn_slot_of_two_writers() {
    check(|words| {
        let writers = [1, 2].map(|number| spawn(words, move |words| words.put(number, 0, slot(number))));
        words.read();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
}

#[test]
fn a_writer_that_dies_during_a_write_neither_blocks_nor_tears() {
    check(|words| {
        words.put(2, 0, slot(5));
        let dying = spawn(words, |words| {
            let bucket = words.bucket();
            let Some(mut guard) = bucket.take(&As(1, words)) else { return };
            guard.put(0, Slot { value: 8, ..slot(7) }); // a torn slot
            std::mem::forget(guard); // killed: nothing more is written
            words.dead.store(true, Ordering::Release);
        });
        let heir = spawn(words, |words| words.put(2, 1, slot(2)));
        words.read();
        dying.join().unwrap();
        heir.join().unwrap();
        // In any case the next writer gets the lock, and finds no torn slot.
        let bucket = words.bucket();
        let guard = bucket.take(&As(2, words)).unwrap();
        assert!(is_whole(&guard.slot(0)) && is_whole(&guard.slot(1)));
    });
}

/// A set of two addresses, both made of the number.
fn pair(number: u32) -> AddressSet {
    let mut set = AddressSet { v4: 2, ..AddressSet::default() };
    set.words[..2].fill(number);
    set
}

#[test]
fn a_set_is_never_read_as_another_name_s() {
    check(|words| {
        let value = words.sets().acquire(&pair(1), 1).unwrap();
        let published = Slot { kind: SlotKind::Set, value, verify: 1, ..Slot::default() };
        words.bucket().take(&As(1, words)).unwrap().put(0, published);
        // One thread removes the name and releases its set, another stores a set in the cell as soon as it is free.
        let removing = spawn(words, move |words| {
            words.bucket().take(&As(1, words)).unwrap().put(0, Slot::default());
            words.sets().release(value);
        });
        let storing = spawn(words, |words| _ = words.sets().acquire(&pair(2), 2));
        let seen = words.bucket().read(|snapshot| {
            let slot = snapshot.slot(0);
            (slot, slot.cell().and_then(|(_, cell)| words.sets().copy(cell)))
        });
        if let Some((slot, Some(set))) = seen {
            assert_eq!((slot.verify, set.words[0], set.words[1]), (1, 1, 1));
        }
        removing.join().unwrap();
        storing.join().unwrap();
    });
}
