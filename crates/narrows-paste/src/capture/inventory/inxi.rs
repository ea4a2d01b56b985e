//! Drives as `inxi -D` prints them, in the words of many years:
//! `ID-1: /dev/sda vendor: Seagate model: ST1000DM003-1CH162 size: 931.51 GiB speed: 6.0 Gb/s type: HDD rpm: 7200`,
//! broken at the width of the terminal.
//!
//! The speed of an NVMe drive is the most that its link could do (`get_device_speed`, which asks for `max_link_speed`), so
//! that it tells nothing of the link now; that of a SATA drive is the link's (`sata_spd`).

use narrows_base::fact::Fact;
use narrows_machine::block::{Sata, Transport, Usb};

use super::Drive;
use crate::capture::device::{key_of, sata_rate};
use crate::capture::lspci::entries;
use crate::capture::{Part, Rank, Text, number};
use crate::text::is_digits;

/// Reads every drive of the section `Drives`.
pub fn read(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Summary, ..Part::default() };
    let entries = entries(text, str::trim, |line| {
        let entry = line.find("ID-").and_then(|at| line.get(at..)).filter(|words| is_entry(words));
        (entry.is_some() || ends(line)).then_some(entry)
    });
    for (line, words) in entries {
        put(&mut part, text, line, &words);
    }
    part
}

/// `ID-1: …`.
fn is_entry(words: &str) -> bool {
    let number = words.strip_prefix("ID-").and_then(|rest| rest.split_once(": ")).map(|(number, _)| number);
    number.is_some_and(|number| number.len() <= 4 && is_digits(number))
}

/// A line that begins another section, or something else: names that start a section stand at the left edge.
fn ends(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    let is_left = !line.starts_with([' ', '\t']);
    line.trim().is_empty()
        || is_left && first.ends_with(':') && first.starts_with(|c: char| c.is_ascii_uppercase())
}

fn put(part: &mut Part, text: &Text, line: usize, words: &str) {
    let Some(name) = words.split_whitespace().nth(1).filter(|path| path.starts_with("/dev/")) else { return };
    let Some(name) = key_of(name) else { return };
    let kinds: Vec<&str> = ["type", "tech"].iter().filter_map(|key| value(words, key)).collect();
    let is_usb = kinds.contains(&"USB");
    let rotational = match () {
        () if kinds.contains(&"HDD") => Some(true),
        () if kinds.contains(&"SSD") => Some(false),
        () if value(words, "rpm").or_else(|| value(words, "rotation")).is_some() => Some(true),
        () => None,
    };
    let model = value(words, "model").map(|model| match value(words, "vendor") {
        Some(vendor) if !model.starts_with(vendor) => format!("{vendor} {model}"),
        _ => model.to_owned(),
    });
    let speed = value(words, "speed").and_then(sata_rate);
    if model.is_none() && value(words, "size").is_none() {
        return;
    }
    let source = text.source(line);
    let sata = speed
        .filter(|_| name.starts_with("sd"))
        .map(|speed| Sata { speed: Fact::known(speed, source.as_str()), ..Sata::default() });
    let usb = is_usb.then(|| Transport::Usb(Usb::default()));
    let drive = Drive {
        source,
        model,
        serial: value(words, "serial")
            .filter(|serial| !serial.starts_with('<') && *serial != "N/A")
            .map(str::to_owned),
        size: value(words, "size").and_then(number::exact_size),
        rotational: rotational.filter(|_| !is_usb),
        transport: usb.or_else(|| sata.map(Transport::Sata)),
    };
    drive.put(&mut part.machine, &name);
    part.kind = Some("inxi");
}

