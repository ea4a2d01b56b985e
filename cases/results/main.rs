//! Scores narrows on results of other tools of which it is known whether to trust them:
//! `cargo test --test result_cases -- [DIRECTORY]`.
//!
//! A case is a directory with a `case.json` and the texts that it names. The real binary imports all of them; whether
//! it trusts the result, and which flaws it finds, are compared with what the case expects. The result of a case is in
//! the text that is named after the tool; others are there for comparison.

#![expect(clippy::print_stderr, clippy::print_stdout, reason = "the scorer is a program of its own")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[path = "../contradictions.rs"]
mod contradictions;
#[path = "../files.rs"]
mod files;
mod score;

/// Where the project keeps its cases.
const CASES: &str = "tests/result-cases";

/// Exit status: 0 good enough, 1 too many misses or a false alarm, 2 could not do it.
fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let given = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let directory = given.map_or_else(|| root.join(CASES), PathBuf::from);
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let scored = files::cases(&directory).and_then(|cases| {
        let scores =
            cases.iter().map(|(place, case)| score::of(place, case)).collect::<Result<Vec<_>, _>>()?;
        files::write(&target.join("result-cases/summary.json"), &score::summary(&directory, &scores))?;
        Ok(scores)
    });
    match scored {
        Ok(scores) => {
            print!("{}", score::table(&scores));
            if score::is_good_enough(&scores) { ExitCode::SUCCESS } else { ExitCode::from(1) }
        }
        Err(error) => {
            eprintln!("result-cases: {error}");
            ExitCode::from(2)
        }
    }
}
