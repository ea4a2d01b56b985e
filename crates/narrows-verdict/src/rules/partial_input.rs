//! `partial_input`: facts that need root, or that a capture lacks, could make the verdict surer. At most one finding for
//! a machine.

use std::collections::{BTreeMap, BTreeSet};

use narrows_base::fact::Fact;
use narrows_base::lists::{distinct, grouped, known_of, some_of};
use narrows_base::units::human;
use narrows_machine::pci::{PciAddress, PciDevice};
use narrows_model::path::{Hop, HopSpec, build};

use super::{Context, result};
use crate::finding::{Advice, Code, Evidence, Finding, Severity};

pub(super) fn of_machine(context: &Context<'_>) -> Vec<Finding> {
    left_out(context).into_iter().chain(not_read(context)).collect()
}

/// Paths beyond those that are shown.
fn left_out(context: &Context<'_>) -> Option<Finding> {
    let shown = context.judged.len();
    let more = build::left_out(context.machine, shown);
    (more > 0).then(|| {
        let (shown, more) = (human::grouped(shown as u64), human::grouped(more as u64));
        let text = format!(
            "The first {shown} paths of this machine are judged; {more} further paths were left out."
        );
        Finding::on(Code::PartialInput, Severity::Info, "this machine", text)
            .seen("paths left out", more, "a bound of narrows")
            .advise("Name the device or mount that matters, to see its path.")
    })
}

fn not_read(context: &Context<'_>) -> Option<Finding> {
    let mut denied = Denied::default();
    note(&context.machine.slots, "slot table", &mut denied);
    for hop in context.hops() {
        match &hop.spec {
            HopSpec::Link(link) if link.not_a_wire.is_none() => {
                for end in std::iter::once(&link.device).chain(&link.port) {
                    note(&end.express, "link capabilities, payload sizes and target speed", &mut denied);
                }
            }
            HopSpec::Crypt(crypt) => note(&crypt.table, "cipher and key size", &mut denied),
            _ => {}
        }
    }
    let missing = missing(context);
    if denied.is_empty() && missing.is_empty() {
        return None;
    }
    let kinds = distinct(denied.keys().map(|(kind, _)| *kind)).join("; ");
    let needs: BTreeSet<&str> = denied.keys().map(|(_, need)| need.as_str()).collect();
    let needs = needs.into_iter().collect::<Vec<_>>().join(", ");
    let unread = (!denied.is_empty()).then(|| format!("Not read without {needs}: {kinds}."));
    let lacks = "The verdict rests on part of the facts: the texts lack some that would make it surer.";
    let lacks = (!missing.is_empty()).then(|| lacks.to_owned());
    let is_live = context.machine.captured.is_none();
    let root = (!denied.is_empty() && is_live).then(|| format!("Run narrows with {needs} to read them."));
    let runs = distinct(missing.iter().map(|(run, _)| *run)).into_iter();
    let runs = runs.map(|run| format!("Run `{run}` there, and give narrows its output with the rest."));
    let advice: Vec<String> = root.into_iter().chain(runs).collect();
    let collector = "Run `narrows snapshot --script` for a collector, and run that there as root.";
    let advice = if advice.is_empty() { vec![collector.to_owned()] } else { advice };
    let summary = known_of([unread, lacks], " ");
    let found = Finding::on(Code::PartialInput, Severity::Info, "this machine", summary)
        .with_evidence(denied.iter().map(|((kind, need), sources)| evidence(kind, need, sources)))
        .with_evidence(missing.iter().map(|(run, what)| Evidence::new("not in the capture", what, *run)));
    Some(found.with_advice(advice.into_iter().map(Advice::new)))
}

/// What to run on the machine of a capture, each with what it would tell.
fn missing<'a>(context: &Context<'a>) -> Vec<(&'a str, String)> {
    let gaps = context.machine.captured.iter().flat_map(|captured| &captured.gaps);
    let mut gaps = grouped(gaps.map(|gap| (gap.run.as_str(), gap.what.as_str())));
    gaps.sort_by_key(|(run, _)| *run);
    // Several texts may lack the same.
    let gaps = gaps.into_iter().map(|(run, what)| (run, some_of(&distinct(what), 3, ", ")));
    let disks = without_disks(context).map(|what| (LISTS_DISKS, what));
    gaps.chain(disks).chain(without_link(context).map(|what| (SHOWS_LINKS, what))).collect()
}

