//! `device_errors`: the kernel's log tells that a drive, or the way to it, failed.
//!
//! A rate beside such errors is that of waiting: a command is waited for for 30 seconds (kernel `drivers/scsi/sd.h`, `SD_TIMEOUT`;
//! `nvme_core.io_timeout`) and sent again. What a healthy machine logs, too, is no error here: a link that is trained anew once, a USB device that is reset when it wakes, a
//! drive whose medium was taken out. Errors of a PCIe link that explain those of the drive behind it are `aer_errors`.

use std::collections::{BTreeMap, BTreeSet};

use narrows_base::lists::known_of;
use narrows_base::units::human;
use narrows_machine::Machine;
use narrows_machine::block::{Transport, freebsd_disk};
use narrows_machine::health::{AtaCounts, DriveHealth, SmartLog};
use narrows_machine::log::{LogEvent, LogKind};
use narrows_machine::zfs::{ZfsDevice, ZfsPool};
use narrows_model::path::{Hop, HopSpec};

use super::Context;
use crate::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};

/// So many resets of a SATA link that was up, or of a USB drive, are no wake-up and no start, and so many commands that FreeBSD
/// sent again no accident: an estimate on the safe side.
const FEW_RESETS: u64 = 3;

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let machine = context.machine;
    let mut of: BTreeMap<String, Vec<LogEvent>> = BTreeMap::new();
    for event in machine.log.iter().filter(|event| in_words(event).is_some()) {
        let Some(drive) = drive_of(machine, event) else { continue };
        let events = of.entry(drive).or_default();
        // A port is told with its controller from where the log names both.
        match events.iter_mut().find(|known| known.kind == event.kind) {
            Some(known) => known.count = known.count.saturating_add(event.count),
            None => events.push(event.clone()),
        }
    }
    let is_aborted = |event: &LogEvent| event.kind == LogKind::CommandAborted;
    let names_aborted =
        of.iter().any(|(drive, events)| !drive.starts_with("adapter ") && events.iter().any(is_aborted));
    for (drive, events) in &mut of {
        leave_out_repeated(events);
        // The adapter took back what its disk did not end.
        events.retain(|event| !(names_aborted && drive.starts_with("adapter ") && is_aborted(event)));
    }
    of.retain(|_, events| !events.is_empty());
    let failing = of.values().filter(|events| is_fault(events)).count();
    let told =
        of.iter().filter_map(|(drive, events)| Some((drive, finding(context, drive, events, failing)?)));
    let told: BTreeMap<_, _> = told.collect();
    let unsaid = machine.health.iter().filter(|(name, _)| !told.keys().any(|drive| *drive == whole(name)));
    let counted: Vec<Finding> =
        unsaid.filter_map(|(name, health)| of_health(context, name, health)).collect();
    let of_kind = |kind: LogKind| machine.log.iter().filter(move |event| event.kind == kind);
    let hung = of_kind(LogKind::TaskHung).next().map(of_tasks);
    let damaged = of_kind(LogKind::FileSystemDamaged).filter_map(of_file_system);
    let silent = of_kind(LogKind::UsbNoAnswer).filter(|event| drive_of(machine, event).is_none());
    let low = of_kind(LogKind::UnderVoltage).next().map(of_supply);
    let others = damaged.chain(hung).chain(silent.filter_map(of_usb_port)).chain(low);
    told.into_values().chain(counted).chain(machine.zfs.iter().filter_map(of_pool)).chain(others).collect()
}

/// Leaves out what tells of one failure once more, in other words.
fn leave_out_repeated(events: &mut Vec<LogEvent>) {
    use LogKind::{AccessDenied, BufferError, DriveError, MediumError, MediumSense};
    let has = |kinds: &[LogKind]| events.iter().any(|event| kinds.contains(&event.kind));
    let is_denied = has(&[AccessDenied]);
    let is_medium = has(&[MediumError]);
    let is_drive = has(&[DriveError, MediumError, MediumSense]);
    events.retain(|event| match event.kind {
        BufferError => !is_denied && !is_drive,
        MediumSense => !is_denied && !is_medium,
        MediumError | DriveError => !is_denied,
        _ => true,
    });
}

