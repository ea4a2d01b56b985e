//! Disks as `lsscsi` prints them: `[2:0:0:0]    disk    ATA      WDC WD10EZEX-08W 1A01  /dev/sda`, with `-t` what carries
//! them (`sata:…`, `sas:0x…`, `usb:2-1:1.0`, `fc:0x…`).
//!
//! The model is that of the SCSI inquiry, which has 16 characters: any other text knows more of it.

use super::Drive;
use crate::capture::device::key_of;
use crate::capture::{Part, Rank, Text, sensors};
use narrows_machine::block::{Transport, Usb};

/// The width of vendor and model in a row.
const VENDOR: usize = 8;
const MODEL: usize = 16;

/// Reads every disk that has a device.
pub fn read(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Log, ..Part::default() };
    if !text.body().contains("disk") || !text.body().contains(":0]") {
        return part;
    }
    for (number, line) in text.lines() {
        let Some((at, rest)) = row(line) else { continue };
        let Some(name) = rest.split_whitespace().find_map(|word| key_of(word.strip_prefix("/dev/")?)) else {
            continue;
        };
        let what = rest.split("/dev/").next().unwrap_or_default();
        let transport = what.split_whitespace().next().and_then(carrier);
        let drive = Drive {
            source: text.source(number),
            model: transport.is_none().then(|| model(what)).flatten(),
            transport,
            ..Drive::default()
        };
        drive.put(&mut part.machine, &name);
        sensors::note_disk(&mut part.machine.links, at, &name);
        part.kind = Some("lsscsi");
    }
    part
}

/// The address of a row of a disk, and what follows its type.
fn row(line: &str) -> Option<(&str, &str)> {
    let (at, rest) = line.trim_start().strip_prefix('[')?.split_once(']')?;
    let rest = rest.trim_start();
    let what = rest.strip_prefix("disk").or_else(|| rest.strip_prefix("zbc"))?;
    (sensors::is_scsi_address(at) && what.starts_with(' ')).then(|| (at, what.trim_start()))
}

/// What carries a disk, of the column that `-t` prints in the place of its model.
fn carrier(word: &str) -> Option<Transport> {
    let (bus, _) = word.split_once(':')?;
    Some(match bus {
        "sata" => Transport::Sata(Default::default()),
        "sas" => Transport::Sas(Default::default()),
        "usb" => Transport::Usb(Usb::default()),
        "iqn" => Transport::Iscsi(Default::default()),
        "fc" | "fcoe" | "spi" | "sbp" | "ata" => Transport::Other { name: bus.to_owned(), pci: None },
        _ => return None,
    })
}

/// Vendor, model and revision stand in columns of fixed width; the vendor of a SATA disk is `ATA`.
fn model(what: &str) -> Option<String> {
    let mut chars = what.chars();
    let vendor: String = chars.by_ref().take(VENDOR).collect();
    let model: String = chars.skip(1).take(MODEL).collect();
    let (vendor, model) = (vendor.trim(), model.trim());
    if model.is_empty() {
        return None;
    }
    Some(if vendor == "ATA" || vendor == "NVMe" { model.to_owned() } else { format!("{vendor} {model}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_machine::Machine;
    use proptest::prelude::*;

    fn machine(text: &str) -> Machine {
        read(&Text::new("lsscsi.txt", text.as_bytes())).machine
    }

    #[test]
    fn disks_have_models_and_addresses_and_other_devices_are_left_out() {
        let machine = machine(
            "[0:0:0:0]    disk    ATA      Hitachi HTS54161 SBDO  /dev/sda\n\
             [1:0:0:0]    cd/dvd  MATSHITA DVD-RAM UJ-850S  1.10  /dev/sr0\n\
             [2:0:4:0]    disk    SEAGATE  ST4000NM0023     0004  /dev/sdab  /dev/sg30\n\
             [22:0:0:0]   disk    Nokia    S60              1.0   -\n\
             see [1:2:3:4] disk\n",
        );
        let names: Vec<&str> = machine.block.keys().map(String::as_str).collect();
        assert_eq!(names, ["sda", "sdab"]);
        let model = |name: &str| machine.block[name].model.value().map(String::as_str);
        assert_eq!((model("sda"), model("sdab")), (Some("Hitachi HTS54161"), Some("SEAGATE ST4000NM0023")));
        assert_eq!(machine.links.get("scsi_disk/2:0:4:0").map(String::as_str), Some("sdab"));
    }

    #[test]
    fn the_form_with_transports_tells_what_carries_a_disk() {
        let machine = machine(
            "[0:0:0:0]    disk    sata:50014ee2b2a0                /dev/sda\n\
             [6:0:1:0]    disk    sas:0x5000c50055bca            /dev/sdb\n\
             [7:0:0:0]    disk    usb:2-1:1.0                    /dev/sdc\n",
        );
        assert!(matches!(machine.block["sda"].transport, Transport::Sata(_)));
        assert!(matches!(machine.block["sdb"].transport, Transport::Sas(_)));
        assert!(matches!(machine.block["sdc"].transport, Transport::Usb(_)));
        assert_eq!(machine.block["sdb"].model.value(), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(\\[|0:0:0:0\\]|disk|  |/dev/sda|sata:|ATA|é|\n){0,24}") {
            let _ = machine(&format!("[0:0:0:0] disk {text}"));
        }
    }
}
