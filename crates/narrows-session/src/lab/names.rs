//! What the lab calls what it builds. Nothing that a user typed enters a name.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use narrows_base::hex;
use narrows_base::units::Bytes;
use narrows_load::guard::{DeviceKey, RunSecret};

/// What all names begin with.
const PREFIX: &str = "narrows-lab";
/// Where mount points are made.
pub const MOUNTS: &str = "/run";

/// The number of a lab: 16 random bytes. It stands in every header that the lab writes, so that what it finds later can be
/// told from what somebody else made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LabId([u8; 16]);

impl LabId {
    /// The number that these bytes are.
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes, as formats keep them.
    pub const fn bytes(self) -> [u8; 16] {
        self.0
    }

    fn hex(self) -> String {
        hex::digits(&self.0)
    }

    /// As a UUID is written (RFC 9562, 4).
    pub fn uuid(self) -> String {
        let hex = self.hex();
        [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| hex.get(part).unwrap_or_default()).join("-")
    }

    /// As mdadm writes it: four groups of eight.
    pub fn md(self) -> String {
        let hex = self.hex();
        [0..8, 8..16, 16..24, 24..32].map(|part| hex.get(part).unwrap_or_default()).join(":")
    }

    /// The 32 characters that LVM keeps for the physical volume on the device with this index: our number and the index
    /// in hexadecimal digits, which are among those that it allows.
    pub fn volume(self, index: usize) -> String {
        let hex = self.hex();
        format!("{}{:02x}", hex.get(..30).unwrap_or_default(), index % 256)
    }

    /// The first eight digits: enough to tell names of labs on one machine apart.
    pub fn short(self) -> String {
        self.hex().get(..8).unwrap_or_default().to_owned()
    }

    /// Reads what [`uuid`](Self::uuid) wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let digits: String = text.chars().filter(|digit| *digit != '-').collect();
        Some(Self(hex::bytes(&digits)?.try_into().ok()?))
    }
}

impl Serialize for LabId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.uuid())
    }
}

impl<'de> Deserialize<'de> for LabId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("no UUID"))
    }
}

/// The names of all that a lab may build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    pub id: LabId,
    /// Of what its marks are made.
    pub secret: RunSecret,
    /// The kernel names of the named devices, in their order; `!` stands for a slash.
    pub disks: Vec<String>,
    /// The kernel names of their slices, which tools get.
    pub devices: Vec<String>,
    /// The kernel name of the array: `md127`.
    pub array: String,
    /// The directory in which scratch files are made, if they are.
    pub scratch: Option<PathBuf>,
    /// The kernel name of the ZFS volume, which ZFS chooses: `zd0`.
    pub zvol: Option<String>,
}

impl Names {
    /// The volume group.
    pub fn group(&self) -> String {
        format!("{PREFIX}-{}", self.id.short())
    }

    /// The logical volume in it.
    pub const fn volume(&self) -> &'static str {
        PREFIX
    }

    /// The mapping, which is encrypted.
    pub fn mapping(&self) -> String {
        format!("{PREFIX}-crypt-{}", self.id.short())
    }

    /// The target that takes no time, above which encryption is measured alone.
    pub fn zero(&self) -> String {
        format!("{PREFIX}-zero-{}", self.id.short())
    }

    /// The logical volume as the device mapper names it: hyphens are doubled in each part.
    pub fn mapped_volume(&self) -> String {
        let doubled = |text: &str| text.replace('-', "--");
        format!("{}-{}", doubled(&self.group()), doubled(self.volume()))
    }

    /// What the device mapper has for a UUID of the target that takes no time.
    pub fn zero_uuid(&self) -> String {
        format!("{PREFIX}-{}", self.id.uuid())
    }

    /// The slice with this index, where it is a mapping.
    pub fn slice_mapping(&self, index: usize) -> String {
        format!("{PREFIX}-slice-{}-{index}", self.id.short())
    }

    /// What the device mapper has for its UUID.
    pub fn slice_uuid(&self, index: usize) -> String {
        format!("{PREFIX}-slice-{}-{index}", self.id.uuid())
    }

    /// Whether the device mapper's name and UUID are those of one of this lab, or of one that cryptsetup makes for a moment.
    /// cryptsetup's UUIDs end with the name (lib/libdevmapper.c), LVM's begin with a word of its own.
    pub fn is_mapped(&self, name: &str, uuid: &str) -> bool {
        let is_crypt = || uuid.starts_with("CRYPT-") && uuid.ends_with(&format!("-{name}"));
        if name == self.mapping() {
            return is_crypt();
        }
        (name == self.zero() && uuid == self.zero_uuid())
            || (name == self.mapped_volume() && uuid.starts_with("LVM-"))
            || (name.strip_prefix("temporary-cryptsetup-").is_some_and(|rest| !rest.is_empty()) && is_crypt())
    }

    pub fn pool(&self) -> String {
        format!("{PREFIX}-{}", self.id.short())
    }

    /// The volume in it.
    pub fn zvol(&self) -> String {
        format!("{}/{PREFIX}", self.pool())
    }

    /// The directory of the nodes that the pool is made on. zpool(8) divides what it knows for a whole disk into
    /// partitions, and does not where the node has another name than the disk.
    pub fn pool_directory(&self) -> String {
        format!("/dev/{PREFIX}-pool-{}", self.id.short())
    }

    /// The nodes in it.
    pub fn pool_nodes(&self) -> Vec<String> {
        (0..self.devices.len()).map(|index| format!("{}/{index}", self.pool_directory())).collect()
    }

    /// Where a file system is mounted.
    pub fn mount_point(&self) -> String {
        format!("{MOUNTS}/{PREFIX}-{}", self.id.short())
    }

    /// The directory of the scratch files, below the one that was asked for.
    pub fn scratch_directory(&self) -> Option<PathBuf> {
        Some(self.scratch.as_ref()?.join(format!("{PREFIX}-{}", self.id.short())))
    }

    /// The scratch file with this index.
    pub fn scratch_file(&self, index: usize) -> Option<PathBuf> {
        Some(self.scratch_directory()?.join(format!("{index}.img")))
    }

    /// How the load engine marks what it writes for this lab.
    pub fn key(&self) -> DeviceKey {
        DeviceKey::of(&self.secret, PREFIX, Bytes::new(0))
    }

    /// The node of the named device with this index, which no tool gets.
    pub fn disk(&self, index: usize) -> String {
        self.disks.get(index).map_or_else(String::new, |name| node(name))
    }

    /// The node of the slice with this index.
    pub fn device(&self, index: usize) -> String {
        self.devices.get(index).map_or_else(String::new, |name| node(name))
    }

    /// The nodes of all slices.
    pub fn all_devices(&self) -> Vec<String> {
        self.devices.iter().map(|name| node(name)).collect()
    }
}

