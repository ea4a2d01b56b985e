//! The view model of several targets, alone and together (`narrows measure A B`): exactly what `--json` prints, and all that
//! the text is made of.
//!
//! Rates are bytes per second, sizes bytes, times nanoseconds. What is absent is `null`, and the same object then says
//! why in `reason`.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::chart;
use narrows_base::lists::some_of;
use narrows_base::units::human;
use narrows_load::measurement::Workload;
use narrows_report::document::{
    Audience, Block, Blocks, Column, Document, Place, Table, Tone, Width, findings, half,
};
use narrows_report::names::Names;
use narrows_report::text::{estimate, machine_line};
use narrows_report::view::{MachineView, Tool};
use narrows_verdict::together::hidden::HiddenVerdict;
use narrows_verdict::together::{Conclusion, Fate, Foretold, GroupVerdict, Outcome, Rate};
use narrows_verdict::{Finding, PathVerdict, Subject};

/// The name and version of the schema, in [`TogetherReport::schema`].
pub const SCHEMA: &str = "narrows/together/1";

/// What several targets give alone and at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TogetherReport {
    /// Always `narrows/together/1`.
    pub schema: String,
    /// The program that made this report.
    pub tool: Tool,
    /// The machine that it ran on.
    pub machine: MachineView,
    /// The load of each target, alone and together.
    pub workload: Workload,
    /// What each target gives alone.
    pub targets: Vec<TargetView>,
    /// Targets that ran at the same time: those that share a hop, the smallest groups first, and all of them at the end.
    pub groups: Vec<GroupVerdict>,
    /// What changed between the first run and the same at the end; `null` where nothing did, or it was not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<String>,
    /// Groups that share a limit, found from runs of chosen subsets; `null` where none was looked for: fewer than three targets,
    /// nobody loses, or a known ceiling says why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<HiddenVerdict>,
    /// What became of shared limits that were foretold from facts.
    pub foretold: Vec<Foretold>,
    /// Findings by what is known after the runs, worst first.
    pub findings: Vec<Finding>,
    /// Targets that were named and not measured, and why.
    pub left_out: Vec<LeftOut>,
    /// Whether everything that was planned was measured.
    pub complete: bool,
    /// Why it is not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A target that was not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Which one.
    pub target: String,
    /// Why.
    pub reason: String,
}

/// What a target gives alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetView {
    /// What it is.
    pub target: String,
    pub alone: Option<Rate>,
    /// The verdict on its path.
    pub sentence: String,
    /// Why `alone` is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What each of `alone` gives with its run alone, and the verdict on its path.
pub fn targets(alone: &[Subject], conclusion: &Conclusion) -> Vec<TargetView> {
    let target = |(subject, verdict): (&Subject, &PathVerdict)| {
        let alone = subject.runs.first().map(Rate::of);
        let reason = alone.is_none().then(|| "it was not measured".to_owned());
        let (target, sentence) = (subject.path.target.clone(), verdict.sentence.clone());
        TargetView { target, alone, sentence, reason }
    };
    alone.iter().zip(&conclusion.paths).map(target).collect()
}

/// Columns between the end of a name and the ends of the four cells behind it.
const COLUMNS: [usize; 4] = [11, 11, 12, 8];
/// The shortest column of names.
const NAME: usize = 16;

/// The report as a document.
pub fn document(report: &TogetherReport, audience: Audience) -> Document {
    let targets: Vec<&String> = report.targets.iter().map(|target| &target.target).collect();
    let mut out = Document::new("", some_of(&targets, 6, ", "), Some(&report.tool));
    out.say(0, Tone::Faint, machine_line(&report.machine));
    let Workload { pattern, block_size, queue_depth: depth, duration_ns: time, .. } = &report.workload;
    let load = format!("{} reads of {} × {depth}", pattern.word(), human::block_size(*block_size));
    let count = targets.len();
    out.say(0, Tone::Faint, format!("{count} targets alone and together: {load}, {time} each"));
    let left_out = report.left_out.iter().map(|left| format!("{}: {}", left.target, left.reason));
    out.leads((Tone::Warn, "not measured: "), Tone::Normal, left_out);
    for group in &report.groups {
        out.gap();
        put_group(&mut out, group);
    }
    if report.groups.is_empty() {
        // The runs ended before any ran together.
        out.gap();
        let measured = report.targets.iter().filter(|target| target.alone.is_some());
        out.says(0, Tone::Normal, measured.map(|target| &target.sentence));
    }
    if let Some(drift) = &report.drift {
        out.gap();
        out.lead((Tone::Warn, "changed meanwhile: "), Tone::Normal, drift);
    }
    if let Some(hidden) = &report.hidden {
        out.gap();
        out.part(Place::Verdict, "");
        let tone = if hidden.groups.is_empty() { Tone::Strong } else { Tone::Bad };
        out.lead((Tone::Strong, "hidden groups: "), tone, &hidden.sentence);
    }
    foretold(&mut out, &report.foretold);
    findings(&mut out, &report.findings);
    out.part(Place::Next, "");
    out.not_complete(report.reason.as_ref());
    out.figures(Place::Charts, chart::alone_together(report));
    if audience == Audience::Public { out.without(names(report)) } else { out }
}

