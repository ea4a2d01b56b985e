//! Counts over many hosts, one host at a time.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Host;
use super::outlier::{self, Aspect, Outlier};
use crate::{Code, Severity};

/// The hosts that a group names; the number of all is beside them.
const NAMED: usize = 5;

/// Memory is compared in GiB: what the kernel keeps for itself differs by some MiB from boot to boot.
const GIB: u64 = 1 << 30;

/// What several hosts of a model have in common: `37 of 412 PowerEdge R740xd: slot 3 at 8 GT/s x4`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    /// The model; `null` for the hosts of which none is known.
    pub model: Option<String>,
    /// Hosts of that model.
    pub of: usize,
    /// Those that have this finding.
    pub affected: usize,
    /// What kind of finding it is.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// Where it is.
    pub place: String,
    /// What the link there runs at, when it is about a link.
    pub state: Option<String>,
    /// The sentence of the first of them.
    pub summary: String,
    /// The first of them by name, at most five.
    pub hosts: Vec<String>,
}

/// The numbers of a whole fleet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// Captures.
    pub hosts: usize,
    /// Those of which nothing could be read.
    pub unreadable: usize,
    /// Hosts with a fault.
    pub with_faults: usize,
    /// Hosts with a limit by design and no fault.
    pub with_limits: usize,
    /// Hosts with neither.
    pub clean: usize,
    /// All findings that are good to know and no more.
    pub infos: usize,
    /// Different models.
    pub models: usize,
}

/// A host by the order in which it was added.
pub(super) type Index = u32;

/// Who has each value of an aspect.
pub(super) type Values = BTreeMap<String, Vec<Index>>;

/// A finding as it is grouped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    severity: Severity,
    code: Code,
    place: String,
    state: Option<String>,
}

#[derive(Debug, Default)]
struct Members {
    hosts: Vec<Index>,
    summary: String,
}

/// The hosts of one model.
#[derive(Debug, Default)]
pub(super) struct Cohort {
    pub(super) hosts: Vec<Index>,
    pub(super) aspects: BTreeMap<Aspect, Values>,
    groups: BTreeMap<Key, Members>,
}

impl Cohort {
    /// Who has each finding, whatever its link runs at. Places are told apart where they are links: block devices and
    /// mounts are called differently on every host.
    pub(super) fn findings(&self) -> BTreeMap<(Code, Option<&str>), BTreeSet<Index>> {
        let mut findings: BTreeMap<(Code, Option<&str>), BTreeSet<Index>> = BTreeMap::new();
        for (key, members) in &self.groups {
            let is_link = self.widths_at(&key.place).next().is_some();
            let place = is_link.then_some(key.place.as_str());
            findings.entry((key.code, place)).or_default().extend(&members.hosts);
        }
        findings
    }

    /// The widths of the links at a place, whatever device is there.
    pub(super) fn widths_at(&self, place: &str) -> impl Iterator<Item = &Values> {
        let place = place.to_owned();
        self.aspects
            .range(Aspect::Width(place.clone(), None)..)
            .take_while(move |(aspect, _)| matches!(aspect, Aspect::Width(at, _) if *at == place))
            .map(|(_, values)| values)
    }
}

/// Takes hosts and counts. It keeps of each host its name and a number for each thing that it shares with others.
#[derive(Debug, Default)]
pub struct Tally {
    names: Vec<String>,
    cohorts: BTreeMap<Option<String>, Cohort>,
    summary: Summary,
}

impl Tally {
    /// Takes one host.
    pub fn add(&mut self, host: &Host) {
        self.summary.hosts += 1;
        if host.failure.is_some() {
            self.summary.unreadable += 1;
            return;
        }
        let index = Index::try_from(self.names.len()).unwrap_or(Index::MAX);
        self.names.push(host.host.clone());
        let worst = host.findings.iter().map(|found| found.severity).min();
        match worst {
            Some(Severity::Fault) => self.summary.with_faults += 1,
            Some(Severity::Limit) => self.summary.with_limits += 1,
            Some(Severity::Info) | None => self.summary.clean += 1,
        }
        self.summary.infos += host.findings.iter().filter(|found| !found.counts()).count();
        let cohort = self.cohorts.entry(host.model.name().map(str::to_owned)).or_default();
        cohort.hosts.push(index);
        count_findings(cohort, host, index);
        count_aspects(cohort, host, index);
    }

