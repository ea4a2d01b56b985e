//! Presets: what well-known benchmarks ask of a drive, as data.
//!
//! A preset is a list of tests with the source it is modelled on. What differs from the original on purpose is said
//! in [`Preset::differs`]; above all the originals run for a fixed time, and narrows runs until the rate is known well
//! enough. Nothing here opens a file: `cli/measure` runs the tests, [`job`] writes them down for fio.

pub mod job;

use serde::{Deserialize, Serialize};

use crate::measurement::Pattern::{self, Random, Sequential};
use crate::scan::ScanPlan;
use narrows_base::units::peers::Peer;
use narrows_base::units::{Bytes, human};

/// A list of tests that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    /// What is typed after `--as`.
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
    /// These loads, a test each, all until their rate is known: a sweep under the name that is typed for it.
    pub fn sweep(name: &'static str, loads: impl IntoIterator<Item = LoadSpec>) -> Self {
        Self {
            name,
            about: "a test for each block size, queue depth, mix and number of streams that is asked for",
            source: "Jain, The Art of Computer Systems Performance Analysis, 1991, section 3.3: knee and usable capacity",
            differs: "a knee is said only where the intervals of the rates carry it",
            peer: Peer::None,
            size: FILE,
            stop: StopRule::Precision,
            tests: loads.into_iter().map(Test::of).collect(),
        }
    }

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

    /// What is in flight at once.
    pub fn in_flight(&self) -> Bytes {
        Bytes::new(self.total_depth().saturating_mul(self.block_size.get()))
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
        let size = human::block_size(self.block_size);
        let size = size.trim_end_matches("iB").replace(char::is_whitespace, "");
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
            Work::Load(load) => load.in_flight(),
            Work::Scan(plan) => plan.sample_size,
        }
    }

    /// Whether it writes.
    pub const fn writes(&self) -> bool {
        matches!(&self.work, Work::Load(load) if load.writes())
    }
}

/// Every preset, in the order in which `--as list` shows them.
pub fn all() -> Vec<Preset> {
    vec![kdiskmark(), kdiskmark_nvme(), peak(), real(), disks(), hdparm(), iozone(), diskspd(), steady()]
}

/// The names of all presets, in the same order.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().into_iter().map(|preset| preset.name)
}

/// The preset of that name.
pub fn by_name(name: &str) -> Option<Preset> {
    all().into_iter().find(|preset| preset.name == name)
}

const MIB: Bytes = Bytes::from_mib(1);
/// KDiskMark's file by default, `src/appsettings.cpp`.
const FILE: Bytes = Bytes::from_mib(1024);
const STOPS: &str = "5 loops of 5 s with 5 s between them are replaced by one run that stops when the rate is known \
                     within --precision; io_uring instead of libaio; the mean, never the best loop; without --size, \
                     a slow drive has a smaller file: what 2 s write, an eighth at least";

const fn random(kib: u64, depth: u32) -> LoadSpec {
    LoadSpec::reading(Random, Bytes::from_kib(kib), depth)
}

const fn sequential(block_size: Bytes, depth: u32) -> LoadSpec {
    LoadSpec::reading(Sequential, block_size, depth)
}

/// All tests reading, then all writing, as KDiskMark runs them.
fn both_ways(loads: &[LoadSpec]) -> Vec<Test> {
    [0, 100].into_iter().flat_map(|percent| loads.iter().map(move |load| with(load, percent))).collect()
}

fn with(load: &LoadSpec, percent: u8) -> Test {
    Test::of(load.clone().writing(percent))
}

/// KDiskMark, preset "Standard".
fn kdiskmark() -> Preset {
    Preset {
        name: "kdiskmark",
        about: "KDiskMark's and CrystalDiskMark's default tests: sequential 1 MiB and random 4 KiB, reads and writes",
        source: "KDiskMark e78d3c7, src/appsettings.cpp, standardPreset; CrystalDiskMark 8 default",
        differs: STOPS,
        peer: Peer::KDiskMark,
        size: FILE,
        stop: StopRule::Precision,
        tests: both_ways(&[sequential(MIB, 8), sequential(MIB, 1), random(4, 32), random(4, 1)]),
    }
}

