//! `hwinfo`: a block of lines for each device, `41: PCI 100.0: 0108 Non-Volatile memory controller (NVM Express)`, and
//! the short form with a list below each kind of device.
//!
//! Blocks have the path of the device in sysfs, so that what is above a function and what carries a disk need no guess.

use narrows_base::fact::Fact;
use narrows_base::units::{Bytes, Sectors512};
use narrows_machine::block::{Sas, Sata, Transport, Usb, is_numbered, makes_volumes};
use narrows_machine::nic::Nic;
use narrows_machine::pci::{PciAddress, PciId};

use super::{Drive, put_nic};
use crate::capture::device::{is_kernel_name, key_of, known};
use crate::capture::lspci::ListedFunctions;
use crate::capture::{Part, Rank, Text, links};
use crate::text::is_digits;

/// The most lines of one block; a real one has 40.
const MOST_LINES: usize = 400;

/// One device of the text.
#[derive(Debug, Default)]
struct HwinfoBlock<'t> {
    line: usize,
    /// The class number and the words of the first line.
    class: &'t str,
    fields: Vec<(&'t str, &'t str)>,
}

impl<'t> HwinfoBlock<'t> {
    fn get(&self, key: &str) -> Option<&'t str> {
        self.fields.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    /// The first text in quotes of a field.
    fn quoted(&self, key: &str) -> Option<&'t str> {
        let text = self.get(key)?.split('"').nth(1)?.trim();
        (!text.is_empty()).then_some(text)
    }

    /// The number in `pci 0x144d "Samsung …"`.
    fn number(&self, key: &str) -> Option<u16> {
        let digits = self.get(key)?.strip_prefix("pci 0x")?.split_whitespace().next()?;
        u16::from_str_radix(digits, 16).ok()
    }

    fn is(&self, kind: &str) -> bool {
        self.get("Hardware Class") == Some(kind)
    }
}

/// Reads every function, disk and network interface.
pub fn read(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Summary, ..Part::default() };
    let body = text.body();
    if body.contains("Hardware Class: ") {
        let mut functions = ListedFunctions::default();
        for block in blocks(text) {
            function(&mut functions, text, &block);
            if block.is("disk") {
                disk(&mut part, text, &block);
            }
            interface(&mut part, text, &block);
        }
        if let Some(pci) = functions.finish() {
            part.machine.pci = pci;
            part.kind = Some("hwinfo");
        }
    } else if body.contains("\ndisk:") || body.starts_with("disk:") {
        short(&mut part, text);
    }
    part
}

fn blocks(text: &Text) -> Vec<HwinfoBlock<'_>> {
    let mut blocks: Vec<HwinfoBlock<'_>> = Vec::new();
    let mut is_open = false;
    for (line, words) in text.lines() {
        let words = words.trim();
        if let Some(class) = head(words) {
            blocks.push(HwinfoBlock { line, class, fields: Vec::new() });
            is_open = true;
        } else if let Some(block) =
            blocks.last_mut().filter(|block| is_open && block.fields.len() < MOST_LINES)
        {
            is_open = !words.is_empty();
            block.fields.extend(words.split_once(": "));
        }
    }
    blocks
}

/// `0108 Non-Volatile memory controller` of `34: PCI e100.0: 0108 Non-Volatile memory controller (NVM Express)`.
fn head(line: &str) -> Option<&str> {
    let (number, rest) = line.split_once(": ")?;
    let (bus, class) = rest.split_once(": ")?;
    let is_number = number.len() <= 4 && is_digits(number);
    let code = class.split_whitespace().next()?;
    let is_code = (4..=5).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_number && is_code && bus.contains('.')).then_some(class)
}

fn function(functions: &mut ListedFunctions, text: &Text, block: &HwinfoBlock<'_>) {
    let Some(address) = block.get("SysFS BusID").and_then(address) else { return };
    let Some(vendor) = block.number("Vendor") else { return };
    let id = block.number("Device").map(|device| PciId { vendor, device });
    let name = block.quoted("Model").or_else(|| block.quoted("Device"));
    let code = block.class.get(..4).filter(|_| block.class.get(4..5) == Some(" "));
    let above = block.get("SysFS ID").and_then(|path| above(path, address));
    functions.add(
        &text.source(block.line),
        (address, above),
        (id, name, code.and_then(|code| u16::from_str_radix(code, 16).ok())),
        block.quoted("Driver"),
    );
}

/// An address as sysfs writes it.
fn address(text: &str) -> Option<PciAddress> {
    let (domain, _) = text.split_once(':')?;
    (domain.len() >= 4).then(|| text.parse().ok()).flatten()
}

/// The bridge above a function, in the path of the function.
fn above(path: &str, of: PciAddress) -> Option<PciAddress> {
    let before = path.split('/').rev().filter_map(address).find(|address| *address != of)?;
    (before.domain == of.domain).then_some(before)
}

