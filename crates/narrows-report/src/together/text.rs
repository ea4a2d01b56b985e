//! The terminal view of several targets: for each group the verdict, what each target gives alone and together, and the
//! hops that they share.

use super::{ForetoldView, GroupView, TogetherReport};
use crate::names::Names;
use crate::text::findings::put_full;
use crate::text::{Line, Style, Tone, fit, machine_line, paragraph};
use narrows_base::units::human;
use narrows_load::measurement::Pattern;
use narrows_model::ceiling::Basis;
use narrows_verdict::together::{Fate, Outcome, Rate};

/// Columns between the end of a name and the ends of the four cells behind it.
const COLUMNS: [usize; 4] = [11, 11, 12, 8];
/// The shortest column of names.
const NAME: usize = 16;

/// The report as text. It ends with a newline.
pub fn render(report: &TogetherReport, style: &Style) -> String {
    let cleaned;
    let report = if style.plain {
        cleaned = without_identity(report);
        &cleaned
    } else {
        report
    };
    let mut out = String::new();
    paragraph(&mut out, style, (Tone::Normal, ""), Tone::Faint, &machine_line(&report.machine));
    let load = &report.workload;
    let about = format!(
        "{} targets alone and together: {} reads of {} × {}, {} each",
        report.targets.len(),
        if load.pattern == Pattern::Sequential { "sequential" } else { "random" },
        human::block_size(load.block_size),
        load.queue_depth,
        human::time(load.duration_ns)
    );
    paragraph(&mut out, style, (Tone::Normal, ""), Tone::Faint, &about);
    for left in &report.left_out {
        let text = format!("{}: {}", left.target, left.reason);
        paragraph(&mut out, style, (Tone::Warn, "not measured: "), Tone::Normal, &text);
    }
    for group in &report.groups {
        out.push('\n');
        put_group(&mut out, style, group);
    }
    if report.groups.is_empty() {
        out.push('\n');
        alone(&mut out, style, report);
    }
    if let Some(drift) = &report.drift {
        out.push('\n');
        paragraph(&mut out, style, (Tone::Warn, "changed meanwhile: "), Tone::Normal, drift);
    }
    if let Some(hidden) = &report.hidden {
        out.push('\n');
        let tone = if hidden.groups.is_empty() { Tone::Strong } else { Tone::Bad };
        paragraph(&mut out, style, (Tone::Strong, "hidden groups: "), tone, &hidden.sentence);
    }
    foretold(&mut out, style, &report.foretold);
    if !report.findings.is_empty() {
        out.push('\n');
        put_full(&mut out, style, &report.findings);
    }
    if let Some(reason) = &report.reason {
        out.push('\n');
        paragraph(&mut out, style, (Tone::Warn, "not complete: "), Tone::Normal, reason);
    }
    out
}

/// The targets alone, where the runs ended before any ran together.
fn alone(out: &mut String, style: &Style, report: &TogetherReport) {
    for target in report.targets.iter().filter(|target| target.alone.is_some()) {
        paragraph(out, style, (Tone::Normal, ""), Tone::Normal, &target.sentence);
    }
}

const fn tone(outcome: Outcome) -> Tone {
    match outcome {
        Outcome::NoSharedLimit => Tone::Strong,
        Outcome::SharedLimit => Tone::Bad,
        Outcome::LimitEachOther | Outcome::Generator | Outcome::NotKnown => Tone::Warn,
    }
}

fn put_group(out: &mut String, style: &Style, group: &GroupView) {
    paragraph(out, style, (Tone::Strong, ""), Tone::Strong, &group.targets.join(" + "));
    paragraph(out, style, (Tone::Normal, "  "), tone(group.outcome), &group.sentence);
    out.push('\n');
    let names = group.targets.iter().chain(group.hops.iter().map(|hop| &hop.name));
    let longest = names.map(|name| name.chars().count()).max().unwrap_or(0);
    let room = style.width.saturating_sub(2 + COLUMNS.iter().sum::<usize>());
    let table = Table { style, name: longest.min(room).max(NAME) };
    table.row(out, Tone::Faint, "target", &["alone", "together", "±95 %", "part"].map(str::to_owned));
    for share in &group.shares {
        let part = share.part.map(human::percent).unwrap_or_default();
        let cells = [human::rate(share.alone.bytes_per_second), human::rate(share.together.bytes_per_second)];
        let [alone, together] = cells;
        table.row(out, Tone::Normal, &share.target, &[alone, together, half(&share.together), part]);
    }
    let sum = [human::rate(group.alone.bytes_per_second), human::rate(group.together.bytes_per_second)];
    let [sum_alone, sum_together] = sum;
    table.row(out, Tone::Faint, "in sum", &[sum_alone, sum_together, half(&group.together), String::new()]);
    if group.hops.is_empty() {
        paragraph(out, style, (Tone::Normal, "  "), Tone::Faint, "They share no known hop but main memory.");
        return;
    }
    out.push('\n');
    table.row(out, Tone::Faint, "shared hop", &["alone", "together", "ceiling", "of it"].map(str::to_owned));
    for hop in &group.hops {
        let is_limit = group.limiting_hops.contains(&hop.id) || group.located_hops.contains(&hop.id);
        let mark = if hop.basis == Some(Basis::Guess) { "~" } else { "" };
        let ceiling = hop.ceiling_bytes_per_second;
        let ceiling = ceiling.map_or_else(|| "unknown".to_owned(), |rate| format!("{mark}{rate}"));
        let part = hop.part_of_ceiling.map(human::percent).unwrap_or_default();
        let (alone, together) = (hop.alone_bytes_per_second, hop.together_bytes_per_second);
        let cells = [human::rate(alone), human::rate(together), ceiling, part];
        table.row(out, if is_limit { Tone::Bad } else { Tone::Normal }, &hop.name, &cells);
    }
}

