//! `cryptsetup status NAME` (cryptsetup `src/cryptsetup.c`, `action_status`).

use crate::capture::Text;
use crate::capture::device::{device, key_of, learn, mapping, stack};
use narrows_base::fact::Fact;
use narrows_base::units::{Bytes, Sectors512};
use narrows_machine::Machine;
use narrows_machine::block::{CryptTable, DmKind, DmTarget};

/// What one `status` says.
#[derive(Debug, Default)]
struct Status {
    line: usize,
    key: String,
    table: CryptTable,
    kind: Option<String>,
    device: Option<String>,
    sectors: Option<u64>,
}

/// Reads every status; whether there was one.
pub(super) fn read(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    let mut open: Option<Status> = None;
    for (number, line) in text.lines() {
        if let Some((path, _)) = line.split_once(" is active") {
            found |= finish(machine, text, open.take());
            let name = path.split_whitespace().next_back().unwrap_or_default();
            let key = key_of(name).or_else(|| key_of(&format!("/dev/mapper/{name}")));
            let table = CryptTable { sector_size: Bytes::new(512), ..CryptTable::default() };
            open = key.map(|key| Status { line: number, key, table, ..Status::default() });
        } else if let (Some(status), Some((field, value))) = (&mut open, line.trim().split_once(':')) {
            status.take(field, value.trim());
        }
    }
    found | finish(machine, text, open)
}

impl Status {
    fn take(&mut self, field: &str, value: &str) {
        let number = || value.split_whitespace().next().and_then(|count| count.parse::<u64>().ok());
        match field {
            "type" if value != "n/a" => self.kind = Some(value.to_owned()),
            "cipher" => self.table.cipher = value.split_whitespace().next().unwrap_or_default().to_owned(),
            "keysize" => {
                let bits = number().and_then(|bits| u32::try_from(bits).ok()).filter(|bits| *bits <= 8192);
                self.table.key_bits = bits.unwrap_or_default();
            }
            "sector size" => {
                let size = number().filter(|size| [512, 1024, 2048, 4096].contains(size));
                self.table.sector_size = Bytes::new(size.unwrap_or(512));
            }
            "device" if self.device.is_none() => self.device = key_of(value),
            "size" => self.sectors = number().filter(|sectors| *sectors < 1 << 54),
            "flags" => {
                let has = |flag: &str| value.split_whitespace().any(|word| word == flag);
                self.table.no_read_workqueue = has("no_read_workqueue");
                self.table.no_write_workqueue = has("no_write_workqueue");
                self.table.same_cpu_crypt = has("same_cpu_crypt");
                self.table.submit_from_crypt_cpus = has("submit_from_crypt_cpus");
            }
            _ => {}
        }
    }
}

fn finish(machine: &mut Machine, text: &Text, open: Option<Status>) -> bool {
    let Some(status) = open.filter(|status| !status.table.cipher.is_empty() && status.table.key_bits > 0)
    else {
        return false;
    };
    let source = text.source(status.line);
    if let Some(lower) = &status.device {
        stack(machine, &status.key, lower);
    }
    let length = status.sectors.map(|sectors| Bytes::from_sectors(Sectors512::new(sectors)));
    learn(&mut device(machine, &status.key).size, length, &source);
    let Some(dm) = mapping(machine, &status.key) else { return false };
    let owner = status.kind.map_or_else(|| "CRYPT".to_owned(), |kind| format!("CRYPT-{kind}"));
    learn(&mut dm.owner, Some(owner), &source);
    learn(&mut dm.name, status.key.strip_prefix("mapper/").map(str::to_owned), &source);
    let target = DmTarget {
        start: Bytes::new(0),
        length: length.unwrap_or_else(|| Bytes::new(0)),
        kind: DmKind::Crypt(status.table),
    };
    if dm.table.value().is_none() {
        dm.table = Fact::known(vec![target], source);
    }
    true
}
