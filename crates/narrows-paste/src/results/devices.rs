//! `iostat -x` and `iostat -o JSON` beside a result: what block devices did meanwhile. The first report is the mean since the
//! machine started.

use super::Page;
use super::json::documents;
use crate::capture::iostat;
pub use crate::capture::iostat::Sample;
use narrows_base::units::BytesPerSec;

/// So many reports of one device are kept.
const MOST: usize = 100_000;

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
    for report in iostat::reports(page.body) {
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
        for (name, sample) in iostat::of_document(&document.value) {
            add(&mut found, name, sample, format!("{}:{}", page.name, document.line));
        }
    }
    found
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
