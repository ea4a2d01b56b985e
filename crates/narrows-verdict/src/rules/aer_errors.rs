//! `aer_errors`: a link reports errors.
//!
//! Every retransmission costs a little rate and says that the wire is bad. A few are normal: links make them while they
//! train, and devices that refuse a request of the firmware count one. So correctable errors of the wire count from
//! [`FEW`] on, fatal ones always, non-fatal ones unless they only say that a request was not supported. lspci has no counts,
//! only bits that stay set: they are told as such.

use std::collections::{BTreeMap, BTreeSet};

use narrows_base::lists::known_of;
use narrows_machine::log::{AerSeverity, LogKind};
use narrows_machine::pci::{Aer, PciDevice};

use super::super::finding::{Code, Confidence, Evidence, Finding, Severity};
use super::super::link::{Link, that_err};
use super::super::sentence::capitalised;
use super::{Context, Judged};

/// Correctable errors since boot below this are those of training.
const FEW: u64 = 10;
/// Correctable errors since boot from here on mean a bad wire.
const MANY: u64 = 100;

/// Correctable errors of the wire itself, as sysfs names them (kernel `drivers/pci/pcie/aer.c`): receiver errors, bad
/// packets, and replays. The advisory ones are left out: they repeat non-fatal errors.
const OF_THE_WIRE: [&str; 5] = ["RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout"];

/// Non-fatal errors of what was asked and answered, which no contact makes (PCI Express Base Specification 5.0, section 6.2.7).
const OF_REQUESTS: [&str; 4] = ["ACSViol", "MalfTLP", "CmpltAbrt", "UnxCmplt"];

pub(super) fn check(context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let links = that_err(context, judged);
    links.iter().filter_map(|link| counted(context, link).or_else(|| of_status(link))).collect()
}

/// Whether the drive behind a link gave up or did not answer: with errors of the link beside it, no chance.
fn failed(context: &Context<'_>, link: &Link<'_>) -> bool {
    use LogKind::{ControllerDown, NvmeRemoved, NvmeTimeout, ProbeFailed};
    let is_failure =
        |kind: &LogKind| matches!(kind, ProbeFailed | NvmeRemoved | ControllerDown | NvmeTimeout);
    link.events(context.machine).any(|event| is_failure(&event.kind))
}

/// Corrected errors of which a captured log tells. The kernel prints few of many, so that each counts for more than one
/// of a counter. An error is told twice, by the port's message and by the record of the device, and counted once.
fn logged(context: &Context<'_>, link: &Link<'_>) -> u64 {
    let count = |is_wanted: &dyn Fn(&LogKind) -> bool| {
        let events = link.events(context.machine).filter(|event| is_wanted(&event.kind));
        events.map(|event| event.count).fold(0, u64::saturating_add)
    };
    let corrected = AerSeverity::Corrected;
    let messages = count(&|kind| *kind == LogKind::AerMessage(corrected));
    let records = count(&|kind| matches!(kind, LogKind::AerError { severity, .. } if *severity == corrected));
    messages.max(records)
}

fn ends<'a>(link: &Link<'a>, is_wanted: impl Fn(&Aer) -> bool) -> Vec<(&'a PciDevice, &'a Aer)> {
    let ends = std::iter::once(&link.link.device).chain(link.port);
    ends.filter_map(|end| Some((end, end.aer.value().filter(|aer| is_wanted(aer))?))).collect()
}

/// The bits of status registers that tell of the link: those of the wire, an answer that never came, and all that is fatal.
/// Aborted, unexpected and unsupported requests are between driver and device.
fn bits(aer: &Aer) -> Vec<String> {
    let of_link = |name: &str| OF_THE_WIRE.contains(&name) || name == "CmpltTO";
    let set = |counts: &BTreeMap<String, u64>, wanted: &dyn Fn(&str) -> bool| {
        let set = counts.iter().filter(|(name, count)| **count > 0 && wanted(name));
        set.map(|(name, _)| name.clone()).collect::<Vec<String>>()
    };
    let mild = [&aer.correctable, &aer.nonfatal].into_iter().flat_map(|counts| set(counts, &of_link));
    mild.chain(set(&aer.fatal, &|name| !name.starts_with("TOTAL"))).collect()
}

