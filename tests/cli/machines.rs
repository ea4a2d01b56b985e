//! The machines of `tests/machines`, judged by the real binary from a recording, as a user would.
//!
//! What each machine must say is written by hand from the facts in its `NOTES.md`; the views are golden files.

#![expect(clippy::disallowed_types, clippy::expect_used, reason = "a test runs the binary")]

use std::fs::File;
use std::process::Command;

use narrows::machine::snapshot;
use serde_json::Value;

/// Runs narrows on a machine and returns what it printed and its exit status.
fn narrows(machine: &str, args: &[&str]) -> (String, i32) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let name = format!("{machine}.tar.zst");
    let mut packed = File::create(directory.path().join(&name)).expect("an empty directory");
    snapshot::write(&crate::support::tree(machine), &mut packed, false).expect("the tree can be packed");
    let output = Command::new(crate::narrows_binary())
        .current_dir(directory.path())
        .args(args)
        .args([&name])
        .env("LC_ALL", "C.UTF-8")
        .env_remove("CLICOLOR_FORCE")
        .output()
        .expect("the binary runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(stderr, "", "{machine} {args:?}");
    (String::from_utf8(output.stdout).expect("text"), output.status.code().expect("an exit status"))
}

fn json(machine: &str, args: &[&str]) -> (Value, i32) {
    let (text, status) = narrows(machine, &[args, &["--json"]].concat());
    (serde_json::from_str(&text).expect("JSON"), status)
}

fn codes(report: &Value, severity: &str) -> Vec<String> {
    let findings = report["findings"].as_array().expect("findings").iter();
    let mut codes: Vec<String> = findings
        .filter(|finding| finding["severity"] == severity)
        .map(|finding| {
            format!(
                "{} {}",
                finding["code"].as_str().unwrap_or(""),
                finding["subject"].as_str().unwrap_or("")
            )
        })
        .collect();
    codes.sort();
    codes
}

fn ceiling_of(path: &Value, hop: &Value) -> f64 {
    let hops = path["hops"].as_array().expect("hops");
    let found =
        hops.iter().find(|candidate| candidate["id"] == *hop).expect("the limiting hop is on the path");
    found["ceiling"]["read"]["bytes_per_second"].as_f64().expect("a number")
}

#[test]
fn an_x4_drive_in_a_slot_that_the_firmware_keeps_at_x1() {
    let (report, status) = json("s3-x99-before", &["/dev/nvme2n1"]);
    let path = &report["paths"][0];
    assert_eq!(path["limiting_hop"]["read"], "link:0000:06:00.0", "{path:#}");
    // 2.0 x1 with 128-byte payloads: 420 MB/s of payload; hdparm read 373.6 MiB/s = 392 MB/s through it.
    let ceiling = ceiling_of(path, &path["limiting_hop"]["read"]);
    assert!((0.38e9..=0.45e9).contains(&ceiling), "{ceiling}");
    assert_eq!(codes(&report, "fault"), ["link_width_degraded 0000:06:00.0"]);
    assert_eq!(status, 1);
    let finding = &report["findings"][0];
    let advice = finding["advice"][0]["action"].as_str().expect("advice");
    assert!(advice.contains("PCI-EX16_2 Slot (Black) Bandwidth") && advice.contains("X4 Mode"), "{advice}");
    assert!(finding.to_string().contains("USB3_E56"), "the price of the setting is named: {finding:#}");
    let gain = finding["advice"][0]["gain_bytes_per_second"].as_f64().expect("a gain");
    assert!((1.1e9..1.5e9).contains(&gain), "x4 behind DMI 2.0 carries 1.68 GB/s: {gain}");
}

#[test]
fn after_the_setting_the_chipset_uplink_is_next() {
    let (report, _) = json("s3-x99-after", &["/dev/nvme2n1"]);
    let path = &report["paths"][0];
    let ends = [&path["limiting_hop"]["read"], &path["next_hop"]["read"]]
        .map(|id| id.as_str().unwrap_or("").to_owned());
    assert!(ends.iter().any(|id| id.starts_with("chipset:")), "{ends:?}");
    assert_eq!(codes(&report, "fault"), Vec::<String>::new());
}

#[test]
fn a_healthy_desktop_with_an_idle_gpu_and_an_x1_wifi_card_has_no_fault_and_no_limit() {
    let (report, status) = json("healthy-desktop", &[]);
    assert_eq!(codes(&report, "fault"), Vec::<String>::new());
    assert_eq!(codes(&report, "limit"), Vec::<String>::new());
    assert_eq!(status, 0);
}

