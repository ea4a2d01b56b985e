//! The published measurements: path files with `[[published]]` rows.

#![expect(clippy::disallowed_methods, reason = "the rows are files")]

use std::path::{Path, PathBuf};

use narrows_model::path::HopKind;
use narrows_model::path::file::{Document, Published, PublishedValue};
use narrows_model::predict::{Prediction, predict};

/// One published measurement with what is predicted of it.
pub(crate) struct Row {
    /// What its file calls it, up to the first colon.
    pub(crate) id: String,
    /// What was measured.
    pub(crate) what: String,
    /// Who published it: a host, or an account of one that has many.
    pub(crate) publisher: String,
    /// The result in the unit of the row.
    pub(crate) measured: f64,
    /// `bytes_per_second`, `iops` or `latency_ns`.
    pub(crate) unit: &'static str,
    /// The kinds of hop that its source blames; `None` when it blames none.
    pub(crate) blamed: Option<Vec<HopKind>>,
    /// What is predicted.
    pub(crate) prediction: Prediction,
}

impl Row {
    /// The prediction in the unit of the row.
    pub(crate) fn predicted(&self) -> f64 {
        match self.unit {
            "iops" => self.prediction.iops.get(),
            "latency_ns" => self.prediction.latency.get() as f64,
            _ => self.prediction.rate.get(),
        }
    }

    /// What was measured over what the laws say, as rates.
    pub(crate) fn factor(&self) -> f64 {
        let factor = self.measured / self.predicted();
        if self.unit == "latency_ns" { 1.0 / factor } else { factor }
    }
}

/// What the names of path files end in.
const SUFFIX: &str = ".path.toml";

/// The rows of all path files in a directory, in the order of the names of the files.
///
/// # Errors
/// The first file that cannot be read or is wrong, or that there is none.
pub(crate) fn read(directory: &Path) -> Result<Vec<Row>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
        .map_err(failed)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.to_string_lossy().ends_with(SUFFIX))
        .collect();
    files.sort();
    let rows: Vec<Vec<Row>> = files.iter().map(|file| of_file(file)).collect::<Result<_, _>>()?;
    let rows: Vec<Row> = rows.into_iter().flatten().collect();
    if rows.is_empty() {
        return Err(format!("{}: no *{SUFFIX} in it has a [[published]]", directory.display()));
    }
    Ok(rows)
}

fn of_file(file: &Path) -> Result<Vec<Row>, String> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    let document = Document::parse(&name, &text).map_err(|error| error.to_string())?;
    let system = document.system().map_err(|error| error.to_string())?;
    system.published.iter().map(|published| one(&document, published, &system.source)).collect()
}

fn one(document: &Document, published: &Published, source: &str) -> Result<Row, String> {
    let mut changed = document.clone();
    for (key, value) in &published.set {
        changed
            .set_text(&format!("{key}={value}"))
            .map_err(|error| format!("{}: {error}", published.given))?;
    }
    let system = changed.system().map_err(|error| format!("{}: {error}", published.given))?;
    let workload = system.workload(&published.workload).ok_or("its workload is missing")?;
    let prediction = predict(&system, workload).map_err(|error| format!("{}: {error}", published.given))?;
    let (unit, measured) = match published.value {
        PublishedValue::Rate(rate) => ("bytes_per_second", rate.get()),
        PublishedValue::Iops(iops) => ("iops", iops.get()),
        PublishedValue::Latency(time) => ("latency_ns", time.get() as f64),
    };
    let source = if published.source.is_empty() { source } else { &published.source };
    Ok(Row {
        id: published.what.split(':').next().unwrap_or_default().trim().to_owned(),
        what: format!("{} | {}", system.name, published.what),
        publisher: publisher(source),
        measured,
        unit,
        blamed: Some(published.limited_by.clone()).filter(|kinds| !kinds.is_empty()),
        prediction,
    })
}

/// Whose words an address holds: its host, with the account or the message where the host has those of many.
fn publisher(address: &str) -> String {
    let address = address.split_whitespace().next().unwrap_or_default().trim_end_matches('/');
    let plain =
        address.trim_start_matches("https://").trim_start_matches("http://").trim_start_matches("www.");
    let host = plain.split('/').next().unwrap_or_default();
    let parts = match host {
        "github.com" | "raw.githubusercontent.com" => 2,
        "lore.kernel.org" | "mail.spinics.net" => usize::MAX,
        _ => 1,
    };
    plain.split('/').take(parts).collect::<Vec<_>>().join("/").replace(',', "")
}
