//! The published results of five systems, imported with the real binary: what was really measured, what limited it, and
//! what was not to be believed. `tests/systems/README.md` says where they are from.

#![expect(clippy::expect_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/systems").join(name)
}

fn machine(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines").join(name)
}

fn import(files: &[&str], more: &[&str]) -> (Value, i32) {
    let files: Vec<PathBuf> = files.iter().map(|name| file(name)).collect();
    let done = Command::new(crate::narrows_binary())
        .args(["--json"])
        .args(files)
        .args(more)
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&done.stderr);
    let report = serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("no report: {text}"));
    (report, done.status.code().expect("a status"))
}

fn result(report: &Value, index: usize) -> &Value {
    &report["results"][index]
}

fn finding<'v>(result: &'v Value, code: &str) -> &'v Value {
    let findings = result["findings"].as_array().expect("findings");
    findings.iter().find(|one| one["code"] == code).unwrap_or_else(|| panic!("no {code}: {result:#}"))
}

fn codes(result: &Value) -> Vec<&str> {
    let findings = result["findings"].as_array().expect("findings");
    findings.iter().filter_map(|one| one["code"].as_str()).collect()
}

fn text(value: &Value) -> String {
    value.to_string()
}

#[test]
fn s0_the_three_runs_came_from_memory() {
    let (report, status) = import(&["s0-fio.txt"], &[]);
    assert_eq!((report["results"].as_array().map(Vec::len), status), (Some(3), 1));
    for (index, (op, rate, jobs)) in
        [("read", 5622e6, 8), ("read", 7854e6, 24), ("write", 3261e6, 16)].iter().enumerate()
    {
        let one = result(&report, index);
        let measured = &one["measurements"][0];
        assert_eq!(measured[*op]["bytes_per_second"], *rate);
        assert_eq!(
            (&measured["workload"]["jobs"], &one["trusted"]),
            (&Value::from(*jobs), &Value::Bool(false))
        );
        assert!(
            one["command"].as_str().is_some_and(|command| command.contains(&format!("--numjobs={jobs}")))
        );
        assert_eq!(one["limiting_hop"]["kind"], "memory");
        let cached = text(&finding(one, "cache_measured")["evidence"]);
        // Latency, duration, and what was visited.
        for word in ["mean time within the submission", "measured time", "data that was visited"] {
            assert!(cached.contains(word), "{index}: {cached}");
        }
        assert!(codes(one).contains(&"too_short"));
    }
}

#[test]
fn s1_encryption_is_the_ceiling_of_every_layout() {
    for (name, trusted) in
        [("s1-single-luks.txt", true), ("s1-raid0-luks.txt", true), ("s1-raid1-luks.txt", false)]
    {
        let path = file("s1-capture.txt");
        let (report, status) = import(&[name], &["/mnt/raid0", path.to_str().expect("text")]);
        let one = result(&report, 0);
        assert_eq!((&one["trusted"], status), (&Value::Bool(trusted), 1), "{name}");
        assert!(text(finding(one, "crypto_cpu")).contains("dm-crypt"), "{name}");
        let read = &one["against"][0];
        assert_eq!((&read["kind"], &read["standing"]), (&Value::from("crypt"), &Value::from("at")), "{name}");
        assert!((0.95..1.06).contains(&read["fraction"].as_f64().expect("a number")), "{name} {read}");
        assert!(codes(one).contains(&"units_suspect"));
        if !trusted {
            assert_eq!(finding(one, "raid_resync")["severity"], "limit");
        }
    }
}

#[test]
fn s1_the_copy_is_far_below_the_cipher_and_the_cable() {
    let path = file("s1-capture.txt");
    let (report, _) = import(&["s1-copy.txt"], &[path.to_str().expect("text")]);
    let one = result(&report, 0);
    let rate = one["measurements"][1]["write"]["bytes_per_second"].as_f64().expect("a number");
    assert!((rate / 392.755e6 - 1.0).abs() < 1e-4, "{rate}");
    let against = one["against"].as_array().expect("both sides");
    let of = |kind: &str| {
        against.iter().find(|one| one["kind"] == kind).unwrap_or_else(|| panic!("no {kind}: {against:#?}"))
    };
    for kind in ["usb", "crypt"] {
        assert_eq!(of(kind)["standing"], "below", "{kind}");
        assert!(of(kind)["fraction"].as_f64().expect("a number") < 0.5, "{kind}");
    }
}

#[test]
fn s2_plateau_odd_point_and_drop_are_found_and_set_against_the_wire_and_the_drives() {
    let (report, status) =
        import(&["s2-iozone.txt"], &["--ceiling", "4x EDR=96GB/s", "--ceiling", "NVMe=102GB/s"]);
    assert_eq!(status, 1);
    let sweeps = report["sweeps"].as_array().expect("two series");
    let of = |label: &str| sweeps.iter().find(|sweep| sweep["label"] == label).expect("a series");
    let (writes, reads) = (of("initial writers"), of("readers"));
    assert_eq!(writes["shape"]["plateau"]["from"], 64.0);
    assert_eq!(writes["shape"]["drops"][0]["from"], 1024.0);
    let drop = writes["shape"]["drops"][0]["fraction"].as_f64().expect("a number");
    assert!((drop - 0.10).abs() < 0.011, "{drop}");
    assert_eq!(reads["shape"]["plateau"]["from"], 128.0);
    assert_eq!(reads["shape"]["anomalies"][0]["x"], 64.0);
    for (index, (of, share)) in [("4x EDR", 80.0 / 96.0), ("NVMe", 80.0 / 102.0)].iter().enumerate() {
        let efficiency = &reads["efficiency"][index];
        assert_eq!(efficiency["of"], *of);
        assert!((efficiency["fraction"].as_f64().expect("a number") - share).abs() < 1e-3, "{efficiency}");
    }
}

