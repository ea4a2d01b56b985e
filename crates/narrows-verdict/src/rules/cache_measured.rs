//! `cache_measured`: the bytes came from memory, so the result says nothing of the devices. Of our own runs counters tell; of those of
//! other tools latencies and rates that no medium has, the wrong command, or counters that disagree.

use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_machine::mount::Mount;
use narrows_model::ceiling::Direction;
use narrows_model::path::HopKind;
use narrows_paste::results::devices::{Device, IostatSample};
use narrows_paste::results::surroundings::Word;
use narrows_paste::results::{Durability, Imported, Measured, Op, Side, Tool, is_reordered};

use super::result::{self, MOST_BESIDE, Run, Signs, declares_memory, time};
use super::{Context, Judged, network_limited, throttled};
use crate::case::Case;
use crate::finding::{Code, Confidence, Evidence, Finding, Severity};
use crate::trust::Audit;

/// `cache_measured`: the bytes came from a cache, so the result says nothing of the devices.
pub(super) fn of_path(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let case = judged.case(Direction::Read);
    let memory = case.of_kind(HopKind::Memory).next().map(|(_, memory)| memory.id.clone());
    let found = judged.subject.runs.iter().filter_map(|run| {
        let evidence = Audit::of(&Case { direction: run.direction, ..case.with_run(run) }).cached?;
        let (target, bytes) = (&judged.subject.path.target, run.measurement.bytes);
        let summary =
            format!("The run on {target} moved {bytes}, and the devices saw fewer: it measured a cache.");
        let found = Finding::on(Code::CacheMeasured, Severity::Limit, target, summary)
            .with_evidence(evidence)
            .advise("Measure the block device instead, or a file system that honours O_DIRECT.");
        Some(Finding { hop: memory.clone(), ..found })
    });
    found.collect()
}

/// The fastest media (Optane) answer a read in some 5 µs at the application; NAND needs 50 µs to read a page. A mean
/// below this is a copy in memory.
const MEMORY_LATENCY: f64 = 5_000.0;

/// A disk of 7200 revolutions per minute needs 4.2 ms for half a revolution, and a seek before it: a mean of a random
/// access below this did not wait for the disk.
const ROTATING_LATENCY: f64 = 2_000_000.0;

/// Writes wait for less: the disk's own cache sorts them, and in the GiB that a test visits the heads hardly move. An estimate:
/// single disks are seen to take some 600 a second one at a time (CrystalDiskMark of a WD40PURX), memory takes many thousands.
const ROTATING_WRITE: f64 = 500_000.0;

/// Forty disks with queueing reach this many random I/Os per second; a pool of a few does not.
const ROTATING_IOPS: f64 = 10_000.0;

