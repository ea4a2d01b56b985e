//! What tells the lab's structures from those of others: the UUID that it gave each of them, or the name of its pool. A
//! structure that bears it is the lab's as far as its format says that it reaches, and no byte further.

use std::ops::Range;

use super::super::marks::{DeviceKey, SECTOR};
use super::scan::Medium;
use super::zfs_label;

/// How the lab marks what it writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The 16 bytes of its UUID.
    pub uuid: [u8; 16],
    /// The UUID as LUKS writes it, in text.
    pub text: String,
    /// What LVM keeps of a physical volume: the first 30 of 32 characters.
    pub volume: String,
    /// The name of its ZFS pool.
    pub pool: String,
    /// How the load engine marks what it writes for it.
    pub key: DeviceKey,
}

/// What is looked at as one: no structure below is divided by a multiple of it.
pub(super) const UNIT: usize = 4096;
/// The size of a ZFS label, and where in it that begins which is written.
const LABEL: u64 = 256 << 10;
const LIST: u64 = 16 << 10;

/// A structure, by the descriptions that `signatures` names.
struct Structure {
    /// Its first bytes stand at multiples of this in a unit, and so many bytes behind that.
    every: usize,
    shift: usize,
    magic: &'static [u8],
    /// Where the mark stands, counted from the magic number.
    mark: isize,
    which: Which,
    /// Where it begins, counted from the magic number, and how long it is.
    begin: isize,
    length: usize,
}

enum Which {
    Uuid,
    Text,
    Volume,
}

const STRUCTURES: [Structure; 8] = [
    // ext2, ext3, ext4: s_magic at 0x38, s_uuid at 0x68; copies begin at blocks of 1 KiB or more.
    structure(1024, 0x38, b"\x53\xef", 0x30, Which::Uuid, -0x38, 1024),
    // XFS: sb_uuid at 32; copies begin where allocation groups do. A sector, of at least 512 bytes.
    structure(512, 0, b"XFSB", 32, Which::Uuid, 0, 512),
    // btrfs: fsid at 0x20, magic at 0x40, and copies.
    structure(UNIT, 0x40, b"_BHRfS_M", -0x20, Which::Uuid, -0x40, 4096),
    // md: set_uuid at 16 of `struct mdp_superblock_1`, which has 256 bytes and two for each member; room for 384.
    structure(UNIT, 0, b"\xfc\x4e\x2b\xa9", 16, Which::Uuid, 0, 1024),
    // md's write-intent bitmap: uuid at 8 of `struct bitmap_super_s`, 256 bytes.
    structure(512, 0, b"bitm", 8, Which::Uuid, 0, 256),
    // LUKS: uuid at 168 of both binary headers; LUKS1 is shorter, and what follows it is part of its header.
    structure(UNIT, 0, b"LUKS\xba\xbe", 168, Which::Text, 0, 4096),
    structure(UNIT, 0, b"SKUL\xba\xbe", 168, Which::Text, 0, 4096),
    // LVM: the label in one of the first four sectors; `struct pv_header` follows its 32 bytes.
    structure(512, 0, b"LABELONE", 32, Which::Volume, 0, 512),
];

const fn structure(
    every: usize,
    shift: usize,
    magic: &'static [u8],
    mark: isize,
    which: Which,
    begin: isize,
    length: usize,
) -> Structure {
    Structure { every, shift, magic, mark, which, begin, length }
}

impl Structure {
    /// The places of its magic number in a unit.
    fn places(&self) -> impl Iterator<Item = usize> {
        (0..UNIT / self.every).map(|index| index * self.every + self.shift)
    }
}

