//! Takes the steps of a cell: each is announced durably, then its tools are run; and clears the slices of a lab again.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use super::journal::{Head, Line, NamedDevice};
use super::journal_file::JournalFile;
use super::names::{Names, node};
use super::recipe::Means;
use super::scratch;
use super::sight;
use super::slice::{Counters, Doubt, Extent, Since, SliceRecord, doubt};
use super::slices::{Held, SlicePlace, Slices, Watch, check_behind, sentence};
use super::step::{On, Step, forget_partitions, map_slice};
use super::tool::{Key, Tools};
use super::undo::{Scope, UndoError, Undoer};
use crate::Failure;
use crate::guard::{check_unused, usage};
use narrows_base::units::Bytes;
use narrows_load::LoadError;
use narrows_load::guard::{
    self, Device, Mark, Medium, Ours, Restored, Unmade, Usage, Use, UseKind, WritableDevice, WriteError,
};
use narrows_machine::root::Root;
use narrows_machine::usage::size;

/// How long a device may take to come after the tool that made it has ended.
const PATIENCE: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(50);

/// Somebody else wrote to a device.
fn others((disk, why): (String, Doubt)) -> Failure {
    Failure::new(format!("{}; nothing more is done, and nothing is cleared", sentence(&disk, &why)))
}

/// A tool succeeded, and what it was to make is not there.
fn absent(what: impl std::fmt::Display) -> Failure {
    Failure::new(format!("{what} was made and did not come"))
}

/// The kernel makes no partitions on a disk, and no mapping of it either.
fn no_slice(disk: &str, below: Failure) -> Failure {
    let failure = Failure::new(format!(
        "the kernel makes no partitions on {disk}, and a linear mapping of it, in place of one, was not \
         made: {below}"
    ));
    if below.hints.is_empty() {
        failure.hint("load the device mapper (`modprobe dm_mod`), or name a disk that takes partitions")
    } else {
        failure.hints(below.hints)
    }
}

/// Where a lab builds.
#[derive(Debug)]
pub struct Workshop<'a> {
    /// Where facts are read.
    pub root: &'a Root,
    /// What stands in the journal's first line, with the devices as they are known.
    pub head: Head,
    /// The names of all that may be built.
    pub names: Names,
    pub journal: JournalFile,
    pub tools: Tools,
    /// The key of everything that is encrypted.
    pub key: Key,
    /// The slices in which it builds.
    slices: Slices,
    /// Sees what others write to the devices meanwhile.
    pub watch: Option<Watch>,
    steps: Vec<Step>,
}

impl<'a> Workshop<'a> {
    /// A workshop over the devices of `head`.
    pub fn new(root: &'a Root, head: Head, journal: JournalFile, key: Key) -> Self {
        let names = head.names(head.devices.iter().map(|device| device.name.clone()).collect());
        let tools = Tools::new(root);
        let (slices, steps) = (Slices::default(), Vec::new());
        Self { root, head, names, journal, tools, key, slices, watch: None, steps }
    }

    /// What there is to make cells of.
    pub fn means(&mut self) -> Means {
        let sizes: Vec<u64> = self.slices.records().iter().map(|record| record.extent.bytes).collect();
        self.tools.means(self.root, &sizes)
    }

    /// Writes down what is about to be done, or what came of it.
    ///
    /// # Errors
    /// The journal does not hold it, so it must not be done.
    pub fn record(&mut self, line: &Line) -> Result<(), Failure> {
        // What the error advises is for whoever names a journal.
        self.journal.append(line).map_err(|error| Failure::new(error.to_string()))
    }

    /// Announces a step and takes it.
    ///
    /// # Errors
    /// It was not announced, or a tool failed. It may have been taken in part; undoing takes that away, too.
    pub fn take(&mut self, step: Step) -> Result<(), Failure> {
        self.record(&Line::Step(step))?;
        self.steps.push(step);
        if scratch::make(step, &self.names)? {
            return Ok(());
        }
        if let Some(only) = step.touches() {
            self.slices.hand_over(self.root, only).map_err(others)?;
        }
        for call in step.build(&self.names) {
            self.tools.run(self.root, &call, &self.key)?;
        }
        match step {
            Step::Array { .. } => self.wait_for(On::Array),
            Step::Volume { .. } => self.wait_for(On::Volume),
            Step::Zero { .. } => self.wait_for(On::Zero),
            Step::Zvol { .. } => self.wait_for_zvol(),
            Step::Mapping { .. } | Step::TrueCryptMapping { .. } => self.wait_for(On::Mapping),
            _ => Ok(()),
        }
    }

