//! Parses what was typed, then wires facts, paths, ceilings, load and verdict to a report.

pub mod args;

use std::process::ExitCode;

/// Runs the program.
pub fn main() -> ExitCode {
    ExitCode::SUCCESS
}
