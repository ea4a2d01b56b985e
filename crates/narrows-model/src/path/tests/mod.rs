//! Paths over machines that are put together by hand. Real trees are in `tests/machines`.

mod attached;
mod captured;
mod chipset;
mod links;
mod network;
mod stacks;

use super::build::{all, one, path};
use super::lookup::Published;
use super::{Hop, HopId, HopKind, HopSpec, LinkHop, Path, Target, Traffic};
use narrows_base::catalog::{Board, BoardSlot, Catalog, Chipset, Switch};
use narrows_base::fact::Fact;
use narrows_base::units::{BitsPerSec, Bytes, GtPerSec, Lanes};
use narrows_machine::Machine;
use narrows_machine::block::{
    Bcache, BlockDevice, BlockKind, DmDevice, DmKind, DmTarget, LoopDevice, NvmeFabric, Remote, Sas, Sata,
    Transport, Usb,
};
use narrows_machine::cpu::NumaNode;
use narrows_machine::dmi::Slot;
use narrows_machine::mount::Mount;
use narrows_machine::nic::Nic;
use narrows_machine::pci::{LinkEnd, PciAddress, PciDevice, PciId};

pub(super) const BRIDGE: u32 = 0x06_0400;
pub(super) const NVME: u32 = 0x01_0802;

pub(super) fn known<T>(value: T) -> Fact<T> {
    Fact::known(value, "test")
}

pub(super) fn text(value: &str) -> Fact<String> {
    known(value.to_owned())
}

pub(super) fn at(address: &str) -> PciAddress {
    address.parse().expect("an address")
}

pub(super) fn id(id: &str) -> PciId {
    let (vendor, device) = id.split_once(':').expect("vendor:device");
    let number = |text| u16::from_str_radix(text, 16).expect("hexadecimal");
    PciId { vendor: number(vendor), device: number(device) }
}

/// Adds a function; `link` is its end of a link: generation and lanes, as they run and at most.
pub(super) fn function(
    machine: &mut Machine,
    address: &str,
    above: Option<&str>,
    called: &str,
    class: u32,
    link: Option<[u8; 4]>,
) {
    let end = link.map_or_else(LinkEnd::default, |[speed, width, most_speed, most_width]| {
        let rate = |generation| known(GtPerSec::from_pcie_generation(generation).expect("a generation"));
        LinkEnd {
            current_speed: rate(speed),
            current_width: known(Lanes::new(width)),
            max_speed: rate(most_speed),
            max_width: known(Lanes::new(most_width)),
            ..LinkEnd::default()
        }
    });
    let device = PciDevice {
        address: at(address),
        id: known(id(called)),
        class: known(class),
        parent: above.map(at),
        link: end,
        ..PciDevice::default()
    };
    machine.pci.insert(device.address, device);
}

pub(super) fn disk(machine: &mut Machine, name: &str, transport: Transport) {
    let device = BlockDevice {
        name: name.to_owned(),
        size: known(Bytes::new(1 << 40)),
        transport,
        ..BlockDevice::default()
    };
    machine.block.insert(name.to_owned(), device);
}

pub(super) fn nvme(machine: &mut Machine, number: u8, address: &str) {
    let transport = Transport::NvmePci { controller: format!("nvme{number}"), pci: at(address) };
    disk(machine, &format!("nvme{number}n1"), transport);
}

pub(super) fn stacked(machine: &mut Machine, name: &str, kind: BlockKind, slaves: &[&str]) {
    disk(machine, name, Transport::None);
    let device = machine.block.get_mut(name).expect("just added");
    device.kind = kind;
    device.slaves = slaves.iter().map(|slave| (*slave).to_owned()).collect();
}

pub(super) fn mount(point: &str, fstype: &str, devices: &[&str]) -> Mount {
    Mount {
        point: point.to_owned(),
        fstype: fstype.to_owned(),
        devices: devices.iter().map(|device| (*device).to_owned()).collect(),
        number: (8, u32::try_from(point.len()).expect("short")),
        ..Mount::default()
    }
}

/// Two drives behind one switch below a root port of the processor.
pub(super) fn behind_a_switch() -> Machine {
    let mut machine = Machine::default();
    function(&mut machine, "00:03.0", None, "8086:2f08", BRIDGE, Some([3, 16, 3, 16]));
    function(&mut machine, "01:00.0", Some("00:03.0"), "10b5:8748", BRIDGE, Some([3, 16, 3, 16]));
    for (number, port, drive) in [(0, "02:08.0", "03:00.0"), (1, "02:09.0", "04:00.0")] {
        function(&mut machine, port, Some("01:00.0"), "10b5:8748", BRIDGE, Some([3, 4, 3, 4]));
        function(&mut machine, drive, Some(port), "144d:a808", NVME, Some([3, 4, 3, 4]));
        nvme(&mut machine, number, drive);
    }
    machine
}

pub(super) fn to(block: &str) -> Target {
    Target::Block(block.to_owned())
}

pub(super) fn ids(path: &Path) -> Vec<&str> {
    path.hops.iter().map(|hop| hop.id.as_str()).collect()
}

pub(super) fn hop<'p>(path: &'p Path, id: &str) -> &'p Hop {
    path.hops.iter().find(|hop| hop.id.as_str() == id).unwrap_or_else(|| panic!("no {id} in {:?}", ids(path)))
}

pub(super) fn link<'p>(path: &'p Path, id: &str) -> &'p LinkHop {
    match &hop(path, id).spec {
        HopSpec::Link(link) => link,
        other => panic!("{id} is {other:?}"),
    }
}

/// A drive behind root port 1c.7 and disks at the chipset's own SATA controller, X99.
pub(super) fn x99() -> Machine {
    let mut machine = Machine::default();
    machine.dmi.board_vendor = text("ASUSTeK COMPUTER INC.");
    machine.dmi.board = text("X99-A");
    function(&mut machine, "00:02.0", None, "8086:2f04", BRIDGE, Some([3, 4, 3, 16]));
    function(&mut machine, "03:00.0", Some("00:02.0"), "144d:a808", NVME, Some([3, 4, 3, 4]));
    function(&mut machine, "00:1c.7", None, "8086:8d1e", BRIDGE, Some([2, 1, 2, 1]));
    function(&mut machine, "06:00.0", Some("00:1c.7"), "144d:a808", NVME, Some([2, 1, 3, 4]));
    function(&mut machine, "00:1f.0", None, "8086:8d47", 0x06_0100, None);
    function(&mut machine, "00:1f.2", None, "8086:8d02", 0x01_0601, None);
    nvme(&mut machine, 0, "03:00.0");
    nvme(&mut machine, 1, "06:00.0");
    disk(
        &mut machine,
        "sda",
        Transport::Sata(Sata { port: "ata1".into(), pci: Some(at("00:1f.2")), ..Sata::default() }),
    );
    machine
}
