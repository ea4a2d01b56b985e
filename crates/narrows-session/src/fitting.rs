//! Which tests of a preset can be run at a place.

use std::path::Path as FilePath;

use crate::measure::Timing;
use crate::place::Place;
use crate::scene::Scene;
use crate::writes::Writes;
use narrows_base::units::{Bytes, human};
use narrows_load::LoadError;
use narrows_load::preset::{LoadSpec, Preset, Test, Work};

/// What is known of a place before it is opened.
#[derive(Debug, Clone)]
pub struct Fitting {
    /// Where the tests run.
    pub place: Place,
    /// What a device says of its discards.
    discards: Discards,
}

impl Fitting {
    /// For the tests of a preset at a place.
    ///
    /// # Errors
    /// A test trims a device that takes no discards.
    pub fn of(scene: &Scene, place: Place, preset: &Preset) -> Result<Self, LoadError> {
        let discards = Discards::of(scene, &place, &preset.loads().collect::<Vec<_>>())?;
        Ok(Self { place, discards })
    }

    /// What is to be done of a preset, where some tests are done.
    pub fn works(&self, preset: &Preset, is_done: impl Fn(&Test) -> bool) -> Vec<Work> {
        let tests = preset.tests.iter().filter(|test| self.obstacle(test).is_none() && !is_done(test));
        tests.map(|test| test.work.clone()).collect()
    }

    /// Why a test cannot be run, if it cannot.
    pub fn obstacle(&self, test: &Test) -> Option<String> {
        let is_scan = matches!(test.work, Work::Scan(_));
        let why = match &self.place {
            Place::Device(_) if test.writes() => "a device is only read, unless --write --i-own SERIAL",
            Place::Owned { .. } if is_scan => {
                "most of an empty device was never written, so it is read from nowhere"
            }
            Place::File(_) if test.writes() => "the file is only read",
            _ => {
                return match &test.work {
                    Work::Load(load) => self.discards.obstacle(load),
                    Work::Scan(_) => None,
                };
            }
        };
        Some(why.to_owned())
    }

    /// Why a test cannot be run on `size` bytes, where `writes` say what may be written.
    pub fn obstacle_on(
        &self,
        test: &Test,
        size: Bytes,
        writes: Option<&Writes>,
        timing: &Timing,
    ) -> Option<String> {
        let rounds = || match &test.work {
            Work::Load(load) => writes?.obstacle(load, timing),
            Work::Scan(_) => None,
        };
        self.obstacle(test).or_else(|| too_large(test, size)).or_else(rounds)
    }
}

/// Why a test does not fit on a target of `size`, if it does not.
fn too_large(test: &Test, size: Bytes) -> Option<String> {
    let needed = test.least_size();
    (needed > size).then(|| {
        let (needed, size) = (human::block_size(needed), human::block_size(size));
        format!("it needs {needed}, and the target has {size}")
    })
}

/// What a device says of its discards.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Discards {
    /// The least that it gives back, `queue/discard_granularity`; zero where that is not known or nothing is discarded.
    granularity: Bytes,
}

impl Discards {
    /// What the device at `place` says, if any of `loads` trims it.
    ///
    /// # Errors
    /// It takes no discards (`queue/discard_max_bytes` is 0, kernel `Documentation/ABI/stable/sysfs-block`).
    pub fn of(scene: &Scene, place: &Place, loads: &[&LoadSpec]) -> Result<Self, LoadError> {
        let Place::Owned { name, .. } = place else { return Ok(Self::default()) };
        if loads.iter().all(|load| load.trim_percent == 0) {
            return Ok(Self::default());
        }
        // A partition has the queue of its disk.
        let disk = scene.machine.block.get(name).and_then(|device| device.partition_of.as_ref());
        let queue = format!("/sys/class/block/{}/queue", disk.unwrap_or(name));
        let number = |file: &str| scene.root.number(&format!("{queue}/{file}")).get();
        if number("discard_max_bytes") == Some(0) {
            let error = LoadError::NoDiscard(FilePath::new("/dev").join(name));
            return Err(error);
        }
        Ok(Self { granularity: Bytes::new(number("discard_granularity").unwrap_or(0)) })
    }

