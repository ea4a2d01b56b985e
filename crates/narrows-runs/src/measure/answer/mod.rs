//! What a measurement tells: at what rate, which hop limits or that it does not tell, and what to do next.

#[cfg(test)]
mod tests;

use super::sweep::{Along, Curve, SweepPoint, along, x};
use super::{MeasureReport, PathCeiling, SideView, TestResult};
use narrows_base::lists::distinct;
use narrows_base::shell;
use narrows_base::units::{Bytes, BytesPerSec, human};
use narrows_load::preset::LoadSpec;
use narrows_load::stats::sweep::Plateau;
use narrows_report::answer::{Answer, step};
use narrows_report::document::half;
use narrows_report::figure::chart::from_to;
use narrows_verdict::{Code, REACHED, capitalised};

/// A rate above a ceiling by more than this part is not explained by how exactly ceilings are known: healthy links reach at most 1.03 of
/// theirs.
const ABOVE: f64 = 1.05;

/// `1.23 GB/s ± 1.9 % (95 %)`.
fn known_to(rate: BytesPerSec, ends: Option<[BytesPerSec; 2]>) -> String {
    match ends {
        Some(_) => format!("{rate} ± {} (95 %)", half(rate, ends)),
        None => format!("{rate} (its interval is not known)"),
    }
}

/// What a rate tells of the narrowest hop of the path, and what names the hop where it does not.
fn against(target: &str, rate: BytesPerSec, ceiling: Option<&PathCeiling>) -> (String, Option<String>) {
    let target = shell::path(target);
    let look =
        step(format!("`narrows measure {target}` watches every hop during a run and names the narrowest."));
    let Some(ceiling) = ceiling else {
        let text = "No hop of the path has a known ceiling, so this run does not tell which hop limits.";
        return (text.to_owned(), Some(look));
    };
    let part = rate.fraction_of(ceiling.bytes_per_second);
    let (name, most) = (&ceiling.name, human::rate(ceiling.bytes_per_second));
    if part > ABOVE {
        (format!("That is more than {name} can carry ({most}): do not rely on it."), Some(look))
    } else if part >= REACHED {
        let part = human::percent(part);
        (format!("That is {part} of what {name} carries, which limits most likely."), None)
    } else {
        let text = format!(
            "{name}, the narrowest hop with a known ceiling, carries {most}; what limits is not told."
        );
        (text, Some(look))
    }
}

/// The answer; `None` where nothing was read or written.
pub(crate) fn measure(report: &MeasureReport) -> Option<Answer> {
    if !report.swept.is_empty() {
        return sweep(report);
    }
    let mut answer = Answer::default();
    let mut said = Vec::new();
    let read = side(report, "Reads", |it| it.read.as_ref(), report.ceilings.read.as_ref());
    let write = side(report, "Writes", |it| it.write.as_ref(), report.ceilings.write.as_ref());
    let is_read = read.is_some();
    let sides: Vec<_> = [read, write].into_iter().flatten().collect();
    for (number, (text, limit, look)) in sides.iter().enumerate() {
        said.push(text.clone());
        // What is so of both is said once.
        if sides.get(number + 1).is_none_or(|(_, next, _)| next != limit) {
            said.push(limit.clone());
        }
        answer.todo.extend(look.clone().filter(|_| is_read));
    }
    answer.todo.dedup();
    let unsteady = report.results.iter().any(|it| it.findings.iter().any(|note| note.code == Code::Unsteady));
    if unsteady {
        said.push("The rate of a test did not hold.".to_owned());
        answer.todo.insert(0, step("Run it again while nothing else uses the machine, with --max-time 2m."));
    }
    answer.sentence = said.join(" ");
    (!answer.sentence.is_empty()).then_some(answer)
}

