//! `narrows bench A --interleave B`: the tests of a preset on two targets by turns, A B B A, until the difference is known.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::args::{BenchArgs, Common};
use super::fitting::{Fitting, too_large};
use super::place;
use super::runner::{self, Runner};
use super::{Bench, asked};
use crate::cli::signals::stop_on_signals;
use crate::cli::{FAILED, FINDINGS, Failure, NOTHING_FOUND, output, scene};
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_load::guard::Budget;
use narrows_load::preset::{Preset, StopRule, Test, Work};
use narrows_load::target::Target as Opened;
use narrows_report::bench::hlog::Hlog;
use narrows_report::bench::interleave::{self, InterleaveReport, SumOfWrites, TurnSettings, TurnsOfTest};
use narrows_report::bench::{Context, Engine, LeftOut, TargetKind, TargetView, TestResult};
use narrows_session::measure::{Command, Timing};
use narrows_session::place::Place;
use narrows_session::runner::Filling;
use narrows_session::scene::Scene;
use narrows_session::trims::Discards;
use narrows_session::writes::{Wanted, Writes};
use narrows_verdict::Code;
use narrows_verdict::compare::Verdict;
use narrows_verdict::compare::interleaved::{Interleaved, LEAST_ROUNDS, ROUND, Side, Turn, interleaved};

/// How long a turn is measured, unless --duration says so.
const TURN: Duration = Duration::from_secs(2);
/// How long both are left alone after each turn, unless --rest says so: caches of drives write on for a moment.
const REST: Duration = Duration::from_millis(500);
/// How often a rest looks for signals.
const LOOK: Duration = Duration::from_millis(50);
/// Rounds of a test at most; what may be written is planned for so many.
const MOST_ROUNDS: usize = 8;
/// The longest that a test takes, unless --max-time says so.
const LONGEST: Duration = Duration::from_secs(180);

/// Measures both targets and shows what came of it.
///
/// # Errors
/// [`Failure`] when one of them does not exist or cannot be tested as asked, before anything is written to either.
pub(super) fn run(args: &BenchArgs, other: &str) -> Result<u8, Failure> {
    let preset = asked::chosen(args, None)?;
    let pace = Pace::of(args);
    let sites = [Site::of(args, &preset, &asked::typed(args, None)?)?, Site::of(args, &preset, other)?];
    let (tests, left_out) = chosen(&preset, &sites);
    let plan = |site: &Site| site.plan(&args.common, &preset, &tests, &pace.timing);
    let writes = [plan(&sites[0])?, plan(&sites[1])?];
    announce(&sites, &writes, tests.len(), &pace);
    let stop = stop_on_signals()?;
    let runner = |at: usize, writes| {
        let (scene, node) = (&sites[at].scene, args.common.cpu_node);
        runner::stopped_by(Command::Bench, scene, node, writes, Arc::clone(&stop)).polling(args.common.poll)
    };
    let [of_a, of_b] = writes;
    let runners = [runner(0, of_a), runner(1, of_b)];
    let open = |at: usize| sites[at].open(&preset, &args.common, &runners[at]);
    let targets = [open(0)?, open(1)?];
    let benches = [0, 1].map(|at| bench(args, &preset, &pace, (&sites[at], &runners[at], &targets[at])));
    let mut report = empty(&benches, &sites, &pace);
    report.left_out = left_out;
    let failed = Duel { benches: &benches, pace: &pace, stop: &stop }.all(&tests, &mut report);
    output::report(&report, &args.common.output, interleave::document)?;
    match failed {
        Some(failure) => Err(failure),
        None if !report.complete => Ok(FAILED),
        None if report.results.iter().any(|result| !result.doubts.is_empty()) => Ok(FINDINGS),
        None => Ok(NOTHING_FOUND),
    }
}

/// How turns are taken, and when a test ends.
struct Pace {
    timing: Timing,
    rest: Duration,
    precision: f64,
    most: Duration,
}

