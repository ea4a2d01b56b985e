//! What a file is, and how it is unpacked.

use std::cell::Cell;
use std::io::{self, BufReader, ErrorKind, Read};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use narrows_machine::snapshot::SnapshotError;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

use super::{LONGEST_UNPACKING, MOST_UNPACKED_IN_ALL};
use crate::text::is_binary;

/// The most memory that a compressed file may ask for, in bytes: `xz -9` needs 65 MiB to unpack (xz(1)), zstd's long
/// mode more only when it was asked for.
const WINDOW: u64 = 80 << 20;

/// What the first bytes of a file tell of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// A text, or nothing.
    Text,
    /// A tar archive.
    Tar,
    /// A compressed file.
    Packed(Packing),
    /// An SMBIOS table as `dmidecode --dump-bin` writes it: the entry point, and the table from byte 32 on.
    Smbios,
    /// Something else that is no text.
    Other,
}

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
    /// The .xz File Format 1.2.1.
    Xz,
    Bzip2,
}

/// The bytes that [`Format::of`] wants to see.
pub(super) const HEAD: u64 = 4096;

/// Where `ustar` stands in a tar header (POSIX.1-1988).
const TAR_MAGIC: std::ops::Range<usize> = 257..262;

impl Format {
    /// What begins with these bytes.
    pub(super) fn of(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, 8, ..] => Self::Packed(Packing::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Packed(Packing::Zstd),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Packed(Packing::Xz),
            [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', b'&', b'S', b'Y', ..] => {
                Self::Packed(Packing::Bzip2)
            }
            _ if head.get(TAR_MAGIC) == Some(b"ustar") => Self::Tar,
            _ if head.starts_with(b"_SM_") || head.starts_with(b"_SM3_") => Self::Smbios,
            _ if is_binary(head) => Self::Other,
            _ => Self::Text,
        }
    }
}

/// Unpacks what `packed` holds. Errors of the format come when it is read.
pub(super) fn unpack<'r>(packing: Packing, packed: impl Read + 'r) -> io::Result<Box<dyn Read + 'r>> {
    let memory = u32::try_from(WINDOW >> 10).unwrap_or(u32::MAX);
    Ok(match packing {
        Packing::Gzip => Box::new(Once::new(MultiGzDecoder::new(packed))),
        Packing::Bzip2 => Box::new(Once::new(MultiBzDecoder::new(packed))),
        Packing::Xz => Box::new(Once::new(XzReader::new_mem_limit(BufReader::new(packed), true, memory))),
        Packing::Zstd => {
            let decoder = StreamingDecoder::new_with_max_window_size(packed, WINDOW);
            Box::new(Once::new(Zstd(decoder.map_err(io::Error::other)?)))
        }
    })
}

/// A reader that is not asked again once it has failed: decoders do not say what they do then.
struct Once<R> {
    inner: R,
    has_failed: bool,
}

impl<R> Once<R> {
    const fn new(inner: R) -> Self {
        Self { inner, has_failed: false }
    }
}

impl<R: Read> Read for Once<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.has_failed {
            return Ok(0);
        }
        let read = self.inner.read(into);
        self.has_failed = read.as_ref().is_err_and(|error| error.kind() != ErrorKind::Interrupted);
        read
    }
}

/// A zstd frame whose checksum is looked at when it has ended.
struct Zstd<R: Read>(StreamingDecoder<R, FrameDecoder>);

impl<R: Read> Read for Zstd<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let got = self.0.read(into)?;
        let frame = &self.0.decoder;
        match (frame.get_checksum_from_data(), frame.get_calculated_checksum()) {
            (Some(stated), Some(found)) if got == 0 && !into.is_empty() && stated != found => {
                Err(io::Error::new(ErrorKind::InvalidData, "its checksum is wrong"))
            }
            _ => Ok(got),
        }
    }
}

/// In words, what passed its bound.
const IN_TIME: &str = "is unpacked and read in 120 s";