fn half(rate: &Rate) -> String {
    let half = rate.half().filter(|_| rate.bytes_per_second.get() > 0.0);
    half.map_or_else(|| "–".to_owned(), |half| human::percent(half.fraction_of(rate.bytes_per_second)))
}

/// Lines of a name and four cells.
struct Table<'a> {
    style: &'a Style,
    name: usize,
}

impl Table<'_> {
    fn row(&self, out: &mut String, tone: Tone, name: &str, cells: &[String; 4]) {
        let mut line = Line::new(self.style);
        line.pad_to(2).put(tone, &fit(self.style, name, self.name));
        let mut end = 2 + self.name;
        for (cell, width) in cells.iter().zip(COLUMNS) {
            end += width;
            line.put_right(tone, cell, end);
        }
        line.end(out);
    }
}

/// What became of foretold limits; what was measured is among the findings.
fn foretold(out: &mut String, style: &Style, all: &[ForetoldView]) {
    let told: Vec<&ForetoldView> = all.iter().filter(|one| one.fate != Fate::Measured).collect();
    if !told.is_empty() {
        out.push('\n');
    }
    for one in told {
        let (tone, word) = match one.fate {
            Fate::Withdrawn => (Tone::Good, "WITHDRAWN  "),
            Fate::Measured | Fate::Open => (Tone::Warn, "OPEN       "),
        };
        let text = format!("{} [{}] {}", one.summary, one.code.as_str(), one.sentence);
        paragraph(out, style, (tone, word), Tone::Normal, &text);
    }
}

/// The report without what identifies its owner.
fn without_identity(report: &TogetherReport) -> TogetherReport {
    let targets = report.targets.iter().map(|one| one.target.as_str());
    let left_out = report.left_out.iter().map(|one| one.target.as_str());
    let hops = report.groups.iter().flat_map(|group| &group.hops);
    let hops = hops.map(|hop| (hop.kind, hop.id.as_str(), hop.name.as_str()));
    let names = Names::of_targets(targets.chain(left_out), hops);
    let mut report = report.clone();
    names.hide(&mut texts(&mut report));
    report
}

/// Every text that may name something.
fn texts(report: &mut TogetherReport) -> Vec<&mut String> {
    let mut texts: Vec<&mut String> = Vec::new();
    for target in &mut report.targets {
        texts.extend([&mut target.target, &mut target.sentence]);
    }
    for left in &mut report.left_out {
        texts.extend([&mut left.target, &mut left.reason]);
    }
    for group in &mut report.groups {
        texts.push(&mut group.sentence);
        let hops = group.limiting_hops.iter_mut().chain(&mut group.located_hops);
        texts.extend(group.targets.iter_mut().chain(hops));
        texts.extend(group.shares.iter_mut().map(|share| &mut share.target));
        for hop in &mut group.hops {
            texts.extend([&mut hop.id, &mut hop.name]);
            texts.extend(&mut hop.targets);
        }
    }
    texts.extend(&mut report.drift);
    if let Some(hidden) = &mut report.hidden {
        texts.push(&mut hidden.sentence);
        texts.extend(&mut hidden.reason);
        texts.extend(&mut hidden.unexplained);
        for group in &mut hidden.groups {
            texts.extend(group.targets.iter_mut().chain(&mut group.hops));
        }
    }
    for one in &mut report.foretold {
        texts.extend([&mut one.hop, &mut one.subject, &mut one.summary, &mut one.sentence]);
    }
    for finding in &mut report.findings {
        texts.extend([&mut finding.subject, &mut finding.summary]);
        texts.extend(&mut finding.hop);
        texts.extend(finding.evidence.iter_mut().flat_map(|e| [&mut e.fact, &mut e.value, &mut e.source]));
        texts.extend(finding.advice.iter_mut().map(|advice| &mut advice.action));
    }
    texts.extend(&mut report.reason);
    texts
}
