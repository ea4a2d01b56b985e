//! What people run at home: KDiskMark's profiles, and a mix closer to what their machines do.

use super::{LoadSpec, Parallel, Preset, StopRule, Test};
use crate::measurement::Pattern::{Random, Sequential};
use narrows_base::units::Bytes;
use narrows_base::units::peers::Peer;

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
pub(super) fn kdiskmark() -> Preset {
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
pub(super) fn kdiskmark_nvme() -> Preset {
    Preset {
        name: "kdiskmark-nvme",
        about: "KDiskMark's tests for NVMe drives: deeper queues and 16 threads of random 4 KiB",
        source: "KDiskMark e78d3c7, src/appsettings.cpp, nvmePreset",
        differs: STOPS,
        peer: Peer::KDiskMark,
        size: FILE,
        stop: StopRule::Precision,
        tests: both_ways(&[
            sequential(MIB, 8),
            sequential(Bytes::from_kib(128), 32),
            random(4, 32).on(Parallel::Threads(16)),
            random(4, 1),
        ]),
    }
}

/// KDiskMark, profile "Peak Performance".
pub(super) fn peak() -> Preset {
    Preset {
        name: "peak",
        about: "the numbers on the box: sequential 1 MiB at depth 8, and random 4 KiB at depth 32 with 16 threads",
        source: "KDiskMark e78d3c7, profile Peak Performance with the NVMe preset",
        differs: STOPS,
        peer: Peer::KDiskMark,
        size: FILE,
        stop: StopRule::Precision,
        tests: both_ways(&[sequential(MIB, 8), random(4, 32).on(Parallel::Threads(16))]),
    }
}

/// What machines of people do: few I/Os at a time, more reads than writes, 4 to 64 KiB.
pub(super) fn real() -> Preset {
    Preset {
        name: "real",
        about: "what desktops do: shallow queues, random 4 to 64 KiB at 70 % reads, and large files one at a time",
        source: "KDiskMark e78d3c7, profile Real World Performance (SEQ1M and RND4K at Q1T1) and its 70:30 mix; block \
                 sizes of 0.5 to 64 KiB at 65 % reads in SNIA's Reference Real World Workload \"Retail Web Portal\" \
                 (snia.org/node/182); queue depths of 1 to 2 in traces of client drives (PC Perspective, Intel 660p \
                 review, 2018, page 6)",
        differs: "one block size after another, so that each has its own rate and latencies; stops when the rate is \
                  known within --precision",
        peer: Peer::KDiskMark,
        size: FILE,
        stop: StopRule::Precision,
        tests: vec![
            with(&sequential(MIB, 1), 0),
            with(&random(4, 1), 0),
            with(&random(4, 2), 30),
            with(&random(16, 2), 30),
            with(&random(64, 2), 30),
            with(&random(4, 1), 100),
            with(&sequential(MIB, 1), 100),
        ],
    }
}
