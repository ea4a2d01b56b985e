//! The fleet for a person: one line for each host and finding, then what hosts have in common, who differs, and the sum.

use super::row::{link_sentence, outlier_sentence};
use super::{Change, Entry, Record};
use crate::document::{Block, Blocks, Cell, Column, Document, Place, Style, Table, Tone, Width};
use crate::figure::chart;
use narrows_base::lists::known_of;
use narrows_base::units::human;
use narrows_verdict::cohort::{Found, Group, Outlier, Summary};
use narrows_verdict::{Severity, word};

/// The most groups and outliers that are shown; JSON lines have all.
const MOST: usize = 40;

/// The widths of the columns behind the host: severity and place.
const WIDTHS: (usize, usize) = (6, 14);

/// The most rows of a page: those of the worst hosts; JSON lines have all.
const MOST_ROWS: usize = 375;

/// How the lines of hosts look.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    style: Style,
    /// The width of the first column.
    host: usize,
}

impl Layout {
    /// A layout for hosts whose names have at most `longest` characters. A name gets no more than a third of the page.
    pub fn new(style: Style, longest: usize) -> Self {
        Self { style, host: longest.clamp(8, (style.width / 3).max(8)) }
    }

    /// How the text may look.
    pub const fn style(&self) -> &Style {
        &self.style
    }
}

/// The lines of a host. What is only good to know is left out here, and so are hosts without anything else.
pub fn host(layout: &Layout, entry: &Entry<'_>) -> String {
    let mut out = Document::default();
    let mut table = table(layout.host).untitled();
    let mut records = entry.records();
    if entry.host.failure.is_some() || entry.change == Some(Change::Gone) {
        records.truncate(1);
    }
    records.iter().for_each(|record| _ = put_record(&mut table, record));
    out.add(Block::Table(table));
    out.text(&layout.style)
}

fn table(host: usize) -> Table {
    let columns = vec![
        Column::name("host", Width::Fixed(host)),
        Column::left("", Width::Fixed(WIDTHS.0)),
        Column::left("place", Width::Fixed(WIDTHS.1)),
        Column::left("what", Width::Rest(8)),
    ];
    Table::new("Hosts and what was found on them", 0, columns)
}

fn put_found(table: &mut Table, host: &str, found: &Found, change: Option<Change>) {
    let tone = match (found.severity, change) {
        (_, Some(Change::Gone)) => Tone::Good,
        (Severity::Fault, _) => Tone::Bad,
        (Severity::Limit, _) => Tone::Warn,
        (Severity::Info, _) => Tone::Faint,
    };
    // The end may not fit: first what it is, then the words.
    let change = change.map(|change| format!("{} ", word(change))).unwrap_or_default();
    let state = found.state.as_ref().map(|state| format!(", {state}")).unwrap_or_default();
    let text = format!("{change}{}{state}: {}", found.code.as_str(), found.summary);
    put(table, host, (tone, &word(found.severity)), &found.place, &text);
}

fn put(table: &mut Table, host: &str, (tone, word): (Tone, &str), place: &str, text: &str) {
    table.row(vec![Cell::text(host), Cell::toned(tone, word), Cell::text(place), Cell::text(text)]);
}

/// A fleet as a document, from the lines of `--json`: what hosts have in common, who differs, then hosts, the worst
/// first.
pub fn document(records: &[Record]) -> Document {
    let mut out = Document::new("--fleet", "", None);
    let (mut groups, mut outliers, mut summary) = (Vec::new(), Vec::new(), Summary::default());
    let mut hosts: Vec<(usize, Vec<Vec<Cell>>)> = Vec::new();
    for record in records {
        match record {
            Record::Fleet { tool, .. } => out.tool = format!("{} {}", tool.name, tool.version),
            Record::Host { .. } => hosts.push((0, Vec::new())),
            Record::Group(group) => groups.push(group.clone()),
            Record::Outlier(outlier) => outliers.push(outlier.clone()),
            Record::Summary(sum) => summary = *sum,
            Record::Finding { .. } | Record::LinkChange { .. } => {}
        }
        let mut table = Table::default();
        let worth = put_record(&mut table, record);
        if let Some((sum, rows)) = hosts.last_mut() {
            *sum += worth;
            rows.extend(table.rows.into_iter().map(|row| row.cells));
        }
    }
    out.subject = format!("{} hosts", summary.hosts);
    put_foot(&mut out, &groups, &outliers, &summary);
    hosts.retain(|(_, rows)| !rows.is_empty());
    // Hosts that are as bad as each other stand in the order of their names.
    hosts.sort_by_key(|(worth, _)| std::cmp::Reverse(*worth));
    out.part(Place::Data, "Hosts, the worst first");
    let mut table = table(20);
    let (mut more, mut room) = (0, MOST_ROWS);
    for (_, rows) in hosts {
        let (is_whole, is_first) = (rows.len() <= room, table.rows.is_empty());
        more += usize::from(!is_whole);
        // A host is shown whole or not at all, unless it alone has more rows than are shown.
        let shown = if is_whole || is_first { rows.len().min(room) } else { 0 };
        room = if is_whole { room - shown } else { 0 };
        rows.into_iter().take(shown).for_each(|row| table.row(row));
    }
    out.gap();
    out.add(Block::Table(table));
    if more > 0 {
        let text = format!("what was found on {more} more hosts is left out; `--json` has it all");
        out.say(0, Tone::Faint, text);
    }
    let known = super::hosts(records);
    out.figures(Place::Charts, chart::fleet_heat(&known.iter().collect::<Vec<_>>()));
    out
}

