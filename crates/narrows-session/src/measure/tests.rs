//! Sessions on a machine and with an engine that are made up: what is asked of the machine when, and what comes of a run.

#![expect(clippy::disallowed_methods, reason = "tests make files")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, thread};

use super::*;
use crate::copying::shown;
use narrows_base::units::{Bytes, BytesPerSec, GtPerSec, Lanes, Nanos};
use narrows_load::control::{Control, Phase};
use narrows_load::copy::{CopyControl, CopyError, CopyOptions};
use narrows_load::error::LoadError;
use narrows_load::measurement::{Measurement, Pattern, Workload};
use narrows_load::preset::{LoadSpec, StopRule};
use narrows_load::run::RunOptions;
use narrows_machine::activity::{Activity, Condition, Happened, LinkState, Sample, TcpState};
use narrows_machine::pci::PciAddress;
use narrows_machine::root::Root;
use narrows_machine::tree::Tree;
use narrows_model::path::{Path, Target as Aim};
use narrows_verdict::Subject;

const MB: u64 = 1_000_000;
const TIME: Duration = Duration::from_millis(700);
const COMMANDS: [Command; 4] = [Command::Check, Command::Tests, Command::Ladder, Command::Lab];

/// What a run has come to, and what was asked of the machine in which phase of it; `None` while nothing runs.
#[derive(Default)]
struct Story {
    phase: Option<Phase>,
    asked: Vec<(Evidence, Option<Phase>)>,
    nops: u32,
}

#[derive(Clone, Default)]
struct Told(Arc<Mutex<Story>>);

impl Told {
    fn story(&self) -> MutexGuard<'_, Story> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, control: &Control, phase: Phase) {
        self.story().phase = (phase != Phase::Done).then_some(phase);
        control.enter(phase);
    }

    fn note(&self, evidence: Evidence) {
        let mut story = self.story();
        let phase = story.phase;
        story.asked.push((evidence, phase));
    }

    fn was_asked(&self, evidence: Evidence) -> bool {
        self.story().asked.iter().any(|(asked, _)| *asked == evidence)
    }
}

/// A machine with one link that runs faster under load and loses lanes after the first look, and one connection.
struct Machine(Told);

impl Machine {
    fn links(&self) -> BTreeMap<PciAddress, LinkState> {
        let is_loaded = self.0.story().phase.is_some();
        let speed = if is_loaded { GtPerSec::GEN3 } else { GtPerSec::GEN1 };
        let looks = self.0.story().asked.iter().filter(|(asked, _)| *asked == Evidence::States).count();
        let width = Lanes::new(if looks > 1 { 2 } else { 4 });
        let state = LinkState { speed: Some(speed), width: Some(width) };
        BTreeMap::from([("0000:01:00.0".parse().expect("an address"), state)])
    }
}

impl Witness for Machine {
    fn everything(&self) -> Sample {
        let is_idle = !self.0.was_asked(Evidence::Threads);
        if is_idle {
            self.0.note(Evidence::Idle);
        } else {
            self.0.note(Evidence::Counters);
            self.0.note(Evidence::Threads);
        }
        Sample { links: self.links(), ..Sample::default() }
    }

    fn counters(&self) -> Sample {
        self.0.note(Evidence::Counters);
        Sample::default()
    }

    fn processors(&self) -> Sample {
        self.0.note(Evidence::Processors);
        Sample::default()
    }

    fn threads(&self) -> Sample {
        let is_between = self.0.story().phase == Some(Phase::Measuring);
        self.0.note(if is_between { Evidence::ThreadsBetween } else { Evidence::Threads });
        Sample::default()
    }

    fn queues(&self) -> Sample {
        self.0.note(Evidence::Queues);
        Sample::default()
    }

    fn states(&self, idle: &Activity) -> Sample {
        self.0.note(Evidence::States);
        assert_eq!(idle.links.len(), 1, "the links that are known from before");
        Sample { links: self.links(), ..Sample::default() }
    }

