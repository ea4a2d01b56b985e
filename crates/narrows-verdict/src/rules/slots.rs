//! Slots and adapters against what is said of them: by SMBIOS, by the board's data, by the adapter's own tool.

use std::collections::BTreeSet;

use narrows_base::lists::grouped;
use narrows_machine::Machine;
use narrows_machine::captured::{Adapter, AdapterDrive, AdapterVolume, CacheLack, Lack};
use narrows_machine::dmi::Slot;
use narrows_machine::pci::{PciAddress, PciDevice};
use narrows_model::path::Hop;

use super::{Context, NVME};
use crate::finding::{Code, Confidence, Evidence, Finding, Severity};

const SOURCE: &str = "SMBIOS type 9";

/// `smbios_contradiction`: SMBIOS contradicts what the bus says. Then the bus is right.
///
/// Only what cannot be true counts: a slot that is narrower or slower than the link that runs in it, or that is free
/// and has a device. A wider claim is no contradiction, for many firmwares state the connector.
pub(super) fn smbios_contradiction(context: &Context<'_>) -> Vec<Finding> {
    if context.machine.cpus.hypervisor.value().is_some() {
        return Vec::new();
    }
    let (mut names, mut evidence) = (Vec::new(), Vec::new());
    for slot in context.machine.slots.value().into_iter().flatten() {
        let wrong = device_in(context, slot).map(|device| contradictions(context.machine, slot, device));
        if let Some(wrong) = wrong.filter(|wrong| !wrong.is_empty()) {
            names.push(slot.designation.as_str());
            evidence.extend(wrong);
        }
    }
    if names.is_empty() {
        return Vec::new();
    }
    let names = names.join(", ");
    let summary =
        format!("The firmware's slot table is wrong about {names}; narrows goes by what the bus says.");
    vec![Finding::on(Code::SmbiosContradiction, Severity::Info, names, summary).with_evidence(evidence)]
}

/// The device in a slot: by the name of the physical slot or of the path's link, else by the address in the record,
/// which is that of the device or of the port above it.
fn device_in<'a>(context: &Context<'a>, slot: &Slot) -> Option<&'a PciDevice> {
    let pci = &context.machine.pci;
    let links = context.hops().filter_map(Hop::link);
    let mut named = links.filter(|link| link.slot.as_deref() == Some(slot.designation.as_str()));
    let named = named.find_map(|link| pci.get(&link.device.address));
    let at = || {
        let address = slot.address?;
        pci.values().find(|device| device.parent == Some(address)).or_else(|| {
            pci.get(&address).filter(|device| device.class.value().is_some_and(|class| class >> 16 != 0x06))
        })
    };
    named.or_else(at)
}

fn contradictions(machine: &Machine, slot: &Slot, device: &PciDevice) -> Vec<Evidence> {
    let link = machine.link_of(device);
    let name = &slot.designation;
    let mut evidence = Vec::new();
    let mut put = |what: &str, claimed: String, (how, found): (&str, String), source: &str| {
        evidence.push(Evidence::new(format!("{what} of {name}, as claimed"), claimed, SOURCE));
        evidence.push(Evidence::new(format!("{what} of {name}, {how}"), found, source));
    };
    let width = slot.width.max(slot.connector).zip(link.width());
    if let Some((claimed, width)) = width.filter(|(claimed, width)| width.value > *claimed) {
        put("width", claimed.to_string(), ("as it runs", width.value.to_string()), width.source.as_str());
    }
    let speed = slot.speed.zip(link.speed());
    if let Some((claimed, speed)) = speed.filter(|(claimed, speed)| speed.value > *claimed) {
        put("speed", claimed.to_string(), ("as it runs", speed.value.to_string()), speed.source.as_str());
    }
    if slot.in_use == Some(false) {
        let found = ("as found", format!("device {}", device.address));
        put("use", "available".to_owned(), found, "/sys/bus/pci/devices");
    }
    evidence
}

