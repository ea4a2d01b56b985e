//! The first half of a worker's job: files become parts, with all data and attributes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Advice, FileType, Mode, OFlags, Stat, fadvise, fstat, openat, syncfs};
use rustix::io::Errno;

use super::block::{Block, Cursor, data_between};
use super::destination::{
    self, PartName, create_part, find_part, publish, read_part, remove_part, reopen_part, reserve,
};
use super::fault::{Why, cannot};
use super::job::Job;
use super::manifest::{self, Record};
use super::pipeline::{End, Mover, Pipeline, Progress};
use super::result::{Doing, LARGE, Meter};
use super::scan::{Entry, Parents, allocated, identity, look, may_have_holes, modified, size};

/// After so many blocks of a file what was written is made durable and noted, so that a later run can go on from there.
const CHECKPOINT: usize = 128;
/// Parts are made durable together when they are so many,
const BATCH_FILES: usize = 256;
/// or hold so many bytes.
const BATCH_BYTES: u64 = 128 << 20;
/// A part that holds all data and attributes of a file.
pub(super) struct Ready<'e> {
    pub(super) entry: &'e Entry,
    pub(super) record: Record,
    pub(super) device: u64,
    pub(super) blocks: Vec<Block>,
    /// Whether the manifest knows it, so that it is worth keeping when the copy is stopped.
    pub(super) is_begun: bool,
}

/// What is at the destination already.
enum Standing {
    Nothing,
    /// The whole file, by an earlier run.
    Complete,
    /// A complete part that only lacks its name.
    Unnamed(Record),
    /// A part that an earlier run began.
    Begun(Record),
    /// The copy was stopped before that was known.
    Unknown,
}

/// One thread's means.
pub(super) struct Worker<'a, 'r> {
    pub(super) job: &'a Job<'a>,
    pub(super) mover: Mover<'r>,
    pub(super) depth: u32,
    pub(super) block_size: u32,
    pub(super) meter: Meter,
    sources: Parents<'a>,
    targets: Parents<'a>,
    pub(super) ready: Vec<Ready<'a>>,
    pub(super) ready_bytes: u64,
}

impl<'a, 'r> Worker<'a, 'r> {
    /// A worker whose mover has `depth` slots of `block_size` bytes.
    pub(super) fn new(job: &'a Job<'a>, mover: Mover<'r>, depth: u32, block_size: u32) -> Self {
        Self {
            job,
            mover,
            depth,
            block_size,
            meter: Meter::start(),
            sources: Parents::of(job.source),
            targets: Parents::of(job.target),
            ready: Vec::new(),
            ready_bytes: 0,
        }
    }

    /// Copies a file. It gets its name with others, at the latest in `commit`.
    pub(super) fn copy(&mut self, entry: &'a Entry) {
        match self.prepare(entry) {
            Ok(Some(ready)) => {
                self.ready_bytes = self.ready_bytes.saturating_add(ready.record.size);
                self.ready.push(ready);
            }
            Ok(None) => {}
            Err(why) => self.job.fault(&entry.below, why),
        }
        self.meter.lap(Doing::Metadata);
        if self.ready.len() >= BATCH_FILES || self.ready_bytes >= BATCH_BYTES {
            self.commit();
        }
    }

    /// Writes the part of a file; `None` when it is there already or the copy was stopped.
    fn prepare(&mut self, entry: &'a Entry) -> Result<Option<Ready<'a>>, Why> {
        let (source, stat) = self.open_source(entry)?;
        let standing = self.standing(entry, (&source, &stat))?;
        self.meter.lap(Doing::Metadata);
        let kept = match standing {
            Standing::Complete => {
                self.count_earlier(entry);
                return Ok(None);
            }
            Standing::Unnamed(record) => {
                let (directory, name) = self.target(entry)?;
                publish(directory, record.part, name).map_err(cannot("name it"))?;
                self.count_earlier(entry);
                return Ok(None);
            }
            Standing::Unknown => return Ok(None),
            Standing::Begun(record) => Some(record),
            Standing::Nothing => None,
        };
        self.write_part(entry, &source, &stat, kept)
    }

    fn count_earlier(&self, entry: &Entry) {
        let data = allocated(&entry.stat);
        self.job.control.moved(if self.job.options.verify { data.saturating_mul(2) } else { data });
        self.job.count_earlier();
    }

    /// The directory of the copy, and the name in it.
    pub(super) fn target<'b>(&'b mut self, entry: &'b Entry) -> Result<(&'b File, &'b [u8]), Why> {
        self.targets.get(&entry.below).map_err(cannot("open its directory"))
    }

