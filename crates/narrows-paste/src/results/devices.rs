//! `iostat -x` and `zpool iostat`: what block devices and pools did beside a result, or by themselves.

use narrows_base::units::{BytesPerSec, Iops};

use super::json::documents;
use super::number::{Base, scaled};
use super::surroundings::Pool;
use super::{Imported, Measured, Page, Side, Tool, Work};
use crate::capture::iostat::{self, reports};

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

/// `iostat -x` and `iostat -o JSON` beside a result: what block devices did meanwhile. The first report is the mean since the
/// machine started.
///
/// The devices in a text, in the order in which they appear.
pub(super) fn read_iostat(page: &Page<'_>) -> Vec<Device> {
    let mut found = if page.has(&["\"disk_device\""]) { of_json(page) } else { Vec::new() };
    for report in iostat::reports(page.body) {
        add_report(&mut found, &report.name, report.sample, format!("{}:{}", page.name, report.line));
    }
    // One report alone is the mean since the start, which is of another time than any result.
    found.retain(|device| !device.samples.is_empty());
    found
}

fn add_report(found: &mut Vec<Device>, name: &str, sample: IostatSample, source: String) {
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
    if std::mem::replace(&mut device.begun, true) && device.samples.len() < MOST_REPORTS {
        device.samples.push(sample);
    }
}

fn of_json(page: &Page<'_>) -> Vec<Device> {
    let mut found = Vec::new();
    for document in documents(page, "\"disk_device\"") {
        for (name, sample) in iostat::of_document(&document.value) {
            add_report(&mut found, name, sample, format!("{}:{}", page.name, document.line));
        }
    }
    found
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
    let mut pools: Vec<PoolRates> = Vec::new();
    for report in pool_reports(page) {
        let at = pools.iter().position(|pool| pool.name == report.name).unwrap_or_else(|| {
            let begun = report.without_first;
            pools.push(PoolRates { name: report.name.to_owned(), begun, ..PoolRates::default() });
            pools.len() - 1
        });
        let Some(pool) = pools.get_mut(at) else { continue };
        pool.line = report.line;
        if std::mem::replace(&mut pool.begun, true) {
            pool.read.push(report.read);
            pool.write.push(report.write);
        }
    }
    let pools = pools.into_iter().filter(|pool| !pool.read.is_empty());
    let most = pools.max_by(|a, b| a.moved().total_cmp(&b.moved()))?;
    Some(Pool {
        read: BytesPerSec::new(busy_median(most.read).unwrap_or_default()),
        write: BytesPerSec::new(busy_median(most.write).unwrap_or_default()),
        source: format!("{}:{}", page.name, most.line),
        name: most.name,
    })
}

#[derive(Debug, Default)]
struct PoolRates {
    name: String,
    line: usize,
    begun: bool,
    read: Vec<f64>,
    write: Vec<f64>,
}

impl PoolRates {
    fn moved(&self) -> f64 {
        self.read.iter().chain(&self.write).sum()
    }
}

/// What one pool did in one interval, the first report among them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PoolReport<'t> {
    /// The line, from 1.
    pub(super) line: usize,
    /// The pool.
    pub(super) name: &'t str,
    /// Bytes each second.
    pub(super) read: f64,
    /// Bytes each second.
    pub(super) write: f64,
    /// Operations each second.
    pub(super) read_ios: Option<f64>,
    /// Operations each second.
    pub(super) write_ios: Option<f64>,
    /// Whether `-y` left out the mean since the import.
    pub(super) without_first: bool,
}

/// The reports of pools in a text, in its order.
fn pool_reports<'t>(page: &Page<'t>) -> Vec<PoolReport<'t>> {
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
            margin = pool_indent(text);
        } else if in_table && pool_indent(text) == margin {
            found.extend(pool_row(text.trim_start()).map(|row| PoolReport { line, without_first, ..row }));
        }
    }
    found
}

/// How far a line stands from the margin, in bytes.
fn pool_indent(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// The name of a pool, and what it reads and writes each second. Groups of devices (`logs`, `cache`) have no numbers of
/// their own, and devices are indented.
fn pool_row(text: &str) -> Option<PoolReport<'_>> {
    if !text.starts_with(|c: char| c.is_alphabetic()) {
        return None;
    }
    let mut words = text.split_whitespace();
    let name = words.next()?;
    let cells: Vec<&str> = words.take(6).collect();
    let [allocated, free, reads, writes, read, write] = cells.as_slice() else { return None };
    if ![allocated, free, reads, writes].iter().all(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
        return None;
    }
    let number = |word: &str| scaled(word, Base::Binary);
    Some(PoolReport {
        line: 0,
        name,
        read: number(read)?,
        write: number(write)?,
        read_ios: number(reads),
        write_ios: number(writes),
        without_first: false,
    })
}

