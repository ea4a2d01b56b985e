//! PCI functions: bridges that have an address, and devices.

use std::collections::BTreeMap;

use narrows_base::fact::{Fact, Source};
use narrows_base::units::{GtPerSec, Lanes};
use narrows_machine::pci::{Buses, LinkEnd, PciAddress, PciDevice, PciId};

use super::object::Object;
use super::{Reading, parse_bitmap};
use crate::capture::lspci::{full_class, half_id, hex_byte, pci_id};
use crate::capture::{Lacks, Part, gap};

/// More functions than any machine has.
const MOST: usize = 8192;
/// The most processors that are kept as next to functions, over all of them: 1024 functions with 1024 each.
const MOST_LOCAL: usize = 1 << 20;
/// Links that are named one by one.
const MOST_NAMED: usize = 8;

/// Puts down every function; where each object is.
pub(super) fn fill_pci(reading: &Reading<'_>, part: &mut Part) -> BTreeMap<usize, PciAddress> {
    let mut places = BTreeMap::new();
    let nodes = part.machine.cpus.nodes.len();
    let mut local = 0;
    for (index, object) in reading.topology.objects.iter().enumerate() {
        if places.len() >= MOST {
            break;
        }
        let is_pci = matches!(object.kind(), "PCIDev" | "Bridge");
        let Some(address) = object.attribute("pci_busid").filter(|_| is_pci).and_then(|id| id.parse().ok())
        else {
            continue;
        };
        let parent = reading.ancestors(object).find_map(|(index, _)| places.get(&index)).copied();
        let mut device = device(reading, object, address, parent, nodes);
        local += device.local_cpus.value().map_or(0, Vec::len);
        if local > MOST_LOCAL {
            device.local_cpus = Fact::absent(reading.source(object));
        }
        if matches!(device.link.current_speed, Fact::Garbled { .. }) && part.gaps.len() < MOST_NAMED {
            let what =
                format!("speed and width of the link of {address}, of which hwloc keeps the rate only");
            part.gaps.push(gap(what, "sudo lspci -vvv", Lacks::Link(address)));
        }
        part.machine.pci.entry(address).or_insert(device);
        places.insert(index, address);
    }
    places
}

fn device(
    reading: &Reading<'_>,
    object: &Object,
    address: PciAddress,
    parent: Option<PciAddress>,
    nodes: usize,
) -> PciDevice {
    let (class, id) = object.attribute("pci_type").map(identity).unwrap_or_default();
    // Buses are numbered downwards: what says otherwise was never set up.
    let parent = parent.filter(|above| above.domain == address.domain && above.bus < address.bus);
    let buses = object.attribute("bridge_pci").and_then(buses).filter(|buses| buses.secondary > address.bus);
    let near =
        reading.ancestors(object).map(|(_, above)| above).find(|above| above.attribute("cpuset").is_some());
    let set = |name: &str| near.and_then(|near| parse_bitmap(near.attribute(name)?));
    let node = set("nodeset").and_then(|set| match set.as_slice() {
        [node] if nodes > 1 => Some(*node),
        _ => None,
    });
    PciDevice {
        address,
        id: reading.known(id, object),
        name: reading.known(name(object), object),
        class: reading.known(class, object),
        parent,
        link: link(reading, object),
        numa_node: reading.known(node, object),
        local_cpus: reading.known(set("cpuset").filter(|cpus| !cpus.is_empty()), object),
        slot: reading.known(object.info("PCISlot").map(str::to_owned), object),
        buses: reading.known(buses, object),
        ..PciDevice::default()
    }
}

/// `0108 [144d:a808] [144d:a801] 00 02`: class, function, subsystem, revision, and from format 3 on the programming
/// interface.
fn identity(text: &str) -> (Option<u32>, Option<PciId>) {
    let mut words = text.split_whitespace();
    let code = words.next().and_then(half_id);
    let id = words.next().and_then(|word| pci_id(word.strip_prefix('[')?.strip_suffix(']')?));
    let interface = words.nth(2).and_then(hex_byte);
    (code.map(|code| full_class(code, interface)), id)
}

/// `0000:[01-04]`.
fn buses(text: &str) -> Option<Buses> {
    let (_, range) = text.split_once('[')?;
    let (first, last) = range.strip_suffix(']')?.split_once('-')?;
    let bus = |text: &str| u8::from_str_radix(text, 16).ok();
    let (secondary, subordinate) = (bus(first)?, bus(last)?);
    (secondary > 0 && subordinate >= secondary).then_some(Buses { secondary, subordinate })
}

