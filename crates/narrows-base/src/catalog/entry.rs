//! The kinds of entry in `data/*.toml`.

use serde::Deserialize;

use super::known::{ByAspect, Fixed, SataPorts, Totals};
use super::part::{Narrowing, ProcessorLanes, SlotForm};
use crate::units::{GtPerSec, Lanes, Nanos};

/// A chipset and its uplink to the processor.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chipset {
    /// `Intel X99`.
    pub name: String,
    /// Models of the family that its name does not have, as people write them: `B650`.
    #[serde(default)]
    pub words: Vec<String>,
    /// What the uplink is called: `DMI 2.0`.
    pub uplink: String,
    /// The PCIe generation of the uplink's signalling.
    pub generation: u8,
    /// The lanes of the uplink.
    pub lanes: u8,
    /// Max_Payload_Size that its ports use, in bytes.
    pub max_payload: u32,
    /// Whether the uplink is a PCIe link that the kernel shows (AMD): then its state is read, not looked up.
    #[serde(default)]
    pub visible_link: bool,
    /// Whether the source states the uplink; `false` for what is only believed.
    #[serde(default = "yes")]
    pub verified: bool,
    /// `vendor:device` of the function that gives it away (LPC bridge, or the upstream port).
    pub ids: Vec<String>,
    /// What `lspci` calls these functions after the vendor, for texts without numbers; from pci-ids.ucw.cz.
    #[serde(default)]
    pub listed: Vec<String>,
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
    /// The chipset that its slots with the attachment `chipset` hang on, as `chipsets.toml` names it.
    pub chipset: Option<String>,
    /// The processors that it usually has, as `processors.toml` names them; a machine that says more is believed.
    pub processor: Option<String>,
    /// Its slots for cards and its M.2, U.2 and OCuLink sockets.
    pub slots: Vec<BoardSlot>,
    #[serde(default)]
    pub sata: Vec<SataPorts>,
    /// What uses lanes and is neither a slot nor a socket for drives.
    #[serde(default)]
    pub fixed: Vec<Fixed>,
    /// The lanes of the processor sockets and the chipset in total.
    pub totals: Option<Totals>,
    /// Whether nothing is missing: each aspect has its page in `cites`, none stands in `missing`, and all is verified. Only
    /// then a plan may say that a placement is the best, or that there is none.
    #[serde(default)]
    pub complete: bool,
    /// What is known to be missing, in words.
    #[serde(default)]
    pub missing: ByAspect,
    /// The page that gives each aspect whole.
    #[serde(default)]
    pub cites: ByAspect,
    /// Whether the sources state it; `false` for what is only remembered, which is never complete.
    #[serde(default = "yes")]
    pub verified: bool,
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
    /// `device.function` on bus 0 of the root ports that it may sit behind (`1c.7`), where known. The first is that
    /// of the default setting; the others are those of [`BoardSlot::option`].
    #[serde(default)]
    pub root_ports: Vec<String>,
    /// What it shares lanes with, in words.
    pub shares: Option<String>,
    /// The firmware option that changes it, in words.
    pub option: Option<SlotOption>,
    /// What fits into it.
    #[serde(default)]
    pub form: SlotForm,
    /// The longest drive that an M.2 socket holds, millimetres (80 of 2280); absent when nobody said.
    pub longest: Option<u16>,
    /// Into which links the firmware can split it (`x4x4x4x4`); empty when it surely cannot, absent when nobody said.
    pub bifurcation: Option<Vec<String>>,
    /// The slots that take lanes of it while they are used.
    #[serde(default)]
    pub narrowed_by: Vec<Narrowing>,
    /// Connectors that are no slots (`SATA7`) and off while it is used.
    #[serde(default)]
    pub disables: Vec<String>,
    /// How many lanes it has with processors that have few.
    #[serde(default)]
    pub processor_lanes: Vec<ProcessorLanes>,
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
    /// The slots and connectors that are off with the value.
    #[serde(default)]
    pub disables: Vec<String>,
}

/// A storage adapter whose own chip carries less than its PCIe link.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adapter {
    /// `LSI SAS2008`.
    pub name: String,
    /// The most that the chip moves in one direction, decimal MB/s.
    pub megabytes_per_second: f64,
    /// I/Os that the chip completes in a second, where that is published.
    pub iops: Option<f64>,
    /// `vendor:device`.
    pub ids: Vec<String>,
    /// Where that is published.
    pub source: String,
}

