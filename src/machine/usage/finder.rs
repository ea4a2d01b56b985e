//! Finds the family of a device and who uses it.

use std::collections::{BTreeMap, BTreeSet};

use super::{DeviceUse, How, Identity, number, parse_swaps};
use crate::machine::block::device_path::{DevicePath, is_numbered};
use crate::machine::fact::Fact;
use crate::machine::mount;
use crate::machine::root::{FileKind, Root};

/// What the search came to.
pub(super) struct Found {
    /// The kernel names of the family.
    pub(super) family: Vec<String>,
    /// Who uses any of these, in order.
    pub(super) uses: Vec<DeviceUse>,
    /// What could not be looked at.
    pub(super) unseen: Vec<String>,
}

/// Collects the family and what uses it.
pub(super) struct Finder<'a> {
    root: &'a Root,
    /// Kernel names with their numbers.
    family: BTreeMap<String, Option<(u32, u32)>>,
    uses: BTreeSet<DeviceUse>,
    unseen: Vec<String>,
}

impl<'a> Finder<'a> {
    /// Looks for everything that uses the device with a kernel name, or a device of its family.
    pub(super) fn search(root: &'a Root, name: &str, identity: &Identity) -> Found {
        let mut finder = Finder { root, family: BTreeMap::new(), uses: BTreeSet::new(), unseen: Vec::new() };
        finder.above(name);
        finder.below(name);
        finder.loops(name);
        finder.swaps();
        finder.processes(identity);
        Found {
            family: finder.family.into_keys().collect(),
            uses: finder.uses.into_iter().collect(),
            unseen: finder.unseen,
        }
    }

    /// Makes a device a member; `false` when it was one.
    fn join(&mut self, name: &str) -> bool {
        let number = number(self.root, name).get();
        self.family.insert(name.to_owned(), number).is_none()
    }

    fn note(&mut self, device: &str, how: How) {
        self.uses.insert(DeviceUse { device: device.to_owned(), how });
    }

    /// The device, its partitions and everything that is built on them.
    fn above(&mut self, name: &str) {
        if !self.join(name) {
            return;
        }
        let block = format!("/sys/class/block/{name}");
        if self.root.exists(&format!("{block}/bcache")) {
            self.note(name, How::Bcache);
        }
        for entry in self.list(&block) {
            if self.root.exists(&format!("{block}/{entry}/partition")) {
                self.note(name, How::Partition(entry.clone()));
                self.above(&entry);
            }
        }
        for holder in self.root.list(&format!("{block}/holders")) {
            let mapped = self.root.text(&format!("/sys/class/block/{holder}/dm/name")).get();
            let shown = mapped.map_or_else(|| holder.clone(), |mapped| format!("{holder} ({mapped})"));
            self.note(name, How::Holder(shown));
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
            self.note(name, How::PartitionOf(disk.to_owned()));
            if self.join(disk) {
                self.below(disk);
            }
        }
        for slave in self.root.list(&format!("{block}/slaves")) {
            self.note(name, How::BuiltOn(slave.clone()));
            if self.join(&slave) {
                self.below(&slave);
            }
        }
    }

    /// Loop devices over a member, and others over the file of the target when that is a loop device.
    fn loops(&mut self, target: &str) {
        let file = |name: &str| self.root.text(&format!("/sys/class/block/{name}/loop/backing_file")).get();
        let own = file(target);
        let all = self.root.list("/sys/class/block");
        let others = all.iter().filter(|name| *name != target && is_numbered(name, "loop"));
        let backed: Vec<(String, String)> =
            others.filter_map(|name| Some((name.clone(), file(name)?))).collect();
        for (name, file) in backed {
            if own.as_ref() == Some(&file) {
                self.note(target, How::Loop(name));
            } else if let Some(device) = self.member_at(&file) {
                self.note(&device, How::Loop(name));
            }
        }
    }

