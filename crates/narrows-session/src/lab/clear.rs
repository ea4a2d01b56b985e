//! Clears the slices of a lab, as far as what stands in them is the lab's.

use std::thread;
use std::time::{Duration, Instant};

use super::journal::NamedDevice;
use super::names::node;
use super::place::Place;
use super::sight;
use super::slice::{Doubt, Extent, Since, SliceRecord, doubt};
use super::undo::{UndoError, Undoer};
use super::watch::sentence;
use crate::guard::usage;
use narrows_base::units::Bytes;
use narrows_load::LoadError;
use narrows_load::guard::{self, Device, Mark, Medium, Ours, Restored};

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
            if let Err(why) = self.settled(record, &place, false) {
                return Err(UndoError::Others(disk, why));
            }
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
