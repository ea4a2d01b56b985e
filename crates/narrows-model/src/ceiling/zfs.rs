//! What ZFS makes of its vdevs.
//!
//! A pool stripes over its vdevs, so theirs add up. A mirror reads from all members and writes as one; raidz with p
//! parities reads and writes n − p members in sequence and does the random reads of about one (OpenZFS documentation,
//! "RAIDZ" and "Workload tuning"). Measured: 987 MB/s written on raidz2 of six disks of 250 MB/s (openzfs/zfs issue 9375). Expected
//! error ±15 % on disks with large records.
//!
//! On fast drives memory limits first: a buffered write is copied into the ARC, its checksum and parity are computed,
//! and it is copied out again, so data crosses memory about [`MEMORY_COPIES`] times; [`from_memory`] bounds by that. What
//! the ARC already holds is read at the rate of memory and says nothing of the drives. Not covered: random writes,
//! small records on raidz (parity and padding for each), scrubs, releases before 0.7 (no vector parity).

use narrows_base::units::{BytesPerSec, Iops};

/// How often written data crosses memory: into the ARC, checksum, parity or compression, out.
pub const MEMORY_COPIES: f64 = 4.0;

/// What a mirror reads and writes, its members doing `read` and `write`.
pub fn mirror(read: BytesPerSec, write: BytesPerSec, members: u32) -> (BytesPerSec, BytesPerSec) {
    (read * f64::from(members), write)
}

/// What a raidz vdev reads or writes in sequence.
pub fn raidz(each: BytesPerSec, members: u32, parity: u32) -> BytesPerSec {
    super::parity::full_stripes(each, members, parity)
}

/// Random reads of a raidz vdev: every record is spread over all members, so they work as one.
pub const fn raidz_random(each: Iops) -> Iops {
    each
}

/// What memory of `rate` allows when data crosses it [`MEMORY_COPIES`] times.
pub fn from_memory(rate: BytesPerSec) -> BytesPerSec {
    rate / MEMORY_COPIES
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn vdevs_do_what_their_members_do() {
        let disk = BytesPerSec::from_mb(250.0);
        assert_eq!(mirror(disk, disk, 2), (disk * 2.0, disk));
        assert_eq!(raidz(disk, 6, 2), disk * 4.0);
        assert_eq!(raidz_random(Iops::new(150.0)), Iops::new(150.0));
        assert_eq!(from_memory(BytesPerSec::from_gb(40.0)), BytesPerSec::from_gb(10.0));
    }

    proptest! {
        #[test]
        fn more_parity_never_gives_more(each in 1e6..1e9f64, members in 4u32..20, parity in 0u32..3) {
            let each = BytesPerSec::new(each);
            prop_assert!(raidz(each, members, parity + 1) < raidz(each, members, parity));
        }
    }
}
