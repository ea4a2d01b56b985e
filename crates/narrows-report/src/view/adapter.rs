//! Adapters and the drives behind them, as views.

use super::{AdapterDriveView, AdapterView, AdapterVolumeView};
use narrows_base::fact::Fact;
use narrows_base::units::BitsPerSec;
use narrows_machine::Machine;
use narrows_machine::captured::{Adapter, AdapterDrive, AdapterVolume};

/// Why a field of these is `null`.
const NOT_PRINTED: &str = "the adapter's tool did not print it in these texts";

/// Every adapter of a machine.
pub(super) fn views(machine: &Machine) -> Vec<AdapterView> {
    machine.adapters.iter().map(|(number, adapter)| view(*number, adapter)).collect()
}

fn view(number: u32, adapter: &Adapter) -> AdapterView {
    let (model, pci) = (adapter.model.get(), adapter.pci.map(|pci| pci.to_string()));
    AdapterView {
        number,
        reason: reason(model.is_none() || pci.is_none()),
        model,
        pci,
        volumes: adapter.volumes.iter().map(|(place, volume)| volume_view(place, volume)).collect(),
        drives: adapter.drives.iter().map(|(place, drive)| drive_view(place, drive)).collect(),
    }
}

fn reason(is_missing: bool) -> Option<String> {
    is_missing.then(|| NOT_PRINTED.to_owned())
}

fn volume_view(place: &str, volume: &AdapterVolume) -> AdapterVolumeView {
    let view = AdapterVolumeView {
        place: place.to_owned(),
        level: volume.level.clone(),
        state: volume.state.get(),
        size_bytes: volume.size,
        disk: volume.disk.clone(),
        reason: None,
    };
    let is_missing =
        view.level.is_none() || view.state.is_none() || view.size_bytes.is_none() || view.disk.is_none();
    AdapterVolumeView { reason: reason(is_missing), ..view }
}

fn drive_view(place: &str, drive: &AdapterDrive) -> AdapterDriveView {
    let bits = |speed: &Fact<BitsPerSec>| speed.value().map(|speed| speed.get() as u64);
    let view = AdapterDriveView {
        place: place.to_owned(),
        state: drive.state.get(),
        group: drive.group.clone(),
        interface: drive.interface.clone(),
        rotational: drive.turns,
        model: drive.model.clone(),
        size_bytes: drive.size,
        link_bits_per_second: bits(&drive.link),
        most_bits_per_second: bits(&drive.most),
        predicted_failures: drive.predicted_failures,
        reason: None,
    };
    let texts = [&view.state, &view.group, &view.interface, &view.model];
    let numbers = [view.link_bits_per_second, view.most_bits_per_second, view.predicted_failures];
    let is_missing = texts.iter().any(|text| text.is_none())
        || numbers.iter().any(Option::is_none)
        || view.rotational.is_none()
        || view.size_bytes.is_none();
    AdapterDriveView { reason: reason(is_missing), ..view }
}
