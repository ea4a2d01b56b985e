//! `sysbench fileio`: 0.4, 0.5 and 1.x.
//!
//! `Mb` and `MiB/s` are both binary. A read or write is one block, so that operations × block ÷ time is more exact than the
//! printed rate. Latencies are of all requests together; from 1.0.20 on an fsync is one of them.

use narrows_base::units::{Bytes, BytesPerSec, Iops};
use narrows_base::workload::Pattern;

use super::command::Commands;
use super::number::{Base, MIB, Rounded, contradiction, count, leading, number, seconds, size, span};
use super::{Durability, Imported, Latency, Measured, Op, Page, Side, Tool, Work};
use crate::text::fields;

/// The runs in a text, each a result.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found = Vec::new();
    let mut commands = Commands::default();
    let mut run = SysbenchRun::default();
    for (number, line) in page.lines() {
        commands.see_any(number, line, &["sysbench fileio", "sysbench"]);
        let line = line.trim();
        let version =
            line.strip_prefix("sysbench ").filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if let Some(version) = version {
            found.extend(std::mem::take(&mut run).finish(page));
            run.line = number;
            run.version = version.split([' ', ':']).next().map(str::to_owned);
            run.command = commands.taken();
        } else {
            run.see(number, line);
        }
    }
    found.extend(run.finish(page));
    found
}

#[derive(Debug, Default)]
struct SysbenchRun {
    line: usize,
    /// The line of the operations.
    at: usize,
    version: Option<String>,
    command: Option<String>,
    work: Work,
    periodic: Option<u64>,
    reads: SysbenchRate,
    writes: SysbenchRate,
    syncs: Option<f64>,
    time: Option<Rounded>,
    events: Option<u64>,
    in_latency: bool,
    latency: Latency,
    /// Whether its last line was read.
    is_whole: bool,
    /// Reads and writes in MiB/s, and fsyncs each second, of each report on the way (`--report-interval`).
    reports: Vec<[f64; 3]>,
    report_line: usize,
}

/// Operations of one direction: how many, or how many each second, and the rate that is printed.
#[derive(Debug, Default)]
struct SysbenchRate {
    count: Option<u64>,
    per_second: Option<Rounded>,
    mib_per_second: Option<Rounded>,
}

impl SysbenchRun {
    fn see(&mut self, number: usize, line: &str) {
        /// A day of seconds.
        const MOST: usize = 100_000;
        if let Some(report) = report(line) {
            self.report_line = number;
            if self.reports.len() < MOST {
                self.reports.push(report);
            }
        } else if let Some(rest) = line.strip_prefix("Operations performed:") {
            self.at = number;
            self.reads.count = counted(rest, " Read");
            self.writes.count = counted(rest, " Write");
        } else if line.starts_with("File operations:") {
            self.at = number;
        } else if let Some(rest) = line.strip_prefix("Doing ") {
            self.pattern(rest);
        } else if let Some(rest) = line.strip_prefix("Block size ") {
            self.work.block_size = size(rest, Base::Binary);
        } else if let Some(text) = line.strip_suffix(" total file size") {
            self.work.working_set = size(text, Base::Binary);
        } else if let Some(rest) = line.strip_prefix("Periodic FSYNC enabled, calling fsync() each ") {
            self.periodic = count(rest);
        } else if line.starts_with("Calling fsync() at the end of test, Enabled") {
            self.work.durability = Some(Durability::AtEnd);
        } else if let Some((name, text)) = line.split_once(':') {
            let text = text.trim();
            let is_rate = text.starts_with("IOPS=");
            // A line of fio below it begins alike.
            if is_rate && text.contains("BW=") {
                return;
            }
            if is_rate {
                self.at = number;
            }
            self.value(name.trim(), text);
        }
    }

    fn pattern(&mut self, rest: &str) {
        self.work.pattern = match rest.split_whitespace().next() {
            Some("random") => Some(Pattern::Random),
            Some("sequential") => Some(Pattern::Sequential),
            _ => None,
        };
        rest.trim_end_matches(" test").clone_into(&mut self.work.label);
    }

    fn value(&mut self, name: &str, text: &str) {
        let rounded = || Rounded::of(text);
        match name {
            "Number of threads" => self.work.jobs = count(text),
            "Extra file open flags" => {
                self.work.direct = Some(text.contains("direct"));
                if text.split(['|', ',', ' ']).any(|flag| matches!(flag, "sync" | "dsync")) {
                    self.periodic = Some(1);
                }
            }
            "reads/s" => self.reads.per_second = rounded(),
            "writes/s" => self.writes.per_second = rounded(),
            "fsyncs/s" => self.syncs = number(text),
            // Since 1.1: `write: IOPS=31961.19 499.39 MiB/s (523.65 MB/s)`.
            "read" => self.reads.see(text),
            "write" => self.writes.see(text),
            "fsync" => self.syncs = text.strip_prefix("IOPS=").and_then(number),
            "sum" => self.is_whole = self.in_latency,
            "read, MiB/s" => self.reads.mib_per_second = rounded(),
            "written, MiB/s" => self.writes.mib_per_second = rounded(),
            "total time" => self.time = rounded(),
            "total number of events" => self.events = count(text),
            "per-request statistics" | "response time" | "Latency (ms)" => self.in_latency = true,
            "avg" if self.in_latency => self.latency.mean = millis(text),
            "max" if self.in_latency => self.latency.max = millis(text),
            _ => {}
        }
    }

