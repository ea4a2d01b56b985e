//! The slices of a lab, held from the look at the devices to the end: where they are, and who else writes to their devices.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::journal::Head;
use super::names::{Names, node, partition};
use super::sight;
use super::slice::{Doubt, Extent, Moment, PARTITION, REST, SliceRecord, bytes, doubt, since};
use narrows_load::LoadError;
use narrows_load::effort::looking_on;
use narrows_load::guard::{
    DeviceKey, Flusher, Keeper, PlannedRest, Slice, SlicePlan, WritableDevice, is_shut, reopen_slice,
};
use narrows_machine::block::{DmKind, DmTarget, dm_targets};
use narrows_machine::root::Root;
use narrows_machine::usage::number;

/// One slice that is held.
#[derive(Debug)]
pub(super) struct Held {
    /// Where it is.
    pub(super) place: SlicePlace,
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
    pub(super) held: Vec<Held>,
}

impl Held {
    /// A slice that was made a moment ago, and is nothing but zeros.
    pub(super) fn new(
        place: SlicePlace,
        record: SliceRecord,
        slice: Slice,
        keeper: Option<Arc<dyn Keeper>>,
    ) -> Result<Self, LoadError> {
        let claim = Some(slice.writable()?);
        Ok(Self { place, record, slice, claim, keeper, idle: Some(record.made) })
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
        if sectors > 0 { Err(Doubt::Written(bytes(sectors))) } else { Ok(()) }
    }
}

impl Slices {
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
            let place = SlicePlace::find(root, &disk, &ours, record.index);
            let is_it = sight::moment(root, &place).is_some_and(|now| record.made.is_of(&now));
            let plan = place.plan(record.extent, head.devices.get(record.index)?.bytes, ours.key());
            let is_ours = is_same_boot && is_it;
            // An undo that was killed while it had it shut.
            let is_shut = |now: Extent| now.start == record.extent.start && is_shut(now.bytes);
            if is_ours && place.extent(root).is_some_and(is_shut) {
                reopen_slice(&plan).ok()?;
            }
            let is_there = is_ours && place.extent(root) == Some(record.extent);
            let slice = is_there.then(|| Slice::hold(plan).ok()).flatten()?;
            Some(Held { place, record: *record, slice, claim: None, keeper: None, idle: None })
        };
        Self { held: records.iter().filter_map(hold).collect() }
    }
}

// Where the slice of a disk is: a partition of it or, where the kernel makes none (zram and other disks that take none), a
// linear mapping of its part. Looked up in `/sys`, never remembered.

/// The kernel names of a disk and of what stands for its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlicePlace {
    pub disk: String,
    pub slice: String,
    /// The partition of the rest. A mapping leaves none: it has the whole disk claimed.
    pub rest: Option<String>,
}

impl SlicePlace {
    /// A slice that is a partition, with another of the rest.
    pub fn partitions(disk: &str) -> Self {
        let rest = Some(partition(disk, REST));
        Self { disk: disk.to_owned(), slice: partition(disk, PARTITION), rest }
    }

    /// A slice that is the mapping with this kernel name.
    pub fn mapping(disk: &str, block: String) -> Self {
        Self { disk: disk.to_owned(), slice: block, rest: None }
    }

    /// Where the slice with this index of a lab is on a disk now, or else would be.
    pub fn find(root: &Root, disk: &str, names: &Names, index: usize) -> Self {
        match sight::slice_mapping(root, names, index) {
            Some(block) => Self::mapping(disk, block),
            None => Self::partitions(disk),
        }
    }

    /// Which part of the disk it is; `None` where it is not there, or is anything else.
    pub fn extent(&self, root: &Root) -> Option<Extent> {
        if self.rest.is_some() {
            return sight::partition_extent(root, &self.disk, PARTITION);
        }
        let disk = number(root, &self.disk).get()?;
        let targets = dm_targets(root, &self.slice).get()?;
        let [DmTarget { start, length, kind: DmKind::Linear { device, offset } }] = &targets[..] else {
            return None;
        };
        let is_it = *device == disk && start.get() == 0;
        is_it.then(|| Extent { start: offset.get(), bytes: length.get() })
    }

    /// The nodes of a disk of `device` bytes on which `extent` is the slice.
    pub(super) fn plan(&self, extent: Extent, device: u64, key: DeviceKey) -> SlicePlan {
        let path = |name: &str| PathBuf::from(node(name));
        let behind = extent.rest(device);
        let rest = |name: &String| PlannedRest {
            node: path(name),
            number: REST,
            extent: (behind.start, behind.bytes),
        };
        SlicePlan {
            disk: path(&self.disk),
            slice: path(&self.slice),
            number: PARTITION,
            extent: (extent.start, extent.bytes),
            rest: self.rest.as_ref().map(rest),
            key,
        }
    }
}

/// How often the counters are compared.
const TICK: Duration = Duration::from_millis(100);

/// What is watched: a disk and the slice on it.
#[derive(Debug)]
pub(super) struct Watched {
    /// Where they are.
    pub(super) place: SlicePlace,
    /// The slice, as it was made.
    pub(super) record: SliceRecord,
    /// What makes that writes are counted soon.
    flusher: Flusher,
    /// Who watches what is behind the disk.
    pub(super) keeper: Option<Arc<dyn Keeper>>,
}

