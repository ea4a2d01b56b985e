//! `narrows A B --measure`: what several targets give alone and at the same time.

use std::collections::BTreeMap;
use std::time::Duration;

use super::args::{CheckArgs, Measure};
use super::bar::Bar;
use super::check::check_node;
use super::signals::stop_on_signals;
use super::values::Choices;
use super::{FAILED, FINDINGS, Failure, NOTHING_FOUND, facts, output, target};
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_load::measurement::{Pattern, RateLimit, Workload};
use narrows_load::target::Target as LoadTarget;
use narrows_machine::Machine;
use narrows_machine::block::BlockKind;
use narrows_machine::root::Root;
use narrows_machine::unfit::{self, Unfit};
use narrows_model::ceiling::{Basis, Direction};
use narrows_model::path::{Path, Target, build};
use narrows_report::together::{About, document, report};
use narrows_session::measure::{
    Asked, Command, Kernel, More, Processors, Session, Timing, alone_and_together, collect,
};
use narrows_session::place::{Place, Use};
use narrows_session::scene;
use narrows_session::teller::Moving;
use narrows_verdict::Subject;
use narrows_verdict::together::{conclude, groups, judge_groups};

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

/// What is read at once, and how many such reads are in flight: 8 MiB, in blocks of which a drive of 2 MB/s reads enough in three
/// seconds for its rate to be known.
const BLOCK: Bytes = Bytes::from_kib(256);
const DEPTH: u32 = 32;

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
    announce(&chosen, &plan, &times, args);
    let progress = Bar::on_stderr();
    let drives = paths.iter().flat_map(scene::drives).collect();
    let on = (Processors::of_all(&machine, &paths, args.cpu_node), drives);
    progress.phase("watching the idle machine", times.idle);
    let session = Session::begin(Command::Check, (&root, Kernel), on, stop_on_signals()?, times.idle);
    let timing = Timing::exactly(times.each, times.warm_up);
    let mut workload = Workload::read(Pattern::Sequential, BLOCK, DEPTH, times.each.into());
    workload.rate_limit = args.rate.map(|rate| RateLimit { bytes_per_second: rate * 1_000_000 });
    let options = session.options(1, &timing);
    let asked = Asked { workload: workload.clone(), options, timing, budget: None, is_short: false };
    let ahead = |members: &[usize]| progress.phase(&phase(&paths, members), timing.longest());
    let bar = Moving { teller: &progress, before: Duration::ZERO };
    let rounds = alone_and_together(&session, &asked, (&opened, &plan), &bar, &ahead);
    let rounds = rounds?;
    let reason = rounds.cut_short.clone();
    let (subjects, ran) = collect(&session, chosen.subjects, &plan, rounds);
    let mut verdicts = judge_groups(&machine, &subjects, &ran);
    let more = More { session: &session, asked: &asked, targets: &opened, follower: &bar, ahead: &ahead };
    let drift = match reason {
        Some(_) => None,
        None => more.drift(&subjects, &mut verdicts),
    };
    let hidden = (args.find_shared && reason.is_none()).then(|| more.hidden(&subjects, &ran, &verdicts));
    let conclusion = conclude(&machine, &subjects, &verdicts);
    let about = About { workload, left_out: chosen.left_out, drift, hidden, reason: reason.clone() };
    drop(progress);
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
    let named = args.target.iter().chain(&args.others);
    let all = match &args.all {
        Some(choices) => chosen_drives(machine, choices)?,
        None => Vec::new(),
    };
    for typed in named.chain(&all) {
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
                output::note(&format!("narrows: {} is left out: {why}", path.target));
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

/// The drives of a machine of which all choices hold, as somebody would name them. Says which ones these leave out.
fn chosen_drives(machine: &Machine, Choices(choices): &Choices) -> Result<Vec<String>, Failure> {
    for choice in choices {
        if let Some(there) = choice.unknown(machine) {
            return Err(Failure::new(format!("nothing of this machine is `{choice}`")).hint(there));
        }
    }
    let (mut chosen, mut others) = (Vec::new(), BTreeMap::<String, Vec<String>>::new());
    for (name, typed) in every_drive(machine) {
        match choices.iter().find_map(|choice| choice.objection(machine, &name)) {
            None => chosen.push(typed),
            Some(why) => others.entry(why).or_default().push(typed),
        }
    }
    for (why, names) in others {
        output::note(&format!("narrows: {} left out: {why}", are(&names)));
    }
    Ok(chosen)
}

/// `sda, sdb are`, `sda is`.
fn are(names: &[String]) -> String {
    format!("{} {}", names.join(", "), if names.len() == 1 { "is" } else { "are" })
}

/// The drives of a machine by kernel name, and as somebody would name them. What is in memory, or a file, is none.
fn every_drive(machine: &Machine) -> Vec<(String, String)> {
    let is_own =
        |path: &&Path| matches!(&path.asked, Target::Block(name) if scene::drives(path) == [name.as_str()]);
    let is_drive = |path: &&Path| {
        let device = match &path.asked {
            Target::Block(name) => machine.block.get(name),
            _ => None,
        };
        device.is_some_and(|device| {
            let kind = &device.kind;
            !matches!(kind, BlockKind::Loop(_) | BlockKind::Zram | BlockKind::RamDisk | BlockKind::NullBlk)
        })
    };
    let named = |path: &Path| match &path.asked {
        Target::Block(name) => Some((name.clone(), path.target.clone())),
        _ => None,
    };
    build::all(machine).iter().filter(is_own).filter(is_drive).filter_map(named).collect()
}

/// Opens what is read of a path. Nothing is written, so a directory is none.
fn open(path: &Path) -> Result<LoadTarget, Failure> {
    let place = Place::of(path, Use::Read).map_err(|_| {
        Failure::new(format!("several targets are only read, and `{}` is no file or device", path.target))
            .hint("name a device, or a large file on that file system")
    })?;
    Ok(place.open()?)
}

fn phase(paths: &[Path], members: &[usize]) -> String {
    match members {
        [one] => paths.get(*one).map(|path| format!("{} alone", path.target)).unwrap_or_default(),
        several => format!("{} at once", several.len()),
    }
}

/// Says what will run, before the first byte is read.
fn announce(chosen: &Chosen, plan: &[Vec<usize>], times: &Times, args: &CheckArgs) {
    // The first run is made once more at the end.
    let (targets, runs) = (chosen.subjects.len(), chosen.subjects.len() + plan.len() + 1);
    let loaded = times.warm_up + times.each;
    let whole = times.idle + loaded * u32::try_from(runs).unwrap_or(u32::MAX);
    let cap = args.rate.map(|rate| BytesPerSec::from_mb(rate as f64));
    let known = chosen.subjects.iter().map(|subject| match (narrowest(subject), cap) {
        (Some(one), Some(other)) => Some(if one.get() < other.get() { one } else { other }),
        (one, other) => one.or(other),
    });
    let known: Vec<Option<BytesPerSec>> = known.collect();
    let in_groups = |target: usize| plan.iter().filter(|group| group.contains(&target)).count();
    let often = |target: usize| 1 + in_groups(target) + usize::from(target == 0);
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
    if args.find_shared {
        let each = 3 * (f64::from(u32::try_from(targets).unwrap_or(u32::MAX))).log2().ceil() as usize;
        output::note(&format!(
            "narrows: where they give less together than alone, about {each} more such runs for each group that shares a limit"
        ));
    }
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
