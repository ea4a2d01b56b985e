//! A case: texts of a machine, and the verdict that is known for them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::files;

/// What `case.json` says.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Case {
    /// Its name.
    pub(crate) id: String,
    /// The verdict that is known.
    pub(crate) expected: Expected,
    /// `high`, `medium` or `low`: how sure the verdict is. Low ones are not scored.
    pub(crate) confidence: String,
    /// The texts.
    pub(crate) files: Vec<String>,
    /// Remarks; a sentence with `acceptable` names further verdicts that are right.
    #[serde(default)]
    pub(crate) note: Option<String>,
    /// Where the texts are.
    #[serde(skip)]
    pub(crate) directory: PathBuf,
}

/// The verdict of a case.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Expected {
    /// A finding code, `ok` (nothing above info), or `other` (a cause outside the codes: no alarm may be raised).
    pub(crate) verdict: String,
    /// The hop in words, with the addresses of its ends where it has some.
    pub(crate) limiting_hop: String,
    /// Codes that are as right: where a text leaves open whether a slot is slow or a link has lost speed.
    #[serde(default)]
    pub(crate) also: Vec<String>,
}

/// The cases below a directory, by name.
pub(crate) fn all(directory: &Path) -> Result<Vec<Case>, String> {
    let cases = files::cases::<Case>(directory)?;
    Ok(cases.into_iter().map(|(directory, case)| Case { directory, ..case }).collect())
}

impl Case {
    /// The texts of this machine. A text of another machine with the same board is for reading slot tables only.
    pub(crate) fn texts(&self) -> Vec<PathBuf> {
        let own = self.files.iter().filter(|file| !file.contains("other-machine"));
        own.map(|file| self.directory.join(file)).collect()
    }

    /// Whether it counts.
    pub(crate) fn is_scored(&self) -> bool {
        self.confidence != "low"
    }

    /// Whether nothing is wrong with this machine, so that any alarm is a false one.
    pub(crate) fn is_healthy(&self) -> bool {
        matches!(self.expected.verdict.as_str(), "ok" | "power_save")
    }

    /// The verdicts that are right: the expected one and those that the case or its note accepts beside it.
    pub(crate) fn accepted(&self) -> BTreeSet<String> {
        let note = self.note.as_deref().unwrap_or_default();
        let accepting = note.split(". ").filter(|sentence| sentence.contains("acceptable"));
        let words =
            accepting.flat_map(|sentence| sentence.split(|c: char| !c.is_ascii_lowercase() && c != '_'));
        let codes = words.filter(|word| word.contains('_')).map(str::to_owned);
        codes.chain(self.expected.also.clone()).chain([self.expected.verdict.clone()]).collect()
    }

    /// The PCI addresses that the expected hop names, without their domain.
    pub(crate) fn addresses(&self) -> BTreeSet<String> {
        addresses(&self.expected.limiting_hop)
    }

    /// The device names that the expected hop names: `md3`, `usb5`.
    pub(crate) fn devices(&self) -> BTreeSet<String> {
        let is_name = |word: &&str| {
            let digits = word.trim_start_matches(|c: char| c.is_ascii_lowercase());
            !digits.is_empty()
                && digits.bytes().all(|byte| byte.is_ascii_digit())
                && ["md", "usb", "nvme", "dm"].contains(&word.trim_end_matches(|c: char| c.is_ascii_digit()))
        };
        let words = self.expected.limiting_hop.split(|c: char| !c.is_ascii_alphanumeric());
        words.filter(is_name).map(str::to_owned).collect()
    }
}

/// The PCI addresses in a text, as `bus:device.function`. A function of `x` stands for any.
pub(crate) fn addresses(text: &str) -> BTreeSet<String> {
    let ranges = text.split("..");
    let words =
        ranges.flat_map(|part| part.split(|c: char| !c.is_ascii_alphanumeric() && c != ':' && c != '.'));
    words.filter_map(|word| address(word.trim_matches(['.', ':']))).collect()
}

fn address(word: &str) -> Option<String> {
    let (rest, function) = word.rsplit_once('.')?;
    let mut parts = rest.rsplit(':');
    let (device, bus) = (parts.next()?, parts.next()?);
    let is_hex =
        |text: &str, length: usize| text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_function = function == "x" || is_hex(function, 1);
    (is_hex(device, 2) && is_hex(bus, 2) && is_function).then(|| format!("{bus}:{device}.{function}"))
}
