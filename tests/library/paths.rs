//! The paths of whole machines, from files as the kernel shows them to the order of hops. What is expected was worked
//! out by hand from the lane diagrams and manuals that `NOTES.md` beside each machine names.

use narrows::machine::Machine;
use narrows::machine::root::Root;
use narrows::path::{Hop, HopKind, HopSpec, LinkHop, Path, Traffic, build};

fn path(machine: &Machine, target: &str) -> Path {
    let paths = build::all(machine);
    let names: Vec<String> = paths.iter().map(|path| path.target.clone()).collect();
    paths
        .into_iter()
        .find(|path| path.target == target)
        .unwrap_or_else(|| panic!("no {target} among {names:?}"))
}

fn hop<'p>(path: &'p Path, id: &str) -> &'p Hop {
    path.hops.iter().find(|hop| hop.id.as_str() == id).unwrap_or_else(|| panic!("no hop {id}"))
}

fn link<'p>(path: &'p Path, id: &str) -> &'p LinkHop {
    match &hop(path, id).spec {
        HopSpec::Link(link) => link,
        other => panic!("{id} is {other:?}"),
    }
}

/// Asserts the ids of the hops between application and memory, indented by their depth.
fn leads_through(path: &Path, want: &str) {
    let shown: Vec<String> =
        path.hops.iter().map(|hop| format!("{}{}", "  ".repeat(hop.depth), hop.id)).collect();
    let want: Vec<&str> = want.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(shown.first().map(String::as_str), Some("application:program"));
    assert_eq!(shown.last().map(String::as_str), Some("memory:ram"));
    assert_eq!(shown[1..shown.len() - 1], want, "{}", path.target);
}

/// The machine `tests/machines/<name>`, read by the readers that read a live one.
fn machine(name: &str) -> Machine {
    Machine::read(&Root::from_tree(crate::support::tree(name)))
}

#[test]
fn s3_before_the_slot_runs_one_lane_of_a_drive_with_four() {
    let machine = machine("s3-x99-before");
    let slow = path(&machine, "/dev/nvme2n1");
    leads_through(
        &slow,
        "
block_queue:nvme2n1
device:nvme2n1
controller:nvme2
link:0000:06:00.0
chipset:0000:00:1f.0
",
    );
    let link = link(&slow, "link:0000:06:00.0");
    let port = link.port.as_ref().expect("a root port");
    assert_eq!(port.address.to_string(), "0000:00:1c.7");
    assert_eq!(hop(&slow, "link:0000:06:00.0").name, "PCIe 2.0 x1 link of 0000:06:00.0, slot PCIEX16_2");
    assert_eq!(link.device.link.max_width.get().map(|width| width.get()), Some(4));
    assert_eq!(port.link.max_width.get().map(|width| width.get()), Some(1));
    let express = port.express.value().expect("was read as root");
    assert_eq!((express.port_number, express.max_payload.get()), (8, 128));
    let slot = link.board_slot.as_ref().expect("the board is known");
    assert_eq!((slot.name.as_str(), slot.connector, slot.lanes), ("PCIEX16_2", 16, 4));
    assert_eq!(slot.option.as_ref().map(|option| option.value.as_str()), Some("X4 Mode"));
    assert_eq!(hop(&slow, "chipset:0000:00:1f.0").shared_with, ["/dev/sda", "/dev/sdb", "/dev/sdc"]);
}

#[test]
fn s3_after_the_slot_runs_four_lanes_and_the_chipset_comes_next() {
    let machine = machine("s3-x99-after");
    let path = path(&machine, "/dev/nvme2n1");
    let link = link(&path, "link:0000:06:00.0");
    assert_eq!(link.port.as_ref().map(|port| port.address.to_string()).as_deref(), Some("0000:00:1c.4"));
    assert_eq!(hop(&path, "link:0000:06:00.0").name, "PCIe 2.0 x4 link of 0000:06:00.0, slot PCIEX16_2");
    let HopSpec::Chipset(uplink) = &hop(&path, "chipset:0000:00:1f.0").spec else { panic!("no chipset") };
    let chipset = uplink.chipset.as_ref().expect("it is known");
    assert_eq!((chipset.generation, chipset.lanes), (2, 4));
    let behind: Vec<String> = uplink.behind.iter().map(ToString::to_string).collect();
    assert_eq!(
        behind,
        [
            "0000:00:14.0",
            "0000:00:19.0",
            "0000:00:1a.0",
            "0000:00:1d.0",
            "0000:00:1f.2",
            "0000:05:00.0",
            "0000:06:00.0",
        ]
    );
}

