//! What tells the lab's headers from those of others: the UUID that it gave each of them, or the name of its pool.

use super::scan::{Medium, Signature};
use super::signatures::Class;
use super::zfs_label;

/// How the lab marks the headers that it writes.
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
    /// Whether a cipher wrote at the ends. Any magic number may stand there by chance, in a sector of random bytes.
    pub cipher_text: bool,
}

/// The smallest unit in which ciphers write.
const SECTOR: u64 = 512;

/// Where a mark stands, counted from the magic number, by the descriptions that `signatures.rs` names.
enum Place {
    /// The UUID, so many bytes before (−) or after (+) the magic number.
    Uuid(i64),
    /// The UUID as text.
    Text(i64),
    /// The identifier of a physical volume.
    Volume(i64),
    /// The name of the pool, in the ZFS label that the magic number is in.
    Pool,
}

fn place(name: &str) -> Option<Place> {
    Some(match name {
        // s_uuid at 0x68 of the superblock, s_magic at 0x38.
        "ext2, ext3 or ext4" => Place::Uuid(0x68 - 0x38),
        // sb_uuid at 32.
        "XFS" => Place::Uuid(32),
        // fsid at 0x20, magic at 0x40.
        "btrfs" => Place::Uuid(0x20 - 0x40),
        // set_uuid at 16 of `struct mdp_superblock_1`.
        "Linux md 1.2" => Place::Uuid(16),
        // uuid at 168 of both binary headers.
        "LUKS" | "secondary header of LUKS2" => Place::Text(168),
        // `struct pv_header` follows the 32 bytes of `struct label_header`.
        "LVM2 physical volume" => Place::Volume(32),
        "ZFS label" | "ZFS uberblock" => Place::Pool,
        _ => return None,
    })
}

impl Mark {
    /// Whether what stands on a medium is the lab's. Data without a format are: the device was empty before. So is what
    /// looks like a backup superblock of ext4 behind no superblock: its magic number has two bytes, which random data have
    /// once in 65536 places.
    pub(super) fn is_on(&self, signature: &Signature, medium: &dyn Medium) -> bool {
        let is_backup = signature.name == "a backup superblock of ext2, ext3 or ext4";
        if signature.class == Class::Data || is_backup {
            return true;
        }
        let place = place(signature.name);
        signature.offsets.iter().map(|magic| magic.get()).all(|magic| {
            place.as_ref().is_some_and(|place| self.stands_at(magic, place, medium))
                || (self.cipher_text && is_random(magic, medium))
        })
    }

    fn stands_at(&self, magic: u64, place: &Place, medium: &dyn Medium) -> bool {
        let (distance, wanted) = match place {
            Place::Uuid(distance) => (*distance, &self.uuid[..]),
            Place::Text(distance) => (*distance, self.text.as_bytes()),
            Place::Volume(distance) => (*distance, self.volume.as_bytes()),
            Place::Pool => return zfs_label::pool(magic, medium).is_some_and(|pool| pool == self.pool),
        };
        let found = magic.checked_add_signed(distance).and_then(|at| bytes(medium, at, wanted.len()));
        found.is_some_and(|found| found == wanted)
    }
}

