//! How long tests run, and when rounds of a test agree.

use std::time::Duration;

use narrows_base::units::BytesPerSec;
use narrows_load::preset::StopRule;
use narrows_load::stats::{self, Outlook, Precision};

/// SNIA PTS 2.0.2: a test that is not steady after 25 rounds is given up.
pub const MOST_ROUNDS: u32 = 25;
/// Rounds that must agree.
pub const WINDOW: usize = 5;

/// How long tests run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// When a test has run long enough.
    pub stop: StopRule,
    /// How narrow the interval must be.
    pub precision: f64,
    /// The longest that a test runs.
    pub max_time: Duration,
    /// Exactly this time, if it was asked for.
    pub fixed: Option<Duration>,
    /// What is not counted.
    pub warm_up: Duration,
}

impl Timing {
    /// Exactly this time, after a warm-up.
    pub const fn exactly(time: Duration, warm_up: Duration) -> Self {
        let (stop, fixed) = (StopRule::Seconds(1), Some(time));
        Self { stop, precision: 0.02, max_time: time, fixed, warm_up }
    }

    /// Whether it ends when its rate is known, and not after a time that was known beforehand.
    pub fn is_by_precision(&self) -> bool {
        self.fixed.is_none() && self.stop == StopRule::Precision
    }

    /// The time of one run, or the most of it.
    pub fn longest(&self) -> Duration {
        self.fixed.unwrap_or(match self.stop {
            StopRule::Precision => self.max_time,
            StopRule::Seconds(seconds) | StopRule::SteadyRounds(seconds) => {
                Duration::from_secs(seconds.into())
            }
        })
    }

    /// What the series says of when to stop; `None` when the time alone decides.
    pub fn judge(&self, series: &[BytesPerSec]) -> Option<Outlook> {
        let precision = Precision::new(self.precision).filter(|_| self.is_by_precision())?;
        Some(precision.judge(series))
    }
}

/// Whether the last rounds agree.
pub fn is_steady(rounds: &[BytesPerSec]) -> bool {
    rounds
        .len()
        .checked_sub(WINDOW)
        .and_then(|from| stats::steadiness(rounds.get(from..)?))
        .is_some_and(|test| test.steady)
}

/// Repeats a test until its last rounds agree, or [`MOST_ROUNDS`] were run: the `rate` of each round, and the last one. `once`
/// runs the round of this number, from 1 on, and says whether it is the last whatever the others gave.
///
/// # Errors
/// What `once` fails with.
pub fn rounds<O, E>(
    once: &mut dyn FnMut(usize) -> Result<(O, bool), E>,
    rate: impl Fn(&O) -> BytesPerSec,
) -> Result<(Vec<BytesPerSec>, Option<O>), E> {
    let (mut rates, mut last) = (Vec::new(), None);
    while rates.len() < MOST_ROUNDS as usize && !is_steady(&rates) {
        let (one, is_last) = once(rates.len() + 1)?;
        rates.push(rate(&one));
        last = Some(one);
        if is_last {
            break;
        }
    }
    Ok((rates, last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::UNTIL_KNOWN;
    use narrows_load::stats::Decision;

    #[test]
    fn the_time_alone_decides_where_it_was_asked_for() {
        let rates = [BytesPerSec::from_mb(100.0); 100];
        let decision = |timing: Timing| timing.judge(&rates).map(|outlook| outlook.decision);
        assert_eq!(decision(UNTIL_KNOWN), Some(Decision::Stop));
        assert_eq!(decision(Timing { fixed: Some(Duration::from_secs(9)), ..UNTIL_KNOWN }), None);
        assert_eq!(decision(Timing { stop: StopRule::Seconds(3), ..UNTIL_KNOWN }), None);
        assert_eq!(
            Timing { fixed: Some(Duration::from_secs(9)), ..UNTIL_KNOWN }.longest(),
            Duration::from_secs(9)
        );
        assert_eq!(Timing { stop: StopRule::Seconds(3), ..UNTIL_KNOWN }.longest(), Duration::from_secs(3));
    }

    /// How many rounds come of one that gives these rates in turn, and the rate of the last.
    fn repeated(mb: &dyn Fn(usize) -> (f64, bool)) -> (usize, Option<f64>) {
        let once = &mut |number| Ok::<_, ()>(mb(number));
        let (rates, last) = rounds(once, |mb| BytesPerSec::from_mb(*mb)).expect("no round fails");
        (rates.len(), last)
    }

    #[test]
    fn rounds_go_on_until_five_agree_and_no_longer_than_25() {
        assert_eq!(repeated(&|_| (100.0, false)), (5, Some(100.0)));
        assert_eq!(repeated(&|at| (if at < 3 { 500.0 } else { 100.0 }, false)), (7, Some(100.0)));
        assert_eq!(repeated(&|at: usize| (100.0 * 1.3_f64.powi(at as i32), false)).0, 25);
    }

    #[test]
    fn what_breaks_rounds_off_is_the_last() {
        assert_eq!(repeated(&|at| (if at == 3 { 4.0 } else { 9.0 }, at == 3)), (3, Some(4.0)));
        let fails = rounds(&mut |_| Err::<(f64, bool), _>("gone"), |mb| BytesPerSec::from_mb(*mb));
        assert_eq!(fails, Err("gone"));
    }

    #[test]
    fn the_last_five_rounds_decide() {
        let rates = |values: &[f64]| values.iter().map(|mb| BytesPerSec::from_mb(*mb)).collect::<Vec<_>>();
        assert!(!is_steady(&rates(&[100.0; 4])));
        assert!(is_steady(&rates(&[500.0, 300.0, 100.0, 101.0, 99.0, 100.0, 100.0])));
        assert!(!is_steady(&rates(&[100.0, 100.0, 100.0, 100.0, 130.0])));
    }
}
