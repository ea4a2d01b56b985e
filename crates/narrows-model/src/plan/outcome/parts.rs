//! Of what the meaning of a placement consists.

use serde::{Deserialize, Serialize};

use crate::plan::site::Carrier;
use crate::plan::wish::Kind;
use narrows_base::units::BytesPerSec;

/// Rates in both directions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rates {
    /// Towards the host.
    #[serde(rename = "read_bytes_per_second")]
    pub read: BytesPerSec,
    /// Towards the device.
    #[serde(rename = "write_bytes_per_second")]
    pub write: BytesPerSec,
}

/// A device in its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceOutcome {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The PCIe generation of its link.
    pub generation: Option<u8>,
    /// The lanes of its link.
    pub lanes: u8,
    /// What it moves when all others are idle.
    pub alone: Rates,
    /// What it moves when all others are at work.
    pub together: Rates,
    /// Why it does not move more alone: `itself`, or a link.
    pub limited_by: String,
}

/// A slot in use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlotOutcome {
    /// The name of the slot.
    pub slot: String,
    /// The card that carries the drives; `None` for a card, or a drive right in the slot.
    pub card: Option<String>,
    /// Whether it has a switch.
    pub is_switch: bool,
    /// How the firmware has to split the slot.
    pub bifurcation: Option<String>,
    /// The lanes that the slot has then.
    pub lanes: u8,
    /// What is in it.
    pub devices: Vec<DeviceOutcome>,
}

/// Something that several devices share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharedOutcome {
    /// What it is.
    pub name: String,
    /// What it carries.
    pub carries: Rates,
    /// What the devices behind it could move alone, added up.
    pub asked: Rates,
    /// How many devices that are.
    pub devices: usize,
    /// Whether it leaves them no more than it carries when all of them read.
    pub limits: bool,
}

/// A firmware setting to change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareSetting {
    /// Where it is.
    pub menu: String,
    /// What to set it to.
    pub value: String,
}

/// Cards of one kind that are to be bought.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BoughtCards {
    /// How many.
    pub count: usize,
    /// Which.
    pub name: String,
    /// What all of them cost, in the user's currency; absent when no prices were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// What the drives and network cards of one socket move.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SocketTraffic {
    /// What its drives read.
    #[serde(rename = "drives_bytes_per_second")]
    pub drives: BytesPerSec,
    /// What its network cards send.
    #[serde(rename = "network_bytes_per_second")]
    pub network: BytesPerSec,
}

/// How traffic between drives and network cards lies on the sockets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Balance {
    /// For each socket what its drives deliver and what its network cards send.
    pub sockets: Vec<SocketTraffic>,
    /// What is sent in all.
    #[serde(rename = "served_bytes_per_second")]
    pub served: BytesPerSec,
    /// What of it crosses sockets.
    #[serde(rename = "crossing_bytes_per_second")]
    pub crossing: BytesPerSec,
    /// What would be sent with all drives on one socket and the network cards where they are.
    #[serde(rename = "one_sided_bytes_per_second")]
    pub one_sided: BytesPerSec,
    /// What the balance gains over all drives on one socket, as a fraction.
    pub gain: f64,
    /// The connection between the sockets.
    pub interconnect: Option<Carrier>,
}

/// What a placement means.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outcome {
    /// The slots in use.
    pub slots: Vec<SlotOutcome>,
    /// What all devices move together.
    pub together: Rates,
    /// What they would move if each were alone.
    pub alone: Rates,
    /// What they share.
    pub shared: Vec<SharedOutcome>,
    /// Firmware settings to change.
    pub settings: Vec<FirmwareSetting>,
    /// Slots and connectors that are off or narrower for it.
    pub lost: Vec<String>,
    /// Cards to buy; none while slots are not known, as those may be better ones.
    pub parts: Vec<BoughtCards>,
    /// Slots for cards in use.
    pub slots_used: usize,
    /// The slots for cards that are free and still work.
    pub slots_free: Vec<String>,
    /// How drives and network cards lie on the sockets; `None` when there is one socket, or not both of them.
    pub balance: Option<Balance>,
}
