//! What the machine did while load ran: counters read before and after, and what became of them in between.
//!
//! A [`Sample`] is raw counters at one moment; an [`Activity`] is derived from two of them. Utilisation, saturation and
//! errors of each hop (the USE method) come from here.

mod between;
mod movers;
mod parse;
mod tcp;

pub use crate::nic::stacked_interfaces;
pub use between::{Activity, DiskActivity, NicActivity, ThreadActivity};
pub use movers::{Mover, Movers, Served, owners, served, sockets_on};
pub use parse::{
    Pressure, Stalled, parse_cpus, parse_diskstats, parse_inflight, parse_nics, parse_pressure, parse_thread,
};
pub use tcp::{Flow, TcpState, connections, flows, storage_ports};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::block::md::parse_speed;
use crate::health::{self, DriveHealth};
use crate::pci::PciAddress;
use crate::root::Root;
use narrows_base::units::{Bytes, BytesPerSec, GtPerSec, Lanes, Nanos};

/// Counters at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    /// When, on the monotonic clock.
    pub at: Nanos,
    /// `/proc/diskstats`, by kernel name (kernel `Documentation/admin-guide/iostats.rst`).
    pub disks: BTreeMap<String, DiskCounters>,
    /// `/proc/stat`, by CPU number.
    pub cpus: BTreeMap<u32, CpuCounters>,
    /// Every kernel thread and our own threads, `/proc/[pid]/stat`, by thread id.
    pub threads: BTreeMap<u32, ThreadCounters>,
    /// When threads were read, where that was at another time than all else.
    pub threads_at: Option<Nanos>,
    /// `/proc/net/dev`, by interface.
    pub nics: BTreeMap<String, NicCounters>,
    /// `/proc/pressure/*`, by what is waited for: `cpu`, `io`, `memory`.
    pub pressure: BTreeMap<&'static str, Stalled>,
    /// The state of links, by the address of the function below each.
    pub links: BTreeMap<PciAddress, LinkState>,
    /// `…/md/sync_action` and `…/md/sync_speed`, by array.
    pub resyncs: BTreeMap<String, Resync>,
    /// TCP connections of storage protocols, by remote `address:port` (netlink `sock_diag`, `INET_DIAG_INFO`).
    pub tcp: BTreeMap<String, TcpState>,
}

/// One line of `/proc/diskstats`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiskCounters {
    /// Completed reads.
    pub reads: u64,
    pub read_bytes: Bytes,
    /// Time spent in reads, summed over reads.
    pub read_time: Nanos,
    /// Completed writes.
    pub writes: u64,
    pub written_bytes: Bytes,
    /// Time spent in writes, summed over writes.
    pub write_time: Nanos,
    /// Requests that the driver holds now: `/sys/block/*/inflight`. From Linux 6.12 on, the number in `/proc/diskstats` has those that
    /// wait in the scheduler as well; before, both are the same.
    pub in_flight: u64,
    /// Time during which at least one request was in flight.
    pub busy: Nanos,
    /// Time weighted by requests in flight.
    pub weighted: Nanos,
}

impl DiskCounters {
    /// Bytes read and written.
    pub const fn bytes(&self) -> Bytes {
        Bytes::new(self.read_bytes.get().saturating_add(self.written_bytes.get()))
    }
}

/// One `cpuN` line of `/proc/stat`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuCounters {
    /// User and nice time.
    pub user: Nanos,
    /// System time.
    pub system: Nanos,
    /// Time in hard and soft interrupts.
    pub interrupt: Nanos,
    /// Idle time, including that with I/O outstanding.
    pub idle: Nanos,
    /// Time that a hypervisor gave to others.
    pub steal: Nanos,
}

/// One thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadCounters {
    /// `comm`; the kernel adds the work queue's name to a worker: `kworker/u4:1-kcryptd/253:0`.
    pub name: String,
    /// Whether it is a kernel thread.
    pub is_kernel: bool,
    /// User and system time together.
    pub cpu: Nanos,
    /// The CPU that it last ran on.
    pub last_cpu: u32,
}

/// Bytes and errors of an interface.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NicCounters {
    pub received: Bytes,
    pub sent: Bytes,
    /// Errors and drops of either direction together, packets that a full ring missed included.
    pub errors: u64,
}

/// The state of a link at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkState {
    /// `…/current_link_speed`, in 10⁶ transfers per second.
    #[serde(rename = "megatransfers_per_second")]
    pub speed: Option<GtPerSec>,
    /// `…/current_link_width`.
    #[serde(rename = "lanes")]
    pub width: Option<Lanes>,
}

