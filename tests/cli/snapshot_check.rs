//! A recorded machine says what the machine itself says: live against its record, redacted against not, packed against
//! unpacked, and whatever stands in the files.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "the tests run the binary, make files for it, and may panic"
)]

use std::path::Path;
use std::process::Command;

use crate::schema;
use narrows::machine::Machine;
use narrows::machine::root::Root;
use narrows::machine::snapshot::{self, redact};
use narrows::machine::tree::{Node, Tree};
use narrows::path::build;
use narrows::report::document::{Audience, Style};
use narrows::report::text::document;
use narrows::report::view::{self, CheckReport};
use narrows::verdict::{self, Subject};
use proptest::prelude::*;
use serde_json::{Value, json};

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

/// What `narrows` without a target does, in this process.
fn check(root: &Root) -> CheckReport {
    let machine = Machine::read(root);
    let subjects: Vec<Subject> = build::all(&machine).into_iter().map(Subject::of).collect();
    view::build(&machine, &subjects, &verdict::judge(&machine, &subjects))
}

fn check_tree(tree: &Tree) -> CheckReport {
    check(&Root::from_tree(tree.clone()))
}

fn narrows(args: &[&str]) -> (String, String, Option<i32>) {
    let output = Command::new(crate::narrows_binary()).args(args).output().expect("the binary runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (text(output.stdout), text(output.stderr), output.status.code())
}

fn path_text(path: &Path) -> &str {
    path.to_str().expect("a path that is text")
}

#[test]
fn every_fixture_is_in_the_list() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/machines");
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .expect("is there")
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, MACHINES);
}

/// The JSON without the lines that name the record.
fn unnamed(json: &str) -> String {
    ["from", "inputs"].iter().fold(json.to_owned(), |json, key| {
        let list = json.split_once(&format!("    \"{key}\": [\n"));
        match list.and_then(|(before, list)| Some((before, list.split_once("    ],\n")?.1))) {
            Some((before, after)) => format!("{before}{after}"),
            None => json,
        }
    })
}

#[test]
fn the_record_of_this_machine_gives_the_same_bytes() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    // Devices of other tests may come and go between the two readings: one moment of peace in ten is enough.
    let mut last = (String::new(), String::new());
    for attempt in 0..10 {
        let file = dir.path().join(format!("{attempt}.tar.zst"));
        let (out, note, status) = narrows(&["snapshot", "--no-redact", "-o", path_text(&file)]);
        assert_eq!((out.as_str(), status), ("", Some(0)), "{note}");
        assert!(note.starts_with("wrote `"), "{note}");
        let live = narrows(&["--json"]);
        let mut recorded = narrows(&["--json", path_text(&file)]);
        // What is said of a record alone: that it is one.
        assert!(recorded.0.contains("\"narrows snapshot\""), "{}", recorded.0);
        recorded.0 = unnamed(&recorded.0);
        assert_eq!(recorded.1, live.1);
        if live == recorded {
            return;
        }
        last = (live.0, recorded.0);
    }
    // The rate of a cipher is measured, each time anew; everything else must agree.
    if last.0.contains("\"crypt\"") {
        eprintln!("skipped: this machine has an encrypted disk, whose cipher is measured each time anew");
        return;
    }
    assert_eq!(last.0, last.1);
}

#[test]
fn a_record_answers_as_the_reading_did_that_made_it() {
    // A device of another test may go while it is read: one moment of peace in ten is enough.
    let read = || {
        let live = Root::recording();
        let said = serde_json::to_string(&check(&live)).expect("serialises");
        (said, live.into_record().expect("was recording"))
    };
    let answers = |tree: &Tree| serde_json::to_string(&check_tree(tree)).expect("serialises");
    let (said, tree) =
        (0..9).map(|_| read()).find(|(said, tree)| answers(tree) == *said).unwrap_or_else(read);
    assert_eq!(answers(&tree), said);
    assert_eq!(verdicts(&check_tree(&redact::redacted(&tree))), verdicts(&check_tree(&tree)));
}

