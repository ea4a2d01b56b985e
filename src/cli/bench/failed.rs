//! A failure of the engine as the report shows it: with what the machine knows of it now.

use crate::cli::Failure;
use narrows_load::LoadError;
use narrows_load::measurement::RunFailure;
use narrows_machine::root::Root;
use narrows_model::path::Path;
use narrows_report::bench::FailedView;
use narrows_session::runner;

/// The failure for the report.
pub(in crate::cli) fn view(failure: &RunFailure, root: &Root, path: &Path) -> FailedView {
    FailedView::new(&runner::with_what_is_gone(failure, root, path))
}

/// What is said of a test that failed.
pub(in crate::cli) fn failure(name: &str, failed: &FailedView) -> Failure {
    Failure::new(format!("{name} failed: {} ({})", failed.summary, failed.failure.detail)).hint(&failed.hint)
}

/// A run that could not be begun, with what its error advises.
pub(in crate::cli) fn of_error(error: &LoadError, root: &Root, path: &Path) -> FailedView {
    let (failed, hint) = runner::of_error(error, root, path);
    let view = FailedView::new(&failed);
    match hint {
        Some(hint) => FailedView { hint: hint.to_owned(), ..view },
        None => view,
    }
}