/// What the SMART data of a drive tells against it, where no log does.
fn of_health(context: &Context<'_>, name: &str, health: &DriveHealth) -> Option<Finding> {
    /// A few sectors that were replaced do not make a drive fail: an estimate on the safe side.
    const FEW_REPLACED: u64 = 50;
    let drive = whole(name);
    let ata = health.ata.value().copied().unwrap_or_default();
    let log = health.smart.value();
    let media = log.map_or(0, |log| log.media_errors);
    let mut told: Vec<String> = ata.is_failing.then(|| "it expects to fail".to_owned()).into_iter().collect();
    told.extend(log.into_iter().flat_map(SmartLog::warnings).map(str::to_owned));
    let is_certain = !told.is_empty();
    told.extend(counted(&ata, media));
    if told.is_empty() {
        return None;
    }
    let loses_data = ata.pending.max(ata.uncorrectable).max(media) > 0;
    let is_bad = is_certain || loses_data || ata.reallocated >= FEW_REPLACED;
    let block = context.machine.block.get(name);
    let model = block.and_then(|block| block.model.value());
    let model = model.map(|model| format!(" ({model})")).unwrap_or_default();
    let (who, device) = if drive.starts_with("unnamed") { ("the drive", "DEVICE") } else { (drive, drive) };
    let told = told.join(", ");
    let summary = format!("The SMART data of {who}{model} has errors: {told}.");
    let severity = if is_bad { Severity::Fault } else { Severity::Info };
    let source = if health.ata.value().is_some() { health.ata.source() } else { health.smart.source() };
    let advice = match (is_bad, ata.cable > 0) {
        (false, true) => format!(
            "Counts never go back: look whether `sudo smartctl -A /dev/{device}` counts more after a day of work. If it does, use \
             another cable and another port."
        ),
        (false, false) => format!(
            "Look at `sudo smartctl -A /dev/{device}` now and then: a drive whose count grows fails."
        ),
        (true, _) => "Save what matters, and replace the drive. A read of a bad sector is tried again for seconds, and all that \
                      waits behind it waits, too."
            .to_owned(),
    };
    let found = context
        .finding((Code::DeviceErrors, severity), drive, summary, |hop| is_of(hop, drive))
        .with_confidence(if is_certain { Confidence::High } else { Confidence::Medium })
        .seen("SMART data", told, source.as_str());
    Some(found.advise(advice))
}

/// What is not zero of the counts, in words.
fn counted(ata: &AtaCounts, media: u64) -> impl Iterator<Item = String> {
    let all = [
        (
            ata.pending,
            "sector that it could not read waits",
            "sectors that it could not read wait",
            " to be written",
        ),
        (ata.uncorrectable, "uncorrectable error", "uncorrectable errors", ""),
        (media, "unrecovered error", "unrecovered errors", " of its medium"),
        (ata.reallocated, "sector was replaced", "sectors were replaced", " by spare ones"),
        (ata.cable, "transfer over its cable", "transfers over its cable", " came with errors"),
    ];
    all.into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many, rest)| format!("{count} {}{rest}", if count == 1 { one } else { many }))
}

/// A file system that is not what it wrote: the drive may have lost it, or memory, a crash, or the file system itself.
fn of_file_system(event: &LogEvent) -> Option<Finding> {
    let device = event.device.as_deref()?;
    let times = times(event.count);
    let summary = format!(
        "The file system on {device} says {times} that it is damaged, or could not read or write. That alone does not \
         prove that its drive failed."
    );
    let advice = format!(
        "Save what matters before anything is repaired. `sudo smartctl -x` of the drive under {device} tells whether it \
         had errors; memory (memtest86+) and crashes do such damage, too."
    );
    let subject = format!("file system on {device}");
    Some(aside(event, subject, summary, "what the file system found").advise(advice))
}

/// A device that did not start is not told by name: it may be a drive, or a mouse.
fn of_usb_port(event: &LogEvent) -> Option<Finding> {
    let port = event.device.as_deref()?;
    let times = times(event.count);
    let summary = format!(
        "The log says {times} that the device on USB port {port} did not answer while it was set up. The log does not say whether \
         it is a drive."
    );
    let subject = format!("USB port {port}");
    Some(aside(event, subject, summary, "set-ups without an answer").advise(OF_USB))
}

