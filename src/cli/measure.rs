//! `--measure`: runs load on one path and watches the machine meanwhile.

use std::collections::BTreeMap;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::Failure;
use super::args::{CheckArgs, Measure};
use super::bench::timing::Timing;
use super::bench::writes::{Wanted, Writes};
use super::signals::stop_on_signals;
use narrows_base::units::{Bytes, Nanos, human};
use narrows_load::control::{Control, Phase};
use narrows_load::error::LoadError;
use narrows_load::measurement::{Measurement, Pattern, Workload};
use narrows_load::preset::StopRule;
use narrows_load::run::{self, RunOptions};
use narrows_load::scratch::{ScratchFile, ScratchOptions};
use narrows_load::stats;
use narrows_load::target::Target as LoadTarget;
use narrows_machine::Machine;
use narrows_machine::activity::{self, Activity, Condition, Sample, TcpState};
use narrows_machine::root::Root;
use narrows_model::ceiling::Direction;
use narrows_model::path::{HopSpec, Path, Target};
use narrows_report::progress::Progress;
use narrows_verdict::{Run, Subject};

/// How often progress is shown.
const TICK: Duration = Duration::from_millis(50);
/// The parts of the measured time after which connections are looked at.
const LOOKS: [f64; 7] = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
/// A generator that uses more of a core than this may be what limits; it gets more threads.
const GENERATOR_BUSY: f64 = 0.9;
/// More threads than this on one path only fight for its queue.
const MOST_WORKERS: u32 = 4;
/// A thorough run is repeated until it is steady, but no more often than this.
const MOST_ROUNDS: u32 = 3;

/// What `--measure` runs: how long to watch the idle machine, how large a scratch file, and which workloads.
struct Plan {
    idle: Duration,
    scratch: Bytes,
    scratch_time: Duration,
    rounds: u32,
    steps: Vec<Step>,
}

struct Step {
    name: &'static str,
    workload: Workload,
    warm_up: Nanos,
}

impl Plan {
    fn new(extent: Measure, duration: Option<Duration>) -> Self {
        let step = |name, pattern, block_size, queue_depth, warm_up, millis| Step {
            name,
            workload: Workload::read(
                pattern,
                block_size,
                queue_depth,
                duration.map_or(Nanos::from_millis(millis), Nanos::from),
            ),
            warm_up: Nanos::from_millis(warm_up),
        };
        let (large, small) = (Bytes::from_mib(1), Bytes::from_kib(4));
        match extent {
            Measure::Quick => Self {
                idle: Duration::from_millis(300),
                scratch: Bytes::from_mib(512),
                scratch_time: Duration::from_secs(2),
                rounds: 1,
                steps: vec![
                    step("sequential read", Pattern::Sequential, large, 8, 500, 3000),
                    step("random read", Pattern::Random, small, 32, 300, 2000),
                ],
            },
            Measure::Full => Self {
                idle: Duration::from_secs(1),
                scratch: Bytes::from_mib(4096),
                scratch_time: Duration::from_secs(20),
                rounds: MOST_ROUNDS,
                steps: vec![
                    step("sequential read", Pattern::Sequential, large, 8, 2000, 10_000),
                    step("random read", Pattern::Random, small, 32, 1000, 10_000),
                    step("random read, depth 1", Pattern::Random, small, 1, 500, 5000),
                ],
            },
        }
    }
}

/// Whether everything that was planned was measured.
pub(super) enum Completion {
    /// It was.
    Whole,
    /// It was not, for this reason; the runs so far are there.
    CutShort(Failure),
}

/// Everything that stays the same from step to step.
struct Bench<'a> {
    root: &'a Root,
    progress: Progress,
    stop: Arc<AtomicBool>,
    cpus: Vec<u32>,
    online: u32,
    /// The drives of the path.
    drives: Vec<String>,
}

/// Runs load on the path of `subject` and adds the runs to it, the last one marked when it was cut short.
///
/// # Errors
/// [`Failure`] when the path has nothing to read from, or it may not be read.
pub(super) fn run(
    extent: Measure,
    root: &Root,
    machine: &Machine,
    subject: &mut Subject,
    args: &CheckArgs,
) -> Result<Completion, Failure> {
    let plan = Plan::new(extent, args.duration);
    let bench = Bench {
        root,
        progress: Progress::on_stderr(false),
        stop: stop_on_signals()?,
        cpus: reader_cpus(machine, &subject.path, args.cpu_node),
        online: machine.cpus.online.value().map_or(1, |cpus| u32::try_from(cpus.len()).unwrap_or(1)),
        drives: drives(&subject.path),
    };
    let place = place(&subject.path, args)?;
    let writes = match &place {
        Place::Scratch(_) => Some(writes(&plan, &subject.path, root)?),
        Place::Device(_) | Place::File(_) => None,
    };
    let target = match bench.open(&place, &plan, writes.as_ref()) {
        Ok(target) => target,
        Err(LoadError::Interrupted) => return Ok(interrupted()),
        Err(error) => return Err(failure(&error)),
    };
    let idle = bench.watch_idle(plan.idle);
    for step in &plan.steps {
        if bench.is_stopped() {
            return Ok(interrupted());
        }
        match bench.repeat(step, &target, &idle, plan.rounds) {
            Ok(run) => subject.runs.push(run),
            Err(failure) if !subject.runs.is_empty() => return Ok(Completion::CutShort(failure)),
            Err(failure) => return Err(failure),
        }
        let last = subject.runs.last().map(|run| &run.measurement);
        if let Some(why) = last.and_then(|measurement| measurement.cut_short.as_ref()) {
            if bench.is_stopped() {
                return Ok(interrupted());
            }
            let path = target.path().display();
            return Ok(Completion::CutShort(
                Failure::new(format!("the {} of `{path}` was cut short: {why}", step.name))
                    .hint("look for the device in the kernel log (`dmesg`); the report holds what was read until then"),
            ));
        }
    }
    Ok(Completion::Whole)
}

