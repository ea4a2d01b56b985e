//! Parses what was typed, then wires facts, paths, ceilings, load and verdict to a report.
//!
//! The story of `narrows check` is in [`check::run`]: read the machine, find the paths, put a ceiling on every hop,
//! measure if asked, judge, show.

pub mod args;
mod check;
mod facts;
mod failure;
mod measure;
mod output;
mod snapshot;

pub use failure::Failure;

pub mod args;

use std::process::ExitCode;

use args::{Args, Command};

/// Nothing was found.
const NOTHING_FOUND: u8 = 0;
/// There are findings.
const FINDINGS: u8 = 1;
/// The question could not be answered.
const FAILED: u8 = 2;

/// Runs the program: 0 when nothing was found, 1 with findings, 2 when the question could not be answered.
pub fn main() -> ExitCode {
    let result = match Args::from_command_line() {
        Ok(args) => run(args),
        Err(error) => return output::usage(&error),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            output::failure(&failure);
            ExitCode::from(FAILED)
        }
    }
}

fn run(args: Args) -> Result<u8, Failure> {
    match args.command {
        Command::Check(check) => check::run(&check),
        Command::Snapshot(snapshot) => snapshot::run(&snapshot),
    }
}
