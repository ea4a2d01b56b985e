//! Messages that a drive, or the way to it, failed: they name a device and no fact of it.

use narrows_machine::block::{freebsd_disk, is_numbered};
use narrows_machine::log::LogKind;

use super::{Boot, LogLine};
use crate::text::{fields, is_digits};

/// A message of an error; readers of facts see it as well.
pub(super) fn take(boot: &mut Boot, line: &LogLine<'_>) -> Option<()> {
    let (device, kind) = of_scsi(boot, line.message).or_else(|| parse(line.message))?;
    boot.event_of(&device, None, kind, line);
    Some(())
}

/// A disk of which only the SCSI address is told.
pub(super) fn unnamed(at: &str) -> String {
    format!("SCSI disk {}", at.replace(':', "/"))
}

/// Commands of a SCSI disk that did not end in time (`drivers/message/fusion/mptscsih.c`, `scsi/mpt3sas/mpt3sas_scsih.c`,
/// `scsi/megaraid/megaraid_sas_base.c`), and what it says of one that failed (`scsi/scsi_logging.c`): `sd 0:0:5:0: attempting task
/// abort! …`, `sd 2:2:0:0: [sda] megasas: RESET cmd=28 retries=0`, `sd 6:0:7:0: [sdq] tag#3 Sense Key : Medium Error [current]`;
/// `mptscsih: ioc1: attempting task abort! (sc=…)` and below it `sd 6:0:7:0: [sdq] CDB: Read(10): …`.
fn of_scsi(boot: &mut Boot, message: &str) -> Option<(String, LogKind)> {
    let is_abort = message.contains(": attempting task abort")
        || message.contains(": attempting device reset")
        || message.contains("megasas: RESET cmd=");
    let is_named_below = std::mem::take(&mut boot.is_aborting);
    let Some([at, what]) = fields(message, "sd {}: {}") else {
        boot.is_aborting = is_abort;
        let adapter = message.split(": attempting ").next()?.rsplit(": ").next()?;
        return is_abort.then(|| (format!("adapter {adapter}"), LogKind::CommandAborted));
    };
    let kind = match what {
        _ if is_abort || is_named_below && what.contains("CDB: ") => LogKind::CommandAborted,
        _ if what.contains("Sense Key : Medium Error") => LogKind::MediumSense,
        _ if what.contains("Sense Key : Hardware Error") => LogKind::DriveError,
        _ => return None,
    };
    let name = fields(what, "[{}] {}").map(|[name, _]| name.to_owned());
    Some((name.unwrap_or_else(|| unnamed(at)), kind))
}

