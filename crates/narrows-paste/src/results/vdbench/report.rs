//! The reports for people: a heading of two lines, a line for each interval, and the average at the end.

use super::super::Imported;
use super::super::Page;
use super::run::{Run, averaged, imported};
use super::{MB, Sample};

/// The runs in a text.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["1024**2", "ReqstdOps"]) {
        return Vec::new();
    }
    let mut reader = Reader::default();
    for (number, line) in page.lines() {
        reader.see(number, line);
    }
    let line = reader.runs.first().map_or(1, |run| run.line);
    imported(page.name, line, reader.version, &reader.runs)
}

/// What the columns are.
#[derive(Debug, Clone, PartialEq)]
enum Heading {
    /// Block workloads: the columns behind the response time, by the two words of each.
    Block(Vec<(String, String)>),
    /// File workloads, whose first columns are always the same; whether the part of reads is one of them.
    File,
}

#[derive(Debug, Default)]
struct Reader {
    runs: Vec<Run>,
    heading: Option<Heading>,
    above: String,
    last_time: Option<f64>,
    version: Option<String>,
}

impl Reader {
    fn see(&mut self, number: usize, line: &str) {
        if let Some((_, version)) = line.split_once("Vdbench distribution: ") {
            let word = version.split_whitespace().next();
            self.version = word.map(|word| word.trim_start_matches("vdbench").to_owned());
        } else if let Some((_, name)) = line.split_once("Starting RD=") {
            let (name, settings) = name.split_once(';').unwrap_or((name, ""));
            let mut run = Run { line: number, name: name.trim().to_owned(), ..Run::default() };
            run.set(settings);
            self.runs.push(run);
            self.last_time = None;
        } else if line.contains("1024**2") {
            self.heading = block_heading(&self.above, line);
        } else if line.contains("ReqstdOps") {
            self.heading = Some(Heading::File);
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
        let time = words.peek().and_then(|word| time_of(word));
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
            Heading::Block(columns) => block(columns, &values),
            Heading::File => file(&values),
        };
        let Some(sample) = sample.filter(Sample::is_sound) else { return };
        if self.runs.last().is_none_or(|run| run.average.is_some()) {
            self.runs.push(Run { line: number, ..Run::default() });
            self.last_time = None;
        }
        let Some(run) = self.runs.last_mut() else { return };
        match average {
            Some((first, last)) => {
                run.average = Some((sample, first, last));
                let count = f64::from(last);
                run.interval = run.interval.or_else(|| run.asked.map(|asked| asked / count.max(1.0)));
            }
            None => {
                run.samples.push(sample);
                let step = self.last_time.zip(time).map(|(before, now)| (now - before).rem_euclid(86_400.0));
                // The first interval may be longer: it contains the start.
                run.interval = run.interval.or_else(|| step.map(f64::round)).filter(|step| *step > 0.0);
            }
        }
        self.last_time = time.or(self.last_time);
    }
}

/// Seconds of the day: `16:35:20.063`.
fn time_of(word: &str) -> Option<f64> {
    let mut parts = word.split(':').map(|part| part.parse::<f64>().ok());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some(hours * 3600.0 + minutes * 60.0 + seconds)
}

/// The words of both lines of a heading, column by column. Above, the date and the word `interval` stand first.
fn block_heading(above: &str, below: &str) -> Option<Heading> {
    let at = above.to_lowercase().find("interval")? + "interval".len();
    let above = above.get(at..)?.trim_start_matches('.').split_whitespace();
    let columns = above.zip(below.split_whitespace()).map(|(a, b)| (a.to_owned(), b.to_owned()));
    let columns: Vec<(String, String)> = columns.collect();
    (columns.len() >= 5).then_some(Heading::Block(columns))
}

fn block(columns: &[(String, String)], values: &[Option<f64>]) -> Option<Sample> {
    let cell = |above: &str, below: &str| {
        let at = columns.iter().position(|(a, b)| a == above && b == below)?;
        values.get(at).copied().flatten()
    };
    Some(Sample {
        rate: cell("i/o", "rate")?,
        bytes: cell("MB/sec", "1024**2")? * MB,
        size: cell("bytes", "i/o")?,
        reads: cell("read", "pct")? / 100.0,
        response: cell("resp", "time")?,
        read_response: cell("read", "resp"),
        write_response: cell("write", "resp"),
        longest: cell("resp", "max"),
        longest_read: cell("read", "max"),
        longest_write: cell("write", "max"),
        ..Sample::default()
    })
}

/// The columns of file workloads: rate, resp, cpu total, sys, read pct, read rate, resp, write rate, resp, MB/sec read,
/// write, total, transfer size.
fn file(values: &[Option<f64>]) -> Option<Sample> {
    let [
        rate,
        response,
        _,
        _,
        reads,
        read_rate,
        read_response,
        write_rate,
        write_response,
        read,
        write,
        total,
        size,
        ..,
    ] = values
    else {
        return None;
    };
    Some(Sample {
        rate: (*rate)?,
        bytes: (*total)? * MB,
        size: (*size)?,
        reads: (*reads)? / 100.0,
        sides: read.zip(*write).map(|(read, write)| (read * MB, write * MB)),
        ios: read_rate.zip(*write_rate),
        response: (*response)?,
        read_response: *read_response,
        write_response: *write_response,
        ..Sample::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::Op;
    use super::*;
    use narrows_base::units::Nanos;
    use proptest::prelude::*;

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
}
