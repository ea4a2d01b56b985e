//! What a result shows to be its limit: the network, encryption on the processor, the tool's own threads, a queue that is not deep enough.

use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_model::ceiling::crypt;
use narrows_paste::results::surroundings::Word;
use narrows_paste::results::{Imported, Measured, Op, Tool};

use super::case::{Case, Run, is_mixed, of_the_mean, time};
use crate::finding::{Code, Confidence, Evidence, Finding, Severity};
use crate::trust;

/// Wires, in bytes per second: 1, 2.5, 10, 25, 40, 56, 100, 200 and 400 Gbit/s.
const WIRES: [f64; 9] = [0.125e9, 0.3125e9, 1.25e9, 3.125e9, 5e9, 7e9, 12.5e9, 25e9, 50e9];

/// The part of a wire that payload can have: Ethernet, IP and TCP take 5 %, NFS and the gaps a little more.
/// InfiniBand loses 2 %.
const SHARE_OF_WIRE: std::ops::Range<f64> = 0.88..0.985;

/// A server that does so many times more by itself is not what holds its clients back.
const FASTER_LOCALLY: f64 = 1.5;

/// Caches last no longer.
const LONGEST_CACHED: Nanos = Nanos::from_millis(30_000);

/// The network is the bottleneck: the rate is that of a wire, or what the server does locally is much more.
pub(super) fn network_limited(case: &Case<'_>) -> Option<Finding> {
    let full = full_wire(case).or_else(|| full_clients(case)).or_else(|| full_wire_of_ceph(case));
    full.or_else(|| slower_than_local(case))
}

/// The narrowest wire that one of the rates fills.
fn wire_of(rates: impl Iterator<Item = BytesPerSec>) -> Option<BytesPerSec> {
    let wires =
        rates.filter_map(|rate| WIRES.into_iter().find(|wire| SHARE_OF_WIRE.contains(&(rate.get() / wire))));
    wires.min_by(f64::total_cmp).map(BytesPerSec::new)
}

fn network_finding(case: &Case<'_>, summary: String, evidence: Vec<Evidence>) -> Finding {
    case.finding(Code::NetworkLimited, Severity::Limit, summary)
        .with_evidence(evidence)
        .not_so_when("the interfaces' counters stay below their rate during the run")
        .advise("more or faster links between client and server; or measure on the server itself")
        .with_confidence(Confidence::Medium)
}

fn full_wire(case: &Case<'_>) -> Option<Finding> {
    let source = case.around.has(Word::Network)?;
    // The wire that is named; else one that the fastest rate below it fills.
    let wire = match &case.around.wire {
        Some((wire, _)) => *wire,
        None => wire_of(case.runs().map(|run| run.rate()))?,
    };
    let share = |run: &Run<'_>| run.rate().get() / wire.get();
    let run = case.runs().find(|run| SHARE_OF_WIRE.contains(&share(run)))?;
    let summary = format!("The {} fill a wire: {}", run.name(), run.rate());
    let part = format!("{} of {wire}", human::percent(share(&run)));
    let signs = run.signs().seen("rate", run.rate()).told("part of a wire", part, source);
    Some(network_finding(case, summary, signs.evidence))
}

/// Each client node of several at the rate of a wire, for longer than caches last.
fn full_clients(case: &Case<'_>) -> Option<Finding> {
    /// Nearly all of a wire: a chance of one in twenty that something else has its rate.
    const NEARLY: f64 = 0.93;
    let all = case.beside.measured().filter(|(of, _)| of.tool == Tool::Ior && case.result.tool == Tool::Ior);
    let rates = all.flat_map(|(_, one)| {
        let nodes = one.nodes.filter(|nodes| *nodes > 1);
        let long = one.sides().filter(|(_, side)| side.elapsed_ns.is_some_and(|time| time > LONGEST_CACHED));
        long.filter_map(move |(op, side)| Some((op, side.bytes_per_second / f64::from(nodes?))))
            .collect::<Vec<_>>()
    });
    let (op, rate, wire) = rates.into_iter().find_map(|(op, rate)| {
        let wire = wire_of(std::iter::once(rate)).filter(|wire| rate.get() > NEARLY * wire.get())?;
        Some((op, rate, wire))
    })?;
    let (op, place) = (op.word(), case.result.place());
    let summary = format!("Each client node {op}s {rate}, as much as a wire carries");
    let each = Evidence::new(format!("{op} by each node"), rate, place.clone());
    Some(network_finding(case, summary, vec![each, Evidence::new("a wire", wire, place)]))
}

