//! The command that made a result, where it stands in the text.

/// The last command of a tool that was seen. A pasted command may be broken over lines with a backslash, or by mail.
#[derive(Debug, Clone, Default)]
pub(super) struct Commands {
    last: Option<(usize, String)>,
    goes_on: bool,
}

impl Commands {
    /// Looks at a line for a call of `tool`.
    pub(super) fn see(&mut self, number: usize, line: &str, tool: &str) {
        let trimmed = line.trim();
        if self.goes_on {
            self.goes_on = false;
            if let Some((_, command)) = &mut self.last
                && command.len() < LONGEST
            {
                command.push(' ');
                command.push_str(trimmed.trim_end_matches('\\'));
                self.goes_on = trimmed.ends_with('\\');
            }
            return;
        }
        if let Some(command) = call_of(trimmed, tool) {
            self.goes_on = trimmed.ends_with('\\');
            self.last = Some((number, command.trim_end_matches('\\').trim().to_owned()));
        } else if let Some((seen, command)) = &mut self.last
            && number == *seen + 1
            && trimmed.starts_with("--")
        {
            // A mail program broke the line between two options.
            command.push(' ');
            command.push_str(trimmed);
            *seen = number;
        }
    }

    /// Whether a line calls `tool`.
    pub(super) fn is_call(line: &str, tool: &str) -> bool {
        call_of(line.trim(), tool).is_some()
    }

    /// The last one.
    pub(super) fn last(&self) -> Option<&str> {
        self.last.as_ref().map(|(_, command)| command.as_str())
    }

    /// Forgets it: what follows is of another command.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

/// No command is longer, in bytes.
const LONGEST: usize = 8192;

/// The part of a line that calls a tool: behind a prompt, `sudo`, or a path.
fn call_of<'l>(line: &'l str, tool: &str) -> Option<&'l str> {
    let mut from = 0;
    while let Some(at) = line.get(from..)?.find(tool).map(|at| at + from) {
        let before = line.get(..at)?.chars().next_back();
        let behind = line.get(at + tool.len()..)?;
        let begins = before.is_none_or(|c| c.is_whitespace() || matches!(c, '/' | '\\' | '`' | '"' | '|'));
        let has_options = behind.strip_prefix(".exe").unwrap_or(behind);
        let has_options = has_options.strip_prefix('"').unwrap_or(has_options);
        let is_call = has_options.strip_prefix(' ').map(str::trim_start).is_some_and(|options| {
            options.starts_with('-')
                || options.split_whitespace().next().is_some_and(|word| word.contains('='))
        });
        if begins && is_call && line.len() < LONGEST {
            return line.get(at..);
        }
        from = at + tool.len();
    }
    None
}

/// The value of an option: `--rw=read`, `--rw read`, `-rw=read` or `if=/dev/zero`. The last one counts.
pub(super) fn option<'c>(command: &'c str, name: &str) -> Option<&'c str> {
    let mut words = command.split_whitespace().peekable();
    let mut found = None;
    while let Some(word) = words.next() {
        let bare = word.trim_start_matches('-');
        if let Some(value) = bare.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')) {
            found = Some(value.trim_matches(['"', '\'']));
        } else if bare == name && word.starts_with("--") {
            found = Some(words.next_if(|next| !next.starts_with('-')).unwrap_or(""));
        }
    }
    found
}

/// Whether a word stands in a command.
pub(super) fn has_word(command: &str, word: &str) -> bool {
    command.split_whitespace().any(|one| one == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_found_behind_prompts_and_paths() {
        assert_eq!(call_of("root@host:~# ./fio --rw=read", "fio"), Some("fio --rw=read"));
        assert_eq!(call_of("$ sudo dd if=/dev/zero of=x", "dd"), Some("dd if=/dev/zero of=x"));
        assert_eq!(call_of("I added fio - and it was fine", "xfio"), None);
        assert_eq!(call_of("the fio results", "fio"), None);
    }

    #[test]
    fn a_command_goes_on_behind_a_backslash_and_where_mail_broke_it() {
        let mut commands = Commands::default();
        for (number, line) in (1..).zip(["# fio --rw=read \\", "  --bs=4k \\", "  --direct=1", "--size=1g"]) {
            commands.see(number, line, "fio");
        }
        let command = commands.last().expect("a command");
        assert_eq!(option(command, "direct"), Some("1"));
        assert_eq!(option(command, "bs"), Some("4k"));
        let mut mail = Commands::default();
        mail.see(1, "fio --name=test", "fio");
        mail.see(2, "--size=1g", "fio");
        assert_eq!(mail.last().and_then(|command| option(command, "size")), Some("1g"));
    }

    #[test]
    fn options_have_their_value_behind_an_equals_sign_or_a_space() {
        let command = "dd if=/dev/zero of=x oflag=direct,sync";
        assert_eq!(option(command, "oflag"), Some("direct,sync"));
        assert_eq!(option("fio --rw read --direct 1", "rw"), Some("read"));
        assert_eq!(option("fio --group_reporting --x=1", "group_reporting"), Some(""));
        assert!(has_word("ior -C -e", "-C") && !has_word("ior -Ce", "-C"));
    }
}
