//! `narrows measure --as kdiskmark` when what it runs on fails half-way: real errors of the kernel, from a loop device whose backing file
//! is cut off, or on a file system that is full. Also what it writes to a device that it was given.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "tests mount, attach loop devices, run the program and may panic"
)]

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use narrows::load::measurement::Cause;
use narrows::runs::measure::{MeasureReport, TargetKind};

use crate::devices::{self, Turn};

/// One at a time: a child that another test starts holds copies of our files between fork and exec.
static ALONE: Mutex<()> = Mutex::new(());

/// No other test has a file as long: on a file system in user space it could be the file behind the device, for all that a guard
/// can tell.
const DISK: u64 = (64 << 20) + 4096;

/// A blank loop device of [`DISK`] bytes over a sparse file on a file system in memory of its own.
pub(crate) struct Disk {
    mount: tempfile::TempDir,
    pub(crate) device: PathBuf,
    _turn: Turn,
}

impl Disk {
    /// `None`, with a note past the test harness, where the tests may not mount or attach.
    pub(crate) fn blank() -> Option<Self> {
        let turn = devices::turn(&ALONE);
        let mount = tempfile::tempdir().expect("a directory");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=80m", "narrows-test"])
            .arg(mount.path())
            .output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            return skip("cannot mount");
        }
        let file = File::create(mount.path().join("disk")).expect("a file");
        file.set_len(DISK).expect("a sparse file");
        drop(file);
        let mut disk = Self { mount, device: PathBuf::new(), _turn: turn };
        let attached = Command::new("losetup").args(["--find", "--show"]).arg(disk.backing()).output();
        match attached {
            Ok(output) if output.status.success() => {
                disk.device = String::from_utf8_lossy(&output.stdout).trim().into();
                devices::forget_partitions(&disk.device);
                Some(disk)
            }
            _ => skip("no loop device here"),
        }
    }

    pub(crate) fn backing(&self) -> PathBuf {
        self.mount.path().join("disk")
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        fs::read(self.backing()).expect("is readable")
    }

    /// Runs `bench` on the device, which it may write; `own` is what is typed to name it.
    pub(crate) fn bench(&self, own: &Path, more: &[&str]) -> Command {
        let mut command = self.command(own, more);
        command.args(["--size", "32MiB", "--warm-up", "1ms"]);
        command
    }

    /// The same for all of the device.
    pub(crate) fn command(&self, own: &Path, more: &[&str]) -> Command {
        let mut command = Command::new(crate::narrows_binary());
        command
            .args(["measure", "--as", "kdiskmark"])
            .arg(&self.device)
            .args(["--write", "--i-own"])
            .arg(own)
            .args(more);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if !self.device.as_os_str().is_empty() {
            let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
        }
        let _ = Command::new("umount").arg("--lazy").arg(self.mount.path()).status();
    }
}

fn skip(why: &str) -> Option<Disk> {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
    None
}

fn report(output: &Output) -> MeasureReport {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {text}\n{}", String::from_utf8_lossy(&output.stderr)))
}

fn kept(path: &Path) -> Option<MeasureReport> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

/// Starts a bench that keeps its results and waits until it has kept `results` of them.
pub(crate) fn begin(disk: &Disk, saved: &Path, results: usize) -> Child {
    let saved_text = saved.to_str().expect("is UTF-8");
    let mut command = disk.bench(&disk.backing(), &["--duration", "500ms", "--json", "--save", saved_text]);
    let mut child = command.spawn().expect("narrows starts");
    let patience = Instant::now() + Duration::from_secs(60);
    while kept(saved).is_none_or(|report| report.results.len() < results) {
        if Instant::now() > patience || child.try_wait().expect("can be asked").is_some() {
            let _ = child.kill();
            let output = child.wait_with_output().expect("has ended");
            panic!("nothing was kept: {}", String::from_utf8_lossy(&output.stderr));
        }
        thread::sleep(Duration::from_millis(10));
    }
    child
}

/// What must hold of a run that failed half-way: the results until then are there, the failure is named.
fn assert_failed(output: &Output, saved: &Path, cause: Cause, errno: &str) -> MeasureReport {
    let shown = report(output);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(!shown.complete && shown.results.len() >= 2, "{shown:?}");
    let (last, before) = shown.results.split_last().expect("there are results");
    assert!(before.iter().all(|result| result.failed.is_none()), "only the last failed");
    let failed = last.failed.as_ref().expect("says what failed");
    assert_eq!((failed.failure.cause, failed.failure.errno.as_deref()), (cause, Some(errno)), "{failed:?}");
    assert!(failed.summary.starts_with(&format!("{errno} at offset ")), "{failed:?}");
    assert!(failed.summary.ends_with(&format!(" after {} I/Os", failed.failure.after_ios)), "{failed:?}");
    assert_eq!(last.trusted, Some(false));
    assert!(said.contains(&failed.summary) && said.contains("hint:"), "{said}");
    assert!(shown.reason.as_ref().is_some_and(|reason| reason.contains("failed: ")), "{:?}", shown.reason);
    assert_eq!(kept(saved).as_ref(), Some(&shown), "what is shown is what was saved");
    shown
}