fn parse(message: &str) -> Option<(String, LogKind)> {
    // `drivers/ata/libata-eh.c`: `ata1: COMRESET failed (errno=-16)`, `ata1.00: failed command: READ FPDMA QUEUED`.
    if let Some([port, what]) = fields(message, "ata{}: {}") {
        let number = port.split('.').next().filter(|number| is_digits(number))?;
        let kind = match what {
            _ if what.starts_with("COMRESET failed") => LogKind::SataNoAnswer,
            _ if what.starts_with("failed command: ") || what.starts_with("failed to IDENTIFY") => {
                LogKind::SataCommandFailed
            }
            _ if what.starts_with("error: {") && what.contains(" UNC ") => LogKind::MediumSense,
            // The bits of SError that the link sets, not a drive that went (PHYRdyChg, DevExch).
            _ if what.starts_with("SError: {")
                && [" BadCRC ", " 10B8B ", " Dispar "].iter().any(|bit| what.contains(bit)) =>
            {
                LogKind::TransferError
            }
            _ => return None,
        };
        return Some((format!("ata{number}"), kind));
    }
    // `drivers/usb/storage/uas.c`: `sd 0:0:0:0: [sda] tag#3 uas_eh_abort_handler 0 uas-tag 4 inflight: CMD IN`.
    if let Some([_, name, what]) = fields(message, "sd {}: [{}] {}")
        && what.contains("uas_eh_abort_handler")
    {
        return Some((name.to_owned(), LogKind::UsbReset));
    }
    // `drivers/usb/core/hub.c`: `usb 2-1: reset SuperSpeed USB device number 2 using xhci_hcd`, `usb 2-1: device not accepting
    // address 5, error -62`.
    if let Some([port, what]) = fields(message, "usb {}: {}") {
        const SILENT: [&str; 3] = [
            "device not accepting address ",
            "device descriptor read/",
            "Device not responding to setup address",
        ];
        let kind = match what {
            _ if what.starts_with("reset ") && what.contains(" USB device number ") => LogKind::UsbReset,
            _ if SILENT.iter().any(|words| what.starts_with(words)) => LogKind::UsbNoAnswer,
            _ => return None,
        };
        return Some((port.to_owned(), kind));
    }
    let others = [of_freebsd, of_fabric, of_nvme, of_file_system, of_adapter, of_card, of_board];
    if let Some(known) =
        others.iter().find_map(|of| of(message.trim())).or_else(|| of_waiting(message.trim()))
    {
        return Some(known);
    }
    // `block/blk-core.c`, `print_req_error`: `I/O error, dev sdc, sector 16 op 0x0:(READ)`, `critical medium error, dev sdc, …`;
    // `fs/buffer.c`: `Buffer I/O error on dev sdc1, logical block 0, async page read`.
    let words = [
        ("I/O error, dev ", LogKind::DriveError),
        ("critical medium error, dev ", LogKind::MediumError),
        ("I/O error on dev ", LogKind::BufferError),
        ("I/O error on device ", LogKind::BufferError),
    ];
    let (rest, kind) =
        words.into_iter().find_map(|(words, kind)| Some((message.split_once(words)?.1, kind)))?;
    let name = rest.split([',', ' ']).next().filter(|name| is_drive(name))?;
    Some((name.to_owned(), kind))
}

/// SD cards and eMMC (`drivers/mmc/host/sdhci.c`, `drivers/mmc/core`, and `bcm2835-sdhost.c` of Raspberry Pi): `mmc0: Timeout waiting
/// for hardware interrupt.`, `mmcblk0: timed out sending r/w cmd command`, `mmc0: reducing overclock due to errors`, `mmc1: error -110
/// whilst initialising SD card`, `mmc_host mmc1: Timeout sending command (cmd 0x200000 …)`.
fn of_card(message: &str) -> Option<(String, LogKind)> {
    let (name, what) = message.strip_prefix("mmc_host ").unwrap_or(message).split_once(": ")?;
    if !is_numbered(name, "mmc") && !is_numbered(name, "mmcblk") {
        return None;
    }
    let kind = match what {
        _ if what.starts_with("reducing overclock due to errors") => LogKind::TransferError,
        _ if what.starts_with("error -")
            && [" whilst initialising SD card", " whilst initialising MMC card"]
                .iter()
                .any(|words| what.ends_with(words)) =>
        {
            LogKind::ProbeFailed
        }
        _ if what.starts_with("Timeout waiting for hardware")
            || what.starts_with("Timeout sending command")
            || what.starts_with("timed out sending ")
            || what.starts_with("Card stuck in ") =>
        {
            LogKind::CommandFailed
        }
        _ => return None,
    };
    Some((name.to_owned(), kind))
}

/// Servers, targets and tasks that are waited for. The names of servers are left out: they identify their owner.
fn of_waiting(message: &str) -> Option<(String, LogKind)> {
    let (name, kind) = if let Some(rest) = message.strip_prefix("nfs: server ") {
        // `net/sunrpc/clnt.c`: `nfs: server nas not responding, still trying`, `…, timed out`.
        (rest.contains(" not responding, ").then_some("NFS server")?, LogKind::ServerSilent)
    } else if message.starts_with("CIFS") && message.contains(" has not responded in ") {
        // `fs/smb/client/connect.c`: `CIFS: VFS: \\nas has not responded in 180 seconds. Reconnecting...`.
        ("SMB server", LogKind::ServerSilent)
    } else if let Some([_, _, what]) = fields(message, "connection{}:{}: {}") {
        // `drivers/scsi/libiscsi.c`: `connection1:0: detected conn error (1022)`, `connection1:0: ping timeout of 5 secs expired, …`.
        let is_lost = what.starts_with("detected conn error") || what.starts_with("ping timeout of ");
        (is_lost.then_some("iSCSI connection")?, LogKind::ConnectionLost)
    } else {
        // `kernel/hung_task.c`: `INFO: task jbd2/sda1-8:312 blocked for more than 120 seconds.`.
        let rest = message.strip_prefix("INFO: task ")?;
        rest.contains(" blocked for more than ").then_some(("tasks", LogKind::TaskHung))?
    };
    Some((name.to_owned(), kind))
}

