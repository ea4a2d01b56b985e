//! The kernel's log, out of `dmesg`, the journal or syslog, with or without stamps, whole or in pieces.
//!
//! It tells what the kernel found when it started: links may have been trained again since. Where a file holds several
//! boots the last that says anything counts. Wordings are those of the kernel's sources, from 2.6.30 on.

mod ata;
mod drives;
mod errors;
mod freebsd;
mod link;
mod pci;
mod ports;
mod scsi;
mod system;
mod usb;

use std::borrow::Cow;
use std::collections::BTreeMap;

use narrows_base::fact::{Fact, Source};
use narrows_machine::Machine;
use narrows_machine::block::MdArray;
use narrows_machine::log::{EventLog, LogEvent, LogKind};
use narrows_machine::pci::PciAddress;

use super::device::learn;
use super::{Gap, Lacks, Part, Rank, Text, gap};
use crate::text::{stamp, wrap};

/// What one boot said.
#[derive(Default)]
struct Boot {
    machine: Machine,
    log: EventLog,
    buses: pci::Buses,
    aer: link::AerRecords,
    disks: ata::Disks,
    cards: drives::MmcCards,
    adapters: scsi::Adapters,
    freebsd: freebsd::Disks,
    arrays: BTreeMap<String, MdArray>,
    usb: usb::Hosts,
    /// Whether the line above took back a command of a disk that it did not name.
    is_aborting: bool,
    /// Whether any message was understood.
    is_known: bool,
    /// Whether it is the kernel that writes a crash dump (`elfcorehdr=`, kernel Documentation/admin-guide/kdump): it has a small
    /// part of the memory and few drivers.
    is_crash: bool,
}

impl Boot {
    /// Counts an event of a PCI function.
    fn event_at(&mut self, address: PciAddress, kind: LogKind, line: &LogLine<'_>) {
        self.log.add(LogEvent { pci: Some(address), device: None, kind, count: 1, source: line.source() });
    }

    /// Counts an event of a device that has a name.
    fn event_of(&mut self, device: &str, pci: Option<PciAddress>, kind: LogKind, line: &LogLine<'_>) {
        let device = Some(device.to_owned());
        self.log.add(LogEvent { pci, device, kind, count: 1, source: line.source() });
    }

    /// Understands one message.
    fn take(&mut self, line: &LogLine<'_>) {
        // What tells of an error may tell a fact, too.
        self.is_known |= errors::take(self, line).is_some();
        self.is_known |= match device_of(line.message) {
            // It may be of interest in several ways: every reader sees it.
            Some(device) => OF_FUNCTIONS.iter().filter_map(|take| take(self, &device, line)).count() > 0,
            None => OTHERS.iter().any(|take| take(self, line).is_some()),
        };
    }

    /// Puts together what was said in several messages.
    fn finish(mut self) -> Machine {
        pci::finish(&mut self);
        link::finish_aer(&mut self);
        usb::finish(&mut self);
        let names = ata::names(&self);
        ata::finish(&mut self);
        drives::finish_mmc(&mut self);
        drives::finish_md(&mut self);
        freebsd::finish(&mut self);
        // A disk may have been named only behind what was said of its address.
        self.machine.log = EventLog::merged(self.log.into_events().into_iter().map(|mut event| {
            let name = event.device.as_ref().and_then(|at| names.get(at)).cloned();
            event.device = name.or(event.device);
            event
        }));
        self.machine
    }
}

/// A reader of messages about a PCI function; `None` of one that it does not understand.
type OfFunction = fn(&mut Boot, &DmesgDevice<'_>, &LogLine<'_>) -> Option<()>;

const OF_FUNCTIONS: [OfFunction; 9] = [
    pci::take,
    link::take_link,
    link::take_aer,
    usb::take_controller,
    ata::take_controller,
    scsi::take_controller,
    ports::take_nic,
    ports::take_fc,
    pci::bind,
];

/// The readers of all other messages, of which the first counts that understands one.
const OTHERS: [fn(&mut Boot, &LogLine<'_>) -> Option<()>; 9] = [
    system::take,
    drives::take_nvme,
    ata::take,
    usb::take,
    drives::take_md,
    drives::take_mmc,
    link::take_host_bridge,
    pci::take_bus,
    freebsd::take,
];

/// Whom a message is about: `igb 0000:03:00.0 eth0: …`, `pcieport 0000:00:1c.0: …`.
struct DmesgDevice<'a> {
    /// The driver, or `pci` before there is one.
    driver: &'a str,
    address: PciAddress,
    /// What is said; with the name of the interface before it, where there is one.
    rest: &'a str,
}

fn device_of(message: &str) -> Option<DmesgDevice<'_>> {
    let (driver, behind) = message.split_once(' ')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if driver.is_empty() || driver.len() > 32 || !driver.chars().all(is_name) {
        return None;
    }
    let (word, rest) = behind.split_once(' ')?;
    let address = match word.strip_prefix('[') {
        // `qla2xxx [0000:84:00.0]-001d: : …`
        Some(bracketed) => bracketed.split(']').next()?,
        None => word.strip_suffix(':').unwrap_or(word),
    };
    (address.len() >= 12 && address.matches(':').count() == 2).then_some(())?;
    Some(DmesgDevice { driver, address: address.parse().ok()?, rest })
}

