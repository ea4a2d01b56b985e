//! `hdparm -I`: who an ATA drive is, whether it turns, and how fast its SATA link could run (`identify.c` of hdparm). It does not
//! tell at which rate the link runs.

use narrows_base::units::Bytes;
use narrows_machine::block::{BlockDevice, Sata, Transport};

use super::device::{key_of, known, sata_rate};
use super::smart::{put_device, rotation, sectors};
use super::{Part, Rank, Text};

/// What is said of a drive.
#[derive(Default)]
struct Identity {
    name: Option<String>,
    device: BlockDevice,
    link: Option<Sata>,
}

/// Reads what `hdparm -I` printed of each drive.
pub fn read(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Decoded, ..Part::default() };
    let mut drives: Vec<Identity> = Vec::new();
    let mut named = None;
    let mut is_open = false;
    for (number, line) in text.lines() {
        let line = line.trim();
        if let Some(path) = line.strip_suffix(':').filter(|path| path.starts_with("/dev/")) {
            (named, is_open) = (key_of(path), false);
        } else if line.starts_with("ATA device, with ") {
            drives.push(Identity { name: named.take(), ..Identity::default() });
            is_open = true;
        } else if let Some(drive) = drives.last_mut().filter(|_| is_open) {
            drive.take(line, &text.source(number));
        }
    }
    for Identity { name, mut device, link } in drives {
        device.transport = link.map_or(Transport::None, Transport::Sata);
        if put_device(&mut part.machine, name, device).is_some() {
            part.kind = Some("hdparm -I");
        }
    }
    part
}

impl Identity {
    fn take(&mut self, line: &str, source: &str) {
        // `*  Gen3 signaling speed (6.0Gb/s)`: the mark may have been taken for that of a list.
        if let Some((generation, rate)) = line.split_once(" signaling speed (") {
            let is_one = generation.trim_start_matches(['*', ' ', '\t']).starts_with("Gen");
            let link = self.link.get_or_insert_default();
            let rate = sata_rate(rate).filter(|rate| is_one && link.drive_speed.value() < Some(rate));
            if rate.is_some() {
                link.drive_speed = known(rate, source);
            }
            return;
        }
        let Some((key, value)) = line.split_once(':') else { return };
        let (device, value) = (&mut self.device, value.trim());
        let text = || known(Some(value.to_owned()).filter(|text| !text.is_empty()), source);
        // What stands below a heading is pulled apart by tabs and blanks.
        match key.split_whitespace().collect::<Vec<_>>().join(" ").as_str() {
            "Model Number" => device.model = text(),
            "Serial Number" => device.serial = text(),
            "Firmware Revision" => device.firmware = text(),
            "Transport" if value.starts_with("Serial") => _ = self.link.get_or_insert_default(),
            "Nominal Media Rotation Rate" => device.queue.rotational = known(rotation(value), source),
            "Logical Sector size" => sectors(&mut device.queue, "Logical block size", value, source),
            "Physical Sector size" => sectors(&mut device.queue, "Physical block size", value, source),
            "Logical/Physical Sector size" => sectors(&mut device.queue, "Sector Size", value, source),
            "device size with M = 1000*1000" => {
                let megabytes = value.split_whitespace().next().and_then(|count| count.parse::<u64>().ok());
                let size = megabytes.and_then(|count| count.checked_mul(1_000_000)).map(Bytes::new);
                device.size = known(size, source);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Shortened from a post about the disk of a small desktop.
    const DISK: &str = "$ sudo hdparm -I /dev/sda\n\n/dev/sda:\n\nATA device, with non-removable media\n\
        \tModel Number:       ST1000LM049-2GH172                      \n\
        \tFirmware Revision:  LXM3    \n\
        \tTransport:          Serial, ATA8-AST, SATA 1.0a, SATA II Extensions, SATA Rev 3.0\n\
        Configuration:\n\tLogical  Sector size:                   512 bytes\n\
        \tPhysical Sector size:                  4096 bytes\n\
        \tdevice size with M = 1024*1024:      953869 MBytes\n\
        \tdevice size with M = 1000*1000:     1000204 MBytes (1000 GB)\n\
        \tNominal Media Rotation Rate: 7200\n\
        Capabilities:\n\tDMA: mdma0 mdma1 mdma2 udma0 udma1 udma2 udma3 udma4 *udma5\n\
        Commands/features:\n\t   *\tGen1 signaling speed (1.5Gb/s)\n\t   *\tGen3 signaling speed (6.0Gb/s)\n\
        \t   *\tGen2 signaling speed (3.0Gb/s)\n";

    fn disk(text: &str) -> Option<BlockDevice> {
        read(&Text::new("x", text.as_bytes())).machine.block.into_values().next()
    }

    #[test]
    fn a_disk_is_known_by_model_medium_and_what_its_link_could_do() {
        let flat: String = DISK.lines().map(|line| format!("{}\n", line.trim())).collect();
        for text in [DISK.to_owned(), flat, DISK.lines().map(|line| format!("> {line}\n")).collect()] {
            let disk = disk(&text).expect("a disk");
            assert_eq!((disk.name.as_str(), disk.queue.rotational.get()), ("sda", Some(true)));
            assert_eq!(disk.model.get().as_deref(), Some("ST1000LM049-2GH172"));
            assert_eq!(disk.size.get(), Some(Bytes::new(1_000_204_000_000)));
            assert_eq!(disk.queue.physical_block.get(), Some(Bytes::new(4096)));
            let Transport::Sata(sata) = &disk.transport else { panic!("{disk:?}") };
            assert_eq!((sata.drive_speed.get(), sata.speed.get()), (sata_rate("6.0Gb/s"), None));
        }
    }

    #[test]
    fn a_solid_state_drive_does_not_turn_and_a_timing_names_no_drive() {
        let flash = disk(&DISK.replace(": 7200", ": Solid State Device")).expect("a disk");
        assert_eq!(flash.queue.rotational.get(), Some(false));
        for other in [
            "/dev/sda:\n Timing cached reads: 3462 MB in 2.00 seconds = 1731.24 MB/sec\n",
            "Model Number: X\n",
        ] {
            assert!(disk(other).is_none(), "{other}");
        }
        // Neither name nor serial number.
        let unnamed = disk(&DISK.replace("\n/dev/sda:\n", "\n")).expect("a disk");
        assert!(unnamed.name.starts_with("smart/"), "{}", unnamed.name);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(/dev/sda:\n|ATA device, with |Model Number|signaling speed \\(|6.0Gb/s|: |\\PC{0,9}|\n){0,20}") {
            let _ = disk(&text);
        }
    }
}