/// `missing_device_bifurcation`: a slot seems to be split and not all of its devices are there.
///
/// Only the board's data say which ports belong to one slot. Where two or more of them carry a drive, the slot is split
/// for a card with several; a port among them without anything below it may be a drive that did not come up. Or an
/// empty socket of the card: so this is a suspicion.
pub(super) fn missing_device_bifurcation(context: &Context<'_>) -> Vec<Finding> {
    let mut seen = BTreeSet::new();
    let mut findings = Vec::new();
    for link in context.hops().filter_map(Hop::link) {
        let (Some(slot), Some(port)) = (&link.board_slot, &link.port) else { continue };
        // A slot that an option moves between ports, or that shares them, lists ports that are not split; and a x4 slot
        // is not split for several drives.
        if slot.shares.is_some() || slot.option.is_some() || slot.lanes < 8 || !seen.insert(slot.name.clone())
        {
            continue;
        }
        let ports: Vec<PciAddress> = slot
            .root_ports
            .iter()
            .filter_map(|name| format!("{:04x}:00:{name}", port.address.domain).parse().ok())
            .filter(|address| context.machine.pci.contains_key(address))
            .collect();
        let child = |port: &PciAddress| context.machine.pci.values().find(|d| d.parent == Some(*port));
        let is_drive = |device: &PciDevice| device.class.value().is_some_and(|class| class >> 8 == NVME);
        let drives = ports.iter().filter(|port| child(port).is_some_and(is_drive)).count();
        let empty: Vec<String> =
            ports.iter().filter(|port| child(port).is_none()).map(ToString::to_string).collect();
        if drives < 2 || empty.is_empty() {
            continue;
        }
        let (name, count, nothing) = (&slot.name, ports.len(), empty.join(", "));
        let summary = format!(
            "Slot {name} is split over {count} ports; {drives} carry a drive, and {nothing} carries nothing."
        );
        let evidence =
            empty.iter().map(|port| Evidence::new("port without a device", port, "/sys/bus/pci/devices"));
        let found = Finding::on(Code::MissingDeviceBifurcation, Severity::Info, slot.name.clone(), summary)
            .with_confidence(Confidence::Low)
            .with_evidence(evidence);
        findings.push(found.advise(
            "If a drive is missing, check that the slot's bifurcation in the firmware setup matches the card, and \
             reseat the drive.",
        ));
    }
    findings
}

/// The outer tracks of a hard disk carry less than SATA at 3 Gbit/s does; see `ceiling::medium`.
const ENOUGH_FOR_A_DISK: f64 = 3.0e9;

/// `raid_degraded`, `sata_limited` and `hba_limited` of what a RAID adapter's own tool says: a volume that lacks members, and a
/// solid-state drive whose link is slower than the drive.
///
/// A hard disk fills no link of today, so that its link says nothing of its rate.
pub(super) fn adapter_drives(context: &Context<'_>) -> Vec<Finding> {
    let found = context.machine.adapters.iter().flat_map(|(number, adapter)| {
        let volumes = adapter.volumes.iter();
        let lacking = volumes.filter_map(move |(at, volume)| lacking(*number, adapter, at, volume));
        lacking.chain(slow_links(*number, adapter)).chain(without_cache(*number, adapter))
    });
    found.collect()
}

/// An adapter that passes each write on to its drives before it says that it is done.
fn without_cache(number: u32, adapter: &Adapter) -> Option<Finding> {
    let why = adapter.lacks_cache.value()?;
    // What was bought without a cache, or set so, may be as it should be: with solid-state drives, or below ZFS.
    let severity = match why {
        CacheLack::NoMemory | CacheLack::Off => Severity::Info,
        CacheLack::Battery | CacheLack::FellBack => Severity::Fault,
    };
    let summary = format!("Writes through {} wait for its drives: {why}.", name(number, adapter));
    Some(
        Finding::on(Code::HbaLimited, severity, format!("c{number}"), summary)
            .seen_fact("write cache", &adapter.lacks_cache)
            .advise(
                "Where small writes are slow, a cache with a working battery or capacitor, set to write-back, takes them. Without one, \
                 write-back loses acknowledged writes when the power fails.",
            ),
    )
}

