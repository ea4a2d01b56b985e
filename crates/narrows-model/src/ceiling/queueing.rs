//! What depth buys, what an I/O costs a core, and limits that somebody set.

use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};

// What depth buys: Little's law, and stages one after another.
//
// With `depth` I/Os under way, each of which takes `time` from its start to its end, `depth / time` end in a second
// (J. D. C. Little, "A proof for the queuing formula L = λW", Operations Research 9, 1961). It is exact; the error is
// that of the time. An I/O that passes stages one after another takes the sum of their times, so at depth 1 the
// rates of stages combine as 1/B = Σ 1/Bᵢ + Σ tᵢ / size, and at great depth as the smallest. Between the two the
// smaller of both bounds is taken (the asymptotic bounds of P. J. Denning and J. P. Buzen, ACM Computing Surveys 10,
// 1978); near the knee real systems stay below it, solid-state drives by the law of `knee`.
//
// Calibration: a Samsung 970 EVO Plus reads 1 MiB at depth 1 with 2841 MB/s, which is 369 µs: 293 µs on a link
// of 3577 MB/s and 76 µs before it, and its random 4 KiB read takes 80.9 µs.

/// I/Os that end in a second when `in_flight` are under way and each takes `seconds`.
pub fn little(in_flight: f64, seconds: f64) -> Iops {
    if seconds > 0.0 { Iops::new(in_flight / seconds) } else { Iops::new(f64::MAX) }
}

/// The mean number of `members` of a stripe that have work when each of `requests` falls on `pieces` of them, any with the
/// same chance: n·(1 − (1 − k/n)^d), the expected number of occupied urns (W. Feller, "An Introduction to Probability
/// Theory and Its Applications", volume 1, section IV.2).
pub fn at_work(members: f64, pieces: f64, requests: f64) -> f64 {
    let all = members.max(1.0);
    let missed = (1.0 - pieces / all).max(0.0);
    all * (1.0 - libm::pow(missed, requests))
}

/// How sharp the knee of a solid-state drive for desktops is, see [`knee`].
pub const FLASH_KNEE: f64 = 1.15;

/// The same of drives for servers. No curve of one is published. A Kioxia CM7-V of 2.5 M I/Os a second completed 1.17 M with 64 under way
/// (linux-raid `CAAiJnjqo0a0gHs3…`), more than 64 over the latency of its class gives: nothing of a knee is seen there. 2 is taken
/// for a knee between that of desktop drives (0.81 M) and none (1.06 M).
pub const SERVER_KNEE: f64 = 2.0;

/// What a drive completes of random I/Os when `in_flight` are under way, depth over time would give `by_depth` and all of its dies at
/// work `by_drive`: requests fall on a die that has another now and then, so that near the knee both take their part:
/// 1/Xᵖ = 1/aᵖ + ((n − 1)/n)ᵖ/bᵖ with a `sharpness` p of [`FLASH_KNEE`] or [`SERVER_KNEE`]. One alone meets nobody.
///
/// A FireCuda 530 (70 % reads of 4 KiB, one under way in each of 1 to 256 threads; github.com/earlephilhower/ezfio, issue 62)
/// is met within 12 % at each of nine counts of threads, where the smaller of both is up to 64 % above it. One drive: others may
/// be sharper.
pub fn knee(by_depth: f64, by_drive: f64, in_flight: f64, sharpness: f64) -> f64 {
    if !(by_depth > 0.0 && by_drive > 0.0) {
        return by_depth.min(by_drive).max(0.0);
    }
    let low = by_depth.min(by_drive);
    let others = (1.0 - 1.0 / in_flight.max(1.0)).max(0.0);
    // Scaled, so that no power leaves the range of numbers.
    let sum = libm::pow(low / by_depth, sharpness) + libm::pow(others * low / by_drive, sharpness);
    (low * libm::pow(sum, -1.0 / sharpness)).min(low)
}

