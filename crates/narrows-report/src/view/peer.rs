//! What goes between devices and a GPU.

use serde::{Deserialize, Serialize};

use narrows_base::units::BytesPerSec;
use narrows_machine::Machine;
use narrows_machine::pci::PciAddress;
use narrows_model::ceiling::FactRef;
use narrows_model::ceiling::peer::{Both, Narrowest, of_peer};
use narrows_model::path::peer::{self, Meeting, Peer, Way};
use narrows_model::path::{Path, Target};

/// A device, and what can be brought from it to a GPU and back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PeerView {
    /// The GPU, by its PCI address.
    pub gpu: String,
    /// The device, as a person would name it.
    pub device: String,
    /// The PCI function that its data comes from.
    pub function: String,
    /// Where both meet on the way to the processor.
    pub meets: MeetingKind,
    /// The port below which they meet: the upstream port of a switch, or that of a card.
    pub at: Option<String>,
    /// How data may go from one to the other.
    pub way: WayKind,
    /// Why.
    pub because: String,
    /// The most that goes directly; absent where it does not, or is not known to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direct: Option<BothView>,
    /// The most that goes through main memory, which each byte crosses twice; what memory carries is not counted.
    pub through_memory: BothView,
    /// From what that follows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<FactRef>,
    /// Why `at` is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Where two devices meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MeetingKind {
    /// Below a PCIe switch.
    Switch,
    /// Below one port: they are on one card.
    Port,
    /// At one host bridge.
    HostBridge,
    /// At host bridges of one NUMA node.
    Node,
    /// Beyond the connection of NUMA nodes.
    Nodes,
    /// That is not known.
    Unknown,
}

/// How data may go from one device to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WayKind {
    /// It stays below where both meet.
    Direct,
    /// A port sends requests up to the root complex.
    Redirected,
    /// Only through a root complex, which need not pass it on.
    RootComplex,
    /// That is not known.
    Unknown,
}

/// The most that goes each way.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BothView {
    /// From the device to the GPU.
    pub to_gpu: Option<NarrowestView>,
    /// From the GPU to the device.
    pub from_gpu: Option<NarrowestView>,
    /// Why one is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The most that goes one way, and the hop that allows no more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NarrowestView {
    /// The most.
    pub bytes_per_second: BytesPerSec,
    /// The hop.
    pub hop: String,
    /// Its name.
    pub name: String,
}

/// The devices of a path and a GPU: those of the path with `to`, or all of the machine where the path leads to a GPU.
pub fn peers(machine: &Machine, path: &Path, to: Option<PciAddress>) -> Vec<PeerView> {
    let own = match &path.asked {
        Target::Pci(address) => machine.pci.get(address).filter(|device| peer::is_gpu(machine, device)),
        _ => None,
    };
    let found = match (to, own) {
        (Some(gpu), _) => peer::of_path(machine, gpu, path),
        (None, Some(gpu)) => peer::all_of(machine, gpu.address),
        (None, None) => Vec::new(),
    };
    found.iter().filter_map(|(peer, target)| view(machine, peer, target)).collect()
}

fn view(machine: &Machine, peer: &Peer, target: &Target) -> Option<PeerView> {
    let carries = of_peer(machine, peer, target)?;
    let (meets, at) = match &peer.meets {
        Meeting::Switch(at) => (MeetingKind::Switch, *at),
        Meeting::Port(at) => (MeetingKind::Port, Some(*at)),
        Meeting::HostBridge => (MeetingKind::HostBridge, None),
        Meeting::Node(_) => (MeetingKind::Node, None),
        Meeting::Nodes(_) => (MeetingKind::Nodes, None),
        Meeting::Unknown(_) => (MeetingKind::Unknown, None),
    };
    let way = match peer.way {
        Way::Direct => WayKind::Direct,
        Way::Redirected => WayKind::Redirected,
        Way::RootComplex => WayKind::RootComplex,
        Way::Unknown => WayKind::Unknown,
    };
    Some(PeerView {
        gpu: peer.gpu.to_string(),
        device: carries.target,
        function: peer.other.to_string(),
        meets,
        at: at.map(|at| at.to_string()),
        way,
        because: peer.because(),
        direct: carries.direct.map(both),
        through_memory: both(carries.through_memory),
        evidence: peer
            .evidence
            .iter()
            .map(|(fact, value, source)| FactRef::new(fact, value, source))
            .collect(),
        reason: at.is_none().then(|| "they meet below no port that is known".to_owned()),
    })
}

fn both(both: Both) -> BothView {
    let is_whole = both.to_gpu.is_some() && both.from_gpu.is_some();
    BothView {
        to_gpu: both.to_gpu.map(narrowest),
        from_gpu: both.from_gpu.map(narrowest),
        reason: (!is_whole).then(|| "no hop on the way has a known ceiling".to_owned()),
    }
}

fn narrowest(one: Narrowest) -> NarrowestView {
    NarrowestView { bytes_per_second: one.rate, hop: one.hop.to_string(), name: one.name }
}