    fn connections(&self) -> BTreeMap<String, TcpState> {
        self.0.note(Evidence::Connections);
        let looks = self.0.story().asked.iter().filter(|(asked, _)| *asked == Evidence::Connections).count();
        let data = Some(Nanos::from_millis(looks as u64));
        BTreeMap::from([(
            "10.0.0.1:2049".to_owned(),
            TcpState { data_round_trip: data, ..Default::default() },
        )])
    }

    fn condition(&self, _: &[String]) -> Condition {
        self.0.note(Evidence::Condition);
        Condition { links: self.links(), ..Condition::default() }
    }
}

/// What a target of the made-up engine does.
#[derive(Clone)]
enum Target {
    /// Moves so many bytes in each 10 ms.
    Moves(u64),
    /// The same, once as many run as the barrier waits for.
    Together(u64, Arc<Barrier>),
    /// Moves so many in each 10 ms, less what others take that run at the same time.
    Shares(u64, Arc<AtomicUsize>),
    Refuses,
    Panics,
}

struct Made(Told);

impl Engine for Made {
    type Target = Target;

    fn run(
        &self,
        target: &Target,
        workload: &Workload,
        options: &RunOptions,
        control: &Control,
    ) -> Result<Measurement, LoadError> {
        let each = match target {
            Target::Moves(each) => *each,
            Target::Shares(each, running) => {
                running.fetch_add(1, Ordering::Relaxed);
                *each
            }
            Target::Together(each, barrier) => {
                barrier.wait();
                *each
            }
            Target::Refuses => return Err(LoadError::Worker("it will not".to_owned())),
            Target::Panics => std::panic::resume_unwind(Box::new("as it was made to")),
        };
        self.0.story().nops += u32::from(options.measure_nop);
        self.0.enter(control, Phase::WarmUp);
        let patience = Instant::now();
        while !self.0.was_asked(Evidence::Threads) && patience.elapsed() < Duration::from_secs(10) {
            thread::sleep(Duration::from_millis(1));
        }
        control.add_bytes(each, 0);
        let mut bytes = each;
        self.0.enter(control, Phase::Measuring);
        let begin = Instant::now();
        while begin.elapsed() < workload.duration_ns.duration()
            && !control.is_finished()
            && !control.is_stopped()
        {
            thread::sleep(Duration::from_millis(10));
            let sample = begin.elapsed().as_nanos() as u64 / control.sample().get();
            let sharing =
                if let Target::Shares(_, running) = target { running.load(Ordering::Relaxed) } else { 1 };
            let each = each / sharing.max(1) as u64;
            control.add_bytes(each, sample);
            bytes += each;
        }
        if let Target::Shares(_, running) = target {
            running.fetch_sub(1, Ordering::Relaxed);
        }
        self.0.story().phase = None;
        let mut measurement = Measurement { bytes: Bytes::new(bytes), ..Measurement::default() };
        measurement.elapsed_ns = begin.elapsed().into();
        measurement.bytes_per_second = measurement.bytes.per(begin.elapsed());
        measurement.cut_short = control.is_stopped().then(|| "stopped".to_owned());
        measurement.checks.nop_ns_per_io = options.measure_nop.then_some(80.0);
        Ok(measurement)
    }
}

fn session<'a>(command: Command, machine: &'a Machine, stop: &Arc<AtomicBool>) -> Session<'a, Machine, Made> {
    let processors = Processors { tied_to: vec![2, 3], online: 4 };
    let drives = vec!["nvme0n1".to_owned()];
    let made = Made(machine.0.clone());
    Session::begin(command, (machine, made), (processors, drives), stop.clone(), Duration::ZERO)
}

fn asked(session: &Session<'_, Machine, Made>, timing: Timing) -> Asked {
    let load = LoadSpec::reading(Pattern::Random, Bytes::from_kib(4), 8);
    session.asked(&load, &timing)
}

fn exactly(time: Duration) -> Timing {
    Timing::exactly(time, Duration::ZERO)
}

/// What taking a piece of evidence costs.
#[derive(Clone, Copy)]
enum Price {
    /// So little that it is taken in the measured time.
    Free,
    /// It is taken right before and right after the measured time.
    Ends,
    /// The same, and now and then in it nevertheless.
    Spaced,
    /// A time of its own, without load.
    OwnRun,
}

