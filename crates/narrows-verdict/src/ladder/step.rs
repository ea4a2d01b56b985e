//! One rung against those below it.

use narrows_base::measurement::Access;
use narrows_base::units::{BytesPerSec, human};
use narrows_machine::Machine;
use narrows_machine::activity::DiskActivity;
use narrows_model::path::{Hop, HopKind, HopSpec};

use super::{Cause, Loss, Rung, Step, block_flows, ceiling, crypt, raid, translated};
use crate::attribution::{Attribution, attribute};
use crate::case::Case;
use crate::finding::{Confidence, Evidence};
use crate::trust::Audit;

/// All processors together are full from here on; sampling and the scheduler take the rest.
const FULL: f64 = 0.95;
/// A driver that holds fewer requests than this on average has none for a part of the time. One that is full holds as many
/// as its device takes, and that is at least one.
const IDLE_DRIVER: f64 = 0.75;

/// A rung with what lies below it.
pub(super) struct At<'a> {
    pub(super) rungs: &'a [Rung],
    pub(super) rung: &'a Rung,
    pub(super) case: Case<'a>,
    pub(super) audit: Audit,
    /// The hop of the rung, in its own path.
    pub(super) hop: &'a Hop,
    /// What the layers below give at once.
    pub(super) below: BytesPerSec,
    /// What the rung gives.
    pub(super) rate: BytesPerSec,
}

impl Loss {
    /// With more that shows it.
    pub(super) fn with(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    pub(super) fn seen(self, fact: impl Into<String>, value: impl ToString, source: &str) -> Self {
        self.with([Evidence::new(fact, value, source)])
    }
}

impl<'a> At<'a> {
    /// The rungs right below, each alone, that were measured.
    pub(super) fn members(&self) -> impl Iterator<Item = &'a Rung> + use<'a> {
        let rungs = self.rungs;
        let members = self.rung.members.iter().filter_map(move |index| rungs.get(*index));
        members.filter(|rung| rung.rate().is_some())
    }

    /// What the block device of a member did.
    pub(super) fn disk(&self, member: &Rung) -> Option<&'a DiskActivity> {
        self.case.hop_disk(self.case.path().hop(&member.hop)?)
    }

    /// The part of the layer's traffic that crosses a member.
    pub(super) fn share(&self, member: &Rung) -> Option<f64> {
        let traffic = |hop: &Hop| self.case.traffic(hop);
        let whole = traffic(self.hop);
        let part = traffic(self.case.path().hop(&member.hop)?);
        (whole > 0.0 && part > 0.0).then(|| part / whole)
    }

    /// A loss by a hop.
    pub(super) fn loss(&self, cause: Cause, hop: &Hop, confidence: Confidence, summary: String) -> Loss {
        Loss { cause, hop: hop.id.clone(), summary, evidence: self.evidence(), confidence }
    }

    /// What every loss shows: both rates, and what the layers did.
    fn evidence(&self) -> Vec<Evidence> {
        let mut evidence = vec![
            Evidence::new("the layers below", self.below, "the run right before"),
            Evidence::new("this layer", self.rate, "the run"),
        ];
        let Some(asked) = self.case.asked_outstanding() else { return evidence };
        evidence.extend(block_flows(&self.case).into_iter().map(|flow| {
            let part = human::percent(flow.bytes_in_flight.as_f64() / asked);
            let size = human::block_size(flow.request_size);
            let value = format!("{:.1} requests of {size}, {part} of the bytes asked for", flow.in_flight);
            Evidence::new(format!("in flight at {}", flow.block), value, "/proc/diskstats")
        }));
        evidence
    }

    /// Whether every processor is busy.
    pub(super) fn is_processor_full(&self) -> bool {
        processors(&self.case) >= FULL
    }

    /// The most that a thread uses that is not `named` so.
    pub(super) fn most_of_others(&self, named: impl Fn(&str) -> bool) -> f64 {
        let threads = self.case.run.map_or(&[][..], |run| &run.activity.threads);
        threads.iter().filter(|thread| !named(&thread.name)).map(|thread| thread.cores).fold(0.0, f64::max)
    }

    /// The busiest kernel threads, busiest first.
    pub(super) fn busiest(&self) -> Vec<Evidence> {
        const MOST: usize = 3;
        let threads = self.case.run.map_or(&[][..], |run| &run.activity.threads);
        let busy = threads.iter().filter(|thread| thread.cores >= 0.1).take(MOST);
        let shown = busy.map(|thread| {
            let cores = format!("{:.2} cores", thread.cores);
            Evidence::new(format!("thread {}", thread.name), cores, "/proc/[pid]/stat")
        });
        shown.collect()
    }
}

/// The busy part of all processors together.
fn processors(case: &Case<'_>) -> f64 {
    let cpus = case.run.map(|run| &run.activity.cpus);
    cpus.map_or(0.0, |cpus| cpus.values().sum::<f64>() / cpus.len().max(1) as f64)
}

