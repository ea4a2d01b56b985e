//! Links: how fast they are, when they go up and down, and the sizes that both ends agreed on.

use super::pci::{bridge_entry, entry};
use super::{Boot, Device, Line};
use narrows_base::units::{Bytes, GtPerSec, Lanes};
use narrows_machine::log::{LogKind, StatedLink};
use narrows_machine::pci::PciAddress;

/// The widest link that PCI Express knows.
const WIDEST: u8 = 32;

/// A message of a link.
pub(super) fn take(boot: &mut Boot, device: &Device<'_>, line: &Line<'_>) -> bool {
    if take_bandwidth(boot, device, line) || take_own_link(boot, device, line) {
        return true;
    }
    let Some(kind) = parse_event(device.rest) else { return false };
    if matches!(kind, LogKind::LinkUp | LogKind::LinkDown | LogKind::NoDevice) {
        bridge_entry(boot, device.address, line);
    }
    if let Some(slot) = slot_name(device.rest) {
        boot.buses.set_slot(device.address, line.known(slot.to_owned()));
    }
    boot.event_at(device.address, kind, line);
    true
}

fn take_bandwidth(boot: &mut Boot, device: &Device<'_>, line: &Line<'_>) -> bool {
    let Some(claim) = parse_bandwidth(device.rest) else { return false };
    if let LogKind::BandwidthLimited { by, at, capable } = &claim {
        if let Some(capable) = capable {
            let end = &mut entry(boot, device.address).link;
            end.max_speed = line.known(capable.speed);
            end.max_width = line.known(capable.width);
        }
        let limiting = match at {
            Some(at) if *at != device.address => {
                boot.buses.set_above(device.address, *at);
                Some(bridge_entry(boot, *at, line))
            }
            Some(at) => Some(entry(boot, *at)),
            None => None,
        };
        if let Some(limiting) = limiting {
            limiting.link.current_speed = line.known(by.speed);
            limiting.link.current_width = line.known(by.width);
        }
    }
    if let LogKind::BandwidthFull(link) = &claim {
        // No link on the way is slower than what the device can do, so its own runs at that.
        let end = &mut entry(boot, device.address).link;
        (end.max_speed, end.max_width) = (line.known(link.speed), line.known(link.width));
        (end.current_speed, end.current_width) = (line.known(link.speed), line.known(link.width));
    }
    boot.event_at(device.address, claim, line);
    true
}

/// Reads the claim of `__pcie_print_link_status` (`drivers/pci/pci.c`). Before Linux 5.14 it does not say `PCIe` before
/// the width.
fn parse_bandwidth(rest: &str) -> Option<LogKind> {
    let (_, claim) = rest.split_once(" available PCIe bandwidth")?;
    let Some(limit) = claim.trim_start_matches(',').trim_start().strip_prefix("limited by ") else {
        return parse_link(claim).map(LogKind::BandwidthFull);
    };
    let (limit, capable) = limit.split_once("(capable of").unwrap_or((limit, ""));
    Some(LogKind::BandwidthLimited {
        by: parse_link(limit)?,
        at: limit.split_once(" at ").and_then(|(_, at)| parse_address(at)),
        capable: capable.split_once("with ").and_then(|(_, link)| parse_link(link)),
    })
}

fn parse_address(text: &str) -> Option<PciAddress> {
    text.split_whitespace().next()?.parse().ok()
}

/// Reads `8.0 GT/s PCIe x4 link`, `2.5 GT/s x16 link`, `5GT/s, Width: x4`.
pub(super) fn parse_link(text: &str) -> Option<StatedLink> {
    let (before, behind) = text.split_once("GT/s")?;
    let number = before.trim_end().rsplit(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    let lanes = behind.split_once('x')?.1;
    Some(StatedLink { speed: GtPerSec::parse(&format!("{number}GT/s"))?, width: parse_width(lanes)? })
}

/// Reads the number at the start of a text.
fn parse_width(text: &str) -> Option<Lanes> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Lanes::parse(text.get(..end)?).filter(|lanes| lanes.get() <= WIDEST)
}