/// Clients of Ceph reach its servers over a network: large objects at the rate of a wire, which varies less from second to
/// second than so few objects do by chance (Poisson), are held by something even.
fn full_wire_of_ceph(case: &Case<'_>) -> Option<Finding> {
    const LARGE: Bytes = Bytes::from_mib(1);
    if case.result.tool != Tool::Radosbench {
        return None;
    }
    let (run, wire, relative) = case.runs().find_map(|run| {
        let is_large = run.measured.work.block_size.is_some_and(|size| size >= LARGE);
        let is_long = run.side.elapsed_ns.is_some_and(|time| time > LONGEST_CACHED);
        let spread = run.side.spread.filter(|_| is_large && is_long)?;
        let each_second = run.side.ios? as f64 / spread.samples? as f64;
        let relative = spread.relative().filter(|relative| relative * each_second.sqrt() < 1.0)?;
        let wire = wire_of(std::iter::once(run.rate()))?;
        Some((run, wire, relative))
    })?;
    let summary = format!("The {} are as much as a wire carries: {}", run.name(), run.rate());
    let share = human::percent(run.rate().get() / wire.get());
    let signs = run.signs().seen("part of a wire", format!("{share} of {wire}"));
    let signs = signs.seen("standard deviation from second to second", of_the_mean(relative));
    Some(network_finding(case, summary, signs.evidence).with_confidence(Confidence::Low))
}

/// Rates over NFS that stand beside a local result.
fn slower_than_local(case: &Case<'_>) -> Option<Finding> {
    let (remote, source) = case.around.remote.iter().max_by(|a, b| a.0.get().total_cmp(&b.0.get()))?;
    let run = case.runs().max_by(|a, b| a.rate().get().total_cmp(&b.rate().get()))?;
    (run.rate().get() > FASTER_LOCALLY * remote.get()).then(|| {
        let summary = format!(
            "The network's clients get {remote} at most of what the server's own {} reach ({})",
            run.name(),
            run.rate()
        );
        let signs = run.signs().seen("local rate", run.rate());
        let evidence = signs.told("best rate over the network", remote, source).evidence;
        // This result was measured without the network, which limits others.
        Finding { severity: Severity::Info, ..network_finding(case, summary, evidence) }
    })
}

/// What iperf3 takes by itself, less its rounding. The first of its seconds has the start of TCP in it; of ten that is a
/// tenth at most, which is as sure as a mean has to be.
const USUAL_NETWORK_RUN: Nanos = Nanos::from_millis(9_500);

/// A run over a network that ended while its rate was still rising, or that too few samples describe.
pub(super) fn network_run(case: &Case<'_>) -> Option<Finding> {
    let mut all = case.result.measurements.iter();
    let (measured, side) = all.find_map(|one| Some((one, one.network.as_ref()?)))?;
    let elapsed = side.elapsed_ns.filter(|elapsed| *elapsed < USUAL_NETWORK_RUN)?;
    if trust::interval_of_series(&side.series).is_some_and(|interval| interval <= trust::WIDEST_INTERVAL) {
        return None;
    }
    let summary = format!("The run over the network lasted {elapsed}: too short for what lasts");
    Some(
        case.finding(Code::TooShort, Severity::Limit, summary)
            .seen("measured time", elapsed, case.source(measured))
            .not_so_when("a run of ten seconds and more has the same rate")
            .advise("measure for ten seconds at least: `iperf3 -t 30 -O 2`"),
    )
}

/// A layer that takes more than a quarter shows in three seconds of reading.
const CIPHER_STEP: f64 = 0.75;

/// The step between an encrypted device and the one below it.
pub(super) fn crypto_cpu(case: &Case<'_>) -> Option<Finding> {
    at_the_cipher(case).or_else(|| slower_than_below(case))
}

