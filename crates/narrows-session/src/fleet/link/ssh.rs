//! Commands that ssh runs, and what they answer.
#![expect(clippy::disallowed_types, reason = "ssh is how hosts are reached")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use narrows_machine::program;
use narrows_machine::root::Root;

use super::super::hosts::HostName;
use super::super::script::{self, Lengths, Token};
use super::super::started::{LinkError, output};
use super::launcher::Launcher;

/// How long a host may take to answer before it counts as unreachable.
pub(super) const CONNECT: Duration = Duration::from_secs(10);
/// How long all of a push may take, and a step that moves no data.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// No reason is longer, in characters.
const LONGEST_REASON: usize = 200;

/// How hosts are reached.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// A configuration file for ssh in the place of the user's.
    pub ssh_config: Option<PathBuf>,
    /// What starts commands on hosts in the place of ssh.
    pub launcher: Option<Launcher>,
    /// Once it is raised, nobody is waited for any more.
    pub stop: Arc<AtomicBool>,
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
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
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
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Some(command)
}

/// The whole answer of a step.
pub(super) fn answer(mut command: Command, input: &[u8], stop: &AtomicBool) -> Result<Vec<u8>, LinkError> {
    let done = output(&mut command, input, PATIENCE, stop)?;
    if done.status.success() {
        return Ok(done.stdout);
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it failed");
    let first: String = first.chars().take(LONGEST_REASON).collect();
    Err(match done.status.code() {
        Some(255) => LinkError::Unreachable(said_by("ssh", &first)),
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
    let text = match answer(command, collector.as_bytes(), &reach.stop) {
        Ok(text) if text.is_empty() => Err("it says nothing".to_owned()),
        text => text.map_err(|error| error.to_string()),
    };
    text.map_err(|why| LinkError::Unreachable(format!("neither narrows nor the collector runs there: {why}")))
}

/// What ssh or a launcher says, with its name before it once.
pub(super) fn said_by(name: &str, said: &str) -> String {
    let before = format!("{name}: ");
    format!("{before}{}", said.trim_start_matches(&before))
}

pub(super) fn not_installed() -> LinkError {
    LinkError::Unreachable(format!("ssh is not installed here ({})", program::places()))
}
