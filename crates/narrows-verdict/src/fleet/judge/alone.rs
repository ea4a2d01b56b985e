//! What the network carried alone (`--network-leg`), against what it carries with storage behind it.

use std::collections::BTreeSet;

use narrows_base::units::{BytesPerSec, human};

use super::Case;

/// A run that gets this share of what the network carried alone is at its limit.
const AT: f64 = 0.9;
/// One that gets less than this share is not limited by it.
const BELOW: f64 = 0.8;

/// The network alone, with the clients and in the direction of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Alone {
    /// What it carried.
    pub(super) rate: BytesPerSec,
    /// Whether that was as much as was asked for.
    pub(super) is_capped: bool,
    /// What the run got.
    run: BytesPerSec,
}

impl Alone {
    /// `None` where it was not measured, or with other clients, or the other way.
    pub(super) fn of(case: &Case<'_>) -> Option<Self> {
        let leg = case.run.network_leg.as_ref().filter(|leg| leg.is_write != case.reads_most())?;
        let of_leg: BTreeSet<usize> =
            leg.flows.iter().filter(|flow| flow.bytes.get() > 0).map(|flow| flow.client).collect();
        let is_same = of_leg == case.counted().into_iter().collect();
        let run = if case.reads_most() { case.point.read.rate } else { case.point.write.rate };
        leg.rate().filter(|_| is_same).map(|rate| Self { rate, is_capped: leg.is_capped(), run })
    }

    /// Whether the network carries as much with storage behind it as without.
    pub(super) fn is_reached(&self) -> bool {
        !self.is_capped && self.run.get() >= self.rate.get() * AT
    }

    /// Whether the network alone carried clearly more.
    pub(super) fn carries_more(&self) -> bool {
        self.run.get() < self.rate.get() * BELOW
    }

    /// For people.
    pub(super) fn in_words(&self) -> String {
        let more = if self.is_capped { ", as much as was asked for" } else { "" };
        format!("the network alone carried {}{more}", human::rate(self.rate))
    }
}
