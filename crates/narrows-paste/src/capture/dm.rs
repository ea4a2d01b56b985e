//! Device-mapper and encryption: `dmsetup table`, `dmsetup ls --tree`, `dmsetup info`, `cryptsetup status`,
//! `cryptsetup luksDump` and `cryptsetup benchmark`.

use std::collections::BTreeMap;

use super::device::{device, key_of, key_of_number, learn, mapping, stack};
use super::number::{Base, factor};
use super::{Output, Part, Text, read_outputs};
use narrows_base::fact::Fact;
use narrows_base::units::{Bytes, BytesPerSec, Sectors512};
use narrows_machine::Machine;
use narrows_machine::block::dm::owner_of;
use narrows_machine::block::dm_table::parse_number_pair;
use narrows_machine::block::{BlockDevice, BlockKind, CryptTable, DmDevice, DmKind, DmTarget, parse_table};
use narrows_machine::cipher::CipherRate;

const OUTPUTS: [Output; 6] = [
    ("dmsetup info", &["Maj"], read_info),
    ("dmsetup ls --tree", &[")\n"], read_tree),
    ("dmsetup table", TARGETS, read_table),
    ("cryptsetup status", &["keysize:"], read_status),
    ("cryptsetup luksDump", &["LUKS header information"], read_luks),
    ("cryptsetup benchmark", &["iB/s"], read_benchmark),
];

/// Reads every output about device-mapper and its encryption in a text.
pub fn read(text: &Text) -> Part {
    read_outputs(text, &OUTPUTS)
}

/// The targets whose tables begin with devices, or hold them where a number pair tells them apart.
const TARGETS: &[&str] = &[
    " linear ",
    " striped ",
    " crypt ",
    " thin ",
    " thin-pool ",
    " cache ",
    " writecache ",
    " raid ",
    " mirror ",
    " snapshot ",
    " snapshot-origin ",
    " multipath ",
    " delay ",
    " flakey ",
    " integrity ",
    " verity ",
    " era ",
    " clone ",
    " vdo ",
    " zoned ",
];

/// What of a mapping was read.
#[derive(Default)]
struct MappingTable {
    line: usize,
    targets: Vec<DmTarget>,
    below: Vec<String>,
}

/// `dmsetup table`: `vg-home: 0 41943040 linear 8:2 2048`.
///
/// Reads every table that says whose it is; whether there was one.
fn read_table(machine: &mut Machine, text: &Text) -> bool {
    let mut tables: BTreeMap<&str, MappingTable> = BTreeMap::new();
    for (number, line) in text.lines() {
        let Some((name, target, below)) = target(line) else { continue };
        let table =
            tables.entry(name).or_insert_with(|| MappingTable { line: number, ..MappingTable::default() });
        table.targets.push(target);
        table.below.extend(below);
    }
    let found = !tables.is_empty();
    for (name, table) in tables {
        let Some(key) = key_of(&format!("/dev/mapper/{name}")) else { continue };
        let source = text.source(table.line);
        for lower in &table.below {
            stack(machine, &key, lower);
        }
        let size =
            table.targets.iter().map(|target| target.start.get().saturating_add(target.length.get())).max();
        learn(&mut device(machine, &key).size, size.map(Bytes::new), &source);
        if let Some(dm) = mapping(machine, &key) {
            learn(&mut dm.name, Some(name.to_owned()), &source);
            learn(&mut dm.table, Some(table.targets), &source);
        }
    }
    found
}

/// A line of a table: the mapping, what it does, and the devices below.
fn target(line: &str) -> Option<(&str, DmTarget, Vec<String>)> {
    let (name, table) = line.trim_start().split_once(": ")?;
    let mut words = table.split_whitespace();
    let is_number =
        |word: Option<&str>| word.is_some_and(|word| word.parse::<u64>().is_ok_and(|n| n < 1 << 54));
    let is_target = is_number(words.next()) && is_number(words.next());
    let kind = words.next()?;
    if !is_target || name.contains(char::is_whitespace) || !TARGETS.iter().any(|known| known.trim() == kind) {
        return None;
    }
    let target = parse_table(table)?.pop()?;
    let below = words.filter_map(parse_number_pair).filter(|(major, _)| *major > 0).map(key_of_number);
    Some((name, target, below.collect()))
}

/// The deepest tree that is followed.
const DEEPEST: usize = 32;