/// A PCIe switch.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// `PEX 8748`.
    pub name: String,
    pub lanes: u8,
    /// The PCIe generation.
    pub generation: u8,
    /// What it adds to each packet's way, in nanoseconds, where that is published.
    pub latency_nanoseconds: Option<u32>,
    /// `vendor:device`.
    pub ids: Vec<String>,
    /// What `lspci` calls it after the vendor, for texts without numbers; from pci-ids.ucw.cz.
    #[serde(default)]
    pub listed: Vec<String>,
    /// Where that is published.
    pub source: String,
}

/// A processor platform and its socket interconnect.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// `Intel Skylake-SP`.
    pub name: String,
    /// CPU family and model numbers in decimal, `6/85`, as `/proc/cpuinfo` shows them.
    pub signatures: Vec<String>,
    /// Text that the model name must contain, one of them, where platforms share a signature; empty when any will do.
    #[serde(default)]
    pub names: Vec<String>,
    /// Model numbers in lower case as people write them: `#` is a digit, `@` at the end of a word any letters.
    #[serde(default)]
    pub numbers: Vec<String>,
    /// The interconnect, `UPI`; absent for platforms with one socket.
    pub interconnect: Option<Interconnect>,
    /// PCIe lanes for each socket.
    pub pcie_lanes: u16,
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
    /// Whether the source states rate and links; `false` where the number of links or the rate differs between
    /// models of the family, or is only believed.
    #[serde(default = "yes")]
    pub verified: bool,
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
    /// The name of its [`MediumClass`].
    pub class: Option<String>,
    /// How often its maker warrants that all of it may be written: terabytes written (TBW, JESD218A) over the capacity,
    /// where that is the same for all capacities of the family.
    pub rated_drive_writes: Option<f64>,
    /// Where that is published.
    pub endurance_source: Option<String>,
    /// Whether the source states both rates; `false` for what is only believed.
    #[serde(default = "yes")]
    pub verified: bool,
    /// Where that is published.
    pub source: String,
}

/// A class of media: what a drive does whose model is not known, and what data sheets leave out.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MediumClass {
    /// `consumer-tlc-gen4`.
    pub name: String,
    /// One random read of 4 KiB at depth 1, microseconds.
    pub read_microseconds: f64,
    /// One write of 4 KiB at depth 1, microseconds.
    pub write_microseconds: f64,
    /// Random reads of 4 KiB a second at the depth of data sheets.
    pub read_iops: f64,
    /// Random writes of 4 KiB likewise.
    pub write_iops: f64,
    /// Sequential reads of a typical drive, decimal MB/s.
    pub read_megabytes_per_second: f64,
    /// Sequential writes likewise.
    pub write_megabytes_per_second: f64,
    /// Whether what is written is safe when the drive answers, so that a flush has nothing to wait for.
    #[serde(default)]
    pub power_loss_protection: bool,
    /// How often all of a drive of the class may be written by its maker's warranty, low rather than high; absent for what
    /// does not wear.
    pub rated_drive_writes: Option<f64>,
    /// Where that is published.
    pub endurance_source: Option<String>,
    /// Whether the source states the figures; `false` for what is only typical.
    #[serde(default = "yes")]
    pub verified: bool,
    /// Where that is published.
    pub source: String,
}

impl MediumClass {
    /// One random read of 4 KiB at depth 1.
    pub fn read_latency(&self) -> Nanos {
        microseconds(self.read_microseconds)
    }

    /// One write of 4 KiB at depth 1.
    pub fn write_latency(&self) -> Nanos {
        microseconds(self.write_microseconds)
    }
}

fn microseconds(count: f64) -> Nanos {
    // A cast from f64 saturates.
    Nanos::new((count * 1e3).round() as u64)
}

/// A network card.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nic {
    /// `Intel X520-2`.
    pub name: String,
    /// What people write for it, in lower case.
    pub words: Vec<String>,
    /// `vendor:device`.
    pub ids: Vec<String>,
    /// The line rate of one port, decimal Gbit/s.
    pub gigabits_per_second: f64,
    /// The line rate of one port of the slowest card with this name or id, where cards of several rates have it.
    pub slowest_gigabits_per_second: Option<f64>,
    pub ports: u8,
    /// The PCIe generation of its own end of the link.
    pub generation: u8,
    /// The lanes of its own end of the link.
    pub lanes: u8,
    /// The fastest InfiniBand generation of a port, `EDR`.
    pub infiniband: Option<String>,
    /// The fastest InfiniBand generation of a port of the slowest card with this name or id, where they differ.
    pub slowest_infiniband: Option<String>,
    /// Whether the source was checked.
    #[serde(default = "yes")]
    pub verified: bool,
    /// Where that is published.
    pub source: String,
}

