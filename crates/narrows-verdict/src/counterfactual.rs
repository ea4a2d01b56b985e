//! What a path would get if an advice about its narrowest hop were followed, by the laws of predictions: a rate with its interval, or why it
//! is not known and what bounds it.
//!
//! The gain of an advice is one of ceilings, and ceilings are seldom reached. Here the machine is described as `--to-path` does, the
//! hop is widened in the description, and the workload of that description is predicted: where no law is known to hold, it is refused.

use serde::{Deserialize, Serialize};

use narrows_base::fact::Fact;
use narrows_base::lists::distinct;
use narrows_base::units::{BytesPerSec, GtPerSec, Lanes, human};
use narrows_machine::Machine;
use narrows_model::ceiling::{self, Direction, pcie};
use narrows_model::path::file::{System, Workload};
use narrows_model::path::{Hop, HopId, HopKind, LinkHop};
use narrows_model::predict::{BoundKind, Prediction, describe, predict, predict_widened};

use crate::attribution::{are_one_part, rank};
use crate::rules::Judged;
use crate::{Advice, Finding, PathVerdict, Subject};

/// What a workload would get.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Foreseen {
    /// The predicted rate.
    pub bytes_per_second: Option<BytesPerSec>,
    /// Where it lies in 80 of 100 cases: lower and upper end.
    pub interval_80: Option<[BytesPerSec; 2]>,
    /// Where it lies in 95 of 100 cases.
    pub interval_95: Option<[BytesPerSec; 2]>,
    /// Where the rate is not known: what it does not exceed, if anything is known that bounds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most_bytes_per_second: Option<BytesPerSec>,
    /// The name of the hop that bounds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most_by: Option<String>,
    /// What would have to be measured to know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure_instead: Option<String>,
    /// Why the rate is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a workload would get if an advice were followed, by the laws of `narrows predict`. Nothing of it is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counterfactual {
    /// The hop that the advice is about.
    pub hop: HopId,
    /// The step, word for word that of the advice.
    pub action: String,
    /// The direction of the data.
    pub direction: Direction,
    /// The workload, in words: `sequential reads of 1 MiB, 8 under way`.
    pub workload: String,
    /// What it would get.
    #[serde(flatten)]
    pub foreseen: Foreseen,
}

/// What a hop is called that was changed.
const CHANGED: &str = "the hop that was changed";
/// Ceilings that differ by a smaller part are those of one hop.
const SAME: f64 = 0.005;
/// A hop that is so many times as wide as another does not decide beside it.
const FAR: f64 = 16.0;

/// An outcome for each advice with a known gain about the narrowest hop of the path, for reads, and for writes where another hop is their
/// narrowest.
pub fn of(
    machine: &Machine,
    subject: &Subject,
    verdict: &PathVerdict,
    findings: &[Finding],
) -> Vec<Counterfactual> {
    let reads = verdict.limiting.get(&Direction::Read);
    let writes = verdict.limiting.get(&Direction::Write).filter(|hop| Some(*hop) != reads);
    let asked = [(Direction::Read, reads), (Direction::Write, writes)];
    let asked = asked.into_iter().filter_map(|(direction, hop)| Some((direction, hop?)));
    let advices = asked.flat_map(|(direction, hop)| {
        let about = findings.iter().filter(move |finding| finding.hop.as_ref() == Some(hop));
        let advices = about.flat_map(|finding| &finding.advice);
        advices.filter_map(move |it| Some((direction, hop, it, it.gain_bytes_per_second?)))
    });
    let advices: Vec<(Direction, &HopId, &Advice, BytesPerSec)> = advices.collect();
    if advices.is_empty() {
        return Vec::new();
    }
    // The machine as far as the path goes, and what the description runs on it.
    let (system, _) = describe(machine, std::slice::from_ref(&subject.path));
    let all = advices.into_iter().map(|(direction, hop, advice, gain)| {
        let workload = system.workloads.first().map(|workload| match direction {
            Direction::Read => workload.clone(),
            Direction::Write => workload.clone().writing(),
        });
        let foreseen = match &workload {
            Some(workload) => widened(&system, workload, subject, (direction, hop), gain),
            None => refused("what is behind this path cannot be described"),
        };
        Counterfactual {
            hop: hop.clone(),
            action: advice.action.clone(),
            direction,
            workload: workload.as_ref().map(in_words).unwrap_or_default(),
            foreseen,
        }
    });
    all.collect()
}

