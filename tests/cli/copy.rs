//! `narrows copy` with the real binary on real files: what it keeps, what it never touches, and how it comes back from
//! being killed.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "tests make files, run the program and may panic"
)]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, mkdirat};
use serde_json::Value;

fn narrows(words: &[&str], paths: &[&Path]) -> Command {
    let mut command = Command::new(crate::narrows_binary());
    command.arg("copy").args(words).arg("--").args(paths);
    command
}

/// Exit status, report and standard error of a copy.
fn copy(words: &[&str], source: &Path, destination: &Path) -> (Option<i32>, Value, String) {
    let output = narrows(&[&["--json"], words].concat(), &[source, destination]).output().expect("runs");
    read(&output)
}

fn read(output: &Output) -> (Option<i32>, Value, String) {
    let report = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code(), report, String::from_utf8_lossy(&output.stderr).into_owned())
}

fn follows_the_schema(report: &Value) -> bool {
    let schema = crate::schema::of("copy");
    jsonschema::validator_for(&schema).expect("is a schema").is_valid(report)
}

/// Bytes that differ from block to block, and never repeat.
fn bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut words = Vec::with_capacity(length + 8);
    while words.len() < length {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        words.extend_from_slice(&state.to_le_bytes());
    }
    words.truncate(length);
    words
}

/// Everything below a directory, by path: kind, permissions, size, time, link target, contents.
fn describe(top: &Path) -> Vec<String> {
    let mut found = Vec::new();
    describe_into(top, Path::new(""), &mut found);
    found.sort();
    found
}

fn describe_into(top: &Path, below: &Path, found: &mut Vec<String>) {
    let path = top.join(below);
    let meta = fs::symlink_metadata(&path).expect("is there");
    let contents = if meta.is_symlink() {
        format!("{:?}", fs::read_link(&path).expect("a link"))
    } else if meta.is_file() {
        let data = fs::read(&path).expect("is readable");
        format!("{} bytes, {:x}", data.len(), digest(&data))
    } else {
        String::new()
    };
    let (mode, time) = (meta.mode(), (meta.mtime(), meta.mtime_nsec()));
    let links = if meta.is_dir() { 0 } else { meta.nlink() };
    found.push(format!("{below:?} {mode:o} {links} {time:?} {contents}"));
    if meta.is_dir() {
        for entry in fs::read_dir(&path).expect("a directory") {
            describe_into(top, &below.join(entry.expect("an entry").file_name()), found);
        }
    }
}

/// FNV-1a: a checksum that is not the one of the program.
fn digest(data: &[u8]) -> u64 {
    data.iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

fn leftovers(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("a directory").flatten() {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory {
            found.extend(leftovers(&entry.path()));
        } else if entry.file_name().to_string_lossy().starts_with(".narrows-copy-") {
            found.push(entry.path());
        }
    }
    found
}

fn parts(dir: &Path) -> Vec<PathBuf> {
    leftovers(dir).into_iter().filter(|path| path.extension().is_some_and(|end| end == "part")).collect()
}

/// A tree with every kind of name that is copied.
fn tree(top: &Path) {
    fs::create_dir_all(top.join("a/b/empty")).expect("directories");
    for number in 0..30 {
        fs::write(top.join(format!("a/file{number}")), bytes(number * 997, number as u64)).expect("a file");
    }
    fs::write(top.join("a/b/large"), bytes((3 << 20) + 17, 99)).expect("a file");
    fs::hard_link(top.join("a/file7"), top.join("z")).expect("a link");
    symlink("/nowhere/at all", top.join("dangling")).expect("a link");
    fs::hard_link(top.join("dangling"), top.join("a/b/dangling too")).expect("a link with two names");
    let sparse = File::create(top.join("sparse")).expect("a file");
    sparse.set_len(64 << 20).expect("a hole");
    sparse.write_all_at(b"in the middle", 40 << 20).expect("data");
    fs::write(top.join("-rf\n\u{1b}[2J"), "a hostile name").expect("a file");
    fs::set_permissions(top.join("a/file3"), fs::Permissions::from_mode(0o600)).expect("permissions");
    fs::set_permissions(top.join("a/file4"), fs::Permissions::from_mode(0o4755)).expect("permissions");
    fs::set_permissions(top.join("a/b"), fs::Permissions::from_mode(0o750)).expect("permissions");
}

fn room() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let (source, destination) = (dir.path().join("src"), dir.path().join("dst"));
    (dir, source, destination)
}

