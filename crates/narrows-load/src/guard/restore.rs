//! Makes a slice as it was before the lab: nothing but zeros, as far as what stands in it is the lab's.
//!
//! Where nobody but the lab can have written to the slice, all of it is the lab's. Else only what bears its [`Mark`] is:
//! structures that are cleared as far as they reach. What is left is counted and named, and stays.

use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use nix::fcntl::{FallocateFlags, fallocate};

use super::super::buffer::Buffer;
use super::super::error::LoadError;
use super::super::marks::is_zero;
use super::built::changes;
use super::decide::Refusal;
use super::discard::discard;
use super::mark::{self, Mark, UNIT};
use super::open::{Device, WritableDevice, WriteError, claim};
use super::reason::Reason;
use super::scan::{Medium, Signature, examine};
use super::signatures::Class;
use super::usage::Usage;
use narrows_base::units::{Bytes, human};

/// What is read at once.
const STEP: u64 = 1 << 20;
/// What is judged and written at once.
const PIECE: u64 = 64 << 10;
/// What is discarded at once.
const DISCARD: u64 = 1 << 30;

/// What in a slice is the lab's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ours {
    /// Everything, since nobody else can have written it.
    All {
        /// Whether the blocks are to be given back first; else they are kept, as those of a file that others would take.
        discard: bool,
    },
    /// What bears its mark.
    Marked,
}

/// What was done to a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Restored {
    /// How much was cleared that was the lab's; where blocks are given back, from the first that is not zero to the end.
    pub cleared: Bytes,
    /// How much was written to clear it.
    pub written: Bytes,
    /// What stands there still.
    pub left: Option<Left>,
}

/// What is not zero and not known to be the lab's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    /// Where the first of it is, counted from the beginning of what was looked at.
    pub first: Bytes,
    /// How much: blocks of 4 KiB that are not all zeros.
    pub bytes: Bytes,
}

impl Left {
    /// In words, where what was looked at begins at `start` of a device.
    pub fn on(self, start: Bytes) -> String {
        let (bytes, first) = (human::bytes(self.bytes), start.get().saturating_add(self.first.get()));
        format!("{bytes} are not known to be the lab's, from byte {first} of the device on")
    }
}

/// A part of a medium: its first byte, and the byte after its last. Both are multiples of a MiB, but where the medium ends.
pub type Part = (u64, u64);

/// What of a part is the lab's by its mark, and what else stands there. Reads only.
///
/// # Errors
/// What the kernel answers.
pub fn survey(medium: &dyn Medium, part: Part, mark: &Mark) -> io::Result<Restored> {
    let mut found = Restored::default();
    each_marked(medium, part, mark, &mut |_, _, ours| {
        found.cleared = found.cleared + Bytes::new(ours);
        Ok(())
    })
    .map(|left| Restored { left, ..found })
}

/// What of known formats stands on a medium and is not the lab's by its mark: beside that nothing is cleared by marks.
///
/// # Errors
/// Something does, or a part of it cannot be read.
pub fn foreign(name: &str, medium: &dyn Medium, mark: &Mark) -> Result<(), Refusal> {
    let found = examine(name, medium);
    let labels = mark.labels(medium, 0, medium.size().get());
    let is_ours = |at: &Bytes| {
        let (start, within) = (at.get() - at.get() % UNIT as u64, at.get() % UNIT as u64);
        let unit = mark::bytes(medium, start, UNIT).unwrap_or_default();
        labels.iter().any(|label| label.contains(&at.get()))
            || mark.on(&unit).iter().any(|range| range.contains(&usize::try_from(within).unwrap_or(UNIT)))
    };
    let is_foreign =
        |signature: &Signature| signature.class != Class::Data && !signature.offsets.iter().all(is_ours);
    let content = |signature| Reason::Content { device: name.to_owned(), signature };
    let reasons = found.signatures.into_iter().filter(is_foreign).map(content);
    let unreadable = found.unreadable.map(|error| Reason::Unreadable { device: name.to_owned(), error });
    let reasons: Vec<Reason> = reasons.chain(unreadable).collect();
    if reasons.is_empty() { Ok(()) } else { Err(Refusal { device: name.to_owned(), reasons }) }
}

/// Opens a device for writing, exclusively, to clear what bears a mark on it. `identity` and `size` say which device it must be.
///
/// # Errors
/// It is another, somebody uses it, or the kernel refuses.
pub fn open_to_clear(
    device: &Device,
    usage: &Usage,
    identity: &str,
    size: Bytes,
) -> Result<WritableDevice, WriteError> {
    let mut reasons = objections(usage, identity, size);
    if reasons.is_empty() {
        let claimed = claim(device.path())?;
        reasons = changes(device, &claimed, usage);
        if reasons.is_empty() {
            return Ok(WritableDevice::of(claimed)?);
        }
    }
    Err(Refusal { device: usage.device.clone(), reasons }.into())
}

