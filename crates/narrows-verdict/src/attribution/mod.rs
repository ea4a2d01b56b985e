//! Which hop limits a path, and which comes next?
//!
//! Without a run the answer is arithmetic: the hop whose ceiling, divided by its traffic, is the smallest
//! ([`rank`]). With a run the answer is an observation, and the order of suspicion matters. [`cache`] and [`DECIDERS`] are asked
//! one after another and the first that has proof names the hop; a run in which nothing moved names none:
//!
//! 1. [`cache`]: the devices did not move the bytes, so nothing below memory was measured.
//! 2. [`generator`]: our own worker used up its core and the requests did not wait anywhere below it.
//! 3. [`software::resync`]: an array moved bytes of its own; its members cannot be blamed.
//! 4. [`software::busy`]: kernel threads of a cipher, an array or a file system used up a core while the
//!    media had room. Software comes before hardware, because hardware below it only saw what software let through.
//! 5. [`io_workers`], [`denied`]: the kernel's workers for our ring used up a processor; or our own worker did
//!    not get one, which is then no work of the path.
//! 6. [`hardware::explained`]: a hop whose known ceiling is the rate that was measured, with the requests waiting
//!    below it.
//! 7. [`hardware::slow_member`]: one member of an array holds the queue while its siblings wait.
//! 8. [`hardware::network`], [`hardware::remote`]: the wire when it is full or queues, else the far end.
//! 9. [`hardware::medium`]: what remains is the device that served the bytes, with a confidence that says how full its
//!    queue was.
//!
//! Where the requests wait is read by Little's law from the block layer's own counters (see [`Case::waiting_at_media`]):
//! a device that holds less than half of what was asked for is not the bottleneck, however busy it looks.

mod hardware;
mod software;

use std::collections::BTreeSet;

use narrows_base::lists;
use narrows_base::measurement::{GeneratorUse, Measurement};
use narrows_base::units::{BytesPerSec, human};
use narrows_model::ceiling::{self, Basis, Ceiling, Narrow, medium};
use narrows_model::path::{Hop, HopKind, HopSpec};

use crate::case::Case;
use crate::finding::{Code, Confidence, Evidence, Finding, Severity};
use crate::trust::Audit;

pub use hardware::REACHED;
pub(super) use hardware::unequal_members;
pub(super) use software::is_syncing;

/// How a limiting hop was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// It has the smallest ceiling.
    Smallest,
    /// The bytes came from memory.
    Cache,
    /// The load generator used up its core.
    Generator,
    /// An array was resyncing.
    Resync,
    /// Encryption used up the processor.
    Cipher,
    /// An array's kernel thread used up its core.
    MdThread,
    /// A file system's kernel thread used up its core.
    Filesystem,
    /// Its known ceiling is the rate that was measured.
    Explained,
    /// It is slower than its siblings.
    SlowMember,
    /// The wire is full or queues.
    Network,
    /// The network has room, so the far end is the limit.
    Remote,
    /// The medium's queue is full, or nothing else is.
    Medium,
}

/// The hop that limits a path in one direction.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Attribution {
    /// The hop, as a place in [`narrows_model::path::Path::hops`].
    pub(super) hop: usize,
    /// How it was found.
    pub(super) cause: Cause,
    /// The rate of the application through it: measured, or else the hop's ceiling divided by its traffic.
    pub(super) rate: Option<BytesPerSec>,
    /// How sure we are.
    pub(super) confidence: Confidence,
    /// The observations that name it.
    pub(super) evidence: Vec<Evidence>,
    /// The narrowest hop behind it that is another bottleneck.
    pub(super) next: Option<Narrow>,
    /// Hops that may be narrower because their ceilings are not known, or are those of a hard disk of unknown model;
    /// empty when the limit was measured.
    pub(super) unknown: Vec<usize>,
}

impl Attribution {
    /// What a decider finds: the rate and what comes next are the same whichever of them it is.
    const fn found(hop: usize, cause: Cause, confidence: Confidence, evidence: Vec<Evidence>) -> Self {
        Self { hop, cause, confidence, evidence, rate: None, next: None, unknown: Vec::new() }
    }

    /// How bad it is that this hop is the bottleneck: a limit by design, when that is known. Where a hop that is not known
    /// may be narrower still, arithmetic has only shown what the path can do at most, and that is no reason for alarm.
    pub(super) const fn severity(&self) -> Severity {
        if self.unknown.is_empty() { Severity::Limit } else { Severity::Info }
    }

