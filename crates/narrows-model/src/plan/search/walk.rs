//! Depth first through the slots, the most promising way of each first.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::bound::{Bound, BoundRow, SlotUse};
use super::{Component, Placement, Proof, Score, Seated, Sums, amount, left_by_others};
use crate::plan::problem::{Problem, WholeRate, demand};
use crate::plan::site::Attachment;
use crate::plan::wish::Kind;

/// Slots in the order of the search: those whose use decides what others have come first, then those behind the chipset,
/// then the others.
#[derive(Debug)]
struct SlotOrder {
    slots: Vec<usize>,
    /// Behind the last slot whose use changes the lanes of another.
    deciding_end: usize,
    /// Behind the last slot that shares the uplink of the chipset.
    shared_end: usize,
}

impl SlotOrder {
    fn new(problem: &Problem<'_>) -> Self {
        let site = problem.site;
        let mut deciding = vec![false; site.slots.len()];
        for (at, slot) in site.slots.iter().enumerate() {
            slot.narrowed.iter().flat_map(|rule| &rule.by).for_each(|by| deciding[*by] = true);
            deciding[at] |= slot.setting.as_ref().is_some_and(|setting| !setting.slots_off.is_empty());
        }
        let behind = |at: usize| site.slots[at].attachment == Attachment::Chipset && site.chipset.is_some();
        let mut slots: Vec<usize> = (0..site.slots.len()).filter(|at| site.is_usable(*at)).collect();
        slots.sort_by_key(|at| (!deciding[*at], !behind(*at), site.slots[*at].attachment));
        let deciding_end = slots.iter().filter(|at| deciding[**at]).count();
        let shared_end = slots.iter().rposition(|at| behind(*at)).map_or(0, |last| last + 1);
        Self { slots, deciding_end, shared_end }
    }
}

/// Which of the deciding slots are used, and which of them with their setting changed: then every slot has the lanes that
/// it has, and none depends on another.
#[derive(Debug, Clone)]
struct Pattern {
    /// For each deciding slot whether it is used, and whether its setting is changed.
    used: Vec<Option<bool>>,
}

impl Pattern {
    fn all(problem: &Problem<'_>, order: &SlotOrder) -> Vec<Self> {
        let mut patterns = vec![Self { used: Vec::new() }];
        for slot in order.slots.iter().take(order.deciding_end) {
            let has_setting = problem.site.slots[*slot].setting.is_some();
            let ways = [None, Some(false), Some(true)];
            let ways = ways.iter().take(if has_setting { 3 } else { 2 });
            patterns = ways
                .flat_map(|way| {
                    patterns.iter().map(move |pattern| Self {
                        used: pattern.used.iter().copied().chain([*way]).collect(),
                    })
                })
                .collect();
        }
        patterns
    }

    /// How the slot at a place of the order may be used.
    fn of(&self, problem: &Problem<'_>, order: &SlotOrder, at: usize) -> SlotUse {
        let place_of =
            |slot: usize| order.slots.iter().take(order.deciding_end).position(|known| *known == slot);
        let way = |slot: usize| place_of(slot).and_then(|place| self.used.get(place).copied().flatten());
        let slot = order.slots[at];
        let decided = (at < order.deciding_end).then(|| way(slot));
        SlotUse {
            slot,
            may_be_empty: decided.is_none_or(|way| way.is_none()),
            may_be_used: decided.is_none_or(|way| way.is_some()),
            most: left_by_others(problem, slot, &way),
            setting: decided.flatten().filter(|_| problem.site.slots[slot].setting.is_some()),
        }
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
    /// Only placements that are worse than this are of interest.
    below: Option<Score>,
    most_nodes: u64,
    nodes: u64,
    complete: bool,
    root: Option<Score>,
    found: Option<Placement>,
}

/// What one pass of the search looks things up in.
struct Tables {
    order: SlotOrder,
    bound: Bound,
    rows: Vec<BoundRow>,
    seen: HashMap<Vec<u64>, Vec<Score>>,
}

impl<'p> Walk<'p> {
    pub(super) fn new(problem: &'p Problem<'p>, below: Option<Score>, most_nodes: u64) -> Self {
        Self { problem, below, most_nodes, nodes: 0, complete: true, root: None, found: None }
    }

