//! What lies between hosts: interfaces, storage over a network, clusters, virtual machines.

use super::Name;
use narrows_base::units::{BitsPerSec, Bytes, BytesPerSec, Iops, Nanos};

/// The kinds of wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Technology {
    /// Ethernet.
    #[default]
    Ethernet,
    /// InfiniBand.
    Infiniband,
}

/// A network interface and the wire behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// The wire.
    pub technology: Technology,
    /// The line rate of one port. InfiniBand: the rate after its line code, as `ibstat` prints it.
    pub rate: BitsPerSec,
    /// Ports that carry data together.
    pub ports: u32,
    /// The MTU.
    pub mtu: Option<Bytes>,
    /// What is carried: `tcp`, `iscsi`, `nvme-tcp`, `smb`, `rdma`, `iwarp`, `roce`.
    pub protocol: Option<String>,
    /// The slot or switch that the card is in; `None` when it is of no interest.
    pub upstream: Option<Name>,
    /// The card's own end of its link.
    pub link: super::LinkGiven,
    /// From a request on the one side to its answer from the other.
    pub latency: Option<Nanos>,
}

/// Storage that is used over a network.
#[derive(Debug, Clone, PartialEq)]
pub struct Remote {
    /// What is used.
    pub on: Name,
    /// The networks that its data crosses, from the client on.
    pub through: Vec<Name>,
    /// What is spoken, `iscsi`; that of the networks when `None`.
    pub protocol: Option<String>,
    /// What protocol and server add to each I/O, beside the networks.
    pub latency: Option<Nanos>,
    /// What server or protocol carry at best, where that was measured.
    pub rate: Option<BytesPerSec>,
}

/// How a cluster keeps its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copies {
    /// So many whole copies on different hosts.
    Mirror(u32),
    /// Erasure coding: `data` parts and `parity` parts on different hosts.
    Erasure {
        /// Parts that carry data.
        data: u32,
        /// Parts that make up for lost ones.
        parity: u32,
    },
}

impl Copies {
    /// Bytes that are written for each byte of data.
    pub fn amplification(self) -> f64 {
        match self {
            Self::Mirror(copies) => f64::from(copies),
            Self::Erasure { data, parity } => f64::from(data + parity) / f64::from(data.max(1)),
        }
    }
}

/// Drives of several hosts that are used as one.
#[derive(Debug, Clone, PartialEq)]
pub struct Cluster {
    /// The drives or arrays.
    pub members: Vec<Name>,
    /// How data is kept.
    pub copies: Copies,
    /// One network interface for each host, in the order of the hosts.
    pub networks: Vec<Name>,
    /// The share of reads that the reading host serves itself, 0 to 1; one in so many as there are hosts when `None`.
    pub local_reads: Option<f64>,
    /// Whether the clients are hosts of the cluster (hyper-converged) or stand apart, behind the same networks.
    pub converged: bool,
    /// What the software adds to each I/O.
    pub latency: Option<Nanos>,
    /// I/Os that one core of a host handles in a second, both sides together.
    pub core_iops: Option<Iops>,
}

/// Virtual machines that use something together.
#[derive(Debug, Clone, PartialEq)]
pub struct Vm {
    /// What they use.
    pub on: Name,
    /// How many.
    pub count: u32,
    /// I/Os in a second that each may do.
    pub iops: Option<Iops>,
    /// Bytes in a second that each may move.
    pub rate: Option<BytesPerSec>,
    /// What the hypervisor adds to each I/O.
    pub latency: Option<Nanos>,
    /// Virtual processors of each.
    pub cpus: Option<u32>,
}