/// What the scratch file may take: it is no larger than what a bench would write.
fn writes(plan: &Plan, path: &Path, root: &Root) -> Result<Writes, Failure> {
    let timing = Timing {
        stop: StopRule::Seconds(1),
        precision: 0.02,
        max_time: plan.scratch_time,
        fixed: None,
        warm_up: Duration::ZERO,
    };
    Writes::of(&Wanted {
        asked: None,
        kept: None,
        size: (plan.scratch, false),
        is_device: false,
        works: &[],
        timing: &timing,
        again: 0,
        is_patient: true,
        path: Some((path, root)),
        ceiling: None,
    })
}

fn interrupted() -> Completion {
    Completion::CutShort(Failure::new("interrupted; the report holds what was measured until then"))
}

/// Where the bytes are read from.
enum Place {
    Device(PathBuf),
    File(PathBuf),
    Scratch(PathBuf),
}

fn place(path: &Path, args: &CheckArgs) -> Result<Place, Failure> {
    if let Some(dir) = &args.scratch {
        return Ok(Place::Scratch(dir.clone()));
    }
    match &path.asked {
        Target::Block(name) => Ok(Place::Device(device(name))),
        Target::Mount { path, .. } if FilePath::new(path).is_file() => Ok(Place::File(path.into())),
        Target::Mount { path, .. } => Ok(Place::Scratch(path.into())),
        Target::Pci(_) | Target::Usb(_) | Target::Pool(_) | Target::Nic(_) => path
            .hops
            .iter()
            .find_map(|hop| match &hop.spec {
                HopSpec::Device(medium) => Some(Place::Device(device(&medium.block))),
                _ => None,
            })
            .ok_or_else(|| {
                Failure::new(format!("nothing can be read through `{}` alone", path.target))
                    .hint("measure a device, mount or directory behind it")
            }),
    }
}

pub(super) fn device(name: &str) -> PathBuf {
    // The kernel writes `!` for a slash in a device's name (`cciss!c0d0`).
    FilePath::new("/dev").join(name.replace('!', "/"))
}

/// The processors to read from: those of the node that was asked for; on a machine with several nodes those next to
/// the path's controller; anywhere otherwise.
pub(super) fn reader_cpus(machine: &Machine, path: &Path, node: Option<u32>) -> Vec<u32> {
    let of_node =
        |id: u32| machine.cpus.nodes.iter().find(|node| node.id == id).map(|node| node.cpus.clone());
    if let Some(node) = node {
        return of_node(node).unwrap_or_default();
    }
    if machine.cpus.nodes.len() < 2 {
        return Vec::new();
    }
    let next_to_controller = path.hops.iter().find_map(|hop| match &hop.spec {
        HopSpec::Controller(controller) | HopSpec::Hba(controller) => controller.numa_node.get(),
        _ => None,
    });
    next_to_controller.and_then(of_node).unwrap_or_default()
}

