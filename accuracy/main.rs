//! Compares what narrows predicts with what people measured and published: `cargo test --test accuracy -- [TABLE.csv]`.
//!
//! Each row of the table is turned into a described system and a workload, from its columns alone; [`narrows::predict`] or a
//! law of [`narrows::ceiling`] says what it would get. Nothing is looked up by row. A row for which there is no law is
//! listed with the reason.

#![expect(clippy::print_stderr, clippy::print_stdout, reason = "the scorer is a program of its own")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod cover;
mod expected;
#[expect(dead_code, reason = "this scorer has one table and no directories of cases")]
#[path = "../cases/files.rs"]
mod files;
mod interval;
mod laws;
mod model;
mod network;
mod report;
mod score;
mod table;
mod text;
mod work;

/// Where the project keeps its measurements.
const TABLE: &str = "tests/measurements.csv";

/// Exit status: 0 good enough, 1 not, 2 could not do it.
fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let given = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let is_own = given.is_none();
    let place = given.map_or_else(|| root.join(TABLE), PathBuf::from);
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let scored = table::read(&place).and_then(|rows| {
        let scores: Vec<score::Score> = rows.iter().map(score::of).collect();
        files::write(&target.join("accuracy/summary.json"), &report::summary(&place, &scores))?;
        keep(&interval::residuals(&scores), is_own)?;
        Ok(scores)
    });
    match scored {
        Ok(scores) => {
            print!("{}", report::table(&scores));
            if report::is_good_enough(&scores) { ExitCode::SUCCESS } else { ExitCode::from(1) }
        }
        Err(error) => {
            eprintln!("accuracy: {error}");
            ExitCode::from(2)
        }
    }
}

/// Where the program has the residuals of its laws.
const RESIDUALS: &str = "crates/narrows-model/src/predict/law/residuals.csv";

/// Holds the residuals in the program to those that the project's own table gives; `UPDATE_RESIDUALS=1` writes them there.
#[expect(clippy::disallowed_methods, reason = "a file of the project")]
fn keep(residuals: &narrows::predict::law::Residuals, is_own: bool) -> Result<(), String> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join(RESIDUALS);
    let failed = |error: std::io::Error| format!("{}: {error}", place.display());
    if !is_own {
        return Ok(());
    }
    if std::env::var_os("UPDATE_RESIDUALS").is_some() {
        return std::fs::write(&place, residuals.text()).map_err(failed);
    }
    let kept = std::fs::read_to_string(&place).map_err(failed)?;
    if kept == residuals.text() {
        return Ok(());
    }
    Err(format!("{RESIDUALS} is out of date; run: UPDATE_RESIDUALS=1 make accuracy"))
}
