//! The atomic words of the cache, behind a trait: so that loom checks the production code.

use std::sync::atomic::Ordering;
use std::sync::atomic::{AtomicU32, AtomicU64, fence};
use std::time::Duration;

/// A shared atomic word with values of type `V`.
pub(super) trait Word<V> {
    /// Loads the value.
    fn load(&self, order: Ordering) -> V;
    /// Stores a value.
    fn store(&self, value: V, order: Ordering);
    /// Compare-and-swap; whether the value was `from`.
    fn replace(&self, from: V, to: V, success: Ordering) -> bool;
}

/// A memory model: its atomic words and the bounds of its spin loops.
pub(super) trait Memory {
    /// Words of 64 bits.
    type W64: Word<u64>;
    /// Words of 32 bits.
    type W32: Word<u32>;
    /// A memory fence.
    fn fence(order: Ordering);
    /// Spin-loop hint.
    fn pause();
    /// Yields the core to a descheduled lock owner, or sleeps after several calls.
    fn back_off(calls: usize);
    /// Attempts of a reader at a consistent snapshot of a bucket.
    const READS: usize;
    /// Attempts of a writer at locking a bucket.
    const SPINS: usize;
    /// Attempts between two checks whether the lock owner is alive.
    const CHECK_EVERY: usize;
}

/// The memory of this machine.
pub(super) struct Native;

impl Memory for Native {
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

    fn back_off(calls: usize) {
        // 100 µs is about the resolution of the kernel's timers.
        if calls <= 4 { std::thread::yield_now() } else { std::thread::sleep(Duration::from_micros(100)) }
    }

    /// About the duration of a write that is not preempted.
    const READS: usize = 64;
    /// A write takes less than a hundred spins; the sleeps add about 40 ms, in which a preempted writer runs again even if some ten
    /// threads compete for its core.
    const SPINS: usize = 256 * Self::CHECK_EVERY;
    const CHECK_EVERY: usize = 64;
}

/// Implements [`Word`] for an atomic type of the standard library or of loom.
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
pub(super) use word;
