//! Clears what a run that was killed left on a device: `narrows guard --clean`.

use std::ops::ControlFlow;

use super::bulk::Bulk;
use super::clear::{Cleared, clear_marked};
use super::decide::{CleaningPermit, Permit, Refusal};
use super::open::{WritableDevice, WriteError, changed, claim, look_everywhere};
use super::prove::pieces;
use super::reason::Reason;
use super::scan::{EDGE, Medium};
use super::search::Searched;
use super::sentry::{Keeper, Watch};
use crate::error::LoadError;
use crate::marks::{DeviceKey, RunSecret, SECTOR};
use crate::workload::Region;
use narrows_base::units::Bytes;

/// So much from the beginning of what runs may write is looked through for marks.
const LOOKED_THROUGH: u64 = 64 << 20;

/// What came of cleaning.
#[derive(Debug)]
pub struct Cleaned {
    /// What was cleared, and what else stands between.
    pub cleared: Cleared,
    /// What speaks against writing to the device afterwards.
    pub left: Vec<Reason>,
    /// How the rest of the device was searched.
    pub searched: Searched,
}

/// Clears exactly what bears the marks of the run of `secret` on this device, and says what else stands on it. Beside anything
/// that a known format begins, nothing is cleared.
///
/// # Errors
/// The kernel refuses, it is another device than the one that was decided about, somebody uses it, something else stands on it,
/// a read or write fails, or `watch` broke the search off.
pub fn clean(
    permit: CleaningPermit,
    secret: &RunSecret,
    keeper: &dyn Keeper,
    watch: Watch<'_>,
) -> Result<Cleaned, WriteError> {
    let CleaningPermit(Permit { device, name, identity, .. }) = permit;
    let claimed = claim(device.path())?;
    let reasons = changed(&device, &claimed, &name);
    if !reasons.is_empty() {
        return Err(Refusal { device: name, reasons }.into());
    }
    let key = DeviceKey::of(secret, &identity, device.size());
    let writable = WritableDevice::of(claimed)?.marked_by(key);
    let mut left = Vec::new();
    let searched = look_everywhere(&name, &writable, &writable.bulk(), Some(key), watch, &mut left)?;
    left.retain(|reason| !matches!(reason, Reason::Marked { .. }));
    if left.iter().any(Reason::is_format) {
        return Err(Refusal { device: name, reasons: left }.into());
    }
    keeper.check_unused()?;
    let failed = |error| LoadError::io("read", device.path(), error);
    let end = end_of_marks(&writable.bulk(), key, searched.marked).map_err(failed)?;
    let region = end.map(|end| Region { start: EDGE, length: end.saturating_sub(EDGE) });
    let cleared = match region {
        Some(region) => clear_marked(&writable.ground(), region, None, watch)?,
        None => Cleared::default(),
    };
    if cleared.left.get() == 0 && !cleared.is_broken_off {
        keeper.forget();
    }
    Ok(Cleaned { cleared, left, searched })
}

/// Where the regions of the runs end whose marks are found: at the beginning of what runs may write, and where the search
/// found one. Never beyond what may be written.
fn end_of_marks(medium: &dyn Bulk, key: DeviceKey, found: Option<Bytes>) -> std::io::Result<Option<Bytes>> {
    let last = Bytes::new(medium.size()).saturating_sub(EDGE);
    let near = last.saturating_sub(EDGE).get().min(LOOKED_THROUGH);
    let at = found.map(|at| (at.get() - at.get() % EDGE.get(), EDGE.get()));
    let at = at.map(|(start, length)| (start, length.min(medium.size().saturating_sub(start))));
    let mut end = None;
    for (start, length) in [(EDGE.get(), near)].into_iter().chain(at) {
        medium.read_all(EDGE.get() as u32, &mut pieces(start, length), &mut |_, bytes| {
            let sectors = bytes.unwrap_or_default().chunks(SECTOR);
            end = end.max(sectors.filter_map(|sector| key.end_in(sector)).max());
            ControlFlow::Continue(())
        })?;
    }
    Ok(end.map(|end| end.min(last)).filter(|end| *end > EDGE))
}
