//! fio's normal output, versions 2 and 3.
//!
//! fio 2 writes `KB` and `MB` and means KiB and MiB (`kb_base=1024`); fio 3 writes `MiB/s` and, in brackets, decimal
//! `MB/s`. Versions 3.0 and 3.1 drop the fraction of the binary rate, so the one in brackets is taken.

use super::options::{self, Options, pattern};
use crate::results::command::Commands;
use crate::results::number::{self, Base, after, leading, scaled, size, value};
use crate::results::{
    Cpu, DeviceUse, Imported, Latency, Measured, Op, Page, Percentile, Side, Spread, Tool, Work,
};
use narrows_base::units::{Bytes, Iops, Nanos};

/// The results of every run in the text.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["IOPS=", "iops="]) {
        return Vec::new();
    }
    let mut reader = Reader::new(*page);
    for (number, line) in page.lines() {
        reader.line(number, line);
    }
    reader.end_run();
    reader.found
}

/// What the line before said that the next one goes on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Table {
    /// Nothing.
    #[default]
    None,
    /// Percentiles of I/Os, with the nanoseconds of their unit.
    Io(u32),
    /// Percentiles of calls that make data durable.
    Sync(u32),
}

#[derive(Debug)]
struct Reader<'a> {
    page: Page<'a>,
    found: Vec<Imported>,
    run: Option<Imported>,
    commands: Commands,
    announced: Vec<Work>,
    version: Option<String>,
    op: Option<Op>,
    table: Table,
    in_disks: bool,
    percentiles: Vec<Percentile>,
    started: Option<usize>,
}

impl<'a> Reader<'a> {
    fn new(page: Page<'a>) -> Self {
        Self {
            page,
            found: Vec::new(),
            run: None,
            commands: Commands::default(),
            announced: Vec::new(),
            version: None,
            op: None,
            table: Table::None,
            in_disks: false,
            percentiles: Vec::new(),
            started: None,
        }
    }

    fn line(&mut self, number: usize, raw: &str) {
        let line = raw.trim().trim_start_matches('\u{feff}');
        if self.table != Table::None && !line.starts_with('|') {
            self.end_table();
        }
        if let Some(work) = announced(line) {
            // Jobs are announced together, before any of them reports.
            if self.run.as_ref().is_some_and(|run| !run.measurements.is_empty()) {
                self.end_run();
            }
            self.started.get_or_insert(number);
            self.announced.push(work);
            return;
        }
        // The next call ends the run before it, which is of the call that was seen then.
        if self.run.as_ref().is_some_and(|run| !run.measurements.is_empty()) && Commands::is_call(raw, "fio")
        {
            self.end_run();
        }
        self.commands.see(number, raw, "fio");
        if let Some(version) = line.strip_prefix("fio-").filter(|rest| is_version(rest)) {
            if self.run.as_ref().is_some_and(|run| !run.measurements.is_empty()) {
                self.end_run();
            }
            self.version = Some(version.to_owned());
        } else if let Some((label, jobs, error)) = group(line) {
            self.start(number, label, jobs, error);
        } else if self.run.is_some() || self.started.is_some() || is_rate(line) {
            self.inside(number, line);
        }
    }

    fn start(&mut self, number: usize, label: &str, jobs: u32, error: i64) {
        let begins = self.started.unwrap_or(number);
        let run = self.run.get_or_insert_with(|| Imported::new(Tool::Fio, self.page.name, begins));
        let known = self.announced.iter().rev().find(|one| one.label == label);
        let mut work = known.cloned().unwrap_or_default();
        work.label = label.to_owned();
        work.jobs = Some(jobs);
        let mut measured = Measured::new(number, work);
        measured.error = error;
        run.measurements.push(measured);
        self.op = None;
        self.in_disks = false;
    }

    fn inside(&mut self, number: usize, line: &str) {
        if line.starts_with("Run status group") {
            self.op = None;
            self.in_disks = false;
        } else if line.starts_with("Disk stats") {
            self.in_disks = true;
        } else if let Some((op, side)) = rate_line(line) {
            self.rate(number, op, side);
        } else if self.in_disks {
            if let (Some(device), Some(run)) = (device(line), self.run.as_mut())
                && let [only] = run.measurements.as_mut_slice()
            {
                only.devices.push(device);
            }
        } else {
            self.detail(line);
        }
    }

