//! The tests that are still to come: what each needs, and what of the whole it may have.
//!
//! A test needs bytes in proportion to its rate, and all are to run for the same time: so the rates decide how what may be
//! written is divided. Before anything was tried they are guessed from block size and depth. What a test leaves falls to
//! those behind it; a test that needs more than it is thought to may have half of what all others can spare.

use std::sync::Arc;
use std::time::Duration;

use super::{Writes, WritesState, limit, whole_gib};
use crate::measure::{MOST_ROUNDS, Timing};
use narrows_base::lists::distinct;
use narrows_base::units::{Bytes, BytesPerSec, human};
use narrows_load::guard::{Budget, OverBudget};
use narrows_load::preset::{LoadSpec, StopRule, Work};

/// How long a test at a steady rate runs until it is known to 2 %: the least is 2 s, and a rate that varies as that of most
/// drives does takes half as long again.
const KNOWN_AFTER: f64 = 2.7;
/// What comes with a test beside its load: rings and memory are set up, drives asked for their state.
const AROUND: f64 = 0.1;
/// Rounds until five agree: five at the least, more on most drives.
const ROUNDS: f64 = 8.0;
/// How often what is in flight must be written at the least for a rate, and for a test to be begun at all.
const IN_FLIGHT: f64 = 4.0;
const BEGUN: f64 = 2.0;
/// Blocks and depths from which on a drive is taken to write as fast as it can.
const FULL_RATE_AT: f64 = 256.0 * 1024.0;

/// One test to come.
#[derive(Debug, Clone, PartialEq)]
struct Item {
    /// What it runs; `None` for a scan.
    load: Option<LoadSpec>,
    /// How long it is thought to take.
    seconds: f64,
    /// How long it may take.
    longest: f64,
    /// Bytes that it writes in a second.
    rate: f64,
    /// How many times that it may turn out to be.
    doubt: f64,
}

/// What was tried for a moment may be half as fast again when it runs; what was not tried, several times as fast.
const TRIED: f64 = 1.5;
const GUESSED: f64 = 8.0;

impl Item {
    /// What it is thought to write: enough in any case for what it has in flight. While rates are only guessed
    /// (`is_known` is false) they have no unit, and only how tests divide what there is follows from them.
    fn need(&self, is_known: bool) -> f64 {
        let load = self.load.as_ref().filter(|_| is_known);
        let least = load.map_or(0.0, |load| load.in_flight().as_f64()) * IN_FLIGHT;
        if self.rate > 0.0 { (self.seconds * self.rate).max(least) } else { 0.0 }
    }

    /// What it is not begun without.
    fn least(&self) -> f64 {
        let load = self.load.as_ref().filter(|_| self.rate > 0.0);
        load.map_or(0.0, |load| load.in_flight().as_f64()) * BEGUN
    }
}

/// What a test may have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Share {
    /// Bytes that it may write.
    pub(super) bytes: Bytes,
    /// How long it may take, its warm-up included.
    pub(super) time: Duration,
    /// How long it can run with these bytes, at the rate that it is thought to have, and at the highest that it may have.
    pub(super) lasts: [Duration; 2],
}

/// The tests to come, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Ahead {
    items: Vec<Item>,
    /// Whether rates are those of this drive.
    is_known: bool,
}

impl Ahead {
    /// These tests.
    pub(super) fn of(works: &[Work], timing: &Timing) -> Self {
        let item = |work: &Work| {
            let load = limit::load_of(work).cloned();
            let (seconds, longest) = span(load.as_ref(), timing);
            let rate = load.as_ref().map_or(0.0, guess);
            Item { load, seconds, longest, rate, doubt: GUESSED }
        };
        Self { items: works.iter().map(item).collect(), is_known: false }
    }

