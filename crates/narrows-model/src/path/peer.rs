//! Where a GPU and another device meet on the way to the processor, and whether data may go from one to the other without it.
//!
//! Below a switch requests between two ports stay in it, unless Access Control Services of a port on the way redirect them
//! (PCI Express Base Specification 5.0, section 6.12). The kernel asks the same bits of every bridge below the one where both
//! meet (`drivers/pci/p2pdma.c`, `calc_map_type_and_dist`). Where config space is closed IOMMU groups tell the same: the kernel
//! parts functions into groups where such bits isolate them (`drivers/iommu/iommu.c`, `pci_device_group`).

use serde::{Deserialize, Serialize};

use super::build::{self, Catalogued};
use super::climb::{self, ancestry};
use super::{Hop, HopSpec, Path, Target};
use narrows_base::fact::{Fact, Source};
use narrows_machine::Machine;
use narrows_machine::block::BlockDevice;
use narrows_machine::captured::Connection;
use narrows_machine::pci::{self, PciAddress, PciDevice, PortType};

/// A GPU and a device that data may be exchanged with.
#[derive(Debug, Clone, PartialEq)]
pub struct Peer {
    pub gpu: PciAddress,
    /// The other function.
    pub other: PciAddress,
    /// Where both meet.
    pub meets: Meeting,
    /// How data goes from one to the other.
    pub way: Way,
    /// From what that follows: what it is, its value, where it was read.
    pub evidence: Vec<(String, String, Source)>,
}

/// Where two functions meet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Meeting {
    /// Below a PCIe switch, by its upstream port; `None` where only the topology of `nvidia-smi` tells of it.
    Switch(Option<PciAddress>),
    /// Below one port: they are on one card.
    Port(PciAddress),
    /// At one host bridge.
    HostBridge,
    /// At host bridges of one NUMA node.
    Node(Option<u32>),
    /// Beyond the connection of NUMA nodes.
    Nodes(Option<(u32, u32)>),
    /// That is not known, for this reason.
    Unknown(String),
}

impl Meeting {
    /// The nearer, the less.
    const fn distance(&self) -> u8 {
        match self {
            Self::Port(_) => 0,
            Self::Switch(_) => 1,
            Self::HostBridge => 2,
            Self::Node(_) => 3,
            Self::Nodes(_) => 4,
            Self::Unknown(_) => 5,
        }
    }
}

/// How data goes from one device to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// Nothing sends it up: it stays below where both meet.
    Direct,
    /// A port sends requests up to the root complex, which an IOMMU may refuse or send back.
    Redirected,
    /// Only through a root complex, which need not pass on what one device asks of another.
    RootComplex,
    /// That is not known.
    Unknown,
}

/// The graphics adapters and accelerators of a machine that data of storage is likely brought to: those with a link. A display of
/// a management controller (ASPEED, Matrox) is none.
pub fn gpus(machine: &Machine) -> Vec<PciAddress> {
    machine.pci.values().filter(|device| is_gpu(machine, device)).map(|device| device.address).collect()
}

/// Vendors of management controllers with a display: ASPEED and Matrox (PCI-SIG, list of members).
const MANAGEMENT: [u16; 2] = [0x1a03, 0x102b];

/// Whether a function is a graphics adapter or accelerator, and not the display of a management controller.
pub fn is_gpu(machine: &Machine, device: &PciDevice) -> bool {
    let is_management = device.id.value().is_some_and(|id| MANAGEMENT.contains(&id.vendor));
    let has_link = device.link.is_present() || device.express.value().is_some() || device.parent.is_some();
    // Co-processors (PCI Code and ID Assignment Specification, base class 0b, sub-class 40): NEC's vector engines, Xeon Phi.
    let is_processor = device.class.value().is_some_and(|class| class >> 8 == 0x0b40);
    (device.is_display() || is_processor)
        && !is_management
        && has_link
        && machine.pci.contains_key(&device.address)
}

