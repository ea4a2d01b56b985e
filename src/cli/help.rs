//! What is said of the command line itself: help, usage
//! errors, and the command that a word is nearly: a target may stand where a command does, so that no parser can tell.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{Command, CommandFactory, FromArgMatches};

use super::args::Cli;
use super::{FAILED, Failure, output};
use narrows_machine::target::{NotATarget, closest};
use narrows_report::sanitize;

/// Reads what was typed.
///
/// # Errors
/// What was typed is no command line, or asks for help.
pub(super) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    // clap's own `help COMMAND` knows a longer form.
    if words.get(1).is_some_and(|word| word == "help") {
        words.remove(1);
        words.push("--help".into());
    }
    // Only an error shows help, or a usage that names it: its text is put together for that alone.
    read(&mut Cli::command(), &words).or_else(|_| read(&mut command(), &words))
}

fn read(command: &mut Command, words: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = command.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(command))
}

/// The command line with its help, which is the same however it is asked for: what stands behind the first sentence comes at its
/// end.
pub(super) fn command() -> Command {
    Cli::command().mut_subcommands(in_one).mut_args(|arg| arg.long_help(None))
}

fn in_one(command: Command) -> Command {
    let about = command.get_long_about().map(ToString::to_string).unwrap_or_default();
    let rest = about.split_once("\n\n").map(|(_, rest)| rest.to_owned()).unwrap_or_default();
    let after = command.get_after_help().map(ToString::to_string);
    let after: Vec<String> = after.into_iter().chain([rest]).filter(|part| !part.is_empty()).collect();
    let command = command.long_about(None).after_help(after.join("\n\n")).disable_help_subcommand(true);
    command.mut_args(|arg| arg.long_help(None)).mut_subcommands(in_one)
}

/// Prints help, version or a usage error as clap made it. A usage error repeats what was typed: where a terminal would obey
/// some of that, the error of the same words in their inert form is printed.
pub(super) fn show_error(error: &clap::Error) -> ExitCode {
    let code = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(FAILED));
    let typed: Vec<OsString> = env::args_os().collect();
    if let Some(first) = typed.get(1).map(|word| word.to_string_lossy()).filter(|_| error.use_stderr()) {
        let unknown = |hint| Failure::new(format!("there is no command `{first}`")).hint(hint);
        let is_measured = |word: &OsString| word.to_string_lossy().starts_with("--measure");
        let measured = typed.iter().any(is_measured).then(|| {
            Failure::new("there is no option --measure any more").hint("type `narrows measure WHAT`")
        });
        if let Some(failure) = former(&first).or(measured).or_else(|| meant(&first).map(unknown)) {
            output::failure(&failure);
            return code;
        }
    }
    let inert: Vec<OsString> =
        typed.iter().map(|word| sanitize::one_line(&word.to_string_lossy()).into_owned().into()).collect();
    if inert == typed {
        let _ = error.print();
        return code;
    }
    match parse(inert) {
        Err(same) if same.kind() == error.kind() => drop(same.print()),
        _ => output::notes(error.render().to_string().trim_end()),
    }
    code
}

/// Former commands, and what to type instead.
const FORMER: [(&str, &str); 7] = [
    ("bench", "`narrows measure WHAT --as NAME`: kdiskmark and others, see --as list"),
    ("check", "`narrows WHAT`: a device, a place, or files with what was pasted"),
    ("export", "`narrows watch --export FILE`"),
    ("import", "`narrows FILE…`: what is in a file is told by its content"),
    ("ladder", "`narrows measure WHAT --as layers`"),
    ("report", "`narrows RUN.json…`; every command writes the same page with --html FILE"),
    ("sweep", "`narrows measure WHAT --as sweep`, or --as threads"),
];

/// Whether a word looks like a command and names nothing here.
fn may_be_command(word: &str) -> bool {
    let is_word = word.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
    let path = Path::new(word);
    is_word && !word.starts_with('-') && !path.is_file() && !path.is_dir()
}

/// The command that was meant by a word that is none and names nothing here.
fn command_like(word: &str) -> Option<String> {
    if !may_be_command(word) {
        return None;
    }
    let names = names();
    if names.iter().any(|name| name == word) {
        return None;
    }
    closest(word, names).into_iter().next()
}

/// Adds the command that may have been meant to a failure to find the target of that name.
pub(super) fn with_command(failure: Failure, target: Option<&str>) -> Failure {
    let Some(typed) = target else { return failure };
    let absent = NotATarget::Absent { typed: typed.to_owned(), similar: Vec::new() };
    match failure.message == absent.to_string() {
        true => former(typed).unwrap_or_else(|| failure.hints(meant(typed))),
        false => failure,
    }
}

/// What to type instead of a former command.
fn former(word: &str) -> Option<Failure> {
    let (_, instead) = FORMER.iter().find(|(name, _)| *name == word && may_be_command(word))?;
    Some(Failure::new(format!("there is no command `{word}` any more")).hint(format!("type {instead}")))
}

/// The question whether a word is meant for the command that it is nearly.
fn meant(word: &str) -> Option<String> {
    let name = command_like(word)?;
    Some(format!("did you mean the command `narrows {name}`? `narrows help` shows all"))
}

fn names() -> Vec<String> {
    let command = command();
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    shown.map(|command| command.get_name().to_owned()).chain(["help".to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_close_to_a_command_is_told_and_nothing_else() {
        for (typed, meant) in
            [("mesaure", "measure"), ("Compare", "compare"), ("snapshto", "snapshot"), ("hlep", "help")]
        {
            assert_eq!(command_like(typed).as_deref(), Some(meant), "{typed}");
        }
        for typed in ["measure", "/dev/benhc", "sda", "eth0", "src", "", "--mesaure", "0000:02:00.0"] {
            assert_eq!(command_like(typed), None, "{typed}");
        }
    }

    #[test]
    fn only_a_target_that_is_not_there_may_be_a_command() {
        let absent = |word: &str| Failure::new(format!("`{word}` does not exist")).hint("one");
        for word in ["mesaure", "import"] {
            assert_ne!(with_command(absent(word), Some(word)), absent(word));
        }
        assert_eq!(with_command(absent("mesaure"), None), absent("mesaure"));
        let other = || Failure::new("`mesaure` cannot be looked at: permission denied");
        assert_eq!(with_command(other(), Some("mesaure")), other());
    }
}
