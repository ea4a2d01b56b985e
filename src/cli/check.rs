//! `narrows check`: what limits a storage path?

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::facts::Facts;
use super::fleet::FleetArgs;
use super::import::Seen;
use super::output::OutputArgs;
use super::signals::end_on_signals;
use super::values::{Choices, EVERY, choices, duration};
use super::{FAILED, FINDINGS, Failure, NOTHING_FOUND, facts, fleet, output, target, together};
use narrows_load::error::LoadError;
use narrows_machine::Machine;
use narrows_machine::root::Root;
use narrows_model::path::build;
use narrows_report::progress::Progress;
use narrows_report::{text, view, why};
use narrows_session::Teller;
use narrows_session::check::{CutShort, Plan};
use narrows_session::measure::{Command, Kernel, Processors, Session};
use narrows_session::place::{Place, Use};
use narrows_session::scene;
use narrows_verdict::{self as verdict, Subject, Verdict};

/// What `check` is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct CheckArgs {
    /// A device, partition, mount point, directory, file, PCI address or network interface
    ///
    /// Examples: /dev/nvme0n1, /home, ./file, 0000:02:00.0, eth0. Write ./check or ./snapshot for files of that name.
    pub target: Option<String>,

    /// More targets, with --measure: each is read alone, and then together those that share a hop
    #[arg(value_name = "TARGET", requires = "measure",
        conflicts_with_all = ["why", "to_path", "fleet", "scratch"])]
    pub others: Vec<String>,

    /// With --measure and in place of targets: every drive of this machine, alone and together, or those that are named
    ///
    /// WHICH is a kind (nvme, sata, sas, usb, virtio, ssd, hdd), a NUMA node (node0), or a PCIe switch that they are behind, by
    /// the address of one of its ports or the name of its slot (switch:0000:02:00.0, switch:SLOT). With several, all have to hold:
    /// --all=nvme,node0.
    #[arg(long, hide_short_help = true, value_name = "WHICH", num_args = 0..=1, require_equals = true,
        default_missing_value = EVERY, hide_possible_values = true, value_parser = choices, requires = "measure",
        conflicts_with_all = ["target", "why", "to_path", "fleet", "scratch"])]
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
        conflicts_with = "from"
    )]
    pub measure: Option<Measure>,

    /// A GPU: where it meets the devices of TARGET, whether data may go directly, and how much at most
    ///
    /// GPU is a PCI address, or GPU0, GPU1… as nvidia-smi numbers them. `narrows GPU0` shows the same for all drives and network cards.
    #[arg(long, hide_short_help = true, value_name = "GPU", conflicts_with_all = ["why", "to_path", "fleet", "others", "all"])]
    pub to: Option<String>,

    /// Say where the numbers of a hop come from: its id, the beginning of its id, or a kind such as link
    #[arg(long, value_name = "HOP", conflicts_with_all = ["json", "html"])]
    pub why: Option<String>,

    /// Write a short answer in Markdown to post where somebody asked: the sentence, the evidence, and the one command to ask for next
    #[arg(long, requires = "from", conflicts_with_all = ["json", "plain", "html", "why"])]
    pub reply: bool,

    /// Look at another machine: a record of `narrows snapshot`, or pasted outputs (lspci, dmesg, lsblk…); - is standard input
    ///
    /// Each PATH is a file, a directory or a tar archive, compressed (gz, xz, zst, bz2) or not. What is in it is told by
    /// the content, not by the name: outputs of lspci, dmesg, dmidecode, lsblk, mdadm, nvme, smartctl, zpool, nvidia-smi
    /// and others, listings of /dev/disk/by-path, alone or mixed, quoted or not, and directories sys and proc as a support
    /// bundle has them (a text that is none of these is answered with the whole list). All that is given is one machine.
    /// Put TARGET first: `narrows /dev/sda --from lspci.txt dmesg.txt`.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub from: Vec<PathBuf>,

    /// Write the machine as a description that `narrows predict` reads (*.path.toml); FILE must not be there yet, - is standard output
    #[arg(long, hide_short_help = true, value_name = "FILE", conflicts_with_all = ["measure", "json", "why", "fleet"])]
    pub to_path: Option<PathBuf>,

    /// Many captures, each of its own machine.
    #[command(flatten)]
    pub fleet: FleetArgs,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,

    /// The directory for the scratch file [default: TARGET, or the directory that it is in]
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

