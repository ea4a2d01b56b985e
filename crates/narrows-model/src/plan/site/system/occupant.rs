//! What sits in a described slot.

use super::Reader;
use crate::ceiling;
use crate::path::HopKind;
use crate::path::file::{DeviceKind, LinkGiven, Name, Part, PartKind, Technology, path};
use crate::plan::site::Occupant;
use crate::plan::wish::Kind;
use narrows_base::units::{BytesPerSec, GtPerSec, Lanes};

impl<'s> Reader<'s> {
    /// What sits in a slot: of several parts the drives, or else the first, and those like it.
    pub(super) fn occupant(&self, inside: &[&'s Part], wired: Option<Lanes>) -> Option<Occupant> {
        let switch = inside.iter().find_map(|part| match &part.kind {
            PartKind::Switch(switch) => Some((part, switch)),
            _ => None,
        });
        let devices: Vec<&Part> = match switch {
            Some((part, _)) => self.behind(&part.name),
            None => inside.to_vec(),
        };
        let first = devices.iter().find(|part| is_nvme(part)).or(devices.first())?;
        let kind = kind(first);
        let alike = devices.iter().filter(|part| self::kind(part) == kind).count();
        let (end, card) = match switch {
            Some((_, switch)) => (end_of(first, switch.port), switch.uplink.width),
            None => (end_of(first, LinkGiven::default()), None),
        };
        let (own, own_write) = self.own(first, kind);
        Some(Occupant {
            name: title(first),
            kind,
            count: if kind.is_drive() { u8::try_from(alike).unwrap_or(u8::MAX) } else { 1 },
            lanes: end.width,
            speed: end.generation.and_then(GtPerSec::from_pcie_generation),
            trained: card
                .or(if alike > 1 && kind.is_drive() { None } else { end.width })
                .into_iter()
                .chain(wired)
                .min(),
            behind_switch: switch.is_some(),
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

/// Whether a part is a drive with a link of its own.
pub(super) fn is_nvme(part: &Part) -> bool {
    kind(part) == Kind::Nvme
}

fn kind(part: &Part) -> Kind {
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
