//! `rados bench` of Ceph: writes, sequential and random reads of objects.
//!
//! Its MB are MiB (`obj_bencher.cc` divides by `1024 * 1024`), IOPS are cut to whole numbers.

use narrows_base::units::{Bytes, BytesPerSec, Iops};
use narrows_base::workload::Pattern;

use super::command::Commands;
use super::number::{MIB, Rounded, after, contradiction, count, number, seconds, to_bytes, value, whole};
use super::{Imported, Latency, Op, Page, Side, Spread, Tool, Work};

const CORRECTION: &str = "rados bench prints MB/sec and counts MiB; its rates are read as MiB/s";

/// The summaries in a text, each a result.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found = Vec::new();
    let mut commands = Commands::default();
    let mut run = RadosRun::default();
    for (number, line) in page.lines() {
        commands.see_any(number, line, &["rados bench", "rados"]);
        let line = line.trim();
        if let Some(time) = line.strip_prefix("Total time run:") {
            let begun = std::mem::take(&mut run);
            // What stands above the summary is of it, where no other summary stands between.
            run.depth = begun.depth.filter(|_| begun.time.is_none());
            found.extend(begun.finish(page));
            run.line = number;
            run.time = Rounded::of(time);
            run.command = commands.taken();
        } else if run.time.is_none() {
            run.see_progress(line);
        } else if line.starts_with("Maintaining ") || line.starts_with("sec Cur ops") {
            found.extend(std::mem::take(&mut run).finish(page));
            run.see_progress(line);
        } else {
            run.see(number, line);
        }
    }
    found.extend(run.finish(page));
    found
}

#[derive(Debug, Default)]
struct RadosRun {
    line: usize,
    rate_line: usize,
    command: Option<String>,
    depth: Option<u32>,
    time: Option<Rounded>,
    op: Option<Op>,
    count: Option<u64>,
    size: Option<u64>,
    rate: Option<Rounded>,
    deviation: Option<f64>,
    iops: Option<f64>,
    latency: Latency,
}

impl RadosRun {
    /// `Maintaining 16 concurrent writes of 4194304 bytes …`, before the summary.
    fn see_progress(&mut self, line: &str) {
        let depth = line.strip_prefix("Maintaining ").and_then(whole);
        self.depth = depth.and_then(|(depth, _)| u32::try_from(depth).ok()).or(self.depth);
    }

    fn see(&mut self, at: usize, line: &str) {
        let Some((name, text)) = line.split_once(':') else { return };
        let name = name.strip_suffix("(s)").unwrap_or(name).trim();
        let number = number(text);
        let nanos = number.map(|number| number * 1e9);
        match name {
            "Total writes made" | "Total reads made" => {
                self.op = Some(if name.contains("reads") { Op::Read } else { Op::Write });
                self.count = count(text);
            }
            "Write size" | "Read size" => self.size = count(text),
            "Bandwidth (MB/sec)" => {
                self.rate = Rounded::of(text);
                self.rate_line = at;
            }
            "Stddev Bandwidth" => self.deviation = number,
            "Average IOPS" => self.iops = number,
            "Average Latency" => self.latency.mean = nanos,
            "Stddev Latency" => self.latency.deviation = nanos,
            "Max latency" => self.latency.max = nanos,
            _ => {}
        }
    }