/// The verdict on the rung at `index`.
pub(super) fn of(machine: &Machine, rungs: &[Rung], index: usize) -> Step {
    let Some(rung) = rungs.get(index) else { return Step::default() };
    let case = Case::new(machine, &rung.subject, rung.direction());
    let Some(rate) = rung.rate() else { return Step { ceiling: ceiling(rung), ..Step::default() } };
    let audit = Audit::of(&case);
    let generator = attribute(&case, &audit).is_ok_and(|found| translated(&case, &found) == Cause::Generator);
    let trusted = Some(audit.is_clean() && !generator);
    let below = below(rungs, rung);
    let lost = below.map(|below| 1.0 - rate.fraction_of(below));
    let hop = rung.subject.path.hop(&rung.hop);
    let loss = below.zip(hop).filter(|(below, _)| rung.falls_short_of(*below)).map(|(below, hop)| {
        let at = At { rungs, rung, case, audit: audit.clone(), hop, below, rate };
        decide(&at)
    });
    Step { below, lost, loss, trusted, ceiling: ceiling(rung), flows: block_flows(&case) }
}

/// What the layers below give: all at once where that was measured, else what they give alone, together. Reads and writes
/// are not compared.
fn below(rungs: &[Rung], rung: &Rung) -> Option<BytesPerSec> {
    let same = |other: &&Rung| other.direction() == rung.direction();
    let together = rung.together.and_then(|index| rungs.get(index)).filter(same).and_then(Rung::rate);
    if together.is_some() {
        return together;
    }
    let rates: Option<Vec<BytesPerSec>> =
        rung.members.iter().map(|index| rungs.get(*index).filter(same)?.rate()).collect();
    rates.filter(|rates| !rates.is_empty()).map(|rates| rates.into_iter().sum())
}

fn decide(at: &At<'_>) -> Loss {
    let found = attribute(&at.case, &at.audit).ok();
    let cause = found.as_ref().map(|found| translated(&at.case, found));
    // Ourselves first, and what makes the run no measure of the layer at all.
    let suspects = [Cause::Cache, Cause::Generator, Cause::Resync];
    let by_run = || found.as_ref().and_then(|found| by_attribution(at, found));
    let suspect = cause.filter(|cause| suspects.contains(cause)).and_then(|_| by_run());
    suspect
        .or_else(|| by_layer(at))
        .or_else(|| by_run().filter(|loss| loss.cause != Cause::Medium))
        .or_else(|| {
            scheduler(&at.case).map(|(hop, evidence)| held_back(hop, [at.evidence(), evidence].concat()))
        })
        .or_else(|| processor(at))
        .or_else(|| leftover(at))
        .unwrap_or_else(|| {
            let summary = format!("{} gives {} less, and no counter tells why.", at.hop.name, gone(at));
            at.loss(Cause::Unknown, at.hop, Confidence::Low, summary)
        })
}

/// What the layer is known to do.
fn by_layer(at: &At<'_>) -> Option<Loss> {
    if at.rung.at_once {
        return None;
    }
    match &at.hop.spec {
        HopSpec::Raid(_) | HopSpec::Volume(_) => raid::decide(at),
        HopSpec::Crypt(table) => crypt::decide(at, table),
        _ => None,
    }
}

/// What a single run of the rung shows.
fn by_attribution(at: &At<'_>, found: &Attribution) -> Option<Loss> {
    let hop = at.case.path().hops.get(found.hop)?;
    let name = &hop.name;
    let cause = translated(&at.case, found);
    let summary = match cause {
        Cause::Cache => {
            format!("Memory answered: the devices moved fewer bytes than were read through {}.", at.hop.name)
        }
        Cause::Generator => "narrows itself uses up its core; the layer can do more.".to_owned(),
        Cause::Resync => format!("{name} is resyncing and takes part of its members."),
        Cause::CipherPerCore => format!("{name}: the cipher uses up the processor."),
        Cause::StripeThread => format!("{name}: its one kernel thread uses up a core."),
        Cause::Filesystem => format!("{name}: a kernel thread of it uses up a core."),
        Cause::SlowestMember => format!("{name} holds the queue while its siblings wait."),
        Cause::Network => format!("{name}: the network is full."),
        Cause::Remote => format!("{name}, at the far end, is the limit."),
        Cause::CeilingReached => format!("{name} carries no more than this."),
        _ => return None,
    };
    Some(at.loss(cause, hop, found.confidence, summary).with(found.evidence.clone()).with(at.busiest()))
}