/// Too little voltage: what hangs on the board's USB ports has its power from there, too.
fn of_supply(event: &LogEvent) -> Finding {
    let times = times(event.count);
    let summary = format!("The kernel says {times} that the board's supply voltage was too low.");
    aside(event, "board".to_owned(), summary, "too low voltage").advise(
        "Use the board's own power supply, and a powered hub for drives: processor and USB are slowed down or fail meanwhile.",
    )
}

/// Tasks that were blocked: something below did not answer, or another task held what they needed. That alone names no hop.
fn of_tasks(event: &LogEvent) -> Finding {
    let times = times(event.count);
    let summary = format!(
        "The kernel says {times} that a task was blocked: its I/O did not end, or it waited for a lock."
    );
    let advice = "Read the log from before the first of them: an error of a drive, an adapter or a server stands there. While it \
                  lasts, `iostat -x 1` shows the device with requests under way and none that end.";
    let found = aside(event, "tasks".to_owned(), summary, "blocked tasks").advise(advice);
    found.with_confidence(Confidence::Low)
}

/// What a log tells of something of which it does not say that it is a drive.
fn aside(event: &LogEvent, subject: String, summary: String, fact: &str) -> Finding {
    Finding::on(Code::DeviceErrors, Severity::Info, subject, summary)
        .with_confidence(Confidence::Medium)
        .seen(fact, times(event.count), event.source.as_str())
}

/// Errors that ZFS counts of the devices of a pool. One that is gone or replaced is said elsewhere.
fn of_pool(pool: &ZfsPool) -> Option<Finding> {
    let devices = pool.vdevs.iter().flat_map(|vdev| &vdev.devices);
    let sound = devices.filter(|device| device.state == "ONLINE" && !device.is_replaced);
    let errs: Vec<&ZfsDevice> = sound.filter(|device| device.errors.iter().any(|count| *count > 0)).collect();
    let words = |[reads, writes, sums]: [u64; 3]| {
        let counts = [(reads, "reads failed"), (writes, "writes failed"), (sums, "checksums were wrong")];
        known_of(counts.map(|(count, what)| (count > 0).then(|| format!("{count} {what}"))), ", ")
    };
    let more = match errs.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(", and errors of {}", human::counted(more, "more device")),
    };
    let counted = match errs.first() {
        Some(first) => Some(format!("counts errors of {}: {}{more}", first.name, words(first.errors))),
        None => {
            let words = pool.errors.value().map(|errors| words(*errors)).filter(|words| !words.is_empty());
            words.map(|words| format!("counts errors: {words}"))
        }
    };
    let lost = pool.lost.value().map(|_| "has lost data that no copy could repair".to_owned());
    let told: Vec<String> = counted.into_iter().chain(lost).collect();
    if told.is_empty() {
        return None;
    }
    let summary = format!("The ZFS pool {} {}.", pool.name, told.join(", and "));
    let source = pool.state.source().as_str();
    let evidence =
        |it: &&ZfsDevice| Evidence::new(format!("errors of {}", it.name), words(it.errors), source);
    let found = Finding::on(Code::DeviceErrors, Severity::Fault, pool.name.clone(), summary);
    let files = "`zpool status -v` names the files that are lost: take them from a backup.";
    let found = found.with_evidence(errs.iter().map(evidence)).advise_if(pool.lost.value().is_some(), files);
    Some(found.advise(
        "Save what matters. `sudo smartctl -x` of the device tells the drive from its cable; what waits for a drive \
         that repeats its reads (a resilver, a scrub, your own reads) goes at its pace.",
    ))
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// What an event says; `None` where it is no error.
fn in_words(event: &LogEvent) -> Option<String> {
    let count = event.count;
    let times = |what: &str| format!("{what} {}", times(count));
    let number = |what: &str| human::counted(count, what);
    Some(match &event.kind {
        LogKind::NvmeTimeout => format!("{} timed out", number("command")),
        LogKind::ControllerDown => times("its controller stopped answering"),
        LogKind::ProbeFailed => "the kernel gave it up".to_owned(),
        LogKind::NvmeRemoved => times("its driver removed it while setting it up"),
        LogKind::SataLimited(megabits) => {
            format!("the kernel lowered its link to {} Gbit/s", f64::from(*megabits) / 1e3)
        }
        LogKind::SataReset => times("its link was reset"),
        LogKind::SataNoAnswer => times("it did not answer a reset of its link (COMRESET)"),
        LogKind::SataCommandFailed | LogKind::CommandFailed => format!("{} failed", number("command")),
        LogKind::UsbReset => times("it was reset"),
        LogKind::UsbNoAnswer => times("it did not answer while it was set up"),
        LogKind::CommandAborted => {
            format!(
                "{} did not end in time and {} taken back",
                number("command"),
                if count == 1 { "was" } else { "were" }
            )
        }
        LogKind::TransferError => "transfers to it came with errors".to_owned(),
        LogKind::DriveError | LogKind::BufferError => number("I/O error"),
        LogKind::MediumError | LogKind::MediumSense => times("it could not read its medium"),
        LogKind::AccessDenied => times("it refused access"),
        LogKind::ServerSilent => times("it did not answer in time"),
        LogKind::ConnectionLost => times("its connection broke"),
        _ => return None,
    })
}

