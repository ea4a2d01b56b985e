//! ZFS pools: the pool, its mirrors and RAID-Z, and their devices.
//!
//! All data is spread over the virtual devices that hold data, in equal parts when they are alike (OpenZFS
//! `module/zfs/metaslab.c`: by free space where they are not). Devices for logs take synchronous writes first, caches and
//! special devices what they were made for; how much that is depends on the workload, and none of it is a part of long
//! sequential transfers.

use super::build::Builder;
use super::graph::{NewHop, Node};
use super::{HopSpec, Target, Traffic, ZfsHop, ZfsLayout};
use narrows_base::units::human;
use narrows_machine::Machine;
use narrows_machine::mount::Mount;
use narrows_machine::zfs::{ZfsDevice, ZfsPool, ZfsVdev, pool_of};

/// The role of virtual devices that hold data.
const DATA: &str = "data";

impl Builder<'_> {
    /// Puts a pool below `above`, and what it lies on. Nothing when the machine knows no such pool.
    pub(super) fn pool(&mut self, above: Node, name: &str) {
        let Some(pool) = self.machine.zfs.iter().find(|pool| pool.name == name) else { return };
        let vdevs: Vec<&ZfsVdev> =
            pool.vdevs.iter().filter(|vdev| vdev.role == DATA && is_there(&vdev.state)).collect();
        let layout_of_pool = if vdevs.is_empty() { ZfsLayout::Unknown } else { ZfsLayout::Stripe };
        let spec = HopSpec::Zfs(ZfsHop { layout: layout_of_pool, members: vdevs.len() });
        let hop = NewHop::new(&pool.name, pool_name(pool, vdevs.len()), spec);
        let Some(node) = self.add(above, hop, Traffic::ONE) else { return };
        let share = Traffic::both(1.0 / vdevs.len().max(1) as f64);
        for (index, vdev) in vdevs.into_iter().enumerate() {
            match layout(&vdev.name) {
                None => {
                    for device in &vdev.devices {
                        self.later(node, &device.name, share);
                    }
                }
                Some(layout) => self.group(node, pool, (index, vdev), layout, share),
            }
        }
    }

    /// Puts a mirror or RAID-Z of a pool below it.
    fn group(
        &mut self,
        above: Node,
        pool: &ZfsPool,
        (index, vdev): (usize, &ZfsVdev),
        layout: ZfsLayout,
        share: Traffic,
    ) {
        let there: Vec<&ZfsDevice> = vdev.devices.iter().filter(|it| is_there(&it.state)).collect();
        // Old lists call all mirrors alike.
        let name = match vdev.name.contains('-') {
            true => vdev.name.clone(),
            false => format!("{}-{index}", vdev.name),
        };
        let called = format!("ZFS {name} of {}, {}", pool.name, human::counted(there.len(), "device"));
        let spec = HopSpec::Zfs(ZfsHop { layout, members: there.len() });
        let hop = NewHop::new(format!("{}/{name}", pool.name), called, spec);
        let Some(node) = self.add(above, hop, share) else { return };
        let each = fraction(layout, vdev.devices.len(), there.len());
        for device in there {
            self.later(node, &device.name, each);
        }
    }
}

fn pool_name(pool: &ZfsPool, vdevs: usize) -> String {
    match vdevs {
        0 => format!("ZFS pool {}", pool.name),
        count => format!("ZFS pool {}, {}", pool.name, human::counted(count, "virtual device")),
    }
}

/// The pool of a mounted file system, when it is one of ZFS and the machine knows its pool.
pub(super) fn pool<'m>(machine: &'m Machine, mount: &Mount) -> Option<&'m ZfsPool> {
    let name = (mount.fstype == "zfs").then(|| pool_of(&mount.source))?;
    machine.zfs.iter().find(|pool| pool.name == name)
}

