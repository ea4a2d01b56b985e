//! What the threads of a copy share.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::fstat;

use super::CopyOptions;
use super::block::Block;
use super::destination::{Lost, PartName};
use super::fault::{Fault, Why, cannot};
use super::manifest::{self, Known, Record};
use super::result::LARGE;
use super::scan::{self, Place, split};
use crate::held::Trust;
use narrows_base::units::Bytes;

/// Watches a copy from another thread, and stops it.
#[derive(Debug, Default)]
pub struct CopyControl {
    stop: Arc<AtomicBool>,
    bytes: AtomicU64,
    total: AtomicU64,
    files: AtomicU64,
    done: AtomicBool,
}

impl CopyControl {
    /// A copy that ends when `stop` is raised: what was begun is brought to a state to go on from.
    pub fn with_stop(stop: Arc<AtomicBool>) -> Self {
        Self { stop, ..Self::default() }
    }

    /// The data that were written and, with verification, read back; and how much that will be in the end, which is
    /// zero until the source is listed.
    pub fn progress(&self) -> (Bytes, Bytes) {
        let load = |count: &AtomicU64| Bytes::new(count.load(Ordering::Relaxed));
        (load(&self.bytes), load(&self.total))
    }

    /// Files with their final name.
    pub fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }

    /// Whether the copy has ended.
    pub fn is_done(&self) -> bool {
        self.done.load(Ordering::Relaxed)
    }

    pub(super) fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn expect(&self, bytes: Bytes) {
        self.total.store(bytes.get(), Ordering::Relaxed);
    }

    pub(super) fn moved(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.done.store(true, Ordering::Relaxed);
    }
}

/// Counts of one size of files.
#[derive(Debug, Default)]
pub(super) struct Count {
    files: AtomicU64,
    bytes: AtomicU64,
}

impl Count {
    fn add(&self, bytes: u64) {
        self.files.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> (u64, Bytes) {
        (self.files.load(Ordering::Relaxed), Bytes::new(self.bytes.load(Ordering::Relaxed)))
    }
}

/// One copy.
#[derive(Debug)]
pub(super) struct Job<'a> {
    pub(super) source: &'a Place,
    pub(super) target: &'a Place,
    pub(super) options: &'a CopyOptions,
    pub(super) control: &'a CopyControl,
    /// Who copies.
    pub(super) trust: Trust,
    /// What earlier runs left.
    pub(super) known: &'a Known,
    pub(super) manifest: &'a File,
    /// The number of this run.
    pub(super) run: u64,
    pub(super) next_part: AtomicU64,
    /// Raised when the destination is full.
    pub(super) is_full: AtomicBool,
    pub(super) faults: Mutex<Vec<Fault>>,
    pub(super) lost: Lost,
    pub(super) small: Count,
    pub(super) large: Count,
    pub(super) earlier: AtomicU64,
    pub(super) kept: AtomicU64,
    pub(super) read_direct: AtomicU64,
    pub(super) read_advised: AtomicU64,
    pub(super) direct_reads: AtomicU64,
}

impl Job<'_> {
    /// Whether nothing more should be begun.
    pub(super) fn is_over(&self) -> bool {
        self.control.is_stopped() || self.is_full.load(Ordering::Relaxed)
    }

    /// Whether something is left for a later run.
    pub(super) fn leaves_work(&self) -> bool {
        let faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_over() || faults.iter().any(|fault| fault.why.may_pass())
    }

    /// A fault with something of the source.
    pub(super) fn fault(&self, below: &[u8], why: Why) {
        let path = match why {
            Why::Shared => self.target.shown(split(below).map_or(below, |(parent, _)| parent)),
            Why::Exists | Why::NotADirectory | Why::Loop | Why::NoSpace | Why::Mismatch { .. } => {
                self.target.shown(below)
            }
            Why::Changed | Why::OtherName | Why::Io { .. } => self.source.shown(below),
        };
        self.fault_at(path, why);
    }

    pub(super) fn fault_at(&self, path: PathBuf, why: Why) {
        if why == Why::NoSpace {
            self.is_full.store(true, Ordering::Relaxed);
        }
        let fault = Fault { path, why };
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        // A directory is named once, however much is to go into it.
        if fault.why != Why::Shared || !faults.contains(&fault) {
            faults.push(fault);
        }
    }

    /// Whether the file at this path was not copied.
    pub(super) fn has_fault(&self, below: &[u8]) -> bool {
        let (source, target) = (self.source.shown(below), self.target.shown(below));
        let faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults.iter().any(|fault| fault.path == source || fault.path == target)
    }

    /// A name for a new part.
    pub(super) fn part(&self) -> PartName {
        PartName { run: self.run, number: self.next_part.fetch_add(1, Ordering::Relaxed) }
    }

    /// Appends to the manifest. Lines of several threads do not mix: each call is one write to a file that is open for
    /// appending.
    ///
    /// # Errors
    /// The line is not on stable storage.
    pub(super) fn note(&self, lines: &str) -> io::Result<()> {
        manifest::append(self.manifest, lines)
    }

    /// Counts a file that has its name now.
    pub(super) fn count(&self, size: u64, blocks: &[Block]) {
        let data = blocks.iter().map(|block| u64::from(block.length)).sum();
        if size < LARGE.get() {
            self.small.add(data)
        } else {
            self.large.add(data)
        }
        self.control.files.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a file that an earlier run had completed.
    pub(super) fn count_earlier(&self) {
        self.earlier.fetch_add(1, Ordering::Relaxed);
        self.control.files.fetch_add(1, Ordering::Relaxed);
    }

    /// Refuses to make `below` in its directory where others can change that, unless an earlier run made it: it may have got
    /// its owner already.
    pub(super) fn may_make_in(&self, directory: &File, below: &[u8]) -> Result<(), Why> {
        if split(below).is_none_or(|(parent, _)| self.is_our_directory(parent)) {
            return Ok(());
        }
        let stat = fstat(directory).map_err(cannot("look at its directory"))?;
        self.trust.refuses(&stat).map_or(Ok(()), |_| Err(Why::Shared))
    }

    /// Whether this directory, which is there already, was made by an earlier run.
    pub(super) fn is_our_directory(&self, below: &[u8]) -> bool {
        self.known.directories.contains(below)
    }

    /// The parts of earlier runs that are worth keeping.
    pub(super) fn useful_parts(&self) -> HashSet<PartName> {
        self.known.done.values().chain(self.known.begun.values()).map(|record| record.part).collect()
    }
}

impl Record {
    /// Whether the source is still what it was when this was recorded.
    pub(super) fn is_of(&self, source: &rustix::fs::Stat) -> bool {
        self.size == scan::size(source) && self.modified == scan::modified(source)
    }
}
