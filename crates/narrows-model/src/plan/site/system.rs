//! The site that a described system is: the slots that its file names, or those of the board that it names, and what is in
//! them.

#[cfg(test)]
mod tests;

use super::board::{interconnect, of_board, uplink};
use super::{
    Attachment, BoardOptions, Gaps, MAY_SPLIT, NO_CONNECTOR, NOT_ON_BOARD, Occupant, Shared, Site, Slot,
    SlotForm, TAKEN_FOR_M2, UNWIRED, are, split_note, splitting,
};
use crate::ceiling;
use crate::path::HopKind;
use crate::path::file::{
    self as file, DeviceKind, Host, LinkGiven, Name, Part, PartKind, System, Technology, path,
};
use crate::plan::problem::WholeRate;
use crate::plan::wish::{Kind, squeezed};
use narrows_base::catalog::catalog;
use narrows_base::units::{BytesPerSec, GtPerSec, Lanes};

/// The most lanes of a place for a drive: M.2, U.2 (PCI Express M.2 and SFF-8639 specifications).
const DRIVE_LANES: u8 = 4;

/// Why a description gives no site.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSite {
    /// It has no host.
    #[error("it describes no host")]
    NoHost,
    /// It has no host with this name.
    #[error("it describes no host `{name}`")]
    UnknownHost {
        /// What was asked for.
        name: String,
        /// Those that it has.
        known: Vec<String>,
    },
    /// The host has no slots.
    #[error("it gives {host} no slots")]
    NoSlots { host: String },
}

impl NoSite {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NoHost => "add a [host.NAME]".to_owned(),
            Self::UnknownHost { known, .. } => format!("the hosts are: {}", known.join(", ")),
            Self::NoSlots { host } => format!(
                "add [slot.NAME] with generation and width for each, and say which device is `in` which; or give board = \
                 \"ID\" in [host.{host}], with an id that `narrows plan --board list` shows"
            ),
        }
    }
}

/// The host of a system that is planned for: the one with this name, or the first.
///
/// # Errors
/// There is none, or none with this name.
pub fn host_of<'s>(system: &'s System, named: Option<&str>) -> Result<&'s Name, NoSite> {
    let mut hosts = system.hosts().map(|(name, _)| name);
    let Some(wanted) = named else { return hosts.next().ok_or(NoSite::NoHost) };
    hosts.find(|name| name.as_str() == wanted).ok_or_else(|| NoSite::UnknownHost {
        name: wanted.to_owned(),
        known: system.hosts().map(|(name, _)| name.to_string()).collect(),
    })
}

/// The slots of a described host and what is in them: those of its board where it names one, and those of the file.
///
/// # Errors
/// [`NoSite`] when there are none.
pub fn of_system(system: &System, host: &Name, assume_splitting: bool) -> Result<Site, NoSite> {
    let reader = SiteReader { system, host };
    let (Some(part), Some(about)) = (system.part(host), reader.about()) else { return Err(NoSite::NoHost) };
    let board = about.board.as_deref().and_then(|board| catalog().board_named(board));
    let mut site = match board {
        Some(board) => {
            let options = BoardOptions {
                processor: about.platform(),
                processor_model: about.cpu.clone(),
                sockets: u8::try_from(about.sockets).ok(),
                assume_splitting,
            };
            of_board(board, &options)
        }
        None => reader.bare(part, about),
    };
    if system.hosts().count() > 1 {
        site.notes.push(format!(
            "The file has {} hosts; this is {host}. --host names another.",
            system.hosts().count()
        ));
    }
    reader.fill(&mut site, board.is_some(), assume_splitting);
    if site.slots.is_empty() {
        return Err(NoSite::NoSlots { host: host.to_string() });
    }
    site.gaps.extend(site.more_lanes_than_there_are());
    site.notes.extend(reader.loose());
    site.sata.used = reader.on_sata_ports();
    Ok(site)
}

/// Reads one host of a system.
struct SiteReader<'s> {
    system: &'s System,
    host: &'s Name,
}

