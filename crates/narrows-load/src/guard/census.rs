//! What a device counts as written and discarded, beside what we sent to it. Nobody can keep a writer without a claim from
//! writing to a device that is ours; but the kernel counts what it wrote.
//!
//! What we send is noted before it is sent. So the device never counts more than that, unless somebody else writes; and when
//! nothing of ours is in flight, not one sector more can be hidden.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::{fmt, io};

use serde::{Deserialize, Serialize};

use super::sentry::Keeper;
use crate::engine::{Op, Request};
use narrows_base::units::{Bytes, human};

/// How much was written and discarded, in sectors of 512 bytes, since the kernel knows the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Written.
    pub written: u64,
    /// Discarded; 0 where the kernel does not count it.
    pub discarded: u64,
}

impl Counters {
    /// What came since `before`; `None` when there is less.
    pub fn since(self, before: Self) -> Option<Self> {
        Some(Self {
            written: self.written.checked_sub(before.written)?,
            discarded: self.discarded.checked_sub(before.discarded)?,
        })
    }

    /// All of it, in bytes.
    pub const fn bytes(self) -> Bytes {
        Bytes::new(self.written.saturating_add(self.discarded).saturating_mul(SECTOR))
    }

    /// Reads a `stat` of sysfs (kernel `Documentation/block/stat.rst`): the seventh number is the sectors written, the
    /// fourteenth those discarded, since Linux 4.19.
    pub fn parse(text: &str) -> Option<Self> {
        let numbers: Vec<u64> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
        Some(Self { written: *numbers.get(6)?, discarded: numbers.get(13).copied().unwrap_or(0) })
    }
}

const SECTOR: u64 = 512;

/// Somebody else wrote to a device that we use, or that cannot be told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Others {
    /// The device.
    pub path: PathBuf,
    /// What they wrote and discarded; `None` when the kernel has ceased to count.
    pub bytes: Option<(Bytes, Bytes)>,
    /// What else was seen of them, as a sentence.
    pub said: Option<String>,
}

impl fmt::Display for Others {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        if let Some(said) = &self.said {
            return f.write_str(said);
        }
        let Some((written, discarded)) = self.bytes else {
            return write!(f, "the kernel has ceased to count what is written to `{path}` (queue/iostats)");
        };
        let verbs = [(written, "wrote"), (discarded, "discarded")];
        let done = verbs.into_iter().filter(|(bytes, _)| bytes.get() > 0);
        let done: Vec<String> = done.map(|(bytes, verb)| format!("{verb} {}", human::bytes(bytes))).collect();
        write!(f, "somebody else {} on `{path}` while narrows used it", done.join(" and "))
    }
}

/// What the device counts at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Counted(Counters),
    /// It is there, and counts nothing.
    Off,
    /// It is not there any more, or has no counters.
    Gone,
}

type Reader = Box<dyn Fn() -> Reading + Send + Sync>;

/// Compares what a device counts with what was sent to it, from one moment on.
pub struct Census {
    path: PathBuf,
    read: Reader,
    first: Counters,
    written: AtomicU64,
    discarded: AtomicU64,
    /// What was seen of others. It stays: what is in flight later could hide it.
    seen: OnceLock<Others>,
    keeper: Option<Arc<dyn Keeper>>,
}

impl fmt::Debug for Census {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Census").field("path", &self.path).field("first", &self.first).finish_non_exhaustive()
    }
}

impl Census {
    /// Begins with what the device with this number has counted until now; `None` when it does not count.
    pub(super) fn begin(path: &Path, (major, minor): (u32, u32), keeper: Arc<dyn Keeper>) -> Option<Self> {
        let dir = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
        Some(Self { keeper: Some(keeper), ..Self::of(path, Box::new(move || read(&dir)))? })
    }

    /// Who keeps the record.
    pub(crate) fn keeper(&self) -> Option<&Arc<dyn Keeper>> {
        self.keeper.as_ref()
    }

