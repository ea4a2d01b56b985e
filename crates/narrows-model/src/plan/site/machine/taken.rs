//! Slots of a machine that are not free although nothing tells what is in them.

use super::{Occupant, Seat, named, occupant, socket_of};
use crate::plan::site::{Attachment, Site, Slot, SlotForm};
use narrows_base::catalog::Board;
use narrows_base::units::Lanes;
use narrows_machine::Machine;
use narrows_machine::dmi::is_template;

/// Lanes from which on something that is no drive is a card for sure: chips on boards have fewer.
const SURELY_A_CARD: u8 = 8;

/// Lanes from which on it may be a card.
const MAYBE_A_CARD: u8 = 4;

/// Takes the slots that may hold a device of which nothing names the slot for used, and says so as a gap.
pub(super) fn mark(machine: &Machine, board: &Board, seats: &[Seat], site: &mut Site) {
    for seat in seats {
        let is_placed = seat.slot.as_deref().is_some_and(|name| named(board, name).is_some());
        let Some(held) = occupant(machine, seat).filter(|_| !is_placed) else { continue };
        let width = held.trained.or(held.lanes).map_or(0, Lanes::get);
        // Functions of a chipset have ports of their own, as wide as its uplink.
        let least = if seat.on_chipset { SURELY_A_CARD } else { MAYBE_A_CARD };
        if !(held.kind.is_drive() || width >= least) {
            continue;
        }
        let on = match seat.on_chipset {
            true => Attachment::Chipset,
            false => Attachment::Cpu(seat.node.map_or(0, socket_of(machine))),
        };
        let is_on_bus_0 = seat.port.domain == 0 && seat.port.bus == 0;
        let mut any = false;
        for (slot, known) in site.slots.iter_mut().zip(&board.slots) {
            // A slot with a root port of its own would have been found by it.
            let is_elsewhere = is_on_bus_0 && !known.root_ports.is_empty();
            if is_elsewhere || slot.attachment != on || !may_hold(slot, &held, width) {
                continue;
            }
            any = true;
            if held.kind.is_drive() || width >= SURELY_A_CARD {
                slot.dead = Some(format!("may hold {}: which slot it sits in is not known", held.name));
            }
        }
        if any {
            site.gaps.push(format!(
                "in which slot {} sits, at {} (look into the machine, or at `dmidecode -t slot`)",
                held.name, seat.port
            ));
        }
    }
}

/// Whether a device may be in a slot by what is known of both.
fn may_hold(slot: &Slot, held: &Occupant, width: u8) -> bool {
    let fits = if held.kind.is_drive() { true } else { slot.form == SlotForm::Card };
    fits && slot.occupant.is_none() && slot.dead.is_none() && slot.lanes.get() >= width
}

/// Slots that the firmware says are in use, with nothing that was found in them.
pub(super) fn by_claim(machine: &Machine, site: &mut Site) {
    let claims = machine.slots.value().map(Vec::as_slice).unwrap_or_default();
    if is_template(claims) {
        return;
    }
    for claim in claims.iter().filter(|claim| claim.in_use == Some(true)) {
        let slot = site.slots.iter_mut().find(|slot| slot.name == claim.designation);
        if let Some(slot) = slot.filter(|slot| slot.occupant.is_none() && slot.dead.is_none()) {
            slot.dead = Some("in use, as the firmware says, by something that was not found".to_owned());
        }
    }
}
