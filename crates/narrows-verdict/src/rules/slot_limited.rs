//! `slot_limited`: the slot gives a device less than it can use, by design.
//!
//! A Gen4 drive in a Gen3 slot, a x4 drive in a x1 slot, a x8 adapter behind a x4 port. It is a `limit` when the link is
//! narrower than what hangs behind it, else `info`: a x8 adapter with two hard disks loses nothing in a x4 slot, and
//! whether a network card does is not known where no text tells what its wires carry.

use narrows_base::catalog::catalog;
use narrows_base::fact::Fact;
use narrows_base::units::{Bytes, BytesPerSec, GtPerSec, Lanes};
use narrows_machine::pci::{Downgraded, PciDevice};
use narrows_model::ceiling::pcie::{device_to_host, raw};
use narrows_paste::results::Op;

use super::need::{self, Need};
use super::result::{Case, Run};
use super::{Context, Judged, NVME};
use crate::counterfactual;
use crate::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use crate::link::{Claim, Link};
use crate::sentence::capitalised;

pub(super) fn of_link(context: &Context<'_>, judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    if !link.moves_data() || link.is_chipset_uplink(judged) {
        return None;
    }
    check_link(context, judged, link)
        .or_else(|| said_to_be_less(judged, link))
        .or_else(|| one_lane(context, judged, link))
}

/// A drive that the text names reads at the rate of a narrower link than its own: people often show the benchmark alone.
pub(super) fn of_result(case: &Case<'_>) -> Option<Finding> {
    /// Firmware sets payloads of 256 bytes most often.
    const PAYLOAD: Bytes = Bytes::new(256);
    /// Benchmarks get nearly all of a link that limits.
    const FILLED: std::ops::RangeInclusive<f64> = 0.9..=1.02;
    /// A drive that is full, old or small may be slower than published by as much.
    const MUCH_SLOWER: f64 = 0.75;
    let [(name, source)] = case.around.drives.as_slice() else { return None };
    let drive = catalog().media.iter().find(|medium| medium.name == *name)?;
    let own = raw(GtPerSec::from_pcie_generation(drive.generation)?, Lanes::new(drive.lanes))?;
    let is_whole = |run: &Run<'_>| {
        let is_large = run.measured.work.block_size.is_none_or(|size| size >= Bytes::from_kib(128));
        run.op == Op::Read && !run.is_random() && is_large && !run.is_buffered()
    };
    let rates = case.runs().filter(is_whole).map(|run| (run.rate(), run.source()));
    let (rate, place) = rates.max_by(|a, b| a.0.get().total_cmp(&b.0.get()))?;
    let published = BytesPerSec::from_mb(drive.read_megabytes_per_second);
    if rate.get() > MUCH_SLOWER * published.get() {
        return None;
    }
    let links = (1..=drive.generation).flat_map(|generation| [1, 2, 4].map(|lanes| (generation, lanes)));
    let fits = |(generation, lanes): &(u8, u8)| {
        let speed = GtPerSec::from_pcie_generation(*generation);
        let link = speed.and_then(|speed| raw(speed, Lanes::new(*lanes)));
        link.is_some_and(|link| {
            link.get() < 0.9 * own.get()
                && FILLED.contains(&(rate.get() / device_to_host(link, PAYLOAD).get()))
        })
    };
    let links: Vec<String> =
        links.filter(fits).map(|(generation, lanes)| format!("{generation}.0 x{lanes}")).collect();
    if links.is_empty() {
        return None;
    }
    let summary = format!(
        "{name} is published with {published}, and {rate} were read: as much as a PCIe link of {} carries. Its own is {}.0 x{}",
        links.join(" or "),
        drive.generation,
        drive.lanes
    );
    let found = Finding::of(case, Code::SlotLimited, Severity::Info, summary)
        .seen("drive that the text names", name, source)
        .seen("fastest sequential read", rate, place)
        .not_so_when("the link runs as the drive can (LnkSta of `sudo lspci -vv`; Transfer Mode of CrystalDiskInfo)")
        .advise("look at its link: `sudo lspci -vv`, or CrystalDiskInfo under Windows; a slot with fewer lanes or an older generation holds it");
    Some(found.with_confidence(Confidence::Low))
}

