//! Processors, NUMA nodes and memory: `/proc/cpuinfo`, `/proc/meminfo`, `/sys/devices/system/{cpu,node}`.

use crate::machine::fact::Fact;
use crate::machine::root::Root;
use crate::units::Bytes;

/// The processors of a machine.
#[derive(Debug, Clone, Default)]
pub struct Cpus {
    /// The model name, `/proc/cpuinfo`.
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
    /// What runs this machine when it is virtual (`/sys/hypervisor/type`, DMI, the `hypervisor` flag).
    pub hypervisor: Fact<String>,
}

/// One NUMA node, `/sys/devices/system/node/node*`.
#[derive(Debug, Clone, Default)]
pub struct NumaNode {
    /// Its number.
    pub id: u32,
    /// Its processors, `…/cpulist`.
    pub cpus: Vec<u32>,
    /// Its memory, `…/meminfo`.
    pub memory: Fact<Bytes>,
    /// The relative distance to each node, `…/distance`; 10 is local.
    pub distances: Vec<u32>,
    /// The socket of its processors; absent for a node without processors.
    pub socket: Fact<u32>,
}

/// Reads processors, nodes and memory.
pub fn read(_root: &Root) -> Cpus {
    Cpus::default()
}

/// Reads a kernel CPU list such as `0-3,8,10-11`; `None` when it is malformed or absurdly long.
pub fn parse_list(text: &str) -> Option<Vec<u32>> {
    const MOST: u32 = 65536;
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last < first || last >= MOST {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_are_read_and_absurd_ones_refused() {
        assert_eq!(parse_list("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse_list(""), Some(vec![]));
        for text in ["3-1", "0-4294967295", "a", "1-", "-"] {
            assert_eq!(parse_list(text), None, "{text}");
        }
    }
}
