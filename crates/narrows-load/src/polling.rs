//! Whether completions can be polled for (`IORING_SETUP_IOPOLL`): one I/O is tried before any counts.

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use super::engine::{Engine, Op, PATIENCE, Request};
use super::measurement::{Access, Workload};
use super::memory::Memory;
use super::ring::{Ring, RingEngine};
use super::run::RunOptions;
use super::target::Target;

/// Whether to poll for completions; why not, where it was asked for and cannot be.
pub(super) fn polling(
    target: &Target,
    workload: &Workload,
    options: &RunOptions,
    is_ring: bool,
) -> Result<bool, String> {
    if !options.poll || !is_ring {
        return Ok(false);
    }
    if workload.trims() {
        return Err("a trim cannot be polled for".to_owned());
    }
    if target.access() == Access::Buffered {
        return Err("only direct I/O can be polled for".to_owned());
    }
    let length = u32::try_from(workload.block_size.get()).unwrap_or(u32::MAX);
    let tried = try_polling(target.file(), target.region().start.get(), length);
    tried.map(|()| true).map_err(|error| error.to_string())
}

/// Whether reads of `length` bytes of `file` can be polled for: makes a polled ring and tries one. A kernel may lose large
/// ones, which it has to split (seen on 6.1). A driver without queues for polling may
/// still end such a read by interrupt; the caller has to look whether it has some.
///
/// # Errors
/// The ring or the read is refused, by the file system, the driver, or because the file was not opened for direct I/O.
fn try_polling(file: &File, offset: u64, length: u32) -> io::Result<()> {
    let mut ring = Ring::with(1, true)?;
    let memory = Memory::new(length.into(), 1, true, false, 0)?;
    let mut engine = RingEngine::on(&mut ring, file, memory);
    engine.prepare(0, Request { op: Op::Read, offset, length })?;
    first_result(&mut engine)
}

/// How long the first I/O of a way that may not work is waited for.
const TRIAL: Duration = Duration::from_secs(1);

/// Waits for one I/O and says whether it succeeded.
///
/// # Errors
/// It failed or did not come back, or the engine failed.
pub(super) fn first_result(engine: &mut impl Engine) -> io::Result<()> {
    let (began, mut done) = (Instant::now(), Vec::new());
    while done.is_empty() {
        if began.elapsed() > TRIAL {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "a read that was tried did not come back"));
        }
        engine.submit_and_reap(1, PATIENCE, &mut done)?;
    }
    match done.first() {
        Some(completion) if completion.result < 0 => Err(io::Error::from_raw_os_error(-completion.result)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Completion;
    use narrows_base::units::{Bytes, Nanos};
    use narrows_base::workload::Pattern;

    /// An engine whose only I/O ends with this result, or never.
    struct Once(Option<i32>);

    impl Engine for Once {
        fn prepare(&mut self, _: u32, _: Request) -> io::Result<()> {
            Ok(())
        }

        fn submit_and_reap(
            &mut self,
            _: u32,
            patience: Duration,
            done: &mut Vec<Completion>,
        ) -> io::Result<()> {
            match self.0 {
                Some(result) => done.push(Completion { slot: 0, result }),
                None => std::thread::sleep(patience),
            }
            Ok(())
        }

        fn enters(&self) -> u64 {
            0
        }
    }

    #[test]
    fn a_trial_succeeds_fails_or_does_not_come_back() {
        assert!(first_result(&mut Once(Some(4096))).is_ok());
        let refused = first_result(&mut Once(Some(-nix::libc::EOPNOTSUPP))).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(nix::libc::EOPNOTSUPP));
        assert_eq!(first_result(&mut Once(None)).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn polling_is_refused_with_the_reason() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let target = Target::open_file_cached(file.path()).unwrap();
        let workload = Workload::read(Pattern::Random, Bytes::from_kib(4), 1, Nanos::from_millis(1));
        let asked = RunOptions { poll: true, ..RunOptions::default() };
        assert_eq!(polling(&target, &workload, &RunOptions::default(), true), Ok(false));
        assert_eq!(polling(&target, &workload, &asked, false), Ok(false), "psync has nothing to poll");
        let buffered = polling(&target, &workload, &asked, true);
        assert_eq!(buffered, Err("only direct I/O can be polled for".to_owned()));
        let trims = Workload { trim_percent: 1, ..workload };
        assert_eq!(polling(&target, &trims, &asked, true), Err("a trim cannot be polled for".to_owned()));
    }
}
