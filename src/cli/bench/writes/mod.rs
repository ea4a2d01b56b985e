//! What a run may write: said before it begins, divided among its tests, limited while it runs.

mod ahead;
mod endurance;
mod limit;
mod meter;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ahead::Ahead;
pub(in crate::cli) use endurance::{Life, rated};
use limit::{Limit, Times};
use meter::Meter;

use crate::cli::Failure;
use narrows_base::units::{Bytes, BytesPerSec, human};
use narrows_load::guard::{Budget, OverBudget};
use narrows_load::preset::{LoadSpec, StopRule, Work};
use narrows_machine::root::Root;
use narrows_model::path::Path;
use narrows_report::bench::{EstimateView, WritesView};
use narrows_session::measure::{MOST_ROUNDS, Timing};

/// After so much the rest of a run is estimated.
pub(in crate::cli) const ESTIMATED_AFTER: Bytes = Bytes::from_mib(256);
/// Of that, what is left for trying the tests.
const FOR_TRIALS: Bytes = Bytes::from_mib(64);
/// A run writes no more than this of what it was estimated to.
const HELD_WITHIN: f64 = 1.5;
/// Its tests are over in this part of the time that it was estimated to take: what comes with them varies, too.
const HELD_WITHIN_TIME: f64 = 1.4;
/// How often devices are asked what they have written, at most.
const LOOK: Duration = Duration::from_millis(40);
/// A test that is over sooner than this is sampled finer: there would be too few samples of 100 ms.
const SHORT: Duration = Duration::from_millis(2400);

/// What a run is to do.
pub(in crate::cli) struct Wanted<'a> {
    /// `--max-writes`.
    pub(in crate::cli) asked: Option<Bytes>,
    /// What an earlier part of the run wrote.
    pub(in crate::cli) kept: Option<&'a WritesView>,
    /// How much is filled, and whether that was asked for; less is filled where it was not and less may be written.
    pub(in crate::cli) size: (Bytes, bool),
    /// Whether a device is filled, and zeroed again; else a file.
    pub(in crate::cli) is_device: bool,
    /// The tests, in order.
    pub(in crate::cli) works: &'a [Work],
    /// How long they run.
    pub(in crate::cli) timing: &'a Timing,
    /// How often another program runs each test, too.
    pub(in crate::cli) again: u32,
    /// Whether tests may take as long as they need, whatever was estimated; so they may where their time is fixed.
    pub(in crate::cli) is_patient: bool,
    /// Where all ends.
    pub(in crate::cli) path: Option<(&'a Path, &'a Root)>,
    /// The most that the path carries.
    pub(in crate::cli) ceiling: Option<BytesPerSec>,
}

/// What a run may write, and what it has written. A clone is the same.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Writes {
    budget: Arc<Budget>,
    limit: Limit,
    size: Bytes,
    cleared: bool,
    expected: Option<Bytes>,
    compressible_percent: u8,
    life: Option<Life>,
    /// Whether the time of its tests is not held to what was estimated.
    is_patient: bool,
    /// Whether its bytes are.
    holds_bytes: bool,
    /// Whether every byte was planned before the first, so that nothing is estimated.
    is_planned: bool,
    /// What an earlier part of the run wrote.
    before: Bytes,
    begun: Instant,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    ahead: Ahead,
    estimate: Option<Estimate>,
    meter: Meter,
    /// What was taken since a file system wrote it.
    beside: Bytes,
    /// What a file system wrote while the target was filled. Tests have so much less.
    debt: Bytes,
    /// What is still to be filled, other than by the first filling.
    to_fill: Bytes,
    /// When devices were last asked.
    looked: Option<Instant>,
}

/// What the run was thought to take.
#[derive(Debug, Clone, Copy)]
struct Estimate {
    after: Bytes,
    bytes: Bytes,
    time: Duration,
}

/// What one test may write, and how long it may take.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Allowance {
    /// What its writes are taken from.
    pub(in crate::cli) budget: Arc<Budget>,
    /// How long it may take, where that was announced.
    pub(in crate::cli) time: Option<Duration>,
    /// How long it can run with these bytes, at the rate that it is thought to have, and at the highest that it may have.
    lasts: [Duration; 2],
    /// Whether it is what was estimated that it may not exceed; more may be written.
    pub(in crate::cli) is_held: bool,
}

