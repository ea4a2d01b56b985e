//! When enough was measured: the interval of the mean is as narrow as was asked for.

use super::{BatchMeans, MIN_SAMPLES, SAMPLE, WarmUp, mean, squares, student_t, variance, warm_up};
use crate::units::{BytesPerSec, Nanos};

/// The confidence of the interval.
const CONFIDENCE: f64 = 0.95;
/// An interval is believed only when the samples are worth this many independent ones: before that neither their spread
/// nor their autocorrelation is known well enough. With it, intervals at the stop hold the true mean in 90 % and more of simulated
/// runs up to a coefficient of 0.8 (a test below).
const LEAST_INDEPENDENT: f64 = 20.0;
/// With fewer the samples count as this much alike: a rate that hardly moves is known all the same.
const WORST_RHO: f64 = 0.8;
/// No autocorrelation counts as more negative than that of samples whose errors cancel out in the next one.
const LEAST_RHO: f64 = -0.5;
/// What is added to an estimated autocorrelation, in its standard errors (1/√n, Bartlett 1946): it is easily estimated too
/// low in just those short series that would stop first.
const CAUTION: f64 = 0.5;

/// How sure a mean shall be before a run may stop: the half width of its 95 % interval as a fraction of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precision {
    target: f64,
}

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The interval is narrow enough.
    Stop,
    /// It is not.
    Continue {
        /// The time that it will take, as it looks now; `None` as long as nothing can be said.
        left: Option<Nanos>,
    },
}

/// What a series says so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlook {
    /// Whether to go on.
    pub decision: Decision,
    /// Samples at the beginning that were left out as warm-up.
    pub warm_up: usize,
    /// The mean rate after it.
    pub rate: BytesPerSec,
    /// The half width of its 95 % interval; `None` when there is too little to tell.
    pub half_width: Option<BytesPerSec>,
}

impl Outlook {
    /// The interval of the mean: lower and upper end.
    pub fn ci95(&self) -> Option<[BytesPerSec; 2]> {
        self.half_width.map(|half| [self.rate - half, self.rate + half])
    }

    /// The half width as a fraction of the mean.
    pub fn relative(&self) -> Option<f64> {
        self.half_width.filter(|_| self.rate.get() > 0.0).map(|half| half.fraction_of(self.rate))
    }
}

impl Precision {
    /// A precision of `target`, a fraction of the mean: 0.02 is ±2 %. `None` unless it lies between 0.0001 and 0.5.
    pub fn new(target: f64) -> Option<Self> {
        (1e-4..=0.5).contains(&target).then_some(Self { target })
    }

    /// The fraction that was asked for.
    pub const fn target(&self) -> f64 {
        self.target
    }

    /// Judges a series so far.
    ///
    /// The interval is that of [`BatchMeans`], or a wider one that takes the samples for a first-order autoregressive
    /// process: their variance times (1 + ρ) / (1 − ρ), with the first autocorrelation ρ corrected for its bias (Kendall,
    /// "Note on bias in the estimation of autocorrelation", Biometrika 41, 1954). Ten batch means of a short run can be
    /// alike by chance, and a rule that looks every 100 ms would wait for that chance; the second interval and a least
    /// number of independent samples take it away.
    ///
    /// Where ρ is negative the second interval stands alone. So it is at a steady rate of few large I/Os: one that ends
    /// just after a sample is missing in it and too many in the next, which is noise in the samples (ρ = −½) and hardly
    /// any in their mean. The factor, 1/3 for ρ = −½, still errs on the safe side. Where the whole series is not enough, its warm-up
    /// ([`warm_up`](warm_up())) is left out, if it has one that is over and that differs from the rest.
    pub fn judge(&self, series: &[BytesPerSec]) -> Outlook {
        let whole = Estimate::of(series);
        if whole.is_within(self.target) {
            return whole.outlook(Decision::Stop, 0);
        }
        match warm_up(series).and_then(|found| Some((found.samples, after_warm_up(series, found)?))) {
            Some((cut, rest)) if rest.is_within(self.target) => rest.outlook(Decision::Stop, cut),
            Some((cut, rest)) => rest.outlook(Decision::Continue { left: rest.left(self.target) }, cut),
            None => whole.outlook(Decision::Continue { left: whole.left(self.target) }, 0),
        }
    }
}

/// What comes after a warm-up that is over and was one: its mean is further from that of the rest than twice what the
/// interval of the rest lets expect. Cutting what is merely noise would choose the samples that agree by chance.
fn after_warm_up(series: &[BytesPerSec], found: WarmUp) -> Option<Estimate> {
    let (head, rest) =
        series.split_at_checked(found.samples).filter(|_| found.is_over && found.samples > 0)?;
    let (head, rest) = (Estimate::of(head), Estimate::of(rest));
    let expected = rest.error? * (1.0 + rest.samples as f64 / head.samples as f64).sqrt();
    ((head.mean - rest.mean).abs() > 2.0 * expected).then_some(rest)
}