/// Errors of which only bits tell: at least one of each, at any time since they were cleared.
fn of_status(link: &Link<'_>) -> Option<Finding> {
    let ends = ends(link, |aer| aer.is_status && !bits(aer).is_empty());
    let (first, _) = ends.first()?;
    let names: BTreeSet<String> = ends.iter().flat_map(|(_, aer)| bits(aer)).collect();
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    let is_fatal = ends.iter().any(|(_, aer)| sum(&aer.fatal, |name| !name.starts_with("TOTAL")) > 0);
    let severity = if is_fatal { Severity::Fault } else { Severity::Info };
    let summary = format!(
        "{} has error bits set: {names}. Each error came at least once since the bits were cleared; how often is not known.",
        link.place()
    );
    let address = first.address;
    let address = if address.is_unnamed() { "ADDRESS".to_owned() } else { address.to_string() };
    let counters = format!("`grep . /sys/bus/pci/devices/{address}/aer_dev_*` counts them since boot.");
    Some(finding(link, severity, &summary, &ends).with_confidence(Confidence::Medium).advise(counters))
}

fn finding(link: &Link<'_>, severity: Severity, summary: &str, ends: &[(&PciDevice, &Aer)]) -> Finding {
    Finding::about(Code::AerErrors, severity, link.hop, capitalised(summary))
        .with_evidence(ends.iter().flat_map(|(end, aer)| evidence(end, aer)))
}

fn counted(context: &Context<'_>, link: &Link<'_>) -> Option<Finding> {
    let ends = ends(link, |aer| !aer.is_status);
    let of =
        |count: &dyn Fn(&Aer) -> u64| ends.iter().map(|(_, aer)| count(aer)).fold(0, u64::saturating_add);
    let wire = of(&|aer| sum(&aer.correctable, |name| OF_THE_WIRE.contains(&name)));
    let nonfatal = of(&|aer| sum(&aer.nonfatal, |name| name != "UnsupReq" && !name.starts_with("TOTAL")));
    let fatal = of(&|aer| sum(&aer.fatal, |name| !name.starts_with("TOTAL")));
    let logged = logged(context, link);
    let wire = wire.max(logged);
    let is_fixed = link.link.part.why_fixed().is_some();
    let (severity, confidence) = match (fatal, nonfatal, wire) {
        // What is soldered nobody can reseat, and each of these errors was corrected.
        (0, 0, FEW..MANY) if is_fixed && !failed(context, link) => (Severity::Info, Confidence::Medium),
        (0, 0, 1..) if logged > 0 && (logged >= FEW || failed(context, link)) => {
            (Severity::Fault, Confidence::Medium)
        }
        (0, 0, 1..FEW) if logged > 0 => (Severity::Info, Confidence::Medium),
        (1.., _, _) => (Severity::Fault, Confidence::High),
        (0, 1.., _) => (Severity::Fault, Confidence::Medium),
        (0, 0, MANY..) => (Severity::Fault, Confidence::High),
        (0, 0, FEW..) => (Severity::Info, Confidence::Medium),
        _ => return None,
    };
    let counts = [(wire, "corrected"), (nonfatal, "non-fatal"), (fatal, "fatal")];
    let counts = counts.map(|(count, kind)| (count > 0).then(|| format!("{count} {kind}")));
    let summary = format!("{} reports errors since boot: {}.", link.place(), known_of(counts, ", "));
    let requests = of(&|aer| sum(&aer.nonfatal, |name| OF_REQUESTS.contains(&name)));
    if wire == 0 && fatal == 0 && requests == nonfatal {
        return Some(finding(link, severity, &summary, &ends).with_confidence(confidence).advise(
            "These are requests that were refused, not errors of the wire: look for newer firmware of the board and the device, \
             and newer drivers. ACSViol is a request that the IOMMU's access control blocked.",
        ));
    }
    let reseat = "Power off, reseat the card, and try it without riser, adapter or cable.";
    let found =
        finding(link, severity, &summary, &ends).with_confidence(confidence).advise_if(!is_fixed, reseat);
    Some(found.advise(
        "If the errors go on, boot once with pcie_aspm=off: some devices fail on their way out of power saving.",
    ))
}

