//! PCI functions of a whole machine, against what `lspci -vvv` (pciutils 3.9.0) printed for the same bytes.

#![expect(clippy::expect_used, reason = "a test may panic")]

use std::collections::BTreeMap;

use narrows::machine::fact::Fact;
use narrows::machine::pci::{self, PciAddress, PciDevice, PortType};
use narrows::machine::root::Root;
use narrows::machine::tree::{Node, Tree};
use narrows::units::{Bytes, GtPerSec, Lanes};

const RECORD: &str = include_str!("../data/pci-qemu-q35.txt");

/// How much of config space the kernel shows to whom.
const FOR_ROOT: usize = 256;
const FOR_EVERYONE: usize = 64;

fn recorded(config_bytes: usize) -> Tree {
    let mut tree = Tree::new();
    let mut functions: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut dir = String::new();
    for line in RECORD.lines().filter(|line| !line.starts_with('#')) {
        match line.split_once(' ').expect("a name and a value") {
            ("dir", path) => {
                path.clone_into(&mut dir);
                functions.insert(dir.clone(), vec![0; FOR_ROOT]);
            }
            ("slot", slot) => {
                let (path, address) = slot.split_once(' ').expect("a path and an address");
                tree.file(path, address);
            }
            (row, bytes) if row.ends_with(':') => {
                let at = usize::from_str_radix(row.trim_end_matches(':'), 16).expect("a number");
                let bytes = bytes.split(' ').map(|byte| u8::from_str_radix(byte, 16).expect("a byte"));
                let config = functions.get_mut(&dir).expect("a function");
                for (place, byte) in config.iter_mut().skip(at).zip(bytes) {
                    *place = byte;
                }
            }
            (name, value) => {
                tree.file(&format!("{dir}/{name}"), value);
            }
        }
    }
    for (dir, mut config) in functions {
        config.truncate(config_bytes);
        let name = dir.rsplit('/').next().expect("a name");
        tree.link(&format!("/sys/bus/pci/devices/{name}"), &dir);
        tree.insert(&format!("{dir}/config"), Node::File(config));
    }
    tree
}

fn at(text: &str) -> PciAddress {
    text.parse().expect("an address")
}

fn devices(config_bytes: usize) -> BTreeMap<PciAddress, PciDevice> {
    pci::read(&Root::from_tree(recorded(config_bytes)))
}

/// The functions that are PCI Express, and what lspci calls them.
const ROLES: &[(&str, PortType)] = &[
    ("00:02.0", PortType::RootComplexIntegrated),
    ("00:03.0", PortType::RootPort),
    ("00:04.0", PortType::RootPort),
    ("01:00.0", PortType::Endpoint),
    ("02:00.0", PortType::UpstreamPort),
    ("03:00.0", PortType::DownstreamPort),
    ("03:01.0", PortType::DownstreamPort),
    ("04:00.0", PortType::Endpoint),
    ("05:00.0", PortType::Endpoint),
    ("80:00.0", PortType::RootPort),
    ("80:01.0", PortType::PciBridge),
    ("81:00.0", PortType::Endpoint),
];

#[test]
fn every_function_has_the_role_that_its_config_space_states() {
    let devices = devices(FOR_ROOT);
    assert_eq!(devices.len(), 19);
    let stated: BTreeMap<_, _> = ROLES.iter().map(|(address, port)| (at(address), *port)).collect();
    let found = devices.values().filter_map(|d| d.express.value().map(|express| (d.address, express.port)));
    assert_eq!(found.collect::<BTreeMap<_, _>>(), stated);
    for device in devices.values() {
        let stated = device.express.value().map(|express| express.port);
        assert_eq!(pci::role(&devices, device.address), stated, "{}", device.address);
    }
}

