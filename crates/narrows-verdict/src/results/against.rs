//! A result against the path that it was measured on: above a ceiling, at one, or below all of them.

use serde::{Deserialize, Serialize};

use super::Ground;
use crate::attribution;
use crate::case::Case as PathCase;
use crate::finding::{Code, Finding, Severity};
use crate::rules::result::{Case, Run, declares_memory, time};
use crate::trust;
use narrows_base::units::{BytesPerSec, human};
use narrows_model::ceiling::{Direction, Narrow};
use narrows_model::path::{Hop, HopId, HopKind};
use narrows_paste::results::{Op, Tool};

/// A rate this near below a ceiling is that of the hop: laws calibrate to 3 %, tools with one or few I/Os in flight
/// leave a part of a link idle.
const NEAR: f64 = 0.75;

/// The same of a ceiling that somebody states, of which nobody knows what else lies before it.
const NEAR_STATED: f64 = 0.9;

/// What an error of a stated ceiling may be.
const ABOVE: f64 = 1.05;

/// Fewer bytes in flight do not fill a path of some gigabytes per second and some hundred microseconds.
const FEW_BYTES: f64 = 512.0 * 1024.0;

/// Where a result stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Above what the hop can carry: it is not a measurement of this path.
    Above,
    /// Near what the narrowest hop carries, which so limits it.
    At,
    /// Far below every ceiling that is known: something else limits it.
    Below,
}

/// One direction of a measurement against its path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Against {
    /// What was measured.
    pub label: String,
    /// The line where it stands.
    pub line: usize,
    /// The direction.
    #[serde(rename = "direction")]
    pub op: Op,
    /// The rate that the tool reached.
    #[serde(rename = "bytes_per_second")]
    pub rate: BytesPerSec,
    /// The path: its target.
    pub target: String,
    /// The hop that it is held against, of a path of this machine; `None` for a stated ceiling.
    pub hop: Option<HopId>,
    pub kind: HopKind,
    pub name: String,
    /// What it carries, as bytes of the application.
    #[serde(rename = "ceiling_bytes_per_second")]
    pub ceiling: BytesPerSec,
    /// How that was computed.
    pub formula: String,
    /// The rate as a fraction of that.
    pub fraction: f64,
    /// Where the rate stands.
    pub standing: Standing,
    /// What limits it instead, when it is far below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
}

impl Against {
    /// A run against a ceiling of which no more is known.
    fn of(run: &Run<'_>, ceiling: BytesPerSec, standing: Standing) -> Self {
        let work = &run.measured.work;
        Self {
            label: work.label.clone(),
            line: run.measured.line,
            op: run.op,
            rate: run.rate(),
            target: work.target.clone().unwrap_or_default(),
            hop: None,
            kind: HopKind::Remote,
            name: String::new(),
            ceiling,
            formula: String::new(),
            fraction: run.rate().fraction_of(ceiling),
            standing,
            instead: None,
        }
    }

    /// The sentence for people.
    pub fn sentence(&self) -> String {
        let (op, share) = (self.op.word(), human::percent(self.fraction));
        let Self { rate, name, ceiling, .. } = self;
        let instead = self.instead.as_deref().unwrap_or("no known ceiling explains it");
        match self.standing {
            Standing::Above => {
                format!("{op} {rate} is {share} of what {name} carries ({ceiling}): above physics")
            }
            Standing::At => {
                format!("{op} {rate} is {share} of what {name} carries ({ceiling}), which limits it")
            }
            Standing::Below => {
                format!("{op} {rate} is {share} of the narrowest known hop, {name} ({ceiling}): {instead}")
            }
        }
    }
}

/// A ceiling that somebody states, of a system that cannot be looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Stated {
    /// What it is of.
    pub name: String,
    /// The most that it carries.
    pub rate: BytesPerSec,
}

/// Every direction of every measurement that has a path or a stated ceiling.
pub(super) fn of(case: &Case<'_>, ground: &Ground<'_>) -> Vec<Against> {
    let runs = case.runs().filter(|run| !declares_memory(run.measured));
    let lowest = runs.filter_map(|run| match (on_path(case, &run, ground), stated(&run, ground.stated)) {
        (Some(path), Some(stated)) if stated.ceiling.get() < path.ceiling.get() => Some(stated),
        (path, stated) => path.or(stated),
    });
    lowest.collect()
}

fn on_path(case: &Case<'_>, run: &Run<'_>, ground: &Ground<'_>) -> Option<Against> {
    let place = format!("{}:{}", case.result.file, run.measured.line);
    let by_target = || ground.paths.get(run.measured.work.target.as_deref()?);
    let subject = ground.paths.get(&place).or_else(by_target).or(ground.default)?;
    let path = PathCase::new(ground.machine?, subject, run.op.pick(Direction::Read, Direction::Write));
    let rate = run.rate();
    let (index, ceiling, standing) = match trust::exceeded(&path, rate) {
        Some((index, ceiling)) => (index, ceiling, Standing::Above),
        None => {
            let narrowest = likeliest(&path, rate)?;
            // A published rate may be beaten, an estimate may be wrong: only arithmetic makes a rate impossible.
            let is_near = rate.fraction_of(narrowest.rate) >= NEAR;
            (narrowest.hop, narrowest.rate, if is_near { Standing::At } else { Standing::Below })
        }
    };
    let hop = subject.path.hops.get(index)?;
    let formula = path.ceiling(index).and_then(|ceiling| ceiling.limit()).map(|limit| limit.formula.clone());
    Some(Against {
        target: subject.path.target.clone(),
        hop: Some(hop.id.clone()),
        kind: hop.kind(),
        name: hop.name.clone(),
        formula: formula.unwrap_or_default(),
        instead: (standing == Standing::Below).then(|| instead(run, &path)),
        ..Against::of(run, ceiling, standing)
    })
}

