//! What one client of fio's client/server protocol brought back from one server: JSON+ with all bins, and the logs of rates and
//! of latencies beside it.
//!
//! Source: fio's `client.c`, `stat.c` (`add_ddir_status_json`: the key of a bin is the value in the middle of its bucket) and
//! `iolog.c`, versions 3.33 to 3.42. Rates of a log are in KiB/s and hold for the time since the stamp before.

use std::collections::BTreeMap;

use serde_json::Value;

use super::log::{counts, middle_of};

/// The counts of latencies by the middle of their bucket in nanoseconds, as JSON+ has them.
pub type BinCounts = BTreeMap<u64, u64>;

/// One direction of a client's result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Direction {
    /// Completed I/Os.
    pub ios: u64,
    pub bytes: u64,
    /// From the first to the last I/O, in milliseconds, as fio has it: the longest of its jobs.
    pub runtime_ms: u64,
    /// The least completion latency, in nanoseconds.
    pub least_ns: u64,
    /// The greatest completion latency, in nanoseconds.
    pub greatest_ns: u64,
    /// Completion latencies.
    pub bins: BinCounts,
}

/// What a client wrote.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Output {
    /// fio's version, without `fio-`.
    pub version: String,
    pub read: Direction,
    pub write: Direction,
    /// The first error number of a job that is not 0.
    pub error: Option<i64>,
    /// Share of one processor in per cent that all jobs took together, user and system.
    pub cpu_percent: f64,
}

/// Reads what a client wrote with `--output-format=json+`. Notes before the document ("Saving output of prerun") are passed over.
/// The row "All clients" counts twice, and is left out.
///
/// # Errors
/// There is no whole document of fio, with the reason.
pub fn parse(text: &str) -> Result<Output, String> {
    let starts = text.match_indices('{').filter(|(at, _)| {
        let before = text.get(..*at).unwrap_or_default();
        before.is_empty() || before.ends_with('\n')
    });
    let mut documents = starts.filter_map(|(at, _)| {
        let mut values = serde_json::Deserializer::from_str(text.get(at..)?).into_iter::<Value>();
        values.next()?.ok().filter(|value| value.get("client_stats").is_some())
    });
    let document = documents.next_back().ok_or("fio wrote no whole report")?;
    let version = document.get("fio version").and_then(Value::as_str).unwrap_or_default();
    let mut output = Output { version: version.trim_start_matches("fio-").to_owned(), ..Output::default() };
    let jobs = document.get("client_stats").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for job in jobs.iter().filter(|job| job.get("jobname").and_then(Value::as_str) != Some("All clients")) {
        add(&mut output.read, job.get("read"));
        add(&mut output.write, job.get("write"));
        let error = job.get("error").and_then(Value::as_i64).filter(|error| *error != 0);
        output.error = output.error.or(error);
        let cpu = |name: &str| job.get(name).and_then(Value::as_f64).unwrap_or(0.0);
        output.cpu_percent += cpu("usr_cpu") + cpu("sys_cpu");
    }
    Ok(output)
}

fn add(to: &mut Direction, side: Option<&Value>) {
    let Some(side) = side else { return };
    let number = |of: &Value, name: &str| of.get(name).and_then(Value::as_u64).unwrap_or(0);
    to.ios = to.ios.saturating_add(number(side, "total_ios"));
    to.bytes = to.bytes.saturating_add(number(side, "io_bytes"));
    to.runtime_ms = to.runtime_ms.max(number(side, "runtime"));
    let Some(latency) = side.get("clat_ns") else { return };
    let bins = latency.get("bins").and_then(Value::as_object);
    let mut is_counted = false;
    for (bin, count) in bins.into_iter().flatten() {
        if let (Ok(bin), Some(count)) = (bin.parse::<u64>(), count.as_u64()) {
            let sum = to.bins.entry(bin).or_default();
            *sum = sum.saturating_add(count);
            is_counted |= count > 0;
        }
    }
    if is_counted {
        let least = number(latency, "min");
        to.least_ns = if to.greatest_ns == 0 { least } else { to.least_ns.min(least) };
        to.greatest_ns = to.greatest_ns.max(number(latency, "max"));
    }
}

/// One line of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Since 1970 on the clock of the host, in milliseconds (`log_unix_epoch=1`).
    pub at_ms: u64,
    /// KiB/s of a log of rates, nanoseconds of one of latencies.
    pub value: u64,
    /// Whether it is of writes.
    pub is_write: bool,
}

/// The lines of a log of rates or latencies. A line that is none, such as the last of a log that was cut, is left out.
pub fn lines(text: &str) -> Vec<Line> {
    let line = |line: &str| {
        let mut cells = line.split(',').map(str::trim);
        let at_ms = cells.next()?.parse().ok()?;
        let value = cells.next()?.parse().ok()?;
        let direction: u8 = cells.next()?.parse().ok()?;
        (direction < 2).then_some(Line { at_ms, value, is_write: direction == 1 })
    };
    text.lines().filter_map(line).collect()
}

