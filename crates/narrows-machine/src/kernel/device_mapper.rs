//! Asks device-mapper for a table: `DM_TABLE_STATUS` on `/dev/mapper/control` (kernel
//! `include/uapi/linux/dm-ioctl.h`), read-only and without flushing anything.
//!
//! The kernel answers with the keys of dm-crypt in the clear. They are taken out here, before the text leaves this
//! file, and the buffer is wiped.

#![expect(unsafe_code, reason = "an ioctl is the only interface that device-mapper has")]

use std::os::fd::{AsRawFd, OwnedFd};

use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;

use super::reason;
use crate::block::dm_table::without_key;
use crate::bytes::{long, put, wide};
use crate::tree::Miss;

// `struct dm_ioctl`: where each field is. All numbers are in native order, the whole is 312 bytes.
const DATA_SIZE: usize = 12;
const DATA_START: usize = 16;
const TARGET_COUNT: usize = 20;
const FLAGS: usize = 28;
const DEVICE: usize = 40;
const HEADER: usize = 312;

// `struct dm_target_spec`: start and length in sectors, status, offset of the next one from the first, and the type.
const SPEC_NEXT: usize = 20;
const SPEC_TYPE: usize = 24;
const SPEC: usize = 40;

/// The interface version that we speak. The kernel takes any minor version up to its own.
const VERSION: [u32; 3] = [4, 0, 0];
/// Answer with the table, not with the status of the targets.
const DM_STATUS_TABLE_FLAG: u32 = 1 << 4;
/// Set by the kernel when the answer did not fit.
const DM_BUFFER_FULL_FLAG: u32 = 1 << 8;
/// Do not make the targets write anything out before they answer.
const DM_NOFLUSH_FLAG: u32 = 1 << 11;
/// Let the kernel wipe its copy of the answer.
const DM_SECURE_DATA_FLAG: u32 = 1 << 15;

/// Room for the answer: at first, and at most.
const ROOM: std::ops::RangeInclusive<usize> = 16 << 10..=1 << 20;

nix::ioctl_readwrite_bad!(
    /// `DM_TABLE_STATUS`: 0xfd is `DM_IOCTL`, 12 `DM_TABLE_STATUS_CMD`.
    dm_table_status,
    nix::request_code_readwrite!(0xfd, 12, HEADER),
    u8
);

/// The table of a device, a line `start length type parameters` for each target. Of keys it has the size only.
pub(crate) fn table(major: u32, minor: u32) -> Result<String, Miss> {
    let control =
        open("/dev/mapper/control", OFlag::O_RDWR | OFlag::O_CLOEXEC, Mode::empty()).map_err(reason)?;
    let mut room = *ROOM.start();
    while room <= *ROOM.end() {
        let mut answer = request(room, major, minor);
        let table = ask(&control, &mut answer).map(|()| decode(&answer));
        wipe(&mut answer);
        match table? {
            Decoded::Table(table) => return Ok(table),
            Decoded::Full => room *= 4,
            Decoded::Garbled => return Err(Miss::Absent),
        }
    }
    Err(Miss::Absent)
}

fn ask(control: &OwnedFd, buffer: &mut [u8]) -> Result<(), Miss> {
    // SAFETY: `buffer` starts with a whole `struct dm_ioctl` (`request` makes it longer than `HEADER`), and its
    // `data_size` is the length of `buffer`, beyond which the kernel neither reads nor writes. The kernel copies with
    // `copy_from_user` and `copy_to_user`, so the alignment of the bytes does not matter. `buffer` is borrowed for
    // the whole call and the kernel keeps no pointer to it. `control` is open for as long as it is borrowed.
    let done = unsafe { dm_table_status(control.as_raw_fd(), buffer.as_mut_ptr()) };
    done.map(drop).map_err(reason)
}

fn request(room: usize, major: u32, minor: u32) -> Vec<u8> {
    let mut buffer = vec![0; HEADER + room];
    let size = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
    for (index, part) in VERSION.into_iter().enumerate() {
        put(&mut buffer, 4 * index, &part.to_ne_bytes());
    }
    put(&mut buffer, DATA_SIZE, &size.to_ne_bytes());
    put(&mut buffer, DATA_START, &(HEADER as u32).to_ne_bytes());
    let flags = DM_STATUS_TABLE_FLAG | DM_NOFLUSH_FLAG | DM_SECURE_DATA_FLAG;
    put(&mut buffer, FLAGS, &flags.to_ne_bytes());
    put(&mut buffer, DEVICE, &huge_device(major, minor).to_ne_bytes());
    buffer
}

