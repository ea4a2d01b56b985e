//! An end to results that texts make without end.

use narrows_base::units::human;

use super::{Imported, Page, Tool, parse};
use crate::text::{bare, pieces};

/// So many measurements are kept of any texts. Each takes some twenty kilobytes until it is shown (20 MB of 1,003 reports of hdparm,
/// by `valgrind --tool=massif`).
const FEW: usize = 1000;

/// Then one for so many bytes: forty times the text is what may be taken.
const EACH: usize = 640;

/// More are never kept: no report of more is read by anybody, and clients of fio have some thousand jobs.
pub const MOST_MEASUREMENTS: usize = 10_000;

/// How many measurements are still kept. A result without any counts as one.
struct Room(usize);

impl Room {
    fn beside(kept: &[Imported], bytes: usize) -> Self {
        let bytes = kept.iter().map(|one| one.bytes).fold(bytes, usize::saturating_add);
        let measurements: usize = kept.iter().map(cost).sum();
        Self((FEW + bytes / EACH).min(MOST_MEASUREMENTS).saturating_sub(measurements))
    }

    /// How many of so many there is room for.
    fn take(&mut self, measurements: usize) -> usize {
        let taken = measurements.min(self.0);
        self.0 -= taken;
        taken
    }
}

fn cost(one: &Imported) -> usize {
    one.measurements.len().max(1)
}

/// As much of a text as has the results that are kept, and how many more there are in the rest. A long text is looked at in
/// pieces, of which each is forgotten before the next.
pub(super) fn beginning<'a>(page: &Page<'a>) -> (Page<'a>, usize) {
    let (mut room, mut last, mut left_out) = (Room::beside(&[], page.body.len()), page.body.len(), 0);
    for (end, piece) in pieces(page.body, FEW) {
        let is_left = room.0 > 0;
        let found = parse(&Page { name: page.name, body: &bare(&piece) });
        // A counter of devices that lasts is one result, in however many pieces.
        let found = found.iter().filter(|one| !matches!(one.tool, Tool::Iostat | Tool::Zpooliostat));
        for count in found.filter(|one| !one.is_empty()).map(cost) {
            let taken = room.take(count);
            left_out += if is_left { 0 } else { count - taken };
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
    let mut room = Room::beside(kept, found.iter().map(|one| one.bytes).sum());
    for mut one in found {
        let count = cost(&one);
        let taken = room.take(count);
        if taken > 0 {
            one.measurements.truncate(taken);
            one.failures.truncate(FEW);
            one.left_out += count - taken;
            kept.push(one);
        } else if let Some(last) = kept.last_mut() {
            last.left_out += one.left_out + count;
            last.bytes += one.bytes;
        }
    }
}

/// Notes with the last of all results that others behind it were left out.
pub(super) fn tell(results: &mut [Imported]) {
    let kept: usize = results.iter().map(cost).sum();
    let left_out: usize = results.iter_mut().map(|one| std::mem::take(&mut one.left_out)).sum();
    if let Some(last) = results.last_mut().filter(|_| left_out > 0) {
        last.notes.push(format!(
            "the first {} measurements of what was given are kept, and {} further results were left out: split the text, or name \
             fewer files",
            human::grouped(kept as u64),
            human::grouped(left_out as u64)
        ));
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
        for count in [FEW, FEW + 200, 9 * FEW] {
            let bodies = [reports(count), reports(3)];
            let mut all = Vec::new();
            bodies.iter().for_each(|body| add(&mut all, read(&Page { name: "x", body })));
            complete(&mut all, &super::super::surroundings::Surroundings::default());
            let room = FEW + bodies.iter().map(String::len).sum::<usize>() / EACH;
            assert_eq!(all.len(), room.min(count + 3));
            let said =
                format!("{} further results were left out", human::grouped((count + 3 - all.len()) as u64));
            let is_said = all.last().is_some_and(|one| one.notes.iter().any(|note| note.contains(&said)));
            assert_eq!(is_said, count + 3 > room, "{count}: {said}");
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
