//! What `lstopo` prints on a console: which PCI function carries which disk and network interface.
//!
//! Since hwloc 2 a function is `PCI 01:00.0 (NVMExp)`, before it was `PCI 144d:a808` without its address, of which nothing is taken.
//! Bridges have no address, and links no rate, so no path is as sure as with `lspci -vv`. The words in parentheses are those of
//! `hwloc_pci_class_string` (`hwloc/pci-common.c`).

use narrows_machine::pci::PciAddress;

use super::{MOST_OS_DEVICES, disk, network};
use crate::capture::device::{self, is_kernel_name, learn};
use crate::capture::lspci::full_class;
use crate::capture::{Part, Rank, Text};

/// Words for classes of functions that carry disks or data of a network, and the class.
const CLASSES: &[(&str, u16)] = &[
    ("SCSI", 0x0100),
    ("IDE", 0x0101),
    ("RAID", 0x0104),
    ("ATA", 0x0105),
    ("SATA", 0x0106),
    ("SAS", 0x0107),
    ("NVMExp", 0x0108),
    ("Ethernet", 0x0200),
    ("InfiniBand", 0x0207),
    ("Network", 0x0280),
    ("VGA", 0x0300),
    ("3D", 0x0302),
];

/// Reads the functions of a tree and what each carries.
pub fn read(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Summary, ..Part::default() };
    let mut below: Option<(usize, PciAddress)> = None;
    let mut found = 0;
    for (number, line) in text.lines() {
        let word = line.trim();
        let indent = line.len() - line.trim_start().len();
        if let Some((address, class)) = function(word) {
            below = Some((indent, address));
            found += 1;
            if found > MOST_OS_DEVICES {
                break;
            }
            let known = device::function(&mut part.machine, address);
            learn(&mut known.class, class.map(|class| full_class(class, None)), &text.source(number));
            part.kind = Some("lstopo");
        } else if let Some((kind, name)) = os_device(word) {
            // Where tabs and blanks were lost, what a function carries stands as far to the left as the function.
            let pci = below.filter(|(left, _)| indent >= *left).map(|(_, address)| address);
            put(&mut part, kind, name, pci);
        } else if !word.is_empty() {
            below = None;
        }
    }
    part
}

/// `PCI 01:00.0 (NVMExp)`.
fn function(word: &str) -> Option<(PciAddress, Option<u16>)> {
    let (address, class) = word.strip_prefix("PCI ")?.split_once(" (")?;
    let class = class.strip_suffix(')')?;
    let known = CLASSES.iter().find(|(known, _)| *known == class);
    Some((address.parse().ok()?, known.map(|(_, class)| *class)))
}

/// `Block(Disk) "sda"`, `Net "eno1"`: its kind and its name.
fn os_device(word: &str) -> Option<(&str, &str)> {
    let (kind, rest) = word.split_once(" \"")?;
    let name = rest.strip_suffix('"')?;
    let is_kind = ["Block", "Net", "OpenFabrics", "GPU", "CoProc", "DMA", "Misc"]
        .iter()
        .any(|known| kind.starts_with(known));
    is_kind.then_some((kind, name))
}

fn put(part: &mut Part, kind: &str, name: &str, pci: Option<PciAddress>) {
    if part.machine.block.len().saturating_add(part.machine.nics.len()) >= MOST_OS_DEVICES {
        return;
    }
    if kind == "Net" {
        network(name, pci, &mut part.machine);
    } else if matches!(kind, "Block" | "Block(Disk)") && is_kernel_name(name) {
        disk(&mut part.machine, name, pci);
    }
}

#[cfg(test)]
mod tests {
    use narrows_machine::Machine;
    use narrows_machine::block::Transport;
    use proptest::prelude::*;

    use super::*;