    /// The numbers so far.
    pub fn summary(&self) -> Summary {
        Summary { models: self.cohorts.keys().flatten().count(), ..self.summary }
    }

    /// What at least two hosts of a model have in common, worst and most frequent first; those of unknown model last,
    /// which have nothing in common but that.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = self
            .cohorts
            .iter()
            .flat_map(|(model, cohort)| cohort.groups.iter().map(move |group| (model, cohort, group)))
            .filter(|(_, _, (_, members))| members.hosts.len() > 1)
            .map(|(model, cohort, (key, members))| Group {
                model: model.clone(),
                of: cohort.hosts.len(),
                affected: members.hosts.len(),
                code: key.code,
                severity: key.severity,
                place: key.place.clone(),
                state: key.state.clone(),
                summary: members.summary.clone(),
                hosts: members.hosts.iter().take(NAMED).map(|index| self.name(*index)).collect(),
            })
            .collect();
        groups.sort_by(|a, b| {
            let rank =
                |group: &Group| (group.model.is_none(), group.severity, std::cmp::Reverse(group.affected));
            rank(a).cmp(&rank(b))
        });
        groups
    }

    /// Who differs from nearly all others of the same model, by the name of the host.
    pub fn outliers(&self) -> Vec<Outlier> {
        let known = self.cohorts.iter().filter_map(|(model, cohort)| Some((model.as_deref()?, cohort)));
        let mut outliers: Vec<(Index, Outlier)> =
            known.flat_map(|(model, cohort)| outlier::of(model, cohort, |index| self.name(index))).collect();
        outliers.sort_by(|a, b| (a.0, &a.1.aspect, &a.1.place).cmp(&(b.0, &b.1.aspect, &b.1.place)));
        outliers.into_iter().map(|(_, outlier)| outlier).collect()
    }

    fn name(&self, index: Index) -> String {
        usize::try_from(index).ok().and_then(|index| self.names.get(index)).cloned().unwrap_or_default()
    }
}

fn count_findings(cohort: &mut Cohort, host: &Host, index: Index) {
    for found in host.findings.iter().filter(|found| found.counts()) {
        let key = Key {
            severity: found.severity,
            code: found.code,
            place: found.place.clone(),
            state: found.state.clone(),
        };
        let members = cohort
            .groups
            .entry(key)
            .or_insert_with(|| Members { summary: found.summary.clone(), ..Members::default() });
        // Two devices of one host in the same place are one host.
        if members.hosts.last() != Some(&index) {
            members.hosts.push(index);
        }
    }
}

fn count_aspects(cohort: &mut Cohort, host: &Host, index: Index) {
    for (aspect, value) in aspects_of(host) {
        cohort.aspects.entry(aspect).or_default().entry(value).or_default().push(index);
    }
}

/// What of a host is compared with others of its model. What several devices of one kind in one place differ in is no trait of the
/// host: the first of them counts.
pub(super) fn aspects_of(host: &Host) -> BTreeMap<Aspect, String> {
    let mut aspects = BTreeMap::new();
    let mut put = |aspect: Aspect, value: Option<String>| {
        if let Some(value) = value {
            aspects.entry(aspect).or_insert(value);
        }
    };
    let memory = host.memory_bytes.map(|memory| memory.get().div_ceil(GIB));
    put(Aspect::Bios, host.bios.clone());
    put(Aspect::Kernel, host.kernel.clone());
    put(Aspect::Cpu, host.cpu.clone());
    put(Aspect::Memory, memory.map(|gib| format!("{gib} GiB")));
    for link in &host.links {
        let place = || (link.place.clone(), link.device.clone());
        let sleeps = |found: &super::Found| found.code == Code::PowerSave && found.place == link.place;
        let is_idle = host.findings.iter().any(sleeps);
        put(Aspect::Width(place().0, place().1), link.width.map(|width| format!("x{width}")));
        put(Aspect::Speed(place().0, place().1), link.speed.clone().filter(|_| !is_idle));
    }
    aspects
}

#[cfg(test)]
mod tests;
