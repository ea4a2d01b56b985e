//! Looks for what stands on a device. Reads only.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::looks::{self, Looks};
use super::search::Found;
use super::signatures::{Class, Format, formats};
use crate::marks::{DeviceKey, Judge, SECTOR, Sector};
use narrows_base::units::Bytes;

/// How much of the beginning and of the end must be zero.
pub const EDGE: Bytes = Bytes::from_mib(1);

/// Reads happen in blocks of this size at multiples of it: the largest logical block of Linux is no larger, so direct
/// I/O accepts every read.
const BLOCK: u64 = 64 << 10;

static ZEROS: [u8; BLOCK as usize] = [0; BLOCK as usize];

/// Something of fixed size that can be read.
pub trait Medium {
    /// How large it is.
    fn size(&self) -> Bytes;

    /// Fills `into` with what stands at `offset`, a multiple of 64 KiB. `into` is at most 64 KiB long and ends at the
    /// end of the medium at the latest.
    ///
    /// # Errors
    /// What the kernel answers.
    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()>;
}

/// A sign that something stands on a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Signature {
    /// The format, such as `XFS`.
    pub name: &'static str,
    /// What kind of thing that is.
    pub class: Class,
    /// Where its magic numbers stand, in bytes from the beginning; for [`Class::Data`] where a part that is not zero
    /// begins.
    pub offsets: Vec<Bytes>,
    /// The description of the format that says so.
    pub source: &'static str,
}

/// What was found on one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// The kernel name of the device: `sdb`.
    pub device: String,
    /// The signatures, in the order of the table.
    pub signatures: Vec<Signature>,
    /// What the data at its ends look like, where there are any.
    pub looks: Option<Looks>,
    /// Why a part of it could not be read; what cannot be read is not known to be empty.
    pub unreadable: Option<String>,
}

/// Looks at every place where a known format puts its magic number, and for data at both ends.
pub fn examine(device: &str, medium: &dyn Medium) -> Examined {
    let mut reader = Reader { begin: Instant::now(), medium, blocks: BTreeMap::new(), failed: None };
    let mut signatures: Vec<Signature> =
        formats().filter_map(|(class, format)| reader.look_for(class, format)).collect();
    let data = reader.data();
    let first = data.as_ref().and_then(|data| data.offsets.first().copied());
    let looks = first.map(|at| looks::like(medium, &Found { at, bytes: reader.bytes(at.get()) }));
    signatures.extend(data);
    Examined { device: device.to_owned(), signatures, looks, unreadable: reader.failed }
}

/// Leaves out magic numbers that stand in what bears our own mark, where random data may have any. One that cannot be read
/// again stays.
pub(super) fn retain_foreign(found: &mut Vec<Signature>, medium: &dyn Medium, key: Option<DeviceKey>) {
    let is_ours = |at: u64| {
        let start = at - at % BLOCK;
        let length = medium.size().get().saturating_sub(start).min(BLOCK);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        medium.read(start, &mut bytes).is_ok()
            && Judge::new(key)
                .sectors(start, &bytes)
                .any(|(offset, sector)| sector == Sector::Ours && offset == at - at % SECTOR as u64)
    };
    for signature in found.iter_mut() {
        signature.offsets.retain(|at| !is_ours(at.get()));
    }
    found.retain(|signature| !signature.offsets.is_empty());
}

/// A medium that needs longer for its edges and the places of all formats is too slow to be searched.
const EXAMINED_WITHIN: Duration = Duration::from_secs(20);

struct Reader<'a> {
    begin: Instant,
    medium: &'a dyn Medium,
    /// What was read, by offset; absent for a block that cannot be read.
    blocks: BTreeMap<u64, Option<Vec<u8>>>,
    failed: Option<String>,
}

impl Reader<'_> {
    fn look_for(&mut self, class: Class, format: &Format) -> Option<Signature> {
        let size = self.medium.size().get();
        let mut offsets: Vec<Bytes> = Vec::new();
        for offset in format.places.iter().flat_map(|place| place.offsets(size)) {
            if format.magics.iter().any(|magic| self.stands_at(offset, magic)) {
                offsets.push(Bytes::new(offset));
            }
        }
        // Places counted from both ends meet on a small device.
        offsets.sort_unstable();
        offsets.dedup();
        let Format { name, source, .. } = *format;
        (!offsets.is_empty()).then_some(Signature { name, class, offsets, source })
    }

    fn stands_at(&mut self, offset: u64, magic: &[u8]) -> bool {
        magic.iter().zip(offset..).all(|(want, at)| self.byte(at) == Some(*want))
    }

    fn byte(&mut self, at: u64) -> Option<u8> {
        let within = usize::try_from(at % BLOCK).ok()?;
        self.block(at - at % BLOCK)?.get(within).copied()
    }

    fn block(&mut self, start: u64) -> Option<&[u8]> {
        let is_late = self.begin.elapsed() > EXAMINED_WITHIN;
        let Self { medium, blocks, failed, .. } = self;
        let block = blocks.entry(start).or_insert_with(|| {
            if is_late {
                failed.get_or_insert_with(|| "it is too slow: a few MiB take longer than 20 s".to_owned());
                return None;
            }
            let length = medium.size().get().saturating_sub(start).min(BLOCK);
            let mut bytes = vec![0; usize::try_from(length).ok()?];
            match medium.read(start, &mut bytes) {
                Ok(()) => Some(bytes),
                Err(error) => {
                    failed.get_or_insert_with(|| format!("cannot read at byte {start}: {error}"));
                    None
                }
            }
        });
        block.as_deref()
    }

    /// Some bytes from a place on.
    fn bytes(&mut self, at: u64) -> Vec<u8> {
        let from = usize::try_from(at % BLOCK).unwrap_or(0);
        let rest = self.block(at - at % BLOCK).unwrap_or_default().get(from..).unwrap_or_default();
        rest.get(..512).unwrap_or(rest).to_vec()
    }

    /// Data at both ends: the first byte of each end that is not zero.
    fn data(&mut self) -> Option<Signature> {
        let size = self.medium.size().get();
        let edge = EDGE.get().min(size);
        let ends = [(0, edge), (size - edge, size)];
        let mut offsets: Vec<Bytes> =
            ends.into_iter().filter_map(|(from, to)| self.first_data(from, to)).map(Bytes::new).collect();
        offsets.dedup();
        (!offsets.is_empty()).then_some(Signature {
            name: "data in the first or last MiB",
            class: Class::Data,
            offsets,
            source: "bytes that are not zero",
        })
    }

    fn first_data(&mut self, from: u64, to: u64) -> Option<u64> {
        let mut start = from - from % BLOCK;
        while start < to {
            let skipped = from.saturating_sub(start);
            let block = self.block(start).unwrap_or_default();
            let wanted = block.get(usize::try_from(skipped).ok()?..).unwrap_or_default();
            // Comparing whole blocks is what makes this fast.
            if ZEROS.get(..wanted.len()) != Some(wanted) {
                let index = wanted.iter().position(|byte| *byte != 0)?;
                return Some(start + skipped + index as u64).filter(|at| *at < to);
            }
            start += BLOCK;
        }
        None
    }
}
