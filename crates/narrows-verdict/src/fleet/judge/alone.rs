//! What the network carried alone (`--network-leg`) and what the servers' drives gave alone (`--drives-leg`), against what clients get
//! of both together.

use std::collections::BTreeSet;

use narrows_base::units::{BytesPerSec, human};

use super::Case;
use crate::fleet::record::Load;

/// A run that gets this share of what a part gave alone is at that part's limit.
const AT: f64 = 0.9;
/// One that gets less than this share is not limited by it.
const BELOW: f64 = 0.8;

/// A part of the way alone, with the clients and in the direction of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Alone {
    /// Who gave it, for people.
    who: &'static str,
    /// What it gave.
    pub(super) rate: BytesPerSec,
    /// Whether that was as much as was asked for.
    pub(super) is_capped: bool,
    /// What the run got.
    run: BytesPerSec,
}

impl Alone {
    /// The network. `None` where it was not measured, or with other clients, or the other way.
    pub(super) fn network(case: &Case<'_>) -> Option<Self> {
        let leg = case.run.network_leg.as_ref().filter(|leg| leg.is_write != case.reads_most())?;
        let of_leg: BTreeSet<usize> =
            leg.flows.iter().filter(|flow| flow.bytes.get() > 0).map(|flow| flow.client).collect();
        let is_same = of_leg == case.counted().into_iter().collect();
        let run = if case.reads_most() { case.point.read.rate } else { case.point.write.rate };
        let who = "the network alone carried";
        leg.rate().filter(|_| is_same).map(|rate| Self { who, rate, is_capped: leg.is_capped(), run })
    }

    /// The drives of all servers. `None` where they were not measured, not on every server, with another load than this run's or for
    /// other clients than those that count, or where the clients have drives of their own: what drives give depends on blocks, order
    /// and I/Os in flight.
    pub(super) fn drives(case: &Case<'_>) -> Option<Self> {
        let is_same = |of: &Load| *of == case.record.load && !case.record.is_proof;
        let leg = case.run.drives_leg.as_ref().filter(|leg| leg.load.as_ref().is_some_and(is_same))?;
        let all_count = case.counted().len() == case.run.clients.len();
        let is_whole = leg.rates.len() == case.run.servers.len() && all_count && !case.is_local();
        let (who, run) = ("the servers' drives alone gave", case.point.read.rate);
        leg.rate().filter(|_| is_whole).map(|rate| Self { who, rate, is_capped: leg.is_capped(), run })
    }

    /// Whether clients get as much as it gave alone.
    pub(super) fn is_reached(&self) -> bool {
        !self.is_capped && self.run.get() >= self.rate.get() * AT
    }

    /// Whether alone it gave clearly more.
    pub(super) fn gives_more(&self) -> bool {
        self.run.get() < self.rate.get() * BELOW
    }

    /// For people.
    pub(super) fn in_words(&self) -> String {
        let more = if self.is_capped { ", as much as was asked for" } else { "" };
        format!("{} {}{more}", self.who, human::rate(self.rate))
    }
}
