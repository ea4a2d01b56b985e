//! Several targets that ran at the same time, as one measurement.

use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_load::measurement::Measurement;

/// The measurements of several targets that ran at once as one: rates add up, and the interval is that of a sum of
/// independent means.
pub fn at_once(mut all: Vec<Measurement>) -> Measurement {
    if all.len() < 2 {
        return all.pop().unwrap_or_default();
    }
    let sum = |of: fn(&Measurement) -> f64| all.iter().map(of).sum::<f64>();
    let rate = BytesPerSec::new(sum(|one| one.bytes_per_second.get()));
    let halves: Option<f64> = all
        .iter()
        .map(|one| one.ci95.map(|[low, high]| ((high.get() - low.get()) / 2.0).powi(2)))
        .sum::<Option<f64>>();
    let iops = Iops::new(sum(|one| one.iops.get()));
    let bytes = Bytes::new(all.iter().map(|one| one.bytes.get()).fold(0, u64::saturating_add));
    let longest = all.iter().map(|one| one.elapsed_ns).max().unwrap_or(Nanos::new(0));
    let depth = all.iter().map(|one| one.workload.queue_depth).fold(0, u32::saturating_add);
    let buckets = all.iter().map(|one| one.series.len()).min().unwrap_or(0);
    let series = (0..buckets)
        .map(|bucket| all.iter().filter_map(|one| one.series.get(bucket).copied()).sum())
        .collect();
    let busiest = all.iter().map(|one| one.generator.cpu).fold(0.0, f64::max);
    let cut_short = all.iter().find_map(|one| one.cut_short.clone());
    let failed = all.iter().find_map(|one| one.failure.clone());
    let errors = all.iter().map(|one| one.errors).fold(0, u64::saturating_add);
    let region = Bytes::new(all.iter().map(|one| one.region.get()).fold(0, u64::saturating_add));
    let by_latency = |one: &&Measurement| one.latency.mean;
    let slowest = all.iter().max_by_key(by_latency).cloned().unwrap_or_default();
    let mut together = Measurement {
        bytes,
        bytes_per_second: rate,
        iops,
        ci95: halves.map(|squares| {
            let half = squares.sqrt();
            [BytesPerSec::new(rate.get() - half), BytesPerSec::new(rate.get() + half)]
        }),
        elapsed_ns: longest,
        series,
        cut_short,
        failure: failed,
        errors,
        region,
        ..slowest
    };
    together.workload.queue_depth = depth;
    together.generator.cpu = busiest;
    together.generator.queue_depth = depth;
    together.generator.threads = u32::try_from(all.len()).unwrap_or(u32::MAX);
    together
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_load::measurement::{GeneratorUse, Latency};

    fn measurement(megabytes: f64, half: f64, cpu: f64) -> Measurement {
        let rate = BytesPerSec::from_mb(megabytes);
        let mut measurement = Measurement {
            bytes: Bytes::new(rate.get() as u64),
            bytes_per_second: rate,
            ci95: Some([rate - BytesPerSec::from_mb(half), rate + BytesPerSec::from_mb(half)]),
            series: vec![rate; 3],
            latency: Latency { mean: Nanos::new((1e9 / megabytes) as u64), ..Latency::default() },
            generator: GeneratorUse { cpu, ..GeneratorUse::default() },
            ..Measurement::default()
        };
        measurement.workload.queue_depth = 8;
        measurement
    }

    #[test]
    fn what_runs_at_once_adds_up_and_its_interval_is_that_of_the_sum() {
        let together = at_once(vec![measurement(80.0, 3.0, 0.2), measurement(20.0, 4.0, 0.1)]);
        assert_eq!(together.bytes_per_second, BytesPerSec::from_mb(100.0));
        assert_eq!(together.workload.queue_depth, 16);
        assert_eq!(together.series, vec![BytesPerSec::from_mb(100.0); 3]);
        let [low, high] = together.ci95.expect("both have one");
        assert!((low.get() - 95e6).abs() < 1.0 && (high.get() - 105e6).abs() < 1.0);
        assert_eq!(together.generator.cpu, 0.2);
        assert_eq!(together.latency.mean.get(), 50_000_000, "that of the slower one");
    }
}
