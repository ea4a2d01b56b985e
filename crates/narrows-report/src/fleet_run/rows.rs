//! One row for each host and run, the same columns for a spreadsheet and for Parquet.

use super::{FleetRunReport, HostView, PointView};
use narrows_base::units::BytesPerSec;
use narrows_verdict::fleet::record::State;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// A whole number: bytes, bytes per second, nanoseconds, or a count.
    Whole,
    /// A share from 0 to 1.
    Share,
    /// True or false.
    Truth,
}

/// The columns, in order. `docs/fleet-sql.md` has what each means; a later version adds columns at the end only.
pub const COLUMNS: [(&str, Kind); 21] = [
    ("point", Kind::Whole),
    ("host", Kind::Text),
    ("state", Kind::Text),
    ("reason", Kind::Text),
    ("block_size", Kind::Whole),
    ("depth", Kind::Whole),
    ("jobs", Kind::Whole),
    ("read_percent", Kind::Whole),
    ("random", Kind::Truth),
    ("began_after_ns", Kind::Whole),
    ("overlap", Kind::Share),
    ("read_bytes_per_second", Kind::Whole),
    ("write_bytes_per_second", Kind::Whole),
    ("ios", Kind::Whole),
    ("p50_ns", Kind::Whole),
    ("p99_ns", Kind::Whole),
    ("is_outlier", Kind::Truth),
    ("is_proof", Kind::Truth),
    ("start_ns", Kind::Whole),
    ("window_ns", Kind::Whole),
    ("limit", Kind::Text),
];

/// A value of a column; none where it is not known or does not apply.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Of [`Kind::Text`].
    Text(String),
    /// Of [`Kind::Whole`].
    Whole(i64),
    /// Of [`Kind::Share`].
    Share(f64),
    /// Of [`Kind::Truth`].
    Truth(bool),
}

/// A row.
pub type Row = [Option<Value>; COLUMNS.len()];

/// Every row of a report.
pub fn rows(report: &FleetRunReport) -> impl Iterator<Item = Row> {
    let of = |(number, point): (usize, &'_ PointView)| {
        let rows: Vec<Row> = point.hosts.iter().map(|host| row(number + 1, point, host)).collect();
        rows
    };
    report.points.iter().enumerate().flat_map(of)
}

fn row(number: usize, point: &PointView, host: &HostView) -> Row {
    let load = &point.load;
    let text = |text: &str| Some(Value::Text(text.to_owned()));
    let whole = |value: u64| i64::try_from(value).ok().map(Value::Whole);
    let rate = |rate: Option<BytesPerSec>| rate.map(|rate| Value::Whole(rate.get().round() as i64));
    let limit = serde_json::to_value(point.verdict.limit.kind).ok();
    [
        whole(number as u64),
        text(&host.host),
        text(State::as_str(host.state)),
        host.reason.as_deref().and_then(text),
        whole(load.block_size.get()),
        whole(load.depth.into()),
        whole(load.jobs.into()),
        whole(load.read_percent.into()),
        Some(Value::Truth(load.is_random)),
        host.began_after_ns.map(Value::Whole),
        host.overlap.map(Value::Share),
        rate(host.read_bytes_per_second),
        rate(host.write_bytes_per_second),
        whole(host.ios),
        host.p50.and_then(|time| whole(time.get())),
        host.p99.and_then(|time| whole(time.get())),
        Some(Value::Truth(point.outliers.iter().any(|outlier| outlier.host == host.host))),
        Some(Value::Truth(point.proof.is_some())),
        whole(point.start_ns),
        point.window_ns.and_then(|window| whole(window.get())),
        limit.as_ref().and_then(|limit| limit.as_str()).and_then(text),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn each_value_is_of_the_kind_of_its_column() {
        let report = sample();
        let rows: Vec<Row> = rows(&report).collect();
        assert_eq!(rows.len(), 60);
        for (value, (name, kind)) in rows.iter().flat_map(|row| row.iter().zip(COLUMNS)) {
            let found = match value {
                Some(Value::Text(_)) => Kind::Text,
                Some(Value::Whole(_)) => Kind::Whole,
                Some(Value::Share(_)) => Kind::Share,
                Some(Value::Truth(_)) => Kind::Truth,
                None => continue,
            };
            assert_eq!(found, kind, "{name}");
        }
        assert_eq!(rows[0][20], Some(Value::Text("unknown".to_owned())));
    }
}
