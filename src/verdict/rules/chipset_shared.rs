//! `chipset_shared`: the path goes through the chipset's uplink, which everything behind the chipset shares.
//!
//! A `limit` when the uplink is the narrows of this path; `info` when devices behind it could together exceed it. A
//! single disk behind a chipset with room is not worth a word.

use crate::ceiling::pcie::rate;
use crate::machine::Machine;
use crate::path::{Hop, HopSpec, UplinkHop};
use crate::units::{BytesPerSec, GtPerSec, Lanes};

use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::switch_oversubscribed::{Shared, raw_of};
use super::{Context, Judged};

pub(super) fn check(context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let hops = judged.subject.path.hops.iter().enumerate();
    hops.filter_map(|(index, hop)| {
        let uplink = match &hop.spec {
            HopSpec::Chipset(uplink) => uplink,
            HopSpec::Switch(uplink) if uplink.chipset.is_some() => uplink,
            _ => return None,
        };
        check_uplink(context, judged, index, hop, uplink)
    })
    .collect()
}

fn check_uplink(
    context: &Context<'_>,
    judged: &Judged<'_>,
    index: usize,
    hop: &Hop,
    uplink: &UplinkHop,
) -> Option<Finding> {
    let limits = judged.is_limit(index) || its_link(judged, uplink).is_some_and(|link| judged.is_limit(link));
    let shared =
        raw(context.machine, uplink).and_then(|carries| Shared::of(context.machine, uplink, carries));
    if !limits && shared.is_none() {
        return None;
    }
    let name = &uplink.name;
    let sharing = shared.as_ref().map(|shared| {
        let (devices, wanted, uplink) = (shared.devices, shared.wanted, shared.uplink);
        format!(
            "{devices} devices share it and can move {wanted} together, it carries {uplink} (before packets)"
        )
    });
    let summary = match (limits, sharing) {
        (true, Some(sharing)) => format!("The uplink of the {name} is the narrows of this path; {sharing}."),
        (true, None) => format!("The uplink of the {name} is the narrows of this path."),
        (false, sharing) => {
            format!("The path goes through the uplink of the {name}; {}.", sharing.unwrap_or_default())
        }
    };
    let severity = if limits { Severity::Limit } else { Severity::Info };
    let advice = "Move what needs the rate to a slot or M.2 socket that the processor feeds.";
    Some(
        Finding::about(Code::ChipsetShared, severity, hop, summary)
            .with_confidence(Confidence::High)
            .with_evidence(uplink.chipset.iter().map(|chipset| {
                Evidence::new("chipset", format!("{}, {}", chipset.name, chipset.uplink), &chipset.source)
            }))
            .with_evidence(shared.iter().flat_map(|shared| shared.evidence(uplink)))
            .with_advice([Advice::new(advice)]),
    )
}

/// The link of a chipset that sysfs shows.
fn its_link(judged: &Judged<'_>, uplink: &UplinkHop) -> Option<usize> {
    judged.subject.path.hops.iter().position(|hop| match &hop.spec {
        HopSpec::Link(link) => link.device.address == uplink.address,
        _ => false,
    })
}

/// What the uplink carries before packets: as published for a hidden one, as read for one that sysfs shows.
fn raw(machine: &Machine, uplink: &UplinkHop) -> Option<BytesPerSec> {
    let published = uplink.chipset.as_ref().and_then(|chipset| {
        rate::raw(GtPerSec::from_pcie_generation(chipset.generation)?, Lanes::new(chipset.lanes))
    });
    let seen = raw_of(machine, uplink.address);
    seen.or(published)
}
