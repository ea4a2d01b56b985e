//! From the text of a `*.path.toml` to a [`System`].
//!
//! [`Document`] is the text as tables, which options of the command line may change; [`Document::system`] gives the tables
//! their meaning and says everything that is wrong at once.

mod copies;
mod document;
mod keys;
mod parts;
mod quantity;
#[cfg(test)]
mod tests;

pub use document::{Document, MOST_BYTES};
pub(super) use document::{DocumentKey, DocumentTable, Value};
pub(super) use keys::{Says, keys_of};
pub(super) use quantity::Unit;

use std::collections::{BTreeMap, BTreeSet};

use super::{At, FileError, Name, Part, Problem, System, build, nearest};
use document::FORMAT;

impl Document {
    /// The system that this describes.
    ///
    /// # Errors
    /// Everything that is wrong: unknown keys, missing units, names that are not there or stand twice, parts that lie on
    /// themselves, numbers out of range. Each with its place.
    pub fn system(&self) -> Result<System, FileError> {
        let mut found = Vec::new();
        let (name, source) = self.head(&mut found);
        self.check_names(&mut found);
        let mut hosts = self.parts.iter().filter(|table| table.kind == "host");
        let only_host = hosts.next().filter(|_| hosts.next().is_none()).map(|host| host.name.as_str());
        let mut parts: Vec<(Part, u32)> = Vec::new();
        let mut workloads = Vec::new();
        for table in &self.parts {
            match table.kind.as_str() {
                "workload" => workloads.extend(parts::workload(table, self, &mut found)),
                kind if keys::has(keys::PARTS, kind) => {
                    parts.extend(parts::part(table, self, only_host, &mut found));
                }
                kind => {
                    let message = format!("[{kind}.…] is no kind of part");
                    found.push(Problem::new(&table.at, message, kinds_hint(kind)));
                }
            }
        }
        let published =
            self.published.iter().filter_map(|table| parts::published(table, self, &mut found)).collect();
        self.check_cycles(&parts, &mut found);
        told(found)?;
        let (parts, groups) = copies::expand(parts)
            .map_err(|(name, message)| FileError::one(self.place(&name), message, None))?;
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

    fn head(&self, found: &mut Vec<Problem>) -> (String, String) {
        let values = keys::values(&self.head, self, found);
        let text = |key| values.get(key).and_then(toml::Value::as_str);
        match text("format") {
            Some(FORMAT) => {}
            Some(other) => {
                let hint = format!("narrows reads {FORMAT}");
                found.push(self.head.wrong("format", format!("this is `{other}`"), hint));
            }
            None if self.head.key("format").is_none() => {
                found.push(self.head.lacks("format", &format!("\"{FORMAT}\"")));
            }
            None => {}
        }
        let text = |key| text(key).unwrap_or_default().to_owned();
        (text("name"), text("source"))
    }

    /// A name stands once, whatever the kind, and can be written before a dot.
    fn check_names(&self, found: &mut Vec<Problem>) {
        let mut seen: BTreeMap<&str, &DocumentTable> = BTreeMap::new();
        for table in &self.parts {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if table.name.is_empty() || !table.name.chars().all(plain) || table.name.len() > 64 {
                let hint = "letters, digits, `-` and `_`, at most 64 of them";
                found.push(Problem::new(&table.at, format!("`{}` is no name of a part", table.name), hint));
            }
            if let Some(first) = seen.insert(&table.name, table) {
                let message = format!("the name `{}` stands twice", table.name);
                let hint =
                    format!("{} has it at {}; --set could not tell them apart", first.title(), first.at);
                found.push(Problem::new(&table.at, message, hint));
            }
        }
    }

    /// The table that a copy with this name comes from. Its own name may end in a digit, too: `m20` of `[slot.m2]`.
    pub(super) fn copied(&self, name: &str) -> Option<&DocumentTable> {
        let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
        self.parts.iter().find(|table| name.strip_prefix(table.name.as_str()).is_some_and(is_number))
    }

    fn check_cycles(&self, parts: &[(Part, u32)], found: &mut Vec<Problem>) {
        let needs: BTreeMap<&Name, Vec<&Name>> =
            parts.iter().map(|(part, _)| (&part.name, part.needs())).collect();
        let mut reported = BTreeSet::new();
        for (part, _) in parts {
            let mut seen = BTreeSet::new();
            let mut pending = needs.get(&part.name).cloned().unwrap_or_default();
            while let Some(next) = pending.pop() {
                if *next == part.name && !reported.contains(next) {
                    let at = self.place(&part.name);
                    let hint = "follow what it is in or on: the way leads back to it";
                    found.push(Problem::new(&at, format!("`{next}` lies on itself"), hint));
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
                let message = format!("`{}` is {} parts", workload.target, copies.len());
                let hint =
                    format!("name one (`{}`), or put them together in a [raid] or [volume]", copies[0]);
                problems.push(Problem::new(at, message, hint));
            } else if let Err(error) = build::path(system, &workload.target, 1) {
                problems.push(Problem { at: at.clone(), message: error.to_string(), hint: None });
            }
        }
        told(problems)
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
            let message = format!("`{}`: {message}", part.name);
            problems.push(Problem::new(&self.place(&part.name), message, hint));
        }
        told(problems)
    }

    /// Where a part stands.
    fn place(&self, name: &Name) -> At {
        self.table(name.as_str()).map(|table| table.at.clone()).unwrap_or_default()
    }
}

fn kinds_hint(kind: &str) -> String {
    let known = || keys::PARTS.split(' ').chain(["workload"]);
    match nearest(kind, known()) {
        Some(near) => format!("did you mean [{near}.…]?"),
        None => format!("the kinds are: {}", known().collect::<Vec<_>>().join(", ")),
    }
}

/// The most problems that are told.
const MOST_PROBLEMS: usize = 20;

fn told(mut problems: Vec<Problem>) -> Result<(), FileError> {
    problems.sort_by(|a, b| a.at.cmp(&b.at));
    problems.dedup();
    problems.truncate(MOST_PROBLEMS);
    if problems.is_empty() { Ok(()) } else { Err(FileError { problems }) }
}

/// Reads a description.
///
/// # Errors
/// As [`Document::parse`] and [`Document::system`].
pub fn parse(file: &str, text: &str) -> Result<System, FileError> {
    Document::parse(file, text)?.system()
}
