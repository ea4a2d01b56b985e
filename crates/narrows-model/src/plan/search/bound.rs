//! The best that the remaining slots can do with the remaining devices, as if slots did not depend on each other.
//!
//! Dynamic programming over slots from the last to the first and over the counts of devices that are left. For slots that
//! share nothing this is no bound but the truth. Rates stand as what is missing of what the devices could move. Where
//! there are too many counts, alike classes are merged into one with the best link and the least demand of each, which can
//! only make less be missing.

use std::collections::{BTreeMap, HashMap};

use super::{Component, Score, amount, of_slot};
use crate::plan::problem::{Class, Fill, Problem, Value, WholeRate, demand, value};
use crate::plan::wish::Kind;
use narrows_base::units::Lanes;

/// The most states of a table; each costs some hundred bytes and a pass over the ways to fill a slot.
const STATES: usize = 12_000;

/// The best and the next best sum; `None` where there is none.
pub(super) type Two = [Option<Score>; 2];

/// Devices in merged classes, and how states are counted.
#[derive(Debug)]
pub(super) struct Bound {
    /// The merged class of each class.
    merged: Vec<usize>,
    /// The members of each merged class.
    groups: Vec<Vec<usize>>,
    /// The merged classes.
    classes: Vec<Class>,
    /// What one device of a merged class adds to the state.
    strides: Vec<usize>,
    /// What one free slot adds to the state.
    budget_stride: usize,
    /// The most slots that may be used; without a limit there is none to count.
    budget: Option<usize>,
    /// How many states there are.
    states: usize,
    /// Whether no classes were merged.
    pub(super) exact: bool,
}

/// A way to fill a slot, in merged classes.
#[derive(Debug)]
struct Way {
    counts: Vec<(usize, u8)>,
    delta: usize,
    score: Score,
}

/// One slot: how it is used, the ways to fill it, and what was found of its states so far.
#[derive(Debug)]
pub(super) struct BoundRow {
    pub(super) used: SlotUse,
    pub(super) fills: Vec<Fill>,
    /// The ways in merged classes.
    ways: Vec<Way>,
    known: HashMap<usize, Two>,
}

/// How a slot is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SlotUse {
    pub(super) slot: usize,
    /// Whether it may stay empty.
    pub(super) may_be_empty: bool,
    /// Whether it may be used.
    pub(super) may_be_used: bool,
    /// The most lanes that it has.
    pub(super) most: Lanes,
    /// Whether its setting has to be as this says.
    pub(super) setting: Option<bool>,
}

impl SlotUse {
    /// The ways to fill the slot with devices of these classes, and what it moves then.
    fn ways(
        &self,
        problem: &Problem<'_>,
        classes: &[Class],
        may: &dyn Fn(usize) -> bool,
    ) -> Vec<(Fill, Value)> {
        let mut ways = Vec::new();
        let choices = problem.choices[self.slot].iter().enumerate().filter(|_| self.may_be_used);
        for (at, choice) in choices.filter(|(_, it)| self.setting.is_none_or(|set| set == it.setting)) {
            let lanes = problem.lanes(self.slot, choice).min(self.most);
            let fits = |class: usize| classes[class].wish.kind.is_drive() == choice.drives && may(class);
            for counts in multisets(classes, choice.ports, &fits) {
                let moved = value(&problem.site.slots[self.slot], choice, lanes, &counts, classes);
                ways.extend(moved.map(|moved| (Fill { choice: at, counts }, moved)));
            }
        }
        ways
    }

    /// Every way to fill the slot. Drives on a card for several are at least two, since one needs no such card.
    fn fills(&self, problem: &Problem<'_>, allowed: &dyn Fn(usize, usize) -> bool) -> Vec<Fill> {
        let is_for_one = |fill: &Fill| {
            let choice = &problem.choices[self.slot][fill.choice];
            !choice.is_switch() && choice.mode.is_none()
        };
        let ways = self.ways(problem, &problem.classes, &|class| allowed(class, self.slot));
        let fills = ways.into_iter().map(|(fill, _)| fill);
        fills.filter(|fill| is_for_one(fill) || fill.counts.iter().sum::<u8>() > 1).collect()
    }
}

