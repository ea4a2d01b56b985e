//! Of what the meaning of a placement consists.

use crate::plan::wish::Kind;
use narrows_base::units::{BytesPerSec, GtPerSec, Lanes};

/// Rates in both directions.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rates {
    /// Towards the host.
    pub read: BytesPerSec,
    /// Towards the device.
    pub write: BytesPerSec,
}

/// A device in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceOutcome {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The speed of its link.
    pub speed: GtPerSec,
    /// The width of its link.
    pub lanes: Lanes,
    /// What it moves when all others are idle.
    pub alone: Rates,
    /// What it moves when all others are at work.
    pub together: Rates,
    /// Why it does not move more alone: `itself`, or a link.
    pub limited_by: String,
}

/// A slot in use.
#[derive(Debug, Clone, PartialEq)]
pub struct SlotOutcome {
    /// The slot, as a place in [`Site::slots`](crate::plan::site::Site::slots).
    pub slot: usize,
    /// The card that carries the drives.
    pub card: Option<String>,
    /// Whether it has a switch.
    pub is_switch: bool,
    /// How the firmware has to split the slot.
    pub split: Option<String>,
    /// The lanes that the slot has then.
    pub lanes: Lanes,
    /// What is in it.
    pub devices: Vec<DeviceOutcome>,
}

/// Something that several devices share.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedOutcome {
    /// What it is.
    pub name: String,
    /// What it carries.
    pub carries: Rates,
    /// What the devices behind it could move alone, added up.
    pub asked: Rates,
    /// How many devices that are.
    pub devices: usize,
}

impl SharedOutcome {
    /// Whether it leaves them no more than it carries when all of them read.
    pub fn is_limit(&self) -> bool {
        // Rates of the search are whole, those of the flow solver are not: equal within one byte per second.
        self.asked.read.get() + 1.0 >= self.carries.read.get()
    }
}

/// How traffic between drives and network cards lies on the sockets.
#[derive(Debug, Clone, PartialEq)]
pub struct Balance {
    /// For each socket what its drives deliver and what its network cards send.
    pub sockets: Vec<(BytesPerSec, BytesPerSec)>,
    /// What is sent in all.
    pub served: BytesPerSec,
    /// What of it crosses sockets.
    pub crossing: BytesPerSec,
    /// What would be sent with all drives on one socket and the network cards where they are.
    pub one_sided: BytesPerSec,
    /// The connection between the sockets and what it carries.
    pub interconnect: Option<(String, BytesPerSec)>,
}

impl Balance {
    /// What the balance gains over all drives on one socket, as a fraction.
    pub fn gain(&self) -> f64 {
        (self.served - self.one_sided).fraction_of(self.one_sided)
    }
}

/// What a placement means.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// The slots in use.
    pub slots: Vec<SlotOutcome>,
    /// What all devices move together.
    pub together: Rates,
    /// What they would move if each were alone.
    pub alone: Rates,
    /// What they share.
    pub shared: Vec<SharedOutcome>,
    /// Firmware settings to change: where, and to what.
    pub settings: Vec<(String, String)>,
    /// Slots and connectors that are off or narrower for it.
    pub lost: Vec<String>,
    /// What to buy beside the devices: how many of which card.
    pub parts: Vec<(usize, String)>,
    /// Slots for cards in use.
    pub used: usize,
    /// The slots for cards that are free and still work.
    pub free: Vec<String>,
    /// How drives and network cards lie on several sockets.
    pub balance: Option<Balance>,
}