/// An NVMe drive on one lane, where no text tells what it can use: drives have two or four (PCI Express M.2 Specification 4.0,
/// section 1.2; SFF-8639 has four).
fn one_lane(context: &Context<'_>, judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    let is_nvme = link.link.device.class.value().is_some_and(|class| class >> 8 == NVME);
    let speed = link.speed().filter(|_| is_nvme && link.width() == Some(Lanes::new(1)))?;
    if link.device_width().is_some() || link.port_width().is_some() || !judged.is_limit(link.index) {
        return None;
    }
    let [one, four] = [1, 4].map(|lanes| counterfactual::link_at(link.link, speed, Lanes::new(lanes)));
    let (one, four) = (one?, four?);
    let summary = format!(
        "{} runs x1 at {speed} ({one}), and NVMe drives can use two or four lanes (x4: {four}).",
        capitalised(&link.place())
    );
    let narrow = context.machine.slots.value().into_iter().flatten();
    let narrow = narrow.filter(|slot| slot.width == Some(Lanes::new(1)) && is_named_wider(&slot.designation));
    let names: Vec<&str> = narrow.map(|slot| slot.designation.as_str()).collect();
    let lanes = || format!("lanes of {}, as the firmware has them", names.join(", "));
    let said = (!names.is_empty()).then(|| Evidence::new(lanes(), "x1", "SMBIOS type 9"));
    let setup = match names.as_slice() {
        [name] => format!(
            "Look in the firmware's setup for the bandwidth of slot {name}: it has x1, and is called after more lanes. Else use"
        ),
        _ => "Look in the firmware's setup for the bandwidth of the slot; else use".to_owned(),
    };
    let gain = counterfactual::gain_of_better(judged, link.index, four);
    let found = Finding::about(Code::SlotLimited, Severity::Limit, link.hop, summary)
        .with_confidence(Confidence::Medium)
        .with_evidence(link.width_evidence().into_iter().take(1))
        .with_evidence(said)
        .with_evidence(link.speed_evidence())
        .with_evidence(link.link.drive.as_deref().map(taken));
    Some(found.advise_gain(format!("{setup} a slot with four lanes of the processor."), gain))
}

/// Why a link without an address is that of the drive.
fn taken(drive: &str) -> Evidence {
    Evidence::new("whose link it is", format!("taken for that of {drive}, the only drive in the text"), "")
}

/// Whether a slot is called after more lanes than one: `PCIEX16_2`.
fn is_named_wider(name: &str) -> bool {
    ["X16", "X8", "X4"].iter().any(|width| name.to_ascii_uppercase().contains(width))
}

/// A drive or adapter of which a text says that its link is downgraded, and not of what. That the port can do no more
/// is the likelier reading: most links are as good as their slots.
fn said_to_be_less(judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    let (speed, width) = (link.speed()?, link.width()?);
    let end = &link.link.device.link;
    let faster = end.downgraded.speed.as_ref().filter(|_| end.max_speed.value().is_none());
    let wider = end.downgraded.width.as_ref().filter(|_| end.max_width.value().is_none());
    let said = faster.or(wider)?;
    if !link.is_storage() || link.port.is_some_and(says_its_most) || !judged.is_limit(link.index) {
        return None;
    }
    let summary = format!(
        "{} runs {width} at {speed}, less than its device can do, as the text says; the slot is the likely reason.",
        capitalised(&link.place())
    );
    let advice =
        "Look at both ends with `sudo lspci -vvv` to tell a narrow slot from a link that trained badly.";
    let found = Finding::about(Code::SlotLimited, Severity::Limit, link.hop, summary)
        .with_confidence(Confidence::Low)
        .seen("what the device can do", Downgraded::MEANING, said.as_str())
        .with_evidence(link.speed_evidence());
    Some(found.advise(advice))
}

