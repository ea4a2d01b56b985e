//! Numbers of one result that contradict each other: it was edited, or two parts of it are of different runs.

use super::case::{Case, mean};
use crate::finding::{Advice, Code, Evidence, Finding, Severity};
use narrows_base::units::human;
use narrows_paste::results::{Measured, Op, Side, Tool};

/// fio rounds nothing by more than this; rates below some I/Os per second are counted too coarsely to compare.
const FAR: f64 = 0.03;
const FEWEST: u64 = 1000;

/// Marks take the best rate and the best latency of several passes, each by itself.
const PASSES: f64 = 1.5;

pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    if let Some(finding) = derived(case) {
        return vec![finding];
    }
    for (measured, op, side) in case.sides() {
        let (severity, mut evidence) = match case.result.tool {
            Tool::Fio => (Severity::Limit, fio(case, measured, op, side)),
            Tool::Kdiskmark | Tool::Crystaldiskmark => (Severity::Info, marks(case, measured, side)),
            _ => (Severity::Limit, Vec::new()),
        };
        let impossible = [out_of_order(case, measured, side), blocks(case, measured, side)];
        let mut severity = severity;
        for seen in impossible.into_iter().flatten() {
            severity = Severity::Limit;
            evidence.push(seen);
        }
        if evidence.is_empty() {
            continue;
        }
        let summary = format!("The numbers of the {} contradict each other", case.name(measured, op));
        return vec![
            case.finding(Code::InconsistentNumbers, severity, summary)
                .with_evidence(evidence)
                .not_so_when("the tool measured these numbers in different parts of the run")
                .with_advice([Advice::new("take the tool's own output, whole and as it was printed")]),
        ];
    }
    Vec::new()
}

/// A sum, mean or score that is not that of the numbers beside it.
fn derived(case: &Case<'_>) -> Option<Finding> {
    let wrong: Vec<_> = case.result.derived.iter().filter(|one| !one.agrees()).collect();
    let first = wrong.first()?;
    let shown = |value: f64| format!("{value:.6}").trim_end_matches('0').trim_end_matches('.').to_owned();
    let evidence = wrong.iter().take(3).map(|one| {
        let value =
            format!("{} is printed, {} is what its parts make", shown(one.printed), shown(one.computed));
        Evidence::new(one.name.clone(), value, case.result.place())
    });
    let summary = format!("The {} is not that of the numbers beside it", first.name);
    Some(
        case.finding(Code::InconsistentNumbers, Severity::Limit, summary)
            .with_evidence(evidence)
            .not_so_when("parts of the same run stand elsewhere")
            .with_advice([Advice::new("take the tool's own output, whole and as it was printed")]),
    )
}

fn differ(a: f64, b: f64, far: f64) -> bool {
    a > 0.0 && b > 0.0 && (a / b - 1.0).abs() > far
}

/// Little's law: I/Os per second × mean latency are the I/Os in flight, of which there are no more than were asked for.
fn more_in_flight(case: &Case<'_>, measured: &Measured, side: &Side) -> Option<Evidence> {
    /// Rounding, and I/Os that cross the ends of the measured time.
    const MORE: f64 = 1.25;
    // The command beside a part that somebody quoted may be that of another run.
    let jobs = measured.work.jobs.filter(|_| !case.result.is_headless);
    let asked = jobs.and(measured.asked_in_flight())?;
    let real = mean(side)? * 1e-9 * side.iops?.get();
    (real > MORE * asked).then(|| {
        let value = format!("{} and {}", human::count(real), human::count(asked));
        case.evidence(measured, "I/Os in flight by rate × mean latency, and asked for", value)
    })
}

fn fio(case: &Case<'_>, measured: &Measured, _: Op, side: &Side) -> Vec<Evidence> {
    let mut seen: Vec<Evidence> = more_in_flight(case, measured, side).into_iter().collect();
    if side.ios.is_some_and(|ios| ios < FEWEST) {
        return seen;
    }
    let rate = side.bytes_per_second;
    if let Some(second) = side.second_rate.filter(|second| differ(second.get(), rate.get(), FAR)) {
        let value = format!("{} and {}", human::rate(rate), human::rate(second));
        seen.push(case.evidence(measured, "`bw_bytes` and `bw` × 1024", value));
    }
    // Text rounds counts of I/Os per second; JSON does not.
    if let (Some(iops), Some(elapsed), Some(ios), Some(_)) =
        (side.iops, side.elapsed_ns, side.ios, side.second_rate)
    {
        let counted = iops.get() * elapsed.as_secs_f64();
        if differ(counted, ios as f64, FAR) {
            let value = format!("{} and {}", human::count(counted), human::count(ios as f64));
            seen.push(case.evidence(measured, "rate × time and the count of I/Os", value));
        }
    }
    seen
}

