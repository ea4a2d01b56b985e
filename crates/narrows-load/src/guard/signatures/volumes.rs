//! Volumes, pools, caches and encryption.

use super::Class::{Cache, Encryption, Volume};
use super::{Format, GIB, KIB, LABEL, MIB, at, end_of, format};

/// In the order in which they are looked for.
pub(super) const FORMATS: &[Format] = &[
    // Volumes, pools and stacked devices.
    format(
        "LVM2 physical volume",
        Volume,
        &[at(0).every(512, 4)],
        &[b"LABELONE"],
        "lvm2 lib/label/label.h: LABEL_ID in one of the first four sectors (LABEL_SCAN_SECTORS)",
    ),
    format(
        "LVM1 physical volume",
        Volume,
        &[at(0)],
        &[b"HM\x01\0", b"HM\x02\0"],
        "Linux 2.4 include/linux/lvm.h: LVM_ID",
    ),
    format(
        "ZFS label",
        Volume,
        &[
            at(128 * KIB - 40),
            at(LABEL + 128 * KIB - 40),
            end_of(LABEL, 2 * LABEL).plus(128 * KIB - 40),
            end_of(LABEL, LABEL).plus(128 * KIB - 40),
        ],
        &[b"\x11\x7a\x0c\xb1\x7a\xda\x10\x02", b"\x02\x10\xda\x7a\xb1\x0c\x7a\x11"],
        "OpenZFS include/sys/zio.h: ZEC_MAGIC ends the name-value list of each of the four labels (vdev_impl.h)",
    ),
    format(
        "ZFS uberblock",
        Volume,
        &[
            at(128 * KIB).every(KIB, 128),
            at(LABEL + 128 * KIB).every(KIB, 128),
            end_of(LABEL, 2 * LABEL).plus(128 * KIB).every(KIB, 128),
            end_of(LABEL, LABEL).plus(128 * KIB).every(KIB, 128),
        ],
        &[b"\x0c\xb1\xba\0\0\0\0\0", b"\0\0\0\0\0\xba\xb1\x0c"],
        "OpenZFS include/sys/uberblock_impl.h: UBERBLOCK_MAGIC 0x00bab10c; ZFS On-Disk Specification, 1.3",
    ),
    format(
        "DRBD",
        Volume,
        &[end_of(4096, 4096).plus(60), end_of(4096, 128 * MIB).plus(60), at(60)],
        &[b"\x83\x74\x02\x6a", b"\x83\x74\x02\x6b", b"\x83\x74\x02\x6c", b"\x83\x74\x02\x6d"],
        "drbd-utils user/shared/drbdmeta.c: DRBD_MD_MAGIC_07, _08, _84_UNCLEAN, _09 in the last 4 KiB, or 128 MiB before",
    ),
    format(
        "Ceph BlueStore",
        Volume,
        &[at(0), at(GIB), at(10 * GIB), at(100 * GIB), at(1000 * GIB)],
        &[b"bluestore block device"],
        "Ceph doc/man/8/ceph-bluestore-tool.rst: label in the first block, copies at 1, 10, 100 and 1000 GiB",
    ),
    format(
        "Stratis",
        Volume,
        &[at(512 + 4), at(9 * 512 + 4)],
        &[b"!Stra0tis\x86\xff\x02^\x41rh"],
        "Stratis Software Design, Binary Static Header: signature blocks in sectors 1 and 9",
    ),
    format(
        "VDO",
        Volume,
        &[at(0)],
        &[b"dmvdo001"],
        "kernel drivers/md/dm-vdo/encodings.h: VDO_GEOMETRY_MAGIC_NUMBER",
    ),
    format(
        "dm-thin metadata",
        Volume,
        &[at(32)],
        &[&27_022_010_u64.to_le_bytes()],
        "kernel drivers/md/dm-thin-metadata.c: THIN_SUPERBLOCK_MAGIC",
    ),
    format(
        "dm-era metadata",
        Volume,
        &[at(32)],
        &[&2_126_579_579_u64.to_le_bytes()],
        "kernel drivers/md/dm-era-target.c",
    ),
    format(
        "dm snapshot store",
        Volume,
        &[at(0)],
        &[b"SnAp"],
        "kernel drivers/md/dm-snap-persistent.c: SNAP_MAGIC",
    ),
    format(
        "Oracle ASM disk",
        Volume,
        &[at(32)],
        &[b"ORCLDISK"],
        "oracleasm-support: ASM_DISK_LABEL_MARKED at 32",
    ),
    // Caches.
    format(
        "bcache",
        Cache,
        &[at(4096 + 24)],
        &[b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"],
        "kernel drivers/md/bcache/bcache_ondisk.h: bcache_magic, SB_OFFSET",
    ),
    format(
        "dm-cache metadata",
        Cache,
        &[at(32)],
        // The constant is written with a leading zero in C: it is octal.
        &[&0o6_142_003_u64.to_le_bytes()],
        "kernel drivers/md/dm-cache-metadata.c: CACHE_SUPERBLOCK_MAGIC",
    ),
    format(
        "dm-writecache",
        Cache,
        &[at(0)],
        &[b"\x21\x93\x48\x23"],
        "kernel drivers/md/dm-writecache.c: MEMORY_SUPERBLOCK_MAGIC",
    ),
    // Encryption and integrity.
    format(
        "LUKS",
        Encryption,
        &[at(0)],
        &[b"LUKS\xba\xbe"],
        "LUKS1 On-Disk Format Specification 1.2.3, 2.1; LUKS2 On-Disk Format Specification, 2.1",
    ),
    format(
        "secondary header of LUKS2",
        Encryption,
        &[
            at(16 * KIB),
            at(32 * KIB),
            at(64 * KIB),
            at(128 * KIB),
            at(256 * KIB),
            at(512 * KIB),
            at(MIB),
            at(2 * MIB),
            at(4 * MIB),
        ],
        &[b"SKUL\xba\xbe"],
        "LUKS2 On-Disk Format Specification, 2.1, table of secondary header offsets",
    ),
    format(
        "BitLocker",
        Encryption,
        &[at(3)],
        &[b"-FVE-FS-"],
        "libbde documentation, BitLocker Drive Encryption (BDE) format: volume header",
    ),
    format(
        "dm-verity",
        Encryption,
        &[at(0)],
        &[b"verity\0\0"],
        "cryptsetup wiki DMVerity: superblock signature",
    ),
    format(
        "dm-integrity",
        Encryption,
        &[at(0)],
        &[b"integrt\0"],
        "kernel drivers/md/dm-integrity.c: SB_MAGIC",
    ),
];
