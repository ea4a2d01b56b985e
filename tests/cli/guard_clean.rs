//! A device is as it was found after a run, and what a killed run left is cleared by its marks and by nothing else.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::guard_search::{Disk, said};

const MIB: u64 = 1 << 20;

const BENCH: [&str; 9] =
    ["measure", "--write", "--size", "48MiB", "--as", "peak", "--duration", "30s", "--plain"];

/// Runs a bench until it has written what it fills first, and ends it by a signal.
fn end_by(disk: &Disk, words: &[&str], signal: Signal, meanwhile: impl FnOnce()) -> (Option<i32>, String) {
    let mut bench = disk.narrows(words);
    let mut child = bench.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
    let begin = Instant::now();
    while disk.used() < 48 * MIB {
        if child.try_wait().expect("is a child").is_some() || begin.elapsed() > Duration::from_secs(120) {
            let _ = child.kill();
            let output = child.wait_with_output().expect("ends");
            panic!("it was never filled: {}", said(&output));
        }
        thread::sleep(Duration::from_millis(50));
    }
    thread::sleep(Duration::from_millis(1500));
    meanwhile();
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a number"));
    kill(pid, signal).expect("it still runs");
    let output = child.wait_with_output().expect("ends");
    (output.status.code(), said(&output))
}

/// I/O that a busy disk holds for longer than an end may take is left to the record, and that is said.
fn is_on_record(text: &str) -> bool {
    text.contains("is on record: `narrows guard --clean")
}

#[test]
fn a_run_that_ends_or_is_ended_leaves_the_device_as_it_was() {
    let Some(disk) = Disk::blank(64 * MIB + 512) else { return };
    let output = disk
        .narrows(&["measure", "--write", "--size", "48MiB", "--as", "peak", "--duration", "100ms", "--json"])
        .output()
        .expect("runs");
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
    assert_eq!(report["complete"], true, "{report}");
    assert_eq!(disk.data(), [0_u64; 0]);
    for (mix, blocks) in [("0,50", "512,4KiB,64KiB"), ("70", "4KiB,64KiB")] {
        let grid = ["--mix", mix, "--block-size", blocks, "--depth", "4", "--duration", "50ms"];
        let words = [&["measure", "--as", "sweep", "--write", "--size", "16MiB"][..], &grid].concat();
        let output = disk.narrows(&words).output().expect("runs");
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", said(&output));
        assert_eq!(disk.data(), [0_u64; 0], "{mix}: {}", said(&output));
    }
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let (status, text) = end_by(&disk, &BENCH, signal, || {});
        assert_eq!(status, Some(2), "{text}");
        if is_on_record(&text) {
            let output = disk.narrows(&["guard", "--clean"]).output().expect("runs");
            assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        }
        assert_eq!(disk.data(), [0_u64; 0], "{signal}: {text}");
    }
    let (status, json) = disk.guard();
    assert_eq!(status, Some(0), "{json}");
}

/// No other test has a file as long: see `bench_failures`.
const DISK: u64 = 64 * MIB + 8192;