    fn open_source(&mut self, entry: &Entry) -> Result<(File, Stat), Why> {
        let (directory, name) = self.sources.get(&entry.below).map_err(cannot("open it"))?;
        // NONBLOCK: whatever took the place of the file meanwhile, opening it does not wait.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let open = |flags| rustix::fs::openat(directory, name, flags, rustix::fs::Mode::empty());
        let opened = match open(flags | OFlags::NOATIME) {
            // Only the owner may leave the access time alone.
            Err(Errno::PERM) => open(flags),
            opened => opened,
        };
        let file = File::from(opened.map_err(cannot("open it"))?);
        let stat = fstat(&file).map_err(cannot("open it"))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Why::Changed);
        }
        Ok((file, stat))
    }

    /// What is there already. Something that no earlier run made is a fault.
    fn standing(&mut self, entry: &Entry, (file, source): (&File, &Stat)) -> Result<Standing, Why> {
        let job = self.job;
        let (directory, name) = self.target(entry)?;
        let looking = cannot("look for it");
        let found = look(directory, name).map_err(&looking)?;
        let done = job.known.done.get(&entry.below).filter(|record| record.is_of(source));
        if let Some(found) = found {
            let is_ours = |record: &&Record| {
                found.st_ino == record.inode
                    && size(&found) == record.size
                    && FileType::from_raw_mode(found.st_mode) == FileType::RegularFile
            };
            if done.is_some_and(|record| is_ours(&record)) {
                return Ok(Standing::Complete);
            }
            // A manifest tells of what was copied since it was begun, which may be a resume of a copy that had ended.
            if !job.options.resume {
                return Err(Why::Exists);
            }
            let (whole, stop) = (job.options.verify, job.control.stop());
            return match compare((file, source), (directory, name, &found), whole, stop) {
                Ok(Likeness::Same) => Ok(Standing::Complete),
                Ok(Likeness::Stopped) => Ok(Standing::Unknown),
                Ok(Likeness::Other) => Err(Why::Exists),
                Err(error) => Err(Why::io("compare it", &error)),
            };
        }
        job.may_make_in(directory, &entry.below)?;
        if let Some(record) = done
            && find_part(directory, record.part, record.inode, &job.trust).map_err(&looking)?.is_some()
        {
            return Ok(Standing::Unnamed(record.clone()));
        }
        let begun = job.known.begun.get(&entry.below).filter(|record| record.is_of(source));
        if let Some(record) = begun
            && find_part(directory, record.part, record.inode, &job.trust).map_err(&looking)?.is_some()
        {
            return Ok(Standing::Begun(record.clone()));
        }
        Ok(Standing::Nothing)
    }

    fn write_part(
        &mut self,
        entry: &'a Entry,
        source: &File,
        stat: &Stat,
        kept: Option<Record>,
    ) -> Result<Option<Ready<'a>>, Why> {
        let job = self.job;
        let is_large = size(stat) >= LARGE.get();
        let (directory, _) = self.target(entry)?;
        let (name, opened) = match &kept {
            Some(record) => (record.part, reopen_part(directory, record.part, is_large)),
            None => {
                let name = job.part();
                (name, create_part(directory, name, is_large))
            }
        };
        let (part, direct) = opened.map_err(cannot("make the copy"))?;
        let made = fstat(&part).map_err(cannot("make the copy"))?;
        let blocks = kept.map(|record| record.blocks);
        let is_resumed = blocks.is_some();
        let record = Record {
            part: name,
            inode: made.st_ino,
            size: size(stat),
            modified: modified(stat),
            blocks: Vec::new(),
        };
        self.meter.lap(Doing::Metadata);
        let mut ready = Ready {
            entry,
            record,
            device: made.st_dev,
            is_begun: is_resumed,
            blocks: blocks.unwrap_or_default(),
        };
        let written = self.fill(&mut ready, (source, stat), (&part, direct));
        match written {
            Ok(Progress::Whole) => Ok(Some(ready)),
            Ok(Progress::Part) if ready.is_begun => Ok(None),
            // Stopped too early to be of use, or failed: nothing stays behind.
            outcome => {
                let (directory, _) = self.target(entry)?;
                let removed = remove_part(directory, name).map_err(cannot("remove its part"));
                outcome.and(removed).map(|()| None)
            }
        }
    }

    /// Copies data and attributes.
    fn fill(
        &mut self,
        ready: &mut Ready<'_>,
        (source, stat): (&File, &Stat),
        (part, direct): (&File, bool),
    ) -> Result<Progress, Why> {
        let job = self.job;
        let from = ready.blocks.last().map_or(0, Block::end);
        let sparse = may_have_holes(stat);
        if !sparse && direct {
            reserve(part, size(stat)).map_err(cannot("reserve room for it"))?;
            self.meter.lap(Doing::Metadata);
        }
        let kept: u64 = ready.blocks.iter().map(|block| u64::from(block.length)).sum();
        job.kept.fetch_add(kept, Ordering::Relaxed);
        job.control.moved(kept);
        let direct_read = job.options.direct && set_direct(source);
        let mut ends = (End { file: source, direct: direct_read }, End { file: part, direct });
        let mut cursor = Cursor::new(sparse.then_some(source), from, size(stat), self.block_size);
        if self.pump(ready, (&mut ends.0, &mut ends.1), &mut cursor)? == Progress::Part {
            return Ok(Progress::Part);
        }
        job.direct_reads.fetch_add(u64::from(ends.0.direct), Ordering::Relaxed);
        // Also gives a file that ends with a hole its size.
        part.set_len(size(stat)).map_err(cannot("set its size"))?;
        destination::apply(source, stat, part, &job.lost).map_err(cannot("set its attributes"))?;
        let now = fstat(source).map_err(cannot("look at it"))?;
        self.meter.lap(Doing::Metadata);
        if size(&now) != size(stat) || modified(&now) != modified(stat) {
            return Err(Why::Changed);
        }
        Ok(Progress::Whole)
    }

    /// Copies the blocks, with a checkpoint now and then for a file that is large enough to be worth one.
    fn pump(
        &mut self,
        ready: &mut Ready<'_>,
        (source, part): (&mut End<'_>, &mut End<'_>),
        cursor: &mut Cursor<'_>,
    ) -> Result<Progress, Why> {
        let job = self.job;
        let told = |bytes: u64| job.control.moved(bytes);
        loop {
            let noted = ready.blocks.len();
            let mut pipeline = Pipeline::new(&mut self.mover, &mut self.meter, self.depth);
            let watch = (job.control.stop(), &told as &dyn Fn(u64));
            let progress = pipeline.copy((source, part), cursor, &mut ready.blocks, CHECKPOINT, watch)?;
            let fresh = ready.blocks.get_mut(noted..).unwrap_or_default();
            fresh.sort_unstable_by_key(|block| block.offset);
            if !ready.is_begun && (progress == Progress::Whole || fresh.len() < CHECKPOINT) {
                return Ok(progress);
            }
            part.file.sync_data().map_err(cannot("sync it"))?;
            let mut lines = String::new();
            if !ready.is_begun {
                lines = manifest::begun(&ready.entry.below, &ready.record);
                ready.is_begun = true;
            }
            if !fresh.is_empty() {
                lines.push_str(&manifest::blocks(&ready.entry.below, fresh));
            }
            job.note(&lines).map_err(cannot("note its progress"))?;
            self.meter.lap(Doing::Write);
            if progress == Progress::Whole || job.control.is_stopped() {
                return Ok(progress);
            }
        }
    }
}

