//! Paths over machines that are put together by hand. Real trees are in `tests/machines`.

mod links;

use super::build::{Catalogued, all, one, path};
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

pub(super) fn catalogued<'m>(machine: &'m Machine, catalog: &'m Catalog) -> Catalogued<'m> {
    Catalogued { machine, catalog }
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
fn behind_a_switch() -> Machine {
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

#[test]
fn a_virtual_disk_has_a_controller_that_keeps_the_hosts_secret() {
    let mut machine = Machine::default();
    machine.cpus.hypervisor = text("KVM");
    function(&mut machine, "00:04.0", None, "1af4:1042", 0x01_0000, None);
    disk(&mut machine, "vda", Transport::Virtio { pci: Some(at("00:04.0")), flavour: "virtio-blk".into() });
    let path = path(&machine, &to("vda")).expect("is there");
    assert_eq!(
        ids(&path),
        ["application:program", "block_queue:vda", "device:vda", "controller:0000:00:04.0", "memory:ram"]
    );
    let HopSpec::Controller(controller) = &hop(&path, "controller:0000:00:04.0").spec else { panic!("none") };
    assert!(controller.is_virtual);
    let HopSpec::Device(device) = &hop(&path, "device:vda").spec else { panic!("none") };
    assert_eq!(device.synthetic.as_deref(), Some("virtio"));
}

#[test]
fn a_controller_spreads_what_is_asked_of_it_over_its_disks() {
    let mut machine = x99();
    disk(
        &mut machine,
        "sdb",
        Transport::Sata(Sata { port: "ata2".into(), pci: Some(at("00:1f.2")), ..Sata::default() }),
    );
    let path = path(&machine, &Target::Pci(at("00:1f.2"))).expect("is there");
    assert_eq!(hop(&path, "device:sda").traffic, Traffic::both(0.5));
    assert_eq!(hop(&path, "hba:0000:00:1f.2").traffic, Traffic::ONE);
}

fn sas(machine: &mut Machine, name: &str, sas: Sas) {
    disk(machine, name, Transport::Sas(Sas { pci: Some(at("03:00.0")), ..sas }));
    machine.block.get_mut(name).expect("just added").queue.rotational = known(true);
}

#[test]
fn disks_behind_an_expander_share_its_port() {
    let mut machine = Machine::default();
    function(&mut machine, "00:02.0", None, "8086:2f04", BRIDGE, Some([3, 8, 3, 8]));
    function(&mut machine, "03:00.0", Some("00:02.0"), "1000:0097", 0x01_0700, Some([3, 8, 3, 8]));
    let gbit = |rate: f64| BitsPerSec::from_mbit(rate * 1000.0);
    for name in ["sda", "sdb"] {
        let behind = Sas {
            phy_speeds: vec![gbit(6.0)],
            uplink_phy_speeds: vec![gbit(12.0); 4],
            expander: Some("expander-0:0".to_owned()),
            ..Sas::default()
        };
        sas(&mut machine, name, behind);
    }
    let paths = all(&machine);
    let [a, b] = paths.as_slice() else { panic!("{} paths", paths.len()) };
    assert_eq!(ids(a)[2..5], ["device:sda", "sas:sda", "sas:expander-0:0"]);
    let port = hop(b, "sas:expander-0:0");
    assert_eq!(port.name, "SAS port to expander-0:0, 4 lanes at 12 Gbit/s");
    assert_eq!(port.shared_with, ["/dev/sda"]);
    let HopSpec::Sas(wide) = &port.spec else { panic!("no SAS port") };
    assert_eq!(wide.phy_speeds, [gbit(12.0); 4]);
    assert_eq!(port.traffic, Traffic::ONE);
}

#[test]
fn only_a_disk_that_nothing_stands_before_is_surely_one_hard_disk() {
    let mut machine = Machine::default();
    function(&mut machine, "03:00.0", None, "1000:0097", 0x01_0700, None);
    sas(&mut machine, "sda", Sas::default());
    sas(&mut machine, "sdb", Sas { hidden: true, ..Sas::default() });
    disk(&mut machine, "sdc", Transport::Usb(Usb::default()));
    machine.block.get_mut("sdc").expect("just added").queue.rotational = known(true);
    disk(&mut machine, "sdd", Transport::Sata(Sata::default()));
    machine.block.get_mut("sdd").expect("just added").queue.rotational = known(false);
    let is_hard_disk = |machine: &Machine, block: &str| {
        let path = path(machine, &to(block)).expect("is there");
        match &hop(&path, &format!("device:{block}")).spec {
            HopSpec::Device(device) => device.is_hard_disk,
            _ => panic!("no device"),
        }
    };
    let disks = ["sda", "sdb", "sdc", "sdd"];
    assert_eq!(disks.map(|disk| is_hard_disk(&machine, disk)), [true, false, false, false]);
    machine.cpus.hypervisor = text("KVM");
    assert!(!is_hard_disk(&machine, "sda"));
    // The number of a hard disk says it, except of a drive that says that it does not turn.
    for (block, model) in
        [("sdb", "ST16000NM001G-2KK103"), ("sdc", "WDC WD40EZRZ"), ("sdd", "HUH721212ALE604")]
    {
        machine.block.get_mut(block).expect("was added").model = text(model);
    }
    assert_eq!(disks.map(|disk| is_hard_disk(&machine, disk)), [false, true, true, false]);
}

fn nic(machine: &mut Machine, name: &str, speed: Option<f64>, pci: Option<&str>, lower: &[&str]) {
    let nic = Nic {
        name: name.to_owned(),
        speed: speed.map_or_else(Fact::default, |speed| known(BitsPerSec::from_mbit(speed))),
        mtu: known(Bytes::new(1500)),
        pci: pci.map(at),
        lower: lower.iter().map(|lower| (*lower).to_owned()).collect(),
        is_virtual: pci.is_none(),
        ..Nic::default()
    };
    machine.nics.insert(name.to_owned(), nic);
}

/// A connection over a VLAN on a bond of two ports of one card.
fn remote_machine(bond_speed: Option<f64>) -> Machine {
    let mut machine = Machine::default();
    function(&mut machine, "00:02.0", None, "8086:2f04", BRIDGE, Some([3, 8, 3, 8]));
    for (port, name) in [("05:00.0", "eth0"), ("05:00.1", "eth1")] {
        function(&mut machine, port, Some("00:02.0"), "8086:1572", 0x02_0000, Some([3, 8, 3, 8]));
        nic(&mut machine, name, Some(10_000.0), Some(port), &[]);
    }
    nic(&mut machine, "bond0", bond_speed, None, &["eth0", "eth1"]);
    nic(&mut machine, "bond0.7", None, None, &["bond0"]);
    let remote = Remote { address: text("10.0.0.2"), port: known(4420), interface: text("bond0.7") };
    let fabric =
        NvmeFabric { controller: "nvme9".into(), transport: "tcp".into(), remote, ..NvmeFabric::default() };
    disk(&mut machine, "nvme9n1", Transport::NvmeFabric(fabric));
    machine
}

#[test]
fn a_remote_disk_leads_through_the_server_to_the_card_and_its_one_link() {
    let machine = remote_machine(Some(20_000.0));
    let path = path(&machine, &to("nvme9n1")).expect("is there");
    assert_eq!(
        ids(&path)[1..],
        [
            "block_queue:nvme9n1",
            "controller:nvme9",
            "remote:10.0.0.2:4420",
            "network:bond0",
            "network:eth0",
            "network:eth1",
            "link:0000:05:00.0",
            "memory:ram",
        ]
    );
    let HopSpec::Network(bond) = &hop(&path, "network:bond0").spec else { panic!("none") };
    assert_eq!((bond.members, bond.protocol.as_deref()), (2, Some("nvme-tcp")));
    assert_eq!(hop(&path, "network:eth0").traffic, Traffic::both(0.5));
    assert_eq!(hop(&path, "link:0000:05:00.0").traffic, Traffic::ONE);
}

#[test]
fn a_bond_of_which_one_port_is_active_may_send_everything_through_either() {
    let machine = remote_machine(Some(10_000.0));
    let path = path(&machine, &to("nvme9n1")).expect("is there");
    assert_eq!(hop(&path, "network:eth1").traffic, Traffic::ONE);
    assert_eq!(hop(&path, "link:0000:05:00.0").traffic, Traffic::ONE);
    let silent = remote_machine(None);
    let path = crate::path::build::path(&silent, &to("nvme9n1")).expect("is there");
    let HopSpec::Network(bond) = &hop(&path, "network:bond0").spec else { panic!("none") };
    assert_eq!(bond.speed.get(), Some(BitsPerSec::from_mbit(20_000.0)));
}

#[test]
fn an_interface_without_hardware_has_no_link() {
    let mut machine = Machine::default();
    nic(&mut machine, "lo", None, None, &[]);
    let path = path(&machine, &Target::Nic("lo".into())).expect("is there");
    assert_eq!(ids(&path), ["application:program", "network:lo", "memory:ram"]);
}

#[test]
fn each_byte_of_a_linear_volume_crosses_the_shared_switch_once() {
    let mut machine = behind_a_switch();
    let target = |number| DmTarget {
        start: Bytes::new(0),
        length: Bytes::new(1),
        kind: DmKind::Linear { device: (259, number), offset: Bytes::new(0) },
    };
    let dm = DmDevice { name: text("vg-data"), owner: text("LVM"), table: known(vec![target(0), target(1)]) };
    stacked(&mut machine, "dm-0", BlockKind::Dm(dm), &["nvme0n1", "nvme1n1"]);
    let path = path(&machine, &to("dm-0")).expect("is there");
    assert_eq!(path.target, "/dev/mapper/vg-data");
    assert_eq!(hop(&path, "device:nvme1n1").traffic, Traffic::ONE);
    assert_eq!(hop(&path, "switch:0000:01:00.0").traffic, Traffic::ONE);
    assert_eq!(hop(&path, "switch:0000:01:00.0").depth, 0);
    assert_eq!(hop(&path, "switch:0000:01:00.0").above, Some(HopId::new(HopKind::LogicalVolume, "dm-0")));
}

#[test]
fn what_a_cache_shares_with_its_backing_device_is_written_twice_and_read_once() {
    let mut machine = behind_a_switch();
    let bcache = Bcache {
        mode: text("writeback"),
        state: text("dirty"),
        backing: Some("nvme1n1".to_owned()),
        caches: vec!["nvme0n1".to_owned()],
        ..Bcache::default()
    };
    stacked(&mut machine, "bcache0", BlockKind::Bcache(bcache), &["nvme0n1", "nvme1n1"]);
    let path = path(&machine, &to("bcache0")).expect("is there");
    assert_eq!(hop(&path, "link:0000:01:00.0").traffic, Traffic { read: 1.0, write: 2.0 });
}

#[test]
fn a_loop_device_goes_on_into_the_file_system_of_its_file() {
    let mut machine = behind_a_switch();
    machine.mounts.push(mount("/", "ext4", &["nvme0n1"]));
    machine.mounts.push(mount("/var/lib", "xfs", &["nvme1n1"]));
    let file = LoopDevice { file: text("/var/lib/images/disk.img"), ..LoopDevice::default() };
    stacked(&mut machine, "loop0", BlockKind::Loop(file), &[]);
    let path = path(&machine, &to("loop0")).expect("is there");
    assert_eq!(
        ids(&path)[1..5],
        ["block_queue:loop0", "device:loop0", "filesystem:/var/lib", "block_queue:nvme1n1"]
    );
}

#[test]
fn devices_that_stand_on_each_other_in_a_circle_end_their_branch() {
    let mut machine = behind_a_switch();
    stacked(&mut machine, "dm-0", BlockKind::Dm(DmDevice::default()), &["dm-1", "gone"]);
    stacked(&mut machine, "dm-1", BlockKind::Dm(DmDevice::default()), &["dm-0", "nvme0n1"]);
    let path = path(&machine, &to("dm-0")).expect("is there");
    assert_eq!(ids(&path)[1..4], ["logical_volume:dm-0", "logical_volume:dm-1", "block_queue:nvme0n1"]);
    let mut machine = x99();
    machine.pci.get_mut(&at("00:1c.7")).expect("is there").parent = Some(at("06:00.0"));
    assert!(crate::path::build::path(&machine, &to("nvme1n1")).is_some());
}

#[test]
fn what_holds_nothing_is_no_target() {
    let mut machine = behind_a_switch();
    stacked(&mut machine, "loop0", BlockKind::Loop(LoopDevice::default()), &[]);
    let image = LoopDevice { file: text("/var/lib/snapd/snaps/core.snap"), ..LoopDevice::default() };
    stacked(&mut machine, "loop1", BlockKind::Loop(image), &[]);
    disk(&mut machine, "sr0", Transport::None);
    machine.block.get_mut("sr0").expect("is there").size = known(Bytes::new(0));
    disk(&mut machine, "nvme0c0n1", Transport::None);
    machine.mounts.push(mount("/snap/core/1", "squashfs", &["loop1"]));
    machine.mounts.push(mount("/run", "tmpfs", &[]));
    machine.mounts.push(mount("/data", "xfs", &["nvme0n1"]));
    machine.mounts.push(Mount { number: (8, 5), ..mount("/bound", "xfs", &["nvme0n1"]) });
    let targets: Vec<String> = all(&machine).into_iter().map(|path| path.target).collect();
    assert_eq!(targets, ["/dev/nvme0n1", "/dev/nvme1n1", "/data"]);
    for gone in [to("sdz"), Target::Nic("eth9".into()), Target::Pci(at("1f:00.0"))] {
        assert!(path(&machine, &gone).is_none(), "{gone:?}");
    }
    assert!(path(&machine, &Target::Mount { index: 99, path: "/".into() }).is_none());
}

fn chipsets() -> Catalog {
    let chipset = |name: &str, uplink: &str, id: &str| Chipset {
        name: name.to_owned(),
        uplink: uplink.to_owned(),
        ids: vec![id.to_owned()],
        ..Chipset::default()
    };
    let chipsets =
        vec![chipset("Intel X99", "DMI 2.0", "8086:8d47"), chipset("AMD X570", "PCIe 4.0 x4", "1022:57ad")];
    Catalog { chipsets: chipsets.into(), ..Catalog::default() }
}

#[test]
fn functions_of_an_intel_chipset_share_its_invisible_uplink() {
    let machine = x99();
    let catalog = chipsets();
    let there = catalogued(&machine, &catalog);
    let of = |block| one(there, &to(block), None).expect("is there");
    let behind = of("nvme1n1");
    let chipset = "chipset:0000:00:1f.0";
    assert_eq!(ids(&behind)[4..], ["link:0000:06:00.0", chipset, "memory:ram"]);
    let HopSpec::Chipset(uplink) = &hop(&behind, chipset).spec else { panic!("no chipset") };
    assert_eq!(uplink.name, "Intel X99 chipset, DMI 2.0");
    assert_eq!(uplink.behind, [at("00:1f.2"), at("06:00.0")]);
    let sata = of("sda");
    assert_eq!(ids(&sata)[2..], ["device:sda", "sata:ata1", "hba:0000:00:1f.2", chipset, "memory:ram"]);
    assert_eq!(ids(&of("nvme0n1"))[4..], ["link:0000:03:00.0", "memory:ram"]);
    // A platform that is not known has no such hop.
    let unknown = one(catalogued(&machine, &Catalog::default()), &to("nvme1n1"), None).expect("is there");
    assert_eq!(unknown.of_kind(HopKind::Chipset).count(), 0);
}

#[test]
fn a_port_that_vmd_takes_from_the_chipset_stays_behind_it() {
    let mut machine = x99();
    function(&mut machine, "00:0e.0", None, "8086:467f", 0x01_0400, None);
    for (port, drive, number) in
        [("10000:e0:1d.0", "10000:e1:00.0", 2), ("10000:e0:06.0", "10000:e2:00.0", 3)]
    {
        function(&mut machine, port, None, "8086:7ab0", BRIDGE, Some([4, 4, 4, 4]));
        function(&mut machine, drive, Some(port), "144d:a80a", NVME, Some([4, 4, 4, 4]));
        machine.pci.get_mut(&at(port)).expect("just added").domain_owner = Some(at("00:0e.0"));
        nvme(&mut machine, number, drive);
    }
    let catalog = chipsets();
    let there = catalogued(&machine, &catalog);
    let count = |block| {
        let path = one(there, &to(block), None).expect("is there");
        path.of_kind(HopKind::Chipset).count()
    };
    assert_eq!((count("nvme2n1"), count("nvme3n1")), (1, 0));
}

#[test]
fn an_amd_chipset_is_met_as_a_switch_and_shown_as_the_chipset() {
    let mut machine = Machine::default();
    function(&mut machine, "00:01.2", None, "1022:1483", BRIDGE, Some([4, 4, 4, 8]));
    function(&mut machine, "01:00.0", Some("00:01.2"), "1022:57ad", BRIDGE, Some([4, 4, 4, 8]));
    function(&mut machine, "02:08.0", Some("01:00.0"), "1022:57a4", BRIDGE, Some([4, 16, 4, 16]));
    function(&mut machine, "03:00.0", Some("02:08.0"), "1022:7901", 0x01_0601, Some([4, 16, 4, 16]));
    disk(
        &mut machine,
        "sda",
        Transport::Sata(Sata { port: "ata1".into(), pci: Some(at("03:00.0")), ..Sata::default() }),
    );
    let catalog = chipsets();
    let there = catalogued(&machine, &catalog);
    let path = one(there, &to("sda"), None).expect("is there");
    assert_eq!(
        ids(&path)[4..],
        ["hba:0000:03:00.0", "link:0000:03:00.0", "chipset:0000:01:00.0", "link:0000:01:00.0", "memory:ram"]
    );
    assert_eq!(link(&path, "link:0000:01:00.0").not_a_wire, None);
}

#[test]
fn a_chipset_that_a_hypervisor_imitates_has_no_uplink() {
    let mut machine = x99();
    machine.cpus.hypervisor = text("KVM");
    let catalog = chipsets();
    for block in ["nvme1n1", "sda"] {
        let path = one(catalogued(&machine, &catalog), &to(block), None).expect("is there");
        assert_eq!(path.of_kind(HopKind::Chipset).count(), 0, "{block}");
    }
}

#[test]
fn the_link_of_a_virtual_disk_holds_nothing_back() {
    let mut machine = x99();
    let has_rate =
        |machine: &Machine| match &hop(&path(machine, &to("sda")).expect("is there"), "sata:ata1").spec {
            HopSpec::Sata(sata) => sata.speed.value().is_some(),
            _ => panic!("no SATA link"),
        };
    let Transport::Sata(sata) = &mut machine.block.get_mut("sda").expect("is there").transport else {
        panic!("no SATA")
    };
    sata.speed = known(narrows_base::units::BitsPerSec::from_mbit(3000.0));
    assert!(has_rate(&machine));
    machine.block.get_mut("sda").expect("is there").model = text("VBOX HARDDISK");
    assert!(!has_rate(&machine));
}

#[test]
fn network_functions_inside_a_chipset_are_no_wire_and_its_own_uplink_is() {
    let mut machine = Machine::default();
    let least = Some([1, 1, 1, 1]);
    function(&mut machine, "3a:00.0", None, "8086:2030", BRIDGE, Some([3, 8, 3, 16]));
    function(&mut machine, "3b:00.0", Some("3a:00.0"), "8086:37c0", BRIDGE, Some([3, 8, 3, 16]));
    function(&mut machine, "3c:03.0", Some("3b:00.0"), "8086:37c5", BRIDGE, least);
    function(&mut machine, "3d:00.0", Some("3c:03.0"), "8086:37d2", 0x02_0000, least);
    let path = path(&machine, &Target::Pci(at("3d:00.0"))).expect("is there");
    let inside = link(&path, "link:0000:3d:00.0").not_a_wire.clone().expect("no wire");
    assert!(inside.starts_with("inside the chip"), "{inside}");
    assert_eq!(link(&path, "link:0000:3b:00.0").not_a_wire, None);
}