/// Whether events leave no healthy reading.
fn is_fault(events: &[LogEvent]) -> bool {
    events.iter().any(|event| match event.kind {
        LogKind::SataReset | LogKind::UsbReset | LogKind::UsbNoAnswer | LogKind::CommandFailed => {
            event.count >= FEW_RESETS
        }
        LogKind::TransferError => is_card(event) || event.count >= FEW_RESETS,
        // As of a drive that is pulled out.
        LogKind::NvmeRemoved => false,
        LogKind::ProbeFailed => !is_adapter(event),
        _ => true,
    })
}

fn is_card(event: &LogEvent) -> bool {
    event.device.as_deref().is_some_and(|name| name.starts_with("mmc"))
}

fn is_adapter(event: &LogEvent) -> bool {
    event.device.as_deref().is_some_and(|name| name.starts_with("adapter "))
}

/// The drive that an event is about: its kernel name, the controller of an NVMe drive, or the port where no drive is known.
fn drive_of(machine: &Machine, event: &LogEvent) -> Option<String> {
    let name = event.device.as_deref()?;
    let at = |is_it: &dyn Fn(&Transport) -> bool| {
        let mut drives = machine.block.values().filter(|block| block.partition_of.is_none());
        drives.find(|block| is_it(&block.transport)).map(|block| block.name.clone())
    };
    if name.starts_with("ata") {
        let port = |transport: &Transport| matches!(transport, Transport::Sata(sata) if sata.port == name);
        return Some(at(&port).or_else(|| only_disk(machine)).unwrap_or_else(|| name.to_owned()));
    }
    // Of what hangs on USB only drives matter.
    if is_usb_port(event) {
        return at(&|transport| matches!(transport, Transport::Usb(usb) if usb.device == name));
    }
    let drive = whole(name);
    // What is taken out while it is read fails, and is whole.
    let is_removable = machine.block.get(drive).is_some_and(|block| block.removable);
    (!is_removable).then(|| drive.to_owned())
}

/// Whether an event is told of a port of USB, `2-1`, and not of a disk.
fn is_usb_port(event: &LogEvent) -> bool {
    let is_usb = matches!(event.kind, LogKind::UsbReset | LogKind::UsbNoAnswer);
    is_usb && event.device.as_deref().is_some_and(|name| name.starts_with(|c: char| c.is_ascii_digit()))
}

/// The only disk that the texts know is on the only port that had errors: a SATA disk of which they do not tell another port.
fn only_disk(machine: &Machine) -> Option<String> {
    let ports = machine.log.iter().filter(|event| in_words(event).is_some());
    let mut ports = ports.filter_map(|event| event.device.as_deref()).filter(|name| name.starts_with("ata"));
    let first = ports.next()?;
    let known =
        machine.block.values().filter(|block| block.partition_of.is_none()).map(|block| block.name.as_str());
    let told = machine.log.iter().filter_map(|event| event.device.as_deref()).map(whole);
    let disks: BTreeSet<&str> = known.chain(told).filter(|name| name.starts_with("sd")).collect();
    let only = *disks.first().filter(|_| disks.len() == 1)?;
    let is_open = machine.block.get(only).map_or_else(
        // Of one that the texts do not show only its errors are known.
        || !machine.log.iter().any(|event| event.device.as_deref() == Some(only) && event.kind == LogKind::UsbReset),
        |disk| matches!(&disk.transport, Transport::Sata(sata) if !sata.port.starts_with("ata") && !disk.removable),
    );
    (is_open && ports.all(|port| port == first)).then(|| only.to_owned())
}

