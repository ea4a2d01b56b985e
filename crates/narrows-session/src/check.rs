//! What `narrows measure --as quick` and `full` run on one path: a few loads that only read, one after another.

use std::path::Path as FilePath;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::measure::{Engine, Session, Timing, Witness};
use crate::place::Place;
use crate::writes::{Wanted, Writes};
use crate::{Failure, Moving, Teller, go_on_unless};
use narrows_base::units::{Bytes, human};
use narrows_load::LoadError;
use narrows_load::measurement::Pattern;
use narrows_load::preset::{LoadSpec, Parallel};
use narrows_load::scratch::{ScratchFile, ScratchOptions};
use narrows_load::stats;
use narrows_load::target::Target as Opened;
use narrows_machine::root::Root;
use narrows_model::ceiling::Direction;
use narrows_model::path::Path;
use narrows_verdict::Run;

/// A generator that uses more of a core than this may be what limits; it gets more threads.
const GENERATOR_BUSY: f64 = 0.9;
/// More threads than this on one path only fight for its queue.
const MOST_WORKERS: u32 = 4;
/// A thorough run is repeated until it is steady, but no more often than this.
const MOST_ROUNDS: u32 = 3;

/// What is run: how long to watch the idle machine, how large a scratch file, and which loads.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// How long the idle machine is watched first.
    pub idle: Duration,
    /// The size of a scratch file.
    scratch: Bytes,
    /// How long it may take to write before it stays as large as it is.
    scratch_time: Duration,
    rounds: u32,
    steps: Vec<CheckStep>,
}

#[derive(Debug, Clone, PartialEq)]
struct CheckStep {
    name: &'static str,
    load: LoadSpec,
    timing: Timing,
}

const SEQUENTIAL: LoadSpec = LoadSpec::reading(Pattern::Sequential, Bytes::from_mib(1), 8);

const fn random(depth: u32) -> LoadSpec {
    LoadSpec::reading(Pattern::Random, Bytes::from_kib(4), depth)
}

/// Why not all of a plan was run; the runs so far are there.
#[derive(Debug)]
pub enum CutShort {
    /// Somebody wanted to stop.
    Interrupted,
    /// A run ended early.
    Run {
        /// Which.
        step: &'static str,
        why: String,
    },
    /// A run could not be begun, or nothing was measured in it.
    Failed(LoadError),
}

impl Plan {
    /// A look of seconds; each load for `duration` if that was asked for.
    pub fn quick(duration: Option<Duration>) -> Self {
        Self {
            idle: Duration::from_millis(300),
            scratch: Bytes::from_mib(512),
            scratch_time: Duration::from_secs(2),
            rounds: 1,
            steps: vec![
                CheckStep::reading("sequential read", SEQUENTIAL, [500, 3000], duration),
                CheckStep::reading("random read", random(32), [300, 2000], duration),
            ],
        }
    }

    /// A thorough one, whose loads are repeated until they are steady.
    pub fn full(duration: Option<Duration>) -> Self {
        Self {
            idle: Duration::from_secs(1),
            scratch: Bytes::from_mib(4096),
            scratch_time: Duration::from_secs(20),
            rounds: MOST_ROUNDS,
            steps: vec![
                CheckStep::reading("sequential read", SEQUENTIAL, [2000, 10_000], duration),
                CheckStep::reading("random read", random(32), [1000, 10_000], duration),
                CheckStep::reading("random read, depth 1", random(1), [500, 5000], duration),
            ],
        }
    }

    /// What the scratch file in a directory may take: it is no larger than what a bench would write.
    ///
    /// # Errors
    /// Too little may be written on this path for a file that tells something, or the directory has no room for it.
    pub fn writes(&self, path: &Path, root: &Root, directory: &FilePath) -> Result<Writes, Failure> {
        let timing = Timing { fixed: None, ..Timing::exactly(self.scratch_time, Duration::ZERO) };
        let (size, path) = ((self.scratch, false), Some((path, root)));
        let writes = Writes::of(&Wanted { size, is_patient: true, path, ..Wanted::nothing(&timing) })?;
        ScratchFile::fitting(directory, writes.size(), &self.scratch_options(&writes))?;
        Ok(writes)
    }

