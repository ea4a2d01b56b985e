//! What is known to stand on block devices: formats, where each one puts its magic number, and who says so.
//!
//! The table errs towards refusal: a magic of two bytes is enough, and no checksum has to be right, as a damaged file
//! system is data too. Each entry names the published description of the format that it was written from.

use serde::Serialize;

/// What a signature is a sign of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A file system.
    FileSystem,
    /// Swap space, or a suspended system in it.
    Swap,
    /// A table of partitions, or a boot sector.
    PartitionTable,
    /// A member of a RAID array.
    Raid,
    /// A part of a volume manager, a pool or a stacked device.
    Volume,
    /// A cache of another device, or a device that has one.
    Cache,
    /// Encrypted data.
    Encryption,
    /// Data that no entry of the table explains.
    Data,
}

impl Class {
    /// The class as a noun.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FileSystem => "file system",
            Self::Swap => "swap space",
            Self::PartitionTable => "partition table",
            Self::Raid => "RAID member",
            Self::Volume => "volume or pool",
            Self::Cache => "cache",
            Self::Encryption => "encryption",
            Self::Data => "data",
        }
    }
}

/// Where a magic number may stand: an offset from the beginning, or back from the end of the device after that was
/// rounded down to a unit; perhaps repeated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Rounding unit of the device's end; `None` counts from the beginning.
    end_unit: Option<u64>,
    back: u64,
    forward: u64,
    step: u64,
    count: u64,
}

impl Place {
    const fn plus(mut self, forward: u64) -> Self {
        self.forward += forward;
        self
    }

    const fn every(mut self, step: u64, count: u64) -> Self {
        self.step = step;
        self.count = count;
        self
    }

    /// Whether it is counted from the beginning.
    pub(super) const fn is_from_beginning(self) -> bool {
        self.end_unit.is_none()
    }

    /// The offsets on a device of `size` bytes; those that would lie outside it are left out.
    pub(super) fn offsets(self, size: u64) -> impl Iterator<Item = u64> {
        let base = match self.end_unit {
            None => Some(0),
            Some(unit) => (size - size % unit.max(1)).checked_sub(self.back),
        };
        let first = base.and_then(|base| base.checked_add(self.forward));
        (0..self.count)
            .filter_map(move |index| first?.checked_add(index.checked_mul(self.step)?))
            .filter(move |offset| *offset < size)
    }
}

const fn at(forward: u64) -> Place {
    Place { end_unit: None, back: 0, forward, step: 0, count: 1 }
}

const fn end(back: u64) -> Place {
    end_of(1, back)
}

const fn end_of(unit: u64, back: u64) -> Place {
    Place { end_unit: Some(unit), back, forward: 0, step: 0, count: 1 }
}

/// A format.
#[derive(Debug)]
pub(super) struct Format {
    pub(super) name: &'static str,
    pub(super) places: &'static [Place],
    /// Any of these is a sign of it.
    pub(super) magics: &'static [&'static [u8]],
    /// The description that the entry was written from.
    pub(super) source: &'static str,
}

