//! NVMe drives, eMMC and SD cards, and the arrays of software RAID.

use std::collections::BTreeMap;

use narrows_base::fact::Fact;
use narrows_base::units::Bytes;
use narrows_machine::block::{BlockDevice, BlockKind, MdArray, Transport, is_numbered};
use narrows_machine::log::LogKind;
use narrows_machine::pci::PciAddress;

use super::{Boot, LogLine, parse_address, pci};
use crate::capture::device::{implied, is_kernel_name};
use crate::capture::number;
use crate::text::{fields, is_digits};

/// The class of an NVMe controller.
const NVME: u32 = 0x01_0802;

/// NVMe drives (`drivers/nvme/host/core.c`, `pci.c`).
///
/// Understands messages such as `nvme nvme0: pci function 0000:01:00.0` and ` nvme0n1: p1 p2`.
pub(super) fn take_nvme(boot: &mut Boot, line: &LogLine<'_>) -> Option<()> {
    let Some(rest) = line.message.strip_prefix("nvme ") else { return take_namespace(boot, line) };
    let (controller, what) = rest.split_once(": ").filter(|(name, _)| is_controller(name))?;
    if let Some(address) = what.strip_prefix("pci function ").and_then(parse_address) {
        let function = pci::entry(boot, address);
        function.driver = line.known("nvme".to_owned());
        line.learn(&mut function.class, NVME);
        boot.disks.nvme.insert(controller.to_owned(), address);
    } else {
        let kind = parse_event(what)?;
        let pci = boot.disks.nvme.get(controller).copied();
        boot.event_of(controller, pci, kind, line);
    }
    Some(())
}

fn is_controller(name: &str) -> bool {
    name.strip_prefix("nvme").is_some_and(is_number)
}

fn parse_event(what: &str) -> Option<LogKind> {
    const EVENTS: [(&str, LogKind); 4] = [
        ("controller is down; will reset", LogKind::ControllerDown),
        ("Removing after probe failure", LogKind::NvmeRemoved),
        ("Device not ready; aborting", LogKind::ProbeFailed),
        ("Disabling device after reset failure", LogKind::ProbeFailed),
    ];
    if what.starts_with("I/O ") && what.contains(" timeout") {
        return Some(LogKind::NvmeTimeout);
    }
    if let Some([size]) = fields(what, "allocated {} MiB host memory buffer") {
        return size.parse::<u32>().ok().map(|mib| LogKind::HostMemoryBuffer(Bytes::from_mib(mib.into())));
    }
    // `default/read/poll`, before Linux 5.2 `read/write/poll` or, without any, `queues`.
    let mut queues = [" default/read/poll queues", " read/write/poll queues"].into_iter();
    if let Some(counts) = queues.find_map(|words| what.strip_suffix(words)) {
        return counts.split('/').next()?.trim().parse().ok().map(LogKind::NvmeQueues);
    }
    EVENTS.into_iter().find(|(words, _)| what.starts_with(words)).map(|(_, kind)| kind)
}

/// Understands the list of partitions that the kernel prints when it finds a disk: `nvme0n1: p1 p2`.
fn take_namespace(boot: &mut Boot, line: &LogLine<'_>) -> Option<()> {
    let (name, partitions) = line.message.split_once(':')?;
    let (number, namespace) = name.strip_prefix("nvme")?.split_once('n')?;
    let controller = format!("nvme{number}");
    let is_partition = |word: &str| word.strip_prefix('p').is_some_and(is_number);
    // Logical partitions of a DOS table stand between `<` and `>` behind their extended one (`block/partitions/msdos.c`).
    let words = || partitions.split_whitespace().filter(|word| !matches!(*word, "<" | ">"));
    if !is_controller(&controller) || !is_number(namespace) || !words().all(is_partition) {
        return None;
    }
    let disk = BlockDevice {
        name: name.to_owned(),
        // A log that was cut off at its begin does not say which function it is.
        transport: implied(name, boot.disks.nvme.get(&controller).copied()),
        ..BlockDevice::default()
    };
    for partition in words() {
        let (kind, partition_of) = (BlockKind::Partition, Some(name.to_owned()));
        let name = format!("{name}{partition}");
        let device = BlockDevice { name: name.clone(), kind, partition_of, ..disk.clone() };
        boot.machine.block.insert(name, device);
    }
    boot.machine.block.insert(name.to_owned(), disk);
    Some(())
}

fn is_number(text: &str) -> bool {
    text.len() <= 6 && is_digits(text)
}

/// Hosts and their cards.
#[derive(Default)]
pub(super) struct MmcCards {
    /// The function of each host, by its name.
    functions: BTreeMap<String, PciAddress>,
    /// How each host talks to its card, in the kernel's words: `HS400 MMC`.
    modes: BTreeMap<String, Fact<String>>,
    /// Disks, with the host of each.
    disks: BTreeMap<String, (String, BlockDevice)>,
}

