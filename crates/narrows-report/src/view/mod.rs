//! The view model of `narrows check`: exactly what `--json` prints, and all that the text views are made from.
//!
//! Rates are bytes per second, sizes bytes, times nanoseconds. What is absent is `null`, and the same object then says
//! why in `reason`. The schema may grow; a field, once there, keeps its name and meaning.

mod adapter;
mod build;
mod condition;
mod memory;
mod peer;

pub use build::build;
pub(crate) use build::{finding_view, machine_view, tool};
pub use condition::{ConditionView, DriveView, EventView, LinkStateView, LinkView, PressureView, SmartView};
pub use memory::{CrossingView, CrossingsView, MemoryClaimView, MemoryView};
pub use peer::{BothView, MeetingKind, NarrowestView, PeerView, WayKind, peers};

use serde::{Deserialize, Serialize};

use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_load::measurement::{Access, GeneratorUse, Latency, Workload};
use narrows_model::ceiling::{Basis, Direction, FactRef};
use narrows_model::path::HopKind;
use narrows_verdict::{Code, Confidence, Evidence, Severity};

/// The name and version of the schema, in [`CheckReport::schema`].
pub const SCHEMA: &str = "narrows/check/1";

/// What `narrows check` found out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckReport {
    /// Always `narrows/check/1`.
    pub schema: String,
    /// The program that made this report.
    pub tool: Tool,
    /// The machine that was looked at.
    pub machine: MachineView,
    /// One for each target.
    pub paths: Vec<PathView>,
    /// All findings, worst first, each once however many paths it touches.
    pub findings: Vec<FindingView>,
}

/// A program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tool {
    /// `narrows`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A machine, without anything that identifies it among others of its kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineView {
    /// The kernel release.
    pub kernel: Option<String>,
    /// Who made the system, as the firmware says.
    pub system_vendor: Option<String>,
    /// The product, as the firmware says.
    pub product: Option<String>,
    /// Who made the board.
    pub board_vendor: Option<String>,
    /// The board.
    pub board: Option<String>,
    /// The firmware's version.
    pub bios_version: Option<String>,
    /// The processor's model.
    pub cpu: Option<String>,
    /// Physical cores.
    pub cores: Option<u32>,
    /// Processor sockets.
    pub sockets: Option<u32>,
    /// NUMA nodes.
    pub numa_nodes: usize,
    /// Main memory in bytes.
    pub memory_bytes: Option<Bytes>,
    /// What runs this machine when it is virtual.
    pub hypervisor: Option<String>,
    /// RAID and SAS adapters as their own tool told of them in a capture.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adapters: Vec<AdapterView>,
    /// The texts that it was put together from, when it did not answer itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputView>,
    /// Why the fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An adapter, its volumes and the drives behind it, which the kernel may not see.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AdapterView {
    /// The number that its tool gives it.
    pub number: u32,
    /// What it is called.
    pub model: Option<String>,
    /// The address of its function.
    pub pci: Option<String>,
    /// Its volumes.
    pub volumes: Vec<AdapterVolumeView>,
    /// The drives behind it.
    pub drives: Vec<AdapterDriveView>,
    /// Why the fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A volume of an adapter. What is `null` its tool did not print.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AdapterVolumeView {
    /// Drive group and number: `0/1`.
    pub place: String,
    /// `RAID5`.
    pub level: Option<String>,
    /// `Optl`, `Dgrd`, `Pdgd`, `OfLn`.
    pub state: Option<String>,
    /// Its size.
    pub size_bytes: Option<Bytes>,
    /// The kernel's name of the disk that it is.
    pub disk: Option<String>,
    /// Why fields are `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A drive behind an adapter. What is `null` its tool did not print.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AdapterDriveView {
    /// Enclosure and slot: `252:0`.
    pub place: String,
    /// `Onln`, `JBOD`, `Rbld`, `Failed`.
    pub state: Option<String>,
    /// The drive group that it is a member of.
    pub group: Option<String>,
    /// `SATA`, `SAS`, `NVMe`.
    pub interface: Option<String>,
    /// Whether it turns.
    pub rotational: Option<bool>,
    /// Its model.
    pub model: Option<String>,
    /// Its size.
    pub size_bytes: Option<Bytes>,
    /// What its link negotiated.
    pub link_bits_per_second: Option<u64>,
    /// The most that the drive can do.
    pub most_bits_per_second: Option<u64>,
    /// How often it said that it will fail.
    pub predicted_failures: Option<u64>,
    /// Why fields are `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A text that facts are from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InputView {
    /// Its name: a file, or a path in a directory or archive.
    pub name: String,
    /// What is in it: `lspci -vv`, `dmesg`.
    pub kinds: Vec<String>,
}

