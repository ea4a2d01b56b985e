//! The terminal view of a comparison.

use crate::answer;
use crate::document::{Audience, Blocks, Cell, Column, Document, Place, Table, Tone, Width};
use crate::figure::Figure;
use crate::figure::chart::{self, signed};
use narrows_base::lists::{distinct, some_of};
use narrows_base::units::human;
use narrows_verdict::compare::{
    Change, Comparison, LatencyPair, PathChange, PathState, Verdict, WorkloadComparison,
};

/// The margin of what is said of a workload.
const DETAIL: usize = 4;
/// So many paths that are alike are named.
const ALIKE: usize = 4;
/// Columns before the differences of latencies, at least.
const LATENCIES: usize = 26;

/// A comparison as a document.
pub fn document(comparison: &Comparison, audience: Audience) -> Document {
    if audience == Audience::Owner {
        return whole(comparison);
    }
    whole(&without_identity(comparison)).scrubbed()
}

/// Facts whose value tells a device or a machine from all others, whatever it looks like.
const IDENTITIES: [&str; 5] = ["serial", "uuid", "wwn", "wwid", "host name"];

/// The comparison without what identifies its owner. Of a file only its name is left.
fn without_identity(comparison: &Comparison) -> Comparison {
    let mut comparison = comparison.clone();
    comparison.others = comparison.others.iter().map(without_identity).collect();
    for change in &mut comparison.inventory {
        hide_identity(change);
    }
    // Any word of them may be a name.
    comparison.lines.iter_mut().for_each(|one| one.line.clear());
    for file in [&mut comparison.a, &mut comparison.b] {
        if let Some((_, name)) = file.rsplit_once('/') {
            *file = name.to_owned();
        }
    }
    comparison
}

/// Puts words in the place of values that are identities by the name of their fact.
fn hide_identity(change: &mut Change) {
    let fact = change.what.rsplit(": ").next().unwrap_or_default().to_ascii_lowercase().replace('_', " ");
    if IDENTITIES.iter().any(|identity| fact.contains(identity)) {
        for (value, word) in [(&mut change.a, "one"), (&mut change.b, "another")] {
            if let Some(value) = value {
                *value = word.to_owned();
            }
        }
    }
}

fn whole(comparison: &Comparison) -> Document {
    if !comparison.others.is_empty() {
        return table(comparison);
    }
    if !comparison.paths.is_empty() {
        return machines(comparison);
    }
    if comparison.workloads.is_empty() && comparison.unmatched.is_empty() {
        return texts(comparison);
    }
    let mut out = Document::new("compare", format!("{} and {}", comparison.a, comparison.b), None);
    out.part(Place::Verdict, "");
    let answer = answer::compare(comparison);
    answer.put_sentence(&mut out, sentence(comparison).0);
    if let Some((tone, sentence)) = latency_sentence(comparison.latency_verdict) {
        out.say(0, tone, sentence);
    }
    answer.put_todo(&mut out);
    out.gap();
    out.lead((Tone::Strong, "A  "), Tone::Normal, &comparison.a);
    out.lead((Tone::Strong, "B  "), Tone::Normal, &comparison.b);
    out.part(Place::Data, "Workloads");
    for workload in &comparison.workloads {
        out.gap();
        put_workload(&mut out, workload);
    }
    if !comparison.unmatched.is_empty() {
        out.section(Place::Data, "Not compared");
        let said = comparison.unmatched.iter();
        let said = said.map(|run| format!("only in {}: {}; {}", run.only_in, run.workload, run.reason));
        put_first(&mut out, &said.collect::<Vec<_>>());
    }
    if !comparison.inventory.is_empty() {
        out.section(Place::Data, "Measured on");
        for change in &comparison.inventory {
            out.say(2, Tone::Normal, fact(change));
        }
    }
    out.figures(Place::Charts, chart::before_after(comparison));
    out
}

/// Two texts that tell no path: what only one of them says.
fn texts(comparison: &Comparison) -> Document {
    let mut out = Document::new("compare", format!("{} and {}", comparison.a, comparison.b), None);
    out.part(Place::Verdict, "");
    answer::texts(comparison).put_sentence(&mut out, Tone::Strong);
    out.gap();
    out.lead((Tone::Strong, "A  "), Tone::Normal, &comparison.a);
    out.lead((Tone::Strong, "B  "), Tone::Normal, &comparison.b);
    for side in ["A", "B"] {
        let said = comparison.lines.iter().filter(|one| one.only_in == side && !one.line.is_empty());
        let said = said.map(|one| one.line.clone());
        let said: Vec<String> = said.collect();
        if !said.is_empty() {
            out.section(Place::Data, format!("Lines only in {side}"));
            put_first(&mut out, &said);
        }
    }
    out
}