/// `PERC H730 Mini (c0)`.
fn name(number: u32, adapter: &Adapter) -> String {
    adapter.model.value().map_or_else(|| format!("adapter c{number}"), |model| format!("{model} (c{number})"))
}

/// The drives of a volume's group that are not sound.
fn unsound<'a>(adapter: &'a Adapter, at: &'a str) -> impl Iterator<Item = (&'a String, &'a AdapterDrive)> {
    let group = at.split('/').next().unwrap_or_default();
    let is_of = move |drive: &AdapterDrive| drive.group.as_deref().is_some_and(|of| of == group);
    adapter.drives.iter().filter(move |(_, drive)| is_of(drive) && !drive.is_sound())
}

fn lacking(number: u32, adapter: &Adapter, at: &str, volume: &AdapterVolume) -> Option<Finding> {
    let lack = volume.lack()?;
    let level = volume.level.as_deref().unwrap_or("volume");
    let disk = volume.disk.as_ref().map(|disk| format!(", {disk}")).unwrap_or_default();
    let effect = match lack {
        Lack::Degraded => "lacks members",
        Lack::PartlyDegraded => "lacks a member and survives the loss of another one",
        Lack::Offline => "is offline: too many members are missing",
    };
    let summary = format!("{level} {at}{disk} of {} {effect}.", name(number, adapter));
    let is_rebuilt =
        unsound(adapter, at).any(|(_, drive)| drive.state.value().is_some_and(|state| state == "Rbld"));
    let members = unsound(adapter, at)
        .map(|(place, drive)| Evidence::from_fact(format!("state of drive {place}"), &drive.state));
    let advice = match lack {
        _ if is_rebuilt => format!(
            "A drive is being rebuilt (Rbld). Wait, and remove nothing: storcli /c{number}/eall/sall show rebuild."
        ),
        Lack::Offline => format!(
            "Connect the missing drives, and replace nothing before: storcli /c{number}/fall show tells of foreign ones."
        ),
        Lack::Degraded | Lack::PartlyDegraded => format!(
            "Replace what failed: storcli /c{number}/eall/sall show. Until then another failure may lose data."
        ),
    };
    let found = Finding::on(Code::RaidDegraded, Severity::Fault, format!("c{number} {at}"), summary)
        .seen_fact("state of the volume", &volume.state)
        .with_evidence(members);
    Some(found.advise(advice))
}

/// Solid-state drives below what they can do, one finding for each interface and pair of speeds.
fn slow_links(number: u32, adapter: &Adapter) -> Vec<Finding> {
    let slow = adapter.drives.iter().filter_map(|(at, drive)| {
        let (link, most) = (*drive.link.value()?, *drive.most.value()?);
        let needs_more = drive.turns == Some(false) || link.get() < ENOUGH_FOR_A_DISK;
        let is_sata = drive.interface.as_deref() == Some("SATA");
        let code = if is_sata { Code::SataLimited } else { Code::HbaLimited };
        (link.get() < most.get() && needs_more).then_some(((code, link, most), (at, drive)))
    });
    let found = grouped(slow).into_iter().map(|((code, link, most), drives)| {
        let places: Vec<&str> = drives.iter().map(|(at, _)| at.as_str()).collect();
        let (who, can) = match places.as_slice() {
            [one] => (format!("Drive {one} of {} runs", name(number, adapter)), "it can do"),
            all => (format!("{} drives of {} run", all.len(), name(number, adapter)), "they can do"),
        };
        let evidence = drives.iter().take(MOST).flat_map(|(at, drive)| {
            let link = Evidence::from_fact(format!("link speed of drive {at}"), &drive.link);
            [link, Evidence::from_fact(format!("speed of drive {at}"), &drive.most)]
        });
        let subject = format!("c{number} {}", places.first().copied().unwrap_or_default());
        let advice = "Look at the cable, the backplane and the expander between them; one of a slower generation \
                      holds all down.";
        Finding::on(code, Severity::Limit, subject, format!("{who} at {link}; {can} {most}."))
            .with_confidence(Confidence::Medium)
            .with_evidence(evidence)
            .advise(advice)
    });
    found.collect()
}