/// More hosts than a machine has.
const MOST_CARDS: usize = 64;

/// eMMC and SD cards (`drivers/mmc/core/bus.c`, `mmc_add_card`; `drivers/mmc/core/block.c`; `drivers/mmc/host/sdhci.c`).
///
/// `mmc0: SDHCI controller on PCI [0000:00:1c.0] using ADMA 64-bit`, `mmc0: new HS400 MMC card at address 0001`,
/// `mmc1: new ultra high speed SDR104 SDHC card at address aaaa`, `mmcblk0: mmc0:0001 BGSD4R 29.1 GiB`.
///
/// A message of a host or a card.
pub(super) fn take_mmc(boot: &mut Boot, line: &LogLine<'_>) -> Option<()> {
    let (name, what) = line.message.split_once(": ")?;
    let cards = &mut boot.cards;
    if name.len() > "mmc".len() + 3 || !is_numbered(name, "mmc") {
        return take_disk(cards, name, what, line);
    }
    if let Some([mode]) = fields(what, "new {} card") {
        let kind = mode.rsplit(' ').next()?;
        let is_storage = kind == "MMC" || kind.starts_with("SD") && kind != "SDIO";
        if is_storage && cards.modes.len() < MOST_CARDS {
            cards.modes.insert(name.to_owned(), line.known(mode.to_owned()));
            return Some(());
        }
    }
    let address = what.split_once(" on PCI [")?.1.split(']').next()?.parse().ok()?;
    (cards.functions.len() < MOST_CARDS).then(|| _ = cards.functions.insert(name.to_owned(), address))
}

/// `mmcblk0: mmc0:0001 BGSD4R 29.1 GiB`, with `(ro)` or `(quirks 0x4000)` behind it. Boot areas are no disks for data.
fn take_disk(cards: &mut MmcCards, name: &str, what: &str, line: &LogLine<'_>) -> Option<()> {
    if !is_numbered(name, "mmcblk") || !is_kernel_name(name) || cards.disks.len() >= MOST_CARDS {
        return None;
    }
    let mut words = what.split_whitespace();
    let (host, _) = words.next()?.split_once(':')?;
    let words: Vec<&str> = words.collect();
    let unit = words.iter().position(|word| matches!(*word, "KiB" | "MiB" | "GiB" | "TiB"))?;
    let number = unit.checked_sub(1)?;
    let size = number::binary_size(&words.get(number..=unit)?.join(" "))?;
    let model = words.get(..number)?.join(" ");
    let device = BlockDevice {
        name: name.to_owned(),
        size: line.known(size),
        model: if model.is_empty() { Fact::default() } else { line.known(model) },
        ..BlockDevice::default()
    };
    cards.disks.insert(name.to_owned(), (host.to_owned(), device));
    Some(())
}

/// Makes block devices of the cards.
pub(super) fn finish_mmc(boot: &mut Boot) {
    let cards = std::mem::take(&mut boot.cards);
    for (name, (host, device)) in cards.disks {
        let transport = Transport::Mmc {
            pci: cards.functions.get(&host).copied(),
            mode: cards.modes.get(&host).cloned().unwrap_or_default(),
        };
        boot.machine.block.insert(name, BlockDevice { transport, ..device });
    }
}

/// Linux software RAID (`drivers/md/*.c`).
///
/// Understands `md/raid:md1: raid level 6 active with 11 out of 12 devices, algorithm 2` and the like.
pub(super) fn take_md(boot: &mut Boot, line: &LogLine<'_>) -> Option<()> {
    if let Some(rest) = line.message.strip_prefix("md: ") {
        return take_sync(boot, rest, line);
    }
    let [personality, name, what] =
        fields(line.message, "md/{}:{}: {}").filter(|[_, name, _]| is_array(name))?;
    if let Some((level, ready, all)) = parse_active(personality, what) {
        let array = array(boot, name);
        array.level = line.known(level);
        array.raid_disks = line.known(all);
        array.degraded = line.known(all.saturating_sub(ready));
    } else if let Some([member]) = fields(what, "device {} operational as raid disk") {
        array(boot, name).members.insert(member.to_owned(), line.known("in_sync".to_owned()));
    } else {
        let member = what.strip_prefix("Disk failure on ")?.split(',').next()?;
        let array = array(boot, name);
        array.members.insert(member.to_owned(), line.known("faulty".to_owned()));
        if let Some(degraded) = array.degraded.get() {
            array.degraded = line.known(degraded.saturating_add(1));
        }
        boot.event_of(name, None, LogKind::RaidMemberFailed, line);
    }
    Some(())
}

fn is_array(name: &str) -> bool {
    name.len() <= 32
        && name
            .strip_prefix("md")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '_'))
}

fn array<'b>(boot: &'b mut Boot, name: &str) -> &'b mut MdArray {
    boot.arrays.entry(name.to_owned()).or_default()
}

