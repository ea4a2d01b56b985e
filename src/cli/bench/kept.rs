//! What a saved run asks for. The file may have been changed by anybody, so all of it keeps to the ranges of the command line.

use std::path::Path;
use std::time::Duration;

use crate::cli::Failure;
use crate::cli::values::LONGEST;
use narrows_base::units::Nanos;
use narrows_load::preset::LoadSpec;
use narrows_load::scan::ScanPlan;
use narrows_report::bench::sweep::SweepReport;
use narrows_report::bench::{BenchReport, Settings};

/// The most of anything in a load that can be typed: the streams of `sweep --threads`.
const MOST: u32 = 65_536;
/// No grid of block sizes, depths and mixes that anybody has the time for is larger.
const TESTS: usize = 100_000;

/// Whether a saved bench asks for what could have been typed.
///
/// # Errors
/// The first setting that could not.
pub(super) fn bench(path: &Path, kept: &BenchReport) -> Result<(), Failure> {
    asked_of_bench(kept).map_err(|why| changed(path, &why))
}

/// Whether a saved sweep asks for what could have been typed.
///
/// # Errors
/// The first setting that could not.
pub(in crate::cli) fn sweep(path: &Path, kept: &SweepReport) -> Result<(), Failure> {
    asked_of_sweep(kept).map_err(|why| changed(path, &why))
}

fn changed(path: &Path, why: &str) -> Failure {
    Failure::new(format!("`{}` was changed since it was saved: {why}", path.display()))
        .hint("run it anew, with --save FILE")
}

fn asked_of_bench(kept: &BenchReport) -> Result<(), String> {
    let Settings { precision, max_time_ns, duration_ns, warm_up_ns, scan, .. } = &kept.settings;
    times(*precision, *max_time_ns, *duration_ns, *warm_up_ns)?;
    let is_scan = |plan: &ScanPlan| (2..=10_000).contains(&plan.samples) && plan.sample_size.get() > 0;
    within("scan", scan.as_ref().is_none_or(is_scan))
}

fn asked_of_sweep(kept: &SweepReport) -> Result<(), String> {
    times(kept.precision, kept.max_time_ns, kept.duration_ns, kept.warm_up_ns)?;
    within("number of tests", kept.asked.len() <= TESTS)?;
    within("load", kept.asked.iter().all(is_load))
}

fn is_load(load: &LoadSpec) -> bool {
    let counts = [load.queue_depth, load.parallel.count()];
    load.block_size.get() > 0
        && load.write_percent <= 100
        && counts.iter().all(|count| (1..=MOST).contains(count))
}

fn times(precision: f64, longest: Nanos, fixed: Option<Nanos>, warm_up: Nanos) -> Result<(), String> {
    let is_time = |time: Nanos| time.duration() <= LONGEST;
    within("precision", (0.001..=0.5).contains(&precision))?;
    within("longest time of a test", longest.duration() > Duration::ZERO && is_time(longest))?;
    within("time of a test", fixed.is_none_or(|time| time.duration() > Duration::ZERO && is_time(time)))?;
    within("warm-up", is_time(warm_up))
}

fn within(what: &str, is_within: bool) -> Result<(), String> {
    if is_within { Ok(()) } else { Err(format!("its {what} is none that can be asked for")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::units::Bytes;
    use narrows_load::measurement::Pattern;
    use narrows_load::preset::Parallel;

    fn load() -> LoadSpec {
        LoadSpec::reading(Pattern::Random, Bytes::from_kib(4), 1)
    }

    #[test]
    fn a_load_that_nobody_could_type_is_none() {
        assert!(is_load(&load()));
        let others = [
            LoadSpec { block_size: Bytes::new(0), ..load() },
            LoadSpec { queue_depth: 0, ..load() },
            LoadSpec { queue_depth: u32::MAX, ..load() },
            LoadSpec { parallel: Parallel::Streams(0), ..load() },
            LoadSpec { write_percent: 200, ..load() },
        ];
        assert!(others.iter().all(|load| !is_load(load)));
    }

    #[test]
    fn a_time_is_one_that_could_be_typed() {
        let second = Nanos::from_millis(1000);
        assert_eq!(times(0.02, second, None, Nanos::new(0)), Ok(()));
        for precision in [f64::NAN, 0.0, -1.0, 2.0] {
            assert!(times(precision, second, None, second).is_err());
        }
        assert!(times(0.02, Nanos::new(0), None, second).is_err());
        assert!(times(0.02, second, Some(Nanos::new(u64::MAX)), second).is_err());
        assert!(times(0.02, second, None, Nanos::new(u64::MAX)).is_err());
    }
}
