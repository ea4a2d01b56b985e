//! The line between a run and whoever watches it: stop it, follow it, act when its measured time begins and ends.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::units::Bytes;

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Phase {
    /// Setting up, or under load without measuring yet.
    #[default]
    WarmUp,
    /// In the measured time.
    Measuring,
    /// Over, whether it succeeded or not.
    Done,
}

/// Watches and stops one run. Make a new one for each run; a stop flag may be shared by several.
#[derive(Debug, Default)]
pub struct Control {
    stop: Arc<AtomicBool>,
    phase: Mutex<Phase>,
    changed: Condvar,
    bytes: AtomicU64,
}

impl Control {
    /// A control that also stops when `stop` is set from elsewhere, such as a signal handler.
    pub fn with_stop(stop: Arc<AtomicBool>) -> Self {
        Self { stop, ..Self::default() }
    }

    /// Asks the run to end now. It ends within 50 ms, plus the time of the I/Os in flight, with what it has so far.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the run was asked to end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Where the run is.
    pub fn phase(&self) -> Phase {
        *self.lock()
    }

    /// Blocks until the run has come to `phase` or past it, and returns where it is. A run always comes to
    /// [`Phase::Done`], also when it fails, so this returns as long as a run was begun with this control.
    pub fn wait_for(&self, phase: Phase) -> Phase {
        let reached = self.changed.wait_while(self.lock(), |now| *now < phase);
        *reached.unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes read so far in the measured time. For a progress display: brought up to date every 10 ms or so.
    pub fn bytes_done(&self) -> Bytes {
        Bytes::new(self.bytes.load(Ordering::Relaxed))
    }

    pub(super) fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn enter(&self, phase: Phase) {
        *self.lock() = phase;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Brings a control to its end when dropped, so that nobody waits for a run that failed.
pub(super) struct EndOfRun<'a>(pub(super) &'a Control);

impl Drop for EndOfRun<'_> {
    fn drop(&mut self) {
        self.0.enter(Phase::Done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watcher_wakes_when_its_phase_is_reached_or_passed() {
        let control = Control::default();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| control.wait_for(Phase::Measuring));
            drop(EndOfRun(&control));
            assert_eq!(waiting.join().unwrap(), Phase::Done);
        });
        assert_eq!(control.wait_for(Phase::WarmUp), Phase::Done);
    }

    #[test]
    fn a_shared_flag_stops_it() {
        let flag = Arc::new(AtomicBool::new(false));
        let control = Control::with_stop(flag.clone());
        assert!(!control.is_stopped());
        flag.store(true, Ordering::Relaxed);
        assert!(control.is_stopped());
    }
}
