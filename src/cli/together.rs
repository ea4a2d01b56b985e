//! `narrows A B --measure`: what several targets give alone and at the same time.

use std::collections::BTreeMap;
use std::path::{Path as FilePath, PathBuf};
use std::time::Duration;

use super::args::{CheckArgs, Measure};
use super::bar::Bar;
use super::check::check_node;
use super::measure::failure;
use super::signals::stop_on_signals;
use super::{FAILED, FINDINGS, Failure, NOTHING_FOUND, facts, output, target};
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_load::measurement::{Pattern, Workload};
use narrows_load::target::Target as LoadTarget;
use narrows_machine::Machine;
use narrows_machine::root::Root;
use narrows_machine::unfit::{self, Unfit};
use narrows_model::ceiling::{Basis, Direction};
use narrows_model::path::{Path, Target, build};
use narrows_report::progress::Progress;
use narrows_report::sanitize::inert;
use narrows_report::together::{About, document, report};
use narrows_session::measure::{
    Asked, Command, Kernel, Processors, Rounds, Seen, Session, Timing, alone_and_together,
};
use narrows_session::scene;
use narrows_verdict::Subject;
use narrows_verdict::together::{Group, conclude, groups, judge_groups};

/// How long the idle machine is watched, the load that is not counted, and the measured time of each run.
struct Times {
    idle: Duration,
    warm_up: Duration,
    each: Duration,
}

impl Times {
    fn new(extent: Measure, duration: Option<Duration>) -> Self {
        let (idle, warm_up, each) = match extent {
            Measure::Quick => (300, 500, 3000),
            Measure::Full => (1000, 2000, 10_000),
        };
        let millis = Duration::from_millis;
        Self { idle: millis(idle), warm_up: millis(warm_up), each: duration.unwrap_or(millis(each)) }
    }
}

/// The targets that are measured, and those that are not with the reason.
#[derive(Default)]
struct Chosen {
    subjects: Vec<Subject>,
    left_out: Vec<(String, String)>,
}

/// Reads each target alone and then at once those that share a hop, and says what limits them together.
///
/// # Errors
/// [`Failure`] when a target does not exist or cannot be read, or fewer than two are left.
pub(super) fn run(args: &CheckArgs, extent: Measure) -> Result<u8, Failure> {
    let root = Root::live();
    let sleepers = unfit::sleepers(&root);
    let machine = facts::read(&root);
    check_node(&machine, args.cpu_node)?;
    let chosen = choose(&root, (&machine, &sleepers), args)?;
    let paths: Vec<Path> = chosen.subjects.iter().map(|subject| subject.path.clone()).collect();
    let opened = paths.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let (plan, times) = (groups(&paths), Times::new(extent, args.duration));
    announce(&chosen, &plan, &times);
    let progress = Progress::on_stderr(false);
    let drives = paths.iter().flat_map(scene::drives).collect();
    let on = (Processors::of_all(&machine, &paths, args.cpu_node), drives);
    progress.phase("watching the idle machine", times.idle);
    let session = Session::begin(Command::Check, (&root, Kernel), on, stop_on_signals()?, times.idle);
    let timing = Timing::exactly(times.each, times.warm_up);
    let workload = Workload::read(Pattern::Sequential, Bytes::from_mib(1), 8, times.each.into());
    let options = session.options(1, &timing);
    let asked = Asked { workload: workload.clone(), options, timing, budget: None, is_short: false };
    let ahead = |members: &[usize]| progress.phase(&phase(&paths, members), timing.longest());
    let bar = Bar { progress: &progress, before: Duration::ZERO };
    let rounds = alone_and_together(&session, &asked, (&opened, &plan), &bar, &ahead);
    let rounds = rounds.map_err(|error| failure(&error))?;
    drop(progress);
    let reason = rounds.cut_short.clone();
    let (subjects, ran) = collect(&session, chosen.subjects, &plan, rounds);
    let verdicts = judge_groups(&machine, &subjects, &ran);
    let conclusion = conclude(&machine, &subjects, &verdicts);
    let about = About { workload, left_out: chosen.left_out, reason: reason.clone() };
    let report = report(&machine, about, &subjects, &verdicts, &conclusion);
    output::report(&report, &args.output, document)?;
    if let Some(why) = reason {
        output::failure(&Failure::new(format!("{why}; the report holds what was measured until then")));
        return Ok(FAILED);
    }
    Ok(if conclusion.has_findings(&verdicts) { FINDINGS } else { NOTHING_FOUND })
}

