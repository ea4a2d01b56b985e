//! Many machines: a row for each host and finding, groups by model, outliers, and the whole in numbers.
//!
//! [`build::host`] reduces a judged machine to what is compared, with all text from outside made inert. [`Record`] is
//! the contract of `--json`; [`row::Row`] the flat form of it that tables of other programs want. Writers take
//! one host at a time, so that nothing is held back that is known.

pub mod build;
pub mod row;
pub mod table;

use serde::{Deserialize, Serialize};

use super::view::{Tool, tool};
use narrows_verdict::cohort::{Change, Changes, Found, Group, Host, Link, Outlier, Summary};

/// The name and version of the schema, in the first line.
pub const SCHEMA: &str = "narrows/fleet/1";

/// One line of `narrows --fleet --json`. The first is `fleet`, the last is `summary`; the findings of a
/// host follow its line, hosts stand in the order of their names, groups and outliers after all hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// What this is.
    Fleet {
        /// Always `narrows/fleet/1`.
        schema: String,
        /// The program that made it.
        tool: Tool,
        /// The earlier run that was compared with, if one was.
        since: Option<String>,
    },
    Host {
        /// What is known of it.
        #[serde(flatten)]
        host: Box<Host>,
        /// With an earlier run: `new` or `same`; `gone` when there is no capture of it any more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<Change>,
    },
    /// A finding of the host above.
    Finding {
        host: String,
        /// What was found.
        #[serde(flatten)]
        found: Box<Found>,
        /// With an earlier run: what became of it since.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<Change>,
    },
    /// A link that runs at something else than in the earlier run.
    LinkChange {
        host: String,
        /// The link as it is.
        #[serde(flatten)]
        link: Link,
        /// What it ran at before.
        before: Option<String>,
    },
    /// What several hosts of a model have in common.
    Group(Group),
    /// A host that differs from nearly all others of its model.
    Outlier(Outlier),
    /// The whole in numbers.
    Summary(Summary),
}

impl Record {
    /// The first line.
    pub fn head(since: Option<String>) -> Self {
        Self::Fleet { schema: SCHEMA.to_owned(), tool: tool(), since }
    }
}

/// A host, and what became of it since an earlier run when there was one.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'h> {
    pub host: &'h Host,
    /// What changed on it.
    pub changes: Option<&'h Changes>,
    /// What became of the host itself.
    pub change: Option<Change>,
}

impl Entry<'_> {
    /// The lines of this host.
    pub fn records(&self) -> Vec<Record> {
        let name = || self.host.host.clone();
        let finding =
            |found: &Found, change| Record::Finding { host: name(), found: Box::new(found.clone()), change };
        let mut records = vec![Record::Host { host: Box::new(self.host.clone()), change: self.change }];
        let change = |index: usize| self.changes?.findings.get(index).copied();
        let findings = self.host.findings.iter().enumerate();
        records.extend(findings.map(|(index, found)| finding(found, change(index))));
        if let Some(changes) = self.changes {
            records.extend(changes.gone.iter().map(|found| finding(found, Some(Change::Gone))));
            records.extend(changes.links.iter().map(|changed| Record::LinkChange {
                host: name(),
                link: changed.link.clone(),
                before: changed.before.clone(),
            }));
        }
        records
    }
}

/// Each host with what is found on it now, as the records of a fleet have them.
pub fn hosts(records: &[Record]) -> Vec<Host> {
    let mut hosts: Vec<Host> = Vec::new();
    for record in records {
        match record {
            // Its findings stand behind it, also where the host brings them along.
            Record::Host { host, .. } => hosts.push(Host { findings: Vec::new(), ..(**host).clone() }),
            Record::Finding { host, found, change } if *change != Some(Change::Gone) => {
                if let Some(last) = hosts.last_mut().filter(|last| last.host == *host) {
                    last.findings.push((**found).clone());
                }
            }
            _ => {}
        }
    }
    hosts
}
