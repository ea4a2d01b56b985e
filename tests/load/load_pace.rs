//! Runs that are held to a rate, and what every run says of itself.

#![expect(clippy::expect_used, reason = "tests may panic")]

use std::io::Write;

use narrows::load::measurement::{Measurement, Mode, Pattern, Workload};
use narrows::load::ran::EngineRan;
use narrows::load::{Control, EngineChoice, LoadError, Reap, RunOptions, Target, run};
use narrows::units::{Bytes, Nanos};

const ENGINES: [EngineChoice; 2] = [EngineChoice::Auto, EngineChoice::Psync];

fn target() -> Target {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(&vec![0xa5; 4 << 20]).expect("room for it");
    Target::open_file_cached(file.path()).expect("it opens")
}

fn read(millis: u64) -> Workload {
    Workload::read(Pattern::Random, Bytes::from_kib(4), 8, Nanos::from_millis(millis))
}

fn measure(target: &Target, workload: &Workload, options: &RunOptions) -> Measurement {
    let measurement = run(target, workload, options, &Control::default()).expect("the run begins");
    assert_eq!((measurement.errors, &measurement.cut_short), (0, &None));
    assert_eq!(measurement.checks.completed, measurement.checks.recorded);
    assert_eq!(measurement.checks.recorded, measurement.latency.count);
    measurement
}

#[test]
fn a_rate_is_never_exceeded() {
    let target = target();
    for engine in ENGINES {
        for workers in [1, 2] {
            let options = RunOptions { engine, workers, ..RunOptions::default() };
            let measurement = measure(&target, &Workload { paced_iops: Some(2000), ..read(500) }, &options);
            // A thousand in half a second; the last is sent when the time is over, and the first of each thread at once.
            let count = measurement.latency.count;
            assert!((1..=1000 + 32).contains(&count), "{count} I/Os");
            assert_eq!((measurement.mode, measurement.checks.little), (Mode::Paced { iops: 2000 }, None));
        }
    }
}

#[test]
fn at_a_rate_that_the_target_cannot_carry_the_wait_is_in_the_latency() {
    let target = target();
    let block = Bytes::from_mib(1);
    let workload = Workload { paced_iops: Some(100_000_000), block_size: block, queue_depth: 1, ..read(200) };
    let measurement = measure(&target, &workload, &RunOptions::default());
    assert!(measurement.latency.max > Nanos::from_millis(50), "{:?}", measurement.latency);
}

#[test]
fn the_mode_is_said_and_modes_are_not_mixed() {
    let target = target();
    let peak = RunOptions { reap: Reap::Batch(4), ..RunOptions::default() };
    assert_eq!(measure(&target, &read(100), &peak).mode, Mode::Peak);
    assert_eq!(measure(&target, &read(100), &RunOptions::default()).mode, Mode::Latency);
    let paced = Workload { paced_iops: Some(100), ..read(100) };
    for (workload, options) in
        [(paced.clone(), peak), (Workload { paced_iops: Some(0), ..paced }, RunOptions::default())]
    {
        let refused = run(&target, &workload, &options, &Control::default());
        assert!(matches!(refused, Err(LoadError::Workload(_))), "{refused:?}");
    }
}

#[test]
fn the_counts_of_a_run_agree() {
    let target = target();
    for engine in ENGINES {
        for reap in [Reap::AsTheyArrive, Reap::Batch(4)] {
            let options = RunOptions { engine, reap, measure_nop: true, ..RunOptions::default() };
            let measurement = measure(&target, &read(300), &options);
            let checks = &measurement.checks;
            let little = checks.little.expect("it is not paced");
            assert!((little - 1.0).abs() < 0.02, "Little's law: {little}");
            if matches!(measurement.generator.engine, EngineRan::IoUring(_)) {
                assert!(checks.nop_ns_per_io.is_some_and(|cost| cost > 0.0));
            }
        }
    }
}
