//! A small, fast and seedable generator for offsets and incompressible data.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47(4), 2021). Its period is
/// 2²⁵⁶ − 1, so no offset sequence or data repeats.
#[derive(Debug, Clone)]
pub(super) struct Random(Xoshiro256PlusPlus);

impl Random {
    /// A generator whose sequence is decided by `seed`.
    pub(super) fn seeded(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// The next 64 random bits.
    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`, without division: the high half of a 128-bit product (Lemire, "Fast random integer
    /// generation in an interval", ACM TOMACS 29(1), 2019). Without the rejection step a number is at most
    /// `bound` / 2⁶⁴ likelier than another, which is below 10⁻⁶ for any device. Zero for a bound of zero.
    #[inline]
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// Fills `bytes` with random data, which no compressor can shrink.
    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_number_stays_below_its_bound() {
        let mut random = Random::seeded(1);
        assert!((0..10_000).all(|_| random.below(7) < 7));
        assert_eq!(random.below(1), 0);
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn data_fills_every_byte_also_of_an_odd_tail() {
        let mut bytes = [0u8; 4099];
        Random::seeded(3).fill(&mut bytes);
        let zeros = bytes.iter().filter(|byte| **byte == 0).count();
        assert!(zeros < 60, "{zeros} of 4099 bytes are zero, about 16 expected");
    }
}
