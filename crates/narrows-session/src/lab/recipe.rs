//! Which steps make a cell.

use std::fmt;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::step::{Level, On, Step};

/// What there is to make cells of, as far as it decides of which steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Means {
    /// Whether tcplay is installed, which makes TrueCrypt volumes.
    pub tcplay: bool,
    /// Whether the programs of ZFS are.
    pub zfs: bool,
    /// The size of the smallest device in bytes.
    pub smallest: u64,
    /// The sizes of all devices together.
    pub total: u64,
}

/// The steps of a cell on `devices` devices in their order; or why it cannot be made, as a phrase.
///
/// # Errors
/// There are too few devices, or nothing here makes this.
pub fn recipe(cell: Cell, devices: usize, means: Means) -> Result<Vec<Step>, String> {
    let fewest = cell.layout.fewest();
    if devices < fewest {
        return Err(format!("{} takes {fewest} devices, and there are {devices}", cell.layout.name()));
    }
    let (mut steps, base) = ground(cell.layout, devices, means)?;
    let top = encrypt(cell.encryption, base, means, &mut steps);
    if cell.file_system != FileSystem::None {
        let kind = cell.file_system;
        steps.push(Step::FileSystem { on: top, kind });
        steps.push(Step::MountPoint);
        steps.push(Step::Mount { on: top, kind });
    }
    Ok(steps)
}

/// What load runs on when there is no file system.
pub fn top(cell: Cell) -> On {
    match (cell.encryption, cell.layout) {
        (Encryption::Plain, Layout::LvmLinear | Layout::LvmStriped) => On::Volume,
        (Encryption::Plain, Layout::ZfsMirror | Layout::ZfsStripe) => On::Zvol,
        (Encryption::Plain, Layout::Single) => On::Device(0),
        (Encryption::Plain, _) => On::Array,
        _ => On::Mapping,
    }
}

fn ground(layout: Layout, devices: usize, means: Means) -> Result<(Vec<Step>, On), String> {
    let array = |level| Ok((vec![Step::Array { level }], On::Array));
    let volume = |striped| {
        let mut steps: Vec<Step> = (0..devices).map(|index| Step::Physical { index }).collect();
        steps.extend([Step::Group, Step::Volume { striped }]);
        Ok((steps, On::Volume))
    };
    match layout {
        Layout::Single => Ok((Vec::new(), On::Device(0))),
        Layout::Raid0 => array(Level::Raid0),
        Layout::Raid1 => array(Level::Raid1),
        Layout::Raid10 => array(Level::Raid10),
        Layout::Raid5 => array(Level::Raid5),
        Layout::LvmLinear => volume(false),
        Layout::LvmStriped => volume(true),
        Layout::ZfsStripe | Layout::ZfsMirror if !means.zfs => {
            Err("ZFS (zpool, zfs) is not installed".to_owned())
        }
        Layout::ZfsStripe => Ok(pool(false, means.total)),
        Layout::ZfsMirror => Ok(pool(true, means.smallest)),
    }
}

/// A pool that holds so many bytes. The volume takes seven eighths: ZFS keeps 1/32 and 128 MiB at least to itself (OpenZFS,
/// `spa_slop_shift`), beside what describes the blocks.
fn pool(mirror: bool, bytes: u64) -> (Vec<Step>, On) {
    const RECORD: u64 = 128 << 10;
    let bytes = bytes / 8 * 7 / RECORD * RECORD;
    (vec![Step::PoolNodes, Step::Pool { mirror }, Step::Zvol { bytes }], On::Zvol)
}

fn encrypt(encryption: Encryption, base: On, means: Means, steps: &mut Vec<Step>) -> On {
    match encryption {
        Encryption::Plain => return base,
        Encryption::Luks2 | Encryption::Luks2Tuned => steps.push(Step::Header { on: base, encryption }),
        Encryption::VeraCrypt if means.tcplay => {
            steps.extend([Step::TrueCryptHeader { on: base }, Step::TrueCryptMapping { on: base }]);
            return On::Mapping;
        }
        Encryption::VeraCrypt => {}
    }
    steps.push(Step::Mapping { on: base, encryption });
    On::Mapping
}

