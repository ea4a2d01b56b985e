//! Which slot of the board does a link lead to?

use super::lookup::Published;
use narrows_base::catalog::BoardSlot;
use narrows_machine::Machine;
use narrows_machine::dmi::{Slot, is_template};
use narrows_machine::pci::PciAddress;

/// What is known of a slot.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Place {
    /// Its name.
    pub(super) name: Option<String>,
    /// The board's data.
    pub(super) board: Option<BoardSlot>,
}

/// The slot of the card at `device`, which hangs on `port`.
///
/// Its name is the kernel's; the firmware's when the kernel has none, or only the number of a hot-plug slot; and that
/// of the board's data when neither has one. The board's slot is found by name or, for a card right on a root port of
/// bus 0, by that port.
pub(super) fn find(
    machine: &Machine,
    published: Published<'_>,
    device: PciAddress,
    port: Option<PciAddress>,
) -> Place {
    let kernel = machine.pci.get(&device).and_then(|device| device.slot.get());
    let claimed = claimed(machine, device, port).map(|slot| slot.designation.clone());
    let slots = published.board(machine).map(|board| board.slots.as_slice()).unwrap_or_default();
    let named = |name: &Option<String>| slots.iter().find(|slot| Some(&slot.name) == name.as_ref());
    let board = named(&kernel).or_else(|| named(&claimed)).or_else(|| behind(slots, port?)).cloned();
    let is_number = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let printed = claimed.or_else(|| board.as_ref().map(|slot| slot.name.clone()));
    let name = match kernel {
        Some(kernel) if is_number(&kernel) => printed.or(Some(kernel)),
        Some(kernel) => Some(kernel),
        None => printed,
    };
    Place { name, board }
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