#[test]
fn s3_one_lane_and_then_the_chipset() {
    let import = |when: &str| {
        let path = machine(&format!("s3-x99-{when}"));
        import(&[&format!("s3-{when}.txt")], &[path.to_str().expect("text")])
    };
    let (before, status) = import("before");
    let one = result(&before, 0);
    // 373.60 MiB/s, which hdparm calls MB/sec.
    let rate = one["measurements"][0]["read"]["bytes_per_second"].as_f64().expect("a number");
    assert!((rate - 373.60 * 1_048_576.0).abs() < 1.0);
    assert!(codes(one).contains(&"units_suspect"));
    assert_eq!((&one["trusted"], &one["limiting_hop"]["kind"], status), (&true.into(), &"link".into(), 1));
    assert!(text(&one["limiting_hop"]["name"]).contains("PCIe 2.0 x1"), "{one}");
    assert_eq!(one["path_findings"][0]["code"], "link_width_degraded");
    let (after, _) = import("after");
    let one = result(&after, 0);
    assert_eq!((&one["trusted"], &one["limiting_hop"]["kind"]), (&true.into(), &"chipset".into()));
    let share = one["against"][0]["fraction"].as_f64().expect("a number");
    assert!((0.75..0.8).contains(&share), "{share}");
}

#[test]
fn s3_what_its_author_shows_tells_the_whole_story() {
    let has_story = |name: &str| {
        let (report, status) = import(&[name], &[]);
        let one = result(&report, 0);
        assert_eq!((&one["limiting_hop"]["kind"], status), (&"link".into(), 1), "{name}");
        let share = one["against"][0]["fraction"].as_f64().expect("a number");
        assert!((0.92..0.95).contains(&share), "{name}: {share}");
        let slot = &one["path_findings"][0];
        assert_eq!((&slot["code"], &slot["severity"]), (&"slot_limited".into(), &"limit".into()), "{name}");
        assert!(text(&slot["advice"]).contains("slot PCIEX16_2"), "{name}: {slot}");
        assert_eq!(report["paths"][0]["target"], "/dev/nvme2n1", "{name}");
        report
    };
    has_story("s3-terminal.txt");
    // The page shows the link and the rate once more, after the change.
    let page = has_story("s3-page.txt");
    let after = result(&page, 1);
    assert_eq!(after["trusted"], true);
    assert!(text(&after["limiting_hop"]["name"]).contains("PCIe 2.0 x4"), "{after}");
    let share = after["against"][0]["fraction"].as_f64().expect("a number");
    assert!((0.75..0.8).contains(&share), "{share}");
}

#[test]
fn what_a_post_comes_to_fits_a_screen() {
    for (name, most, first) in [
        ("s0-fio.txt", 40, "None of the 3 results is to be trusted: they show a cache, not the storage."),
        ("s3-terminal.txt", 40, "/dev/nvme2n1: read 392 MB/s is 93.3 %"),
        ("s3-page.txt", 50, "/dev/nvme2n1: read 392 MB/s is 93.3 %"),
    ] {
        let done = Command::new(crate::narrows_binary()).arg(file(name)).output().expect("it runs");
        let shown = String::from_utf8(done.stdout).expect("text");
        assert!(shown.lines().count() <= most && shown.starts_with(first), "{name}:\n{shown}");
        let whole = Command::new(crate::narrows_binary()).arg(file(name)).arg("--verbose").output();
        let whole = String::from_utf8(whole.expect("it runs").stdout).expect("text");
        assert!(
            whole.contains("not so when") && whole.lines().count() > shown.lines().count(),
            "{name}:\n{whole}"
        );
    }
}

#[test]
fn s3_a_result_of_the_wide_slot_is_above_the_narrow_one() {
    let path = machine("s3-x99-before");
    let (report, status) = import(&["s3-after.txt"], &[path.to_str().expect("text")]);
    let one = result(&report, 0);
    assert_eq!((&one["trusted"], status), (&Value::Bool(false), 1));
    let above = finding(one, "above_ceiling");
    assert_eq!((&above["severity"], &above["confidence"]), (&"fault".into(), &"high".into()));
    assert_eq!(one["against"][0]["standing"], "above");
}

#[test]
fn s4_a_virtual_machine_of_sixty() {
    let (report, _) = import(&["s4-vm.xml"], &[]);
    let one = result(&report, 0);
    assert_eq!(one["tool"], "diskspd");
    let measured = &one["measurements"][0];
    let iops = measured["read"]["iops"].as_f64().expect("a number");
    assert!((iops - 16_300.0).abs() < 1.0, "{iops}");
    // 60 of them are the 978 thousand of the paper.
    assert!((60.0 * iops / 978e3 - 1.0).abs() < 1e-3);
    assert_eq!(
        (&measured["workload"]["jobs"], &measured["workload"]["queue_depth"]),
        (&24.into(), &4.into())
    );
    assert_eq!(one["trusted"], true, "{one:#}");
}
