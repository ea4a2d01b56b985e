//! Runs scenarios in rounds: first those that may share the host, then those that need it for themselves, beside them only what
//! takes no time of theirs, then again what showed nothing.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "the rig prints results as they come")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use serde_json::Value;

use super::error::{Result, RigError};
use super::files::Mode;
use super::guest::{Guest, Manner, Ran};
use super::image::Base;
use super::queue::{self, Next, Queue, Times, time_of};
use super::row::Row;
use super::scenario::Scenario;
use super::shape::Shape;
use super::table;

/// What all guests share.
#[derive(Debug)]
pub(crate) struct Rig {
    pub(crate) target: PathBuf,
    pub(crate) base: Base,
    mode: Mode,
    /// Where guests have their files, apart from those of another run that is under way.
    guests: PathBuf,
    times: Times,
    boots: AtomicUsize,
}

impl Drop for Rig {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.guests));
    }
}

/// Scenarios that run in one round, and how.
#[derive(Debug)]
pub(crate) struct Crew<'a> {
    /// Which.
    pub(crate) scenarios: Vec<&'a Scenario>,
    /// So many at a time.
    pub(crate) workers: usize,
    /// How much of the host they may have.
    pub(crate) manner: Manner,
}

impl<'a> Crew<'a> {
    /// Who runs when. Where guest time counts instructions, it does not matter how much of the host a guest has: such scenarios
    /// take what those leave over that need the host for themselves.
    pub(crate) fn rounds(scenarios: &[&'a Scenario], jobs: usize) -> Vec<Vec<Self>> {
        let (alone, mut others): (Vec<_>, Vec<_>) = scenarios.iter().partition(|scenario| scenario.alone);
        let mut second = vec![Self { scenarios: alone, workers: 1, manner: Manner::Usual }];
        if jobs > 1 && !second.iter().all(|crew| crew.scenarios.is_empty()) {
            let counted = |scenario: &&Scenario| scenario.machine.instruction_shift.is_some();
            let (patient, rest) = others.into_iter().partition(counted);
            others = rest;
            second.push(Self { scenarios: patient, workers: LEFT_OVER, manner: Manner::LeftOver });
        }
        vec![vec![Self { scenarios: others, workers: jobs, manner: Manner::Usual }], second]
    }
}

/// Where a guest runs.
#[derive(Debug, Clone, Copy)]
struct Seat {
    worker: usize,
    manner: Manner,
}

/// So many guests share what is left over.
const LEFT_OVER: usize = 2;

/// How far a run is.
#[derive(Debug)]
struct Progress<'a> {
    all: usize,
    done: &'a AtomicUsize,
    /// The work of later rounds, in seconds.
    later: f64,
}

/// So many failures are run once more; where there are others, something is wrong with all.
const DIAGNOSED: usize = 5;

impl Rig {
    /// One that keeps its files in a directory.
    pub(crate) fn new(target: PathBuf, base: Base, mode: Mode) -> Self {
        let times = times(&target);
        let guests = target.join("guests").join(std::process::id().to_string());
        Self { target, base, mode, guests, times, boots: AtomicUsize::new(0) }
    }

    /// Runs scenarios, `jobs` at a time, and prints their rows as they come.
    pub(crate) fn run_all(&self, scenarios: &[&Scenario], jobs: usize) -> Result<Vec<Row>> {
        let began = Instant::now();
        table::head();
        let rounds = Crew::rounds(scenarios, jobs);
        let done = AtomicUsize::new(0);
        let mut rows = Vec::new();
        for (number, round) in rounds.iter().enumerate() {
            let later = rounds.iter().skip(number + 1).map(|round| self.time_of(round)).sum();
            rows.extend(self.round(round, &Progress { all: scenarios.len(), done: &done, later }));
        }
        let is_lost = |one: &&&Scenario| rows.iter().all(|row| row.scenario != one.name);
        let lost: Vec<Row> = scenarios.iter().filter(is_lost).map(|one| Row::lost(one)).collect();
        rows.extend(lost);
        self.run_again(scenarios, &mut rows);
        println!(
            "\n{} scenarios in {:.0} s; guests booted: {}",
            scenarios.len(),
            began.elapsed().as_secs_f64(),
            self.boots.load(Ordering::Relaxed)
        );
        Ok(rows)
    }

    /// Runs alone, once more, what was inconclusive, which then counts; and failures, to learn whether they fail alone as well.
    fn run_again(&self, scenarios: &[&Scenario], rows: &mut [Row]) {
        let find = |row: &Row| scenarios.iter().find(|scenario| scenario.name == row.scenario).copied();
        let mut diagnosed = 0;
        for row in rows.iter_mut() {
            let Some(scenario) = find(row) else { continue };
            if row.inconclusive.is_some() {
                *row = self.run_alone(scenario, "again");
            } else if row.is_failure() && scenarios.len() > 1 && diagnosed < DIAGNOSED {
                diagnosed += 1;
                row.passes_alone = Some(self.run_alone(scenario, "alone").pass);
            }
        }
    }

    /// Runs a scenario in a guest of its own, while nothing else runs here.
    fn run_alone(&self, scenario: &Scenario, word: &str) -> Row {
        let mut guest = None;
        let seat = Seat { worker: 0, manner: Manner::Usual };
        let row = self.row(&mut guest, &Next { scenario, waiting: Vec::new() }, seat, 2);
        row.print(&format!("{word:>14}"));
        row
    }