/// What tells which disk hangs on which controller.
const LISTS_DISKS: &str = "ls -l /dev/disk/by-path";

/// Storage controllers of a capture that no path crosses, since no text tells their disks: named, so that nobody takes them
/// for seen and judged.
fn without_disks(context: &Context<'_>) -> Option<String> {
    const MOST: usize = 4;
    context.machine.captured.as_ref()?;
    let crossed = context.hops().filter_map(|hop| match &hop.spec {
        HopSpec::Link(link) => Some(link.device.address),
        HopSpec::Controller(controller) | HopSpec::Hba(controller) => controller.address,
        _ => None,
    });
    let crossed: BTreeSet<PciAddress> = crossed.collect();
    let names = |hop: &Hop, address: &str| hop.id.as_str().ends_with(address) || hop.name.contains(address);
    let is_named = |address: &str| context.hops().any(|hop| names(hop, address));
    let storage = context.machine.pci.values().filter(|function| function.is_storage());
    let alone: Vec<String> = storage
        .filter(|function| !crossed.contains(&function.address))
        .map(|function| function.address.to_string())
        .filter(|address| !is_named(address))
        .collect();
    let named = some_of(&alone, MOST, " and ");
    (!alone.is_empty())
        .then(|| format!("the disks of the storage controllers {named}, which have no path here"))
}

/// What shows the links of cards.
const SHOWS_LINKS: &str = "sudo lspci -vvv";

/// Network cards of a capture that no path crosses, since no text tells their links, and that may be fast. What is on a root
/// bus has no link.
fn without_link(context: &Context<'_>) -> Option<String> {
    const MOST: usize = 4;
    const FAST: f64 = 10e9 / 8.0;
    const WIRELESS: u32 = 0x0280;
    context.machine.captured.as_ref()?;
    let crossed = context.hops().filter_map(|hop| match &hop.spec {
        HopSpec::Link(link) => Some(link.device.address.card()),
        HopSpec::Controller(controller) => controller.address.map(PciAddress::card),
        HopSpec::Network(network) => network.address.map(PciAddress::card),
        _ => None,
    });
    let crossed: BTreeSet<PciAddress> = crossed.collect();
    let may_be_fast = |port: &PciDevice| {
        let is_wired = port.is_network() && port.class.value().is_some_and(|class| class >> 8 != WIRELESS);
        is_wired && super::need::port_rate(context, port).is_none_or(|rate| rate.most.get() >= FAST)
    };
    let ports = context.machine.pci.values().filter(|port| port.address.bus != 0 && may_be_fast(port));
    let cards: BTreeSet<PciAddress> =
        ports.map(|port| port.address.card()).filter(|card| !crossed.contains(card)).collect();
    let cards: Vec<String> = cards.iter().map(ToString::to_string).collect();
    let named = some_of(&cards, MOST, " and ");
    (!cards.is_empty()).then(|| format!("the links of the network cards {named}, which have no path here"))
}

