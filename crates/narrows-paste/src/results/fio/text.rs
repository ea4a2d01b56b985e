//! fio's normal output, versions 2 and 3.
//!
//! fio 2 writes `KB` and `MB` and means KiB and MiB (`kb_base=1024`); fio 3 writes `MiB/s` and, in brackets, decimal
//! `MB/s`. Versions 3.0 and 3.1 drop the fraction of the binary rate, so the one in brackets is taken.

use narrows_base::units::Bytes;

use super::json::failures;
use super::options::{self, pattern};
use super::rates::{self, Rate};
use crate::results::command::Commands;
use crate::results::number::{self, Base, after, number, scaled, size, value};
use crate::results::{
    Cpu, DeviceUse, Imported, Latency, Measured, Op, Page, Percentile, Side, Spread, Tool, Work,
};

/// The results of every run in the text.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut reader = FioTextReader { page: *page, ..FioTextReader::default() };
    let mut lines = page.lines().peekable();
    while let Some((number, line)) = lines.next() {
        match lines.next_if(|(_, next)| rates::is_broken(line, next)) {
            Some((_, rest)) => reader.line(number, &format!("{} {}", line.trim_end(), rest.trim_start())),
            None => reader.line(number, line),
        }
    }
    reader.end_run();
    reader.finish()
}

/// What the line before said that the next one goes on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum PercentileTable {
    /// Nothing.
    #[default]
    None,
    /// Percentiles of I/Os, with the nanoseconds of their unit.
    Io(u32),
    /// Percentiles of calls that make data durable.
    Sync(u32),
}

#[derive(Debug, Default)]
struct FioTextReader<'a> {
    page: Page<'a>,
    found: Vec<Imported>,
    run: Option<Imported>,
    commands: Commands,
    announced: Vec<Work>,
    version: Option<String>,
    op: Option<Op>,
    table: PercentileTable,
    in_disks: bool,
    /// The last group whose sums were seen. They stand below the last job of a run, in the order of their numbers.
    in_sums: Option<u64>,
    percentiles: Vec<Percentile>,
    started: Option<usize>,
    /// Whether the run is a part of an output that somebody quoted, without the heads of its jobs.
    in_part: bool,
    /// Whether what stands below the rates of a job was seen: another rate is of another job.
    is_ended: bool,
    parts: Vec<Imported>,
}

