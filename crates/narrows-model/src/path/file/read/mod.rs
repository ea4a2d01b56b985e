//! From the text of a `*.path.toml` to a [`System`].
//!
//! [`Document`] is the text as tables, which options of the command line may change; [`Document::system`] gives the tables
//! their meaning and says everything that is wrong at once.

mod copies;
mod document;
mod keys;
mod parts;
#[cfg(test)]
mod tests;
mod work;

pub use document::{Document, MOST_BYTES};
pub(super) use document::{DocumentTable, Value};

use std::collections::{BTreeMap, BTreeSet};

use super::{At, FileError, Name, Part, Problem, System, build, nearest};
use document::FORMAT;
use keys::{Keys, ReadSoFar, Reference};
use narrows_base::units::{BitsPerSec, Bytes, BytesPerSec, Iops, Nanos};

impl Document {
    /// The system that this describes.
    ///
    /// # Errors
    /// Everything that is wrong: unknown keys, missing units, names that are not there or stand twice, parts that lie on
    /// themselves, numbers out of range. Each with its place.
    pub fn system(&self) -> Result<System, FileError> {
        let mut found = ReadSoFar::default();
        let (name, source) = self.head(&mut found);
        self.check_names(&mut found);
        let hosts: Vec<&DocumentTable> = self.parts.iter().filter(|table| table.kind == "host").collect();
        let only_host = match hosts.as_slice() {
            [host] => Some(host.name.as_str()),
            _ => None,
        };
        let mut parts: Vec<(Part, u32)> = Vec::new();
        let mut workloads = Vec::new();
        for table in &self.parts {
            match table.kind.as_str() {
                "workload" => workloads.extend(work::workload(table, &mut found)),
                kind if parts::KINDS.contains(&kind) => {
                    parts.extend(parts::part(table, &mut found, only_host))
                }
                kind => {
                    found.problem(&table.at, format!("[{kind}.…] is no kind of part"), Some(kinds_hint(kind)))
                }
            }
        }
        let published =
            self.published.iter().filter_map(|table| work::published(table, &mut found)).collect();
        self.check_references(&mut found);
        self.check_cycles(&parts, &mut found);
        if !found.problems.is_empty() {
            return Err(in_order(found.problems));
        }
        let (parts, groups) =
            copies::expand(parts).map_err(|(name, message)| self.at_part(&name, message))?;
        let mut system = System { name, source, parts, workloads, published, ..System::default() };
        for workload in &mut system.workloads {
            if let Some([one]) = groups.get(&workload.target).map(Vec::as_slice) {
                workload.target = one.clone();
            }
        }
        self.check_members(&system)?;
        self.check_paths(&system, &groups)?;
        Ok(system)
    }

    fn head(&self, found: &mut ReadSoFar) -> (String, String) {
        let mut keys = Keys::new(&self.head, found);
        match keys.text("format").as_deref() {
            Some(FORMAT) => {}
            Some(other) => {
                keys.wrong("format", format!("this is `{other}`"), format!("narrows reads {FORMAT}"))
            }
            None if keys.raw("format").is_none() => keys.missing("format", &format!("\"{FORMAT}\"")),
            None => {}
        }
        let head = (keys.text("name").unwrap_or_default(), keys.text("source").unwrap_or_default());
        keys.finish();
        head
    }

    /// A name stands once, whatever the kind, and can be written before a dot.
    fn check_names(&self, found: &mut ReadSoFar) {
        let mut seen: BTreeMap<&str, &DocumentTable> = BTreeMap::new();
        for table in &self.parts {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if table.name.is_empty() || !table.name.chars().all(plain) || table.name.len() > 64 {
                let hint = "letters, digits, `-` and `_`, at most 64 of them".to_owned();
                found.problem(&table.at, format!("`{}` is no name of a part", table.name), Some(hint));
            }
            if let Some(first) = seen.insert(&table.name, table) {
                let message = format!("the name `{}` stands twice", table.name);
                let hint =
                    format!("{} has it at {}; --set could not tell them apart", first.title(), first.at);
                found.problem(&table.at, message, Some(hint));
            }
        }
    }

    /// The table that a copy with this name comes from. Its own name may end in a digit, too: `m20` of `[slot.m2]`.
    pub(super) fn copied(&self, name: &str) -> Option<&DocumentTable> {
        let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
        self.parts.iter().find(|table| name.strip_prefix(table.name.as_str()).is_some_and(is_number))
    }

