//! `--export hwloc`: what it writes opens in the real lstopo, holds what was found, and is read back as the same machine.
//! And through every output: what a device calls itself is shown and not obeyed.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "the tests run binaries, make files for them, and may panic"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use narrows::capture::{self, Text, merge};
use narrows::machine::Machine;
use narrows::machine::pci::PciDevice;
use narrows::machine::root::Root;
use narrows::path::build;
use narrows::report::hwloc;
use narrows::report::view::{self, CheckReport};
use narrows::verdict::{self, Subject};
use quick_xml::Reader;
use quick_xml::events::Event;

const MACHINES: [&str; 10] = [
    "healthy-desktop",
    "laptop-luks",
    "nas-raid6",
    "nfs-client",
    "nvme-tcp",
    "s3-x99-after",
    "s3-x99-before",
    "switch-card",
    "two-socket",
    "usb-480",
];

fn check(machine: &Machine) -> CheckReport {
    let subjects: Vec<Subject> = build::all(machine).into_iter().map(Subject::of).collect();
    view::build(machine, &subjects, &verdict::judge(machine, &subjects))
}

fn machine(name: &str) -> Machine {
    Machine::read(&Root::from_tree(crate::support::tree(name)))
}

/// Runs a program of hwloc; `None`, aloud, where hwloc is not installed.
fn run(program: &str, args: &[&str]) -> Option<Output> {
    match Command::new(program).args(args).output() {
        Ok(output) => Some(output),
        Err(error) => {
            eprintln!("skipped: {program} cannot be run: {error}");
            None
        }
    }
}

/// What lstopo prints of a file, which it must take without a complaint.
fn lstopo(file: &Path) -> Option<String> {
    let path = file.to_str().expect("a path that is text");
    let info = run("hwloc-info", &["-i", path])?;
    assert!(info.status.success() && info.stderr.is_empty(), "{}", String::from_utf8_lossy(&info.stderr));
    let output = run("lstopo", &["-i", path, "--of", "console", "-v", "--whole-io"])?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaint.is_empty(), "{complaint}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn every_machine_opens_in_lstopo_with_all_that_was_found() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for name in MACHINES {
        let machine = machine(name);
        let report = check(&machine);
        let file = dir.path().join(format!("{name}.xml"));
        fs::write(&file, hwloc::export(&machine, &report)).expect("is ours");
        let Some(shown) = lstopo(&file) else { return };
        for finding in &report.findings {
            let code = finding.code.as_str();
            assert!(shown.contains(&format!("{code} (")), "{name}: {code} is not shown:\n{shown}");
        }
        for disk in machine.nics.values().filter(|nic| nic.pci.is_some()) {
            assert!(shown.contains(&format!("\"{}\"", disk.name)), "{name}: {}\n{shown}", disk.name);
        }
    }
}

#[test]
fn lstopo_draws_a_fault_in_colour_and_in_words() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let machine = machine("s3-x99-before");
    let file = dir.path().join("x99.xml");
    fs::write(&file, hwloc::export(&machine, &check(&machine))).expect("is ours");
    let path = file.to_str().expect("a path that is text");
    let Some(output) = run("lstopo", &["-i", path, "--of", "nativesvg", "-"]) else { return };
    if !output.status.success() {
        eprintln!("skipped: this lstopo cannot draw: {}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let picture = String::from_utf8_lossy(&output.stdout).to_lowercase();
    assert!(picture.contains("narrows: "), "{picture}");
    let is_coloured = ["rgb(255,128,128)", "rgb(255,230,128)"];
    assert!(is_coloured.iter().any(|colour| picture.contains(colour)), "{picture}");
}

#[test]
fn what_was_written_is_read_back_as_the_same_machine() {
    for name in MACHINES {
        let machine = machine(name);
        let xml = hwloc::export(&machine, &check(&machine));
        let again = merge::merge(vec![capture::hwloc::read(&Text::new("x.xml", xml.as_bytes()))]);
        assert!(!again.pci.is_empty() || machine.pci.is_empty(), "{name}");
        for (address, read) in &again.pci {
            let was = machine.pci.get(address).expect("was written");
            let state = |device: &PciDevice| {
                let link = &device.link;
                let ends = [&link.current_width, &link.max_width].map(|width| width.get());
                let speeds = [&link.current_speed, &link.max_speed].map(|speed| speed.get());
                (ends, speeds, device.parent, device.id.get(), device.class.get().map(|class| class >> 8))
            };
            assert_eq!(state(read), state(was), "{name}: {address}");
        }
        for (disk, read) in &again.block {
            let was = machine.block.get(disk).expect("was written");
            assert_eq!(
                (read.number.get(), read.model.get()),
                (was.number.get(), was.model.get()),
                "{name}: {disk}"
            );
        }
        let sizes = |machine: &Machine| -> Vec<_> {
            machine.cpus.nodes.iter().map(|node| (node.id, node.cpus.clone(), node.memory.get())).collect()
        };
        if !machine.cpus.nodes.is_empty() {
            assert_eq!(sizes(&again), sizes(&machine), "{name}");
        }
    }
}

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
            Some(&"--why") => vec!["nvme0n1", "--why", "link", "--from", from],
            _ => [args.as_slice(), &["--from", from]].concat(),
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
    assert!(narrows(&["--plain", "--from", from]).is_ascii());
    let json = narrows(&["--json", "--from", from]);
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

#[test]
fn what_a_device_calls_itself_stays_in_its_attribute_of_the_export() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    hostile(dir.path());
    let (from, file) = (dir.path().to_str().expect("text"), dir.path().join("out.xml"));
    let xml = narrows(&["--from", from, "--export", "hwloc"]);
    assert_quiet(&xml, "--export hwloc");
    fs::write(&file, &xml).expect("is ours");
    let mut reader = Reader::from_str(&xml);
    reader.config_mut().check_end_names = true;
    loop {
        match reader.read_event().expect("is XML") {
            Event::Eof => break,
            Event::Start(tag) | Event::Empty(tag) => {
                assert!(["topology", "object", "info"].contains(&tag.name().into_inner()), "{tag:?}");
                tag.attributes().for_each(|attribute| assert!(attribute.is_ok(), "{tag:?}"));
            }
            _ => {}
        }
    }
    if let Some(shown) = lstopo(&file) {
        assert!(shown.contains("link_width_degraded") && shown.contains("$(reboot)"), "{shown}");
    }
}

#[test]
fn an_export_overwrites_nothing_and_shares_standard_output_with_nothing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    hostile(dir.path());
    let from = dir.path().to_str().expect("text").to_owned();
    let file = dir.path().join("out.xml");
    let to = format!("hwloc={}", file.display());
    let lspci = format!("{from}/lspci.txt");
    assert!(
        narrows(&["--from", &lspci, "--export", &to]).contains("link_width_degraded"),
        "the report is there too"
    );
    let written = fs::read_to_string(&file).expect("was written");
    let again = |args: &[&str]| {
        let output = Command::new(crate::narrows_binary()).args(args).output().expect("the binary runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (status, complaint) = again(&["--from", &lspci, "--export", &to]);
    assert!(status == Some(2) && complaint.contains("overwrites nothing"), "{complaint}");
    assert_eq!(fs::read_to_string(&file).expect("is there"), written);
    let (status, complaint) = again(&["--from", &lspci, "--export", "hwloc", "--json"]);
    assert!(status == Some(2) && complaint.contains("hwloc=FILE"), "{complaint}");
}