/// Words on how a cell is made.
pub fn notes(cell: Cell, means: Means) -> Vec<String> {
    let encrypted = match cell.encryption {
        Encryption::Plain => None,
        Encryption::Luks2 | Encryption::Luks2Tuned => Some(
            "the key is random and only in memory; its slot is made with pbkdf2 and 1000 iterations, which costs time when \
             a volume is opened and none afterwards",
        ),
        Encryption::VeraCrypt if means.tcplay => Some(
            "a TrueCrypt volume that tcplay made (AES-256-XTS, SHA-512) and cryptsetup opened; VeraCrypt's have the same \
             data path: dm-crypt, aes-xts-plain64, sectors of 512 bytes; the passphrase is random and only in memory",
        ),
        Encryption::VeraCrypt => Some(
            "VeraCrypt's data path is stood for by the same mapping: dm-crypt, aes-xts-plain64, sectors of 512 bytes, a \
             random key; it has no header, since tcplay, which makes such volumes, is not installed",
        ),
    };
    let pooled = matches!(cell.layout, Layout::ZfsStripe | Layout::ZfsMirror).then_some(
        "all of it stands on a volume of the pool: volblocksize 128K, ashift 12, not compressed, sync=standard, \
         primarycache=metadata, so that no cache answers for the drives",
    );
    let is_ext4 = cell.file_system == FileSystem::Ext4;
    let tables = is_ext4.then_some("ext4's tables were written when it was made, not later");
    [encrypted, pooled, tables].into_iter().flatten().map(str::to_owned).collect()
}

/// How devices are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// The first device alone.
    Single,
    /// md striping.
    Raid0,
    /// md mirroring on all devices.
    Raid1,
    /// md striped mirrors; on two or three devices mirrors that share the requests of one stream.
    Raid10,
    /// md striping with one parity.
    Raid5,
    /// One logical volume over one device after the other.
    LvmLinear,
    /// One logical volume in stripes over all devices.
    LvmStriped,
    /// A ZFS pool striped over all devices, where ZFS is installed.
    ZfsStripe,
    /// A ZFS pool that mirrors all devices, where ZFS is installed.
    ZfsMirror,
}

/// How blocks are encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Encryption {
    /// Not at all.
    Plain,
    /// LUKS2 as cryptsetup makes it.
    Luks2,
    /// LUKS2 with sectors of 4096 bytes and without work queues for reads and writes.
    Luks2Tuned,
    /// VeraCrypt's way of data: dm-crypt, aes-xts-plain64, sectors of 512 bytes.
    #[value(name = "veracrypt")]
    VeraCrypt,
}

/// What is made on top.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileSystem {
    /// Nothing: the block device itself is measured.
    None,
    /// ext4.
    Ext4,
    /// XFS.
    Xfs,
    /// btrfs.
    Btrfs,
}

/// One thing to build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// How devices are put together.
    pub layout: Layout,
    /// How blocks are encrypted.
    pub encryption: Encryption,
    /// What is made on top.
    pub file_system: FileSystem,
}

impl Layout {
    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Raid0 => "RAID-0",
            Self::Raid1 => "RAID-1",
            Self::Raid10 => "RAID-10",
            Self::Raid5 => "RAID-5",
            Self::LvmLinear => "LVM linear",
            Self::LvmStriped => "LVM striped",
            Self::ZfsStripe => "ZFS stripe",
            Self::ZfsMirror => "ZFS mirror",
        }
    }

    /// The fewest devices that make one (md(4); lvmraid(7)).
    pub const fn fewest(self) -> usize {
        match self {
            Self::Single => 1,
            Self::Raid5 => 3,
            _ => 2,
        }
    }

    /// How many devices may fail, whichever they are, of `devices`.
    pub const fn survives(self, devices: usize) -> usize {
        match self {
            Self::Raid1 | Self::ZfsMirror => devices.saturating_sub(1),
            Self::Raid10 | Self::Raid5 => 1,
            _ => 0,
        }
    }
}

impl Encryption {
    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Luks2 => "LUKS2",
            Self::Luks2Tuned => "LUKS2 tuned",
            Self::VeraCrypt => "VeraCrypt",
        }
    }
}