    /// A finding about the hop, as sure as this and with its observations.
    pub(super) fn finding(&self, code: Code, severity: Severity, hop: &Hop, summary: String) -> Finding {
        Finding::about(code, severity, hop, summary)
            .with_confidence(self.confidence)
            .with_evidence(self.evidence.clone())
    }

    /// The same in words, to stand after the name of the hop.
    pub(super) const fn is_the_narrows(&self) -> &'static str {
        if self.unknown.is_empty() {
            "is the bottleneck of this path"
        } else {
            "is the narrowest hop of this path that is known"
        }
    }
}

/// In the order of the module's documentation, behind [`cache`].
const DECIDERS: &[fn(&Case<'_>) -> Option<Attribution>] = &[
    generator,
    software::resync,
    software::busy,
    io_workers,
    denied,
    hardware::explained,
    hardware::slow_member,
    hardware::network,
    hardware::remote,
    hardware::medium,
];

/// Why a run in which nothing moved names nothing: whatever held it up, no rate was seen that a hop could have limited.
fn nothing_moved(case: &Case<'_>, audit: &Audit) -> Option<String> {
    let measurement = case.measurement().filter(|measurement| measurement.bytes_per_second.get() <= 0.0)?;
    let reason = || match &measurement.cut_short {
        Some(why) => format!("nothing moved before the run ended: {why}"),
        None => "nothing moved".to_owned(),
    };
    Some(audit.silent.clone().unwrap_or_else(reason))
}

/// Names the limiting hop of a path in one direction.
///
/// # Errors
/// The reason, as a phrase for a person, why no hop can be named.
pub(super) fn attribute(case: &Case<'_>, audit: &Audit) -> Result<Attribution, String> {
    if let Some(reason) = nothing_moved(case, audit) {
        return Err(reason);
    }
    let ranked = rank(case);
    let decided = || DECIDERS.iter().find_map(|decide| decide(case));
    let decision = case.run.and_then(|_| cache(case, audit).or_else(decided));
    let Some(decision) = decision else { return smallest(case, &ranked) };
    let rate = case.measurement().map(|measurement| measurement.bytes_per_second);
    let next = behind(case, &ranked, decision.hop);
    Ok(Attribution { rate, next, ..decision })
}

/// Rates closer than this are one rate: the ceilings are not known any better.
const SAME_RATE: f64 = 0.01;

/// The narrowest hop by arithmetic: the smallest ceiling divided by its traffic.
///
/// The hops with known ceilings, narrowest first, without the application (it is what all this is for).
pub(crate) fn rank(case: &Case<'_>) -> Vec<Narrow> {
    let mut ranked = ceiling::rank(case.path(), &case.subject.ceilings, case.direction);
    ranked.retain(|narrow| {
        let kind = case.path().hops.get(narrow.hop).map(Hop::kind);
        !matches!(kind, None | Some(HopKind::Application | HopKind::Generator))
    });
    ranked
}

/// The hops that move data and whose ceilings are not known. The application, memory and file systems are left out:
/// nothing is published for them, and on a healthy machine they are wider than the hardware below.
pub(crate) fn unknown_hops(case: &Case<'_>) -> Vec<usize> {
    use HopKind::{Application, BlockQueue, Filesystem, Memory};
    let is_left_out = |hop: &Hop| matches!(hop.kind(), Application | Memory | Filesystem | BlockQueue);
    let is_unknown = |index| matches!(case.ceiling(index), Some(Ceiling::Unknown(_)));
    let unknown = case.hops().filter(|(index, hop)| !is_left_out(hop) && is_unknown(*index));
    unknown.map(|(index, _)| index).collect()
}

/// The media with the ceiling of a class, of which the slowest may be narrower than `first`.
fn slower_media(case: &Case<'_>, first: &Narrow) -> Vec<usize> {
    let is_guess = |index| {
        let limit = case.ceiling(index).and_then(Ceiling::limit);
        limit.is_some_and(|limit| limit.basis == Basis::Guess)
    };
    let slower = case.hops().filter(|(index, _)| *index != first.hop).filter_map(|(index, hop)| {
        let (read, write) = medium::least_share(hop.device()?)?;
        let is_slower = case.path_rate(index)? * case.direction.pick(read, write) < first.rate;
        (is_guess(index) && is_slower).then_some(index)
    });
    slower.collect()
}

/// The hop with the smallest ceiling.
fn smallest(case: &Case<'_>, ranked: &[Narrow]) -> Result<Attribution, String> {
    let mut unknown = unknown_hops(case);
    let hop = |index: usize| case.path().hops.get(index);
    let first = ranked.first().filter(|first| {
        // Memory is the bottleneck of a path only when everything before it is known to be wider.
        unknown.is_empty() || hop(first.hop).map(Hop::kind) != Some(HopKind::Memory)
    });
    let Some(first) = first else { return Err(why_nothing_is_known(case, &unknown)) };
    if hop(first.hop).map(Hop::kind) != Some(HopKind::Device) {
        unknown.extend(slower_media(case, first));
    }
    let limit = case.ceiling(first.hop).and_then(Ceiling::limit);
    let evidence = limit.map_or_else(Vec::new, |limit| {
        let facts = limit.facts.iter().map(|fact| Evidence::new(&fact.fact, &fact.value, &fact.source));
        std::iter::once(Evidence::new("ceiling", limit.rate, &limit.formula)).chain(facts).collect()
    });
    let guessed = limit.is_some_and(|limit| limit.basis == Basis::Guess);
    let confidence = match (unknown.is_empty(), guessed) {
        (true, false) => Confidence::High,
        (false, false) => Confidence::Medium,
        (_, true) => Confidence::Low,
    };
    Ok(Attribution {
        hop: first.hop,
        cause: Cause::Smallest,
        rate: Some(first.rate),
        confidence,
        evidence,
        next: behind(case, ranked, first.hop),
        unknown,
    })
}

fn why_nothing_is_known(case: &Case<'_>, unknown: &[usize]) -> String {
    match why_unknown(case, unknown).as_slice() {
        [] => "no hop of this path has a ceiling of its own".to_owned(),
        all => format!("no hop of this path has a known ceiling ({})", all.join("; ")),
    }
}

/// Why the ceilings of these hops are not known: `NAMES: reason`, hops with one reason together, by the first of them.
pub(crate) fn why_unknown(case: &Case<'_>, unknown: &[usize]) -> Vec<String> {
    let reason = |index: &usize| {
        let Some(Ceiling::Unknown(reason)) = case.ceiling(*index) else { return None };
        Some((reason, case.path().hops.get(*index)?.name.as_str()))
    };
    let reasons = lists::grouped(unknown.iter().filter_map(reason));
    reasons.iter().map(|(reason, names)| format!("{}: {reason}", lists::some_of(names, 1, ""))).collect()
}

/// The narrowest hop that is another bottleneck than the one at `limiting`. Of equally narrow ones it is the one that
/// more of the traffic crosses: an uplink before the links that it feeds.
fn behind(case: &Case<'_>, ranked: &[Narrow], limiting: usize) -> Option<Narrow> {
    let first = case.path().hops.get(limiting)?;
    let first_rate = ranked.iter().find(|narrow| narrow.hop == limiting).map(|narrow| narrow.rate);
    let is_another = |narrow: &&Narrow| {
        let Some(other) = case.path().hops.get(narrow.hop) else { return false };
        let same_rate = first_rate.is_some_and(|rate| is_same(rate, narrow.rate));
        narrow.hop != limiting
            && !are_one_part(first, other)
            && !(same_rate && (are_parallel(case, first, other) || is_bond(case, first, other)))
    };
    let others: Vec<&Narrow> = ranked.iter().filter(is_another).collect();
    let narrowest = others.first()?.rate;
    let traffic = |narrow: &Narrow| case.path().hops.get(narrow.hop).map_or(0.0, |hop| case.traffic(hop));
    let alike = others.into_iter().take_while(|narrow| is_same(narrowest, narrow.rate));
    alike.reduce(|best, other| if traffic(other) > traffic(best) { other } else { best }).copied()
}

fn is_same(a: BytesPerSec, b: BytesPerSec) -> bool {
    (a.get() - b.get()).abs() <= a.get() * SAME_RATE
}

/// The hop at `index` and those that do the same at the same rate on branches beside it, in path order: the four drives
/// of an array. Only together are they the bottleneck.
pub(crate) fn peers<'a>(case: &Case<'a>, index: usize) -> Vec<&'a Hop> {
    let Some(first) = case.path().hops.get(index) else { return Vec::new() };
    let rate = case.path_rate(index);
    let is_peer = |other: usize, hop: &Hop| {
        let same = rate.zip(case.path_rate(other)).is_some_and(|(a, b)| is_same(a, b));
        other == index || same && are_parallel(case, first, hop)
    };
    case.hops().filter(|(other, hop)| is_peer(*other, hop)).map(|(_, hop)| hop).collect()
}