/// So many drives are evidence.
const MOST: usize = 8;

#[cfg(test)]
mod tests {
    use narrows_base::catalog::BoardSlot;
    use narrows_base::fact::Fact;
    use narrows_base::units::{BitsPerSec, GtPerSec, Lanes};
    use narrows_machine::pci::PciAddress;
    use narrows_model::path::LinkHop;

    use super::*;
    use crate::Code;
    use crate::testing::{BRIDGE, NVME, Sketch, at, function, link};

    /// A drive that runs Gen2 x4 in slot PCIEX16_2, with this claim of the firmware.
    fn smbios_contradiction_path(slot: Slot) -> Sketch {
        let hop = LinkHop { slot: Some("PCIEX16_2".to_owned()), ..link((2, 4), (3, 4), (2, 4)) };
        let slot = Slot { designation: "PCIEX16_2".to_owned(), ..slot };
        Sketch::drive(hop).on(|machine| {
            machine.pci.insert(at(2), function(at(2), NVME, (2, 4)));
            machine.slots = Fact::known(vec![slot], "/sys/firmware/dmi/tables/DMI");
        })
    }

    #[test]
    fn a_slot_that_claims_less_than_runs_in_it_is_wrong() {
        // The X99 board goes on saying "x1 PCI Express 3" after the switch to x4.
        let claim = Slot { speed: Some(GtPerSec::GEN3), width: Some(Lanes::new(1)), ..Slot::default() };
        let finding = smbios_contradiction_path(claim).finding(Code::SmbiosContradiction).expect("x4 in x1");
        assert_eq!(finding.severity, Severity::Info);
        assert_eq!(finding.subject, "PCIEX16_2");
    }

    #[test]
    fn a_slot_that_claims_to_be_free_is_wrong() {
        let claim = Slot { in_use: Some(false), ..Slot::default() };
        assert!(smbios_contradiction_path(claim).finding(Code::SmbiosContradiction).is_some());
    }

    #[test]
    fn a_wider_claim_may_be_the_connector() {
        let claim = Slot {
            speed: Some(GtPerSec::GEN3),
            width: Some(Lanes::new(16)),
            in_use: Some(true),
            ..Slot::default()
        };
        assert_eq!(smbios_contradiction_path(claim).finding(Code::SmbiosContradiction), None);
    }

    /// A x16 slot over four ports of which so many carry a drive.
    fn missing_device_bifurcation_path(drives: u8) -> Sketch {
        let port = |function| PciAddress { device: 1, function, ..PciAddress::default() };
        let slot = BoardSlot {
            name: "PCIEX16_1".to_owned(),
            lanes: 16,
            root_ports: (0..4).map(|function| format!("01.{function}")).collect(),
            ..BoardSlot::default()
        };
        let link = LinkHop { board_slot: Some(slot), ..link((3, 4), (3, 4), (3, 4)) };
        Sketch::drive(link).on(|machine| {
            for number in 0..4 {
                machine.pci.insert(port(number), function(port(number), BRIDGE, (3, 4)));
            }
            for number in 0..drives {
                let mut drive = function(at(2 + number), NVME, (3, 4));
                drive.parent = Some(port(number));
                machine.pci.insert(drive.address, drive);
            }
        })
    }

    #[test]
    fn one_empty_port_among_three_drives_is_a_suspicion() {
        let finding = missing_device_bifurcation_path(3)
            .finding(Code::MissingDeviceBifurcation)
            .expect("one of four is missing");
        assert!(finding.summary.contains("0000:00:01.3"), "{}", finding.summary);
        assert!(missing_device_bifurcation_path(3).alarms().is_empty());
    }

    #[test]
    fn a_full_slot_and_a_single_drive_are_silent() {
        assert_eq!(missing_device_bifurcation_path(4).finding(Code::MissingDeviceBifurcation), None);
        assert_eq!(missing_device_bifurcation_path(1).finding(Code::MissingDeviceBifurcation), None);
    }

