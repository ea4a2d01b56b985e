//! JSON documents in a text that may hold other things too, and may end in the middle of one.

use serde_json::Value;

use super::Page;
pub(super) use crate::capture::json::list;
use crate::capture::json::{first, scan};
use crate::text::that_fits;

/// A document, where it begins, and whether it was cut off.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Document {
    /// The line of its first brace, from 1.
    pub(super) line: usize,
    /// What it holds; of one that was cut off, what was whole.
    pub(super) value: Value,
    /// Whether its end is missing or broken.
    pub(super) truncated: bool,
}

/// The documents that begin a line with `{` and hold `mark` somewhere. What stands between them is passed over. Each
/// byte is looked at a bounded number of times.
pub(super) fn documents(page: &Page<'_>, mark: &str) -> Vec<Document> {
    let mut found = Vec::new();
    if !page.has(&[mark]) {
        return found;
    }
    let mut in_vain = 0usize;
    scan(that_fits(page.body), |line, rest| {
        let mut add = |value, truncated| found.push(Document { line, value, truncated });
        if !rest.contains(mark) {
            return Some(None);
        }
        if let Ok((value, taken)) = first(rest)? {
            add(value, false);
            return Some(Some(taken));
        }
        in_vain = in_vain.saturating_add(rest.len());
        if in_vain / 4 > page.body.len() {
            return None;
        }
        let mended = with_whole_strings(rest);
        if let Some(Ok((value, taken))) = first(&mended) {
            add(value, false);
            return Some(Some(taken));
        }
        Some(what_is_whole(&mended).map(|(value, taken)| {
            add(value, true);
            taken.max(rest.find('\n').map_or(rest.len(), |end| end + 1))
        }))
    });
    found
}

/// The one document that a text is, and whether it is not whole: it would take more memory than it may.
pub fn document(text: &str) -> serde_json::Result<(Value, bool)> {
    let read = that_fits(text);
    match serde_json::from_str(read) {
        Ok(value) => Ok((value, false)),
        Err(error) if read.len() == text.len() => Err(error),
        Err(error) => what_is_whole(read).map(|(value, _)| (value, true)).ok_or(error),
    }
}

/// A text with a blank for each line feed in a string, where JSON has none: a mail program broke the line there.
fn with_whole_strings(text: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    let mend = |c: char| {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            '\n' if in_string => return ' ',
            _ => {}
        }
        c
    };
    text.chars().map(mend).collect()
}

/// The value that a broken document has up to its last whole member, with its containers closed; and how many bytes
/// that took.
pub(super) fn what_is_whole(text: &str) -> Option<(Value, usize)> {
    let mut open: Vec<u8> = Vec::new();
    let mut last: Option<(usize, String)> = None;
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'}' | b']' => {
                if open.pop() != Some(byte) {
                    break;
                }
                if open.is_empty() {
                    break;
                }
                last = Some((at + 1, closers(&open)));
            }
            _ => {}
        }
        if open.len() > DEEPEST {
            break;
        }
    }
    let (end, closers) = last?;
    let whole = format!("{}{closers}", text.get(..end)?);
    Some((serde_json::from_str(&whole).ok()?, end))
}

/// No result is nested deeper.
const DEEPEST: usize = 64;

fn closers(open: &[u8]) -> String {
    open.iter().rev().map(|byte| char::from(*byte)).collect()
}

/// The number of a member.
pub(super) fn number(value: &Value, key: &str) -> Option<f64> {
    match value.get(key)? {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => super::number::plain(text),
        _ => None,
    }
}

/// The whole number of a member, where it is no larger than such a number can be.
pub(super) fn count<T: TryFrom<u64>>(value: &Value, key: &str) -> Option<T> {
    let count = match value.get(key)? {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    count?.try_into().ok()
}

/// The text of a member.
pub(super) fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(body: &str) -> Vec<Document> {
        documents(&Page { name: "x", body }, "\"a\"")
    }

    #[test]
    fn documents_are_found_between_other_lines() {
        let found = of("fio: terminating\n{\n\"a\": 1\n}\nend\n{\"a\": 2}{\"b\": 3}\n");
        assert_eq!(found.iter().map(|one| one.line).collect::<Vec<_>>(), [2, 6]);
        assert!(found.iter().all(|one| !one.truncated));
    }

    #[test]
    fn a_string_that_mail_broke_is_whole() {
        let found = of("{\n\"a\": \"Linux host\n\\\"x\\\" 6.1\",\n\"b\": 2}\n{\"a\": 3}\n");
        assert_eq!(
            found.iter().map(|one| (one.line, one.truncated)).collect::<Vec<_>>(),
            [(1, false), (5, false)]
        );
        assert_eq!(found[0].value["a"], "Linux host \"x\" 6.1");
    }

    #[test]
    fn of_a_document_that_was_cut_off_the_whole_members_are_kept() {
        let found = of("{\"a\": [{\"b\": 1}, {\"b\": 2}, {\"b\": ");
        assert_eq!(found.len(), 1);
        assert!(found[0].truncated);
        assert_eq!(found[0].value["a"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn a_text_of_open_braces_is_given_up() {
        assert!(of(&"{\"a\":[\n".repeat(20_000)).is_empty());
    }

    proptest! {
        #[test]
        fn no_text_panics(body in "[\\[\\]{}\",:a1\\\\\n ]{0,200}") {
            let _ = of(&body);
        }
    }
}
