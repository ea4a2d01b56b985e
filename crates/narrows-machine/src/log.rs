//! What the kernel's log tells beyond the state that a machine has now: claims made at boot, errors, links that went
//! down. Filled from captures only; the live machine is asked for its state instead.

use std::collections::HashMap;

use super::fact::Source;
use super::pci::PciAddress;
use narrows_base::units::{Bytes, GtPerSec, Lanes};

/// A link as a message of the kernel states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StatedLink {
    /// The rate of a lane.
    pub speed: GtPerSec,
    /// The number of lanes.
    pub width: Lanes,
}

/// How bad an error of the link is (PCI Express Base Specification 5.0, section 6.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AerSeverity {
    /// The hardware made up for it, by sending again.
    Corrected,
    /// A transfer was lost; the link works on.
    NonFatal,
    /// The link cannot be relied on.
    Fatal,
}

/// What a line of the log says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LogKind {
    /// `… available PCIe bandwidth, limited by 5.0 GT/s PCIe x1 link at …`: the link with the least bandwidth on the way
    /// from the device to the root complex, the topmost of equals, as it was when the line was written (kernel
    /// `drivers/pci/pci.c`, `pcie_bandwidth_available`). It may lie above the device's own link, and links are trained
    /// again later.
    BandwidthLimited {
        /// That narrowest link.
        by: StatedLink,
        /// The lower function of the two that the link joins, or the port above them: whichever is named.
        at: Option<PciAddress>,
        /// What the device could do.
        capable: Option<StatedLink>,
    },
    /// Every link on the way carries what the device can do.
    BandwidthFull(StatedLink),
    /// Error records with their status register decoded; one for each error in it.
    AerError {
        /// How bad.
        severity: AerSeverity,
        /// The error as sysfs names it: `RxErr`, `BadTLP`, `Timeout`.
        name: &'static str,
    },
    /// A port received an error message from this function. Details may be missing: the kernel suppresses repetitions.
    AerMessage(AerSeverity),
    /// The kernel left out further messages of this kind, `callbacks suppressed`.
    AerSuppressed,
    /// Downstream Port Containment took the link down.
    Contained,
    /// The payload size could not be made what the port above uses.
    MpsRefused(Bytes),
    /// Payload and read request sizes that the kernel set.
    MpsSet {
        /// Max_Payload_Size now.
        payload: Bytes,
        /// Max_Payload_Size Supported.
        supported: Bytes,
        /// Max_Payload_Size as the firmware left it.
        was: Bytes,
        /// Max_Read_Request_Size.
        read_request: Option<Bytes>,
    },
    /// A quirk keeps read requests at this size.
    MrrsLimited(Bytes),
    /// The kernel trained a link again at a lower rate because it did not come up.
    LinkRetrainedAt(GtPerSec),
    /// Training the link again did not help.
    RetrainFailed,
    /// A hot-plug port saw its link go down.
    LinkDown,
    /// A hot-plug port saw its link come up.
    LinkUp,
    /// A hot-plug port saw a card that brings up no link, or does not answer.
    NoDevice,
    /// A command of the drive did not complete in time.
    NvmeTimeout,
    /// The controller does not answer any more and is reset.
    ControllerDown,
    /// The driver gave the drive or adapter up.
    ProbeFailed,
    /// The driver let go of a drive that it was setting up: it failed, or was pulled out.
    NvmeRemoved,
    /// The drive borrows this much memory of the host.
    HostMemoryBuffer(Bytes),
    /// The number of I/O queues that carry reads and writes.
    NvmeQueues(u32),
    /// libata lowered the line rate of a SATA link after errors, in Mbit/s.
    SataLimited(u32),
    /// The SATA or SCSI link was reset after errors.
    SataReset,
    /// The device on a SATA port did not answer when its link was reset.
    SataNoAnswer,
    /// A command on a SATA port failed or timed out.
    SataCommandFailed,
    /// A disk of FreeBSD, which counts no ports, did not carry a command out: it is sent again a few times.
    CommandFailed,
    /// A USB device was reset, or one of its commands taken back.
    UsbReset,
    /// A device on a USB port did not answer while the kernel set it up.
    UsbNoAnswer,
    /// A SCSI command did not end in time, and was taken back or its device reset.
    CommandAborted,
    /// Transfers between a drive and its port came with errors.
    TransferError,
    /// A drive did not read or write what was asked for.
    DriveError,
    /// The same by whoever asked, which often repeats what the drive was said to do.
    BufferError,
    /// A drive could not read its medium: what the kernel made of it.
    MediumError,
    /// The same in the words of the drive.
    MediumSense,
    /// A drive refused access, as one that is locked does.
    AccessDenied,
    /// The supply of a board gave too little voltage.
    UnderVoltage,
    /// A member of a RAID array failed.
    RaidMemberFailed,
    /// A file server did not answer in time.
    ServerSilent,
    /// The connection to storage behind a network failed.
    ConnectionLost,
    /// A file system could not read or write what is its own, or found that it is not what it wrote.
    FileSystemDamaged,
    /// A task was blocked for as long as the kernel waits before it says so, 120 s where nobody set another time.
    TaskHung,
}

