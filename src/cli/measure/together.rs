//! `narrows measure A B`: what several targets give alone and at the same time.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{How, MeasureArgs};
use crate::cli::signals::end_on_signals;
use crate::cli::values::Choices;
use crate::cli::{FINDINGS, Failure, NOTHING_FOUND, output, target};
use narrows_load::target::Target as LoadTarget;
use narrows_machine::Machine;
use narrows_machine::root::Root;
use narrows_machine::unfit::{self, Unfit};
use narrows_model::path::Path;
use narrows_report::view;
use narrows_runs::progress::Progress;
use narrows_runs::together::{LeftOut, SCHEMA, TogetherReport, document, targets as targets_of};
use narrows_session::measure::{Command, Kernel, Processors, Session, Several};
use narrows_session::place::{Place, Use};
use narrows_session::scene;
use narrows_session::together::{Chosen, LOAD, Plan, drives};
use narrows_session::{Moving, Teller};
use narrows_verdict::together::groups;

/// Reads each target alone and then at once those that share a hop, and says what limits them together.
///
/// # Errors
/// [`Failure`] when a target does not exist or cannot be read, or fewer than two are left.
pub(super) fn run(args: &MeasureArgs) -> Result<u8, Failure> {
    let root = Root::live();
    let sleepers = unfit::sleepers(&root);
    let machine = narrows_answer::read(&root);
    let Chosen { subjects, left_out } = choose(&root, (&machine, &sleepers), args)?;
    let paths: Vec<Path> = subjects.iter().map(|subject| subject.path.clone()).collect();
    let targets = paths.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let groups = groups(&paths);
    let plan = if args.how == How::Full { Plan::full(args.duration) } else { Plan::quick(args.duration) };
    plan.announcement(&subjects, &groups).iter().for_each(|line| output::note(line));
    let progress = Progress::on_stderr();
    let drives = paths.iter().flat_map(scene::drives).collect();
    let on = (Processors::of_all(&machine, &paths), drives);
    progress.phase("watching the idle machine", plan.idle);
    let session = Session::begin(Command::Check, (&root, Kernel), on, end_on_signals()?, plan.idle);
    let asked = session.asked(&LOAD, &plan.timing);
    let ahead = |members: &[usize]| progress.phase(&phase(&paths, members), plan.timing.longest());
    let follower = Moving { teller: &progress, before: Duration::ZERO };
    let several =
        Several { session: &session, asked: &asked, targets: &targets, follower: &follower, ahead: &ahead };
    let came = several.measure(&machine, subjects, &groups)?;
    drop(progress);
    let left = |(target, reason): (String, String)| LeftOut { target, reason };
    let report = TogetherReport {
        schema: SCHEMA.to_owned(),
        tool: view::tool(),
        machine: view::machine_view(&machine),
        workload: asked.workload,
        targets: targets_of(&came.subjects, &came.conclusion),
        groups: came.verdicts.clone(),
        drift: came.drift,
        hidden: came.hidden,
        foretold: came.conclusion.foretold.clone(),
        findings: came.conclusion.findings.clone(),
        left_out: left_out.into_iter().map(left).collect(),
        complete: came.cut_short.is_none(),
        reason: came.cut_short.clone(),
    };
    output::report(&report, &args.shown(), document)?;
    if let Some(why) = came.cut_short {
        return Err(Failure::new(format!("{why}; the report holds what was measured until then")));
    }
    Ok(if came.conclusion.has_findings(&came.verdicts) { FINDINGS } else { NOTHING_FOUND })
}

/// Finds what was typed, and leaves out what had better not be read.
fn choose(
    root: &Root,
    (machine, sleepers): (&Machine, &BTreeMap<String, Unfit>),
    args: &MeasureArgs,
) -> Result<Chosen, Failure> {
    let mut chosen = Chosen::default();
    let all = match &args.all {
        Some(choices) => chosen_drives(machine, choices)?,
        None => Vec::new(),
    };
    for typed in args.what.iter().chain(&all) {
        let path = target::path(root, machine, typed)?;
        target::awake(root, machine, &path.asked)?;
        if chosen.has(&path) {
            return Err(Failure::new(format!("`{typed}` is named twice"))
                .hint("name each target once: two runs on one of them would share all of it"));
        }
        if let Some((left, why)) = chosen.add(root, (machine, sleepers), path) {
            output::note(&format!("narrows: {left} is left out: {why}"));
        }
    }
    if chosen.subjects.len() < 2 {
        return Err(Failure::new("fewer than two targets are left to run together")
            .hint("name more targets, or measure the one that is left by itself"));
    }
    Ok(chosen)
}

/// The drives of a machine of which all choices hold, as somebody would name them. Says which ones these leave out.
fn chosen_drives(machine: &Machine, choices: &Choices) -> Result<Vec<String>, Failure> {
    for choice in choices {
        if let Some(there) = choice.unknown(machine) {
            return Err(Failure::new(format!("nothing of this machine is `{choice}`")).hint(there));
        }
    }
    let (chosen, others) = drives(machine, choices);
    for (why, names) in others {
        let are = if names.len() == 1 { "is" } else { "are" };
        output::note(&format!("narrows: {} {are} left out: {why}", names.join(", ")));
    }
    Ok(chosen)
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
