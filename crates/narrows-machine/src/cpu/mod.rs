//! Processors, NUMA nodes and memory: `/proc/cpuinfo`, `/proc/meminfo`, `/sys/devices/system/{cpu,node}`.

mod hypervisor;
mod info;
mod node;

use std::collections::BTreeSet;

pub use hypervisor::named_by_firmware as hypervisor_named;
pub use info::{CpuInfo, parse_cpuinfo};
pub use node::NumaNode;

use crate::root::Root;
use narrows_base::fact::Fact;
use narrows_base::units::Bytes;

const CPUS: &str = "/sys/devices/system/cpu";
const CPUINFO: &str = "/proc/cpuinfo";
/// Enough for the first processor. The kernel asks every further one for its clock as it writes, which takes long on a
/// large machine.
const CPUINFO_BYTES: u64 = 8192;

/// The processors of a machine.
#[derive(Debug, Clone, Default)]
pub struct Cpus {
    /// The model name, `/proc/cpuinfo`; on ARM, which gives numbers only, `ARM implementer 0x41 part 0xd0c`.
    pub model: Fact<String>,
    /// CPU family, model and stepping of an x86 processor, `/proc/cpuinfo`.
    pub signature: Fact<(u32, u32, u32)>,
    /// The feature flags that matter here (`aes`, `vaes`, `avx512f`, `hypervisor`, `constant_tsc`, `nonstop_tsc`…).
    pub flags: Vec<String>,
    /// The processors that are online, `/sys/devices/system/cpu/online`.
    pub online: Fact<Vec<u32>>,
    /// The number of physical cores, from `…/topology/core_cpus_list`.
    pub cores: Fact<u32>,
    /// The number of sockets, from `…/topology/physical_package_id`.
    pub sockets: Fact<u32>,
    /// NUMA nodes, by number.
    pub nodes: Vec<NumaNode>,
    /// Main memory, `/proc/meminfo` `MemTotal`.
    pub memory: Fact<Bytes>,
    /// What runs this machine when it is virtual (`/sys/hypervisor/type`, DMI, the `hypervisor` flag); absent on bare
    /// metal.
    pub hypervisor: Fact<String>,
}

/// Reads processors, nodes and memory.
pub fn read(root: &Root) -> Cpus {
    let info = root.head(CPUINFO, CPUINFO_BYTES).map(|text| parse_cpuinfo(&String::from_utf8_lossy(&text)));
    let online = root.parse(&format!("{CPUS}/online"), parse_list);
    let known = info.get().unwrap_or_default();
    Cpus {
        cores: cores(root, &online),
        sockets: sockets(root, &online),
        nodes: node::read(root),
        memory: root.parse("/proc/meminfo", |text| parse_memory(text, "MemTotal")),
        hypervisor: hypervisor::read(root, &known),
        model: info.clone().and_then(|info| said(info.model)),
        signature: info.and_then(|info| said(info.signature)),
        flags: known.flags,
        online,
    }
}

fn said<T>(value: Option<T>) -> Fact<T> {
    value.map_or_else(|| Fact::absent(CPUINFO), |value| Fact::known(value, CPUINFO))
}

/// Counts the distinct groups of threads that share a core. Kernels before 5.3 call the file `thread_siblings_list`.
fn cores(root: &Root, online: &Fact<Vec<u32>>) -> Fact<u32> {
    let siblings = |cpu: &u32, name: &str| root.text(&format!("{CPUS}/cpu{cpu}/topology/{name}"));
    let cpus = online.value().map(Vec::as_slice).unwrap_or_default();
    let new_name = cpus.first().is_some_and(|cpu| siblings(cpu, "core_cpus_list").value().is_some());
    let name = if new_name { "core_cpus_list" } else { "thread_siblings_list" };
    let groups: BTreeSet<String> = cpus.iter().filter_map(|cpu| siblings(cpu, name).get()).collect();
    count(groups.len(), format!("{CPUS}/cpu*/topology/{name}"))
}

/// Counts the distinct packages. `-1` stands for unknown (kernel `Documentation/admin-guide/cputopology.rst`).
fn sockets(root: &Root, online: &Fact<Vec<u32>>) -> Fact<u32> {
    let cpus = online.value().map(Vec::as_slice).unwrap_or_default();
    let packages: BTreeSet<u32> = cpus.iter().filter_map(|cpu| socket_of(root, *cpu).get()).collect();
    count(packages.len(), format!("{CPUS}/cpu*/topology/physical_package_id"))
}

fn socket_of(root: &Root, cpu: u32) -> Fact<u32> {
    let path = format!("{CPUS}/cpu{cpu}/topology/physical_package_id");
    let package = root.text(&path);
    if package.value().is_some_and(|package| package == "-1") {
        return Fact::absent(path);
    }
    package.parse(|package| package.parse().ok())
}

fn count(found: usize, source: String) -> Fact<u32> {
    match u32::try_from(found) {
        Ok(count @ 1..) => Fact::known(count, source),
        _ => Fact::absent(source),
    }
}

/// The memory that programs and the page cache can still get without swapping (`MemAvailable`).
pub fn available_memory(root: &Root) -> Fact<Bytes> {
    root.parse("/proc/meminfo", |text| parse_memory(text, "MemAvailable"))
}

