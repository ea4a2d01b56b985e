//! Puts text on the page: how it may look, widths on a display, wrapping, colour, and ASCII for readers that show nothing else.

use anstyle::{AnsiColor, Effects};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::sanitize::inert;

/// Forums and mailing lists wrap code blocks at 80 columns or a little less.
const PLAIN_WIDTH: usize = 78;

/// How text may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether to use colour and weight.
    pub colour: bool,
    /// Columns.
    pub width: usize,
    /// Whether characters outside ASCII may be used.
    pub unicode: bool,
    /// Whether the text is made to be pasted in public: ASCII, narrow, and without addresses or identifiers.
    pub plain: bool,
    /// Whether all is shown that is known, not the answer alone.
    pub verbose: bool,
}

impl Style {
    /// Text to be pasted in public.
    pub const PLAIN: Self =
        Self { colour: false, width: PLAIN_WIDTH, unicode: false, plain: true, verbose: false };

    /// Lines that are copied from here: none is wrapped.
    pub const UNWRAPPED: Self =
        Self { colour: false, width: usize::MAX, unicode: true, plain: false, verbose: false };
}

/// What a piece of text means, which decides how it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Nothing special.
    Normal,
    /// A heading, or the sentence that matters most.
    Strong,
    /// Of less weight than the rest.
    Faint,
    /// The narrowest hop; a fault.
    Bad,
    /// The next hop; a limit.
    Warn,
    /// A gain; trusted.
    Good,
}

impl Tone {
    const fn style(self) -> anstyle::Style {
        let style = anstyle::Style::new();
        match self {
            Self::Normal => style,
            Self::Strong => style.bold(),
            Self::Faint => style.effects(Effects::DIMMED),
            Self::Bad => style.bold().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red))),
            Self::Warn => style.fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow))),
            Self::Good => style.fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green))),
        }
    }
}

/// A line that knows how wide it is so far.
#[derive(Debug)]
pub(in crate::document) struct Line<'a> {
    style: &'a Style,
    text: String,
    width: usize,
}

impl<'a> Line<'a> {
    pub(in crate::document) const fn new(style: &'a Style) -> Self {
        Self { style, text: String::new(), width: 0 }
    }

    /// Adds text.
    pub(in crate::document) fn put(&mut self, tone: Tone, text: &str) -> &mut Self {
        let text = shown(self.style, text);
        self.width += text.width();
        if self.style.colour && tone != Tone::Normal && !text.trim().is_empty() {
            let style = tone.style();
            self.text.push_str(&format!("{style}{text}{style:#}"));
        } else {
            self.text.push_str(&text);
        }
        self
    }

    /// Adds spaces up to a column.
    pub(in crate::document) fn pad_to(&mut self, column: usize) -> &mut Self {
        let missing = column.saturating_sub(self.width);
        self.text.push_str(&" ".repeat(missing));
        self.width += missing;
        self
    }

    /// Adds text that ends at a column.
    pub(in crate::document) fn put_right(&mut self, tone: Tone, text: &str, end: usize) -> &mut Self {
        self.pad_to(end.saturating_sub(shown(self.style, text).width())).put(tone, text)
    }

    /// Ends the line.
    pub(in crate::document) fn end(self, out: &mut String) {
        out.push_str(self.text.trim_end());
        out.push('\n');
    }
}

/// `text` in the characters that the reader can show, with nothing in it that a terminal obeys, and no more of it than anybody reads.
fn shown(style: &Style, text: &str) -> String {
    let text = inert(text);
    if style.unicode { text } else { ascii(&text) }
}

/// `text` in ASCII: what has a common spelling gets it, anything else becomes `?`.
fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_ascii() => out.push(c),
            '→' => out.push_str("->"),
            '←' | '◀' | '◁' => out.push_str("<-"),
            '×' => out.push('x'),
            '÷' => out.push('/'),
            // `71 °C` is `71 C`.
            '°' => {}
            'µ' | 'μ' => out.push('u'),
            '±' => out.push_str("+/-"),
            '·' | '–' | '−' | '•' => out.push('-'),
            '—' => out.push_str("--"),
            '…' => out.push_str("..."),
            '≈' => out.push('~'),
            '≤' => out.push_str("<="),
            '≥' => out.push_str(">="),
            '“' | '”' | '„' => out.push('"'),
            '‘' | '’' => out.push('\''),
            '®' => out.push_str("(R)"),
            '™' => out.push_str("(TM)"),
            '²' => out.push('2'),
            '³' => out.push('3'),
            '\u{a0}' | '\u{202f}' => out.push(' '),
            // Branches of a tree, steps of a course, and marks.
            '├' | '│' => out.push('|'),
            '└' => out.push('`'),
            '─' => out.push('-'),
            '▁' | '▂' => out.push('_'),
            '▃' | '▄' => out.push('-'),
            '▅' | '▆' => out.push('='),
            '▇' | '█' => out.push('#'),
            '░' => out.push('.'),
            '▒' => out.push(':'),
            '▓' => out.push('+'),
            '▶' => out.push('>'),
            _ => out.push('?'),
        }
    }
    out
}

