//! Commands that ssh runs, and what they answer.
#![expect(clippy::disallowed_types, reason = "ssh is how hosts are reached")]

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use narrows_machine::program;
use narrows_machine::root::Root;

use super::super::hosts::HostName;
use super::super::script::{self, Lengths, Token};
use super::launcher::Launcher;

/// How long a host may take to answer before it counts as unreachable.
pub(super) const CONNECT: Duration = Duration::from_secs(10);
/// How long all of a push may take, and a step that moves no data.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// How hosts are reached.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// A configuration file for ssh in the place of the user's.
    pub ssh_config: Option<PathBuf>,
    /// What starts commands on hosts in the place of ssh.
    pub launcher: Option<Launcher>,
}

impl Reach {
    /// What starts the shell that keeps a run's directory on a host, and what that has to read before it begins.
    pub(super) fn keeper(
        &self,
        host: &HostName,
        control: &Path,
        token: &Token,
        lengths: &Lengths,
    ) -> Result<(Command, String), LinkError> {
        if self.launcher.is_some() {
            return Ok((self.start(host, control, true, &["sh"])?, script::on_input(token, lengths)));
        }
        let line = script::on_host(token, lengths);
        Ok((self.start(host, control, true, &[&line])?, String::new()))
    }

    /// What does a step in the run's directory `remote` on a host.
    pub(super) fn step(
        &self,
        host: &HostName,
        control: &Path,
        (remote, words): (&str, &str),
    ) -> Result<Command, LinkError> {
        let program = format!("{remote}/narrows");
        let line = [program.as_str(), "fleet-host", "--directory", remote].into_iter();
        let line: Vec<&str> = line.chain(words.split_whitespace()).collect();
        self.start(host, control, false, &line)
    }

    /// What starts a command of plain words on a host.
    fn start(
        &self,
        host: &HostName,
        control: &Path,
        is_first: bool,
        words: &[&str],
    ) -> Result<Command, LinkError> {
        let Some(launcher) = &self.launcher else {
            let mut command = ssh(self, control, is_first).ok_or_else(not_installed)?;
            command.arg("--").arg(host.as_str()).args(words);
            return Ok(command);
        };
        let mut command = launcher.command(host, words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        Ok(command)
    }

    /// What starts commands on hosts, for people.
    pub(super) fn name(&self) -> String {
        self.launcher.as_ref().map_or_else(|| "ssh".to_owned(), Launcher::name)
    }

    /// A command on a host as a person would type it.
    pub(super) fn typed(&self, host: &HostName, command: &str) -> String {
        match &self.launcher {
            Some(launcher) => launcher.typed(host, command),
            None => format!("ssh {host} {command}"),
        }
    }
}

/// Why a step on a host failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// It cannot be reached.
    #[error("{0}")]
    Unreachable(String),
    /// It was reached, and refuses.
    #[error("{0}")]
    Refused(String),
    /// The connection is there, and the step does not answer.
    #[error("it does not answer")]
    Silent,
}

/// What ssh is told beside the host.
pub(super) fn ssh(reach: &Reach, control: &Path, is_master: bool) -> Option<Command> {
    let mut command = program::command(&Root::live(), "ssh")?;
    for name in ["HOME", "SSH_AUTH_SOCK", "USER", "LOGNAME", "KRB5CCNAME"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    if let Some(config) = &reach.ssh_config {
        command.arg("-F").arg(config);
    }
    let mut path = OsString::from("ControlPath=");
    path.push(control);
    command.arg("-o").arg(path);
    let master = if is_master { "ControlMaster=yes" } else { "ControlMaster=no" };
    let seconds = format!("ConnectTimeout={}", CONNECT.as_secs());
    // A host that is gone is known within 4 s. Ports that a configuration forwards stay shut.
    for option in [
        master,
        "ControlPersist=no",
        "BatchMode=yes",
        &seconds,
        "ServerAliveInterval=1",
        "ServerAliveCountMax=3",
        "ForwardAgent=no",
        "ForwardX11=no",
        "PermitLocalCommand=no",
        "RequestTTY=no",
        "LogLevel=ERROR",
        "StreamLocalBindUnlink=yes",
        "StreamLocalBindMask=0177",
    ] {
        command.arg("-o").arg(option);
    }
    if is_master {
        command.args(["-o", "ClearAllForwardings=yes"]);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    Some(command)
}

/// The whole answer of a step.
pub(super) fn answer(mut command: Command) -> Result<Vec<u8>, LinkError> {
    /// A record of a large server has some hundred kilobytes, the collector's text some megabytes.
    const MOST: u64 = 256 << 20;
    let unreachable = |error: std::io::Error| LinkError::Unreachable(error.to_string());
    let mut child = command.spawn().map_err(unreachable)?;
    let reader = child.stdout.take().map(|out| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // What is cut is told by the status.
            let _ = out.take(MOST).read_to_end(&mut bytes);
            bytes
        })
    });
    let errors = Arc::new(Mutex::new(String::new()));
    let listener = child.stderr.take().map(|from| keep_text(from, errors.clone(), 4096));
    let status = wait_until(&mut child, Instant::now() + PATIENCE).ok_or(LinkError::Silent)?;
    let bytes = reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
    if status.success() {
        return Ok(bytes);
    }
    let _ = listener.map(thread::JoinHandle::join);
    let said = errors.lock().unwrap_or_else(PoisonError::into_inner);
    let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it failed");
    Err(match status.code() {
        Some(255) => LinkError::Unreachable(said_by("ssh", first)),
        _ => LinkError::Refused(first.trim_start_matches("narrows: ").to_owned()),
    })
}

