//! Who moves bytes: what the kernel accounts to each process, and which devices its open files lie on.

use serde::{Deserialize, Serialize};

use std::collections::{BTreeMap, BTreeSet};

use super::now;
use crate::Machine;
use crate::root::Root;
use crate::target::mount_of;
use narrows_base::fact::Fact;
use narrows_base::units::{Bytes, BytesPerSec, Nanos};

/// Processes that move less each second are left out.
const LEAST: f64 = 100_000.0;
/// So many of the open files of a process are looked at.
const MOST_FILES: usize = 512;

/// What each process moved to and from storage since it began, `/proc/PID/io`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Movers {
    at: Nanos,
    moved: BTreeMap<u32, Moved>,
    /// How many processes do not show it to this user.
    pub hidden: usize,
}

/// `read_bytes` and `write_bytes` of `proc_pid_io(5)`: what a process caused to be fetched from storage, and what it caused to
/// be sent there, which for buffered writes is counted when they enter the page cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Moved {
    read: u64,
    written: u64,
}

/// A process that moves bytes to or from storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mover {
    /// Its number.
    pub pid: u32,
    /// Its name, `/proc/PID/comm`.
    pub name: String,
    /// What it reads.
    #[serde(rename = "read_bytes_per_second")]
    pub read: BytesPerSec,
    /// What it writes; counted when it enters the page cache.
    #[serde(rename = "write_bytes_per_second")]
    pub written: BytesPerSec,
    /// The block devices, by kernel name, that its open files are or lie on. Files that it only mapped are not among them.
    pub devices: BTreeSet<String>,
}

impl Movers {
    /// Reads the counters of every process but this one.
    pub fn read(root: &Root) -> Self {
        let mut movers = Self { at: now(), ..Self::default() };
        let own = std::process::id();
        for pid in root.list("/proc").into_iter().filter_map(|name| name.parse::<u32>().ok()) {
            match root.text(&format!("/proc/{pid}/io")) {
                _ if pid == own && root.is_live() => {}
                Fact::Known { value, .. } => {
                    movers.moved.extend(parse(&value).map(|moved| (pid, moved)));
                }
                Fact::Denied { .. } => movers.hidden += 1,
                _ => {}
            }
        }
        movers
    }

    /// Who moved bytes since `before`, who moved most first, at most `most` of them. What began in between has no rate yet.
    pub fn since(&self, before: &Self, (root, machine): (&Root, &Machine), most: usize) -> Vec<Mover> {
        let elapsed = Nanos::new(self.at.get().saturating_sub(before.at.get())).duration();
        if elapsed.is_zero() {
            return Vec::new();
        }
        let rate = |bytes: u64| Bytes::new(bytes).per(elapsed);
        let mut rates: Vec<(u32, BytesPerSec, BytesPerSec)> = self
            .moved
            .iter()
            .filter_map(|(pid, now)| {
                let then = before.moved.get(pid)?;
                // A counter that went back is that of another process with the same number.
                let (read, written) =
                    (now.read.checked_sub(then.read)?, now.written.checked_sub(then.written)?);
                let (read, written) = (rate(read), rate(written));
                (read.get() + written.get() >= LEAST).then_some((*pid, read, written))
            })
            .collect();
        let sum = |(_, read, written): &(u32, BytesPerSec, BytesPerSec)| read.get() + written.get();
        rates.sort_by(|one, other| sum(other).total_cmp(&sum(one)));
        rates.truncate(most);
        let named = rates.into_iter().map(|(pid, read, written)| {
            let name = root.text(&format!("/proc/{pid}/comm")).get().unwrap_or_else(|| pid.to_string());
            Mover { pid, name, read, written, devices: devices(root, machine, pid) }
        });
        named.collect()
    }
}

fn parse(text: &str) -> Option<Moved> {
    let number = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().parse::<u64>().ok()
    };
    Some(Moved { read: number("read_bytes:")?, written: number("write_bytes:")? })
}

