//! The options of output, declared once for every command that has them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use narrows_report::text::{Colour, Style};

/// How a report is printed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct OutputArgs {
    /// Print JSON (bytes per second, bytes, nanoseconds; schema/narrows.json)
    #[arg(long, conflicts_with_all = ["plain", "markdown"])]
    pub json: bool,

    /// How it is shown to a person.
    #[command(flatten)]
    pub shown: ShownArgs,
}

/// How text looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct LookArgs {
    /// Print ASCII without colour, at most 78 columns wide: to paste in public
    ///
    /// Addresses, UUIDs and every name are left out: all words but those that narrows, the kernel or hardware gives.
    #[arg(long)]
    pub plain: bool,

    /// When to use colour; auto means on a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    pub color: ColorWhen,
}

/// How a report is shown to a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct ShownArgs {
    /// How text looks.
    #[command(flatten)]
    pub look: LookArgs,

    /// Also write the report as one page: no script, no request, for screen, phone and print
    ///
    /// The file must not be there yet; `-` prints the page in place of the text. What --plain leaves out is left out.
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Print Markdown, for tickets and forums; what --plain leaves out is left out
    #[arg(long, hide_short_help = true, conflicts_with = "plain")]
    pub markdown: bool,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl OutputArgs {
    /// How text may look.
    pub(super) fn style(&self) -> Style {
        self.shown.style()
    }
}

impl LookArgs {
    /// How text may look.
    fn style(self) -> Style {
        let colour = match self.color {
            ColorWhen::Auto => Colour::Auto,
            ColorWhen::Always => Colour::Always,
            ColorWhen::Never => Colour::Never,
        };
        Style::detect(colour, self.plain)
    }
}

impl ShownArgs {
    /// How text may look.
    pub(super) fn style(&self) -> Style {
        self.look.style()
    }

    /// Whether names are left out of all that is printed and written.
    pub(super) const fn is_public(&self) -> bool {
        self.look.plain || self.markdown
    }

    /// Whether the page takes the place of the text.
    pub(super) fn is_page_alone(&self) -> bool {
        self.html.as_ref().is_some_and(|file| file.as_os_str() == "-")
    }
}
