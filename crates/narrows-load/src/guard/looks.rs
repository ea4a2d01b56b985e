//! What data look like: what begins at or before them, or what the bytes themselves are.

use std::fmt;
use std::time::{Duration, Instant};

use super::plan::usual_starts;
use super::scan::Medium;
use super::search::Found;
use super::signatures::{Class, Format, formats};
use crate::marks::{is_signed, is_zero};
use narrows_base::units::{Bytes, human};

const MIB: u64 = 1 << 20;
/// Magic numbers this far behind the beginning of a partition are looked for.
const NEAR: u64 = 132 << 10;
/// So many MiB before data are looked at for what they may belong to.
const BEFORE: u64 = 48;
/// The least length of a magic number that tells a format from other data without further looks.
const TELLING: usize = 4;
/// So much text is shown.
const SHOWN: usize = 24;

/// What data look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Looks {
    /// Something begins at a place, as if a partition did.
    Begins {
        /// The format, such as `XFS`.
        name: &'static str,
        /// What kind of thing that is.
        class: Class,
        /// Where it begins.
        start: Bytes,
        /// The description of the format that says so.
        source: &'static str,
    },
    /// A test block of narrows, or an imitation: no record that is known here says that we wrote it.
    Unrecorded,
    /// Text.
    Text(String),
    /// The same byte over and over.
    Same(u8),
    /// Without order: encrypted, compressed, or an image.
    Noise,
    /// Anything else; the first bytes.
    Bytes(Vec<u8>),
}

impl fmt::Display for Looks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begins { name, class, start, .. } => {
                write!(f, "what looks like {name} ({}) begins at {}", class.name(), place(*start))?;
                if start.get() > 0 && *class != Class::PartitionTable {
                    f.write_str(": a lost partition table?")?;
                }
                Ok(())
            }
            Self::Unrecorded => {
                f.write_str("what looks like a test block of narrows, of which no record is here")
            }
            Self::Text(text) => write!(f, "text, `{text}`"),
            Self::Same(byte) => write!(f, "bytes that are all 0x{byte:02x}"),
            Self::Noise => f.write_str("bytes without order, as of encrypted or compressed data"),
            Self::Bytes(bytes) => {
                f.write_str("the bytes")?;
                bytes.iter().try_for_each(|byte| write!(f, " {byte:02x}"))
            }
        }
    }
}

/// A place as a person would name it: in whole MiB, KiB or bytes.
fn place(at: Bytes) -> String {
    if at.get().is_multiple_of(512) && at.get() > 0 {
        human::block_size(at)
    } else {
        format!("byte {}", at.get())
    }
}

/// What something that was found looks like.
pub(super) fn like(medium: &dyn Medium, found: &Found) -> Looks {
    begins(medium, found.at.get()).unwrap_or_else(|| of_bytes(&found.bytes))
}

/// What begins before data, or with them.
fn begins(medium: &dyn Medium, at: u64) -> Option<Looks> {
    let here = at - at % MIB;
    let before = (0..=BEFORE).filter_map(|index| here.checked_sub(index * MIB));
    let mut starts: Vec<u64> =
        usual_starts(medium.size().get()).chain(before).chain([0, at - at % 512]).collect();
    starts.retain(|start| *start <= at && at - start < LARGEST_LOST);
    starts.sort_unstable();
    starts.dedup();
    // What is far before data is looked at only where partitions mostly begin, and what begins with them in any case.
    let begin = Instant::now();
    let mut in_time = starts.into_iter().take_while(|_| begin.elapsed() < LOOKED);
    in_time.find_map(|start| at_start(medium, start)).or_else(|| at_start(medium, at - at % 512))
}

/// A slow medium is looked at for no longer than this.
const LOOKED: Duration = Duration::from_secs(2);

/// Data belong to something that begins no further before them than this.
const LARGEST_LOST: u64 = 64 << 40;

/// What begins exactly at a place.
fn at_start(medium: &dyn Medium, start: u64) -> Option<Looks> {
    let window = window(medium, start)?;
    let (class, format) = formats().find(|(_, format)| is_in(&window, format))?;
    let Format { name, source, .. } = *format;
    Some(Looks::Begins { name, class, start: Bytes::new(start), source })
}