/// What an NVMe drive says of a request (`drivers/nvme/host/core.c`, `nvme_log_error`): `nvme0n1: I/O Cmd(0x2) @ LBA 0, 8 blocks, I/O
/// Error (sct 0x2 / sc 0x86) DNR`. The codes are of the NVM Express Base Specification 2.0, figure 98: unrecovered read error,
/// access denied.
fn of_nvme(message: &str) -> Option<(String, LogKind)> {
    let (name, what) = message.split_once(": ").filter(|(name, _)| is_drive(name))?;
    let (_, status) = what.split_once(" @ LBA ")?;
    let kind = match status {
        _ if status.contains("(sct 0x2 / sc 0x81)") => LogKind::MediumSense,
        _ if status.contains("(sct 0x2 / sc 0x86)") => LogKind::AccessDenied,
        _ => return None,
    };
    Some((name.to_owned(), kind))
}

/// Raspberry Pi (`drivers/hwmon/raspberrypi-hwmon.c` and its firmware's driver): `Under-voltage detected! (0x00050005)`, `hwmon hwmon1:
/// Undervoltage detected!`.
fn of_board(message: &str) -> Option<(String, LogKind)> {
    let message = message.to_lowercase();
    let is_low = message.contains("under-voltage detected!") || message.contains("undervoltage detected!");
    is_low.then(|| ("board".to_owned(), LogKind::UnderVoltage))
}

/// NVMe over a network (`drivers/nvme/host/tcp.c`, `rdma.c`, `fabrics.c`, `multipath.c`): `nvme nvme0: queue 2: timeout request 0xe
/// type 4`, `nvme nvme0: starting error recovery`, `block nvme0n1: no usable path - requeuing I/O`.
fn of_fabric(message: &str) -> Option<(String, LogKind)> {
    if let Some([name, what]) = fields(message, "nvme {}: {}") {
        let kind = match what {
            _ if what.starts_with("queue ") && what.contains(": timeout ") => LogKind::NvmeTimeout,
            _ if what.starts_with("starting error recovery")
                || what.starts_with("Failed reconnect attempt") =>
            {
                LogKind::ConnectionLost
            }
            _ => return None,
        };
        return is_numbered(name, "nvme").then(|| (name.to_owned(), kind));
    }
    let [name, what] = fields(message, "block {}: {}")?;
    let is_lost = what.starts_with("no usable path") || what.starts_with("no available path");
    (is_lost && is_drive(name)).then(|| (name.to_owned(), LogKind::ConnectionLost))
}

/// Adapters of storage (`drivers/scsi/mpt3sas`, `megaraid/megaraid_sas_fusion.c`, `hpsa.c`): `mpt2sas_cm0: failure at
/// drivers/scsi/mpt3sas/mpt3sas_scsih.c:12336/_scsih_probe()!`, `mpt3sas_cm0: fault_state(0x5854)!`, `megaraid_sas 0000:01:00.0: FW in
/// FAULT state, Fault code:0x10000`, `hpsa 0000:05:00.0: Controller lockup detected: 0x00130000 after 30`; and hosts of USB
/// (`drivers/usb/host/xhci-ring.c`): `xhci_hcd 0000:00:14.0: HC died; cleaning up`.
fn of_adapter(message: &str) -> Option<(String, LogKind)> {
    let (name, what) = message.split_once(": ")?;
    let is_adapter = name.starts_with("mpt") && !name.contains(' ')
        || ["megaraid_sas ", "hpsa ", "xhci-hcd ", "xhci_hcd "].iter().any(|driver| name.starts_with(driver));
    let kind = match what {
        _ if what.starts_with("failure at ") && what.ends_with("_scsih_probe()!") => LogKind::ProbeFailed,
        _ if what.starts_with("fault_state(")
            || what.starts_with("SAS host is non-operational")
            || what.starts_with("FW in FAULT state")
            || what.starts_with("Controller lockup detected")
            || what.starts_with("HC died") =>
        {
            LogKind::ControllerDown
        }
        _ => return None,
    };
    is_adapter.then(|| (format!("adapter {name}"), kind))
}

