//! Copies of real files: the view of one, and the words that text and page share.

use super::{CellView, CopyView, LabReport};
use narrows_base::units::human;
use narrows_session::lab::{Copied, ReadFrom};

/// The view of a copy.
pub(super) fn view(copied: &Copied) -> CopyView {
    let mut why = Vec::new();
    if copied.limit.is_none() {
        why.push("limit, limit_share: no time was spent");
    }
    if copied.cached.is_none() {
        why.push("cached: the file system of the source does not tell");
    }
    if copied.first_fault.is_none() {
        why.push("first_fault: there is none");
    }
    let copied = Copied {
        source: copied.source.clone(),
        limit: copied.limit.clone(),
        first_fault: copied.first_fault.clone(),
        ..copied.clone()
    };
    CopyView { how: how(&copied), copied, reason: (!why.is_empty()).then(|| why.join("; ")) }
}

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
pub(super) fn by_rate(report: &LabReport) -> Vec<(&CellView, &CopyView)> {
    let mut found: Vec<(&CellView, &CopyView)> =
        report.cells.iter().filter_map(|cell| Some((cell, cell.copy.as_ref()?))).collect();
    let rate = |copy: &CopyView| copy.copied.bytes_per_second.get();
    found.sort_by(|a, b| rate(b.1).total_cmp(&rate(a.1)));
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
pub(super) fn details(report: &LabReport) -> Vec<(Option<&str>, &str)> {
    let all = by_rate(report);
    match all.split_first() {
        Some(((_, first), rest)) if rest.iter().all(|(_, copy)| copy.how == first.how) => {
            vec![(None, &first.how)]
        }
        _ => all.into_iter().map(|(cell, copy)| (Some(cell.name.as_str()), copy.how.as_str())).collect(),
    }
}
