//! The ground on which attacks are made: one directory, and nothing outside of it. Whatever ends the program, the loop
//! devices, mounts and processes that stand on it go with it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use super::attack::{Result, Stop};
use super::random::Random;

/// Processes that we started and that have not been waited for, and which of our threads did.
static STARTED: Mutex<BTreeMap<u32, ThreadId>> = Mutex::new(BTreeMap::new());

/// Counts a process as ours.
pub(crate) fn remember(process: u32) {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner).insert(process, thread::current().id());
}

/// It has been waited for.
pub(crate) fn forget(process: u32) {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner).remove(&process);
}

/// Kills a process group that we made.
pub(crate) fn kill_group(leader: u32) {
    if let Ok(leader) = i32::try_from(leader) {
        let _ = killpg(Pid::from_raw(leader), Signal::SIGKILL);
    }
}

/// Sends a signal to a process that we started.
pub(crate) fn signal(process: u32, which: Signal) {
    if let Ok(process) = i32::try_from(process) {
        let _ = kill(Pid::from_raw(process), which);
    }
}

/// A directory of our own, the binary that is attacked, and what decides chance.
#[derive(Debug)]
pub(crate) struct Ground {
    root: PathBuf,
    /// The narrows that is attacked.
    pub(crate) binary: PathBuf,
    /// What decides all chance.
    pub(crate) seed: u64,
    /// Whether only quick attacks run, with fewer rounds.
    pub(crate) quick: bool,
    next: AtomicU64,
}

impl Ground {
    /// Makes the directory below `place`.
    pub(crate) fn make(place: &Path, binary: PathBuf, seed: u64, quick: bool) -> std::io::Result<Self> {
        let root = place.join(format!("narrows-attacks-{}", std::process::id()));
        fs::create_dir(&root)?;
        // Users without rights must reach directories that are theirs below it.
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755))?;
        Ok(Self { root: root.canonicalize()?, binary, seed, quick, next: AtomicU64::new(0) })
    }

    /// A ground of its own below this one, for attacks that run beside others.
    pub(crate) fn part(&self, name: &str) -> std::io::Result<Self> {
        let root = self.root.join(name);
        fs::create_dir_all(&root)?;
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755))?;
        let binary = self.binary.clone();
        Ok(Self { root, binary, seed: self.seed, quick: self.quick, next: AtomicU64::new(0) })
    }

    /// The directory itself.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A path that nothing has.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(format!("{}-{name}", self.next.fetch_add(1, Ordering::Relaxed)))
    }

    /// A new directory.
    pub(crate) fn directory(&self, name: &str) -> Result<PathBuf> {
        let path = self.path(name);
        fs::create_dir(&path)?;
        Ok(path)
    }

    /// Chance for the attack of this name.
    pub(crate) fn random(&self, name: &str) -> Random {
        Random::named(self.seed, name)
    }

    /// So many rounds, or fewer in a quick run.
    pub(crate) const fn rounds(&self, full: u64, quick: u64) -> u64 {
        if self.quick { quick } else { full }
    }

    /// Ends the processes that this thread left.
    pub(crate) fn end_processes(&self) {
        stop_processes(Some(thread::current().id()));
    }

    /// Takes away what an attack of this thread left: processes, mounts, loop devices, files.
    pub(crate) fn clear(&self) {
        self.end_processes();
        for _ in 0..3 {
            unmount_below(&self.root);
            detach_over(&self.root);
        }
        for entry in fs::read_dir(&self.root).into_iter().flatten().flatten() {
            let path = entry.path();
            if fs::remove_dir_all(&path).is_err() {
                let _ = fs::remove_file(&path);
            }
        }
    }

    /// The same for all threads, and the directory goes, too.
    pub(crate) fn leave(&self) {
        stop_processes(None);
        self.clear();
        let _ = fs::remove_dir(&self.root);
    }
}

/// Ends the program's children in every way that it may end: a signal clears the ground first.
pub(crate) fn clear_on_signals(root: PathBuf) -> Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            let ground =
                Ground { root, binary: PathBuf::new(), seed: 0, quick: true, next: AtomicU64::new(0) };
            ground.leave();
            #[expect(clippy::exit, reason = "the attack under way must not go on")]
            std::process::exit(130);
        }
    });
    Ok(())
}

/// Kills what a thread started, or all of them.
fn stop_processes(of: Option<ThreadId>) {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner).retain(|process, thread| {
        if of.is_some_and(|of| of != *thread) {
            return true;
        }
        kill_group(*process);
        signal(*process, Signal::SIGKILL);
        false
    });
}

/// Unmounts everything below a directory, what was mounted last first.
fn unmount_below(root: &Path) {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    let ours: Vec<&str> = points.filter(|point| Path::new(point).starts_with(root)).collect();
    for point in ours.iter().rev() {
        let _ = super::tool::attempt("umount -l -- \"$1\"", &[*point]);
    }
}

/// Detaches the loop devices over files below a directory.
fn detach_over(root: &Path) {
    for block in fs::read_dir("/sys/block").into_iter().flatten().flatten() {
        let backing = fs::read_to_string(block.path().join("loop/backing_file")).unwrap_or_default();
        if !backing.starts_with(&format!("{}/", root.display())) {
            continue;
        }
        let node = Path::new("/dev").join(block.file_name()).display().to_string();
        super::device::forget_partitions(&node);
        let _ = super::tool::attempt("losetup --detach \"$1\"", &[&node]);
        for _ in 0..20 {
            if !block.path().join("loop").exists() {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A text that a path is, for command lines.
pub(crate) fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| Stop::Skip(format!("a path that is no text: {}", path.display())))
}
