//! Something counts the I/Os or bytes and lets through no more: a cloud volume's limit, a hypervisor's, a cgroup's.
//!
//! No medium is as even as a limiter, and none stays at one rate whatever the queue. One sign alone can be chance;
//! each of these rules asks for two.

use std::ops::RangeInclusive;

use super::result::{Case, Run, Signs, iops_of, is_mixed, is_random, of_the_mean, time};
use crate::finding::{Code, Confidence, Finding, Severity};
use narrows_base::units::{BytesPerSec, human};
use narrows_paste::results::surroundings::{Cap, Word};
use narrows_paste::results::{Durability, Op, Percentile, Tool};

/// Limits that volumes are sold with, in I/Os per second.
const SOLD_IOPS: [f64; 9] = [100.0, 500.0, 1000.0, 3000.0, 5000.0, 7500.0, 16_000.0, 20_000.0, 64_000.0];

const THROTTLE_CHECKS: [fn(&Run<'_>) -> Option<Signs>; 8] = [
    both_ways,
    paced,
    even_and_slow,
    round_and_even,
    alike_on_every_host,
    parked,
    whatever_the_queue,
    whatever_the_size,
];

/// Whether a run shows a limiter by itself.
pub(super) fn is_held(run: &Run<'_>) -> bool {
    signs(run).is_some()
}

fn signs(run: &Run<'_>) -> Option<Signs> {
    THROTTLE_CHECKS.iter().find_map(|check| check(run))
}

pub(super) fn find(case: &Case<'_>) -> Option<Finding> {
    as_told(case).or_else(|| at_a_cap(case)).or_else(|| case.runs().find_map(|run| held(&run)))
}

fn held(run: &Run<'_>) -> Option<Finding> {
    let signs = signs(run)?;
    let rate = run.side.iops.map_or_else(|| run.rate().to_string(), |iops| iops.to_string());
    let name = run.name();
    let summary = format!("A rate limiter held the {name} at {rate}: the storage behind it can do more");
    let found = Finding::of(run.case, Code::Throttled, Severity::Limit, summary)
        .with_evidence(signs.evidence)
        .not_so_when("the volume, host and group have no limit of I/Os or bytes")
        .advise(
            "look up the limits of the volume and of the machine's size; a burst rate lasts only as long as \
             its credits",
        );
    Some(found.with_confidence(signs.confidence))
}

/// The job was told to go no faster.
fn as_told(case: &Case<'_>) -> Option<Finding> {
    let (run, told) = case.runs().find_map(|run| Some((run, run.measured.work.held_to.as_deref()?)))?;
    let summary = format!("The {} were held to `{told}` by the job itself", run.name());
    let found = Finding::of(case, Code::Throttled, Severity::Limit, summary)
        .seen("asked for", told, run.source())
        .not_so_when("the storage is slower than that, which the same job without the option shows");
    Some(found.advise("for capacity, leave the option out; for latency at a rate, compare at this rate"))
}

/// The rate is that of a limit which stands beside the run.
fn at_a_cap(case: &Case<'_>) -> Option<Finding> {
    const REACHED: RangeInclusive<f64> = 0.9..=1.05;
    let is_at = |run: &Run<'_>, cap: &Cap| {
        let rate = if cap.counts_ios { run.side.iops.map(|iops| iops.get()) } else { Some(run.rate().get()) };
        cap.op == run.op && rate.is_some_and(|rate| REACHED.contains(&(rate / cap.limit)))
    };
    let (run, cap) =
        case.runs().find_map(|run| Some((run, case.around.caps.iter().find(|cap| is_at(&run, cap))?)))?;
    let limit = match cap.counts_ios {
        true => format!("{} I/Os per second", human::count(cap.limit)),
        false => human::rate(BytesPerSec::new(cap.limit)),
    };
    let summary = format!("The {} were held to {limit} by `{}`", run.name(), cap.text);
    let found = Finding::of(case, Code::Throttled, Severity::Limit, summary)
        .seen("limit", &cap.text, &cap.source)
        .seen("rate", run.rate(), run.source())
        .not_so_when("the rate stays when the limit is lifted")
        .advise("lift the limit, and measure again: what the storage can do is not told by this run");
    // The text does not tell that the limit is of the device that was measured.
    Some(found.with_confidence(Confidence::Medium))
}