impl FioTextReader<'_> {
    /// The runs, and parts of others. A part that an output repeats is of that.
    fn finish(mut self) -> Vec<Imported> {
        let whole: Vec<Measured> = self.found.iter().flat_map(|run| run.measurements.clone()).collect();
        let is_known = |part: &Measured| {
            part.sides().all(|(op, side)| {
                whole.iter().any(|one| one.side(op).is_some_and(|known| is_same(known, side)))
            })
        };
        for part in &mut self.parts {
            part.measurements.retain(|one| !is_known(one));
        }
        self.found.extend(self.parts.into_iter().filter(|part| !part.measurements.is_empty()));
        self.found
    }

    fn line(&mut self, number: usize, raw: &str) {
        let line = raw.trim().trim_start_matches('\u{feff}');
        if self.table != PercentileTable::None && !line.starts_with('|') {
            self.end_table();
        }
        if let Some(work) = announced(line) {
            // Jobs are announced together, before any of them reports.
            if self.has_jobs() {
                self.end_run();
            }
            self.started.get_or_insert(number);
            self.announced.push(work);
            return;
        }
        // The next call ends the run before it, which is of the call that was seen then.
        if self.has_jobs() && Commands::is_call(raw, "fio") {
            self.end_run();
        }
        self.commands.see(number, raw, "fio");
        if let Some(version) = line.strip_prefix("fio-").filter(|rest| is_version(rest)) {
            if self.has_jobs() {
                self.end_run();
            }
            self.version = Some(version.to_owned());
        } else if let Some((label, jobs, error)) = group(line) {
            self.start(number, label, jobs, error);
        } else {
            self.inside(number, line);
        }
    }

    fn has_jobs(&self) -> bool {
        self.run.as_ref().is_some_and(|run| !run.measurements.is_empty())
    }

    fn start(&mut self, number: usize, label: &str, jobs: u32, error: i64) {
        if self.in_part || self.in_sums.is_some() && !self.is_of_client() {
            self.end_run();
        }
        let run_begins = self.started.unwrap_or(number);
        self.job(run_begins, number, label, Some(jobs), error);
    }

    /// Whether the last job is one of a client of a server: each of them has sums of its own.
    fn is_of_client(&self) -> bool {
        let last = self.run.as_ref().and_then(|run| run.measurements.last());
        last.is_some_and(|job| job.work.label.starts_with('<'))
    }

    fn job(&mut self, begins: usize, number: usize, label: &str, jobs: Option<u32>, error: i64) {
        let run = self.run.get_or_insert_with(|| Imported::new(Tool::Fio, self.page.name, begins));
        let known = self.announced.iter().rev().find(|one| one.label == label);
        let mut work = known.cloned().unwrap_or_default();
        work.label = label.to_owned();
        work.jobs = jobs;
        let mut measured = Measured::new(number, work);
        measured.error = error;
        run.measurements.push(measured);
        self.op = None;
        self.in_disks = false;
        self.in_sums = None;
        self.is_ended = false;
    }

    fn inside(&mut self, number: usize, line: &str) {
        let rates = rates::of_job(line);
        self.is_ended |= ["Run status group", "Disk stats", "cpu ", "IO depths", "issued"]
            .iter()
            .any(|head| line.starts_with(head));
        if !rates.is_empty() {
            rates.into_iter().for_each(|rate| self.rate(number, rate));
            if let Some(run) = self.run.as_mut() {
                run.left_out += rates::beyond(line);
            }
        } else if let Some(text) = line.strip_prefix("Run status group") {
            let group = value(text, "").map_or(0, |number| number as u64);
            if self.in_sums.is_some_and(|last| group <= last) && !self.is_of_client() {
                self.end_run();
            }
            self.op = None;
            self.in_disks = false;
            self.in_sums = Some(group);
        } else if line.starts_with("Disk stats") {
            self.in_disks = true;
        } else if let Some(rate) = rates::of_group(line) {
            self.group(number, line, rate);
        } else if self.in_disks {
            if let (Some(device), Some(run)) = (device(line), self.run.as_mut())
                && let [only] = run.measurements.as_mut_slice()
            {
                only.devices.push(device);
            }
        } else if self.in_sums.is_none() {
            self.detail(line);
        }
    }

    fn rate(&mut self, number: usize, rate: Rate) {
        // A job has each direction once, reads first (fio, `show_thread_status_normal` in `stat.c`): another rate is of another
        // run, of which nothing else stands there.
        let (is_ended, in_part) = (self.is_ended, self.in_part);
        let is_late = |one: &Measured| !in_part && rate.op == Op::Read && one.write.is_some();
        let is_other =
            self.current().is_none_or(|one| is_ended || one.side(rate.op).is_some() || is_late(one));
        if is_other {
            self.part(number, &rate.label);
        }
        self.put(rate);
    }

    /// The rate of a group of jobs: it is read where the jobs themselves are not told.
    fn group(&mut self, number: usize, line: &str, rate: Rate) {
        let jobs = self.run.iter().flat_map(|run| &run.measurements);
        let sides: Vec<&Side> = jobs.filter_map(|one| one.side(rate.op)).collect();
        // Of parts of several runs the last alone may be what it sums up.
        let is_sum = || {
            [0, sides.len().saturating_sub(1)]
                .iter()
                .any(|from| sides.get(*from..).is_some_and(|sides| rates::is_sum_of(&rate.side, sides)))
        };
        // Below the end of a text that was cut may stand the sums of a run whose own beginning was.
        let mut times = sides.iter().filter_map(|side| side.elapsed_ns).peekable();
        let is_foreign = times.peek().is_some() && !times.any(|time| rates::is_in_group(line, time));
        // Of jobs that were left out nothing but the sum is told.
        let is_foreign = is_foreign || !sides.is_empty() && rates::is_more_than(&rate.side, &sides);
        if !sides.is_empty() && !is_foreign && (!self.in_part || is_sum()) {
            return;
        }
        if !self.in_part || self.current().is_none_or(|one| one.side(rate.op).is_some()) {
            self.part(number, "");
        }
        self.put(rate);
    }

    /// Begins a measurement of which the head is missing.
    fn part(&mut self, number: usize, label: &str) {
        if self.has_jobs() && !self.in_part {
            self.end_run();
        }
        self.in_part = true;
        let label = match self.announced.as_slice() {
            [only] if label.is_empty() => only.label.clone(),
            _ => label.to_owned(),
        };
        self.job(self.started.unwrap_or(number), number, &label, None, 0);
    }

    fn put(&mut self, rate: Rate) {
        self.op = Some(rate.op);
        if let Some(run) = self.run.as_mut() {
            run.derived.extend(rate.wrong);
        }
        if let Some(measured) = self.current() {
            measured.put(rate.op, rate.side);
        }
    }

    fn current(&mut self) -> Option<&mut Measured> {
        self.run.as_mut()?.measurements.last_mut()
    }

    fn side(&mut self) -> Option<&mut Side> {
        let op = self.op?;
        self.current()?.side_mut(op).as_mut()
    }

    /// Lines below a rate, and those of the job as a whole.
    fn detail(&mut self, line: &str) {
        if line.starts_with('|') {
            return self.percentile_row(line);
        }
        if let Some(rest) = line.strip_prefix("clat percentiles").or(line.strip_prefix("lat percentiles")) {
            self.table = PercentileTable::Io(unit(rest));
        } else if let Some(rest) = line.strip_prefix("sync percentiles") {
            self.table = PercentileTable::Sync(unit(rest));
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
            PercentileTable::Io(unit) | PercentileTable::Sync(unit) => f64::from(unit),
            PercentileTable::None => return,
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
            PercentileTable::Io(_) => self.side().and_then(|side| side.latency_ns.as_mut()),
            PercentileTable::Sync(_) => self.current().and_then(|measured| measured.sync_ns.as_mut()),
            PercentileTable::None => None,
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
                if let Some(side) = measured.side_mut(op) {
                    side.ios = Some(count);
                }
            }
        }
    }

    fn end_run(&mut self) {
        if self.table != PercentileTable::None {
            self.end_table();
        }
        let command = self.commands.taken();
        if let Some(mut run) = self.run.take() {
            run.version = self.version.take();
            run.command = command;
            run.measurements.retain(|one| one.sides().next().is_some() || one.error != 0);
            options::fill_of_command(&mut run);
            run.failures = failures(&run.measurements);
            // Below the rates and latencies of a job stand its counts in every version of the output.
            let has_rates = run.measurements.iter().any(|one| one.sides().next().is_some());
            run.truncated = self.in_part || has_rates && !self.is_ended;
            run.is_headless = self.in_part;
            if run.is_empty() {
                // Nothing of it is told.
            } else if self.in_part {
                self.parts.push(run);
            } else {
                self.found.push(run);
            }
        }
        self.in_part = false;
        self.announced.clear();
        self.started = None;
        self.op = None;
        self.in_disks = false;
        self.in_sums = None;
    }
}

