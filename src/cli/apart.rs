//! What may wait for ever in the kernel runs in a process of its own. A read of a device that does not answer cannot be ended,
//! not even by SIGKILL, and a process with such a read cannot end either; its parent can.
//!
//! [`run`] does a whole command in a child and passes on what it says. [`silent`] lets a child look at devices before
//! anything in this process reads them.

#![expect(clippy::disallowed_types, reason = "the program that is started is this one")]

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::getppid;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::{Failure, output};
use narrows_base::units::Bytes;
use narrows_load::guard::{Device, Medium};
use narrows_session::guard::{self, Silence};

/// Set in a child to the number of its parent.
const PARENT: &str = "NARROWS_PARENT";

/// How long a device may take to answer: a disk that stands still needs half a minute to turn.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked whether it has, and whether somebody wants to stop.
const GLANCE: Duration = Duration::from_millis(10);
/// What is read at either end.
const BLOCK: usize = 4096;

/// Does a command in a child, and passes on what it says and how it ends. Whoever ends this process does not wait for the
/// child, which ends as soon as the kernel lets it. Where no child can be started the command is done here.
///
/// # Errors
/// What the command fails with, or that its process was ended.
pub(super) fn run(work: impl FnOnce() -> Result<u8, Failure>) -> Result<u8, Failure> {
    if dies_with_parent() {
        return work();
    }
    let is_terminal = io::stderr().is_terminal();
    let mut command = itself(&std::env::args_os().skip(1).collect::<Vec<_>>());
    // A child that cannot end would keep the pipes of whoever reads what we say.
    command.stdout(Stdio::piped());
    command.stderr(if is_terminal { Stdio::inherit() } else { Stdio::piped() });
    let Ok(mut child) = command.spawn() else { return work() };
    let errors = child.stderr.take().map(|errors| thread::spawn(|| pass_on(errors, &mut io::stderr())));
    if let Some(said) = child.stdout.take() {
        pass_on(said, &mut io::stdout());
    }
    let ended =
        child.wait().map_err(|error| Failure::new(format!("cannot wait for the examination: {error}")))?;
    // What it said is passed on to its end.
    let _ = errors.map(thread::JoinHandle::join);
    let signal = ended.signal().unwrap_or_default();
    let code = ended.code().and_then(|code| u8::try_from(code).ok());
    code.ok_or_else(|| Failure::new(format!("the examination was ended by signal {signal}")))
}

/// Whether this is a child that [`run`] or [`silent`] started: it ends when its parent does.
fn dies_with_parent() -> bool {
    let parent = std::env::var(PARENT).ok().and_then(|text| text.parse().ok());
    if parent != Some(getppid().as_raw()) {
        return false;
    }
    // A kernel that does not do this lets the child end by itself.
    let _ = set_pdeathsig(Signal::SIGKILL);
    // The parent may have ended just before.
    parent == Some(getppid().as_raw())
}

/// This program once more.
fn itself(words: &[OsString]) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("narrows").args(words).env(PARENT, std::process::id().to_string());
    command
}

/// Copies what a child says as it comes. A reader that has gone away gets nothing more.
fn pass_on(mut from: impl Read, to: &mut impl Write) {
    let mut piece = [0; 4096];
    let mut has_reader = true;
    while let Ok(length @ 1..) = from.read(&mut piece) {
        let piece = piece.get(..length).unwrap_or_default();
        has_reader = has_reader && to.write_all(piece).and_then(|()| to.flush()).is_ok();
    }
}

