//! What a run may write: said before it begins, divided among its tests, limited while it runs.

mod ahead;
mod limit;
#[cfg(test)]
mod tests;

pub use ahead::{Allowance, ESTIMATED_AFTER};
pub use limit::{Life, rated};

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::measure::{MOST_ROUNDS, Timing};
use crate::scene::Scene;
use ahead::{Ahead, Estimate};
use limit::Limit;
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_load::guard::{Budget, OverBudget};
use narrows_load::preset::{LoadSpec, StopRule, Work};
use narrows_machine::activity::Sample;
use narrows_machine::root::Root;
use narrows_model::path::Path;

/// How often devices are asked what they have written, at most.
const LOOK: Duration = Duration::from_millis(40);

/// What a run is to do.
pub struct Wanted<'a> {
    /// `--max-writes`.
    pub asked: Option<Bytes>,
    /// What an earlier part of the run might write and wrote, which counts for the run that goes on with it.
    pub kept: Option<Account>,
    /// How much is filled, and whether that was asked for; less is filled where it was not and less may be written.
    pub size: (Bytes, bool),
    /// Whether a device is filled, and zeroed again; else a file.
    pub is_device: bool,
    /// The tests, in order.
    pub works: &'a [Work],
    /// How long they run.
    pub timing: &'a Timing,
    /// Whether tests may take as long as they need, whatever was estimated; so they may where their time is fixed.
    pub is_patient: bool,
    /// Where all ends.
    pub path: Option<(&'a Path, &'a Root)>,
    /// The most that the path carries.
    pub ceiling: Option<BytesPerSec>,
}

impl<'a> Wanted<'a> {
    /// A run that fills and tests nothing on the path of a scene, where `asked` is the most that it may write.
    pub const fn of(scene: &'a Scene, asked: Option<Bytes>, is_device: bool, timing: &'a Timing) -> Self {
        let path = Some((&scene.subject.path, &scene.root));
        Self { asked, is_device, path, ..Self::nothing(timing) }
    }

    /// A run that fills and tests nothing, on no path.
    pub const fn nothing(timing: &'a Timing) -> Self {
        Self {
            asked: None,
            kept: None,
            size: (Bytes::new(0), false),
            is_device: false,
            works: &[],
            timing,
            is_patient: false,
            path: None,
            ceiling: None,
        }
    }
}

/// What a run may write, and what it has written. A clone is the same.
#[derive(Debug, Clone)]
pub struct Writes {
    budget: Arc<Budget>,
    limit: Limit,
    size: Bytes,
    cleared: bool,
    expected: Option<Bytes>,
    life: Option<Life>,
    /// Whether the time of its tests is not held to what was estimated.
    is_patient: bool,
    /// Whether its bytes are.
    holds_bytes: bool,
    /// What an earlier part of the run wrote.
    before: Bytes,
    begun: Instant,
    state: Arc<Mutex<WritesState>>,
}

#[derive(Debug, Default)]
struct WritesState {
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

impl Writes {
    /// What a run may write.
    ///
    /// # Errors
    /// Not even what is filled fits into that.
    pub fn of(wanted: &Wanted<'_>) -> Result<Self, Failure> {
        Self::on_drives(wanted, wanted.path.and_then(|(path, _)| Life::of_path(path)))
    }

