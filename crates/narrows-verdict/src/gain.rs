//! What would a change bring? The path's ceiling after it, less the ceiling before.

use narrows_base::fact::Fact;
use narrows_base::units::{BytesPerSec, GtPerSec, Lanes};
use narrows_model::ceiling::{Direction, Limit, pcie};
use narrows_model::path::LinkHop;

use super::rules::Judged;

/// How much faster the path becomes when the hop at `index` carries `better`, in the direction that gains more.
///
/// `None` when it becomes no faster, when nothing is known of the hop, or when a run has shown that another hop is the
/// narrows.
pub(super) fn of_better(judged: &Judged<'_>, index: usize, better: &Limit) -> Option<BytesPerSec> {
    most(judged, index, Some(better.rate))
}

/// How much faster the path becomes without the hop at `index`; see [`of_better`]. `None` too when a hop that is not
/// known would then be all that limits.
pub(super) fn of_removing(judged: &Judged<'_>, index: usize) -> Option<BytesPerSec> {
    let is_known = judged.limited_by(index).all(|(_, limit)| limit.unknown.is_empty());
    if is_known { most(judged, index, None) } else { None }
}

fn most(judged: &Judged<'_>, index: usize, better: Option<BytesPerSec>) -> Option<BytesPerSec> {
    [Direction::Read, Direction::Write]
        .into_iter()
        .filter_map(|direction| in_direction(judged, direction, index, better))
        .filter(|gain| gain.get() > 0.0)
        .max_by(|a, b| a.get().total_cmp(&b.get()))
}

fn in_direction(
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
pub(super) fn at_width(link: &LinkHop, width: Lanes) -> Option<Limit> {
    let mut wider = link.clone();
    let port = wider.port.as_mut()?;
    port.link.max_width = Fact::known(width, "the changed slot");
    pcie::capable(&wider)
}

/// The usable rate of the link at a speed and width, towards the host.
pub(super) fn at(link: &LinkHop, speed: GtPerSec, width: Lanes) -> Option<Limit> {
    let mut other = link.clone();
    other.device.link.max_speed = Fact::known(speed, "observed");
    other.device.link.max_width = Fact::known(width, "observed");
    pcie::device_wants(&other)
}