/// Reads the messages of the kernel in `text`.
pub fn read(text: &Text) -> Part {
    let mut boot = Boot::default();
    let mut before: Option<Boot> = None;
    let mut functions = pci::Identities::default();
    for_each_message(text, |line| {
        if (system::is_boot(line.message) || freebsd::is_boot(line.message)) && boot.is_known {
            functions.remember(&boot.machine.pci);
            let last = std::mem::take(&mut boot);
            if !(last.is_crash && before.is_some()) {
                before = Some(last);
            }
        }
        boot.take(line);
    });
    let says_something =
        |boot: &Boot| !boot.machine.pci.is_empty() || !boot.log.is_empty() || !boot.freebsd.is_empty();
    if (!says_something(&boot) || boot.is_crash)
        && let Some(before) = before.filter(says_something)
    {
        boot = before;
    }
    if !boot.is_known {
        return Part::default();
    }
    functions.fill(&mut boot.machine.pci);
    let names_alone = ata::names_alone(&boot);
    let machine = boot.finish();
    let mut gaps = gaps(&machine);
    gaps.extend(names_alone.into_iter().map(|name| {
        let what = format!("what {name} is, and what carries it");
        gap(what, "lsblk -o NAME,SIZE,TRAN,HCTL,MODEL", Lacks::Disk(name))
    }));
    Part { kind: Some("dmesg"), rank: Rank::Log, machine, gaps }
}

fn gaps(machine: &Machine) -> Vec<Gap> {
    if machine.pci.is_empty() {
        return Vec::new();
    }
    let what = "the PCI Express links as they are now: the log tells those of an earlier time";
    vec![gap(what, "sudo lspci -vvv", Lacks::PresentLinks)]
}

/// Mail breaks at 72 columns; no message of interest fills more than this many further lines.
const MOST_CONTINUATIONS: usize = 4;

/// One message of the log.
struct LogLine<'a> {
    /// The message, whole, without what stands before it.
    message: &'a str,
    text: &'a Text,
    number: usize,
}

impl LogLine<'_> {
    /// The place of the message.
    fn source(&self) -> Source {
        Source::new(self.text.source(self.number))
    }

    /// A fact that this message states.
    fn known<T>(&self, value: T) -> Fact<T> {
        Fact::known(value, self.text.source(self.number))
    }

    /// Puts down what this message states of something that is not known yet.
    fn learn<T>(&self, fact: &mut Fact<T>, value: T) {
        learn(fact, Some(value), &self.text.source(self.number));
    }
}

/// Calls `take` with every message, broken ones joined.
fn for_each_message(text: &Text, mut take: impl FnMut(&LogLine<'_>)) {
    let mut open: Option<(usize, Cow<'_, str>, usize)> = None;
    let mut close = |open: Option<(usize, Cow<'_, str>, usize)>| {
        if let Some((number, message, _)) = open {
            take(&LogLine { message: &message, text, number });
        }
    };
    let width = wrap::terminal_width(text);
    let mut is_full = false;
    for (number, line) in text.lines() {
        let is_broken_in_word = std::mem::replace(&mut is_full, width == Some(line.chars().count()))
            && !line.starts_with(char::is_whitespace);
        let (is_stamped, message) = stamp::strip(line);
        if is_stamped || starts_message(message) {
            close(open.replace((number, Cow::Borrowed(message), 0)));
        } else if message.is_empty() {
            close(open.take());
        } else if of_kmsg(message) {
            continue;
        } else if let Some((_, whole, continuations)) = &mut open
            && *continuations < MOST_CONTINUATIONS
        {
            *continuations += 1;
            let whole = whole.to_mut();
            if !is_broken_in_word {
                whole.push(' ');
            }
            whole.push_str(message);
        }
    }
    close(open);
}

/// `SUBSYSTEM=pci` and `DEVICE=+pci:0000:01:00.0`, which `/dev/kmsg` has below a message.
fn of_kmsg(message: &str) -> bool {
    message.starts_with("SUBSYSTEM=") || message.starts_with("DEVICE=+") || message.starts_with("DEVICE=c")
}

/// Whether a line without a stamp starts a message of a device, rather than going on with the one above.
fn starts_message(line: &str) -> bool {
    let Some((first, rest)) = line.split_once(' ') else { return false };
    match first {
        "DMI:" | "Linux" | "md:" | "CIFS:" | "mptscsih:" | "blk_update_request:" | "print_req_error:" => true,
        "I/O" => rest.starts_with("error, dev "),
        "Buffer" => rest.starts_with("I/O error on "),
        "EXT4-fs" => rest.starts_with("error (device "),
        "BTRFS" => rest.contains("(device "),
        "XFS" => rest.starts_with('('),
        "nfs:" => rest.starts_with("server "),
        "INFO:" => rest.starts_with("task "),
        "Under-voltage" => rest.starts_with("detected!"),
        _ if freebsd::starts_message(line) => true,
        _ if first.ends_with(':') => {
            let name = first.trim_end_matches(':');
            name.starts_with("md/")
                || (["ata", "mmc", "nvme", "mpt2sas_cm", "mpt3sas_cm"]
                    .iter()
                    .any(|start| name.starts_with(start))
                    && name.ends_with(|c: char| c.is_ascii_digit()))
        }
        _ => names_device(rest) || device_of(line).is_some(),
    }
}

/// Whether `rest`, behind the name of a driver, starts with that of a device: `2-1: `, `0000:80: `, `fd500000.pcie: `.
fn names_device(rest: &str) -> bool {
    let name = rest.split_once(": ").map_or("", |(name, _)| name);
    !name.contains(' ') && name.bytes().any(|byte| byte.is_ascii_digit())
}

/// The address that a text begins with.
fn parse_address(text: &str) -> Option<PciAddress> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests;