/// The drive of a partition, `sda` of `sda1`; of an NVMe drive its controller, `nvme0` of `nvme0n1p3`.
fn whole(name: &str) -> &str {
    let digits = |c: char| c.is_ascii_digit();
    // No name of the kernel.
    if name.contains(' ') {
        return name;
    }
    if let Some(rest) = name.strip_prefix("nvme") {
        let number = rest.split('n').next().unwrap_or_default();
        return name.get(.."nvme".len() + number.len()).unwrap_or(name);
    }
    if let Some(disk) = freebsd_disk(name) {
        return disk;
    }
    if name.starts_with("mmc") {
        return name.split_once('p').map_or(name, |(disk, _)| disk);
    }
    name.trim_end_matches(digits)
}

/// What is wrong with a drive, one of `failing`.
fn finding(context: &Context<'_>, drive: &str, events: &[LogEvent], failing: usize) -> Option<Finding> {
    use LogKind::{ControllerDown, ProbeFailed, SataLimited, SataNoAnswer};
    let machine = context.machine;
    let pci = events.iter().find_map(|event| event.pci);
    let link_errs = machine.log.iter().any(|event| {
        matches!(event.kind, LogKind::AerMessage(_) | LogKind::AerError { .. }) && event.pci == pci
    });
    let severity = match is_fault(events) {
        true => Severity::Fault,
        // Both logs of such a failure that are known here were of a kernel's own fault.
        false if events.iter().any(|event| event.kind == ProbeFailed) => Severity::Info,
        false => return None,
    };
    if pci.is_some() && link_errs {
        return None;
    }
    let model =
        machine.block.values().find(|block| whole(&block.name) == drive && block.partition_of.is_none());
    let model = model.and_then(|block| block.model.value()).map(|model| format!(" ({model})"));
    let words: Vec<String> = events.iter().filter_map(in_words).collect();
    let port = match drive {
        _ if drive.starts_with("ata") => "the drive on ",
        // No name of the kernel.
        _ if drive.contains(' ') => "the ",
        _ => "",
    };
    let summary =
        format!("The log has errors of {port}{drive}{}: {}.", model.unwrap_or_default(), words.join(", "));
    let is_certain =
        |event: &LogEvent| matches!(event.kind, ControllerDown | ProbeFailed | SataNoAnswer | SataLimited(_));
    let evidence =
        |event: &LogEvent| Some(Evidence::new("errors in the log", in_words(event)?, event.source.as_str()));
    let shared = (failing > 1).then(|| {
        let words = "look first at what they share, such as an adapter, cables or power";
        Advice::new(format!("Save what matters. Of {failing} drives the log has errors: {words}."))
    });
    let found = context
        .finding((Code::DeviceErrors, severity), drive, summary, |hop| is_of(hop, drive))
        .with_advice(shared)
        .with_confidence(if events.iter().any(is_certain) { Confidence::High } else { Confidence::Medium })
        .with_evidence(events.iter().filter_map(evidence));
    Some(found.advise(advice(drive, events)))
}

fn is_of(hop: &Hop, drive: &str) -> bool {
    matches!(&hop.spec, HopSpec::Device(device) if whole(&device.block) == drive)
}

const OF_USB: &str = "Use another cable and another port, without a hub, and give a drive its own power. If it goes on, boot \
    once with UAS off for this bridge: usb-storage.quirks=VENDOR:PRODUCT:u.";

