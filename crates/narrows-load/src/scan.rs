//! Samples at positions spread over a target: how fast it reads there, and how long single accesses take.
//!
//! Discs read faster at their outer edge, where the first blocks are; drives of several parts (arrays, volumes, hybrid
//! drives) show their seams. One sample is one read of some MiB, which the kernel splits and keeps in flight together.

use std::io;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::buffer::Buffer;
use super::control::{Control, EndOfRun, Phase};
use super::engine::{Op, Request};
use super::error::LoadError;
use super::failure::{self, Streak};
use super::measurement::Latency;
use super::measurement::RunFailure;
use super::random::Random;
use super::stats::SAMPLE;
use super::target::Target;
use narrows_base::units::{Bytes, BytesPerSec, Nanos};

/// What an access reads, and what positions are multiples of: the page size, as GNOME Disks has it.
const PAGE: u64 = 4096;
/// The most that one sample may read at once.
const MAX_SAMPLE: u64 = 1 << 30;

/// How many samples, and how large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScanPlan {
    /// Positions at which a sample is read.
    pub samples: u32,
    /// Bytes in each sample.
    pub sample_size: Bytes,
    /// Single accesses of 4 KiB at random positions.
    pub seeks: u32,
}

impl Default for ScanPlan {
    /// What GNOME Disks offers: 100 samples of 10 MiB and 1000 accesses.
    fn default() -> Self {
        Self { samples: 100, sample_size: Bytes::from_mib(10), seeks: 1000 }
    }
}

impl ScanPlan {
    /// The same plan with so few samples that no two overlap on a target of `size`: what was read once may come from a
    /// cache the second time.
    #[must_use]
    pub fn fitting(self, size: Bytes) -> Self {
        let most = size.get().checked_div(self.sample_size.get()).unwrap_or(0);
        Self { samples: self.samples.min(u32::try_from(most).unwrap_or(u32::MAX)), ..self }
    }

    /// Where the samples begin: the first at the start, the last at the end, and the same distance between all.
    fn positions(self, size: Bytes) -> impl Iterator<Item = u64> {
        let room = size.saturating_sub(self.sample_size).get();
        let steps = u64::from(self.samples.saturating_sub(1)).max(1);
        (0..u64::from(self.samples)).map(move |index| {
            let at = u128::from(room) * u128::from(index) / u128::from(steps);
            u64::try_from(at).unwrap_or(room) / PAGE * PAGE
        })
    }
}

/// The rate at one position.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateSample {
    /// Where the sample begins.
    pub offset: Bytes,
    /// How fast it was read.
    pub bytes_per_second: BytesPerSec,
}

/// The time of one access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AccessSample {
    /// Where it read.
    pub offset: Bytes,
    /// How long it took.
    pub latency_ns: Nanos,
}

/// What a scan found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scan {
    /// The rates, by position.
    pub rates: Vec<RateSample>,
    /// The accesses, in the order in which they were made.
    pub accesses: Vec<AccessSample>,
    /// Bytes read by the samples.
    pub bytes: Bytes,
    /// Time spent reading them.
    pub elapsed_ns: Nanos,
    /// Reads that failed.
    pub errors: u64,
    /// The first error, with its position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_error: Option<String>,
    /// Why the scan ended before its last sample, when it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<String>,
    /// What ended the scan, when it was neither its time nor a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<RunFailure>,
}

impl Scan {
    /// The mean of the samples' rates, which GNOME Disks shows.
    pub fn mean_rate(&self) -> Option<BytesPerSec> {
        let sum: BytesPerSec = self.rates.iter().map(|sample| sample.bytes_per_second).sum();
        (!self.rates.is_empty()).then(|| sum / self.rates.len() as f64)
    }

    /// The rate of that part of the samples: 0 for the slowest, 0.5 for the median, 1 for the fastest.
    pub fn rate_at(&self, part: f64) -> Option<BytesPerSec> {
        let mut rates: Vec<BytesPerSec> = self.rates.iter().map(|sample| sample.bytes_per_second).collect();
        rates.sort_by(|a, b| a.get().total_cmp(&b.get()));
        rates.get(((rates.len().saturating_sub(1)) as f64 * part.clamp(0.0, 1.0)).round() as usize).copied()
    }

    /// The mean access time, which GNOME Disks shows.
    pub fn mean_access(&self) -> Option<Nanos> {
        let sum: u128 = self.accesses.iter().map(|access| u128::from(access.latency_ns.get())).sum();
        let mean = sum.checked_div(self.accesses.len() as u128)?;
        Some(Nanos::new(u64::try_from(mean).unwrap_or(u64::MAX)))
    }