/// The same I/Os per second at a block size and at one of eight times as many bytes and more, of random I/Os that queue:
/// they are counted, not carried. An array of disks that seek has nearly that, so that it must not be one.
fn whatever_the_size(run: &Run<'_>) -> Option<Signs> {
    const TIMES: f64 = 8.0;
    /// YABS prints two digits of them.
    const ALIKE: f64 = 0.06;
    /// More than a few disks seek for.
    const FEWEST: f64 = 1000.0;
    let seeks = run.has(Word::Rotating).or_else(|| run.has(Word::Array)).is_some();
    let iops = run.side.iops?.get();
    let queues = run.measured.asked_in_flight()? >= 8.0 && run.is_random();
    if !queues || seeks || iops < FEWEST {
        return None;
    }
    let block = run.measured.work.block_size?.as_f64();
    let larger = run.case.siblings().find(|one| {
        let is_larger = one.work.block_size.is_some_and(|size| size.as_f64() >= TIMES * block);
        let same_queue = one.asked_in_flight() == run.measured.asked_in_flight() && is_random(one);
        is_larger && same_queue && (iops_of(one, run.op) / iops - 1.0).abs() <= ALIKE
    })?;
    let signs = [run.measured, larger].into_iter().fold(run.signs(), |signs, one| {
        let size = one.work.block_size.map_or_else(String::new, human::bytes);
        let value = human::count(iops_of(one, run.op));
        signs.told(format!("I/Os per second of {size}"), value, run.case.source(one))
    });
    Some(signs)
}

/// The sold limit within 3 % of a rate.
fn sold(iops: f64) -> Option<f64> {
    SOLD_IOPS.into_iter().find(|limit| (iops / limit - 1.0).abs() <= 0.03)
}

/// Reads and writes, measured apart, at one rate, which is a round one: media read and write at different rates.
fn both_ways(run: &Run<'_>) -> Option<Signs> {
    let iops = run.side.iops?.get();
    let limit = sold(iops)?;
    let rate = |op: Op| {
        let all = run.case.beside.measured().map(|(_, one)| one).filter(|one| !is_mixed(one));
        let mut all = all.filter_map(|one| Some(one.side(op)?.iops?.get()));
        all.find(|other| (other / iops - 1.0).abs() <= 0.01)
    };
    let (read, write) = (rate(Op::Read)?, rate(Op::Write)?);
    (run.measured.asked_in_flight()? > 1.0).then(|| {
        let both = format!("{} and {}", human::count(read), human::count(write));
        let signs = run.signs().seen("reads and writes per second", both).with_confidence(Confidence::High);
        signs.seen("a limit that volumes are sold with", human::count(limit))
    })
}

/// The job let time pass between its I/Os (fio `rate_iops`, `thinktime`): at a round rate, as even as a clock, and with less in
/// flight than was asked for.
fn paced(run: &Run<'_>) -> Option<Signs> {
    const EVEN: f64 = 0.005;
    /// By chance one rate in ten is as near to a multiple of 500.
    const NEAR: f64 = 0.0005;
    /// A job that waits for nothing else has nearly all in flight that was asked for.
    const BUSY: f64 = 0.7;
    let rate = run.side.ios? as f64 / run.side.elapsed_ns?.as_secs_f64();
    let spread = run.side.spread?.relative().filter(|spread| *spread < EVEN)?;
    let asked = run.measured.asked_in_flight()?;
    let in_flight = run.mean()? * 1e-9 * rate;
    let round = (rate / 500.0).round() * 500.0;
    (round >= 1000.0 && (rate / round - 1.0).abs() < NEAR && in_flight < BUSY * asked).then(|| {
        let value = format!("{in_flight:.2} of {}", human::count(asked));
        run.signs()
            .seen("a round rate of I/Os per second", human::count(round))
            .seen("standard deviation of the rate", of_the_mean(spread))
            .seen("I/Os in flight by rate × mean latency, and asked for", value)
    })
}