/// The mean of a series and what is known of its error.
struct Estimate {
    samples: usize,
    mean: f64,
    /// How many independent samples these are worth.
    independent: f64,
    /// The half width of the interval.
    error: Option<f64>,
    /// What it would be if neighbouring samples were as much alike as they may be.
    worst: f64,
}

impl Estimate {
    fn of(series: &[BytesPerSec]) -> Self {
        let samples: Vec<f64> = series.iter().map(|rate| rate.get()).collect();
        let mean = mean(&samples);
        let inflation = inflation(&samples);
        let independent = samples.len() as f64 / inflation;
        let error = BatchMeans::of(series).map(|batches| {
            let freedom = (independent.min(samples.len() as f64) - 1.0).max(6.0);
            let modelled = student_t(CONFIDENCE, freedom) * (variance(&samples) / independent).sqrt();
            if inflation < 1.0 { modelled } else { batches.half_width(CONFIDENCE).max(modelled) }
        });
        let few = samples.len() as f64 / inflation_by(WORST_RHO);
        let worst = student_t(CONFIDENCE, (few - 1.0).max(6.0)) * (variance(&samples) / few.max(1.0)).sqrt();
        Self { samples: samples.len(), mean, independent, error, worst }
    }

    fn is_within(&self, target: f64) -> bool {
        self.mean > 0.0 && self.half_width().is_some_and(|half| half <= target * self.mean)
    }

    /// The half width of the interval, as wide as it may be while too little is known of the autocorrelation.
    fn half_width(&self) -> Option<f64> {
        let error = self.error?;
        Some(if self.independent >= LEAST_INDEPENDENT { error } else { error.max(self.worst) })
    }

    /// Half widths shrink with the square root of the time.
    fn left(&self, target: f64) -> Option<Nanos> {
        let error = self.error.filter(|_| self.mean > 0.0)?;
        let by_width = (error / (target * self.mean)).powi(2);
        let by_count = LEAST_INDEPENDENT / self.independent.max(1.0);
        let more = self.samples as f64 * (by_width.max(by_count) - 1.0).max(0.0);
        Some(Nanos::new((more.ceil() * SAMPLE.get() as f64) as u64))
    }

    fn outlook(&self, decision: Decision, warm_up: usize) -> Outlook {
        Outlook {
            decision,
            warm_up,
            rate: BytesPerSec::new(self.mean),
            half_width: self.half_width().map(BytesPerSec::new),
        }
    }
}

/// How many samples are worth one independent one: (1 + ρ) / (1 − ρ), which is less than 1 where ρ is negative.
fn inflation(samples: &[f64]) -> f64 {
    let spread = squares(samples);
    if samples.len() < MIN_SAMPLES || spread <= 0.0 {
        return 1.0;
    }
    let mean = mean(samples);
    let products: f64 =
        samples.iter().zip(samples.iter().skip(1)).map(|(a, b)| (a - mean) * (b - mean)).sum();
    let raw = products / spread;
    let count = samples.len() as f64;
    let rho = (raw + (1.0 + 4.0 * raw) / count + CAUTION / count.sqrt()).clamp(LEAST_RHO, 0.99);
    inflation_by(rho)
}

