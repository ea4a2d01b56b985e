//! Rates with their intervals, and their sums.

use serde::{Deserialize, Serialize};

use super::{Member, SIGNIFICANT};
use crate::Run;
use narrows_base::units::BytesPerSec;
use narrows_load::stats;

/// A rate and how well it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rate {
    /// The mean rate.
    pub bytes_per_second: BytesPerSec,
    /// A 95 % confidence interval of it; `null` where the run was too short for one.
    pub ci95: Option<[BytesPerSec; 2]>,
}

impl Rate {
    /// What a run gave.
    pub fn of(run: &Run) -> Self {
        Self { bytes_per_second: run.measurement.bytes_per_second, ci95: run.measurement.ci95 }
    }

    /// Half the width of the interval.
    pub fn half(&self) -> Option<BytesPerSec> {
        self.ci95.map(|[low, high]| (high - low) / 2.0)
    }

    /// The sum of runs one after another, which are independent: the squares of their halves add up.
    pub(super) fn of_runs_one_by_one(rates: impl Iterator<Item = Self> + Clone) -> Self {
        let squares: Option<f64> = rates.clone().map(|rate| rate.half().map(|half| half.get().powi(2))).sum();
        Self::sum(rates, squares.map(f64::sqrt))
    }

    /// The sum of runs at the same time, which depend on each other: drives behind one limit take it from each other, so that their sum is
    /// steadier than each. The series of the sum tells; where a run is too short for that, the halves add up, which is the most that the
    /// interval can be.
    pub(super) fn of_runs_at_once<'a>(runs: impl Iterator<Item = &'a Run> + Clone) -> Self {
        let rates = runs.clone().map(Self::of);
        let buckets = runs.clone().map(|run| run.measurement.series.len()).min().unwrap_or(0);
        let series: Vec<BytesPerSec> = (0..buckets)
            .map(|at| runs.clone().filter_map(|run| run.measurement.series.get(at).copied()).sum())
            .collect();
        let of_series = stats::ci95(&series).map(|[low, high]| (high - low).get() / 2.0);
        let halves: Option<f64> = rates.clone().map(|rate| rate.half().map(BytesPerSec::get)).sum();
        Self::sum(rates, of_series.zip(halves).map(|(of_series, halves)| of_series.min(halves)).or(halves))
    }

    fn sum(rates: impl Iterator<Item = Self>, half: Option<f64>) -> Self {
        let bytes_per_second: BytesPerSec = rates.map(|rate| rate.bytes_per_second).sum();
        let around = |half: f64| {
            let mean = bytes_per_second.get();
            [BytesPerSec::new((mean - half).max(0.0)), BytesPerSec::new(mean + half)]
        };
        Self { bytes_per_second, ci95: half.map(around) }
    }

    /// Whether it is less than `before` by more than chance explains: the intervals do not touch.
    pub fn falls_short_of(&self, before: Self) -> bool {
        let apart = self.ci95.zip(before.ci95).is_some_and(|([_, high], [low, _])| high < low);
        apart && self.bytes_per_second < before.bytes_per_second * (1.0 - SIGNIFICANT)
    }
}

/// What one target gives alone and beside the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Share {
    /// Which target, as a place in the list of all.
    #[serde(skip)]
    pub member: usize,
    /// Which target.
    pub target: String,
    /// Alone.
    pub alone: Rate,
    /// At the same time as the others.
    pub together: Rate,
}

impl Share {
    pub(super) fn of(member: &Member<'_>) -> Self {
        let target = member.alone.path.target.clone();
        let (alone, together) = (Rate::of(member.before), Rate::of(member.after));
        Self { member: member.index, target, alone, together }
    }

    /// What it gives together as a part of what it gives alone; `None` where it gives nothing alone.
    pub fn part(&self) -> Option<f64> {
        let alone = self.alone.bytes_per_second;
        (alone.get() > 0.0).then(|| self.together.bytes_per_second.fraction_of(alone))
    }

    /// The interval of that part, by the ends of both intervals.
    pub(super) fn part_within(&self) -> Option<[f64; 2]> {
        let ([low, high], [least, most]) = self.together.ci95.zip(self.alone.ci95)?;
        (least.get() > 0.0).then(|| [low.fraction_of(most), high.fraction_of(least)])
    }

    pub(super) fn falls_short(&self) -> bool {
        self.together.falls_short_of(self.alone)
    }
}
