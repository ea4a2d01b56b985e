//! What block devices did while somebody looked: `iostat`, with `-x` and without, text and JSON.
//!
//! Of several reports the one counts in which the device was busiest; its numbers stay together. The first is the mean since
//! the machine started (below the banner with the kernel, and of every JSON document without `-y`): it counts only where it is
//! alone, and then it says what it is.
//!
//! The columns changed often (sysstat's `iostat.c` and its change log): `rsec/s` are sectors of 512 bytes, `rkB/s`, `rMB/s` and
//! `rGB/s` are 1024, 1024² and 1024³ bytes (`*fctr = 2`, `2 * 1024`, `2 * 1024 * 1024` of 512 bytes); `avgqu-sz` became
//! `aqu-sz` in 11.7; `await` was one column for both directions once. `-s` prints both directions as one rate, `--human` writes
//! numbers with a unit of their own, and languages with a decimal comma write one.

use std::collections::BTreeMap;

use narrows_base::fact::Fact;
use narrows_base::units::{BytesPerSec, Nanos};
use narrows_machine::captured::DeviceLoad;
use serde_json::Value;

use super::device::{is_kernel_name, key_of};
use super::json::{documents, list};
use super::number::{Base, factor, leading};
use super::{Part, Rank, Text};

/// More devices than one machine has.
const MOST: usize = 4096;

/// Reads what every device of a text did.
pub fn read(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Summary, ..Part::default() };
    let mut seen: BTreeMap<String, SeenDevice> = BTreeMap::new();
    let has_banner = text.lines().any(|(_, line)| is_banner(line));
    for report in reports(text.body()) {
        note(&mut seen, &report.name, has_banner, (report.line, report.sample));
    }
    if text.body().contains("\"disk_device\"") {
        for (line, document) in documents(text) {
            for (name, sample) in of_document(&document) {
                note(&mut seen, name, true, (line, sample));
            }
        }
    }
    for (key, seen) in seen {
        let Some((line, load)) = seen.load() else { continue };
        part.machine.loads.insert(key, Fact::known(load, text.source(line)));
        part.kind = Some("iostat");
    }
    part
}

/// `Linux 5.6.8-300.fc32.x86_64 (host)  2020-05-14  _x86_64_  (8 CPU)`.
pub(crate) fn is_banner(line: &str) -> bool {
    line.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("linux ")) && line.contains('(')
}

/// The reports of one device.
#[derive(Debug, Default)]
struct SeenDevice {
    /// The first, where it is the mean since the start.
    first: Option<(usize, IostatSample)>,
    busiest: Option<(usize, IostatSample)>,
    intervals: u32,
}

fn note(
    seen: &mut BTreeMap<String, SeenDevice>,
    name: &str,
    first_is_mean: bool,
    report: (usize, IostatSample),
) {
    let Some(key) = key_of(name).filter(|key| is_kernel_name(key)) else { return };
    if seen.len() >= MOST && !seen.contains_key(&key) {
        return;
    }
    let seen = seen.entry(key).or_default();
    if first_is_mean && seen.first.is_none() {
        seen.first = Some(report);
        return;
    }
    seen.intervals = seen.intervals.saturating_add(1);
    let weight = |sample: &IostatSample| {
        let rates = [sample.read, sample.write].into_iter().flatten().map(BytesPerSec::get);
        (sample.busy.unwrap_or_default(), sample.depth.unwrap_or_default(), rates.sum::<f64>())
    };
    if seen.busiest.as_ref().is_none_or(|(_, known)| weight(&report.1) > weight(known)) {
        seen.busiest = Some(report);
    }
}

impl SeenDevice {
    fn load(self) -> Option<(usize, DeviceLoad)> {
        let (since_start, intervals) = (self.busiest.is_none(), self.intervals);
        let (line, sample) = self.busiest.or(self.first)?;
        let load = DeviceLoad {
            busy: sample.busy.filter(|busy| busy.is_finite()),
            depth: sample.depth.filter(|depth| depth.is_finite()),
            read: sample.read,
            write: sample.write,
            // Of nothing that was asked for iostat prints 0.
            read_wait: sample.read_wait.filter(|_| sample.read_ios.is_none_or(|ios| ios > 0.0)),
            write_wait: sample.write_wait.filter(|_| sample.write_ios.is_none_or(|ios| ios > 0.0)),
            intervals,
            since_start,
        };
        Some((line, load))
    }
}

