//! The answer of the write guard, as text and as JSON.

use schemars::JsonSchema;
use serde::Serialize;

use super::sanitize::inert;
use crate::load::guard::{Class, Reason, Signature};
use crate::units::{Bytes, human};

/// The name and version of the JSON contract.
pub const SCHEMA: &str = "narrows/guard/1";

/// Whether a device may be written, and everything that speaks against it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GuardReport {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The kernel name of the device.
    pub device: String,
    /// Its size.
    pub size_bytes: Bytes,
    /// Whether narrows would write to it.
    pub may_write: bool,
    /// The devices that were examined: the device, its partitions, and what it belongs to.
    pub examined: Vec<String>,
    /// What speaks against it; empty only when it may be written.
    pub reasons: Vec<ReasonView>,
}

/// One thing that speaks against it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReasonView {
    /// A stable word: `content`, `in_use`, `claimed`, `read_only`, `too_small`, `unreadable`, `unseen`, `changed`,
    /// `not_named`, `other_named`, `no_identity`.
    pub code: &'static str,
    /// The reason as a phrase.
    pub summary: String,
    /// What to do.
    pub hint: &'static str,
    /// What stands on the device, when the code is `content`.
    pub content: Option<ContentView>,
}

/// Something that stands on a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContentView {
    /// The kernel name of the device.
    pub device: String,
    /// The format.
    pub name: &'static str,
    /// What kind of format it is.
    pub class: Class,
    /// Where it was found, in bytes from the beginning.
    pub offsets: Vec<Bytes>,
    /// The description of the format that says so.
    pub source: &'static str,
}

/// Shows a decision: no reasons mean that the device may be written.
pub fn build(device: &str, size: Bytes, examined: Vec<String>, reasons: &[Reason]) -> GuardReport {
    GuardReport {
        schema: SCHEMA,
        device: inert(device),
        size_bytes: size,
        may_write: reasons.is_empty(),
        examined,
        reasons: reasons.iter().map(reason).collect(),
    }
}

fn reason(reason: &Reason) -> ReasonView {
    let content = match reason {
        Reason::Content { device, signature } => Some(content(device, signature)),
        _ => None,
    };
    ReasonView { code: reason.code(), summary: inert(&reason.to_string()), hint: reason.hint(), content }
}

fn content(device: &str, signature: &Signature) -> ContentView {
    let Signature { name, class, offsets, source } = signature.clone();
    ContentView { device: device.to_owned(), name, class, offsets, source }
}

/// The report for a person. It ends with a newline.
pub fn render(report: &GuardReport) -> String {
    let subject = format!("{} ({})", report.device, human::bytes(report.size_bytes));
    if report.may_write {
        return format!(
            "Nothing speaks against writing to {subject}: no known signature, zeros in the first and last MiB, no user, \
             and it was named.\nNothing was written.\n"
        );
    }
    let mut text = format!("narrows does not write to {subject}:\n");
    for reason in &report.reasons {
        text.push_str(&format!("  - {}\n", reason.summary));
    }
    let mut hints: Vec<&str> = Vec::new();
    for hint in report.reasons.iter().map(|reason| reason.hint) {
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    for hint in hints {
        text.push_str(&format!("hint: {hint}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::guard::{Use, UseKind};

    fn refused() -> GuardReport {
        let ext4 = Signature {
            name: "ext2, ext3 or ext4",
            class: Class::FileSystem,
            offsets: vec![Bytes::new(1080)],
            source: "ext4/super.rst",
        };
        let by = "/srv\u{1b}[2J".to_owned();
        let mount = Use { device: "sdb1".to_owned(), kind: UseKind::Mount, by };
        let reasons = [
            Reason::Content { device: "sdb".to_owned(), signature: ext4 },
            Reason::InUse(mount),
            Reason::NoIdentity,
        ];
        build("sdb", Bytes::new(1_000_204_886_016), vec!["sdb".to_owned(), "sdb1".to_owned()], &reasons)
    }

    #[test]
    fn every_reason_is_shown_and_no_escape_sequence_is_obeyed() {
        let text = render(&refused());
        assert!(text.starts_with("narrows does not write to sdb (1 TB):\n"), "{text}");
        assert!(text.contains("  - sdb holds ext2, ext3 or ext4 (file system) at byte 1080\n"), "{text}");
        assert!(text.contains("  - sdb1 is mounted on /srv\\x1b[2J\n"), "{text}");
        assert!(text.contains("hint: look with `wipefs -n`"), "{text}");
        assert!(text.ends_with('\n'));
    }

    #[test]
    fn only_a_device_without_reasons_may_be_written() {
        assert!(!refused().may_write);
        let free = build("loop0", Bytes::from_mib(64), vec!["loop0".to_owned()], &[]);
        assert!(free.may_write);
        assert!(render(&free).contains("Nothing was written."));
    }

    #[test]
    fn the_json_names_the_content_with_its_offsets() {
        let json = serde_json::to_value(refused()).expect("serialises");
        assert_eq!(json["reasons"][0]["content"]["offsets"], serde_json::json!([1080]));
        assert_eq!(json["reasons"][0]["content"]["class"], "file_system");
        assert_eq!(json["reasons"][1]["content"], serde_json::Value::Null);
        assert_eq!(json["may_write"], false);
    }
}
