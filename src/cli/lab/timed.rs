//! The tests of a lab: those that were asked for, and what predictions need beside them.

use super::args::LabArgs;
use narrows_base::units::Bytes;
use narrows_load::measurement::Pattern;
use narrows_load::preset::{self, LoadSpec, Preset, Test, Work};
use narrows_session::measure::Timing;
use narrows_session::writes::{Life, part_of_limit};

/// The least that is worth measuring on.
pub(super) const LEAST: Bytes = Bytes::from_mib(16);

/// One test with its name, and how long it runs.
#[derive(Debug, Clone)]
pub(super) struct Timed {
    /// `PRESET/TEST`.
    pub(super) name: String,
    /// What is done.
    pub(super) load: LoadSpec,
    /// When to stop.
    pub(super) timing: Timing,
    /// The part of a target that it reaches at once.
    pub(super) least: Bytes,
}

/// The tests that were asked for and can be run on a block device.
pub(super) fn tests(args: &LabArgs) -> Vec<Timed> {
    let presets = args.preset.iter().filter_map(|name| preset::by_name(name));
    presets.flat_map(|preset| timed(&preset, args)).collect()
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
pub(super) fn reach(tests: &[Timed]) -> Bytes {
    tests.iter().map(|test| test.least).fold(LEAST, Bytes::max)
}

/// For so many targets of a lab what may be written is made to suffice, where no size was asked for.
const TARGETS: u64 = 8;

/// How much of each target is filled: as the presets say, or less where that would leave too little for the tests of all
/// targets.
pub(super) fn filled(args: &LabArgs, life: Option<Life>) -> Bytes {
    let presets = args.preset.iter().filter_map(|name| preset::by_name(name));
    let largest = presets.map(|preset| preset.size).max().unwrap_or(LEAST);
    args.size.unwrap_or_else(|| part_of_limit(args.max_writes, life, largest, TARGETS)).max(LEAST)
}

/// How large a slice of each device has to be so that `filled` fits on everything that is built in it, and `copied` on each file
/// system: with room for headers, for what file systems and pools keep to themselves, and for the least that these are made on.
pub(super) fn slice(filled: Bytes, copied: Bytes) -> Bytes {
    const HEADERS: u64 = 256 << 20;
    const LEAST: u64 = 512 << 20;
    let data = filled.get().max(copied.get());
    Bytes::new(data.saturating_add(data / 5).saturating_add(HEADERS).max(LEAST))
}

fn timed(preset: &Preset, args: &LabArgs) -> Vec<Timed> {
    let timing = Timing {
        stop: preset.stop,
        precision: args.precision,
        max_time: args.max_time,
        fixed: args.duration,
        warm_up: args.warm_up,
    };
    let one = |test: &Test| match &test.work {
        Work::Load(load) if load.trim_percent == 0 && !load.buffered => Some(Timed {
            name: format!("{}/{}", preset.name, test.name),
            load: load.clone(),
            timing,
            least: test.least_size(),
        }),
        _ => None,
    };
    preset.tests.iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{Cli, Command};
    use clap::Parser;

    fn asked(presets: &str) -> Vec<Timed> {
        let words = ["narrows", "lab", "--scratch", "/srv", "--preset", presets];
        match Cli::try_parse_from(words).map(Cli::into_command) {
            Ok(Command::Lab(args)) => super::tests(&args),
            other => panic!("{other:?}"),
        }
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
