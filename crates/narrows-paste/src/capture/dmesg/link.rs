//! Links: how fast they are, when they go up and down, the sizes that both ends agreed on, and the errors that they report.

use std::collections::BTreeMap;

use narrows_base::units::{Bytes, GtPerSec, Lanes};
use narrows_machine::log::{AerSeverity, LogKind, StatedLink};
use narrows_machine::pci::{Aer, PciAddress, PciDevice};

use super::pci::{bridge_entry, entry};
use super::{Boot, DmesgDevice, LogLine, parse_address};
use crate::capture::aer::{CORRECTABLE, UNCORRECTABLE};
use crate::capture::lspci::lanes_of;
use crate::capture::number;
use crate::text::fields;

/// A message of a link.
pub(super) fn take_link(boot: &mut Boot, device: &DmesgDevice<'_>, line: &LogLine<'_>) -> Option<()> {
    let taken = take_bandwidth(boot, device, line).or_else(|| take_own_link(boot, device, line));
    if taken.is_some() {
        return taken;
    }
    let kind = parse_event(device.rest)?;
    if matches!(kind, LogKind::LinkUp | LogKind::LinkDown | LogKind::NoDevice) {
        bridge_entry(boot, device.address, line);
    }
    if let Some((slot, _)) = device.rest.split_once("Slot(").and_then(|(_, slot)| slot.split_once(')')) {
        boot.buses.slots.insert(device.address, line.known(slot.to_owned()));
    }
    boot.event_at(device.address, kind, line);
    Some(())
}

fn take_bandwidth(boot: &mut Boot, device: &DmesgDevice<'_>, line: &LogLine<'_>) -> Option<()> {
    let claim = parse_bandwidth(device.rest)?;
    match &claim {
        LogKind::BandwidthLimited { by, at, capable } => {
            if let Some(capable) = capable {
                most(entry(boot, device.address), capable, line);
            }
            if let Some(at) = at {
                let is_above = *at != device.address;
                boot.buses.set_above(device.address, *at);
                now(if is_above { bridge_entry(boot, *at, line) } else { entry(boot, *at) }, by, line);
            }
        }
        LogKind::BandwidthFull(link) => {
            // No link on the way is slower than what the device can do, so its own runs at that.
            let device = entry(boot, device.address);
            most(device, link, line);
            now(device, link, line);
        }
        _ => {}
    }
    boot.event_at(device.address, claim, line);
    Some(())
}

/// A function's link runs so.
fn now(device: &mut PciDevice, link: &StatedLink, line: &LogLine<'_>) {
    device.link.current_speed = line.known(link.speed);
    device.link.current_width = line.known(link.width);
}

