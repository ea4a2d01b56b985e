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

use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};

/// One stage that every I/O passes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stage {
    /// What it takes whatever the size.
    pub fixed: Nanos,
    /// The rate at which it passes the bytes of one I/O; `None` for one that handles no bytes.
    pub rate: Option<BytesPerSec>,
}

impl Stage {
    /// A stage that takes a fixed time.
    pub const fn fixed(time: Nanos) -> Self {
        Self { fixed: time, rate: None }
    }

    /// A stage that passes bytes at a rate.
    pub const fn bytes(rate: BytesPerSec) -> Self {
        Self { fixed: Nanos::new(0), rate: Some(rate) }
    }

    /// The time that one I/O of `size` spends in it, in seconds; infinite where its rate is zero.
    pub fn seconds(&self, size: Bytes) -> f64 {
        let moving =
            self.rate.map_or(0.0, |rate| if size.get() == 0 { 0.0 } else { size.as_f64() / rate.get() });
        self.fixed.as_secs_f64() + moving
    }
}

/// The time of one I/O of `size` through all stages, in seconds.
pub fn serial_seconds(stages: &[Stage], size: Bytes) -> f64 {
    stages.iter().map(|stage| stage.seconds(size)).sum()
}

/// I/Os that end in a second when `in_flight` are under way and each takes `seconds`.
pub fn little(in_flight: f64, seconds: f64) -> Iops {
    if seconds > 0.0 { Iops::new(in_flight / seconds) } else { Iops::new(f64::MAX) }
}

/// The rate of I/Os of `size` through stages one after another, with `in_flight` under way, when nothing that they
/// share carries more than `narrowest`.
pub fn through(stages: &[Stage], size: Bytes, in_flight: f64, narrowest: BytesPerSec) -> BytesPerSec {
    let ended = little(in_flight, serial_seconds(stages, size));
    BytesPerSec::new(ended.get() * size.as_f64()).min(narrowest)
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
    fn a_drive_at_depth_1_is_its_latency_and_its_link_one_after_the_other() {
        let stages = [Stage::fixed(Nanos::new(76_000)), Stage::bytes(BytesPerSec::from_mb(3577.0))];
        let link = BytesPerSec::from_mb(3577.0);
        let one = through(&stages, Bytes::from_mib(1), 1.0, link);
        assert!((one.get() / 2841e6 - 1.0).abs() < 0.002, "{one}");
        assert_eq!(through(&stages, Bytes::from_mib(1), 8.0, link), link);
    }

    #[test]
    fn nothing_takes_no_time_and_a_dead_stage_passes_nothing() {
        assert!(little(1.0, 0.0).get() > 1e300);
        let dead = [Stage::bytes(BytesPerSec::new(0.0))];
        assert_eq!(through(&dead, Bytes::new(4096), 1.0, BytesPerSec::from_gb(1.0)), BytesPerSec::new(0.0));
        assert_eq!(serial_seconds(&dead, Bytes::new(0)), 0.0);
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

        #[test]
        fn more_depth_never_slows_and_more_stages_never_speed_up(
            fixed in 1u64..1_000_000, rate in 1e6..1e11f64, size in 512u64..4_194_304, depth in 1.0..256.0f64
        ) {
            let (stage, size) = (Stage { fixed: Nanos::new(fixed), rate: Some(BytesPerSec::new(rate)) }, Bytes::new(size));
            let narrowest = BytesPerSec::new(rate);
            let one = through(&[stage], size, depth, narrowest);
            prop_assert!(through(&[stage], size, depth + 1.0, narrowest) >= one);
            prop_assert!(through(&[stage, stage], size, depth, narrowest) <= one);
            prop_assert!(one <= narrowest);
        }
    }
}
