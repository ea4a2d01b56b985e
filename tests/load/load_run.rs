//! Runs of the load engine on real files: what is counted, how it ends, and what it says when things go wrong.

#![expect(clippy::disallowed_methods, clippy::expect_used, reason = "tests make files and may panic")]

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use narrows::load::measurement::{Access, Measurement, Pattern, Workload};
use narrows::load::{Control, EngineChoice, LoadError, Phase, Reap, Region, RunOptions, Target, run};
use narrows::units::{Bytes, Nanos};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{Signal, raise};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

use super::{alone, any, is_alone, long_enough};

const ENGINES: [EngineChoice; 2] = [EngineChoice::Auto, EngineChoice::Psync];

fn workload(pattern: Pattern, kib: u64, queue_depth: u32, millis: u64) -> Workload {
    Workload::read(pattern, Bytes::from_kib(kib), queue_depth, Nanos::from_millis(millis))
}

fn options(engine: EngineChoice) -> RunOptions {
    RunOptions { engine, seed: 1, ..RunOptions::default() }
}

/// A file of `mib` MiB in the temporary directory.
fn file(mib: usize) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(&vec![0xa5; mib << 20]).expect("room for it");
    file.as_file().sync_all().expect("it is written");
    file
}

fn measure(target: &Target, workload: &Workload, options: &RunOptions) -> Measurement {
    long_enough(target, workload, options, any)
}

/// What must hold of any complete run.
fn check_books(measurement: &Measurement) {
    let block = measurement.workload.block_size.get();
    assert_eq!(measurement.bytes.get(), measurement.latency.count * block, "each block is recorded once");
    assert!(measurement.latency.count > 0);
    assert_eq!((measurement.errors, &measurement.first_error, &measurement.cut_short), (0, &None, &None));
    let latency = &measurement.latency;
    let known = latency.percentiles().into_iter().filter_map(|(_, value)| value);
    let steps: Vec<Nanos> =
        std::iter::once(latency.min).chain(known).chain(std::iter::once(latency.max)).collect();
    assert!(steps.is_sorted(), "{latency:?}");
    assert!(latency.min <= latency.mean && latency.mean <= latency.max);
    assert_eq!(latency.slowest.first().map(|slow| slow.latency_ns), Some(latency.max));
    let rate = measurement.bytes.as_f64() / measurement.elapsed_ns.as_secs_f64();
    assert!((measurement.bytes_per_second.get() / rate - 1.0).abs() < 1e-9);
    let buckets = measurement.workload.duration_ns.get() / 100_000_000;
    assert_eq!(measurement.series.len() as u64, buckets, "one value for each whole 100 ms");
    let elapsed = measurement.elapsed_ns.get() as f64;
    let asked = measurement.workload.duration_ns.get() as f64;
    assert!((elapsed / asked - 1.0).abs() < 0.005, "measured {elapsed} ns of {asked}");
}

#[test]
fn the_books_balance_for_every_pattern_engine_and_way_to_reap() {
    let file = file(16);
    let target = Target::open_file_read(file.path()).expect("it opens");
    for engine in ENGINES {
        for pattern in [Pattern::Sequential, Pattern::Random] {
            for reap in [Reap::AsTheyArrive, Reap::Batch(4)] {
                let options = RunOptions { reap, warm_up: Nanos::from_millis(20), ..options(engine) };
                let measurement = measure(&target, &workload(pattern, 64, 8, 250), &options);
                check_books(&measurement);
                assert_eq!(measurement.access, target.access());
                assert_eq!(measurement.region, Bytes::from_mib(16));
                assert!(measurement.generator.mean_in_flight > 0.0);
                assert_eq!(measurement.generator.queue_depth, 8);
            }
        }
    }
}

#[test]
fn what_is_in_the_cache_is_read_through_it_on_request() {
    let file = file(4);
    let target = Target::open_file_cached(file.path()).expect("it opens");
    let measurement = measure(&target, &workload(Pattern::Random, 4, 16, 100), &options(EngineChoice::Auto));
    check_books(&measurement);
    assert_eq!(measurement.access, Access::Buffered);
    // Buffered access has no block to be aligned to.
    let odd = Workload { block_size: Bytes::new(1000), ..workload(Pattern::Random, 1, 2, 100) };
    check_books(&measure(&target, &odd, &options(EngineChoice::Psync)));
}

