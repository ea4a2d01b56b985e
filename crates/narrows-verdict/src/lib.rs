//! Why is it this fast?
//!
//! [`judge`] is handed what is known of each path (hops, ceilings and, where load was run, what it achieved and what
//! the machine did meanwhile) and answers with the narrowest hop, the next one behind it, and findings. Findings are
//! made by the rules in `rules/`; `attribution` names the hop that limits a path; `trust` decides whether to
//! believe a run; `sentence` says it all in words. [`ladder`] compares the layers of one path, each with a run of its own.
//!
//! Internal to the program narrows: its interface changes without notice. JSON (`schema/`) is the promise.

mod attribution;
mod case;
pub mod cohort;
pub mod compare;
pub mod counterfactual;
pub mod finding;
pub mod fleet;
pub mod ladder;
mod link;
pub mod live;
pub mod results;
mod rules;
mod sentence;
#[cfg(test)]
mod testing;
pub mod together;
mod trust;

use std::collections::BTreeMap;

use narrows_base::measurement::Measurement;
use narrows_base::units::{BytesPerSec, GtPerSec, Lanes};
use narrows_machine::Machine;
use narrows_machine::activity::{Activity, LinkState};
use narrows_model::ceiling::{self, Ceilings, Direction, pcie};
use narrows_model::path::{HopId, HopSpec, LinkHop, Path};

pub use attribution::REACHED;
pub use finding::{Advice, Code, Confidence, Evidence, Finding, Severity, word};
pub use sentence::capitalised;

/// One path with its ceilings and what was measured on it.
#[derive(Debug, Clone)]
pub struct Subject {
    pub path: Path,
    /// The ceilings of its hops, in the order of [`Path::hops`].
    pub ceilings: Vec<Ceilings>,
    /// The runs that were made on it, if any.
    pub runs: Vec<Run>,
}

impl Subject {
    /// A path with the ceilings of its hops, on which nothing was measured yet.
    pub fn of(path: Path) -> Self {
        let ceilings = path.hops.iter().map(ceiling::of_hop).collect();
        Self { path, ceilings, runs: Vec::new() }
    }

    /// The same path with these runs in place of others.
    #[must_use]
    pub fn with_runs(&self, runs: Vec<Run>) -> Self {
        Self { path: self.path.clone(), ceilings: self.ceilings.clone(), runs }
    }

    /// The speed and width at which a link carries load: what a run saw, or else what is expected of it.
    fn loaded_state(&self, link: &LinkHop) -> Option<(GtPerSec, Lanes)> {
        let (speed, width) = pcie::state(link)?;
        Some((speed_under_load(&self.runs, link).unwrap_or(speed), width))
    }

    /// Puts what runs saw of the links in place of what was expected of them: a link that idles below its best speed is
    /// expected to speed up, and under load it shows whether it does.
    pub fn settle_links(&mut self) {
        for (hop, ceilings) in self.path.hops.iter().zip(&mut self.ceilings) {
            let HopSpec::Link(link) = &hop.spec else { continue };
            let address = link.device.address;
            let Some(speed) = speed_under_load(&self.runs, link) else { continue };
            let source = format!("/sys/bus/pci/devices/{address}/current_link_speed, under load");
            let state = LinkState { speed: Some(speed), width: None };
            *ceilings = link::loaded(&mut link.clone(), state, &source);
        }
    }
}

/// The speed of a link that was read while load ran, if any ran.
fn speed_under_load(runs: &[Run], link: &LinkHop) -> Option<GtPerSec> {
    runs.iter().filter_map(|run| run.activity.links.get(&link.device.address)?.speed).max()
}

/// One run and what the machine did meanwhile.
#[derive(Debug, Clone)]
pub struct Run {
    /// The direction of data.
    pub direction: Direction,
    /// What was achieved.
    pub measurement: Measurement,
    /// What the machine did during the measured time.
    pub activity: Activity,
    /// What it did while idle, just before (background load, round-trip times without queueing).
    pub idle: Activity,
}

/// What a measurement says of one hop in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The rate across the hop in its own bytes.
    pub rate: BytesPerSec,
    /// The confidence interval, where there is one.
    pub ci95: Option<[BytesPerSec; 2]>,
    /// Whether to believe it.
    pub trusted: bool,
}

