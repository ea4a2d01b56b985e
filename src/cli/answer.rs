//! `narrows [WHAT…]`: what limits a storage path, here or in what was pasted, and what do pasted results say?

use std::io::{self, BufReader};
use std::path::PathBuf;

use clap::Args;

use super::door::{self, Asked};
use super::fleet::FleetArgs;
use super::output::OutputArgs;
use super::predict::{self, PredictArgs};
use super::require::RequireArgs;
use super::values::stated;
use super::{Failure, NOTHING_FOUND, facts, fleet, output, status, target};
use narrows_answer::{Answered, Facts, Question, Seen};
use narrows_report::require::Known;
use narrows_report::text::reply::{self, Form};
use narrows_report::{result_csv, text, view, why};
use narrows_runs::saved::Saved;
use narrows_verdict::results::against::Stated;

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
    #[arg(long, value_name = "NAME=RATE", value_parser = stated, requires = "what")]
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

    /// Rules by which it passes.
    #[command(flatten)]
    pub rules: RequireArgs,

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
    match saved {
        [(Saved::Check(report), _)] => Ok(args.rules.status(NOTHING_FOUND, || Known::of(report))),
        [(Saved::Measure(report), _)] => Ok(args.rules.status(NOTHING_FOUND, || report.known())),
        _ => args.rules.refuse("such a report").map(|()| NOTHING_FOUND),
    }
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
    let facts = facts::open(files, stdin, seen)?;
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
    facts.notes.iter().for_each(output::remark);
    let is_only_results = !files.is_empty() && facts.is_only_results();
    let is_here = args.machine || is_only_results && !typed.is_empty();
    let facts = if is_here { here(files, facts)? } else { facts };
    let unseen = facts::unseen(&facts.root, &facts.machine);
    unseen.iter().for_each(output::failure);
    let to = args.to.as_deref().map(|typed| target::gpu(&facts.machine, typed)).transpose()?;
    let path = |typed: &String| target::path(&facts.root, &facts.machine, typed);
    let paths = match typed {
        [] => facts.paths(),
        typed => typed.iter().map(path).collect::<Result<_, _>>()?,
    };
    if let Some(file) = &args.to_path {
        args.rules.refuse("a description")?;
        let (system, notes) = narrows_model::predict::describe(&facts.machine, &paths);
        notes.iter().for_each(output::remark);
        return predict::write_description(file, &system.to_toml(&notes)).map(|()| NOTHING_FOUND);
    }
    let from: Vec<String> = files.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let stated = args.ceiling.as_slice();
    let Answered { report, has_findings, notes } =
        facts.answer(Question { paths, stated, is_here, to, from: &from });
    notes.iter().for_each(output::remark);
    match &facts.seen.pasted {
        Some(pasted) => output::data(&reply::render(&report, pasted, args.form()))?,
        None => print(args, &report)?,
    }
    // A part of the path is no answer to what limits it.
    Ok(args.rules.status(status(unseen.is_empty(), has_findings), || Known::of(&report)))
}

/// Answers for files in which neither a machine nor a result was recognised: descriptions of systems, or places of this machine.
fn described_or_place(
    args: &AnswerArgs,
    files: &[PathBuf],
    typed: &[String],
    facts: &Facts,
) -> Result<u8, Failure> {
    if let Some(pasted) = facts.seen.pasted.as_ref().filter(|pasted| pasted.has_words()) {
        args.rules.refuse("a text in which nothing is recognised")?;
        facts.limits().for_each(|note| output::remark(&note));
        return output::data(&reply::ask(pasted, args.form())).map(|()| NOTHING_FOUND);
    }
    if let Some(what) = args.of_input() {
        return Err(facts::nothing(files).hint(format!("{what} is for what was pasted")));
    }
    if let Some(files) = facts::described(files) {
        args.rules.refuse("a description")?;
        return predict::run(&PredictArgs { files, output: args.output.clone(), ..PredictArgs::default() });
    }
    if let Some(unread) = facts::unread(files, facts) {
        return Err(unread);
    }
    facts.limits().for_each(|note| output::remark(&note));
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
    let live = facts::open(&[], io::empty(), Seen::default())?;
    Ok(Facts { root: live.root, machine: live.machine, ..facts })
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