    fn check_references(&self, found: &mut ReadSoFar) {
        let references = std::mem::take(&mut found.references);
        for Reference { by, name, at, kinds } in references {
            let known = self.parts.iter().find(|table| table.name == name).or_else(|| self.copied(&name));
            match known {
                None => {
                    let fits = self.parts.iter().filter(|table| kinds.contains(&table.kind.as_str()));
                    let names: Vec<&str> = fits.map(|table| table.name.as_str()).collect();
                    let hint = match nearest(&name, names.iter().copied()) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None if names.is_empty() => {
                            format!("add a [{}.{name}]", kinds.first().unwrap_or(&"part"))
                        }
                        None => format!("it could be one of: {}", names.join(", ")),
                    };
                    found.problem(&at, format!("{by} names `{name}`, and there is no such part"), Some(hint));
                }
                Some(table) if !kinds.contains(&table.kind.as_str()) => {
                    let message = format!("{by} names `{name}`, which is a {}", table.kind);
                    found.problem(&at, message, Some(format!("it must be a {}", kinds.join(", "))));
                }
                Some(_) => {}
            }
        }
    }

    fn check_cycles(&self, parts: &[(Part, u32)], found: &mut ReadSoFar) {
        let needs: BTreeMap<&Name, Vec<&Name>> =
            parts.iter().map(|(part, _)| (&part.name, part.needs())).collect();
        let mut reported = BTreeSet::new();
        for (part, _) in parts {
            let mut seen = BTreeSet::new();
            let mut pending = needs.get(&part.name).cloned().unwrap_or_default();
            while let Some(next) = pending.pop() {
                if *next == part.name && !reported.contains(next) {
                    let at = self.table(part.name.as_str()).map(|table| table.at.clone()).unwrap_or_default();
                    let hint = "follow what it is in or on: the way leads back to it".to_owned();
                    found.problem(&at, format!("`{next}` lies on itself"), Some(hint));
                    reported.extend(seen.iter().copied());
                    reported.insert(next);
                    break;
                }
                if seen.insert(next) {
                    pending.extend(needs.get(next).into_iter().flatten());
                }
            }
        }
    }

    /// Builds the path of every workload: what only shows there is told with the place of the workload.
    fn check_paths(&self, system: &System, groups: &BTreeMap<Name, Vec<Name>>) -> Result<(), FileError> {
        let mut problems = Vec::new();
        for workload in &system.workloads {
            let Some(table) = self.table(workload.name.as_str()) else { continue };
            let at = table.key("target").map_or(&table.at, |key| &key.value_at);
            if let Some(copies) = groups.get(&workload.target).filter(|copies| copies.len() > 1) {
                problems.push(Problem {
                    at: at.clone(),
                    message: format!("`{}` is {} parts", workload.target, copies.len()),
                    hint: Some(format!(
                        "name one (`{}`), or put them together in a [raid] or [volume]",
                        copies[0]
                    )),
                });
            } else if let Err(error) = build::path(system, &workload.target, 1) {
                problems.push(Problem { at: at.clone(), message: error.to_string(), hint: None });
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(in_order(problems)) }
    }

    /// The table of a part or workload, or of the part that it is a copy of.
    pub(super) fn table(&self, name: &str) -> Option<&DocumentTable> {
        self.parts.iter().find(|table| table.name == name).or_else(|| self.copied(name))
    }

    /// Arrays have as many members as their level needs, and none twice.
    fn check_members(&self, system: &System) -> Result<(), FileError> {
        let mut problems = Vec::new();
        for part in &system.parts {
            let Some((message, hint)) = parts::wrong(&part.kind) else { continue };
            let table = self.table(part.name.as_str()).or_else(|| self.copied(part.name.as_str()));
            let at = table.map_or_else(At::default, |table| table.at.clone());
            problems.push(Problem { at, message: format!("`{}`: {message}", part.name), hint: Some(hint) });
        }
        if problems.is_empty() { Ok(()) } else { Err(in_order(problems)) }
    }

    fn at_part(&self, name: &Name, message: String) -> FileError {
        let at = self.table(name.as_str()).map_or_else(At::default, |table| table.at.clone());
        FileError::one(at, message, None)
    }
}

fn kinds_hint(kind: &str) -> String {
    let known = || parts::KINDS.iter().copied().chain(["workload"]);
    match nearest(kind, known()) {
        Some(near) => format!("did you mean [{near}.…]?"),
        None => format!("the kinds are: {}", known().collect::<Vec<_>>().join(", ")),
    }
}

/// The most problems that are told.
const MOST_PROBLEMS: usize = 20;

fn in_order(mut problems: Vec<Problem>) -> FileError {
    problems.sort_by(|a, b| a.at.cmp(&b.at));
    problems.dedup();
    problems.truncate(MOST_PROBLEMS);
    FileError { problems }
}

/// Reads a description.
///
/// # Errors
/// As [`Document::parse`] and [`Document::system`].
pub fn parse(file: &str, text: &str) -> Result<System, FileError> {
    Document::parse(file, text)?.system()
}