/// What follows a key, up to the next one.
fn value<'t>(words: &'t str, key: &str) -> Option<&'t str> {
    let mark = format!(" {key}: ");
    let rest = words.split_once(&mark)?.1;
    let mut end = rest.len();
    let mut at = 0;
    for word in rest.split(' ') {
        if word.ends_with(':') {
            end = at;
            break;
        }
        at += word.len() + 1;
    }
    let value = rest.get(..end.min(rest.len()))?.trim();
    (!value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use narrows_base::units::{BitsPerSec, Bytes};
    use narrows_machine::Machine;
    use proptest::prelude::*;

    use super::*;

    fn machine(text: &str) -> Machine {
        read(&Text::new("inxi.txt", text.as_bytes())).machine
    }

    /// As inxi 2.3 and 3.3 print drives.
    const OLD: &str = "\
    Network:   Card: Intel Ethernet Connection I218-V
Drives:    HDD Total Size: 3688.8GB (78.4% used)
           ID-1: /dev/sda model: KINGSTON_SV300S3 size: 240.1GB serial: 500
           ID-2: /dev/nvme0n1 model: LENSE20512GMSP34MEAT2TA size: 512.1GB
Partition: ID-1: / size: 453G used: 19G (5%) fs: ext4 dev: /dev/dm-1
";
    const NEW: &str = "\
    Drives:
  Local Storage: total: 2.73 TiB used: 1.1 TiB (48.6%)
  ID-1: /dev/nvme0n1 maj-min: 259:0 vendor: Samsung model: SSD 970 EVO Plus
    1TB size: 931.51 GiB block-size: physical: 512 B speed: 31.6 Gb/s lanes: 4
    type: SSD serial: <filter> rev: 2B2QEXM7 temp: 41.9 C
  ID-2: /dev/sda vendor: Seagate model: ST1000DM003-1CH162 size: 931.51 GiB
    speed: 3.0 Gb/s type: HDD rpm: 7200 serial: <filter>
  ID-3: /dev/sdb type: USB vendor: SanDisk model: Ultra size: 28.64 GiB
    speed: 6.0 Gb/s
Partition:
  ID-1: / raw-size: 100 GiB size: 97.87 GiB fs: ext4 dev: /dev/nvme0n1p2
";

    #[test]
    fn drives_of_old_and_new_versions_are_read() {
        let old = machine(OLD);
        let names: Vec<&str> = old.block.keys().map(String::as_str).collect();
        assert_eq!(names, ["nvme0n1", "sda"]);
        assert_eq!(old.block["sda"].model.value().map(String::as_str), Some("KINGSTON SV300S3"));
        assert_eq!(old.block["sda"].size.get(), Some(Bytes::new(240_100_000_000)));
        let new = machine(NEW);
        assert_eq!(
            new.block["nvme0n1"].model.value().map(String::as_str),
            Some("Samsung SSD 970 EVO Plus 1TB")
        );
        assert_eq!(new.block["nvme0n1"].serial.value(), None);
        assert_eq!(new.block["nvme0n1"].queue.rotational.get(), Some(false));
    }

    #[test]
    fn only_the_speed_of_a_sata_drive_is_that_of_its_link() {
        let machine = machine(NEW);
        let Transport::Sata(sata) = &machine.block["sda"].transport else { panic!("a SATA drive") };
        assert_eq!(sata.speed.get(), Some(BitsPerSec::from_mbit(3000.0)));
        assert_eq!(machine.block["sda"].queue.rotational.get(), Some(true));
        assert!(
            matches!(&machine.block["nvme0n1"].transport, Transport::Other { name, pci: None } if name == "nvme")
        );
        assert!(matches!(machine.block["sdb"].transport, Transport::Usb(_)));
        assert_eq!(machine.block["sdb"].queue.rotational.value(), None);
    }

    #[test]
    fn quoted_and_cut_texts_give_what_is_whole() {
        let quoted: String = NEW.lines().map(|line| format!("> {line}\n")).collect();
        assert_eq!(machine(&quoted).block.len(), 3);
        let cut = NEW.get(..NEW.find("ID-2").expect("is there")).expect("a boundary");
        assert_eq!(machine(cut).block.len(), 1);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(ID-1: /dev/|sda|nvme0n1|model: |size: |speed: |type: | Gb/s|\n|  |[a-z:é]{0,6}){0,30}") {
            let _ = machine(&text);
            let _ = machine(&format!("ID-1: /dev/{text}"));
        }
    }
}