impl Allowance {
    /// Whether it is over so soon that it is sampled finer.
    pub(in crate::cli) fn is_short(&self) -> bool {
        self.lasts.first().is_some_and(|lasts| *lasts < SHORT)
    }

    /// The part of a warm-up that does not use up what is meant for the test.
    pub(in crate::cli) fn warm_up(&self, asked: Duration) -> Duration {
        self.lasts.last().map_or(asked, |lasts| asked.min(*lasts / 10))
    }

    /// What is needed for a load to be measured at all: twice what it has in flight.
    ///
    /// # Errors
    /// There is less.
    pub(in crate::cli) fn suffices(&self, load: &LoadSpec) -> Result<(), OverBudget> {
        let in_flight = load.total_depth().saturating_mul(load.block_size.get());
        self.budget.announce(Bytes::new(in_flight.saturating_mul(2)))
    }
}

impl Writes {
    /// What a run may write.
    ///
    /// # Errors
    /// Not even what is filled fits into that.
    pub(in crate::cli) fn of(wanted: &Wanted<'_>) -> Result<Self, Failure> {
        Self::on_drives(wanted, wanted.path.and_then(|(path, _)| Life::of_path(path)))
    }

    fn on_drives(wanted: &Wanted<'_>, life: Option<Life>) -> Result<Self, Failure> {
        let kept = wanted.kept;
        let kept_limit = kept.and_then(|kept| Limit::kept(kept.limit_bytes, kept.limit_is_asked));
        let adds = (!wanted.is_device).then(|| limit::added(wanted.path.map(|(path, _)| path)));
        let limit = Limit::of(wanted.asked.or(kept_limit), life, adds);
        let before = kept.map_or(Bytes::new(0), |kept| kept.written_bytes);
        let changes = wanted.works.iter().filter_map(limit::load_of).any(LoadSpec::changes);
        let times = Times::of(wanted.works, wanted.is_device);
        let size = limit::size(limit, limit.data.saturating_sub(before), wanted.size, times, changes)?;
        let budget = Budget::new(limit.data);
        // An earlier part may have been allowed more than is asked for now.
        let taken = budget.take(before.min(limit.data));
        taken.map_err(|over| Failure::new(over.to_string()))?;
        let ahead = Ahead::of(wanted.works, wanted.timing, wanted.again);
        let longest = |rate| size + in_tests(wanted.works, size, rate, wanted.timing);
        let expected = if changes { wanted.ceiling.map(longest) } else { Some(size) };
        let meter = match wanted.path {
            Some((path, root)) if !wanted.is_device => Meter::of(path, root),
            _ => Meter::default(),
        };
        let loads = wanted.works.iter().filter_map(limit::load_of);
        Ok(Self {
            budget: Arc::new(budget),
            limit,
            size,
            cleared: wanted.is_device,
            expected,
            compressible_percent: loads.map(|load| load.compressible_percent).max().unwrap_or(0),
            life,
            is_patient: wanted.is_patient || wanted.timing.fixed.is_some(),
            holds_bytes: !(wanted.is_patient || wanted.timing.fixed.is_some()),
            is_planned: false,
            before,
            begun: Instant::now(),
            state: Arc::new(Mutex::new(State { ahead, meter, ..State::default() })),
        })
    }

    /// The budget of a run that fills `fill` bytes in all and then runs `loads` in this order, on drives of which that with the
    /// shortest has this `life`; what an earlier part of the run wrote counts as well.
    ///
    /// # Errors
    /// Not even what is filled first fits into the budget.
    pub(in crate::cli) fn plan(
        (asked, life): (Option<Bytes>, Option<Life>),
        kept: Option<&WritesView>,
        fill: Bytes,
        loads: &[&LoadSpec],
        ceiling: Option<BytesPerSec>,
        timing: &Timing,
    ) -> Result<Self, Failure> {
        let works: Vec<Work> = loads.iter().map(|load| Work::Load((*load).clone())).collect();
        let wanted = Wanted {
            asked,
            kept,
            size: (fill, true),
            is_device: false,
            works: &works,
            timing,
            again: 0,
            is_patient: true,
            path: None,
            ceiling,
        };
        let writes = Self::on_drives(&wanted, life)?;
        writes.state().to_fill = fill;
        Ok(writes)
    }

