//! What one I/O costs a core of the processor, whatever its size.
//!
//! Measured on 4 KiB I/Os, one core, the generator's own time included:
//!
//! | how | I/Os a second and core | where |
//! |---|---|---|
//! | Linux AIO, one submission at a time | 195 k (Xeon 6342) | vitastor, bench2 |
//! | `io_uring`, interrupts | 746 k | linux-raid, `CAAiJnjqo0a0gHs3…` (CM7-V) |
//! | `io_uring`, polled, registered buffers, 512 bytes | 2.58 M (Ice Lake-SP, Linux 5.9-rc1) | linux-block, `spinics.net msg57916` |
//!
//! The 1.17 M polled I/Os of the CM7-V had 64 under way, 54 µs each, so that they bound the cost of a core from above only. Records
//! on patched kernels (6.8 to 14 M) are not covered. A block RAM disk has no interrupt and no wait: its I/O costs [`MEMORY_IO`] and
//! a copy. Expected error ±20 % on a server core of 2020; a core that is slower by a factor takes as much longer, see [`on_core`].

use narrows_base::units::{Bytes, Iops, Nanos};

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
    super::queueing::little(f64::from(cores), cost.as_secs_f64())
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
}
