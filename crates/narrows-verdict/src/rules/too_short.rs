//! `too_short`: the run ended before it could say anything of what lasts.

use narrows_base::measurement::Measurement;
use narrows_base::units::{Bytes, Nanos, human};
use narrows_paste::results::{Durability, Measured, Op, Side, Tool};

use super::result::{self, Run};
use crate::case::Case;
use crate::finding::{Code, Evidence, Finding, Severity};
use crate::trust::{self, Audit};

/// A run of ours that was too short to say anything.
pub(super) fn of_run(case: &Case<'_>, measurement: &Measurement, audit: &Audit) -> Option<Finding> {
    let target = &case.path().target;
    // Where nothing ended at all, `no_read_ended` says so.
    let reason = audit.too_short.as_ref().filter(|_| audit.silent.is_none())?;
    let summary = format!("The run on {target} is too short to rely on: {reason}.");
    let found = Finding::on(Code::TooShort, Severity::Info, target, summary)
        .seen("measured time", measurement.elapsed_ns, "the run")
        .seen("I/Os", measurement.latency.count, "the run");
    Some(found.advise("Measure again with --as full."))
}

/// Caches of drives and controllers, burst credits of cloud volumes and clock ramps last seconds; diskspd's makers
/// ask for a warm-up of a minute. Half a second is left for the tool's own rounding. A run that is shorter must show by
/// what it moved and by its samples that it saw past them ([`unseen`]).
const SHORTEST: Nanos = Nanos::from_millis(29_500);

/// A run of up to this long that still changes at its end has not reached what lasts.
const STILL_CHANGING: Nanos = Nanos::from_millis(65_000);

/// A direction of a measurement that is too short.
#[derive(Clone, Copy)]
struct Short<'c> {
    measured: &'c Measured,
    /// `None` where the tool does not tell reads and writes apart.
    op: Option<Op>,
    elapsed: Nanos,
    /// Whether the rate still fell at its end.
    is_falling: bool,
}

pub(super) fn of_result(case: &result::Case<'_>) -> Option<Finding> {
    in_memory(case).or_else(|| over_too_soon(case)).or_else(|| over_a_network(case))
}

fn over_too_soon(case: &result::Case<'_>) -> Option<Finding> {
    let short = short(case);
    let (shortest, severity) = (short.iter().min_by_key(|one| one.elapsed)?, severity(case)?);
    let Short { measured, op, elapsed, is_falling } = *shortest;
    let why = if is_falling { ", and the rate still fell at its end" } else { "" };
    let more = short.len() - 1;
    let more = if more > 0 { format!(" ({more} more are as short)") } else { String::new() };
    let what = match op.and_then(|op| Some(Run { case, measured, op, side: measured.side(op)? })) {
        Some(run) => run.name(),
        None => format!("I/Os of `{}`", measured.work.label),
    };
    let summary = format!("The {what} lasted {elapsed}{why}: too short for what lasts{more}");
    let advice =
        "measure for a minute at least, writes until the rate holds: `narrows measure TARGET --as full`";
    let found = case.finding(Code::TooShort, severity, summary)
        .with_evidence(evidence(case, shortest))
        .not_so_when("a run of a minute and more has the same rate");
    Some(found.advise(advice))
}

fn short<'c>(case: &'c result::Case<'_>) -> Vec<Short<'c>> {
    let of_runs = case.runs().filter_map(|run| {
        let Run { measured, op, side, .. } = run;
        let elapsed = elapsed(side)?;
        let is_unseen = elapsed < SHORTEST && unseen(measured, op, side).is_some();
        let is_falling = !is_unseen && elapsed <= STILL_CHANGING && run.is_still_falling();
        (is_unseen || is_falling).then_some(Short { measured, op: Some(op), elapsed, is_falling })
    });
    // Reads and writes that the tool of somebody else does not tell apart; narrows says of its own when they were short.
    let others = case.result.measurements.iter().filter(|_| case.result.tool != Tool::Narrows);
    let others = others.filter_map(|measured| {
        let side = measured.both.as_ref()?;
        let elapsed = elapsed(side).filter(|elapsed| *elapsed < SHORTEST)?;
        unseen(measured, Op::Read, side)?;
        Some(Short { measured, op: None, elapsed, is_falling: false })
    });
    of_runs.chain(others).collect()
}

