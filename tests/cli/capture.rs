//! Other people's machines through the real binary: what is pasted, packed or collected by the script is one machine.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "the tests run the binary, make files for it, and may panic"
)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// A drive of four lanes of PCIe 4.0 behind a port that can do the same, as `grep . /sys/…` lists them. Hand-made.
fn listing(speed: &str, width: u8) -> String {
    let port = "/sys/devices/pci0000:00/0000:00:01.0";
    let drive = format!("{port}/0000:01:00.0");
    let mut lines = String::new();
    for (dir, class, id) in [(port, "0x060400", "0x460d"), (&drive, "0x010802", "0xa80a")] {
        for (name, value) in [
            ("class", class),
            ("vendor", "0x8086"),
            ("device", id),
            ("current_link_speed", speed),
            ("current_link_width", &width.to_string()),
            ("max_link_speed", "16.0 GT/s PCIe"),
            ("max_link_width", "4"),
        ] {
            lines += &format!("{dir}/{name}:{value}\n");
        }
    }
    lines
}

struct Said {
    out: String,
    err: String,
    status: Option<i32>,
}

impl Said {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}{}", self.out, self.err))
    }

    fn codes(&self) -> Vec<String> {
        let findings = self.json()["findings"].as_array().cloned().unwrap_or_default();
        findings.iter().map(|finding| finding["code"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

fn narrows(args: &[&str], stdin: &[u8]) -> Said {
    let mut child = Command::new(crate::narrows_binary())
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut input = child.stdin.take().expect("is piped");
    let stdin = stdin.to_vec();
    let writer = std::thread::spawn(move || {
        // A reader that has seen enough closes the pipe.
        let _ = input.write_all(&stdin);
    });
    let output = child.wait_with_output().expect("ends");
    writer.join().expect("the writer ends");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Said { out: text(output.stdout), err: text(output.stderr), status: output.status.code() }
}

fn from(dir: &Path, more: &[&str]) -> Said {
    let mut args = more.to_vec();
    args.extend([dir.to_str().expect("a path that is text")]);
    narrows(&args, b"")
}

fn directory(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (name, content) in files {
        let at = dir.path().join(name);
        fs::create_dir_all(at.parent().expect("has one")).expect("is ours");
        fs::write(at, content).expect("is ours");
    }
    dir
}

#[test]
fn virtual_disks_that_differ_in_their_names_only_are_one_row_with_the_reason_once() {
    let mut text = String::from("$ lsblk\nNAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS\n");
    let mut functions = String::from("$ lspci\n");
    for (number, letter) in ('a'..='p').enumerate() {
        text += &format!("vd{letter} 253:{} 0 50G 0 disk\n", number * 16);
        functions +=
            &format!("00:{:02x}.0 SCSI storage controller: Red Hat, Inc. Virtio block device\n", number + 4);
    }
    // Another disk stands apart.
    text += "sda 8:0 0 50G 0 disk\n";
    let said = narrows(&["-"], (text + &functions).as_bytes());
    let table: Vec<&str> = said
        .out
        .lines()
        .skip_while(|line| !line.starts_with("target"))
        .take_while(|line| !line.is_empty())
        .collect();
    let golden = "\
target            on             at most  narrowest hop
/dev/sda          model unknown  unknown  no hop of this path has a known ceiling (its model is not
                                          known)
/dev/vd[a-p] ×16  virtio device  unknown  no hop of this path has a known ceiling (virtio device: a
                                          virtual disk is as fast as its host lets it be; adapter
                                          virtio-blk: what a virtual adapter carries is the host's)";
    assert_eq!(table.join("\n"), golden);
}

#[test]
fn a_pasted_text_is_judged_like_the_machine_that_it_is_from() {
    let said = narrows(&["--json", "-"], listing("16.0 GT/s PCIe", 2).as_bytes());
    assert_eq!((said.err.as_str(), said.status), ("", Some(1)));
    let report = said.json();
    assert_eq!(report["machine"]["inputs"][0]["name"], "standard input");
    assert_eq!(report["machine"]["inputs"][0]["kinds"][0], "files of /sys and /proc");
    assert_eq!(report["paths"][0]["target"], "0000:01:00.0");
    assert_eq!(report["paths"][0]["limiting_hop"]["read"], "link:0000:01:00.0");
    assert!(said.codes().contains(&"link_width_degraded".to_owned()), "{}", said.out);
}

#[test]
fn a_healthy_text_gives_no_alarm() {
    let said = narrows(&["--json", "-"], listing("16.0 GT/s PCIe", 4).as_bytes());
    let codes = said.codes();
    assert!(!codes.iter().any(|code| code.starts_with("link_")), "{codes:?}");
}

#[test]
fn mail_markdown_html_and_colours_around_a_text_change_nothing() {
    let bare = narrows(&["--json", "-"], listing("16.0 GT/s PCIe", 2).as_bytes());
    let wrapped = |wrap: &dyn Fn(&str) -> String| {
        let text = listing("16.0 GT/s PCIe", 2).lines().map(wrap).collect::<Vec<_>>().join("\n");
        narrows(&["--json", "-"], text.as_bytes())
    };
    for said in [
        wrapped(&|line| format!("> > {line}")),
        wrapped(&|line| format!("| {line}")),
        wrapped(&|line| format!("\u{1b}[35m{line}\u{1b}[0m\r")),
        narrows(
            &["--json", "-"],
            format!("see:\n<pre><code>\n```\n{}```\n</pre>", listing("16.0 GT/s PCIe", 2)).as_bytes(),
        ),
    ] {
        assert_eq!(said.out, bare.out);
    }
}

#[test]
fn several_inputs_are_one_machine_and_each_is_named() {
    let listing = listing("16.0 GT/s PCIe", 2);
    let (port, drive) =
        listing.split_at(listing.find("/sys/devices/pci0000:00/0000:00:01.0/0000").expect("has both"));
    let dir =
        directory(&[("port.txt", port.as_bytes()), ("in/drive.txt", drive.as_bytes()), ("hello", b"hi\n")]);
    let said = from(dir.path(), &["--json"]);
    assert_eq!(said.err, "narrows: nothing was recognised in `hello`\n");
    assert!(said.codes().contains(&"link_width_degraded".to_owned()), "{}", said.out);
    let names = said.json()["machine"]["inputs"].clone();
    assert_eq!((&names[0]["name"], &names[1]["name"]), (&"port.txt".into(), &"in/drive.txt".into()));
    let files = ["port.txt", "in/drive.txt"].map(|name| dir.path().join(name).display().to_string());
    let two = narrows(&["--json", &files[0], &files[1]], b"");
    assert_eq!(two.codes(), said.codes());
    let target = narrows(&["--json", &files[0], &files[1], "01:00.0"], b"");
    assert_eq!(target.json()["paths"][0]["target"], "0000:01:00.0");
}

#[test]
fn a_link_that_ran_better_in_another_text_is_named_as_proof() {
    let good = listing("16.0 GT/s PCIe", 4);
    let bad = listing("2.5 GT/s PCIe", 4);
    let dir = directory(&[("bad.txt", bad.as_bytes()), ("good.txt", good.as_bytes())]);
    let files = ["bad.txt", "good.txt"].map(|name| dir.path().join(name).display().to_string());
    let said = narrows(&["--json", &files[0], &files[1]], b"");
    assert!(said.codes().contains(&"link_speed_degraded".to_owned()), "{}", said.out);
    assert!(said.out.contains("the same link at another time"), "{}", said.out);
    assert!(said.out.contains("16 GT/s x4"), "{}", said.out);
}

#[test]
fn a_text_of_which_nothing_is_understood_is_refused_with_what_is() {
    let said = narrows(&["-"], b"Dear all,\nmy disk is slow.\n");
    assert_eq!((said.out.as_str(), said.status), ("", Some(2)));
    assert!(
        said.err
            .starts_with("narrows: nothing in standard input was recognised\nhint: narrows reads what lspci"),
        "{}",
        said.err
    );
}

#[test]
fn a_target_that_no_text_names_is_refused() {
    let said = narrows(&["0000:02:00.0", "-"], listing("16.0 GT/s PCIe", 4).as_bytes());
    assert_eq!(said.status, Some(2));
    assert!(said.err.contains("`0000:02:00.0` does not exist"), "{}", said.err);
}

#[test]
fn what_a_device_calls_itself_is_shown_and_not_obeyed() {
    let name = "\u{1b}]0;owned\u{7}\u{1b}[2J<script>alert(1)</script>&lt;b&gt;$(reboot)`id`\u{202e}txt";
    let text = format!("{}/sys/devices/virtual/dmi/id/board_name:{name}\n", listing("16.0 GT/s PCIe", 2));
    for args in [&["-"][..], &["--plain", "-"], &["--json", "-"]] {
        let said = narrows(args, text.as_bytes());
        let is_inert = |c: char| c == '\n' || !(c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
        assert!(said.out.chars().all(is_inert), "{args:?}: {:?}", said.out);
        assert!(said.err.chars().all(is_inert), "{args:?}: {:?}", said.err);
    }
}

#[test]
fn the_names_of_files_are_shown_and_not_obeyed() {
    let dir = directory(&[("\u{1b}[2Jx", b"nothing\n"), ("good", listing("16.0 GT/s PCIe", 2).as_bytes())]);
    let said = from(dir.path(), &[]);
    assert!(!said.err.contains('\u{1b}') && said.err.contains("\\x1b[2Jx"), "{:?}", said.err);
}

#[test]
fn an_archive_that_unpacks_without_end_ends_in_bounded_time() {
    // 64 MiB of zeros as one file of a tar archive, in 64 kB.
    let mut header = tar::Header::new_gnu();
    header.set_path("zeros").expect("is short");
    header.set_size(64 << 20);
    header.set_mode(0o644);
    header.set_cksum();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(header.as_bytes()).expect("memory takes it");
    for _ in 0..64 {
        packed.write_all(&vec![0; 1 << 20]).expect("memory takes it");
    }
    let dir = directory(&[("bomb.tar.gz", &packed.finish().expect("memory takes it"))]);
    for name in [dir.path().to_owned(), dir.path().join("bomb.tar.gz")] {
        let name = name.display().to_string();
        let said = narrows(&[&name], b"");
        // It is a place of this machine.
        assert!(matches!(said.status, Some(0 | 1)) && said.out.contains(&name), "{} {}", said.out, said.err);
    }
}

#[test]
fn the_collector_runs_and_what_it_writes_is_understood() {
    let script = narrows(&["snapshot", "--script"], b"");
    assert_eq!((script.err.as_str(), script.status), ("", Some(0)));
    let dir = directory(&[("collect.sh", script.out.as_bytes())]);
    let run = |words: &[&str]| {
        let mut shell = Command::new("sh");
        shell.arg("collect.sh").args(words).current_dir(dir.path()).output().expect("sh runs")
    };
    let first = run(&[]);
    let said = String::from_utf8_lossy(&first.stderr).into_owned();
    let capture = said.strip_prefix("wrote ").and_then(|said| said.split_once(';')).map(|(path, _)| path);
    let capture = Path::new(capture.expect("names its file"));
    assert!(first.status.success() && capture.starts_with("/tmp"), "{said}");
    assert!(!run(&["other.txt"]).status.success(), "it writes to no file that is named");
    let live = narrows(&["--json"], b"").json();
    let captured = from(capture, &["--json"]);
    let report = captured.json();
    for field in ["kernel", "cpu", "cores", "sockets", "numa_nodes", "memory_bytes", "board"] {
        assert_eq!(report["machine"][field], live["machine"][field], "{field}");
    }
    let disks = |report: &Value| -> Vec<String> {
        let paths = report["paths"].as_array().cloned().unwrap_or_default();
        let targets = paths.iter().filter_map(|path| path["target"].as_str().map(str::to_owned));
        // Loop devices of other tests come and go.
        let mut disks: Vec<String> =
            targets.filter(|target| target.starts_with("/dev/") && !target.contains("loop")).collect();
        disks.sort();
        disks
    };
    assert_eq!(disks(&report), disks(&live));
    fs::remove_dir_all(capture.parent().expect("is in a directory")).expect("is ours");
}

#[test]
fn a_reply_has_the_sentence_the_evidence_and_one_command() {
    let text = "01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller SM981/PM981/PM983 (prog-if 02 [NVM Express])\n\tCapabilities: [70] Express (v2) Endpoint, MSI 00\n\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x4, ASPM L1\n\t\tLnkSta:\tSpeed 8GT/s (ok), Width x1 (downgraded)\n\tKernel driver in use: nvme\n";
    let said = narrows(&["-", "--reply"], text.as_bytes());
    assert!(said.out.starts_with("**"), "{}{}", said.out, said.err);
    assert!(said.out.contains("\n    LnkSta: Speed 8GT/s (ok), Width x1 (downgraded)\n"), "{}", said.out);
    assert!(said.out.ends_with("\n    sudo lspci -nnvvv\n"), "{}", said.out);
    let mail = narrows(&["-", "--reply", "--plain"], text.as_bytes()).out;
    assert!(!mail.contains("**") && mail.contains("LnkSta:"), "{mail}");
    // Prose is answered with what to ask for.
    let asked = narrows(&["-", "--reply"], b"My NVMe drive is slow behind LUKS, why?\n");
    assert!(
        asked.status == Some(0) && asked.out.contains("cryptsetup benchmark"),
        "{}{}",
        asked.out,
        asked.err
    );
    assert_eq!(narrows(&["--reply"], b"").status, Some(2));
    // What is shown of another machine says so, and measures nothing of this one.
    let shown = narrows(&["-"], text.as_bytes());
    assert!(shown.out.contains("not this machine"), "{}", shown.out);
    assert!(!shown.out.contains("Prove it"), "{}", shown.out);
}

#[test]
fn a_log_says_the_same_in_every_form_that_journals_and_editors_give_it() {
    let log = [
        (0.001, "Linux version 6.1.0 (build@host) (gcc 12.2.0) #1 SMP"),
        (0.412, "pci 0000:00:1c.0: [8086:a33c] type 01 class 0x060400"),
        (0.413, "pci 0000:00:1c.0: PCI bridge to [bus 01]"),
        (0.420, "pci 0000:01:00.0: [144d:a80a] type 00 class 0x010802"),
        (
            0.421,
            "pci 0000:01:00.0: 7.876 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x1 link at 0000:00:1c.0 (capable of 63.012 Gb/s with 16.0 GT/s PCIe x4 link)",
        ),
        (1.100, "nvme nvme0: pci function 0000:01:00.0"),
        (1.200, "nvme nvme0: 8/0/0 default/read/poll queues"),
        (1.300, " nvme0n1: p1 p2"),
        (1.400, "EXT4-fs (nvme0n1p2): re-mounted 52797-161f r/w. Quota mode: none."),
    ];
    let of = |put: &dyn Fn(usize, f64, &str) -> String| -> String {
        log.iter().enumerate().map(|(at, (time, message))| put(at + 1, *time, message) + "\n").collect()
    };
    let quoted = |text: &str| serde_json::to_string(text).expect("text");
    let plain = of(&|_, time, message| format!("[{time:12.6}] {message}"));
    let first = narrows(&["--json", "-"], plain.as_bytes());
    assert!(first.codes().contains(&"slot_limited".to_owned()), "{}", first.out);
    let of_dmesg = format!(
        "{{\n   \"dmesg\": [\n{}   ]\n}}\n",
        of(&|_, time, message| format!(
            "      {{\n         \"time\": {time:.6},\n         \"msg\": {}\n      }},",
            quoted(message)
        ))
    );
    for (name, text) in [
        (
            "json",
            of(&|_, _, message| format!("{{\"MESSAGE\":{},\"_TRANSPORT\":\"kernel\"}}", quoted(message))),
        ),
        (
            "json-pretty",
            of(&|_, _, message| {
                format!("{{\n\t\"MESSAGE\" : {},\n\t\"_TRANSPORT\" : \"kernel\"\n}}", quoted(message))
            }),
        ),
        ("export", of(&|_, _, message| format!("_TRANSPORT=kernel\nMESSAGE={message}\n"))),
        (
            "verbose",
            of(&|_, _, message| {
                format!(
                    "Tue 2023-11-14 12:34:56.123456 CET [s=a;i=1]\n    _TRANSPORT=kernel\n    MESSAGE={message}"
                )
            }),
        ),
        ("dmesg --json", of_dmesg),
        ("kmsg", of(&|at, time, message| format!("6,{at},{:.0},-;{message}", time * 1e6))),
        ("unix", of(&|_, time, message| format!("{:.6} box kernel: {message}", 1_700_000_000.0 + time))),
        (
            "iso",
            of(&|_, time, message| {
                format!("2023-11-14T22:13:{:09.6}+01:00 {message}", time).replacen('.', ",", 1)
            }),
        ),
        ("months", of(&|_, _, message| format!("11月 14 12:34:56 box kernel: {message}"))),
        ("cat -n", of(&|at, time, message| format!("{at:6}\t[{time:12.6}] {message}"))),
        ("grep -n", of(&|at, time, message| format!("{}:[{time:12.6}] {message}", 7 * at))),
        ("grep -Hn", of(&|at, time, message| format!("dmesg.txt:{at}:[{time:12.6}] {message}"))),
        ("comment", of(&|_, time, message| format!("# [{time:12.6}] {message}"))),
    ] {
        let said = narrows(&["--json", "-"], text.as_bytes());
        assert_eq!(said.codes(), first.codes(), "{name}: {}{}", said.out, said.err);
    }
}
