//! What a terminal obeys rather than shows (ECMA-48), as `script`, `less -R` and colours leave it in a file.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

const ESCAPE: char = '\u{1b}';
const BELL: char = '\u{7}';
const BACKSPACE: char = '\u{8}';
/// Control Sequence Introducer and Operating System Command in one character.
const CSI: char = '\u{9b}';
const OSC: char = '\u{9d}';

/// A line as it looked on the terminal: without control sequences and control characters (but tabs), with blanks for
/// those that do not break, and after a carriage return only what was written over it.
pub(super) fn plain(line: &str) -> Cow<'_, str> {
    let is_odd =
        |byte: u8| (byte < 0x20 && byte != b'\t') || byte == 0x7f || matches!(byte, 0xc2 | 0xe2 | 0xef);
    if !line.bytes().any(is_odd) {
        return Cow::Borrowed(line);
    }
    let line = line.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or_default();
    let mut shown = String::with_capacity(line.len());
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            ESCAPE => skip_escape(&mut rest),
            CSI => skip_control(&mut rest),
            OSC => skip_command(&mut rest),
            BACKSPACE => _ = shown.pop(),
            '\t' => shown.push(c),
            '\u{a0}' | '\u{2007}' | '\u{202f}' => shown.push(' '),
            '\u{200b}' | '\u{feff}' => {}
            c if c.is_control() => {}
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

fn skip_escape(rest: &mut Peekable<Chars<'_>>) {
    match rest.next() {
        Some('[') => skip_control(rest),
        // Operating system commands, device control strings, and their relatives.
        Some(']' | 'P' | 'X' | '^' | '_') => skip_command(rest),
        // Intermediate characters (`ESC ( B` names a character set), then a final one.
        Some(' '..='/') => {
            while rest.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            rest.next();
        }
        _ => {}
    }
}

/// Parameters and intermediate characters, then one final character.
fn skip_control(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    rest.next_if(|c| matches!(c, '@'..='~'));
}

/// Up to a bell or a string terminator.
fn skip_command(rest: &mut Peekable<Chars<'_>>) {
    while let Some(c) = rest.next() {
        match c {
            BELL | '\u{9c}' => return,
            ESCAPE => {
                rest.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_titles_and_character_sets_are_gone() {
        assert_eq!(plain("\u{1b}[01;31m\u{1b}[KLnkSta\u{1b}[m: x4"), "LnkSta: x4");
        assert_eq!(plain("\u{1b}]0;me@host\u{7}$ lspci"), "$ lspci");
        assert_eq!(plain("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\"), "link");
        assert_eq!(plain("\u{1b}(B\u{1b}[mplain\u{9b}2J"), "plain");
    }

    #[test]
    fn what_was_written_over_is_gone() {
        assert_eq!(plain("N\u{8}NA\u{8}AM\u{8}ME\u{8}E"), "NAME");
        assert_eq!(plain("10 %\r50 %\r100 %"), "100 %");
    }

    #[test]
    fn blanks_are_blanks_and_letters_stay() {
        assert_eq!(plain("Speed\u{a0}8GT/s\u{200b}"), "Speed 8GT/s");
        assert_eq!(plain("├─sda1 Größe"), "├─sda1 Größe");
        assert_eq!(plain("a\tb\0c"), "a\tbc");
    }

    #[test]
    fn a_sequence_that_never_ends_takes_the_rest_of_its_line_at_most() {
        assert_eq!(plain("a\u{1b}]0;endless"), "a");
        assert_eq!(plain("a\u{1b}["), "a");
        assert_eq!(plain("a\u{1b}"), "a");
    }
}
