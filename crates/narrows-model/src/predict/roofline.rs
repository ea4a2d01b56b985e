//! The storage roofline: what each hop lets through against the size of I/Os, or against how many are under way, and what
//! the path makes of it. Named after the roofline of processors (S. Williams, A. Waterman, D. Patterson, Communications
//! of the ACM 52, 2009): bandwidths are flat, operations and latency rise with the size.

use std::collections::BTreeMap;

use super::bound::BoundKind;
use super::solve::predict;
use crate::path::HopId;
use crate::path::file::{BuildError, System, Workload};
use narrows_base::units::{Bytes, BytesPerSec};

/// What runs along the horizontal axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// Bytes in each I/O.
    BlockSize,
    /// I/Os that each job keeps under way.
    Depth,
}

/// The ceiling of a hop along the axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The hop; the first of several that are alike.
    pub hop: HopId,
    /// What bounds.
    pub kind: BoundKind,
    /// Its name for a person.
    pub name: String,
    /// How many hops this line stands for.
    pub alike: usize,
    /// What it lets through at each place of the axis.
    pub rates: Vec<BytesPerSec>,
}

/// A workload as a point of the picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Its name.
    pub name: String,
    /// Its place on the axis: bytes, or I/Os.
    pub at: f64,
    /// What it gets.
    pub rate: BytesPerSec,
}

/// One picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Roofline {
    /// What runs along its axis.
    pub axis: Axis,
    /// The places on it, rising.
    pub at: Vec<f64>,
    /// Ceilings, the narrowest at the workload's place first.
    pub lines: Vec<Line>,
    /// The smallest of the bounds at each place: what the workload gets where the laws that decide hold.
    pub rates: Vec<BytesPerSec>,
    /// The workloads whose rate is known.
    pub marks: Vec<Mark>,
    /// What is the same everywhere: `depth 8, 1 job, reads`.
    pub fixed: String,
}

/// From 512 B to 16 MiB.
const SIZES: std::ops::RangeInclusive<u32> = 9..=24;

/// From 1 to 1024 under way.
const DEPTHS: std::ops::RangeInclusive<u32> = 0..=10;

/// The most lines of a picture; what is far above the others decides nothing.
const MOST_LINES: usize = 7;

/// The picture of `workload` along `axis`, with the places of `others` on it.
///
/// # Errors
/// The description is no path.
pub fn roofline(
    system: &System,
    workload: &Workload,
    axis: Axis,
    others: &[Workload],
) -> Result<Roofline, BuildError> {
    let exponents = if axis == Axis::BlockSize { SIZES } else { DEPTHS };
    let mut at = Vec::new();
    let mut rates = Vec::new();
    let mut lines: BTreeMap<(HopId, BoundKind), Line> = BTreeMap::new();
    for (place, exponent) in exponents.enumerate() {
        let one = match axis {
            Axis::BlockSize => Workload { block_size: Bytes::new(1 << exponent), ..workload.clone() },
            Axis::Depth => Workload { depth: 1 << exponent, ..workload.clone() },
        };
        let prediction = predict(system, &one)?;
        at.push(f64::from(1_u32 << exponent));
        rates.push(prediction.rate);
        for bound in prediction.bounds {
            // What a request spends its time in changes along the axis; it is one line all the same.
            let key = match bound.kind {
                BoundKind::Depth => (HopId::new(crate::path::HopKind::Application, "depth"), bound.kind),
                kind => (bound.hop.clone(), kind),
            };
            let name = if bound.kind == BoundKind::Depth {
                "requests under way ÷ time of one".to_owned()
            } else {
                bound.name
            };
            let line = lines.entry(key).or_insert_with(|| Line {
                hop: bound.hop,
                kind: bound.kind,
                name,
                alike: 1,
                rates: Vec::new(),
            });
            // Several bounds of one hop (both directions): the lower one.
            match line.rates.len() > place {
                true => line.rates[place] = line.rates[place].min(bound.rate),
                false => line.rates.push(bound.rate),
            }
        }
    }
    let whole = lines.into_values().filter(|line| line.rates.len() == at.len());
    let mut lines = together(whole.collect());
    lines.sort_by(|a, b| lowest(a, &rates).total_cmp(&lowest(b, &rates)));
    lines.truncate(MOST_LINES);
    let mut marks = Vec::new();
    for one in std::iter::once(workload).chain(others.iter().filter(|other| other.name != workload.name)) {
        let prediction = predict(system, one)?;
        // A point says that a rate is known.
        if prediction.answer.intervals().is_none() {
            continue;
        }
        let place = if axis == Axis::BlockSize { one.block_size.as_f64() } else { f64::from(one.depth) };
        marks.push(Mark { name: one.name.to_string(), at: place, rate: prediction.rate });
    }
    Ok(Roofline { axis, at, lines, rates, marks, fixed: fixed(workload, axis) })
}

/// How near a line comes to what the workload gets, at best.
fn lowest(line: &Line, rates: &[BytesPerSec]) -> f64 {
    let near = line.rates.iter().zip(rates).map(|(line, rate)| line.get() / rate.get().max(1.0));
    near.fold(f64::INFINITY, f64::min)
}

/// Lines that run on top of each other, as those of the members of an array, are one.
fn together(lines: Vec<Line>) -> Vec<Line> {
    let mut kept: Vec<Line> = Vec::new();
    for line in lines {
        let same = |other: &&mut Line| {
            let close = |(a, b): (&BytesPerSec, &BytesPerSec)| (a.get() - b.get()).abs() <= a.get() * 1e-6;
            other.kind == line.kind
                && other.hop.as_str().split(':').next() == line.hop.as_str().split(':').next()
                && other.rates.iter().zip(&line.rates).all(close)
        };
        match kept.iter_mut().find(same) {
            Some(other) => other.alike += 1,
            None => kept.push(line),
        }
    }
    kept
}

fn fixed(workload: &Workload, axis: Axis) -> String {
    let jobs = if workload.jobs == 1 { "1 job".to_owned() } else { format!("{} jobs", workload.jobs) };
    let size = narrows_base::units::human::block_size(workload.block_size);
    let mix = match workload.read_share {
        share if share >= 1.0 => "reads".to_owned(),
        share if share <= 0.0 => "writes".to_owned(),
        share => format!("{} reads", narrows_base::units::human::percent(share)),
    };
    let order = match workload.pattern {
        crate::path::file::Pattern::Sequential => "sequential",
        crate::path::file::Pattern::Random => "random",
    };
    match axis {
        Axis::BlockSize => format!("{order} {mix}, depth {}, {jobs}", workload.depth),
        Axis::Depth => format!("{order} {mix} of {size}, {jobs}"),
    }
}
