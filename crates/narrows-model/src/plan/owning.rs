//! What does a layout mean for whoever owns it: room, years of writing, hours of rebuilding, and the chance that it is lost meanwhile?
//!
//! Arithmetic on what the owner states; nothing is looked up. A rebuild writes all of one drive. Alone it runs at what the drive
//! writes, at most md's throttle (`speed_limit_max`, 200,000 KiB/s unless somebody changed it; md(4)). Beside other load md yields
//! down to `speed_limit_min` (1,000 KiB/s; md(4)), and how far it does has no law: 10.5 MB/s were published where 318 MB/s ran
//! alone (Blocks and Files on Xinnor, July 2025). So a rebuild under load is a range between what the load leaves and that floor.
//!
//! Failures are taken for independent with a constant rate (the exponential law), which is the best case: drives of one batch and
//! of one age fail together more often, and a sector that cannot be read while a parity array rebuilds is not counted.

use serde::{Deserialize, Serialize};

use super::layout::{Array, Layout};
use narrows_base::units::{Bytes, BytesPerSec};

/// What md gives a rebuild at most, unless `speed_limit_max` was changed: 200,000 KiB/s (md(4)).
pub const REBUILD_MOST: f64 = 200_000.0 * 1024.0;

/// What md gives a rebuild at least, unless `speed_limit_min` was changed: 1,000 KiB/s (md(4)).
pub const REBUILD_LEAST: f64 = 1_000.0 * 1024.0;

const SECONDS_OF_YEAR: f64 = 365.25 * 86_400.0;

/// What the owner states.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stated {
    /// What one drive holds.
    pub size: Option<Bytes>,
    /// What is written to the layout each day.
    pub daily_writes: Option<Bytes>,
    /// What may be written to one drive in its life (TBW).
    pub endurance: Option<Bytes>,
    /// The share of such drives that fails in a year, 0 to 1.
    pub failures: Option<f64>,
    /// The share of a drive's rate that other load takes while it rebuilds, 0 to 1; 0 when nobody says.
    pub load: Option<f64>,
}

/// From the best to the worst case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaseRange {
    /// At best.
    pub best: f64,
    /// At worst.
    pub worst: f64,
}

/// What a layout means for its owner; absent where what decides was not stated, or where there is nothing to rebuild.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Owning {
    /// What it holds.
    #[serde(rename = "usable_bytes", skip_serializing_if = "Option::is_none")]
    pub usable: Option<Bytes>,
    /// Years until the first drive has been written as often as it may.
    #[serde(rename = "endurance_years", skip_serializing_if = "Option::is_none")]
    pub years: Option<f64>,
    /// Seconds of a rebuild, at best and at worst.
    #[serde(rename = "rebuild_seconds", skip_serializing_if = "Option::is_none")]
    pub rebuild: Option<CaseRange>,
    /// The chance that enough further drives fail during one rebuild for data to be lost, at best and at worst.
    #[serde(rename = "loss_while_rebuilding", skip_serializing_if = "Option::is_none")]
    pub loss: Option<CaseRange>,
}

/// What a layout of `drives` that write `write` each means for its owner.
pub fn owning(layout: &Layout, drives: u8, write: BytesPerSec, stated: &Stated) -> Owning {
    let usable = stated.size.map(|size| whole(size.as_f64() * f64::from(drives) * layout.capacity));
    let years = stated.endurance.zip(stated.daily_writes).and_then(|(endurance, daily)| {
        let each = daily.as_f64() * layout.wear;
        (each > 0.0).then(|| endurance.as_f64() / each / 365.25)
    });
    let rebuild = stated.size.filter(|_| layout.survives > 0).map(|size| rebuild(size, write, stated.load));
    let loss = rebuild.zip(stated.failures).map(|(CaseRange { best, worst }, failures)| {
        let chance = |seconds: f64| further(layout.array, drives, dies(failures, seconds));
        CaseRange { best: chance(best), worst: chance(worst) }
    });
    Owning { usable, years, rebuild, loss }
}

fn whole(bytes: f64) -> Bytes {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast from float saturates, and sizes are never negative"
    )]
    Bytes::new(bytes as u64)
}

/// Seconds to write a drive of `size`, at best and at worst, while other load takes a share of it.
pub fn rebuild(size: Bytes, write: BytesPerSec, load: Option<f64>) -> CaseRange {
    let load = load.unwrap_or(0.0).clamp(0.0, 1.0);
    let floor = write.get().clamp(1.0, REBUILD_LEAST);
    let best = (write.get() * (1.0 - load)).min(REBUILD_MOST).max(floor);
    let worst = if load > 0.0 { floor } else { best };
    CaseRange { best: size.as_f64() / best, worst: size.as_f64() / worst }
}

/// The chance that a drive fails in so many seconds when so great a share of its kind does in a year.
fn dies(failures: f64, seconds: f64) -> f64 {
    let survives = 1.0 - failures.clamp(0.0, 1.0);
    1.0 - survives.powf(seconds / SECONDS_OF_YEAR)
}