fn in_words(workload: &Workload) -> String {
    let what = if workload.read_share > 0.0 { "reads" } else { "writes" };
    let (size, count) = (human::block_size(workload.block_size), human::count(workload.in_flight()));
    format!("{} {what} of {size}, {count} under way", workload.pattern.word())
}

fn refused(because: &str) -> Foreseen {
    Foreseen { reason: Some(because.to_owned()), ..Foreseen::default() }
}

/// What the workload gets when the application gets so much more through the hop.
fn widened(
    system: &System,
    workload: &Workload,
    subject: &Subject,
    (direction, hop): (Direction, &HopId),
    gain: BytesPerSec,
) -> Foreseen {
    let ranked = ceiling::rank(&subject.path, &subject.ceilings, direction);
    let place = subject.path.hops.iter().position(|it| it.id == *hop);
    let now = ranked.iter().find(|it| Some(it.hop) == place).map(|it| it.rate);
    let (Some(now), Some(kind)) = (now.filter(|now| now.get() > 0.0), subject.path.hop(hop).map(Hop::kind))
    else {
        return refused("the ceiling of the hop is not known");
    };
    let today = match predict(system, workload) {
        Ok(today) => today,
        Err(error) => return refused(&error.to_string()),
    };
    let there = match same_hop(&today, kind, now) {
        Ok(there) => there,
        Err(because) => return refused(because),
    };
    let after = now + gain;
    // The next hop hides what this one could do beyond it, and so whether this one still decides: it lies between the two.
    let is_hidden =
        ranked.iter().any(|it| Some(it.hop) != place && it.rate.get() <= after.get() * (1.0 + SAME));
    let least = after.fraction_of(now);
    let factors = [Some(least), is_hidden.then_some(least * FAR)];
    let outcomes = factors.into_iter().flatten().map(|factor| {
        predict_widened(system, workload, (&there, factor))
            .map_or_else(|error| refused(&error.to_string()), |it| outcome(&it, &there))
    });
    outcomes.reduce(both).unwrap_or_else(|| refused("no hop is widened"))
}

/// The hop of the description that is this one: the only one of its kind through which the application gets as much.
fn same_hop(today: &Prediction, kind: HopKind, now: BytesPerSec) -> Result<HopId, &'static str> {
    let is_of_kind = |id: &HopId| today.path.hops.iter().any(|hop| hop.id == *id && hop.kind() == kind);
    let bounds =
        today.bounds.iter().filter(|bound| bound.kind == BoundKind::Bandwidth && is_of_kind(&bound.hop));
    let alike = bounds.filter(|bound| (bound.rate.fraction_of(now) - 1.0).abs() <= SAME);
    match distinct(alike.map(|bound| &bound.hop)).as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err("a description of this path has no such hop"),
        _ => Err("several hops of the path carry as much as this one, and only this one would change"),
    }
}

/// What a prediction tells in which `changed` is the hop that is widened.
fn outcome(it: &Prediction, changed: &HopId) -> Foreseen {
    match (it.answer.as_ref().ok(), it.answer.as_ref().err()) {
        (Some(intervals), _) => {
            let of = |(low, high): (f64, f64)| Some([it.rate * low, it.rate * high]);
            let (interval_80, interval_95) = (of(intervals.in_80), of(intervals.in_95));
            Foreseen { bytes_per_second: Some(it.rate), interval_80, interval_95, ..Foreseen::default() }
        }
        (None, not_known) => Foreseen {
            reason: Some(not_known.map(|it| it.because.clone()).unwrap_or_default()),
            measure_instead: not_known.map(|it| it.measure.clone()).filter(|text| !text.is_empty()),
            at_most_bytes_per_second: it.at_most().map(|bound| bound.rate),
            at_most_by: it.at_most().map(|bound| {
                // The description still calls it what it is today.
                if bound.hop == *changed { CHANGED.to_owned() } else { bound.name.clone() }
            }),
            ..Foreseen::default()
        },
    }
}

/// What holds whichever of two is true: the widest of both intervals, and nothing where one is refused.
fn both(a: Foreseen, b: Foreseen) -> Foreseen {
    let (Some(rate), Some(other)) = (a.bytes_per_second, b.bytes_per_second) else {
        return if a.bytes_per_second.is_none() { a } else { b };
    };
    let wide = |(a, b): ([BytesPerSec; 2], [BytesPerSec; 2])| [a[0].min(b[0]), a[1].max(b[1])];
    Foreseen {
        bytes_per_second: Some(rate.max(other)),
        interval_80: a.interval_80.zip(b.interval_80).map(wide),
        interval_95: a.interval_95.zip(b.interval_95).map(wide),
        ..a
    }
}

