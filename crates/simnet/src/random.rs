//! Random numbers as a pure function of the seed: hashes, a small generator, and distributions in reproducible arithmetic.
//!
//! It uses only operations that IEEE 754 defines exactly (no libm), so that a seed yields the same world on every machine.

/// The finaliser of splitmix64: every input bit affects every output bit.
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// splitmix64: 2 ns per number; any state is valid.
#[derive(Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    /// A generator for one object; `purpose` distinguishes streams of the same object.
    pub(crate) fn new(seed: u64, purpose: u64, a: u64, b: u64) -> Self {
        let z = mix(seed ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Self(
            mix(z ^ a.wrapping_mul(0xd1b5_4a32_d192_ed03))
                .wrapping_add(b.wrapping_mul(0x9fb2_1c65_1e98_df25)),
        )
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Uniform in 0..n; 0 when n is 0.
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// True with a probability of `permille` per thousand.
    pub(crate) fn chance(&mut self, permille: u32) -> bool {
        self.below(1000) < permille
    }

    /// Uniform in 0..1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with this probability.
    pub(crate) fn share(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    /// A rank in 0..n with a probability of about 1/rank (Zipf, s = 1): draws an octave uniformly, then a rank within it.
    pub(crate) fn zipf(&mut self, n: u32) -> u32 {
        if n < 2 {
            return 0;
        }
        let octave = self.below(32 - n.leading_zeros());
        let rank = (1 << octave) - 1 + self.below(1 << octave);
        if rank < n { rank } else { self.below(n) }
    }

    /// Log-normal with the given median and the sigma of its logarithm.
    pub(crate) fn around(&mut self, median: f64, sigma: f64) -> f64 {
        self.log_normal(median * exp(sigma * sigma / 2.0), sigma)
    }

    /// Log-normal with the given mean (not median) and the sigma of its logarithm.
    pub(crate) fn log_normal(&mut self, mean: f64, sigma: f64) -> f64 {
        // Irwin-Hall: the sum of 12 uniform numbers minus 6 is approximately normal, without a logarithm.
        let mut sum = 0.0;
        for _ in 0..4 {
            let z = self.bits();
            for shift in [0, 21, 42] {
                sum += ((z >> shift) & 0x1f_ffff) as f64;
            }
        }
        let normal = sum / f64::from(1 << 21) - 6.0;
        mean * exp(sigma * normal - sigma * sigma / 2.0)
    }
}

/// e to the x for |x| < 30: x is halved ten times, a Taylor polynomial, squared ten times.
fn exp(x: f64) -> f64 {
    let y = x / 1024.0;
    let mut power = 1.0 + y * (1.0 + y * (0.5 + y * (1.0 / 6.0 + y / 24.0)));
    for _ in 0..10 {
        power *= power;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_close() {
        for x in [-5.0_f64, -1.0, 0.0, 0.3, 1.0, 4.0] {
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-9, "{x}");
        }
    }

    #[test]
    fn distributions_have_their_means() {
        let mut rng = Rng::new(1, 2, 3, 4);
        let mean = (0..100_000).map(|_| rng.log_normal(27.0, 0.9)).sum::<f64>() / 1e5;
        assert!((26.0..28.0).contains(&mean), "{mean}");
        let mut counts = [0_u32; 1000];
        (0..100_000).for_each(|_| counts[rng.zipf(1000) as usize] += 1);
        assert!(counts[0] > 8_000 && counts[0] > 3 * counts[7] && counts[999] > 0);
        assert!((0..1000).all(|_| rng.below(7) < 7) && rng.below(0) == 0);
    }
}
