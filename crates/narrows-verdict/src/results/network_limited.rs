//! The network is the bottleneck: the rate is that of a wire, or what the server does locally is much more.

use super::case::Case;
use crate::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_paste::results::Tool;
use narrows_paste::results::surroundings::Word;

/// Wires, in bytes per second: 1, 2.5, 10, 25, 40, 56, 100, 200 and 400 Gbit/s.
const WIRES: [f64; 9] = [0.125e9, 0.3125e9, 1.25e9, 3.125e9, 5e9, 7e9, 12.5e9, 25e9, 50e9];

/// The part of a wire that payload can have: Ethernet, IP and TCP take 5 %, NFS and the gaps a little more.
/// InfiniBand loses 2 %.
const FULL: std::ops::Range<f64> = 0.88..0.985;

/// A server that does so many times more by itself is not what holds its clients back.
const FASTER: f64 = 1.5;

/// Caches last no longer.
const LONG: Nanos = Nanos::from_millis(30_000);

pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    let full = full_wire(case).or_else(|| full_clients(case)).or_else(|| full_wire_of_ceph(case));
    full.or_else(|| slower_than_local(case)).into_iter().collect()
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

/// Clients of Ceph reach its servers over a network: large objects at the rate of a wire, which varies less from second to
/// second than so few objects do by chance (Poisson), are held by something even.
fn full_wire_of_ceph(case: &Case<'_>) -> Option<Finding> {
    const LARGE: Bytes = Bytes::from_mib(1);
    if case.result.tool != Tool::Radosbench {
        return None;
    }
    let (measured, op, side, wire, relative) = case.sides().find_map(|(measured, op, side)| {
        let is_large = measured.work.block_size.is_some_and(|size| size >= LARGE);
        let is_long = side.elapsed_ns.is_some_and(|time| time > LONG);
        let spread = side.spread.filter(|_| is_large && is_long)?;
        let each_second = side.ios? as f64 / spread.samples? as f64;
        let relative = spread.relative().filter(|relative| relative * each_second.sqrt() < 1.0)?;
        let wire = wire_of(std::iter::once(side.bytes_per_second))?;
        Some((measured, op, side, wire, relative))
    })?;
    let summary = format!(
        "The {} are as much as a wire carries: {}",
        case.name(measured, op),
        human::rate(side.bytes_per_second)
    );
    let share = human::percent(side.bytes_per_second.get() / wire.get());
    let evidence = vec![
        case.evidence(measured, "part of a wire", format!("{share} of {}", human::rate(wire))),
        case.evidence(
            measured,
            "standard deviation from second to second",
            format!("{} of the mean", human::percent(relative)),
        ),
    ];
    Some(finding(case, summary, evidence).with_confidence(Confidence::Low))
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

#[cfg(test)]
mod tests {
    use super::super::testing::{codes, verdicts};
    use super::*;

    #[test]
    fn large_objects_of_ceph_at_the_even_rate_of_a_wire_are_limited_by_it() {
        let found = |size: u32, rate: f64, deviation: f64| {
            let time = f64::from(size) * 1620.0 / 1_048_576.0 / rate;
            let body = format!(
                "rados bench -p test 60 write --no-cleanup\nTotal time run:         {time:.4}\nTotal writes made:      1620\nWrite size:             {size}\nObject size:            {size}\nBandwidth (MB/sec):     {rate}\nStddev Bandwidth:       {deviation}\nAverage IOPS:           26\nAverage Latency(s):     0.59499\n"
            );
            codes(&verdicts(&body).remove(0)).contains(&Code::NetworkLimited)
        };
        assert!(found(4 << 20, 107.249, 10.67));
        assert!(!found(4 << 20, 95.0, 9.5), "no wire's rate");
        assert!(!found(4 << 20, 107.249, 40.0), "by chance");
        assert!(!found(4096, 0.107, 0.01), "small");
    }
}