/// Two machines: what each path may do now, and what is gone or new.
fn machines(comparison: &Comparison) -> Document {
    let mut out = Document::new("compare", format!("{} and {}", comparison.a, comparison.b), None);
    out.part(Place::Verdict, "");
    answer::machines(comparison).put_sentence(&mut out, Tone::Strong);
    out.gap();
    out.lead((Tone::Strong, "A  "), Tone::Normal, &comparison.a);
    out.lead((Tone::Strong, "B  "), Tone::Normal, &comparison.b);
    let mut alike: Vec<((Tone, String), Vec<String>)> = Vec::new();
    for change in comparison.paths.iter().filter(|path| path.differs()) {
        let Some(latest) = change.latest() else { continue };
        let said = path_in_words(change);
        match alike.iter_mut().find(|(known, _)| *known == said) {
            Some((_, targets)) => targets.push(latest.target.clone()),
            None => alike.push((said, vec![latest.target.clone()])),
        }
    }
    if !alike.is_empty() {
        out.section(Place::Data, "Paths that differ");
    }
    for ((tone, said), targets) in alike {
        let mut lines = said.lines();
        let head = lines.next().unwrap_or_default();
        out.say(2, tone, format!("{}{head}", some_of(&targets, ALIKE, ", ")));
        lines.for_each(|line| out.say(DETAIL, Tone::Normal, line));
    }
    if !comparison.inventory.is_empty() {
        out.section(Place::Data, "Facts that differ");
        put_first(&mut out, &comparison.inventory.iter().map(fact).collect::<Vec<_>>());
    }
    out
}

/// What differs of a path, without its target: paths that are alike in it stand together.
fn path_in_words(change: &PathChange) -> (Tone, String) {
    let (tone, word) = match (&change.a, &change.b, change.verdict) {
        (None, ..) => (Tone::Good, "only in B"),
        (_, None, _) => (Tone::Bad, "only in A"),
        (.., Verdict::Faster) => (Tone::Good, "faster"),
        (.., Verdict::Slower) => (Tone::Bad, "slower"),
        _ => (Tone::Normal, "at another address"),
    };
    let shared = |state: &Option<PathState>| state.as_ref().and_then(|state| state.shared.clone());
    let is_other_share = shared(&change.a) != shared(&change.b);
    let model = change.latest().and_then(|state| state.model.as_ref());
    let mut said = vec![format!("{} ({word})", model.map(|model| format!(": {model}")).unwrap_or_default())];
    for (side, state) in [("A", &change.a), ("B", &change.b)] {
        let Some(state) = state else { continue };
        let mut parts = vec![state.bytes_per_second.map_or("rate not known".to_owned(), human::rate)];
        parts.extend(state.limited_by.as_ref().map(|hop| format!("limited by {hop}")));
        parts.extend(state.place.as_ref().filter(|_| change.is_moved()).map(|place| format!("at {place}")));
        parts.extend(state.shared.as_ref().filter(|_| is_other_share).map(|shared| {
            let rate = human::rate(shared.bytes_per_second);
            format!("{rate} together with {} more through {}", shared.others, shared.name)
        }));
        said.push(format!("{side}: {}", parts.join(", ")));
    }
    (tone, said.join("\n"))
}

fn fact(change: &Change) -> String {
    let of = |value: &Option<String>| value.clone().unwrap_or_else(|| "not stated".to_owned());
    format!("{}: {} → {}", change.what, of(&change.a), of(&change.b))
}

/// Several results against one: what is to be said of each, then each workload with the rates below each other.
fn table(comparison: &Comparison) -> Document {
    let names: Vec<&str> = comparison.all().map(|one| one.b.as_str()).collect();
    let subject = format!("{} with {}", comparison.a, names.join(", "));
    let mut out = Document::new("compare", subject, None);
    out.part(Place::Verdict, "");
    for one in comparison.all() {
        let (tone, text) = supported(one, &one.b, "the reference");
        out.say(0, tone, text);
    }
    out.say(0, Tone::Faint, format!("all {}", scope(comparison)));
    out.gap();
    out.lead((Tone::Strong, "reference  "), Tone::Normal, &comparison.a);
    out.part(Place::Data, "Workloads");
    for workload in workloads(comparison) {
        out.gap();
        out.say(2, Tone::Strong, workload);
        put_rows(&mut out, comparison, workload);
    }
    for one in comparison.all() {
        let alone = one.unmatched.iter().filter(|run| run.only_in == "B");
        let said = alone.map(|run| format!("not compared: {} of {}; {}", run.workload, one.b, run.reason));
        put_first(&mut out, &said.collect::<Vec<_>>());
    }
    for one in comparison.all().filter(|one| !one.inventory.is_empty()) {
        let text = format!(
            "{} was measured on something else: `narrows compare` of these two says what differs",
            one.b
        );
        out.say(0, Tone::Faint, text);
    }
    let figures = comparison.all().enumerate().filter_map(|(at, one)| {
        let figure = chart::before_after(one)?;
        let title = format!("{} and {}", one.a, one.b);
        Some(Figure { id: format!("{}-{}", figure.id, at + 1), title, ..figure })
    });
    out.figures(Place::Charts, figures);
    out
}

