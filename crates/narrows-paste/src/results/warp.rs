//! `warp` of MinIO: objects that are put and got over S3.

use narrows_base::units::{BytesPerSec, Iops};

use super::number::{Base, leading, rate, seconds, span};
use super::{Imported, Op, Page, Side, Spread, Tool, Work};

/// An operation whose numbers are being read.
struct WarpPart {
    line: usize,
    op: Op,
    /// `PUT`.
    name: String,
    threads: Option<u32>,
    /// Nanoseconds.
    lasted: Option<f64>,
    rate: Option<(BytesPerSec, Option<f64>)>,
    samples: Option<u64>,
    median: Option<BytesPerSec>,
}

/// The summaries in a text, each a result: `Operation: PUT` or `Report: GET. Concurrency: 64. Ran: 4m58s`, the mean, and rates of
/// spans of a second. What moves no bytes (DELETE, STAT) is left out. Sizes are binary.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let mut part: Option<WarpPart> = None;
    for (number, line) in page.lines() {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("Operation: ").or_else(|| line.strip_prefix("Report: ")) {
            finish(page, &mut found, part.take());
            part = begin(number, rest);
        } else if let Some(open) = &mut part {
            open.see(line.trim_start_matches(['*', ' ']));
        }
    }
    finish(page, &mut found, part);
    found
}

fn begin(line: usize, rest: &str) -> Option<WarpPart> {
    let name = rest.split([' ', '.', ',', '(']).next()?.to_owned();
    let op = match name.as_str() {
        "PUT" => Op::Write,
        "GET" => Op::Read,
        _ => return None,
    };
    let behind = |key: &str| rest.split_once(key).map(|(_, rest)| rest.trim_start_matches([':', ' ']));
    let threads = behind("Concurrency").and_then(|text| text.split(['.', ',']).next()?.trim().parse().ok());
    Some(WarpPart {
        line,
        op,
        name,
        threads,
        lasted: behind("Ran").and_then(time),
        rate: None,
        samples: None,
        median: None,
    })
}

/// `4m58s`, `27s.` in nanoseconds.
fn time(text: &str) -> Option<f64> {
    let text = text.split([' ', '.', ',']).next()?;
    let (minutes, rest) = text.split_once('m').unwrap_or(("0", text));
    let minutes: f64 = minutes.parse().ok()?;
    Some(minutes * 60e9 + if rest.is_empty() { 0.0 } else { span(rest)?.0 })
}

impl WarpPart {
    fn see(&mut self, line: &str) {
        let mean = line.strip_prefix("Average: ").or_else(|| line.strip_prefix("Throughput: "));
        if let Some(rest) = mean.filter(|_| self.rate.is_none()) {
            let objects = rest.split_once(", ").and_then(|(_, rest)| leading(rest)).map(|(number, _)| number);
            self.rate =
                rate(rest, Base::Binary).filter(|_| rest.contains("iB/s")).map(|rate| (rate, objects));
        } else if let Some(rest) = line.strip_prefix("Throughput, split into ") {
            self.samples = rest.split(' ').next().and_then(|count| count.parse().ok());
        } else if let Some(rest) = line.strip_prefix("50% Median: ") {
            self.median = rate(rest, Base::Binary).filter(|_| rest.contains("iB/s"));
        }
    }

    /// No mean is further from its median than the standard deviation: where they are far apart, the rate did not hold. Where they
    /// are near, it says nothing.
    fn spread(&self, mean: BytesPerSec) -> Option<Spread> {
        const FAR: f64 = 0.2;
        let deviation = (mean.get() - self.median?.get()).abs();
        (deviation > FAR * mean.get()).then_some(Spread {
            mean: mean.get(),
            deviation,
            samples: self.samples,
        })
    }
}

