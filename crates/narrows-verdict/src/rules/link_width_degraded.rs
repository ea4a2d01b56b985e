//! `link_width_degraded`: a link has fewer lanes than it could have, and that can be changed.
//!
//! Width does not change with power state, so no load is needed to tell. Two facts make it a fault:
//!
//! * both ends can do more than was negotiated: a bad contact, a riser, a slot with fewer wires than its port claims;
//! * the port offers no more, but the board's data say that a firmware option (or another card) took the lanes.
//!
//! A port that offers less by design is `slot_limited`. SMBIOS is not asked: many firmwares state the connector.

use narrows_base::catalog::{BoardSlot, SlotOption};
use narrows_base::units::{BytesPerSec, Lanes};

use super::{Context, Judged, need};
use crate::counterfactual;
use crate::finding::{Code, Confidence, Evidence, Finding, Severity};
use crate::link::Link;
use crate::sentence::capitalised;

/// What holds lanes back.
enum Cause<'a> {
    /// Both ends can do more.
    Negotiated,
    /// A firmware option.
    Option(&'a SlotOption),
    /// The board wires more than the port offers; the slot shares lanes.
    Shared(&'a BoardSlot),
}

pub(super) fn of_link(context: &Context<'_>, judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    if !link.moves_data() || link.is_chipset_uplink(judged) {
        return None;
    }
    let finding = finding(judged, link, degraded(link)?);
    Some(if is_enough(context, judged, link) { harmless(finding) } else { finding })
}

/// Whether the ports of a network card carry no more than the link does as it is.
fn is_enough(context: &Context<'_>, judged: &Judged<'_>, link: &Link<'_>) -> bool {
    let wires = need::wires(context, link);
    wires.zip(carries(judged, link)).is_some_and(|(wires, carries)| wires.most.get() <= carries.get())
}

fn carries(judged: &Judged<'_>, link: &Link<'_>) -> Option<BytesPerSec> {
    judged.subject.ceilings.get(link.index)?.read.rate()
}

/// The finding of a link that has lost lanes that its device does not miss.
fn harmless(finding: Finding) -> Finding {
    let summary = format!("{}; its ports need no more.", finding.summary.trim_end_matches('.'));
    Finding { severity: Severity::Info, summary, advice: Vec::new(), ..finding }
}

/// The width that a link has, the width that it could have, and what holds it back.
fn degraded<'a>(link: &Link<'a>) -> Option<(Lanes, Lanes, Cause<'a>)> {
    let width = link.width()?;
    let device = link.device_width()?;
    let port = link.port_width()?;
    let slot = link.link.board_slot.as_ref();
    let option = slot.and_then(|slot| slot.option.as_ref()).map(|option| (option, Lanes::new(option.lanes)));
    if let Some((option, lanes)) = option.filter(|(_, lanes)| width < (*lanes).min(device)) {
        return Some((width, lanes.min(device), Cause::Option(option)));
    }
    if width < device.min(port) {
        // The board wires no more than this: the slot is narrow by design, whatever its port claims.
        let by_design = slot.is_some_and(|slot| slot.lanes > 0 && slot.width() <= width);
        return (!by_design).then_some((width, device.min(port), Cause::Negotiated));
    }
    let slot = slot.filter(|slot| slot.option.is_none() && width < slot.width().min(device))?;
    slot.shares.is_some().then(|| (width, slot.width().min(device), Cause::Shared(slot)))
}

