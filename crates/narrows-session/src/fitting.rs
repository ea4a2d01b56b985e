//! Which tests of a preset can be run at a place.

use crate::measure::Timing;
use crate::place::Place;
use crate::writes::Writes;
use narrows_base::units::{Bytes, human};
use narrows_load::preset::{Preset, Test, Work};

impl Place {
    /// What is to be done of a preset, where some tests are done.
    pub fn works(&self, preset: &Preset, is_done: impl Fn(&Test) -> bool) -> Vec<Work> {
        let tests = preset.tests.iter().filter(|test| self.obstacle(test).is_none() && !is_done(test));
        tests.map(|test| test.work.clone()).collect()
    }

    /// Why a test cannot be run, if it cannot.
    pub fn obstacle(&self, test: &Test) -> Option<String> {
        let is_scan = matches!(test.work, Work::Scan(_));
        let why = match self {
            Place::Device(_) if test.writes() => "a device is only read, unless --write --i-own SERIAL",
            Place::Owned { .. } if is_scan => {
                "most of an empty device was never written, so it is read from nowhere"
            }
            Place::File(_) if test.writes() => "the file is only read",
            _ => return None,
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

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_load::preset;

    /// The tests of a preset that fit, and why the first of the others does not.
    fn fits(name: &str, place: &Place) -> (usize, Option<String>) {
        let preset = preset::by_name(name).expect("is a preset");
        let why = preset.tests.iter().find_map(|test| place.obstacle(test));
        (place.works(&preset, |_| false).len(), why)
    }

    #[test]
    fn what_writes_needs_a_place_that_may_be_written() {
        let owned = Place::Owned { name: "sdx".to_owned(), own: "S".to_owned() };
        let all = preset::by_name("peak").expect("is a preset").tests.len();
        for place in [Place::Scratch("/srv".into()), owned] {
            assert_eq!(fits("peak", &place), (all, None));
        }
        let (reads, why) = fits("peak", &Place::Device("/dev/sdx".into()));
        assert!(0 < reads && reads < all);
        assert_eq!(why.as_deref(), Some("a device is only read, unless --write --i-own SERIAL"));
        let (of_file, why) = fits("peak", &Place::File("/srv/file".into()));
        assert_eq!((of_file, why.as_deref()), (reads, Some("the file is only read")));
    }

    #[test]
    fn samples_by_position_are_of_what_was_written() {
        let owned = Place::Owned { name: "sdx".to_owned(), own: "S".to_owned() };
        let device = || Place::Device("/dev/sdx".into());
        assert!(fits("disks", &owned).1.is_some_and(|why| why.contains("never written")));
        let preset = preset::by_name("disks").expect("is a preset");
        let is_scan = |test: &&Test| matches!(test.work, Work::Scan(_));
        let scan = preset.tests.iter().find(is_scan).expect("it has one");
        assert_eq!(device().obstacle(scan), None);
    }

    #[test]
    fn what_is_done_is_not_done_again_and_what_is_too_large_says_so() {
        let preset = preset::by_name("peak").expect("is a preset");
        let scratch = Place::Scratch("/srv".into());
        let first = &preset.tests[0];
        let rest = scratch.works(&preset, |test| test.name == first.name);
        assert_eq!(rest.len(), preset.tests.len() - 1);
        let timing = crate::measure::UNTIL_KNOWN;
        let why = scratch.obstacle_on(first, Bytes::from_kib(4), None, &timing).expect("it is too small");
        assert!(why.ends_with(", and the target has 4 KiB"), "{why}");
        assert_eq!(scratch.obstacle_on(first, first.least_size(), None, &timing), None);
    }
}
