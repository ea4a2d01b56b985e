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
    let place = given.map_or_else(|| root.join(TABLE), PathBuf::from);
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let scored = table::read(&place).and_then(|rows| {
        let scores: Vec<score::Score> = rows.iter().map(score::of).collect();
        files::write(&target.join("accuracy/summary.json"), &report::summary(&place, &scores))?;
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
