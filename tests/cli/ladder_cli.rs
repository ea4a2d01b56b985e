//! `narrows measure --as layers` as a person runs it: a real directory, tiny times, no assertion on a speed.

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
use std::time::Duration;

use crate::schema;
use narrows::report::document::{Audience, Style};
use narrows::runs::ladder::{self, LadderReport};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

const QUICK: [&str; 6] = ["--size", "64MiB", "--duration", "100ms", "--warm-up", "1ms"];

fn narrows(arguments: &[&str]) -> Command {
    let mut command = Command::new(crate::narrows_binary());
    command.args(["measure", "--as", "layers"]).args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    narrows(&[arguments, &QUICK].concat()).output().expect("narrows runs")
}

fn report(output: &Output) -> LadderReport {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!(
            "{error}: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

fn text(path: &Path) -> &str {
    path.to_str().expect("is UTF-8")
}

#[test]
fn a_directory_is_climbed_and_nothing_is_left_in_it() {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let output = run(&[text(dir.path()), "--mix", "100,0", "--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).expect("is JSON");
    let validator = jsonschema::validator_for(&schema::of("ladder")).expect("is a schema");
    let errors: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let report = report(&output);
    assert_eq!(report.ladders.len(), 2, "one that reads and one that writes");
    for ladder in &report.ladders {
        let top = ladder.rungs.last().expect("has the file system");
        assert!(top.hop.starts_with("filesystem:"), "{}", top.hop);
        let measurement = top.measurement.as_ref().expect("is measured without root");
        assert_eq!(measurement.workload.writes(), ladder.load.writes());
    }
    assert!(report.legs.iter().any(|leg| leg.bytes_per_second.is_some()));
    // What could not be opened is named, and then the ladder is not complete.
    let names = String::from_utf8_lossy(&output.stderr);
    assert_eq!(report.complete, report.left_out.is_empty());
    assert!(report.left_out.iter().all(|left| names.contains(&left.hop)), "{names}");
    assert_eq!(output.status.code() == Some(2), !report.complete);
    assert_eq!(fs::read_dir(dir.path()).expect("is readable").count(), 0);
}

#[test]
fn a_file_is_read_and_not_changed_and_the_text_is_plain() {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let file = dir.path().join("file");
    fs::write(&file, vec![7; 64 << 20]).expect("can be written");
    let output = run(&[text(&file), "--read-only", "--block-size", "64KiB", "--depth", "4", "--plain"]);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("SEQ64K Q4T1 read") && !shown.contains("Legs alone"), "{shown}");
    assert!(shown.lines().all(|line| line.len() <= 78 && line.is_ascii()), "{shown}");
    assert_eq!(fs::read(&file).expect("is there"), vec![7; 64 << 20]);
    let refused = run(&[text(dir.path()), "--read-only"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--read-only writes no scratch file"));
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let arguments =
        [text(dir.path()), "--json", "--size", "64MiB", "--duration", "60s", "--block-size", "4K,1M"];
    let child = narrows(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    thread::sleep(Duration::from_secs(8));
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).expect("is running");
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("interrupted"), "{errors}");
    if !output.stdout.is_empty() {
        let report = report(&output);
        assert!(!report.complete);
    }
    assert_eq!(fs::read_dir(dir.path()).expect("is readable").count(), 0);
}

#[test]
fn what_is_not_there_is_a_failure_with_a_hint() {
    let output = run(&["/no/such/place"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("hint:"));
}

/// What the rig's scenario `ladder-raid0-slow-member` printed, with most threads left out.
#[test]
fn a_ladder_reads_well() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ladder-raid0-slow-member.json");
    let text = fs::read_to_string(path).expect("is readable");
    let report: LadderReport = serde_json::from_str(&text).expect("is a report");
    let style = Style { colour: false, width: 100, unicode: true, plain: false, verbose: false };
    insta::assert_snapshot!(
        "a_ladder_at_100_columns",
        ladder::document(&report, Audience::Owner).text(&style)
    );
    let plain = ladder::document(&report, Audience::Public).text(&Style::PLAIN);
    assert!(plain.lines().all(|line| line.len() <= 78 && line.is_ascii()), "{plain}");
}
