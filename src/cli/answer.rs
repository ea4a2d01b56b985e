//! `narrows [WHAT…]`: what limits a storage path, here or in what was pasted, and what do pasted results say?

use std::io::{self, BufReader};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::door::{self, Asked};
use super::facts::Facts;
use super::fleet::FleetArgs;
use super::output::OutputArgs;
use super::predict::{self, PredictArgs};
use super::results;
use super::signals::end_on_signals;
use super::values::{Choices, EVERY, choices, duration};
use super::{FAILED, FINDINGS, Failure, NOTHING_FOUND, facts, fleet, output, target, together};
use narrows_load::error::LoadError;
use narrows_machine::Machine;
use narrows_machine::root::Root;
use narrows_model::path::build;
use narrows_report::progress::Progress;
use narrows_report::saved::Saved;
use narrows_report::{result_csv, text, view, why};
use narrows_session::Teller;
use narrows_session::check::{CutShort, Plan};
use narrows_session::measure::{Command, Kernel, Processors, Session};
use narrows_session::place::{Place, Use};
use narrows_session::scene;
use narrows_verdict::results::against::Stated;
use narrows_verdict::{self as verdict, Subject, Verdict};

/// What `narrows` is asked without a command.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct AnswerArgs {
    /// A device, mount, directory, interface or PCI address; or a file or - that holds a paste, a result, a record, or narrows' own JSON
    ///
    /// What is in a file is told by its content, not by its name: outputs of lspci, dmesg, lsblk, fio, dd, KDiskMark and many
    /// others, alone or mixed, quoted or not; records of `narrows snapshot`; directories and archives of these, compressed or not;
    /// reports of narrows (JSON); descriptions (*.path.toml). docs/readers.md has the list. All that is given is one machine; of
    /// several records, or a directory of captures, each is one, and they are compared. Of any other file the path to it is shown.
    /// A device beside files is one of their machine; where they hold only results, one of this machine, whose path they went.
    #[arg(value_name = "WHAT")]
    pub what: Vec<String>,

    /// Show the path to each WHAT, whatever is in it
    #[arg(long)]
    pub path: bool,

    /// With --measure and in place of targets: every drive of this machine, alone and together, or those that are named
    ///
    /// WHICH is a kind (nvme, sata, sas, usb, virtio, ssd, hdd), a NUMA node (node0), or a PCIe switch that they are behind, by
    /// the address of one of its ports or the name of its slot (switch:0000:02:00.0, switch:SLOT). With several, all have to hold:
    /// --all=nvme,node0.
    #[arg(long, hide_short_help = true, value_name = "WHICH", num_args = 0..=1, require_equals = true,
        default_missing_value = EVERY, hide_possible_values = true, value_parser = choices, requires = "measure",
        conflicts_with_all = ["what", "why", "to_path", "fleet", "scratch"])]
    pub(super) all: Option<Choices>,

    /// Measure the path, and the link state under load: reads from a device, or reads and writes of a scratch file
    ///
    /// quick takes 10 s at most, full runs until the rate is steady (about a minute). A device is only ever read. For
    /// a file system a scratch file is made and removed again, however the run ends. Ctrl-C ends the run early: what
    /// was measured until then is shown, and the exit status is 2.
    #[arg(
        long,
        value_name = "HOW",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "quick",
        conflicts_with_all = ["machine", "ceiling", "csv", "reply"]
    )]
    pub measure: Option<Measure>,

    /// A GPU: where it meets the devices of WHAT, whether data may go directly, and how much at most
    ///
    /// GPU is a PCI address, or GPU0, GPU1… as nvidia-smi numbers them. `narrows GPU0` shows the same for all drives and network cards.
    #[arg(long, hide_short_help = true, value_name = "GPU", conflicts_with_all = ["why", "to_path", "fleet", "all"])]
    pub to: Option<String>,

    /// Say where the numbers of a hop come from: its id, the beginning of its id, or a kind such as link
    #[arg(long, value_name = "HOP", conflicts_with_all = ["json", "html"])]
    pub why: Option<String>,

    /// Write a short answer in Markdown to post where somebody asked: the sentence, the evidence, and the one command to ask for next
    #[arg(long, requires = "what", conflicts_with_all = ["json", "plain", "html", "why"])]
    pub reply: bool,

    /// Put pasted results against the paths of this machine: those of the devices and files that they name
    ///
    /// A result above what a hop of its path carries is not trusted (above_ceiling); one near the narrowest hop is
    /// limited by it; of one far below it is said what else limits it.
    #[arg(long, hide_short_help = true, requires = "what")]
    pub machine: bool,

    /// What a part of the path of a pasted result carries, where it cannot be looked at: EDR=96GB/s; may be given several times
    #[arg(long, hide_short_help = true, value_name = "NAME=RATE", value_parser = results::stated, requires = "what")]
    pub ceiling: Vec<Stated>,

    /// Print a line for each direction of each pasted measurement, or each host and finding of many captures; a cell is never a formula
    #[arg(long, hide_short_help = true, requires = "what", conflicts_with_all = ["json", "plain", "html", "reply"])]
    pub csv: bool,

    /// Write the machine as a description that `narrows predict` reads (*.path.toml); FILE must not be there yet, - is standard output
    #[arg(long, hide_short_help = true, value_name = "FILE", conflicts_with_all = ["measure", "json", "why", "fleet"])]
    pub to_path: Option<PathBuf>,

    /// Many captures, each of its own machine.
    #[command(flatten)]
    pub fleet: FleetArgs,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,

    /// The directory for the scratch file [default: WHAT, or the directory that it is in]
    #[arg(long, hide_short_help = true, value_name = "DIR", requires = "measure")]
    pub scratch: Option<PathBuf>,

    /// The measured time of each run: 4s, 500ms, 2m; a number alone is seconds [default: 2s, full: 10s]
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = duration, requires = "measure")]
    pub duration: Option<Duration>,
}

