//! Who differs from nearly all others of the same model.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::tally::{Cohort, Index};

/// What is compared between hosts of one model.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Aspect {
    /// The width of the link at a place, of hosts with the same device there.
    Width(String, Option<String>),
    /// The speed of the link at a place, of hosts with the same device there. A link that sleeps is left out.
    Speed(String, Option<String>),
    /// The firmware's version.
    Bios,
    /// The kernel release.
    Kernel,
    /// The processor's model.
    Cpu,
    /// Main memory.
    Memory,
}

impl Aspect {
    /// A stable word: `link_width`, `bios`, or the code of a finding.
    pub(super) const fn as_str(&self) -> &'static str {
        match self {
            Self::Width(..) => "link_width",
            Self::Speed(..) => "link_speed",
            Self::Bios => "bios",
            Self::Kernel => "kernel",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
        }
    }

    pub(super) fn place(&self) -> Option<&str> {
        match self {
            Self::Width(place, _) | Self::Speed(place, _) => Some(place),
            Self::Bios | Self::Kernel | Self::Cpu | Self::Memory => None,
        }
    }
}

/// A host that differs from at least nine in ten others of its model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outlier {
    /// The host.
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

/// The outliers of one model.
pub(super) fn of(model: &str, cohort: &Cohort, name: impl Fn(Index) -> String) -> Vec<(Index, Outlier)> {
    let findings = cohort.findings();
    // Where a host has a finding, that says it better than the state of its link.
    let said: BTreeSet<(&str, Index)> = findings
        .iter()
        .flat_map(|((_, place), hosts)| hosts.iter().filter_map(move |index| Some(((*place)?, *index))))
        .collect();
    let mut outliers = Vec::new();
    for (aspect, values) in &cohort.aspects {
        let of: usize = values.values().map(Vec::len).sum();
        let Some((usual, same)) = values.iter().find(|(_, hosts)| is_nearly_all(hosts.len(), of)) else {
            continue;
        };
        let others = values.iter().filter(|(value, _)| *value != usual);
        for (value, index) in others.flat_map(|(value, hosts)| hosts.iter().map(move |index| (value, *index)))
        {
            if aspect.place().is_some_and(|place| said.contains(&(place, index))) {
                continue;
            }
            let outlier = Outlier {
                host: name(index),
                model: model.to_owned(),
                aspect: aspect.as_str().to_owned(),
                place: aspect.place().map(str::to_owned),
                value: Some(value.clone()),
                usual: Some(usual.clone()),
                same: same.len(),
                of,
            };
            outliers.push((index, outlier));
        }
    }
    for ((code, place), hosts) in &findings {
        let outlier = |(index, is_found, same, of)| {
            let word = |is: bool| is.then(|| "found".to_owned());
            let outlier = Outlier {
                host: name(index),
                model: model.to_owned(),
                aspect: code.as_str(),
                place: place.map(str::to_owned),
                value: word(is_found),
                usual: word(!is_found),
                same,
                of,
            };
            (index, outlier)
        };
        outliers.extend(of_finding(cohort, *place, hosts).into_iter().map(outlier));
    }
    outliers
}

/// The few that have a finding which the others lack, or that lack one which the others have: whether it has it, how
/// many are otherwise, and of how many. Only hosts whose link at that place is known can lack one there: of the others
/// nothing is known.
fn of_finding(
    cohort: &Cohort,
    place: Option<&str>,
    with: &BTreeSet<Index>,
) -> Vec<(Index, bool, usize, usize)> {
    let mut seen: BTreeSet<Index> = match place {
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
