//! Which drives of a machine are meant by a kind, a NUMA node, or a PCIe switch that they are behind.

use std::collections::BTreeSet;
use std::fmt;
use std::iter;
use std::str::FromStr;

use super::{climb, of_word};
use narrows_machine::Machine;
use narrows_machine::block::{BlockDevice, BlockKind, Transport};
use narrows_machine::pci::{self, PciAddress, PciDevice, PortType};
use serde::{Deserialize, Serialize};

/// What is to hold of each drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// It is of this kind.
    Kind(DriveKind),
    /// It is next to the processors of this NUMA node.
    Node(u32),
    /// It is behind the PCIe switch with this port.
    Switch(PciAddress),
    /// It is behind a PCIe switch in the physical slot of this name (`/sys/bus/pci/slots`).
    Slot(String),
}

/// The kinds of drive that people tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DriveKind {
    /// NVMe, on PCI Express or over a network.
    Nvme,
    /// Serial ATA.
    Sata,
    /// Serial Attached SCSI, volumes of RAID controllers included.
    Sas,
    /// USB mass storage.
    Usb,
    /// A paravirtual disk.
    Virtio,
    /// A medium without moving parts (`queue/rotational` is 0).
    Ssd,
    /// A disk that turns.
    Hdd,
}

impl DriveKind {
    /// Whether a drive is of this kind; `None` where that is not known.
    fn is(self, drive: &BlockDevice) -> Option<bool> {
        let transport = &drive.transport;
        Some(match self {
            Self::Nvme => {
                matches!(transport, Transport::NvmePci { .. } | Transport::NvmeFabric(_))
                    || matches!(drive.kind, BlockKind::NvmeMultipath(_))
            }
            Self::Sata => matches!(transport, Transport::Sata(_)),
            Self::Sas => matches!(transport, Transport::Sas(_)),
            Self::Usb => matches!(transport, Transport::Usb(_)),
            Self::Virtio => matches!(transport, Transport::Virtio { .. }),
            Self::Ssd => !drive.queue.rotational.get()?,
            Self::Hdd => drive.queue.rotational.get()?,
        })
    }
}

impl fmt::Display for DriveKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl FromStr for Choice {
    type Err = String;

    /// Reads `nvme`, `node0`, `switch:0000:02:00.0` or `switch:SLOT`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(kind) = of_word(text) {
            return Ok(Self::Kind(kind));
        }
        if let Some(Ok(node)) = text.strip_prefix("node").map(str::parse) {
            return Ok(Self::Node(node));
        }
        match text.strip_prefix("switch:").filter(|name| !name.is_empty()) {
            Some(name) => Ok(name.parse().map_or_else(|_| Self::Slot(name.to_owned()), Self::Switch)),
            None => Err(format!(
                "`{text}` is none of nvme, sata, sas, usb, virtio, ssd, hdd, nodeN, switch:ADDRESS and \
                 switch:SLOT"
            )),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(f, "{kind}"),
            Self::Node(node) => write!(f, "node{node}"),
            Self::Switch(address) => write!(f, "switch:{address}"),
            Self::Slot(slot) => write!(f, "switch:{slot}"),
        }
    }
}

impl Choice {
    /// Why a drive, by kernel name, is not meant; `None` where it is.
    pub fn objection(&self, machine: &Machine, drive: &str) -> Option<String> {
        let device = machine.block.get(drive)?;
        match self {
            Self::Kind(kind) => match kind.is(device) {
                Some(true) => None,
                Some(false) => Some(format!("not of kind {kind}")),
                None => Some("of unknown kind".to_owned()),
            },
            Self::Node(wanted) => match nodes(machine, device).as_slice() {
                [] => Some("on a NUMA node that the firmware does not tell".to_owned()),
                nodes if nodes.contains(wanted) => None,
                nodes => {
                    let nodes: Vec<String> = nodes.iter().map(u32::to_string).collect();
                    Some(format!("on NUMA node {}", nodes.join(" and ")))
                }
            },
            Self::Switch(_) | Self::Slot(_) => {
                let is_behind = functions(machine, device).into_iter().any(|address| {
                    let above = climb::ancestry(machine, address);
                    switches_of(machine, &above).iter().any(|upstream| self.names(machine, &above, upstream))
                });
                (!is_behind).then(|| "not behind that switch".to_owned())
            }
        }
    }