fn disk(part: &mut Part, text: &Text, block: &HwinfoBlock<'_>) {
    let Some(name) = block.get("Device File").and_then(|file| key_of(file.split(' ').next()?)) else {
        return;
    };
    if !is_kernel_name(&name) {
        return;
    }
    // The model of an NVMe drive is that of its controller here; its own is in its name below by-id.
    let is_own = block.number("Vendor").is_none();
    let sectors = block.get("Size").and_then(|size| size.strip_suffix(" sectors a 512 bytes")?.parse().ok());
    let drive = Drive {
        source: text.source(block.line),
        model: block.quoted("Model").filter(|model| is_own && *model != "Disk").map(str::to_owned),
        serial: block.quoted("Serial ID").map(str::to_owned),
        size: sectors.map(|sectors| Bytes::from_sectors(Sectors512::new(sectors))),
        transport: block.get("SysFS Device Link").and_then(|path| carrier(path, block)),
        ..Drive::default()
    };
    drive.put(&mut part.machine, &name);
    for link in block.get("Device Files").unwrap_or_default().split(", ") {
        links::note(&mut part.machine, link, &name);
    }
    part.kind = Some("hwinfo");
}

/// What carries a disk, by its path in sysfs.
fn carrier(path: &str, block: &HwinfoBlock<'_>) -> Option<Transport> {
    let parts: Vec<&str> = path.split('/').collect();
    let pci = parts.iter().rev().find_map(|part| address(part));
    let numbered = |prefix: &str| parts.iter().rev().copied().find(|part| is_numbered(part, prefix));
    let driver = block.quoted("Driver").unwrap_or("scsi");
    if let Some(controller) = numbered("nvme") {
        return Some(Transport::NvmePci { controller: controller.to_owned(), pci: pci? });
    }
    if numbered("usb").is_some() {
        let device =
            parts.iter().rev().find_map(|part| part.split_once(':').filter(|(at, _)| at.contains('-')));
        let device = device.map(|(device, _)| device.to_owned()).unwrap_or_default();
        return Some(Transport::Usb(Usb { device, pci, ..Usb::default() }));
    }
    if numbered("mmc").is_some() {
        return Some(Transport::Mmc { pci, mode: Fact::default() });
    }
    if numbered("virtio").is_some() {
        let flavour = if numbered("host").is_some() { "virtio-scsi" } else { "virtio-blk" };
        return Some(Transport::Virtio { pci, flavour: flavour.to_owned() });
    }
    numbered("host")?;
    let channel = block.get("SysFS BusID").and_then(|at| at.split(':').nth(1)?.parse().ok());
    let is_sas = parts.iter().any(|part| part.starts_with("end_device-")) || makes_volumes(driver, channel);
    Some(match numbered("ata") {
        Some(port) => Transport::Sata(Sata { port: port.to_owned(), pci, ..Sata::default() }),
        None if driver == "ahci" => Transport::Sata(Sata { pci, ..Sata::default() }),
        None if is_sas => Transport::Sas(Sas {
            driver: Fact::known(driver.to_owned(), "hwinfo"),
            hidden: makes_volumes(driver, channel),
            pci,
            ..Sas::default()
        }),
        None => Transport::Other { name: driver.to_owned(), pci },
    })
}

/// The name of a network card's interface.
fn interface(part: &mut Part, text: &Text, block: &HwinfoBlock<'_>) {
    if block.is("network") {
        let pci = block.get("SysFS BusID").and_then(address);
        let driver = known(block.quoted("Driver").map(str::to_owned), text.source(block.line));
        put_nic(&mut part.machine, block.get("Device File"), Nic { pci, driver, ..Nic::default() });
    }
}

/// `hwinfo --short`: disks below `disk:`, with their names.
fn short(part: &mut Part, text: &Text) {
    let mut is_disk = false;
    for (line, words) in text.lines() {
        if let Some(kind) = words.strip_suffix(':').filter(|kind| !kind.starts_with(' ')) {
            is_disk = kind == "disk";
            continue;
        }
        let Some((file, model)) = words.trim().split_once(' ').filter(|_| is_disk) else { continue };
        let Some(name) = file.strip_prefix("/dev/").and_then(key_of) else { continue };
        // The name of an NVMe drive is that of its controller.
        let is_own = !name.starts_with("nvme") && model.trim() != "Disk";
        let model = is_own.then(|| model.trim().to_owned());
        Drive { source: text.source(line), model, ..Drive::default() }.put(&mut part.machine, &name);
        part.kind = Some("hwinfo");
    }
}

#[cfg(test)]
mod tests {
    use narrows_machine::Machine;
    use proptest::prelude::*;

    use super::*;

    fn machine(text: &str) -> Machine {
        read(&Text::new("hwinfo.txt", text.as_bytes())).machine
    }