/// The pools of a captured machine that no mount is known of.
pub(super) fn unmounted(machine: &Machine) -> Vec<Target> {
    let is_mounted = |name: &str| {
        machine.mounts.iter().any(|mount| mount.fstype == "zfs" && pool_of(&mount.source) == name)
    };
    let has_devices = |pool: &&ZfsPool| pool.vdevs.iter().any(|vdev| !vdev.devices.is_empty());
    let pools = machine.zfs.iter().filter(has_devices).filter(|pool| !is_mounted(&pool.name));
    pools.map(|pool| Target::Pool(pool.name.clone())).collect()
}

/// Whether a device or virtual device serves requests; a state that was not printed says nothing against it.
fn is_there(state: &str) -> bool {
    !matches!(state, "FAULTED" | "UNAVAIL" | "REMOVED" | "OFFLINE" | "AVAIL" | "INUSE")
}

/// How a virtual device of this name shares its data; `None` for a device that stands alone.
fn layout(name: &str) -> Option<ZfsLayout> {
    let number = |text: &str| text.parse::<u32>().ok().filter(|count| (1..=255).contains(count));
    let kind = name.rsplit_once('-').map_or(name, |(kind, _)| kind);
    if kind == "mirror" || kind == "spare" || kind == "replacing" {
        return Some(ZfsLayout::Mirror);
    }
    if let Some(parity) = kind.strip_prefix("raidz") {
        return Some(ZfsLayout::RaidZ { parity: if parity.is_empty() { 1 } else { number(parity)? } });
    }
    // `draid2:4d:11c:1s`; each part but the first may be left out of a name.
    let mut parts = kind.strip_prefix("draid")?.split(':');
    let parity = parts.next().filter(|parity| !parity.is_empty()).map_or(Some(1), number)?;
    let data = parts.find_map(|part| number(part.strip_suffix('d')?))?;
    Some(ZfsLayout::Draid { parity, data })
}

