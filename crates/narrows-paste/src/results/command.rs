//! The command that made a result, where it stands in the text.

use crate::text::wrap::{USUAL, had_no_room};

/// The commands of a tool that were seen since it last reported. A pasted command may be broken over lines with a
/// backslash, or by mail.
#[derive(Debug, Clone, Default)]
pub(super) struct Commands {
    calls: Vec<String>,
    /// Where the last one ends: its line, and how long that is.
    end: (usize, usize),
    goes_on: bool,
}

impl Commands {
    /// Looks at a line for a call of `tool`.
    pub(super) fn see(&mut self, number: usize, line: &str, tool: &str) {
        self.see_any(number, line, &[tool]);
    }

    /// The same of a tool that is called in several ways: with options at once, or with a word before them.
    pub(super) fn see_any(&mut self, number: usize, line: &str, tools: &[&str]) {
        let trimmed = line.trim();
        let is_next = number == self.end.0 + 1;
        if self.goes_on {
            self.append(number, line);
        } else if let Some(command) = tools.iter().find_map(|tool| call_of(trimmed, tool)) {
            self.goes_on = trimmed.ends_with('\\');
            self.end = (number, line.len());
            self.calls.push(command.trim_end_matches('\\').trim().to_owned());
        } else if is_next
            && (goes_on(self.end.1, trimmed) || self.is_operand(trimmed) || self.is_value(trimmed))
        {
            self.append(number, line);
        }
    }

    /// Whether a line below a call whose last word is an option of one letter begins with its value: the word had no room above.
    fn is_value(&self, line: &str) -> bool {
        let last = self.calls.last().and_then(|call| call.split_whitespace().last());
        let is_option = last.is_some_and(|word| {
            word.len() == 2 && word.starts_with('-') && word.ends_with(char::is_alphabetic)
        });
        is_option && !line.is_empty() && !line.starts_with('-') && had_no_room(self.end.1, line, USUAL)
    }

    /// Whether a line below a call of dd begins with an operand of dd, which no line of its output does: it was broken,
    /// however short the line above is without the stamp that stood before it.
    fn is_operand(&self, line: &str) -> bool {
        const OPERANDS: [&str; 12] =
            ["if", "of", "bs", "ibs", "obs", "count", "conv", "iflag", "oflag", "status", "seek", "skip"];
        let is_dd = self.calls.last().is_some_and(|call| call.starts_with("dd "));
        let name = line.split_once('=').map(|(name, _)| name);
        is_dd && name.is_some_and(|name| OPERANDS.contains(&name))
    }

    fn append(&mut self, number: usize, line: &str) {
        let trimmed = line.trim();
        self.goes_on = false;
        let Some(command) = self.calls.last_mut().filter(|command| command.len() < LONGEST) else { return };
        command.push(' ');
        command.push_str(trimmed.trim_end_matches('\\').trim_end());
        self.goes_on = trimmed.ends_with('\\');
        self.end = (number, line.len());
    }

    /// Whether a line is the last of a command.
    pub(super) const fn ends_at(&self, number: usize) -> bool {
        self.end.0 == number
    }

    /// Whether a line calls `tool`.
    pub(super) fn is_call(line: &str, tool: &str) -> bool {
        call_of(line.trim(), tool).is_some()
    }

    /// How many there are.
    pub(super) const fn count(&self) -> usize {
        self.calls.len()
    }

    /// The last one.
    pub(super) fn last(&self) -> Option<&str> {
        self.calls.last().map(String::as_str)
    }

    /// All of them, which are forgotten, and the line where the last one ends.
    pub(super) fn take(&mut self) -> (Vec<String>, usize) {
        let all = std::mem::take(self);
        (all.calls, all.end.0)
    }

    /// The last one, which is of what was found: all are forgotten.
    pub(super) fn taken(&mut self) -> Option<String> {
        std::mem::take(self).calls.pop()
    }

    /// Forgets them: what follows is of another command.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

/// Whether a line goes on with a command that a mail program broke: it begins with an option, or with what only a
/// command has where the line above had no room for it.
fn goes_on(above: usize, line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    let is_option =
        word.starts_with('-') && word.trim_start_matches('-').starts_with(|c: char| c.is_ascii_alphabetic());
    let is_shell = word.starts_with(['|', ';', '&', '>']) || word.starts_with("2>") || word.contains('=');
    let has_options = line.contains(" --") && !line.contains(':');
    is_option || (is_shell || has_options) && had_no_room(above, line, USUAL)
}

/// The part of a command line that is one call: up to what ends a command in a shell.
pub(super) fn simple(command: &str) -> &str {
    let mut quote: Option<char> = None;
    let mut depth = 0_usize;
    let mut before = ' ';
    for (at, c) in command.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            // A quote that closes what was opened before the call.
            (None, '"' | '\'') if is_end(command, at) => return command.get(..at).unwrap_or(command),
            (None, '"' | '\'') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') if depth > 0 => depth -= 1,
            (None, ')' | ';' | '`' | '|') => return command.get(..at).unwrap_or(command),
            (None, '&') if before != '>' && !command.get(at + 1..).unwrap_or_default().starts_with('>') => {
                return command.get(..at).unwrap_or(command);
            }
            _ => {}
        }
        before = c;
    }
    command
}

/// Whether the character here ends a word.
fn is_end(text: &str, at: usize) -> bool {
    let behind = text.get(at + 1..).and_then(|rest| rest.chars().next());
    behind.is_none_or(|c| c.is_whitespace() || matches!(c, ';' | ')' | '|' | '&')) && opens_nothing(text, at)
}

