//! The protocol of buckets and address sets, model checked: loom runs every order of steps with every value that a weak
//! memory allows a reader to see. What is checked is the code that runs, on loom's words.

use std::sync::Arc;

use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use loom::thread;

use super::bucket::{Bucket, SLOTS, Writer, Writers};
use super::memory::model::Model;
use super::sets::{Area, MOST, Set};
use super::slot::{Kind, Meta, Slot};

/// A bucket and a cell for an address set.
struct Words {
    control: AtomicU64,
    verify: Vec<AtomicU64>,
    rest: Vec<AtomicU32>,
    wide: Vec<AtomicU64>,
    narrow: Vec<AtomicU32>,
    /// Whether writer 1 has died.
    dead: AtomicBool,
}

impl Words {
    fn new() -> Arc<Self> {
        Arc::new(Words {
            control: AtomicU64::new(0),
            verify: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(),
            rest: (0..3 * SLOTS).map(|_| AtomicU32::new(0)).collect(),
            wide: (0..4).map(|_| AtomicU64::new(0)).collect(),
            narrow: (0..8).map(|_| AtomicU32::new(0)).collect(),
            dead: AtomicBool::new(false),
        })
    }

    fn bucket(&self) -> Bucket<'_, Model> {
        Bucket::new(&self.control, &self.verify, &self.rest)
    }

    fn sets(&self) -> Area<'_, Model> {
        Area::new(&self.wide, &self.narrow, 4)
    }
}

/// One who writes, by its number.
struct As<'w>(u32, &'w Words);

impl Writers for As<'_> {
    fn me(&self) -> Writer {
        Writer(self.0)
    }

    fn is_dead(&self, writer: Writer) -> bool {
        writer == Writer(1) && self.1.dead.load(Ordering::Acquire)
    }
}

/// A slot all of whose words say the same number.
fn slot(number: u32) -> Slot {
    Slot { kind: Kind::Address, verify: number.into(), label: number, value: number, meta: Meta(number) }
}

fn is_whole(slot: &Slot) -> bool {
    slot.kind == Kind::Empty
        || (slot.verify == slot.label.into() && slot.label == slot.value && slot.value == slot.meta.0)
}

fn check(scenario: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.max_branches = 20_000;
    model.check(scenario);
}

#[test]
fn a_reader_never_sees_half_of_what_a_writer_writes() {
    check(|| {
        let words = Words::new();
        let writer = {
            let words = words.clone();
            thread::spawn(move || {
                for number in [1, 2] {
                    if let Some(mut held) = words.bucket().take(&As(1, &words)) {
                        held.put(0, slot(number));
                    }
                }
            })
        };
        if let Some(seen) = words.bucket().read(|glance| glance.slot(0)) {
            assert!(is_whole(&seen), "{seen:?}");
        }
        writer.join().unwrap();
    });
}

#[test]
fn two_writers_and_a_reader() {
    check(|| {
        let words = Words::new();
        let writers = [1, 2].map(|number| {
            let words = words.clone();
            thread::spawn(move || {
                if let Some(mut held) = words.bucket().take(&As(number, &words)) {
                    assert!(is_whole(&held.slot(0)));
                    held.put(0, slot(number));
                }
            })
        });
        if let Some(seen) = words.bucket().read(|glance| glance.slot(0)) {
            assert!(is_whole(&seen), "{seen:?}");
        }
        for writer in writers {
            writer.join().unwrap();
        }
    });
}

#[test]
fn a_writer_that_dies_in_the_midst_neither_blocks_nor_tears() {
    check(|| {
        let words = Words::new();
        words.bucket().take(&As(2, &words)).unwrap().put(0, slot(5));
        let dying = {
            let words = words.clone();
            thread::spawn(move || {
                let bucket = words.bucket();
                let Some(mut held) = bucket.take(&As(1, &words)) else { return };
                held.put(0, Slot { value: 8, ..slot(7) }); // half of it
                std::mem::forget(held); // killed: nothing more is written
                words.dead.store(true, Ordering::Release);
            })
        };
        let heir = {
            let words = words.clone();
            thread::spawn(move || {
                if let Some(mut held) = words.bucket().take(&As(2, &words)) {
                    held.put(1, slot(2));
                }
            })
        };
        if let Some((first, second)) = words.bucket().read(|glance| (glance.slot(0), glance.slot(1))) {
            assert!(is_whole(&first) && is_whole(&second));
        }
        dying.join().unwrap();
        heir.join().unwrap();
        // Whatever happened, the next writer gets it, and nothing half written is in it.
        let bucket = words.bucket();
        let held = bucket.take(&As(2, &words)).unwrap();
        assert!(is_whole(&held.slot(0)) && is_whole(&held.slot(1)));
    });
}

/// A set of two addresses, both made of the number.
fn pair(number: u32) -> Set {
    let mut set = Set { words: [0; MOST], v4: 2, v6: 0 };
    set.words[..2].fill(number);
    set
}

#[test]
fn a_set_is_never_read_as_another_name_s() {
    check(|| {
        let words = Words::new();
        let place = words.sets().acquire(&pair(1), 1).unwrap();
        let published = Slot { kind: Kind::Set, value: place, verify: 1, ..Slot::default() };
        words.bucket().take(&As(1, &words)).unwrap().put(0, published);
        // One forgets the name and lets go of its set, another puts a set into the cell as soon as it is free.
        let forgetting = {
            let words = words.clone();
            thread::spawn(move || {
                words.bucket().take(&As(1, &words)).unwrap().put(0, Slot::default());
                words.sets().release(place);
            })
        };
        let taking = {
            let words = words.clone();
            thread::spawn(move || words.sets().acquire(&pair(2), 2))
        };
        let seen = words.bucket().read(|glance| {
            let slot = glance.slot(0);
            (slot, (slot.kind == Kind::Set).then(|| words.sets().copy(slot.value)).flatten())
        });
        if let Some((slot, Some(set))) = seen {
            assert_eq!((slot.verify, set.words[0], set.words[1]), (1, 1, 1));
        }
        forgetting.join().unwrap();
        taking.join().unwrap();
    });
}