fn finding(judged: &Judged<'_>, link: &Link<'_>, (width, possible, cause): (Lanes, Lanes, Cause<'_>)) -> Finding {
    let better = counterfactual::link_at_width(link.link, possible);
    let gain = better.and_then(|better| counterfactual::gain_of_better(judged, link.index, better));
    let rates = carries(judged, link).zip(better);
    let rates = rates.map(|(now, better)| format!("; that is {now} of {better} usable")).unwrap_or_default();
    let board = link.link.board_slot.as_ref().map(|slot| {
        let value = format!("{} connector, {} wired", Lanes::new(slot.connector), slot.width());
        Evidence::new(format!("slot {}", slot.name), value, "data/boards")
    });
    let found = |confidence, summary: String| {
        Finding::about(Code::LinkWidthDegraded, Severity::Fault, link.hop, capitalised(&summary))
            .with_confidence(confidence)
            .with_evidence(link.width_evidence().into_iter().chain(board))
    };
    let place = link.place();
    match cause {
        Cause::Negotiated => {
            let confidence = if link.is_storage() { Confidence::High } else { Confidence::Medium };
            let summary = format!("{place} runs {width}, although both its ends can do {possible}{rates}.");
            found(confidence, summary)
                .advise_gain("Power off, reseat the card and clean its contacts.", gain)
                .advise_gain("Try it without riser, adapter or cable, and in another slot.", gain)
                .advise("Look in the firmware setup for a lane or bifurcation setting of this slot.")
        }
        Cause::Option(option) => {
            let default = Lanes::new(option.default_lanes);
            let summary = format!(
                "{place} runs {width}: the firmware's default gives this slot {default}, and it can give {possible}{rates}."
            );
            let cost = if option.cost.is_empty() { String::new() } else { format!(" ({})", option.cost) };
            let setting = format!("In the firmware setup, set {} to {}{cost}.", option.menu, option.value);
            let found = found(Confidence::High, summary).advise_gain(setting, gain);
            found.advise("Or move the card to a slot that the processor feeds.")
        }
        Cause::Shared(slot) => {
            let (wired, shares) = (slot.width(), slot.shares.as_deref().unwrap_or("another"));
            let summary = format!(
                "{place} runs {width}, although the board wires {wired}{rates}; the slot shares lanes with {shares}."
            );
            let free = format!("Free what takes this slot's lanes: {shares}.");
            found(Confidence::Medium, summary).advise_gain(free, gain)
        }
    }
}

#[cfg(test)]
mod tests {
    use narrows_base::fact::Fact;
    use narrows_base::units::human;
    use narrows_machine::pci::PciId;
    use narrows_model::path::{HopSpec, LinkHop, UplinkHop};

    use super::*;
    use crate::judge;
    use crate::testing::{BRIDGE, DISPLAY, ETHERNET, Sketch, WIFI, at, function, link, link_of};

    fn x99_slot() -> BoardSlot {
        BoardSlot {
            name: "PCIEX16_2".to_owned(),
            connector: 16,
            lanes: 4,
            generation: 2,
            option: Some(SlotOption {
                menu: "PCI-EX16_2 Slot Bandwidth".to_owned(),
                value: "X4 Mode".to_owned(),
                lanes: 4,
                default_lanes: 1,
                cost: "disables PCIEX1_1".to_owned(),
                ..SlotOption::default()
            }),
            ..BoardSlot::default()
        }
    }

    fn in_slot(link: LinkHop, slot: BoardSlot) -> LinkHop {
        LinkHop { slot: Some(slot.name.clone()), board_slot: Some(slot), ..link }
    }

    #[test]
    fn a_drive_that_trained_below_what_both_ends_can_do_is_a_fault() {
        let finding = Sketch::drive(link((3, 2), (3, 4), (3, 4))).finding(Code::LinkWidthDegraded);
        let finding = finding.expect("two of four lanes");
        assert_eq!((finding.severity, finding.confidence), (Severity::Fault, Confidence::High));
        assert_eq!(finding.hop.map(|hop| hop.to_string()).as_deref(), Some("link:0000:02:00.0"));
        // Gen3 x4 less x2 with payloads of 256 bytes: 3592 − 1796 MB/s.
        let gain = finding.advice[0].gain_bytes_per_second.map(human::rate);
        assert_eq!(gain.as_deref(), Some("1.8 GB/s"));
    }

    #[test]
    fn a_port_that_a_firmware_option_narrows_is_a_fault_with_the_option_as_advice() {
        let path = Sketch::drive(in_slot(link((2, 1), (3, 4), (2, 1)), x99_slot()));
        let finding = path.finding(Code::LinkWidthDegraded).expect("the option gives four lanes");
        let action = &finding.advice[0].action;
        assert!(action.contains("PCI-EX16_2 Slot Bandwidth") && action.contains("X4 Mode"), "{action}");
        assert!(action.contains("disables PCIEX1_1"), "{action}");
        // Gen2 x4 less x1 with payloads of 128 bytes: 1680 − 420 MB/s.
        assert_eq!(finding.advice[0].gain_bytes_per_second.map(human::rate).as_deref(), Some("1.26 GB/s"));
        assert_eq!(path.finding(Code::SlotLimited), None);
    }

    #[test]
    fn the_option_in_force_is_no_fault() {
        let path = Sketch::drive(in_slot(link((2, 4), (3, 4), (2, 4)), x99_slot()));
        assert_eq!(path.finding(Code::LinkWidthDegraded), None);
    }

    #[test]
    fn a_slot_that_shares_its_lanes_is_a_fault_only_when_the_board_wires_more() {
        let slot = BoardSlot { option: None, shares: Some("SATA_5".to_owned()), ..x99_slot() };
        let path = Sketch::drive(in_slot(link((2, 1), (3, 4), (2, 1)), slot.clone()));
        let finding = path.finding(Code::LinkWidthDegraded).expect("three lanes are elsewhere");
        assert!(finding.advice[0].action.contains("SATA_5"));
        let narrow = Sketch::drive(in_slot(link((2, 1), (3, 4), (2, 1)), BoardSlot { lanes: 1, ..slot }));
        assert_eq!(narrow.finding(Code::LinkWidthDegraded), None);
    }

    #[test]
    fn a_slot_wired_narrower_than_its_port_claims_is_by_design() {
        let slot = BoardSlot { option: None, ..x99_slot() };
        let path = Sketch::drive(in_slot(link((3, 4), (3, 8), (3, 8)), slot));
        assert_eq!(path.finding(Code::LinkWidthDegraded), None);
    }

    #[test]
    fn healthy_and_foreign_links_are_silent() {
        let cases = [
            ("a port wider than its device", link((3, 4), (3, 4), (3, 16))),
            ("a x1 Wi-Fi card", link_of(WIFI, (1, 1), (1, 1), (3, 4))),
            ("a graphics card", link_of(DISPLAY, (1, 8), (4, 16), (4, 16))),
            ("a tunnel", LinkHop { not_a_wire: Some("tunnel".into()), ..link((1, 1), (3, 4), (3, 4)) }),
            ("an unknown other end", LinkHop { port: None, ..link((3, 2), (3, 4), (3, 4)) }),
        ];
        for (name, link) in cases {
            assert_eq!(Sketch::drive(link).finding(Code::LinkWidthDegraded), None, "{name}");
        }
    }

    #[test]
    fn lanes_that_the_ports_of_a_card_do_not_miss_are_only_mentioned() {
        let of = |name: &str| {
            let path = Sketch::drive(link_of(ETHERNET, (2, 1), (2, 2), (3, 4))).on(|machine| {
                let mut card = function(at(2), ETHERNET, (2, 2));
                card.name = Fact::known(name.to_owned(), "lspci.txt:1");
                machine.pci.insert(at(2), card);
            });
            path.finding(Code::LinkWidthDegraded).map(|finding| (finding.severity, finding.advice.is_empty()))
        };
        assert_eq!(of("BCM5720 Gigabit Ethernet"), Some((Severity::Info, true)));
        assert_eq!(of("82599ES 10-Gigabit SFI/SFP+"), Some((Severity::Fault, false)));
    }

    #[test]
    fn a_virtual_machine_shows_ports_that_do_not_exist() {
        let mut below = link((3, 2), (3, 4), (3, 4));
        assert!(Sketch::drive(below.clone()).finding(Code::LinkWidthDegraded).is_some());
        below.port.as_mut().expect("a port").is_virtual = true;
        assert_eq!(Sketch::drive(below).finding(Code::LinkWidthDegraded), None);
    }

    #[test]
    fn a_chipset_uplink_is_wired_as_the_platform_wants_but_a_switch_card_is_not() {
        // X570: both ends claim x8, the platform wires x4.
        let uplink = link_of(BRIDGE, (4, 4), (4, 8), (4, 8));
        let hop = UplinkHop { name: "X570".to_owned(), address: at(2), ..UplinkHop::default() };
        let path = Sketch::of("/dev/sda").device("sda", None).link(uplink.clone());
        let chipset = path.hop("X570", HopSpec::Chipset(hop.clone()), None);
        assert_eq!(chipset.finding(Code::LinkWidthDegraded), None);
        let card =
            Sketch::of("/dev/sda").device("sda", None).hop("PEX", HopSpec::Switch(hop), None).link(uplink);
        let mut c62x = card.subject.clone();
        if let Some(HopSpec::Link(link)) = c62x.path.hops.last_mut().map(|hop| &mut hop.spec) {
            link.device.id = Fact::known(PciId { vendor: 0x8086, device: 0x37c0 }, "device");
        }
        let verdict = judge(&card.machine, &[c62x]);
        assert!(verdict.findings.iter().all(|finding| finding.code != Code::LinkWidthDegraded));
        let finding = card.finding(Code::LinkWidthDegraded).expect("a switch above storage");
        assert_eq!(finding.confidence, Confidence::Medium);
    }

    #[test]
    fn without_a_current_width_nothing_is_said() {
        let mut unread = link((3, 4), (3, 4), (3, 4));
        unread.device.link.current_width = Fact::absent("current_link_width");
        unread.port = None;
        assert!(Sketch::drive(unread).alarms().is_empty());
    }
}