    fn on_drives(wanted: &Wanted<'_>, life: Option<Life>) -> Result<Self, Failure> {
        let kept = wanted.kept;
        let kept_limit = kept.filter(|kept| kept.limit_is_asked).map(|kept| kept.limit);
        let adds = (!wanted.is_device).then(|| limit::added(wanted.path.map(|(path, _)| path)));
        let limit = Limit::of(wanted.asked.or(kept_limit), life, adds);
        let before = kept.map_or(Bytes::new(0), |kept| kept.written);
        let changes = wanted.works.iter().filter_map(limit::load_of).any(LoadSpec::writes);
        let times = 1 + u64::from(wanted.is_device);
        let size = limit::size(limit, limit.data.saturating_sub(before), wanted.size, times, changes)?;
        let budget = Budget::new(limit.data);
        // An earlier part may have been allowed more than is asked for now.
        let taken = budget.take(before.min(limit.data));
        taken.map_err(|over| Failure::new(over.to_string()))?;
        let ahead = Ahead::of(wanted.works, wanted.timing);
        let longest = |rate| size + in_tests(wanted.works, rate, wanted.timing);
        let expected = if changes { wanted.ceiling.map(longest) } else { Some(size) };
        let meter = match wanted.path {
            Some((path, root)) if !wanted.is_device => Meter::of(path, root),
            _ => Meter::default(),
        };
        let is_patient = wanted.is_patient || wanted.timing.fixed.is_some();
        Ok(Self {
            budget: Arc::new(budget),
            limit,
            size,
            cleared: wanted.is_device,
            expected,
            life,
            is_patient,
            holds_bytes: !is_patient,
            before,
            begun: Instant::now(),
            state: Arc::new(Mutex::new(WritesState { ahead, meter, ..WritesState::default() })),
        })
    }

    /// The budget of a run that fills `fill` bytes in all and then runs `loads` in this order, on drives of which that with the
    /// shortest has this `life`.
    ///
    /// # Errors
    /// Not even what is filled first fits into the budget.
    pub fn plan(
        (asked, life): (Option<Bytes>, Option<Life>),
        fill: Bytes,
        loads: &[&LoadSpec],
        timing: &Timing,
    ) -> Result<Self, Failure> {
        let works: Vec<Work> = loads.iter().map(|load| Work::Load((*load).clone())).collect();
        let size = (fill, true);
        let wanted = Wanted { asked, size, works: &works, is_patient: true, ..Wanted::nothing(timing) };
        let writes = Self::on_drives(&wanted, life)?;
        writes.state().to_fill = fill;
        Ok(writes)
    }

    /// The same, which writes no more than it was estimated to, within a factor; its tests may take as long as they are told
    /// to.
    pub fn holding_bytes(self) -> Self {
        Self { holds_bytes: true, ..self }
    }

    /// Takes what was filled of a run that fills several things.
    ///
    /// # Errors
    /// It is more than may be written.
    pub fn take_filled(&self, bytes: Bytes) -> Result<(), OverBudget> {
        let mut state = self.state();
        state.to_fill = state.to_fill.saturating_sub(bytes);
        self.budget.take(bytes)
    }

    /// The same for a run that fills so many equal parts one after another before its tests.
    pub fn in_parts(self, count: u64) -> Self {
        Self { size: Bytes::new(self.size.get() / count.max(1)), ..self }
    }

    /// How much is filled.
    pub const fn size(&self) -> Bytes {
        self.size
    }

    /// What is taken from.
    pub const fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// What the whole limit costs of the drive's rated life, 1 for all of it, and `~` where that is the life of its class.
    fn share_of_life(&self) -> Option<(f64, &'static str)> {
        let life = self.life?;
        let share = Budget::share_of_life(self.limit.device, Some(life.rated))?;
        Some((share, if life.class.is_some() { "~" } else { "" }))
    }

    /// Takes what a drive counted beside what was sent to it: headers, file systems and arrays write, too.
    pub fn take_beside(&self, bytes: Bytes) {
        let mut state = self.state();
        state.beside = state.beside + self.budget.take_up_to(bytes);
    }

    /// Whether the run was estimated.
    pub fn is_estimated(&self) -> bool {
        self.state().estimate.is_some()
    }

    /// We begin to write: what devices count beside that from now on is a file system's.
    pub fn begin_metering(&self, root: &Root) {
        let sent = self.budget.spent();
        let mut state = self.state();
        let beside = state.beside;
        state.meter.begin(root, sent.saturating_sub(beside));
    }

