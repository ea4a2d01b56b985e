//! Marks in what is written to a device of the user's: after a run that was killed they tell our sectors from those of
//! others.
//!
//! Each sector of 512 bytes that is not all zeros bears one, made once when the memory of a run is filled: where the region
//! ends that the run may write, and a keyed hash of that and of the rest of the sector. The key is made of the device and of
//! a secret of the run that only its journal holds, so nobody else can make a mark. The first sector of each block also has
//! the [stamp](super::stamp), which says where it belongs; so a copy of a block at another place, or on another device, is not ours.

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use narrows_base::units::Bytes;

/// The smallest sector there is; what ends half-way ends between two of these.
pub(super) const SECTOR: usize = 512;
/// "narrows;" in ASCII.
const SIGN: u64 = u64::from_le_bytes(*b"narrows;");
/// Where the hash of the mark stands, behind its sign and the end of the region.
const HASH: usize = HEAD + 16;
/// Where the body behind the mark begins.
const BODY: usize = HEAD + 32;
/// A block has at most so many sectors behind its first.
const FOLLOWERS: u32 = 7;

/// HMAC-SHA-256 (RFC 2104) of these parts, one after another.
pub fn keyed_hash(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    // The hash takes a key of any length.
    let Ok(mut hash) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().into_bytes().into()
}

/// 32 random bytes of one run, which nobody knows who cannot read its journal.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSecret([u8; 32]);

impl RunSecret {
    /// These bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// A new one.
    ///
    /// # Errors
    /// The kernel has no random numbers.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }
}

impl std::fmt::Debug for RunSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RunSecret")
    }
}

/// Tells what a run wrote to a device from all else: made of the run's secret and of the device's identity and size.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DeviceKey([u8; 32]);

impl std::fmt::Debug for DeviceKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DeviceKey")
    }
}

impl DeviceKey {
    /// The key of a run on the device with this serial number (or what else names it) and size.
    pub fn of(secret: &RunSecret, identity: &str, size: Bytes) -> Self {
        Self(keyed_hash(&secret.0, &[&size.get().to_le_bytes(), identity.as_bytes()]))
    }

    /// Marks of a run that may write up to `end`.
    pub(super) const fn marker(self, end: Bytes) -> Marker {
        Marker { key: self, end }
    }

    /// Where the region of the run ends that wrote a sector, if its mark is that of this run on this device.
    pub(super) fn end_in(self, sector: &[u8]) -> Option<Bytes> {
        let is_head = sector.chunks_exact(8).map(word).next() == Some(MAGIC);
        self.read(sector, is_head)
    }

    /// The mark of a sector: where the region of its run ends.
    fn read(self, sector: &[u8], is_head: bool) -> Option<Bytes> {
        if !is_signed(sector) {
            return None;
        }
        let marker = self.marker(Bytes::new(word(sector.get(HEAD + 8..HASH)?)));
        (sector.get(HASH..BODY)? == marker.hash(sector, is_head)).then_some(marker.end)
    }
}

/// Whether a sector bears the sign of narrows, whichever run wrote it, or somebody who imitates one.
pub(super) fn is_signed(sector: &[u8]) -> bool {
    sector.get(HEAD..HEAD + 8) == Some(&SIGN.to_le_bytes())
}

/// Marks what a run writes to one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marker {
    pub(super) key: DeviceKey,
    end: Bytes,
}

impl Marker {
    /// Marks every sector of a block that is not all zeros. Call this before its stamp is put.
    pub(super) fn mark(self, block: &mut [u8]) {
        for (index, sector) in block.chunks_exact_mut(SECTOR).enumerate() {
            let is_head = index == 0;
            if !is_head && sector.iter().all(|byte| *byte == 0) {
                continue;
            }
            let words = [SIGN, self.end.get()].map(u64::to_le_bytes).concat();
            let mark = [&words[..], &self.hash(sector, is_head)].concat();
            if let Some(place) = sector.get_mut(HEAD..BODY) {
                place.copy_from_slice(&mark);
            }
        }
    }

