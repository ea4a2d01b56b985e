//! The site that a machine is, live or captured: the slots of its board, and what sits in them.

use super::board::{interconnect, of_board, uplink};
use super::{Attachment, BoardOptions, Occupant, Site, Slot, SlotForm};
use crate::path::build::Catalogued;
use crate::path::slot::{Seat, seats};
use crate::plan::wish::Kind;
use narrows_base::catalog::{Board, catalog};
use narrows_base::units::{GtPerSec, Lanes};
use narrows_machine::Machine;
use narrows_machine::block::Transport;
use narrows_machine::dmi::{Slot as Claim, is_template};
use narrows_machine::pci::{End, PciDevice};

/// What is not known of a machine whose board is not.
const UNKNOWN_BOARD: &str = "its board, and so its empty slots, its M.2 sockets and what they share (look at its manual; \
                             name the board with --board where --board list has it)";

/// Why a machine gives no site.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} shows no slots{why}")]
pub struct NoSlots {
    name: String,
    why: String,
    /// The boards that it may be, by their ids, as its chipset says.
    pub candidates: Vec<String>,
}

impl NoSlots {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self.candidates.as_slice() {
            [] => "name its board: --board list shows those that are known; docs/adding-a-board.md says how to add one".to_owned(),
            known => format!("by its chipset it may be {}: name one with --board", known.join(", ")),
        }
    }
}

/// The slots of a machine and what is in them: those of its board where that is known, else those that its firmware
/// lists, else the root ports that carry a card.
///
/// # Errors
/// `NoSlots` when none of these tells of a slot.
pub fn of_machine(machine: &Machine, assume_splitting: bool) -> Result<Site, NoSlots> {
    let (seats, known) = (seats(machine), Catalogued::of(machine));
    let options = BoardOptions {
        processor: known.processor(),
        processor_model: machine.cpus.model.value().cloned(),
        sockets: machine.cpus.sockets.get().and_then(|sockets| u8::try_from(sockets).ok()),
        assume_splitting,
    };
    let mut site = match known.board() {
        Some(board) => on_board(machine, board, &seats, &options),
        None => unknown(machine, &seats, &options)?,
    };
    taken_by_claim(machine, &mut site);
    let is_sata =
        |block: &&narrows_machine::block::BlockDevice| matches!(block.transport, Transport::Sata(_));
    site.sata.used = machine.block.values().filter(is_sata).count();
    Ok(site)
}

/// What a machine is called.
fn name(machine: &Machine) -> String {
    let dmi = &machine.dmi;
    let known = |fact: &narrows_base::fact::Fact<String>| fact.value().cloned();
    let words =
        [known(&dmi.system_vendor).or(known(&dmi.board_vendor)), known(&dmi.board).or(known(&dmi.product))];
    let name = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
    if name.is_empty() { "this machine".to_owned() } else { name }
}

fn on_board(machine: &Machine, board: &Board, seats: &[Seat], options: &BoardOptions<'_>) -> Site {
    let mut site = of_board(board, options);
    for seat in seats {
        let Some(place) = seat.slot.as_deref().and_then(|name| named(board, name)) else { continue };
        if let Some(slot) = site.slots.get_mut(place) {
            slot.occupant = occupant(machine, seat);
        }
    }
    mark_taken(machine, board, seats, &mut site);
    match Catalogued::of(machine).chipset() {
        Some(found) if board.chipset.as_ref().is_some_and(|said| *said != found.name) => site.notes.push(format!(
            "Its firmware says {}, but its chipset is the {} and not the {} of that board: check the name.",
            board.name,
            found.name,
            board.chipset.as_deref().unwrap_or_default()
        )),
        _ => {}
    }
    site
}

/// The place of the slot with this name, or with this number as the kernel gives it for hot-plug slots.
fn named(board: &Board, name: &str) -> Option<usize> {
    let slot = board.slot(name).or_else(|| board.slot(&format!("Slot {name}")))?;
    board.slots.iter().position(|known| known.name == slot.name)
}

