//! Many hosts: what was found on each, the worst first.

use std::collections::BTreeMap;

use super::heat::{Cell, heat};
use super::picture;
use crate::figure::whole::{Data, Figure};
use narrows_verdict::Severity;
use narrows_verdict::cohort::Host;

/// So many hosts are drawn; the table has all.
const MOST_ROWS: usize = 60;
/// So many kinds of findings.
const MOST_COLUMNS: usize = 12;

/// Findings of one code: how many, and the weight of the worst.
type Counts = BTreeMap<String, (usize, usize)>;

const fn weight(severity: Severity) -> usize {
    match severity {
        Severity::Fault => 100,
        Severity::Limit => 10,
        Severity::Info => 0,
    }
}

/// Findings by host and kind, hosts with the worst first; `None` where there is no finding to act on.
pub fn fleet_heat(hosts: &[&Host]) -> Option<Figure> {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    let counts = |host: &Host| {
        let mut counts: Counts = BTreeMap::new();
        for found in host.findings.iter().filter(|found| found.counts()) {
            let entry = counts.entry(found.code.as_str()).or_default();
            entry.0 += 1;
            entry.1 = entry.1.max(weight(found.severity));
        }
        counts
    };
    let mut rows: Vec<(&Host, Counts)> = hosts.iter().map(|host| (*host, counts(host))).collect();
    for (code, (count, worst)) in rows.iter().flat_map(|(_, counts)| counts) {
        *kinds.entry(code.clone()).or_default() += count * worst;
    }
    if kinds.is_empty() {
        return None;
    }
    let mut kinds: Vec<(String, usize)> = kinds.into_iter().collect();
    kinds.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    kinds.truncate(MOST_COLUMNS);
    let badness = |counts: &BTreeMap<String, (usize, usize)>| {
        counts.values().map(|(count, worst)| count * worst).sum::<usize>()
    };
    rows.sort_by(|a, b| badness(&b.1).cmp(&badness(&a.1)).then_with(|| a.0.host.cmp(&b.0.host)));
    let mut data = Data::new(&["host", "finding", "how often#"]);
    for (host, counts) in &rows {
        for (code, (count, _)) in counts {
            data.push([host.host.clone(), code.clone(), count.to_string()]);
        }
    }
    let columns: Vec<String> = kinds.iter().map(|(code, _)| code.replace('_', " ")).collect();
    let cells: Vec<(String, Vec<Cell>)> = rows
        .iter()
        .take(MOST_ROWS)
        .map(|(host, counts)| {
            let of = |code: &String| match counts.get(code) {
                Some((count, worst)) => Cell {
                    part: Some(if *worst >= 100 { 0.55 + 0.1 * (*count).min(4) as f64 } else { 0.3 }),
                    shown: count.to_string(),
                    tip: format!("{}: {code}, {count}", host.host),
                    data: vec![
                        ("host", host.host.clone()),
                        ("code", code.clone()),
                        ("count", count.to_string()),
                    ],
                    is_marked: *worst >= 100,
                },
                None => Cell { tip: format!("{}: no {code}", host.host), ..Cell::default() },
            };
            (host.host.clone(), kinds.iter().map(|(code, _)| of(code)).collect())
        })
        .collect();
    let shown = cells.len();
    let more = if rows.len() > shown {
        format!(" The {shown} worst of {} hosts are drawn.", rows.len())
    } else {
        String::new()
    };
    Some(Figure {
        id: "fleet-heat".to_owned(),
        title: "Findings by host".to_owned(),
        alternative: format!(
            "How often each finding stands for each host, the worst host first. Framed cells are faults, the others limits.{more}"
        ),
        pictures: vec![picture(|width| heat(width, "Findings by host", "warm", ("host", &columns), &cells))],
        data,
    })
}
