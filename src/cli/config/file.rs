//! Reads the file of preferences.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use crate::cli::Failure;
use crate::cli::output_args::ColorWhen;
use narrows_paste::capture::foreign;

/// No file of preferences is longer, in bytes.
const LONGEST: u64 = 1 << 20;

/// A value and the line that it stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Located<T> {
    pub(super) value: T,
    pub(super) line: usize,
}

/// What the file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct File {
    pub(super) color: Option<Located<ColorWhen>>,
    pub(super) plain: Option<Located<bool>>,
    pub(super) preset: Option<Located<String>>,
    pub(super) groups: BTreeMap<String, Located<Vec<String>>>,
}

/// Its form. What is not here is refused, be it a preference that nobody has or a permission that no file may give.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    color: Option<Spanned<ColorWhen>>,
    plain: Option<Spanned<bool>>,
    preset: Option<Spanned<String>>,
    #[serde(default)]
    groups: BTreeMap<String, Spanned<Vec<String>>>,
}

/// Reads it; nothing where there is none.
///
/// # Errors
/// [`Failure`] when it cannot be read or says what no file may.
pub(super) fn read(path: &Path) -> Result<File, Failure> {
    match foreign::text(path, LONGEST) {
        Ok(text) => parse(&text).map_err(|why| {
            Failure::new(format!("`{}`: {why}", path.display()))
                .hint("the keys are color, plain, preset and [groups]; nothing that permits a write has one")
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(File::default()),
        Err(error) => Err(Failure::new(format!("cannot read `{}`: {error}", path.display()))),
    }
}

fn parse(text: &str) -> Result<File, String> {
    let raw: Raw = toml::from_str(text).map_err(|error| {
        let line =
            error.span().map(|span| format!("line {}: ", line_of(text, span.start))).unwrap_or_default();
        format!("{line}{}", error.message())
    })?;
    let preset = raw.preset.map(|preset| located(text, preset));
    if let Some(preset) =
        preset.as_ref().filter(|preset| narrows_load::preset::by_name(&preset.value).is_none())
    {
        return Err(format!("line {}: there is no preset `{}`", preset.line, preset.value));
    }
    Ok(File {
        color: raw.color.map(|color| located(text, color)),
        plain: raw.plain.map(|plain| located(text, plain)),
        preset,
        groups: raw.groups.into_iter().map(|(name, hosts)| (name, located(text, hosts))).collect(),
    })
}

fn located<T>(text: &str, spanned: Spanned<T>) -> Located<T> {
    let line = line_of(text, spanned.span().start);
    Located { value: spanned.into_inner(), line }
}

fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).map_or(1, |before| before.matches('\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_value_has_its_line() {
        let file = parse(
            "# mine\ncolor = \"never\"\nplain = true\n\npreset = \"peak\"\n[groups]\nlab = [\"a\", \"b\"]\n",
        );
        let file = file.expect("is understood");
        assert_eq!(file.color, Some(Located { value: ColorWhen::Never, line: 2 }));
        assert_eq!(file.plain, Some(Located { value: true, line: 3 }));
        assert_eq!(file.preset, Some(Located { value: "peak".to_owned(), line: 5 }));
        assert_eq!(file.groups["lab"], Located { value: vec!["a".to_owned(), "b".to_owned()], line: 7 });
        assert_eq!(parse(""), Ok(File::default()));
    }

    #[test]
    fn what_permits_a_write_is_refused_as_anything_unknown_is() {
        for key in [
            "i_own = \"S1\"",
            "write = true",
            "i-own = [\"S1\"]",
            "max_writes = \"1T\"",
            "colour = \"never\"",
        ] {
            let why = parse(&format!("\n{key}\n")).expect_err(key);
            assert!(why.starts_with("line 2: unknown field"), "{key}: {why}");
        }
        assert!(parse("preset = \"none\"").expect_err("no such").contains("there is no preset `none`"));
        assert!(parse("color = 3").is_err() && parse("= =").is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,80}") {
            let _ = parse(&text);
        }
    }
}