/// The path to one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathView {
    /// What it leads to: `/dev/nvme0n1`, `/home`, `0000:02:00.0`, `eth0`.
    pub target: String,
    /// The hops, from the application down to memory.
    pub hops: Vec<HopView>,
    /// The narrowest hop in each direction.
    pub limiting_hop: HopPair,
    /// The hop behind it: the narrowest once that one is widened.
    pub next_hop: HopPair,
    /// The verdict in one sentence.
    pub sentence: String,
    /// The runs that were made on it.
    pub runs: Vec<RunView>,
    /// What each advice with a known gain about the narrowest hop would bring; only of a path that was asked for alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counterfactuals: Vec<CounterfactualView>,
    /// What goes between its devices and a GPU; of a path to a GPU between that and all drives and network cards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<PeerView>,
    /// What is claimed of main memory, and how often the path's bytes cross it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryView>,
}

/// What a workload would get if an advice were followed, by the laws of `narrows predict`. Nothing of it is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CounterfactualView {
    /// The hop that the advice is about.
    pub hop: String,
    /// The step, word for word that of the advice.
    pub action: String,
    /// The direction of the data.
    pub direction: Direction,
    /// The workload: `sequential reads of 1 MiB, 8 under way`.
    pub workload: String,
    /// The predicted rate.
    pub bytes_per_second: Option<BytesPerSec>,
    /// Where it lies in 80 of 100 cases: lower and upper end.
    pub interval_80: Option<[BytesPerSec; 2]>,
    /// Where it lies in 95 of 100 cases.
    pub interval_95: Option<[BytesPerSec; 2]>,
    /// Where the rate is not known: what it does not exceed, if anything is known that bounds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most_bytes_per_second: Option<BytesPerSec>,
    /// The name of the hop that bounds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most_by: Option<String>,
    /// What would have to be measured to know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure_instead: Option<String>,
    /// Why the rate is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl PathView {
    /// The hop with this id.
    pub fn hop(&self, id: &str) -> Option<&HopView> {
        self.hops.iter().find(|hop| hop.id == id)
    }
}

/// A hop for each direction, by its id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HopPair {
    /// For reads.
    pub read: Option<String>,
    /// For writes.
    pub write: Option<String>,
    /// Why one is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl HopPair {
    /// The hop in one direction.
    pub fn of(&self, direction: Direction) -> Option<&str> {
        match direction {
            Direction::Read => self.read.as_deref(),
            Direction::Write => self.write.as_deref(),
        }
    }
}

/// One hop of a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HopView {
    /// Its identity, stable between runs: `link:0000:02:00.0`.
    pub id: String,
    /// What it is.
    pub kind: HopKind,
    /// Its name for a person.
    pub name: String,
    /// How far it is indented in the tree: members of an array are one deeper than the array.
    pub depth: usize,
    /// The hop next to it towards the application.
    pub above: Option<String>,
    /// The hops next to it away from the application: several where data is spread, the same one for several where
    /// branches meet again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<String>,
    /// The PCI address of a link's other end, the port towards the processor; a link's own id has that of its device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// Bytes that cross it for one byte that the application moves.
    pub traffic: TrafficView,
    /// Other targets of this machine whose data crosses it too.
    pub shared_with: Vec<String>,
    /// The most that it can carry.
    pub ceiling: CeilingPair,
    /// What it carried.
    pub measured: MeasuredPair,
    /// What somebody saw it do with another tool, as a capture tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<ObservedView>,
    /// Why `above` is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a block device did in an interval, as `iostat -x` says. Nothing is concluded from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ObservedView {
    /// The part of the time in which something was in flight, 0 to 1. A device that serves many I/Os at once may be busy all the
    /// time and still be able to do more.
    pub busy: Option<f64>,
    /// I/Os in flight, the mean.
    pub depth: Option<f64>,
    /// Bytes that it read each second.
    pub read_bytes_per_second: Option<BytesPerSec>,
    /// Bytes that it wrote each second.
    pub write_bytes_per_second: Option<BytesPerSec>,
    /// The time of a read, in the queue and on the device.
    pub read_wait_ns: Option<Nanos>,
    /// The time of a write.
    pub write_wait_ns: Option<Nanos>,
    /// Of how many intervals this was the busiest; 0 for the mean since the start.
    pub intervals: u32,
    /// Whether it is the mean since the machine started, which tells of no load.
    pub since_start: bool,
    /// The text and line.
    pub source: String,
    /// Why the fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Bytes that cross a hop for one byte that the application moves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrafficView {
    /// Bytes read across it per byte that the application reads.
    pub read: f64,
    /// Bytes written across it per byte that the application writes.
    pub write: f64,
}

