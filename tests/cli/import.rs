//! `narrows FILE` and the results beside captures, with the real binary.

#![expect(clippy::disallowed_methods, clippy::expect_used, reason = "a test reads and writes its own files")]

use std::path::{Path, PathBuf};

use crate::schema;
use assert_cmd::Command;
use predicates::prelude::*;
use serde_json::Value;

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/result-cases").join(name)
}

fn narrows() -> Command {
    Command::new(crate::narrows_binary())
}

fn import(files: &[PathBuf]) -> (i32, Value) {
    let done = narrows().args(["--json"]).args(files).output().expect("it runs");
    let json = serde_json::from_slice(&done.stdout).unwrap_or(Value::Null);
    (done.status.code().expect("an exit status"), json)
}

fn codes(result: &Value) -> Vec<&str> {
    let findings = result["findings"].as_array().expect("findings");
    findings.iter().filter_map(|finding| finding["code"].as_str()).collect()
}

#[test]
fn every_report_follows_the_schema() {
    let validator = jsonschema::validator_for(&schema::of("check")).expect("is a schema");
    let cases = std::fs::read_dir(case("")).expect("there are cases").flatten();
    let mut seen = 0;
    for entry in cases.filter(|entry| entry.path().is_dir()) {
        let (_, report) = import(&[entry.path()]);
        assert!(
            report["results"].as_array().is_some_and(|all| !all.is_empty()),
            "{}",
            entry.path().display()
        );
        let errors: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", entry.path().display());
        seen += 1;
    }
    assert!(seen > 10);
}

#[test]
fn a_result_from_memory_is_not_trusted_and_one_of_a_disk_is() {
    let (status, report) = import(&[case("fio-ram/fio.txt")]);
    let result = &report["results"][0];
    assert_eq!((status, &result["trusted"]), (1, &Value::Bool(false)));
    assert!(codes(result).contains(&"cache_measured"), "{result}");
    assert_eq!(result["limiting_hop"]["kind"], "memory");

    let (status, report) = import(&[case("021-hdd-7k2-qd1-baseline/fio.json")]);
    let result = &report["results"][0];
    assert_eq!((status, &result["trusted"], &result["tool_version"]), (0, &Value::Bool(true), &"3.1".into()));
    // What fio's own JSON says: 15 172 943.2 ns, 65.6 I/Os per second of 4 KiB.
    let read = &result["measurements"][0]["read"];
    assert!((read["completion_ns"].as_f64().expect("a number") - 15_172_943.215).abs() < 0.01);
}

#[test]
fn standard_input_is_a_file_and_nothing_is_no_result() {
    let text = std::fs::read(case("dd-page-cache/dd.txt")).expect("a case");
    narrows()
        .args(["-"])
        .write_stdin(text)
        .assert()
        .code(1)
        .stdout(predicates::str::contains("cache_measured"));
    let nothing = narrows().args(["-"]).write_stdin("Hello\n").assert().code(2);
    nothing.stderr(predicates::str::contains("hint: narrows reads what lspci"));
}

#[test]
fn a_result_beside_a_capture_is_judged_in_the_same_report() {
    let directory = tempfile::tempdir().expect("a directory");
    let lsblk = directory.path().join("lsblk.txt");
    std::fs::write(&lsblk, "NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINT\nsda 8:0 0 1T 0 disk /srv\n")
        .expect("writable");
    let done =
        narrows().args(["--json"]).args([lsblk, case("dd-page-cache/dd.txt")]).output().expect("it runs");
    let report: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert!(codes(&report).contains(&"cache_measured"), "{report}");
    assert_eq!(report["findings"][0]["severity"], "limit");
}

#[test]
fn no_escape_sequence_of_a_text_reaches_the_terminal() {
    let hostile = "\u{9b}31mjob\u{202e}: (groupid=0, jobs=1): err= 0: pid=1\n  read: IOPS=100, BW=100MiB/s (105MB/s)(100MiB/1000msec)\n";
    let done = narrows().args(["--plain", "-"]).write_stdin(hostile).output().expect("it runs");
    assert!(done.stdout.is_ascii(), "{}", String::from_utf8_lossy(&done.stdout));
}

/// One text of each family of formats, as a person sees what was read and thought of it.
#[test]
fn texts_of_every_format_are_shown_as_before() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/results");
    let of_data = [
        "ior.json",
        "ior.csv",
        "elbencho.csv",
        "elbencho.json",
        "elbencho-live.csv",
        "iozone-throughput.txt",
        "vdbench-flatfile.txt",
        "yabs.json",
        "nvbandwidth.json",
        "disk.gnome-disks-benchmark",
    ];
    let of_cases = [
        "io500-lustre-cloud-2022",
        "io500-readme-two-processes",
        "vdbench-sd-8k-seqwrite-25s",
        "yabs-openvz-disk-2020",
        "nvbandwidth-8x4090",
        "kdiskmark-16-sata-ssd",
        "cdm51-840evo-sata",
        "bonnie-200-1g-of-24g",
        "dd-partly-cached-iostat",
    ];
    let places = of_data.iter().map(|name| (*name, data.join(name)));
    for (name, place) in places.chain(of_cases.iter().map(|name| (*name, case(name)))) {
        let done = narrows().args(["--plain"]).arg(place).output().expect("it runs");
        let text = String::from_utf8(done.stdout).expect("is ASCII");
        insta::assert_snapshot!(name, text);
    }
}

