//! What one test came to.

use crate::ceiling::Direction;
use crate::load::measurement::{Measurement, OpTotals};
use crate::machine::activity::Activity;
use crate::units::BytesPerSec;
use crate::verdict::Run;

/// What one test came to.
pub(in crate::cli) struct Outcome {
    /// The figures.
    pub(in crate::cli) measurement: Measurement,
    /// Why it ended.
    pub(in crate::cli) ended: String,
    /// The mean rates of rounds, where there were rounds.
    pub(in crate::cli) rounds: Vec<BytesPerSec>,
    /// What the machine did meanwhile.
    pub(super) activity: Activity,
}

impl Outcome {
    /// The runs as the verdict takes them: reads and writes apart. `idle` is what the machine does of its own accord.
    pub(super) fn runs(&self, idle: &Activity) -> Vec<Run> {
        let measurement = &self.measurement;
        let mixed = measurement.workload.is_mixed();
        let run = |direction, totals: &OpTotals| Run {
            direction,
            measurement: if mixed { of_side(measurement, totals) } else { measurement.clone() },
            activity: self.activity.clone(),
            idle: idle.clone(),
        };
        let mut runs = Vec::new();
        if measurement.workload.reads() {
            runs.push(run(Direction::Read, &measurement.reads));
        }
        if measurement.workload.writes() {
            runs.push(run(Direction::Write, &measurement.writes));
        }
        runs
    }
}

/// A mixed run in one direction.
fn of_side(measurement: &Measurement, totals: &OpTotals) -> Measurement {
    let share = totals.bytes_per_second.fraction_of(measurement.bytes_per_second);
    Measurement {
        bytes: totals.bytes,
        bytes_per_second: totals.bytes_per_second,
        iops: totals.iops,
        latency: totals.latency.clone(),
        ci95: None,
        series: measurement.series.iter().map(|rate| *rate * share).collect(),
        ..measurement.clone()
    }
}
