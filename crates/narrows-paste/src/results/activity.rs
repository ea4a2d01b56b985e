//! `iostat -x` and `zpool iostat` by themselves: what devices carried under a load that nobody tells.
//!
//! Beside the result of a benchmark they are evidence and no results ([`super::devices`], [`super::zpool`]). The first report
//! is the mean since the machine started or the pool was imported: of several it is left out, alone it is said what it is.

use super::devices::Sample;
use super::zpool;
use super::{Imported, Measured, Page, Side, Tool, Work};
use crate::capture::iostat::reports;
use narrows_base::units::{BytesPerSec, Iops};

/// So many reports become measurements.
const MOST: usize = 1000;

/// What is said where the only report is the first.
pub(super) const SINCE_START: &str = "the only report is the first: it may be the mean since the start";

/// Devices and pools in a text, each call of the tool a result.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
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
    result.measurements =
        shown.iter().take(MOST).map(|report| measured(report.line, &report.name, &report.sample)).collect();
    Some(result)
}

fn measured(line: usize, name: &str, sample: &Sample) -> Measured {
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
    let all = zpool::reports(page);
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
    for report in shown.into_iter().take(MOST) {
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
    use super::*;

    fn of(body: &str) -> Vec<Imported> {
        read(&Page { name: "x", body })
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
