//! Runs the programs with which attacks are made.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::attack::{Result, Stop, skip};

/// Where root's programs are, too.
fn search_path() -> String {
    format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default())
}

/// Where a program is.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let paths = search_path();
    std::env::split_paths(&paths).map(|directory| directory.join(program)).find(|path| path.is_file())
}

/// Skips the attack where a program is missing.
pub(crate) fn needs(programs: &[&str]) -> Result<()> {
    match programs.iter().find(|program| find(program).is_none()) {
        Some(missing) => skip(format!("no {missing}")),
        None => Ok(()),
    }
}

/// Skips the attack unless the kernel has, or can load, a module or a built-in part of it that shows as `path`.
pub(crate) fn needs_kernel(module: &str, path: &str) -> Result<()> {
    if !Path::new(path).exists() {
        let _ = Command::new("modprobe").arg(module).env("PATH", search_path()).output();
    }
    if Path::new(path).exists() { Ok(()) } else { skip(format!("this kernel has no {module}")) }
}

/// A shell command with `$1` and so on.
pub(crate) fn command(script: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-euc", script, "sh"]).args(arguments).env("PATH", search_path()).env("LC_ALL", "C");
    command.stdin(Stdio::null());
    command
}

/// Runs one to its end and returns what it printed.
///
/// # Errors
/// It failed: then the attack cannot be set up, and is skipped.
pub(crate) fn shell(script: &str, arguments: &[&str]) -> Result<String> {
    let done = attempt(script, arguments)?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let said = said.lines().last().unwrap_or_default();
    skip(format!("set-up: `{}`: {} {said}", script.lines().next().unwrap_or_default(), done.status))
}

/// Runs one to its end, whatever comes of it.
pub(crate) fn attempt(script: &str, arguments: &[&str]) -> Result<Output> {
    Ok(command(script, arguments).output()?)
}

/// Whether one succeeds.
pub(crate) fn succeeds(script: &str, arguments: &[&str]) -> bool {
    attempt(script, arguments).is_ok_and(|done| done.status.success())
}

/// A process that is killed and waited for when it is dropped, with all of its group.
#[derive(Debug)]
pub(crate) struct Holder(Child);

impl Holder {
    /// Starts a program in a group of its own.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        use std::os::unix::process::CommandExt;
        let child = command.process_group(0).spawn()?;
        super::ground::remember(child.id());
        Ok(Self(child))
    }

    /// Starts a shell command, and waits until it has made the file `ready`.
    pub(crate) fn shell(script: &str, arguments: &[&str], ready: &Path) -> Result<Self> {
        let mut command = command(script, arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Self::ready(&mut command, ready)
    }

    /// Starts a program, and waits until it has made the file `ready`.
    pub(crate) fn ready(command: &mut Command, ready: &Path) -> Result<Self> {
        let mut holder = Self::start(command)?;
        let patience = Instant::now() + Duration::from_secs(15);
        while !ready.exists() {
            if let Some(status) = holder.0.try_wait()? {
                return skip(format!("set-up: the holder ended: {status}"));
            }
            if Instant::now() > patience {
                return Err(Stop::Skip("set-up: the holder was never ready".to_owned()));
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(holder)
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        super::ground::kill_group(self.0.id());
        let _ = self.0.kill();
        let _ = self.0.wait();
        super::ground::forget(self.0.id());
    }
}