    fn of(path: &Path, read: Reader) -> Option<Self> {
        let Reading::Counted(first) = read() else { return None };
        let (written, discarded) = (AtomicU64::new(0), AtomicU64::new(0));
        Some(Self {
            path: path.to_owned(),
            read,
            first,
            written,
            discarded,
            seen: OnceLock::new(),
            keeper: None,
        })
    }

    /// So many bytes are going to be written.
    pub(crate) fn writes(&self, bytes: u64) {
        self.written.fetch_add(bytes, Ordering::SeqCst);
    }

    /// So many bytes are going to be discarded, if what is behind the device is what it was.
    ///
    /// # Errors
    /// It is not, and nothing more may be sent.
    pub(crate) fn discards(&self, bytes: u64) -> io::Result<()> {
        self.check_behind()?;
        self.discarded.fetch_add(bytes, Ordering::SeqCst);
        Ok(())
    }

    /// The device took nothing of what was going to be discarded.
    pub(crate) fn takes_no_discards(&self, bytes: u64) {
        self.discarded.fetch_sub(bytes, Ordering::SeqCst);
    }

    /// This is going to be sent, if what is behind the device is what it was.
    ///
    /// # Errors
    /// It is not, and nothing more may be sent.
    pub(crate) fn sends(&self, request: Request) -> io::Result<()> {
        if request.op == Op::Write {
            self.check_behind()?;
            self.writes(request.length.into());
        }
        Ok(())
    }

    fn check_behind(&self) -> io::Result<()> {
        let Some(Err(said)) = self.keeper.as_ref().map(|keeper| keeper.check_behind()) else { return Ok(()) };
        let _ = self.seen.set(self.saw(None, Some(said.clone())));
        Err(io::Error::other(said))
    }

    /// Whether the device has counted no more than was sent, and nobody wrote to what is behind it.
    ///
    /// # Errors
    /// It has: somebody else wrote. Or it counts no more.
    pub fn check(&self) -> Result<(), Others> {
        self.check_device()?;
        let checked = self.keeper.as_ref().map_or(Ok(()), |keeper| keeper.check_writers());
        checked.map_err(|said| self.saw(None, Some(said)))
    }

    /// The same without what is behind it: what counts while nothing but our marks is cleared.
    ///
    /// # Errors
    /// As for [`check`](Self::check).
    pub(crate) fn check_device(&self) -> Result<(), Others> {
        if self.seen.get().is_none() {
            // The device first: what is sent in between only makes that there is less to see.
            let reading = (self.read)();
            let sent = [&self.written, &self.discarded].map(|sent| sent.load(Ordering::SeqCst));
            let behind = self.keeper.as_ref().and_then(|keeper| keeper.check_behind().err());
            let behind = behind.map(|said| self.saw(None, Some(said)));
            if let Some(others) = self.others(reading, sent).or(behind) {
                let _ = self.seen.set(others);
            }
        }
        self.seen.get().cloned().map_or(Ok(()), Err)
    }

    /// Makes sure that nobody uses the device, right before it is cleared.
    ///
    /// # Errors
    /// Somebody does.
    pub(crate) fn check_unused(&self) -> Result<(), Others> {
        let checked = self.keeper.as_ref().map_or(Ok(()), |keeper| keeper.check_unused());
        checked.map_err(|refusal| self.saw(None, Some(refusal.to_string())))
    }

    fn saw(&self, bytes: Option<(Bytes, Bytes)>, said: Option<String>) -> Others {
        Others { path: self.path.clone(), bytes, said }
    }