/// The table: evidence, its price, and whether a short measurement, tests, layers and a lab take it.
const TABLE: [(Evidence, Price, [bool; 4]); 11] = [
    (Evidence::Counters, Price::Free, [true, true, true, true]),
    (Evidence::Missed, Price::Free, [true, true, true, true]),
    (Evidence::Processors, Price::Free, [true, true, true, true]),
    (Evidence::Queues, Price::Free, [true, true, true, true]),
    (Evidence::States, Price::Free, [true, true, true, true]),
    (Evidence::Connections, Price::Free, [true, true, true, true]),
    (Evidence::Threads, Price::Ends, [true, true, true, true]),
    (Evidence::ThreadsBetween, Price::Spaced, [false, false, true, false]),
    (Evidence::Condition, Price::OwnRun, [true, true, true, true]),
    (Evidence::Idle, Price::OwnRun, [true, true, true, true]),
    (Evidence::Nop, Price::OwnRun, [false, true, false, true]),
];

/// What was in fact taken in a run of a command.
fn taken(command: Command) -> (BTreeSet<Evidence>, Vec<(Evidence, Option<Phase>)>) {
    let (machine, stop) = (Machine(Told::default()), Arc::default());
    let session = session(command, &machine, &stop);
    let asked = asked(&session, exactly(TIME));
    let seen = session.run(&asked, &[&Target::Moves(MB)], &()).expect("it runs");
    let story = machine.0.story();
    let mut taken: BTreeSet<Evidence> = story.asked.iter().map(|(evidence, _)| *evidence).collect();
    taken.extend((seen.activity.missed >= Bytes::new(MB)).then_some(Evidence::Missed));
    taken.extend((story.nops > 0).then_some(Evidence::Nop));
    (taken, story.asked.clone())
}

#[test]
fn every_command_takes_the_evidence_of_the_table_at_its_price() {
    for (column, command) in COMMANDS.into_iter().enumerate() {
        let (taken, asked) = taken(command);
        for (evidence, _, commands) in TABLE {
            let is_wanted = commands[column];
            assert_eq!(evidence.is_taken_by(command), is_wanted, "{evidence:?} of {command:?}, as it says");
            assert_eq!(taken.contains(&evidence), is_wanted, "{evidence:?} of {command:?}, in a run");
        }
        for (evidence, phase) in asked {
            let row = TABLE.iter().find(|(listed, ..)| *listed == evidence);
            let (_, price, _) = row.unwrap_or_else(|| panic!("{evidence:?} is not in the table"));
            let is_fair = match price {
                Price::Free | Price::Spaced => true,
                Price::Ends => phase != Some(Phase::Measuring),
                Price::OwnRun => phase.is_none(),
            };
            assert!(is_fair, "{command:?} takes {evidence:?} in {phase:?}");
        }
    }
}

#[test]
fn links_are_those_under_load_and_conditions_those_before_and_after_it() {
    let (machine, stop) = (Machine(Told::default()), Arc::default());
    let session = session(Command::Check, &machine, &stop);
    let seen = session.run(&asked(&session, exactly(TIME)), &[&Target::Moves(MB)], &()).expect("it runs");
    let speed = |links: &BTreeMap<PciAddress, LinkState>| links.values().next().and_then(|link| link.speed);
    assert_eq!(speed(&seen.activity.links), Some(GtPerSec::GEN3));
    assert_eq!(speed(&seen.activity.before.links), Some(GtPerSec::GEN1));
    assert_eq!(speed(&seen.activity.after.links), Some(GtPerSec::GEN1));
    let data = seen.activity.tcp["10.0.0.1:2049"].data_round_trip.expect("it was looked at");
    assert!(data > Nanos::from_millis(1), "the median of several looks, and not the first of them: {data}");
}

