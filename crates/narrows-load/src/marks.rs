//! Marks in what is written to a device of the user's: after a run that was killed they tell our sectors from those of
//! others.
//!
//! Each sector of 512 bytes that is not all zeros bears one, made once when the memory of a run is filled: which device it
//! was written to, where the region ends that the run may write, and a checksum of the rest. The first sector of each block also has the [stamp](super::stamp), which
//! says where it belongs; so a copy of a block at another place, or on another device, is not ours.

use super::stamp::{HEAD, MAGIC};
use narrows_base::units::Bytes;

/// The smallest sector there is; what ends half-way ends between two of these.
pub(super) const SECTOR: usize = 512;
/// "narrows;" in ASCII.
const SIGN: u64 = u64::from_le_bytes(*b"narrows;");
/// Where the body behind the mark begins: the mark is four words behind the head.
const BODY: usize = HEAD + 32;
/// A block has at most so many sectors behind its first.
const FOLLOWERS: u32 = 7;

/// What tells a device from all others: made of its identity and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceKey(u64);

impl DeviceKey {
    /// The key of the device with this serial number (or what else names it) and size.
    pub fn of(identity: &str, size: Bytes) -> Self {
        let bytes = identity.bytes().map(u64::from);
        Self(bytes.chain([size.get(), identity.len() as u64]).fold(SIGN, absorb))
    }

    /// Marks of a run that may write up to `end`.
    pub(super) const fn marker(self, end: Bytes) -> Marker {
        Marker { key: self, end }
    }

    /// Where the region of the run ends that wrote a sector, if its mark is that of this device.
    pub(super) fn end_in(self, sector: &[u8]) -> Option<Bytes> {
        let is_head = sector.chunks_exact(8).map(word).next() == Some(MAGIC);
        self.read(sector, is_head)
    }

    /// The mark of a sector: where the region of its run ends.
    fn read(self, sector: &[u8], is_head: bool) -> Option<Bytes> {
        let mut mark = sector.get(HEAD..BODY)?.chunks_exact(8).map(word);
        let mut next = || mark.next().unwrap_or(0);
        let (sign, key, end) = (next(), next(), next());
        let marker = self.marker(Bytes::new(end));
        (sign == SIGN && key == self.0 && next() == marker.checksum(sector, is_head)).then_some(marker.end)
    }
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
            let words = [SIGN, self.key.0, self.end.get(), self.checksum(sector, is_head)];
            let places = sector.get_mut(HEAD..BODY).unwrap_or_default().chunks_exact_mut(8);
            places.zip(words).for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
        }
    }

    /// What the mark covers: everything but itself, and but the stamp, which changes with each write.
    fn checksum(self, sector: &[u8], is_head: bool) -> u64 {
        let before = if is_head { &[] } else { sector.get(..HEAD).unwrap_or_default() };
        let behind = sector.get(BODY..).unwrap_or_default();
        let words = before.chunks_exact(8).chain(behind.chunks_exact(8)).map(word);
        words.fold(absorb(self.key.0 ^ u64::from(is_head), self.end.get()), absorb)
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

/// One step of the checksum. For each word it is one-to-one in the state and, for each state, one-to-one in the word, so
/// a change inside a single word always changes the result. The factor is that of SplitMix64.
fn absorb(state: u64, word: u64) -> u64 {
    (state ^ word).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(29)
}

static ZEROS: [u8; 4096] = [0; 4096];

/// Whether all of it is zeros. Comparing with zeros is what makes this fast.
pub(super) fn is_zero(bytes: &[u8]) -> bool {
    bytes.chunks(ZEROS.len()).all(|part| ZEROS.get(..part.len()) == Some(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::squeeze;
    use crate::random::Random;
    use crate::stamp::Stamp;
    use proptest::prelude::*;

    fn key() -> DeviceKey {
        DeviceKey::of("S3RIAL", Bytes::from_mib(64))
    }

    const END: Bytes = Bytes::from_mib(7);

    /// A block of `size` bytes as a run writes it to `offset`.
    fn block(size: usize, offset: u64, zeros: u8) -> Vec<u8> {
        let mut block = vec![0; size];
        Random::seeded(offset + 1).fill(&mut block);
        squeeze(&mut block, zeros, size);
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
                (0..4096 / size).flat_map(|index| block(size, (index * size) as u64, 0)).collect();
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
        for sector in block(4096, 0, 0).chunks(512) {
            assert_eq!(key().end_in(sector), Some(END));
        }
        assert_eq!(key().end_in(&[0; 512]), None);
    }

    #[test]
    fn small_blocks_over_large_ones_are_all_ours() {
        let mut mixed = block(4096, 8192, 0);
        mixed[..512].copy_from_slice(&block(512, 8192, 0));
        mixed[2048..3072].copy_from_slice(&block(1024, 8192 + 2048, 0));
        assert_eq!(judged(Some(key()), 8192, &mixed), [Sector::Ours; 8]);
    }

    #[test]
    fn compressible_blocks_are_ours_or_zeros() {
        for percent in [1, 12, 13, 25, 50, 87, 99, 100] {
            let block = block(4096, 0, percent);
            let judged = judged(Some(key()), 0, &block);
            assert!(!judged.contains(&Sector::Foreign) && judged[0] == Sector::Ours, "{percent}: {judged:?}");
        }
    }

    #[test]
    fn a_copy_elsewhere_or_on_another_device_is_not_ours() {
        let copy = block(4096, 4096, 0);
        assert_eq!(judged(Some(key()), 8192, &copy), [Sector::Foreign; 8]);
        for other in
            [DeviceKey::of("S3RIAL", Bytes::from_mib(65)), DeviceKey::of("S3RIA", Bytes::from_mib(64))]
        {
            assert_eq!(judged(Some(other), 4096, &copy), [Sector::Foreign; 8]);
        }
        assert_eq!(judged(None, 4096, &copy), [Sector::Foreign; 8]);
        let both = [copy, block(4096, 12_288, 0)].concat();
        assert_eq!(judged(Some(key()), 8192, &both)[8..], [Sector::Ours; 8], "what follows a copy is ours");
    }

    proptest! {
        #[test]
        fn one_changed_byte_makes_its_sector_foreign(at in HEAD..4096_usize, by in 1_u8..) {
            let mut changed = block(4096, 0, 0);
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