/// What speaks against it before it is opened.
fn objections(usage: &Usage, identity: &str, size: Bytes) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = usage.uses.iter().cloned().map(Reason::InUse).collect();
    reasons.extend(usage.unseen.iter().map(|what| Reason::Unseen { what: what.clone() }));
    if usage.identity.as_ref().is_none_or(|found| found.text != identity) || usage.size != Some(size) {
        reasons.push(Reason::Changed { what: format!("{} is not the device of the journal", usage.device) });
    }
    reasons
}

/// Clears what the lab wrote to a part of a device. It is read back.
///
/// # Errors
/// The kernel refuses, or what was cleared is not zero afterwards.
pub fn restore(device: &WritableDevice, part: Part, mark: &Mark, ours: Ours) -> Result<Restored, LoadError> {
    let failed = |error| LoadError::io("clear", device.path(), error);
    let restored = match ours {
        Ours::All { discard } => clear_all(device, part, discard),
        Ours::Marked => clear_marked(device, part, mark),
    };
    device.file().sync_all().map_err(failed)?;
    restored.map_err(failed)
}

/// The first byte of a part that is not zero.
fn first_data(medium: &dyn Medium, part: Part) -> io::Result<Option<Bytes>> {
    let mut first = None;
    pieces(medium, part, &mut |start, piece| {
        let at = piece.iter().position(|byte| *byte != 0);
        first = at.map(|at| Bytes::new(start + at as u64));
        Ok(first.is_none())
    })?;
    Ok(first)
}

/// Shows every piece to `see`, which answers whether to go on.
fn pieces(
    medium: &dyn Medium,
    (from, to): Part,
    see: &mut dyn FnMut(u64, &[u8]) -> io::Result<bool>,
) -> io::Result<()> {
    let mut bytes = vec![0; STEP as usize];
    let mut start = from;
    while start < to {
        let length = usize::try_from(STEP.min(to - start)).unwrap_or(0);
        let step = bytes.get_mut(..length).unwrap_or_default();
        medium.read(start, step)?;
        for (piece, at) in step.chunks(PIECE as usize).zip((start..).step_by(PIECE as usize)) {
            if !is_zero(piece) && !see(at, piece)? {
                return Ok(());
            }
        }
        start += STEP;
    }
    Ok(())
}

fn clear_all(device: &WritableDevice, part: Part, discard: bool) -> io::Result<Restored> {
    let mut restored = Restored::default();
    let Some(first) = first_data(device, part)? else { return Ok(restored) };
    // What a device answers to this is not asked: what does not read as zero is written.
    let emptied = if discard { give_back(device, part) } else { zero_range(device, part) };
    if emptied.is_ok() {
        restored.cleared = Bytes::new(part.1 - first.get());
        restored.written = if discard { Bytes::new(0) } else { Bytes::new(part.1 - part.0) };
    }
    let mut written: Vec<Part> = Vec::new();
    let mut zeros = Buffer::new(PIECE as usize)?;
    zeros.bytes().fill(0);
    pieces(device, part, &mut |start, piece| {
        let zeros = zeros.bytes().get(..piece.len()).unwrap_or_default();
        device.file().write_all_at(zeros, start)?;
        add(&mut written, (start, start + piece.len() as u64));
        restored.written = restored.written + Bytes::new(piece.len() as u64);
        restored.cleared = restored.cleared.max(restored.written);
        Ok(true)
    })?;
    device.file().sync_all()?;
    read_back(device, &written)?;
    Ok(restored)
}

fn give_back(device: &WritableDevice, (from, to): Part) -> io::Result<()> {
    let mut start = from;
    while start < to {
        let end = to.min(start + DISCARD);
        discard(device.file(), &(start..end))?;
        start = end;
    }
    Ok(())
}

/// Makes zeros of it without giving back the room (on a device: Write Zeroes that may not unmap).
fn zero_range(device: &WritableDevice, (from, to): Part) -> io::Result<()> {
    let number = |at: u64| i64::try_from(at).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput));
    let flags = FallocateFlags::FALLOC_FL_ZERO_RANGE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
    Ok(fallocate(device.file(), flags, number(from)?, number(to - from)?)?)
}

