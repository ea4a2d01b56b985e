//! The best that the remaining slots can do with the remaining devices, as if slots did not depend on each other.
//!
//! Dynamic programming over slots from the last to the first and over the counts of devices that are left. For slots that
//! share nothing this is no bound but the truth. Where there are too many counts, alike classes are merged into one with
//! the best properties of each, which can only raise the bound.

use crate::plan::problem::{Class, Problem, value};
use crate::plan::rate::WholeRate;
use crate::units::Lanes;

use super::score::{Component, Prefer, Score, amount, cost};

/// The most states of a table; each costs some hundred bytes and a pass over the ways to fill a slot.
const STATES: usize = 24_000;

/// The table.
#[derive(Debug)]
pub(super) struct Bound {
    /// The merged class of each class.
    merged: Vec<usize>,
    /// What one device of a merged class adds to the state.
    strides: Vec<usize>,
    /// What one free slot adds to the state.
    budget_stride: usize,
    /// The most slots that may be left; without a limit there is none to count.
    budget: Option<usize>,
    /// For each slot in the order of the search and each state the best and the next best sum, with the state empty
    /// behind the last slot.
    table: Vec<Vec<[Option<Score>; 2]>>,
    /// Whether no classes were merged.
    pub(super) exact: bool,
}

/// A way to fill a slot, in merged classes.
struct Way {
    counts: Vec<u8>,
    delta: usize,
    uses_slot: bool,
    score: Score,
}

impl Bound {
    pub(super) fn new(
        problem: &Problem<'_>,
        prefer: Prefer,
        order: &[usize],
        allowed: &dyn Fn(usize, usize) -> bool,
    ) -> Self {
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
        let mut bound = Self {
            exact: groups.len() == problem.classes.len(),
            merged,
            strides,
            budget_stride,
            budget,
            table: Vec::new(),
        };
        let mut behind = vec![[None, None]; states];
        for empty in 0..=budget.unwrap_or(0) {
            behind[empty * budget_stride] = [Some(Score::default()), None];
        }
        let mut table = vec![behind];
        for slot in order.iter().rev() {
            let may = |group: usize| groups[group].iter().any(|class| allowed(*class, *slot));
            let ways = bound.ways(problem, prefer, *slot, &classes, &may);
            let behind = &table[table.len() - 1];
            let here = (0..states).map(|state| bound.best(state, &classes, &ways, behind)).collect();
            table.push(here);
        }
        table.reverse();
        bound.table = table;
        bound
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

    /// The best and the next best sum from the slot at `at` of the order on.
    pub(super) fn get(&self, at: usize, state: usize) -> [Option<Score>; 2] {
        self.table.get(at).and_then(|row| row.get(state)).copied().unwrap_or_default()
    }

    fn digit(&self, state: usize, group: usize, count: u8) -> usize {
        state / self.strides.get(group).copied().unwrap_or(1) % (usize::from(count) + 1)
    }

    fn best(
        &self,
        state: usize,
        classes: &[Class],
        ways: &[Way],
        behind: &[[Option<Score>; 2]],
    ) -> [Option<Score>; 2] {
        let mut best = [None, None];
        for way in ways {
            let fits = way.counts.iter().enumerate().all(|(group, wanted)| {
                *wanted == 0 || self.digit(state, group, classes[group].wish.count) >= usize::from(*wanted)
            });
            let has_slot = !way.uses_slot || self.budget.is_none() || state / self.budget_stride > 0;
            if !fits || !has_slot {
                continue;
            }
            let slot = if way.uses_slot && self.budget.is_some() { self.budget_stride } else { 0 };
            for then in behind[state - way.delta - slot].iter().flatten() {
                put(&mut best, then.plus(&way.score));
            }
        }
        best
    }

    fn ways(
        &self,
        problem: &Problem<'_>,
        prefer: Prefer,
        slot: usize,
        classes: &[Class],
        may: &dyn Fn(usize) -> bool,
    ) -> Vec<Way> {
        let nothing = vec![0; classes.len()];
        let mut ways = vec![Way { counts: nothing.clone(), delta: 0, uses_slot: false, score: Score::default() }];
        let place = &problem.site.slots[slot];
        for choice in &problem.choices[slot] {
            let lanes: Lanes = problem.lanes(slot, choice);
            multisets(classes, choice.ports, &|group| {
                may(group) && classes[group].wish.kind.is_drive() == choice.drives
            })
            .into_iter()
            .for_each(|counts| {
                let items = counts.iter().zip(classes).filter(|(count, _)| **count > 0);
                let Some(value) = value(place, choice, lanes, items.map(|(count, class)| (*count, class))) else { return };
                let uses_slot = !place.form.takes_drives();
                let score = Score::of(prefer, |component| match component {
                    Component::Together => amount(value.rate),
                    Component::Served => 0,
                    Component::Alone => amount(value.alone),
                    Component::Switches => cost(u64::from(choice.is_switch())),
                    Component::Slots => cost(u64::from(uses_slot)),
                    Component::Changes => cost(problem.changes(slot, choice)),
                    Component::Adapters => cost(u64::from(choice.is_adapter())),
                });
                let delta = counts.iter().zip(&self.strides).map(|(count, stride)| usize::from(*count) * stride).sum();
                ways.push(Way { counts, delta, uses_slot, score });
            });
        }
        ways
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
pub(super) fn multisets(classes: &[Class], ports: u8, may: &dyn Fn(usize) -> bool) -> Vec<Vec<u8>> {
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
        let count = |group: &Vec<usize>| group.iter().map(|at| usize::from(classes[*at].wish.count)).sum::<usize>() + 1;
        groups.iter().map(count).fold(slots, usize::saturating_mul)
    };
    let apart: Vec<Vec<usize>> = (0..classes.len()).map(|at| vec![at]).collect();
    let by = |key: &dyn Fn(&Class) -> u64| {
        let mut groups: std::collections::BTreeMap<u64, Vec<usize>> = std::collections::BTreeMap::new();
        classes.iter().enumerate().for_each(|(at, class)| groups.entry(key(class)).or_default().push(at));
        groups.into_values().collect::<Vec<_>>()
    };
    let is_drive = |class: &Class| u64::from(class.wish.kind.is_drive());
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
    best.demand = all().map(|class| class.demand).max().unwrap_or_default();
    best.wish.count = all().map(|class| class.wish.count).fold(0, u8::saturating_add);
    best.wish.speed = all().map(|class| class.wish.speed).max().unwrap_or(first.wish.speed);
    best.wish.lanes = all().map(|class| class.wish.lanes).max().unwrap_or(first.wish.lanes);
    best.wish.connector = all().map(|class| class.wish.connector).min().unwrap_or(first.wish.connector);
    best
}