    /// The same, which writes no more than it was estimated to, within a factor; its tests may take as long as they are told
    /// to.
    pub(in crate::cli) fn holding_bytes(self) -> Self {
        Self { holds_bytes: true, ..self }
    }

    /// The same for a run whose bytes were planned before the first: `most` in all, of blocks of which so many percent are zeros.
    pub(in crate::cli) fn planned(self, most: Bytes, compressible_percent: u8) -> Self {
        Self { expected: Some(most), is_planned: true, compressible_percent, ..self }
    }

    /// Takes what was filled of a run that fills several things.
    ///
    /// # Errors
    /// It is more than may be written.
    pub(in crate::cli) fn take_filled(&self, bytes: Bytes) -> Result<(), OverBudget> {
        let mut state = self.state();
        state.to_fill = state.to_fill.saturating_sub(bytes);
        self.budget.take(bytes)
    }

    /// The same for a run that fills so many equal parts one after another before its tests.
    pub(in crate::cli) fn in_parts(self, count: u64) -> Self {
        Self { size: Bytes::new(self.size.get() / count.max(1)), ..self }
    }

    /// How much is filled.
    pub(in crate::cli) const fn size(&self) -> Bytes {
        self.size
    }

    /// What is taken from.
    pub(in crate::cli) const fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Says what filling a scratch file in `directory` writes, where nothing else is written.
    pub(in crate::cli) fn filling(&self, directory: &str) -> String {
        let records = self.limit.device.saturating_sub(self.limit.data);
        format!(
            "writes at most {}: {} to fill a scratch file in {directory}, the rest for the file system's own records",
            human::bytes(Bytes::new(self.size.get() + records.get())),
            human::bytes(self.size)
        )
    }

    /// Says what will be written to `place`, before anything is.
    pub(in crate::cli) fn announcement(&self, place: &str) -> String {
        let Limit { data, device, is_asked } = self.limit;
        let mut text = format!("writes at most {}", human::bytes(device));
        text.push_str(&match self.share_of_life() {
            // Two decimals would make nothing of it.
            Some((share, about)) if share < 1e-4 => {
                format!(", less than {about}0.01 % of the drive's rated life")
            }
            Some((share, about)) => format!(", {about}{} of the drive's rated life", human::percent(share)),
            None => String::new(),
        });
        if let Some(class) = self.life.and_then(|life| life.class) {
            text.push_str(&format!(" (that of its class, {class}: its maker's figure is not known)"));
        }
        text.push_str(&format!(": {} to fill {place}, the rest for the tests", human::bytes(self.size)));
        if device > data {
            text.push_str(&format!(
                ", {} of it for the file system's own records",
                human::bytes(device.saturating_sub(data))
            ));
        }
        if self.cleared {
            text.push_str(", and as much to zero it again");
        }
        let data = human::bytes(data);
        text.push_str(&match is_asked {
            true => format!("; of data never more than {data} (--max-writes)"),
            false => "; --max-writes allows more".to_owned(),
        });
        text
    }

    /// What the whole limit costs of the drive's rated life, 1 for all of it, and `~` where that is the life of its class.
    fn share_of_life(&self) -> Option<(f64, &'static str)> {
        let life = self.life?;
        let share = Budget::share_of_life(self.limit.device, Some(life.rated))?;
        Some((share, if life.class.is_some() { "~" } else { "" }))
    }

    /// What the rest of the filling must leave when the tests are tried.
    pub(in crate::cli) fn filled_before_trials(&self) -> Bytes {
        ESTIMATED_AFTER.saturating_sub(FOR_TRIALS).min(self.size)
    }

    /// The loads that are tried before the rest is estimated, and what each may write.
    pub(in crate::cli) fn trials(&self) -> Vec<(LoadSpec, Arc<Budget>)> {
        let loads = self.state().ahead.tried();
        let count = loads.len().max(1) as u64;
        let left = self.left(self.state().ahead.refills());
        // Never a tenth of what the tests may write.
        let each = Bytes::new(FOR_TRIALS.get().min(left.get() / 10) / count);
        let budget = |_: &LoadSpec| Arc::new(Budget::part_of(&self.budget, each));
        loads.iter().map(budget).zip(&loads).map(|(budget, load)| (load.clone(), budget)).collect()
    }