/// All that is judged, without the names that may be private.
fn verdicts(report: &CheckReport) -> Value {
    let report = serde_json::to_value(report).expect("serialises");
    let list = |of: &Value| of.as_array().expect("an array").clone();
    let findings: Vec<Value> = list(&report["findings"])
        .iter()
        .map(|finding| {
            let gains: Vec<Value> = list(&finding["advice"])
                .iter()
                .map(|advice| advice["gain_bytes_per_second"].clone())
                .collect();
            json!([finding["code"], finding["severity"], finding["confidence"], gains])
        })
        .collect();
    let paths: Vec<Value> = list(&report["paths"])
        .iter()
        .map(|path| {
            let hops: Vec<Value> = list(&path["hops"])
                .iter()
                .map(|hop| {
                    let ends = ["read", "write"].map(|direction| {
                        let ceiling = &hop["ceiling"][direction];
                        json!([
                            ceiling["bytes_per_second"],
                            ceiling["path_bytes_per_second"],
                            ceiling["basis"],
                            ceiling["formula"]
                        ])
                    });
                    json!([hop["kind"], hop["depth"], hop["traffic"], ends])
                })
                .collect();
            let place = |id: &Value| list(&path["hops"]).iter().position(|hop| hop["id"] == *id);
            let ends = ["limiting_hop", "next_hop"]
                .map(|end| ["read", "write"].map(|direction| place(&path[end][direction])));
            json!([hops, ends])
        })
        .collect();
    json!([findings, paths, report["machine"]])
}

#[test]
fn redaction_changes_no_verdict_of_any_machine() {
    for name in MACHINES {
        let tree = crate::support::tree(name);
        let (open, closed) = (check_tree(&tree), check_tree(&redact::redacted(&tree)));
        assert_eq!(verdicts(&closed), verdicts(&open), "{name}");
    }
}

#[test]
fn hop_ids_survive_redaction_where_they_name_hardware() {
    let of_hardware = |report: &CheckReport| -> Vec<String> {
        let ids = report.paths.iter().flat_map(|path| &path.hops).map(|hop| hop.id.clone());
        ids.filter(|id| {
            [
                "link:",
                "controller:",
                "device:",
                "chipset:",
                "socket:",
                "sata:",
                "usb:",
                "raid:",
                "block_queue:",
            ]
            .iter()
            .any(|kind| id.starts_with(kind))
        })
        .collect()
    };
    for name in MACHINES {
        let tree = crate::support::tree(name);
        assert_eq!(
            of_hardware(&check_tree(&redact::redacted(&tree))),
            of_hardware(&check_tree(&tree)),
            "{name}"
        );
    }
}

#[test]
fn a_record_may_be_a_file_an_unpacked_directory_or_standard_input() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("machine.tar.zst");
    let tree = crate::support::tree("s3-x99-before");
    let mut packed = Vec::new();
    snapshot::write(&tree, &mut packed, false).expect("memory takes it");
    std::fs::write(&file, &packed).expect("is ours");
    unpack(&tree, &dir.path().join("unpacked"));
    let from = |name: &str| {
        let (json, complaint, status) = narrows(&["--json", name]);
        assert_eq!((complaint.as_str(), status), ("", Some(1)));
        unnamed(&json)
    };
    let from_file = from(path_text(&file));
    assert_eq!(from(path_text(&dir.path().join("unpacked"))), from_file);
    let input = std::fs::File::open(&file).expect("is there");
    let output = Command::new(crate::narrows_binary()).args(["--json", "-"]).stdin(input).output();
    let from_input = String::from_utf8(output.expect("the binary runs").stdout).expect("text");
    assert_eq!(unnamed(&from_input), from_file);
}

