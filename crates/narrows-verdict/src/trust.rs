//! Is a run to be believed? The load generator, caches and chance are suspected before hardware is.
//!
//! A run is trusted when none of these holds: its bytes came from a cache, it is above a physical ceiling, I/Os failed,
//! it lasted under a second or made too few I/Os (or none: then it names nothing), its own samples put its rate no closer
//! than ±10 % (±33 % where it did not hold), or the generator was the bottleneck (then its rate is a floor of what
//! the path can do, not its limit). An unsteady run stays trusted so far: its rate is what happened, and its confidence
//! interval shows the spread; a finding says that it did not hold.

use narrows_base::measurement::Measurement;
use narrows_base::stats::{self, Steadiness, ci95, student_t};
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_model::ceiling::{Basis, Direction};
use narrows_model::path::{Hop, HopKind};

use crate::case::{self, Case};
use crate::finding::Evidence;

/// The shortest run that says anything, in nanoseconds.
const SHORTEST: Nanos = Nanos::from_millis(1000);
/// The least number of I/Os that says anything.
const FEWEST: u64 = 20;
/// Devices below this part of the bytes asked for did not deliver them. The rest allows for the edges of the two
/// observation windows.
const SEEN_BY_DEVICE: f64 = 0.9;
/// Workers tell of what has ended every 10 ms; twice that on a busy machine.
const TOLD_WITHIN: Nanos = Nanos::from_millis(20);
/// Reads that complete faster than this did not leave memory: the fastest media need 3.4 µs for 512 bytes, NAND 50 µs.
const MEMORY_LATENCY: Nanos = Nanos::new(3_000);

/// The findings of an audit of one run.
#[derive(Debug, Clone, Default)]
pub(super) struct Audit {
    /// Observations that the bytes came from a cache, if they did.
    pub(super) cached: Option<Vec<Evidence>>,
    /// The narrowest hop whose physical ceiling the run exceeds, and that ceiling as a path rate.
    pub(super) above: Option<(usize, BytesPerSec)>,
    /// Whether I/Os failed.
    pub(super) failed: bool,
    /// What did not happen, if nothing that was asked for ended.
    pub(super) silent: Option<String>,
    /// Why the run is too short, if it is.
    pub(super) too_short: Option<String>,
    /// How far the rate moved, if it did not hold.
    pub(super) unsteady: Option<Steadiness>,
}

impl Audit {
    /// Audits the run of a case; an empty audit without one.
    pub(super) fn of(case: &Case<'_>) -> Self {
        let Some(measurement) = case.measurement() else { return Self::default() };
        let cached = cached(case);
        let unsteady = windows(&measurement.series).and_then(|means| Steadiness::of(&means));
        let unsteady = unsteady.filter(|rate| !rate.steady);
        Self {
            above: if cached.is_some() { None } else { exceeded(case, measurement.bytes_per_second) },
            cached,
            failed: measurement.errors > 0,
            silent: silent(measurement, case.direction),
            too_short: too_short(measurement).or_else(|| too_wide(measurement, unsteady.is_some())),
            unsteady,
        }
    }

    /// Whether the rate is that of the path, as far as this audit sees.
    pub(super) const fn is_clean(&self) -> bool {
        self.cached.is_none() && self.above.is_none() && !self.failed && self.too_short.is_none()
    }
}

/// Whether the bytes came from a cache: the devices (or, on a network path, the interface) moved clearly fewer.
fn cached(case: &Case<'_>) -> Option<Vec<Evidence>> {
    let (seen, evidence) = bytes_below(case)?;
    let measurement = case.measurement()?;
    let activity = &case.run?.activity;
    // What was under way when counters were first read may have ended on the device and be counted by us afterwards, and
    // workers tell of what ended a little later.
    let under_way = case.asked_outstanding().unwrap_or(0.0) * f64::from(measurement.generator.threads.max(1));
    let untold = measurement.bytes_per_second.get() * TOLD_WITHIN.as_secs_f64();
    let asked = measurement.bytes.as_f64() - activity.missed.as_f64();
    let of = |asked: f64| if asked > 0.0 { seen / asked } else { 1.0 };
    let elapsed = activity.elapsed.as_secs_f64();
    let by_rate = if elapsed > 0.0 { BytesPerSec::new(seen / elapsed) } else { BytesPerSec::default() };
    let by_rate = by_rate.fraction_of(measurement.bytes_per_second);
    let part = of(asked).max(by_rate);
    let at_most = of(asked - under_way - untold).max(part);
    let too_fast = measurement.latency.p50.is_some_and(|median| median < MEMORY_LATENCY)
        && case.leaves().iter().all(|(_, _, device)| device.synthetic.is_none());
    (at_most < SEEN_BY_DEVICE || too_fast && part < 1.0).then(|| {
        let mut all = vec![Evidence::new("bytes asked for", measurement.bytes, "narrows' own count")];
        all.extend(evidence);
        all.push(Evidence::new("part that came from below", human::percent(part), "the quotient of both"));
        all
    })
}

