//! The view model of `narrows WHAT`: exactly what `--json` prints, and all that the text views are made from.
//!
//! Rates are bytes per second, sizes bytes, times nanoseconds. What is absent is `null`, and the same object then says
//! why in `reason`. The schema may grow; a field, once there, keeps its name and meaning.

mod build;
mod condition;

pub use build::why_null;
pub use build::{PeerView, build, machine_view, peers, tool};
pub use condition::speed_and_width;
pub use condition::{ConditionView, DriveView, EventView, LinkView, SmartView};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use narrows_base::measurement::Measurement;
use narrows_base::units::{Bytes, BytesPerSec};
use narrows_machine::captured::Adapter;
use narrows_machine::captured::DeviceLoad;
use narrows_model::ceiling::memory::{Claim, Crossings};
use narrows_model::ceiling::{Basis, Direction, FactRef};
use narrows_model::path::{HopKind, Traffic};
use narrows_paste::results::Imported;
use narrows_verdict::counterfactual::Counterfactual;
use narrows_verdict::results::ResultVerdict;
use narrows_verdict::results::sweep::Sweep;
use narrows_verdict::{Finding, Severity};

/// The name and version of the schema, in [`CheckReport::schema`].
pub const SCHEMA: &str = "narrows/check/1";

/// What is known of a machine, of what was pasted, or both.
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
    pub findings: Vec<Finding>,
    /// Results of other tools, in the order in which they were given, and what is thought of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<JudgedResult>,
    /// Results that differ in nothing but how many streams or I/Os there were, put together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<Sweep>,
}

/// A program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tool {
    /// `narrows`.
    pub name: String,
    pub version: String,
}

/// A machine, without anything that identifies it among others of its kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    pub board: Option<String>,
    /// The firmware's version.
    pub bios_version: Option<String>,
    /// The processor's model.
    pub cpu: Option<String>,
    /// Physical cores.
    pub cores: Option<u32>,
    /// Processor sockets.
    pub sockets: Option<u32>,
    pub numa_nodes: usize,
    /// Main memory in bytes.
    pub memory_bytes: Option<Bytes>,
    /// What runs this machine when it is virtual.
    pub hypervisor: Option<String>,
    /// RAID and SAS adapters as their own tool told of them in a capture, by the number that it gives them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub adapters: BTreeMap<u32, Adapter>,
    /// The texts that it was put together from, when it did not answer itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputView>,
    /// The files and directories that it stands in, as they were typed: for the commands that are suggested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<String>,
    /// Why the fields that are `null` are.
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
    pub counterfactuals: Vec<Counterfactual>,
    /// What goes between its devices and a GPU; of a path to a GPU between that and all drives and network cards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<PeerView>,
    /// What is claimed of main memory, and how often the path's bytes cross it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryView>,
}

impl PathView {
    /// The hop with this id.
    pub fn hop(&self, id: &str) -> Option<&HopView> {
        self.hops.iter().find(|hop| hop.id == id)
    }

    /// The narrowest hop in a direction, and what the application gets through it at most.
    pub fn narrowest(&self, direction: Direction) -> Option<(&HopView, BytesPerSec)> {
        let hop = self.hop(self.limiting_hop.of(direction)?)?;
        Some((hop, hop.ceiling.of(direction).path_bytes_per_second?))
    }
}

/// Main memory below a path. It is never a ceiling of the path: what stands here is a claim and a count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryView {
    /// What the firmware claims; `null` where it claims nothing that could be read.
    pub claim: Option<Claim>,
    /// How often a byte crosses memory with direct I/O.
    pub direct: Crossings,
    /// How often a byte crosses memory through the page cache.
    pub buffered: Crossings,
    /// Why `claim` is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
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
        direction.pick(self.read.as_deref(), self.write.as_deref())
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
    pub traffic: Traffic,
    /// Other targets of this machine whose data crosses it too.
    pub shared_with: Vec<String>,
    /// The most that it can carry.
    pub ceiling: CeilingPair,
    /// What it carried.
    pub measured: MeasuredPair,
    /// What somebody saw it do with another tool, as a capture tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<ObservedLoad>,
    /// Why `above` is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a block device did in an interval, as `iostat -x` says. Nothing is concluded from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ObservedLoad {
    /// What it did.
    #[serde(flatten)]
    pub load: DeviceLoad,
    /// The text and line.
    pub source: String,
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
        direction.pick(&self.read, &self.write)
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

impl MeasuredPair {
    /// What it carried in one direction.
    pub const fn of(&self, direction: Direction) -> Option<&MeasuredView> {
        direction.pick(self.read.as_ref(), self.write.as_ref())
    }
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
    pub measurement: Measurement,
    /// Whether to believe it; findings say why not.
    pub trusted: Option<bool>,
    /// What links and drives of the path did around it; absent where none of them tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<ConditionView>,
    /// Why `trusted` is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One result of another tool, and what is thought of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JudgedResult {
    #[serde(flatten)]
    pub result: Imported,
    /// What is thought of it.
    #[serde(flatten)]
    pub verdict: ResultVerdict,
}

/// Whether there is anything to be done: a result that is not to be trusted, a hop that could be wider, or a series
/// with a drop or a point that does not fit.
pub fn has_findings(results: &[JudgedResult], sweeps: &[Sweep]) -> bool {
    let counts = |finding: &Finding| finding.severity != Severity::Info;
    let has_some = |one: &JudgedResult| !one.verdict.trusted || one.verdict.of_path.iter().any(counts);
    let is_odd = |sweep: &Sweep| !sweep.shape.drops.is_empty() || !sweep.shape.anomalies.is_empty();
    results.iter().any(has_some) || sweeps.iter().any(is_odd)
}

/// Puts results and what is thought of them together.
pub fn judged(results: &[Imported], verdicts: &[ResultVerdict]) -> Vec<JudgedResult> {
    let both = results.iter().zip(verdicts);
    both.map(|(result, verdict)| JudgedResult { result: result.clone(), verdict: verdict.clone() }).collect()
}