/// KDiskMark, preset "NVMe SSD".
fn kdiskmark_nvme() -> Preset {
    Preset {
        name: "kdiskmark-nvme",
        about: "KDiskMark's tests for NVMe drives: deeper queues and 16 threads of random 4 KiB",
        source: "KDiskMark e78d3c7, src/appsettings.cpp, nvmePreset",
        tests: both_ways(&[
            sequential(MIB, 8),
            sequential(Bytes::from_kib(128), 32),
            random(4, 32).on(Parallel::Threads(16)),
            random(4, 1),
        ]),
        ..kdiskmark()
    }
}

/// KDiskMark, profile "Peak Performance".
fn peak() -> Preset {
    Preset {
        name: "peak",
        about: "the numbers on the box: sequential 1 MiB at depth 8, and random 4 KiB at depth 32 with 16 threads",
        source: "KDiskMark e78d3c7, profile Peak Performance with the NVMe preset",
        tests: both_ways(&[sequential(MIB, 8), random(4, 32).on(Parallel::Threads(16))]),
        ..kdiskmark()
    }
}

/// What machines of people do: few I/Os at a time, more reads than writes, 4 to 64 KiB.
fn real() -> Preset {
    Preset {
        name: "real",
        about: "what desktops do: shallow queues, random 4 to 64 KiB at 70 % reads, and large files one at a time",
        source: "KDiskMark e78d3c7, profile Real World Performance (SEQ1M and RND4K at Q1T1) and its 70:30 mix; block \
                 sizes of 0.5 to 64 KiB at 65 % reads in SNIA's Reference Real World Workload \"Retail Web Portal\" \
                 (snia.org/node/182); queue depths of 1 to 2 in traces of client drives (PC Perspective, Intel 660p \
                 review, 2018, page 6)",
        differs: "one block size after another, so that each has its own rate and latencies; stops when the rate is \
                  known within --precision",
        tests: vec![
            with(&sequential(MIB, 1), 0),
            with(&random(4, 1), 0),
            with(&random(4, 2), 30),
            with(&random(16, 2), 30),
            with(&random(64, 2), 30),
            with(&random(4, 1), 100),
            with(&sequential(MIB, 1), 100),
        ],
        ..kdiskmark()
    }
}

/// IOzone's throughput mode, N processes on N files.
fn iozone() -> Preset {
    let record = Bytes::from_kib(128);
    let streams = |percent| {
        (0..=10).map(move |power| {
            let load = LoadSpec::reading(Sequential, record, 1).on(Parallel::Streams(1 << power));
            Test::of(load.writing(percent))
        })
    };
    Preset {
        name: "iozone",
        about: "IOzone's throughput test: 1, 2, 4 … 1024 sequential streams, each in its own part of the target",
        source: "IOzone 3, option -t with -i 0 -i 1 -r 128k -I",
        differs: "the streams are parts of one file instead of a file each; all run for the whole time, so no \
                  straggler ends the count; the rate is that of all streams together",
        peer: Peer::Iozone,
        size: Bytes::from_mib(4096),
        stop: StopRule::Precision,
        tests: streams(0).chain(streams(100)).collect(),
    }
}

