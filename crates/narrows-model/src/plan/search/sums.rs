//! What filled slots come to: what adds up, and what is shared.

use crate::plan::problem::{Fill, Problem};
use crate::plan::rate::WholeRate;
use crate::plan::site::Attachment;
use crate::plan::wish::Kind;
use narrows_base::units::Lanes;

use super::score::{Component, Prefer, Score, amount, cost};

/// No machine has more sockets.
const SOCKETS: usize = 8;

/// What of traffic between drives and network cards is left when it crosses sockets, in hundredths: misses cost 10 % or
/// more (Dell BeeGFS guide, page 13). A guess for any other machine.
pub(in crate::plan) const REMOTE_PERCENT: u64 = 90;

/// What filled slots come to.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::plan) struct Sums {
    /// All that simply adds up; the chipset's rate and what is served are not in it.
    pub(super) score: Score,
    /// What the slots behind the chipset move, as if its uplink had no limit.
    pub(super) chipset: WholeRate,
    /// What they must move.
    pub(super) chipset_target: WholeRate,
    /// For each socket what is read from drives.
    pub(super) drives: [WholeRate; SOCKETS],
    /// For each socket what network cards can send.
    pub(super) network: [WholeRate; SOCKETS],
}

impl Sums {
    /// With one more slot; `None` when it does not work with so many lanes.
    pub(in crate::plan) fn add(
        mut self,
        problem: &Problem<'_>,
        prefer: Prefer,
        slot: usize,
        fill: &Fill,
        lanes: Lanes,
    ) -> Option<Self> {
        let value = problem.value(slot, fill, lanes)?;
        let choice = problem.choices.get(slot)?.get(fill.choice)?;
        let place = &problem.site.slots[slot];
        let on_chipset = place.attachment == Attachment::Chipset && problem.site.chipset.is_some();
        let score = Score::of(prefer, |component| match component {
            Component::Together if on_chipset => 0,
            Component::Together => amount(value.rate),
            Component::Served => 0,
            Component::Alone => amount(value.alone),
            Component::Graphics => amount(value.graphics),
            Component::Switches => cost(u64::from(choice.is_switch())),
            Component::Slots => cost(u64::from(!place.form.takes_drives())),
            Component::Changes => cost(problem.changes(slot, choice)),
            Component::Adapters => cost(u64::from(choice.is_adapter())),
            Component::Price => cost(choice.price),
        });
        self.score = self.score.plus(&score);
        if on_chipset {
            self.chipset = self.chipset + value.rate;
            self.chipset_target = self.chipset_target + value.target;
        }
        let socket = usize::from(place.attachment.socket()).min(SOCKETS - 1);
        self.drives[socket] = self.drives[socket] + value.drives;
        self.network[socket] = self.network[socket] + value.network;
        Some(self)
    }

    /// The whole score.
    pub(in crate::plan) fn total(&self, problem: &Problem<'_>, prefer: Prefer, serving: bool) -> Score {
        let uplink =
            problem.site.chipset.as_ref().map_or(self.chipset, |uplink| uplink.rate.min(self.chipset));
        let together = self.score.get(prefer, Component::Together).saturating_add(amount(uplink));
        let score = self.score.with(prefer.place(Component::Together), together);
        if serving {
            score.with(prefer.place(Component::Served), amount(self.served(problem)))
        } else {
            score
        }
    }

    /// What drives can send out through network cards: those of their own socket first, then over the connection
    /// between the sockets.
    pub(in crate::plan) fn served(&self, problem: &Problem<'_>) -> WholeRate {
        let local = self.local();
        let all = |rates: &[WholeRate]| rates.iter().copied().sum::<WholeRate>();
        let rest = (all(&self.drives) - local).min(all(&self.network) - local);
        let crossing = problem.site.interconnect.as_ref().map_or(rest, |shared| rest.min(shared.rate));
        local + crossing.percent(REMOTE_PERCENT)
    }

    /// What of it crosses sockets.
    pub(in crate::plan) fn crossing(&self, problem: &Problem<'_>) -> WholeRate {
        self.served(problem) - self.local()
    }

    /// For each socket what is read from drives and what network cards can send.
    pub(in crate::plan) fn sockets(&self, count: usize) -> Vec<(WholeRate, WholeRate)> {
        self.drives.iter().copied().zip(self.network.iter().copied()).take(count).collect()
    }

    /// The same with all drives on one socket.
    #[must_use]
    pub(in crate::plan) fn all_drives_on(mut self, socket: usize) -> Self {
        let all = self.drives.iter().copied().sum();
        self.drives = [WholeRate::ZERO; SOCKETS];
        if let Some(place) = self.drives.get_mut(socket) {
            *place = all;
        }
        self
    }

    /// With the open sockets taken for one, on which these drives and network cards are added.
    #[must_use]
    pub(super) fn at_most(
        mut self,
        open: &dyn Fn(usize) -> bool,
        drives: WholeRate,
        network: WholeRate,
    ) -> Self {
        let Some(home) = (0..SOCKETS).find(|socket| open(*socket)) else { return self };
        for socket in (home + 1..SOCKETS).filter(|socket| open(*socket)) {
            self.drives[home] = self.drives[home] + self.drives[socket];
            self.network[home] = self.network[home] + self.network[socket];
            (self.drives[socket], self.network[socket]) = (WholeRate::ZERO, WholeRate::ZERO);
        }
        self.drives[home] = self.drives[home] + drives;
        self.network[home] = self.network[home] + network;
        self
    }

    fn local(&self) -> WholeRate {
        self.drives.iter().zip(&self.network).map(|(drives, network)| *drives.min(network)).sum()
    }

    /// Whether the uplink of the chipset carries what must be moved.
    pub(super) fn fits_chipset(&self, problem: &Problem<'_>) -> bool {
        problem.site.chipset.as_ref().is_none_or(|uplink| self.chipset_target <= uplink.rate)
    }
}

/// Whether drives are read out through network cards, of which there may be some on each of several sockets.
pub(in crate::plan) fn is_serving(problem: &Problem<'_>) -> bool {
    let any = |test: &dyn Fn(Kind) -> bool| problem.classes.iter().any(|class| test(class.wish.kind));
    problem.site.sockets > 1 && any(&|kind| kind.is_drive()) && any(&|kind| kind.is_network())
}

/// The lanes that a slot has under a choice when these slots are used, some with their setting changed.
pub(in crate::plan) fn lanes_now(
    problem: &Problem<'_>,
    slot: usize,
    choice: usize,
    used: &dyn Fn(usize) -> bool,
    is_set: &dyn Fn(usize) -> bool,
) -> Lanes {
    let Some(choice) = problem.choices[slot].get(choice) else { return Lanes::new(0) };
    problem.lanes(slot, choice).min(left_by_others(problem, slot, used, is_set))
}

/// The lanes that other slots leave to one when these are used, some with their setting changed.
pub(super) fn left_by_others(
    problem: &Problem<'_>,
    slot: usize,
    used: &dyn Fn(usize) -> bool,
    is_set: &dyn Fn(usize) -> bool,
) -> Lanes {
    let place = &problem.site.slots[slot];
    let taken = place.narrowed.iter().filter(|rule| rule.by.iter().any(|by| used(*by)));
    let left = taken.map(|rule| rule.lanes).fold(place.lanes, Lanes::min);
    let is_off = problem.site.slots.iter().enumerate().any(|(at, other)| {
        is_set(at) && other.setting.as_ref().is_some_and(|setting| setting.slots_off.contains(&slot))
    });
    if is_off { Lanes::new(0) } else { left }
}
