//! `narrows [WHAT…]`: what limits a storage path, here or in what was pasted, and what do pasted results say?

use std::io::{self, BufReader};
use std::path::PathBuf;

use clap::Args;

use super::door::{self, Asked};
use super::facts::Facts;
use super::fleet::FleetArgs;
use super::output::OutputArgs;
use super::predict::{self, PredictArgs};
use super::results::{self, Seen};
use super::{Failure, NOTHING_FOUND, facts, fleet, output, status, target};
use narrows_machine::Machine;
use narrows_machine::pci::PciAddress;
use narrows_machine::root::Root;
use narrows_model::path::build;
use narrows_report::text::reply::{self, Form};
use narrows_report::{result_csv, text, view, why};
use narrows_runs::saved::Saved;
use narrows_verdict::results::against::Stated;
use narrows_verdict::results::sweep::Sweep;
use narrows_verdict::{self as verdict, Subject, Verdict};

/// What `narrows` is asked without a command.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct AnswerArgs {
    /// A device, mount, directory, interface or PCI address; or a file or - with a paste, result, record, or JSON of narrows
    #[arg(value_name = "WHAT")]
    pub what: Vec<String>,

    /// Show the path to each WHAT, whatever is in it
    #[arg(long)]
    pub path: bool,

    /// A GPU (GPU0 or its address): where it meets the devices of WHAT, how much at most
    #[arg(long, value_name = "GPU", conflicts_with_all = ["why", "to_path", "fleet"])]
    pub to: Option<String>,

    /// Say where the numbers of a hop come from: its id, or a kind such as link
    #[arg(long, value_name = "HOP", conflicts_with_all = ["json", "html"])]
    pub why: Option<String>,

    /// Write a short answer to post where somebody asked: in Markdown, with --plain for a mail
    #[arg(long, requires = "what", conflicts_with_all = ["json", "html", "why"])]
    pub reply: bool,

    /// Put pasted results against the devices and files here that they name
    #[arg(long, requires = "what")]
    pub machine: bool,

    /// What a part of the path of a pasted result carries: EDR=96GB/s
    #[arg(long, value_name = "NAME=RATE", value_parser = results::stated, requires = "what")]
    pub ceiling: Vec<Stated>,

    /// Print a line for each pasted measurement, or each host and finding
    #[arg(long, requires = "what", conflicts_with_all = ["json", "plain", "html", "reply"])]
    pub csv: bool,

    /// Write the machine as a description for `narrows predict` (-: standard output)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "why", "fleet"])]
    pub to_path: Option<PathBuf>,

    /// Show every finding on pasted results with all evidence, and their commands
    #[arg(long)]
    pub verbose: bool,

    /// Many captures, each of its own machine.
    #[command(flatten)]
    pub fleet: FleetArgs,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

impl AnswerArgs {
    /// How an answer to post is written.
    const fn form(&self) -> Form {
        if self.output.shown.plain { Form::Mail } else { Form::Markdown }
    }

    /// The option that makes no sense without something that was pasted.
    fn of_input(&self) -> Option<&'static str> {
        let has_ceiling = !self.ceiling.is_empty();
        let options = [
            ("--reply", self.reply),
            ("--csv", self.csv),
            ("--machine", self.machine),
            ("--ceiling", has_ceiling),
        ];
        options.iter().find(|(_, is_given)| *is_given).map(|(option, _)| *option)
    }
}

/// Tells what was asked, and answers it.
///
/// # Errors
/// [`Failure`] when the target does not exist, cannot be measured as asked, or what was given cannot be read.
pub(super) fn run(args: &AnswerArgs) -> Result<u8, Failure> {
    if args.fleet.fleet {
        let captures: Vec<PathBuf> = args.what.iter().map(PathBuf::from).collect();
        return fleet::run(args, &captures);
    }
    if args.path {
        return one(args, &[], &args.what);
    }
    match door::sort(&args.what) {
        Asked::Fleet(captures) => fleet::run(args, &captures),
        Asked::Saved(files) => show(args, &door::saved(&files)?),
        Asked::One { files, targets } => one(args, &files, &targets),
    }
}

