//! What is not the data of files: directories, symbolic links, further names, and the parts that earlier runs left.

use std::collections::HashSet;

use rustix::fs::{FileType, Mode, fchmod, fstat, readlinkat, syncfs};

use super::destination::{self, PartName, make_directory, make_hard_link, make_symlink, remove_part};
use super::fault::{Why, cannot};
use super::job::Job;
use super::manifest;
use super::scan::{Below, Entry, EntryKind, Listing, Parents, identity, look, names, split};

/// The directories of the destination.
#[derive(Debug, Default)]
pub(super) struct Directories {
    /// Those that this or an earlier run made, and that so get the attributes of the source.
    ours: Vec<usize>,
    /// Those that cannot be copied into. Nothing below them is.
    closed: HashSet<Below>,
    /// How many were made now.
    made: u64,
}

impl Directories {
    /// Makes every directory of the listing that is not there. The manifest is told before, so that a later run knows
    /// them as ours.
    pub(super) fn make(job: &Job<'_>, listing: &Listing) -> Self {
        let mut directories = Self::default();
        let mut parents = Parents::of(job.target);
        let mut wanted = Vec::new();
        for (index, entry) in listing.entries.iter().enumerate() {
            if entry.kind != EntryKind::Directory || directories.is_closed(&entry.below) {
                continue;
            }
            match directories.is_there(job, &mut parents, listing, entry) {
                Ok(true) if job.is_our_directory(&entry.below) => {
                    open_up(job, &entry.below);
                    directories.ours.push(index);
                }
                Ok(true) => {}
                // Its subdirectories are not there either: they are asked for when it is, below.
                Ok(false) => wanted.push(index),
                Err(why) => {
                    directories.closed.insert(entry.below.clone());
                    job.fault(&entry.below, why);
                }
            }
        }
        let entries = || wanted.iter().filter_map(|index| Some((*index, listing.entries.get(*index)?)));
        let lines: String = entries().map(|(_, entry)| manifest::directory(&entry.below)).collect();
        if !lines.is_empty()
            && let Err(error) = job.note(&lines)
        {
            job.fault(&[], Why::io("note its directories", &error));
            return directories;
        }
        for (index, entry) in entries() {
            if directories.is_closed(&entry.below) {
                continue;
            }
            let making = cannot("make the directory");
            let made = parents.get(&entry.below).map_err(&making).and_then(|(parent, name)| {
                job.may_make_in(parent, &entry.below)?;
                make_directory(parent, name).map_err(&making)
            });
            match made {
                Ok(()) => {
                    directories.made += 1;
                    directories.ours.push(index);
                }
                Err(why) => {
                    directories.closed.insert(entry.below.clone());
                    job.fault(&entry.below, why);
                }
            }
        }
        directories
    }

    /// Whether nothing can be put at this path: a directory above could not be made.
    pub(super) fn is_closed(&self, below: &[u8]) -> bool {
        let mut at = below;
        while let Some((parent, _)) = split(at) {
            if self.closed.contains(parent) {
                return true;
            }
            at = parent;
        }
        false
    }

    /// Whether a directory is there to copy into.
    fn is_there(
        &self,
        job: &Job<'_>,
        parents: &mut Parents<'_>,
        listing: &Listing,
        entry: &Entry,
    ) -> Result<bool, Why> {
        let found = match parents.get(&entry.below) {
            Ok((parent, name)) => look(parent, name).map_err(cannot("look for it"))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(Why::io("look for it", &error)),
        };
        match found {
            None => Ok(false),
            Some(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::Directory => {
                Err(Why::NotADirectory)
            }
            Some(_) => {
                let opened = job.target.directory(&entry.below).map_err(cannot("look for it"))?;
                let stat = fstat(opened).map_err(cannot("look for it"))?;
                if listing.directories.contains(&identity(&stat)) {
                    return Err(Why::Loop);
                }
                Ok(true)
            }
        }
    }

    /// Gives the directories that are ours their attributes, those below first: what is put into a directory changes
    /// its time. Then makes all names durable.
    pub(super) fn finish(&self, job: &Job<'_>, listing: &Listing) {
        let top = job.target.directory(&[]).ok();
        for entry in self.ours.iter().rev().filter_map(|index| listing.entries.get(*index)) {
            let done = job.source.directory(&entry.below).and_then(|source| {
                let target = job.target.directory(&entry.below)?;
                destination::apply(&source, &entry.stat, &target, &job.lost)
            });
            if let Err(error) = done {
                job.fault(&entry.below, Why::io("set its attributes", &error));
            }
        }
        // The manifest lies beside the copy, whose top may be another file system.
        for file in top.iter().chain([job.manifest]) {
            if let Err(errno) = syncfs(file) {
                job.fault(&[], Why::io("sync it", &errno.into()));
            }
        }
    }

    /// How many directories were made.
    pub(super) fn made(&self) -> u64 {
        self.made
    }
}

/// Makes a directory of an earlier run writable again: it may have got the attributes of its source already.
fn open_up(job: &Job<'_>, below: &[u8]) {
    if let Ok(directory) = job.target.directory(below) {
        // If that fails, so does what is put into it, with the reason.
        let _ = fchmod(directory, Mode::RWXU);
    }
}

/// Makes symbolic links.
pub(super) fn symlinks<'e>(job: &Job<'_>, entries: impl Iterator<Item = &'e Entry>) -> u64 {
    let (mut sources, mut targets) = (Parents::of(job.source), Parents::of(job.target));
    let mut made = 0;
    for entry in entries.take_while(|_| !job.is_over()) {
        match symlink(job, entry, &mut sources, &mut targets) {
            Ok(true) => made += 1,
            Ok(false) => job.count_earlier(),
            Err(why) => job.fault(&entry.below, why),
        }
    }
    made
}