/// The first of what was not compared, and how many more there are.
fn put_first(out: &mut Document, said: &[String]) {
    out.first(6, (Tone::Normal, "  "), Tone::Faint, said, ", which --json lists");
}

/// Each workload of the reference that any result has, once.
fn workloads(comparison: &Comparison) -> Vec<&str> {
    distinct(comparison.all().flat_map(|one| &one.workloads).map(|one| one.workload.as_str()))
}

fn put_rows(out: &mut Document, comparison: &Comparison, workload: &str) {
    let find = |one: &'_ Comparison| one.workloads.iter().find(|other| other.workload == workload).cloned();
    let Some(reference) = comparison.all().find_map(find) else { return };
    let rate = human::rate(reference.a_bytes_per_second);
    out.say(DETAIL, Tone::Normal, format!("{rate}  {}", comparison.a));
    for one in comparison.all() {
        let Some(found) = find(one) else {
            out.say(DETAIL, Tone::Faint, format!("not in {}", one.b));
            continue;
        };
        let (tone, verdict) = word(found.verdict);
        let change = match (&found.difference, found.as_printed) {
            (Some(difference), _) => relative(difference.relative, difference.relative_interval),
            (None, Some(part)) => format!("{} as printed,", signed(part)),
            (None, None) => String::new(),
        };
        let rate = human::rate(found.b_bytes_per_second);
        let doubts = if found.cautions.is_empty() { "" } else { "  !" };
        let reason = found.reason.as_ref().filter(|_| found.difference.is_none());
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        out.say(DETAIL, tone, format!("{rate}  {}  {change} {verdict}{reason}{doubts}", one.b));
        for caution in found.cautions.iter().filter(|caution| !caution.starts_with("A: ")) {
            out.lead((Tone::Warn, "    ! "), Tone::Warn, caution);
        }
    }
}

fn scope(comparison: &Comparison) -> String {
    format!(
        "intervals hold together with {}, differences below {} do not count",
        human::percent(comparison.confidence),
        human::percent(comparison.threshold)
    )
}

/// What the tests support, in a sentence.
pub fn sentence(comparison: &Comparison) -> (Tone, String) {
    let (tone, text) = supported(comparison, "B", "A");
    match comparison.verdict {
        Verdict::NotComparable => (tone, text),
        _ if has_no_interval(comparison) => (tone, text),
        _ => (tone, format!("{text} ({})", scope(comparison))),
    }
}

/// Whether all that is compared are rates of which nobody knows how sure they are.
pub fn has_no_interval(comparison: &Comparison) -> bool {
    !comparison.workloads.is_empty() && comparison.workloads.iter().all(|one| one.difference.is_none())
}

/// The differences of single numbers: that of one workload, or the range of several.
fn as_printed(comparison: &Comparison, b: &str, a: &str) -> Option<String> {
    let mut parts: Vec<f64> = comparison.workloads.iter().filter_map(|one| one.as_printed).collect();
    parts.sort_by(f64::total_cmp);
    let (least, most) = (*parts.first()?, *parts.last()?);
    let word = |part: f64| {
        let size = human::percent(part.abs());
        if part < 0.0 { format!("{size} slower") } else { format!("{size} faster") }
    };
    let is_none = |part: f64| part.abs() < comparison.threshold;
    let rates = |one: &WorkloadComparison| {
        format!(
            "{} in {a}, {} in {b}",
            human::rate(one.a_bytes_per_second),
            human::rate(one.b_bytes_per_second)
        )
    };
    Some(match comparison.workloads.as_slice() {
        [one] if is_none(least) => {
            format!("As printed there is no difference between {a} and {b} ({})", rates(one))
        }
        [one] => format!("As printed {b} is {} ({})", word(least), rates(one)),
        _ if is_none(least) && is_none(most) => {
            format!("As printed there is no difference between {a} and {b}")
        }
        _ if word(least) == word(most) => format!("As printed {b} is {} in each test", word(least)),
        _ => format!("As printed {b} is between {} and {}, by the test", word(least), word(most)),
    })
}

