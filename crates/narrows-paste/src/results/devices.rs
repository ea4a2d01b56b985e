//! `iostat -x` and `iostat -o JSON` beside a result: what block devices did meanwhile.
//!
//! The columns changed often (sysstat's `iostat.c` and its change log): `rsec/s` are sectors of 512 bytes, `rkB/s`, `rMB/s` and
//! `rGB/s` are 1024, 1024² and 1024³ bytes (`*fctr = 2`, `2 * 1024`, `2 * 1024 * 1024` of 512 bytes); `avgqu-sz` became
//! `aqu-sz` in 11.7. `-s` prints both directions as one rate, `--human` writes numbers with a unit of their own, and languages
//! with a decimal comma write one. The first report is the mean since the machine started.

use serde_json::Value;

use super::Page;
use super::json::{documents, number, text};
use super::number::{Base, factor, leading};
use narrows_base::units::BytesPerSec;

/// So many reports of one device are kept.
const MOST: usize = 100_000;

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
    /// I/Os in flight, the mean over the interval.
    pub depth: Option<f64>,
    /// The part of the interval in which something was in flight.
    pub busy: Option<f64>,
}

/// What a block device did, interval by interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Device {
    /// Its kernel name.
    pub name: String,
    /// The intervals, without the first report.
    pub samples: Vec<Sample>,
    /// Where it was seen last.
    pub source: String,
    /// Whether a first report was seen and left out.
    begun: bool,
}

impl Device {
    /// The median rate of the intervals that did at least a tenth of the busiest; `None` where nothing was done.
    pub fn rate(&self, of: fn(&Sample) -> Option<BytesPerSec>) -> Option<BytesPerSec> {
        let rates = self.samples.iter().filter_map(of).map(BytesPerSec::get).collect();
        busy_median(rates).map(BytesPerSec::new)
    }

    /// The most that an interval had.
    pub fn most(&self, of: fn(&Sample) -> Option<BytesPerSec>) -> Option<BytesPerSec> {
        let rates = self.samples.iter().filter_map(of).map(BytesPerSec::get);
        rates.max_by(f64::total_cmp).filter(|most| *most > 0.0).map(BytesPerSec::new)
    }

    /// The median part of the time in which the device had something to do, of the intervals in which it did something.
    pub fn busy(&self) -> Option<f64> {
        busy_median(self.samples.iter().filter_map(|sample| sample.busy).collect())
    }

    /// The median count of I/Os in flight, of the intervals in which it did something.
    pub fn depth(&self) -> Option<f64> {
        busy_median(self.samples.iter().filter_map(|sample| sample.depth).collect())
    }
}

/// The median of the values that are at least a tenth of the greatest; `None` of none, or of nothing but zeros.
pub(super) fn busy_median(mut values: Vec<f64>) -> Option<f64> {
    let most = values.iter().copied().fold(0.0, f64::max);
    values.retain(|value| *value > most / 10.0);
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().filter(|value| *value > 0.0)
}

/// The devices in a text, in the order in which they appear.
pub(super) fn read(page: &Page<'_>) -> Vec<Device> {
    let mut found = if page.has(&["\"disk_device\""]) { of_json(page) } else { Vec::new() };
    for report in reports(page) {
        add(&mut found, &report.name, report.sample, format!("{}:{}", page.name, report.line));
    }
    // One report alone is the mean since the start, which is of another time than any result.
    found.retain(|device| !device.samples.is_empty());
    found
}

fn add(found: &mut Vec<Device>, name: &str, sample: Sample, source: String) {
    let at = found.iter().position(|device| device.name == name).unwrap_or_else(|| {
        found.push(Device {
            name: name.to_owned(),
            samples: Vec::new(),
            source: String::new(),
            begun: false,
        });
        found.len() - 1
    });
    let Some(device) = found.get_mut(at) else { return };
    device.source = source;
    if std::mem::replace(&mut device.begun, true) && device.samples.len() < MOST {
        device.samples.push(sample);
    }
}

fn of_json(page: &Page<'_>) -> Vec<Device> {
    let mut found = Vec::new();
    for document in documents(page, "\"disk_device\"") {
        let hosts = document.value.get("sysstat").and_then(|all| all.get("hosts")).and_then(Value::as_array);
        let reports =
            hosts.into_iter().flatten().filter_map(|host| host.get("statistics")?.as_array()).flatten();
        let disks = reports.filter_map(|report| report.get("disk")?.as_array()).flatten();
        for disk in disks {
            let Some(name) = text(disk, "disk_device") else { continue };
            let rate = |direction: &str| {
                let units = ["kB/s", "MB/s", "GB/s", "sec/s"].iter();
                units.filter_map(|unit| of_unit(number(disk, &format!("{direction}{unit}"))?, unit)).next()
            };
            let sample = Sample {
                read: rate("r"),
                write: rate("w"),
                read_ios: number(disk, "r/s"),
                write_ios: number(disk, "w/s"),
                depth: number(disk, "aqu-sz").or_else(|| number(disk, "avgqu-sz")),
                busy: number(disk, "util").map(|percent| percent / 100.0),
            };
            add(&mut found, name, sample, format!("{}:{}", page.name, document.line));
        }
    }
    found
}

/// A rate in a unit of iostat.
fn of_unit(number: f64, unit: &str) -> Option<BytesPerSec> {
    let bytes = if unit.starts_with("sec") { 512.0 } else { factor(unit, Base::Binary) };
    (number.is_finite() && number >= 0.0).then(|| BytesPerSec::new(number * bytes))
}

/// What one device did in one interval, the first report among them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Report {
    /// The line, from 1.
    pub(super) line: usize,
    /// The device.
    pub(super) name: String,
    /// What it did.
    pub(super) sample: Sample,
}

