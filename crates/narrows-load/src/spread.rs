//! Which blocks a random workload prefers.

use super::random::Random;
use super::workload::Distribution;

/// 2⁻⁵³: turns the upper 53 bits of a word into a number below 1.
const UNIT: f64 = 1.0 / (1u64 << 53) as f64;

/// Draws block numbers below a count by a distribution. The preferred blocks are scattered over the whole range, so
/// that none of them are neighbours.
#[derive(Debug, Clone)]
pub(super) enum Spread {
    Uniform,
    Zipf { zipf: Zipf, scatter: Scatter },
    Pareto { exponent: f64, scatter: Scatter },
}

impl Spread {
    /// A spread over `count` blocks. The parameters are those that [`Distribution::is_sensible`] accepts.
    pub(super) fn new(distribution: Distribution, count: u64) -> Self {
        let scatter = Scatter::over(count);
        match distribution {
            Distribution::Uniform => Self::Uniform,
            Distribution::Zipf { theta } => Self::Zipf { zipf: Zipf::new(count, theta), scatter },
            Distribution::Pareto { hot } => Self::Pareto { exponent: hot.ln() / (1.0 - hot).ln(), scatter },
        }
    }

    /// A block number below `count`, which is that of [`new`](Self::new).
    #[inline(always)]
    pub(super) fn draw(&self, random: &mut Random, count: u64) -> u64 {
        match self {
            Self::Uniform => random.below(count),
            _ => self.draw_preferred(random, count),
        }
    }

    fn draw_preferred(&self, random: &mut Random, count: u64) -> u64 {
        match self {
            Self::Uniform => random.below(count),
            Self::Zipf { zipf, scatter } => scatter.place(zipf.rank(random)),
            Self::Pareto { exponent, scatter } => {
                let rank = unit(random).powf(*exponent) * count as f64;
                scatter.place((rank as u64).min(count.saturating_sub(1)))
            }
        }
    }
}

/// A number from 0 up to, not including, 1.
fn unit(random: &mut Random) -> f64 {
    (random.next() >> 11) as f64 * UNIT
}

/// A one-to-one map of ranks to blocks: a multiplication by a number that has no divisor in common with the count.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scatter {
    factor: u64,
    count: u64,
}

impl Scatter {
    fn over(count: u64) -> Self {
        let count = count.max(1);
        // The golden section of the range keeps neighbouring ranks far apart (Knuth, TAOCP volume 3, 6.4).
        let mut factor = ((count as f64 * 0.618_033_988_749_895) as u64).max(1);
        while gcd(factor, count) != 1 {
            factor += 1;
        }
        Self { factor, count }
    }

    #[inline]
    fn place(self, rank: u64) -> u64 {
        (u128::from(rank) * u128::from(self.factor) % u128::from(self.count)) as u64
    }
}

pub(super) fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Ranks from 0 by Zipf's law: rank `k` is drawn with a probability proportional to (k + 1)^−theta.
///
/// Rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
/// distributions", ACM TOMACS 6(3), 1996, pages 169–184): exact, with no table and no sum over all blocks, in about
/// 1.1 rounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Zipf {
    count: f64,
    theta: f64,
    /// The integral of the hat at its two ends.
    top: f64,
    bottom: f64,
    /// Below this distance from its middle a value is taken without a further look.
    squeeze: f64,
}

impl Zipf {
    fn new(count: u64, theta: f64) -> Self {
        let count = count.max(1) as f64;
        let mut zipf = Self { count, theta, top: 0.0, bottom: 0.0, squeeze: 0.0 };
        zipf.top = zipf.integral(1.5) - 1.0;
        zipf.bottom = zipf.integral(count + 0.5);
        zipf.squeeze = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    fn rank(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.bottom + unit(random) * (self.top - self.bottom);
            let x = self.inverse(u);
            let k = (x + 0.5).floor().clamp(1.0, self.count);
            if k - x <= self.squeeze || u >= self.integral(k + 0.5) - self.density(k) {
                return k as u64 - 1;
            }
        }
    }

