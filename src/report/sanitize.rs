//! Makes foreign text inert: model names, slot names and labels come from devices and from other people's files, and
//! may hold escape sequences that a terminal would obey.

/// No text from outside is longer than this many characters in a report; the rest is cut off.
const LONGEST: usize = 2000;

/// `text` without anything that a terminal obeys or that changes the order of what is read: control characters
/// (C0, DEL, C1), line separators, and the invisible and bidirectional formatting characters of Unicode are written as
/// escapes (`\x1b`, `\u{202e}`).
pub fn inert(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (count, c) in text.chars().enumerate() {
        if count >= LONGEST {
            out.push('…');
            break;
        }
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() && (c as u32) < 0x100 => out.push_str(&format!("\\x{:02x}", c as u32)),
            c if c.is_control() || is_invisible(c) => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => out.push(c),
        }
    }
    out
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

/// Characters that show nothing and change how others are shown (Unicode Standard Annex #9, section 2, and the format
/// characters of general category Cf that text renderers obey).
const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{00ad}'
            | '\u{061c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
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
    fn markup_of_others_is_text() {
        assert_eq!(markup("<b a=\"1\" c='2'>&\x1b"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;\\x1b");
    }

    proptest! {
        #[test]
        fn nothing_that_a_terminal_obeys_survives(text: String) {
            prop_assert!(inert(&text).chars().all(|c| !c.is_control() && !is_invisible(c)));
        }
    }
}