impl Mark {
    /// The parts of a unit that are structures with this mark.
    pub(super) fn on(&self, unit: &[u8]) -> Vec<Range<usize>> {
        let found = |structure: &Structure| {
            let is_ours = |at: &usize| self.stands(structure, *at, unit);
            let range = |at: usize| {
                let start = at.saturating_add_signed(structure.begin);
                start..start.saturating_add(structure.length).min(unit.len())
            };
            structure.places().filter(is_ours).map(range).collect::<Vec<_>>()
        };
        let sectors = unit.chunks_exact(SECTOR).zip((0..).step_by(SECTOR));
        // Below an array or a volume a block stands elsewhere than where it was written to, so its place does not count.
        let marked = sectors.filter(|(sector, _)| self.key.end_in(sector).is_some());
        let marked = marked.map(|(_, start)| start..start + SECTOR);
        STRUCTURES.iter().flat_map(found).chain(marked).collect()
    }

    fn stands(&self, structure: &Structure, at: usize, unit: &[u8]) -> bool {
        let wanted = match structure.which {
            Which::Uuid => &self.uuid[..],
            Which::Text => self.text.as_bytes(),
            Which::Volume => self.volume.as_bytes(),
        };
        let part = |at: usize, length: usize| unit.get(at..at.checked_add(length)?);
        part(at, structure.magic.len()) == Some(structure.magic)
            && at.checked_add_signed(structure.mark).is_some_and(|at| part(at, wanted.len()) == Some(wanted))
    }

    /// The parts of the four ZFS labels of what lies from `start` to `end` of a medium, as far as they name the pool.
    pub(super) fn labels(&self, medium: &dyn Medium, start: u64, end: u64) -> Vec<Range<u64>> {
        let last = end - (end - start) % LABEL;
        let places =
            [Some(start), start.checked_add(LABEL), last.checked_sub(2 * LABEL), last.checked_sub(LABEL)];
        let inside = |at: &u64| *at >= start && at.saturating_add(LABEL) <= end && at.is_multiple_of(LABEL);
        let is_ours = |at: &u64| zfs_label::pool(*at, medium).is_some_and(|pool| pool == self.pool);
        let mut found: Vec<u64> = places.into_iter().flatten().filter(inside).filter(is_ours).collect();
        found.dedup();
        found.into_iter().map(|at| at + LIST..at + LABEL).collect()
    }
}

