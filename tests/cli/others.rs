//! What other users can do to a run of root: their directories, their links, their programs and their signals.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::fcntl::{RenameFlags, renameat2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::*;

/// Somebody else.
const BOB: u32 = 4711;
/// What every refusal says.
const WHY: &str = "other users can change";

/// A temporary directory that everybody can look into, if the tests run as root.
fn for_root(test: &str) -> Option<TempDir> {
    if !is_root() {
        skip(test, "it takes root to have files of others");
        return None;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).expect("is ours");
    Some(dir)
}

fn directory(path: &Path, owner: u32, mode: u32) -> PathBuf {
    fs::create_dir(path).expect("is not there");
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("is ours");
    chown(path, Some(owner), Some(owner)).expect("root may");
    path.to_owned()
}

fn link_of_bob(to: &Path, at: &Path) {
    symlink(to, at).expect("is not there");
    lchown(at, Some(BOB), Some(BOB)).expect("root may");
}

/// Everything that writes to a place that is typed, aimed at a directory.
fn writers(at: &Path, source: &Path) -> Vec<Vec<String>> {
    let at = |name: &str| at.join(name).display().to_string();
    let words = |text: &[&str]| text.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let quick = ["--duration", "50ms", "--size", "64MiB", "--as", "peak"];
    let source = source.display().to_string();
    let mut of_bench = words(&["measure", "--as", "kdiskmark", &at("")]);
    of_bench.extend(words(&quick));
    let mut saving = words(&["measure", "--as", "kdiskmark", &source, "--save", &at("run.json")]);
    saving.extend(words(&quick));
    vec![
        of_bench,
        saving,
        words(&["snapshot", "-o", &at("snapshot")]),
        words(&["copy", &source, &at("copy")]),
        words(&["measure", &at("")]),
        words(&["measure", "--as", "layers", &at(""), "--duration", "1s"]),
        words(&["measure", "--as", "sweep", &at(""), "--size", "64MiB", "--duration", "50ms"]),
        words(&["lab", "--scratch", &at(""), "--dry-run"]),
        words(&["lab", "--scratch", &at("")]),
    ]
}

#[test]
fn root_writes_nothing_where_others_can_change_the_way() {
    let Some(dir) = for_root("directories of others") else { return };
    let top = fs::canonicalize(dir.path()).expect("is there");
    let source = directory(&top.join("source"), 0, 0o700);
    let own = directory(&top.join("own"), 0, 0o700);
    let bobs = directory(&top.join("bobs"), BOB, 0o755);
    let all = directory(&top.join("all"), 0, 0o777);
    let group = directory(&top.join("group"), 0, 0o775);
    let below = directory(&bobs.join("below"), 0, 0o700);
    link_of_bob(&own, &bobs.join("link"));
    let sticky = directory(&top.join("sticky"), 0, 0o1777);
    link_of_bob(&own, &sticky.join("link"));
    for place in [&bobs, &all, &group, &below, &bobs.join("link"), &sticky.join("link")] {
        for words in writers(place, &source) {
            let ran = run(&words.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(ran.status, Some(2), "{words:?}: {ran:?}");
            assert!(ran.err.contains(WHY) && ran.err.contains("\nhint: "), "{words:?}: {ran:?}");
        }
    }
    for place in [&own, &all, &group, &below] {
        assert_eq!(fs::read_dir(place).expect("is there").count(), 0, "{}", place.display());
    }
}

#[test]
fn a_sticky_directory_is_fine_and_so_is_that_of_whoever_called_sudo() {
    let Some(dir) = for_root("sticky directories") else { return };
    let sticky = directory(&dir.path().join("sticky"), 0, 0o1777);
    let bobs = directory(&dir.path().join("bobs"), BOB, 0o755);
    for (place, caller) in [(sticky, "0"), (bobs.clone(), "4711")] {
        let to = place.join("snapshot");
        let mut command = narrows(&["snapshot", "-o", to.to_str().expect("text")]);
        let ran = finish(command.env("SUDO_UID", caller));
        assert_eq!(ran.status, Some(0), "{ran:?}");
        assert!(to.is_file());
    }
    // Not for the tools of a lab, which go by paths, and not for links.
    let ran = finish(narrows(&["lab", "--dry-run", "--scratch"]).arg(&bobs).env("SUDO_UID", "4711"));
    assert!(ran.status == Some(2) && ran.err.contains(WHY), "{ran:?}");
    link_of_bob(dir.path(), &bobs.join("link"));
    let to = bobs.join("link/snapshot");
    let ran = finish(narrows(&["snapshot", "-o"]).arg(&to).env("SUDO_UID", "4711"));
    assert!(ran.status == Some(2) && ran.err.contains(WHY), "{ran:?}");
}

/// The name that is typed changes all the time between a directory of bob's and a link of his to a directory of root's, which
/// nothing may ever come into. `run_as` runs one round and says whether it wrote where it should.
fn race(dir: &Path, rounds: usize, mut round: impl FnMut(&Path, usize)) -> usize {
    let home = directory(&dir.join("home"), BOB, 0o755);
    let victim = directory(&dir.join("victim"), 0, 0o777);
    directory(&home.join("place"), BOB, 0o777);
    link_of_bob(&victim, &home.join("other"));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let handle = fs::File::open(&home).expect("is there");
            while !stop.load(Ordering::Relaxed) {
                let _ = renameat2(&handle, "place", &handle, "other", RenameFlags::RENAME_EXCHANGE);
            }
        });
        for number in 0..rounds {
            round(&home.join("place"), number);
        }
        stop.store(true, Ordering::Relaxed);
    });
    fs::read_dir(&victim).expect("is there").count()
}