    /// Estimates the whole run, in words: it was filled at `rate`, the filling will come to `size`, and these loads were
    /// tried and wrote so many bytes a second.
    pub(in crate::cli) fn estimate(
        &self,
        rate: BytesPerSec,
        (there, size): (Bytes, Bytes),
        tried: &[(LoadSpec, f64)],
    ) -> String {
        let mut state = self.state();
        state.ahead.learn(rate.get(), tried);
        let refills = state.ahead.refills();
        let again = Bytes::new(size.get().saturating_mul(refills));
        let rest = size.saturating_sub(there);
        // What a device is filled with, and zeroing it, was set aside before.
        let (unspent, zeroed) = if self.cleared { (Bytes::new(0), size) } else { (rest, Bytes::new(0)) };
        let (spent, left) = (self.spent(&state), self.left(refills).saturating_sub(unspent));
        let bytes = spent + again + unspent + state.ahead.bytes(left);
        let filling = rest + again + zeroed;
        let filling = if rate.get() > 0.0 { filling.as_f64() / rate.get() } else { 0.0 };
        let time = self.begun.elapsed() + Duration::from_secs_f64(filling) + state.ahead.time(left);
        let after = if self.cleared { there } else { spent };
        self.tell(&mut state, Estimate { after, bytes, time })
    }

    /// The same for a run that fills several things: `there` of the first were written at `rate`.
    pub(in crate::cli) fn estimate_first(&self, rate: BytesPerSec, there: Bytes) -> String {
        let mut state = self.state();
        state.ahead.learn(rate.get(), &[]);
        let rest = state.to_fill.saturating_sub(there);
        let (spent, left) = (self.spent(&state) + there, self.budget.left().saturating_sub(state.to_fill));
        let filling = if rate.get() > 0.0 { rest.as_f64() / rate.get() } else { 0.0 };
        let bytes = spent + rest + state.ahead.bytes(left);
        let time = self.begun.elapsed() + Duration::from_secs_f64(filling) + state.ahead.time(left);
        self.tell(&mut state, Estimate { after: spent, bytes, time })
    }

    fn tell(&self, state: &mut State, estimate: Estimate) -> String {
        state.estimate = Some(estimate);
        let held = if self.is_patient { "at least" } else { "about" };
        let Estimate { after, bytes, time } = estimate;
        let (after, bytes, time) = (human::bytes(after), human::bytes(bytes), human::time(time.into()));
        format!("after {after}: about {bytes} and {held} {time} in all")
    }

    /// Takes what a drive counted beside what was sent to it: headers, file systems and arrays write, too.
    pub(in crate::cli) fn take_beside(&self, bytes: Bytes) {
        let mut state = self.state();
        state.beside = state.beside + self.budget.take_up_to(bytes);
    }

    /// Whether the run was estimated.
    pub(in crate::cli) fn is_estimated(&self) -> bool {
        self.state().estimate.is_some()
    }

    /// Why a load that runs in rounds cannot, if it cannot: it needs far more than other tests, so it is not begun with
    /// less.
    pub(in crate::cli) fn obstacle(&self, load: &LoadSpec, timing: &Timing) -> Option<String> {
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
    pub(in crate::cli) fn allow(&self, load: Option<&LoadSpec>) -> Allowance {
        let mut state = self.state();
        // What is trimmed now is written again before whatever comes next.
        let others = Bytes::new(self.size.get().saturating_mul(state.ahead.refills())) + state.to_fill;
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
        let share = state.ahead.take(load, allowed.min(most), time.unwrap_or(Duration::MAX / 4));
        Allowance {
            budget: Arc::new(Budget::part_of(&self.budget, share.bytes)),
            time: time.map(|_| share.time),
            lasts: share.lasts,
            is_held: most < allowed,
        }
    }

    /// We begin to write: what devices count beside that from now on is a file system's.
    pub(in crate::cli) fn begin_metering(&self, root: &Root) {
        let sent = self.budget.spent();
        let mut state = self.state();
        let beside = state.beside;
        state.meter.begin(root, sent.saturating_sub(beside));
    }

    /// Takes from the budget of a test what devices have counted beside what was sent to them; without one, from what all
    /// tests may have.
    pub(in crate::cli) fn meter(&self, root: &Root, budget: Option<&Budget>) {
        let mut state = self.state();
        if state.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return;
        }
        state.looked = Some(Instant::now());
        let sent = self.budget.spent().saturating_sub(state.beside);
        let more = state.meter.look(root, sent);
        match budget {
            Some(budget) => state.beside = state.beside + budget.take_up_to(more),
            None => state.debt = state.debt + more,
        }
    }

