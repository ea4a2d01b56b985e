//! Suspect yourself first: caches and the load generator.

use std::collections::BTreeSet;

use narrows_base::units::human;
use narrows_load::measurement::Measurement;
use narrows_model::path::HopKind;

use super::super::case::Case;
use super::super::finding::{Confidence, Evidence};
use super::super::trust::Audit;
use super::{Cause, Decision, software};

/// A worker that uses this much of a core has no time left to ask for more.
pub(super) const FULL_CORE: f64 = 0.9;

/// A worker that waits for a processor this part of the time shares it with others, or may not use all of it.
const SUBSTANTIAL_QUEUE: f64 = 0.1;

/// Part of the time in which something held that held most of the time, or of the work that was most of it.
pub(super) const MOSTLY: f64 = 0.5;

/// Whether the generator was denied processor time that it asked for, and did not only use up what it had.
pub(crate) fn was_denied(measurement: &Measurement) -> bool {
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

/// The worker ran or stood in the queue of a processor, and the requests did not wait below it: all the time, or most of it while
/// the device had nothing to do. Kernel threads that use up the processor are asked about before: they work for the path.
pub(super) fn denied(case: &Case<'_>, _audit: &Audit) -> Option<Decision> {
    let measurement = case.measurement()?;
    let taken = measurement.generator.cpu + measurement.generator.queued;
    let was_idle = case.outermost_disk().is_some_and(|disk| disk.busy < MOSTLY);
    let is_enough = taken >= FULL_CORE || (taken >= MOSTLY && was_idle);
    if !was_denied(measurement) || !is_enough {
        return None;
    }
    at_the_worker(case)
}

/// Whether the kernel's workers for our rings (io-wq) used up a processor: one of them a whole core, or all of them,
/// together with our own workers, the processors that they share: those that our workers were pinned to, or the only one
/// of the machine. Since Linux 6.2 the kernel's workers stay there (`__set_cpus_allowed_ptr_locked` in
/// `kernel/sched/core.c`); before, they may run elsewhere, and then that of our worker is not busy.
pub(crate) fn are_io_workers_full(case: &Case<'_>) -> bool {
    let Some(run) = case.run else { return false };
    let (generator, busy) = (&run.measurement.generator, &run.activity.cpus);
    if generator.busiest_io_worker >= FULL_CORE {
        return true;
    }
    let processors: BTreeSet<u32> = if generator.pinned_to.is_empty() && busy.len() == 1 {
        busy.keys().copied().collect()
    } else {
        generator.pinned_to.iter().copied().collect()
    };
    let share = generator.io_workers / f64::from(generator.threads.max(1));
    generator.cpu < FULL_CORE
        && generator.cpu + share >= FULL_CORE
        && processors.len() == generator.threads as usize
        && processors.iter().all(|cpu| busy.get(cpu).is_some_and(|busy| *busy >= FULL_CORE))
}

/// The kernel's workers for our rings used up a processor, and the requests did not wait below. They take what the storage
/// cannot take without waiting. Other kernel threads are asked about before.
pub(super) fn io_workers(case: &Case<'_>, _audit: &Audit) -> Option<Decision> {
    if !are_io_workers_full(case) {
        return None;
    }
    let mut decision = at_the_worker(case)?;
    let used = Evidence::new(
        "processor time of the kernel's workers for its rings (io-wq)",
        format!("{} of a core", human::percent(case.measurement()?.generator.io_workers)),
        "/proc/self/task/*/schedstat",
    );
    decision.evidence.insert(1, used);
    Some(decision)
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