/// Whether a quotation mark here follows an unquoted word, so that it opens nothing.
fn opens_nothing(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|text| text.chars().next_back());
    before.is_some_and(|c| !c.is_whitespace() && c != '=')
}

/// The calls of a tool that stand in one command line.
pub(super) fn each<'c>(command: &'c str, tool: &str) -> Vec<&'c str> {
    let mut calls = Vec::new();
    let mut rest = Some(command);
    while let Some(call) = rest.and_then(|text| call_of(text, tool)) {
        let one = simple(call);
        calls.push(one.trim());
        rest = call.get(one.len().max(tool.len())..);
    }
    calls
}

/// No command is longer, in bytes.
const LONGEST: usize = 8192;

/// The part of a line that calls a tool: behind a prompt, `sudo`, or a path.
fn call_of<'l>(line: &'l str, tool: &str) -> Option<&'l str> {
    let mut from = 0;
    while let Some(at) = line.get(from..)?.find(tool).map(|at| at + from) {
        let before = line.get(..at)?.chars().next_back();
        let behind = line.get(at + tool.len()..)?;
        let begins = before.is_none_or(|c| {
            c.is_whitespace() || matches!(c, '/' | '\\' | '`' | '"' | '\'' | '|' | ';' | '&' | '(')
        });
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
    let mut words = simple(command).split_whitespace().peekable();
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

/// The value of an option of one letter: `-x 0` or `-x0`. The last one counts.
pub(super) fn letter<'c>(command: &'c str, name: &str) -> Option<&'c str> {
    let words: Vec<&str> = simple(command).split_whitespace().collect();
    let at = words.iter().rposition(|word| word.starts_with(name) && !word.starts_with("--"))?;
    let joined = words.get(at)?.strip_prefix(name).filter(|value| !value.is_empty());
    joined.or_else(|| words.get(at + 1).copied())
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
    fn a_command_that_mail_broke_before_an_option_or_where_there_was_no_room() {
        let joined = |first: &str, second: &str| {
            let mut commands = Commands::default();
            commands.see(1, first, "fio");
            commands.see(2, second, "fio");
            commands.last().map(str::to_owned)
        };
        let first = "fio -name test -filename /dev/md0 -rw read -bs 256k -ioengine libaio";
        assert_eq!(joined(first, "-direct 1"), Some(format!("{first} -direct 1")));
        assert_eq!(joined(first, "test: (g=0): rw=read"), Some(first.to_owned()));
        assert_eq!(joined("fio --name=x", "- Random read: 5"), Some("fio --name=x".to_owned()));
        assert_eq!(joined("fio --name=x", "bw=5"), Some("fio --name=x".to_owned()));
        let first = "# ./fio -b 0000:85:00.0 -b 0000:86:00.0 -q 64 -o 4096 -c 0x1 -w";
        assert_eq!(joined(first, "randread -t 10"), Some(format!("{} randread -t 10", &first[4..])));
        assert_eq!(joined("fio -w", "randread"), Some("fio -w".to_owned()));
    }

    #[test]
    fn operands_of_dd_below_a_call_of_dd_are_its_own() {
        let joined = |first: &str, second: &str, tool: &str| {
            let mut commands = Commands::default();
            commands.see(1, first, tool);
            commands.see(2, second, tool);
            commands.last().map(str::to_owned)
        };
        assert_eq!(
            joined("# dd if=a of=b", "bs=1M count=4", "dd").as_deref(),
            Some("dd if=a of=b bs=1M count=4")
        );
        assert_eq!(joined("# dd if=a of=b", "rate=5", "dd").as_deref(), Some("dd if=a of=b"));
        assert_eq!(joined("fio --name=x", "bs=4k", "fio").as_deref(), Some("fio --name=x"));
    }

    #[test]
    fn an_option_of_one_letter_stands_before_its_value_or_at_it() {
        let command = "perf -q 64 -o4096 --io-depth 9 -q 32 | tee -q 1";
        assert_eq!((letter(command, "-q"), letter(command, "-o")), (Some("32"), Some("4096")));
        assert_eq!((letter(command, "-w"), letter("perf -w", "-w")), (None, None));
    }

    #[test]
    fn a_call_ends_where_the_shell_ends_it() {
        for (line, want) in [
            ("dd if=a of=b conv=fdatasync; rm b", "dd if=a of=b conv=fdatasync"),
            ("dd if=a of=b oflag=direct&& sync", "dd if=a of=b oflag=direct"),
            ("dd if=a of=b bs=1M`", "dd if=a of=b bs=1M"),
            ("dd if=a of=b bs=1M 2>&1 | tail", "dd if=a of=b bs=1M 2>&1 "),
            ("dd if=a count=$((4*4)) conv=fsync)", "dd if=a count=$((4*4)) conv=fsync"),
            ("dd if=\"a;b\" bs=4k", "dd if=\"a;b\" bs=4k"),
            ("dd if=a iflag=direct\" ; echo \"x\"", "dd if=a iflag=direct"),
        ] {
            assert_eq!(simple(line), want);
        }
        assert_eq!(option("dd if=a conv=fdatasync;sync", "conv"), Some("fdatasync"));
        assert_eq!(each("dd if=a of=b; dd if=b of=c", "dd"), ["dd if=a of=b", "dd if=b of=c"]);
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
