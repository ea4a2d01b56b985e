//! The text of counters to numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{CpuCounters, DiskCounters, NicCounters, ThreadCounters};
use crate::root::Root;
use narrows_base::units::{Bytes, Nanos, Sectors512};

/// One tick of `/proc/stat` and `/proc/[pid]/stat`. `USER_HZ` is 100 on every architecture that narrows builds for
/// (kernel `include/uapi/asm-generic/param.h`; only Alpha and IA-64 differ), whatever the kernel's own `HZ` is.
const TICK: u64 = 1_000_000_000 / 100;

/// `PF_KTHREAD` (kernel `include/linux/sched.h`).
const PF_KTHREAD: u64 = 0x0020_0000;

/// Reads `/proc/diskstats` (kernel `Documentation/admin-guide/iostats.rst`). Fields that newer kernels append
/// (discards, flushes) are ignored; a line with fewer than the eleven of 2.6 is left out.
pub fn parse_diskstats(text: &str) -> BTreeMap<String, DiskCounters> {
    text.lines().filter_map(disk).collect()
}

/// Reads `/sys/block/*/inflight`: reads and writes that the driver holds, together (kernel
/// `Documentation/ABI/stable/sysfs-block`).
pub fn parse_inflight(text: &str) -> Option<u64> {
    let [reads, writes] = text.split_whitespace().collect::<Vec<_>>().try_into().ok()?;
    let count = |word: &str| word.parse::<u64>().ok();
    count(reads)?.checked_add(count(writes)?)
}

fn disk(line: &str) -> Option<(String, DiskCounters)> {
    let mut fields = line.split_whitespace().skip(2);
    let name = fields.next()?.to_owned();
    let mut next = || fields.next()?.parse::<u64>().ok();
    // Of either direction: requests, those that were merged, sectors and time.
    let [reads, _, read_sectors, read_time] = [next()?, next()?, next()?, next()?];
    let [writes, _, written_sectors, write_time] = [next()?, next()?, next()?, next()?];
    let counters = DiskCounters {
        reads,
        read_bytes: Bytes::from_sectors(Sectors512::new(read_sectors)),
        read_time: Nanos::from_millis(read_time),
        writes,
        written_bytes: Bytes::from_sectors(Sectors512::new(written_sectors)),
        write_time: Nanos::from_millis(write_time),
        in_flight: next()?,
        busy: Nanos::from_millis(next()?),
        weighted: Nanos::from_millis(next()?),
    };
    Some((name, counters))
}

/// Reads the `cpuN` lines of `/proc/stat` (`proc_stat(5)`): user, nice, system, idle, iowait, irq, softirq, steal. Guest
/// time is part of user time already.
pub fn parse_cpus(text: &str) -> BTreeMap<u32, CpuCounters> {
    text.lines().filter_map(cpu).collect()
}

fn cpu(line: &str) -> Option<(u32, CpuCounters)> {
    let mut fields = line.split_whitespace();
    let number = fields.next()?.strip_prefix("cpu")?.parse().ok()?;
    let mut next = || ticks(fields.next().unwrap_or("0"));
    let (user, nice, system, idle) = (next()?, next()?, next()?, next()?);
    let (iowait, irq, softirq, steal) = (next()?, next()?, next()?, next()?);
    let counters = CpuCounters {
        user: sum(user, nice),
        system,
        interrupt: sum(irq, softirq),
        idle: sum(idle, iowait),
        steal,
    };
    Some((number, counters))
}

/// Reads `/proc/[pid]/stat` (`proc_pid_stat(5)`). The name stands in parentheses and may contain blanks and
/// parentheses itself, so the other fields are counted from the last one.
pub fn parse_thread(text: &str) -> Option<ThreadCounters> {
    let (before, after) = text.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    // `state` is field 3 in the manual, so field N is word N - 3 here.
    let fields: Vec<&str> = after.split_whitespace().collect();
    let field = |number: usize| fields.get(number.checked_sub(3)?).copied();
    Some(ThreadCounters {
        name: name.to_owned(),
        is_kernel: field(9)?.parse::<u64>().ok()? & PF_KTHREAD != 0,
        cpu: sum(ticks(field(14)?)?, ticks(field(15)?)?),
        last_cpu: field(39)?.parse().ok()?,
    })
}

/// Reads `/proc/net/dev`: for each interface eight counters of receiving, then eight of sending (kernel
/// `net/core/net-procfs.c`). Its receive drops include packets that the card missed because its ring was full.
pub fn parse_nics(text: &str) -> BTreeMap<String, NicCounters> {
    text.lines().filter_map(nic).collect()
}

