//! The answer of the write guard, as text and as JSON.

use serde::Serialize;

use narrows_base::lists::{distinct, known_of};
use narrows_base::shell;
use narrows_base::units::{Bytes, human};
use narrows_load::guard::{Class, Cleared, Looks, Method, Reason, Searched, Signature};
use narrows_report::document::{Audience, Blocks, Document, Style, Tone};

/// The name and version of the JSON contract.
pub const SCHEMA: &str = "narrows/guard/1";

/// Whether a device may be written, and everything that speaks against it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GuardReport {
    pub schema: &'static str,
    /// The kernel name of the device.
    pub device: String,
    pub size_bytes: Bytes,
    /// Whether narrows would write to it.
    pub may_write: bool,
    /// The devices that were examined: the device, its partitions, and what it belongs to.
    pub examined: Vec<String>,
    /// What speaks against it; empty only when it may be written.
    pub reasons: Vec<ReasonView>,
    /// How the device was searched for data; `null` when something else spoke against writing to it before.
    pub searched: Option<SearchView>,
    /// What would make the device blank, where only its contents speak against writing to it.
    pub blank_by: Vec<WayView>,
    /// With `--clean`: what was cleared.
    pub cleaned: Option<Cleared>,
}

/// How a device was searched for data.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchView {
    /// `all`: all of it was read; `each_mib`: places in each MiB; `random`: random places of 4 KiB.
    pub method: &'static str,
    /// How many places of 4 KiB that were.
    pub places: u64,
    /// How many reads there were in all.
    pub reads: u64,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// With random places that are all zero: at most this share of the device holds data, with 95 % confidence (3 of the
    /// places, the rule of three: JAMA 249(13):1743, 1983).
    pub at_most_share: Option<f64>,
    /// Why `at_most_share` is `null`.
    pub reason: Option<&'static str>,
}

/// A command that makes a device blank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WayView {
    pub command: String,
    /// What it destroys.
    pub destroys: String,
}

/// One thing that speaks against it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReasonView {
    /// A stable word: `content`, `data`, `marked`, `written`, `zoned`, `unsearched`, `in_use`, `claimed`, `read_only`, `too_small`, `unreadable`, `unseen`, `changed`,
    /// `not_named`, `other_named`, `no_identity`.
    pub code: &'static str,
    /// The reason as a phrase.
    pub summary: String,
    /// What to do.
    pub hint: &'static str,
    /// What stands on the device, when the code is `content`, or what data look like, when it is `data`.
    pub content: Option<ContentView>,
}

/// Something that stands on a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContentView {
    /// The kernel name of the device.
    pub device: String,
    /// What it is a sign of.
    #[serde(flatten)]
    pub signature: Signature,
}

/// Shows a decision: no reasons mean that the device may be written.
pub fn build(
    device: &str,
    size: Bytes,
    examined: Vec<String>,
    reasons: &[Reason],
    searched: Option<&Searched>,
    blank_by: Vec<WayView>,
) -> GuardReport {
    GuardReport {
        schema: SCHEMA,
        device: device.to_owned(),
        size_bytes: size,
        may_write: reasons.is_empty(),
        examined,
        reasons: reasons.iter().map(reason).collect(),
        searched: searched.map(search),
        blank_by,
        cleaned: None,
    }
}

/// What speaks against writing to a device after it was cleared.
pub fn left_by(device: &str, cleared: &Cleared) -> Vec<Reason> {
    let device = || device.to_owned();
    let foreign = cleared.foreign.iter();
    let foreign = foreign.map(|it| Reason::Data { device: device(), at: it.at, looks: it.looks() });
    let is_left = cleared.left.get() > 0 || cleared.is_broken_off;
    foreign.chain(is_left.then(|| Reason::Marked { device: device(), at: Bytes::new(0) })).collect()
}

fn search(searched: &Searched) -> SearchView {
    let method = match searched.method {
        Method::All => "all",
        Method::EachMib(_) => "each_mib",
        Method::Random => "random",
    };
    let at_most_share = searched.bound();
    let why = "at_most_share: only said where random places were looked at";
    let reason = at_most_share.is_none().then_some(why);
    let (places, reads, seconds) = (searched.places, searched.reads, searched.time.as_secs_f64());
    SearchView { method, places, reads, seconds, at_most_share, reason }
}

