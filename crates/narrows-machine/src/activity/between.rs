//! What became of the counters between two samples.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Condition, CpuCounters, DiskCounters, Event, LinkState, NicCounters, Pressure, Resync, Sample, TcpState,
    ThreadCounters, parse,
};
use crate::pci::PciAddress;
use narrows_base::units::{Bytes, BytesPerSec, Nanos};

/// The kernel keeps the times of `/proc/diskstats` in 32 bits of milliseconds: they start again after 49.7 days (kernel
/// `block/genhd.c`, `diskstats_show`).
const DISK_TIME_WRAP: u64 = (1 << 32) * 1_000_000;

/// Threads that use less of a core are left out.
const LEAST_CORES: f64 = 0.01;

/// What happened between two samples.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Activity {
    /// The time between them.
    pub elapsed: Nanos,
    /// What a load had moved when the earlier one had been taken, where it was watched: as much of it as that, and what was
    /// under way then, is in no counter. Little, unless the look itself had to wait for a processor.
    pub missed: Bytes,
    /// Disks, by kernel name.
    pub disks: BTreeMap<String, DiskActivity>,
    /// The busy fraction of each CPU (user, system, interrupt), 0 to 1.
    pub cpus: BTreeMap<u32, f64>,
    /// Processors that were neither idle nor stolen, on average, by the time that they were: it is counted exactly, while time
    /// of work is sampled by the timer's tick (kernel `Documentation/timers/no_hz.rst`).
    pub working: f64,
    /// The fraction of time that a hypervisor took from us, over all CPUs.
    pub steal: f64,
    /// For how much of the time somebody waited, by what for: `cpu`, `io`, `memory`; empty where the kernel does not tell.
    pub pressure: BTreeMap<&'static str, Pressure>,
    /// Threads that used more than 1 % of a core, busiest first.
    pub threads: Vec<ThreadActivity>,
    /// Interfaces, by name.
    pub nics: BTreeMap<String, NicActivity>,
    /// Links at the later moment, by the address of the function below each.
    pub links: BTreeMap<PciAddress, LinkState>,
    /// Arrays that were resyncing at the later moment.
    pub resyncs: BTreeMap<String, Resync>,
    /// Connections at the later moment.
    pub tcp: BTreeMap<String, TcpState>,
    /// What links and arrays did meanwhile, where they were looked at several times.
    pub events: Vec<Event>,
    /// Links and drives before the load began, where they were asked.
    pub before: Condition,
    /// The same when it was over.
    pub after: Condition,
}

/// What a disk did.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DiskActivity {
    pub read_bytes: Bytes,
    pub written_bytes: Bytes,
    /// Reads completed.
    pub reads: u64,
    /// Writes completed.
    pub writes: u64,
    /// The fraction of time with at least one request in flight. On a device that works in parallel, 1 does not mean
    /// saturated.
    pub busy: f64,
    /// The mean number of requests in flight.
    pub in_flight: f64,
    /// The mean time of a read; `None` without reads.
    pub read_latency: Option<Nanos>,
    /// The mean time of a write; `None` without writes.
    pub write_latency: Option<Nanos>,
    /// The mean number of requests that the driver held, of those in flight: the others waited in the kernel's scheduler.
    /// `None` where it was not sampled.
    pub at_driver: Option<f64>,
}

/// What a thread used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadActivity {
    pub name: String,
    /// Whether it is a kernel thread.
    pub is_kernel: bool,
    /// Cores used: 1 is a whole core.
    pub cores: f64,
}

/// What an interface moved.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct NicActivity {
    pub received: BytesPerSec,
    pub sent: BytesPerSec,
    /// Errors and drops.
    pub errors: u64,
}

impl Activity {
    /// What happened between two samples of one machine. A device, processor or interface that only one of them has is
    /// left out; a thread that started in between counts from its start.
    pub fn between(before: &Sample, after: &Sample) -> Self {
        let elapsed = Nanos::new(after.at.get().saturating_sub(before.at.get()));
        Self {
            elapsed,
            disks: pairs(&before.disks, &after.disks, |before, after| disk(before, after, elapsed)),
            cpus: pairs(&before.cpus, &after.cpus, |before, after| {
                let spent = ProcessorSpent::between(before, after);
                fraction(spent.busy, spent.total)
            }),
            working: working(before, after, elapsed),
            steal: steal(before, after),
            pressure: pairs(&before.pressure, &after.pressure, |before, after| {
                parse::between(before, after, elapsed)
            })
            .into_iter()
            .filter_map(|(resource, part)| Some((resource, part?)))
            .collect(),
            threads: threads(before, after),
            nics: pairs(&before.nics, &after.nics, |before, after| nic(before, after, elapsed)),
            links: after.links.clone(),
            resyncs: after.resyncs.iter().filter(|(_, resync)| resync.is_running()).map(owned).collect(),
            tcp: after.tcp.clone(),
            ..Self::default()
        }
    }
}

