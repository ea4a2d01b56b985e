//! What a result shows to be its limit: the network, encryption on the processor, the tool's own threads, a queue that is not deep enough.

use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_model::ceiling::crypt;
use narrows_paste::results::surroundings::Word;
use narrows_paste::results::{Imported, Measured, Op, Side, Tool};

use super::case::{Case, is_mixed, is_random, mean};
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
    let rates = || case.sides().map(|(_, _, side)| side.bytes_per_second);
    let wire = match &case.around.wire {
        Some((wire, _)) => *wire,
        None => wire_of(rates())?,
    };
    let (measured, op, side) = case
        .sides()
        .find(|(_, _, side)| SHARE_OF_WIRE.contains(&(side.bytes_per_second.get() / wire.get())))?;
    let share = human::percent(side.bytes_per_second.get() / wire.get());
    let summary =
        format!("The {} fill a wire: {}", case.name(measured, op), human::rate(side.bytes_per_second));
    Some(network_finding(
        case,
        summary,
        vec![
            case.evidence(measured, "rate", human::rate(side.bytes_per_second)),
            Evidence::new("part of a wire", format!("{share} of {}", human::rate(wire)), source),
        ],
    ))
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
    let summary = format!("Each client node {}s {}, as much as a wire carries", op.word(), human::rate(rate));
    let place = case.result.place();
    Some(network_finding(
        case,
        summary,
        vec![
            Evidence::new(format!("{} by each node", op.word()), human::rate(rate), place.clone()),
            Evidence::new("a wire", human::rate(wire), place),
        ],
    ))
}

/// Clients of Ceph reach its servers over a network: large objects at the rate of a wire, which varies less from second to
/// second than so few objects do by chance (Poisson), are held by something even.
fn full_wire_of_ceph(case: &Case<'_>) -> Option<Finding> {
    const LARGE: Bytes = Bytes::from_mib(1);
    if case.result.tool != Tool::Radosbench {
        return None;
    }
    let (measured, op, side, wire, relative) = case.sides().find_map(|(measured, op, side)| {
        let is_large = measured.work.block_size.is_some_and(|size| size >= LARGE);
        let is_long = side.elapsed_ns.is_some_and(|time| time > LONGEST_CACHED);
        let spread = side.spread.filter(|_| is_large && is_long)?;
        let each_second = side.ios? as f64 / spread.samples? as f64;
        let relative = spread.relative().filter(|relative| relative * each_second.sqrt() < 1.0)?;
        let wire = wire_of(std::iter::once(side.bytes_per_second))?;
        Some((measured, op, side, wire, relative))
    })?;
    let summary = format!(
        "The {} are as much as a wire carries: {}",
        case.name(measured, op),
        human::rate(side.bytes_per_second)
    );
    let share = human::percent(side.bytes_per_second.get() / wire.get());
    let evidence = vec![
        case.evidence(measured, "part of a wire", format!("{share} of {}", human::rate(wire))),
        case.evidence(
            measured,
            "standard deviation from second to second",
            format!("{} of the mean", human::percent(relative)),
        ),
    ];
    Some(network_finding(case, summary, evidence).with_confidence(Confidence::Low))
}