/// As even as a clock, and slower than any medium but a disk, which is not even.
fn even_and_slow(run: &Run<'_>) -> Option<Signs> {
    let spread = run.side.spread?.relative()?;
    let mean = run.mean()?;
    (spread < 0.01 && mean > 20e6 && run.is_random()).then(|| {
        let signs = run.signs().seen("standard deviation of the rate", of_the_mean(spread));
        signs.seen("mean latency", time(mean))
    })
}

/// Within 1 % of a limit that is sold, and steadier than media are, with I/Os that queue for it.
fn round_and_even(run: &Run<'_>) -> Option<Signs> {
    /// Rates that volumes are sold with, in bytes per second; above them drives and links have rates of their own.
    const SOLD_RATES: [f64; 8] = [125e6, 131.072e6, 200e6, 240e6, 250e6, 262.144e6, 300e6, 400e6];
    const EVEN: f64 = 0.01;
    const QUEUED: f64 = 1e6;
    let spread = run.side.spread?.relative().filter(|spread| *spread < EVEN)?;
    let waits = run.mean().filter(|mean| *mean > QUEUED)?;
    let iops = run.side.iops.map_or(0.0, |iops| iops.get());
    let near = |rate: f64, limit: f64| (rate / limit - 1.0).abs() <= 0.01;
    let by_ios = SOLD_IOPS.into_iter().find(|limit| *limit >= 500.0 && near(iops, *limit));
    let by_bytes = SOLD_RATES.into_iter().find(|limit| near(run.rate().get(), *limit));
    let limit = match (by_ios.filter(|_| run.is_random()), by_bytes) {
        (Some(limit), _) => format!("{} I/Os per second", human::count(limit)),
        (None, Some(limit)) => human::rate(BytesPerSec::new(limit)),
        (None, None) => return None,
    };
    (run.measured.asked_in_flight()? > 1.0).then(|| {
        run.signs()
            .seen("a limit that volumes are sold with", limit)
            .seen("standard deviation of the rate", of_the_mean(spread))
            .seen("mean latency", time(waits))
    })
}

/// Three hosts and more with the same rate of I/Os within half a percent: they have the same limit, not the same luck.
/// Results of several files are of several hosts only where their I/Os queue for a limit: a drive repeats itself, too.
fn alike_on_every_host(run: &Run<'_>) -> Option<Signs> {
    const ALIKE: f64 = 0.005;
    /// A random I/O that waits this long, at no more than so many a second, waits for no flash.
    const QUEUED: f64 = 1e6;
    const SLOW: f64 = 50_000.0;
    let iops = run.side.iops?.get();
    let waits = run.mean().is_some_and(|mean| mean > QUEUED) && iops < SLOW;
    let beside = run.case.beside.of_op(run.op);
    let hosts = if beside.by_label.count == 0 && waits { beside.by_file } else { beside.by_label };
    let is_alike = |other: f64| (other / iops - 1.0).abs() <= ALIKE;
    (hosts.count >= 3 && is_alike(hosts.least) && is_alike(hosts.most)).then(|| {
        let value = format!("{} within 0.5 % of {} I/Os per second", hosts.count, human::count(iops));
        run.signs().told("hosts", value, run.case.result.place())
    })
}

