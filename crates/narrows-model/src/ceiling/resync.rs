//! How fast md resyncs, recovers or checks, and what it leaves to others.
//!
//! Three bounds; the smallest counts. The throttle: each member gets at most `sync_speed_max`, 200000 KiB/s unless changed
//! (Linux `Documentation/admin-guide/md.rst`, `drivers/md/md.c`). The members: the slowest one's sequential rate. The
//! stripe thread of a parity array handles all members in 4 KiB stripes: [`STRIPE_THREAD`] of all members together, what
//! it writes of full stripes ([`super::parity::ALIGNED`]); 36 disks of RAID-6 resynced at 38.9 MB/s each (linux-raid
//! `CAFDAVznKiKC7…`), which is 1.4 GB/s and was not used for it. Expected error ±15 % (2 TB in 145 minutes, 230 MB/s, against
//! 205); with a raised throttle −60 % to +15 %, for newer machines handle more stripes.
//! What is left to the application when a resync runs is what the members do not spend on it.

use narrows_base::units::BytesPerSec;

/// md's default of `sync_speed_max`, KiB/s.
pub const DEFAULT_MAXIMUM: f64 = 200_000.0;

/// What one stripe thread resyncs of all members together, decimal GB/s: what it writes of full stripes.
pub const STRIPE_THREAD: f64 = super::parity::ALIGNED;

/// The throttle that holds unless somebody changed it.
pub fn default_maximum() -> BytesPerSec {
    BytesPerSec::from_kib(DEFAULT_MAXIMUM)
}

/// The rate of a resync on each member.
pub fn per_member(slowest: BytesPerSec, maximum: BytesPerSec, members: u32, parity: bool) -> BytesPerSec {
    let thread = BytesPerSec::from_gb(STRIPE_THREAD / f64::from(members.max(1)));
    let bound = slowest.min(maximum);
    if parity { bound.min(thread) } else { bound }
}

/// What a member has left for others while a resync takes `taken` of it.
pub fn left(member: BytesPerSec, taken: BytesPerSec) -> BytesPerSec {
    member - taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_mirror_of_fast_drives_is_throttled_and_a_wide_array_is_bound_by_its_thread() {
        let fast = BytesPerSec::from_mb(3300.0);
        let throttled = per_member(fast, default_maximum(), 2, false);
        assert!((throttled.get() / 230e6 - 1.0).abs() < 0.12, "{throttled}");
        let wide = per_member(BytesPerSec::from_mb(250.0), default_maximum(), 36, true);
        assert!((wide.get() / 38.9e6 - 1.0).abs() < 0.10, "{wide}");
    }

    proptest! {
        #[test]
        fn no_bound_is_broken(slowest in 1e6..1e10f64, maximum in 1e6..1e10f64, members in 1u32..64, parity in proptest::bool::ANY) {
            let rate = per_member(BytesPerSec::new(slowest), BytesPerSec::new(maximum), members, parity);
            prop_assert!(rate.get() <= slowest && rate.get() <= maximum);
            prop_assert!(left(BytesPerSec::new(slowest), rate).get() + rate.get() <= slowest * (1.0 + 1e-9));
        }
    }
}
