//! A run that stood still for some of its time: a second in which nothing ended is in its mean like any other, and no rate
//! beside it says so.

use super::case::Case;
use crate::finding::Evidence;
use narrows_base::units::{Nanos, human};
use narrows_paste::results::{Measured, Side};

/// A stall that is named is this part of the run at least, and this long.
const PART: f64 = 0.02;
const LONG: Nanos = Nanos::from_millis(1000);

pub(super) fn find(case: &Case<'_>, measured: &Measured, side: &Side) -> Option<Vec<Evidence>> {
    one_of_a_thousand(case, measured, side)
        .or_else(|| one_at_a_time(case, measured, side))
        .or_else(|| in_series(case, measured, side))
}

fn shown(nanos: f64) -> String {
    human::time(Nanos::new(nanos as u64))
}

/// A large part of all latency is in one I/O of a thousand, and those took far longer than one of a hundred did. The part is
/// the least that it can be: each of the slowest thousandth took at least the 99.9th percentile.
fn one_of_a_thousand(case: &Case<'_>, measured: &Measured, side: &Side) -> Option<Vec<Evidence>> {
    const PART: f64 = 0.3;
    const LONGER: f64 = 20.0;
    /// Nanoseconds: what is shorter nobody calls a stall.
    const LONG: f64 = 1e8;
    /// I/Os of which one in a thousand are some.
    const FEWEST: f64 = 10_000.0;
    let counted = || Some(side.iops?.get() * side.elapsed_ns?.as_secs_f64());
    let ios = side.ios.map(|ios| ios as f64).or_else(counted)?;
    let latency = side.latency_ns.as_ref().filter(|_| ios >= FEWEST)?;
    let mean = latency.mean.filter(|mean| *mean > 0.0)?;
    let slowest =
        latency.percentiles.iter().find(|one| (one.percent - 99.9).abs() < 1e-6).map(|one| one.latency_ns)?;
    let part = slowest / 1000.0 / mean;
    let is_stall = slowest >= LONG && slowest >= LONGER * latency.p99?;
    (is_stall && (PART..=1.0).contains(&part)).then(|| {
        let value = format!(
            "{} of all latency is in one I/O of a thousand: {} and more, where 99 of 100 took no longer than {}",
            human::percent(part),
            shown(slowest),
            shown(latency.p99.unwrap_or_default())
        );
        vec![case.evidence(measured, "stalls", value)]
    })
}

/// The longest I/O, where no other was in flight: the run stood still for as long.
fn one_at_a_time(case: &Case<'_>, measured: &Measured, side: &Side) -> Option<Vec<Evidence>> {
    /// A device on which each I/O takes long does not stall.
    const LONGER: f64 = 100.0;
    let jobs = measured.work.jobs?;
    // Threads of sysbench wait for each request; of others the depth is told.
    let is_alone = jobs == 1
        && measured.asked_in_flight().is_none_or(|count| count <= 1.0)
        && (measured.work.queue_depth.is_some() || measured.latency_ns.is_some());
    // Where reads and writes are not told apart, the longest of both is that of the run.
    let latency = side.latency_ns.as_ref().or(measured.latency_ns.as_ref()).filter(|_| is_alone)?;
    let (mean, longest, run) = (latency.mean?, latency.max?, side.elapsed_ns?);
    let is_stall = longest >= LONG.get() as f64 && longest >= LONGER * mean;
    let part = longest / run.get().max(1) as f64;
    (is_stall && (PART..=1.0).contains(&part)).then(|| {
        let value = format!("{} of {}, and one I/O at a time", shown(longest), human::time(run));
        vec![case.evidence(measured, "longest I/O: the run stood still for as long", value)]
    })
}

