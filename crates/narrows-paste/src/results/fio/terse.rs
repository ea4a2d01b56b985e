//! fio's terse output: a line for each job or group, its fields parted by semicolons.
//!
//! Source: fio's HOWTO ("Terse output") and `stat.c` (`show_thread_status_terse_all`, `show_ddir_status_terse`,
//! `print_disk_util`), versions 2.1 to 3.42. Sizes are KiB, rates KiB per second, run times milliseconds, latencies
//! microseconds. Version 3 is the usual one; 2, 4 and 5 have trims too, and 5 has samples of I/Os per second.

use narrows_base::units::{BytesPerSec, Iops, Nanos};

use super::options::pattern;
use crate::results::command::Commands;
use crate::results::number::{plain, to_bytes};
use crate::results::{
    Cpu, DeviceUse, Imported, Latency, Measured, Op, Page, Percentile, Side, Spread, Tool, Work,
};

/// The results in a text: lines that follow each other are the jobs of one run.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let mut commands = Commands::default();
    let mut goes_on = false;
    for (number, line) in page.lines() {
        commands.see(number, line, "fio");
        let Some(row) = TerseRow::of(line) else {
            // Version 2 has a description on a line of its own, a client the disks.
            goes_on &= line.trim_start().starts_with(';');
            continue;
        };
        let is_same = |one: &&mut Imported| goes_on && one.version.as_deref() == row.version;
        if found.last_mut().filter(is_same).is_none() {
            let (version, command) = (row.version.map(str::to_owned), commands.taken());
            found.push(Imported { version, command, ..Imported::new(Tool::Fio, page.name, number) });
        }
        if let Some(run) = found.last_mut() {
            run.truncated |= row.is_cut;
            run.measurements.push(row.measured(number));
        }
        goes_on = true;
    }
    for run in &mut found {
        // The counters are of the whole run, and each line has them.
        if run.measurements.len() > 1 {
            run.measurements.iter_mut().for_each(|one| one.devices.clear());
        }
        run.failures = super::json::failures(&run.measurements);
        run.measurements.retain(|one| one.sides().next().is_some() || one.error != 0);
        super::options::fill_of_command(run);
    }
    found.retain(|run| !run.is_empty());
    found
}

/// Fields of a direction before those of version 5: totals, two latencies, percentiles, the third latency, samples.
const OF_DIRECTION: usize = 4 + 4 + 4 + PERCENTILES + 4 + 5;

/// Fields that a direction begins with: amount, rate, I/Os per second, time.
const SUMS: usize = 4;

/// Fields of samples that version 5 adds.
const OF_SAMPLES: usize = 1 + 5;

/// Percentiles of a direction; those that were not asked for are `0%=0`.
const PERCENTILES: usize = 20;

/// A line.
struct TerseRow<'l> {
    version: Option<&'l str>,
    label: &'l str,
    error: i64,
    /// The fields of each direction, of equal number.
    directions: Vec<Vec<&'l str>>,
    /// Those behind them.
    rest: Vec<&'l str>,
    /// Whether the line ends too soon, so that the last direction has fewer fields.
    is_cut: bool,
}

