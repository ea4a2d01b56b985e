//! A pasted text, cleaned of what mail, forums and terminals put around it.
//!
//! Cleaning takes away, in this order: encodings other than UTF-8 and quoted-printable, what a terminal obeys, HTML, the quoting of mail,
//! what `grep`, `cat -n` and scripts put before lines, the fences and the indent of Markdown, the fields of a journal around
//! the kernel's messages. What a web page joined to one line is set apart within it. Lines are neither added nor removed, so
//! that line numbers stay those of the original.

mod before;
mod decode;
mod gvariant;
mod journal;
mod markup;
mod prefix;
mod quote;
pub(crate) mod stamp;
mod statements;
pub(crate) mod wrap;

use std::borrow::Cow;
use std::collections::VecDeque;

pub(crate) use before::behind_marks;
pub(crate) use decode::is_binary;
pub(crate) use prefix::{bare, levels};
pub use statements::statements;

/// Stands for a line that was moved up to the one above. Who does not know it takes it for an empty one, JSON too; as an
/// empty one it would end the block that it stands in.
const MOVED_UP: &str = "\t \t \t";

/// A text with a name, its line ends unified and its quoting taken away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    name: String,
    body: String,
}

impl Text {
    /// Cleans `content`, which was called `name` (a file name, or `standard input`).
    pub fn new(name: impl Into<String>, content: &[u8]) -> Self {
        Self { name: name.into(), body: clean(&decode::decode_printable(decode::decode(content))) }
    }

    /// The text of a file: as it is, or, where it is binary and holds a benchmark of GNOME Disks, what it says. `None` of
    /// other binary files.
    pub fn of_file(name: impl Into<String>, content: &[u8]) -> Option<Self> {
        if !is_binary(content) {
            return Some(Self::new(name, content));
        }
        gvariant::text(content).map(|body| Self { name: name.into(), body })
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The cleaned text. It has as many lines as the original, so that line numbers agree.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// As much of it as is enough, where it is long: up to the piece with which `is_enough`.
    pub(crate) fn until(&self, few: usize, mut is_enough: impl FnMut(&Self) -> bool) -> Cow<'_, Self> {
        let name = || self.name.clone();
        let found = pieces(&self.body, few)
            .find_map(|(end, body)| is_enough(&Self { name: name(), body }).then_some(end));
        match found.and_then(|end| self.body.get(..end)) {
            Some(body) => Cow::Owned(Self { name: name(), body: body.to_owned() }),
            None => Cow::Borrowed(self),
        }
    }

    /// Its lines with their numbers, from 1; the statements that a page joined to one line have that of the line. What was moved
    /// up to another line has none.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        numbered(&self.body)
    }

    /// The source of a fact in this line: `lspci.txt:12`.
    pub fn source(&self, line: usize) -> String {
        format!("{}:{line}", self.name)
    }
}

/// The lines of a cleaned text with their numbers, from 1, without those that were moved up.
pub(crate) fn numbered(body: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(body.lines()).filter(|(_, line)| *line != MOVED_UP);
    lines.flat_map(|(number, line)| statements(line).map(move |statement| (number, statement)))
}

/// A text in pieces of whole lines, and where each ends, where it is long and has more than `few` lines; nothing of others. Each
/// piece begins with what may be the head of its table.
pub(crate) fn pieces(body: &str, few: usize) -> impl Iterator<Item = (usize, String)> {
    const PIECE: usize = 128 << 10;
    const HEADS: usize = 32;
    const LONGEST: usize = 200;
    let is_long = body.len() > PIECE && memchr::memchr_iter(b'\n', body.as_bytes()).nth(few).is_some();
    let mut at = if is_long { 0 } else { body.len() };
    let mut heads: VecDeque<&str> = VecDeque::new();
    std::iter::from_fn(move || {
        let rest = body.get(at..).filter(|rest| !rest.is_empty())?;
        let least = PIECE.min(rest.len());
        let end =
            memchr::memchr(b'\n', rest.as_bytes().get(least..)?).map_or(rest.len(), |at| least + at + 1);
        let piece = rest.get(..end)?;
        at += end;
        let whole: String = heads.iter().copied().chain([piece]).collect();
        let is_head =
            |line: &&str| line.len() < LONGEST && line.bytes().filter(u8::is_ascii_digit).count() < 2;
        heads.extend(piece.split_inclusive('\n').filter(is_head));
        heads.drain(..heads.len().saturating_sub(HEADS));
        Some((at, whole))
    })
}

/// As much of a text of JSON as fits in memory when it is read as a whole: an object takes 664 bytes where its text has seven.
pub(crate) fn that_fits(body: &str) -> &str {
    /// The most that is taken for each byte, beside what any text may take, and by the longest.
    const EACH: usize = 32;
    const ANY: usize = 4 << 20;
    const MOST: usize = 640 << 20;
    let mut left = body.len().saturating_mul(EACH).saturating_add(ANY).min(MOST);
    let over = memchr::memchr3_iter(b'{', b':', b',', body.as_bytes()).find(|at| {
        let cost = match body.as_bytes().get(*at) {
            Some(b'{') => 640,
            Some(b':') => 64,
            _ => 48,
        };
        left = left.saturating_sub(cost);
        left == 0
    });
    over.and_then(|end| body.get(..end)).unwrap_or(body)
}

