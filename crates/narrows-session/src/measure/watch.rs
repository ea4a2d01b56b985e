//! Follows a run on one target or several: takes the evidence that is due, and ends it when its rate is known.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::evidence::Witness;
use super::timing::Timing;
use super::{Follower, Look, Seen};
use narrows_base::units::{Bytes, BytesPerSec, Nanos};
use narrows_load::control::{Control, Phase};
use narrows_load::effort;
use narrows_load::stats::{self, Decision};
use narrows_machine::activity::{self, Activity, Sample, TcpState};

/// How often a run is looked at; the intervals of [`Precision`](narrows_load::stats::Precision) are tested for this.
const LOOK: Duration = Duration::from_millis(100);
/// How often disks are sampled, for what their drivers hold.
const QUEUES: Duration = Duration::from_millis(200);
/// How often threads are, where they are in between: a kernel worker may change its work queue. On a slow processor reading
/// all kernel threads takes tens of milliseconds, which the load then lacks.
const THREADS: Duration = Duration::from_secs(2);
/// How often links and arrays are, for what changes meanwhile: two small files of each link, and one of each array.
const STATES: Duration = Duration::from_secs(1);
/// The part of the measured time after which what changes as soon as load is gone is read.
const LATE: f64 = 0.7;
/// The parts of a measured time that is known beforehand after which connections are looked at.
const PARTS: [f64; 7] = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
/// The first look at connections of a run that ends when its rate is known, and the distance of each from the one before, as
/// a factor of the time so far: 8 looks in 2 s, 18 in 30 s.
const FIRST: Duration = Duration::from_millis(300);
const LATER: f64 = 1.3;

/// What stays the same while a run is watched.
pub(super) struct Watch<'a, W> {
    pub(super) witness: &'a W,
    /// What the idle machine did: which links there are.
    pub(super) idle: &'a Activity,
    pub(super) timing: &'a Timing,
    /// Whether the rate is judged by the run's own samples, and not by those of 100 ms.
    pub(super) is_fine: bool,
    /// Whether threads are read in the measured time, too.
    pub(super) threads_between: bool,
}

/// What was taken of a run so far.
#[derive(Default)]
struct Taken {
    /// All that counters are derived from, first to last.
    samples: Vec<Sample>,
    /// Processors at the beginning, and the last time before states were read.
    processors: (AtWork, Option<AtWork>),
    under_load: Option<Sample>,
    /// Links and arrays now and then, with the time since the beginning.
    states: Vec<(Nanos, Sample)>,
    connections: BTreeMap<String, Vec<TcpState>>,
    looks: u32,
    queues_at: Duration,
    threads_at: Duration,
}