fn nic(line: &str) -> Option<(String, NicCounters)> {
    let (name, counters) = line.rsplit_once(':')?;
    let numbers: Vec<u64> = counters.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let [received, _, receive_errors, receive_drops, _, _, _, _, sent, _, send_errors, send_drops, ..] =
        numbers[..]
    else {
        return None;
    };
    let errors = [receive_errors, receive_drops, send_errors, send_drops];
    let counters = NicCounters {
        received: Bytes::new(received),
        sent: Bytes::new(sent),
        errors: errors.into_iter().fold(0, u64::saturating_add),
    };
    Some((name.trim().to_owned(), counters))
}

fn ticks(text: &str) -> Option<Nanos> {
    text.parse::<u64>().ok().map(|count| Nanos::new(count.saturating_mul(TICK)))
}

const fn sum(one: Nanos, other: Nanos) -> Nanos {
    Nanos::new(one.get().saturating_add(other.get()))
}

// Pressure stall information: for how much of the time somebody waited for a processor, for memory or for storage (kernel
// `Documentation/accounting/psi.rst`). Of Linux 4.20 and later, where it is not switched off (`psi=0`).

/// What is waited for, as the kernel calls it.
const RESOURCES: [&str; 3] = ["cpu", "io", "memory"];

/// How long somebody has waited since the machine started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stalled {
    /// At least one task waited.
    pub some: Nanos,
    /// All tasks that had something to do waited; `None` where the kernel does not tell.
    pub full: Option<Nanos>,
}

/// For how much of a time somebody waited, 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pressure {
    /// At least one task waited.
    pub some: f64,
    /// All tasks that had something to do waited; `None` where the kernel does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full: Option<f64>,
}

/// Reads how long was waited for each resource; empty where the kernel does not tell.
pub(super) fn read(root: &Root) -> BTreeMap<&'static str, Stalled> {
    let stalled = |name: &str| {
        let stalled = parse_pressure(root.text(&format!("/proc/pressure/{name}")).value()?)?;
        // Of the whole machine the line `full` of processors is always 0 (psi.rst: "undefined at the system level").
        Some(if name == "cpu" { Stalled { full: None, ..stalled } } else { stalled })
    };
    RESOURCES.into_iter().filter_map(|name| Some((name, stalled(name)?))).collect()
}

/// Reads `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234`, in microseconds, and the line `full`, which processors have from
/// Linux 5.13 on.
pub fn parse_pressure(text: &str) -> Option<Stalled> {
    let total = |kind: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(kind)?.strip_prefix(' '))?;
        let micros: u64 =
            line.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()?;
        Some(Nanos::new(micros.saturating_mul(1000)))
    };
    Some(Stalled { some: total("some")?, full: total("full") })
}