/// What the cores and root ports of a processor do.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// `Ryzen 1000, 2000 (Zen, Zen+)`.
    pub name: String,
    /// What people write for it, in lower case.
    pub words: Vec<String>,
    /// The clock with one core at work.
    pub gigahertz: f64,
    /// The reciprocal throughput of one AES round in cycles, where it has AES instructions.
    pub aes_cycles_per_round: Option<f64>,
    /// The speed of one core for kernel I/O, 1 = Xeon Gold 6342.
    pub speed: f64,
    /// Max_Payload_Size of its root ports in bytes, where it is not the usual one.
    pub max_payload: Option<u64>,
    /// The size of completions in bytes, where it is not the usual one.
    pub completion: Option<u64>,
    /// Whether it is that of a small board.
    #[serde(default)]
    pub embedded: bool,
    /// Whether it copies memory much slower than desktop cores, at a rate that is not known.
    #[serde(default)]
    pub slow_copy: bool,
    /// Whether the source states all of it.
    #[serde(default = "yes")]
    pub verified: bool,
    /// Where that is published.
    pub source: String,
}

const fn yes() -> bool {
    true
}

impl Board {
    /// What it is called on a command line: its name in lower case, with hyphens for all that is no letter or digit
    /// (`asus-x99-a`).
    pub fn id(&self) -> String {
        identifier(&self.name)
    }

    /// The slot that a firmware or `/sys/bus/pci/slots` calls `designation`: by its name, or else by the number
    /// after the word "slot" or "PCI" (`PCIe Slot 3`, `PCI3` and `CPU1 SLOT3 PCI-E 3.0 X8` are all slot 3), when one
    /// slot alone has that number.
    pub fn slot(&self, designation: &str) -> Option<&BoardSlot> {
        let named = self.slots.iter().find(|slot| slot.name.eq_ignore_ascii_case(designation.trim()));
        named.or_else(|| {
            let number = slot_number(designation)?;
            let mut with_number = self.slots.iter().filter(|slot| slot_number(&slot.name) == Some(number));
            let first = with_number.next()?;
            with_number.next().is_none().then_some(first)
        })
    }
}

/// A name in lower case, with one hyphen for each run of characters that are no letters or digits.
pub(super) fn identifier(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.join("-")
}

/// The number after the last "slot" in a designation, or after "PCI" when that is all there is (`PCI3`).
fn slot_number(designation: &str) -> Option<u32> {
    let lower = designation.to_ascii_lowercase();
    let rest = match lower.rsplit_once("slot") {
        Some((_, rest)) => rest.trim_start_matches([' ', '#', '-', '_']),
        None => lower.strip_prefix("pci").filter(|rest| rest.bytes().all(|b| b.is_ascii_digit()))?,
    };
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

impl BoardSlot {
    /// The signalling rate of its generation.
    pub fn speed(&self) -> Option<GtPerSec> {
        GtPerSec::from_pcie_generation(self.generation)
    }

    /// The most lanes that are wired.
    pub const fn width(&self) -> Lanes {
        Lanes::new(self.lanes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(slots: &[&str]) -> Board {
        let slot = |name: &&str| BoardSlot { name: (*name).to_owned(), ..BoardSlot::default() };
        Board { slots: slots.iter().map(slot).collect(), ..Board::default() }
    }

    #[test]
    fn a_slot_is_found_under_every_spelling_of_its_number() {
        let board = board(&["Slot 1", "Slot 2", "Slot 12"]);
        for text in ["Slot 2", "slot 2", "PCI2", "PCIe Slot 2", "CPU1 SLOT2 PCI-E 3.0 X16", "SLOT2 "] {
            assert_eq!(board.slot(text).map(|slot| slot.name.as_str()), Some("Slot 2"), "{text}");
        }
        for text in ["", "PCIEX16_2", "M2_2", "Slot", "PCI", "Slot 3", "Slot 99999999999999"] {
            assert_eq!(board.slot(text), None, "{text}");
        }
    }

    #[test]
    fn a_number_that_two_slots_share_names_neither() {
        assert_eq!(board(&["CPU1 Slot 1", "CPU2 Slot 1"]).slot("PCI1"), None);
    }
}