fn side(
    report: &MeasureReport,
    what: &str,
    of: fn(&TestResult) -> Option<&SideView>,
    ceiling: Option<&PathCeiling>,
) -> Option<(String, String, Option<String>)> {
    let believed = report.results.iter().filter(|it| it.trusted != Some(false));
    let sides: Vec<(&str, &SideView)> = believed.filter_map(|it| Some((it.name.as_str(), of(it)?))).collect();
    let by = |key: fn(&SideView) -> f64| {
        sides.iter().filter(|(_, side)| key(side) > 0.0).max_by(|a, b| key(a.1).total_cmp(&key(b.1)))
    };
    let (name, fastest) = by(|side| side.bytes_per_second.get())?;
    let most = by(|side| side.iops.get()).filter(|(other, _)| other != name);
    let iops = most.map(|(other, it)| format!(", and {} IOPS ({other})", human::count(it.iops.get())));
    let (target, iops) = (&report.target.name, iops.unwrap_or_default());
    let rate = known_to(fastest.bytes_per_second, fastest.ci95);
    let (limit, look) = against(target, fastest.bytes_per_second, ceiling);
    Some((format!("{what} of {target} reach {rate} ({name}){iops}."), limit, look))
}

/// Rates that differ by less are alike: what a sweep calls a plateau differs by as much.
const ALIKE: f64 = 0.05;
/// What helps where loads scatter.
const QUIET: &str = "Run it again on a quiet machine, or longer: `--max-time 2m`.";
/// What helps where they used up what may be written.
const FEWER: &str =
    "Let more be written, `--max-writes 64GiB`, or name fewer loads with `--block-size` and `--depth`.";
/// From this part of what may be written on, that is what made runs short.
const USED_UP: f64 = 0.9;
/// More loads of a mix than this part that are not to be trusted say that the machine was not quiet.
const DOUBTFUL: f64 = 1.0 / 3.0;
/// So many mixes are answered.
const MOST: usize = 3;

/// The plateau of one block size.
struct Level<'r> {
    curve: &'r Curve,
    plateau: Plateau,
    /// Where the intervals of its runs lie, all together.
    span: Option<[BytesPerSec; 2]>,
}

impl Level<'_> {
    fn block(&self) -> Bytes {
        self.curve.of.block_size
    }

    fn rate(&self) -> f64 {
        self.plateau.bytes_per_second.get()
    }

    fn iops(&self) -> f64 {
        self.rate() / self.block().as_f64().max(1.0)
    }
}

/// What a sweep tells: the rate that more load does not raise, whether I/Os or bytes are limited, and what names the hop. `None` before the
/// first point.
fn sweep(report: &MeasureReport) -> Option<Answer> {
    let points = report.points();
    points.first()?;
    let trusted: Vec<&SweepPoint<'_>> = points.iter().filter(|point| point.trusted != Some(false)).collect();
    if trusted.is_empty() {
        return Some(Answer {
            sentence: "No load gave a rate that is to be trusted.".to_owned(),
            todo: vec![step(what_helps(report))],
        });
    }
    let mut mixes: Vec<&LoadSpec> = Vec::new();
    for point in &trusted {
        if !mixes.iter().any(|mix| is_alike(mix, point.load)) {
            mixes.push(point.load);
        }
    }
    let told = mixes.into_iter().take(MOST).map(|mix| {
        let of: Vec<&SweepPoint<'_>> = trusted.iter().copied().filter(|it| is_alike(mix, it.load)).collect();
        let all: Vec<&SweepPoint<'_>> = points.iter().filter(|it| is_alike(mix, it.load)).collect();
        of_mix(report, mix, (&of, &all))
    });
    let (sentences, todo): (Vec<String>, Vec<Vec<String>>) = told.unzip();
    Some(Answer { sentence: sentences.join(" "), todo: distinct(todo.into_iter().flatten()) })
}

/// What to do where too few loads can be trusted.
fn what_helps(report: &MeasureReport) -> &'static str {
    let is_used_up =
        report.writes.as_ref().is_some_and(|it| it.written.as_f64() >= USED_UP * it.limit.as_f64());
    if is_used_up { FEWER } else { QUIET }
}

/// Whether two loads are of one mix: all is alike but block size, depth and the number of streams.
fn is_alike(a: &LoadSpec, b: &LoadSpec) -> bool {
    let is_one_kind = a.pattern == b.pattern && a.direction() == b.direction() && a.buffered == b.buffered;
    is_one_kind && along(a) == along(b)
}

