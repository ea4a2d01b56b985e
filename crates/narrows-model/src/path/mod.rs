//! Which hops does a byte cross, and which of them are shared?
//!
//! A [`Path`] leads from the application to the media of a target and back to memory. It fans out at RAID arrays and
//! logical volumes, and comes together again at whatever the members share: a switch, the chipset, a socket, memory.
//! Each hop carries its [`Traffic`]: how many bytes cross it for one byte that the application moves. That number is
//! what turns a hop's ceiling into a ceiling of the path.
//!
//! # The order of hops
//! First come the layers of software, from the application down: file system, arrays, volumes, the queue of each disk.
//! Below a queue the hops stand in the order in which data that is read crosses them: the medium, its interface (SATA,
//! SAS, USB), the controller or adapter, its PCIe link, switches and their links, the chipset's uplink, the socket, main
//! memory. For data from a network: the server, the interface, the card's PCIe link, and on as above.
//!
//! The hops of one member of an array stand together, one deeper than the array. What several members cross stands once,
//! below the last of them, and as deep as the array again when all of them cross it. Each hop names the one above it; of a
//! hop where members come together that is the array at which they parted.

pub mod build;
pub mod choice;
mod climb;
mod disk;
mod endpoint;
pub mod file;
mod graph;
mod hop;
pub mod layers;
mod link;
mod network;
pub mod peer;
pub mod slot;
mod split;
mod stack;
mod zfs;

pub use hop::{
    ControllerHop, CryptHop, DeviceHop, FilesystemHop, Flash, GivenHop, Hop, HopId, HopKind, HopSpec,
    LinkHop, NetworkHop, RaidHop, RaidLevel, SocketHop, Traffic, UplinkHop, VolumeHop, VolumeLayout, ZfsHop,
    ZfsLayout,
};
pub use link::{LinkPart, PowerSaving};

pub(crate) use hop::of_word;

/// What a person asks about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A block device, by kernel name; in a described system, a part by its name.
    Block(String),
    /// A mounted file system, by the place in [`narrows_machine::Machine::mounts`], and the file or directory on it
    /// that was named.
    Mount {
        /// Index into the mounts.
        index: usize,
        /// What was named: a directory or a file on it.
        path: String,
    },
    /// A PCI function.
    Pci(narrows_machine::pci::PciAddress),
    /// A USB device that stores data, of which no block device is known. Only machines out of captures have them.
    Usb(narrows_machine::usb::UsbAddress),
    /// A ZFS pool, by name, of which no mount is known. Only machines out of captures have them.
    Pool(String),
    /// A network interface.
    Nic(String),
}

/// The hops between an application and its data, ordered from the application down to memory.
#[derive(Debug, Clone)]
pub struct Path {
    /// What it leads to, as a person would name it: `/dev/nvme0n1`, `/home`, `0000:02:00.0`, `eth0`.
    pub target: String,
    /// What was asked about.
    pub asked: Target,
    /// The hops. The first is the application, the last is memory.
    pub hops: Vec<Hop>,
}

impl Path {
    /// The hop with this id.
    pub fn hop(&self, id: &HopId) -> Option<&Hop> {
        self.hops.iter().find(|hop| hop.id == *id)
    }

    /// The hops of one kind.
    pub fn of_kind(&self, kind: HopKind) -> impl Iterator<Item = &Hop> {
        self.hops.iter().filter(move |hop| hop.kind() == kind)
    }
}

#[cfg(test)]
mod tests;