    fn drive(group: &str, state: &str, turns: bool, link: f64, most: f64) -> AdapterDrive {
        let speed = |gigabits: f64| Fact::known(BitsPerSec::from_mbit(gigabits * 1000.0), "storcli.txt:9");
        AdapterDrive {
            state: Fact::known(state.to_owned(), "storcli.txt:7"),
            group: Some(group.to_owned()),
            interface: Some("SATA".to_owned()),
            turns: Some(turns),
            link: speed(link),
            most: speed(most),
            ..AdapterDrive::default()
        }
    }

    fn judged(volume: &str, drives: &[(&str, AdapterDrive)]) -> Sketch {
        let state = Fact::known(volume.to_owned(), "storcli.txt:5");
        let volume = AdapterVolume { level: Some("RAID5".to_owned()), state, ..AdapterVolume::default() };
        let adapter = Adapter {
            model: Fact::known("PERC H730 Mini".to_owned(), "storcli.txt:1"),
            drives: drives.iter().map(|(at, drive)| ((*at).to_owned(), drive.clone())).collect(),
            volumes: [("1/1".to_owned(), volume)].into(),
            ..Adapter::default()
        };
        Sketch::of("/dev/sdb").on(move |machine| machine.adapters = [(0, adapter.clone())].into())
    }

    #[test]
    fn a_volume_that_lacks_members_is_a_fault_with_the_drives_of_its_group() {
        let disk = |group, state| drive(group, state, true, 12.0, 12.0);
        let drives =
            [("32:2", disk("1", "Onln")), ("32:3", disk("1", "Failed")), ("32:0", disk("0", "Failed"))];
        let finding = judged("Dgrd", &drives).finding(Code::RaidDegraded).expect("it lacks one");
        assert_eq!(finding.severity, Severity::Fault);
        assert_eq!(finding.summary, "RAID5 1/1 of PERC H730 Mini (c0) lacks members.");
        let facts: Vec<&str> = finding.evidence.iter().map(|one| one.fact.as_str()).collect();
        assert_eq!(facts, ["state of the volume", "state of drive 32:3"]);
        assert!(finding.advice[0].action.starts_with("Replace what failed"));
        let rebuilt = judged("Dgrd", &[("32:3", disk("1", "Rbld"))]).finding(Code::RaidDegraded);
        assert!(rebuilt.is_some_and(|finding| finding.advice[0].action.contains("Wait, and remove nothing")));
        assert_eq!(judged("Optl", &drives).finding(Code::RaidDegraded), None);
    }

    #[test]
    fn a_write_cache_that_failed_is_a_fault_and_one_that_was_turned_off_is_none() {
        let told = |lack: CacheLack| {
            let adapter = Adapter { lacks_cache: Fact::known(lack, "card.txt:4"), ..Adapter::default() };
            let sketch = Sketch::of("/dev/sdb").on(|machine| machine.adapters = [(0, adapter)].into());
            sketch.finding(Code::HbaLimited).map(|finding| finding.severity)
        };
        assert_eq!(told(CacheLack::Battery), Some(Severity::Fault));
        assert_eq!(told(CacheLack::Off), Some(Severity::Info));
    }

    #[test]
    fn a_solid_state_drive_below_its_own_speed_is_a_limit_and_a_hard_disk_is_not() {
        let slow = judged("Optl", &[("32:0", drive("0", "Onln", false, 3.0, 6.0))]);
        let finding = slow.finding(Code::SataLimited).expect("half of it");
        assert_eq!(finding.severity, Severity::Limit);
        assert_eq!(
            finding.summary,
            "Drive 32:0 of PERC H730 Mini (c0) runs at 3 Gbit/s; it can do 6 Gbit/s."
        );
        for (turns, link, most) in [(true, 3.0, 6.0), (false, 6.0, 6.0), (false, 12.0, 6.0)] {
            let path = judged("Optl", &[("32:0", drive("0", "Onln", turns, link, most))]);
            assert_eq!(path.finding(Code::SataLimited), None, "{turns} {link} {most}");
        }
        let disk = judged("Optl", &[("32:0", drive("0", "Onln", true, 1.5, 6.0))]);
        assert!(disk.finding(Code::SataLimited).is_some(), "150 MB/s are less than a disk");
    }
}
