//! `narrows compare`: what is told apart and what is not, what is refused, and what it prints.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "tests write files, run the program, update the schema and may panic"
)]

use std::path::PathBuf;

use crate::schema;
use assert_cmd::Command;
use narrows::compare::{Comparison, Input, Verdict, compare, compare_all};
use narrows::report::document::{Audience, Style};
use narrows::report::text::compare::document;
use proptest::prelude::*;
use serde_json::{Value, json};

fn render(report: &Comparison, style: &Style) -> String {
    document(report, Audience::of(style)).text(style)
}

/// 40 samples around `mb` MB/s that wobble by `share`, seeded by `turn`.
fn series(mb: f64, share: f64, turn: u64) -> Vec<f64> {
    let noise =
        |i: u64| ((i + turn).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / (1u64 << 23) as f64 - 1.0;
    (0..40).map(|i| mb * 1e6 * (1.0 + share * noise(i))).collect()
}

fn run(pattern: &str, depth: u32, series: &[f64]) -> Value {
    json!({
        "direction": "read",
        "trusted": true,
        "measurement": {
            "workload": { "pattern": pattern, "block_size": 1_048_576, "queue_depth": depth, "duration_ns": 4_000_000_000u64 },
            "access": "direct",
            "bytes_per_second": series.iter().sum::<f64>() / series.len().max(1) as f64,
            "series": series,
            "latency_ns": {
                "p50": 80_000, "p99": 200_000, "p999": 900_000, "p9999": null,
                "tenths": { "p50": [80_000, 80_500, 79_500, 80_000, 80_200, 79_800, 80_000, 80_100, 79_900, 80_000] }
            },
            "errors": 0,
            "generator": { "engine": "io_uring (…)", "queue_depth": depth },
            "region_bytes": 536_870_912
        }
    })
}

fn result(kernel: &str, width: &str, runs: &[Value]) -> Value {
    json!({
        "schema": "narrows/check/1",
        "machine": { "kernel": kernel, "cores": 6, "reason": "board: not there" },
        "paths": [{
            "target": "/dev/nvme0n1",
            "hops": [{
                "id": "link:0000:02:00.0", "kind": "link", "name": format!("PCIe 2.0 {width}"),
                "ceiling": { "read": { "bytes_per_second": 390e6, "facts": [{ "fact": "width", "value": width, "source": "" }] } }
            }],
            "runs": runs
        }]
    })
}

fn parse(name: &str, value: &Value) -> Input {
    Input::parse(name, &value.to_string()).expect("is a result")
}

fn compared(a: &Value, b: &Value) -> Comparison {
    compare(&parse("a.json", a), &parse("b.json", b), 0.01)
}

fn one(run: Value) -> Value {
    result("6.1.0", "x1", &[run])
}

#[test]
fn a_faster_slot_is_faster_and_the_inventory_says_why() {
    // The slot of the X99 board: 374 MB/s with one lane, 1243 MB/s with four.
    let a = result("6.1.0", "x1", &[run("sequential", 8, &series(374.0, 0.02, 1))]);
    let b = result("6.1.0", "x4", &[run("sequential", 8, &series(1243.0, 0.02, 2))]);
    let found = compared(&a, &b);
    assert_eq!(found.verdict, Verdict::Faster);
    let difference = found.workloads[0].difference.expect("they can be compared");
    assert!((difference.relative - (1243.0 / 374.0 - 1.0)).abs() < 0.05, "{difference:?}");
    assert!(
        difference.interval[0] < difference.bytes_per_second
            && difference.bytes_per_second < difference.interval[1]
    );
    let changes: Vec<&str> = found.inventory.iter().map(|change| change.what.as_str()).collect();
    assert_eq!(changes, ["link:0000:02:00.0: name", "link:0000:02:00.0: width"]);
    assert_eq!(compared(&b, &a).verdict, Verdict::Slower);
}

#[test]
fn noise_and_small_differences_are_not_told_apart() {
    let a = one(run("sequential", 8, &series(500.0, 0.2, 1)));
    let noisy = one(run("sequential", 8, &series(505.0, 0.2, 99)));
    assert_eq!(compared(&a, &noisy).verdict, Verdict::NotDistinguishable);
    assert_eq!(compared(&a, &a).verdict, Verdict::NotDistinguishable);
    // 0.5 % that is sure but below the threshold of 1 %.
    let (x, y) = (one(run("sequential", 8, &[500e6; 40])), one(run("sequential", 8, &[502.5e6; 40])));
    assert_eq!(compared(&x, &y).verdict, Verdict::NotDistinguishable);
    assert_eq!(compare(&parse("x", &x), &parse("y", &y), 0.0).verdict, Verdict::Faster);
}

#[test]
fn faster_here_and_slower_there_is_mixed() {
    let of = |sequential: f64, random: f64| {
        let runs =
            [run("sequential", 8, &series(sequential, 0.02, 3)), run("random", 32, &series(random, 0.02, 4))];
        result("6.1.0", "x1", &runs)
    };
    assert_eq!(compared(&of(400.0, 200.0), &of(800.0, 100.0)).verdict, Verdict::Mixed);
    assert_eq!(compared(&of(400.0, 200.0), &of(800.0, 200.0)).verdict, Verdict::Faster);
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_fields_that_differ() {
    let a = one(run("sequential", 8, &series(500.0, 0.02, 1)));
    let other_depth = compared(&a, &one(run("sequential", 32, &series(500.0, 0.02, 1))));
    assert_eq!((other_depth.verdict, other_depth.workloads.len()), (Verdict::NotComparable, 0));
    assert!(other_depth.unmatched[0].reason.contains("queue_depth (8, 32)"), "{:?}", other_depth.unmatched);

    let mut buffered = run("sequential", 8, &series(500.0, 0.02, 1));
    buffered["measurement"]["access"] = json!("buffered");
    let refused = compared(&a, &one(buffered));
    assert_eq!(refused.verdict, Verdict::NotComparable);
    assert_eq!(refused.workloads[0].reason.as_deref(), Some("access differs: direct, buffered"));
    assert_eq!(refused.workloads[0].difference, None);

    let short = compared(&a, &one(run("sequential", 8, &series(900.0, 0.02, 1)[..10])));
    assert_eq!(short.verdict, Verdict::NotComparable);
    assert!(
        short.workloads[0].reason.as_deref().is_some_and(|why| why.contains("the run of B is too short"))
    );
}

#[test]
fn a_result_without_a_series_is_compared_by_its_interval() {
    let bare = |rate: f64, half: f64| {
        let mut run = run("sequential", 8, &[]);
        run["measurement"]["bytes_per_second"] = json!(rate);
        run["measurement"]["ci95"] = json!([rate - half, rate + half]);
        json!({ "runs": [run] })
    };
    assert_eq!(compared(&bare(100e6, 2e6), &bare(110e6, 2e6)).verdict, Verdict::Faster);
    assert_eq!(compared(&bare(100e6, 20e6), &bare(110e6, 20e6)).verdict, Verdict::NotDistinguishable);
}

#[test]
fn doubts_about_a_run_are_passed_on() {
    let mut doubtful = run("sequential", 8, &series(500.0, 0.02, 1));
    doubtful["trusted"] = json!(false);
    doubtful["measurement"]["cut_short"] = json!("interrupted");
    doubtful["measurement"]["errors"] = json!(3);
    let found = compared(&one(run("sequential", 8, &series(500.0, 0.02, 1))), &one(doubtful));
    assert_eq!(
        found.workloads[0].cautions,
        ["B: the run is not trusted", "B: the run was cut short: interrupted", "B: 3 I/Os failed"]
    );
}

/// A run whose 99.9th percentile in each tenth of its time is this many µs.
fn with_tail(tenths: [u64; 10]) -> Value {
    let mut run = run("random", 1, &series(100.0, 0.02, 3));
    let tenths: Vec<u64> = tenths.iter().map(|us| us * 1000).collect();
    run["measurement"]["latency_ns"]["p999"] = json!(tenths.iter().sum::<u64>() / 10);
    run["measurement"]["latency_ns"]["tenths"]["p999"] = json!(tenths);
    one(run)
}

#[test]
fn a_longer_tail_is_found_at_its_percentile_although_the_rate_is_the_same() {
    let short = with_tail([900, 910, 890, 900, 905, 895, 900, 900, 910, 890]);
    let long = with_tail([1900, 1910, 1890, 1900, 1905, 1895, 1900, 1900, 1910, 1890]);
    let found = compared(&short, &long);
    assert_eq!((found.verdict, found.latency_verdict), (Verdict::NotDistinguishable, Verdict::Slower));
    let verdict = |percentile: &str| {
        found.workloads[0].latency.iter().find(|pair| pair.percentile == percentile).map(|pair| pair.verdict)
    };
    assert_eq!(verdict("p50"), Some(Verdict::NotDistinguishable));
    assert_eq!(verdict("p99"), Some(Verdict::NotComparable));
    assert_eq!(verdict("p99.9"), Some(Verdict::Slower));
    assert_eq!(verdict("p99.99"), None);
    assert_eq!(compared(&long, &short).latency_verdict, Verdict::Faster);
    // One stall in one tenth is no longer tail.
    let once = with_tail([900, 910, 890, 900, 9005, 895, 900, 900, 910, 890]);
    assert_eq!(compared(&short, &once).latency_verdict, Verdict::NotDistinguishable);
    let (_dir, paths) = files(&short, &long);
    narrows(&paths, &[]).code(1);
}

#[test]
fn latencies_of_runs_that_differ_in_depth_are_not_compared() {
    let mut deeper = run("random", 1, &series(100.0, 0.02, 3));
    deeper["measurement"]["generator"]["queue_depth"] = json!(16);
    let found = compared(&one(run("random", 1, &series(100.0, 0.02, 3))), &one(deeper));
    assert_eq!((found.verdict, found.latency_verdict), (Verdict::NotComparable, Verdict::NotComparable));
    assert!(found.workloads[0].latency.is_empty());
}

/// What `narrows measure --as kdiskmark --json` says of a test, and of a mixed one.
fn bench(rate: f64, depth: u32) -> Value {
    let side = |rate: f64| {
        json!({ "bytes_per_second": rate, "ci95": [rate * 0.99, rate * 1.01], "iops": 1.0,
                "latency_ns": { "p50": 80_000 } })
    };
    let load = |percent: u8| {
        json!({ "pattern": "random", "block_size": 4096, "queue_depth": depth, "parallel": { "threads": 1 },
                "write_percent": percent, "buffered": false })
    };
    json!({
        "schema": "narrows/measure/1",
        "target": { "name": "/srv", "kind": "scratch", "size_bytes": 1 << 30 },
        "results": [
            { "name": "RND4K Q32T1 read", "load": load(0), "read": side(rate), "write": null, "trusted": true,
              "errors": 0, "series": vec![rate; 40], "checks": { "generator": { "queue_depth": depth } } },
            { "name": "RND4K Q32T1 70:30", "load": load(30), "read": side(rate), "write": side(rate / 2.0),
              "both": side(rate * 1.5), "trusted": true, "errors": 0, "series": vec![rate * 1.5; 40] },
            { "name": "samples", "load": null, "read": side(1.0), "write": null, "series": [] }
        ]
    })
}

#[test]
fn results_of_a_bench_are_compared_test_by_test() {
    let found = compared(&bench(100e6, 32), &bench(120e6, 32));
    let names: Vec<&str> = found.workloads.iter().map(|workload| workload.workload.as_str()).collect();
    assert_eq!(names, ["RND4K Q32T1 read", "RND4K Q32T1 70:30"]);
    assert!(found.workloads.iter().all(|workload| workload.verdict == Verdict::Faster), "{found:?}");
    assert_eq!(found.workloads[1].a_bytes_per_second.get(), 150e6);
    assert_eq!(compared(&bench(100e6, 32), &bench(100e6, 4)).unmatched.len(), 4);
}

#[test]
fn several_results_are_compared_with_the_first_and_their_intervals_hold_together() {
    let of = |mb: f64, turn: u64| one(run("sequential", 8, &series(mb, 0.02, turn)));
    let (reference, same, faster) = (of(374.0, 1), of(374.0, 2), of(500.0, 3));
    let others = [parse("b.json", &same), parse("c.json", &faster)];
    let all = compare_all(&parse("a.json", &reference), &others, 0.01).expect("two results");
    let verdicts: Vec<Verdict> = all.all().map(|one| one.verdict).collect();
    assert_eq!(verdicts, [Verdict::NotDistinguishable, Verdict::Faster]);
    // With two comparisons each interval is wider than that of one alone.
    let width = |one: &Comparison| {
        let [low, high] = one.workloads[0].difference.expect("an interval").interval;
        high - low
    };
    assert!(width(&all) > width(&compared(&reference, &same)));
    let text =
        render(&all, &Style { colour: false, width: 100, unicode: true, plain: false, verbose: false });
    assert!(text.contains("c.json is faster than the reference"), "{text}");
    assert!(text.contains("the reference and b.json cannot be told apart"), "{text}");
    assert!(compare_all(&parse("a.json", &reference), &[], 0.01).is_none());
}

#[test]
fn a_series_that_is_not_of_the_rate_beside_it_is_refused() {
    let mut wrong = run("sequential", 8, &series(374.0, 0.02, 1));
    wrong["measurement"]["bytes_per_second"] = json!(900e6);
    let found = compared(&one(wrong), &one(run("sequential", 8, &series(374.0, 0.02, 2))));
    assert_eq!(found.verdict, Verdict::NotComparable);
    assert!(
        found.workloads[0].reason.as_deref().is_some_and(|why| why.contains("not of one run")),
        "{found:?}"
    );
}

#[test]
fn rungs_of_a_ladder_and_cells_of_a_lab_are_compared_each_with_its_like() {
    let load = json!({ "pattern": "sequential", "block_size": 1_048_576, "queue_depth": 8, "parallel": { "threads": 1 }, "write_percent": 0, "buffered": false });
    let rate = |mb: f64| json!({ "bytes_per_second": mb * 1e6, "ci95": [mb * 0.99e6, mb * 1.01e6], "iops": mb, "trusted": true });
    let ladder = |mb: f64| {
        json!({ "schema": "narrows/ladder/1", "ladders": [{ "load": load, "rungs": [
        { "id": "device:vda", "name": "vda", "measurement": rate(mb), "trusted": true },
        { "id": "filesystem:/", "name": "ext4", "measurement": rate(500.0), "trusted": true }] }] })
    };
    let found = compared(&ladder(600.0), &ladder(900.0));
    let verdicts: Vec<Verdict> = found.workloads.iter().map(|workload| workload.verdict).collect();
    assert_eq!(verdicts, [Verdict::Faster, Verdict::NotDistinguishable]);
    assert_eq!(found.told_apart(), (1, 2));
    let text =
        render(&found, &Style { colour: false, width: 100, unicode: true, plain: false, verbose: false });
    assert!(text.contains("B is faster than A in 1 of 2 workloads"), "{text}");
    let lab = |cell: &str| json!({ "cells": [{ "name": cell, "measured": [{ "test": "SEQ", "load": load, "measurement": rate(700.0), "trusted": true }] }] });
    assert_eq!(compared(&lab("raid0"), &lab("raid0")).workloads.len(), 1);
    assert!(compared(&lab("raid0"), &lab("raid1")).workloads.is_empty());
}

#[test]
fn plain_text_names_no_server_no_serial_and_no_directory() {
    let of = |server: &str, serial: &str| {
        json!({
            "machine": { "kernel": "6.1" },
            "paths": [{ "hops": [
                { "id": format!("remote:{server}:/export/alice"), "kind": "remote", "name": format!("NFS server {server}"),
                  "ceiling": { "read": { "facts": [{ "fact": "address", "value": "10.1.2.3" }] } } },
                { "id": "device:sda", "kind": "device", "name": "disk",
                  "ceiling": { "read": { "facts": [{ "fact": "serial number", "value": serial },
                                                   { "fact": "wwid", "value": format!("naa.5002538{serial}") }] } } }
            ] }],
            "runs": [run("random", 1, &series(100.0, 0.02, 3))]
        })
    };
    let (a, b) = (of("zolder.example.org", "S5GXNX0"), of("kelder.example.org", "WD-WX123"));
    let found = compare(&parse("/home/alice/before.json", &a), &parse("/home/alice/after.json", &b), 0.01);
    let plain = render(&found, &Style::PLAIN);
    for secret in ["alice/", "zolder", "kelder", "S5GXNX0", "WD-WX123", "naa.5002538S"] {
        assert!(!plain.contains(secret), "{secret}: {plain}");
    }
    assert!(plain.contains("before.json") && plain.contains("serial number: one -> another"), "{plain}");
    assert!(plain.contains("name1.example.org") && plain.contains("name3.example.org"), "{plain}");
    let shown =
        render(&found, &Style { colour: false, width: 100, unicode: true, plain: false, verbose: false });
    assert!(shown.contains("S5GXNX0") && shown.contains("zolder.example.org"), "{shown}");
}

fn several() -> Vec<Comparison> {
    let a = one(run("sequential", 8, &series(374.0, 0.02, 1)));
    let b = result(
        "6.12.0",
        "x4",
        &[run("sequential", 8, &series(1243.0, 0.02, 2)), run("random", 1, &series(9.0, 0.1, 2))],
    );
    let hostile = result("6.1\u{1b}[2J", "x1\u{202e}", &[run("sequential", 8, &series(374.0, 0.02, 1))]);
    vec![compared(&a, &b), compared(&b, &a), compared(&a, &a), compared(&a, &hostile)]
}

#[test]
fn the_text_of_a_comparison() {
    insta::assert_snapshot!(render(
        &several()[0],
        &Style { colour: false, width: 100, unicode: true, plain: false, verbose: false }
    ));
}

#[test]
fn text_stays_within_its_width_and_obeys_nothing() {
    for comparison in several() {
        let plain = render(&comparison, &Style::PLAIN);
        assert!(plain.bytes().all(|b| b == b'\n' || (b' '..=b'~').contains(&b)), "{plain}");
        assert!(plain.lines().all(|line| line.len() <= 78), "{plain}");
    }
}

#[test]
fn every_comparison_follows_the_schema_and_survives_json() {
    let validator = jsonschema::validator_for(&schema::of("compare")).expect("is a schema");
    for comparison in several() {
        let json = serde_json::to_value(&comparison).expect("serialises");
        let errors: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
        let text = serde_json::to_string(&comparison).expect("serialises");
        let back: Comparison = serde_json::from_str(&text).expect("deserialises");
        assert_eq!(back.workloads.len(), comparison.workloads.len());
    }
    assert!(!validator.is_valid(&json!({ "schema": "narrows/compare/1" })));
}

fn files(a: &Value, b: &Value) -> (tempfile::TempDir, [PathBuf; 2]) {
    let dir = tempfile::tempdir().expect("a directory");
    let paths = [dir.path().join("a.json"), dir.path().join("b.json")];
    for (path, value) in paths.iter().zip([a, b]) {
        std::fs::write(path, value.to_string()).expect("is written");
    }
    (dir, paths)
}

fn narrows(paths: &[PathBuf; 2], more: &[&str]) -> assert_cmd::assert::Assert {
    Command::new(crate::narrows_binary()).arg("compare").args(paths).args(more).assert()
}

#[test]
fn the_exit_status_is_the_verdict() {
    let slow = one(run("sequential", 8, &series(374.0, 0.02, 1)));
    let fast = one(run("sequential", 8, &series(1243.0, 0.02, 1)));
    let other = one(run("random", 8, &series(374.0, 0.02, 1)));
    let (_dir, paths) = files(&slow, &fast);
    let json = narrows(&paths, &["--json"]).code(1).get_output().stdout.clone();
    let json: Value = serde_json::from_slice(&json).expect("is JSON");
    assert_eq!((&json["schema"], &json["verdict"]), (&json!("narrows/compare/1"), &json!("faster")));
    let (_dir, paths) = files(&slow, &slow);
    narrows(&paths, &[]).code(0);
    let (_dir, paths) = files(&slow, &other);
    narrows(&paths, &[]).code(2);
    let (_dir, paths) = files(&slow, &json!({ "schema": "narrows/check/1", "paths": [] }));
    let said = narrows(&paths, &[]).code(2).get_output().stderr.clone();
    assert!(String::from_utf8_lossy(&said).contains("holds no measurement"), "{said:?}");
    std::fs::remove_file(&paths[1]).expect("is removed");
    narrows(&paths, &[]).code(2);
}

proptest! {
    #[test]
    fn foreign_json_never_panics(text in "[\\[\\]{}:,\"a-z0-9.eE-]{0,80}", rate in any::<f64>(), depth in any::<i64>()) {
        let _ = Input::parse("x", &text);
        let odd = json!({ "runs": [{ "measurement": {
            "workload": { "queue_depth": depth, "block_size": text, "pattern": null },
            "bytes_per_second": rate, "series": [rate, 1, "x"], "ci95": [rate, 0] } }] });
        if let Ok(input) = Input::parse("x", &odd.to_string()) {
            let _ = render(&compare(&input, &input, 0.01), &Style::PLAIN);
        }
    }
}

#[test]
fn two_runs_of_one_source_are_told_apart_once_in_twenty_times() {
    let told_apart = |turn: u64| {
        let a = one(run("random", 1, &series(100.0, 0.2, turn * 1000)));
        let b = one(run("random", 1, &series(100.0, 0.2, turn * 1000 + 500)));
        compare(&parse("a", &a), &parse("b", &b), 0.0).verdict != Verdict::NotDistinguishable
    };
    let count = (0..400).filter(|turn| told_apart(*turn)).count();
    assert!(count <= 36, "{count} of 400, where 20 are expected");
}

fn asked(words: &[&str]) -> (Option<i32>, String, String) {
    let out = Command::cargo_bin("narrows").expect("it is built").arg("compare").args(words).output();
    let out = out.expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (out.status.code(), text(&out.stdout), text(&out.stderr))
}

/// The machine of S3 before and after the firmware gave its slot four lanes, as records.
#[test]
fn two_machines_are_compared_by_what_each_path_may_do() {
    let of = |when: &str| format!("tests/machines/s3-x99-{when}/machine.tree");
    let (code, stdout, _) = asked(&[&of("before"), &of("after")]);
    assert_eq!(code, Some(1));
    insta::assert_snapshot!("s3_before_and_after", stdout);
    let (code, stdout, _) = asked(&[&of("after"), &of("after"), "--json"]);
    let found: Comparison = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!((code, found.verdict), (Some(0), Verdict::NotDistinguishable));
    assert!(found.workloads.is_empty() && found.paths.len() == 10 && found.inventory.is_empty());
    let (_, public, _) = asked(&[&of("before"), "tests/machines/switch-card/machine.tree", "--plain"]);
    assert!(!public.contains("/mnt/flash"), "{public}");
    assert!(public.starts_with("A and B have no path in common"), "{public}");
}

/// What a shell hands over as pipes is there once.
#[test]
fn captures_from_pipes_are_compared_and_what_is_not_known_is_no_sameness() {
    let narrows = assert_cmd::cargo::cargo_bin("narrows");
    let script = "\"$0\" compare <(cat \"$1\") <(cat \"$1\")";
    let capture = "tests/cases/008-mtca-pex8725-pex8748-cascade/dmesg.txt";
    let out = Command::new("bash").args(["-c", script]).arg(narrows).arg(capture).output().expect("it runs");
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert_eq!(out.status.code(), Some(0), "{said} {}", String::from_utf8_lossy(&out.stderr));
    assert!(said.contains("can get as much as in A."), "{said}");
    let mdstat = "tests/cases/067-md-raid5-24nvme-numa-asymmetry/mdstat.txt";
    let (code, stdout, stderr) = asked(&[mdstat, mdstat]);
    assert_eq!(code, Some(0), "{stdout} {stderr}");
    assert!(stdout.contains("is not known of both") && !stdout.contains("as much as in A"), "{stdout}");
}

#[test]
fn a_machine_is_not_compared_with_a_measurement_nor_with_two_others() {
    let machine = "tests/machines/s3-x99-before/machine.tree";
    let (code, _, stderr) = asked(&[machine, "tests/systems/s3-before.txt"]);
    assert!(code == Some(2) && stderr.contains("hint: compare two results"), "{stderr}");
    let (code, _, stderr) = asked(&[machine, machine, machine]);
    assert!(code == Some(2) && stderr.contains("--fleet"), "{stderr}");
    let (code, _, stderr) = asked(&[machine, "README.md"]);
    assert!(code == Some(2) && stderr.contains("captures of two machines"), "{stderr}");
    // No text at all, and no archive.
    let dir = tempfile::tempdir().expect("a temporary directory");
    let bytes = dir.path().join("bytes");
    std::fs::write(&bytes, [0xff, 0xfe, 0x00, 0x9f]).expect("is ours");
    let (code, _, stderr) = asked(&[bytes.to_str().expect("a path"), machine]);
    assert!(code == Some(2) && stderr.contains("hint: compare results"), "{stderr}");
}
