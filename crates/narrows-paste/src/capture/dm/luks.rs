//! `cryptsetup luksDump DEVICE`: how a device is encrypted, whether or not it is open.
//!
//! The output does not say which device it is of: that is in the command above it, or in the name of the file as
//! sosreport makes it (`cryptsetup_luksDump_.dev.sda2`). What it says is kept under `luks/DEVICE` until
//! `join` finds the mapping.

use crate::capture::Text;
use crate::capture::device::key_of;
use narrows_base::fact::Fact;
use narrows_base::units::Bytes;
use narrows_machine::Machine;
use narrows_machine::block::{BlockDevice, BlockKind, CryptTable, DmDevice, DmKind, DmTarget};

/// What one dump says.
#[derive(Debug, Default)]
struct Dump {
    line: usize,
    device: Option<String>,
    version: String,
    cipher: Option<String>,
    mode: Option<String>,
    key_bits: Option<u32>,
    sector: Option<u64>,
    in_segments: bool,
}

/// Reads every dump; whether there was one.
pub(super) fn read(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    let mut open: Option<Dump> = None;
    let mut named = of_file(text.name());
    for (number, line) in text.lines() {
        if let Some(device) = commanded(line) {
            named = Some(device);
        }
        if line.trim_start().starts_with("LUKS header information") {
            found |= finish(machine, text, open.take());
            // `LUKS header information for /dev/sda2` is what version 1 says.
            let own = line.split_once(" for ").and_then(|(_, device)| key_of(device.trim()));
            open = Some(Dump { line: number, device: own.or_else(|| named.take()), ..Dump::default() });
        } else if let Some(dump) = &mut open {
            dump.take(line);
        }
    }
    found | finish(machine, text, open)
}

impl Dump {
    fn take(&mut self, line: &str) {
        // The areas of key slots have ciphers of their own.
        match line.trim() {
            "Data segments:" => self.in_segments = true,
            "Keyslots:" => self.in_segments = false,
            _ => {}
        }
        let Some((field, value)) = line.trim().split_once(':') else { return };
        let value = value.trim();
        let first = || value.split_whitespace().next().unwrap_or_default();
        match field {
            "Version" => self.version = first().to_owned(),
            "cipher" if self.in_segments => self.cipher = Some(first().to_owned()),
            "sector" if self.in_segments => self.sector = first().parse().ok(),
            "Cipher name" => self.cipher = Some(first().to_owned()),
            "Cipher mode" => self.mode = Some(first().to_owned()),
            "Key" | "MK bits" if self.key_bits.is_none() => {
                self.key_bits = first().parse().ok().filter(|bits| (1..=8192).contains(bits));
            }
            _ => {}
        }
    }
}

/// The device of `cryptsetup luksDump /dev/sda2`.
fn commanded(line: &str) -> Option<String> {
    line.split_once("luksDump ")?.1.split_whitespace().find_map(key_of)
}

/// The device of a file name.
fn of_file(name: &str) -> Option<String> {
    let (_, device) = name.rsplit_once("luksDump_.dev.")?;
    key_of(&format!("/dev/{}", device.trim_end_matches(".txt").replace('.', "/")))
}

fn finish(machine: &mut Machine, text: &Text, open: Option<Dump>) -> bool {
    let Some(dump) = open else { return false };
    let (Some(cipher), Some(key_bits)) = (dump.cipher, dump.key_bits) else { return false };
    let cipher = dump.mode.map_or_else(|| cipher.clone(), |mode| format!("{cipher}-{mode}"));
    let Some(device) = dump.device else { return true };
    let source = text.source(dump.line);
    let table = CryptTable {
        cipher,
        key_bits,
        sector_size: Bytes::new(
            dump.sector.filter(|size| [512, 1024, 2048, 4096].contains(size)).unwrap_or(512),
        ),
        ..CryptTable::default()
    };
    let target = DmTarget { start: Bytes::new(0), length: Bytes::new(0), kind: DmKind::Crypt(table) };
    let dm = DmDevice {
        owner: Fact::known(format!("CRYPT-LUKS{}", dump.version), source.as_str()),
        table: Fact::known(vec![target], source),
        ..DmDevice::default()
    };
    let name = format!("luks/{device}");
    let kept = BlockDevice {
        name: name.clone(),
        slaves: vec![device],
        kind: BlockKind::Dm(dm),
        ..BlockDevice::default()
    };
    machine.block.entry(name).or_insert(kept);
    true
}
