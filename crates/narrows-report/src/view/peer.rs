//! What goes between devices and a GPU.

use serde::{Deserialize, Serialize};

use narrows_machine::Machine;
use narrows_machine::pci::PciAddress;
use narrows_model::ceiling::FactRef;
use narrows_model::ceiling::peer::{Both, of_peer};
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
    pub way: Way,
    /// Why.
    pub because: String,
    /// The most that goes directly; absent where it does not, or is not known to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direct: Option<Both>,
    /// The most that goes through main memory, which each byte crosses twice; what memory carries is not counted.
    pub through_memory: Both,
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
    Some(PeerView {
        gpu: peer.gpu.to_string(),
        device: carries.target,
        function: peer.other.to_string(),
        meets,
        at: at.map(|at| at.to_string()),
        way: peer.way,
        because: peer.because(),
        direct: carries.direct,
        through_memory: carries.through_memory,
        evidence: peer
            .evidence
            .iter()
            .map(|(fact, value, source)| FactRef::new(fact, value, source))
            .collect(),
        reason: at.is_none().then(|| "they meet below no port that is known".to_owned()),
    })
}
