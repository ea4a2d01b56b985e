//! `iostat` and `zpool iostat`: what block devices and pools did beside a result, or by themselves.

use narrows_base::units::{BytesPerSec, Iops};

use super::json::documents;
use super::number::{Base, scaled};
use super::surroundings::Pool;
use super::{Imported, Measured, Page, Side, Tool, Work};
use crate::capture::iostat::{self, IostatReport, reports};
use crate::text::indent;

pub use crate::capture::iostat::IostatSample;

/// So many reports of one device are kept.
const MOST_REPORTS: usize = 100_000;

/// What a block device did, interval by interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Device {
    /// Its kernel name.
    pub name: String,
    /// The intervals, without the first report.
    pub samples: Vec<IostatSample>,
    /// Where it was seen last.
    pub source: String,
    /// Whether a first report was seen and left out.
    begun: bool,
}

impl Device {
    /// The median rate of the intervals that did at least a tenth of the busiest; `None` where nothing was done.
    pub fn rate(&self, of: fn(&IostatSample) -> Option<BytesPerSec>) -> Option<BytesPerSec> {
        let rates = self.samples.iter().filter_map(of).map(BytesPerSec::get).collect();
        busy_median(rates).map(BytesPerSec::new)
    }

    /// The most that an interval had.
    pub fn most(&self, of: fn(&IostatSample) -> Option<BytesPerSec>) -> Option<BytesPerSec> {
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
fn busy_median(mut values: Vec<f64>) -> Option<f64> {
    let most = values.iter().copied().fold(0.0, f64::max);
    values.retain(|value| *value > most / 10.0);
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().filter(|value| *value > 0.0)
}

/// `iostat` and `iostat -o JSON` beside a result: what block devices did meanwhile. The first report is the mean since the
/// machine started.
///
/// The devices in a text, in the order in which they appear.
pub(super) fn read_iostat(page: &Page<'_>) -> Vec<Device> {
    let mut found = Vec::new();
    for document in documents(page, "\"disk_device\"") {
        for (name, sample) in iostat::of_document(&document.value) {
            add_report(&mut found, page, (document.line, name, sample), false);
        }
    }
    for report in reports(page.body) {
        add_report(&mut found, page, (report.line, &report.name, report.sample), false);
    }
    // One report alone is the mean since the start, which is of another time than any result.
    found.retain(|device| !device.samples.is_empty());
    found
}

/// Adds what a device or pool did. `begun` says that the mean since the start was not printed.
fn add_report(
    found: &mut Vec<Device>,
    page: &Page<'_>,
    (line, name, sample): (usize, &str, IostatSample),
    begun: bool,
) {
    let at = found.iter().position(|device| device.name == name).unwrap_or_else(|| {
        found.push(Device { name: name.to_owned(), samples: Vec::new(), source: String::new(), begun });
        found.len() - 1
    });
    let Some(device) = found.get_mut(at) else { return };
    device.source = page.source(line);
    if std::mem::replace(&mut device.begun, true) && device.samples.len() < MOST_REPORTS {
        device.samples.push(sample);
    }
}

/// `zpool iostat` beside a result: what the pool's devices moved meanwhile.
///
/// The lines of a pool begin at the margin and have its size, its operations and its bandwidths; `-v` adds a line for each
/// device, indented; `-l`, `-q` and `-r` more columns or tables; `-p` numbers without suffix, `-H` tabs without heading. Bytes
/// are binary (`zfs_nicenum`). The first report is the mean since the pool was imported, unless `-y` leaves it out.
///
/// The busiest pool of a text. Another pool that did something may not be the one that was measured.
pub(super) fn read_zpool(page: &Page<'_>) -> Option<Pool> {
    if !page.has(&["bandwidth", "zpool iostat -H", "zpool iostat -pH"]) {
        return None;
    }
    let mut pools: Vec<Device> = Vec::new();
    for (report, without_first) in pool_reports(page) {
        add_report(&mut pools, page, (report.line, &report.name, report.sample), without_first);
    }
    let moved = |pool: &Device| -> f64 {
        let rates = pool.samples.iter().flat_map(|sample| [sample.read, sample.write]);
        rates.flatten().map(BytesPerSec::get).sum()
    };
    let pools = pools.into_iter().filter(|pool| !pool.samples.is_empty());
    let most = pools.max_by(|a, b| moved(a).total_cmp(&moved(b)))?;
    let (read, write) = (most.rate(|sample| sample.read), most.rate(|sample| sample.write));
    Some(Pool {
        read: read.unwrap_or_default(),
        write: write.unwrap_or_default(),
        source: most.source,
        name: most.name,
    })
}

/// The reports of pools in a text, in its order, and whether `-y` left out the mean since the import.
fn pool_reports(page: &Page<'_>) -> Vec<(IostatReport, bool)> {
    let mut found = Vec::new();
    let (mut in_table, mut without_first) = (false, false);
    let mut margin = 0;
    for (line, text) in page.lines() {
        if let Some((_, options)) = text.split_once("zpool iostat") {
            let mut flags = options.split_whitespace().filter(|word| word.starts_with('-'));
            without_first = flags.any(|word| word.contains('y'));
        }
        if text.contains("operations") && text.contains("bandwidth") {
            in_table = true;
        } else if in_table && text.trim_start().starts_with("pool ") {
            margin = indent(text);
        } else if in_table && indent(text) == margin {
            found.extend(pool_row(line, text.trim_start()).map(|row| (row, without_first)));
        }
    }
    found
}

/// The name of a pool, and what it reads and writes each second. Groups of devices (`logs`, `cache`) have no numbers of
/// their own, and devices are indented.
fn pool_row(line: usize, text: &str) -> Option<IostatReport> {
    if !text.starts_with(|c: char| c.is_alphabetic()) {
        return None;
    }
    let mut words = text.split_whitespace();
    let name = words.next()?.to_owned();
    let cells: Vec<&str> = words.take(6).collect();
    let [allocated, free, reads, writes, read, write] = cells.as_slice() else { return None };
    if ![allocated, free, reads, writes].iter().all(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
        return None;
    }
    let number = |word: &str| scaled(word, Base::Binary);
    let sample = IostatSample {
        read: Some(BytesPerSec::new(number(read)?)),
        write: Some(BytesPerSec::new(number(write)?)),
        read_ios: number(reads),
        write_ios: number(writes),
        ..IostatSample::default()
    };
    Some(IostatReport { line, name, sample })
}

/// So many reports become measurements.
const MOST_OF_ACTIVITY: usize = 1000;

/// What is said where the only report is the first.
const SINCE_START: &str = "the only report is the first: it may be the mean since the start";

/// `iostat` and `zpool iostat` by themselves: what devices carried under a load that nobody tells.
///
/// Beside the result of a benchmark they are evidence and no results ([`read_iostat`], [`read_zpool`]). The first report
/// is the mean since the machine started or the pool was imported: of several it is left out, alone it is said what it is.
///
/// Devices and pools in a text, each call of the tool a result.
pub(super) fn read_activity(page: &Page<'_>) -> Vec<Imported> {
    // The banner with the kernel stands above the first report; without it the text begins in the middle.
    let has_banner = page.lines().any(|(_, line)| iostat::is_banner(line));
    let of_devices = reports(page.body).into_iter().map(|report| (report, !has_banner)).collect();
    let of_devices = activity(page, Tool::Iostat, of_devices);
    of_devices.into_iter().chain(activity(page, Tool::Zpooliostat, pool_reports(page))).collect()
}

/// The result of reports, each with whether the mean since the start is not among them.
fn activity(page: &Page<'_>, tool: Tool, all: Vec<(IostatReport, bool)>) -> Option<Imported> {
    let mut begun: Vec<String> = Vec::new();
    let (first, kept): (Vec<_>, Vec<_>) = all
        .into_iter()
        .map(|(report, begins_later)| {
            let is_first = !begins_later && !begun.contains(&report.name);
            begun.extend(is_first.then(|| report.name.clone()));
            (report, is_first)
        })
        .partition(|(_, is_first)| *is_first);
    let is_alone = kept.is_empty();
    let shown = if is_alone { first } else { kept };
    let mut result = Imported::new(tool, page.name, shown.first()?.0.line);
    result.notes.extend(is_alone.then(|| SINCE_START.to_owned()));
    result.measurements =
        shown.into_iter().take(MOST_OF_ACTIVITY).map(|(report, _)| measured(report)).collect();
    Some(result)
}

fn measured(IostatReport { line, name, sample }: IostatReport) -> Measured {
    let mut measured = Measured::new(line, Work::named(name));
    let side = |rate: Option<BytesPerSec>, ios: Option<f64>| {
        rate.map(|rate| Side { bytes_per_second: rate, iops: ios.map(Iops::new), ..Side::default() })
    };
    measured.read = side(sample.read, sample.read_ios);
    measured.write = side(sample.write, sample.write_ios);
    measured.stuck = sample.depth.filter(|depth| {
        let none = |rate: Option<f64>| rate == Some(0.0);
        let is_busy = sample.busy.is_some_and(|busy| busy > 0.99);
        *depth >= 1.0 && none(sample.read_ios) && none(sample.write_ios) && is_busy
    });
    measured
}
