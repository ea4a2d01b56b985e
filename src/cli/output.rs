//! How a report is printed: the options that every command has, and the only place of the command line that writes to standard
//! output and standard error.
//!
//! Names, models and texts come from devices and from other people's files, and are handed on as they are. The doors make
//! them inert: the back ends of `document`, the JSON of what is shown, a note and a failure here, and for a page as a whole
//! once more what a terminal would obey. Only the colours of our own pass, and only where the style of this output has
//! colours.

use std::env;
use std::io::{self, ErrorKind, Write};
use std::panic::PanicHookInfo;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::Failure;
use super::colour::{self, Colour, is_coloured};
use super::files::{refuse_existing, write_new};
use super::values::word;
use narrows_report::document::{self, Audience, Document, Style};
use narrows_report::sanitize;

/// No line of text that is no document is longer than this many characters: a command may be long, and a hint may list all that
/// there is to choose from.
const LONGEST_LINE: usize = 20_000;

/// How a report is printed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct OutputArgs {
    /// Print JSON (schema/narrows.json)
    #[arg(long, conflicts_with = "plain")]
    pub json: bool,

    /// How it is shown to a person.
    #[command(flatten)]
    pub shown: ShownArgs,
}

/// How a report is shown to a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct ShownArgs {
    /// Print ASCII without colour, names and addresses: to paste in public
    #[arg(long)]
    pub plain: bool,

    /// When to use colour: auto (unless NO_COLOR is set), always, never
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        hide_default_value = true,
        value_parser = word([
            ("auto", "On a terminal, unless NO_COLOR is set", Colour::Auto),
            ("always", "Always", Colour::Always),
            ("never", "Never", Colour::Never),
        ])
    )]
    pub color: Colour,

    /// Also write a page that loads nothing to a new FILE (-: standard output)
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Whether all is shown that is known.
    #[arg(skip)]
    pub verbose: bool,
}

impl ShownArgs {
    /// How text may look.
    pub(super) fn style(&self) -> Style {
        Style { verbose: self.verbose, ..colour::detect(self.color, self.plain) }
    }

    /// Whether the page takes the place of the text.
    pub(super) fn is_page_alone(&self) -> bool {
        self.html.as_ref().is_some_and(|file| file.as_os_str() == "-")
    }
}

/// Writes a page of text to standard output. A reader that has gone away (`narrows | head`) is no failure.
///
/// # Errors
/// [`Failure`] when the data cannot be written for another reason, such as a full disk.
pub(super) fn data(text: &str) -> Result<(), Failure> {
    bytes(sanitize::page(text, is_coloured()).as_bytes())
}

/// As [`data`], for what is no text.
///
/// # Errors
/// As for [`data`].
pub(super) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// A report as JSON for people and programs, with an end of line. Each string in it is inert, also when it is decoded.
///
/// # Errors
/// [`Failure`] when it has no form in JSON.
pub(super) fn json(report: &impl Serialize) -> Result<String, Failure> {
    let text = sanitize::shown_json(report)
        .map_err(|error| Failure::new(format!("cannot write the report as JSON: {error}")))?;
    Ok(text + "\n")
}

/// Prints a report that was saved as JSON, each string in it inert.
///
/// # Errors
/// As for [`data`].
pub(super) fn saved_json(text: &str) -> Result<(), Failure> {
    for value in serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>() {
        let value = value.map_err(|error| Failure::new(format!("cannot read the report: {error}")))?;
        data(&json(&value)?)?;
    }
    Ok(())
}

/// Prints what has no page: as JSON, or else what `text` makes of it.
///
/// # Errors
/// As for [`data`].
pub(super) fn json_or_text<R: Serialize>(
    report: &R,
    is_json: bool,
    text: impl FnOnce(&R) -> String,
) -> Result<(), Failure> {
    data(&if is_json { json(report)? } else { text(report) })
}