/// The columns that `text` takes.
pub(in crate::document) fn width(style: &Style, text: &str) -> usize {
    shown(style, text).width()
}

/// `text` in at most `most` columns; what does not fit gives way to `…`.
pub(in crate::document) fn fit(style: &Style, text: &str, most: usize) -> String {
    let text = shown(style, text);
    if text.width() <= most {
        return text;
    }
    let mark = shown(style, "…");
    let room = most.saturating_sub(mark.width());
    let fits = |used: &mut usize, c: char| {
        *used += c.width().unwrap_or(0);
        (*used <= room).then_some(c)
    };
    let out: String = text.chars().scan(0, fits).collect();
    let out = out.trim_end().to_owned();
    if mark.width() <= most { out + &mark } else { out }
}

/// `text` in lines of at most `most` columns, broken at spaces; a word that is longer than a line is broken within.
pub(in crate::document) fn wrap(style: &Style, text: &str, most: usize) -> Vec<String> {
    let most = most.max(8);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in shown(style, text).split_whitespace() {
        for piece in pieces(word, most) {
            let gap = usize::from(!line.is_empty());
            if !line.is_empty() && line.width() + gap + piece.width() > most {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&piece);
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

fn pieces(word: &str, most: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut used = 0;
    for c in word.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide > most {
            pieces.push(String::new());
            used = 0;
        }
        used += wide;
        if let Some(piece) = pieces.last_mut() {
            piece.push(c);
        }
    }
    pieces
}

/// Puts wrapped text, its first line after `lead` and the others below it.
pub(in crate::document) fn paragraph(
    out: &mut String,
    style: &Style,
    lead: (Tone, &str),
    tone: Tone,
    text: &str,
) {
    let indent = width(style, lead.1);
    for (number, part) in wrap(style, text, style.width.saturating_sub(indent)).iter().enumerate() {
        let mut line = Line::new(style);
        if number == 0 {
            line.put(lead.0, lead.1);
        }
        line.pad_to(indent).put(tone, part);
        line.end(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WIDE: Style = Style { colour: false, width: 100, unicode: true, plain: false, verbose: false };

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(fit(&WIDE, "磁盘磁盘", 8), "磁盘磁盘");
        assert_eq!(fit(&WIDE, "磁盘磁盘", 7), "磁盘磁…");
        assert_eq!(fit(&WIDE, "磁盘磁盘", 6), "磁盘…");
    }

    #[test]
    fn ascii_keeps_the_meaning_of_what_it_replaces() {
        assert_eq!(ascii("8 GT/s × 4 → 3.94 · 85 µs ± 1 …"), "8 GT/s x 4 -> 3.94 - 85 us +/- 1 ...");
        assert_eq!(ascii("KiB/s ÷ 1000 at 71 °C"), "KiB/s / 1000 at 71 C");
        assert_eq!(ascii("磁"), "?");
    }

    #[test]
    fn colour_never_changes_the_width() {
        let style = Style { colour: true, ..WIDE };
        let mut line = Line::new(&style);
        line.put(Tone::Bad, "abc").pad_to(10).put(Tone::Good, "x");
        let mut out = String::new();
        line.end(&mut out);
        let stripped = anstream::adapter::strip_str(&out).to_string();
        assert_eq!(stripped, "abc       x\n");
        assert_ne!(stripped, out);
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_asked(text in "\\PC{0,200}", most in 8usize..60, unicode: bool) {
            let style = Style { unicode, ..WIDE };
            prop_assert!(fit(&style, &text, most).width() <= most);
            for line in wrap(&style, &text, most) {
                prop_assert!(line.width() <= most, "{:?}", line);
            }
        }
    }
}