fn reason(reason: &Reason) -> ReasonView {
    let content = match reason {
        Reason::Content { device, signature } => Some((device, signature.clone())),
        Reason::Data { device, at, looks } => {
            let (name, class, at, source) = match *looks {
                Looks::Begins { name, class, start, source } => (name, class, start, source),
                _ => ("data", Class::Data, *at, "bytes that are not zero"),
            };
            Some((device, Signature { name, class, offsets: vec![at], source }))
        }
        _ => None,
    };
    let content = content.map(|(device, signature)| ContentView { device: device.clone(), signature });
    ReasonView { code: reason.code(), summary: reason.to_string(), hint: reason.hint(), content }
}

/// The report for a person. It ends with a newline.
pub fn render(report: &GuardReport) -> String {
    document(report, Audience::Owner).text(&Style::UNWRAPPED)
}

/// The report as a document.
pub fn document(report: &GuardReport, audience: Audience) -> Document {
    let mut out = Document::new("guard", &report.device, None);
    let subject = format!("{} ({})", report.device, report.size_bytes);
    out.says(0, Tone::Normal, report.cleaned.iter().map(cleaned_text));
    if report.may_write {
        let searched = report.searched.as_ref().map(searched_text).unwrap_or_default();
        let text = format!(
            "Nothing speaks against writing to {subject}: no known signature, no user, it was named, and {searched}."
        );
        out.say(0, Tone::Good, text);
        if report.cleaned.is_none() {
            out.say(0, Tone::Normal, "Nothing was written.");
        }
    } else {
        out.say(0, Tone::Strong, format!("narrows does not write to {subject}:"));
        refused(&mut out, report);
    }
    if audience == Audience::Public { out.scrubbed() } else { out }
}

/// What speaks against it, and what to do.
fn refused(out: &mut Document, report: &GuardReport) {
    out.leads((Tone::Bad, "  - "), Tone::Normal, report.reasons.iter().map(|reason| &reason.summary));
    for hint in once(report.reasons.iter().map(|reason| reason.hint), &report.blank_by) {
        match hint.strip_prefix("  ") {
            Some(way) => out.lead((Tone::Normal, "hint:   "), Tone::Normal, way),
            None => out.lead((Tone::Normal, "hint: "), Tone::Normal, hint),
        }
    }
}

/// Said with every list of commands that make a device blank.
pub const NOT_ENOUGH: &str = "`wipefs` alone is not enough: it removes signatures and leaves the data, so the device stays \
    refused; never blank are devices that are in use or read-only, and after a discard or format those that do not return \
    zeros then: write the zeros (-z)";

/// How a device was searched that is blank as far as is seen.
fn searched_text(searched: &SearchView) -> String {
    let places = human::grouped(searched.places);
    match searched.at_most_share {
        Some(share) => format!(
            "none of {places} random places of 4 KiB holds data: with 95 % confidence at most {} of the device does (the \
             rule of three, 3 of {places})",
            human::small_percent(share)
        ),
        None if searched.method == "all" => "all of it was read and is zero".to_owned(),
        None => format!("{places} places of 4 KiB, some in each MiB, were read and are zero"),
    }
}

fn cleaned_text(cleaned: &Cleared) -> String {
    let Cleared { cleared, left, foreign_bytes: foreign, .. } = cleaned;
    let said = [
        match cleared.get() {
            0 => Some("Nothing that a run of narrows left is to be cleared".to_owned()),
            _ => Some(format!("Cleared {cleared} that a run of narrows left")),
        },
        (left.get() > 0).then(|| format!("{left} of it are still there")),
        (foreign.get() > 0).then(|| format!("{foreign} bear no mark of ours and were not touched")),
    ];
    known_of(said, "; ") + "."
}

/// What can be done about each of the reasons, once, then the `ways` that would make the device blank.
pub fn hints(reasons: &[Reason], ways: &[WayView]) -> Vec<String> {
    once(reasons.iter().map(Reason::hint), ways)
}

/// As [`hints`], of what is hinted at for each reason.
fn once<'h>(all: impl Iterator<Item = &'h str>, ways: &[WayView]) -> Vec<String> {
    let mut hints = distinct(all.map(str::to_owned));
    if !ways.is_empty() {
        hints.push("if nothing on it is needed, one of these makes it blank:".to_owned());
        hints.extend(ways.iter().map(|way| format!("  `{}` destroys {}", way.command, way.destroys)));
        hints.push(NOT_ENOUGH.to_owned());
    }
    hints
}

