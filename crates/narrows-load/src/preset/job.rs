//! The tests of a preset as fio would run them: job file and command line.
//!
//! fio is told what narrows does: direct I/O through io_uring, threads instead of processes, random offsets without a
//! map of visited blocks, sequential threads each in a part of the file, incompressible data for every write. What each
//! option means is in fio's HOWTO, "Parameters".

use std::time::Duration;

use super::{LoadSpec, Test, Work};
use crate::measurement::Pattern;
use crate::scan::ScanPlan;
use narrows_base::shell;
use narrows_base::units::Bytes;

/// What fio opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobTarget {
    /// The path, as it is.
    pub path: String,
    /// The bytes of it that are used.
    pub size: Bytes,
    /// Where they begin.
    pub offset: Bytes,
    /// Whether fio makes the file and removes it after the last test.
    pub scratch: bool,
}

/// How long fio runs each test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobTime {
    /// The measured time.
    pub run: Duration,
    /// What is run before it and not counted.
    pub warm_up: Duration,
}

/// Whether a job file can name this path: fio ends a line at `;` and `#`, replaces what follows `$`, and has no way to write
/// either, so the rest of such a path would be an option or a command of its own.
pub fn can_carry(path: &str) -> bool {
    path.trim() == path && !path.chars().any(|c| c.is_control() || ";#$\\".contains(c))
}

/// A job file with all tests, one after another.
pub fn file(preset: &str, tests: &[Test], target: &JobTarget, time: JobTime) -> String {
    let mut lines = vec![format!("; narrows measure --as {preset}, as fio runs it: fio FILE")];
    if !target.scratch && tests.iter().any(Test::writes) {
        lines
            .push("; This overwrites a part of the device, whatever is on it: fio does not look.".to_owned());
    } else if !target.scratch {
        lines.push("; Nothing here writes. Run it with `fio --readonly FILE` to be sure.".to_owned());
    }
    lines.push("\n[global]".to_owned());
    lines.extend(global(target));
    for (name, options) in tests.iter().flat_map(|test| sections(test, target, time)) {
        lines.push(format!("\n[{name}]\nstonewall"));
        lines.extend(options);
    }
    if target.scratch && !tests.is_empty() {
        lines.push("unlink=1".to_owned());
    }
    lines.join("\n") + "\n"
}

/// The arguments of fio for one test, `--output-format` and the like left out. A scan has two runs. fio removes a scratch
/// file when it is done, and is forbidden to write to anything else unless the test writes.
fn arguments(test: &Test, target: &JobTarget, time: JobTime) -> Vec<Vec<String>> {
    let runs = sections(test, target, time).into_iter().map(|(name, options)| {
        let careful = match target.scratch {
            true => Some("unlink=1"),
            false => (!test.writes()).then_some("readonly"),
        };
        let careful = careful.map(str::to_owned);
        let all = [format!("name={name}")].into_iter().chain(careful).chain(global(target)).chain(options);
        all.map(|option| format!("--{option}")).collect()
    });
    runs.collect()
}

/// The command line of one test as a shell takes it.
pub fn command(test: &Test, target: &JobTarget, time: JobTime) -> String {
    let runs = arguments(test, target, time).into_iter().map(|arguments| {
        let words: Vec<String> = arguments.iter().map(|word| shell::word(word)).collect();
        format!("fio {}", words.join(" "))
    });
    runs.collect::<Vec<_>>().join(" && ")
}

/// What holds for all sections, an option on each line.
fn global(target: &JobTarget) -> Vec<String> {
    // A colon separates several files in fio.
    let file = format!("filename={}", target.path.replace(':', r"\:"));
    let others = [
        "thread",
        "group_reporting",
        "norandommap=1",
        "randrepeat=0",
        "invalidate=1",
        "percentile_list=50:90:95:99:99.9:99.99:99.999",
    ];
    [file].into_iter().chain(others.map(str::to_owned)).collect()
}

/// The sections of a test, with the name and the options of each.
fn sections(test: &Test, target: &JobTarget, time: JobTime) -> Vec<(String, Vec<String>)> {
    let name: String = test.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    match &test.work {
        Work::Load(load) => vec![(name, of_load(load, target, time))],
        Work::Scan(plan) => vec![
            (format!("{name}-rate"), samples(plan, target)),
            (format!("{name}-access"), seeks(plan, target)),
        ],
    }
}

fn of_load(load: &LoadSpec, target: &JobTarget, time: JobTime) -> Vec<String> {
    let prefix = if load.pattern == Pattern::Random { "rand" } else { "" };
    let direction = match load.write_percent {
        0 => "read",
        100.. => "write",
        _ => "rw",
    };
    let jobs = load.parallel.count();
    let slice = load.pattern == Pattern::Sequential && jobs > 1;
    let block = load.block_size.get().max(1);
    let parts = if slice { u64::from(jobs) } else { 1 };
    let size = target.size.get() / parts / block * block;
    let mut options = vec![
        format!("ioengine={}", if load.buffered { "psync" } else { "io_uring" }),
        format!("direct={}", u8::from(!load.buffered)),
        format!("rw={prefix}{direction}"),
        format!("bs={block}"),
        format!("iodepth={}", load.queue_depth),
        format!("numjobs={jobs}"),
        format!("size={size}"),
        "time_based".to_owned(),
        format!("runtime={}ms", time.run.as_millis()),
    ];
    if !time.warm_up.is_zero() {
        options.push(format!("ramp_time={}ms", time.warm_up.as_millis()));
    }
    if slice {
        options.push(format!("offset_increment={size}"));
    }
    if target.offset.get() > 0 {
        options.push(format!("offset={}", target.offset.get()));
    }
    if load.write_percent > 0 {
        options.push("refill_buffers".to_owned());
    }
    if (1..100).contains(&load.write_percent) {
        options.push(format!("rwmixread={}", 100 - load.write_percent));
    }
    options
}

