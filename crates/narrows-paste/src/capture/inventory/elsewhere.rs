//! Drives as other systems list them: CrystalDiskInfo of Windows, `system_profiler` of macOS.

use narrows_base::fact::Fact;
use narrows_base::units::{BitsPerSec, Bytes, GtPerSec, Lanes};
use narrows_machine::Machine;
use narrows_machine::block::{Sata, Transport, Usb};
use narrows_machine::pci::{LinkEnd, PciAddress};

use super::{Drive, MOST};
use crate::capture::device::{function, known};
use crate::capture::number::leading;
use crate::capture::{Part, Rank, Text};
use crate::text::is_digits;

/// Functions of which no text tells the place are numbered from here, so that they are none of those of another reader.
const FIRST_UNNAMED: u8 = 128;

/// NVMe controllers (PCI Code and ID Assignment Specification).
const NVME: u32 = 0x01_0802;

/// What a drive's connection runs at, or could.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Pcie(GtPerSec, Lanes),
    Sata(BitsPerSec),
}

impl Mode {
    /// `PCIe 3.0 x2`, `SATA/600`.
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(megabytes) = text.strip_prefix("SATA/") {
            // 8b/10b: ten bits on the wire for each byte.
            return Some(Self::Sata(BitsPerSec::from_mbit(megabytes.trim().parse::<f64>().ok()? * 10.0)));
        }
        let (generation, lanes) = text.strip_prefix("PCIe ")?.split_once(" x")?;
        let generation = generation.trim().strip_suffix(".0")?.parse().ok()?;
        Some(Self::Pcie(GtPerSec::from_pcie_generation(generation)?, Lanes::parse(lanes)?))
    }
}

/// A drive as it is read.
#[derive(Debug, Default)]
struct ListedDrive {
    drive: Drive,
    is_nvme: bool,
    is_usb: bool,
    current: Option<Mode>,
    most: Option<Mode>,
}

impl ListedDrive {
    /// Puts the drive down, and its link where it has one of PCI Express.
    fn put(self, machine: &mut Machine, name: &str, number: u8) {
        let source = self.drive.source.clone();
        let pcie = |mode: Option<Mode>| match mode {
            Some(Mode::Pcie(speed, lanes)) => Some((speed, lanes)),
            _ => None,
        };
        let sata = |mode: Option<Mode>| match mode {
            Some(Mode::Sata(rate)) => Some(rate),
            _ => None,
        };
        let (current, most) = (pcie(self.current), pcie(self.most));
        let transport = if self.is_usb {
            Transport::Usb(Usb::default())
        } else if self.is_nvme || current.or(most).is_some() {
            let pci = PciAddress::unnamed(FIRST_UNNAMED.saturating_add(number));
            let of = |fact: Option<(GtPerSec, Lanes)>| {
                (known(fact.map(|(speed, _)| speed), &source), known(fact.map(|(_, lanes)| lanes), &source))
            };
            let ((current_speed, current_width), (max_speed, max_width)) = (of(current), of(most));
            let device = function(machine, pci);
            device.class = Fact::known(NVME, source.as_str());
            device.link =
                LinkEnd { current_speed, max_speed, current_width, max_width, ..LinkEnd::default() };
            Transport::NvmePci { controller: name.to_owned(), pci }
        } else {
            let (speed, drive_speed) = (known(sata(self.current), &source), known(sata(self.most), &source));
            Transport::Sata(Sata { speed, drive_speed, ..Sata::default() })
        };
        Drive { transport: Some(transport), ..self.drive }.put(machine, name);
    }
}

/// CrystalDiskInfo, as its menu copies it: `Transfer Mode : PCIe 3.0 x2 | PCIe 4.0 x4` is what the link runs at, and could. The keys
/// are English in every language. It has numbers for the drives and no names.
pub fn read_crystal_disk_info(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Decoded, ..Part::default() };
    let mut drives: Vec<ListedDrive> = Vec::new();
    for (number, line) in text.lines() {
        let Some((key, value)) = line.split_once(" : ") else { continue };
        let value = value.trim();
        if key.trim() == "Model" {
            let drive =
                Drive { source: text.source(number), model: Some(value.to_owned()), ..Drive::default() };
            drives.push(ListedDrive { drive, ..ListedDrive::default() });
            continue;
        }
        let Some(open) = drives.last_mut() else { continue };
        match key.trim() {
            "Interface" => {
                open.is_usb = value.starts_with("US") || value.starts_with("UASP");
                open.is_nvme = value.starts_with("NVM Express");
            }
            "Transfer Mode" => {
                let (current, most) = value.split_once('|').unwrap_or((value, ""));
                (open.current, open.most) = (Mode::parse(current), Mode::parse(most));
            }
            "Disk Size" => {
                open.drive.size = leading(value).map(|(gigabytes, _)| Bytes::new((gigabytes * 1e9) as u64));
            }
            "Rotation Rate" => open.drive.rotational = Some(value.ends_with("RPM")),
            _ => {}
        }
    }
    let told =
        drives.into_iter().filter(|one| one.is_nvme || one.is_usb || one.current.or(one.most).is_some());
    for (number, drive) in (1..=u8::MAX / 2).zip(told) {
        drive.put(&mut part.machine, &format!("disk{number}"), number);
        part.kind = Some("CrystalDiskInfo");
    }
    part
}