/// What of a time was waited; `None` where no time passed.
pub(super) fn between(before: &Stalled, after: &Stalled, elapsed: Nanos) -> Option<Pressure> {
    let part = |before: Nanos, after: Nanos| {
        (after.get().saturating_sub(before.get()) as f64 / elapsed.get() as f64).min(1.0)
    };
    (elapsed.get() > 0).then(|| Pressure {
        some: part(before.some, after.some),
        full: before.full.zip(after.full).map(|(before, after)| part(before, after)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use proptest::prelude::*;

    #[test]
    fn what_the_driver_holds_is_the_sum_of_both_directions() {
        // `cat /sys/block/nvme0n1/inflight` while fio reads at a depth of 7 and writes at one of 1.
        assert_eq!(parse_inflight("       7        1\n"), Some(8));
        assert_eq!(parse_inflight("       0        0\n"), Some(0));
        for bad in ["", "7", "7 x", "7 1 1", "18446744073709551615 1"] {
            assert_eq!(parse_inflight(bad), None, "{bad}");
        }
    }

    #[test]
    fn disk_counters_are_in_sectors_of_512_bytes_and_milliseconds() {
        let text = " 254       0 vda 59302 10354 6364218 17745 20296 43849 13971720 39659 2 9712 58086 7163 27 838080 618 \
                    2081 63\n   8       1 sda1 5 0\n";
        let disks = parse_diskstats(text);
        assert_eq!(disks.len(), 1);
        let vda = disks["vda"];
        assert_eq!((vda.reads, vda.writes, vda.in_flight), (59302, 20296, 2));
        assert_eq!(vda.read_bytes.get(), 6_364_218 * 512);
        assert_eq!(vda.written_bytes.get(), 13_971_720 * 512);
        assert_eq!((vda.read_time, vda.write_time), (Nanos::from_millis(17_745), Nanos::from_millis(39_659)));
        assert_eq!((vda.busy, vda.weighted), (Nanos::from_millis(9712), Nanos::from_millis(58_086)));
    }

    #[test]
    fn processor_time_is_in_hundredths_of_a_second() {
        let text = "cpu  30 2 4 500 6 7 8 9 0 0\ncpu3 10 1 4 500 6 7 8 9 1 0\nintr 5 0\ncpux 1 2\n";
        let cpus = parse_cpus(text);
        assert_eq!(cpus.len(), 1);
        let ms = Nanos::from_millis;
        let want =
            CpuCounters { user: ms(110), system: ms(40), interrupt: ms(150), idle: ms(5060), steal: ms(90) };
        assert_eq!(cpus[&3], want);
    }

    #[test]
    fn a_thread_name_may_hold_blanks_and_parentheses() {
        let stat = "12 (a) (b c)) S 1 1 1 0 -1 4194560 0 0 0 0 150 50 0 0 20 0 1 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0";
        let thread = parse_thread(stat).expect("is a thread");
        assert_eq!(thread.name, "a) (b c)");
        assert_eq!((thread.cpu, thread.last_cpu, thread.is_kernel), (Nanos::from_millis(2000), 1, false));
        let kernel =
            stat.replace("4194560", "69238880").replace("(a) (b c))", "(kworker/u4:1-kcryptd/253:0)");
        let thread = parse_thread(&kernel).expect("is a thread");
        assert!(thread.is_kernel);
        assert_eq!(thread.name, "kworker/u4:1-kcryptd/253:0");
    }

    #[test]
    fn interface_counters_are_read_below_two_lines_of_heading() {
        let text = "Inter-|   Receive                                                |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier \
            compressed\n    lo:     100       2    0    0    0     0          0         0      100       2    0    0    0     0 \
                  0          0\n eth0:1: 5000 9 1 2 0 0 0 0 7000 8 3 4 0 0 0 0\n";
        let nics = parse_nics(text);
        assert_eq!(nics.keys().collect::<Vec<_>>(), ["eth0:1", "lo"]);
        let want = NicCounters { received: Bytes::new(5000), sent: Bytes::new(7000), errors: 10 };
        assert_eq!(nics["eth0:1"], want);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,160}", words in proptest::collection::vec("[0-9a-z():]{0,20}", 0..45)) {
            for text in [text, words.join(" ")] {
                let _ = (parse_diskstats(&text), parse_cpus(&text), parse_thread(&text), parse_nics(&text));
            }
        }

        #[test]
        fn the_largest_counters_saturate(name in "[a-z]{1,8}") {
            let line = format!("8 0 {name} {}", [u64::MAX.to_string().as_str(); 11].join(" "));
            prop_assert_eq!(parse_diskstats(&line)[&name].read_bytes.get(), u64::MAX);
            let cpu = format!("cpu0 {}", [u64::MAX.to_string().as_str(); 8].join(" "));
            prop_assert_eq!(parse_cpus(&cpu)[&0].user.get(), u64::MAX);
        }
    }

    const CPU: &str = "some avg10=1.52 avg60=0.71 avg300=0.29 total=2000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";

    #[test]
    fn totals_are_microseconds_since_the_start() {
        let cpu = parse_pressure(CPU).expect("is there");
        assert_eq!((cpu.some, cpu.full), (Nanos::from_millis(2000), Some(Nanos::default())));
        let old = "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(parse_pressure(old).map(|stalled| stalled.full), Some(None));
        assert_eq!(parse_pressure("some avg10=0.00\n"), None);
        assert_eq!(parse_pressure(""), None);
    }

    #[test]
    fn a_kernel_without_it_tells_nothing_and_one_with_it_a_part_of_the_time() {
        assert!(read(&Root::from_tree(Tree::new())).is_empty());
        let mut tree = Tree::new();
        tree.file("/proc/pressure/cpu", CPU)
            .file("/proc/pressure/io", "garbage")
            .file("/proc/pressure/memory", CPU);
        let read = read(&Root::from_tree(tree));
        assert_eq!(read.keys().copied().collect::<Vec<_>>(), ["cpu", "memory"]);
        assert_eq!((read["cpu"].full, read["memory"].full), (None, Some(Nanos::default())));
        let before = Stalled { some: Nanos::from_millis(1500), ..Stalled::default() };
        let half = Pressure { some: 0.5, full: None };
        assert_eq!(between(&before, &read["cpu"], Nanos::from_millis(1000)), Some(half));
        assert_eq!(between(&before, &read["cpu"], Nanos::default()), None);
    }

    proptest! {
        #[test]
        fn no_pressure_panics(text in "(some|full| |total=|[0-9]{1,22}|avg10=|\n){0,20}") {
            let _ = parse_pressure(&text);
        }
    }
}