    /// x^−theta.
    fn density(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// The integral of the density: (x^(1 − theta) − 1) / (1 − theta), or ln x for theta = 1.
    fn integral(&self, x: f64) -> f64 {
        let ln = x.ln();
        let t = (1.0 - self.theta) * ln;
        ln * if t.abs() > 1e-8 { t.exp_m1() / t } else { 1.0 + t / 2.0 }
    }

    /// The inverse of the integral.
    fn inverse(&self, y: f64) -> f64 {
        let t = (y * (1.0 - self.theta)).max(-1.0);
        (y * if t.abs() > 1e-8 { t.ln_1p() / t } else { 1.0 - t / 2.0 }).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(distribution: Distribution, count: u64, draws: u32) -> Vec<u32> {
        let spread = Spread::new(distribution, count);
        let mut random = Random::seeded(11);
        let mut seen = vec![0; count as usize];
        (0..draws).for_each(|_| seen[spread.draw(&mut random, count) as usize] += 1);
        seen.sort_unstable_by(|a, b| b.cmp(a));
        seen
    }

    #[test]
    fn zipf_follows_its_law() {
        // The law itself is the second source: p(k) = k^-theta / sum(i^-theta). Chi-squared with 49 degrees of freedom
        // is below 85.4 with probability 0.999.
        for theta in [0.5, 0.99, 1.0, 1.2, 3.0] {
            let zipf = Zipf::new(50, theta);
            let mut random = Random::seeded(5);
            let mut seen = [0u32; 50];
            let draws = 400_000;
            (0..draws).for_each(|_| seen[zipf.rank(&mut random) as usize] += 1);
            let whole: f64 = (1..=50).map(|k| f64::from(k).powf(-theta)).sum();
            let chi2: f64 = (1..)
                .zip(seen)
                .map(|(k, n)| {
                    let want = f64::from(draws) * f64::from(k).powf(-theta) / whole;
                    (f64::from(n) - want).powi(2) / want
                })
                .sum();
            assert!(chi2 < 85.4, "theta {theta}: chi-squared {chi2}");
        }
    }

    #[test]
    fn pareto_sends_the_rest_to_the_hot_part() {
        for hot in [0.1, 0.2, 0.3] {
            let seen = counts(Distribution::Pareto { hot }, 1000, 200_000);
            let inside: u32 = seen.iter().take((hot * 1000.0) as usize).sum();
            let share = f64::from(inside) / 200_000.0;
            assert!((share - (1.0 - hot)).abs() < 0.01, "hot {hot}: {share}");
        }
    }

    #[test]
    fn preferred_blocks_are_no_neighbours() {
        let scatter = Scatter::over(1000);
        let places: Vec<u64> = (0..10).map(|rank| scatter.place(rank)).collect();
        for (index, a) in places.iter().enumerate() {
            assert!(places.iter().skip(index + 1).all(|b| a.abs_diff(*b) > 1), "{places:?}");
        }
    }

    proptest! {
        #[test]
        fn every_rank_has_a_place_of_its_own(count in 1u64..2000) {
            let scatter = Scatter::over(count);
            let mut places: Vec<u64> = (0..count).map(|rank| scatter.place(rank)).collect();
            places.sort_unstable();
            prop_assert!(places.into_iter().eq(0..count));
        }

        #[test]
        fn every_draw_is_in_range(count in 1u64..1 << 50, theta in 0.01f64..5.0, hot in 0.01f64..0.49, seed: u64) {
            let mut random = Random::seeded(seed);
            for distribution in [Distribution::Uniform, Distribution::Zipf { theta }, Distribution::Pareto { hot }] {
                let spread = Spread::new(distribution, count);
                for _ in 0..20 {
                    prop_assert!(spread.draw(&mut random, count) < count);
                }
            }
        }
    }
}
