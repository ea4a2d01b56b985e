//! What the laws need to know of each kind of hop.

use std::fmt;

use crate::path::LinkPart;
use narrows_base::fact::Fact;
use narrows_base::units::{BitsPerSec, Bytes};
use narrows_machine::block::{CryptTable, MdArray};
use narrows_machine::pci::{End, Ends, PciAddress, PciDevice, PciId};
use serde::{Deserialize, Serialize};

/// A PCIe link with both its ends.
#[derive(Debug, Clone, Default)]
pub struct LinkHop {
    /// The drive behind it, where the function has no address by which to call it.
    pub drive: Option<String>,
    /// The end away from the processor: a device, or the upstream port of a switch.
    pub device: PciDevice,
    /// The end towards the processor: a root port, or the downstream port of a switch. `None` when the kernel shows
    /// none (a device on a root bus, as in virtual machines).
    pub port: Option<PciDevice>,
    /// Whether a hypervisor made the port up, so that what it says of the link is not of the hardware.
    pub is_port_virtual: bool,
    /// The slot's name: from `/sys/bus/pci/slots`, SMBIOS or the board's data.
    pub slot: Option<String>,
    /// The board's data for this slot, as a place in [`narrows_base::catalog::Board::slots`].
    pub board_slot: Option<narrows_base::catalog::BoardSlot>,
    /// Why the numbers of this link say nothing about its rate (a tunnel through Thunderbolt, a port inside the chip).
    pub not_a_wire: Option<String>,
    /// What the device end is a part of, where its class does not tell.
    pub part: LinkPart,
}

impl LinkHop {
    /// What the link is called after: the function, or the drive.
    pub fn whose(&self) -> String {
        self.drive.clone().unwrap_or_else(|| self.device.address.to_string())
    }

    /// The end towards the processor, where what it says is true.
    pub fn true_port(&self) -> Option<&PciDevice> {
        self.port.as_ref().filter(|_| !self.is_port_virtual)
    }

    /// The state of the link as both ends tell it: the one answer that names, ceilings, findings and reports go by.
    pub fn state(&self) -> Ends<'_> {
        Ends { device: End::of(&self.device), port: self.true_port().map(End::of) }
    }
}

/// The connection between two sockets.
#[derive(Debug, Clone, Default)]
pub struct SocketHop {
    pub device_node: u32,
    /// The node of the processors that read.
    pub reader_node: u32,
    /// The relative distance, 10 = local.
    pub distance: u32,
    /// The catalogue's entry for these processors.
    pub platform: Option<narrows_base::catalog::Processor>,
}

/// The uplink of a chipset or switch.
#[derive(Debug, Clone, Default)]
pub struct UplinkHop {
    /// Its name, `Intel X99 (C610) chipset, DMI 2.0`.
    pub name: String,
    /// The function by which it was recognised.
    pub address: PciAddress,
    /// The catalogue's entry, for a chipset whose uplink cannot be seen in sysfs.
    pub chipset: Option<narrows_base::catalog::Chipset>,
    /// The addresses of everything behind it that can move data.
    pub behind: Vec<PciAddress>,
}

/// A controller or adapter.
#[derive(Debug, Clone, Default)]
pub struct ControllerHop {
    /// The kernel's name or driver, `nvme0`, `ahci`, `virtio-blk`.
    pub name: String,
    /// Its function, if it has one.
    pub address: Option<PciAddress>,
    /// Who it is.
    pub id: Fact<PciId>,
    pub numa_node: Fact<u32>,
    /// Whether it is paravirtual: what carries it is the host's secret.
    pub is_virtual: bool,
    /// `tcp`, `rdma`, `fc` for a fabric controller.
    pub fabric: Option<String>,
}

/// A medium.
#[derive(Debug, Clone, Default)]
pub struct DeviceHop {
    /// The kernel's name of the block device.
    pub block: String,
    /// Its model.
    pub model: Fact<String>,
    pub size: Fact<Bytes>,
    /// Whether it turns.
    pub rotational: Fact<bool>,
    /// Whether it is surely one hard disk: its model number says so, or it says that it turns, and no USB bridge, RAID controller
    /// or hypervisor that says so of anything stands before it.
    pub is_hard_disk: bool,
    /// How it is connected, if it is eMMC, an SD card or a USB stick.
    pub flash: Option<Flash>,
    /// What it is when it is no real medium: `virtio`, `null_blk`, `brd`, `zram`, `loop`.
    pub synthetic: Option<String>,
}

impl DeviceHop {
    /// Whether it is a virtual disk: what carries it is the host's, and not visible from here.
    pub fn is_virtual(&self) -> bool {
        self.synthetic.as_deref().is_some_and(|kind| kind.starts_with("virtio"))
            || self.model.value().is_some_and(|model| is_virtual_disk(model))
    }
}

