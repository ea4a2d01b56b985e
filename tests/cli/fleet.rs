//! Many captures through the real binary: rows, groups, outliers, changes, and what is broken among them.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "the tests run the binary, make files for it, and may panic"
)]

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::schema;
use serde_json::Value;
use tempfile::TempDir;

/// A machine with a drive of four lanes of PCIe 4.0 at `width`, as `grep . /sys/…` lists it. Hand-made.
pub(crate) fn listing(product: &str, width: u8) -> String {
    let port = "/sys/devices/pci0000:00/0000:00:01.0";
    let drive = format!("{port}/0000:01:00.0");
    let mut lines = format!("/sys/devices/virtual/dmi/id/product_name:{product}\n");
    for (dir, class, id) in [(port, "0x060400", "0x460d"), (&drive, "0x010802", "0xa80a")] {
        for (name, value) in [
            ("class", class),
            ("vendor", "0x8086"),
            ("device", id),
            ("current_link_speed", "16.0 GT/s PCIe"),
            ("current_link_width", &width.to_string()),
            ("max_link_speed", "16.0 GT/s PCIe"),
            ("max_link_width", "4"),
        ] {
            lines += &format!("{dir}/{name}:{value}\n");
        }
    }
    lines
}

/// `count` hosts of one model, of which the `narrow` first have a link of two lanes.
fn fleet(count: usize, narrow: usize) -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    for number in 0..count {
        let width = if number < narrow { 2 } else { 4 };
        put(dir.path(), &format!("host{number:02}.txt"), listing("PowerEdge R740xd", width).as_bytes());
    }
    dir
}

pub(crate) fn put(dir: &Path, name: &str, content: &[u8]) {
    let at = dir.join(name);
    fs::create_dir_all(at.parent().expect("has one")).expect("is ours");
    fs::write(at, content).expect("is ours");
}

struct Said {
    out: String,
    err: String,
    status: Option<i32>,
}

impl Said {
    /// The records, each checked against the schema.
    fn records(&self) -> Vec<Value> {
        let validator = jsonschema::validator_for(&schema::of("fleet")).expect("is a schema");
        let parse = |line: &str| -> Value {
            let record = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            let errors: Vec<String> = validator.iter_errors(&record).map(|error| error.to_string()).collect();
            assert_eq!(errors, Vec::<String>::new(), "{line}");
            record
        };
        self.out.lines().map(parse).collect()
    }

    fn of_kind(&self, kind: &str) -> Vec<Value> {
        self.records().into_iter().filter(|record| record["record"] == kind).collect()
    }
}