/// A check of one direction of one measurement.
type CacheCheck = fn(&Run<'_>) -> Option<Signs>;

const CACHE_CHECKS: &[CacheCheck] = &[
    memory_latency,
    inside_the_call,
    by_device_counters,
    by_pool_counters,
    by_iostat,
    rotating,
    by_command,
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
pub(super) fn of_result(case: &result::Case<'_>) -> Option<Finding> {
    let mut evidence: Vec<Evidence> = Vec::new();
    let mut confidence = Confidence::Low;
    let mut names: Vec<String> = Vec::new();
    // Who measures memory by its name gets what was asked for; what a wire or a limiter held did not come out of memory.
    let is_held = |run: &Run<'_>| throttled::is_held(run) || network_limited::share_of_wire(run).is_some();
    for run in case.runs().filter(|run| !declares_memory(run.measured) && !is_held(run)) {
        let seen: Vec<Signs> = CACHE_CHECKS.iter().filter_map(|check| check(&run)).collect();
        confidence = seen.iter().map(|signs| signs.confidence).fold(confidence, Confidence::min);
        if !seen.is_empty() && names.len() < MOST_EVIDENCE {
            names.push(format!("{} ({})", run.name(), run.rate()));
            evidence.extend(seen.into_iter().flat_map(|signs| signs.evidence));
            evidence.extend(beside(&run));
        }
    }
    if names.is_empty() {
        return None;
    }
    evidence.dedup();
    let summary = format!("The bytes came from or went to a cache, not the storage: {}", names.join(", "));
    let found = Finding::of(case, Code::CacheMeasured, Severity::Limit, summary)
        .with_evidence(evidence)
        .not_so_when("the storage's own counters moved as many bytes as the tool (iostat, zpool iostat)")
        .advise(
            "measure again past the caches: O_DIRECT, more data than twice the memory of client and server, and \
             fsync within the measured time; `narrows measure TARGET` does that",
        );
    Some(found.with_confidence(confidence))
}

/// What makes a cache likelier: a short run, and data that fits memory.
fn beside(run: &Run<'_>) -> Vec<Evidence> {
    const SHORT: Nanos = Nanos::from_millis(30_000);
    let short = run.side.elapsed_ns.filter(|time| *time < SHORT);
    let fits = run.visited_in_memory().map(|set| match run.case.memory() {
        Some((memory, _)) => format!("{set} (of {memory} of memory)"),
        None => format!("{set} (memory is not told, servers have that much)"),
    });
    let short = short.map(|time| run.evidence("measured time", time));
    short.into_iter().chain(fits.map(|fits| run.evidence("data that was visited", fits))).collect()
}

/// So many measurements are named.
const MOST_EVIDENCE: usize = 3;

fn memory_latency(run: &Run<'_>) -> Option<Signs> {
    let may_wait = !run.is_synced_apart() && !run.reads_ahead();
    let mean = run.mean().filter(|mean| may_wait && *mean < MEMORY_LATENCY)?;
    Some(run.signs().seen("mean latency of an I/O", time(mean)).with_confidence(Confidence::High))
}

/// An asynchronous engine that spends its time in the submission does not wait for a device: the kernel answers within
/// the call, as it does for the page cache and for ZFS.
fn inside_the_call(run: &Run<'_>) -> Option<Signs> {
    let (submission, mean) = run.side.submission_ns.zip(run.side.completion_ns)?;
    // A few that stood still behind all others move the mean and not the median.
    let median = run.side.latency_ns.as_ref().and_then(|latency| latency.p50);
    let completion = median.map_or(mean, |median| median.min(mean));
    if submission < 10.0 * completion || completion > MEMORY_LATENCY || run.is_synced_apart() {
        return None;
    }
    let signs = run.signs().seen("mean time within the submission", time(submission));
    Some(signs.seen("time behind it", time(completion)))
}

fn rotating(run: &Run<'_>) -> Option<Signs> {
    let source = run.has(Word::Rotating)?;
    // A text that speaks of flash as well does not say which of them was measured; beside ZFS flash is a cache or a log of the disks.
    let is_told = |word| run.has(word).is_some();
    let has_flash = (is_told(Word::Nand) || is_told(Word::Nvme)) && !is_told(Word::Zfs);
    if !run.is_random() || run.is_synced_apart() || has_flash {
        return None;
    }
    let iops = run.side.iops.map(|iops| iops.get()).filter(|iops| *iops > ROTATING_IOPS);
    let least = if run.op == Op::Write { ROTATING_WRITE } else { ROTATING_LATENCY };
    let signs = match (run.mean(), iops) {
        (Some(latency), _) if latency >= least => return None,
        (Some(latency), _) => run.signs().seen("mean latency of a random I/O", time(latency)),
        (None, Some(iops)) => run.signs().seen("random I/Os per second", human::count(iops)),
        (None, None) => return None,
    };
    Some(signs.told("the medium", "disks that turn: 4 ms and more for each", source))
}

fn in_memory(run: &Run<'_>) -> Option<Signs> {
    run.in_memory().map(|source| run.signs().told("the storage", "is in memory", source))
}

/// Behind a network whose wire is named, and which another measurement fills, a higher rate is that of a cache on this
/// side. Without the other one the text may speak of clients of the machine that was measured.
fn above_the_wire(run: &Run<'_>) -> Option<Signs> {
    run.has(Word::RemoteStorage)?;
    let (wire, source) = run.case.around.wire.clone()?;
    let mut all = run.case.beside.measured().flat_map(|(_, one)| one.sides());
    let is_filled = all.any(|(_, side)| (0.75..=1.0).contains(&side.bytes_per_second.fraction_of(wire)));
    (is_filled && run.rate().get() > 1.03 * wire.get())
        .then(|| run.signs().seen("rate", run.rate()).told("all that the wire carries", wire, source))
}

/// Less than a second for what fits any cache: nothing shows that it left memory.
fn too_small(run: &Run<'_>) -> Option<Signs> {
    /// Drives have a cache of a gigabyte or so, controllers of a few.
    const SMALL: Bytes = Bytes::new(8 << 30);
    /// No single drive on SATA or USB 3 does this.
    const FAST: f64 = 2e9;
    let bytes = run.side.bytes.filter(|bytes| *bytes <= SMALL)?;
    let elapsed = run.side.elapsed_ns.filter(|time| *time < Nanos::from_millis(1000))?;
    let moved = run.signs().seen("moved in all", format!("{bytes} in {elapsed}"));
    let is_fast = !run.is_synced_apart() && run.rate().get() >= FAST;
    (is_fast && !run.case.result.is_cold).then(|| moved.with_confidence(Confidence::Low))
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

/// Single random reads faster than flash, of storage that is said to be flash, or to have a cache in memory before it.
fn below_flash(run: &Run<'_>) -> Option<Signs> {
    if run.op != Op::Read || !run.is_random() || !run.is_single() || run.has(Word::Optane).is_some() {
        return None;
    }
    let slow = [Word::Nand, Word::Sata, Word::Usb, Word::Rotating, Word::Zfs, Word::IgnoresDirect];
    let (word, source) = slow.into_iter().find_map(|word| Some((word, run.has(word)?)))?;
    let latency = run.side.latency_ns.as_ref();
    let target = run.measured.work.target.as_deref().unwrap_or_default();
    let is_scsi = target.starts_with("/dev/sd") && run.has(Word::Nvme).is_none();
    let is_behind = word == Word::Sata || word == Word::Nand && is_scsi;
    let floor = if is_behind { BEHIND_SATA } else { NAND_FLOOR };
    let typical =
        latency.and_then(|latency| latency.p50).or_else(|| run.mean()).filter(|one| *one < floor)?;
    // A few slow ones may hide in the median; that is another check.
    let medium = match word {
        Word::Rotating => "disks that turn: 4 ms and more for each",
        Word::Zfs => "behind ZFS, which answers from memory what it holds there",
        Word::IgnoresDirect => "a file system in user space, behind the page cache",
        _ => "flash: some 50 µs for each",
    };
    let signs = run.signs().seen("latency of most single random reads", time(typical));
    Some(signs.told("the medium", medium, source))
}

/// Half of the reads as fast as memory, and others as slow as a medium: some were in a cache and others were not.
fn partly_in_memory(run: &Run<'_>) -> Option<Signs> {
    let shows = run.op == Op::Read && !run.reads_ahead();
    let latency = run.side.latency_ns.as_ref().filter(|_| shows)?;
    let (p50, p99) = (latency.p50.filter(|p50| *p50 > 0.0 && *p50 < MEMORY_MEDIAN)?, latency.p99?);
    (p99 > MISS).then(|| run.signs().seen("median", time(p50)).seen("99th percentile", time(p99)))
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
fn above_the_bus(run: &Run<'_>) -> Option<Signs> {
    let names_nvme = run.measured.work.target.as_deref().is_some_and(|target| target.contains("nvme"));
    // A text may name several drives; which of them was measured is not told then.
    if run.has(Word::Array).or_else(|| run.has(Word::Nvme)).is_some() || names_nvme {
        return None;
    }
    let (source, most, why) = BUSES.into_iter().find_map(|(word, most, why)| {
        Some((run.has(word)?, most, why)).filter(|_| run.rate().get() > most)
    })?;
    let signs = run.signs().seen("rate", run.rate()).told("more than", BytesPerSec::new(most), source);
    Some(signs.told("since", why, "the specification"))
}

/// A file system in user space hands O_DIRECT on to nobody: what fits memory is read from there.
fn ignores_direct(run: &Run<'_>) -> Option<Signs> {
    /// What a drive behind a driver in user space does not reach, and a rate of memory does.
    const FAST: f64 = 1e9;
    let source = run.has(Word::IgnoresDirect).filter(|_| run.op == Op::Read)?;
    let is_fast =
        run.rate().get() > FAST || run.is_random() && run.mean().is_some_and(|mean| mean < 30_000.0);
    let signs = run.signs().seen("rate", run.rate());
    (is_fast && run.visited_in_memory().is_some())
        .then(|| signs.told("the file system", "in user space: O_DIRECT does not pass it", source))
}

/// ZFS before 2.3 takes O_DIRECT and ignores it (OpenZFS 2.3.0 release notes, "Direct IO"); a file that fits memory is
/// read from its cache. Latencies of a medium, or a pool that reads as much, show otherwise.
fn in_arc(run: &Run<'_>) -> Option<Signs> {
    let keeps = run.op == Op::Read && run.has(Word::NoArc).is_none();
    let source = run.has(Word::Zfs).filter(|_| keeps)?;
    let makes_files = matches!(run.tool(), Tool::Fio | Tool::Kdiskmark | Tool::Crystaldiskmark | Tool::Asssd);
    let set = run.set_in_memory().filter(|_| makes_files)?;
    let is_device = run.measured.work.target.as_deref().is_some_and(|target| target.starts_with("/dev/"));
    let pool_reads =
        run.case.around.pool.as_ref().is_some_and(|pool| pool.read.get() * 1.1 > run.rate().get());
    // By Little's law the latency of one I/O, whatever the depth; a medium needs 50 µs for a random one.
    let waits = run.mean().is_some_and(|mean| mean > if run.is_random() { 80_000.0 } else { 1e6 });
    (!is_device && !pool_reads && !waits).then(|| {
        let zfs = "ZFS, which reads from its cache what is there";
        let mut signs = run.signs().told("the file system", zfs, source).seen("working set", set);
        let memory = run.case.memory();
        signs.evidence.extend(memory.map(|(memory, of)| Evidence::new("main memory", memory, of)));
        signs.evidence.extend(run.mean().map(|mean| run.evidence("mean latency of an I/O", time(mean))));
        signs
    })
}

/// A file system in memory, by its type, on the machine that the same texts tell of. A path says nothing: `/tmp` may be
/// on a disk.
fn on_tmpfs(run: &Run<'_>) -> Option<Signs> {
    let machine = run.case.machine.filter(|machine| machine.captured.is_some())?;
    let target = run.measured.work.target.as_deref().filter(|target| target.starts_with('/'))?;
    let holds = |mount: &&Mount| {
        let point = mount.point.trim_end_matches('/');
        target.strip_prefix(point).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mount = machine.mounts.iter().filter(holds).max_by_key(|mount| mount.point.len())?;
    matches!(mount.fstype.as_str(), "tmpfs" | "ramfs" | "devtmpfs").then(|| {
        let value = format!("{} at {}", mount.fstype, mount.point);
        run.signs().told("the file system", value, "the table of mounts").with_confidence(Confidence::High)
    })
}

/// One thread that copies out of the page cache reaches this, and one that waits for reads of a drive does not: each
/// page is copied, and the kernel reads ahead some hundred KiB.
const ONE_READER: f64 = 6e9;

/// dd through the page cache, faster than one reader gets from a drive.
fn one_reader(run: &Run<'_>) -> Option<Signs> {
    let is_plain = run.tool() == Tool::Dd && run.op == Op::Read && run.measured.work.direct != Some(true);
    let fits = run.side.bytes.is_some_and(|bytes| run.case.fits_memory(bytes));
    (is_plain && fits && run.rate().get() > ONE_READER)
        .then(|| run.signs().seen("rate of one reader through the page cache", run.rate()))
}

/// The cache of a drive: disks and SATA drives have 64 to 512 MiB of memory. A region as small as that, read again and
/// again, is answered from there whatever the operating system was told.
fn in_the_drive(run: &Run<'_>) -> Option<Signs> {
    const SMALL: Bytes = Bytes::from_mib(64);
    const AGAIN: f64 = 4.0;
    let set = run.measured.work.working_set.filter(|set| set.get() > 0 && *set <= SMALL)?;
    let signs = run.signs().seen("region", set).with_confidence(Confidence::Low);
    match run.tool() {
        Tool::Fio | Tool::Diskspd if run.op == Op::Read => {
            let moved = run.side.bytes.filter(|moved| moved.as_f64() > AGAIN * set.as_f64())?;
            Some(signs.seen("read from it", moved))
        }
        // Their protocol: the same file in each pass of each test.
        Tool::Kdiskmark | Tool::Crystaldiskmark => {
            Some(signs.seen("visited", "again in each pass, by the tool's own protocol"))
        }
        _ => None,
    }
}

/// Caches by command: what was asked for goes through the page cache, and fits it.
fn by_command(run: &Run<'_>) -> Option<Signs> {
    match run.tool() {
        Tool::Dd | Tool::Copy => of_dd(run),
        Tool::Fio => of_fio(run),
        Tool::Iozone | Tool::Diskspd | Tool::Xfsio | Tool::Stressng | Tool::Iobench => buffered(run),
        Tool::Sysbench | Tool::Fsmark => prepared(run),
        Tool::F3 | Tool::Radosbench => read_back(run),
        Tool::Ior => of_ior(run),
        Tool::Io500 => of_io500(run),
        Tool::Elbencho => of_elbencho(run),
        Tool::Bonnie => of_bonnie(run),
        _ => None,
    }
}

/// Whether it lasted as slow as a medium, too slow for memory: even the processor of a single-board computer copies some hundred
/// MB/s. Writes may wait in memory for 35 s ([`was_written_back`]), and are given thrice that.
fn is_slow_and_long(run: &Run<'_>) -> bool {
    const SLOW: f64 = 200e6;
    let least = Nanos::from_millis(run.op.pick(20_000, 105_000));
    let jobs = f64::from(run.measured.work.jobs.unwrap_or(1).max(1));
    let lasted = run.side.elapsed_ns.is_some_and(|time| time >= least);
    lasted && run.rate().get() / jobs < SLOW
}

fn through_cache(run: &Run<'_>, op: Op, bytes: Bytes) -> Signs {
    let how = match (op, run.measured.work.durability) {
        (Op::Read, _) => "through the page cache",
        (Op::Write, Some(Durability::AtEnd)) => "through the page cache, flushed at the end",
        (Op::Write, _) => "through the page cache, never flushed",
    };
    let signs = run.signs().seen("asked for", how).seen("moved or visited", bytes);
    match run.case.memory() {
        Some((memory, source)) => signs.told("main memory", memory, source),
        None => signs.told("main memory", "not told; most machines have more", ""),
    }
}

/// dd writes into the page cache and returns, unless `oflag` or `conv` says otherwise. It reads from the cache what it
/// wrote before.
fn of_dd(run: &Run<'_>) -> Option<Signs> {
    let bytes = run.side.bytes.filter(|bytes| run.case.fits_memory(*bytes))?;
    let target = run.measured.work.target.as_deref();
    let is_null = target.is_none_or(|target| target.starts_with("/dev/null"));
    // Another copy, above this one, wrote the same file.
    let before = |target| run.case.beside.is_written_before(target, run.case.result);
    let is_cached = match run.op {
        Op::Write => {
            let waits = was_written_back(run.side) || is_slower_than_any_memory(run);
            run.is_durable(Durability::None) && !is_null && !waits
        }
        Op::Read => !run.case.result.is_cold && target.is_some_and(before) && !is_slow_and_long(run),
    };
    (run.is_buffered() && is_cached).then(|| through_cache(run, run.op, bytes))
}

/// Whether each call waited for something that is no memory: the kernel that lets no more be dirty, a shared directory that
/// asks its host each time. Even a single-board computer copies some hundred MB/s, and a call that copies little takes it some
/// microseconds: estimates on the safe side.
fn is_slower_than_any_memory(run: &Run<'_>) -> bool {
    const SLOWEST: f64 = 20e6;
    const LONG_CALL: f64 = 50e-6;
    let (rate, block) = (run.rate().get(), run.measured.work.block_size);
    rate < SLOWEST && block.is_some_and(|block| block.as_f64() > LONG_CALL * rate)
}

/// Whether a write through the page cache took so long that nearly all of it is on the medium: Linux writes back what is
/// older than 30 s, and looks every 5 s (`dirty_expire_centisecs`, `dirty_writeback_centisecs`), so that no more than the
/// last 35 s are in memory. Of ten times as long that is a tenth.
fn was_written_back(side: &Side) -> bool {
    const HELD: Nanos = Nanos::from_millis(35_000);
    side.elapsed_ns.is_some_and(|time| time.as_secs_f64() > 10.0 * HELD.as_secs_f64())
}

/// fio drops a file's pages before it starts, so that only reads for the second time are cached.
fn of_fio(run: &Run<'_>) -> Option<Signs> {
    let bytes = run.side.bytes.filter(|_| run.is_buffered())?;
    let visited = run.measured.work.working_set.map_or(bytes, |set| set.min(bytes));
    let syncs = !run.is_durable(Durability::None) || run.measured.sync_ns.is_some();
    let is_cached = match run.op {
        Op::Write => !syncs && !was_written_back(run.side),
        Op::Read => run.measured.work.working_set.is_some_and(|set| bytes.as_f64() > 1.1 * set.as_f64()),
    };
    (is_cached && run.case.fits_memory(visited)).then(|| through_cache(run, run.op, visited))
}

/// IOzone writes its own file first, and diskspd visits it again and again.
fn buffered(run: &Run<'_>) -> Option<Signs> {
    let set = run.set_in_memory()?;
    let is_durable = run.is_durable(Durability::Each) || run.is_durable(Durability::AtEnd);
    let waits = run.op == Op::Write && is_durable;
    (run.is_buffered() && !waits).then(|| through_cache(run, run.op, set))
}

/// `sysbench fileio` visits files that its `prepare` has written, again and again, and fs_mark writes new ones: both through
/// the page cache. fsync after some requests, of files that fit memory, still leaves the reads there.
fn prepared(run: &Run<'_>) -> Option<Signs> {
    let set = run.set_in_memory()?;
    let durable = match run.tool() {
        Tool::Sysbench => run.op == Op::Write && (run.is_durable(Durability::Each) || waits_for_syncs(run)),
        _ => !run.is_durable(Durability::None),
    };
    // Where nothing tells how much memory there is, what lasted as slow as a medium is not taken for memory.
    let is_too_slow = run.case.memory().is_none() && is_slow_and_long(run);
    (run.is_buffered() && !durable && !is_too_slow).then(|| through_cache(run, run.op, set))
}

/// Whether so many fsyncs end each second that writes wait for them and not for memory. A flush of a drive takes a tenth of a
/// millisecond to some ten.
fn waits_for_syncs(run: &Run<'_>) -> bool {
    const MANY: f64 = 100.0;
    run.measured.syncs.is_some_and(|syncs| syncs.get() >= MANY)
}

/// What was just written is read back many times as fast, and fits memory: f3read and `rados bench seq` after their writes.
/// Media read a few times as fast as they write, and three copies with a journal make that six.
fn read_back(run: &Run<'_>) -> Option<Signs> {
    const RATIO: f64 = 8.0;
    let bytes = run.side.bytes.filter(|bytes| run.op == Op::Read && run.case.fits_memory(*bytes))?;
    let own = run.case.result;
    let before = run.case.beside.results().take_while(|one| one.place() != own.place());
    let written = before.filter(|one| one.tool == own.tool && one.file == own.file).last()?;
    let write = written.measurements.iter().find_map(|one| one.write.as_ref())?;
    let ratio = run.rate().get() / write.bytes_per_second.get();
    let is_same = write.bytes.is_some_and(|amount| (0.5..2.0).contains(&(amount.as_f64() / bytes.as_f64())));
    (is_same && ratio > RATIO).then(|| {
        let signs = run.signs().seen("read back", bytes).with_confidence(Confidence::Low);
        signs.told("times as fast as it was written", format!("{ratio:.0}"), written.place())
    })
}

/// bonnie++ reads what it has just written, so that its makers ask for twice the memory. It waits for its writes.
fn of_bonnie(run: &Run<'_>) -> Option<Signs> {
    let (memory, _) = run.case.memory()?;
    let set = run.measured.work.working_set.filter(|set| *set < memory)?;
    let reads_back = run.op == Op::Read || run.measured.work.label == "rewrite";
    reads_back.then(|| through_cache(run, Op::Read, set))
}

/// elbencho without `--direct`: writes are in the page cache unless `--sync` is a phase of its own, and what the same
/// call wrote is read from there unless `--dropcache` is one.
fn of_elbencho(run: &Run<'_>) -> Option<Signs> {
    let set = run.set_in_memory().filter(|_| run.is_buffered())?;
    let has = |flag: &str| run.case.result.command.as_deref().is_some_and(|command| command.contains(flag));
    let wrote = run.case.result.measurements.iter().any(|one| one.write.is_some());
    // Several nodes: what one wrote another may read, and its memory is not theirs.
    let is_cached = run.measured.nodes.is_none_or(|nodes| nodes == 1)
        && !has("--dropcache")
        && (run.op == Op::Write && !has("--sync") || run.op == Op::Read && wrote);
    is_cached.then(|| through_cache(run, run.op, set))
}

/// IO500 asks for 300 s of writing because caches hold seconds of it.
const LEFT_IN_CACHES: Nanos = Nanos::from_millis(30_000);
/// Media read faster than they write, but not ten times.
const NO_MEDIUM: f64 = 10.0;

/// IO500 asks for 300 s of writing so that caches are full. A read of the same files that is over in seconds, and ten
/// times as fast, is one of what caches still had.
fn of_io500(run: &Run<'_>) -> Option<Signs> {
    let phase = run.measured.work.label.strip_suffix("-read").filter(|_| run.op == Op::Read)?;
    let write = run.case.result.measurements.iter().find(|one| one.work.label == format!("{phase}-write"))?;
    let ratio = run.rate().get() / write.write.as_ref()?.bytes_per_second.get().max(1.0);
    // A time of nothing is less than a millisecond.
    let is_short = run.side.elapsed_ns.is_none_or(|time| time < LEFT_IN_CACHES);
    (is_short && ratio > NO_MEDIUM).then(|| {
        let took = run.side.elapsed_ns.map_or_else(|| "nothing measurable".to_owned(), human::time);
        let faster = format!("{ratio:.0} times");
        run.signs().seen("took", took).seen("as fast as the write of the same data", faster)
    })
}

/// IOR: without fsync a short write is one to the page cache; without reordering, or on one node, readers read what their own
/// node wrote; and a read that is over in seconds of what took minutes to write fits the caches of the servers.
fn of_ior(run: &Run<'_>) -> Option<Signs> {
    let elapsed = run.side.elapsed_ns.filter(|time| *time < LEFT_IN_CACHES)?;
    let command = run.case.result.command.as_deref();
    let took = run.signs().seen("took", elapsed);
    if run.op == Op::Write {
        return run.is_durable(Durability::None).then(|| took.seen("fsync", "not asked for (-e)"));
    }
    let same = run.case.beside.results().filter(|other| is_same_file(other, run.measured, run.case.result));
    // What it wrote itself, before what others wrote to a file of that name.
    let mut same = std::iter::once(run.case.result).chain(same).flat_map(first_measurements);
    let write = same.find_map(|one| one.write.as_ref())?.bytes_per_second;
    // With one node there is no other that the ranks could be moved to.
    let on_one = run.measured.nodes == Some(1) && !run.is_direct();
    if let Some(set) = run.set_in_memory().filter(|_| on_one) {
        let signs = through_cache(run, run.op, set).with_confidence(Confidence::Low);
        return Some(signs.seen("reader", "the one node, which wrote the data seconds before"));
    }
    let ratio = run.rate().get() / write.get().max(1.0);
    if command.is_some_and(|command| !is_reordered(command)) && ratio > 1.5 {
        return Some(took.seen("reader", "the node that wrote the data (no -C or -Z)"));
    }
    (ratio > NO_MEDIUM)
        .then(|| took.seen("as fast as the write of the same data", format!("{ratio:.0} times")))
}

fn first_measurements(result: &Imported) -> impl Iterator<Item = &Measured> {
    result.measurements.iter().take(MOST_BESIDE)
}

fn is_same_file(other: &Imported, measured: &Measured, own: &Imported) -> bool {
    let target = measured.work.target.as_ref();
    let has_target = || first_measurements(other).any(|one| one.work.target.as_ref() == target);
    other.tool == Tool::Ior && (std::ptr::eq(other, own) || target.is_some() && has_target())
}

/// The tool moved more than this many times what the devices did. Edges of the two windows explain less.
const MORE: f64 = 1.1;

/// Counters of block devices that fio prints. Only I/Os that must reach the device one by one count: past the page
/// cache, or at random. The kernel splits large I/Os, so that the device's count can only be higher.
fn by_device_counters(run: &Run<'_>) -> Option<Signs> {
    let device = run.measured.devices.first()?;
    let ios = run.side.ios.filter(|ios| *ios > 0)?;
    let reaches = run.is_direct() || run.op.pick(run.is_random(), run.is_durable(Durability::Each));
    // The kernel's counters of a run of less than a second are of another time.
    if !reaches || run.side.elapsed_ns.is_none_or(|time| time < Nanos::from_millis(2000)) {
        return None;
    }
    let (done, merged, bytes) = run.op.pick(
        (device.read_ios, device.read_merges, device.read_bytes),
        (device.write_ios, device.write_merges, device.write_bytes),
    );
    let (asked, seen, what) = match (run.side.bytes, bytes) {
        (Some(asked), Some(seen)) => (asked.as_f64(), seen.as_f64(), "bytes"),
        _ => (ios as f64, done.saturating_add(merged) as f64, "I/Os"),
    };
    (asked > MORE * seen).then(|| {
        run.signs()
            .with_confidence(Confidence::High)
            .seen(format!("{what} of the tool"), human::count(asked))
            .seen(format!("{what} of {}", device.name), human::count(seen))
    })
}

/// A device that did less than this part of what the tool says was looked at in another time, or is not the one.
const SAME_TIME: f64 = 0.1;

/// What `iostat -x` shows of the same time: what the tool moved beyond that came from memory. Several measurements in one
/// text may each have been the busiest interval, so that there only the most that was seen counts.
fn by_iostat(run: &Run<'_>) -> Option<Signs> {
    let reaches = run.op == Op::Read || run.is_direct() || run.is_durable(Durability::Each);
    // Behind a network the disks of this machine are not those that were measured.
    if !reaches || run.has(Word::Network).is_some() {
        return None;
    }
    let rates = &run.case.beside.of_op(run.op).rates;
    let moved: f64 = rates.iter().map(|(_, rate)| rate.get()).sum();
    let asked = run.rate();
    if asked.get() <= MORE * moved || moved < SAME_TIME * asked.get() {
        return None;
    }
    let (busiest, rate) = rates.iter().max_by(|a, b| a.1.get().total_cmp(&b.1.get()))?;
    let signs = run.signs().seen("rate of the tool", asked);
    let signs = signs.told("rate of all block devices", BytesPerSec::new(moved), &busiest.source);
    let Some(busy) = busiest.busy() else { return Some(signs) };
    let shown = format!("{rate}, busy {}", human::percent(busy.min(1.0)));
    Some(signs.told(format!("median of {}", busiest.name), shown, &busiest.source))
}

/// What each device did in one direction; with a single measurement in the text (`is_alone`) the median of its samples.
pub(super) fn rates_of_devices(all: &[Device], op: Op, is_alone: bool) -> Vec<(&Device, BytesPerSec)> {
    let of: fn(&IostatSample) -> Option<BytesPerSec> = op.pick(|sample| sample.read, |sample| sample.write);
    let rate = |device: &Device| if is_alone { device.rate(of) } else { device.most(of) };
    let devices = base_devices(all.get(..MOST_BESIDE).unwrap_or(all)).into_iter();
    devices.filter_map(|device| Some((device, rate(device)?))).collect()
}

/// Devices that are not made of others in the list: no partitions, arrays, mappings or loops, unless nothing else is there.
fn base_devices(all: &[Device]) -> Vec<&Device> {
    const MADE_OF_OTHERS: [&str; 6] = ["dm-", "md", "loop", "zd", "zram", "bcache"];
    let is_partition = |one: &Device| {
        all.iter().any(|disk| {
            let rest = one.name.strip_prefix(disk.name.as_str()).filter(|rest| !rest.is_empty());
            rest.is_some_and(|rest| rest.trim_start_matches('p').bytes().all(|byte| byte.is_ascii_digit()))
        })
    };
    let is_base =
        |one: &&Device| !MADE_OF_OTHERS.iter().any(|made| one.name.starts_with(made)) && !is_partition(one);
    let base: Vec<&Device> = all.iter().filter(is_base).collect();
    if base.is_empty() { all.iter().take(1).collect() } else { base }
}

/// What `zpool iostat` shows of the same time: readers that get more than the pool reads are served by the ARC.
fn by_pool_counters(run: &Run<'_>) -> Option<Signs> {
    let pool = run.case.around.pool.as_ref().filter(|pool| run.op == Op::Read && pool.read.get() > 0.0)?;
    if run.rate().get() <= MORE * pool.read.get() {
        return None;
    }
    let signs = run.signs().seen("rate of the tool", run.rate()).with_confidence(Confidence::High);
    let signs = signs.told(format!("median rate of pool {}", pool.name), pool.read, &pool.source);
    Some(match &run.case.around.arc_hits {
        Some((hits, source)) => signs.told("reads that the ARC answered", human::percent(*hits), source),
        None => signs,
    })
}

#[cfg(test)]
mod tests {
    use narrows_base::units::Bytes;
    use narrows_model::path::{DeviceHop, HopSpec};
    use narrows_paste::results::surroundings::Surroundings;
    use narrows_paste::results::{Latency, Percentile};

    use super::*;
    use crate::results::testing::{codes, fio_read, verdict_of, verdicts, with_latency};
    use crate::testing::{Sketch, run};

    fn cache_measured_path(seen: f64) -> Sketch {
        Sketch::of("/home").device("sda", None).memory().run(run(900.0).disk("sda", seen, 1.0))
    }

    #[test]
    fn a_run_that_the_disk_did_not_see_measured_a_cache() {
        let finding =
            cache_measured_path(90.0).finding(Code::CacheMeasured).expect("a tenth came from the disk");
        assert!(finding.evidence.iter().any(|e| e.value == "10 %"), "{:?}", finding.evidence);
        assert!(cache_measured_path(90.0).path().sentence.contains("came from memory"));
    }

    #[test]
    fn a_run_that_the_disk_saw_did_not() {
        assert_eq!(cache_measured_path(870.0).finding(Code::CacheMeasured), None);
    }

    #[test]
    fn what_moved_before_the_counters_were_read_is_not_missing_from_them() {
        let late = |seen: f64, missed: f64| {
            let mut run = run(900.0).disk("sda", seen, 1.0);
            run.activity.missed = Bytes::new((run.measurement.bytes.as_f64() * missed) as u64);
            Sketch::of("/home").device("sda", None).memory().run(run).finding(Code::CacheMeasured)
        };
        assert_eq!(late(600.0, 0.34), None);
        assert!(late(600.0, 0.1).is_some(), "a fifth is missing");
        // 32 blocks of 1 MiB under way, and 20 ms of 900 MB/s, of 1800 MB.
        assert_eq!(late(600.0, 0.24), None, "what was under way may be missing, too");
        assert!(late(0.0, 0.9).is_some(), "nothing came from the disk");
        assert_eq!(late(600.0, 1.1), None, "nothing is known");
    }

    #[test]
    fn a_disk_that_is_memory_keeps_no_counters_and_proves_nothing() {
        let brd =
            DeviceHop { block: "ram0".to_owned(), synthetic: Some("brd".to_owned()), ..DeviceHop::default() };
        let path = Sketch::of("/dev/ram0").unknown("ram0", HopSpec::Device(brd)).memory();
        let path = path.run(run(900.0).disk("ram0", 0.0, 0.0));
        assert_eq!(path.finding(Code::CacheMeasured), None);
    }

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

    fn dd(flags: &str, gigabytes: u64) -> Vec<Code> {
        let bytes = gigabytes * 1_000_000_000;
        let text = format!(
            "$ dd if=/dev/urandom of=/srv/x bs=1M {flags}\n1+0 records in\n1+0 records out\n{bytes} bytes (1 GB) copied, 60.5 s, 66 MB/s\n"
        );
        codes(&verdicts(&text).remove(0))
    }

    #[test]
    fn a_copy_into_the_page_cache_is_no_measurement() {
        assert!(dd("", 4).contains(&Code::CacheMeasured));
        for flags in ["oflag=direct", "conv=fdatasync", "conv=fsync", "oflag=dsync"] {
            assert!(!dd(flags, 4).contains(&Code::CacheMeasured), "{flags}");
        }
        assert!(!dd("", 400).contains(&Code::CacheMeasured));
    }

    #[test]
    fn a_write_of_many_minutes_is_on_the_medium() {
        let text = |seconds: u64, rate: &str| {
            format!(
                "$ dd if=/dev/urandom of=/srv/x bs=1M\n1+0 records in\n1+0 records out\n1000000000 bytes (1 GB) copied, {seconds} s, {rate} MB/s\n"
            )
        };
        let cached = |text: String| codes(&verdicts(&text).remove(0)).contains(&Code::CacheMeasured);
        assert!(cached(text(20, "50")) && !cached(text(100, "10")) && !cached(text(481, "2.1")));
        // A byte in each call is what the calls cost.
        assert!(cached(text(100, "10").replace("bs=1M", "bs=1")));
    }

    #[test]
    fn a_read_of_what_was_just_written_is_cached() {
        let text = "$ dd if=/dev/urandom of=/srv/x bs=1M conv=fsync\n1+0 records in\n1+0 records out\n1000000000 bytes (1 GB) copied, 40 s, 25 MB/s\n\
            $ dd if=/srv/x of=/dev/null bs=1M\n1+0 records in\n1+0 records out\n1000000000 bytes (1 GB) copied, 2 s, 500 MB/s\n";
        let all = verdicts(text);
        assert!(
            !codes(&all[0]).contains(&Code::CacheMeasured) && codes(&all[1]).contains(&Code::CacheMeasured)
        );
        let slow = text.replace("2 s, 500 MB/s", "40 s, 25 MB/s");
        assert!(!codes(&verdicts(&slow)[1]).contains(&Code::CacheMeasured), "memory is not so slow");
        let emptied = text.replace("$ dd if=/srv/x", "$ echo 3 >/proc/sys/vm/drop_caches\n$ dd if=/srv/x");
        assert!(!codes(&verdicts(&emptied)[1]).contains(&Code::CacheMeasured));
    }

    #[test]
    fn what_lasted_as_slow_as_a_medium_is_not_taken_for_memory_that_nothing_tells() {
        let read = |mib: u32| {
            format!(
                "$ sysbench --test=fileio --file-total-size=8G --file-test-mode=seqrd run\n\
                 sysbench 0.4.12:  multi-threaded system evaluation benchmark\nExtra file open flags: 0\n128 files, 64Mb each\n8Gb total file size\nBlock size 16Kb\n\
                 Using synchronous I/O mode\nDoing sequential read test\nDone.\n\n\
                 Operations performed:  524288 Read, 0 Write, 0 Other = 524288 Total\n\
                 Read 8Gb  Written 0b  Total transferred 8Gb  ({mib}Mb/sec)\n{} Requests/sec executed\n\n\
                 Test execution summary:\n    total time:  {:.4}s\n",
                mib * 64,
                8192.0 / f64::from(mib)
            )
        };
        let cached = |text: &str| codes(&verdicts(text).remove(0)).contains(&Code::CacheMeasured);
        assert!(!cached(&read(167)) && cached(&read(2000)));
        let told = format!("MemTotal:       16318480 kB\n{}", read(167));
        assert!(cached(&told));
    }

    /// A read of 1000 MB/s for a minute, with what iostat saw meanwhile, in MiB/s.
    fn found(rates: &[u32]) -> Vec<Code> {
        let mut text = String::from(
            "j: (groupid=0, jobs=1): err= 0: pid=1\n  read: IOPS=1000, BW=954MiB/s (1000MB/s)(55.9GiB/60000msec)\n",
        );
        for rate in rates {
            text += &format!(
                "\nDevice r/s rMB/s w/s wMB/s aqu-sz %util\nsda 1.00 {rate}.00 0.00 0.00 1.00 50.00\nsda1 1.00 {rate}.00 0.00 0.00 1.00 50.00\n"
            );
        }
        codes(&verdicts(&text).remove(0))
    }

    #[test]
    fn a_device_that_moved_less_than_the_tool_shows_a_cache() {
        assert!(found(&[1, 600, 610, 620]).contains(&Code::CacheMeasured));
        assert!(!found(&[1, 950, 960, 955]).contains(&Code::CacheMeasured));
        // The first report is of all time, and an idle device was looked at in another.
        assert!(!found(&[600]).contains(&Code::CacheMeasured));
        assert!(!found(&[1, 2, 2, 3]).contains(&Code::CacheMeasured));
    }
}