/// Finds what was typed, and leaves out what had better not be read.
fn choose(
    root: &Root,
    (machine, sleepers): (&Machine, &BTreeMap<String, Unfit>),
    args: &CheckArgs,
) -> Result<Chosen, Failure> {
    let options = build::Options { reader_node: args.cpu_node };
    let mut chosen = Chosen::default();
    for typed in args.target.iter().chain(&args.others) {
        let asked = target::resolve(root, machine, typed)?;
        target::awake(root, machine, &asked)?;
        let path = build::path_with(machine, &asked, &options)
            .ok_or_else(|| Failure::new(format!("no storage path leads to `{typed}`")))?;
        if chosen.subjects.iter().any(|other| other.path.asked == path.asked) {
            return Err(Failure::new(format!("`{typed}` is named twice"))
                .hint("name each target once: two runs on one of them would share all of it"));
        }
        let unfit = scene::drives(&path).iter().find_map(|drive| {
            unfit::of_drive(root, (machine, sleepers), drive).map(|why| (drive.clone(), why))
        });
        match unfit {
            None => chosen.subjects.push(Subject::of(path)),
            Some((drive, why)) => {
                let why =
                    if path.target.ends_with(&drive) { why.to_string() } else { format!("{drive}: {why}") };
                output::note(&inert(&format!("narrows: {} is left out: {why}", path.target)));
                chosen.left_out.push((path.target, why));
            }
        }
    }
    if chosen.subjects.len() < 2 {
        return Err(Failure::new("fewer than two targets are left to run together")
            .hint("name more targets, or measure the one that is left by itself"));
    }
    Ok(chosen)
}

/// Opens what is read of a path. Nothing is written, so a directory is none.
fn open(path: &Path) -> Result<LoadTarget, Failure> {
    let file: Option<PathBuf> = match &path.asked {
        Target::Mount { path, .. } => Some(PathBuf::from(path)).filter(|path| FilePath::is_file(path)),
        _ => None,
    };
    let opened = match (&file, scene::medium(path)) {
        (Some(file), _) => LoadTarget::open_file_read(file),
        (None, Some(device)) => LoadTarget::open_device(&device),
        (None, None) => {
            return Err(Failure::new(format!(
                "several targets are only read, and `{}` is no file or device",
                path.target
            ))
            .hint("name a device, or a large file on that file system"));
        }
    };
    opened.map_err(|error| failure(&error))
}

fn phase(paths: &[Path], members: &[usize]) -> String {
    match members {
        [one] => paths.get(*one).map(|path| format!("{} alone", path.target)).unwrap_or_default(),
        several => format!("{} at once", several.len()),
    }
}

/// Says what will run, before the first byte is read.
fn announce(chosen: &Chosen, plan: &[Vec<usize>], times: &Times) {
    let (targets, runs) = (chosen.subjects.len(), chosen.subjects.len() + plan.len());
    let loaded = times.warm_up + times.each;
    let whole = times.idle + loaded * u32::try_from(runs).unwrap_or(u32::MAX);
    let known: Vec<Option<BytesPerSec>> = chosen.subjects.iter().map(narrowest).collect();
    let often = |target: usize| 1 + plan.iter().filter(|group| group.contains(&target)).count();
    let bytes: Option<f64> = known
        .iter()
        .enumerate()
        .map(|(target, rate)| rate.map(|rate| rate.get() * loaded.as_secs_f64() * often(target) as f64))
        .sum();
    let most = match bytes {
        Some(bytes) => {
            format!("at most {} by the ceilings of their paths", human::bytes(Bytes::new(bytes as u64)))
        }
        None => "as many bytes as they give in that time: not all have a path of known ceiling".to_owned(),
    };
    output::note(&format!(
        "narrows: only reads {targets} targets, in {runs} runs of {} each, about {} in all; {most}",
        human::time(Nanos::from(loaded)),
        human::time(Nanos::from(whole)),
    ));
}

/// The least that a hop allows the application to read, where that is known and no guess.
fn narrowest(subject: &Subject) -> Option<BytesPerSec> {
    let hops = subject.path.hops.iter().zip(&subject.ceilings);
    let rates = hops.filter_map(|(hop, ceilings)| {
        let limit = ceilings.of(Direction::Read).limit().filter(|limit| limit.basis != Basis::Guess)?;
        (hop.traffic.read > 0.0).then(|| limit.rate / hop.traffic.read)
    });
    rates.filter(|rate| rate.get().is_finite()).min_by(|a, b| a.get().total_cmp(&b.get()))
}

/// Hands each run to whom it speaks for: those alone to the targets, the others to their groups.
fn collect(
    session: &Session<'_>,
    mut subjects: Vec<Subject>,
    plan: &[Vec<usize>],
    rounds: Rounds,
) -> (Vec<Subject>, Vec<Group>) {
    let runs = |seen: Seen| {
        let Seen { measurements, activity, .. } = seen;
        let judged = move |one| session.judged(Direction::Read, one, activity.clone());
        measurements.into_iter().map(judged).collect::<Vec<_>>()
    };
    for (subject, seen) in subjects.iter_mut().zip(rounds.alone) {
        subject.runs = runs(seen);
        subject.settle_links();
    }
    let ran = plan.iter().zip(rounds.together);
    let ran = ran.map(|(members, seen)| Group { members: members.clone(), runs: runs(seen) }).collect();
    (subjects, ran)
}
