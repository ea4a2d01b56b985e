//! Which hop limits a path, and which comes next?
//!
//! Without a run the answer is arithmetic: the hop whose ceiling, divided by its traffic, is the smallest
//! ([`ranking`]). With a run the answer is an observation, and the order of suspicion matters. [`DECIDERS`] are asked
//! one after another and the first that has proof names the hop; a run in which nothing moved names none:
//!
//! 1. [`own::cache`]: the devices did not move the bytes, so nothing below memory was measured.
//! 2. [`own::generator`]: our own worker used up its core and the requests did not wait anywhere below it.
//! 3. [`software::resync`]: an array moved bytes of its own; its members cannot be blamed.
//! 4. [`software::cipher`], [`software::md_thread`], [`software::filesystem`]: kernel threads used up a core while the
//!    media had room. Software comes before hardware, because hardware below it only saw what software let through.
//! 5. [`own::io_workers`], [`own::denied`]: the kernel's workers for our ring used up a processor; or our own worker did
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
mod own;
mod ranking;
mod software;
#[cfg(test)]
mod tests;

pub use hardware::REACHED;

use narrows_base::units::BytesPerSec;
use narrows_model::ceiling::Narrow;

use super::case::Case;
use super::finding::{Confidence, Evidence, Severity};
use super::trust::Audit;

pub(super) use hardware::unequal_members;
pub(super) use own::{are_io_workers_full, was_denied};
pub(super) use ranking::{are_one_part, peers, rank, unknown_hops};
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
    /// How bad it is that this hop is the bottleneck: a limit by design, when that is known. Where a hop that is not known
    /// may be narrower still, arithmetic has only shown what the path can do at most, and that is no reason for alarm.
    pub(super) const fn severity(&self) -> Severity {
        if self.unknown.is_empty() { Severity::Limit } else { Severity::Info }
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

/// What a decider found.
#[derive(Debug, Clone)]
struct Decision {
    hop: usize,
    cause: Cause,
    confidence: Confidence,
    evidence: Vec<Evidence>,
}

type Decider = fn(&Case<'_>, &Audit) -> Option<Decision>;

/// In the order of the module's documentation.
const DECIDERS: &[Decider] = &[
    own::cache,
    own::generator,
    software::resync,
    software::cipher,
    software::md_thread,
    software::filesystem,
    own::io_workers,
    own::denied,
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
    let decision = case.run.and_then(|_| DECIDERS.iter().find_map(|decide| decide(case, audit)));
    let Some(decision) = decision else { return ranking::smallest(case, &ranked) };
    let rate = case.measurement().map(|measurement| measurement.bytes_per_second);
    let next = ranking::behind(case, &ranked, decision.hop);
    Ok(Attribution {
        hop: decision.hop,
        cause: decision.cause,
        rate,
        confidence: decision.confidence,
        evidence: decision.evidence,
        next,
        unknown: Vec::new(),
    })
}
