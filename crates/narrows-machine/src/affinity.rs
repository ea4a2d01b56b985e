//! Where GPUs and network cards are, in the words of `nvidia-smi topo -m`: which NUMA node and processors are near. It
//! names them by number or by RDMA device, not by address, so that this is known of captures only.

use super::fact::Fact;

/// What is near a device.
#[derive(Debug, Clone, Default)]
pub struct Affinity {
    /// The NUMA node.
    pub node: Fact<u32>,
    /// The processors.
    pub cpus: Fact<Vec<u32>>,
}
