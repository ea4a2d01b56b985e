//! What one test came to.

use super::timing::Timing;
use crate::ceiling::Direction;
use crate::load::measurement::{Measurement, OpTotals};
use crate::load::stats::{self, Outlook};
use crate::machine::activity::Activity;
use crate::units::{BytesPerSec, Iops, Nanos, human};
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
    /// Processors of the whole machine that were at work in the measured time, on average.
    pub(in crate::cli) const fn processors(&self) -> f64 {
        self.activity.working
    }

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

/// Why a run that is precise enough ended.
pub(super) fn known(timing: &Timing, measurement: &Measurement, outlook: &Outlook) -> String {
    let (precision, elapsed) = (human::percent(timing.precision), measurement.elapsed_ns);
    let warm_up = Nanos::new(stats::SAMPLE.get().saturating_mul(outlook.warm_up as u64));
    let without = match outlook.warm_up {
        0 => String::new(),
        _ => format!(", the first {warm_up} left out as warm-up"),
    };
    format!("known to ± {precision} after {elapsed}{without}")
}

/// Makes the rates of a run those after the warm-up that was found in it, of which its interval is. Bytes, latencies and
/// the series stay those of all its time.
pub(super) fn leave_out_warm_up(measurement: &mut Measurement, outlook: &Outlook) {
    if outlook.warm_up == 0 || measurement.bytes_per_second.get() <= 0.0 {
        return;
    }
    let factor = outlook.rate.fraction_of(measurement.bytes_per_second);
    measurement.bytes_per_second = outlook.rate;
    measurement.iops = Iops::new(measurement.iops.get() * factor);
    for totals in [&mut measurement.reads, &mut measurement.writes, &mut measurement.discards] {
        totals.bytes_per_second = totals.bytes_per_second * factor;
        totals.iops = Iops::new(totals.iops.get() * factor);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::preset::StopRule;
    use crate::load::stats::Decision;
    use std::time::Duration;

    const TIMING: Timing = Timing {
        stop: StopRule::Precision,
        precision: 0.02,
        max_time: Duration::from_secs(30),
        fixed: None,
        warm_up: Duration::ZERO,
    };

    #[test]
    fn the_rate_is_that_of_its_interval_when_a_warm_up_was_found() {
        // 2 s at 40 MB/s, 6 s at 80 MB/s: 70 MB/s over all.
        let totals = |mb: f64| OpTotals {
            bytes_per_second: BytesPerSec::from_mb(mb),
            iops: Iops::new(mb),
            ..OpTotals::default()
        };
        let mut measurement = Measurement {
            bytes_per_second: BytesPerSec::from_mb(70.0),
            iops: Iops::new(70.0),
            reads: totals(35.0),
            writes: totals(35.0),
            elapsed_ns: Nanos::from_millis(8000),
            ..Measurement::default()
        };
        let outlook = Outlook {
            decision: Decision::Stop,
            warm_up: 20,
            rate: BytesPerSec::from_mb(80.0),
            half_width: Some(BytesPerSec::from_mb(1.0)),
        };
        leave_out_warm_up(&mut measurement, &outlook);
        assert_eq!(measurement.bytes_per_second, outlook.rate);
        assert!((measurement.iops.get() - 80.0).abs() < 1e-9);
        assert!((measurement.reads.bytes_per_second.get() - 40e6).abs() < 1e-3);
        let said = known(&TIMING, &measurement, &outlook);
        assert_eq!(said, "known to ± 2 % after 8 s, the first 2 s left out as warm-up");
        let whole = Measurement { ..measurement.clone() };
        leave_out_warm_up(
            &mut measurement,
            &Outlook { warm_up: 0, rate: BytesPerSec::from_mb(1.0), ..outlook },
        );
        assert_eq!(measurement, whole);
    }
}