impl FileSystem {
    /// What people call it; nothing for no file system.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Ext4 => "ext4",
            Self::Xfs => "XFS",
            Self::Btrfs => "btrfs",
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.layout.name(), self.encryption.name())?;
        if self.file_system == FileSystem::None { Ok(()) } else { write!(f, " {}", self.file_system.name()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITHOUT: Means = Means { tcplay: false, zfs: false, smallest: 1 << 30, total: 3 << 30 };
    const WITH: Means = Means { tcplay: true, zfs: true, ..WITHOUT };

    fn made(
        layout: Layout,
        encryption: Encryption,
        file_system: FileSystem,
        devices: usize,
    ) -> Result<Vec<Step>, String> {
        recipe(Cell { layout, encryption, file_system }, devices, WITHOUT)
    }

    #[test]
    fn each_thing_is_made_on_the_one_before() {
        let steps = made(Layout::LvmStriped, Encryption::Luks2, FileSystem::Xfs, 2).unwrap();
        let (on, kind, encryption) = (On::Mapping, FileSystem::Xfs, Encryption::Luks2);
        assert_eq!(
            steps,
            [
                Step::Physical { index: 0 },
                Step::Physical { index: 1 },
                Step::Group,
                Step::Volume { striped: true },
                Step::Header { on: On::Volume, encryption },
                Step::Mapping { on: On::Volume, encryption },
                Step::FileSystem { on, kind },
                Step::MountPoint,
                Step::Mount { on, kind },
            ]
        );
        assert_eq!(made(Layout::Single, Encryption::Plain, FileSystem::None, 1), Ok(Vec::new()));
    }

    #[test]
    fn the_top_is_what_the_last_step_made() {
        for layout in [Layout::Single, Layout::Raid0, Layout::Raid1, Layout::LvmLinear, Layout::LvmStriped] {
            for encryption in
                [Encryption::Plain, Encryption::Luks2, Encryption::Luks2Tuned, Encryption::VeraCrypt]
            {
                let cell = Cell { layout, encryption, file_system: FileSystem::None };
                for means in [WITHOUT, WITH] {
                    let steps = recipe(cell, 2, means).unwrap();
                    let made = steps.last().map_or(On::Device(0), |step| match step {
                        Step::Mapping { .. } | Step::TrueCryptMapping { .. } => On::Mapping,
                        Step::Array { .. } => On::Array,
                        Step::Volume { .. } => On::Volume,
                        other => panic!("{other:?}"),
                    });
                    assert_eq!(top(cell), made, "{cell}");
                }
            }
        }
    }

    #[test]
    fn too_few_devices_are_said() {
        let refused = made(Layout::Raid5, Encryption::Plain, FileSystem::None, 2).unwrap_err();
        assert_eq!(refused, "RAID-5 takes 3 devices, and there are 2");
        assert!(made(Layout::ZfsMirror, Encryption::Plain, FileSystem::None, 2).is_err());
    }

    #[test]
    fn a_pool_is_made_where_zfs_is_installed() {
        let cell = |layout| Cell { layout, encryption: Encryption::Luks2, file_system: FileSystem::None };
        let made = recipe(cell(Layout::ZfsMirror), 2, WITH).unwrap();
        // 7/8 of 1 GiB.
        let volume = Step::Zvol { bytes: 939_524_096 };
        assert_eq!(made[..3], [Step::PoolNodes, Step::Pool { mirror: true }, volume]);
        let (on, encryption) = (On::Zvol, Encryption::Luks2);
        assert_eq!(made[3..], [Step::Header { on, encryption }, Step::Mapping { on, encryption }]);
        let striped = recipe(cell(Layout::ZfsStripe), 2, WITH).unwrap();
        assert_eq!(striped[1..3], [Step::Pool { mirror: false }, Step::Zvol { bytes: 3 * 939_524_096 }]);
        let plain = Cell { encryption: Encryption::Plain, ..cell(Layout::ZfsStripe) };
        assert_eq!(top(plain), On::Zvol);
        assert!(notes(plain, WITH)[0].contains("volblocksize 128K"));
        assert_eq!(recipe(plain, 2, WITHOUT).unwrap_err(), "ZFS (zpool, zfs) is not installed");
    }

    #[test]
    fn a_veracrypt_volume_is_made_by_the_real_tool_where_it_is() {
        let cell =
            Cell { layout: Layout::Raid0, encryption: Encryption::VeraCrypt, file_system: FileSystem::None };
        let on = On::Array;
        assert_eq!(
            recipe(cell, 2, WITH).unwrap()[1..],
            [Step::TrueCryptHeader { on }, Step::TrueCryptMapping { on }]
        );
        let encryption = Encryption::VeraCrypt;
        assert_eq!(recipe(cell, 2, WITHOUT).unwrap()[1..], [Step::Mapping { on, encryption }]);
        assert!(notes(cell, WITH)[0].contains("tcplay made"), "{:?}", notes(cell, WITH));
        assert!(notes(cell, WITHOUT)[0].contains("tcplay, which makes such volumes, is not installed"));
    }
}