    fn rate(&mut self, number: usize, op: Op, side: Side) {
        if self.run.as_ref().is_none_or(|run| run.measurements.is_empty()) {
            // A summary line alone, as people quote it. What goes before a full output is a repetition of it.
            if self.started.is_none() {
                return;
            }
            let label = self.announced.last().map(|one| one.label.clone()).unwrap_or_default();
            self.start(number, &label, 1, 0);
        }
        self.op = Some(op);
        if let Some(measured) = self.current() {
            measured.put(op, side);
        }
    }

    fn current(&mut self) -> Option<&mut Measured> {
        self.run.as_mut()?.measurements.last_mut()
    }

    fn side(&mut self) -> Option<&mut Side> {
        let op = self.op?;
        let measured = self.current()?;
        match op {
            Op::Read => measured.read.as_mut(),
            Op::Write => measured.write.as_mut(),
        }
    }

    /// Lines below a rate, and those of the job as a whole.
    fn detail(&mut self, line: &str) {
        if line.starts_with('|') {
            return self.percentile_row(line);
        }
        if let Some(rest) = line.strip_prefix("clat percentiles").or(line.strip_prefix("lat percentiles")) {
            self.table = Table::Io(unit(rest));
        } else if let Some(rest) = line.strip_prefix("sync percentiles") {
            self.table = Table::Sync(unit(rest));
        } else if let Some(rest) = line.strip_prefix("cpu ") {
            let percent = |key| value(rest, key).map(|percent| percent / 100.0);
            let cpu = percent("usr=").zip(percent("sys=")).map(|(user, system)| Cpu { user, system });
            if let Some(measured) = self.current() {
                measured.cpu = cpu;
            }
        } else if line.starts_with("issued") {
            self.issued(line);
        } else if line.starts_with("latency") && line.contains("depth=") {
            let depth = value(line, "depth=").map(|depth| depth as u32);
            if let Some(measured) = self.current() {
                measured.work.queue_depth = measured.work.queue_depth.or(depth);
            }
        } else if line.starts_with("sync (") || line.starts_with("sync  (") {
            let latency = latency(line);
            if let Some(measured) = self.current() {
                measured.sync_ns = latency;
            }
        } else if let Some(side) = self.side() {
            fill(side, line);
        }
    }

    /// ` |  1.00th=[11584],  5.00th=[11712],` in the unit of the heading.
    fn percentile_row(&mut self, line: &str) {
        let unit = match self.table {
            Table::Io(unit) | Table::Sync(unit) => f64::from(unit),
            Table::None => return,
        };
        for cell in line.trim_start_matches('|').split("],") {
            let Some((percent, value)) = cell.split_once("th=[") else { continue };
            if let (Some(percent), Some(value)) =
                (number::plain(percent), scaled(value.trim_end_matches(']'), Base::Decimal))
            {
                self.percentiles.push(Percentile { percent, latency_ns: value * unit });
            }
        }
    }

    fn end_table(&mut self) {
        let percentiles = std::mem::take(&mut self.percentiles);
        let latency = match std::mem::take(&mut self.table) {
            Table::Io(_) => self.side().and_then(|side| side.latency_ns.as_mut()),
            Table::Sync(_) => self.current().and_then(|measured| measured.sync_ns.as_mut()),
            Table::None => None,
        };
        if let Some(latency) = latency {
            *latency = std::mem::take(latency).with_percentiles(percentiles);
        }
    }

    /// `issued rwts: total=0,5632,0,0 …`; fio 2: `issued    : total=r=262144/w=0/d=0, …`.
    fn issued(&mut self, line: &str) {
        let Some(rest) = after(line, "total=") else { return };
        let counts: Vec<u64> = rest
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .split([',', '/'])
            .map_while(|word| word.trim_start_matches(['r', 'w', 'd', '=']).parse().ok())
            .collect();
        if let Some(measured) = self.current() {
            for (op, count) in [Op::Read, Op::Write].into_iter().zip(counts) {
                let side = match op {
                    Op::Read => measured.read.as_mut(),
                    Op::Write => measured.write.as_mut(),
                };
                if let Some(side) = side {
                    side.ios = Some(count);
                }
            }
        }
    }

