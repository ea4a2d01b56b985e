//! `narrows import`: what did another tool measure, and is it to be believed? Texts are shown to the parsers of results, and to the
//! readers of captures beside them; results are put against the paths of the targets that they name, and ceilings that were stated.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::PathBuf;

use clap::Args;

use super::facts::{self, Facts};
use super::output::OutputArgs;
use super::values::rate;
use super::{FINDINGS, Failure, NOTHING_FOUND, output, target};
use narrows_machine::Machine;
use narrows_machine::root::Root;
use narrows_model::ceiling::{Ceilings, Direction};
use narrows_model::path::{Target, build};
use narrows_paste::capture::{Taken, Text, Viewer, gather_with};
use narrows_paste::results::surroundings::Surroundings;
use narrows_paste::results::{Imported, Long, Page, add, complete, read, understood, unread};
use narrows_report::import::{build as report_of, csv, document};
use narrows_verdict::Subject;
use narrows_verdict::results::against::Stated;
use narrows_verdict::results::sweep::sweeps;
use narrows_verdict::results::{Ground, ResultVerdict, judge_on, judge_results};

/// What `import` is asked.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct ImportArgs {
    /// Texts with results, directories or archives of them; - is standard input
    ///
    /// What is in a file is told by its content: outputs of fio (text, JSON, terse and logs), dd, hdparm, KDiskMark 1 to 3,
    /// CrystalDiskMark 3 to 9, diskspd, IOzone (-R too), IOR (text, JSON, CSV), IO500, elbencho (text, CSV, JSON, live CSV),
    /// bonnie++, Vdbench, YABS, nvbandwidth and cryptsetup benchmark, with any text around them; the files in which GNOME Disks
    /// kept its benchmarks; the summary of rsync, or `time cp` beside `du` of what was copied; and of rados bench, dbench,
    /// bench.sh, nench, iperf3, sysbench fileio, mdtest, pveperf, ioping, f3, t/io_uring, diskspd for Linux, fs_mark, btrfs scrub,
    /// winsat, HD Tune, spdk_nvme_perf, bdevperf, gdsio, pg_test_fsync and AS SSD; `iostat -x` and `zpool iostat` where no result stands beside them. What
    /// stands beside a result is evidence: the command, `free`, `zpool iostat`, `iostat -x`, `/proc/mdstat`, logs of fio, what the
    /// storage is called, and the outputs that `check --from` understands. All that is given is of one machine.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Put the results against the paths of this machine: those of the devices and files that they name, or --target
    ///
    /// A result above what a hop of its path carries is not trusted (above_ceiling); one near the narrowest hop is
    /// limited by it; of one far below it is said what else limits it.
    #[arg(long, conflicts_with = "from")]
    pub machine: bool,

    /// The same with another machine: a record of `narrows snapshot`, or pasted outputs (lspci, lsblk, …)
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub from: Vec<PathBuf>,

    /// The device, mount or file that was measured, for results that do not name one
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,

    /// What a part of the path carries, where it cannot be looked at: EDR=96GB/s; may be given several times
    #[arg(long, value_name = "NAME=RATE", value_parser = stated)]
    pub ceiling: Vec<Stated>,

    /// Print a line for each direction of each measurement, with the unit in the name of each column
    #[arg(long, conflicts_with_all = ["json", "plain", "html"])]
    pub csv: bool,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Reads the results, judges them, and shows both: 0 when all are to be trusted and no path has a finding, 1 when not.
