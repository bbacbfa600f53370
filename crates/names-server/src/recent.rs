//! Recently prefetched names, so that further questions do not prefetch them again.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lycosa_names::Families;
use lycosa_names::cache::Seconds;

/// Number of slots.
const SLOTS: usize = 1 << 13;

/// Seconds until a name may be prefetched again.
const SPAN: Seconds = 60;

/// A fixed table of names with the time of their prefetch. On a collision the newer name replaces the older
/// one.
pub(crate) struct Recent {
    slots: Box<[AtomicU64]>,
    hasher: RandomState,
}

impl Default for Recent {
    fn default() -> Self {
        Recent { slots: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(), hasher: RandomState::new() }
    }
}

impl Recent {
    /// Adds a name; returns whether it was absent.
    pub(crate) fn is_new(&self, name: &str, families: Families, now: Seconds) -> bool {
        let hash = self.hasher.hash_one((name, families == Families::V6));
        let slot = &self.slots[hash as usize % SLOTS];
        let mark = hash & !0xffff_ffff | now & 0xffff_ffff;
        let before = slot.load(Relaxed);
        let is_known =
            before >> 32 == mark >> 32 && now.wrapping_sub(before & 0xffff_ffff) & 0xffff_ffff < SPAN;
        // Of two concurrent calls one succeeds.
        !is_known && slot.compare_exchange(before, mark, Relaxed, Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_new_once_a_minute() {
        let recent = Recent::default();
        let now = 1_800_000_000;
        assert!(recent.is_new("a.example", Families::V4, now));
        assert!(!recent.is_new("a.example", Families::V4, now + 59));
        assert!(recent.is_new("a.example", Families::V6, now + 59), "the other family is another question");
        assert!(recent.is_new("a.example", Families::V4, now + 60));
    }
}
