//! Which columns of the matrix the numbers of a row stand in: tests that did not run leave theirs empty.

use super::of_tests;

/// The whole numbers of a line, each with the place of its last digit.
pub(super) fn cells(line: &str) -> Vec<(u64, usize)> {
    let mut cells = Vec::new();
    let mut at = 0;
    for word in line.split(' ') {
        at += word.len() + 1;
        match word.trim().parse() {
            Ok(number) => cells.push((number, at)),
            Err(_) if word.trim().is_empty() => {}
            Err(_) => break,
        }
    }
    cells
}

/// The columns of rates, from 0, where the record size ends at `record`. `None` when the row does not tell.
pub(super) fn places(record: usize, rates: &[(u64, usize)], command: Option<&str>) -> Option<Vec<usize>> {
    /// The columns of the tests that a matrix always has.
    const ALL: usize = 9;
    if rates.len() >= ALL {
        return Some((0..rates.len()).collect());
    }
    let by_place = WIDTHS.into_iter().find_map(|width| {
        let place = |end: usize| {
            let right = end.checked_sub(record)?;
            (right > 0 && right.is_multiple_of(width)).then(|| right / width - 1)
        };
        rates.iter().map(|(_, end)| place(*end)).collect::<Option<Vec<usize>>>()
    });
    by_place.or_else(|| of_tests(command?).filter(|columns| columns.len() == rates.len()))
}

/// How wide cells are, in characters: of new versions and of old ones (iozone.c, `store_value` and its `printf`s).
const WIDTHS: [usize; 2] = [9, 8];
