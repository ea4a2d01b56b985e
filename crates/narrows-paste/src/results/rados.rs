//! `rados bench` and `rbd bench` of Ceph: objects, and blocks of an image.
//!
//! Its MB are MiB (`obj_bencher.cc` divides by `1024 * 1024`), IOPS are cut to whole numbers. A run without its summary has the rate
//! of the last of its rows, which is the mean until then.

use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_base::workload::Pattern;

use super::command::Commands;
use super::number::{
    Base, MIB, Rounded, after, contradiction, count, number, rate, seconds, to_bytes, value, whole,
};
use super::{Derived, Imported, Latency, Op, Page, Side, Spread, Tool, Work};

const CORRECTION: &str = "rados bench prints MB/sec and counts MiB; its rates are read as MiB/s";

/// The summaries in a text, each a result.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found = Vec::new();
    let mut commands = Commands::default();
    let mut run = RadosRun::default();
    for (number, line) in page.lines() {
        commands.see_any(number, line, &["rados bench", "rados"]);
        // Where lines were put together, the summary may follow the last row.
        let (line, summary) = match line.split_once("Total time run:") {
            Some((row, summary)) => (row.trim(), Some(summary)),
            None => (line.trim(), None),
        };
        if let Some(time) = summary {
            if run.time.is_none() {
                run.see_progress(line);
            }
            let begun = std::mem::take(&mut run);
            // What stands above the summary is of it, where no other summary stands between.
            run.depth = begun.depth.filter(|_| begun.time.is_none());
            let is_told = begun.time.is_some();
            found.extend(begun.finish(page).filter(|_| is_told));
            run.line = number;
            run.time = Rounded::of(time);
            run.command = commands.taken();
            run.see(number, time);
        } else if run.time.is_none() {
            if run.is_before(line) {
                found.extend(std::mem::take(&mut run).finish(page));
            }
            if run.rows.is_empty() && RadosRow::of(line).is_some() {
                (run.line, run.command) = (number, commands.taken());
            }
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
    /// A row for each second.
    rows: Vec<RadosRow>,
}

/// `    5      16        38        22   17.5956         0           -     2.19081`: second, operations in flight, started, finished,
/// mean and last rate in MiB/s, last and mean latency in seconds.
#[derive(Debug, Clone, Copy)]
struct RadosRow {
    second: f64,
    in_flight: u32,
    finished: u64,
    mean: f64,
    last: f64,
    latency: Option<f64>,
}

impl RadosRow {
    fn of(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [second, in_flight, started, finished, mean, last, latency, latencies] = words[..] else {
            return None;
        };
        started.parse::<u64>().ok()?;
        let is_latency = |word: &str| word == "-" || word.parse::<f64>().is_ok();
        let is_row = is_latency(latency) && (latencies == "0" || is_latency(latencies));
        is_row.then_some(Self {
            second: second.parse::<u32>().ok()?.into(),
            in_flight: in_flight.parse().ok()?,
            finished: finished.parse().ok()?,
            mean: mean.parse().ok()?,
            last: last.parse().ok()?,
            latency: latencies.parse().ok().filter(|latency| *latency > 0.0),
        })
    }
}

impl RadosRun {
    /// Whether the rows of another run begin with this line.
    fn is_before(&self, line: &str) -> bool {
        let last = self.rows.last().map(|row| row.second);
        let begins = |row: RadosRow| last.is_some_and(|last| row.second < last);
        RadosRow::of(line).is_some_and(begins) || (last.is_some() && line.starts_with("Maintaining "))
    }

    /// `Maintaining 16 concurrent writes of 4194304 bytes …` and the rows of each second, before the summary.
    fn see_progress(&mut self, line: &str) {
        /// A day of seconds.
        const MOST: usize = 100_000;
        if let Some(row) = RadosRow::of(line).filter(|_| self.rows.len() < MOST) {
            self.rows.push(row);
        }
        if let Some((depth, rest)) = line.strip_prefix("Maintaining ").and_then(whole) {
            let named = [("writes", Op::Write), ("reads", Op::Read)];
            self.op = named.into_iter().find(|(word, _)| rest.contains(word)).map(|(_, op)| op);
            self.size = after(rest, " of ").and_then(count);
            self.depth = u32::try_from(depth).ok().or(self.depth);
        }
    }

    /// Numbers of the summary; lines of it may have been put together.
    fn see(&mut self, at: usize, line: &str) {
        let text = |name: &str| after(line, name)?.trim_start_matches("(s)").strip_prefix(':');
        let nanos = |name: &str| text(name).and_then(number).map(|number| number * 1e9);
        for (name, op) in [("Total writes made", Op::Write), ("Total reads made", Op::Read)] {
            if let Some(made) = text(name).and_then(count) {
                (self.op, self.count) = (Some(op), Some(made));
            }
        }
        if let Some(rate) = text("Bandwidth (MB/sec)").and_then(Rounded::of) {
            (self.rate, self.rate_line) = (Some(rate), at);
        }
        let size = ["Write size", "Read size"].into_iter().find_map(text).and_then(count);
        self.size = size.or(self.size);
        self.deviation = text("Stddev Bandwidth").and_then(number).or(self.deviation);
        self.iops = text("Average IOPS").and_then(number).or(self.iops);
        let latency = &mut self.latency;
        latency.mean = nanos("Average Latency").or(latency.mean);
        latency.deviation = nanos("Stddev Latency").or(latency.deviation);
        latency.max = nanos("Max latency").or(latency.max);
    }

    fn finish(self, page: &Page<'_>) -> Option<Imported> {
        let mut result = Imported::new(Tool::Radosbench, page.name, self.line);
        result.corrections.push(CORRECTION.to_owned());
        let word = self.command.as_deref().and_then(kind);
        let mut work = Work {
            block_size: self.size.and_then(|size| to_bytes(size as f64)),
            queue_depth: self.command.as_deref().and_then(threads).or(self.depth),
            jobs: Some(1),
            ..Work::default()
        };
        let (op, side) = match self.time {
            Some(time) => {
                let (op, (side, wrong)) = (self.op?, self.summary(time)?);
                work.label = word.unwrap_or(op.word()).to_owned();
                work.pattern = match word {
                    Some("seq") => Some(Pattern::Sequential),
                    Some("rand") => Some(Pattern::Random),
                    _ => None,
                };
                result.derived.extend(wrong);
                (op, side)
            }
            None => {
                let asked = word.map(|word| if word == "write" { Op::Write } else { Op::Read });
                work.label = word.unwrap_or("without a summary").to_owned();
                work.queue_depth =
                    work.queue_depth.or_else(|| self.rows.iter().map(|row| row.in_flight).max());
                (self.op.or(asked)?, self.rows_alone()?)
            }
        };
        result.truncated = self.time.is_none() || self.rate.is_none();
        result.push(self.line.max(self.rate_line), work, op, side);
        result.command = self.command;
        Some(result)
    }

    /// What the summary tells, and its rate where that is not the one of amount and time.
    fn summary(&self, time: Rounded) -> Option<(Side, Option<Derived>)> {
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
        let wrong = amount.and_then(|amount| {
            let amount = Rounded::exact(amount as f64 / MIB);
            contradiction("bandwidth, in MB/sec", rate, &[1.0], amount, time)
        });
        let side = Side {
            iops: self.iops.map(Iops::new),
            bytes: amount.map(Bytes::new),
            ios: self.count,
            elapsed_ns: seconds(time.value()),
            latency_ns: Some(self.latency.clone()).filter(|latency| latency.mean.is_some()),
            spread,
            ..Side::at(BytesPerSec::new(rate.value() * MIB))
        };
        Some((side, wrong))
    }

    /// What the rows tell of a run whose summary is missing.
    fn rows_alone(&self) -> Option<Side> {
        let last = self.rows.iter().rfind(|row| row.second > 0.0)?;
        let rates: Vec<f64> =
            self.rows.iter().filter(|row| row.second > 0.0).map(|row| row.last * MIB).collect();
        Some(Side {
            ios: Some(last.finished),
            elapsed_ns: seconds(last.second),
            latency_ns: last.latency.map(|mean| Latency::of_mean(mean * 1e9)),
            spread: Spread::of(&rates),
            series: rates.iter().copied().map(BytesPerSec::new).collect(),
            series_span_ns: Some(Nanos::from_millis(1000)),
            ..Side::at(BytesPerSec::new(last.mean * MIB))
        })
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

/// The runs of `rbd bench` in a text, each a result: `bench  type write io_size 4096 io_threads 16 bytes 1073741824 pattern
/// sequential`, and the line that begins with `elapsed:`.
pub(super) fn read_rbd(page: &Page<'_>) -> Vec<Imported> {
    let mut found = Vec::new();
    let mut commands = Commands::default();
    let mut head: Option<&str> = None;
    for (at, line) in page.lines() {
        commands.see(at, line, "rbd");
        let line = line.trim();
        if line.starts_with("bench") && line.contains(" io_size ") {
            head = Some(line);
        } else if line.starts_with("elapsed:") && line.contains("bytes/sec:") {
            found.extend(rbd_run(page, at, (head.take(), line), commands.taken()));
        }
    }
    found
}

fn rbd_run(
    page: &Page<'_>,
    at: usize,
    (head, line): (Option<&str>, &str),
    command: Option<String>,
) -> Option<Imported> {
    // `172626920.5`, since Ceph 15 `165 MiB/s`.
    let rate = rate(after(line, "bytes/sec:")?, Base::Binary)?;
    let ios: Option<u64> = after(line, " ops:").and_then(count);
    let head = head.unwrap_or_default();
    let told = |key: &str| value(head, key).filter(|number| *number >= 1.0);
    let kind = after(head, " type ").or_else(|| after(command.as_deref()?, "--io-type "));
    let op = match kind.and_then(|kind| kind.split_whitespace().next()) {
        Some("read") => Op::Read,
        // `bench-write` of old says none.
        Some("write") | None => Op::Write,
        // Both directions have one rate, which is of neither.
        Some(_) => return None,
    };
    let size = told(" io_size ").and_then(to_bytes);
    let patterns = [("pattern seq", Pattern::Sequential), ("pattern rand", Pattern::Random)];
    let pattern = patterns.into_iter().find(|(words, _)| head.contains(words)).map(|(_, pattern)| pattern);
    let bytes = ios.zip(size).map(|(ios, size)| Bytes::new(ios.saturating_mul(size.get())));
    let side = Side {
        iops: value(line, "ops/sec:").map(Iops::new),
        bytes,
        ios,
        // Whole seconds are printed; amount and rate tell them better.
        elapsed_ns: bytes.and_then(|bytes| seconds(bytes.as_f64() / rate.get())),
        ..Side::at(rate)
    };
    let work = Work {
        pattern,
        block_size: size,
        queue_depth: told(" io_threads ").map(|threads| threads as u32),
        jobs: Some(1),
        working_set: told(" bytes ").and_then(to_bytes),
        ..Work::named(op.word())
    };
    let mut result = Imported::new(Tool::Rbdbench, page.name, at);
    result.push(at, work, op, side);
    result.command = command;
    Some(result)
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
    fn rows_without_their_summary_are_a_part_with_the_mean_of_the_last() {
        let rows = "$ rados bench -p rbd 10 write\n   sec Cur ops   started  finished  avg MB/s  cur MB/s last lat(s)  avg lat(s)\n\
            \x20    0       0         0         0         0         0           -           0\n\
            \x20    1      16        17         1   3.99787         4    0.380792    0.380792\n\
            \x20    2      16        23         7   13.9949        24      1.8358     1.46316\n\
            \x20    3      16        23         7   9.32993         0           -     1.46316\n     4      16        23         7   6.\n";
        let found = of(&format!("{rows}\n$ rados bench -p rbd 10 rand\n{rows}"));
        assert_eq!(found.len(), 2, "{found:?}");
        let one = &found[0].measurements[0];
        let write = one.write.as_ref().expect("writes");
        assert_eq!(write.bytes_per_second.get(), 9.32993 * MIB);
        assert_eq!((write.ios, write.series.len(), one.work.queue_depth), (Some(7), 3, Some(16)));
        assert!(found[0].truncated);
        let with_summary = of(&format!("{rows}{WRITE}"));
        assert_eq!(with_summary.len(), 1);
        assert!(!with_summary[0].truncated);
    }

    #[test]
    fn a_run_of_rbd_bench_says_its_load_above_and_its_rate_below() {
        let run = |rate: &str| {
            let body = format!(
                "# rbd bench --io-type write image --pool=p\nbench  type write io_size 4096 io_threads 16 bytes 1073741824 pattern sequential\n  SEC       OPS   OPS/SEC   BYTES/SEC\n\
                 \x20   1     44000  44059.96  180469606.41\nelapsed:     6  ops:   262144  ops/sec: 42145.24  bytes/sec: {rate}\n"
            );
            let found = read_rbd(&Page { name: "x", body: &body });
            let one = found[0].measurements[0].clone();
            (one.write.map(|side| side.bytes_per_second.get()), one.work.queue_depth, one.work.pattern)
        };
        assert_eq!(run("172626920.5"), (Some(172_626_920.5), Some(16), Some(Pattern::Sequential)));
        assert_eq!(run("165 MiB/s").0, Some(165.0 * MIB));
        let both = "bench  type readwrite read:write=50:50 io_size 4096 io_threads 16 bytes 1073741824 pattern random\n\
            elapsed:     6  ops:   262144  ops/sec: 42145.24  bytes/sec: 172626920.5\n";
        assert!(read_rbd(&Page { name: "x", body: both }).is_empty());
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
