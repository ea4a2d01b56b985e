//! Who may use devices when: a user that every guard on the machine sees must not be there while another test asks a guard.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

static USERS: RwLock<()> = RwLock::new(());

/// The right to have devices judged, held as long as that goes on: first of all tests, and then of those with the same `turn`,
/// which come one at a time.
pub(crate) struct Turn {
    _own: MutexGuard<'static, ()>,
    _users: RwLockReadGuard<'static, ()>,
}

/// Waits for a turn. A test must not wait for a second one while it has one.
pub(crate) fn turn(turns: &'static Mutex<()>) -> Turn {
    let own = turns.lock().unwrap_or_else(PoisonError::into_inner);
    Turn { _own: own, _users: USERS.read().unwrap_or_else(PoisonError::into_inner) }
}

/// Waits until no other test has a device judged.
pub(crate) fn nobody_else() -> RwLockWriteGuard<'static, ()> {
    USERS.write().unwrap_or_else(PoisonError::into_inner)
}
