//! `raid_degraded`, `sata_limited` and `hba_limited` of what a RAID adapter's own tool says: a volume that lacks members, and a
//! solid-state drive whose link is slower than the drive.
//!
//! A hard disk fills no link of today, so that its link says nothing of its rate.

use narrows_base::units::BitsPerSec;
use narrows_machine::captured::{Adapter, AdapterDrive, AdapterVolume, Lack};

use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::Context;

/// The outer tracks of a hard disk carry less than SATA at 3 Gbit/s does; see `ceiling::medium`.
const ENOUGH_FOR_A_DISK: f64 = 3.0e9;

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let adapters = context.machine.adapters.iter();
    adapters
        .flat_map(|(number, adapter)| {
            let volumes =
                adapter.volumes.iter().filter_map(|(at, volume)| lacking(*number, adapter, at, volume));
            volumes.chain(slow_links(*number, adapter)).collect::<Vec<_>>()
        })
        .collect()
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
    let is_rebuilt = unsound(adapter, at).any(|(_, drive)| is_state(drive, "Rbld"));
    let members = unsound(adapter, at)
        .map(|(place, drive)| Evidence::from_fact(format!("state of drive {place}"), &drive.state));
    let advice = match lack {
        _ if is_rebuilt => {
            format!(
                "A drive is being rebuilt (Rbld). Wait, and remove nothing: storcli /c{number}/eall/sall show rebuild."
            )
        }
        Lack::Offline => {
            format!(
                "Connect the missing drives, and replace nothing before: storcli /c{number}/fall show tells of foreign ones."
            )
        }
        Lack::Degraded | Lack::PartlyDegraded => {
            format!(
                "Replace what failed: storcli /c{number}/eall/sall show. Until then another failure may lose data."
            )
        }
    };
    Some(
        Finding::on(Code::RaidDegraded, Severity::Fault, format!("c{number} {at}"), summary)
            .with_evidence([Evidence::from_fact("state of the volume", &volume.state)])
            .with_evidence(members.collect::<Vec<_>>())
            .with_advice([Advice::new(advice)]),
    )
}

fn is_state(drive: &AdapterDrive, state: &str) -> bool {
    drive.state.value().is_some_and(|known| known == state)
}

/// Drives that are held to one speed where they can do another.
struct Slow<'a> {
    code: Code,
    link: BitsPerSec,
    most: BitsPerSec,
    drives: Vec<(&'a String, &'a AdapterDrive)>,
}

/// Solid-state drives below what they can do, one finding for each interface and pair of speeds.
fn slow_links(number: u32, adapter: &Adapter) -> Vec<Finding> {
    let mut slow: Vec<Slow<'_>> = Vec::new();
    for (at, drive) in &adapter.drives {
        let (Some(link), Some(most)) = (drive.link.value(), drive.most.value()) else { continue };
        let needs_more = drive.turns == Some(false) || link.get() < ENOUGH_FOR_A_DISK;
        if link.get() >= most.get() || !needs_more {
            continue;
        }
        let code = match drive.interface.as_deref() {
            Some("SATA") => Code::SataLimited,
            _ => Code::HbaLimited,
        };
        match slow.iter_mut().find(|known| (known.code, known.link, known.most) == (code, *link, *most)) {
            Some(known) => known.drives.push((at, drive)),
            None => slow.push(Slow { code, link: *link, most: *most, drives: vec![(at, drive)] }),
        }
    }
    slow.into_iter()
        .map(|Slow { code, link, most, drives }| {
            let places: Vec<&str> = drives.iter().map(|(at, _)| at.as_str()).collect();
            let (who, can) = match places.as_slice() {
                [one] => (format!("Drive {one} of {} runs", name(number, adapter)), "it can do"),
                all => (format!("{} drives of {} run", all.len(), name(number, adapter)), "they can do"),
            };
            let evidence = drives.iter().take(MOST).flat_map(|(at, drive)| {
                [
                    Evidence::from_fact(format!("link speed of drive {at}"), &drive.link),
                    Evidence::from_fact(format!("speed of drive {at}"), &drive.most),
                ]
            });
            let subject = format!("c{number} {}", places.first().copied().unwrap_or_default());
            Finding::on(code, Severity::Limit, subject, format!("{who} at {link}; {can} {most}."))
                .with_confidence(Confidence::Medium)
                .with_evidence(evidence.collect::<Vec<_>>())
                .with_advice([Advice::new(
                    "Look at the cable, the backplane and the expander between them; one of a slower generation holds all down.",
                )])
        })
        .collect()
}

/// So many drives are evidence.
const MOST: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sketch;
    use narrows_base::fact::Fact;

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