/// Whether two hops are the same wire seen twice: a switch or chipset, and the link of its upstream port.
pub(crate) fn are_one_part(a: &Hop, b: &Hop) -> bool {
    match (&a.spec, &b.spec) {
        (HopSpec::Link(link), HopSpec::Chipset(uplink) | HopSpec::Switch(uplink))
        | (HopSpec::Chipset(uplink) | HopSpec::Switch(uplink), HopSpec::Link(link)) => {
            link.device.address == uplink.address
        }
        (HopSpec::Link(a), HopSpec::Link(b)) => a.device.address == b.device.address,
        _ => a.id == b.id,
    }
}

/// Whether two hops are a bond of network interfaces and one of them.
fn is_bond(case: &Case<'_>, a: &Hop, b: &Hop) -> bool {
    let are_interfaces = a.kind() == HopKind::Network && b.kind() == HopKind::Network;
    are_interfaces && (case.is_above(a, b) || case.is_above(b, a))
}

/// Whether two hops do the same on parallel branches: the links of two members of an array. Widening one of them
/// alone changes nothing. What the branches share lies less deep, and carries more than each of them.
fn are_parallel(case: &Case<'_>, a: &Hop, b: &Hop) -> bool {
    let (one, other) = (case.traffic(a), case.traffic(b));
    a.kind() == b.kind()
        && a.id != b.id
        && a.depth == b.depth
        && (one - other).abs() <= SAME_RATE * one.max(other)
        && !case.is_above(a, b)
        && !case.is_above(b, a)
}

