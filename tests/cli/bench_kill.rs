//! kill -9 at any moment of `narrows measure --as kdiskmark` leaves no scratch file behind, or one that the next run removes.
//!
//! `NARROWS_KILLS=50` sets how many kills there are (10 by default). Moments are drawn from a fixed seed; what is asserted
//! does not depend on what the program is doing at that moment.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "a test runs the program, kills it, and looks at what is left"
)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use narrows::runs::measure::MeasureReport;
use nix::sys::statvfs::statvfs;

/// The longest that a run is left alone before it is killed: set-up, filling and the first tests.
const LONGEST: u64 = 3_000;

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("is readable").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn free(dir: &Path) -> u64 {
    let statistics = statvfs(dir).expect("statistics");
    statistics.blocks_free() * statistics.fragment_size()
}

/// A file system of its own, so that what is left behind shows in the free space; unmounted when dropped.
struct Mounted {
    dir: tempfile::TempDir,
    image: Option<tempfile::TempPath>,
}

impl Mounted {
    fn by(options: &[&str], image: Option<tempfile::TempPath>) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a directory");
        let mut command = Command::new("mount");
        command.args(options);
        match &image {
            Some(image) => command.arg(image),
            None => command.arg("narrows-test"),
        };
        let mounted = command.arg(dir.path()).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self { dir, image });
        }
        let _ = writeln!(std::io::stderr(), "skipped: cannot mount: {options:?}");
        None
    }

    /// Has files without names.
    fn tmpfs() -> Option<Self> {
        Self::by(&["-t", "tmpfs", "-o", "size=2g"], None)
    }

    /// Has none, so that a scratch file has a name for a moment: what can be mounted of vfat and ntfs-3g,
    /// with directories that only root may change: root writes in no others.
    fn with_names() -> Option<Self> {
        let vfat = (["mkfs.vfat", "-F", "32"], ["-t", "vfat", "-o", "loop"]);
        let ntfs = (["mkfs.ntfs", "-F", "-Q"], ["-t", "ntfs-3g", "-o", "loop,umask=022"]);
        [vfat, ntfs].into_iter().find_map(|(make, mount)| Self::made(&make, &mount))
    }

    fn made(make: &[&str; 3], mount: &[&str]) -> Option<Self> {
        let image = tempfile::NamedTempFile::new().expect("a file");
        image.as_file().set_len(2 << 30).expect("a sparse file");
        let image = image.into_temp_path();
        let [program, options @ ..] = make;
        let made = Command::new(program).args(options).arg(&image).output();
        if !made.is_ok_and(|output| output.status.success()) {
            let _ = writeln!(std::io::stderr(), "skipped: no {program}");
            return None;
        }
        Self::by(mount, Some(image))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.dir.path()).status();
        drop(self.image.take());
    }
}

/// SplitMix64, so that the moments are the same in every run.
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn bench(dir: &Path, saved: &Path) -> Command {
    let mut command = Command::new(crate::narrows_binary());
    command.args(["measure", "--as", "kdiskmark"]).arg(dir).arg("--save").arg(saved);
    command.args(["--size", "64MiB", "--duration", "200ms", "--warm-up", "10ms", "--json"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Waits until the kernel has taken a process apart: rings go after it, and with them the last reference to a file without
/// a name. FUSE gives such a file a name of its own until then.
fn settle(dir: &Path, free_before: u64) {
    let patience = Instant::now() + Duration::from_secs(30);
    let is_hidden = |name: &String| name.starts_with(".fuse_hidden");
    let is_open = || {
        let names = names(dir);
        names.iter().any(is_hidden) || (names.is_empty() && free(dir) < free_before)
    };
    while is_open() && Instant::now() < patience {
        thread::sleep(Duration::from_millis(20));
    }
}

/// Kills runs at moments from the seed. Returns how often a name was left, which the next run must remove.
fn kill(dir: &Path, kills: u64, seed: u64) -> u64 {
    let results = tempfile::tempdir().expect("a directory");
    // Below what is free now: NTFS keeps the records of files that are gone.
    let free_before = free(dir) - (4 << 20);
    let (mut state, mut left_names) = (seed, 0);
    for index in 0..kills {
        let saved = results.path().join(format!("{index}.json"));
        let moment = Duration::from_millis(draw(&mut state) % LONGEST);
        let mut child = bench(dir, &saved).spawn().expect("narrows starts");
        thread::sleep(moment);
        child.kill().expect("can be killed");
        child.wait().expect("ends");
        settle(dir, free_before);
        let left = names(dir);
        let ours = left.iter().all(|name| name.starts_with(".narrows-scratch-"));
        assert!(left.len() <= 1 && ours, "after a kill at {moment:?}: {left:?}");
        left_names += left.len() as u64;
        if left.is_empty() {
            assert!(free(dir) >= free_before, "space is taken after a kill at {moment:?}");
        }
        assert_saved(&saved, moment);
    }
    // The next run finds what is left, whole or not.
    let saved = results.path().join("last.json");
    bench(dir, &saved).status().expect("narrows runs");
    settle(dir, free_before);
    assert_eq!(names(dir), Vec::<String>::new());
    assert!(free(dir) >= free_before);
    left_names
}

/// A saved file is whole or not there.
fn assert_saved(saved: &Path, moment: Duration) {
    let Ok(text) = fs::read_to_string(saved) else { return };
    let report: Result<MeasureReport, _> = serde_json::from_str(&text);
    assert!(report.is_ok(), "the saved file is half written after a kill at {moment:?}: {text}");
}

fn kills() -> u64 {
    std::env::var("NARROWS_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(10)
}

#[test]
fn a_kill_at_any_moment_leaves_nothing_behind() {
    let Some(mounted) = Mounted::tmpfs() else { return };
    let left = kill(mounted.dir.path(), kills(), 42);
    assert_eq!(left, 0, "files without names leave none");
}

#[test]
fn a_kill_where_files_must_have_names_leaves_nothing_that_the_next_run_does_not_remove() {
    let Some(mounted) = Mounted::with_names() else { return };
    kill(mounted.dir.path(), kills().div_ceil(2), 43);
}

#[test]
fn what_a_killed_run_left_is_removed_by_the_next() {
    let Some(mounted) = Mounted::with_names() else { return };
    let dir = mounted.dir.path();
    // No process has such a number (above 2^22, proc_sys_kernel(5)).
    let name = ".narrows-scratch-1999999999-0123456789abcdef";
    fs::write(dir.join(name), "").expect("can be written");
    fs::write(dir.join("mine"), "mine").expect("can be written");
    let results = tempfile::tempdir().expect("a directory");
    bench(dir, &results.path().join("run.json")).status().expect("narrows runs");
    settle(dir, 0);
    assert_eq!(names(dir), ["mine"]);
}