/// What would a change bring? The path's ceiling after it, less the ceiling before.
///
/// How much faster the path becomes when the hop at `index` carries `better`, in the direction that gains more.
///
/// `None` when it becomes no faster, when nothing is known of the hop, or when a run has shown that another hop is the
/// narrows.
pub(super) fn gain_of_better(judged: &Judged<'_>, index: usize, better: BytesPerSec) -> Option<BytesPerSec> {
    most_gain(judged, index, Some(better))
}

/// How much faster the path becomes without the hop at `index`; see [`gain_of_better`]. `None` too when a hop that is not
/// known would then be all that limits.
pub(super) fn gain_of_removing(judged: &Judged<'_>, index: usize) -> Option<BytesPerSec> {
    let is_known = judged.limited_by(index).all(|(_, limit)| limit.unknown.is_empty());
    if is_known { most_gain(judged, index, None) } else { None }
}

fn most_gain(judged: &Judged<'_>, index: usize, better: Option<BytesPerSec>) -> Option<BytesPerSec> {
    let gain = |direction| {
        let (case, limit) = (judged.case(direction), judged.limit(direction)?);
        if case.run.is_some() && limit.hop != index {
            return None;
        }
        let here = case.path().hops.get(index)?;
        let traffic = Some(case.traffic(here)).filter(|traffic| *traffic > 0.0)?;
        // A switch or chipset and its own uplink are one wire: both become faster together.
        let is_same_wire =
            |other: usize| case.path().hops.get(other).is_some_and(|hop| are_one_part(here, hop));
        let others = rank(&case).into_iter().filter(|it| it.hop != index && !is_same_wire(it.hop));
        let rates = others.map(|narrow| narrow.rate).chain(better.map(|better| better / traffic));
        Some(rates.reduce(BytesPerSec::min)? - limit.rate?)
    };
    let gains = [Direction::Read, Direction::Write].into_iter().filter_map(gain);
    gains.reduce(BytesPerSec::max).filter(|gain| gain.get() > 0.0)
}

/// What the link would carry if its port offered this many lanes at the speed it has now.
pub(super) fn link_at_width(link: &LinkHop, width: Lanes) -> Option<BytesPerSec> {
    let mut wider = link.clone();
    let port = wider.port.as_mut()?;
    port.link.max_width = Fact::known(width, "the changed slot");
    Some(pcie::capable(&wider)?.rate)
}

/// The usable rate of the link at a speed and width, towards the host.
pub(super) fn link_at(link: &LinkHop, speed: GtPerSec, width: Lanes) -> Option<BytesPerSec> {
    let mut other = link.clone();
    other.device.link.max_speed = Fact::known(speed, "observed");
    other.device.link.max_width = Fact::known(width, "observed");
    Some(pcie::device_wants(&other)?.rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(rate: f64, [low, high]: [f64; 2]) -> Foreseen {
        let of = |part: f64| BytesPerSec::new(rate * part);
        let (interval_80, interval_95) = (Some([of(0.98), of(1.01)]), Some([of(low), of(high)]));
        Foreseen { bytes_per_second: Some(of(1.0)), interval_80, interval_95, ..Foreseen::default() }
    }

    #[test]
    fn of_two_that_may_be_true_what_holds_of_both_is_said() {
        let it = both(known(1e9, [0.8, 1.1]), known(1.1e9, [0.9, 1.2]));
        let ends = it.interval_95.map(|ends| ends.map(BytesPerSec::get));
        assert_eq!((it.bytes_per_second.map(BytesPerSec::get), ends), (Some(1.1e9), Some([0.8e9, 1.32e9])));
        let none = refused("nobody measured it");
        assert_eq!(both(known(1e9, [0.8, 1.1]), none.clone()), none);
        assert_eq!(both(none.clone(), known(1e9, [0.8, 1.1])), none);
    }

    #[test]
    fn a_workload_is_said_in_words() {
        let read = Workload::reading("sda");
        assert_eq!(in_words(&read), "sequential reads of 1 MiB, 8 under way");
        assert_eq!(in_words(&read.writing()), "sequential writes of 1 MiB, 8 under way");
    }
}
