//! The kernel's log, out of `dmesg`, the journal or syslog, with or without stamps, whole or in pieces.
//!
//! It tells what the kernel found when it started: links may have been trained again since. Where a file holds several
//! boots the last that says anything counts. Wordings are those of the kernel's sources, from 2.6.30 on.

mod aer;
mod ata;
mod driver;
mod fc;
mod link;
mod md;
mod message;
mod mmc;
mod nic;
mod nvme;
mod pci;
mod port;
mod scsi;
mod system;
mod usb;

use std::collections::BTreeMap;

use super::{Gap, Lacks, Part, Rank, Text};
use message::Line;
use narrows_machine::Machine;
use narrows_machine::block::MdArray;
use narrows_machine::log::{EventLog, LogEvent, LogKind};
use narrows_machine::pci::PciAddress;

/// What one boot said.
#[derive(Default)]
struct Boot {
    machine: Machine,
    log: EventLog,
    buses: pci::Buses,
    aer: aer::Records,
    disks: ata::Disks,
    cards: mmc::Cards,
    adapters: scsi::Adapters,
    arrays: BTreeMap<String, MdArray>,
    usb: usb::Hosts,
    /// Whether any message was understood.
    is_known: bool,
    /// Whether it is the kernel that writes a crash dump (`elfcorehdr=`, kernel Documentation/admin-guide/kdump): it has a small
    /// part of the memory and few drivers.
    is_crash: bool,
}

impl Boot {
    /// Counts an event of a PCI function.
    fn event_at(&mut self, address: PciAddress, kind: LogKind, line: &Line<'_>) {
        self.log.add(LogEvent { pci: Some(address), device: None, kind, count: 1, source: line.source() });
    }

    /// Counts an event of a device that has a name.
    fn event_of(&mut self, device: &str, pci: Option<PciAddress>, kind: LogKind, line: &Line<'_>) {
        let device = Some(device.to_owned());
        self.log.add(LogEvent { pci, device, kind, count: 1, source: line.source() });
    }

    /// Understands one message.
    fn take(&mut self, line: &Line<'_>) {
        let known = match device_of(line.message) {
            Some(device) => self.take_pci(&device, line),
            None => {
                system::take(self, line)
                    || nvme::take(self, line)
                    || ata::take(self, line)
                    || usb::take(self, line)
                    || md::take(self, line)
                    || mmc::take(self, line)
                    || port::take(self, line)
                    || pci::take_bus(self, line)
            }
        };
        self.is_known |= known;
    }

    /// A message may be of interest in several ways: every reader sees it.
    fn take_pci(&mut self, device: &Device<'_>, line: &Line<'_>) -> bool {
        let known = [
            pci::take(self, device, line),
            link::take(self, device, line),
            aer::take(self, device, line),
            usb::take_controller(self, device, line),
            ata::take_controller(self, device, line),
            scsi::take_controller(self, device, line),
            nic::take(self, device, line),
            fc::take(self, device, line),
            pci::bind(self, device, line),
        ];
        known.contains(&true)
    }

    /// Puts together what was said in several messages.
    fn finish(mut self) -> Machine {
        pci::finish(&mut self);
        aer::finish(&mut self);
        usb::finish(&mut self);
        ata::finish(&mut self);
        mmc::finish(&mut self);
        md::finish(&mut self);
        self.machine.log = self.log.into_events();
        self.machine
    }
}

/// Whom a message is about: `igb 0000:03:00.0 eth0: …`, `pcieport 0000:00:1c.0: …`.
struct Device<'a> {
    /// The driver, or `pci` before there is one.
    driver: &'a str,
    address: PciAddress,
    /// What is said; with the name of the interface before it, where there is one.
    rest: &'a str,
}

fn device_of(message: &str) -> Option<Device<'_>> {
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
    Some(Device { driver, address: address.parse().ok()?, rest })
}

/// Reads the messages of the kernel in `text`.
pub fn read(text: &Text) -> Part {
    let mut boot = Boot::default();
    let mut before: Option<Boot> = None;
    let mut functions = pci::Identities::default();
    message::for_each(text, |line| {
        if system::is_boot(line.message) && boot.is_known {
            functions.remember(&boot.machine.pci);
            let last = std::mem::take(&mut boot);
            if !(last.is_crash && before.is_some()) {
                before = Some(last);
            }
        }
        boot.take(line);
    });
    let says_something = |boot: &Boot| !boot.machine.pci.is_empty() || !boot.log.is_empty();
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
    gaps.extend(names_alone.into_iter().map(|name| Gap {
        what: format!("what {name} is, and what carries it"),
        run: "lsblk -o NAME,SIZE,TRAN,HCTL,MODEL".to_owned(),
        lacks: Lacks::Disk(name),
    }));
    Part { kind: Some("dmesg"), rank: Rank::Log, machine, gaps }
}

fn gaps(machine: &Machine) -> Vec<Gap> {
    if machine.pci.is_empty() {
        return Vec::new();
    }
    vec![Gap {
        what: "the PCI Express links as they are now: the log tells those of an earlier time".to_owned(),
        run: "sudo lspci -vvv".to_owned(),
        lacks: Lacks::PresentLinks,
    }]
}

#[cfg(test)]
mod tests;
