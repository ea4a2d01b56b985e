//! Suspect yourself first: caches and the load generator.

use crate::load::measurement::Measurement;
use crate::path::HopKind;
use crate::units::human;

use super::super::case::Case;
use super::super::finding::{Confidence, Evidence};
use super::super::trust::Audit;
use super::{Cause, Decision, software};

/// A worker that uses this much of a core has no time left to ask for more.
pub(super) const FULL_CORE: f64 = 0.9;

/// A worker that waits for a processor this part of the time shares it with others, or may not use all of it.
const SUBSTANTIAL_QUEUE: f64 = 0.1;

/// A worker that waits for a processor, or has it, this part of the time has no time to keep requests in flight.
const MOSTLY: f64 = 0.5;

/// Whether the generator was denied processor time that it asked for, and did not only use up what it had.
pub(in crate::verdict) fn was_denied(measurement: &Measurement) -> bool {
    measurement.generator.cpu < FULL_CORE && measurement.generator.queued >= SUBSTANTIAL_QUEUE
}

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
    if case.measurement()?.generator.cpu < FULL_CORE || software::cipher_in_worker(case).is_some() {
        return None;
    }
    at_the_worker(case)
}

/// The worker ran or stood in the queue of a processor most of the time, and the requests did not wait below it. Kernel
/// threads that use up the processor are asked about before: they work for the path.
pub(super) fn denied(case: &Case<'_>, _audit: &Audit) -> Option<Decision> {
    let measurement = case.measurement()?;
    let generator = &measurement.generator;
    if !was_denied(measurement) || generator.cpu + generator.queued < MOSTLY {
        return None;
    }
    at_the_worker(case)
}

fn at_the_worker(case: &Case<'_>) -> Option<Decision> {
    let generator = &case.measurement()?.generator;
    let waiting = case.waiting_in_block_layer();
    if waiting.is_some_and(|part| part >= 0.5) {
        return None;
    }
    let (hop, _) = case.of_kind(HopKind::Application).next()?;
    let mut evidence = vec![Evidence::new(
        "processor time of the busiest worker",
        format!("{} of a core", human::percent(generator.cpu)),
        "getrusage of the worker thread",
    )];
    if generator.queued >= SUBSTANTIAL_QUEUE {
        evidence.push(Evidence::new(
            "time in the queue of a processor",
            human::percent(generator.queued),
            "/proc/thread-self/schedstat of the worker thread",
        ));
    }
    evidence.extend(waiting.map(|part| {
        Evidence::new("requests waiting in the block layer", human::percent(part), "/proc/diskstats")
    }));
    Some(Decision { hop, cause: Cause::Generator, confidence: Confidence::High, evidence })
}
