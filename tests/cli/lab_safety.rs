//! What a lab may never touch: data of others on its devices, before, while and after it runs. On loop devices; what needs md or
//! the device mapper is in `rig/scenarios/lab-foreign-*.toml`.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "tests make files, run programs and may panic"
)]

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::devices;
use super::lab_cli::{QUICK, lab, loops, private, run};

const MIB: u64 = 1 << 20;
const SIZE: u64 = 160 * MIB;
/// The part of the device that the lab may write.
const SLICE: std::ops::Range<u64> = MIB..65 * MIB;

/// A loop device over a file of zeros.
struct Disk {
    directory: tempfile::TempDir,
    node: String,
}

impl Disk {
    fn new() -> Self {
        let directory = private();
        let file = directory.path().join("disk.img");
        fs::File::create(&file).and_then(|made| made.set_len(SIZE)).expect("a file");
        let made = Command::new("losetup").args(["--find", "--show"]).arg(&file).output().expect("runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let node = String::from_utf8_lossy(&made.stdout).trim().to_owned();
        devices::forget_partitions(Path::new(&node));
        Self { directory, node }
    }

    fn name(&self) -> &str {
        self.node.trim_start_matches("/dev/")
    }

    fn file(&self) -> String {
        self.directory.path().join("disk.img").display().to_string()
    }

    fn journal(&self) -> String {
        self.directory.path().join("lab.jsonl").display().to_string()
    }

    fn spawn(&self, more: &[&str]) -> Child {
        let (file, journal) = (self.file(), self.journal());
        let words =
            [&self.node, "--i-own", &file, "--layout", "single", "--slice", "64MiB", "--journal", &journal];
        let words = [&words[..], &QUICK, more].concat();
        lab(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("runs")
    }

    /// A lab that was killed once so much stands in its journal.
    fn killed(&self, when: &str, more: &[&str]) {
        let mut child = self.spawn(more);
        if !self.is_reached(when, &mut child) {
            child.kill().expect("is killed");
            let output = child.wait_with_output().expect("ends");
            panic!("no {when}: {}", String::from_utf8_lossy(&output.stderr));
        }
        thread::sleep(Duration::from_millis(150));
        child.kill().expect("is killed");
        child.wait().expect("ends");
    }

    /// Waits until so much stands in the journal, or the lab has ended.
    fn is_reached(&self, what: &str, lab: &mut Child) -> bool {
        let begin = Instant::now();
        let is_there = || fs::read_to_string(self.journal()).unwrap_or_default().contains(what);
        let mut has_ended = || lab.try_wait().is_ok_and(|status| status.is_some());
        while !is_there() && !has_ended() && begin.elapsed() < Duration::from_secs(180) {
            thread::sleep(Duration::from_millis(2));
        }
        is_there()
    }

    /// Writes to the disk itself, as somebody who knows nothing of the lab.
    fn plant(&self, at: u64, data: &[u8]) {
        let opened = OpenOptions::new().write(true).open(&self.node).expect("opens");
        opened.write_all_at(data, at).and_then(|()| opened.sync_all()).expect("is written");
    }

    fn undo(&self) -> (Option<i32>, String) {
        let (code, _, err) = run(&["--undo", "--journal", &self.journal()]);
        (code, err)
    }

    /// All that is on the disk.
    fn bytes(&self) -> Vec<u8> {
        Command::new("blockdev").args(["--flushbufs", &self.node]).status().expect("runs");
        fs::read(self.file()).expect("is read")
    }

    fn holds(&self, at: u64, data: &[u8]) -> bool {
        let at = usize::try_from(at).expect("is small");
        self.bytes()[at..at + data.len()] == *data
    }

    fn is_zero_outside(&self) -> bool {
        let bytes = self.bytes();
        let part = |from: u64, to: u64| bytes[from as usize..to as usize].iter().all(|byte| *byte == 0);
        part(0, SLICE.start) && part(SLICE.end, SIZE)
    }

    fn has_partition(&self) -> bool {
        Path::new(&format!("/sys/class/block/{0}/{0}p1", self.name())).exists()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        devices::forget_partitions(Path::new(&self.node));
        let _ = Command::new("losetup").args(["--detach", &self.node]).status();
    }
}

#[test]
fn a_killed_lab_is_undone_to_the_last_byte() {
    let Some(_alone) = loops() else { return };
    for (when, more) in [("\"load\"", &[][..]), ("\"mount\"", &["--file-system", "ext4"])] {
        let disk = Disk::new();
        disk.killed(when, more);
        assert!(disk.has_partition(), "the slice outlives the lab");
        assert!(disk.is_zero_outside(), "nothing outside of the slice is ever written");
        let (code, err) = disk.undo();
        assert_eq!(code, Some(0), "{err}");
        assert!(disk.bytes().iter().all(|byte| *byte == 0), "{when}");
        assert!(!disk.has_partition() && !Path::new(&disk.journal()).exists());
    }
}

#[test]
fn what_others_write_after_a_kill_stays() {
    let Some(_alone) = loops() else { return };
    for at in [0, 3 * MIB, 40 * MIB, 100 * MIB, SIZE - 4096] {
        let disk = Disk::new();
        disk.killed("\"load\"", &[]);
        let precious = b"precious".repeat(512);
        disk.plant(at, &precious);
        for _ in 0..2 {
            let (code, err) = disk.undo();
            assert!(disk.holds(at, &precious), "at {at}: {err}");
            let is_inside = SLICE.contains(&at);
            assert!(code == Some(2) || !is_inside, "at {at}: {err}");
            let told = if is_inside {
                err.contains("not known to be the lab's")
            } else {
                err.contains("somebody else wrote or discarded 4.1 kB")
            };
            assert!(code == Some(0) || told, "at {at}: {err}");
            assert!(code == Some(0) || err.contains(disk.name()) && err.contains("hint: "), "{err}");
            if code == Some(0) {
                break;
            }
        }
        assert!(!disk.has_partition(), "at {at}");
    }
}

#[test]
fn what_others_write_while_it_runs_ends_it_and_stays() {
    let Some(_alone) = loops() else { return };
    let disk = Disk::new();
    let mut child = disk.spawn(&["--file-system", "none,ext4"]);
    assert!(disk.is_reached("\"load\"", &mut child));
    thread::sleep(Duration::from_millis(300));
    let precious = b"precious".repeat(512);
    disk.plant(20 * MIB + 4096 * 3, &precious);
    let begin = Instant::now();
    let ended = child.wait_with_output().expect("ends");
    let err = String::from_utf8_lossy(&ended.stderr);
    assert!(begin.elapsed() < Duration::from_secs(10), "{err}");
    assert_eq!(ended.status.code(), Some(2), "{err}");
    assert!(err.contains("somebody else wrote") && err.contains(disk.name()), "{err}");
    assert!(disk.holds(20 * MIB + 4096 * 3, &precious), "{err}");
    let before = disk.bytes();
    let (code, err) = disk.undo();
    assert_eq!(code, Some(2), "{err}");
    let after = disk.bytes();
    let is_kept = |at: usize| after[at] == before[at] || SLICE.contains(&(at as u64));
    assert!((0..after.len()).all(is_kept));
}

#[test]
fn a_device_with_data_anywhere_is_refused_and_left_as_it_is() {
    let Some(_alone) = loops() else { return };
    for at in [0, 2 * MIB + 512, 33 * MIB, SIZE - 512] {
        let disk = Disk::new();
        disk.plant(at, b"x");
        let before = disk.bytes();
        let ended = disk.spawn(&[]).wait_with_output().expect("ends");
        assert_eq!(ended.status.code(), Some(2), "at {at}");
        assert!(disk.bytes() == before, "at {at}");
        assert!(!disk.has_partition() && !Path::new(&disk.journal()).exists());
    }
}

#[test]
fn a_device_that_is_refused_is_not_undone() {
    let Some(_alone) = loops() else { return };
    let (one, two) = (Disk::new(), Disk::new());
    two.plant(4 * MIB, b"precious");
    let before = two.bytes();
    let (files, journal) = (format!("{},{}", one.file(), two.file()), one.journal());
    let words = [
        &one.node,
        &two.node,
        "--i-own",
        &files,
        "--layout",
        "single",
        "--slice",
        "64MiB",
        "--journal",
        &journal,
    ];
    let (code, _, err) = run(&[&words[..], &QUICK].concat());
    assert_eq!(code, Some(2), "{err}");
    assert!(two.bytes() == before && one.bytes().iter().all(|byte| *byte == 0), "{err}");
    assert!(!one.has_partition() && !two.has_partition());
}

#[test]
fn a_copied_or_changed_journal_changes_nothing() {
    let Some(_alone) = loops() else { return };
    let disk = Disk::new();
    disk.killed("\"load\"", &[]);
    let text = fs::read_to_string(disk.journal()).expect("is there");
    let before = disk.bytes();
    let copy = disk.directory.path().join("copy.jsonl");
    let forge = |text: String| {
        fs::write(&copy, text).expect("is written");
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o600)).expect("is set");
        let (code, _, err) = run(&["--undo", "--journal", &copy.display().to_string()]);
        assert_eq!(code, Some(2), "{err}");
        assert!(disk.bytes() == before && disk.has_partition(), "{err}");
    };
    forge(text.clone());
    forge(text.replace("67108864", "134217728"));
    forge(text.lines().filter(|line| !line.contains("seal")).map(|line| format!("{line}\n")).collect());
    forge(format!("garbage\n{text}"));
    // The journal itself, after the lab is over and the device is somebody else's.
    let (code, err) = disk.undo();
    assert_eq!(code, Some(0), "{err}");
    disk.plant(2 * MIB, b"precious");
    let before = disk.bytes();
    fs::write(disk.journal(), &text).expect("is written");
    fs::set_permissions(disk.journal(), fs::Permissions::from_mode(0o600)).expect("is set");
    let (code, err) = disk.undo();
    assert_eq!(code, Some(2), "{err}");
    assert!(disk.bytes() == before, "{err}");
}
