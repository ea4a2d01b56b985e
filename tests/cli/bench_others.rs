//! `narrows measure --as kdiskmark` on a device that somebody else writes to, through the node and without a claim: before the first byte of
//! ours the run is refused, later it is stopped, and what the other wrote stays.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "tests write to devices, run the program and may panic"
)]

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::bench_failures::{Disk, begin};

const BLOCK: [u8; 4096] = [0x5a; 4096];
/// In the part that is filled, near its end.
const INSIDE: u64 = 32 << 20;
/// Behind the part that is filled.
const OUTSIDE: u64 = 50 << 20;

/// Writes a block as a program without a claim does.
fn write(device: &Path, at: u64) {
    let node = OpenOptions::new().write(true).open(device).expect("a plain open is not kept out");
    node.write_all_at(&BLOCK, at).expect("can be written");
    node.sync_data().expect("is written");
}

fn is_there(disk: &Disk, at: u64) -> bool {
    let at = usize::try_from(at).expect("is small");
    disk.bytes()[at..at + BLOCK.len()] == BLOCK
}

#[test]
fn a_block_of_somebody_else_stops_the_run_and_nothing_is_cleared() {
    let (Some(disk), results) = (Disk::blank(), tempfile::tempdir().expect("a directory")) else { return };
    let child = begin(&disk, &results.path().join("run.json"), 1);
    write(&disk.device, OUTSIDE);
    let written = Instant::now();
    let output = child.wait_with_output().expect("ends");
    let (took, said) = (written.elapsed(), String::from_utf8_lossy(&output.stderr).into_owned());
    assert_eq!(output.status.code(), Some(2), "{said}");
    let device = disk.device.display();
    assert!(said.contains(&format!("somebody else wrote 4.1 kB on `{device}`")), "{said}");
    assert!(said.contains("nothing was cleared") && said.contains("narrows guard --clean"), "{said}");
    assert!(took < Duration::from_secs(3), "{took:?}: the run was not stopped");
    assert!(is_there(&disk, OUTSIDE), "what the other wrote stays");
    let inside = usize::try_from(INSIDE).expect("is small");
    assert!(disk.bytes()[inside..inside + 4096].iter().any(|byte| *byte != 0), "nothing is cleared");
}

/// Whether the program has opened the device to write past the page cache.
fn has_claimed(process: u32, device: &Path) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    files.flatten().any(|file| {
        let info = format!("/proc/{process}/fdinfo/{}", file.file_name().to_string_lossy());
        // O_RDWR is 2 in the last digit of the flags, which are octal (proc(5)).
        let flags = fs::read_to_string(info).unwrap_or_default();
        let flags = flags.lines().find_map(|line| line.strip_prefix("flags:")).map(str::trim);
        fs::read_link(file.path()).is_ok_and(|to| to == device)
            && flags.is_some_and(|flags| flags.ends_with('2'))
    })
}

/// The program once it has claimed the device.
fn claimed(mut child: Child, device: &Path) -> Child {
    let patience = Instant::now() + Duration::from_secs(60);
    while !has_claimed(child.id(), device) {
        if child.try_wait().expect("can be asked").is_some() {
            let output = child.wait_with_output().expect("has ended");
            panic!("ended before it claimed the device: {}", String::from_utf8_lossy(&output.stderr));
        }
        assert!(Instant::now() < patience, "the device was not claimed");
    }
    child
}

/// Bytes that were written to the device until now. What was on its way when a process was stopped is waited for.
fn written(device: &Path) -> u64 {
    let name = device.file_name().expect("has a name").to_string_lossy();
    let patience = Instant::now() + Duration::from_secs(20);
    loop {
        let stat = fs::read_to_string(format!("/sys/block/{name}/stat")).expect("has counters");
        let fields: Vec<u64> = stat.split_whitespace().map_while(|word| word.parse().ok()).collect();
        // Sectors written, and I/Os in flight (kernel Documentation/block/stat.rst).
        if fields[8] == 0 || Instant::now() > patience {
            return fields[6] * 512;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// What must hold of a run that was stopped, to whose device a block was written then, and that went on.
struct Stopped {
    /// The delay, for messages.
    when: String,
    /// Whether the run had written anything.
    had_written: bool,
    /// Whether the device was all zeros.
    was_zero: bool,
}

impl Stopped {
    fn check(&self, disk: &Disk, before: u64, output: &std::process::Output) {
        let (when, said) = (&self.when, String::from_utf8_lossy(&output.stderr));
        let is_refused = output.status.code() == Some(2);
        if !self.had_written {
            assert!(is_refused, "{when}: not refused: {said}");
            let words = ["somebody else", "somebody wrote", "holds data"];
            assert!(words.iter().any(|word| said.contains(word)), "{when}: {said}");
            let theirs = BLOCK.len() as u64;
            assert_eq!(written(&disk.device) - before, theirs, "{when}: refused, and it wrote: {said}");
            let bytes = disk.bytes();
            let others = bytes.iter().filter(|byte| **byte != 0).count();
            assert!(is_there(disk, INSIDE) && others == BLOCK.len(), "{when}: {said}");
        } else if is_refused {
            assert!(said.contains("somebody else wrote"), "{when}: {said}");
        } else {
            // It had looked for the last time, and had cleared all before that.
            assert!(self.was_zero, "{when}: it went on to its end and said nothing: {said}");
        }
        // Nothing of ours comes after zeros.
        assert!(!self.was_zero || is_there(disk, INSIDE), "{when}: overwritten: {said}");
    }
}

#[test]
fn a_block_that_appears_before_the_first_write_is_never_overwritten() {
    for delay in [0, 5, 20, 60, 150] {
        let Some(disk) = Disk::blank() else { return };
        let before = written(&disk.device);
        let child = disk.bench(&disk.backing(), &["--duration", "50ms", "--json"]).spawn().expect("starts");
        let child = claimed(child, &disk.device);
        thread::sleep(Duration::from_millis(delay));
        let process = Pid::from_raw(i32::try_from(child.id()).expect("is small"));
        kill(process, Signal::SIGSTOP).expect("can be stopped");
        thread::sleep(Duration::from_millis(20));
        let had_written = written(&disk.device) > before;
        let was_zero = disk.bytes().iter().all(|byte| *byte == 0);
        write(&disk.device, INSIDE);
        kill(process, Signal::SIGCONT).expect("goes on");
        let output = child.wait_with_output().expect("ends");
        let stopped = Stopped { when: format!("after {delay} ms"), had_written, was_zero };
        stopped.check(&disk, before, &output);
    }
}