#[test]
fn s3_drives_on_lanes_of_the_processor_pass_the_chipset_by() {
    let machine = machine("s3-x99-before");
    for (target, link) in [("/dev/nvme0n1", "link:0000:01:00.0"), ("/dev/nvme1n1", "link:0000:04:00.0")] {
        let path = path(&machine, target);
        assert_eq!(path.of_kind(HopKind::Chipset).count(), 0, "{target}");
        assert!(hop(&path, link).name.starts_with("PCIe 3.0 x4 link"), "{}", hop(&path, link).name);
    }
}

#[test]
fn s3_the_share_is_an_array_behind_a_cache() {
    let machine = machine("s3-x99-before");
    let path = path(&machine, "/srv/share");
    leads_through(
        &path,
        "
filesystem:/srv/share
cache:bcache0
  block_queue:nvme2n1
  device:nvme2n1
  controller:nvme2
  link:0000:06:00.0
  raid:md0
    block_queue:sda
    device:sda
    sata:ata1
    block_queue:sdb
    device:sdb
    sata:ata2
    block_queue:sdc
    device:sdc
    sata:ata3
  hba:0000:00:1f.2
chipset:0000:00:1f.0
",
    );
    assert_eq!(hop(&path, "device:sda").traffic, Traffic { read: 1.0 / 3.0, write: 0.5 });
    // RAID-5 of three: a byte of data and half a byte of parity; the cache takes each byte of data once more.
    assert_eq!(hop(&path, "hba:0000:00:1f.2").traffic, Traffic { read: 1.0, write: 1.5 });
    assert_eq!(hop(&path, "chipset:0000:00:1f.0").traffic, Traffic { read: 1.0, write: 2.5 });
}

#[test]
fn a_desktop_has_one_drive_at_the_processor_and_one_behind_the_chipset() {
    let machine = machine("healthy-desktop");
    leads_through(
        &path(&machine, "/"),
        "
filesystem:/
block_queue:nvme0n1
device:nvme0n1
controller:nvme0
link:0000:02:00.0
",
    );
    let games = path(&machine, "/games");
    leads_through(
        &games,
        "
filesystem:/games
block_queue:sda
device:sda
sata:ata1
hba:0000:08:00.0
link:0000:08:00.0
chipset:0000:03:00.0
link:0000:03:00.0
",
    );
    assert_eq!(hop(&games, "block_queue:sda").name, "queue of sda, partition sda1");
}

#[test]
fn four_drives_on_a_switch_card_meet_at_its_uplink() {
    let machine = machine("switch-card");
    let flash = path(&machine, "/mnt/flash");
    leads_through(
        &flash,
        "
filesystem:/mnt/flash
raid:md127
  block_queue:nvme0n1
  device:nvme0n1
  controller:nvme0
  link:0000:06:00.0
  block_queue:nvme1n1
  device:nvme1n1
  controller:nvme1
  link:0000:07:00.0
  block_queue:nvme2n1
  device:nvme2n1
  controller:nvme2
  link:0000:08:00.0
  block_queue:nvme3n1
  device:nvme3n1
  controller:nvme3
  link:0000:09:00.0
switch:0000:04:00.0
link:0000:04:00.0
socket:0-0
",
    );
    let quarter = Traffic { read: 0.25, write: 0.5 };
    assert_eq!(hop(&flash, "link:0000:07:00.0").traffic, quarter);
    assert_eq!(hop(&flash, "link:0000:04:00.0").traffic, Traffic { read: 1.0, write: 2.0 });
    assert_eq!(link(&flash, "link:0000:04:00.0").slot.as_deref(), Some("6"));
    let alone = path(&machine, "/dev/nvme0n1");
    let siblings = ["/dev/nvme1n1", "/dev/nvme2n1", "/dev/nvme3n1"];
    assert_eq!(hop(&alone, "switch:0000:04:00.0").shared_with, siblings);
    assert!(hop(&alone, "link:0000:06:00.0").shared_with.is_empty());
}

#[test]
fn half_of_an_array_over_two_sockets_crosses_between_them() {
    let machine = machine("two-socket");
    let data = path(&machine, "/data");
    assert_eq!(data.of_kind(HopKind::Link).count(), 8);
    let sockets: Vec<(&str, f64)> =
        data.of_kind(HopKind::Socket).map(|hop| (hop.id.as_str(), hop.traffic.read)).collect();
    assert_eq!(sockets, [("socket:0-0", 0.5), ("socket:1-0", 0.5)]);
    let HopSpec::Socket(socket) = &hop(&data, "socket:1-0").spec else { panic!("no socket") };
    assert_eq!(socket.distance, 21);
    let platform = socket.platform.as_ref().expect("the processor is known");
    assert_eq!(platform.interconnect.as_ref().map(|interconnect| interconnect.name.as_str()), Some("UPI"));
    let local: Vec<String> = ["/dev/nvme0n1", "/dev/nvme7n1"]
        .iter()
        .flat_map(|target| path(&machine, target).hops)
        .filter(|hop| hop.kind() == HopKind::Socket)
        .map(|hop| hop.id.to_string())
        .collect();
    assert_eq!(local, ["socket:0-0", "socket:1-1"]);
}