#[test]
fn the_packed_record_of_every_machine_gives_identical_findings() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for name in MACHINES {
        let tree = crate::support::tree(name);
        for (is_redacted, expected) in
            [(false, check_tree(&tree)), (true, check_tree(&redact::redacted(&tree)))]
        {
            let file = dir.path().join(format!("{name}-{is_redacted}.tar.zst"));
            let mut packed = Vec::new();
            snapshot::write(&tree, &mut packed, is_redacted).expect("memory takes it");
            std::fs::write(&file, &packed).expect("is ours");
            let (said, complaint, _) = narrows(&["--json", path_text(&file)]);
            let said: CheckReport = serde_json::from_str(&said).expect(&complaint);
            assert_eq!(said.findings, expected.findings, "{name}, redacted: {is_redacted}");
        }
    }
}

fn unpack(tree: &Tree, to: &Path) {
    for (path, node) in tree.iter() {
        let at = to.join(path.trim_start_matches('/'));
        std::fs::create_dir_all(at.parent().expect("has one")).expect("is ours");
        match node {
            Node::File(content) => std::fs::write(&at, content).expect("is ours"),
            Node::Link(target) => std::os::unix::fs::symlink(target, &at).expect("is ours"),
            Node::Dir => std::fs::create_dir_all(&at).expect("is ours"),
            Node::Denied => {
                std::fs::write(&at, "").expect("is ours");
                let closed = std::os::unix::fs::PermissionsExt::from_mode(0o000);
                std::fs::set_permissions(&at, closed).expect("is ours");
            }
        }
    }
}

#[test]
fn a_snapshot_overwrites_nothing_and_leaves_nothing_half_done() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("precious");
    std::fs::write(&file, "mine").expect("is ours");
    let name = path_text(&file);
    let (out, err, status) = narrows(&["snapshot", "-o", name]);
    assert_eq!((out.as_str(), status), ("", Some(2)));
    assert_eq!(
        err,
        format!(
            "narrows: cannot write `{name}`: File exists (os error 17)\n\
             hint: choose another name; narrows overwrites nothing\n"
        )
    );
    assert_eq!(std::fs::read(&file).expect("is there"), b"mine");
    let (_, err, status) = narrows(&["snapshot", "-o", &format!("{name}-dir/x.tar.zst")]);
    assert!(
        err.ends_with("No such file or directory (os error 2)\nhint: make the directory first\n"),
        "{err}"
    );
    assert_eq!(status, Some(2));
}

#[test]
fn a_snapshot_may_go_through_a_pipe() {
    let output = Command::new(crate::narrows_binary())
        .args(["snapshot", "-o", "-"])
        .output()
        .expect("the binary runs");
    assert_eq!((output.stderr.as_slice(), output.status.code()), (&b""[..], Some(0)));
    let tree = snapshot::read(output.stdout.as_slice()).expect("is a snapshot");
    assert!(tree.iter().count() > 10);
}

#[test]
fn what_is_no_record_is_refused_with_a_hint() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let empty = path_text(dir.path());
    let (missing, damaged) = (format!("{empty}/missing"), format!("{empty}/damaged"));
    std::fs::write(&damaged, "not a snapshot").expect("is ours");
    let live = "this directory is a running machine, not a record\nhint: `narrows` without a file looks at this machine\n";
    let want = (String::new(), format!("narrows: cannot use `/`: {live}"), Some(2));
    assert_eq!(narrows(&["plan", "/"]), want);
    for from in ["/", empty, &damaged] {
        let (out, err, status) = narrows(&[from]);
        assert!(out.contains(from) && matches!(status, Some(0 | 1)), "the path to it: {out}{err}");
        assert_eq!(err.contains("was recognised"), from == damaged, "{err}");
    }
    let (out, err, status) = narrows(&[&missing]);
    assert!(err.starts_with(&format!("narrows: `{missing}` does not exist")), "{err}");
    assert_eq!((out.as_str(), status), ("", Some(2)));
}

