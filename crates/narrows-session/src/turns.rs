//! Two targets by turns, A B B A, until their difference is known.

use std::time::{Duration, Instant};

use crate::measure::{Engine, Session, Timing, Witness};
use narrows_base::units::{BytesPerSec, Nanos, human};
use narrows_load::preset::{Test, Work};
use narrows_verdict::compare::interleaved::{Interleaved, LEAST_ROUNDS, ROUND, Side, Turn, interleaved};

/// How long a turn is measured, unless another time is asked for.
const TURN: Duration = Duration::from_secs(2);
/// How long both are left alone after each turn, unless that is asked for: caches of drives write on for a moment.
const REST: Duration = Duration::from_millis(500);
/// Rounds of a test at most; what may be written is planned for so many.
const MOST_ROUNDS: usize = 8;
/// The longest that a test takes, unless that is asked for.
const LONGEST: Duration = Duration::from_secs(180);

/// How turns are taken, and when a test ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Of each turn.
    pub timing: Timing,
    /// How long both are left alone after each turn.
    pub rest: Duration,
    /// How well the difference must be known.
    pub precision: f64,
    /// The longest that a test takes.
    pub most: Duration,
}

impl Pace {
    /// Until the difference is known to `precision`, each turn after a `warm_up`; as long as it was asked for, where it was.
    pub fn new(precision: f64, warm_up: Duration, [turn, rest, most]: [Option<Duration>; 3]) -> Self {
        let timing = Timing::exactly(turn.unwrap_or(TURN), warm_up);
        Self { timing, rest: rest.unwrap_or(REST), precision, most: most.unwrap_or(LONGEST) }
    }

    /// What is done at most on each of both targets.
    pub fn works(tests: &[&Test]) -> Vec<Work> {
        let turns = MOST_ROUNDS * ROUND.len() / 2;
        tests.iter().flat_map(|test| std::iter::repeat_n(test.work.clone(), turns)).collect()
    }

    /// About how long a test takes, at least and at most.
    pub fn span(&self) -> [Duration; 2] {
        let most = self.most.min(self.rounds(MOST_ROUNDS));
        [self.rounds(LEAST_ROUNDS).min(most), most]
    }

    /// How long `rounds` take, but for what comes around each turn.
    fn rounds(&self, rounds: usize) -> Duration {
        (self.timing.longest() + self.timing.warm_up + self.rest) * (rounds * ROUND.len()) as u32
    }

    /// Why no further round is made, after a whole one.
    fn ended(&self, found: &Interleaved, taken: Duration) -> Option<String> {
        let half = found.change.map(|change| change.half());
        let round = taken.div_f64(found.rounds.max(1) as f64);
        match half {
            Some(half) if half <= self.precision => {
                Some(format!("the difference is known to ± {}", human::percent(half)))
            }
            _ if found.rounds >= MOST_ROUNDS => Some(format!("{MOST_ROUNDS} rounds were made")),
            _ if taken + round > self.most => {
                Some(format!("another round takes more than {}", human::time(Nanos::from(self.most))))
            }
            _ => None,
        }
    }
}

/// The turns of one test.
#[derive(Debug, Clone, PartialEq)]
pub struct Turns {
    /// In order.
    pub turns: Vec<Turn>,
    /// What they say.
    pub found: Interleaved,
    /// Why there are no more.
    pub ended: String,
}

/// Takes turns until the difference is known. `turn` is told whose turn it is and its number from 1 on; it answers what was
/// moved, or why nothing more is.
pub fn by_turns<W: Witness, E: Engine>(
    session: &Session<'_, W, E>,
    pace: &Pace,
    turn: &mut dyn FnMut(Side, usize) -> Result<BytesPerSec, String>,
) -> Turns {
    let (begin, mut turns) = (Instant::now(), Vec::new());
    let ended = 'all: loop {
        for side in ROUND {
            match turn(side, turns.len() + 1) {
                Ok(bytes_per_second) => turns.push(Turn { side, bytes_per_second }),
                Err(why) => break 'all why,
            }
            session.rest(pace.rest, &|_| ());
        }
        if let Some(ended) = pace.ended(&interleaved(&turns), begin.elapsed()) {
            break ended;
        }
    };
    Turns { found: interleaved(&turns), turns, ended }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Command, Kernel, Processors};
    use narrows_load::preset;
    use narrows_machine::root::Root;
    use narrows_machine::tree::Tree;
    use narrows_verdict::compare::Verdict;

    /// Turns in which A moves 100 MB/s and B what `b` says of the number of its turn.
    fn taken(pace: &Pace, b: &dyn Fn(usize) -> Result<f64, String>) -> Turns {
        let root = Root::from_tree(Tree::new());
        let on = (Processors::default(), Vec::new());
        let session =
            Session::begin(Command::Bench, (&root, Kernel), on, std::sync::Arc::default(), Duration::ZERO);
        by_turns(&session, pace, &mut |side, number| match side {
            Side::A => Ok(BytesPerSec::from_mb(100.0)),
            Side::B => b(number).map(BytesPerSec::from_mb),
        })
    }

    fn pace() -> Pace {
        Pace::new(0.02, Duration::ZERO, [None, Some(Duration::ZERO), None])
    }

    #[test]
    fn turns_are_taken_until_the_difference_is_known() {
        let told = taken(&pace(), &|number| Ok(if number % 4 == 2 { 150.0 } else { 151.0 }));
        assert_eq!((told.turns.len(), told.found.verdict), (4 * LEAST_ROUNDS, Verdict::Faster));
        assert!(told.turns.chunks(4).all(|round| round.iter().map(|turn| turn.side).eq(ROUND)));
        assert!(told.ended.starts_with("the difference is known to ± "), "{}", told.ended);
    }

    #[test]
    fn what_is_never_known_ends_with_the_rounds_or_the_time() {
        let wild = |number: usize| Ok(if number % 8 < 4 { 50.0 } else { 200.0 });
        let all = taken(&pace(), &wild);
        assert_eq!((all.turns.len(), all.ended.as_str()), (4 * MOST_ROUNDS, "8 rounds were made"));
        let short = Pace { most: Duration::ZERO, ..pace() };
        let one = taken(&short, &wild);
        assert_eq!((one.turns.len(), one.found.rounds), (4, 1));
        assert!(one.ended.starts_with("another round takes more than "), "{}", one.ended);
    }

    #[test]
    fn a_turn_that_fails_ends_all_and_is_none() {
        let failed =
            taken(&pace(), &|number| if number == 7 { Err("it is gone".to_owned()) } else { Ok(1.0) });
        assert_eq!((failed.turns.len(), failed.found.rounds, failed.ended.as_str()), (6, 1, "it is gone"));
    }

    #[test]
    fn what_all_takes_is_said_before() {
        // Turns of 2 s with 0.5 s of warm-up and of rest: 4 and 8 rounds of four.
        let pace = Pace::new(0.02, Duration::from_millis(500), [None; 3]);
        assert_eq!(pace.span(), [48, 96].map(Duration::from_secs));
        let short = Pace { most: Duration::from_secs(20), ..pace };
        assert_eq!(short.span(), [20, 20].map(Duration::from_secs));
        let peak = preset::by_name("peak").expect("is a preset");
        assert_eq!(Pace::works(&peak.tests.iter().take(2).collect::<Vec<_>>()).len(), 2 * 16);
    }
}