fn unknown(machine: &Machine, seats: &[Seat], options: &BoardOptions<'_>) -> Result<Site, NoSlots> {
    let claims = machine.slots.value().map(Vec::as_slice).unwrap_or_default();
    let mut notes = Vec::new();
    let (slots, source) = if claims.is_empty() || is_template(claims) {
        notes.push(
            "Its board is not known: these are the ports that carry a card. Empty slots are missing, and what is \
             soldered to the board counts as a slot."
                .to_owned(),
        );
        (seats.iter().filter_map(|seat| of_seat(machine, seat)).collect(), "root ports and their links")
    } else {
        notes.push(
            "Its board is not known: these are the slots that its firmware claims. What they share is not known."
                .to_owned(),
        );
        let slots: Vec<Slot> = claims.iter().filter_map(|claim| of_claim(machine, claim, seats)).collect();
        (slots, "SMBIOS slot records, a claim of the firmware")
    };
    if slots.is_empty() {
        return Err(no_slots(machine));
    }
    let chipset = Catalogued::of(machine).chipset();
    if chipset.is_none() && slots.iter().any(|slot| slot.attachment == Attachment::Chipset) {
        notes.push("The uplink of its chipset is not known.".to_owned());
    }
    let sockets = options.sockets.unwrap_or(1).max(1);
    Ok(Site {
        name: name(machine),
        source: source.to_owned(),
        processor: options.processor.map(|processor| processor.name.clone()),
        processor_model: options.processor_model.clone(),
        sockets,
        slots,
        chipset: chipset.map(uplink),
        interconnect: interconnect(options.processor, sockets),
        gaps: vec![UNKNOWN_BOARD.to_owned()],
        notes,
        ..Site::default()
    })
}

fn no_slots(machine: &Machine) -> NoSlots {
    const MOST: usize = 8;
    let chipset = Catalogued::of(machine).chipset().into_iter();
    let candidates = chipset.flat_map(|it| catalog().boards_on(it)).map(Board::id).take(MOST).collect();
    let why = match machine.cpus.hypervisor.value() {
        Some(hypervisor) => format!(": it is virtual ({hypervisor})"),
        None => String::new(),
    };
    NoSlots { name: name(machine), why, candidates }
}

fn of_claim(machine: &Machine, claim: &Claim, seats: &[Seat]) -> Option<Slot> {
    let width = claim.width.or(claim.connector)?;
    let seat = seats.iter().find(|seat| seat.slot.as_deref() == Some(claim.designation.as_str()));
    let port = seat.and_then(|seat| machine.pci.get(&seat.port));
    let end = port.map(End::of);
    let real = end.and_then(End::max_width).map(|width| width.value);
    let speed =
        end.and_then(End::max_speed).map(|speed| speed.value).or(claim.speed).unwrap_or(GtPerSec::GEN3);
    let is_m2 = claim.kind.contains("M.2") || claim.designation.to_ascii_uppercase().starts_with("M.2");
    let form = match claim.kind.as_str() {
        _ if is_m2 => SlotForm::M2,
        kind if kind.contains("U.2") => SlotForm::U2,
        _ => SlotForm::Card,
    };
    let link = (claim.connector.unwrap_or(width).max(width), real.unwrap_or(width), speed);
    Some(Slot {
        occupant: seat.and_then(|seat| occupant(machine, seat)),
        ..Slot::new(&claim.designation, form, link, seat.map_or(Attachment::Cpu(0), |it| on(machine, it)))
    })
}

/// A port that carries something, of which only the port is known.
fn of_seat(machine: &Machine, seat: &Seat) -> Option<Slot> {
    let occupant = occupant(machine, seat)?;
    let port = machine.pci.get(&seat.port)?;
    let (speed, lanes) = End::of(port).most()?;
    let name = seat.slot.clone().unwrap_or_else(|| format!("port {}", seat.port));
    let bare = Slot::new(name, SlotForm::Card, (lanes, lanes, speed), on(machine, seat));
    Some(Slot { occupant: Some(occupant), ..bare })
}

