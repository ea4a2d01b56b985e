//! Where links are, and what they run at.

use std::collections::BTreeMap;

use super::{Errors, LinkReading, asleep, powered};
use crate::pci::{PciAddress, PciId, aer_of, slot_names};
use crate::root::Root;
use narrows_base::units::{GtPerSec, Lanes};

const DEVICES: &str = "/sys/bus/pci/devices";
/// A bridge to another PCI bus: class 06, sub-class 04 (PCI Code and ID Assignment Specification, section 1.7).
const BRIDGE: u64 = 0x0604;
/// The widest link that PCI Express knows; a function that does not answer shows more.
const WIDEST: u8 = 32;

/// A link: the function at its lower end and the port at its upper one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkPlace {
    /// The function at the lower end.
    pub device: PciAddress,
    /// The port at the upper end.
    pub port: PciAddress,
    /// Where it is wired, whatever numbers the buses have this time: `0000:1c.4/00.0`.
    pub place: String,
    /// The name of its slot.
    pub slot: Option<String>,
    /// Vendor and device of the lower end.
    pub id: Option<PciId>,
    /// The class of the lower end, 24 bits.
    pub class: Option<u32>,
    /// What tells this device from another of its kind: serial number of an NVMe drive, hardware address of a network card.
    /// Never to be shown.
    pub serial: Option<String>,
    /// The disks behind the link.
    pub disks: Vec<String>,
    /// The directories whose power state tells whether both ends run.
    pub powered: Vec<String>,
}

/// Finds every link. Of a card with several functions the first stands for its link.
pub(super) fn find(root: &Root) -> BTreeMap<PciAddress, LinkPlace> {
    let (slots, disks, serials) = (slot_names(root), disks(root), serials(root));
    let names = root.list(DEVICES).into_iter();
    let addresses = names.filter_map(|name| name.parse::<PciAddress>().ok());
    let links = addresses.filter_map(|address| {
        let dir = format!("{DEVICES}/{address}");
        let real = root.resolve(&dir).get()?;
        let chain = chain(&real);
        let (_, ports) = chain.split_last()?;
        // From the root down, ports face down, up, down: a link lies below each that faces down.
        (ports.len() % 2 == 1).then_some(())?;
        let port = *ports.last()?;
        root.exists(&format!("{dir}/current_link_width")).then_some(())?;
        let (class, above) = (class(root, address), class(root, port)?);
        (above >> 8 == BRIDGE).then_some(())?;
        let is_below =
            |path: &str| path.strip_prefix(real.as_str()).is_some_and(|rest| rest.starts_with('/'));
        let names_below = |of: &[(String, String)]| -> Vec<String> {
            of.iter().filter(|(path, _)| is_below(path)).map(|(_, name)| name.clone()).collect()
        };
        let id = |name: &str| {
            let text = root.text(&format!("{dir}/{name}")).get()?;
            u16::from_str_radix(text.strip_prefix("0x")?, 16).ok()
        };
        let link = LinkPlace {
            device: address,
            port,
            place: place_of(&real)?,
            slot: slots(address),
            id: id("vendor").zip(id("device")).map(|(vendor, device)| PciId { vendor, device }),
            class: class.and_then(|class| u32::try_from(class).ok()),
            // A bridge has the serial numbers of all that is behind it; none of them is its own.
            serial: if class.is_some_and(|class| class >> 8 == BRIDGE) {
                None
            } else {
                names_below(&serials).into_iter().next()
            },
            disks: names_below(&disks),
            powered: powered(&real),
        };
        Some((address, link))
    });
    let links: BTreeMap<PciAddress, LinkPlace> = links.collect();
    let is_first = |address: &PciAddress| address.function == 0 || !links.contains_key(&address.card());
    links
        .iter()
        .filter(|(address, _)| is_first(address))
        .map(|(address, link)| (*address, link.clone()))
        .collect()
}

fn class(root: &Root, address: PciAddress) -> Option<u64> {
    root.number(&format!("{DEVICES}/{address}/class")).get()
}

/// The functions on the way to one, from the root bus on, by its path in sysfs.
fn chain(real: &str) -> Vec<PciAddress> {
    let is_address = |part: &&str| part.matches(':').count() == 2;
    // A domain below a function, as VMD makes it, begins anew.
    let from = real.rfind("/pci").map_or(real, |at| real.get(at..).unwrap_or_default());
    from.split('/').filter(is_address).filter_map(|part| part.parse().ok()).collect()
}

/// A name for the place of a function that does not change with the numbers of buses: its domain, and device and function of
/// each step from the root bus on.
pub fn place_of(real: &str) -> Option<String> {
    let chain = chain(real);
    let domain = chain.first()?.domain;
    let steps: Vec<String> = chain.iter().map(|at| format!("{:02x}.{}", at.device, at.function)).collect();
    Some(format!("{domain:04x}:{}", steps.join("/")))
}

/// Every disk, by where it hangs.
fn disks(root: &Root) -> Vec<(String, String)> {
    let names = root.list("/sys/class/block").into_iter();
    names.filter_map(|name| Some((super::whole_disk(root, &name)?, name))).collect()
}

/// What tells devices from others of their kind, by where they hang.
fn serials(root: &Root) -> Vec<(String, String)> {
    let of = |class: &str, file: &str| -> Vec<(String, String)> {
        let dirs = root.list(class).into_iter().map(|name| format!("{class}/{name}"));
        dirs.filter_map(|dir| {
            let serial = root.text(&format!("{dir}/{file}")).absent_when(|text| text.is_empty()).get()?;
            Some((root.resolve(&dir).get()?, serial))
        })
        .collect()
    };
    [of("/sys/class/nvme", "serial"), of("/sys/class/net", "address")].concat()
}

/// Reads both ends of a link, unless something on the way sleeps. `is_busy` is asked before and after.
pub(super) fn read(root: &Root, place: &LinkPlace, is_busy: impl Fn() -> bool) -> LinkReading {
    let ends = [place.device, place.port];
    let errors = ends.into_iter().filter_map(|end| {
        // The kernel counts them itself: no register is read.
        aer_of(root, &format!("{DEVICES}/{end}")).value().map(Errors::of)
    });
    let errors = errors.reduce(Errors::and);
    if let Some(asleep) = asleep(root, &place.powered) {
        return LinkReading { asleep: Some(asleep), errors, ..LinkReading::default() };
    }
    let was_busy = is_busy();
    let parse = |end: PciAddress, file: &str| root.text(&format!("{DEVICES}/{end}/{file}")).get();
    let widths = ends.into_iter().filter_map(|end| Lanes::parse(&parse(end, "current_link_width")?));
    let speeds = ends.into_iter().filter_map(|end| GtPerSec::parse(&parse(end, "current_link_speed")?));
    let (width, speed) = (widths.filter(|lanes| lanes.get() <= WIDEST).min(), speeds.min());
    LinkReading { asleep: None, width, speed, errors, loaded: was_busy && is_busy() }
}