    /// Why a load cannot be run, if it cannot: a device may ignore what is smaller than it can give back.
    pub fn obstacle(&self, load: &LoadSpec) -> Option<String> {
        let whole =
            self.granularity.get() == 0 || load.block_size.get().is_multiple_of(self.granularity.get());
        (load.trim_percent > 0 && !whole).then(|| {
            let (block, least) = (human::block_size(load.block_size), human::block_size(self.granularity));
            format!("its trims are {block}, and the device gives back whole {least} only")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_load::measurement::Pattern;
    use narrows_load::preset;

    fn of(place: Place) -> Fitting {
        Fitting { place, discards: Discards::default() }
    }

    /// The tests of a preset that fit, and why the first of the others does not.
    fn fits(name: &str, fitting: &Fitting) -> (usize, Option<String>) {
        let preset = preset::by_name(name).expect("is a preset");
        let why = preset.tests.iter().find_map(|test| fitting.obstacle(test));
        (fitting.works(&preset, |_| false).len(), why)
    }

    #[test]
    fn what_writes_needs_a_place_that_may_be_written() {
        let owned = Place::Owned { name: "sdx".to_owned(), own: "S".to_owned() };
        let all = preset::by_name("peak").expect("is a preset").tests.len();
        for place in [Place::Scratch("/srv".into()), owned] {
            assert_eq!(fits("peak", &of(place)), (all, None));
        }
        let (reads, why) = fits("peak", &of(Place::Device("/dev/sdx".into())));
        assert!(0 < reads && reads < all);
        assert_eq!(why.as_deref(), Some("a device is only read, unless --write --i-own SERIAL"));
        let (of_file, why) = fits("peak", &of(Place::File("/srv/file".into())));
        assert_eq!((of_file, why.as_deref()), (reads, Some("the file is only read")));
    }

    #[test]
    fn samples_by_position_are_of_what_was_written() {
        let owned = Place::Owned { name: "sdx".to_owned(), own: "S".to_owned() };
        let device = || Place::Device("/dev/sdx".into());
        assert!(fits("disks", &of(owned)).1.is_some_and(|why| why.contains("never written")));
        let preset = preset::by_name("disks").expect("is a preset");
        let is_scan = |test: &&Test| matches!(test.work, Work::Scan(_));
        let scan = preset.tests.iter().find(is_scan).expect("it has one");
        assert_eq!(of(device()).obstacle(scan), None);
    }

    #[test]
    fn what_is_done_is_not_done_again_and_what_is_too_large_says_so() {
        let preset = preset::by_name("peak").expect("is a preset");
        let scratch = of(Place::Scratch("/srv".into()));
        let first = &preset.tests[0];
        let rest = scratch.works(&preset, |test| test.name == first.name);
        assert_eq!(rest.len(), preset.tests.len() - 1);
        let timing = crate::measure::UNTIL_KNOWN;
        let why = scratch.obstacle_on(first, Bytes::from_kib(4), None, &timing).expect("it is too small");
        assert!(why.ends_with(", and the target has 4 KiB"), "{why}");
        assert_eq!(scratch.obstacle_on(first, first.least_size(), None, &timing), None);
    }

    #[test]
    fn what_a_device_would_ignore_is_not_measured() {
        let load = |kib, trims| LoadSpec::reading(Pattern::Random, Bytes::from_kib(kib), 1).trimming(trims);
        let coarse = Discards { granularity: Bytes::from_kib(64) };
        let why = coarse.obstacle(&load(4, 50)).unwrap();
        assert_eq!(why, "its trims are 4 KiB, and the device gives back whole 64 KiB only");
        assert!(coarse.obstacle(&load(96, 100)).is_some());
        assert_eq!(coarse.obstacle(&load(128, 100)), None);
        assert_eq!(coarse.obstacle(&load(4, 0)), None, "nothing is trimmed");
        assert_eq!(Discards::default().obstacle(&load(4, 100)), None, "nothing is known");
    }
}
