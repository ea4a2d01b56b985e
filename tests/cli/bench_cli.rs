//! `narrows measure --as kdiskmark` and `narrows measure --as sweep` as a person runs them: real files, tiny times, no assertion on a speed.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "a test runs the program, looks at what it leaves behind, and may panic"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::schema;
use narrows::load::preset::Test;
use narrows::load::ran::EngineRan;
use narrows::runs::measure::MeasureReport;
use serde_json::Value;

const QUICK: [&str; 6] = ["--size", "64MiB", "--duration", "50ms", "--warm-up", "1ms"];

fn narrows(arguments: &[&str]) -> Command {
    let mut command = Command::new(crate::narrows_binary());
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    narrows(arguments).output().expect("narrows runs")
}

fn quick<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [arguments, &QUICK].concat()
}

fn report(output: &Output) -> MeasureReport {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{error}: {text}\n{}", String::from_utf8_lossy(&output.stderr));
    })
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .expect("is readable")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory can be made")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("is UTF-8")
}

fn assert_follows(schema: &Value, value: &Value) {
    let validator = jsonschema::validator_for(schema).expect("is a schema");
    let errors: Vec<String> = validator.iter_errors(value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn kdiskmark_reads_and_writes_and_leaves_nothing_behind() {
    let dir = directory();
    let output = run(&quick(&["measure", "--as", "kdiskmark", text(dir.path()), "--json"]));
    let report = report(&output);
    assert!(report.complete, "{report:?}");
    assert_eq!(report.results.len(), 8);
    let mut moved = 0;
    for result in &report.results {
        let writes = result.name.ends_with("write");
        let (there, absent) =
            if writes { (&result.write, &result.read) } else { (&result.read, &result.write) };
        let side = there.as_ref().expect("has the direction of its name");
        // A busy disk may end nothing in 50 ms.
        moved += side.latency_ns.count;
        assert!(absent.is_none(), "{}", result.name);
        let checks = result.checks.as_ref().expect("checks itself");
        assert!(checks.recorded_of_completed.is_none_or(|part| (part - 1.0).abs() < 1e-9), "{checks:?}");
        let has_ring = matches!(checks.generator.engine, EngineRan::IoUring(_));
        assert_eq!(checks.nop_ns_per_io.is_some_and(|cost| cost > 0.0), has_ring, "{checks:?}");
        // 50 ms say nothing, and the verdict knows.
        assert_eq!(result.trusted, Some(false), "{}", result.name);
        assert!(result.peer.as_ref().is_some_and(|peer| peer.tool == "KDiskMark"));
    }
    assert!(moved > 0);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(names(dir.path()), Vec::<String>::new());
    let json: Value = serde_json::from_slice(&output.stdout).expect("is JSON");
    assert_follows(&schema::of("measure"), &json);
}

#[test]
fn every_preset_runs_on_a_file() {
    let dir = directory();
    let file = dir.path().join("file");
    fs::write(&file, vec![1; 64 << 20]).expect("can be written");
    for preset in narrows::load::preset::all() {
        let mut arguments = vec!["measure", text(&file), "--as", preset.name, "--read-only", "--json"];
        arguments.extend(["--duration", "30ms", "--warm-up", "1ms"]);
        if preset.name == "disks" {
            arguments.extend(["--block-size", "256KiB"]);
        }
        let output = run(&arguments);
        let report = report(&output);
        assert_eq!(report.preset.name, preset.name);
        let fits = |test: &&Test| !test.writes() && test.least_size().get() <= 64 << 20;
        let reading = preset.tests.iter().filter(fits).count();
        assert_eq!((report.results.len(), report.complete), (reading, true), "{}", preset.name);
        assert_eq!(report.left_out.len(), preset.tests.len() - reading, "{}", preset.name);
    }
    assert_eq!(fs::read(&file).expect("is there"), vec![1; 64 << 20]);
    assert_eq!(names(dir.path()), ["file"]);
}

#[test]
fn samples_are_drawn_by_position() {
    let dir = directory();
    let mut arguments = vec!["measure", text(dir.path()), "--as", "disks", "--size", "64MiB"];
    arguments.extend(["--block-size", "256KiB", "--plain", "--verbose"]);
    let output = run(&arguments);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("position  0") && shown.contains("100 samples"), "{shown}");
    assert!(shown.contains("GNOME Disks would show"), "{shown}");
    assert!(shown.lines().all(|line| line.len() <= 78 && line.is_ascii()), "{shown}");
}

#[test]
fn the_job_file_is_one_that_fio_accepts() {
    let dir = directory();
    for preset in narrows::load::preset::all() {
        let job = dir.path().join(format!("{}.fio", preset.name));
        let mut arguments = vec!["measure", text(dir.path()), "--as", preset.name, "--emit-fio", text(&job)];
        arguments.extend(["--size", "128MiB", "--duration", "1ms", "--warm-up", "1ms"]);
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(
            output.stdout.is_empty() && String::from_utf8_lossy(&output.stderr).contains("nothing was run")
        );
        let written = fs::read_to_string(&job).expect("was written");
        assert!(written.contains("[global]") && written.contains("stonewall"), "{written}");
        if let Ok(parsed) = Command::new("fio").arg("--parse-only").arg(&job).output() {
            let said = String::from_utf8_lossy(&parsed.stderr);
            assert!(parsed.status.success(), "{}: {said}", preset.name);
        }
    }
}

/// Starts a run that keeps its results in `saved`, and waits until it has kept one.
fn begin(dir: &Path, saved: &Path) -> std::process::Child {
    let mut arguments = vec!["measure", "--as", "kdiskmark", text(dir), "--save", text(saved), "--json"];
    arguments.extend(["--size", "64MiB", "--duration", "400ms", "--warm-up", "1ms"]);
    let child = narrows(&arguments).stdout(Stdio::piped()).spawn().expect("narrows starts");
    let patience = Instant::now() + Duration::from_secs(60);
    while kept(saved).is_none_or(|report| report.results.is_empty()) {
        assert!(Instant::now() < patience, "nothing was kept");
        thread::sleep(Duration::from_millis(20));
    }
    child
}

fn kept(saved: &Path) -> Option<MeasureReport> {
    serde_json::from_str(&fs::read_to_string(saved).ok()?).ok()
}

#[test]
fn a_run_that_was_killed_goes_on_where_it_was() {
    let (dir, results) = (directory(), directory());
    let saved = results.path().join("run.json");
    let mut child = begin(dir.path(), &saved);
    child.kill().expect("can be killed");
    child.wait().expect("ends");
    assert_eq!(names(dir.path()), Vec::<String>::new());
    let before = kept(&saved).expect("was kept");
    assert!(!before.complete && before.results.len() < 8, "{} results", before.results.len());

    let output = run(&["measure", "--resume", text(&saved), "--json"]);
    let after = report(&output);
    assert!(after.complete);
    assert_eq!(after.results.len(), 8);
    assert_eq!(after.results[..before.results.len()], before.results[..]);
    assert_eq!(kept(&saved), Some(after));
    assert_eq!(names(results.path()), ["run.json"]);
    assert_eq!(names(dir.path()), Vec::<String>::new());
}

#[test]
fn a_run_that_was_interrupted_shows_what_it_has() {
    let (dir, results) = (directory(), directory());
    let saved = results.path().join("run.json");
    let child = begin(dir.path(), &saved);
    let pid = i32::try_from(child.id()).expect("a process id");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGINT)
        .expect("is there");
    let output = child.wait_with_output().expect("ends");
    let shown = report(&output);
    assert!(!shown.complete && !shown.results.is_empty());
    assert!(shown.reason.as_ref().is_some_and(|reason| reason.contains("--resume")), "{:?}", shown.reason);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(kept(&saved), Some(shown));
}