#[test]
fn a_link_that_is_swapped_in_leads_a_copy_nowhere() {
    let Some(dir) = for_root("swapped links") else { return };
    fs::write(dir.path().join("file"), "x").expect("is ours");
    let file = dir.path().join("file");
    let came = race(dir.path(), 100, |place, number| {
        let to = place.join(format!("copy-{number}"));
        let as_root = finish(narrows(&["copy"]).arg(&file).arg(&to));
        assert_eq!(as_root.status, Some(2), "{as_root:?}");
    });
    assert_eq!(came, 0, "something came into the directory that the link leads to");
}

#[test]
fn a_link_that_is_swapped_in_leads_another_user_nowhere() {
    let Some(dir) = for_root("swapped links") else { return };
    if !Path::new("/usr/bin/setpriv").exists() {
        return skip("swapped links", "there is no setpriv");
    }
    fs::write(dir.path().join("file"), "x").expect("is ours");
    let binary = dir.path().join("narrows");
    fs::copy(crate::narrows_binary(), &binary).expect("is there");
    let mut wrote = 0;
    let came = race(dir.path(), 100, |place, number| {
        let mut command = Command::new("/usr/bin/setpriv");
        command.args(["--reuid", "4712", "--regid", "4712", "--clear-groups"]).arg(&binary).arg("copy");
        command.arg(dir.path().join("file")).arg(place.join(format!("copy-{number}")));
        let ran = finish(&mut command);
        assert!(matches!(ran.status, Some(0 | 2)), "{ran:?}");
        wrote += usize::from(ran.status == Some(0));
    });
    assert_eq!(came, 0, "something came into the directory that the link leads to");
    assert!(wrote > 0, "in no round the directory was met");
}

#[test]
fn a_forged_manifest_of_a_copy_does_not_count() {
    let Some(dir) = for_root("a forged manifest") else { return };
    let sticky = directory(&dir.path().join("sticky"), 0, 0o1777);
    let file = dir.path().join("file");
    fs::write(&file, vec![7; 3 << 20]).expect("is ours");
    let to = sticky.join("copy");
    // What an interrupted copy of bob's would leave.
    let mut child =
        narrows(&["copy", "--block-size", "4k", "--depth", "1"]).arg(&file).arg(&to).spawn().expect("runs");
    let begin = Instant::now();
    while fs::read_dir(&sticky).expect("is there").count() == 0 && begin.elapsed() < Duration::from_secs(20) {
    }
    child.kill().and_then(|()| child.wait()).expect("ends");
    let left = || fs::read_dir(&sticky).expect("is there").flatten().map(|entry| entry.path());
    if to.exists() || left().count() == 0 {
        return skip("a forged manifest", "the copy was faster than its end");
    }
    left().for_each(|path| lchown(path, Some(BOB), None).expect("root may"));
    let ran = finish(narrows(&["copy", "--resume"]).arg(&file).arg(&to));
    assert!(ran.status == Some(2) && ran.err.contains("was not made by this user alone"), "{ran:?}");
    assert!(!to.exists());
}

