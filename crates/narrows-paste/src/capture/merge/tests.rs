use narrows_base::fact::Fact;
use narrows_base::units::{GtPerSec, Lanes};
use narrows_machine::block::{BlockDevice, BlockKind, MdArray};
use narrows_machine::pci::{Buses, PciAddress, PciDevice, PciId};

use super::super::{Lacks, gap_of};
use super::*;

fn address(text: &str) -> PciAddress {
    text.parse().expect("an address")
}

fn part(rank: Rank, devices: Vec<PciDevice>) -> Part {
    let pci = devices.into_iter().map(|device| (device.address, device)).collect();
    Part { kind: Some("test"), rank, machine: Machine { pci, ..Machine::default() }, gaps: Vec::new() }
}

fn ran(at: &str, speed: GtPerSec, width: u8, source: &str) -> PciDevice {
    let mut device = PciDevice { address: address(at), ..PciDevice::default() };
    device.link.current_speed = Fact::known(speed, source);
    device.link.current_width = Fact::known(Lanes::new(width), source);
    device
}

#[test]
fn a_better_source_is_believed_and_fills_nothing_away() {
    let log = ran("01:00.0", GtPerSec::GEN1, 1, "dmesg:1");
    let mut decoded = ran("01:00.0", GtPerSec::GEN4, 4, "lspci:1");
    decoded.link.current_width = Fact::absent("lspci:1");
    let machine = merge(vec![part(Rank::Log, vec![log]), part(Rank::Decoded, vec![decoded])]);
    let device = &machine.pci[&address("01:00.0")];
    assert_eq!(device.link.current_speed, Fact::known(GtPerSec::GEN4, "lspci:1"));
    assert_eq!(device.link.current_width, Fact::known(Lanes::new(1), "dmesg:1"));
    assert_eq!(device.best_link, None);
}

#[test]
fn of_two_states_of_a_link_the_worse_stays_and_the_better_is_remembered_in_any_order() {
    let states = [("a:1", GtPerSec::GEN3, 4), ("b:1", GtPerSec::GEN4, 4), ("c:1", GtPerSec::GEN1, 4)];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let parts = order.map(|at| {
            let (source, speed, width) = states[at];
            part(Rank::Decoded, vec![ran("01:00.0", speed, width, source)])
        });
        let machine = merge(parts.to_vec());
        let device = &machine.pci[&address("01:00.0")];
        assert_eq!(device.link.current_speed, Fact::known(GtPerSec::GEN1, "c:1"));
        let best = device.best_link.as_ref().expect("was seen");
        assert_eq!((best.speed, best.source.as_str()), (GtPerSec::GEN4, "b:1"));
    }
}

#[test]
fn cards_of_two_machines_at_one_address_are_not_mixed() {
    let card = |device, speed, source| PciDevice {
        id: Fact::known(PciId { vendor: 0x8086, device }, source),
        ..ran("01:00.0", speed, 4, source)
    };
    let machine = merge(vec![
        part(Rank::Decoded, vec![card(1, GtPerSec::GEN4, "a:1")]),
        part(Rank::Decoded, vec![card(2, GtPerSec::GEN1, "b:1")]),
    ]);
    let device = &machine.pci[&address("01:00.0")];
    assert_eq!(device.link.current_speed, Fact::known(GtPerSec::GEN4, "a:1"));
    assert_eq!(device.best_link, None);
}

#[test]
fn a_bridge_of_one_text_is_the_parent_of_a_function_of_another() {
    let bridge = |at: &str, secondary, subordinate| PciDevice {
        buses: Fact::known(Buses { secondary, subordinate }, "dmesg:1"),
        ..ran(at, GtPerSec::GEN3, 4, "dmesg:1")
    };
    let bridges = vec![bridge("00:01.0", 1, 3), bridge("01:00.0", 2, 2), bridge("02:00.0", 0, 0)];
    let device = ran("02:00.0", GtPerSec::GEN3, 4, "lspci:1");
    let machine = merge(vec![part(Rank::Log, bridges), part(Rank::Decoded, vec![device])]);
    assert_eq!(machine.pci[&address("02:00.0")].parent, Some(address("01:00.0")));
    assert_eq!(machine.pci[&address("01:00.0")].parent, Some(address("00:01.0")));
    assert_eq!(machine.pci[&address("00:01.0")].parent, None);
}

#[test]
fn an_array_gathers_what_each_text_says_of_it() {
    let array = |level: &str, disks: Option<u32>, slaves: &[&str]| {
        let md = MdArray {
            level: if level.is_empty() { Fact::default() } else { Fact::known(level.to_owned(), "x") },
            raid_disks: disks.map_or_else(Fact::default, |disks| Fact::known(disks, "x")),
            ..MdArray::default()
        };
        let device = BlockDevice {
            name: "md0".to_owned(),
            kind: BlockKind::Md(Box::new(md)),
            slaves: slaves.iter().map(|name| (*name).to_owned()).collect(),
            ..BlockDevice::default()
        };
        let block = [("md0".to_owned(), device)].into();
        let machine = Machine { block, ..Machine::default() };
        Part { kind: Some("test"), rank: Rank::Summary, machine, gaps: Vec::new() }
    };
    let machine = merge(vec![array("", Some(3), &["sda"]), array("raid5", None, &["sda", "sdb"])]);
    let device = &machine.block["md0"];
    assert_eq!(device.slaves, ["sda", "sdb"]);
    let BlockKind::Md(md) = &device.kind else { panic!("{:?}", device.kind) };
    assert_eq!((md.level.get().as_deref(), md.raid_disks.get()), (Some("raid5"), Some(3)));
}