/// Some I/Os are answered at once, the others after one and the same wait: they were parked.
fn parked(run: &Run<'_>) -> Option<Signs> {
    let percentiles = run.side.latency_ns.as_ref()?.percentiles.iter();
    let percentiles: Vec<&Percentile> =
        percentiles.filter(|one| (20.0..=99.0).contains(&one.percent)).collect();
    let mut pairs = percentiles.iter().zip(percentiles.iter().skip(1));
    let (&low, &high) = pairs.find(|(low, high)| high.latency_ns > 5.0 * low.latency_ns)?;
    let above: Vec<&&Percentile> = percentiles.iter().filter(|one| one.percent >= high.percent).collect();
    let last = above.last()?.latency_ns;
    // A medium's own tail (garbage collection, a missed revolution) spreads; and it is no large part of the I/Os.
    let is_flat = above.len() >= 3 && last < 1.5 * high.latency_ns && high.percent <= 90.0;
    // Writes that wait for a flush, and what waits behind them, stall together. What diskspd writes through caches is
    // flushed one by one.
    let is_each = run.is_durable(Durability::Each) && run.tool() == Tool::Fio;
    let flushes = run.measured.sync_ns.is_some() || is_each;
    let through_cache = run.measured.write.is_some() && run.is_buffered();
    let is_limit = !flushes
        && !through_cache
        && (run.op == Op::Read || run.mean().is_some_and(|mean| mean < high.latency_ns));
    let shown = |one: &Percentile| format!("{} at {} %", time(one.latency_ns), one.percent);
    (is_flat && is_limit && run.is_random()).then(|| {
        run.signs().seen("latency before the gap", shown(low)).seen("latency behind it", shown(high))
    })
}