/// `dmsetup ls --tree`, with or without `-o blkdevname`, and the plain `dmsetup ls`.
///
/// ```text
/// vg-home <dm-1> (253:1)
///  └─luks <dm-0> (253:0)
///     └─ <sda2> (8:2)
/// ```
///
/// Reads every line of a tree; whether there was one.
fn read_tree(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    // The devices that the last line hangs on, with the column that each stands in.
    let mut above: Vec<(usize, String)> = Vec::new();
    for (number, line) in text.lines() {
        let Some(entry) = MappingTreeEntry::parse(line) else {
            above.clear();
            continue;
        };
        while above.last().is_some_and(|(column, _)| *column >= entry.column) {
            above.pop();
        }
        if entry.column > 0 && above.is_empty() || above.len() > DEEPEST {
            continue;
        }
        let Some(key) = entry.key() else { continue };
        let source = text.source(number);
        learn(&mut device(machine, &key).number, Some(entry.number), &source);
        if let Some(dm) = entry.name.and_then(|name| Some((name, mapping(machine, &key)?))) {
            learn(&mut dm.1.name, Some(dm.0.to_owned()), &source);
        }
        if let Some((_, upper)) = above.last() {
            stack(machine, upper, &key);
        }
        above.push((entry.column, key));
        found = true;
    }
    found
}

/// One line.
struct MappingTreeEntry<'a> {
    /// Where the branch ends and the entry begins, in characters.
    column: usize,
    /// The mapping; a device that is none has no name.
    name: Option<&'a str>,
    /// `sda2`, where the kernel's name is shown.
    kernel: Option<&'a str>,
    number: (u32, u32),
}

impl<'a> MappingTreeEntry<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (before, number) = line.strip_suffix(')')?.rsplit_once('(')?;
        // A call of a function has its brackets right behind its name.
        if before.ends_with(|c: char| !c.is_whitespace()) {
            return None;
        }
        // `(253, 1)` is how old versions write a number.
        let number =
            parse_number_pair(number).or_else(|| parse_number_pair(&number.replacen(", ", ":", 1)))?;
        let is_drawn = |c: char| matches!(c, ' ' | '|' | '`' | '-' | '+') || !c.is_ascii();
        let rest = before.trim_start_matches(is_drawn);
        let drawn = before.chars().take_while(|c| is_drawn(*c)).count();
        let column = if rest.is_empty() { before.trim_end().chars().count() } else { drawn };
        let (name, kernel) = match rest.split_once('<') {
            Some((name, kernel)) => (name.trim(), Some(kernel.trim().strip_suffix('>')?)),
            None => (rest.trim(), None),
        };
        // A device without any name hangs on something.
        let is_named = !name.is_empty() || kernel.is_some() || !before.trim().is_empty();
        (is_named && !name.contains(char::is_whitespace)).then_some(Self {
            column,
            name: (!name.is_empty()).then_some(name),
            kernel,
            number,
        })
    }

    fn key(&self) -> Option<String> {
        if let Some(kernel) = self.kernel {
            return key_of(&format!("/dev/{kernel}"));
        }
        match self.name {
            Some(_) => Some(format!("dm-{}", self.number.1)),
            None => Some(key_of_number(self.number)),
        }
    }
}

/// `dmsetup info` and `dmsetup info -c`: names, numbers and makers of mappings.
///
/// Reads every mapping; whether there was one.
fn read_info(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    let mut in_table = false;
    let mut open: Option<&str> = None;
    let mut number: Option<(u32, u32)> = None;
    for (line, content) in text.lines() {
        let words: Vec<&str> = content.split_whitespace().collect();
        match words.as_slice() {
            ["Name", "Maj", "Min", ..] => in_table = true,
            [name, major, minor, _, _, _, _, rest @ ..] if in_table => {
                let row = major.parse().ok().zip(minor.parse().ok());
                in_table = row.is_some();
                let owner = rest.first().map(|uuid| owner_of(uuid));
                found |= row.is_some_and(|row| put(machine, &text.source(line), Some(name), row, owner));
            }
            ["Name:", name] => {
                open = Some(name);
                number = None;
            }
            ["Major,", "minor:", major, minor] => {
                number = major.trim_end_matches(',').parse().ok().zip(minor.parse().ok());
                found |= number.is_some_and(|number| put(machine, &text.source(line), open, number, None));
            }
            ["UUID:", uuid] => {
                let owner = Some(owner_of(uuid));
                found |=
                    number.take().is_some_and(|number| put(machine, &text.source(line), open, number, owner));
            }
            _ => in_table = false,
        }
    }
    found
}