    /// Takes what its reports say in the place of a summary that is missing.
    fn mean_of_reports(&mut self) -> Option<()> {
        let count = self.reports.len();
        let mean =
            |at: usize| self.reports.iter().filter_map(|report| report.get(at)).sum::<f64>() / count as f64;
        let [reads, writes, syncs] = [0, 1, 2].map(mean);
        let block = self.work.block_size.filter(|block| block.get() > 0)?.as_f64();
        for (rate, mean) in [(&mut self.reads, reads), (&mut self.writes, writes)] {
            rate.per_second = Some(Rounded::exact(mean * MIB / block));
        }
        self.syncs = Some(syncs);
        self.at = self.report_line;
        (count > 0).then_some(())
    }

    fn finish(mut self, page: &Page<'_>) -> Option<Imported> {
        let is_cut = self.at == 0;
        if is_cut {
            self.mean_of_reports()?;
        }
        let mut result =
            Imported::new(Tool::Sysbench, page.name, if self.line > 0 { self.line } else { self.at });
        if self.periodic == Some(1) {
            self.work.durability = Some(Durability::Each);
        }
        let block = self.work.block_size.map(Bytes::as_f64);
        let mut measured = Measured::new(self.at, self.work.clone());
        for (op, rate) in [(Op::Read, &self.reads), (Op::Write, &self.writes)] {
            *measured.side_mut(op) = rate.side(block, self.time);
            result.derived.extend(rate.contradiction(op, block));
        }
        measured.latency_ns = Some(self.latency).filter(|latency| latency.mean.is_some());
        measured.syncs = self.syncs.filter(|syncs| *syncs > 0.0).map(Iops::new);
        result.truncated = is_cut || self.time.is_none() && self.events.is_none() && !self.is_whole;
        let has_any = measured.sides().next().is_some() || measured.syncs.is_some();
        result.measurements.extend(Some(measured).filter(|_| has_any));
        result.version = self.version;
        result.command = self.command;
        Some(result)
    }
}

impl SysbenchRate {
    /// `IOPS=31961.19 499.39 MiB/s (523.65 MB/s)`.
    fn see(&mut self, text: &str) {
        if let Some((iops, rate)) = text.strip_prefix("IOPS=").and_then(|text| text.split_once(' ')) {
            self.per_second = Rounded::of(iops);
            self.mib_per_second =
                rate.trim().strip_suffix(')').and_then(|rate| Rounded::of(rate.split(' ').next()?));
        }
    }

    fn per_second(&self, time: Option<Rounded>) -> Option<f64> {
        let counted = || Some(self.count? as f64 / time?.value());
        self.per_second.map(Rounded::value).or_else(counted).filter(|rate| rate.is_finite() && *rate > 0.0)
    }

    fn side(&self, block: Option<f64>, time: Option<Rounded>) -> Option<Side> {
        let iops = self.per_second(time)?;
        let printed = self.mib_per_second.map(|rate| rate.value() * MIB);
        let seconds_run = time.map(Rounded::value);
        let count = self.count.or_else(|| seconds_run.map(|seconds| (iops * seconds).round() as u64));
        Some(Side {
            iops: Some(Iops::new(iops)),
            ios: count,
            bytes: block.zip(count).and_then(|(block, count)| super::number::to_bytes(block * count as f64)),
            elapsed_ns: seconds_run.and_then(seconds),
            ..Side::at(BytesPerSec::new(block.map(|block| iops * block).or(printed)?))
        })
    }

    /// Operations each second × the block size are the rate that is printed.
    fn contradiction(&self, op: Op, block: Option<f64>) -> Option<super::Derived> {
        let amount = self.per_second?.times(block? / MIB);
        let name = format!("rate of {}s, in MiB/s", op.word());
        contradiction(&name, self.mib_per_second?, &[1.0], amount, Rounded::exact(1.0))
    }
}

/// `[ 1s ] reads: 0.00 MiB/s writes: 1.09 MiB/s fsyncs: 8829.31/s response time: 0.11ms (95%)`.
fn report(line: &str) -> Option<[f64; 3]> {
    let [_, reads, writes, syncs] = fields(line, "[ {}s ] reads: {} MiB/s writes: {} MiB/s fsyncs: {}")?;
    Some([number(reads)?, number(writes)?, number(syncs)?])
}

/// `28800 Read, 19200 Write`: the number before a word.
fn counted(text: &str, word: &str) -> Option<u64> {
    text.split_once(word)?.0.split([' ', ',']).next_back()?.parse().ok()
}

