//! Scores narrows on captures whose verdict is known: `cargo test --test cases -- [DIRECTORY]`.
//!
//! A case is a directory with a `case.json` and the texts that it names. The real binary reads the texts; its first
//! finding and that finding's hop are compared with what the case expects. What holds of every capture ([`properties`]) is asked of
//! each; with `-- --captures DIRECTORY` that alone is asked, of each file below a directory.

#![expect(clippy::print_stderr, clippy::print_stdout, reason = "the scorer is a program of its own")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

mod case;
mod contradictions;
mod files;
mod properties;
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
    if std::env::args().any(|argument| argument == "--captures") {
        return captures(&directory);
    }
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

/// Asks what holds of every capture of each file below a directory: 0 it holds, 1 not, 2 could not do it.
fn captures(directory: &Path) -> ExitCode {
    let mut slowest = (Duration::ZERO, PathBuf::new());
    let (mut read, mut broken) = (0_usize, 0_usize);
    let files = match properties::below(directory) {
        Ok(files) => files,
        Err(error) => {
            eprintln!("cases: {error}");
            return ExitCode::from(2);
        }
    };
    for file in &files {
        let begin = Instant::now();
        let (report, _, found) = match score::run(std::slice::from_ref(file)) {
            Ok(run) => run,
            Err(error) => {
                eprintln!("cases: {error}");
                return ExitCode::from(2);
            }
        };
        slowest = slowest.max((begin.elapsed(), file.clone()));
        read += usize::from(!report.is_null());
        broken += found.len();
        found.iter().for_each(|one| println!("broken {}: {one}", file.display()));
    }
    println!(
        "{read} of {} captures read, {broken} broken properties; the slowest took {:.1} s: {}",
        files.len(),
        slowest.0.as_secs_f64(),
        slowest.1.display()
    );
    if broken == 0 && read > 0 { ExitCode::SUCCESS } else { ExitCode::from(1) }
}
