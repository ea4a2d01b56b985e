//! Two targets that were measured by turns: A, B, B, A. What drifts evenly (a drive that fills, a machine that warms up) is in both alike
//! and cancels out within four turns, whichever direction it takes.

use serde::{Deserialize, Serialize};

use super::Verdict;
use narrows_base::units::BytesPerSec;
use narrows_load::stats::student_t;

/// Turns of one round, by target: A, B, B, A.
pub const ROUND: [Side; 4] = [Side::A, Side::B, Side::B, Side::A];
/// Fewer rounds tell no interval that is worth the name: Student's t for two degrees of freedom is 4.3.
pub const LEAST_ROUNDS: usize = 4;
/// How sure the intervals are.
const CONFIDENCE: f64 = 0.95;
/// A drift of less than this over the whole run is not worth a word.
const LEAST_DRIFT: f64 = 0.02;

/// One of the two targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

/// What one turn gave.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Turn {
    /// Whose turn it was.
    pub side: Side,
    /// The mean rate, reads and writes together.
    pub bytes_per_second: BytesPerSec,
}

/// A relative change with its 95 % interval: 0.1 is 10 % more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RelativeChange {
    /// The estimate.
    pub part: f64,
    /// The interval.
    pub ci95: [f64; 2],
}

impl RelativeChange {
    /// Of logarithms that are independent of each other and distributed normally; `None` for fewer than two.
    fn of(logarithms: &[f64]) -> Option<Self> {
        let count = logarithms.len() as f64;
        if logarithms.len() < 2 {
            return None;
        }
        let mean = logarithms.iter().sum::<f64>() / count;
        let squares: f64 = logarithms.iter().map(|one| (one - mean).powi(2)).sum();
        Some(Self::around(mean, (squares / (count - 1.0) / count).sqrt(), count - 1.0))
    }

    fn around(mean: f64, error: f64, freedom: f64) -> Self {
        let half = student_t(CONFIDENCE, freedom) * error;
        Self { part: mean.exp_m1(), ci95: [(mean - half).exp_m1(), (mean + half).exp_m1()] }
    }

    /// Half the width of the interval.
    pub fn half(&self) -> f64 {
        (self.ci95[1] - self.ci95[0]) / 2.0
    }

    /// Whether the interval leaves out zero.
    pub fn is_told(&self) -> bool {
        self.ci95[0] > 0.0 || self.ci95[1] < 0.0
    }
}

/// What the turns say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interleaved {
    /// B against A.
    pub verdict: Verdict,
    /// By how much B differs from A, from the whole rounds; `null` where there are too few.
    pub change: Option<RelativeChange>,
    /// How both changed together from the first turn to the last, where that is told from noise and worth a word. The rounds
    /// cancel it out as far as it is even.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<RelativeChange>,
    /// How many whole rounds of four turns there were.
    pub rounds: usize,
    /// Why nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Judges turns that were taken in the order of [`ROUND`], over and over. A round that is not whole is left out.
pub fn interleaved(turns: &[Turn]) -> Interleaved {
    let whole: Vec<&[Turn]> = turns.chunks_exact(ROUND.len()).collect();
    let rounds = whole.len();
    let nothing = |why: String| Interleaved {
        verdict: Verdict::NotComparable,
        change: None,
        drift: None,
        rounds,
        reason: Some(why),
    };
    if turns.iter().any(|turn| turn.bytes_per_second.get() <= 0.0) {
        return nothing("nothing was moved in one of the turns".to_owned());
    }
    if rounds < LEAST_ROUNDS {
        return nothing(format!("{rounds} whole rounds of four turns; {LEAST_ROUNDS} are needed"));
    }
    let ratios: Vec<f64> = whole.iter().map(|round| log_ratio(round)).collect();
    let Some(change) = RelativeChange::of(&ratios) else { return nothing("too few rounds".to_owned()) };
    let verdict = match change.is_told() {
        false => Verdict::NotDistinguishable,
        true if change.part > 0.0 => Verdict::Faster,
        true => Verdict::Slower,
    };
    Interleaved { verdict, change: Some(change), drift: drift(&whole.concat()), rounds, reason: None }
}

/// The logarithm of what B gave as a part of what A gave, each twice.
fn log_ratio(round: &[Turn]) -> f64 {
    let sign = |turn: &Turn| if turn.side == Side::B { 0.5 } else { -0.5 };
    round.iter().map(|turn| sign(turn) * turn.bytes_per_second.get().ln()).sum()
}