    /// The first column names a device or a file; a file is on a mount, which is found as such.
    fn swaps(&mut self) {
        let text = self.root.text("/proc/swaps");
        // A kernel without swap has no such file.
        if let Fact::Denied { .. } = text {
            self.unseen.push("swap space (needs root)".to_owned());
        }
        for path in parse_swaps(text.value().map_or("", String::as_str)) {
            if let Some(device) = self.member_at(&path) {
                self.note(&device, How::Swap(path));
            }
        }
    }

    fn processes(&mut self, identity: &Identity) {
        let own = self.root.link_name("/proc/self").get().and_then(|name| name.parse().ok());
        let file = match identity {
            Identity::BackingFile(path) => Some(path.as_str()),
            _ => None,
        };
        let mut seen = BTreeSet::new();
        let (mut hidden_mounts, mut hidden_files) = (0_u64, 0_u64);
        let processes: Vec<u32> = self.list("/proc").iter().filter_map(|name| name.parse().ok()).collect();
        for process in processes {
            hidden_mounts += u64::from(self.mounts(process, &mut seen));
            if Some(process) != own {
                hidden_files += u64::from(self.open_files(process, file));
            }
        }
        for (count, what) in [(hidden_mounts, "mounts"), (hidden_files, "open files")] {
            if count > 0 {
                self.unseen.push(format!("the {what} of {count} processes (needs root)"));
            }
        }
    }

    /// Looks through the mounts of a process, once for each namespace; `true` when they may not be read.
    fn mounts(&mut self, process: u32, seen: &mut BTreeSet<String>) -> bool {
        let namespace = self.root.link_name(&format!("/proc/{process}/ns/mnt"));
        if namespace.get().is_some_and(|namespace| !seen.insert(namespace)) {
            return false;
        }
        let text = self.root.text(&format!("/proc/{process}/mountinfo"));
        for found in mount::parse(text.value().map_or("", String::as_str)) {
            let by_number = self.member_numbered(found.number);
            let devices = match by_number {
                Some(name) => vec![name],
                None => mount::devices(self.root, &found),
            };
            for device in
                devices.into_iter().filter(|name| self.family.contains_key(name)).collect::<Vec<_>>()
            {
                self.note(&device, How::Mounted { point: found.point.clone(), process });
            }
        }
        matches!(text, Fact::Denied { .. })
    }

    /// Looks through the open files of a process for members, and for the file behind the target; `true` when they may
    /// not be read. A device node may have any name anywhere, so the number decides.
    fn open_files(&mut self, process: u32, file: Option<&str>) -> bool {
        let directory = format!("/proc/{process}/fd");
        let listing = self.root.try_list(&directory);
        let mut held = BTreeSet::new();
        for entry in listing.value().map_or(&[][..], Vec::as_slice) {
            let path = format!("{directory}/{entry}");
            match self.root.kind(&path) {
                Some(FileKind::Block(major, minor)) => held.extend(self.member_numbered((major, minor))),
                Some(FileKind::File) => {
                    let target = self.root.resolve(&path).get();
                    let target = target.as_deref().filter(|target| target.starts_with('/'));
                    if target.is_some() && target == file {
                        held.insert("its backing file".to_owned());
                    }
                    held.extend(target.and_then(|target| self.member_at(target)));
                }
                _ => {}
            }
        }
        for device in held {
            let program = self.root.text(&format!("/proc/{process}/comm")).get().unwrap_or_default();
            self.note(&device, How::Open { process, program });
        }
        matches!(listing, Fact::Denied { .. })
    }

    /// The names in a directory that must be there.
    fn list(&mut self, path: &str) -> Vec<String> {
        let listing = self.root.try_list(path);
        if let Some(missing) = listing.missing() {
            self.unseen.push(missing);
        }
        listing.get().unwrap_or_default()
    }

    fn member_numbered(&self, number: (u32, u32)) -> Option<String> {
        self.family.iter().find(|(_, own)| **own == Some(number)).map(|(name, _)| name.clone())
    }

    fn member_at(&self, path: &str) -> Option<String> {
        if let Some(FileKind::Block(major, minor)) = self.root.kind(path) {
            return self.member_numbered((major, minor));
        }
        mount::by_path(self.root, path).filter(|name| self.family.contains_key(name))
    }
}
