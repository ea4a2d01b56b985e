//! The bytes came from memory: latencies and rates that no medium has, the wrong command, or counters that disagree.

use super::case::{Case, declares_memory, is_random, mean, reads_ahead};
use super::{cached_command, cached_counters, cached_latency, cached_medium};
use crate::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use narrows_base::units::{Bytes, Nanos, human};
use narrows_paste::results::surroundings::Word;
use narrows_paste::results::{Durability, Measured, Op, Side};

/// The fastest media (Optane) answer a read in some 5 µs at the application; NAND needs 50 µs to read a page. A mean
/// below this is a copy in memory.
const MEMORY_LATENCY: f64 = 5_000.0;

/// A disk of 7200 revolutions per minute needs 4.2 ms for half a revolution, and a seek before it: a mean of a random
/// access below this did not wait for the disk.
const ROTATING_LATENCY: f64 = 2_000_000.0;

/// Forty disks with queueing reach this many random I/Os per second; a pool of a few does not.
const ROTATING_IOPS: f64 = 10_000.0;

/// What a check saw: how sure, and what it saw.
pub(super) type Seen = (Confidence, Vec<Evidence>);

/// A check of one direction of one measurement.
type Check = fn(&Case<'_>, &Measured, Op, &Side) -> Option<Seen>;

const CHECKS: &[Check] = &[
    memory_latency,
    inside_the_call,
    cached_counters::devices,
    cached_counters::pool,
    cached_counters::iostat,
    rotating,
    cached_command::find,
    in_memory,
    above_the_wire,
    too_small,
    cached_latency::below_flash,
    cached_latency::partly_in_memory,
    cached_medium::above_the_bus,
    cached_medium::ignores_direct,
    cached_medium::in_arc,
    cached_medium::on_tmpfs,
    cached_medium::one_reader,
    cached_medium::in_the_drive,
];

pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    let mut evidence: Vec<Evidence> = Vec::new();
    let mut confidence = Confidence::Low;
    let mut names: Vec<String> = Vec::new();
    for (measured, op, side) in case.sides() {
        // Who measures memory by its name gets what was asked for.
        if declares_memory(measured) {
            continue;
        }
        let seen: Vec<Seen> = CHECKS.iter().filter_map(|check| check(case, measured, op, side)).collect();
        if seen.is_empty() {
            continue;
        }
        let name = format!("{} ({})", case.name(measured, op), human::rate(side.bytes_per_second));
        if names.len() < MOST {
            names.push(name);
            evidence.extend(seen.iter().flat_map(|(_, evidence)| evidence.clone()));
            evidence.extend(beside(case, measured, side));
        }
        confidence = seen.iter().map(|(sure, _)| *sure).fold(confidence, Confidence::min);
    }
    if names.is_empty() {
        return Vec::new();
    }
    evidence.dedup();
    let summary = format!("The bytes came from or went to a cache, not the storage: {}", names.join(", "));
    vec![
        case.finding(Code::CacheMeasured, Severity::Limit, summary)
            .with_evidence(evidence).not_so_when("the storage's own counters moved as many bytes as the tool (iostat, zpool iostat)")
            .with_advice([Advice::new(
                "measure again past the caches: O_DIRECT, more data than twice the memory of client and server, and \
                 fsync within the measured time; `narrows check TARGET --measure` does that",
            )])
            .with_confidence(confidence),
    ]
}

/// What makes a cache likelier: a short run, and data that fits memory.
fn beside(case: &Case<'_>, measured: &Measured, side: &Side) -> Vec<Evidence> {
    const SHORT: Nanos = Nanos::from_millis(30_000);
    let mut found = Vec::new();
    found.extend(
        side.elapsed_ns
            .filter(|time| *time < SHORT)
            .map(|time| case.evidence(measured, "measured time", human::time(time))),
    );
    if let Some(set) = measured.work.working_set.or(side.bytes).filter(|set| case.fits_memory(*set)) {
        let memory = case.memory().map_or_else(
            || "memory is not told, servers have that much".to_owned(),
            |(memory, _)| format!("of {} of memory", human::bytes(memory)),
        );
        found.push(case.evidence(
            measured,
            "data that was visited",
            format!("{} ({memory})", human::bytes(set)),
        ));
    }
    found
}

/// So many measurements are named.
const MOST: usize = 3;

/// Whether waiting for durability is a call of its own, so that writes may be as fast as memory.
fn is_synced_apart(measured: &Measured, op: Op) -> bool {
    op == Op::Write && (measured.sync_ns.is_some() || measured.work.durability == Some(Durability::Each))
}