/// The verdict on one path.
#[derive(Debug, Clone, Default)]
pub struct PathVerdict {
    /// The narrowest hop in each direction.
    pub limiting: BTreeMap<Direction, HopId>,
    /// The one behind it.
    pub next: BTreeMap<Direction, HopId>,
    /// Why there is no narrowest hop, where there is none.
    pub unknown: BTreeMap<Direction, String>,
    /// What was measured at each hop.
    pub measured: BTreeMap<(HopId, Direction), Measured>,
    /// One sentence: which hop limits, what it carries, and what comes next.
    pub sentence: String,
    /// What the path would get if an advice about its narrowest hop were followed; empty where nobody asked ([`Verdict::foretell`]).
    pub counterfactuals: Vec<counterfactual::Counterfactual>,
}

/// The verdict on a machine.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// One for each subject, in order.
    pub paths: Vec<PathVerdict>,
    /// All findings, worst first, each once however many paths it touches.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// Whether to believe the runs of a subject, which was the first to be judged: each must be trusted in each direction that
    /// it has. `None` when they were not judged.
    pub fn trusts(&self, subject: &Subject) -> Option<bool> {
        let hop = subject.path.hops.first()?;
        let path = self.paths.first()?;
        let judged =
            subject.runs.iter().filter_map(|run| path.measured.get(&(hop.id.clone(), run.direction)));
        judged.map(|measured| measured.trusted).reduce(|all, one| all && one)
    }

    /// Adds what is thought of benchmarks that were pasted beside a machine's outputs. What only doubts a benchmark
    /// (it was short, or scattered) says nothing of the machine, and becomes `info`.
    pub fn add_results(&mut self, results: Vec<results::ResultVerdict>) {
        const TELL: [Code; 5] =
            [Code::CacheMeasured, Code::Throttled, Code::NetworkLimited, Code::CryptoCpu, Code::RunFailed];
        let all = results.into_iter().flat_map(|result| result.findings);
        self.findings.extend(all.filter(|one| one.severity != Severity::Info).map(|one| {
            let severity = if TELL.contains(&one.code) { one.severity } else { Severity::Info };
            Finding { severity, ..one }
        }));
        self.findings.sort_by_key(|finding| finding.severity);
    }

    /// Predicts what each advice about the narrowest hop of a path would bring, for every path: one that is looked at alone is worth it.
    pub fn foretell(&mut self, machine: &Machine, subjects: &[Subject]) {
        for (path, subject) in self.paths.iter_mut().zip(subjects) {
            path.counterfactuals = counterfactual::of(machine, subject, path, &self.findings);
        }
    }

    /// Whether there is a finding that calls for action or names a bottleneck by design: exit status 1.
    pub fn has_faults_or_limits(&self) -> bool {
        self.findings.iter().any(|finding| matches!(finding.severity, Severity::Fault | Severity::Limit))
    }
}

/// Judges the paths of a machine.
///
/// Three steps: the narrowest hop of each path and direction, then the rules, which may look at all
/// paths, then the words. The same input gives the same verdict.
pub fn judge(machine: &Machine, subjects: &[Subject]) -> Verdict {
    let judged: Vec<rules::Judged<'_>> =
        subjects.iter().map(|subject| rules::Judged::new(machine, subject)).collect();
    let mut findings = rules::all(&rules::Context { machine, judged: &judged });
    link::lower_half_known(machine, &judged, &mut findings);
    let paths = judged.iter().map(path_verdict).collect();
    Verdict { paths, findings }
}

fn path_verdict(judged: &rules::Judged<'_>) -> PathVerdict {
    let hops = &judged.subject.path.hops;
    let id = |index: usize| hops.get(index).map(|hop| hop.id.clone());
    let mut verdict = PathVerdict { sentence: sentence::of(judged), ..PathVerdict::default() };
    for (direction, outcome) in &judged.outcomes {
        match outcome {
            Ok(limit) => {
                verdict.limiting.extend(id(limit.hop).map(|hop| (*direction, hop)));
                verdict.next.extend(limit.next.and_then(|next| id(next.hop)).map(|hop| (*direction, hop)));
            }
            Err(reason) => {
                verdict.unknown.insert(*direction, reason.clone());
            }
        }
    }
    verdict.measured = case::measured_hops(judged);
    verdict
}