/// What btrfs (`fs/btrfs/messages.h`), ext4 (`fs/ext4/super.c`) and XFS (`fs/xfs/xfs_message.c`) say of themselves: `BTRFS critical
/// (device sda1): corrupt leaf: …`, `EXT4-fs error (device sda1): …`, `XFS (sda1): Metadata corruption detected at …`.
fn of_file_system(message: &str) -> Option<(String, LogKind)> {
    const BTRFS: [&str; 6] = [
        "corrupt leaf",
        "corrupt node",
        "csum failed",
        "checksum verify failed",
        "tree block corruption detected",
        "parent transid verify failed",
    ];
    let damaged = |name: &str| Some((name.to_owned(), LogKind::FileSystemDamaged));
    if let Some([level, place, what]) = fields(message, "BTRFS{}(device {}): {}")
        && level.len() <= 11
    {
        let name = place.split([' ', ':']).next().filter(|name| !name.is_empty())?;
        if let Some([device, counts]) = fields(what, "bdev {} errs: {}") {
            // When it is mounted it tells what it counted in all its life, and `error` what it counts now. A drive that failed a
            // read says so itself.
            let counts = counts.split(", ").filter_map(|count| count.trim().rsplit_once(' '));
            let is_any = level.trim() == "error" && counts.into_iter().any(|(_, count)| count != "0");
            return is_any.then(|| damaged(device.trim_start_matches("/dev/")))?;
        }
        return BTRFS.iter().any(|words| what.contains(words)).then(|| damaged(name))?;
    }
    if let Some([name, _]) = fields(message, "EXT4-fs error (device {}): {}") {
        return damaged(name);
    }
    let [name, what] = fields(message, "XFS ({}): {}")?;
    let is_damaged = what.starts_with("Metadata corruption detected")
        || what.starts_with("Metadata CRC error detected")
        || what.starts_with("Corruption of in-memory data")
        || what.starts_with("Corruption warning: ")
        || what.starts_with("log mount/recovery failed: ")
        || what.starts_with("metadata I/O error");
    is_damaged.then(|| damaged(name))?
}

/// What FreeBSD says of a disk (`sys/cam/cam.c`, `cam_error_string`; `sys/cam/cam_periph.c`, `cam_periph_error`) or of an NVMe
/// controller (`sys/dev/nvme/nvme_qpair.c`): `(ada1:ahcich1:0:0:0): CAM status: Command timeout`. That a command is sent again
/// tells nothing; that an adapter was busy is no failure; and of what has no medium in it every command fails.
fn of_freebsd(message: &str) -> Option<(String, LogKind)> {
    const FAILED: [&str; 7] = [
        "CAM status: ATA Status Error",
        "CAM status: CCB request completed with an error",
        "CAM status: Command timeout",
        "CAM status: Uncorrectable parity/CRC error",
        "SCSI sense: ABORTED COMMAND",
        "SCSI sense: HARDWARE FAILURE",
        "SCSI sense: MEDIUM ERROR",
    ];
    let (name, kind) = if let Some([name, _, what]) = fields(message, "({}:{}): {}") {
        let kind = match what {
            // EIO, which is what who asked for the data gets.
            _ if what.starts_with("Error 5, Retries exhausted") => LogKind::DriveError,
            _ if FAILED.iter().any(|words| what.starts_with(words)) => LogKind::CommandFailed,
            _ => return None,
        };
        (freebsd_disk(name).filter(|disk| *disk == name)?, kind)
    } else {
        let (name, what) = message.split_once(": ").filter(|(name, _)| is_numbered(name, "nvme"))?;
        let kind = match what {
            _ if what.starts_with("Resetting controller due to a timeout") => LogKind::ControllerDown,
            _ if what.starts_with("UNRECOVERED READ ERROR") => LogKind::DriveError,
            _ => return None,
        };
        (name, kind)
    };
    Some((name.to_owned(), kind))
}

