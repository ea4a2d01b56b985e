//! JSON documents inside a text that may hold other things too.

use serde_json::{Deserializer, Value};

use super::Text;
use crate::text::that_fits;

/// Every document of a text that begins a line with a brace, with the number of that line. What stands between
/// documents is passed over.
///
/// A text that looks like JSON on every line but is none would be read again from each line; when what was read in
/// vain comes to four times the text, the rest is given up.
pub(super) fn documents(text: &Text) -> Vec<(usize, Value)> {
    let body = that_fits(text.body());
    let mut found = Vec::new();
    let mut in_vain = 0usize;
    scan(body, |line, rest| match first(rest)? {
        Ok((value, taken)) => {
            found.push((line, value));
            Some(Some(taken))
        }
        Err(error) => {
            in_vain = in_vain.saturating_add(read_until(rest, error.line()));
            (in_vain / 4 <= body.len()).then_some(None)
        }
    });
    found
}

/// Shows to `read` each line that begins with a brace, with its number and all that follows. It says what it took of that
/// (`Some(None)`: nothing, so that the next line is next), or gives up.
pub(crate) fn scan(body: &str, mut read: impl FnMut(usize, &str) -> Option<Option<usize>>) {
    let (mut at, mut line) = (0usize, 1usize);
    while let Some(rest) = body.get(at..).filter(|rest| !rest.is_empty()) {
        let mut taken = rest.find('\n').map_or(rest.len(), |end| end + 1);
        if rest.trim_start_matches([' ', '\t']).starts_with('{') {
            let Some(read) = read(line, rest) else { return };
            taken = read.unwrap_or(taken);
        }
        line += rest.get(..taken).map_or(0, |done| done.bytes().filter(|byte| *byte == b'\n').count());
        at = at.saturating_add(taken);
    }
}

/// The document that a text begins with, and how many bytes it has; `None` where there is none.
pub(crate) fn first(text: &str) -> Option<serde_json::Result<(Value, usize)>> {
    let mut stream = Deserializer::from_str(text).into_iter::<Value>();
    let value = stream.next()?;
    Some(value.map(|value| (value, stream.byte_offset().max(1))))
}

/// How many bytes the first `lines` lines have.
fn read_until(text: &str, lines: usize) -> usize {
    text.split_inclusive('\n').take(lines).map(str::len).sum()
}

/// What a list has that is a member of an object.
pub(crate) fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// A value as the text that another version of the same tool would print: numbers and booleans were strings once.
pub(super) fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(true) => Some("1".to_owned()),
        Value::Bool(false) => Some("0".to_owned()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A member of an object as text, see [`plain`].
pub(super) fn text_of(value: &Value, key: &str) -> Option<String> {
    plain(value.get(key)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn documents_are_found_between_prompts_with_their_lines() {
        let text = Text::new("x", b"$ lsblk -J\n{\n  \"a\": 1\n}\n$ next\n{\"b\": [true, \"x\"]}\n}{ end\n");
        let found = documents(&text);
        let lines: Vec<usize> = found.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [2, 6]);
        assert_eq!(text_of(&found[0].1, "a").as_deref(), Some("1"));
        assert_eq!(plain(&found[1].1["b"][0]).as_deref(), Some("1"));
    }

    #[test]
    fn a_broken_document_hides_no_later_one() {
        let text = Text::new("x", b"{\"a\": [1,\n$ \n{\"b\": 2}\n");
        assert_eq!(documents(&text).len(), 1);
    }

    #[test]
    fn a_text_of_open_braces_is_given_up() {
        let hostile = "{\"a\":[\n".repeat(20_000);
        assert!(documents(&Text::new("x", hostile.as_bytes())).is_empty());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[\\[\\]{}\",:a1\n ]{0,200}") {
            let _ = documents(&Text::new("x", text.as_bytes()));
        }
    }
}