/// Shows reports that were saved; nothing is computed anew.
fn show(args: &AnswerArgs, saved: &[(Saved, String)]) -> Result<u8, Failure> {
    if args.output.json {
        for (_, text) in saved {
            output::saved_json(text)?;
        }
    } else {
        let all = |audience| saved.iter().map(|(report, _)| report.document(audience)).collect();
        output::documents(&args.output.shown, all)?;
    }
    Ok(NOTHING_FOUND)
}

/// Reads the machine and the results, finds the paths, puts a ceiling on every hop, judges, and shows.
fn one(args: &AnswerArgs, files: &[PathBuf], typed: &[String]) -> Result<u8, Failure> {
    let mut stdin = BufReader::new(io::stdin().lock());
    if files == [PathBuf::from("-")]
        && typed.is_empty()
        && let Some(report) = door::report_of_stdin(&mut stdin)?
    {
        return show(args, &[report]);
    }
    let seen = if args.reply { Seen::to_quote() } else { Seen::default() };
    let facts = facts::open_with(files, stdin, seen)?;
    if !files.is_empty() && facts.has_nothing() {
        return described_or_place(args, files, typed, &facts);
    }
    if let Some(what) = args.of_input().filter(|_| files.is_empty()) {
        return Err(Failure::new(format!("{what} is for what was pasted"))
            .hint("name the files, or - for standard input"));
    }
    if facts.seen.results.is_empty() && (args.csv || args.machine || !args.ceiling.is_empty()) {
        return Err(Failure::new("there is no result of a benchmark in what was given")
            .hint("docs/readers.md lists the tools whose results are read"));
    }
    facts.notes.iter().for_each(|note| output::note(note));
    let is_only_results = !files.is_empty() && !facts.has_machine;
    let is_here = args.machine || is_only_results && !typed.is_empty();
    let facts = if is_here { here(files, facts)? } else { facts };
    let unseen = facts::unseen(&facts.root, &facts.machine);
    unseen.iter().for_each(output::failure);
    let Facts { root, machine, mut seen, .. } = facts;
    let to = args.to.as_deref().map(|typed| target::gpu(&machine, typed)).transpose()?;
    let paths = match typed {
        [] if is_only_results => Vec::new(),
        [] => build::all(&machine),
        typed => typed.iter().map(|typed| target::path(&root, &machine, typed)).collect::<Result<_, _>>()?,
    };
    if let Some(file) = &args.to_path {
        let (system, notes) = narrows_model::predict::describe(&machine, &paths);
        notes.iter().for_each(|note| output::note(&format!("narrows: {note}")));
        return predict::write_description(file, &system.to_toml(&notes)).map(|()| NOTHING_FOUND);
    }
    let (results, sweeps) = seen.judge((&root, &machine), &paths, (args, is_here))?;
    // What pasted results are put against is no answer of its own.
    let paths = if is_here { Vec::new() } else { paths };
    let subjects: Vec<Subject> = paths.into_iter().map(Subject::of).collect();
    let (mut report, has_findings) = judged(&machine, &subjects, (results, sweeps), to);
    name_inputs(&mut report, files, &root);
    match &seen.pasted {
        Some(pasted) => output::data(&reply::render(&report, pasted, args.form()))?,
        None => print(args, &report)?,
    }
    // A part of the path is no answer to what limits it.
    Ok(status(unseen.is_empty(), has_findings))
}

/// Judges paths and results, and says whether there are findings.
pub(super) fn judged(
    machine: &Machine,
    subjects: &[Subject],
    (results, sweeps): (Vec<view::JudgedResult>, Vec<Sweep>),
    to: Option<PciAddress>,
) -> (view::CheckReport, bool) {
    let mut verdict = verdict::judge(machine, subjects);
    let has_findings = verdict.has_faults_or_limits() || view::has_findings(&results, &sweeps);
    verdict.add_results(results.iter().map(|one| one.verdict.clone()).collect());
    if subjects.len() == 1 {
        verdict.foretell(machine, subjects);
    }
    let mut report = view::build(machine, subjects, &verdict);
    (report.results, report.sweeps) = (results, sweeps);
    for (view, subject) in report.paths.iter_mut().zip(subjects) {
        view.peers = view::peers(machine, &subject.path, to);
    }
    (report, has_findings)
}

