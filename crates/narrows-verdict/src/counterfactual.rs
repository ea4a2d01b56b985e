//! What a path would get if an advice about its narrowest hop were followed, by the laws of predictions: a rate with its interval, or why it
//! is not known and what bounds it.
//!
//! The gain of an advice is one of ceilings, and ceilings are seldom reached. Here the machine is described as `check --to-path` does, the
//! hop is widened in the description, and the workload of that description is predicted: where no law is known to hold, it is refused.

use narrows_base::fact::Fact;
use narrows_base::units::{BytesPerSec, GtPerSec, Lanes, human};
use narrows_machine::Machine;
use narrows_model::ceiling::{self, Direction, Limit, pcie};
use narrows_model::path::file::{Pattern, System, Workload};
use narrows_model::path::{HopId, HopKind, LinkHop};
use narrows_model::predict::{BoundKind, Prediction, describe, predict, predict_widened};

use crate::rules::Judged;
use crate::{Advice, Finding, PathVerdict, Subject};

/// What would be if an advice were followed.
#[derive(Debug, Clone, PartialEq)]
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
    pub outcome: Outcome,
}

/// What a workload would get.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// A rate, and where it lies in 80 and in 95 of 100 cases.
    Known {
        /// The rate.
        rate: BytesPerSec,
        /// In 80 of 100 cases: lower and upper end.
        in_80: [BytesPerSec; 2],
        /// In 95 of 100 cases.
        in_95: [BytesPerSec; 2],
    },
    /// It is not known.
    Refused {
        /// Why.
        because: String,
        /// What would have to be measured, if anything would tell.
        measure: Option<String>,
        /// What it does not exceed, and the name of the hop that bounds it.
        at_most: Option<(BytesPerSec, String)>,
    },
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
    let advices: Vec<(Direction, &HopId, &Advice, BytesPerSec)> = asked
        .into_iter()
        .filter_map(|(direction, hop)| Some((direction, hop?)))
        .flat_map(|(direction, hop)| {
            let about = findings.iter().filter(move |finding| finding.hop.as_ref() == Some(hop));
            let advices = about.flat_map(|finding| &finding.advice);
            advices.filter_map(move |it| Some((direction, hop, it, it.gain_bytes_per_second?)))
        })
        .collect();
    if advices.is_empty() {
        return Vec::new();
    }
    let ground = described(machine, subject);
    let all = advices.into_iter().map(|(direction, hop, advice, gain)| {
        let workload = ground.as_ref().map(|(_, workload)| in_direction(workload, direction));
        let outcome = match (&ground, &workload) {
            (Some((system, _)), Some(workload)) => widened(system, workload, subject, (direction, hop), gain),
            _ => refused("what is behind this path cannot be described"),
        };
        Counterfactual {
            hop: hop.clone(),
            action: advice.action.clone(),
            direction,
            workload: workload.as_ref().map(in_words).unwrap_or_default(),
            outcome,
        }
    });
    all.collect()
}

/// The machine as far as the path goes, and what the description runs on it.
fn described(machine: &Machine, subject: &Subject) -> Option<(System, Workload)> {
    let (system, _) = describe(machine, std::slice::from_ref(&subject.path));
    let workload = system.workloads.first()?.clone();
    Some((system, workload))
}

fn in_direction(workload: &Workload, direction: Direction) -> Workload {
    match direction {
        Direction::Read => workload.clone(),
        Direction::Write => workload.clone().writing(),
    }
}

fn in_words(workload: &Workload) -> String {
    let order = match workload.pattern {
        Pattern::Sequential => "sequential",
        Pattern::Random => "random",
    };
    let what = if workload.read_share > 0.0 { "reads" } else { "writes" };
    format!(
        "{order} {what} of {}, {} under way",
        human::block_size(workload.block_size),
        human::count(workload.in_flight())
    )
}

fn refused(because: &str) -> Outcome {
    Outcome::Refused { because: because.to_owned(), measure: None, at_most: None }
}

/// What the workload gets when the application gets so much more through the hop.
fn widened(
    system: &System,
    workload: &Workload,
    subject: &Subject,
    (direction, hop): (Direction, &HopId),
    gain: BytesPerSec,
) -> Outcome {
    let ranked = ceiling::rank(&subject.path, &subject.ceilings, direction);
    let place = subject.path.hops.iter().position(|it| it.id == *hop);
    let now = ranked.iter().find(|it| Some(it.hop) == place).map(|it| it.rate);
    let (Some(now), Some(kind)) = (now.filter(|now| now.get() > 0.0), kind_of(subject, hop)) else {
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

fn kind_of(subject: &Subject, hop: &HopId) -> Option<HopKind> {
    subject.path.hops.iter().find(|it| it.id == *hop).map(|it| it.kind())
}

/// The hop of the description that is this one: the only one of its kind through which the application gets as much.
fn same_hop(today: &Prediction, kind: HopKind, now: BytesPerSec) -> Result<HopId, &'static str> {
    let is_of_kind = |id: &HopId| today.path.hops.iter().any(|hop| hop.id == *id && hop.kind() == kind);
    let mut alike: Vec<&HopId> = today
        .bounds
        .iter()
        .filter(|bound| bound.kind == BoundKind::Bandwidth && is_of_kind(&bound.hop))
        .filter(|bound| (bound.rate.fraction_of(now) - 1.0).abs() <= SAME)
        .map(|bound| &bound.hop)
        .collect();
    alike.sort_unstable();
    alike.dedup();
    match alike.as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err("a description of this path has no such hop"),
        _ => Err("several hops of the path carry as much as this one, and only this one would change"),
    }
}

