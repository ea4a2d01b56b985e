//! A failure of the engine as the report shows it: with what the machine knows of it now.

use narrows_load::LoadError;
use narrows_load::measurement::{Cause, RunFailure};
use narrows_machine::root::Root;
use narrows_model::path::Path;
use narrows_report::bench::FailedView;

/// The failure for the report. A device that has gone away fails I/Os with all kinds of errors, so this looks whether
/// every device of the path is still there.
pub(in crate::cli) fn view(failure: &RunFailure, root: &Root, path: &Path) -> FailedView {
    let is_gone = |name: &&str| !root.exists(&format!("/sys/class/block/{name}"));
    let gone = path.hops.iter().filter_map(|hop| hop.block_name()).find(is_gone);
    // Without sysfs nothing can be said of what is there.
    let gone = gone.filter(|_| root.exists("/sys/class/block"));
    match gone {
        Some(name) if failure.cause != Cause::Gone => {
            let detail = format!("{}; {name} is no longer there", failure.detail);
            FailedView::new(&RunFailure { cause: Cause::Gone, detail, ..failure.clone() })
        }
        _ => FailedView::new(failure),
    }
}

/// A run that could not be begun, with what its error advises.
pub(in crate::cli) fn of_error(error: &LoadError, root: &Root, path: &Path) -> FailedView {
    let failed = view(&RunFailure::of_error(error), root, path);
    match error.hint() {
        Some(hint) if failed.cause != Cause::Gone => FailedView { hint: hint.to_owned(), ..failed },
        _ => failed,
    }
}