    /// What there is to choose from where this choice names nothing of the machine; `None` where what it names is there.
    pub fn unknown(&self, machine: &Machine) -> Option<String> {
        match self {
            Self::Kind(_) => None,
            Self::Node(node) => {
                let ids: Vec<u32> = machine.cpus.nodes.iter().map(|node| node.id).collect();
                (!ids.contains(node)).then(|| {
                    let ids: Vec<String> = ids.iter().map(|id| format!("node{id}")).collect();
                    choices("NUMA nodes", &ids)
                })
            }
            Self::Switch(_) | Self::Slot(_) => {
                let all: Vec<&PciDevice> = machine.pci.values().collect();
                let upstream = switches_of(machine, &all);
                let chains = || machine.pci.keys().map(|address| climb::ancestry(machine, *address));
                let is_named = |upstream: &PciDevice, chain: &[&PciDevice]| {
                    chain.iter().any(|device| device.address == upstream.address)
                        && self.names(machine, chain, upstream)
                };
                let is_there = upstream.iter().any(|it| chains().any(|chain| is_named(it, &chain)));
                let names: Vec<String> =
                    upstream.iter().map(|upstream| format!("switch:{}", upstream.address)).collect();
                (!is_there).then(|| choices("PCIe switches", &names))
            }
        }
    }

    /// Whether this names the switch with that upstream port, which stands in `chain` with what is below and above it. Each of
    /// its ports names it, and so does the slot that the switch, or the port above it, is known by.
    fn names(&self, machine: &Machine, chain: &[&PciDevice], upstream: &PciDevice) -> bool {
        match self {
            Self::Switch(address) => {
                let is_port = machine.pci.get(address).is_some_and(|port| {
                    port.parent == Some(upstream.address)
                        && pci::role(&machine.pci, *address) == Some(PortType::DownstreamPort)
                });
                *address == upstream.address || is_port
            }
            Self::Slot(slot) => {
                let at = chain.iter().position(|device| device.address == upstream.address);
                let near = at.map_or(&[][..], |at| chain.get(at..).unwrap_or_default());
                near.iter().take(2).any(|device| device.slot.value() == Some(slot))
            }
            Self::Kind(_) | Self::Node(_) => false,
        }
    }
}

/// The upstream ports of switches among some functions.
fn switches_of<'m>(machine: &Machine, functions: &[&'m PciDevice]) -> Vec<&'m PciDevice> {
    let is_upstream =
        |device: &&&PciDevice| pci::role(&machine.pci, device.address) == Some(PortType::UpstreamPort);
    functions.iter().filter(is_upstream).copied().collect()
}

fn choices(what: &str, there: &[String]) -> String {
    match there {
        [] => format!("this machine shows no {what}"),
        _ => format!("its {what} are: {}", there.join(", ")),
    }
}

/// The PCI functions that carry the data of a drive: several where it has several paths (NVMe multipath).
fn functions(machine: &Machine, drive: &BlockDevice) -> Vec<PciAddress> {
    let paths = match &drive.kind {
        BlockKind::NvmeMultipath(paths) => paths.as_slice(),
        _ => &[],
    };
    let paths = paths.iter().filter_map(|path| machine.block.get(path));
    iter::once(drive).chain(paths).filter_map(|device| device.transport.function()).collect()
}

