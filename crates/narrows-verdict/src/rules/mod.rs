//! The rules: one list for all that is judged, a machine with its paths and runs, or a result of another tool.
//!
//! A rule is handed everything that is known and answers with findings. It must stay silent unless the facts leave no
//! healthy reading: a false alarm is worse than silence. Of a result of another tool it suspects only what the text itself
//! gives reason to, and each finding ends with what would disprove it: what a text does not tell is no reason to doubt it. What limits a path without being wrong is a `limit`; what
//! could be changed is a `fault`; the rest is `info`.
//!
//! To add one: write a function as one of [`Rule`] takes it beside its like (what runs and results of other tools tell of one
//! code is in one file), with a test where it fires, a near miss where it must not, and add it to [`RULES`].

mod aer_errors;
mod bus_limited;
mod cache_measured;
mod crypt;
pub(super) mod depth_too_low;
mod device_errors;
mod device_limited;
mod disturbed;
mod doubtful;
mod generator_cpu;
mod link_state;
mod mps_mrrs;
mod need;
mod network_limited;
mod numa;
mod partial_input;
mod raid;
pub(super) mod result;
mod shared_uplink;
mod slot_limited;
mod slots;
mod throttled;
mod unsteady;
mod void_runs;

use std::collections::{BTreeMap, BTreeSet};

use narrows_base::measurement::Measurement;
use narrows_machine::Machine;
use narrows_machine::pci::PciDevice;
use narrows_model::ceiling::Direction;
use narrows_model::path::{Hop, HopId, Target};

use crate::Subject;
use crate::attribution::{self, Attribution, Cause};
use crate::case::Case;
use crate::finding::{Code, Finding, Severity};
use crate::trust::Audit;

/// The class of NVMe controllers (PCI Code and ID Assignment Specification, section 1.2).
const NVME: u32 = 0x0108;

/// Everything that a rule may look at.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) machine: &'a Machine,
    /// All paths with what limits them.
    pub(super) judged: &'a [Judged<'a>],
}

impl<'a> Context<'a> {
    /// The hops of all paths.
    pub(super) fn hops(&self) -> impl Iterator<Item = &'a Hop> + use<'a> {
        self.judged.iter().flat_map(|judged| &judged.subject.path.hops)
    }

    /// A finding about the device `name`: about the first hop that is it, where a path crosses it.
    pub(super) fn finding(
        &self,
        (code, severity): (Code, Severity),
        name: &str,
        summary: String,
        is_it: impl Fn(&Hop) -> bool,
    ) -> Finding {
        match self.hops().find(|hop| is_it(hop)) {
            Some(hop) => Finding::about(code, severity, hop, summary),
            None => Finding::on(code, severity, name, summary),
        }
    }
}

/// A path with what limits it.
pub(super) struct Judged<'a> {
    pub(super) machine: &'a Machine,
    /// The path, its ceilings and runs.
    pub(super) subject: &'a Subject,
    /// The narrowest hop in each direction, or why none can be named.
    pub(super) outcomes: BTreeMap<Direction, Result<Attribution, String>>,
    /// The audit of the run in each direction that has one.
    pub(super) audits: BTreeMap<Direction, Audit>,
}

impl<'a> Judged<'a> {
    /// Finds what limits a path.
    pub(super) fn new(machine: &'a Machine, subject: &'a Subject) -> Self {
        let mut judged = Self { machine, subject, outcomes: BTreeMap::new(), audits: BTreeMap::new() };
        for direction in [Direction::Read, Direction::Write] {
            let case = judged.case(direction);
            let audit = Audit::of(&case);
            judged.outcomes.insert(direction, attribution::attribute(&case, &audit));
            if case.run.is_some() {
                judged.audits.insert(direction, audit);
            }
        }
        judged
    }

    /// The case of one direction.
    pub(super) fn case(&self, direction: Direction) -> Case<'a> {
        Case::new(self.machine, self.subject, direction)
    }

    /// What limits one direction.
    pub(super) fn limit(&self, direction: Direction) -> Option<&Attribution> {
        self.outcomes.get(&direction).and_then(|outcome| outcome.as_ref().ok())
    }

    /// The directions that the hop at `index` limits. Once a direction was measured, arithmetic on the other one is no
    /// ground for a finding.
    pub(super) fn limited_by(&self, index: usize) -> impl Iterator<Item = (Direction, &Attribution)> {
        let counts = |direction: &Direction| self.audits.is_empty() || self.audits.contains_key(direction);
        self.limits().filter(move |(direction, limit)| limit.hop == index && counts(direction))
    }

    /// Whether the hop at `index` limits either direction.
    pub(super) fn is_limit(&self, index: usize) -> bool {
        self.limited_by(index).next().is_some()
    }

    /// The first direction of which the hop at `index` was found to be the limit in this way.
    fn caused_by(&self, cause: Cause, index: usize) -> Option<(Direction, &Attribution)> {
        self.limits().find(|(_, limit)| limit.cause == cause && limit.hop == index)
    }

    /// What limits each direction of which that is known.
    fn limits(&self) -> impl Iterator<Item = (Direction, &Attribution)> {
        self.outcomes.iter().filter_map(|(direction, outcome)| Some((*direction, outcome.as_ref().ok()?)))
    }
}