/// A running resync.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resync {
    /// `…/md/sync_action`.
    pub action: String,
    /// `…/md/sync_speed`.
    #[serde(rename = "bytes_per_second")]
    pub speed: Option<BytesPerSec>,
}

impl Sample {
    /// Reads all counters now. TCP connections can be asked of a live machine only.
    pub fn read(root: &Root) -> Self {
        let disks = disks(root);
        Self {
            at: now(),
            cpus: parse_cpus(&text(root, "/proc/stat")),
            threads: threads(root),
            threads_at: None,
            nics: parse_nics(&text(root, "/proc/net/dev")),
            pressure: parse::read(root),
            links: links(root),
            resyncs: resyncs(root, &disks),
            tcp: connections(root),
            disks,
        }
    }

    /// Reads disks only. Reading every kernel thread takes a slow processor some percent of its time, this nearly none.
    pub fn of_disks(root: &Root) -> Self {
        Self { at: now(), disks: disks(root), ..Self::default() }
    }

    /// Reads every kernel thread and our own threads, and nothing else. It takes a slow processor tens of milliseconds, so it
    /// is done before the time that is measured.
    pub fn of_threads(root: &Root) -> Self {
        let at = now();
        Self { at, threads_at: Some(at), threads: threads(root), ..Self::default() }
    }

    /// Reads what is read in no time: disks, processors, interfaces and pressure.
    pub fn of_counters(root: &Root) -> Self {
        let disks = parse_diskstats(&text(root, "/proc/diskstats"));
        let (cpus, nics) = (parse_cpus(&text(root, "/proc/stat")), parse_nics(&text(root, "/proc/net/dev")));
        Self { at: now(), disks, cpus, nics, pressure: parse::read(root), ..Self::default() }
    }

    /// Reads what moved only: disks and interfaces, two files of the kernel for any number of them.
    pub fn of_traffic(root: &Root) -> Self {
        let disks = parse_diskstats(&text(root, "/proc/diskstats"));
        Self { at: now(), disks, nics: parse_nics(&text(root, "/proc/net/dev")), ..Self::default() }
    }

    /// Reads what the arrays among the disks of this sample do.
    pub fn resyncs(&mut self, root: &Root) {
        self.resyncs = resyncs(root, &self.disks);
    }

    /// Reads the state of these links.
    pub fn links_of<'a>(
        root: &Root,
        known: impl Iterator<Item = &'a PciAddress>,
    ) -> BTreeMap<PciAddress, LinkState> {
        known.filter_map(|address| Some((*address, link_state(root, *address)?))).collect()
    }

    /// Reads what changes as soon as load is gone: these links, arrays and connections.
    pub fn of_states<'a>(root: &Root, known: impl Iterator<Item = &'a PciAddress>) -> Self {
        let disks = parse_diskstats(&text(root, "/proc/diskstats"));
        Self {
            at: now(),
            links: Self::links_of(root, known),
            resyncs: resyncs(root, &disks),
            tcp: connections(root),
            ..Self::default()
        }
    }

    /// The same with the threads of another sample.
    #[must_use]
    pub fn with_threads_of(self, other: Self) -> Self {
        Self { threads: other.threads, threads_at: other.threads_at.or(Some(other.at)), ..self }
    }

    /// When threads were read.
    fn threads_at(&self) -> Nanos {
        self.threads_at.unwrap_or(self.at)
    }

    /// Reads processors only, which takes nearly no time of them.
    pub fn of_processors(root: &Root) -> Self {
        let cpus = parse_cpus(&text(root, "/proc/stat"));
        Self { at: now(), cpus, ..Self::default() }
    }
}

/// The text of a file of the kernel; empty where there is none.
fn text(root: &Root, path: &str) -> String {
    root.text(path).get().unwrap_or_default()
}

fn disks(root: &Root) -> BTreeMap<String, DiskCounters> {
    let mut disks = parse_diskstats(&text(root, "/proc/diskstats"));
    for (name, disk) in disks.iter_mut().filter(|(_, disk)| disk.in_flight > 0) {
        let held = root.parse(&format!("/sys/block/{name}/inflight"), parse_inflight);
        disk.in_flight = held.get().unwrap_or(disk.in_flight);
    }
    disks
}

/// Which of these PCI functions sleep, by `power/runtime_status`. Asking does not wake them.
pub fn asleep<'a>(root: &Root, known: impl Iterator<Item = &'a PciAddress>) -> BTreeSet<PciAddress> {
    let status = |address: &PciAddress| {
        root.text(&format!("/sys/bus/pci/devices/{address}/power/runtime_status")).get()
    };
    known.filter(|address| status(address).is_some_and(|status| status != "active")).copied().collect()
}

