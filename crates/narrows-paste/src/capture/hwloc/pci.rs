//! PCI functions: bridges that have an address, and devices.

use std::collections::BTreeMap;

use super::object::Object;
use super::{Reading, bitmap, rate};
use crate::capture::lspci::full_class;
use crate::capture::{Gap, Lacks, Part};
use narrows_base::fact::{Fact, Source};
use narrows_machine::pci::{Buses, LinkEnd, PciAddress, PciDevice, PciId};

/// What tells the registers of a link.
const RUN: &str = "sudo lspci -vvv";
/// More functions than any machine has.
const MOST: usize = 8192;
/// The most processors that are kept as next to functions, over all of them: 1024 functions with 1024 each.
const MOST_LOCAL: usize = 1 << 20;
/// Links that are named one by one.
const MOST_NAMED: usize = 8;

/// Puts down every function; where each object is.
pub(super) fn fill(reading: &Reading<'_>, part: &mut Part) -> BTreeMap<usize, PciAddress> {
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
            part.gaps.push(Gap { what, run: RUN.to_owned(), lacks: Lacks::Link(address) });
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
    let set = |name: &str| near.and_then(|near| bitmap::parse(near.attribute(name)?));
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
    let hex = |word: &str, digits: usize| {
        let is_hex = word.len() == digits && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex.then(|| u16::from_str_radix(word, 16).ok()).flatten()
    };
    let code = words.next().and_then(|word| hex(word, 4));
    let id = words.next().and_then(|word| {
        let (vendor, device) = word.strip_prefix('[')?.strip_suffix(']')?.split_once(':')?;
        Some(PciId { vendor: hex(vendor, 4)?, device: hex(device, 4)? })
    });
    let interface = words.nth(2).and_then(|word| u8::try_from(hex(word, 2)?).ok());
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
    match rate::links(rate).as_slice() {
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
