//! Makes foreign text inert: model names, slot names and labels come from devices and from other people's files, and
//! may hold escape sequences that a terminal would obey.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Deserializer;

/// No text from outside is longer than this many characters in a report; the rest is cut off.
const LONGEST: usize = 2000;

/// What the program writes to set text off: reset, bold, faint, red, green, yellow (`report/document/terminal/ink`). Nothing else that
/// begins with an escape character reaches a terminal.
const OWN_COLOURS: [&str; 6] = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"];

/// `text` without anything that a terminal obeys or that changes the order of what is read: control characters
/// (C0, DEL, C1), line separators, and the invisible and bidirectional formatting characters of Unicode are written as
/// escapes (`\x1b`, `\u{202e}`). A long text is cut off.
pub fn inert(text: &str) -> String {
    inert_within(text, LONGEST)
}

/// As [`inert`], of at most so many characters.
pub fn inert_within(text: &str, most: usize) -> String {
    if text.len() <= most && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len().min(most));
    let mut rest = text.chars();
    rest.by_ref().take(most).for_each(|c| put(&mut out, c));
    if rest.next().is_some() {
        out.push('…');
    }
    out
}

/// As [`inert`], however long the text is.
pub fn one_line(text: &str) -> Cow<'_, str> {
    written(text, |_| None)
}

/// Lines of text, as [`inert`] but for the ends of lines: the last door before standard error.
pub fn lines(text: &str) -> Cow<'_, str> {
    written(text, |rest| rest.starts_with('\n').then_some(1))
}

/// A page of text, as [`lines`]; with `colours` the ways in which the program itself sets text off stay, too: the last
/// door before standard output.
pub fn page(text: &str, colours: bool) -> Cow<'_, str> {
    written(text, |rest| match rest.starts_with('\n') {
        true => Some(1),
        false if colours => OWN_COLOURS.iter().find(|own| rest.starts_with(**own)).map(|own| own.len()),
        false => None,
    })
}

/// JSON that is read again, with the same characters escaped as JSON does it: decoded, its strings are what they were.
/// Outside ASCII they stand in strings only. What is only shown is made by [`shown_json`].
pub fn json(text: &str) -> Cow<'_, str> {
    // Nearly every text is ASCII that is shown, and ends of lines.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n')) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || !is_obeyed(c) {
            out.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        }
    }
    Cow::Owned(out)
}

/// `text` with what a terminal obeys written as escapes, but for what `keep` says to keep: so many bytes at the beginning
/// of what is left.
fn written(text: &str, keep: impl Fn(&str) -> Option<usize>) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let kept = is_obeyed(c).then(|| keep(rest)).flatten();
        let (now, later) = rest.split_at_checked(kept.unwrap_or(c.len_utf8())).unwrap_or((rest, ""));
        match kept {
            Some(_) => out.push_str(now),
            None => put(&mut out, c),
        }
        rest = later;
    }
    Cow::Owned(out)
}

fn put(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        c if c.is_control() && (c as u32) < 0x100 => out.push_str(&format!("\\x{:02x}", c as u32)),
        c if is_obeyed(c) => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
        c => out.push(c),
    }
}

/// Whether a terminal obeys it, or shows others differently for it.
const fn is_obeyed(c: char) -> bool {
    matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}') || is_invisible(c)
}