    /// Takes from the budget of a test what devices have counted beside what was sent to them; without one, from what all
    /// tests may have.
    pub fn meter(&self, root: &Root, budget: Option<&Budget>) {
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
    pub fn end_metering(&self, root: &Root) {
        self.state().meter.end(root);
    }

    /// A `--max-writes` for a run in which this test has `times` its allowance.
    pub fn needed(&self, times: f64) -> Bytes {
        let needed = self.limit.data.as_f64() * times.max(1.1);
        Bytes::new(Bytes::new(needed as u64).get().div_ceil(1 << 30) << 30)
    }

    /// What may be and was written so far.
    pub fn account(&self, root: &Root) -> Account {
        let state = self.state();
        let estimate = state.estimate.map(|estimate| Estimated {
            after: estimate.after,
            bytes: estimate.bytes,
            time: estimate.time.into(),
            actual_bytes: self.spent(&state),
            actual_time: self.begun.elapsed().into(),
            is_held: !self.is_patient,
        });
        Account {
            limit: self.limit.data,
            limit_is_asked: self.limit.is_asked,
            device_limit: self.limit.device,
            written: self.budget.spent().saturating_sub(state.beside),
            device_written: state.meter.written(root),
            expected: self.expected,
            life: self.life,
            limit_of_life: self.share_of_life().map(|(share, _)| share),
            limit_reached: self.budget.is_exhausted(),
            estimate,
        }
    }

    /// What was written in this part of the run.
    fn spent(&self, state: &WritesState) -> Bytes {
        self.budget.spent().saturating_sub(self.before).saturating_sub(state.beside)
    }

    fn state(&self) -> MutexGuard<'_, WritesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What each of so many things that are filled may take of what may be written, of `wanted`.
pub fn part_of_limit(asked: Option<Bytes>, life: Option<Life>, wanted: Bytes, count: u64) -> Bytes {
    let limit = Limit::of(asked, life, Some(limit::added(None)));
    limit::part(limit.data, wanted, count.max(1))
}

/// `12GiB`, as it is typed.
pub fn whole_gib(bytes: Bytes) -> String {
    format!("{}GiB", bytes.get().div_ceil(1 << 30))
}

/// What tests write at most at a rate.
fn in_tests(works: &[Work], rate: BytesPerSec, timing: &Timing) -> Bytes {
    let rounds = if matches!(timing.stop, StopRule::SteadyRounds(_)) { MOST_ROUNDS } else { 1 };
    let span: Duration = (timing.longest() * rounds).saturating_add(timing.warm_up);
    let of = |load: &LoadSpec| rate.get() * span.as_secs_f64() * f64::from(load.write_percent) / 100.0;
    Bytes::new(works.iter().filter_map(limit::load_of).map(of).sum::<f64>() as u64)
}

/// What may be and was written.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Account {
    /// The most that may be written in all, whether the run is resumed or not: the filling of the target and the tests.
    #[serde(rename = "limit_bytes")]
    pub limit: Bytes,
    /// Whether `--max-writes` said so; else it is at most 8 GiB and 0.01 % of the drive's rated life.
    pub limit_is_asked: bool,
    /// The most by the counters of each device: `limit`, and what a file system adds.
    #[serde(rename = "device_limit_bytes")]
    pub device_limit: Bytes,
    /// What was written so far: the filling of the target and the tests.
    #[serde(rename = "written_bytes")]
    pub written: Bytes,
    /// What the device below the file system has counted since this run began, whoever wrote it; `None` where none counts.
    #[serde(rename = "device_written_bytes")]
    pub device_written: Option<Bytes>,
    /// What would be written if every test took its longest at the ceiling of the path; `None` where that is not known.
    #[serde(rename = "expected_bytes")]
    pub expected: Option<Bytes>,
    /// What may be written to the drive in its life; `None` where that is not known.
    #[serde(rename = "rated_life")]
    pub life: Option<Life>,
    /// `device_limit` as a part of that life, 1 for all of it.
    #[serde(rename = "limit_of_rated_life")]
    pub limit_of_life: Option<f64>,
    /// Whether a write was refused since it would have been more than `limit`.
    pub limit_reached: bool,
    /// What the whole run was thought to take; `None` before it was estimated.
    pub estimate: Option<Estimated>,
}

/// What a run was thought to take, and what it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimated {
    /// So much had been written when the estimate was made.
    #[serde(rename = "after_bytes")]
    pub after: Bytes,
    /// What the run was thought to write in all.
    pub bytes: Bytes,
    /// How long it was thought to take in all, from the announcement on.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    /// What it has written.
    pub actual_bytes: Bytes,
    /// How long it took.
    #[serde(rename = "actual_time_ns")]
    pub actual_time: Nanos,
    /// Whether tests end so that neither is exceeded by more than half.
    pub is_held: bool,
}

impl Writes {
    /// Says what filling a scratch file in `directory` writes, where nothing else is written.
    pub fn filling(&self, directory: &str) -> String {
        let records = self.limit.device.saturating_sub(self.limit.data);
        format!(
            "writes at most {}: {} to fill a scratch file in {directory}, the rest for the file system's own records",
            human::bytes(Bytes::new(self.size.get() + records.get())),
            human::bytes(self.size)
        )
    }

