//! The narrowest hop by arithmetic: the smallest ceiling divided by its traffic.

use crate::ceiling::Ceiling;
use crate::ceiling::narrow::{self, Narrow};
use crate::path::{Hop, HopKind, HopSpec};

use super::super::case::Case;
use super::super::finding::{Confidence, Evidence};
use super::{Attribution, Cause};

/// Rates closer than this are one rate: the ceilings are not known any better.
const SAME_RATE: f64 = 0.01;

/// The hops with known ceilings, narrowest first, without the application (it is what all this is for).
pub(in crate::verdict) fn rank(case: &Case<'_>) -> Vec<Narrow> {
    let mut ranked = narrow::rank(case.path(), &case.subject.ceilings, case.direction);
    ranked.retain(|narrow| {
        let kind = case.path().hops.get(narrow.hop).map(Hop::kind);
        !matches!(kind, None | Some(HopKind::Application | HopKind::Generator))
    });
    ranked
}

/// The hops that move data and whose ceilings are not known. The application, memory and file systems are left out:
/// nothing is published for them, and on a healthy machine they are wider than the hardware below.
pub(in crate::verdict) fn unknown_hops(case: &Case<'_>) -> Vec<usize> {
    case.hops()
        .filter(|(_, hop)| {
            !matches!(
                hop.kind(),
                HopKind::Application | HopKind::Memory | HopKind::Filesystem | HopKind::BlockQueue
            )
        })
        .filter(|(index, _)| matches!(case.ceiling(*index), Some(Ceiling::Unknown(_))))
        .map(|(index, _)| index)
        .collect()
}

/// The hop with the smallest ceiling.
pub(super) fn smallest(case: &Case<'_>, ranked: &[Narrow]) -> Result<Attribution, String> {
    let unknown = unknown_hops(case);
    let hop = |index: usize| case.path().hops.get(index);
    let first = ranked.first().filter(|first| {
        // Memory is the narrows of a path only when everything before it is known to be wider.
        unknown.is_empty() || hop(first.hop).map(Hop::kind) != Some(HopKind::Memory)
    });
    let Some(first) = first else { return Err(why_nothing_is_known(case, &unknown)) };
    let limit = case.ceiling(first.hop).and_then(Ceiling::limit);
    let evidence = limit
        .map(|limit| {
            let facts = limit.facts.iter().map(|fact| Evidence::new(&fact.fact, &fact.value, &fact.source));
            std::iter::once(Evidence::new("ceiling", limit.rate, &limit.formula)).chain(facts).collect()
        })
        .unwrap_or_default();
    let guessed = limit.is_some_and(|limit| limit.basis == crate::ceiling::Basis::Guess);
    let confidence = match (unknown.is_empty(), guessed) {
        (true, false) => Confidence::High,
        (false, false) => Confidence::Medium,
        (_, true) => Confidence::Low,
    };
    Ok(Attribution {
        hop: first.hop,
        cause: Cause::Smallest,
        rate: Some(first.rate),
        confidence,
        evidence,
        next: behind(case, ranked, first.hop),
        unknown,
    })
}

fn why_nothing_is_known(case: &Case<'_>, unknown: &[usize]) -> String {
    let reasons: Vec<String> = unknown
        .iter()
        .filter_map(|index| {
            let hop = case.path().hops.get(*index)?;
            let Some(Ceiling::Unknown(reason)) = case.ceiling(*index) else { return None };
            Some(format!("{}: {reason}", hop.name))
        })
        .collect();
    match reasons.as_slice() {
        [] => "no hop of this path has a ceiling of its own".to_owned(),
        all => format!("no hop of this path has a known ceiling ({})", all.join("; ")),
    }
}

/// The narrowest hop that is another bottleneck than the one at `limiting`.
pub(super) fn behind(case: &Case<'_>, ranked: &[Narrow], limiting: usize) -> Option<Narrow> {
    let first = case.path().hops.get(limiting)?;
    let first_rate = ranked.iter().find(|narrow| narrow.hop == limiting).map(|narrow| narrow.rate);
    ranked
        .iter()
        .find(|narrow| {
            let Some(other) = case.path().hops.get(narrow.hop) else { return false };
            let same_rate = first_rate
                .is_some_and(|rate| (rate.get() - narrow.rate.get()).abs() <= rate.get() * SAME_RATE);
            narrow.hop != limiting
                && !are_one_part(first, other)
                && !(same_rate && are_parallel(case, first, other))
        })
        .copied()
}

/// Whether two hops are the same wire seen twice: a switch or chipset, and the link of its upstream port.
pub(in crate::verdict) fn are_one_part(a: &Hop, b: &Hop) -> bool {
    match (&a.spec, &b.spec) {
        (HopSpec::Link(link), HopSpec::Chipset(uplink) | HopSpec::Switch(uplink))
        | (HopSpec::Chipset(uplink) | HopSpec::Switch(uplink), HopSpec::Link(link)) => {
            link.device.address == uplink.address
        }
        (HopSpec::Link(a), HopSpec::Link(b)) => a.device.address == b.device.address,
        _ => a.id == b.id,
    }
}

/// Whether two hops do the same on parallel branches: the links of two members of an array. Widening one of them
/// alone changes nothing.
fn are_parallel(case: &Case<'_>, a: &Hop, b: &Hop) -> bool {
    a.kind() == b.kind() && a.id != b.id && !case.is_above(a, b) && !case.is_above(b, a)
}
