//! Finds the family of a device, and asks everything that tells who uses it.

use super::class::Class;
use super::findings::Findings;
use super::processes::Processes;
use super::wanted::Wanted;
use super::{DeviceUse, How, configfs, kernel, loops, sight};
use crate::block::device_path::DevicePath;
use crate::root::Root;

/// What the search came to.
pub(super) struct Found {
    /// The kernel names of the family.
    pub(super) family: Vec<String>,
    /// Who uses any of these, in order.
    pub(super) uses: Vec<DeviceUse>,
    /// Which classes of user could not be seen, and why.
    pub(super) unseen: Vec<String>,
}

/// Looks for everything that uses the device with a kernel name, or a device of its family.
pub(super) fn search(root: &Root, name: &str) -> Found {
    let mut finder = Finder { root, wanted: Wanted::default(), findings: Findings::default() };
    finder.above(name);
    finder.below(name);
    finder.behind(name);
    finder.paths(name);
    finder.suspended();
    let Finder { wanted, mut findings, .. } = finder;
    sight::look(root, &mut findings);
    loops::search(root, name, &wanted, &mut findings);
    configfs::search(root, &wanted, &mut findings);
    kernel::search(root, &wanted, &mut findings);
    Processes::search(root, &wanted, &mut findings);
    Found {
        family: wanted.names().cloned().collect(),
        uses: findings.uses.into_iter().collect(),
        unseen: findings.hidden.iter().map(ToString::to_string).collect(),
    }
}

/// Collects the family.
struct Finder<'a> {
    root: &'a Root,
    wanted: Wanted,
    findings: Findings,
}

impl Finder<'_> {
    fn join(&mut self, name: &str) -> bool {
        self.wanted.join(self.root, name)
    }

    /// The device, its partitions and everything that is built on them.
    fn above(&mut self, name: &str) {
        if !self.join(name) {
            return;
        }
        let block = format!("/sys/class/block/{name}");
        if self.root.exists(&format!("{block}/bcache")) {
            self.findings.note(name, How::Bcache);
        }
        let entries = self.root.try_list(&block);
        if entries.value().is_none() {
            let why = entries.missing().unwrap_or_else(|| format!("`{block}` cannot be listed"));
            self.findings.hide(&[Class::Stacked], why);
        }
        for entry in entries.get().unwrap_or_default() {
            if self.root.exists(&format!("{block}/{entry}/partition")) {
                self.findings.note(name, How::Partition(entry.clone()));
                self.above(&entry);
            }
        }
        for holder in self.root.list(&format!("{block}/holders")) {
            let mapped = self.root.text(&format!("/sys/class/block/{holder}/dm/name")).get();
            let shown = mapped.map_or_else(|| holder.clone(), |mapped| format!("{holder} ({mapped})"));
            self.findings.note(name, How::Holder(shown));
            self.above(&holder);
        }
    }

    /// The disk of a partition and the devices that a device is built on. What else uses those is not our concern.
    fn below(&mut self, name: &str) {
        let block = format!("/sys/class/block/{name}");
        if self.root.exists(&format!("{block}/partition"))
            && let Some(real) = self.root.resolve(&block).get()
            && let Some(disk) = DevicePath::new(&real).parent_name()
        {
            self.findings.note(name, How::PartitionOf(disk.to_owned()));
            if self.join(disk) {
                self.below(disk);
            }
        }
        for slave in self.root.list(&format!("{block}/slaves")) {
            self.built_on(name, &slave);
        }
        let device = loops::behind(self.root, name).and_then(|told| told.behind.device);
        if let Some(lower) = device.and_then(|number| crate::mount::by_number(self.root, number)) {
            self.built_on(name, &lower);
        }
    }

    fn built_on(&mut self, name: &str, lower: &str) {
        self.findings.note(name, How::BuiltOn(lower.to_owned()));
        if self.join(lower) {
            self.below(lower);
        }
    }

    /// The file behind the target, when that is a loop device.
    fn behind(&mut self, name: &str) {
        if let Some(told) = loops::behind(self.root, name)
            && told.behind.device.is_none()
        {
            self.wanted.watch_file(loops::file_behind(self.root, name, told.behind.file));
        }
    }

    /// Other whole devices with the worldwide name of the target: paths to one drive, or drives that nobody can tell
    /// from each other.
    fn paths(&mut self, name: &str) {
        let wide = |name: &str| {
            let block = format!("/sys/class/block/{name}");
            let text = ["wwid", "device/wwid"]
                .iter()
                .find_map(|file| self.root.text(&format!("{block}/{file}")).get());
            text.filter(|text| !text.is_empty())
        };
        let Some(own) = wide(name) else { return };
        let blocks = self.root.list("/sys/class/block");
        let others = blocks.iter().filter(|other| *other != name && !self.wanted.has(other));
        let twins: Vec<String> = others.filter(|other| wide(other).as_ref() == Some(&own)).cloned().collect();
        twins.into_iter().for_each(|twin| self.findings.note(name, How::Path(twin)));
    }

    /// Mappings that are suspended: whoever reads one waits until it is resumed, and nothing ends that.
    fn suspended(&mut self) {
        for name in self.wanted.names() {
            if is_suspended(self.root, name) {
                self.findings.note(name, How::Suspended);
            }
        }
    }
}

/// Whether a device is a mapping that is suspended.
fn is_suspended(root: &Root, name: &str) -> bool {
    root.text(&format!("/sys/class/block/{name}/dm/suspended")).value().is_some_and(|text| text == "1")
}

/// The mappings that are suspended among a device and what it is built on, in the order in which they are reached.
pub(super) fn suspended_below(root: &Root, name: &str) -> Vec<String> {
    let mut finder = Finder { root, wanted: Wanted::default(), findings: Findings::default() };
    finder.join(name);
    finder.below(name);
    finder.wanted.names().filter(|name| is_suspended(root, name)).cloned().collect()
}
