//! What is published about hardware: boards, chipsets, switches, processors and media, from `data/*.toml`.
//!
//! These files are data that people correct and add to without touching code; each entry cites its source, and a test
//! validates every entry.

use serde::Deserialize;

use crate::units::{GtPerSec, Lanes};

/// A chipset and its uplink to the processor.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chipset {
    /// `Intel X99`.
    pub name: String,
    /// What the uplink is called: `DMI 2.0`.
    pub uplink: String,
    /// The PCIe generation of the uplink's signalling.
    pub generation: u8,
    /// The lanes of the uplink.
    pub lanes: u8,
    /// Max_Payload_Size that its ports use, in bytes.
    pub max_payload: u32,
    /// `vendor:device` of the function that gives it away (LPC bridge, or the upstream port).
    pub ids: Vec<String>,
    /// Where that is published.
    pub source: String,
}

/// A board and its slots.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// `ASUS X99-A`.
    pub name: String,
    /// DMI `board_vendor` values, matched exactly.
    pub vendors: Vec<String>,
    /// DMI `board_name` values (or `product_name` of servers), matched exactly.
    pub boards: Vec<String>,
    /// Its slots.
    pub slots: Vec<BoardSlot>,
    /// Where that is published.
    pub source: String,
}

/// One slot of a board.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoardSlot {
    /// The name printed on the board.
    pub name: String,
    /// The lanes of its connector.
    pub connector: u8,
    /// The most lanes that are wired.
    pub lanes: u8,
    /// The PCIe generation.
    pub generation: u8,
    /// `cpu`, `cpu2` or `chipset`.
    pub attachment: String,
    /// `device.function` on bus 0 of the root ports that it may sit behind (`1c.7`), where known.
    #[serde(default)]
    pub root_ports: Vec<String>,
    /// What it shares lanes with, in words.
    #[serde(default)]
    pub shares: Option<String>,
    /// The firmware option that changes it, in words.
    #[serde(default)]
    pub option: Option<SlotOption>,
}

/// A firmware option that changes a slot's width.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotOption {
    /// Where it is: `Advanced\Onboard Devices Configuration: PCI-EX16_2 Slot (Black) Bandwidth`.
    pub menu: String,
    /// The value that gives the most: `X4 Mode`.
    pub value: String,
    /// The width that the value gives.
    pub lanes: u8,
    /// The width by default.
    pub default_lanes: u8,
    /// What it costs: `disables PCIEX1_1 and USB3_E56`.
    pub cost: String,
}

/// A PCIe switch.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// `PEX 8748`.
    pub name: String,
    /// Lanes in all.
    pub lanes: u8,
    /// The PCIe generation.
    pub generation: u8,
    /// `vendor:device`.
    pub ids: Vec<String>,
    /// Where that is published.
    pub source: String,
}

/// A processor platform and its socket interconnect.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// `Intel Skylake-SP`.
    pub name: String,
    /// CPU vendor family and model numbers, `6/85`.
    pub signatures: Vec<String>,
    /// The interconnect, `UPI`; absent for platforms with one socket.
    #[serde(default)]
    pub interconnect: Option<Interconnect>,
    /// PCIe lanes for each socket.
    pub pcie_lanes: u16,
    /// Their generation.
    pub pcie_generation: u8,
    /// Where that is published.
    pub source: String,
}

/// The connection between sockets.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interconnect {
    /// `UPI`.
    pub name: String,
    /// Links between two sockets.
    pub links: u8,
    /// The rate of one link in one direction in decimal GB/s.
    pub gigabytes_per_second: f64,
    /// What of it data can use, 0 to 1.
    pub efficiency: f64,
}

/// A storage medium by model.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Medium {
    /// `WD SN770`.
    pub name: String,
    /// Text that the kernel's model name must contain, one of them.
    pub models: Vec<String>,
    /// Sequential read as rated or measured, decimal MB/s.
    pub read_megabytes_per_second: f64,
    /// Sequential write likewise.
    pub write_megabytes_per_second: f64,
    /// The PCIe generation of its own link; 0 when it has none.
    #[serde(default)]
    pub generation: u8,
    /// The lanes of its own link; 0 when it has none.
    #[serde(default)]
    pub lanes: u8,
    /// Where that is published.
    pub source: String,
}

impl BoardSlot {
    /// The signalling rate of its generation.
    pub const fn speed(&self) -> Option<GtPerSec> {
        GtPerSec::from_pcie_generation(self.generation)
    }

    /// The most lanes that are wired.
    pub const fn width(&self) -> Lanes {
        Lanes::new(self.lanes)
    }
}
