//! Measurements as comma-separated values (RFC 4180), a line for each direction, with units in the names of columns.

use super::{ImportReport, JudgedResult};
use crate::csv::{put_row, shown};
use narrows_base::lists::distinct;
use narrows_paste::results::{Measured, Side};
use narrows_verdict::word;

const COLUMNS: &[&str] = &[
    "file",
    "line",
    "tool",
    "tool_version",
    "label",
    "direction",
    "pattern",
    "block_size_bytes",
    "queue_depth",
    "jobs",
    "engine",
    "direct",
    "durability",
    "working_set_bytes",
    "target",
    "rate_bytes_per_second",
    "rate_mib_per_second",
    "iops",
    "moved_bytes",
    "ios",
    "elapsed_ns",
    "latency_mean_ns",
    "latency_p50_ns",
    "latency_p99_ns",
    "latency_max_ns",
    "trusted",
    "findings",
    "trust",
    "measures",
];

/// What has a rate of bytes, and what it is called.
fn sides(measurement: &Measured) -> [(&'static str, &Option<Side>); 4] {
    [
        ("read", &measurement.read),
        ("write", &measurement.write),
        ("both", &measurement.both),
        ("network", &measurement.network),
    ]
}

/// The report as text. Lines end with a line feed; what is not known is an empty cell.
pub fn render(report: &ImportReport) -> String {
    let mut out = COLUMNS.join(",") + "\n";
    for result in &report.results {
        let codes = codes(result);
        for measurement in &result.result.measurements {
            for (direction, side) in sides(measurement) {
                if let Some(side) = side {
                    let cells = cells(result, &codes, measurement, direction, side);
                    put_row(&mut out, &cells);
                }
            }
        }
    }
    out
}

/// What was found of a result, each code once: fifty thousand jobs may have as many findings.
fn codes(result: &JudgedResult) -> String {
    distinct(result.verdict.findings.iter().map(|finding| finding.code.as_str())).join(" ")
}

fn cells(
    JudgedResult { result, verdict }: &JudgedResult,
    codes: &str,
    measurement: &Measured,
    direction: &str,
    side: &Side,
) -> Vec<String> {
    let work = &measurement.work;
    let rate = side.bytes_per_second.get();
    let latency = side.latency_ns.as_ref();
    vec![
        result.file.clone(),
        result.line.to_string(),
        word(result.tool),
        shown(result.version.as_deref()),
        work.label.clone(),
        direction.to_owned(),
        word(work.pattern),
        shown(work.block_size.map(|size| size.get())),
        shown(work.queue_depth),
        shown(work.jobs),
        shown(work.engine.as_deref()),
        shown(work.direct),
        word(work.durability),
        shown(work.working_set.map(|set| set.get())),
        shown(work.target.as_deref()),
        rate.to_string(),
        (rate / 1_048_576.0).to_string(),
        shown(side.iops.map(|iops| iops.get())),
        shown(side.bytes.map(|bytes| bytes.get())),
        shown(side.ios),
        shown(side.elapsed_ns.map(|time| time.get())),
        shown(latency.and_then(|latency| latency.mean)),
        shown(latency.and_then(|latency| latency.p50)),
        shown(latency.and_then(|latency| latency.p99)),
        shown(latency.and_then(|latency| latency.max)),
        verdict.trusted.to_string(),
        codes.to_owned(),
        word(verdict.trust),
        shown(verdict.measures.as_deref()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::build;
    use narrows_paste::results::{Page, read};
    use narrows_verdict::results::judge_results;

    #[test]
    fn every_line_has_every_column_and_numbers_are_in_their_unit() {
        let body = "/dev/nvme2n1:\n Timing buffered disk reads: 1122 MB in  3.00 seconds = 373.60 MB/sec\n";
        let results = read(&Page { name: "a,\"b\"", body });
        let verdicts = judge_results(&results, &Default::default(), None);
        let text = render(&build(&results, &verdicts, &[]));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(
            lines[1].starts_with(
                "\"a,\"\"b\"\"\",1,hdparm,,buffered disk reads,read,sequential,2097152,1,1,,false"
            )
        );
        assert!(lines[1].contains(",391747993.6,373.6,"), "{}", lines[1]);
        assert!(lines[0].ends_with(",trusted,findings,trust,measures"), "{}", lines[0]);
        assert!(lines[1].contains(",true,") && lines[1].contains(",yes,"), "{}", lines[1]);
    }
}