fn name(object: &Object) -> Option<String> {
    let words: Vec<&str> = ["PCIVendor", "PCIDevice"].iter().filter_map(|name| object.info(name)).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// The state of the link: what its rate stands for where only one link has that rate.
fn link(reading: &Reading<'_>, object: &Object) -> LinkEnd {
    let mut link = LinkEnd {
        current_speed: reading.known(None, object),
        max_speed: reading.known(None, object),
        current_width: reading.known(None, object),
        max_width: reading.known(None, object),
        ..LinkEnd::default()
    };
    // hwloc says 0 where it does not know.
    let rate = object.attribute("pci_link_speed").and_then(|rate| rate.trim().parse::<f64>().ok());
    let Some(rate) = rate.filter(|rate| *rate > 0.0) else { return link };
    match links_of_rate(rate).as_slice() {
        [(speed, width)] => {
            link.current_speed = reading.known(Some(*speed), object);
            link.current_width = reading.known(Some(*width), object);
        }
        several => {
            let several: Vec<String> =
                several.iter().map(|(speed, width)| format!("{speed} {width}")).collect();
            let meaning = if several.is_empty() { "of no link".to_owned() } else { several.join(", or ") };
            let raw = format!("a rate of {rate} GB/s: {meaning}");
            let source = Source::new(reading.source(object));
            link.current_speed = Fact::Garbled { source: source.clone(), raw: raw.clone() };
            link.current_width = Fact::Garbled { source, raw };
        }
    }
    link
}

/// The widths that are built. The specification also knows x12 and x32, which no slot or device has.
const WIDTHS: [u8; 5] = [1, 2, 4, 8, 16];

/// The rate of one lane in GB/s as hwloc computes it (`hwloc/pci-common.c`, `hwloc_pcidisc_find_linkspeed`): 8b/10b up
/// to 5 GT/s, 128b/130b up to 32 GT/s, 242 of 256 bytes above.
const LANES: [(GtPerSec, f64); 6] = [
    (GtPerSec::GEN1, 0.25),
    (GtPerSec::GEN2, 0.5),
    (GtPerSec::GEN3, 128.0 / 130.0),
    (GtPerSec::GEN4, 2.0 * 128.0 / 130.0),
    (GtPerSec::GEN5, 4.0 * 128.0 / 130.0),
    (GtPerSec::GEN6, 8.0 * 242.0 / 256.0),
];

/// hwloc prints six decimals of a 32-bit float; the rates of different links are at least 1 % apart.
const TOLERANCE: f64 = 1e-3;

/// `pci_link_speed`: the rate of a link in GB/s after its line code, and which speed and width it stands for.
///
/// Every link that has this rate, the slowest speed first. Several links do: x4 at 8 GT/s moves as much as x2 at
/// 16 GT/s.
fn links_of_rate(gigabytes: f64) -> Vec<(GtPerSec, Lanes)> {
    let has_rate = |lane: f64, width: u8| {
        let rate = lane * f64::from(width);
        (gigabytes - rate).abs() <= rate * TOLERANCE
    };
    LANES
        .iter()
        .flat_map(|(speed, lane)| WIDTHS.map(|width| (*speed, *lane, width)))
        .filter(|(_, lane, width)| has_rate(*lane, *width))
        .map(|(speed, _, width)| (speed, Lanes::new(width)))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_rate_that_one_link_has_identifies_it() {
        assert_eq!(links_of_rate(0.25), [(GtPerSec::GEN1, Lanes::new(1))]);
        assert_eq!(links_of_rate(0.984_615), [(GtPerSec::GEN3, Lanes::new(1))]);
        assert_eq!(links_of_rate(63.015_385), [(GtPerSec::GEN5, Lanes::new(16))]);
        assert_eq!(links_of_rate(121.0), [(GtPerSec::GEN6, Lanes::new(16))]);
    }

    #[test]
    fn a_rate_that_several_links_have_identifies_none() {
        let four = |speed, width| (speed, Lanes::new(width));
        let want = [four(GtPerSec::GEN3, 4), four(GtPerSec::GEN4, 2), four(GtPerSec::GEN5, 1)];
        assert_eq!(links_of_rate(3.938_462), want);
        assert_eq!(links_of_rate(0.5), [four(GtPerSec::GEN1, 2), four(GtPerSec::GEN2, 1)]);
        assert_eq!(links_of_rate(4.0), [four(GtPerSec::GEN1, 16), four(GtPerSec::GEN2, 8)]);
    }

    #[test]
    fn a_rate_that_no_link_has_is_none() {
        for rate in [0.0, 0.3, -1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert!(links_of_rate(rate).is_empty(), "{rate}");
        }
    }

    proptest! {
        #[test]
        fn no_rate_stands_for_more_than_four_links(rate: f64) {
            prop_assert!(links_of_rate(rate).len() <= 4);
        }
    }
}