/// Drivers that tell their own link: igb `(PCIe:2.5Gb/s:Width x4)`, ixgbe `(PCI Express:5.0GT/s:Width x8)` and from Linux 3.12
/// to 4.17 `(Speed:5.0GT/s, Width: x4, Encoding Loss:20%)`, i40e `PCI-Express: Speed 8.0GT/s Width x8`, mlx4 `PCIe link speed is 8.0GT/s, device supports 8.0GT/s`.
fn take_own_link(boot: &mut Boot, device: &Device<'_>, line: &Line<'_>) -> bool {
    let rest = device.rest;
    if let Some(speeds) = rest.strip_prefix("PCIe link speed is ") {
        let mut speeds = speeds.split(", device supports ").map(GtPerSec::parse);
        let end = &mut entry(boot, device.address).link;
        if let (Some(Some(now)), Some(Some(most))) = (speeds.next(), speeds.next()) {
            (end.current_speed, end.max_speed) = (line.known(now), line.known(most));
        }
        return true;
    }
    if let Some(widths) = rest.strip_prefix("PCIe link width is ") {
        let mut widths = widths.split(", device supports ").map(Lanes::parse);
        let end = &mut entry(boot, device.address).link;
        if let (Some(Some(now)), Some(Some(most))) = (widths.next(), widths.next()) {
            (end.current_width, end.max_width) = (line.known(now), line.known(most));
        }
        return true;
    }
    let own = ["(PCIe:", "(PCI Express:", "(Speed:", "PCI-Express: Speed "]
        .iter()
        .find_map(|key| rest.split_once(key));
    let Some(link) = own.and_then(|(_, link)| parse_link(&link.replacen("Gb/s", "GT/s", 1))) else {
        return false;
    };
    let end = &mut entry(boot, device.address).link;
    (end.current_speed, end.current_width) = (line.known(link.speed), line.known(link.width));
    true
}

/// What else happens to a link: `drivers/pci/hotplug/pciehp_ctrl.c`, `pciehp_hpc.c`, `drivers/pci/quirks.c`,
/// `drivers/pci/probe.c`, `drivers/pci/pcie/dpc.c`.
fn parse_event(rest: &str) -> Option<LogKind> {
    let hotplug = rest.strip_prefix("pciehp: ").unwrap_or(rest);
    if let Some((_, what)) = hotplug.strip_prefix("Slot(").and_then(|slot| slot.split_once("): ")) {
        return match what.split(',').next()?.trim() {
            "Link Down" => Some(LogKind::LinkDown),
            "Link Up" => Some(LogKind::LinkUp),
            "No link" | "No device found" | "Cannot train link" => Some(LogKind::NoDevice),
            _ => None,
        };
    }
    if let Some((_, speed)) = rest.split_once("retraining non-functional downstream link at ") {
        return GtPerSec::parse(speed).map(LogKind::LinkRetrainedAt);
    }
    if rest.starts_with("retraining failed") {
        return Some(LogKind::RetrainFailed);
    }
    if rest.starts_with("Data Link Layer Link Active not set") {
        return Some(LogKind::NoDevice);
    }
    if rest.starts_with("DPC: containment event") {
        return Some(LogKind::Contained);
    }
    parse_sizes(rest)
}

fn parse_sizes(rest: &str) -> Option<LogKind> {
    if let Some(size) = rest.strip_prefix("can't set Max Payload Size to ") {
        return number(size).map(LogKind::MpsRefused);
    }
    if let Some((_, size)) = rest.split_once("limiting MRRS to ") {
        return number(size).map(LogKind::MrrsLimited);
    }
    let sizes = rest.strip_prefix("Max Payload Size set to ")?;
    Some(LogKind::MpsSet {
        payload: number(sizes)?,
        supported: number(sizes.split_once('/').or_else(|| sizes.split_once("max "))?.1)?,
        was: number(sizes.split_once("was ")?.1)?,
        read_request: sizes.split_once("Max Read Rq ").and_then(|(_, size)| number(size)),
    })
}

/// Reads the number at the start of `  256/ 256`.
fn number(text: &str) -> Option<Bytes> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok().map(Bytes::new)
}

fn slot_name(rest: &str) -> Option<&str> {
    let (_, slot) = rest.split_once("Slot(")?;
    slot.split_once(')').map(|(name, _)| name)
}