#[test]
fn what_is_there_is_never_overwritten() {
    let dir = directory();
    let mine = dir.path().join("mine");
    fs::write(&mine, "mine").expect("can be written");
    for option in ["--save", "--emit-fio", "--resume"] {
        let output = run(&quick(&["measure", "--as", "kdiskmark", text(dir.path()), option, text(&mine)])
            .into_iter()
            .filter(|word| {
                let settings = ["--as", "kdiskmark", "--size", "64MiB", "--duration", "50ms"];
                option != "--resume" || !settings.contains(word)
            })
            .collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(2), "{option}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("hint:"), "{option}");
    }
    assert_eq!(fs::read_to_string(&mine).expect("is there"), "mine");
}

#[test]
fn a_file_that_keeps_no_run_is_refused_with_what_to_do() {
    let dir = directory();
    let file = dir.path().join("kept");
    for bytes in [&b"\xff\xfe\x00"[..], b"", b"{\"a\":"] {
        fs::write(&file, bytes).expect("can be written");
        let output = run(&["measure", "--resume", text(&file)]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("kept") && said.contains("hint: name a file that --save wrote"), "{said}");
    }
}

#[test]
fn a_sweep_goes_over_the_grid_and_can_be_resumed() {
    let (dir, results) = (directory(), directory());
    let saved = results.path().join("sweep.json");
    let grid = [
        "measure",
        "--as",
        "sweep",
        text(dir.path()),
        "--block-size",
        "4K,64K",
        "--depth",
        "1,4,16",
        "--mix",
        "100,50",
    ];
    let output = run(&quick(&[&grid[..], &["--json", "--save", text(&saved)]].concat()));
    let json: Value = serde_json::from_slice(&output.stdout).expect("is JSON");
    assert_follows(&schema::of("measure"), &json);
    let whole: MeasureReport = serde_json::from_value(json).expect("is a report");
    assert!(whole.complete);
    assert_eq!((whole.results.len(), whole.curves.len()), (12, 4));
    assert!(whole.results.iter().all(|result| result.errors == 0 && result.checks.is_some()));
    assert!(whole.results.iter().any(|result| result.rate().is_some()));

    let part = MeasureReport { results: whole.results[..5].to_vec(), complete: false, ..whole.clone() };
    fs::write(&saved, serde_json::to_string(&part).expect("serialises")).expect("can be written");
    let output = run(&["measure", "--resume", text(&saved), "--plain"]);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("4 KiB") && shown.contains("50:50"), "{shown}");
    let after: MeasureReport =
        serde_json::from_str(&fs::read_to_string(&saved).expect("is there")).expect("is a report");
    assert!(after.complete);
    // What does not fit its neighbours is run once more, whoever ran it.
    let kept = after
        .results
        .iter()
        .zip(&whole.results)
        .take(5)
        .all(|(now, then)| now == then || now.first.is_some());
    assert!(kept, "{:?}", after.results);
    assert_eq!(after.settings, whole.settings);
    let mine = after.results[5..].iter().all(|result| result.ended == "ran for 50 ms");
    assert!(mine, "a resumed sweep runs each load as long as it was begun with: {:?}", after.results);
    assert_eq!(names(dir.path()), Vec::<String>::new());
}

#[test]
fn streams_are_swept_by_doubling() {
    let dir = directory();
    let output = run(&quick(&["measure", "--as", "threads", text(dir.path()), "--threads", "16", "--plain"]));
    let shown = String::from_utf8_lossy(&output.stdout);
    for count in ["1", "2", "4", "8", "16"] {
        assert!(shown.lines().any(|line| line.trim_start().starts_with(&format!("{count} "))), "{shown}");
    }
}

#[test]
fn the_list_names_every_preset() {
    let shown = String::from_utf8_lossy(&run(&["measure", "--as", "list"]).stdout).into_owned();
    for preset in narrows::load::preset::all() {
        assert!(shown.contains(preset.name), "{}", preset.name);
    }
}
