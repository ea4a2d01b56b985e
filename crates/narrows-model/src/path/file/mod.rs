//! A system that is described instead of inspected: `*.path.toml`.
//!
//! A [`System`] is plain data: parts that hang on each other by name, what runs on them, and what was published of them.
//! It is read from a file, or made in code, and becomes the same [`Path`](super::Path) as a live machine does.

pub mod build;
mod model;
mod read;
#[cfg(test)]
pub(crate) mod testing;
mod write;

pub use build::{BuildError, path};
pub use model::{
    Adapter, Attachment, Cache, Chipset, Cluster, Crypt, Device, DeviceKind, Engine, Filesystem, Host,
    Interconnect, Iommu, LinkGiven, Name, Network, Part, PartKind, PartPlace, Pattern, Published,
    PublishedValue, Raid, RaidKind, Remote, Slot, SplitMode, Switch, System, Technology, Vm, Volume,
    Workload, WriteCache, ZfsLevel,
};
pub use read::{Document, MOST_BYTES, parse};

use std::fmt;

use narrows_base::near::distance;
use read::{DocumentKey, DocumentTable, Value};

/// Where something stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct At {
    /// The file, or the option by which it was given (`--set slot3.width=4`).
    pub origin: String,
    /// Line and column from 1; `None` for an option.
    pub line: Option<(usize, usize)>,
}

impl At {
    /// The place without its column, as facts cite it.
    pub fn cited(&self) -> String {
        match self.line {
            Some((line, _)) => format!("{}:{line}", self.origin),
            None => self.origin.clone(),
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some((line, column)) => write!(f, "{}:{line}:{column}", self.origin),
            None => f.write_str(&self.origin),
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub at: At,
    /// What.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Problem {
    fn new(at: &At, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { at: at.clone(), message: message.into(), hint: Some(hint.into()) }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.message)
    }
}

/// Everything that is wrong with a description, in the order of the file. Never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct FileError {
    /// What is wrong.
    pub problems: Vec<Problem>,
}

impl FileError {
    /// One problem.
    pub fn one(at: At, message: impl Into<String>, hint: Option<String>) -> Self {
        Self { problems: vec![Problem { at, message: message.into(), hint }] }
    }
}

/// The one of `known` that `typed` was probably meant to be.
fn nearest<'k>(typed: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let most = (typed.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|name| (distance(typed, name), name))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// What helps who typed a name that is not known: the one that was probably meant, or else what is known.
fn meant<'k>(
    typed: &str,
    known: impl IntoIterator<Item = &'k str>,
    otherwise: impl FnOnce() -> String,
) -> String {
    nearest(typed, known).map_or_else(otherwise, |near| format!("did you mean `{near}`?"))
}

/// The layers that can be put on something.
const LAYERS: &[&str] = &["raid0", "raid1", "raid10", "raid5", "raid6", "linear", "luks", "ext4", "xfs"];

/// A name that nothing has yet: `base`, or else `base-2`, `base-3`…
pub(crate) fn free_name(base: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2_u32..).map(|number| format!("{base}-{number}"));
    std::iter::once(base.to_owned()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
}

impl Document {
    fn free_name(&self, base: &str) -> String {
        free_name(base, |name| self.parts.iter().any(|table| table.name == name))
    }

    fn push(&mut self, kind: &str, name: &str, at: &At, keys: Vec<(&str, Value)>) -> Name {
        let (kind, at) = (kind.to_owned(), at.clone());
        let keys = keys.into_iter().map(|(key, value)| DocumentKey::new(key, value, &at)).collect();
        self.parts.push(DocumentTable { kind, name: name.to_owned(), at, keys });
        Name::new(name)
    }

