//! `narrows bench A --interleave B`: the tests of a preset on two targets by turns, A B B A, until the difference is known.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::args::BenchArgs;
use super::asked::{self, Terms};
use super::runner::{self, Runner};
use super::site::Site;
use super::{Bench, failed};
use crate::cli::signals::end_on_signals;
use crate::cli::{FAILED, FINDINGS, Failure, NOTHING_FOUND, output};
use narrows_base::units::{Bytes, Nanos, human};
use narrows_load::guard::Budget;
use narrows_load::preset::{Preset, Test, Work};
use narrows_load::target::Target as Opened;
use narrows_report::bench::interleave::{
    self, InterleaveReport, SumOfWrites, TurnSettings, TurnsOfTest, add_doubts,
};
use narrows_report::bench::{Context, LeftOut};
use narrows_session::fitting::too_large;
use narrows_session::measure::Command;
use narrows_session::turns::{Pace, by_turns};
use narrows_session::writes::{Wanted, Writes};
use narrows_verdict::compare::Verdict;
use narrows_verdict::compare::interleaved::Side;

/// Measures both targets and shows what came of it.
///
/// # Errors
/// [`Failure`] when one of them does not exist or cannot be tested as asked, before anything is written to either.
pub(super) fn run(args: &BenchArgs, other: &str) -> Result<u8, Failure> {
    let preset = asked::chosen(args, None)?;
    let common = &args.common;
    let pace = Pace::new(common.precision, common.warm_up, [common.duration, args.rest, common.max_time]);
    let terms = || Ok::<_, Failure>(Terms { timing: pace.timing, ..Terms::of(args, None, preset.stop)? });
    let terms: [Terms; 2] = [terms()?, Terms { typed: other.to_owned(), ..terms()? }];
    let site = |at: usize| Site::of(args, &terms[at], &preset, None);
    let sites = [site(0)?, site(1)?];
    let (tests, left_out) = chosen(&preset, &terms, &sites);
    let works = Pace::works(&tests);
    let plan = |at: usize| plan(args, (&preset, &terms[at], &sites[at]), &works);
    let writes = [plan(0)?, plan(1)?];
    announce((&terms, &sites), &writes, tests.len(), &pace);
    let stop = end_on_signals()?;
    let runner = |at: usize, writes| {
        let stop = Arc::clone(&stop);
        runner::stopped_by(Command::Bench, &sites[at].scene, writes, stop)
    };
    let [of_a, of_b] = writes;
    let runners = [runner(0, of_a), runner(1, of_b)];
    let open = |at: usize| sites[at].open(&terms[at], &preset, &runners[at]);
    let targets = [open(0)?, open(1)?];
    let benches = [0, 1].map(|at| bench((&preset, &terms[at], &sites[at]), &runners[at], &targets[at]));
    let views = benches.each_ref().map(Bench::view);
    let mut report = interleave::report(&sites[0].scene.machine, views, &preset, TurnSettings::of(&pace));
    report.left_out = left_out;
    let failed = Duel { benches: &benches, pace: &pace, stop: &stop }.all(&tests, &mut report);
    output::report(&report, &common.output, interleave::document)?;
    match failed {
        Some(failure) => Err(failure),
        None if !report.complete => Ok(FAILED),
        None if report.results.iter().any(|result| !result.doubts.is_empty()) => Ok(FINDINGS),
        None => Ok(NOTHING_FOUND),
    }
}

fn bench<'a>(
    (preset, terms, site): (&'a Preset, &'a Terms, &'a Site),
    runner: &'a Runner<'a>,
    target: &'a Opened,
) -> Bench<'a> {
    let context = Context::new(&site.scene.subject, preset.peer);
    Bench { preset, terms, site, runner, target, context, latency_target: None }
}

/// Plans what may be written to one of both: half of what is allowed.
fn plan(
    args: &BenchArgs,
    (preset, terms, site): (&Preset, &Terms, &Site),
    works: &[Work],
) -> Result<Option<Writes>, Failure> {
    if site.fitting.place.filled().is_none() {
        return Ok(None);
    }
    let asked = args.common.writing.max_writes.map(|both| Bytes::new(both.get() / 2));
    let wanted = site.wanted(args, terms, preset, works);
    Ok(Some(Writes::of(&Wanted { asked, is_patient: true, ..wanted })?))
}

/// The tests that can be run on both, and why the others are not.
fn chosen<'a>(preset: &'a Preset, terms: &[Terms; 2], sites: &[Site; 2]) -> (Vec<&'a Test>, Vec<LeftOut>) {
    let (mut tests, mut left_out) = (Vec::new(), Vec::new());
    for test in &preset.tests {
        let scan = matches!(test.work, Work::Scan(_))
            .then(|| "samples by position are of one target: run `narrows bench` on each".to_owned());
        let obstacle = |(terms, site): (&Terms, &Site)| {
            Some(format!("{}: {}", terms.typed, site.fitting.obstacle(test)?))
        };
        match scan.or_else(|| terms.iter().zip(sites).find_map(obstacle)) {
            Some(reason) => left_out.push(LeftOut { name: test.name.clone(), reason }),
            None => tests.push(test),
        }
    }
    (tests, left_out)
}

/// Says what is going to be written, and how long all takes.
fn announce(
    (terms, sites): (&[Terms; 2], &[Site; 2]),
    writes: &[Option<Writes>; 2],
    tests: usize,
    pace: &Pace,
) {
    let mut all = Bytes::new(0);
    for ((terms, site), writes) in terms.iter().zip(sites).zip(writes) {
        if let Some((writes, what)) = writes.as_ref().zip(site.fitting.place.filled()) {
            all = all + writes.budget().limit();
            output::note(&format!("{}: {}", terms.typed, writes.announcement(&what)));
        }
    }
    if writes.iter().all(Option::is_some) {
        output::note(&format!("both together write at most {}", human::bytes(all)));
    }
    let [least, most] = pace.span();
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
            let size = |bench: &Bench<'_>| bench.target.region().length;
            if let Some(reason) = self.benches.iter().find_map(|bench| too_large(test, size(bench))) {
                report.left_out.push(LeftOut { name: test.name.clone(), reason });
                continue;
            }
            let (result, failure) = self.one(test, (index, tests.len()));
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

    /// The turns of one test, the `index`th of `all`.
    fn one(&self, test: &Test, (index, all): (usize, usize)) -> (TurnsOfTest, Option<Failure>) {
        let (mut doubts, mut failed) = (Vec::new(), None);
        let turn = &mut |side, number| {
            let bench = &self.benches[usize::from(side == Side::B)];
            let name = format!("{}, turn {number}", test.name);
            bench.runner.progress.test(index, all, &name);
            let result = bench.one(test);
            if self.is_stopped() {
                return Err("interrupted".to_owned());
            }
            add_doubts(&mut doubts, side, &result);
            if let Some(view) = &result.failed {
                failed = Some(failed::failure(&name, view));
                return Err(format!("failed: {}", view.summary));
            }
            result.rate().ok_or_else(|| format!("nothing was moved in turn {number}"))
        };
        let taken = by_turns(&self.benches[0].runner.session, self.pace, turn);
        (TurnsOfTest::new(&test.name, taken, doubts), failed)
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
