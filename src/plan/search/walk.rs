//! Depth first through the slots, the most promising way of each first.

use std::collections::HashMap;

use crate::plan::problem::{Fill, Problem};
use crate::plan::rate::WholeRate;
use crate::plan::site::Attachment;
use crate::units::Lanes;

use super::bound::{Bound, multisets};
use super::score::{Component, Prefer, Score, amount, cost};
use super::{Placement, Proof, Seated};

/// No machine has more sockets.
const SOCKETS: usize = 8;

/// What of traffic between drives and network cards is left when it crosses sockets, in hundredths: misses cost 10 % or
/// more (Dell BeeGFS guide, page 13). A guess for any other machine.
pub(in crate::plan) const REMOTE_PERCENT: u64 = 90;

/// What filled slots come to.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::plan) struct Sums {
    /// All that simply adds up; the chipset's rate and what is served are not in it.
    score: Score,
    /// What the slots behind the chipset move, as if its uplink had no limit.
    chipset: WholeRate,
    /// What they must move.
    chipset_target: WholeRate,
    /// For each socket what is read from drives.
    drives: [WholeRate; SOCKETS],
    /// For each socket what network cards can send.
    network: [WholeRate; SOCKETS],
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
            Component::Switches => cost(u64::from(choice.is_switch())),
            Component::Slots => cost(u64::from(!place.form.takes_drives())),
            Component::Changes => cost(problem.changes(slot, choice)),
            Component::Adapters => cost(u64::from(choice.is_adapter())),
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
        let uplink = problem.site.chipset.as_ref().map_or(self.chipset, |uplink| uplink.rate.min(self.chipset));
        let together = self.score.get(prefer, Component::Together).saturating_add(amount(uplink));
        let score = self.score.with(prefer.place(Component::Together), together);
        if serving { score.with(prefer.place(Component::Served), amount(self.served(problem))) } else { score }
    }

    /// What drives can send out through network cards: those of their own socket first, then over the connection
    /// between the sockets.
    pub(in crate::plan) fn served(&self, problem: &Problem<'_>) -> WholeRate {
        let local: WholeRate = self.drives.iter().zip(&self.network).map(|(drives, network)| *drives.min(network)).sum();
        let all = |rates: &[WholeRate]| rates.iter().copied().sum::<WholeRate>();
        let rest = (all(&self.drives) - local).min(all(&self.network) - local);
        let crossing = problem.site.interconnect.as_ref().map_or(rest, |shared| rest.min(shared.rate));
        local + crossing.percent(REMOTE_PERCENT)
    }

    fn fits_chipset(&self, problem: &Problem<'_>) -> bool {
        problem.site.chipset.as_ref().is_none_or(|uplink| self.chipset_target <= uplink.rate)
    }
}

/// Whether drives are read out through network cards, of which there may be some on each of several sockets.
pub(in crate::plan) fn is_serving(problem: &Problem<'_>) -> bool {
    let any = |test: &dyn Fn(super::super::wish::Kind) -> bool| problem.classes.iter().any(|class| test(class.wish.kind));
    problem.site.sockets > 1 && any(&|kind| kind.is_drive()) && any(&|kind| kind.is_network())
}

/// The lanes that a slot has when these slots are used, some with their setting changed.
pub(in crate::plan) fn lanes_now(
    problem: &Problem<'_>,
    slot: usize,
    choice: usize,
    used: &dyn Fn(usize) -> bool,
    is_set: &dyn Fn(usize) -> bool,
) -> Lanes {
    let place = &problem.site.slots[slot];
    let Some(choice) = problem.choices[slot].get(choice) else { return Lanes::new(0) };
    let mut lanes = problem.lanes(slot, choice);
    for rule in &place.narrowed {
        if rule.by.iter().any(|by| used(*by)) {
            lanes = lanes.min(rule.lanes);
        }
    }
    let is_off = problem.site.slots.iter().enumerate().any(|(at, other)| {
        is_set(at) && other.setting.as_ref().is_some_and(|setting| setting.slots_off.contains(&slot))
    });
    if is_off { Lanes::new(0) } else { lanes }
}

