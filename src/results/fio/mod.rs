//! fio: its JSON, its normal text, and what it says when it fails.
//!
//! Sources: fio's `HOWTO.rst` ("Interpreting the output", "JSON output") and `stat.c`, versions 2.1 to 3.42.

mod failure;
mod json;
mod log;
mod options;
mod terse;
mod text;

pub(super) use failure::read as read_failures;
pub(super) use json::read as read_json;
pub use log::Log;
pub(super) use log::complete as complete_logs;
pub(super) use terse::read as read_terse;
pub(super) use text::read as read_text;

use std::collections::BTreeMap;

use super::{Imported, Tool};

/// Of a run that was printed as JSON and as text in one file (`--output-format=json,normal`) the JSON is kept: it has
/// more digits. The two are one when they stand in one text and a job has the same name and the same number of I/Os.
pub(super) fn drop_doubles(found: &mut Vec<Imported>) {
    let of_json = found.iter().filter(|one| one.tool == Tool::Fio && is_json(one));
    let kept: Vec<(String, Vec<Key>)> = of_json.map(|one| (one.file.clone(), keys(one))).collect();
    found.retain(|one| {
        let own = keys(one);
        let is_double = |(file, known): &(String, Vec<Key>)| {
            *file == one.file && !own.is_empty() && own.iter().all(|key| known.contains(key))
        };
        one.tool != Tool::Fio || is_json(one) || !kept.iter().any(is_double)
    });
    join_failures(found);
}

/// What makes a job the same: its name and its counts of I/Os.
type Key = (String, Vec<u64>);

fn keys(one: &Imported) -> Vec<Key> {
    let counts = |measured: &super::Measured| measured.sides().filter_map(|(_, side)| side.ios).collect();
    one.measurements.iter().map(|one| (one.work.label.clone(), counts(one))).collect()
}

/// Fills in the options of job files. A job has the name of its section.
pub(super) fn complete(results: &mut [Imported], jobs: &BTreeMap<String, options::Options>) {
    let of_fio = results.iter_mut().filter(|one| one.tool == Tool::Fio);
    for measured in of_fio.flat_map(|one| &mut one.measurements) {
        let name = measured.work.label.split(" on ").next().unwrap_or_default();
        if let Some(options) = jobs.get(name) {
            options::fill(&mut measured.work, &options::canonical_names(options), true);
        }
    }
}

/// What fio says on its way belongs to the result that it comes before, in the same text.
fn join_failures(found: &mut Vec<Imported>) {
    let is_lone = |one: &Imported| one.tool == Tool::Fio && one.measurements.is_empty();
    let files: Vec<String> = found.iter().filter(|one| is_lone(one)).map(|one| one.file.clone()).collect();
    for file in files {
        let Some(at) = found.iter().position(|one| is_lone(one) && one.file == file) else { continue };
        let Some(target) =
            found.iter().position(|one| one.tool == Tool::Fio && !is_lone(one) && one.file == file)
        else {
            continue;
        };
        let lone = found.remove(at);
        let target = if target > at { target - 1 } else { target };
        if let Some(result) = found.get_mut(target) {
            result.failures.extend(lone.failures);
        }
    }
}

/// A result from JSON has a count of I/Os and a second rate for each side.
fn is_json(one: &Imported) -> bool {
    one.measurements.iter().any(|measured| measured.sides().any(|(_, side)| side.second_rate.is_some()))
}