#[test]
fn a_run_ends_when_its_rate_is_known_and_its_states_were_read_under_load() {
    let (machine, stop) = (Machine(Told::default()), Arc::default());
    let session = session(Command::Tests, &machine, &stop);
    let longest = Duration::from_secs(60);
    // So wide that a late wake-up of this test does not keep the rate from being known.
    let timing = Timing { stop: StopRule::Precision, precision: 0.5, fixed: None, ..exactly(longest) };
    let seen = session.run(&asked(&session, timing), &[&Target::Moves(MB)], &()).expect("it runs");
    assert!(seen.is_known && seen.outlook.is_some());
    assert!(seen.measurements[0].elapsed_ns < Nanos::from_millis(30_000));
    let speed = seen.activity.links.values().next().and_then(|link| link.speed);
    assert_eq!(speed, Some(GtPerSec::GEN3));
}

#[test]
fn what_a_link_does_in_the_measured_time_is_told_with_its_time() {
    let (machine, stop) = (Machine(Told::default()), Arc::default());
    let session = session(Command::Check, &machine, &stop);
    let seen = session
        .run(&asked(&session, exactly(Duration::from_millis(1300))), &[&Target::Moves(MB)], &())
        .expect("it runs");
    let [event] = seen.activity.events.as_slice() else { panic!("one event: {:?}", seen.activity.events) };
    let Happened::Link { from, to, .. } = &event.what else { panic!("of a link: {event:?}") };
    assert_eq!((from.width, to.width), (Some(Lanes::new(4)), Some(Lanes::new(2))));
    assert!(event.at > Nanos::from_millis(300) && event.at < Nanos::from_millis(1300), "{event:?}");
}

#[test]
fn several_targets_run_at_the_same_time_and_each_has_its_measurement() {
    let (machine, stop) = (Machine(Told::default()), Arc::default());
    let session = session(Command::Ladder, &machine, &stop);
    // No run goes on before all three have begun.
    let barrier = Arc::new(Barrier::new(3));
    let targets: Vec<Target> =
        [1, 2, 3].map(|factor| Target::Together(factor * MB, barrier.clone())).into_iter().collect();
    let targets: Vec<&Target> = targets.iter().collect();
    let looked = Looked::default();
    let seen = session.run(&asked(&session, exactly(TIME)), &targets, &looked).expect("they run");
    let rates: Vec<BytesPerSec> = seen.measurements.iter().map(|one| one.bytes_per_second).collect();
    assert_eq!(rates.len(), 3);
    assert!(rates[0] < rates[1] && rates[1] < rates[2], "in the order of the targets: {rates:?}");
    let sum: u64 = seen.measurements.iter().map(|one| one.bytes.get()).sum();
    let most = *looked.0.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(most > sum / 2 && most <= sum, "followers are told of all together: {most} of {sum}");
}

/// The most that a follower was told of.
#[derive(Default)]
struct Looked(Mutex<u64>);

impl Follower for Looked {
    fn look(&self, look: &Look) {
        let mut most = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *most = look.done.get().max(*most);
    }
}

#[test]
fn one_target_that_fails_fails_the_run_and_nobody_waits_for_it() {
    for bad in [Target::Refuses, Target::Panics] {
        let (machine, stop) = (Machine(Told::default()), Arc::default());
        let session = session(Command::Check, &machine, &stop);
        let targets = [&Target::Moves(MB), &bad];
        let error = session.run(&asked(&session, exactly(TIME)), &targets, &()).expect_err("one failed");
        assert!(matches!(error, LoadError::Worker(_)), "{error}");
    }
}

#[test]
fn a_flag_stops_what_runs() {
    let (machine, stop) = (Machine(Told::default()), Arc::new(AtomicBool::new(false)));
    let session = session(Command::Check, &machine, &stop);
    let asked = asked(&session, exactly(Duration::from_secs(60)));
    let seen = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(150));
            stop.store(true, Ordering::Relaxed);
        });
        session.run(&asked, &[&Target::Moves(MB)], &())
    });
    let mut seen = seen.expect("it measured until then");
    assert!(session.is_stopped());
    assert_eq!(seen.single().cut_short.as_deref(), Some("stopped"));
}