/// Spans of a log or display in which next to nothing ended.
fn in_series(case: &Case<'_>, measured: &Measured, side: &Side) -> Option<Vec<Evidence>> {
    /// Of the median.
    const NOTHING: f64 = 0.02;
    const FEWEST: usize = 10;
    let span = side.series_span_ns.filter(|_| side.series.len() >= FEWEST)?;
    let mut rates: Vec<f64> = side.series.iter().map(|rate| rate.get()).collect();
    // The last span is mostly a part of one.
    rates.pop();
    let mut sorted = rates.clone();
    sorted.sort_by(f64::total_cmp);
    let median = sorted.get(sorted.len() / 2).copied().filter(|median| *median > 0.0)?;
    let still = rates.iter().filter(|rate| **rate < NOTHING * median).count();
    let time = span.get() as f64 * still as f64;
    let part = still as f64 / rates.len() as f64;
    (time >= LONG.get() as f64 && part >= PART).then(|| {
        let value = format!("{} of {}", shown(time), shown(span.get() as f64 * rates.len() as f64));
        let source = side.series_source.clone().unwrap_or_else(|| case.source(measured));
        vec![Evidence::new("time in which next to nothing ended", value, source)]
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{codes, fio_read, verdict_of, verdicts};
    use crate::finding::Code;
    use narrows_base::units::{BytesPerSec, Nanos};
    use narrows_paste::results::surroundings::Surroundings;
    use narrows_paste::results::{Imported, Latency, Percentile};

    fn is_unsteady(result: &Imported) -> bool {
        codes(&verdict_of(result, &Surroundings::default())).contains(&Code::Unsteady)
    }

    #[test]
    fn a_run_that_stood_still_for_much_of_its_time_is_unsteady_and_one_with_a_usual_tail_is_not() {
        let percentiles = |at_99_9: f64| {
            let of = |percent, latency_ns| Percentile { percent, latency_ns };
            vec![of(50.0, 8.8e5), of(99.0, 1.45e6), of(99.9, at_99_9)]
        };
        let of = |at_99_9: f64, ios: Option<u64>| {
            let mut result = fio_read("randread", 60);
            let side = result.measurements[0].read.as_mut().expect("reads");
            side.ios = ios;
            side.latency_ns = Some(Latency::of_mean(1.89e6).with_percentiles(percentiles(at_99_9)));
            is_unsteady(&result)
        };
        assert!(of(9.9e8, Some(57_000)) && of(9.9e8, None), "12 500 a second for a minute");
        assert!(!of(9.9e8, Some(900)) && !of(2e7, Some(57_000)));
    }

    #[test]
    fn the_longest_of_ios_that_wait_for_each_other_is_a_stall_of_the_run() {
        let of = |longest: f64, depth: u32| {
            let mut result = fio_read("randread", 60);
            result.measurements[0].work.queue_depth = Some(depth);
            let side = result.measurements[0].read.as_mut().expect("reads");
            side.latency_ns =
                Some(Latency { mean: Some(80_000.0), max: Some(longest), ..Latency::default() });
            is_unsteady(&result)
        };
        assert!(of(2.5e9, 1));
        assert!(!of(0.9e9, 1), "shorter than a second");
        assert!(!of(2.5e9, 32), "others went on");
        let sysbench = |longest: &str| {
            let text = format!(
                "sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)\n\nNumber of threads: 1\nExtra file open flags: directio\n128 files, 1GiB each\n\
                128GiB total file size\nBlock size 16KiB\nDoing random read test\nFile operations:\n    reads/s:                      3475.24\n\
                \x20   writes/s:                     0.00\nThroughput:\n    read, MiB/s:                  54.30\n    written, MiB/s:               0.00\n\
                General statistics:\n    total time:                          100.0116s\n    total number of events:              347554\n\
                Latency (ms):\n         min:                                    0.00\n         avg:                                    0.28\n\
                \x20        max:                                {longest}\n         95th percentile:                        0.35\n"
            );
            codes(&verdicts(&text).remove(0)).contains(&Code::Unsteady)
        };
        assert!(sysbench("4364.97") && !sysbench("64.97"));
    }

    #[test]
    fn seconds_of_nothing_in_a_log_are_told_whatever_the_windows_say() {
        let of = |still: usize| {
            let mut result = fio_read("randread", 300);
            let side = result.measurements[0].read.as_mut().expect("reads");
            side.series =
                (0..300).map(|at| BytesPerSec::new(if at % 60 < still { 0.0 } else { 5.1e7 })).collect();
            side.series_span_ns = Some(Nanos::from_millis(1000));
            is_unsteady(&result)
        };
        assert!(of(3) && !of(0));
        assert!(!of(1), "one second of sixty is less than a fiftieth");
    }
}