    fn end_run(&mut self) {
        if self.table != Table::None {
            self.end_table();
        }
        let command = self.commands.last().map(str::to_owned);
        let options: Options = command.as_deref().map(options::of_command).unwrap_or_default();
        if let Some(mut run) = self.run.take() {
            run.version = self.version.take();
            run.measurements.retain(|one| one.read.is_some() || one.write.is_some() || one.error != 0);
            for measured in &mut run.measurements {
                // A job file's options are not in the command that names it.
                options::fill(&mut measured.work, &options, options.contains_key("name"));
                measured.logs = options::log_prefix(&options, &measured.work.label);
            }
            let errors = run.measurements.iter().filter(|one| one.error != 0);
            let failures: Vec<String> = errors
                .map(|one| format!("job `{}` ended with error {}", one.work.label, one.error))
                .collect();
            run.failures = failures;
            run.command = command;
            if !run.is_empty() {
                self.found.push(run);
            }
        }
        self.announced.clear();
        self.commands.forget();
        self.started = None;
        self.op = None;
        self.in_disks = false;
    }
}

fn is_version(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains(char::is_whitespace)
}

/// `name: (g=0): rw=read, bs=(R) 4096B-4096B, …, ioengine=libaio, iodepth=64`.
fn announced(line: &str) -> Option<Work> {
    let (label, rest) = line.split_once(": (g=")?;
    let options = rest.split_once("): rw=").map(|(_, rest)| rest)?;
    let rw = options.split(',').next()?;
    let block = after(options, "bs=").and_then(|text| {
        let text = text.strip_prefix("(R)").unwrap_or(text).trim_start();
        size(text.split(['-', ',', '/']).next()?, Base::Binary)
    });
    let engine =
        after(options, "ioengine=").map(|rest| rest.split(',').next().unwrap_or(rest).trim().to_owned());
    let depth = value(options, "iodepth=").map(|depth| depth as u32);
    Some(Work {
        label: label.trim().to_owned(),
        pattern: pattern(rw),
        block_size: block,
        queue_depth: depth,
        engine,
        ..Work::default()
    })
}

/// `name: (groupid=0, jobs=1): err= 0: pid=…`.
fn group(line: &str) -> Option<(&str, u32, i64)> {
    let (label, rest) = line.split_once(": (groupid=")?;
    let jobs = value(rest, "jobs=").map_or(1, |jobs| jobs as u32);
    let error = after(rest, "err=").and_then(|text| {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
        text.get(..end)?.parse().ok()
    });
    Some((label.trim(), jobs, error.unwrap_or(0)))
}

fn is_rate(line: &str) -> bool {
    rate_line(line).is_some()
}

/// `read: IOPS=332k, BW=1299MiB/s (1362MB/s)(19.0GiB/15001msec)`, or
/// `read : io=4096.0MB, bw=57875KB/s, iops=14468, runt= 72472msec`.
fn rate_line(line: &str) -> Option<(Op, Side)> {
    let (word, rest) = line.split_once(':')?;
    let op = match word.trim() {
        "read" => Op::Read,
        "write" => Op::Write,
        _ => return None,
    };
    let side = if rest.contains("IOPS=") { new_rate(rest)? } else { old_rate(rest)? };
    Some((op, side))
}

fn new_rate(rest: &str) -> Option<Side> {
    let iops = scaled(after(rest, "IOPS=")?, Base::Decimal).map(Iops::new);
    let binary = number::rate(after(rest, "BW=")?, Base::Binary)?;
    let mut brackets = rest.split('(').skip(1).map(|part| part.split(')').next().unwrap_or(part));
    let decimal = brackets.next().and_then(|text| number::rate(text, Base::Decimal));
    let (amount, time) = brackets.next().and_then(|text| text.split_once('/')).unzip();
    let elapsed = time.and_then(|time| value(time, "")).map(|millis| Nanos::from_millis(millis as u64));
    Some(Side {
        bytes_per_second: decimal.filter(|rate| rate.get() > 0.0).unwrap_or(binary),
        iops,
        bytes: amount.and_then(|text| size(text, Base::Binary)),
        elapsed_ns: elapsed,
        ..Side::default()
    })
}