    /// What the mark covers: everything but itself, and but the stamp, which changes with each write. 128 bits of the hash.
    fn hash(self, sector: &[u8], is_head: bool) -> [u8; 16] {
        let before = if is_head { &[] } else { sector.get(..HEAD).unwrap_or_default() };
        let behind = sector.get(BODY..).unwrap_or_default();
        let end = self.end.get().to_le_bytes();
        let hash = keyed_hash(&self.key.0, &[&[u8::from(is_head)], &end, before, behind]);
        *hash.first_chunk().unwrap_or(&[0; 16])
    }
}

/// What a sector turns out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sector {
    /// Nothing but zeros.
    Zero,
    /// It bears our mark.
    Ours,
    /// Somebody else's.
    Foreign,
}

/// Judges sectors one after another.
#[derive(Debug)]
pub(super) struct Judge {
    key: Option<DeviceKey>,
    /// How many more sectors belong to a block that is a copy of one of ours.
    copied: u32,
}

impl Judge {
    /// Nothing is ours without a key.
    pub(super) fn new(key: Option<DeviceKey>) -> Self {
        Self { key, copied: 0 }
    }

    /// What the sector at `offset` is. `sector` is shorter only at the end of a medium.
    pub(super) fn judge(&mut self, offset: u64, sector: &[u8]) -> Sector {
        if is_zero(sector) {
            self.copied = self.copied.saturating_sub(1);
            return Sector::Zero;
        }
        let mut words = sector.chunks_exact(8).map(word);
        let is_head = words.next() == Some(MAGIC);
        let belongs_at = words.nth(1);
        if self.key.is_none_or(|key| key.read(sector, is_head).is_none()) {
            self.copied = self.copied.saturating_sub(1);
            return Sector::Foreign;
        }
        if is_head {
            self.copied = if belongs_at == Some(offset) { 0 } else { FOLLOWERS };
            return if self.copied == 0 { Sector::Ours } else { Sector::Foreign };
        }
        let is_copy = self.copied > 0;
        self.copied = self.copied.saturating_sub(1);
        if is_copy { Sector::Foreign } else { Sector::Ours }
    }

    /// Sectors from `start` on, each with its offset.
    pub(super) fn sectors<'a>(
        &'a mut self,
        start: u64,
        bytes: &'a [u8],
    ) -> impl Iterator<Item = (u64, Sector)> + 'a {
        let offsets = (0..).map(move |index: u64| start.saturating_add(index * SECTOR as u64));
        offsets.zip(bytes.chunks(SECTOR)).map(|(offset, sector)| (offset, self.judge(offset, sector)))
    }
}

/// Eight bytes as a number.
fn word(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

static ZEROS: [u8; 4096] = [0; 4096];

/// Whether all of it is zeros. Comparing with zeros is what makes this fast.
pub(super) fn is_zero(bytes: &[u8]) -> bool {
    bytes.chunks(ZEROS.len()).all(|part| ZEROS.get(..part.len()) == Some(part))
}

/// Bytes of a stamped block, unless I/Os are smaller.
pub(super) const STAMPED: u64 = 4096;
/// The smallest block that is stamped: the smallest sector there is.
pub(super) const SMALLEST: u64 = 512;
/// Bytes that are kept for a stamp, of which it takes 32. What an earlier version left on a device has its marks behind them.
pub(super) const HEAD: usize = 40;
/// "narrows1" in ASCII.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"narrows1");

/// The stamp of one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Tells runs apart.
    pub(super) seed: u64,
    /// Where the block belongs, in bytes.
    pub(super) offset: u64,
    /// Which write of its worker it is from, from 1.
    pub(super) generation: u64,
}

