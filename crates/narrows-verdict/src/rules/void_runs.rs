//! Runs that say nothing of what lasts: they were too short, nothing of them ended, or their rate is above physics.

use narrows_base::measurement::Measurement;
use narrows_base::units::{Bytes, Nanos, human};
use narrows_paste::results::{Durability, Measured, Op, Side, Tool};

use super::result::{self, Run};
use crate::attribution::{in_block_layer, of_the_worker, was_denied};
use crate::case::Case;
use crate::finding::{Code, Evidence, Finding, Severity};
use crate::trust::{self, Audit};

/// A run of ours that was too short to say anything.
pub(super) fn too_short(case: &Case<'_>, measurement: &Measurement, audit: &Audit) -> Option<Finding> {
    let target = &case.path().target;
    // Where nothing ended at all, [`no_read_ended`] says so.
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

pub(super) fn short_result(case: &result::Case<'_>) -> Option<Finding> {
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
    let found = Finding::of(case, Code::TooShort, severity, summary)
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
    let found = Finding::of(case, Code::TooShort, Severity::Info, summary)
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
    let (measured, side) = case.first_with(|one| one.network.as_ref())?;
    let elapsed = side.elapsed_ns.filter(|elapsed| *elapsed < USUAL_NETWORK_RUN)?;
    if trust::interval_of_series(&side.series).is_some_and(|interval| interval <= trust::WIDEST_INTERVAL) {
        return None;
    }
    let summary = format!("The run over the network lasted {elapsed}: too short for what lasts");
    let found = Finding::of(case, Code::TooShort, Severity::Limit, summary)
        .seen("measured time", elapsed, case.source(measured))
        .not_so_when("a run of ten seconds and more has the same rate");
    Some(found.advise("measure for ten seconds at least: `iperf3 -t 30 -O 2`"))
}

/// What to do when the processor was somebody else's.
const NOTHING_ENDED_DENIED: &str = "End what else keeps the processors busy, or lift the limit of the control group (`cpu.max`), and measure again.";

/// What to do when requests wait at the device.
const NOTHING_ENDED_HANGS: &str =
    "Look for resets and time-outs of the device in the kernel log (`dmesg`), and at its cables and power.";

/// What to do when neither is seen.
const NOTHING_ENDED_LONGER: &str = "Measure longer with --as full, and look at the kernel log (`dmesg`).";

/// Nothing of a run of ours ended, so nothing was measured and nothing can be blamed.
pub(super) fn no_read_ended(case: &Case<'_>, measurement: &Measurement, audit: &Audit) -> Option<Finding> {
    let target = &case.path().target;
    let what = audit.silent.as_ref()?;
    let waiting = case.waiting_in_block_layer();
    let summary = format!("Of {target} {what}: nothing was measured, and no hop can be named as the limit.");
    let finding = Finding::on(Code::NoReadEnded, Severity::Fault, target, summary)
        .seen(format!("{}s that ended", case.direction.word()), measurement.latency.count, "the run")
        .seen("measured time", measurement.elapsed_ns, "the run")
        .with_evidence(of_the_worker(&measurement.generator))
        .with_evidence(waiting.map(in_block_layer));
    Some(finding.advise(match waiting {
        _ if was_denied(measurement) => NOTHING_ENDED_DENIED,
        Some(part) if part >= 0.5 => NOTHING_ENDED_HANGS,
        _ => NOTHING_ENDED_LONGER,
    }))
}

/// I/Os waited at a device and none ended for a whole interval, by `iostat`.
pub(super) fn stuck(case: &result::Case<'_>) -> Option<Finding> {
    let (measured, waiting) = case.first_with(|one| one.stuck)?;
    let (name, count) = (&measured.work.label, human::count(waiting));
    let summary = format!("{count} I/Os waited at {name}, and none ended in an interval of iostat");
    let found = Finding::of(case, Code::NoReadEnded, Severity::Info, summary)
        .seen("I/Os in flight, and ended", format!("{count} and 0"), case.source(measured))
        .not_so_when("the interval is shorter than one I/O of this device");
    Some(found.advise("look for errors and resets of the device at that time: `dmesg`"))
}

/// A run of ours that is above the ceiling of a hop.
pub(super) fn above_ceiling(case: &Case<'_>, measurement: &Measurement, audit: &Audit) -> Option<Finding> {
    let (index, ceiling) = audit.above?;
    let hop = case.path().hops.get(index)?;
    let measured = measurement.bytes_per_second;
    let (target, name, part) =
        (&case.path().target, &hop.name, human::percent(measured.fraction_of(ceiling)));
    let summary = format!(
        "{measured} were measured on {target}, which is {part} of what {name} can carry: a cache, or a wrong fact."
    );
    let formula = case.ceiling(index)?.limit().map(|limit| limit.formula.clone()).unwrap_or_default();
    let found = Finding::about(Code::AboveCeiling, Severity::Fault, hop, summary)
        .seen("measured rate", measured, "the run")
        .seen("ceiling of this hop for the path", ceiling, formula);
    Some(found.advise("Do not use this result. Measure again with a larger region."))
}

#[cfg(test)]
mod tests {
    use narrows_base::fact::Fact;
    use narrows_base::units::BytesPerSec;
    use narrows_machine::block::Sata;
    use narrows_model::path::{HopKind, HopSpec};
    use narrows_paste::results::surroundings::Surroundings;

    use super::*;
    use crate::results::testing::{codes, fio_read, verdict_of, verdicts};
    use crate::testing::{Sketch, express, link, run};

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

    fn silent() -> crate::Run {
        let mut run = run(500.0);
        let measurement = &mut run.measurement;
        measurement.elapsed_ns = Nanos::from_millis(3000);
        measurement.bytes = Bytes::new(0);
        measurement.bytes_per_second = BytesPerSec::new(0.0);
        measurement.series = vec![BytesPerSec::new(0.0); 30];
        measurement.latency.count = 0;
        measurement.latency.p50 = None;
        run
    }

    fn drive(run: crate::Run) -> Sketch {
        Sketch::drive(link((3, 4), (3, 4), (3, 4))).run(run)
    }

    #[test]
    fn nothing_that_ended_names_nothing() {
        for run in [
            silent().disk("nvme0n1", 0.0, 0.0),
            silent().disk("nvme0n1", 0.0, 32.0),
            silent().disk("nvme0n1", 0.0, 0.0).queued(0.98),
            silent().disk("nvme0n1", 0.0, 0.0).generator(0.99),
            silent().disk("nvme0n1", 0.0, 0.0).thread("kcryptd", 1.0),
        ] {
            let path = drive(run);
            let finding = path.finding(Code::NoReadEnded).expect("nothing ended");
            assert!(finding.summary.contains("no read ended in 3 s"), "{}", finding.summary);
            assert_eq!((finding.severity, finding.hop.clone()), (Severity::Fault, None));
            let verdict = path.path();
            assert!(!verdict.limiting.contains_key(&narrows_model::ceiling::Direction::Read), "{verdict:?}");
            assert!(verdict.sentence.contains("no read ended in 3 s"), "{}", verdict.sentence);
            assert!(verdict.measured.values().all(|measured| !measured.trusted));
            for other in [Code::TooShort, Code::GeneratorCpu, Code::CacheMeasured, Code::DeviceLimited] {
                assert_eq!(path.finding(other), None);
            }
        }
    }

    #[test]
    fn what_to_do_depends_on_what_was_seen() {
        let advice =
            |run| drive(run).finding(Code::NoReadEnded).expect("nothing ended").advice[0].action.clone();
        assert_eq!(advice(silent().disk("nvme0n1", 0.0, 0.0).queued(0.98)), NOTHING_ENDED_DENIED);
        assert_eq!(advice(silent().disk("nvme0n1", 0.0, 0.0)), NOTHING_ENDED_LONGER);
    }

    #[test]
    fn one_read_is_a_rate_and_a_run_that_was_cut_or_failed_is_another_matter() {
        assert_eq!(drive(run(500.0).disk("nvme0n1", 500.0, 31.0)).finding(Code::NoReadEnded), None);
        let mut cut = silent();
        cut.measurement.cut_short = Some("interrupted".to_owned());
        assert_eq!(drive(cut.clone()).finding(Code::NoReadEnded), None);
        assert!(drive(cut).finding(Code::TooShort).is_some());
        let mut failed = silent();
        failed.measurement.errors = 3;
        assert_eq!(drive(failed).finding(Code::NoReadEnded), None);
    }

    #[test]
    fn waiting_without_an_end_is_told() {
        let of = |reads: &str| {
            let head = "Device:  rrqm/s wrqm/s r/s w/s rMB/s wMB/s avgrq-sz avgqu-sz await svctm %util\n";
            let text = format!("{head}sdl 0.00 0.00 {reads} 0.00 0.00 0.00 0.00 42.00 0.00 0.00 100.00\n");
            codes(&verdicts(&text).remove(0)).contains(&Code::NoReadEnded)
        };
        assert!(of("0.00") && !of("7.00"));
    }

    /// A Gen3 x4 link carries 3592 MB/s in payloads of 256 bytes; the drive's counters saw all bytes.
    fn above_ceiling_path(megabytes: f64) -> Sketch {
        let load = run(megabytes).disk("nvme0n1", megabytes, 31.0);
        Sketch::drive(link((3, 4), (3, 4), (3, 4))).run(load)
    }

    #[test]
    fn more_than_the_link_can_carry_is_not_to_be_trusted() {
        let path_above = above_ceiling_path(7000.0);
        let finding = path_above.finding(Code::AboveCeiling).expect("twice the link");
        assert_eq!(finding.hop.map(|hop| hop.to_string()).as_deref(), Some("link:0000:02:00.0"));
        assert!(path_above.path().measured.values().all(|measured| !measured.trusted));
    }

    #[test]
    fn a_payload_that_was_assumed_leaves_room_up_to_the_raw_rate() {
        // Nobody read the payload size of this link: with 512 bytes it carries 3752 MB/s, and raw it carries 3938.
        let of = |megabytes| above_ceiling_path(megabytes).finding(Code::AboveCeiling);
        assert_eq!(of(3900.0), None);
        assert!(of(3950.0).is_some());
        let mut read = link((3, 4), (3, 4), (3, 4));
        read.device.express = Fact::known(express(256, 256), "config");
        let run = |megabytes: f64| {
            let load = run(megabytes).disk("nvme0n1", megabytes, 31.0);
            Sketch::drive(read.clone()).run(load).finding(Code::AboveCeiling)
        };
        assert_eq!(run(3750.0), None);
        assert!(run(3800.0).is_some(), "5 % above 3592 MB/s is 3771");
    }

    #[test]
    fn the_error_of_the_law_is_no_contradiction() {
        assert_eq!(above_ceiling_path(3660.0).finding(Code::AboveCeiling), None);
    }

    #[test]
    fn what_a_cache_gave_did_not_cross_the_link_of_the_disk_behind_it() {
        let path = |of_disk: f64| {
            let load = run(1200.0).disk("nvme0n1", 1200.0 - of_disk, 31.0).disk("sda", of_disk, 0.1);
            Sketch::of("/dev/bcache0")
                .hop("bcache0", HopSpec::Cache(String::new()), None)
                .device("nvme0n1", None)
                .below(HopKind::Cache, "bcache0", 1.0)
                .device("sda", None)
                .hop("ata1", HopSpec::Sata(Sata::default()), Some(560.0))
                .run(load)
        };
        assert_eq!(path(0.0).finding(Code::AboveCeiling), None);
        assert_eq!(path(500.0).finding(Code::AboveCeiling), None);
        assert!(path(700.0).finding(Code::AboveCeiling).is_some());
    }

    #[test]
    fn a_drive_may_beat_its_rating() {
        let load = run(600.0).disk("sda", 600.0, 31.0);
        let path = Sketch::of("/dev/sda").device("sda", Some(500.0)).run(load);
        assert_eq!(path.finding(Code::AboveCeiling), None);
    }
}
