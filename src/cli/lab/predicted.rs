//! What is said of a cell before it is built.

use narrows_load::preset::LoadSpec;
use narrows_session::lab::{self, Basis, Cell, Predicted};

/// The predictions for the tests of a cell, from what was measured of each device alone.
pub(super) fn of(basis: &Basis, cell: Cell, tests: &[(String, LoadSpec)]) -> Vec<Predicted> {
    tests.iter().map(|(name, load)| lab::predict(basis, &cell, name, load)).collect()
}
