//! What tools that list the whole machine say of its drives: inxi, hwinfo, lshw, lsscsi, and those of other systems.

mod elsewhere;
mod hwinfo;
mod inxi;
mod lshw;

use narrows_base::units::Bytes;
use narrows_machine::Machine;
use narrows_machine::block::Transport;
use narrows_machine::nic::Nic;

use super::device::{carrier, device, implied, key_of, learn};
use super::fill::{Fill, Than};
use super::{Part, Rank, Text, sensors};

pub use elsewhere::{read_crystal_disk_info, read_system_profiler};
pub use hwinfo::read as read_hwinfo;
pub use inxi::read as read_inxi_drives;
pub use lshw::read as read_lshw;

/// The longest model that is kept, in characters; ATA has 40 of them.
const LONGEST_MODEL: usize = 80;
/// More drives than one text has.
const MOST: usize = 4096;

/// What a listing says of one drive.
#[derive(Debug, Default)]
struct Drive {
    /// Where it was read.
    source: String,
    model: Option<String>,
    serial: Option<String>,
    size: Option<Bytes>,
    rotational: Option<bool>,
    /// What carries its data, where the text tells.
    transport: Option<Transport>,
}

impl Drive {
    /// Puts the drive down under its kernel name. What is known already stays.
    fn put(self, machine: &mut Machine, name: &str) {
        if machine.block.len() >= MOST && !machine.block.contains_key(name) {
            return;
        }
        let device = device(machine, name);
        if device.partition_of.is_some() {
            return;
        }
        let source = self.source.as_str();
        learn(&mut device.model, self.model.as_deref().and_then(model), source);
        learn(&mut device.serial, self.serial, source);
        learn(&mut device.size, self.size, source);
        learn(&mut device.queue.rotational, self.rotational, source);
        device.transport.fill(self.transport.unwrap_or_else(|| implied(name, None)), Than::Same);
    }
}

/// Puts down a network interface that is a PCI function.
fn put_nic(machine: &mut Machine, name: Option<&str>, nic: Nic) {
    let name = name.filter(|name| name.len() <= 15 && !name.contains([' ', '/']));
    if let Some(name) = name.filter(|_| nic.pci.is_some()) {
        machine.nics.insert(name.to_owned(), Nic { name: name.to_owned(), ..nic });
    }
}

/// A model in the form that the kernel has: words with one blank between.
fn model(text: &str) -> Option<String> {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c == '_').filter(|w| !w.is_empty()).collect();
    let model: String = words.join(" ").chars().take(LONGEST_MODEL).collect();
    let is_placeholder = ["", "N/A", "<filter>", "<superuser required>"].contains(&model.as_str());
    (!is_placeholder).then_some(model)
}

/// The width of vendor and model in a row.
const VENDOR: usize = 8;
const MODEL: usize = 16;

/// Disks as `lsscsi` prints them: `[2:0:0:0]    disk    ATA      WDC WD10EZEX-08W 1A01  /dev/sda`, with `-t` what carries
/// them (`sata:…`, `sas:0x…`, `usb:2-1:1.0`, `fc:0x…`).
///
/// The model is that of the SCSI inquiry, which has 16 characters: any other text knows more of it.
///
/// Reads every disk that has a device.
pub fn read_lsscsi(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Log, ..Part::default() };
    if !text.body().contains("disk") || !text.body().contains(":0]") {
        return part;
    }
    for (number, line) in text.lines() {
        let Some((at, rest)) = lsscsi_row(line) else { continue };
        let Some(name) = rest.split_whitespace().find_map(|word| key_of(word.strip_prefix("/dev/")?)) else {
            continue;
        };
        let what = rest.split("/dev/").next().unwrap_or_default();
        let bus = what.split_whitespace().next().and_then(|word| word.split_once(':'));
        let transport = bus.and_then(|(bus, _)| carrier(bus));
        let drive = Drive {
            source: text.source(number),
            model: transport.is_none().then(|| lsscsi_model(what)).flatten(),
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
fn lsscsi_row(line: &str) -> Option<(&str, &str)> {
    let (at, rest) = line.trim_start().strip_prefix('[')?.split_once(']')?;
    let rest = rest.trim_start();
    let what = rest.strip_prefix("disk").or_else(|| rest.strip_prefix("zbc"))?;
    (sensors::is_scsi_address(at) && what.starts_with(' ')).then(|| (at, what.trim_start()))
}

/// Vendor, model and revision stand in columns of fixed width; the vendor of a SATA disk is `ATA`.
fn lsscsi_model(what: &str) -> Option<String> {
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
    use narrows_machine::Machine;
    use proptest::prelude::*;

    use super::*;

    fn machine(text: &str) -> Machine {
        read_lsscsi(&Text::new("lsscsi.txt", text.as_bytes())).machine
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