/// What is said of a mix, of whose points some are trusted.
fn of_mix(
    report: &MeasureReport,
    mix: &LoadSpec,
    (points, all): (&[&SweepPoint<'_>], &[&SweepPoint<'_>]),
) -> (String, Vec<String>) {
    let ceiling = ceiling(report, mix);
    let target = &report.target.name;
    let levels = levels(report, mix, all);
    let best = levels.iter().map(Level::rate).fold(0.0, f64::max);
    // The smallest block that gives as much as any.
    let level = levels.iter().find(|level| level.rate() >= best * (1.0 - ALIKE));
    let fastest = points.iter().max_by(|a, b| a.bytes_per_second.get().total_cmp(&b.bytes_per_second.get()));
    let (Some(level), Some(fastest)) = (level, fastest) else {
        return without_plateau(target, mix, points, ceiling);
    };
    let is_beyond =
        |it: &&SweepPoint<'_>| it.load.block_size == fastest.load.block_size && x(it.load) > x(fastest.load);
    let is_scattered = is_scattered(level, fastest);
    if is_scattered && !all.iter().any(is_beyond) {
        // It still rises where it ends.
        return without_plateau(target, mix, points, ceiling);
    }
    let doubtful = all.len() - points.len();
    if is_scattered || doubtful as f64 > DOUBTFUL * all.len() as f64 {
        return too_noisy(report, mix, fastest, (doubtful, all.len()));
    }
    let (rate, at) =
        (level.plateau.bytes_per_second, at(&level.curve.of, level.curve.along, level.plateau.from));
    let span = level.span.map(|ends| format!(" (95 % intervals of its runs: {})", from_to(ends)));
    let span = span.unwrap_or_default();
    let mut said = vec![format!("{} of {target} reach {rate}{span} with {at}.", what(mix))];
    said.extend(kinds_of_limit(&levels));
    let mut todo = vec![load_to_use(level)];
    if let Some(drop) = level.curve.shape.drops.first() {
        let (from, part) = (human::grouped(drop.from as u64), human::percent(drop.fraction));
        said.push(format!("From {from} on it is {part} less."));
    }
    let (limit, look) = against(target, level.plateau.bytes_per_second, ceiling);
    said.push(limit);
    todo.extend(look.filter(|_| reads(mix)));
    (said.join(" "), todo)
}

/// Whether a load was faster than the plateau that is to be the best, by more than its interval.
fn is_scattered(level: &Level<'_>, fastest: &SweepPoint<'_>) -> bool {
    let at_least = fastest.ci95.map_or(fastest.bytes_per_second, |ends| ends[0]).get();
    let at_most = level.span.map_or(level.rate(), |span| span[1].get());
    at_least > at_most.max(level.rate() * (1.0 + ALIKE))
}

/// What can be said where a knee would be chance.
fn too_noisy(
    report: &MeasureReport,
    mix: &LoadSpec,
    fastest: &SweepPoint<'_>,
    (doubtful, all): (usize, usize),
) -> (String, Vec<String>) {
    let why = match doubtful {
        0 => "loads differ from their neighbours by more than their intervals".to_owned(),
        some => format!("{some} of {all} loads are not to be trusted"),
    };
    let reach = reach(&report.target.name, mix, fastest);
    (format!("{reach}. It was too noisy for a knee: {why}."), vec![step(what_helps(report))])
}

/// What the fastest load of a mix gives.
fn reach(target: &str, mix: &LoadSpec, fastest: &SweepPoint<'_>) -> String {
    let rate = known_to(fastest.bytes_per_second, fastest.ci95);
    let at = at(fastest.load, along(mix), x(fastest.load));
    format!("{} of {target} reach {rate} with {at}", what(mix))
}

