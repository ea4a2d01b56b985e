//! What caches give: a device before a slower one, and the page cache.

use narrows_base::units::{Bytes, BytesPerSec};

// What a cache device gives: the mean of both by time.
//
// A byte is read from the cache with probability h, else from the backing device, one after the other:
// 1/B = h/B_cache + (1 − h)/B_backing (the harmonic mean; J. Hennessy and D. Patterson, "Computer Architecture", average
// memory access time). Exact for one reader and a known hit ratio. Sequential streams longer than
// `sequential_cutoff` (4 MiB unless changed) pass the cache by, as does everything while the cache is congested (2 ms
// for reads, 20 ms for writes; Linux `Documentation/admin-guide/bcache.rst`). Written data goes to both (writethrough,
// the default) or to the cache until `writeback_percent` of it is dirty (writeback).

/// The default of `sequential_cutoff`.
pub const SEQUENTIAL_CUTOFF: Bytes = Bytes::from_mib(4);

/// What is read with hit ratio `hit` (0 to 1).
pub fn bcache_read(cache: BytesPerSec, backing: BytesPerSec, hit: f64) -> BytesPerSec {
    let hit = hit.clamp(0.0, 1.0);
    let part = |share: f64, rate: BytesPerSec| if share > 0.0 { share / rate.get() } else { 0.0 };
    let time = part(hit, cache) + part(1.0 - hit, backing);
    BytesPerSec::new(1.0 / time)
}

/// What is written: to the cache alone (writeback with room), or to both.
pub fn bcache_write(cache: BytesPerSec, backing: BytesPerSec, writeback: bool) -> BytesPerSec {
    if writeback { cache } else { cache.min(backing) }
}

/// Whether a sequential stream of `length` passes the cache by under the default cutoff.
pub fn passes_by(length: Bytes) -> bool {
    length > SEQUENTIAL_CUTOFF
}

// What reading through the page cache costs: a copy that does not overlap with the device.
//
// A program that reads through the cache with one thread waits for readahead and then copies; at the end of each
// window both stand one after the other, so 1/B = 1/B_path + c. Solved for c (ns for each byte):
//
// | run | path | measured | c |
// |---|---|---|---|
// | `hdparm -t`, 2.0 x1 behind X99 | 420 MB/s | 391.7 | 0.17 |
// | `hdparm -t`, 2.0 x4 behind X99 | 1680 | 1303.6 | 0.17 |
// | `hdparm -t`, 3.0 x4 | 3592 | about 2000 | 0.22 |
// | `hdparm -t`, 3.0 x1, Raspberry Pi 5 | 898 | 741 | 0.24 |
// | `dd bs=1M`, 3.0 x4, x1, 2.0 x1 (linux-pci) | 3500, 898, 420 | 2700, 840, 390 | 0.08, 0.08, 0.18 |
// | 1 MiB reads of SATA and NVMe mirrors (linux-raid) | 560, 3500 | 480, 2490 | 0.30, 0.12 |
//
// `HDPARM` and `READAHEAD` are the means of their rows. Left out one at a time, each row is predicted within 15 %
// (hdparm 5 %). Valid for desktop and server cores and the Cortex-A76; slower cores copy at a third and less (Cortex-A53 and A72,
// OCTEON: 0.8 to 1.7 ns), for which there is no law. Several readers at once copy at once, so c is divided by them.

/// `hdparm -t`: 2 MiB at a time through the cache, nanoseconds for each byte.
pub const HDPARM: f64 = 0.20;

/// One program that reads ahead (`dd`, `cp`, `cat`), nanoseconds for each byte.
pub const READAHEAD: f64 = 0.13;

/// What one of `readers` together get through the page cache of a path that carries `path`.
pub fn read_rate(path: BytesPerSec, nanoseconds_per_byte: f64, readers: u32) -> BytesPerSec {
    if path.get() <= 0.0 {
        return path;
    }
    let copy = nanoseconds_per_byte.max(0.0) * 1e-9 / f64::from(readers.max(1));
    BytesPerSec::new(1.0 / (1.0 / path.get() + copy))
}

/// What the copy alone would carry.
pub fn copy_rate(nanoseconds_per_byte: f64, readers: u32) -> BytesPerSec {
    BytesPerSec::new(1e9 * f64::from(readers.max(1)) / nanoseconds_per_byte.max(1e-6))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn half_of_the_reads_on_a_disk_are_nearly_a_disk() {
        let (ssd, disk) = (BytesPerSec::from_mb(500.0), BytesPerSec::from_mb(100.0));
        assert!((bcache_read(ssd, disk, 0.5).get() / 166.7e6 - 1.0).abs() < 1e-3);
        assert_eq!(bcache_write(ssd, disk, false), disk);
        assert_eq!(bcache_write(ssd, disk, true), ssd);
        assert!(passes_by(Bytes::from_mib(5)) && !passes_by(Bytes::from_mib(1)));
    }

    proptest! {
        #[test]
        fn the_mean_lies_between_both_and_grows_with_hits(cache in 1e6..1e10f64, share in 0.001..1.0f64, hit in 0.0..0.99f64) {
            let (cache, backing) = (BytesPerSec::new(cache), BytesPerSec::new(cache * share));
            let rate = bcache_read(cache, backing, hit).get();
            prop_assert!(rate <= cache.get() * (1.0 + 1e-9) && rate >= backing.get() * (1.0 - 1e-9));
            prop_assert!(bcache_read(cache, backing, hit + 0.01).get() >= rate * (1.0 - 1e-12));
        }
    }

    #[test]
    fn what_was_measured_is_met() {
        let mib = 1.048_576;
        for (path, cost, measured, within) in [
            (419.8, HDPARM, 373.60 * mib, 0.02),
            (1679.0, HDPARM, 1243.19 * mib, 0.05),
            (3592.0, HDPARM, 2000.0, 0.06),
            (898.0, HDPARM, 707.07 * mib, 0.05),
            (3500.0, READAHEAD, 2700.0, 0.12),
            (898.0, READAHEAD, 840.0, 0.06),
            (419.8, READAHEAD, 390.0, 0.05),
            (560.0, READAHEAD, 480.0, 0.10),
            (3500.0, READAHEAD, 2490.0, 0.05),
        ] {
            let error = read_rate(BytesPerSec::from_mb(path), cost, 1).get() / (measured * 1e6) - 1.0;
            assert!(error.abs() < within, "{path} {error:+.3}");
        }
    }

    proptest! {
        #[test]
        fn the_cache_never_helps_and_readers_never_hurt(path in 1e6..1e11f64, cost in 0.0..2.0f64, readers in 1u32..64) {
            let path = BytesPerSec::new(path);
            let one = read_rate(path, cost, readers);
            prop_assert!(one.get() <= path.get() * (1.0 + 1e-12) && read_rate(path, cost, readers + 1) >= one);
            prop_assert!(one.get() <= copy_rate(cost, readers).get() * (1.0 + 1e-9));
        }
    }
}
