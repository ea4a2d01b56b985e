//! The bytes came from memory: latencies and rates that no medium has, the wrong command ([`super::cached_command`]), or counters that disagree.

use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_machine::mount::Mount;
use narrows_paste::results::surroundings::Word;
use narrows_paste::results::{Durability, Measured, Op, Side, Tool};

use super::cached_command;
use super::case::{Case, Signs, declares_memory, is_random, mean, reads_ahead};
use crate::finding::{Code, Confidence, Evidence, Finding, Severity};

/// The fastest media (Optane) answer a read in some 5 µs at the application; NAND needs 50 µs to read a page. A mean
/// below this is a copy in memory.
const MEMORY_LATENCY: f64 = 5_000.0;

/// A disk of 7200 revolutions per minute needs 4.2 ms for half a revolution, and a seek before it: a mean of a random
/// access below this did not wait for the disk.
const ROTATING_LATENCY: f64 = 2_000_000.0;

/// Forty disks with queueing reach this many random I/Os per second; a pool of a few does not.
const ROTATING_IOPS: f64 = 10_000.0;

/// A check of one direction of one measurement.
type CacheCheck = fn(&Case<'_>, &Measured, Op, &Side) -> Option<Signs>;

const CACHE_CHECKS: &[CacheCheck] = &[
    memory_latency,
    inside_the_call,
    cached_command::by_device_counters,
    cached_command::by_pool_counters,
    cached_command::by_iostat,
    rotating,
    cached_command::by_command,
    in_memory,
    above_the_wire,
    too_small,
    below_flash,
    partly_in_memory,
    above_the_bus,
    ignores_direct,
    in_arc,
    on_tmpfs,
    one_reader,
    in_the_drive,
];

/// The bytes came from memory: latencies and rates that no medium has, the wrong command, or counters that disagree.
pub(super) fn find(case: &Case<'_>) -> Option<Finding> {
    let mut evidence: Vec<Evidence> = Vec::new();
    let mut confidence = Confidence::Low;
    let mut names: Vec<String> = Vec::new();
    for (measured, op, side) in case.sides() {
        // Who measures memory by its name gets what was asked for.
        if declares_memory(measured) {
            continue;
        }
        let seen: Vec<Signs> =
            CACHE_CHECKS.iter().filter_map(|check| check(case, measured, op, side)).collect();
        if seen.is_empty() {
            continue;
        }
        let name = format!("{} ({})", case.name(measured, op), human::rate(side.bytes_per_second));
        if names.len() < MOST_EVIDENCE {
            names.push(name);
            evidence.extend(seen.iter().flat_map(|(_, evidence)| evidence.clone()));
            evidence.extend(beside(case, measured, side));
        }
        confidence = seen.iter().map(|(sure, _)| *sure).fold(confidence, Confidence::min);
    }
    if names.is_empty() {
        return None;
    }
    evidence.dedup();
    let summary = format!("The bytes came from or went to a cache, not the storage: {}", names.join(", "));
    Some(
        case.finding(Code::CacheMeasured, Severity::Limit, summary)
            .with_evidence(evidence)
            .not_so_when(
                "the storage's own counters moved as many bytes as the tool (iostat, zpool \
                 iostat)",
            )
            .advise(
                "measure again past the caches: O_DIRECT, more data than twice the memory \
                 of client and server, and \
                 fsync within the measured time; `narrows check TARGET --measure` does that",
            )
            .with_confidence(confidence),
    )
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
const MOST_EVIDENCE: usize = 3;

/// Whether waiting for durability is a call of its own, so that writes may be as fast as memory.
fn is_synced_apart(measured: &Measured, op: Op) -> bool {
    op == Op::Write && (measured.sync_ns.is_some() || measured.work.durability == Some(Durability::Each))
}

fn memory_latency(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Signs> {
    let mean = mean(side)?;
    if mean >= MEMORY_LATENCY || is_synced_apart(measured, op) || reads_ahead(measured, op, side) {
        return None;
    }
    let shown = Nanos::new(mean as u64);
    Some((Confidence::High, vec![case.evidence(measured, "mean latency of an I/O", shown)]))
}

/// An asynchronous engine that spends its time in the submission does not wait for a device: the kernel answers within
/// the call, as it does for the page cache and for ZFS.
fn inside_the_call(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Signs> {
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

fn rotating(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Signs> {
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

fn in_memory(case: &Case<'_>, _: &Measured, _: Op, _: &Side) -> Option<Signs> {
    let source = case.around.has(Word::Memory)?;
    Some((Confidence::Medium, vec![Evidence::new("the storage", "is in memory", source)]))
}

/// Behind a network whose wire is named, and which another measurement fills, a higher rate is that of a cache on this
/// side. Without the other one the text may speak of clients of the machine that was measured.
fn above_the_wire(case: &Case<'_>, measured: &Measured, _: Op, side: &Side) -> Option<Signs> {
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
fn too_small(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Signs> {
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

/// No flash answers a random read sooner: a page of SLC needs 25 µs (Kioxia XL-FLASH, 4 µs alone for the die and the way
/// there), one of TLC 50 µs and more.
const NAND_FLOOR: f64 = 15_000.0;

/// The same behind SATA or SAS, which take some 20 µs for the command and the answer by themselves: SATA drives read a page that
/// holds data in 70 µs and more, and answer what was never written without looking at their flash.
const BEHIND_SATA: f64 = 45_000.0;

/// Half of the reads this fast come from memory; the fastest media need 5 to 10 µs for all of them.
const MEMORY_MEDIAN: f64 = 6_000.0;

/// What a read needs that no cache answers: a page of flash, at least.
const MISS: f64 = 50_000.0;

fn shown(nanos: f64) -> Nanos {
    Nanos::new(nanos.max(0.0) as u64)
}

/// Single random reads faster than flash, of storage that is said to be flash, or to have a cache in memory before it.
fn below_flash(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Signs> {
    let single = measured.asked_in_flight().is_some_and(|count| count <= 1.0);
    if op != Op::Read || !is_random(measured) || !single || case.around.has(Word::Optane).is_some() {
        return None;
    }
    let slow = [Word::Nand, Word::Sata, Word::Usb, Word::Rotating, Word::Zfs, Word::IgnoresDirect];
    let (word, source) = slow.into_iter().find_map(|word| Some((word, case.around.has(word)?)))?;
    let latency = side.latency_ns.as_ref();
    let target = measured.work.target.as_deref().unwrap_or_default();
    let is_scsi = target.starts_with("/dev/sd") && case.around.has(Word::Nvme).is_none();
    let is_behind = word == Word::Sata || word == Word::Nand && is_scsi;
    let floor = if is_behind { BEHIND_SATA } else { NAND_FLOOR };
    let typical =
        latency.and_then(|latency| latency.p50).or_else(|| mean(side)).filter(|one| *one < floor)?;
    // A few slow ones may hide in the median; that is another check.
    let medium = match word {
        Word::Rotating => "disks that turn: 4 ms and more for each",
        Word::Zfs => "behind ZFS, which answers from memory what it holds there",
        Word::IgnoresDirect => "a file system in user space, behind the page cache",
        _ => "flash: some 50 µs for each",
    };
    Some((
        Confidence::Medium,
        vec![
            case.evidence(measured, "latency of most single random reads", shown(typical)),
            Evidence::new("the medium", medium, source),
        ],
    ))
}

/// Half of the reads as fast as memory, and others as slow as a medium: some were in a cache and others were not.
fn partly_in_memory(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Signs> {
    let shows = op == Op::Read && !reads_ahead(measured, op, side);
    let latency = side.latency_ns.as_ref().filter(|_| shows)?;
    let (p50, p99) = (latency.p50.filter(|p50| *p50 > 0.0 && *p50 < MEMORY_MEDIAN)?, latency.p99?);
    (p99 > MISS).then(|| {
        (
            Confidence::Medium,
            vec![
                case.evidence(measured, "median", shown(p50)),
                case.evidence(measured, "99th percentile", shown(p99)),
            ],
        )
    })
}

/// What a bus or medium carries at most, with room for the error of the law. USB 2.0 moves 13 packets of 512 bytes in
/// each eighth of a millisecond (specification, table 5-10: 53 MB/s); USB4 v1 tunnels PCIe at 4 GB/s; SATA's third
/// generation carries 600 MB/s; disks with two actuators read 560 MB/s on their outermost tracks.
const BUSES: [(Word, f64, &str); 4] = [
    (Word::Usb2, 55e6, "USB at 480 Mbit/s carries 53 MB/s"),
    (Word::Rotating, 600e6, "a disk that turns reads 300 MB/s, with two actuators 560"),
    (Word::Sata, 620e6, "SATA carries 600 MB/s"),
    (Word::Usb, 4.1e9, "USB carries 4 GB/s"),
];

/// Caches by what the storage is said to be: a rate that its bus does not carry, or a file system that answers from
/// memory whatever is asked of it.
fn above_the_bus(case: &Case<'_>, measured: &Measured, _: Op, side: &Side) -> Option<Signs> {
    let around = case.around;
    // A text may name several drives; which of them was measured is not told then.
    if around.has(Word::Array).or_else(|| around.has(Word::Nvme)).is_some() || names_nvme(measured) {
        return None;
    }
    let (source, most, why) = BUSES.into_iter().find_map(|(word, most, why)| {
        Some((around.has(word)?, most, why)).filter(|_| side.bytes_per_second.get() > most)
    })?;
    Some((
        Confidence::Medium,
        vec![
            case.evidence(measured, "rate", human::rate(side.bytes_per_second)),
            Evidence::new("more than", human::rate(BytesPerSec::new(most)), source),
            Evidence::new("since", why, "the specification"),
        ],
    ))
}

fn names_nvme(measured: &Measured) -> bool {
    measured.work.target.as_deref().is_some_and(|target| target.contains("nvme"))
}

/// A file system in user space hands O_DIRECT on to nobody: what fits memory is read from there.
fn ignores_direct(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Signs> {
    /// What a drive behind a driver in user space does not reach, and a rate of memory does.
    const FAST: f64 = 1e9;
    let source = case.around.has(Word::IgnoresDirect).filter(|_| op == Op::Read)?;
    let is_fast = side.bytes_per_second.get() > FAST
        || is_random(measured) && mean(side).is_some_and(|mean| mean < 30_000.0);
    let fits = measured.work.working_set.or(side.bytes).is_some_and(|set| case.fits_memory(set));
    (is_fast && fits).then(|| {
        (
            Confidence::Medium,
            vec![
                case.evidence(measured, "rate", human::rate(side.bytes_per_second)),
                Evidence::new("the file system", "in user space: O_DIRECT does not pass it", source),
            ],
        )
    })
}

/// ZFS before 2.3 takes O_DIRECT and ignores it (OpenZFS 2.3.0 release notes, "Direct IO"); a file that fits memory is
/// read from its cache. Latencies of a medium, or a pool that reads as much, show otherwise.
fn in_arc(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Signs> {
    let keeps = op == Op::Read && case.around.has(Word::NoArc).is_none();
    let source = case.around.has(Word::Zfs).filter(|_| keeps)?;
    let makes_files =
        matches!(case.result.tool, Tool::Fio | Tool::Kdiskmark | Tool::Crystaldiskmark | Tool::Asssd);
    let set = measured.work.working_set.filter(|set| makes_files && case.fits_memory(*set))?;
    let is_device = measured.work.target.as_deref().is_some_and(|target| target.starts_with("/dev/"));
    let pool_reads =
        case.around.pool.as_ref().is_some_and(|pool| pool.read.get() * 1.1 > side.bytes_per_second.get());
    // By Little's law the latency of one I/O, whatever the depth; a medium needs 50 µs for a random one.
    let waits = mean(side).is_some_and(|mean| mean > if is_random(measured) { 80_000.0 } else { 1e6 });
    (!is_device && !pool_reads && !waits).then(|| {
        let mut evidence = vec![
            Evidence::new("the file system", "ZFS, which reads from its cache what is there", source),
            case.evidence(measured, "working set", human::bytes(set)),
        ];
        evidence.extend(case.memory_evidence());
        evidence.extend(
            mean(side).map(|mean| case.evidence(measured, "mean latency of an I/O", Nanos::new(mean as u64))),
        );
        (Confidence::Medium, evidence)
    })
}

/// A file system in memory, by its type, on the machine that the same texts tell of. A path says nothing: `/tmp` may be
/// on a disk.
fn on_tmpfs(case: &Case<'_>, measured: &Measured, _: Op, _: &Side) -> Option<Signs> {
    let machine = case.machine.filter(|machine| machine.captured.is_some())?;
    let target = measured.work.target.as_deref().filter(|target| target.starts_with('/'))?;
    if declares_memory(measured) {
        return None;
    }
    let holds = |mount: &&Mount| {
        let point = mount.point.trim_end_matches('/');
        target.strip_prefix(point).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mount = machine.mounts.iter().filter(holds).max_by_key(|mount| mount.point.len())?;
    matches!(mount.fstype.as_str(), "tmpfs" | "ramfs" | "devtmpfs").then(|| {
        let value = format!("{} at {}", mount.fstype, mount.point);
        (Confidence::High, vec![Evidence::new("the file system", value, "the table of mounts")])
    })
}

/// One thread that copies out of the page cache reaches this, and one that waits for reads of a drive does not: each
/// page is copied, and the kernel reads ahead some hundred KiB.
const ONE_READER: f64 = 6e9;

/// dd through the page cache, faster than one reader gets from a drive.
fn one_reader(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Signs> {
    let is_plain = case.result.tool == Tool::Dd && op == Op::Read && measured.work.direct != Some(true);
    let fits = side.bytes.is_some_and(|bytes: Bytes| case.fits_memory(bytes));
    (is_plain && fits && side.bytes_per_second.get() > ONE_READER).then(|| {
        let rate = human::rate(side.bytes_per_second);
        (Confidence::Medium, vec![case.evidence(measured, "rate of one reader through the page cache", rate)])
    })
}

/// The cache of a drive: disks and SATA drives have 64 to 512 MiB of memory. A region as small as that, read again and
/// again, is answered from there whatever the operating system was told.
fn in_the_drive(case: &Case<'_>, measured: &Measured, op: Op, side: &Side) -> Option<Signs> {
    const SMALL: Bytes = Bytes::from_mib(64);
    const AGAIN: f64 = 4.0;
    let set = measured.work.working_set.filter(|set| set.get() > 0 && *set <= SMALL)?;
    let again = match case.result.tool {
        Tool::Fio | Tool::Diskspd if op == Op::Read => {
            let moved = side.bytes.filter(|moved| moved.as_f64() > AGAIN * set.as_f64())?;
            case.evidence(measured, "read from it", human::bytes(moved))
        }
        // Their protocol: the same file in each pass of each test.
        Tool::Kdiskmark | Tool::Crystaldiskmark => {
            case.evidence(measured, "visited", "again in each pass, by the tool's own protocol")
        }
        _ => return None,
    };
    Some((Confidence::Low, vec![case.evidence(measured, "region", human::bytes(set)), again]))
}

#[cfg(test)]
mod tests {
    use narrows_base::units::BytesPerSec;
    use narrows_paste::results::surroundings::Surroundings;
    use narrows_paste::results::{Imported, Latency, Percentile};

    use super::super::testing::{codes, fio_read, verdict_of, with_latency};
    use super::*;
    use crate::finding::Code;

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

    fn around(words: &[Word]) -> Surroundings {
        let words = words.iter().map(|word| (*word, "config.txt:1".to_owned())).collect();
        Surroundings { words, ..Surroundings::default() }
    }

    #[test]
    fn eight_microseconds_are_optane_and_no_flash() {
        let fast = with_latency(fio_read("randread", 60), 8_000.0);
        assert!(verdict_of(&fast, &around(&[])).trusted, "nothing says that it is flash");
        assert!(verdict_of(&fast, &around(&[Word::Optane, Word::Nand])).trusted);
        assert!(codes(&verdict_of(&fast, &around(&[Word::Nand]))).contains(&Code::CacheMeasured));
        assert!(
            verdict_of(&with_latency(fio_read("randread", 60), 45_000.0), &around(&[Word::Nand])).trusted
        );
        let behind_sata = |nanos: f64| {
            let result = with_latency(fio_read("randread", 60), nanos);
            codes(&verdict_of(&result, &around(&[Word::Sata]))).contains(&Code::CacheMeasured)
        };
        assert!(behind_sata(37_000.0) && !behind_sata(95_000.0));
        // The drive reads ahead of a sequential reader.
        assert!(verdict_of(&with_latency(fio_read("read", 60), 12_000.0), &around(&[Word::Nand])).trusted);
    }

    #[test]
    fn a_median_of_memory_with_a_tail_of_a_medium_is_a_part_in_cache() {
        let mut result = fio_read("randread", 60);
        let percentiles =
            [(50.0, 5_000.0), (99.0, 3e6)].map(|(percent, latency_ns)| Percentile { percent, latency_ns });
        result.measurements[0].read.as_mut().expect("reads").latency_ns =
            Some(Latency::of_mean(400e3).with_percentiles(percentiles.to_vec()));
        assert!(codes(&verdict_of(&result, &around(&[]))).contains(&Code::CacheMeasured));
    }

    fn judged(words: &[Word], gigabytes: f64) -> Vec<Code> {
        let words = words.iter().map(|word| (*word, "config.txt:1".to_owned())).collect();
        let mut result = fio_read("read", 60);
        let side = result.measurements[0].read.as_mut().expect("reads");
        side.bytes_per_second = BytesPerSec::from_gb(gigabytes);
        (side.iops, side.latency_ns, side.ios) = (None, None, None);
        codes(&verdict_of(&result, &Surroundings { words, ..Surroundings::default() }))
    }

    #[test]
    fn a_bus_carries_what_it_carries() {
        assert!(judged(&[Word::Usb], 5.7).contains(&Code::CacheMeasured));
        assert!(!judged(&[Word::Usb], 2.0).contains(&Code::CacheMeasured), "20 Gbit/s");
        assert!(judged(&[Word::Usb2], 0.5).contains(&Code::CacheMeasured));
        assert!(judged(&[Word::Rotating], 1.2).contains(&Code::CacheMeasured));
        assert!(!judged(&[Word::Rotating], 0.27).contains(&Code::CacheMeasured));
        assert!(!judged(&[Word::Rotating, Word::Array], 1.2).contains(&Code::CacheMeasured), "several disks");
        assert!(
            !judged(&[Word::Sata, Word::Nvme], 3.0).contains(&Code::CacheMeasured),
            "which of both is not told"
        );
    }
}
