//! Vdbench: `summary.html`, `totals.html`, `flatfile.html` and what it prints meanwhile, for block and for file
//! workloads.
//!
//! Its MB are 1024² bytes, as the heading says (`1024**2`) and the comments of `flatfile.html` do. Response times are
//! milliseconds. An average line (`avg_2-5`) leaves out the first interval, or the warm-up.

use narrows_base::units::{BytesPerSec, Iops};
use narrows_base::workload::Pattern;

use super::csv::Columns;
use super::number::{Base, MIB, number, seconds, size, to_bytes};
use super::{Imported, Latency, Measured, Op, Page, Side, Spread, Tool, Work};

/// One interval, or the average of several.
#[derive(Debug, Clone, Default, PartialEq)]
struct VdbenchSample {
    /// I/Os or requests per second.
    rate: f64,
    /// Bytes per second of both directions.
    bytes: f64,
    /// Bytes of an I/O.
    size: f64,
    /// The part of reads, from 0 to 1.
    reads: f64,
    /// Bytes per second that were read and written, where a file workload tells both.
    sides: Option<(f64, f64)>,
    /// I/Os per second that were reads and writes, where a file workload tells both.
    ios: Option<(f64, f64)>,
    /// Milliseconds of an I/O, of a read, of a write.
    response: f64,
    read_response: Option<f64>,
    write_response: Option<f64>,
    /// The longest of all, of reads, of writes.
    longest: [Option<f64>; 3],
}

impl VdbenchSample {
    /// What columns have, by their names or places: the rate, the MB/s, the size of an I/O and the percentage of reads; the response
    /// times of all, of reads and of writes, and the longest of each.
    fn of<K>(
        sums: [K; 4],
        responses: [K; 3],
        longest: Option<[K; 3]>,
        cell: impl Fn(K) -> Option<f64>,
    ) -> Option<Self> {
        let [rate, mib, size, reads] = sums.map(&cell);
        let [response, read_response, write_response] = responses.map(&cell);
        let (rate, mib, size) = (rate?, mib?, size?);
        // Two digits behind the point are printed: of little that is no more than the order of magnitude.
        const LITTLE: f64 = 0.5;
        let made = Some(rate * size).filter(|made| mib < LITTLE && (made / MIB - mib).abs() <= 0.01);
        Some(Self {
            rate,
            bytes: made.unwrap_or(mib * MIB),
            size,
            reads: reads? / 100.0,
            response: response?,
            read_response,
            write_response,
            longest: longest.map(|names| names.map(&cell)).unwrap_or_default(),
            ..Self::default()
        })
    }

    /// Whether what a row says twice agrees as far as two decimals let it: a row of another table does not.
    fn is_sound(&self) -> bool {
        /// Rates have two decimals of MB, and the size of an I/O none.
        const LAST_DIGIT: f64 = 0.011 * MIB;
        let near = |one: f64, other: f64| (one - other).abs() <= LAST_DIGIT + 0.01 * one.max(other);
        match self.sides {
            Some((read, write)) => near(read + write, self.bytes),
            None => near(self.rate * self.size, self.bytes),
        }
    }
}

/// The reports for people: a heading of two lines, a line for each interval, and the average at the end.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut reader = ReportReader::default();
    for (number, line) in page.lines() {
        reader.see(number, line);
    }
    imported(page.name, reader.version, &reader.runs)
}

/// What the columns are.
#[derive(Debug, Clone, PartialEq)]
enum ReportHeading {
    /// Block workloads: the two words of each column.
    Block(Vec<String>),
    /// File workloads, whose first columns are always the same; whether the part of reads is one of them.
    File,
}

#[derive(Debug, Default)]
struct ReportReader {
    runs: Vec<VdbenchRun>,
    heading: Option<ReportHeading>,
    above: String,
    version: Option<String>,
}