#[test]
fn several_workers_share_the_region() {
    let file = file(16);
    let target = Target::open_file_read(file.path()).expect("it opens");
    for engine in ENGINES {
        let options = RunOptions { workers: 3, ..options(engine) };
        let measurement = measure(&target, &workload(Pattern::Sequential, 128, 2, 100), &options);
        check_books(&measurement);
        assert_eq!(measurement.generator.queue_depth, 6);
    }
}

#[test]
fn without_io_uring_up_to_sixteen_threads_make_the_queue() {
    let file = file(4);
    let target = Target::open_file_read(file.path()).expect("it opens");
    let measurement = measure(&target, &workload(Pattern::Random, 4, 64, 100), &options(EngineChoice::Psync));
    check_books(&measurement);
    let generator = measurement.generator;
    assert_eq!((generator.threads, generator.queue_depth), (16, 16), "the depth that was had is said");
    assert_eq!(generator.engine.to_string(), "psync (16 threads)");
}

#[test]
fn workers_are_pinned_where_the_kernel_lets_them() {
    let file = file(4);
    let target = Target::open_file_read(file.path()).expect("it opens");
    let options = RunOptions { cpus: vec![0, 1_000_000], workers: 2, ..options(EngineChoice::Auto) };
    let measurement = measure(&target, &workload(Pattern::Random, 4, 4, 100), &options);
    check_books(&measurement);
    assert!(!measurement.generator.pinned_to.contains(&1_000_000));
}

#[test]
fn a_part_of_the_file_can_be_read() {
    let file = file(8);
    let region = Region { start: Bytes::from_mib(4), length: Bytes::from_mib(2) };
    let target = Target::open_file_read(file.path()).expect("it opens").with_region(region);
    let measurement = measure(&target, &workload(Pattern::Random, 16, 4, 100), &options(EngineChoice::Auto));
    check_books(&measurement);
    assert_eq!(measurement.region, Bytes::from_mib(2));
    let inside = |offset: Bytes| (4 << 20..6 << 20).contains(&offset.get());
    assert!(measurement.latency.slowest.iter().all(|slow| inside(slow.offset)));
}

#[test]
fn a_watcher_sees_the_phases_and_the_progress() {
    let file = file(4);
    let target = Target::open_file_cached(file.path()).expect("it opens");
    let control = Control::default();
    let options = RunOptions { warm_up: Nanos::from_millis(30), ..options(EngineChoice::Auto) };
    let workload = workload(Pattern::Random, 4, 4, 200);
    assert_eq!(control.phase(), Phase::SettingUp);
    let measurement = thread::scope(|scope| {
        let watcher = scope.spawn(|| (control.wait_for(Phase::Measuring), control.wait_for(Phase::Done)));
        let measurement = run(&target, &workload, &options, &control).expect("the run begins");
        assert_eq!(watcher.join().expect("the watcher ends"), (Phase::Measuring, Phase::Done));
        measurement
    });
    assert_eq!(control.bytes_done(), measurement.bytes);
}

#[test]
fn a_signal_ends_the_run_with_what_it_has() {
    let file = file(4);
    let target = Target::open_file_read(file.path()).expect("it opens");
    let flag = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGUSR1, flag.clone()).expect("a handler");
    for engine in ENGINES {
        flag.store(false, Ordering::Relaxed);
        let control = Control::with_stop(flag.clone());
        let measurement = thread::scope(|scope| {
            scope.spawn(|| {
                control.wait_for(Phase::Measuring);
                while control.bytes_done().get() == 0 {
                    thread::yield_now();
                }
                raise(Signal::SIGUSR1).expect("the signal is sent");
            });
            run(&target, &workload(Pattern::Random, 4, 4, 600_000), &options(engine), &control)
                .expect("the run begins")
        });
        assert_eq!(measurement.cut_short.as_deref(), Some("interrupted"));
        assert!(measurement.bytes.get() > 0);
        assert!(measurement.elapsed_ns < measurement.workload.duration_ns);
        let whole_buckets = measurement.elapsed_ns.get() / 100_000_000;
        assert!((measurement.series.len() as u64).abs_diff(whole_buckets) <= 1);
    }
}

#[test]
fn a_run_that_is_stopped_before_it_measures_has_nothing() {
    let file = file(4);
    let target = Target::open_file_read(file.path()).expect("it opens");
    let control = Control::default();
    control.stop();
    let options = RunOptions { warm_up: Nanos::from_millis(10_000), ..options(EngineChoice::Auto) };
    let measurement =
        run(&target, &workload(Pattern::Random, 4, 4, 1000), &options, &control).expect("it begins");
    assert_eq!((measurement.bytes, measurement.elapsed_ns), (Bytes::new(0), Nanos::new(0)));
    assert_eq!(measurement.bytes_per_second.get(), 0.0);
    assert_eq!((measurement.ci95, measurement.series.len()), (None, 0));
    assert_eq!(measurement.cut_short.as_deref(), Some("interrupted"));
}