/// What a block device did in one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct IostatSample {
    /// Bytes that it read each second; `None` where only the sum of both is told.
    pub read: Option<BytesPerSec>,
    /// Bytes that it wrote each second.
    pub write: Option<BytesPerSec>,
    /// Reads that it completed each second.
    pub read_ios: Option<f64>,
    /// Writes that it completed each second.
    pub write_ios: Option<f64>,
    /// The time that a read took from request to answer, in the queue and on the device, the mean over the interval.
    pub read_wait: Option<Nanos>,
    /// The same of a write.
    pub write_wait: Option<Nanos>,
    /// I/Os in flight, the mean over the interval.
    pub depth: Option<f64>,
    /// The part of the interval in which something was in flight.
    pub busy: Option<f64>,
}

/// The devices of one document of `iostat -o JSON`, in order, the first report among them.
pub(crate) fn of_document(document: &Value) -> Vec<(&str, IostatSample)> {
    let hosts = document.get("sysstat").into_iter().flat_map(|all| list(all, "hosts"));
    let disks = hosts.flat_map(|host| list(host, "statistics")).flat_map(|report| list(report, "disk"));
    disks.filter_map(|disk| Some((disk.get("disk_device")?.as_str()?, of_object(disk)))).collect()
}

fn of_object(disk: &Value) -> IostatSample {
    let number = |key: &str| match disk.get(key)? {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => leading(text).map(|(number, _)| number),
        _ => None,
    };
    let rate = |column: &str, unit: &str| of_unit(number(column)?, unit);
    sample_of(number, rate, number("util"))
}

/// What a device did, by the number and the rate in the unit of each column, and by the percentage of time in which it was busy.
fn sample_of(
    count: impl Fn(&str) -> Option<f64>,
    rate: impl Fn(&str, &str) -> Option<BytesPerSec>,
    busy: Option<f64>,
) -> IostatSample {
    let rate = |direction: &str, plain: &str| {
        let units = ["kB/s", "MB/s", "GB/s", "sec/s"].into_iter();
        let extended = units.filter_map(|unit| rate(&format!("{direction}{unit}"), unit)).next();
        // Without -x sectors are called blocks.
        let units = [("kB", "kB/s"), ("MB", "MB/s"), ("Blk", "sec/s")].into_iter();
        extended.or_else(|| units.filter_map(|(name, unit)| rate(&format!("{name}_{plain}/s"), unit)).next())
    };
    // Until sysstat 9.1.2 there was one column for both directions.
    let wait = |direction: &str| millis(count(direction).or_else(|| count("await"))?);
    IostatSample {
        read: rate("r", "read"),
        write: rate("w", "wrtn"),
        read_ios: count("r/s"),
        write_ios: count("w/s"),
        read_wait: wait("r_await"),
        write_wait: wait("w_await"),
        depth: count("aqu-sz").or_else(|| count("avgqu-sz")),
        busy: busy.map(|percent| percent / 100.0),
    }
}

/// A time in the unit of iostat.
fn millis(number: f64) -> Option<Nanos> {
    (0.0..1e9).contains(&number).then(|| Nanos::new((number * 1e6) as u64))
}

/// A rate in a unit of iostat.
fn of_unit(number: f64, unit: &str) -> Option<BytesPerSec> {
    let bytes = if unit.starts_with("sec") { 512.0 } else { factor(unit, Base::Binary) };
    (number.is_finite() && number >= 0.0).then(|| BytesPerSec::new(number * bytes))
}

/// What one device did in one interval, the first report among them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct IostatReport {
    /// The line, from 1.
    pub(crate) line: usize,
    /// The device.
    pub(crate) name: String,
    /// What it did.
    pub(crate) sample: IostatSample,
}

