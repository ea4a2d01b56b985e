//! What the workloads of a described system will get.

use narrows_model::path::file::{BuildError, Document, FileError, System, Workload};
use narrows_model::predict::predict;
use narrows_report::predict::{self as view, PublishedView, SystemView};

/// Why nothing is predicted.
#[derive(Debug, thiserror::Error)]
pub enum NotPredicted {
    /// The description is wrong.
    #[error(transparent)]
    Wrong(#[from] FileError),
    /// A published result changes the system in a way that is wrong.
    #[error("{row}: in `set` of this published result: {error}")]
    Published { row: String, error: FileError },
    /// No path leads to the target of a workload.
    #[error(transparent)]
    NoPath(#[from] BuildError),
}

/// A system as it is described, with what was published of it.
///
/// # Errors
/// [`NotPredicted`]
pub fn predicted(file: &str, document: &Document) -> Result<SystemView, NotPredicted> {
    let system = document.system()?;
    let mut predictions = Vec::new();
    for workload in &workloads(&system) {
        predictions.push(view::prediction(&predict(&system, workload)?, None));
    }
    let published = published(document, &system)?;
    let System { name, source, .. } = system;
    Ok(SystemView { file: file.to_owned(), name, source, changes: Vec::new(), predictions, published })
}

/// The workloads of a description; where it has none, reads of the topmost part. Empty where it describes nothing that could be read.
pub fn workloads(system: &System) -> Vec<Workload> {
    match system.workloads.as_slice() {
        [] => system.topmost().map(|name| Workload::reading(name.as_str())).into_iter().collect(),
        all => all.to_vec(),
    }
}

/// Every published result beside its prediction, each on the system as its row says.
///
/// # Errors
/// [`NotPredicted`]
pub fn published(document: &Document, system: &System) -> Result<Vec<PublishedView>, NotPredicted> {
    let mut rows = Vec::new();
    for row in &system.published {
        let wrong = |error| NotPredicted::Published { row: row.given.to_string(), error };
        let mut document = document.clone();
        for (key, value) in &row.set {
            document.set_text(&format!("{key}={value}")).map_err(wrong)?;
        }
        let changed = document.system().map_err(wrong)?;
        let Some(workload) = changed.workload(&row.workload) else { continue };
        let prediction = predict(&changed, workload)?;
        rows.push(view::published(row, &prediction, &system.source));
    }
    Ok(rows)
}
