//! RAID and SAS adapters as their own tools tell of them: the drives behind them, which the kernel may not see.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::pci::PciAddress;
use narrows_base::fact::{self, Fact};
use narrows_base::units::{BitsPerSec, Bytes};

/// An adapter, as `storcli` or `perccli` in a capture tells of it. What is `null` its tool did not print.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Adapter {
    /// What it is called: `PERC H730 Mini`.
    #[serde(with = "fact::value")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub model: Fact<String>,
    /// Its function.
    pub pci: Option<PciAddress>,
    /// The drives behind it by enclosure and slot, `252:0`; the enclosure is empty where there is none.
    pub drives: BTreeMap<String, AdapterDrive>,
    /// Its volumes, by drive group and number, `0/1`.
    pub volumes: BTreeMap<String, AdapterVolume>,
}

/// A drive behind an adapter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AdapterDrive {
    /// In the tool's words: `Onln`, `JBOD`, `UGood`, `Rbld`, `Failed`.
    #[serde(with = "fact::value")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub state: Fact<String>,
    /// The drive group that it is a member of.
    pub group: Option<String>,
    /// `SATA`, `SAS`, `NVMe`.
    pub interface: Option<String>,
    /// Whether it turns: the tool says `HDD` or `SSD`.
    #[serde(rename = "rotational")]
    pub turns: Option<bool>,
    /// Its model.
    pub model: Option<String>,
    /// Its size.
    #[serde(rename = "size_bytes")]
    pub size: Option<Bytes>,
    /// What it negotiated with what is next to it.
    #[serde(rename = "link_bits_per_second", with = "fact::value")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<BitsPerSec>"))]
    pub link: Fact<BitsPerSec>,
    /// The most that the drive can do.
    #[serde(rename = "most_bits_per_second", with = "fact::value")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<BitsPerSec>"))]
    pub most: Fact<BitsPerSec>,
    /// How often it said that it will fail.
    pub predicted_failures: Option<u64>,
}

/// A volume of an adapter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AdapterVolume {
    /// `RAID5`.
    pub level: Option<String>,
    /// In the tool's words: `Optl`, `Dgrd`, `Pdgd`, `OfLn`.
    #[serde(with = "fact::value")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub state: Fact<String>,
    /// Its size.
    #[serde(rename = "size_bytes")]
    pub size: Option<Bytes>,
    /// The kernel's name of the disk that it is: `sda`.
    pub disk: Option<String>,
}

impl AdapterDrive {
    /// Whether it serves data or waits to: it has not failed, is not lost, and is not being made whole.
    pub fn is_sound(&self) -> bool {
        let sound = ["Onln", "JBOD", "UGood", "DHS", "GHS", "Optl", "Conf", "Unconf"];
        self.state.value().is_none_or(|state| sound.iter().any(|known| state.eq_ignore_ascii_case(known)))
    }
}

impl AdapterVolume {
    /// Whether it lacks members, and whether it can still be read: `None` of a whole one.
    pub fn lack(&self) -> Option<Lack> {
        match self.state.value()?.as_str() {
            "Dgrd" | "Degraded" => Some(Lack::Degraded),
            "Pdgd" | "Partially Degraded" => Some(Lack::PartlyDegraded),
            "OfLn" | "Offline" => Some(Lack::Offline),
            _ => None,
        }
    }
}

/// What a volume lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// Another failure may lose data.
    Degraded,
    /// One more failure is survived (RAID 6 that lacks one member).
    PartlyDegraded,
    /// It cannot be used.
    Offline,
}