    /// ZFS chooses the name of a volume, and makes its device a moment later.
    fn wait_for_zvol(&mut self) -> Result<(), Failure> {
        let begin = Instant::now();
        while self.names.zvol.is_none() {
            self.names.zvol = sight::kernel_name(self.root, On::Zvol, &self.names);
            if begin.elapsed() > PATIENCE {
                return Err(absent(self.names.zvol()));
            }
            thread::sleep(TICK);
        }
        self.wait_for(On::Zvol)
    }

    /// The tool has made it; the kernel and udev may take a moment.
    fn wait_for(&self, on: On) -> Result<(), Failure> {
        let begin = Instant::now();
        loop {
            let name = sight::kernel_name(self.root, on, &self.names);
            let is_there = name.is_some_and(|name| {
                size(self.root, &name).get().is_some_and(|size| size.get() > 0)
                    && self.root.kind(&node(&name)).is_some()
            });
            if is_there && self.root.kind(&on.node(&self.names)).is_some() {
                return Ok(());
            }
            if begin.elapsed() > PATIENCE {
                return Err(absent(on.node(&self.names)));
            }
            thread::sleep(TICK);
        }
    }

    /// Makes scratch files and loop devices over them, which become the devices.
    ///
    /// # Errors
    /// Something is not made.
    pub fn make_ground(&mut self, count: usize, bytes: u64) -> Result<(), Failure> {
        self.take(Step::Directory)?;
        let mut devices: Vec<NamedDevice> = Vec::new();
        for index in 0..count {
            self.take(Step::File { index, bytes })?;
            self.take(Step::Loop { index })?;
            let file = self.names.scratch_file(index).unwrap_or_default().display().to_string();
            let absent = || absent(format!("a loop device over `{file}`"));
            let name = sight::loop_over(self.root, &file).ok_or_else(absent)?;
            // A loop device keeps the partitions that only the kernel knows when it is detached, for the next file.
            if sight::has_partitions(self.root, &name) {
                self.tools.run(self.root, &forget_partitions(&node(&name)), &self.key)?;
            }
            devices.push(sight::named(self.root, &name).ok_or_else(absent)?);
        }
        self.record(&Line::Devices(devices.clone()))?;
        self.head.devices = devices;
        self.names = self.head.names(self.head.devices.iter().map(|device| device.name.clone()).collect());
        Ok(())
    }

    /// Makes the slice of the device with this index, on which everything in `extent` is proven to be zero, through a handle that
    /// is ours alone. `before` is what had been written to it when that proof began.
    ///
    /// # Errors
    /// The kernel makes neither a partition nor a mapping of it, or somebody wrote to it since.
    pub fn make_slice(
        &mut self,
        index: usize,
        proven: WritableDevice,
        extent: Extent,
        before: Counters,
    ) -> Result<(), Failure> {
        let device = self.head.devices.get(index).ok_or_else(|| absent(format!("device {index}")))?;
        let (disk, bytes) = (device.name.clone(), device.bytes);
        let keeper = proven.keeper();
        self.take(Step::Slice { index, extent })?;
        let (place, slice) = self.hold_slice(index, proven, extent, (&disk, bytes))?;
        let absent = || absent(format!("the lab's part of {disk}"));
        let made = sight::moment(self.root, &place).ok_or_else(absent)?;
        let held = Held::new(place, SliceRecord { index, extent, made }, slice, keeper)?;
        self.slices.held.push(held);
        let doubt = if made.disk.counters == before { None } else { made.disk.counters.since(before) };
        if !made.counts {
            return Err(others((disk, Doubt::Uncounted)));
        }
        doubt.map_or(Ok(()), |since| Err(others((disk, Doubt::Written(since.bytes())))))
    }

