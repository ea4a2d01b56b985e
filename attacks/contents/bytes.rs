//! Kinds that are no format: nothing but bytes.

use std::io::Result;

use super::super::device::MIB;
use super::{Image, Kind, Make};

const fn plain(name: &'static str, fill: fn(&mut Image<'_>) -> Result<()>) -> Kind {
    Kind { name, words: &[], make: Make::Bytes(fill) }
}

/// All of them.
pub(super) const KINDS: &[Kind] = &[
    plain("raw text", |image| image.put(0, &b"PRECIOUS".repeat(1000))),
    plain("ascii log", |image| {
        let lines = (0..90_000)
            .map(|line| format!("Nov 23 09:17:{:02} host sshd[{line}]: session opened\n", line % 60));
        image.put(0, lines.collect::<String>().as_bytes())
    }),
    plain("random", |image| {
        let bytes = image.random.bytes(3 << 20);
        image.put(0, &bytes)
    }),
    plain("single byte", |image| image.put(0, &[1])),
    plain("last byte of a block", |image| image.put(4095, &[0x80])),
    plain("a block every 32 MiB", |image| {
        for at in (0..image.size).step_by(usize::try_from(32 * MIB).unwrap_or(usize::MAX)) {
            let block = image.random.bytes(4096);
            image.put(at, &block)?;
        }
        Ok(())
    }),
    plain("0xff fill", |image| image.put(0, &vec![0xff; 8 << 20])),
    plain("zeros with a mark in each sector", |image| {
        let mut bytes = vec![0; 4 << 20];
        bytes.iter_mut().skip(511).step_by(512).for_each(|byte| *byte = 1);
        image.put(0, &bytes)
    }),
    plain("ciphertext with a detached header", |image| {
        for at in [0, 5, 16, 48, 99, 150, 222, 300] {
            let bytes = image.random.bytes(1 << 20);
            image.put(at * MIB, &bytes)?;
        }
        Ok(())
    }),
    plain("veracrypt volume", |image| {
        let header = image.random.bytes(128 << 10);
        image.put(0, &header)?;
        image.put_before_end(128 << 10, &header)?;
        for at in [2, 64, 130, 260] {
            let bytes = image.random.bytes(256 << 10);
            image.put(at * MIB + 128 * 1024, &bytes)?;
        }
        Ok(())
    }),
    plain("database pages", |image| {
        for page in 0..600_u64 {
            let mut bytes = vec![0; 16_384];
            bytes[..4].copy_from_slice(&0x45bf_u32.to_be_bytes());
            bytes[4..12].copy_from_slice(&page.to_be_bytes());
            image.put(page * 16_384, &bytes)?;
        }
        Ok(())
    }),
    plain("a photo archive", |image| {
        for picture in 0..20_u64 {
            let mut bytes = image.random.bytes(700_000);
            bytes[..11].copy_from_slice(b"\xff\xd8\xff\xe0\0\x10JFIF\0");
            image.put(picture * 2 * MIB + 4096, &bytes)?;
        }
        Ok(())
    }),
    // What a killed bench of a version that marked nothing looks like: bytes that nobody can tell from a volume.
    plain("leftovers of an old bench", |image| {
        for at in (1..280).step_by(9) {
            let bytes = image.random.bytes(64 << 10);
            image.put(at * MIB, &bytes)?;
        }
        Ok(())
    }),
];