impl Bound {
    pub(super) fn new(problem: &Problem<'_>) -> Self {
        let budget = problem.max_slots.map(usize::from);
        let (merged, groups) = merge(&problem.classes, budget);
        let classes: Vec<Class> = groups.iter().map(|members| best_of(problem, members)).collect();
        let mut strides = Vec::with_capacity(classes.len());
        let mut states = 1usize;
        for class in &classes {
            strides.push(states);
            states = states.saturating_mul(usize::from(class.wish.count) + 1);
        }
        let budget_stride = states;
        let states = states.saturating_mul(budget.map_or(1, |budget| budget + 1));
        let exact = groups.len() == problem.classes.len();
        Self { merged, groups, classes, strides, budget_stride, budget, states, exact }
    }

    /// The state of these devices left and so many slots left.
    pub(super) fn state(&self, left: &[u8], slots_left: Option<usize>) -> usize {
        let devices: usize = left
            .iter()
            .zip(&self.merged)
            .map(|(count, group)| usize::from(*count) * self.strides.get(*group).copied().unwrap_or(0))
            .sum();
        let slots = self.budget.map_or(0, |most| slots_left.unwrap_or(most).min(most));
        devices + slots * self.budget_stride
    }

    /// The best and the next best sum from the row at `at` on. Rows are filled in as they are asked for.
    pub(super) fn get(&self, rows: &mut [BoundRow], at: usize, state: usize) -> Two {
        if at >= rows.len() {
            let devices = state % self.budget_stride;
            return if devices == 0 { [Some(Score::default()), None] } else { [None, None] };
        }
        if let Some(known) = rows.get(at).and_then(|row| row.known.get(&state)) {
            return *known;
        }
        let mut best = [None, None];
        let ways = rows.get(at).map_or(0, |row| row.ways.len());
        for way in 0..ways {
            let Some((next, score)) = self.follow(&rows[at].ways[way], state) else { continue };
            for then in self.get(rows, at + 1, next).iter().flatten() {
                put(&mut best, then.plus(&score));
            }
        }
        if let Some(row) = rows.get_mut(at) {
            row.known.insert(state, best);
        }
        best
    }

    /// The state behind a slot that is filled so; `None` when there are not so many devices.
    fn follow(&self, way: &Way, state: usize) -> Option<(usize, Score)> {
        let fits = way.counts.iter().all(|(group, wanted)| {
            let radix = usize::from(self.classes[*group].wish.count) + 1;
            state / self.strides[*group] % radix >= usize::from(*wanted)
        });
        (fits && way.delta <= state).then(|| (state - way.delta, way.score))
    }

    /// The row of a slot.
    pub(super) fn row(
        &self,
        problem: &Problem<'_>,
        used: SlotUse,
        allowed: &dyn Fn(usize, usize) -> bool,
    ) -> BoundRow {
        let slot = used.slot;
        let place = &problem.site.slots[slot];
        let mut best: BTreeMap<Vec<u8>, Two> = BTreeMap::new();
        if used.may_be_empty {
            best.insert(vec![0; self.classes.len()], [Some(Score::default()), None]);
        }
        let may = |group: usize| self.groups[group].iter().any(|class| allowed(*class, slot));
        for (fill, value) in used.ways(problem, &self.classes, &may) {
            let wanted = demand(fill.counts.iter().zip(&self.classes));
            let choice = &problem.choices[slot][fill.choice];
            let score = Score::of(problem.prefer, |component| match component {
                Component::Together => amount(value.rate) - amount(wanted),
                Component::Alone => amount(value.alone) - amount(wanted),
                other => of_slot(problem, slot, choice, &value, other),
            });
            put(best.entry(fill.counts).or_default(), score);
        }
        let slot_cost =
            if self.budget.is_some() && !place.form.takes_drives() { self.budget_stride } else { 0 };
        let ways = best
            .into_iter()
            .flat_map(|(counts, scores)| {
                let devices: usize = counts
                    .iter()
                    .zip(&self.strides)
                    .map(|(count, stride)| usize::from(*count) * stride)
                    .sum();
                let delta = if devices == 0 { 0 } else { devices + slot_cost };
                let counts: Vec<(usize, u8)> =
                    counts.into_iter().enumerate().filter(|(_, count)| *count > 0).collect();
                scores.into_iter().flatten().map(move |score| Way { counts: counts.clone(), delta, score })
            })
            .collect();
        let known = HashMap::with_capacity(self.states.min(1024));
        BoundRow { used, fills: used.fills(problem, allowed), ways, known }
    }
}