    /// The loads that write and are tried first: what goes through the page cache says nothing.
    pub(super) fn tried(&self) -> Vec<LoadSpec> {
        let loads = self.items.iter().filter_map(|item| item.load.as_ref());
        distinct(loads.filter(|load| load.writes() && !load.buffered).cloned())
    }

    /// Puts the rates of this drive in the place of guesses: those that were tried, and for others what `full`, the rate of
    /// filling, lets expect.
    fn learn(&mut self, full: f64, tried: &[(LoadSpec, f64)]) {
        for item in &mut self.items {
            let Some(load) = &item.load else { continue };
            // A trial in which nothing ended says nothing.
            let seen = tried.iter().find(|(other, rate)| other == load && *rate > 0.0).map(|(_, rate)| *rate);
            item.doubt = if seen.is_some() { TRIED } else { GUESSED };
            item.rate = seen.unwrap_or_else(|| full * guess(load));
        }
        self.is_known = true;
    }

    /// What the tests write if they take as long as they are thought to, and no more than `left`.
    pub(super) fn bytes(&self, left: Bytes) -> Bytes {
        Bytes::new(self.need().min(left.as_f64()) as u64)
    }

    /// How long they take then.
    pub(super) fn time(&self, left: Bytes) -> Duration {
        let level = self.level(left.as_f64());
        let of = |item: &Item| if item.rate > 0.0 { item.seconds * level } else { item.seconds };
        Duration::from_secs_f64(self.items.iter().map(|item| of(item) + AROUND).sum())
    }

    /// The most that a load writes in its longest time; `None` as long as its rate is only guessed.
    pub(super) fn most(&self, load: &LoadSpec) -> Option<Bytes> {
        let item = self.items.iter().find(|item| item.load.as_ref() == Some(load));
        item.filter(|_| self.is_known).map(|item| Bytes::new((item.longest * item.rate) as u64))
    }

    /// Takes the next test with this load (`None` for a scan) from the list, and says what it may have, where `bytes` are
    /// left for all tests and `time` for the whole run. A test on several `targets` at once was announced for each. A load
    /// that nobody announced has what is left over.
    fn take(&mut self, targets: usize, load: Option<&LoadSpec>, bytes: Bytes, time: Duration) -> Share {
        let mut next = || {
            let at = self.items.iter().position(|item| item.load.as_ref() == load)?;
            Some(self.items.remove(at))
        };
        let mut item = next().unwrap_or_else(|| Item {
            load: load.cloned(),
            seconds: KNOWN_AFTER,
            longest: KNOWN_AFTER,
            rate: load.map_or(0.0, guess),
            doubt: GUESSED,
        });
        item.rate += (1..targets).filter_map(|_| next()).map(|item| item.rate).sum::<f64>();
        let written = self.part(&item, bytes.as_f64());
        let others: f64 = self.items.iter().map(|item| item.seconds + AROUND).sum();
        let spare = (time.as_secs_f64() - item.seconds - others).max(0.0);
        let long = item.seconds + if self.items.is_empty() { spare } else { spare / 2.0 };
        let lasts = |rate: f64| {
            let seconds = if self.is_known && rate > 0.0 { written / rate } else { f64::MAX };
            Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
        };
        Share {
            bytes: Bytes::new(written as u64),
            time: Duration::try_from_secs_f64(long).unwrap_or(Duration::MAX),
            lasts: [lasts(item.rate), lasts(item.rate * item.doubt)],
        }
    }

    /// What a test may have of `left` beside the others. Where it is too little for all, each has what it is not begun without, and
    /// the rest is divided by what they need.
    fn part(&self, item: &Item, left: f64) -> f64 {
        let (need, others) = (item.need(self.is_known), self.need());
        if need <= 0.0 {
            return 0.0;
        }
        let spare = left - need - others;
        if !self.items.iter().any(|item| item.rate > 0.0) {
            left
        } else if spare < 0.0 || !self.is_known {
            let (least, of_others) = (item.least(), self.items.iter().map(Item::least).sum::<f64>());
            let rest = left - least - of_others;
            let (least, rest) = if rest > 0.0 { (least, rest) } else { (0.0, left) };
            least + rest * need / (need + others)
        } else {
            need + spare / 2.0
        }
    }

