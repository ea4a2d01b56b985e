//! What the process is told from outside: signals, and how many files it may have open.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::Failure;
use narrows_base::units::Bytes;
use narrows_machine::root::Root;

/// How long after the first signal others are taken for the same: timeout(1) sends each twice, to the program and to its group.
const SAME: Duration = Duration::from_millis(500);

/// How long a command that was told to end may take for it.
const GRACE: Duration = Duration::from_millis(1500);

/// What was written is cleared all the same, as long as that goes on and takes no longer than this in all.
const CLEARED: Duration = Duration::from_secs(10);

/// When the clearing of what was written began, when something was last cleared, and what share of it is.
static CLEARING: Mutex<Option<(Instant, Instant, f64)>> = Mutex::new(None);

/// So much is cleared of what was written.
pub(super) fn clearing(done: Bytes, of: Bytes) {
    let (mut clearing, now) = (CLEARING.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
    let began = clearing.map_or(now, |(began, ..)| began);
    *clearing = Some((began, now, done.get() as f64 / of.get().max(1) as f64));
}

fn is_cleared_soon() -> bool {
    let clearing = *CLEARING.lock().unwrap_or_else(PoisonError::into_inner);
    clearing.is_some_and(|(began, last, share)| {
        // What was quick until now may stand still for a while on a busy machine.
        last.elapsed() < Duration::from_secs(if share > 0.1 { 5 } else { 1 })
            && began.elapsed().div_f64(share.max(0.1)) < CLEARED
    })
}

/// How long the last words may take.
const SAID: Duration = Duration::from_millis(50);

/// Lets only the threads that wait for signals take them: a thread whose I/O hangs takes none, and no other does in its place.
fn leave_to_threads(signals: &[i32]) {
    let signals = signals.iter().filter_map(|signal| Signal::try_from(*signal).ok());
    // Where it fails, a signal is taken when the I/O ends.
    let _ = SigSet::from_iter(signals).thread_block();
}

/// A flag that the first signal raises; one that comes more than [`SAME`] later ends the program at once. A scratch file needs
/// no cleaning up then, since it has no name; a lab has its journal, and `narrows lab --undo`. A hang-up that was ignored when
/// narrows began (`nohup`) stays ignored.
///
/// # Errors
/// Signals cannot be watched for.
pub(super) fn stop_on_signals() -> Result<Arc<AtomicBool>, Failure> {
    stop_and_end_on_signals().map(|(stop, _)| stop)
}

/// As [`stop_on_signals`], for a command whose I/O may hang: [`GRACE`] after the first signal it is ended as it is, unless what it
/// wrote is cleared soon.
///
/// # Errors
/// Signals cannot be watched for.
pub(super) fn end_on_signals() -> Result<Arc<AtomicBool>, Failure> {
    watch_signals(end).map(|(stop, _)| stop)
}

/// As [`stop_on_signals`], with the flag that has the next signal end the program at once.
///
/// # Errors
/// Signals cannot be watched for.
pub(super) fn stop_and_end_on_signals() -> Result<(Arc<AtomicBool>, Arc<AtomicBool>), Failure> {
    watch_signals(|| ())
}

/// Ends the program when it was told to [`SAME`] ago, and its I/O does not end.
fn end() {
    thread::sleep(GRACE.saturating_sub(SAME));
    while is_cleared_soon() {
        thread::sleep(SAID);
    }
    // Whoever hangs may have the lock of what is said.
    thread::spawn(|| {
        super::output::failure(
            &Failure::new("interrupted: it was ended before all of its I/O had ended").hint(
                "what it wrote to a device is on record: `narrows guard --clean DEVICE --i-own SERIAL` clears it",
            ),
        );
    });
    thread::sleep(SAID);
    signal_hook::low_level::exit(super::FAILED.into());
}

/// The flag that the first signal raises, and the one that has the next end the program at once. What is to be done `afterwards` is
/// done by a thread that waits for signals alone.
fn watch_signals(afterwards: fn()) -> Result<(Arc<AtomicBool>, Arc<AtomicBool>), Failure> {
    let (stop, is_late) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let signals = ending();
    let failed = |error| Failure::new(format!("cannot watch for signals: {error}"));
    for signal in &signals {
        signal_hook::flag::register_conditional_shutdown(*signal, 130, is_late.clone()).map_err(failed)?;
        signal_hook::flag::register(*signal, stop.clone()).map_err(failed)?;
    }
    let mut first = Signals::new(&signals).map_err(failed)?;
    let late = is_late.clone();
    let wait = move || {
        if first.forever().next().is_some() {
            thread::sleep(SAME);
            late.store(true, Ordering::SeqCst);
            afterwards();
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(failed)?;
    leave_to_threads(&signals);
    Ok((stop, is_late))
}

/// The signals that end a command, and that are not ignored here.
fn ending() -> Vec<i32> {
    let status = Root::live().text("/proc/self/status").get().unwrap_or_default();
    let hang_up = (!ignores(&status, SIGHUP)).then_some(SIGHUP);
    [SIGINT, SIGTERM].into_iter().chain(hang_up).collect()
}

/// Whether a process with this `/proc/self/status` ignores a signal: `SigIgn` has a bit for each, that of signal 1 last
/// (`proc_pid_status(5)`).
fn ignores(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let bit = u32::try_from(signal - 1).ok().and_then(|shift| 1_u64.checked_shl(shift)).unwrap_or(0);
    mask & bit != 0
}

/// Takes as many open files as the process may have: shells hand on a lower limit than they could.
pub(super) fn raise_open_files() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        // Where it stays low, whoever runs into it says so.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_signal_has_its_bit() {
        let status = |mask: &str| format!("Name:\tx\nSigBlk:\tffffffffffffffff\nSigIgn:\t{mask}\n");
        assert!(ignores(&status("0000000000001001"), SIGHUP));
        assert!(!ignores(&status("0000000000001000"), SIGHUP));
        assert!(ignores(&status("0000000000004000"), SIGTERM));
        assert!(!ignores("", SIGHUP) && !ignores(&status("x"), SIGHUP) && !ignores(&status("1"), 0));
    }
}
