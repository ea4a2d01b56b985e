//! `narrows lab` as people run it: on loop devices over scratch files, killed at any moment, and refused.
//! What needs md or the device mapper is in `rig/scenarios/lab-*.toml`.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "tests make files, run the program and may panic"
)]

use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::devices::{self, Turn};

pub(super) const QUICK: [&str; 10] =
    ["--as", "hdparm", "--size", "16MiB", "--duration", "200ms", "--warm-up", "1ms", "--encryption", "plain"];

/// A directory for journals: they count only where nobody else can enter.
pub(super) fn private() -> tempfile::TempDir {
    let mode = fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().permissions(mode).tempdir().expect("a directory")
}

pub(super) fn lab(words: &[&str]) -> Command {
    let mut command = Command::new(crate::narrows_binary());
    command.arg("lab").args(words);
    command
}

pub(super) fn run(words: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = lab(words).output().expect("narrows runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("is UTF-8");
    (status.code(), text(stdout), text(stderr))
}

/// One lab at a time: others would take the time from it in which it is to measure something.
static ALONE: Mutex<()> = Mutex::new(());

/// The right to run a lab, where loop devices can be made; said aloud where not.
pub(super) fn loops() -> Option<Turn> {
    let turn = devices::turn(&ALONE);
    let probe = tempfile::NamedTempFile::new().expect("a file");
    probe.as_file().set_len(1 << 20).expect("a size");
    let path = probe.path().display().to_string();
    let made = Command::new("losetup").args(["--find", "--show", &path]).output();
    let made = made.ok().filter(|output| output.status.success());
    if let Some(output) = &made {
        let name = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let _ = Command::new("losetup").args(["--detach", &name]).status();
    } else {
        let _ = writeln!(std::io::stderr(), "skipped: loop devices need root and a kernel that has them");
    }
    made.map(|_| turn)
}

/// What is in a directory, and the loop devices over files in it.
fn left_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("is there").flatten();
    let mut left: Vec<String> = entries.map(|entry| entry.path().display().to_string()).collect();
    for block in fs::read_dir("/sys/block").expect("is there").flatten() {
        let file = fs::read_to_string(block.path().join("loop/backing_file")).unwrap_or_default();
        if file.starts_with(&directory.display().to_string()) {
            left.push(format!("{:?} over {file}", block.file_name()));
        }
    }
    left
}

#[test]
fn a_device_that_is_not_there_is_named_with_what_to_do_next() {
    let (code, _, said) = run(&["--dry-run", "/dev/no-such-device"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("`/dev/no-such-device` does not exist"), "{said}");
    assert!(said.contains("hint: `narrows` without a target shows every storage path"), "{said}");
}

#[test]
fn a_dry_run_shows_every_command_and_does_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let place = dir.path().display().to_string();
    let words = ["--scratch", &place, "--layout", "raid0,raid5", "--encryption", "luks2", "--dry-run"];
    let (code, out, err) = run(&words);
    assert_eq!(code, Some(0), "{err}");
    for part in [
        "fallocate -l 1073741824",
        "dmsetup create narrows-lab-zero-00000000",
        "dmsetup remove --retry -- narrows-lab-zero-00000000",
        "mdadm --create",
        "luksFormat",
        "mdadm --stop",
        "takes 3 devices",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert_eq!(left_in(dir.path()), Vec::<String>::new());
}

#[test]
fn a_file_that_is_no_journal_is_named_and_left_alone() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("notes.txt");
    fs::write(&path, "do not lose this\n").expect("is written");
    let (code, _, err) = run(&["--undo", "--journal", &path.display().to_string()]);
    assert_eq!(code, Some(2), "{err}");
    assert_eq!(fs::read_to_string(&path).expect("is there"), "do not lose this\n");
}