const fn format(
    name: &'static str,
    places: &'static [Place],
    magics: &'static [&'static [u8]],
    source: &'static str,
) -> Format {
    Format { name, places, magics, source }
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// The size of a ZFS label (`vdev_label_t`).
const LABEL: u64 = 256 * KIB;

/// Every format that is looked for, in this order, with its class.
pub(super) fn formats() -> impl Iterator<Item = (Class, &'static Format)> {
    FORMATS.iter().flat_map(|(class, formats)| formats.iter().map(|format| (*class, format)))
}

const FORMATS: [(Class, &[Format]); 7] = [
    (Class::FileSystem, FILE_SYSTEMS),
    (Class::Swap, SWAP),
    (Class::PartitionTable, PARTITION_TABLES),
    (Class::Raid, RAID),
    (Class::Volume, VOLUMES),
    (Class::Cache, CACHES),
    (Class::Encryption, ENCRYPTION),
];

const FILE_SYSTEMS: &[Format] = &[
    format(
        "ext2, ext3 or ext4",
        &[at(1080)],
        &[b"\x53\xef"],
        "kernel Documentation/filesystems/ext4/super.rst: s_magic at 0x38 of the superblock at 1024",
    ),
    // Copies are in block groups 1 and powers of 3, 5 and 7; a group has as many
    // blocks as one block has bits.
    format(
        "a backup superblock of ext2, ext3 or ext4",
        &[
            at(8193 * KIB + 56),
            at((3 * 8192 + 1) * KIB + 56),
            at((5 * 8192 + 1) * KIB + 56),
            at((7 * 8192 + 1) * KIB + 56),
            at((9 * 8192 + 1) * KIB + 56),
            at(32 * MIB + 56),
            at(3 * 32 * MIB + 56),
            at(5 * 32 * MIB + 56),
            at(7 * 32 * MIB + 56),
            at(9 * 32 * MIB + 56),
            at(128 * MIB + 56),
            at(3 * 128 * MIB + 56),
            at(5 * 128 * MIB + 56),
            at(7 * 128 * MIB + 56),
            at(9 * 128 * MIB + 56),
        ],
        &[b"\x53\xef"],
        "kernel Documentation/filesystems/ext4/blockgroup.rst: sparse_super, for blocks of 1, 2 and 4 KiB",
    ),
    format(
        "XFS",
        &[at(0)],
        &[b"XFSB"],
        "XFS Algorithms and Data Structures: sb_magicnum; kernel fs/xfs/libxfs/xfs_format.h",
    ),
    format(
        "XFS external log",
        &[at(0), at(512)],
        &[b"\xfe\xed\xba\xbe"],
        "XFS Algorithms and Data Structures: h_magicno of a log record",
    ),
    format(
        "btrfs",
        &[at(64 * KIB + 64), at(64 * MIB + 64), at(256 * GIB + 64)],
        &[b"_BHRfS_M"],
        "btrfs on-disk format: superblock and mirrors at 64 KiB, 64 MiB and 256 GiB, magic at 0x40",
    ),
    format(
        "F2FS",
        &[at(1024), at(4096 + 1024)],
        &[b"\x10\x20\xf5\xf2"],
        "kernel Documentation/filesystems/f2fs.rst; include/linux/f2fs_fs.h: F2FS_SUPER_OFFSET",
    ),
    format(
        "JFS",
        &[at(0x8000), at(0xf000)],
        &[b"JFS1"],
        "kernel fs/jfs/jfs_superblock.h, jfs_filsys.h: SUPER1_OFF, SUPER2_OFF",
    ),
    format("JFS external log", &[at(4096)], &[b"\x21\x43\x65\x87"], "kernel fs/jfs/jfs_logmgr.h: LOGMAGIC"),
    format(
        "ReiserFS",
        &[at(64 * KIB + 52), at(8 * KIB + 52)],
        &[b"ReIsErFs", b"ReIsEr2Fs", b"ReIsEr3Fs"],
        "kernel fs/reiserfs/reiserfs.h: REISERFS_DISK_OFFSET_IN_BYTES, s_magic (Linux 6.12)",
    ),
    format("Reiser4", &[at(64 * KIB)], &[b"ReIsEr4"], "reiser4 plugin/disk_format: ms_magic"),
    format(
        "NILFS2",
        &[at(1030), end_of(4096, 4096).plus(6)],
        &[b"\x34\x34"],
        "kernel include/uapi/linux/nilfs2_ondisk.h: s_magic, NILFS_SB2_OFFSET_BYTES",
    ),
    format(
        "GFS2",
        &[at(64 * KIB)],
        &[b"\x01\x16\x19\x70"],
        "kernel include/uapi/linux/gfs2_ondisk.h: GFS2_MAGIC, GFS2_SB_ADDR",
    ),
    format(
        "OCFS2",
        &[at(1024), at(2048), at(4096), at(8192)],
        &[b"OCFSV2"],
        "kernel fs/ocfs2/ocfs2_fs.h: OCFS2_SUPER_BLOCK_SIGNATURE in block 2",
    ),
    format("OCFS", &[at(8)], &[b"OracleCFS"], "OCFS1 volume header, kernel fs/ocfs2/ocfs1_fs_compat.h"),
    format(
        "NTFS",
        &[at(3), end(512).plus(3), end(4096).plus(3)],
        &[b"NTFS    "],
        "kernel fs/ntfs3/ntfs.h: NTFS_BOOT.system_id; the copy is in the last sector",
    ),
    format(
        "exFAT",
        &[at(3), at(12 * 512 + 3), at(12 * 4096 + 3)],
        &[b"EXFAT   "],
        "Microsoft exFAT specification, 3.1.2 FileSystemName, 3.1 backup boot region at sector 12",
    ),
    format(
        "FAT",
        &[at(54), at(82), at(6 * 512 + 82), at(6 * 4096 + 82)],
        &[b"FAT12   ", b"FAT16   ", b"FAT32   ", b"FAT     "],
        "Microsoft FAT specification (fatgen103): BS_FilSysType; BPB_BkBootSec is 6",
    ),
    format("HPFS", &[at(16 * 512)], &[b"\x49\xe8\x95\xf9"], "kernel fs/hpfs/hpfs.h: SB_MAGIC in sector 16"),
    format(
        "squashfs",
        &[at(0)],
        &[b"hsqs", b"sqsh", b"shsq", b"qshs"],
        "kernel Documentation/filesystems/squashfs.rst; include/uapi/linux/magic.h: SQUASHFS_MAGIC",
    ),
    format("EROFS", &[at(1024)], &[b"\xe2\xe1\xf5\xe0"], "kernel fs/erofs/erofs_fs.h: EROFS_SUPER_MAGIC_V1"),
    format(
        "cramfs",
        &[at(0), at(512)],
        &[b"\x45\x3d\xcd\x28", b"\x28\xcd\x3d\x45"],
        "kernel Documentation/filesystems/cramfs.rst; include/uapi/linux/cramfs_fs.h: CRAMFS_MAGIC",
    ),
    format("romfs", &[at(0)], &[b"-rom1fs-"], "kernel Documentation/filesystems/romfs.rst"),
    format(
        "ISO 9660",
        &[at(32 * KIB + 1).every(2048, 32)],
        &[b"CD001", b"CDROM"],
        "ECMA-119, 8.1: volume descriptors from sector 16",
    ),
    format(
        "UDF",
        &[at(32 * KIB + 1).every(2048, 32)],
        &[b"BEA01", b"NSR02", b"NSR03", b"TEA01"],
        "ECMA-167, part 2, 9.1: volume recognition sequence",
    ),
    format(
        "UFS1",
        &[at(1372), at(8 * KIB + 1372), at(64 * KIB + 1372), at(256 * KIB + 1372)],
        &[b"\x54\x19\x01\x00", b"\x00\x01\x19\x54"],
        "FreeBSD sys/ufs/ffs/fs.h: SBLOCKSEARCH, fs_magic FS_UFS1_MAGIC",
    ),
    format(
        "UFS2",
        &[at(1372), at(8 * KIB + 1372), at(64 * KIB + 1372), at(256 * KIB + 1372)],
        &[b"\x19\x01\x54\x19", b"\x19\x54\x01\x19"],
        "FreeBSD sys/ufs/ffs/fs.h: SBLOCKSEARCH, fs_magic FS_UFS2_MAGIC",
    ),
    format(
        "APFS container",
        &[at(32)],
        &[b"NXSB"],
        "Apple File System Reference: nx_magic of nx_superblock_t",
    ),
    format(
        "HFS or HFS+",
        &[at(1024), end(1024)],
        &[b"H+", b"HX", b"BD"],
        "Apple TN1150: volume header at 1024, alternate 1024 bytes before the end; Inside Macintosh: Files",
    ),
    format(
        "Minix",
        &[at(1024 + 16), at(1024 + 24)],
        &[b"\x7f\x13", b"\x8f\x13", b"\x68\x24", b"\x78\x24", b"\x5a\x4d", b"\x13\x7f", b"\x13\x8f"],
        "kernel include/uapi/linux/minix_fs.h, magic.h: MINIX_SUPER_MAGIC…MINIX3_SUPER_MAGIC",
    ),
    format(
        "BeFS",
        &[at(32), at(544)],
        &[b"1SFB", b"BFS1"],
        "kernel fs/befs/befs_fs_types.h: BEFS_SUPER_MAGIC1",
    ),
    format(
        "VxFS",
        &[at(1024), at(8192)],
        &[b"\xf5\xfc\x01\xa5", b"\xa5\x01\xfc\xf5"],
        "kernel fs/freevxfs/vxfs.h: VXFS_SUPER_MAGIC",
    ),
    format(
        "bcachefs",
        &[at(4096 + 24), end(MIB).plus(24)],
        &[b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"],
        "kernel fs/bcachefs/bcachefs_format.h: BCHFS_MAGIC, BCH_SB_SECTOR",
    ),
    format("zonefs", &[at(0)], &[b"SFOZ"], "kernel Documentation/filesystems/zonefs.rst, fs/zonefs/zonefs.h"),
    format("UBI", &[at(0)], &[b"UBI#"], "kernel drivers/mtd/ubi/ubi-media.h: UBI_EC_HDR_MAGIC"),
    format("UBIFS", &[at(0)], &[b"\x31\x18\x10\x06"], "kernel fs/ubifs/ubifs-media.h: UBIFS_NODE_MAGIC"),
    format(
        "HAMMER2",
        &[at(0)],
        &[b"\x11\x20\x17\x05\x32\x4d\x41\x48", b"\x48\x41\x4d\x32\x05\x17\x20\x11"],
        "DragonFly sys/vfs/hammer2/hammer2_disk.h: HAMMER2_VOLUME_ID_HBO",
    ),
    format(
        "VMFS",
        &[at(MIB)],
        &[b"\x0d\xd0\x01\xc0"],
        "vmfs-tools (glandium.org/projects/vmfs-tools): volume information at 1 MiB, magic 0xc001d00d",
    ),
    format(
        "VMFS file system",
        &[at(2 * MIB)],
        &[b"\x5e\xf1\xab\x2f"],
        "vmfs-tools: file system information at 2 MiB, magic 0x2fabf15e",
    ),
];

/// The magic ends the first page, whose size depends on the machine that made it.
const SWAP: &[Format] = &[
    format(
        "swap space",
        &[at(4086), at(8182), at(16_374), at(32_758), at(65_526)],
        &[b"SWAP-SPACE", b"SWAPSPACE2"],
        "kernel include/linux/swap.h: union swap_header, for pages of 4 to 64 KiB",
    ),
    format(
        "suspended system",
        &[at(4086), at(8182), at(16_374), at(32_758), at(65_526)],
        &[b"S1SUSPEND", b"S2SUSPEND", b"ULSUSPEND", b"LINHIB0001"],
        "kernel kernel/power/swap.c: HIBERNATE_SIG; uswsusp swsusp.h",
    ),
];

const PARTITION_TABLES: &[Format] = &[
    format(
        "MBR partition table or boot sector",
        &[at(510)],
        &[b"\x55\xaa"],
        "UEFI specification 2.10, 5.2.1: legacy MBR signature",
    ),
    format(
        "protective MBR",
        &[at(450).every(16, 4)],
        &[b"\xee"],
        "UEFI specification 2.10, 5.2.3: OSType of a protective MBR",
    ),
    format(
        "GPT",
        &[at(512), at(4096)],
        &[b"EFI PART"],
        "UEFI specification 2.10, 5.3.2: primary header in the second logical block",
    ),
    format(
        "backup GPT",
        &[end(512), end(4096)],
        &[b"EFI PART"],
        "UEFI specification 2.10, 5.3.2: alternate header in the last logical block",
    ),
    format(
        "Apple partition map",
        &[at(512), at(2048), at(4096)],
        &[b"PM\0\0"],
        "Inside Macintosh: Devices, SCSI Manager: pmSig of the second block",
    ),
    format(
        "Apple driver descriptor",
        &[at(0)],
        &[b"ER"],
        "Inside Macintosh: Devices, SCSI Manager: sbSig of the first block",
    ),
    format(
        "BSD disklabel",
        &[at(0), at(64), at(128), at(512), at(1024)],
        &[b"\x57\x45\x56\x82", b"\x82\x56\x45\x57"],
        "NetBSD sys/disklabel.h: DISKMAGIC; LABELSECTOR and LABELOFFSET of the ports",
    ),
    format(
        "Solaris disk label",
        &[at(512 + 12)],
        &[b"\xee\xde\x0d\x60"],
        "illumos sys/vtoc.h: VTOC_SANE 0x600ddeee in v_sanity",
    ),
    format("Sun disk label", &[at(508)], &[b"\xda\xbe"], "kernel block/partitions/sun.h: SUN_LABEL_MAGIC"),
    format(
        "SGI disk label",
        &[at(0)],
        &[b"\x0b\xe5\xa9\x41"],
        "kernel block/partitions/sgi.c: SGI_LABEL_MAGIC",
    ),
    format(
        "Amiga partition table",
        &[at(0).every(512, 16)],
        &[b"RDSK"],
        "kernel include/uapi/linux/affs_hardblocks.h: IDNAME_RIGIDDISK, RDB_ALLOCATION_LIMIT",
    ),
    format("AIX label", &[at(0)], &[b"\xc9\xc2\xd4\xc1"], "kernel block/partitions/aix.c and msdos.c"),
    format(
        "Windows dynamic disk",
        &[at(6 * 512), end(512), end(MIB).plus(1856 * 512)],
        &[b"PRIVHEAD"],
        "kernel Documentation/admin-guide/ldm.rst; block/partitions/ldm.h: OFF_PRIV1…OFF_PRIV3",
    ),
];

const RAID: &[Format] = &[
    format(
        "Linux md 0.90",
        &[end_of(64 * KIB, 64 * KIB)],
        &[b"\xfc\x4e\x2b\xa9", b"\xa9\x2b\x4e\xfc"],
        "kernel include/uapi/linux/raid/md_p.h: MD_SB_MAGIC, MD_NEW_SIZE_SECTORS; md(4)",
    ),
    format(
        "Linux md 1.0",
        &[end_of(4096, 8192)],
        &[b"\xfc\x4e\x2b\xa9"],
        "md(4): between 8 and 12 KiB before the end, at a multiple of 4 KiB",
    ),
    format("Linux md 1.1", &[at(0)], &[b"\xfc\x4e\x2b\xa9"], "md(4): at the beginning"),
    format("Linux md 1.2", &[at(4096)], &[b"\xfc\x4e\x2b\xa9"], "md(4): 4 KiB from the beginning"),
    format("Linux md bitmap", &[at(0)], &[b"bitm"], "kernel drivers/md/md-bitmap.h: BITMAP_MAGIC"),
    format(
        "DDF RAID",
        &[end(512), end(257 * 512), end(4096)],
        &[b"\xde\x11\xde\x11", b"\x11\xde\x11\xde"],
        "SNIA Common RAID Disk Data Format 2.0, 4.2: anchor header in the last block",
    ),
    format(
        "Intel Matrix RAID",
        &[end(1024), end(8192)],
        &[b"Intel Raid ISM Cfg Sig. "],
        "FreeBSD sys/geom/raid/md_intel.c: INTEL_MAGIC in the last but one sector",
    ),
    format(
        "Adaptec HostRAID",
        &[end(17 * 512)],
        &[b"\x90\x07\x65\xc4", b"\xc4\x65\x07\x90"],
        "FreeBSD sys/dev/ata/ata-raid.h: ADP_LBA, ADP_MAGIC_0",
    ),
    format(
        "HighPoint RAID",
        &[at(9 * 512 + 32), end(11 * 512)],
        &[b"\xf0\x16\x78\x5a", b"\xf3\x16\x78\x5a", b"\xfd\x16\x78\x5a"],
        "FreeBSD sys/dev/ata/ata-raid.h: HPTV2_LBA, HPTV3_LBA, HPTV2_MAGIC_OK, HPTV3_MAGIC",
    ),
    format(
        "ITE RAID",
        &[end(1024)],
        &[b"Integrated Technology Express"],
        "FreeBSD sys/dev/ata/ata-raid.h: ITE_LBA",
    ),
    format("JMicron RAID", &[end(512)], &[b"JM"], "FreeBSD sys/geom/raid/md_jmicron.c: JMICRON_MAGIC"),
    format("LSI MegaRAID software", &[end(512)], &[b"$XIDE$"], "FreeBSD sys/dev/ata/ata-raid.h: LSIV2_MAGIC"),
    format("NVIDIA RAID", &[end(1024)], &[b"NVIDIA"], "FreeBSD sys/geom/raid/md_nvidia.c: NVIDIA_MAGIC"),
    format(
        "Promise FastTrak RAID",
        &[
            end(16 * 512),
            end(63 * 512),
            end(255 * 512),
            end(256 * 512),
            end(399 * 512),
            end(591 * 512),
            end(675 * 512),
            end(735 * 512),
            end(911 * 512),
            end(951 * 512),
            end(974 * 512),
            end(991 * 512),
            end(3087 * 512),
        ],
        &[b"Promise Technology, Inc."],
        "FreeBSD sys/geom/raid/md_promise.c: PROMISE_MAGIC; places seen, as dmraid's pdc.h lists them",
    ),
    format(
        "Silicon Image RAID",
        &[end(512).plus(0x60)],
        &[b"\0\0\0\x2f"],
        "dmraid's sil.h: SIL_MAGIC 0x2f000000 at 0x60 of the last sector",
    ),
    format("VIA RAID", &[end(512)], &[b"\x55\xaa"], "FreeBSD sys/dev/ata/ata-raid.h: VIA_LBA, VIA_MAGIC"),
];

const VOLUMES: &[Format] = &[
    format(
        "LVM2 physical volume",
        &[at(0).every(512, 4)],
        &[b"LABELONE"],
        "lvm2 lib/label/label.h: LABEL_ID in one of the first four sectors (LABEL_SCAN_SECTORS)",
    ),
    format(
        "LVM1 physical volume",
        &[at(0)],
        &[b"HM\x01\0", b"HM\x02\0"],
        "Linux 2.4 include/linux/lvm.h: LVM_ID",
    ),
    format(
        "ZFS label",
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
        &[end_of(4096, 4096).plus(60), end_of(4096, 128 * MIB).plus(60), at(60)],
        &[b"\x83\x74\x02\x6a", b"\x83\x74\x02\x6b", b"\x83\x74\x02\x6c", b"\x83\x74\x02\x6d"],
        "drbd-utils user/shared/drbdmeta.c: DRBD_MD_MAGIC_07, _08, _84_UNCLEAN, _09 in the last 4 KiB, or 128 MiB before",
    ),
    format(
        "Ceph BlueStore",
        &[at(0), at(GIB), at(10 * GIB), at(100 * GIB), at(1000 * GIB)],
        &[b"bluestore block device"],
        "Ceph doc/man/8/ceph-bluestore-tool.rst: label in the first block, copies at 1, 10, 100 and 1000 GiB",
    ),
    format(
        "Stratis",
        &[at(512 + 4), at(9 * 512 + 4)],
        &[b"!Stra0tis\x86\xff\x02^\x41rh"],
        "Stratis Software Design, Binary Static Header: signature blocks in sectors 1 and 9",
    ),
    format(
        "VDO",
        &[at(0)],
        &[b"dmvdo001"],
        "kernel drivers/md/dm-vdo/encodings.h: VDO_GEOMETRY_MAGIC_NUMBER",
    ),
    format(
        "dm-thin metadata",
        &[at(32)],
        &[&27_022_010_u64.to_le_bytes()],
        "kernel drivers/md/dm-thin-metadata.c: THIN_SUPERBLOCK_MAGIC",
    ),
    format(
        "dm-era metadata",
        &[at(32)],
        &[&2_126_579_579_u64.to_le_bytes()],
        "kernel drivers/md/dm-era-target.c",
    ),
    format("dm snapshot store", &[at(0)], &[b"SnAp"], "kernel drivers/md/dm-snap-persistent.c: SNAP_MAGIC"),
    format("Oracle ASM disk", &[at(32)], &[b"ORCLDISK"], "oracleasm-support: ASM_DISK_LABEL_MARKED at 32"),
];

const CACHES: &[Format] = &[
    format(
        "bcache",
        &[at(4096 + 24)],
        &[b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"],
        "kernel drivers/md/bcache/bcache_ondisk.h: bcache_magic, SB_OFFSET",
    ),
    format(
        "dm-cache metadata",
        &[at(32)],
        // The constant is written with a leading zero in C: it is octal.
        &[&0o6_142_003_u64.to_le_bytes()],
        "kernel drivers/md/dm-cache-metadata.c: CACHE_SUPERBLOCK_MAGIC",
    ),
    format(
        "dm-writecache",
        &[at(0)],
        &[b"\x21\x93\x48\x23"],
        "kernel drivers/md/dm-writecache.c: MEMORY_SUPERBLOCK_MAGIC",
    ),
];

const ENCRYPTION: &[Format] = &[
    format(
        "LUKS",
        &[at(0)],
        &[b"LUKS\xba\xbe"],
        "LUKS1 On-Disk Format Specification 1.2.3, 2.1; LUKS2 On-Disk Format Specification, 2.1",
    ),
    format(
        "secondary header of LUKS2",
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
        &[at(3)],
        &[b"-FVE-FS-"],
        "libbde documentation, BitLocker Drive Encryption (BDE) format: volume header",
    ),
    format("dm-verity", &[at(0)], &[b"verity\0\0"], "cryptsetup wiki DMVerity: superblock signature"),
    format("dm-integrity", &[at(0)], &[b"integrt\0"], "kernel drivers/md/dm-integrity.c: SB_MAGIC"),
];