/// Makes a link; false if an earlier run made it.
fn symlink(
    job: &Job<'_>,
    entry: &Entry,
    sources: &mut Parents<'_>,
    targets: &mut Parents<'_>,
) -> Result<bool, Why> {
    let (from, name) = sources.get(&entry.below).map_err(cannot("read the link"))?;
    let leads_to = readlinkat(from, name, Vec::new()).map_err(cannot("read the link"))?;
    let (to, name) = targets.get(&entry.below).map_err(cannot("make the link"))?;
    if job.options.resume && readlinkat(to, name, Vec::new()).is_ok_and(|there| there == leads_to) {
        return Ok(false);
    }
    job.may_make_in(to, &entry.below)?;
    let names = (job.part(), name);
    make_symlink(leads_to.as_bytes(), &entry.stat, to, names, &job.lost).map_err(cannot("make the link"))?;
    Ok(true)
}

/// Gives files their further names.
pub(super) fn hard_links(job: &Job<'_>, listing: &Listing, directories: &Directories) -> u64 {
    let (mut firsts, mut targets) = (Parents::of(job.target), Parents::of(job.target));
    let mut made = 0;
    for entry in &listing.entries {
        let EntryKind::HardLink(first) = entry.kind else { continue };
        let Some(first) = listing.entries.get(first) else { continue };
        if directories.is_closed(&entry.below) || job.is_over() {
            continue;
        }
        match hard_link(job, (&first.below, &entry.below), &mut firsts, &mut targets) {
            Ok(true) => made += 1,
            Ok(false) => job.count_earlier(),
            Err(why) => job.fault(&entry.below, why),
        }
    }
    made
}

fn hard_link(
    job: &Job<'_>,
    (first, below): (&[u8], &[u8]),
    firsts: &mut Parents<'_>,
    targets: &mut Parents<'_>,
) -> Result<bool, Why> {
    let linking = cannot("link it");
    let from = firsts.get(first).map_err(&linking)?;
    let to = targets.get(below).map_err(&linking)?;
    // What stands there was not copied by us if the first name was at fault.
    let file =
        look(from.0, from.1).map_err(&linking)?.filter(|_| !job.has_fault(first)).ok_or(Why::OtherName)?;
    let there = look(to.0, to.1).map_err(&linking)?;
    if job.options.resume && there.is_some_and(|there| identity(&there) == identity(&file)) {
        return Ok(false);
    }
    job.may_make_in(to.0, below)?;
    make_hard_link(from, to).map(|()| true).map_err(linking)
}

/// Removes the parts that earlier runs left, but the `useful` ones.
pub(super) fn sweep(job: &Job<'_>, listing: &Listing, useful: &HashSet<PartName>) {
    let is_useless = |part: &PartName| job.known.runs.contains(&part.run) && !useful.contains(part);
    let directories = listing.entries.iter().filter(|entry| entry.kind == EntryKind::Directory);
    let opened = directories.filter_map(|entry| job.target.directory(&entry.below).ok());
    // A part lies beside what it becomes; the top of a tree of one file or link is in the base.
    let base = listing.entries.first().filter(|top| top.kind != EntryKind::Directory);
    for directory in opened.chain(base.and_then(|_| job.target.base().try_clone().ok())) {
        let names = names(&directory).unwrap_or_default();
        for part in names.iter().filter_map(|name| PartName::parse(name)).filter(is_useless) {
            // One that stays is looked at again by the next run.
            let _ = remove_part(&directory, part);
        }
    }
}