impl CheckArgs {
    /// Takes the last of several words behind `--from` for the target, when no other is there and it names no file or
    /// directory of this machine: `--from machine.tar.zst /dev/nvme0n1`.
    pub(super) fn settled(mut self) -> Self {
        let is_input = |path: &PathBuf| path.as_os_str() == "-" || path.is_dir() || path.is_file();
        let is_target = self.target.is_none() && self.from.len() > 1 && !self.fleet.fleet;
        if is_target && self.from.last().is_some_and(|last| !is_input(last) && last.to_str().is_some()) {
            self.target = self.from.pop().map(|last| last.to_string_lossy().into_owned());
        }
        self
    }
}

/// Reads the machine, finds the paths, puts a ceiling on every hop, measures if asked, judges, and shows.
///
/// # Errors
/// [`Failure`] when the target does not exist, or cannot be measured as asked.
pub(super) fn run(args: &CheckArgs) -> Result<u8, Failure> {
    if args.measure.is_some() && args.target.is_none() && args.all.is_none() {
        return Err(Failure::new("--measure needs a target")
            .hint("name a device, mount or directory, such as the current one: `narrows . --measure`"));
    }
    if args.fleet.fleet {
        return fleet::run(args);
    }
    if let Some(extent) = args.measure.filter(|_| args.all.is_some() || !args.others.is_empty()) {
        return together::run(args, extent);
    }
    let facts = facts::open(&args.from)?;
    facts.notes.iter().for_each(|note| output::note(note));
    let unseen = facts::unseen(&facts);
    unseen.iter().for_each(output::failure);
    let Facts { root, machine, mut seen, .. } = facts;
    let to = args.to.as_deref().map(|typed| target::gpu(&machine, typed)).transpose()?;
    let paths = match &args.target {
        None => build::all(&machine),
        Some(typed) => vec![target::path(&root, &machine, typed)?],
    };
    if let Some(file) = &args.to_path {
        let (system, notes) = narrows_model::predict::describe(&machine, &paths);
        notes.iter().for_each(|note| output::note(&format!("narrows: {note}")));
        return super::predict::write_description(file, &system.to_toml(&notes)).map(|()| NOTHING_FOUND);
    }
    let mut subjects: Vec<Subject> = paths.into_iter().map(Subject::of).collect();
    let cut_short = match (args.measure, &mut subjects[..]) {
        (Some(extent), [subject]) => measure(args, extent, (&root, &machine), subject)?,
        _ => None,
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
    report.machine.from = args.from.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    if !root.is_live() && report.machine.inputs.is_empty() {
        report.machine.inputs = match of_results(&seen) {
            results if subjects.is_empty() && !results.is_empty() => results,
            // It answers as a machine does: readers must see that it is another one.
            _ => {
                let kinds = || vec!["narrows snapshot".to_owned()];
                let names = report.machine.from.iter().cloned();
                names.map(|name| view::InputView { name, kinds: kinds() }).collect()
            }
        };
    }
    if args.reply {
        output::data(&text::reply::render(&report))?;
    } else if let Some(hop) = args.why.as_ref().filter(|_| !args.output.json) {
        let explained = why::explain(&report, hop, &args.output.shown.style());
        output::data(&explained.map_err(|unknown| Failure::with_own_hint(&unknown.to_string()))?)?;
    } else {
        output::report(&report, &args.output, text::document)?;
    }
    if let Some(why) = cut_short {
        return Err(why);
    }
    // A part of the path is no answer to what limits it.
    Ok(match verdict.has_faults_or_limits() {
        _ if !unseen.is_empty() => FAILED,
        true => FINDINGS,
        false => NOTHING_FOUND,
    })
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
    args: &CheckArgs,
    extent: Measure,
    (root, machine): (&Root, &Machine),
    subject: &mut Subject,
) -> Result<Option<Failure>, Failure> {
    target::awake(root, machine, &subject.path.asked)?;
    if let Some(typed) = args.target.as_deref().filter(|typed| !std::path::Path::new(typed).is_file()) {
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