/// `system_profiler SPNVMeDataType SPSerialATADataType` of macOS: `Link Width: x2`, `Link Speed: 8.0 GT/s` of a drive, and `Negotiated
/// Link Speed: 3 Gigabit` of the port above it. The name of a drive stands last.
pub fn read_system_profiler(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Decoded, ..Part::default() };
    let mut open = ListedDrive::default();
    let (mut width, mut speed) = (None, None);
    // What a port carries holds for each drive below it.
    let (mut port, mut negotiated) = (None, None);
    let gigabits = |value: &str| {
        let (number, unit) = leading(value)?;
        unit.trim_start().starts_with("Gigabit").then(|| BitsPerSec::from_mbit(number * 1000.0))
    };
    let mut count: u8 = 0;
    for (number, line) in text.lines() {
        let Some((key, value)) = line.trim().split_once(": ") else { continue };
        match key {
            "Model" => {
                open.drive.source = text.source(number);
                open.drive.model = Some(value.trim().to_owned());
            }
            "Capacity" => open.drive.size = in_brackets(value),
            "Link Width" => width = Lanes::parse(value),
            "Link Speed" if value.contains("GT/s") => speed = GtPerSec::parse(value),
            "Link Speed" => port = gigabits(value),
            "Negotiated Link Speed" => negotiated = gigabits(value),
            "Medium Type" => open.drive.rotational = Some(value.trim() == "Rotational"),
            "BSD Name"
                if is_disk(value.trim()) && open.drive.model.is_some() && usize::from(count) < MOST =>
            {
                let mut drive = std::mem::take(&mut open);
                let pcie = speed.take().zip(width.take());
                drive.is_nvme = pcie.is_some();
                drive.current =
                    pcie.map(|(speed, lanes)| Mode::Pcie(speed, lanes)).or(negotiated.map(Mode::Sata));
                drive.most = port.filter(|_| pcie.is_none()).map(Mode::Sata);
                if drive.current.is_some() {
                    count = count.saturating_add(1);
                    drive.put(&mut part.machine, value.trim(), count);
                    part.kind = Some("system_profiler");
                }
            }
            _ => {}
        }
    }
    part
}

/// `2 TB (2,000,398,934,016 bytes)`.
fn in_brackets(value: &str) -> Option<Bytes> {
    let (number, _) = value.split_once('(')?.1.split_once(" bytes")?;
    number.replace([',', '.', ' '], "").parse().ok().map(Bytes::new)
}

/// `disk2`, but not the volume `disk2s1`.
fn is_disk(name: &str) -> bool {
    name.strip_prefix("disk").is_some_and(is_digits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(part: &Part, name: &str) -> String {
        let disk = &part.machine.block[name];
        match &disk.transport {
            Transport::NvmePci { pci, .. } => {
                let link = &part.machine.pci[pci].link;
                let end = |speed: &Fact<GtPerSec>, lanes: &Fact<Lanes>| {
                    format!("{:?} {:?}", speed.get().map(GtPerSec::mega), lanes.get().map(Lanes::get))
                };
                format!(
                    "{} / {}",
                    end(&link.current_speed, &link.current_width),
                    end(&link.max_speed, &link.max_width)
                )
            }
            Transport::Sata(sata) => format!("{:?} / {:?}", sata.speed.get(), sata.drive_speed.get()),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn crystal_disk_info_tells_what_a_link_runs_at_and_could() {
        let body = "CrystalDiskInfo 9.6.3 (C) 2008-2025 hiyohiyo\n\
            (01) WD_BLACK SN850X 2000GB : 2000.3 GB [0/1/0, sq] - nv\n\
            \x20          Model : WD_BLACK SN850X 2000GB\n\x20      Disk Size : 2000.3 GB\n\x20      Interface : NVM Express\n\
            \x20  Transfer Mode : PCIe 3.0 x2 | PCIe 4.0 x4\n\
            \x20          Model : ST18000NM000J-2TV103\n\x20      Interface : Serial ATA\n\x20  Rotation Rate : 7200 RPM\n\
            \x20  Transfer Mode : SATA/300 | SATA/600\n";
        let part = read_crystal_disk_info(&Text::new("x", body.as_bytes()));
        assert_eq!(part.kind, Some("CrystalDiskInfo"));
        assert_eq!(told(&part, "disk1"), "Some(8000) Some(2) / Some(16000) Some(4)");
        assert_eq!(
            told(&part, "disk2"),
            format!("{:?} / {:?}", Some(BitsPerSec::from_mbit(3000.0)), Some(BitsPerSec::from_mbit(6000.0)))
        );
        assert_eq!(part.machine.block["disk2"].queue.rotational.get(), Some(true));
        let other = "Model : Honda\nColour : red\n";
        assert!(read_crystal_disk_info(&Text::new("x", other.as_bytes())).kind.is_none());
    }

    #[test]
    fn system_profiler_names_a_drive_behind_its_link() {
        let body = "NVMExpress:\n\n    Generic SSD Controller:\n\n        Samsung SSD 990 PRO 2TB:\n\n\
            \x20         Capacity: 2 TB (2,000,398,934,016 bytes)\n          Model: Samsung SSD 990 PRO 2TB\n\
            \x20         Link Width: x2\n          Link Speed: 8.0 GT/s\n          BSD Name: disk2\n          Volumes:\n\
            \x20           BSD Name: disk2s1\n";
        let part = read_system_profiler(&Text::new("x", body.as_bytes()));
        assert_eq!(told(&part, "disk2"), "Some(8000) Some(2) / None None");
        assert_eq!(part.machine.block["disk2"].size.get(), Some(Bytes::new(2_000_398_934_016)));
        assert_eq!(part.machine.block.len(), 1);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(Model : |Transfer Mode : |PCIe |SATA/|Interface : |BSD Name: disk|Link Speed: |Link Width: x|[-0-9.,]{1,6}| x|GT/s|\\PC{0,6}|[ \n]){0,60}") {
            let text = Text::new("x", text.as_bytes());
            _ = (read_crystal_disk_info(&text), read_system_profiler(&text));
        }
    }
}