impl<'s> SiteReader<'s> {
    fn about(&self) -> Option<&'s Host> {
        self.system.hosts().find(|(name, _)| *name == self.host).map(|(_, host)| host)
    }

    /// What a part hangs on, when it is on this host.
    fn attachment(&self, part: &Part) -> Option<Attachment> {
        let place = self.system.place_of(&part.name).filter(|place| place.host == self.host)?;
        let socket = u8::try_from(place.socket.unwrap_or(0)).unwrap_or(u8::MAX);
        Some(if place.on_chipset { Attachment::Chipset } else { Attachment::Cpu(socket) })
    }

    /// Whether a part of this host is in no slot and on no adapter.
    fn is_on_board(&self, part: &Part) -> bool {
        let carrier = upstream(part).and_then(|name| self.system.part(name)).map(|part| &part.kind);
        matches!(carrier, Some(PartKind::Host(_) | PartKind::Chipset(_))) && self.attachment(part).is_some()
    }

    /// How many drives are on ports of the board.
    fn on_sata_ports(&self) -> usize {
        let is_sata = |part: &&Part| match &part.kind {
            PartKind::Device(it) => matches!(it.kind, DeviceKind::Sata | DeviceKind::Hdd),
            _ => false,
        };
        self.system.parts.iter().filter(is_sata).filter(|part| self.is_on_board(part)).count()
    }

    /// The slots of the host, each with what it hangs on.
    fn slots(&self) -> Vec<(&'s Part, &'s file::Slot, Attachment)> {
        let slot = |part: &'s Part| match &part.kind {
            PartKind::Slot(slot) => Some((part, slot, self.attachment(part)?)),
            _ => None,
        };
        self.system.parts.iter().filter_map(slot).collect()
    }

    /// The slots that one is split into.
    fn pieces(&self, slot: &Name) -> Vec<(&'s Part, &'s file::Slot)> {
        let piece = |part: &'s Part| match &part.kind {
            PartKind::Slot(piece) => (*outer(piece)? == *slot).then_some((part, piece)),
            _ => None,
        };
        self.system.parts.iter().filter_map(piece).collect()
    }

    /// What is in a place, directly.
    fn inside(&self, place: &Name) -> Vec<&'s Part> {
        self.system.parts.iter().filter(|part| upstream(part) == Some(place)).collect()
    }

    /// A site of which the file has all that is known, without its slots.
    fn bare(&self, part: &Part, about: &Host) -> Site {
        let most = self.slots().iter().map(|(.., on)| u32::from(on.socket()) + 1).max().unwrap_or(1);
        let sockets = u8::try_from(about.sockets.max(most)).unwrap_or(u8::MAX);
        let platform = about.platform();
        let known = interconnect(platform, sockets);
        let given = about.interconnect.filter(|_| sockets > 1).map(|links| {
            let name = known.as_ref().map_or("connection of the sockets", |it| it.name.as_str()).to_owned();
            let rate = WholeRate::new(links.carries());
            Shared { name, rate, write: rate }
        });
        let between = given.or(known);
        let mut notes = Vec::new();
        if sockets > 1 && between.is_none() {
            notes.push(format!(
                "What its sockets have between them is not said, and not counted: give processor, or interconnect_links \
                 and interconnect_rate, in [host.{}].",
                self.host
            ));
        }
        let chipsets: Vec<Shared> = self.system.parts.iter().filter_map(|it| self.chipset(it)).collect();
        if chipsets.len() > 1 {
            notes.push(
                "It has several chipsets; all behind them is counted on the uplink of the first.".to_owned(),
            );
        }
        let named = [self.system.name.as_str(), self.host.as_str()];
        Site {
            name: named.into_iter().find(|name| !name.is_empty()).unwrap_or_default().to_owned(),
            source: part.given.to_string(),
            processor: platform.map(|platform| platform.name.clone()),
            processor_model: about.cpu.clone(),
            sockets,
            chipset: chipsets.into_iter().next(),
            interconnect: between,
            notes,
            ..Site::default()
        }
    }

    fn chipset(&self, part: &Part) -> Option<Shared> {
        match &part.kind {
            PartKind::Chipset(chipset) if chipset.host == *self.host => {
                chipset.entry(part).ok()?.as_ref().map(uplink)
            }
            _ => None,
        }
    }

    /// Puts the described slots, and what is in them, into the site.
    fn fill(&self, site: &mut Site, has_board: bool, assume_splitting: bool) {
        let mut gaps = Gaps::default();
        let of_board = site.slots.len();
        for (part, slot, on) in self.slots() {
            let pieces = self.pieces(&part.name);
            if has_board && let Some(known) = on_board(site, of_board, &part.name) {
                gaps.differs(known, on);
                // A slot of the board that the file splits holds what its pieces hold.
                let places = std::iter::once(&part.name).chain(pieces.iter().map(|(piece, _)| &piece.name));
                let inside: Vec<&Part> = places.flat_map(|place| self.inside(place)).collect();
                known.occupant = self.occupant(&inside, slot.link.width);
                gaps.crowded(&part.name, &inside, known.occupant.as_ref());
                continue;
            }
            if has_board && outer(slot).is_some_and(|outer| on_board(site, of_board, outer).is_some()) {
                continue;
            }
            let inside = self.inside(&part.name);
            if !pieces.is_empty() && inside.is_empty() {
                site.notes.push(split_note(part, slot, &pieces));
                continue;
            }
            match self.slot(part, slot, on, &inside, &mut gaps, assume_splitting) {
                Some(made) => site.slots.push(made),
                None => gaps.slots.push((UNWIRED, part.name.to_string())),
            }
            if has_board {
                gaps.slots.push((NOT_ON_BOARD, part.name.to_string()));
            }
        }
        site.notes.extend(gaps.notes(has_board, self.host));
    }

    fn slot(
        &self,
        part: &Part,
        slot: &file::Slot,
        on: Attachment,
        inside: &[&'s Part],
        gaps: &mut Gaps,
        assume_splitting: bool,
    ) -> Option<Slot> {
        let lanes = slot.link.width?;
        let speed = slot.link.generation.and_then(GtPerSec::from_pcie_generation)?;
        let occupant = self.occupant(inside, slot.link.width);
        gaps.crowded(&part.name, inside, occupant.as_ref());
        let holds_drive = inside.iter().any(|it| is_nvme(it));
        let looks_like_drive =
            (holds_drive || outer(slot).is_some()) && lanes.get() <= DRIVE_LANES && slot.connector.is_none();
        let form = slot.form.unwrap_or(if looks_like_drive { SlotForm::M2 } else { SlotForm::Card });
        if slot.form.is_none() && looks_like_drive {
            gaps.slots.push((TAKEN_FOR_M2, part.name.to_string()));
        }
        let connector = slot.connector.map_or(lanes, |connector| connector.max(lanes));
        if slot.connector.is_none() && form == SlotForm::Card && lanes.get() < 16 {
            gaps.slots.push((NO_CONNECTOR, part.name.to_string()));
        }
        let made = Slot {
            splitting: splitting(slot.bifurcation.as_deref(), form, lanes, assume_splitting),
            occupant,
            shares: outer(slot).map(|outer| format!("a part of {outer}, which is split")),
            ..Slot::new(part.name.as_str(), form, (connector, lanes, speed), on)
        };
        if made.may_be_split() {
            gaps.slots.push((MAY_SPLIT, made.name.clone()));
        }
        Some(made)
    }

    /// What is said of drives and cards that are in no slot of their own.
    fn loose(&self) -> Option<String> {
        let has_link =
            |part: &&Part| is_nvme(part) || matches!(part.kind, PartKind::Adapter(_) | PartKind::Network(_));
        let loose = self.system.parts.iter().filter(has_link).filter(|part| self.is_on_board(part));
        let names: Vec<String> = loose.map(|part| part.name.to_string()).collect();
        let why = "in no slot and not planned for: give each a [slot.NAME] and in = \"NAME\".";
        (!names.is_empty()).then(|| format!("{} {why}", are(&names)))
    }

    /// What sits in a slot: of several parts the drives, or else the first, and those like it.
    fn occupant(&self, inside: &[&'s Part], wired: Option<Lanes>) -> Option<Occupant> {
        let switch = inside.iter().find_map(|part| match &part.kind {
            PartKind::Switch(switch) => Some((part, switch)),
            _ => None,
        });
        let devices: Vec<&Part> = match switch {
            Some((part, _)) => self.behind(&part.name),
            None => inside.to_vec(),
        };
        let first = devices.iter().find(|part| is_nvme(part)).or(devices.first())?;
        let own_kind = occupant_kind(first);
        let alike = devices.iter().filter(|part| occupant_kind(part) == own_kind).count();
        let (end, card) = match switch {
            Some((_, switch)) => (end_of(first, switch.port()), switch.uplink.width),
            None => (end_of(first, LinkGiven::default()), None),
        };
        let (own, own_write) = self.own(first, own_kind);
        Some(Occupant {
            name: title(first),
            kind: own_kind,
            count: if own_kind.is_drive() { u8::try_from(alike).unwrap_or(u8::MAX) } else { 1 },
            lanes: end.width,
            speed: end.generation.and_then(GtPerSec::from_pcie_generation),
            trained: card
                .or(if alike > 1 && own_kind.is_drive() { None } else { end.width })
                .into_iter()
                .chain(wired)
                .min(),
            own,
            own_write,
        })
    }

    /// Everything behind a switch, also behind switches below it.
    fn behind(&self, switch: &Name) -> Vec<&'s Part> {
        let mut found = Vec::new();
        let mut pending = vec![switch];
        let mut seen = 0;
        while let Some(place) = pending.pop().filter(|_| seen <= self.system.parts.len()) {
            seen += 1;
            for part in self.inside(place) {
                match &part.kind {
                    PartKind::Switch(_) => pending.push(&part.name),
                    _ => found.push(part),
                }
            }
        }
        found
    }

    /// What a device delivers and takes by itself: the ceilings of its own hop.
    fn own(&self, part: &Part, kind: Kind) -> (Option<BytesPerSec>, Option<BytesPerSec>) {
        let (target, hop) = match kind {
            Kind::Nvme => (Some(&part.name), HopKind::Device),
            Kind::Nic | Kind::Hca => (Some(&part.name), HopKind::Network),
            // An adapter is met on the way to a drive that it has.
            Kind::Hba => (self.inside(&part.name).first().map(|drive| &drive.name), HopKind::Hba),
            _ => return (None, None),
        };
        let Some(path) = target.and_then(|target| path(self.system, target, 1).ok()) else {
            return (None, None);
        };
        let found = path.of_kind(hop).next().map(ceiling::of_hop);
        found.map_or((None, None), |both| (both.read.rate(), both.write.rate()))
    }
}

