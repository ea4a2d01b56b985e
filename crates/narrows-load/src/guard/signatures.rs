//! What is known to stand on block devices: formats, where each one puts its magic number, and who says so.
//!
//! The table errs towards refusal: a magic of two bytes is enough, and no checksum has to be right, as a damaged file
//! system is data too. Each entry names the published description of the format that it was written from.

mod disks;
mod file_systems;
mod volumes;

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
    pub(super) class: Class,
    pub(super) places: &'static [Place],
    /// Any of these is a sign of it.
    pub(super) magics: &'static [&'static [u8]],
    /// The description that the entry was written from.
    pub(super) source: &'static str,
}

const fn format(
    name: &'static str,
    class: Class,
    places: &'static [Place],
    magics: &'static [&'static [u8]],
    source: &'static str,
) -> Format {
    Format { name, class, places, magics, source }
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// The size of a ZFS label (`vdev_label_t`).
const LABEL: u64 = 256 * KIB;

/// Every format that is looked for.
pub(super) fn formats() -> impl Iterator<Item = &'static Format> {
    [file_systems::FORMATS, disks::FORMATS, volumes::FORMATS].into_iter().flatten()
}
