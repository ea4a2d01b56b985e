//! Counts over many hosts, one host at a time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Host, Link};
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

/// The width of a link, among the words of [`OutlierAspect`].
const WIDTH: &str = "link_width";

/// A host by the order in which it was added.
type HostIndex = u32;

/// Who has each value of an aspect.
type AspectValues = BTreeMap<String, Vec<HostIndex>>;

/// A finding as it is grouped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct GroupKey {
    severity: Severity,
    code: Code,
    place: String,
    state: Option<String>,
}

#[derive(Debug)]
struct GroupMembers {
    hosts: Vec<HostIndex>,
    summary: String,
}

/// The hosts of one model.
#[derive(Debug, Default)]
struct Cohort {
    pub(super) hosts: Vec<HostIndex>,
    aspects: BTreeMap<OutlierAspect, AspectValues>,
    groups: BTreeMap<GroupKey, GroupMembers>,
}

impl Cohort {
    /// Who has each finding, whatever its link runs at. Places are told apart where they are links: block devices and
    /// mounts are called differently on every host.
    pub(super) fn findings(&self) -> BTreeMap<(Code, Option<&str>), BTreeSet<HostIndex>> {
        let mut findings: BTreeMap<(Code, Option<&str>), BTreeSet<HostIndex>> = BTreeMap::new();
        for (key, members) in &self.groups {
            let is_link = self.widths_at(&key.place).next().is_some();
            let place = is_link.then_some(key.place.as_str());
            findings.entry((key.code, place)).or_default().extend(&members.hosts);
        }
        findings
    }

    /// The widths of the links at a place, whatever device is there.
    fn widths_at(&self, place: &str) -> impl Iterator<Item = &AspectValues> {
        let first = OutlierAspect { name: WIDTH, place: Some(place.to_owned()), device: None };
        self.aspects
            .range(first.clone()..)
            .take_while(move |(aspect, _)| aspect.name == WIDTH && aspect.place == first.place)
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
        let index = HostIndex::try_from(self.names.len()).unwrap_or(HostIndex::MAX);
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
        for (aspect, value) in aspects_of(host) {
            cohort.aspects.entry(aspect).or_default().entry(value).or_default().push(index);
        }
    }

    /// The numbers so far.
    pub fn summary(&self) -> Summary {
        Summary { models: self.cohorts.keys().flatten().count(), ..self.summary }
    }

    /// What at least two hosts of a model have in common, worst and most frequent first; those of unknown model last,
    /// which have nothing in common but that.
    pub fn groups(&self) -> Vec<Group> {
        let all = self.cohorts.iter();
        let all =
            all.flat_map(|(model, cohort)| cohort.groups.iter().map(move |group| (model, cohort, group)));
        let several = all.filter(|(_, _, (_, members))| members.hosts.len() > 1);
        let groups = several.map(|(model, cohort, (key, members))| Group {
            model: model.clone(),
            of: cohort.hosts.len(),
            affected: members.hosts.len(),
            code: key.code,
            severity: key.severity,
            place: key.place.clone(),
            state: key.state.clone(),
            summary: members.summary.clone(),
            hosts: members.hosts.iter().take(NAMED).map(|index| self.name(*index)).collect(),
        });
        let mut groups: Vec<Group> = groups.collect();
        groups.sort_by_key(|group| (group.model.is_none(), group.severity, Reverse(group.affected)));
        groups
    }

    /// Who differs from nearly all others of the same model, by the name of the host.
    pub fn outliers(&self) -> Vec<Outlier> {
        let known = self.cohorts.iter().filter_map(|(model, cohort)| Some((model.as_deref()?, cohort)));
        let mut outliers: Vec<(HostIndex, Outlier)> =
            known.flat_map(|(model, cohort)| self.outliers_of(model, cohort)).collect();
        outliers.sort_by(|a, b| (a.0, &a.1.aspect, &a.1.place).cmp(&(b.0, &b.1.aspect, &b.1.place)));
        outliers.into_iter().map(|(_, outlier)| outlier).collect()
    }

    /// The outliers of one model.
    fn outliers_of(&self, model: &str, cohort: &Cohort) -> Vec<(HostIndex, Outlier)> {
        let findings = cohort.findings();
        // Where a host has a finding, that says it better than the state of its link.
        let said = findings.iter().filter_map(|((_, place), hosts)| Some(((*place)?, hosts)));
        let said: BTreeSet<(&str, HostIndex)> =
            said.flat_map(|(place, hosts)| hosts.iter().map(move |index| (place, *index))).collect();
        let outlier =
            |index, aspect, place: Option<&str>, [value, usual]: [Option<String>; 2], (same, of)| {
                let (host, model, place) = (self.name(index), model.to_owned(), place.map(str::to_owned));
                (index, Outlier { host, model, aspect, place, value, usual, same, of })
            };
        let mut outliers = Vec::new();
        for (aspect, values) in &cohort.aspects {
            let of: usize = values.values().map(Vec::len).sum();
            let most = values.iter().find(|(_, hosts)| is_nearly_all(hosts.len(), of));
            let Some((usual, same)) = most else { continue };
            let place = aspect.place.as_deref();
            let others = values.iter().filter(|(value, _)| *value != usual);
            let others = others.flat_map(|(value, hosts)| hosts.iter().map(move |index| (value, *index)));
            let unsaid =
                others.filter(|(_, index)| place.is_none_or(|place| !said.contains(&(place, *index))));
            outliers.extend(unsaid.map(|(value, index)| {
                let values = [Some(value.clone()), Some(usual.clone())];
                outlier(index, aspect.name.to_owned(), place, values, (same.len(), of))
            }));
        }
        for ((code, place), hosts) in &findings {
            for (index, is_found, same, of) in of_finding(cohort, *place, hosts) {
                let values = [is_found, !is_found].map(|is| is.then(|| "found".to_owned()));
                outliers.push(outlier(index, code.as_str(), *place, values, (same, of)));
            }
        }
        outliers
    }

