//! The drives behind RAID and SAS adapters, alike ones together.

use super::Tone;
use crate::document::{Blocks, Document, Place};
use crate::view::{AdapterDriveView, AdapterView, MachineView};
use narrows_base::units::{BitsPerSec, human};

/// So many kinds of drives of an adapter are shown.
const MOST: usize = 12;

/// Puts each adapter with its volumes and drives.
pub(super) fn put(out: &mut Document, machine: &MachineView) {
    if machine.adapters.is_empty() {
        return;
    }
    out.gap();
    out.part(Place::Data, "Behind adapters");
    for adapter in &machine.adapters {
        out.say(2, Tone::Strong, name(adapter));
        for volume in &adapter.volumes {
            let level = volume.level.as_deref().unwrap_or("volume");
            let disk = volume.disk.as_ref().map(|disk| format!(" ({disk})")).unwrap_or_default();
            let size = volume.size_bytes.map(|size| format!(", {}", human::bytes(size))).unwrap_or_default();
            let state = volume.state.as_ref().map(|state| format!(": {state}")).unwrap_or_default();
            out.say(4, Tone::Normal, format!("{level} {}{disk}{size}{state}", volume.place));
        }
        let kinds = kinds(&adapter.drives);
        for (words, places) in kinds.iter().take(MOST) {
            let count = if places.len() == 1 { String::new() } else { format!("{} × ", places.len()) };
            out.say(4, Tone::Normal, format!("{count}{words} ({})", super::some_of(places, 6)));
        }
        if let Some(more @ 1..) = kinds.len().checked_sub(MOST) {
            out.say(4, Tone::Faint, format!("{more} more kinds of drives"));
        }
    }
}

fn name(adapter: &AdapterView) -> String {
    let model = adapter.model.clone().unwrap_or_else(|| "adapter".to_owned());
    let pci = adapter.pci.as_ref().map(|pci| format!(" at {pci}")).unwrap_or_default();
    format!("{model} (c{}){pci}", adapter.number)
}

/// Drives that are alike in all that is told, with their places.
fn kinds(drives: &[AdapterDriveView]) -> Vec<(String, Vec<String>)> {
    let mut kinds: Vec<(String, Vec<String>)> = Vec::new();
    for drive in drives {
        let words = words(drive);
        match kinds.iter_mut().find(|(known, _)| *known == words) {
            Some((_, places)) => places.push(drive.place.clone()),
            None => kinds.push((words, vec![drive.place.clone()])),
        }
    }
    kinds
}

/// `ST1200MM0088, SAS hard disk, 1.2 TB, link 12 Gbit/s, Onln`.
fn words(drive: &AdapterDriveView) -> String {
    let bits = |bits: u64| human::bit_rate(BitsPerSec::new(bits as f64));
    let medium = drive.rotational.map(|turns| if turns { "hard disk" } else { "SSD" });
    let kind: Vec<&str> = drive.interface.as_deref().into_iter().chain(medium).collect();
    let link = match (drive.link_bits_per_second, drive.most_bits_per_second) {
        (Some(link), Some(most)) if most > link => Some(format!("link {} of {}", bits(link), bits(most))),
        (Some(link), _) => Some(format!("link {}", bits(link))),
        (None, _) => None,
    };
    let failures = drive.predicted_failures.filter(|count| *count > 0);
    let parts = [
        drive.model.clone().or_else(|| Some("unknown model".to_owned())),
        Some(kind.join(" ")).filter(|kind| !kind.is_empty()),
        drive.size_bytes.map(human::bytes),
        link,
        drive.state.clone(),
        failures.map(|count| format!("says {count} times that it will fail")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::units::Bytes;

    fn drive(place: &str, state: &str) -> AdapterDriveView {
        AdapterDriveView {
            place: place.to_owned(),
            state: Some(state.to_owned()),
            interface: Some("SAS".to_owned()),
            rotational: Some(true),
            model: Some("ST1200MM0088".to_owned()),
            size_bytes: Some(Bytes::new(1_200_000_000_000)),
            link_bits_per_second: Some(6_000_000_000),
            most_bits_per_second: Some(12_000_000_000),
            ..AdapterDriveView::default()
        }
    }

    #[test]
    fn drives_that_are_alike_are_one_line_and_a_failed_one_is_another() {
        let found = kinds(&[drive("32:0", "Onln"), drive("32:1", "Onln"), drive("32:2", "Failed")]);
        assert_eq!(
            found[0],
            (
                "ST1200MM0088, SAS hard disk, 1.2 TB, link 6 Gbit/s of 12 Gbit/s, Onln".to_owned(),
                vec!["32:0".to_owned(), "32:1".to_owned()]
            )
        );
        assert_eq!(found[1].1, ["32:2"]);
    }
}