fn memory_latency(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Seen> {
    let mean = mean(side)?;
    if mean >= MEMORY_LATENCY || is_synced_apart(measured, op) || reads_ahead(measured, op, side) {
        return None;
    }
    let shown = Nanos::new(mean as u64);
    Some((Confidence::High, vec![case.evidence(measured, "mean latency of an I/O", shown)]))
}

/// An asynchronous engine that spends its time in the submission does not wait for a device: the kernel answers within
/// the call, as it does for the page cache and for ZFS.
fn inside_the_call(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Seen> {
    let (submission, completion) = side.submission_ns.zip(side.completion_ns)?;
    if submission < 10.0 * completion || completion > MEMORY_LATENCY || is_synced_apart(measured, op) {
        return None;
    }
    Some((
        Confidence::Medium,
        vec![
            case.evidence(measured, "mean time within the submission", Nanos::new(submission as u64)),
            case.evidence(measured, "mean time behind it", Nanos::new(completion as u64)),
        ],
    ))
}

fn rotating(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Seen> {
    let source = case.around.has(Word::Rotating)?;
    if !is_random(measured) || is_synced_apart(measured, op) {
        return None;
    }
    let iops = side.iops.map(|iops| iops.get()).filter(|iops| *iops > ROTATING_IOPS);
    let seen = match (mean(side), iops) {
        (Some(latency), _) if latency >= ROTATING_LATENCY => return None,
        (Some(latency), _) => {
            case.evidence(measured, "mean latency of a random I/O", Nanos::new(latency as u64))
        }
        (None, Some(iops)) => case.evidence(measured, "random I/Os per second", human::count(iops)),
        (None, None) => return None,
    };
    let medium = Evidence::new("the medium", "disks that turn: 4 ms and more for each", source);
    Some((Confidence::Medium, vec![seen, medium]))
}

fn in_memory(case: &Case<'_>, _: &Measured, _: Op, _: &Side) -> Option<Seen> {
    let source = case.around.has(Word::Memory)?;
    Some((Confidence::Medium, vec![Evidence::new("the storage", "is in memory", source)]))
}

/// Behind a network whose wire is named, and which another measurement fills, a higher rate is that of a cache on this
/// side. Without the other one the text may speak of clients of the machine that was measured.
fn above_the_wire(case: &Case<'_>, measured: &Measured, _: Op, side: &Side) -> Option<Seen> {
    case.around.has(Word::RemoteStorage)?;
    let (wire, source) = case.around.wire.clone()?;
    let all = case.beside.measured().flat_map(|(_, one)| one.sides());
    let mut rates = all.map(|(_, side)| side.bytes_per_second.fraction_of(wire));
    if !rates.any(|share| (0.75..=1.0).contains(&share)) {
        return None;
    }
    (side.bytes_per_second.get() > 1.03 * wire.get()).then(|| {
        (
            Confidence::Medium,
            vec![
                case.evidence(measured, "rate", human::rate(side.bytes_per_second)),
                Evidence::new("all that the wire carries", human::rate(wire), source),
            ],
        )
    })
}

/// Less than a second for what fits any cache: nothing shows that it left memory.
fn too_small(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Seen> {
    /// Drives have a cache of a gigabyte or so, controllers of a few.
    const SMALL: Bytes = Bytes::new(8 << 30);
    /// No single drive on SATA or USB 3 does this.
    const FAST: f64 = 2e9;
    let bytes = side.bytes.filter(|bytes| *bytes <= SMALL)?;
    let elapsed = side.elapsed_ns.filter(|time| *time < Nanos::from_millis(1000))?;
    if is_synced_apart(measured, op) || side.bytes_per_second.get() < FAST {
        return None;
    }
    Some((
        Confidence::Low,
        vec![case.evidence(
            measured,
            "moved in all",
            format!("{} in {}", human::bytes(bytes), human::time(elapsed)),
        )],
    ))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{codes, fio_read, verdict_of, with_latency};
    use super::*;
    use narrows_base::units::BytesPerSec;
    use narrows_paste::results::Imported;
    use narrows_paste::results::surroundings::Surroundings;

    #[test]
    fn a_mean_of_two_microseconds_is_memory_and_one_of_eighty_is_a_drive() {
        let cached = verdict_of(&with_latency(fio_read("randread", 60), 2_000.0), &Surroundings::default());
        assert!(!cached.trusted && codes(&cached).contains(&Code::CacheMeasured));
        let drive = verdict_of(&with_latency(fio_read("randread", 60), 80_000.0), &Surroundings::default());
        assert!(drive.trusted, "{:?}", drive.findings);
    }

    #[test]
    fn a_disk_that_turns_needs_milliseconds() {
        let around = Surroundings {
            words: vec![(Word::Rotating, "config.txt:1".to_owned())],
            ..Surroundings::default()
        };
        // 12 500 I/Os per second that take 15 ms each are 188 in flight.
        let with_latency = |mut result: Imported, nanoseconds: f64| {
            result.measurements[0].work.queue_depth = Some(256);
            with_latency(result, nanoseconds)
        };
        let fast = verdict_of(&with_latency(fio_read("randread", 60), 890_000.0), &around);
        assert!(codes(&fast).contains(&Code::CacheMeasured));
        let honest = verdict_of(&with_latency(fio_read("randread", 60), 15_000_000.0), &around);
        assert!(honest.trusted, "{:?}", honest.findings);
        let sequential = verdict_of(&with_latency(fio_read("read", 60), 890_000.0), &around);
        assert!(sequential.trusted, "{:?}", sequential.findings);
    }

    #[test]
    fn more_than_a_wire_that_another_measurement_fills_is_a_cache() {
        let of = |rates: &[f64]| {
            let words = vec![(Word::RemoteStorage, "x:1".to_owned()), (Word::Network, "x:1".to_owned())];
            let wire = Some((BytesPerSec::new(0.125e9), "x:1".to_owned()));
            let around = Surroundings { words, wire, ..Surroundings::default() };
            let mut result = fio_read("read", 60);
            let first = result.measurements.remove(0);
            for rate in rates {
                let mut one = first.clone();
                let side = one.read.as_mut().expect("reads");
                (side.bytes_per_second, side.iops, side.latency_ns) = (BytesPerSec::new(*rate), None, None);
                result.measurements.push(one);
            }
            codes(&verdict_of(&result, &around)).contains(&Code::CacheMeasured)
        };
        assert!(of(&[112e6, 167e6]) && !of(&[112e6, 117e6]));
        assert!(!of(&[2.1e9]), "the text may speak of the clients of what was measured");
    }

    #[test]
    fn every_finding_says_what_would_disprove_it() {
        let verdict = verdict_of(&with_latency(fio_read("randread", 2), 2_000.0), &Surroundings::default());
        for finding in &verdict.findings {
            assert!(finding.not_so_when != finding.code.not_so_when(), "{finding:?}");
        }
    }
}
