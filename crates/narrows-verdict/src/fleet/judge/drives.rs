//! What the servers' drives gave alone (`--drives-leg`), against what clients get of them.

use narrows_base::units::{BytesPerSec, human};

use super::Case;
use crate::fleet::record::Load;

/// A run that gets this share of what the drives gave alone is at their limit.
const AT: f64 = 0.9;
/// One that gets less than this share is not limited by them.
const BELOW: f64 = 0.8;

/// The drives of all servers alone, for a run of reads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DrivesAlone {
    rate: BytesPerSec,
    is_capped: bool,
    run: BytesPerSec,
}

impl DrivesAlone {
    /// `None` where they were not measured, not on every server, with another load than this run's or for other clients than those
    /// that count, or where the clients have drives of their own: what drives give depends on blocks, order and I/Os in flight.
    pub(super) fn of(case: &Case<'_>) -> Option<Self> {
        let is_same = |of: &Load| *of == case.record.load && !case.record.is_proof;
        let leg = case.run.drives_leg.as_ref().filter(|leg| leg.load.as_ref().is_some_and(is_same))?;
        let all_count = case.counted().len() == case.run.clients.len();
        let is_whole = leg.rates.len() == case.run.servers.len() && all_count && !case.is_local();
        let rate = leg.rate().filter(|_| is_whole)?;
        Some(Self { rate, is_capped: leg.is_capped(), run: case.point.read.rate })
    }

    /// Whether clients get as much as the drives gave alone.
    pub(super) fn is_reached(&self) -> bool {
        !self.is_capped && self.run.get() >= self.rate.get() * AT
    }

    /// Whether the drives alone gave clearly more.
    pub(super) fn give_more(&self) -> bool {
        self.run.get() < self.rate.get() * BELOW
    }

    /// For people.
    pub(super) fn in_words(&self) -> String {
        let more = if self.is_capped { ", as much as was asked for" } else { "" };
        format!("the servers' drives alone gave {}{more}", human::rate(self.rate))
    }
}
