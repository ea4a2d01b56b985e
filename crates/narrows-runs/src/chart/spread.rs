//! Many hosts: the rate of each over time, the slowest first.

use crate::fleet_run::{FleetRunReport, HostView, PointView, describe, total};
use narrows_base::units::{BytesPerSec, human};
use narrows_report::figure::chart::{Cell, Heat, Legend, RowData, heat, picture, rate};
use narrows_report::figure::{Data, Figure};
use narrows_verdict::word;

/// So many hosts are drawn; the table has all.
const MOST_ROWS: usize = 60;

/// Rates of hosts over time, the slowest host first: a figure for each run that has them.
pub(crate) fn fleet_rates(report: &FleetRunReport) -> Vec<Figure> {
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
    let part = |rate: &BytesPerSec| if most > 0.0 { rate.get() / most } else { 0.0 };
    let cell = |rate: &BytesPerSec| Cell { part: Some(part(rate)), ..Cell::default() };
    let row = |host: &&HostView| (host.host.clone(), host.series.iter().map(cell).collect());
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
    let title = format!("Hosts over time: {}", describe(&point.load));
    let alternative = format!(
        "The rate of each host in parts of {step:.1} s, the slowest host first; the darkest is {}.{more} {}",
        rate(most),
        point.verdict.sentence
    );
    let pictures = vec![picture(|width| heat(width, &map))];
    Some(Figure { id: format!("fleet-rates-{}", at + 1), title, alternative, pictures, data })
}