#[test]
fn a_device_that_begins_to_fail_leaves_the_results_until_then() {
    let (Some(disk), results) = (Disk::blank(), tempfile::tempdir().expect("a directory")) else { return };
    let saved = results.path().join("run.json");
    let child = begin(&disk, &saved, 1);
    // Reads behind the end of the backing file end with EIO.
    let backing = OpenOptions::new().write(true).open(disk.backing()).expect("is there");
    backing.set_len(1 << 20).expect("can be cut off");
    let output = child.wait_with_output().expect("ends");
    let shown = assert_failed(&output, &saved, Cause::Medium, "EIO");
    let failed = shown.results.last().expect("one failed");
    assert!(failed.errors > 0 && failed.first_error.as_ref().is_some_and(|text| text.contains("EIO")));
}

#[test]
fn a_medium_that_fills_up_leaves_the_results_until_then() {
    let (Some(disk), results) = (Disk::blank(), tempfile::tempdir().expect("a directory")) else { return };
    let saved = results.path().join("run.json");
    let child = begin(&disk, &saved, 1);
    // The backing file loses its blocks, and somebody else takes all the room that there is: a thin volume that
    // runs out. Reads still work; the first write does not. Another loop device does that, since whoever does it
    // through the file is seen and ends the run.
    let losetup =
        Command::new("losetup").args(["--find", "--show"]).arg(disk.backing()).output().expect("runs");
    let other_device = String::from_utf8_lossy(&losetup.stdout).trim().to_owned();
    assert!(Command::new("blkdiscard").arg(&other_device).status().expect("runs").success());
    let other = File::create(disk.mount.path().join("other")).expect("a file");
    let chunk = vec![1; 4096];
    while (&other).write_all(&chunk).is_ok() {}
    let output = child.wait_with_output().expect("ends");
    let _ = Command::new("losetup").arg("--detach").arg(&other_device).status();
    let shown = assert_failed(&output, &saved, Cause::NoSpace, "ENOSPC");
    let failed = shown.results.last().expect("one failed");
    assert!(failed.name.ends_with("write"), "{}", failed.name);
    assert_eq!(shown.results.len(), 5, "the four tests that read came before");
}

#[test]
fn a_device_is_written_only_when_it_is_empty_and_named() {
    let Some(disk) = Disk::blank() else { return };
    let quick = ["--duration", "50ms", "--json"];
    let refused = disk.bench(Path::new("/tmp/another"), &quick).output().expect("narrows runs");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("its backing file is not `/tmp/another`") && said.contains("hint:"), "{said}");
    assert!(disk.bytes().iter().all(|byte| *byte == 0), "a refusal writes nothing");

    let output = disk.bench(&disk.backing(), &quick).output().expect("narrows runs");
    let shown = report(&output);
    assert!(shown.complete && shown.results.len() == 8, "{shown:?}");
    assert_eq!(shown.target.kind, TargetKind::OwnedDevice);
    assert_eq!(shown.target.size_bytes.get(), 32 << 20);
    let writes = shown.writes.expect("it writes");
    assert!(writes.written.get() >= 32 << 20 && !writes.limit_reached, "{writes:?}");
    let bytes = disk.bytes();
    assert!(bytes.len() as u64 == DISK && bytes.iter().all(|byte| *byte == 0), "it is as it was found");
}

#[test]
fn an_occupied_device_is_refused_and_keeps_every_byte() {
    let Some(disk) = Disk::blank() else { return };
    let backing = OpenOptions::new().write(true).open(disk.backing()).expect("is there");
    // The magic number of ext2 to ext4 stands at byte 1080 (kernel Documentation/filesystems/ext4/super.rst).
    backing.write_all_at(&[0x53, 0xef], 1080).expect("can be written");
    backing.write_all_at(b"precious", DISK / 2).expect("can be written");
    let before = disk.bytes();
    let refused = disk.bench(&disk.backing(), &["--json"]).output().expect("narrows runs");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("holds ext2, ext3 or ext4"), "{said}");
    assert!(refused.stdout.is_empty());
    assert!(disk.bytes() == before, "no byte changed");
}

#[test]
fn the_budget_ends_a_run_and_a_larger_one_goes_on() {
    let dir = tempfile::tempdir().expect("a directory");
    let results = tempfile::tempdir().expect("a directory");
    let saved = results.path().join("run.json");
    let saved = saved.to_str().expect("is UTF-8");
    let narrows = |arguments: &[&str]| {
        Command::new(crate::narrows_binary()).args(arguments).output().expect("narrows runs")
    };
    let place = dir.path().to_str().expect("is UTF-8");
    let quick = ["--size", "64MiB", "--duration", "60ms", "--warm-up", "1ms", "--json"];
    let limited =
        [&["measure", "--as", "kdiskmark", place, "--max-writes", "64MiB", "--save", saved], &quick[..]];
    let output = narrows(&limited.concat());
    let shown = report(&output);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("never more than 67.1 MB (--max-writes)"));
    let writes = shown.writes.expect("it writes");
    assert!(writes.limit_reached && writes.written.get() == 64 << 20, "{writes:?}");
    assert!(shown.reason.as_ref().is_some_and(|reason| reason.contains("--max-writes")));
    assert_eq!(shown.results.len(), 5, "four tests read, and the first that writes ends the run");

    let again = report(&narrows(&["measure", "--resume", saved, "--max-writes", "4GiB", "--json"]));
    assert!(again.complete && again.results.len() == 8, "{again:?}");
    assert_eq!(again.settings, shown.settings);
}

#[test]
fn a_target_without_room_for_the_filling_is_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = Command::new(crate::narrows_binary())
        .args(["measure", "--as", "kdiskmark"])
        .arg(dir.path())
        .args(["--size", "64MiB", "--max-writes", "63MiB"])
        .output()
        .expect("narrows runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("67.1 MB are to be written") && said.contains("hint:"), "{said}");
}