    /// Looks at every placement in which each class is on the socket that it must be on.
    pub(super) fn search(&mut self, sockets: &[Option<u8>]) {
        let problem = self.problem;
        let allowed = |class: usize, slot: usize| {
            let here = problem.site.slots[slot].attachment.socket();
            problem.may_use(class, slot)
                && sockets.get(class).copied().flatten().is_none_or(|socket| socket == here)
        };
        let order = SlotOrder::new(problem);
        let patterns = Pattern::all(problem, &order);
        let mut tables = Tables { order, bound: Bound::new(problem), rows: Vec::new(), seen: HashMap::new() };
        for pattern in patterns {
            self.search_pattern(&mut tables, &pattern, &allowed);
        }
    }

    /// Rows of slots that the pattern says nothing new of are kept from pattern to pattern, with all that is known of
    /// them.
    fn search_pattern(
        &mut self,
        tables: &mut Tables,
        pattern: &Pattern,
        allowed: &dyn Fn(usize, usize) -> bool,
    ) {
        let problem = self.problem;
        let uses: Vec<SlotUse> =
            (0..tables.order.slots.len()).map(|at| pattern.of(problem, &tables.order, at)).collect();
        let known = uses.iter().rev().zip(tables.rows.iter().rev());
        let same = known.take_while(|(new, old)| **new == old.used).count();
        let kept = tables.rows.split_off(tables.rows.len() - same);
        let fresh = uses.iter().take(uses.len() - same);
        tables.rows = fresh.map(|used| tables.bound.row(problem, *used, allowed)).collect();
        tables.rows.extend(kept);
        tables.seen.clear();
        let start = Partial {
            at: 0,
            left: problem.all(),
            slots_left: problem.max_slots.map(usize::from),
            chosen: Vec::new(),
            sums: Sums::default(),
        };
        let best = self.bound_of(tables, &start);
        self.root = self.root.max(best);
        if best.is_some_and(|best| !self.is_hopeless(best)) {
            self.descend(tables, start);
        }
    }

    /// The placement that was found, and how sure it is that there is no better one.
    pub(super) fn finish(self) -> (Option<Placement>, Proof) {
        let best = self.found.as_ref().map(|placement| placement.score);
        let bound = if self.complete { best } else { self.root };
        (self.found, Proof { complete: self.complete, bound, nodes: self.nodes })
    }

    /// The best score that this can still come to; `None` when nothing can come of it.
    fn bound_of(&self, tables: &mut Tables, partial: &Partial) -> Option<Score> {
        let state = tables.bound.state(&partial.left, partial.slots_left);
        let wanted = demand(partial.left.iter().zip(&self.problem.classes));
        let (prefer, serving) = (self.problem.prefer, self.problem.serving);
        let wanted = Score::of(prefer, |component| match component {
            Component::Together | Component::Alone => amount(wanted),
            _ => 0,
        });
        let so_far = partial.sums.added_up(self.problem).plus(&wanted);
        let [best, next] = tables.bound.get(&mut tables.rows, partial.at, state);
        let best = best?.plus(&so_far);
        let best = match serving {
            true => best.with(prefer, Component::Served, self.served_most(tables, partial)),
            false => best,
        };
        let Some(below) = self.below.filter(|below| best >= *below) else { return Some(best) };
        let is_exact = partial.at >= tables.order.shared_end && tables.bound.exact && !serving;
        if !is_exact {
            return Some(best.min(below));
        }
        Some(next?.plus(&so_far))
    }

