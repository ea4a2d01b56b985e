//! The journal and its neighbours on disk.
//!
//! A record is one line, written by one call and only ever appended. What a kill or a full disk left of a line stays in the
//! journal and is skipped when it is read; what could not be written waits in memory, at most `MOST_WAITING` records.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use nix::fcntl::{FcntlArg, fcntl};
use rustix::fs::{OFlags, fstat, renameat};

use crate::record::{Record, What};
use narrows_load::held::{Aim, Held, HeldError, Readers, Trust};
use narrows_machine::kept::{BASELINE, Baseline, SALT, SALT_BYTES};

/// The name of the journal.
const JOURNAL: &str = "journal.jsonl";
/// The name of the file that whoever watches has locked.
const LOCK: &str = "lock";
/// The name of the file by which whoever watches is asked to take the state as it is for the best.
const ACCEPT: &str = "accept";
/// A journal that is longer becomes an old one, in bytes.
const LONGEST: u64 = 1 << 20;
/// So many old ones are kept.
const OLD: u32 = 8;
/// So many records wait for a disk that is full.
const MOST_WAITING: usize = 10_000;
/// No baseline is longer, in bytes.
const LONGEST_BASELINE: u64 = 16 << 20;

/// Why what was kept cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// Its directory is missing, or others could change what is in it.
    #[error(transparent)]
    Directory(#[from] HeldError),
    /// The kernel refused.
    #[error("cannot {action} `{path}`: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Somebody watches already.
    #[error("`{directory}` is in use: {watcher} watches")]
    InUse {
        directory: String,
        /// Who.
        watcher: String,
    },
    /// The salt is not ours.
    #[error("`{path}` does not hold the {SALT_BYTES} bytes that it was made with")]
    Salt {
        /// The file.
        path: String,
    },
}

impl KeepError {
    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Directory(error) => error.hint().map(Into::into),
            Self::Io { action: "make", .. } => {
                Some("use a directory that you alone can change: --state DIR; what else has the name can be removed".to_owned())
            }
            Self::Io { .. } => None,
            Self::InUse { .. } => Some("name another directory: --state DIR".to_owned()),
            Self::Salt { path } => {
                Some(format!("remove `{path}` and `{BASELINE}` beside it: all links begin anew"))
            }
        }
    }
}

/// Who has the lock, for people. What the kernel says of another process is 0 for one of another PID namespace and -1 where the lock
/// belongs to an open file (`F_OFD_SETLK`): nothing is ever sent to it.
fn named(process: i32) -> String {
    match process {
        1.. => format!("process {process}"),
        _ => "a process that cannot be named from here".to_owned(),
    }
}

/// The directory in which everything is kept.
#[derive(Debug)]
pub struct Store {
    directory: Held,
    /// Locked as long as it is open; `None` for one who only reads.
    _lock: Option<File>,
}

impl Store {
    /// Opens the directory to keep things in it, as the only one who does.
    ///
    /// # Errors
    /// [`KeepError`]: it is missing, others can change it, or somebody watches already.
    pub fn open(path: &Path) -> Result<Self, KeepError> {
        let directory = Held::open(path, Aim::Write)?;
        let mut store = Self { directory, _lock: None };
        let lock = store.lock()?;
        store._lock = Some(lock);
        Ok(store)
    }

    /// Opens the directory to look at what is kept.
    ///
    /// # Errors
    /// [`KeepError`]: it cannot be read.
    pub fn look(path: &Path) -> Result<Self, KeepError> {
        Ok(Self { directory: Held::open(path, Aim::Read)?, _lock: None })
    }