    /// The access times as latencies.
    pub fn access_latency(&self) -> Latency {
        let mut times: Vec<Nanos> = self.accesses.iter().map(|access| access.latency_ns).collect();
        times.sort_unstable();
        let of = |part: f64| {
            let rank = (times.len() as f64 * part).ceil() as usize;
            times.get(rank.saturating_sub(1)).copied().unwrap_or_default()
        };
        Latency {
            count: times.len() as u64,
            min: of(0.0),
            mean: self.mean_access().unwrap_or_default(),
            max: of(1.0),
            ..Latency::default()
        }
        .with_percentiles(of)
    }

    fn note_error(&mut self, offset: u64, error: &io::Error) {
        self.errors += 1;
        if self.first_error.is_none() {
            self.first_error = Some(format!("{error} at offset {offset}"));
        }
    }

    /// Reads that ended well.
    fn good(&self) -> u64 {
        (self.rates.len() + self.accesses.len()) as u64
    }
}

/// Reads the samples of `plan`, fewer when they would overlap, then makes the accesses, until `limit` is over.
///
/// `control` follows the bytes read and stops it; `done` is told after each step how many of how many there are.
///
/// # Errors
/// A sample does not fit the target or memory is short. Nothing was read then.
pub fn scan(
    target: &Target,
    plan: ScanPlan,
    limit: Duration,
    seed: u64,
    control: &Control,
) -> Result<Scan, LoadError> {
    let _end = EndOfRun(control);
    let plan = plan.fitting(target.size());
    let length = plan.sample_size.get();
    if plan.samples == 0 || length == 0 || length > MAX_SAMPLE || target.size().get() < PAGE {
        let (path, size) = (target.path().to_owned(), target.size());
        return Err(LoadError::TooSmall { path, size, block_size: plan.sample_size });
    }
    let mut buffer = Buffer::new(length as usize)
        .map_err(|source| LoadError::Memory { bytes: plan.sample_size, source })?;
    target.forget_cached();
    control.enter(Phase::Measuring);
    let begin = Instant::now();
    let mut scan = Scan::default();
    let mut streak = Streak::default();
    let is_over = |streak: &Streak| control.is_stopped() || streak.is_failure() || begin.elapsed() >= limit;
    for offset in plan.positions(target.size()) {
        if is_over(&streak) {
            break;
        }
        note(&mut streak, offset, length, sample(target, buffer.bytes(), offset, &mut scan));
        control.add_bytes(length, begin.elapsed().as_nanos() as u64 / SAMPLE.get());
    }
    let mut random = Random::seeded(seed);
    let page = buffer.bytes().get_mut(..PAGE as usize).unwrap_or_default();
    for _ in 0..plan.seeks {
        if is_over(&streak) {
            break;
        }
        let offset = random.below(target.size().get() / PAGE) * PAGE;
        note(&mut streak, offset, PAGE, access(target, page, offset, &mut scan));
    }
    if streak.is_failure()
        && let Some(failure) = streak.failure()
    {
        scan.cut_short = Some(failure.detail.clone());
        scan.failure = Some(RunFailure { after_ios: scan.good(), ..failure });
    } else if control.is_stopped() {
        scan.cut_short = Some("interrupted".to_owned());
    } else if (scan.good() + scan.errors) < u64::from(plan.samples) + u64::from(plan.seeks) {
        scan.cut_short = Some("the time was up".to_owned());
    }
    Ok(scan)
}

/// Notes how a read of `length` bytes ended.
fn note(streak: &mut Streak, offset: u64, length: u64, ended: io::Result<()>) {
    // One follows the other, so none is on its way when another fails, and any tick will do.
    let at = 0;
    match ended {
        Ok(()) => streak.end(at),
        Err(error) => {
            let length = u32::try_from(length).unwrap_or(u32::MAX);
            let result = error.raw_os_error().map_or(0, i32::saturating_neg);
            streak.add(failure::of_io(result, Request { op: Op::Read, offset, length }), at);
        }
    }
}

fn sample(target: &Target, buffer: &mut [u8], offset: u64, scan: &mut Scan) -> io::Result<()> {
    let begin = Instant::now();
    target.file().read_exact_at(buffer, offset).inspect_err(|error| scan.note_error(offset, error))?;
    let (took, bytes) = (begin.elapsed(), Bytes::new(buffer.len() as u64));
    scan.rates.push(RateSample { offset: Bytes::new(offset), bytes_per_second: bytes.per(took) });
    scan.bytes = scan.bytes + bytes;
    scan.elapsed_ns = Nanos::new(scan.elapsed_ns.get().saturating_add(Nanos::from(took).get()));
    Ok(())
}