/// The NUMA nodes that a drive is on. On a machine of one node everything is on it, also where the firmware gives no number.
fn nodes(machine: &Machine, drive: &BlockDevice) -> Vec<u32> {
    let functions = functions(machine, drive).into_iter();
    let told: BTreeSet<u32> = functions.filter_map(|address| climb::node(machine, address)).collect();
    match (told.is_empty(), machine.cpus.nodes.as_slice()) {
        (true, [only]) => vec![only.id],
        _ => told.into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::fact::Fact;
    use narrows_base::units::GtPerSec;
    use narrows_machine::cpu::NumaNode;
    use narrows_machine::pci::LinkEnd;

    const BRIDGE: u32 = 0x06_0400;
    const NVME: u32 = 0x01_0802;

    fn at(text: &str) -> PciAddress {
        text.parse().expect("an address")
    }

    /// Two drives behind a switch in slot 7 on node 0, one on a root port of node 1, and a SATA disk.
    fn machine() -> Machine {
        let functions = [
            ("00:01.0", BRIDGE, None, Some(0), Some("7")),
            ("01:00.0", BRIDGE, Some("00:01.0"), Some(0), None),
            ("02:00.0", BRIDGE, Some("01:00.0"), Some(0), None),
            ("02:01.0", BRIDGE, Some("01:00.0"), Some(0), None),
            ("03:00.0", NVME, Some("02:00.0"), Some(0), None),
            ("04:00.0", NVME, Some("02:01.0"), None, None),
            ("80:01.0", BRIDGE, None, Some(1), None),
            ("81:00.0", NVME, Some("80:01.0"), Some(1), None),
        ];
        let mut machine = Machine::default();
        for (address, class, parent, node, slot) in functions {
            let device = PciDevice {
                address: at(address),
                class: Fact::known(class, "class"),
                parent: parent.map(at),
                numa_node: node
                    .map_or_else(|| Fact::absent("numa_node"), |node| Fact::known(node, "numa_node")),
                slot: slot.map_or_else(Fact::default, |slot| Fact::known(slot.to_owned(), "slots")),
                link: LinkEnd {
                    max_speed: Fact::known(GtPerSec::GEN3, "max_link_speed"),
                    ..LinkEnd::default()
                },
                ..PciDevice::default()
            };
            machine.pci.insert(device.address, device);
        }
        for (number, address) in [(0, "03:00.0"), (1, "04:00.0"), (2, "81:00.0")] {
            let name = format!("nvme{number}n1");
            let transport = Transport::NvmePci { controller: format!("nvme{number}"), pci: at(address) };
            machine.block.insert(name.clone(), BlockDevice { name, transport, ..BlockDevice::default() });
        }
        let mut disk = BlockDevice { name: "sda".to_owned(), ..BlockDevice::default() };
        disk.transport = Transport::Sata(Default::default());
        disk.queue.rotational = Fact::known(true, "rotational");
        machine.block.insert("sda".to_owned(), disk);
        machine.cpus.nodes = [0, 1].map(|id| NumaNode { id, ..NumaNode::default() }).to_vec();
        machine
    }

    fn chosen(machine: &Machine, text: &str) -> Vec<String> {
        let choice: Choice = text.parse().expect("is a choice");
        assert_eq!(choice.to_string(), text);
        let names = machine.block.keys().filter(|name| choice.objection(machine, name).is_none());
        names.cloned().collect()
    }

    #[test]
    fn drives_are_chosen_by_kind_node_and_switch() {
        let machine = machine();
        for (text, want) in [
            ("nvme", &["nvme0n1", "nvme1n1", "nvme2n1"][..]),
            ("sata", &["sda"]),
            ("hdd", &["sda"]),
            ("ssd", &[]),
            ("node0", &["nvme0n1", "nvme1n1"]),
            ("node1", &["nvme2n1"]),
            ("switch:0000:01:00.0", &["nvme0n1", "nvme1n1"]),
            ("switch:0000:02:01.0", &["nvme0n1", "nvme1n1"]),
            ("switch:0000:00:01.0", &[]),
            ("switch:7", &["nvme0n1", "nvme1n1"]),
            ("switch:9", &[]),
        ] {
            assert_eq!(chosen(&machine, text), want, "{text}");
        }
    }

    #[test]
    fn who_is_not_meant_is_told_why() {
        let machine = machine();
        let why = |text: &str, drive: &str| {
            let choice: Choice = text.parse().expect("is a choice");
            choice.objection(&machine, drive).unwrap_or_default()
        };
        assert_eq!(why("nvme", "sda"), "not of kind nvme");
        assert_eq!(why("ssd", "nvme0n1"), "of unknown kind");
        assert_eq!(why("node0", "nvme2n1"), "on NUMA node 1");
        assert_eq!(why("node0", "sda"), "on a NUMA node that the firmware does not tell");
        assert_eq!(why("switch:01:00.0", "nvme2n1"), "not behind that switch");
    }

    #[test]
    fn a_drive_of_several_paths_is_where_any_of_them_is() {
        let mut machine = machine();
        let paths = ["nvme1n1", "nvme2n1"].map(str::to_owned).to_vec();
        let name = "nvme5n1".to_owned();
        let head = BlockDevice { name, kind: BlockKind::NvmeMultipath(paths), ..BlockDevice::default() };
        machine.block.insert("nvme5n1".to_owned(), head);
        machine.cpus.nodes.push(NumaNode { id: 2, ..NumaNode::default() });
        let why = |text: &str| text.parse::<Choice>().expect("is a choice").objection(&machine, "nvme5n1");
        for text in ["nvme", "node0", "node1", "switch:0000:01:00.0"] {
            assert_eq!(why(text), None, "{text}");
        }
        assert_eq!(why("node2").as_deref(), Some("on NUMA node 0 and 1"));
        assert_eq!(why("switch:9").as_deref(), Some("not behind that switch"));
    }

    #[test]
    fn on_one_node_everything_is_on_it() {
        let mut machine = machine();
        machine.cpus.nodes.truncate(1);
        machine.pci.values_mut().for_each(|device| device.numa_node = Fact::absent("numa_node"));
        assert_eq!(chosen(&machine, "node0"), ["nvme0n1", "nvme1n1", "nvme2n1", "sda"]);
    }

    #[test]
    fn what_is_not_there_is_answered_with_what_is() {
        let machine = machine();
        let unknown = |text: &str| text.parse::<Choice>().expect("is a choice").unknown(&machine);
        assert_eq!(unknown("node0"), None);
        assert_eq!(unknown("switch:0000:02:01.0"), None);
        assert_eq!(unknown("switch:7"), None);
        assert_eq!(unknown("node4").as_deref(), Some("its NUMA nodes are: node0, node1"));
        let switches = Some("its PCIe switches are: switch:0000:01:00.0");
        assert_eq!(unknown("switch:0000:00:01.0").as_deref(), switches);
        assert_eq!(unknown("switch:9").as_deref(), switches);
        for text in ["", "nvm", "node", "node-1", "switch", "switch:"] {
            assert!(text.parse::<Choice>().is_err(), "{text}");
        }
    }
}
