//! Presets: what well-known benchmarks ask of a drive, as data.
//!
//! A preset is a list of tests with the source it is modelled on. What differs from the original on purpose is said
//! in [`Preset::differs`]; above all the originals run for a fixed time, and narrows runs until the rate is known well
//! enough. Nothing here opens a file: `cli/bench` runs the tests, [`job`] writes them down for fio.

mod desktop;
pub mod job;
mod server;
mod survey;

use serde::{Deserialize, Serialize};

use super::measurement::Pattern;
use super::scan::ScanPlan;
use narrows_base::units::peers::Peer;
use narrows_base::units::{Bytes, human};

/// A list of tests that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    /// What is typed after `--preset`.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// What it is modelled on, with the place where that is written.
    pub source: &'static str,
    /// What narrows does differently from the original, and why.
    pub differs: &'static str,
    /// Whose unit is shown beside ours.
    pub peer: Peer,
    /// The size of the scratch file, unless another is asked for.
    pub size: Bytes,
    /// How the tests are stopped when nothing else is asked.
    pub stop: StopRule,
    /// The tests, in the order in which they run.
    pub tests: Vec<Test>,
}

/// When a test has run long enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopRule {
    /// When the confidence interval of the mean rate is narrow enough.
    Precision,
    /// After so many seconds.
    Seconds(u32),
    /// When rounds of so many seconds pass the steady-state test of SNIA's PTS.
    SteadyRounds(u32),
}

/// One test of a preset.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// Its name, different from those of the other tests of the preset.
    pub name: String,
    /// What is done.
    pub work: Work,
}

/// What a test does.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// Load for a while.
    Load(LoadSpec),
    /// Samples at positions spread over the whole target.
    Scan(ScanPlan),
}

/// The load of one test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadSpec {
    /// The order of addresses.
    pub pattern: Pattern,
    /// Bytes in each I/O.
    pub block_size: Bytes,
    /// I/Os that each thread or stream keeps in flight.
    pub queue_depth: u32,
    /// What the original counts as threads, jobs or streams.
    pub parallel: Parallel,
    /// I/Os of 100 that write.
    pub write_percent: u8,
    /// Whether the page cache is used on purpose.
    pub buffered: bool,
}

/// Who keeps the queues of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Parallel {
    /// So many threads, each with its queue.
    Threads(u32),
    /// So many streams, each in its own part of the target, on as few threads as carry them.
    Streams(u32),
}

impl Parallel {
    /// How many there are.
    pub const fn count(self) -> u32 {
        match self {
            Self::Threads(count) | Self::Streams(count) => count,
        }
    }
}

impl Preset {
    /// The loads of its tests.
    pub fn loads(&self) -> impl Iterator<Item = &LoadSpec> {
        self.tests.iter().filter_map(|test| match &test.work {
            Work::Load(load) => Some(load),
            Work::Scan(_) => None,
        })
    }

    /// The samples of its first scan, if it has one.
    pub fn scan(&self) -> Option<ScanPlan> {
        self.tests.iter().find_map(|test| match test.work {
            Work::Scan(plan) => Some(plan),
            Work::Load(_) => None,
        })
    }
}

impl LoadSpec {
    /// A direct load of one thread that only reads.
    pub const fn reading(pattern: Pattern, block_size: Bytes, queue_depth: u32) -> Self {
        Self {
            pattern,
            block_size,
            queue_depth,
            parallel: Parallel::Threads(1),
            write_percent: 0,
            buffered: false,
        }
    }

    /// The same load with other threads or streams.
    #[must_use]
    pub const fn on(self, parallel: Parallel) -> Self {
        Self { parallel, ..self }
    }

    /// The same load of which so many I/Os of 100 write.
    #[must_use]
    pub const fn writing(self, percent: u8) -> Self {
        Self { write_percent: percent, ..self }
    }

    /// Whether it writes.
    pub const fn writes(&self) -> bool {
        self.write_percent > 0
    }

    /// The I/Os in flight over all threads and streams.
    pub fn total_depth(&self) -> u64 {
        u64::from(self.queue_depth) * u64::from(self.parallel.count())
    }

    /// The same with one I/O in flight.
    #[must_use]
    pub fn one_at_a_time(&self) -> Self {
        Self { queue_depth: 1, parallel: Parallel::Threads(1), ..self.clone() }
    }

    /// `read`, `write` or `70:30` (reads and writes).
    pub fn direction(&self) -> String {
        match self.write_percent {
            0 => "read".to_owned(),
            100.. => "write".to_owned(),
            writes => format!("{}:{writes}", 100 - writes),
        }
    }