/// What the slot offers, and whether that is known from the port or only seen in the negotiated link.
struct Offer {
    width: Lanes,
    speed: GtPerSec,
    is_known: bool,
}

fn offer(link: &Link<'_>) -> Option<Offer> {
    match (link.port_width(), link.port_speed()) {
        (Some(width), Some(speed)) => {
            // A board that wires fewer lanes than the port claims offers what it wires.
            let wired = link.link.board_slot.as_ref().map(|slot| slot.width());
            let claimed = wired.filter(|lanes| lanes.get() > 0).map_or(width, |wired| wired.min(width));
            // A port that says less than what the link runs at does not know itself.
            let most = (link.width().max(Some(claimed))?, link.speed().max(Some(speed))?);
            Some(Offer { width: most.0, speed: most.1, is_known: most == (claimed, speed) })
        }
        // A port that says half (a width of zero, as some SoCs do) says nothing that can be relied on.
        _ if link.port.is_some_and(says_its_most) => None,
        // Without the other end, what the link trained at tells: its width always, its speed where nothing explains that
        // it idles.
        _ => {
            let trained = link.speed().filter(|_| !link.may_idle());
            Some(Offer { width: link.width()?, speed: trained.or(link.device_speed())?, is_known: false })
        }
    }
}

/// Whether a port says anything, be it garbled, of the most that it can do.
fn says_its_most(port: &PciDevice) -> bool {
    let absent = matches!(
        (&port.link.max_speed, &port.link.max_width, &port.express),
        (Fact::Absent { .. }, Fact::Absent { .. }, Fact::Absent { .. })
    );
    !absent || port.link.downgraded != Downgraded::default()
}

fn check_link(context: &Context<'_>, judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    let claim = link.claim(context.machine).filter(|claim| !claim.may_save_power(context.machine, link.link));
    let claim = claim.filter(|_| !link.port.is_some_and(says_its_most));
    let (device_width, device_speed) = match (link.device_width(), link.device_speed(), &claim) {
        (Some(width), Some(speed), _) => (width, speed),
        (_, _, Some(claim)) => (claim.capable.width, claim.capable.speed),
        _ => return None,
    };
    let offer = match &claim {
        // What the port offers, as far as a log tells what the link ran at when the device was found.
        Some(claim) => Offer { width: claim.by.width, speed: claim.by.speed, is_known: false },
        None => offer(link)?,
    };
    if offer.width >= device_width && offer.speed >= device_speed {
        return None;
    }
    let (width, speed) = (offer.width.min(device_width), offer.speed.min(device_speed));
    let offered = counterfactual::link_at(link.link, speed, width)?;
    let wanted = counterfactual::link_at(link.link, device_speed, device_width)?;
    // Fewer lanes of a newer generation can carry as much as many of an older one; the device runs one of its own.
    if offered.get() >= wanted.get() * 0.99 {
        return None;
    }
    let need = need::of(context, link, offered);
    let fixed = link.link.part.why_fixed().filter(|_| need == Need::More);
    let binds = need == Need::More && fixed.is_none();
    let gain = counterfactual::gain_of_better(judged, link.index, wanted);
    let who = if offer.is_known { "the slot offers" } else { "it trained" };
    let why = match (fixed, need) {
        (Some(why), _) => format!("; {why}"),
        (None, Need::More) => String::new(),
        (None, Need::Met) => "; what hangs behind it needs no more".to_owned(),
        (None, Need::Unknown) => "; what its wires carry is not known".to_owned(),
        (None, Need::UnknownKind) => "; what kind of device that is, no text tells".to_owned(),
    };
    let summary = format!(
        "{}: {who} {width} at {speed} ({offered}), and the device can use {device_width} at {device_speed} ({wanted}){why}.",
        link.place()
    );
    let action =
        format!("Move the card to a slot with {device_width} at {device_speed}, if the board has one.");
    let severity = if binds { Severity::Limit } else { Severity::Info };
    let found = Finding::about(Code::SlotLimited, severity, link.hop, capitalised(&summary))
        .with_confidence(if offer.is_known { Confidence::High } else { Confidence::Medium })
        .with_evidence(link.width_evidence())
        .with_evidence(link.speed_evidence())
        .with_evidence(claim.iter().map(Claim::evidence))
        .with_evidence(need::called(context, link));
    Some(found.with_advice(binds.then(|| Advice::with_gain(action, gain))))
}