/// The kernel name of a partition (kernel `block/partitions/core.c`).
pub(super) fn partition(disk: &str, number: u32) -> String {
    let between = if disk.ends_with(|last: char| last.is_ascii_digit()) { "p" } else { "" };
    format!("{disk}{between}{number}")
}

/// The node of a device with this kernel name, in which `!` stands for a slash.
pub(super) fn node(name: &str) -> String {
    format!("/dev/{}", name.replace('!', "/"))
}

/// A path as an argument of a tool.
pub(super) fn argument(path: Option<&Path>) -> String {
    path.map(|path| path.display().to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::names;
    use proptest::prelude::*;

    #[test]
    fn names_are_those_that_tools_take_and_show() {
        let names = names();
        assert_eq!(names.id.uuid(), "10213243-5465-7687-0809-0a0b0c0d0eff");
        assert_eq!(names.id.md(), "10213243:54657687:08090a0b:0c0d0eff");
        assert_eq!(names.id.volume(1), "10213243546576870809 0a0b0c0d0e01".replace(' ', ""));
        assert_eq!(names.mapped_volume(), "narrows--lab--10213243-narrows--lab");
        assert_eq!(
            (partition("nvme0n1", 1), partition("sdb", 2)),
            ("nvme0n1p1".to_owned(), "sdb2".to_owned())
        );
    }

    #[test]
    fn a_mapping_is_ours_by_name_and_uuid() {
        let names = names();
        let crypt = |kind: &str, name: &str| format!("CRYPT-{kind}-{name}");
        let (mapping, zero, volume) = (names.mapping(), names.zero(), names.mapped_volume());
        let temporary = "temporary-cryptsetup-77";
        assert!(names.is_mapped(temporary, &crypt("TEMP", temporary)) && zero != mapping);
        assert!(names.is_mapped(&mapping, &crypt("LUKS2-1021324354657687", &mapping)));
        assert!(names.is_mapped(&zero, &names.zero_uuid()) && names.is_mapped(&volume, "LVM-abc"));
        for (name, uuid) in [
            ("narrows-lab-crypt-00000000", "CRYPT-PLAIN-narrows-lab-crypt-00000000"),
            (&mapping, ""),
            (&mapping, "LVM-abc"),
            (&mapping, "CRYPT-PLAIN-vault"),
            (&zero, ""),
            (&zero, "narrows-lab-00000000"),
            (&volume, ""),
            (temporary, ""),
        ] {
            assert!(!names.is_mapped(name, uuid), "{name} {uuid}");
        }
    }

    #[test]
    fn a_kernel_name_is_a_path_below_dev() {
        assert_eq!(node("cciss!c0d0"), "/dev/cciss/c0d0");
    }

    proptest! {
        #[test]
        fn a_number_is_read_as_it_was_written(bytes: [u8; 16]) {
            let id = LabId::new(bytes);
            prop_assert_eq!(LabId::parse(&id.uuid()), Some(id));
            prop_assert_eq!(id.volume(0).len(), 32);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = LabId::parse(&text);
        }
    }
}