#[test]
fn a_target_of_a_recorded_machine_is_a_whole_path() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    unpack(&crate::support::tree("healthy-desktop"), dir.path());
    let (_, err, status) = narrows(&[".", path_text(dir.path())]);
    assert_eq!(
        err,
        "narrows: `.` does not exist\n\
         hint: in a recorded machine only a whole path such as /home or /dev/sda can be found\n"
    );
    assert_eq!(status, Some(2));
}

/// What chance makes of a file.
#[derive(Debug, Clone)]
enum Damage {
    Bytes(Vec<u8>),
    Cut(usize),
    Number(&'static str),
    Gone,
    Denied,
    Circle,
    Flip(usize, u8),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Damage::Bytes),
        (0usize..200).prop_map(Damage::Cut),
        prop::sample::select(vec![
            "18446744073709551615",
            "18446744073709551616",
            "-1",
            "0",
            "0x",
            "4294967296",
            "99999999999999999999999999999999",
            "1e308",
            "NaN",
            "2147483648.0 GT/s PCIe",
            "inf GT/s",
            "0-4294967295",
            "\u{1b}[2J\u{202e}",
        ])
        .prop_map(Damage::Number),
        Just(Damage::Gone),
        Just(Damage::Denied),
        Just(Damage::Circle),
        (0usize..400, any::<u8>()).prop_map(|(at, bits)| Damage::Flip(at, bits)),
    ]
}

fn damaged(node: &Node, path: &str, damage: &Damage) -> Option<Node> {
    let content = match node {
        Node::File(content) => content.clone(),
        Node::Link(_) | Node::Dir | Node::Denied => Vec::new(),
    };
    Some(match damage {
        Damage::Bytes(bytes) => Node::File(bytes.clone()),
        Damage::Cut(length) => Node::File(content.get(..*length).unwrap_or(&content).to_vec()),
        Damage::Number(text) => Node::File(text.as_bytes().to_vec()),
        Damage::Gone => return None,
        Damage::Denied => Node::Denied,
        Damage::Circle => Node::Link(path.to_owned()),
        Damage::Flip(at, bits) => {
            let mut content = content;
            let length = content.len().max(1);
            if let Some(byte) = content.get_mut(at % length) {
                *byte ^= bits;
            }
            Node::File(content)
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn a_machine_full_of_garbage_still_gets_a_valid_report(
        name in prop::sample::select(MACHINES.to_vec()),
        hits in prop::collection::vec((any::<prop::sample::Index>(), damage()), 1..60),
    ) {
        let whole = crate::support::tree(name);
        let paths: Vec<&str> = whole.iter().map(|(path, _)| path).collect();
        let hits: std::collections::BTreeMap<&str, &Damage> =
            hits.iter().map(|(index, damage)| (*index.get(&paths), damage)).collect();
        let mut tree = Tree::new();
        for (path, node) in whole.iter() {
            let node = match hits.get(path) {
                Some(damage) => damaged(node, path, damage),
                None => Some(node.clone()),
            };
            if let Some(node) = node {
                tree.insert(path, node);
            }
        }
        let report = check_tree(&tree);
        let json = serde_json::to_value(&report).expect("serialises");
        let validator = jsonschema::validator_for(&schema::of("check")).expect("is a schema");
        let errors: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
        prop_assert!(errors.is_empty(), "{errors:?}");
        let text = serde_json::to_string(&report).expect("serialises");
        prop_assert_eq!(&serde_json::from_str::<CheckReport>(&text).expect("is what was written"), &report);
        let plain = document(&report, Audience::Public).text(&Style::PLAIN);
        prop_assert!(plain.is_ascii() && plain.lines().all(|line| line.len() <= 78), "{plain}");
        let style = Style { colour: false, width: 100, unicode: true, plain: false, verbose: false };
        let shown = document(&report, Audience::Owner).text(&style);
        prop_assert!(!shown.contains(['\x1b', '\u{202e}']), "{shown}");
        check_tree(&redact::redacted(&tree));
    }
}
