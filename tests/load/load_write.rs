//! Runs that write: only to scratch files, counted apart from reads, with as many streams as asked.

#![expect(clippy::disallowed_methods, clippy::expect_used, reason = "tests look at files and may panic")]

use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;

use narrows::load::guard::Budget;
use narrows::load::measurement::{Measurement, OpTotals, Pattern, Workload};
use narrows::load::{Control, EngineChoice, LoadError, RunOptions, ScratchFile, ScratchOptions, Target, run};
use narrows::units::{Bytes, Nanos};

use super::{alone, any, is_alone, long_enough};

const ENGINES: [EngineChoice; 2] = [EngineChoice::Auto, EngineChoice::Psync];

fn scratch(mib: u64) -> Target {
    let options = ScratchOptions {
        reserve: Some(Bytes::new(0)),
        minimum: Bytes::from_mib(1),
        seed: 1,
        ..ScratchOptions::default()
    };
    let go = &mut |_, _| ControlFlow::Continue(());
    let directory = std::env::temp_dir();
    ScratchFile::create(&directory, Bytes::from_mib(mib), &options, go).expect("room for it").into_target()
}

fn mixed(pattern: Pattern, write_percent: u8, kib: u64, queue_depth: u32, millis: u64) -> Workload {
    let read = Workload::read(pattern, Bytes::from_kib(kib), queue_depth, Nanos::from_millis(millis));
    Workload { write_percent, ..read }
}

fn measure(target: &Target, workload: &Workload, options: &RunOptions) -> Measurement {
    measure_until(target, workload, options, any)
}

fn measure_until(
    target: &Target,
    workload: &Workload,
    options: &RunOptions,
    enough: impl Fn(&Measurement) -> bool,
) -> Measurement {
    let measurement = long_enough(target, workload, options, enough);
    assert_eq!((measurement.errors, &measurement.first_error), (0, &None));
    let Measurement { reads, writes, .. } = &measurement;
    assert_eq!(reads.count + writes.count, measurement.latency.count);
    assert_eq!(reads.bytes + writes.bytes, measurement.bytes);
    for part in [reads, writes] {
        assert_eq!(
            (part.count, part.bytes.get()),
            (part.latency.count, part.count * workload.block_size.get())
        );
    }
    measurement
}

/// Whether no such I/O was counted anywhere.
fn is_nothing(totals: &OpTotals) -> bool {
    let OpTotals { count, bytes, latency, .. } = totals;
    (*count, bytes.get(), latency.count, latency.max.get()) == (0, 0, 0, 0)
}

#[test]
fn reads_and_writes_are_counted_apart() {
    let target = scratch(16);
    for engine in ENGINES {
        for pattern in [Pattern::Sequential, Pattern::Random] {
            let options = RunOptions { engine, seed: 5, ..RunOptions::default() };
            let only_reads = measure(&target, &mixed(pattern, 0, 16, 4, 100), &options);
            assert!(is_nothing(&only_reads.writes), "{only_reads:?}");
            let only_writes = measure(&target, &mixed(pattern, 100, 16, 4, 100), &options);
            assert!(is_nothing(&only_writes.reads) && only_writes.writes.count > 0, "{only_writes:?}");
            let has_both = |run: &Measurement| run.reads.count > 0 && run.writes.count > 0;
            let both = measure_until(&target, &mixed(pattern, 30, 16, 4, 200), &options, has_both);
            assert!(has_both(&both), "{both:?}");
        }
    }
}

#[test]
fn what_is_no_scratch_file_is_never_written() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), vec![7; 1 << 20]).expect("room");
    let target = Target::open_file_read(file.path()).expect("it opens");
    for write_percent in [1, 100] {
        let workload = mixed(Pattern::Random, write_percent, 4, 1, 50);
        let refused = run(&target, &workload, &RunOptions::default(), &Control::default()).expect_err("no");
        assert!(matches!(refused, LoadError::NotOurs(_)), "{refused:?}");
        assert!(refused.hint().is_some());
    }
    assert!(fs::read(file.path()).expect("readable").iter().all(|byte| *byte == 7));
}

#[test]
fn more_than_all_writes_is_refused() {
    let workload = mixed(Pattern::Random, 101, 4, 1, 50);
    let refused = run(&scratch(1), &workload, &RunOptions::default(), &Control::default());
    assert!(matches!(refused, Err(LoadError::Workload(_))), "{refused:?}");
}

/// The memory of this process in MiB, at its highest so far (`VmHWM` of `/proc/self/status`, in KiB).
fn peak_mib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("its status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the line");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") / 1024
}

#[test]
fn a_thousand_streams_need_little_memory() {
    alone("load_write::child_of_a_thousand_streams");
}

/// Only in the child process of the test above: what other tests need would count.
#[test]
fn child_of_a_thousand_streams() {
    if !is_alone() {
        return;
    }
    let target = scratch(256);
    for (engine, write_percent) in
        [(EngineChoice::Auto, 0), (EngineChoice::Auto, 50), (EngineChoice::Psync, 0)]
    {
        let options = RunOptions { engine, streams: 1024, workers: 2, ..RunOptions::default() };
        let measurement =
            measure(&target, &mixed(Pattern::Sequential, write_percent, 128, 512, 300), &options);
        assert!(measurement.latency.count > 0);
    }
    let peak = peak_mib();
    assert!(peak < 400, "{peak} MiB");
}

#[test]
fn what_is_written_belongs_where_it_is_and_cannot_be_compressed() {
    for engine in ENGINES {
        for pattern in [Pattern::Sequential, Pattern::Random] {
            let target = scratch(4);
            let options = RunOptions { engine, workers: 2, streams: 3, ..RunOptions::default() };
            measure(&target, &mixed(pattern, 100, 16, 8, 100), &options);
            let data = fs::read(target.reopen_path()).expect("readable");
            let stamped: Vec<_> =
                data.chunks(4096).enumerate().filter(|(_, block)| block.starts_with(b"narrows1")).collect();
            assert!(!stamped.is_empty());
            for (index, block) in stamped {
                assert_eq!(block[16..24], (index as u64 * 4096).to_le_bytes(), "{engine:?} {pattern:?}");
                let zeros = block[64..].iter().filter(|byte| **byte == 0).count();
                assert!(zeros < 64, "{zeros} zeros");
            }
        }
    }
}

#[test]
fn no_engine_writes_more_than_the_budget() {
    for engine in ENGINES {
        let target = scratch(8);
        let budget = Arc::new(Budget::new(Bytes::from_kib(100)));
        let control = Control::default().with_budget(budget.clone());
        let options = RunOptions { engine, workers: 2, ..RunOptions::default() };
        let workload = mixed(Pattern::Random, 50, 4, 8, 60_000);
        let measurement = run(&target, &workload, &options, &control).expect("the run begins");
        // What was in flight when the budget was spent is written, but not counted.
        assert!((1..=25).contains(&measurement.writes.count), "{engine:?}");
        assert_eq!((budget.spent(), budget.is_exhausted()), (Bytes::from_kib(100), true), "{engine:?}");
        assert!(measurement.cut_short.is_some_and(|why| why.contains("--max-writes")));
        assert_eq!(measurement.failure, None);
    }
}