/// A mean above the greatest, or percentiles that fall.
fn out_of_order(case: &Case<'_>, measured: &Measured, side: &Side) -> Option<Evidence> {
    /// What the buckets of histograms do not resolve.
    const ROUNDED: f64 = 1.05;
    let latency = side.latency_ns.as_ref()?;
    let shown = |nanos: f64| human::time(narrows_base::units::Nanos::new(nanos.max(0.0) as u64));
    let pair = |what: &str, small: Option<f64>, large: Option<f64>| {
        let (small, large) = (small?, large?);
        // Below some microseconds tools print few digits.
        (small > ROUNDED * large + 1_000.0)
            .then(|| case.evidence(measured, what, format!("{} and {}", shown(small), shown(large))))
    };
    pair("mean and maximum of the latency", latency.mean, latency.max)
        .or_else(|| pair("median and 99th percentile", latency.p50, latency.p99))
}

/// I/Os per second × the block size is the rate, where a tool moves blocks of one size.
fn blocks(case: &Case<'_>, measured: &Measured, side: &Side) -> Option<Evidence> {
    let fixed = matches!(case.result.tool, Tool::Kdiskmark | Tool::Crystaldiskmark | Tool::Diskspd);
    let (size, iops) = measured.work.block_size.filter(|_| fixed).zip(side.iops)?;
    // A rate of some I/Os per second is printed with few digits.
    if iops.get() < 100.0 {
        return None;
    }
    let product = narrows_base::units::BytesPerSec::new(size.as_f64() * iops.get());
    differ(product.get(), side.bytes_per_second.get(), FAR).then(|| {
        let value = format!("{} and {}", human::rate(product), human::rate(side.bytes_per_second));
        case.evidence(measured, "I/Os per second × block size, and the rate", value)
    })
}

fn marks(case: &Case<'_>, measured: &Measured, side: &Side) -> Vec<Evidence> {
    let by_little = measured.asked_in_flight().zip(side.iops).map(|(depth, iops)| depth / iops.get() * 1e9);
    let Some((expected, latency)) = by_little.zip(mean(side)) else { return Vec::new() };
    if !expected.is_finite() || expected < PASSES * latency && latency < PASSES * expected {
        return Vec::new();
    }
    let shown = |nanos: f64| human::time(narrows_base::units::Nanos::new(nanos as u64));
    vec![case.evidence(
        measured,
        "latency, and depth ÷ I/Os per second",
        format!("{} and {}", shown(latency), shown(expected)),
    )]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{codes, fio_read, verdict_of};
    use super::*;
    use narrows_base::units::BytesPerSec;
    use narrows_paste::results::Derived;
    use narrows_paste::results::surroundings::Surroundings;

    #[test]
    fn a_score_is_that_of_its_parts() {
        let mut result = fio_read("randread", 60);
        let mut score = Derived { name: "score".to_owned(), printed: 2.0, computed: 2.001, rounding: 0.001 };
        result.derived = vec![score.clone()];
        assert!(verdict_of(&result, &Surroundings::default()).trusted);
        score.printed = 2.1;
        result.derived = vec![score];
        assert!(codes(&verdict_of(&result, &Surroundings::default())).contains(&Code::InconsistentNumbers));
    }

    #[test]
    fn no_more_ios_are_in_flight_than_were_asked_for() {
        use super::super::testing::with_latency;
        let found = |nanos: f64| {
            let result = with_latency(fio_read("randread", 60), nanos);
            codes(&verdict_of(&result, &Surroundings::default())).contains(&Code::InconsistentNumbers)
        };
        // 12 500 a second at a depth of 1: 80 µs each.
        assert!(!found(80_000.0) && found(120_000.0));
    }

    #[test]
    fn two_rates_of_one_side_must_agree() {
        let mut result = fio_read("randread", 60);
        let side = result.measurements[0].read.as_mut().expect("reads");
        side.second_rate = Some(side.bytes_per_second);
        assert!(verdict_of(&result, &Surroundings::default()).trusted);
        let side = result.measurements[0].read.as_mut().expect("reads");
        side.second_rate = Some(BytesPerSec::new(side.bytes_per_second.get() * 1.1));
        assert!(codes(&verdict_of(&result, &Surroundings::default())).contains(&Code::InconsistentNumbers));
    }
}