/// What a prediction tells in which `changed` is the hop that is widened.
fn outcome(it: &Prediction, changed: &HopId) -> Outcome {
    match (it.answer.intervals(), it.answer.not_known()) {
        (Some(intervals), _) => {
            let of = |(low, high): (f64, f64)| [it.rate * low, it.rate * high];
            Outcome::Known { rate: it.rate, in_80: of(intervals.in_80), in_95: of(intervals.in_95) }
        }
        (None, not_known) => Outcome::Refused {
            because: not_known.map(|it| it.because.clone()).unwrap_or_default(),
            measure: not_known.map(|it| it.measure.clone()).filter(|text| !text.is_empty()),
            at_most: it.at_most().map(|bound| {
                // The description still calls it what it is today.
                let is_changed = bound.hop == *changed;
                (bound.rate, if is_changed { CHANGED.to_owned() } else { bound.name.clone() })
            }),
        },
    }
}

/// What holds whichever of two is true: the widest of both intervals, and nothing where one is refused.
fn both(a: Outcome, b: Outcome) -> Outcome {
    match (a, b) {
        (Outcome::Known { rate, in_80, in_95 }, Outcome::Known { rate: other, in_80: b_80, in_95: b_95 }) => {
            let wide = |a: [BytesPerSec; 2], b: [BytesPerSec; 2]| [a[0].min(b[0]), a[1].max(b[1])];
            Outcome::Known { rate: rate.max(other), in_80: wide(in_80, b_80), in_95: wide(in_95, b_95) }
        }
        (refused @ Outcome::Refused { .. }, _) | (_, refused) => refused,
    }
}

/// What would a change bring? The path's ceiling after it, less the ceiling before.
///
/// How much faster the path becomes when the hop at `index` carries `better`, in the direction that gains more.
///
/// `None` when it becomes no faster, when nothing is known of the hop, or when a run has shown that another hop is the
/// narrows.
pub(super) fn gain_of_better(judged: &Judged<'_>, index: usize, better: &Limit) -> Option<BytesPerSec> {
    most_gain(judged, index, Some(better.rate))
}

/// How much faster the path becomes without the hop at `index`; see [`gain_of_better`]. `None` too when a hop that is not
/// known would then be all that limits.
pub(super) fn gain_of_removing(judged: &Judged<'_>, index: usize) -> Option<BytesPerSec> {
    let is_known = judged.limited_by(index).all(|(_, limit)| limit.unknown.is_empty());
    if is_known { most_gain(judged, index, None) } else { None }
}

fn most_gain(judged: &Judged<'_>, index: usize, better: Option<BytesPerSec>) -> Option<BytesPerSec> {
    [Direction::Read, Direction::Write]
        .into_iter()
        .filter_map(|direction| gain_in_direction(judged, direction, index, better))
        .filter(|gain| gain.get() > 0.0)
        .max_by(|a, b| a.get().total_cmp(&b.get()))
}

fn gain_in_direction(
    judged: &Judged<'_>,
    direction: Direction,
    index: usize,
    better: Option<BytesPerSec>,
) -> Option<BytesPerSec> {
    let case = judged.case(direction);
    let limit = judged.limit(direction)?;
    if case.run.is_some() && limit.hop != index {
        return None;
    }
    let traffic = case.traffic(case.path().hops.get(index)?);
    if traffic <= 0.0 {
        return None;
    }
    let before = limit.rate?;
    let after = super::attribution::rank(&case)
        .iter()
        .filter(|narrow| narrow.hop != index && !is_same_wire(&case, index, narrow.hop))
        .map(|narrow| narrow.rate)
        .chain(better.map(|better| better / traffic))
        .min_by(|a, b| a.get().total_cmp(&b.get()))?;
    Some(after - before)
}

/// A switch or chipset and its own uplink are one wire: both become faster together.
fn is_same_wire(case: &super::case::Case<'_>, a: usize, b: usize) -> bool {
    match (case.path().hops.get(a), case.path().hops.get(b)) {
        (Some(a), Some(b)) => super::attribution::are_one_part(a, b),
        _ => false,
    }
}

/// What the link would carry if its port offered this many lanes at the speed it has now.
pub(super) fn link_at_width(link: &LinkHop, width: Lanes) -> Option<Limit> {
    let mut wider = link.clone();
    let port = wider.port.as_mut()?;
    port.link.max_width = Fact::known(width, "the changed slot");
    pcie::capable(&wider)
}

/// The usable rate of the link at a speed and width, towards the host.
pub(super) fn link_at(link: &LinkHop, speed: GtPerSec, width: Lanes) -> Option<Limit> {
    let mut other = link.clone();
    other.device.link.max_speed = Fact::known(speed, "observed");
    other.device.link.max_width = Fact::known(width, "observed");
    pcie::device_wants(&other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(rate: f64, [low, high]: [f64; 2]) -> Outcome {
        let of = |part: f64| BytesPerSec::new(rate * part);
        Outcome::Known { rate: of(1.0), in_80: [of(0.98), of(1.01)], in_95: [of(low), of(high)] }
    }

    #[test]
    fn of_two_that_may_be_true_what_holds_of_both_is_said() {
        let Outcome::Known { rate, in_95, .. } = both(known(1e9, [0.8, 1.1]), known(1.1e9, [0.9, 1.2]))
        else {
            panic!("both are known")
        };
        assert_eq!((rate.get(), in_95.map(BytesPerSec::get)), (1.1e9, [0.8e9, 1.32e9]));
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
