//! What parity costs: RAID-5 and RAID-6.
//!
//! A full stripe is written with one write for each member: n − p of n carry data. A smaller write reads the old data
//! and parity and writes the new: 4 I/Os with one parity, 6 with two (D. Patterson, G. Gibson, R. Katz, SIGMOD 1988;
//! exact in I/Os). Sequential reads get n − p of n, since members skip over parity; random reads get all n.
//!
//! md handles stripes in one thread (`group_thread_cnt` adds some). A single writer that does not align with full stripes
//! gets [`UNALIGNED`] of it (944 MB/s with eight SSDs, linux-raid `20250817152645.7115-2-colyli@kernel.org`; 782 MB/s with
//! 32 disks, `20260114171241.3043364-1-yukuai@fnnas.com`), one that does [`ALIGNED`] (1.58, 1.15 and 1.1 GB/s in the same
//! threads). Left out one at a time: ±19 % and ±35 %. Two rows were found later and no constant rests on them: 461 MB/s with 24 disks and
//! I/Os of 10 MiB (`20260223035834.3132498-1-yukuai@fnnas.com`), and 600 MB/s with nine disks, an Atom and many I/Os under way (Linux
//! commit 765d704db1f5), which fill stripes together: no law foresees that, 180 MB/s would be said of it, and disks with more than 16
//! under way are refused. The parity itself is no limit: a core
//! computes 8 GB/s of it and more (the kernel's boot benchmark).

use narrows_base::units::{BytesPerSec, Iops};

/// What one stripe thread writes for one writer that does not fill stripes, decimal GB/s.
pub const UNALIGNED: f64 = 0.86;

/// What it writes when every write fills its stripes, decimal GB/s.
pub const ALIGNED: f64 = 1.3;

/// What members of `each` carry together as data in full stripes, reading or writing in sequence.
pub fn full_stripes(each: BytesPerSec, members: u32, parity: u32) -> BytesPerSec {
    each * f64::from(members.saturating_sub(parity))
}

/// I/Os that one small write becomes.
pub const fn small_write_ios(parity: u32) -> u32 {
    2 * (parity + 1)
}

/// Small writes a second of an array whose members do `each`.
pub fn small_writes(each: Iops, members: u32, parity: u32) -> Iops {
    Iops::new(each.get() * f64::from(members) / f64::from(small_write_ios(parity)))
}

/// What disks of an array write together in sequence when each write is smaller than a stripe: the heads go back and forth
/// between reading and writing, and about the rate of one disk is left (220 MB/s of four disks of 14 TB, linux-raid
/// `lMRgP8wc…@pm.me`; 150 of four of 123 MB/s, openzfs/zfs issue 1705: ±25 %).
pub const fn partial_stripes_of_disks(one: BytesPerSec) -> BytesPerSec {
    one
}

/// What `threads` stripe threads of md write.
pub fn stripe_threads(aligned: bool, threads: u32) -> BytesPerSec {
    BytesPerSec::from_gb(if aligned { ALIGNED } else { UNALIGNED }) * f64::from(threads.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_small_write_is_four_or_six() {
        assert_eq!((small_write_ios(1), small_write_ios(2)), (4, 6));
        assert_eq!(small_writes(Iops::new(100.0), 8, 1), Iops::new(200.0));
    }

    #[test]
    fn a_raidz2_of_six_disks_was_measured() {
        // openzfs/zfs issue 9375: 987 MB/s written on six disks of 250 MB/s.
        let rate = full_stripes(BytesPerSec::from_mb(250.0), 6, 2);
        assert!((rate.get() / 987e6 - 1.0).abs() < 0.02, "{rate}");
    }

    #[test]
    fn disks_that_read_before_they_write_are_about_one() {
        for (one, measured) in [(250e6, 220e6), (123e6, 150e6)] {
            let error = partial_stripes_of_disks(BytesPerSec::new(one)).get() / measured - 1.0;
            assert!(error.abs() < 0.25, "{error:+.2}");
        }
    }

    #[test]
    fn one_stripe_thread_was_measured() {
        for (aligned, measured) in [(false, 944e6), (false, 782e6), (true, 1.58e9), (true, 1.1e9)] {
            let error = stripe_threads(aligned, 1).get() / measured - 1.0;
            assert!(error.abs() < 0.2, "{error:+.2}");
        }
    }

    proptest! {
        #[test]
        fn parity_never_gives_more(each in 1e6..1e10f64, members in 3u32..64, parity in 1u32..3) {
            let whole = each * f64::from(members);
            prop_assert!(full_stripes(BytesPerSec::new(each), members, parity).get() < whole);
            prop_assert!(small_writes(Iops::new(each), members, parity).get() <= whole / 4.0);
            prop_assert!(small_write_ios(parity + 1) > small_write_ios(parity));
        }
    }
}
