//! A block device of the user's as a target: between its first and its last MiB, which stay as they are.
//!
//! The two ends are what partition tables and most formats begin with. They were zero when the guard gave its permit, and
//! since they are never written nobody takes the device for something that it is not, whatever ends the run.

use std::ops::ControlFlow;

use super::error::LoadError;
use super::fill::{Fill, Filling};
use super::guard::{EDGE, Medium, WritableDevice};
use super::target::{Region, Target};
use crate::units::Bytes;

/// The part that is used is a whole number of these.
const UNIT: u64 = 1 << 20;

/// The part of a device of `device` bytes that a run over `size` bytes uses; `None` when there is no room for a MiB
/// between its ends.
pub fn usable(device: Bytes, size: Bytes) -> Option<Region> {
    let room = device.saturating_sub(EDGE).saturating_sub(EDGE);
    let length = Bytes::new(room.min(size).get() / UNIT * UNIT);
    (length.get() > 0).then_some(Region { start: EDGE, length })
}

/// Fills `size` bytes of a permitted device, or as many as there are, and makes a target of them. `progress` is told the
/// bytes written and the bytes to write; it ends the work by answering [`ControlFlow::Break`].
///
/// # Errors
/// The device is too small, a write failed, or `progress` broke it off.
pub fn prepare(
    device: WritableDevice,
    size: Bytes,
    seed: u64,
    compressible_percent: u8,
    progress: &mut dyn FnMut(Bytes, Bytes) -> ControlFlow<()>,
) -> Result<Target, LoadError> {
    let path = device.path().to_owned();
    let whole = device.size();
    let region = usable(whole, size).ok_or_else(|| LoadError::TooSmall {
        path: path.clone(),
        size: whole,
        block_size: Bytes::new(2 * EDGE.get() + UNIT),
    })?;
    let file = device.into_file();
    let filling = Filling { time: None, seed, compressible_percent };
    let (start, length) = (region.start.get(), region.length.get());
    let filled = Fill::new("write to", &path, &file, true).write(start, length, &filling, progress)?;
    if filled.is_full {
        let error = std::io::Error::from_raw_os_error(nix::libc::ENOSPC);
        return Err(LoadError::io("write to", &path, error));
    }
    file.sync_data().map_err(|error| LoadError::io("write to", &path, error))?;
    Target::owned(&path, file, region)
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
