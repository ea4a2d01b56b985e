//! One row for each host and run, for a spreadsheet and for queries.

use super::{FleetRunReport, HostView, PointView};
use narrows_base::units::BytesPerSec;
use narrows_report::csv::{self, shown};
use narrows_verdict::word;

/// The columns, in order. `docs/fleet.md` has what each means; a later version adds columns at the end only.
fn columns<'a>() -> [csv::Column<HostRow<'a>>; 21] {
    [
        ("point", |(number, _, _)| number.to_string()),
        ("host", |(_, _, host)| host.host.clone()),
        ("state", |(_, _, host)| word(host.state)),
        ("reason", |(_, _, host)| host.reason.clone().unwrap_or_default()),
        ("block_size", |(_, point, _)| point.load.block_size.get().to_string()),
        ("depth", |(_, point, _)| point.load.depth.to_string()),
        ("jobs", |(_, point, _)| point.load.jobs.to_string()),
        ("read_percent", |(_, point, _)| point.load.read_percent.to_string()),
        ("random", |(_, point, _)| point.load.is_random.to_string()),
        ("began_after_ns", |(_, _, host)| shown(host.began_after_ns)),
        ("overlap", |(_, _, host)| host.overlap.map(|share| format!("{share:.4}")).unwrap_or_default()),
        ("read_bytes_per_second", |(_, _, host)| rate(host.read_bytes_per_second)),
        ("write_bytes_per_second", |(_, _, host)| rate(host.write_bytes_per_second)),
        ("ios", |(_, _, host)| host.ios.to_string()),
        ("p50_ns", |(_, _, host)| shown(host.p50.map(|time| time.get()))),
        ("p99_ns", |(_, _, host)| shown(host.p99.map(|time| time.get()))),
        ("is_outlier", |(_, point, host)| {
            point.outliers.iter().any(|outlier| outlier.host == host.host).to_string()
        }),
        ("is_proof", |(_, point, _)| point.proof.is_some().to_string()),
        ("start_ns", |(_, point, _)| point.start_ns.to_string()),
        ("window_ns", |(_, point, _)| shown(point.window_ns.map(|window| window.get()))),
        ("limit", |(_, point, _)| word(point.verdict.limit.kind)),
    ]
}

/// A host of a point, and the number of the point.
type HostRow<'a> = (usize, &'a PointView, &'a HostView);

/// A value that is not known or does not apply is empty.
fn rate(rate: Option<BytesPerSec>) -> String {
    shown(rate.map(|rate| rate.get().round() as i64))
}

/// The whole as text.
pub fn render(report: &FleetRunReport) -> String {
    let columns = columns();
    let mut out = csv::head(&columns);
    for (number, point) in (1..).zip(&report.points) {
        point.hosts.iter().for_each(|host| csv::put(&mut out, &columns, &(number, point, host)));
    }
    out
}
