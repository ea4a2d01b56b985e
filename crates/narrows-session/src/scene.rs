//! What is measured: a machine, and one path of it.

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::measure::{Command, Kernel, Processors, Session};
use narrows_machine::root::Root;
use narrows_machine::{Machine, mount, target};
use narrows_model::path::{DeviceHop, HopKind, HopSpec, Path, Target, build};
use narrows_verdict::Subject;

/// A machine, and the one path of it that is measured.
pub struct Scene {
    /// Where facts are read.
    pub root: Root,
    pub machine: Machine,
    /// The path with its ceilings, and no runs.
    pub subject: Subject,
}

impl Scene {
    /// The path to a target; `None` where no storage path leads there.
    pub fn of(root: Root, machine: Machine, asked: &Target) -> Option<Self> {
        let path = build::path(&machine, asked)?;
        Some(Self { root, machine, subject: Subject::of(path) })
    }

    /// A session of a command on the path, from the processors that suit it, which watches the machine for the time `idle`
    /// first. `stop` ends everything when it is raised.
    pub fn session(&self, command: Command, stop: Arc<AtomicBool>, idle: Duration) -> Session<'_> {
        let path = &self.subject.path;
        let on = (Processors::of(&self.machine, path), drives(path));
        Session::begin(command, (&self.root, Kernel), on, stop, idle)
    }
}

/// The device file of a block device.
pub fn device(name: &str) -> PathBuf {
    // The kernel writes `!` for a slash in a device's name (`cciss!c0d0`).
    FilePath::new("/dev").join(name.replace('!', "/"))
}

/// The device file that is read where a path was asked for as a device, or as something that drives are behind; `None` where
/// it was asked for as a mount point, directory or file, or no drive is behind it.
pub fn medium(path: &Path) -> Option<PathBuf> {
    match &path.asked {
        Target::Block(name) => Some(device(name)),
        Target::Mount { .. } => None,
        Target::Pci(_) | Target::Usb(_) | Target::Pool(_) | Target::Nic(_) => {
            drives(path).first().map(|name| device(name))
        }
    }
}

/// The block devices that the file system which holds `path`, or will hold it, lies on right away.
pub fn devices(root: &Root, path: &FilePath) -> Vec<String> {
    let mounts = mount::read(root);
    let real = root.resolve(&path.to_string_lossy()).get();
    let real = real.or_else(|| root.resolve(&path.parent()?.to_string_lossy()).get());
    let mount = real.and_then(|real| target::mount_of(&mounts, &real)).and_then(|index| mounts.get(index));
    mount.map(|mount| mount.devices.clone()).unwrap_or_default()
}

/// The drives of a path.
pub fn device_hops(path: &Path) -> impl Iterator<Item = &DeviceHop> {
    path.hops.iter().filter_map(|hop| match &hop.spec {
        HopSpec::Device(device) => Some(device),
        _ => None,
    })
}

/// The same by kernel name.
pub fn drives(path: &Path) -> Vec<String> {
    device_hops(path).map(|device| device.block.clone()).collect()
}

/// The server that all of a path's data comes from, as `address:port`: the first of several. `None` where drives of this machine hold a
/// part of it.
pub fn server(path: &Path) -> Option<&str> {
    if device_hops(path).next().is_some() {
        return None;
    }
    let remote = path.hops.iter().find(|hop| hop.kind() == HopKind::Remote)?;
    remote.id.as_str().split_once(':').map(|(_, place)| place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_machine::tree::Tree;

    /// A mirror of two drives behind NVMe/TCP, or of one and a drive of this machine.
    fn mirror(has_own: bool) -> Root {
        let block = "/sys/class/block";
        let mut tree = Tree::new();
        tree.file(&format!("{block}/md0/dev"), "9:0\n")
            .file(&format!("{block}/md0/md/level"), "raid1\n")
            .file(&format!("{block}/md0/md/raid_disks"), "2\n");
        for (number, is_remote) in [(1, true), (2, !has_own)] {
            let (controller, name) = (format!("nvme{number}"), format!("nvme{number}n1"));
            let (class, at) =
                (format!("/sys/class/nvme/{controller}"), format!("/sys/devices/ctl/{controller}"));
            let address = format!("traddr=10.9.0.{number},trsvcid=4420,src_addr=10.9.0.9\n");
            tree.file(&format!("{at}/transport"), if is_remote { "tcp\n" } else { "pcie\n" })
                .file(&format!("{at}/address"), &address)
                .file(&format!("{at}/{name}/dev"), &format!("259:{number}\n"))
                .link(&format!("{at}/{name}/device"), &format!("../../{controller}"))
                .link(&class, &at)
                .link(&format!("{block}/{name}"), &format!("{at}/{name}"))
                .link(&format!("{block}/md0/slaves/{name}"), "/x")
                .file(&format!("{block}/md0/md/dev-{name}/state"), "in_sync\n");
        }
        Root::from_tree(tree)
    }

    #[test]
    fn an_array_of_drives_of_servers_comes_from_a_server_and_one_with_a_drive_of_its_own_does_not() {
        let server_of = |root: Root| {
            let machine = Machine::read(&root);
            let path = build::path(&machine, &Target::Block("md0".to_owned())).expect("is an array");
            server(&path).map(str::to_owned)
        };
        assert_eq!(server_of(mirror(false)).as_deref(), Some("10.9.0.1:4420"));
        assert_eq!(server_of(mirror(true)), None);
    }

    #[test]
    fn a_file_that_is_not_there_yet_will_lie_on_the_devices_of_its_directory() {
        let mut tree = Tree::new();
        tree.file(
            "/proc/self/mountinfo",
            "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 22 9:0 / /srv rw - xfs /dev/md0 rw\n",
        )
        .link("/sys/dev/block/8:1", "../../devices/sda1")
        .link("/sys/dev/block/9:0", "../../devices/md0")
        .file("/sys/devices/sda1/dev", "8:1\n")
        .file("/sys/devices/md0/dev", "9:0\n")
        .file("/srv/photos/one", "x");
        let root = Root::from_tree(tree);
        for (path, on) in [("/srv/photos/one", "md0"), ("/srv/photos/two", "md0"), ("/other", "sda1")] {
            assert_eq!(devices(&root, FilePath::new(path)), [on], "{path}");
        }
        assert!(devices(&root, FilePath::new("/no/such/place")).is_empty());
    }
}