    /// Who watches there now, as the kernel tells it.
    pub fn watcher(&self) -> Option<String> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let lock = self.directory.open_beneath(LOCK.as_bytes(), flags).ok()?;
        let mut query = whole_file();
        fcntl(&lock, FcntlArg::F_GETLK(&mut query)).ok()?;
        (i32::from(query.l_type) != nix::libc::F_UNLCK).then(|| named(query.l_pid))
    }

    /// Leaves the request to accept for whoever watches there.
    ///
    /// # Errors
    /// [`KeepError`]: this user cannot, or something else has its name.
    pub fn ask(path: &Path) -> Result<Self, KeepError> {
        let store = Self { directory: Held::open(path, Aim::Write)?, _lock: None };
        let made = store.directory.write_new(ACCEPT.as_ref(), b"", Readers::Us);
        if store.is_asked() {
            return Ok(store);
        }
        let source = made.err().unwrap_or_else(|| {
            store.unask();
            io::Error::other("other users can change what is in the directory")
        });
        Err(store.failed("make", ACCEPT, source))
    }

    /// Whether the request to accept is there: a file of this user alone, under a name that nobody else can have given to it.
    pub fn is_asked(&self) -> bool {
        let is_ours = self.directory.maker().is_ours(ACCEPT.as_bytes());
        let is_closed = |directory| Trust::of_process().changer(&directory).is_none();
        is_ours.unwrap_or(false) && fstat(self.directory.handle()).is_ok_and(is_closed)
    }

    /// Takes the request away: it was done, or whoever watches does not take it.
    pub fn unask(&self) {
        // Where it cannot be removed it is done again.
        let _ = self.directory.maker().remove(ACCEPT.as_bytes());
    }

    fn lock(&self) -> Result<File, KeepError> {
        let failed = |source| self.failed("lock", LOCK, source);
        let lock = self.open_or_make(LOCK).map_err(failed)?;
        match fcntl(&lock, FcntlArg::F_SETLK(&whole_file())) {
            Ok(_) => Ok(lock),
            Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EACCES) => Err(KeepError::InUse {
                directory: self.directory.path().display().to_string(),
                watcher: self.watcher().unwrap_or_else(|| named(0)),
            }),
            Err(errno) => Err(failed(errno.into())),
        }
    }

    fn open_or_make(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match self.directory.maker().make_file(name.as_bytes(), flags) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let file = self.directory.maker().open(name.as_bytes(), flags)?;
                if !file.metadata()?.is_file() {
                    return Err(io::Error::other("it is no file"));
                }
                Ok(file)
            }
            made => made,
        }
    }

    fn failed(&self, action: &'static str, name: &str, source: io::Error) -> KeepError {
        KeepError::Io { action, path: self.directory.path().join(name).display().to_string(), source }
    }

    fn read(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, KeepError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = match self.directory.open_beneath(name.as_bytes(), flags) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened,
        };
        let mut bytes = Vec::new();
        let read = opened.and_then(|file| file.take(most).read_to_end(&mut bytes));
        read.map_err(|error| self.failed("read", name, error))?;
        Ok(Some(bytes))
    }

    /// The salt of this machine, which is made when there is none.
    ///
    /// # Errors
    /// [`KeepError`]: it cannot be made or read.
    pub fn salt(&self) -> Result<Vec<u8>, KeepError> {
        if let Some(salt) = self.read(SALT, 1 << 10)? {
            let path = self.directory.path().join(SALT).display().to_string();
            return if salt.len() == SALT_BYTES { Ok(salt) } else { Err(KeepError::Salt { path }) };
        }
        let mut salt = vec![0; SALT_BYTES];
        getrandom::fill(&mut salt).map_err(|error| self.failed("make", SALT, io::Error::other(error)))?;
        let made = self.directory.replace(SALT.as_ref(), ".salt.unfinished".as_ref(), &salt, Readers::Us);
        made.map_err(|error| self.failed("make", SALT, error))?;
        Ok(salt)
    }

    /// The best states that are kept; none where there is no file, or one that is not understood (and is then replaced).
    ///
    /// # Errors
    /// [`KeepError`]: it cannot be read.
    pub fn baseline(&self) -> Result<Baseline, KeepError> {
        let bytes = self.read(BASELINE, LONGEST_BASELINE)?.unwrap_or_default();
        Ok(Baseline::parse(&String::from_utf8_lossy(&bytes)).unwrap_or_default())
    }

    /// Keeps the best states in the place of those before, on stable storage when it returns.
    ///
    /// # Errors
    /// [`KeepError`]: it cannot be written. What was kept before is still there.
    pub fn keep(&self, baseline: &Baseline) -> Result<(), KeepError> {
        let written = serde_json::to_vec_pretty(baseline).map_err(io::Error::other).and_then(|bytes| {
            self.directory.replace(BASELINE.as_ref(), ".baseline.unfinished".as_ref(), &bytes, Readers::Us)
        });
        written.map_err(|error| self.failed("write", BASELINE, error))
    }

    /// Everything that the journal says, oldest first, and how many lines of it are not understood: what a kill left of one.
    ///
    /// # Errors
    /// [`KeepError`]: it cannot be read.
    pub fn records(&self) -> Result<(Vec<Record>, u64), KeepError> {
        let (mut records, mut damaged) = (Vec::new(), 0);
        for name in (0..=OLD).rev().map(journal) {
            // A journal is a little longer than the longest by the records of one reading.
            let bytes = self.read(&name, 64 * LONGEST)?.unwrap_or_default();
            for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                match serde_json::from_slice(line) {
                    Ok(record) => records.push(record),
                    Err(_) => damaged += 1,
                }
            }
        }
        Ok((records, damaged))
    }

    /// The journal, to be gone on with.
    ///
    /// # Errors
    /// [`KeepError`]: it cannot be opened.
    pub fn journal(&self) -> Result<Journal<'_>, KeepError> {
        let opened = self.open_or_make(JOURNAL).and_then(|mut file| {
            let length = file.seek(SeekFrom::End(0))?;
            let mut last = [b'\n'];
            if length > 0 {
                file.seek(SeekFrom::End(-1))?;
                file.read_exact(&mut last)?;
            }
            let torn = last != [b'\n'];
            Ok(Journal { store: self, file, length, torn, waiting: VecDeque::new(), dropped: 0 })
        });
        opened.map_err(|error| self.failed("open", JOURNAL, error))
    }
}

