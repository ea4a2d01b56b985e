//! Device-mapper devices (kernel `Documentation/ABI/testing/sysfs-block-dm`).

use super::dm_table::{DmTarget, parse_table};
use crate::kernel::device_mapper;
use crate::root::Root;
use narrows_base::fact::Fact;

/// A device-mapper device, `/sys/block/dm-*/dm`.
#[derive(Debug, Clone, Default)]
pub struct DmDevice {
    /// Its name below `/dev/mapper`, `…/dm/name`.
    pub name: Fact<String>,
    /// Who made it: the prefix of `…/dm/uuid` (`LVM`, `CRYPT-LUKS2`, `mpath`, `DMRAID`…), without any identifier.
    pub owner: Fact<String>,
    /// The table, when it may be read (device-mapper's `DM_TABLE_STATUS`, needs root). Keys are never read.
    pub table: Fact<Vec<DmTarget>>,
}

/// Reads the device whose directory is `block`; `number` is its device number.
pub(super) fn read(root: &Root, block: &str, number: Option<(u32, u32)>) -> DmDevice {
    DmDevice {
        name: root.text(&format!("{block}/dm/name")),
        owner: owner(root, block).absent_when(String::is_empty),
        table: number.map(|number| table(root, number)).unwrap_or_default(),
    }
}

/// The part of the identifier before anything unique. On a live machine it is a probe, because a file that is read is
/// recorded whole.
fn owner(root: &Root, block: &str) -> Fact<String> {
    let uuid = format!("{block}/dm/uuid");
    let read = |root: &Root| root.text(&uuid).map(|uuid| owner_of(&uuid));
    let probed = root.probe(&probe_name("dm-owner", block), || read(&Root::live()).get());
    if root.is_live() || probed.value().is_some() { probed } else { read(root) }
}

fn probe_name(kind: &str, block: &str) -> String {
    format!("{kind}/{}", block.rsplit('/').next().unwrap_or_default())
}

/// `LVM-…` → `LVM`, `CRYPT-LUKS2-…` → `CRYPT-LUKS2`, `part1-mpath-…` → `part1-mpath`. The type of encryption is part
/// of the prefix by cryptsetup's convention (`lib/libdevmapper.c`, `DM_UUID_PREFIX`), the part by kpartx's.
pub fn owner_of(uuid: &str) -> String {
    let mut parts = uuid.split('-');
    let first = parts.next().unwrap_or_default();
    let second = parts.next().unwrap_or_default();
    let is_two = first == "CRYPT" || (first.starts_with("part") && !second.is_empty());
    // Without a dash it is a name that someone chose, not a prefix.
    match (is_two, second.is_empty()) {
        (true, false) => format!("{first}-{second}"),
        (_, true) => String::new(),
        (false, false) => first.to_owned(),
    }
}

/// The targets of the device-mapper device with this kernel name.
pub fn dm_targets(root: &Root, name: &str) -> Fact<Vec<DmTarget>> {
    match crate::usage::number(root, name).get() {
        Some(number) => table(root, number),
        None => Fact::absent(format!("/sys/class/block/{name}/dev")),
    }
}

fn table(root: &Root, (major, minor): (u32, u32)) -> Fact<Vec<DmTarget>> {
    let name = format!("dm-table/{major}:{minor}");
    root.guarded_probe(&name, || device_mapper::table(major, minor)).parse(parse_table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_identifier_only_the_maker_is_kept() {
        for (uuid, owner) in [
            ("LVM-abcdefABCDEF0123456789", "LVM"),
            ("CRYPT-LUKS2-0123456789abcdef-cr_home", "CRYPT-LUKS2"),
            ("CRYPT-PLAIN-swap", "CRYPT-PLAIN"),
            ("mpath-3600508b400105e210000900000490000", "mpath"),
            ("part1-mpath-3600508b400105e210000900000490000", "part1-mpath"),
            ("DMRAID-isw_abc", "DMRAID"),
            ("", ""),
            ("3600508b400105e210000900000490000", ""),
        ] {
            assert_eq!(owner_of(uuid), owner, "{uuid}");
        }
    }
}