    /// A partition of the disk; or a linear mapping, where the kernel makes none.
    fn hold_slice(
        &mut self,
        index: usize,
        proven: WritableDevice,
        extent: Extent,
        (disk, bytes): (&str, u64),
    ) -> Result<(SlicePlace, guard::Slice), Failure> {
        let place = SlicePlace::partitions(disk);
        let proven = match guard::Slice::make(proven, place.plan(extent, bytes, self.names.key())) {
            Ok(slice) => return Ok((place, slice)),
            Err(Unmade::Failed(error)) => return Err(error.into()),
            Err(Unmade::NoPartitions(proven)) => proven,
        };
        // The device mapper claims the disk as we do. Who writes to it in between is seen in its counters.
        drop(proven);
        let number = self.head.devices.get(index).map_or((0, 0), |device| device.number);
        let call = map_slice(index, number, extent, &self.names);
        self.tools.run(self.root, &call, &self.key).map_err(|below| no_slice(disk, below))?;
        let absent = || absent(self.names.slice_mapping(index));
        let block = sight::slice_mapping(self.root, &self.names, index).ok_or_else(absent)?;
        let place = SlicePlace::mapping(disk, block);
        if place.extent(self.root) != Some(extent) {
            return Err(absent());
        }
        let slice = guard::Slice::hold(place.plan(extent, bytes, self.names.key()))?;
        self.names = sight::on_slices(self.root, self.names.clone());
        Ok((place, slice))
    }

    /// Writes down the slices, all of which were made, before their first byte is, and begins to see what others write. `stop` is
    /// raised then.
    ///
    /// # Errors
    /// The journal does not hold it, or there is no room for more handles.
    pub fn begin_watch(&mut self, stop: Arc<AtomicBool>) -> Result<(), Failure> {
        self.record(&Line::Slices(self.slices.records()))?;
        let failed = |error| Failure::new(format!("cannot watch the devices: {error}"));
        self.watch = Some(self.slices.watch(stop).map_err(failed)?);
        Ok(())
    }

    /// What others were seen to do, as a sentence.
    pub fn alarm(&self) -> Option<String> {
        self.watch.as_ref().and_then(Watch::alarm)
    }

    /// Opens the slice of a device to be loaded: nothing but zeros, and ours alone.
    ///
    /// # Errors
    /// Somebody else wrote to it, or has it.
    pub fn open_slice(&mut self, index: usize) -> Result<WritableDevice, Failure> {
        self.take(Step::Load { index })?;
        self.slices.open(self.root, index)?.map_err(others)
    }

    /// Waits until the array is in step. `false`: it still is not, as `follow` broke the waiting off or `wait` is false.
    pub fn settle(&self, wait: bool, follow: &mut dyn FnMut(&str, Option<f64>) -> ControlFlow<()>) -> bool {
        while let Some((action, done)) = sight::resync(self.root, &self.names.array) {
            if !wait || follow(&action, done).is_break() {
                return false;
            }
            thread::sleep(4 * TICK);
        }
        true
    }

    /// Opens what was built for writing.
    ///
    /// # Errors
    /// It is not there, or stands on something that was not named.
    pub fn open(&self, on: On) -> Result<WritableDevice, Failure> {
        self.open_when_free(on, |device, usage| {
            let on = (&self.names.devices[..], &self.names.disks[..]);
            guard::open_built(device, usage, on, self.names.key())
        })
    }

    /// Opens for writing what stands on the lab's own zero target, or that itself: nothing that is written there is kept.
    ///
    /// # Errors
    /// It is not there, or stands on something else.
    pub fn open_over_zero(&self, on: On) -> Result<WritableDevice, Failure> {
        let absent = || absent(On::Zero.node(&self.names));
        let zero = sight::kernel_name(self.root, On::Zero, &self.names).ok_or_else(absent)?;
        let targets = sight::targets(self.root, &zero);
        let below = usage::of(self.root, &zero);
        let ground = guard::ZeroTarget { usage: &below, targets: &targets };
        self.open_when_free(on, |device, usage| guard::open_over_zero(device, usage, &ground))
    }