/// `text` as text of XML and HTML, inert in both: between tags, and in attributes within double or single quotes.
pub fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in inert(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Characters that show nothing and change how others are shown: the bidirectional ones (Unicode Standard Annex #9,
/// section 2), the format characters of general category Cf that text renderers obey, line and paragraph separators, and
/// what is ignorable by default (`DerivedCoreProperties.txt`, `Default_Ignorable_Code_Point`): fillers and selectors.
const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{00ad}'
            | '\u{034f}'
            | '\u{061c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// A report as JSON for people and programs, indented, without an end of line. Each of its strings is [`inert`] when it is
/// decoded, names of fields included.
///
/// Not for what is kept to go on with (`--save`): that has to hold names as they are.
///
/// # Errors
/// It has no form in JSON.
pub fn shown_json(report: &impl Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(report)?;
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    // Outside of strings JSON has no quotes.
    while let Some((layout, string)) = rest.find('"').and_then(|at| rest.split_at_checked(at)) {
        let mut values = Deserializer::from_str(string).into_iter::<String>();
        let value = values.next().transpose()?.unwrap_or_default();
        out.push_str(layout);
        out.push_str(&serde_json::to_string(&inert(&value))?);
        rest = string.get(values.byte_offset()..).unwrap_or_default();
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_escape_sequence_in_a_model_name_is_shown_and_not_obeyed() {
        assert_eq!(inert("SSD\x1b[2J\x07 X"), "SSD\\x1b[2J\\x07 X");
        assert_eq!(inert("a\nb\u{9b}31m"), "a\\nb\\x9b31m");
    }

    #[test]
    fn text_cannot_be_turned_round() {
        assert_eq!(inert("sda\u{202e}gnp"), "sda\\u{202e}gnp");
    }

    #[test]
    fn plain_text_in_any_language_stays() {
        assert_eq!(inert("Größe × 4 → 磁盘"), "Größe × 4 → 磁盘");
    }

    #[test]
    fn an_endless_name_is_cut_off() {
        assert_eq!(inert(&"x".repeat(1_000_000)).chars().count(), LONGEST + 1);
    }

    #[test]
    fn lines_stay_lines_and_nothing_else_is_kept() {
        assert_eq!(lines("a\nb\tc\x1b[1md"), "a\nb\\tc\\x1b[1md");
        assert_eq!(one_line("a\nhint: b"), "a\\nhint: b");
        assert!(matches!(lines("Größe\nb"), Cow::Owned(_)) && matches!(one_line("Größe"), Cow::Borrowed(_)));
    }

    #[test]
    fn only_colours_of_our_own_reach_a_page_and_only_when_it_has_colours() {
        let text = "\x1b[1m\x1b[31mbad\x1b[0m \x1b[8mhidden\x1b]0;title\x07";
        assert_eq!(page(text, true), "\x1b[1m\x1b[31mbad\x1b[0m \\x1b[8mhidden\\x1b]0;title\\x07");
        assert_eq!(page("\x1b[31mx", false), "\\x1b[31mx");
    }

    #[test]
    fn what_a_terminal_obeys_is_an_escape_in_json() {
        let value = "a\u{202e}b\u{9b}1m\u{7f}\u{e0041}\u{2028}ö";
        let text = serde_json::to_string_pretty(&[value]).expect("is JSON");
        let escaped = json(&text);
        assert!(escaped.chars().all(|c| c == '\n' || !is_obeyed(c)), "{escaped}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&escaped).expect("is JSON"), [value]);
    }

    #[test]
    fn markup_of_others_is_text() {
        assert_eq!(markup("<b a=\"1\" c='2'>&\x1b"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;\\x1b");
    }

    proptest! {
        #[test]
        fn nothing_that_a_terminal_obeys_survives(text: String) {
            prop_assert!(inert(&text).chars().all(|c| !c.is_control() && !is_invisible(c)));
            prop_assert!(one_line(&text).chars().all(|c| !c.is_control() && !is_obeyed(c)));
            prop_assert!(lines(&text).chars().all(|c| c == '\n' || !is_obeyed(c)));
            prop_assert!(page(&text, false).chars().all(|c| c == '\n' || !is_obeyed(c)));
        }

        #[test]
        fn json_says_the_same_when_it_is_inert(text: String) {
            let plain = serde_json::to_string(&text).expect("is JSON");
            prop_assert_eq!(serde_json::from_str::<String>(&json(&plain)).expect("is JSON"), text);
        }
    }

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
