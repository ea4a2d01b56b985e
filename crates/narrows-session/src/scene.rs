//! What is measured: a machine, and one path of it.

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::measure::{Command, Kernel, Processors, Session};
use narrows_machine::Machine;
use narrows_machine::root::Root;
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

/// The drives of a path, by kernel name.
pub fn drives(path: &Path) -> Vec<String> {
    let drive = |spec: &HopSpec| match spec {
        HopSpec::Device(device) => Some(device.block.clone()),
        _ => None,
    };
    path.hops.iter().filter_map(|hop| drive(&hop.spec)).collect()
}
