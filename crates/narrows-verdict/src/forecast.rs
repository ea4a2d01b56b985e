//! What will a path give after a change? The laws of `predict`, asked before and after: an interval where they hold, else the bound
//! that does, with the reason.

use std::slice;

use narrows_base::fact::Fact;
use narrows_base::units::Lanes;
use narrows_machine::Machine;
use narrows_model::path::{HopSpec, Path};
use narrows_model::predict::{Prediction, describe, predict};

use super::finding::Forecast;

/// What the path gives once the link at `index` runs with so many lanes at the speed that it has now. `None` where the path cannot be
/// described.
pub(super) fn at_width(machine: &Machine, path: &Path, index: usize, width: Lanes) -> Option<Forecast> {
    let mut changed = path.clone();
    let HopSpec::Link(link) = &mut changed.hops.get_mut(index)?.spec else { return None };
    let port = link.port.as_mut()?;
    let wider = || Fact::known(width, "the changed slot");
    (port.link.max_width, port.link.current_width, link.device.link.current_width) =
        (wider(), wider(), wider());
    of(machine, path, &changed)
}

fn of(machine: &Machine, before: &Path, after: &Path) -> Option<Forecast> {
    let (before, after) = (asked(machine, before)?, asked(machine, after)?);
    let rate = |it: &Prediction| it.answer.intervals().map(|_| it.rate);
    Some(Forecast {
        before_bytes_per_second: rate(&before),
        bytes_per_second: rate(&after),
        interval_95: after.answer.intervals().map(|it| {
            let (low, high) = it.in_95;
            [after.rate * low, after.rate * high]
        }),
        at_most_bytes_per_second: after.at_most().map(|bound| bound.rate),
        reason: after.answer.not_known().map(|it| it.because.clone()),
    })
}

fn asked(machine: &Machine, path: &Path) -> Option<Prediction> {
    let (system, _) = describe(machine, slice::from_ref(path));
    predict(&system, system.workloads.first()?).ok()
}
