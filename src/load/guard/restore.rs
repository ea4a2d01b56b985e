//! Makes a device as it was before the lab: without signatures, its first and last MiB zero.

use std::os::unix::fs::FileExt;

use super::super::buffer::Buffer;
use super::super::error::LoadError;
use super::built::changes;
use super::decide::Refusal;
use super::mark::Mark;
use super::open::{Device, WritableDevice, claim};
use super::reason::Reason;
use super::scan::{EDGE, Examined, Medium, examine};
use super::usage::Usage;
use crate::units::Bytes;

/// What is looked at and written at once.
const PIECE: u64 = 1 << 20;
/// The part at the beginning that is cleared: what arrays, volumes and LUKS2 (16 MiB) keep there, one in the other, where
/// the lab lets data begin 8 MiB into a member at most.
const HEAD: u64 = 32 << 20;
/// Where btrfs keeps copies of its superblock.
const COPIES: [u64; 2] = [64 << 20, 256 << 30];

/// Why a device was not restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The kernel refused, above all because something uses the device.
    #[error(transparent)]
    Io(#[from] LoadError),
    /// Something speaks against writing to it, or something that is not the lab's stands on it. Nothing was written.
    #[error(transparent)]
    Refused(Refusal),
    /// It was cleared, and something is left.
    #[error("something is left on the device after it was cleared: {0}")]
    Left(Refusal),
}

/// Clears what the lab may have written to the headers of a device, and looks whether nothing is left. `identity` and
/// `size` say which device it must be, `mark` what on it is the lab's. Only pieces that are not zero are written.
///
/// # Errors
/// [`RestoreError`].
pub fn restore(
    device: &Device,
    usage: &Usage,
    identity: &str,
    size: Bytes,
    mark: &Mark,
) -> Result<Bytes, RestoreError> {
    let refuse = |reasons| RestoreError::Refused(Refusal { device: usage.device.clone(), reasons });
    let against = objections(usage, identity, size);
    if !against.is_empty() {
        return Err(refuse(against));
    }
    let claimed = claim(device.path())?;
    let changed = changes(device, &claimed, usage);
    if !changed.is_empty() {
        return Err(refuse(changed));
    }
    let writable = WritableDevice::of(claimed)?;
    let found = examine(&usage.device, &writable);
    let places: Vec<u64> = found.signatures.iter().flat_map(|one| &one.offsets).map(|at| at.get()).collect();
    let foreign = reasons(&Examined {
        signatures: found.signatures.into_iter().filter(|one| !mark.is_on(one, &writable)).collect(),
        ..found
    });
    if !foreign.is_empty() {
        return Err(refuse(foreign));
    }
    let written = clear(&writable, &places)?;
    let left = reasons(&examine(&usage.device, &writable));
    if left.is_empty() {
        return Ok(written);
    }
    Err(RestoreError::Left(Refusal { device: usage.device.clone(), reasons: left }))
}

/// What speaks against it before it is opened.
fn objections(usage: &Usage, identity: &str, size: Bytes) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = usage.uses.iter().cloned().map(Reason::InUse).collect();
    if usage.identity.as_ref().is_none_or(|found| found.text != identity) || usage.size != Some(size) {
        reasons.push(Reason::Changed { what: format!("{} is not the device of the journal", usage.device) });
    }
    if size < EDGE {
        reasons.push(Reason::TooSmall { size });
    }
    reasons
}

fn reasons(found: &Examined) -> Vec<Reason> {
    let content =
        |signature: &_| Reason::Content { device: found.device.clone(), signature: Clone::clone(signature) };
    let mut reasons: Vec<Reason> = found.signatures.iter().map(content).collect();
    let unreadable = |error| Reason::Unreadable { device: found.device.clone(), error };
    reasons.extend(found.unreadable.clone().map(unreadable));
    reasons
}

/// The pieces that are cleared of a device of this size, and those around `places`: where each begins and how long it is.
fn pieces(size: u64, places: &[u64]) -> Vec<(u64, u64)> {
    let mut starts: Vec<u64> = (0..HEAD / PIECE).map(|index| index * PIECE).collect();
    starts.extend(COPIES);
    starts.extend(places.iter().map(|place| place - place % PIECE));
    let mut pieces: Vec<(u64, u64)> = starts
        .into_iter()
        .filter(|start| *start < size)
        .map(|start| (start, PIECE.min(size - start)))
        .collect();
    let edge = EDGE.get().min(size);
    pieces.push((size - edge, edge));
    pieces
}

fn clear(device: &WritableDevice, places: &[u64]) -> Result<Bytes, LoadError> {
    let failed = |action| move |error| LoadError::io(action, device.path(), error);
    let length = usize::try_from(PIECE).unwrap_or(usize::MAX);
    let mut buffer = Buffer::new(length).map_err(failed("clear"))?;
    let mut written = 0;
    for (start, length) in pieces(device.size().get(), places) {
        let piece = buffer.bytes().get_mut(..usize::try_from(length).unwrap_or(0)).unwrap_or_default();
        device.file().read_exact_at(piece, start).map_err(failed("read"))?;
        if piece.iter().any(|byte| *byte != 0) {
            piece.fill(0);
            device.file().write_all_at(piece, start).map_err(failed("clear"))?;
            written += length;
        }
    }
    device.file().sync_all().map_err(failed("clear"))?;
    Ok(Bytes::new(written))
}

#[cfg(test)]
mod tests {
    use super::super::usage::{Identity, Use, UseKind};
    use super::*;
    use proptest::prelude::*;

    fn usage() -> Usage {
        Usage {
            device: "sdb".to_owned(),
            size: Some(Bytes::from_mib(64)),
            identity: Some(Identity { what: "serial number", text: "S1".to_owned() }),
            ..Usage::default()
        }
    }

    #[test]
    fn only_the_device_of_the_journal_that_nobody_uses_is_cleared() {
        let size = Bytes::from_mib(64);
        assert_eq!(objections(&usage(), "S1", size), []);
        assert_eq!(objections(&usage(), "S2", size).len(), 1);
        assert_eq!(objections(&usage(), "S1", Bytes::from_mib(65)).len(), 1);
        let none = Usage { identity: None, ..usage() };
        assert_eq!(objections(&none, "", size).len(), 1);
        let held = Use { device: "sdb".to_owned(), kind: UseKind::Holder, by: "md0".to_owned() };
        assert_eq!(objections(&Usage { uses: vec![held], ..usage() }, "S1", size).len(), 1);
    }

    proptest! {
        #[test]
        fn both_ends_are_cleared_and_nothing_beyond(size in (1_u64 << 20)..(1 << 40)) {
            let pieces = pieces(size, &[size - 1]);
            prop_assert!(pieces.iter().all(|(start, length)| start + length <= size && *length > 0));
            prop_assert_eq!(pieces.first().copied(), Some((0, PIECE.min(size))));
            prop_assert_eq!(pieces.last().copied(), Some((size - PIECE, PIECE)));
            prop_assert_eq!(pieces.contains(&(64 << 20, PIECE)), size >= 65 << 20);
        }
    }
}