/// Time since the first sample of this process.
fn now() -> Nanos {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed().into()
}

/// Kernel threads, and the threads of this process.
fn threads(root: &Root) -> BTreeMap<u32, ThreadCounters> {
    let below = |dir: &'static str| {
        let ids = root.list_of::<u32>(dir).into_iter();
        ids.filter_map(move |id| Some((id, parse_thread(root.text(&format!("{dir}/{id}/stat")).value()?)?)))
    };
    below("/proc").filter(|(_, thread)| thread.is_kernel).chain(below("/proc/self/task")).collect()
}

/// The links of storage controllers, network cards and the bridges above them.
fn links(root: &Root) -> BTreeMap<PciAddress, LinkState> {
    let class = |address: &PciAddress| root.number(&format!("/sys/bus/pci/devices/{address}/class")).get();
    let mut functions = root.list_of("/sys/bus/pci/devices");
    functions.retain(|address| class(address).is_some_and(carries_data));
    Sample::links_of(root, functions.iter())
}

fn link_state(root: &Root, function: PciAddress) -> Option<LinkState> {
    let dir = format!("/sys/bus/pci/devices/{function}");
    let speed = root.parse(&format!("{dir}/current_link_speed"), GtPerSec::parse).get();
    let width = root.parse(&format!("{dir}/current_link_width"), Lanes::parse).get();
    (speed.is_some() || width.is_some()).then_some(LinkState { speed, width })
}

/// Storage (01), network (02) or a PCI-to-PCI bridge (06 04); PCI Code and ID Assignment Specification, section 1.
const fn carries_data(class: u64) -> bool {
    matches!(class >> 16, 0x01 | 0x02) || class >> 8 == 0x0604
}

/// What the arrays among these disks do.
fn resyncs(root: &Root, disks: &BTreeMap<String, DiskCounters>) -> BTreeMap<String, Resync> {
    let resync = |array: &String| {
        let dir = format!("/sys/class/block/{array}/md");
        let action = root.text(&format!("{dir}/sync_action")).get()?;
        let speed = root.parse(&format!("{dir}/sync_speed"), parse_speed).get();
        Some((array.clone(), Resync { action, speed }))
    };
    disks.keys().filter(|name| name.starts_with("md")).filter_map(resync).collect()
}

// What can be asked while no load runs: the links, and what drives say of themselves. A SATA drive interrupts its queue to
// answer, so drives are asked before and after a run, not in it.

/// The condition of a path at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Condition {
    /// The state of links, by the address of the function below each.
    pub links: BTreeMap<PciAddress, LinkState>,
    /// Drives that say anything of themselves, by kernel name.
    pub drives: BTreeMap<String, DriveHealth>,
}

impl Condition {
    /// Asks all links of the machine, and these drives.
    pub fn read<'a>(root: &Root, drives: impl IntoIterator<Item = &'a str>) -> Self {
        Self { links: links(root), drives: health::read(root, drives) }
    }
}

/// Something that happened while a load ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When it was seen, from the beginning of the measured time: it happened between this look and the one before.
    pub at: Nanos,
    pub what: Happened,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Happened {
    /// A link runs at another speed or width.
    Link {
        /// The function below it.
        function: PciAddress,
        /// How it ran.
        from: LinkState,
        /// How it runs.
        to: LinkState,
    },
    /// An array began to work on itself.
    ResyncBegan {
        /// The array, by kernel name.
        array: String,
        /// `resync`, `recover`, `check` or the like.
        action: String,
    },
    /// An array was done with that.
    ResyncEnded {
        /// The array, by kernel name.
        array: String,
    },
}

/// What differs from one look to the next, in the order of the looks. A link or array that a look lacks is compared with the look before.
pub fn events(looks: &[(Nanos, Sample)]) -> Vec<Event> {
    let pairs = looks.windows(2).filter_map(|pair| Some((pair.first()?, pair.get(1)?)));
    pairs.flat_map(|((_, before), (at, after))| between(*at, before, after)).collect()
}

fn between(at: Nanos, before: &Sample, after: &Sample) -> Vec<Event> {
    let links = after.links.iter().filter_map(|(function, to)| {
        let from = before.links.get(function).filter(|from| *from != to)?;
        Some(Happened::Link { function: *function, from: *from, to: *to })
    });
    let arrays = after.resyncs.iter().filter_map(|(array, now)| {
        let was = before.resyncs.get(array)?;
        match (was.is_running(), now.is_running()) {
            (true, false) => Some(Happened::ResyncEnded { array: array.clone() }),
            (false, true) => Some(Happened::ResyncBegan { array: array.clone(), action: now.action.clone() }),
            _ => None,
        }
    });
    links.chain(arrays).map(|what| Event { at, what }).collect()
}