/// Where a GPU and another function meet, and how data goes.
pub fn of(machine: &Machine, gpu: PciAddress, other: PciAddress) -> Peer {
    let (ours, theirs) = (ancestry(machine, gpu), ancestry(machine, other));
    let told = told(machine, gpu, other);
    let mut peer =
        Peer { gpu, other, meets: Meeting::Unknown(String::new()), way: Way::Unknown, evidence: Vec::new() };
    if let Some((connection, source)) = &told {
        peer.evidence.push(("nvidia-smi topo".to_owned(), connection.to_string(), source.clone()));
    }
    let common = ours.iter().find(|device| theirs.iter().any(|other| other.address == device.address));
    let Some(common) = common else {
        peer.meets = beyond(machine, (&ours, &theirs), told.map(|(connection, _)| connection));
        peer.way = match &peer.meets {
            Meeting::Switch(_) | Meeting::Unknown(_) | Meeting::Port(_) => Way::Unknown,
            Meeting::HostBridge | Meeting::Node(_) | Meeting::Nodes(_) => Way::RootComplex,
        };
        return peer;
    };
    let below = [&ours, &theirs]
        .map(|chain| chain.iter().copied().take_while(|device| device.address != common.address));
    let is_port = |device: &&PciDevice| device.address != gpu && device.address != other;
    let ports: Vec<&PciDevice> = below.into_iter().flatten().filter(is_port).collect();
    let is_switch = pci::role(&machine.pci, common.address) == Some(PortType::UpstreamPort);
    if is_switch || !ports.is_empty() {
        peer.way = redirects(machine, &mut peer, &ports);
    }
    // Functions of one card have no bridge between them and the port; whether the card passes data between them is its own.
    peer.meets =
        if is_switch { Meeting::Switch(Some(common.address)) } else { Meeting::Port(common.address) };
    peer
}

/// Who may exchange data with a GPU: every function of storage and networks, the nearest first, with what a person would name it.
pub fn all_of(machine: &Machine, gpu: PciAddress) -> Vec<(Peer, Target)> {
    let is_peer = |device: &&PciDevice| device.is_storage() || device.is_network();
    let functions = machine.pci.values().filter(is_peer).map(|device| device.address);
    let mut peers: Vec<(Peer, Target)> =
        functions.map(|other| (of(machine, gpu, other), target_of(machine, other))).collect();
    peers.sort_by_key(|(peer, _)| (peer.meets.distance(), peer.other));
    peers
}

/// Where the functions that a path's data comes from meet a GPU, each once.
pub fn of_path(machine: &Machine, gpu: PciAddress, path: &Path) -> Vec<(Peer, Target)> {
    let mut found: Vec<PciAddress> = match &path.asked {
        Target::Pci(address) => vec![*address],
        _ => Vec::new(),
    };
    for hop in &path.hops {
        let function = match &hop.spec {
            HopSpec::Device(device) => {
                machine.block.get(&device.block).and_then(|block| block.transport.function())
            }
            HopSpec::Network(network) => machine.nics.get(&network.interface).and_then(|nic| nic.pci),
            _ => None,
        };
        found.extend(function.filter(|function| !found.contains(function)));
    }
    let others = found.into_iter().filter(|other| *other != gpu);
    others.map(|other| (of(machine, gpu, other), target_of(machine, other))).collect()
}

/// The one disk or interface that hangs on a function, or the function.
fn target_of(machine: &Machine, function: PciAddress) -> Target {
    let is_disk = |device: &&BlockDevice| {
        device.partition_of.is_none() && device.transport.function() == Some(function)
    };
    let mut disks = machine.block.values().filter(is_disk);
    let mut nics = machine.nics.values().filter(|nic| nic.pci == Some(function) && !nic.is_virtual);
    match (disks.next(), disks.next(), nics.next(), nics.next()) {
        (Some(disk), None, None, _) => Target::Block(disk.name.clone()),
        (None, _, Some(nic), None) => Target::Nic(nic.name.clone()),
        _ => Target::Pci(function),
    }
}