impl Resync {
    /// Whether the array works on itself: `idle` and `frozen` do not.
    pub(super) fn is_running(&self) -> bool {
        matches!(self.action.as_str(), "resync" | "recover" | "check" | "repair" | "reshape")
    }
}

fn owned<K: Clone, V: Clone>((key, value): (&K, &V)) -> (K, V) {
    (key.clone(), value.clone())
}

fn pairs<K: Ord + Clone, V, D>(
    before: &BTreeMap<K, V>,
    after: &BTreeMap<K, V>,
    derive: impl Fn(&V, &V) -> D,
) -> BTreeMap<K, D> {
    after.iter().filter_map(|(key, after)| Some((key.clone(), derive(before.get(key)?, after)))).collect()
}

/// How far a counter came. One that went back was reset, because the device was removed and came again: then what it
/// counts now is what happened since.
const fn grown(before: u64, after: u64) -> u64 {
    if after >= before { after - before } else { after }
}

/// The same for a counter that starts again at `wrap`. A fall by more than half of it is a wrap, not a reset.
const fn grown_wrapping(before: u64, after: u64, wrap: u64) -> u64 {
    let wrapped = after < before && before < wrap && before - after > wrap / 2;
    if wrapped { after + (wrap - before) } else { grown(before, after) }
}

