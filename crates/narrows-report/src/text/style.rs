//! How text may look: colour, width, and which characters the reader can show.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a style with colours was chosen for the output of this process.
static IS_COLOURED: AtomicBool = AtomicBool::new(false);

/// The width of text that is not shown on a terminal.
const PIPE_WIDTH: usize = 100;

/// Forums and mailing lists wrap code blocks at 80 columns or a little less.
const PLAIN_WIDTH: usize = 78;

/// Terminals narrower than this get long lines rather than an unreadable column; wider ones get no wider text.
const WIDTHS: (usize, usize) = (60, 140);

/// Whether to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colour {
    /// On a terminal that can, unless `NO_COLOR` says otherwise.
    #[default]
    Auto,
    Always,
    Never,
}

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

/// What [`Style::choose`] looks at.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// Columns of the terminal; `None` when the output is none.
    pub terminal: Option<usize>,
    /// `COLUMNS`: so many columns are wanted, terminal or not.
    pub columns: Option<String>,
    /// `NO_COLOR` (<https://no-color.org>): any value but the empty one turns colour off.
    pub no_color: Option<String>,
    /// `CLICOLOR_FORCE` (<https://bixense.com/clicolors>): anything but `0` turns colour on, terminal or not.
    pub clicolor_force: Option<String>,
    pub term: Option<String>,
    /// The character set in force: the first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set.
    pub locale: Option<String>,
}

impl Style {
    /// Text to be pasted in public.
    pub const PLAIN: Self =
        Self { colour: false, width: PLAIN_WIDTH, unicode: false, plain: true, verbose: false };

    /// Lines that are copied from here: none is wrapped.
    pub const UNWRAPPED: Self =
        Self { colour: false, width: usize::MAX, unicode: true, plain: false, verbose: false };

    /// The style for the standard output of this process.
    pub fn detect(colour: Colour, plain: bool) -> Self {
        let env = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let terminal = std::io::stdout()
            .is_terminal()
            .then(|| terminal_size::terminal_size().map_or(PIPE_WIDTH, |(width, _)| usize::from(width.0)));
        let locale = env("LC_ALL").or_else(|| env("LC_CTYPE")).or_else(|| env("LANG"));
        let (columns, no_color, clicolor_force) = (env("COLUMNS"), env("NO_COLOR"), env("CLICOLOR_FORCE"));
        let around = Surroundings { terminal, columns, no_color, clicolor_force, term: env("TERM"), locale };
        let style = Self::choose(colour, plain, around);
        IS_COLOURED.fetch_or(style.colour, Ordering::Relaxed);
        style
    }

    /// The style for what is known of the output.
    pub fn choose(colour: Colour, plain: bool, around: Surroundings) -> Self {
        if plain {
            return Self::PLAIN;
        }
        let is_dumb = around.term.as_deref() == Some("dumb");
        let forced = around.clicolor_force.is_some_and(|value| value != "0");
        let auto = around.no_color.is_none_or(|value| value.is_empty())
            && (forced || (around.terminal.is_some() && !is_dumb));
        let asked =
            around.columns.and_then(|columns| columns.parse::<usize>().ok()).filter(|columns| *columns > 0);
        let columns = asked.or(around.terminal.filter(|_| !is_dumb));
        Self {
            colour: match colour {
                Colour::Auto => auto,
                Colour::Always => true,
                Colour::Never => false,
            },
            width: columns.map_or(PIPE_WIDTH, |columns| columns.clamp(WIDTHS.0, WIDTHS.1)),
            unicode: !is_dumb && around.locale.is_none_or(|name| is_utf8(&name)),
            plain: false,
            verbose: false,
        }
    }
}

/// Whether the output of this process has colours: only then may an escape sequence of our own be in it.
pub fn is_coloured() -> bool {
    IS_COLOURED.load(Ordering::Relaxed)
}

/// Whether a locale's name, such as `de_DE.UTF-8`, names UTF-8.
fn is_utf8(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Option<String> {
        Some(value.to_owned())
    }

    fn on_a_terminal() -> Surroundings {
        Surroundings {
            terminal: Some(120),
            term: text("xterm-256color"),
            locale: text("en_US.UTF-8"),
            ..Surroundings::default()
        }
    }

    #[test]
    fn a_terminal_gets_colour_and_its_own_width() {
        let style = Style::choose(Colour::Auto, false, on_a_terminal());
        assert_eq!(style, Style { colour: true, width: 120, unicode: true, plain: false, verbose: false });
    }

    #[test]
    fn a_pipe_gets_neither_colour_nor_the_width_of_the_terminal() {
        let style = Style::choose(Colour::Auto, false, Surroundings { terminal: None, ..on_a_terminal() });
        assert_eq!(style, Style { colour: false, width: 100, unicode: true, plain: false, verbose: false });
    }

    #[test]
    fn columns_decides_the_width_of_a_pipe_and_of_a_terminal() {
        for terminal in [None, Some(120)] {
            let width = |columns| {
                let around = Surroundings { terminal, columns: text(columns), ..on_a_terminal() };
                Style::choose(Colour::Auto, false, around).width
            };
            assert_eq!((width("80"), width("20")), (80, WIDTHS.0));
            assert_eq!(width("wide"), terminal.unwrap_or(PIPE_WIDTH));
        }
    }

    #[test]
    fn no_color_wins_over_force_and_the_option_over_both() {
        let around = Surroundings { no_color: text("1"), clicolor_force: text("1"), ..on_a_terminal() };
        assert!(!Style::choose(Colour::Auto, false, around.clone()).colour);
        assert!(Style::choose(Colour::Always, false, around).colour);
        assert!(!Style::choose(Colour::Never, false, on_a_terminal()).colour);
    }

    #[test]
    fn colour_can_be_forced_into_a_pipe() {
        let around = Surroundings { terminal: None, clicolor_force: text("1"), ..on_a_terminal() };
        assert!(Style::choose(Colour::Auto, false, around.clone()).colour);
        let around = Surroundings { clicolor_force: text("0"), ..around };
        assert!(!Style::choose(Colour::Auto, false, around).colour);
    }

    #[test]
    fn a_dumb_terminal_gets_ascii_without_colour() {
        let style =
            Style::choose(Colour::Auto, false, Surroundings { term: text("dumb"), ..on_a_terminal() });
        assert_eq!(style, Style { colour: false, width: 100, unicode: false, plain: false, verbose: false });
    }

    #[test]
    fn a_locale_without_utf8_gets_ascii() {
        assert!(
            !Style::choose(Colour::Auto, false, Surroundings { locale: text("C"), ..on_a_terminal() })
                .unicode
        );
    }

    #[test]
    fn plain_is_the_same_everywhere() {
        assert_eq!(Style::choose(Colour::Always, true, on_a_terminal()), Style::PLAIN);
    }
}
