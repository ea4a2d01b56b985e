//! `narrows check`: what limits a storage path?

use super::args::{CheckArgs, Measure};
use super::facts::Facts;
use super::import::Seen;
use super::measure::Completion;
use super::{FAILED, FINDINGS, Failure, NOTHING_FOUND, facts, fleet, measure, output, target, together};
use narrows_machine::Machine;
use narrows_machine::root::Root;
use narrows_model::path::{Path, Target, build};
use narrows_report::text::Style;
use narrows_report::{text, view, why};
use narrows_verdict::{self as verdict, Subject, Verdict};

/// Reads the machine, finds the paths, puts a ceiling on every hop, measures if asked, judges, and shows.
///
/// # Errors
/// [`Failure`] when the target does not exist, or cannot be measured as asked.
pub(super) fn run(args: &CheckArgs) -> Result<u8, Failure> {
    refuse(args)?;
    if args.fleet.fleet {
        return fleet::run(args, style(args));
    }
    if let Some(extent) = args.measure.filter(|_| args.all.is_some() || !args.others.is_empty()) {
        return together::run(args, extent);
    }
    if args.find_shared {
        return Err(Failure::new("--find-shared is for several targets")
            .hint("name more targets, or --all: `narrows sda sdb --measure --find-shared`"));
    }
    let facts = facts::open(&args.from)?;
    facts.notes.iter().for_each(|note| output::note(note));
    let unseen = facts::unseen(&facts);
    unseen.iter().for_each(output::failure);
    let Facts { root, machine, mut seen, .. } = facts;
    let to = args.to.as_deref().map(|typed| target::gpu(&machine, typed)).transpose()?;
    let asked = args.target.as_deref().map(|typed| target::resolve(&root, &machine, typed)).transpose()?;
    let mut subjects: Vec<Subject> = paths(&machine, asked.as_ref())?.into_iter().map(Subject::of).collect();
    if let Some(file) = &args.to_path {
        let paths: Vec<Path> = subjects.into_iter().map(|subject| subject.path).collect();
        let (system, notes) = narrows_model::predict::describe(&machine, &paths);
        notes.iter().for_each(|note| output::note(&format!("narrows: {note}")));
        return super::predict::write_description(file, &system.to_toml(&notes)).map(|()| NOTHING_FOUND);
    }
    let completion = match args.measure {
        None => Completion::Whole,
        Some(extent) => measure(args, extent, &root, &machine, &mut subjects)?,
    };
    let mut verdict = verdict::judge(&machine, &subjects);
    verdict.add_results(seen.judge(&machine));
    if subjects.len() == 1 {
        verdict.foretell(&machine, &subjects);
    }
    let mut report = view::build(&machine, &subjects, &verdict);
    for (view, subject) in report.paths.iter_mut().zip(&subjects) {
        view.peers = view::peers(&machine, &subject.path, to);
    }
    if !root.is_live() && report.machine.inputs.is_empty() {
        report.machine.inputs = match of_results(&seen) {
            results if subjects.is_empty() && !results.is_empty() => results,
            _ => vec![of_record()],
        };
    }
    show(&report, args)?;
    if let Completion::CutShort(why) = completion {
        output::failure(&why);
        return Ok(FAILED);
    }
    // A part of the path is no answer to what limits it.
    Ok(match verdict.has_faults_or_limits() {
        _ if !unseen.is_empty() => FAILED,
        true => FINDINGS,
        false => NOTHING_FOUND,
    })
}

/// Refuses options that need others, or exclude them.
fn refuse(args: &CheckArgs) -> Result<(), Failure> {
    if args.measure.is_some() && args.target.is_none() && args.all.is_none() {
        return Err(Failure::new("--measure needs a target")
            .hint("name a device, mount or directory, such as the current one: `narrows . --measure`"));
    }
    Ok(())
}

/// The texts of results, where no text told of the machine.
fn of_results(seen: &Seen) -> Vec<view::InputView> {
    let mut all: Vec<view::InputView> = Vec::new();
    for result in &seen.results {
        let kind = result.tool.name().to_owned();
        match all.iter_mut().find(|one| one.name == result.file) {
            Some(one) if one.kinds.contains(&kind) => {}
            Some(one) => one.kinds.push(kind),
            None => all.push(view::InputView { name: result.file.clone(), kinds: vec![kind] }),
        }
    }
    all
}

/// What stands for a record, which answers as a machine does: readers must see that it is another one.
fn of_record() -> view::InputView {
    view::InputView { name: "a record".to_owned(), kinds: vec!["narrows snapshot".to_owned()] }
}

fn paths(machine: &Machine, asked: Option<&Target>) -> Result<Vec<Path>, Failure> {
    match asked {
        None => Ok(build::all(machine)),
        Some(target) => build::path(machine, target)
            .map(|path| vec![path])
            .ok_or_else(|| Failure::new("no storage path leads to this target")),
    }
}

/// Judges every path of a machine without a measurement.
pub(super) fn judge(machine: &Machine) -> (Vec<Subject>, Verdict) {
    let subjects: Vec<Subject> = build::all(machine).into_iter().map(Subject::of).collect();
    let verdict = verdict::judge(machine, &subjects);
    (subjects, verdict)
}

/// Measures the one path that was asked about.
fn measure(
    args: &CheckArgs,
    extent: Measure,
    root: &Root,
    machine: &Machine,
    subjects: &mut [Subject],
) -> Result<Completion, Failure> {
    if !root.is_live() {
        return Err(Failure::new("a recorded machine cannot be measured")
            .hint("leave out --measure, or leave out --from to measure this machine"));
    }
    match subjects {
        [subject] => {
            target::awake(root, machine, &subject.path.asked)?;
            if let Some(typed) = args.target.as_deref().filter(|typed| !std::path::Path::new(typed).is_file())
            {
                target::check_way(machine, typed, &subject.path.asked)?;
            }
            let completion = measure::run(extent, root, machine, subject, args);
            subject.settle_links();
            completion
        }
        _ => Err(Failure::new("one path is measured at a time").hint("name one device, mount or directory")),
    }
}

fn show(report: &view::CheckReport, args: &CheckArgs) -> Result<(), Failure> {
    if args.reply {
        return output::data(&text::reply::render(report));
    }
    let Some(hop) = args.why.as_ref().filter(|_| !args.output.json) else {
        return output::report(report, &args.output, text::document);
    };
    let explained = why::explain(report, hop, &style(args));
    output::data(&explained.map_err(|unknown| Failure::with_own_hint(&unknown.to_string()))?)
}

pub(super) fn style(args: &CheckArgs) -> Style {
    args.output.style()
}
