//! The time of one access to a medium.
//!
//! A hard disk: overhead + seek + half a turn + size over the rate of the zone (manuals of Hitachi and HGST drives): 8.2 ms
//! and 4.17 ms at 7200 turns a minute give 80 reads a second at depth 1. The elevator of a deep queue halves the way:
//! 150 to 200 at depth 32. Expected error ±20 %.
//!
//! Flash at depth 1 is its latency: 66 to 68 µs for enterprise TLC (vitastor, bench2), 64 to 81 for consumer TLC of
//! generation 3, 100 on SATA; a write into protected memory 15 to 17 µs. In sequence the drive has part of the next block
//! read already: [`SEQUENTIAL_SHARE`] of the random latency is left (36 of 72 µs at 64 KiB, 76 of 81 at 1 MiB, 62 of 64 at
//! 1 MiB); expected error of the rate ±17 % at 64 KiB and more. Below that the share is not known.
//!
//! A flush after a write of a drive with power-loss protection finds nothing to wait for: [`EMPTY_FLUSH`] is its round trip (17 µs of
//! 38.2 for 16 KiB and `fdatasync`, linux-raid `CAGqmV7ojxmsMVStS2LWzfeN+A565z4U=…`; 11 of 55.6 for 4 KiB and `O_DSYNC` on a PM863a,
//! `github.com/thomas-krenn/TKperf` issue 19). Drives that report no volatile cache, as many NVMe drives of servers do, are not
//! flushed at all, so that only SATA drives have the law. Without protection the
//! drive programs its cells first: 286 writes a second (960 PRO, percona.com 2018/07/18), 478 (950 PRO, freshbsd.org
//! freebsd/src 321928), 574 (980, igene.tw choosing-ceph-ssd), 608 (990 PRO, tanelpoder.com), 1480 (PM961, TKperf) and 1000 to 2000
//! (vitastor): no law that estimates, for they differ by five.

use narrows_base::units::{Iops, Nanos};

/// The part of the latency of a random read that a sequential one at depth 1 still waits for.
pub const SEQUENTIAL_SHARE: f64 = 0.65;

/// The round trip of a flush that finds nothing to write. Expected error ±5 µs.
pub const EMPTY_FLUSH: Nanos = Nanos::new(13_000);

/// The mean seek of desktop and server disks.
pub const SEEK: Nanos = Nanos::new(8_200_000);

/// The time of a random access of a disk that turns `rpm` times a minute, without the transfer.
pub fn disk_access(seek: Nanos, rpm: u32) -> Nanos {
    let half_turn = 30e9 / f64::from(rpm.max(1));
    Nanos::new(seek.get() + half_turn.round() as u64)
}

/// Random reads a second of a disk at `depth`: the elevator shortens the seek, at depth 32 to about half.
pub fn disk_iops(access: Nanos, depth: u32) -> Iops {
    let gain = 1.0 + 0.23 * f64::from(depth.clamp(1, 32)).log2();
    Iops::new(gain / access.as_secs_f64().max(1e-9))
}

/// The latency that a sequential read at depth 1 waits for, of that of a random one.
pub fn sequential_wait(random: Nanos) -> Nanos {
    Nanos::new((random.get() as f64 * SEQUENTIAL_SHARE).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_of_7200_turns_does_80_reads_a_second_and_twice_that_in_a_deep_queue() {
        let access = disk_access(SEEK, 7200);
        assert!((disk_iops(access, 1).get() / 80.8 - 1.0).abs() < 0.01);
        assert!((150.0..200.0).contains(&disk_iops(access, 32).get()));
    }

    #[test]
    fn a_sequence_waits_for_a_part_of_the_latency() {
        assert_eq!(sequential_wait(Nanos::new(80_000)), Nanos::new(52_000));
    }
}
