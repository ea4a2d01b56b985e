//! The benchmark that GNOME Disks kept of each drive, in the text form of its `GVariant`.
//!
//! A sample reads so many bytes (10 MiB) in one call at equal steps over the device, and, where asked, writes the same
//! block again and waits for `fsync`; another kind reads a page at random. The device is opened with `O_DIRECT`
//! (udisks, `OpenForBenchmark`). Rates are bytes per second, access times seconds, places bytes from the beginning of the
//! device (`src/disks/gdubenchmarkdialog.c`, `benchmark_thread`).

use super::number::{after, count, seconds, to_bytes};
use super::{Durability, Imported, Latency, Op, Page, Percentile, Side, Spread, Tool, Work};
use narrows_base::units::{Bytes, BytesPerSec, Iops};
use narrows_base::workload::Pattern;

/// One page of the machines that GNOME runs on.
const PAGE: Bytes = Bytes::new(4096);

/// More benchmarks are not printed into one text.
const MOST: usize = 64;

/// The benchmarks in a text.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found = Vec::new();
    // Several may have been printed into one text.
    for (at, _) in page.body.match_indices("{'version': <1>").take(MOST) {
        let Some(body) = page.body.get(at..) else { continue };
        let end = body.find('}').unwrap_or(body.len());
        let line = page.body.get(..at).map_or(1, |above| above.matches('\n').count() + 1);
        let is_whole = end < body.len();
        found.extend(benchmark(page, line, body.get(..end).unwrap_or(body), is_whole));
    }
    found
}

fn benchmark(page: &Page<'_>, line: usize, body: &str, is_whole: bool) -> Option<Imported> {
    let number = |key: &str| count(after(body, key)?.trim_start_matches("uint64 "));
    let size = number("'sample-size': <").filter(|size| *size > 0).map(Bytes::new);
    let device = number("'device-size': <").map(Bytes::new);
    let mut imported = Imported::new(Tool::Gnomedisks, page.name, line);
    imported.truncated = !is_whole;
    for (key, op) in [("'read-samples': <", Op::Read), ("'write-samples': <", Op::Write)] {
        let rates = samples(body, key);
        let (Some(side), Some(size)) = (transfers(&rates, size), size) else { continue };
        let work = Work {
            label: format!("{} transfer rate", op.word()),
            pattern: Some(Pattern::Sequential),
            block_size: Some(size),
            durability: (op == Op::Write).then_some(Durability::Each),
            ..work(device)
        };
        imported.push(line, work, op, side);
    }
    if let Some(side) = accesses(&samples(body, "'access-time-samples': <")) {
        let work = Work {
            label: "access time".to_owned(),
            pattern: Some(Pattern::Random),
            block_size: Some(PAGE),
            ..work(device)
        };
        imported.push(line, work, Op::Read, side);
    }
    (!imported.is_empty()).then_some(imported)
}

fn work(device: Option<Bytes>) -> Work {
    Work { queue_depth: Some(1), jobs: Some(1), direct: Some(true), working_set: device, ..Work::default() }
}

/// `[(uint64 0, 100000000.0), (1000000000, 101000000.0)]`: the values, in the order of the places.
fn samples(body: &str, key: &str) -> Vec<f64> {
    let Some(list) = after(body, key) else { return Vec::new() };
    let list = list.find('>').and_then(|end| list.get(..end)).unwrap_or(list);
    let pairs = list.split('(').filter_map(|pair| pair.split_once(')'));
    let values = pairs.filter_map(|(pair, _)| pair.split_once(',')?.1.trim().parse().ok());
    values.filter(|value: &f64| value.is_finite() && *value > 0.0).collect()
}

/// The tool shows the mean of the samples' rates, which is what is read. How far the samples are apart says nothing of how
/// steady the rate was in time: they are of different places, and a disk that turns reads half as much at its inner tracks.
fn transfers(rates: &[f64], size: Option<Bytes>) -> Option<Side> {
    let size = size?.as_f64();
    let spread = Spread::of(rates)?;
    let total: f64 = rates.iter().map(|rate| size / rate).sum();
    Some(Side {
        bytes: to_bytes(size * rates.len() as f64),
        ios: u64::try_from(rates.len()).ok(),
        elapsed_ns: seconds(total),
        ..Side::at(BytesPerSec::new(spread.mean))
    })
}

fn accesses(times: &[f64]) -> Option<Side> {
    let spread = Spread::of(times)?;
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |percent: f64| {
        let place = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
        let latency_ns = sorted.get(place.saturating_sub(1)).copied()? * 1e9;
        Some(Percentile { percent, latency_ns })
    };
    let latency =
        Latency { max: sorted.last().map(|most| most * 1e9), ..Latency::of_mean(spread.mean * 1e9) };
    Some(Side {
        iops: Some(Iops::new(1.0 / spread.mean)),
        bytes: to_bytes(PAGE.as_f64() * times.len() as f64),
        ios: u64::try_from(times.len()).ok(),
        elapsed_ns: seconds(times.iter().sum()),
        latency_ns: Some(latency.with_percentiles([50.0, 90.0, 99.0].into_iter().filter_map(at).collect())),
        ..Side::at(BytesPerSec::new(PAGE.as_f64() / spread.mean))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Text;
    use proptest::prelude::*;

    const FILE: &[u8] = include_bytes!("../text/three-samples.gnome-disks-benchmark");

    #[test]
    fn a_file_of_glib_is_read_through_its_text() {
        let text = Text::of_file("x", FILE).expect("a text");
        let found = read(&Page { name: text.name(), body: text.body() });
        let [read, access] = found[0].measurements.as_slice() else { panic!("{found:?}") };
        let side = read.read.as_ref().expect("reads");
        assert_eq!(side.bytes_per_second.get(), 101e6);
        assert_eq!((read.work.block_size, read.work.direct), (Some(Bytes::new(10 << 20)), Some(true)));
        assert_eq!(read.work.working_set, Some(Bytes::new(1_000_204_886_016)));
        let latency = access.read.as_ref().and_then(|side| side.latency_ns.as_ref()).expect("latencies");
        assert_eq!((latency.mean, latency.max), (Some(15_625_000.0), Some(23_437_500.0)));
    }

    #[test]
    fn a_printed_one_may_be_cut_off_in_a_sample() {
        let body = "{'version': <1>, 'timestamp-usec': <int64 1>, 'device-size': <uint64 100>, 'sample-size': <uint64 10>, \
            'write-samples': <@a(td) []>, 'access-time-samples': <[(uint64 0, 0.01), (5, 0.0";
        let found = read(&Page { name: "x", body });
        assert!(found[0].truncated);
        assert_eq!(found[0].measurements.len(), 1);
        assert_eq!(found[0].measurements[0].read.as_ref().and_then(|side| side.ios), Some(1));
    }

    proptest! {
        #[test]
        fn the_mean_of_the_samples_is_the_rate(rates in prop::collection::vec(1e3f64..1e10, 1..30)) {
            let shown: Vec<String> = rates.iter().enumerate().map(|(at, rate)| format!("({at}, {rate:?})")).collect();
            let body = format!(
                "{{'version': <1>, 'sample-size': <uint64 1048576>, 'read-samples': <[{}]>, 'access-time-samples': <@a(td) []>}}",
                shown.join(", ")
            );
            let found = read(&Page { name: "x", body: &body });
            let side = found[0].measurements[0].read.clone().expect("reads");
            let mean = rates.iter().sum::<f64>() / rates.len() as f64;
            prop_assert!((side.bytes_per_second.get() / mean - 1.0).abs() < 1e-12);
        }
    }
}