#[test]
fn a_tree_is_copied_as_it_is() {
    for words in [&[][..], &["--engine", "psync"], &["--block-size", "64k", "--depth", "3"], &["--no-verify"]]
    {
        let (dir, source, destination) = room();
        tree(&source);
        let before = describe(&source);
        let (status, report, errors) = copy(words, &source, &destination);
        assert_eq!((status, errors.as_str()), (Some(0), ""), "{report}");
        assert_eq!(describe(&destination), before, "{words:?}");
        assert_eq!(describe(&source), before, "the source changed");
        assert_eq!(leftovers(dir.path()), Vec::<PathBuf>::new());
        assert!(follows_the_schema(&report), "{report}");
        let names = |name: &str| destination.join(name).metadata().expect("is there").ino();
        assert_eq!(names("a/file7"), names("z"));
        let sparse = fs::metadata(destination.join("sparse")).expect("is there");
        assert!(sparse.blocks() * 512 < 1 << 20, "{} blocks", sparse.blocks());
        assert_eq!(
            (&report["files"]["files"], &report["large"]["files"]),
            (&33.into(), &2.into()),
            "{report}"
        );
        assert_eq!(report["verification"].is_object(), !words.contains(&"--no-verify"));
        assert_eq!(
            (&report["hard_links"], &report["symlinks"], &report["directories"]),
            (&2.into(), &1.into(), &4.into())
        );
    }
}

