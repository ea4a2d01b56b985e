//! AS SSD Benchmark, as its menu copies a result: rates, or I/Os per second of the same run.
//!
//! Its MB is 1024²: a run of which both are printed has 60.63 MB/s and 15,521 I/Os of 4 KiB each second. The file of 1 GiB is read
//! and written past the system's cache, by 64 threads in `4K-64Threads` (techspot.com, downloads/6014; ssd-tester.com, text_score.php).

use super::number::{leading, span};
use super::{Imported, Latency, Measured, Op, Page, Side, Tool, Work};
use narrows_base::units::{Bytes, BytesPerSec, Iops};
use narrows_base::workload::Pattern;

const MIB: f64 = 1_048_576.0;

/// The results in a text.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["AS SSD Benchmark "]) {
        return Vec::new();
    }
    let mut found: Vec<Imported> = Vec::new();
    let mut part = None;
    for (number, line) in page.lines() {
        let line = line.trim();
        if let Some(version) = version(line) {
            let mut result = Imported::new(Tool::Asssd, page.name, number);
            result.version = Some(version.to_owned());
            found.push(result);
            part = None;
        } else if let Some(result) = found.last_mut() {
            if let Some(one) = Part::of(line) {
                part = Some(one);
            } else if line.trim_end_matches(':') == "Score" {
                part = None;
            } else if let Some(measured) = part.and_then(|part| part.row(number, line)) {
                note(result, line);
                result.measurements.push(measured);
            }
        }
    }
    found
}

/// `AS SSD Benchmark 2.0.7316.34247`.
fn version(line: &str) -> Option<&str> {
    let rest = line.split_once("AS SSD Benchmark ")?.1.trim();
    let is_version = rest.starts_with(|c: char| c.is_ascii_digit()) && !rest.contains(' ');
    is_version.then_some(rest)
}

fn note(result: &mut Imported, line: &str) {
    const CORRECTION: &str = "MB/s of AS SSD is MiB/s; read as such";
    if line.ends_with("MB/s") && result.corrections.is_empty() {
        result.corrections.push(CORRECTION.to_owned());
    }
}

/// A part of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// 16 MiB, one after another: `Sequential:`, or `16MB` where I/Os are counted.
    Sequential,
    /// 4 KiB at random, one at a time.
    Random,
    /// The same by 64 threads.
    Threads,
    /// The time of one access, reads anywhere on the drive.
    Access,
}

impl Part {
    fn of(line: &str) -> Option<Self> {
        match line.trim_end_matches(':') {
            "Sequential" | "Seq" | "16MB" => Some(Self::Sequential),
            "4K" => Some(Self::Random),
            "4K-64Threads" | "4K-64Thrd" => Some(Self::Threads),
            "Access Times" | "Acc.time" => Some(Self::Access),
            _ => None,
        }
    }