/// The order of slots, and where each part of it ends.
#[derive(Debug)]
struct Order {
    slots: Vec<usize>,
    /// Behind the last slot whose lanes depend on others, or others on it.
    rules_end: usize,
    /// Behind the last slot that shares anything.
    shared_end: usize,
}

impl Order {
    fn new(problem: &Problem<'_>) -> Self {
        let site = problem.site;
        let mut coupled = vec![false; site.slots.len()];
        for (at, slot) in site.slots.iter().enumerate() {
            let off = slot.setting.iter().flat_map(|setting| &setting.slots_off);
            for other in slot.narrowed.iter().flat_map(|rule| &rule.by).chain(off) {
                coupled[at] = true;
                coupled[*other] = true;
            }
        }
        let usable: Vec<usize> = (0..site.slots.len()).filter(|at| site.is_usable(*at)).collect();
        let behind = |at: usize| site.slots[at].attachment == Attachment::Chipset && site.chipset.is_some();
        let mut slots: Vec<usize> = usable.iter().copied().filter(|at| coupled[*at]).collect();
        let rules_end = slots.len();
        slots.extend(usable.iter().copied().filter(|at| !coupled[*at] && behind(*at)));
        let touches_chipset = slots.iter().any(|at| behind(*at));
        let shared_end = if touches_chipset { slots.len() } else { rules_end };
        let mut rest: Vec<usize> = usable.into_iter().filter(|at| !coupled[*at] && !behind(*at)).collect();
        rest.sort_by_key(|at| site.slots[*at].attachment);
        slots.extend(rest);
        Self { slots, rules_end, shared_end }
    }
}

/// The part of a placement that is decided.
#[derive(Debug, Clone)]
struct Partial {
    at: usize,
    left: Vec<u8>,
    slots_left: Option<usize>,
    /// Which way each slot of the order is filled so far; `None` leaves it empty.
    chosen: Vec<Option<usize>>,
    sums: Sums,
}

/// The search.
pub(super) struct Walk<'p> {
    problem: &'p Problem<'p>,
    prefer: Prefer,
    /// Only placements that are worse than this are of interest.
    below: Option<Score>,
    keep: usize,
    most_nodes: u64,
    nodes: u64,
    complete: bool,
    root: Option<Score>,
    found: Vec<Placement>,
    serving: bool,
    served_most: i64,
}

/// What one pass of the search looks things up in.
struct Tables {
    order: Order,
    bound: Bound,
    fills: Vec<Vec<Fill>>,
    seen: HashMap<Vec<u64>, Vec<Score>>,
}

impl<'p> Walk<'p> {
    pub(super) fn new(
        problem: &'p Problem<'p>,
        prefer: Prefer,
        below: Option<Score>,
        keep: usize,
        most_nodes: u64,
    ) -> Self {
        let of = |test: &dyn Fn(super::super::wish::Kind) -> bool| -> WholeRate {
            let wanted = problem.classes.iter().filter(|class| test(class.wish.kind));
            wanted.map(|class| class.demand.times(u64::from(class.wish.count))).sum()
        };
        let served = of(&|kind| kind.is_drive()).min(of(&|kind| kind.is_network()));
        let serving = is_serving(problem);
        Self {
            problem,
            prefer,
            below,
            keep,
            most_nodes,
            nodes: 0,
            complete: true,
            root: None,
            found: Vec::new(),
            serving,
            served_most: if serving { amount(served) } else { 0 },
        }
    }

    /// Looks at every placement in which each class is on the socket that it must be on.
    pub(super) fn search(&mut self, sockets: &[Option<u8>]) {
        let problem = self.problem;
        let order = Order::new(problem);
        let allowed = |class: usize, slot: usize| {
            let here = problem.site.slots[slot].attachment.socket();
            problem.may_use(class, slot) && sockets.get(class).copied().flatten().is_none_or(|socket| socket == here)
        };
        let bound = Bound::new(problem, self.prefer, &order.slots, &allowed);
        let fills = order.slots.iter().map(|slot| fills(problem, *slot, &allowed)).collect();
        let mut tables = Tables { order, bound, fills, seen: HashMap::new() };
        let start = Partial {
            at: 0,
            left: problem.all(),
            slots_left: problem.max_slots.map(usize::from),
            chosen: Vec::new(),
            sums: Sums::default(),
        };
        let best = self.bound_of(&tables, &start);
        self.root = self.root.max(best);
        if best.is_some() {
            self.descend(&mut tables, start);
        }
    }