/// Adds what was read of an operation: to the result above, unless that has one of its name.
fn finish(page: &Page<'_>, found: &mut Vec<Imported>, part: Option<WarpPart>) {
    let Some(part) = part else { return };
    let Some((mean, objects)) = part.rate else { return };
    let spans = part.samples.map(|count| count as f64 * 1e9);
    let side = Side {
        iops: objects.map(Iops::new),
        elapsed_ns: part.lasted.or(spans).and_then(|nanos| seconds(nanos / 1e9)),
        spread: part.spread(mean),
        ..Side::at(mean)
    };
    let has_one = |result: &Imported| result.measurements.iter().any(|one| one.work.label == part.name);
    if found.last().is_none_or(has_one) {
        found.push(Imported::new(Tool::Warp, page.name, part.line));
    }
    if let Some(result) = found.last_mut() {
        result.push(part.line, Work { jobs: part.threads, ..Work::named(part.name) }, part.op, side);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "Operation: PUT\n* Average: 96.81 MiB/s, 99.14 obj/s\n\nThroughput, split into 24 x 1s:\n \
        * Fastest: 100.3MiB/s, 102.68 obj/s\n * 50% Median: 96.9MiB/s, 99.24 obj/s\n * Slowest: 91.6MiB/s, 93.75 obj/s\n\n\
        ----------------------------------------\nOperation: GET\n* Average: 834.97 MiB/s, 855.01 obj/s\n\n\
        Throughput, split into 59 x 1s:\n * Fastest: 2613.5MiB/s, 2676.24 obj/s\n * 50% Median: 247.1MiB/s, 253.05 obj/s\n";

    #[test]
    fn a_mean_far_from_its_median_did_not_hold() {
        let found = read(&Page { name: "x", body: TEXT });
        assert_eq!(found.len(), 1);
        let [put, get] = found[0].measurements.as_slice() else { panic!("{found:?}") };
        let (put, get) = (put.write.as_ref().expect("written"), get.read.as_ref().expect("read"));
        assert_eq!(put.bytes_per_second.get(), 96.81 * 1_048_576.0);
        assert_eq!((put.spread, put.elapsed_ns.map(|time| time.get())), (None, Some(24_000_000_000)));
        assert!(get.spread.and_then(|spread| spread.relative()).is_some_and(|relative| relative > 0.7));
    }

    #[test]
    fn a_report_says_how_long_it_ran_and_what_moves_no_bytes_is_none() {
        let body = "Report: DELETE. Concurrency: 64. Ran: 4m57s\n * Average: 17.67 obj/s\n\n\
            Report: GET. Concurrency: 64. Ran: 4m58s\n * Average: 79.43 MiB/s, 79.43 obj/s\n";
        let found = read(&Page { name: "x", body });
        let one = &found[0].measurements[0];
        assert_eq!((found.len(), found[0].measurements.len(), one.work.jobs), (1, 1, Some(64)));
        assert_eq!(
            one.read.as_ref().and_then(|side| side.elapsed_ns).map(|time| time.get()),
            Some(298_000_000_000)
        );
    }

    #[test]
    fn each_operation_of_a_mixed_run_has_its_throughput() {
        let body = "Mixed operations.\nOperation: DELETE, 10%, Concurrency: 20, Ran 30s.\n * Throughput: 33.5 obj/s\n\n\
            Operation: GET, 45%, Concurrency: 20, Ran 30s.\n * Throughput: 128.18 MiB/s, 150.89 obj/s (29.973s, starting 10:00:00 UTC)\n\n\
            Operation: PUT, 15%, Concurrency: 20, Ran 30s.\n * Throughput: 42.67 MiB/s, 50.23 obj/s\n";
        let found = read(&Page { name: "x", body });
        let [get, put] = found[0].measurements.as_slice() else { panic!("{found:?}") };
        assert_eq!((get.work.jobs, put.work.jobs), (Some(20), Some(20)));
        let rate = get.read.as_ref().expect("reads").bytes_per_second.get();
        assert!((rate - 128.18 * 1_048_576.0).abs() < 1.0 && put.write.is_some());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(Operation: |PUT|GET|Ran: |Concurrency|Average: |50% Median: |split into |[-0-9.,]{1,6}|MiB/s|m|s|\\PC{0,6}|[ \n]){0,60}") {
            _ = read(&Page { name: "x", body: &text });
        }
    }
}