    /// The most that can still be served: as if the remaining devices went to whichever of the remaining sockets suits
    /// them.
    fn served_most(&self, tables: &Tables, partial: &Partial) -> i64 {
        let problem = self.problem;
        let rest = |test: fn(Kind) -> bool| {
            demand(partial.left.iter().zip(&problem.classes).filter(|(_, class)| test(class.wish.kind)))
        };
        let open = |socket: usize| {
            let slots = tables.order.slots.iter().skip(partial.at);
            slots.into_iter().any(|slot| usize::from(problem.site.slots[*slot].attachment.socket()) == socket)
        };
        amount(partial.sums.at_most(&open, rest(Kind::is_drive), rest(Kind::is_network)).served(problem))
    }

    fn is_hopeless(&self, bound: Score) -> bool {
        self.found.as_ref().is_some_and(|best| bound <= best.score)
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
        // Of those that promise the same, the one that keeps most traffic on its socket.
        children.sort_by_key(|(bound, child)| Reverse((*bound, child.sums.served(self.problem))));
        for (bound, child) in children {
            if self.is_hopeless(bound) {
                break;
            }
            if !self.is_repeated(tables, &child) {
                self.descend(tables, child);
            }
        }
    }

    fn children(&self, tables: &mut Tables, partial: &Partial) -> Vec<(Score, Partial)> {
        let fills = tables.rows.get(partial.at).map_or(0, |row| row.fills.len());
        let mut children = Vec::new();
        for way in std::iter::once(None).chain((0..fills).map(Some)) {
            let Some(child) = self.step(tables, partial, way) else { continue };
            let Some(bound) = self.bound_of(tables, &child) else { continue };
            if !self.is_hopeless(bound) {
                children.push((bound, child));
            }
        }
        children
    }

    /// With the next slot filled so; `None` when that does not work.
    fn step(&self, tables: &Tables, partial: &Partial, way: Option<usize>) -> Option<Partial> {
        let (problem, at) = (self.problem, partial.at);
        let BoundRow { used, fills, .. } = tables.rows.get(at)?;
        let mut next = Partial { at: at + 1, ..partial.clone() };
        next.chosen.push(way);
        let Some(way) = way else { return used.may_be_empty.then_some(next) };
        let fill = fills.get(way)?;
        for (left, count) in next.left.iter_mut().zip(&fill.counts) {
            *left = left.checked_sub(*count)?;
        }
        if !problem.site.slots[used.slot].form.takes_drives() {
            next.slots_left = match next.slots_left {
                Some(left) => Some(left.checked_sub(1)?),
                None => None,
            };
        }
        let choice = problem.choices.get(used.slot)?.get(fill.choice)?;
        let lanes = problem.lanes(used.slot, choice).min(used.most);
        next.sums = next.sums.add(problem, used.slot, (choice, &fill.counts), lanes)?;
        next.sums.fits_chipset(problem).then_some(next)
    }

    /// Whether the same devices were left over in the same place before, with the same shared loads and no worse a
    /// score: then nothing better can come of this.
    fn is_repeated(&self, tables: &mut Tables, partial: &Partial) -> bool {
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
        if self.problem.serving {
            key.extend(sums.drives.iter().chain(&sums.network).map(|rate| rate.get()));
        }
        key
    }

    fn arrive(&mut self, tables: &Tables, partial: &Partial) {
        if partial.left.iter().any(|count| *count > 0) {
            return;
        }
        let score = partial.sums.total(self.problem);
        if self.below.is_some_and(|below| score >= below) || self.is_hopeless(score) {
            return;
        }
        let mut seated: Vec<Seated> = partial
            .chosen
            .iter()
            .enumerate()
            .filter_map(|(at, way)| {
                let row = tables.rows.get(at)?;
                let (slot, fill) = (row.used.slot, row.fills.get((*way)?)?);
                let choice = self.problem.choices.get(slot)?.get(fill.choice)?.clone();
                let devices =
                    fill.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0).collect();
                Some(Seated { slot, choice, devices })
            })
            .collect();
        seated.sort_by_key(|seat| seat.slot);
        self.found = Some(Placement { seated, score });
    }
}
