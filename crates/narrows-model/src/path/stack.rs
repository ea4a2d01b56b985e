//! Block devices and the layers that they are stacked in.

use super::build::Builder;
use super::graph::{NewHop, Node, Spread};
use super::split;
use super::{CryptHop, FilesystemHop, HopSpec, RaidHop, Traffic, VolumeHop, VolumeLayout};
use narrows_base::fact::Fact;
use narrows_base::units::human;
use narrows_machine::block::{
    Bcache, BlockDevice, BlockKind, CryptTable, DmDevice, DmKind, DmTarget, LoopDevice, MdArray,
};
use narrows_machine::mount::Mount;
use narrows_machine::zfs::pool_of;

impl Builder<'_> {
    /// Puts a block device, of whatever kind, below `above`. A device that the machine does not know ends its branch.
    pub(super) fn block(&mut self, above: Node, name: &str, fraction: Traffic) {
        let machine = self.machine;
        let Some(device) = machine.block.get(name) else { return };
        if let Some(whole) = &device.partition_of {
            match machine.block.get(whole) {
                Some(disk) if is_disk(disk) => self.disk(above, disk, fraction, Some(name)),
                _ => self.later(above, whole, fraction),
            }
            return;
        }
        match &device.kind {
            BlockKind::Md(md) => self.array(above, device, md, fraction),
            BlockKind::Dm(dm) => match crypt(dm) {
                Some(table) => self.crypt(above, device, dm, table, fraction),
                None => self.volume(above, device, dm, fraction),
            },
            BlockKind::Bcache(bcache) => self.cache(above, device, bcache, fraction),
            BlockKind::Loop(file) => self.file(above, device, file, fraction),
            _ => self.disk(above, device, fraction, None),
        }
    }

    fn array(&mut self, above: Node, device: &BlockDevice, md: &MdArray, fraction: Traffic) {
        let level = md.level.value().and_then(|level| split::level(level));
        let shares = split::array(md, level, &device.slaves);
        let members = match shares.len() {
            0 => "members not known".to_owned(),
            count => human::counted(count, "member"),
        };
        let level_name = md.level.value().map_or("of unknown level", String::as_str);
        let name = format!("md {} {level_name}, {members}", device.name);
        let spec = HopSpec::Raid(Box::new(RaidHop {
            block: device.name.clone(),
            level,
            members: device.slaves.clone(),
            md: md.clone(),
        }));
        let hop = NewHop::new(&device.name, name, spec);
        let Some(node) = self.add(above, hop, fraction) else { return };
        self.graph.set_spread(node, split::array_spread(level));
        for (member, share) in shares {
            self.later(node, &member, share);
        }
    }

    fn crypt(
        &mut self,
        above: Node,
        device: &BlockDevice,
        dm: &DmDevice,
        table: Fact<CryptTable>,
        fraction: Traffic,
    ) {
        let cpus = &self.machine.cpus;
        let online = cpus.online.value().map(Vec::len).and_then(|count| u32::try_from(count).ok());
        let cipher = self.machine.ciphers.get(&device.name).cloned().unwrap_or_default();
        let spec = HopSpec::Crypt(Box::new(CryptHop {
            block: device.name.clone(),
            table,
            cipher,
            cores: cpus.cores.get().or(online).unwrap_or(1),
        }));
        let hop = NewHop::new(&device.name, format!("dm-crypt {}", mapping(device, dm)), spec);
        let Some(node) = self.add(above, hop, fraction) else { return };
        for slave in &device.slaves {
            self.later(node, slave, Traffic::ONE);
        }
    }

    fn volume(&mut self, above: Node, device: &BlockDevice, dm: &DmDevice, fraction: Traffic) {
        let layout = layout(dm, device.slaves.len());
        let members: Vec<String> =
            device.slaves.iter().filter(|slave| !self.holds_metadata(slave)).cloned().collect();
        let what = match &layout {
            VolumeLayout::Linear => "linear volume",
            VolumeLayout::Striped { .. } => "striped volume",
            VolumeLayout::Multipath => "multipath device",
            VolumeLayout::Other(target) => target,
        };
        let name = format!("{} ({what})", mapping(device, dm));
        let share = split::volume(&layout, members.len());
        let spec = HopSpec::Volume(VolumeHop {
            block: device.name.clone(),
            layout: layout.clone(),
            members: members.clone(),
        });
        let hop = NewHop::new(&device.name, name, spec);
        let Some(node) = self.add(above, hop, fraction) else { return };
        self.graph.set_spread(node, split::volume_spread(&layout));
        for member in members {
            self.later(node, &member, share);
        }
    }

    /// Whether a device holds only what LVM needs to find its way in a thin pool, cache or array: a few bytes for
    /// each megabyte of data. LVM names such volumes by suffix (lvmthin(7), lvmcache(7), lvmraid(7)).
    fn holds_metadata(&self, block: &str) -> bool {
        let Some(BlockKind::Dm(dm)) = self.machine.block.get(block).map(|device| &device.kind) else {
            return false;
        };
        dm.name.value().is_some_and(|name| {
            name.ends_with("_tmeta") || name.ends_with("_cmeta") || name.contains("_rmeta_")
        })
    }

    fn cache(&mut self, above: Node, device: &BlockDevice, bcache: &Bcache, fraction: Traffic) {
        let spec = HopSpec::Cache(device.name.clone());
        let hop = NewHop::new(&device.name, format!("bcache {}", device.name), spec);
        let Some(node) = self.add(above, hop, fraction) else { return };
        self.graph.set_spread(node, Spread::ReadEither);
        for (member, share) in split::cache(bcache) {
            self.later(node, &member, share);
        }
    }

    /// A file as a device: the device, then the file system that holds the file, and what that is on.
    fn file(&mut self, above: Node, device: &BlockDevice, file: &LoopDevice, fraction: Traffic) {
        let Some(node) = self.synthetic(above, device, "loop", fraction) else { return };
        let Some(path) = file.file.value() else { return };
        if let Some(mount) = holding(&self.machine.mounts, path) {
            self.filesystem(node, mount);
        }
    }

    /// Puts a mounted file system below `above`, and what it is on.
    pub(super) fn filesystem(&mut self, above: Node, mount: &Mount) {
        let spec = HopSpec::Filesystem(FilesystemHop {
            fstype: mount.fstype.clone(),
            point: mount.point.clone(),
            options: mount.options.clone(),
        });
        let hop = NewHop::new(&mount.point, format!("{} on {}", mount.fstype, mount.point), spec);
        let Some(node) = self.add(above, hop, Traffic::ONE) else { return };
        // Which device of several a byte lies on (the profile of a btrfs) is not in sysfs: any may carry it all.
        self.graph.set_spread(node, Spread::Either);
        for device in &mount.devices {
            self.later(node, device, Traffic::ONE);
        }
        if mount.fstype == "zfs" {
            self.pool(node, pool_of(&mount.source));
        }
        if let Some(remote) = &mount.remote {
            self.remote(node, remote, &mount.source, protocol(&mount.fstype));
        }
    }
}

