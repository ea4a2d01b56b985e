//! The other programs that narrows runs, and how.
//!
//! Root runs what the system installed: a program is looked for in fixed directories and nowhere else, and gets none of the
//! caller's environment, so that neither `PATH` nor `LD_PRELOAD` decides what runs as root. Another user runs what they would
//! run themselves.
#![expect(clippy::disallowed_types, reason = "the only place that says how another program is started")]

use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{SigSet, SigmaskHow};
use nix::unistd::geteuid;

use super::root::{FileKind, Root};

/// Where programs of the system are.
pub const DIRECTORIES: [&str; 6] =
    ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin", "/bin"];

/// A program of the system; `None` where it is not installed.
pub fn find(root: &Root, name: &str) -> Option<PathBuf> {
    let places = DIRECTORIES.iter().map(|directory| format!("{directory}/{name}"));
    places.into_iter().find(|place| root.kind(place) == Some(FileKind::File)).map(PathBuf::from)
}

/// A program of the system with an environment of ours and nothing of the caller's.
pub fn cleared(path: PathBuf) -> Command {
    let mut command = Command::new(path);
    command.env_clear().env("LC_ALL", "C").env("PATH", DIRECTORIES.join(":"));
    command
}

/// The options of `setpriv` (util-linux 2.33 and later) that have the kernel kill what it starts when its parent ends.
const LEASH: [&str; 3] = ["--pdeathsig", "KILL", "--"];

/// `setpriv`, where it is installed and can start programs that end with the one that started them: that of busybox cannot.
pub fn leash(root: &Root) -> Option<PathBuf> {
    let path = find(root, "setpriv")?;
    let mut command = cleared(path.clone());
    command.args(LEASH).arg(&path).arg("--version");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success()).then_some(path)
}

/// As [`cleared`]; it ends with us, even if we are killed, where there is a [`leash`].
pub fn on_leash(path: PathBuf, leash: Option<PathBuf>) -> Command {
    let Some(leash) = leash else { return cleared(path) };
    let mut command = cleared(leash);
    command.args(LEASH).arg(path);
    command
}

/// A program that is asked to measure: as root that of the system, else the one that the user would get. `None` where it is
/// not installed.
pub fn command(root: &Root, name: &str) -> Option<Command> {
    if geteuid().is_root() {
        return find(root, name).map(cleared);
    }
    Some(Command::new(name))
}

/// Starts a program that takes all signals: it would inherit those that the thread which starts it leaves to others.
///
/// # Errors
/// It cannot be started.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    let before = SigSet::empty().thread_swap_mask(SigmaskHow::SIG_SETMASK);
    let child = command.spawn();
    if let Ok(before) = before {
        before.thread_set_mask()?;
    }
    child
}

/// Where a program is looked for, for people.
pub const fn places() -> &'static str {
    "as root it is looked for below /usr/local, /usr and / only, else in PATH"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_takes_the_signals_that_its_starter_leaves_to_others() {
        SigSet::all().thread_block().unwrap();
        let mut command = cleared(find(&Root::live(), "cat").unwrap());
        let started = spawn(command.arg("/proc/self/status").stdout(Stdio::piped())).unwrap();
        let told = String::from_utf8(started.wait_with_output().unwrap().stdout).unwrap();
        assert!(told.contains("SigBlk:\t0000000000000000"), "{told}");
    }

    #[test]
    fn a_program_of_the_system_is_found_by_its_place_and_gets_our_environment() {
        let root = Root::live();
        assert_eq!(find(&root, "no-such-program"), None);
        let output = cleared(find(&root, "env").unwrap()).output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        let names: Vec<&str> = told.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        assert_eq!(names.len(), 2, "{told}");
        assert!(names.contains(&"PATH") && names.contains(&"LC_ALL"));
    }
}
