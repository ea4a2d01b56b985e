//! `narrows measure` with several targets: what is said first, what comes out, and what is refused.

use std::path::PathBuf;

use super::*;
use narrows::runs::together::TogetherReport;

/// A file of 64 MiB that no file system stores as a hole.
fn large(dir: &TempDir, name: &str) -> PathBuf {
    let path = dir.path().join(name);
    let word = |at: u32| at.wrapping_mul(2_654_435_761).to_le_bytes();
    let block: Vec<u8> = (0..1_u32 << 18).flat_map(word).collect();
    std::fs::write(&path, block.repeat(64)).expect("is ours");
    path
}

fn name(path: &std::path::Path) -> &str {
    path.to_str().expect("text")
}

#[test]
fn files_are_read_alone_and_together_and_what_they_share_is_told() {
    let dir = scratch_dir();
    let (a, b) = (large(&dir, "a"), large(&dir, "b"));
    let ran = run(&["measure", name(&a), name(&b), "--duration", "1200ms", "--json"]);
    let json: Value = serde_json::from_str(&ran.out).expect("is JSON");
    let validator = jsonschema::validator_for(&schema::of("together")).expect("is a schema");
    let errors: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert!(ran.err.contains("narrows: only reads 2 targets, in 4 runs of 1.7 s each"), "{}", ran.err);
    let report: TogetherReport = serde_json::from_value(json).expect("is a report");
    assert!(report.complete && report.left_out.is_empty());
    assert!(report.targets.iter().all(|target| target.alone.is_some()), "{:#?}", report.targets);
    let [group] = &report.groups[..] else { panic!("{:#?}", report.groups) };
    assert_eq!(group.shares.len(), 2);
    assert!(group.shares.iter().all(|share| share.together.bytes_per_second.get() > 0.0));
    let share = |path: &PathBuf| group.hops.iter().any(|hop| hop.targets.contains(&name(path).to_owned()));
    assert!(group.hops.is_empty() || share(&a), "{:#?}", group.hops);
    assert!(!group.sentence.is_empty());
    assert!(matches!(ran.status, Some(0 | 1)), "{:?}", ran.status);
    assert_eq!(names_in(&dir).len(), 2);
}

#[test]
fn a_file_on_disk_and_one_in_memory_share_no_hop() {
    let dir = scratch_dir();
    let Ok(memory) = TempDir::new_in("/dev/shm") else {
        return skip("a file in memory", "/dev/shm cannot be written");
    };
    let (a, b) = (large(&dir, "a"), large(&memory, "b"));
    let ran = run(&["measure", name(&a), name(&b), "--duration", "1s", "--plain"]);
    assert!(matches!(ran.status, Some(0 | 1)), "{:?}: {}", ran.status, ran.err);
    assert!(ran.out.is_ascii() && ran.out.lines().all(|line| line.len() <= 78), "{}", ran.out);
    assert!(ran.out.contains("They share no known hop but main memory."), "{}", ran.out);
}

#[test]
fn what_cannot_be_read_together_is_refused() {
    let dir = scratch_dir();
    let a = dir.path().join("a");
    std::fs::write(&a, vec![7; 2 << 20]).expect("is ours");
    let twice = run(&["measure", name(&a), name(&a)]);
    assert_eq!(twice.status, Some(2));
    assert!(twice.err.contains("is named twice"), "{}", twice.err);
    let directory = run(&["measure", name(&a), text(&dir)]);
    assert_eq!(directory.status, Some(2));
    assert!(directory.err.contains("several targets are only read"), "{}", directory.err);
    assert_eq!(names_in(&dir), ["a"]);
    let unmeasured = run(&["--path", name(&a), text(&dir), "--json"]).json();
    assert_eq!(unmeasured["paths"].as_array().map(Vec::len), Some(2), "{unmeasured}");
}

#[test]
fn what_all_is_to_name_is_there_or_refused_with_what_is() {
    let no_kind = run(&["measure", "--all=floppy"]);
    assert_eq!(no_kind.status, Some(2));
    assert!(no_kind.err.contains("`floppy` is none of nvme, sata, "), "{}", no_kind.err);
    let no_node = run(&["measure", "--all=node4000"]);
    assert_eq!(no_node.status, Some(2));
    assert!(no_node.err.contains("nothing of this machine is `node4000`"), "{}", no_node.err);
    assert!(no_node.err.contains("hint: "), "{}", no_node.err);
    let no_switch = run(&["measure", "--all=switch:ffff:ff:1f.7"]);
    assert!(no_switch.err.contains("PCIe switches"), "{}", no_switch.err);
    let both = run(&["measure", "/dev/null", "--all=nvme"]);
    assert_eq!(both.status, Some(2));
    assert!(both.out.is_empty());
}