impl<'l> TerseRow<'l> {
    /// A line that is one, with whatever stands before it: a prompt, a host.
    fn of(line: &'l str) -> Option<Self> {
        let start = match line.find(";fio-") {
            Some(at) => at.checked_sub(1)?,
            None => line.len() - line.trim_start().len(),
        };
        let fields: Vec<&str> = line.get(start..)?.trim_end().split(';').collect();
        let format = fields.first()?;
        let head = match *format {
            "2" => 4,
            "3" | "4" | "5" => 5,
            _ => return None,
        };
        let version = if head == 5 { Some(fields.get(1)?.strip_prefix("fio-")?) } else { None };
        let of_each = OF_DIRECTION + if *format == "5" { OF_SAMPLES } else { 0 };
        // With `unified_rw_reporting` there are more or fewer directions: processor time, in percent, comes behind them.
        let is_percent = |at: usize| {
            let text = fields.get(at).and_then(|field| field.strip_suffix('%'));
            text.is_some_and(|text| plain(text).is_some())
        };
        let count = (1..=4).find(|count| {
            let at = head + count * of_each;
            is_percent(at)
                && is_percent(at + 1)
                && fields.get(at + 2).is_some_and(|field| plain(field).is_some())
        });
        // The last field of a line that ends too soon may have lost a part of its own.
        let whole = count.map_or(fields.len() - 1, |count| head + count * of_each);
        let (before, rest) = fields.split_at_checked(whole)?;
        let of_direction = before.get(head..)?.chunks(of_each).filter(|fields| fields.len() >= SUMS);
        let directions: Vec<Vec<&str>> = of_direction.map(<[&str]>::to_vec).collect();
        let is_cut = count.is_none();
        let is_known = || version.is_some() && directions.iter().all(|one| has_sums(one));
        if directions.is_empty() || is_cut && !is_known() {
            return None;
        }
        Some(Self {
            version,
            label: fields.get(head - 3)?,
            error: fields.get(head - 1)?.parse().ok()?,
            directions,
            rest: if is_cut { Vec::new() } else { rest.to_vec() },
            is_cut,
        })
    }

    fn measured(&self, line: usize) -> Measured {
        let mut work = Work::named(self.label);
        // The line tells no options; names of jobs often are what they do.
        work.pattern = pattern(self.label);
        work.queue_depth = self.level();
        let mut measured = Measured::new(line, work);
        measured.error = self.error;
        for (op, fields) in [Op::Read, Op::Write].into_iter().zip(&self.directions) {
            *measured.side_mut(op) = side(fields);
        }
        let percent = |at: usize| plain(self.rest.get(at)?.strip_suffix('%')?).map(|percent| percent / 100.0);
        measured.cpu = percent(0).zip(percent(1)).map(|(user, system)| Cpu { user, system });
        measured.devices = self.devices();
        measured
    }

    /// The depth at which nearly all I/Os were in flight, a power of two: fields 5 to 11 behind the directions.
    fn level(&self) -> Option<u32> {
        let shares = self.rest.get(5..12)?.iter().map(|field| field.strip_suffix('%').and_then(plain));
        let (power, _) = (0u32..).zip(shares).find(|(_, share)| share.is_some_and(|share| share >= 95.0))?;
        Some(1 << power)
    }

    /// Disks stand behind ten shares of microseconds and twelve of milliseconds: nine fields each, and eight more behind
    /// `slaves` for what a disk is made of.
    fn devices(&self) -> Vec<DeviceUse> {
        let mut found = Vec::new();
        let mut rest = self.rest.get(12 + 22..).unwrap_or_default();
        while let Some((fields, behind)) = rest.split_at_checked(9) {
            let count = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
            let busy = fields.get(8).and_then(|field| field.strip_suffix('%')).and_then(plain);
            let (Some(busy), Some(read_ios), Some(write_ios)) = (busy, count(1), count(2)) else { break };
            found.extend(fields.first().filter(|name| **name != "slaves").map(|name| DeviceUse {
                name: (*name).to_owned(),
                read_ios,
                write_ios,
                read_merges: count(3).unwrap_or_default(),
                write_merges: count(4).unwrap_or_default(),
                busy: Some(busy / 100.0),
                ..DeviceUse::default()
            }));
            rest = behind;
        }
        found
    }
}

/// Whether the fields of a direction begin with an amount, a rate, I/Os per second and a time that fit each other.
fn has_sums(fields: &[&str]) -> bool {
    let sums: Option<Vec<f64>> =
        fields.get(..SUMS).and_then(|sums| sums.iter().map(|one| plain(one)).collect());
    let Some(&[kib, rate, iops, millis]) = sums.as_deref() else { return false };
    let is_rate = (kib * 1000.0 - rate * millis).abs() <= 1.5 * millis + 0.01 * kib * 1000.0;
    is_rate && iops.is_finite() && (millis > 0.0 || kib <= 0.0)
}