impl Pace {
    fn of(args: &BenchArgs) -> Self {
        Self {
            timing: Timing::exactly(args.common.duration.unwrap_or(TURN), args.common.warm_up),
            rest: args.rest.unwrap_or(REST),
            precision: args.common.precision,
            most: args.common.max_time.unwrap_or(LONGEST),
        }
    }

    /// How long `rounds` take, but for what comes around each turn.
    fn rounds(&self, rounds: usize) -> Duration {
        (self.timing.longest() + self.timing.warm_up + self.rest) * (rounds * ROUND.len()) as u32
    }

    fn view(&self) -> TurnSettings {
        TurnSettings {
            turn_ns: self.timing.longest().into(),
            warm_up_ns: self.timing.warm_up.into(),
            rest_ns: self.rest.into(),
            precision: self.precision,
            max_time_ns: self.most.into(),
        }
    }
}

fn bench<'a>(
    args: &BenchArgs,
    preset: &'a Preset,
    pace: &Pace,
    (site, runner, target): (&'a Site, &'a Runner<'a>, &'a Opened),
) -> Bench<'a> {
    Bench {
        engine: Engine::Narrows,
        poll: args.common.poll,
        batch: args.common.batch,
        preset,
        scene: &site.scene,
        runner,
        place: &site.place,
        target,
        fitting: site.fitting,
        timing: pace.timing,
        node: args.common.cpu_node,
        context: Context::new(&site.scene.subject, preset.peer),
        latency_target: None,
    }
}

/// A report without results.
fn empty(benches: &[Bench<'_>; 2], sites: &[Site; 2], pace: &Pace) -> InterleaveReport {
    let views = [0, 1].map(|at| TargetView {
        name: sites[at].typed.clone(),
        kind: TargetKind::from(&sites[at].place),
        size_bytes: benches[at].target.region().length,
    });
    interleave::report(&sites[0].scene.machine, views, benches[0].preset, pace.view())
}

/// What is known of a target before it is opened.
struct Site {
    typed: String,
    scene: Scene,
    place: Place,
    fitting: Fitting,
}

impl Site {
    fn of(args: &BenchArgs, preset: &Preset, typed: &str) -> Result<Self, Failure> {
        let scene = scene::read(typed, args.common.cpu_node)?;
        let place = place::of(&scene.subject.path, &args.common, args.common.read_only)?;
        place::check_way(&place, &scene, typed)?;
        let loads: Vec<_> = preset.loads().collect();
        let discards = Discards::of(&scene, &place, &loads)?;
        let fitting = Fitting { kind: TargetKind::from(&place), engine: Engine::Narrows, discards };
        Ok(Self { typed: typed.to_owned(), scene, place, fitting })
    }

    /// Plans what may be written: half of what is allowed for both, for each of the turns at most.
    fn plan(
        &self,
        common: &Common,
        preset: &Preset,
        tests: &[&Test],
        timing: &Timing,
    ) -> Result<Option<Writes>, Failure> {
        if self.place.filled().is_none() {
            return Ok(None);
        }
        let turns = MOST_ROUNDS * ROUND.len() / 2;
        let works: Vec<Work> =
            tests.iter().flat_map(|test| std::iter::repeat_n(test.work.clone(), turns)).collect();
        let writes = Writes::of(&Wanted {
            asked: common.writing.max_writes.map(|both| Bytes::new(both.get() / 2)),
            kept: None,
            size: (common.size.unwrap_or(preset.size), common.size.is_some()),
            is_device: false,
            works: &works,
            timing,
            again: 0,
            is_patient: true,
            path: Some((&self.scene.subject.path, &self.scene.root)),
            ceiling: None,
        });
        Ok(Some(writes?))
    }

    fn open(&self, preset: &Preset, common: &Common, runner: &Runner<'_>) -> Result<Opened, Failure> {
        let compressible = preset.loads().map(|load| load.compressible_percent).max().unwrap_or(0);
        let is_asked = common.size.is_some() || preset.stop != StopRule::Precision;
        let filling = if is_asked { Filling::Whole } else { Filling::Quick };
        let size = runner.writes().map_or(preset.size, Writes::size);
        place::open(&self.place, size, filling, compressible, runner)
    }
}

/// The tests that can be run on both, and why the others are not.
fn chosen<'a>(preset: &'a Preset, sites: &[Site; 2]) -> (Vec<&'a Test>, Vec<LeftOut>) {
    let (mut tests, mut left_out) = (Vec::new(), Vec::new());
    for test in &preset.tests {
        let scan = matches!(test.work, Work::Scan(_))
            .then(|| "samples by position are of one target: run `narrows bench` on each".to_owned());
        let obstacle = |site: &Site| Some(format!("{}: {}", site.typed, site.fitting.obstacle(test)?));
        match scan.or_else(|| sites.iter().find_map(obstacle)) {
            Some(reason) => left_out.push(LeftOut { name: test.name.clone(), reason }),
            None => tests.push(test),
        }
    }
    (tests, left_out)
}