/// Every report of a text of `iostat`, in its order.
pub(crate) fn reports(body: &str) -> Vec<IostatReport> {
    let mut found = Vec::new();
    if !body.contains("%util") && !body.contains("_read/s") {
        return found;
    }
    let mut table = IostatTable::default();
    for (line_number, line) in (1..).zip(body.lines()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if table.is_heading(&words) {
            continue;
        }
        let Some(words) = table.row(words) else { continue };
        let columns = &table.columns;
        // With --pretty the name is the last column; otherwise the first one, and its heading may have a colon.
        let Some(at) = columns.iter().position(|column| is_device(column)) else { continue };
        let Some(name) = words.get(at).filter(|name| leading(name).is_none() && !name.ends_with(':')) else {
            continue;
        };
        if let Some(sample) = sample(columns, &words) {
            found.push(IostatReport { line: line_number, name: (*name).to_owned(), sample });
        }
    }
    found
}

fn is_device(column: &str) -> bool {
    column.trim_end_matches(':') == "Device"
}

/// The columns, and the row that is being read: mail breaks lines of this width.
#[derive(Debug, Default)]
struct IostatTable<'t> {
    columns: Vec<&'t str>,
    /// Whether the line above was a heading that has no end yet.
    is_open: bool,
    begun: Vec<&'t str>,
}

impl<'t> IostatTable<'t> {
    /// No sysstat has more columns.
    const MOST: usize = 64;

