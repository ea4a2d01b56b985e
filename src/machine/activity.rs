//! What the machine did while load ran: counters read before and after, and what became of them in between.
//!
//! A [`Sample`] is raw counters at one moment; an [`Activity`] is derived from two of them. Utilisation, saturation and
//! errors of each hop (the USE method) come from here.

use std::collections::BTreeMap;

use crate::machine::pci::PciAddress;
use crate::machine::root::Root;
use crate::units::{Bytes, BytesPerSec, GtPerSec, Lanes, Nanos};

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
    /// `/sys/class/net/*/statistics`, by interface.
    pub nics: BTreeMap<String, NicCounters>,
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
    /// Bytes read.
    pub read_bytes: Bytes,
    /// Time spent in reads, summed over reads.
    pub read_time: Nanos,
    /// Completed writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: Bytes,
    /// Time spent in writes, summed over writes.
    pub write_time: Nanos,
    /// Requests in flight now.
    pub in_flight: u64,
    /// Time during which at least one request was in flight.
    pub busy: Nanos,
    /// Time weighted by requests in flight.
    pub weighted: Nanos,
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
    /// `rx_bytes`.
    pub received: Bytes,
    /// `tx_bytes`.
    pub sent: Bytes,
    /// `rx_errors`, `tx_errors`, `rx_dropped` and `tx_dropped` together.
    pub errors: u64,
}

/// The state of a link at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkState {
    /// `…/current_link_speed`.
    pub speed: Option<GtPerSec>,
    /// `…/current_link_width`.
    pub width: Option<Lanes>,
}

/// A running resync.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resync {
    /// `…/md/sync_action`.
    pub action: String,
    /// `…/md/sync_speed`.
    pub speed: Option<BytesPerSec>,
}

/// What TCP knows of a connection (kernel `include/uapi/linux/tcp.h`, `struct tcp_info`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpState {
    /// Smoothed round-trip time, `tcpi_rtt`.
    pub round_trip: Nanos,
    /// The least round-trip time seen, `tcpi_min_rtt`.
    pub least_round_trip: Nanos,
    /// Segments sent again so far, `tcpi_total_retrans`.
    pub retransmitted: u64,
    /// Bytes received, `tcpi_bytes_received`.
    pub received: Bytes,
}

/// What happened between two samples.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Activity {
    /// The time between them.
    pub elapsed: Nanos,
    /// Disks, by kernel name.
    pub disks: BTreeMap<String, DiskActivity>,
    /// The busy fraction of each CPU (user, system, interrupt), 0 to 1.
    pub cpus: BTreeMap<u32, f64>,
    /// The fraction of time that a hypervisor took from us, over all CPUs.
    pub steal: f64,
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
}

/// What a disk did.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DiskActivity {
    /// Bytes read.
    pub read_bytes: Bytes,
    /// Bytes written.
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
}

/// What a thread used.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadActivity {
    /// Its name.
    pub name: String,
    /// Whether it is a kernel thread.
    pub is_kernel: bool,
    /// Cores used: 1 is a whole core.
    pub cores: f64,
}

/// What an interface moved.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct NicActivity {
    /// Received.
    pub received: BytesPerSec,
    /// Sent.
    pub sent: BytesPerSec,
    /// Errors and drops.
    pub errors: u64,
}

impl Sample {
    /// Reads all counters now.
    pub fn read(_root: &Root) -> Self {
        Self::default()
    }
}

impl Activity {
    /// What happened between two samples of one machine.
    pub fn between(_before: &Sample, _after: &Sample) -> Self {
        Self::default()
    }
}