#[test]
fn hard_disks_and_a_network_that_do_what_they_can_are_no_limit() {
    for machine in ["nas-raid6", "nfs-client", "nvme-tcp", "laptop-luks", "switch-card", "two-socket"] {
        let (report, status) = json(machine, &[]);
        assert_eq!(codes(&report, "fault"), Vec::<String>::new(), "{machine}");
        assert_eq!(codes(&report, "limit"), Vec::<String>::new(), "{machine}");
        assert_eq!(status, 0, "{machine}");
    }
}

#[test]
fn four_drives_on_a_switch_are_the_narrows_together_and_its_uplink_is_next() {
    let (report, _) = json("switch-card", &["/mnt/flash"]);
    let path = &report["paths"][0];
    assert_eq!(path["limiting_hop"]["read"], "device:nvme0n1");
    assert_eq!(path["next_hop"]["read"], "link:0000:04:00.0");
    let sentence = path["sentence"].as_str().expect("a sentence");
    assert!(sentence.contains("its four members (nvme0n1, nvme1n1, nvme2n1, nvme3n1)"), "{sentence}");
}

#[test]
fn every_machine_looks_as_it_did() {
    let targets = [
        ("s3-x99-before", "/dev/nvme2n1"),
        ("s3-x99-after", "/dev/nvme2n1"),
        ("healthy-desktop", "/"),
        ("switch-card", "/mnt/flash"),
        ("two-socket", "/data"),
        ("laptop-luks", "/"),
        ("nas-raid6", "/srv"),
        ("usb-480", "/dev/sdb"),
        ("nvme-tcp", "/mnt/store"),
        ("nfs-client", "/home"),
    ];
    for (machine, target) in targets {
        insta::assert_snapshot!(format!("{machine}-overview"), narrows(machine, &[]).0);
        insta::assert_snapshot!(format!("{machine}-target"), narrows(machine, &[target]).0);
    }
}

/// The rows of an overview, with what stands below each, between the titles and the findings.
fn rows(machine: &str) -> Vec<String> {
    let (text, _) = narrows(machine, &[]);
    let table = text.lines().skip_while(|line| !line.starts_with("target ")).skip(1);
    let mut rows: Vec<String> = Vec::new();
    for line in table.take_while(|line| !line.is_empty()) {
        match rows.last_mut().filter(|_| line.starts_with(' ')) {
            Some(row) => row.push_str(&format!("\n{line}")),
            None => rows.push(line.to_owned()),
        }
    }
    assert!(!rows.is_empty(), "{machine}: {text}");
    rows
}

#[test]
fn an_overview_in_a_pipe_cuts_nothing() {
    for machine in ["s3-x99-before", "laptop-luks", "nas-raid6", "two-socket", "switch-card", "nfs-client"] {
        for row in rows(machine) {
            assert!(!row.contains('…'), "{machine}: {row}");
        }
    }
}

#[test]
fn an_overview_names_encryption_and_arrays_and_each_fault_below_its_device() {
    assert!(rows("laptop-luks").iter().any(|row| row.contains("dm-crypt")), "{:#?}", rows("laptop-luks"));
    assert!(rows("nas-raid6").iter().any(|row| row.contains("md raid6")), "{:#?}", rows("nas-raid6"));
    let before = rows("s3-x99-before");
    let (faulty, sound): (Vec<_>, Vec<_>) = before.iter().partition(|row| row.contains("FAULT"));
    assert!(faulty.iter().any(|row| row.starts_with("/dev/nvme2n1")), "{before:#?}");
    assert!(faulty.iter().all(|row| row.contains("[link_width_degraded]")), "{before:#?}");
    for healthy in ["/dev/nvme0n1", "/dev/nvme1n1", "/dev/sda"] {
        assert!(sound.iter().any(|row| row.starts_with(healthy)), "{healthy}: {before:#?}");
    }
    assert!(rows("healthy-desktop").iter().all(|row| !row.contains("FAULT")));
}

#[test]
fn drives_of_one_model_that_are_limited_alike_are_one_row_with_their_count() {
    let disks: Vec<String> =
        rows("s3-x99-before").into_iter().filter(|row| row.contains("/dev/sd")).collect();
    assert_eq!(disks.len(), 1, "{disks:#?}");
    assert!(disks[0].starts_with("/dev/sda") && disks[0].contains("each: "), "{disks:#?}");
}
