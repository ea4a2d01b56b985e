//! An end to results that texts make without end: a thousand of them take some ten megabytes until they are shown.

use narrows_base::units::human;

use super::{Imported, Page, Tool, parse};
use crate::text::{bare, pieces};

/// So many results are kept of all texts together. No report of more is read by anybody.
const MOST_RESULTS: usize = 2000;

/// So many measurements are kept, of all results together: clients of fio have some thousand jobs.
pub const MOST_MEASUREMENTS: usize = 10_000;

/// What is still kept.
struct Room {
    results: usize,
    measurements: usize,
}

impl Room {
    fn beside(kept: &[Imported]) -> Self {
        let measurements: usize = kept.iter().map(|one| one.measurements.len()).sum();
        Self {
            results: MOST_RESULTS.saturating_sub(kept.len()),
            measurements: MOST_MEASUREMENTS.saturating_sub(measurements),
        }
    }

    /// Whether there was room for a result with so many measurements.
    const fn takes(&mut self, measurements: usize) -> bool {
        let is_left = self.results > 0 && self.measurements > 0;
        self.results = self.results.saturating_sub(1);
        self.measurements = self.measurements.saturating_sub(measurements);
        is_left
    }
}

/// As much of a text as has the results that are kept, and how many more there are in the rest. A long text is looked at in
/// pieces, of which each is forgotten before the next.
pub(super) fn beginning<'a>(page: &Page<'a>) -> (Page<'a>, usize) {
    let (mut room, mut last, mut left_out) = (Room::beside(&[]), page.body.len(), 0);
    for (end, piece) in pieces(page.body, MOST_RESULTS) {
        let is_left = room.results > 0 && room.measurements > 0;
        let found = parse(&Page { name: page.name, body: &bare(&piece) });
        // A counter of devices that lasts is one result, in however many pieces.
        let found = found.iter().filter(|one| !matches!(one.tool, Tool::Iostat | Tool::Zpooliostat));
        for count in found.filter(|one| !one.is_empty()).map(|one| one.measurements.len()) {
            let is_taken = room.takes(count) || is_left;
            left_out += if is_taken { 0 } else { count.max(1) };
        }
        if is_left {
            last = end;
        }
    }
    let body = page.body.get(..last).unwrap_or(page.body);
    (Page { name: page.name, body }, left_out)
}

/// Adds results to those that are kept; what is beyond the bound is counted with the last of them, which says so.
pub fn add(kept: &mut Vec<Imported>, found: Vec<Imported>) {
    let mut room = Room::beside(kept);
    for mut one in found {
        let beyond = one.measurements.len().saturating_sub(room.measurements);
        if room.takes(one.measurements.len()) {
            one.measurements.truncate(one.measurements.len() - beyond);
            one.failures.truncate(MOST_RESULTS);
            one.left_out += beyond;
            kept.push(one);
        } else if let Some(last) = kept.last_mut() {
            last.left_out += one.left_out + one.measurements.len().max(1);
        }
    }
}

impl Imported {
    /// That results behind this one were left out, if any were.
    pub fn without(&self) -> Option<String> {
        let count = |count: usize| human::grouped(count as u64);
        (self.left_out > 0).then(|| {
            format!(
                "the first {} results are read, with {} measurements; {} further results were left out: split the text, or \
                 name fewer files",
                count(MOST_RESULTS),
                count(MOST_MEASUREMENTS),
                count(self.left_out)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Page, complete, read};
    use super::*;

    fn reports(count: usize) -> String {
        "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 2.0 s, 537 MB/s\n\n".repeat(count)
    }

    #[test]
    fn what_is_beyond_the_bound_is_counted_wherever_it_stands() {
        for count in [MOST_RESULTS, MOST_RESULTS + 1, 9 * MOST_RESULTS] {
            let mut all = Vec::new();
            add(&mut all, read(&Page { name: "x", body: &reports(count) }));
            add(&mut all, read(&Page { name: "y", body: &reports(3) }));
            complete(&mut all, &super::super::surroundings::Surroundings::default());
            assert_eq!(all.len(), MOST_RESULTS);
            let said = format!(
                "; {} further results were left out",
                human::grouped((count + 3 - MOST_RESULTS) as u64)
            );
            assert!(all[MOST_RESULTS - 1].notes.iter().any(|note| note.contains(&said)), "{count}: {said}");
        }
    }

    #[test]
    fn a_long_text_of_few_results_is_read_whole() {
        let body = format!("{}{}{}", reports(1), "a line of prose\n".repeat(60_000), reports(2));
        let found = read(&Page { name: "x", body: &body });
        assert_eq!(
            found.iter().map(|one| (one.line, one.left_out)).collect::<Vec<_>>(),
            [(1, 0), (60_003, 0), (60_005, 0)]
        );
    }
}
