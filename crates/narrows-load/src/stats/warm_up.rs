//! From when on a series is steady: the truncation rule MSER-5.

use super::math;
use narrows_base::units::BytesPerSec;

/// Samples in each batch of the rule.
const BATCH: usize = 5;
/// Fewer batches than this say nothing of a beginning that differs.
const MIN_BATCHES: usize = 4;

/// The beginning of a series that is not like the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmUp {
    /// Samples to leave out.
    pub samples: usize,
    /// Whether the rest is likely steady. `false` when the best cut lies at the limit of half of the series: the series is
    /// too short, or not steady at all.
    pub is_over: bool,
}

/// Finds the warm-up of a series by MSER-5 (White, Cobb and Spratt, "A comparison of five steady-state truncation
/// heuristics for simulation", Winter Simulation Conference 2000): samples are averaged in batches of five, and as many
/// batches are left out as make the squared standard error of the mean of the rest least. At most half of the series is
/// left out; a cut there means that the run was too short to tell (Hoad, Robinson and Davies, "Automating warm-up length
/// estimation", Journal of the Operational Research Society 61, 2010). `None` for fewer than 20 samples.
pub fn warm_up(series: &[BytesPerSec]) -> Option<WarmUp> {
    let samples: Vec<f64> = series.iter().map(|rate| rate.get()).collect();
    let batches: Vec<f64> = samples.chunks_exact(BATCH).map(math::mean).collect();
    if batches.len() < MIN_BATCHES {
        return None;
    }
    let most = batches.len() / 2;
    // Mean and squares of the last batches, one batch more at a time (Welford), from the end to the first possible cut.
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let (mut cut, mut least) = (0, f64::INFINITY);
    for (index, batch) in batches.iter().enumerate().rev() {
        count += 1.0;
        let apart = batch - mean;
        mean += apart / count;
        squares += apart * (batch - mean);
        let error = squares / (count * count);
        // From the end towards the beginning: of equal errors the smaller cut counts.
        if index <= most && error <= least {
            (cut, least) = (index, error);
        }
    }
    Some(WarmUp { samples: cut * BATCH, is_over: cut < most })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{autoregressive, rates};
    use super::*;
    use crate::random::Random;

    #[test]
    fn a_constant_rate_has_no_warm_up() {
        assert_eq!(warm_up(&rates(&[100.0; 40])), Some(WarmUp { samples: 0, is_over: true }));
        assert_eq!(warm_up(&rates(&[100.0; 19])), None);
    }

    #[test]
    fn a_slow_start_is_cut_off_where_it_ends() {
        // 2 s at 300 MB/s, then 500 MB/s with noise of 2 %.
        let mut random = Random::seeded(8);
        let mut over = 0;
        for _ in 0..100 {
            let rest = autoregressive(&mut random, 100, 0.4, 500.0, 0.02);
            let series = [[300.0; 20].as_slice(), &rest].concat();
            let found = warm_up(&rates(&series)).unwrap();
            assert!((20..=60).contains(&found.samples), "{found:?}");
            over += u32::from(found.is_over);
        }
        assert!(over >= 95, "only {over} of 100 were seen to have an end");
    }

    #[test]
    fn an_exponential_rise_is_cut_off_when_it_is_within_the_noise() {
        // Time constant 1 s: after 4 s the rate is 2 % below its end, which is the noise.
        let mut random = Random::seeded(4);
        let series: Vec<f64> = autoregressive(&mut random, 200, 0.2, 1000.0, 0.02)
            .iter()
            .enumerate()
            .map(|(i, x)| x * (1.0 - (-(i as f64) / 10.0).exp()))
            .collect();
        let found = warm_up(&rates(&series)).unwrap();
        assert!(found.is_over && (20..=60).contains(&found.samples), "{found:?}");
    }

    #[test]
    fn a_rate_that_keeps_rising_is_never_over() {
        let series: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(warm_up(&rates(&series)), Some(WarmUp { samples: 50, is_over: false }));
    }
}
