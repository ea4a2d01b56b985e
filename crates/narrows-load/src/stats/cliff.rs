//! Where a long write falls off its cache: one step down that stays.

use super::math::{mean, squares, window_means};
use narrows_base::units::{Bytes, BytesPerSec, Nanos};

/// A step is at least this fraction of the speed before it.
const LEAST_STEP: f64 = 0.30;
/// A speed must hold for this many samples (1 s) to count as one.
const LEAST_SAMPLES: usize = 10;
/// What a second level must explain, in units of the logarithm of the count: a level and a place are two parameters, and a
/// third unit guards against autocorrelation (Yao, "Estimating the number of change-points via Schwarz' criterion",
/// Statistics & Probability Letters 6, 1988, with a stronger penalty).
const PENALTY: f64 = 3.0;
/// The speed after the step is looked at in so many windows; none may come back over half of the step.
const WINDOWS: usize = 5;

/// A step down in speed that stays: the fast part of a drive's flash (its SLC cache), a controller's memory or a
/// write-back cache is full, and the medium behind it shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cliff {
    /// The mean speed before.
    pub before_bytes_per_second: BytesPerSec,
    /// The mean speed after.
    pub after_bytes_per_second: BytesPerSec,
    /// When it came, since the measured time began.
    pub at_ns: Nanos,
    /// The bytes moved in the measured time before it: the size of the cache, less what was written to it before.
    pub bytes: Bytes,
}

/// Looks for the one step down of at least 30 % that explains a series best.
///
/// The series is cut in two where the squared distances from the two means are least; a cut counts when it explains more
/// than its penalty (Schwarz' criterion), when both parts last at least 1 s, and when no fifth of the second part comes
/// back over the middle between the two speeds. `None` otherwise.
pub fn cliff(series: &[BytesPerSec]) -> Option<Cliff> {
    let samples: Vec<f64> = series.iter().map(|rate| rate.get()).collect();
    let (before, after) = samples.split_at_checked(best_cut(&samples)?)?;
    if before.len() < LEAST_SAMPLES || after.len() < LEAST_SAMPLES {
        return None;
    }
    let (fast, slow) = (mean(before), mean(after));
    let middle = (fast + slow) / 2.0;
    let stays = window_means(after, WINDOWS).iter().all(|speed| *speed < middle);
    if slow > fast * (1.0 - LEAST_STEP) || !stays {
        return None;
    }
    let sample = super::SAMPLE;
    Some(Cliff {
        before_bytes_per_second: BytesPerSec::new(fast),
        after_bytes_per_second: BytesPerSec::new(slow),
        at_ns: Nanos::new(sample.get().saturating_mul(before.len() as u64)),
        bytes: Bytes::new((before.iter().sum::<f64>() * sample.as_secs_f64()).round() as u64),
    })
}

/// The index of the first sample of the second part of the best cut; `None` when one mean explains as much.
fn best_cut(samples: &[f64]) -> Option<usize> {
    let count = samples.len();
    let whole = squares(samples);
    let total: f64 = samples.iter().sum();
    let mut sum = 0.0;
    let mut best: Option<(usize, f64)> = None;
    for (index, sample) in samples.iter().enumerate() {
        if index > 0 {
            // What the cut explains: the squares between the two parts.
            let (left, right) = (index as f64, (count - index) as f64);
            let apart = sum / left - (total - sum) / right;
            let explained = left * right / count as f64 * apart * apart;
            if best.is_none_or(|(_, most)| explained > most) {
                best = Some((index, explained));
            }
        }
        sum += sample;
    }
    let (index, explained) = best?;
    let left = (whole - explained).max(whole * 1e-12);
    let count = count as f64;
    (whole > 0.0 && count * (whole / left).ln() > PENALTY * count.ln()).then_some(index)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{autoregressive, rates};
    use super::*;
    use crate::random::Random;
    use proptest::prelude::*;

    #[test]
    fn a_full_cache_is_found_to_the_byte() {
        // 24 s at 1.75 GB/s, 42 GB in all, then 500 MB/s.
        let series = [[1.75e9; 240].as_slice(), &[0.5e9; 100]].concat();
        let found = cliff(&rates(&series)).unwrap();
        assert_eq!(found.bytes, Bytes::new(42_000_000_000));
        assert_eq!(found.at_ns, Nanos::from_millis(24_000));
        assert_eq!(found.before_bytes_per_second, BytesPerSec::new(1.75e9));
        assert_eq!(found.after_bytes_per_second, BytesPerSec::new(0.5e9));
    }

    #[test]
    fn a_step_in_noise_is_found_where_it_is() {
        let mut random = Random::seeded(2);
        for _ in 0..100 {
            let fast = autoregressive(&mut random, 150, 0.7, 583e6, 0.08);
            let slow = autoregressive(&mut random, 400, 0.7, 380e6, 0.08);
            let found = cliff(&rates(&[fast, slow].concat())).unwrap();
            assert!((14.5..=15.5).contains(&found.at_ns.as_secs_f64()), "{found:?}");
        }
    }

    #[test]
    fn noise_a_small_step_a_dip_and_a_rise_are_no_cliff() {
        let mut random = Random::seeded(9);
        for _ in 0..200 {
            let noise = autoregressive(&mut random, 300, 0.9, 500e6, 0.15);
            assert_eq!(cliff(&rates(&noise)), None);
        }
        let small = [[500.0; 100].as_slice(), &[360.0; 100]].concat();
        assert_eq!(cliff(&rates(&small)), None, "28 %");
        let dip = [[500.0; 100].as_slice(), &[100.0; 100], &[500.0; 60]].concat();
        assert_eq!(cliff(&rates(&dip)), None);
        let rise = [[100.0; 100].as_slice(), &[500.0; 100]].concat();
        assert_eq!(cliff(&rates(&rise)), None);
        assert_eq!(cliff(&rates(&[500.0; 100])), None);
        assert_eq!(cliff(&[]), None);
    }

    #[test]
    fn a_stall_at_the_end_is_no_cliff() {
        let stall = [[500.0; 100].as_slice(), &[0.0; 9]].concat();
        assert_eq!(cliff(&rates(&stall)), None);
    }

    proptest! {
        #[test]
        fn any_clean_step_is_found(
            fast in 10.0f64..1e10, share in 0.0f64..0.69, before in 10usize..200, after in 10usize..200,
        ) {
            let series = [vec![fast; before], vec![fast * share; after]].concat();
            let found = cliff(&rates(&series)).unwrap();
            prop_assert_eq!(found.at_ns, Nanos::from_millis(before as u64 * 100));
            prop_assert!((found.bytes.as_f64() - fast * before as f64 / 10.0).abs() <= 1.0);
        }
    }
}