fn slower_than_below(case: &Case<'_>) -> Option<Finding> {
    if case.result.tool != Tool::Hdparm {
        return None;
    }
    let (source, (target, rate)) = (case.around.has(Word::Encrypted)?, disk_rate(case.result)?);
    let below = case.beside.results().filter(|one| one.tool == Tool::Hdparm).filter_map(disk_rate);
    let (name, most) = below.max_by(|a, b| a.1.get().total_cmp(&b.1.get()))?;
    if is_plain(target) || rate.get() >= CIPHER_STEP * most.get() {
        return None;
    }
    let summary = format!("{target} reads {rate}, {name} below it {most}: encryption takes the rest");
    Some(
        case.finding(Code::CryptoCpu, Severity::Limit, summary)
            .seen(format!("rate of {target}"), rate, case.result.place())
            .seen(format!("rate of {name}"), most, case.result.place())
            .seen("in the path", "encryption", source)
            .not_so_when("`cryptsetup benchmark` shows several times this rate for the cipher in use")
            .advise("run `cryptsetup benchmark`; use a processor with AES instructions")
            .with_confidence(Confidence::Medium),
    )
}

/// What dm-crypt makes of a cipher's rate on one core, with the error of both laws (`ceiling::crypt`).
const NEAR_CIPHER: std::ops::Range<f64> = 0.85..1.1;

/// An encrypted volume whose rate is what `cryptsetup benchmark`, given beside it, lets dm-crypt reach: one submitter
/// keeps one core busy.
fn at_the_cipher(case: &Case<'_>) -> Option<Finding> {
    let source = case.around.has(Word::Encrypted)?;
    let ciphers = case.beside.measured().filter(|(of, _)| of.tool == Tool::Cryptsetup).map(|(_, one)| one);
    let ciphers: Vec<&Measured> = ciphers.filter(|one| one.work.label.starts_with("aes-xts")).collect();
    let (run, cipher, ceiling) = case.runs().find_map(|run| {
        let share = match run.op {
            Op::Read => crypt::READ_SHARE,
            Op::Write => crypt::WRITE_SHARE,
        };
        let near = ciphers.iter().filter_map(|cipher| {
            let ceiling = cipher.side(run.op)?.bytes_per_second * share;
            NEAR_CIPHER.contains(&run.rate().fraction_of(ceiling)).then_some((*cipher, ceiling))
        });
        let off = |ceiling: BytesPerSec| (run.rate().fraction_of(ceiling) - 1.0).abs();
        let near = near.min_by(|a, b| off(a.1).total_cmp(&off(b.1)))?;
        // Random and small I/O is limited by its latency.
        let is_large = run.measured.work.block_size.is_none_or(|size| size.get() >= 128 << 10);
        is_large.then_some((run, near.0, near.1))
    })?;
    let rate = cipher.side(run.op)?.bytes_per_second;
    let summary = format!(
        "The {} ({}) are what dm-crypt reaches with {} on one core ({ceiling}): more or faster drives behind it change nothing",
        run.name(),
        run.rate(),
        cipher.work.label
    );
    Some(
        case.finding(Code::CryptoCpu, Severity::Limit, summary)
            .seen("rate", run.rate(), run.source())
            .seen(format!("{} in memory", cipher.work.label), rate, case.result.place())
            .seen("in the path", "encryption", source)
            .not_so_when("the volume is as fast with another cipher, or the plain volume is no faster")
            .advise(
                "several submitters spread over cores: measure with more jobs; look at sector size and workqueues",
            )
            .with_confidence(Confidence::Medium),
    )
}

/// A whole drive or its partition, which has no layer above it.
fn is_plain(target: &str) -> bool {
    let name = target.trim_start_matches("/dev/");
    ["sd", "nvme", "hd", "mmcblk", "vd"].iter().any(|kind| name.starts_with(kind)) && !name.contains('/')
}

fn disk_rate(result: &Imported) -> Option<(&str, BytesPerSec)> {
    let measured = result.measurements.iter().find(|one| !one.memory_only)?;
    Some((measured.work.target.as_deref()?, measured.read.as_ref()?.bytes_per_second))
}

/// The tool itself was the bottleneck: its threads filled their processor.
pub(super) fn generator_cpu(case: &Case<'_>) -> Option<Finding> {
    before_memory(case).or_else(|| one_thread_each(case)).or_else(|| full_threads(case))
}