/// What a text says, of which the unit decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Quantity {
    /// Bytes in a second.
    Rate(BytesPerSec),
    /// Bits in a second.
    BitRate(BitsPerSec),
    /// Bytes.
    Size(Bytes),
    /// I/Os in a second.
    Iops(Iops),
    /// A time.
    Time(Nanos),
}

/// The most that a quantity may be, in bytes, bytes per second, or nanoseconds: far above anything that exists.
const MOST_DIGITS: f64 = 1e18;

const UNITS: &[(&str, f64, QuantityKind)] = &[
    ("B/s", 1.0, QuantityKind::Rate),
    ("kB/s", 1e3, QuantityKind::Rate),
    ("MB/s", 1e6, QuantityKind::Rate),
    ("GB/s", 1e9, QuantityKind::Rate),
    ("TB/s", 1e12, QuantityKind::Rate),
    ("KiB/s", 1024.0, QuantityKind::Rate),
    ("MiB/s", 1_048_576.0, QuantityKind::Rate),
    ("GiB/s", 1_073_741_824.0, QuantityKind::Rate),
    ("TiB/s", 1_099_511_627_776.0, QuantityKind::Rate),
    ("kbit/s", 1e3, QuantityKind::BitRate),
    ("Mbit/s", 1e6, QuantityKind::BitRate),
    ("Gbit/s", 1e9, QuantityKind::BitRate),
    ("Mb/s", 1e6, QuantityKind::BitRate),
    ("Gb/s", 1e9, QuantityKind::BitRate),
    ("B", 1.0, QuantityKind::Size),
    ("kB", 1e3, QuantityKind::Size),
    ("MB", 1e6, QuantityKind::Size),
    ("GB", 1e9, QuantityKind::Size),
    ("TB", 1e12, QuantityKind::Size),
    ("PB", 1e15, QuantityKind::Size),
    ("KiB", 1024.0, QuantityKind::Size),
    ("MiB", 1_048_576.0, QuantityKind::Size),
    ("GiB", 1_073_741_824.0, QuantityKind::Size),
    ("TiB", 1_099_511_627_776.0, QuantityKind::Size),
    ("IOPS", 1.0, QuantityKind::Iops),
    ("kIOPS", 1e3, QuantityKind::Iops),
    ("k IOPS", 1e3, QuantityKind::Iops),
    ("MIOPS", 1e6, QuantityKind::Iops),
    ("M IOPS", 1e6, QuantityKind::Iops),
    ("ns", 1.0, QuantityKind::Time),
    ("us", 1e3, QuantityKind::Time),
    ("µs", 1e3, QuantityKind::Time),
    ("μs", 1e3, QuantityKind::Time),
    ("ms", 1e6, QuantityKind::Time),
    ("s", 1e9, QuantityKind::Time),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuantityKind {
    Rate,
    BitRate,
    Size,
    Iops,
    Time,
}

/// Reads `3.5 GB/s`, `512 KiB`, `80 us`, `640k IOPS`, `10 Gbit/s`.
fn parse_quantity(text: &str) -> Result<Quantity, String> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 =
        number.replace('_', "").parse().map_err(|_| format!("`{text}` begins with no number"))?;
    let unit = unit.trim();
    if unit.is_empty() {
        return Err(format!("`{text}` has no unit"));
    }
    let known = UNITS.iter().find(|(name, ..)| *name == unit);
    let Some((_, factor, kind)) = known else { return Err(format!("`{unit}` is no unit")) };
    let value = number * factor;
    if value > MOST_DIGITS {
        return Err(format!("`{text}` is more than anything carries or holds"));
    }
    Ok(match kind {
        QuantityKind::Rate => Quantity::Rate(BytesPerSec::new(value)),
        QuantityKind::BitRate => Quantity::BitRate(BitsPerSec::new(value)),
        QuantityKind::Size => Quantity::Size(Bytes::new(value.round() as u64)),
        QuantityKind::Iops => Quantity::Iops(Iops::new(value)),
        QuantityKind::Time => Quantity::Time(Nanos::new(value.round() as u64)),
    })
}

/// Reads `4k`, `1M`, `2g`: a whole number and a binary multiple, as options of sizes are typed.
fn short_size(text: &str) -> Option<Bytes> {
    let text = text.trim();
    let number = text.get(..text.len().checked_sub(1)?)?;
    let shift = match text.chars().next_back()?.to_ascii_lowercase() {
        'k' => 10,
        'm' => 20,
        'g' => 30,
        't' => 40,
        _ => return None,
    };
    let number: u64 = number.trim_end().parse().ok()?;
    let bytes = number.checked_mul(1 << shift).filter(|bytes| *bytes as f64 <= MOST_DIGITS)?;
    Some(Bytes::new(bytes))
}
