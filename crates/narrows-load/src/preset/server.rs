//! What people run on servers: IOzone's streams, DISKSPD's block sizes, SNIA's steady state.

use super::{LoadSpec, Parallel, Preset, StopRule, Test};
use crate::measurement::Pattern::{Random, Sequential};
use narrows_base::units::Bytes;
use narrows_base::units::peers::Peer;

/// IOzone's throughput mode, N processes on N files.
pub(super) fn iozone() -> Preset {
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
pub(super) fn diskspd() -> Preset {
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
pub(super) fn steady() -> Preset {
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
