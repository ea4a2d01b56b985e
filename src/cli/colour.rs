//! What the terminal of this process can show, and what its user wants of it.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};

use narrows_report::document::Style;

/// Whether a style with colours was chosen for the output of this process.
static IS_COLOURED: AtomicBool = AtomicBool::new(false);

/// The width of text that is not shown on a terminal.
const PIPE_WIDTH: usize = 100;

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

/// The style for the standard output of this process.
pub(super) fn detect(colour: Colour, plain: bool) -> Style {
    let env = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let terminal = std::io::stdout()
        .is_terminal()
        .then(|| terminal_size::terminal_size().map_or(PIPE_WIDTH, |(width, _)| usize::from(width.0)));
    let style = choose(colour, plain, terminal, &env);
    IS_COLOURED.fetch_or(style.colour, Ordering::Relaxed);
    style
}

/// The style for an output of so many columns if it is a terminal, by the variables that are set and not empty. `COLUMNS` says
/// how many are wanted, terminal or not. `NO_COLOR` (<https://no-color.org>) turns colour off; any `CLICOLOR_FORCE` but `0`
/// (<https://bixense.com/clicolors>) turns it on, terminal or not.
fn choose(
    colour: Colour,
    plain: bool,
    terminal: Option<usize>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Style {
    if plain {
        return Style::PLAIN;
    }
    let is_dumb = env("TERM").as_deref() == Some("dumb");
    let forced = env("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    let auto = env("NO_COLOR").is_none() && (forced || (terminal.is_some() && !is_dumb));
    let asked = env("COLUMNS").and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    let columns: Option<usize> = asked.or(terminal.filter(|_| !is_dumb));
    // The first of them that is set is in force.
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(env);
    Style {
        colour: match colour {
            Colour::Auto => auto,
            Colour::Always => true,
            Colour::Never => false,
        },
        width: columns.map_or(PIPE_WIDTH, |columns| columns.clamp(WIDTHS.0, WIDTHS.1)),
        unicode: !is_dumb && locale.is_none_or(|name| is_utf8(&name)),
        plain: false,
        verbose: false,
    }
}

/// Whether the output of this process has colours: only then may an escape sequence of our own be in it.
pub(super) fn is_coloured() -> bool {
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

    /// The style with these variables beside those of a usual terminal.
    fn chosen(colour: Colour, terminal: Option<usize>, set: &[(&str, &str)]) -> Style {
        let usual = [("TERM", "xterm-256color"), ("LANG", "en_US.UTF-8")];
        let env = |name: &str| {
            let mut all = set.iter().chain(&usual);
            all.find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
        };
        choose(colour, false, terminal, &env)
    }

    const TERMINAL: Option<usize> = Some(120);

    #[test]
    fn a_terminal_gets_colour_and_its_own_width() {
        let style = chosen(Colour::Auto, TERMINAL, &[]);
        assert_eq!(style, Style { colour: true, width: 120, unicode: true, plain: false, verbose: false });
    }

    #[test]
    fn a_pipe_gets_neither_colour_nor_the_width_of_the_terminal() {
        let style = chosen(Colour::Auto, None, &[]);
        assert_eq!(style, Style { colour: false, width: 100, unicode: true, plain: false, verbose: false });
    }

    #[test]
    fn columns_decides_the_width_of_a_pipe_and_of_a_terminal() {
        for terminal in [None, TERMINAL] {
            let width = |columns| chosen(Colour::Auto, terminal, &[("COLUMNS", columns)]).width;
            assert_eq!((width("80"), width("20")), (80, WIDTHS.0));
            assert_eq!(width("wide"), terminal.unwrap_or(PIPE_WIDTH));
        }
    }

    #[test]
    fn no_color_wins_over_force_and_the_option_over_both() {
        let set = [("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")];
        assert!(!chosen(Colour::Auto, TERMINAL, &set).colour);
        assert!(chosen(Colour::Always, TERMINAL, &set).colour);
        assert!(!chosen(Colour::Never, TERMINAL, &[]).colour);
    }

    #[test]
    fn colour_can_be_forced_into_a_pipe() {
        assert!(chosen(Colour::Auto, None, &[("CLICOLOR_FORCE", "1")]).colour);
        assert!(!chosen(Colour::Auto, None, &[("CLICOLOR_FORCE", "0")]).colour);
    }

    #[test]
    fn a_dumb_terminal_gets_ascii_without_colour() {
        let style = chosen(Colour::Auto, TERMINAL, &[("TERM", "dumb")]);
        assert_eq!(style, Style { colour: false, width: 100, unicode: false, plain: false, verbose: false });
    }

    #[test]
    fn a_locale_without_utf8_gets_ascii() {
        assert!(!chosen(Colour::Auto, TERMINAL, &[("LC_ALL", "C")]).unicode);
    }

    #[test]
    fn plain_is_the_same_everywhere() {
        assert_eq!(choose(Colour::Always, true, TERMINAL, &|_| None), Style::PLAIN);
    }
}
