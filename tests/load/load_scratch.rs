//! The scratch file on real file systems: full ones, read-only ones, and under SIGKILL.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "tests make files, mount small file systems, start themselves again and may panic"
)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use narrows::load::measurement::{Pattern, Workload};
use narrows::load::{Kind, LoadError, RunOptions, ScratchFile, ScratchOptions};
use narrows::units::{Bytes, Nanos};
use nix::sys::statvfs::statvfs;

use super::{any, long_enough};

fn go(_: Bytes, _: Bytes) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn small(minimum_mib: u64) -> ScratchOptions {
    ScratchOptions {
        reserve: Some(Bytes::new(0)),
        minimum: Bytes::from_mib(minimum_mib),
        seed: 5,
        ..ScratchOptions::default()
    }
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("the directory is readable").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn free(dir: &Path) -> u64 {
    let statistics = statvfs(dir).expect("statistics");
    statistics.blocks_available() * statistics.fragment_size()
}

/// Says past the test harness, which would hide it, that a test could not be done.
fn skip(why: &str) -> Option<Mounted> {
    let _ = writeln!(std::io::stderr(), "skipped: cannot mount: {}", why.trim());
    None
}

/// One test with a disk or a child at a time: a child process that another test starts holds a copy of each open file,
/// and with it the space of a scratch file, between fork and exec.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A small tmpfs of its own, unmounted when dropped.
struct Mounted {
    dir: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Mounted {
    /// `None`, with a note, where mounting is not permitted.
    fn tmpfs(options: &str) -> Option<Self> {
        let alone = alone();
        let dir = tempfile::tempdir().expect("a directory");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "narrows-test"])
            .arg(dir.path())
            .output();
        match mount {
            Ok(output) if output.status.success() => Some(Self { dir, _alone: alone }),
            Ok(output) => skip(&String::from_utf8_lossy(&output.stderr)),
            Err(error) => skip(&error.to_string()),
        }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.dir.path()).status();
    }
}

#[test]
fn a_scratch_file_can_be_measured_and_vanishes() {
    for dir in [tempfile::tempdir(), tempfile::tempdir_in("/dev/shm")].into_iter().flatten() {
        let scratch =
            ScratchFile::create(dir.path(), Bytes::from_mib(8), &small(1), &mut go).expect("a file");
        assert_eq!(scratch.target().kind(), Kind::Scratch);
        let workload = Workload::read(Pattern::Random, Bytes::from_kib(4), 4, Nanos::from_millis(100));
        let measurement = long_enough(scratch.target(), &workload, &RunOptions::default(), any);
        assert!(measurement.bytes.get() > 0);
        assert_eq!((measurement.errors, names(dir.path()).len()), (0, 0));
    }
}

#[test]
fn a_file_that_does_not_fit_shrinks_and_leaves_the_reserve() {
    let Some(disk) = Mounted::tmpfs("size=40m") else { return };
    let options = ScratchOptions { reserve: Some(Bytes::from_mib(10)), ..small(4) };
    let scratch =
        ScratchFile::create(disk.path(), Bytes::from_mib(100), &options, &mut go).expect("a smaller file");
    assert_eq!(scratch.target().size(), Bytes::from_mib(30));
    assert!(free(disk.path()) >= 10 << 20);
    drop(scratch);
    assert_eq!(free(disk.path()), 40 << 20, "the space is free again");
}

#[test]
fn by_default_a_gibibyte_or_a_twentieth_stays_free() {
    let Some(disk) = Mounted::tmpfs("size=512m") else { return };
    let refused = ScratchFile::create(disk.path(), Bytes::from_mib(64), &ScratchOptions::default(), &mut go);
    match refused {
        Err(LoadError::NoSpace { reserve, minimum, .. }) => {
            assert_eq!((reserve, minimum), (Bytes::from_mib(1024), Bytes::from_mib(64)));
        }
        other => panic!("{other:?}"),
    }
}

/// Creates a scratch file of 30 MiB on a disk of 40 MiB while somebody else fills 20 MiB.
fn beside_somebody_else(disk: &Path, minimum_mib: u64) -> Result<ScratchFile, LoadError> {
    ScratchFile::create(disk, Bytes::from_mib(30), &small(minimum_mib), &mut |done, _| {
        if done == Bytes::from_mib(4) {
            fs::write(disk.join("other"), vec![1; 20 << 20]).expect("the other file fits");
        }
        ControlFlow::Continue(())
    })
}

#[test]
fn a_disk_that_fills_up_meanwhile_leaves_a_smaller_file() {
    let Some(disk) = Mounted::tmpfs("size=40m") else { return };
    let scratch = beside_somebody_else(disk.path(), 8).expect("a smaller file");
    let size = scratch.target().size().get() >> 20;
    assert!((8..20).contains(&size), "{size} MiB");
    assert!(free(disk.path()) > 0, "the disk is not left full");
}

#[test]
fn a_disk_that_fills_up_too_far_is_an_error_and_nothing_stays() {
    let Some(disk) = Mounted::tmpfs("size=40m") else { return };
    let refused = beside_somebody_else(disk.path(), 25);
    assert!(matches!(refused, Err(LoadError::NoSpace { .. })), "{refused:?}");
    assert_eq!(names(disk.path()), ["other"]);
    assert_eq!(free(disk.path()), 20 << 20);
}

#[test]
fn a_read_only_file_system_is_named() {
    let Some(disk) = Mounted::tmpfs("ro,size=10m") else { return };
    let refused =
        ScratchFile::create(disk.path(), Bytes::from_mib(1), &small(1), &mut go).expect_err("refused");
    assert!(matches!(refused, LoadError::ReadOnly(_)), "{refused:?}");
}

const CHILD_DIR: &str = "NARROWS_TEST_SCRATCH_DIR";

/// Only in the child process of the test below: makes a scratch file and tells each step.
#[test]
fn child_that_makes_a_scratch_file() {
    let Some(dir) = std::env::var_os(CHILD_DIR) else { return };
    let tell = |step: &str| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "\n{step}").and_then(|()| out.flush()).expect("the parent listens");
    };
    let made = ScratchFile::create(Path::new(&dir), Bytes::from_mib(24), &small(1), &mut |done, _| {
        tell(&format!("at {}", done.get() >> 20));
        ControlFlow::Continue(())
    });
    tell("made");
    loop {
        std::thread::park();
        assert!(made.is_ok());
    }
}

#[test]
fn a_kill_at_any_moment_leaves_nothing_behind() {
    let _alone = alone();
    for moment in ["at 0", "at 4", "at 20", "at 24", "made"] {
        let dir = tempfile::tempdir().expect("a directory");
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "load_scratch::child_that_makes_a_scratch_file", "--nocapture"])
            .env(CHILD_DIR, dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the child runs");
        let out = BufReader::new(child.stdout.take().expect("its output"));
        let reached = out.lines().map_while(Result::ok).any(|line| line == moment);
        child.kill().expect("SIGKILL is sent");
        child.wait().expect("it ends");
        assert!(reached, "the child never said `{moment}`");
        assert_eq!(names(dir.path()), Vec::<String>::new(), "after a kill {moment}");
    }
}
