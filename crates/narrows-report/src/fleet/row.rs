//! The flat form: one row for each host and finding, the same columns for all.

use super::{Entry, Record};
use narrows_verdict::cohort::{Change, Found, Host, Link, Outlier};
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
    fn new(values: impl IntoIterator<Item = (&'static str, Option<String>)>) -> Self {
        let mut row = Self::default();
        for (column, value) in values {
            let place = COLUMNS.iter().position(|name| *name == column);
            if let Some(slot) = place.and_then(|place| row.values.get_mut(place)) {
                *slot = value;
            }
        }
        row
    }

    /// What is said of a host, behind what it is.
    fn of<const N: usize>(record: &str, host: &Host, more: [(&'static str, Option<String>); N]) -> Self {
        let model = &host.model;
        let about = [
            ("record", Some(record.to_owned())),
            ("host", Some(host.host.clone())),
            ("vendor", model.vendor.clone()),
            ("product", model.product.clone()),
            ("board", model.board.clone()),
            ("bios", host.bios.clone()),
            ("kernel", host.kernel.clone()),
        ];
        Self::new(about.into_iter().chain(more))
    }

    fn finding(host: &Host, found: &Found, change: Option<Change>) -> Self {
        let more = [
            ("change", change.map(word)),
            ("severity", Some(word(found.severity))),
            ("code", Some(found.code.as_str())),
            ("confidence", Some(word(found.confidence))),
            ("place", Some(found.place.clone())),
            ("subject", Some(found.subject.clone())),
            ("hop", found.hop.clone()),
            ("state", found.state.clone()),
            ("summary", Some(found.summary.clone())),
            ("advice", found.advice.clone()),
        ];
        Self::of("finding", host, more)
    }

    fn link(host: &Host, link: &Link, before: Option<&String>) -> Self {
        let more = [
            ("change", Some(word(Change::Changed))),
            ("place", Some(link.place.clone())),
            ("subject", Some(link.address.clone())),
            ("state", link.state()),
            ("usual", before.cloned()),
            ("summary", Some(link_sentence(link, before.map(String::as_str)))),
        ];
        Self::of("link", host, more)
    }

    /// An outlier. Of the host it repeats no more than its name and model.
    pub fn outlier(outlier: &Outlier) -> Self {
        Self::new([
            ("record", Some("outlier".to_owned())),
            ("host", Some(outlier.host.clone())),
            ("product", Some(outlier.model.clone())),
            ("code", Some(outlier.aspect.clone())),
            ("place", outlier.place.clone()),
            ("state", outlier.value.clone()),
            ("usual", outlier.usual.clone()),
            ("summary", Some(outlier_sentence(outlier))),
        ])
    }
}

/// The rows of a host.
pub fn of(entry: &Entry<'_>) -> Vec<Row> {
    let host = entry.host;
    let alone = |record, why: Option<&String>| {
        vec![Row::of(record, host, [("change", entry.change.map(word)), ("summary", why.cloned())])]
    };
    if host.failure.is_some() {
        return alone("unreadable", host.failure.as_ref());
    }
    let rows = entry.records().into_iter().filter_map(|record| match record {
        Record::Finding { found, change, .. } => Some(Row::finding(host, &found, change)),
        Record::LinkChange { link, before, .. } => Some(Row::link(host, &link, before.as_ref())),
        _ => None,
    });
    let rows: Vec<Row> = rows.collect();
    if rows.is_empty() { alone("host", None) } else { rows }
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