impl ReportReader {
    fn see(&mut self, number: usize, line: &str) {
        if let Some((_, version)) = line.split_once("Vdbench distribution: ") {
            let word = version.split_whitespace().next();
            self.version = word.map(|word| word.trim_start_matches("vdbench").to_owned());
        } else if let Some((_, name)) = line.split_once("Starting RD=") {
            let (name, settings) = name.split_once(';').unwrap_or((name, ""));
            let mut run = VdbenchRun { line: number, name: name.trim().to_owned(), ..VdbenchRun::default() };
            run.set(settings);
            self.runs.push(run);
        } else if line.contains("1024**2") {
            self.heading = block_heading(&self.above, line);
        } else if line.contains("ReqstdOps") {
            self.heading = Some(ReportHeading::File);
        } else {
            self.row(number, line);
        }
        if !line.trim().is_empty() {
            line.clone_into(&mut self.above);
        }
    }

    /// `16:35:20.063        31  312322.60  2440.02    8192  70.06 …`; the time may be missing.
    fn row(&mut self, number: usize, line: &str) {
        let Some(heading) = &self.heading else { return };
        let mut words = line.split_whitespace().peekable();
        let time = words.peek().and_then(|word| report_time_of(word));
        if time.is_some() {
            words.next();
        }
        let Some(interval) = words.next() else { return };
        let average = averaged(interval);
        if average.is_none() && interval.parse::<u32>().is_err() {
            return;
        }
        let values: Vec<Option<f64>> =
            words.map(|word| word.parse().ok().filter(|n: &f64| n.is_finite())).collect();
        let sample = match heading {
            ReportHeading::Block(columns) => block_sample(columns, &values),
            ReportHeading::File => file_sample(&values),
        };
        let Some(sample) = sample.filter(VdbenchSample::is_sound) else { return };
        if self.runs.last().is_none_or(|run| run.average.is_some()) {
            self.runs.push(VdbenchRun { line: number, ..VdbenchRun::default() });
        }
        if let Some(run) = self.runs.last_mut() {
            run.add(sample, average, time);
        }
    }
}

/// Seconds of the day: `16:35:20.063`.
fn report_time_of(word: &str) -> Option<f64> {
    let parts: Vec<f64> = word.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [hours, minutes, seconds] = parts.as_slice() else { return None };
    Some(hours * 3600.0 + minutes * 60.0 + seconds)
}

/// The words of both lines of a heading, column by column. Above, the date and the word `interval` stand first.
fn block_heading(above: &str, below: &str) -> Option<ReportHeading> {
    let at = above.to_lowercase().find("interval")? + "interval".len();
    let above = above.get(at..)?.trim_start_matches('.').split_whitespace();
    let columns: Vec<String> =
        above.zip(below.split_whitespace()).map(|(above, below)| format!("{above} {below}")).collect();
    (columns.len() >= 5).then_some(ReportHeading::Block(columns))
}

fn block_sample(columns: &[String], values: &[Option<f64>]) -> Option<VdbenchSample> {
    let sums = ["i/o rate", "MB/sec 1024**2", "bytes i/o", "read pct"];
    let responses = ["resp time", "read resp", "write resp"];
    VdbenchSample::of(sums, responses, Some(["resp max", "read max", "write max"]), |name| {
        let at = columns.iter().position(|column| column == name)?;
        values.get(at).copied().flatten()
    })
}

/// The columns of file workloads: rate, resp, cpu total, sys, read pct, read rate, resp, write rate, resp, MB/sec read,
/// write, total, transfer size.
fn file_sample(values: &[Option<f64>]) -> Option<VdbenchSample> {
    let value = |at: usize| values.get(at).copied().flatten();
    Some(VdbenchSample {
        sides: value(9).zip(value(10)).map(|(read, write)| (read * MIB, write * MIB)),
        ios: value(5).zip(value(7)),
        ..VdbenchSample::of([0, 11, 12, 4], [1, 6, 8], None, value)?
    })
}

