//! The fleet for a person: one line for each host and finding, then what hosts have in common, who differs, and the sum.

use super::row::{link_sentence, outlier_sentence, severity};
use super::{Change, Entry};
use crate::text::{Line, Style, Tone, fit, paragraph};
use narrows_verdict::Severity;
use narrows_verdict::cohort::{Found, Group, Outlier, Summary};

/// The most groups and outliers that are shown; JSON lines have all.
const MOST: usize = 40;

/// The widths of the columns: severity with the space behind it, place likewise.
const WIDTHS: (usize, usize) = (8, 16);

/// How the lines of hosts look.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    style: Style,
    /// The width of the first column, with the space behind it.
    host: usize,
}

impl Layout {
    /// A layout for hosts whose names have at most `longest` characters. A name gets no more than a third of the page.
    pub fn new(style: Style, longest: usize) -> Self {
        Self { style, host: longest.clamp(8, (style.width / 3).max(8)) + 2 }
    }

    /// How the text may look.
    pub const fn style(&self) -> &Style {
        &self.style
    }
}

/// The lines of a host. What is only good to know is left out here, and so are hosts without anything else.
pub fn host(layout: &Layout, entry: &Entry<'_>) -> String {
    let mut out = String::new();
    let name = &entry.host.host;
    if let Some(why) = &entry.host.failure {
        put(&mut out, layout, name, (Tone::Faint, "unread"), "", why);
        return out;
    }
    if entry.change == Some(Change::Gone) {
        put(&mut out, layout, name, (Tone::Faint, "gone"), "", "there is no capture of this host any more");
        return out;
    }
    for (index, found) in entry.host.findings.iter().enumerate() {
        match entry.of_finding(index) {
            _ if !found.counts() => {}
            Some(Change::Same) => {}
            change => put_found(&mut out, layout, name, found, change),
        }
    }
    if let Some(changes) = entry.changes {
        for found in changes.gone.iter().filter(|found| found.counts()) {
            put_found(&mut out, layout, name, found, Some(Change::Gone));
        }
        for changed in &changes.links {
            let text = link_sentence(&changed.link, changed.before.as_deref());
            put(&mut out, layout, name, (Tone::Warn, "link"), &changed.link.place, &text);
        }
    }
    out
}

fn put_found(out: &mut String, layout: &Layout, host: &str, found: &Found, change: Option<Change>) {
    let tone = match (found.severity, change) {
        (_, Some(Change::Gone)) => Tone::Good,
        (Severity::Fault, _) => Tone::Bad,
        (Severity::Limit, _) => Tone::Warn,
        (Severity::Info, _) => Tone::Faint,
    };
    // The end may not fit: first what it is, then the words.
    let mut text = found.code.as_str();
    if let Some(change) = change {
        text = format!("{} {text}", change.as_str());
    }
    if let Some(state) = &found.state {
        text.push_str(&format!(", {state}"));
    }
    text.push_str(&format!(": {}", found.summary));
    put(out, layout, host, (tone, severity(found.severity)), &found.place, &text);
}

fn put(out: &mut String, layout: &Layout, host: &str, (tone, word): (Tone, &str), place: &str, text: &str) {
    let style = &layout.style;
    let (severity, at, what) = (layout.host, layout.host + WIDTHS.0, layout.host + WIDTHS.0 + WIDTHS.1);
    let mut line = Line::new(style);
    line.put(Tone::Normal, &fit(style, host, severity - 2)).pad_to(severity);
    line.put(tone, word).pad_to(at);
    line.put(Tone::Normal, &fit(style, place, WIDTHS.1 - 2)).pad_to(what);
    line.put(Tone::Normal, &fit(style, text, style.width.saturating_sub(what)));
    line.end(out);
}

/// What stands below the hosts.
pub fn foot(style: &Style, groups: &[Group], outliers: &[Outlier], summary: &Summary) -> String {
    let mut out = String::new();
    list(
        &mut out,
        style,
        "In common",
        groups.iter().map(|group| (tone(group.severity), group_sentence(group))),
    );
    list(
        &mut out,
        style,
        "Unlike the others of their model",
        outliers.iter().map(|outlier| {
            let place = outlier.place.as_ref().map(|place| format!(" {place}:")).unwrap_or_default();
            (Tone::Normal, format!("{}:{place} {}", outlier.host, outlier_sentence(outlier)))
        }),
    );
    sum(&mut out, style, summary);
    out
}

const fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Fault => Tone::Bad,
        Severity::Limit | Severity::Info => Tone::Warn,
    }
}

/// `37 of 412 PowerEdge R740xd have slot 3 at 8 GT/s x4 (slot_limited)`.
fn group_sentence(group: &Group) -> String {
    let model = group.model.as_deref().unwrap_or("hosts of unknown model");
    let code = group.code.as_str();
    let (affected, of, place) = (group.affected, group.of, &group.place);
    match &group.state {
        Some(state) => format!("{affected} of {of} {model} have {place} at {state} ({code})"),
        None => format!("{affected} of {of} {model} have {code} at {place}"),
    }
}

fn list(out: &mut String, style: &Style, title: &str, lines: impl ExactSizeIterator<Item = (Tone, String)>) {
    let more = lines.len().saturating_sub(MOST);
    if lines.len() == 0 {
        return;
    }
    out.push('\n');
    paragraph(out, style, (Tone::Strong, ""), Tone::Strong, title);
    for (tone, text) in lines.take(MOST) {
        paragraph(out, style, (tone, "  - "), Tone::Normal, &text);
    }
    if more > 0 {
        let text = format!("  and {more} more; `--format jsonl` has them all");
        paragraph(out, style, (Tone::Faint, "  "), Tone::Faint, text.trim_start());
    }
}

fn sum(out: &mut String, style: &Style, summary: &Summary) {
    let Summary { hosts, unreadable, with_faults, with_limits, clean, infos, models } = *summary;
    let count =
        |number: usize, one: &str, many: &str| format!("{number} {}", if number == 1 { one } else { many });
    let mut parts = vec![
        count(hosts, "host", "hosts"),
        count(models, "model", "models"),
        format!("{with_faults} with faults"),
        format!("{with_limits} with limits only"),
        format!("{clean} with neither"),
    ];
    if unreadable > 0 {
        parts.push(format!("{unreadable} could not be read"));
    }
    out.push('\n');
    paragraph(out, style, (Tone::Strong, ""), Tone::Strong, &parts.join(" · "));
    if infos > 0 {
        let text =
            format!("{} not shown here; `--format csv` has them.", count(infos, "note is", "notes are"));
        paragraph(out, style, (Tone::Faint, ""), Tone::Faint, &text);
    }
}