/// Many times the queue, the same rate, and all I/Os wait alike.
fn whatever_the_queue(run: &Run<'_>) -> Option<Signs> {
    let (iops, depth) = (run.side.iops?.get(), run.measured.asked_in_flight()?);
    let latency = run.side.latency_ns.as_ref()?;
    let is_flat = latency.p99? < 1.15 * latency.p50?;
    if !is_flat || depth < 8.0 || !run.is_random() {
        return None;
    }
    let mut others = run.case.beside.measured().filter(|(of, _)| of.tool == Tool::Fio).map(|(_, one)| one);
    let (single, few, other) = others.find_map(|one| {
        let (few, other) = (one.asked_in_flight()?, iops_of(one, run.op));
        let is_same = is_random(one) && one.work.block_size == run.measured.work.block_size;
        let is_alike = iops < 1.1 * other && iops > 0.9 * other;
        (is_same && is_alike && few * 8.0 <= depth).then_some((one, few, other))
    })?;
    let with = |count: f64| format!("I/Os per second with {} in flight", human::count(count));
    let signs = run.signs().seen(with(depth), human::count(iops)).with_confidence(Confidence::High);
    Some(signs.told(with(few), human::count(other), run.case.source(single)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::testing::{codes, fio_read, verdict_of};
    use narrows_paste::results::surroundings::Surroundings;
    use narrows_paste::results::{Imported, Latency, Spread};

    fn with(percentiles: &[(f64, f64)]) -> Imported {
        let mut result = fio_read("randread", 60);
        let percentiles = percentiles
            .iter()
            .map(|(percent, micros)| Percentile { percent: *percent, latency_ns: micros * 1e3 });
        let side = result.measurements[0].read.as_mut().expect("reads");
        side.latency_ns = Some(Latency::of_mean(300e3).with_percentiles(percentiles.collect()));
        result
    }

    #[test]
    fn ios_that_wait_for_one_and_the_same_time_were_parked() {
        let parked = with(&[(50.0, 140.0), (80.0, 153.0), (90.0, 1224.0), (95.0, 1288.0), (99.0, 1352.0)]);
        assert!(codes(&verdict_of(&parked, &Surroundings::default())).contains(&Code::Throttled));
        let tail = with(&[(50.0, 46.0), (80.0, 60.0), (90.0, 80.0), (95.0, 900.0), (99.0, 4145.0)]);
        assert!(!codes(&verdict_of(&tail, &Surroundings::default())).contains(&Code::Throttled));
    }

    #[test]
    fn what_stalls_for_a_flush_is_not_parked() {
        let mut stalled =
            with(&[(50.0, 140.0), (80.0, 153.0), (90.0, 1224.0), (95.0, 1288.0), (99.0, 1352.0)]);
        stalled.measurements[0].work.durability = Some(Durability::Each);
        assert!(!codes(&verdict_of(&stalled, &Surroundings::default())).contains(&Code::Throttled));
    }

    #[test]
    fn a_job_that_was_told_to_go_no_faster_is_throttled() {
        let mut result = fio_read("randread", 60);
        result.measurements[0].work.held_to = Some("rate_iops=500".to_owned());
        let verdict = verdict_of(&result, &Surroundings::default());
        assert!(!verdict.trusted && codes(&verdict).contains(&Code::Throttled));
    }

    #[test]
    fn a_job_that_waits_between_its_ios_paces_itself() {
        use crate::results::testing::with_latency;
        let found = |nanos: f64, deviation: f64| {
            let mut result = with_latency(fio_read("randread", 60), nanos);
            let side = result.measurements[0].read.as_mut().expect("reads");
            side.spread = Some(Spread { mean: 12_500.0, deviation, samples: Some(120) });
            codes(&verdict_of(&result, &Surroundings::default())).contains(&Code::Throttled)
        };
        // 12,500 a second are 80 µs for each.
        assert!(found(20_000.0, 12.0));
        assert!(!found(79_000.0, 12.0) && !found(20_000.0, 400.0));
    }

    #[test]
    fn a_limit_that_stands_beside_a_run_at_its_rate_held_it() {
        let result = fio_read("randread", 60);
        let rate = result.measurements[0].read.as_ref().expect("reads").bytes_per_second.get();
        let is_held = |op, limit| {
            let cap =
                Cap { op, counts_ios: false, limit, text: "rbps=1".to_owned(), source: "x:1".to_owned() };
            let verdict = verdict_of(&result, &Surroundings { caps: vec![cap], ..Surroundings::default() });
            codes(&verdict).contains(&Code::Throttled)
        };
        assert!(is_held(Op::Read, rate * 1.02));
        assert!(!is_held(Op::Read, rate * 2.0) && !is_held(Op::Write, rate));
    }

    #[test]
    fn as_many_ios_of_any_size_are_counted_by_a_limiter() {
        let at = |iops: f64, words: &[Word]| {
            let mut result = fio_read("randread", 60);
            result.measurements[0].work.queue_depth = Some(16);
            let mut larger = result.measurements[0].clone();
            let size = result.measurements[0].work.block_size.expect("a size").get();
            larger.work.block_size = Some(narrows_base::units::Bytes::new(16 * size));
            let side = larger.read.as_mut().expect("reads");
            let known = side.iops.expect("I/Os").get();
            side.iops = Some(narrows_base::units::Iops::new(iops * known));
            result.measurements.push(larger);
            let words = words.iter().map(|word| (*word, "x:1".to_owned())).collect();
            codes(&verdict_of(&result, &Surroundings { words, ..Surroundings::default() }))
                .contains(&Code::Throttled)
        };
        assert!(at(1.01, &[]) && !at(0.5, &[]) && !at(1.01, &[Word::Rotating]));
    }

    #[test]
    fn a_slow_and_even_rate_is_a_limiters_and_a_fast_and_even_one_may_be_a_link() {
        for (mean, expected) in [(125.8e6, true), (0.6e6, false)] {
            let mut result = fio_read("randread", 60);
            let side = result.measurements[0].read.as_mut().expect("reads");
            side.latency_ns = Some(Latency::of_mean(mean));
            side.spread = Some(Spread { mean: 508.0, deviation: 1.62, samples: Some(60) });
            let found = codes(&verdict_of(&result, &Surroundings::default())).contains(&Code::Throttled);
            assert_eq!(found, expected, "{mean}");
        }
    }
}
