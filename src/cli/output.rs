//! The only place of the command line that writes to standard output and standard error.
//!
//! Names, models and texts come from devices and from other people's files. Whoever shows them makes them inert
//! ([`sanitize::inert`]); whatever was forgotten becomes inert here, at the last door: what a terminal would obey is written
//! as an escape. Only the colours of our own pass, and only where the style of this output has colours.

use std::env;
use std::io::{self, ErrorKind, Write};
use std::panic::PanicHookInfo;

use serde::Serialize;

use super::Failure;
use narrows_report::sanitize;
use narrows_report::text::is_coloured;

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

/// A report as JSON for people and programs, with an end of line. Nothing in it is obeyed by a terminal.
///
/// # Errors
/// [`Failure`] when it has no form in JSON.
pub(super) fn json(report: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(report)
        .map_err(|error| Failure::new(format!("cannot write the report as JSON: {error}")))?;
    Ok(sanitize::json(&text).into_owned() + "\n")
}

/// Says something beside the data.
pub(super) fn note(text: &str) {
    // Nothing is left to do when standard error is gone.
    let _ = writeln!(io::stderr().lock(), "{}", sanitize::lines(text));
}

/// Says why the program ends.
pub(super) fn failure(failure: &Failure) {
    note(&failure.to_string());
}

/// Says where narrows itself is at fault. What it says of the fault may hold a text from outside.
pub(super) fn panicked(info: &PanicHookInfo<'_>) {
    let payload = info.payload();
    let words = payload.downcast_ref::<&str>().copied();
    let what = words
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no reason is known");
    let at = info.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
    let failure = Failure::new(format!("a fault of narrows itself{at}: {what}"))
        .hint("report it, with what was typed and the input if it may be shown");
    note(&failure.to_string());
    if env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
        note(&std::backtrace::Backtrace::force_capture().to_string());
    }
}
