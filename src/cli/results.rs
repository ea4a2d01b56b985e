//! Results that were pasted: what did another tool measure, and is it to be believed? Texts are shown to the parsers of results, and
//! to the readers of captures beside them; results are put against the paths of the targets that they name, and ceilings that were
//! stated.

use std::collections::BTreeMap;
use std::io::Read;

use super::answer::AnswerArgs;
use super::values::rate;
use super::{Failure, output, target};
use narrows_machine::Machine;
use narrows_machine::root::Root;
use narrows_model::ceiling::{Ceilings, Direction};
use narrows_model::path::{Path, Target, build};
use narrows_paste::capture::{Taken, Text, Viewer, at_each};
use narrows_paste::results::surroundings::Surroundings;
use narrows_paste::results::{Imported, Long, Measured, Page, add, complete, read, unread};
use narrows_report::text::reply::Pasted;
use narrows_report::view::{JudgedResult, judged};
use narrows_verdict::Subject;
use narrows_verdict::results::against::Stated;
use narrows_verdict::results::sweep::{Sweep, sweeps};
use narrows_verdict::results::{Ground, judge_on};

/// So many bytes of texts are kept to be quoted.
const MOST_QUOTED: usize = 8 << 20;

/// What the parsers of results found.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The results, in the order in which they were given.
    pub(super) results: Vec<Imported>,
    /// What stands beside them.
    pub(super) around: Surroundings,
    /// Lines that look like results in texts where none could be read.
    pub(super) unread: Vec<String>,
    /// The texts themselves, where they are kept to be quoted.
    pub(super) pasted: Option<Pasted>,
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
    pub(super) fn to_quote() -> Self {
        Self { pasted: Some(Pasted::default()), ..Self::default() }
    }

    /// Nothing as yet, and nobody will ask for results: a fleet is judged by its machines.
    pub(super) fn of_machines() -> Self {
        Self { is_machine_only: true, ..Self::default() }
    }

    /// What is thought of the results, on the machine that the same texts tell of or that was asked for, on `paths` and those of
    /// the targets that they name; and series of them. Lines that look like results and could not be read are said.
    ///
    /// # Errors
    /// [`Failure`] when the typed target is not there.
    pub(super) fn judge(
        &mut self,
        (root, machine): (&Root, &Machine),
        paths: &[Path],
        (args, is_here): (&AnswerArgs, bool),
    ) -> Result<(Vec<JudgedResult>, Vec<Sweep>), Failure> {
        self.unread.iter().for_each(|line| output::note(&format!("narrows: {line}")));
        if self.results.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        let default = match paths {
            [one] => Some(Subject::of(one.clone())),
            _ => None,
        };
        let mut named = named(root, machine, &self.results, is_here && default.is_none());
        named.extend(self.at_each(machine));
        let subjects = named.values().chain(&default);
        for subject in subjects.filter(|subject| is_here && !has_ceiling(subject)) {
            output::note(&format!(
                "narrows: no hop of the path to `{}` has a known ceiling, so nothing can be put against it",
                subject.path.target
            ));
        }
        let ground = Ground {
            machine: Some(machine),
            paths: &named,
            default: default.as_ref(),
            stated: &args.ceiling,
        };
        let verdicts = judge_on(&self.results, &self.around, ground);
        Ok((judged(&self.results, &verdicts), sweeps(&self.results, &args.ceiling)))
    }

    /// The target of each measurement, where all have one; in the order of the texts.
    pub(super) fn targets(&self) -> Vec<String> {
        let targets: Option<Vec<String>> = self.measured().map(|(_, one)| one.work.target.clone()).collect();
        targets.unwrap_or_default()
    }

    fn measured(&self) -> impl Iterator<Item = (&Imported, &Measured)> {
        let all =
            self.results.iter().flat_map(|result| result.measurements.iter().map(move |one| (result, one)));
        all.filter(|(_, one)| !one.memory_only)
    }

    /// The paths of measurements at which the machine was another one, by their places.
    fn at_each(&self, machine: &Machine) -> impl Iterator<Item = (String, Subject)> {
        let later = at_each(machine, &self.targets());
        let places = self.measured().skip(1).map(|(result, one)| format!("{}:{}", result.file, one.line));
        places.zip(later).filter_map(|(place, machine)| {
            let path = build::all(&machine).into_iter().find(|path| path.target.starts_with("/dev/"))?;
            Some((place, Subject::of(path)))
        })
    }

    /// Fills in what stands beside the results.
    pub(super) fn complete(&mut self) {
        complete(&mut self.results, &self.around);
    }
}

/// The path of each target that a result names and that is on the machine; a note says which are not, where that is
/// `asked`.
fn named(root: &Root, machine: &Machine, results: &[Imported], asked: bool) -> BTreeMap<String, Subject> {
    let mut found = BTreeMap::new();
    for name in names(results) {
        if let Some(path) = resolve(root, machine, name).and_then(|target| build::path(machine, &target)) {
            found.insert(name.to_owned(), Subject::of(path));
        } else if asked {
            output::note(&format!(
                "narrows: `{name}` is not on this machine; name the device that it was beside the file"
            ));
        }
    }
    found
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
    let found = target::resolve(root, machine, name).ok().or_else(|| {
        let parent = name.trim_end_matches('/').rsplit_once('/').map(|(parent, _)| parent)?;
        let is_place = !parent.is_empty() && !name.starts_with("/dev/");
        is_place.then(|| target::resolve(root, machine, parent).ok()).flatten()
    })?;
    let is_root = match &found {
        Target::Mount { index, .. } => machine.mounts.get(*index).is_some_and(|mount| mount.point == "/"),
        _ => false,
    };
    (!is_root || root.is_live() && machine.captured.is_none()).then_some(found)
}

/// Reads `NAME=RATE`, such as `EDR=96GB/s`, `wire=25Gbit/s` or `slot=400MB/s`.
pub(super) fn stated(text: &str) -> Result<Stated, String> {
    let (name, typed) = text.split_once('=').ok_or("it is not NAME=RATE, such as EDR=96GB/s")?;
    let rate = rate(typed)?;
    if name.trim().is_empty() || !typed.ends_with("/s") {
        return Err(format!("`{text}` is not NAME=RATE, such as EDR=96GB/s"));
    }
    Ok(Stated { name: name.trim().to_owned(), rate })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_ceiling_has_a_name_and_a_unit() {
        let of = |text: &str| stated(text).map(|one| (one.name, one.rate.get()));
        assert_eq!(of("EDR=96GB/s"), Ok(("EDR".to_owned(), 96e9)));
        assert_eq!(of("wire = 25 Gbit/s"), Ok(("wire".to_owned(), 3.125e9)));
        for text in ["96GB/s", "x=96", "x=GB/s", "=1GB/s", "x=0GB/s", "x=1MB"] {
            assert!(of(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,30}") {
            let _ = stated(&text);
        }
    }
}