/// The paths of both: that of the other to the memory beside it, and from there to the GPU.
pub(crate) fn paths(machine: &Machine, peer: &Peer, target: &Target) -> Option<(Path, Path)> {
    let known = Catalogued::of(machine);
    let reader_node = climb::node(machine, peer.other);
    let ours = build::one(known, &Target::Pci(peer.gpu), reader_node);
    build::one(known, target, None).zip(ours)
}

/// Whether a hop lies below where both meet, so that data that goes directly crosses it.
pub(crate) fn is_below(machine: &Machine, meets: PciAddress, hop: &Hop) -> bool {
    let above = ancestry(machine, meets);
    let is_above = |address: PciAddress| above.iter().any(|device| device.address == address);
    match &hop.spec {
        HopSpec::Link(link) => !is_above(link.device.address),
        HopSpec::Switch(switch) => !is_above(switch.address),
        HopSpec::Application | HopSpec::Memory(_) | HopSpec::Socket(_) | HopSpec::Chipset(_) => false,
        _ => true,
    }
}

/// What `nvidia-smi topo -m` says of the two.
fn told(machine: &Machine, gpu: PciAddress, other: PciAddress) -> Option<(Connection, Source)> {
    let row = machine.affinities.values().find(|affinity| affinity.address == Some(gpu))?;
    let is_other = |name: &str| {
        machine.affinities.get(name).is_some_and(|affinity| affinity.address == Some(other))
            || machine.nics.get(name).is_some_and(|nic| nic.pci == Some(other))
    };
    row.connections.iter().find(|(name, _)| is_other(name)).map(|(_, told)| told.clone())
}

/// Where functions meet that no common bridge is known of.
fn beyond(
    machine: &Machine,
    (ours, theirs): (&[&PciDevice], &[&PciDevice]),
    told: Option<Connection>,
) -> Meeting {
    match told {
        Some(Connection::Pix | Connection::Pxb) => return Meeting::Switch(None),
        Some(Connection::Phb) => return Meeting::HostBridge,
        Some(Connection::Node) => return Meeting::Node(ours.first().and_then(|gpu| node(machine, gpu))),
        Some(Connection::Sys) | None => {}
    }
    let (Some(gpu), Some(other)) = (ours.first(), theirs.first()) else {
        return Meeting::Unknown("a function is not there".to_owned());
    };
    let nodes = node(machine, gpu).zip(node(machine, other));
    if told == Some(Connection::Sys) {
        return Meeting::Nodes(nodes.filter(|(ours, theirs)| ours != theirs));
    }
    let (Some(top), Some(other_top)) = (root(machine, ours), root(machine, theirs)) else {
        return Meeting::Unknown(
            "which bridges are above them is not known: `lspci -vt` shows it".to_owned(),
        );
    };
    if (top.domain, top.bus) == (other_top.domain, other_top.bus) {
        return Meeting::HostBridge;
    }
    match nodes {
        Some((ours, theirs)) if ours == theirs => Meeting::Node(Some(ours)),
        Some(nodes) => Meeting::Nodes(Some(nodes)),
        None => Meeting::Unknown("the firmware does not tell their NUMA nodes".to_owned()),
    }
}

/// The NUMA node of a function; on a machine of one node that one.
fn node(machine: &Machine, device: &PciDevice) -> Option<u32> {
    climb::node(machine, device.address).or(match machine.cpus.nodes.as_slice() {
        [only] => Some(only.id),
        _ => None,
    })
}

/// The function on the root bus; `None` where a capture does not show what is above.
fn root(machine: &Machine, chain: &[&PciDevice]) -> Option<PciAddress> {
    let top = chain.last()?;
    let is_root_port = top.port.value() == Some(&PortType::RootPort)
        || top.express.value().is_some_and(|express| {
            matches!(express.port, PortType::RootPort | PortType::RootComplexIntegrated)
        });
    // Most root buses that are not bus 0 have their own root ports, which a text in words tells.
    let is_known = machine.captured.is_none() || top.address.bus == 0 || is_root_port;
    is_known.then_some(top.address)
}

