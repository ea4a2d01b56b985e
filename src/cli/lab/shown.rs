//! What a lab came to, as text, JSON or a page.

use super::args::LabArgs;
use crate::cli::scene;
use crate::cli::{Failure, output};
use narrows_model::path::HopSpec;
use narrows_report::lab::{DeviceFacts, LabReport, build, document};
use narrows_session::trials::Results;
use narrows_session::writes;

/// Shows all of it. A page that was asked for is of a whole lab: one that goes on later writes it then.
///
/// # Errors
/// It cannot be written.
pub(super) fn show(results: &Results, args: &LabArgs, is_whole: bool) -> Result<(), Failure> {
    let mut shown = args.output.clone();
    shown.shown.html = shown.shown.html.filter(|_| is_whole);
    output::report(&report(results, args, is_whole), &shown, document)
}

fn report(results: &Results, args: &LabArgs, is_whole: bool) -> LabReport {
    let basis = results.basis.clone().unwrap_or_default();
    let facts: Vec<DeviceFacts> =
        basis.devices.iter().map(|name| facts(name, args.scratch.is_some())).collect();
    let report = build(&basis, &results.outcomes, &args.aims(), &facts);
    // Cells that a lab did not come to have no outcome.
    LabReport { complete: report.complete && is_whole, ..report }
}

/// What the path to a device says of it.
fn facts(name: &str, scratch: bool) -> DeviceFacts {
    let unknown = DeviceFacts { name: name.to_owned(), scratch, ..DeviceFacts::default() };
    let Ok(scene) = scene::read(&format!("/dev/{name}")) else { return unknown };
    let drive = scene.subject.path.hops.iter().find_map(|hop| match &hop.spec {
        HopSpec::Device(drive) if drive.block == name => Some(drive),
        _ => None,
    });
    let Some(drive) = drive else { return unknown };
    let (model, size) =
        (drive.model.value().cloned(), drive.size.value().copied().filter(|size| size.get() > 0));
    let rated = model.as_deref().zip(size).and_then(|(model, size)| writes::rated(model, size));
    DeviceFacts { model, size, rated, ..unknown }
}