/// The slot of the board that the file calls so, whatever stands between letters and digits.
fn on_board<'a>(site: &'a mut Site, of_board: usize, name: &Name) -> Option<&'a mut Slot> {
    let wanted = squeezed(name.as_str());
    site.slots.iter_mut().take(of_board).find(|slot| squeezed(&slot.name) == wanted)
}

/// What a drive, a card or a switch is in.
fn upstream(part: &Part) -> Option<&Name> {
    match &part.kind {
        PartKind::Device(it) => Some(&it.upstream),
        PartKind::Adapter(it) => Some(&it.upstream),
        PartKind::Switch(it) => Some(&it.upstream),
        PartKind::Network(it) => it.upstream.as_ref(),
        _ => None,
    }
}

/// The slot that one is a part of, which is split.
const fn outer(slot: &file::Slot) -> Option<&Name> {
    if let file::Attachment::Slot { slot: outer } = &slot.on { Some(outer) } else { None }
}

/// Whether a part is a drive with a link of its own.
fn is_nvme(part: &Part) -> bool {
    occupant_kind(part) == Kind::Nvme
}

fn occupant_kind(part: &Part) -> Kind {
    match &part.kind {
        PartKind::Device(device) => match device.kind {
            DeviceKind::Nvme => Kind::Nvme,
            DeviceKind::Usb => Kind::Usb,
            // Such a drive in a slot is on an adapter that nobody described.
            DeviceKind::Sata | DeviceKind::Sas | DeviceKind::Hdd => Kind::Hba,
            DeviceKind::Ramdisk => Kind::Card,
        },
        PartKind::Network(network) => match network.technology {
            Technology::Infiniband => Kind::Hca,
            Technology::Ethernet => Kind::Nic,
        },
        PartKind::Adapter(_) => Kind::Hba,
        _ => Kind::Card,
    }
}

/// A device's end of its link, as narrow as the port that it is on.
fn end_of(part: &Part, port: LinkGiven) -> LinkGiven {
    let own = match &part.kind {
        PartKind::Device(device) => device.end(),
        PartKind::Adapter(adapter) => adapter.link,
        PartKind::Network(network) => network.link,
        _ => LinkGiven::default(),
    };
    LinkGiven {
        generation: own.generation.into_iter().chain(port.generation).min(),
        width: own.width.into_iter().chain(port.width).min(),
        ..own
    }
}

fn title(part: &Part) -> String {
    let model = match &part.kind {
        PartKind::Device(device) => device.model.as_deref(),
        PartKind::Adapter(adapter) => adapter.model.as_deref(),
        _ => None,
    };
    match (model, &part.kind) {
        (Some(model), _) => model.to_owned(),
        (None, PartKind::Network(network)) => format!("{} ({})", part.name, network.rate),
        (None, _) => part.name.to_string(),
    }
}
