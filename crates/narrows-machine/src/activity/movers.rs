//! What the kernel accounts to each process: who moves bytes, and what those take that serve on some ports.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

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
    /// Page faults of children that ended and were waited for: it grows with each such child, whose bytes then count as the
    /// parent's (kernel `kernel/exit.c`, `wait_task_zombie`).
    reaped: u64,
    /// What its present threads moved, where it has waited for a child.
    own: (u64, u64),
}

impl Moved {
    fn read(root: &Root, pid: u32, io: &str) -> Option<Self> {
        let (read, written) = parse(io)?;
        let reaped =
            root.text(&format!("/proc/{pid}/stat")).get().and_then(|stat| reaped(&stat)).unwrap_or(0);
        let own = if reaped > 0 { of_threads(root, pid) } else { (read, written) };
        Some(Self { read, written, reaped, own })
    }

    /// What was read and written since; of a process that has waited for a child meanwhile by its threads alone. A counter that
    /// went back is that of another process with the same number, or of threads that ended.
    fn since(&self, then: &Self) -> Option<(u64, u64)> {
        let (now, then) = match self.reaped == then.reaped {
            true => ((self.read, self.written), (then.read, then.written)),
            false => (self.own, then.own),
        };
        Some((now.0.checked_sub(then.0)?, now.1.checked_sub(then.1)?))
    }
}

fn of_threads(root: &Root, pid: u32) -> (u64, u64) {
    let place = format!("/proc/{pid}/task");
    let threads = root.list(&place);
    let each = threads.iter().filter_map(|thread| parse(&root.text(&format!("{place}/{thread}/io")).get()?));
    each.fold((0, 0), |(read, written), (more, also)| {
        (read.saturating_add(more), written.saturating_add(also))
    })
}

