//! What one test came to.

use serde::{Deserialize, Serialize};

use crate::measure::{Follower, Look, Session, Timing};
use crate::writes::{Allowance, Writes, whole_gib};
use crate::{Live, Teller};
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos, human};
use narrows_load::measurement::{Measurement, OpTotals};
use narrows_load::stats::{self, Decision, Outlook};
use narrows_machine::activity::Activity;
use narrows_machine::root::Root;
use narrows_model::ceiling::Direction;
use narrows_verdict::Run;

/// What a test that writes might write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Allowed {
    /// The most that it might write, its warm-up included.
    pub bytes: Bytes,
    /// What it wrote.
    #[serde(rename = "written_bytes")]
    pub written: Bytes,
    /// Whether that ended the test before its rate was known well enough.
    pub ended_test: bool,
    /// A `--max-writes` with which it would likely be; `None` unless it ended the test, and where only the estimate of the whole
    /// run kept it from more.
    #[serde(rename = "needed_max_writes_bytes")]
    pub needed: Option<Bytes>,
}

/// What one test came to.
#[derive(Debug)]
pub struct LoadOutcome {
    /// The figures.
    pub measurement: Measurement,
    /// Why it ended.
    pub ended: String,
    /// What it might write, where it writes.
    pub allowance: Option<Allowed>,
    /// The mean rates of rounds, where there were rounds.
    pub rounds: Vec<BytesPerSec>,
    /// What the machine did meanwhile.
    pub(super) activity: Activity,
}

impl LoadOutcome {
    /// Processors of the whole machine that were at work in the measured time, on average.
    pub const fn processors(&self) -> f64 {
        self.activity.working
    }

    /// The runs of a session as the verdict takes them: reads and writes apart.
    pub(super) fn runs(&self, session: &Session<'_>) -> Vec<Run> {
        let measurement = &self.measurement;
        let mixed = measurement.workload.is_mixed();
        let run = |direction, totals: &OpTotals| {
            let side = if mixed { of_side(measurement, totals) } else { measurement.clone() };
            session.judged(direction, side, self.activity.clone())
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

/// How to let a test run on that ends with what was announced for the whole run.
const PATIENCE: &str = "as announced for the whole run; --max-time 30s lets it go on";

/// Why a run ended that might write no more; `needed` is what the whole run would need for its rate to be known, `None`
/// where only what was announced kept it from that.
pub(super) fn used_up(
    measurement: &Measurement,
    written: Bytes,
    outlook: Option<&Outlook>,
    needed: Option<Bytes>,
) -> String {
    let more = match needed {
        Some(needed) => format!("--max-writes {} would do", whole_gib(needed)),
        None => PATIENCE.to_owned(),
    };
    let (written, elapsed) = (human::bytes(written), measurement.elapsed_ns);
    format!("allowance used up: {written} written, {} after {elapsed}; {more}", width(outlook))
}

/// Why a run ended whose rate is not known when the time that was announced is over.
pub(super) fn late(measurement: &Measurement, outlook: Option<&Outlook>) -> String {
    format!("ran for {}, {}, {PATIENCE}", measurement.elapsed_ns, width(outlook))
}

fn width(outlook: Option<&Outlook>) -> String {
    match outlook.and_then(Outlook::relative) {
        Some(width) => format!("known to ± {}", human::percent(width)),
        None => "too soon for an interval".to_owned(),
    }
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
    for totals in [&mut measurement.reads, &mut measurement.writes] {
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

/// Shows the rate with its interval and the time left.
pub(super) struct Shown<'a, T> {
    pub(super) root: &'a Root,
    pub(super) progress: &'a T,
    pub(super) timing: &'a Timing,
    /// What counts the writes, of a run that writes.
    pub(super) metered: Option<(&'a Writes, &'a Allowance)>,
}

impl<T> Shown<'_, T> {
    fn meter(&self) {
        if let Some((writes, allowance)) = self.metered {
            writes.meter(self.root, Some(&allowance.budget));
        }
    }
}

impl<T: Teller> Follower for Shown<'_, T> {
    fn begin(&self) {
        if let Some((writes, _)) = self.metered {
            writes.begin_metering(self.root);
        }
    }

    fn look(&self, look: &Look) {
        self.meter();
        let longest = self.timing.longest().saturating_sub(look.elapsed);
        let (left, at_most) = match look.outlook.map(|outlook| outlook.decision) {
            Some(Decision::Continue { left: Some(expected) }) => (expected.duration().min(longest), false),
            Some(_) => (longest, true),
            None => (longest, false),
        };
        let half = look.outlook.as_ref().and_then(Outlook::relative);
        let (elapsed, rate) = (look.elapsed, look.done.per(look.elapsed));
        self.progress.live(&Live { elapsed, rate, half, left, at_most });
    }

    fn end(&self) {
        self.meter();
        if let Some((writes, _)) = self.metered {
            writes.end_metering(self.root);
        }
    }
}

/// Shows how much of a scan was read.
pub(super) struct Samples<'a, T> {
    pub(super) progress: &'a T,
    /// What it reads in all.
    pub(super) all: Bytes,
}

impl<T: Teller> Follower for Samples<'_, T> {
    fn look(&self, look: &Look) {
        let text = format!("{} of {}", human::bytes(look.done), human::bytes(self.all));
        self.progress.say(look.elapsed, &text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::UNTIL_KNOWN;
    use narrows_load::stats::Decision;

    #[test]
    fn a_test_that_may_write_no_more_says_how_well_its_rate_is_known() {
        let measurement = Measurement { elapsed_ns: Nanos::from_millis(700), ..Measurement::default() };
        let rate = BytesPerSec::from_mb(100.0);
        let outlook = Outlook {
            decision: Decision::Continue { left: None },
            warm_up: 0,
            rate,
            half_width: Some(BytesPerSec::from_mb(5.0)),
        };
        let (written, needed) = (Bytes::from_mib(64), Bytes::from_mib(12 << 10));
        assert_eq!(
            used_up(&measurement, written, Some(&outlook), Some(needed)),
            "allowance used up: 67.1 MB written, known to ± 5 % after 700 ms; --max-writes 12GiB would do"
        );
        assert!(
            used_up(&measurement, written, None, None).contains("too soon for an interval after 700 ms; as")
        );
        assert_eq!(
            late(&measurement, Some(&outlook)),
            "ran for 700 ms, known to ± 5 %, as announced for the whole run; --max-time 30s lets it go on"
        );
    }

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
        let said = known(&UNTIL_KNOWN, &measurement, &outlook);
        assert_eq!(said, "known to ± 2 % after 8 s, the first 2 s left out as warm-up");
        let whole = Measurement { ..measurement.clone() };
        leave_out_warm_up(
            &mut measurement,
            &Outlook { warm_up: 0, rate: BytesPerSec::from_mb(1.0), ..outlook },
        );
        assert_eq!(measurement, whole);
    }
}