/// The name of a journal: the one that is written is number 0, and the higher, the older.
fn journal(number: u32) -> String {
    if number == 0 { JOURNAL.to_owned() } else { format!("journal.{number}.jsonl") }
}

/// A lock on all of a file (`fcntl_locking(2)`).
fn whole_file() -> nix::libc::flock {
    nix::libc::flock {
        l_type: nix::libc::F_WRLCK as i16,
        l_whence: nix::libc::SEEK_SET as i16,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

/// The journal that is being written.
#[derive(Debug)]
pub struct Journal<'a> {
    store: &'a Store,
    file: File,
    length: u64,
    /// Whether the last line has no end.
    torn: bool,
    waiting: VecDeque<Vec<u8>>,
    dropped: u64,
}

impl Journal<'_> {
    /// Takes records. They are written by [`write`](Self::write).
    pub fn add(&mut self, records: impl IntoIterator<Item = Record>) {
        for record in records {
            if self.waiting.len() >= MOST_WAITING {
                self.dropped = self.dropped.saturating_add(1);
                continue;
            }
            // A record has a form in JSON: its keys are words and its values numbers and texts.
            let Ok(mut line) = serde_json::to_vec(&record) else { continue };
            line.push(b'\n');
            self.waiting.push_back(line);
        }
    }

    /// How many records wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether the journal is long enough to begin anew.
    pub const fn is_long(&self) -> bool {
        self.length > LONGEST
    }

    /// Writes what waits, on stable storage when it returns.
    ///
    /// # Errors
    /// [`KeepError`]: it cannot be written. What was not written still waits.
    pub fn write(&mut self, at: &str) -> Result<(), KeepError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let written = self.write_waiting(at).and_then(|()| self.file.sync_data());
        written.map_err(|error| self.store.failed("write to", JOURNAL, error))
    }

    fn write_waiting(&mut self, at: &str) -> io::Result<()> {
        while let Some(line) = self.waiting.front() {
            if self.torn {
                self.file.write_all(b"\n")?;
                self.torn = false;
                self.length += 1;
            }
            let line = line.clone();
            self.write_line(&line)?;
            self.waiting.pop_front();
            if self.waiting.is_empty() && self.dropped > 0 {
                let lost = "records of the journal, while its disk was full".to_owned();
                let gap = What::Gap { lost, after: at.to_owned(), times: std::mem::take(&mut self.dropped) };
                self.add([Record { at: at.to_owned(), what: gap }]);
            }
        }
        Ok(())
    }

    /// Writes a line whole, or takes back what was written of it.
    fn write_line(&mut self, line: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(line) {
            // Where that fails the rest of the line is skipped when the journal is read.
            self.torn = self.file.set_len(self.length).is_err();
            return Err(error);
        }
        self.length += line.len() as u64;
        Ok(())
    }

    /// Makes the journal an old one and begins another.
    ///
    /// # Errors
    /// [`KeepError`]: the names cannot be changed; then this one goes on.
    pub fn rotate(&mut self) -> Result<(), KeepError> {
        let directory = self.store.directory.handle();
        for number in (0..OLD).rev() {
            match renameat(directory, journal(number), directory, journal(number + 1)) {
                Ok(()) => {}
                Err(rustix::io::Errno::NOENT) if number > 0 => {}
                Err(errno) => return Err(self.store.failed("rename", &journal(number), errno.into())),
            }
        }
        self.file =
            self.store.open_or_make(JOURNAL).map_err(|error| self.store.failed("open", JOURNAL, error))?;
        self.length = 0;
        self.torn = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a test makes files and looks at them")]
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn record(number: u32) -> Record {
        Record {
            at: format!("2026-11-24T03:11:{:02}Z", number % 60),
            what: What::Slept { seconds: f64::from(number) },
        }
    }

    fn place() -> tempfile::TempDir {
        tempfile::tempdir().expect("a directory")
    }

    #[test]
    fn what_was_written_is_read_again_and_only_we_may_read_it() {
        let place = place();
        let store = Store::open(place.path()).expect("is ours");
        let mut journal = store.journal().expect("is made");
        journal.add([record(1), record(2)]);
        journal.write("now").expect("is written");
        assert_eq!(journal.waiting(), 0);
        assert_eq!(store.records().expect("is read"), (vec![record(1), record(2)], 0));
        store.salt().expect("is made");
        store.keep(&Baseline::default()).expect("is kept");
        for name in [JOURNAL, LOCK, SALT, BASELINE] {
            let mode = std::fs::metadata(place.path().join(name)).expect("is there").permissions().mode();
            assert_eq!(mode & 0o7777, 0o600, "{name}");
        }
        assert_eq!(store.salt().expect("is read"), store.salt().expect("is read again"));
    }

    #[test]
    fn half_a_line_is_skipped_and_what_follows_is_whole() {
        let place = place();
        std::fs::write(place.path().join(JOURNAL), b"{\"at\":\"2026-11-24T03:1").expect("is written");
        let store = Store::open(place.path()).expect("is ours");
        let mut journal = store.journal().expect("is opened");
        journal.add([record(3)]);
        journal.write("now").expect("is written");
        assert_eq!(store.records().expect("is read"), (vec![record(3)], 1));
    }

    #[test]
    fn a_long_journal_becomes_an_old_one_and_the_oldest_goes() {
        let place = place();
        let store = Store::open(place.path()).expect("is ours");
        let mut journal = store.journal().expect("is made");
        for number in 0..12 {
            journal.add([record(number)]);
            journal.write("now").expect("is written");
            journal.rotate().expect("is renamed");
        }
        let (records, _) = store.records().expect("is read");
        assert_eq!(records, (4..12).map(record).collect::<Vec<_>>(), "eight old ones, oldest first");
        assert!(!journal.is_long());
    }

    #[test]
    fn nobody_else_watches_in_the_same_place() {
        let place = place();
        let store = Store::open(place.path()).expect("is ours");
        // A lock of our own process is no lock for us: another process has to ask.
        assert_eq!(store.watcher(), None);
        std::fs::write(place.path().join(SALT), b"short").expect("is written");
        assert!(matches!(store.salt(), Err(KeepError::Salt { .. })));
    }

    #[test]
    fn only_a_file_of_this_user_alone_where_nobody_renames_is_a_request() {
        let place = place();
        let path = place.path().join(ACCEPT);
        let store = Store::ask(place.path()).expect("is ours");
        assert!(store.is_asked() && Store::ask(place.path()).is_ok(), "one who asks the same is heard");
        std::fs::hard_link(&path, place.path().join("second")).expect("is made");
        assert!(!store.is_asked(), "a second name");
        std::fs::remove_file(place.path().join("second")).expect("is there");
        for (mode, is_asked) in [(0o777, false), (0o1777, true), (0o770, false), (0o700, true)] {
            std::fs::set_permissions(place.path(), PermissionsExt::from_mode(mode)).expect("is ours");
            assert_eq!(store.is_asked(), is_asked, "a directory of mode {mode:o}");
        }
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).expect("is ours");
        assert!(!store.is_asked(), "a file that others write");
        store.unask();
        std::os::unix::fs::symlink(place.path().join(LOCK), &path).expect("is made");
        assert!(!store.is_asked(), "a link");
        let refused = Store::ask(place.path()).expect_err("has its name");
        assert!(
            refused.to_string().contains("accept`: File exists") && refused.hint().is_some(),
            "{refused}"
        );
        assert!([0, -1].map(named).iter().all(|who| who.contains("cannot be named")));
    }

    #[test]
    fn a_file_that_is_no_baseline_counts_as_none() {
        let place = place();
        let store = Store::open(place.path()).expect("is ours");
        std::fs::write(place.path().join(BASELINE), b"{\"schema\":\"other\"}").expect("is written");
        assert_eq!(store.baseline().expect("is read"), Baseline::default());
    }
}