#[cfg(test)]
mod tests {
    use narrows_base::fact::Source;
    use narrows_base::units::human;
    use narrows_machine::dmi::Slot;
    use narrows_model::path::{HopSpec, LinkHop, LinkPart, Target};

    use super::*;
    use crate::testing::{DISPLAY, ETHERNET, NVME, Sketch, WIFI, at, claimed, function, link, link_of};

    fn found(link: LinkHop) -> Option<Finding> {
        Sketch::drive(link).finding(Code::SlotLimited)
    }

    #[test]
    fn a_drive_that_the_text_names_reads_at_the_rate_of_a_narrower_link() {
        let told = |rate: &str, comment: &str| {
            let row = format!("  SEQ    1MiB (Q=  8, T= 1):  {rate} MB/s [   1661.8 IOPS] <  4806.33 us>");
            let text = format!(
                "CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo\n[Read]\n{row}\nComment: {comment}\n"
            );
            let all = crate::results::testing::verdicts(&text).remove(0).findings;
            all.into_iter().find(|one| one.code == Code::SlotLimited).map(|one| one.summary)
        };
        let summary = told("1742.512", "Samsung 980 PRO 1TB").expect("found");
        assert!(summary.contains("2.0 x4 or 3.0 x2"), "{summary}");
        assert_eq!(told("6900.000", "Samsung 980 PRO 1TB"), None);
        assert_eq!(told("1742.512", "my drive"), None);
    }

    #[test]
    fn a_gen4_drive_in_a_gen3_slot_is_a_limit_and_no_fault() {
        let path = Sketch::drive(link((3, 4), (4, 4), (3, 4)));
        let finding = path.finding(Code::SlotLimited).expect("half of what it can use");
        assert_eq!(finding.severity, Severity::Limit);
        assert_eq!(path.alarms(), [Code::SlotLimited]);
        // Gen4 x4 less Gen3 x4 with payloads of 256 bytes: 7183 − 3592 MB/s.
        assert_eq!(finding.advice[0].gain_bytes_per_second.map(human::rate).as_deref(), Some("3.59 GB/s"));
    }

    #[test]
    fn a_x4_drive_behind_a_x1_port_without_board_data_is_a_limit() {
        let finding = found(link((2, 1), (3, 4), (2, 1))).expect("a quarter of the lanes");
        assert_eq!((finding.severity, finding.confidence), (Severity::Limit, Confidence::High));
    }

    #[test]
    fn a_slot_wider_than_its_disks_need_is_only_mentioned() {
        // A x8 adapter behind a x4 port: 1680 MB/s for one disk of 250.
        let adapter = link((2, 4), (2, 8), (2, 4));
        let path = Sketch::of("/dev/sda").device("sda", Some(250.0)).link(adapter).memory();
        assert_eq!(path.finding(Code::SlotLimited).map(|finding| finding.severity), Some(Severity::Info));
        assert!(path.alarms().is_empty());
    }

    #[test]
    fn an_unknown_other_end_is_told_by_what_the_link_trained_at_and_with_less_confidence() {
        let narrow = LinkHop { port: None, ..link((2, 2), (2, 4), (2, 4)) };
        assert_eq!(found(narrow).map(|finding| finding.confidence), Some(Confidence::Medium));
        let slow = LinkHop { port: None, ..link((1, 4), (2, 4), (2, 4)) };
        let finding = found(slow.clone()).expect("awake at half its speed");
        assert!(finding.summary.contains("it trained x4 at 2.5 GT/s"), "{}", finding.summary);
        let mut asleep = slow;
        asleep.device.power_state = Fact::known("D3hot".to_owned(), "power_state");
        assert_eq!(found(asleep), None);
    }

