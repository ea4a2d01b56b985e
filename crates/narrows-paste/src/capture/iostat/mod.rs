//! What block devices did while somebody looked: `iostat -x`, text and JSON.
//!
//! Of several reports the one counts in which the device was busiest; its numbers stay together. The first is the mean since
//! the machine started (below the banner with the kernel, and of every JSON document without `-y`): it counts only where it is
//! alone, and then it says what it is.

mod table;

pub use table::Sample;
pub(crate) use table::{of_document, reports};

use std::collections::BTreeMap;

use super::device::{is_kernel_name, key_of};
use super::json::documents;
use super::{Part, Rank, Text};
use narrows_base::fact::Fact;
use narrows_machine::captured::DeviceLoad;

/// More devices than one machine has.
const MOST: usize = 4096;

/// Reads what every device of a text did.
pub fn read(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Summary, ..Part::default() };
    if !["%util", "\"disk_device\""].iter().any(|mark| text.body().contains(mark)) {
        return part;
    }
    let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
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
        part.kind = Some("iostat -x");
    }
    part
}

/// `Linux 5.6.8-300.fc32.x86_64 (host)  2020-05-14  _x86_64_  (8 CPU)`.
fn is_banner(line: &str) -> bool {
    line.trim_start().starts_with("Linux ") && line.contains('(')
}

/// The reports of one device.
#[derive(Debug, Default)]
struct Seen {
    /// The first, where it is the mean since the start.
    first: Option<(usize, Sample)>,
    busiest: Option<(usize, Sample)>,
    intervals: u32,
}

fn note(seen: &mut BTreeMap<String, Seen>, name: &str, first_is_mean: bool, report: (usize, Sample)) {
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
    let weight = |sample: &Sample| (sample.busy.unwrap_or_default(), sample.depth.unwrap_or_default());
    if seen.busiest.as_ref().is_none_or(|(_, known)| weight(&report.1) > weight(known)) {
        seen.busiest = Some(report);
    }
}

impl Seen {
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

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::units::Nanos;
    use proptest::prelude::*;

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
        assert!(loads("Device tps kB_read/s\nsda 1.00 2.00\n").is_empty());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(Device|sda|nvme0n1|%util|r/s|rkB/s|w_await|Linux \\(|[-0-9.,]{1,6}|\\PC{0,6}|[ \n]){0,60}") {
            let _ = loads(&format!("Device r/s r_await %util\n{text}"));
        }
    }
}