    /// The devices of an EPYC of two sockets, as lstopo 2.x prints them in a public log.
    const SERVER: &str = "\
    Machine (62GB total)
  Package L#0
    NUMANode L#0 (P#0 31GB)
    L2 L#15 (512KB) + L1d L#15 (32KB) + L1i L#15 (32KB) + Core L#15
      PU L#30 (P#15)
      PU L#31 (P#47)
    HostBridge
      PCIBridge
        PCI 01:00.0 (NVMExp)
          Block(Disk) \"nvme2n1\"
      PCIBridge
        PCI 02:00.0 (Ethernet)
          Net \"enp2s0f0np0\"
        PCI 02:00.1 (Ethernet)
          Net \"enp2s0f1np1\"
    HostBridge
      PCIBridge
        PCI 03:00.0 (RAID)
          Block(Disk) \"sdb\"
          Block(Disk) \"sda\"
      PCIBridge
        PCI 65:00.0 (SATA)
          Block(Removable Media Device) \"sr0\"
  Package L#1
    NUMANode L#1 (P#1 31GB)
";

    fn of(text: &str) -> Part {
        read(&Text::new("lstopo.txt", text.as_bytes()))
    }

    fn carrier(machine: &Machine, disk: &str) -> Option<String> {
        match &machine.block.get(disk)?.transport {
            Transport::NvmePci { pci, .. } => Some(pci.to_string()),
            Transport::Sas(sas) => sas.pci.map(|pci| pci.to_string()),
            Transport::Sata(sata) => sata.pci.map(|pci| pci.to_string()),
            _ => None,
        }
    }

    #[test]
    fn functions_carry_what_stands_below_them() {
        let quoted: String = SERVER.lines().map(|line| format!("> {line}\n")).collect();
        for body in [SERVER.to_owned(), quoted, SERVER.replace('\n', "\r\n")] {
            let part = of(&body);
            let machine = &part.machine;
            assert_eq!(part.kind, Some("lstopo"), "{body}");
            assert_eq!(carrier(machine, "nvme2n1").as_deref(), Some("0000:01:00.0"));
            assert_eq!(carrier(machine, "sda"), carrier(machine, "sdb"));
            assert_eq!(carrier(machine, "sda").as_deref(), Some("0000:03:00.0"));
            let nic = machine.nics["enp2s0f1np1"].pci.map(|pci| pci.to_string());
            assert_eq!(nic.as_deref(), Some("0000:02:00.1"));
            assert!(!machine.block.contains_key("sr0"));
            let class = machine.pci[&"0000:65:00.0".parse().expect("an address")].class.value().copied();
            assert_eq!(class.map(|class| class >> 8), Some(0x0106));
        }
    }

    #[test]
    fn lost_blanks_do_not_part_a_disk_from_its_function_and_others_get_none() {
        let flat: String = SERVER.lines().map(|line| format!("{}\n", line.trim_start())).collect();
        assert_eq!(carrier(&of(&flat).machine, "nvme2n1").as_deref(), Some("0000:01:00.0"));
        // A disk beside the processors has no function, whatever came before.
        let beside = format!("{SERVER}  Block(Disk) \"sdz\"\n");
        let part = of(&beside);
        assert!(part.machine.block.contains_key("sdz") && carrier(&part.machine, "sdz").is_none());
        let cut = &SERVER[..SERVER.find("Block(Disk) \"sdb").expect("is there") + 14];
        assert_eq!(of(cut).machine.block.len(), 1);
    }

    #[test]
    fn hwloc_1_which_names_no_addresses_gives_nothing() {
        let part =
            of("Machine\n  HostBridge L#0\n    PCIBridge\n      PCI 14e4:1639\n        Net L#0 \"eth0\"\n");
        assert!(part.kind.is_none() && part.machine.pci.is_empty() && part.machine.nics.is_empty());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(HostBridge\n|PCI 01:00.0 \\(SATA\\)\n|PCI |Block\\(Disk\\) \"| \"|sda|\"|  |é|\n){0,24}") {
            let _ = of(&format!("HostBridge\n{text}"));
        }
    }
}
