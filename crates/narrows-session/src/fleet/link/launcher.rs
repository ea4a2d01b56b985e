//! Another program than ssh that starts commands on hosts: `srun`, `clush`, `ip netns exec`, a script.
#![expect(clippy::disallowed_types, reason = "a launcher is a program that is started")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use narrows_base::shell;
use narrows_machine::program;
use narrows_machine::root::Root;

use super::super::hosts::HostName;

/// What stands for the host in a launcher.
pub const HOST: &str = "{host}";

/// A command that starts another one on a host. It is cut into words once, as a shell does it and by no shell, and only then the host is
/// put into each word that names it: no name becomes two words, an option or a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    program: PathBuf,
    words: Vec<String>,
}

/// Why a text is no launcher.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LauncherError {
    /// A quotation mark has no other one.
    #[error("a quotation mark has no second one")]
    Quote,
    /// There is no program, or the host is it.
    #[error("the first word must be a program")]
    Program,
    /// No word says where the host goes.
    #[error("no word has {{host}} in it")]
    Host,
    /// The program is not there.
    #[error("`{0}` is not installed ({places})", places = program::places())]
    Missing(String),
}

impl Launcher {
    /// Takes the text of a launcher, and finds its program.
    ///
    /// # Errors
    /// [`LauncherError`].
    pub fn new(root: &Root, text: &str) -> Result<Self, LauncherError> {
        let mut words = words(text)?.into_iter();
        let name = words.next().filter(|name| !name.is_empty() && !name.contains(HOST));
        let name = name.ok_or(LauncherError::Program)?;
        let words: Vec<String> = words.collect();
        if !words.iter().any(|word| word.contains(HOST)) {
            return Err(LauncherError::Host);
        }
        let program = match name.contains('/') {
            // What is started works in another directory.
            true => std::path::absolute(&name).ok().filter(|path| is_there(root, path)),
            false => program::find(root, &name).or_else(|| in_path(root, &name)),
        };
        Ok(Self { program: program.ok_or(LauncherError::Missing(name))?, words })
    }

    /// What starts `command` on a host. The launcher is the user's own and gets their environment, as `srun` needs it. Some launchers
    /// hand on words and others one line for a shell: each word of `command` has to be the same to both.
    pub(super) fn command(&self, host: &HostName, command: &[&str]) -> Command {
        let mut started = program::cleared(self.program.clone());
        // clush is Python, which holds what goes into a pipe back until there is much of it.
        started.envs(std::env::vars_os()).env("PYTHONUNBUFFERED", "1").args(self.of_host(host)).args(command);
        started
    }

    fn of_host(&self, host: &HostName) -> impl Iterator<Item = String> {
        self.words.iter().map(|word| word.replace(HOST, host.as_str()))
    }

    /// A command on a host, as a person would type it.
    pub(super) fn typed(&self, host: &HostName, command: &str) -> String {
        let program = self.program.to_string_lossy().into_owned();
        let words = std::iter::once(program).chain(self.of_host(host)).map(|word| shell::word(&word));
        format!("{} {command}", words.collect::<Vec<_>>().join(" "))
    }

    /// Its name, for people.
    pub(super) fn name(&self) -> String {
        self.program.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// A program of the user's own `PATH`; of root's nothing but what the system installed is taken.
fn in_path(root: &Root, name: &str) -> Option<PathBuf> {
    if nix::unistd::geteuid().is_root() {
        return None;
    }
    let path: OsString = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|place| place.join(name)).find(|path| is_there(root, path))
}

fn is_there(root: &Root, path: &Path) -> bool {
    root.kind(&path.to_string_lossy()) == Some(narrows_machine::root::FileKind::File)
}

/// The words of a text: between white space, with `'…'`, `"…"` and backslashes as a shell has them. Nothing else is special.
fn words(text: &str) -> Result<Vec<String>, LauncherError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut mark = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (mark, c) {
            (Some(open), c) if c == open => mark = None,
            (None, '\'' | '"') => {
                mark = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                word.get_or_insert_default().push(characters.next().ok_or(LauncherError::Quote)?);
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if mark.is_some() { Err(LauncherError::Quote) } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words_of(text: &str) -> Vec<String> {
        words(text).expect("has words")
    }

    #[test]
    fn words_are_those_of_a_shell_and_nothing_in_them_is_obeyed() {
        assert_eq!(words_of("srun -w {host}  -N1"), ["srun", "-w", "{host}", "-N1"]);
        assert_eq!(words_of(r#"a 'b c' "d \"e\"" f\ g '' h'i'j"#), ["a", "b c", "d \"e\"", "f g", "", "hij"]);
        assert_eq!(words_of("a $(id) `id` ;id|id>x *"), ["a", "$(id)", "`id`", ";id|id>x", "*"]);
        for text in ["a 'b", "a \"b", "a \\"] {
            assert_eq!(words(text), Err(LauncherError::Quote), "{text}");
        }
    }

    #[test]
    fn a_launcher_has_a_program_and_a_place_for_the_host() {
        let root = Root::live();
        let of = |text: &str| Launcher::new(&root, text);
        assert_eq!(of(""), Err(LauncherError::Program));
        assert_eq!(of("{host} sh"), Err(LauncherError::Program));
        assert_eq!(of("env -i"), Err(LauncherError::Host));
        assert_eq!(of("no-such-program {host}"), Err(LauncherError::Missing("no-such-program".to_owned())));
        assert!(of("./no/such {host}").is_err());
        let launcher = of("env HOST={host} 'a b'").expect("is one");
        let host = HostName::new("node07").expect("is a name");
        let command = launcher.command(&host, &["sh"]);
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["HOST=node07", "a b", "sh"]);
        let typed = launcher.typed(&host, "rm -rf /tmp/x");
        assert!(typed.ends_with("/env HOST=node07 'a b' rm -rf /tmp/x"), "{typed}");
    }

    proptest! {
        #[test]
        fn quoted_words_are_the_same_words(all in prop::collection::vec("\\PC{0,8}", 1..5)) {
            let text = all.iter().map(|word| shell::word(word)).collect::<Vec<_>>().join(" ");
            prop_assert_eq!(words_of(&text), all);
        }

        #[test]
        fn no_host_adds_a_word(name in "\\PC{1,20}", text in "[a-z ]{0,10}") {
            if let Ok(host) = HostName::new(&name) {
                let launcher = Launcher::new(&Root::live(), &format!("env {text} --w={{host}} {{host}}")).expect("is one");
                let before = words_of(&text).len();
                let command = launcher.command(&host, &["sh"]);
                prop_assert_eq!(command.get_args().count(), before + 3);
            }
        }
    }
}