/// `length` bytes from `at`, which no block of 64 KiB divides in any of the formats above.
pub(super) fn bytes(medium: &dyn Medium, at: u64, length: usize) -> Option<Vec<u8>> {
    const BLOCK: u64 = 64 << 10;
    let start = at - at % BLOCK;
    let mut block = vec![0; usize::try_from(medium.size().get().checked_sub(start)?.min(BLOCK)).ok()?];
    medium.read(start, &mut block).ok()?;
    let within = usize::try_from(at - start).ok()?;
    block.get(within..within.checked_add(length)?).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::super::scan::examine;
    use super::super::testing::{key, label, mark, medium};
    use super::*;
    use narrows_base::units::Bytes;
    use proptest::prelude::*;

    type Parts<'a> = &'a [(usize, &'a [u8])];

    #[test]
    fn a_structure_is_ours_when_it_bears_our_number_and_as_far_as_it_reaches() {
        let text = mark().text;
        let cases: [(&str, Parts<'_>, Range<usize>); 8] = [
            ("ext2, ext3 or ext4", &[(1080, b"\x53\xef"), (1024 + 0x68, &[0xab; 16])], 1024..2048),
            ("XFS", &[(0, b"XFSB"), (32, &[0xab; 16])], 0..512),
            ("btrfs", &[(0x40, b"_BHRfS_M"), (0x20, &[0xab; 16])], 0..4096),
            ("Linux md 1.2", &[(0, b"\xfc\x4e\x2b\xa9"), (16, &[0xab; 16])], 0..1024),
            ("bitmap", &[(0, b"bitm"), (8, &[0xab; 16])], 0..256),
            ("LUKS", &[(0, b"LUKS\xba\xbe"), (168, text.as_bytes())], 0..4096),
            ("secondary LUKS", &[(0, b"SKUL\xba\xbe"), (168, text.as_bytes())], 0..4096),
            ("LVM2", &[(512, b"LABELONE"), (544, &[b'a'; 32])], 512..1024),
        ];
        for (name, parts, range) in cases {
            assert_eq!(mark().on(&medium(parts).0[..UNIT]), [range], "{name}");
            for foreign in [&parts[..1], &parts[1..]] {
                assert!(mark().on(&medium(foreign).0[..UNIT]).is_empty(), "{name}");
            }
        }
    }

    #[test]
    fn what_is_told_apart_here_is_what_the_guard_finds() {
        for (name, parts) in [
            ("ext2, ext3 or ext4", &[(1080, b"\x53\xef".as_slice())][..]),
            ("XFS", &[(0, b"XFSB")]),
            ("btrfs", &[(65_536 + 0x40, b"_BHRfS_M")]),
            ("Linux md 1.2", &[(4096, b"\xfc\x4e\x2b\xa9")]),
            ("LUKS", &[(0, b"LUKS\xba\xbe")]),
            ("LVM2 physical volume", &[(512, b"LABELONE")]),
        ] {
            let found = examine("x", &medium(parts)).signatures;
            assert!(found.iter().any(|signature| signature.name == name), "{name}: {found:?}");
        }
    }

    #[test]
    fn a_copy_of_a_superblock_is_ours_wherever_its_format_puts_one() {
        for at in [0, 1024, 3072] {
            let copy = medium(&[(at + 0x38, b"\x53\xef"), (at + 0x68, &[0xab; 16])]);
            assert_eq!(mark().on(&copy.0[..UNIT]), vec![at..at + 1024; 1]);
        }
        let odd = medium(&[(512 + 0x38, b"\x53\xef"), (512 + 0x68, &[0xab; 16])]);
        assert!(mark().on(&odd.0[..UNIT]).is_empty());
    }

    #[test]
    fn test_data_are_ours_by_their_mark_wherever_they_came_to_stand() {
        let block = |key: DeviceKey| {
            let mut block: Vec<u8> = (0..UNIT).map(|at| (at * 7 + at / 256) as u8 | 1).collect();
            key.marker(Bytes::from_mib(9)).mark(&mut block);
            // Its stamp, by which the first sector is told from those that follow.
            block[..8].copy_from_slice(b"narrows1");
            block
        };
        let ours = mark().on(&block(mark().key));
        assert_eq!(ours, (0..8).map(|index| index * SECTOR..(index + 1) * SECTOR).collect::<Vec<_>>());
        assert!(mark().on(&block(key(2))).is_empty());
        let mut torn = block(mark().key);
        torn[700] ^= 1;
        assert_eq!(mark().on(&torn).len(), 7);
    }

    #[test]
    fn a_zfs_label_is_ours_when_it_names_our_pool() {
        let ours = label(&[("version", None), ("name", Some("narrows-lab-abababab"))]);
        let other = label(&[("name", Some("narrows-lab-abababac"))]);
        let at = |index: u64| index * LABEL;
        for index in [0, 1, 14, 15] {
            let place = usize::try_from(at(index) + LIST).unwrap();
            let found = |list: &[u8]| mark().labels(&medium(&[(place, list)]), 0, 4 << 20);
            assert_eq!(found(&ours), vec![at(index) + LIST..at(index + 1); 1]);
            assert!(found(&other).is_empty());
        }
        let elsewhere = medium(&[((1 << 20) + (16 << 10), &ours)]);
        assert!(mark().labels(&elsewhere, 0, 4 << 20).is_empty(), "where no label is");
        assert_eq!(mark().labels(&elsewhere, 1 << 20, 3 << 20).len(), 1, "where the slice begins");
    }

    proptest! {
        #[test]
        fn random_bytes_are_never_ours(unit in prop::collection::vec(any::<u8>(), 0..5000)) {
            prop_assert!(mark().on(&unit).is_empty());
        }
    }
}
