//! A run of Vdbench: its intervals and their average.

use super::super::number::{Base, size, to_bytes};
use super::super::{Imported, Latency, Measured, Op, Side, Spread, Tool, Work};
use super::Sample;
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_base::workload::Pattern;

/// Fewer intervals show nothing of how steady a rate was.
const FEWEST: usize = 5;

/// What one `rd=` did.
#[derive(Debug, Clone, Default)]
pub(super) struct Run {
    /// The line where it begins.
    pub(super) line: usize,
    /// Its name.
    pub(super) name: String,
    /// The intervals, without the average.
    pub(super) samples: Vec<Sample>,
    /// Seconds of an interval.
    pub(super) interval: Option<f64>,
    /// What the tool itself averaged, and over which intervals.
    pub(super) average: Option<(Sample, u32, u32)>,
    /// Seconds that were asked for.
    pub(super) asked: Option<f64>,
    /// Threads for each storage definition.
    pub(super) threads: Option<u32>,
    /// Part of seeks, from 0 (sequential) to 1.
    pub(super) seeks: Option<f64>,
    /// A rate that was asked for, and not the most that is possible.
    pub(super) asked_rate: Option<f64>,
}

/// `avg_2-5`: the intervals that an average is of.
pub(super) fn averaged(word: &str) -> Option<(u32, u32)> {
    let (first, last) = word.strip_prefix("avg_")?.split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

impl Run {
    /// Takes what stands behind the name: `elapsed=60; … For loops: threads=2 iorate=max`.
    pub(super) fn set(&mut self, settings: &str) {
        let option = |key: &str| {
            let mut words = settings.split([';', ' ', ',']);
            words.find_map(|word| word.trim().strip_prefix(key)?.strip_prefix('=').map(str::to_owned))
        };
        self.asked = option("elapsed").and_then(|text| text.parse().ok()).filter(|asked: &f64| *asked > 0.0);
        self.threads = option("threads").and_then(|text| text.parse().ok());
        if let Some(rest) = settings.split_once("I/O rate: ").map(|(_, rest)| rest) {
            self.asked_rate = super::super::number::leading(rest).map(|(rate, _)| rate);
        }
    }

    /// The measurement, and whether the average is missing.
    pub(super) fn measured(&self) -> Option<(Measured, bool)> {
        let own = || {
            // The first interval is left out, as the tool's own average does.
            let rest = self.samples.get(1..).filter(|rest| !rest.is_empty())?;
            Some(mean(rest))
        };
        let is_missing = self.average.is_none();
        let sample = self.average.as_ref().map(|(sample, ..)| sample.clone()).or_else(own)?;
        if sample.bytes <= 0.0 || !sample.bytes.is_finite() {
            return None;
        }
        let mut measured = Measured::new(self.line, self.work(&sample));
        for op in [Op::Read, Op::Write] {
            if let Some(side) = self.side(&sample, op) {
                measured.put(op, side);
            }
        }
        Some((measured, is_missing))
    }

    fn work(&self, sample: &Sample) -> Work {
        let nanos = |seconds: f64| Nanos::new((seconds * 1e9) as u64);
        Work {
            label: match self.asked_rate {
                Some(rate) => format!("{} at {rate} I/Os per second", self.name),
                None => self.name.clone(),
            },
            pattern: self.seeks.map(|seeks| if seeks > 0.0 { Pattern::Random } else { Pattern::Sequential }),
            block_size: to_bytes(sample.size).filter(|size| size.get() > 0),
            jobs: self.threads,
            asked_ns: self.asked.filter(|asked| *asked < 1e9).map(nanos),
            ..Work::default()
        }
    }

    /// Seconds of the intervals that the average is of.
    fn seconds(&self) -> Option<f64> {
        let count = match self.average {
            Some((_, first, last)) => f64::from(last.checked_sub(first)?.checked_add(1)?),
            None => self.samples.len().checked_sub(1)? as f64,
        };
        Some(count * self.interval?).filter(|seconds| *seconds > 0.0 && *seconds < 1e9)
    }

    fn side(&self, sample: &Sample, op: Op) -> Option<Side> {
        let of_mix = if op == Op::Read { sample.reads } else { 1.0 - sample.reads };
        let pick = |both: (f64, f64)| if op == Op::Read { both.0 } else { both.1 };
        let bytes = sample.sides.map_or(sample.bytes * of_mix, pick);
        let ios = sample.ios.map_or(sample.rate * of_mix, pick);
        // A thousandth is the rounding of the printed percentage.
        if bytes < 1e-3 * sample.bytes || bytes <= 0.0 {
            return None;
        }
        let (own, longest) = match op {
            Op::Read => (sample.read_response, sample.longest_read),
            Op::Write => (sample.write_response, sample.longest_write),
        };
        let is_alone = of_mix > 0.999;
        let mean = own.filter(|own| *own > 0.0).or_else(|| is_alone.then_some(sample.response));
        let max = longest.or_else(|| is_alone.then_some(sample.longest).flatten());
        let rates: Vec<f64> = self.samples.iter().map(|sample| sample.bytes).collect();
        let seconds = self.seconds();
        Some(Side {
            bytes_per_second: BytesPerSec::new(bytes),
            iops: (ios > 0.0).then(|| Iops::new(ios)),
            bytes: seconds.and_then(|seconds| to_bytes(bytes * seconds)),
            elapsed_ns: seconds.map(|seconds| Nanos::new((seconds * 1e9) as u64)),
            latency_ns: mean.filter(|mean| *mean > 0.0).map(|mean| Latency {
                max: max.filter(|max| *max > 0.0).map(|max| max * 1e6),
                ..Latency::of_mean(mean * 1e6)
            }),
            // The last interval is one in which threads end; the first warms up.
            spread: rates
                .get(1..rates.len().saturating_sub(1))
                .filter(|rest| rest.len() >= FEWEST)
                .and_then(Spread::of),
            ..Side::default()
        })
    }
}

fn mean(samples: &[Sample]) -> Sample {
    let count = samples.len() as f64;
    let of = |value: fn(&Sample) -> f64| samples.iter().map(value).sum::<f64>() / count;
    let ios = of(|sample| sample.rate).max(f64::MIN_POSITIVE);
    // Shares and times are weighted by the I/Os that they are of.
    let weighted = |value: fn(&Sample) -> f64| of(value) / ios;
    let both = |pick: fn(&Sample) -> Option<(f64, f64)>| -> Option<(f64, f64)> {
        let all: Vec<(f64, f64)> = samples.iter().filter_map(pick).collect();
        let sum = all.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (all.len() == samples.len()).then_some((sum.0 / count, sum.1 / count))
    };
    Sample {
        rate: of(|sample| sample.rate),
        bytes: of(|sample| sample.bytes),
        size: weighted(|sample| sample.size * sample.rate),
        reads: weighted(|sample| sample.reads * sample.rate),
        sides: both(|sample| sample.sides),
        ios: both(|sample| sample.ios),
        response: weighted(|sample| sample.response * sample.rate),
        ..Sample::default()
    }
}

/// The results of runs that stand in one text.
pub(super) fn imported(name: &str, line: usize, version: Option<String>, runs: &[Run]) -> Vec<Imported> {
    let mut imported = Imported::new(Tool::Vdbench, name, line);
    imported.version = version;
    for run in runs {
        let Some((measured, is_missing)) = run.measured() else { continue };
        imported.truncated |= is_missing;
        imported.measurements.push(measured);
    }
    if imported.is_empty() { Vec::new() } else { vec![imported] }
}

/// A size as flat files have it: a number of bytes, or `4k`.
pub(super) fn bytes_of(word: &str) -> Option<Bytes> {
    size(word, Base::Binary)
}
