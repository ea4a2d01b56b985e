//! The text of a description as tables, each key with its place; what the tables mean is not known here.

use std::ops::Range;

use crate::path::file::{At, FileError, Problem, meant};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// The first line of every file: `format = "narrows/path/1"`.
pub(in crate::path::file) const FORMAT: &str = "narrows/path/1";

/// The most that a file may have, in bytes. The largest that a person writes are a hundredth of it.
pub const MOST_BYTES: usize = 1 << 20;

/// A description as it was written, with what was changed in it since.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The name of the file, for messages.
    pub(in crate::path::file) file: String,
    /// Keys before the first table.
    pub(in crate::path::file) head: DocumentTable,
    /// Tables with a name, `[slot.slot3]`.
    pub(in crate::path::file) parts: Vec<DocumentTable>,
    /// Entries of `[[published]]`.
    pub(in crate::path::file) published: Vec<DocumentTable>,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::path::file) struct DocumentTable {
    /// `slot`; empty for the head.
    pub(in crate::path::file) kind: String,
    /// `slot3`; empty without one.
    pub(in crate::path::file) name: String,
    pub(in crate::path::file) at: At,
    pub(in crate::path::file) keys: Vec<DocumentKey>,
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::path::file) struct DocumentKey {
    pub(in crate::path::file) name: String,
    /// Where the key stands.
    pub(in crate::path::file) at: At,
    pub(in crate::path::file) value: Value,
    /// Where the value stands.
    pub(in crate::path::file) value_at: At,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::path::file) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Flag(bool),
    List(Vec<(Value, At)>),
    Table(Vec<DocumentKey>),
    /// A date, or a number that is too large.
    Other,
}

impl Value {
    /// The text that it is.
    pub(in crate::path::file) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The whole number that it is, or 0.
    pub(super) const fn as_integer(&self) -> i64 {
        match self {
            Self::Integer(number) => *number,
            _ => 0,
        }
    }

    /// The number that it is.
    pub(super) const fn as_number(&self) -> Option<f64> {
        match self {
            Self::Integer(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            _ => None,
        }
    }

    /// The value as it is typed, where it is a single one.
    pub(super) fn plain(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Integer(number) => Some(number.to_string()),
            Self::Float(number) => Some(number.to_string()),
            Self::Flag(flag) => Some(flag.to_string()),
            Self::List(_) | Self::Table(_) | Self::Other => None,
        }
    }

    /// What it is, for a message.
    pub(in crate::path::file) const fn is_a(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Integer(_) | Self::Float(_) => "a bare number",
            Self::Flag(_) => "true or false",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Other => "a date or a number that is too large",
        }
    }
}

impl DocumentKey {
    /// A key that an option gives.
    pub(in crate::path::file) fn new(name: &str, value: Value, at: &At) -> Self {
        Self { name: name.to_owned(), at: at.clone(), value, value_at: at.clone() }
    }
}

impl DocumentTable {
    /// `[slot.slot3]`, for a message.
    pub(in crate::path::file) fn title(&self) -> String {
        match (self.kind.as_str(), self.name.as_str()) {
            ("", _) => "the head of the file".to_owned(),
            (kind, "") => format!("[[{kind}]]"),
            (kind, name) => format!("[{kind}.{name}]"),
        }
    }

    /// That a key is not there which must be.
    pub(super) fn lacks(&self, key: &str, example: &str) -> Problem {
        let message = format!("{} has no `{key}`", self.title());
        Problem::new(&self.at, message, format!("add one, such as {key} = {example}"))
    }

    /// That a value cannot be what it is.
    pub(super) fn wrong(&self, key: &str, message: impl Into<String>, hint: impl Into<String>) -> Problem {
        Problem::new(self.key(key).map_or(&self.at, |key| &key.value_at), message, hint)
    }

    pub(in crate::path::file) fn key(&self, name: &str) -> Option<&DocumentKey> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Puts a value in place of the one that is there.
    pub(in crate::path::file) fn put(&mut self, name: &str, value: Value, at: &At) {
        self.keys.retain(|key| key.name != name);
        self.keys.push(DocumentKey::new(name, value, at));
    }
}

/// Tells where a part of a text stands.
type Places<'a> = &'a dyn Fn(&Range<usize>) -> At;

impl Document {
    /// Reads the text of `file`.
    ///
    /// # Errors
    /// It is too long, not TOML, or has something else than named tables in it.
    pub fn parse(file: &str, text: &str) -> Result<Self, FileError> {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        let starts: Vec<usize> = std::iter::once(0).chain(breaks).collect();
        let place = |span: &Range<usize>| {
            let line = starts.partition_point(|start| *start <= span.start);
            let start = starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
            let before = text.get(start..span.start).unwrap_or_default();
            At { origin: file.to_owned(), line: Some((line, before.chars().count() + 1)) }
        };
        if text.len() > MOST_BYTES {
            let message = format!("the file is longer than {} KiB", MOST_BYTES / 1024);
            return Err(FileError::one(place(&(0..0)), message, None));
        }
        let root = DeTable::parse(text).map_err(|error| {
            let at = place(&error.span().unwrap_or(0..0));
            FileError::one(at, error.message().trim(), duplicate_hint(error.message()))
        })?;
        let mut problems = Vec::new();
        let mut document = Self {
            file: file.to_owned(),
            head: DocumentTable { at: place(&(0..0)), ..DocumentTable::default() },
            parts: Vec::new(),
            published: Vec::new(),
        };
        for (key, value) in root.get_ref() {
            document.take(&place, key, value, &mut problems);
        }
        // Maps are sorted by name; the order of the file is that of the places.
        document.parts.sort_by(|a, b| a.at.cmp(&b.at));
        if problems.is_empty() { Ok(document) } else { Err(FileError { problems }) }
    }

