//! Asks a table for its keys by name and unit, and remembers what was wrong, and what it was never asked for.

use std::collections::BTreeSet;

use super::Quantity;
use super::document::{DocumentKey, DocumentTable, Value};
use crate::path::file::read;
use crate::path::file::{At, Name, Problem, nearest};
use narrows_base::units::{BitsPerSec, Bytes, BytesPerSec, Iops, Lanes, Nanos};

/// A name that a table gives to another part.
#[derive(Debug, Clone)]
pub(super) struct Reference {
    /// Who gives it, `[slot.slot3]`.
    pub(super) by: String,
    pub(super) name: String,
    pub(super) at: At,
    /// The kinds of part that it may be.
    pub(super) kinds: &'static [&'static str],
}

/// What is found while the tables are read.
#[derive(Debug, Default)]
pub(super) struct ReadSoFar {
    pub(super) problems: Vec<Problem>,
    pub(super) references: Vec<Reference>,
}

impl ReadSoFar {
    pub(super) fn problem(&mut self, at: &At, message: impl Into<String>, hint: Option<String>) {
        self.problems.push(Problem { at: at.clone(), message: message.into(), hint });
    }
}

/// A table that is being read.
pub(super) struct Keys<'t> {
    table: &'t DocumentTable,
    found: &'t mut ReadSoFar,
    asked: BTreeSet<&'static str>,
}

impl<'t> Keys<'t> {
    pub(super) const fn new(table: &'t DocumentTable, found: &'t mut ReadSoFar) -> Self {
        Self { table, found, asked: BTreeSet::new() }
    }

