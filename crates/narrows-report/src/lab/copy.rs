//! Copies of real files: the view of one, and the words that text and page share.

use super::{LabCell, LabReport};
use narrows_base::units::human;
use narrows_session::lab::{Copied, ReadFrom};

/// What was verified and where the source came from.
fn how(copied: &Copied) -> String {
    let files = |count: u64| human::count(count as f64);
    let mut parts = Vec::new();
    if copied.verified_files > 0 {
        parts.push(format!("{} files read back past the page cache", files(copied.verified_files)));
    }
    if copied.verified_by_advice > 0 {
        parts.push(format!("{} files read back, perhaps from memory", files(copied.verified_by_advice)));
    }
    if copied.verified_files + copied.verified_by_advice == 0 {
        parts.push("nothing read back".to_owned());
    }
    if copied.faults > 0 {
        let first = copied.first_fault.as_deref().unwrap_or_default();
        parts.push(format!("{} not copied, first {first}", files(copied.faults)));
    }
    parts.push(match (copied.read_from, copied.cached) {
        (ReadFrom::Memory, Some(part)) => format!("source {} in memory", human::percent(part)),
        (ReadFrom::Memory, None) => "source read through before".to_owned(),
        (ReadFrom::Drive, Some(part)) if part > 0.0 => {
            format!("source from its own drive, {} in memory", human::percent(part))
        }
        (ReadFrom::Drive, _) => "source from its own drive".to_owned(),
    });
    parts.join("; ")
}

/// The cells with a copy, the fastest first.
pub(super) fn by_rate(report: &LabReport) -> Vec<(&LabCell, &Copied)> {
    let mut found: Vec<(&LabCell, &Copied)> =
        report.cells.iter().filter_map(|cell| Some((cell, cell.outcome.copied()?))).collect();
    found.sort_by(|a, b| b.1.bytes_per_second.get().total_cmp(&a.1.bytes_per_second.get()));
    found
}

/// What was copied: `Copy of /srv/photos, 1234 files, 5.68 GB`.
pub(super) fn title(copied: &Copied) -> String {
    let files = human::count(copied.files as f64);
    format!("Copy of {}, {files} files, {}", copied.source, human::bytes(copied.bytes))
}

/// What all rates of copies are.
pub(super) fn meaning(copied: &Copied) -> &'static str {
    match copied.read_from {
        ReadFrom::Memory => {
            "Rates and times include syncing and reading back. The source was read through before each copy, so that its own \
             drive limits none."
        }
        ReadFrom::Drive => {
            "Rates and times include syncing and reading back. The source does not fit into memory and came from its own \
             drive each time, which may limit all copies alike."
        }
    }
}

/// What took most of the time: `destination 61 %`.
pub(super) fn limit(copied: &Copied) -> Option<String> {
    Some(format!("{} {}", copied.limit.as_deref()?, human::percent(copied.limit_share?)))
}

/// What was verified and where the source came from: once where that is the same for all, else by cell.
pub(super) fn details(report: &LabReport) -> Vec<(Option<&str>, String)> {
    let all: Vec<(&str, String)> =
        by_rate(report).into_iter().map(|(cell, copied)| (cell.name.as_str(), how(copied))).collect();
    match all.split_first() {
        Some(((_, first), rest)) if rest.iter().all(|(_, how)| how == first) => vec![(None, first.clone())],
        _ => all.into_iter().map(|(cell, how)| (Some(cell), how)).collect(),
    }
}