/// How thoroughly to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Measure {
    /// At most 10 s in all
    Quick,
    /// Until the rate is steady
    Full,
}

impl AnswerArgs {
    /// The option that makes no sense without something that was pasted.
    fn of_input(&self) -> Option<&'static str> {
        match () {
            () if self.reply => Some("--reply"),
            () if self.csv => Some("--csv"),
            () if self.machine => Some("--machine"),
            () if !self.ceiling.is_empty() => Some("--ceiling"),
            () => None,
        }
    }
}

/// Tells what was asked, and answers it.
///
/// # Errors
/// [`Failure`] when the target does not exist, cannot be measured as asked, or what was given cannot be read.
pub(super) fn run(args: &AnswerArgs) -> Result<u8, Failure> {
    if let Some(extent) = args.measure {
        return match args.what.as_slice() {
            [] if args.all.is_none() => Err(Failure::new("--measure needs a target")
                .hint("name a device, mount or directory, such as the current one: `narrows . --measure`")),
            [_] => one(args, &[], &args.what),
            _ => together::run(args, extent),
        };
    }
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

/// Reads the machine and the results, finds the paths, puts a ceiling on every hop, measures if asked, judges, and shows.
fn one(args: &AnswerArgs, files: &[PathBuf], typed: &[String]) -> Result<u8, Failure> {
    let mut stdin = BufReader::new(io::stdin().lock());
    if files == [PathBuf::from("-")]
        && typed.is_empty()
        && let Some(report) = door::report_of_stdin(&mut stdin)?
    {
        return show(args, &[report]);
    }
    let facts = facts::open(files, stdin)?;
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
    let unseen = facts::unseen(&facts);
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
    let mut subjects: Vec<Subject> = paths.into_iter().map(Subject::of).collect();
    let cut_short = match (args.measure, &mut subjects[..]) {
        (Some(extent), [subject]) => measure(args, extent, (&root, &machine), subject)?,
        _ => None,
    };
    let mut verdict = verdict::judge(&machine, &subjects);
    let has_findings = verdict.has_faults_or_limits() || view::has_findings(&results, &sweeps);
    verdict.add_results(results.iter().map(|one| one.verdict.clone()).collect());
    if subjects.len() == 1 {
        verdict.foretell(&machine, &subjects);
    }
    let mut report = view::build(&machine, &subjects, &verdict);
    (report.results, report.sweeps) = (results, sweeps);
    for (view, subject) in report.paths.iter_mut().zip(&subjects) {
        view.peers = view::peers(&machine, &subject.path, to);
    }
    name_inputs(&mut report, files, &root);
    print(args, &report)?;
    if let Some(why) = cut_short {
        return Err(why);
    }
    // A part of the path is no answer to what limits it.
    Ok(match has_findings {
        _ if !unseen.is_empty() => FAILED,
        true => FINDINGS,
        false => NOTHING_FOUND,
    })
}

/// Answers for files in which neither a machine nor a result was recognised: descriptions of systems, or places of this machine.
fn described_or_place(
    args: &AnswerArgs,
    files: &[PathBuf],
    typed: &[String],
    facts: &Facts,
) -> Result<u8, Failure> {
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
    if args.reply {
        return output::data(&text::reply::render(report));
    }
    if args.csv {
        return output::data(&result_csv::render(&report.results));
    }
    if let Some(hop) = args.why.as_ref().filter(|_| !args.output.json) {
        let explained = why::explain(report, hop, &args.output.shown.style());
        return output::data(&explained.map_err(|unknown| Failure::with_own_hint(&unknown.to_string()))?);
    }
    output::report(report, &args.output, text::document)
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

/// Runs load on the path that was asked about and adds the runs to it, the last one marked when it was cut short, and says by
/// what.
///
/// # Errors
/// [`Failure`] when the path has nothing to read from, or it may not be read.
fn measure(
    args: &AnswerArgs,
    extent: Measure,
    (root, machine): (&Root, &Machine),
    subject: &mut Subject,
) -> Result<Option<Failure>, Failure> {
    target::awake(root, machine, &subject.path.asked)?;
    if let Some(typed) = args.what.first().filter(|typed| !std::path::Path::new(typed).is_file()) {
        target::check_way(machine, typed, &subject.path.asked)?;
    }
    let interrupted = || Failure::new("interrupted; the report holds what was measured until then");
    let plan = match extent {
        Measure::Quick => Plan::quick(args.duration),
        Measure::Full => Plan::full(args.duration),
    };
    let (bar, stop) = (Progress::on_stderr(), end_on_signals()?);
    let place = match &args.scratch {
        Some(dir) => Place::Scratch(dir.clone()),
        None => Place::of(&subject.path, Use::ReadOrScratch).map_err(|error| {
            Failure::new(error.to_string()).hint("measure a device, mount or directory behind it")
        })?,
    };
    let writes = match place.scratch() {
        Some(dir) => {
            let writes = plan.writes(&subject.path, root)?;
            plan.fits(dir, &writes)?;
            output::note(&writes.filling(&dir.display().to_string()));
            Some(writes)
        }
        None => None,
    };
    let target = match plan.open(&place, writes.as_ref(), &bar, &stop) {
        Ok(target) => target,
        Err(LoadError::Interrupted) => return Ok(Some(interrupted())),
        Err(error) => return Err(error.into()),
    };
    bar.phase("watching the idle machine", plan.idle);
    let path = &subject.path;
    let on = (Processors::of(machine, path), scene::drives(path));
    let session = Session::begin(Command::Check, (root, Kernel), on, stop, plan.idle);
    let ran = plan.run(&session, &target, &bar, &mut subject.runs);
    subject.settle_links();
    match ran {
        Ok(()) => Ok(None),
        Err(CutShort::Interrupted) => Ok(Some(interrupted())),
        Err(CutShort::Failed(error)) if subject.runs.is_empty() => Err(error.into()),
        Err(CutShort::Failed(error)) => Ok(Some(error.into())),
        Err(CutShort::Run { step, why }) => {
            let path = target.path().display();
            Ok(Some(Failure::new(format!("the {step} of `{path}` was cut short: {why}")).hint(
                "look for the device in the kernel log (`dmesg`); the report holds what was read until then",
            )))
        }
    }
}
