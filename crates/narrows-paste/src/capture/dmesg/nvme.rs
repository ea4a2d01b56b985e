//! NVMe drives (`drivers/nvme/host/core.c`, `pci.c`).

use super::{Boot, Line, pci};
use narrows_base::units::Bytes;
use narrows_machine::block::{BlockDevice, BlockKind, Transport};
use narrows_machine::log::LogKind;
use narrows_machine::pci::PciAddress;

/// The class of an NVMe controller.
const NVME: u32 = 0x01_0802;

/// Understands messages such as `nvme nvme0: pci function 0000:01:00.0` and ` nvme0n1: p1 p2`.
pub(super) fn take(boot: &mut Boot, line: &Line<'_>) -> bool {
    let Some(rest) = line.message.strip_prefix("nvme ") else { return take_namespace(boot, line) };
    let Some((controller, what)) = rest.split_once(": ") else { return false };
    if !is_controller(controller) {
        return false;
    }
    if let Some(address) = what.strip_prefix("pci function ").and_then(parse_address) {
        let function = pci::entry(boot, address);
        function.driver = line.known("nvme".to_owned());
        if function.class.value().is_none() {
            function.class = line.known(NVME);
        }
        boot.disks.set_controller(controller, address);
        return true;
    }
    let Some(kind) = parse_event(what) else { return false };
    let pci = boot.disks.controller(controller);
    boot.event_of(controller, pci, kind, line);
    true
}

fn parse_address(text: &str) -> Option<PciAddress> {
    text.split_whitespace().next()?.parse().ok()
}

fn is_controller(name: &str) -> bool {
    name.strip_prefix("nvme").is_some_and(|number| {
        !number.is_empty() && number.len() <= 6 && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn parse_event(what: &str) -> Option<LogKind> {
    if what.starts_with("I/O ") && what.contains(" timeout") {
        return Some(LogKind::NvmeTimeout);
    }
    if what.starts_with("controller is down; will reset") {
        return Some(LogKind::NvmeDown);
    }
    let gave_up = [
        "Removing after probe failure",
        "Device not ready; aborting",
        "Disabling device after reset failure",
    ];
    if gave_up.iter().any(|text| what.starts_with(text)) {
        return Some(LogKind::NvmeProbeFailed);
    }
    if let Some(size) =
        what.strip_prefix("allocated ").and_then(|rest| rest.split_once(" MiB host memory buffer"))
    {
        return size.0.parse::<u32>().ok().map(|mib| LogKind::HostMemoryBuffer(Bytes::from_mib(mib.into())));
    }
    // `default/read/poll`, before Linux 5.2 `read/write/poll` or, without any, `queues`.
    let queues = what
        .strip_suffix(" default/read/poll queues")
        .or_else(|| what.strip_suffix(" read/write/poll queues"));
    queues.and_then(|counts| counts.split('/').next()?.trim().parse().ok()).map(LogKind::NvmeQueues)
}

/// Understands the list of partitions that the kernel prints when it finds a disk: `nvme0n1: p1 p2`.
fn take_namespace(boot: &mut Boot, line: &Line<'_>) -> bool {
    let Some((name, partitions)) = line.message.split_once(':') else { return false };
    let Some((number, namespace)) = name.strip_prefix("nvme").and_then(|rest| rest.split_once('n')) else {
        return false;
    };
    let controller = format!("nvme{number}");
    let is_partition = |word: &str| word.strip_prefix('p').is_some_and(is_number);
    // Logical partitions of a DOS table stand between `<` and `>` behind their extended one (`block/partitions/msdos.c`).
    let words = || partitions.split_whitespace().filter(|word| !matches!(*word, "<" | ">"));
    if !is_controller(&controller) || !is_number(namespace) || !words().all(is_partition) {
        return false;
    }
    let disk = BlockDevice {
        name: name.to_owned(),
        // A log that was cut off at its begin does not say which function it is.
        transport: match boot.disks.controller(&controller) {
            Some(pci) => Transport::NvmePci { controller, pci },
            None => Transport::Other { name: "nvme".to_owned(), pci: None },
        },
        ..BlockDevice::default()
    };
    for partition in words() {
        let partition = format!("{name}{partition}");
        boot.machine.block.insert(
            partition.clone(),
            BlockDevice {
                name: partition,
                kind: BlockKind::Partition,
                partition_of: Some(name.to_owned()),
                ..disk.clone()
            },
        );
    }
    boot.machine.block.insert(name.to_owned(), disk);
    true
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() <= 6 && text.bytes().all(|byte| byte.is_ascii_digit())
}
