//! Turns counts in ticks into a measurement in units.

use std::collections::BTreeMap;

use super::clock::Scale;
use super::failure::RunFailure;
use super::histogram::Counts;
use super::measurement::{GeneratorUse, Latency, Measurement, Mode, OpTotals, SelfChecks, SlowIo, Workload};
use super::parts::TENTHS;
use super::percentile::PERCENTILES;
use super::ran::EngineRan;
use super::run::BUCKET;
use super::stats;
use super::tally::{OpTally, Tally};
use super::target::Target;
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};

/// What is known at the end of a run.
pub(super) struct Report<'a> {
    pub(super) target: &'a Target,
    pub(super) workload: &'a Workload,
    pub(super) tally: &'a Tally,
    pub(super) scale: Scale,
    pub(super) engine: EngineRan,
    pub(super) queue_depth: u32,
    pub(super) threads: u32,
    pub(super) pinned_to: Vec<u32>,
    pub(super) region: Bytes,
    pub(super) mode: Mode,
    pub(super) nop_ns_per_io: Option<f64>,
    /// Samples of the tally in each of the series.
    pub(super) samples_per_bucket: u64,
}

/// The measurement of a run.
pub(super) fn measurement(report: &Report<'_>) -> Measurement {
    let Report { target, workload, tally, scale, .. } = report;
    let elapsed = scale.nanos(tally.elapsed());
    let span = Span { start: tally.start(), buckets: tally.begun_buckets(), elapsed };
    let totals = |kind: &OpTally| op_totals(kind, span, *scale);
    let both = totals(&tally.all());
    let fine = usize::try_from(report.samples_per_bucket).unwrap_or(1).max(1);
    let series: Vec<BytesPerSec> = tally
        .full_buckets()
        .chunks_exact(fine)
        .map(|samples| Bytes::new(samples.iter().sum()).per(BUCKET.duration()))
        .collect();
    Measurement {
        workload: (*workload).clone(),
        mode: report.mode,
        access: target.access(),
        bytes: both.bytes,
        elapsed_ns: elapsed,
        bytes_per_second: both.bytes_per_second,
        ci95: stats::ci95(&series),
        iops: both.iops,
        latency: both.latency,
        reads: totals(&tally.reads),
        writes: totals(&tally.writes),
        series,
        errors: tally.errors,
        first_error: tally.first_error(),
        cut_short: tally.cut_short.clone(),
        failure: tally.failure.clone().map(|failure| RunFailure { after_ios: tally.good, ..failure }),
        generator: generator_use(report, elapsed),
        checks: checks(report),
        region: report.region,
    }
}

/// The measured time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// Its first tick.
    pub(super) start: u64,
    /// Samples that were begun.
    pub(super) buckets: u64,
    /// How long it was.
    pub(super) elapsed: Nanos,
}

/// What one kind of I/O achieved in the measured time.
pub(super) fn op_totals(tally: &OpTally, span: Span, scale: Scale) -> OpTotals {
    let seconds = span.elapsed.as_secs_f64();
    let (count, bytes) = (tally.latencies.count(), Bytes::new(tally.bytes));
    let tenths = tally.parts.tenths(span.buckets);
    OpTotals {
        count,
        bytes,
        bytes_per_second: bytes.per(span.elapsed.duration()),
        iops: Iops::new(if seconds > 0.0 { count as f64 / seconds } else { 0.0 }),
        latency: latency(tally, &tenths, span.start, scale),
    }
}

/// Latencies in nanoseconds.
fn latency(tally: &OpTally, tenths: &[Counts], start: u64, scale: Scale) -> Latency {
    let latencies = &tally.latencies;
    let nanos = |ticks: Option<u64>| scale.nanos(ticks.unwrap_or(0));
    let slow_ios = tally.slowest.kept().iter().map(|slow| SlowIo {
        latency_ns: scale.nanos(slow.ticks),
        offset: Bytes::new(slow.offset),
        at_ns: scale.nanos(slow.end.saturating_sub(start)),
    });
    Latency {
        count: latencies.count(),
        min: nanos(latencies.min()),
        mean: Nanos::new(scale.nanos_f64(latencies.mean().unwrap_or(0.0)).round() as u64),
        max: nanos(latencies.max()),
        overflow: latencies.overflow(),
        slowest: slow_ios.collect(),
        tenths: percentiles_of(tenths, scale),
        ..Latency::default()
    }
    .with_percentiles(|fraction| nanos(latencies.quantile(fraction)))
}

/// The percentiles of each tenth, as far as every tenth has enough I/Os for them.
fn percentiles_of(tenths: &[Counts], scale: Scale) -> BTreeMap<String, Vec<Nanos>> {
    if (tenths.len() as u64) < TENTHS {
        return BTreeMap::new();
    }
    let least = tenths.iter().map(|part| part.count()).min().unwrap_or(0);
    let supported = PERCENTILES.iter().filter(|percentile| least >= percentile.least_samples());
    supported
        .map(|percentile| {
            let quantiles = tenths.iter().filter_map(|part| part.quantile(percentile.fraction));
            (percentile.key.to_owned(), quantiles.map(|ticks| scale.nanos(ticks)).collect())
        })
        .collect()
}

fn checks(report: &Report<'_>) -> SelfChecks {
    let Report { tally, .. } = report;
    let kinds = [&tally.reads, &tally.writes];
    let latencies: u128 = kinds.iter().map(|kind| kind.latencies.sum()).sum();
    let is_closed = !matches!(report.mode, Mode::Paced { .. });
    SelfChecks {
        little: (is_closed && tally.flight_ticks > 0).then(|| latencies as f64 / tally.flight_ticks as f64),
        completed: tally.completed,
        recorded: kinds.iter().map(|kind| kind.latencies.count()).sum(),
        nop_ns_per_io: report.nop_ns_per_io,
    }
}

fn generator_use(report: &Report<'_>, elapsed: Nanos) -> GeneratorUse {
    let Report { tally, .. } = report;
    let both = tally.all().latencies;
    let seconds = elapsed.as_secs_f64();
    let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    GeneratorUse {
        cpu: ratio(tally.effort.processor_seconds, seconds),
        io_workers: ratio(tally.effort.io_worker_seconds, seconds),
        busiest_io_worker: ratio(tally.effort.busiest_io_worker_seconds, seconds),
        queued: ratio(tally.effort.queued_seconds, seconds),
        enters_per_io: ratio(tally.effort.enters as f64, both.count() as f64),
        involuntary_switches: tally.effort.involuntary_switches,
        engine: report.engine.clone(),
        queue_depth: report.queue_depth,
        mean_in_flight: ratio(both.sum() as f64, tally.elapsed() as f64),
        threads: report.threads,
        pinned_to: report.pinned_to.clone(),
    }
}