/// Keeps the best two different scores.
fn put(best: &mut [Option<Score>; 2], score: Score) {
    match best {
        [Some(first), _] if *first == score => {}
        [Some(first), second] if *first > score => {
            if second.is_none_or(|second| second < score) {
                *second = Some(score);
            }
        }
        [first, second] => {
            *second = *first;
            *first = Some(score);
        }
    }
}

/// Every choice of 1 to `ports` devices out of these classes, no more of each than there are.
fn multisets(classes: &[Class], ports: u8, may: &dyn Fn(usize) -> bool) -> Vec<Vec<u8>> {
    let mut found = vec![vec![0u8; classes.len()]];
    for (at, class) in classes.iter().enumerate() {
        if !may(at) {
            continue;
        }
        let mut more = Vec::new();
        for counts in &found {
            let used: u8 = counts.iter().sum();
            for count in 1..=class.wish.count.min(ports.saturating_sub(used)) {
                let mut next = counts.clone();
                next[at] = count;
                more.push(next);
            }
        }
        found.extend(more);
    }
    found.retain(|counts| counts.iter().any(|count| *count > 0));
    found
}

/// The merged class of each class, and the classes of each merged one.
fn merge(classes: &[Class], budget: Option<usize>) -> (Vec<usize>, Vec<Vec<usize>>) {
    let slots = budget.map_or(1, |budget| budget + 1);
    let states = |groups: &[Vec<usize>]| {
        let count = |group: &Vec<usize>| {
            group.iter().map(|at| usize::from(classes[*at].wish.count)).sum::<usize>() + 1
        };
        groups.iter().map(count).fold(slots, usize::saturating_mul)
    };
    let apart: Vec<Vec<usize>> = (0..classes.len()).map(|at| vec![at]).collect();
    let by = |key: &dyn Fn(&Class) -> u64| {
        let mut groups: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        classes.iter().enumerate().for_each(|(at, class)| groups.entry(key(class)).or_default().push(at));
        groups.into_values().collect::<Vec<_>>()
    };
    // Graphics move no data of storage, and are not merged with what does.
    let is_drive = |class: &Class| match class.wish.kind {
        kind if kind.is_drive() => 1,
        Kind::Gpu => 2,
        _ => 0,
    };
    // Ever coarser: by link and length, by length, by whether they are drives.
    let steps: [&dyn Fn(&Class) -> u64; 3] = [
        &|class| {
            let wish = &class.wish;
            let link = u64::from(wish.lanes.get()) << 8 | u64::from(wish.connector.get()) << 16;
            link | u64::from(wish.speed.mega()) << 24 | is_drive(class)
        },
        &|class| u64::from(class.wish.connector.get()) << 8 | is_drive(class),
        &is_drive,
    ];
    let mut groups = apart;
    for step in steps {
        if states(&groups) <= STATES {
            break;
        }
        groups = by(step);
    }
    let mut merged = vec![0; classes.len()];
    for (group, members) in groups.iter().enumerate() {
        members.iter().for_each(|at| merged[*at] = group);
    }
    (merged, groups)
}

/// One class with the best properties of all of these.
fn best_of(problem: &Problem<'_>, members: &[usize]) -> Class {
    let all = || members.iter().filter_map(|at| problem.classes.get(*at));
    let first = &problem.classes[members[0]];
    let mut best = first.clone();
    if members.len() == 1 {
        return best;
    }
    best.target = WholeRate::ZERO;
    best.wish.form = best.wish.form.filter(|form| all().all(|class| class.wish.form == Some(*form)));
    best.wish.length = all().map(|class| class.wish.length).min().flatten();
    best.demand = all().map(|class| class.demand).min().unwrap_or_default();
    best.graphics = all().map(|class| class.graphics).max().unwrap_or_default();
    best.wish.count = all().map(|class| class.wish.count).fold(0, u8::saturating_add);
    best.wish.speed = all().map(|class| class.wish.speed).max().unwrap_or(first.wish.speed);
    best.wish.lanes = all().map(|class| class.wish.lanes).max().unwrap_or(first.wish.lanes);
    best.wish.connector = all().map(|class| class.wish.connector).min().unwrap_or(first.wish.connector);
    best
}