    fn scratch_options(&self, writes: &Writes) -> ScratchOptions {
        ScratchOptions {
            time: Some(self.scratch_time),
            budget: Some(writes.budget().clone()),
            ..ScratchOptions::default()
        }
    }

    /// Opens what is read; a scratch file is written first, which ends when `stop` is raised.
    ///
    /// # Errors
    /// It cannot be opened or made, or somebody wanted to stop.
    pub fn open(
        &self,
        place: &Place,
        writes: Option<&Writes>,
        teller: &impl Teller,
        stop: &AtomicBool,
    ) -> Result<Opened, LoadError> {
        let options = writes.map(|writes| self.scratch_options(writes)).unwrap_or_default();
        let size = writes.map_or(self.scratch, Writes::size);
        if writes.is_some() {
            let phase = format!("writing scratch file, {} at most", human::bytes(size));
            teller.phase(&phase, self.scratch_time);
        }
        let begin = Instant::now();
        place.open_or_make(size, &options, &mut |written, _| {
            teller.update(begin.elapsed(), written.per(begin.elapsed()));
            go_on_unless(stop.load(Ordering::Relaxed))
        })
    }

    /// Runs all loads on a target and adds the runs to `runs`, the last one marked when it was cut short.
    ///
    /// # Errors
    /// Not all of them ran to their end.
    pub fn run<W: Witness, E: Engine>(
        &self,
        session: &Session<'_, W, E>,
        target: &E::Target,
        teller: &impl Teller,
        runs: &mut Vec<Run>,
    ) -> Result<(), CutShort> {
        for step in &self.steps {
            if session.is_stopped() {
                return Err(CutShort::Interrupted);
            }
            let mut once = |workers| -> Result<Run, LoadError> {
                let load = step.load.clone().on(Parallel::Threads(workers));
                teller.phase(step.name, step.timing.longest());
                let moving = Moving { teller, before: Duration::ZERO };
                let mut seen = session.run(&session.asked(&load, &step.timing), &[target], &moving)?;
                let measurement = seen.single();
                Ok(session.judged(Direction::Read, measurement, seen.activity))
            };
            let run = repeat(&mut once, session.online(), self.rounds).map_err(CutShort::Failed)?;
            let cut_short = run.measurement.cut_short.clone();
            runs.push(run);
            match cut_short {
                Some(_) if session.is_stopped() => return Err(CutShort::Interrupted),
                Some(why) => return Err(CutShort::Run { step: step.name, why }),
                None => {}
            }
        }
        Ok(())
    }
}

impl CheckStep {
    fn reading(
        name: &'static str,
        load: LoadSpec,
        [warm_up, usual]: [u64; 2],
        duration: Option<Duration>,
    ) -> Self {
        let time = duration.unwrap_or(Duration::from_millis(usual));
        Self { name, load, timing: Timing::exactly(time, Duration::from_millis(warm_up)) }
    }
}