    fn take(
        &mut self,
        place: Places<'_>,
        key: &Spanned<DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
        problems: &mut Vec<Problem>,
    ) {
        let (kind, at) = (key.get_ref().to_string(), place(&key.span()));
        match value.get_ref() {
            DeValue::Table(named) => {
                for (name, body) in named {
                    let (name, at) = (name.get_ref().to_string(), place(&name.span()));
                    match body.get_ref() {
                        DeValue::Table(body) => {
                            let (kind, keys) = (kind.clone(), in_order(body, place));
                            self.parts.push(DocumentTable { kind, name, at, keys });
                        }
                        _ => problems.push(Problem {
                            at,
                            message: format!("[{kind}] has no name"),
                            hint: Some(format!("write [{kind}.NAME] and put `{name}` below it")),
                        }),
                    }
                }
            }
            DeValue::Array(entries) if kind == "published" => {
                for entry in entries.iter() {
                    if let DeValue::Table(body) = entry.get_ref() {
                        let (kind, at, keys) = (kind.clone(), place(&entry.span()), in_order(body, place));
                        self.published.push(DocumentTable { kind, name: String::new(), at, keys });
                    }
                }
            }
            DeValue::Array(entries) if entries.iter().any(|entry| entry.get_ref().is_table()) => {
                problems.push(Problem {
                    at,
                    message: format!("[[{kind}]] stands in double brackets"),
                    hint: Some(format!("parts have names: write [{kind}.NAME]")),
                });
            }
            _ => self.head.keys.push(key_of(key, value, place)),
        }
    }

    /// Changes a key of the part or workload `name`, as `--set name.key=value` does.
    ///
    /// # Errors
    /// There is no such part. Whether the key means anything is told when the document becomes a system.
    pub fn set(&mut self, name: &str, key: &str, value: &str) -> Result<(), FileError> {
        let at = At { origin: format!("--set {name}.{key}={value}"), line: None };
        let known: Vec<String> = self.parts.iter().map(|table| table.name.clone()).collect();
        let original = self.copied(name).map(|table| table.name.clone());
        let Some(table) = self.parts.iter_mut().find(|table| table.name == name) else {
            let hint = match original {
                Some(base) => format!("`{base}` stands for all of its copies: {base}.{key}={value}"),
                None => meant(name, known.iter().map(String::as_str), || {
                    format!("the parts are: {}", known.join(", "))
                }),
            };
            return Err(FileError::one(at, format!("there is no part or workload `{name}`"), Some(hint)));
        };
        table.put(key, value_of_text(value, &at), &at);
        Ok(())
    }

    /// Changes a value by `name.key=value`.
    ///
    /// # Errors
    /// As [`Document::set`], or the text has not this form.
    pub fn set_text(&mut self, assignment: &str) -> Result<(), FileError> {
        let parts = assignment.split_once('=').and_then(|(left, value)| {
            let (name, key) = left.trim().split_once('.')?;
            Some((name.trim(), key.trim(), value.trim()))
        });
        let Some((name, key, value)) = parts else {
            let at = At { origin: format!("--set {assignment}"), line: None };
            let hint = "write NAME.KEY=VALUE, such as slot3.width=4".to_owned();
            return Err(FileError::one(at, "this is no change of a value", Some(hint)));
        };
        self.set(name, key, value)
    }
}

fn duplicate_hint(message: &str) -> Option<String> {
    message.contains("duplicate").then(|| "each name and each key may stand once".to_owned())
}

/// A value that was typed: as TOML where it is some, or else the text itself.
fn value_of_text(text: &str, at: &At) -> Value {
    match DeValue::parse(text) {
        Ok(value) => convert(&value, &|_| at.clone()),
        Err(_) => Value::Text(text.to_owned()),
    }
}

/// The keys of a table in the order of the file.
fn in_order(table: &DeTable<'_>, place: Places<'_>) -> Vec<DocumentKey> {
    let mut keys = keys(table, place);
    keys.sort_by(|a, b| a.at.cmp(&b.at));
    keys
}

fn keys(table: &DeTable<'_>, place: Places<'_>) -> Vec<DocumentKey> {
    table.iter().map(|(key, value)| key_of(key, value, place)).collect()
}

fn key_of(name: &Spanned<DeString<'_>>, value: &Spanned<DeValue<'_>>, place: Places<'_>) -> DocumentKey {
    DocumentKey {
        name: name.get_ref().to_string(),
        at: place(&name.span()),
        value: convert(value, place),
        value_at: place(&value.span()),
    }
}

fn convert(value: &Spanned<DeValue<'_>>, place: Places<'_>) -> Value {
    match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(&number.as_str().replace('_', ""), number.radix())
            .map_or(Value::Other, Value::Integer),
        DeValue::Float(number) => number
            .as_str()
            .replace('_', "")
            .parse()
            .ok()
            .filter(|it: &f64| it.is_finite())
            .map_or(Value::Other, Value::Float),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Datetime(_) => Value::Other,
        DeValue::Array(items) => {
            Value::List(items.iter().map(|item| (convert(item, place), place(&item.span()))).collect())
        }
        DeValue::Table(table) => Value::Table(keys(table, place)),
    }
}