impl Stamp {
    /// Writes the stamp into a block.
    pub(super) fn put(self, block: &mut [u8]) {
        let words = [MAGIC, self.seed, self.offset, self.generation];
        for (place, word) in block.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::Stamp;
    use crate::random::Random;
    use proptest::prelude::*;

    const SECRET: RunSecret = RunSecret::new([7; 32]);

    fn key() -> DeviceKey {
        DeviceKey::of(&SECRET, "S3RIAL", Bytes::from_mib(64))
    }

    #[test]
    fn the_hash_is_that_of_its_publication() {
        // RFC 4231, test case 1; its key is filled with zeros to the length of a block, as ours is.
        let mut key = [0; 32];
        key[..20].fill(0x0b);
        let hash = keyed_hash(&key, &[b"Hi ", b"There"]);
        assert_eq!(hash[..8], [0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53]);
    }

    const END: Bytes = Bytes::from_mib(7);

    /// A block of `size` bytes as a run writes it to `offset`.
    fn block(size: usize, offset: u64) -> Vec<u8> {
        let mut block = vec![0; size];
        Random::seeded(offset + 1).fill(&mut block);
        key().marker(END).mark(&mut block);
        Stamp { seed: 5, offset, generation: 9 }.put(&mut block);
        block
    }

    fn judged(key: Option<DeviceKey>, start: u64, bytes: &[u8]) -> Vec<Sector> {
        Judge::new(key).sectors(start, bytes).map(|(_, sector)| sector).collect()
    }

    #[test]
    fn every_sector_that_was_written_is_ours_whatever_block_it_was_part_of() {
        for size in [512, 1024, 2048, 4096] {
            let whole: Vec<u8> =
                (0..4096 / size).flat_map(|index| block(size, (index * size) as u64)).collect();
            assert_eq!(judged(Some(key()), 0, &whole), [Sector::Ours; 8], "{size}");
            // Each sector alone, as after a write that was torn.
            for (index, sector) in whole.chunks(512).enumerate() {
                let mut torn = vec![0; 4096];
                torn[index * 512..][..512].copy_from_slice(sector);
                let ours = judged(Some(key()), 0, &torn);
                assert_eq!(ours.iter().filter(|one| **one == Sector::Ours).count(), 1, "{size} {index}");
                assert!(!ours.contains(&Sector::Foreign));
            }
        }
    }

    #[test]
    fn every_marked_sector_tells_where_the_region_of_its_run_ends() {
        for sector in block(4096, 0).chunks(512) {
            assert_eq!(key().end_in(sector), Some(END));
        }
        assert_eq!(key().end_in(&[0; 512]), None);
    }

    #[test]
    fn small_blocks_over_large_ones_are_all_ours() {
        let mut mixed = block(4096, 8192);
        mixed[..512].copy_from_slice(&block(512, 8192));
        mixed[2048..3072].copy_from_slice(&block(1024, 8192 + 2048));
        assert_eq!(judged(Some(key()), 8192, &mixed), [Sector::Ours; 8]);
    }

    #[test]
    fn a_copy_elsewhere_or_what_another_run_or_device_has_is_not_ours() {
        let copy = block(4096, 4096);
        assert_eq!(judged(Some(key()), 8192, &copy), [Sector::Foreign; 8]);
        for (secret, identity, mib) in
            [(SECRET, "S3RIAL", 65), (SECRET, "S3RIA", 64), (RunSecret([8; 32]), "S3RIAL", 64)]
        {
            let other = DeviceKey::of(&secret, identity, Bytes::from_mib(mib));
            assert_eq!(judged(Some(other), 4096, &copy), [Sector::Foreign; 8]);
        }
        assert_eq!(judged(None, 4096, &copy), [Sector::Foreign; 8]);
        let both = [copy, block(4096, 12_288)].concat();
        assert_eq!(judged(Some(key()), 8192, &both)[8..], [Sector::Ours; 8], "what follows a copy is ours");
    }

    proptest! {
        #[test]
        fn one_changed_byte_makes_its_sector_foreign(at in HEAD..4096_usize, by in 1_u8..) {
            let mut changed = block(4096, 0);
            changed[at] ^= by;
            let judged = judged(Some(key()), 0, &changed);
            for (index, sector) in judged.iter().enumerate() {
                prop_assert_eq!(*sector == Sector::Foreign, index == at / 512);
            }
        }

        #[test]
        fn random_bytes_are_never_ours(bytes in proptest::collection::vec(any::<u8>(), 1..3000)) {
            prop_assert!(judged(Some(key()), 0, &bytes).iter().all(|one| *one != Sector::Ours));
        }
    }
}
