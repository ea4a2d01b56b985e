//! The narrowest hop by arithmetic: the smallest ceiling divided by its traffic.

use narrows_base::units::BytesPerSec;
use narrows_model::ceiling::{self, Narrow};
use narrows_model::ceiling::{Basis, Ceiling, Direction, medium};
use narrows_model::path::{Hop, HopKind, HopSpec};

use super::super::case::Case;
use super::super::finding::{Confidence, Evidence};
use super::{Attribution, Cause};

/// Rates closer than this are one rate: the ceilings are not known any better.
const SAME_RATE: f64 = 0.01;

/// The hops with known ceilings, narrowest first, without the application (it is what all this is for).
pub(crate) fn rank(case: &Case<'_>) -> Vec<Narrow> {
    let mut ranked = ceiling::rank(case.path(), &case.subject.ceilings, case.direction);
    ranked.retain(|narrow| {
        let kind = case.path().hops.get(narrow.hop).map(Hop::kind);
        !matches!(kind, None | Some(HopKind::Application | HopKind::Generator))
    });
    ranked
}

/// The hops that move data and whose ceilings are not known. The application, memory and file systems are left out:
/// nothing is published for them, and on a healthy machine they are wider than the hardware below.
pub(crate) fn unknown_hops(case: &Case<'_>) -> Vec<usize> {
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

/// The media with the ceiling of a class, of which the slowest may be narrower than `first`.
fn slower_media(case: &Case<'_>, first: &Narrow) -> Vec<usize> {
    let is_guess = |index| {
        let limit = case.ceiling(index).and_then(Ceiling::limit);
        limit.is_some_and(|limit| limit.basis == Basis::Guess)
    };
    case.hops()
        .filter(|(index, hop)| {
            let HopSpec::Device(device) = &hop.spec else { return false };
            let Some((read, write)) = medium::least_share(device).filter(|_| *index != first.hop) else {
                return false;
            };
            let share = if case.direction == Direction::Read { read } else { write };
            is_guess(*index) && case.path_rate(*index).is_some_and(|rate| rate * share < first.rate)
        })
        .map(|(index, _)| index)
        .collect()
}

/// The hop with the smallest ceiling.
pub(super) fn smallest(case: &Case<'_>, ranked: &[Narrow]) -> Result<Attribution, String> {
    let mut unknown = unknown_hops(case);
    let hop = |index: usize| case.path().hops.get(index);
    let first = ranked.first().filter(|first| {
        // Memory is the bottleneck of a path only when everything before it is known to be wider.
        unknown.is_empty() || hop(first.hop).map(Hop::kind) != Some(HopKind::Memory)
    });
    let Some(first) = first else { return Err(why_nothing_is_known(case, &unknown)) };
    if hop(first.hop).map(Hop::kind) != Some(HopKind::Device) {
        unknown.extend(slower_media(case, first));
    }
    let limit = case.ceiling(first.hop).and_then(Ceiling::limit);
    let evidence = limit
        .map(|limit| {
            let facts = limit.facts.iter().map(|fact| Evidence::new(&fact.fact, &fact.value, &fact.source));
            std::iter::once(Evidence::new("ceiling", limit.rate, &limit.formula)).chain(facts).collect()
        })
        .unwrap_or_default();
    let guessed = limit.is_some_and(|limit| limit.basis == Basis::Guess);
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

/// The narrowest hop that is another bottleneck than the one at `limiting`. Of equally narrow ones it is the one that
/// more of the traffic crosses: an uplink before the links that it feeds.
pub(super) fn behind(case: &Case<'_>, ranked: &[Narrow], limiting: usize) -> Option<Narrow> {
    let first = case.path().hops.get(limiting)?;
    let first_rate = ranked.iter().find(|narrow| narrow.hop == limiting).map(|narrow| narrow.rate);
    let is_another = |narrow: &&Narrow| {
        let Some(other) = case.path().hops.get(narrow.hop) else { return false };
        let same_rate = first_rate.is_some_and(|rate| is_same(rate, narrow.rate));
        narrow.hop != limiting
            && !are_one_part(first, other)
            && !(same_rate && (are_parallel(case, first, other) || is_bond(case, first, other)))
    };
    let others: Vec<&Narrow> = ranked.iter().filter(is_another).collect();
    let narrowest = others.first()?.rate;
    let traffic = |narrow: &Narrow| case.path().hops.get(narrow.hop).map_or(0.0, |hop| case.traffic(hop));
    others
        .into_iter()
        .take_while(|narrow| is_same(narrowest, narrow.rate))
        .reduce(|best, other| if traffic(other) > traffic(best) { other } else { best })
        .copied()
}

fn is_same(a: BytesPerSec, b: BytesPerSec) -> bool {
    (a.get() - b.get()).abs() <= a.get() * SAME_RATE
}

/// The hop at `index` and those that do the same at the same rate on branches beside it, in path order: the four drives
/// of an array. Only together are they the bottleneck.
pub(crate) fn peers<'a>(case: &Case<'a>, index: usize) -> Vec<&'a Hop> {
    let Some(first) = case.path().hops.get(index) else { return Vec::new() };
    let rate = case.path_rate(index);
    let is_peer = |other: usize, hop: &Hop| {
        let same = rate.zip(case.path_rate(other)).is_some_and(|(a, b)| is_same(a, b));
        other == index || same && are_parallel(case, first, hop)
    };
    case.hops().filter(|(other, hop)| is_peer(*other, hop)).map(|(_, hop)| hop).collect()
}

/// Whether two hops are the same wire seen twice: a switch or chipset, and the link of its upstream port.
pub(crate) fn are_one_part(a: &Hop, b: &Hop) -> bool {
    match (&a.spec, &b.spec) {
        (HopSpec::Link(link), HopSpec::Chipset(uplink) | HopSpec::Switch(uplink))
        | (HopSpec::Chipset(uplink) | HopSpec::Switch(uplink), HopSpec::Link(link)) => {
            link.device.address == uplink.address
        }
        (HopSpec::Link(a), HopSpec::Link(b)) => a.device.address == b.device.address,
        _ => a.id == b.id,
    }
}

/// Whether two hops are a bond of network interfaces and one of them.
fn is_bond(case: &Case<'_>, a: &Hop, b: &Hop) -> bool {
    let are_interfaces = a.kind() == HopKind::Network && b.kind() == HopKind::Network;
    are_interfaces && (case.is_above(a, b) || case.is_above(b, a))
}

/// Whether two hops do the same on parallel branches: the links of two members of an array. Widening one of them
/// alone changes nothing. What the branches share lies less deep, and carries more than each of them.
fn are_parallel(case: &Case<'_>, a: &Hop, b: &Hop) -> bool {
    let (one, other) = (case.traffic(a), case.traffic(b));
    a.kind() == b.kind()
        && a.id != b.id
        && a.depth == b.depth
        && (one - other).abs() <= SAME_RATE * one.max(other)
        && !case.is_above(a, b)
        && !case.is_above(b, a)
}
