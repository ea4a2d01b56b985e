//! What mirrors give and cost: RAID-1, RAID-10, ZFS mirrors.
//!
//! A write goes to every copy, so n members with c copies write n/c. One stream reads one member of a RAID-1; many
//! streams read all. RAID-10 ("near" copies) stripes what one stream reads over all members too: 920 MB/s of two
//! SATA drives of 480 and 3390 of two NVMe drives of 2490 through the cache (linux-raid `ZobegsG8eh-_sDAA@lazy.lzy`).
//!
//! A write that waits for all copies waits for the slowest. For times with standard deviation σ around μ, the mean of
//! the largest of n is about μ + k·σ, with k 0.56, 0.85, 1.03 for 2, 3, 4 (order statistics of the normal
//! distribution; L. H. C. Tippett, Biometrika 17, 1925). Drives have σ of about 0.4 μ, which gives 1.23 μ for two (1.3
//! was measured at depth 1 with md between: 18.5 k of 26.2 k, linux-raid `CAGqmV7ojxm…`). Expected error ±15 %.

use narrows_base::units::{BytesPerSec, Nanos};

/// The spread of the time of one write: its standard deviation over its mean.
pub const SPREAD: f64 = 0.4;

/// The mean of the largest of n standard normal values, n from 1.
const LARGEST: [f64; 8] = [0.0, 0.564, 0.846, 1.029, 1.163, 1.267, 1.352, 1.424];

/// The time of a write that waits for `copies` writes of `one`.
pub fn slowest_of(one: Nanos, copies: u32) -> Nanos {
    let place = (copies.max(1) as usize - 1).min(LARGEST.len() - 1);
    let factor = 1.0 + SPREAD * LARGEST.get(place).copied().unwrap_or_default();
    Nanos::new((one.get() as f64 * factor).round() as u64)
}

/// What is read of `members` that each read `one`: by `streams` from whole copies (RAID-1), or from stripes (RAID-10).
pub fn read(one: BytesPerSec, members: u32, streams: u32, striped: bool) -> BytesPerSec {
    let at_work = if striped { members } else { streams.clamp(1, members.max(1)) };
    one * f64::from(at_work)
}

/// What a sequence reads of a RAID-1 whose members do `each` alone, in passes of `blocks` of which `depth` are under way.
///
/// md leaves a sequence on its member; the next pass begins on the one that has the fewest requests under way, which is another
/// (kernel `drivers/md/raid1.c`, `read_balance`, Linux 6.1). Each carries as many bytes, so that long passes get the harmonic
/// mean of the members. While a member works off the last `depth` blocks of its pass the next is read already: with two
/// members a and b, two passes take (n − d)/a + (n − d)/b for 2n blocks. No more than all of them do.
pub fn passes(each: &[BytesPerSec], blocks: f64, depth: f64) -> BytesPerSec {
    let sum: BytesPerSec = each.iter().copied().sum();
    let times: f64 = each.iter().map(|rate| 1.0 / rate.get()).sum();
    let mean = each.len() as f64 / times;
    let alone = 1.0 - depth / blocks;
    if alone <= 0.0 { sum } else { sum.min(BytesPerSec::new(mean / alone)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_copies_wait_for_the_slower() {
        assert_eq!(slowest_of(Nanos::new(100_000), 1), Nanos::new(100_000));
        assert_eq!(slowest_of(Nanos::new(100_000), 2), Nanos::new(122_560));
        assert_eq!(slowest_of(Nanos::new(100_000), 99), slowest_of(Nanos::new(100_000), 8));
    }

    #[test]
    fn one_stream_reads_one_copy_and_stripes_all() {
        let one = BytesPerSec::from_mb(500.0);
        assert_eq!(read(one, 2, 1, false), one);
        assert_eq!(read(one, 2, 8, false), one * 2.0);
        assert_eq!(read(one, 2, 1, true), one * 2.0);
    }

    #[test]
    fn passes_over_a_mirror_take_turns_and_overlap_by_the_depth() {
        let each = [600.0, 300.0].map(BytesPerSec::from_mb);
        let mb = |blocks, depth| passes(&each, blocks, depth).get() / 1e6;
        assert!((mb(1e9, 8.0) - 400.0).abs() < 1e-3 && (mb(f64::INFINITY, 8.0) - 400.0).abs() < 1e-6);
        assert!((mb(64.0, 8.0) - 400.0 * 64.0 / 56.0).abs() < 1e-6);
        assert!((mb(8.0, 8.0) - 900.0).abs() < 1e-6 && (mb(9.0, 8.0) - 900.0).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn more_copies_never_end_earlier(copies in 1u32..8, time in 1u64..1_000_000) {
            prop_assert!(slowest_of(Nanos::new(time), copies + 1) >= slowest_of(Nanos::new(time), copies));
        }
    }
}
