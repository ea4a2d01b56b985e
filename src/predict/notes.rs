//! How good a prediction is, and what a person should know of it.

use super::bound::{Bound, BoundKind};
use super::hops::Loaded;
use crate::ceiling::{Basis, Ceiling};
use crate::path::HopKind;
use crate::path::file::Workload;

/// How far off the truth may be when this bound decides, as fractions of the prediction: what the laws state of themselves.
pub(super) fn error(bound: &Bound) -> (f64, f64) {
    let kind = bound.hop.as_str().split(':').next().unwrap_or_default();
    match (bound.kind, kind, bound.basis) {
        (BoundKind::Iops, _, Basis::Guess) => (-0.5, 0.5),
        (BoundKind::Iops, ..) => (-0.2, 0.05),
        (BoundKind::Depth, ..) => (-0.17, 0.17),
        (BoundKind::Processor, ..) => (-0.3, 0.3),
        (BoundKind::Cap, ..) => (-0.02, 0.02),
        (BoundKind::Bandwidth, "link", _) => (-0.03, 0.03),
        (BoundKind::Bandwidth, "chipset", _) => (-0.08, 0.05),
        (BoundKind::Bandwidth, "crypt", Basis::Guess) => (-0.2, 0.2),
        (BoundKind::Bandwidth, "crypt", _) => (-0.06, 0.06),
        (BoundKind::Bandwidth, "network", _) => (-0.09, 0.02),
        (BoundKind::Bandwidth, "sata", _) => (-0.03, 0.01),
        (BoundKind::Bandwidth, "device", _) => (-0.15, 0.05),
        (BoundKind::Bandwidth, "socket", _) => (-0.1, 0.1),
        (BoundKind::Bandwidth, _, Basis::Guess) => (-0.5, 0.5),
        (BoundKind::Bandwidth, ..) => (-0.15, 0.05),
    }
}

/// What was assumed, and what is not covered.
pub(super) fn of(workload: &Workload, hops: &[Loaded], bounds: &[Bound]) -> Vec<String> {
    let mut notes = Vec::new();
    for loaded in hops {
        let ignored = matches!(loaded.hop.kind(), HopKind::Memory | HopKind::Application);
        let used = if workload.read_share > 0.0 { &loaded.ceilings.read } else { &loaded.ceilings.write };
        if let (Ceiling::Unknown(why), false) = (used, ignored) {
            notes.push(format!("{} is not counted: {why}", loaded.hop.name));
        }
    }
    let guessed = bounds.first().filter(|bound| bound.basis == Basis::Guess && bound.kind == BoundKind::Iops);
    if let Some(bound) = guessed {
        notes.push(format!(
            "the I/Os that {} completes are those of its class; give read_iops and write_iops",
            bound.name
        ));
    }
    let parity = hops.iter().any(|loaded| loaded.read_to_write > 0.0);
    if parity && workload.read_share < 1.0 {
        notes.push("writes smaller than a stripe read the old data and parity first".to_owned());
    }
    notes
}