/// So many reports become measurements.
const MOST_OF_ACTIVITY: usize = 1000;

/// What is said where the only report is the first.
const SINCE_START: &str = "the only report is the first: it may be the mean since the start";

/// `iostat -x` and `zpool iostat` by themselves: what devices carried under a load that nobody tells.
///
/// Beside the result of a benchmark they are evidence and no results ([`read_iostat`], [`pool_reports`]). The first report
/// is the mean since the machine started or the pool was imported: of several it is left out, alone it is said what it is.
///
/// Devices and pools in a text, each call of the tool a result.
pub(super) fn read_activity(page: &Page<'_>) -> Vec<Imported> {
    iostat(page).into_iter().chain(pools(page)).collect()
}

fn iostat(page: &Page<'_>) -> Option<Imported> {
    if !page.has(&["%util"]) || !page.has(&["Device"]) {
        return None;
    }
    let all = reports(page.body);
    // The banner with the kernel stands above the first report; without it the text begins in the middle.
    let has_banner = page
        .lines()
        .any(|(_, line)| line.trim_start().to_ascii_lowercase().starts_with("linux ") && line.contains('('));
    let mut begun: Vec<&str> = Vec::new();
    let (mut kept, mut first): (Vec<_>, Vec<_>) = (Vec::new(), Vec::new());
    for report in &all {
        let is_first = has_banner && !begun.contains(&report.name.as_str());
        if is_first {
            begun.push(&report.name);
        }
        (if is_first { &mut first } else { &mut kept }).push(report);
    }
    let is_alone = kept.is_empty();
    let shown = if is_alone { first } else { kept };
    let mut result = Imported::new(Tool::Iostat, page.name, shown.first()?.line);
    if is_alone {
        result.notes.push(SINCE_START.to_owned());
    }
    result.measurements = shown
        .iter()
        .take(MOST_OF_ACTIVITY)
        .map(|report| measured(report.line, &report.name, &report.sample))
        .collect();
    Some(result)
}

fn measured(line: usize, name: &str, sample: &IostatSample) -> Measured {
    let work = Work { label: name.to_owned(), ..Work::default() };
    let mut measured = Measured::new(line, work);
    let side = |rate: Option<BytesPerSec>, ios: Option<f64>| {
        rate.map(|rate| Side { bytes_per_second: rate, iops: ios.map(Iops::new), ..Side::default() })
    };
    measured.read = side(sample.read, sample.read_ios);
    measured.write = side(sample.write, sample.write_ios);
    measured.stuck = sample.depth.filter(|depth| {
        let none = |rate: Option<f64>| rate == Some(0.0);
        *depth >= 1.0
            && none(sample.read_ios)
            && none(sample.write_ios)
            && sample.busy.is_some_and(|busy| busy > 0.99)
    });
    measured
}

