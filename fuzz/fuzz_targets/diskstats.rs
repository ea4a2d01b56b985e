//! The counters of `/proc`, and what is derived from two samples of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::machine::activity::{Activity, Sample, parse_cpus, parse_diskstats, parse_nics, parse_thread};
use narrows::units::Nanos;

fn sample(text: &str, at: u64) -> Sample {
    Sample {
        at: Nanos::new(at),
        disks: parse_diskstats(text),
        cpus: parse_cpus(text),
        threads: text.lines().filter_map(parse_thread).zip(0..).map(|(thread, id)| (id, thread)).collect(),
        nics: parse_nics(text),
        ..Sample::default()
    }
}

fuzz_target!(|input: (&str, &str, u64)| {
    let (before, after, elapsed) = input;
    let activity = Activity::between(&sample(before, 0), &sample(after, elapsed));
    for disk in activity.disks.values() {
        assert!((0.0..=1.0).contains(&disk.busy) && disk.in_flight >= 0.0);
    }
    assert!(activity.cpus.values().all(|busy| (0.0..=1.0).contains(busy)));
});
