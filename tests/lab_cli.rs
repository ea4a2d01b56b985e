//! `narrows lab` as people run it: on loop devices over scratch files, killed at any moment, and refused.
//! What needs md or the device mapper is in `rig/scenarios/lab-*.toml`.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "tests make files, run the program and may panic"
)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

const QUICK: [&str; 10] = [
    "--preset",
    "hdparm",
    "--size",
    "16MiB",
    "--duration",
    "50ms",
    "--warm-up",
    "1ms",
    "--encryption",
    "plain",
];

fn lab(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
    command.arg("lab").args(words);
    command
}

fn run(words: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = lab(words).output().expect("narrows runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("is UTF-8");
    (status.code(), text(stdout), text(stderr))
}

/// Whether loop devices can be made here; said aloud when not.
fn has_loops() -> bool {
    let probe = tempfile::NamedTempFile::new().expect("a file");
    probe.as_file().set_len(1 << 20).expect("a size");
    let path = probe.path().display().to_string();
    let made = Command::new("losetup").args(["--find", "--show", &path]).output();
    let made = made.ok().filter(|output| output.status.success());
    if let Some(output) = &made {
        let name = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let _ = Command::new("losetup").args(["--detach", &name]).status();
    } else {
        let _ = writeln!(std::io::stderr(), "skipped: loop devices need root and a kernel that has them");
    }
    made.is_some()
}

/// What is in a directory, and the loop devices over files in it.
fn left_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("is there").flatten();
    let mut left: Vec<String> = entries.map(|entry| entry.path().display().to_string()).collect();
    for block in fs::read_dir("/sys/block").expect("is there").flatten() {
        let file = fs::read_to_string(block.path().join("loop/backing_file")).unwrap_or_default();
        if file.starts_with(&directory.display().to_string()) {
            left.push(format!("{:?} over {file}", block.file_name()));
        }
    }
    left
}

#[test]
fn a_dry_run_shows_every_command_and_does_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let place = dir.path().display().to_string();
    let words = ["--scratch", &place, "--layout", "raid0,raid5", "--encryption", "luks2", "--dry-run"];
    let (code, out, err) = run(&words);
    assert_eq!(code, Some(0), "{err}");
    for part in [
        "fallocate -l 1073741824",
        "dmsetup create narrows-lab-zero-00000000",
        "dmsetup remove --retry -- narrows-lab-zero-00000000",
        "mdadm --create",
        "luksFormat",
        "mdadm --stop",
        "takes 3 devices",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert_eq!(left_in(dir.path()), Vec::<String>::new());
}

#[test]
fn a_file_that_is_no_journal_is_named_and_left_alone() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("notes.txt");
    fs::write(&path, "do not lose this\n").expect("is written");
    let (code, _, err) = run(&["--undo", "--journal", &path.display().to_string()]);
    assert_eq!(code, Some(2), "{err}");
    assert_eq!(fs::read_to_string(&path).expect("is there"), "do not lose this\n");
}

#[test]
fn what_is_no_block_device_is_refused_by_name() {
    let (code, out, err) = run(&["/dev/null", "--i-own", "x"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.contains("/dev/null") || err.contains("needs root"), "{err}");
}

#[test]
fn a_lab_on_scratch_files_is_measured_and_leaves_nothing() {
    if !has_loops() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let (place, journal) = (dir.path().display().to_string(), tempfile::tempdir().expect("a directory"));
    let file = journal.path().join("lab.jsonl").display().to_string();
    let words =
        ["--scratch", &place, "--file-size", "96MiB", "--layout", "single", "--json", "--journal", &file];
    let (code, out, err) = run(&[&words[..], &QUICK].concat());
    assert!(matches!(code, Some(0 | 1)), "{err}");
    let report: serde_json::Value = serde_json::from_str(&out).expect("is JSON");
    let cell = &report["cells"][0];
    assert_eq!(cell["cell"]["layout"], "single");
    assert!(cell["failed"].is_null() && cell["on_loop_files"] == true, "{out}");
    for rate in
        [&cell["tests"][0]["measured"]["bytes_per_second"], &cell["tests"][0]["predicted_bytes_per_second"]]
    {
        assert!(rate.as_f64().is_some_and(|rate| rate > 0.0), "{out}");
    }
    assert_eq!(report["basis"]["tests"][0]["alone"].as_array().map(Vec::len), Some(2));
    assert_eq!(left_in(dir.path()), Vec::<String>::new());
    assert!(!Path::new(&file).exists(), "the journal is gone when nothing is left");
}

#[test]
fn a_lab_that_is_killed_is_undone() {
    if !has_loops() {
        return;
    }
    for delay in [20, 120, 300, 700, 1500] {
        let dir = tempfile::tempdir().expect("a directory");
        let (place, journal) = (dir.path().display().to_string(), tempfile::tempdir().expect("a directory"));
        let file = journal.path().join("lab.jsonl").display().to_string();
        let words =
            ["--scratch", &place, "--file-size", "96MiB", "--layout", "single", "--file-system", "ext4"];
        let mut command = lab(&[&words[..], &["--journal", &file], &QUICK].concat());
        let mut child = command
            .stderr(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("runs");
        thread::sleep(Duration::from_millis(delay));
        child.kill().expect("is killed");
        child.wait().expect("ends");
        if Path::new(&file).exists() {
            let (code, _, err) = run(&["--undo", "--journal", &file]);
            assert_eq!(code, Some(0), "after {delay} ms: {err}");
        }
        assert_eq!(left_in(dir.path()), Vec::<String>::new(), "after {delay} ms");
    }
}