fn access(target: &Target, page: &mut [u8], offset: u64, scan: &mut Scan) -> io::Result<()> {
    let begin = Instant::now();
    target.file().read_exact_at(page, offset).inspect_err(|error| scan.note_error(offset, error))?;
    scan.accesses.push(AccessSample { offset: Bytes::new(offset), latency_ns: begin.elapsed().into() });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file_of(mib: u64) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        for at in 0..mib {
            file.as_file().write_all_at(&vec![7; 1 << 20], at << 20).unwrap();
        }
        file
    }

    fn plan(samples: u32, sample_size: Bytes) -> ScanPlan {
        ScanPlan { samples, sample_size, seeks: 5 }
    }

    #[test]
    fn samples_are_spread_from_the_first_byte_to_the_last() {
        let file = file_of(9);
        let target = Target::open_file_read(file.path()).unwrap();
        let scan =
            scan(&target, plan(3, Bytes::from_mib(1)), Duration::from_secs(60), 1, &Control::default())
                .unwrap();
        let offsets: Vec<u64> = scan.rates.iter().map(|sample| sample.offset.get() >> 20).collect();
        assert_eq!(offsets, [0, 4, 8]);
        assert_eq!((scan.bytes, scan.accesses.len(), scan.errors), (Bytes::from_mib(3), 5, 0));
        assert_eq!(scan.cut_short, None);
        assert!(scan.accesses.iter().all(|access| access.offset.get() % PAGE == 0));
    }

    #[test]
    fn no_byte_is_sampled_twice() {
        let file = file_of(4);
        let target = Target::open_file_read(file.path()).unwrap();
        let control = Control::default();
        let scan =
            scan(&target, plan(100, Bytes::from_mib(1)), Duration::from_secs(60), 1, &control).unwrap();
        assert_eq!(scan.rates.len(), 4);
        assert_eq!(control.bytes_done(), Bytes::from_mib(4));
    }

    #[test]
    fn a_stopped_scan_and_one_out_of_time_keep_what_they_have_and_say_so() {
        let file = file_of(2);
        let target = Target::open_file_read(file.path()).unwrap();
        let control = Control::default();
        control.stop();
        let stopped =
            scan(&target, plan(2, Bytes::from_mib(1)), Duration::from_secs(60), 1, &control).unwrap();
        assert_eq!((stopped.rates.len(), stopped.cut_short.as_deref()), (0, Some("interrupted")));
        let late =
            scan(&target, plan(2, Bytes::from_mib(1)), Duration::ZERO, 1, &Control::default()).unwrap();
        assert_eq!(late.cut_short.as_deref(), Some("the time was up"));
    }

    #[test]
    fn a_sample_larger_than_the_target_is_refused() {
        let file = file_of(1);
        let target = Target::open_file_read(file.path()).unwrap();
        let large = plan(1, Bytes::from_mib(2));
        let refused = scan(&target, large, Duration::from_secs(1), 1, &Control::default());
        assert!(matches!(refused, Err(LoadError::TooSmall { .. })));
    }

    #[test]
    fn figures_of_a_worked_example() {
        let rate = |mb| RateSample { offset: Bytes::new(0), bytes_per_second: BytesPerSec::from_mb(mb) };
        let access = |ns| AccessSample { offset: Bytes::new(0), latency_ns: Nanos::new(ns) };
        let scan = Scan {
            rates: vec![rate(100.0), rate(400.0), rate(200.0), rate(150.0), rate(150.0)],
            accesses: [100, 300, 300, 100, 200].map(access).into(),
            ..Scan::default()
        };
        assert_eq!(scan.mean_rate(), Some(BytesPerSec::from_mb(200.0)));
        assert_eq!(scan.rate_at(0.5), Some(BytesPerSec::from_mb(150.0)));
        assert_eq!(scan.rate_at(0.0), Some(BytesPerSec::from_mb(100.0)));
        assert_eq!(scan.mean_access(), Some(Nanos::new(200)));
        let latency = scan.access_latency();
        assert_eq!((latency.count, latency.p50, latency.max), (5, Some(Nanos::new(200)), Nanos::new(300)));
        assert_eq!(latency.p90, None);
        assert_eq!((Scan::default().mean_rate(), Scan::default().mean_access()), (None, None));
    }

    proptest! {
        #[test]
        fn samples_lie_inside_the_target_and_never_overlap(
            size in 1u64..1 << 45, samples in 0u32..2000, sample in 1u64..1 << 26,
        ) {
            let sample = sample.next_multiple_of(PAGE);
            let plan = plan(samples, Bytes::new(sample)).fitting(Bytes::new(size));
            let mut free_from = 0;
            for offset in plan.positions(Bytes::new(size)) {
                // Rounding down to pages may move a sample by less than a page.
                prop_assert!(offset + PAGE > free_from && offset + sample <= size);
                free_from = offset + sample;
            }
        }
    }
}
