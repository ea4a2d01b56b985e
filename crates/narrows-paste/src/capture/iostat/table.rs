//! What `iostat -x` and `iostat -o JSON` print, of every version.
//!
//! The columns changed often (sysstat's `iostat.c` and its change log): `rsec/s` are sectors of 512 bytes, `rkB/s`, `rMB/s` and
//! `rGB/s` are 1024, 1024² and 1024³ bytes (`*fctr = 2`, `2 * 1024`, `2 * 1024 * 1024` of 512 bytes); `avgqu-sz` became
//! `aqu-sz` in 11.7; `await` was one column for both directions once. `-s` prints both directions as one rate, `--human` writes
//! numbers with a unit of their own, and languages with a decimal comma write one.

use serde_json::Value;

use crate::capture::number::{Base, factor, leading};
use narrows_base::units::{BytesPerSec, Nanos};

/// What a block device did in one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sample {
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
pub(crate) fn of_document(document: &Value) -> Vec<(&str, Sample)> {
    let hosts = document.get("sysstat").and_then(|all| all.get("hosts")).and_then(Value::as_array);
    let reports = hosts.into_iter().flatten().filter_map(|host| host.get("statistics")?.as_array()).flatten();
    let disks = reports.filter_map(|report| report.get("disk")?.as_array()).flatten();
    disks.filter_map(|disk| Some((disk.get("disk_device")?.as_str()?, of_object(disk)))).collect()
}

fn of_object(disk: &Value) -> Sample {
    let number = |key: &str| match disk.get(key)? {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => leading(text).map(|(number, _)| number),
        _ => None,
    };
    let rate = |direction: &str| {
        let units = ["kB/s", "MB/s", "GB/s", "sec/s"].iter();
        units.filter_map(|unit| of_unit(number(&format!("{direction}{unit}"))?, unit)).next()
    };
    let wait = |direction: &str| millis(number(direction).or_else(|| number("await"))?);
    Sample {
        read: rate("r"),
        write: rate("w"),
        read_ios: number("r/s"),
        write_ios: number("w/s"),
        read_wait: wait("r_await"),
        write_wait: wait("w_await"),
        depth: number("aqu-sz").or_else(|| number("avgqu-sz")),
        busy: number("util").map(|percent| percent / 100.0),
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
pub(crate) struct Report {
    /// The line, from 1.
    pub(crate) line: usize,
    /// The device.
    pub(crate) name: String,
    /// What it did.
    pub(crate) sample: Sample,
}

/// Every report of a text of `iostat -x`, in its order.
pub(crate) fn reports(body: &str) -> Vec<Report> {
    let mut found = Vec::new();
    if !body.contains("%util") {
        return found;
    }
    let mut table = Table::default();
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
            found.push(Report { line: line_number, name: (*name).to_owned(), sample });
        }
    }
    found
}

fn is_device(column: &str) -> bool {
    column.trim_end_matches(':') == "Device"
}

/// The columns, and the row that is being read: mail breaks lines of this width.
#[derive(Debug, Default)]
struct Table<'t> {
    columns: Vec<&'t str>,
    /// Whether the line above was a heading that has no end yet.
    is_open: bool,
    begun: Vec<&'t str>,
}

impl<'t> Table<'t> {
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
        self.is_open = !words.contains(&"%util") && self.columns.len() < Self::MOST;
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

fn sample(columns: &[&str], words: &[&str]) -> Option<Sample> {
    let cell = |name: &str| words.get(columns.iter().position(|column| *column == name)?).copied();
    let count = |name: &str| {
        let (number, rest) = leading(cell(name)?)?;
        Some(number * if rest.starts_with(['k', 'M', 'G']) { factor(rest, Base::Decimal) } else { 1.0 })
    };
    let rate = |direction: &str| {
        ["kB/s", "MB/s", "GB/s", "sec/s"].into_iter().find_map(|unit| {
            let (number, rest) = leading(cell(&format!("{direction}{unit}"))?)?;
            // `--human` writes the unit behind each number, whatever the heading says.
            if rest.starts_with(|c: char| c.is_alphabetic()) {
                return Some(BytesPerSec::new(number * factor(rest, Base::Binary)));
            }
            of_unit(number, unit)
        })
    };
    let busy = count("%util")? / 100.0;
    // Until sysstat 9.1.2 there was one column for both directions.
    let wait = |direction: &str| millis(count(direction).or_else(|| count("await"))?);
    Some(Sample {
        read: rate("r"),
        write: rate("w"),
        read_ios: count("r/s"),
        write_ios: count("w/s"),
        read_wait: wait("r_await"),
        write_wait: wait("w_await"),
        depth: count("aqu-sz").or_else(|| count("avgqu-sz")),
        busy: Some(busy),
    })
}