#[test]
fn what_a_killed_run_left_is_cleared_and_nothing_else() {
    let Some(disk) = Disk::blank(DISK) else { return };
    let (status, _) = end_by(&disk, &BENCH, Signal::SIGKILL, || {});
    assert_eq!(status, None);
    assert!(disk.data().len() >= 40, "it left blocks");
    let (status, json) = disk.guard();
    assert_eq!((status, &json["reasons"][0]["code"]), (Some(1), &Value::from("marked")), "{json}");
    assert_eq!(json["reasons"].as_array().map(Vec::len), Some(1), "{json}");
    assert!(json["reasons"][0]["hint"].as_str().is_some_and(|hint| hint.contains("narrows guard --clean")));
    let refused =
        disk.narrows(&["measure", "--as", "kdiskmark", "--write", "--size", "16MiB"]).output().expect("runs");
    assert!(said(&refused).contains("narrows guard --clean"), "{}", said(&refused));

    // Data of others, inside and outside of what the run wrote; and copies of what it wrote, which are not ours.
    let foreign = [
        (9 * MIB + 1024, vec![0x5a; 512]),
        (20 * MIB, b"PRECIOUS".repeat(512)),
        (60 * MIB + 7, b"x".to_vec()),
    ];
    for (at, bytes) in &foreign {
        disk.put(*at, bytes);
    }
    let image = fs::read(disk.own()).expect("is readable");
    let copied = image[30 * MIB as usize..][..8192].to_vec();
    disk.put(55 * MIB, &copied);
    let before = fs::read(disk.own()).expect("is readable");
    let without_name = std::process::Command::new(crate::narrows_binary())
        .args(["guard", "--clean"])
        .arg(&disk.device)
        .output()
        .expect("runs");
    assert_eq!(without_name.status.code(), Some(2), "{}", said(&without_name));
    assert!(before == fs::read(disk.own()).expect("is readable"), "who does not name it changes nothing");

    let output = disk.narrows(&["guard", "--clean", "--json"]).output().expect("runs");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
    assert_eq!((output.status.code(), &json["may_write"]), (Some(2), &Value::Bool(false)), "{json}");
    assert!(json["cleaned"]["cleared_bytes"].as_u64().is_some_and(|bytes| bytes > 40 * MIB), "{json}");
    let mut after = fs::read(disk.own()).expect("is readable");
    assert_eq!(&after[55 * MIB as usize..][..8192], &copied, "a copy elsewhere is not ours");
    disk.put(55 * MIB, &[0; 8192]);
    after[55 * MIB as usize..][..8192].fill(0);
    for (at, bytes) in &foreign {
        let part = &mut after[*at as usize..][..bytes.len()];
        assert_eq!(part, bytes.as_slice(), "data of others at {at} are as they were");
        part.fill(0);
        disk.put(*at, &vec![0; bytes.len()]);
    }
    assert!(after.iter().all(|byte| *byte == 0), "all that was ours is cleared");

    let output = disk.narrows(&["guard", "--clean"]).output().expect("runs");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let (status, json) = disk.guard();
    assert_eq!(status, Some(0), "{json}");
}

#[test]
fn a_kill_while_the_device_is_filled_leaves_marked_blocks_only() {
    let Some(disk) = Disk::blank(512 * MIB) else { return };
    for milliseconds in [0, 40, 150] {
        let mut bench = disk.narrows(&["measure", "--write", "--size", "500MiB", "--as", "peak"]);
        let mut child = bench.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("runs");
        let begin = Instant::now();
        while disk.used() == 0 && begin.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(Duration::from_millis(milliseconds));
        child.kill().and_then(|()| child.wait()).expect("ends");
        let output = disk.narrows(&["guard", "--clean"]).output().expect("runs");
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        assert_eq!(disk.data(), [0_u64; 0]);
    }
}

#[test]
fn what_somebody_else_writes_meanwhile_stays_and_is_named() {
    let Some(disk) = Disk::blank(DISK) else { return };
    // Reads only once it is filled, so that what others write is not written over.
    let reads = [
        "measure",
        "--as",
        "sweep",
        "--write",
        "--size",
        "48MiB",
        "--mix",
        "100",
        "--depth",
        "4",
        "--block-size",
        "64KiB",
        "--duration",
        "30s",
    ];
    let foreign = b"SOMEBODY ELSE'S ".repeat(64);
    let (status, text) = end_by(&disk, &reads, Signal::SIGINT, || disk.put(30 * MIB + 512, &foreign));
    assert_eq!(status, Some(2), "{text}");
    if is_on_record(&text) {
        // It clears what is ours, and leaves the rest.
        disk.narrows(&["guard", "--clean"]).output().expect("runs");
    } else {
        assert!(text.contains("somebody else wrote to") && text.contains("SOMEBODY ELSE"), "{text}");
    }
    let after = fs::read(disk.own()).expect("is readable");
    assert_eq!(&after[30 * MIB as usize + 512..][..foreign.len()], foreign.as_slice());
    assert_eq!(disk.data(), [30 * MIB + 512], "all else is zero");
}
