//! Results that differ in nothing but how many streams or I/Os there were: where more stop to help, and what does not
//! fit.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use narrows_base::lists::distinct;
use narrows_base::stats::sweep::{Point, Shape, shape};
use narrows_base::units::{BytesPerSec, human};
use narrows_paste::results::{Imported, Measured, Op, Tool};

use super::against::Stated;

/// Fewer steps show no shape.
const FEWEST: usize = 4;

/// A series of results over streams or depth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sweep {
    pub tool: Tool,
    /// What was measured: `initial writers`, `random read 4 KiB`.
    pub label: String,
    /// The direction.
    #[serde(rename = "direction")]
    pub op: Op,
    /// What was varied: `jobs` or `I/Os in flight`.
    pub varied: Cow<'static, str>,
    /// The steps, ascending.
    pub points: Vec<Point>,
    /// What they show.
    pub shape: Shape,
    /// The best rate against ceilings that were stated.
    pub efficiency: Vec<Efficiency>,
}

/// The best rate of a series against a ceiling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Efficiency {
    /// What the ceiling is of.
    pub of: String,
    /// The ceiling.
    pub bytes_per_second: BytesPerSec,
    /// The best rate as a fraction of it.
    pub fraction: f64,
}

/// What makes measurements steps of one series.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SweepKey {
    tool: Tool,
    op: Op,
    label: String,
    target: Option<String>,
    direct: Option<bool>,
}

/// The series in results that were given together.
pub fn sweeps(results: &[Imported], stated: &[Stated]) -> Vec<Sweep> {
    let mut groups: BTreeMap<SweepKey, Vec<(&Measured, BytesPerSec)>> = BTreeMap::new();
    for result in results {
        for measured in result.measurements.iter().filter(|one| !one.memory_only) {
            for (op, side) in measured.sides() {
                groups.entry(key(result, measured, op)).or_default().push((measured, side.bytes_per_second));
            }
        }
    }
    groups.into_iter().filter_map(|(key, steps)| sweep(key, &steps, stated)).collect()
}

fn key(result: &Imported, measured: &Measured, op: Op) -> SweepKey {
    let work = &measured.work;
    let label = if result.tool == Tool::Iozone {
        work.label.clone()
    } else {
        let pattern = work.pattern.map(|pattern| format!("{} ", pattern.word())).unwrap_or_default();
        let block = work.block_size.map(|size| format!(" {}", human::block_size(size))).unwrap_or_default();
        format!("{pattern}{}{block}", op.word())
    };
    SweepKey { tool: result.tool, op, label, target: work.target.clone(), direct: work.direct }
}

fn sweep(key: SweepKey, steps: &[(&Measured, BytesPerSec)], stated: &[Stated]) -> Option<Sweep> {
    let jobs = |one: &Measured| f64::from(one.work.jobs.unwrap_or(1));
    let is_one_depth = distinct(steps.iter().map(|(one, _)| one.work.queue_depth)).len() <= 1;
    let varied = if is_one_depth { "jobs" } else { "I/Os in flight" };
    let points = steps.iter().filter_map(|(one, rate)| {
        let x = if is_one_depth { jobs(one) } else { one.asked_in_flight()? };
        Some(Point { x, bytes_per_second: *rate, ci95: None })
    });
    let mut points: Vec<Point> = points.collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points.dedup_by(|later, earlier| later.x == earlier.x);
    if points.len() < FEWEST {
        return None;
    }
    let best = points.iter().map(|point| point.bytes_per_second).reduce(BytesPerSec::max)?;
    let efficiency = stated.iter().map(|one| Efficiency {
        of: one.name.clone(),
        bytes_per_second: one.rate,
        fraction: best.fraction_of(one.rate),
    });
    Some(Sweep {
        tool: key.tool,
        label: key.label,
        op: key.op,
        varied: varied.into(),
        shape: shape(&points),
        points,
        efficiency: efficiency.collect(),
    })
}

impl Sweep {
    /// The sentences for people, one fact each.
    pub fn sentences(&self) -> Vec<String> {
        let varied = &self.varied;
        let plateau = match &self.shape.plateau {
            Some(plateau) => {
                let (from, to) = (human::count(plateau.from), human::count(plateau.to));
                format!("plateau of {} from {from} {varied} to {to}", plateau.bytes_per_second)
            }
            None => format!("still rises at the most {varied}: no plateau was reached"),
        };
        let drops = self.shape.drops.iter().map(|drop| {
            let (from, to) = (human::count(drop.from), human::count(drop.to));
            let range =
                if drop.from == drop.to { format!("at {from}") } else { format!("from {from} to {to}") };
            format!("falls {} {range} {varied} ({})", human::percent(drop.fraction), drop.bytes_per_second)
        });
        let anomalies = self.shape.anomalies.iter().map(|one| {
            let (x, is, expected) = (human::count(one.x), one.bytes_per_second, one.expected);
            format!("{x} {varied} do not fit: {is}, where the neighbours let expect {expected}")
        });
        let efficiency = self.efficiency.iter().map(|one| {
            let share = human::percent(one.fraction);
            format!("the best is {share} of {} ({})", one.of, one.bytes_per_second)
        });
        std::iter::once(plateau).chain(drops).chain(anomalies).chain(efficiency).collect()
    }
}
