//! How often the right hop was named: what was injected against what was named, by kind of hop.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "the rig's results are for standard output and a file"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Serialize;

use super::error::{Result, RigError};

/// What one check expected and got.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The hop that was injected as the bottleneck, or only its kind; `None` where a check expects none.
    pub(crate) injected: Option<String>,
    /// The hop that was named.
    pub(crate) named: Option<String>,
    /// Whether the injected hop is the one that was named.
    pub(crate) right: bool,
    /// How many findings there were of severities that a healthy machine must not have; `None` where it is not healthy.
    pub(crate) false_alarms: Option<usize>,
}

/// All answers of a run, counted.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Confusion {
    /// Checks that expect a certain limiting hop.
    pub(crate) checks: usize,
    /// Those of them in which it was named.
    pub(crate) right: usize,
    /// The quotient of both; `None` when there is no such check.
    pub(crate) share_right: Option<f64>,
    /// Checks of machines on which nothing is wrong.
    pub(crate) healthy: usize,
    /// Those of them with a finding all the same.
    pub(crate) false_alarms: usize,
    /// How often each kind of hop was named, by the kind that was injected.
    pub(crate) named_by_injected: BTreeMap<String, BTreeMap<String, usize>>,
    /// Where another hop was named than the injected one.
    pub(crate) wrong: Vec<Wrong>,
}

/// A check that named another hop.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Wrong {
    /// The scenario.
    pub(crate) scenario: String,
    /// The hop, or the kind of hop, that was injected.
    pub(crate) injected: String,
    /// The hop that was named.
    pub(crate) named: Option<String>,
}

impl Confusion {
    /// Counts the answers of scenarios.
    pub(crate) fn count<'a>(answers: impl Iterator<Item = (&'a str, &'a Answer)>) -> Self {
        let mut confusion = Self::default();
        for (scenario, answer) in answers {
            if let Some(alarms) = answer.false_alarms {
                confusion.healthy += 1;
                confusion.false_alarms += usize::from(alarms > 0);
            }
            if let Some(injected) = &answer.injected {
                confusion.add(scenario, injected, answer);
            }
        }
        let share = confusion.right as f64 / confusion.checks as f64;
        confusion.share_right = (confusion.checks > 0).then_some(share);
        confusion
    }

    fn add(&mut self, scenario: &str, injected: &str, answer: &Answer) {
        self.checks += 1;
        self.right += usize::from(answer.right);
        let named = answer.named.as_deref().map_or(NOTHING, kind);
        let row = self.named_by_injected.entry(kind(injected).to_owned()).or_default();
        *row.entry(named.to_owned()).or_default() += 1;
        if !answer.right {
            let (scenario, injected) = (scenario.to_owned(), injected.to_owned());
            self.wrong.push(Wrong { scenario, injected, named: answer.named.clone() });
        }
    }

    /// The table and the shares, for people.
    pub(crate) fn lines(&self) -> Vec<String> {
        let columns: BTreeSet<&str> =
            self.named_by_injected.values().flat_map(|row| row.keys().map(String::as_str)).collect();
        let width = |column: &str| column.len().max(5);
        let head = columns.iter().map(|column| format!("  {column:>0$}", width(column)));
        let mut lines = vec![format!("{CORNER}{}", head.collect::<String>())];
        for (injected, row) in &self.named_by_injected {
            let cells = columns.iter().map(|column| {
                let count = row.get(*column).map_or_else(|| "·".to_owned(), ToString::to_string);
                format!("  {count:>0$}", width(column))
            });
            lines.push(format!("{injected:<0$}{cells}", CORNER.len(), cells = cells.collect::<String>()));
        }
        for wrong in &self.wrong {
            let named = wrong.named.as_deref().unwrap_or(NOTHING);
            lines.push(format!("wrong: {}: injected {}, named {named}", wrong.scenario, wrong.injected));
        }
        let share = self.share_right.map_or_else(String::new, |share| format!(" ({:.1} %)", share * 100.0));
        lines.push(format!(
            "{} of {} limits attributed to the right hop{share}; false alarms on {} of {} healthy machines",
            self.right, self.checks, self.false_alarms, self.healthy
        ));
        lines
    }

    /// Prints the table and writes `confusion.json`.
    pub(crate) fn finish(&self, target: &Path) -> Result<()> {
        if self.checks + self.healthy > 0 {
            println!("\n{}", self.lines().join("\n"));
        }
        let path = target.join("confusion.json");
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        fs::write(&path, text + "\n").map_err(RigError::file(&path))
    }
}

const CORNER: &str = "injected \\ named";
const NOTHING: &str = "nothing";

/// The kind of a hop, from its id.
fn kind(hop: &str) -> &str {
    hop.split(':').next().unwrap_or(hop)
}