fn pools(page: &Page<'_>) -> Option<Imported> {
    let all = pool_reports(page);
    let mut names: Vec<&str> = Vec::new();
    let mut shown = Vec::new();
    let mut first = Vec::new();
    for report in &all {
        let is_first = !report.without_first && !names.contains(&report.name);
        if is_first {
            names.push(report.name);
        }
        (if is_first { &mut first } else { &mut shown }).push(report);
    }
    let is_alone = shown.is_empty();
    let shown = if is_alone { first } else { shown };
    let mut result = Imported::new(Tool::Zpooliostat, page.name, shown.first()?.line);
    if is_alone {
        result.notes.push(SINCE_START.to_owned());
    }
    for report in shown.into_iter().take(MOST_OF_ACTIVITY) {
        let mut measured =
            Measured::new(report.line, Work { label: report.name.to_owned(), ..Work::default() });
        let side = |rate: f64, ios: Option<f64>| {
            Some(Side {
                bytes_per_second: BytesPerSec::new(rate),
                iops: ios.map(Iops::new),
                ..Side::default()
            })
        };
        measured.read = side(report.read, report.read_ios);
        measured.write = side(report.write, report.write_ios);
        result.measurements.push(measured);
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn devices_seen(body: &str) -> Vec<Device> {
        read_iostat(&Page { name: "x", body })
    }

    #[test]
    fn columns_of_2016_and_of_2023() {
        let old = "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util\n\
            sda               1.00     0.00  100.00    0.00  1000.00     0.00   256.82     1.95    9.34    9.34    0.00   3.21  10.00\n\n\
            avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           4.82    0.00    6.21   17.11    0.00   71.86\n\n\
            Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util\n\
            sda               2.00     0.00  312.00    0.00 40064.00     0.00   256.82     2.95    9.34    9.34    0.00   3.21 100.00\n";
        let devices = devices_seen(old);
        assert_eq!(devices[0].rate(|sample| sample.read).map(BytesPerSec::get), Some(40_064.0 * 1024.0));
        assert_eq!((devices[0].depth(), devices[0].busy()), (Some(2.95), Some(1.0)));
        // Printed by sysstat 12.6.1 while bonnie++ wrote.
        let head = "Device            r/s     rMB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wMB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dMB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util\n";
        let row = "vda              3.00      0.07     0.00   0.00   13.00    25.33  414.00   1123.42   113.00  21.44   91.06  2778.71   14.00      1.16     0.00   0.00   47.50    84.57    1.00    0.00   38.40  60.40\n";
        let devices = devices_seen(&format!("{head}{row}\n{head}{row}"));
        assert_eq!(devices[0].samples.len(), 1);
        assert_eq!(devices[0].rate(|sample| sample.write).map(BytesPerSec::get), Some(1123.42 * 1_048_576.0));
        assert_eq!(devices[0].depth(), Some(38.4));
    }

    #[test]
    fn lines_that_mail_broke_are_one_row() {
        let head = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz\navgqu-sz await svctm %util\n";
        let row = "sda 2.00 0.00 312.00 0.00 40064.00 0.00 256.82\n2.95 9.34 3.21 100.00\n";
        let devices = devices_seen(&format!("{head}{row}\n{head}{row}sdb 1 2 3\nsdc 1 2\n"));
        assert_eq!(devices.len(), 1);
        assert_eq!(devices[0].rate(|sample| sample.read).map(BytesPerSec::get), Some(40_064.0 * 1024.0));
    }

    #[test]
    fn sectors_commas_and_units_of_their_own() {
        let head = "Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util\n";
        let row = "sdb               0,00     0,00    1,00    0,00  2048,00     0,00    16,00     0,50    1,00   1,00  50,00\n";
        let devices = devices_seen(&format!("{head}{row}{head}{row}"));
        assert_eq!(devices[0].rate(|sample| sample.read).map(BytesPerSec::get), Some(1_048_576.0));
        let head = "     r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   f/s f_await  aqu-sz  %util Device\n";
        let row = "    1.00      3.5M     0.00   0.0%    1.00     4.0k    0.00      0.0k   0.00    0.00    0.00  12.5% nvme0n1\n";
        let devices = devices_seen(&format!("{head}{row}{head}{row}"));
        assert_eq!(devices[0].rate(|sample| sample.read).map(BytesPerSec::get), Some(3.5 * 1_048_576.0));
        assert_eq!((devices[0].name.as_str(), devices[0].busy()), ("nvme0n1", Some(0.125)));
    }

    #[test]
    fn json_has_the_same_numbers() {
        let body = r#"{"sysstat": {"hosts": [{"statistics": [
            {"disk": [{"disk_device": "vda", "r/s": 66.45, "rMB/s": 5.04, "wMB/s": 25.77, "aqu-sz": 0.60, "util": 2.32}]},
            {"disk": [{"disk_device": "vda", "r/s": 3.00, "rMB/s": 0.07, "wMB/s": 1123.42, "aqu-sz": 38.40, "util": 60.80}]}]}]}}"#;
        let devices = devices_seen(body);
        assert_eq!(devices[0].samples.len(), 1);
        assert_eq!(devices[0].rate(|sample| sample.write).map(BytesPerSec::get), Some(1123.42 * 1_048_576.0));
        assert_eq!(devices[0].busy(), Some(0.608));
    }

    #[test]
    fn one_report_is_of_all_time_and_a_row_that_was_cut_off_is_none() {
        let head = "Device            r/s     rkB/s  aqu-sz  %util\n";
        assert!(devices_seen(&format!("{head}sda 1.00 2.00 3.00 4.00\n")).is_empty());
        assert!(devices_seen(&format!("{head}sda 1.00 2.00 3.00 4.00\n{head}sda 1.00 2.0")).is_empty());
    }

    proptest! {
        #[test]
        fn a_rate_that_is_printed_is_the_rate_that_is_read(kib in 1u32..10_000_000, util in 1u32..100) {
            let report = format!("Device r/s rkB/s w/s wkB/s aqu-sz %util\nsda 1.00 {kib}.00 0.00 0.00 1.00 {util}.00\n\n");
            let devices = devices_seen(&report.repeat(2));
            prop_assert_eq!(devices[0].rate(|sample| sample.read).map(BytesPerSec::get), Some(f64::from(kib) * 1024.0));
            prop_assert_eq!(devices[0].busy(), Some(f64::from(util) / 100.0));
        }
    }

    fn zpool_seen(body: &str) -> Option<Pool> {
        read_zpool(&Page { name: "z", body })
    }

    #[test]
    fn the_busiest_pool_is_the_one_and_its_first_report_is_of_all_time() {
        let head = "              capacity     operations    bandwidth\npool        alloc   free   read  write   read  write\n----------  -----  -----  -----  -----  -----  -----\n";
        let body = format!(
            "{head}rpool        1G     9G      1      1  900M  900M\ntank       10.5T  22.0T     21    389  2.70M  35.5M\n  raidz2   10.5T  22.0T     21    389  2.70M  35.5M\n\
             {head}rpool        1G     9G      0      1     0  1M\ntank       10.5T  22.0T     21    389   100M  35.5M\n  hdd1      -      -      3     93   432K  9.04M\nlogs            -      -      -      -      -      -\n\
             tank       10.5T  22.0T     21    389   102M  35.5M\n"
        );
        let pool = zpool_seen(&body).expect("a pool");
        assert_eq!((pool.name.as_str(), pool.read.get()), ("tank", 102.0 * 1_048_576.0));
    }

    #[test]
    fn plain_numbers_are_bytes() {
        let head = "capacity operations bandwidth\npool alloc free read write read write\n";
        let body = format!("{head}tank 100 200 1 2 3 4\ntank 100 200 5 6 104857600 0\ntank 100 2");
        assert_eq!(zpool_seen(&body).expect("a pool").read.get(), 104_857_600.0);
        assert_eq!(zpool_seen(&format!("{head}tank 100 200 1 2 3 4\n")), None);
    }

    #[test]
    fn latencies_behind_the_bandwidths_change_nothing() {
        let body = "              capacity     operations     bandwidth    total_wait     disk_wait\npool        alloc   free   read  write   read  write   read  write   read  write\n\
            tank         1T     1T      1      1     1M     1M    1ms    2ms    1ms    2ms\ntank         1T     1T      1      1   200M     0    1ms    2ms    1ms    2ms\n";
        assert_eq!(zpool_seen(body).map(|pool| pool.read.get()), Some(200.0 * 1_048_576.0));
    }

    fn of(body: &str) -> Vec<Imported> {
        read_activity(&Page { name: "x", body })
    }

    const HEAD: &str = "Device:  rrqm/s wrqm/s r/s w/s rMB/s wMB/s avgrq-sz avgqu-sz await svctm %util\n";

    #[test]
    fn the_report_under_the_banner_does_not_count_and_one_where_nothing_ends_is_stuck() {
        let stuck = "sdl 0.00 0.00 0.00 0.00 0.00 0.00 0.00 42.00 0.00 0.00 100.00\n";
        let found = of(&format!(
            "Linux 2.6.32 (host) _x86_64_\n{HEAD}sdl 0.19 54.14 3.40 6.05 0.26 0.24 107.94 0.01 3.78 3.83 3.62\n\n{HEAD}{stuck}"
        ));
        let one = &found[0].measurements[0];
        assert_eq!((found[0].measurements.len(), one.stuck), (1, Some(42.0)));
        assert_eq!(one.read.as_ref().map(|side| side.bytes_per_second.get()), Some(0.0));
    }

    #[test]
    fn without_a_banner_each_report_counts_and_a_first_one_alone_says_what_it_is() {
        let row = "sda 0 0 10 20 1.00 2.00 100 0.5 1 1 10.00\n";
        assert_eq!(of(&format!("{HEAD}{row}\n{HEAD}{row}"))[0].measurements.len(), 2);
        let alone = of(&format!("Linux 5.10 (host)\n{HEAD}{row}"));
        assert_eq!((alone[0].measurements.len(), alone[0].notes.len()), (1, 1));
        assert_eq!(
            alone[0].measurements[0].write.as_ref().and_then(|side| side.iops).map(Iops::get),
            Some(20.0)
        );
    }

    #[test]
    fn pools_without_their_first_report() {
        let head =
            "   capacity     operations    bandwidth\npool  alloc   free   read  write   read  write\n";
        let found = of(&format!(
            "{head}tank  1,34T  5,91T  2,13K  18  1,46M  1,86M\ntank  1,34T  5,91T  3,65K  438  2,48M  51,9M\n"
        ));
        let one = &found[0].measurements;
        assert_eq!(one.len(), 1);
        let write = one[0].write.as_ref().expect("writes");
        assert!((write.bytes_per_second.get() - 51.9 * 1_048_576.0).abs() < 1.0);
        assert_eq!(write.iops.map(Iops::get), Some(438.0));
    }
}
