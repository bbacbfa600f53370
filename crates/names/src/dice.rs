//! Numbers that an attacker cannot foresee.

use std::hash::{BuildHasher as _, RandomState};

/// Random numbers: SipHash, keyed by the operating system, over a counter. A forger of answers (RFC 5452)
/// sees none of them unless he is on the path, and then needs no guess.
#[derive(Debug, Default)]
pub(crate) struct Dice {
    key: RandomState,
    thrown: u64,
}

impl Dice {
    /// The next number.
    pub(crate) fn throw(&mut self) -> u64 {
        self.thrown = self.thrown.wrapping_add(1);
        self.key.hash_one(self.thrown)
    }

    /// The next number below a bound that is small against 2⁶⁴; 0 for the bound 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.throw() % bound).unwrap_or(0)
    }
}
