//! The flat form: one row for each host and finding, the same columns for all, as comma-separated values (RFC 4180, with line feeds
//! alone).

use std::collections::BTreeMap;

use super::{Entry, Record};
use crate::csv;
use narrows_verdict::cohort::{Change, Found, Host, Link, Outlier};
use narrows_verdict::word;

/// The first line: the names of the columns, in order.
pub const HEAD: &str = "record,host,vendor,product,board,bios,kernel,change,severity,code,confidence,place,subject,\
    hop,state,usual,summary,advice\n";

fn columns() -> impl Iterator<Item = &'static str> {
    HEAD.trim_end().split(',')
}

/// A row by column; a value that does not apply is not in it.
///
/// `record` says what it is about: `finding`; `host` for a host without any finding; `unreadable`; `link` for a link that
/// runs at something else than in the earlier run; `outlier`.
pub type Row = BTreeMap<&'static str, String>;

/// A row as a line that a spreadsheet shows and never computes.
pub fn line(row: &Row) -> String {
    csv::line(columns().map(|column| row.get(column).map(|value| csv::cell(value)).unwrap_or_default()))
}

fn known(values: impl IntoIterator<Item = (&'static str, Option<String>)>) -> Row {
    values.into_iter().filter_map(|(column, value)| Some((column, value?))).collect()
}

/// What is said of a host, behind what it is.
fn about<const N: usize>(record: &str, host: &Host, more: [(&'static str, Option<String>); N]) -> Row {
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
    known(about.into_iter().chain(more))
}

fn finding(host: &Host, found: &Found, change: Option<Change>) -> Row {
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
    about("finding", host, more)
}

fn link(host: &Host, link: &Link, before: Option<&String>) -> Row {
    let more = [
        ("change", Some(word(Change::Changed))),
        ("place", Some(link.place.clone())),
        ("subject", Some(link.address.clone())),
        ("state", link.state()),
        ("usual", before.cloned()),
        ("summary", Some(link_sentence(link, before.map(String::as_str)))),
    ];
    about("link", host, more)
}

/// An outlier. Of the host it repeats no more than its name and model.
pub fn outlier(outlier: &Outlier) -> Row {
    known([
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

/// The rows of a host.
pub fn of(entry: &Entry<'_>) -> Vec<Row> {
    let host = entry.host;
    let alone = |record, why: Option<&String>| {
        vec![about(record, host, [("change", entry.change.map(word)), ("summary", why.cloned())])]
    };
    if host.failure.is_some() {
        return alone("unreadable", host.failure.as_ref());
    }
    let rows = entry.records().into_iter().filter_map(|record| match record {
        Record::Finding { found, change, .. } => Some(finding(host, &found, change)),
        Record::LinkChange { link, before, .. } => Some(self::link(host, &link, before.as_ref())),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sanitize::one_line;
    use proptest::prelude::*;

    /// Reads one line of RFC 4180 back, by a machine of its own.
    fn parse(line: &str) -> Vec<String> {
        let mut cells = vec![String::new()];
        let mut is_quoted = false;
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            let cell = cells.last_mut().expect("there is a cell");
            match c {
                '"' if is_quoted && chars.peek() == Some(&'"') => {
                    chars.next();
                    cell.push('"');
                }
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => cells.push(String::new()),
                c => cell.push(c),
            }
        }
        cells
    }

    #[test]
    fn the_head_names_every_column_once() {
        let unique: std::collections::BTreeSet<&str> = columns().collect();
        assert_eq!(unique.len(), columns().count());
    }

    proptest! {
        #[test]
        fn every_row_reads_back_in_its_inert_form(texts in prop::collection::vec(any::<Option<String>>(), columns().count())) {
            let row = known(columns().zip(texts.clone()));
            let text = line(&row);
            let cells = parse(text.strip_suffix('\n').expect("ends its line"));
            prop_assert_eq!(cells.len(), columns().count());
            for (cell, value) in cells.iter().zip(&texts) {
                let value = one_line(value.as_deref().unwrap_or_default());
                prop_assert!(*cell == value || *cell == format!("'{value}"), "{cell} {value}");
            }
        }
    }
}