/// What unpacking may cost: bytes and time of all inputs together. A few kilobytes can hold gigabytes, and archives lie in
/// archives.
///
/// What is left of bytes and time.
#[derive(Debug, Clone)]
pub(super) struct Spent {
    bytes: Rc<Cell<u64>>,
    /// `None` in a browser, whose clock the standard library cannot ask.
    until: Option<Instant>,
}

impl Spent {
    /// Nothing is spent yet, and time begins.
    pub(super) fn nothing() -> Self {
        Self::of(MOST_UNPACKED_IN_ALL, LONGEST_UNPACKING)
    }

    fn of(bytes: u64, time: Duration) -> Self {
        let now = cfg!(target_os = "linux").then(Instant::now);
        Self { bytes: Rc::new(Cell::new(bytes)), until: now.map(|now| now.checked_add(time).unwrap_or(now)) }
    }

    /// # Errors
    /// [`SnapshotError::TooLarge`] when the time is over.
    pub(super) fn check(&self) -> Result<(), SnapshotError> {
        let is_over = self.until.is_some_and(|until| Instant::now() > until);
        if is_over { Err(SnapshotError::TooLarge { limit: IN_TIME }) } else { Ok(()) }
    }

    /// A reader of unpacked bytes, which fails when the bytes or the time of all are spent.
    pub(super) fn reader<R: Read>(&self, inner: R) -> impl Read + use<R> {
        Counted { inner, spent: self.clone() }
    }
}

struct Counted<R> {
    inner: R,
    spent: Spent,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.spent.bytes.get();
        if left == 0 && !into.is_empty() {
            return Err(io::Error::other(format!(
                "what was given unpacks to more than {} GiB in all",
                MOST_UNPACKED_IN_ALL >> 30
            )));
        }
        if self.spent.check().is_err() {
            return Err(io::Error::other(format!("it holds more than {IN_TIME}")));
        }
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(into.len());
        let got = self.inner.read(into.get_mut(..most).unwrap_or_default())?;
        self.spent.bytes.set(left.saturating_sub(u64::try_from(got).unwrap_or(u64::MAX)));
        Ok(got)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_told_by_its_first_bytes() {
        let packed = |packing| Format::Packed(packing);
        assert_eq!(Format::of(b"\x1f\x8b\x08\0"), packed(Packing::Gzip));
        assert_eq!(Format::of(b"\x28\xb5\x2f\xfd\0"), packed(Packing::Zstd));
        assert_eq!(Format::of(b"\xfd7zXZ\0\0"), packed(Packing::Xz));
        assert_eq!(Format::of(b"BZh91AY&SY"), packed(Packing::Bzip2));
        assert_eq!(Format::of(b"BZh9 is a text"), Format::Text);
        assert_eq!(Format::of(b"_SM3_\0\0"), Format::Smbios);
        assert_eq!(Format::of(b"\x7fELF\0"), Format::Other);
        assert_eq!(Format::of(b""), Format::Text);
        let mut header = [0; 512];
        header[TAR_MAGIC].copy_from_slice(b"ustar");
        assert_eq!(Format::of(&header), Format::Tar);
    }

    #[test]
    fn bytes_are_counted_over_all_readers() {
        let spent = Spent::of(5, Duration::from_secs(60));
        let mut whole = Vec::new();
        assert_eq!(spent.reader(&b"abc"[..]).read_to_end(&mut whole).expect("fits"), 3);
        let error = spent.reader(&b"abc"[..]).read_to_end(&mut whole).expect_err("does not fit");
        assert!(error.to_string().contains("in all"), "{error}");
        assert_eq!(whole, b"abcab");
    }

    #[test]
    fn time_ends_too() {
        let spent = Spent::of(5, Duration::ZERO);
        std::thread::sleep(Duration::from_millis(2));
        assert!(spent.check().is_err() && spent.reader(&b"abc"[..]).read(&mut [0]).is_err());
    }
}
