//! Where the slice of a disk is: a partition of it or, where the kernel makes none (zram and other disks that take none), a
//! linear mapping of its part. Looked up in `/sys`, never remembered.

use std::path::PathBuf;

use super::names::{Names, node, partition};
use super::sight;
use super::slice::{Extent, PARTITION, REST};
use narrows_load::guard::{DeviceKey, PlannedRest, SlicePlan};
use narrows_machine::block::{DmKind, dm_targets};
use narrows_machine::root::Root;

/// The kernel names of a disk and of what stands for its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The disk.
    pub disk: String,
    /// The slice.
    pub slice: String,
    /// The partition of the rest. A mapping leaves none: it has the whole disk claimed.
    pub rest: Option<String>,
}

impl Place {
    /// A slice that is a partition, with another of the rest.
    pub fn partitions(disk: &str) -> Self {
        let rest = Some(partition(disk, REST));
        Self { disk: disk.to_owned(), slice: partition(disk, PARTITION), rest }
    }

    /// A slice that is the mapping with this kernel name.
    pub fn mapping(disk: &str, block: String) -> Self {
        Self { disk: disk.to_owned(), slice: block, rest: None }
    }

    /// Where the slice with this index of a lab is on a disk now, or else would be.
    pub fn find(root: &Root, disk: &str, names: &Names, index: usize) -> Self {
        match sight::slice_mapping(root, names, index) {
            Some(block) => Self::mapping(disk, block),
            None => Self::partitions(disk),
        }
    }

    /// Which part of the disk it is; `None` where it is not there, or is anything else.
    pub fn extent(&self, root: &Root) -> Option<(u64, u64)> {
        if self.rest.is_some() {
            return sight::partition_extent(root, &self.disk, PARTITION);
        }
        let disk = narrows_machine::usage::number(root, &self.disk).get()?;
        match &dm_targets(root, &self.slice).get()?[..] {
            [target] => match target.kind {
                DmKind::Linear { device, offset } if device == disk && target.start.get() == 0 => {
                    Some((offset.get(), target.length.get()))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The nodes of a disk of `device` bytes on which `extent` is the slice.
    pub(super) fn plan(&self, extent: Extent, device: u64, key: DeviceKey) -> SlicePlan {
        let path = |name: &str| PathBuf::from(node(name));
        let behind = extent.rest(device);
        let rest = |name: &String| PlannedRest {
            node: path(name),
            number: REST,
            extent: (behind.start, behind.bytes),
        };
        SlicePlan {
            disk: path(&self.disk),
            slice: path(&self.slice),
            number: PARTITION,
            extent: (extent.start, extent.bytes),
            rest: self.rest.as_ref().map(rest),
            key,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::names::tests::names;
    use super::*;
    use narrows_machine::tree::Tree;

    /// `zram0` with a mapping of 8 MiB of it, as the device mapper tells of it.
    fn mapped(name: &str, uuid: &str, table: &str) -> Root {
        let mut tree = Tree::new();
        tree.file("/sys/block/dm-4/dm/name", name).file("/sys/block/dm-4/dm/uuid", uuid);
        tree.file("/sys/class/block/dm-4/dev", "252:4").file("/sys/class/block/zram0/dev", "251:0");
        tree.file("/narrows/probe/dm-table/252:4", table);
        Root::from_tree(tree)
    }

    fn ours(table: &str) -> Root {
        mapped(&names().slice_mapping(1), &names().slice_uuid(1), table)
    }

    #[test]
    fn a_mapping_of_the_lab_is_its_slice() {
        let root = ours("0 16384 linear 251:0 2048\n");
        let place = Place::find(&root, "zram0", &names(), 1);
        assert_eq!(place, Place::mapping("zram0", "dm-4".to_owned()));
        assert_eq!(place.extent(&root), Some((1 << 20, 8 << 20)));
        assert_eq!(Place::find(&root, "sdb", &names(), 0), Place::partitions("sdb"), "of another device");
    }

    #[test]
    fn a_mapping_of_another_part_or_disk_is_not_the_slice() {
        for table in [
            "0 16384 linear 251:1 2048\n",
            "0 16384 zero\n",
            "0 8192 linear 251:0 2048\n8192 8192 linear 251:0 20480\n",
        ] {
            let root = ours(table);
            assert_eq!(Place::find(&root, "zram0", &names(), 1).extent(&root), None, "{table}");
        }
    }

    #[test]
    fn a_mapping_that_only_has_the_name_is_somebody_elses() {
        let table = "0 16384 linear 251:0 2048\n";
        let root = mapped(&names().slice_mapping(1), "LVM-abc", table);
        assert_eq!(Place::find(&root, "zram0", &names(), 1), Place::partitions("zram0"));
        let other = mapped(&names().slice_mapping(1), &names().slice_uuid(0), table);
        assert_eq!(Place::find(&other, "zram0", &names(), 1), Place::partitions("zram0"));
    }
}