/// What a seat hangs on: of a NUMA node its socket. Sockets may have several nodes each, numbered one socket after another.
fn on(machine: &Machine, seat: &Seat) -> Attachment {
    if seat.on_chipset {
        return Attachment::Chipset;
    }
    let sockets = machine.cpus.sockets.get().unwrap_or(1).max(1);
    let nodes = u32::try_from(machine.cpus.nodes.len()).unwrap_or(1).max(1);
    let each = (nodes / sockets).max(1);
    let socket = seat.node.map_or(0, |node| (node / each).min(sockets - 1));
    Attachment::Cpu(u8::try_from(socket).unwrap_or(0))
}

fn occupant(machine: &Machine, seat: &Seat) -> Option<Occupant> {
    let devices: Vec<&PciDevice> =
        seat.devices.iter().filter_map(|address| machine.pci.get(address)).collect();
    let first = devices.iter().find(|device| device.is_nvme()).or(devices.first())?;
    let kind = kind(first);
    let alike = devices.iter().filter(|device| self::kind(device) == kind).count();
    let card = seat.card.and_then(|card| machine.pci.get(&card));
    Some(Occupant {
        name: device_name(machine, first),
        kind,
        count: if kind.is_drive() { u8::try_from(alike).unwrap_or(u8::MAX) } else { 1 },
        lanes: End::of(first).max_width().map(|width| width.value).filter(|lanes| lanes.get() > 0),
        speed: End::of(first).max_speed().map(|speed| speed.value),
        trained: card.and_then(|card| machine.link_of(card).width()).map(|width| width.value),
        own: None,
        own_write: None,
    })
}

fn kind(device: &PciDevice) -> Kind {
    match device.class.value().map(|class| class >> 8) {
        Some(0x0108) => Kind::Nvme,
        Some(0x0207 | 0x0c06) => Kind::Hca,
        Some(0x0c03) => Kind::Usb,
        _ if device.is_network() => Kind::Nic,
        _ if device.is_storage() => Kind::Hba,
        _ if device.is_display() => Kind::Gpu,
        _ => Kind::Card,
    }
}

/// The model of the drive behind a function, or what the function is called.
fn device_name(machine: &Machine, device: &PciDevice) -> String {
    let is_its = |block: &&narrows_machine::block::BlockDevice| matches!(&block.transport, Transport::NvmePci { pci, .. } if *pci == device.address);
    let model = machine.block.values().find(is_its).and_then(|block| block.model.value().cloned());
    let model = model.filter(|model| !model.trim().is_empty());
    model.or_else(|| device.name.value().cloned()).unwrap_or_else(|| device.class_name().to_owned())
}

/// Lanes from which on something that is no drive is a card for sure: chips on boards have fewer.
const SURELY_A_CARD: u8 = 8;

/// Lanes from which on it may be a card.
const MAYBE_A_CARD: u8 = 4;

/// Takes the slots that may hold a device of which nothing names the slot for used, and says so as a gap.
fn mark_taken(machine: &Machine, board: &Board, seats: &[Seat], site: &mut Site) {
    for seat in seats {
        let is_placed = seat.slot.as_deref().is_some_and(|name| named(board, name).is_some());
        let Some(held) = occupant(machine, seat).filter(|_| !is_placed) else { continue };
        let width = held.trained.or(held.lanes).map_or(0, Lanes::get);
        // Functions of a chipset have ports of their own, as wide as its uplink.
        let least = if seat.on_chipset { SURELY_A_CARD } else { MAYBE_A_CARD };
        if !(held.kind.is_drive() || width >= least) {
            continue;
        }
        let on = on(machine, seat);
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
    let fits = held.kind.is_drive() || slot.form == SlotForm::Card;
    fits && slot.occupant.is_none() && slot.dead.is_none() && slot.lanes.get() >= width
}

/// Slots that the firmware says are in use, with nothing that was found in them.
fn taken_by_claim(machine: &Machine, site: &mut Site) {
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
