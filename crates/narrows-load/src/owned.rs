//! A block device of the user's as a target: between its first and its last MiB, which stay as they are.
//!
//! The two ends are what partition tables and most formats begin with. They were zero when the guard gave its permit, and
//! since they are never written nobody takes the device for something that it is not, whatever ends the run.

use std::ops::ControlFlow;

use nix::libc::ENOSPC;

use super::error::LoadError;
use super::fill::{Fill, Filling};
use super::guard::{Budget, Census, Cleared, EDGE, Ground, Medium, Watch, WritableDevice, clear_marked};
use super::target::{Region, Target};
use narrows_base::units::Bytes;

/// The part that is used is a whole number of these.
const UNIT: u64 = 1 << 20;

/// The part of a device of `device` bytes that a run over `size` bytes uses; `None` when there is no room for a MiB
/// between its ends.
pub fn usable(device: Bytes, size: Bytes) -> Option<Region> {
    let room = device.saturating_sub(EDGE).saturating_sub(EDGE);
    let length = Bytes::new(room.min(size).get() / UNIT * UNIT);
    (length.get() > 0).then_some(Region { start: EDGE, length })
}

/// Fills the first `size` bytes of what may be written of a device, or as many as there are, and makes a target of them.
/// `progress` is told the bytes written and the bytes to write; it ends the work by answering [`ControlFlow::Break`].
/// What was written of a device with a permit is cleared again when that fails.
///
/// # Errors
/// The device is too small, a write failed, or `progress` broke it off.
pub fn prepare(
    device: WritableDevice,
    size: Bytes,
    seed: u64,
    progress: &mut dyn FnMut(Bytes, Bytes) -> ControlFlow<()>,
) -> Result<Target, LoadError> {
    let part = part(&device, size).ok_or_else(|| too_small(&device))?;
    let device = device.recorded()?;
    let census = device.census().map(|census| &**census);
    let marker = device.marker();
    let filling = Filling { time: None, seed, marker, budget: None, census };
    // The last thing before the first byte: nobody has written since the look began.
    device.check_alone()?;
    match fill(&device, part, &filling, progress) {
        Ok(()) => Target::owned(device, part.length),
        Err(error) => {
            if device.key().is_some() {
                // Where somebody else wrote, nothing more is changed.
                device.check_alone()?;
                // The failure is what is told; what stays is marked, and the guard finds it.
                let _ = clear_alone(&device.ground(), part, None, &mut |_| ControlFlow::Continue(()));
            }
            Err(error)
        }
    }
}

/// Clears what bears the marks of the run, where nobody uses the device. Its record is kept until all of that is gone.
fn clear_alone(
    ground: &Ground<'_>,
    region: Region,
    budget: Option<&Budget>,
    watch: Watch<'_>,
) -> Result<Cleared, LoadError> {
    ground.census.map_or(Ok(()), Census::check_unused).map_err(LoadError::Others)?;
    let cleared = clear_marked(ground, region, budget, watch)?;
    if cleared.left.get() == 0
        && !cleared.is_broken_off
        && let Some(keeper) = ground.census.and_then(Census::keeper)
    {
        keeper.forget();
    }
    Ok(cleared)
}

fn too_small(device: &WritableDevice) -> LoadError {
    LoadError::TooSmall {
        path: device.path().to_owned(),
        size: device.size(),
        block_size: Bytes::new(2 * EDGE.get() + UNIT),
    }
}

/// The first `size` bytes of what may be written, in whole units.
fn part(device: &WritableDevice, size: Bytes) -> Option<Region> {
    let region = device.region();
    let length = Bytes::new(region.length.min(size).get() / UNIT * UNIT);
    (length.get() > 0).then_some(Region { length, ..region })
}

/// Clears what runs wrote to a target that is a device with a permit: exactly what bears its marks. `None` for any other
/// target, of which nothing is cleared.
///
/// # Errors
/// Somebody else wrote to the device, which is left as it is then; or a read or write fails. What was cleared until then is.
pub fn clear(
    target: &Target,
    budget: Option<&Budget>,
    watch: Watch<'_>,
) -> Result<Option<Cleared>, LoadError> {
    let Some(marker) = target.marker() else { return Ok(None) };
    let ground = Ground {
        path: target.path(),
        file: target.file(),
        key: Some(marker.key),
        unit: target.logical_block_size().get(),
        census: target.census(),
    };
    let check = || {
        // Whatever is wrong with it shows when it is used.
        let _ = target.file().sync_data();
        ground.census.map_or(Ok(()), Census::check_device).map_err(LoadError::Others)
    };
    check()?;
    let cleared = clear_alone(&ground, target.changeable(), budget, watch)?;
    check()?;
    Ok(Some(Cleared { others: ground.census.and_then(|census| census.check().err()), ..cleared }))
}

fn fill(
    device: &WritableDevice,
    part: Region,
    filling: &Filling,
    progress: &mut dyn FnMut(Bytes, Bytes) -> ControlFlow<()>,
) -> Result<(), LoadError> {
    let (path, file) = (device.path(), device.file());
    // A device takes direct writes of whole units; were it otherwise, they would not go through the page cache either.
    let fill = Fill::new("write to", path, file, false);
    let filled = fill.write(part.start.get(), part.length.get(), filling, progress)?;
    if filled.is_full {
        let error = std::io::Error::from_raw_os_error(ENOSPC);
        return Err(LoadError::io("write to", path, error));
    }
    file.sync_data().map_err(|error| LoadError::io("write to", path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_left_out_whatever_the_size() {
        let mib = Bytes::from_mib;
        let part = |device, size| usable(device, size).map(|part| (part.start, part.length));
        assert_eq!(part(mib(100), mib(10)), Some((mib(1), mib(10))));
        assert_eq!(part(mib(100), mib(1000)), Some((mib(1), mib(98))));
        assert_eq!(part(Bytes::new((100 << 20) + 512), mib(1000)), Some((mib(1), mib(98))));
        assert_eq!(part(mib(3), mib(1000)), Some((mib(1), mib(1))));
        assert_eq!(part(mib(2), mib(1000)), None);
        assert_eq!(part(Bytes::new(0), mib(1)), None);
    }
}