/// A device whose driver is idle while requests wait in its scheduler, with what shows it. Where every processor is busy, taking
/// a sample keeps whoever hands requests to the driver from it, so that the driver is always seen idle.
fn scheduler<'a>(case: &Case<'a>) -> Option<(&'a Hop, Vec<Evidence>)> {
    if processors(case) >= FULL {
        return None;
    }
    case.hops().find_map(|(_, hop)| {
        let HopSpec::Device(device) = &hop.spec else { return None };
        let queue = &case.machine.block.get(&device.block)?.queue;
        let name = queue.scheduler.value().filter(|name| *name != "none")?;
        let disk = case.disk(&device.block)?;
        let held = disk.at_driver?;
        let (all, at_driver) = (format!("{:.1}", disk.in_flight), format!("{held:.1}"));
        let evidence = vec![
            Evidence::new("scheduler", name, queue.scheduler.source().as_str()),
            Evidence::new("requests in flight", all, "times of /proc/diskstats"),
            Evidence::new("of these at the driver", at_driver, "samples of /sys/block/*/inflight"),
        ];
        (disk.in_flight >= 2.0 && held <= IDLE_DRIVER).then_some((hop, evidence))
    })
}

fn held_back(hop: &Hop, evidence: Vec<Evidence>) -> Loss {
    let summary = format!("Requests wait in the scheduler of {} while its driver has room.", hop.name);
    Loss { cause: Cause::Scheduler, hop: hop.id.clone(), summary, evidence, confidence: Confidence::Medium }
}

/// Every processor is busy.
fn processor(at: &At<'_>) -> Option<Loss> {
    let mean = processors(&at.case);
    at.is_processor_full().then(|| {
        let count = at.case.run.map_or(0, |run| run.activity.cpus.len());
        let summary = format!("All {count} processors are busy: no more can be asked for or worked on.");
        at.loss(Cause::Processor, at.hop, Confidence::Medium, summary)
            .seen("processors busy", human::percent(mean), "/proc/stat")
            .with(at.busiest())
    })
}

/// What remains when no counter names another: the layer itself, where it does work of its own.
fn leftover(at: &At<'_>) -> Option<Loss> {
    if at.rung.at_once || at.hop.kind() != HopKind::Filesystem {
        return None;
    }
    let buffered = at.case.measurement()?.access == Access::Buffered;
    let how = if buffered { "it refuses O_DIRECT and copies every byte" } else { "no device below is full" };
    let summary = format!("{} itself takes {}: {how}.", at.hop.name, gone(at));
    Some(at.loss(Cause::Filesystem, at.hop, Confidence::Medium, summary).with(at.busiest()))
}

/// `12 % (40 MB/s)`.
pub(super) fn gone(at: &At<'_>) -> String {
    let part = 1.0 - at.rate.fraction_of(at.below);
    format!("{} ({})", human::percent(part), at.below - at.rate)
}

/// What limits a rung that lost nothing: the same as without a ladder.
pub(super) fn plain(machine: &Machine, rung: &Rung) -> Option<Loss> {
    let case = Case::new(machine, &rung.subject, rung.direction());
    case.run?;
    let found = attribute(&case, &Audit::of(&case)).ok()?;
    let hop = case.path().hops.get(found.hop)?;
    let cause = translated(&case, &found);
    if cause == Cause::Medium
        && let Some((hop, evidence)) = scheduler(&case)
    {
        return Some(held_back(hop, evidence));
    }
    let summary = format!("{} carries no more than this.", hop.name);
    Some(Loss { cause, hop: hop.id.clone(), summary, evidence: found.evidence, confidence: found.confidence })
}

/// The verdict on a ladder in one or two sentences.
///
/// What the top gives, what is the bottleneck, and what comes next.
pub(super) fn sentence(
    rungs: &[Rung],
    steps: &[Step],
    top: Option<usize>,
    limiting: Option<&Loss>,
    next: Option<&Loss>,
) -> String {
    let Some(rung) = top.and_then(|top| rungs.get(top)) else {
        return "Nothing could be measured.".to_owned();
    };
    let target = &rung.subject.path.target;
    let verb = format!("{} {target}", rung.direction().pick("Reads of", "Writes to"));
    let rate = rung.rate().map(|rate| rate.to_string()).unwrap_or_default();
    let Some(limiting) = limiting else {
        return format!("{verb} reach {rate}; what limits them cannot be seen.");
    };
    let any_loss = steps.iter().any(|step| step.loss.is_some());
    // What a scheduler holds back is no property of the device that it belongs to.
    let first = if any_loss || limiting.cause == Cause::Scheduler {
        format!("{verb} reach {rate}. {}", limiting.summary)
    } else {
        let lost = top.and_then(|top| steps.get(top)?.lost).map(|lost| lost.max(super::SIGNIFICANT));
        let above = lost.map(|lost| format!(" No layer loses more than {}.", human::percent(lost)));
        let above = above.unwrap_or_default();
        format!("{verb} reach {rate}, limited by {}.{above}", named(rung, limiting))
    };
    match next.filter(|next| next.cause != Cause::Unknown) {
        Some(next) if any_loss => format!("{first} Behind it comes {}.", named(rung, next)),
        _ => first,
    }
}

/// The hop of a loss by its name. Of a network only the interface is known, which may be faster than what lies behind it.
fn named(rung: &Rung, loss: &Loss) -> String {
    let name = rung.subject.path.hop(&loss.hop).map_or_else(|| loss.hop.to_string(), |hop| hop.name.clone());
    if loss.cause == Cause::Network { format!("the network behind {name}") } else { name }
}