    fn open_when_free(
        &self,
        on: On,
        open: impl Fn(&Device, &Usage) -> Result<WritableDevice, WriteError>,
    ) -> Result<WritableDevice, Failure> {
        let absent = || absent(on.node(&self.names));
        let name = sight::kernel_name(self.root, on, &self.names).ok_or_else(absent)?;
        let begin = Instant::now();
        loop {
            let device = Device::open(node(&name).as_ref())?;
            let mut usage = usage::of(self.root, &name);
            usage.uses.extend(self.below_zvol());
            match open(&device, &usage) {
                // udev looks at what is new.
                Err(_) if begin.elapsed() < PATIENCE => thread::sleep(2 * TICK),
                opened => return opened.map_err(|error| Failure::new(error.to_string())),
            }
        }
    }

    /// That our ZFS volume stands on the named devices, of which it was made: the kernel does not show what a pool is on.
    fn below_zvol(&self) -> Vec<Use> {
        let Some(zvol) = sight::kernel_name(self.root, On::Zvol, &self.names) else { return Vec::new() };
        let below =
            |device: &String| Use { device: zvol.clone(), kind: UseKind::Component, by: device.clone() };
        self.names.devices.iter().map(below).collect()
    }

    /// Undoes all steps since the devices were clean, and writes down that they are.
    ///
    /// # Errors
    /// [`UndoError`], or the journal cannot be written.
    pub fn undo(&mut self) -> Result<(), UndoError> {
        if self.steps.iter().all(Step::is_ground) {
            return Ok(());
        }
        let records = self.slices.records();
        let scope = Scope::of_running(&self.head, &self.steps, &records);
        let undone = Undoer::new(self.root, scope, &mut self.tools, &mut self.slices)?.devices();
        if let Err(UndoError::Others(_, Doubt::Behind(_))) = &undone {
            // No counter has that, and nobody sees it later.
            self.journal.append(&Line::Behind)?;
        }
        undone?;
        self.journal.append(&Line::Clean)?;
        self.steps.retain(Step::is_ground);
        self.names.zvol = None;
        Ok(())
    }

    /// Undoes the ground, too.
    ///
    /// # Errors
    /// [`UndoError`], or the journal cannot be written.
    pub fn leave(&mut self) -> Result<(), UndoError> {
        self.undo()?;
        if !self.steps.is_empty() {
            self.watch = None;
            let steps = std::mem::take(&mut self.steps);
            let scope = Scope::of_running(&self.head, &steps, &[]);
            Undoer::new(self.root, scope, &mut self.tools, &mut self.slices)?.ground()?;
            self.journal.append(&Line::Gone)?;
        }
        Ok(())
    }
}

/// How long slice and device may take until they count the same: what was in flight when a tool ended is counted by one
/// before the other.
const SETTLED: Duration = Duration::from_secs(5);
/// How often they are compared.
const BETWEEN: Duration = Duration::from_millis(10);

