//! Parses what was typed, then wires facts, paths, ceilings, load and verdict to a report.
//!
//! The story of `narrows [WHAT…]` is in `answer::run`: read the machine, find the paths, put a ceiling on every hop,
//! judge, show. That of a measurement is in `measure::run`.

mod answer;
mod apart;
pub mod args;
pub mod colour;
pub mod compare;
pub mod copy;
mod door;
mod facts;
mod files;
pub mod fleet;
pub mod fleet_run;
pub mod generate;
pub mod grid;
pub mod guard;
mod help;
pub mod lab;
pub mod measure;
pub mod output;
pub mod plan;
pub mod predict;
pub mod require;
mod signals;
mod snapshot;
mod target;
pub mod top;
mod values;
pub mod watch;

pub use narrows_session::Failure;

use std::process::ExitCode;

use args::{Cli, Command};

/// Nothing was found.
const NOTHING_FOUND: u8 = 0;
/// There are findings.
const FINDINGS: u8 = 1;
/// The question could not be answered.
const FAILED: u8 = 2;

/// The exit status of a run: whether it came to its end, and whether there is anything to say against it.
const fn status(complete: bool, has_doubts: bool) -> u8 {
    match (complete, has_doubts) {
        (false, _) => FAILED,
        (true, true) => FINDINGS,
        (true, false) => NOTHING_FOUND,
    }
}

/// Runs the program: 0 when nothing was found, 1 with findings, 2 when the question could not be answered.
pub fn main() -> ExitCode {
    std::panic::set_hook(Box::new(output::panicked));
    signals::raise_open_files();
    let result = match help::parse(std::env::args_os()) {
        Ok(cli) => {
            // The word that stands where a command could.
            let target = cli.answer.what.first().cloned();
            run(cli).map_err(|failure| help::with_command(failure, target.as_deref()))
        }
        Err(error) => return help::show_error(&error),
    };
    ExitCode::from(result.unwrap_or_else(|failure| {
        output::failure(&failure);
        FAILED
    }))
}

fn run(cli: Cli) -> Result<u8, Failure> {
    cli.shown().map_or(Ok(()), output::check_page)?;
    let Some(command) = cli.command else { return answer::run(&cli.answer) };
    match command {
        Command::Compare(args) => compare::run(&args),
        Command::Copy(args) => copy::run(&args),
        Command::Fleet { command } => fleet_run::command(&command),
        Command::FleetHost { directory, step } => fleet_run::on_host(directory.as_deref(), &step),
        Command::Plan(args) => plan::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::Snapshot(args) => snapshot::run(&args),
        Command::Guard(args) => apart::run(|| guard::run(&args)),
        Command::LookAtDevices { names } => apart::look(&names),
        Command::Measure(args) => measure::run(&args),
        Command::Lab(args) if args.undo => apart::run(|| lab::run(&args)),
        Command::Lab(args) => lab::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Completions(args) => generate::completions(args),
        Command::Man(args) => generate::man(&args),
        Command::Top(args) => top::run(&args),
    }
}