/// Finds `MemTotal:  10315988 kB` in `/proc/meminfo`, or the same behind `Node 0 ` in a node's. The kernel's kB are
/// KiB.
pub fn parse_memory(text: &str, name: &str) -> Option<Bytes> {
    let (_, rest) =
        text.lines().find_map(|line| line.split_once(':').filter(|(key, _)| key.ends_with(name)))?;
    let kib: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024).map(Bytes::new)
}

/// Reads a kernel CPU list such as `0-3,8,10-11`; `None` when it is malformed or absurdly long.
pub fn parse_list(text: &str) -> Option<Vec<u32>> {
    const MOST: u32 = 65536;
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last < first || last >= MOST || cpus.len() > MOST as usize {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use proptest::prelude::*;

    #[test]
    fn cpu_lists_are_read_and_absurd_ones_refused() {
        assert_eq!(parse_list("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse_list(""), Some(vec![]));
        for text in ["3-1", "0-4294967295", "a", "1-", "-", &"0-65535,".repeat(9)] {
            assert_eq!(parse_list(text), None, "{text}");
        }
    }

    #[test]
    fn memory_is_counted_in_kib() {
        let text = "MemTotal:       10315988 kB\nMemFree:         9311880 kB\n";
        assert_eq!(parse_memory(text, "MemTotal"), Some(Bytes::new(10_563_571_712)));
        assert_eq!(
            parse_memory("Node 1 MemTotal:         468140 kB", "MemTotal"),
            Some(Bytes::from_kib(468_140))
        );
        assert_eq!(parse_memory("MemTotal: 18446744073709551615 kB", "MemTotal"), None);
        assert_eq!(parse_memory("MemFree: 1 kB", "MemTotal"), None);
    }

    /// Two sockets of two cores of two threads; the last processor is offline.
    fn two_sockets() -> Tree {
        let mut tree = Tree::new();
        tree.file("/sys/devices/system/cpu/online", "0-6\n");
        for cpu in 0..7 {
            let dir = format!("/sys/devices/system/cpu/cpu{cpu}/topology");
            let core = cpu % 4;
            let siblings = if core == 3 { "3".to_owned() } else { format!("{core},{}", core + 4) };
            tree.file(&format!("{dir}/core_cpus_list"), &siblings);
            tree.file(&format!("{dir}/physical_package_id"), if core < 2 { "0" } else { "1" });
        }
        for (node, cpus) in [(0, "0-1,4-5"), (1, "2-3,6"), (10, "")] {
            let dir = format!("/sys/devices/system/node/node{node}");
            tree.file(&format!("{dir}/cpulist"), cpus)
                .file(&format!("{dir}/distance"), "10 21 17")
                .file(&format!("{dir}/meminfo"), &format!("Node {node} MemTotal:  1048576 kB\n"));
        }
        tree.file("/sys/devices/system/node/has_cpu", "0-1");
        tree
    }

    #[test]
    fn cores_and_sockets_are_counted_over_what_is_online() {
        let cpus = read(&Root::from_tree(two_sockets()));
        assert_eq!((cpus.cores.get(), cpus.sockets.get()), (Some(4), Some(2)));
        assert_eq!(cpus.online.get().map(|online| online.len()), Some(7));
    }

    #[test]
    fn nodes_know_their_processors_socket_and_distances() {
        let nodes = read(&Root::from_tree(two_sockets())).nodes;
        assert_eq!(nodes.iter().map(|node| node.id).collect::<Vec<_>>(), [0, 1, 10]);
        assert_eq!((nodes[1].cpus.as_slice(), nodes[1].socket.get()), ([2, 3, 6].as_slice(), Some(1)));
        assert_eq!(nodes[1].distances, [10, 21, 17]);
        assert_eq!(nodes[0].memory.get(), Some(Bytes::from_mib(1024)));
        assert!(nodes[2].cpus.is_empty() && nodes[2].socket.value().is_none(), "memory alone");
    }

    #[test]
    fn a_machine_that_says_nothing_has_reasons_and_no_zeros() {
        let cpus = read(&Root::from_tree(Tree::new()));
        assert!(cpus.cores.missing().is_some() && cpus.sockets.missing().is_some());
        assert!(cpus.model.missing().is_some() && cpus.memory.missing().is_some());
        assert!(cpus.hypervisor.missing().is_some() && cpus.nodes.is_empty());
        let mut tree = Tree::new();
        tree.file("/sys/devices/system/cpu/online", "0")
            .file("/sys/devices/system/cpu/cpu0/topology/physical_package_id", "-1")
            .file("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0");
        let cpus = read(&Root::from_tree(tree));
        assert_eq!((cpus.sockets.get(), cpus.cores.get()), (None, Some(1)));
    }

    #[test]
    fn this_machine_has_processors_and_memory() {
        let cpus = read(&Root::live());
        assert!(cpus.online.value().is_some_and(|online| !online.is_empty()), "{:?}", cpus.online);
        assert!(cpus.memory.value().is_some_and(|memory| memory.get() > 1 << 24), "{:?}", cpus.memory);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}", numbers in "[0-9,-]{0,60}", memory in "MemTotal: {0,3}[0-9]{0,30} ?(kB)?") {
            let _ = parse_list(&numbers);
            let _ = parse_list(&text);
            let _ = parse_memory(&text, "MemTotal");
            let _ = parse_memory(&memory, "MemTotal");
        }
    }
}