/// The ceilings of a hop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CeilingPair {
    /// Towards the application.
    pub read: CeilingView,
    /// Towards the medium.
    pub write: CeilingView,
}

impl CeilingPair {
    /// The ceiling in one direction.
    pub const fn of(&self, direction: Direction) -> &CeilingView {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
        }
    }
}

/// The most that a hop can carry in one direction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CeilingView {
    /// In the hop's own bytes, after all overhead of its protocol.
    pub bytes_per_second: Option<BytesPerSec>,
    /// What the slowest of its class carry, where `bytes_per_second` is the upper end of a range of a class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_bytes_per_second: Option<BytesPerSec>,
    /// The same before packet overhead, where its law tells the two apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_bytes_per_second: Option<BytesPerSec>,
    /// The most that the application can move through this hop: the ceiling divided by the hop's traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_bytes_per_second: Option<BytesPerSec>,
    /// What the ceiling rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// How it was computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formula: Option<String>,
    /// From what.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<FactRef>,
    /// Whether the hop moves no bytes of its own: it passes on what others allow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub transparent: bool,
    /// Why `bytes_per_second` is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a hop carried in each direction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasuredPair {
    /// When the application read.
    pub read: Option<MeasuredView>,
    /// When the application wrote.
    pub write: Option<MeasuredView>,
    /// Why one is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a hop carried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasuredView {
    /// The rate across the hop in its own bytes.
    pub bytes_per_second: BytesPerSec,
    /// A 95 % confidence interval of it: lower and upper end.
    pub ci95: Option<[BytesPerSec; 2]>,
    /// Whether to believe it.
    pub trusted: bool,
    /// The rate as a fraction of the hop's ceiling.
    pub utilisation: Option<f64>,
    /// Why `ci95` or `utilisation` is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One run of load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunView {
    /// The direction of data.
    pub direction: Direction,
    /// What was achieved.
    pub measurement: MeasurementView,
    /// Whether to believe it; findings say why not.
    pub trusted: Option<bool>,
    /// What links and drives of the path did around it; absent where none of them tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<ConditionView>,
    /// Why `trusted` is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What one run achieved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasurementView {
    /// What was asked.
    pub workload: Workload,
    /// How the target was opened.
    pub access: Access,
    /// The bytes moved in the measured time.
    pub bytes: Bytes,
    /// The measured time, without warm-up.
    pub elapsed_ns: Nanos,
    /// The mean rate.
    pub bytes_per_second: BytesPerSec,
    /// A 95 % confidence interval of the mean rate: lower and upper end.
    pub ci95: Option<[BytesPerSec; 2]>,
    /// I/Os per second.
    pub iops: Iops,
    /// Latencies in nanoseconds.
    pub latency_ns: Latency,
    /// The rate in each 100 ms of the measured time, in bytes per second.
    pub series: Vec<BytesPerSec>,
    /// I/Os that failed.
    pub errors: u64,
    /// The first error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_error: Option<String>,
    /// Why the run ended before its time, when it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<String>,
    /// What the generator itself used.
    pub generator: GeneratorUse,
    /// The bytes of the region that was visited.
    pub region_bytes: Bytes,
    /// Why `ci95` is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindingView {
    /// What kind of finding it is.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// The hop it is about.
    pub hop: Option<String>,
    /// The device it is about: a PCI address, block device, interface or mount.
    pub subject: String,
    /// One sentence with the numbers.
    pub summary: String,
    /// How we know.
    pub evidence: Vec<Evidence>,
    /// What to do, best first.
    pub advice: Vec<AdviceView>,
    /// How sure we are.
    pub confidence: Confidence,
    /// What would show that it does not hold.
    #[serde(default)]
    pub not_so_when: String,
    /// Why `hop` is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What to do, and what it brings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AdviceView {
    /// The step, as an instruction.
    pub action: String,
    /// How much faster the path can become.
    pub gain_bytes_per_second: Option<BytesPerSec>,
    /// Why the gain is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