    #[test]
    fn as_much_by_fewer_lanes_of_a_newer_generation_limits_nothing() {
        // The device runs the older generation, whatever the port can do: x2 of Gen4 is no help to a Gen3 x4 drive.
        assert!(found(link((3, 2), (3, 4), (4, 2))).is_some());
        assert_eq!(found(link((3, 4), (3, 4), (5, 4))), None);
    }

    #[test]
    fn healthy_and_foreign_links_are_silent() {
        let mut odd = link((2, 1), (2, 1), (3, 1));
        if let Some(port) = &mut odd.port {
            port.link.max_width = Fact::absent("max_link_width");
        }
        for (name, link) in [
            ("full", link((3, 4), (3, 4), (3, 4))),
            ("Wi-Fi", link_of(WIFI, (1, 1), (1, 2), (1, 1))),
            ("a display", link_of(DISPLAY, (3, 8), (3, 16), (3, 8))),
            ("a port that says x0", odd),
        ] {
            assert_eq!(found(link), None, "{name}");
        }
        let none = Sketch::of("/dev/sda").hop("memory", HopSpec::Memory(Fact::absent("")), None);
        assert_eq!(none.finding(Code::SlotLimited), None);
    }

    #[test]
    fn what_a_log_says_of_the_link_when_the_drive_was_found_counts_speed_too() {
        let finding = claimed(Some(NVME), (3, 4), (4, 4)).finding(Code::SlotLimited).expect("Gen3 of Gen4");
        assert_eq!((finding.severity, finding.confidence), (Severity::Limit, Confidence::Medium));
        assert!(finding.evidence.iter().any(|evidence| evidence.source == "dmesg.txt:1"));
        // A graphics card starts slow, and so may a card of a kind that the log does not tell.
        assert_eq!(claimed(Some(DISPLAY), (1, 16), (3, 16)).finding(Code::SlotLimited), None);
        assert_eq!(claimed(None, (1, 16), (3, 16)).finding(Code::SlotLimited), None);
        assert_eq!(claimed(Some(NVME), (4, 4), (4, 4)).finding(Code::SlotLimited), None);
    }

    #[test]
    fn a_gigabit_card_needs_no_more_than_one_lane() {
        let of = |driver: &str| {
            let path = claimed(Some(ETHERNET), (2, 1), (2, 2)).on(|machine| {
                let mut card = function(at(2), ETHERNET, (2, 2));
                card.driver = Fact::known(driver.to_owned(), "dmesg.txt:2");
                machine.pci.insert(at(2), card);
            });
            path.finding(Code::SlotLimited).map(|finding| finding.severity)
        };
        assert_eq!(of("tg3"), Some(Severity::Info));
        // Its driver drives cards of 1 to 40 Gbit/s: the lanes may be missed or not.
        assert_eq!(of("i40e"), Some(Severity::Info));
    }

    #[test]
    fn whether_a_network_card_of_unknown_rate_misses_its_lanes_is_not_known() {
        let path = |name: Option<&str>| {
            let card = link_of(ETHERNET, (3, 4), (3, 8), (3, 4));
            let path = Sketch::of("0000:02:00.0").link(card).memory().on(|machine| {
                let mut card = function(at(2), ETHERNET, (3, 8));
                card.name =
                    name.map_or_else(Fact::default, |name| Fact::known(name.to_owned(), "lspci.txt:1"));
                machine.pci.insert(at(2), card);
            });
            path.finding(Code::SlotLimited).expect("half of the lanes")
        };
        let unknown = path(Some("Mellanox MT27800 Family"));
        assert_eq!((unknown.severity, unknown.advice.is_empty()), (Severity::Info, true));
        assert!(unknown.summary.contains("what its wires carry is not known"), "{}", unknown.summary);
        assert_eq!(path(Some("Acme 100GbE Adapter")).severity, Severity::Limit);
        assert_eq!(path(Some("Acme 10GbE Adapter")).severity, Severity::Info);
    }