fn bytes(before: Bytes, after: Bytes) -> Bytes {
    Bytes::new(grown(before.get(), after.get()))
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn fraction(part: u64, whole: u64) -> f64 {
    ratio(part, whole).min(1.0)
}

fn disk(before: &DiskCounters, after: &DiskCounters, elapsed: Nanos) -> DiskActivity {
    let time = |before: Nanos, after: Nanos| grown_wrapping(before.get(), after.get(), DISK_TIME_WRAP);
    let reads = grown(before.reads, after.reads);
    let writes = grown(before.writes, after.writes);
    let weighted = time(before.weighted, after.weighted);
    DiskActivity {
        read_bytes: bytes(before.read_bytes, after.read_bytes),
        written_bytes: bytes(before.written_bytes, after.written_bytes),
        reads,
        writes,
        busy: fraction(time(before.busy, after.busy), elapsed.get()),
        in_flight: ratio(weighted, elapsed.get()),
        read_latency: time(before.read_time, after.read_time).checked_div(reads).map(Nanos::new),
        write_latency: time(before.write_time, after.write_time).checked_div(writes).map(Nanos::new),
        at_driver: None,
    }
}

/// Where a processor's time went, in nanoseconds.
struct ProcessorSpent {
    busy: u64,
    steal: u64,
    total: u64,
}

impl ProcessorSpent {
    /// The idle counter of a kernel without periodic ticks may go back a little: that is no time, not a reset.
    fn between(before: &CpuCounters, after: &CpuCounters) -> Self {
        let time = |of: fn(&CpuCounters) -> Nanos| of(after).get().saturating_sub(of(before).get());
        let busy = [time(|cpu| cpu.user), time(|cpu| cpu.system), time(|cpu| cpu.interrupt)];
        let busy = busy.into_iter().fold(0, u64::saturating_add);
        let steal = time(|cpu| cpu.steal);
        let total = busy.saturating_add(steal).saturating_add(time(|cpu| cpu.idle));
        Self { busy, steal, total }
    }
}

fn steal(before: &Sample, after: &Sample) -> f64 {
    let spent = pairs(&before.cpus, &after.cpus, ProcessorSpent::between);
    let sum = |of: fn(&ProcessorSpent) -> u64| spent.values().map(of).fold(0, u64::saturating_add);
    fraction(sum(|spent| spent.steal), sum(|spent| spent.total))
}

/// Idle time is shown in units of 10 ms, so a little more than all of it may seem to have passed.
fn working(before: &Sample, after: &Sample, elapsed: Nanos) -> f64 {
    let of = |before: &CpuCounters, after: &CpuCounters| {
        let spent = ProcessorSpent::between(before, after);
        let away = spent.total.saturating_sub(spent.busy);
        if spent.total == 0 { 0.0 } else { 1.0 - fraction(away, elapsed.get()) }
    };
    if elapsed.get() == 0 { 0.0 } else { pairs(&before.cpus, &after.cpus, of).values().sum() }
}

fn threads(before: &Sample, after: &Sample) -> Vec<ThreadActivity> {
    let elapsed = Nanos::new(after.threads_at().get().saturating_sub(before.threads_at().get()));
    let none = ThreadCounters::default();
    busiest(after.threads.iter().map(|(id, now)| {
        let used = grown(before.threads.get(id).unwrap_or(&none).cpu.get(), now.cpu.get());
        let cores = ratio(used, elapsed.get());
        ThreadActivity { name: now.name.clone(), is_kernel: now.is_kernel, cores }
    }))
}

/// Those that are worth to be told of, busiest first.
fn busiest(threads: impl Iterator<Item = ThreadActivity>) -> Vec<ThreadActivity> {
    let mut threads: Vec<_> = threads.filter(|thread| thread.cores > LEAST_CORES).collect();
    threads.sort_by(|one, other| other.cores.total_cmp(&one.cores));
    threads
}

fn nic(before: &NicCounters, after: &NicCounters, elapsed: Nanos) -> NicActivity {
    NicActivity {
        received: bytes(before.received, after.received).per(elapsed.duration()),
        sent: bytes(before.sent, after.sent).per(elapsed.duration()),
        errors: grown(before.errors, after.errors),
    }
}

// What a series of samples tells that its two ends do not: which work queue a kernel worker served from moment to moment,
// and how many requests the driver itself held.

impl Activity {
    /// What happened from the first sample to the last. A kernel worker serves one work queue after the other and is
    /// called after the one it served last, so its time is ascribed from sample to sample, of those that have threads. `None`
    /// for less than two.
    pub fn over(samples: &[Sample]) -> Option<Self> {
        let [first, .., last] = samples else { return None };
        let mut activity = Self::between(first, last);
        let span = last.threads_at().get().saturating_sub(first.threads_at().get());
        activity.threads = threads_over(samples, Nanos::new(span).as_secs_f64());
        for (name, disk) in &mut activity.disks {
            let held: Vec<u64> =
                samples.iter().filter_map(|sample| Some(sample.disks.get(name)?.in_flight)).collect();
            disk.at_driver = Some(held.iter().sum::<u64>() as f64 / held.len().max(1) as f64);
        }
        Some(activity)
    }
}

fn threads_over(samples: &[Sample], seconds: f64) -> Vec<ThreadActivity> {
    let mut used: BTreeMap<(u32, String), (bool, f64)> = BTreeMap::new();
    let samples: Vec<&Sample> = samples.iter().filter(|sample| !sample.threads.is_empty()).collect();
    for pair in samples.windows(2) {
        let [before, after] = pair else { continue };
        for (id, now) in &after.threads {
            let was = before.threads.get(id).map_or(0, |thread| thread.cpu.get());
            let spent = now.cpu.get().saturating_sub(was) as f64 / 1e9;
            let entry = used.entry((*id, settled(&now.name))).or_insert((now.is_kernel, 0.0));
            entry.1 += spent;
        }
    }
    let cores = |spent: f64| if seconds > 0.0 { spent / seconds } else { 0.0 };
    busiest(used.into_iter().map(|((_, name), (is_kernel, spent))| ThreadActivity {
        name,
        is_kernel,
        cores: cores(spent),
    }))
}

/// A worker's name with the queue that it serves after a `-`: the kernel writes `+` while it works (kernel
/// `kernel/workqueue.c`, `wq_worker_comm`).
fn settled(name: &str) -> String {
    if name.starts_with("kworker/") { name.replacen('+', "-", 1) } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(seconds: u64) -> Sample {
        Sample { at: Nanos::from_millis(seconds * 1000), ..Sample::default() }
    }

    fn with_disk(seconds: u64, disk: DiskCounters) -> Sample {
        Sample { disks: BTreeMap::from([("sda".to_owned(), disk)]), ..sample(seconds) }
    }

    fn ms(count: u64) -> Nanos {
        Nanos::from_millis(count)
    }

    #[test]
    fn a_disk_that_read_for_two_seconds_tells_rate_depth_and_latency() {
        let before = DiskCounters { reads: 100, read_time: ms(50), busy: ms(10), ..DiskCounters::default() };
        let after = DiskCounters {
            reads: 1100,
            read_bytes: Bytes::from_mib(4),
            read_time: ms(4050),
            busy: ms(1510),
            weighted: ms(8000),
            ..DiskCounters::default()
        };
        let disk = Activity::between(&with_disk(1, before), &with_disk(3, after)).disks["sda"];
        assert_eq!((disk.reads, disk.read_bytes), (1000, Bytes::from_mib(4)));
        // 1.5 of 2 s busy; 8 s of requests in 2 s; 4 s in 1000 reads.
        assert!((disk.busy - 0.75).abs() < 1e-9);
        assert!((disk.in_flight - 4.0).abs() < 1e-9);
        assert_eq!(disk.read_latency, Some(ms(4)));
    }

    #[test]
    fn without_reads_there_is_no_latency_and_without_time_no_rate() {
        let still = DiskCounters { busy: ms(70), ..DiskCounters::default() };
        let disk =
            Activity::between(&with_disk(1, DiskCounters::default()), &with_disk(1, still)).disks["sda"];
        assert_eq!(disk.read_latency, None);
        assert_eq!((disk.busy, disk.in_flight), (0.0, 0.0));
    }

    #[test]
    fn a_time_that_wrapped_goes_on_and_a_counter_that_was_reset_starts_again() {
        assert_eq!(grown(5, 3), 3);
        assert_eq!(grown_wrapping(DISK_TIME_WRAP - 4, 6, DISK_TIME_WRAP), 10);
        assert_eq!(grown_wrapping(1000, 6, DISK_TIME_WRAP), 6);
        assert_eq!(grown_wrapping(u64::MAX, 6, DISK_TIME_WRAP), 6);
    }

    #[test]
    fn processors_are_busy_without_idle_and_stolen_time() {
        let cpu = |user, interrupt, idle, steal| CpuCounters {
            user: ms(user),
            system: ms(0),
            interrupt: ms(interrupt),
            idle: ms(idle),
            steal: ms(steal),
        };
        let at =
            |seconds, one, other| Sample { cpus: BTreeMap::from([(0, one), (1, other)]), ..sample(seconds) };
        let activity = Activity::between(
            &at(0, cpu(100, 0, 0, 0), cpu(0, 0, 500, 0)),
            &at(1, cpu(600, 100, 200, 200), cpu(0, 0, 400, 0)),
        );
        // 600 of 1000 ms; the idle time of the other went back, which is no time at all.
        assert_eq!(activity.cpus[&0], 0.6);
        assert!((activity.working - 0.6).abs() < 1e-9, "{}", activity.working);
        assert_eq!(activity.cpus[&1], 0.0);
        assert!((activity.steal - 0.2).abs() < 1e-9);
    }

    #[test]
    fn threads_come_busiest_first_and_idle_ones_not_at_all() {
        let thread = |name: &str, cpu| ThreadCounters {
            name: name.to_owned(),
            is_kernel: true,
            cpu: ms(cpu),
            last_cpu: 0,
        };
        let mut before = sample(0);
        before.threads = BTreeMap::from([(5, thread("md0_raid1", 1000)), (6, thread("kswapd0", 50))]);
        let mut after = sample(2);
        after.threads = BTreeMap::from([
            (5, thread("md0_raid1", 1600)),
            (6, thread("kswapd0", 60)),
            (7, thread("kworker/u4:1-kcryptd/253:0", 1900)),
        ]);
        let threads = Activity::between(&before, &after).threads;
        let names: Vec<&str> = threads.iter().map(|thread| thread.name.as_str()).collect();
        assert_eq!(names, ["kworker/u4:1-kcryptd/253:0", "md0_raid1"]);
        assert!((threads[0].cores - 0.95).abs() < 1e-9 && (threads[1].cores - 0.3).abs() < 1e-9);
    }

    #[test]
    fn threads_that_were_read_earlier_than_all_else_count_over_their_own_time() {
        let thread =
            |cpu| ThreadCounters { name: "kcryptd".to_owned(), is_kernel: true, cpu: ms(cpu), last_cpu: 0 };
        let early = Sample { threads: BTreeMap::from([(5, thread(100))]), ..sample(1) };
        let before = sample(2).with_threads_of(early);
        let after = Sample { threads: BTreeMap::from([(5, thread(1700))]), ..sample(3) };
        let activity = Activity::between(&before, &after);
        assert_eq!(activity.elapsed, ms(1000));
        assert!((activity.threads[0].cores - 0.8).abs() < 1e-9, "1.6 of 2 s: {:?}", activity.threads);
    }

    #[test]
    fn interfaces_have_rates_and_arrays_count_only_while_they_work_on_themselves() {
        let nic =
            |received, errors| NicCounters { received: Bytes::new(received), sent: Bytes::new(0), errors };
        let mut before = sample(0);
        before.nics = BTreeMap::from([("eth0".to_owned(), nic(1000, 1))]);
        let mut after = sample(2);
        after.nics = BTreeMap::from([("eth0".to_owned(), nic(5000, 4)), ("eth1".to_owned(), nic(9, 9))]);
        let resync = |action: &str| Resync { action: action.to_owned(), speed: None };
        after.resyncs = BTreeMap::from([("md0".into(), resync("idle")), ("md1".into(), resync("recover"))]);
        let activity = Activity::between(&before, &after);
        assert_eq!(activity.nics.len(), 1);
        assert_eq!((activity.nics["eth0"].received.get(), activity.nics["eth0"].errors), (2000.0, 3));
        assert_eq!(activity.resyncs.keys().collect::<Vec<_>>(), ["md1"]);
    }

    proptest! {
        #[test]
        fn nothing_is_ever_negative_or_above_one(numbers in proptest::array::uniform18(any::<u64>()), seconds in 0u64..9) {
            let disk = |n: &[u64]| DiskCounters {
                reads: n[0],
                read_bytes: Bytes::new(n[1]),
                read_time: Nanos::new(n[2]),
                writes: n[3],
                written_bytes: Bytes::new(n[4]),
                write_time: Nanos::new(n[5]),
                in_flight: n[6],
                busy: Nanos::new(n[7]),
                weighted: Nanos::new(n[8]),
            };
            let cpu = |n: &[u64]| CpuCounters {
                user: Nanos::new(n[0]),
                system: Nanos::new(n[1]),
                interrupt: Nanos::new(n[2]),
                idle: Nanos::new(n[3]),
                steal: Nanos::new(n[4]),
            };
            let mut before = with_disk(0, disk(&numbers[..9]));
            before.cpus = BTreeMap::from([(0, cpu(&numbers[..9]))]);
            let mut after = with_disk(seconds, disk(&numbers[9..]));
            after.cpus = BTreeMap::from([(0, cpu(&numbers[9..]))]);
            let activity = Activity::between(&before, &after);
            let disk = activity.disks["sda"];
            prop_assert!((0.0..=1.0).contains(&disk.busy) && disk.in_flight >= 0.0);
            prop_assert!((0.0..=1.0).contains(&activity.cpus[&0]) && (0.0..=1.0).contains(&activity.steal));
        }
    }
}

#[cfg(test)]
mod over_tests {
    use super::*;
    use crate::activity::{DiskCounters, ThreadCounters};

    fn sample(millis: u64, name: &str, cpu: u64, in_flight: u64) -> Sample {
        let thread = ThreadCounters {
            name: name.to_owned(),
            is_kernel: true,
            cpu: Nanos::from_millis(cpu),
            last_cpu: 0,
        };
        Sample {
            at: Nanos::from_millis(millis),
            threads: BTreeMap::from([(7, thread)]),
            disks: BTreeMap::from([(
                "sda".to_owned(),
                DiskCounters { in_flight, ..DiskCounters::default() },
            )]),
            ..Sample::default()
        }
    }

    #[test]
    fn a_worker_that_changes_its_queue_is_told_apart() {
        let samples = [
            sample(0, "kworker/0:1-events", 0, 8),
            sample(500, "kworker/0:1+kcryptd/253:0", 400, 6),
            Sample { threads: BTreeMap::new(), ..sample(750, "", 0, 6) },
            sample(1000, "kworker/0:1-kblockd", 600, 4),
        ];
        let activity = Activity::over(&samples).expect("three samples");
        let shown: Vec<(&str, f64)> =
            activity.threads.iter().map(|thread| (thread.name.as_str(), thread.cores)).collect();
        assert_eq!(shown, [("kworker/0:1-kcryptd/253:0", 0.4), ("kworker/0:1-kblockd", 0.2)]);
        assert_eq!(activity.disks["sda"].at_driver, Some(6.0));
        assert_eq!(Activity::over(&samples[..1]), None);
    }
}