#[test]
fn a_file_that_shrinks_under_the_run_ends_it_with_the_place_of_the_failure() {
    for directory in [std::env::temp_dir().as_path(), Path::new("/dev/shm")] {
        for engine in ENGINES {
            let mut file = match tempfile::NamedTempFile::new_in(directory) {
                Ok(file) => file,
                Err(error) => {
                    println!("skipped: no file in {}: {error}", directory.display());
                    continue;
                }
            };
            file.write_all(&vec![1; 4 << 20]).expect("room");
            let target = Target::open_file_read(file.path()).expect("it opens");
            let control = Control::default();
            let measurement = thread::scope(|scope| {
                scope.spawn(|| {
                    control.wait_for(Phase::Measuring);
                    file.as_file().set_len(0).expect("it shrinks");
                });
                run(&target, &workload(Pattern::Random, 4, 4, 600_000), &options(engine), &control)
                    .expect("the run begins")
            });
            assert!(measurement.errors >= 16, "{} errors", measurement.errors);
            let why = measurement.cut_short.expect("it was cut short");
            // Those that end together with the sixteenth are counted as well.
            let in_a_row = why
                .strip_prefix("the target failed: ")
                .and_then(|rest| rest.split_once(" errors in a row, the last: read of 4096 bytes"))
                .and_then(|(count, _)| count.parse::<u32>().ok());
            assert!(in_a_row.is_some_and(|count| (16..16 + 4).contains(&count)), "{why}");
            let first = measurement.first_error.expect("an error");
            assert!(first.ends_with("only 0 bytes came back"), "{first}");
            assert_eq!(measurement.bytes.get(), measurement.latency.count * 4096);
        }
    }
}

#[test]
fn a_workload_that_does_not_fit_is_refused_in_words() {
    let file = file(1);
    let target = Target::open_file_cached(file.path()).expect("it opens");
    let refused = |workload: &Workload| {
        let control = Control::default();
        let refusal = run(&target, workload, &RunOptions::default(), &control).expect_err("it is refused");
        assert_eq!(control.wait_for(Phase::Done), Phase::Done, "nobody waits for it");
        refusal
    };
    assert!(matches!(refused(&workload(Pattern::Random, 2048, 1, 100)), LoadError::TooSmall { .. }));
    assert!(matches!(refused(&workload(Pattern::Random, 0, 1, 100)), LoadError::Workload(_)));
    assert!(matches!(refused(&workload(Pattern::Random, 4, 0, 100)), LoadError::Workload(_)));
    assert!(matches!(refused(&workload(Pattern::Random, 4, 100_000, 100)), LoadError::Workload(_)));
    assert!(matches!(
        refused(&workload(Pattern::Random, 4, 1, u64::MAX / 1_000_000)),
        LoadError::Workload(_)
    ));
    let huge = refused(&workload(Pattern::Random, 1 << 30, 2, 100)).to_string();
    assert_eq!(huge, "block size times queue depth is above the limit of 1 GiB for buffers");
}

#[test]
fn a_block_that_direct_access_cannot_read_is_refused() {
    let file = file(1);
    let target = Target::open_file_read(file.path()).expect("it opens");
    if target.access() == Access::Buffered {
        println!("skipped: no direct access in {}", std::env::temp_dir().display());
        return;
    }
    let odd = Workload { block_size: Bytes::new(1000), ..workload(Pattern::Random, 1, 1, 100) };
    let refusal = run(&target, &odd, &RunOptions::default(), &Control::default()).expect_err("it is refused");
    assert!(refusal.to_string().starts_with("the block size 1000 B is no multiple of"), "{refusal}");
}

/// What a run of `engine` on `target` ends with.
fn outcome(target: &Target, engine: EngineChoice) -> Result<Measurement, LoadError> {
    run(target, &workload(Pattern::Random, 4, 4, 100), &options(engine), &Control::default())
}