/// `flatfile.html`: every interval and average of every run on one line, behind one line of names. Lines that begin with
/// an asterisk are comments; what was not measured is `n/a`.
pub(super) fn read_flat(page: &Page<'_>) -> Vec<Imported> {
    let mut columns: Option<Columns> = None;
    let mut runs: Vec<VdbenchRun> = Vec::new();
    let mut version = None;
    for (line, row) in page.lines() {
        let words: Vec<&str> = row.split_whitespace().collect();
        if row.trim_start().starts_with('*') {
            continue;
        }
        if words.contains(&"reqrate") && words.contains(&"Interval") {
            columns = Some(Columns::named(words));
            continue;
        }
        let Some(columns) = &columns else { continue };
        let text = |name: &str| columns.text(&words, name).filter(|word| *word != "n/a");
        let number = |name: &str| columns.number(&words, name);
        let sums = ["rate", "MB/sec", "bytes/io", "read%"];
        let responses = ["resp", "read_resp", "write_resp"];
        let longest = ["resp_max", "read_max", "write_max"];
        let sample = VdbenchSample::of(sums, responses, Some(longest), |name| match name {
            "bytes/io" => number(name).or_else(|| Some(size(text("xfersize")?, Base::Binary)?.as_f64())),
            _ => number(name),
        });
        // A row that was cut off has fewer words than names.
        let (Some(name), Some(interval), Some(sample)) = (text("Run"), text("Interval"), sample) else {
            continue;
        };
        if runs.last().is_none_or(|run| run.name != name || run.average.is_some()) {
            runs.push(VdbenchRun { line, name: name.to_owned(), ..VdbenchRun::default() });
        }
        let Some(run) = runs.last_mut() else { continue };
        run.threads = number("threads").filter(|threads| *threads < 1e6).map(|threads| threads as u32);
        run.seeks = number("seekpct").map(|percent| percent / 100.0);
        version = text("version").map(str::to_owned).or(version);
        let average = averaged(interval);
        if average.is_some() || interval.parse::<u32>().is_ok() {
            run.add(sample, average, text("tod").and_then(report_time_of));
        }
    }
    imported(page.name, version, &runs)
}

/// Fewer intervals show nothing of how steady a rate was.
const FEWEST: usize = 5;

/// What one `rd=` did.
#[derive(Debug, Clone, Default)]
struct VdbenchRun {
    /// The line where it begins.
    line: usize,
    name: String,
    /// The intervals, without the average.
    samples: Vec<VdbenchSample>,
    /// The time of day of the last of them.
    last_time: Option<f64>,
    /// Seconds of an interval.
    interval: Option<f64>,
    /// What the tool itself averaged, and over which intervals.
    average: Option<(VdbenchSample, u32, u32)>,
    /// Seconds that were asked for.
    asked: Option<f64>,
    /// Threads for each storage definition.
    threads: Option<u32>,
    /// Part of seeks, from 0 (sequential) to 1.
    seeks: Option<f64>,
    /// A rate that was asked for, and not the most that is possible.
    asked_rate: Option<f64>,
}

