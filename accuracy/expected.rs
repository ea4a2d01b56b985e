//! The hop that a row's source blames: the kinds in its column `limiting_hop`, or else its own words.

use narrows::path::HopKind;

use crate::table::Row;

/// Every kind of hop that can limit.
const KINDS: [HopKind; 18] = [
    HopKind::Application,
    HopKind::Memory,
    HopKind::Cpu,
    HopKind::Socket,
    HopKind::Chipset,
    HopKind::Switch,
    HopKind::Link,
    HopKind::Usb,
    HopKind::Sata,
    HopKind::Sas,
    HopKind::Hba,
    HopKind::Controller,
    HopKind::Device,
    HopKind::Raid,
    HopKind::Crypt,
    HopKind::Cache,
    HopKind::Network,
    HopKind::Filesystem,
];

/// The kinds in a cell: `link`, `cpu|application`; none when it is empty.
pub(crate) fn kinds(cell: &str) -> Result<Vec<HopKind>, String> {
    let kind = |word: &str| {
        let found = KINDS.iter().find(|kind| kind.as_str() == word.trim());
        found.copied().ok_or_else(|| format!("`{}` is no kind of hop", word.trim()))
    };
    cell.split('|').filter(|word| !word.trim().is_empty()).map(kind).collect()
}

/// The kinds of hop that a row blames; `None` when it blames none. A table without the column is read by its words.
pub(crate) fn of(row: &Row) -> Option<Vec<HopKind>> {
    match &row.limiting {
        Some(kinds) => (!kinds.is_empty()).then(|| kinds.clone()),
        None => hops(&row.note).map(<[HopKind]>::to_vec),
    }
}

/// Words that blame a hop, and the kinds of hop that they mean. The first in the text wins.
const BLAMES: &[(&str, &[HopKind])] = &[
    ("crypto limited", &[HopKind::Crypt]),
    ("link limited", &[HopKind::Link, HopKind::Switch, HopKind::Usb, HopKind::Sata]),
    ("link/ssd", &[HopKind::Link, HopKind::Device]),
    ("slot limit", &[HopKind::Link]),
    ("slot negotiated", &[HopKind::Link]),
    ("nic in slot", &[HopKind::Link]),
    ("throttle limited", &[HopKind::Raid]),
    ("stripe-cache limited", &[HopKind::Raid]),
    ("resync limited", &[HopKind::Raid]),
    ("controller limit", &[HopKind::Hba]),
    ("chip limit", &[HopKind::Hba]),
    ("network limited", &[HopKind::Network]),
    ("network / replicas", &[HopKind::Network]),
    ("network+numa limited", &[HopKind::Network, HopKind::Socket]),
    ("memory bandwidth limited", &[HopKind::Memory]),
    ("latency limited", &[HopKind::Device]),
    ("latency floor", &[HopKind::Device]),
    ("tlc floor", &[HopKind::Device]),
    ("remote limited", &[HopKind::Socket]),
    ("limited by dmi", &[HopKind::Chipset, HopKind::Link]),
    (": dmi 2.0", &[HopKind::Chipset]),
    ("sata 6g ceiling", &[HopKind::Sata, HopKind::Device]),
    ("usb 10g ceiling", &[HopKind::Usb]),
    ("usb 5g", &[HopKind::Usb]),
    ("usb5g ports", &[HopKind::Usb]),
    ("line rate", &[HopKind::Network]),
    ("of line", &[HopKind::Network]),
    ("qlc direct write", &[HopKind::Device]),
    ("slc cache", &[HopKind::Device]),
    ("device limited", &[HopKind::Device]),
    ("drive limit", &[HopKind::Device]),
    ("one-core", &[HopKind::Application, HopKind::Cpu, HopKind::Generator]),
    ("one-core (libaio) limited", &[HopKind::Application, HopKind::Cpu, HopKind::Generator]),
    ("cpu limited", &[HopKind::Application, HopKind::Cpu, HopKind::Generator]),
    ("cpu/irq limited", &[HopKind::Application, HopKind::Cpu, HopKind::Generator]),
    ("one disk", &[HopKind::Device, HopKind::Sata]),
    ("chipset m.2 is pcie", &[HopKind::Link, HopKind::Chipset]),
];

/// The kinds of hop that a note blames; `None` when it blames none.
///
/// What a note denies (`throttle limited not device limited`, `is not limited by DMI3`) is left out.
pub(crate) fn hops(note: &str) -> Option<&'static [HopKind]> {
    let note = note.to_lowercase();
    let said = without_denials(&note);
    let found = BLAMES.iter().filter_map(|(words, kinds)| Some((said.find(words)?, words.len(), kinds)));
    // The first blame, and of several that begin there the longest.
    let first = found.min_by_key(|(at, length, _)| (*at, usize::MAX - *length))?;
    Some(first.2)
}

/// A text without what stands between a "not" and the end of its clause.
fn without_denials(note: &str) -> String {
    let mut said = String::new();
    for clause in note.split_inclusive([',', ';', ':', '.']) {
        let kept = clause.split_once(" not ").map_or(clause, |(before, _)| before);
        said.push_str(if kept.starts_with("not ") { "" } else { kept });
    }
    said
}