/// A rule, by what it looks at.
enum Rule {
    /// A machine with all of its paths.
    Machine(fn(&Context<'_>) -> Vec<Finding>),
    /// A whole path.
    Path(fn(&Context<'_>, &Judged<'_>) -> Vec<Finding>),
    /// A hop, with its place.
    Hop(fn(&Judged<'_>, usize, &Hop) -> Option<Finding>),
    /// A direction that was measured.
    Run(fn(&Case<'_>, &Measurement, &Audit) -> Option<Finding>),
    /// A result of another tool.
    Result(fn(&result::Case<'_>) -> Option<Finding>),
    /// The same, and what counters of devices show by themselves: no command was given for them, so none was missed.
    Counters(fn(&result::Case<'_>) -> Option<Finding>),
}

/// All rules. Findings of results that are equally bad stand in this order.
const RULES: &[Rule] = &[
    Rule::Result(doubtful::run_failed),
    Rule::Path(cache_measured::of_path),
    Rule::Result(cache_measured::of_result),
    Rule::Hop(generator_cpu::of_hop),
    Rule::Result(generator_cpu::of_result),
    Rule::Result(throttled::find),
    Rule::Hop(raid::resync),
    Rule::Machine(raid::resync_of_pools),
    Rule::Counters(raid::resync_of_result),
    Rule::Result(disturbed::concurrent_load),
    Rule::Run(unsteady::of_run),
    Rule::Counters(unsteady::of_result),
    Rule::Result(unsteady::slc_exhausted),
    Rule::Run(void_runs::too_short),
    Rule::Result(void_runs::short_result),
    Rule::Run(void_runs::above_ceiling),
    Rule::Result(doubtful::zero_or_sparse_data),
    Rule::Result(doubtful::inconsistent_numbers),
    Rule::Result(doubtful::not_synchronous),
    Rule::Hop(network_limited::of_hop),
    Rule::Machine(network_limited::of_machine),
    Rule::Result(network_limited::of_result),
    Rule::Result(slot_limited::of_result),
    Rule::Run(void_runs::no_read_ended),
    Rule::Counters(void_runs::stuck),
    Rule::Hop(crypt::of_hop),
    Rule::Machine(crypt::of_machine),
    Rule::Result(crypt::of_result),
    Rule::Hop(crypt::crypto_workqueue),
    Rule::Run(depth_too_low::of_run),
    Rule::Result(depth_too_low::of_result),
    Rule::Result(disturbed::uneven_nodes),
    Rule::Result(doubtful::units_suspect),
    Rule::Machine(partial_input::of_machine),
    Rule::Counters(partial_input::of_result),
    Rule::Path(link_state::check),
    Rule::Path(mps_mrrs::check),
    Rule::Path(aer_errors::check),
    Rule::Machine(device_errors::check),
    Rule::Machine(bus_limited::usb_aside),
    Rule::Path(shared_uplink::check),
    Rule::Hop(numa::numa_remote),
    Rule::Machine(numa::numa_unbalanced),
    Rule::Hop(bus_limited::usb_limited),
    Rule::Hop(bus_limited::sata_limited),
    Rule::Hop(bus_limited::hba_limited),
    Rule::Hop(raid::raid_slow_member),
    Rule::Hop(raid::slow_by_arithmetic),
    Rule::Machine(raid::slow_among_alike),
    Rule::Hop(raid::degraded),
    Rule::Machine(raid::degraded_pools),
    Rule::Hop(device_limited::filesystem_limited),
    Rule::Hop(device_limited::thermal),
    Rule::Hop(device_limited::device_limited),
    Rule::Hop(device_limited::slower_than_its_port),
    Rule::Machine(slots::adapter_drives),
    Rule::Machine(slots::smbios_contradiction),
    Rule::Machine(slots::missing_device_bifurcation),
];

impl Rule {
    /// What it finds on a path.
    fn on_path(&self, context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
        match self {
            Self::Path(rule) => rule(context, judged),
            Self::Hop(rule) => {
                let hops = judged.subject.path.hops.iter().enumerate();
                hops.filter_map(|(index, hop)| rule(judged, index, hop)).collect()
            }
            Self::Run(rule) => {
                let runs = judged.audits.iter().map(|(direction, audit)| (judged.case(*direction), audit));
                runs.filter_map(|(case, audit)| rule(&case, case.measurement()?, audit)).collect()
            }
            Self::Machine(_) | Self::Result(_) | Self::Counters(_) => Vec::new(),
        }
    }
}

/// What is found in a result of another tool.
pub(super) fn of_result(case: &result::Case<'_>) -> Vec<Finding> {
    let found = RULES.iter().filter_map(|rule| match rule {
        Rule::Counters(rule) => rule(case),
        Rule::Result(rule) if !case.is_of_counters() => rule(case),
        _ => None,
    });
    found.collect()
}

/// All findings, each once, worst first; of equally bad ones those of storage, and of these those that bring most.
pub(super) fn all(context: &Context<'_>) -> Vec<Finding> {
    let judged = context.judged.iter();
    let of_paths = judged.flat_map(|one| RULES.iter().flat_map(move |rule| rule.on_path(context, one)));
    let of_machine = RULES.iter().flat_map(|rule| match rule {
        Rule::Machine(rule) => rule(context),
        _ => Vec::new(),
    });
    let mut findings: BTreeMap<(Option<Code>, Option<String>, String), Finding> = BTreeMap::new();
    for finding in of_paths.chain(of_machine) {
        let hop = finding.hop.as_ref().map(|hop| hop.as_str().to_owned());
        // A link that several paths cross has one state, be it that one of them needs more of it than another.
        let code = Some(finding.code).filter(|code| !link_state::CODES.contains(code));
        let key = (code, hop, finding.subject.clone());
        if findings.get(&key).is_none_or(|known| order(known, &finding).is_gt()) {
            findings.insert(key, finding);
        }
    }
    let mut findings: Vec<Finding> = findings.into_values().collect();
    let storage = of_storage(context);
    let is_aside = |finding: &Finding| finding.hop.as_ref().is_some_and(|hop| !storage.contains(hop));
    findings.sort_by(|a, b| {
        a.severity.cmp(&b.severity).then(is_aside(a).cmp(&is_aside(b))).then_with(|| order(a, b))
    });
    findings
}

/// The hops that data of a disk, a file system or a storage controller crosses. Those of a network or graphics card
/// alone come after them.
fn of_storage(context: &Context<'_>) -> BTreeSet<HopId> {
    let is_storage = |target: &Target| match target {
        Target::Block(_) | Target::Mount { .. } | Target::Usb(_) | Target::Pool(_) => true,
        Target::Pci(address) => context.machine.pci.get(address).is_some_and(PciDevice::is_storage),
        Target::Nic(_) => false,
    };
    let paths = context.judged.iter().map(|judged| &judged.subject.path);
    let paths = paths.filter(|path| is_storage(&path.asked));
    paths.flat_map(|path| path.hops.iter().map(|hop| hop.id.clone())).collect()
}

/// Worse first, then the greater gain, then the surer; code and subject make the order total.
fn order(a: &Finding, b: &Finding) -> std::cmp::Ordering {
    let gain = |finding: &Finding| finding.best_gain().get();
    a.severity
        .cmp(&b.severity)
        .then(gain(b).total_cmp(&gain(a)))
        .then(a.confidence.cmp(&b.confidence))
        .then(a.code.cmp(&b.code))
        .then_with(|| a.subject.cmp(&b.subject))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Sketch, link};
    use crate::{Code, Severity, judge};

    #[test]
    fn a_finding_that_touches_two_paths_is_told_once_and_faults_come_first() {
        let disk = Sketch::drive(link((3, 2), (4, 4), (3, 4)));
        let mut mount = Sketch::drive(link((3, 2), (4, 4), (3, 4))).subject;
        mount.path.target = "/home".to_owned();
        let verdict = judge(&disk.machine, &[disk.subject.clone(), mount]);
        assert_eq!(verdict.paths.len(), 2);
        let degraded = verdict.findings.iter().filter(|finding| finding.code == Code::LinkWidthDegraded);
        assert_eq!(degraded.count(), 1);
        assert!(verdict.findings.is_sorted_by_key(|finding| finding.severity));
        assert!(verdict.has_faults_or_limits());
    }

    #[test]
    fn a_healthy_drive_yields_nothing() {
        let path =
            Sketch::of("/dev/nvme0n1").device("nvme0n1", Some(3500.0)).link(link((3, 4), (3, 4), (3, 16)));
        let verdict = path.memory().judge();
        assert!(verdict.findings.iter().all(|finding| finding.severity == Severity::Info));
        assert!(!verdict.has_faults_or_limits());
    }

    #[test]
    fn no_subject_no_finding() {
        let verdict = judge(&narrows_machine::Machine::default(), &[]);
        assert!(verdict.findings.is_empty() && verdict.paths.is_empty());
    }
}