fn full_threads(case: &Case<'_>) -> Option<Finding> {
    // fio's shares are of its jobs' own time; diskspd's of a processor that others use too; bonnie's of a core.
    let full = match case.result.tool {
        Tool::Fio => 0.85,
        Tool::Diskspd | Tool::Bonnie => 0.95,
        _ => return None,
    };
    let measured = case.result.measurements.iter().find(|one| one.cpu.is_some_and(|cpu| cpu.total() >= full));
    let (measured, cpu) = measured.and_then(|one| Some((one, one.cpu?)))?;
    let summary = format!(
        "The tool's own threads used {} of a processor core each: the rate is a floor of what the storage can do",
        human::percent(cpu.total())
    );
    Some(
        case.finding(Code::GeneratorCpu, Severity::Limit, summary)
            .seen("user time", human::percent(cpu.user), case.source(measured))
            .seen("kernel time", human::percent(cpu.system), case.source(measured))
            .not_so_when("more jobs do not raise the rate")
            .advise("spread the load over more jobs, or use io_uring: `narrows measure TARGET --as sweep`"),
    )
}

/// `t/io_uring` has one thread for each core that it is given, which submits and reaps as fast as it can: it measures these.
fn one_thread_each(case: &Case<'_>) -> Option<Finding> {
    let measured = case.result.measurements.first().filter(|_| case.result.tool == Tool::Iouring)?;
    let threads =
        measured.work.jobs.map_or_else(|| "its threads".to_owned(), |jobs| format!("{jobs} threads"));
    let summary =
        format!("The rate is what {threads} of the tool submit and reap: a floor of what the drives can do");
    Some(
        case.finding(Code::GeneratorCpu, Severity::Info, summary)
            .seen("threads", &threads, case.source(measured))
            .not_so_when("more threads on more cores do not raise the rate")
            .advise("add threads (-n) until the rate stops rising: `narrows measure TARGET --as sweep`"),
    )
}

/// Storage in memory answers within a microsecond: what a random I/O takes beyond that is processor time of the path to
/// it, a hypervisor's or a driver's.
fn before_memory(case: &Case<'_>) -> Option<Finding> {
    /// Many times what memory and a system call take.
    const SOFTWARE: f64 = 50_000.0;
    let source = case.around.has(Word::Memory)?;
    let mut single = case.runs().filter(|run| run.is_single() && run.is_random());
    let (run, latency) =
        single.find_map(|run| Some((run, run.mean().filter(|latency| *latency > SOFTWARE)?)))?;
    let shown = time(latency);
    let summary = format!(
        "The storage is memory, and a random I/O takes {shown}: the time goes to the processors on the way there"
    );
    Some(
        case.finding(Code::GeneratorCpu, Severity::Limit, summary)
            .seen("latency of a single random I/O", shown, run.source())
            .seen("the storage", "is in memory", source)
            .not_so_when("a limiter or a network lies between")
            .advise("look at the processors of host and guest while it runs")
            .with_confidence(Confidence::Medium),
    )
}

/// A depth was asked of an engine that waits for each I/O, or of one that waits for all that goes through the page
/// cache (libaio; fio's HOWTO, `iodepth`).
fn waits_for_each(run: &Run<'_>) -> Option<Finding> {
    let depth = run.measured.work.queue_depth.filter(|depth| *depth > 1)?;
    let engine = run.measured.work.engine.as_deref()?;
    let why = match engine {
        "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" | "mmap" => "waits for each I/O",
        "libaio" if run.is_buffered() => "waits for each I/O that goes through the page cache",
        _ => return None,
    };
    let summary =
        format!("A depth of {depth} was asked for, but `{engine}` {why}: one was in flight for each job");
    Some(
        run.case
            .finding(Code::DepthTooLow, Severity::Info, summary)
            .seen("ioengine", engine, run.source())
            .seen("iodepth", depth, run.source())
            .not_so_when("`IO depths` in the output shows more than 1")
            .advise("use io_uring, or libaio with direct=1"),
    )
}

/// Below this part of what was asked for, the queue was not filled.
const PATH_FILLED: f64 = 0.7;

/// Fewer I/Os were in flight than the path can take, or than were asked for.
pub(super) fn depth_too_low(case: &Case<'_>) -> Option<Finding> {
    case.runs().find_map(|run| waits_for_each(&run).or_else(|| queue_not_filled(&run)))
}