/// What was seen behind a disk: that it changed, or that others wrote to it.
pub(super) fn check_behind(keeper: Option<&Arc<dyn Keeper>>) -> Result<(), Doubt> {
    let Some(keeper) = keeper else { return Ok(()) };
    keeper.check_behind().and_then(|()| keeper.check_writers()).map_err(Doubt::Behind)
}

/// Watches until it is dropped.
#[derive(Debug)]
pub struct Watch {
    alarm: Arc<Mutex<Option<String>>>,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Begins to watch. `stop` is raised when somebody else wrote.
    pub(super) fn start(watched: Vec<Watched>, stop: Arc<AtomicBool>) -> Self {
        let (alarm, end) = (Arc::new(Mutex::new(None)), Arc::new(AtomicBool::new(false)));
        let (told, until) = (alarm.clone(), end.clone());
        let look = move || {
            let root = Root::live();
            while !until.load(Ordering::Relaxed) {
                if let Some(what) = looking_on(|| watched.iter().find_map(|one| trouble(&root, one))) {
                    *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
                    stop.store(true, Ordering::Relaxed);
                    return;
                }
                thread::sleep(TICK);
            }
        };
        // Without a thread nobody watches; then what happened is seen when the slice is cleared, and nothing is.
        let thread = thread::Builder::new().name("watch".to_owned()).spawn(look).ok();
        Self { alarm, end, thread }
    }

    /// What was seen, as a sentence.
    pub fn alarm(&self) -> Option<String> {
        self.alarm.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// How often a mapping is asked: with I/Os in flight it may count a little later than the disk below. What others wrote stays.
const ASKED: usize = 4;

fn trouble(root: &Root, watched: &Watched) -> Option<String> {
    watched.flusher.flush();
    if let Err(why) = check_behind(watched.keeper.as_ref()) {
        return Some(sentence(&watched.place.disk, &why));
    }
    let ask = || {
        let now = sight::moment(root, &watched.place);
        // The disk is asked first: what ends in between has been counted for the slice alone. It is judged once nothing is in
        // flight, when the slice is cleared.
        let judged = doubt(&watched.record, now.as_ref(), true, false);
        judged.err().filter(|why| !matches!(why, Doubt::Hidden(_)))
    };
    let times = if watched.place.rest.is_some() { 1 } else { ASKED };
    let mut why = None;
    for _ in 0..times {
        why = Some(ask()?);
    }
    why.map(|why| sentence(&watched.place.disk, &why))
}

/// What is wrong with a device, as a sentence.
pub(super) fn sentence(disk: &str, why: &Doubt) -> String {
    format!("{disk}: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::names;
    use narrows_machine::tree::Tree;

    /// `zram0` with a mapping of 8 MiB of it, as the device mapper tells of it.
    fn mapped(name: &str, uuid: &str, table: &str) -> Root {
        let mut tree = Tree::new();
        tree.file("/sys/block/dm-4/dm/name", name).file("/sys/block/dm-4/dm/uuid", uuid);
        tree.file("/sys/class/block/dm-4/dev", "252:4").file("/sys/class/block/zram0/dev", "251:0");
        tree.file("/narrows/probe/dm-table/252:4", table);
        Root::from_tree(tree)
    }

    fn ours(table: &str) -> Root {
        mapped(&names().slice_mapping(1), &names().slice_uuid(1), table)
    }

    #[test]
    fn a_mapping_of_the_lab_is_its_slice() {
        let root = ours("0 16384 linear 251:0 2048\n");
        let place = SlicePlace::find(&root, "zram0", &names(), 1);
        assert_eq!(place, SlicePlace::mapping("zram0", "dm-4".to_owned()));
        assert_eq!(place.extent(&root), Some(Extent { start: 1 << 20, bytes: 8 << 20 }));
        assert_eq!(
            SlicePlace::find(&root, "sdb", &names(), 0),
            SlicePlace::partitions("sdb"),
            "of another device"
        );
    }

    #[test]
    fn a_mapping_of_another_part_or_disk_is_not_the_slice() {
        for table in [
            "0 16384 linear 251:1 2048\n",
            "0 16384 zero\n",
            "0 8192 linear 251:0 2048\n8192 8192 linear 251:0 20480\n",
        ] {
            let root = ours(table);
            assert_eq!(SlicePlace::find(&root, "zram0", &names(), 1).extent(&root), None, "{table}");
        }
    }

    #[test]
    fn a_mapping_that_only_has_the_name_is_somebody_elses() {
        let table = "0 16384 linear 251:0 2048\n";
        let root = mapped(&names().slice_mapping(1), "LVM-abc", table);
        assert_eq!(SlicePlace::find(&root, "zram0", &names(), 1), SlicePlace::partitions("zram0"));
        let other = mapped(&names().slice_mapping(1), &names().slice_uuid(0), table);
        assert_eq!(SlicePlace::find(&other, "zram0", &names(), 1), SlicePlace::partitions("zram0"));
    }
}