fn put(
    machine: &mut Machine,
    source: &str,
    name: Option<&str>,
    number: (u32, u32),
    owner: Option<String>,
) -> bool {
    let Some(name) = name.filter(|name| name.len() <= 128) else { return false };
    let key = format!("dm-{}", number.1);
    learn(&mut device(machine, &key).number, Some(number), source);
    let Some(dm) = mapping(machine, &key) else { return false };
    learn(&mut dm.name, Some(name.to_owned()), source);
    learn(&mut dm.owner, owner.filter(|owner| !owner.is_empty()), source);
    true
}

/// What one `status` says.
#[derive(Debug, Default)]
struct CryptStatus {
    line: usize,
    key: String,
    table: CryptTable,
    kind: Option<String>,
    device: Option<String>,
    sectors: Option<u64>,
}

/// `cryptsetup status NAME` (cryptsetup `src/cryptsetup.c`, `action_status`).
///
/// Reads every status; whether there was one.
fn read_status(machine: &mut Machine, text: &Text) -> bool {
    let mut all: Vec<Option<CryptStatus>> = Vec::new();
    for (number, line) in text.lines() {
        if let Some((path, _)) = line.split_once(" is active") {
            let name = path.split_whitespace().next_back().unwrap_or_default();
            let key = key_of(name).or_else(|| key_of(&format!("/dev/mapper/{name}")));
            let table = CryptTable { sector_size: sector(None), ..CryptTable::default() };
            all.push(key.map(|key| CryptStatus { line: number, key, table, ..CryptStatus::default() }));
        } else if let (Some(Some(status)), Some((field, value))) =
            (all.last_mut(), line.trim().split_once(':'))
        {
            status.take(field, value.trim());
        }
    }
    all.into_iter().flatten().filter_map(|status| status.put(machine, text)).count() > 0
}

/// The size of the sectors of a cipher; 512 bytes where none is told.
fn sector(told: Option<u64>) -> Bytes {
    Bytes::new(told.filter(|size| [512, 1024, 2048, 4096].contains(size)).unwrap_or(512))
}