fn check(dir: &Path, more: &[&str]) -> Said {
    let output = Command::new(crate::narrows_binary())
        .args(["--fleet"])
        .args(more)
        .arg(dir)
        .output()
        .expect("the binary runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Said { out: text(output.stdout), err: text(output.stderr), status: output.status.code() }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

#[test]
fn every_host_is_a_record_its_findings_follow_and_the_same_input_gives_the_same_lines() {
    let dir = fleet(20, 2);
    let said = check(dir.path(), &["--json"]);
    assert_eq!((said.err.as_str(), said.status), ("", Some(1)));
    assert_eq!(check(dir.path(), &["--json"]).out, said.out);
    let records = said.records();
    assert_eq!(records.first().map(|record| text(record, "schema")), Some("narrows/fleet/1"));
    assert_eq!(said.of_kind("host").len(), 20);
    let narrow: Vec<Value> = said
        .of_kind("finding")
        .into_iter()
        .filter(|record| record["code"] == "link_width_degraded")
        .collect();
    assert_eq!(narrow.iter().map(|record| text(record, "host")).collect::<Vec<_>>(), ["host00", "host01"]);
    assert_eq!(text(&narrow[0], "state"), "16 GT/s x2");
    let summary = records.last().expect("is there");
    assert_eq!(
        (&summary["record"], &summary["hosts"], &summary["with_faults"]),
        (&"summary".into(), &20.into(), &2.into())
    );
}

#[test]
fn hosts_of_a_model_are_grouped_and_the_few_that_differ_are_named() {
    let said = check(fleet(20, 2).path(), &["--json"]);
    let groups = said.of_kind("group");
    let group = groups.iter().find(|group| group["code"] == "link_width_degraded").expect("is a group");
    assert_eq!(
        (text(group, "model"), &group["affected"], &group["of"]),
        ("PowerEdge R740xd", &2.into(), &20.into())
    );
    let outliers = said.of_kind("outlier");
    let hosts: Vec<&str> = outliers.iter().map(|outlier| text(outlier, "host")).collect();
    assert_eq!(hosts, ["host00", "host01"], "{outliers:?}");
    assert_eq!((&outliers[0]["same"], &outliers[0]["of"]), (&18.into(), &20.into()));
    // Eight of ten is not nearly all.
    assert!(check(fleet(10, 2).path(), &["--json"]).of_kind("outlier").is_empty());
}

#[test]
fn a_person_sees_faults_groups_outliers_and_the_sum() {
    let said = check(fleet(20, 2).path(), &[]);
    assert!(
        said.out.lines().next().is_some_and(|line| line.starts_with("host00") && line.contains("fault")),
        "{}",
        said.out
    );
    for part in [
        "2 of 20 PowerEdge R740xd have 0000:01:00.0 at 16 GT/s x2 (link_width_degraded)",
        "host01: 0000:01:00.0: link_width_degraded, which 18 of 20 PowerEdge R740xd do not have",
        "20 hosts · 1 model · 2 with faults",
    ] {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
    assert!(said.out.lines().all(|line| line.chars().count() <= 100), "{}", said.out);
    let plain = check(fleet(20, 2).path(), &["--plain"]);
    assert!(plain.out.is_ascii() && plain.out.lines().all(|line| line.len() <= 78), "{}", plain.out);
}

#[test]
fn a_spreadsheet_gets_one_row_for_each_host_and_finding() {
    let said = check(fleet(12, 1).path(), &["--csv"]);
    let lines: Vec<&str> = said.out.lines().collect();
    let columns = lines[0].split(',').count();
    assert!(lines[0].starts_with("record,host,vendor,product,"), "{}", lines[0]);
    assert!(columns > 10);
    for number in 0..12 {
        let host = format!(",host{number:02},");
        assert!(lines.iter().any(|line| line.contains(&host)), "{host}: {}", said.out);
    }
    assert!(lines.iter().any(|line| line.starts_with("outlier,host00,")), "{}", said.out);
}

#[test]
fn healthy_machines_are_status_0() {
    let said = check(fleet(3, 0).path(), &["--json"]);
    assert_eq!(said.status, Some(0), "{}", said.out);
}

/// A tar archive with one entry of this name, which no well-behaved program would write.
fn tar(name: &str, content: &[u8]) -> Vec<u8> {
    let mut header = tar::Header::new_ustar();
    let bytes = name.as_bytes();
    header.as_old_mut().name[..bytes.len()].copy_from_slice(bytes);
    header.set_size(content.len().try_into().expect("is short"));
    header.set_mode(0o644);
    header.set_cksum();
    let mut builder = tar::Builder::new(Vec::new());
    builder.append(&header, content).expect("in memory");
    builder.into_inner().expect("in memory")
}

#[test]
fn what_is_broken_is_a_row_and_stops_nothing() {
    let dir = fleet(3, 1);
    let whole = tar("lspci.txt", listing("PowerEdge R740xd", 4).as_bytes());
    put(dir.path(), "cut.tar", &whole[..700]);
    put(dir.path(), "damaged.tar.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\0garbage garbage garbage");
    put(dir.path(), "empty.txt", b"");
    put(dir.path(), "noise.bin", &[0, 159, 146, 150, 7, 7, 7]);
    put(dir.path(), "traversal.tar", &tar("../../../../../../tmp/narrows-was-here", b"x"));
    symlink(dir.path(), dir.path().join("loop")).expect("a link");
    fs::create_dir(dir.path().join("inside")).expect("is ours");
    put(dir.path(), "inside/lspci.txt", listing("PowerEdge R740xd", 4).as_bytes());
    symlink(dir.path().join("inside"), dir.path().join("inside/again")).expect("a link");
    symlink("/etc/passwd", dir.path().join("inside/passwd")).expect("a link");
    fs::create_dir(dir.path().join("nothing")).expect("is ours");
    nix::unistd::mkfifo(&dir.path().join("pipe"), nix::sys::stat::Mode::S_IRUSR).expect("a pipe");
    let said = check(dir.path(), &["--json"]);
    assert_eq!(said.status, Some(1), "{}", said.err);
    let hosts = said.of_kind("host");
    let failed: Vec<&str> =
        hosts.iter().filter(|host| !host["failure"].is_null()).map(|host| text(host, "host")).collect();
    let wanted = ["damaged", "empty", "loop", "noise.bin", "nothing", "pipe", "traversal"];
    assert!(wanted.iter().all(|host| failed.contains(host)), "{failed:?}");
    assert!(failed.iter().all(|host| wanted.contains(host) || *host == "cut"), "{failed:?}");
    assert_eq!(
        said.of_kind("finding").iter().filter(|found| found["code"] == "link_width_degraded").count(),
        1
    );
    assert!(!Path::new("/tmp/narrows-was-here").exists());
    assert!(!said.out.contains("root:x:0"), "a link was followed");
    assert!(said.err.contains("captures could not be read"), "{}", said.err);
}

#[test]
fn status_2_means_that_nothing_could_be_read() {
    let dir = tempfile::tempdir().expect("a directory");
    let said = check(dir.path(), &[]);
    assert_eq!(said.status, Some(2));
    assert!(said.err.contains("there are no captures here"), "{}", said.err);
    put(dir.path(), "a.txt", b"");
    put(dir.path(), "b.txt", b"hello\n");
    assert_eq!(check(dir.path(), &[]).status, Some(2));
    assert_eq!(check(Path::new("/no/such/place"), &[]).status, Some(2));
}

#[test]
fn since_says_what_is_new_and_gone_and_only_new_faults_count() {
    let (before, now) = (fleet(4, 2), fleet(4, 2));
    put(before.path(), "left.txt", listing("PowerEdge R740xd", 4).as_bytes());
    let run = tempfile::tempdir().expect("a directory");
    put(run.path(), "run.jsonl", check(before.path(), &["--json"]).out.as_bytes());
    let file = run.path().join("run.jsonl");
    let directory = before.path().to_str().expect("text");
    let since = |earlier: &str| check(now.path(), &["--json", "--since", earlier]);

    let same = since(file.to_str().expect("text"));
    assert_eq!(same.status, Some(0), "{}{}", same.out, same.err);
    assert!(same.of_kind("finding").iter().all(|found| found["change"] == "same"), "{}", same.out);
    let gone: Vec<Value> = same.of_kind("host").into_iter().filter(|host| host["change"] == "gone").collect();
    assert_eq!(gone.iter().map(|host| text(host, "host")).collect::<Vec<_>>(), ["left"]);

    // One link lost lanes, another has them again.
    put(now.path(), "host03.txt", listing("PowerEdge R740xd", 1).as_bytes());
    put(now.path(), "host00.txt", listing("PowerEdge R740xd", 4).as_bytes());
    let changed = since(directory);
    assert_eq!(changed.status, Some(1), "{}", changed.err);
    assert_eq!(
        changed.records()[1..changed.records().len() - 1],
        since(file.to_str().expect("text")).records()[1..changed.records().len() - 1],
        "a directory and the run of it are the same"
    );
    let of = |host: &str, change: &str| {
        let found = changed.of_kind("finding");
        found.iter().any(|found| {
            found["host"] == host && found["change"] == change && found["code"] == "link_width_degraded"
        })
    };
    assert!(of("host03", "new") && of("host00", "gone") && of("host01", "same"), "{}", changed.out);
    let links = changed.of_kind("link_change");
    let link = links.iter().find(|link| link["host"] == "host03").expect("its link changed");
    assert_eq!((text(link, "before"), &link["width"]), ("16 GT/s x4", &1.into()));

    let wrong = since(now.path().join("host00.txt").to_str().expect("text"));
    assert_eq!(wrong.status, Some(2));
    assert!(wrong.err.contains("first line"), "{}", wrong.err);
}

#[test]
fn what_a_device_calls_itself_is_inert_in_every_form() {
    let dir = tempfile::tempdir().expect("a directory");
    let hostile = "=cmd|'/c calc'!A0 \u{1b}[31m<script>alert(1)</script> $(reboot)";
    for number in 0..2 {
        put(dir.path(), &format!("=host{number}\u{1b}[2J.txt"), listing(hostile, 2).as_bytes());
    }
    for form in ["--color=never", "--csv", "--json"] {
        let said = check(dir.path(), &[form]);
        assert_eq!(said.status, Some(1), "{}", said.err);
        let is_inert = |c: char| c == '\n' || !c.is_control();
        assert!(said.out.chars().all(is_inert) && said.err.chars().all(is_inert), "{form}: {}", said.out);
        if form == "--csv" {
            assert!(said.out.contains(",'=host0"), "{}", said.out);
            assert!(!said.out.contains(",=") && !said.out.contains(",\"="), "{}", said.out);
        }
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_it_quietly() {
    let dir = fleet(200, 200);
    let mut child = Command::new(crate::narrows_binary())
        .args(["--fleet", "--json"])
        .arg(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut out = child.stdout.take().expect("is piped");
    out.read_exact(&mut [0; 10]).expect("there is something");
    drop(out);
    let output = child.wait_with_output().expect("ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn what_makes_no_sense_with_a_fleet_is_refused() {
    let dir = fleet(1, 0);
    for more in [&["/dev/sda"][..], &["--why", "link"], &["--json", "--csv"]] {
        assert_eq!(check(dir.path(), more).status, Some(2), "{more:?}");
    }
    let both = Command::new(crate::narrows_binary())
        .args(["--fleet"])
        .args([dir.path(), Path::new("/no/such/place")])
        .output()
        .expect("the binary runs");
    assert_eq!(both.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&both.stderr).contains("cannot read `/no/such/place`"));
    let alone =
        Command::new(crate::narrows_binary()).args(["--since", "x"]).output().expect("the binary runs");
    assert_eq!(alone.status.code(), Some(2));
}