/// The kernel's `huge_encode_dev` (`include/linux/kdev_t.h`).
fn huge_device(major: u32, minor: u32) -> u64 {
    let (major, minor) = (u64::from(major), u64::from(minor));
    (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
}

/// Overwrites what may hold a key. `black_box` keeps the writes from being left out as dead.
fn wipe(buffer: &mut [u8]) {
    buffer.fill(0);
    std::hint::black_box(buffer);
}

#[derive(Debug, PartialEq, Eq)]
enum Decoded {
    Table(String),
    Full,
    Garbled,
}

fn decode(answer: &[u8]) -> Decoded {
    let flags = long(answer, FLAGS).unwrap_or_default();
    if flags & DM_BUFFER_FULL_FLAG != 0 {
        return Decoded::Full;
    }
    match decode_targets(answer) {
        Some(table) if !table.is_empty() => Decoded::Table(table),
        _ => Decoded::Garbled,
    }
}

fn decode_targets(answer: &[u8]) -> Option<String> {
    let start = usize::try_from(long(answer, DATA_START)?).ok()?;
    let count = long(answer, TARGET_COUNT)?;
    let targets = answer.get(start..)?;
    let mut table = String::new();
    let mut at = 0;
    for _ in 0..count {
        let spec = targets.get(at..)?;
        let sector = wide(spec, 0)?;
        let length = wide(spec, 8)?;
        let name = text(spec.get(SPEC_TYPE..SPEC)?)?;
        let parameters = without_key(name, text(spec.get(SPEC..)?)?);
        table.push_str(format!("{sector} {length} {name} {parameters}").trim_end());
        table.push('\n');
        let next = usize::try_from(long(spec, SPEC_NEXT)?).ok()?;
        // Offsets count from the first target and only grow; anything else would have us walk in circles.
        if next <= at {
            break;
        }
        at = next;
    }
    Some(table)
}

/// The text before the first NUL.
fn text(bytes: &[u8]) -> Option<&str> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(bytes.get(..end)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An answer as `drivers/md/dm-ioctl.c` (`retrieve_status`) lays it out.
    fn answer(targets: &[(u64, u64, &str, &str)]) -> Vec<u8> {
        let mut answer = request(4096, 253, 0);
        put(&mut answer, TARGET_COUNT, &(targets.len() as u32).to_ne_bytes());
        let mut at = 0;
        for (start, length, name, parameters) in targets {
            let spec = HEADER + at;
            put(&mut answer, spec, &start.to_ne_bytes());
            put(&mut answer, spec + 8, &length.to_ne_bytes());
            put(&mut answer, spec + SPEC_TYPE, name.as_bytes());
            put(&mut answer, spec + SPEC, parameters.as_bytes());
            at = (at + SPEC + parameters.len() + 1).next_multiple_of(8);
            put(&mut answer, spec + SPEC_NEXT, &(at as u32).to_ne_bytes());
        }
        answer
    }

    #[test]
    fn the_request_is_laid_out_as_the_kernel_header_says() {
        let request = request(1024, 253, 300);
        assert_eq!(request.len(), 312 + 1024);
        assert_eq!(long(&request, 0), Some(4));
        assert_eq!(long(&request, 12), Some(312 + 1024));
        assert_eq!(long(&request, 16), Some(312));
        assert_eq!(long(&request, 28), Some(0x8810));
        // What a C compiler makes of `DM_TABLE_STATUS` in the kernel's header.
        assert_eq!(nix::request_code_readwrite!(0xfd, 12, HEADER), 0xc138_fd0c);
        // MKDEV(253, 300): 0x2c stays, 0x100 moves up by 12 bits.
        assert_eq!(wide(&request, 40), Some(0x0010_fd2c));
    }

    #[test]
    fn every_target_becomes_a_line_and_keys_do_not() {
        let key = "f00d".repeat(32);
        let crypt = format!("aes-xts-plain64 {key} 0 8:2 32768");
        let answer = answer(&[
            (0, 8192, "linear", "8:0 2048"),
            (8192, 4096, "crypt", &crypt),
            (12288, 8, "error", ""),
        ]);
        let want =
            "0 8192 linear 8:0 2048\n8192 4096 crypt aes-xts-plain64 :64:- 0 8:2 32768\n12288 8 error\n";
        assert_eq!(decode(&answer), Decoded::Table(want.to_owned()));
    }

    #[test]
    fn a_full_or_empty_answer_is_told() {
        let mut full = answer(&[(0, 8, "linear", "8:0 0")]);
        put(&mut full, FLAGS, &DM_BUFFER_FULL_FLAG.to_ne_bytes());
        assert_eq!(decode(&full), Decoded::Full);
        assert_eq!(decode(&answer(&[])), Decoded::Garbled);
    }

    #[test]
    fn a_device_that_is_not_there_has_no_table() {
        assert!(table(0, 0).is_err());
    }

    proptest! {
        #[test]
        fn no_answer_panics(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
            let _ = decode(&bytes);
            let mut framed = request(512, 1, 1);
            put(&mut framed, TARGET_COUNT, &u32::MAX.to_ne_bytes());
            put(&mut framed, HEADER, &bytes);
            let _ = decode(&framed);
        }
    }
}