    fn finish(self, page: &Page<'_>) -> Option<Imported> {
        let (op, time) = (self.op?, self.time?);
        let amount = self.count.zip(self.size).map(|(count, size)| count.saturating_mul(size));
        // A summary that was cut short tells amount and time before the rate.
        let made = amount.filter(|_| time.value() > 0.0);
        let made = made.map(|amount| Rounded::exact(amount as f64 / MIB).over(time));
        let rate = self.rate.or(made)?;
        let spread = self.deviation.map(|deviation| Spread {
            mean: rate.value(),
            deviation,
            // One for each second of the run.
            samples: Some(time.value() as u64).filter(|samples| *samples > 0),
        });
        let mut result = Imported::new(Tool::Radosbench, page.name, self.line);
        result.corrections.push(CORRECTION.to_owned());
        result.derived.extend(amount.and_then(|amount| {
            let amount = Rounded::exact(amount as f64 / MIB);
            contradiction("bandwidth, in MB/sec", rate, &[1.0], amount, time)
        }));
        let depth = self.command.as_deref().and_then(threads).or(self.depth);
        let word = self.command.as_deref().and_then(kind);
        let side = Side {
            iops: self.iops.map(Iops::new),
            bytes: amount.map(Bytes::new),
            ios: self.count,
            elapsed_ns: seconds(time.value()),
            latency_ns: Some(self.latency).filter(|latency| latency.mean.is_some()),
            spread,
            ..Side::at(BytesPerSec::new(rate.value() * MIB))
        };
        let work = Work {
            pattern: word.and_then(|word| match word {
                "seq" => Some(Pattern::Sequential),
                "rand" => Some(Pattern::Random),
                _ => None,
            }),
            block_size: self.size.and_then(|size| to_bytes(size as f64)),
            queue_depth: depth,
            jobs: Some(1),
            ..Work::named(word.unwrap_or(op.word()))
        };
        result.truncated = self.rate.is_none();
        result.push(self.line.max(self.rate_line), work, op, side);
        result.command = self.command;
        Some(result)
    }
}

/// What the command asks for: `rados bench -p pool 60 seq`.
fn kind(command: &str) -> Option<&'static str> {
    let words: Vec<&str> = command.split_whitespace().collect();
    ["write", "seq", "rand"].into_iter().find(|word| words.contains(word))
}

fn threads(command: &str) -> Option<u32> {
    let told = value(command, " -t").or_else(|| value(after(command, "--concurrent-ios")?, ""));
    told.filter(|count| (1.0..1e6).contains(count)).map(|count| count as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: &str = "Total time run:         10.4422\nTotal writes made:      1467\nWrite size:             4194304\n\
        Bandwidth (MB/sec):     561.949\nStddev Bandwidth:       219.919\nAverage IOPS:           140\n\
        Average Latency(s):     0.113563\nMax latency(s):         0.84022\n";

    fn of(body: &str) -> Vec<Imported> {
        read(&Page { name: "x", body })
    }

    #[test]
    fn a_summary_without_its_rate_is_a_part_with_that_of_amount_and_time() {
        let body = "Maintaining 16 concurrent writes of 4096 bytes to objects of size 4096 for up to 10 seconds or 0 objects\n\
            Total time run:         10.0289\nTotal writes made:      63131\nWrite size:             4096\n";
        let found = read(&Page { name: "x", body });
        let one = &found[0].measurements[0];
        let rate = one.write.as_ref().map(|side| side.bytes_per_second.get().round());
        assert_eq!((found[0].truncated, one.work.queue_depth, rate), (true, Some(16), Some(25_783_942.0)));
    }

    #[test]
    fn a_summary_is_a_result_of_binary_megabytes() {
        let found =
            of(&format!("$ rados bench -p b 10 write -t 32\n{WRITE}\n$ rados bench -p b 10 seq\n{WRITE}"));
        assert_eq!(found.len(), 2);
        let one = &found[0].measurements[0];
        let write = one.write.as_ref().expect("writes");
        assert_eq!(write.bytes_per_second.get(), 561.949 * MIB);
        assert_eq!((write.ios, one.work.queue_depth), (Some(1467), Some(32)));
        assert_eq!(found[1].measurements[0].work.pattern, Some(Pattern::Sequential));
        assert!(found.iter().all(|one| one.derived.is_empty()), "{found:?}");
    }

    #[test]
    fn a_bandwidth_that_is_not_that_of_amount_and_time_contradicts_them() {
        assert_eq!(of(&WRITE.replace("561.949", "761.949"))[0].derived.len(), 1);
        assert!(
            of("Total time run: 10\nTotal writes made: 3\n").is_empty(),
            "neither a rate nor what makes one"
        );
    }
}
