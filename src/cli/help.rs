//! Help in two lengths: `--help` fits a screen, `--help-all` says everything.

use std::ffi::OsString;

use clap::{Command, CommandFactory, FromArgMatches};

use super::args::Cli;

/// Reads what was typed.
///
/// # Errors
/// What was typed is no command line, or asks for help.
pub(super) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let words: Vec<OsString> = words.into_iter().collect();
    // Only an error shows help, or a usage that names it: its text is put together for that alone.
    read(&mut Cli::command(), &words).or_else(|_| read(&mut command(), &words))
}

fn read(command: &mut Command, words: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = command.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(command))
}

/// The command line with its help.
pub(super) fn command() -> Command {
    Cli::command().mut_subcommands(with_both)
}

/// Ends the short help with the exit status, which else only the long one has, and each with where the other is.
fn with_both(command: Command) -> Command {
    if command.get_after_long_help().is_some() {
        return command;
    }
    let name = command.get_name().to_owned();
    let more = format!("`narrows {name} --help-all` says more about each option.");
    let short = match exit_status(&command) {
        Some(status) => format!("{status}\n\n{more}"),
        None => more,
    };
    let long = format!("`narrows {name} --help` is a shorter form.");
    command.after_help(short).after_long_help(long)
}

fn exit_status(command: &Command) -> Option<String> {
    let about = command.get_long_about()?.to_string();
    about.split("\n\n").find(|paragraph| paragraph.starts_with("Exit status")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_says_where_the_rest_of_its_help_is() {
        for command in command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let short = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(short.contains("--help-all"), "{}: {short}", command.get_name());
            assert!(command.get_after_long_help().is_some(), "{}", command.get_name());
        }
    }
}
