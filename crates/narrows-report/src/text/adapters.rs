//! The drives behind RAID and SAS adapters, alike ones together.

use crate::document::{Blocks, Document, Place, Tone};
use crate::view::MachineView;
use narrows_base::lists::{grouped, known_of, some_of};
use narrows_base::units::human;
use narrows_machine::captured::AdapterDrive;
use std::collections::BTreeMap;

/// So many kinds of drives of an adapter are shown.
const MOST: usize = 12;

/// Puts each adapter with its volumes and drives.
pub(super) fn put(out: &mut Document, machine: &MachineView) {
    if machine.adapters.is_empty() {
        return;
    }
    out.gap();
    out.part(Place::Data, "Behind adapters");
    for (number, adapter) in &machine.adapters {
        let model = adapter.model.get().unwrap_or_else(|| "adapter".to_owned());
        let pci = adapter.pci.as_ref().map(|pci| format!(" at {pci}")).unwrap_or_default();
        out.say(2, Tone::Strong, format!("{model} (c{number}){pci}"));
        for (place, volume) in &adapter.volumes {
            let level = volume.level.as_deref().unwrap_or("volume");
            let disk = volume.disk.as_ref().map(|disk| format!(" ({disk})")).unwrap_or_default();
            let size = volume.size.map(|size| format!(", {size}")).unwrap_or_default();
            let state = volume.state.value().map(|state| format!(": {state}")).unwrap_or_default();
            out.say(4, Tone::Normal, format!("{level} {place}{disk}{size}{state}"));
        }
        let kinds = kinds(&adapter.drives);
        for (words, places) in kinds.iter().take(MOST) {
            let count = if places.len() == 1 { String::new() } else { format!("{} × ", places.len()) };
            out.say(4, Tone::Normal, format!("{count}{words} ({})", some_of(places, 6, ", ")));
        }
        if let Some(more @ 1..) = kinds.len().checked_sub(MOST) {
            out.say(4, Tone::Faint, format!("{more} more kinds of drives"));
        }
    }
}

/// Drives that are alike in all that is told, with their places.
fn kinds(drives: &BTreeMap<String, AdapterDrive>) -> Vec<(String, Vec<String>)> {
    grouped(drives.iter().map(|(place, drive)| (words(drive), place.clone())))
}

/// `ST1200MM0088, SAS hard disk, 1.2 TB, link 12 Gbit/s, Onln`.
fn words(drive: &AdapterDrive) -> String {
    let medium = drive.turns.map(|turns| if turns { "hard disk" } else { "SSD" });
    let kind: Vec<&str> = drive.interface.as_deref().into_iter().chain(medium).collect();
    let link = drive.link.get().map(|link| match drive.most.get() {
        Some(most) if most > link => format!("link {link} of {most}"),
        _ => format!("link {link}"),
    });
    let failures = drive.predicted_failures.filter(|count| *count > 0);
    let parts = [
        drive.model.clone().or_else(|| Some("unknown model".to_owned())),
        Some(kind.join(" ")).filter(|kind| !kind.is_empty()),
        drive.size.map(human::bytes),
        link,
        drive.state.get(),
        failures.map(|count| format!("says {count} times that it will fail")),
    ];
    known_of(parts, ", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::fact::Fact;
    use narrows_base::units::{BitsPerSec, Bytes};

    fn drive(place: &str, state: &str) -> (String, AdapterDrive) {
        let drive = AdapterDrive {
            state: Fact::known(state.to_owned(), ""),
            interface: Some("SAS".to_owned()),
            turns: Some(true),
            model: Some("ST1200MM0088".to_owned()),
            size: Some(Bytes::new(1_200_000_000_000)),
            link: Fact::known(BitsPerSec::new(6e9), ""),
            most: Fact::known(BitsPerSec::new(12e9), ""),
            ..AdapterDrive::default()
        };
        (place.to_owned(), drive)
    }

    #[test]
    fn drives_that_are_alike_are_one_line_and_a_failed_one_is_another() {
        let found = kinds(&[drive("32:0", "Onln"), drive("32:1", "Onln"), drive("32:2", "Failed")].into());
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
