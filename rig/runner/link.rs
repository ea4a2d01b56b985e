//! The line between runner and guest: a serial port of the guest, a pair of named pipes here.

#![expect(clippy::disallowed_methods, reason = "talks with the guest through named pipes")]

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Instant;

use super::command::shell;
use super::error::{Result, RigError};

/// The name of the pipes in a guest's directory; QEMU adds `.in` and `.out`.
pub(crate) const NAME: &str = "line";

/// The runner's end of the line.
#[derive(Debug)]
pub(crate) struct Link {
    to_guest: File,
    chunks: Receiver<Vec<u8>>,
    /// What has come and was not asked for yet.
    buffer: Vec<u8>,
}

impl Link {
    /// Makes the pipes in a directory. QEMU has to be started afterwards.
    pub(crate) fn make(directory: &Path) -> Result<Self> {
        shell("cd \"$1\"; mkfifo \"$2.in\" \"$2.out\"", &[&directory.display().to_string(), NAME])?;
        let (input, output) = (directory.join(format!("{NAME}.in")), directory.join(format!("{NAME}.out")));
        // Open for reading as well, so that opening does not wait for QEMU.
        let to_guest =
            OpenOptions::new().read(true).write(true).open(&input).map_err(RigError::file(&input))?;
        let (sender, chunks) = mpsc::channel();
        thread::spawn(move || {
            let Ok(mut from_guest) = File::open(output) else { return };
            let mut bytes = vec![0; 64 << 10];
            while let Ok(count @ 1..) = from_guest.read(&mut bytes) {
                if sender.send(bytes.get(..count).unwrap_or_default().to_vec()).is_err() {
                    return;
                }
            }
        });
        Ok(Self { to_guest, chunks, buffer: Vec::new() })
    }

    /// Sends a line.
    pub(crate) fn say(&mut self, line: &str) -> Result<()> {
        let sent = writeln!(self.to_guest, "{line}");
        sent.map_err(|error| RigError::Machine(format!("the line to the guest: {error}")))
    }

    /// The next line, without its end; `None` if it has not come by then.
    pub(crate) fn line(&mut self, until: Instant) -> Result<Option<String>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()));
            }
            if !self.more(until)? {
                return Ok(None);
            }
        }
    }

    /// So many bytes; `None` if they have not come by then.
    pub(crate) fn bytes(&mut self, count: usize, until: Instant) -> Result<Option<Vec<u8>>> {
        while self.buffer.len() < count {
            if !self.more(until)? {
                return Ok(None);
            }
        }
        Ok(Some(self.buffer.drain(..count).collect()))
    }

    fn more(&mut self, until: Instant) -> Result<bool> {
        match self.chunks.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(chunk) => {
                self.buffer.extend(chunk);
                Ok(true)
            }
            Err(RecvTimeoutError::Timeout) => Ok(false),
            Err(RecvTimeoutError::Disconnected) => Err(RigError::Machine("the guest went away".to_owned())),
        }
    }
}
