//! One row for each host and run, for a spreadsheet and for queries.

use super::{FleetRunReport, HostView, PointView};
use crate::csv::{put_row, shown};
use narrows_base::units::BytesPerSec;
use narrows_verdict::word;

/// The columns, in order. `docs/fleet-sql.md` has what each means; a later version adds columns at the end only.
const COLUMNS: [&str; 21] = [
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
    "is_proof",
    "start_ns",
    "window_ns",
    "limit",
];

/// The whole as text.
pub fn render(report: &FleetRunReport) -> String {
    let mut out = COLUMNS.join(",") + "\n";
    for (number, point) in (1..).zip(&report.points) {
        for host in &point.hosts {
            put_row(&mut out, &row(number, point, host));
        }
    }
    out
}

/// A value that is not known or does not apply is empty.
fn row(number: usize, point: &PointView, host: &HostView) -> [String; COLUMNS.len()] {
    let load = &point.load;
    let rate = |rate: Option<BytesPerSec>| shown(rate.map(|rate| rate.get().round() as i64));
    [
        number.to_string(),
        host.host.clone(),
        word(host.state),
        host.reason.clone().unwrap_or_default(),
        load.block_size.get().to_string(),
        load.depth.to_string(),
        load.jobs.to_string(),
        load.read_percent.to_string(),
        load.is_random.to_string(),
        shown(host.began_after_ns),
        host.overlap.map(|share| format!("{share:.4}")).unwrap_or_default(),
        rate(host.read_bytes_per_second),
        rate(host.write_bytes_per_second),
        host.ios.to_string(),
        shown(host.p50.map(|time| time.get())),
        shown(host.p99.map(|time| time.get())),
        point.outliers.iter().any(|outlier| outlier.host == host.host).to_string(),
        point.proof.is_some().to_string(),
        point.start_ns.to_string(),
        shown(point.window_ns.map(|window| window.get())),
        word(point.verdict.limit.kind),
    ]
}