    fn is_heading(&mut self, words: &[&'t str]) -> bool {
        let begins =
            words.first().is_some_and(|word| is_device(word)) || words.contains(&"%util") && !self.is_open;
        if !begins && !self.is_open {
            return false;
        }
        if begins {
            self.columns.clear();
            self.begun.clear();
        }
        self.columns.extend(words);
        let is_plain = words.contains(&"tps") && words.iter().any(|word| word.ends_with("_read/s"));
        self.is_open = !is_plain && !words.contains(&"%util") && self.columns.len() < Self::MOST;
        true
    }

    /// The cells of a row when it is whole: that of one line, or of a name with numbers and the lines of numbers behind it.
    fn row(&mut self, words: Vec<&'t str>) -> Option<Vec<&'t str>> {
        if words.len() == self.columns.len() {
            self.begun.clear();
            return Some(words);
        }
        let goes_on = !self.begun.is_empty() && words.iter().all(|word| leading(word).is_some());
        if !goes_on {
            self.begun.clear();
        }
        self.begun.extend(words);
        if self.begun.len() > self.columns.len() {
            self.begun.clear();
        }
        let is_whole = !self.begun.is_empty() && self.begun.len() == self.columns.len();
        is_whole.then(|| std::mem::take(&mut self.begun))
    }
}

fn sample(columns: &[&str], words: &[&str]) -> Option<IostatSample> {
    let cell = |name: &str| words.get(columns.iter().position(|column| *column == name)?).copied();
    let count = |name: &str| {
        let (number, rest) = leading(cell(name)?)?;
        Some(number * if rest.starts_with(['k', 'M', 'G']) { factor(rest, Base::Decimal) } else { 1.0 })
    };
    let rate = |column: &str, unit: &str| {
        let (number, rest) = leading(cell(column)?)?;
        // `--human` writes the unit behind each number, whatever the heading says.
        match rest.starts_with(|c: char| c.is_alphabetic()) {
            true => Some(BytesPerSec::new(number * factor(rest, Base::Binary))),
            false => of_unit(number, unit),
        }
    };
    let sample = sample_of(count, rate, count("%util"));
    (sample.busy.is_some() || sample.read.is_some()).then_some(sample)
}

#[cfg(test)]
mod tests {
    use narrows_base::units::Nanos;
    use proptest::prelude::*;

    use super::*;

    /// Of a mail about a slow md RAID (linux-raid, May 2020), two of its devices; the second report is of the interval.
    const TEXT: &str = "Linux 5.6.8-300.fc32.x86_64 (host)      2020-05-14      _x86_64_        (8 CPU)\n\n\
        Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util\n\
        sde             20.08    360.56     2.53  11.20    0.34    17.95    0.49      0.10     0.02   3.41   32.36     0.20    0.00      0.00     0.00   0.00    0.00     0.00    0.49   32.74    0.02   2.11\n\
        dm-0             0.00      0.03     0.00   0.00    0.21    21.98    0.00      0.00     0.00   0.00    0.00     0.44    0.00      0.00     0.00   0.00    0.00     0.00    0.00    0.00    0.00   0.00\n";
    const LATER: &str = "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util\n\
        sde            157.00  32136.00    54.00  25.59   86.87   204.69    0.00      0.00     0.00   0.00    0.00     0.00    0.00      0.00     0.00   0.00    0.00     0.00    0.00    0.00   13.64  99.40\n";

    fn loads(text: &str) -> BTreeMap<String, Fact<DeviceLoad>> {
        read(&Text::new("iostat.txt", text.as_bytes())).machine.loads
    }

    #[test]
    fn the_interval_counts_and_not_the_mean_since_the_start() {
        for text in
            [format!("{TEXT}\n{LATER}"), format!("> {}", format!("{TEXT}\n{LATER}").replace('\n', "\n> "))]
        {
            let loads = loads(&text);
            let Some(Fact::Known { value: load, source }) = loads.get("sde") else { panic!("{loads:?}") };
            assert!(load.busy.is_some_and(|busy| (busy - 0.994).abs() < 1e-9), "{load:?}");
            assert_eq!((load.depth, load.intervals, load.since_start), (Some(13.64), 1, false));
            assert_eq!(load.read.map(|rate| rate.get()), Some(32_136.0 * 1024.0));
            assert_eq!((load.read_wait, load.write_wait), (Some(Nanos::new(86_870_000)), None));
            assert_eq!(source.as_str(), "iostat.txt:8");
            assert!(loads["dm-0"].value().is_some_and(|load| load.since_start));
        }
    }

    #[test]
    fn of_json_the_first_report_is_the_mean_too() {
        let disk = |util: f64| {
            format!(
                "{{\"disk\": [{{\"disk_device\": \"nvme0n1\", \"r/s\": 1.0, \"rMB/s\": 2.0, \"r_await\": 0.5, \"w_await\": 0.0, \"w/s\": 0.0, \"aqu-sz\": 1.0, \"util\": {util:.2}}}]}}"
            )
        };
        let text = |reports: &[String]| {
            format!(
                "$ iostat -xo JSON 1\n{{\"sysstat\": {{\"hosts\": [{{\"statistics\": [{}]}}]}}}}\n",
                reports.join(",")
            )
        };
        let two = loads(&text(&[disk(0.5), disk(60.8)]));
        assert_eq!(two["nvme0n1"].value().and_then(|load| load.busy), Some(0.608));
        let one = loads(&text(&[disk(0.5)]));
        assert!(one["nvme0n1"].value().is_some_and(|load| load.since_start && load.busy == Some(0.005)));
    }

    #[test]
    fn a_text_that_was_cut_or_has_a_foreign_line_keeps_its_rows() {
        let cut = TEXT.get(..TEXT.len() - 60).expect("longer");
        assert_eq!(loads(cut).keys().collect::<Vec<_>>(), ["sde"]);
        assert_eq!(loads(&TEXT.replace("sde ", "hello there\nsde ")).len(), 2);
        assert!(loads("Device tps\nsda 1.00\n").is_empty());
    }

    #[test]
    fn without_the_extended_columns_there_are_rates() {
        let rates = |text: &str| {
            let loads = loads(text);
            let load = loads["sdc"].value().expect("known");
            (load.read.map(BytesPerSec::get), load.write.map(BytesPerSec::get), load.busy, load.since_start)
        };
        let banner = "Linux 5.15.167.4 (host)  08/07/26  _x86_64_  (16 CPU)\n\n";
        let head = "Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd\n";
        let row = "sdc               0.91         7.00        21.50       100.32    2009225    6139680   28490776\n";
        assert_eq!(rates(&format!("{banner}{head}{row}")), (Some(7168.0), Some(22_016.0), None, true));
        let busy = row.replace("        7.00", "   90000.00");
        assert_eq!(rates(&format!("{banner}{head}{row}{head}{busy}{head}{row}")).0, Some(92_160_000.0));
        let old = "Device:            tps   Blk_read/s   Blk_wrtn/s   Blk_read   Blk_wrtn\nsdc 4.00 16.00 8.00 100 200\n";
        assert_eq!(rates(old), (Some(8192.0), Some(4096.0), None, false));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(Device|sda|nvme0n1|%util|r/s|rkB/s|w_await|Linux \\(|[-0-9.,]{1,6}|\\PC{0,6}|[ \n]){0,60}") {
            let _ = loads(&format!("Device r/s r_await %util\n{text}"));
        }
    }
}