///
/// # Errors
/// [`Failure`] when a file cannot be read, or none holds a result.
pub(super) fn run(args: &ImportArgs) -> Result<u8, Failure> {
    let mut seen = Seen::default();
    let all: Vec<PathBuf> = args.files.iter().chain(&args.from).cloned().collect();
    let gathered =
        gather_with(&all, io::stdin().lock(), &mut seen).map_err(|error| facts::refused(&error))?;
    gathered.notes.iter().for_each(|note| output::note(&format!("narrows: {note}")));
    // Logs without a result beside them become results only when all was seen.
    seen.complete();
    seen.unread.iter().for_each(|line| output::note(&format!("narrows: {line}")));
    if seen.results.is_empty() {
        return Err(Failure::new(format!("there is no result of a benchmark in {}", named(&args.files)))
            .hint(format!("narrows understands {}", understood())));
    }
    let Facts { root, machine, .. } =
        if args.machine { facts::open(&[])? } else { facts::put_together(gathered) };
    let asked = args.machine || !args.from.is_empty();
    let on = paths(&root, &machine, &seen.results, args.target.as_deref(), asked)?;
    let ground = Ground {
        machine: Some(&machine),
        paths: &on.named,
        default: on.default.as_ref(),
        stated: &args.ceiling,
    };
    let verdicts = judge_on(&seen.results, &seen.around, ground);
    let report = report_of(&seen.results, &verdicts, &sweeps(&seen.results, &args.ceiling));
    if args.csv {
        output::data(&csv::render(&report))?;
    } else {
        output::report(&report, &args.output, document)?;
    }
    Ok(if report.has_findings() { FINDINGS } else { NOTHING_FOUND })
}

/// What was given, the first by its name.
fn named(files: &[PathBuf]) -> String {
    let name = |file: &PathBuf| match file.as_os_str() == "-" {
        true => "standard input".to_owned(),
        false => format!("`{}`", file.display()),
    };
    let first = files.first().map(name).unwrap_or_default();
    match files.len() {
        0 | 1 => first,
        more => format!("{first} or {} more", more - 1),
    }
}

/// What the parsers of results found.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The results, in the order in which they were given.
    pub(super) results: Vec<Imported>,
    /// What stands beside them.
    pub(super) around: Surroundings,
    /// Lines that look like results in texts where none could be read.
    pub(super) unread: Vec<String>,
    /// Whether nobody asks for the results: then only texts in which no reader of captures found anything are looked at, to say
    /// whether they are known.
    is_machine_only: bool,
}

impl Viewer for Seen {
    fn see(&mut self, text: &Text, is_known: bool) -> bool {
        if self.is_machine_only && is_known {
            return true;
        }
        let page = Page { name: text.name(), body: text.body() };
        let found = read(&page);
        if found.is_empty() {
            let said = unread(&page, &found).into_iter();
            self.unread.extend(
                said.map(|one| format!("{}: {}, and could not be read", page.name, one.sentence(false))),
            );
        }
        let remarks = self.around.remote.len();
        self.around.see(&page);
        let has_result = !found.is_empty() || self.around.remote.len() > remarks;
        add(&mut self.results, found);
        is_known || has_result
    }

    fn take(&mut self, name: &str, head: &[u8], is_whole: bool, rest: &mut dyn Read) -> Option<Taken> {
        let long = Long::of(name, head, is_whole)?;
        let clean = |text: &str| Text::new(name, text.as_bytes()).body().to_owned();
        let found = long.read(name, head, rest, &mut self.around, clean);
        add(&mut self.results, found.results);
        Some(Taken { is_known: found.is_known, failure: found.failure })
    }
}

impl Seen {
    /// Nothing as yet, and nobody will ask for results: a fleet is judged by its machines.
    pub(super) fn of_machines() -> Self {
        Self { is_machine_only: true, ..Self::default() }
    }

    /// What is thought of the results, on the machine that the same texts tell of.
    pub(super) fn judge(&mut self, machine: &Machine) -> Vec<ResultVerdict> {
        self.complete();
        judge_results(&self.results, &self.around, Some(machine))
    }

    /// Fills in what stands beside the results.
    fn complete(&mut self) {
        complete(&mut self.results, &self.around);
    }
}

/// The paths that results lead over.
#[derive(Debug, Default)]
struct Paths {
    /// By what stands in a result.
    named: BTreeMap<String, Subject>,
    /// Of results that name no target.
    default: Option<Subject>,
}

