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

/// Options of one section, in order; an option without a value stands alone.
type Options = Vec<(&'static str, Option<String>)>;

/// Whether a job file can name this path: fio ends a line at `;` and `#`, replaces what follows `$`, and has no way to write
/// either, so the rest of such a path would be an option or a command of its own.
pub fn can_carry(path: &str) -> bool {
    path.trim() == path && !path.chars().any(|c| c.is_control() || ";#$\\".contains(c))
}

/// A job file with all tests, one after another.
pub fn file(preset: &str, tests: &[Test], target: &JobTarget, time: JobTime) -> String {
    let mut text = format!("; narrows bench --preset {preset}, as fio runs it: fio FILE\n");
    if !target.scratch && tests.iter().any(Test::writes) {
        text.push_str("; This overwrites a part of the device, whatever is on it: fio does not look.\n");
    } else if !target.scratch {
        text.push_str("; Nothing here writes. Run it with `fio --readonly FILE` to be sure.\n");
    }
    text.push_str("\n[global]\n");
    put(&mut text, &global(target));
    let sections: Vec<(String, Options)> =
        tests.iter().flat_map(|test| sections(test, target, time)).collect();
    let last = sections.len().saturating_sub(1);
    for (index, (name, options)) in sections.iter().enumerate() {
        text.push_str(&format!("\n[{name}]\nstonewall\n"));
        put(&mut text, options);
        if target.scratch && index == last {
            text.push_str("unlink=1\n");
        }
    }
    text
}

/// The arguments of fio for one test, `--output-format` and the like left out. A scan has two runs. fio removes a scratch
/// file when it is done, and is forbidden to write to anything else unless the test writes.
fn arguments(test: &Test, target: &JobTarget, time: JobTime) -> Vec<Vec<String>> {
    sections(test, target, time)
        .into_iter()
        .map(|(name, options)| {
            let mut all = vec![format!("--name={name}")];
            if target.scratch {
                all.push("--unlink=1".to_owned());
            } else if !test.writes() {
                all.push("--readonly".to_owned());
            }
            all.extend(global(target).iter().chain(&options).map(|(option, value)| match value {
                Some(value) => format!("--{option}={value}"),
                None => format!("--{option}"),
            }));
            all
        })
        .collect()
}

/// The command line of one test as a shell takes it.
pub fn command(test: &Test, target: &JobTarget, time: JobTime) -> String {
    let all = arguments(test, target, time);
    let lines: Vec<String> = all
        .iter()
        .map(|arguments| {
            let words: Vec<String> = arguments.iter().map(|word| shell::word(word)).collect();
            format!("fio {}", words.join(" "))
        })
        .collect();
    lines.join(" && ")
}

fn put(text: &mut String, options: &Options) {
    for (option, value) in options {
        text.push_str(option);
        if let Some(value) = value {
            text.push('=');
            text.push_str(value);
        }
        text.push('\n');
    }
}

fn global(target: &JobTarget) -> Options {
    let set = |value: &str| Some(value.to_owned());
    vec![
        // A colon separates several files in fio.
        ("filename", Some(target.path.replace(':', r"\:"))),
        ("thread", None),
        ("group_reporting", None),
        ("norandommap", set("1")),
        ("randrepeat", set("0")),
        ("invalidate", set("1")),
        ("percentile_list", set("50:90:95:99:99.9:99.99:99.999")),
    ]
}

fn sections(test: &Test, target: &JobTarget, time: JobTime) -> Vec<(String, Options)> {
    let name: String = test.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    match &test.work {
        Work::Load(load) => vec![(name, of_load(load, target, time))],
        Work::Scan(plan) => vec![
            (format!("{name}-rate"), samples(plan, target)),
            (format!("{name}-access"), seeks(plan, target)),
        ],
    }
}

fn of_load(load: &LoadSpec, target: &JobTarget, time: JobTime) -> Options {
    let set = |value: String| Some(value);
    let prefix = if load.pattern == Pattern::Random { "rand" } else { "" };
    let direction = match (load.write_percent, prefix) {
        (0, _) => "read",
        (100.., _) => "write",
        _ => "rw",
    };
    let jobs = load.parallel.count();
    let slice = load.pattern == Pattern::Sequential && jobs > 1;
    let block = load.block_size.get().max(1);
    let parts = if slice { u64::from(jobs) } else { 1 };
    let size = target.size.get() / parts / block * block;
    let engine = if load.buffered { "psync" } else { "io_uring" };
    let mut options: Options = vec![
        ("ioengine", set(engine.to_owned())),
        ("direct", set(u8::from(!load.buffered).to_string())),
        ("rw", set(format!("{prefix}{direction}"))),
        ("bs", set(block.to_string())),
        ("iodepth", set(load.queue_depth.to_string())),
        ("numjobs", set(jobs.to_string())),
        ("size", set(size.to_string())),
        ("time_based", None),
        ("runtime", set(milliseconds(time.run))),
    ];
    if !time.warm_up.is_zero() {
        options.push(("ramp_time", set(milliseconds(time.warm_up))));
    }
    if slice {
        options.push(("offset_increment", set(size.to_string())));
    }
    if target.offset.get() > 0 {
        options.push(("offset", set(target.offset.get().to_string())));
    }
    if load.write_percent > 0 {
        options.push(("refill_buffers", None));
    }
    if (1..100).contains(&load.write_percent) {
        options.push(("rwmixread", set((100 - load.write_percent).to_string())));
    }
    options
}

fn milliseconds(span: Duration) -> String {
    format!("{}ms", span.as_millis())
}

/// One read of each sample, with the same gap between all of them.
fn samples(plan: &ScanPlan, target: &JobTarget) -> Options {
    let set = |value: u64| Some(value.to_string());
    let plan = plan.fitting(target.size);
    let sample = plan.sample_size.get();
    let step = target.size.saturating_sub(plan.sample_size).get() / u64::from(plan.samples.max(2) - 1);
    vec![
        ("ioengine", Some("psync".to_owned())),
        ("direct", set(1)),
        ("rw", Some("read".to_owned())),
        ("bs", set(sample)),
        ("size", set(target.size.get())),
        ("zonemode", Some("strided".to_owned())),
        ("zonesize", set(sample)),
        ("zoneskip", set(step.saturating_sub(sample) / 4096 * 4096)),
        ("number_ios", set(plan.samples.into())),
    ]
}

fn seeks(plan: &ScanPlan, target: &JobTarget) -> Options {
    let set = |value: u64| Some(value.to_string());
    vec![
        ("ioengine", Some("psync".to_owned())),
        ("direct", set(1)),
        ("rw", Some("randread".to_owned())),
        ("bs", set(4096)),
        ("size", set(target.size.get())),
        ("number_ios", set(plan.seeks.into())),
    ]
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