/// One read of each sample, with the same gap between all of them.
fn samples(plan: &ScanPlan, target: &JobTarget) -> Vec<String> {
    let plan = plan.fitting(target.size);
    let sample = plan.sample_size.get();
    let step = target.size.saturating_sub(plan.sample_size).get() / u64::from(plan.samples.max(2) - 1);
    let skip = step.saturating_sub(sample) / 4096 * 4096;
    let strided = ["zonemode=strided".to_owned(), format!("zonesize={sample}"), format!("zoneskip={skip}")];
    single_reads("read", sample, target).into_iter().chain(strided).chain([number_of(plan.samples)]).collect()
}

fn seeks(plan: &ScanPlan, target: &JobTarget) -> Vec<String> {
    single_reads("randread", 4096, target).into_iter().chain([number_of(plan.seeks)]).collect()
}

fn single_reads(order: &str, block: u64, target: &JobTarget) -> Vec<String> {
    let (engine, access) = ("ioengine=psync".to_owned(), "direct=1".to_owned());
    vec![engine, access, format!("rw={order}"), format!("bs={block}"), format!("size={}", target.size.get())]
}

fn number_of(reads: u32) -> String {
    format!("number_ios={reads}")
}

#[cfg(test)]
mod tests {
    use super::super::{Parallel, by_name};
    use super::*;

    const TIME: JobTime = JobTime { run: Duration::from_secs(5), warm_up: Duration::from_millis(500) };

    fn target(scratch: bool) -> JobTarget {
        JobTarget {
            path: "/mnt/a:b/it's".to_owned(),
            size: Bytes::from_mib(1024),
            offset: Bytes::new(0),
            scratch,
        }
    }

    fn load(load: LoadSpec) -> Test {
        Test::of(load)
    }

    #[test]
    fn a_mixed_test_names_every_option_that_matters() {
        let test = load(LoadSpec::reading(Pattern::Random, Bytes::from_kib(8), 32).writing(30));
        let [arguments] = arguments(&test, &target(true), TIME).try_into().unwrap();
        for option in [
            "--rw=randrw",
            "--rwmixread=70",
            "--bs=8192",
            "--iodepth=32",
            "--numjobs=1",
            "--direct=1",
            "--ioengine=io_uring",
            "--runtime=5000ms",
            "--ramp_time=500ms",
            "--time_based",
            "--norandommap=1",
            "--refill_buffers",
            r"--filename=/mnt/a\:b/it's",
            "--name=RND8K-Q32T1-70-30",
        ] {
            assert!(arguments.iter().any(|argument| argument == option), "{option}: {arguments:?}");
        }
        assert!(!arguments.iter().any(|argument| argument == "--readonly"));
    }

    #[test]
    fn sequential_threads_get_a_part_each_and_random_ones_share() {
        let streams = Parallel::Streams(3);
        let sequential = LoadSpec::reading(Pattern::Sequential, Bytes::from_mib(1), 1).on(streams);
        let text = command(&load(sequential), &target(false), TIME);
        // 1024 MiB in 3 parts of whole MiB: 341 MiB each.
        assert!(text.contains("--offset_increment=357564416") && text.contains("--size=357564416"), "{text}");
        assert!(text.contains("--readonly"), "{text}");
        let random = LoadSpec::reading(Pattern::Random, Bytes::from_kib(4), 1).on(streams);
        assert!(!command(&load(random), &target(false), TIME).contains("offset_increment"));
    }

    #[test]
    fn the_command_can_be_pasted_into_a_shell() {
        let text =
            command(&load(LoadSpec::reading(Pattern::Random, Bytes::from_kib(4), 1)), &target(false), TIME);
        assert!(text.starts_with("fio --name=RND4K-Q1T1-read "), "{text}");
        assert!(text.contains(r"'--filename=/mnt/a\:b/it'\''s'"), "{text}");
    }

    #[test]
    fn a_path_that_would_be_an_option_of_its_own_is_not_carried() {
        assert!(can_carry("/mnt/a disk:1/it's"));
        for path in ["/a\nexec_prerun=id", "/a;b", "/a#b", "/${HOME}", r"/a\:b", "/a "] {
            assert!(!can_carry(path), "{path}");
        }
    }

    #[test]
    fn a_job_file_removes_its_scratch_file_once_at_the_end() {
        let preset = by_name("kdiskmark").unwrap();
        let text = file(preset.name, &preset.tests, &target(true), TIME);
        assert_eq!(text.matches("stonewall").count(), 8);
        assert_eq!(text.matches("unlink=1").count(), 1);
        assert!(text.trim_end().ends_with("unlink=1"), "{text}");
        let reads = file(preset.name, &preset.tests[..4], &target(false), TIME);
        assert!(!reads.contains("unlink") && reads.contains("; Nothing here writes."), "{reads}");
    }

    #[test]
    fn a_job_for_a_device_that_is_written_says_so_and_keeps_off_its_first_mib() {
        let preset = by_name("peak").unwrap();
        let device = JobTarget { offset: Bytes::from_mib(1), ..target(false) };
        let text = file(preset.name, &preset.tests, &device, TIME);
        assert!(
            text.contains("; This overwrites a part of the device") && !text.contains("Nothing here writes")
        );
        assert_eq!(text.matches("\noffset=1048576\n").count(), preset.tests.len(), "{text}");
    }
}