/// One direction; `None` when nothing was moved in it.
fn side(fields: &[&str]) -> Option<Side> {
    let number = |at: usize| fields.get(at).and_then(|field| plain(field.trim_end_matches('%')));
    let kib = number(0)?;
    let rate = BytesPerSec::from_kib(number(1)?);
    if kib <= 0.0 && rate.get() <= 0.0 {
        return None;
    }
    let micros = |at: usize| number(at).map(|micros| micros * 1000.0);
    // A latency that nothing was recorded of is four times 0.
    let mean =
        |at: usize| micros(at + 2).filter(|_| number(at + 1) > Some(0.0) || number(at + 2) > Some(0.0));
    let percentiles = fields.get(12..12 + PERCENTILES).unwrap_or_default().iter().filter_map(|field| {
        let (percent, micros) = field.split_once("%=")?;
        Some(Percentile { percent: plain(percent)?, latency_ns: plain(micros)? * 1000.0 })
    });
    let percentiles: Vec<Percentile> = percentiles.collect();
    let whole = 12 + PERCENTILES;
    let latency = |at: usize| {
        let known = Latency { mean: Some(mean(at)?), max: micros(at + 1), ..Latency::default() };
        Some(known.with_percentiles(percentiles.clone()))
    };
    let samples = whole + 4;
    let of = |mean: usize, samples: Option<f64>| {
        let mean_rate = number(mean).filter(|rate| *rate > 0.0)?;
        let samples = samples.map(|count| count as u64);
        Some(Spread { mean: mean_rate, deviation: number(mean + 1)?, samples })
    };
    let is_5 = fields.len() > OF_DIRECTION;
    // As in its JSON: I/Os per second where they were sampled, else the rate.
    let spread = if is_5 { of(samples + 8, number(samples + 10)) } else { None };
    Some(Side {
        iops: number(2).map(Iops::new),
        bytes: to_bytes(kib * 1024.0),
        elapsed_ns: number(3).map(|millis| Nanos::from_millis(millis as u64)),
        latency_ns: latency(whole).or_else(|| latency(8)),
        submission_ns: mean(4),
        completion_ns: mean(8),
        spread: spread.or_else(|| of(samples + 3, is_5.then(|| number(samples + 5)).flatten())),
        ..Side::at(rate)
    })
}

#[cfg(test)]
mod tests {
    use narrows_base::units::Bytes;

    use super::*;

    /// A direction of 3000 KiB/s, 750 I/Os per second.
    fn direction(version: u8) -> String {
        let percentiles = format!("50.000000%=1200;99.000000%=2500{}", ";0%=0".repeat(18));
        let samples = if version == 5 { ";20;700;800;751.5;10.5;20" } else { "" };
        format!(
            ";30000;3000;750;10000;1;9;2.500000;0.5;900;4000;1250.250000;30.0;{percentiles};901;4009;1252.750000;30.1\
             ;2800;3100;100.000000%;3001.5;50.25{samples}"
        )
    }

    fn line(version: u8, directions: usize) -> String {
        let nothing = direction(version).replace(|c: char| c.is_ascii_digit() && c != '0', "0");
        let nothing = nothing.split(';').map(|field| if field.contains("%=") { "0%=0" } else { field });
        let nothing = nothing.collect::<Vec<_>>().join(";");
        let all = [direction(version), nothing.clone(), nothing].concat();
        let fields = all.split(';').count() / 3 * directions;
        let all = all.split(';').take(fields + 1).collect::<Vec<_>>().join(";");
        let head = if version == 2 { "2;seq".to_owned() } else { format!("{version};fio-3.33;seq") };
        format!(
            "{head};0;0{all};1.500000%;2.500000%;10;0;7;0.1%;0.1%;0.1%;100.0%;0.0%;0.0%;0.0%{}{};nvme0n1;10;20;1;2;30;40;50;99.50%",
            ";0.00%".repeat(10),
            ";0.00%".repeat(12)
        )
    }