fn sum(counts: &BTreeMap<String, u64>, wanted: impl Fn(&str) -> bool) -> u64 {
    counts.iter().filter(|(name, _)| wanted(name)).map(|(_, count)| *count).fold(0, u64::saturating_add)
}

fn evidence(end: &PciDevice, aer: &Aer) -> Vec<Evidence> {
    let kinds = [("correctable", &aer.correctable), ("nonfatal", &aer.nonfatal), ("fatal", &aer.fatal)];
    let told = kinds.into_iter().filter_map(|(kind, counts)| {
        let named = |(name, count): (&String, &u64)| match aer.is_status {
            true => name.clone(),
            false => format!("{name} {count}"),
        };
        let named: Vec<String> = counts.iter().filter(|(_, count)| **count > 0).map(named).collect();
        let source = match end.aer.source().as_str() {
            file if file.starts_with('/') => format!("/sys/bus/pci/devices/{}/aer_dev_{kind}", end.address),
            source => source.to_owned(),
        };
        let what = if aer.is_status { "status bits" } else { "errors" };
        let fact = format!("{kind} {what} of {}", end.address);
        (!named.is_empty()).then(|| Evidence::new(fact, named.join(", "), source))
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{BRIDGE, Sketch, at, function, link, logged};
    use narrows_base::fact::Fact;
    use narrows_model::path::{LinkHop, LinkPart, Target};

    fn found(
        correctable: &[(&str, u64)],
        nonfatal: &[(&str, u64)],
        fatal: &[(&str, u64)],
    ) -> Option<Finding> {
        let named = |counts: &[(&str, u64)]| counts.iter().map(|(n, c)| ((*n).to_owned(), *c)).collect();
        let aer = Aer {
            correctable: named(correctable),
            nonfatal: named(nonfatal),
            fatal: named(fatal),
            is_status: false,
        };
        let mut link = link((3, 4), (3, 4), (3, 4));
        link.device.aer = Fact::known(aer, "aer_dev_correctable");
        Sketch::drive(link).finding(Code::AerErrors)
    }

    #[test]
    fn many_receiver_errors_are_a_fault() {
        let finding = found(&[("RxErr", 241), ("BadTLP", 3)], &[], &[]).expect("a bad wire");
        assert_eq!(finding.severity, Severity::Fault);
        assert!(finding.evidence.iter().any(|e| e.value.contains("RxErr 241")), "{:?}", finding.evidence);
    }

    #[test]
    fn fatal_errors_are_a_fault_at_once_and_a_few_dozen_corrected_ones_are_mentioned() {
        assert_eq!(found(&[], &[], &[("DLP", 1)]).map(|f| f.severity), Some(Severity::Fault));
        assert_eq!(found(&[("RxErr", 40)], &[], &[]).map(|f| f.severity), Some(Severity::Info));
    }

    #[test]
    fn errors_of_training_advisory_ones_and_unsupported_requests_are_silent() {
        assert_eq!(found(&[("RxErr", 2), ("NonFatalErr", 5000)], &[("UnsupReq", 3)], &[]), None);
        assert_eq!(found(&[("RxErr", 0)], &[], &[("DLP", 0)]), None);
    }

    #[test]
    fn bits_of_a_status_register_are_no_counts() {
        let of = |correctable: &str, nonfatal: &str, fatal: &str| {
            let named = |name: &str| [(name.to_owned(), u64::from(!name.is_empty()))].into();
            let aer = Aer {
                correctable: named(correctable),
                nonfatal: named(nonfatal),
                fatal: named(fatal),
                is_status: true,
            };
            let mut link = link((3, 4), (3, 4), (3, 4));
            link.device.aer = Fact::known(aer, "lspci.txt:9");
            Sketch::drive(link).finding(Code::AerErrors)
        };
        let sticky = of("BadTLP", "CmpltAbrt", "").expect("a bad packet at some time");
        assert_eq!(sticky.severity, Severity::Info);
        assert!(sticky.summary.contains("BadTLP. Each error came at least once"), "{}", sticky.summary);
        assert!(sticky.advice.iter().all(|advice| !advice.action.contains("reseat")), "{:?}", sticky.advice);
        assert_eq!(of("NonFatalErr", "CmpltAbrt", ""), None, "a request that the device refused");
        assert_eq!(of("", "", "DLP").map(|finding| finding.severity), Some(Severity::Fault));
    }

    #[test]
    fn a_port_that_stands_for_itself_tells_its_errors() {
        let mut below = link((3, 4), (3, 4), (3, 4));
        below.port = None;
        below.not_a_wire = Some("on the root bus".to_owned());
        let of = |asked| {
            let mut path = Sketch::drive(below.clone()).on(|machine| {
                machine.pci.insert(at(2), function(at(2), BRIDGE, (3, 4)));
                machine.log.push(logged(at(2), LogKind::AerMessage(AerSeverity::Corrected), 48));
            });
            path.subject.path.asked = asked;
            path.finding(Code::AerErrors).map(|finding| finding.severity)
        };
        assert_eq!(of(Target::Pci(at(2))), Some(Severity::Fault));
        assert_eq!(of(Target::Block("sda".to_owned())), None, "a link inside the processor");
    }

    #[test]
    fn lines_of_a_log_count_for_more_than_counts() {
        let told = |count, also: Option<LogKind>| {
            let path = Sketch::drive(link((3, 4), (3, 4), (3, 4))).on(|machine| {
                machine.log.push(logged(at(2), LogKind::AerMessage(AerSeverity::Corrected), count));
                machine.log.extend(also.map(|kind| logged(at(2), kind, 1)));
            });
            path.finding(Code::AerErrors).map(|finding| finding.severity)
        };
        assert_eq!(told(1, None), Some(Severity::Info));
        assert_eq!(told(10, None), Some(Severity::Fault));
        let record = LogKind::AerError { severity: AerSeverity::Corrected, name: "RxErr" };
        assert_eq!(told(9, Some(record)), Some(Severity::Info), "the record of one of the nine");
        assert_eq!(told(1, Some(LogKind::ProbeFailed)), Some(Severity::Fault));
        assert_eq!(told(1, Some(LogKind::LinkUp)), Some(Severity::Info));
        assert_eq!(told(0, None), None);
    }

    #[test]
    fn what_a_soldered_link_corrected_is_mentioned_and_nobody_is_told_to_reseat_it() {
        let told = |count| {
            let soldered = LinkHop { part: LinkPart::Thunderbolt, ..link((3, 4), (3, 4), (3, 4)) };
            let path = Sketch::drive(soldered).on(|machine| {
                machine.log.push(logged(at(2), LogKind::AerMessage(AerSeverity::Corrected), count));
            });
            path.finding(Code::AerErrors).expect("errors")
        };
        let few = told(11);
        assert_eq!(few.severity, Severity::Info);
        assert!(few.advice.iter().all(|advice| !advice.action.contains("reseat")), "{:?}", few.advice);
        assert_eq!(told(1000).severity, Severity::Fault);
    }
}
