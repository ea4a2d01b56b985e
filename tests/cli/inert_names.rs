//! Through every output: what a device calls itself is shown and not obeyed.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "the tests run binaries, make files for them, and may panic"
)]

use std::fs;
use std::path::Path;
use std::process::Command;

/// Active in HTML, in a terminal, in the order of reading, and in a shell.
const ACTIVE: &str = "<script>alert(1)</script>\"'><b onload=x>\u{1b}[31m\u{1b}]0;t\u{7}\u{202e}gnp\u{2066}\u{200f}$(reboot)`reboot`;&amp;&#x1b;|&\u{9b}2J";

/// A degraded drive that has that for every name. The kernel's name of a disk is a name only where it can be one.
fn hostile(dir: &Path) {
    let link = "\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x4, ASPM L1\n\t\tLnkSta:\tSpeed 8GT/s, Width x1\n";
    let lspci = format!(
        "00:01.0 PCI bridge [0604]: Intel {ACTIVE} Root Port [8086:a340]\n\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0\n\tPhysical Slot: {ACTIVE}\n\tCapabilities: [40] Express (v2) Root Port (Slot+), MSI 00\n{link}\n01:00.0 Non-Volatile memory controller [0108]: Samsung {ACTIVE} [144d:a808] (prog-if 02 [NVM Express])\n\tPhysical Slot: {ACTIVE}\n\tCapabilities: [70] Express (v2) Endpoint, MSI 00\n{link}"
    );
    let dmi = format!(
        "# dmidecode 3.3\nHandle 0x0001, DMI type 1, 27 bytes\nSystem Information\n\tManufacturer: {ACTIVE}\n\tProduct Name: {ACTIVE}\n\nHandle 0x0009, DMI type 9, 17 bytes\nSystem Slot Information\n\tDesignation: SLOT {ACTIVE}\n\tType: x4 PCI Express 3\n\tCurrent Usage: In Use\n\tLength: Long\n\tBus Address: 0000:01:00.0\n"
    );
    let lsblk = serde_json::json!({ "blockdevices": [
        { "name": "nvme0n1", "maj:min": "259:0", "size": 1_000_204_886_016_u64, "type": "disk", "tran": "nvme",
          "model": format!("M {ACTIVE}"), "label": ACTIVE, "mountpoint": format!("/mnt/{ACTIVE}"), "fstype": "ext4" },
        { "name": "sda$(reboot)", "size": 1_000_000_000, "type": "disk", "model": ACTIVE },
    ] });
    for (name, content) in [("lspci.txt", lspci), ("dmidecode.txt", dmi), ("lsblk.json", lsblk.to_string())] {
        fs::write(dir.join(name), content).expect("is ours");
    }
}

fn narrows(args: &[&str]) -> String {
    let output = Command::new(crate::narrows_binary()).args(args).output().expect("the binary runs");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Nothing that a terminal obeys or that turns the order of reading round.
fn assert_quiet(text: &str, what: &str) {
    let is_active = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!text.contains(is_active), "{what}: {}", text.escape_debug());
}

#[test]
fn what_a_device_calls_itself_is_inert_in_every_output() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    hostile(dir.path());
    let from = dir.path().to_str().expect("a path that is text");
    for args in [
        vec![],
        vec!["--plain"],
        vec!["nvme0n1"],
        vec!["--why", "link"],
        vec!["--color", "never", "/dev/nvme0n1"],
    ] {
        let args: Vec<&str> = match args.first() {
            Some(&"--why") => vec!["nvme0n1", "--why", "link", from],
            _ => [args.as_slice(), &[from]].concat(),
        };
        let text = narrows(&args);
        assert_quiet(&text, &args.join(" "));
        // A command that is proposed can be pasted: it names devices by kernel names only, or quotes.
        // What its owner is asked to run stands in quotes.
        for line in text.lines().filter(|line| line.contains("narrows /")) {
            let command = line.split('`').nth(1).unwrap_or(line);
            assert!(
                !command.contains("$(") && !command.contains(';') && line.matches('`').count() <= 2,
                "{line}"
            );
        }
    }
    let public = narrows(&["nvme0n1", "--plain", from]);
    assert!(public.is_ascii() && public.contains("--why link:0000:01:00.0 FILE..."), "{public}");
    let json = narrows(&["--json", from]);
    assert_quiet(&json, "--json");
    let report: serde_json::Value = serde_json::from_str(&json).expect("is JSON");
    assert!(strings(&report).iter().any(|text| text.contains("$(reboot)")), "the names are there");
    strings(&report).iter().for_each(|text| assert_quiet(&text.replace('\n', "\u{1}"), "a string of --json"));
}

fn strings(value: &serde_json::Value) -> Vec<&str> {
    match value {
        serde_json::Value::String(text) => vec![text],
        serde_json::Value::Array(values) => values.iter().flat_map(strings).collect(),
        serde_json::Value::Object(values) => values.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}