fn old_rate(rest: &str) -> Option<Side> {
    let rate = number::rate(after(rest, "bw=")?, Base::Binary)?;
    Some(Side {
        bytes_per_second: rate,
        iops: after(rest, "iops=").and_then(|text| scaled(text, Base::Decimal)).map(Iops::new),
        bytes: after(rest, "io=").and_then(|text| size(text, Base::Binary)),
        elapsed_ns: value(rest, "runt=").map(|millis| Nanos::from_millis(millis as u64)),
        ..Side::default()
    })
}

/// The nanoseconds of a unit in brackets: `(usec)`.
fn unit(text: &str) -> u32 {
    match text {
        text if text.contains("nsec") => 1,
        text if text.contains("msec") => 1_000_000,
        text if text.contains("usec") => 1000,
        _ => 1_000_000_000,
    }
}

/// `clat (usec): min=2, max=139, avg= 4.34, stdev= 3.43`. Numbers may have a suffix: `max=17356k`.
fn latency(line: &str) -> Option<Latency> {
    let (head, rest) = line.split_once(':')?;
    let unit = f64::from(unit(head));
    let of = |key| after(rest, key).and_then(|text| scaled(suffixed(text), Base::Decimal)).map(|n| n * unit);
    Some(Latency { mean: Some(of("avg=")?), max: of("max="), ..Latency::default() })
}

/// A number with its own suffix, without the comma behind it.
fn suffixed(text: &str) -> &str {
    text.split([' ', ',']).next().unwrap_or(text)
}

/// What a line below a rate tells of it.
fn fill(side: &mut Side, line: &str) {
    let mean = |line: &str| latency(line).and_then(|latency| latency.mean);
    if line.starts_with("slat") {
        side.submission_ns = mean(line);
    } else if line.starts_with("clat (") {
        side.completion_ns = mean(line);
        side.latency_ns = latency(line);
    } else if line.starts_with("lat (") && line.contains("avg=") {
        side.latency_ns = latency(line);
    } else if (line.starts_with("bw (") || line.starts_with("iops ")) && line.contains("avg=") {
        let of = |key| after(line, key).and_then(leading).map(|(number, _)| number);
        if let Some((mean, deviation)) = of("avg=").zip(of("stdev=")) {
            let samples = of("samples=").map(|samples| samples as u64);
            let is_each_io = samples.zip(side.ios).is_some_and(|(samples, ios)| samples > ios / 2);
            side.spread = (mean > 0.0 && !is_each_io).then_some(Spread { mean, deviation, samples });
        }
    }
}