/// Whether a port on the way redirects requests. What was seen goes into the evidence.
fn redirects(machine: &Machine, peer: &mut Peer, ports: &[&PciDevice]) -> Way {
    let mut is_known = true;
    let mut is_redirected = false;
    for port in ports {
        match &port.acs {
            Fact::Known { value, source } => {
                is_redirected |= value.forbids_peers();
                peer.evidence.push((format!("ACS of {}", port.address), value.to_string(), source.clone()));
            }
            Fact::Absent { source } if !source.as_str().is_empty() => {
                peer.evidence.push((format!("ACS of {}", port.address), "none".to_owned(), source.clone()));
            }
            // The upstream port of a switch below has no neighbour to redirect from.
            _ if pci::role(&machine.pci, port.address) == Some(PortType::UpstreamPort) => {}
            _ => is_known = false,
        }
    }
    let group = |address: PciAddress| machine.pci.get(&address).map(|device| &device.iommu_group);
    let groups = [peer.gpu, peer.other]
        .map(|address| group(address).and_then(|fact| Some((fact.get()?, fact.source()))));
    for (address, group) in [peer.gpu, peer.other].into_iter().zip(&groups) {
        peer.evidence.extend(group.as_ref().map(|(group, source)| {
            (format!("IOMMU group of {address}"), group.to_string(), (*source).clone())
        }));
    }
    match (is_redirected, is_known, groups) {
        (true, ..) => Way::Redirected,
        (false, true, _) => Way::Direct,
        // One group tells nothing: a root port without ACS puts all below it into one, whatever the switch does (the kernel's
        // drivers/iommu/iommu.c, `pci_device_group`).
        (false, false, [Some((ours, _)), Some((theirs, _))]) if ours != theirs => Way::Redirected,
        (false, false, _) => Way::Unknown,
    }
}

impl Peer {
    /// Why the way is as it is, in a sentence.
    pub fn because(&self) -> String {
        let (gpu, other) = (self.gpu, self.other);
        match (self.way, &self.meets) {
            (Way::Direct, _) => "no port between them redirects requests".to_owned(),
            (Way::Redirected, _) => self.who_redirects(),
            (Way::RootComplex, Meeting::Nodes(_)) => {
                "the way leads over the connection of NUMA nodes; whether peers reach each other there is for the processors".to_owned()
            }
            (Way::RootComplex, _) => {
                "the way leads through the root complex; whether it passes on what peers ask is for the processor".to_owned()
            }
            (Way::Unknown, Meeting::Unknown(why)) => why.clone(),
            (Way::Unknown, Meeting::Port(_)) => {
                format!("whether one card passes data between {gpu} and {other} is not to be seen")
            }
            (Way::Unknown, _) => {
                "whether its ports redirect requests is not known: `sudo lspci -vvv` shows ACSCtl".to_owned()
            }
        }
    }

    fn who_redirects(&self) -> String {
        let has = |sign: &str| self.evidence.iter().any(|(_, value, _)| value.contains(sign));
        let ports: Vec<&str> = self
            .evidence
            .iter()
            .filter(|(_, value, _)| {
                ["ReqRedir+", "CmpltRedir+", "EgressCtrl+"].iter().any(|bit| value.contains(bit))
            })
            .filter_map(|(fact, _, _)| fact.strip_prefix("ACS of "))
            .collect();
        match ports.as_slice() {
            [] => {
                "the kernel has them in different IOMMU groups, so that requests between them are redirected"
                    .to_owned()
            }
            _ => {
                let translated =
                    if has("DirectTrans+") { ", but those that a device translated itself" } else { "" };
                let verb = if ports.len() == 1 { "sends" } else { "send" };
                format!(
                    "ACS of {} {verb} requests between them up to the root complex{translated}",
                    ports.join(" and ")
                )
            }
        }
    }
}

#[cfg(test)]
mod tests;