/// The text of the POSIX collector on a host, which needs nothing there but a shell.
pub(in crate::fleet) fn collect(
    reach: &Reach,
    host: &HostName,
    directory: &Path,
    collector: &str,
) -> Result<Vec<u8>, LinkError> {
    let mut command = reach.start(host, &directory.join("c"), false, &script::COLLECT)?;
    command.current_dir(directory).stdin(Stdio::piped());
    let mut child = command.spawn().map_err(|error| LinkError::Unreachable(error.to_string()))?;
    if let Some(mut input) = child.stdin.take() {
        let text = collector.to_owned();
        thread::spawn(move || input.write_all(text.as_bytes()));
    }
    let output = child.wait_with_output().map_err(|error| LinkError::Unreachable(error.to_string()))?;
    match output.status.success() && !output.stdout.is_empty() {
        true => Ok(output.stdout),
        false => Err(LinkError::Unreachable("neither narrows nor the collector runs there".to_owned())),
    }
}

/// What ssh or a launcher says, with its name before it once.
pub(super) fn said_by(name: &str, said: &str) -> String {
    let before = format!("{name}: ");
    format!("{before}{}", said.trim_start_matches(&before))
}

pub(super) fn not_installed() -> LinkError {
    LinkError::Unreachable(format!("ssh is not installed here ({})", program::places()))
}

/// Keeps what comes, up to so many bytes; the rest is read and dropped.
pub(super) fn keep_text(
    mut from: impl Read + Send + 'static,
    into: Arc<Mutex<String>>,
    most: usize,
) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut piece = [0; 1 << 16];
        let mut rest: Vec<u8> = Vec::new();
        while let Ok(length @ 1..) = from.read(&mut piece) {
            rest.extend_from_slice(piece.get(..length).unwrap_or_default());
            // A character that is cut waits for its end.
            let whole = match std::str::from_utf8(&rest) {
                Ok(_) => rest.len(),
                Err(error) if error.error_len().is_none() => error.valid_up_to(),
                Err(_) => rest.len(),
            };
            let text = String::from_utf8_lossy(rest.get(..whole).unwrap_or_default()).into_owned();
            rest.drain(..whole);
            let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() + text.len() <= most {
                kept.push_str(&text);
            }
        }
    })
}

/// Waits for a child until a moment; kills it then. `None` when it did not end by itself.
pub(in crate::fleet) fn wait_until(child: &mut Child, end: Instant) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < end => thread::sleep(Duration::from_millis(10)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
}

/// Our clock, in nanoseconds since 1970.
pub(in crate::fleet) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_character_waits_for_its_end_and_more_is_dropped() {
        let kept = Arc::new(Mutex::new(String::new()));
        keep_text(std::io::Cursor::new("aöb".as_bytes().to_vec()), kept.clone(), 100).join().expect("ends");
        assert_eq!(*kept.lock().expect("is whole"), "aöb");
        let few = Arc::new(Mutex::new(String::new()));
        keep_text(std::io::Cursor::new(vec![b'x'; 1000]), few.clone(), 100).join().expect("ends");
        assert!(few.lock().expect("is whole").is_empty());
    }
}
