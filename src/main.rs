//! The `narrows` program; see [`narrows::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    narrows::cli::main()
}
