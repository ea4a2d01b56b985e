//! `lspci` in every form that people paste: lists, `-v` to `-vvv`, `-mm` and `-vmm`, trees, hex dumps; quoted, broken
//! by mail programs, without indentation, filtered, cut, several of them in one text.
//!
//! Sources: pciutils (`lspci.c`, `ls-caps.c`, `ls-ecaps.c`, `ls-tree.c`, `ls-kernel.c`) from version 2.2 to 3.14.

mod block;
mod capability;
mod class;
mod device;
mod functions;
mod hex;
mod inxi;
mod line;
mod pciconf;
mod sysfs;
mod tree;

use std::collections::BTreeMap;

use narrows_base::fact::{Fact, Source};
use narrows_machine::pci::{Downgraded, LinkEnd, PciAddress, PciDevice, PciId};

use super::device::known;
use super::{Part, Rank, Text};
use capability::{link_value, speed_of};
use device::{Detail, FoundFunction};
use functions::Functions;
use line::kept_name;

pub(super) use capability::lanes_of;
pub(super) use class::{code as class_of, full as full_class, of_driver as class_of_driver};
pub(super) use functions::lacks_link;
pub(super) use hex::of_config;
pub use hex::read_hex;
pub(super) use inxi::entries;
pub use inxi::read_inxi;
pub(super) use line::{half_id, hex_byte, pci_id};
pub use pciconf::read_pciconf;
pub use sysfs::read_sysfs;
pub use tree::read_tree;

/// What shows the registers of a link.
const NEED: &str = "root: sudo lspci -vvv";

/// Reads what `lspci` says in words. Ends of links that the text does not show stay unknown, and are gaps.
pub fn read(text: &Text) -> Part {
    let mut functions = Functions::default();
    let mut last = None;
    block::each(text, &mut |block| {
        let before = last.replace(block).and_then(|before| device::read(text, &before, true));
        before.into_iter().for_each(|found| functions.add(found));
    });
    let found = last.and_then(|block| device::read(text, &block, false));
    found.into_iter().for_each(|found| functions.add(found));
    functions.part(Rank::Decoded, |detail| match detail {
        Detail::Listed => "lspci",
        Detail::Verbose => "lspci -v",
        Detail::Full => "lspci -vv",
    })
}

/// One line for each device, as `sbc-bench` prints its links: `* Vendor Device: Speed 5GT/s (downgraded), Width x2`.
///
/// Reads such lines. The devices have no address; the most that their ends can do is known only where the link runs at
/// it.
pub fn read_summary(text: &Text) -> Part {
    let mut functions = Functions::default();
    for (number, line) in text.lines() {
        let device = summary_device(text, number, line::bare(line));
        device.into_iter().for_each(|device| functions.add(FoundFunction::of(device)));
    }
    functions.part(Rank::Summary, |_| "sbc-bench")
}

fn summary_device(text: &Text, number: usize, line: &str) -> Option<PciDevice> {
    let (name, link) = line.split_once(": Speed ")?;
    let name = name.trim_start_matches(['*', '-', ' ']);
    let link = format!("Speed {link}");
    let (speed, width) = (link_value(&link, "Speed ")?, link_value(&link, ", Width ")?);
    let is_lspci = name == "Link" || name.contains("Lnk") || line::is_log(name);
    if is_lspci || speed_of(speed).is_none() || lanes_of(width).is_none() {
        return None;
    }
    let source = || text.source(number);
    let driver = link_value(&link, "driver in use: ").map(str::to_owned);
    let drive = name.contains(" as /dev/nvme").then_some("nvme");
    let driver = driver.or_else(|| drive.map(str::to_owned));
    let class = class::at_the_end_of(name).map(|code| class::full(code, None));
    // Of cards for Ethernet and InfiniBand the first are by far the most.
    let class = class.or_else(|| match driver.as_deref()? {
        "mlx4_core" | "mlx5_core" => Some(0x02_0000),
        driver => class::of_driver(driver),
    });
    let said =
        |what| capability::says_more(capability::note_link(&link, what)).then(|| Source::new(source()));
    Some(PciDevice {
        address: PciAddress::unnamed(0),
        name: known(kept_name(name), source()),
        driver: known(driver, source()),
        class: known(class, source()),
        link: LinkEnd {
            current_speed: known(speed_of(speed), source()),
            max_speed: most(speed_of(speed), capability::note_link(&link, "Speed "), &source()),
            current_width: known(lanes_of(width), source()),
            max_width: most(lanes_of(width), capability::note_link(&link, "Width "), &source()),
            downgraded: Downgraded { speed: said("Speed "), width: said("Width ") },
        },
        ..PciDevice::default()
    })
}

/// lspci 3.9 and later print nothing where the link runs at the most that its end can do, and `sbc-bench` shows
/// endpoints only, whose ends are always compared.
fn most<T>(current: Option<T>, note: Option<&str>, source: &str) -> Fact<T> {
    match (note, current) {
        (None | Some("ok"), Some(current)) => Fact::known(current, source),
        (Some(note), _) if !capability::says_more(Some(note)) => {
            Fact::Garbled { source: Source::new(source), raw: note.to_owned() }
        }
        _ => Fact::absent(source),
    }
}

/// The functions of one listing.
#[derive(Debug, Default)]
pub(super) struct ListedFunctions(BTreeMap<PciAddress, PciDevice>);

impl ListedFunctions {
    /// Adds a function: its place and the bridge above it; its id, its name and its class of 16 bits; its driver.
    pub(super) fn add(
        &mut self,
        source: &str,
        (address, above): (PciAddress, Option<PciAddress>),
        (id, name, class): (Option<PciId>, Option<&str>, Option<u16>),
        driver: Option<&str>,
    ) {
        if self.0.len() >= functions::MOST {
            return;
        }
        let text = |text: Option<&str>| known(text.and_then(kept_name), source);
        let device = PciDevice {
            address,
            parent: above.filter(|above| above.domain == address.domain && above.bus < address.bus),
            id: known(id, source),
            name: text(name),
            class: known(class.map(|code| class::full(code, None)), source),
            driver: text(driver),
            ..PciDevice::default()
        };
        self.0.entry(address).or_insert(device);
    }

    /// What was added; `None` of nothing.
    pub(super) fn finish(self) -> Option<BTreeMap<PciAddress, PciDevice>> {
        (!self.0.is_empty()).then_some(self.0)
    }
}

#[cfg(test)]
mod tests;
