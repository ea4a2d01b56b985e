//! fio: its JSON, its normal text and terse output, its logs, and what it says when it fails.
//!
//! Sources: fio's `HOWTO.rst` ("Interpreting the output", "JSON output") and `stat.c`, versions 2.1 to 3.42.

pub mod client;
mod failure;
mod json;
mod lines;
mod log;
mod options;
mod rates;
mod stream;
mod terse;
mod text;

pub(super) use failure::read as read_failures;
pub(super) use json::read as read_json;
pub use log::Log;
pub(super) use log::{Name, Shape, complete as complete_logs};
pub(super) use stream::read as read_long_json;
pub(super) use terse::read as read_terse;
pub(super) use text::read as read_text;

use std::collections::{BTreeMap, BTreeSet};

use super::{Imported, Measured, Op, Side, Tool};

/// Of a run that was printed in several formats into one file (`--output-format=json,normal,terse`) the JSON is kept: it
/// has more digits. Two results are one when they stand in one text and every job of one has a job of the same name in
/// the other, with the same number of I/Os, or where that is not told, the same run times.
pub(super) fn drop_doubles(found: &mut Vec<Imported>) {
    let mut kept: BTreeSet<Key> = BTreeSet::new();
    drop_twins_of_json(found);
    for is_kept in [is_json, is_text] {
        for one in found.iter().filter(|one| one.tool == Tool::Fio && is_kept(one)) {
            kept.extend(one.measurements.iter().flat_map(|measured| keys(one, measured)));
        }
        found.retain(|one| {
            let is_known =
                |measured: &Measured| keys(one, measured).next().is_some_and(|best| kept.contains(&best));
            let all_known = !one.measurements.is_empty() && one.measurements.iter().all(is_known);
            one.tool != Tool::Fio || is_kept(one) || is_json(one) || !all_known
        });
    }
    join_failures(found);
}

/// Drops what normal text says of jobs that stand as JSON in the same text, where a quotation broke the name or the counts
/// by which they are known.
fn drop_twins_of_json(found: &mut Vec<Imported>) {
    let of_json: Vec<(String, Measured)> = found
        .iter()
        .filter(|one| one.tool == Tool::Fio && is_json(one))
        .flat_map(|one| one.measurements.iter().map(|measured| (one.file.clone(), measured.clone())))
        .collect();
    found.retain(|one| {
        let has_twin =
            |text: &Measured| of_json.iter().any(|(file, json)| *file == one.file && are_twins(json, text));
        let all_known = !one.measurements.is_empty() && one.measurements.iter().all(has_twin);
        one.tool != Tool::Fio || is_json(one) || !all_known
    });
}

/// Whether two jobs have the same directions, each with the same rate and mean latency as far as normal text prints
/// them: three digits and more of a rate, four and more of a latency.
fn are_twins(json: &Measured, text: &Measured) -> bool {
    let is_near = |a: f64, b: f64, part: f64| (a - b).abs() <= a.abs().max(b.abs()) * part;
    let mean = |side: &Side| side.latency_ns.as_ref().and_then(|latency| latency.mean);
    let is_same = |(op, side): (Op, &Side)| {
        json.sides().any(|(other_op, other)| {
            other_op == op
                && is_near(side.bytes_per_second.get(), other.bytes_per_second.get(), 0.006)
                && mean(side).zip(mean(other)).is_some_and(|(a, b)| is_near(a, b, 0.001))
        })
    };
    text.sides().next().is_some() && text.sides().all(is_same)
}

/// What makes a job the same: the text it stands in, its name, and its counts of I/Os or its run times.
type Key = (String, String, Vec<u64>, bool);

/// The keys of a job, the best first.
fn keys(one: &Imported, measured: &Measured) -> impl Iterator<Item = Key> {
    let counts: Vec<u64> = measured.sides().filter_map(|(_, side)| side.ios).collect();
    let times: Vec<u64> = measured
        .sides()
        .filter_map(|(_, side)| side.elapsed_ns)
        .map(narrows_base::units::Nanos::get)
        .collect();
    let (file, label) = (one.file.clone(), measured.work.label.clone());
    let by_count = (!counts.is_empty()).then(|| (file.clone(), label.clone(), counts, true));
    by_count.into_iter().chain((!times.is_empty()).then_some((file, label, times, false)))
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

/// A result from normal text has counts of I/Os, which terse output has not.
fn is_text(one: &Imported) -> bool {
    one.measurements.iter().any(|measured| measured.sides().any(|(_, side)| side.ios.is_some()))
}

/// A result from JSON has a count of I/Os and a second rate for each side.
fn is_json(one: &Imported) -> bool {
    one.measurements.iter().any(|measured| measured.sides().any(|(_, side)| side.second_rate.is_some()))
}
