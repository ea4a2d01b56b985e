//! Which law a bound is of.

use super::{Law, Situation};
use crate::ceiling::Direction;
use crate::path::HopKind;
use crate::path::file::{DeviceKind, PartKind, System};
use crate::predict::hops::Loaded;

/// The law of the bytes that a hop carries in a direction; `None` is both.
pub(in crate::predict) fn bandwidth(
    system: &System,
    loaded: &Loaded,
    situation: &Situation,
    direction: Option<Direction>,
) -> Law {
    match loaded.hop.kind() {
        HopKind::Link if is_card(system, loaded) => Law::CardSlot,
        HopKind::Link | HopKind::Switch => Law::Pcie,
        HopKind::Chipset => Law::Uplink,
        HopKind::Sata => Law::Sata,
        HopKind::Sas => Law::Sas,
        HopKind::Usb => Law::Usb,
        HopKind::Hba | HopKind::Controller => Law::Adapter,
        HopKind::Device => medium(system, loaded, situation, direction),
        HopKind::Memory => Law::Memory,
        HopKind::Socket => Law::Socket,
        HopKind::Raid => Law::StripeThread,
        HopKind::Crypt => Law::CryptRate,
        HopKind::Network => network(situation),
        _ => Law::Given,
    }
}

fn network(situation: &Situation) -> Law {
    match (situation.has("nvme-fabric"), situation.has("file-server")) {
        (true, _) => Law::NvmeFabric,
        (_, true) => Law::FileServer,
        _ => Law::Network,
    }
}

fn is_card(system: &System, loaded: &Loaded) -> bool {
    system.part(&loaded.part()).is_some_and(|part| matches!(part.kind, PartKind::Network(_)))
}

/// Whether an array spreads the bytes over this drive and others.
fn is_spread(loaded: &Loaded, situation: &Situation, direction: Direction) -> bool {
    let crossing = match direction {
        Direction::Read => loaded.asked,
        Direction::Write => loaded.write,
    };
    let is_array = ["stripe", "mirror", "parity", "zfs"].iter().any(|word| situation.has(word));
    situation.has("many-drives") && is_array && !situation.has("cache") && crossing < 1.0
}

fn medium(system: &System, loaded: &Loaded, situation: &Situation, direction: Option<Direction>) -> Law {
    match (loaded.device(system).map(|device| device.kind), direction) {
        (_, Some(direction)) if is_spread(loaded, situation, direction) => Law::MediumTogether,
        (Some(DeviceKind::Hdd), _) => Law::DiskRate,
        (_, Some(Direction::Read)) => Law::MediumRead,
        (_, Some(Direction::Write)) => Law::MediumWrite,
        (_, None) => Law::MediumMix,
    }
}

/// The law of the I/Os that a hop completes.
pub(in crate::predict) fn operations(system: &System, loaded: &Loaded) -> Law {
    match (loaded.hop.kind(), loaded.device(system).map(|device| device.kind)) {
        (_, Some(DeviceKind::Hdd)) => Law::DiskIops,
        (HopKind::Device, _) => Law::FlashIops,
        (HopKind::Raid, _) => Law::RaidzIops,
        (HopKind::LogicalVolume, _) => Law::ClusterIops,
        _ => Law::AdapterIops,
    }
}

/// The law of the time that a request spends in a hop; `moves` when it is that of its bytes.
pub(in crate::predict) fn time(system: &System, loaded: &Loaded, situation: &Situation, moves: bool) -> Law {
    let device = loaded.device(system).map(|device| device.kind);
    match (loaded.hop.kind(), device) {
        (HopKind::Device, Some(_)) if moves => medium(system, loaded, situation, Some(Direction::Read)),
        (_, Some(DeviceKind::Hdd)) => Law::DiskAccess,
        (_, Some(DeviceKind::Ramdisk)) => Law::MemoryIo,
        (_, Some(_)) if situation.pattern == crate::path::file::Pattern::Sequential => {
            Law::FlashSequentialWait
        }
        (_, Some(_)) => Law::FlashWait,
        (HopKind::Crypt, _) => Law::CryptTime,
        (HopKind::Switch, _) => Law::SwitchTime,
        (HopKind::Application, _) => Law::Core,
        (HopKind::Network | HopKind::Remote | HopKind::LogicalVolume, _) if !moves => Law::NetworkTime,
        (HopKind::Controller, _) => Law::NetworkTime,
        _ => bandwidth(system, loaded, situation, Some(Direction::Read)),
    }
}
