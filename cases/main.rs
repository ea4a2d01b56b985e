//! Scores narrows on captures whose verdict is known: `cargo test --test cases -- [DIRECTORY]`.
//!
//! A case is a directory with a `case.json` and the texts that it names. The real binary reads the texts; its first
//! finding and that finding's hop are compared with what the case expects.

#![expect(clippy::print_stderr, clippy::print_stdout, reason = "the scorer is a program of its own")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod case;
mod files;
mod report;
mod score;

/// Where the project keeps its cases.
const CASES: &str = "tests/cases";

/// Exit status: 0 good enough, 1 too many misses or a false alarm, 2 could not do it.
fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let given = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let directory = given.map_or_else(|| root.join(CASES), PathBuf::from);
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let scored = case::all(&directory).and_then(|cases| {
        let scores: Vec<score::Score> = cases.iter().map(score::of).collect::<Result<_, _>>()?;
        report::write(&target.join("cases/summary.json"), &directory, &scores)?;
        Ok(scores)
    });
    match scored {
        Ok(scores) => {
            print!("{}", report::table(&scores));
            if report::is_good_enough(&scores) { ExitCode::SUCCESS } else { ExitCode::from(1) }
        }
        Err(error) => {
            eprintln!("cases: {error}");
            ExitCode::from(2)
        }
    }
}
