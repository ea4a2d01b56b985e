//! Reads PCI functions out of `/sys/bus/pci`.

use std::collections::BTreeMap;

use super::config::{CONFIG_BYTES, NoExpress, parse_express};
use super::{Express, LinkEnd, PciAddress, PciDevice, PciId, aer};
use crate::machine::cpu::parse_list;
use crate::machine::fact::{Fact, Source};
use crate::machine::root::Root;
use crate::units::{GtPerSec, Lanes};

const DEVICES: &str = "/sys/bus/pci/devices";
const SLOTS: &str = "/sys/bus/pci/slots";

/// The widest link that PCI Express knows.
const WIDEST: u8 = 32;

/// Reads every PCI function. A function that sleeps without power (`D3cold`) is not woken: its link and config space
/// are [`Fact::Denied`].
pub fn read(root: &Root) -> BTreeMap<PciAddress, PciDevice> {
    let slots = slots(root);
    let names = root.list(DEVICES);
    let addresses = names.iter().filter_map(|name| name.parse().ok());
    addresses.map(|address| (address, device(root, address, &slots))).collect()
}

fn device(root: &Root, address: PciAddress, slots: &Slots) -> PciDevice {
    let dir = format!("{DEVICES}/{address}");
    let file = |name: &str| format!("{dir}/{name}");
    let place = root.resolve(&dir).get().and_then(|path| parse_place(&path)).unwrap_or_default();
    let power_state = root.text(&file("power_state"));
    let is_awake = power_state.value().is_none_or(|state| state != "D3cold");
    PciDevice {
        address,
        id: id(root, &dir),
        class: root.number(&file("class")).map(|class| u32::try_from(class & 0xff_ffff).unwrap_or_default()),
        parent: place.parent,
        domain_owner: place.domain_owner,
        driver: root.link_name(&file("driver")),
        link: if is_awake { link(root, &dir) } else { sleeping_link(&dir) },
        express: if is_awake { express(root, &file("config")) } else { asleep(file("config")) },
        numa_node: numa_node(root, file("numa_node")),
        local_cpus: root.parse(&file("local_cpulist"), parse_list),
        iommu_group: root.link_name(&file("iommu_group")).parse(|group| group.parse().ok()),
        interrupts: root.list(&file("msi_irqs")).iter().filter_map(|irq| irq.parse().ok()).collect(),
        power_state,
        aer: aer::read(root, &dir),
        slot: slot(slots, address),
    }
}

fn id(root: &Root, dir: &str) -> Fact<PciId> {
    let number = |name: &str| root.parse(&format!("{dir}/{name}"), parse_id);
    number("vendor").and_then(|vendor| number("device").map(|device| PciId { vendor, device }))
}

fn parse_id(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

fn link(root: &Root, dir: &str) -> LinkEnd {
    let speed = |name: &str| root.parse(&format!("{dir}/{name}"), GtPerSec::parse);
    let width = |name: &str| root.parse(&format!("{dir}/{name}"), parse_width);
    LinkEnd {
        current_speed: speed("current_link_speed"),
        max_speed: speed("max_link_speed"),
        current_width: width("current_link_width"),
        max_width: width("max_link_width"),
    }
}

/// A function that does not answer shows a width of all ones, 63.
fn parse_width(text: &str) -> Option<Lanes> {
    Lanes::parse(text).filter(|lanes| lanes.get() <= WIDEST)
}

fn sleeping_link(dir: &str) -> LinkEnd {
    LinkEnd {
        current_speed: asleep(format!("{dir}/current_link_speed")),
        max_speed: asleep(format!("{dir}/max_link_speed")),
        current_width: asleep(format!("{dir}/current_link_width")),
        max_width: asleep(format!("{dir}/max_link_width")),
    }
}

fn asleep<T>(source: String) -> Fact<T> {
    Fact::Denied { source: Source::new(source), need: "the device to be awake".to_owned() }
}

fn express(root: &Root, path: &str) -> Fact<Express> {
    root.head(path, CONFIG_BYTES).and_then(|config| match parse_express(&config) {
        Ok(express) => Fact::known(express, path),
        Err(NoExpress::NotExpress) => Fact::absent(format!("{path}, PCI Express capability")),
        Err(NoExpress::Hidden) => Fact::Denied { source: Source::new(path), need: "root".to_owned() },
        Err(NoExpress::Garbled(raw)) => Fact::Garbled { source: Source::new(path), raw },
    })
}

fn numa_node(root: &Root, path: String) -> Fact<u32> {
    let node = root.text(&path);
    if node.value().is_some_and(|node| node == "-1") {
        return Fact::absent(path);
    }
    node.parse(|node| node.parse().ok())
}

/// Where a function sits, from its path.
#[derive(Debug, Default, PartialEq, Eq)]
struct Place {
    parent: Option<PciAddress>,
    domain_owner: Option<PciAddress>,
}

/// Reads `…/pci0000:00/0000:00:1c.4/0000:06:00.0`: each directory is a function, and the one above it its bridge. A
/// domain below a function (`…/0000:00:0e.0/pci10000:e0/10000:e0:06.0`) belongs to that function.
fn parse_place(path: &str) -> Option<Place> {
    let mut above = path.rsplit('/').skip(1);
    let parent = parse_full(above.next()?);
    let mut place = Place { parent, domain_owner: None };
    if parent.is_some() {
        above.by_ref().find(|part| parse_full(part).is_none());
    }
    place.domain_owner = above.next().and_then(parse_full);
    Some(place)
}

fn parse_full(text: &str) -> Option<PciAddress> {
    text.parse().ok().filter(|_| text.matches(':').count() == 2)
}

/// Slot names, by domain, bus and device; without a device where the slot stands for the whole bus.
type Slots = BTreeMap<(u32, u8, Option<u8>), (String, String)>;

fn slots(root: &Root) -> Slots {
    let names = root.list(SLOTS);
    let slots = names.into_iter().filter_map(|name| {
        let path = format!("{SLOTS}/{name}/address");
        let place = root.parse(&path, parse_slot_address).get()?;
        Some((place, (name, path)))
    });
    slots.collect()
}

/// Reads `0000:02:00`, or `0000:02` for a slot without a device number (kernel `drivers/pci/slot.c`,
/// `address_read_file`).
fn parse_slot_address(text: &str) -> Option<(u32, u8, Option<u8>)> {
    let has_device = text.matches(':').count() == 2;
    let function = if has_device { format!("{text}.0") } else { format!("{text}:00.0") };
    let address = parse_full(&function)?;
    Some((address.domain, address.bus, has_device.then_some(address.device)))
}

fn slot(slots: &Slots, address: PciAddress) -> Fact<String> {
    let of = |device| slots.get(&(address.domain, address.bus, device));
    match of(Some(address.device)).or_else(|| of(None)) {
        Some((name, path)) => Fact::known(name.clone(), path.clone()),
        None => Fact::absent(SLOTS),
    }
}