#[test]
fn the_ports_of_a_network_card_have_one_link() {
    let machine = machine("two-socket");
    let nic = build::path(&machine, &narrows::path::Target::Nic("ens1f1np1".into())).expect("is there");
    leads_through(
        &nic,
        "
network:ens1f1np1
link:0000:5e:00.0
socket:0-0
",
    );
}

#[test]
fn a_laptop_decrypts_between_file_system_and_volume() {
    let machine = machine("laptop-luks");
    let home = path(&machine, "/home");
    leads_through(
        &home,
        "
filesystem:/home
crypt:dm-3
logical_volume:dm-2
block_queue:nvme0n1
device:nvme0n1
controller:nvme0
link:0000:04:00.0
",
    );
    let HopSpec::Crypt(crypt) = &hop(&home, "crypt:dm-3").spec else { panic!("no crypt") };
    assert_eq!(crypt.cores, 4);
    assert!(crypt.table.missing().is_some(), "the table needs root");
    assert_eq!(
        hop(&home, "device:nvme0n1").shared_with,
        ["/dev/mapper/vg0-root--crypt", "/boot/efi", "/boot"]
    );
}

#[test]
fn six_disks_of_a_nas_meet_at_their_adapter() {
    let machine = machine("nas-raid6");
    let srv = path(&machine, "/srv");
    leads_through(
        &srv,
        "
filesystem:/srv
logical_volume:dm-0
raid:md0
  block_queue:sda
  device:sda
  sas:sda
  block_queue:sdb
  device:sdb
  sas:sdb
  block_queue:sdc
  device:sdc
  sas:sdc
  block_queue:sdd
  device:sdd
  sas:sdd
  block_queue:sde
  device:sde
  sas:sde
  block_queue:sdf
  device:sdf
  sas:sdf
hba:0000:01:00.0
link:0000:01:00.0
",
    );
    // Six disks, two parities: four bytes of data make six on the disks.
    let adapter = hop(&srv, "hba:0000:01:00.0").traffic;
    assert!((adapter.read - 1.0).abs() < 1e-9 && (adapter.write - 1.5).abs() < 1e-9, "{adapter:?}");
}

#[test]
fn a_usb_drive_hangs_on_the_chipsets_controller() {
    let machine = machine("usb-480");
    let drive = path(&machine, "/media/user/T7");
    leads_through(
        &drive,
        "
filesystem:/media/user/T7
block_queue:sdb
device:sdb
usb:1-4
controller:0000:00:14.0
chipset:0000:00:1f.0
",
    );
    let HopSpec::Usb(usb) = &hop(&drive, "usb:1-4").spec else { panic!("no USB") };
    assert_eq!(usb.speed.get().map(|speed| speed.get()), Some(480e6));
    assert_eq!(usb.root_hub_speed.get().map(|speed| speed.get()), Some(10e9));
}

#[test]
fn an_nvme_tcp_namespace_leads_to_the_card_below_a_vlan() {
    let machine = machine("nvme-tcp");
    let store = path(&machine, "/mnt/store");
    leads_through(
        &store,
        "
filesystem:/mnt/store
block_queue:nvme0n1
controller:nvme0
remote:10.0.100.2:4420
network:ens3f0
link:0000:41:00.0
",
    );
    let HopSpec::Network(network) = &hop(&store, "network:ens3f0").spec else { panic!("no network") };
    assert_eq!(network.protocol.as_deref(), Some("nvme-tcp"));
    assert_eq!(network.mtu.get().map(|mtu| mtu.get()), Some(1500), "the VLAN's, not the card's 9000");
    assert_eq!(link(&store, "link:0000:41:00.0").slot.as_deref(), Some("3"));
}

#[test]
fn an_nfs_mount_leads_over_a_bond_to_one_card_behind_the_chipset() {
    let machine = machine("nfs-client");
    let home = path(&machine, "/home");
    leads_through(
        &home,
        "
filesystem:/home
remote:10.1.0.5:2049
network:bond0
  network:ens2f0
  network:ens2f1
link:0000:03:00.0
chipset:0000:00:1f.0
",
    );
    let HopSpec::Network(bond) = &hop(&home, "network:bond0").spec else { panic!("no network") };
    assert_eq!((bond.members, bond.speed.get().map(|speed| speed.get())), (2, Some(2e9)));
    assert_eq!(hop(&home, "network:ens2f1").traffic, Traffic::both(0.5));
    assert_eq!(hop(&home, "chipset:0000:00:1f.0").shared_with, ["/dev/sda"]);
}