/// Says what is going to be written, and how long all takes.
fn announce(sites: &[Site; 2], writes: &[Option<Writes>; 2], tests: usize, pace: &Pace) {
    let mut all = Bytes::new(0);
    for (site, writes) in sites.iter().zip(writes) {
        if let Some((writes, what)) = writes.as_ref().zip(site.place.filled()) {
            all = all + writes.budget().limit();
            output::note(&format!("{}: {}", site.typed, writes.announcement(&what)));
        }
    }
    if writes.iter().all(Option::is_some) {
        output::note(&format!("both together write at most {}", human::bytes(all)));
    }
    let most = pace.most.min(pace.rounds(MOST_ROUNDS));
    let least = pace.rounds(LEAST_ROUNDS).min(most);
    let [rest, least, most] = [pace.rest, least, most].map(|time| human::time(Nanos::from(time)));
    output::note(&format!(
        "takes turns, A B B A, with a rest of {rest}: about {least} to {most} for each of {tests} tests"
    ));
}

/// Both targets, ready.
struct Duel<'a> {
    benches: &'a [Bench<'a>; 2],
    pace: &'a Pace,
    stop: &'a AtomicBool,
}

impl Duel<'_> {
    /// Runs every test; what ended that early is beside the report.
    fn all(&self, tests: &[&Test], report: &mut InterleaveReport) -> Option<Failure> {
        let mut failed = None;
        for (index, test) in tests.iter().enumerate() {
            if self.is_stopped() || failed.is_some() {
                break;
            }
            if let Some(reason) = self.benches.iter().find_map(|bench| too_large(test, bench.target)) {
                report.left_out.push(LeftOut { name: test.name.clone(), reason });
                continue;
            }
            let (result, failure) = self.one(test, index, tests.len());
            report.results.push(result);
            failed = failure;
        }
        let is_told = |test: &&&Test| {
            let of = |result: &&TurnsOfTest| result.name == test.name;
            let is_left_out = report.left_out.iter().any(|left| left.name == test.name);
            let found = report.results.iter().find(of).map(|result| result.found.verdict);
            is_left_out || found.is_some_and(|verdict| verdict != Verdict::NotComparable)
        };
        let rest = tests.iter().filter(|test| !is_told(test)).count();
        let why = if self.is_stopped() { "interrupted" } else { "not all turns could be taken" };
        report.complete = rest == 0 && failed.is_none();
        report.reason = (!report.complete).then(|| format!("{why}; {rest} tests tell nothing"));
        report.writes = self.writes();
        failed
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The turns of one test.
    fn one(&self, test: &Test, index: usize, all: usize) -> (TurnsOfTest, Option<Failure>) {
        let begin = Instant::now();
        let (mut turns, mut doubts): (Vec<Turn>, Vec<String>) = (Vec::new(), Vec::new());
        let mut failed = None;
        let ended = 'rounds: loop {
            for side in ROUND {
                let bench = &self.benches[usize::from(side == Side::B)];
                let name = format!("{}, turn {}", test.name, turns.len() + 1);
                bench.runner.progress.test(index, all, &name);
                let result = bench.one(test, &mut Hlog::new(SystemTime::now()));
                if self.is_stopped() {
                    break 'rounds "interrupted".to_owned();
                }
                note(&mut doubts, side, &result);
                if let Some(failure) = &result.failed {
                    let what = format!("{} failed: {} ({})", name, failure.summary, failure.detail);
                    failed = Some(Failure::new(what).hint(&failure.hint));
                    break 'rounds format!("failed: {}", failure.summary);
                }
                let Some(rate) = rate(&result) else {
                    break 'rounds format!("nothing was moved in turn {}", turns.len() + 1);
                };
                turns.push(Turn { side, bytes_per_second: rate });
                self.rest();
            }
            if let Some(ended) = self.ended(&interleaved(&turns), begin.elapsed()) {
                break ended;
            }
        };
        let found = interleaved(&turns);
        (TurnsOfTest::new(&test.name, turns, found, ended, doubts), failed)
    }

    /// Why no further round is made, after a whole one.
    fn ended(&self, found: &Interleaved, taken: Duration) -> Option<String> {
        let half = found.change.map(|change| change.half());
        let round = taken.div_f64(found.rounds.max(1) as f64);
        let reached = |half: f64| format!("the difference is known to ± {}", human::percent(half));
        match half {
            Some(half) if half <= self.pace.precision => Some(reached(half)),
            _ if found.rounds >= MOST_ROUNDS => Some(format!("{MOST_ROUNDS} rounds were made")),
            _ if taken + round > self.pace.most => {
                Some(format!("another round takes more than {}", human::time(self.pace.most.into())))
            }
            _ => None,
        }
    }

    fn rest(&self) {
        let begin = Instant::now();
        while begin.elapsed() < self.pace.rest && !self.is_stopped() {
            thread::sleep(LOOK.min(self.pace.rest));
        }
    }

    fn writes(&self) -> Option<SumOfWrites> {
        let budgets = self.benches.each_ref().map(|bench| bench.runner.writes().map(Writes::budget));
        let sum = |of: fn(&Budget) -> Bytes| {
            budgets.iter().flatten().map(|budget| of(budget)).fold(Bytes::new(0), |sum, bytes| sum + bytes)
        };
        budgets
            .iter()
            .any(Option::is_some)
            .then(|| SumOfWrites { limit_bytes: sum(Budget::limit), written_bytes: sum(Budget::spent) })
    }
}

/// What a turn moved; `None` where nothing was measured.
fn rate(result: &TestResult) -> Option<BytesPerSec> {
    let sides = [&result.read, &result.write, &result.trim];
    let rate: BytesPerSec = sides.into_iter().flatten().map(|side| side.bytes_per_second).sum();
    (rate.get() > 0.0 && result.elapsed_ns.get() > 0).then_some(rate)
}

/// Keeps what the verdict doubts of a turn, each once for each target.
fn note(doubts: &mut Vec<String>, side: Side, result: &TestResult) {
    if result.trusted != Some(false) {
        return;
    }
    let name = if side == Side::A { "A" } else { "B" };
    // How short a turn is does not matter: the spread of the rounds tells how well the difference is known.
    for finding in result.findings.iter().filter(|finding| finding.code != Code::TooShort) {
        let code = finding.code.as_str();
        let doubt = format!("{name}: {code}: {}", finding.summary);
        if !doubts.iter().any(|known| known.starts_with(&format!("{name}: {code}"))) {
            doubts.push(doubt);
        }
    }
}