const fn tone(outcome: Outcome) -> Tone {
    match outcome {
        Outcome::NoSharedLimit => Tone::Strong,
        Outcome::SharedLimit => Tone::Bad,
        Outcome::LimitEachOther | Outcome::Generator | Outcome::NotKnown => Tone::Warn,
    }
}

fn put_group(out: &mut Document, group: &GroupVerdict) {
    out.part(Place::Data, "");
    out.heading(group.targets.join(" + "));
    let mut shares =
        table("What each target gives alone and together", ["target", "alone", "together", "±95 %", "part"]);
    for share in &group.shares {
        let part = share.part().map(human::percent).unwrap_or_default();
        shares.texts(Tone::Normal, rates(&share.target, &share.alone, &share.together, part));
    }
    shares.texts(Tone::Faint, rates("in sum", &group.alone, &group.together, String::new()));
    out.add(Block::Table(shares));
    match group.hops.is_empty() {
        true => out.say(2, Tone::Faint, "They share no known hop but main memory."),
        false => hops(out, group),
    }
    out.gap();
    out.part(Place::Verdict, "");
    out.say(2, tone(group.outcome), &group.sentence);
}

fn hops(out: &mut Document, group: &GroupVerdict) {
    out.gap();
    let mut hops = table("What shared hops carry", ["shared hop", "alone", "together", "ceiling", "of it"]);
    for hop in &group.hops {
        let is_limit = group.limiting.contains(&hop.id) || group.located.contains(&hop.id);
        let ceiling = hop.ceiling.map_or_else(|| "unknown".to_owned(), |rate| estimate(hop.basis, rate));
        let of_it = hop.fraction().map(human::percent).unwrap_or_default();
        let (alone, together) = (human::rate(hop.alone), human::rate(hop.together));
        let tone = if is_limit { Tone::Bad } else { Tone::Normal };
        hops.texts(tone, [hop.name.clone(), alone, together, ceiling, of_it]);
    }
    out.add(Block::Table(hops));
}

/// A row of rates alone and together, with the interval of those together.
fn rates(name: &str, alone: &Rate, together: &Rate, part: String) -> [String; 5] {
    let rate = together.bytes_per_second;
    let interval = half(rate, together.ci95.filter(|_| rate.get() > 0.0));
    [name.to_owned(), human::rate(alone.bytes_per_second), human::rate(rate), interval, part]
}

/// A name and four cells.
fn table(caption: &str, [name, titles @ ..]: [&str; 5]) -> Table {
    let mut columns = vec![Column::name(name, Width::Broad(NAME))];
    columns.extend(titles.into_iter().zip(COLUMNS).map(|(title, width)| Column::right(title, width)));
    Table::new(caption, 2, columns)
}

/// What became of foretold limits; what was measured is among the findings.
fn foretold(out: &mut Document, all: &[Foretold]) {
    for (number, one) in all.iter().filter(|one| one.fate != Fate::Measured).enumerate() {
        if number == 0 {
            out.gap();
            out.part(Place::Findings, "Foretold");
        }
        let (tone, word) = match one.fate {
            Fate::Withdrawn => (Tone::Good, "WITHDRAWN  "),
            Fate::Measured | Fate::Open => (Tone::Warn, "OPEN       "),
        };
        let text = format!("{} [{}] {}", one.summary, one.code.as_str(), one.sentence);
        out.lead((tone, word), Tone::Normal, text);
    }
}

/// The names in a report.
fn names(report: &TogetherReport) -> Names {
    let mut names = Names::of_machine(&report.machine);
    let targets = report.targets.iter().map(|one| &one.target);
    let left_out = report.left_out.iter().map(|one| &one.target);
    let grouped = report.groups.iter().flat_map(|group| &group.targets);
    targets.chain(left_out).chain(grouped).for_each(|target| names.target(target));
    let hops = report.groups.iter().flat_map(|group| &group.hops);
    hops.for_each(|hop| names.hop(hop.kind, &hop.id, &hop.name));
    names
}