/// The chance that data are lost when one drive of an array has failed and each other does with chance `one`.
fn further(array: Array, drives: u8, one: f64) -> f64 {
    let others = i32::from(drives.saturating_sub(1));
    let none = (1.0 - one).powi(others);
    match array {
        Array::Single | Array::LvmLinear | Array::LvmStriped | Array::Raid0 => 1.0,
        Array::Raid1 => one.powi(others),
        // Its partner alone holds the same data.
        Array::Raid10 => one,
        Array::Raid5 => 1.0 - none,
        Array::Raid6 => {
            let exactly_one = f64::from(others) * one * (1.0 - one).powi(others - 1);
            (1.0 - none - exactly_one).max(0.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::layout::{Resources, layouts};
    use proptest::prelude::*;

    fn four_disks() -> Vec<Layout> {
        let one = BytesPerSec::from_mb(250.0);
        let together = BytesPerSec::from_mb(1000.0);
        layouts(&Resources {
            drives: 4,
            read: one,
            write: one,
            read_together: together,
            write_together: together,
            cipher: None,
        })
    }

    fn of(array: Array, stated: &Stated) -> Owning {
        let found =
            four_disks().into_iter().find(|layout| layout.array == array).expect("four drives allow it");
        owning(&found, 4, BytesPerSec::from_mb(250.0), stated)
    }

    /// "Four disks of 14 TB: how long does RAID-5 rebuild, and what if another fails?" 14 TB at md's throttle of 204.8 MB/s are
    /// 19 hours; 1.5 % a year of three drives in that time are 1 − 0.985^(3 × 19 h / 8766 h) = 0.0098 %.
    #[test]
    fn a_raid_5_of_large_disks_rebuilds_in_19_hours_and_the_chance_of_a_second_failure_is_stated() {
        let stated =
            Stated { size: Some(Bytes::new(14_000_000_000_000)), failures: Some(0.015), ..Stated::default() };
        let it = of(Array::Raid5, &stated);
        let CaseRange { best, worst } = it.rebuild.expect("can be rebuilt");
        assert!((best / 3600.0 - 18.99).abs() < 0.01 && (worst - best).abs() < 1e-9, "{best}");
        let chance = it.loss.expect("a rate is stated").best;
        assert!((chance - 9.82e-5).abs() < 1e-6, "{chance}");
        assert_eq!(it.usable, Some(Bytes::new(42_000_000_000_000)));
        let six = of(Array::Raid6, &stated).loss.expect("a rate is stated").best;
        assert!(six < chance / 1000.0, "{six}");
    }

    /// The load may push a rebuild down to md's floor of 1.024 MB/s: 158 days of 14 TB. Nobody can say where between it will be.
    #[test]
    fn under_load_a_rebuild_is_a_range_down_to_the_floor_of_md() {
        let CaseRange { best, worst } =
            rebuild(Bytes::new(14_000_000_000_000), BytesPerSec::from_mb(250.0), Some(0.5));
        assert!((best / 3600.0 - 31.1).abs() < 0.1, "{best}");
        assert!((worst / 86_400.0 - 158.2).abs() < 0.1, "{worst}");
    }

    /// "Two SN770 2 TB (1200 TBW) as a mirror, 200 GB a day: how long?" Each takes all of it: 16.4 years; striped over four, four times that.
    #[test]
    fn drives_of_a_mirror_each_take_what_is_written_and_those_of_a_stripe_a_part() {
        let stated = Stated {
            daily_writes: Some(Bytes::new(200_000_000_000)),
            endurance: Some(Bytes::new(1_200_000_000_000_000)),
            ..Stated::default()
        };
        let years = |array| of(array, &stated).years.expect("both are stated");
        assert!((years(Array::Raid1) - 16.43).abs() < 0.01);
        assert!((years(Array::Raid0) / years(Array::Raid1) - 4.0).abs() < 1e-9);
        assert_eq!(of(Array::Raid0, &stated).rebuild, None);
    }

    #[test]
    fn what_is_not_stated_is_not_said() {
        assert_eq!(of(Array::Raid5, &Stated::default()), Owning::default());
    }

    proptest! {
        #[test]
        fn chances_are_chances_and_more_survivors_lose_less(failures in 0.0..1.0f64, hours in 0.1..1e5f64, drives in 4u8..32) {
            let one = dies(failures, hours * 3600.0);
            let of = |array| further(array, drives, one);
            for array in Array::ALL {
                prop_assert!((0.0..=1.0).contains(&of(array)), "{array:?} {}", of(array));
            }
            prop_assert!(of(Array::Raid6) <= of(Array::Raid5) + 1e-12);
            prop_assert!(of(Array::Raid1) <= of(Array::Raid10) + 1e-12);
        }
    }
}