    fn one(body: &str) -> Imported {
        let mut all = read(&Page { name: "x", body });
        assert_eq!(all.len(), 1, "{body}");
        all.remove(0)
    }

    #[test]
    fn every_version_says_the_same() {
        for (version, directions) in [(2, 3), (3, 2), (4, 3), (5, 3)] {
            let run = one(&format!("some words\n$ fio --minimal x.fio\n{}\n", line(version, directions)));
            assert_eq!(run.version.as_deref(), (version > 2).then_some("3.33"));
            let measured = &run.measurements[0];
            assert_eq!((measured.work.label.as_str(), measured.work.queue_depth), ("seq", Some(8)));
            let read = measured.read.as_ref().expect("reads");
            assert_eq!(read.bytes_per_second.get(), 3000.0 * 1024.0);
            assert_eq!((read.bytes, read.iops.map(Iops::get)), (Some(Bytes::from_kib(30_000)), Some(750.0)));
            let latency = read.latency_ns.as_ref().expect("latency");
            assert_eq!((latency.mean, latency.max), (Some(1_252_750.0), Some(4_009_000.0)));
            assert_eq!((latency.p50, latency.p99), (Some(1_200_000.0), Some(2_500_000.0)));
            assert_eq!((read.submission_ns, read.completion_ns), (Some(2500.0), Some(1_250_250.0)));
            let spread = read.spread.expect("samples");
            let expected = if version == 5 { (751.5, Some(20)) } else { (3001.5, None) };
            assert_eq!((spread.mean, spread.samples), expected);
            assert!(measured.write.is_none());
            assert_eq!(measured.cpu, Some(Cpu { user: 0.015, system: 0.025 }));
            assert_eq!((measured.devices[0].name.as_str(), measured.devices[0].write_ios), ("nvme0n1", 20));
        }
    }

    #[test]
    fn lines_that_follow_each_other_are_jobs_of_one_run() {
        let two = format!("{}\n{}\n", line(3, 2), line(3, 2).replace(";seq;", ";rand;"));
        let run = one(&two);
        assert_eq!(run.measurements.len(), 2);
        assert!(run.measurements.iter().all(|one| one.devices.is_empty()));
        assert_eq!(read(&Page { name: "x", body: &two.replace('\n', "\n---\n") }).len(), 2);
    }

    #[test]
    fn a_line_that_ends_too_soon_says_what_it_has() {
        let whole = line(3, 2);
        let rate = |body: &str| {
            let found = read(&Page { name: "x", body });
            let side = found.first().and_then(|run| run.measurements[0].read.clone())?;
            assert!(found[0].truncated && found[0].measurements[0].write.is_none());
            Some((side.bytes_per_second.get(), side.latency_ns.and_then(|latency| latency.mean)))
        };
        let ends = |word: &str| &whole[..whole.find(word).expect("a field") + word.len()];
        assert_eq!(rate(ends(";3001.5;50.25;0")), Some((3_072_000.0, Some(1_252_750.0))));
        // Of a field that may have lost digits nothing is said, nor of a rate that does not fit amount and time.
        assert_eq!(rate(ends(";901;4009;1252.7")), Some((3_072_000.0, Some(1_250_250.0))));
        assert_eq!(rate(ends(";30000;3000;750;10000;1")), Some((3_072_000.0, None)));
        assert_eq!(rate(ends(";30000;3000;750;10000")), None);
        assert_eq!(rate(&ends(";30000;3000;750;10000;1").replace(";3000;", ";300;")), None);
    }

    #[test]
    fn a_client_s_host_and_mixed_reports_are_understood_and_other_lines_are_not() {
        assert_eq!(one(&format!("<host> {}", line(3, 2))).line, 1);
        assert_eq!(one(&line(3, 1)).measurements.len(), 1);
        assert!(read(&Page { name: "x", body: "3;fio-3.1;x;0;0\n2;a;b;c;0%=0;\n;fio-\n" }).is_empty());
    }
}