    /// The way CrystalDiskMark and KDiskMark write a test: `SEQ1M Q8T1`, `RND4K Q32T16`.
    pub fn mark(&self) -> String {
        let order = match self.pattern {
            Pattern::Sequential => "SEQ",
            Pattern::Random => "RND",
        };
        let size: String = human::block_size(self.block_size)
            .trim_end_matches("iB")
            .chars()
            .filter(|c| !c.is_whitespace())
            .collect();
        format!("{order}{size} Q{}T{}", self.queue_depth, self.parallel.count())
    }
}

impl Test {
    /// A test named after its load.
    fn of(load: LoadSpec) -> Self {
        Self { name: format!("{} {}", load.mark(), load.direction()), work: Work::Load(load) }
    }

    /// The least target that it can be run on: a block for each I/O in flight, or one sample.
    pub fn least_size(&self) -> Bytes {
        match &self.work {
            Work::Load(load) => Bytes::new(load.total_depth().saturating_mul(load.block_size.get())),
            Work::Scan(plan) => plan.sample_size,
        }
    }

    /// Whether it writes.
    pub const fn writes(&self) -> bool {
        matches!(&self.work, Work::Load(load) if load.writes())
    }
}

type Named = (&'static str, fn() -> Preset);

/// The name of each preset, and what makes it: a command line is read by the names alone.
const PRESETS: [Named; 9] = [
    ("kdiskmark", desktop::kdiskmark),
    ("kdiskmark-nvme", desktop::kdiskmark_nvme),
    ("peak", desktop::peak),
    ("real", desktop::real),
    ("disks", survey::disks),
    ("hdparm", survey::hdparm),
    ("iozone", server::iozone),
    ("diskspd", server::diskspd),
    ("steady", server::steady),
];

/// Every preset, in the order in which `--list` shows them.
pub fn all() -> Vec<Preset> {
    PRESETS.iter().map(|(_, preset)| preset()).collect()
}

/// The names of all presets, in the same order.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}

/// The preset of that name.
pub fn by_name(name: &str) -> Option<Preset> {
    PRESETS.iter().find(|(known, _)| *known == name).map(|(_, preset)| preset())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn marks(name: &str) -> Vec<String> {
        by_name(name).unwrap().tests.into_iter().map(|test| test.name).collect()
    }

    #[test]
    fn a_preset_has_the_name_that_it_is_found_by() {
        assert!(all().iter().map(|preset| preset.name).eq(names()));
    }

    #[test]
    fn the_tests_of_kdiskmark_are_those_of_its_settings() {
        // KDiskMark e78d3c7, src/appsettings.cpp: standardPreset and nvmePreset; reads first, then writes.
        assert_eq!(
            marks("kdiskmark"),
            [
                "SEQ1M Q8T1 read",
                "SEQ1M Q1T1 read",
                "RND4K Q32T1 read",
                "RND4K Q1T1 read",
                "SEQ1M Q8T1 write",
                "SEQ1M Q1T1 write",
                "RND4K Q32T1 write",
                "RND4K Q1T1 write"
            ]
        );
        assert_eq!(
            marks("kdiskmark-nvme")[..4],
            ["SEQ1M Q8T1 read", "SEQ128K Q32T1 read", "RND4K Q32T16 read", "RND4K Q1T1 read"]
        );
    }

    #[test]
    fn names_and_tests_are_distinct_and_every_preset_says_where_it_is_from() {
        let presets = all();
        let names: BTreeSet<&str> = presets.iter().map(|preset| preset.name).collect();
        assert_eq!(names.len(), presets.len());
        for preset in &presets {
            let tests: BTreeSet<&str> = preset.tests.iter().map(|test| test.name.as_str()).collect();
            assert_eq!(tests.len(), preset.tests.len(), "{}", preset.name);
            for text in [preset.about, preset.source, preset.differs] {
                assert!(text.len() > 10 && !text.contains('\n'), "{}: {text:?}", preset.name);
            }
        }
    }

    #[test]
    fn every_load_fits_the_engine_and_the_scratch_file() {
        for preset in all() {
            for test in &preset.tests {
                let Work::Load(load) = &test.work else { continue };
                assert!(load.write_percent <= 100 && load.queue_depth > 0 && load.parallel.count() > 0);
                let in_flight = load.total_depth() * load.block_size.get();
                assert!(in_flight <= 1 << 30, "{}: {}: {in_flight} bytes in flight", preset.name, test.name);
                assert!(in_flight <= preset.size.get(), "{}: {}", preset.name, test.name);
            }
        }
    }

    #[test]
    fn every_preset_can_do_something_without_writing() {
        assert!(all().iter().all(|preset| preset.tests.iter().any(|test| !test.writes())));
    }
}
