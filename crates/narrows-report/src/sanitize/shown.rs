//! JSON that is shown: every string in it is inert also when it is decoded, whoever put it there.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter, PrettyFormatter, Serializer};

use super::{LONGEST, is_obeyed, put};

/// A report as JSON for people and programs, indented, without an end of line. Each of its strings is
/// [inert](super::inert) when it is decoded, names of fields included.
///
/// Not for what is kept to go on with (`--save`): that has to hold names as they are.
///
/// # Errors
/// It has no form in JSON.
pub fn shown_json(report: &impl Serialize) -> serde_json::Result<String> {
    let mut out = Vec::new();
    report.serialize(&mut Serializer::with_formatter(&mut out, Inert::default()))?;
    // The serializer writes text, and `Inert` adds none that is broken.
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// Lays out as [`PrettyFormatter`] does, and writes strings as they are shown.
#[derive(Default)]
struct Inert {
    layout: PrettyFormatter<'static>,
    /// The characters of the string so far, as they were.
    count: usize,
}

impl Inert {
    fn put<W: ?Sized + Write>(&mut self, out: &mut W, c: char) -> io::Result<()> {
        self.count += 1;
        if self.count > LONGEST {
            return Ok(());
        }
        match c {
            '"' => out.write_all(b"\\\""),
            '\\' => out.write_all(b"\\\\"),
            c if is_obeyed(c) => {
                let mut escaped = String::new();
                put(&mut escaped, c);
                out.write_all(escaped.replace('\\', "\\\\").as_bytes())
            }
            c => out.write_all(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

impl Formatter for Inert {
    fn begin_string<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.count = 0;
        self.layout.begin_string(out)
    }

    fn end_string<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        if self.count > LONGEST {
            out.write_all("…".as_bytes())?;
        }
        self.layout.end_string(out)
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let is_plain = fragment.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if is_plain && self.count + fragment.len() <= LONGEST {
            self.count += fragment.len();
            return out.write_all(fragment.as_bytes());
        }
        fragment.chars().try_for_each(|c| self.put(out, c))
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, out: &mut W, escape: CharEscape) -> io::Result<()> {
        self.put(
            out,
            match escape {
                CharEscape::Quote => '"',
                CharEscape::ReverseSolidus => '\\',
                CharEscape::Solidus => '/',
                CharEscape::Backspace => '\x08',
                CharEscape::FormFeed => '\x0c',
                CharEscape::LineFeed => '\n',
                CharEscape::CarriageReturn => '\r',
                CharEscape::Tab => '\t',
                CharEscape::AsciiControl(byte) => char::from(byte),
            },
        )
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.layout.begin_array(out)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.layout.end_array(out)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.layout.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.layout.end_array_value(out)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.layout.begin_object(out)
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.layout.end_object(out)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.layout.begin_object_key(out, first)
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.layout.end_object_key(out)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.layout.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.layout.end_object_value(out)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::sanitize::inert;
    use proptest::prelude::*;

    #[test]
    fn a_string_is_inert_when_it_is_decoded() {
        let name = "SSD\x1b[2J \"a\\b\"\n\u{202e}\u{9b}31m\u{7f}\u{e0041}ö/";
        let text = shown_json(&[name]).expect("is JSON");
        let decoded: Vec<String> = serde_json::from_str(&text).expect("is JSON");
        assert_eq!(decoded, [inert(name)]);
        assert_eq!(decoded[0], "SSD\\x1b[2J \"a\\b\"\\n\\u{202e}\\x9b31m\\x7f\\u{e0041}ö/");
    }

    #[test]
    fn an_endless_string_is_cut_off_and_the_next_is_whole() {
        for long in ["x".repeat(100_000), "ö".repeat(100_000), "\x1b".repeat(100_000), "x\"".repeat(50_000)]
        {
            let text = shown_json(&[long.as_str(), "whole"]).expect("is JSON");
            let decoded: Vec<String> = serde_json::from_str(&text).expect("is JSON");
            assert_eq!(decoded, [inert(&long), "whole".to_owned()]);
        }
    }

    #[test]
    fn it_is_laid_out_as_before() {
        let value =
            serde_json::json!({"a": [1, 2.5, null, true], "b": {}, "c": [], "d": {"e": "f", "g": [[]]}});
        assert_eq!(
            shown_json(&value).expect("is JSON"),
            serde_json::to_string_pretty(&value).expect("is JSON")
        );
    }

    proptest! {
        #[test]
        fn strings_and_names_are_those_that_inert_makes(map: BTreeMap<String, String>) {
            let text = shown_json(&map).expect("is JSON");
            prop_assert!(text.chars().all(|c| c == '\n' || !is_obeyed(c)), "{}", text);
            let decoded: BTreeMap<String, String> = serde_json::from_str(&text).expect("is JSON");
            let expected: BTreeMap<String, String> =
                map.iter().map(|(name, text)| (inert(name), inert(text))).collect();
            prop_assert_eq!(decoded, expected);
        }
    }
}