    /// The placements that were found, and how sure it is that there are no better ones.
    pub(super) fn finish(self) -> (Vec<Placement>, Proof) {
        let best = self.found.first().map(|placement| placement.score);
        let bound = if self.complete { best } else { self.root };
        (self.found, Proof { complete: self.complete, bound, nodes: self.nodes })
    }

    /// The best score that this can still come to; `None` when nothing can come of it.
    fn bound_of(&self, tables: &Tables, partial: &Partial) -> Option<Score> {
        let state = tables.bound.state(&partial.left, partial.slots_left);
        let so_far = partial.sums.total(self.problem, self.prefer, false);
        let served = |score: Score| match self.serving {
            true => score.with(self.prefer.place(Component::Served), self.served_most),
            false => score,
        };
        let [best, next] = tables.bound.get(partial.at, state);
        let best = served(best?.plus(&so_far));
        let Some(below) = self.below.filter(|below| best >= *below) else { return Some(best) };
        let is_exact = partial.at >= tables.order.shared_end && tables.bound.exact && !self.serving;
        if !is_exact {
            return Some(best.min(below));
        }
        Some(next?.plus(&so_far))
    }

    fn is_hopeless(&self, bound: Score) -> bool {
        self.found.len() >= self.keep && self.found.last().is_some_and(|worst| bound <= worst.score)
    }

    fn descend(&mut self, tables: &mut Tables, partial: Partial) {
        if partial.at == tables.order.slots.len() {
            self.arrive(tables, &partial);
            return;
        }
        if self.nodes >= self.most_nodes {
            self.complete = false;
            return;
        }
        self.nodes += 1;
        let mut children = self.children(tables, &partial);
        children.sort_by(|(one, _), (other, _)| other.cmp(one));
        for (bound, child) in children {
            if self.is_hopeless(bound) {
                break;
            }
            if !self.is_repeated(tables, &child) {
                self.descend(tables, child);
            }
        }
    }

    fn children(&self, tables: &Tables, partial: &Partial) -> Vec<(Score, Partial)> {
        let fills = tables.fills.get(partial.at).map(Vec::as_slice).unwrap_or_default();
        let ways = std::iter::once(None).chain((0..fills.len()).map(Some));
        let child = |way: Option<usize>| {
            let child = self.step(tables, partial, way)?;
            Some((self.bound_of(tables, &child)?, child))
        };
        ways.filter_map(child).filter(|(bound, _)| !self.is_hopeless(*bound)).collect()
    }

    /// With the next slot filled so; `None` when that does not work.
    fn step(&self, tables: &Tables, partial: &Partial, way: Option<usize>) -> Option<Partial> {
        let (problem, at) = (self.problem, partial.at);
        let slot = *tables.order.slots.get(at)?;
        let mut next = Partial { at: at + 1, ..partial.clone() };
        next.chosen.push(way);
        if let Some(fill) = way.and_then(|way| tables.fills.get(at)?.get(way)) {
            for (left, count) in next.left.iter_mut().zip(&fill.counts) {
                *left = left.checked_sub(*count)?;
            }
            if !problem.site.slots[slot].form.takes_drives() {
                next.slots_left = match next.slots_left {
                    Some(left) => Some(left.checked_sub(1)?),
                    None => None,
                };
            }
            if at >= tables.order.rules_end {
                let choice = problem.choices.get(slot)?.get(fill.choice)?;
                next.sums = next.sums.add(problem, self.prefer, slot, fill, problem.lanes(slot, choice))?;
            }
        }
        if at < tables.order.rules_end {
            next.sums = self.with_rules(tables, &next.chosen)?;
        }
        next.sums.fits_chipset(problem).then_some(next)
    }

