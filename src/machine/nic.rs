//! Network interfaces, `/sys/class/net` (kernel `Documentation/ABI/testing/sysfs-class-net`).

use std::collections::BTreeMap;

use crate::machine::fact::Fact;
use crate::machine::pci::PciAddress;
use crate::machine::root::Root;
use crate::units::{BitsPerSec, Bytes};

/// One network interface.
#[derive(Debug, Clone, Default)]
pub struct Nic {
    /// Its name, `eth0`.
    pub name: String,
    /// The line rate, `…/speed`; absent for a virtual interface or one that is down.
    pub speed: Fact<BitsPerSec>,
    /// `full` or `half`, `…/duplex`.
    pub duplex: Fact<String>,
    /// `up`, `down`, `unknown`…, `…/operstate`.
    pub state: Fact<String>,
    /// The largest packet, `…/mtu`.
    pub mtu: Fact<Bytes>,
    /// The kernel driver, `…/device/driver`.
    pub driver: Fact<String>,
    /// The PCI function that carries it.
    pub pci: Option<PciAddress>,
    /// Interfaces that it is made of: members of a bond, ports of a bridge, the parent of a VLAN.
    pub lower: Vec<String>,
    /// Whether it has no hardware of its own (`/sys/devices/virtual`).
    pub is_virtual: bool,
}

/// Reads every network interface.
pub fn read(_root: &Root) -> BTreeMap<String, Nic> {
    BTreeMap::new()
}
