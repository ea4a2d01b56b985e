//! What the process is told from outside: signals, and how many files it may have open.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::Failure;
use narrows_machine::root::Root;

/// A flag that the first signal raises; a second one ends the program at once. Nothing needs to be cleaned up then: a
/// scratch file has no name. A hang-up that was ignored when narrows began (`nohup`) stays ignored.
pub(super) fn stop_on_signals() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let status = Root::live().text("/proc/self/status").get().unwrap_or_default();
    let hang_up = (!ignores(&status, SIGHUP)).then_some(SIGHUP);
    for signal in [SIGINT, SIGTERM].into_iter().chain(hang_up) {
        signal_hook::flag::register_conditional_shutdown(signal, 130, stop.clone())
            .and_then(|_| signal_hook::flag::register(signal, stop.clone()))
            .map_err(|error| Failure::new(format!("cannot watch for signals: {error}")))?;
    }
    Ok(stop)
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