    /// What the slots come to whose lanes depend on each other. Every further slot in use can only take lanes away.
    fn with_rules(&self, tables: &Tables, chosen: &[Option<usize>]) -> Option<Sums> {
        let seats: Vec<(usize, &Fill)> = chosen
            .iter()
            .enumerate()
            .filter_map(|(at, way)| Some((*tables.order.slots.get(at)?, tables.fills.get(at)?.get((*way)?)?)))
            .collect();
        let used = |slot: usize| seats.iter().any(|(seat, _)| *seat == slot);
        let is_set = |slot: usize| {
            seats.iter().any(|(seat, fill)| {
                *seat == slot && self.problem.choices[slot].get(fill.choice).is_some_and(|choice| choice.setting)
            })
        };
        seats.iter().try_fold(Sums::default(), |sums, (slot, fill)| {
            let lanes = lanes_now(self.problem, *slot, fill.choice, &used, &is_set);
            sums.add(self.problem, self.prefer, *slot, fill, lanes)
        })
    }

    /// Whether the same devices were left over in the same place before, with the same shared loads and no worse a
    /// score: then nothing better can come of this.
    fn is_repeated(&self, tables: &mut Tables, partial: &Partial) -> bool {
        if partial.at < tables.order.rules_end {
            return false;
        }
        let enough = if self.below.is_some() { 2 } else { 1 };
        let seen = tables.seen.entry(self.key(partial)).or_default();
        let score = partial.sums.score;
        if seen.contains(&score) || seen.iter().filter(|known| **known > score).count() >= enough {
            return true;
        }
        seen.push(score);
        seen.sort_by(|one, other| other.cmp(one));
        seen.truncate(enough);
        false
    }

    fn key(&self, partial: &Partial) -> Vec<u64> {
        let sums = &partial.sums;
        let most = self.problem.site.chipset.as_ref().map_or(WholeRate::ZERO, |uplink| uplink.rate);
        let mut key = vec![partial.at as u64, sums.chipset.min(most).get(), sums.chipset_target.get()];
        key.push(partial.slots_left.map_or(0, |left| left as u64));
        key.extend(partial.left.iter().map(|count| u64::from(*count)));
        if self.serving {
            key.extend(sums.drives.iter().chain(&sums.network).map(|rate| rate.get()));
        }
        key
    }

    fn arrive(&mut self, tables: &Tables, partial: &Partial) {
        if partial.left.iter().any(|count| *count > 0) {
            return;
        }
        let score = partial.sums.total(self.problem, self.prefer, self.serving);
        let is_known = self.found.iter().any(|known| known.score == score);
        if is_known || self.below.is_some_and(|below| score >= below) || self.is_hopeless(score) {
            return;
        }
        let mut seated: Vec<Seated> = partial
            .chosen
            .iter()
            .enumerate()
            .filter_map(|(at, way)| {
                let slot = *tables.order.slots.get(at)?;
                let fill = tables.fills.get(at)?.get((*way)?)?;
                let choice = self.problem.choices.get(slot)?.get(fill.choice)?.clone();
                let devices = fill.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0).collect();
                Some(Seated { slot, choice, devices })
            })
            .collect();
        seated.sort_by_key(|seat| seat.slot);
        self.found.push(Placement { seated, score });
        self.found.sort_by(|one, other| other.score.cmp(&one.score));
        self.found.truncate(self.keep);
    }
}

/// Every way to fill a slot. Drives on a card for several are at least two, since one needs no such card.
fn fills(problem: &Problem<'_>, slot: usize, allowed: &dyn Fn(usize, usize) -> bool) -> Vec<Fill> {
    let mut fills = Vec::new();
    for (at, choice) in problem.choices[slot].iter().enumerate() {
        let may = |class: usize| {
            allowed(class, slot) && problem.classes[class].wish.kind.is_drive() == choice.drives
        };
        let lanes = problem.lanes(slot, choice);
        let several = choice.is_switch() || choice.mode.is_some();
        for counts in multisets(&problem.classes, choice.ports, &may) {
            let devices: u8 = counts.iter().sum();
            let fill = Fill { choice: at, counts };
            if (!several || devices > 1) && problem.value(slot, &fill, lanes).is_some() {
                fills.push(fill);
            }
        }
    }
    fills
}
