//! One row for each host and run, for a spreadsheet.

use super::FleetRunReport;
use crate::csv::put_row;
use narrows_verdict::fleet::record::State;

/// The columns.
pub const COLUMNS: [&str; 17] = [
    "point",
    "host",
    "state",
    "reason",
    "block_size",
    "depth",
    "jobs",
    "read_percent",
    "random",
    "began_after_ns",
    "overlap",
    "read_bytes_per_second",
    "write_bytes_per_second",
    "ios",
    "p50_ns",
    "p99_ns",
    "is_outlier",
];

/// The whole as text.
pub fn render(report: &FleetRunReport) -> String {
    let mut out = COLUMNS.join(",") + "\n";
    for (number, point) in report.points.iter().enumerate() {
        let load = &point.load;
        for host in &point.hosts {
            let text = |value: Option<String>| value.unwrap_or_default();
            let is_outlier = point.outliers.iter().any(|outlier| outlier.host == host.host);
            let cells = [
                (number + 1).to_string(),
                host.host.clone(),
                State::as_str(host.state).to_owned(),
                text(host.reason.clone()),
                load.block_size.get().to_string(),
                load.depth.to_string(),
                load.jobs.to_string(),
                load.read_percent.to_string(),
                load.is_random.to_string(),
                text(host.began_after_ns.map(|after| after.to_string())),
                text(host.overlap.map(|overlap| format!("{overlap:.4}"))),
                text(host.read_bytes_per_second.map(|rate| format!("{:.0}", rate.get()))),
                text(host.write_bytes_per_second.map(|rate| format!("{:.0}", rate.get()))),
                host.ios.to_string(),
                text(host.p50.map(|time| time.get().to_string())),
                text(host.p99.map(|time| time.get().to_string())),
                is_outlier.to_string(),
            ];
            put_row(&mut out, &cells);
        }
    }
    out
}
