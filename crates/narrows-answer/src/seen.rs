//! Results that were pasted: what did another tool measure? Texts are shown to the parsers of results, and to the readers of
//! captures beside them.

use std::io::Read;

use narrows_machine::Machine;
use narrows_model::path::build;
use narrows_paste::capture::{Taken, Text, Viewer, at_each};
use narrows_paste::results::surroundings::Surroundings;
use narrows_paste::results::{Imported, Long, Measured, Page, add, complete, read, unread};
use narrows_report::text::reply::Pasted;
use narrows_verdict::Subject;

/// So many bytes of texts are kept to be quoted.
const MOST_QUOTED: usize = 8 << 20;

/// What the parsers of results found.
#[derive(Debug, Default)]
pub struct Seen {
    /// The results, in the order in which they were given.
    pub results: Vec<Imported>,
    /// What stands beside them.
    pub around: Surroundings,
    /// Lines that look like results in texts where none could be read.
    pub unread: Vec<String>,
    /// The texts themselves, where they are kept to be quoted.
    pub pasted: Option<Pasted>,
    /// Whether nobody asks for the results: then only texts in which no reader of captures found anything are looked at, to say
    /// whether they are known.
    is_machine_only: bool,
}

impl Viewer for Seen {
    fn see(&mut self, text: &Text, is_known: bool) -> bool {
        if self.is_machine_only && is_known {
            return true;
        }
        if let Some(Pasted(texts)) = &mut self.pasted
            && text.body().len() + texts.iter().map(|(_, text)| text.len()).sum::<usize>() <= MOST_QUOTED
        {
            texts.push((text.name().to_owned(), text.body().to_owned()));
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
    /// Nothing as yet, and what is seen is kept to be quoted.
    pub fn to_quote() -> Self {
        Self { pasted: Some(Pasted::default()), ..Self::default() }
    }

    /// Nothing as yet, and nobody will ask for results: a fleet is judged by its machines.
    pub fn of_machines() -> Self {
        Self { is_machine_only: true, ..Self::default() }
    }

    /// The target of each measurement, where all have one; in the order of the texts.
    pub(crate) fn targets(&self) -> Vec<String> {
        let targets: Option<Vec<String>> = self.measured().map(|(_, one)| one.work.target.clone()).collect();
        targets.unwrap_or_default()
    }

    fn measured(&self) -> impl Iterator<Item = (&Imported, &Measured)> {
        let all =
            self.results.iter().flat_map(|result| result.measurements.iter().map(move |one| (result, one)));
        all.filter(|(_, one)| !one.memory_only)
    }

    /// The paths of measurements at which the machine was another one, by their places.
    pub(crate) fn at_each(&self, machine: &Machine) -> impl Iterator<Item = (String, Subject)> {
        let later = at_each(machine, &self.targets());
        let places = self.measured().skip(1).map(|(result, one)| format!("{}:{}", result.file, one.line));
        places.zip(later).filter_map(|(place, machine)| {
            let path = build::all(&machine).into_iter().find(|path| path.target.starts_with("/dev/"))?;
            Some((place, Subject::of(path)))
        })
    }

    /// Fills in what stands beside the results.
    pub(crate) fn complete(&mut self) {
        complete(&mut self.results, &self.around);
    }
}