/// What to try first: what costs nothing, and what tells drive and way apart.
fn advice(drive: &str, events: &[LogEvent]) -> String {
    if events.iter().any(|event| matches!(event.kind, LogKind::ServerSilent | LogKind::ConnectionLost)) {
        return "Look at the other end for the same time: whether its drives and its network answered. `ip -s link` and \
                `ethtool -S` on both ends count lost frames, and `ping -M do -s 8972` tells whether large frames pass."
            .to_owned();
    }
    let has = |kind: &LogKind| events.iter().any(|event| event.kind == *kind);
    if has(&LogKind::AccessDenied) {
        return "A drive that is locked answers like that, and need not be broken: unlock it with what locked it (its password in the \
                firmware, or `sedutil-cli`)."
            .to_owned();
    }
    let device = if drive.starts_with("ata") || drive.contains(' ') { "DEVICE" } else { drive };
    let is_virtual = drive.starts_with("vd") || drive.starts_with("xvd");
    if !is_virtual && (has(&LogKind::MediumError) || has(&LogKind::MediumSense)) {
        return format!(
            "Save what matters, and replace the drive: it has sectors that it cannot read, and another cable does not help. \
             `sudo smartctl -x /dev/{device}` counts them (pending, uncorrectable)."
        );
    }
    if drive.starts_with("adapter xhci") {
        return "All that hung on this USB host went with it, so that no drive need be at fault: try a powered hub or another port, \
                another kernel, and for a bridge once with UAS off (usb-storage.quirks=VENDOR:PRODUCT:u)."
            .to_owned();
    }
    if drive.starts_with("adapter ") {
        return "Reseat the adapter, see that air reaches it, and compare its firmware with the vendor's newest. If another kernel \
                brings it up, it is whole: report the kernel that does not."
            .to_owned();
    }
    if drive.starts_with("nvme") {
        return format!(
            "Save what matters. `sudo smartctl -x /dev/{drive}` tells of the drive; try another slot, newer firmware of drive \
             and board, and boot Linux once with nvme_core.default_ps_max_latency_us=0 pcie_aspm=off."
        );
    }
    if events.iter().any(|event| matches!(event.kind, LogKind::UsbReset | LogKind::UsbNoAnswer)) {
        return OF_USB.to_owned();
    }
    if is_virtual {
        return "Look into the log of the host: the disk is a virtual one, and what fails is below it."
            .to_owned();
    }
    if drive.starts_with("mmc") {
        let clock = if has(&LogKind::TransferError) {
            "take back an overclock of the card's clock, and "
        } else {
            ""
        };
        return format!(
            "Save what matters, {clock}try another card; an eMMC is soldered and cannot be replaced alone."
        );
    }
    format!(
        "Save what matters. Try another cable and another port; `sudo smartctl -x /dev/{device}` tells the cable (CRC errors) \
         from the drive (reallocated and pending sectors)."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sketch;
    use narrows_base::fact::Source;

    fn told(device: &str, kind: LogKind, count: u64) -> Option<Finding> {
        let event = LogEvent {
            pci: None,
            device: Some(device.to_owned()),
            kind,
            count,
            source: Source::new("dmesg:1"),
        };
        Sketch::of("/dev/sda").on(|machine| machine.log.push(event)).finding(Code::DeviceErrors)
    }

    #[test]
    fn what_leaves_no_healthy_reading_is_a_fault_and_what_starts_and_wakes_bring_is_none() {
        for (device, kind, count) in [
            ("nvme0", LogKind::ControllerDown, 1),
            ("nvme0", LogKind::NvmeTimeout, 1),
            ("ata1", LogKind::SataNoAnswer, 3),
            ("ata1", LogKind::SataLimited(1500), 1),
            ("ata1", LogKind::SataReset, 3),
            ("sdb1", LogKind::DriveError, 1),
            ("da8", LogKind::CommandFailed, 3),
        ] {
            assert!(told(device, kind.clone(), count).is_some(), "{device} {kind:?}");
        }
        assert!(told("ata1", LogKind::SataReset, 2).is_none());
        assert!(told("da8", LogKind::CommandFailed, 2).is_none());
        assert!(told("sda", LogKind::UsbNoAnswer, 2).is_none());
        // No drive is known to be there.
        assert!(told("1-2", LogKind::UsbReset, 9).is_none());
        let silent = told("1-2", LogKind::UsbNoAnswer, 2).map(|finding| (finding.severity, finding.summary));
        assert!(
            silent.is_some_and(|(severity, words)| severity == Severity::Info && words.contains("2 times"))
        );
    }

    #[test]
    fn a_log_that_makes_no_finding_hides_no_smart_data() {
        use narrows_base::fact::Fact;
        let told = |count| {
            let counts = AtaCounts { pending: 37, ..AtaCounts::default() };
            let health = DriveHealth { ata: Fact::known(counts, "smart.txt:20"), ..DriveHealth::default() };
            let found = Sketch::of("/dev/sda").on(|machine| {
                machine.health.insert("sda".to_owned(), health);
                machine.log.push(LogEvent {
                    pci: None,
                    device: Some("sda".to_owned()),
                    kind: LogKind::CommandFailed,
                    count,
                    source: Source::new("dmesg:1"),
                });
            });
            found.finding(Code::DeviceErrors).map(|finding| finding.summary.contains("SMART data"))
        };
        assert_eq!(told(1), Some(true));
        assert_eq!(told(FEW_RESETS), Some(false), "said once");
    }

    #[test]
    fn what_a_drive_counts_is_a_fault_where_it_loses_data() {
        use narrows_base::fact::Fact;
        let told = |counts: AtaCounts| {
            let health = DriveHealth { ata: Fact::known(counts, "smart.txt:20"), ..DriveHealth::default() };
            let add = |machine: &mut Machine| _ = machine.health.insert("sda".to_owned(), health);
            let finding = Sketch::of("/dev/sda").on(add).finding(Code::DeviceErrors)?;
            Some((finding.severity, finding.summary))
        };
        assert_eq!(told(AtaCounts::default()), None);
        let (severity, summary) =
            told(AtaCounts { pending: 37, cable: 1, ..AtaCounts::default() }).expect("found");
        assert_eq!(severity, Severity::Fault);
        assert!(
            summary.ends_with("37 sectors that it could not read wait to be written, 1 transfer over its cable came with errors."),
            "{summary}"
        );
        for (counts, severity) in [
            (AtaCounts { cable: 4211, ..AtaCounts::default() }, Severity::Info),
            (AtaCounts { reallocated: 2, ..AtaCounts::default() }, Severity::Info),
            (AtaCounts { reallocated: 3494, ..AtaCounts::default() }, Severity::Fault),
            (AtaCounts { is_failing: true, ..AtaCounts::default() }, Severity::Fault),
        ] {
            assert_eq!(told(counts).map(|found| found.0), Some(severity), "{counts:?}");
        }
    }

    #[test]
    fn a_sentence_counts_and_names_the_drive() {
        let summary = |device, kind, count| told(device, kind, count).map(|finding| finding.summary);
        assert_eq!(
            summary("sdb1", LogKind::DriveError, 2).as_deref(),
            Some("The log has errors of sdb: 2 I/O errors.")
        );
        assert_eq!(
            summary("ata1", LogKind::SataNoAnswer, 1).as_deref(),
            Some(
                "The log has errors of the drive on ata1: it did not answer a reset of its link (COMRESET) once."
            )
        );
    }

    #[test]
    fn of_several_drives_with_errors_what_they_share_comes_first() {
        let event = |device: &str| LogEvent {
            pci: None,
            device: Some(device.to_owned()),
            kind: LogKind::DriveError,
            count: 1,
            source: Source::new("dmesg:1"),
        };
        let advice = |drives: &[&str]| {
            let drives = drives.iter().map(|drive| event(drive)).collect();
            let found = Sketch::of("/dev/sda").on(|machine| machine.log = drives).finding(Code::DeviceErrors);
            found.map(|finding| finding.advice[0].action.contains("what they share"))
        };
        assert_eq!((advice(&["da8"]), advice(&["da8", "da9"])), (Some(false), Some(true)));
    }

    #[test]
    fn errors_that_a_pool_counts_are_those_of_its_device() {
        use narrows_base::fact::Fact;
        use narrows_machine::zfs::ZfsVdev;
        let told = |errors| {
            let device =
                ZfsDevice { name: "sda".into(), state: "ONLINE".into(), errors, ..ZfsDevice::default() };
            let vdev = ZfsVdev { devices: vec![device], ..ZfsVdev::default() };
            let state = Fact::known("ONLINE".to_owned(), "zpool.txt:2");
            let pool = ZfsPool { name: "tank".into(), state, vdevs: vec![vdev], ..ZfsPool::default() };
            let found =
                Sketch::of("/dev/sda").on(|machine| machine.zfs.push(pool)).finding(Code::DeviceErrors);
            found.map(|finding| finding.summary)
        };
        let said = "The ZFS pool tank counts errors of sda: 701 reads failed, 2 checksums were wrong.";
        assert_eq!(told([701, 0, 2]).as_deref(), Some(said));
        assert_eq!(told([0; 3]), None);
        let lost = Fact::known("Permanent errors have been detected".to_owned(), "zpool.txt:9");
        let pool = ZfsPool {
            name: "big".into(),
            errors: Fact::known([0, 169, 0], "zpool.txt:5"),
            lost,
            ..ZfsPool::default()
        };
        let found = Sketch::of("/dev/sda").on(|machine| machine.zfs.push(pool)).finding(Code::DeviceErrors);
        let said =
            "The ZFS pool big counts errors: 169 writes failed, and has lost data that no copy could repair.";
        assert_eq!(found.map(|finding| finding.summary).as_deref(), Some(said));
    }

    #[test]
    fn one_failure_is_counted_once_and_what_a_drive_says_of_it_decides_the_advice() {
        let told = |kinds: &[(&str, LogKind)]| {
            let event = |(device, kind): &(&str, LogKind)| LogEvent {
                pci: None,
                device: Some((*device).to_owned()),
                kind: kind.clone(),
                count: 1,
                source: Source::new("dmesg:1"),
            };
            let events = kinds.iter().map(event).collect();
            let found = Sketch::of("/dev/md0").on(|machine| machine.log = events).finding(Code::DeviceErrors);
            found.map(|finding| (finding.summary, finding.advice[0].action.clone())).expect("found")
        };
        let (summary, advice) = told(&[
            ("sde", LogKind::MediumSense),
            ("sde", LogKind::MediumError),
            ("sde", LogKind::BufferError),
            ("ata7", LogKind::SataCommandFailed),
        ]);
        assert!(
            summary.contains("errors of sde: ") && summary.contains("could not read its medium once"),
            "{summary}"
        );
        assert!(!summary.contains("I/O error") && advice.contains("replace the drive"), "{summary} {advice}");
        let (summary, advice) =
            told(&[("nvme0n1", LogKind::AccessDenied), ("nvme0n1", LogKind::MediumError)]);
        assert!(
            summary.ends_with("nvme0: it refused access once.") && advice.contains("locked"),
            "{summary}"
        );
        let (summary, _) =
            told(&[("adapter ioc1", LogKind::CommandAborted), ("sdq", LogKind::CommandAborted)]);
        assert!(summary.contains("sdq: 1 command did not end in time and was taken back"), "{summary}");
    }

    #[test]
    fn a_port_with_errors_is_not_that_of_a_disk_on_another() {
        use narrows_machine::block::{BlockDevice, Sata};
        let subject = |port: &str| {
            let transport = Transport::Sata(Sata { port: port.to_owned(), ..Sata::default() });
            let disk = BlockDevice { name: "sda".to_owned(), transport, ..BlockDevice::default() };
            let event = LogEvent {
                pci: None,
                device: Some("ata1".to_owned()),
                kind: LogKind::SataNoAnswer,
                count: 1,
                source: Source::new("dmesg:1"),
            };
            let found = Sketch::of("/dev/sdb").on(|machine| {
                machine.block.insert("sda".to_owned(), disk);
                machine.log.push(event);
            });
            found.finding(Code::DeviceErrors).map(|finding| finding.subject)
        };
        assert_eq!(subject("ata1").as_deref(), Some("sda"));
        assert_eq!(subject("sda").as_deref(), Some("sda"), "of which no port is told");
        assert_eq!(subject("ata2").as_deref(), Some("ata1"));
    }

    #[test]
    fn parts_and_namespaces_belong_to_their_drive() {
        for (name, drive) in [
            ("nvme10n1p3", "nvme10"),
            ("nvme0", "nvme0"),
            ("mmcblk0p2", "mmcblk0"),
            ("sdab12", "sdab"),
            ("ada1p2", "ada1"),
        ] {
            assert_eq!(whole(name), drive);
        }
    }
}