impl<W: Witness> Watch<'_, W> {
    /// Follows a run to its end. What its targets gave is not there yet.
    pub(super) fn follow(&self, controls: &[Control], follower: &impl Follower) -> Seen {
        follower.begin();
        reached(controls, Phase::WarmUp);
        // Threads take long to read: before the measured time, where load is warmed up.
        let threads = self.witness.threads();
        reached(controls, Phase::Measuring);
        let begin = Instant::now();
        let first = self.witness.counters().with_threads_of(threads);
        let missed = done(controls);
        let mut taken = Taken::new(first, AtWork::now(self.witness));
        let (mut last, mut is_known) = (None, false);
        while wait(controls) {
            let elapsed = begin.elapsed();
            let outlook = self.timing.judge(&series(controls, self.is_fine));
            follower.look(&Look { elapsed, done: done(controls), outlook });
            let is_finished = is_finished(controls);
            is_known |= !is_finished && outlook.is_some_and(|outlook| outlook.decision == Decision::Stop);
            if is_running(controls) {
                self.take(&mut taken, elapsed, is_known);
            }
            if !is_finished {
                last = outlook;
            }
            if is_known {
                controls.iter().for_each(Control::finish);
            }
        }
        follower.end();
        if is_finished(controls) && !is_known {
            // It ended by itself: all that was measured says how well its rate is known.
            let mut series = series(controls, true);
            series.pop();
            last = self.timing.judge(&series);
            is_known = last.is_some_and(|outlook| outlook.decision == Decision::Stop);
        }
        // Where the load left no time for a look before.
        taken.processors.1.get_or_insert_with(|| AtWork::now(self.witness));
        taken.samples.push(self.witness.everything());
        let activity = Activity { missed, ..taken.activity() };
        Seen { measurements: Vec::new(), activity, outlook: last, is_known }
    }

    /// Takes what is due. States, that change as soon as load is gone, are read near its end.
    fn take(&self, taken: &mut Taken, elapsed: Duration, is_known: bool) {
        let longest = self.timing.longest();
        if taken.under_load.is_none() {
            taken.processors.1 = Some(AtWork::now(self.witness));
        }
        if elapsed >= look_at(taken.looks, self.timing) {
            taken.looks += 1;
            for (server, state) in self.witness.connections() {
                taken.connections.entry(server).or_default().push(state);
            }
        }
        let is_late = is_known || elapsed > longest.mul_f64(LATE);
        let (since_threads, left) =
            (elapsed.saturating_sub(taken.threads_at), longest.saturating_sub(elapsed));
        let is_last = is_late && taken.under_load.is_none();
        if self.threads_between && (is_last || !is_late && since_threads >= THREADS && left > THREADS) {
            let sample = self.witness.queues().with_threads_of(self.witness.threads());
            taken.samples.push(sample);
            (taken.queues_at, taken.threads_at) = (elapsed, elapsed);
        } else if elapsed.saturating_sub(taken.queues_at) >= QUEUES {
            taken.samples.push(self.witness.queues());
            taken.queues_at = elapsed;
        }
        let at = Nanos::from(elapsed);
        let since_states = taken.states.last().map(|(last, _)| at.get().saturating_sub(last.get()));
        let is_due = since_states.is_none_or(|since| since >= STATES.as_nanos() as u64);
        if is_last || is_due {
            let sample = self.witness.states(self.idle);
            if is_last {
                taken.under_load = Some(sample.clone());
            }
            taken.states.push((at, sample));
        }
    }
}

/// Processors, and what watching had cost them until then: a slow one has much to do with each look, and no request needs that.
#[derive(Default)]
struct AtWork {
    processors: Sample,
    watching: Duration,
}

impl AtWork {
    fn now(witness: &impl Witness) -> Self {
        let watching = effort::of_thread() + effort::of_lookers();
        Self { processors: witness.processors(), watching }
    }

    /// The processors that were at work for others until then, on average.
    fn until(&self, later: &Self) -> f64 {
        let activity = Activity::between(&self.processors, &later.processors);
        let watching = later.watching.saturating_sub(self.watching).as_secs_f64();
        let elapsed = activity.elapsed.as_secs_f64();
        if elapsed > 0.0 { (activity.working - watching / elapsed).max(0.0) } else { 0.0 }
    }
}

impl Taken {
    fn new(first: Sample, processors: AtWork) -> Self {
        Self { samples: vec![first], processors: (processors, None), ..Self::default() }
    }

    fn activity(self) -> Activity {
        let mut activity = Activity::over(&self.samples).unwrap_or_default();
        if let (from, Some(to)) = &self.processors {
            activity.working = from.until(to);
        }
        if let Some(sample) = self.under_load {
            activity.links = sample.links;
            activity.tcp = sample.tcp;
            activity.resyncs = sample.resyncs;
        }
        activity.events = activity::events(&self.states);
        if !self.connections.is_empty() {
            let looks = self.connections.into_iter();
            activity.tcp =
                looks.filter_map(|(server, looks)| Some((server, TcpState::of_looks(&looks)?))).collect();
        }
        activity
    }
}

