//! Random numbers that an attacker cannot predict.

use std::hash::{BuildHasher as _, RandomState};

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng as _, SeedableRng as _};

/// Numbers from one seed: 512 KiB. A new seed costs a system call.
const SEED_LIFE: u32 = 65_536;

/// Random numbers from the key stream of ChaCha20 (RFC 8439), generated 256 bytes at a time, with keys from
/// getrandom(2), a new one every [`SEED_LIFE`] numbers. An attacker who forges replies (RFC 5452) sees the
/// numbers only if on the path, and then need not guess; numbers already seen reveal none of the others.
#[derive(Debug, Default)]
pub(crate) struct Dice {
    /// `None` before the first number.
    stream: Option<ChaCha20Rng>,
    /// Numbers left of this seed.
    left: u32,
}

impl Dice {
    /// The next number.
    #[inline]
    pub(crate) fn throw(&mut self) -> u64 {
        match &mut self.stream {
            Some(stream) if self.left > 0 => {
                self.left -= 1;
                stream.next_u64()
            }
            _ => self.renew(),
        }
    }

    /// The next number below a bound that is small against 2⁶⁴; 0 for the bound 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.throw() % bound).unwrap_or(0)
    }

    /// The first number of a new seed.
    #[cold]
    fn renew(&mut self) -> u64 {
        let stream = self.stream.insert(ChaCha20Rng::from_seed(seed()));
        self.left = SEED_LIFE - 1;
        stream.next_u64()
    }
}

/// A seed from the system. If a filter of system calls blocks getrandom(2), the keys of the standard library's
/// hasher are used, which it gets from the system in another way.
fn seed() -> [u8; 32] {
    let mut seed = [0; 32];
    if getrandom::fill(&mut seed).is_err() {
        for (place, chunk) in seed.chunks_exact_mut(8).enumerate() {
            chunk.copy_from_slice(&RandomState::new().hash_one(place).to_ne_bytes());
        }
    }
    seed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first words of ChaCha20 under the key 0 (RFC 8439 appendix A.1).
    const KNOWN: [u64; 2] = [0x903d_f1a0_ade0_b876, 0x28bd_8653_e56a_5d40];

    #[test]
    fn numbers_are_the_published_key_stream_and_do_not_outlive_their_seed() {
        let mut dice = Dice { stream: Some(ChaCha20Rng::from_seed([0; 32])), left: 1 };
        assert_eq!(dice.throw(), KNOWN[0]);
        assert_ne!(dice.throw(), KNOWN[1], "the next number is by a new seed");
        assert_eq!(dice.left, SEED_LIFE - 1);
        let mut lasting = Dice { stream: Some(ChaCha20Rng::from_seed([0; 32])), left: 2 };
        assert_eq!([lasting.throw(), lasting.throw()], KNOWN);
    }

    #[test]
    fn no_two_have_the_same_numbers() {
        let numbers = |mut dice: Dice| -> Vec<u64> { (0..1_000).map(|_| dice.throw()).collect() };
        let mut all = [numbers(Dice::default()), numbers(Dice::default())].concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 2_000);
        let mut dice = Dice::default();
        assert_eq!((dice.below(0), dice.below(1)), (0, 0));
        assert!((0..1_000).all(|_| dice.below(7) < 7));
    }
}