/// Joins a part to the one before, where it follows that.
fn add(parts: &mut Vec<Part>, (from, to): Part) {
    match parts.last_mut().filter(|last| last.1 == from) {
        Some(last) => last.1 = to,
        None => parts.push((from, to)),
    }
}

fn read_back(medium: &dyn Medium, written: &[Part]) -> io::Result<()> {
    for part in written {
        if let Some(at) = first_data(medium, *part)? {
            return Err(io::Error::other(format!("byte {} is not zero after it was written", at.get())));
        }
    }
    Ok(())
}

/// Is shown where a unit lies, what it holds once what bears the mark is cleared, and how many bytes those were.
type Show<'a> = &'a mut dyn FnMut(u64, &[u8], u64) -> io::Result<()>;

/// Shows every unit in which something bears the mark, with that cleared, and how many bytes those were. The answer is what
/// stands there that does not.
fn each_marked(medium: &dyn Medium, part: Part, mark: &Mark, see: Show<'_>) -> io::Result<Option<Left>> {
    let labels = mark.labels(medium, part.0, part.1);
    let mut left: Option<Left> = None;
    pieces(medium, part, &mut |start, piece| {
        for (unit, at) in piece.chunks(UNIT).zip((start..).step_by(UNIT)) {
            let cleaned = cleaned(unit, at, mark, &labels);
            let ours = unit.iter().zip(&cleaned).filter(|(before, after)| before != after).count() as u64;
            if ours > 0 {
                see(at, &cleaned, ours)?;
            }
            if let Some(first) = cleaned.iter().position(|byte| *byte != 0) {
                let first = Bytes::new(at + first as u64);
                let found = left.get_or_insert(Left { first, bytes: Bytes::new(0) });
                found.bytes = found.bytes + Bytes::new(unit.len() as u64);
            }
        }
        Ok(true)
    })?;
    Ok(left)
}

/// The unit at `at` without what bears the mark.
fn cleaned(unit: &[u8], at: u64, mark: &Mark, labels: &[Range<u64>]) -> Vec<u8> {
    let mut cleaned = unit.to_vec();
    for range in mark.on(unit) {
        cleaned.get_mut(range).unwrap_or_default().fill(0);
    }
    if labels.iter().any(|label| label.contains(&at)) {
        cleaned.fill(0);
    }
    cleaned
}

