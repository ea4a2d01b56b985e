//! Many hosts: what was found on each, the worst first.

use std::collections::BTreeMap;

use super::heat::{Cell, Heat, Legend, heat};
use super::picture;
use crate::figure::whole::{Data, Figure};
use narrows_base::lists::grouped;
use narrows_verdict::Severity;
use narrows_verdict::cohort::Host;

/// So many hosts are drawn; the table has all.
const MOST_ROWS: usize = 60;
/// So many kinds of findings.
const MOST_COLUMNS: usize = 12;

/// How many findings are faults, and how many are limits: one fault is worse than any number of limits.
type Badness = (usize, usize);

/// The findings of a host by their code.
type Counts = BTreeMap<String, Badness>;

fn sum<'b>(all: impl Iterator<Item = &'b Badness>) -> Badness {
    all.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// The findings of a host that are to be acted on.
fn counts(host: &Host) -> Counts {
    let mut counts = Counts::new();
    for found in host.findings.iter().filter(|found| found.counts()) {
        let (faults, limits) = counts.entry(found.code.as_str()).or_default();
        *(if found.severity == Severity::Fault { faults } else { limits }) += 1;
    }
    counts
}

/// The kinds of findings on hosts, the worst first.
fn kinds(rows: &[(&Host, Counts)]) -> Vec<String> {
    let all = grouped(rows.iter().flat_map(|(_, counts)| counts));
    let mut kinds: Vec<(Badness, &String)> =
        all.into_iter().map(|(code, each)| (sum(each.into_iter()), code)).collect();
    kinds.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    kinds.into_iter().map(|(_, code)| code.clone()).collect()
}

fn finding_cell(host: &str, code: &str, counts: &Counts) -> Cell {
    let Some((faults, limits)) = counts.get(code) else {
        return Cell { tip: format!("{host}: no {code}"), ..Cell::default() };
    };
    let (is_fault, count) = (*faults > 0, faults + limits);
    Cell {
        part: Some(if is_fault { 0.55 + 0.1 * count.min(4) as f64 } else { 0.3 }),
        shown: count.to_string(),
        tip: format!("{host}: {code}, {count}"),
        data: vec![("host", host.to_owned()), ("code", code.to_owned()), ("count", count.to_string())],
        is_marked: is_fault,
    }
}

/// Findings by host and kind, hosts with the worst first; `None` where there is no finding to act on.
pub fn fleet_heat(hosts: &[&Host]) -> Option<Figure> {
    let mut rows: Vec<(&Host, Counts)> = hosts.iter().map(|host| (*host, counts(host))).collect();
    rows.retain(|(_, counts)| !counts.is_empty());
    if rows.is_empty() {
        return None;
    }
    let worst = |counts: &Counts| std::cmp::Reverse(sum(counts.values()));
    rows.sort_by(|a, b| worst(&a.1).cmp(&worst(&b.1)).then_with(|| a.0.host.cmp(&b.0.host)));
    let mut kinds = kinds(&rows);
    kinds.truncate(MOST_COLUMNS);
    let mut data = Data::new(&["host", "finding", "how often#"]);
    for (host, counts) in &rows {
        for (code, (faults, limits)) in counts {
            data.push([host.host.clone(), code.clone(), (faults + limits).to_string()]);
        }
    }
    let columns: Vec<String> = kinds.iter().map(|code| code.replace('_', " ")).collect();
    let row = |(host, counts): &(&Host, Counts)| {
        (host.host.clone(), kinds.iter().map(|code| finding_cell(&host.host, code, counts)).collect())
    };
    let cells: Vec<(String, Vec<Cell>)> = rows.iter().take(MOST_ROWS).map(row).collect();
    let map = Heat {
        label: "Findings by host",
        tone: "warm",
        corner: "host",
        columns: &columns,
        rows: &cells,
        data: &[],
        legend: Legend {
            kinds: vec![(1, "limit by design")],
            frame: "fault, darker where there are more",
            notes: vec!["the number says how often", "the worst host is first"],
            ..Legend::default()
        },
    };
    let mut alternative =
        "How often each finding stands for each host, the worst host first. Framed cells are faults, the others limits."
            .to_owned();
    if cells.len() < rows.len() {
        alternative.push_str(&format!(" The {} worst of {} hosts are drawn.", cells.len(), rows.len()));
    }
    if rows.len() < hosts.len() {
        alternative.push_str(&format!(" The other {} hosts have none.", hosts.len() - rows.len()));
    }
    let pictures = vec![picture(|width| heat(width, &map))];
    let title = "Findings by host".to_owned();
    Some(Figure { id: "fleet-heat".to_owned(), title, alternative, pictures, data })
}
