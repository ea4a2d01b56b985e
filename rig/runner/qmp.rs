//! Commands for a running QEMU, by its machine protocol on its standard input and output.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::error::{Result, RigError};

/// How long QEMU may take for an answer.
const ANSWER: Duration = Duration::from_secs(60);

/// A conversation with QEMU.
#[derive(Debug)]
pub(crate) struct Qmp {
    commands: ChildStdin,
    messages: Receiver<Value>,
    /// Devices that are gone, by id.
    gone: BTreeSet<String>,
}

impl Qmp {
    /// Begins it with a QEMU that was started with `-qmp stdio` and pipes.
    pub(crate) fn begin(child: &mut Child) -> Result<Self> {
        let (Some(commands), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(RigError::Machine("QEMU was started without pipes".to_owned()));
        };
        let (sender, messages) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(answers).lines().map_while(std::result::Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or(Value::Null);
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut qmp = Self { commands, messages, gone: BTreeSet::new() };
        qmp.command(r#"{"execute": "qmp_capabilities"}"#)?;
        Ok(qmp)
    }

    /// Sends a command and returns its answer, past greeting and events.
    pub(crate) fn command(&mut self, command: &str) -> Result<Value> {
        let broken = |error: std::io::Error| RigError::Machine(format!("QMP: {error}"));
        let line = command.split_whitespace().collect::<Vec<_>>().join(" ");
        writeln!(self.commands, "{line}").and_then(|()| self.commands.flush()).map_err(broken)?;
        let until = Instant::now() + ANSWER;
        loop {
            let Some(message) = self.message(until)? else {
                return Err(RigError::Machine(format!("QMP: no answer to {line}")));
            };
            if let Some(answer) = message.get("return") {
                return Ok(answer.clone());
            }
            if let Some(error) = message.get("error") {
                return Err(RigError::Machine(format!("QMP: {line}: {error}")));
            }
        }
    }

    /// Runs a line of QEMU's monitor for people, which takes devices as the command line does. It says nothing, or `OK`.
    pub(crate) fn monitor(&mut self, line: &str) -> Result<()> {
        let command = json!({"execute": "human-monitor-command", "arguments": {"command-line": line}});
        let answer = self.command(&command.to_string())?;
        match answer.as_str().map(str::trim) {
            Some("" | "OK") => Ok(()),
            _ => Err(RigError::Machine(format!("QEMU: {line}: {answer}"))),
        }
    }

    /// Takes a device away; whether the guest has let go of it in time. One that is not there is gone.
    pub(crate) fn unplug(&mut self, device: &str, most: Duration) -> Result<bool> {
        let until = Instant::now() + most;
        if !self.gone.contains(device) {
            let command = json!({"execute": "device_del", "arguments": {"id": device}});
            match self.command(&command.to_string()) {
                // One that is already being taken away is waited for.
                Err(error) if error.to_string().contains("DeviceNotFound") => return Ok(true),
                Err(error) if !error.to_string().contains("unplug") => return Err(error),
                _ => {}
            }
        }
        while !self.gone.remove(device) {
            if self.message(until)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Closes what was behind a device that is gone. Some devices do that themselves.
    pub(crate) fn forget(&mut self, backend: &str) -> Result<()> {
        match self.monitor(&format!("drive_del {backend}")) {
            Err(error) if !error.to_string().contains("not found") => Err(error),
            _ => Ok(()),
        }
    }

    /// The next message, if it comes by then. Notes which devices are gone.
    fn message(&mut self, until: Instant) -> Result<Option<Value>> {
        match self.messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(message) => {
                if message.get("event").is_some_and(|event| event == "DEVICE_DELETED")
                    && let Some(device) = message.pointer("/data/device").and_then(Value::as_str)
                {
                    self.gone.insert(device.to_owned());
                }
                Ok(Some(message))
            }
            Err(mpsc::RecvTimeoutError::Timeout) => Ok(None),
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(RigError::Machine("QEMU ended".to_owned())),
        }
    }
}