#[test]
fn a_nop_is_measured_once_in_a_session_and_told_of_every_run() {
    let (machine, stop) = (Machine(Told::default()), Arc::default());
    let session = session(Command::Tests, &machine, &stop);
    for _ in 0..2 {
        let asked = asked(&session, exactly(Duration::from_millis(20)));
        let mut seen = session.run(&asked, &[&Target::Moves(MB)], &()).expect("it runs");
        assert_eq!(seen.single().checks.nop_ns_per_io, Some(80.0));
    }
    assert_eq!(machine.0.story().nops, 1);
}

#[test]
fn streams_are_carried_by_as_many_workers_as_there_are_processors() {
    let (machine, stop) = (Machine(Told::default()), Arc::default());
    let session = session(Command::Tests, &machine, &stop);
    let load = LoadSpec::reading(Pattern::Sequential, Bytes::from_mib(1), 2)
        .on(narrows_load::preset::Parallel::Streams(10));
    let Asked { workload, options, .. } = session.asked(&load, &exactly(TIME));
    assert_eq!((options.workers, options.streams), (4, 10));
    assert_eq!(workload.queue_depth, 6, "three streams of depth 2 on the busiest of four workers");
    assert_eq!(options.cpus, [2, 3]);
}

#[test]
fn a_recorded_machine_bears_witness_of_its_links_and_arrays() {
    let mut tree = Tree::new();
    tree.file("/proc/diskstats", "   9       0 md0 1 0 8 0 0 0 0 0 0 0 0\n")
        .file("/sys/class/block/md0/md/sync_action", "resync\n")
        .file("/sys/bus/pci/devices/0000:01:00.0/class", "0x010802\n")
        .file("/sys/bus/pci/devices/0000:01:00.0/current_link_speed", "5.0 GT/s PCIe\n")
        .file("/sys/bus/pci/devices/0000:01:00.0/current_link_width", "1\n");
    let root = Root::from_tree(tree);
    let made = Made(Told::default());
    made.0.note(Evidence::Threads);
    let drives = vec!["nvme0n1".to_owned()];
    let (processors, stop) = (Processors::default(), Arc::default());
    let session = Session::begin(Command::Check, (&root, made), (processors, drives), stop, Duration::ZERO);
    let load = LoadSpec::reading(Pattern::Random, Bytes::from_kib(4), 1);
    let asked = session.asked(&load, &exactly(TIME));
    let seen = session.run(&asked, &[&Target::Moves(MB)], &()).expect("it runs");
    let link = LinkState { speed: Some(GtPerSec::GEN2), width: Some(Lanes::new(1)) };
    assert_eq!(seen.activity.links.values().collect::<Vec<_>>(), [&link]);
    assert_eq!(seen.activity.before.links, seen.activity.after.links);
    assert_eq!(seen.activity.resyncs["md0"].action, "resync");
}

#[test]
fn a_copy_takes_what_is_counted_before_and_after_it_and_nothing_else() {
    let dir = tempfile::tempdir().expect("there is room");
    let (source, destination) = (dir.path().join("from"), dir.path().join("to"));
    fs::write(&source, [7; 100_000]).expect("there is room");
    let machine = Machine(Told::default());
    let (options, control) = (CopyOptions::default(), CopyControl::with_stop(Arc::default()));
    let copied = shown(&machine, (&source, &destination), &options, &control, || ()).expect("it copies");
    assert!(copied.result.is_whole());
    assert_eq!(fs::read(&destination).expect("it is there"), [7; 100_000]);
    let asked: Vec<Evidence> = machine.0.story().asked.iter().map(|(evidence, _)| *evidence).collect();
    assert_eq!(asked, [Evidence::Counters, Evidence::Counters]);
}

#[test]
fn a_copy_of_nothing_says_why() {
    let dir = tempfile::tempdir().expect("there is room");
    let machine = Machine(Told::default());
    let ends = (&*dir.path().join("none"), &*dir.path().join("to"));
    let control = CopyControl::with_stop(Arc::default());
    let refused = shown(&machine, ends, &CopyOptions::default(), &control, || ());
    assert!(matches!(refused, Err(CopyError::Io { .. })));
}