/// Whether two rates are one that is told twice.
fn is_same(one: &Side, other: &Side) -> bool {
    one.bytes_per_second == other.bytes_per_second && (one.iops == other.iops || other.iops.is_none())
}

/// The lines of fio's normal output, but for those of rates.
pub(super) fn is_version(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains(char::is_whitespace)
}

/// `name: (g=0): rw=read, bs=(R) 4096B-4096B, …, ioengine=libaio, iodepth=64`.
pub(super) fn announced(line: &str) -> Option<Work> {
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
        pattern: pattern(rw),
        block_size: block,
        queue_depth: depth,
        engine,
        ..Work::named(label.trim())
    })
}

/// `name: (groupid=0, jobs=1): err= 0: pid=…`.
pub(super) fn group(line: &str) -> Option<(&str, u32, i64)> {
    let (label, rest) = line.split_once(": (groupid=")?;
    let jobs = value(rest, "jobs=").map_or(1, |jobs| jobs as u32);
    let error = after(rest, "err=").and_then(|text| {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
        text.get(..end)?.parse().ok()
    });
    Some((label.trim(), jobs, error.unwrap_or(0)))
}

/// The nanoseconds of a unit in brackets: `(usec)`.
pub(super) fn unit(text: &str) -> u32 {
    match text {
        text if text.contains("nsec") => 1,
        text if text.contains("msec") => 1_000_000,
        text if text.contains("usec") => 1000,
        _ => 1_000_000_000,
    }
}

/// `clat (usec): min=2, max=139, avg= 4.34, stdev= 3.43`. Numbers may have a suffix: `max=17356k`.
pub(super) fn latency(line: &str) -> Option<Latency> {
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
pub(super) fn fill(side: &mut Side, line: &str) {
    let mean = |line: &str| latency(line).and_then(|latency| latency.mean);
    if line.starts_with("slat") {
        side.submission_ns = mean(line);
    } else if line.starts_with("clat (") {
        side.completion_ns = mean(line);
        side.latency_ns = latency(line);
    } else if line.starts_with("lat (") && line.contains("avg=") {
        side.latency_ns = latency(line);
    } else if (line.starts_with("bw (") || line.starts_with("iops ")) && line.contains("avg=") {
        let of = |key| after(line, key).and_then(number);
        if let Some((mean, deviation)) = of("avg=").zip(of("stdev=")) {
            let samples = of("samples=").map(|samples| samples as u64);
            let is_each_io = samples.zip(side.ios).is_some_and(|(samples, ios)| samples > ios / 2);
            side.spread = (mean > 0.0 && !is_each_io).then_some(Spread { mean, deviation, samples });
        }
    }
}

/// `nvme0n1: ios=5649889/2, merge=0/1, ticks=442006/0, in_queue=442006, util=99.47%`.
pub(super) fn device(line: &str) -> Option<DeviceUse> {
    let (name, rest) = line.split_once(": ios=")?;
    let counts = |text: &str| {
        let (first, rest) = number::whole(text)?;
        Some((first, rest.strip_prefix('/').and_then(number::count).unwrap_or(0)))
    };
    let (read_ios, write_ios) = counts(rest)?;
    let (read_merges, write_merges) = after(rest, "merge=").and_then(counts).unwrap_or_default();
    let sectors = after(rest, "sectors=").and_then(counts);
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
mod tests;