/// Makes the kernel refuse every ring to this thread and to those that it starts, as a container's seccomp profile does.
fn refuse_rings() {
    let refused = [(nix::libc::SYS_io_uring_setup, Vec::new())].into_iter().collect();
    let architecture = std::env::consts::ARCH.try_into().expect("seccomp knows this processor");
    let deny = SeccompAction::Errno(nix::libc::EPERM as u32);
    let filter = SeccompFilter::new(refused, SeccompAction::Allow, deny, architecture).expect("a filter");
    let program: BpfProgram = filter.try_into().expect("a program");
    seccompiler::apply_filter(&program).expect("is applied");
}

/// Only in the child process of the test below.
#[test]
fn child_without_rings() {
    if !is_alone() {
        return;
    }
    let file = file(4);
    let target = Target::open_file_read(file.path()).expect("it opens");
    refuse_rings();
    let forced = outcome(&target, EngineChoice::IoUring);
    assert!(matches!(forced, Err(LoadError::NoRing(_))), "{forced:?}");
    let measurement = measure(&target, &workload(Pattern::Random, 4, 4, 100), &options(EngineChoice::Auto));
    check_books(&measurement);
    let engine = measurement.generator.engine.to_string();
    assert!(engine.starts_with("psync (4 threads; the kernel refused io_uring: "), "{engine}");
}

#[test]
fn where_the_kernel_refuses_a_ring_the_run_goes_on_without_and_says_so() {
    alone("load_run::child_without_rings");
}

/// Only in the child process of the test below.
#[test]
fn child_without_descriptors() {
    if !is_alone() {
        return;
    }
    let file = file(4);
    let target = Target::open_file_read(file.path()).expect("it opens");
    let next = std::os::fd::AsRawFd::as_raw_fd(&File::open("/dev/null").expect("a descriptor"));
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("the limit");
    let next = u64::try_from(next).expect("is no error");
    setrlimit(Resource::RLIMIT_NOFILE, next, hard).expect("a lower limit");
    for engine in [EngineChoice::IoUring, EngineChoice::Auto] {
        let refused = outcome(&target, engine);
        assert!(matches!(refused, Err(LoadError::Descriptors(limit)) if limit == next), "{refused:?}");
    }
}

#[test]
fn a_limit_on_open_files_is_named_and_changes_no_engine() {
    alone("load_run::child_without_descriptors");
}

#[test]
fn a_run_leaves_the_file_as_it_was() {
    let file = file(4);
    let before = fs::read(file.path()).expect("it is readable");
    let target = Target::open_file_read(file.path()).expect("it opens");
    measure(&target, &workload(Pattern::Sequential, 64, 8, 100), &options(EngineChoice::Auto));
    assert!(before == fs::read(file.path()).expect("it is readable"));
}

#[test]
fn a_run_that_is_finished_has_what_it_measured_and_is_not_cut_short() {
    let file = file(4);
    let target = Target::open_file_cached(file.path()).expect("it opens");
    for workers in [1, 2] {
        let control = Control::default();
        let workload = workload(Pattern::Random, 64, 4, 60_000);
        let options = RunOptions { workers, ..options(EngineChoice::Auto) };
        let measurement = thread::scope(|scope| {
            let running = scope.spawn(|| run(&target, &workload, &options, &control).expect("it begins"));
            control.wait_for(Phase::Measuring);
            // The last tenth of a second is not whole: of three seconds it is little.
            thread::sleep(Duration::from_secs(3));
            control.finish();
            running.join().expect("it ends")
        });
        assert_eq!(measurement.cut_short, None, "it was not interrupted");
        assert!(measurement.elapsed_ns < workload.duration_ns, "{:?}", measurement.elapsed_ns);
        assert!(measurement.series.len() >= 20, "{} samples", measurement.series.len());
        assert_eq!(measurement.bytes.get(), measurement.latency.count * 65_536);
        let told: f64 = control.series().iter().map(|rate| rate.get() / 10.0).sum();
        assert!((told / measurement.bytes.as_f64() - 1.0).abs() < 0.1, "the watcher saw {told} bytes");
    }
}

#[test]
fn a_run_that_is_finished_while_it_warms_up_measures_nothing_and_is_not_cut_short() {
    let file = file(4);
    let target = Target::open_file_cached(file.path()).expect("it opens");
    let control = Control::default();
    control.finish();
    let measurement =
        run(&target, &workload(Pattern::Random, 4, 1, 60_000), &options(EngineChoice::Auto), &control)
            .expect("it begins");
    assert_eq!(measurement.cut_short, None);
    assert!(measurement.elapsed_ns < Nanos::from_millis(60_000));
}