/// How much it matters that a tool's run was short; `None` where its own protocol is that short, or ends with its work.
fn severity(case: &result::Case<'_>) -> Option<Severity> {
    Some(match case.result.tool {
        // These do a given amount once, a whole device or card, or tell what was going on.
        Tool::Kdiskmark | Tool::Crystaldiskmark | Tool::Btrfsscrub => return None,
        Tool::Iostat | Tool::Zpooliostat | Tool::Asssd => return None,
        // These tools' own protocol is short, and everybody's numbers are of that length.
        Tool::Hdparm | Tool::Ior | Tool::Io500 | Tool::Elbencho | Tool::Bonnie => Severity::Info,
        Tool::Cryptsetup | Tool::Gnomedisks | Tool::Yabs | Tool::Nvbandwidth => Severity::Info,
        Tool::Copy | Tool::Pveperf | Tool::Pgtestfsync | Tool::Winsat | Tool::Hdtune => Severity::Info,
        Tool::Dbench | Tool::Iperf3 | Tool::Mdtest => Severity::Info,
        // One request at a time, or memory and processors: a few seconds are enough where their samples agree.
        Tool::Ioping | Tool::Iouring if is_known(case) => Severity::Info,
        Tool::Fio if is_latency_of_reads(case) && is_known(case) => Severity::Info,
        Tool::Ioping | Tool::Iouring | Tool::Radosbench | Tool::Benchsh | Tool::Nench => Severity::Limit,
        Tool::Sysbench | Tool::F3 | Tool::H2testw | Tool::Fsmark | Tool::Spdk => Severity::Limit,
        Tool::Fio | Tool::Dd | Tool::Diskspd | Tool::Iozone | Tool::Vdbench => Severity::Limit,
        Tool::Narrows | Tool::Rbdbench | Tool::Xfsio | Tool::Stressng | Tool::Gdsio => Severity::Limit,
        Tool::Iobench | Tool::Warp => Severity::Limit,
    })
}

/// Whether a run read one block at a time, past the page cache, for long enough to tell how long a read takes.
fn is_latency_of_reads(case: &result::Case<'_>) -> bool {
    const ENOUGH: Nanos = Nanos::from_millis(9_500);
    case.runs().all(|run| {
        let is_one = run.op == Op::Read && run.measured.asked_in_flight() == Some(1.0);
        is_one && run.is_direct() && elapsed(run.side).is_some_and(|elapsed| elapsed >= ENOUGH)
    })
}

fn evidence(case: &result::Case<'_>, short: &Short<'_>) -> Vec<Evidence> {
    let Short { measured, op, elapsed, is_falling } = *short;
    let mut evidence = vec![case.evidence(measured, "measured time", elapsed)];
    let side = op.map_or(measured.both.as_ref(), |op| measured.side(op));
    let unseen = side.and_then(|side| unseen(measured, op.unwrap_or(Op::Read), side)).filter(|_| !is_falling);
    evidence.extend(unseen.map(|why| case.evidence(measured, "what it does not show", why)));
    let asked = measured.work.asked_ns.filter(|asked| asked.as_secs_f64() > 1.2 * elapsed.as_secs_f64());
    evidence.extend(asked.map(|asked| case.evidence(measured, "time asked for", asked)));
    let signal = case.result.failures.iter().find(|failure| failure.contains("terminating on signal"));
    evidence.extend(signal.map(|failure| Evidence::new("the tool says", failure, case.result.place())));
    evidence
}

