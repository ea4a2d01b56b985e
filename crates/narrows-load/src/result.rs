//! Turns counts in ticks into a measurement in units.

use std::collections::BTreeMap;

use super::clock::Scale;
use super::histogram::Counts;
use super::measurement::RunFailure;
use super::measurement::{GeneratorUse, Latency, Measurement, OpTotals, PERCENTILES, SelfChecks, SlowIo};
use super::plan::Plan;
use super::run::BUCKET;
use super::stats;
use super::tally::{OpTally, TENTHS, Tally};
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};

/// The measurement of a run whose tally has `fine` samples for each of the series. What set the threads up is not in it.
pub(super) fn measurement(plan: &Plan<'_>, tally: &Tally, scale: Scale, fine: usize) -> Measurement {
    let elapsed = scale.nanos(tally.elapsed());
    let span = Span { start: tally.start(), buckets: tally.begun_buckets(), elapsed };
    let totals = |kind: &OpTally| op_totals(kind, span, scale);
    let both = totals(&tally.all());
    let series: Vec<BytesPerSec> = tally
        .full_buckets()
        .chunks_exact(fine)
        .map(|samples| Bytes::new(samples.iter().sum()).per(BUCKET.duration()))
        .collect();
    Measurement {
        workload: plan.workload.clone(),
        mode: plan.mode(),
        access: plan.target.access(),
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
        generator: generator_use(plan, tally, elapsed),
        checks: checks(plan, tally),
        region: plan.region,
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

fn checks(plan: &Plan<'_>, tally: &Tally) -> SelfChecks {
    let kinds = [&tally.reads, &tally.writes];
    let latencies: u128 = kinds.iter().map(|kind| kind.latencies.sum()).sum();
    SelfChecks {
        little: (plan.workload.paced_iops.is_none() && tally.flight_ticks > 0)
            .then(|| latencies as f64 / tally.flight_ticks as f64),
        completed: tally.completed,
        recorded: kinds.iter().map(|kind| kind.latencies.count()).sum(),
        nop_ns_per_io: None,
    }
}

fn generator_use(plan: &Plan<'_>, tally: &Tally, elapsed: Nanos) -> GeneratorUse {
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
        queue_depth: plan.queue_depth(),
        mean_in_flight: ratio(both.sum() as f64, tally.elapsed() as f64),
        threads: plan.threads.len() as u32,
        ..GeneratorUse::default()
    }
}