// What one I/O costs a core of the processor, whatever its size.
//
// Measured on 4 KiB I/Os, one core, the generator's own time included:
//
// | how | I/Os a second and core | where |
// |---|---|---|
// | Linux AIO, one submission at a time | 195 k (Xeon 6342) | vitastor, bench2 |
// | `io_uring`, interrupts | 746 k | linux-raid, `CAAiJnjqo0a0gHs3…` (CM7-V) |
// | `io_uring`, polled, registered buffers, 512 bytes | 2.58 M (Ice Lake-SP, Linux 5.9-rc1) | linux-block, `spinics.net msg57916` |
//
// The 1.17 M polled I/Os of the CM7-V had 64 under way, 54 µs each, so that they bound the cost of a core from above only. Records
// on patched kernels (6.8 to 14 M) are not covered. A block RAM disk has no interrupt and no wait: its I/O costs `MEMORY_IO` and
// a copy. Expected error ±20 % on a server core of 2020; a core that is slower by a factor takes as much longer, see `on_core`.

/// One I/O by Linux AIO.
pub const LIBAIO: Nanos = Nanos::new(5000);

/// One I/O by `io_uring` with interrupts.
pub const URING: Nanos = Nanos::new(1340);

/// One I/O by `io_uring` that polls.
pub const POLLED: Nanos = Nanos::new(388);

/// One I/O of a RAM disk, without its copy: a call, a request, a page looked up. 1126 MB/s in each direction at 4 KiB
/// (Cloudflare 2020: 1.82 µs each) and 14.4 M reads of 70:30 by 40 jobs (linux-raid `20231506112411@laper.mirepesht`:
/// 1.95 µs each) leave 1.3 and 1.4 µs without the copy of 4 KiB; each of the two is predicted by the other within 5 %.
pub const MEMORY_IO: Nanos = Nanos::new(1350);

/// The rate at which a core copies between a page and a buffer in bytes per second, both out of its cache: 8 GB/s is half of what a core
/// of a server reads alone. Expected error ±25 %.
const COPY: f64 = 8e9;

/// I/Os a second that `cores` handle when each costs `cost`.
pub fn of_cores(cost: Nanos, cores: u32) -> Iops {
    little(f64::from(cores), cost.as_secs_f64())
}

/// The cost on a core of `speed` times the speed of the reference (a server core of 2020 at 3.5 GHz).
pub fn on_core(cost: Nanos, speed: f64) -> Nanos {
    if speed > 0.0 { Nanos::new((cost.get() as f64 / speed).round() as u64) } else { cost }
}

/// One I/O of `size` on a RAM disk: the call and the copy.
pub fn memory_io(size: Bytes) -> Nanos {
    let copy = size.as_f64() / COPY * 1e9;
    Nanos::new(MEMORY_IO.get() + copy.round() as u64)
}

// Limits that somebody set: virtual machines and volumes with capped IOPS and throughput.
//
// A token bucket (QEMU throttling, cgroup `io.max`, clouds) lets I/Os and bytes pass at most at its rates, so with blocks
// of `size` the rate is min(throughput, IOPS × size): exact once the bucket's burst is spent. Machines with caps share
// what is below them; together they get min(count × cap, shared).

/// A cap; what is `None` is not limited.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cap {
    /// I/Os a second.
    pub iops: Option<Iops>,
    /// Bytes a second.
    pub rate: Option<BytesPerSec>,
}

impl Cap {
    /// What passes with blocks of `size`; `None` when nothing is limited.
    pub fn passes(&self, size: Bytes) -> Option<BytesPerSec> {
        let by_iops = self.iops.map(|iops| BytesPerSec::new(iops.get() * size.as_f64()));
        match (by_iops, self.rate) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (one, other) => one.or(other),
        }
    }
}

