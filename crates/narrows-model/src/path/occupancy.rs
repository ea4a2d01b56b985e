//! What sits in which slot?
//!
//! A card is what hangs on a root port. With a switch on it, what counts is all that is behind the switch.

use std::collections::BTreeMap;

use super::climb::{ancestry, node};
use super::lookup::published;
use super::{chipset, slot};
use narrows_base::catalog::{Board, Chipset, Processor};
use narrows_machine::Machine;
use narrows_machine::pci::{PciAddress, PortType, role};

/// What hangs on one root port.
#[derive(Debug, Clone, PartialEq)]
pub struct Seat {
    /// The root port.
    pub port: PciAddress,
    /// The function right behind it; `None` when nothing is.
    pub card: Option<PciAddress>,
    /// The functions that are no bridges, one for each device on the card.
    pub devices: Vec<PciAddress>,
    /// The name of the slot, where one is known.
    pub slot: Option<String>,
    /// Whether it hangs on the chipset.
    pub on_chipset: bool,
    /// Its NUMA node.
    pub node: Option<u32>,
}

/// Every root port with what hangs on it, in the order of their addresses. AMD chipsets are switches of their own: their
/// downstream ports count as root ports behind the chipset.
pub fn seats(machine: &Machine) -> Vec<Seat> {
    let published = published();
    let mut seats: BTreeMap<PciAddress, Seat> = BTreeMap::new();
    for device in machine.pci.values() {
        let chain = ancestry(machine, device.address);
        let Some(top) = top_port(machine, &chain) else { continue };
        let port = chain[top].address;
        let on_chipset = top + 1 < chain.len() || chipset::is_intel(machine, port);
        let seat = seats.entry(port).or_insert_with(|| Seat {
            port,
            card: None,
            devices: Vec::new(),
            slot: None,
            on_chipset,
            node: node(machine, port),
        });
        let Some(card) = top.checked_sub(1).map(|below| chain[below].address) else { continue };
        if seat.card.is_none() {
            seat.card = Some(card);
            seat.slot = slot::find(machine, published, card, Some(port)).name;
        }
        let is_new = !seat.devices.iter().any(|known| known.card() == device.address.card());
        if !device.is_bridge() && is_new {
            seat.devices.push(device.address);
        }
    }
    seats.into_values().collect()
}

/// The port in a chain from a function up that a slot of the board hangs on: the root port, or the downstream port of a
/// chipset that is a switch.
fn top_port(machine: &Machine, chain: &[&narrows_machine::pci::PciDevice]) -> Option<usize> {
    let leads_down = |at: usize| {
        matches!(role(&machine.pci, chain[at].address), Some(PortType::RootPort | PortType::DownstreamPort))
    };
    let under_chipset =
        (1..chain.len()).rev().find(|at| published().chipset(machine, chain[*at].address).is_some());
    let top = match under_chipset {
        Some(upstream) => upstream.checked_sub(1)?,
        None => chain.len().checked_sub(1)?,
    };
    leads_down(top).then_some(top)
}

/// The board of the machine, or the server, where it names itself.
pub fn board(machine: &Machine) -> Option<&'static Board> {
    published().board(machine)
}

/// The chipset of the machine, by the PCI id or name of one of its functions.
pub fn chipset_of(machine: &Machine) -> Option<&'static Chipset> {
    machine.pci.keys().find_map(|address| published().chipset(machine, *address))
}

/// The platform of its processors.
pub fn processor(machine: &Machine) -> Option<&'static Processor> {
    published().processor(machine)
}
