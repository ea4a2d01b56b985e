//! `narrows config`: what is preferred, and where each value came from.
//!
//! A file may say what a person repeats, never anything that permits a write: whatever is not listed here is refused.

mod file;

use std::env;
use std::path::PathBuf;
use std::sync::OnceLock;

use clap::Args;

use super::output_args::{ColorWhen, OutputArgs};
use super::{Failure, NOTHING_FOUND, output};
use file::{File, Located};
use narrows_report::config::{ConfigReport, Origin, Setting, document};

/// What `config` is asked.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ConfigArgs {
    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What a preference is where nobody says anything.
const DEFAULTS: [(&str, &str); 3] = [("color", "auto"), ("plain", "false"), ("preset", "kdiskmark")];

/// Shows each value with its origin.
///
/// # Errors
/// [`Failure`] when the file cannot be used.
pub(super) fn run(args: &ConfigArgs) -> Result<u8, Failure> {
    let (path, file) = read();
    let file = file?;
    let report = ConfigReport::new(path.map(|path| path.display().to_string()), settings(&file));
    output::report(&report, &args.output, document)?;
    Ok(NOTHING_FOUND)
}

fn settings(file: &File) -> Vec<Setting> {
    let values = [
        file.color.as_ref().map(|color| Located { value: color.value.name().to_owned(), line: color.line }),
        file.plain.as_ref().map(|plain| Located { value: plain.value.to_string(), line: plain.line }),
        file.preset.clone(),
    ];
    let listed = DEFAULTS.iter().zip(values).map(|((key, default), value)| match value {
        Some(value) => Setting::new(key, value.value, Origin::File, Some(value.line)),
        None => Setting::new(key, (*default).to_owned(), Origin::Default, None),
    });
    let mut settings: Vec<Setting> = listed.collect();
    // NO_COLOR speaks of every program; the option --color and then the file speak of this one.
    let no_color = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if no_color && file.color.is_none() {
        settings.retain(|setting| setting.key != "color");
        settings.insert(0, Setting::new("color", "never".to_owned(), Origin::Environment, None));
    }
    settings.extend(file.groups.iter().map(|(name, hosts)| {
        Setting::new(&format!("groups.{name}"), hosts.value.join(", "), Origin::File, Some(hosts.line))
    }));
    settings
}

/// The colour that is preferred, where none was typed.
pub(super) fn colour() -> Option<ColorWhen> {
    (!is_typed("--color")).then(|| preferences().color.as_ref().map(|color| color.value)).flatten()
}

/// Whether plain text is preferred, where neither JSON nor a colour was typed.
pub(super) fn is_plain() -> bool {
    let typed = ["--json", "--color"].into_iter().any(is_typed);
    !typed && preferences().plain.as_ref().is_some_and(|plain| plain.value)
}

/// The preset that is preferred, where none was typed.
pub(super) fn preset() -> Option<String> {
    (!is_typed("--preset"))
        .then(|| preferences().preset.as_ref().map(|preset| preset.value.clone()))
        .flatten()
}

/// Whether an option was typed, with its value behind it or behind `=`.
fn is_typed(option: &str) -> bool {
    env::args_os().skip(1).any(|word| {
        let word = word.to_string_lossy();
        word == option || word.strip_prefix(option).is_some_and(|rest| rest.starts_with('='))
    })
}

/// What the file says, read once; nothing where there is none, or where it cannot be used, which is told.
fn preferences() -> &'static File {
    static READ: OnceLock<File> = OnceLock::new();
    READ.get_or_init(|| {
        read().1.unwrap_or_else(|failure| {
            output::failure(&failure.hint("it is left out; `narrows config` shows what holds"));
            File::default()
        })
    })
}

/// The file's name, where one can be, and what it says.
fn read() -> (Option<PathBuf>, Result<File, Failure>) {
    let directory = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || directory("HOME").map(|home| home.join(".config"));
    let path = directory("XDG_CONFIG_HOME").or_else(home).map(|config| config.join("narrows/config.toml"));
    let file = path.as_ref().map_or_else(|| Ok(File::default()), |path| file::read(path));
    (path, file)
}
