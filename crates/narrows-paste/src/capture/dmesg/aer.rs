//! Advanced Error Reporting (`drivers/pci/pcie/aer.c`). A record is two or more messages: whom and how bad, the status
//! register, and the name of each bit in it. The register says all; names only count where it is missing.

use std::collections::BTreeMap;

use super::pci::entry;
use super::{Boot, Device, Line};
use narrows_machine::log::{AerSeverity, LogEvent, LogKind};
use narrows_machine::pci::{Aer, PciAddress};

/// Bits of the Correctable Error Status register, by the kernel's names (PCI Express Base Specification 5.0, section
/// 7.8.4.5; `aer_correctable_error_string`), and the names that older kernels print.
const CORRECTABLE: &[(u32, &str, &str)] = &[
    (0, "RxErr", "Receiver Error"),
    (6, "BadTLP", "Bad TLP"),
    (7, "BadDLLP", "Bad DLLP"),
    (8, "Rollover", "RELAY_NUM Rollover"),
    (12, "Timeout", "Replay Timer Timeout"),
    (13, "NonFatalErr", "Advisory Non-Fatal"),
    (14, "CorrIntErr", "Corrected Internal Error"),
    (15, "HeaderOF", "Header Log Overflow"),
];

/// Bits of the Uncorrectable Error Status register (section 7.8.4.2; `aer_uncorrectable_error_string`).
const UNCORRECTABLE: &[(u32, &str, &str)] = &[
    (0, "Undefined", "Undefined"),
    (4, "DLP", "Data Link Protocol"),
    (5, "SDES", "Surprise Down Error"),
    (12, "TLP", "Poisoned TLP"),
    (13, "FCP", "Flow Control Protocol"),
    (14, "CmpltTO", "Completion Timeout"),
    (15, "CmpltAbrt", "Completer Abort"),
    (16, "UnxCmplt", "Unexpected Completion"),
    (17, "RxOF", "Receiver Overflow"),
    (18, "MalfTLP", "Malformed TLP"),
    (19, "ECRC", "ECRC"),
    (20, "UnsupReq", "Unsupported Request"),
    (21, "ACSViol", "ACS Violation"),
    (22, "UncorrIntErr", "Uncorrectable Internal Error"),
    (23, "BlockedTLP", "MC Blocked TLP"),
    (24, "AtomicOpBlocked", "AtomicOp Egress Blocked"),
    (25, "TLPBlockedErr", "TLP Prefix Blocked Error"),
    (26, "PoisonTLPBlocked", "Poisoned TLP Egress Blocked"),
];

/// Records as they come in, and the counts.
#[derive(Default)]
pub(super) struct Records {
    /// The record that is open for each function.
    open: BTreeMap<PciAddress, Open>,
    counts: BTreeMap<PciAddress, (Aer, String)>,
}

#[derive(Clone, Copy)]
struct Open {
    severity: AerSeverity,
    /// Whether the status register was seen, so that the names of its bits say nothing more.
    is_counted: bool,
}

/// A message about errors.
pub(super) fn take(boot: &mut Boot, device: &Device<'_>, line: &Line<'_>) -> bool {
    let rest = device.rest.strip_prefix("AER:").unwrap_or(device.rest).trim_start();
    if let Some(severity) = rest.split_once("severity=").map(|(_, text)| text).and_then(parse_severity)
        && rest.starts_with("PCIe Bus Error:")
    {
        boot.aer.open.insert(device.address, Open { severity, is_counted: false });
        entry(boot, device.address);
        return true;
    }
    if let Some(bits) = rest.split_once("error status/mask=").and_then(|(_, text)| parse_status(text)) {
        return count_status(boot, device.address, bits, line);
    }
    if let Some(name) = parse_bit(rest) {
        return count_bit(boot, device.address, name, line);
    }
    if rest.contains("callbacks suppressed") {
        boot.event_at(device.address, LogKind::AerSuppressed, line);
        return true;
    }
    let Some((severity, from)) = parse_message(rest) else { return false };
    let about = from.unwrap_or(device.address);
    boot.buses.set_above(about, device.address);
    entry(boot, about);
    boot.event_at(about, LogKind::AerMessage(severity), line);
    true
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

fn count_status(boot: &mut Boot, address: PciAddress, bits: u32, line: &Line<'_>) -> bool {
    let Some(open) = boot.aer.open.get_mut(&address) else { return false };
    open.is_counted = true;
    let severity = open.severity;
    for (_, name, _) in table(severity).iter().filter(|(bit, _, _)| bits & 1 << bit != 0) {
        count(boot, address, severity, name, line);
    }
    true
}

fn count_bit(boot: &mut Boot, address: PciAddress, name: &str, line: &Line<'_>) -> bool {
    let named = |table: &'static [(u32, &'static str, &'static str)]| {
        table.iter().find(|(_, new, old)| *new == name || old.eq_ignore_ascii_case(name)).map(|found| found.1)
    };
    let open = boot.aer.open.get(&address);
    if open.is_some_and(|open| open.is_counted) {
        return true;
    }
    // Without the message that says how bad it is, only corrected errors are known by their names.
    let severity = open.map_or(AerSeverity::Corrected, |open| open.severity);
    let Some(name) = named(table(severity)) else { return false };
    count(boot, address, severity, name, line);
    true
}

const fn table(severity: AerSeverity) -> &'static [(u32, &'static str, &'static str)] {
    match severity {
        AerSeverity::Corrected => CORRECTABLE,
        AerSeverity::NonFatal | AerSeverity::Fatal => UNCORRECTABLE,
    }
}

fn count(boot: &mut Boot, address: PciAddress, severity: AerSeverity, name: &'static str, line: &Line<'_>) {
    let (aer, _) =
        boot.aer.counts.entry(address).or_insert_with(|| (Aer::default(), line.source().as_str().to_owned()));
    let counts = match severity {
        AerSeverity::Corrected => &mut aer.correctable,
        AerSeverity::NonFatal => &mut aer.nonfatal,
        AerSeverity::Fatal => &mut aer.fatal,
    };
    let counted = counts.entry(name.to_owned()).or_default();
    *counted = counted.saturating_add(1);
    let kind = LogKind::AerError { severity, name };
    boot.log.add(LogEvent { pci: Some(address), device: None, kind, count: 1, source: line.source() });
}

/// Writes the counts to the functions.
pub(super) fn finish(boot: &mut Boot) {
    for (address, (aer, source)) in std::mem::take(&mut boot.aer.counts) {
        entry(boot, address).aer = narrows_base::fact::Fact::known(aer, source);
    }
}
