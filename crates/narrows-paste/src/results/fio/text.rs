//! fio's normal output, versions 2 and 3.
//!
//! fio 2 writes `KB` and `MB` and means KiB and MiB (`kb_base=1024`); fio 3 writes `MiB/s` and, in brackets, decimal
//! `MB/s`. Versions 3.0 and 3.1 drop the fraction of the binary rate, so the one in brackets is taken.

use super::lines::{announced, device, fill, group, is_version, latency, unit};
use super::options::{self, Options};
use super::rates::{self, Rate};
use crate::results::command::Commands;
use crate::results::number::{self, Base, after, scaled, value};
use crate::results::{Cpu, Imported, Measured, Op, Page, Percentile, Side, Tool, Work};

/// The results of every run in the text.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["IOPS=", "iops=", "aggrb=", "READ: bw=", "WRITE: bw="]) {
        return Vec::new();
    }
    let mut reader = Reader::new(*page);
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
    /// Whether the run is a part of an output that somebody quoted, without the heads of its jobs.
    in_part: bool,
    /// Whether what stands below the rates of a job was seen: another rate is of another job.
    is_ended: bool,
    parts: Vec<Imported>,
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
            in_part: false,
            is_ended: false,
            parts: Vec::new(),
        }
    }

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
        } else {
            self.inside(number, line);
        }
    }

    fn start(&mut self, number: usize, label: &str, jobs: u32, error: i64) {
        if self.in_part {
            self.end_run();
        }
        let run_begins = self.started.unwrap_or(number);
        self.job(run_begins, number, label, Some(jobs), error);
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
        self.is_ended = false;
    }

    fn inside(&mut self, number: usize, line: &str) {
        let rates = rates::of_job(line);
        self.is_ended |= ["Run status group", "Disk stats", "cpu ", "IO depths", "issued"]
            .iter()
            .any(|head| line.starts_with(head));
        if !rates.is_empty() {
            rates.into_iter().for_each(|rate| self.rate(number, rate));
        } else if line.starts_with("Run status group") {
            self.op = None;
            self.in_disks = false;
        } else if line.starts_with("Disk stats") {
            self.in_disks = true;
        } else if let Some(rate) = rates::of_group(line) {
            self.group(number, rate);
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

    fn rate(&mut self, number: usize, rate: Rate) {
        // A job has each direction once: another rate is of another run, of which nothing else stands there.
        let is_ended = self.is_ended;
        let is_other = self.current().is_none_or(|one| is_ended || one.side(rate.op).is_some());
        if is_other {
            self.part(number, &rate.label);
        }
        self.put(rate);
    }

    /// The rate of a group of jobs: it is read where the jobs themselves are not told.
    fn group(&mut self, number: usize, rate: Rate) {
        let jobs = self.run.iter().flat_map(|run| &run.measurements);
        let mut sides = jobs.filter_map(|one| one.side(rate.op)).peekable();
        let is_told = sides.peek().is_some() && (!self.in_part || rates::is_sum_of(&rate.side, sides));
        if is_told {
            return;
        }
        if !self.in_part || self.current().is_none_or(|one| one.side(rate.op).is_some()) {
            self.part(number, "");
        }
        self.put(rate);
    }

    /// Begins a measurement of which the head is missing.
    fn part(&mut self, number: usize, label: &str) {
        if self.run.as_ref().is_some_and(|run| !run.measurements.is_empty()) && !self.in_part {
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
            run.truncated = self.in_part;
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
        self.commands.forget();
        self.started = None;
        self.op = None;
        self.in_disks = false;
    }
}

/// Whether two rates are one that is told twice.
fn is_same(one: &Side, other: &Side) -> bool {
    one.bytes_per_second == other.bytes_per_second && (one.iops == other.iops || other.iops.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::units::{Bytes, Nanos};

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
    fn what_people_quote_of_an_output_is_read_and_marked_as_a_part() {
        let line = "  read: IOPS=185, BW=92.7MiB/s (97.2MB/s)(128MiB/1381msec)\n    clat (usec): min=49, max=77227, avg=2304.87, stdev=10577.33\n";
        let part = one(line);
        assert!(part.truncated);
        let read = part.measurements[0].read.as_ref().expect("reads");
        assert_eq!((read.bytes_per_second.get(), read.completion_ns), (97.2e6, Some(2_304_870.0)));
        let broken = one(&line.replace(" (97.2", "\n(97.2"));
        let side = |one: &Imported| one.measurements[0].read.clone();
        assert_eq!(side(&broken), side(&part), "a mail program broke the line");
        let two = one(&format!("before\n{line}after\n{}", line.replace("97.2", "97.3")));
        assert_eq!(two.measurements.len(), 2);
        // What is quoted above its own output is told once.
        let rate = "  write: IOPS=18.6k, BW=72.8MiB/s (76.4MB/s)(22.0MiB/302msec)\n";
        assert!(!one(&format!("{rate}\n{NEW}")).truncated);
        assert_eq!(read_all(&format!("{NEW}\nwith the patch:\n{}", rate.replace("76.4", "76.5"))), 2);
    }

    fn read_all(body: &str) -> usize {
        read(&Page { name: "x", body }).len()
    }

    #[test]
    fn a_group_is_read_where_its_jobs_are_not() {
        let group = "Run status group 0 (all jobs):\n   READ: bw=15.8MiB/s (16.5MB/s), 7459KiB/s-8671KiB/s (7638kB/s-8879kB/s), io=964MiB (1010MB), run=61179-61179msec\n  \
            WRITE: bw=15.8MiB/s (16.6MB/s), 7490KiB/s-8682KiB/s (7670kB/s-8890kB/s), io=966MiB (1013MB), run=61179-61179msec\n";
        let part = one(&format!("x: (g=0): rw=randrw, bs=4k, ioengine=psync, iodepth=1\n...\n{group}"));
        let measured = &part.measurements[0];
        assert_eq!(
            (measured.work.label.as_str(), measured.read.is_some(), measured.write.is_some()),
            ("x", true, true)
        );
        let job = "x: (groupid=0, jobs=1): err= 0: pid=1\n  read: IOPS=4000, BW=15.8MiB/s (16.5MB/s)(964MiB/61179msec)\n  write: IOPS=4000, BW=15.8MiB/s (16.6MB/s)(966MiB/61179msec)\n";
        assert_eq!(one(&format!("{job}{group}")).measurements.len(), 1);
        assert_eq!(
            one(&format!("{group}\nlater\n{}", group.replace("16.", "17.").replace("io=96", "io=86")))
                .measurements
                .len(),
            2
        );
    }

    #[test]
    fn a_rate_below_the_end_of_a_job_is_none_of_its_own() {
        let job = "x: (groupid=0, jobs=1): err= 0: pid=1\n  write: IOPS=18.6k, BW=72.8MiB/s (76.4MB/s)(22.0MiB/302msec)\n  cpu          : usr=7.15%, sys=37.12%, ctx=127008\n";
        let found = read(&Page {
            name: "x",
            body: &format!(
                "{job}\nand over the network:\nread: IOPS=20.0k, BW=78.3MiB/s (82.1MB/s)(3070MiB/39227msec)\n"
            ),
        });
        let sides: Vec<usize> =
            found.iter().flat_map(|one| &one.measurements).map(|one| one.sides().count()).collect();
        assert_eq!((found.len(), sides), (2, vec![1, 1]));
    }

    #[test]
    fn two_runs_in_one_text_are_two_results() {
        let both = format!("{NEW}\n{NEW}");
        assert_eq!(read(&Page { name: "x", body: &both }).len(), 2);
    }
}