/// `avg_2-5`: the intervals that an average is of.
fn averaged(word: &str) -> Option<(u32, u32)> {
    let (first, last) = word.strip_prefix("avg_")?.split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

impl VdbenchRun {
    /// Takes what stands behind the name: `elapsed=60; … For loops: threads=2 iorate=max`.
    fn set(&mut self, settings: &str) {
        let option = |key: &str| {
            let mut words = settings.split([';', ' ', ',']);
            words.find_map(|word| word.trim().strip_prefix(key)?.strip_prefix('=').map(str::to_owned))
        };
        self.asked = option("elapsed").and_then(|text| text.parse().ok()).filter(|asked: &f64| *asked > 0.0);
        self.threads = option("threads").and_then(|text| text.parse().ok());
        if let Some(rest) = settings.split_once("I/O rate: ").map(|(_, rest)| rest) {
            self.asked_rate = number(rest);
        }
    }

    /// Adds an interval, or the average of some, with its time of day.
    fn add(&mut self, sample: VdbenchSample, average: Option<(u32, u32)>, time: Option<f64>) {
        if let Some((first, last)) = average {
            self.average = Some((sample, first, last));
            self.interval = self.interval.or_else(|| Some(self.asked? / f64::from(last).max(1.0)));
            return;
        }
        self.samples.push(sample);
        // The first interval may be longer: it contains the start.
        let times = self.last_time.zip(time);
        let step = times.map(|(before, now)| (now - before).rem_euclid(86_400.0).round());
        self.interval = self.interval.or(step).filter(|step| *step > 0.0);
        self.last_time = time.or(self.last_time);
    }

    /// The measurement, and whether the average is missing.
    fn measured(&self) -> Option<(Measured, bool)> {
        let own = || {
            // The first interval is left out, as the tool's own average does.
            let rest = self.samples.get(1..).filter(|rest| !rest.is_empty())?;
            Some(mean_of_samples(rest))
        };
        let is_missing = self.average.is_none();
        let sample = self.average.as_ref().map(|(sample, ..)| sample.clone()).or_else(own)?;
        if sample.bytes <= 0.0 || !sample.bytes.is_finite() {
            return None;
        }
        let mut measured = Measured::new(self.line, self.work(&sample));
        (measured.read, measured.write) = (self.side(&sample, Op::Read), self.side(&sample, Op::Write));
        Some((measured, is_missing))
    }

    fn work(&self, sample: &VdbenchSample) -> Work {
        /// A rate that was asked for is what held it from this part of it on.
        const REACHED: f64 = 0.9;
        Work {
            label: match self.asked_rate {
                Some(rate) => format!("{} at {rate} I/Os per second", self.name),
                None => self.name.clone(),
            },
            pattern: self.seeks.map(|seeks| if seeks > 0.0 { Pattern::Random } else { Pattern::Sequential }),
            block_size: to_bytes(sample.size).filter(|size| size.get() > 0),
            jobs: self.threads,
            asked_ns: self.asked.and_then(seconds),
            held_to: self
                .asked_rate
                .filter(|asked| sample.rate >= REACHED * asked)
                .map(|asked| format!("iorate={asked}")),
            ..Work::default()
        }
    }

    /// Seconds of the intervals that the average is of.
    fn seconds(&self) -> Option<f64> {
        let count = match self.average {
            Some((_, first, last)) => f64::from(last.checked_sub(first)?.checked_add(1)?),
            None => self.samples.len().checked_sub(1)? as f64,
        };
        Some(count * self.interval?).filter(|seconds| *seconds > 0.0 && *seconds < 1e9)
    }

    fn side(&self, sample: &VdbenchSample, op: Op) -> Option<Side> {
        let of_mix = if op == Op::Read { sample.reads } else { 1.0 - sample.reads };
        let pick = |both: (f64, f64)| if op == Op::Read { both.0 } else { both.1 };
        let bytes = sample.sides.map_or(sample.bytes * of_mix, pick);
        let ios = sample.ios.map_or(sample.rate * of_mix, pick);
        // A thousandth is the rounding of the printed percentage.
        if bytes < 1e-3 * sample.bytes || bytes <= 0.0 {
            return None;
        }
        let [of_all, of_reads, of_writes] = sample.longest;
        let (own, longest) = match op {
            Op::Read => (sample.read_response, of_reads),
            Op::Write => (sample.write_response, of_writes),
        };
        let is_alone = of_mix > 0.999;
        let mean = own.filter(|own| *own > 0.0).or_else(|| is_alone.then_some(sample.response));
        let max = longest.or_else(|| of_all.filter(|_| is_alone));
        let rates: Vec<f64> = self.samples.iter().map(|sample| sample.bytes).collect();
        let elapsed = self.seconds();
        Some(Side {
            iops: (ios > 0.0).then(|| Iops::new(ios)),
            bytes: elapsed.and_then(|seconds| to_bytes(bytes * seconds)),
            elapsed_ns: elapsed.and_then(seconds),
            latency_ns: mean.filter(|mean| *mean > 0.0).map(|mean| Latency {
                max: max.filter(|max| *max > 0.0).map(|max| max * 1e6),
                ..Latency::of_mean(mean * 1e6)
            }),
            // The last interval is one in which threads end; the first warms up.
            spread: rates
                .get(1..rates.len().saturating_sub(1))
                .filter(|rest| rest.len() >= FEWEST)
                .and_then(Spread::of),
            ..Side::at(BytesPerSec::new(bytes))
        })
    }
}

fn mean_of_samples(samples: &[VdbenchSample]) -> VdbenchSample {
    let count = samples.len() as f64;
    let of = |value: fn(&VdbenchSample) -> f64| samples.iter().map(value).sum::<f64>() / count;
    let ios = of(|sample| sample.rate).max(f64::MIN_POSITIVE);
    // Shares and times are weighted by the I/Os that they are of.
    let weighted = |value: fn(&VdbenchSample) -> f64| of(value) / ios;
    let both = |pick: fn(&VdbenchSample) -> Option<(f64, f64)>| -> Option<(f64, f64)> {
        let all: Vec<(f64, f64)> = samples.iter().filter_map(pick).collect();
        let sum = all.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (all.len() == samples.len()).then_some((sum.0 / count, sum.1 / count))
    };
    VdbenchSample {
        rate: of(|sample| sample.rate),
        bytes: of(|sample| sample.bytes),
        size: weighted(|sample| sample.size * sample.rate),
        reads: weighted(|sample| sample.reads * sample.rate),
        sides: both(|sample| sample.sides),
        ios: both(|sample| sample.ios),
        response: weighted(|sample| sample.response * sample.rate),
        ..VdbenchSample::default()
    }
}

/// The results of runs that stand in one text.
fn imported(name: &str, version: Option<String>, runs: &[VdbenchRun]) -> Vec<Imported> {
    let line = runs.first().map_or(1, |run| run.line);
    let mut imported = Imported { version, ..Imported::new(Tool::Vdbench, name, line) };
    for run in runs {
        let Some((measured, is_missing)) = run.measured() else { continue };
        imported.truncated |= is_missing;
        imported.measurements.push(measured);
    }
    if imported.is_empty() { Vec::new() } else { vec![imported] }
}

#[cfg(test)]
mod tests {
    use narrows_base::units::Nanos;
    use narrows_base::workload::Pattern;
    use proptest::prelude::*;

    use super::super::Op;
    use super::*;

    /// Figures of a public run of 5.04.07 on ten disks, 8 KiB writes with two threads each.
    const V5_4_7: &str = "Vdbench distribution: vdbench50407 Tue June 05  9:49:29 MDT 2018\n\
        09:30:50.005 Starting RD=rd1; I/O rate: Uncontrolled MAX; elapsed=30; For loops: threads=2\n\n\
        interval        i/o   MB/sec   bytes   read     resp     read    write     read    write     resp  queue  cpu%  cpu%\n               \
        rate  1024**2     i/o    pct     time     resp     resp      max      max   stddev  depth sys+u   sys\n       \
        1   272500.2  2128.91    8192   0.00    0.064    0.000    0.064     0.00   402.67    0.543   17.5  65.1  36.5\n       \
        2   317936.2  2483.88    8192   0.00    0.056    0.000    0.056     0.00    50.80    0.094   17.9  70.3  50.6\n       \
        3   321929.0  2515.07    8192   0.00    0.056    0.000    0.056     0.00    21.96    0.073   18.1  70.8  51.3\n \
        avg_2-6   318293.8  2486.67    8192   0.00    0.057    0.000    0.057     0.00    89.79    0.105   18.1  70.9  51.2\n";

    /// Figures of a public run of 5.04.06 on one NVMe drive, 8 KiB, 70 % reads.
    const V5_4_6: &str = "Dec 11, 2020  interval        i/o   MB/sec   bytes   read     resp     read    write     resp     resp queue  cpu%  cpu%\n                             \
        rate  1024**2     i/o    pct     time     resp     resp      max   stddev depth sys+u   sys\n\
        16:35:20.063        31  312322.60  2440.02    8192  70.06    0.198    0.253    0.069    6.746    0.262  61.7  35.9   6.6\n\
        16:35:25.061        32  311582.60  2434.24    8192  70.01    0.198    0.252    0.072   19.997    0.254  61.8  35.6   6.2\n\
        16:35:46.092  avg_7-37  256348.49  2002.72    8192  70.00    0.177    0.224    0.068   30.083    0.241  45.3  35.8   6.1\n";

    #[test]
    fn an_average_is_of_its_intervals() {
        let found = read(&Page { name: "x", body: V5_4_7 });
        assert_eq!((found.len(), found[0].version.as_deref()), (1, Some("50407")));
        let one = &found[0].measurements[0];
        let write = one.write.as_ref().expect("writes");
        assert!(one.read.is_none());
        assert_eq!(write.bytes_per_second.get(), 2486.67 * 1_048_576.0);
        // Rate times size is the printed rate: its MB are 1024².
        let by_size = 318_293.8 * 8192.0;
        assert!((write.bytes_per_second.get() / by_size - 1.0).abs() < 1e-5);
        assert_eq!((one.work.jobs, one.work.label.as_str()), (Some(2), "rd1"));
        assert_eq!(write.latency_ns.as_ref().and_then(|latency| latency.mean), Some(57_000.0));
        // Five intervals of five seconds.
        assert_eq!(write.elapsed_ns, Some(Nanos::from_millis(25_000)));
        assert!(!found[0].truncated);
    }

    #[test]
    fn a_mix_is_parted_by_its_percentage() {
        let found = read(&Page { name: "x", body: V5_4_6 });
        let one = &found[0].measurements[0];
        let read = one.side(Op::Read).expect("reads");
        assert!((read.bytes_per_second.get() / (0.7 * 2002.72 * 1_048_576.0) - 1.0).abs() < 1e-9);
        let mean = read.latency_ns.as_ref().and_then(|latency| latency.mean).expect("a latency");
        assert!((mean - 224_000.0).abs() < 1e-6);
        assert_eq!(read.elapsed_ns, Some(Nanos::from_millis(31 * 5000)));
    }

    #[test]
    fn a_file_workload_has_its_own_columns() {
        let body = "16:09:08.001 Starting RD=rd1; elapsed=600; fwdrate=max. For loops: None\n\
            Dec 11, 2020 .Interval. .ReqstdOps... ...cpu%...  read ....read..... ....write.... ..mb/sec... mb/sec .xfer.. ...mkdir....\n                          \
            rate   resp total  sys   pct   rate   resp   rate   resp  read write  total    size  rate   resp\n\
            16:18:58.063        590 3334.0 19.110  28.8 3.81  59.8 1995.0  6.600 1339.0 37.750  1995  1339 3334.0 1048576   0.0  0.000\n\
            16:18:59.063        591 3485.0 18.440  28.9 3.40  59.5 2074.0  5.489 1411.0 37.477  2074  1411 3485.0 1048576   0.0  0.000\n\
            16:19:00.063        592 3460.0 18.404  29.1 3.25  60.0 2077.0  6.152 1383.0 36.803  2077  1383 3460.0 1048576   0.0  0.000\n";
        let found = read(&Page { name: "x", body });
        let one = &found[0].measurements[0];
        assert!(found[0].truncated, "it has no average");
        let write = one.side(Op::Write).expect("writes");
        assert_eq!(write.bytes_per_second.get(), f64::midpoint(1411.0, 1383.0) * 1_048_576.0);
        assert_eq!(write.iops.map(|rate| rate.get()), Some(1397.0));
    }

    #[test]
    fn a_text_that_ends_in_a_line_keeps_those_before() {
        let at = V5_4_7.find(" avg_2").expect("it is there");
        let found = read(&Page { name: "x", body: &V5_4_7[..at + 30] });
        assert!(found[0].truncated);
        let write = found[0].measurements[0].write.as_ref().expect("writes");
        assert!((write.bytes_per_second.get() / (2499.475 * 1_048_576.0) - 1.0).abs() < 1e-9);
        assert!(read(&Page { name: "x", body: "MB/sec\n1024**2\n1 2 3" }).is_empty());
    }

    proptest! {
        #[test]
        fn an_average_has_the_numbers_that_it_was_made_of(rate in 1u32..9_999_999, kib in 1u32..2048, micros in 1u32..999_999) {
            let size = kib * 1024;
            let mb = f64::from(rate) * f64::from(size) / 1_048_576.0;
            let body = format!(
                "interval        i/o   MB/sec   bytes   read     resp     read    write     read    write     resp  queue  cpu%  cpu%\n\
                 rate  1024**2     i/o    pct     time     resp     resp      max      max   stddev  depth sys+u   sys\n\
                 avg_2-9 {rate}.0 {mb:.6} {size} 100.00 {time:.3} {time:.3} 0.000 9.00 0.00 0.1 1.0 1.0 1.0\n",
                time = f64::from(micros) / 1000.0
            );
            let found = read(&Page { name: "x", body: &body });
            let side = found[0].measurements[0].read.clone().expect("reads");
            prop_assert!((side.bytes_per_second.get() / (f64::from(rate) * f64::from(size)) - 1.0).abs() < 1e-3);
            prop_assert_eq!(side.iops.map(|rate| rate.get()), Some(f64::from(rate)));
            let mean = side.latency_ns.and_then(|latency| latency.mean).expect("a latency");
            prop_assert!((mean - f64::from(micros) * 1e3).abs() < 1.0);
        }
    }

    const BODY: &str = "* 'flatfile.html' contains Vdbench generated information\n* reqrate         : Requested i/o rate\n\
        tod Run Interval reqrate rate MB/sec bytes/io read% resp read_resp write_resp resp_max read_max write_max resp_std read_std write_std xfersize threads rdpct rhpct whpct seekpct lunsize version\n\
        10:00:05.000 run1 1 max 900.0 3.52 4096 100.00 1.1 1.1 0.0 9.0 9.0 0.0 .1 .1 n/a 4096 8 100 n/a n/a 100.00 931.5 50407\n\
        10:00:10.000 run1 2 max 1000.0 3.91 4096 100.00 8.0 8.0 0.0 30.0 30.0 0.0 .1 .1 n/a 4096 8 100 n/a n/a 100.00 931.5 50407\n\
        10:00:15.000 run1 3 max 1100.0 4.30 4096 100.00 7.2 7.2 0.0 31.0 31.0 0.0 .1 .1 n/a 4096 8 100 n/a n/a 100.00 931.5 50407\n\
        10:00:15.000 run1 avg_2-3 max 1050.0 4.10 4096 100.00 7.6 7.6 0.0 31.0 31.0 0.0 .1 .1 n/a 4096 8 100 n/a n/a 100.00 931.5 50407\n";

    #[test]
    fn the_columns_are_found_by_name() {
        let found = read_flat(&Page { name: "x", body: BODY });
        assert_eq!(
            (found.len(), found[0].measurements.len(), found[0].version.as_deref()),
            (1, 1, Some("50407"))
        );
        let one = &found[0].measurements[0];
        let side = one.read.as_ref().expect("reads");
        assert_eq!(side.bytes_per_second.get(), 4.1 * 1_048_576.0);
        assert_eq!((one.work.pattern, one.work.jobs), (Some(Pattern::Random), Some(8)));
        assert_eq!(side.elapsed_ns.map(|time| time.get()), Some(10_000_000_000));
        assert!(!found[0].truncated);
    }

    #[test]
    fn a_file_without_the_average_is_averaged_here() {
        let at = BODY.find("10:00:15.000 run1 avg").expect("it is there");
        let found = read_flat(&Page { name: "x", body: &BODY[..at + 20] });
        let side = found[0].measurements[0].read.as_ref().expect("reads");
        assert!(found[0].truncated);
        assert_eq!(side.iops.map(|rate| rate.get()), Some(1050.0));
    }
}
