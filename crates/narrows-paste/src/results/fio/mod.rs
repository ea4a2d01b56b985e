//! fio: its JSON, its normal text and terse output, its logs, and what it says when it fails.
//!
//! Sources: fio's `HOWTO.rst` ("Interpreting the output", "JSON output") and `stat.c`, versions 2.1 to 3.42.

pub mod client;
mod json;
mod log;
mod options;
mod progress;
mod rates;
mod stream;
mod terse;
mod text;

use std::collections::BTreeMap;

use super::{Imported, Measured, Op, Page, Side, Tool};

pub(super) use json::read as read_json;
pub use log::Log;
pub(super) use log::{LogName, LogShape, complete as complete_logs};
pub(super) use progress::read as read_progress;
pub(super) use stream::read as read_long_json;
pub(super) use terse::read as read_terse;
pub(super) use text::read as read_text;

/// Of a job that was printed in several formats into one text (`--output-format=json,normal,terse`) the JSON is kept, or
/// else the normal text: they have more digits. It is dropped job by job, so that what else stands in that text stays. A job
/// is a double of one of a better format when both stand in one text, have the same name, the same number of I/Os in each
/// direction (where that is not told, the same run times; where nothing was moved, the same error), and the same rates as
/// far as they are printed.
pub(super) fn drop_doubles(found: &mut Vec<Imported>) {
    drop_twins_of_json(found);
    let mut kept: BTreeMap<TwinKey, Vec<Rates>> = BTreeMap::new();
    for is_kept in [is_json, is_text] {
        for one in found.iter().filter(|one| one.tool == Tool::Fio && is_kept(one)) {
            for (key, measured) in
                one.measurements.iter().flat_map(|job| keys(&one.file, job).map(move |key| (key, job)))
            {
                kept.entry(key).or_default().push(rates(measured));
            }
        }
        drop_jobs(
            found,
            |one| is_kept(one) || is_json(one),
            |file, measured| {
                let same = keys(file, measured).next().and_then(|best| kept.get(&best));
                same.is_some_and(|all| all.iter().any(|known| are_near(known, &rates(measured))))
            },
        );
    }
    join_failures(found);
}

/// Drops what normal text says of jobs that stand as JSON in the same text, where a quotation broke the name or the counts
/// by which they are known.
fn drop_twins_of_json(found: &mut Vec<Imported>) {
    let of_json = found.iter().filter(|one| one.tool == Tool::Fio && is_json(one));
    let of_json: Vec<(Imported, Rates)> = of_json.map(|one| (one.clone(), sums(one))).collect();
    drop_jobs(found, is_json, |file, text| {
        of_json.iter().filter(|(document, _)| document.file == file).any(|(document, sums)| {
            document.measurements.iter().any(|json| are_twins(json, text)) || is_sum(text, sums)
        })
    });
}

/// The rates of all jobs of a document together, by direction.
fn sums(result: &Imported) -> Rates {
    let sum = |op: Op| {
        let sides = result.measurements.iter().filter_map(|one| one.side(op));
        sides.map(|side| side.bytes_per_second.get()).sum::<f64>()
    };
    [Op::Read, Op::Write].map(|op| (op, sum(op))).into_iter().filter(|(_, rate)| *rate > 0.0).collect()
}

/// Whether normal text has nothing of a run but the rates of its group, which are those of a document.
fn is_sum(text: &Measured, sums: &Rates) -> bool {
    let is_rate_alone = |side: &Side| side.iops.is_none() && side.latency_ns.is_none();
    let is_group = text.work.label.is_empty() && text.sides().all(|(_, side)| is_rate_alone(side));
    is_group && !sums.is_empty() && are_near(&rates(text), sums)
}

/// Drops the jobs of fio that are doubles, by the text that they stand in, and results of which no job is left. Results that
/// `stay` are not asked.
fn drop_jobs(
    found: &mut Vec<Imported>,
    stay: impl Fn(&Imported) -> bool,
    is_double: impl Fn(&str, &Measured) -> bool,
) {
    found.retain_mut(|one| {
        let before = one.measurements.len();
        if one.tool != Tool::Fio || before == 0 || stay(one) {
            return true;
        }
        let first = one.measurements.first().map(|measured| measured.line);
        one.measurements.retain(|measured| !is_double(&one.file, measured));
        if one.measurements.len() < before {
            one.failures = json::failures(&one.measurements);
        }
        let Some(line) = one.measurements.first().map(|measured| measured.line) else { return false };
        if first != Some(line) {
            one.line = line;
        }
        true
    });
}