/// Turns an open file to direct access; false where the file system has none.
fn set_direct(file: &File) -> bool {
    rustix::fs::fcntl_getfl(file)
        .and_then(|flags| rustix::fs::fcntl_setfl(file, flags | OFlags::DIRECT))
        .is_ok()
}

/// From so many parts on, one sync of the file system is cheaper than one of each file.
const SYNC_TOGETHER: usize = 8;
/// The stop flag of what is brought to its end.
static NEVER: AtomicBool = AtomicBool::new(false);

impl<'a> Worker<'a, '_> {
    /// Makes all parts durable, verifies them and gives them their names.
    pub(super) fn commit(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        self.ready_bytes = 0;
        self.sync(&mut ready);
        self.meter.lap(Doing::Write);
        if self.job.options.verify {
            ready.retain(|file| self.verify(file));
        }
        let lines: String =
            ready.iter().map(|file| manifest::done(&file.entry.below, &file.record)).collect();
        if !lines.is_empty()
            && let Err(error) = self.job.note(&lines)
        {
            for file in ready.drain(..) {
                self.give_up(&file, Why::io("note its end", &error));
            }
        }
        for file in &ready {
            match self.target(file.entry).and_then(|(directory, name)| {
                publish(directory, file.record.part, name).map_err(cannot("name it"))
            }) {
                Ok(()) => self.job.count(file.record.size, &file.blocks),
                Err(why) => self.give_up(file, why),
            }
        }
        self.meter.lap(Doing::Metadata);
    }

    /// A file that fails now leaves no part behind.
    fn give_up(&mut self, file: &Ready<'_>, why: Why) {
        if let Ok((directory, _)) = self.target(file.entry) {
            // What is left is removed by the next run with --resume.
            let _ = remove_part(directory, file.record.part);
        }
        self.job.fault(&file.entry.below, why);
    }

    fn sync(&mut self, ready: &mut Vec<Ready<'a>>) {
        let Some(first) = ready.first() else { return };
        let together = ready.len() >= SYNC_TOGETHER && ready.iter().all(|file| file.device == first.device);
        if together {
            let entry = first.entry;
            let synced =
                self.target(entry).and_then(|(directory, _)| syncfs(directory).map_err(cannot("sync it")));
            if let Err(why) = synced {
                // The kernel tells of a failed write once, and not of which file.
                for file in ready.drain(..) {
                    self.give_up(&file, why.clone());
                }
            }
            return;
        }
        ready.retain(|file| match self.sync_one(file.entry, file.record.part) {
            Ok(()) => true,
            Err(why) => {
                self.give_up(file, why);
                false
            }
        });
    }

    fn sync_one(&mut self, entry: &Entry, part: PartName) -> Result<(), Why> {
        let (directory, _) = self.target(entry)?;
        let (file, _) = read_part(directory, part).map_err(cannot("sync it"))?;
        file.sync_all().map_err(cannot("sync it"))
    }

    /// Whether a part reads back as it was written. One that does not is given up; when the copy is stopped meanwhile, one
    /// that the manifest knows stays for the next run.
    fn verify(&mut self, file: &Ready<'_>) -> bool {
        match self.read_back(file) {
            Ok(progress) => progress == Progress::Whole,
            Err(why) => {
                self.give_up(file, why);
                false
            }
        }
    }

    fn read_back(&mut self, file: &Ready<'_>) -> Result<Progress, Why> {
        let job = self.job;
        let (directory, _) = self.target(file.entry)?;
        let (part, direct) = read_part(directory, file.record.part).map_err(cannot("read it back"))?;
        if !direct {
            // A hint, which the kernel may ignore: the result says so.
            let _ = fadvise(&part, 0, None, Advice::DontNeed);
        }
        let found = fstat(&part).map_err(cannot("look at it"))?;
        if identity(&found) != (file.device, file.record.inode) || size(&found) != file.record.size {
            return Err(Why::Changed);
        }
        self.meter.lap(Doing::Metadata);
        let holes = data_between(&file.blocks, &part, file.record.size, self.block_size)
            .map_err(cannot("look for its holes"))?;
        let mut end = End { file: &part, direct };
        let told = |bytes: u64| job.control.moved(bytes);
        let mut pipeline = Pipeline::new(&mut self.mover, &mut self.meter, self.depth);
        // A part that the manifest does not know would be lost; to read it to its end takes a moment.
        let stop = if file.is_begun { job.control.stop() } else { &NEVER };
        let mut progress = pipeline.verify(&mut end, &file.blocks, (stop, &told))?;
        if progress == Progress::Whole && !holes.is_empty() {
            // They are not among the bytes that are expected.
            progress = pipeline.verify(&mut end, &holes, (stop, &|_| {}))?;
        }
        let count = if end.direct { &job.read_direct } else { &job.read_advised };
        count.fetch_add(1, Ordering::Relaxed);
        Ok(progress)
    }
}