/// Whether the mean of every direction is known to within the widest interval, by the deviation of single requests or by
/// the rates of seconds, each of which is of many I/Os and stands for itself.
fn is_known(case: &result::Case<'_>) -> bool {
    let known = |side: &Side| {
        let latency = side.latency_ns.as_ref();
        let by_requests = latency.and_then(|one| Some((one.deviation? / one.mean?, side.ios?)));
        let by_seconds = || Some((side.spread?.relative()?, side.spread?.samples?));
        let (deviation, count) = by_requests.or_else(by_seconds)?;
        trust::interval_of_independent(deviation, count)
    };
    case.runs().all(|run| known(run.side).is_some_and(|interval| interval <= trust::WIDEST_INTERVAL))
}

/// What a run does not show of a rate that lasts: how sure its mean is, or what is behind the caches. `None` when its own
/// samples put the mean close enough, and it moved more than caches hold, writes with a flush for each.
fn unseen(measured: &Measured, op: Op, side: &Side) -> Option<String> {
    /// What controllers have of memory, which answers reads.
    const CONTROLLER: Bytes = Bytes::new(4 << 30);
    /// What disks and SATA drives have at most: less was never written to where the drive keeps its data for long.
    const DRIVE: Bytes = Bytes::from_mib(512);
    let by_samples = || {
        let spread = side.spread?;
        // Samples of jobs that ran at the same time are of the same moments.
        let moments = spread.samples? / u64::from(measured.work.jobs.unwrap_or(1).max(1));
        trust::interval_of_samples(spread.relative()?, moments)
    };
    let Some(interval) = trust::interval_of_series(&side.series).or_else(by_samples) else {
        return Some("how sure its mean is: it tells too few samples of the rate".to_owned());
    };
    if interval > trust::WIDEST_INTERVAL {
        return Some(format!("its mean closer than ±{} by its own samples", human::percent(interval)));
    }
    let (is_past, held) = op.pick(
        (measured.work.direct == Some(true), CONTROLLER),
        (measured.work.durability == Some(Durability::Each), DRIVE),
    );
    (!is_past || side.bytes.is_none_or(|bytes| bytes <= held)).then(|| match side.bytes {
        Some(bytes) => format!("what is behind the caches: {bytes} were moved"),
        None => "what is behind the caches".to_owned(),
    })
}

/// `cryptsetup benchmark` runs each cipher for a second (its `lib/utils_benchmark.c`), on a clock that may still rise.
fn in_memory(case: &result::Case<'_>) -> Option<Finding> {
    let first = case.result.measurements.first().filter(|_| case.result.tool == Tool::Cryptsetup)?;
    let summary = "Each cipher was measured for about one second, in memory";
    let found = case
        .finding(Code::TooShort, Severity::Info, summary)
        .seen("measured time", "about 1 s each, by the tool's own protocol", case.source(first))
        .not_so_when("runs that are repeated have the same rates");
    Some(found.advise("repeat it some times: the processor's clock may not have been up"))
}

/// The measured time: told, or bytes over rate.
fn elapsed(side: &Side) -> Option<Nanos> {
    side.elapsed_ns.filter(|time| time.get() > 0).or_else(|| {
        let seconds = side.bytes?.as_f64() / side.bytes_per_second.get();
        (seconds.is_finite() && seconds < 1e9).then(|| Nanos::new((seconds * 1e9) as u64))
    })
}

/// What iperf3 takes by itself, less its rounding. The first of its seconds has the start of TCP in it; of ten that is a
/// tenth at most, which is as sure as a mean has to be.
const USUAL_NETWORK_RUN: Nanos = Nanos::from_millis(9_500);

/// A run over a network that ended while its rate was still rising, or that too few samples describe.
fn over_a_network(case: &result::Case<'_>) -> Option<Finding> {
    let mut all = case.result.measurements.iter();
    let (measured, side) = all.find_map(|one| Some((one, one.network.as_ref()?)))?;
    let elapsed = side.elapsed_ns.filter(|elapsed| *elapsed < USUAL_NETWORK_RUN)?;
    if trust::interval_of_series(&side.series).is_some_and(|interval| interval <= trust::WIDEST_INTERVAL) {
        return None;
    }
    let summary = format!("The run over the network lasted {elapsed}: too short for what lasts");
    let found = case.finding(Code::TooShort, Severity::Limit, summary)
        .seen("measured time", elapsed, case.source(measured))
        .not_so_when("a run of ten seconds and more has the same rate");
    Some(found.advise("measure for ten seconds at least: `iperf3 -t 30 -O 2`"))
}

