//! The kernel VM rig: `cargo test --test rig -- --help`.

#![expect(clippy::print_stderr, reason = "the rig is a program of its own")]

use std::process::ExitCode;

mod runner;

/// Exit status: 0 all passed, 1 some failed, 2 could not do it.
fn main() -> ExitCode {
    match runner::run(std::env::args().skip(1)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("rig: {error}");
            ExitCode::from(2)
        }
    }
}