/// Puts the row of a record, if it has one, and says how bad it is.
fn put_record(table: &mut Table, record: &Record) -> usize {
    match record {
        Record::Host { host, change } => {
            let (word, why, worth) = match (&host.failure, change) {
                (Some(why), _) => ("unread", why.as_str(), 1),
                (None, Some(Change::Gone)) => ("gone", "there is no capture of this host any more", 0),
                (None, _) => return 0,
            };
            put(table, &host.host, (Tone::Faint, word), "", why);
            worth
        }
        Record::Finding { host, found, change } if found.counts() && *change != Some(Change::Same) => {
            put_found(table, host, found, *change);
            match (found.severity, change) {
                (_, Some(Change::Gone)) => 0,
                (Severity::Fault, _) => 100,
                _ => 10,
            }
        }
        Record::LinkChange { host, link, before } => {
            put(table, host, (Tone::Warn, "link"), &link.place, &link_sentence(link, before.as_deref()));
            10
        }
        _ => 0,
    }
}

/// What stands below the hosts.
pub fn foot(style: &Style, groups: &[Group], outliers: &[Outlier], summary: &Summary) -> String {
    let mut out = Document::default();
    put_foot(&mut out, groups, outliers, summary);
    out.text(style)
}

fn put_foot(out: &mut Document, groups: &[Group], outliers: &[Outlier], summary: &Summary) {
    let groups = groups.iter().map(|group| {
        let tone = if group.severity == Severity::Fault { Tone::Bad } else { Tone::Warn };
        (tone, group_sentence(group))
    });
    list(out, "In common", groups);
    let outliers = outliers.iter().map(|outlier| {
        let place = outlier.place.as_ref().map(|place| format!(" {place}:")).unwrap_or_default();
        (Tone::Normal, format!("{}:{place} {}", outlier.host, outlier_sentence(outlier)))
    });
    list(out, "Unlike the others of their model", outliers);
    out.part(Place::Verdict, "");
    sum(out, summary);
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

fn list(out: &mut Document, title: &str, lines: impl ExactSizeIterator<Item = (Tone, String)>) {
    let all = lines.len();
    if all > 0 {
        out.section(Place::Findings, title);
    }
    lines.take(MOST).for_each(|(tone, text)| out.lead((tone, "  - "), Tone::Normal, text));
    if let Some(more @ 1..) = all.checked_sub(MOST) {
        out.say(2, Tone::Faint, format!("and {more} more; `--json` has them all"));
    }
}

fn sum(out: &mut Document, summary: &Summary) {
    let Summary { hosts, unreadable, with_faults, with_limits, clean, infos, models } = *summary;
    let parts = [
        Some(human::counted(hosts, "host")),
        Some(human::counted(models, "model")),
        Some(format!("{with_faults} with faults")),
        Some(format!("{with_limits} with limits only")),
        Some(format!("{clean} with neither")),
        (unreadable > 0).then(|| format!("{unreadable} could not be read")),
    ];
    out.gap();
    out.say(0, Tone::Strong, known_of(parts, " · "));
    if infos > 0 {
        let (notes, verb) = (human::counted(infos, "note"), if infos == 1 { "is" } else { "are" });
        out.say(0, Tone::Faint, format!("{notes} {verb} not shown here; `--csv` has them."));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::page;
    use narrows_verdict::cohort::Host;
    use narrows_verdict::{Code, Confidence};

    fn records(hosts: usize) -> Vec<Record> {
        let mut records = vec![Record::head(None)];
        for number in 0..hosts {
            let host = format!("node{number:05}");
            let known = Host { host: host.clone(), ..Host::default() };
            records.push(Record::Host { host: Box::new(known), change: None });
            for place in 0..3 {
                let found = Found {
                    code: Code::SlotLimited,
                    severity: if number == 7 { Severity::Fault } else { Severity::Limit },
                    confidence: Confidence::High,
                    place: format!("slot {place}"),
                    subject: "0000:3b:00.0".to_owned(),
                    hop: None,
                    state: Some("8 GT/s x4".to_owned()),
                    summary: "The slot gives the drive 4 of its 8 lanes, so that it reads 3.94 GB/s at most"
                        .to_owned(),
                    advice: None,
                };
                records.push(Record::Finding { host: host.clone(), found: Box::new(found), change: None });
            }
        }
        records.push(Record::Summary(Summary { hosts, ..Summary::default() }));
        records
    }

    #[test]
    fn the_worst_host_comes_first_and_a_page_stays_small() {
        let page = page(&[document(&records(2000))]);
        assert!(page.len() < 300_000, "{} bytes", page.len());
        let first = page.find("node0").map(|at| page[at..].chars().take(9).collect::<String>());
        assert_eq!(first.as_deref(), Some("node00007"));
        assert!(page.contains("what was found on 1875 more hosts is left out"), "{page}");
    }
}
