//! What wires of named cards need of a link, by rates of the standards and arithmetic by hand.

use crate::testing::{ETHERNET, Sketch, at, function, link_of};
use crate::{Code, Severity};
use narrows_base::fact::Fact;
use narrows_base::units::BitsPerSec;
use narrows_machine::pci::{PciAddress, PciDevice};

const FIBRE_CHANNEL: u32 = 0x0c_0400;
const INFINIBAND: u32 = 0x02_0700;

/// What is said of a card whose slot offers less than it could use: this many functions of a class, told of as `tell` does,
/// on a link of this generation and width in a slot of the same, of 3.0 x8 that they can do.
fn said(
    class: u32,
    functions: u8,
    runs: (u8, u8),
    tell: impl Fn(&mut PciDevice),
) -> Option<(Severity, String)> {
    let path = Sketch::of("0000:02:00.0").link(link_of(class, runs, (3, 8), runs)).memory().on(|machine| {
        for number in 0..functions {
            let address = PciAddress { function: number, ..at(2) };
            let mut port = function(address, class, (3, 8));
            tell(&mut port);
            machine.pci.insert(address, port);
        }
    });
    path.finding(Code::SlotLimited).map(|finding| (finding.severity, finding.summary))
}

fn named(class: u32, functions: u8, runs: (u8, u8), name: &str) -> Option<Severity> {
    let tell = |port: &mut PciDevice| port.name = Fact::known(name.to_owned(), "lspci.txt:1");
    said(class, functions, runs, tell).map(|(severity, _)| severity)
}

#[test]
fn a_fibre_channel_adapter_needs_what_its_ports_carry() {
    // 2.5 GT/s x8 carries 1.68 GB/s, 5 GT/s x4 as much, and 5 GT/s x1 0.42 GB/s.
    let old = "QLogic Corp. ISP2532-based 8Gb Fibre Channel to PCI Express HBA";
    assert_eq!(named(FIBRE_CHANNEL, 2, (1, 8), old), Some(Severity::Info));
    assert_eq!(named(FIBRE_CHANNEL, 2, (2, 1), old), Some(Severity::Limit));
    assert_eq!(named(FIBRE_CHANNEL, 4, (1, 8), old), Some(Severity::Limit));
    // Two ports of one function.
    let brocade = "Brocade 804 8Gbps dual port FC HBA";
    assert_eq!(named(FIBRE_CHANNEL, 1, (1, 4), brocade), Some(Severity::Limit));
    assert_eq!(named(FIBRE_CHANNEL, 1, (1, 8), brocade), Some(Severity::Info));
}

#[test]
fn a_name_of_cards_of_two_rates_leaves_open_what_lies_between() {
    let name = "QLogic Corp. ISP2722-based 16/32Gb Fibre Channel to PCIe Adapter";
    // 1.6 to 3.2 GB/s: not more than 8 GT/s x4 carries, more than 5 GT/s x1, and one or the other at 5 GT/s x4.
    assert_eq!(named(FIBRE_CHANNEL, 1, (3, 4), name), Some(Severity::Info));
    assert_eq!(named(FIBRE_CHANNEL, 1, (2, 1), name), Some(Severity::Limit));
    let tell = |board: Option<&'static str>| {
        move |port: &mut PciDevice| {
            port.name = Fact::known(name.to_owned(), "lspci.txt:1");
            port.board =
                board.map_or_else(Fact::default, |board| Fact::known(board.to_owned(), "lspci.txt:2"));
        }
    };
    let (severity, summary) =
        said(FIBRE_CHANNEL, 1, (2, 4), tell(None)).expect("a quarter of what it can do");
    assert_eq!(severity, Severity::Info);
    assert!(summary.contains("what its wires carry is not known"), "{summary}");
    // The maker of the card knows which it is.
    let of = |board| said(FIBRE_CHANNEL, 1, (2, 4), tell(Some(board)));
    let (severity, summary) = of("QLE2690 Single Port 16Gb Fibre Channel to PCIe Adapter").expect("less");
    assert!(severity == Severity::Info && summary.contains("needs no more"), "{summary}");
    let slow = of("QLE2740 Single Port 32Gb Fibre Channel to PCIe Adapter").map(|(severity, _)| severity);
    assert_eq!(slow, Some(Severity::Limit));
}

#[test]
fn the_wire_of_a_fibre_channel_port_counts_before_its_name() {
    let severity = |gigabits: Option<f64>| {
        let tell = |port: &mut PciDevice| {
            port.name = Fact::known("ISP2031 16Gb Fibre Channel".to_owned(), "lspci.txt:1");
            port.wire = gigabits
                .map_or_else(Fact::default, |rate| Fact::known(BitsPerSec::new(rate * 0.8e9), "dmesg.txt:1"));
        };
        said(FIBRE_CHANNEL, 1, (2, 2), tell).map(|(severity, _)| severity)
    };
    // 5 GT/s x2 carries 0.84 GB/s.
    assert_eq!(severity(None), Some(Severity::Limit));
    assert_eq!(severity(Some(8.0)), Some(Severity::Info));
}

#[test]
fn an_infiniband_adapter_needs_what_is_left_after_the_line_code() {
    // QDR: 40 Gbit/s on the wire, 4 GB/s after 8b/10b. 8 GT/s x4 carries 3.59 GB/s, 5 GT/s x8 3.36, 8 GT/s x1 0.9.
    let name = "Mellanox Technologies MT26428 [ConnectX VPI PCIe 2.0 5GT/s - IB QDR / 10GigE]";
    assert_eq!(named(INFINIBAND, 1, (3, 4), name), Some(Severity::Limit));
    let slow = "Mellanox Technologies MT26418 [ConnectX VPI PCIe 2.0 5GT/s - IB DDR / 10GigE]";
    assert_eq!(named(INFINIBAND, 1, (3, 4), slow), Some(Severity::Info));
    // A family of 10 to 40 Gbit/s says none, but that 10 are more than one lane carries.
    let family = "Mellanox Technologies MT27500 Family [ConnectX-3]";
    assert_eq!(named(ETHERNET, 1, (3, 4), family), Some(Severity::Info));
    assert_eq!(named(ETHERNET, 1, (3, 1), family), Some(Severity::Limit));
}