impl Undoer<'_> {
    /// While the lab runs nothing is cleared on any device when somebody else wrote to one.
    pub(super) fn refuse_others(&mut self) -> Result<(), UndoError> {
        for record in self.scope.records {
            let Some(held) = self.slices.of(record.index) else { continue };
            let disk = held.place.disk.clone();
            held.slice.sync().map_err(|error| LoadError::io("sync", node(&disk).as_ref(), error))?;
            let (place, keeper) = (held.place.clone(), held.keeper.clone());
            let behind = check_behind(keeper.as_ref());
            if let Err(why) = behind.and_then(|()| self.settled(record, &place)) {
                return Err(UndoError::Others(disk, why));
            }
        }
        Ok(())
    }

    /// Makes sure, right before a slice is cleared, that nobody but the lab uses its disk, by the list of the write guard; and once
    /// the lab is over, that nothing of a known format stands on it that the lab did not make.
    fn check_clearable(
        &self,
        place: &SlicePlace,
        claim: &WritableDevice,
        mark: &Mark,
    ) -> Result<(), UndoError> {
        let is_part = |name: &str| {
            let name = name.split(' ').next().unwrap_or_default();
            [Some(&place.disk), Some(&place.slice), place.rest.as_ref()].contains(&Some(&name.to_owned()))
        };
        let is_known = |used: &Use| {
            use UseKind::{Component, Holder, PartitionOf, Partitioned};
            let is_build = matches!(used.kind, Component | Holder | PartitionOf | Partitioned);
            is_build && is_part(&used.device) && is_part(&used.by)
        };
        check_unused(self.root, &place.disk, &is_known).map_err(WriteError::from)?;
        if self.scope.is_later {
            let disk = Device::open_afresh(node(&place.disk).as_ref())?;
            guard::foreign(&place.disk, &disk, mark).map_err(WriteError::from)?;
            guard::foreign(&place.slice, claim, mark).map_err(WriteError::from)?;
        }
        Ok(())
    }

    /// Whether all in a slice is the lab's, once slice and device have counted the same.
    pub(super) fn settled(&self, record: &SliceRecord, place: &SlicePlace) -> Result<Since, Doubt> {
        let begin = Instant::now();
        loop {
            let now = sight::moment(self.root, place);
            match doubt(record, now.as_ref(), self.is_same_boot, self.scope.is_damaged) {
                Err(Doubt::Hidden(_)) if begin.elapsed() < SETTLED => thread::sleep(BETWEEN),
                judged => return judged,
            }
        }
    }

    /// Clears a slice that is held.
    pub(super) fn clear_held(&mut self, record: &SliceRecord, mark: &Mark) -> Result<Restored, UndoError> {
        let (root, scope) = (self.root, self.scope);
        let Some(held) = self.slices.of(record.index) else { return Ok(Restored::default()) };
        let place = held.place.clone();
        let claim = held.claim()?;
        let synced = held.slice.sync();
        synced.map_err(|error| LoadError::io("write what is still kept of", claim.path(), error))?;
        let judged = self.settled(record, &place);
        let Some(held) = self.slices.of(record.index) else { return Ok(Restored::default()) };
        let (ours, why) = match judged {
            Ok(since) if since.ours.written > 0 => {
                (Ours::All { discard: scope.head.scratch.is_none() }, None)
            }
            Ok(_) => (Ours::Marked, Some(Doubt::Unexplained)),
            Err(why) if scope.is_later => (Ours::Marked, Some(why)),
            Err(why) => return Err(UndoError::Others(held.place.disk.clone(), why)),
        };
        self.check_clearable(&place, &claim, mark)?;
        let Some(held) = self.slices.of(record.index) else { return Ok(Restored::default()) };
        let restored = guard::restore(&claim, (0, record.extent.bytes), mark, ours)?;
        match (restored.left, why) {
            (Some(left), Some(why)) => {
                let (disk, start) = (held.place.disk.clone(), record.extent.start);
                self.left.push(format!("{}: {}", sentence(&disk, &why), left.on(Bytes::new(start))));
            }
            (None, Some(why @ Doubt::Written(_))) => {
                let nothing =
                    "nothing of that stands in the lab's slice, and the rest of the device was not touched";
                self.left.push(format!("{}: {nothing}", sentence(&held.place.disk, &why)));
            }
            _ => held.rest(root, claim),
        }
        Ok(restored)
    }

    /// Clears what bears the mark where a slice was that is gone. The device is opened for writing only if there is any.
    pub(super) fn clear_gone(
        &mut self,
        device: &NamedDevice,
        name: &str,
        extent: Extent,
        mark: &Mark,
    ) -> Result<Restored, UndoError> {
        let path = node(name);
        let opened = Device::open_afresh(path.as_ref())?;
        let size = Bytes::new(device.bytes);
        if opened.size() != size {
            let what = format!("{name} has another size than the device of the journal");
            return Err(UndoError::Left(vec![what]));
        }
        let part = (extent.start, extent.end());
        let failed = |error| LoadError::io("read", path.as_ref(), error);
        let mut found = guard::survey(&opened, part, mark).map_err(failed)?;
        if found.cleared.get() > 0 {
            guard::foreign(name, &opened, mark).map_err(WriteError::from)?;
            let usage = usage::of(self.root, name);
            let writable = guard::open_to_clear(&opened, &usage, &device.identity, size)?;
            found = guard::restore(&writable, part, mark, Ours::Marked)?;
        }
        if let Some(left) = found.left {
            let why = if self.is_same_boot { Doubt::Gone } else { Doubt::OtherBoot };
            self.left.push(format!("{}: {}", sentence(name, &why), left.on(Bytes::new(0))));
        }
        Ok(found)
    }
}