/// A function's end of its link can do no more than this.
fn most(device: &mut PciDevice, link: &StatedLink, line: &LogLine<'_>) {
    device.link.max_speed = line.known(link.speed);
    device.link.max_width = line.known(link.width);
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

/// Reads `8.0 GT/s PCIe x4 link`, `2.5 GT/s x16 link`, `5GT/s, Width: x4`.
pub(super) fn parse_link(text: &str) -> Option<StatedLink> {
    let (before, behind) = text.split_once("GT/s")?;
    let number = before.trim_end().rsplit(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    let lanes = behind.get(behind.find('x')?..)?;
    Some(StatedLink { speed: GtPerSec::parse(&format!("{number}GT/s"))?, width: lanes_of(lanes)? })
}

/// Drivers that tell their own link: igb `(PCIe:2.5Gb/s:Width x4)`, ixgbe `(PCI Express:5.0GT/s:Width x8)` and from Linux 3.12
/// to 4.17 `(Speed:5.0GT/s, Width: x4, Encoding Loss:20%)`, i40e `PCI-Express: Speed 8.0GT/s Width x8`, mlx4 `PCIe link speed is 8.0GT/s, device supports 8.0GT/s`.
fn take_own_link(boot: &mut Boot, device: &DmesgDevice<'_>, line: &LogLine<'_>) -> Option<()> {
    let rest = device.rest;
    if let Some([now, most]) = fields(rest, "PCIe link speed is {}, device supports {}") {
        let end = &mut entry(boot, device.address).link;
        let (now, most) = GtPerSec::parse(now).zip(GtPerSec::parse(most))?;
        (end.current_speed, end.max_speed) = (line.known(now), line.known(most));
    } else if let Some([now, most]) = fields(rest, "PCIe link width is {}, device supports {}") {
        let end = &mut entry(boot, device.address).link;
        let (now, most) = Lanes::parse(now).zip(Lanes::parse(most))?;
        (end.current_width, end.max_width) = (line.known(now), line.known(most));
    } else {
        let mut keys = ["(PCIe:", "(PCI Express:", "(Speed:", "PCI-Express: Speed "].into_iter();
        let (_, link) = keys.find_map(|key| rest.split_once(key))?;
        now(entry(boot, device.address), &parse_link(&link.replacen("Gb/s", "GT/s", 1))?, line);
    }
    Some(())
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
    const EVENTS: [(&str, LogKind); 3] = [
        ("retraining failed", LogKind::RetrainFailed),
        ("Data Link Layer Link Active not set", LogKind::NoDevice),
        ("DPC: containment event", LogKind::Contained),
    ];
    let event = EVENTS.into_iter().find(|(words, _)| rest.starts_with(words));
    event.map(|(_, kind)| kind).or_else(|| parse_sizes(rest))
}

fn parse_sizes(rest: &str) -> Option<LogKind> {
    if let Some(size) = rest.strip_prefix("can't set Max Payload Size to ") {
        return link_number(size).map(LogKind::MpsRefused);
    }
    if let Some((_, size)) = rest.split_once("limiting MRRS to ") {
        return link_number(size).map(LogKind::MrrsLimited);
    }
    let sizes = rest.strip_prefix("Max Payload Size set to ")?;
    Some(LogKind::MpsSet {
        payload: link_number(sizes)?,
        supported: link_number(sizes.split_once('/').or_else(|| sizes.split_once("max "))?.1)?,
        was: link_number(sizes.split_once("was ")?.1)?,
        read_request: sizes.split_once("Max Read Rq ").and_then(|(_, size)| link_number(size)),
    })
}

/// Reads the number at the start of `  256/ 256`.
fn link_number(text: &str) -> Option<Bytes> {
    number::count(text).map(Bytes::new)
}

/// Records as they come in, and the counts.
#[derive(Default)]
pub(super) struct AerRecords {
    /// The record that is open for each function.
    open: BTreeMap<PciAddress, OpenAerRecord>,
    counts: BTreeMap<PciAddress, (Aer, String)>,
}

#[derive(Clone, Copy)]
struct OpenAerRecord {
    severity: AerSeverity,
    /// Whether the status register was seen, so that the names of its bits say nothing more.
    is_counted: bool,
}

/// Advanced Error Reporting (`drivers/pci/pcie/aer.c`). A record is two or more messages: whom and how bad, the status
/// register, and the name of each bit in it. The register says all; names only count where it is missing.
///
/// A message about errors.
pub(super) fn take_aer(boot: &mut Boot, device: &DmesgDevice<'_>, line: &LogLine<'_>) -> Option<()> {
    let rest = device.rest.strip_prefix("AER:").unwrap_or(device.rest).trim_start();
    if let Some(severity) = rest.split_once("severity=").map(|(_, text)| text).and_then(parse_severity)
        && rest.starts_with("PCIe Bus Error:")
    {
        boot.aer.open.insert(device.address, OpenAerRecord { severity, is_counted: false });
        entry(boot, device.address);
        return Some(());
    }
    if let Some(bits) = rest.split_once("error status/mask=").and_then(|(_, text)| parse_status(text)) {
        return count_status(boot, device.address, bits, line);
    }
    if let Some(name) = parse_bit(rest) {
        return count_bit(boot, device.address, name, line);
    }
    if rest.contains("callbacks suppressed") {
        boot.event_at(device.address, LogKind::AerSuppressed, line);
        return Some(());
    }
    let (severity, from) = parse_message(rest)?;
    let about = from.unwrap_or(device.address);
    boot.buses.set_above(about, device.address);
    entry(boot, about);
    boot.event_at(about, LogKind::AerMessage(severity), line);
    Some(())
}

/// Reads `Corrected, type=…` and the wordings of other versions.
fn parse_severity(text: &str) -> Option<AerSeverity> {
    let text = text.split(", type").next().unwrap_or(text);
    if text.starts_with("Correct") {
        Some(AerSeverity::Corrected)
    } else if text.contains("(Non-Fatal") || text.contains("non-fatal") {
        Some(AerSeverity::NonFatal)
    } else {
        text.contains("(Fatal").then_some(AerSeverity::Fatal)
    }
}

/// Reads `00000001/0000e000`: the bits that are set and not masked.
fn parse_status(text: &str) -> Option<u32> {
    let (status, mask) = text.trim().split_once('/')?;
    let mask = mask.split_whitespace().next()?;
    Some(u32::from_str_radix(status, 16).ok()? & !u32::from_str_radix(mask, 16).ok()?)
}

/// Reads the name of `[ 0] RxErr                  (First)`.
fn parse_bit(rest: &str) -> Option<&str> {
    let (bit, name) = rest.strip_prefix('[')?.split_once(']')?;
    bit.trim().parse::<u8>().ok()?;
    Some(name.split("(First)").next()?.trim())
}

/// Reads `Multiple Corrected error received: 0000:02:00.0`, `Correctable error message received from 0000:06:00.0`, and
/// `Corrected error received: id=00e0`, which names bus and function in one number.
fn parse_message(rest: &str) -> Option<(AerSeverity, Option<PciAddress>)> {
    let rest = rest.strip_prefix("Multiple ").unwrap_or(rest);
    let (kind, from) = rest
        .split_once(" error message received from ")
        .or_else(|| rest.split_once(" error received:"))
        .or_else(|| rest.split_once(" errors received:"))?;
    let severity = parse_severity(kind)?;
    Some((severity, from.split_whitespace().next().and_then(|from| from.parse().ok())))
}

fn count_status(boot: &mut Boot, address: PciAddress, bits: u32, line: &LogLine<'_>) -> Option<()> {
    let open = boot.aer.open.get_mut(&address)?;
    open.is_counted = true;
    let severity = open.severity;
    for (_, name, _) in status_table(severity).iter().filter(|(bit, _, _)| bits & 1 << bit != 0) {
        count_error(boot, address, severity, name, line);
    }
    Some(())
}

fn count_bit(boot: &mut Boot, address: PciAddress, name: &str, line: &LogLine<'_>) -> Option<()> {
    let open = boot.aer.open.get(&address);
    if !open.is_some_and(|open| open.is_counted) {
        // Without the message that says how bad it is, only corrected errors are known by their names.
        let severity = open.map_or(AerSeverity::Corrected, |open| open.severity);
        let mut known = status_table(severity).iter();
        let (_, name, _) = known.find(|(_, new, old)| *new == name || old.eq_ignore_ascii_case(name))?;
        count_error(boot, address, severity, name, line);
    }
    Some(())
}

const fn status_table(severity: AerSeverity) -> &'static [(u32, &'static str, &'static str)] {
    match severity {
        AerSeverity::Corrected => CORRECTABLE,
        AerSeverity::NonFatal | AerSeverity::Fatal => UNCORRECTABLE,
    }
}

fn count_error(
    boot: &mut Boot,
    address: PciAddress,
    severity: AerSeverity,
    name: &'static str,
    line: &LogLine<'_>,
) {
    let (aer, _) =
        boot.aer.counts.entry(address).or_insert_with(|| (Aer::default(), line.source().as_str().to_owned()));
    let counts = match severity {
        AerSeverity::Corrected => &mut aer.correctable,
        AerSeverity::NonFatal => &mut aer.nonfatal,
        AerSeverity::Fatal => &mut aer.fatal,
    };
    let counted = counts.entry(name.to_owned()).or_default();
    *counted = counted.saturating_add(1);
    boot.event_at(address, LogKind::AerError { severity, name }, line);
}

/// Writes the counts to the functions.
pub(super) fn finish_aer(boot: &mut Boot) {
    for (address, (aer, source)) in std::mem::take(&mut boot.aer.counts) {
        entry(boot, address).aer = narrows_base::fact::Fact::known(aer, source);
    }
}

/// Host bridges of small machines, which say how their only link came up.
///
/// Understands `rockchip-dw-pcie a40000000.pcie: PCIe Gen.2 x1 link up`, `xgene-pcie 1f500000.pcie: (rc) x8 gen-2 link
/// up`, `brcm-pcie fd500000.pcie: link up, 5.0 GT/s PCIe x1 (SSC)`, and `… PCI host bridge to bus 0000:00`.
pub(super) fn take_host_bridge(boot: &mut Boot, line: &LogLine<'_>) -> Option<()> {
    let [driver, name, rest] = fields(line.message, "{} {}: {}")?;
    if name.contains(' ') || !(driver.contains("pci") || name.contains("pci")) {
        return None;
    }
    if let Some(link) = parse_link_up(rest) {
        boot.buses.port_links.insert(name.to_owned(), (line.known(link.speed), line.known(link.width)));
        return Some(());
    }
    boot.buses.set_host(name, rest.strip_prefix("PCI host bridge to bus ")?)
}

fn parse_link_up(rest: &str) -> Option<StatedLink> {
    if rest.starts_with("link up, ") {
        return parse_link(rest);
    }
    let words = || rest.strip_suffix("link up").into_iter().flat_map(str::split_whitespace);
    let generation = words().find_map(|word| word.strip_prefix("Gen.").or(word.strip_prefix("gen-")))?;
    let width = Lanes::parse(words().find(|word| word.starts_with('x'))?)?;
    Some(StatedLink { speed: GtPerSec::from_pcie_generation(generation.parse().ok()?)?, width })
}