/// One kind of event of one device, however often it occurred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEvent {
    /// The PCI function, where the log names it or ties the device to it.
    pub pci: Option<PciAddress>,
    /// The device by its kernel name, `nvme0`, `ata5`, `md0`.
    pub device: Option<String>,
    /// What happened.
    pub kind: LogKind,
    /// How often, at least 1.
    pub count: u64,
    /// The first line that says it.
    pub source: Source,
}

/// The events of a log: each kind of a device once, in the order of their first lines.
#[derive(Debug, Clone, Default)]
pub struct EventLog {
    events: Vec<LogEvent>,
    places: HashMap<(Option<PciAddress>, Option<String>, LogKind), usize>,
}

impl EventLog {
    /// Kinds beyond this many are dropped: no log of a real machine has so many, and memory is bounded.
    const MOST: usize = 20_000;

    /// Counts `count` more events of this kind.
    pub fn add(&mut self, event: LogEvent) {
        let key = (event.pci, event.device.clone(), event.kind.clone());
        if let Some(known) = self.places.get(&key).and_then(|place| self.events.get_mut(*place)) {
            known.count = known.count.saturating_add(event.count);
        } else if self.events.len() < Self::MOST {
            self.places.insert(key, self.events.len());
            self.events.push(event);
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub fn into_events(self) -> Vec<LogEvent> {
        self.events
    }

    /// The same of events that may be equal.
    pub fn merged(events: impl IntoIterator<Item = LogEvent>) -> Vec<LogEvent> {
        let mut log = Self::default();
        events.into_iter().for_each(|event| log.add(event));
        log.events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: LogKind, line: &str) -> LogEvent {
        LogEvent { pci: None, device: Some("nvme0".into()), kind, count: 1, source: Source::new(line) }
    }

    #[test]
    fn repeated_events_are_counted_and_keep_their_first_line() {
        let mut log = EventLog::default();
        log.add(event(LogKind::NvmeTimeout, "dmesg:4"));
        log.add(event(LogKind::ControllerDown, "dmesg:5"));
        log.add(event(LogKind::NvmeTimeout, "dmesg:6"));
        let events = log.into_events();
        assert_eq!(events.len(), 2);
        assert_eq!((events[0].count, events[0].source.as_str()), (2, "dmesg:4"));
        assert_eq!(events[1].kind, LogKind::ControllerDown);
    }

    #[test]
    fn memory_is_bounded() {
        let mut log = EventLog::default();
        for queues in 0..30_000 {
            log.add(event(LogKind::NvmeQueues(queues), "dmesg:1"));
        }
        assert_eq!(log.into_events().len(), EventLog::MOST);
    }
}