/// The straight line through the logarithms, each less the mean of its target, by least squares (Draper and Smith, "Applied Regression
/// Analysis", 3rd ed., section 1.4).
fn drift(turns: &[Turn]) -> Option<RelativeChange> {
    let mean_of = |side: Side| {
        let of: Vec<f64> = turns
            .iter()
            .filter(|turn| turn.side == side)
            .map(|turn| turn.bytes_per_second.get().ln())
            .collect();
        of.iter().sum::<f64>() / of.len().max(1) as f64
    };
    let (a, b) = (mean_of(Side::A), mean_of(Side::B));
    let rest = |turn: &Turn| turn.bytes_per_second.get().ln() - if turn.side == Side::A { a } else { b };
    let middle = (turns.len() as f64 - 1.0) / 2.0;
    let points: Vec<(f64, f64)> =
        turns.iter().enumerate().map(|(at, turn)| (at as f64 - middle, rest(turn))).collect();
    let spread: f64 = points.iter().map(|(x, _)| x * x).sum();
    let slope = points.iter().map(|(x, y)| x * y).sum::<f64>() / spread;
    let left: f64 = points.iter().map(|(x, y)| (y - slope * x).powi(2)).sum();
    // Two means and a slope were fitted.
    let freedom = turns.len() as f64 - 3.0;
    let error = (left / freedom / spread).sqrt();
    let long = 2.0 * middle;
    let change = RelativeChange::around(slope * long, error * long, freedom);
    (change.is_told() && change.part.abs() >= LEAST_DRIFT).then_some(change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn turns(rounds: usize, rate: impl Fn(usize, Side) -> f64) -> Vec<Turn> {
        let sides = ROUND.iter().cycle().take(rounds * ROUND.len()).enumerate();
        sides
            .map(|(at, side)| Turn { side: *side, bytes_per_second: BytesPerSec::from_mb(rate(at, *side)) })
            .collect()
    }

    fn by(side: Side, b: f64) -> f64 {
        if side == Side::B { b } else { 100.0 }
    }

    #[test]
    fn an_even_drift_cancels_out_and_is_told() {
        // 15 steps of 1 %, as logarithms.
        let found = interleaved(&turns(4, |at, side| by(side, 110.0) * (0.01 * at as f64).exp()));
        let change = found.change.expect("four rounds");
        assert!((change.part - 0.1).abs() < 1e-9 && change.half() < 1e-9, "{change:?}");
        assert_eq!(found.verdict, Verdict::Faster);
        let drift = found.drift.expect("it is even");
        assert!((drift.part - 0.15_f64.exp_m1()).abs() < 1e-9, "{drift:?}");
    }

    #[test]
    fn what_differs_by_no_more_than_noise_is_not_told_apart() {
        let noise = [
            0.03, -0.02, 0.01, -0.03, 0.02, 0.03, -0.01, 0.0, -0.02, 0.02, -0.03, 0.01, 0.02, -0.01, 0.03,
            -0.02,
        ];
        let found = interleaved(&turns(4, |at, side| by(side, 100.5) * (1.0 + noise[at])));
        assert_eq!(found.verdict, Verdict::NotDistinguishable, "{found:?}");
        assert!(found.drift.is_none());
    }

    #[test]
    fn the_interval_of_a_worked_example() {
        // Ratios with mean 0.10 and standard error 0.025820 / 2; t(3) = 3.1824: 0.05892 to 0.14108. `student_t` is within 1 % there.
        let ratio = [0.07, 0.09, 0.11, 0.13];
        let found = interleaved(&turns(4, |at, side| {
            100.0 * if side == Side::B { f64::exp(ratio[at / 4]) } else { 1.0 }
        }));
        let change = found.change.expect("four rounds");
        assert!((change.part - 0.10_f64.exp_m1()).abs() < 1e-9);
        assert!((change.ci95[0] - 0.05892_f64.exp_m1()).abs() < 6e-4, "{change:?}");
        assert!((change.ci95[1] - 0.14108_f64.exp_m1()).abs() < 6e-4, "{change:?}");
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(interleaved(&[]).verdict, Verdict::NotComparable);
        let three = interleaved(&turns(3, |_, side| by(side, 110.0)));
        assert_eq!((three.verdict, three.rounds), (Verdict::NotComparable, 3));
        let still = interleaved(&turns(4, |_, side| by(side, 0.0)));
        assert!(still.reason.is_some_and(|why| why.contains("nothing was moved")));
    }

    proptest! {
        #[test]
        fn a_change_does_not_depend_on_the_unit(scale in 0.001_f64..1e6, b in 50.0_f64..200.0) {
            let rates = |scale: f64| interleaved(&turns(4, |at, side| scale * by(side, b) * (1.0 + 0.01 * (at % 3) as f64)));
            let (one, other) = (rates(1.0).change.expect("four rounds"), rates(scale).change.expect("four rounds"));
            prop_assert!((one.part - other.part).abs() < 1e-6);
            prop_assert!(one.ci95[0] <= one.part && one.part <= one.ci95[1]);
        }
    }
}
