//! What says how fast a whole drive reads: GNOME Disks' samples and hdparm's three seconds.

use super::{LoadSpec, Preset, StopRule, Test, Work};
use crate::measurement::Pattern;
use crate::scan::ScanPlan;
use narrows_base::units::Bytes;
use narrows_base::units::peers::Peer;

/// GNOME Disks' benchmark.
pub(super) fn disks() -> Preset {
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
pub(super) fn hdparm() -> Preset {
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