    fn need(&self) -> f64 {
        self.items.iter().map(|item| item.need(self.is_known)).sum()
    }

    /// The part of their time that all tests that write have.
    fn level(&self, left: f64) -> f64 {
        let need = self.need();
        if need > left { left / need } else { 1.0 }
    }
}

/// How long a load is thought to take, and how long it may.
fn span(load: Option<&LoadSpec>, timing: &Timing) -> (f64, f64) {
    let warm_up = timing.warm_up.as_secs_f64();
    let longest = timing.longest().as_secs_f64();
    let seconds = match (timing.fixed, timing.stop) {
        (_, StopRule::SteadyRounds(_)) => {
            return (longest * ROUNDS + warm_up, longest * f64::from(MOST_ROUNDS) + warm_up);
        }
        (None, StopRule::Precision) => KNOWN_AFTER.min(longest),
        (None, StopRule::Seconds(_)) if load.is_none() => KNOWN_AFTER.min(longest),
        _ => longest,
    };
    (seconds + warm_up, longest + warm_up)
}

/// The part of the full rate of a drive at which a load writes, as long as nothing was tried.
fn guess(load: &LoadSpec) -> f64 {
    let in_flight = load.total_depth() as f64 * load.block_size.as_f64();
    f64::from(load.write_percent) / 100.0 * (in_flight / FULL_RATE_AT).sqrt().min(1.0)
}

/// A run writes no more than this of what it was estimated to.
pub(super) const HELD_WITHIN: f64 = 1.5;
/// Its tests are over in this part of the time that it was estimated to take: what comes with them varies, too.
const HELD_WITHIN_TIME: f64 = 1.4;
/// A test that is over sooner than this is sampled finer: there would be too few samples of 100 ms.
const SHORT: Duration = Duration::from_millis(2400);

/// What one test may write, and how long it may take.
#[derive(Debug, Clone)]
pub struct Allowance {
    /// What its writes are taken from.
    pub budget: Arc<Budget>,
    /// How long it may take, where that was announced.
    pub time: Option<Duration>,
    /// How long it can run with these bytes, at the rate that it is thought to have, and at the highest that it may have.
    lasts: [Duration; 2],
    /// Whether it is what was estimated that it may not exceed; more may be written.
    pub is_held: bool,
}

impl Allowance {
    /// Whether it is over so soon that it is sampled finer.
    pub fn is_short(&self) -> bool {
        self.lasts.first().is_some_and(|lasts| *lasts < SHORT)
    }

    /// The part of a warm-up that does not use up what is meant for the test.
    pub fn warm_up(&self, asked: Duration) -> Duration {
        self.lasts.last().map_or(asked, |lasts| asked.min(*lasts / 10))
    }

    /// What is needed for a load to be measured at all: twice what it has in flight.
    ///
    /// # Errors
    /// There is less.
    pub fn suffices(&self, load: &LoadSpec) -> Result<(), OverBudget> {
        self.budget.announce(load.in_flight() + load.in_flight())
    }
}

impl Writes {
    /// Why a load that runs in rounds cannot, if it cannot: it needs far more than other tests, so it is not begun with
    /// less.
    pub fn obstacle(&self, load: &LoadSpec, timing: &Timing) -> Option<String> {
        if !matches!(timing.stop, StopRule::SteadyRounds(_)) || load.write_percent == 0 {
            return None;
        }
        let state = self.state();
        let most = state.ahead.most(load)?;
        let all: Option<u64> =
            state.ahead.tried().iter().map(|load| Some(state.ahead.most(load)?.get())).sum();
        let needed = Bytes::new(all?.saturating_add(self.size.get()));
        (needed > self.limit.data).then(|| {
            format!(
                "its rounds need at most {}, more than may be written; --max-writes {} allows them all",
                human::bytes(most),
                whole_gib(needed)
            )
        })
    }