/// Whether two jobs have the same directions, each with the same rate and mean latency as far as normal text prints
/// them: three digits and more of a rate, four and more of a latency.
fn are_twins(json: &Measured, text: &Measured) -> bool {
    let mean = |side: &Side| side.latency_ns.as_ref().and_then(|latency| latency.mean);
    let is_same = |(op, side): (Op, &Side)| {
        json.side(op).is_some_and(|other| {
            is_near(side.bytes_per_second.get(), other.bytes_per_second.get(), OF_RATE)
                && mean(side).zip(mean(other)).is_some_and(|(a, b)| is_near(a, b, 0.001))
        })
    };
    text.sides().next().is_some() && text.sides().all(is_same)
}

/// How far two formats round the same rate apart: normal text has three digits and more.
const OF_RATE: f64 = 0.006;

fn is_near(a: f64, b: f64, part: f64) -> bool {
    (a - b).abs() <= a.abs().max(b.abs()) * part
}

/// Rates in bytes per second, by direction.
type Rates = Vec<(Op, f64)>;

fn rates(measured: &Measured) -> Rates {
    measured.sides().map(|(op, side)| (op, side.bytes_per_second.get())).collect()
}

/// Whether two jobs have the same directions with the same rates as far as any format prints them: terse output cuts off
/// what is below one KiB per second.
fn are_near(some: &Rates, others: &Rates) -> bool {
    let is_same = |((op, a), (other, b)): (&(Op, f64), &(Op, f64))| {
        op == other && (is_near(*a, *b, OF_RATE) || (a - b).abs() <= 1024.0)
    };
    some.len() == others.len() && some.iter().zip(others).all(is_same)
}

/// What makes a job the same: the text it stands in, its name, and numbers of one kind.
type TwinKey = (String, String, &'static str, Vec<u64>);

/// The keys of a job, the best first: I/Os in each direction, run times in each direction, the error of a job that moved
/// nothing.
fn keys(file: &str, measured: &Measured) -> impl Iterator<Item = TwinKey> {
    let ios: Vec<u64> = measured.sides().filter_map(|(_, side)| side.ios).collect();
    let times = measured.sides().filter_map(|(_, side)| Some(side.elapsed_ns?.get())).collect();
    let is_void = measured.sides().next().is_none();
    let error: Vec<u64> = is_void.then(|| measured.error.unsigned_abs()).into_iter().collect();
    let (file, label) = (file.to_owned(), measured.work.label.clone());
    [("I/Os", ios), ("times", times), ("error", error)]
        .into_iter()
        .filter(|(_, numbers)| !numbers.is_empty())
        .map(move |(kind, numbers)| (file.clone(), label.clone(), kind, numbers))
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

/// The messages of fio in a text, as one result without measurements.
pub(super) fn read_failures(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Option<Imported> = None;
    for (number, line) in page.lines() {
        let Some(message) = failure_message(line.trim_start_matches('\u{feff}').trim()) else { continue };
        let result = found.get_or_insert_with(|| Imported::new(Tool::Fio, page.name, number));
        if result.failures.len() < MOST_FAILURES && !result.failures.iter().any(|known| known == message) {
            result.failures.push(message.to_owned());
        }
    }
    found.into_iter().collect()
}

/// The most messages that are kept: a failed verification prints one for each block.
const MOST_FAILURES: usize = 8;

/// The line, when it is a message of fio that a run failed or ended early (fio's `log_err` and `td_verror` calls).
fn failure_message(line: &str) -> Option<&str> {
    let is_failure = match line.split_once(": ") {
        Some(("fio", rest)) => {
            rest.starts_with("terminating on signal")
                || rest.starts_with("pid=") && rest.contains("err=")
                || rest.starts_with("job <") && rest.contains("error")
                || rest.contains("failed")
                || rest.contains("engine") && rest.contains("not loadable")
                || rest.starts_with("io_u error")
                || rest.starts_with("first I/O failed")
        }
        Some(("verify", rest)) => rest.starts_with("bad ") || rest.contains("verify failed"),
        Some(("error", rest)) => rest.starts_with("failed to setup shm segment"),
        Some((verify, _)) => verify.ends_with("verify failed at file"),
        None => line.contains("verify failed at file"),
    };
    is_failure.then_some(line)
}

#[cfg(test)]
mod tests;
