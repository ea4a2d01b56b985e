//! Shows texts to the parsers of results, and to the readers of captures beside them.

use std::io::{self, Read};
use std::path::PathBuf;

use crate::cli::{Failure, facts};
use narrows_machine::Machine;
use narrows_paste::capture::{Gathered, Taken, Text, Viewer, gather_with};
use narrows_paste::results::surroundings::Surroundings;
use narrows_paste::results::{Imported, Long, Page, add, complete, read, unread};
use narrows_verdict::results::{Ground, ResultVerdict, judge_on, judge_results};

/// What the parsers of results found.
#[derive(Debug, Default)]
pub(in crate::cli) struct Seen {
    /// The results, in the order in which they were given.
    pub(in crate::cli) results: Vec<Imported>,
    /// What stands beside them.
    pub(in crate::cli) around: Surroundings,
    /// Lines that look like results in texts where none could be read.
    pub(in crate::cli) unread: Vec<String>,
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
    pub(in crate::cli) fn of_machines() -> Self {
        Self { is_machine_only: true, ..Self::default() }
    }

    /// What is thought of the results, on the machine that the same texts tell of.
    pub(in crate::cli) fn judge(&mut self, machine: &Machine) -> Vec<ResultVerdict> {
        self.complete();
        judge_results(&self.results, &self.around, Some(machine))
    }

    /// Fills in what stands beside the results.
    pub(super) fn complete(&mut self) {
        complete(&mut self.results, &self.around);
    }

    /// What is thought of the results on paths and ceilings; [`Self::complete`] comes first.
    pub(super) fn judge_on(&self, ground: Ground<'_>) -> Vec<ResultVerdict> {
        judge_on(&self.results, &self.around, ground)
    }
}

/// Gathers what is in the files.
///
/// # Errors
/// [`Failure`] when one of them cannot be opened.
pub(super) fn from(files: &[PathBuf], seen: &mut Seen) -> Result<Gathered, Failure> {
    gather_with(files, io::stdin().lock(), seen).map_err(|error| facts::refused(&error))
}
