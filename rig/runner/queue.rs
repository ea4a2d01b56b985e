//! The order in which scenarios run: workers stay with a guest's shape as long as there is work for it, so that few are booted.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::scenario::Scenario;
use super::shape::{self, Shape};

/// How long a scenario of which nothing is known takes, in seconds.
const USUAL: f64 = 12.0;
/// Another guest is booted for the shape of a running one where so many seconds of work are left.
const WORTH_A_BOOT: f64 = 20.0;

/// How long each scenario took the last time, in seconds.
pub(crate) type Times = BTreeMap<String, f64>;

/// Scenarios that wait.
#[derive(Debug)]
pub(crate) struct Queue<'a> {
    groups: Mutex<Vec<Group<'a>>>,
    times: &'a Times,
}

#[derive(Debug)]
struct Group<'a> {
    shape: Shape,
    waiting: Vec<&'a Scenario>,
    workers: usize,
}

/// A scenario to run, and those of its shape that still wait.
#[derive(Debug)]
pub(crate) struct Next<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) waiting: Vec<&'a Scenario>,
}

impl<'a> Queue<'a> {
    /// A queue of these.
    pub(crate) fn new(scenarios: &[&'a Scenario], times: &'a Times) -> Self {
        let groups = shape::groups(scenarios).into_iter().filter_map(|mut members| {
            let shape = Shape::of(members.first()?);
            // Taken from the end: the longest first, so that no worker has much to do when the others have nothing.
            members.reverse();
            members.sort_by(|one, other| time_of(one, times).total_cmp(&time_of(other, times)));
            Some(Group { shape, waiting: members, workers: 0 })
        });
        Self { groups: Mutex::new(groups.collect()), times }
    }

    /// The next scenario for a worker whose last one had this shape; `None` for a worker that begins. Prefers its shape, then the longest work that nobody does,
    /// then to help another worker.
    pub(crate) fn next(&self, current: Option<&Shape>) -> Option<Next<'a>> {
        let mut groups = self.lock();
        let index = groups
            .iter()
            .position(|group| Some(&group.shape) == current && !group.waiting.is_empty())
            .or_else(|| {
                if let Some(left) = groups.iter_mut().find(|group| Some(&group.shape) == current) {
                    left.workers = left.workers.saturating_sub(1);
                }
                let index = self.longest(&groups)?;
                groups.get_mut(index)?.workers += 1;
                Some(index)
            })?;
        let group = groups.get_mut(index)?;
        let scenario = group.waiting.pop()?;
        Some(Next { scenario, waiting: group.waiting.iter().rev().copied().collect() })
    }

    fn longest(&self, groups: &[Group<'a>]) -> Option<usize> {
        let work = |group: &Group<'_>| group.waiting.iter().map(|one| time_of(one, self.times)).sum::<f64>();
        let candidates = groups.iter().enumerate().map(|(index, group)| (index, group.workers, work(group)));
        candidates
            .filter(|&(_, workers, work)| work > if workers > 0 { WORTH_A_BOOT } else { 0.0 })
            .max_by(|(_, workers, work), (_, others, other)| {
                (*others > 0).cmp(&(*workers > 0)).then(work.total_cmp(other))
            })
            .map(|(index, ..)| index)
    }

    /// How many seconds of work wait.
    pub(crate) fn work(&self) -> f64 {
        let groups = self.lock();
        groups.iter().flat_map(|group| &group.waiting).map(|one| time_of(one, self.times)).sum()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Group<'a>>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a scenario will take, as far as is known.
pub(crate) fn time_of(scenario: &Scenario, times: &Times) -> f64 {
    times.get(&scenario.name).copied().unwrap_or(USUAL)
}

/// The times of a run whose table was kept: lines that begin with a name and end with `24 s  pass`.
pub(crate) fn documented(table: &str) -> Times {
    let time = |line: &str| {
        let seconds = line.trim_end().strip_suffix("pass")?.trim_end().strip_suffix(" s")?;
        let name = line.split_whitespace().find(|word| !word.contains(['/', ':']))?;
        Some((name.to_owned(), seconds.rsplit(' ').next()?.parse().ok()?))
    };
    table.lines().filter_map(time).collect()
}