/// `cminflt` of `/proc/PID/stat`, the eleventh value; the second, a name in brackets, may hold anything.
fn reaped(stat: &str) -> Option<u64> {
    let (_, behind) = stat.rsplit_once(')')?;
    behind.split_whitespace().nth(8)?.parse().ok()
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
        for pid in root.list_of::<u32>("/proc") {
            match root.text(&format!("/proc/{pid}/io")) {
                _ if pid == own && root.is_live() => {}
                Fact::Known { value, .. } => {
                    movers.moved.extend(Moved::read(root, pid, &value).map(|moved| (pid, moved)));
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
                let (read, written) = now.since(before.moved.get(pid)?)?;
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

fn parse(text: &str) -> Option<(u64, u64)> {
    let number = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().parse::<u64>().ok()
    };
    Some((number("read_bytes:")?, number("write_bytes:")?))
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

/// What some processes did until now, all threads together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Served {
    /// Time on a processor.
    pub run: Nanos,
    /// Time that they could have run and waited for a processor.
    pub waited: Nanos,
}

/// The sockets of this machine's side of connections on these ports, listening ones among them, by inode.
pub fn sockets_on(root: &Root, ports: &BTreeSet<u16>) -> BTreeSet<u64> {
    let texts = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| root.text(path).get().unwrap_or_default());
    texts.iter().flat_map(|text| text.lines()).filter_map(|line| inode_on(line, ports)).collect()
}

/// The inode of a line of `/proc/net/tcp` (kernel `Documentation/networking/proc_net_tcp.rst`) whose local port is one of these.
fn inode_on(line: &str, ports: &BTreeSet<u16>) -> Option<u64> {
    let mut words = line.split_whitespace();
    let port = words.nth(1)?.rsplit_once(':')?.1;
    let port = u16::from_str_radix(port, 16).ok()?;
    let inode = words.nth(7)?.parse().ok()?;
    (ports.contains(&port) && inode > 0).then_some(inode)
}

/// The processes that have one of these sockets. It looks at every open file of the machine, which root alone sees.
pub fn owners(root: &Root, sockets: &BTreeSet<u64>) -> BTreeSet<u32> {
    if sockets.is_empty() {
        return BTreeSet::new();
    }
    let has = |process: &u32| {
        let place = format!("/proc/{process}/fd");
        root.list(&place).iter().any(|file| {
            let name = root.link_name(&format!("{place}/{file}")).get().unwrap_or_default();
            let inode = name.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
            inode.and_then(|inode| inode.parse().ok()).is_some_and(|inode: u64| sockets.contains(&inode))
        })
    };
    root.list_of("/proc").into_iter().filter(has).collect()
}

/// What these processes did until now (`schedstat` of each thread, kernel `Documentation/scheduler/sched-stats.rst`); `None` of none.
pub fn served(root: &Root, processes: &BTreeSet<u32>) -> Option<Served> {
    let threads = processes.iter().flat_map(|process| {
        let place = format!("/proc/{process}/task");
        let threads = root.list(&place);
        threads.into_iter().filter_map(move |thread| root.text(&format!("{place}/{thread}/schedstat")).get())
    });
    let of = threads.filter_map(|text| {
        let mut words = text.split_whitespace().map(str::parse::<u64>);
        Some((words.next()?.ok()?, words.next()?.ok()?))
    });
    of.reduce(|(run, waited), (more, longer)| (run.saturating_add(more), waited.saturating_add(longer)))
        .map(|(run, waited)| Served { run: Nanos::new(run), waited: Nanos::new(waited) })
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
        let moved = pids
            .iter()
            .map(|(pid, read, written)| (*pid, Moved { read: *read, written: *written, ..Moved::default() }));
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
        assert_eq!(parse(IO), Some((4096, 8192)));
        for bad in ["", "read_bytes: x\nwrite_bytes: 1\n", "read_bytes: 1\n"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_parent_is_not_credited_with_the_bytes_of_a_child_that_it_waited_for() {
        let look = |read: u64, faults: u64, own: u64| {
            let mut tree = Tree::new();
            let io = |read: u64| format!("read_bytes: {read}\nwrite_bytes: 0\n");
            tree.file("/proc/7/io", &io(read));
            tree.file("/proc/7/stat", &format!("7 (a) b) S 1 7 7 0 -1 4194560 100 {faults} 0 0 1 1\n"));
            tree.file("/proc/7/task/7/io", &io(own));
            Movers::read(&Root::from_tree(tree)).moved[&7]
        };
        let before = look(1000, 0, 1000);
        assert_eq!(look(5000, 0, 5000).since(&before), Some((4000, 0)));
        // Its child read 9000 bytes, and it 500 itself.
        assert_eq!(look(10_500, 33, 1500).since(&before), Some((500, 0)));
        let again = look(10_500, 33, 1500);
        assert_eq!(look(12_500, 33, 3500).since(&again), Some((2000, 0)));
        assert_eq!(look(20_500, 70, 1500).since(&again), Some((0, 0)));
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

    // As Linux 6.18 writes it: a server on port 10809, and sshd.
    const TCP: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 02004D0A:2A39 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 81234 1 0000000000000000 100 0 0 10 0
   1: 02004D0A:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 81111 1 0000000000000000 100 0 0 10 0
   2: 02004D0A:2A39 0A004D0A:A0F2 01 00000000:00000000 00:00000000 00000000     0        0 81300 1 0000000000000000 20 4 30 10 -1
";

    #[test]
    fn who_serves_is_found_by_its_sockets_and_what_it_takes_by_its_threads() {
        let mut tree = Tree::new();
        tree.file("/proc/net/tcp", TCP)
            .link("/proc/7/fd/3", "socket:[81234]")
            .link("/proc/7/fd/4", "/dev/null")
            .link("/proc/9/fd/3", "socket:[81111]")
            .file("/proc/7/task/7/schedstat", "1000 20 3\n")
            .file("/proc/7/task/8/schedstat", "500 5 9\n");
        let root = Root::from_tree(tree);
        let sockets = sockets_on(&root, &BTreeSet::from([10809]));
        assert_eq!(sockets, BTreeSet::from([81234, 81300]));
        let found = owners(&root, &sockets);
        assert_eq!(found, BTreeSet::from([7]));
        let told = served(&root, &found).expect("has threads");
        assert_eq!((told.run.get(), told.waited.get()), (1500, 25));
        assert_eq!(served(&root, &BTreeSet::new()), None);
        assert_eq!(served(&root, &BTreeSet::from([99])), None);
    }
}