/// Every report of a text of `iostat -x`, in its order.
pub(super) fn reports(page: &Page<'_>) -> Vec<Report> {
    let mut found = Vec::new();
    if !page.has(&["%util"]) {
        return found;
    }
    let mut table = Table::default();
    for (line_number, line) in page.lines() {
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
    Some(Sample {
        read: rate("r"),
        write: rate("w"),
        read_ios: count("r/s"),
        write_ios: count("w/s"),
        depth: count("aqu-sz").or_else(|| count("avgqu-sz")),
        busy: Some(busy),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seen(body: &str) -> Vec<Device> {
        read(&Page { name: "x", body })
    }

    #[test]
    fn columns_of_2016_and_of_2023() {
        let old = "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util\n\
            sda               1.00     0.00  100.00    0.00  1000.00     0.00   256.82     1.95    9.34    9.34    0.00   3.21  10.00\n\n\
            avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           4.82    0.00    6.21   17.11    0.00   71.86\n\n\
            Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util\n\
            sda               2.00     0.00  312.00    0.00 40064.00     0.00   256.82     2.95    9.34    9.34    0.00   3.21 100.00\n";
        let devices = seen(old);
        assert_eq!(devices[0].rate(|sample| sample.read).map(BytesPerSec::get), Some(40_064.0 * 1024.0));
        assert_eq!((devices[0].depth(), devices[0].busy()), (Some(2.95), Some(1.0)));
        // Printed by sysstat 12.6.1 while bonnie++ wrote.
        let head = "Device            r/s     rMB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wMB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dMB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util\n";
        let row = "vda              3.00      0.07     0.00   0.00   13.00    25.33  414.00   1123.42   113.00  21.44   91.06  2778.71   14.00      1.16     0.00   0.00   47.50    84.57    1.00    0.00   38.40  60.40\n";
        let devices = seen(&format!("{head}{row}\n{head}{row}"));
        assert_eq!(devices[0].samples.len(), 1);
        assert_eq!(devices[0].rate(|sample| sample.write).map(BytesPerSec::get), Some(1123.42 * 1_048_576.0));
        assert_eq!(devices[0].depth(), Some(38.4));
    }

    #[test]
    fn lines_that_mail_broke_are_one_row() {
        let head = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz\navgqu-sz await svctm %util\n";
        let row = "sda 2.00 0.00 312.00 0.00 40064.00 0.00 256.82\n2.95 9.34 3.21 100.00\n";
        let devices = seen(&format!("{head}{row}\n{head}{row}sdb 1 2 3\nsdc 1 2\n"));
        assert_eq!(devices.len(), 1);
        assert_eq!(devices[0].rate(|sample| sample.read).map(BytesPerSec::get), Some(40_064.0 * 1024.0));
    }

    #[test]
    fn sectors_commas_and_units_of_their_own() {
        let head = "Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util\n";
        let row = "sdb               0,00     0,00    1,00    0,00  2048,00     0,00    16,00     0,50    1,00   1,00  50,00\n";
        let devices = seen(&format!("{head}{row}{head}{row}"));
        assert_eq!(devices[0].rate(|sample| sample.read).map(BytesPerSec::get), Some(1_048_576.0));
        let head = "     r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   f/s f_await  aqu-sz  %util Device\n";
        let row = "    1.00      3.5M     0.00   0.0%    1.00     4.0k    0.00      0.0k   0.00    0.00    0.00  12.5% nvme0n1\n";
        let devices = seen(&format!("{head}{row}{head}{row}"));
        assert_eq!(devices[0].rate(|sample| sample.read).map(BytesPerSec::get), Some(3.5 * 1_048_576.0));
        assert_eq!((devices[0].name.as_str(), devices[0].busy()), ("nvme0n1", Some(0.125)));
    }

    #[test]
    fn json_has_the_same_numbers() {
        let body = r#"{"sysstat": {"hosts": [{"statistics": [
            {"disk": [{"disk_device": "vda", "r/s": 66.45, "rMB/s": 5.04, "wMB/s": 25.77, "aqu-sz": 0.60, "util": 2.32}]},
            {"disk": [{"disk_device": "vda", "r/s": 3.00, "rMB/s": 0.07, "wMB/s": 1123.42, "aqu-sz": 38.40, "util": 60.80}]}]}]}}"#;
        let devices = seen(body);
        assert_eq!(devices[0].samples.len(), 1);
        assert_eq!(devices[0].rate(|sample| sample.write).map(BytesPerSec::get), Some(1123.42 * 1_048_576.0));
        assert_eq!(devices[0].busy(), Some(0.608));
    }

    #[test]
    fn one_report_is_of_all_time_and_a_row_that_was_cut_off_is_none() {
        let head = "Device            r/s     rkB/s  aqu-sz  %util\n";
        assert!(seen(&format!("{head}sda 1.00 2.00 3.00 4.00\n")).is_empty());
        assert!(seen(&format!("{head}sda 1.00 2.00 3.00 4.00\n{head}sda 1.00 2.0")).is_empty());
    }

    proptest! {
        #[test]
        fn a_rate_that_is_printed_is_the_rate_that_is_read(kib in 1u32..10_000_000, util in 1u32..100) {
            let report = format!("Device r/s rkB/s w/s wkB/s aqu-sz %util\nsda 1.00 {kib}.00 0.00 0.00 1.00 {util}.00\n\n");
            let devices = seen(&report.repeat(2));
            prop_assert_eq!(devices[0].rate(|sample| sample.read).map(BytesPerSec::get), Some(f64::from(kib) * 1024.0));
            prop_assert_eq!(devices[0].busy(), Some(f64::from(util) / 100.0));
        }
    }
}