/// The narrowest hop; of several that are alike, one that others share when a part of it is missing: a link of its own
/// would carry its whole ceiling.
fn likeliest(path: &PathCase<'_>, rate: BytesPerSec) -> Option<Narrow> {
    const ALIKE: f64 = 1.1;
    const WHOLE: f64 = 0.9;
    let ranked = attribution::rank(path);
    let first = *ranked.first()?;
    let is_shared = |narrow: &&Narrow| {
        let kind = path.path().hops.get(narrow.hop).map(Hop::kind);
        matches!(kind, Some(HopKind::Chipset | HopKind::Switch))
    };
    let alike = ranked.iter().take_while(|narrow| narrow.rate.fraction_of(first.rate) <= ALIKE);
    let shared = alike.filter(|_| rate.fraction_of(first.rate) < WHOLE).find(is_shared);
    Some(shared.copied().unwrap_or(first))
}

fn stated(run: &Run<'_>, stated: &[Stated]) -> Option<Against> {
    let narrowest = stated.iter().min_by(|a, b| a.rate.get().total_cmp(&b.rate.get()))?;
    let rate = run.rate();
    let standing = match rate.fraction_of(narrowest.rate) {
        share if share > ABOVE => Standing::Above,
        share if share >= NEAR_STATED => Standing::At,
        _ => Standing::Below,
    };
    Some(Against {
        name: narrowest.name.clone(),
        formula: "as it was stated (--ceiling)".to_owned(),
        instead: (standing == Standing::Below)
            .then(|| in_flight(run).unwrap_or_else(|| "something else limits it".to_owned())),
        ..Against::of(run, narrowest.rate, standing)
    })
}

/// What limits a rate that is far below every ceiling.
fn instead(run: &Run<'_>, path: &PathCase<'_>) -> String {
    if let Some(why) = in_flight(run) {
        return why;
    }
    let unknown = attribution::unknown_hops(path).into_iter();
    let unknown = unknown.filter_map(|index| Some(path.path().hops.get(index)?.name.as_str()));
    let unknown: Vec<&str> = unknown.take(3).collect();
    let is_full = run.measured.cpu.is_some_and(|cpu| cpu.total() >= 0.85);
    let known = match unknown.as_slice() {
        _ if run.tool() == Tool::Copy => {
            "a copy reads and writes in turn, file after file; `narrows copy` says which side waits"
        }
        _ if is_full => "the tool's own threads filled their processor",
        [] => "the medium itself, the tool, or what was not looked at",
        unknown => return format!("of {} no ceiling is known", unknown.join(", ")),
    };
    known.to_owned()
}

/// Few bytes in flight: the latency of each I/O sets the rate.
fn in_flight(run: &Run<'_>) -> Option<String> {
    let depth = run.measured.asked_in_flight()?;
    let block = run.measured.work.block_size?;
    if depth * block.as_f64() >= FEW_BYTES {
        return None;
    }
    let by_rate = || run.side.iops.map(|iops| depth / iops.get() * 1e9);
    let each = time(run.mean().or_else(by_rate).filter(|one| one.is_finite())?);
    Some(format!("{} of {block} were in flight, and each took {each}", human::count(depth)))
}

/// The result is above physics.
pub(super) fn find(case: &Case<'_>, all: &[Against]) -> Option<Finding> {
    let above = all.iter().filter(|one| one.standing == Standing::Above);
    let worst = above.max_by(|a, b| a.fraction.total_cmp(&b.fraction))?;
    let (op, share) = (worst.op.word(), human::percent(worst.fraction));
    let Against { label, name, line, .. } = worst;
    let summary = format!(
        "The {op}s of `{label}` are {share} of what {name} can carry: a cache, another device, or a wrong fact"
    );
    let not_so =
        "the tool measured another path than this one, or a fact behind the ceiling is wrong (`--why`)";
    let advice =
        "do not use this result: measure again past the caches, or name the right target with --target";
    let found = Finding::of(case, Code::AboveCeiling, Severity::Fault, summary)
        .seen("rate of the tool", worst.rate, format!("{}:{line}", case.result.file))
        .seen(format!("ceiling of {name}"), worst.ceiling, &worst.formula)
        .not_so_when(not_so);
    Some(found.advise(advice))
}

/// The hop that limits the fastest direction, when it is at a ceiling.
pub(super) fn limiting(all: &[Against]) -> Option<&Against> {
    let at = all.iter().filter(|one| one.standing == Standing::At);
    at.max_by(|a, b| a.fraction.total_cmp(&b.fraction))
}