/// Whether a format's magic number stands in what follows a place.
fn is_in(window: &[u8], format: &Format) -> bool {
    let stands = |offset: u64, magic: &[u8]| {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        window.get(from..).is_some_and(|rest| rest.starts_with(magic))
    };
    let near = format.places.iter().filter(|place| place.is_from_beginning());
    let mut offsets = near.flat_map(|place| place.offsets(window.len() as u64));
    if is_ext(format) {
        return is_superblock(window)
            && offsets.any(|offset| format.magics.iter().any(|magic| stands(offset, magic)));
    }
    let telling = || format.magics.iter().filter(|magic| magic.len() >= TELLING);
    offsets.any(|offset| telling().any(|magic| stands(offset, magic)))
}

/// Its magic number has two bytes only, and it is the likeliest of all.
fn is_ext(format: &Format) -> bool {
    format.name == "ext2, ext3 or ext4"
}

/// Whether a superblock of ext4 is plausible, and the first of its file system: s_log_block_size at 0x18 is at most 6,
/// s_blocks_per_group at 0x20 is not 0, s_block_group_nr at 0x5A is 0 (kernel `Documentation/filesystems/ext4/super.rst`).
fn is_superblock(window: &[u8]) -> bool {
    let Some(block) = window.get(1024..1024 + 0x5C) else { return false };
    let le32 = |at: usize| {
        block.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(u32::MAX, u32::from_le_bytes)
    };
    le32(0x18) <= 6 && le32(0x20) != 0 && block.get(0x5A..0x5C) == Some(&[0, 0])
}

/// What follows a place; `None` when that is all zeros, or cannot be read.
fn window(medium: &dyn Medium, start: u64) -> Option<Vec<u8>> {
    const BLOCK: u64 = 64 << 10;
    let size = medium.size().get();
    let (first, end) = (start - start % BLOCK, start.saturating_add(NEAR).min(size));
    let mut bytes = vec![0; usize::try_from(end.checked_sub(first)?).ok()?];
    for (offset, block) in (first..).step_by(BLOCK as usize).zip(bytes.chunks_mut(BLOCK as usize)) {
        // Direct reads are whole blocks.
        let mut whole = vec![0; usize::try_from(BLOCK.min(size - offset)).ok()?];
        medium.read(offset, &mut whole).ok()?;
        block.copy_from_slice(whole.get(..block.len())?);
    }
    let bytes = bytes.split_off(usize::try_from(start - first).ok()?);
    (!is_zero(&bytes)).then_some(bytes)
}

/// What bytes look like by themselves.
pub(super) fn of_bytes(bytes: &[u8]) -> Looks {
    if is_signed(bytes) {
        return Looks::Unrecorded;
    }
    let first = bytes.first().copied().unwrap_or(0);
    let is_text = |byte: &&u8| matches!(**byte, b' '..=b'~' | b'\n' | b'\t' | b'\r');
    let text: Vec<u8> = bytes.iter().take_while(is_text).copied().collect();
    if text.len() >= 8 {
        let shown =
            String::from_utf8_lossy(text.get(..SHOWN).unwrap_or(&text)).replace(['\n', '\t', '\r'], " ");
        return Looks::Text(if text.len() > SHOWN { format!("{shown}…") } else { shown });
    }
    if bytes.len() >= 16 && bytes.iter().all(|byte| *byte == first) {
        return Looks::Same(first);
    }
    if bytes.len() >= 256 && is_noise(bytes) {
        return Looks::Noise;
    }
    Looks::Bytes(bytes.get(..8).unwrap_or(bytes).to_vec())
}

/// Whether no byte is much more frequent than the others, as in 512 random bytes: 2 each are expected, and 16 of one are
/// seen in less than one of 10⁷ such rows (Poisson, times 256).
fn is_noise(bytes: &[u8]) -> bool {
    let mut counts = [0_u32; 256];
    for byte in bytes {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    counts.iter().all(|count| *count < 16)
}
