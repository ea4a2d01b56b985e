//! eMMC and SD cards (`drivers/mmc/core/bus.c`, `mmc_add_card`; `drivers/mmc/core/block.c`; `drivers/mmc/host/sdhci.c`).
//!
//! `mmc0: SDHCI controller on PCI [0000:00:1c.0] using ADMA 64-bit`, `mmc0: new HS400 MMC card at address 0001`,
//! `mmc1: new ultra high speed SDR104 SDHC card at address aaaa`, `mmcblk0: mmc0:0001 BGSD4R 29.1 GiB`.

use std::collections::BTreeMap;

use super::{Boot, Line};
use crate::capture::device::is_kernel_name;
use crate::capture::size;
use narrows_base::fact::Fact;
use narrows_machine::block::{BlockDevice, Transport};
use narrows_machine::pci::PciAddress;

/// Hosts and their cards.
#[derive(Default)]
pub(super) struct Cards {
    /// The function of each host, by its name.
    functions: BTreeMap<String, PciAddress>,
    /// How each host talks to its card, in the kernel's words: `HS400 MMC`.
    modes: BTreeMap<String, Fact<String>>,
    /// Disks, with the host of each.
    disks: BTreeMap<String, (String, BlockDevice)>,
}

/// More hosts than a machine has.
const MOST: usize = 64;

/// A message of a host or a card.
pub(super) fn take(boot: &mut Boot, line: &Line<'_>) -> bool {
    let Some((name, what)) = line.message.split_once(": ") else { return false };
    let is_host = |name: &str| {
        let number = name.strip_prefix("mmc").unwrap_or_default();
        (1..=3).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let cards = &mut boot.cards;
    if is_host(name) {
        if let Some((mode, _)) = what.strip_prefix("new ").and_then(|what| what.split_once(" card")) {
            let is_storage =
                mode.rsplit(' ').next().is_some_and(|kind| kind == "MMC" || kind.starts_with("SD"));
            if is_storage && !mode.ends_with("SDIO") && cards.modes.len() < MOST {
                cards.modes.insert(name.to_owned(), line.known(mode.to_owned()));
                return true;
            }
        }
        let function = what.split_once(" on PCI [").and_then(|(_, at)| at.split(']').next()?.parse().ok());
        if let Some(address) = function.filter(|_| cards.functions.len() < MOST) {
            cards.functions.insert(name.to_owned(), address);
            return true;
        }
        return false;
    }
    take_disk(cards, name, what, line)
}

/// `mmcblk0: mmc0:0001 BGSD4R 29.1 GiB`, with `(ro)` or `(quirks 0x4000)` behind it. Boot areas are no disks for data.
fn take_disk(cards: &mut Cards, name: &str, what: &str, line: &Line<'_>) -> bool {
    let is_disk =
        name.strip_prefix("mmcblk").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    if !is_disk || !is_kernel_name(name) || cards.disks.len() >= MOST {
        return false;
    }
    let mut words = what.split_whitespace();
    let Some((host, _)) = words.next().and_then(|at| at.split_once(':')) else { return false };
    let words: Vec<&str> = words.collect();
    let Some(unit) = words.iter().position(|word| matches!(*word, "KiB" | "MiB" | "GiB" | "TiB")) else {
        return false;
    };
    let Some(number) = unit.checked_sub(1) else { return false };
    let (Some(model), Some(amount)) = (words.get(..number), words.get(number..=unit)) else { return false };
    let Some(size) = size::binary(&amount.join(" ")) else { return false };
    let model = model.join(" ");
    let device = BlockDevice {
        name: name.to_owned(),
        size: line.known(size),
        model: if model.is_empty() { Fact::default() } else { line.known(model) },
        ..BlockDevice::default()
    };
    cards.disks.insert(name.to_owned(), (host.to_owned(), device));
    true
}

/// Makes block devices of the cards.
pub(super) fn finish(boot: &mut Boot) {
    let cards = std::mem::take(&mut boot.cards);
    for (name, (host, device)) in cards.disks {
        let transport = Transport::Mmc {
            pci: cards.functions.get(&host).copied(),
            mode: cards.modes.get(&host).cloned().unwrap_or_default(),
        };
        boot.machine.block.insert(name, BlockDevice { transport, ..device });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Text;
    use narrows_base::units::Bytes;
    use proptest::prelude::*;

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