fn clear_marked(device: &WritableDevice, part: Part, mark: &Mark) -> io::Result<Restored> {
    let mut restored = Restored::default();
    let mut buffer = Buffer::new(UNIT)?;
    restored.left = each_marked(device, part, mark, &mut |start, cleaned, ours| {
        let out = buffer.bytes().get_mut(..cleaned.len()).unwrap_or_default();
        out.copy_from_slice(cleaned);
        device.file().write_all_at(out, start)?;
        restored.cleared = restored.cleared + Bytes::new(ours);
        restored.written = restored.written + Bytes::new(cleaned.len() as u64);
        Ok(())
    })?;
    Ok(restored)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{mark, medium};
    use super::super::usage::{Identity, Use, UseKind};
    use super::*;
    use proptest::prelude::*;

    const WHOLE: Part = (0, 4 << 20);

    fn usage() -> Usage {
        Usage {
            device: "sdb".to_owned(),
            size: Some(Bytes::from_mib(64)),
            identity: Some(Identity { what: "serial number", text: "S1".to_owned() }),
            ..Usage::default()
        }
    }

    #[test]
    fn only_the_device_of_the_journal_that_nobody_uses_is_opened() {
        let size = Bytes::from_mib(64);
        assert_eq!(objections(&usage(), "S1", size), []);
        assert_eq!(objections(&usage(), "S2", size).len(), 1);
        assert_eq!(objections(&usage(), "S1", Bytes::from_mib(65)).len(), 1);
        let used = Use { device: "sdb".to_owned(), kind: UseKind::Holder, by: "md0".to_owned() };
        assert_eq!(objections(&Usage { uses: vec![used], ..usage() }, "S1", size).len(), 1);
        let blind = Usage { unseen: vec!["mounts".to_owned()], ..usage() };
        assert_eq!(objections(&blind, "S1", size).len(), 1);
    }

    #[test]
    fn what_lasts_until_somebody_ends_it_is_told_from_what_passes() {
        let refused = |kinds: &[UseKind]| {
            let by = |kind: &UseKind| Use { device: "sdb".to_owned(), kind: *kind, by: String::new() };
            let usage = Usage { uses: kinds.iter().map(by).collect(), ..usage() };
            Refusal { device: "sdb".to_owned(), reasons: objections(&usage, "S1", Bytes::from_mib(64)) }
        };
        assert!(!refused(&[UseKind::OpenFile, UseKind::Holder, UseKind::Traffic]).stays());
        assert!(refused(&[UseKind::OpenFile, UseKind::Partitioned]).stays());
        let other = objections(&usage(), "S2", Bytes::from_mib(64));
        assert!(other.iter().all(Reason::stays), "{other:?}");
    }

    #[test]
    fn what_bears_no_mark_is_counted_and_named() {
        let mixed = medium(&[(0, b"XFSB"), (32, &[0xab; 16]), (9000, b"precious"), ((1 << 20) + 77, b"x")]);
        let found = survey(&mixed, WHOLE, &mark()).unwrap();
        assert_eq!(found.cleared, Bytes::new(20));
        let left = Left { first: Bytes::new(9000), bytes: Bytes::new(8192) };
        assert_eq!(found.left, Some(left));
        assert!(left.on(Bytes::from_mib(1)).contains("from byte 1057576 of the device"));
        assert_eq!(survey(&medium(&[]), WHOLE, &mark()).unwrap(), Restored::default());
    }

    #[test]
    fn a_format_that_bears_no_mark_is_foreign() {
        let ours: &[(usize, &[u8])] = &[(0, b"XFSB"), (32, &[0xab; 16]), (9000, b"data")];
        assert!(foreign("sdb", &medium(ours), &mark()).is_ok());
        for theirs in [(1080, b"\x53\xef".as_slice()), (4096, b"\xfc\x4e\x2b\xa9"), (0, b"LUKS\xba\xbe")] {
            let both = [ours, &[theirs]].concat();
            assert!(foreign("sdb", &medium(&both), &mark()).is_err(), "{theirs:?}");
        }
    }

    #[test]
    fn data_beside_a_structure_of_ours_is_not_ours() {
        // 512 bytes are the superblock; what stands behind it in the same unit is not.
        let beside = medium(&[(0, b"XFSB"), (32, &[0xab; 16]), (512, b"precious")]);
        let found = survey(&beside, WHOLE, &mark()).unwrap();
        assert_eq!(found.left.map(|left| left.first), Some(Bytes::new(512)));
    }

    #[test]
    fn only_the_part_is_looked_at() {
        let outside = medium(&[(77, b"x"), ((3 << 20) + 1, b"y")]);
        assert_eq!(first_data(&outside, (1 << 20, 3 << 20)).unwrap(), None);
        assert_eq!(survey(&outside, (1 << 20, 3 << 20), &mark()).unwrap(), Restored::default());
        assert_eq!(first_data(&outside, WHOLE).unwrap(), Some(Bytes::new(77)));
        assert_eq!(first_data(&outside, (1 << 20, 4 << 20)).unwrap(), Some(Bytes::new((3 << 20) + 1)));
    }

    #[test]
    fn what_was_written_is_read_back_in_parts_as_long_as_they_can_be() {
        let mut parts = Vec::new();
        for part in [(0, PIECE), (PIECE, 2 * PIECE), (5 * PIECE, 6 * PIECE)] {
            add(&mut parts, part);
        }
        assert_eq!(parts, [(0, 2 * PIECE), (5 * PIECE, 6 * PIECE)]);
        assert!(read_back(&medium(&[(2 * PIECE as usize, b"x")]), &parts).is_ok(), "beside them");
        assert!(read_back(&medium(&[(2 * PIECE as usize - 1, b"x")]), &parts).is_err());
    }

    #[test]
    fn pieces_are_shown_with_their_places() {
        let data = medium(&[(70_000, b"a"), ((1 << 20) + 5, b"b"), ((3 << 20) - 1, b"c")]);
        let mut seen = Vec::new();
        pieces(&data, (0, 3 << 20), &mut |at, piece| {
            seen.push((at, piece.len() as u64));
            Ok(true)
        })
        .unwrap();
        assert_eq!(seen, [(PIECE, PIECE), (1 << 20, PIECE), ((3 << 20) - PIECE, PIECE)]);
    }

    proptest! {
        #[test]
        fn no_byte_of_others_is_ever_counted_as_ours(at in 0_usize..(4 << 20) - 64, data in prop::collection::vec(1_u8.., 1..64)) {
            let foreign = medium(&[(at, &data)]);
            let found = survey(&foreign, WHOLE, &mark()).unwrap();
            prop_assert_eq!(found.cleared, Bytes::new(0));
            prop_assert_eq!(found.left.map(|left| left.first), Some(Bytes::new(at as u64)));
        }
    }
}