    /// Adds a drive as `nvme:sn770@slot2` says, and tells its name.
    ///
    /// # Errors
    /// The text has not this form. Whether model and place are known is told when the document becomes a system.
    pub fn add_device(&mut self, text: &str) -> Result<Name, FileError> {
        let at = At { origin: format!("--add {text}"), line: None };
        let parts = text.split_once(':').and_then(|(kind, rest)| Some((kind, rest.rsplit_once('@')?)));
        let Some((kind, (model, place))) = parts else {
            let hint = "write KIND:MODEL@PLACE, such as nvme:sn770@slot2".to_owned();
            return Err(FileError::one(at, "this is no drive at a place", Some(hint)));
        };
        let plain: String = model.chars().filter(char::is_ascii_alphanumeric).collect();
        let base = if plain.is_empty() { "added".to_owned() } else { format!("added-{plain}") };
        let name = self.free_name(&base);
        let value = |text: &str| Value::Text(text.trim().to_owned());
        let keys = vec![("kind", value(kind)), ("model", value(model)), ("in", value(place))];
        Ok(self.push("device", &name, &at, keys))
    }

    /// Puts a layer on `members`, and tells its name.
    ///
    /// # Errors
    /// There is no such layer, or it lies on one part only.
    pub fn add_layer(&mut self, layer: &str, members: &[Name]) -> Result<Name, FileError> {
        let at = At { origin: format!("--add {layer}"), line: None };
        let text = |text: &str| Value::Text(text.to_owned());
        let texts = || Value::List(members.iter().map(|name| (text(name.as_str()), at.clone())).collect());
        let (kind, keys) = match (layer, members) {
            ("raid0" | "raid1" | "raid10" | "raid5" | "raid6" | "linear", _) => {
                ("raid", vec![("level", text(layer)), ("members", texts())])
            }
            ("luks", [one]) => ("crypt", vec![("on", text(one.as_str()))]),
            ("ext4" | "xfs", [one]) => {
                ("filesystem", vec![("kind", text(layer)), ("on", text(one.as_str()))])
            }
            (known, _) if LAYERS.contains(&known) => {
                let message = format!("{layer} lies on one part, not on {}", members.len());
                let hint = "put them together first: --add raid0".to_owned();
                return Err(FileError::one(at, message, Some(hint)));
            }
            _ => {
                let hint = format!("the layers are: {}", LAYERS.join(", "));
                return Err(FileError::one(at, format!("there is no layer `{layer}`"), Some(hint)));
            }
        };
        let name = self.free_name(layer);
        Ok(self.push(kind, &name, &at, keys))
    }

    /// Adds members to an array.
    ///
    /// # Errors
    /// There is no such array, or it is one of several copies.
    pub fn add_members(&mut self, array: &Name, members: &[Name]) -> Result<(), FileError> {
        let at = At { origin: "--add".to_owned(), line: None };
        let Some(table) = self.parts.iter_mut().find(|table| table.name == array.as_str()) else {
            return Err(FileError::one(at, format!("`{array}` has no table of its own"), None));
        };
        let Some(key) = table.keys.iter_mut().find(|key| key.name == "members") else {
            return Err(FileError::one(at, format!("`{array}` has no members"), None));
        };
        let added = members.iter().map(|name| (Value::Text(name.to_string()), at.clone()));
        match &mut key.value {
            Value::List(list) => list.extend(added),
            other => {
                let first = (other.clone(), at.clone());
                key.value = Value::List(std::iter::once(first).chain(added).collect());
            }
        }
        Ok(())
    }

    /// Lets every workload that used `from` use `to`.
    pub fn retarget(&mut self, from: &Name, to: &Name) {
        for table in self.parts.iter_mut().filter(|table| table.kind == "workload") {
            for key in table.keys.iter_mut().filter(|key| key.name == "target") {
                if key.value == Value::Text(from.to_string()) {
                    key.value = Value::Text(to.to_string());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_finds_what_was_meant_and_another_word_nothing() {
        assert_eq!(nearest("widht", ["width", "connector"]), Some("width"));
        assert_eq!(nearest("chipst", ["chipset", "host"]), Some("chipset"));
        assert_eq!(nearest("colour", ["width", "connector"]), None);
    }
}
