//! What must hold of every kernel log, checked on real ones (`tests/logs/README.md` says where they are from).

use std::collections::BTreeMap;

use narrows::capture::{Text, merge, parts};
use narrows::ceiling::pcie;
use narrows::machine::Machine;
use narrows::machine::log::LogKind;
use narrows::path::{HopSpec, LinkHop, build};
use narrows::units::{BytesPerSec, human};
use narrows::verdict::{self, Code, Subject};

const LOGS: [(&str, &str); 8] = [
    ("101-r7615-e810", include_str!("../logs/101-r7615-e810.txt")),
    ("104-r7425-crash", include_str!("../logs/104-r7425-crash.txt")),
    ("106-eb840g5", include_str!("../logs/106-eb840g5.txt")),
    ("107-starbook", include_str!("../logs/107-starbook.txt")),
    ("110-l15-20ud", include_str!("../logs/110-l15-20ud.txt")),
    ("112-t7610", include_str!("../logs/112-t7610.txt")),
    ("116-b450plus", include_str!("../logs/116-b450plus.txt")),
    ("119-bullx-aacraid", include_str!("../logs/119-bullx-aacraid.txt")),
];

fn machine(log: &str) -> Machine {
    merge::merge(parts(&Text::new("dmesg.txt", log.as_bytes())))
}

fn subjects(machine: &Machine) -> Vec<Subject> {
    build::all(machine).into_iter().map(Subject::of).collect()
}

/// What the kernel says that limits a device, for the link of that device or the port above it, before packets.
fn claims(machine: &Machine, link: &LinkHop) -> Vec<BytesPerSec> {
    let port = link.port.as_ref().map(|port| port.address);
    let events = machine.log.iter().filter_map(|event| match &event.kind {
        LogKind::BandwidthLimited { by, at, .. } => Some((event.pci, *at, *by)),
        _ => None,
    });
    let device = Some(link.device.address);
    let own = events.filter(|(pci, at, _)| *pci == device && (*at == device || *at == port));
    own.filter_map(|(_, _, by)| pcie::raw(by.speed, by.width)).collect()
}

#[test]
fn no_ceiling_is_above_what_the_kernel_says_that_the_link_carries() {
    let mut checked = 0;
    for (name, log) in LOGS {
        let machine = machine(log);
        for subject in subjects(&machine) {
            for (hop, ceilings) in subject.path.hops.iter().zip(&subject.ceilings) {
                let HopSpec::Link(link) = &hop.spec else { continue };
                // A graphics adapter starts slow, and the kernel saw it idle.
                if link.saves_power().is_some() {
                    continue;
                }
                let Some(raw) = ceilings.read.limit().and_then(|limit| limit.raw) else { continue };
                for claim in claims(&machine, link) {
                    checked += 1;
                    let (raw_text, claimed) = (human::rate(raw), human::rate(claim));
                    assert!(
                        raw.get() <= claim.get() * 1.001,
                        "{name}: {}: {raw_text}, the log says {claimed}",
                        hop.name
                    );
                }
            }
        }
    }
    assert!(checked >= 6, "only {checked} links of the logs have a claim");
}

#[test]
fn every_storage_controller_with_a_disk_or_a_link_has_a_path() {
    for (name, log) in LOGS {
        let machine = machine(log);
        let subjects = subjects(&machine);
        let is_shown = |address: &str| {
            subjects.iter().flat_map(|subject| &subject.path.hops).any(|hop| {
                hop.id.as_str().ends_with(address) || hop.name.ends_with(address)
                    || matches!(&hop.spec, HopSpec::Controller(c) | HopSpec::Hba(c) if c.address.is_some_and(|a| a.to_string() == address))
            })
        };
        for function in machine.pci.values().filter(|function| function.is_nvme()) {
            assert!(is_shown(&function.address.to_string()), "{name}: {}", function.address);
        }
    }
}

#[test]
fn the_disks_of_adapters_hang_on_them() {
    for (name, disk, place) in [
        ("112-t7610", "sda", "0000:01:00.0"),
        ("112-t7610", "sdb", "0000:01:00.0"),
        ("119-bullx-aacraid", "sda", "0000:84:00.0"),
    ] {
        let (_, log) = LOGS.iter().find(|(known, _)| *known == name).expect("is there");
        let machine = machine(log);
        let subjects = subjects(&machine);
        let path = subjects.iter().find(|subject| subject.path.target == format!("/dev/{disk}"));
        let path = path.unwrap_or_else(|| panic!("{name}: no path of {disk}"));
        let is_there = path.path.hops.iter().any(|hop| hop.id.as_str().ends_with(place));
        assert!(is_there, "{name}: {disk} is not at {place}");
    }
}

#[test]
fn a_link_has_one_finding_about_its_state_at_most() {
    const STATES: [Code; 5] = [
        Code::LinkWidthDegraded,
        Code::LinkSpeedDegraded,
        Code::SlotLimited,
        Code::NicSlotLimited,
        Code::PowerSave,
    ];
    for (name, log) in LOGS {
        let machine = machine(log);
        let verdict = verdict::judge(&machine, &subjects(&machine));
        let mut told: BTreeMap<String, Vec<Code>> = BTreeMap::new();
        for finding in verdict.findings.iter().filter(|finding| STATES.contains(&finding.code)) {
            let hop = finding.hop.as_ref().map(ToString::to_string).unwrap_or_default();
            told.entry(hop).or_default().push(finding.code);
        }
        for (hop, codes) in told {
            assert_eq!(codes.len(), 1, "{name}: {hop}: {codes:?}");
        }
    }
}
