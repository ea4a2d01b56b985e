//! What depth buys: Little's law, and stages one after another.
//!
//! With `depth` I/Os under way, each of which takes `time` from its start to its end, `depth / time` end in a second
//! (J. D. C. Little, "A proof for the queuing formula L = λW", Operations Research 9, 1961). It is exact; the error is
//! that of the time. An I/O that passes stages one after another takes the sum of their times, so at depth 1 the
//! rates of stages combine as 1/B = Σ 1/Bᵢ + Σ tᵢ / size, and at great depth as the smallest. Between the two the
//! smaller of both bounds is taken (the asymptotic bounds of P. J. Denning and J. P. Buzen, ACM Computing Surveys 10,
//! 1978); near the knee real systems stay below it, solid-state drives by the law of [`knee`].
//!
//! Calibration: a Samsung 970 EVO Plus reads 1 MiB at depth 1 with 2841 MB/s, which is 369 µs: 293 µs on a link
//! of 3577 MB/s and 76 µs before it, and its random 4 KiB read takes 80.9 µs.

use narrows_base::units::Iops;

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
    all * (1.0 - missed.powf(requests))
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
    let sum = (low / by_depth).powf(sharpness) + (others * low / by_drive).powf(sharpness);
    (low * sum.powf(-1.0 / sharpness)).min(low)
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
}
