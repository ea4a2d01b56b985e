//! What wires of named cards need of a link, by rates of the standards and arithmetic by hand.

use narrows_base::fact::Fact;
use narrows_base::units::BitsPerSec;
use narrows_machine::pci::{PciAddress, PciDevice};
use proptest::prelude::*;

use super::*;
use crate::testing::{ETHERNET, Sketch, at, function, link_of};
use crate::{Code, Severity};

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

// Names of pci-ids.ucw.cz of 22 August 2026, of devices and of cards; the rates are by hand.
const CONNECTX_2: &str = "MT25408A0-FCC-QI ConnectX, Dual Port 40Gb/s InfiniBand / 10GigE Adapter IC with PCIe 2.0 x8 5.0GT/s Interface";

#[test]
fn names_of_network_cards_state_their_line_rate() {
    for (name, megabits) in [
        ("Broadcom NetXtreme BCM5720 2-port Gigabit Ethernet PCIe", Some(1000.0)),
        ("Intel 82599ES 10-Gigabit SFI/SFP+ Network Connection", Some(10_000.0)),
        ("Intel Ethernet Controller X710 for 10GbE SFP+", Some(10_000.0)),
        ("Realtek RTL8125 2.5GbE Controller", Some(2500.0)),
        ("Intel Ethernet Controller 10G X550T", Some(10_000.0)),
        ("Broadcom BCM57414 NetXtreme-E 10Gb/25Gb RDMA", Some(25_000.0)),
        ("Qualcomm Atheros AR8132 Fast Ethernet", Some(100.0)),
        ("MT26478 [ConnectX EN 40GigE, PCIe 2.0 5GT/s]", Some(40_000.0)),
        ("ConnectX-5 EN network interface card, 10/25GbE dual-port SFP28, PCIe3.0 x8", Some(25_000.0)),
        ("Mellanox MT27800 Family [ConnectX-5]", None),
        ("Broadcom BCM4318 [AirForce One 54g] 802.11g Wireless LAN Controller", None),
    ] {
        assert_eq!(ethernet_named(name).or_else(|| plain_ethernet_named(name)), megabits, "{name}");
    }
}

#[test]
fn names_of_infiniband_adapters_state_their_generation() {
    // 8b/10b leaves 32 of 40 Gbit/s, 64b/66b 54.5 of 56.25.
    for (name, gigabits) in [
        ("MT26428 [ConnectX VPI PCIe 2.0 5GT/s - IB QDR / 10GigE]", Some(32.0)),
        ("MT26418 [ConnectX VPI PCIe 2.0 5GT/s - IB DDR / 10GigE]", Some(16.0)),
        (CONNECTX_2, Some(32.0)),
        ("IBA7322 QDR InfiniBand HCA", Some(32.0)),
        ("InfiniBand FDR/EN 10/40Gb Dual Port 544FLR-QSFP Adapter (Rev Cx)", Some(54.55)),
        ("ConnectX-4 VPI IB EDR/100 GbE Dual Port QSFP28 Adapter", Some(100.0)),
        ("Omni-Path HFI Silicon 100 Series [discrete]", Some(100.0)),
        // A generation alone may be one of memory, and a family says none.
        ("Acme DDR controller", None),
        ("MT25204 [InfiniHost III Lx HCA]", None),
        ("MT27600 [Connect-IB]", None),
        ("MT27500 Family [ConnectX-3]", None),
    ] {
        let rate = gigabits.map(|rate: f64| BytesPerSec::new(rate * 1e9 / 8.0));
        assert_eq!(infiniband_named(name), rate, "{name}");
    }
}

#[test]
fn names_of_fibre_channel_adapters_state_their_generations() {
    for (name, rates) in [
        ("QLogic Corp. ISP2432-based 4Gb Fibre Channel to PCI Express HBA", Some((400, 400))),
        ("QLogic Corp. ISP2532-based 8Gb Fibre Channel to PCI Express HBA", Some((800, 800))),
        ("QLogic Corp. ISP2722-based 16/32Gb Fibre Channel to PCIe Adapter", Some((1600, 3200))),
        ("QLogic Corp. ISP2812-based 64/32G Fibre Channel to PCIe Controller", Some((3200, 6400))),
        ("Emulex LPe15000/LPe16000 Series 8Gb/16Gb Fibre Channel Adapter", Some((800, 1600))),
        ("Emulex LPe32000-M2 1-Port 32Gb Fibre Channel Adapter", Some((3200, 3200))),
        ("LightPulse 8Gb/s PCIe Shared I/O Fibre Channel Adapter", Some((800, 800))),
        ("Brocade 425/825/42B/82B 4Gbps/8Gbps PCIe dual port FC HBA", Some((400, 800))),
        ("Brocade 1867/1869 16Gbps FC HBA", Some((1600, 1600))),
        ("ATTO Celerity FC 16/32Gb/s Gen 6 Fibre Channel HBA", Some((1600, 3200))),
        ("SN1610Q - 1P Enhanced 32GFC Single Port Fibre Channel Host Bus Adapter", Some((3200, 3200))),
        ("Huawei Hi1822 Family (2*32G FC)", Some((3200, 3200))),
        ("Emulex Saturn-X: LightPulse Fibre Channel Host Adapter", None),
        ("QLA2100 64-bit Fibre Channel Adapter", None),
        ("8200 Series 10GbE Converged Network Adapter (FCoE)", None),
    ] {
        let rate = |megabytes: i32| BytesPerSec::new(f64::from(megabytes) * 1e6);
        let rates = rates.map(|(least, most)| Wires { least: rate(least), most: rate(most) });
        assert_eq!(fibre_channel_named(name), rates, "{name}");
    }
}

#[test]
fn names_count_their_ports() {
    for (name, count) in [
        (CONNECTX_2, Some(2)),
        ("NetXtreme BCM5720 2-port Gigabit Ethernet PCIe", Some(2)),
        ("QLE2694 Quad Port 16Gb Fibre Channel to PCIe Adapter", Some(4)),
        ("415/815/41B/81B 4Gbps/8Gbps PCIe single port FC HBA", Some(1)),
        ("MT27500 Family [ConnectX-3]", None),
        ("ISP2532-based 8Gb Fibre Channel to PCI Express HBA", None),
    ] {
        assert_eq!(ports_named(name), count, "{name}");
    }
}

proptest! {
    #[test]
    fn no_name_upsets_the_readers(name in "(\\PC|[0-9]{1,3}G(b|bps|FC)?/|FC |IB |s ){0,12}") {
        let _ = (infiniband_named(&name), fibre_channel_named(&name), ethernet_named(&name), plain_ethernet_named(&name));
        let _ = ports_named(&name);
    }
}
