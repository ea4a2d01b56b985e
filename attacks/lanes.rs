//! The rounds of one attack, several at a time: each lane has a ground, devices and checks of its own. A round waits more than
//! it works, above all for the second in which narrows looks at a device's counters.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use super::attack::{Judge, Result, Stop};
use super::ground::Ground;
use super::random::Random;

/// So many rounds at a time.
const LANES: u64 = 8;
/// In a quick run, beside the other tests.
const QUICK: u64 = 2;

/// How often an attack is tried.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounds {
    /// So many rounds must count.
    pub(crate) wanted: u64,
    /// No more are begun, whether they count or not.
    pub(crate) most: u64,
}

impl Rounds {
    /// Each round counts.
    pub(crate) const fn all(count: u64) -> Self {
        Self { wanted: count, most: count }
    }
}

/// What all lanes have in common.
#[derive(Debug)]
struct Common {
    rounds: Rounds,
    begun: AtomicU64,
    counted: AtomicU64,
    /// Something broke: no further round is begun.
    is_over: AtomicBool,
}

/// One lane.
#[derive(Debug)]
pub(crate) struct Lane<'a> {
    name: &'a str,
    common: &'a Common,
    /// Where it makes its devices and files.
    pub(crate) ground: Ground,
    /// Its checks.
    pub(crate) judge: Judge,
}

impl Lane<'_> {
    /// The next round and its chance, which is the same in whichever lane it runs; `None` when there were enough.
    pub(crate) fn next(&mut self) -> Option<(u64, Random)> {
        let common = self.common;
        if !self.judge.is_content() {
            common.is_over.store(true, Ordering::Relaxed);
        }
        if common.is_over.load(Ordering::Relaxed)
            || common.counted.load(Ordering::Relaxed) >= common.rounds.wanted
        {
            return None;
        }
        let round = common.begun.fetch_add(1, Ordering::Relaxed);
        let random = self.ground.random(&format!("{}, round {round}", self.name));
        (round < common.rounds.most).then_some((round, random))
    }

    /// The round that was begun last counts.
    pub(crate) fn count(&self) {
        self.common.counted.fetch_add(1, Ordering::Relaxed);
    }
}

/// Runs rounds in several lanes, each of which is the whole body of a thread: it asks for [rounds](Lane::next) until there are
/// no more. The answer is how many counted.
pub(crate) fn side_by_side(
    ground: &Ground,
    judge: &mut Judge,
    name: &str,
    rounds: Rounds,
    body: impl Fn(&mut Lane<'_>) -> Result<()> + Sync,
) -> Result<u64> {
    let (begun, counted, is_over) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let common = Common { rounds, begun, counted, is_over };
    let run = |number: u64| -> (Judge, Result<()>) {
        let ground = match ground.part(&format!("lane-{number}")) {
            Ok(ground) => ground,
            Err(error) => return (Judge::default(), Err(error.into())),
        };
        let mut lane = Lane { name, common: &common, ground, judge: Judge::default() };
        let ended = body(&mut lane);
        lane.ground.end_processes();
        if ended.is_err() {
            common.is_over.store(true, Ordering::Relaxed);
        }
        (lane.judge, ended)
    };
    let lanes = if ground.quick { QUICK } else { LANES };
    let ended: Vec<(Judge, Result<()>)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..lanes)
            .map(|number| {
                scope.spawn({
                    let run = &run;
                    move || run(number)
                })
            })
            .collect();
        let panicked = |_| (Judge::default(), Err(Stop::Broken("a lane of the attack panicked".to_owned())));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
    });
    let mut whole = Ok(());
    for (checks, result) in ended {
        judge.add(checks);
        // What broke counts more than what could not be run.
        match result {
            Err(stop) if whole.is_ok() || matches!(stop, Stop::Broken(_)) => whole = Err(stop),
            _ => {}
        }
    }
    whole.map(|()| common.counted.load(Ordering::Relaxed))
}
