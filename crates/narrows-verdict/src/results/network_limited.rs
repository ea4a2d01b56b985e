//! The network is the bottleneck: the rate is that of a wire, or what the server does locally is much more.

use super::case::Case;
use crate::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use narrows_base::units::{BytesPerSec, Nanos, human};
use narrows_paste::results::Tool;
use narrows_paste::results::surroundings::Word;

/// Wires, in bytes per second: 1, 2.5, 10, 25, 40, 56, 100, 200 and 400 Gbit/s.
const WIRES: [f64; 9] = [0.125e9, 0.3125e9, 1.25e9, 3.125e9, 5e9, 7e9, 12.5e9, 25e9, 50e9];

/// The part of a wire that payload can have: Ethernet, IP and TCP take 5 %, NFS and the gaps a little more.
/// InfiniBand loses 2 %.
const FULL: std::ops::Range<f64> = 0.88..0.985;

/// A server that does so many times more by itself is not what holds its clients back.
const FASTER: f64 = 1.5;

pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    full_wire(case).or_else(|| full_clients(case)).or_else(|| slower_than_local(case)).into_iter().collect()
}

/// The narrowest wire that one of the rates fills.
pub(super) fn wire_of(rates: impl Iterator<Item = BytesPerSec>) -> Option<BytesPerSec> {
    let wires = rates.filter_map(|rate| WIRES.into_iter().find(|wire| FULL.contains(&(rate.get() / wire))));
    wires.min_by(f64::total_cmp).map(BytesPerSec::new)
}

fn finding(case: &Case<'_>, summary: String, evidence: Vec<Evidence>) -> Finding {
    case.finding(Code::NetworkLimited, Severity::Limit, summary)
        .with_evidence(evidence)
        .not_so_when("the interfaces' counters stay below their rate during the run")
        .with_advice([Advice::new(
            "more or faster links between client and server; or measure on the server itself",
        )])
        .with_confidence(Confidence::Medium)
}

fn full_wire(case: &Case<'_>) -> Option<Finding> {
    let source = case.around.has(Word::Network)?;
    // The wire that is named; else one that the fastest rate below it fills.
    let rates = || case.sides().map(|(_, _, side)| side.bytes_per_second);
    let wire = match &case.around.wire {
        Some((wire, _)) => *wire,
        None => wire_of(rates())?,
    };
    let (measured, op, side) =
        case.sides().find(|(_, _, side)| FULL.contains(&(side.bytes_per_second.get() / wire.get())))?;
    let share = human::percent(side.bytes_per_second.get() / wire.get());
    let summary =
        format!("The {} fill a wire: {}", case.name(measured, op), human::rate(side.bytes_per_second));
    Some(finding(
        case,
        summary,
        vec![
            case.evidence(measured, "rate", human::rate(side.bytes_per_second)),
            Evidence::new("part of a wire", format!("{share} of {}", human::rate(wire)), source),
        ],
    ))
}

/// Each client node of several at the rate of a wire, for longer than caches last.
fn full_clients(case: &Case<'_>) -> Option<Finding> {
    /// Nearly all of a wire: a chance of one in twenty that something else has its rate.
    const NEARLY: f64 = 0.93;
    const LONG: Nanos = Nanos::from_millis(30_000);
    let all = case.beside.measured().filter(|(of, _)| of.tool == Tool::Ior && case.result.tool == Tool::Ior);
    let rates = all.flat_map(|(_, one)| {
        let nodes = one.nodes.filter(|nodes| *nodes > 1);
        let long = one.sides().filter(|(_, side)| side.elapsed_ns.is_some_and(|time| time > LONG));
        long.filter_map(move |(op, side)| Some((op, side.bytes_per_second / f64::from(nodes?))))
            .collect::<Vec<_>>()
    });
    let (op, rate, wire) = rates.into_iter().find_map(|(op, rate)| {
        let wire = wire_of(std::iter::once(rate)).filter(|wire| rate.get() > NEARLY * wire.get())?;
        Some((op, rate, wire))
    })?;
    let summary = format!("Each client node {}s {}, as much as a wire carries", op.word(), human::rate(rate));
    let place = case.result.place();
    Some(finding(
        case,
        summary,
        vec![
            Evidence::new(format!("{} by each node", op.word()), human::rate(rate), place.clone()),
            Evidence::new("a wire", human::rate(wire), place),
        ],
    ))
}

/// Rates over NFS that stand beside a local result.
fn slower_than_local(case: &Case<'_>) -> Option<Finding> {
    let (remote, source) = case.around.remote.iter().max_by(|a, b| a.0.get().total_cmp(&b.0.get()))?;
    let (measured, op, side) =
        case.sides().max_by(|a, b| a.2.bytes_per_second.get().total_cmp(&b.2.bytes_per_second.get()))?;
    (side.bytes_per_second.get() > FASTER * remote.get()).then(|| {
        let summary = format!(
            "The network's clients get {} at most of what the server's own {} reach ({})",
            human::rate(*remote),
            case.name(measured, op),
            human::rate(side.bytes_per_second)
        );
        // This result was measured without the network, which limits others.
        let local = finding(
            case,
            summary,
            vec![
                case.evidence(measured, "local rate", human::rate(side.bytes_per_second)),
                Evidence::new("best rate over the network", human::rate(*remote), source.clone()),
            ],
        );
        Finding { severity: Severity::Info, ..local }
    })
}