    /// Says what will be written to `place`, before anything is.
    pub fn announcement(&self, place: &str) -> String {
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
}

/// What others write is known from a time in which we wrote nothing, if it is as long as this.
const QUIET: Duration = Duration::from_millis(500);

/// The counter of the block device that a file system lies on: the outermost of a path, where none but the users of that file
/// system write.
#[derive(Debug, Clone, Default)]
struct Meter {
    /// The device, and what it had counted when the run began.
    device: Option<(String, u64)>,
    /// What it had counted when we began to write, what had been sent then, and when that was; `None` while we do not.
    since: Option<(u64, Bytes, Instant)>,
    /// What it had counted when we last ended to write, and when that was.
    quiet: Option<(u64, Instant)>,
    /// Bytes that others write in a second.
    others: f64,
    /// What was counted beside what was sent since we began to write.
    beside: Bytes,
}

impl Meter {
    /// The counter of the outermost block device of `path`, from now on.
    fn of(path: &Path, root: &Root) -> Self {
        let now = Sample::of_disks(root).disks;
        let mut names = path.hops.iter().filter_map(|hop| hop.block_name());
        let device = names.find_map(|name| Some((name.to_owned(), now.get(name)?.written_bytes.get())));
        Self { device, ..Self::default() }
    }

    /// What the device has counted since the run began; `None` where none counts.
    fn written(&self, root: &Root) -> Option<Bytes> {
        let (_, first) = self.device.as_ref()?;
        Some(Bytes::new(self.counted(root)?.saturating_sub(*first)))
    }

    /// We begin to write, when `sent` were sent before.
    fn begin(&mut self, root: &Root, sent: Bytes) {
        if let Some(counted) = self.counted(root) {
            if let Some((before, when)) = self.quiet.filter(|(_, when)| when.elapsed() >= QUIET) {
                self.others = counted.saturating_sub(before) as f64 / when.elapsed().as_secs_f64();
            }
            self.since = Some((counted, sent, Instant::now()));
            self.beside = Bytes::new(0);
        }
    }

    /// What more was counted than was sent, by us or by others, since the last look.
    fn look(&mut self, root: &Root, sent: Bytes) -> Bytes {
        let Some((before, sent_before, begun)) = self.since else { return Bytes::new(0) };
        let written = self.counted(root).unwrap_or(before).saturating_sub(before);
        let by_others = (self.others * begun.elapsed().as_secs_f64()) as u64;
        self.more(Bytes::new(written), sent.saturating_sub(sent_before) + Bytes::new(by_others))
    }

    /// We write no more for now.
    fn end(&mut self, root: &Root) {
        self.since = None;
        self.quiet = self.counted(root).map(|counted| (counted, Instant::now()));
    }

    fn more(&mut self, written: Bytes, expected: Bytes) -> Bytes {
        let beside = written.saturating_sub(expected);
        let more = beside.saturating_sub(self.beside);
        self.beside = self.beside.max(beside);
        more
    }

    fn counted(&self, root: &Root) -> Option<u64> {
        let (name, _) = self.device.as_ref()?;
        Some(Sample::of_disks(root).disks.get(name)?.written_bytes.get())
    }
}
