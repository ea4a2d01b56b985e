//! Facts, paths and results, judged.

use std::collections::BTreeMap;

use super::facts::Facts;
use narrows_machine::Machine;
use narrows_machine::pci::PciAddress;
use narrows_machine::root::Root;
use narrows_machine::target::{self, Found};
use narrows_model::ceiling::{Ceilings, Direction};
use narrows_model::path::{Path, Target, build};
use narrows_paste::capture;
use narrows_paste::results::Imported;
use narrows_report::view;
use narrows_verdict::results::against::Stated;
use narrows_verdict::results::sweep::{Sweep, sweeps};
use narrows_verdict::results::{Ground, judge_on};
use narrows_verdict::{self as verdict, Subject, Verdict};

/// What is asked of facts.
#[derive(Debug, Default)]
pub struct Question<'q> {
    /// The paths that are asked about.
    pub paths: Vec<Path>,
    /// What parts of the way of results carry, as their reader states it.
    pub stated: &'q [Stated],
    /// Whether results are put on the machine that asks: what they are put against is no answer of its own.
    pub is_here: bool,
    /// The GPU to which paths are followed.
    pub to: Option<PciAddress>,
    /// What was given, by name.
    pub from: &'q [String],
}

/// An answer.
#[derive(Debug)]
pub struct Answered {
    pub report: view::CheckReport,
    /// Whether there is anything to act on.
    pub has_findings: bool,
    /// What its reader should know beside it.
    pub notes: Vec<String>,
}

impl Facts {
    /// Whether results are all there is, and no machine.
    pub const fn is_only_results(&self) -> bool {
        !self.has_machine && !self.seen.results.is_empty()
    }

    /// Every path of the machine; results alone have none.
    pub fn paths(&self) -> Vec<Path> {
        if self.is_only_results() { Vec::new() } else { build::all(&self.machine) }
    }

    /// Judges paths, and results on the machine that the same texts tell of, on those paths and on those of the targets that they
    /// name.
    pub fn answer(&self, question: Question<'_>) -> Answered {
        let Question { paths, stated, is_here, to, from } = question;
        let mut notes = self.seen.unread.clone();
        let (results, series) = self.results(&paths, (stated, is_here), &mut notes);
        let paths = if is_here { Vec::new() } else { paths };
        let subjects: Vec<Subject> = paths.into_iter().map(Subject::of).collect();
        let (mut report, has_findings) = judged(&self.machine, &subjects, (results, series), to);
        name_inputs(&mut report, from, &self.root);
        Answered { report, has_findings, notes }
    }

    /// What is thought of the results, and series of them.
    fn results(
        &self,
        paths: &[Path],
        (stated, is_here): (&[Stated], bool),
        notes: &mut Vec<String>,
    ) -> (Vec<view::JudgedResult>, Vec<Sweep>) {
        let (root, machine, results) = (&self.root, &self.machine, &self.seen.results);
        if results.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let default = match paths {
            [one] => Some(Subject::of(one.clone())),
            _ => None,
        };
        let (mut named, absent) = named(root, machine, results);
        if is_here && default.is_none() {
            notes.extend(absent.into_iter().map(|name| {
                format!("`{name}` is not on this machine; name the device that it was beside the file")
            }));
        }
        named.extend(self.seen.at_each(machine));
        let subjects = named.values().chain(&default);
        notes.extend(subjects.filter(|subject| is_here && !has_ceiling(subject)).map(|subject| {
            format!(
                "no hop of the path to `{}` has a known ceiling, so nothing can be put against it",
                subject.path.target
            )
        }));
        let ground = Ground { machine: Some(machine), paths: &named, default: default.as_ref(), stated };
        let verdicts = judge_on(results, &self.seen.around, ground);
        (view::judged(results, &verdicts), sweeps(results, stated))
    }
}

/// The path of each target that a result names and that is on the machine; and the names of those that are not.
fn named<'r>(
    root: &Root,
    machine: &Machine,
    results: &'r [Imported],
) -> (BTreeMap<String, Subject>, Vec<&'r str>) {
    let (mut found, mut absent) = (BTreeMap::new(), Vec::new());
    for name in names(results) {
        match resolve(root, machine, name).and_then(|target| build::path(machine, &target)) {
            Some(path) => _ = found.insert(name.to_owned(), Subject::of(path)),
            None => absent.push(name),
        }
    }
    (found, absent)
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
    let found = place(root, machine, name).or_else(|| {
        let parent = name.trim_end_matches('/').rsplit_once('/').map(|(parent, _)| parent)?;
        let is_place = !parent.is_empty() && !name.starts_with("/dev/");
        is_place.then(|| place(root, machine, parent)).flatten()
    })?;
    let is_root = match &found {
        Target::Mount { index, .. } => machine.mounts.get(*index).is_some_and(|mount| mount.point == "/"),
        _ => false,
    };
    (!is_root || root.is_live() && machine.captured.is_none()).then_some(found)
}

/// What stands behind a name.
fn place(root: &Root, machine: &Machine, name: &str) -> Option<Target> {
    let found = match &machine.captured {
        None => target::find(root, name).ok(),
        Some(_) => capture::target::find(machine, name).ok(),
    };
    target_of(machine, found?)
}

/// What a path leads to; `None` for a file on no mount that is known.
pub fn target_of(machine: &Machine, found: Found) -> Option<Target> {
    match found {
        Found::Block(name) => Some(Target::Block(name)),
        Found::Pci(address) => Some(Target::Pci(address)),
        Found::Nic(name) => Some(Target::Nic(name)),
        Found::Pool(name) => Some(Target::Pool(name)),
        Found::File(path) => {
            target::mount_of(&machine.mounts, &path).map(|index| Target::Mount { index, path })
        }
    }
}

/// Judges paths and results, and says whether there are findings.
pub fn judged(
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

/// Says in a report what it is from: it answers as a machine does, and readers must see that it is another one.
fn name_inputs(report: &mut view::CheckReport, from: &[String], root: &Root) {
    report.machine.from = from.to_vec();
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
pub fn judge(machine: &Machine) -> (Vec<Subject>, Verdict) {
    let subjects: Vec<Subject> = build::all(machine).into_iter().map(Subject::of).collect();
    let verdict = verdict::judge(machine, &subjects);
    (subjects, verdict)
}