/// What is read of each at once.
const PIECE: usize = 1 << 20;
/// File systems keep times to 2 s at worst (FAT).
const COARSEST: u128 = 2_000_000_000;

/// What a look at both told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Likeness {
    /// It is the copy.
    Same,
    /// It is something else.
    Other,
    /// The copy was stopped.
    Stopped,
}

/// Compares `found`, which is called `name` in `directory`, with its source: size and time of change, and with `whole` every
/// byte.
///
/// # Errors
/// One cannot be read.
pub(super) fn compare(
    (source, stat): (&File, &Stat),
    (directory, name, found): (&File, &[u8], &Stat),
    whole: bool,
    stop: &AtomicBool,
) -> io::Result<Likeness> {
    let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    let is_as_old = modified(found).abs_diff(modified(stat)) < COARSEST;
    if !is_file || size(found) != size(stat) || !is_as_old {
        return Ok(Likeness::Other);
    }
    if !whole {
        return Ok(Likeness::Same);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let copy = File::from(openat(directory, name, flags, Mode::empty())?);
    if identity(&fstat(&copy)?) != identity(found) {
        return Ok(Likeness::Other);
    }
    // What the drive has is asked for, as far as the kernel lets go of what it remembers.
    let _ = fadvise(&copy, 0, None, Advice::DontNeed);
    bytes(source, &copy, stop)
}

fn bytes(one: &File, other: &File, stop: &AtomicBool) -> io::Result<Likeness> {
    let (mut left, mut right, mut at) = (vec![0; PIECE], vec![0; PIECE], 0);
    while !stop.load(Ordering::Relaxed) {
        let length = fill(one, &mut left, at)?;
        let is_same = fill(other, &mut right, at)? == length && left.get(..length) == right.get(..length);
        if !is_same {
            return Ok(Likeness::Other);
        }
        if length < PIECE {
            return Ok(Likeness::Same);
        }
        at += length as u64;
    }
    Ok(Likeness::Stopped)
}

/// Reads until the piece is full or the file at its end.
fn fill(file: &File, piece: &mut [u8], at: u64) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = piece.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, at + done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use super::*;
    use std::fs;

    fn likeness(source: &[u8], copy: &[u8], whole: bool, stop: bool) -> Likeness {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("source"), source).unwrap();
        fs::write(dir.path().join("copy"), copy).unwrap();
        let (directory, file) =
            (File::open(dir.path()).unwrap(), File::open(dir.path().join("source")).unwrap());
        let found = super::super::scan::look(&directory, b"copy").unwrap().unwrap();
        let stat = fstat(&file).unwrap();
        compare((&file, &stat), (&directory, b"copy", &found), whole, &AtomicBool::new(stop)).unwrap()
    }

    #[test]
    fn a_copy_is_the_same_to_the_last_byte() {
        let long = vec![7; 2 * PIECE + 5];
        let mut other = long.clone();
        other[2 * PIECE + 4] = 8;
        assert_eq!(likeness(&long, &long, true, false), Likeness::Same);
        assert_eq!(likeness(&long[..PIECE], &long[..PIECE], true, false), Likeness::Same);
        assert_eq!(likeness(b"", b"", true, false), Likeness::Same);
        assert_eq!(likeness(&long, &other, true, false), Likeness::Other);
        assert_eq!(
            likeness(&long, &other, false, false),
            Likeness::Same,
            "nothing but size and time is looked at"
        );
        assert_eq!(likeness(b"ab", b"a", false, false), Likeness::Other);
        assert_eq!(likeness(&long, &long, true, true), Likeness::Stopped);
    }
}