/// A worker that uses this much of a core has no time left to ask for more.
const FULL_CORE: f64 = 0.9;

/// A worker that waits for a processor this part of the time shares it with others, or may not use all of it.
const SUBSTANTIAL_QUEUE: f64 = 0.1;

/// Part of the time in which something held that held most of the time, or of the work that was most of it.
const MOSTLY: f64 = 0.5;

/// Whether the generator was denied processor time that it asked for, and did not only use up what it had.
pub(crate) fn was_denied(measurement: &Measurement) -> bool {
    measurement.generator.cpu < FULL_CORE && measurement.generator.queued >= SUBSTANTIAL_QUEUE
}

/// The bytes came from a cache, so memory is what was measured.
fn cache(case: &Case<'_>, audit: &Audit) -> Option<Attribution> {
    let evidence = audit.cached.clone()?;
    let (hop, _) = case.of_kind(HopKind::Memory).next()?;
    Some(Attribution::found(hop, Cause::Cache, Confidence::High, evidence))
}

/// The generator's busiest worker used up its core, and the requests did not wait below it.
///
/// Two things look the same and are not: media that hold the requests (then a spinning worker is harmless), and a
/// cipher that runs in the worker's own context, which [`software::busy`] names.
fn generator(case: &Case<'_>) -> Option<Attribution> {
    if case.measurement()?.generator.cpu < FULL_CORE || software::cipher_in_worker(case).is_some() {
        return None;
    }
    at_the_worker(case)
}

/// The worker ran or stood in the queue of a processor, and the requests did not wait below it: all the time, or most of it while
/// the device had nothing to do. Kernel threads that use up the processor are asked about before: they work for the path.
fn denied(case: &Case<'_>) -> Option<Attribution> {
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
fn io_workers(case: &Case<'_>) -> Option<Attribution> {
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

fn at_the_worker(case: &Case<'_>) -> Option<Attribution> {
    let generator = &case.measurement()?.generator;
    let waiting = case.waiting_in_block_layer();
    if waiting.is_some_and(|part| part >= 0.5) {
        return None;
    }
    let (hop, _) = case.of_kind(HopKind::Application).next()?;
    let [time, queue] = of_the_worker(generator);
    let queue = Some(queue).filter(|_| generator.queued >= SUBSTANTIAL_QUEUE);
    let evidence = std::iter::once(time).chain(queue).chain(waiting.map(in_block_layer)).collect();
    Some(Attribution::found(hop, Cause::Generator, Confidence::High, evidence))
}

/// The time that the busiest worker had on a processor, and waited for one.
pub(crate) fn of_the_worker(generator: &GeneratorUse) -> [Evidence; 2] {
    [
        Evidence::new(
            "processor time of the busiest worker",
            format!("{} of a core", human::percent(generator.cpu)),
            "getrusage of the worker thread",
        ),
        Evidence::new(
            "time in the queue of a processor",
            human::percent(generator.queued),
            "/proc/thread-self/schedstat of the worker thread",
        ),
    ]
}

pub(crate) fn in_block_layer(part: f64) -> Evidence {
    Evidence::new("requests waiting in the block layer", human::percent(part), "/proc/diskstats")
}

#[cfg(test)]
mod tests;