fn queue_not_filled(run: &Run<'_>) -> Option<Finding> {
    let asked = run.measured.asked_in_flight()?;
    let finding = |summary: String| run.case.finding(Code::DepthTooLow, Severity::Info, summary);
    let asked_for = format!("{} I/Os were asked to be in flight", human::count(asked));
    if let Some(real) = by_little(run, asked) {
        let real = human::count(real);
        let found = finding(format!("{asked_for}, {real} were: the rate is not that of the depth asked for"))
            .seen("I/Os in flight by Little's law (rate × mean latency)", real, run.source())
            .not_so_when("the tool printed latencies of another part of the run than its rate")
            .advise("use an engine that keeps I/Os in flight (io_uring, or libaio with O_DIRECT)");
        return Some(found);
    }
    let on_devices = on_devices(run.case).filter(|(real, _)| asked >= 8.0 && *real < PATH_FILLED * asked);
    if let Some((real, source)) = on_devices {
        let real = human::count(real);
        let found = finding(format!("{asked_for}, {real} reached the block devices"))
            .seen("I/Os in flight at the devices (iostat aqu-sz)", real, source)
            .not_so_when("iostat shows another time or other devices than the run")
            .advise(
                "see which layer between holds them back: `narrows TARGET`, or fewer jobs with more depth",
            );
        return Some(found);
    }
    let counts = matches!(run.tool(), Tool::Fio | Tool::Diskspd);
    let summary =
        format!("The {} had one I/O in flight: they show latency, not what the storage can do", run.name());
    (asked <= 1.0 && counts && run.is_random()).then(|| {
        finding(summary)
            .seen("I/Os in flight asked for", human::count(asked), run.source())
            .not_so_when("latency is what was to be measured")
            .advise("for capacity, raise the depth until the rate stops rising: `narrows measure TARGET --as sweep`")
    })
}

/// How many I/Os were in flight where more were asked for, and how many those were: of the first measurement that tells.
pub(super) fn in_flight(case: &Case<'_>) -> Option<(f64, f64)> {
    case.runs().find_map(|run| {
        if waits_for_each(&run).is_some() {
            return Some((1.0, f64::from(run.measured.work.queue_depth?)));
        }
        let asked = run.measured.asked_in_flight()?;
        Some((by_little(&run, asked)?, asked))
    })
}

/// How many I/Os were in flight by Little's law, where that is clearly less than what was asked for. The sides of a mixed job share
/// its queue.
fn by_little(run: &Run<'_>, asked: f64) -> Option<f64> {
    let real = run.in_flight()?;
    (asked > 1.0 && !is_mixed(run.measured) && real < PATH_FILLED * asked).then_some(real)
}

/// I/Os in flight at the busiest device, by `iostat`: the upper layers count the same I/Os again.
fn on_devices(case: &Case<'_>) -> Option<(f64, String)> {
    let depths =
        case.around.devices.iter().filter_map(|device| Some((device.depth()?, device.source.clone())));
    depths.max_by(|a, b| a.0.total_cmp(&b.0))
}

#[cfg(test)]
mod tests {
    use narrows_paste::results::Cpu;
    use narrows_paste::results::surroundings::Surroundings;

    use super::super::testing::{codes, fio_read, verdict_of, verdicts};
    use super::*;

    #[test]
    fn large_objects_of_ceph_at_the_even_rate_of_a_wire_are_limited_by_it() {
        let found = |size: u32, rate: f64, deviation: f64| {
            let time = f64::from(size) * 1620.0 / 1_048_576.0 / rate;
            let body = format!(
                "rados bench -p test 60 write --no-cleanup\nTotal time run:         {time:.4}\nTotal writes made:      1620\nWrite size:             {size}\nObject size:            {size}\nBandwidth (MB/sec):     {rate}\nStddev Bandwidth:       {deviation}\nAverage IOPS:           26\nAverage Latency(s):     0.59499\n"
            );
            codes(&verdicts(&body).remove(0)).contains(&Code::NetworkLimited)
        };
        assert!(found(4 << 20, 107.249, 10.67));
        assert!(!found(4 << 20, 95.0, 9.5), "no wire's rate");
        assert!(!found(4 << 20, 107.249, 40.0), "by chance");
        assert!(!found(4096, 0.107, 0.01), "small");
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

    #[test]
    fn a_thread_that_fills_its_core_is_the_narrows() {
        for (system, expected) in [(0.70, true), (0.50, false)] {
            let mut result = fio_read("randread", 60);
            result.measurements[0].cpu = Some(Cpu { user: 0.2, system });
            let found = codes(&verdict_of(&result, &Surroundings::default())).contains(&Code::GeneratorCpu);
            assert_eq!(found, expected, "{system}");
        }
    }
}