/// Rates over NFS that stand beside a local result.
fn slower_than_local(case: &Case<'_>) -> Option<Finding> {
    let (remote, source) = case.around.remote.iter().max_by(|a, b| a.0.get().total_cmp(&b.0.get()))?;
    let (measured, op, side) =
        case.sides().max_by(|a, b| a.2.bytes_per_second.get().total_cmp(&b.2.bytes_per_second.get()))?;
    (side.bytes_per_second.get() > FASTER_LOCALLY * remote.get()).then(|| {
        let summary = format!(
            "The network's clients get {} at most of what the server's own {} reach ({})",
            human::rate(*remote),
            case.name(measured, op),
            human::rate(side.bytes_per_second)
        );
        // This result was measured without the network, which limits others.
        let local = network_finding(
            case,
            summary,
            vec![
                case.evidence(measured, "local rate", human::rate(side.bytes_per_second)),
                Evidence::new("best rate over the network", human::rate(*remote), source.clone()),
            ],
        );
        Finding { severity: Severity::Info, ..local }
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
    let shown = human::time(elapsed);
    Some(
        case.finding(
            Code::TooShort,
            Severity::Limit,
            format!("The run over the network lasted {shown}: too short for what lasts"),
        )
        .seen("measured time", shown, case.source(measured))
        .not_so_when("a run of ten seconds and more has the same rate")
        .advise("measure for ten seconds at least: `iperf3 -t 30 -O 2`"),
    )
}

/// A layer that takes more than a quarter shows in three seconds of reading.
const CIPHER_STEP: f64 = 0.75;

/// The step between an encrypted device and the one below it.
pub(super) fn crypto_cpu(case: &Case<'_>) -> Option<Finding> {
    if let Some(finding) = at_the_cipher(case) {
        return Some(finding);
    }
    if case.result.tool != Tool::Hdparm {
        return None;
    }
    let (source, (target, rate)) = (case.around.has(Word::Encrypted)?, disk_rate(case.result)?);
    let below = case.beside.results().filter(|one| one.tool == Tool::Hdparm).filter_map(disk_rate);
    let (name, most) = below.max_by(|a, b| a.1.get().total_cmp(&b.1.get()))?;
    if is_plain(target) || rate.get() >= CIPHER_STEP * most.get() {
        return None;
    }
    let summary = format!(
        "{target} reads {}, {name} below it {}: encryption takes the rest",
        human::rate(rate),
        human::rate(most)
    );
    Some(
        case.finding(Code::CryptoCpu, Severity::Limit, summary)
            .seen(format!("rate of {target}"), human::rate(rate), case.result.place())
            .seen(format!("rate of {name}"), human::rate(most), case.result.place())
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
    let (measured, op, side, cipher, ceiling) = case.sides().find_map(|(measured, op, side)| {
        let share = match op {
            Op::Read => crypt::READ_SHARE,
            Op::Write => crypt::WRITE_SHARE,
        };
        let near = ciphers.iter().filter_map(|cipher| {
            let ceiling = cipher.side(op)?.bytes_per_second * share;
            NEAR_CIPHER.contains(&side.bytes_per_second.fraction_of(ceiling)).then_some((*cipher, ceiling))
        });
        let off = |ceiling: BytesPerSec| (side.bytes_per_second.fraction_of(ceiling) - 1.0).abs();
        let near = near.min_by(|a, b| off(a.1).total_cmp(&off(b.1)))?;
        // Random and small I/O is limited by its latency.
        let is_large = measured.work.block_size.is_none_or(|size| size.get() >= 128 << 10);
        is_large.then_some((measured, op, side, near.0, near.1))
    })?;
    let rate = cipher.side(op)?.bytes_per_second;
    let summary = format!(
        "The {} ({}) are what dm-crypt reaches with {} on one core ({}): more or faster drives behind it change nothing",
        case.name(measured, op),
        human::rate(side.bytes_per_second),
        cipher.work.label,
        human::rate(ceiling)
    );
    Some(
        case.finding(Code::CryptoCpu, Severity::Limit, summary)
            .seen("rate", human::rate(side.bytes_per_second), case.source(measured))
            .seen(format!("{} in memory", cipher.work.label), human::rate(rate), case.result.place())
            .seen("in the path", "encryption", source)
            .not_so_when("the volume is as fast with another cipher, or the plain volume is no faster")
            .advise(
                "several submitters spread over cores: measure with more jobs; look at \
                 sector size and workqueues",
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
    if let Some(finding) = before_memory(case) {
        return Some(finding);
    }
    if let Some(finding) = one_thread_each(case) {
        return Some(finding);
    }
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
            .advise("spread the load over more jobs, or use io_uring: `narrows sweep TARGET`"),
    )
}

/// `t/io_uring` has one thread for each core that it is given, which submits and reaps as fast as it can: it measures these.
fn one_thread_each(case: &Case<'_>) -> Option<Finding> {
    let measured = case.result.measurements.first().filter(|_| case.result.tool == Tool::Iouring)?;
    let threads =
        measured.work.jobs.map_or_else(|| "its threads".to_owned(), |jobs| format!("{jobs} threads"));
    Some(
        case.finding(
            Code::GeneratorCpu,
            Severity::Info,
            format!(
                "The rate is what {threads} of the tool submit and reap: a floor of what the drives can do"
            ),
        )
        .seen("threads", &threads, case.source(measured))
        .not_so_when("more threads on more cores do not raise the rate")
        .advise("add threads (-n) until the rate stops rising: `narrows sweep TARGET`"),
    )
}

/// Storage in memory answers within a microsecond: what a random I/O takes beyond that is processor time of the path to
/// it, a hypervisor's or a driver's.
fn before_memory(case: &Case<'_>) -> Option<Finding> {
    /// Many times what memory and a system call take.
    const SOFTWARE: f64 = 50_000.0;
    let source = case.around.has(Word::Memory)?;
    let (measured, latency) = case.sides().find_map(|(measured, _, side)| {
        let single = measured.asked_in_flight().is_some_and(|count| count <= 1.0) && is_random(measured);
        Some((measured, mean(side).filter(|latency| single && *latency > SOFTWARE)?))
    })?;
    let shown = human::time(Nanos::new(latency as u64));
    let summary = format!(
        "The storage is memory, and a random I/O takes {shown}: the time goes to the processors on the way there"
    );
    Some(
        case.finding(Code::GeneratorCpu, Severity::Limit, summary)
            .seen("latency of a single random I/O", shown, case.source(measured))
            .seen("the storage", "is in memory", source)
            .not_so_when("a limiter or a network lies between")
            .advise("look at the processors of host and guest while it runs")
            .with_confidence(Confidence::Medium),
    )
}

/// A depth was asked of an engine that waits for each I/O, or of one that waits for all that goes through the page
/// cache (libaio; fio's HOWTO, `iodepth`).
fn waits_for_each(case: &Case<'_>, measured: &Measured) -> Option<Finding> {
    let depth = measured.work.queue_depth.filter(|depth| *depth > 1)?;
    let engine = measured.work.engine.as_deref()?;
    let why = match engine {
        "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" | "mmap" => "waits for each I/O",
        "libaio" if measured.work.direct == Some(false) => {
            "waits for each I/O that goes through the page cache"
        }
        _ => return None,
    };
    let summary =
        format!("A depth of {depth} was asked for, but `{engine}` {why}: one was in flight for each job");
    Some(
        case.finding(Code::DepthTooLow, Severity::Info, summary)
            .seen("ioengine", engine, case.source(measured))
            .seen("iodepth", depth, case.source(measured))
            .not_so_when("`IO depths` in the output shows more than 1")
            .advise("use io_uring, or libaio with direct=1"),
    )
}

/// Below this part of what was asked for, the queue was not filled.
const PATH_FILLED: f64 = 0.7;

/// Fewer I/Os were in flight than the path can take, or than were asked for.
pub(super) fn depth_too_low(case: &Case<'_>) -> Option<Finding> {
    for (measured, op, side) in case.sides() {
        if let Some(finding) = waits_for_each(case, measured) {
            return Some(finding);
        }
        let Some(asked) = measured.asked_in_flight() else { continue };
        let in_flight = |count: f64| human::count(count);
        if let Some(real) = by_little(measured, side, asked) {
            let summary = format!(
                "{} I/Os were asked to be in flight, {} were: the rate is not that of the depth asked for",
                in_flight(asked),
                in_flight(real)
            );
            return Some(
                case.finding(Code::DepthTooLow, Severity::Info, summary)
                    .seen(
                        "I/Os in flight by Little's law (rate × mean latency)",
                        in_flight(real),
                        case.source(measured),
                    )
                    .not_so_when("the tool printed latencies of another part of the run than its rate")
                    .advise("use an engine that keeps I/Os in flight (io_uring, or libaio with O_DIRECT)"),
            );
        }
        if let Some((real, source)) =
            on_devices(case).filter(|(real, _)| asked >= 8.0 && *real < PATH_FILLED * asked)
        {
            let summary = format!(
                "{} I/Os were asked to be in flight, {} reached the block devices",
                in_flight(asked),
                in_flight(real)
            );
            return Some(
                case.finding(Code::DepthTooLow, Severity::Info, summary)
                    .seen("I/Os in flight at the devices (iostat aqu-sz)", in_flight(real), source)
                    .not_so_when("iostat shows another time or other devices than the run")
                    .advise(
                        "see which layer between holds them back: `narrows check TARGET`, or fewer \
                 jobs with more depth",
                    ),
            );
        }
        let counts = matches!(case.result.tool, Tool::Fio | Tool::Diskspd);
        if asked <= 1.0 && counts && is_random(measured) {
            let summary = format!(
                "The {} had one I/O in flight: they show latency, not what the storage can do",
                case.name(measured, op)
            );
            return Some(
                case.finding(Code::DepthTooLow, Severity::Info, summary)
                    .seen("I/Os in flight asked for", in_flight(asked), case.source(measured))
                    .not_so_when("latency is what was to be measured")
                    .advise(
                        "for capacity, raise the depth until the rate stops rising: `narrows sweep TARGET`",
                    ),
            );
        }
    }
    None
}

/// How many I/Os were in flight where more were asked for, and how many those were: of the first measurement that tells.
pub(super) fn in_flight(case: &Case<'_>) -> Option<(f64, f64)> {
    case.sides().find_map(|(measured, _, side)| {
        if waits_for_each(case, measured).is_some() {
            return Some((1.0, f64::from(measured.work.queue_depth?)));
        }
        let asked = measured.asked_in_flight()?;
        Some((by_little(measured, side, asked)?, asked))
    })
}

/// How many I/Os were in flight by Little's law, where that is clearly less than what was asked for. The sides of a mixed job share
/// its queue.
fn by_little(measured: &Measured, side: &Side, asked: f64) -> Option<f64> {
    let real = mean(side)? * 1e-9 * side.iops?.get();
    (asked > 1.0 && !is_mixed(measured) && real < PATH_FILLED * asked).then_some(real)
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
