//! The options of output, declared once for every command that has them.

use clap::{Args, ValueEnum};
use serde::Deserialize;

use narrows_report::text::{Colour, Style};

/// How a report is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct OutputArgs {
    /// Print JSON (bytes per second, bytes, nanoseconds); its schema is in schema/
    #[arg(long, conflicts_with = "plain")]
    pub json: bool,

    /// Print ASCII without colour, at most 78 columns wide: to paste in public
    ///
    /// `check` and `compare` then also leave out addresses, UUIDs and names.
    #[arg(long)]
    pub plain: bool,

    /// When to use colour; auto means on a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    pub color: ColorWhen,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl ColorWhen {
    /// As it is typed.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        }
    }
}

impl OutputArgs {
    /// How text may look.
    pub(super) fn style(&self) -> Style {
        let colour = match super::config::colour().unwrap_or(self.color) {
            ColorWhen::Auto => Colour::Auto,
            ColorWhen::Always => Colour::Always,
            ColorWhen::Never => Colour::Never,
        };
        Style::detect(colour, self.plain || super::config::is_plain())
    }
}