impl CryptStatus {
    fn take(&mut self, field: &str, value: &str) {
        let number = || value.split_whitespace().next().and_then(|count| count.parse::<u64>().ok());
        match field {
            "type" if value != "n/a" => self.kind = Some(value.to_owned()),
            "cipher" => self.table.cipher = value.split_whitespace().next().unwrap_or_default().to_owned(),
            "keysize" => {
                let bits = number().and_then(|bits| u32::try_from(bits).ok()).filter(|bits| *bits <= 8192);
                self.table.key_bits = bits.unwrap_or_default();
            }
            "sector size" => self.table.sector_size = sector(number()),
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

    fn put(self, machine: &mut Machine, text: &Text) -> Option<()> {
        (!self.table.cipher.is_empty() && self.table.key_bits > 0).then_some(())?;
        let source = text.source(self.line);
        if let Some(lower) = &self.device {
            stack(machine, &self.key, lower);
        }
        let length = self.sectors.map(|sectors| Bytes::from_sectors(Sectors512::new(sectors)));
        learn(&mut device(machine, &self.key).size, length, &source);
        let dm = mapping(machine, &self.key)?;
        let owner = self.kind.map_or_else(|| "CRYPT".to_owned(), |kind| format!("CRYPT-{kind}"));
        learn(&mut dm.owner, Some(owner), &source);
        learn(&mut dm.name, self.key.strip_prefix("mapper/").map(str::to_owned), &source);
        let length = length.unwrap_or_else(|| Bytes::new(0));
        let target = DmTarget { start: Bytes::new(0), length, kind: DmKind::Crypt(self.table) };
        learn(&mut dm.table, Some(vec![target]), &source);
        Some(())
    }
}

/// What one dump says.
#[derive(Debug, Default)]
struct LuksDump {
    line: usize,
    device: Option<String>,
    version: String,
    cipher: Option<String>,
    mode: Option<String>,
    key_bits: Option<u32>,
    sector: Option<u64>,
    in_segments: bool,
}

/// `cryptsetup luksDump DEVICE`: how a device is encrypted, whether or not it is open.
///
/// The output does not say which device it is of: that is in the command above it, or in the name of the file as
/// sosreport makes it (`cryptsetup_luksDump_.dev.sda2`). What it says is kept under `luks/DEVICE` until
/// `join` finds the mapping.
///
/// Reads every dump; whether there was one.
fn read_luks(machine: &mut Machine, text: &Text) -> bool {
    let mut all: Vec<LuksDump> = Vec::new();
    let mut named = of_file(text.name());
    for (number, line) in text.lines() {
        if let Some(device) = commanded(line) {
            named = Some(device);
        }
        if line.trim_start().starts_with("LUKS header information") {
            // `LUKS header information for /dev/sda2` is what version 1 says.
            let own = line.split_once(" for ").and_then(|(_, device)| key_of(device.trim()));
            let device = own.or_else(|| named.take());
            all.push(LuksDump { line: number, device, ..LuksDump::default() });
        } else if let Some(dump) = all.last_mut() {
            dump.take(line);
        }
    }
    all.into_iter().filter_map(|dump| put_luks(machine, text, dump)).count() > 0
}

impl LuksDump {
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

fn put_luks(machine: &mut Machine, text: &Text, dump: LuksDump) -> Option<()> {
    let (cipher, key_bits) = (dump.cipher?, dump.key_bits?);
    let cipher = dump.mode.map_or_else(|| cipher.clone(), |mode| format!("{cipher}-{mode}"));
    let Some(device) = dump.device else { return Some(()) };
    let source = text.source(dump.line);
    let table = CryptTable { cipher, key_bits, sector_size: sector(dump.sector), ..CryptTable::default() };
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
    Some(())
}

/// What the benchmark encrypts at a time, in the kernel's AF_ALG interface (cryptsetup
/// `lib/crypto_backend/crypto_cipher_kernel.c`, `crypt_kernel` requests of 64 KiB).
const REQUEST: Bytes = Bytes::from_kib(64);

/// No benchmark has more ciphers.
const MOST: usize = 256;

/// `cryptsetup benchmark`: `aes-xts   512b   2723.1 MiB/s   2465.0 MiB/s`, encryption before decryption (cryptsetup
/// `src/cryptsetup.c`, `action_benchmark`).
///
/// Reads every cipher with a rate; whether there was one.
fn read_benchmark(machine: &mut Machine, text: &Text) -> bool {
    let rates = text.lines().filter_map(|(number, line)| Some(Fact::known(rate(line)?, text.source(number))));
    let before = machine.cipher_benchmarks.len();
    machine.cipher_benchmarks.extend(rates.take(MOST));
    machine.cipher_benchmarks.len() > before
}

fn rate(line: &str) -> Option<CipherRate> {
    let row = BenchmarkRow::of(line)?;
    let (cipher, mode) = row.name.split_once('-')?;
    Some(CipherRate {
        cipher: format!("{mode}({cipher})"),
        key_bits: row.key_bits,
        sector_size: REQUEST,
        decrypt: row.decrypt,
        encrypt: row.encrypt,
        // It is the kernel's; which of its drivers served is not said.
        driver: Some(format!("{mode}({cipher})")),
    })
}

/// A cipher of `cryptsetup benchmark`.
pub(crate) struct BenchmarkRow<'l> {
    /// `aes-xts`.
    pub(crate) name: &'l str,
    pub(crate) key_bits: u32,
    pub(crate) encrypt: BytesPerSec,
    pub(crate) decrypt: BytesPerSec,
}

impl<'l> BenchmarkRow<'l> {
    /// A row, which may be one of a Markdown table or stand behind the mark of a comment or a quote.
    pub(crate) fn of(line: &'l str) -> Option<Self> {
        let is_mark = |word: &&str| !word.contains(char::is_alphanumeric);
        let words: Vec<&str> = line.split_whitespace().filter(|word| !is_mark(word)).collect();
        let [name, key, encrypt, unit_of_encrypt, decrypt, unit_of_decrypt, ..] = words.as_slice() else {
            return None;
        };
        let (cipher, mode) = name.split_once('-')?;
        let is_name = |text: &str| {
            (2..=24).contains(&text.len())
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_,".contains(&byte))
        };
        let key_bits = key.strip_suffix('b')?.parse().ok().filter(|bits| (1..=4096).contains(bits))?;
        (is_name(cipher) && is_name(mode)).then_some(())?;
        let (encrypt, decrypt) = (speed(encrypt, unit_of_encrypt)?, speed(decrypt, unit_of_decrypt)?);
        Some(Self { name, key_bits, encrypt, decrypt })
    }
}

fn speed(number: &str, unit: &str) -> Option<BytesPerSec> {
    let number: f64 = number.replace(',', ".").parse().ok()?;
    let rate = number * factor(unit, Base::Binary);
    (unit.ends_with("iB/s") && rate > 0.0 && rate < 1e13).then(|| BytesPerSec::new(rate))
}

#[cfg(test)]
mod tests;
