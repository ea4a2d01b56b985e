//! Links, their slots, and what is no wire; the way between sockets.

use super::*;
use narrows_machine::captured::Captured;

#[test]
fn a_drive_behind_a_switch_crosses_two_links() {
    let machine = behind_a_switch();
    let switch = Switch { name: "PEX 8748".into(), ids: vec!["10b5:8748".into()], ..Switch::default() };
    let catalog = Catalog { switches: vec![switch].into(), ..Catalog::default() };
    let path = one(catalogued(&machine, &catalog), &to("nvme0n1"), None).expect("is there");
    assert_eq!(
        ids(&path),
        [
            "application:program",
            "block_queue:nvme0n1",
            "device:nvme0n1",
            "controller:nvme0",
            "link:0000:03:00.0",
            "switch:0000:01:00.0",
            "link:0000:01:00.0",
            "memory:ram",
        ]
    );
    assert_eq!(link(&path, "link:0000:03:00.0").port.as_ref().map(|port| port.address), Some(at("02:08.0")));
    assert_eq!(link(&path, "link:0000:01:00.0").port.as_ref().map(|port| port.address), Some(at("00:03.0")));
    assert_eq!(hop(&path, "link:0000:03:00.0").name, "PCIe 3.0 x4 link of 0000:03:00.0");
    let HopSpec::Switch(switch) = &hop(&path, "switch:0000:01:00.0").spec else { panic!("no switch") };
    assert_eq!(switch.name, "PEX 8748 switch at 0000:01:00.0");
    assert_eq!(switch.behind, [at("03:00.0"), at("04:00.0")]);
}

#[test]
fn siblings_behind_a_switch_share_it_and_a_file_system_is_no_rival_of_its_disk() {
    let mut machine = behind_a_switch();
    machine.mounts.push(mount("/", "ext4", &["nvme0n1"]));
    machine.mounts.push(mount("/other", "ext4", &["nvme1n1"]));
    let path = path(&machine, &to("nvme0n1")).expect("is there");
    assert_eq!(hop(&path, "link:0000:03:00.0").shared_with, Vec::<String>::new());
    for shared in ["switch:0000:01:00.0", "link:0000:01:00.0"] {
        assert_eq!(hop(&path, shared).shared_with, ["/dev/nvme1n1"], "{shared}");
    }
    assert!(path.hops.last().is_some_and(|memory| memory.shared_with.is_empty()));
    let by_address = crate::path::build::path(&machine, &Target::Pci(at("03:00.0"))).expect("is there");
    assert_eq!(hop(&by_address, "device:nvme0n1").shared_with, Vec::<String>::new());
}

#[test]
fn a_slot_is_named_by_firmware_or_board_and_never_by_a_reference_board() {
    let slot =
        BoardSlot { name: "PCIEX16_2".into(), root_ports: vec!["1c.7".into()], ..BoardSlot::default() };
    let boards = vec![Board {
        vendors: vec!["ASUSTeK COMPUTER INC.".into()],
        boards: vec!["X99-A".into()],
        slots: vec![slot.clone()],
        ..Board::default()
    }];
    let of = |machine: &Machine, boards: &[Board]| {
        let catalog = Catalog { boards: boards.to_vec().into(), ..Catalog::default() };
        let path = one(catalogued(machine, &catalog), &to("nvme1n1"), None).expect("is there");
        let link = link(&path, "link:0000:06:00.0").clone();
        (link.slot, link.board_slot)
    };
    let name = |name: &str| Some(name.to_owned());
    let mut machine = x99();
    assert_eq!(of(&machine, &[]), (None, None));
    assert_eq!(of(&machine, &boards), (name("PCIEX16_2"), Some(slot.clone())));
    let claim = |designation: &str, address: &str| Slot {
        designation: designation.to_owned(),
        address: Some(at(address)),
        in_use: Some(true),
        ..Slot::default()
    };
    machine.slots = known(vec![claim("J6B1", "00:1c.7")]);
    assert_eq!(of(&machine, &[]), (None, None));
    // ASUS firmware gives the card's bus with the function of its port.
    machine.slots = known(vec![claim("PCIEX1_1", "05:00.6"), claim("PCIEX16_2", "06:00.7")]);
    assert_eq!(of(&machine, &[]), (name("PCIEX16_2"), None));
    machine.pci.get_mut(&at("06:00.0")).expect("is there").slot = text("8");
    assert_eq!(of(&machine, &boards), (name("PCIEX16_2"), Some(slot)));
    machine.slots = Fact::default();
    assert_eq!(of(&machine, &[]), (name("8"), None));
}