/// Lets a child read both ends of each device, and waits for it. `None` when all answered, with data or with an error; also
/// where no child can be started.
pub(super) fn silent(names: &[String]) -> Option<Silence> {
    let words: Vec<OsString> =
        std::iter::once("look-at-devices".into()).chain(names.iter().map(OsString::from)).collect();
    let spawned = itself(&words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = spawned.ok()?;
    let answered = Arc::new(AtomicUsize::new(0));
    if let Some(said) = child.stdout.take() {
        let answered = answered.clone();
        thread::spawn(move || {
            for _ in BufReader::new(said).lines().map_while(Result::ok) {
                answered.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let stop = Arc::new(AtomicBool::new(false));
    let registered = [SIGINT, SIGTERM].map(|signal| signal_hook::flag::register(signal, stop.clone()));
    let ended = wait(&mut child, &stop, PATIENCE);
    for id in registered.into_iter().flatten() {
        signal_hook::low_level::unregister(id);
    }
    if ended {
        return None;
    }
    // It ends when the kernel lets it, and so does the thread that listens to it.
    let _ = child.kill();
    if stop.load(Ordering::Relaxed) {
        return Some(Silence::Interrupted);
    }
    names.get(answered.load(Ordering::Relaxed)).cloned().map(Silence::Of)
}

/// Waits for the end of a child; `false` when it did not end in time, or somebody wants to stop.
fn wait(child: &mut Child, stop: &AtomicBool, patience: Duration) -> bool {
    let begin = Instant::now();
    let mut is_said = false;
    while begin.elapsed() < patience && !stop.load(Ordering::Relaxed) {
        if !matches!(child.try_wait(), Ok(None)) {
            return true;
        }
        if !is_said && begin.elapsed() > Duration::from_secs(2) {
            is_said = true;
            output::note("narrows: waiting for a device to answer …");
        }
        thread::sleep(GLANCE);
    }
    false
}

/// `narrows look-at-devices NAME…`, what [`silent`] starts: reads both ends of devices, and says the name of each that answered.
///
/// # Errors
/// Never: a device that answers with an error answers.
pub(super) fn look(names: &[String]) -> Result<u8, Failure> {
    dies_with_parent();
    for name in names {
        if let Ok(device) = guard::open(name) {
            look_at(&device);
        }
        output::data(&format!("{name}\n"))?;
    }
    Ok(super::NOTHING_FOUND)
}

fn look_at(device: &Device) {
    let last = device.size().get().saturating_sub(Bytes::from_kib(4).get());
    let mut block = vec![0; BLOCK];
    for offset in [0, last] {
        let _ = device.read(offset, &mut block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn child(program: &str, words: &[&str]) -> Child {
        Command::new(program).args(words).stdin(Stdio::null()).spawn().expect("starts")
    }

    #[test]
    fn a_child_that_ends_was_waited_for() {
        let mut child = child("true", &[]);
        assert!(wait(&mut child, &AtomicBool::new(false), PATIENCE));
    }

    #[test]
    fn a_child_that_does_not_end_is_waited_for_no_longer_than_told() {
        let mut child = child("sleep", &["1000"]);
        assert!(!wait(&mut child, &AtomicBool::new(false), Duration::ZERO));
        assert!(!wait(&mut child, &AtomicBool::new(true), PATIENCE), "somebody wants to stop");
        child.kill().expect("is there");
        assert!(wait(&mut child, &AtomicBool::new(false), PATIENCE), "it has ended now");
    }

    /// A pipe of whose reader some bytes are left to read, and which is closed then.
    struct Pipe(Vec<u8>, usize);

    impl Write for Pipe {
        fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
            if self.0.len() + piece.len() > self.1 {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            self.0.extend(piece);
            Ok(piece.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_a_child_says_is_read_to_its_end_also_when_nobody_wants_it() {
        let said = "word ".repeat(2000);
        let mut all = Vec::new();
        pass_on(said.as_bytes(), &mut all);
        assert_eq!(all, said.as_bytes());
        let mut rest = said.as_bytes();
        let mut pipe = Pipe(Vec::new(), 5000);
        pass_on(&mut rest, &mut pipe);
        assert!(rest.is_empty(), "the child would wait for ever");
        assert_eq!(pipe.0.len(), 4096);
    }
}
