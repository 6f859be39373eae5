//! Random streams. Every component draws from its own stream, named after it and derived from the
//! one root seed, so that adding a flow does not move another's dice.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers (xoshiro256++), the same on every platform.
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream of the component `name` under `root_seed`, for example `"aqm/bottleneck"`.
    pub fn stream(root_seed: u64, name: &str) -> Self {
        // FNV-1a, 64 bit, over the seed and the name; SplitMix64 inside `seed_from_u64` spreads it.
        let mut h: u64 = 0xcbf2_9ce4_8422_2325;
        for b in root_seed.to_le_bytes().iter().chain(name.as_bytes()) {
            h = (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Rng(Xoshiro256PlusPlus::seed_from_u64(h))
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in [lo, hi).
    pub fn uniform(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * self.unit()
    }

    /// Exponential with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        // 1 - u is in (0, 1]: the logarithm is finite.
        -mean * libm::log(1.0 - self.unit())
    }

    /// Pareto with the given shape and scale (the smallest value).
    pub fn pareto(&mut self, shape: f64, scale: f64) -> f64 {
        scale * libm::pow(1.0 - self.unit(), -1.0 / shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_named_and_repeatable() {
        let draw = |seed, name| Rng::stream(seed, name).bits();
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
    }

    #[test]
    fn means_are_the_ones_asked_for() {
        let mut rng = Rng::stream(7, "test");
        let n = 200_000;
        let mean = |f: &mut dyn FnMut() -> f64| (0..n).map(|_| f()).sum::<f64>() / f64::from(n);
        assert!((mean(&mut || rng.unit()) - 0.5).abs() < 0.005);
        assert!((mean(&mut || rng.exponential(3.0)) - 3.0).abs() < 0.05);
        // shape 3, scale 2: mean 3
        assert!((mean(&mut || rng.pareto(3.0, 2.0)) - 3.0).abs() < 0.05);
    }
}