    #[test]
    fn whether_a_device_of_no_known_kind_misses_its_lanes_is_not_known() {
        let function = || Sketch::of("0000:02:00.0").asked(Target::Pci(at(2)));
        let of = |class: Fact<u32>| {
            let mut link = link((3, 1), (3, 2), (3, 1));
            link.device.class = class;
            function().link(link).memory().finding(Code::SlotLimited).expect("half of the lanes")
        };
        assert_eq!(of(Fact::known(NVME, "dmesg.txt:1")).severity, Severity::Limit);
        let unknown = of(Fact::default());
        assert_eq!((unknown.severity, unknown.advice.is_empty()), (Severity::Info, true));
        assert!(unknown.summary.contains("no text tells"), "{}", unknown.summary);
    }

    #[test]
    fn a_port_that_says_less_than_the_link_runs_at_is_not_believed() {
        let finding = found(link((3, 2), (3, 4), (1, 2))).expect("half of the lanes");
        assert!(finding.summary.contains("it trained x2 at 8 GT/s"), "{}", finding.summary);
    }

    #[test]
    fn a_soldered_controller_that_needs_more_is_mentioned_without_advice() {
        let soldered = LinkHop { part: LinkPart::Thunderbolt, ..link((3, 2), (3, 4), (3, 2)) };
        let finding = found(soldered).expect("half of the lanes");
        assert_eq!(finding.severity, Severity::Info);
        assert!(finding.advice.is_empty() && finding.summary.contains("soldered"), "{finding:?}");
        assert_eq!(found(LinkHop { part: LinkPart::Platform, ..link((3, 2), (3, 4), (3, 2)) }), None);
    }

    #[test]
    fn a_fibre_channel_adapter_is_judged_as_a_drive_is() {
        let adapter = link_of(0x0c_0400, (1, 1), (3, 8), (1, 1));
        assert_eq!(found(adapter).map(|finding| finding.severity), Some(Severity::Limit));
    }

    #[test]
    fn a_drive_on_one_lane_is_a_limit_though_nothing_tells_what_it_can_use() {
        let mut bare = LinkHop { port: None, ..link((2, 1), (2, 1), (2, 1)) };
        (bare.device.link.max_width, bare.device.link.max_speed) = Default::default();
        let slot = |name: &str, lanes: u8| Slot {
            designation: name.to_owned(),
            width: Some(Lanes::new(lanes)),
            ..Slot::default()
        };
        let of = |slots: Vec<Slot>| {
            let path =
                Sketch::drive(bare.clone()).on(|machine| machine.slots = Fact::known(slots, "dmi.txt:3"));
            path.finding(Code::SlotLimited).expect("one lane")
        };
        let named = of(vec![slot("PCIEX16_1", 16), slot("PCIEX1_1", 1), slot("PCIEX16_2", 1)]);
        assert_eq!((named.severity, named.confidence), (Severity::Limit, Confidence::Medium));
        assert!(named.advice[0].action.contains("slot PCIEX16_2"), "{named:?}");
        assert!(
            of(vec![slot("PCIEX16_2", 1), slot("PCIEX8_1", 1)]).advice[0].action.contains("of the slot;")
        );
        let mut card = bare.clone();
        card.device.class = Fact::known(ETHERNET, "lspci.txt:1");
        assert_eq!(found(card), None);
    }

    #[test]
    fn a_text_that_only_says_downgraded_is_a_suspicion() {
        let mut link = LinkHop { port: None, ..link((2, 2), (3, 2), (3, 2)) };
        link.device.link.max_speed = Fact::absent("sbc-bench.txt:9");
        link.device.link.downgraded.speed = Some(Source::new("sbc-bench.txt:9"));
        let finding = found(link.clone()).expect("less than it can do");
        assert_eq!((finding.severity, finding.confidence), (Severity::Limit, Confidence::Low));
        link.device.link.downgraded = Downgraded::default();
        link.device.link.max_speed =
            Fact::Garbled { source: Source::new("lspci.txt:9"), raw: "unknown".into() };
        assert_eq!(found(link), None);
    }
}
