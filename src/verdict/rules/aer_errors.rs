//! `aer_errors`: a link reports errors.
//!
//! Every retransmission costs a little rate and says that the wire is bad. A few are normal: links make them while they
//! train, and devices that refuse a request of the firmware count one. So correctable errors of the wire count from
//! [`FEW`] on, fatal ones always, non-fatal ones unless they only say that a request was not supported.

use std::collections::BTreeMap;

use crate::path::LinkPort;

use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::super::link::{Link, wires};
use super::link_width_degraded::capitalised;
use super::{Context, Judged};

/// Correctable errors since boot below this are those of training.
const FEW: u64 = 10;
/// Correctable errors since boot from here on mean a bad wire.
const MANY: u64 = 100;

/// Correctable errors of the wire itself, as sysfs names them (kernel `drivers/pci/pcie/aer.c`): receiver errors, bad
/// packets, and replays. The advisory ones are left out: they repeat non-fatal errors.
const OF_THE_WIRE: [&str; 5] = ["RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout"];

pub(super) fn check(context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    wires(context, judged).iter().filter_map(check_link).collect()
}

fn check_link(link: &Link<'_>) -> Option<Finding> {
    let ends: Vec<&LinkPort> = std::iter::once(&link.link.device).chain(link.port).collect();
    let of = |count: &dyn Fn(&crate::machine::pci::Aer) -> u64| {
        ends.iter().filter_map(|end| end.aer.value()).map(count).fold(0, u64::saturating_add)
    };
    let wire = of(&|aer| sum(&aer.correctable, |name| OF_THE_WIRE.contains(&name)));
    let nonfatal = of(&|aer| sum(&aer.nonfatal, |name| name != "UnsupReq" && !name.starts_with("TOTAL")));
    let fatal = of(&|aer| sum(&aer.fatal, |name| !name.starts_with("TOTAL")));
    let (severity, confidence) = match (fatal, nonfatal, wire) {
        (1.., _, _) => (Severity::Fault, Confidence::High),
        (0, 1.., _) => (Severity::Fault, Confidence::Medium),
        (0, 0, MANY..) => (Severity::Fault, Confidence::High),
        (0, 0, FEW..) => (Severity::Info, Confidence::Medium),
        _ => return None,
    };
    let counts = [(wire, "corrected"), (nonfatal, "non-fatal"), (fatal, "fatal")];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, kind)| format!("{count} {kind}"))
        .collect();
    let summary = format!("{} reports errors since boot: {}.", link.place(), counts.join(", "));
    Some(
        Finding::about(Code::AerErrors, severity, link.hop, capitalised(&summary))
            .with_confidence(confidence)
            .with_evidence(ends.iter().flat_map(|end| evidence(end)))
            .with_advice([
                Advice::new("Power off, reseat the card, and try it without riser, adapter or cable."),
                Advice::new(
                    "If the errors go on, boot once with pcie_aspm=off: some devices fail on their way out of power \
                     saving.",
                ),
            ]),
    )
}

fn sum(counts: &BTreeMap<String, u64>, wanted: impl Fn(&str) -> bool) -> u64 {
    counts.iter().filter(|(name, _)| wanted(name)).map(|(_, count)| *count).fold(0, u64::saturating_add)
}

fn evidence(end: &LinkPort) -> Vec<Evidence> {
    let Some(aer) = end.aer.value() else { return Vec::new() };
    [("correctable", &aer.correctable), ("nonfatal", &aer.nonfatal), ("fatal", &aer.fatal)]
        .into_iter()
        .filter_map(|(kind, counts)| {
            let named: Vec<String> = counts
                .iter()
                .filter(|(_, count)| **count > 0)
                .map(|(name, count)| format!("{name} {count}"))
                .collect();
            let source = format!("/sys/bus/pci/devices/{}/aer_dev_{kind}", end.address);
            (!named.is_empty())
                .then(|| Evidence::new(format!("{kind} errors of {}", end.address), named.join(", "), source))
        })
        .collect()
}
