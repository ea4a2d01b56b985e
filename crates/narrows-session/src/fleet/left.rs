//! What still works in the directory of a run when that is to go.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use narrows_machine::root::Root;
use nix::unistd::getpgid;
use rustix::fs::readlink;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

/// How long it may take to be gone once it was told to.
const LAST: Duration = Duration::from_millis(500);

/// Ends what works in a directory or below it, but for this process, after it had time to end by itself. The directory is this user's alone and has a name that nobody
/// guesses: what works there belongs to the run. Before Linux 5.3 no process can be held, and all of it ends by itself.
pub fn end_in(directory: &Path, grace: Duration) {
    let (root, begin) = (Root::live(), Instant::now());
    while begin.elapsed() < grace + LAST {
        let names = root.list("/proc").into_iter().filter_map(|name| name.parse().ok());
        let held: Vec<OwnedFd> = names.filter_map(|number| held(number, directory)).collect();
        if held.is_empty() {
            return;
        }
        for process in held.iter().filter(|_| begin.elapsed() > grace) {
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// A process that works there, or whose group is led by one that does. It is held before it is asked where it works: the answer is that of
/// no other one, and the number of a group is nobody else's as long as somebody is in it.
fn held(number: i32, directory: &Path) -> Option<OwnedFd> {
    let process = Pid::from_raw(number).filter(|process| *process != getpid())?;
    let held = pidfd_open(process, PidfdFlags::empty()).ok()?;
    let works_there = |number: i32| {
        let place = readlink(format!("/proc/{number}/cwd"), Vec::new());
        place.is_ok_and(|place| Path::new(OsStr::from_bytes(place.as_bytes())).starts_with(directory))
    };
    // That of a kernel thread is 0, which `rustix` cannot say.
    let group = || getpgid(Some(nix::unistd::Pid::from_raw(number))).ok().map(nix::unistd::Pid::as_raw);
    (works_there(number) || group().is_some_and(works_there)).then_some(held)
}
