//! Series with known truth.

use crate::units::BytesPerSec;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Random numbers of a seed.
pub(super) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub(super) fn seeded(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

/// Rates from plain numbers.
pub(super) fn rates(values: &[f64]) -> Vec<BytesPerSec> {
    values.iter().map(|value| BytesPerSec::new(*value)).collect()
}

/// A number that is nearly normal with mean 0 and variance 1: the sum of twelve uniform ones less six.
pub(super) fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| random.next() as f64 / u64::MAX as f64).sum::<f64>() - 6.0
}

/// First-order autoregressive noise with the coefficient `phi` around `mean`, in its stationary state from the beginning;
/// `spread` is the standard deviation of a sample as a fraction of the mean.
pub(super) fn autoregressive(
    random: &mut Random,
    count: usize,
    phi: f64,
    mean: f64,
    spread: f64,
) -> Vec<f64> {
    let mut noise = normal(random);
    let fresh = (1.0 - phi * phi).sqrt();
    (0..count)
        .map(|_| {
            let value = mean * (1.0 + spread * noise);
            noise = phi * noise + fresh * normal(random);
            value
        })
        .collect()
}