#[test]
fn a_gap_that_another_text_fills_is_none() {
    let gap = |at: &str| Gap {
        what: format!("the link registers of {at}"),
        run: "sudo lspci -vvv".to_owned(),
        lacks: Lacks::Link(address(at)),
    };
    let mut device = ran("01:00.0", GtPerSec::GEN3, 4, "x");
    device.link.max_speed = Fact::known(GtPerSec::GEN3, "x");
    device.link.max_width = Fact::known(Lanes::new(4), "x");
    let mut known = part(Rank::Raw, vec![device]);
    known.gaps = vec![gap("0000:01:00.0"), gap("0000:02:00.0")];
    let captured = merge(vec![known]).captured.expect("is a capture");
    assert_eq!(captured.gaps, [gap("0000:02:00.0")]);
}

#[test]
fn a_machine_without_end_ends() {
    let devices = (0..u32::try_from(MOST_OF_A_KIND).expect("fits") + 10).map(|domain| PciDevice {
        address: PciAddress { domain, ..PciAddress::default() },
        ..PciDevice::default()
    });
    let machine = merge(vec![part(Rank::Log, devices.collect())]);
    assert_eq!(machine.pci.len(), MOST_OF_A_KIND);
}

fn bridge(at: PciAddress, generation: GtPerSec) -> PciDevice {
    let mut port = ran("00:00.0", generation, 4, "lspci:1");
    port.address = at;
    port.class = Fact::known(0x06_0400, "lspci:1");
    port
}

#[test]
fn a_function_is_below_the_only_port_whose_link_is_in_the_same_state() {
    let (one, two) = (address("00:01.2"), address("00:03.1"));
    let pair = |ports: Vec<PciDevice>| {
        let mut devices = ports;
        devices.push(ran("01:00.0", GtPerSec::GEN4, 4, "lspci:9"));
        merge(vec![part(Rank::Decoded, devices)]).pci[&address("01:00.0")].parent
    };
    assert_eq!(pair(vec![bridge(one, GtPerSec::GEN4), bridge(two, GtPerSec::GEN3)]), Some(one));
    assert_eq!(
        pair(vec![bridge(one, GtPerSec::GEN4), bridge(two, GtPerSec::GEN4)]),
        None,
        "either could be it"
    );
    assert_eq!(pair(vec![bridge(one, GtPerSec::GEN3)]), None);
}

#[test]
fn a_bridge_without_its_first_line_is_the_one_with_the_same_buses() {
    let of = |at: PciAddress, generation, secondary| {
        let mut port = bridge(at, generation);
        port.buses = Fact::known(Buses { secondary, subordinate: 0xc5 }, "lspci:9");
        port.link.max_speed = Fact::known(GtPerSec::GEN4, "lspci:9");
        port
    };
    let named = of(address("14:04.0"), GtPerSec::GEN3, 0x30);
    let joined = |secondary| {
        let headless = of(PciAddress::unnamed(1), GtPerSec::GEN4, secondary);
        merge(vec![part(Rank::Decoded, vec![named.clone()]), part(Rank::Decoded, vec![headless])]).pci
    };
    let one = joined(0x30);
    assert_eq!(one.len(), 1);
    let best = one[&address("14:04.0")].best_link.as_ref().expect("the other state");
    assert_eq!(best.speed, GtPerSec::GEN4);
    assert_eq!(joined(0x31).len(), 2);
}

#[test]
fn counted_gaps_shrink_by_what_another_text_tells() {
    let bare = |at: &str| PciDevice { address: address(at), ..PciDevice::default() };
    let functions = vec![address("01:00.0"), address("02:00.0")];
    let mut poor = part(Rank::Decoded, vec![bare("01:00.0"), bare("02:00.0"), bare("00:00.0")]);
    poor.gaps = [gap_of(Lacks::Links, functions.clone(), 3), gap_of(Lacks::Numbers, functions, 3)]
        .into_iter()
        .flatten()
        .collect();
    let known = |at: &str| PciDevice {
        id: Fact::known(PciId { vendor: 0x144d, device: 0xa808 }, "sys:1"),
        ..ran(at, GtPerSec::GEN3, 4, "sys:1")
    };
    let left = |devices: Vec<PciDevice>| {
        let captured = merge(vec![poor.clone(), part(Rank::Raw, devices)]).captured.expect("is a capture");
        captured.gaps.into_iter().map(|gap| gap.what).collect::<Vec<_>>()
    };
    assert_eq!(
        left(vec![known("01:00.0")]),
        ["the link registers of 1 of 3 PCI functions", "vendor and device numbers of 1 of 3 PCI functions"]
    );
    assert_eq!(left(vec![known("01:00.0"), known("02:00.0")]), [""; 0]);
}

#[test]
fn a_log_asks_for_the_present_until_another_text_tells_it() {
    let logged = |name: &'static str| {
        let mut merger = Merger::default();
        let mut log = part(Rank::Log, vec![ran("01:00.0", GtPerSec::GEN1, 1, "dmesg.txt:1")]);
        log.kind = Some("dmesg");
        log.gaps = vec![Gap { lacks: Lacks::PresentLinks, ..Gap::default() }];
        merger.add("dmesg.txt", log);
        merger.add("lspci.txt", part(Rank::Decoded, vec![ran(name, GtPerSec::GEN3, 4, "lspci.txt:1")]));
        merger.finish().captured.expect("is a capture").gaps.len()
    };
    assert_eq!((logged("01:00.0"), logged("02:00.0")), (0, 1));
}
