//! The second half of a worker's job: parts become durable, are verified, and get their names.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Advice, fadvise, fstat, syncfs};

use super::destination::{PartName, publish, read_part, remove_part};
use super::fault::Why;
use super::holes::data_between;
use super::manifest;
use super::pipeline::{End, Pipeline, Progress};
use super::scan::{Entry, identity, size};
use super::spent::Doing;
use super::worker::{Ready, Worker};

/// From so many parts on, one sync of the file system is cheaper than one of each file.
const SYNC_TOGETHER: usize = 8;
/// The stop flag of what is brought to its end.
static NEVER: AtomicBool = AtomicBool::new(false);

impl<'a> Worker<'a, '_> {
    /// Makes all parts durable, verifies them and gives them their names.
    pub(super) fn settle(&mut self) {
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
                publish(directory, file.record.part, name).map_err(|error| Why::io("name it", &error))
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
            let synced = self.target(entry).and_then(|(directory, _)| {
                syncfs(directory).map_err(|errno| Why::io("sync it", &errno.into()))
            });
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
        let (file, _) = read_part(directory, part).map_err(|error| Why::io("sync it", &error))?;
        file.sync_all().map_err(|error| Why::io("sync it", &error))
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
        let (part, direct) =
            read_part(directory, file.record.part).map_err(|error| Why::io("read it back", &error))?;
        if !direct {
            // A hint, which the kernel may ignore: the result says so.
            let _ = fadvise(&part, 0, None, Advice::DontNeed);
        }
        let found = fstat(&part).map_err(|errno| Why::io("look at it", &errno.into()))?;
        if identity(&found) != (file.device, file.record.inode) || size(&found) != file.record.size {
            return Err(Why::Changed);
        }
        self.meter.lap(Doing::Metadata);
        let holes = data_between(&file.blocks, &part, file.record.size, self.block_size)
            .map_err(|error| Why::io("look for its holes", &error))?;
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