#[test]
fn without_root_the_same_roles_follow_from_the_topology() {
    let devices = devices(FOR_EVERYONE);
    for (address, want) in ROLES {
        let express = &devices[&at(address)].express;
        assert!(matches!(express, Fact::Denied { need, .. } if need == "root"), "{address}: {express:?}");
        assert_eq!(pci::role(&devices, at(address)), Some(*want), "{address}");
    }
    for conventional in ["00:00.0", "00:01.0", "00:05.0", "00:1f.0", "00:1f.2", "00:1f.3", "82:01.0"] {
        assert_eq!(pci::role(&devices, at(conventional)), None, "{conventional}");
    }
}

#[test]
fn the_registers_of_a_root_port_are_those_that_lspci_prints() {
    let devices = devices(FOR_ROOT);
    let port = devices[&at("00:03.0")].express.get().expect("PCI Express");
    assert_eq!((port.max_speed, port.max_width), (Some(GtPerSec::GEN4), Some(Lanes::new(4))));
    assert_eq!((port.speed, port.width), (Some(GtPerSec::GEN1), Some(Lanes::new(1))));
    assert_eq!(port.target_speed, Some(GtPerSec::GEN4));
    assert_eq!(port.supported_speeds, [GtPerSec::GEN1, GtPerSec::GEN2, GtPerSec::GEN3, GtPerSec::GEN4]);
    assert_eq!((port.max_payload, port.max_read_request), (Bytes::new(128), Bytes::new(128)));
    assert!(port.slot_implemented && !port.relaxed_ordering && !port.aspm_l0s && !port.aspm_l1);
    let wide = devices[&at("80:00.0")].express.get().expect("PCI Express");
    assert_eq!(wide.max_width, Some(Lanes::new(32)));
}

/// QEMU's downstream port states a maximum of x0 at no speed. It must come out as unknown on both ways.
#[test]
fn a_port_that_states_no_maximum_has_none() {
    let devices = devices(FOR_ROOT);
    let port = &devices[&at("03:00.0")];
    let express = port.express.value().expect("PCI Express");
    assert_eq!((express.max_speed, express.max_width), (None, None));
    assert!(matches!(port.link.max_speed, Fact::Garbled { .. }));
    assert!(matches!(port.link.max_width, Fact::Garbled { .. }));
    assert_eq!(port.link.current_width.get(), Some(Lanes::new(1)));
}

#[test]
fn sysfs_and_config_space_agree_on_every_link() {
    for device in devices(FOR_ROOT).values() {
        let Some(express) = device.express.value() else { continue };
        if express.port == PortType::RootComplexIntegrated {
            continue;
        }
        let link = &device.link;
        assert_eq!(link.current_speed.get(), express.speed, "{}", device.address);
        assert_eq!(link.max_speed.get(), express.max_speed, "{}", device.address);
        assert_eq!(link.current_width.get(), express.width, "{}", device.address);
        assert_eq!(link.max_width.get(), express.max_width, "{}", device.address);
    }
}

#[test]
fn nodes_and_slots_are_found() {
    let devices = devices(FOR_ROOT);
    assert_eq!(devices[&at("81:00.0")].numa_node.get(), Some(1));
    assert_eq!(devices[&at("81:00.0")].local_cpus.get(), Some(vec![1]));
    assert!(matches!(devices[&at("01:00.0")].numa_node, Fact::Absent { .. }));
    assert_eq!(devices[&at("01:00.0")].slot.get().as_deref(), Some("0"));
    assert_eq!(devices[&at("05:00.0")].slot.get().as_deref(), Some("0-3"));
    assert_eq!(devices[&at("05:00.0")].parent, Some(at("03:01.0")));
}

/// The answers of a live machine must come again from what was recorded of it.
#[test]
fn this_machine_reads_the_same_from_its_record() {
    let live = Root::recording();
    let before = pci::read(&live);
    let again = pci::read(&Root::from_tree(live.into_record().expect("was recording")));
    assert_eq!(format!("{before:?}"), format!("{again:?}"));
}
