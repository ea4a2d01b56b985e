//! Files of `/sys` with their paths, as `grep . /sys/bus/pci/devices/*/current_link_*`, `head` and people write them.

use std::collections::BTreeMap;

use narrows_base::fact::Fact;
use narrows_base::units::{GtPerSec, Lanes};
use narrows_machine::cpu::parse_list;
use narrows_machine::pci::{PciAddress, PciDevice, PciId};

use super::device::FoundFunction;
use super::functions::{Functions, MOST};
use super::line::{self, LspciPlace, half_id};
use crate::capture::{Part, Rank, Text};

/// The widest link that PCI Express knows.
const WIDEST: u8 = 32;

/// Reads the files of PCI functions out of a listing: `PATH:VALUE`, `PATH = VALUE`, or `==> PATH <==` and the value in
/// the line below.
pub fn read_sysfs(text: &Text) -> Part {
    let mut functions = Functions::default();
    let mut devices: BTreeMap<PciAddress, Device> = BTreeMap::new();
    let mut headed: Option<&str> = None;
    for (number, line) in text.lines() {
        let line = line::bare(line);
        if let Some(path) = line.strip_prefix("==").and_then(heading) {
            headed = Some(path);
            continue;
        }
        let entry = match headed.take() {
            Some(path) => file(path).map(|(place, name, _)| (place, name, line)),
            None => file(line),
        };
        let Some((place, name, value)) = entry.filter(|(.., value)| is_value(value)) else { continue };
        if devices.len() < MOST || devices.contains_key(&place.address) {
            let device = devices.entry(place.address).or_insert_with(|| Device::new(place));
            device.device.parent = device.device.parent.or(place.above);
            device.set(name, value, &text.source(number));
        }
    }
    devices.into_values().for_each(|device| functions.add(device.found()));
    functions.part(Rank::Raw, |_| "sysfs listing")
}

/// Whether something may be the content of such a file: sources and prose name the files, too.
fn is_value(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " ._,:/+->".contains(c);
    !text.is_empty() && text.chars().all(is_plain)
}

/// The path of `==> PATH <==`, without the first two signs.
fn heading(rest: &str) -> Option<&str> {
    Some(rest.strip_prefix("> ")?.strip_suffix(" <==")?.trim())
}

/// Splits `…/0000:00:1c.0/0000:06:00.0/class:0x010802` into function, file and value. A file of another kind is `None`.
fn file(line: &str) -> Option<(LspciPlace, &str, &str)> {
    // Most lines of most texts name no path at all.
    if !line.as_bytes().contains(&b'/') {
        return None;
    }
    let (dir, rest) = NAMES.iter().find_map(|name| split_at_name(line, name))?;
    let end =
        rest.bytes().position(|byte| !(byte.is_ascii_alphanumeric() || byte == b'_')).unwrap_or(rest.len());
    let (name, value) = rest.split_at_checked(end)?;
    let value = value.trim_start();
    // A command has its arguments there.
    let value = if value.is_empty() { value } else { value.strip_prefix([':', '='])?.trim() };
    let mut parts = dir.rsplit('/');
    let address = line::address(parts.next()?)?;
    let above = parts.next().and_then(line::address);
    Some((LspciPlace { address, above }, name, value))
}

/// The files that are read.
const NAMES: [&str; 12] = [
    "class",
    "vendor",
    "device",
    "current_link_speed",
    "current_link_width",
    "max_link_speed",
    "max_link_width",
    "numa_node",
    "local_cpulist",
    "power_state",
    "aer_dev_",
    "iommu_group",
];

/// Splits a path before the file `name`, when that stands right behind a function.
fn split_at_name<'t>(line: &'t str, name: &str) -> Option<(&'t str, &'t str)> {
    let slash = line.match_indices('/').map(|(at, _)| at).find(|at| {
        let after = line.get(at + 1..).unwrap_or_default();
        let before = line.get(..*at).unwrap_or_default();
        after.starts_with(name) && before.as_bytes().iter().rev().nth(1) == Some(&b'.')
    })?;
    Some((line.get(..slash)?, line.get(slash + 1..)?))
}

/// A function whose files are being read.
#[derive(Debug)]
struct Device {
    device: PciDevice,
    vendor: Fact<u16>,
    model: Fact<u16>,
}

impl Device {
    fn new(place: LspciPlace) -> Self {
        let device = PciDevice { address: place.address, parent: place.above, ..PciDevice::default() };
        Self { device, vendor: Fact::default(), model: Fact::default() }
    }

    fn set(&mut self, name: &str, value: &str, source: &str) {
        let text = || Fact::known(value.to_owned(), source);
        let device = &mut self.device;
        match name {
            "class" => device.class = text().parse(|text| hex(text).map(|class| class & 0xff_ffff)),
            "vendor" => self.vendor = text().parse(number),
            "device" => self.model = text().parse(number),
            "current_link_speed" => device.link.current_speed = text().parse(GtPerSec::parse),
            "max_link_speed" => device.link.max_speed = text().parse(GtPerSec::parse),
            "current_link_width" => device.link.current_width = text().parse(width),
            "max_link_width" => device.link.max_width = text().parse(width),
            "numa_node" => {
                device.numa_node = text().absent_when(|node| node == "-1").parse(|node| node.parse().ok());
            }
            "local_cpulist" => device.local_cpus = text().parse(parse_list),
            "power_state" => device.power_state = text(),
            "aer_dev_correctable" | "aer_dev_nonfatal" | "aer_dev_fatal" => self.count(name, value, source),
            _ => {}
        }
    }

    /// One line of an error count: `RxErr 3`.
    fn count(&mut self, name: &str, value: &str, source: &str) {
        let Some((error, count)) = value.rsplit_once(' ').filter(|(error, _)| !error.starts_with("TOTAL_"))
        else {
            return;
        };
        let Ok(count) = count.parse::<u64>() else { return };
        let mut aer = self.device.aer.get().unwrap_or_default();
        let counts = match name {
            "aer_dev_correctable" => &mut aer.correctable,
            "aer_dev_nonfatal" => &mut aer.nonfatal,
            _ => &mut aer.fatal,
        };
        // The kernel knows some twenty errors.
        if counts.len() < 64 {
            counts.insert(error.trim().chars().take(40).collect(), count);
        }
        self.device.aer = Fact::known(aer, source);
    }

    fn found(self) -> FoundFunction {
        let id = self.vendor.and_then(|vendor| self.model.map(|device| PciId { vendor, device }));
        FoundFunction::of(PciDevice { id, ..self.device })
    }
}

fn hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

fn number(text: &str) -> Option<u16> {
    half_id(text.strip_prefix("0x")?)
}

/// A function that does not answer shows a width of all ones, 63.
fn width(text: &str) -> Option<Lanes> {
    Lanes::parse(text).filter(|lanes| lanes.get() <= WIDEST)
}