#[test]
fn a_stated_ceiling_is_physics_too() {
    let over = narrows()
        .args(["--json", "--ceiling", "wire=100MB/s"])
        .arg(case("dd-direct-disk/dd.txt"))
        .output()
        .expect("it runs");
    let report: Value = serde_json::from_slice(&over.stdout).expect("JSON");
    let result = &report["results"][0];
    // 202 MB/s through 100 MB/s.
    assert_eq!((over.status.code(), &result["against"][0]["standing"]), (Some(1), &"above".into()));
    assert!(codes(result).contains(&"above_ceiling"));
    let wrong = narrows().args(["--ceiling", "100"]).arg(case("dd-direct-disk/dd.txt")).assert().code(2);
    wrong.stderr(predicates::str::contains("NAME=RATE"));
}

#[test]
fn a_target_that_is_not_there_is_refused() {
    let refused = narrows().args(["/dev/no-such-disk"]).arg(case("dd-direct-disk/dd.txt")).assert().code(2);
    refused.stderr(predicates::str::contains("/dev/no-such-disk").and(predicates::str::contains("hint:")));
}

#[test]
fn results_of_two_tools_are_compared_in_what_both_state() {
    let compare = |a: &str, b: &str| {
        let done = narrows().args(["compare", "--json"]).args([case(a), case(b)]).output().expect("it runs");
        let report: Value = serde_json::from_slice(&done.stdout).expect("JSON");
        (done.status.code().expect("a status"), report)
    };
    // Both read 4 KiB at random, one at a time: 88.9 MB/s and 38.1 × 1.024.
    let (status, report) = compare("cdm-gen4-nvme/cdm.txt", "kdiskmark-sata-ssd/kdiskmark.txt");
    let workloads = report["workloads"].as_array().expect("workloads");
    let single = workloads.iter().find(|one| one["a_bytes_per_second"] == 88.9e6).expect("the single reads");
    let part = single["as_printed"].as_f64().expect("a difference");
    assert!((part - (38.1 * 1.024 / 88.9 - 1.0)).abs() < 1e-6, "{part}");
    assert_eq!((status, &single["verdict"]), (0, &"not_distinguishable".into()));
    assert!(report["unmatched"].as_array().is_some_and(|all| !all.is_empty()));
    let (status, report) = compare("dd-direct-disk/dd.txt", "fio-optane-qd1/fio.json");
    assert_eq!((status, &report["verdict"]), (2, &"not_comparable".into()));
    assert!(report["unmatched"][0]["reason"].as_str().is_some_and(|why| why.contains("pattern")));
}

#[test]
fn csv_has_a_line_for_each_direction() {
    let done = narrows().args(["--csv"]).arg(case("cdm-gen4-nvme/cdm.txt")).output().expect("it runs");
    let text = String::from_utf8(done.stdout).expect("text");
    assert_eq!(text.lines().count(), 9, "{text}");
    let done = narrows().args(["--csv"]).arg(case("dd-direct-disk/dd.txt")).output().expect("it runs");
    let plain = String::from_utf8(done.stdout).expect("text");
    assert_eq!(plain.lines().map(|line| line.split(',').count()).collect::<Vec<_>>(), [29, 29], "{plain}");
    assert!(text.contains("rate_bytes_per_second"));
}

#[test]
fn what_is_asked_of_a_paste_is_never_answered_for_this_machine() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("bad.txt");
    std::fs::write(&file, "Dear all,\nmy disk is slow.\n").expect("is written");
    for option in [&["--csv"][..], &["--machine"], &["--ceiling", "wire=1GB/s"]] {
        for what in [file.to_str().expect("is text"), "/"] {
            let said = narrows().args(option).arg(what).assert().code(2).stdout("");
            said.stderr(predicates::str::contains(format!("{} is for what was pasted", option[0])));
        }
    }
    narrows().args(["--reply", "/"]).assert().code(2).stdout("");
    // A machine without a result is no table of results.
    let lspci = "01:00.0 Non-Volatile memory controller: Sandisk Corp WD Black SN770 (rev 01)\n";
    let empty = narrows().args(["--csv", "-"]).write_stdin(lspci).assert().code(2).stdout("");
    empty.stderr(predicates::str::contains("there is no result"));
}
