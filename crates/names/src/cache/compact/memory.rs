//! Atomic words: the machine's, or a model checker's, so that what is checked is the code that runs.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

/// A shared word of `V` bits.
pub(super) trait Word<V> {
    /// Reads it.
    fn load(&self, order: Ordering) -> V;
    /// Writes it.
    fn store(&self, value: V, order: Ordering);
    /// Writes it if it is `from`; tells whether it was.
    fn replace(&self, from: V, to: V, success: Ordering) -> bool;
}

/// A kind of memory.
pub(super) trait Memory {
    /// Its words of 64 bits.
    type W64: Word<u64>;
    /// Its words of 32 bits.
    type W32: Word<u32>;
    /// A fence between its words.
    fn fence(order: Ordering);
    /// Waits for a moment.
    fn pause();
    /// Lets others have the core, who may be waiting for it in the midst of a write; the longer, the more often it was called.
    fn rest(times: usize);
    /// Looks of a reader before it takes a bucket that is being written for one that does not have the name.
    const LOOKS: usize;
    /// Turns of a writer before it gives up on a bucket.
    const TURNS: usize;
    /// The turns after which a writer looks whether the one who has the bucket lives.
    const LOOK_AFTER: usize;
}

/// Rests in which others are let by, before it is worth sleeping.
const YIELDS: usize = 4;

/// A longer rest: what the kernel's timers resolve.
const NAP: Duration = Duration::from_micros(100);

/// The memory of this machine.
pub(super) struct Machine;

impl Memory for Machine {
    type W64 = AtomicU64;
    type W32 = AtomicU32;

    #[inline]
    fn fence(order: Ordering) {
        fence(order);
    }

    #[inline]
    fn pause() {
        std::hint::spin_loop();
    }

    fn rest(times: usize) {
        if times <= YIELDS { std::thread::yield_now() } else { std::thread::sleep(NAP) }
    }

    /// About the time that a writer needs which is not interrupted.
    const LOOKS: usize = 64;
    /// What a writer does takes less than a hundred turns; one that is interrupted has the core back within these naps, about
    /// 40 ms, on a machine where some ten want it.
    const TURNS: usize = 256 * Self::LOOK_AFTER;
    const LOOK_AFTER: usize = 64;
}

/// Implements [`Word`] for an atomic type of the standard library or of the same shape.
macro_rules! word {
    ($atomic:ty, $value:ty) => {
        impl Word<$value> for $atomic {
            #[inline]
            fn load(&self, order: Ordering) -> $value {
                <$atomic>::load(self, order)
            }

            #[inline]
            fn store(&self, value: $value, order: Ordering) {
                <$atomic>::store(self, value, order);
            }

            #[inline]
            fn replace(&self, from: $value, to: $value, success: Ordering) -> bool {
                self.compare_exchange(from, to, success, Ordering::Relaxed).is_ok()
            }
        }
    };
}

word!(AtomicU64, u64);
word!(AtomicU32, u32);

#[cfg(test)]
pub(super) mod model {
    //! The memory of loom: every order of steps and every value that a weak memory allows.

    use loom::sync::atomic::{AtomicU32, AtomicU64};

    use super::{Memory, Ordering, Word};

    /// Loom's memory.
    pub(in super::super) struct Model;

    impl Memory for Model {
        type W64 = AtomicU64;
        type W32 = AtomicU32;

        fn fence(order: Ordering) {
            loom::sync::atomic::fence(order);
        }

        fn pause() {
            loom::thread::yield_now();
        }

        fn rest(_: usize) {}

        const LOOKS: usize = 2;
        const TURNS: usize = 2;
        const LOOK_AFTER: usize = 1;
    }

    word!(AtomicU64, u64);
    word!(AtomicU32, u32);
}