#[test]
fn each_runs_alone_and_then_the_groups_run_at_once_with_what_they_share() {
    let (machine, stop) = (Machine(Told::default()), Arc::default());
    let session = session(Command::Check, &machine, &stop);
    let running = Arc::new(AtomicUsize::new(0));
    let targets =
        [Target::Shares(12 * MB, running.clone()), Target::Shares(12 * MB, running), Target::Moves(MB)];
    let groups = [vec![0, 1], vec![0, 1, 2]];
    let told = Mutex::new(Vec::new());
    let ahead =
        |members: &[usize]| told.lock().unwrap_or_else(PoisonError::into_inner).push(members.to_vec());
    let asked = asked(&session, exactly(TIME));
    let several =
        Several { session: &session, asked: &asked, targets: &targets, follower: &(), ahead: &ahead };
    let mut subjects = subjects(&["sda", "sdb", "sdc"]);
    let (together, cut_short) = several.rounds(&mut subjects, &groups).expect("they run");
    let told = told.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(told, [vec![0], vec![1], vec![2], vec![0, 1], vec![0, 1, 2]]);
    let rate = |runs: &[Run]| runs[0].measurement.bytes_per_second.get();
    assert_eq!((measured(&subjects), together.len(), cut_short), (3, 2, None));
    // Half each; a test machine that sleeps longer than asked moves both rates.
    assert!(rate(&together[0].runs) < 0.75 * rate(&subjects[0].runs));
    assert_eq!(together[1].runs.len(), 3);
}