/// A drive in a Thunderbolt enclosure: <https://lore.kernel.org/linux-pci>, "CACK8Z6HLr4tk4UkrzBN7wydDmqk".
#[test]
fn a_tunnel_through_thunderbolt_is_no_wire_but_the_link_in_the_enclosure_is() {
    let mut machine = Machine::default();
    function(&mut machine, "00:07.2", None, "8086:462f", BRIDGE, Some([1, 4, 1, 4]));
    function(&mut machine, "57:00.0", Some("00:07.2"), "8086:15da", BRIDGE, Some([1, 4, 1, 4]));
    function(&mut machine, "58:01.0", Some("57:00.0"), "8086:15da", BRIDGE, Some([3, 4, 3, 4]));
    function(&mut machine, "59:00.0", Some("58:01.0"), "144d:a808", NVME, Some([3, 4, 3, 4]));
    nvme(&mut machine, 0, "59:00.0");
    let path = path(&machine, &to("nvme0n1")).expect("is there");
    assert_eq!(link(&path, "link:0000:59:00.0").not_a_wire, None);
    let tunnel = link(&path, "link:0000:57:00.0").not_a_wire.as_deref().unwrap_or_default();
    assert!(tunnel.contains("Thunderbolt"), "{tunnel}");
    assert_eq!(hop(&path, "link:0000:57:00.0").name, "PCIe link of 0000:57:00.0");
}

#[test]
fn a_port_faster_than_the_least_link_has_another_way_to_memory() {
    let wire = |gigabits: f64, most: [u8; 4]| {
        let mut machine = Machine::default();
        function(&mut machine, "88:00.0", None, "8086:347a", BRIDGE, Some(most));
        function(&mut machine, "89:00.0", Some("88:00.0"), "8086:9999", 0x02_0000, Some(most));
        let speed = Fact::known(narrows_base::units::BitsPerSec::from_mbit(gigabits * 1000.0), "dmesg.txt:9");
        let nic = narrows_machine::nic::Nic {
            name: "ens4".into(),
            speed,
            pci: Some(at("89:00.0")),
            ..Default::default()
        };
        machine.nics.insert("ens4".into(), nic);
        let path = path(&machine, &Target::Pci(at("89:00.0"))).expect("is there");
        link(&path, "link:0000:89:00.0").not_a_wire.is_none()
    };
    assert!(!wire(25.0, [1, 1, 1, 1]));
    // A slow port, and a fast one in a slow slot.
    assert!(wire(1.0, [1, 1, 1, 1]));
    assert!(wire(10.0, [1, 1, 3, 8]));
}

#[test]
fn ports_inside_an_amd_processor_are_no_wire() {
    let mut machine = Machine::default();
    function(&mut machine, "00:08.1", None, "1022:14dd", BRIDGE, Some([4, 16, 4, 16]));
    function(&mut machine, "09:00.0", Some("00:08.1"), "1022:7901", 0x01_0601, Some([4, 16, 4, 16]));
    let path = path(&machine, &Target::Pci(at("09:00.0"))).expect("is there");
    assert!(link(&path, "link:0000:09:00.0").not_a_wire.is_some());
}

