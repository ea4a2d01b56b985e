//! `narrows completions` and `narrows man`: what packages ship beside the program, made from the command line itself.

use std::io;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use super::files::write_new;
use super::{Failure, NOTHING_FOUND, help, output};

/// What `completions` is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// What `man` is asked.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ManArgs {
    /// The directory to write the pages to; none of them may be there yet
    pub directory: PathBuf,
}

/// Prints the completions of a shell.
///
/// # Errors
/// [`Failure`] when standard output cannot be written.
pub(super) fn completions(args: CompletionsArgs) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut visible(), "narrows", &mut script);
    output::bytes(&script)?;
    Ok(NOTHING_FOUND)
}

/// Writes a page for the program and one for each command.
///
/// # Errors
/// [`Failure`] when a page is there already, or cannot be written.
pub(super) fn man(args: &ManArgs) -> Result<u8, Failure> {
    let mut command = visible();
    command.build();
    for command in with_all(&command) {
        let name = command.get_display_name().unwrap_or(command.get_name());
        let cannot = |error| Failure::new(format!("cannot make the page {name}: {error}"));
        let text = page(command, name).map_err(cannot)?;
        write_new(&args.directory.join(format!("{name}.1")), &text)?;
    }
    Ok(NOTHING_FOUND)
}

/// A command and all below it.
fn with_all(command: &Command) -> Vec<&Command> {
    let below = command.get_subcommands();
    std::iter::once(command).chain(below.flat_map(with_all)).collect()
}

fn page(command: &Command, name: &str) -> io::Result<String> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).title(name.to_uppercase()).render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// The command line without what is not shown in help.
fn visible() -> Command {
    let whole = help::command();
    let shown: Vec<Command> =
        whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    let bare = Command::new("narrows")
        .version(env!("CARGO_PKG_VERSION"))
        .args(whole.get_arguments().filter(|argument| !argument.is_hide_set()).cloned())
        .groups(whole.get_groups().cloned())
        .disable_help_flag(true)
        .disable_help_subcommand(true)
        .args_conflicts_with_subcommands(true);
    bare.about(whole.get_about().cloned().unwrap_or_default())
        .long_about(whole.get_long_about().cloned().unwrap_or_default())
        .after_help(whole.get_after_help().cloned().unwrap_or_default())
        .subcommands(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_and_none_is_of_what_is_hidden() {
        let mut command = visible();
        command.build();
        let all = with_all(&command);
        let name = |of: &Command| of.get_display_name().unwrap_or(of.get_name()).to_owned();
        let names: Vec<String> = all.iter().copied().map(name).collect();
        assert!(names.contains(&"narrows-fleet-run".to_owned()), "{names:?}");
        for sub in all {
            let page = page(sub, &name(sub)).expect("is made");
            assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{}", name(sub));
            assert!(!sub.is_hide_set(), "{}", name(sub));
            let without = sub.get_arguments().find(|argument| argument.get_help().is_none());
            assert_eq!(without.map(ToString::to_string), None, "{}", name(sub));
            for named in page.split("(1)").filter_map(|before| before.rsplit([' ', '\n']).next()) {
                let named = named.replace('\\', "");
                assert!(!named.starts_with("narrows-") || names.contains(&named), "no page {named}");
            }
        }
        assert!(command.find_subcommand("look-at-devices").is_none());
        assert!(page(&command, "narrows").expect("is made").contains("narrows"));
    }

    #[test]
    fn every_shell_completes_every_command() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut visible(), "narrows", &mut script);
            let script = String::from_utf8(script).expect("is text");
            for command in ["watch", "config"] {
                assert!(script.contains(command), "{shell}: {command}");
            }
            assert!(!script.contains("look-at-devices"), "{shell}");
        }
    }
}
