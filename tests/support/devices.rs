//! Who may use devices when: a user that every guard on the machine sees must not be there while another test asks a guard.
//!
//! The locks are those of files, since `scripts/test.sh` runs parts of these tests in processes beside each other.

#![expect(clippy::disallowed_methods, clippy::expect_used, reason = "a lock of tests; tests may panic")]

use std::fs::File;
use std::path::Path;
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