/// What `count` machines with this cap get together of something that carries `shared`.
pub fn caps_together(cap: Cap, count: u32, size: Bytes, shared: BytesPerSec) -> BytesPerSec {
    cap.passes(size).map_or(shared, |each| (each * f64::from(count)).min(shared))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 41.2 µs each, and a million I/Os of the data sheet.
    #[test]
    fn the_knee_of_a_drive_was_measured() {
        for (threads, measured) in [
            (1.0, 24_554.0),
            (2.0, 48_487.0),
            (4.0, 94_463.0),
            (8.0, 171_852.0),
            (16.0, 285_685.0),
            (32.0, 439_682.0),
            (64.0, 610_055.0),
            (128.0, 766_560.0),
            (256.0, 832_818.0),
        ] {
            let error = knee(threads / 41.2e-6, 1e6, threads, FLASH_KNEE) / measured - 1.0;
            assert!(error.abs() < 0.12, "{threads} {error:+.3}");
        }
        let knee = |a, b, n| super::knee(a, b, n, SERVER_KNEE);
        assert_eq!((knee(0.0, 1e6, 8.0), knee(2e6, 1e6, 1.0)), (0.0, 1e6));
    }

    #[test]
    fn what_takes_no_time_ends_at_once() {
        assert!(little(1.0, 0.0).get() > 1e300);
    }

    #[test]
    fn members_with_work_are_counted_as_occupied_urns() {
        // One small request works one of four; a request that spans all works all; 4·(1 − (3/4)²) = 1.75.
        assert_eq!(at_work(4.0, 1.0, 1.0), 1.0);
        assert_eq!(at_work(4.0, 4.0, 1.0), 4.0);
        assert_eq!(at_work(4.0, 9.0, 1.0), 4.0);
        assert!((at_work(4.0, 1.0, 2.0) - 1.75).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn no_more_members_work_than_there_are(members in 1.0..64.0f64, pieces in 1.0..64.0f64, requests in 1u32..4096) {
            let working = at_work(members, pieces, f64::from(requests));
            prop_assert!(working > 0.0 && working <= members + 1e-9);
        }
    }

    #[test]
    fn a_ram_disk_is_met_by_both_that_were_measured() {
        let block = Bytes::new(4096);
        let each = of_cores(memory_io(block), 1).get();
        assert!((each / (2.0 * 1126e6 / 4096.0) - 1.0).abs() < 0.06, "{each}");
        let forty = 0.7 * of_cores(memory_io(block), 40).get();
        assert!((forty / 14.391e6 - 1.0).abs() < 0.06, "{forty}");
    }

    #[test]
    fn one_core_of_linux_aio() {
        assert!((of_cores(LIBAIO, 1).get() / 195_000.0 - 1.0).abs() < 0.05);
        assert_eq!(on_core(LIBAIO, 0.5), Nanos::new(10_000));
        assert_eq!(on_core(LIBAIO, 0.0), LIBAIO);
    }

    proptest! {
        #[test]
        fn more_cores_handle_more_and_slower_cores_less(cost in 100u64..100_000, cores in 1u32..256, speed in 0.05..1.0f64) {
            let cost = Nanos::new(cost);
            prop_assert!(of_cores(cost, cores + 1) > of_cores(cost, cores));
            prop_assert!(of_cores(on_core(cost, speed), cores) <= of_cores(cost, cores));
        }
    }

    #[test]
    fn small_blocks_meet_the_iops_and_large_ones_the_throughput() {
        let cap = Cap { iops: Some(Iops::new(10_000.0)), rate: Some(BytesPerSec::from_mb(250.0)) };
        assert_eq!(cap.passes(Bytes::new(4096)), Some(BytesPerSec::new(40.96e6)));
        assert_eq!(cap.passes(Bytes::from_mib(1)), Some(BytesPerSec::from_mb(250.0)));
        assert_eq!(Cap::default().passes(Bytes::new(4096)), None);
    }

    proptest! {
        #[test]
        fn together_never_more_than_shared(iops in 1.0..1e6f64, count in 1u32..100, shared in 1e6..1e10f64) {
            let cap = Cap { iops: Some(Iops::new(iops)), rate: None };
            let shared = BytesPerSec::new(shared);
            let size = Bytes::new(4096);
            prop_assert!(caps_together(cap, count, size, shared) <= shared);
            prop_assert!(caps_together(cap, count + 1, size, shared) >= caps_together(cap, count, size, shared));
        }
    }
}
