//! Suspect yourself first: caches and the load generator.

use crate::path::HopKind;
use crate::units::human;

use super::super::case::Case;
use super::super::finding::{Confidence, Evidence};
use super::super::trust::Audit;
use super::{Cause, Decision, software};

/// A worker that uses this much of a core has no time left to ask for more.
pub(super) const FULL_CORE: f64 = 0.9;

/// The bytes came from a cache, so memory is what was measured.
pub(super) fn cache(case: &Case<'_>, audit: &Audit) -> Option<Decision> {
    let evidence = audit.cached.clone()?;
    let (hop, _) = case.of_kind(HopKind::Memory).next()?;
    Some(Decision { hop, cause: Cause::Cache, confidence: Confidence::High, evidence })
}

/// The generator's busiest worker used up its core, and the requests did not wait below it.
///
/// Two things look the same and are not: media that hold the requests (then a spinning worker is harmless), and a
/// cipher that runs in the worker's own context, which [`software::cipher`] names.
pub(super) fn generator(case: &Case<'_>, _audit: &Audit) -> Option<Decision> {
    let cpu = case.measurement()?.generator.cpu;
    let waiting = case.waiting_in_block_layer();
    if cpu < FULL_CORE
        || waiting.is_some_and(|part| part >= 0.5)
        || software::cipher_in_worker(case).is_some()
    {
        return None;
    }
    let (hop, _) = case.of_kind(HopKind::Application).next()?;
    let mut evidence = vec![Evidence::new(
        "processor time of the busiest worker",
        format!("{} of a core", human::percent(cpu)),
        "getrusage of the worker thread",
    )];
    evidence.extend(waiting.map(|part| {
        Evidence::new("requests waiting in the block layer", human::percent(part), "/proc/diskstats")
    }));
    Some(Decision { hop, cause: Cause::Generator, confidence: Confidence::High, evidence })
}