impl Bench<'_> {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn open(&self, place: &Place, plan: &Plan, writes: Option<&Writes>) -> Result<LoadTarget, LoadError> {
        match place {
            Place::Device(path) => LoadTarget::open_device(path),
            Place::File(path) => LoadTarget::open_file_read(path),
            Place::Scratch(dir) => self.scratch(dir, plan, writes),
        }
    }

    fn scratch(&self, dir: &FilePath, plan: &Plan, writes: Option<&Writes>) -> Result<LoadTarget, LoadError> {
        let options = ScratchOptions {
            time: Some(plan.scratch_time),
            seed: seed(),
            budget: writes.map(|writes| writes.budget().clone()),
            ..ScratchOptions::default()
        };
        let size = writes.map_or(plan.scratch, Writes::size);
        let phase = format!("writing scratch file, {} at most", human::bytes(size));
        self.progress.phase(&phase, plan.scratch_time);
        let begin = Instant::now();
        let file = ScratchFile::create(dir, size, &options, &mut |written, _| {
            self.progress.update(begin.elapsed(), Some(written.per(begin.elapsed())));
            if self.is_stopped() {
                std::ops::ControlFlow::Break(())
            } else {
                std::ops::ControlFlow::Continue(())
            }
        })?;
        Ok(file.into_target())
    }

    /// What the machine does of its own accord.
    fn watch_idle(&self, span: Duration) -> Activity {
        self.progress.phase("watching the idle machine", span);
        let before = Sample::read(self.root);
        thread::sleep(span);
        Activity::between(&before, &Sample::read(self.root))
    }

    /// Runs a step, again with more threads when the generator was what limited it, and again until it is steady or
    /// `rounds` are used up.
    fn repeat(&self, step: &Step, target: &LoadTarget, idle: &Activity, rounds: u32) -> Result<Run, Failure> {
        let mut workers = 1;
        let mut best = self.once(step, target, idle, workers)?;
        let is_whole = |run: &Run| run.measurement.cut_short.is_none();
        if is_whole(&best) && best.measurement.generator.cpu >= GENERATOR_BUSY && self.online > 1 {
            let more = self.online.min(MOST_WORKERS);
            let wider = self.once(step, target, idle, more)?;
            if wider.measurement.bytes_per_second > best.measurement.bytes_per_second || !is_whole(&wider) {
                (best, workers) = (wider, more);
            }
        }
        let is_steady = |run: &Run| stats::steadiness(&run.measurement.series).is_none_or(|test| test.steady);
        for _ in 1..rounds {
            if is_steady(&best) || !is_whole(&best) {
                break;
            }
            best = self.once(step, target, idle, workers)?;
        }
        Ok(best)
    }

    fn once(&self, step: &Step, target: &LoadTarget, idle: &Activity, workers: u32) -> Result<Run, Failure> {
        let options = RunOptions {
            warm_up: step.warm_up,
            cpus: self.cpus.clone(),
            workers,
            seed: seed(),
            ..RunOptions::default()
        };
        self.progress.phase(step.name, step.workload.duration_ns.duration());
        let control = Control::with_stop(self.stop.clone());
        let before = condition(self.root, &self.drives);
        let (measurement, mut activity) = thread::scope(|scope| {
            let runner = scope.spawn(|| run::run(target, &step.workload, &options, &control));
            let activity = self.watch(&control, step.workload.duration_ns.duration(), idle);
            (runner.join(), activity)
        });
        (activity.before, activity.after) = (before, condition(self.root, &self.drives));
        let measurement: Measurement = measurement
            .map_err(|_| Failure::new("the load engine failed; this is a bug in narrows"))?
            .map_err(|error| failure(&error))?;
        Ok(Run { direction: Direction::Read, measurement, activity, idle: idle.clone() })
    }

    /// Watches the machine during the measured time. Counters are taken at its two ends; states that would change as
    /// soon as the load is gone (links, resyncs) near its end, and connections several times, as what they say varies. Threads,
    /// which take long to read, are read as soon as load runs, before it is measured, and when it is over.
    fn watch(&self, control: &Control, duration: Duration, idle: &Activity) -> Activity {
        control.wait_for(Phase::WarmUp);
        let threads = Sample::of_threads(self.root);
        control.wait_for(Phase::Measuring);
        let begin = Instant::now();
        let before = Sample::of_counters(self.root).with_threads_of(threads);
        let missed = control.bytes_done();
        let mut under_load = None;
        let mut tcp: BTreeMap<String, Vec<TcpState>> = BTreeMap::new();
        let mut looks = LOOKS.iter();
        let mut next_look = looks.next();
        while control.phase() < Phase::Done {
            thread::sleep(TICK);
            let elapsed = begin.elapsed();
            self.progress.update(elapsed, Some(control.bytes_done().per(elapsed)));
            if under_load.is_none() && elapsed > duration.mul_f64(0.7) {
                under_load = Some(Sample::of_states(self.root, idle.links.keys()));
            }
            if next_look.is_some_and(|part| elapsed > duration.mul_f64(*part)) {
                next_look = looks.next();
                for (server, state) in activity::connections(self.root) {
                    tcp.entry(server).or_default().push(state);
                }
            }
        }
        let mut activity = Activity::between(&before, &Sample::read(self.root));
        activity.missed = missed;
        if let Some(sample) = under_load {
            activity.links = sample.links;
            activity.resyncs = sample.resyncs;
        }
        if !tcp.is_empty() {
            let seen = |looks: Vec<TcpState>| TcpState::of_looks(&looks);
            activity.tcp =
                tcp.into_iter().filter_map(|(server, looks)| Some((server, seen(looks)?))).collect();
        }
        activity
    }
}

/// The drives of a path, by kernel name.
pub(super) fn drives(path: &Path) -> Vec<String> {
    let drive = |spec: &HopSpec| match spec {
        HopSpec::Device(device) => Some(device.block.clone()),
        _ => None,
    };
    path.hops.iter().filter_map(|hop| drive(&hop.spec)).collect()
}

/// What links and drives say now, while no load of ours runs.
pub(super) fn condition(root: &Root, drives: &[String]) -> Condition {
    Condition::read(root, drives.iter().map(String::as_str))
}

fn seed() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(1, |span| span.as_nanos() as u64)
}

fn failure(error: &LoadError) -> Failure {
    Failure::new(error.to_string()).maybe_hint(error.hint().map(str::to_owned))
}