/// The plateaus of the curves of a mix whose runs are all to be trusted, by block size.
fn levels<'r>(report: &'r MeasureReport, mix: &LoadSpec, points: &[&SweepPoint<'_>]) -> Vec<Level<'r>> {
    let level = |curve: &'r Curve| {
        let plateau = curve.shape.plateau?;
        let of_block = points.iter().filter(|it| it.load.block_size == curve.of.block_size);
        let runs = of_block.filter(|it| (plateau.from..=plateau.to).contains(&x(it.load)));
        let runs: Vec<&&SweepPoint<'_>> = runs.collect();
        if runs.iter().any(|run| run.trusted == Some(false)) {
            return None;
        }
        let ends: Option<Vec<[BytesPerSec; 2]>> = runs.iter().map(|run| run.ci95).collect();
        let span = ends.and_then(|ends| {
            let low = ends.iter().map(|end| end[0]).reduce(BytesPerSec::min)?;
            Some([low, ends.iter().map(|end| end[1]).reduce(BytesPerSec::max)?])
        });
        Some(Level { curve, plateau, span })
    };
    let of_mix = report.curves.iter().filter(|curve| is_alike(mix, &curve.of));
    let mut levels: Vec<Level<'r>> = of_mix.filter_map(level).collect();
    levels.sort_by_key(Level::block);
    levels
}

/// Whether small blocks get a number of I/Os and large ones a rate, whatever their size: two limits of different kinds.
fn kinds_of_limit(levels: &[Level<'_>]) -> Option<String> {
    let first = levels.first()?;
    let last = levels.last()?;
    let near = |a: f64, b: f64| (a - b).abs() <= ALIKE * a.max(b);
    let by_number = levels.iter().take_while(|it| near(it.iops(), first.iops())).count();
    let by_rate = levels.iter().rev().take_while(|it| near(it.rate(), last.rate())).count();
    let mut parts = Vec::new();
    if by_number >= 2 {
        let (up_to, most) =
            (human::block_size(levels.get(by_number - 1)?.block()), human::count(first.iops()));
        parts.push(format!(
            "Up to {up_to} a limit on the number of I/Os holds: {most} IOPS, whatever their size."
        ));
    }
    if by_rate >= 2 {
        let from = human::block_size(levels.get(levels.len() - by_rate)?.block());
        parts.push(format!("From {from} on a limit on bytes holds."));
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

fn without_plateau(
    target: &str,
    mix: &LoadSpec,
    points: &[&SweepPoint<'_>],
    ceiling: Option<&PathCeiling>,
) -> (String, Vec<String>) {
    let best = points.iter().max_by(|a, b| a.bytes_per_second.get().total_cmp(&b.bytes_per_second.get()));
    let Some(best) = best else { return (String::new(), Vec::new()) };
    let (limit, look) = against(target, best.bytes_per_second, ceiling);
    let reach = reach(target, mix, best);
    let said = format!("{reach}, the fastest load that was run; more may give more. {limit}");
    let more = match along(mix) {
        Along::Depth => step("Sweep deeper queues too (`--depth`) until the rate rises no more."),
        Along::Streams => step("Sweep more streams too (`--threads`) until the rate rises no more."),
    };
    (said, std::iter::once(more).chain(look.filter(|_| reads(mix))).collect())
}

/// The least load that gives all of it.
fn load_to_use(level: &Level<'_>) -> String {
    let at = at(&level.curve.of, level.curve.along, level.plateau.from);
    let more = match level.curve.along {
        Along::Depth => "deeper queues add latency only",
        Along::Streams => "more streams add nothing",
    };
    let more = if level.plateau.to > level.plateau.from { format!("; {more}") } else { String::new() };
    step(format!("Use {at}{more}."))
}

fn ceiling<'r>(report: &'r MeasureReport, mix: &LoadSpec) -> Option<&'r PathCeiling> {
    match mix.direction().as_str() {
        "read" => report.ceilings.read.as_ref(),
        "write" => report.ceilings.write.as_ref(),
        _ => None,
    }
}

fn reads(mix: &LoadSpec) -> bool {
    mix.direction() == "read"
}

/// `Random reads`, `Sequential 70:30`.
fn what(mix: &LoadSpec) -> String {
    let order = capitalised(mix.pattern.word());
    match mix.direction().as_str() {
        one @ ("read" | "write") => format!("{order} {one}s"),
        mixed => format!("{order} I/Os ({mixed})"),
    }
}

/// `blocks of 64 KiB at depth 2`.
fn at(load: &LoadSpec, along: Along, place: f64) -> String {
    let block = human::block_size(load.block_size);
    let place = human::grouped(place as u64);
    match along {
        Along::Depth => format!("blocks of {block} at depth {place}"),
        Along::Streams => format!("blocks of {block} and {place} streams"),
    }
}