    const fn label(self) -> &'static str {
        match self {
            Self::Sequential => "Seq",
            Self::Random => "4K",
            Self::Threads => "4K-64Thrd",
            Self::Access => "Acc.time",
        }
    }

    const fn block(self) -> Bytes {
        match self {
            Self::Sequential => Bytes::from_mib(16),
            _ => Bytes::new(4096),
        }
    }

    /// `Read: 2468.65 MB/s`, `Read: 15521 iops` or `Read: 0.098 ms`.
    fn row(self, number: usize, line: &str) -> Option<Measured> {
        let (name, text) = line.split_once(':')?;
        let op = match name {
            "Read" => Op::Read,
            "Write" => Op::Write,
            _ => return None,
        };
        let (value, unit) = leading(text)?;
        let work = Work {
            label: format!("{}, {}", self.label(), op.word()),
            pattern: Some(if self == Self::Sequential { Pattern::Sequential } else { Pattern::Random }),
            block_size: Some(self.block()).filter(|_| self != Self::Access),
            queue_depth: Some(1),
            jobs: Some(if self == Self::Threads { 64 } else { 1 }),
            direct: Some(true),
            working_set: Some(Bytes::from_mib(1024)).filter(|_| self != Self::Access),
            ..Work::default()
        };
        let mut measured = Measured::new(number, work);
        let block = self.block().as_f64();
        let rate = match (self, unit.trim()) {
            (Self::Access, "ms") => {
                measured.latency_ns = Some(Latency::of_mean(span(text)?.0));
                return (value > 0.0).then_some(measured);
            }
            (Self::Access, _) => return None,
            (_, "MB/s") => value * MIB,
            (_, "iops") => value * block,
            _ => return None,
        };
        // What was not run is printed as 0.
        (rate > 0.0).then(|| {
            let side = Side {
                bytes_per_second: BytesPerSec::new(rate),
                iops: Some(Iops::new(rate / block)),
                ..Side::default()
            };
            measured.put(op, side);
            measured
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // Figures of a laptop's drive of 2025, whose owner copied both views of one run.
    const RATES: &str = "AS SSD Benchmark 2.0.7316.34247\n------------------------------\nName: Internal NVMe SSD\nController: iaStorVD\nOffset: 283648 K - OK\nSize: 476.94 GB\n\
        ------------------------------\nSequential:\n------------------------------\nRead: 2468.65 MB/s\nWrite: 1077.41 MB/s\n------------------------------\n4K:\n------------------------------\n\
        Read: 60.63 MB/s\nWrite: 122.14 MB/s\n------------------------------\n4K-64Threads:\n------------------------------\nRead: 445.71 MB/s\nWrite: 259.35 MB/s\n------------------------------\n\
        Access Times:\n------------------------------\nRead: 0.098 ms\nWrite: 0.049 ms\n------------------------------\nScore:\n------------------------------\nRead: 753\nWrite: 489\nTotal: 1580\n";
    const COUNTS: &str = "AS SSD Benchmark 2.0.7316.34247\n------------------------------\n16MB\n------------------------------\nRead: 154.29 iops\nWrite: 67.34 iops\n------------------------------\n\
        4K:\n------------------------------\nRead: 15521 iops\nWrite: 31267 iops\n";

    fn rates(result: &Imported) -> Vec<f64> {
        result
            .measurements
            .iter()
            .flat_map(Measured::sides)
            .map(|(_, side)| side.bytes_per_second.get())
            .collect()
    }

    #[test]
    fn both_views_of_a_run_tell_the_same() {
        let found = read(&Page { name: "x", body: &format!("{RATES}{COUNTS}") });
        let [first, second] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((first.measurements.len(), rates(first).len(), second.measurements.len()), (8, 6, 4));
        assert_eq!(rates(first)[0], 2468.65 * MIB);
        for (one, other) in [(0, 0), (1, 1), (2, 2), (3, 3)] {
            let quotient = rates(first)[one] / rates(second)[other];
            assert!((quotient - 1.0).abs() < 2e-4, "{quotient}");
        }
        assert_eq!((first.corrections.len(), second.corrections.len()), (1, 0));
        assert_eq!(first.version.as_deref(), Some("2.0.7316.34247"));
        let access = first.measurements[6].latency_ns.as_ref().and_then(|latency| latency.mean);
        assert_eq!(access, Some(98_000.0));
        assert_eq!(first.measurements[4].work.jobs, Some(64));
    }

    #[test]
    fn what_was_not_run_and_a_score_are_no_rates() {
        let body = RATES.replace("Write: 1077.41 MB/s", "Write: 0.00 MB/s");
        assert_eq!(read(&Page { name: "x", body: &body })[0].measurements.len(), 7);
        let (before, _) = RATES.split_once("4K:").expect("has 4K");
        assert_eq!(rates(&read(&Page { name: "x", body: before })[0]).len(), 2);
        assert!(read(&Page { name: "x", body: "I ran AS SSD Benchmark twice\nRead: 5 MB/s\n" }).is_empty());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(AS SSD Benchmark |[0-9.]{1,9}|\n|4K:|Sequential:|Access Times:|Read: |Write: | MB/s| ms| iops){0,40}") {
            let _ = read(&Page { name: "x", body: &text });
        }
    }
}