    /// What the next test with this load may have (`None`: a scan).
    pub fn allow(&self, load: Option<&LoadSpec>) -> Allowance {
        self.allow_on(1, load)
    }

    /// What the next test with this load may have that runs on several targets at once, which was announced for each.
    pub fn allow_on(&self, targets: usize, load: Option<&LoadSpec>) -> Allowance {
        let mut state = self.state();
        let others = state.to_fill;
        let allowed = self.budget.left().saturating_sub(others).saturating_sub(state.debt);
        let held = state.estimate.filter(|_| self.holds_bytes);
        let spent = self.spent(&state);
        let most = held.map_or(allowed, |estimate| {
            let most = Bytes::new((estimate.bytes.as_f64() * HELD_WITHIN) as u64);
            most.saturating_sub(spent).saturating_sub(others)
        });
        let time = state.estimate.filter(|_| !self.is_patient);
        let time =
            time.map(|estimate| estimate.time.mul_f64(HELD_WITHIN_TIME).saturating_sub(self.begun.elapsed()));
        let time_left = time.unwrap_or(Duration::MAX / 4);
        let share = state.ahead.take(targets, load, allowed.min(most), time_left);
        Allowance {
            budget: Arc::new(Budget::part_of(&self.budget, share.bytes)),
            time: time.map(|_| share.time),
            lasts: share.lasts,
            is_held: most < allowed,
        }
    }
}

/// After so much the rest of a run is estimated.
pub const ESTIMATED_AFTER: Bytes = Bytes::from_mib(256);
/// Of that, what is left for trying the tests.
const FOR_TRIALS: Bytes = Bytes::from_mib(64);

/// What the run was thought to take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimate {
    pub(super) after: Bytes,
    pub(super) bytes: Bytes,
    pub(super) time: Duration,
}

impl Writes {
    /// What the rest of the filling must leave when the tests are tried.
    pub fn filled_before_trials(&self) -> Bytes {
        ESTIMATED_AFTER.saturating_sub(FOR_TRIALS).min(self.size)
    }

    /// The loads that are tried before the rest is estimated, and what each may write.
    pub fn trials(&self) -> Vec<(LoadSpec, Arc<Budget>)> {
        let loads = self.state().ahead.tried();
        let count = loads.len().max(1) as u64;
        let left = self.budget.left();
        // Never a tenth of what the tests may write.
        let each = Bytes::new(FOR_TRIALS.get().min(left.get() / 10) / count);
        let budget = |_: &LoadSpec| Arc::new(Budget::part_of(&self.budget, each));
        loads.iter().map(budget).zip(&loads).map(|(budget, load)| (load.clone(), budget)).collect()
    }

    /// Estimates the whole run, in words: it was filled at `rate`, the filling will come to `size`, and these loads were
    /// tried and wrote so many bytes a second.
    pub fn estimate(
        &self,
        rate: BytesPerSec,
        (there, size): (Bytes, Bytes),
        tried: &[(LoadSpec, f64)],
    ) -> String {
        let mut state = self.state();
        state.ahead.learn(rate.get(), tried);
        let rest = size.saturating_sub(there);
        // What a device is filled with, and zeroing it, was set aside before.
        let (unspent, zeroed) = if self.cleared { (Bytes::new(0), size) } else { (rest, Bytes::new(0)) };
        let (spent, left) = (self.spent(&state), self.budget.left().saturating_sub(unspent));
        let bytes = spent + unspent + state.ahead.bytes(left);
        let filling = rest + zeroed;
        let filling = if rate.get() > 0.0 { filling.as_f64() / rate.get() } else { 0.0 };
        let time = self.begun.elapsed() + Duration::from_secs_f64(filling) + state.ahead.time(left);
        let after = if self.cleared { there } else { spent };
        self.tell(&mut state, Estimate { after, bytes, time })
    }