/// Whether it is a drive whose medium stays in it, or a part of one: what has none to read fails and is whole.
fn is_drive(name: &str) -> bool {
    ["sd", "nvme", "mmcblk", "vd", "xvd"].iter().any(|start| {
        name.strip_prefix(start).is_some_and(|rest| {
            (1..=12).contains(&rest.len()) && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_names_its_device() {
        for (message, device, kind) in [
            ("ata1: COMRESET failed (errno=-16)", "ata1", LogKind::SataNoAnswer),
            ("ata2.00: failed command: READ FPDMA QUEUED", "ata2", LogKind::SataCommandFailed),
            ("mmc0: reducing overclock due to errors", "mmc0", LogKind::TransferError),
            ("mmc1: error -110 whilst initialising SD card", "mmc1", LogKind::ProbeFailed),
            (
                "mmc_host mmc1: Timeout sending command (cmd 0x200000 arg 0x0 status 0x80200000)",
                "mmc1",
                LogKind::CommandFailed,
            ),
            ("ata3.00: error: { UNC }", "ata3", LogKind::MediumSense),
            ("ata1: SError: { UnrecovData Proto 10B8B BadCRC TrStaTrns }", "ata1", LogKind::TransferError),
            (
                "nvme0n1: I/O Cmd(0x2) @ LBA 0, 8 blocks, I/O Error (sct 0x2 / sc 0x86) DNR",
                "nvme0n1",
                LogKind::AccessDenied,
            ),
            (
                "xhci-hcd xhci-hcd.9.auto: HC died; cleaning up",
                "adapter xhci-hcd xhci-hcd.9.auto",
                LogKind::ControllerDown,
            ),
            ("XFS (dm-7): log mount/recovery failed: error -5", "dm-7", LogKind::FileSystemDamaged),
            ("Under-voltage detected! (0x00050005)", "board", LogKind::UnderVoltage),
            ("mmc1: Timeout waiting for hardware interrupt.", "mmc1", LogKind::CommandFailed),
            ("mmcblk0: timed out sending r/w cmd command", "mmcblk0", LogKind::CommandFailed),
            ("ata1.00: failed to IDENTIFY (I/O error, err_mask=0x40)", "ata1", LogKind::SataCommandFailed),
            (
                "sd 0:0:0:0: [sda] tag#3 uas_eh_abort_handler 0 uas-tag 4 inflight: CMD IN ",
                "sda",
                LogKind::UsbReset,
            ),
            ("usb 2-1: reset SuperSpeed USB device number 2 using xhci_hcd", "2-1", LogKind::UsbReset),
            (
                "mpt2sas_cm0: failure at drivers/scsi/mpt3sas/mpt3sas_scsih.c:12336/_scsih_probe()!",
                "adapter mpt2sas_cm0",
                LogKind::ProbeFailed,
            ),
            (
                "megaraid_sas 0000:01:00.0: FW in FAULT state, Fault code:0x10000",
                "adapter megaraid_sas 0000:01:00.0",
                LogKind::ControllerDown,
            ),
            ("usb 2-1: device not accepting address 5, error -62", "2-1", LogKind::UsbNoAnswer),
            ("usb 1-1.4: device descriptor read/64, error -71", "1-1.4", LogKind::UsbNoAnswer),
            (
                "blk_update_request: I/O error, dev nvme0n1, sector 27 op 0x1:(WRITE)",
                "nvme0n1",
                LogKind::DriveError,
            ),
            ("critical medium error, dev sdc, sector 16", "sdc", LogKind::MediumError),
            ("Buffer I/O error on dev sdc1, logical block 0, async page read", "sdc1", LogKind::BufferError),
            ("(da8:mps0:0:8:0): Error 5, Retries exhausted", "da8", LogKind::DriveError),
            (
                "(ada3:ahcich5:0:0:0): CAM status: Uncorrectable parity/CRC error",
                "ada3",
                LogKind::CommandFailed,
            ),
            (
                "(da2:mps0:0:2:0): SCSI sense: MEDIUM ERROR asc:11,0 (Unrecovered read error)",
                "da2",
                LogKind::CommandFailed,
            ),
            ("nfs: server nas not responding, still trying", "NFS server", LogKind::ServerSilent),
            (
                "CIFS: VFS: \\\\nas has not responded in 180 seconds. Reconnecting...",
                "SMB server",
                LogKind::ServerSilent,
            ),
            (" connection26:0: detected conn error (1011)", "iSCSI connection", LogKind::ConnectionLost),
            ("nvme nvme0: queue 2: timeout request 0xe type 4", "nvme0", LogKind::NvmeTimeout),
            ("block nvme0n1: no usable path - requeuing I/O", "nvme0n1", LogKind::ConnectionLost),
            (
                "BTRFS error (device nvme0n1p4): block=1376043008 write time tree block corruption detected",
                "nvme0n1p4",
                LogKind::FileSystemDamaged,
            ),
            (
                "BTRFS error (device sda1: state EA): bdev /dev/sdb1 errs: wr 0, rd 4, flush 0, corrupt 0, gen 0",
                "sdb1",
                LogKind::FileSystemDamaged,
            ),
            (
                "BTRFS error (device nvme0n1p4): bdev /dev/nvme0n1p4 errs: wr 0, rd 0, flush 0, corrupt 10, gen 0",
                "nvme0n1p4",
                LogKind::FileSystemDamaged,
            ),
            (
                "EXT4-fs error (device dm-2): ext4_find_entry:1455: inode #2: comm ls: reading directory lblock 0",
                "dm-2",
                LogKind::FileSystemDamaged,
            ),
            (
                "XFS (sda1): Metadata corruption detected at xfs_agf_read_verify+0x70/0x120",
                "sda1",
                LogKind::FileSystemDamaged,
            ),
            ("INFO: task kworker/u9:4:1226 blocked for more than 120 seconds.", "tasks", LogKind::TaskHung),
            (
                "nvme0: Resetting controller due to a timeout and possible hot unplug.",
                "nvme0",
                LogKind::ControllerDown,
            ),
        ] {
            assert_eq!(parse(message), Some((device.to_owned(), kind)), "{message}");
        }
    }

    #[test]
    fn a_drive_without_a_medium_and_other_messages_are_no_error() {
        for message in [
            "blk_update_request: I/O error, dev fd0, sector 0",
            "I/O error, dev sr0, sector 0",
            "Buffer I/O error on dev loop0, logical block 0",
            "ata1: SATA link down (SStatus 0 SControl 300)",
            "usb 2-1: new SuperSpeed USB device number 2 using xhci_hcd",
            "I/O error, dev , sector",
            "nfs: server nas OK",
            "BTRFS info (device nvme0n1p4): enabling ssd optimizations",
            "BTRFS error (device sda1): bdev /dev/sda1 errs: wr 0, rd 0, flush 0, corrupt 0, gen 0",
            "BTRFS info (device sda1): bdev /dev/sda1 errs: wr 0, rd 3, flush 0, corrupt 0, gen 0",
            "XFS (nvme0n1): Ending clean mount",
            "EXT4-fs (sda1): mounted filesystem with ordered data mode",
            "nvme nvme0: creating 12 I/O queues.",
            " connection1:0: Could not create connection",
            "(ada3:ahcich5:0:0:0): Retrying command, 3 more tries remain",
            "(da8:mps0:0:8:0): CAM status: CAM subsystem is busy",
            "(da0:umass-sim0:0:0:0): CAM status: SCSI Status Error",
            "(da0:umass-sim0:0:0:0): SCSI sense: NOT READY asc:3a,0 (Medium not present)",
            "(da0:umass-sim0:0:0:0): Error 6, Unretryable error",
            "(cd0:ahcich2:0:0:0): CAM status: Command timeout",
            "(aprobe0:ahcich2:0:0:0): CAM status: Command timeout",
        ] {
            assert_eq!(parse(message), None, "{message}");
        }
    }
}