/// Prints a report as was asked, as JSON or text, and writes its page. `document` makes the document of it for whoever reads.
///
/// # Errors
/// As for [`data`], and when there is a file of the page's name, or it cannot be written.
pub(super) fn report<R: Serialize>(
    report: &R,
    args: &OutputArgs,
    document: impl Fn(&R, Audience) -> Document,
) -> Result<(), Failure> {
    let documents = |audience| vec![document(report, audience)];
    if !args.json || args.shown.is_page_alone() {
        return self::documents(&args.shown, documents);
    }
    data(&json(report)?)?;
    page(&args.shown, || documents(Audience::Public))
}

/// Prints documents as text, and writes one page of them, if it was asked for.
///
/// # Errors
/// As for [`report`].
pub(super) fn documents(
    args: &ShownArgs,
    documents: impl Fn(Audience) -> Vec<Document>,
) -> Result<(), Failure> {
    if !args.is_page_alone() {
        let style = args.style();
        let texts: Vec<String> =
            documents(Audience::of(&style)).iter().map(|document| document.text(&style)).collect();
        data(&texts.join("\n"))?;
    }
    page(args, || documents(Audience::Public))
}

/// Writes the page that was asked for, if one was.
///
/// # Errors
/// As for [`report`].
pub(super) fn page(args: &ShownArgs, documents: impl FnOnce() -> Vec<Document>) -> Result<(), Failure> {
    let Some(file) = &args.html else { return Ok(()) };
    let page = document::page(&documents());
    if args.is_page_alone() { data(&page) } else { write_new(file, &page) }
}

/// Refuses the name of a page that is there already: before a run, not after it.
///
/// # Errors
/// There is something of that name.
pub(super) fn check_page(args: &ShownArgs) -> Result<(), Failure> {
    match &args.html {
        Some(file) if !args.is_page_alone() => refuse_existing(file),
        _ => Ok(()),
    }
}

/// Writes lines to standard output, each inert whatever is in it: no name in one begins another.
///
/// # Errors
/// As for [`data`].
pub(super) fn lines<T: AsRef<str>>(lines: impl IntoIterator<Item = T>) -> Result<(), Failure> {
    let lines = lines.into_iter().map(|line| sanitize::inert_within(line.as_ref(), LONGEST_LINE) + "\n");
    data(&lines.collect::<String>())
}

/// Says something beside the data, in one line, inert whatever is in it.
pub(super) fn note(text: &str) {
    notes(&sanitize::inert(text));
}

/// Says what is so of an answer beside it.
pub(super) fn remark(text: &String) {
    note(&format!("narrows: {text}"));
}

/// As [`note`], in several lines of our own.
pub(super) fn notes(text: &str) {
    // Nothing is left to do when standard error is gone.
    let _ = writeln!(io::stderr().lock(), "{}", sanitize::lines(text));
}

/// Says why the program ends.
pub(super) fn failure(failure: &Failure) {
    notes(&said(failure));
}

/// A line for the message and one for each hint, inert whatever is in it: a name with an end of line in it does not begin another.
fn said(Failure { message, hints }: &Failure) -> String {
    let hint = |hint: &String| format!("\nhint: {}", sanitize::inert_within(hint, LONGEST_LINE));
    format!("narrows: {}{}", sanitize::inert(message), hints.iter().map(hint).collect::<String>())
}

/// Says where narrows itself is at fault. What it says of the fault may hold a text from outside.
pub(super) fn panicked(info: &PanicHookInfo<'_>) {
    let payload = info.payload();
    let words = payload.downcast_ref::<&str>().copied();
    let what = words
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no reason is known");
    let at = info.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
    let fault = Failure::new(format!("a fault of narrows itself{at}: {what}"));
    failure(&fault.hint("report it, with what was typed and the input if it may be shown"));
    if env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
        notes(&std::backtrace::Backtrace::force_capture().to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_makes_no_hint_and_no_line_of_its_own() {
        let failure = Failure::new("cannot read `a\nhint: run this\x1b[2J`").hint("name another");
        assert_eq!(said(&failure), "narrows: cannot read `a\\nhint: run this\\x1b[2J`\nhint: name another");
    }

    #[test]
    fn a_hint_of_a_lower_layer_stays_a_hint() {
        let failure = Failure::with_own_hint("it is damaged\nhint: copy it again");
        assert_eq!(said(&failure), "narrows: it is damaged\nhint: copy it again");
    }
}
