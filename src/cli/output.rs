//! The only place of the command line that writes to standard output and standard error.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use super::Failure;

/// Writes data to standard output. A reader that has gone away (`narrows | head`) is no failure.
///
/// # Errors
/// [`Failure`] when the data cannot be written for another reason, such as a full disk.
pub(super) fn data(text: &str) -> Result<(), Failure> {
    bytes(text.as_bytes())
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

/// Says something beside the data.
pub(super) fn note(text: &str) {
    // Nothing is left to do when standard error is gone.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Says why the program ends.
pub(super) fn failure(failure: &Failure) {
    note(&failure.to_string());
}

/// Prints help, version or a usage error as clap made it.
pub(super) fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(super::FAILED))
}