/// Makes block devices of the arrays.
pub(super) fn finish_md(boot: &mut Boot) {
    for (name, array) in std::mem::take(&mut boot.arrays) {
        let slaves = array.members.keys().cloned().collect();
        let kind = BlockKind::Md(Box::new(array));
        boot.machine.block.insert(name.clone(), BlockDevice { name, slaves, kind, ..BlockDevice::default() });
    }
}

/// Level, members that work, and members in all, of `raid level 6 active with 11 out of 12 devices` (personality
/// `raid`), `active with 2 out of 2 mirrors` (`raid1`).
fn parse_active(personality: &str, what: &str) -> Option<(String, u32, u32)> {
    let (level, counts) = what.split_once("active with ")?;
    let level = match level.trim().strip_prefix("raid level ") {
        Some(number) => format!("raid{}", number.trim().parse::<u8>().ok()?),
        None => personality.to_owned(),
    };
    let (ready, rest) = counts.split_once(" out of ")?;
    let all = rest.split_whitespace().next()?;
    Some((level, ready.trim().parse().ok()?, all.parse().ok()?))
}

/// Understands `resync of RAID array md0`, `recovery of RAID array md0`, `md0: resync done.`
fn take_sync(boot: &mut Boot, rest: &str, line: &LogLine<'_>) -> Option<()> {
    if let Some((what, name)) = rest.split_once(" of RAID array ") {
        let action = match what {
            "resync" => "resync",
            "recovery" => "recover",
            "reshape" => "reshape",
            "data-check" => "check",
            "requested-resync" => "repair",
            _ => return None,
        };
        let name = Some(name.trim()).filter(|name| is_array(name))?;
        array(boot, name).sync_action = line.known(action.to_owned());
        return Some(());
    }
    let (name, what) = rest.split_once(": ").filter(|(name, _)| is_array(name))?;
    (what.ends_with(" done.") || what.ends_with(" interrupted.")).then_some(())?;
    if let Some(array) = boot.arrays.get_mut(name) {
        array.sync_action = line.known("idle".to_owned());
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use narrows_base::units::Bytes;
    use proptest::prelude::*;

    use super::*;
    use crate::capture::Text;

    /// Of mails and posts about Renesas, Rockchip and NXP boards; sizes are those of the kernel.
    const LOG: &str = "mmc0: SDHCI controller on PCI [0000:00:1c.0] using ADMA 64-bit\n\
        mmc0: new HS400 MMC card at address 0001\n\
        mmcblk0: mmc0:0001 BGSD4R 29.1 GiB\n\
        mmcblk0boot0: mmc0:0001 BGSD4R 31.9 MiB\n\
        mmcblk0rpmb: mmc0:0001 BGSD4R 4.00 MiB, chardev (247:0)\n\
        mmc1: new ultra high speed SDR104 SDHC card at address aaaa\n\
        mmcblk1: mmc1:aaaa SL16G 14.8 GiB (quirks 0x00004000)\n\
        mmc2: new ultra high speed SDR104 SDIO card at address 0001\n";

    fn block(log: &str) -> BTreeMap<String, BlockDevice> {
        super::super::read(&Text::new("dmesg", log.as_bytes())).machine.block
    }

    #[test]
    fn a_card_has_its_size_model_and_mode() {
        let block = block(LOG);
        assert_eq!(block.keys().collect::<Vec<_>>(), ["mmcblk0", "mmcblk1"]);
        let Transport::Mmc { pci, mode } = &block["mmcblk0"].transport else { panic!("a card") };
        assert_eq!(pci.map(|pci| pci.to_string()).as_deref(), Some("0000:00:1c.0"));
        assert_eq!(mode.value().map(String::as_str), Some("HS400 MMC"));
        assert_eq!(block["mmcblk0"].model.value().map(String::as_str), Some("BGSD4R"));
        let size = block["mmcblk1"].size.value().map(|size| Bytes::get(*size));
        assert_eq!(size, Some((14.8 * 1_073_741_824.0_f64).round() as u64));
        let Transport::Mmc { pci: None, mode } = &block["mmcblk1"].transport else { panic!("a card") };
        assert_eq!(mode.value().map(String::as_str), Some("ultra high speed SDR104 SDHC"));
    }

    #[test]
    fn what_is_no_card_or_has_no_size_is_none() {
        assert!(block("mmc2: new high speed SDIO card at address 0001\n").is_empty());
        assert!(block("mmcblk0: mmc0:0001\nmmcblk0: error -110 transferring data\n").is_empty());
    }

    proptest! {
        #[test]
        fn no_log_panics(text in "(mmc0: |new |card|mmcblk0: |mmc0:0001|on PCI \\[|GiB|[0-9.]{1,4}|\\PC{0,4}|[ \n]){0,30}") {
            let _ = block(&text);
        }
    }
}
