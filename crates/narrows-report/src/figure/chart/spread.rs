//! Many hosts: what was found on each, the worst first.

use std::collections::BTreeMap;

use super::heat::{Cell, Heat, Legend, RowData, heat};
use super::{picture, rate};
use crate::figure::whole::{Data, Figure};
use crate::fleet_run::{FleetRunReport, HostView, PointView, describe, total};
use narrows_base::lists::grouped;
use narrows_base::units::{BytesPerSec, human};
use narrows_verdict::cohort::Host;
use narrows_verdict::{Severity, word};

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
    let mut more = match rows.len() - cells.len() {
        0 => String::new(),
        _ => format!(" The {} worst of {} hosts are drawn.", cells.len(), rows.len()),
    };
    if rows.len() < hosts.len() {
        more.push_str(&format!(" The other {} hosts have none.", hosts.len() - rows.len()));
    }
    Some(Figure {
        id: "fleet-heat".to_owned(),
        title: "Findings by host".to_owned(),
        alternative: format!(
            "How often each finding stands for each host, the worst host first. Framed cells are faults, the others limits.{more}"
        ),
        pictures: vec![picture(|width| heat(width, &map))],
        data,
    })
}

/// Rates of hosts over time, the slowest host first: a figure for each run that has them.
pub fn fleet_rates(report: &FleetRunReport) -> Vec<Figure> {
    report.points.iter().enumerate().filter_map(|(at, point)| rates_of(point, at)).collect()
}

fn rates_of(point: &PointView, at: usize) -> Option<Figure> {
    let mut hosts: Vec<&HostView> = point.hosts.iter().filter(|host| !host.series.is_empty()).collect();
    let parts = hosts.iter().map(|host| host.series.len()).max()?;
    let mean = |host: &HostView| total(host).map_or(0.0, BytesPerSec::get);
    hosts.sort_by(|a, b| mean(a).total_cmp(&mean(b)).then_with(|| a.host.cmp(&b.host)));
    let most = hosts.iter().flat_map(|host| &host.series).map(|rate| rate.get()).fold(0.0, f64::max);
    let step = point.window_ns?.as_secs_f64() / parts as f64;
    let columns: Vec<String> = (0..parts).map(|part| format!("{:.0} s", part as f64 * step)).collect();
    let mut data = Data::new(&["host", "state", "rate#", "slowest part#", "fastest part#"]);
    for host in &hosts {
        let ends = |of: fn(f64, f64) -> f64, start| host.series.iter().map(|rate| rate.get()).fold(start, of);
        data.push([
            host.host.clone(),
            word(host.state),
            total(host).map(human::rate).unwrap_or_default(),
            rate(ends(f64::min, f64::INFINITY)),
            rate(ends(f64::max, 0.0)),
        ]);
    }
    let row = |host: &&HostView| {
        let cell = |rate: &BytesPerSec| Cell {
            part: Some(if most > 0.0 { rate.get() / most } else { 0.0 }),
            ..Cell::default()
        };
        (host.host.clone(), host.series.iter().map(cell).collect::<Vec<_>>())
    };
    let rows: Vec<(String, Vec<Cell>)> = hosts.iter().take(MOST_ROWS).map(row).collect();
    let more = match hosts.len() - rows.len() {
        0 => String::new(),
        _ => format!(" The {} slowest of {} hosts are drawn.", rows.len(), hosts.len()),
    };
    // One attribute for each host holds its values: thousands of cells with their own would make the page large.
    let written = hosts.iter().take(MOST_ROWS).map(|host| {
        let values: Vec<String> = host.series.iter().map(|rate| format!("{}", rate.get())).collect();
        vec![("host", host.host.clone()), ("series", values.join(" "))]
    });
    let written: Vec<RowData> = written.collect();
    let map = Heat {
        label: "Rates of hosts over time",
        tone: "cool",
        corner: "host",
        columns: &columns,
        rows: &rows,
        data: &written,
        legend: Legend {
            scale: Some(["0".to_owned(), rate(most)]),
            notes: vec!["the slowest host is first"],
            ..Legend::default()
        },
    };
    Some(Figure {
        id: format!("fleet-rates-{}", at + 1),
        title: format!("Hosts over time: {}", describe(&point.load)),
        alternative: format!(
            "The rate of each host in parts of {step:.1} s, the slowest host first; the darkest is {}.{more} {}",
            rate(most),
            point.verdict.sentence
        ),
        pictures: vec![picture(|width| heat(width, &map))],
        data,
    })
}
