//! A word that is nearly a command: a target may stand where a command does, so that no parser can tell.

use std::path::Path;

use super::args::Cli;
use super::{Failure, help};
use narrows_machine::target::{NotATarget, closest};

/// The command that was meant by a word that is none and names nothing here.
pub(super) fn command_like(word: &str) -> Option<String> {
    let is_word = word.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
    let path = Path::new(word);
    if !is_word || word.starts_with('-') || path.is_file() || path.is_dir() {
        return None;
    }
    let names = names();
    if names.iter().any(|name| name == word) {
        return None;
    }
    closest(word, names).into_iter().next()
}

/// The word that stands where a command could, if `check` takes it for a target.
pub(super) fn bare_target(cli: &Cli) -> Option<String> {
    match cli.command {
        None => cli.check.target.clone(),
        Some(_) => None,
    }
}

/// Adds the command that may have been meant to a failure to find the target of that name.
pub(super) fn with_command(failure: Failure, target: Option<&str>) -> Failure {
    let Some(typed) = target else { return failure };
    let absent = NotATarget::Absent { typed: typed.to_owned(), similar: Vec::new() };
    if failure.message() != absent.to_string() {
        return failure;
    }
    failure.maybe_hint(command_like(typed).map(|name| meant(&name)))
}

/// What is wrong with words of which the first is nearly a command.
pub(super) fn no_such_command(first: &str) -> Option<Failure> {
    let name = command_like(first)?;
    Some(Failure::new(format!("there is no command `{first}`")).hint(meant(&name)))
}

fn meant(name: &str) -> String {
    format!("did you mean the command `narrows {name}`? `narrows help` shows all")
}

fn names() -> Vec<String> {
    let command = help::command();
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    shown.map(|command| command.get_name().to_owned()).chain(["help".to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_close_to_a_command_is_told_and_nothing_else() {
        for (typed, meant) in [
            ("chekc", "check"),
            ("benhc", "bench"),
            ("Import", "import"),
            ("snapshto", "snapshot"),
            ("hlep", "help"),
        ] {
            assert_eq!(command_like(typed).as_deref(), Some(meant), "{typed}");
        }
        for typed in ["check", "/dev/chekc", "sda", "eth0", "src", "", "--chekc", "0000:02:00.0"] {
            assert_eq!(command_like(typed), None, "{typed}");
        }
    }

    #[test]
    fn only_a_target_that_is_not_there_may_be_a_command() {
        let absent = || Failure::new("`chekc` does not exist").hint("one");
        assert_ne!(with_command(absent(), Some("chekc")), absent());
        assert_eq!(with_command(absent(), None), absent());
        let other = || Failure::new("`chekc` cannot be looked at: permission denied");
        assert_eq!(with_command(other(), Some("chekc")), other());
    }
}
