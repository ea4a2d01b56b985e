//! Compares what narrows predicts with what people measured and published: `cargo test -p narrows-model --test accuracy -- [DIRECTORY]`.
//!
//! Each `[[published]]` of the path files in the directory is predicted as `narrows predict` does, and judged by residuals of
//! other sources than its own. A row for which no law holds is listed with the reason.

#![expect(clippy::print_stderr, clippy::print_stdout, reason = "the scorer is a program of its own")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod interval;
mod report;
mod rows;
mod score;

/// Where the project keeps its measurements.
const PUBLISHED: &str = "tests/published";

/// Exit status: 0 good enough, 1 not, 2 could not do it.
fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let given = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let is_own = given.is_none();
    let place = given.map_or_else(|| root.join(PUBLISHED), PathBuf::from);
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let scored = rows::read(&place).and_then(|rows| {
        let scores: Vec<score::Score> = rows.into_iter().map(score::of).collect();
        write(&target.join("accuracy/summary.json"), &report::summary(&place, &scores).to_string())?;
        Ok(scores)
    });
    match scored {
        Ok(scores) => {
            print!("{}", report::table(&scores));
            let kept = if is_own { keep(&interval::residuals(&scores)) } else { Ok(()) };
            if let Err(error) = kept {
                eprintln!("accuracy: {error}");
                return ExitCode::from(2);
            }
            if report::is_good_enough(&scores) { ExitCode::SUCCESS } else { ExitCode::from(1) }
        }
        Err(error) => {
            eprintln!("accuracy: {error}");
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the summary is a file")]
fn write(place: &Path, text: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", place.display());
    place.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
    std::fs::write(place, text).map_err(failed)
}

/// Where the program has the residuals of its laws.
const RESIDUALS: &str = "src/predict/law/residuals.csv";

/// Holds the residuals in the program to those that the project's own rows give; `UPDATE_RESIDUALS=1` writes them there.
#[expect(clippy::disallowed_methods, reason = "a file of the project")]
fn keep(residuals: &narrows_model::predict::law::Residuals) -> Result<(), String> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join(RESIDUALS);
    let failed = |error: std::io::Error| format!("{}: {error}", place.display());
    if std::env::var_os("UPDATE_RESIDUALS").is_some() {
        return std::fs::write(&place, residuals.text()).map_err(failed);
    }
    let kept = std::fs::read_to_string(&place).map_err(failed)?;
    if kept == residuals.text() {
        return Ok(());
    }
    Err(format!("{RESIDUALS} is out of date; run: UPDATE_RESIDUALS=1 make accuracy"))
}