/// Whether the sector around a magic number looks like cipher text: without eight equal bytes in a row. A header of any
/// format has unused fields and room for names there; of random sectors one in 10¹⁴ has such a row (505 · 2⁻⁵⁶).
fn is_random(magic: u64, medium: &dyn Medium) -> bool {
    let sector = bytes(medium, magic - magic % SECTOR, 512).unwrap_or_default();
    !sector.is_empty() && !sector.windows(8).any(|row| row.windows(2).all(|pair| pair.first() == pair.last()))
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
    use super::*;
    use crate::units::Bytes;
    use std::io;

    struct Memory(Vec<u8>);

    impl Medium for Memory {
        fn size(&self) -> Bytes {
            Bytes::new(self.0.len() as u64)
        }

        fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
            let from = usize::try_from(offset).expect("is small");
            into.copy_from_slice(&self.0[from..from + into.len()]);
            Ok(())
        }
    }

    fn mark() -> Mark {
        Mark {
            uuid: [0xab; 16],
            text: "abababab-abab-abab-abab-abababababab".to_owned(),
            volume: "a".repeat(30),
            pool: "narrows-lab-abababab".to_owned(),
            cipher_text: false,
        }
    }

    fn medium(parts: &[(usize, &[u8])]) -> Memory {
        let mut bytes = vec![0; 4 << 20];
        for (at, part) in parts {
            bytes[*at..*at + part.len()].copy_from_slice(part);
        }
        Memory(bytes)
    }

    fn is_ours(medium: &Memory, mark: &Mark) -> Vec<(&'static str, bool)> {
        let found = examine("x", medium).signatures;
        found.iter().map(|signature| (signature.name, mark.is_on(signature, medium))).collect()
    }

    #[test]
    fn a_header_is_ours_when_it_bears_our_number() {
        let text = mark().text;
        type Parts<'a> = &'a [(usize, &'a [u8])];
        let cases: [(&str, Parts<'_>); 6] = [
            ("ext2, ext3 or ext4", &[(1080, b"\x53\xef"), (1024 + 0x68, &[0xab; 16])]),
            ("XFS", &[(0, b"XFSB"), (32, &[0xab; 16])]),
            ("btrfs", &[(65_536 + 0x40, b"_BHRfS_M"), (65_536 + 0x20, &[0xab; 16])]),
            ("Linux md 1.2", &[(4096, b"\xfc\x4e\x2b\xa9"), (4112, &[0xab; 16])]),
            ("LUKS", &[(0, b"LUKS\xba\xbe"), (168, text.as_bytes())]),
            ("LVM2 physical volume", &[(512, b"LABELONE"), (544, &[b'a'; 32])]),
        ];
        for (name, parts) in cases {
            let found = is_ours(&medium(parts), &mark());
            assert!(found.contains(&(name, true)), "{name}: {found:?}");
            let foreign = is_ours(&medium(&parts[..1]), &mark());
            assert!(foreign.contains(&(name, false)), "{name}: {foreign:?}");
        }
    }

    #[test]
    fn a_zfs_label_is_ours_when_it_names_our_pool() {
        let ours = zfs_label::tests::label(&[("version", None), ("name", Some("narrows-lab-abababab"))]);
        let other = zfs_label::tests::label(&[("name", Some("narrows-lab-abababac"))]);
        let label = |at: usize| at * (256 << 10);
        // The last of four is at the end of 4 MiB.
        let magic = b"\x11\x7a\x0c\xb1\x7a\xda\x10\x02";
        let end = (128 << 10) - 40;
        let uberblock = (128 << 10, b"\x0c\xb1\xba\0\0\0\0\0".as_slice());
        for at in [0, 1, 14, 15].map(label) {
            let parts = |list: &[u8], uberblock: (usize, &[u8])| {
                medium(&[(at + (16 << 10), list), (at + end, magic), (at + uberblock.0, uberblock.1)])
            };
            let found = is_ours(&parts(&ours, uberblock), &mark());
            assert!(
                found.contains(&("ZFS label", true)) && found.contains(&("ZFS uberblock", true)),
                "{found:?}"
            );
            let found = is_ours(&parts(&other, uberblock), &mark());
            assert!(found.contains(&("ZFS label", false)) && found.contains(&("ZFS uberblock", false)));
            let torn = medium(&[(at + uberblock.0, uberblock.1)]);
            assert!(is_ours(&torn, &mark()).contains(&("ZFS uberblock", false)), "no name, so in doubt");
        }
        let mixed = medium(&[(16 << 10, &ours), (end, magic), ((256 << 10) + end, magic)]);
        assert!(is_ours(&mixed, &mark()).contains(&("ZFS label", false)), "one of two has another's name");
    }

    #[test]
    fn what_the_lab_never_writes_is_not_ours_unless_a_cipher_wrote() {
        let noise: Vec<u8> =
            (0..1024_u32).map(|at| (at * at * 31 + at * 7) as u8 ^ (at >> 3) as u8).collect();
        let magics: &[(usize, &[u8])] = &[(510, b"\x55\xaa"), (512, b"EFI PART")];
        let (table, by_chance) = (medium(magics), medium(&[&[(0, noise.as_slice())], magics].concat()));
        let cipher = Mark { cipher_text: true, ..mark() };
        for foreign in [is_ours(&table, &mark()), is_ours(&by_chance, &mark()), is_ours(&table, &cipher)] {
            assert!(foreign.iter().any(|(_, ours)| !ours), "{foreign:?}");
        }
        let found = is_ours(&by_chance, &cipher);
        assert!(found.len() > 1 && found.iter().all(|(_, ours)| *ours), "{found:?}");
        assert!(is_ours(&medium(&[(77, b"x")]), &mark()).iter().all(|(_, ours)| *ours), "data alone");
    }

    #[test]
    fn a_file_system_that_came_after_a_cipher_is_not_taken_for_cipher_text() {
        let cipher = Mark { cipher_text: true, ..mark() };
        // A superblock of ext4 has more fields than these, and as many that are zero.
        let ext = medium(&[(1024, &[3; 40]), (1080, b"\x53\xef"), (1024 + 0x68, &[0xcd; 16])]);
        assert!(is_ours(&ext, &cipher).contains(&("ext2, ext3 or ext4", false)));
        let ours = medium(&[(1080, b"\x53\xef"), (1024 + 0x68, &[0xab; 16])]);
        assert!(is_ours(&ours, &cipher).contains(&("ext2, ext3 or ext4", true)));
    }
}
