//! The slices of a lab, held from the look at the devices to the end.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::journal::Head;
use super::place::Place;
use super::sight;
use super::slice::{Doubt, Moment, SliceRecord, since};
use super::watch::{Watch, Watched};
use narrows_load::LoadError;
use narrows_load::guard::{Keeper, Slice, WritableDevice, is_shut, reopen_slice};
use narrows_machine::root::Root;

/// One slice that is held.
#[derive(Debug)]
pub(super) struct Held {
    /// Where it is.
    pub(super) place: Place,
    /// What the journal has of it.
    pub(super) record: SliceRecord,
    /// The handles.
    pub(super) slice: Slice,
    /// The claim on it, while no tool has it.
    claim: Option<WritableDevice>,
    /// Who watches what is behind its disk, since before that was proven empty.
    pub(super) keeper: Option<Arc<dyn Keeper>>,
    /// As it was when it was last known to be nothing but zeros, until something is built on it.
    idle: Option<Moment>,
}

/// All slices of a lab, in the order of its devices.
#[derive(Debug, Default)]
pub(super) struct Slices {
    held: Vec<Held>,
}

impl Held {
    /// A slice that was made a moment ago, and is nothing but zeros.
    pub(super) fn new(
        place: Place,
        record: SliceRecord,
        slice: Slice,
        keeper: Option<Arc<dyn Keeper>>,
    ) -> Result<Self, LoadError> {
        let claim = Some(slice.writable()?);
        Ok(Self { place, record, slice, claim, keeper, idle: Some(record.made) })
    }

    /// A slice that an earlier lab left.
    pub(super) fn again(place: Place, record: SliceRecord, slice: Slice) -> Self {
        Self { place, record, slice, claim: None, keeper: None, idle: None }
    }

    /// Opens it for writing, exclusively; or gives the handle that there is.
    pub(super) fn claim(&mut self) -> Result<WritableDevice, LoadError> {
        match self.claim.take() {
            Some(claim) => Ok(claim),
            None => self.slice.writable(),
        }
    }

    /// It is nothing but zeros now, and ours alone through this handle.
    pub(super) fn rest(&mut self, root: &Root, claim: WritableDevice) {
        self.claim = Some(claim);
        self.idle = sight::moment(root, &self.place);
    }

    /// Whether it is as it was when it was last known to be nothing but zeros. From then on it is not expected to be.
    fn begin(&mut self, root: &Root) -> Result<(), Doubt> {
        let Some(idle) = self.idle.take() else { return Ok(()) };
        let now = sight::moment(root, &self.place).ok_or(Doubt::Gone)?;
        let since = since(&idle, &now)?;
        let sectors = since.others.max(since.ours.written + since.ours.discarded);
        if sectors > 0 {
            Err(Doubt::Written(narrows_base::units::Bytes::new(sectors.saturating_mul(512))))
        } else {
            Ok(())
        }
    }
}

impl Slices {
    /// Adds the slice of the next device.
    pub(super) fn push(&mut self, held: Held) {
        self.held.push(held);
    }

    /// What the journal has of them.
    pub(super) fn records(&self) -> Vec<SliceRecord> {
        self.held.iter().map(|held| held.record).collect()
    }

    /// The slice of the device with this index.
    pub(super) fn of(&mut self, index: usize) -> Option<&mut Held> {
        self.held.iter_mut().find(|held| held.record.index == index)
    }

    /// Takes out the slice of the device with this index.
    pub(super) fn take(&mut self, index: usize) -> Option<Held> {
        let at = self.held.iter().position(|held| held.record.index == index)?;
        Some(self.held.remove(at))
    }

    /// Lets tools have these slices; `None` stands for all. Each must be as it was when it was last known to be nothing but zeros,
    /// unless something was built on it since.
    ///
    /// # Errors
    /// The kernel name of a disk to which somebody else wrote, and what.
    pub(super) fn hand_over(&mut self, root: &Root, only: Option<usize>) -> Result<(), (String, Doubt)> {
        let touched = self.held.iter_mut().filter(|held| only.is_none_or(|index| held.record.index == index));
        for held in touched {
            held.claim = None;
            held.begin(root).map_err(|why| (held.place.disk.clone(), why))?;
        }
        Ok(())
    }

    /// Opens a slice to be loaded, under the same condition.
    ///
    /// # Errors
    /// The kernel refuses; the inner error is that somebody else wrote to it.
    pub(super) fn open(
        &mut self,
        root: &Root,
        index: usize,
    ) -> Result<Result<WritableDevice, (String, Doubt)>, LoadError> {
        let Some(held) = self.of(index) else {
            return Ok(Err((format!("device {index}"), Doubt::Gone)));
        };
        let claim = held.claim()?;
        Ok(held.begin(root).map(|()| claim).map_err(|why| (held.place.disk.clone(), why)))
    }

    /// Lets nothing be written through them any more, until [`reopen`](Self::reopen).
    pub(super) fn shut(&self) {
        for held in &self.held {
            // One that cannot be shut is as it was before: what its file system still writes is the lab's all the same.
            let _ = held.slice.shut();
        }
    }

    /// Lets them be written again.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(super) fn reopen(&self) -> Result<(), LoadError> {
        self.held.iter().try_for_each(|held| reopen_slice(held.slice.plan()))
    }

    /// Begins to watch all of them.
    ///
    /// # Errors
    /// There is no room for more handles.
    pub(super) fn watch(&self, stop: Arc<AtomicBool>) -> std::io::Result<Watch> {
        let watched = self.held.iter().map(|held| {
            let flusher = held.slice.flusher()?;
            let keeper = held.keeper.clone();
            Ok(Watched { place: held.place.clone(), record: held.record, flusher, keeper })
        });
        Ok(Watch::start(watched.collect::<std::io::Result<_>>()?, stop))
    }

    /// Holds the slices that an earlier lab left, as far as they are there: not others at their places.
    pub(super) fn again(
        root: &Root,
        names: &[Option<String>],
        records: &[SliceRecord],
        head: &Head,
        is_same_boot: bool,
    ) -> Self {
        let ours = head.names(Vec::new());
        let hold = |record: &SliceRecord| {
            let disk = names.get(record.index)?.clone()?;
            let place = Place::find(root, &disk, &ours, record.index);
            let is_it = sight::moment(root, &place).is_some_and(|now| record.made.is_of(&now));
            let plan = place.plan(record.extent, head.devices.get(record.index)?.bytes, ours.key());
            let is_ours = is_same_boot && is_it;
            // An undo that was killed while it had it shut.
            if is_ours
                && place
                    .extent(root)
                    .is_some_and(|(start, bytes)| start == record.extent.start && is_shut(bytes))
            {
                reopen_slice(&plan).ok()?;
            }
            let extent = Some((record.extent.start, record.extent.bytes));
            let is_there = is_ours && place.extent(root) == extent;
            let slice = is_there.then(|| Slice::hold(plan).ok()).flatten()?;
            Some(Held::again(place, *record, slice))
        };
        Self { held: records.iter().filter_map(hold).collect() }
    }
}
