//! Measurements as comma-separated values (RFC 4180), a line for each direction, with units in the names of columns.

use crate::csv::{self, shown};
use crate::view::JudgedResult;
use narrows_base::lists::distinct;
use narrows_paste::results::{Latency, Measured, Side};
use narrows_verdict::word;

/// One direction of a measurement.
struct CsvLine<'a> {
    judged: &'a JudgedResult,
    codes: &'a str,
    measured: &'a Measured,
    direction: &'static str,
    side: &'a Side,
}

impl CsvLine<'_> {
    const fn rate(&self) -> f64 {
        self.side.bytes_per_second.get()
    }

    fn latency(&self, of: fn(&Latency) -> Option<f64>) -> String {
        shown(self.side.latency_ns.as_ref().and_then(of))
    }
}

fn columns<'a>() -> [csv::Column<CsvLine<'a>>; 29] {
    [
        ("file", |it| it.judged.result.file.clone()),
        ("line", |it| it.judged.result.line.to_string()),
        ("tool", |it| word(it.judged.result.tool)),
        ("tool_version", |it| shown(it.judged.result.version.as_deref())),
        ("label", |it| it.measured.work.label.clone()),
        ("direction", |it| it.direction.to_owned()),
        ("pattern", |it| word(it.measured.work.pattern)),
        ("block_size_bytes", |it| shown(it.measured.work.block_size.map(|size| size.get()))),
        ("queue_depth", |it| shown(it.measured.work.queue_depth)),
        ("jobs", |it| shown(it.measured.work.jobs)),
        ("engine", |it| shown(it.measured.work.engine.as_deref())),
        ("direct", |it| shown(it.measured.work.direct)),
        ("durability", |it| word(it.measured.work.durability)),
        ("working_set_bytes", |it| shown(it.measured.work.working_set.map(|set| set.get()))),
        ("target", |it| shown(it.measured.work.target.as_deref())),
        ("rate_bytes_per_second", |it| it.rate().to_string()),
        ("rate_mib_per_second", |it| (it.rate() / 1_048_576.0).to_string()),
        ("iops", |it| shown(it.side.iops.map(|iops| iops.get()))),
        ("moved_bytes", |it| shown(it.side.bytes.map(|bytes| bytes.get()))),
        ("ios", |it| shown(it.side.ios)),
        ("elapsed_ns", |it| shown(it.side.elapsed_ns.map(|time| time.get()))),
        ("latency_mean_ns", |it| it.latency(|latency| latency.mean)),
        ("latency_p50_ns", |it| it.latency(|latency| latency.p50)),
        ("latency_p99_ns", |it| it.latency(|latency| latency.p99)),
        ("latency_max_ns", |it| it.latency(|latency| latency.max)),
        ("trusted", |it| it.judged.verdict.trusted.to_string()),
        ("findings", |it| it.codes.to_owned()),
        ("trust", |it| word(it.judged.verdict.trust)),
        ("measures", |it| shown(it.judged.verdict.measures.as_deref())),
    ]
}

/// Results as text. Lines end with a line feed; what is not known is an empty cell.
pub fn render(results: &[JudgedResult]) -> String {
    let mut out = csv::head(&columns());
    for judged in results {
        // What was found, each code once: fifty thousand jobs may have as many findings.
        let codes = distinct(judged.verdict.findings.iter().map(|finding| finding.code.as_str())).join(" ");
        for measured in &judged.result.measurements {
            // What has a rate of bytes, and what it is called.
            let Measured { read, write, both, network, .. } = measured;
            let sides = [("read", read), ("write", write), ("both", both), ("network", network)];
            for (direction, side) in sides.into_iter().filter_map(|(word, side)| Some((word, side.as_ref()?)))
            {
                let line = CsvLine { judged, codes: &codes, measured, direction, side };
                csv::put(&mut out, &columns(), &line);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::judged;
    use narrows_paste::results::{Page, read};
    use narrows_verdict::results::judge_results;

    #[test]
    fn every_line_has_every_column_and_numbers_are_in_their_unit() {
        let body = "/dev/nvme2n1:\n Timing buffered disk reads: 1122 MB in  3.00 seconds = 373.60 MB/sec\n";
        let results = read(&Page { name: "a,\"b\"", body });
        let verdicts = judge_results(&results, &Default::default(), None);
        let text = render(&judged(&results, &verdicts));
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
