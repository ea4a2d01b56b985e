//! A drive in a slot that the firmware's default gives one lane, before and after the option is changed: the standing
//! case of an ASUS X99 board with slot PCIEX16_2 (link states as `lspci -vv` printed them; the option's text is that of
//! the board's manual).

#![expect(clippy::expect_used, reason = "a test may panic")]

use narrows::catalog::{BoardSlot, Chipset, SlotOption};
use narrows::ceiling::Direction;
use narrows::machine::Machine;
use narrows::machine::fact::Fact;
use narrows::machine::pci::{LinkEnd, PciAddress, PciDevice};
use narrows::path::{DeviceHop, Hop, HopId, HopSpec, LinkHop, Path, Target, Traffic, UplinkHop};
use narrows::units::{GtPerSec, Lanes, human};
use narrows::verdict::{Code, Severity, Subject, Verdict, judge};

fn end(address: &str, class: u32, current: (GtPerSec, u8), most: (GtPerSec, u8)) -> PciDevice {
    let file = |name: &str| format!("/sys/bus/pci/devices/{address}/{name}");
    PciDevice {
        address: address.parse().expect("an address"),
        class: Fact::known(class, file("class")),
        link: LinkEnd {
            current_speed: Fact::known(current.0, file("current_link_speed")),
            max_speed: Fact::known(most.0, file("max_link_speed")),
            current_width: Fact::known(Lanes::new(current.1), file("current_link_width")),
            max_width: Fact::known(Lanes::new(most.1), file("max_link_width")),
            ..LinkEnd::default()
        },
        power_state: Fact::known("D0".to_owned(), file("power_state")),
        ..PciDevice::default()
    }
}

fn slot() -> BoardSlot {
    BoardSlot {
        name: "PCIEX16_2".to_owned(),
        connector: 16,
        lanes: 4,
        generation: 2,
        attachment: "chipset".to_owned(),
        root_ports: vec!["1c.7".to_owned(), "1c.4".to_owned()],
        shares: Some("PCIEX1_1 and USB3_E56".to_owned()),
        option: Some(SlotOption {
            menu: "Advanced\\Onboard Devices Configuration: PCI-EX16_2 Slot (Black) Bandwidth".to_owned(),
            value: "X4 Mode".to_owned(),
            lanes: 4,
            default_lanes: 1,
            cost: "disables PCIEX1_1 and USB3_E56".to_owned(),
            ..SlotOption::default()
        }),
        ..BoardSlot::default()
    }
}

/// The path through a slot that offers this many lanes of Gen2 to a Gen3 x4 drive.
fn verdict(lanes: u8) -> Verdict {
    let now = (GtPerSec::GEN2, lanes);
    let link = LinkHop {
        device: end("0000:02:00.0", 0x01_0802, now, (GtPerSec::GEN3, 4)),
        port: Some(end("0000:00:1c.7", 0x06_0400, now, now)),
        slot: Some("PCIEX16_2".to_owned()),
        board_slot: Some(slot()),
        ..LinkHop::default()
    };
    let chipset = Chipset {
        name: "Intel X99".to_owned(),
        uplink: "DMI 2.0".to_owned(),
        generation: 2,
        lanes: 4,
        max_payload: 128,
        verified: true,
        ..Chipset::default()
    };
    let uplink = UplinkHop {
        name: "Intel X99 chipset, DMI 2.0".to_owned(),
        address: "0000:00:1f.0".parse().expect("an address"),
        chipset: Some(chipset),
        behind: vec![PciAddress { bus: 2, ..PciAddress::default() }],
    };
    let device = DeviceHop { block: "nvme0n1".to_owned(), ..DeviceHop::default() };
    let specs = [
        ("application", HopSpec::Application),
        ("nvme0n1", HopSpec::Device(device)),
        ("0000:02:00.0", HopSpec::Link(Box::new(link))),
        ("Intel X99 chipset, DMI 2.0", HopSpec::Chipset(uplink)),
        ("memory", HopSpec::Memory(Fact::absent("/proc/meminfo"))),
    ];
    let mut above = None;
    let hops: Vec<Hop> = specs
        .into_iter()
        .map(|(name, spec)| {
            let id = HopId::new(spec.kind(), name);
            Hop {
                id: id.clone(),
                name: name.to_owned(),
                spec,
                traffic: Traffic::ONE,
                depth: 0,
                above: above.replace(id),
                against: narrows::path::Traffic::NONE,
                below: Vec::new(),
                shared_with: Vec::new(),
            }
        })
        .collect();
    let path = Path { target: "/dev/nvme0n1".to_owned(), asked: Target::Block("nvme0n1".to_owned()), hops };
    judge(&Machine::default(), &[Subject::of(path)])
}

#[test]
fn in_x1_mode_the_width_is_the_limit_and_the_firmware_option_the_advice() {
    let verdict = verdict(1);
    let path = &verdict.paths[0];
    assert_eq!(path.limiting[&Direction::Read].as_str(), "link:0000:02:00.0");
    assert_eq!(path.next[&Direction::Read].as_str(), "chipset:Intel X99 chipset, DMI 2.0");
    // hdparm read 373.6 MiB/s = 391.7 MB/s; payloads of 128 bytes leave 420 MB/s of 500.
    assert!(path.sentence.contains("420 MB/s usable"), "{}", path.sentence);
    let finding = verdict.findings.iter().find(|finding| finding.code == Code::LinkWidthDegraded);
    let finding = finding.expect("the option gives four lanes");
    assert_eq!(finding.severity, Severity::Fault);
    let advice = &finding.advice[0];
    assert!(advice.action.contains("PCI-EX16_2 Slot (Black) Bandwidth") && advice.action.contains("X4 Mode"));
    // Slot and DMI 2.0 carry 1680 MB/s then.
    assert_eq!(advice.gain_bytes_per_second.map(human::rate).as_deref(), Some("1.26 GB/s"));
    assert_eq!(
        path.sentence,
        "Reads of /dev/nvme0n1 are limited, as far as is known, by the PCIe link in slot PCIEX16_2: it runs x1 at \
         5 GT/s, 420 MB/s usable; the device can use x4 at 8 GT/s (3.59 GB/s). What nvme0n1 can do is not known, so it \
         may be less. Behind it comes the uplink of the Intel X99 chipset, DMI 2.0, 1.68 GB/s."
    );
}

#[test]
fn in_x4_mode_the_chipset_uplink_comes_next_and_nothing_is_a_fault() {
    let verdict = verdict(4);
    let path = &verdict.paths[0];
    assert_eq!(path.limiting[&Direction::Read].as_str(), "link:0000:02:00.0");
    assert_eq!(path.next[&Direction::Read].as_str(), "chipset:Intel X99 chipset, DMI 2.0");
    assert!(
        verdict.findings.iter().all(|finding| finding.severity != Severity::Fault),
        "{:?}",
        verdict.findings
    );
    let slot =
        verdict.findings.iter().find(|finding| finding.code == Code::SlotLimited).expect("Gen2 of Gen3");
    assert_eq!(slot.severity, Severity::Limit);
    // A faster slot behind the same chipset brings nothing, so no gain is promised.
    assert_eq!(slot.advice[0].gain_bytes_per_second, None);
}

#[test]
fn the_same_input_gives_the_same_verdict() {
    assert_eq!(format!("{:?}", verdict(1)), format!("{:?}", verdict(1)));
}