    /// The same for a run that fills several things: `there` of the first were written at `rate` and are not taken yet.
    pub fn estimate_first(&self, rate: BytesPerSec, there: Bytes, tried: &[(LoadSpec, f64)]) -> String {
        let mut state = self.state();
        state.ahead.learn(rate.get(), tried);
        let rest = state.to_fill.saturating_sub(there);
        let (spent, left) = (self.spent(&state) + there, self.budget.left().saturating_sub(state.to_fill));
        let filling = if rate.get() > 0.0 { rest.as_f64() / rate.get() } else { 0.0 };
        let bytes = spent + rest + state.ahead.bytes(left);
        let time = self.begun.elapsed() + Duration::from_secs_f64(filling) + state.ahead.time(left);
        self.tell(&mut state, Estimate { after: spent, bytes, time })
    }

    fn tell(&self, state: &mut WritesState, estimate: Estimate) -> String {
        state.estimate = Some(estimate);
        let held = if self.is_patient { "at least" } else { "about" };
        let Estimate { after, bytes, time } = estimate;
        let (after, bytes, time) = (human::bytes(after), human::bytes(bytes), human::time(time.into()));
        format!("after {after}: about {bytes} and {held} {time} in all")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::UNTIL_KNOWN;
    use narrows_load::measurement::Pattern;

    const TIMING: Timing = Timing { warm_up: Duration::from_millis(200), ..UNTIL_KNOWN };

    fn load(kib: u64, depth: u32, writes: u8) -> LoadSpec {
        LoadSpec::reading(Pattern::Random, Bytes::from_kib(kib), depth).writing(writes)
    }

    fn ahead(loads: &[LoadSpec]) -> Ahead {
        let works: Vec<Work> = loads.iter().cloned().map(Work::Load).collect();
        Ahead::of(&works, &TIMING)
    }

    const FOR_EVER: Duration = Duration::from_secs(1000);

    #[test]
    fn tests_have_bytes_by_their_rates_where_there_are_too_few_for_all() {
        let (large, small, read) = (load(1024, 8, 100), load(4, 1, 100), load(4, 1, 0));
        let mut tests = ahead(&[large.clone(), small.clone(), read.clone()]);
        tests.learn(1e9, &[(large.clone(), 1e9), (small.clone(), 1e7)]);
        // 2.9 s at 1 GB/s and 10 MB/s are 2.929 GB.
        assert_eq!(tests.bytes(Bytes::new(9_000_000_000)).get() / 1_000_000, 2929);
        let first = tests.take(1, Some(&large), Bytes::new(1_010_000_000), FOR_EVER);
        assert!((first.bytes.as_f64() - 1e9).abs() < 1e6, "{first:?}");
        let [thought, least] = first.lasts.map(|time| time.as_secs_f64());
        assert!((thought - 1.0).abs() < 1e-3 && (least - 1.0 / 1.5).abs() < 1e-3, "{first:?}");
        // The rest is all for the only one that writes.
        let second = tests.take(1, Some(&small), Bytes::new(10_000_000), FOR_EVER);
        assert_eq!(second.bytes, Bytes::new(10_000_000));
        assert_eq!(tests.take(1, Some(&read), Bytes::new(10_000_000), FOR_EVER).bytes, Bytes::new(0));
    }

    #[test]
    fn a_test_that_needs_more_than_it_is_thought_to_has_half_of_what_is_spare() {
        let (one, two) = (load(64, 8, 100), load(64, 4, 100));
        let mut tests = ahead(&[one.clone(), two.clone()]);
        tests.learn(1e8, &[(one.clone(), 1e8), (two.clone(), 1e8)]);
        // Each is thought to write 290 MB; of 1 GB 420 MB are spare.
        let share = tests.take(1, Some(&one), Bytes::new(1_000_000_000), Duration::from_secs(9));
        assert!((share.bytes.as_f64() - 5e8).abs() < 1e3, "{share:?}");
        // 2.9 and 3.0 s of 9 s: half of 3.1 s more.
        assert!((share.time.as_secs_f64() - 4.45).abs() < 1e-9, "{share:?}");
    }

    #[test]
    fn a_test_on_several_targets_takes_what_was_announced_for_each() {
        let one = load(64, 8, 100);
        let mut tests = ahead(&vec![one.clone(); 3]);
        tests.learn(1e8, &[(one.clone(), 1e8)]);
        // Twice 290 MB, and half of the 130 MB that are spare.
        let share = tests.take(2, Some(&one), Bytes::new(1_000_000_000), FOR_EVER);
        assert!((share.bytes.as_f64() - 645e6).abs() < 1e3, "{share:?}");
        let last = tests.take(1, Some(&one), Bytes::new(355_000_000), FOR_EVER);
        assert_eq!(last.bytes, Bytes::new(355_000_000));
    }

    #[test]
    fn each_of_many_tests_has_what_it_is_not_begun_without() {
        let depths = [1, 2, 4, 8, 16, 32, 64];
        let loads: Vec<LoadSpec> = [4, 16, 64, 256, 1024]
            .iter()
            .flat_map(|kib| depths.iter().map(|depth| load(*kib, *depth, 100)))
            .collect();
        let mut tests = ahead(&loads);
        // In the trial of one nothing ended.
        let tried: Vec<(LoadSpec, f64)> =
            loads.iter().map(|one| (one.clone(), if *one == loads[21] { 0.0 } else { 5e9 })).collect();
        tests.learn(5e9, &tried);
        let mut left = 1_000_000_000;
        for load in &loads {
            let share = tests.take(1, Some(load), Bytes::new(left), FOR_EVER).bytes;
            assert!(share.get() >= 2 * load.in_flight().get(), "{load:?}: {share:?} of {left}");
            left -= share.get();
        }
    }

    #[test]
    fn unknown_rates_only_divide_what_there_is() {
        let (deep, shallow) = (load(1024, 8, 100), load(4, 1, 100));
        let mut tests = ahead(&[deep.clone(), shallow.clone()]);
        assert_eq!(tests.most(&deep), None);
        // A block of 4 KiB in flight: an eighth of the rate.
        let share = tests.take(1, Some(&deep), Bytes::new(9000), FOR_EVER);
        assert_eq!(share, Share { bytes: Bytes::new(8000), time: share.time, lasts: [Duration::MAX; 2] });
        assert_eq!(tests.take(1, Some(&load(8, 1, 100)), Bytes::new(10), FOR_EVER).bytes.get(), 5);
    }

    #[test]
    fn rounds_may_need_25_times_their_time() {
        let timing = Timing { stop: StopRule::SteadyRounds(10), warm_up: Duration::ZERO, ..TIMING };
        let write = load(4, 32, 100);
        let mut tests = Ahead::of(&[Work::Load(write.clone())], &timing);
        tests.learn(1e8, &[(write.clone(), 1e8)]);
        assert_eq!(tests.most(&write), Some(Bytes::new(25_000_000_000)));
        let tests = ahead(&[load(4, 1, 0)]);
        assert_eq!(tests.bytes(Bytes::new(u64::MAX)), Bytes::new(0));
        assert!((tests.time(Bytes::new(0)).as_secs_f64() - (2.9 + 0.1)).abs() < 1e-9);
    }

    #[test]
    fn what_is_tried_writes_past_the_page_cache() {
        let buffered = LoadSpec { buffered: true, ..load(4, 1, 100) };
        let write = load(4, 1, 100);
        let tests = ahead(&[load(4, 1, 0), write.clone(), buffered, write.clone()]);
        assert_eq!(tests.tried(), [write]);
    }
}
