//! A small, fast and seedable generator for offsets and incompressible data.

/// xoshiro256++ 1.0 (Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47(4), 2021;
/// <https://prng.di.unimi.it/xoshiro256plusplus.c>). Its period is 2²⁵⁶ − 1, so no offset sequence or data repeats.
#[derive(Debug, Clone)]
pub(super) struct Random {
    state: [u64; 4],
}

impl Random {
    /// A generator whose sequence is decided by `seed`. The state is drawn from SplitMix64, as the authors advise.
    pub(super) fn seeded(mut seed: u64) -> Self {
        Self { state: std::array::from_fn(|_| split_mix(&mut seed)) }
    }

    /// The next 64 random bits.
    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        let [s0, s1, s2, s3] = self.state;
        let result = s0.wrapping_add(s3).rotate_left(23).wrapping_add(s0);
        let (s2, s3) = (s2 ^ s0, s3 ^ s1);
        self.state = [s0 ^ s3, s1 ^ s2, s2 ^ (s1 << 17), s3.rotate_left(45)];
        result
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
        let (words, tail) = bytes.as_chunks_mut();
        for word in words {
            *word = self.next().to_le_bytes();
        }
        for (byte, random) in tail.iter_mut().zip(self.next().to_le_bytes()) {
            *byte = random;
        }
    }
}

/// One step of SplitMix64 (<https://prng.di.unimi.it/splitmix64.c>).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_the_reference_implementation() {
        // Reference outputs for the state [1, 2, 3, 4], as the authors' C code prints them (also in rand_xoshiro).
        let mut random = Random { state: [1, 2, 3, 4] };
        let got: [u64; 5] = std::array::from_fn(|_| random.next());
        assert_eq!(got, [41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205]);
    }

    #[test]
    fn split_mix_is_that_of_the_reference_implementation() {
        assert_eq!(split_mix(&mut 0), 0xe220_a839_7b1d_cdaf);
    }

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