/// Takes away what mail, forums and people put around and before lines.
fn unmarked(lines: &mut [Cow<'_, str>]) {
    quote::strip(lines);
    // A fence may stand on the line that it opens, before what stands before that.
    markup::strip_fences(lines);
    before::strip(lines);
    markup::strip_fences(lines);
}

fn joined(lines: &[Cow<'_, str>], length: usize) -> String {
    let mut body = String::with_capacity(length);
    for line in lines {
        body.push_str(line.trim_end());
        body.push('\n');
    }
    body
}

/// What `change` makes of a text, of which it changes each line alone or takes it for empty. It sees no [`MOVED_UP`].
fn beside_moved_up(body: &str, change: impl FnOnce(&str) -> String) -> String {
    if !body.contains(MOVED_UP) {
        return change(body);
    }
    let changed = change(&body.replace(MOVED_UP, ""));
    let mut all = String::with_capacity(body.len());
    for (before, after) in body.lines().zip(changed.lines()) {
        all.push_str(if before == MOVED_UP && after.is_empty() { MOVED_UP } else { after });
        all.push('\n');
    }
    all
}

fn clean(text: &str) -> String {
    beside_moved_up(text, peeled)
}

fn peeled(text: &str) -> String {
    let mut lines: Vec<Cow<'_, str>> = split(text).map(markup::without_controls).collect();
    // XML of hwloc has entities in its values, which are its own and not those of a web page.
    if !text.contains("<topology") {
        markup::strip_html(&mut lines);
    }
    unmarked(&mut lines);
    markup::strip_indent(&mut lines);
    journal::messages(&mut lines);
    statements::set_apart(&mut lines);
    joined(&lines, text.len())
}

/// What stands in the places `{}` of a pattern: `fields(text, "Slot({}): {}")`. A text begins as its pattern does; each field ends
/// where what stands behind it is found first; whatever follows the pattern is passed over.
pub(crate) fn fields<'t, const N: usize>(text: &'t str, pattern: &str) -> Option<[&'t str; N]> {
    let mut literals = pattern.split("{}");
    let mut rest = text.strip_prefix(literals.next()?)?;
    let mut found = [""; N];
    for field in &mut found {
        (*field, rest) = match literals.next()? {
            "" => (rest, ""),
            literal => rest.split_once(literal)?,
        };
    }
    Some(found)
}

/// How far a line stands from the margin, in bytes.
pub(crate) fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether a text has digits and nothing else.
pub(crate) fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether one of the words stands in a text, which may be long.
pub(crate) fn is_in(words: &[&str], text: &str) -> bool {
    words.iter().any(|word| memchr::memmem::find(text.as_bytes(), word.as_bytes()).is_some())
}

/// The lines of a text. A text without any line feed was made on a system that ends lines with a carriage return.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let end = if text.contains('\n') { '\n' } else { '\r' };
    text.split_terminator(end).map(|line| line.trim_end_matches('\r'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cleaned(text: &str) -> String {
        Text::new("x", text.as_bytes()).body().to_owned()
    }

    #[test]
    fn line_ends_of_every_system_are_lines() {
        assert_eq!(cleaned("a\r\nb\n\nc"), "a\nb\n\nc\n");
        assert_eq!(cleaned("a\rb\r"), "a\nb\n");
        assert_eq!(cleaned(""), "");
    }

    #[test]
    fn everything_at_once_is_peeled_off_in_order() {
        let text = "Hi,\n<pre>\n&gt; ```\n&gt; 01:00.0 \u{1b}[1mNVMe\u{1b}[0m\n&gt; \tLnkSta:\u{a0}Speed &lt;64ns\n&gt; ```\n</pre>\n";
        assert_eq!(cleaned(text), "Hi,\n\n\n01:00.0 NVMe\n\tLnkSta: Speed <64ns\n\n\n");
    }

    #[test]
    fn a_mail_of_one_line_is_read_by_its_marks_for_a_new_line() {
        let mail = Text::new(
            "x",
            b"<div dir=\"ltr\">Hi,<br>03:00.0 NVMe<br>&nbsp;LnkSta: x1</div><div>Bye</div>\n\n<p>b</p>\n",
        );
        let lines: Vec<(usize, &str)> = mail.lines().collect();
        assert_eq!(
            lines,
            [(1, "Hi,"), (1, "03:00.0 NVMe"), (1, " LnkSta: x1"), (1, "Bye"), (2, ""), (3, "b")]
        );
    }

    #[test]
    fn a_quotation_that_was_set_off_is_bare() {
        assert_eq!(cleaned("Hi\n\n    > ```\n    > a  b\n    > c\n    > ```\n"), "Hi\n\n\na  b\nc\n\n");
    }

    #[test]
    fn a_source_names_the_line_of_the_original() {
        let text = Text::new("mail.txt", b"> a\n> b\n> c\n");
        assert_eq!(text.lines().last(), Some((3, "c")));
        assert_eq!(text.source(3), "mail.txt:3");
    }

    proptest! {
        #[test]
        fn any_bytes_become_a_text_of_as_many_lines(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let text = Text::new("x", &bytes);
            let decoded = decode::decode_printable(decode::decode(&bytes));
            prop_assert_eq!(text.body().lines().count(), split(&decoded).count());
        }

        #[test]
        fn cleaning_twice_is_cleaning_once_for_tables(text in "([a-f0-9:.]{1,9} [A-Za-z ]{0,20}\n){0,9}") {
            prop_assert_eq!(cleaned(&cleaned(&text)), cleaned(&text));
        }
    }
}