/// DISKSPD's block sizes and mixes, as VMFleet runs them.
fn diskspd() -> Preset {
    let mixes = [0, 100, 30];
    let sizes = [4, 8, 16, 32, 64, 128, 256, 512];
    let load = |kib, percent| LoadSpec::reading(Random, Bytes::from_kib(kib), 32).writing(percent);
    Preset {
        name: "diskspd",
        about: "random I/O of 4 to 512 KiB at depth 32: reads, writes and 70:30",
        source: "DISKSPD 2.2 -b4K … -b512K -o32 -r -w0, -w100, -w30 -Sh, the matrix of VMFleet on Storage Spaces Direct",
        differs: "stops when the rate is known within --precision instead of after 60 s; write data is random, not \
                  the repeated byte pattern of DISKSPD's default",
        peer: Peer::Diskspd,
        size: Bytes::from_mib(4096),
        stop: StopRule::Precision,
        tests: mixes.iter().flat_map(|mix| sizes.map(|kib| Test::of(load(kib, *mix)))).collect(),
    }
}

/// Rounds until the rate is steady.
fn steady() -> Preset {
    let kib = Bytes::from_kib;
    Preset {
        name: "steady",
        about: "SNIA-style rounds: random 4 KiB and sequential 128 KiB until five rounds agree, however long that takes",
        source: "SNIA Solid State Storage Performance Test Specification 2.0.2, 2.1.24 and section 7 (IOPS), 8 \
                 (throughput): five rounds within 20 % of their mean, drifting by at most 10 %",
        differs: "rounds of --duration (10 s) instead of 60 s, at most 25; a scratch file instead of a purged and \
                  preconditioned drive, so a drive with much spare room looks better here than in SNIA's test",
        peer: Peer::None,
        size: Bytes::from_mib(4096),
        stop: StopRule::SteadyRounds(10),
        tests: vec![
            Test::of(LoadSpec::reading(Random, kib(4), 32)),
            Test::of(LoadSpec::reading(Random, kib(4), 32).writing(35)),
            Test::of(LoadSpec::reading(Random, kib(4), 32).writing(100)),
            Test::of(LoadSpec::reading(Sequential, kib(128), 32)),
            Test::of(LoadSpec::reading(Sequential, kib(128), 32).writing(100)),
        ],
    }
}

/// GNOME Disks' benchmark.
fn disks() -> Preset {
    Preset {
        name: "disks",
        about: "GNOME Disks: 100 samples of 10 MiB spread over the target, and 1000 access times; rate by position",
        source: "gnome-disk-utility, src/disks/gdubenchmarkdialog.c: samples, sample size and access samples of its \
                 dialog",
        differs: "reads only (its write test reads blocks of the raw device and writes them back); the median and the \
                  slowest sample are shown beside the mean",
        peer: Peer::GnomeDisks,
        size: Bytes::from_mib(2048),
        stop: StopRule::Seconds(120),
        tests: vec![Test {
            name: "samples over the target".to_owned(),
            work: Work::Scan(ScanPlan::default()),
        }],
    }
}

/// `hdparm -t`, beside what the same drive does with a queue.
fn hdparm() -> Preset {
    let chunk = Bytes::from_mib(2);
    let with_cache = LoadSpec { buffered: true, ..LoadSpec::reading(Pattern::Sequential, chunk, 1) };
    let named = |name: &str, load| Test { name: name.to_owned(), work: Work::Load(load) };
    Preset {
        name: "hdparm",
        about: "what `hdparm -t` would say, 2 MiB reads through the page cache for 3 s, and what the drive can do",
        source: "hdparm 9.65, hdparm.c: TIMING_BUF_MB 2, time_device",
        differs: "two direct runs beside it tell what the page cache and a queue of one cost: hdparm reads through the \
                  page cache in one thread, so the kernel's read-ahead (read_ahead_kb) is all that keeps the drive \
                  busy, and each byte is copied once more",
        peer: Peer::Hdparm,
        size: Bytes::from_mib(4096),
        stop: StopRule::Seconds(3),
        tests: vec![
            named("hdparm -t", with_cache),
            named("hdparm -t --direct", LoadSpec::reading(Pattern::Sequential, chunk, 1)),
            named("with a queue of 8", LoadSpec::reading(Pattern::Sequential, chunk, 8)),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn marks(name: &str) -> Vec<String> {
        by_name(name).unwrap().tests.into_iter().map(|test| test.name).collect()
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