/// What of the traffic of a virtual device of `all` devices crosses each of those that are there.
///
/// | layout | read | write |
/// |---|---|---|
/// | mirror | 1/(devices that are there) | 1 |
/// | RAID-Z of n with p parities | 1/(devices that are there) | 1/(n − p) |
/// | dRAID of n, p parities for each d data | 1/(devices that are there) | (p + d)/(d n) |
///
/// Parity goes round over the devices, so that each holds the same part of the data (OpenZFS `module/zfs/vdev_raidz.c`,
/// `vdev_draid.c`).
fn fraction(layout: ZfsLayout, all: usize, there: usize) -> Traffic {
    let part = |of: f64, whole: usize| of / whole.max(1) as f64;
    let read = part(1.0, there);
    let write = match layout {
        ZfsLayout::Mirror => 1.0,
        ZfsLayout::RaidZ { parity } => part(1.0, all.saturating_sub(parity as usize)),
        ZfsLayout::Draid { parity, data } => {
            part(f64::from(parity + data) / f64::from(data.max(1)), all).min(1.0)
        }
        ZfsLayout::Stripe | ZfsLayout::Unknown => read,
    };
    Traffic { read, write }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{HopKind, build};
    use narrows_base::fact::Fact;
    use narrows_machine::block::BlockDevice;

    fn vdev(name: &str, role: &str, devices: &[(&str, &str)]) -> ZfsVdev {
        let device = |(name, state): &(&str, &str)| ZfsDevice {
            name: (*name).to_owned(),
            state: (*state).to_owned(),
            ..ZfsDevice::default()
        };
        ZfsVdev {
            name: name.to_owned(),
            role: role.to_owned(),
            state: "ONLINE".to_owned(),
            devices: devices.iter().map(device).collect(),
        }
    }

    fn machine(vdevs: Vec<ZfsVdev>) -> Machine {
        let names: Vec<String> =
            vdevs.iter().flat_map(|vdev| &vdev.devices).map(|device| device.name.clone()).collect();
        let state = Fact::known("ONLINE".to_owned(), "zpool.txt:2");
        let pool = ZfsPool { name: "tank".to_owned(), state, vdevs, ..ZfsPool::default() };
        let mount = Mount {
            point: "/tank".to_owned(),
            fstype: "zfs".to_owned(),
            source: "tank/home".to_owned(),
            ..Mount::default()
        };
        let block =
            |name: &String| (name.clone(), BlockDevice { name: name.clone(), ..BlockDevice::default() });
        Machine {
            zfs: vec![pool],
            mounts: vec![mount],
            block: names.iter().map(block).collect(),
            ..Machine::default()
        }
    }

    /// What crosses each device for a byte of the application.
    fn shares(vdevs: Vec<ZfsVdev>) -> Vec<(String, f64, f64)> {
        let machine = machine(vdevs);
        let path =
            build::path(&machine, &Target::Mount { index: 0, path: String::new() }).expect("is mounted");
        let disks = path.hops.iter().filter(|hop| hop.kind() == HopKind::Device);
        let round = |part: f64| (part * 1000.0).round() / 1000.0;
        disks
            .map(|hop| {
                (
                    hop.block_name().unwrap_or_default().to_owned(),
                    round(hop.traffic.read),
                    round(hop.traffic.write),
                )
            })
            .collect()
    }

    fn share(name: &str, read: f64, write: f64) -> (String, f64, f64) {
        (name.to_owned(), read, write)
    }

    #[test]
    fn a_pool_of_mirrors_reads_from_all_and_writes_to_both_of_one() {
        let on = "ONLINE";
        let pool = vec![
            vdev("mirror-0", "data", &[("sda", on), ("sdb", on)]),
            vdev("mirror-1", "data", &[("sdc", on), ("sdd", "FAULTED")]),
            vdev("nvme0n1", "logs", &[("nvme0n1", on)]),
        ];
        assert_eq!(shares(pool), [share("sda", 0.25, 0.5), share("sdb", 0.25, 0.5), share("sdc", 0.5, 0.5)]);
    }

    #[test]
    fn parity_is_written_too() {
        let on = "ONLINE";
        let six = [("sda", on), ("sdb", on), ("sdc", on), ("sdd", on), ("sde", on), ("sdf", on)];
        // Four of six hold data.
        assert_eq!(shares(vec![vdev("raidz2-0", "data", &six)])[5], share("sdf", 0.167, 0.25));
        // Each 2 + 1 of data take 3/2 of their size, over six devices.
        assert_eq!(shares(vec![vdev("draid1:2d:6c:0s-0", "data", &six)])[0], share("sda", 0.167, 0.25));
        let alone = vec![vdev("sda", "data", &[("sda", on)]), vdev("sdb", "data", &[("sdb", on)])];
        assert_eq!(shares(alone), [share("sda", 0.5, 0.5), share("sdb", 0.5, 0.5)]);
    }

    #[test]
    fn a_pool_whose_devices_are_not_known_is_a_hop_all_the_same() {
        let machine = machine(Vec::new());
        let paths = build::all(&machine);
        let [path] = paths.as_slice() else { panic!("{paths:?}") };
        let names: Vec<&str> = path.hops.iter().map(|hop| hop.name.as_str()).collect();
        assert_eq!(names, ["application", "zfs on /tank", "ZFS pool tank", "main memory"]);
    }

    #[test]
    fn names_of_virtual_devices_tell_their_layout() {
        for (name, wanted) in [
            ("mirror-12", Some(ZfsLayout::Mirror)),
            ("mirror", Some(ZfsLayout::Mirror)),
            ("raidz1-0", Some(ZfsLayout::RaidZ { parity: 1 })),
            ("raidz3", Some(ZfsLayout::RaidZ { parity: 3 })),
            ("draid2:4d:11c:1s-0", Some(ZfsLayout::Draid { parity: 2, data: 4 })),
            ("sda", None),
            ("ata-mirror-x_1", None),
        ] {
            assert_eq!(layout(name), wanted, "{name}");
        }
    }
}