    fn name(&self, index: HostIndex) -> String {
        usize::try_from(index).ok().and_then(|index| self.names.get(index)).cloned().unwrap_or_default()
    }
}

fn count_findings(cohort: &mut Cohort, host: &Host, index: HostIndex) {
    for found in host.findings.iter().filter(|found| found.counts()) {
        let key = GroupKey {
            severity: found.severity,
            code: found.code,
            place: found.place.clone(),
            state: found.state.clone(),
        };
        let new = || GroupMembers { summary: found.summary.clone(), hosts: Vec::new() };
        let members = cohort.groups.entry(key).or_insert_with(new);
        // Two devices of one host in the same place are one host.
        if members.hosts.last() != Some(&index) {
            members.hosts.push(index);
        }
    }
}

/// What of a host is compared with others of its model. What several devices of one kind in one place differ in is no trait of the
/// host: the first of them counts.
fn aspects_of(host: &Host) -> BTreeMap<OutlierAspect, String> {
    let mut aspects = BTreeMap::new();
    let mut put = |name, link: Option<&Link>, value: Option<String>| {
        let (place, device) =
            (link.map(|link| link.place.clone()), link.and_then(|link| link.device.clone()));
        if let Some(value) = value {
            aspects.entry(OutlierAspect { name, place, device }).or_insert(value);
        }
    };
    let memory = host.memory_bytes.map(|memory| memory.get().div_ceil(GIB));
    put("bios", None, host.bios.clone());
    put("kernel", None, host.kernel.clone());
    put("cpu", None, host.cpu.clone());
    put("memory", None, memory.map(|gib| format!("{gib} GiB")));
    for link in &host.links {
        let sleeps = |found: &super::Found| found.code == Code::PowerSave && found.place == link.place;
        // The speed of a link that sleeps says nothing.
        let speed = link.speed.clone().filter(|_| !host.findings.iter().any(sleeps));
        put(WIDTH, Some(link), link.width.map(|width| format!("x{width}")));
        put("link_speed", Some(link), speed);
    }
    aspects
}

/// What is compared between hosts of one model: what a host has, or the link at a place, of hosts with the same device there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct OutlierAspect {
    /// A stable word: `link_width`, `bios`.
    name: &'static str,
    /// Of a link.
    place: Option<String>,
    device: Option<String>,
}

/// A host that differs from at least nine in ten others of its model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outlier {
    pub host: String,
    /// Its model.
    pub model: String,
    /// What is different: a code, `link_width`, `link_speed`, `bios`, `kernel`, `cpu`, `memory`.
    pub aspect: String,
    /// Where, when it is at a place.
    pub place: Option<String>,
    /// What it has; `null` when it lacks a finding that the others have.
    pub value: Option<String>,
    /// What the others have; `null` when they lack the finding.
    pub usual: Option<String>,
    /// How many have that.
    pub same: usize,
    /// Hosts that were compared.
    pub of: usize,
}

/// Whether `same` of `of` hosts is nearly all: 90 % or more, and not all. Below ten hosts there is no such number.
const fn is_nearly_all(same: usize, of: usize) -> bool {
    same < of && same.saturating_mul(10) >= of.saturating_mul(9)
}

/// The few that have a finding which the others lack, or that lack one which the others have: whether it has it, how
/// many are otherwise, and of how many. Only hosts whose link at that place is known can lack one there: of the others
/// nothing is known.
fn of_finding(
    cohort: &Cohort,
    place: Option<&str>,
    with: &BTreeSet<HostIndex>,
) -> Vec<(HostIndex, bool, usize, usize)> {
    let mut seen: BTreeSet<HostIndex> = match place {
        Some(place) => {
            cohort.widths_at(place).flat_map(|values| values.values().flatten().copied()).collect()
        }
        None => cohort.hosts.iter().copied().collect(),
    };
    seen.extend(with);
    let of = seen.len();
    let lacking = of.saturating_sub(with.len());
    if is_nearly_all(lacking, of) {
        with.iter().map(|index| (*index, true, lacking, of)).collect()
    } else if place.is_some() && is_nearly_all(with.len(), of) {
        seen.difference(with).map(|index| (*index, false, with.len(), of)).collect()
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests;