/// `nvme0n1: ios=5649889/2, merge=0/1, ticks=442006/0, in_queue=442006, util=99.47%`.
fn device(line: &str) -> Option<DeviceUse> {
    let (name, rest) = line.split_once(": ios=")?;
    let pair = |key: &str| {
        let text = after(rest, key)?;
        let (first, rest) = number::whole(text)?;
        let second = rest.strip_prefix('/').and_then(number::whole).map_or(0, |(second, _)| second);
        Some((first, second))
    };
    let (read_ios, write_ios) = {
        let (first, tail) = number::whole(rest)?;
        (first, tail.strip_prefix('/').and_then(number::whole).map_or(0, |(second, _)| second))
    };
    let (read_merges, write_merges) = pair("merge=").unwrap_or_default();
    let sectors = pair("sectors=");
    let bytes = |count: u64| Bytes::from_sectors(narrows_base::units::Sectors512::new(count));
    Some(DeviceUse {
        name: name.trim().to_owned(),
        read_ios,
        write_ios,
        read_merges,
        write_merges,
        read_bytes: sectors.map(|(read, _)| bytes(read)),
        write_bytes: sectors.map(|(_, write)| bytes(write)),
        busy: value(rest, "util=").map(|percent| percent / 100.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: &str = "\
root@nas[~]# fio --rw=write --ioengine=sync --fdatasync=1 --size=22m --bs=4k --name=mytest --filename=/dev/nvme1n1
mytest: (g=0): rw=write, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=sync, iodepth=1
fio-3.25
mytest: (groupid=0, jobs=1): err= 0: pid=1683564: Tue Jul  4 02:56:33 2023
  write: IOPS=18.6k, BW=72.8MiB/s (76.4MB/s)(22.0MiB/302msec); 0 zone resets
    clat (usec): min=2, max=139, avg= 4.34, stdev= 3.43
     lat (usec): min=3, max=139, avg= 4.53, stdev= 3.44
    clat percentiles (usec):
     |  1.00th=[    4],  5.00th=[    4], 50.00th=[    4],
     | 99.00th=[   12], 99.50th=[   18],
     | 99.99th=[  139]
  lat (usec)   : 4=70.95%, 10=27.36%
  fsync/fdatasync/sync_file_range:
    sync (usec): min=41, max=109, avg=47.60, stdev= 4.93
    sync percentiles (usec):
     |  1.00th=[   43], 50.00th=[   47], 99.00th=[   68]
  cpu          : usr=15.95%, sys=12.62%, ctx=5631, majf=0, minf=14
     issued rwts: total=0,5632,0,0 short=5631,0,0,0 dropped=0,0,0,0
     latency   : target=0, window=0, percentile=100.00%, depth=1

Disk stats (read/write):
  nvme1n1: ios=0/2568, merge=0/0, ticks=0/103, in_queue=103, util=57.63%
";

    fn one(body: &str) -> Imported {
        let mut all = read(&Page { name: "x", body });
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    #[test]
    fn a_run_of_version_3() {
        let result = one(NEW);
        assert_eq!((result.version.as_deref(), result.line), (Some("3.25"), 2));
        let run = &result.measurements[0];
        let write = run.write.as_ref().expect("writes");
        assert_eq!(write.bytes_per_second.get(), 76.4e6);
        assert_eq!(write.bytes, Some(Bytes::from_mib(22)));
        assert_eq!(write.ios, Some(5632));
        assert_eq!(write.elapsed_ns, Some(Nanos::from_millis(302)));
        let latency = write.latency_ns.as_ref().expect("latency");
        assert_eq!((latency.mean, latency.p99, latency.max), (Some(4530.0), Some(12_000.0), Some(139_000.0)));
        assert_eq!(run.sync_ns.as_ref().and_then(|sync| sync.p50), Some(47_000.0));
        assert_eq!(run.devices[0].write_ios, 2568);
        assert_eq!(run.work.durability, Some(crate::results::Durability::Each));
        assert_eq!(run.work.direct, Some(false));
    }

    #[test]
    fn a_run_of_version_2_means_mebibytes() {
        let body = "\
JOB: (g=0): rw=read, bs=1M-1M/1M-1M/1M-1M, ioengine=libaio, iodepth=1
fio-2.16
JOB: (groupid=0, jobs=10): err= 0: pid=16019: Wed Nov  7 17:27:09 2018
  read : io=1000.0MB, bw=5586.7MB/s, iops=5586, runt=   179msec
    slat (usec): min=154, max=31358, avg=1426.10, stdev=2935.67
    clat (usec): min=0, max=20, avg= 2.53, stdev= 1.37
     lat (usec): min=155, max=31363, avg=1435.98, stdev=2941.15
";
        let result = one(body);
        let run = &result.measurements[0];
        let read = run.read.as_ref().expect("reads");
        assert_eq!(read.bytes_per_second.get(), 5586.7 * 1_048_576.0);
        assert_eq!((run.work.jobs, run.work.block_size), (Some(10), Some(Bytes::from_mib(1))));
        assert_eq!((read.submission_ns, read.completion_ns), (Some(1_426_100.0), Some(2530.0)));
    }

    #[test]
    fn two_runs_in_one_text_are_two_results() {
        let both = format!("{NEW}\n{NEW}");
        assert_eq!(read(&Page { name: "x", body: &both }).len(), 2);
    }
}
