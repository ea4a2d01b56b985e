//! A failure of the engine, with what the machine knows of it now.

use narrows_load::LoadError;
use narrows_load::measurement::{Cause, RunFailure};
use narrows_machine::root::Root;
use narrows_model::path::Path;

/// The failure with its cause. A device that has gone away fails I/Os with all kinds of errors, so this looks whether
/// every device of the path is still there.
pub fn with_what_is_gone(failure: &RunFailure, root: &Root, path: &Path) -> RunFailure {
    let is_gone = |name: &&str| !root.exists(&format!("/sys/class/block/{name}"));
    let gone = path.hops.iter().filter_map(|hop| hop.block_name()).find(is_gone);
    // Without sysfs nothing can be said of what is there.
    let gone = gone.filter(|_| root.exists("/sys/class/block"));
    match gone {
        Some(name) if failure.cause != Cause::Gone => {
            let detail = format!("{}; {name} is no longer there", failure.detail);
            RunFailure { cause: Cause::Gone, detail, ..failure.clone() }
        }
        _ => failure.clone(),
    }
}

/// A run that could not be begun, and what its error advises where that is not that a device is gone.
pub fn of_error<'e>(error: &'e LoadError, root: &Root, path: &Path) -> (RunFailure, Option<&'e str>) {
    let failed = with_what_is_gone(&RunFailure::of_error(error), root, path);
    let hint = error.hint().filter(|_| failed.cause != Cause::Gone);
    (failed, hint)
}