    /// As hwinfo 21 prints a drive, its controller, the bridge above it, a SATA disk, a volume and a card; made up.
    const ALL: &str = r#"
29: PCI 1d.0: 0604 PCI bridge (Normal decode)
  [Created at pci.386]
  SysFS ID: /devices/pci0000:00/0000:00:1d.0
  SysFS BusID: 0000:00:1d.0
  Hardware Class: bridge
  Model: "Intel PCI bridge"
  Vendor: pci 0x8086 "Intel Corporation"
  Device: pci 0xa298 
  Driver: "pcieport"

34: PCI 300.0: 0108 Non-Volatile memory controller (NVM Express)
  SysFS ID: /devices/pci0000:00/0000:00:1d.0/0000:03:00.0
  SysFS BusID: 0000:03:00.0
  Hardware Class: storage
  Model: "Samsung Electronics NVMe SSD Controller"
  Vendor: pci 0x144d "Samsung Electronics Co Ltd"
  Device: pci 0xa808 "NVMe SSD Controller"
  Driver: "nvme"
  Attached to: #29 (PCI bridge)

41: PCI 00.0: 10600 Disk
  SysFS BusID: nvme0
  SysFS Device Link: /devices/pci0000:00/0000:00:1d.0/0000:03:00.0/nvme/nvme0
  Hardware Class: disk
  Model: "Samsung Electronics NVMe SSD Controller"
  Vendor: pci 0x144d "Samsung Electronics Co Ltd"
  Device: pci 0xa808 "NVMe SSD Controller"
  Driver: "nvme"
  Device File: /dev/nvme0n1
  Device Files: /dev/nvme0n1, /dev/disk/by-id/nvme-Samsung_SSD_970_EVO_500GB_S1, /dev/disk/by-path/pci-0000:03:00.0-nvme-1

42: IDE 200.0: 10600 Disk
  SysFS BusID: 2:0:0:0
  SysFS Device Link: /devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0
  Hardware Class: disk
  Model: "ST4000DM004-2CV1"
  Device: "ST4000DM004-2CV1"
  Serial ID: "Z1"
  Driver: "ahci", "sd"
  Device File: /dev/sda (/dev/sg0)
  Size: 7814037168 sectors a 512 bytes

43: SCSI 20.0: 10600 Disk
  SysFS BusID: 0:2:0:0
  SysFS Device Link: /devices/pci0000:00/0000:00:04.0/0000:02:00.0/host0/target0:2:0/0:2:0:0
  Hardware Class: disk
  Model: "DELL PERC H700"
  Vendor: "DELL"
  Driver: "megaraid_sas", "sd"
  Device File: /dev/sdb (/dev/sg1)

44: PCI 400.0: 0200 Ethernet controller
  SysFS ID: /devices/pci0000:00/0000:00:1c.0/0000:04:00.0
  SysFS BusID: 0000:04:00.0
  Hardware Class: network
  Model: "Intel I210"
  Vendor: pci 0x8086 "Intel Corporation"
  Device: pci 0x1533 "I210"
  Driver: "igb"
  Device File: eno1
"#;

    #[test]
    fn functions_have_classes_names_and_bridges_above() {
        let machine = machine(ALL);
        let at = |text: &str| text.parse::<PciAddress>().expect("an address");
        let drive = &machine.pci[&at("0000:03:00.0")];
        assert_eq!((drive.class.get(), drive.parent), (Some(0x01_0802), Some(at("0000:00:1d.0"))));
        assert_eq!(drive.id.get().map(|id| id.to_string()).as_deref(), Some("144d:a808"));
        assert_eq!(drive.driver.value().map(String::as_str), Some("nvme"));
        assert_eq!(machine.nics["eno1"].pci, Some(at("0000:04:00.0")));
    }

    #[test]
    fn disks_are_carried_by_what_their_paths_say() {
        let machine = machine(ALL);
        let model = |name: &str| machine.block[name].model.value().map(String::as_str);
        assert_eq!((model("nvme0n1"), model("sda")), (None, Some("ST4000DM004-2CV1")));
        assert!(
            matches!(&machine.block["nvme0n1"].transport, Transport::NvmePci { controller, .. } if controller == "nvme0")
        );
        assert!(matches!(&machine.block["sda"].transport, Transport::Sata(sata) if sata.port == "ata3"));
        assert!(matches!(&machine.block["sdb"].transport, Transport::Sas(sas) if sas.hidden));
        assert_eq!(machine.block["sda"].size.get(), Some(Bytes::new(4_000_787_030_016)));
        assert_eq!(
            machine.links.get("nvme-Samsung_SSD_970_EVO_500GB_S1").map(String::as_str),
            Some("nvme0n1")
        );
    }

    #[test]
    fn the_short_form_names_disks() {
        let machine = machine(
            "cpu:\n    Intel\ndisk:\n  /dev/sda   WDC WD10EZEX-08W\n  /dev/nvme0n1  Samsung Controller\npartition:\n  /dev/sda1  Partition\n",
        );
        assert_eq!(machine.block.keys().collect::<Vec<_>>(), ["nvme0n1", "sda"]);
        assert_eq!(machine.block["sda"].model.value().map(String::as_str), Some("WDC WD10EZEX-08W"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([0-9]{1,2}: PCI 1.0: 0108 x\n|Hardware Class: (disk|network)\n|SysFS BusID: 0000:01:00.0\n|Vendor: pci 0x|Device File: |/dev/sda|\"|SysFS Device Link: /|host1|ata|: |\n|é){0,30}") {
            let _ = machine(&text);
            let _ = machine(&format!("Hardware Class: disk\n{text}"));
        }
    }
}
