//! Whether predictions put cells in the order that was measured.

use super::aim::{Score, interval};
use super::layout::{Cell, Encryption, FileSystem, Layout};
use super::outcome::{Measured, Outcome};

/// What two rates must differ by to count as an order, as a part of the lesser.
pub const APART: f64 = 0.05;

/// Pairs of cells under the same test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pairs {
    /// Those that were measured apart: their intervals do not overlap, and they differ by more than [`APART`].
    pub apart: usize,
    /// Those of them that were predicted apart the other way round, by more than [`APART`], too.
    pub reversed: usize,
}

/// A cell under a test: what was measured, and what was predicted.
type Seen = (Score, f64);

/// Counts the pairs of all tests; a test on a cell counts where it was both measured and predicted.
pub fn pairs(outcomes: &[Outcome]) -> Pairs {
    let mut tests: Vec<&str> = Vec::new();
    for measured in outcomes.iter().flat_map(|outcome| &outcome.measured) {
        if !tests.contains(&measured.test.as_str()) {
            tests.push(&measured.test);
        }
    }
    let mut found = Pairs::default();
    for test in tests {
        let seen: Vec<Seen> = outcomes.iter().filter_map(|outcome| seen(outcome, test)).collect();
        for (at, one) in seen.iter().enumerate() {
            for other in seen.iter().skip(at + 1) {
                let (slow, fast) = if one.0.value <= other.0.value { (one, other) } else { (other, one) };
                let is_apart = is_more(fast.0.value, slow.0.value) && !fast.0.overlaps(&slow.0);
                found.apart += usize::from(is_apart);
                found.reversed += usize::from(is_apart && is_more(slow.1, fast.1));
            }
        }
    }
    found
}

fn is_more(one: f64, other: f64) -> bool {
    one > other * (1.0 + APART)
}

fn seen(outcome: &Outcome, test: &str) -> Option<Seen> {
    let measured: &Measured = outcome.measured.iter().find(|one| one.test == test)?;
    let said = outcome.predicted.iter().find(|one| one.test == test)?.bytes_per_second?;
    let rate = measured.measurement.bytes_per_second;
    (rate.get() > 0.0).then(|| (interval(measured), said.get()))
}

/// Whether nothing was foreseen of a cell: the bare drive was measured before.
pub fn is_bare(cell: &Cell) -> bool {
    let Cell { layout, encryption, file_system } = *cell;
    (layout, encryption, file_system) == (Layout::Single, Encryption::Plain, FileSystem::None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Predicted;
    use narrows_base::units::{Bytes, BytesPerSec};
    use narrows_load::measurement::{Measurement, Pattern};
    use narrows_load::preset::LoadSpec;

    /// A cell that gave `mb` with an interval of `percent`, of which `said` was predicted.
    fn outcome(mb: f64, percent: f64, said: Option<f64>) -> Outcome {
        let measurement = Measurement {
            bytes_per_second: BytesPerSec::from_mb(mb),
            ci95: Some([-1.0, 1.0].map(|sign| BytesPerSec::from_mb(mb * (1.0 + sign * percent / 100.0)))),
            ..Measurement::default()
        };
        let load = LoadSpec::reading(Pattern::Random, Bytes::from_kib(4), 1);
        let predicted = Predicted {
            test: "a".to_owned(),
            bytes_per_second: said.map(BytesPerSec::from_mb),
            bound: String::new(),
            formula: String::new(),
        };
        Outcome {
            cell: Cell {
                layout: Layout::Raid0,
                encryption: Encryption::Plain,
                file_system: FileSystem::None,
            },
            predicted: vec![predicted],
            measured: vec![Measured {
                test: "a".to_owned(),
                load,
                measurement,
                trusted: true,
                processors: None,
            }],
            resyncing: false,
            written: Vec::new(),
            notes: Vec::new(),
            copy: None,
            failed: None,
        }
    }

    fn of(cells: &[(f64, f64, Option<f64>)]) -> (usize, usize) {
        let outcomes: Vec<Outcome> =
            cells.iter().map(|(mb, percent, said)| outcome(*mb, *percent, *said)).collect();
        let found = pairs(&outcomes);
        (found.apart, found.reversed)
    }

    #[test]
    fn a_pair_is_reversed_only_where_both_differ() {
        assert_eq!(of(&[(100.0, 1.0, Some(90.0)), (200.0, 1.0, Some(180.0))]), (1, 0));
        assert_eq!(of(&[(100.0, 1.0, Some(180.0)), (200.0, 1.0, Some(90.0))]), (1, 1));
        assert_eq!(of(&[(100.0, 1.0, Some(92.0)), (200.0, 1.0, Some(90.0))]), (1, 0), "foreseen as equal");
        assert_eq!(of(&[(100.0, 1.0, Some(180.0)), (104.0, 1.0, Some(90.0))]), (0, 0), "measured as equal");
        assert_eq!(of(&[(100.0, 30.0, Some(180.0)), (150.0, 30.0, Some(90.0))]), (0, 0), "by chance");
        assert_eq!(of(&[(100.0, 1.0, None), (200.0, 1.0, Some(90.0))]), (0, 0), "not foreseen");
    }

    #[test]
    fn every_pair_of_a_test_counts_once() {
        let cells = [(100.0, 1.0, Some(100.0)), (200.0, 1.0, Some(50.0)), (400.0, 1.0, Some(400.0))];
        assert_eq!(of(&cells), (3, 1));
    }
}