/// What the tests support of two results, and no more: where only some workloads differ, in how many.
fn supported(comparison: &Comparison, b: &str, a: &str) -> (Tone, String) {
    let (apart, of) = comparison.told_apart();
    let some = if apart < of {
        format!(" in {apart} of {of} workloads; the others cannot be told apart")
    } else {
        String::new()
    };
    match comparison.verdict {
        Verdict::Faster => (Tone::Good, format!("{b} is faster than {a}{some}")),
        Verdict::Slower => (Tone::Bad, format!("{b} is slower than {a}{some}")),
        Verdict::Mixed => {
            (Tone::Warn, format!("{b} is faster than {a} in some workloads and slower in others"))
        }
        Verdict::NotDistinguishable if has_no_interval(comparison) => {
            let printed =
                as_printed(comparison, b, a).unwrap_or_else(|| format!("{a} and {b} cannot be told apart"));
            (Tone::Strong, format!("{printed}: one run each does not show how much another would differ"))
        }
        Verdict::NotDistinguishable => (Tone::Strong, format!("{a} and {b} cannot be told apart")),
        Verdict::NotComparable => (Tone::Warn, format!("{a} and {b} cannot be compared")),
    }
}

/// The verdict on latencies; `None` when there are none to compare.
const fn latency_sentence(verdict: Verdict) -> Option<(Tone, &'static str)> {
    match verdict {
        Verdict::Faster => Some((Tone::Good, "B answers faster than A")),
        Verdict::Slower => Some((Tone::Bad, "B answers slower than A")),
        Verdict::Mixed => {
            Some((Tone::Warn, "B answers faster than A at some percentiles and slower at others"))
        }
        Verdict::NotDistinguishable => Some((Tone::Normal, "The latencies cannot be told apart")),
        Verdict::NotComparable => None,
    }
}

fn put_workload(out: &mut Document, workload: &WorkloadComparison) {
    out.say(2, Tone::Strong, &workload.workload);
    let rates = format!(
        "A {}   B {}",
        human::rate_with_binary(workload.a_bytes_per_second),
        human::rate_with_binary(workload.b_bytes_per_second)
    );
    let (tone, verdict) = word(workload.verdict);
    out.say(DETAIL, Tone::Normal, rates);
    match &workload.difference {
        Some(difference) => {
            let part = relative(difference.relative, difference.relative_interval);
            out.say(DETAIL, tone, format!("{part} {verdict}"));
        }
        None => {
            let printed = workload.as_printed.map(|part| format!("{} as printed, ", signed(part)));
            let reason = workload.reason.as_deref().unwrap_or("unknown");
            out.say(DETAIL, tone, format!("{}{verdict}: {reason}", printed.unwrap_or_default()));
        }
    }
    put_latencies(out, &workload.latency);
    for caution in &workload.cautions {
        out.lead((Tone::Warn, "    ! "), Tone::Warn, caution);
    }
}

pub const fn word(verdict: Verdict) -> (Tone, &'static str) {
    match verdict {
        Verdict::Faster => (Tone::Good, "faster"),
        Verdict::Slower => (Tone::Bad, "slower"),
        Verdict::NotDistinguishable => (Tone::Normal, "not distinguishable"),
        Verdict::Mixed | Verdict::NotComparable => (Tone::Warn, "not comparable"),
    }
}

/// A line for each percentile with a difference; the others, side by side, in one.
fn put_latencies(out: &mut Document, pairs: &[LatencyPair]) {
    let values = |pair: &LatencyPair| format!("{} | {}", pair.a_ns, pair.b_ns);
    let columns = vec![
        Column::name("latency, A | B", Width::Fit(LATENCIES, usize::MAX)),
        Column::left("difference", Width::Flex(0)),
    ];
    let mut table = Table::new("Latencies", DETAIL, columns).untitled();
    for pair in pairs {
        if let Some(difference) = pair.difference {
            let (tone, verdict) = word(pair.verdict);
            let part = relative(difference.relative, difference.relative_interval);
            let name = format!("{} {}", pair.percentile, values(pair));
            table.row(vec![Cell::text(name), Cell::toned(tone, format!("{part} {verdict}"))]);
        }
    }
    out.table(table);
    let bare = pairs.iter().filter(|pair| pair.difference.is_none());
    let bare: Vec<String> = bare.map(|pair| format!("{} {}", pair.percentile, values(pair))).collect();
    if !bare.is_empty() {
        let text = format!("too few samples for an interval, A | B: {}", bare.join(" · "));
        out.say(DETAIL, Tone::Faint, text);
    }
}

/// `+12.3 % (+11.8 … +12.9 %)`.
pub fn relative(difference: f64, [low, high]: [f64; 2]) -> String {
    format!("{} ({} … {})", signed(difference), signed(low), signed(high))
}