    /// Runs the crews of a round beside each other.
    fn round(&self, crews: &[Crew<'_>], progress: &Progress<'_>) -> Vec<Row> {
        let queues: Vec<Queue<'_>> =
            crews.iter().map(|crew| Queue::new(&crew.scenarios, &self.times)).collect();
        let rows = Mutex::new(Vec::new());
        let left = || {
            crews
                .iter()
                .zip(&queues)
                .map(|(crew, queue)| queue.work() / crew.workers as f64)
                .fold(0.0, f64::max)
        };
        let seats = crews.iter().zip(&queues).flat_map(|seat| std::iter::repeat_n(seat, seat.0.workers));
        thread::scope(|scope| {
            for (worker, (crew, queue)) in seats.enumerate() {
                let (rows, left) = (&rows, &left);
                scope.spawn(move || {
                    let seat = Seat { worker, manner: crew.manner };
                    let mut guest: Option<Guest> = None;
                    let mut shape: Option<Shape> = None;
                    // Also a worker whose guest was thrown away stays with its shape.
                    while let Some(next) = queue.next(shape.as_ref()) {
                        shape = Some(Shape::of(next.scenario));
                        let row = self.row(&mut guest, &next, seat, 1);
                        let mut rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
                        row.print(&progress.step(left()));
                        rows.push(row);
                        drop(rows);
                        self.tidy(&mut guest, &next);
                    }
                });
            }
        });
        rows.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// About how long a round takes, in seconds.
    fn time_of(&self, crews: &[Crew<'_>]) -> f64 {
        let of_crew = |crew: &Crew<'_>| {
            crew.scenarios.iter().map(|scenario| time_of(scenario, &self.times)).sum::<f64>()
                / crew.workers as f64
        };
        crews.iter().map(of_crew).fold(0.0, f64::max)
    }

    /// Runs a scenario in the guest that is there, if it fits, or in a new one.
    fn row(&self, guest: &mut Option<Guest>, next: &Next<'_>, seat: Seat, attempt: u32) -> Row {
        let began = Instant::now();
        let scenario = next.scenario;
        let place = self.target.join("run").join(&scenario.name);
        match self.run(guest, next, seat, &place) {
            Ok(Ran::Through(leavings)) => {
                let mut row = Row::judged(scenario, attempt, self.mode, &leavings);
                row.seconds = (began.elapsed().as_secs_f64() * 10.0).round() / 10.0;
                row
            }
            Ok(Ran::Unable(reason)) => Row::unable(scenario, attempt, reason),
            Err(RigError::StoodStill(reason)) if attempt == 1 => {
                *guest = None;
                Row::unable(scenario, attempt, reason)
            }
            Err(error) => {
                *guest = None;
                let console = self.guests.join(seat.worker.to_string()).join("console.log");
                let console = fs::read_to_string(console).unwrap_or_default();
                Row::failed(scenario, attempt, error.to_string(), &console)
            }
        }
    }

    fn run(&self, guest: &mut Option<Guest>, next: &Next<'_>, seat: Seat, place: &Path) -> Result<Ran> {
        let guest = match guest {
            Some(guest) if *guest.shape() == Shape::of(next.scenario) => guest,
            other => {
                // The old one goes first: it has the directory.
                *other = None;
                let mut scenarios = vec![next.scenario];
                scenarios.extend(&next.waiting);
                let directory = self.guests.join(seat.worker.to_string());
                self.boots.fetch_add(1, Ordering::Relaxed);
                other.insert(Guest::boot(&self.base, &scenarios, self.mode, &directory, seat.manner)?)
            }
        };
        guest.run(next.scenario, place, !next.waiting.is_empty())
    }

    /// Gets a guest ready for the next scenario of its shape; one with traces of the last is thrown away, and so is one with nothing to do.
    fn tidy(&self, guest: &mut Option<Guest>, last: &Next<'_>) {
        let Some(running) = guest else { return };
        if last.waiting.is_empty() {
            *guest = None;
            return;
        }
        let left = match running.tidy() {
            Ok(None) => return,
            Ok(Some(left)) => left,
            Err(error) => error.to_string(),
        };
        println!(
            "{:14}  a new guest, as {} has left: {}",
            "",
            last.scenario.name,
            table::beginning(&left, 120)
        );
        *guest = None;
    }
}

impl Progress<'_> {
    /// One more is done; what is left of this round takes so many seconds.
    fn step(&self, left: f64) -> String {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let left = (left + self.later).round() as u64;
        format!("{:>7} {:>6}", format!("{done}/{}", self.all), format!("{}:{:02}", left / 60, left % 60))
    }
}

/// How long scenarios took in the last run; those that were not in it, in the run that the documentation shows.
fn times(target: &Path) -> Times {
    let text = fs::read_to_string(target.join(table::SUMMARY)).unwrap_or_default();
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
    let pair = |row: &Value| Some((row.get("scenario")?.as_str()?.to_owned(), row.get("seconds")?.as_f64()?));
    let mut times = queue::documented(include_str!("../../docs/rig-run.md"));
    times.extend(rows.iter().filter_map(pair).filter(|(_, seconds)| *seconds > 0.0));
    times
}
