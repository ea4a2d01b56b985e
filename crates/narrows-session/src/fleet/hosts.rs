//! The names of hosts: what may be typed, and what it stands for. A name goes into command lines and files, so that nothing but the
//! characters of host names is taken.

use std::collections::BTreeSet;
use std::fmt;

/// No list stands for more hosts.
pub const MOST: usize = 4096;

/// A host, as ssh is told it: `name`, `user@name`, an address, or a name of ssh's configuration.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName(String);

/// Why a list of hosts is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// A name has other characters than names of hosts have.
    #[error(
        "`{0}` is no name of a host: letters, digits, `.`, `-`, `_` and `:` are, with `user@` before them"
    )]
    Name(String),
    /// A range is none.
    #[error("`{0}` is no list such as node[01-16,20]")]
    Range(String),
    /// A host stands there twice.
    #[error("`{0}` is there twice")]
    Twice(String),
    /// There are too many.
    #[error("these are more than 4096 hosts")]
    TooMany,
    /// There is none.
    #[error("there is no host in it")]
    Empty,
}

impl HostName {
    /// Takes a name if it is one.
    ///
    /// # Errors
    /// [`HostError::Name`].
    pub fn new(text: &str) -> Result<Self, HostError> {
        let refused = || HostError::Name(text.chars().take(100).collect());
        let (user, name) = match text.split_once('@') {
            Some((user, name)) => (Some(user), name),
            None => (None, text),
        };
        let is_word = |word: &str, extra: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c) || extra.contains(c);
            let begins =
                word.chars().next().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':');
            (1..=253).contains(&word.len()) && begins && word.chars().all(is_plain)
        };
        // A colon is in the address of an IPv6 host, which has two of them at least.
        let is_name = is_word(name, ":") && matches!(name.matches(':').count(), 0 | 2..);
        match is_name && user.is_none_or(|user| is_word(user, "")) {
            true => Ok(Self(text.to_owned())),
            false => Err(refused()),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The hosts of a text: names between commas, white space or ends of lines, with ranges in brackets (`node[01-16,20]`). What
/// follows `#` in a line is a comment.
///
/// # Errors
/// [`HostError`].
pub fn parse(text: &str) -> Result<Vec<HostName>, HostError> {
    let mut hosts = Vec::new();
    let mut known = BTreeSet::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        for word in words(line) {
            for name in expand(word)? {
                let host = HostName::new(&name)?;
                if !known.insert(host.clone()) {
                    return Err(HostError::Twice(name));
                }
                hosts.push(host);
                if hosts.len() > MOST {
                    return Err(HostError::TooMany);
                }
            }
        }
    }
    if hosts.is_empty() { Err(HostError::Empty) } else { Ok(hosts) }
}

/// The words of a line; a comma in brackets is part of a word.
fn words(line: &str) -> Vec<&str> {
    let mut depth = 0;
    let is_end = |c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        c.is_whitespace() || c == ',' && depth <= 0
    };
    line.split(is_end).filter(|word| !word.is_empty()).collect()
}

/// `node[01-03,7]` → `node01`, `node02`, `node03`, `node7`. Numbers keep the width of the first.
fn expand(word: &str) -> Result<Vec<String>, HostError> {
    let Some((before, rest)) = word.split_once('[') else { return Ok(vec![word.to_owned()]) };
    let refused = || HostError::Range(word.chars().take(100).collect());
    let (inside, after) = rest.split_once(']').ok_or_else(refused)?;
    let mut names = Vec::new();
    for part in inside.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| {
            let is_number =
                !text.is_empty() && text.len() < 10 && text.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse::<usize>().ok()).flatten()
        };
        let (low, high) = number(first).zip(number(last)).ok_or_else(refused)?;
        if low > high {
            return Err(refused());
        }
        if high - low >= MOST {
            return Err(HostError::TooMany);
        }
        for number in low..=high {
            for end in expand(after)? {
                names.push(format!("{before}{number:0width$}{end}", width = first.len()));
                if names.len() > MOST {
                    return Err(HostError::TooMany);
                }
            }
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(text: &str) -> Vec<String> {
        parse(text).expect("is a list").iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lists_files_and_ranges_are_hosts() {
        assert_eq!(names("a,b c\n# all\nroot@10.0.0.1 # the fast one\n"), ["a", "b", "c", "root@10.0.0.1"]);
        assert_eq!(names("node[08-10,3].x"), ["node08.x", "node09.x", "node10.x", "node3.x"]);
        assert_eq!(names("r[1-2]n[1-2]"), ["r1n1", "r1n2", "r2n1", "r2n2"]);
        assert_eq!(names("fe80::1"), ["fe80::1"]);
        assert_eq!(names("c[1-1024]").len(), 1024);
    }

    #[test]
    fn what_a_shell_or_ssh_would_obey_is_no_host() {
        for text in [
            "-oProxyCommand=id",
            "a;id",
            "a$(id)",
            "`id`",
            "a'b",
            "a\"b",
            "user@-x",
            "@a",
            "a@",
            "a@b@c",
            "../a",
            "a/b",
            "ho\u{308}st",
            "a:22",
            ".a",
            "a\\b",
            "a\u{0}b",
            "a&b",
            "a|b",
            "{host}",
        ] {
            assert!(matches!(parse(text), Err(HostError::Name(_))), "{text}: {:?}", parse(text));
        }
    }

    #[test]
    fn what_is_no_list_is_refused() {
        assert_eq!(parse("a,b,a"), Err(HostError::Twice("a".to_owned())));
        assert_eq!(parse(" # nothing\n"), Err(HostError::Empty));
        for text in ["a[", "a[]", "a[1", "a[x-y]", "a[5-2]", "a[1-2-3]", "a[12345678901]"] {
            assert!(matches!(parse(text), Err(HostError::Range(_))), "{text}");
        }
        assert_eq!(parse("a[1-99999]"), Err(HostError::TooMany));
        assert_eq!(parse("a[1-99]b[1-99]"), Err(HostError::TooMany));
    }

    proptest! {
        #[test]
        fn no_text_panics_and_no_name_has_more_than_its_characters(text in "\\PC{0,60}") {
            for host in parse(&text).unwrap_or_default() {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-:@".contains(c);
                prop_assert!(host.as_str().chars().all(is_plain) && !host.as_str().starts_with('-'));
            }
        }
    }
}