    fn ask(&mut self, key: &'static str) -> Option<&'t DocumentKey> {
        self.asked.insert(key);
        self.table.key(key)
    }

    fn refuse(&mut self, key: &DocumentKey, message: impl Into<String>, hint: impl Into<String>) {
        self.found.problem(&key.value_at, message, Some(hint.into()));
    }

    /// Says that a key that must be there is not.
    pub(super) fn missing(&mut self, key: &'static str, example: &str) {
        let message = format!("{} has no `{key}`", self.table.title());
        self.found.problem(&self.table.at, message, Some(format!("add one, such as {key} = {example}")));
    }

    /// Says that a value cannot be what it is.
    pub(super) fn wrong(&mut self, key: &'static str, message: impl Into<String>, hint: impl Into<String>) {
        let at = self.table.key(key).map_or(&self.table.at, |key| &key.value_at).clone();
        self.found.problem(&at, message, Some(hint.into()));
    }

    pub(super) fn text(&mut self, key: &'static str) -> Option<String> {
        let found = self.ask(key)?;
        match &found.value {
            Value::Text(text) => Some(text.clone()),
            other => {
                let message = format!("`{key}` is {}", other.is_a());
                self.refuse(found, message, format!("write it as a text: {key} = \"…\""));
                None
            }
        }
    }

    /// One of several words.
    pub(super) fn word(&mut self, key: &'static str, words: &[&'static str]) -> Option<&'static str> {
        let text = self.text(key)?;
        let found = words.iter().find(|word| **word == text).copied();
        if found.is_none() {
            let hint = match nearest(&text, words.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it is one of: {}", words.join(", ")),
            };
            self.wrong(key, format!("`{key}` cannot be `{text}`"), hint);
        }
        found
    }

    fn quantity<T>(
        &mut self,
        key: &'static str,
        example: &str,
        pick: impl Fn(Quantity) -> Option<T>,
    ) -> Option<T> {
        let found = self.ask(key)?;
        let result = match &found.value {
            Value::Text(text) => match read::parse_quantity(text) {
                Ok(quantity) => {
                    pick(quantity).ok_or_else(|| format!("`{text}` has the unit of something else"))
                }
                Err(why) => Err(why),
            },
            other => Err(format!("{} has no unit", other.is_a())),
        };
        result
            .map_err(|why| {
                self.refuse(
                    found,
                    format!("`{key}`: {why}"),
                    format!("write a number and its unit: {key} = \"{example}\""),
                )
            })
            .ok()
    }

    pub(super) fn rate(&mut self, key: &'static str) -> Option<BytesPerSec> {
        self.quantity(key, "3.5 GB/s", |it| match it {
            Quantity::Rate(rate) => Some(rate),
            Quantity::BitRate(rate) => Some(rate.bytes_per_sec()),
            _ => None,
        })
    }

    pub(super) fn bit_rate(&mut self, key: &'static str) -> Option<BitsPerSec> {
        self.quantity(key, "10 Gbit/s", |it| match it {
            Quantity::BitRate(rate) => Some(rate),
            Quantity::Rate(rate) => Some(BitsPerSec::new(rate.get() * 8.0)),
            _ => None,
        })
    }

    pub(super) fn iops(&mut self, key: &'static str) -> Option<Iops> {
        self.quantity(key, "640k IOPS", |it| match it {
            Quantity::Iops(iops) => Some(iops),
            _ => None,
        })
    }

    pub(super) fn time(&mut self, key: &'static str) -> Option<Nanos> {
        self.quantity(key, "80 us", |it| match it {
            Quantity::Time(time) => Some(time),
            _ => None,
        })
    }

    /// A size with its unit, or as on the command line: `4k` is 4 KiB there, as in the tools that measure.
    pub(super) fn size(&mut self, key: &'static str) -> Option<Bytes> {
        if let Some(size) = self.ask(key).and_then(|found| found.value.as_text()).and_then(read::short_size) {
            return Some(size);
        }
        self.quantity(key, "512 KiB", |it| match it {
            Quantity::Size(size) => Some(size),
            _ => None,
        })
    }

    /// A size that its own tools state as a number of bytes (MTU, packet payloads, encryption sectors); a text with a
    /// unit will do too.
    pub(super) fn bytes(&mut self, key: &'static str, within: (u64, u64)) -> Option<Bytes> {
        let found = self.ask(key)?;
        let bytes = match &found.value {
            Value::Integer(number) => u64::try_from(*number).ok().map(Bytes::new),
            _ => self.size(key),
        };
        let fits = bytes.filter(|bytes| (within.0..=within.1).contains(&bytes.get()));
        if fits.is_none() && (bytes.is_some() || matches!(found.value, Value::Integer(_))) {
            let hint = format!("it is a number of bytes from {} to {}", within.0, within.1);
            self.refuse(found, format!("`{key}` is out of range"), hint);
        }
        fits
    }

    /// A count from `least` to `most`.
    pub(super) fn count(&mut self, key: &'static str, least: u32, most: u32) -> Option<u32> {
        let found = self.ask(key)?;
        let count = match &found.value {
            Value::Integer(number) => u32::try_from(*number).ok().filter(|it| (least..=most).contains(it)),
            _ => None,
        };
        if count.is_none() {
            let said = match &found.value {
                Value::Integer(number) => format!("`{key}` is {number}"),
                other => format!("`{key}` is {}", other.is_a()),
            };
            self.refuse(found, said, format!("it is a whole number from {least} to {most}"));
        }
        count
    }

    /// The widths that a PCIe link trains at (PCI Express Base Specification, Maximum Link Width).
    pub(super) fn lanes(&mut self, key: &'static str) -> Option<Lanes> {
        const WIDTHS: [u32; 7] = [1, 2, 4, 8, 12, 16, 32];
        let lanes = self.count(key, 1, 32)?;
        if !WIDTHS.contains(&lanes) {
            self.wrong(key, format!("no link has {lanes} lanes"), "it is 1, 2, 4, 8, 12, 16 or 32");
            return None;
        }
        u8::try_from(lanes).ok().map(Lanes::new)
    }

    /// A part of a whole, 0 to 1.
    pub(super) fn share(&mut self, key: &'static str) -> Option<f64> {
        let found = self.ask(key)?;
        let share = match &found.value {
            Value::Float(share) => Some(*share),
            Value::Integer(0) => Some(0.0),
            Value::Integer(1) => Some(1.0),
            _ => None,
        };
        let share = share.filter(|share| (0.0..=1.0).contains(share));
        if share.is_none() {
            self.refuse(found, format!("`{key}` is no share"), "it is a number from 0.0 to 1.0");
        }
        share
    }

    /// How many times as much: 1 to 1000.
    pub(super) fn factor(&mut self, key: &'static str) -> Option<f64> {
        let found = self.ask(key)?;
        let factor = match &found.value {
            Value::Float(factor) => Some(*factor),
            Value::Integer(whole) => u16::try_from(*whole).ok().map(f64::from),
            _ => None,
        };
        let factor = factor.filter(|factor| (1.0..=1000.0).contains(factor));
        if factor.is_none() {
            self.refuse(found, format!("`{key}` is no factor"), "it is a number from 1.0 to 1000.0");
        }
        factor
    }

    pub(super) fn flag(&mut self, key: &'static str) -> Option<bool> {
        let found = self.ask(key)?;
        match found.value {
            Value::Flag(flag) => Some(flag),
            _ => {
                self.refuse(found, format!("`{key}` is {}", found.value.is_a()), "it is true or false");
                None
            }
        }
    }

    /// The name of another part.
    pub(super) fn name(&mut self, key: &'static str, kinds: &'static [&'static str]) -> Option<Name> {
        let name = self.text(key)?;
        let at = self.table.key(key).map(|key| key.value_at.clone()).unwrap_or_default();
        self.refer(&name, at, kinds);
        Some(Name::new(name))
    }

    /// The names of other parts; one name may stand alone.
    pub(super) fn names(&mut self, key: &'static str, kinds: &'static [&'static str]) -> Vec<Name> {
        let texts = self.texts(key);
        for (text, at) in &texts {
            self.refer(text, at.clone(), kinds);
        }
        texts.into_iter().map(|(text, _)| Name::new(text)).collect()
    }

    /// Texts; one may stand alone.
    pub(super) fn texts(&mut self, key: &'static str) -> Vec<(String, At)> {
        let Some(found) = self.ask(key) else { return Vec::new() };
        match &found.value {
            Value::Text(text) => vec![(text.clone(), found.value_at.clone())],
            Value::List(items) => {
                let mut texts = Vec::new();
                for (item, at) in items {
                    match item {
                        Value::Text(text) => texts.push((text.clone(), at.clone())),
                        other => {
                            let message = format!("`{key}` has {} in it", other.is_a());
                            self.found.problem(at, message, Some("it is a list of texts".to_owned()));
                        }
                    }
                }
                texts
            }
            other => {
                self.refuse(found, format!("`{key}` is {}", other.is_a()), "it is a list of texts");
                Vec::new()
            }
        }
    }

    fn refer(&mut self, name: &str, at: At, kinds: &'static [&'static str]) {
        let by = self.table.title();
        self.found.references.push(Reference { by, name: name.to_owned(), at, kinds });
    }

    /// The value of a key as it is.
    pub(super) fn raw(&mut self, key: &'static str) -> Option<&'t DocumentKey> {
        self.ask(key)
    }

    /// Ends the reading: keys that nobody asked for mean nothing.
    pub(super) fn finish(self) {
        for key in self.table.keys.iter().filter(|key| !self.asked.contains(key.name.as_str())) {
            let hint = match nearest(&key.name, self.asked.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    format!("its keys are: {}", self.asked.iter().copied().collect::<Vec<_>>().join(", "))
                }
            };
            self.found.problem(
                &key.at,
                format!("unknown key `{}` in {}", key.name, self.table.title()),
                Some(hint),
            );
        }
    }
}