#[cfg(test)]
mod tests {
    use super::{Resync, *};
    use crate::tree::Tree;
    use narrows_base::units::{GtPerSec, Lanes};
    use std::collections::BTreeMap;

    #[test]
    fn a_sample_of_a_recorded_machine_has_its_threads_links_and_arrays() {
        let mut tree = Tree::new();
        let kernel = "9 (kworker/u4:1-kcryptd/253:0) I 2 0 0 0 -1 69238880 0 0 0 0 3 97 0 0 20 0 1 0 5 0 0 \
            18446744073709551615 0 0 0 0 0 0 0 2147483647 0 0 0 0 17 3 0 0 0 0 0";
        tree.file("/proc/9/stat", kernel)
            .file("/proc/77/stat", &kernel.replacen("9 (", "77 (", 1).replace("69238880", "4194304"))
            .file("/proc/diskstats", "   9       0 md0 1 0 8 0 0 0 0 0 0 0 0\n")
            .file("/sys/class/block/md0/md/sync_action", "resync\n")
            .file("/sys/class/block/md0/md/sync_speed", "1000\n")
            .file("/sys/bus/pci/devices/0000:01:00.0/class", "0x010802\n")
            .file("/sys/bus/pci/devices/0000:01:00.0/current_link_speed", "5.0 GT/s PCIe\n")
            .file("/sys/bus/pci/devices/0000:01:00.0/current_link_width", "1\n")
            .file("/sys/bus/pci/devices/0000:02:00.0/class", "0x030000\n")
            .file("/sys/bus/pci/devices/0000:02:00.0/current_link_speed", "2.5 GT/s PCIe\n");
        let sample = Sample::read(&Root::from_tree(tree));
        assert_eq!(sample.threads.keys().copied().collect::<Vec<_>>(), [9]);
        assert_eq!(sample.threads[&9].cpu, Nanos::from_millis(1000));
        assert_eq!(sample.threads[&9].last_cpu, 3);
        assert_eq!(sample.links.len(), 1, "a display is not on a storage path");
        let link = sample.links.values().next().expect("there is one");
        assert_eq!(*link, LinkState { speed: Some(GtPerSec::GEN2), width: Some(Lanes::new(1)) });
        assert_eq!(sample.resyncs["md0"].action, "resync");
        assert_eq!(sample.resyncs["md0"].speed.map(BytesPerSec::get), Some(1_024_000.0));
    }

    #[test]
    fn this_machine_shows_processors_interfaces_and_ourselves() {
        let before = Sample::read(&Root::live());
        let after = Sample::read(&Root::live());
        assert!(!after.cpus.is_empty());
        assert!(!after.threads[&std::process::id()].is_kernel, "we are no kernel thread");
        assert!(after.nics.contains_key("lo"));
        let activity = Activity::between(&before, &after);
        assert!(activity.elapsed.get() > 0);
        assert!(activity.cpus.values().all(|busy| (0.0..=1.0).contains(busy)));
    }

    fn look(millis: u64, width: u8, action: &str) -> (Nanos, Sample) {
        let state = LinkState { speed: Some(GtPerSec::GEN3), width: Some(Lanes::new(width)) };
        let resync = Resync { action: action.to_owned(), speed: None };
        let sample = Sample {
            links: BTreeMap::from([(PciAddress::default(), state)]),
            resyncs: BTreeMap::from([("md0".to_owned(), resync)]),
            ..Sample::default()
        };
        (Nanos::from_millis(millis), sample)
    }

    #[test]
    fn what_changes_is_told_once_at_the_look_that_saw_it() {
        let looks =
            [look(100, 4, "resync"), look(1100, 4, "resync"), look(2100, 1, "idle"), look(3100, 1, "check")];
        let events = events(&looks);
        let told: Vec<(u64, bool)> = events
            .iter()
            .map(|it| (it.at.get() / 1_000_000, matches!(it.what, Happened::Link { .. })))
            .collect();
        assert_eq!(told, [(2100, true), (2100, false), (3100, false)]);
        assert_eq!(events[1].what, Happened::ResyncEnded { array: "md0".to_owned() });
        assert!(matches!(&events[2].what, Happened::ResyncBegan { action, .. } if action == "check"));
    }

    #[test]
    fn nothing_is_told_of_what_a_look_lacks() {
        let (at, seen) = look(2000, 4, "resync");
        assert!(events(&[look(1000, 1, "idle"), (at, Sample::default())]).is_empty());
        assert!(events(&[(Nanos::new(0), Sample::default()), (at, seen)]).is_empty());
        assert!(events(&[]).is_empty());
    }
}
