//! Who may use devices when: a user that every guard on the machine sees must not be there while another test asks a guard.
//!
//! The locks are those of files, since `scripts/test.sh` runs parts of these tests in processes beside each other.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "tests lock files, run programs and may panic"
)]

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// The right to have devices judged, held as long as that goes on: first of all tests, and then of those with the same `turn`,
/// which come one at a time.
pub(crate) struct Turn {
    _own: MutexGuard<'static, ()>,
    _users: Flock<File>,
}

/// The right to be seen by every guard.
pub(crate) struct NobodyElse {
    _users: Flock<File>,
    /// Held as long as the other, so that nobody comes between.
    _door: Flock<File>,
}

/// Waits for a turn. A test must not wait for a second one while it has one.
pub(crate) fn turn(turns: &'static Mutex<()>) -> Turn {
    let own = turns.lock().unwrap_or_else(PoisonError::into_inner);
    // Whoever wants to be alone holds the door: no new turn begins then.
    drop(locked("door", FlockArg::LockExclusive));
    Turn { _own: own, _users: locked("users", FlockArg::LockShared) }
}

/// Waits until no other test has a device judged.
pub(crate) fn nobody_else() -> NobodyElse {
    let door = locked("door", FlockArg::LockExclusive);
    NobodyElse { _users: locked("users", FlockArg::LockExclusive), _door: door }
}

/// Has the kernel forget the partitions that it knows of a loop device which was just attached. It keeps those that it was told
/// of (`BLKPG`) when the device is detached: whoever was killed over one leaves them for the next file.
pub(crate) fn forget_partitions(node: &Path) {
    let Some(name) = node.file_name() else { return };
    let entries = fs::read_dir(Path::new("/sys/block").join(name)).into_iter().flatten().flatten();
    if entries.into_iter().any(|entry| entry.path().join("partition").exists()) {
        let _ = Command::new("partx").arg("--delete").arg(node).status();
    }
}

fn locked(name: &str, how: FlockArg) -> Flock<File> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("devices-{name}.lock"));
    // Opened by each caller for itself: so the lock is its own within its process, too.
    let mut file = File::options().create(true).append(true).open(&path).expect("a file below target/");
    loop {
        match Flock::lock(file, how) {
            Ok(lock) => return lock,
            Err((again, Errno::EINTR)) => file = again,
            Err((_, error)) => panic!("{}: {error}", path.display()),
        }
    }
}