/// One line of a log of a histogram: the counts since the line before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// Since 1970 on the clock of the host, in milliseconds.
    pub at_ms: u64,
    /// Whether it is of writes.
    pub is_write: bool,
    /// Counts by the middle of their bucket, as [`BinCounts`].
    pub bins: BinCounts,
}

/// The lines of a log of a histogram at the finest step (`log_hist_coarseness=0`). Others are left out.
pub fn histograms(text: &str) -> Vec<Histogram> {
    let histogram = |line: &str| {
        let mut cells = line.split(',').map(str::trim);
        let at_ms = cells.next()?.parse().ok()?;
        let direction: u8 = cells.next()?.parse().ok()?;
        let mut bins = BinCounts::new();
        let mut columns = 0;
        for (bucket, count) in counts(line.as_bytes()).enumerate() {
            columns += 1;
            if count > 0 {
                bins.insert(middle_of(bucket), count);
            }
        }
        (direction < 2 && columns == super::log::FINEST).then_some(Histogram {
            at_ms,
            is_write: direction == 1,
            bins,
        })
    };
    text.lines().filter_map(histogram).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Cut down from what fio 3.33 wrote with `--client`, two servers and one job on each.
    const TWO: &str = r#"<a> n : Saving output of prerun in n.prerun.txt

{
  "fio version" : "fio-3.33",
  "global options" : { "rw" : "randread" },
  "client_stats" : [
    { "jobname" : "n", "error" : 0, "usr_cpu" : 3.5, "sys_cpu" : 1.5, "hostname" : "a",
      "read" : { "io_bytes" : 12288, "total_ios" : 3, "runtime" : 3021,
        "clat_ns" : { "min" : 226, "max" : 900, "N" : 3, "bins" : { "227" : 2, "900" : 1 } } },
      "write" : { "io_bytes" : 0, "total_ios" : 0, "runtime" : 0, "clat_ns" : { "min" : 0, "max" : 0, "N" : 0 } } },
    { "jobname" : "n", "error" : 5, "hostname" : "b",
      "read" : { "io_bytes" : 4096, "total_ios" : 1, "runtime" : 3000,
        "clat_ns" : { "min" : 100, "max" : 100, "N" : 1, "bins" : { "100" : 1 } } } },
    { "jobname" : "All clients", "error" : 0,
      "read" : { "io_bytes" : 16384, "total_ios" : 4, "runtime" : 3021 } }
  ]
}
"#;

    #[test]
    fn a_client_has_its_bins_and_the_sum_of_all_is_left_out() {
        let output = parse(TWO).expect("is a report");
        assert_eq!((output.version.as_str(), output.error), ("3.33", Some(5)));
        assert_eq!((output.read.ios, output.read.bytes, output.read.runtime_ms), (4, 16384, 3021));
        assert_eq!((output.read.least_ns, output.read.greatest_ns), (100, 900));
        assert_eq!(output.read.bins, BinCounts::from([(100, 1), (227, 2), (900, 1)]));
        assert_eq!(output.write, Direction::default());
        assert!((output.cpu_percent - 5.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_cut_is_no_report() {
        for length in [0, 60, 200, TWO.len() - 3] {
            assert!(parse(&TWO[..length]).is_err(), "{length}");
        }
        assert!(parse("{}").is_err() && parse("fio: connect: Connection refused\n").is_err());
    }

    #[test]
    fn a_log_keeps_its_whole_lines() {
        let found = lines("1795563600319, 7360, 0, 0, 0\n1795563600571, 8669, 1, 0, 0\n17955636");
        let line = |at_ms, value, is_write| Line { at_ms, value, is_write };
        assert_eq!(found, [line(1_795_563_600_319, 7360, false), line(1_795_563_600_571, 8669, true)]);
    }

    #[test]
    fn a_histogram_has_the_keys_of_the_report() {
        let mut cells = vec![0; 1856];
        // The bucket of 127 and that of 128 and 129; the middle of the latter is what fio prints.
        (cells[127], cells[128]) = (4, 7);
        let cells: Vec<String> = cells.iter().map(u64::to_string).collect();
        let found = histograms(&format!("1000, 0, 4096, {}\n1000, 0, 4096, 1, 2\n", cells.join(", ")));
        assert_eq!(found.len(), 1, "a line of another step is left out");
        assert_eq!(found[0].bins, BinCounts::from([(127, 4), (129, 7)]));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,300}") {
            let _ = (parse(&text), lines(&text), histograms(&text));
        }

        #[test]
        fn no_cut_panics(length in 0usize..1200) {
            let _ = parse(TWO.get(..length.min(TWO.len())).unwrap_or_default());
        }
    }
}
