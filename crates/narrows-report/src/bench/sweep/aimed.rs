//! Which points of a sweep stay within a limit of latency, and which of them is the fastest.

use super::SweepPoint;
use crate::bench::AtTarget;
use narrows_load::latency_target::LatencyTarget;

/// For each block size and mix, the fastest point whose percentile stays within the limit. A point that is not to be trusted
/// says nothing.
pub fn at_target(points: &[SweepPoint], target: &LatencyTarget) -> Vec<AtTarget> {
    let alike = |a: &SweepPoint, b: &SweepPoint| {
        a.load.block_size == b.load.block_size && a.load.direction() == b.load.direction()
    };
    points.chunk_by(alike).filter_map(|group| of_group(group, target)).collect()
}

fn of_group(group: &[SweepPoint], target: &LatencyTarget) -> Option<AtTarget> {
    let name = |point: &SweepPoint| format!("{} {}", point.load.mark(), point.load.direction());
    let said =
        |point: &&SweepPoint| point.trusted != Some(false) && target.is_met(&point.latency_ns).is_some();
    let is_met = |point: &&SweepPoint| target.is_met(&point.latency_ns) == Some(true);
    let (met, missed): (Vec<&SweepPoint>, Vec<&SweepPoint>) = group.iter().filter(said).partition(is_met);
    let best = met.into_iter().max_by(|a, b| a.iops.get().total_cmp(&b.iops.get()));
    let Some(best) = best else {
        let first = group.first()?;
        let unknown = AtTarget::unknown(target, &name(first));
        return Some(if missed.is_empty() {
            unknown.because("no trusted point has enough I/Os for that percentile")
        } else {
            let least = missed.iter().min_by(|a, b| a.iops.get().total_cmp(&b.iops.get()));
            AtTarget { missed_at_iops: least.map(|point| point.iops), ..unknown }
        });
    };
    let above = missed.iter().map(|point| point.iops).filter(|iops| iops.get() > best.iops.get());
    Some(AtTarget {
        iops: Some(best.iops),
        bytes_per_second: Some(best.bytes_per_second),
        latency_ns: target.of(&best.latency_ns),
        missed_at_iops: above.min_by(|a, b| a.get().total_cmp(&b.get())),
        ..AtTarget::unknown(target, &name(best))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
    use narrows_load::measurement::{Latency, Pattern};
    use narrows_load::preset::LoadSpec;

    fn point(depth: u32, iops: f64, p99: Option<u64>) -> SweepPoint {
        SweepPoint {
            load: LoadSpec::reading(Pattern::Random, Bytes::from_kib(4), depth),
            bytes_per_second: BytesPerSec::new(iops * 4096.0),
            ci95: None,
            iops: Iops::new(iops),
            latency_ns: Latency { p99: p99.map(|micros| Nanos::new(micros * 1000)), ..Latency::default() },
            trusted: Some(true),
            errors: 0,
            ended: String::new(),
            allowance: None,
            checks: None,
            reason: None,
        }
    }

    #[test]
    fn the_fastest_point_within_the_limit_is_named_with_the_next_that_is_not() {
        let target = LatencyTarget::new("p99", Nanos::from_millis(1)).unwrap();
        let points = [point(1, 1e4, Some(100)), point(8, 6e4, Some(900)), point(32, 9e4, Some(3000))];
        let [found] = at_target(&points, &target).try_into().unwrap();
        assert_eq!((found.iops, found.missed_at_iops), (Some(Iops::new(6e4)), Some(Iops::new(9e4))));
        assert_eq!(
            found.in_words(),
            "RND4K Q8T1 read meets p99 of at most 1 ms up to 60 k IOPS, 246 MB/s (900 µs there); 90 k IOPS do not meet it"
        );
        let doubted = SweepPoint { trusted: Some(false), ..point(8, 6e4, Some(900)) };
        let [found] = at_target(&[point(1, 1e4, Some(100)), doubted], &target).try_into().unwrap();
        assert_eq!((found.iops, found.missed_at_iops), (Some(Iops::new(1e4)), None));
    }

    #[test]
    fn where_no_point_meets_it_or_none_says_anything_that_is_said() {
        let target = LatencyTarget::new("p99", Nanos::from_millis(1)).unwrap();
        let [missed] = at_target(&[point(1, 1e4, Some(2000))], &target).try_into().unwrap();
        assert_eq!(missed.in_words(), "RND4K Q1T1 read: no rate that was tried meets p99 of at most 1 ms");
        let [few] = at_target(&[point(1, 1e4, None)], &target).try_into().unwrap();
        assert!(few.in_words().contains("no trusted point has enough I/Os"), "{}", few.in_words());
        assert!(at_target(&[], &target).is_empty());
    }
}
