//! The way to a host's fio where no ssh forwards its socket: a socket of ours, and for each connection a process on the host that hands
//! on what comes. What goes through a launcher goes as lines of text, since some launchers cut what they hand on into lines.
#![expect(
    clippy::disallowed_types,
    reason = "the launcher is started here, on a socket of our own directory"
)]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::super::started::Started;

/// Bytes of a line, before they are text.
const PIECE: usize = 48 << 10;
/// No line is longer.
const LONGEST: u64 = 1 << 17;
/// How often is looked for somebody who connects.
const GLANCE: Duration = Duration::from_millis(20);

/// A socket that leads to a host's fio until this is dropped.
pub(super) struct Bridge {
    ended: Arc<AtomicBool>,
    children: Arc<Mutex<Vec<Started>>>,
}

impl Bridge {
    /// Listens on `socket`; `start` makes the command that hands on one connection.
    pub(super) fn open(
        socket: &Path,
        start: impl Fn() -> Option<Command> + Send + 'static,
    ) -> io::Result<Self> {
        let listener = UnixListener::bind(socket)?;
        listener.set_nonblocking(true)?;
        let (ended, children) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let bridge = Self { ended: ended.clone(), children: children.clone() };
        thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => {
                        // A connection that nobody hands on is closed, which its client sees.
                        if let Some(Ok(child)) = start().map(|command| joined(stream, command)) {
                            children.lock().unwrap_or_else(PoisonError::into_inner).push(child);
                        }
                    }
                    Err(_) => thread::sleep(GLANCE),
                }
            }
        });
        Ok(bridge)
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        self.children.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Joins a connection with a process.
fn joined(stream: UnixStream, mut command: Command) -> io::Result<Started> {
    stream.set_nonblocking(false)?;
    let from = stream.try_clone()?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut started = Started::new(&mut command).map_err(io::Error::other)?;
    if let (Some(input), Some(out)) = (started.child.stdin.take(), started.child.stdout.take()) {
        thread::spawn(move || as_lines(from, input));
        thread::spawn(move || {
            let _ = as_bytes(BufReader::new(out), &stream);
            let _ = stream.shutdown(Shutdown::Both);
        });
    }
    Ok(started)
}

/// Hands bytes on as lines of text, until they end.
///
/// # Errors
/// What reading or writing answers.
pub fn as_lines(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let length = from.read(&mut piece)?;
        if length == 0 {
            return Ok(());
        }
        let line = STANDARD.encode(piece.get(..length).unwrap_or_default()) + "\n";
        to.write_all(line.as_bytes())?;
        to.flush()?;
    }
}

/// Hands lines of text on as bytes, until they end.
///
/// # Errors
/// What reading or writing answers, and `InvalidData` where a line is none of [`as_lines`].
pub fn as_bytes(mut from: impl BufRead, mut to: impl Write) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut from).take(LONGEST).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let bytes = decoded(&line).ok_or(io::ErrorKind::InvalidData)?;
        to.write_all(&bytes)?;
        to.flush()?;
    }
}

/// The bytes of one line.
fn decoded(line: &[u8]) -> Option<Vec<u8>> {
    STANDARD.decode(line.trim_ascii()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_line_of_ours_ends_it() {
        assert!(as_bytes(io::Cursor::new("a message of the day\n"), io::sink()).is_err());
        assert_eq!(decoded(b"AAE=\r\n"), Some(vec![0, 1]));
    }

    proptest! {
        #[test]
        fn bytes_come_back(bytes in prop::collection::vec(any::<u8>(), 0..200_000)) {
            let (mut lines, mut back) = (Vec::new(), Vec::new());
            as_lines(io::Cursor::new(&bytes), &mut lines).expect("is written");
            prop_assert!(lines.is_ascii());
            as_bytes(io::Cursor::new(&lines), &mut back).expect("is written");
            prop_assert_eq!(back, bytes);
        }
    }
}