/// Whether a model is that of a disk which a hypervisor or a provider makes.
pub(in crate::path) fn is_virtual_disk(model: &str) -> bool {
    const BEGINNINGS: [&str; 6] =
        ["QEMU", "VBOX", "VMware", "Virtual Disk", "Amazon Elastic Block Store", "PersistentDisk"];
    BEGINNINGS.iter().any(|beginning| model.starts_with(beginning))
}

/// Flash that is bought by its size and not by its rate.
#[derive(Debug, Clone, PartialEq)]
pub enum Flash {
    /// eMMC or an SD card, and how its controller talks to it.
    Mmc(Fact<String>),
    /// A USB stick or card reader, and its connection.
    Stick(Fact<BitsPerSec>),
}

/// A network interface and the wire behind it.
#[derive(Debug, Clone, Default)]
pub struct NetworkHop {
    pub interface: String,
    /// Its line rate.
    pub speed: Fact<BitsPerSec>,
    pub mtu: Fact<Bytes>,
    /// Its function, if it has one.
    pub address: Option<PciAddress>,
    /// `nvme-tcp`, `iscsi`, `nfs`, `smb`…: what is carried.
    pub protocol: Option<String>,
    /// The number of interfaces bound together.
    pub members: u32,
    /// Whether reads and writes both use both directions, as between the hosts of a cluster, where each serves the
    /// others while it asks them.
    pub both_ways: bool,
}

// Hops of the software stack: what the laws of queues, arrays, encryption, caches, volumes and file systems need to know
// of them.

/// RAID levels that md knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RaidLevel {
    /// Striping.
    Raid0,
    /// Mirroring.
    Raid1,
    /// Striped mirrors.
    Raid10,
    /// One parity.
    Raid5,
    /// Two parities.
    Raid6,
    /// One after another.
    Linear,
}

impl fmt::Display for RaidLevel {
    /// The level as md names it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl RaidLevel {
    /// How many members hold no data of their own.
    pub const fn parity(self) -> u8 {
        match self {
            Self::Raid5 => 1,
            Self::Raid6 => 2,
            Self::Raid0 | Self::Raid1 | Self::Raid10 | Self::Linear => 0,
        }
    }
}

/// A RAID array.
#[derive(Debug, Clone, Default)]
pub struct RaidHop {
    /// The kernel's name of the array.
    pub block: String,
    /// The level; `None` for one that narrows does not know.
    pub level: Option<RaidLevel>,
    /// The members, by kernel name, in order.
    pub members: Vec<String>,
    /// All that md says.
    pub md: MdArray,
}

/// How the devices of a ZFS pool or virtual device share its data (zpoolconcepts(7)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ZfsLayout {
    /// Not known.
    #[default]
    Unknown,
    /// Over all of them, as a pool does with its virtual devices.
    Stripe,
    /// Each holds all of it.
    Mirror,
    /// With so many parities in each record.
    RaidZ {
        /// 1 to 3.
        parity: u32,
    },
    /// With so many parities for so many data in each group, groups being spread over all devices.
    Draid {
        /// 1 to 3.
        parity: u32,
        /// Data devices of a group.
        data: u32,
    },
}

/// A ZFS pool, or one of its virtual devices that has devices of its own.
#[derive(Debug, Clone, Copy, Default)]
pub struct ZfsHop {
    /// How its devices share its data.
    pub layout: ZfsLayout,
    /// How many it lies on: virtual devices of a pool, devices of a virtual device.
    pub members: usize,
}

/// An encrypted mapping.
#[derive(Debug, Clone, Default)]
pub struct CryptHop {
    /// The kernel's name of the mapping.
    pub block: String,
    pub table: Fact<CryptTable>,
    /// The measured rate of the cipher on one core.
    pub cipher: Fact<narrows_machine::cipher::CipherRate>,
    /// The number of cores that may share the work.
    pub cores: u32,
}

/// How a logical volume lies on its devices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum VolumeLayout {
    /// A range of one device, or of one device after another.
    #[default]
    Linear,
    /// Striped over several devices in chunks.
    Striped { chunk: Bytes },
    /// Several paths to one device.
    Multipath,
    /// Something else, by its target name.
    Other(String),
}

impl VolumeLayout {
    pub const fn chunk(&self) -> Option<Bytes> {
        if let Self::Striped { chunk } = self { Some(*chunk) } else { None }
    }
}

/// A logical volume or another mapping that moves no bytes itself.
#[derive(Debug, Clone, Default)]
pub struct VolumeHop {
    /// The kernel's name of the mapping.
    pub block: String,
    /// How it lies on its devices.
    pub layout: VolumeLayout,
    /// The devices, by kernel name.
    pub members: Vec<String>,
}

/// A file system.
#[derive(Debug, Clone, Default)]
pub struct FilesystemHop {
    /// `ext4`, `xfs`, `btrfs`, `zfs`, `nfs4`, `tmpfs`…
    pub fstype: String,
    /// Where it is mounted.
    pub point: String,
    /// Mount options.
    pub options: Vec<String>,
}
