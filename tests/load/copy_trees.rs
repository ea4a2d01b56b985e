//! Random trees, copied, are the same trees.

#![expect(clippy::disallowed_methods, clippy::expect_used, reason = "a test makes files and may panic")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, FileTimes};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use narrows::load::EngineChoice;
use narrows::load::copy::{CopyControl, CopyOptions, copy};
use narrows::units::Bytes;
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Node {
    Directory,
    /// Pieces of data, each after a hole: length of the hole, length and seed of the data; then a hole at the end.
    File {
        pieces: Vec<(u32, u32, u8)>,
        tail: u32,
        mode: u32,
        seconds: u32,
    },
    Symlink(Vec<u8>),
    /// Another name of the file at this place among those made before.
    HardLink(usize),
}

fn node() -> impl Strategy<Value = Node> {
    let piece = (prop_oneof![Just(0u32), 0u32..300_000], 0u32..50_000, any::<u8>());
    let file = (
        proptest::collection::vec(piece, 0..4),
        prop_oneof![Just(0u32), 0u32..2_000_000],
        0u32..0o1000,
        any::<u32>(),
    );
    prop_oneof![
        2 => Just(Node::Directory),
        5 => file.prop_map(|(pieces, tail, mode, seconds)| Node::File { pieces, tail, mode: mode | 0o600, seconds }),
        1 => proptest::collection::vec(1u8.., 1..40).prop_map(Node::Symlink),
        2 => any::<usize>().prop_map(Node::HardLink),
    ]
}

/// Any name that a file may have.
fn name() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(
        any::<u8>().prop_filter("no separator", |byte| !matches!(byte, 0 | b'/')),
        1..12,
    )
    .prop_filter("no dots", |name| name != b"." && name != b"..")
}

/// Makes the nodes below `top`, each in one of the directories made before.
fn make(top: &Path, nodes: &[(usize, Vec<u8>, Node)]) {
    fs::create_dir(top).expect("the top");
    let (mut directories, mut files) = (vec![top.to_owned()], Vec::<PathBuf>::new());
    for (place, name, node) in nodes {
        let path = directories[place % directories.len()].join(OsString::from_vec(name.clone()));
        if fs::symlink_metadata(&path).is_ok() {
            continue;
        }
        match node {
            Node::Directory => {
                fs::create_dir(&path).expect("a directory");
                directories.push(path);
            }
            Node::File { pieces, tail, mode, seconds } => {
                let file = File::create(&path).expect("a file");
                let mut at = 0;
                for (hole, length, seed) in pieces {
                    at += u64::from(*hole);
                    let data: Vec<u8> =
                        (0..*length).map(|byte| (byte as u8).wrapping_mul(*seed | 1)).collect();
                    file.write_all_at(&data, at).expect("data");
                    at += u64::from(*length);
                }
                file.set_len(at + u64::from(*tail)).expect("a size");
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).expect("permissions");
                let time = UNIX_EPOCH + Duration::new(u64::from(*seconds), seconds % 1_000_000_000);
                file.set_times(FileTimes::new().set_modified(time)).expect("times");
                files.push(path);
            }
            Node::Symlink(target) => symlink(OsString::from_vec(target.clone()), &path).expect("a link"),
            Node::HardLink(which) if !files.is_empty() => {
                fs::hard_link(&files[which % files.len()], &path).expect("a hard link");
            }
            Node::HardLink(_) => {}
        }
    }
}

/// All that must be the same, by path. Names of one file are told by the first of them.
fn describe(top: &Path) -> BTreeMap<PathBuf, String> {
    fn go(
        top: &Path,
        below: &Path,
        found: &mut BTreeMap<PathBuf, String>,
        firsts: &mut BTreeMap<u64, PathBuf>,
    ) {
        let path = top.join(below);
        let meta = fs::symlink_metadata(&path).expect("is there");
        let mut text = format!("{:o} {}.{:09}", meta.mode(), meta.mtime(), meta.mtime_nsec());
        if meta.is_symlink() {
            text += &format!(" {:?}", fs::read_link(&path).expect("a link"));
        } else if meta.is_file() {
            let first = firsts.entry(meta.ino()).or_insert_with(|| below.to_owned());
            text += &format!(" {first:?} {} {:?}", meta.nlink(), fs::read(&path).expect("reads"));
        } else {
            let mut names: Vec<OsString> = fs::read_dir(&path)
                .expect("a directory")
                .map(|entry| entry.expect("an entry").file_name())
                .collect();
            names.sort();
            for name in names {
                go(top, &below.join(name), found, firsts);
            }
        }
        found.insert(below.to_owned(), text);
    }
    let (mut found, mut firsts) = (BTreeMap::new(), BTreeMap::new());
    go(top, Path::new(""), &mut found, &mut firsts);
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_copied_tree_is_identical(
        nodes in proptest::collection::vec((any::<usize>(), name(), node()), 0..24),
        (direct, psync, block_kib, depth) in (any::<bool>(), any::<bool>(), prop_oneof![Just(4u64), Just(64), Just(1024)], 1u32..9),
    ) {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let (source, destination) = (dir.path().join("src"), dir.path().join("dst"));
        make(&source, &nodes);
        let before = describe(&source);
        let engine = if psync { EngineChoice::Psync } else { EngineChoice::Auto };
        let options = CopyOptions { direct, engine, depth, block_size: Bytes::from_kib(block_kib), ..CopyOptions::default() };
        let result = copy(&source, &destination, &options, &CopyControl::default()).expect("begins");
        prop_assert!(result.is_whole(), "{:?}", result.faults);
        prop_assert!(describe(&destination) == before);
        prop_assert!(describe(&source) == before, "the source changed");
        // No manifest and no part stays beside the copy.
        prop_assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 2);
        let total = result.spent.total().get();
        prop_assert!(result.limit().is_none_or(|(_, share)| (0.0..=1.0).contains(&share)) && total > 0);
    }
}
