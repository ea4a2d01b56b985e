//! What is measured: a machine, and one path of it.

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::measure::{Command, Kernel, Processors, Session};
use narrows_machine::root::Root;
use narrows_machine::{Machine, mount, target};
use narrows_model::path::{HopSpec, Path, Target, build};
use narrows_verdict::Subject;

/// A machine, and the one path of it that is measured.
pub struct Scene {
    /// Where facts are read.
    pub root: Root,
    /// The machine.
    pub machine: Machine,
    /// The path with its ceilings, and no runs.
    pub subject: Subject,
}

impl Scene {
    /// The path to a target, as readers on `cpu_node` see it; `None` where no storage path leads there.
    pub fn of(root: Root, machine: Machine, asked: &Target, cpu_node: Option<u32>) -> Option<Self> {
        let options = build::Options { reader_node: cpu_node };
        let path = build::path_with(&machine, asked, &options)?;
        Some(Self { root, machine, subject: Subject::of(path) })
    }

    /// A session of a command on the path, from the processors of `cpu_node` or those that suit it, which watches the machine
    /// for the time `idle` first. `stop` ends everything when it is raised.
    pub fn session(
        &self,
        command: Command,
        cpu_node: Option<u32>,
        stop: Arc<AtomicBool>,
        idle: Duration,
    ) -> Session<'_> {
        let path = &self.subject.path;
        let on = (Processors::of(&self.machine, path, cpu_node), drives(path));
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

/// The drives of a path, by kernel name.
pub fn drives(path: &Path) -> Vec<String> {
    let drive = |spec: &HopSpec| match spec {
        HopSpec::Device(device) => Some(device.block.clone()),
        _ => None,
    };
    path.hops.iter().filter_map(|hop| drive(&hop.spec)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_machine::tree::Tree;

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
