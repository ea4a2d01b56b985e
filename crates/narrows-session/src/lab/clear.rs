//! Clears the slices of a lab, as far as what stands in them is the lab's.

use std::thread;
use std::time::{Duration, Instant};

use super::journal::NamedDevice;
use super::names::node;
use super::place::Place;
use super::sight;
use super::slice::{Doubt, Extent, Since, SliceRecord, doubt};
use super::undo::{UndoError, Undoer};
use super::watch::{check_behind, sentence};
use crate::guard::{check_unused, usage};
use narrows_base::units::Bytes;
use narrows_load::LoadError;
use narrows_load::guard::{
    self, Device, Mark, Medium, Ours, Restored, Use, UseKind, WritableDevice, WriteError,
};

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
            let place = held.place.clone();
            if let Err(why) = self.behind(record).and_then(|()| self.settled(record, &place, false)) {
                return Err(UndoError::Others(disk, why));
            }
        }
        Ok(())
    }

    fn behind(&mut self, record: &SliceRecord) -> Result<(), Doubt> {
        let keeper = self.slices.of(record.index).and_then(|held| held.keeper.clone());
        check_behind(keeper.as_ref())
    }

    /// Makes sure, right before a slice is cleared, that nobody but the lab uses its disk, by the list of the write guard; and once
    /// the lab is over, that nothing of a known format stands on it that the lab did not make.
    fn check_clearable(&self, place: &Place, claim: &WritableDevice, mark: &Mark) -> Result<(), UndoError> {
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
    pub(super) fn settled(
        &self,
        record: &SliceRecord,
        place: &Place,
        is_damaged: bool,
    ) -> Result<Since, Doubt> {
        let begin = Instant::now();
        loop {
            let now = sight::moment(self.root, place);
            match doubt(record, now.as_ref(), self.is_same_boot, is_damaged) {
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
        let judged = self.settled(record, &place, scope.is_damaged);
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