#[test]
fn qemu_makes_up_links_but_keeps_those_of_devices_that_are_passed_through() {
    let mut machine = Machine::default();
    machine.cpus.hypervisor = text("QEMU");
    let least = Some([1, 1, 1, 1]);
    for (port, device, called, link) in [
        ("00:02.0", "01:00.0", "1b36:0010", least),
        ("00:02.1", "02:00.0", "8086:5845", least),
        ("00:02.2", "03:00.0", "144d:a80a", Some([4, 4, 4, 4])),
        ("00:02.3", "04:00.0", "144d:a80a", None),
    ] {
        function(&mut machine, port, None, "1b36:000c", BRIDGE, Some([4, 4, 4, 4]));
        function(&mut machine, device, Some(port), called, NVME, link);
    }
    machine.pci.get_mut(&at("00:02.3")).expect("is there").link = LinkEnd::default();
    let wire = |address: &str| {
        let path = path(&machine, &Target::Pci(at(address))).expect("is there");
        path.of_kind(HopKind::Link)
            .map(|hop| match &hop.spec {
                HopSpec::Link(link) => link.not_a_wire.clone(),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(wire("01:00.0"), [Some("emulated by QEMU".to_owned())]);
    assert_eq!(wire("02:00.0"), [Some("emulated by QEMU".to_owned())]);
    assert_eq!(wire("03:00.0"), [None]);
    assert!(wire("04:00.0").is_empty());
}

#[test]
fn a_function_on_the_root_bus_has_a_wire_only_in_a_virtual_machine() {
    let mut machine = Machine::default();
    function(&mut machine, "00:05.0", None, "144d:a80a", NVME, Some([4, 4, 4, 4]));
    nvme(&mut machine, 0, "00:05.0");
    let wire = |machine: &Machine| {
        let path = path(machine, &to("nvme0n1")).expect("is there");
        link(&path, "link:0000:00:05.0").not_a_wire.clone()
    };
    assert!(wire(&machine).is_some());
    machine.cpus.hypervisor = text("VMware");
    assert_eq!(wire(&machine), None);
}

fn with_nodes(machine: &mut Machine, places: &[(&str, u32)]) {
    let node =
        |id, distances: [u32; 2]| NumaNode { id, distances: distances.to_vec(), ..NumaNode::default() };
    machine.cpus.nodes = vec![node(0, [10, 32]), node(1, [32, 10])];
    for (address, node) in places {
        machine.pci.get_mut(&at(address)).expect("is there").numa_node = known(*node);
    }
}

#[test]
fn the_socket_is_crossed_by_a_reader_on_another_node() {
    let mut machine = behind_a_switch();
    // The firmware names the node of the root port only.
    with_nodes(&mut machine, &[("00:03.0", 1)]);
    let local = path(&machine, &to("nvme0n1")).expect("is there");
    assert_eq!(hop(&local, "socket:1-1").name, "NUMA node 1, local");
    let remote = one(catalogued(&machine, &Catalog::default()), &to("nvme0n1"), Some(0)).expect("is there");
    let HopSpec::Socket(socket) = &hop(&remote, "socket:1-0").spec else { panic!("no socket") };
    assert_eq!((socket.device_node, socket.reader_node, socket.distance), (1, 0, 32));
    machine.cpus.nodes.truncate(1);
    assert_eq!(path(&machine, &to("nvme0n1")).expect("is there").of_kind(HopKind::Socket).count(), 0);
}

fn captured(mut machine: Machine) -> Machine {
    machine.captured = Some(Captured::default());
    machine
}

fn targets(machine: &Machine) -> Vec<String> {
    all(machine).into_iter().map(|path| path.target).collect()
}

/// A drive behind a root port, a card with two ports and one with picture and sound, and a controller of the chipset.
fn only_functions() -> Machine {
    let mut machine = Machine::default();
    for (port, card) in [("00:01.0", "01:00.0"), ("00:02.0", "02:00.0"), ("00:03.0", "03:00.0")] {
        function(&mut machine, port, None, "8086:2f08", BRIDGE, Some([3, 8, 3, 16]));
        function(&mut machine, card, Some(port), "144d:a808", NVME, Some([3, 4, 3, 4]));
    }
    for (address, port, class) in [
        ("02:00.0", "00:02.0", 0x02_0000),
        ("02:00.1", "00:02.0", 0x02_0000),
        ("03:00.0", "00:03.0", 0x03_0000),
        ("03:00.1", "00:03.0", 0x04_0300),
    ] {
        function(&mut machine, address, Some(port), "8086:1572", class, Some([3, 8, 3, 8]));
    }
    function(&mut machine, "00:1f.2", None, "8086:8d02", 0x01_0601, None);
    machine
}

#[test]
fn without_disks_an_endpoint_stands_for_what_hangs_on_it() {
    let machine = captured(only_functions());
    assert_eq!(targets(&machine), ["0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "0000:03:00.1"]);
    let path = path(&machine, &Target::Pci(at("01:00.0"))).expect("is there");
    let link = link(&path, "link:0000:01:00.0");
    assert_eq!(link.port.as_ref().map(|port| port.address), Some(at("00:01.0")));
    assert_eq!(hop(&path, "controller:0000:01:00.0").name, "NVMe controller at 0000:01:00.0");
}

#[test]
fn beside_disks_only_controllers_without_any_stand_for_themselves() {
    let mut machine = captured(only_functions());
    nvme(&mut machine, 0, "01:00.0");
    assert_eq!(targets(&machine), ["/dev/nvme0n1", "0000:02:00.0"]);
}

/// A machine with a drive, and a card of this link of which the interface is known.
fn with_interface(link: [u8; 4]) -> Machine {
    let mut machine = Machine::default();
    for (port, card) in [("00:01.0", "01:00.0"), ("00:02.0", "02:00.0")] {
        function(&mut machine, port, None, "8086:2f08", BRIDGE, Some([3, 8, 3, 16]));
        function(&mut machine, card, Some(port), "144d:a808", NVME, Some([3, 4, 3, 4]));
    }
    function(&mut machine, "02:00.0", Some("00:02.0"), "8086:10fb", 0x02_0000, Some(link));
    nvme(&mut machine, 0, "01:00.0");
    let nic = narrows_machine::nic::Nic {
        name: "eth0".to_owned(),
        pci: Some(at("02:00.0")),
        ..narrows_machine::nic::Nic::default()
    };
    machine.nics.insert("eth0".to_owned(), nic);
    captured(machine)
}

#[test]
fn a_network_card_stays_when_its_interface_is_named() {
    // X520: x1 of x8 at 5 GT/s. A gigabit card at its best is nothing to speak of.
    assert_eq!(targets(&with_interface([2, 1, 2, 8])), ["/dev/nvme0n1", "0000:02:00.0"]);
    assert_eq!(targets(&with_interface([1, 1, 1, 1])), ["/dev/nvme0n1"]);
    assert_eq!(targets(&with_interface([1, 1, 2, 1])), ["/dev/nvme0n1", "0000:02:00.0"]);
}

#[test]
fn a_port_that_logs_errors_is_shown_though_nothing_is_known_below_it() {
    let mut machine = with_interface([1, 1, 1, 1]);
    function(&mut machine, "00:03.0", None, "8086:2f08", BRIDGE, Some([1, 1, 3, 4]));
    assert_eq!(targets(&machine), ["/dev/nvme0n1"]);
    machine.log.push(narrows_machine::log::LogEvent {
        pci: Some(at("00:03.0")),
        device: None,
        kind: narrows_machine::log::LogKind::AerMessage(narrows_machine::log::AerSeverity::Corrected),
        count: 48,
        source: narrows_base::fact::Source::new("dmesg.txt:1"),
    });
    assert_eq!(targets(&machine), ["/dev/nvme0n1", "0000:00:03.0"]);
}

#[test]
fn a_machine_that_answers_itself_has_the_paths_that_it_names() {
    assert_eq!(targets(&only_functions()), [""; 0]);
}

#[test]
fn a_link_whose_port_no_text_names_is_a_link_all_the_same() {
    let mut machine = Machine::default();
    function(&mut machine, "01:00.0", None, "144d:a808", NVME, Some([3, 4, 3, 4]));
    let of = |machine: &Machine| {
        let path = path(machine, &Target::Pci(at("01:00.0"))).expect("is there");
        link(&path, "link:0000:01:00.0").not_a_wire.clone()
    };
    assert!(of(&machine).is_some());
    assert_eq!(of(&captured(machine)), None);
}

#[test]
fn file_systems_without_a_number_are_told_apart_by_what_is_mounted() {
    let mut machine = captured(Machine::default());
    nvme(&mut machine, 0, "01:00.0");
    for (point, source) in [("/", "/dev/nvme0n1p1"), ("/srv", "/dev/nvme0n1p2"), ("/again", "/dev/nvme0n1p1")]
    {
        let source = source.to_owned();
        machine.mounts.push(Mount { number: (0, 0), source, ..mount(point, "ext4", &["nvme0n1"]) });
    }
    assert_eq!(targets(&machine), ["/dev/nvme0n1", "/", "/srv"]);
}
