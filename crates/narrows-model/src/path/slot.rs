//! Which slot of the board does a link lead to, and what sits in which slot?

use std::collections::BTreeMap;

use super::build::Catalogued;
use super::climb::{self, ancestry, node};
use narrows_base::catalog::BoardSlot;
use narrows_machine::Machine;
use narrows_machine::dmi::{Slot, is_template};
use narrows_machine::pci::{PciAddress, PciDevice, PortType, role};

/// The slot of the card at `device`, which hangs on `port`: its name, and the board's data.
///
/// Its name is the kernel's; the firmware's when the kernel has none, or only the number of a hot-plug slot; and that
/// of the board's data when neither has one. The board's slot is found by name or, for a card right on a root port of
/// bus 0, by that port.
pub(super) fn find_slot(
    known: Catalogued<'_>,
    device: PciAddress,
    port: Option<PciAddress>,
) -> (Option<String>, Option<BoardSlot>) {
    let machine = known.machine;
    let kernel = machine.pci.get(&device).and_then(|device| device.slot.get());
    let claimed = claimed(machine, device, port).map(|slot| slot.designation.clone());
    let slots = known.board().map(|board| board.slots.as_slice()).unwrap_or_default();
    let named = |name: &Option<String>| slots.iter().find(|slot| Some(&slot.name) == name.as_ref());
    let board = named(&kernel).or_else(|| named(&claimed)).or_else(|| behind(slots, port?)).cloned();
    let is_number = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let printed = claimed.or_else(|| board.as_ref().map(|slot| slot.name.clone()));
    let name = match kernel {
        Some(kernel) if is_number(&kernel) => printed.or(Some(kernel)),
        Some(kernel) => Some(kernel),
        None => printed,
    };
    (name, board)
}

/// The slot record of the firmware that points at a card: by that of its port or by its own address, whatever the
/// function (ASUS boards put the function of the port there). A table that was copied from a reference board says
/// nothing. Of several, the one that says it is in use.
fn claimed(machine: &Machine, device: PciAddress, port: Option<PciAddress>) -> Option<&Slot> {
    let slots = machine.slots.value()?;
    if is_template(slots) {
        return None;
    }
    let points =
        |slot: &&Slot| slot.address.is_some_and(|claim| claim.card() == device.card() || Some(claim) == port);
    let mut found: Vec<&Slot> = slots.iter().filter(points).collect();
    found.sort_by_key(|slot| slot.in_use != Some(true));
    found.into_iter().find(|slot| slot.in_use != Some(false))
}

fn behind(slots: &[BoardSlot], port: PciAddress) -> Option<&BoardSlot> {
    let is_on_bus_0 = port.domain == 0 && port.bus == 0;
    let name = format!("{:02x}.{:x}", port.device, port.function);
    slots.iter().find(|slot| is_on_bus_0 && slot.root_ports.contains(&name))
}

// What sits in which slot?
//
// A card is what hangs on a root port. With a switch on it, what counts is all that is behind the switch.

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
    let known = Catalogued::of(machine);
    let mut seats: BTreeMap<PciAddress, Seat> = BTreeMap::new();
    for device in machine.pci.values() {
        let chain = ancestry(machine, device.address);
        let Some(top) = top_port(known, &chain) else { continue };
        let port = chain[top].address;
        let on_chipset = top + 1 < chain.len() || climb::is_intel(machine, port);
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
            seat.slot = find_slot(known, card, Some(port)).0;
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
fn top_port(known: Catalogued<'_>, chain: &[&PciDevice]) -> Option<usize> {
    let pci = &known.machine.pci;
    let leads_down = |at: usize| {
        matches!(role(pci, chain[at].address), Some(PortType::RootPort | PortType::DownstreamPort))
    };
    let under_chipset = (1..chain.len()).rev().find(|at| known.chipset_at(chain[*at].address).is_some());
    let top = match under_chipset {
        Some(upstream) => upstream.checked_sub(1)?,
        None => chain.len().checked_sub(1)?,
    };
    leads_down(top).then_some(top)
}