/// Finds the path of each target that a result names, and of the one that was typed. A target that is not on the
/// machine has none, and a note says so when the machine was asked for.
///
/// # Errors
/// [`Failure`] when the typed target is not there.
fn paths(
    root: &Root,
    machine: &Machine,
    results: &[Imported],
    typed: Option<&str>,
    asked: bool,
) -> Result<Paths, Failure> {
    let mut found = Paths::default();
    if let Some(typed) = typed {
        found.default = Some(Subject::of(target::path(root, machine, typed)?));
    }
    for name in names(results) {
        if let Some(path) = resolve(root, machine, name).and_then(|target| build::path(machine, &target)) {
            found.named.insert(name.to_owned(), Subject::of(path));
        } else if asked && typed.is_none() {
            output::note(&format!("narrows: `{name}` is not on this machine; --target names its path"));
        }
    }
    if asked {
        let all = found.named.values().chain(&found.default);
        all.filter(|subject| !has_ceiling(subject)).for_each(|subject| {
            output::note(&format!(
                "narrows: no hop of the path to `{}` has a known ceiling, so nothing can be put against it",
                subject.path.target
            ));
        });
    }
    Ok(found)
}

fn has_ceiling(subject: &Subject) -> bool {
    let known = |ceilings: &Ceilings| {
        [Direction::Read, Direction::Write].iter().any(|direction| ceilings.of(*direction).rate().is_some())
    };
    subject.ceilings.iter().any(known)
}

/// Every target that a result names, once.
fn names(results: &[Imported]) -> Vec<&str> {
    let all = results.iter().flat_map(|result| &result.measurements);
    let mut names: Vec<&str> = all.filter_map(|one| one.work.target.as_deref()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A device, or the mount that a file is on. A file may be gone since, its directory may not. The root of a machine
/// holds every path, so it says nothing of one that was measured elsewhere.
fn resolve(root: &Root, machine: &Machine, name: &str) -> Option<Target> {
    if !name.starts_with('/') {
        return None;
    }
    let found = target::resolve(root, machine, name).ok().or_else(|| {
        let parent = name.trim_end_matches('/').rsplit_once('/').map(|(parent, _)| parent)?;
        let is_place = !parent.is_empty() && !name.starts_with("/dev/");
        is_place.then(|| target::resolve(root, machine, parent).ok()).flatten()
    })?;
    let is_root = match &found {
        Target::Mount { index, .. } => machine.mounts.get(*index).is_some_and(|mount| mount.point == "/"),
        _ => false,
    };
    (!is_root || root.is_live() && machine.captured.is_none()).then_some(found)
}

/// Reads `NAME=RATE`, such as `EDR=96GB/s`, `wire=25Gbit/s` or `slot=400MB/s`.
fn stated(text: &str) -> Result<Stated, String> {
    let (name, typed) = text.split_once('=').ok_or("it is not NAME=RATE, such as EDR=96GB/s")?;
    let rate = rate(typed)?;
    if name.trim().is_empty() || !typed.ends_with("/s") {
        return Err(format!("`{text}` is not NAME=RATE, such as EDR=96GB/s"));
    }
    Ok(Stated { name: name.trim().to_owned(), rate })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_was_given_is_named() {
        let named = |files: &[&str]| named(&files.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(named(&["a.txt"]), "`a.txt`");
        assert_eq!(named(&["-"]), "standard input");
        assert_eq!(named(&["a.txt", "b.txt", "c.txt"]), "`a.txt` or 2 more");
    }

    #[test]
    fn a_ceiling_has_a_name_and_a_unit() {
        let of = |text: &str| stated(text).map(|one| (one.name, one.rate.get()));
        assert_eq!(of("EDR=96GB/s"), Ok(("EDR".to_owned(), 96e9)));
        assert_eq!(of("wire = 25 Gbit/s"), Ok(("wire".to_owned(), 3.125e9)));
        for text in ["96GB/s", "x=96", "x=GB/s", "=1GB/s", "x=0GB/s", "x=1MB"] {
            assert!(of(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,30}") {
            let _ = stated(&text);
        }
    }
}