/// Runs a load with one thread, again with more of the `online` processors when the generator was what limited it, and again
/// until it is steady or `rounds` are used up. `once` runs it with so many threads.
fn repeat(
    once: &mut dyn FnMut(u32) -> Result<Run, LoadError>,
    online: u32,
    rounds: u32,
) -> Result<Run, LoadError> {
    let mut workers = 1;
    let mut best = once(workers)?;
    let is_whole = |run: &Run| run.measurement.cut_short.is_none();
    if is_whole(&best) && best.measurement.generator.cpu >= GENERATOR_BUSY && online > 1 {
        let more = online.min(MOST_WORKERS);
        let wider = once(more)?;
        if wider.measurement.bytes_per_second > best.measurement.bytes_per_second || !is_whole(&wider) {
            (best, workers) = (wider, more);
        }
    }
    let is_steady = |run: &Run| stats::steadiness(&run.measurement.series).is_none_or(|test| test.steady);
    for _ in 1..rounds {
        if is_steady(&best) || !is_whole(&best) {
            break;
        }
        best = once(workers)?;
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::units::BytesPerSec;
    use narrows_load::measurement::Measurement;
    use narrows_machine::activity::Activity;

    /// A run at this rate, with a generator that is so busy.
    fn run(mb: f64, busy: f64) -> Run {
        let mut measurement =
            Measurement { bytes_per_second: BytesPerSec::from_mb(mb), ..Measurement::default() };
        measurement.generator.cpu = busy;
        let (activity, idle) = (Activity::default(), Activity::default());
        Run { direction: Direction::Read, measurement, activity, idle }
    }

    /// The same, whose rate doubles in its second half.
    fn unsteady(mb: f64) -> Run {
        let mut run = run(mb, 0.1);
        let rates = [mb / 2.0, mb];
        run.measurement.series = rates.iter().flat_map(|mb| vec![BytesPerSec::from_mb(*mb); 50]).collect();
        run
    }

    /// The threads of each run, and the rate of the one that was kept.
    fn repeated(runs: Vec<Run>, online: u32, rounds: u32) -> (Vec<u32>, f64) {
        let (mut left, mut threads) = (runs.into_iter(), Vec::new());
        let once = &mut |workers| {
            threads.push(workers);
            left.next().ok_or_else(|| LoadError::Worker("there is no further run".to_owned()))
        };
        let kept = repeat(once, online, rounds).expect("there are enough runs");
        (threads, kept.measurement.bytes_per_second.get() / 1e6)
    }

    #[test]
    fn a_generator_that_is_busy_gets_more_threads_where_there_are_processors() {
        assert_eq!(repeated(vec![run(100.0, 0.5)], 8, 1), (vec![1], 100.0));
        assert_eq!(repeated(vec![run(100.0, 0.95), run(150.0, 0.9)], 8, 1), (vec![1, 4], 150.0));
        assert_eq!(repeated(vec![run(100.0, 0.95), run(90.0, 0.9)], 2, 1), (vec![1, 2], 100.0));
        assert_eq!(repeated(vec![run(100.0, 0.95)], 1, 1), (vec![1], 100.0));
    }

    #[test]
    fn a_run_that_was_cut_short_is_what_is_kept_and_the_last() {
        let cut = |mb, busy| {
            let mut run = run(mb, busy);
            run.measurement.cut_short = Some("the device is gone".to_owned());
            run
        };
        assert_eq!(repeated(vec![cut(100.0, 0.95)], 8, 3), (vec![1], 100.0));
        assert_eq!(repeated(vec![run(100.0, 0.95), cut(10.0, 0.9)], 8, 3), (vec![1, 4], 10.0));
    }

    #[test]
    fn a_run_that_is_not_steady_is_repeated_as_often_as_it_may_be() {
        assert_eq!(repeated(vec![unsteady(100.0), run(80.0, 0.1)], 8, 3), (vec![1, 1], 80.0));
        let never = vec![unsteady(100.0), unsteady(101.0), unsteady(102.0)];
        assert_eq!(repeated(never, 8, 3), (vec![1, 1, 1], 102.0));
        assert_eq!(repeated(vec![unsteady(100.0)], 8, 1), (vec![1], 100.0), "a quick look");
    }

    #[test]
    fn a_time_that_was_asked_for_is_that_of_each_load() {
        let time = Duration::from_secs(7);
        for plan in [Plan::quick(Some(time)), Plan::full(Some(time))] {
            assert!(plan.steps.iter().all(|step| step.timing.longest() == time), "{plan:?}");
            assert!(plan.steps.iter().all(|step| !step.load.writes()), "it only reads");
        }
    }
}