#[cfg(test)]
mod tests {
    use narrows_paste::results::surroundings::Surroundings;

    use super::*;
    use crate::results::testing::{codes, fio_read, verdict_of, verdicts};
    use crate::testing::{Sketch, link, run};

    fn too_short_path(millis: u64, cut_short: Option<&str>) -> Sketch {
        let mut load = run(500.0).disk("nvme0n1", 500.0, 31.0);
        load.measurement.elapsed_ns = Nanos::from_millis(millis);
        load.measurement.cut_short = cut_short.map(str::to_owned);
        Sketch::drive(link((3, 4), (3, 4), (3, 4))).run(load)
    }

    #[test]
    fn less_than_a_second_and_runs_that_were_cut_are_too_short() {
        assert_eq!(
            too_short_path(400, None).finding(Code::TooShort).map(|f| f.severity),
            Some(Severity::Info)
        );
        let cut = too_short_path(2000, Some("interrupted"));
        assert!(cut.finding(Code::TooShort).is_some_and(|f| f.summary.contains("interrupted")));
        assert!(too_short_path(400, None).path().measured.values().all(|measured| !measured.trusted));
    }

    #[test]
    fn two_seconds_are_enough() {
        assert_eq!(too_short_path(2000, None).finding(Code::TooShort), None);
    }

    #[test]
    fn ten_seconds_are_too_short_and_a_minute_is_not() {
        let short = verdict_of(&fio_read("randread", 10), &Surroundings::default());
        assert!(!short.trusted && codes(&short).contains(&Code::TooShort));
        assert!(verdict_of(&fio_read("randread", 60), &Surroundings::default()).trusted);
    }

    #[test]
    fn ten_seconds_are_enough_where_the_run_shows_that_they_are() {
        use narrows_paste::results::Spread;
        let judged = |gigabytes: u64, deviation: f64, samples: u64| {
            let mut result = fio_read("read", 10);
            let side = result.measurements[0].read.as_mut().expect("reads");
            side.spread = Some(Spread { mean: 100.0, deviation, samples: Some(samples) });
            side.bytes = Some(Bytes::new(gigabytes << 30));
            codes(&verdict_of(&result, &Surroundings::default())).contains(&Code::TooShort)
        };
        assert!(!judged(6, 2.0, 20), "steady, and more than caches hold");
        assert!(judged(1, 2.0, 20) && judged(6, 2.0, 6) && judged(6, 18.0, 20));
    }

    #[test]
    fn reads_and_writes_that_are_not_told_apart_are_too_short_like_others() {
        let table = "Total IO\ntotal:        2775056384 |        21172 |     529.36 |    4234.88\n";
        let all = verdicts(table);
        assert!(!all[0].trusted && codes(&all[0]).contains(&Code::TooShort));
    }

    #[test]
    fn hdparm_is_always_short_and_trusted() {
        let all =
            verdicts("/dev/sda:\n Timing buffered disk reads: 510 MB in  3.01 seconds = 169.62 MB/sec\n");
        assert!(all[0].trusted && codes(&all[0]).contains(&Code::TooShort));
    }

    #[test]
    fn less_than_the_usual_time_is_too_short() {
        let of = |seconds: &str, amount: &str| {
            let row = format!(
                "[  5]   0.00-{seconds}  sec  {amount} MBytes  99.0 Mbits/sec                  receiver\n"
            );
            codes(&verdicts(&row).remove(0)).contains(&Code::TooShort)
        };
        assert!(of("2.70", "31.9") && !of("10.00", "118"));
    }
}
