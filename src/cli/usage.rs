//! Help, version and usage errors.

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use super::{help, output, suggest};
use narrows_report::sanitize;

/// Prints help, version or a usage error as clap made it. A usage error repeats what was typed: where a terminal would obey
/// some of that, the error of the same words in their inert form is printed.
pub(super) fn show(error: &clap::Error) -> ExitCode {
    let code = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(super::FAILED));
    let typed: Vec<OsString> = env::args_os().collect();
    let first = typed.get(1).map(|word| word.to_string_lossy()).filter(|_| error.use_stderr());
    if let Some(no_such) = first.and_then(|word| suggest::no_such_command(&word)) {
        output::failure(&no_such);
        return code;
    }
    let inert: Vec<OsString> =
        typed.iter().map(|word| sanitize::one_line(&word.to_string_lossy()).into_owned().into()).collect();
    if inert == typed {
        let _ = error.print();
        return code;
    }
    match help::parse(inert) {
        Err(same) if same.kind() == error.kind() => drop(same.print()),
        _ => output::notes(error.render().to_string().trim_end()),
    }
    code
}
