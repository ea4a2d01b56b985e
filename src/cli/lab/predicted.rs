//! What is said of a cell before it is built.

use crate::lab::{self, Basis, Cell, Predicted};
use crate::load::preset::LoadSpec;

/// The predictions for the tests of a cell, from what was measured of each device alone.
pub(super) fn of(basis: &Basis, cell: Cell, tests: &[(String, LoadSpec)]) -> Vec<Predicted> {
    tests.iter().map(|(name, load)| lab::predict(basis, &cell, name, load)).collect()
}
