//! Names as words of a command line that is shown, so that pasting it into a shell runs nothing that a name says.

use std::path::Path;

/// A word as a shell takes it for one, whatever is in it.
pub fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:+@%=,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A path as such a word, which no program takes for an option.
pub fn path(path: impl AsRef<Path>) -> String {
    let text = path.as_ref().display().to_string();
    word(&if text.starts_with('-') { format!("./{text}") } else { text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_a_name_for_one_word_and_obeys_nothing_in_it() {
        assert_eq!(word("/dev/nvme0n1"), "/dev/nvme0n1");
        assert_eq!(word("it's;id"), r"'it'\''s;id'");
        for name in ["", "a b", "$(id)", "`id`", "~", "*\n#"] {
            assert_eq!(word(name), format!("'{name}'"));
        }
        assert_eq!(path("-rf"), "./-rf");
    }
}