#[test]
fn a_whole_snapshot_is_for_its_owner_and_nobody_may_write_to_a_report() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (words, mode) in [(&["--no-redact"][..], 0o600), (&[], 0o644)] {
        let to = dir.path().join(format!("{mode:o}"));
        let script = "umask 0; exec \"$@\"";
        let mut command = Command::new("sh");
        command
            .args(["-c", script, "sh"])
            .arg(crate::narrows_binary())
            .args(["snapshot", "-o"])
            .arg(&to)
            .args(words);
        let ran = finish(&mut command);
        assert_eq!(ran.status, Some(0), "{ran:?}");
        assert_eq!(fs::metadata(&to).expect("is there").mode() & 0o7777, mode);
    }
}

/// A bench of some seconds in a directory of ours, begun by a shell that does something first.
fn bench_after(first: &str, dir: &TempDir, duration: &str) -> std::process::Child {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{first}; exec \"$@\""), "sh"]).arg(crate::narrows_binary());
    command.args(["measure", text(dir), "--as", "peak", "--size", "64MiB", "--duration", duration]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    command.spawn().expect("runs")
}

fn send(child: &std::process::Child, signal: Signal) {
    let id = i32::try_from(child.id()).expect("a number");
    kill(Pid::from_raw(id), signal).expect("is there");
}

/// Waits until the program watches for a signal.
fn wait_until_it_watches(child: &std::process::Child) {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(30) {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        // SIGTERM.
        if caught & (1 << 14) != 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it never watched for signals");
}

#[test]
fn a_hang_up_that_was_ignored_stays_ignored_and_others_end_a_run() {
    let dir = scratch_dir();
    let mut child = bench_after("trap '' HUP", &dir, "60s");
    wait_until_it_watches(&child);
    send(&child, Signal::SIGHUP);
    send(&child, Signal::SIGHUP);
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().expect("is ours").is_none(), "a hang-up ended it");
    send(&child, Signal::SIGTERM);
    let ran = Ran::from(child.wait_with_output().expect("ends"));
    assert!(ran.status.is_some(), "it ended of its own accord: {ran:?}");
    // Whoever started the tests may have them ignore it, and a shell cannot take that back.
    let child = bench_after("exec env --default-signal=HUP \"$@\"", &dir, "60s");
    wait_until_it_watches(&child);
    send(&child, Signal::SIGHUP);
    let ran = Ran::from(child.wait_with_output().expect("ends"));
    assert!(ran.status.is_some(), "{ran:?}");
    assert_eq!(names_in(&dir), Vec::<String>::new());
}

#[test]
fn a_limit_on_open_files_is_named_as_such() {
    let dir = scratch_dir();
    for limit in [8, 10, 12, 14, 16] {
        let child = bench_after(&format!("ulimit -n {limit}"), &dir, "50ms");
        let ran = Ran::from(child.wait_with_output().expect("ends"));
        assert!(!ran.err.contains("io_uring") && !ran.out.contains("refused io_uring"), "{limit}: {ran:?}");
        let is_named =
            ran.err.contains("no file descriptor is left") || ran.out.contains("no file descriptor is left");
        assert!(matches!(ran.status, Some(0 | 1)) || is_named, "{limit}: {ran:?}");
    }
    // A lower soft limit is raised.
    let child = bench_after("ulimit -S -n 10", &dir, "50ms");
    let ran = Ran::from(child.wait_with_output().expect("ends"));
    assert!(matches!(ran.status, Some(0 | 1)), "{ran:?}");
}

#[test]
fn root_does_not_run_what_path_says() {
    let Some(dir) = for_root("programs of others") else { return };
    let place = scratch_dir();
    let fake = dir.path().join("iperf3");
    fs::write(&fake, format!("#!/bin/sh\ntouch {}/ran\n", dir.path().display())).expect("is ours");
    fs::set_permissions(&fake, Permissions::from_mode(0o755)).expect("is ours");
    let quick = [
        "--size",
        "64MiB",
        "--duration",
        "50ms",
        "--warm-up",
        "10ms",
        "--peer",
        "127.0.0.1",
        "--plain",
        "--verbose",
    ];
    let mut command = narrows(&["measure", "--as", "layers", text(&place)]);
    let ran = finish(command.args(quick).env("PATH", dir.path()).env("LD_PRELOAD", "/no/such/library"));
    assert!(ran.out.contains("iperf3"), "{ran:?}");
    assert!(!dir.path().join("ran").exists(), "a program out of PATH ran as root");
}
