//! System slots in the words of dmidecode (`dmi_slot_type`, `dmi_slot_bus_width`), which are those of DMTF DSP0134 3.7,
//! section 7.10.

use super::Structure;
use narrows_base::units::{GtPerSec, Lanes};
use narrows_machine::dmi::{Slot, plausible};

/// Types without a number of generation and lanes: dmidecode's name, ours, and the generation.
const NAMED: &[(&str, &str, Option<GtPerSec>)] = &[
    ("PCI", "PCI", None),
    ("PCI-66", "PCI 66 MHz", None),
    ("PCI-X", "PCI-X", None),
    ("M.2 Socket 1-DP", "M.2 socket 1-DP", None),
    ("M.2 Socket 1-SD", "M.2 socket 1-SD", None),
    ("M.2 Socket 2", "M.2 socket 2", None),
    ("M.2 Socket 3", "M.2 socket 3", None),
    ("PCI Express 2 SFF-8639 (U.2)", "PCI Express 2 U.2", Some(GtPerSec::GEN2)),
    ("PCI Express 3 SFF-8639 (U.2)", "PCI Express 3 U.2", Some(GtPerSec::GEN3)),
    ("PCI Express 4 SFF-8639 (U.2)", "PCI Express 4 U.2", Some(GtPerSec::GEN4)),
    ("PCI Express 5 SFF-8639 (U.2)", "PCI Express 5 U.2", Some(GtPerSec::GEN5)),
    ("OCP NIC 3.0 Small Form Factor (SFF)", "OCP NIC 3.0 small", None),
    ("OCP NIC 3.0 Large Form Factor (LFF)", "OCP NIC 3.0 large", None),
    ("OCP NIC Prior to 3.0", "OCP NIC", None),
    ("CXL FLexbus 1.0", "CXL Flexbus 1.0", None),
    ("PCI Express Gen 6 and Beyond", "PCI Express 6 or later", Some(GtPerSec::GEN6)),
    ("Enterprise and Datacenter 1U E1 Form Factor Slot", "EDSFF E1", None),
    ("Enterprise and Datacenter 3\" E3 Form Factor Slot", "EDSFF E3", None),
];

/// Reads one structure; `None` when it is none of a slot.
pub(super) fn parse(structure: &Structure<'_>) -> Option<Slot> {
    let (bus, kind) = split_width(structure.field("Type")?);
    let (kind, named_speed, named_width) = slot_type(kind);
    let field = |name: &str| structure.field(name);
    let stated_speed = field("PCI Express Generation").and_then(|text| text.parse().ok());
    Some(Slot {
        designation: field("Designation")
            .filter(|text| *text != "Not Specified")
            .unwrap_or_default()
            .to_owned(),
        kind,
        speed: stated_speed.and_then(GtPerSec::from_pcie_generation).or(named_speed),
        width: bus.or_else(|| field("Data Bus Width").and_then(parse_width)),
        connector: field("Slot Physical Width").and_then(parse_width).or(named_width),
        in_use: match field("Current Usage") {
            Some("Available") => Some(false),
            Some("In Use") => Some(true),
            _ => None,
        },
        address: field("Bus Address").and_then(|text| text.parse().ok()).and_then(plausible),
    })
}

/// Takes the width of the bus off a type, as versions before 3.5 print it: `x8 PCI Express 3 x16`, `32-bit PCI`.
fn split_width(text: &str) -> (Option<Lanes>, &str) {
    match text.split_once(' ') {
        Some((word, rest)) if word.ends_with("-bit") => (None, rest),
        Some((word, rest)) if parse_width(word).is_some() => (parse_width(word), rest),
        _ => (None, text),
    }
}

/// Reads `x16`, and `16x or x16` of the newer versions.
fn parse_width(text: &str) -> Option<Lanes> {
    let word = text.rsplit(' ').next()?;
    word.strip_prefix('x').and_then(|_| Lanes::parse(word)).filter(|lanes| lanes.get() <= 32)
}

/// Name, generation and width of a type.
fn slot_type(text: &str) -> (String, Option<GtPerSec>, Option<Lanes>) {
    if let Some((_, ours, speed)) = NAMED.iter().find(|(name, _, _)| name.eq_ignore_ascii_case(text)) {
        return ((*ours).to_owned(), *speed, None);
    }
    if text.starts_with("MXM ") {
        return ("MXM".to_owned(), None, None);
    }
    let Some(rest) = text.strip_prefix("PCI Express") else { return ("other".to_owned(), None, None) };
    if rest.starts_with(" Mini") {
        return ("PCI Express Mini".to_owned(), None, None);
    }
    let generation: Option<u8> = rest.split_whitespace().find_map(|word| word.parse().ok());
    let width = rest.split_whitespace().find_map(parse_width);
    let number = generation.map(|generation| format!(" {generation}")).unwrap_or_default();
    let lanes = width.map(|width| format!(" {width}")).unwrap_or_default();
    (format!("PCI Express{number}{lanes}"), generation.and_then(GtPerSec::from_pcie_generation), width)
}