/// How many samples of a first-order autoregressive process are worth one independent one.
fn inflation_by(rho: f64) -> f64 {
    (1.0 + rho) / (1.0 - rho)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, autoregressive, rates};
    use super::*;
    use proptest::prelude::*;

    fn two_percent() -> Precision {
        Precision::new(0.02).unwrap()
    }

    /// When a rule that looks at a growing series every 100 ms stops, and whether its interval holds the true mean 1000.
    fn stop(series: &[f64]) -> (usize, bool) {
        let series = rates(series);
        for count in MIN_SAMPLES..=series.len() {
            let outlook = two_percent().judge(&series[..count]);
            if outlook.decision == Decision::Stop {
                let [low, high] = outlook.ci95().unwrap();
                return (count, low.get() <= 1000.0 && 1000.0 <= high.get());
            }
        }
        (series.len(), true)
    }

    #[test]
    fn the_interval_at_the_stop_holds_the_mean_in_nine_of_ten_runs() {
        for (phi, spread, seed) in [(0.0, 0.05, 1), (0.5, 0.05, 2), (0.8, 0.02, 3), (-0.3, 0.08, 4)] {
            let mut random = Random::seeded(seed);
            let (mut hits, mut stopped) = (0, 0);
            for _ in 0..1000 {
                let (at, holds) = stop(&autoregressive(&mut random, 400, phi, 1000.0, spread));
                hits += u32::from(holds);
                stopped += u32::from(at < 400);
            }
            assert!(hits >= 900, "phi {phi}, spread {spread}: {hits} of 1000 hold the mean");
            assert!(stopped >= 800, "phi {phi}, spread {spread}: only {stopped} of 1000 stopped");
        }
    }

    #[test]
    fn a_steady_rate_needs_two_seconds() {
        let wobble: Vec<f64> = (0..30).map(|i| if i % 2 == 0 { 990.0 } else { 1010.0 }).collect();
        assert_eq!(stop(&wobble), (20, true));
        assert_eq!(stop(&[1000.0; 30]), (20, true));
    }

    #[test]
    fn a_rate_that_hardly_moves_needs_little_more_than_two_seconds() {
        // Half a percent apart, however much neighbours are alike.
        for phi in [0.0, 0.5, 0.8] {
            let (mut random, mut hits, mut samples) = (Random::seeded(31), 0, 0);
            for _ in 0..200 {
                let (at, holds) = stop(&autoregressive(&mut random, 60, phi, 1000.0, 0.005));
                hits += u32::from(holds);
                samples += at;
            }
            assert!(
                hits >= 186 && samples <= 200 * 26,
                "phi {phi}: {hits} of 200 hold the mean, {samples} samples"
            );
        }
    }

    /// The rates of 100 ms samples of I/Os that end one after another, each after a time of its own around `spacing`.
    fn in_whole_ios(random: &mut Random, spacing: f64, jitter: f64) -> Vec<f64> {
        let mut unit = || random.below(1 << 53) as f64 / (1u64 << 53) as f64;
        let (mut end, mut samples) = (spacing * unit(), vec![0.0; 400]);
        while let Some(sample) = samples.get_mut((end / 100.0) as usize) {
            // Bytes in units that make the mean rate 1000.
            *sample += 10.0 * spacing;
            end += spacing * (1.0 + jitter * (2.0 * unit() - 1.0));
        }
        samples
    }

    #[test]
    fn a_steady_rate_of_few_large_ios_is_known_soon() {
        // 1 MiB at 80 MB/s: an I/O in 13.1 ms, 7 or 8 in a sample.
        let mut random = Random::seeded(13);
        let (mut hits, mut samples) = (0, 0);
        for _ in 0..1000 {
            let (at, holds) = stop(&in_whole_ios(&mut random, 13.1, 0.2));
            hits += u32::from(holds);
            samples += at;
        }
        assert!(hits >= 950, "{hits} of 1000 hold the mean");
        assert!(samples <= 32_000, "{} samples on average", samples / 1000);
    }

    #[test]
    fn a_slow_start_is_left_out() {
        let mut random = Random::seeded(7);
        let rest = autoregressive(&mut random, 300, 0.3, 1000.0, 0.02);
        let series = [[400.0; 15].as_slice(), &rest].concat();
        let (at, holds) = stop(&series);
        assert!(holds && (35..150).contains(&at), "{at}");
    }

    #[test]
    fn nothing_moved_and_a_rate_that_keeps_falling_never_stop() {
        assert_eq!(stop(&[0.0; 100]).0, 100);
        let falling: Vec<f64> = (0..400).map(|i| 2000.0 - 4.0 * f64::from(i)).collect();
        assert_eq!(stop(&falling).0, 400);
    }

    #[test]
    fn the_time_left_is_of_the_right_size() {
        // Noise of 10 % without autocorrelation: ±2 % takes about (1.96 × 0.1 / 0.02)² = 96 samples.
        let mut random = Random::seeded(21);
        let series = rates(&autoregressive(&mut random, 40, 0.0, 1000.0, 0.1));
        let Decision::Continue { left: Some(left) } = two_percent().judge(&series).decision else {
            panic!("it stopped")
        };
        assert!((2.0..20.0).contains(&left.as_secs_f64()), "{left}");
        assert_eq!(two_percent().judge(&series[..5]).decision, Decision::Continue { left: None });
    }

    proptest! {
        #[test]
        fn any_series_is_judged(values in prop::collection::vec(prop_oneof![Just(0.0), 0.0f64..1e12], 0..200)) {
            let outlook = two_percent().judge(&rates(&values));
            prop_assert!(outlook.rate.get().is_finite());
            if outlook.decision == Decision::Stop {
                prop_assert!(outlook.relative().unwrap() <= 0.02 + 1e-9);
            }
        }
    }
}