/// When connections are looked at for the time after so many.
fn look_at(looks: u32, timing: &Timing) -> Duration {
    if timing.is_by_precision() {
        return FIRST.mul_f64(LATER.powi(i32::try_from(looks).unwrap_or(i32::MAX)).min(1e6));
    }
    let part = usize::try_from(looks).ok().and_then(|looks| PARTS.get(looks));
    part.map_or(Duration::MAX, |part| timing.longest().mul_f64(*part))
}

/// Waits until every run has come to a phase or past it.
fn reached(controls: &[Control], phase: Phase) {
    for control in controls {
        control.wait_for(phase);
    }
}

/// Waits until the next look, no longer than any load runs; `false` when all are over.
fn wait(controls: &[Control]) -> bool {
    let running = controls.iter().find(|control| control.phase() < Phase::Done);
    running.is_some_and(|control| {
        control.wait_for_at_most(Phase::Done, LOOK);
        true
    })
}

fn is_running(controls: &[Control]) -> bool {
    controls.iter().any(|control| control.phase() < Phase::Done)
}

fn is_finished(controls: &[Control]) -> bool {
    controls.iter().all(Control::is_finished)
}

fn done(controls: &[Control]) -> Bytes {
    Bytes::new(controls.iter().map(|control| control.bytes_done().get()).fold(0, u64::saturating_add))
}

/// The series of all runs together as far as all have one, in their own samples or in those of 100 ms.
fn series(controls: &[Control], is_fine: bool) -> Vec<BytesPerSec> {
    let all: Vec<Vec<BytesPerSec>> = controls.iter().map(Control::series).collect();
    let length = all.iter().map(Vec::len).min().unwrap_or(0);
    let series: Vec<BytesPerSec> = (0..length)
        .map(|index| all.iter().filter_map(|one| one.get(index).copied()).sum::<BytesPerSec>())
        .collect();
    let sample = controls.first().map_or(stats::SAMPLE, Control::sample);
    let each = usize::try_from(stats::SAMPLE.get() / sample.max(Nanos::new(1)).get()).unwrap_or(1);
    if is_fine || each < 2 {
        return series;
    }
    let mean = |samples: &[BytesPerSec]| samples.iter().copied().sum::<BytesPerSec>() / samples.len() as f64;
    series.chunks_exact(each).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_load::preset::StopRule;

    #[test]
    fn connections_are_looked_at_seven_times_in_a_time_that_is_known_and_in_growing_steps_otherwise() {
        let fixed = Timing::exactly(Duration::from_secs(10), Duration::ZERO);
        let millis =
            |timing: &Timing, looks| look_at(looks, timing).as_secs_f64().mul_add(1000.0, 0.5) as u64;
        assert_eq!([millis(&fixed, 0), millis(&fixed, 6)], [3000, 9000]);
        assert_eq!(look_at(7, &fixed), Duration::MAX);
        let open = Timing { stop: StopRule::Precision, fixed: None, ..fixed };
        let within = |limit| (0..).take_while(|looks| millis(&open, *looks) <= limit).count();
        assert_eq!([within(299), within(300), within(2000), within(30_000)], [0, 1, 8, 18]);
        assert!(look_at(u32::MAX, &open) > Duration::from_secs(3600), "never overflows");
    }

    #[test]
    fn the_series_of_several_targets_adds_up_as_far_as_all_have_one() {
        let controls = [Control::default(), Control::default()];
        for (control, samples) in controls.iter().zip([3_u64, 2]) {
            control.enter(Phase::Measuring);
            (0..samples).for_each(|index| control.add_bytes(10_000_000, index));
        }
        // Longer than three samples, and the time that workers may take to tell of them.
        std::thread::sleep(Duration::from_millis(360));
        controls.iter().for_each(|control| control.enter(Phase::Done));
        assert_eq!(series(&controls, false), [BytesPerSec::from_mb(200.0); 2]);
        assert_eq!(done(&controls), Bytes::new(50_000_000));
    }
}
