//! The flat form: one row for each host and finding, the same columns for all.

use super::Entry;
use narrows_verdict::cohort::Change;
use narrows_verdict::cohort::{Found, Host, Link, Outlier};
use narrows_verdict::word;

/// The columns, in order.
pub const COLUMNS: [&str; 18] = [
    "record",
    "host",
    "vendor",
    "product",
    "board",
    "bios",
    "kernel",
    "change",
    "severity",
    "code",
    "confidence",
    "place",
    "subject",
    "hop",
    "state",
    "usual",
    "summary",
    "advice",
];

/// A row; a value that does not apply is empty.
///
/// `record` says what it is about: `finding`; `host` for a host without any finding; `unreadable`; `link` for a link that
/// runs at something else than in the earlier run; `outlier`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// The values, in the order of [`COLUMNS`].
    pub values: [Option<String>; COLUMNS.len()],
}

impl Row {
    fn of(record: &str, host: &Host) -> Self {
        let model = &host.model;
        let mut row = Self::default();
        row.put("record", Some(record.to_owned()));
        row.put("host", Some(host.host.clone()));
        row.put("vendor", model.vendor.clone());
        row.put("product", model.product.clone());
        row.put("board", model.board.clone());
        row.put("bios", host.bios.clone());
        row.put("kernel", host.kernel.clone());
        row
    }

    fn put(&mut self, column: &str, value: Option<String>) {
        let place = COLUMNS.iter().position(|name| *name == column);
        if let Some(slot) = place.and_then(|place| self.values.get_mut(place)) {
            *slot = value;
        }
    }

    /// The value of a column.
    pub fn get(&self, column: &str) -> Option<&str> {
        let place = COLUMNS.iter().position(|name| *name == column)?;
        self.values.get(place)?.as_deref()
    }

    fn finding(host: &Host, found: &Found, change: Option<Change>) -> Self {
        let mut row = Self::of("finding", host);
        row.put("change", change.map(word));
        row.put("severity", Some(word(found.severity)));
        row.put("code", Some(found.code.as_str()));
        row.put("confidence", Some(word(found.confidence)));
        row.put("place", Some(found.place.clone()));
        row.put("subject", Some(found.subject.clone()));
        row.put("hop", found.hop.clone());
        row.put("state", found.state.clone());
        row.put("summary", Some(found.summary.clone()));
        row.put("advice", found.advice.clone());
        row
    }

    fn link(host: &Host, link: &Link, before: Option<&String>) -> Self {
        let mut row = Self::of("link", host);
        row.put("change", Some(word(Change::Changed)));
        row.put("place", Some(link.place.clone()));
        row.put("subject", Some(link.address.clone()));
        row.put("state", link.state());
        row.put("usual", before.cloned());
        row.put("summary", Some(link_sentence(link, before.map(String::as_str))));
        row
    }

    /// An outlier. Of the host it repeats no more than its name and model.
    pub fn outlier(outlier: &Outlier) -> Self {
        let mut row = Self::default();
        row.put("record", Some("outlier".to_owned()));
        row.put("host", Some(outlier.host.clone()));
        row.put("product", Some(outlier.model.clone()));
        row.put("code", Some(outlier.aspect.clone()));
        row.put("place", outlier.place.clone());
        row.put("state", outlier.value.clone());
        row.put("usual", outlier.usual.clone());
        row.put("summary", Some(outlier_sentence(outlier)));
        row
    }
}

/// The rows of a host.
pub fn of(entry: &Entry<'_>) -> Vec<Row> {
    let host = entry.host;
    let change = || entry.change.map(word);
    if let Some(why) = &host.failure {
        let mut row = Row::of("unreadable", host);
        row.put("change", change());
        row.put("summary", Some(why.clone()));
        return vec![row];
    }
    let findings = host.findings.iter().enumerate();
    let mut rows: Vec<Row> =
        findings.map(|(index, found)| Row::finding(host, found, entry.of_finding(index))).collect();
    if let Some(changes) = entry.changes {
        rows.extend(changes.gone.iter().map(|found| Row::finding(host, found, Some(Change::Gone))));
        rows.extend(
            changes.links.iter().map(|changed| Row::link(host, &changed.link, changed.before.as_ref())),
        );
    }
    if rows.is_empty() {
        let mut row = Row::of("host", host);
        row.put("change", change());
        rows.push(row);
    }
    rows
}

/// `0000:3b:00.0 runs at 8 GT/s x4, before at 8 GT/s x8`.
pub(super) fn link_sentence(link: &Link, before: Option<&str>) -> String {
    let unknown = || "an unknown rate".to_owned();
    let (now, before) = (link.state().unwrap_or_else(unknown), before.map_or_else(unknown, str::to_owned));
    format!("{} runs at {now}, before at {before}", link.address)
}

/// `x8 where 409 of 412 PowerEdge R740xd have x16`.
pub(super) fn outlier_sentence(outlier: &Outlier) -> String {
    let Outlier { same, of, model, .. } = outlier;
    match (&outlier.value, &outlier.usual) {
        (Some(value), Some(usual)) => {
            format!("{} {value}, where {same} of {of} {model} have {usual}", aspect(&outlier.aspect))
        }
        (Some(_), None) => format!("{}, which {same} of {of} {model} do not have", outlier.aspect),
        (None, _) => format!("no {}, which {same} of {of} {model} have", outlier.aspect),
    }
}

fn aspect(word: &str) -> &str {
    match word {
        "link_width" => "link width",
        "link_speed" => "link speed",
        "bios" => "firmware",
        "cpu" => "processor",
        other => other,
    }
}