/// Answers for files in which neither a machine nor a result was recognised: descriptions of systems, or places of this machine.
fn described_or_place(
    args: &AnswerArgs,
    files: &[PathBuf],
    typed: &[String],
    facts: &Facts,
) -> Result<u8, Failure> {
    if let Some(pasted) = facts.seen.pasted.as_ref().filter(|pasted| pasted.has_words()) {
        facts.limits().for_each(|note| output::note(&note));
        return output::data(&reply::ask(pasted, args.form())).map(|()| NOTHING_FOUND);
    }
    if let Some(what) = args.of_input() {
        return Err(facts::nothing(files).hint(format!("{what} is for what was pasted")));
    }
    if let Some(files) = facts::described(files) {
        return predict::run(&PredictArgs { files, output: args.output.clone(), ..PredictArgs::default() });
    }
    facts.limits().for_each(|note| output::note(&note));
    one(args, &[], &facts::places(files, typed)?)
}

/// Results put on this machine.
///
/// # Errors
/// [`Failure`] when they have a machine already.
fn here(files: &[PathBuf], facts: Facts) -> Result<Facts, Failure> {
    if facts.has_machine && !files.is_empty() {
        return Err(Failure::new("the files tell of a machine already").hint("leave out --machine"));
    }
    let live = facts::open(&[], io::empty())?;
    Ok(Facts { root: live.root, machine: live.machine, ..facts })
}

/// Says in a report what it is from: it answers as a machine does, and readers must see that it is another one.
fn name_inputs(report: &mut view::CheckReport, files: &[PathBuf], root: &Root) {
    report.machine.from = files.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    if root.is_live() || !report.machine.inputs.is_empty() {
        return;
    }
    let of_results = of_results(&report.results);
    report.machine.inputs = match of_results.is_empty() {
        false if report.paths.is_empty() => of_results,
        _ => {
            let kinds = || vec!["narrows snapshot".to_owned()];
            let names = report.machine.from.iter().cloned();
            names.map(|name| view::InputView { name, kinds: kinds() }).collect()
        }
    };
}

/// Prints a report in the form that was asked for.
fn print(args: &AnswerArgs, report: &view::CheckReport) -> Result<(), Failure> {
    if args.csv {
        return output::data(&result_csv::render(&report.results));
    }
    if let Some(hop) = args.why.as_ref().filter(|_| !args.output.json) {
        let explained = why::explain(report, hop, &args.output.shown.style());
        return output::data(&explained.map_err(|unknown| Failure::with_own_hint(&unknown.to_string()))?);
    }
    let mut shown = args.output.clone();
    shown.shown.verbose = args.verbose;
    output::report(report, &shown, text::document)
}

/// The texts of results.
fn of_results(results: &[view::JudgedResult]) -> Vec<view::InputView> {
    let mut all: Vec<view::InputView> = Vec::new();
    for view::JudgedResult { result, .. } in results {
        let kind = result.tool.name().to_owned();
        match all.iter_mut().find(|one| one.name == result.file) {
            Some(one) if one.kinds.contains(&kind) => {}
            Some(one) => one.kinds.push(kind),
            None => all.push(view::InputView { name: result.file.clone(), kinds: vec![kind] }),
        }
    }
    all
}

/// Judges every path of a machine without a measurement.
pub(super) fn judge(machine: &Machine) -> (Vec<Subject>, Verdict) {
    let subjects: Vec<Subject> = build::all(machine).into_iter().map(Subject::of).collect();
    let verdict = verdict::judge(machine, &subjects);
    (subjects, verdict)
}