/// The bytes that devices or, failing them, interfaces moved during the run; `None` when no counter covers the path.
fn bytes_below(case: &Case<'_>) -> Option<(f64, Vec<Evidence>)> {
    let leaves = case.leaves();
    // Memory-backed block devices keep no counters worth the name (brd and zram complete in the caller).
    let uncounted = |what: &str| matches!(what, "brd" | "zram" | "null_blk");
    if leaves.iter().any(|(_, _, device)| device.synthetic.as_deref().is_some_and(uncounted)) {
        return None;
    }
    if leaves.is_empty() {
        return bytes_through_network(case);
    }
    let mut total = 0.0;
    let mut evidence = Vec::new();
    for (_, hop, device) in leaves {
        let moved = case.moved(case.hop_disk(hop)?);
        total += moved;
        let fact = format!("bytes moved by {}", device.block);
        evidence.push(Evidence::new(fact, Bytes::new(moved as u64), "/proc/diskstats"));
    }
    Some((total, evidence))
}

fn bytes_through_network(case: &Case<'_>) -> Option<(f64, Vec<Evidence>)> {
    let run = case.run?;
    let (interface, rate) = case.interface_rate()?;
    let bytes = rate.get() * run.activity.elapsed.as_secs_f64();
    let source = format!("/sys/class/net/{interface}/statistics");
    let shown = Bytes::new(bytes as u64);
    Some((bytes, vec![Evidence::new(format!("bytes through {interface}"), shown, source)]))
}

/// The narrowest hop whose ceiling a rate exceeds. Only ceilings that are arithmetic on facts count: drives do beat
/// their ratings, and estimates are estimates.
pub(super) fn exceeded(case: &Case<'_>, measured: BytesPerSec) -> Option<(usize, BytesPerSec)> {
    let exceeded = case.hops().filter(|(_, hop)| is_physical(hop)).filter_map(|(index, hop)| {
        let is_arithmetic = case.ceiling(index)?.limit()?.basis == Basis::Formula;
        let is_above = measured * case::carried(case, hop) > case.bound(index)?;
        (is_arithmetic && is_above).then_some((index, case.path_rate(index)?))
    });
    exceeded.min_by(|a, b| a.1.get().total_cmp(&b.1.get()))
}

/// Whether a hop is hardware that moves bytes at a fixed rate.
pub(super) const fn is_physical(hop: &Hop) -> bool {
    use HopKind::{Chipset, Controller, Hba, Link, Network, Sas, Sata, Socket, Switch, Usb};
    matches!(hop.kind(), Socket | Chipset | Switch | Link | Usb | Sata | Sas | Hba | Controller | Network)
}

/// Nothing that was asked for ended in all the time of a run: `no read ended in 3 s`. A run that was ended early is too
/// short, one whose I/Os failed has failed.
fn silent(measurement: &Measurement, direction: Direction) -> Option<String> {
    let is_silent = measurement.latency.count == 0
        && measurement.bytes_per_second.get() <= 0.0
        && measurement.errors == 0
        && measurement.cut_short.is_none();
    is_silent.then(|| format!("no {} ended in {}", direction.word(), measurement.elapsed_ns))
}

fn too_short(measurement: &Measurement) -> Option<String> {
    if let Some(reason) = &measurement.cut_short {
        return Some(format!("it ended after {}: {reason}", measurement.elapsed_ns));
    }
    if measurement.elapsed_ns < SHORTEST {
        return Some(format!("it lasted {}", measurement.elapsed_ns));
    }
    (measurement.latency.count < FEWEST)
        .then(|| format!("it made {} I/Os in {}", measurement.latency.count, measurement.elapsed_ns))
}