    /// We write no more for now.
    pub(in crate::cli) fn end_metering(&self, root: &Root) {
        self.state().meter.end(root);
    }

    /// A `--max-writes` for a run in which this test has `times` its allowance.
    pub(in crate::cli) fn needed(&self, times: f64) -> Bytes {
        let needed = self.limit.data.as_f64() * times.max(1.1);
        Bytes::new(Bytes::new(needed as u64).get().div_ceil(1 << 30) << 30)
    }

    /// What was written so far, for the report.
    pub(in crate::cli) fn view(&self, root: &Root) -> WritesView {
        let state = self.state();
        let device = state.meter.written(root);
        let estimate = state.estimate.map(|estimate| EstimateView {
            after_bytes: estimate.after,
            bytes: estimate.bytes,
            time_ns: estimate.time.into(),
            actual_bytes: self.spent(&state),
            actual_time_ns: self.begun.elapsed().into(),
            is_held: !self.is_patient,
        });
        let why = [
            (self.expected.is_none(), "expected_bytes: the path's ceiling is not known"),
            (
                self.life.is_none(),
                "rated_life_bytes, limit_of_rated_life: the drive's endurance is not known",
            ),
            (
                self.life.is_some_and(|life| life.class.is_none()),
                "rated_life_class: the life is that of the model",
            ),
            (device.is_none(), "device_written_bytes: no device of the path is looked at"),
            (estimate.is_none() && !self.is_planned, "estimate: less than 256 MiB were written"),
            (self.is_planned, "estimate: every byte was planned before the first"),
        ];
        let why: Vec<&str> = why.into_iter().filter_map(|(is_so, why)| is_so.then_some(why)).collect();
        WritesView {
            limit_bytes: self.limit.data,
            limit_is_asked: Some(self.limit.is_asked),
            device_limit_bytes: Some(self.limit.device),
            written_bytes: self.budget.spent().saturating_sub(state.beside),
            device_written_bytes: device,
            expected_bytes: self.expected,
            rated_life_bytes: self.life.map(|life| life.rated),
            rated_life_class: self.life.and_then(|life| life.class).map(str::to_owned),
            limit_of_rated_life: self.share_of_life().map(|(share, _)| share),
            limit_reached: self.budget.is_exhausted(),
            compressible_percent: self.compressible_percent,
            estimate,
            reason: (!why.is_empty()).then(|| why.join("; ")),
        }
    }

    /// What was written in this part of the run.
    fn spent(&self, state: &State) -> Bytes {
        self.budget.spent().saturating_sub(self.before).saturating_sub(state.beside)
    }

    /// What is left for the tests when all is written again so often.
    fn left(&self, refills: u64) -> Bytes {
        self.budget.left().saturating_sub(Bytes::new(self.size.get().saturating_mul(refills)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What each of so many things that are filled may take of what may be written, of `wanted`.
pub(in crate::cli) fn part_of_limit(
    asked: Option<Bytes>,
    life: Option<Life>,
    wanted: Bytes,
    count: u64,
) -> Bytes {
    let limit = Limit::of(asked, life, Some(limit::added(None)));
    limit::part(limit.data, wanted, count.max(1))
}

/// `12GiB`, as it is typed.
pub(in crate::cli) fn whole_gib(bytes: Bytes) -> String {
    format!("{}GiB", bytes.get().div_ceil(1 << 30))
}

/// What tests write at most at a rate.
fn in_tests(works: &[Work], fill: Bytes, rate: BytesPerSec, timing: &Timing) -> Bytes {
    let rounds = if matches!(timing.stop, StopRule::SteadyRounds(_)) { MOST_ROUNDS } else { 1 };
    let span: Duration = (timing.longest() * rounds).saturating_add(timing.warm_up);
    let of = |load: &LoadSpec| {
        let written = rate.get() * span.as_secs_f64() * f64::from(load.write_percent) / 100.0;
        // What was trimmed is written again afterwards.
        written + if load.trim_percent > 0 { fill.as_f64() } else { 0.0 }
    };
    Bytes::new(works.iter().filter_map(limit::load_of).map(of).sum::<f64>() as u64)
}

#[cfg(test)]
mod tests;