    fn others(&self, reading: Reading, [written, discarded]: [u64; 2]) -> Option<Others> {
        let others = |bytes| Some(self.saw(bytes, None));
        let now = match reading {
            Reading::Counted(now) => now,
            Reading::Off => return others(None),
            // Nobody writes to what is gone, and our own I/O says that it is.
            Reading::Gone => return None,
        };
        let Some(grown) = now.since(self.first) else { return others(None) };
        // Before Linux 4.19 discards count as writes.
        let most = if now.discarded == 0 { written.saturating_add(discarded) } else { written };
        let beyond = |sectors: u64, sent: u64| sectors.saturating_mul(SECTOR).saturating_sub(sent);
        let (wrote, gone) = (beyond(grown.written, most), beyond(grown.discarded, discarded));
        if wrote + gone > 0 { others(Some((Bytes::new(wrote), Bytes::new(gone)))) } else { None }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the counters of the device that is written belong to the writing: they are compared with what was sent"
)]
fn read(dir: &Path) -> Reading {
    let text = |name: &str| std::fs::read_to_string(dir.join(name)).ok();
    match (text("queue/iostats"), text("stat").as_deref().and_then(Counters::parse)) {
        (Some(switch), _) if switch.trim() == "0" => Reading::Off,
        (_, Some(counters)) => Reading::Counted(counters),
        _ => Reading::Gone,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// A device whose counters a test sets, in bytes.
    fn device() -> (Census, impl Fn(Option<(u64, u64)>)) {
        let counted = |bytes: Option<(u64, u64)>| match bytes {
            Some((written, discarded)) => Reading::Counted(Counters {
                written: 1000 + written / SECTOR,
                discarded: 70 + discarded / SECTOR,
            }),
            None => Reading::Off,
        };
        let now = Arc::new(Mutex::new(counted(Some((0, 0)))));
        let shown = now.clone();
        let census = Census::of(Path::new("/dev/x"), Box::new(move || *shown.lock().unwrap())).unwrap();
        (census, move |bytes| *now.lock().unwrap() = counted(bytes))
    }

    #[test]
    fn what_was_sent_is_not_taken_for_that_of_others() {
        let (census, counts) = device();
        assert_eq!(census.check(), Ok(()));
        census.writes(8192);
        assert_eq!(census.check(), Ok(()), "it is on its way");
        counts(Some((8192, 0)));
        assert_eq!(census.check(), Ok(()));
        census.discards(4096).unwrap();
        counts(Some((8192, 4096)));
        assert_eq!(census.check(), Ok(()));
    }

    #[test]
    fn one_sector_more_is_seen_and_stays_seen() {
        let (census, counts) = device();
        census.writes(8192);
        counts(Some((8192 + 512, 0)));
        let others = census.check().unwrap_err();
        assert_eq!(others.bytes, Some((Bytes::new(512), Bytes::new(0))));
        census.writes(1 << 20);
        assert_eq!(census.check(), Err(others.clone()), "what is in flight later does not hide it");
        assert_eq!(others.to_string(), "somebody else wrote 512 B on `/dev/x` while narrows used it");
    }

    #[test]
    fn discards_of_others_are_seen() {
        let (census, counts) = device();
        census.writes(8192);
        counts(Some((4096, 4096)));
        let said = census.check().unwrap_err().to_string();
        assert!(said.contains("discarded 4.1 kB"), "{said}");
    }

    #[test]
    fn discards_that_a_device_did_not_take_hide_no_write() {
        let (census, counts) = device();
        census.discards(8192).unwrap();
        census.takes_no_discards(8192);
        counts(Some((512, 0)));
        assert!(census.check().is_err());
    }

    #[test]
    fn counters_that_are_switched_off_or_run_backwards_are_not_trusted() {
        let (census, counts) = device();
        counts(None);
        assert_eq!(census.check().unwrap_err().bytes, None);
        assert!(Census::of(Path::new("/dev/x"), Box::new(|| Reading::Off)).is_none());
        assert!(Census::of(Path::new("/dev/x"), Box::new(|| Reading::Gone)).is_none());
        let (census, _) = device();
        let less = Reading::Counted(Counters::default());
        assert!(census.others(less, [0, 0]).is_some());
        assert!(census.others(Reading::Gone, [0, 0]).is_none(), "what is gone says so itself");
    }
}