/// A rate that scatters so much that its mean is not known. One that does not hold has a finding of its own, until nothing follows
/// from its interval.
fn too_wide(measurement: &Measurement, is_unsteady: bool) -> Option<String> {
    let widest = if is_unsteady { WIDEST_OF_UNSTEADY } else { WIDEST_INTERVAL };
    let interval = interval_of_series(&measurement.series).filter(|interval| *interval > widest)?;
    let shown = human::percent(interval);
    Some(format!("its own samples put its rate within ±{shown}, no closer, in {}", measurement.elapsed_ns))
}

/// Two samples for each window: the course of fewer says nothing.
const FEWEST_SAMPLES: usize = 2 * stats::WINDOWS;

/// The means of equal windows of a series; `None` when it is too short for them.
pub(crate) fn windows(series: &[BytesPerSec]) -> Option<[f64; stats::WINDOWS]> {
    stats::windows(series).filter(|_| series.len() >= FEWEST_SAMPLES)
}

/// A mean that its own samples put within this part of it, and no closer, is no measurement of a rate yet.
pub(crate) const WIDEST_INTERVAL: f64 = 0.1;
/// The same for one that did not hold, whose interval shows the spread: beyond it the upper end is twice the lower one.
const WIDEST_OF_UNSTEADY: f64 = 1.0 / 3.0;

/// How sure a run's mean rate is, by its own samples: one rule for our runs and those of other tools.
///
/// Half the width of the 95 % confidence interval of a series, as a part of its mean: by the means of batches, which allow
/// for autocorrelation. `None` when it has too few samples, or nothing moved.
pub(crate) fn interval_of_series(series: &[BytesPerSec]) -> Option<f64> {
    let [low, high] = ci95(series)?;
    let mean = (low.get() + high.get()) / 2.0;
    (mean > 0.0).then(|| (high.get() - low.get()) / 2.0 / mean)
}

/// The same where a tool tells the standard deviation of so many samples, as a part of their mean, and not how they follow
/// each other. They are taken to resemble their neighbours by a half, of which an independent sample is worth three.
pub(crate) fn interval_of_samples(deviation: f64, samples: u64) -> Option<f64> {
    const FEWEST: u64 = 10;
    /// (1 + ρ) ÷ (1 − ρ) with ρ = ½.
    const WORTH: f64 = 3.0;
    let independent = samples as f64 / WORTH;
    (samples >= FEWEST)
        .then(|| student_t(0.95, (independent - 1.0).max(1.0)) * deviation / independent.sqrt())
}

/// The same of samples that do not hang on each other: Student's t for one less than there are, over √n.
pub(crate) fn interval_of_independent(deviation: f64, samples: u64) -> Option<f64> {
    /// Below six degrees of freedom, where the expansion is not exact: any table of the distribution.
    const FEW: [f64; 5] = [12.706, 4.303, 3.182, 2.776, 2.571];
    let freedom = samples.checked_sub(1).filter(|freedom| *freedom > 0 && deviation.is_finite())?;
    let few = usize::try_from(freedom - 1).ok().and_then(|at| FEW.get(at)).copied();
    let quantile = few.unwrap_or_else(|| student_t(0.95, freedom as f64));
    Some(quantile * deviation / (samples as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_worked_example() {
        // Batch means 95 and 105 in turn: 3.770 of 100, as `stats::ci95` works it out.
        let series: Vec<BytesPerSec> =
            (0..20).map(|i| BytesPerSec::new(if i / 2 % 2 == 0 { 95.0 } else { 105.0 })).collect();
        assert!((interval_of_series(&series).expect("enough") - 0.0377).abs() < 1e-4);
        assert_eq!(interval_of_series(&series[..10]), None);
    }

    #[test]
    fn few_independent_samples_have_a_wide_interval() {
        // t = 12.706 with one degree of freedom, ÷ √2; 3.182 with three, ÷ 2.
        assert!((interval_of_independent(0.01, 2).expect("two") - 0.089_85).abs() < 1e-4);
        assert!((interval_of_independent(0.35, 4).expect("four") - 0.556_9).abs() < 1e-3);
        assert_eq!(interval_of_independent(0.01, 1), None);
    }

    #[test]
    fn samples_are_worth_a_third() {
        // 30 samples are worth 10: t = 2.262 with 9 degrees of freedom, ÷ √10 = 0.7153 standard deviations.
        assert!((interval_of_samples(0.1, 30).expect("enough") - 0.071_53).abs() < 1e-4);
        assert_eq!(interval_of_samples(0.1, 9), None);
    }
}
