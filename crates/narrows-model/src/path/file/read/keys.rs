//! The keys of a file: which tables have each, and what it says. What is read becomes values that serde makes parts of, and what
//! is written was such values: both go by this one table.

use super::Document;
use super::document::{DocumentKey, DocumentTable, Value};
use super::quantity::{Unit, quantity};
use crate::path::file::{At, Problem, meant};
use toml::Value as Plain;

/// What stands behind a key.
#[derive(Debug, Clone, Copy)]
pub(in crate::path::file) enum Says {
    Text,
    /// Texts; one may stand alone.
    Texts,
    /// One of these words.
    Word(&'static str),
    /// The name of a part of one of these kinds.
    Name(&'static str),
    /// Names of such parts; one may stand alone.
    Names(&'static str),
    Flag,
    /// A whole number from the one to the other.
    Count(i64, i64),
    /// A width that a PCIe link trains at (PCI Express Base Specification, Maximum Link Width).
    Lanes,
    /// A size that its own tools state as a number of bytes; a text with a unit will do, too.
    ByteCount(i64, i64),
    /// A part of a whole, 0 to 1.
    Share,
    /// How many times as much: 1 to 1000.
    Factor,
    /// A number with its unit.
    In(Unit),
    /// `{ "slot3.width" = 4 }`, or `["slot3.width=4"]`.
    Changes,
}

use Says::{ByteCount, Changes, Count, Factor, Flag, In, Lanes, Name, Names, Share, Text, Texts, Word};
use Unit::{BitRate, Iops, Rate, Size, Time};

/// What holds data.
const STORAGE: &str = "device raid crypt cache volume filesystem remote cluster vm";

/// What a workload can use: storage, or a network alone.
const TARGETS: &str = "device raid crypt cache volume filesystem remote cluster vm network";

/// What a card or drive can be in.
const PLACES: &str = "slot switch chipset adapter host";

const LEVELS: &str = "raid0 raid1 raid10 raid5 raid6 linear stripe mirror raidz1 raidz2 raidz3";

/// What storage and transports between hosts are called.
const PROTOCOLS: &str = "tcp rdma roce roce-rdma iwarp infiniband iscsi iser srp smb smb-direct nfs nfs-rdma nvme-tcp \
                         nvme-rdma nvmeof-tcp nvmeof-rdma fc";

/// The most I/Os under way and the most jobs.
const MOST_AT_WORK: i64 = 1 << 20;

/// Tables that have the keys of a PCIe link.
const LINKED: &str = "chipset slot switch adapter device network";

/// Tables of parts.
pub(super) const PARTS: &str =
    "host chipset slot switch adapter device raid crypt cache volume filesystem network remote cluster vm";

/// Every key, in the order in which they are written: its name, its tables, what it says. Tables, words and kinds of part stand
/// with spaces between them; the head of a file is a table without a name.
pub(in crate::path::file) const KEYS: &[(&str, &str, Says)] = &[
    ("format", "", Text),
    ("name", "", Text),
    ("source", "", Text),
    ("target", "workload", Name(TARGETS)),
    ("pattern", "workload", Word("sequential random")),
    ("block_size", "workload", In(Size)),
    ("depth", "workload", Count(1, MOST_AT_WORK)),
    ("jobs", "workload", Count(1, MOST_AT_WORK)),
    ("read_share", "workload", Share),
    ("what", "published", Text),
    ("workload", "published", Name("workload")),
    ("set", "published", Changes),
    ("value", "published", Text),
    ("source", "published", Text),
    ("why", "published", Text),
    ("limited_by", "published", Texts),
    ("board", "host", Text),
    ("processor", "host", Text),
    ("cpu", "host", Text),
    ("sockets", "host", Count(1, 64)),
    ("reader_socket", "host", Count(0, 63)),
    ("cores", "host", Count(1, 65_536)),
    ("interconnect_links", "host", Count(1, 16)),
    ("interconnect_rate", "host", In(Rate)),
    ("memory", "host", In(Size)),
    ("memory_rate", "host", In(Rate)),
    ("core_iops", "host", In(Iops)),
    ("iommu", "host", Word("off passthrough lazy strict")),
    ("iommu_pages", "host", In(Size)),
    ("host", "chipset slot", Name("host")),
    ("socket", "chipset slot", Count(0, 63)),
    ("chipset", "slot", Name("chipset")),
    ("slot", "slot", Name("slot")),
    ("level", "raid", Word(LEVELS)),
    ("kind", "device", Word("nvme sata sas hdd usb ramdisk")),
    ("kind", "filesystem", Text),
    ("on", "crypt remote vm", Name(STORAGE)),
    ("on", "filesystem", Names(STORAGE)),
    ("options", "filesystem", Texts),
    ("cipher", "crypt", Text),
    ("key_bits", "crypt", Count(128, 1024)),
    ("decrypt", "host crypt", In(Rate)),
    ("encrypt", "host crypt", In(Rate)),
    ("cores", "crypt", Count(1, 65_536)),
    ("sector_size", "crypt", ByteCount(512, 4096)),
    ("workqueues", "crypt", Flag),
    ("cache", "cache", Name(STORAGE)),
    ("backing", "cache", Name(STORAGE)),
    ("hit", "cache", Share),
    ("writeback", "cache", Flag),
    ("members", "raid volume cluster", Names(STORAGE)),
    ("chunk", "raid", In(Size)),
    ("copies", "raid", Count(1, 255)),
    ("resync", "raid", In(Rate)),
    ("stripe_threads", "raid", Count(1, 1024)),
    ("stripe", "volume", In(Size)),
    ("copies", "cluster", Count(1, 16)),
    ("data", "cluster", Count(1, 64)),
    ("parity", "cluster", Count(1, 16)),
    ("networks", "cluster", Names("network")),
    ("local_reads", "cluster", Share),
    ("converged", "cluster", Flag),
    ("through", "remote", Names("network")),
    ("technology", "network", Word("ethernet infiniband")),
    ("rate", "network", In(BitRate)),
    ("ports", "network", Count(1, 64)),
    ("mtu", "network", ByteCount(576, 65_536)),
    ("protocol", "network remote", Word(PROTOCOLS)),
    ("in", "switch adapter device network", Name(PLACES)),
    ("model", "chipset switch adapter device", Text),
    ("class", "device", Text),
    ("read", "device", In(Rate)),
    ("write", "device", In(Rate)),
    ("read_iops", "device", In(Iops)),
    ("write_iops", "device", In(Iops)),
    ("read_latency", "device", In(Time)),
    ("write_latency", "device", In(Time)),
    ("cache_size", "device", In(Size)),
    ("steady_write", "device", In(Rate)),
    ("generation", LINKED, Count(1, 6)),
    ("width", LINKED, Lanes),
    ("payload", LINKED, ByteCount(128, 4096)),
    ("read_request", LINKED, ByteCount(128, 4096)),
    ("port_generation", "switch", Count(1, 6)),
    ("port_width", "switch", Lanes),
    ("connector", "slot", Lanes),
    ("form", "slot", Word("card m2 u2 oculink")),
    ("bifurcation", "slot", Texts),
    ("line_rate", "device", In(BitRate)),
    ("size", "device workload", In(Size)),
    ("engine", "workload", Word("io_uring polled libaio sync buffered hdparm")),
    ("flush", "workload", Flag),
    ("with", "workload", Names("workload")),
    ("count", PARTS, Count(1, 4096)),
    ("rate", "adapter filesystem remote vm", In(Rate)),
    ("iops", "adapter vm", In(Iops)),
    ("recordsize", "filesystem", In(Size)),
    ("compression", "filesystem", Factor),
    ("arc", "filesystem", In(Size)),
    ("latency", "switch network remote cluster vm", In(Time)),
    ("core_iops", "cluster", In(Iops)),
    ("cpus", "vm", Count(1, 1024)),
];

/// Keys that a table must have, with an example of each.
const NEEDED: &[(&str, &str, &str)] = &[
    ("target", "workload", "\"md0\""),
    ("block_size", "workload", "\"1 MiB\""),
    ("workload", "published", "\"NAME\""),
    ("value", "published", EXAMPLE_OF_RESULT),
    ("host", "chipset", "\"NAME\""),
    ("generation", "slot", "3"),
    ("width", "slot", "4"),
    ("in", "switch adapter device", "\"slot1\""),
    ("level", "raid", "\"raid0\""),
    ("members", "raid volume cluster", "[\"ssd0\", \"ssd1\"]"),
    ("on", "crypt filesystem remote vm", "\"ssd0\""),
    ("cache", "cache", "\"ssd0\""),
    ("backing", "cache", "\"ssd0\""),
    ("hit", "cache", "0.9"),
    ("rate", "network", "\"10 Gbit/s\""),
    ("through", "remote", "[\"net0\"]"),
];

pub(super) const EXAMPLE_OF_RESULT: &str = "\"373.6 MiB/s\", \"978k IOPS\" or \"81 us\"";

pub(super) fn has(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
}

/// The keys of one kind of table.
pub(in crate::path::file) fn keys_of(kind: &str) -> impl Iterator<Item = (&'static str, Says)> {
    KEYS.iter().filter(move |(_, tables, _)| has(tables, kind)).map(|(name, _, says)| (*name, *says))
}

/// The values of a table as serde takes them. What is wrong with one is told, and it is left out.
pub(super) fn values(table: &DocumentTable, document: &Document, found: &mut Vec<Problem>) -> toml::Table {
    let mut values = toml::Table::new();
    for key in &table.keys {
        match keys_of(&table.kind).find(|(name, _)| *name == key.name) {
            Some((_, says)) => {
                let value = says.read(key, found);
                if let (Name(kinds) | Names(kinds), Some(value)) = (says, &value) {
                    refer(document, &table.title(), key, (kinds, value), found);
                }
                values.extend(value.map(|value| (key.name.clone(), value)));
            }
            None => found.push(unknown(table, key)),
        }
    }
    let is_there = |name| table.key(name).is_some_and(|key| key.value != Value::List(Vec::new()));
    for (name, _, example) in
        NEEDED.iter().filter(|(name, kinds, _)| has(kinds, &table.kind) && !is_there(name))
    {
        found.push(table.lacks(name, example));
    }
    values
}

fn unknown(table: &DocumentTable, key: &DocumentKey) -> Problem {
    let mut known: Vec<&str> = keys_of(&table.kind).map(|(name, _)| name).collect();
    known.sort_unstable();
    let hint = meant(&key.name, known.iter().copied(), || format!("its keys are: {}", known.join(", ")));
    Problem::new(&key.at, format!("unknown key `{}` in {}", key.name, table.title()), hint)
}

/// Looks up what a key names.
fn refer(
    document: &Document,
    by: &str,
    key: &DocumentKey,
    (kinds, value): (&str, &Plain),
    found: &mut Vec<Problem>,
) {
    let places = match &key.value {
        Value::List(items) => items.iter().map(|(_, at)| at).collect(),
        _ => vec![&key.value_at],
    };
    let names = value.as_array().map_or_else(|| std::slice::from_ref(value), Vec::as_slice);
    for (name, at) in names.iter().filter_map(Plain::as_str).zip(places) {
        match document.table(name) {
            None => {
                let fits = document.parts.iter().filter(|table| has(kinds, &table.kind));
                let names: Vec<&str> = fits.map(|table| table.name.as_str()).collect();
                let hint = meant(name, names.iter().copied(), || match names.is_empty() {
                    true => format!("add a [{}.{name}]", kinds.split(' ').next().unwrap_or(kinds)),
                    false => format!("it could be one of: {}", names.join(", ")),
                });
                found.push(Problem::new(at, format!("{by} names `{name}`, and there is no such part"), hint));
            }
            Some(table) if !has(kinds, &table.kind) => {
                let message = format!("{by} names `{name}`, which is a {}", table.kind);
                found.push(Problem::new(at, message, format!("it must be a {}", kinds.replace(' ', ", "))));
            }
            Some(_) => {}
        }
    }
}

impl Says {
    /// The value of a key; `None` when it is wrong, which is told.
    fn read(self, key: &DocumentKey, found: &mut Vec<Problem>) -> Option<Plain> {
        let name = &key.name;
        let is_a = || format!("`{name}` is {}", key.value.is_a());
        let (message, hint) = match (self, &key.value) {
            (Text | Name(_), Value::Text(text)) => return Some(text.as_str().into()),
            (Word(words), Value::Text(text)) if has(words, text) => return Some(text.as_str().into()),
            (Word(words), Value::Text(text)) => {
                let known = || format!("it is one of: {}", words.replace(' ', ", "));
                (format!("`{name}` cannot be `{text}`"), meant(text, words.split(' '), known))
            }
            (Text | Name(_) | Word(_), _) => (is_a(), format!("write it as a text: {name} = \"…\"")),
            (Texts | Names(_), Value::Text(text)) => return Some(vec![text.as_str()].into()),
            (Texts | Names(_), Value::List(items)) => return Some(texts(name, items, found).into()),
            (Texts | Names(_), _) => (is_a(), "it is a list of texts".to_owned()),
            (Flag, Value::Flag(flag)) => return Some((*flag).into()),
            (Flag, _) => (is_a(), "it is true or false".to_owned()),
            (Lanes, Value::Integer(1 | 2 | 4 | 8 | 12 | 16 | 32))
            | (Count(..) | ByteCount(..), Value::Integer(_))
                if self.range().contains(&key.value.as_integer()) =>
            {
                return Some(key.value.as_integer().into());
            }
            (Lanes, Value::Integer(lanes @ 1..=32)) => {
                (format!("no link has {lanes} lanes"), "it is 1, 2, 4, 8, 12, 16 or 32".to_owned())
            }
            (Lanes | Count(..), value) => {
                let said = match value {
                    Value::Integer(number) => format!("`{name}` is {number}"),
                    _ => is_a(),
                };
                let range = self.range();
                (said, format!("it is a whole number from {} to {}", range.start(), range.end()))
            }
            (ByteCount(..), value) => {
                if !matches!(value, Value::Integer(_)) {
                    let bytes = In(Size).read(key, found)?;
                    if bytes.as_integer().is_some_and(|bytes| self.range().contains(&bytes)) {
                        return Some(bytes);
                    }
                }
                let range = self.range();
                let hint = format!("it is a number of bytes from {} to {}", range.start(), range.end());
                (format!("`{name}` is out of range"), hint)
            }
            (Share | Factor, value) => {
                let (what, least, most) =
                    if matches!(self, Share) { ("share", 0.0, 1.0) } else { ("factor", 1.0, 1000.0) };
                match value.as_number().filter(|number| (least..=most).contains(number)) {
                    Some(number) => return Some(number.into()),
                    None => (
                        format!("`{name}` is no {what}"),
                        format!("it is a number from {least:?} to {most:?}"),
                    ),
                }
            }
            (In(unit), value) => match quantity(unit, value) {
                Ok(number) if matches!(unit, Size | Time) => return Some((number as i64).into()),
                Ok(number) => return Some(number.into()),
                Err(why) => {
                    let hint = format!("write a number and its unit: {name} = \"{}\"", unit.example());
                    (format!("`{name}`: {why}"), hint)
                }
            },
            (Changes, value) => return Some(changes(key, value, found).into()),
        };
        found.push(Problem::new(&key.value_at, message, hint));
        None
    }

    /// The whole numbers that it may be.
    const fn range(self) -> std::ops::RangeInclusive<i64> {
        match self {
            Count(least, most) | ByteCount(least, most) => least..=most,
            _ => 1..=32,
        }
    }
}

fn texts(name: &str, items: &[(Value, At)], found: &mut Vec<Problem>) -> Vec<String> {
    let mut texts = Vec::new();
    for (item, at) in items {
        match item {
            Value::Text(text) => texts.push(text.clone()),
            other => {
                let message = format!("`{name}` has {} in it", other.is_a());
                found.push(Problem::new(at, message, "it is a list of texts"));
            }
        }
    }
    texts
}

/// Changes of values, each as `NAME.KEY=VALUE`.
fn changes(key: &DocumentKey, value: &Value, found: &mut Vec<Problem>) -> Vec<String> {
    let mut wrong = |message: String| {
        found.push(Problem::new(&key.value_at, message, "write set = { \"slot3.width\" = 4 }"));
    };
    let mut changes = Vec::new();
    match value {
        Value::Table(entries) => {
            for entry in entries {
                match (&entry.value, entry.value.plain(), entry.name.contains('.')) {
                    (_, Some(value), true) => changes.push(format!("{}={value}", entry.name)),
                    (Value::Table(inner), _, false) => changes.extend(inner.iter().filter_map(|inner| {
                        Some(format!("{}.{}={}", entry.name, inner.name, inner.value.plain()?))
                    })),
                    _ => wrong(format!("`{}` is no change of a value", entry.name)),
                }
            }
        }
        Value::List(items) => {
            for (item, _) in items {
                let change = item.as_text().and_then(|text| text.split_once('='));
                match change.filter(|(left, _)| left.contains('.')) {
                    Some((left, value)) => changes.push(format!("{}={}", left.trim(), value.trim())),
                    None => wrong("this is no change of a value".to_owned()),
                }
            }
        }
        other => wrong(format!("`set` is {}", other.is_a())),
    }
    changes
}
