use super::*;
use narrows_machine::captured::Captured;

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