/// The block devices that the open files of a process are or lie on. Only the names of the files are asked for, never the files:
/// a file system of the network that does not answer would hold us up.
fn devices(root: &Root, machine: &Machine, pid: u32) -> BTreeSet<String> {
    let mounts_of = |who: &str| root.link_target(&format!("/proc/{who}/ns/mnt")).get();
    let sees_our_mounts = mounts_of(&pid.to_string()) == mounts_of("self");
    let mut found = BTreeSet::new();
    for file in root.list(&format!("/proc/{pid}/fd")).iter().take(MOST_FILES) {
        let Some(path) = root.link_target(&format!("/proc/{pid}/fd/{file}")).get() else { continue };
        if let Some(name) = path.strip_prefix("/dev/").map(|name| name.replace('/', "!")) {
            found.extend(machine.block.contains_key(&name).then_some(name));
        } else if path.starts_with('/') && sees_our_mounts {
            let mount = mount_of(&machine.mounts, &path).and_then(|index| machine.mounts.get(index));
            found.extend(mount.into_iter().flat_map(|mount| mount.devices.iter().cloned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::BlockDevice;
    use crate::mount::Mount;
    use crate::tree::Tree;

    const IO: &str = "rchar: 9\nwchar: 9\nsyscr: 1\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 8192\n\
        cancelled_write_bytes: 0\n";

    fn movers(seconds: u64, pids: &[(u32, u64, u64)]) -> Movers {
        let moved = pids.iter().map(|(pid, read, written)| (*pid, Moved { read: *read, written: *written }));
        Movers { at: Nanos::from_millis(seconds * 1000), moved: moved.collect(), hidden: 0 }
    }

    fn machine() -> Machine {
        let mut machine = Machine::default();
        machine.block.insert("nvme0n1".to_owned(), BlockDevice::default());
        machine.mounts = [("/", "sda2"), ("/srv", "md0")]
            .map(|(point, device)| Mount {
                point: point.to_owned(),
                devices: vec![device.to_owned()],
                ..Mount::default()
            })
            .to_vec();
        machine
    }

    #[test]
    fn the_counters_of_storage_are_taken_not_those_of_system_calls() {
        assert_eq!(parse(IO), Some(Moved { read: 4096, written: 8192 }));
        for bad in ["", "read_bytes: x\nwrite_bytes: 1\n", "read_bytes: 1\n"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_process_that_hides_its_counters_is_counted() {
        let mut tree = Tree::new();
        tree.file("/proc/7/io", IO).insert("/proc/8/io", crate::tree::Node::Denied);
        let movers = Movers::read(&Root::from_tree(tree));
        assert_eq!((movers.hidden, movers.moved.keys().copied().collect::<Vec<_>>()), (1, vec![7]));
    }

    #[test]
    fn who_moves_most_comes_first_with_the_devices_of_its_files() {
        let mut tree = Tree::new();
        tree.file("/proc/7/comm", "fio\n")
            .link("/proc/self/ns/mnt", "mnt:[1]")
            .link("/proc/7/ns/mnt", "mnt:[1]")
            .link("/proc/7/fd/3", "/dev/nvme0n1")
            .link("/proc/7/fd/4", "/srv/data/file (deleted)")
            .link("/proc/7/fd/5", "socket:[77]")
            .link("/proc/7/fd/6", "/dev/null")
            .link("/proc/9/ns/mnt", "mnt:[2]")
            .link("/proc/9/fd/3", "/srv/in a container");
        let before = movers(10, &[(7, 0, 0), (8, 500, 0), (9, 0, 0), (5, 0, 0)]);
        let after =
            movers(12, &[(7, 200_000_000, 0), (8, 100, 0), (9, 0, 900_000), (4, 1 << 40, 0), (5, 10, 10)]);
        let found = after.since(&before, (&Root::from_tree(tree), &machine()), 5);
        let told: Vec<(u32, f64, f64)> =
            found.iter().map(|one| (one.pid, one.read.get(), one.written.get())).collect();
        assert_eq!(told, [(7, 100e6, 0.0), (9, 0.0, 450e3)]);
        assert_eq!(found[0].name, "fio");
        assert_eq!(found[0].devices.iter().collect::<Vec<_>>(), ["md0", "nvme0n1"]);
        assert!(found[1].devices.is_empty(), "a path of other mounts says nothing");
    }

    #[test]
    fn what_this_process_writes_is_not_among_the_movers() {
        assert!(!Movers::read(&Root::live()).moved.contains_key(&std::process::id()));
    }
}