#[test]
fn a_run_that_is_stopped_ends_the_rest_and_is_not_kept() {
    let (machine, stop) = (Machine(Told::default()), Arc::new(AtomicBool::new(false)));
    let session = session(Command::Check, &machine, &stop);
    let targets = [Target::Moves(MB), Target::Moves(MB)];
    let ahead = |members: &[usize]| {
        if members.len() == 2 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let asked = asked(&session, exactly(Duration::from_millis(100)));
    let several =
        Several { session: &session, asked: &asked, targets: &targets, follower: &(), ahead: &ahead };
    let mut subjects = subjects(&["sda", "sdb"]);
    let (together, cut_short) = several.rounds(&mut subjects, &[vec![0, 1]]).expect("they run");
    assert_eq!((measured(&subjects), together.len()), (2, 0));
    assert_eq!(cut_short.as_deref(), Some("stopped"));
}

#[test]
fn a_target_that_fails_ends_the_rest_and_takes_nothing_away_from_what_was_measured() {
    let (machine, stop) = (Machine(Told::default()), Arc::default());
    let session = session(Command::Check, &machine, &stop);
    let asked = asked(&session, exactly(Duration::from_millis(100)));
    let rounds = |targets: &[Target]| {
        let mut subjects = subjects(&["sda", "sdb"]);
        let several =
            Several { session: &session, asked: &asked, targets, follower: &(), ahead: &|_: &[usize]| () };
        let (together, cut_short) = several.rounds(&mut subjects, &[vec![0, 1]])?;
        Ok::<_, LoadError>((measured(&subjects), together.len(), cut_short.is_some()))
    };
    assert_eq!(rounds(&[Target::Moves(MB), Target::Refuses]).expect("the first one runs"), (1, 0, true));
    assert!(rounds(&[Target::Refuses, Target::Moves(MB)]).is_err());
}

#[test]
fn targets_that_run_at_once_are_tied_to_processors_of_their_own() {
    use crate::measure::beside;
    let tied = |cpus: &[u32], workers, place| {
        let options = RunOptions { cpus: cpus.to_vec(), workers, ..RunOptions::default() };
        beside(&options, place).cpus
    };
    assert_eq!(tied(&[4, 5, 6], 1, 0), [4, 5, 6]);
    assert_eq!(tied(&[4, 5, 6], 1, 2), [6, 4, 5]);
    assert_eq!(tied(&[4, 5, 6, 7], 2, 1), [6, 7, 4, 5], "each target has two workers");
    assert_eq!(tied(&[4, 5], 1, 5), [5, 4], "more targets than processors: in turn");
    assert_eq!(tied(&[], 1, 3), [0; 0]);
}

fn subjects(names: &[&str]) -> Vec<Subject> {
    let path = |name: &&str| {
        let target = (*name).to_owned();
        Path { asked: Aim::Block(target.clone()), target, hops: Vec::new() }
    };
    names.iter().map(|name| Subject::of(path(name))).collect()
}

/// How many of them have a run alone.
fn measured(subjects: &[Subject]) -> usize {
    subjects.iter().filter(|subject| subject.runs.len() == 1).count()
}

#[test]
fn each_run_speaks_for_its_target_or_its_group() {
    let (machine, stop) = (Machine(Told::default()), Arc::default());
    let session = session(Command::Check, &machine, &stop);
    let targets = [Target::Moves(MB), Target::Moves(2 * MB)];
    let plan = [vec![0, 1]];
    let asked = asked(&session, exactly(Duration::from_millis(200)));
    let several = Several {
        session: &session,
        asked: &asked,
        targets: &targets,
        follower: &(),
        ahead: &|_: &[usize]| (),
    };
    let mut subjects = subjects(&["sda", "sdb"]);
    let (ran, _) = several.rounds(&mut subjects, &plan).expect("they run");
    assert_eq!(measured(&subjects), 2);
    let [a, b] = [0, 1].map(|at: usize| subjects[at].runs[0].measurement.bytes_per_second);
    assert!(a < b, "{a:?} {b:?}");
    assert_eq!((ran.len(), ran[0].members.as_slice(), ran[0].runs.len()), (1, [0, 1].as_slice(), 2));
}

#[test]
fn a_first_run_that_cannot_be_repeated_says_why() {
    let (machine, stop) = (Machine(Told::default()), Arc::new(AtomicBool::new(false)));
    let session = session(Command::Check, &machine, &stop);
    let asked = asked(&session, exactly(Duration::from_millis(100)));
    let told = Mutex::new(Vec::new());
    let ahead =
        |members: &[usize]| told.lock().unwrap_or_else(PoisonError::into_inner).push(members.to_vec());
    let repeated = |target: Target, subjects: &[Subject]| {
        let targets = [target];
        let several =
            Several { session: &session, asked: &asked, targets: &targets, follower: &(), ahead: &ahead };
        several.drift(subjects, &mut [])
    };
    let why = repeated(Target::Refuses, &subjects(&["sda"])).expect("it failed");
    assert!(why.starts_with("the first run could not be repeated: ") && why.contains("it will not"), "{why}");
    stop.store(true, Ordering::Relaxed);
    let why = repeated(Target::Moves(MB), &subjects(&["sda"])).expect("it was stopped");
    assert_eq!(why, "the first run could not be repeated: stopped");
    assert_eq!(repeated(Target::Refuses, &[]), None, "there was no first run");
    assert_eq!(told.into_inner().unwrap_or_else(PoisonError::into_inner), [vec![0], vec![0]]);
}

#[test]
fn a_plan_that_is_through_is_judged_and_one_that_is_not_says_why() {
    let of = |targets: &[Target]| {
        let (machine, stop) = (Machine(Told::default()), Arc::default());
        let session = session(Command::Check, &machine, &stop);
        let asked = asked(&session, exactly(Duration::from_millis(100)));
        let told = Mutex::new(0);
        let ahead = |_: &[usize]| *told.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        let several = Several { session: &session, asked: &asked, targets, follower: &(), ahead: &ahead };
        let facts = narrows_machine::Machine::default();
        let together = several.measure(&facts, subjects(&["sda", "sdb"]), &[vec![0, 1]]);
        (together.expect("the first one runs"), told.into_inner().unwrap_or_else(PoisonError::into_inner))
    };
    let (whole, runs) = of(&[Target::Moves(MB), Target::Moves(MB)]);
    assert_eq!((whole.verdicts.len(), whole.conclusion.paths.len(), whole.cut_short), (1, 2, None));
    assert_eq!((runs, whole.hidden.is_none()), (4, true), "each, both, and the first once more");
    let (cut, runs) = of(&[Target::Moves(MB), Target::Refuses]);
    assert!(cut.cut_short.is_some_and(|why| why.contains("it will not")));
    assert_eq!((runs, cut.verdicts.len(), cut.drift, cut.subjects[0].runs.len()), (2, 0, None, 1));
}