/// Whether nothing is stacked below a device.
pub(super) fn is_disk(device: &BlockDevice) -> bool {
    !matches!(
        device.kind,
        BlockKind::Md(_)
            | BlockKind::Dm(_)
            | BlockKind::Bcache(_)
            | BlockKind::Loop(_)
            | BlockKind::Partition
    )
}

/// The mount that a file lies on: the longest mount point above it, and of several there the last, which hides the
/// others.
fn holding<'m>(mounts: &'m [Mount], path: &str) -> Option<&'m Mount> {
    let is_above = |mount: &&Mount| {
        let point = mount.point.trim_end_matches('/');
        path.strip_prefix(point).is_some_and(|rest| rest.starts_with('/'))
    };
    mounts.iter().filter(is_above).max_by_key(|mount| mount.point.trim_end_matches('/').len())
}

fn protocol(fstype: &str) -> &str {
    match fstype {
        "nfs" | "nfs4" => "nfs",
        "cifs" | "smb3" => "smb",
        other => other,
    }
}

/// The table of an encrypted mapping; `None` for any other mapping. Whose it is can be seen without root.
fn crypt(dm: &DmDevice) -> Option<Fact<CryptTable>> {
    let is_owned = dm.owner.value().is_some_and(|owner| owner.starts_with("CRYPT"));
    let find = |targets: &Vec<DmTarget>| {
        targets.iter().find_map(|target| match &target.kind {
            DmKind::Crypt(table) => Some(table.clone()),
            _ => None,
        })
    };
    let source = dm.table.source().as_str();
    match dm.table.value().map(find) {
        Some(Some(table)) => Some(Fact::known(table, source)),
        Some(None) if is_owned => Some(Fact::absent(source)),
        None if is_owned => Some(dm.table.clone().map(|_| CryptTable::default())),
        _ => None,
    }
}

/// What stands for the target's name where the table may not be read.
const UNKNOWN_LAYOUT: &str = "layout unknown";

/// How a mapping lies on its devices. Its table says so, which only root may read.
fn layout(dm: &DmDevice, devices: usize) -> VolumeLayout {
    let Some(targets) = dm.table.value() else {
        let is_multipath = dm.owner.value().is_some_and(|owner| owner.starts_with("mpath"));
        return match devices {
            _ if is_multipath => VolumeLayout::Multipath,
            0 | 1 => VolumeLayout::Linear,
            _ => VolumeLayout::Other(UNKNOWN_LAYOUT.to_owned()),
        };
    };
    let striped = targets.iter().find_map(|target| match &target.kind {
        DmKind::Striped { chunk, .. } => Some(VolumeLayout::Striped { chunk: *chunk }),
        _ => None,
    });
    let all_striped = targets.iter().all(|target| matches!(target.kind, DmKind::Striped { .. }));
    let other = targets.iter().find_map(|target| match &target.kind {
        DmKind::Other(name) if name == "multipath" => Some(VolumeLayout::Multipath),
        DmKind::Other(name) => Some(VolumeLayout::Other(name.clone())),
        _ => None,
    });
    match (other, striped) {
        (Some(other), _) => other,
        (None, Some(striped)) if all_striped => striped,
        (None, _) => VolumeLayout::Linear,
    }
}

fn mapping(device: &BlockDevice, dm: &DmDevice) -> String {
    dm.name.get().unwrap_or_else(|| device.name.clone())
}
