//! Targets of a machine that was put together from texts: there is no file tree to look into, only names.

use narrows_machine::Machine;
use narrows_machine::block::{BlockDevice, BlockKind};
use narrows_machine::pci::PciAddress;
use narrows_machine::target::{Found, NotATarget, closest, is_plain_name, mount_of};
use narrows_machine::tree::normalise;

/// Finds what `typed` names: a PCI address, an interface, a block device by its kernel name, below `/dev` or below
/// `/dev/mapper`, the source of a mount, a ZFS pool, or a whole path on a mounted file system.
///
/// # Errors
/// [`NotATarget::Absent`] when no text knows of it.
pub fn find(machine: &Machine, typed: &str) -> Result<Found, NotATarget> {
    let pci = typed.parse::<PciAddress>().ok().filter(|address| machine.pci.contains_key(address));
    if let Some(address) = pci {
        return Ok(Found::Pci(address));
    }
    if is_plain_name(typed) && machine.nics.contains_key(typed) {
        return Ok(Found::Nic(typed.to_owned()));
    }
    if let Some(device) = block(machine, typed) {
        return Ok(Found::Block(device.name.clone()));
    }
    if let Some(mount) = machine.mounts.iter().find(|mount| mount.source == typed && !typed.is_empty()) {
        return Ok(Found::File(mount.point.clone()));
    }
    if machine.zfs.iter().any(|pool| pool.name == typed) {
        return Ok(Found::Pool(typed.to_owned()));
    }
    let path = normalise(typed);
    if typed.starts_with('/') && !path.starts_with("/dev/") && mount_of(&machine.mounts, &path).is_some() {
        return Ok(Found::File(path));
    }
    Err(NotATarget::Absent { typed: typed.to_owned(), similar: closest(typed, names(machine)) })
}

fn block<'m>(machine: &'m Machine, typed: &str) -> Option<&'m BlockDevice> {
    let path = typed.starts_with('/').then(|| normalise(typed));
    let name = path.as_deref().map_or(Some(typed), |path| path.strip_prefix("/dev/"))?;
    let mapped = |mapping: &str| {
        machine.block.values().find(|device| match &device.kind {
            BlockKind::Dm(dm) => dm.name.value().is_some_and(|name| name == mapping),
            _ => false,
        })
    };
    match name.strip_prefix("mapper/") {
        Some(mapping) => mapped(mapping),
        // The kernel writes `!` for a slash in a device's name.
        None => machine.block.get(&name.replace('/', "!")),
    }
}

fn names(machine: &Machine) -> Vec<String> {
    let mapped = machine.block.values().filter_map(|device| match &device.kind {
        BlockKind::Dm(dm) => Some(format!("/dev/mapper/{}", dm.name.value()?)),
        _ => None,
    });
    let blocks = machine.block.keys().map(|name| format!("/dev/{}", name.replace('!', "/")));
    let functions = machine.pci.keys().map(ToString::to_string);
    let points = machine.mounts.iter().map(|mount| mount.point.clone());
    let pools = machine.zfs.iter().map(|pool| pool.name.clone());
    blocks
        .chain(pools)
        .chain(mapped)
        .chain(functions)
        .chain(machine.nics.keys().cloned())
        .chain(points)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::fact::Fact;
    use narrows_machine::block::DmDevice;
    use narrows_machine::mount::Mount;
    use narrows_machine::nic::Nic;
    use narrows_machine::pci::PciDevice;
    use narrows_machine::zfs::ZfsPool;

    fn machine() -> Machine {
        let mut machine = Machine::default();
        let address = "0000:01:00.0".parse().expect("an address");
        machine.pci.insert(address, PciDevice { address, ..PciDevice::default() });
        machine.nics.insert("eth0".to_owned(), Nic::default());
        let dm = DmDevice { name: Fact::known("root".to_owned(), "x"), ..DmDevice::default() };
        for (name, kind) in [("nvme0n1", BlockKind::Disk), ("dm-0", BlockKind::Dm(dm))] {
            let device = BlockDevice { name: name.to_owned(), kind, ..BlockDevice::default() };
            machine.block.insert(name.to_owned(), device);
        }
        let mount = Mount { point: "/srv".to_owned(), source: "tank/srv".to_owned(), ..Mount::default() };
        machine.mounts.push(mount);
        machine.zfs.push(ZfsPool { name: "backup".to_owned(), ..ZfsPool::default() });
        machine
    }

    #[test]
    fn everything_that_a_text_names_is_a_target() {
        let machine = machine();
        let block = |name: &str| Ok(Found::Block(name.to_owned()));
        let file = |path: &str| Ok(Found::File(path.to_owned()));
        assert_eq!(find(&machine, "01:00.0"), Ok(Found::Pci("0000:01:00.0".parse().expect("an address"))));
        assert_eq!(find(&machine, "eth0"), Ok(Found::Nic("eth0".to_owned())));
        assert_eq!(find(&machine, "/dev/nvme0n1"), block("nvme0n1"));
        assert_eq!(find(&machine, "nvme0n1"), block("nvme0n1"));
        assert_eq!(find(&machine, "/dev/mapper/root"), block("dm-0"));
        assert_eq!(find(&machine, "tank/srv"), file("/srv"));
        assert_eq!(find(&machine, "/srv/films"), file("/srv/films"));
        assert_eq!(find(&machine, "backup"), Ok(Found::Pool("backup".to_owned())));
    }

    #[test]
    fn what_no_text_names_comes_with_what_is_close() {
        let machine = machine();
        let error = find(&machine, "/dev/nvme1n1").expect_err("is not there");
        assert_eq!(error.hint().as_deref(), Some("did you mean `/dev/nvme0n1`?"));
        for typed in ["", "/", "/home", "02:00.0", "../srv", "/dev/", "/dev/mapper/x"] {
            assert!(find(&machine, typed).is_err(), "{typed}");
        }
    }
}
