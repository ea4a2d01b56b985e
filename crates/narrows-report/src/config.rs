//! Preferences and where each came from.

use serde::{Deserialize, Serialize};

use crate::document::table::Width;
use crate::document::{Audience, Block, Blocks, Cell, Column, Document, Place, Table};
use crate::text::{Style, Tone};

/// The schema of [`ConfigReport`].
pub const SCHEMA: &str = "narrows/config/1";

/// All preferences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfigReport {
    /// Always `narrows/config/1`.
    pub schema: String,
    /// The file that is read where it is there; `null` where no home directory is known.
    pub file: Option<String>,
    /// Each preference.
    pub settings: Vec<Setting>,
    /// Why `file` is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A preference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setting {
    /// Its name.
    pub key: String,
    /// Its value.
    pub value: String,
    /// Where it came from.
    pub origin: Origin,
    /// The line of the file that says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

/// Where a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Nobody said anything.
    Default,
    /// A variable of the environment.
    Environment,
    /// The file.
    File,
}

impl Setting {
    /// A value with its origin.
    pub fn new(key: &str, value: String, origin: Origin, line: Option<usize>) -> Self {
        Self { key: key.to_owned(), value, origin, line }
    }
}

impl ConfigReport {
    /// The preferences with the file that is read for them.
    pub fn new(file: Option<String>, settings: Vec<Setting>) -> Self {
        let reason = file.is_none().then(|| "neither XDG_CONFIG_HOME nor HOME names a directory".to_owned());
        Self { schema: SCHEMA.to_owned(), file, settings, reason }
    }
}

/// A line for each preference.
pub fn render(report: &ConfigReport, style: &Style) -> String {
    document(report, Audience::of(style)).text(style)
}

/// The preferences as a document.
pub fn document(report: &ConfigReport, audience: Audience) -> Document {
    let mut out = Document::new("config", "", None);
    let file = report.file.as_deref().unwrap_or_default();
    let origin = |setting: &Setting| match (setting.origin, setting.line) {
        (Origin::Default, _) => "(default)".to_owned(),
        (Origin::Environment, _) => "(NO_COLOR in the environment)".to_owned(),
        (Origin::File, Some(line)) => format!("({file}, line {line})"),
        (Origin::File, None) => format!("({file})"),
    };
    let columns = vec![
        Column::name("name", Width::Fit(0, 40)),
        Column::left("value", Width::Fit(0, 60)),
        Column::left("where from", Width::Rest(8)).wrapping(),
    ];
    let mut table = Table::new("Preferences", 0, columns).untitled();
    for setting in &report.settings {
        table.row(vec![Cell::text(&setting.key), Cell::text(&setting.value), Cell::text(origin(setting))]);
    }
    out.part(Place::Data, "");
    out.add(Block::Table(table));
    out.gap();
    match &report.file {
        Some(file) => {
            out.say(0, Tone::Normal, format!("The file: {file}. An option that is typed comes before it."));
        }
        None => {
            out.say(0, Tone::Normal, format!("No file: {}.", report.reason.as_deref().unwrap_or_default()))
        }
    }
    if audience == Audience::Public { out.scrubbed() } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDE: Style = Style { colour: false, width: 100, unicode: true, plain: false };

    #[test]
    fn each_value_says_where_it_is_from() {
        let settings = vec![
            Setting::new("color", "never".to_owned(), Origin::File, Some(2)),
            Setting::new("preset", "kdiskmark".to_owned(), Origin::Default, None),
        ];
        let text = render(
            &ConfigReport::new(Some("/home/a/.config/narrows/config.toml".to_owned()), settings),
            &WIDE,
        );
        assert!(
            text.starts_with(
                "color   never      (/home/a/.config/narrows/config.toml, line 2)\npreset  kdiskmark  (default)\n"
            ),
            "{text}"
        );
    }
}