/// The commands that make this device blank, which takes discards or not; none where something else than its contents speaks
/// against writing to it.
pub fn ways(name: &str, discards: bool, reasons: &[Reason]) -> Vec<WayView> {
    let is_content = |reason: &Reason| matches!(reason, Reason::Content { .. } | Reason::Data { .. });
    let is_harmless = |reason: &Reason| match reason {
        Reason::Content { device, .. } | Reason::Data { device, .. } => device == name,
        Reason::Marked { .. } | Reason::NotNamed { .. } | Reason::OtherNamed { .. } | Reason::NoIdentity => {
            true
        }
        _ => false,
    };
    let is_wanted = reasons.iter().any(is_content) && reasons.iter().all(is_harmless);
    if is_wanted { commands(name, discards) } else { Vec::new() }
}

/// The commands for a device by its kernel name, which tells its kind.
fn commands(name: &str, discards: bool) -> Vec<WayView> {
    let path = shell::word(&format!("/dev/{}", name.replace('!', "/")));
    let way = |command: String, destroys: &str| WayView { command, destroys: destroys.to_owned() };
    let mut ways = Vec::new();
    if name.starts_with("nvme") {
        ways.push(way(
            format!("nvme format {path} --ses=1"),
            "all data of the namespace, for good, in seconds to minutes; most drives read as zeros afterwards; on a drive \
             that formats all namespaces together, those of the others as well (`nvme id-ctrl`, fna)",
        ));
    }
    if discards {
        let destroys = match name {
            _ if name.starts_with("loop") => {
                "all data in the file behind the loop device, for good: a hole is punched into it, which reads as zeros"
            }
            _ if name.starts_with("zram") || name.starts_with("ram") || name.starts_with("nullb") => {
                "all data of this device in memory, for good"
            }
            _ => {
                "all data of the device, for good, in seconds, without wear; blank only if the drive returns zeros for what \
                 was discarded, which many do not promise"
            }
        };
        ways.push(way(format!("blkdiscard {path}"), destroys));
    }
    ways.push(way(
        format!("blkdiscard -z {path}"),
        "all data of the device, for good: zeros are written everywhere, which takes as long as writing all of it and wears \
         flash like one full write; works on every device",
    ));
    ways
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_load::guard::{Use, UseKind};

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
        build(
            "sdb",
            Bytes::new(1_000_204_886_016),
            vec!["sdb".to_owned(), "sdb1".to_owned()],
            &reasons,
            None,
            Vec::new(),
        )
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
        let free = build("loop0", Bytes::from_mib(64), vec!["loop0".to_owned()], &[], None, Vec::new());
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

    fn commands_of(name: &str, discards: bool) -> Vec<String> {
        commands(name, discards).into_iter().map(|way| way.command).collect()
    }

    #[test]
    fn each_kind_of_device_has_its_commands_and_never_wipefs() {
        assert_eq!(
            commands_of("nvme0n1", true),
            ["nvme format /dev/nvme0n1 --ses=1", "blkdiscard /dev/nvme0n1", "blkdiscard -z /dev/nvme0n1"]
        );
        assert_eq!(commands_of("sda", false), ["blkdiscard -z /dev/sda"], "a disk without discards");
        assert_eq!(commands_of("loop3", true), ["blkdiscard /dev/loop3", "blkdiscard -z /dev/loop3"]);
        assert_eq!(commands_of("cciss!c0d0", false), ["blkdiscard -z /dev/cciss/c0d0"]);
    }

    #[test]
    fn a_device_in_use_or_with_data_in_its_family_gets_no_commands() {
        let data = |device: &str| Reason::Data {
            device: device.to_owned(),
            at: Bytes::new(1),
            looks: Looks::Same(1),
        };
        let ways = |reasons: &[Reason]| ways("none9", false, reasons);
        assert_eq!(ways(&[data("none9"), Reason::NoIdentity]).len(), 1);
        assert_eq!(ways(&[data("none9p1")]), []);
        assert_eq!(ways(&[Reason::NoIdentity]), []);
        let used = Use { device: "none9".to_owned(), kind: UseKind::Mount, by: "/srv".to_owned() };
        assert_eq!(ways(&[data("none9"), Reason::InUse(used)]), []);
    }

    #[test]
    fn each_hint_is_said_once_and_what_makes_it_blank_last() {
        let data = |at| Reason::Data { device: "sdx".to_owned(), at: Bytes::new(at), looks: Looks::Same(1) };
        let reasons = [data(1), data(2), Reason::NoIdentity];
        let said = hints(&reasons, &ways("sdx", true, &reasons));
        assert_eq!(
            said.len(),
            2 + 1 + 2 + 1,
            "two hints, an introduction, two commands, a warning: {said:?}"
        );
        assert!(said[3].starts_with("  `blkdiscard /dev/sdx` destroys ") && said[5] == NOT_ENOUGH);
        assert_eq!(hints(&reasons, &[]), said[..2]);
    }
}
