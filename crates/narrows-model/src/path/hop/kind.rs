//! The kinds of hop, and their names.

use serde::{Deserialize, Serialize};

/// The kinds of hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HopKind {
    /// The program that reads and writes.
    Application,
    /// Main memory, where every byte arrives.
    Memory,
    /// A processor that works on the bytes.
    Cpu,
    /// The connection between processor sockets (UPI, QPI, xGMI).
    Socket,
    /// The uplink of the chipset (DMI, or the chipset's PCIe link on AMD).
    Chipset,
    /// A PCIe switch.
    Switch,
    /// A PCIe link.
    Link,
    /// A USB connection.
    Usb,
    /// A SATA link.
    Sata,
    /// A SAS link or wide port.
    Sas,
    /// A storage adapter between the bus and its disks.
    Hba,
    /// An NVMe controller, virtual adapter, or similar.
    Controller,
    /// The medium itself.
    Device,
    /// The kernel's request queue of a device.
    BlockQueue,
    /// A software RAID array.
    Raid,
    /// Encryption.
    Crypt,
    /// A cache device in front of a slower one.
    Cache,
    /// A logical volume or other mapping.
    LogicalVolume,
    /// A file system.
    Filesystem,
    /// A network interface and the wire behind it.
    Network,
    /// A server at the far end of a network.
    Remote,
    /// The load generator itself.
    Generator,
}

impl HopKind {
    /// The kind as it stands in hop ids and in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Socket => "socket",
            Self::Chipset => "chipset",
            Self::Switch => "switch",
            Self::Link => "link",
            Self::Usb => "usb",
            Self::Sata => "sata",
            Self::Sas => "sas",
            Self::Hba => "hba",
            Self::Controller => "controller",
            Self::Device => "device",
            Self::BlockQueue => "block_queue",
            Self::Raid => "raid",
            Self::Crypt => "crypt",
            Self::Cache => "cache",
            Self::LogicalVolume => "logical_volume",
            Self::Filesystem => "filesystem",
            Self::Network => "network",
            Self::Remote => "remote",
            Self::Generator => "generator",
        }
    }

    /// The kind that is written so in hop ids and in JSON.
    pub fn from_word(word: &str) -> Option<Self> {
        use serde::de::IntoDeserializer;
        let text: serde::de::value::StrDeserializer<'_, serde::de::value::Error> = word.into_deserializer();
        Self::deserialize(text).ok()
    }
}