/// What was denied: the kind of fact and what it needs, with every place where it stands.
type Denied = BTreeMap<(&'static str, String), BTreeSet<String>>;

fn note<T>(fact: &Fact<T>, kind: &'static str, denied: &mut Denied) {
    if let Fact::Denied { source, need } = fact {
        denied.entry((kind, need.clone())).or_default().insert(source.as_str().to_owned());
    }
}

/// One line for each kind of fact, with one place as an example: the others only differ in an address.
fn evidence(kind: &str, need: &str, sources: &BTreeSet<String>) -> Evidence {
    let value = match sources.len() {
        0 | 1 => format!("needs {need}"),
        count => format!("{count} files need {need}, this one for example"),
    };
    Evidence::new(kind, value, sources.first().cloned().unwrap_or_default())
}

/// The text ends before the result does.
pub(super) fn of_result(case: &result::Case<'_>) -> Option<Finding> {
    if !case.result.truncated {
        return None;
    }
    let behind = match case.result.measurements.as_slice() {
        [.., last] if !last.work.label.is_empty() => {
            format!(" in or behind job {} (`{}`)", case.result.measurements.len(), last.work.label)
        }
        _ => String::new(),
    };
    let summary =
        format!("The output of {} is cut off{behind}; what was whole is shown", case.result.tool.name());
    let found = Finding::of(case, Code::PartialInput, Severity::Info, summary)
        .seen("the text", "ends before the result does", case.result.place())
        .not_so_when("the missing part holds no measurement");
    Some(found.advise("give the whole file"))
}

#[cfg(test)]
mod tests {
    use narrows_base::fact::{Fact, Source};
    use narrows_machine::captured::{Captured, Gap};

    use crate::testing::{ETHERNET, NVME, Sketch, at, function, link};
    use crate::{Code, Severity};

    #[test]
    fn denied_facts_are_one_quiet_finding() {
        let denied = |end: &str| Fact::Denied {
            source: Source::new(format!("/sys/bus/pci/devices/{end}/config")),
            need: "root".to_owned(),
        };
        let mut link = link((3, 4), (3, 4), (3, 4));
        link.device.express = denied("0000:02:00.0");
        if let Some(port) = &mut link.port {
            port.express = denied("0000:00:1c.0");
        }
        let path = Sketch::drive(link);
        let findings = path.judge().findings;
        let partial: Vec<_> = findings.iter().filter(|finding| finding.code == Code::PartialInput).collect();
        assert_eq!((partial.len(), partial[0].severity), (1, Severity::Info));
        let [evidence] = partial[0].evidence.as_slice() else { panic!("{:?}", partial[0].evidence) };
        assert_eq!(evidence.value, "2 files need root, this one for example");
        assert_eq!(evidence.source, "/sys/bus/pci/devices/0000:00:1c.0/config");
    }

    #[test]
    fn a_network_card_that_may_be_fast_and_has_no_path_is_named() {
        let of = |driver: &str| {
            let path = Sketch::drive(link((3, 4), (3, 4), (3, 4))).on(|machine| {
                machine.captured = Some(Captured::default());
                let mut card = function(at(0xaf), ETHERNET, (3, 8));
                card.driver = Fact::known(driver.to_owned(), "dmesg.txt:1");
                machine.pci.insert(at(0xaf), card);
            });
            let finding = path.finding(Code::PartialInput)?;
            Some(finding.evidence.first()?.value.clone())
        };
        assert!(of("qede").is_some_and(|said| said.contains("0000:af:00.0")), "{:?}", of("qede"));
        assert_eq!(of("tg3"), None, "a gigabit");
    }

    #[test]
    fn what_a_capture_lacks_is_named_with_what_to_run() {
        let mut sketch = Sketch::drive(link((3, 4), (3, 4), (3, 4)));
        let gap = |bus: u8| Gap {
            what: format!("the link registers of 0000:0{bus}:00.0"),
            run: "sudo lspci -vvv".to_owned(),
            ..Gap::default()
        };
        let gaps = (1..=5).map(gap).collect();
        sketch.machine.captured = Some(Captured { gaps, ..Captured::default() });
        let finding = sketch.finding(Code::PartialInput).expect("facts are missing");
        let [evidence] = finding.evidence.as_slice() else { panic!("{:?}", finding.evidence) };
        assert!(evidence.value.ends_with("0000:03:00.0 and 2 more"), "{}", evidence.value);
        assert_eq!(evidence.source, "sudo lspci -vvv");
        let [advice] = finding.advice.as_slice() else { panic!("{:?}", finding.advice) };
        assert!(advice.action.starts_with("Run `sudo lspci -vvv` there"), "{}", advice.action);
    }

    #[test]
    fn a_controller_of_a_capture_whose_disks_no_text_tells_is_named() {
        let with = |captured: Option<Captured>| {
            let mut sketch = Sketch::drive(link((3, 4), (3, 4), (3, 4)));
            sketch.machine.pci.insert(at(9), function(at(9), NVME, (3, 4)));
            sketch.machine.captured = captured;
            sketch.finding(Code::PartialInput)
        };
        let finding = with(Some(Captured::default())).expect("a controller without disks");
        assert!(finding.evidence[0].value.contains(&at(9).to_string()), "{:?}", finding.evidence);
        assert!(finding.advice[0].action.contains("by-path"), "{:?}", finding.advice);
        // A machine that answers itself shows all disks that there are.
        assert_eq!(with(None), None);
    }

    #[test]
    fn absent_facts_are_not_denied_ones() {
        assert_eq!(Sketch::drive(link((3, 4), (3, 4), (3, 4))).finding(Code::PartialInput), None);
    }
}