/// `2.86ms`, or a bare number of milliseconds.
fn millis(text: &str) -> Option<f64> {
    let (number, unit) = leading(text)?;
    if unit.trim().is_empty() { Some(number * 1e6) } else { span(text).map(|(nanos, _)| nanos) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(body: &str) -> Imported {
        read(&Page { name: "x", body }).remove(0)
    }

    #[test]
    fn of_0_4() {
        let result = one(
            "sysbench 0.4.12:  multi-threaded system evaluation benchmark\nNumber of threads: 1\n192Gb total file size\n\
            Block size 16Kb\nDoing random r/w test\nOperations performed:  28800 Read, 19200 Write, 61361 Other = 109361 Total\n\
            Read 450Mb  Written 300Mb  Total transferred 750Mb  (2.4999Mb/sec)\n    total time:                          300.0106s\n\
            \x20   per-request statistics:\n         avg:                                  2.86ms\n",
        );
        let one = &result.measurements[0];
        let read = one.read.as_ref().expect("reads");
        assert!((read.bytes_per_second.get() - 28_800.0 * 16_384.0 / 300.0106).abs() < 1.0);
        assert_eq!(one.work.working_set, Some(Bytes::new(192 << 30)));
        assert_eq!(one.latency_ns.as_ref().and_then(|latency| latency.mean), Some(2_860_000.0));
        assert_eq!(result.version.as_deref(), Some("0.4.12"));
    }

    const NEW: &str = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\nNumber of threads: 8\nExtra file open flags: (none)\n\
        2GiB total file size\nBlock size 16KiB\nDoing sequential rewrite test\nFile operations:\n    reads/s:   0.00\n    \
        writes/s:   68869.01\n    fsyncs/s:   88252.89\nThroughput:\n    read, MiB/s:   0.00\n    written, MiB/s:   1076.08\n\
        General statistics:\n    total time:    10.0035s\n    total number of events:   1570934\nLatency (ms):\n    avg:   0.05\n    max:   294.46\n";

    #[test]
    fn of_1_0_what_was_not_asked_for_is_not_measured() {
        let result = one(NEW);
        let one = &result.measurements[0];
        assert!(one.read.is_none() && result.derived.is_empty(), "{result:?}");
        assert_eq!(one.syncs.map(Iops::get), Some(88_252.89));
        assert_eq!((one.work.direct, one.work.jobs), (Some(false), Some(8)));
        assert!(
            (one.write.as_ref().expect("writes").bytes_per_second.get() - 68_869.01 * 16_384.0).abs() < 1.0
        );
    }

    #[test]
    fn a_run_without_its_summary_is_what_its_reports_say() {
        let head = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\nNumber of threads: 1\nExtra file open flags: (none)\n\
            2GiB total file size\nBlock size 16KiB\nDoing random write test\n";
        let rows = "[ 1s ] reads: 0.00 MiB/s writes: 1.00 MiB/s fsyncs: 8829.31/s response time: 0.1ms (95%)\n\
            [ 2s ] reads: 0.00 MiB/s writes: 3.00 MiB/s fsyncs: 8830.31/s response time: 0.1ms (95%)\n";
        let result = one(&format!("{head}{rows}"));
        let one = &result.measurements[0];
        let rate = one.write.as_ref().expect("writes").bytes_per_second.get();
        assert!((rate - 2.0 * MIB).abs() < 1.0 && one.read.is_none() && result.truncated, "{result:?}");
        assert_eq!(one.syncs.map(Iops::get), Some(8829.81));
        assert!(read(&Page { name: "x", body: head }).is_empty());
    }

    #[test]
    fn what_fio_printed_below_it_is_not_its_own() {
        let below = "  read: IOPS=2003, BW=31.3MiB/s (32.8MB/s)(1877MiB/60001msec)\n";
        assert!(one(&format!("{NEW}{below}")).measurements[0].read.is_none());
    }

    #[test]
    fn of_1_1() {
        let result = one(
            "sysbench 1.1.0-df89d34 (using bundled LuaJIT 2.1.0-beta3)\nNumber of threads: 128\nExtra file open flags: (none)\n\
            64GiB total file size\nBlock size 16KiB\nDoing sequential write (creation) test\nThroughput:\n   \
            read:  IOPS=0.00 0.00 MiB/s (0.00 MB/s)\n   write: IOPS=31961.19 499.39 MiB/s (523.65 MB/s)\n   \
            fsync: IOPS=327500.24\nLatency (ms):\n   min:   0.00\n   avg:   0.33\n   sum:   71212319.19\n",
        );
        let one = &result.measurements[0];
        assert!(one.read.is_none() && result.derived.is_empty() && !result.truncated, "{result:?}");
        let rate = one.write.as_ref().expect("writes").bytes_per_second.get();
        assert!((rate - 523.65e6).abs() < 1e4, "{rate}");
        assert_eq!(one.syncs.map(Iops::get), Some(327_500.24));
    }

    #[test]
    fn a_rate_that_is_not_operations_times_the_block_contradicts_them() {
        assert_eq!(one(&NEW.replace("1076.08", "1176.08")).derived.len(), 1);
    }
}