#[test]
fn a_single_file_and_a_single_link_are_copied_under_the_new_name() {
    let (dir, source, destination) = room();
    fs::write(&source, bytes(2_000_003, 1)).expect("a file");
    assert_eq!(copy(&[], &source, &destination).0, Some(0));
    assert!(fs::read(&source).expect("reads") == fs::read(&destination).expect("reads"));
    let (link, other) = (dir.path().join("link"), dir.path().join("other"));
    symlink(&source, &link).expect("a link");
    assert_eq!(copy(&[], &link, &other).0, Some(0));
    assert_eq!(fs::read_link(&other).expect("is a link"), source);
    let output = Command::new(crate::narrows_binary())
        .current_dir(dir.path())
        .args(["copy", "src", "third", "--json"])
        .output()
        .expect("runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(leftovers(dir.path()), Vec::<PathBuf>::new());
}

#[test]
fn nothing_that_is_there_is_overwritten() {
    let (dir, source, destination) = room();
    tree(&source);
    fs::create_dir_all(destination.join("a")).expect("a directory");
    fs::set_permissions(destination.join("a"), fs::Permissions::from_mode(0o711)).expect("permissions");
    fs::write(destination.join("a/file5"), "mine").expect("a file");
    fs::write(destination.join("a/b"), "no directory").expect("a file");
    symlink(dir.path().join("elsewhere"), destination.join("sparse")).expect("a link");
    let (status, report, errors) = copy(&[], &source, &destination);
    assert_eq!(status, Some(2), "{errors}");
    assert_eq!(fs::read(destination.join("a/file5")).expect("reads"), b"mine");
    assert_eq!(fs::read(destination.join("a/b")).expect("reads"), b"no directory");
    assert!(!dir.path().join("elsewhere").exists(), "a link at the destination was followed");
    assert_eq!(fs::metadata(destination.join("a")).expect("is there").mode() & 0o777, 0o711);
    let failed: Vec<(&str, &str)> = report["failures"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| {
            (
                one["path"].as_str().expect("a path").rsplit('/').next().expect("a name"),
                one["code"].as_str().expect("a word"),
            )
        })
        .collect();
    assert!(follows_the_schema(&report), "{report}");
    assert_eq!(failed, [("b", "not_a_directory"), ("file5", "exists"), ("sparse", "exists")]);
    assert_eq!(
        fs::read(destination.join("a/file6")).expect("reads"),
        bytes(6 * 997, 6),
        "the rest is copied"
    );
    assert_eq!(leftovers(dir.path()), Vec::<PathBuf>::new());
    let (status, again, _) = copy(&["--resume"], &source, &destination);
    assert_eq!((status, &again["files"]["files"]), (Some(2), &0.into()), "{again}");
}

#[test]
fn a_link_in_place_of_a_directory_or_of_the_copy_itself_is_not_followed() {
    let (dir, source, destination) = room();
    tree(&source);
    let outside = dir.path().join("outside");
    fs::create_dir(&outside).expect("a directory");
    fs::create_dir(&destination).expect("a directory");
    symlink(&outside, destination.join("a")).expect("a link");
    let (status, report, _) = copy(&[], &source, &destination);
    assert_eq!(status, Some(2), "{report}");
    assert_eq!(fs::read_dir(&outside).expect("a directory").count(), 0);
    let link = dir.path().join("dst-link");
    symlink(&outside, &link).expect("a link");
    let (status, _, errors) = copy(&[], &source, &link);
    assert_eq!((status, errors.contains("is there already")), (Some(2), true), "{errors}");
    assert_eq!(fs::read_dir(&outside).expect("a directory").count(), 0);
}

#[test]
fn a_destination_inside_the_source_is_refused_and_the_other_way_round() {
    let (dir, source, _) = room();
    tree(&source);
    let before = describe(&source);
    symlink(&source, dir.path().join("alias")).expect("a link");
    for inside in
        [source.join("copy"), source.join("a/b/copy"), source.clone(), dir.path().join("alias/a/copy")]
    {
        let (status, _, errors) = copy(&[], &source, &inside);
        assert_eq!((status, errors.contains("lie in one another")), (Some(2), true), "{inside:?}: {errors}");
    }
    let (status, _, errors) = copy(&[], &source.join("a"), &source);
    assert_eq!((status, errors.contains("lie in one another")), (Some(2), true), "{errors}");
    assert_eq!(describe(&source), before);
}

#[test]
fn what_cannot_be_is_said_with_a_hint() {
    let (dir, source, destination) = room();
    let (status, _, errors) = copy(&[], &source, &destination);
    assert_eq!((status, errors.contains("hint: check the spelling")), (Some(2), true), "{errors}");
    fs::write(&source, "x").expect("a file");
    let (status, _, errors) = copy(&[], &source, &dir.path().join("none/dst"));
    assert_eq!((status, errors.contains("none/dst")), (Some(2), true), "{errors}");
    fs::create_dir(&destination).expect("a directory");
    let (status, _, errors) = copy(&[], &source, &destination);
    assert_eq!((status, errors.contains("DST is the name of the copy itself")), (Some(2), true), "{errors}");
    let (status, _, errors) = copy(&[], Path::new("/dev/null"), &dir.path().join("null"));
    assert_eq!((status, errors.contains("is a character device")), (Some(2), true), "{errors}");
    assert_eq!(leftovers(dir.path()), Vec::<PathBuf>::new());
}

#[test]
fn pipes_and_sockets_are_named_and_hostile_names_are_inert() {
    let (_dir, source, destination) = room();
    tree(&source);
    let _socket = std::os::unix::net::UnixListener::bind(source.join("s\u{1b}]0;x\u{7}")).expect("a socket");
    fs::create_dir(&destination).expect("a directory");
    fs::write(destination.join("-rf\n\u{1b}[2J"), "there already").expect("a file");
    let output = narrows(&[], &[&source, &destination]).output().expect("runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("a socket") && text.contains("-rf\\n\\x1b[2J"), "{text}");
    assert!(!text.contains('\x1b') && !text.contains('\x07'), "{text}");
}

/// Begins a copy that is killed as soon as `ripe` says so; false if it ended before.
fn kill_when(words: &[&str], source: &Path, destination: &Path, ripe: impl Fn() -> bool) -> bool {
    let mut child: Child = narrows(words, &[source, destination])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("runs");
    loop {
        if ripe() {
            child.kill().and_then(|()| child.wait()).expect("ends");
            return true;
        }
        if child.try_wait().expect("is ours").is_some() {
            return false;
        }
        thread::sleep(Duration::from_micros(200));
    }
}

fn part_bytes(dir: &Path) -> u64 {
    parts(dir).iter().filter_map(|part| fs::metadata(part).ok()).map(|meta| meta.len()).sum()
}

#[test]
fn a_copy_that_was_killed_is_finished_by_resume() {
    let (dir, source, destination) = room();
    tree(&source);
    let large = bytes(40 << 20, 5);
    fs::write(source.join("huge"), &large).expect("a file");
    let before = describe(&source);
    // Small blocks, so that a checkpoint (128 blocks) comes every 2 MiB.
    let words = ["--block-size", "16k", "--depth", "2"];
    let mut killed = 0;
    for step in [1, 6 << 20, 14 << 20, 22 << 20] {
        let resume = [&words[..], &["--resume"]].concat();
        if kill_when(&resume, &source, &destination, || part_bytes(dir.path()) >= step) {
            killed += 1;
            // Nothing under a final name is incomplete.
            for name in ["a/file9", "a/b/large", "huge"] {
                if let Ok(found) = fs::read(destination.join(name)) {
                    assert!(found == fs::read(source.join(name)).expect("reads"), "{name} is incomplete");
                }
            }
            let (status, _, errors) = copy(&words, &source, &destination);
            assert_eq!((status, errors.contains("--resume")), (Some(2), true), "{errors}");
        }
    }
    assert!(killed >= 2, "only {killed} copies were killed in time");
    let (status, report, errors) = copy(&[&words[..], &["--resume"]].concat(), &source, &destination);
    assert_eq!(status, Some(0), "{errors} {report}");
    assert_eq!(describe(&destination), before);
    assert_eq!(leftovers(dir.path()), Vec::<PathBuf>::new());
    assert!(report["earlier_bytes"].as_u64().expect("a number") >= 2 << 20, "{report}");
    assert!(report["earlier_files"].as_u64().expect("a number") > 0, "{report}");
}

#[test]
fn resume_says_the_truth_wherever_a_copy_was_killed() {
    let (dir, source, destination) = room();
    tree(&source);
    let before = describe(&source);
    for round in 0..12 {
        // From before its first file to after its last; the last ones end of their own accord.
        let begin = std::time::Instant::now();
        let killed =
            kill_when(&[], &source, &destination, || begin.elapsed() > Duration::from_millis(15 * round));
        let (status, report, errors) = copy(&["--resume"], &source, &destination);
        assert_eq!(status, Some(0), "round {round}, killed: {killed}: {errors} {report}");
        assert_eq!(describe(&destination), before, "round {round}");
        assert_eq!(leftovers(dir.path()), Vec::<PathBuf>::new());
        fs::remove_dir_all(&destination).expect("is ours");
    }
}

#[test]
fn resume_after_the_end_compares_what_is_there() {
    let (_dir, source, destination) = room();
    tree(&source);
    assert_eq!(copy(&[], &source, &destination).0, Some(0));
    let before = describe(&destination);
    for words in [&["--resume"][..], &["--resume", "--no-verify"]] {
        let (status, report, errors) = copy(words, &source, &destination);
        assert_eq!(status, Some(0), "{errors} {report}");
        // 33 files, one of them with a second name, and a symbolic link with two.
        assert_eq!(report["earlier_files"], 36, "{report}");
        assert_eq!(report["small"]["files"], 0, "{report}");
        assert_eq!(describe(&destination), before);
    }
    // The same size and time, and another byte.
    let changed = destination.join("a/file5");
    let time = fs::metadata(&changed).and_then(|about| about.modified()).expect("has a time");
    let mut data = fs::read(&changed).expect("reads");
    data[9] ^= 1;
    fs::write(&changed, &data).expect("writes");
    File::options().write(true).open(&changed).and_then(|file| file.set_modified(time)).expect("sets it");
    let (status, report, _) = copy(&["--resume"], &source, &destination);
    assert_eq!((status, report["failures"][0]["code"].as_str()), (Some(2), Some("exists")), "{report}");
    assert_eq!(fs::read(&changed).expect("reads"), data, "nothing is overwritten");
}

#[test]
fn blocks_that_take_too_much_memory_are_refused_with_what_to_use() {
    let (_dir, source, destination) = room();
    fs::write(&source, "x").expect("a file");
    let (status, _, errors) = copy(&["--block-size", "64M", "--depth", "256"], &source, &destination);
    assert_eq!(status, Some(2), "{errors}");
    assert!(errors.contains("256 blocks of 64 MiB in flight take 17.2 GB of memory"), "{errors}");
    assert!(errors.contains("hint: use --depth") && errors.contains("--block-size"), "{errors}");
    assert!(!destination.exists());
}

#[test]
fn a_tree_deeper_than_a_path_may_be_long_is_copied() {
    let (dir, source, destination) = room();
    fs::create_dir(&source).expect("a directory");
    let (mut at, name) = (File::open(&source).expect("opens"), "n".repeat(200));
    for _ in 0..40 {
        mkdirat(&at, name.as_str(), Mode::S_IRWXU).expect("a directory");
        at = openat(&at, name.as_str(), OFlag::O_RDONLY | OFlag::O_DIRECTORY, Mode::empty())
            .expect("opens")
            .into();
    }
    let flags = OFlag::O_CREAT | OFlag::O_WRONLY;
    openat(&at, "file", flags, Mode::S_IRUSR)
        .map(File::from)
        .expect("a file")
        .write_all(b"deep")
        .expect("writes");
    let (status, report, errors) = copy(&[], &source, &destination);
    assert_eq!((status, report["directories"].as_u64()), (Some(0), Some(41)), "{errors} {report}");
    assert_eq!(copy(&["--resume"], &source, &destination).0, Some(0));
    drop(dir);
}

#[test]
fn a_copy_that_was_interrupted_says_what_is_done_and_goes_on() {
    let (dir, source, destination) = room();
    fs::create_dir(&source).expect("a directory");
    for number in 0..3 {
        fs::write(source.join(format!("{number}")), bytes(24 << 20, number)).expect("a file");
    }
    let mut child = narrows(&["--block-size", "16k", "--depth", "2", "--json"], &[&source, &destination])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("runs");
    while part_bytes(dir.path()) < 4 << 20 {
        assert!(child.try_wait().expect("is ours").is_none(), "it ended before it could be interrupted");
        thread::sleep(Duration::from_micros(200));
    }
    let id = i32::try_from(child.id()).expect("an id");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), nix::sys::signal::Signal::SIGINT)
        .expect("is there");
    let (status, report, errors) = read(&child.wait_with_output().expect("ends"));
    assert_eq!((status, &report["interrupted"]), (Some(2), &true.into()), "{errors}");
    assert!(errors.contains("--resume") && report["manifest"].is_string(), "{errors} {report}");
    assert!(parts(dir.path()).len() <= 1, "only the file that was under way stays behind");
    let (status, report, errors) = copy(&["--resume"], &source, &destination);
    assert_eq!(status, Some(0), "{errors} {report}");
    assert_eq!(describe(&destination), describe(&source));
    assert_eq!(leftovers(dir.path()), Vec::<PathBuf>::new());
}

#[test]
fn a_file_that_changed_since_it_was_copied_is_not_taken_for_complete() {
    let (dir, source, destination) = room();
    fs::create_dir(&source).expect("a directory");
    fs::write(source.join("0"), "first").expect("a file");
    fs::write(source.join("1"), bytes(64 << 20, 1)).expect("a file");
    let killed = kill_when(&["--block-size", "4k", "--depth", "1"], &source, &destination, || {
        destination.join("0").exists() && part_bytes(dir.path()) >= 1 << 20
    });
    assert!(killed, "it was not killed in time");
    fs::write(source.join("0"), "other").expect("a file");
    let (status, report, _) = copy(&["--resume"], &source, &destination);
    assert_eq!((status, &report["failures"][0]["code"]), (Some(2), &"exists".into()), "{report}");
    assert_eq!(fs::read(destination.join("0")).expect("reads"), b"first");
    assert!(fs::read(destination.join("1")).expect("reads") == bytes(64 << 20, 1));
}

#[test]
fn what_stands_in_a_kept_part_is_verified_again() {
    let (dir, source, destination) = room();
    fs::write(&source, bytes(64 << 20, 3)).expect("a file");
    // Three checkpoints of 2 MiB.
    let words = ["--block-size", "16k", "--depth", "1"];
    assert!(
        kill_when(&words, &source, &destination, || part_bytes(dir.path()) >= 8 << 20),
        "not killed in time"
    );
    let part = parts(dir.path()).pop().expect("a part");
    let file = OpenOptions::new().read(true).write(true).open(&part).expect("opens");
    let mut byte = [0];
    file.read_exact_at(&mut byte, 1_000_000).expect("reads");
    file.write_all_at(&[byte[0] ^ 1], 1_000_000).expect("writes");
    drop(file);
    let (status, report, _) = copy(&["--resume"], &source, &destination);
    let failure = &report["failures"][0];
    assert_eq!((status, &failure["code"]), (Some(2), &"mismatch".into()), "{report}");
    // 1 000 000 lies in the 62nd block of 16 KiB, which begins at 61 × 16 384.
    assert_eq!((&failure["offset"], &failure["length"]), (&999_424.into(), &16_384.into()));
    assert!(
        !destination.exists() && parts(dir.path()).is_empty(),
        "a wrong file has no name and is not kept"
    );
    assert_eq!(copy(&["--resume"], &source, &destination).0, Some(0));
    assert!(fs::read(&source).expect("reads") == fs::read(&destination).expect("reads"));
}

#[test]
fn a_kept_part_of_a_file_that_has_changed_goes_with_the_end_of_the_copy() {
    let (dir, source, destination) = room();
    fs::write(&source, bytes(64 << 20, 4)).expect("a file");
    let words = ["--block-size", "16k", "--depth", "1"];
    let killed = kill_when(&words, &source, &destination, || part_bytes(dir.path()) >= 8 << 20);
    assert!(killed && parts(dir.path()).len() == 1, "not killed in time");
    let other = bytes(1 << 20, 5);
    fs::write(&source, &other).expect("a file");
    let (status, report, errors) = copy(&["--resume"], &source, &destination);
    assert_eq!(status, Some(0), "{errors} {report}");
    assert!(fs::read(&destination).expect("reads") == other);
    assert_eq!(leftovers(dir.path()), Vec::<PathBuf>::new());
}

#[test]
fn a_byte_in_a_hole_of_a_kept_part_is_found() {
    let (dir, source, destination) = room();
    // 32 MiB of data, and a hole of 1 MiB behind the first of them.
    let file = File::create(&source).expect("a file");
    file.write_all_at(&bytes(1 << 20, 5), 0).expect("writes");
    file.write_all_at(&bytes(31 << 20, 6), 2 << 20).expect("writes");
    drop(file);
    if fs::metadata(&source).is_ok_and(|meta| meta.blocks() * 512 >= meta.len()) {
        let _ = writeln!(io::stderr(), "skipped: no holes on this file system");
        return;
    }
    let words = ["--block-size", "16k", "--depth", "1"];
    assert!(
        kill_when(&words, &source, &destination, || part_bytes(dir.path()) >= 8 << 20),
        "not killed in time"
    );
    let part = parts(dir.path()).pop().expect("a part");
    let file = OpenOptions::new().read(true).write(true).open(&part).expect("opens");
    // Zeros are what a hole reads as, so they are no fault.
    file.write_all_at(&[0; 4096], 1_200_000).expect("writes");
    file.write_all_at(&[1], 1_500_000).expect("writes");
    drop(file);
    let (status, report, _) = copy(&["--resume"], &source, &destination);
    let failure = &report["failures"][0];
    assert_eq!((status, &failure["code"]), (Some(2), &"mismatch".into()), "{report}");
    let (offset, length) =
        (failure["offset"].as_u64().expect("is there"), failure["length"].as_u64().expect("is there"));
    assert!(((1 << 20)..=1_500_000).contains(&offset) && offset + length > 1_500_000, "{failure}");
    assert!(offset + length <= 2 << 20, "{failure}");
    assert!(!destination.exists() && parts(dir.path()).is_empty());
    assert_eq!(copy(&["--resume"], &source, &destination).0, Some(0));
    assert!(fs::read(&source).expect("reads") == fs::read(&destination).expect("reads"));
}

#[test]
fn two_copies_to_one_place_at_once_are_refused() {
    let (dir, source, destination) = room();
    fs::write(&source, bytes(64 << 20, 3)).expect("a file");
    let mut first = narrows(&["--block-size", "4k", "--depth", "1"], &[&source, &destination])
        .stdout(Stdio::null())
        .spawn()
        .expect("runs");
    while part_bytes(dir.path()) == 0 {
        assert!(first.try_wait().expect("is ours").is_none(), "it ended before another could begin");
        thread::sleep(Duration::from_micros(200));
    }
    let (status, _, errors) = copy(&["--resume"], &source, &destination);
    assert_eq!((status, errors.contains("another process")), (Some(2), true), "{errors}");
    assert_eq!(first.wait().expect("ends").code(), Some(0));
}

/// A small file system of its own, unmounted when dropped.
struct Mounted(PathBuf);

impl Mounted {
    /// `None`, with a note, where nothing can be mounted.
    fn new(at: &Path, kind: &str) -> Option<Self> {
        fs::create_dir(at).expect("a directory");
        let script = match kind {
            "tmpfs" => "mount -t tmpfs -o size=8m none $1",
            _ => "truncate -s 32M $1.image && mkfs.ext4 -q -F $1.image && mount -o loop $1.image $1",
        };
        let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
        let status = Command::new("sh").args(["-ec", script, "sh"]).arg(at).env("PATH", path).output();
        if status.is_ok_and(|output| output.status.success()) {
            return Some(Self(at.to_owned()));
        }
        let _ = writeln!(io::stderr(), "skipped: cannot mount {kind} here");
        None
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_destination_ends_the_copy_without_a_partial_file() {
    for kind in ["tmpfs", "ext4"] {
        let (dir, source, _) = room();
        fs::create_dir(&source).expect("a directory");
        fs::write(source.join("0 small"), bytes(1000, 1)).expect("a file");
        fs::write(source.join("1 large"), bytes(3 << 20, 2)).expect("a file");
        fs::write(source.join("2 too large"), bytes(40 << 20, 3)).expect("a file");
        let Some(mounted) = Mounted::new(&dir.path().join("mnt"), kind) else { return };
        let destination = mounted.0.join("dst");
        let (status, report, errors) = copy(&[], &source, &destination);
        assert_eq!((status, &report["out_of_space"]), (Some(2), &true.into()), "{kind}: {errors}");
        assert_eq!(report["failures"][0]["code"], "no_space", "{report}");
        assert!(errors.contains("no space is left"), "{errors}");
        assert_eq!((&report["files"]["files"], parts(&mounted.0).len()), (&2.into(), 0), "{kind}: {report}");
        assert!(fs::read(destination.join("1 large")).expect("reads") == bytes(3 << 20, 2));
        assert!(!destination.join("2 too large").exists());
        fs::write(source.join("2 too large"), "fits now").expect("a file");
        let (status, report, errors) = copy(&["--resume"], &source, &destination);
        assert_eq!(status, Some(0), "{kind}: {errors} {report}");
        assert_eq!((describe(&destination), leftovers(&mounted.0).len()), (describe(&source), 0));
    }
}
