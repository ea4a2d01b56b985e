//! A process that was started here, at the head of a group of its own. Until it was waited for, its number is nobody else's, and so is that
//! of its group: what is in the group ends before that, and is never sent anything afterwards. What comes from it has a bound in bytes
//! and in time, and so has what it is to read.
#![expect(clippy::disallowed_types, reason = "what reaches hosts are programs that are started")]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use narrows_machine::program;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

/// No answer is longer, in bytes: a record of a large server has some hundred kilobytes, the collector's text some megabytes.
const MOST: u64 = 12 << 20;
/// Nor is what is said beside it.
const MOST_ERRORS: u64 = 1 << 20;
/// Nor is all of what comes as lines.
const MOST_LINES: u64 = 1 << 20;
/// How often is looked whether a process has ended, or is to end.
const GLANCE: Duration = Duration::from_millis(10);
/// How long a process may take to end once it is told to; and who left its group may keep its pipes so long.
const GRACE: Duration = Duration::from_millis(300);

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

/// It ends at the latest when this is dropped.
pub(super) struct Started {
    pub(super) child: Child,
    ended: Option<ExitStatus>,
}

impl Started {
    pub(super) fn new(command: &mut Command) -> Result<Self, LinkError> {
        let child = program::spawn(command.process_group(0));
        let child = child.map_err(|error| LinkError::Unreachable(error.to_string()))?;
        Ok(Self { child, ended: None })
    }

    /// How it ended, if it has. What it left in its group ends with it.
    pub(super) fn status(&mut self) -> Option<ExitStatus> {
        let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        if self.ended.is_none() {
            match waitid(Id::Pid(self.group()), look) {
                Ok(WaitStatus::StillAlive) => {}
                held => {
                    if held.is_ok() {
                        let _ = killpg(self.group(), Signal::SIGKILL);
                    }
                    self.ended = Some(self.child.wait().unwrap_or_default());
                }
            }
        }
        self.ended
    }

    fn group(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Waits for it until a moment; it is ended then. `None` when it did not end by itself.
    pub(super) fn wait_until(&mut self, end: Instant) -> Option<ExitStatus> {
        if self.ends_by(end) {
            return self.ended;
        }
        let _ = killpg(self.group(), Signal::SIGTERM);
        if !self.ends_by(Instant::now() + GRACE) {
            let _ = killpg(self.group(), Signal::SIGKILL);
            // One that waits for a device that does not answer ends when the kernel lets it.
            let _ = self.child.kill();
            self.ends_by(Instant::now() + GRACE);
        }
        None
    }

    fn ends_by(&mut self, end: Instant) -> bool {
        while self.status().is_none() && Instant::now() < end {
            thread::sleep(GLANCE);
        }
        self.ended.is_some()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.wait_until(Instant::now());
    }
}

/// Runs a command that gets `input` to its end: what it says, and the beginning of what it complains about.
///
/// # Errors
/// [`LinkError`]: it does not start, does not end in time or before `stop` is raised, or says too much.
pub fn output(
    command: &mut Command,
    input: &[u8],
    patience: Duration,
    stop: &AtomicBool,
) -> Result<Output, LinkError> {
    let end = Instant::now() + patience;
    let mut started = Started::new(command)?;
    let (said, complained) =
        (whole(started.child.stdout.take(), MOST), whole(started.child.stderr.take(), MOST_ERRORS));
    if let Some(stdin) = started.child.stdin.take() {
        // Who reads no more tells why by how it ends.
        let _ = put(&stdin, input, end, stop);
    }
    let mut stdout = None;
    let status = loop {
        stdout = stdout.or_else(|| said.try_recv().ok());
        if stdout.as_ref().is_some_and(|bytes| bytes.len() as u64 > MOST) {
            return Err(LinkError::Refused(format!(
                "it says more than {} MiB, which is left out",
                MOST >> 20
            )));
        }
        match started.status() {
            Some(status) if stdout.is_some() => break status,
            // What was said is on its way, unless somebody else holds the pipe.
            Some(_) => stdout = Some(said.recv_timeout(GRACE).map_err(|_| LinkError::Silent)?),
            None if Instant::now() < end && !stop.load(Ordering::Relaxed) => thread::sleep(GLANCE),
            None => return Err(LinkError::Silent),
        }
    };
    let stderr = complained.recv_timeout(GRACE).unwrap_or_default();
    Ok(Output { status, stdout: stdout.unwrap_or_default(), stderr })
}

/// All that comes, up to one byte more than `most`.
fn whole(from: Option<impl Read + Send + 'static>, most: u64) -> Receiver<Vec<u8>> {
    let (tell, told) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.map(|from| from.take(most + 1).read_to_end(&mut bytes));
        tell.send(bytes)
    });
    told
}

