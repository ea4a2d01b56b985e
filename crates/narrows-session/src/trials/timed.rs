//! The tests of a lab: those that were asked for, and what predictions need beside them.

use std::time::Duration;

use crate::measure::Timing;
use crate::writes::{Life, part_of_limit};
use narrows_base::units::Bytes;
use narrows_load::measurement::Pattern;
use narrows_load::preset::{LoadSpec, Preset, Test, Work};

/// The least that is worth measuring on.
pub const LEAST: Bytes = Bytes::from_mib(16);

/// One test with its name, and how long it runs.
#[derive(Debug, Clone)]
pub struct Timed {
    /// `PRESET/TEST`.
    pub name: String,
    /// What is done.
    pub load: LoadSpec,
    /// When to stop.
    pub timing: Timing,
    /// The part of a target that it reaches at once.
    pub least: Bytes,
}

/// What is asked of the tests of a lab.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The presets whose tests are run.
    pub presets: Vec<Preset>,
    /// How narrow the interval of a rate must be.
    pub precision: f64,
    /// The longest that a test runs.
    pub max_time: Duration,
    /// Exactly this time, if it was asked for.
    pub duration: Option<Duration>,
    /// What is not counted.
    pub warm_up: Duration,
    /// How much of each target is filled, if that was asked for.
    pub size: Option<Bytes>,
    /// The most that may be written, if that was asked for.
    pub max_writes: Option<Bytes>,
    /// Whether something is encrypted.
    pub encrypts: bool,
}

impl Wish {
    /// The tests that can be run on a block device.
    pub fn tests(&self) -> Vec<Timed> {
        self.presets.iter().flat_map(|preset| self.of(preset)).collect()
    }

    fn of(&self, preset: &Preset) -> Vec<Timed> {
        let timing = Timing {
            stop: preset.stop,
            precision: self.precision,
            max_time: self.max_time,
            fixed: self.duration,
            warm_up: self.warm_up,
        };
        let one = |test: &Test| match &test.work {
            Work::Load(load) if !load.buffered => Some(Timed {
                name: format!("{}/{}", preset.name, test.name),
                load: load.clone(),
                timing,
                least: test.least_size(),
            }),
            _ => None,
        };
        preset.tests.iter().filter_map(one).collect()
    }

    /// How much of each target is filled: as the presets say, or less where that would leave too little for the tests of all
    /// targets.
    pub fn filled(&self, life: Option<Life>) -> Bytes {
        let largest = self.presets.iter().map(|preset| preset.size).max().unwrap_or(LEAST);
        self.size.unwrap_or_else(|| part_of_limit(self.max_writes, life, largest, TARGETS)).max(LEAST)
    }
}

/// For each test at random with several requests under way the same with one, where that is not among them: what a request
/// costs that comes and goes alone.
pub(super) fn probes(tests: &[Timed]) -> Vec<Timed> {
    let mut probes: Vec<Timed> = Vec::new();
    let deep =
        tests.iter().filter(|test| test.load.pattern == Pattern::Random && test.load.total_depth() > 1);
    for test in deep {
        let load = test.load.one_at_a_time();
        if !tests.iter().chain(&probes).any(|other| other.load == load) {
            probes.push(Timed { name: format!("{}, one at a time", test.name), load, ..test.clone() });
        }
    }
    probes
}

/// The part of a target that the largest of these tests reaches at once.
pub fn reach(tests: &[Timed]) -> Bytes {
    tests.iter().map(|test| test.least).fold(LEAST, Bytes::max)
}

/// For so many targets of a lab what may be written is made to suffice, where no size was asked for.
const TARGETS: u64 = 8;

/// How large a slice of each device has to be so that `filled` fits on everything that is built in it, and `copied` on each file
/// system: with room for headers, for what file systems and pools keep to themselves, and for the least that these are made on.
pub fn slice(filled: Bytes, copied: Bytes) -> Bytes {
    const HEADERS: u64 = 256 << 20;
    const LEAST: u64 = 512 << 20;
    let data = filled.get().max(copied.get());
    Bytes::new(data.saturating_add(data / 5).saturating_add(HEADERS).max(LEAST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_load::preset;

    fn wish(presets: &str) -> Wish {
        Wish {
            presets: presets.split(',').map(|name| preset::by_name(name).expect("is a preset")).collect(),
            precision: 0.02,
            max_time: Duration::from_secs(30),
            duration: None,
            warm_up: Duration::ZERO,
            size: None,
            max_writes: None,
            encrypts: false,
        }
    }

    fn asked(presets: &str) -> Vec<Timed> {
        wish(presets).tests()
    }

    #[test]
    fn what_is_filled_leaves_enough_for_the_tests_of_all_targets_unless_it_was_asked_for() {
        let peak = wish("peak");
        // 8 GiB less what a file system adds, a quarter of it for what eight targets are filled with.
        assert_eq!(peak.filled(None).get() >> 20, 248);
        assert_eq!(Wish { size: Some(Bytes::from_mib(4)), ..peak.clone() }.filled(None), LEAST);
        assert_eq!(Wish { size: Some(Bytes::from_mib(900)), ..peak }.filled(None), Bytes::from_mib(900));
    }

    #[test]
    fn a_slice_has_room_for_what_is_built_in_it() {
        let of = |filled, copied| slice(Bytes::from_mib(filled), Bytes::from_mib(copied)).get() >> 20;
        assert_eq!((of(16, 0), of(1000, 0), of(1000, 2000)), (512, 1456, 2656));
    }

    #[test]
    fn loads_at_random_are_probed_one_at_a_time_where_no_test_does() {
        let peak = asked("peak");
        let names: Vec<String> = probes(&peak).iter().map(|probe| probe.name.clone()).collect();
        assert_eq!(
            names,
            ["peak/RND4K Q32T16 read, one at a time", "peak/RND4K Q32T16 write, one at a time"]
        );
        assert!(probes(&peak).iter().all(|probe| probe.load.total_depth() == 1));
        assert!(probes(&asked("kdiskmark")).is_empty(), "RND4K Q1T1 is among them");
        assert!(probes(&asked("kdiskmark,peak")).is_empty());
    }
}