#[test]
fn what_is_no_block_device_is_refused_by_name() {
    let (code, out, err) = run(&["/dev/null", "--i-own", "x"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.contains("/dev/null") || err.contains("needs root"), "{err}");
}

#[test]
fn a_lab_on_scratch_files_is_measured_and_leaves_nothing() {
    let Some(_alone) = loops() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let (place, journal) = (dir.path().display().to_string(), private());
    let file = journal.path().join("lab.jsonl").display().to_string();
    let words =
        ["--scratch", &place, "--files", "2x96MiB", "--layout", "single", "--json", "--journal", &file];
    let (code, out, err) = run(&[&words[..], &QUICK].concat());
    assert!(matches!(code, Some(0 | 1)), "{err}");
    let report: serde_json::Value = serde_json::from_str(&out).expect("is JSON");
    let cell = &report["cells"][0];
    assert_eq!(cell["cell"]["layout"], "single");
    assert!(cell["failed"].is_null() && cell["on_loop_files"] == true, "{out}");
    let (measured, predicted) = (&cell["measured"][0]["measurement"], &cell["predicted"][0]);
    for rate in [&measured["bytes_per_second"], &predicted["bytes_per_second"]] {
        assert!(rate.as_f64().is_some_and(|rate| rate > 0.0), "{out}");
    }
    assert_eq!(report["basis"]["alone"].as_array().map(Vec::len), Some(2));
    assert_eq!(left_in(dir.path()), Vec::<String>::new());
    assert!(!Path::new(&file).exists(), "the journal is gone when nothing is left");
}

#[test]
fn a_lab_that_is_killed_is_undone() {
    let Some(_alone) = loops() else { return };
    for delay in [20, 120, 300, 700, 1500] {
        let dir = tempfile::tempdir().expect("a directory");
        let (place, journal) = (dir.path().display().to_string(), private());
        let file = journal.path().join("lab.jsonl").display().to_string();
        let words =
            ["--scratch", &place, "--files", "2x96MiB", "--layout", "single", "--file-system", "ext4"];
        let mut command = lab(&[&words[..], &["--journal", &file], &QUICK].concat());
        let mut child = command
            .stderr(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("runs");
        thread::sleep(Duration::from_millis(delay));
        child.kill().expect("is killed");
        child.wait().expect("ends");
        if Path::new(&file).exists() {
            let (code, _, err) = run(&["--undo", "--journal", &file]);
            assert_eq!(code, Some(0), "after {delay} ms: {err}");
        }
        assert_eq!(left_in(dir.path()), Vec::<String>::new(), "after {delay} ms");
    }
}

/// Whoever is killed over a loop device may leave a partition on it that the next file never had, and that ends behind it.
#[test]
fn a_free_loop_device_with_a_partition_of_old_is_used_all_the_same() {
    let Some(_alone) = loops() else { return };
    let beside = tempfile::NamedTempFile::new().expect("a file");
    beside.as_file().set_len(1 << 30).expect("a size");
    // A table with one partition of 512 MiB behind the first MiB (type 0x83, first block, number of blocks).
    let mut table = [0_u8; 512];
    table[450] = 0x83;
    table[454..458].copy_from_slice(&2048_u32.to_le_bytes());
    table[458..462].copy_from_slice(&1_048_576_u32.to_le_bytes());
    table[510..].copy_from_slice(&[0x55, 0xaa]);
    beside.as_file().write_all_at(&table, 0).expect("is written");
    let made = Command::new("losetup").args(["--find", "--show"]).arg(beside.path()).output().expect("runs");
    let node = String::from_utf8_lossy(&made.stdout).trim().to_owned();
    for words in [&["partx", "--add", &node][..], &["losetup", "--detach", &node]] {
        assert!(Command::new(words[0]).args(&words[1..]).status().expect("runs").success(), "{words:?}");
    }
    let (trial, none) = (Trial::new(), Vec::<String>::new());
    let status = trial.spawn(&trial.words("none")).wait().expect("ends");
    assert!(matches!(status.code(), Some(0 | 1)), "{status}");
    assert_eq!(left_in(trial.place.path()), none);
}

/// timeout(1) sends its signal twice at once, to the program and to its group.
#[test]
fn two_signals_at_once_end_a_lab_as_one_does() {
    let Some(_alone) = loops() else { return };
    let trial = Trial::new();
    let words: Vec<String> =
        trial.words("none").into_iter().map(|word| word.replace("200ms", "10min")).collect();
    let mut command = lab(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
    let begin = Instant::now();
    while !fs::read_to_string(trial.journal()).unwrap_or_default().contains("\"load\"") {
        let has_ended = child.try_wait().expect("can be asked").is_some();
        assert!(!has_ended && begin.elapsed() < Duration::from_secs(120), "no load began");
        thread::sleep(Duration::from_millis(2));
    }
    let process = Pid::from_raw(child.id().cast_signed());
    for _ in 0..2 {
        kill(process, Signal::SIGTERM).expect("is running");
        thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().expect("ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("interrupted"), "{said}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("is JSON");
    assert_eq!(report["complete"], false, "{report}");
    assert_eq!(left_in(trial.place.path()), Vec::<String>::new());
}

/// A lab of one device with a journal, and a place for what it is told to copy.
struct Trial {
    place: tempfile::TempDir,
    beside: tempfile::TempDir,
}

impl Trial {
    fn new() -> Self {
        Self { place: tempfile::tempdir().expect("a directory"), beside: private() }
    }

    fn journal(&self) -> String {
        self.beside.path().join("lab.jsonl").display().to_string()
    }

    /// The words for a lab of these file systems.
    fn words(&self, file_systems: &str) -> Vec<String> {
        let (place, journal) = (self.place.path().display().to_string(), self.journal());
        let words = ["--scratch", &place, "--files", "1x192MiB", "--layout", "single"];
        let rest = ["--file-system", file_systems, "--journal", &journal, "--json"];
        words.iter().chain(&rest).chain(&QUICK).map(|word| (*word).to_owned()).collect()
    }

    /// Files to copy: a large one, some small ones, and a directory.
    fn source(&self) -> String {
        let top = self.beside.path().join("photos");
        fs::create_dir_all(top.join("empty")).expect("is made");
        let noise: Vec<u8> =
            (0..3_u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        fs::write(top.join("large"), noise).expect("is written");
        for name in ["a", "b", "c"] {
            fs::write(top.join(name), name).expect("is written");
        }
        top.display().to_string()
    }

    fn spawn(&self, words: &[String]) -> Child {
        let mut command = lab(&words.iter().map(String::as_str).collect::<Vec<_>>());
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("runs")
    }

    /// The journal once it holds a result.
    fn with_result(&self) -> String {
        let begin = Instant::now();
        loop {
            let text = fs::read_to_string(self.journal()).unwrap_or_default();
            // A write of several pages can be seen, and ended, half-way: a result counts with its seal.
            let result = text.find("{\"outcome\"").map_or("", |at| &text[at..]);
            if result.matches('\n').count() > 1 {
                return text;
            }
            assert!(begin.elapsed() < Duration::from_secs(120), "no result came: {text}");
            thread::sleep(Duration::from_millis(2));
        }
    }

    fn resume(&self) -> (Option<i32>, String, String) {
        run(&["--resume", "--journal", &self.journal(), "--json"])
    }

    fn assert_clean(&self) {
        assert_eq!(left_in(self.place.path()), Vec::<String>::new());
        assert!(!Path::new(&self.journal()).exists(), "the journal is gone when nothing is left");
    }
}

/// The first result in a journal.
fn first_result(journal: &str) -> serde_json::Value {
    let line = journal.lines().find(|line| line.starts_with("{\"outcome\"")).expect("a result");
    let line: serde_json::Value = serde_json::from_str(line).expect("is JSON");
    line["outcome"].clone()
}

/// The rate of its first test.
fn first_rate(journal: &str) -> f64 {
    first_result(journal)["measured"][0]["measurement"]["bytes_per_second"].as_f64().expect("a rate")
}

#[test]
fn a_lab_that_is_killed_after_a_result_goes_on_with_it() {
    let Some(_alone) = loops() else { return };
    let trial = Trial::new();
    let source = trial.source();
    let mut child = trial.spawn(&[trial.words("none,ext4"), vec!["--copy".to_owned(), source]].concat());
    let journal = trial.with_result();
    child.kill().expect("is killed");
    child.wait().expect("ends");
    let (code, _, err) = run(&["--undo", "--journal", &trial.journal()]);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("keeps 1 result:") && err.contains("--resume"), "{err}");
    assert_eq!(left_in(trial.place.path()), Vec::<String>::new());
    // What changed meanwhile is not what the first cells copied.
    let photo = trial.beside.path().join("photos/new");
    fs::write(&photo, "new").expect("is written");
    let (code, _, err) = trial.resume();
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("is not what it was when this lab began"), "{err}");
    assert_eq!(left_in(trial.place.path()), Vec::<String>::new());
    fs::remove_file(&photo).expect("is removed");
    // A line that was cut short by the end of the machine announces nothing.
    let mut file = fs::OpenOptions::new().append(true).open(trial.journal()).expect("is kept");
    file.write_all(b"{\"outcome\":{\"cell\":").expect("is written");
    drop(file);
    let (code, out, err) = trial.resume();
    assert!(matches!(code, Some(0 | 1)), "{err}");
    let report: serde_json::Value = serde_json::from_str(&out).expect("is JSON");
    let cells = report["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 2, "{out}");
    assert!(cells.iter().all(|cell| cell["failed"].is_null()), "{out}");
    let rate = &cells[0]["measured"][0]["measurement"]["bytes_per_second"];
    assert_eq!(rate.as_f64(), Some(first_rate(&journal)));
    assert_eq!(cells[0]["copy"]["not"], "copy needs a file system");
    let copy = &cells[1]["copy"]["copied"];
    assert_eq!((copy["files"].as_u64(), copy["bytes"].as_u64()), (Some(4), Some((3 << 20) + 3)), "{out}");
    assert_eq!((copy["faults"].as_u64(), copy["read_from"].as_str()), (Some(0), Some("memory")), "{out}");
    let verified = copy["verified_files"].as_u64().zip(copy["verified_by_advice"].as_u64());
    assert_eq!(verified.map(|(direct, advised)| direct + advised), Some(4), "{out}");
    trial.assert_clean();
    let (code, _, err) = trial.resume();
    assert_eq!(code, Some(2), "a finished lab has no journal: {err}");
    assert!(err.contains("cannot read the journal"), "{err}");
}

/// A lab that was killed between its last result and its end, and the journal until then. It may be too fast once.
fn killed_after_its_last_result() -> (Trial, String) {
    for _ in 0..10 {
        let trial = Trial::new();
        let mut child =
            trial.spawn(&[trial.words("ext4"), vec!["--copy".to_owned(), trial.source()]].concat());
        let journal = trial.with_result();
        child.kill().expect("is killed");
        child.wait().expect("ends");
        if Path::new(&trial.journal()).exists() {
            return (trial, journal);
        }
    }
    panic!("ten labs ended before they could be killed");
}

#[test]
fn a_lab_that_was_ended_after_its_last_result_only_reports() {
    let Some(_alone) = loops() else { return };
    let (trial, journal) = killed_after_its_last_result();
    // A line that makes no sense widens nothing.
    let mut file = fs::OpenOptions::new().append(true).open(trial.journal()).expect("is kept");
    file.write_all(b"{\"outcome\": 7}\n{\"outcome\": 8}\n").expect("is written");
    drop(file);
    let (code, out, err) = trial.resume();
    assert!(matches!(code, Some(0 | 1)), "{err}");
    let report: serde_json::Value = serde_json::from_str(&out).expect("is JSON");
    assert_eq!(report["cells"].as_array().map(Vec::len), Some(1), "{out}");
    let rate = report["cells"][0]["measured"][0]["measurement"]["bytes_per_second"].as_f64();
    assert_eq!(rate, Some(first_rate(&journal)));
    let copied = &report["cells"][0]["copy"]["copied"];
    assert_eq!(
        copied["elapsed_ns"],
        first_result(&journal)["copy"]["copied"]["elapsed_ns"],
        "not copied again"
    );
    assert!(copied["elapsed_ns"].as_u64().is_some_and(|time| time > 0), "{out}");
    trial.assert_clean();
}

#[test]
fn a_journal_that_was_written_by_hand_does_nothing() {
    let Some(_alone) = loops() else { return };
    let trial = Trial::new();
    let head = |rest: &str| {
        let device = "{\"name\":\"nosuch0\",\"number\":[8,250],\"bytes\":1048576,\"identity\":\"NO-SUCH-DRIVE\",\"volatile\":false}";
        format!(
            "{{\"format\":\"narrows-lab/2\",\"id\":\"10213243-5465-7687-0809-0a0b0c0d0eff\",\"boot\":\"b\",\"array\":\"md127\",\
             \"scratch\":null,\"devices\":[{device}],\"typed\":[\"lab\",\"/dev/nosuch0\",\"--i-own\",\"NO-SUCH-DRIVE\"]}}\n{rest}"
        )
    };
    let seal = "{\"seal\":\"00000000000000000000000000000000\"}\n";
    for rest in [seal.to_owned(), format!("{seal}{{\"step\":{{\"thing\":\"group\"}}}}\n{seal}")] {
        let text = head(&rest);
        fs::write(trial.journal(), &text).expect("is written");
        for (mode, said) in [(0o644, "has mode 0644"), (0o600, "no lab on this machine wrote it")] {
            fs::set_permissions(trial.journal(), fs::Permissions::from_mode(mode)).expect("is set");
            for (code, out, err) in [trial.resume(), run(&["--undo", "--journal", &trial.journal()])] {
                assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
                assert!(err.contains(said) && err.contains("hint: "), "{rest}: {err}");
                assert_eq!(fs::read_to_string(trial.journal()).expect("is kept"), text, "{rest}");
            }
        }
    }
}

#[test]
fn what_cannot_be_copied_is_refused_before_anything_is_written() {
    let Some(_alone) = loops() else { return };
    let trial = Trial::new();
    let (source, place) = (trial.source(), trial.place.path().display().to_string());
    let huge = trial.beside.path().join("huge").display().to_string();
    fs::write(&huge, vec![1; 200 << 20]).expect("is written");
    for (file_systems, source, said) in [
        ("none", source.as_str(), "--file-system ext4"),
        ("ext4", &huge, "more than any of these layouts holds"),
        ("ext4", &place, "the lab itself works in"),
        ("ext4", "/dev/null", "a character device"),
        ("ext4", "/nonexistent", "cannot use `/nonexistent`"),
    ] {
        let words = [trial.words(file_systems), vec!["--copy".to_owned(), source.to_owned()]].concat();
        let (code, out, err) = run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!((code, out.as_str()), (Some(2), ""), "{source}: {err}");
        assert!(err.contains(said), "{source}: {err}");
        trial.assert_clean();
    }
    let place = trial.place.path().display().to_string();
    let missing = ["--scratch", &place, "--file-system", "ext4", "--copy", "/nonexistent", "--dry-run"];
    let (code, out, err) = run(&missing);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
    assert!(err.contains("cannot use `/nonexistent`"), "{err}");
}
