//! Processes that hold a device in ways that no shell can: `attacks --hold HOW FILE READY`, started by the attacks themselves.

#![expect(unsafe_code, reason = "a mapping, and a thread that outlives the first one, have no safe form")]

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use nix::sys::mman::{MapFlags, ProtFlags, mmap};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};

/// The longest that a holder lives, should nobody end it.
const LONGEST: Duration = Duration::from_secs(120);

/// The command line that holds `file` in this way and makes the file `ready` when it does.
pub(crate) fn command(how: &str, file: &Path, ready: &Path) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--hold", how]).arg(file).arg(ready);
    Ok(command)
}

/// Holds until it is killed.
pub(crate) fn hold(words: &[String]) -> Result<()> {
    let [how, file, ready] = words else { return Err(Error::from(ErrorKind::InvalidInput)) };
    let (file, ready) = (PathBuf::from(file), PathBuf::from(ready));
    match how.as_str() {
        "read" => keep(File::open(file)?, &ready),
        "write" => keep(open(&file)?, &ready),
        "path" => keep(OpenOptions::new().read(true).custom_flags(nix::libc::O_PATH).open(file)?, &ready),
        "claim" => keep(OpenOptions::new().read(true).custom_flags(nix::libc::O_EXCL).open(file)?, &ready),
        "map" => map(&file, &ready),
        "ring" => ring(&file, &ready),
        "in-flight" => in_flight(&file, &ready),
        "thread" => thread_of_its_own(file, ready, false),
        "leaderless" => thread_of_its_own(file, ready, true),
        "ofd-lock" => {
            let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(file)?;
            let lock = nix::libc::flock {
                l_type: nix::libc::F_WRLCK as i16,
                l_whence: 0,
                l_start: 0,
                l_len: 0,
                l_pid: 0,
            };
            nix::fcntl::fcntl(&file, nix::fcntl::FcntlArg::F_OFD_SETLK(&lock))?;
            keep(file, &ready)
        }
        "swap" => swap(&file, &ready),
        _ => Err(Error::from(ErrorKind::InvalidInput)),
    }
}

fn open(file: &Path) -> Result<File> {
    OpenOptions::new().read(true).write(true).open(file)
}

fn keep<T>(held: T, ready: &Path) -> Result<()> {
    File::create(ready)?;
    thread::sleep(LONGEST);
    drop(held);
    Ok(())
}

/// A mapping, with the descriptor closed.
fn map(file: &Path, ready: &Path) -> Result<()> {
    let opened = open(file)?;
    let length = std::num::NonZeroUsize::MIN.saturating_add(65_535);
    let (rights, flags) = (ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_SHARED);
    // SAFETY: the mapping is new, and nothing in this process looks at its bytes.
    unsafe { mmap(None, length, rights, flags, &opened, 0) }?;
    drop(opened);
    keep((), ready)
}

/// A file that only an io_uring has.
fn ring(file: &Path, ready: &Path) -> Result<()> {
    let opened = open(file)?;
    let ring = io_uring::IoUring::new(4)?;
    ring.submitter().register_files(&[opened.as_raw_fd()])?;
    drop(opened);
    keep(ring, ready)
}

/// A descriptor that lies in a socket, sent and not yet received.
fn in_flight(file: &Path, ready: &Path) -> Result<()> {
    let opened = open(file)?;
    let (sender, receiver) = UnixDatagram::pair()?;
    let descriptors = [opened.as_raw_fd()];
    let rights = [ControlMessage::ScmRights(&descriptors)];
    sendmsg::<()>(sender.as_raw_fd(), &[IoSlice::new(b"x")], &rights, MsgFlags::empty(), None)?;
    drop(opened);
    keep((sender, receiver), ready)
}

/// A descriptor in the table of one thread, which the first thread of the process does not share; the first thread may end.
fn thread_of_its_own(file: PathBuf, ready: PathBuf, leader_ends: bool) -> Result<()> {
    let other = thread::spawn(move || {
        if !leader_ends {
            nix::sched::unshare(nix::sched::CloneFlags::CLONE_FILES)?;
        }
        let opened = open(&file)?;
        // The first thread has time to end.
        thread::sleep(Duration::from_millis(200));
        keep(opened, &ready)
    });
    if leader_ends {
        // SAFETY: ends this thread alone; it holds nothing that the other one needs.
        unsafe { nix::libc::syscall(nix::libc::SYS_exit, 0) };
    }
    other.join().unwrap_or_else(|_| Err(Error::other("the thread panicked")))
}

/// Replaces whatever appears in a directory, and one level below, by a link to `$ATTACK_VICTIM`, or to the file `secret` in it,
/// as fast as it can.
fn swap(place: &Path, ready: &Path) -> Result<()> {
    use std::os::unix::fs::symlink;
    let victim = PathBuf::from(std::env::var_os("ATTACK_VICTIM").unwrap_or_default());
    let _ = File::create(ready);
    let begin = std::time::Instant::now();
    let swap_in = |directory: &Path| {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_symlink() || path.extension().is_some_and(|ending| ending == "away") {
                continue;
            }
            let target = if kind.is_dir() { victim.clone() } else { victim.join("secret") };
            if std::fs::rename(&path, path.with_extension("away")).is_ok() {
                let _ = symlink(target, &path);
            }
        }
    };
    while begin.elapsed() < LONGEST {
        swap_in(place);
        for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                swap_in(&entry.path());
            }
        }
    }
    Ok(())
}