/// The lines that come, each with its moment, however long it waits.
pub(super) fn lines(from: Option<impl Read + Send + 'static>) -> Receiver<(String, u64)> {
    let (tell, told) = channel();
    thread::spawn(move || {
        let from = from.map(|from| BufReader::new(from.take(MOST_LINES)).split(b'\n'));
        for line in from.into_iter().flatten().map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
            if tell.send((line, now())).is_err() {
                break;
            }
        }
    });
    told
}

/// Those that are left of one that ended, but for empty ones.
pub(super) fn rest(told: &Receiver<(String, u64)>) -> Vec<String> {
    let end = Instant::now() + GRACE;
    let left = || told.recv_timeout(end.saturating_duration_since(Instant::now())).ok();
    let lines = std::iter::from_fn(left).map(|(line, _)| line.trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

/// The next of them, until a moment or until `stop` is raised.
pub(super) fn next<T>(told: &Receiver<T>, end: Instant, stop: &AtomicBool) -> Result<T, RecvTimeoutError> {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        match told.recv_timeout(left.min(GLANCE * 5)) {
            Err(RecvTimeoutError::Timeout) if !left.is_zero() && !stop.load(Ordering::Relaxed) => {}
            next => return next,
        }
    }
}

/// Writes to a process that may not read, until a moment or until `stop` is raised.
pub(super) fn put(mut to: &ChildStdin, mut bytes: &[u8], end: Instant, stop: &AtomicBool) -> io::Result<()> {
    fcntl(to, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    // Where it stays small, a push is slower.
    let _ = fcntl(to, FcntlArg::F_SETPIPE_SZ(1 << 20));
    while !bytes.is_empty() {
        match to.write(bytes) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            Err(_) if Instant::now() < end && !stop.load(Ordering::Relaxed) => {
                thread::sleep(Duration::from_millis(1));
            }
            Err(_) => return Err(io::ErrorKind::TimedOut.into()),
        }
    }
    Ok(())
}

/// Our clock, in nanoseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    fn ran(script: &str, patience: Duration) -> Result<Output, LinkError> {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        output(&mut command, &[b'x'; 1 << 20], patience, &AtomicBool::new(false))
    }

    #[test]
    fn what_a_process_says_and_reads_has_a_bound_in_bytes_and_in_time() {
        let long = Duration::from_secs(60);
        let done = ran("wc -c; echo no >&2; exit 3", long).expect("ends");
        assert_eq!(
            (done.status.code(), done.stdout, done.stderr),
            (Some(3), b"1048576\n".to_vec(), b"no\n".to_vec())
        );
        assert!(
            matches!(ran("exec cat /dev/zero", long), Err(LinkError::Refused(why)) if why.contains("12 MiB"))
        );
        let flood = ran("exec cat /dev/zero >&2", long).expect("loses its reader");
        assert_eq!((flood.status.success(), flood.stderr.len() as u64), (false, MOST_ERRORS + 1));
        let begin = Instant::now();
        // It reads nothing, does not end, and is told to in vain.
        let silent = ran("trap '' TERM; while :; do sleep 1; done", Duration::from_millis(200));
        assert_eq!(silent.err(), Some(LinkError::Silent));
        // The one that is left in its group has its pipes.
        assert!(ran("sleep 50 & echo yes", long).is_ok_and(|done| done.stdout == b"yes\n"));
        let left = "exec 3>&1; : $(setsid sh -c 'exec >&3; sleep 5 &')";
        assert_eq!(ran(left, long).err(), Some(LinkError::Silent), "one that left it");
        assert!(begin.elapsed() < long / 2);
    }
}
