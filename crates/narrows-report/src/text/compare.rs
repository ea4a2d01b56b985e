//! The view of a comparison: which is faster and by how much, what may explain it, and what names the hop.

use crate::answer::{Answer, step};
use crate::document::{Audience, Blocks, Cell, Column, Document, Place, Table, Tone, Width};
use crate::figure::Figure;
use crate::figure::chart::{self, signed};
use narrows_base::lists::{distinct, ends, grouped, known_of, some_of};
use narrows_base::units::human;
use narrows_verdict::compare::{
    Change, Comparison, LatencyPair, PathChange, PathState, Verdict, WorkloadComparison,
};

/// The margin of what is said of a workload.
const DETAIL: usize = 4;
/// So many paths that are alike are named.
const ALIKE: usize = 4;
/// So many differences of what was measured on, and so many paths, are named in the answer.
const MOST: usize = 2;
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
    comparison.inventory.iter_mut().for_each(hide_identity);
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
    let mut out = begun(comparison, |out| {
        let (tone, answer) = answer(comparison);
        answer.put_sentence(out, tone);
        if let Some((tone, sentence)) = latency_sentence(comparison.latency_verdict) {
            out.say(0, tone, sentence);
        }
        answer.put_todo(out);
    });
    out.part(Place::Data, "Workloads");
    for workload in &comparison.workloads {
        out.gap();
        put_workload(&mut out, workload);
    }
    let unmatched = comparison.unmatched.iter();
    let unmatched = unmatched.map(|run| format!("only in {}: {}; {}", run.only_in, run.workload, run.reason));
    put_section(&mut out, "Not compared", &unmatched.collect::<Vec<_>>());
    if !comparison.inventory.is_empty() {
        out.section(Place::Data, "Measured on");
        out.says(2, Tone::Normal, comparison.inventory.iter().map(fact));
    }
    out.figures(Place::Charts, chart::before_after(comparison));
    out
}

/// The document of two sides, which begins with the answer.
fn begun(comparison: &Comparison, put_answer: impl FnOnce(&mut Document)) -> Document {
    let mut out = Document::new("compare", format!("{} and {}", comparison.a, comparison.b), None);
    out.part(Place::Verdict, "");
    put_answer(&mut out);
    out.gap();
    out.lead((Tone::Strong, "A  "), Tone::Normal, &comparison.a);
    out.lead((Tone::Strong, "B  "), Tone::Normal, &comparison.b);
    out
}

/// What it tells, and what to do next.
fn answer(comparison: &Comparison) -> (Tone, Answer) {
    let (tone, text) = sentence(comparison);
    let mut said = vec![format!("{text}.")];
    let next = match comparison.verdict {
        Verdict::Faster | Verdict::Slower | Verdict::Mixed => {
            said.extend(fastest(comparison));
            said.push(explained(&comparison.inventory));
            "`narrows measure TARGET`, on the slower one, names its narrowest hop."
        }
        Verdict::NotDistinguishable if has_no_interval(comparison) => {
            "Run each several times into one file, turn by turn: `narrows compare` takes them as samples, and an interval tells."
        }
        Verdict::NotDistinguishable => "Longer runs tell smaller differences.",
        Verdict::NotComparable => {
            let why = comparison.workloads.iter().find_map(|it| it.reason.as_ref());
            let why = why.or_else(|| comparison.unmatched.first().map(|it| &it.reason));
            said.extend(why.map(|why| format!("{}.", why.trim_end_matches('.'))));
            "Measure the same workload on both: `narrows measure TARGET --as kdiskmark --save FILE`."
        }
    };
    (tone, Answer { sentence: said.join(" "), todo: vec![step(next)] })
}

/// The workload with the highest rate of those that differ, in words.
fn fastest(comparison: &Comparison) -> Option<String> {
    let differs = |it: &&WorkloadComparison| matches!(it.verdict, Verdict::Faster | Verdict::Slower);
    let most = |it: &WorkloadComparison| it.a_bytes_per_second.get().max(it.b_bytes_per_second.get());
    let all = comparison.workloads.iter().filter(differs);
    let it = all.max_by(|a, b| most(a).total_cmp(&most(b)))?;
    let change = it.difference.as_ref().map(|by| relative(by.relative, by.relative_interval));
    let change = change.map(|change| format!(", {change}")).unwrap_or_default();
    Some(format!("{}: A {}, B {}{change}.", it.workload, it.a_bytes_per_second, it.b_bytes_per_second))
}

/// What was recorded of both and differs.
fn explained(inventory: &[Change]) -> String {
    if inventory.is_empty() {
        return "Nothing that both results record of machine and path differs: they do not tell which hop limits."
            .to_owned();
    }
    let said: Vec<String> = inventory.iter().map(|it| format!("{} ({})", it.what, from_to(it))).collect();
    format!("What differs and may be why: {}.", some_of(&said, MOST, "; "))
}

/// Two texts that tell no path: what only one of them says.
fn texts(comparison: &Comparison) -> Document {
    let lines = |side: &str| {
        let count = comparison.lines.iter().filter(|one| one.only_in == side).count();
        human::counted(count, "line")
    };
    let said = match comparison.lines.is_empty() {
        true => "say the same".to_owned(),
        false => format!("differ: {} only in A, {} only in B", lines("A"), lines("B")),
    };
    let text = format!("A and B do not both tell paths whose rates could be compared. Their texts {said}.");
    let mut out = begun(comparison, |out| out.say(0, Tone::Strong, text));
    for side in ["A", "B"] {
        let said = comparison.lines.iter().filter(|one| one.only_in == side && !one.line.is_empty());
        let said: Vec<String> = said.map(|one| one.line.clone()).collect();
        put_section(&mut out, format!("Lines only in {side}"), &said);
    }
    out
}

/// Two machines: what each path may do now, and what is gone or new.
fn machines(comparison: &Comparison) -> Document {
    let mut out = begun(comparison, |out| out.say(0, Tone::Strong, machines_in_words(&comparison.paths)));
    let differing = comparison.paths.iter().filter(|path| path.differs());
    let alike = grouped(differing.filter_map(|it| Some((path_in_words(it), &it.latest()?.target))));
    if !alike.is_empty() {
        out.section(Place::Data, "Paths that differ");
    }
    for ((tone, said), targets) in alike {
        let mut lines = said.lines();
        let head = lines.next().unwrap_or_default();
        out.say(2, tone, format!("{}{head}", some_of(&targets, ALIKE, ", ")));
        out.says(DETAIL, Tone::Normal, lines);
    }
    put_section(&mut out, "Facts that differ", &comparison.inventory.iter().map(fact).collect::<Vec<_>>());
    out
}

/// What may be slower or faster now, and what only one of two machines shows.
fn machines_in_words(all: &[PathChange]) -> String {
    let named = |path: &PathChange| {
        let model = |state: &PathState| state.model.as_ref().map(|model| format!(" ({model})"));
        let latest = path.latest().map(|it| format!("{}{}", it.target, model(it).unwrap_or_default()));
        latest.unwrap_or_default()
    };
    let list = |said: Vec<String>, head: &str| {
        (!said.is_empty()).then(|| format!("{head}{}.", some_of(&said, MOST, ", ")))
    };
    let both = |verdict: Verdict| {
        let these = all.iter().filter(|path| path.verdict == verdict);
        let rate = |state: &Option<PathState>| state.as_ref().and_then(|state| state.bytes_per_second);
        let said = these.filter_map(|path| {
            let (a, b) = (human::rate(rate(&path.a)?), human::rate(rate(&path.b)?));
            Some(format!("{} from {a} to {b}", named(path)))
        });
        said.collect::<Vec<String>>()
    };
    let only =
        |is: fn(&PathChange) -> bool| all.iter().filter(|path| is(path)).map(named).collect::<Vec<String>>();
    let is_common = |path: &&PathChange| path.a.is_some() && path.b.is_some();
    let count = |verdict: Verdict| all.iter().filter(move |path| path.verdict == verdict);
    let same = count(Verdict::NotDistinguishable).count();
    let unknown = count(Verdict::NotComparable).filter(is_common).count();
    let none = "A and B have no path in common: two machines, or outputs of different commands.";
    let said = [
        (!all.iter().any(|path| is_common(&path))).then(|| none.to_owned()),
        list(both(Verdict::Slower), "What reads can get at most falls: "),
        list(both(Verdict::Faster), "What reads can get at most rises: "),
        list(only(|path| path.b.is_none()), "B does not show "),
        list(only(|path| path.a.is_none()), "New in B: "),
        list(only(PathChange::is_moved), "At another address: "),
        (same > 0).then(|| format!("Reads of {same} of {} paths can get as much as in A.", all.len())),
        (unknown > 0).then(|| format!("What reads of {unknown} can get is not known of both.")),
    ];
    known_of(said, " ")
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
        let place = state.place.as_ref().filter(|_| change.is_moved());
        let shared = state.shared.as_ref().filter(|_| is_other_share).map(|it| {
            format!("{} together with {} more through {}", it.bytes_per_second, it.others, it.name)
        });
        let parts = [
            Some(state.bytes_per_second.map_or("rate not known".to_owned(), human::rate)),
            state.limited_by.as_ref().map(|hop| format!("limited by {hop}")),
            place.map(|place| format!("at {place}")),
            shared,
        ];
        said.push(format!("{side}: {}", known_of(parts, ", ")));
    }
    (tone, said.join("\n"))
}

fn fact(change: &Change) -> String {
    format!("{}: {}", change.what, from_to(change))
}

fn from_to(change: &Change) -> String {
    let [a, b] = [&change.a, &change.b].map(|value| value.as_deref().unwrap_or("not stated"));
    format!("{a} → {b}")
}

/// Several results against one: what is to be said of each, then each workload with the rates below each other.
fn table(comparison: &Comparison) -> Document {
    let names: Vec<&str> = comparison.all().map(|one| one.b.as_str()).collect();
    let mut out = Document::new("compare", format!("{} with {}", comparison.a, names.join(", ")), None);
    out.part(Place::Verdict, "");
    for one in comparison.all() {
        let (tone, text) = supported(one, &one.b, "the reference");
        out.say(0, tone, text);
    }
    out.say(0, Tone::Faint, format!("all {}", scope(comparison)));
    out.gap();
    out.lead((Tone::Strong, "reference  "), Tone::Normal, &comparison.a);
    out.part(Place::Data, "Workloads");
    // Each workload of the reference that any result has, once.
    let workloads = comparison.all().flat_map(|one| &one.workloads);
    for workload in distinct(workloads.map(|one| one.workload.as_str())) {
        out.gap();
        out.say(2, Tone::Strong, workload);
        put_rows(&mut out, comparison, workload);
    }
    for one in comparison.all() {
        let alone = one.unmatched.iter().filter(|run| run.only_in == "B");
        let said = alone.map(|run| format!("not compared: {} of {}; {}", run.workload, one.b, run.reason));
        put_first(&mut out, &said.collect::<Vec<_>>());
    }
    let elsewhere = comparison.all().filter(|one| !one.inventory.is_empty()).map(|one| &one.b);
    let why = "was measured on something else: `narrows compare` of these two says what differs";
    out.says(0, Tone::Faint, elsewhere.map(|file| format!("{file} {why}")));
    let figures = comparison.all().enumerate().filter_map(|(at, one)| {
        let figure = chart::before_after(one)?;
        let title = format!("{} and {}", one.a, one.b);
        Some(Figure { id: format!("{}-{}", figure.id, at + 1), title, ..figure })
    });
    out.figures(Place::Charts, figures);
    out
}

/// A section of some texts, where there are any.
fn put_section(out: &mut Document, title: impl Into<String>, said: &[String]) {
    if !said.is_empty() {
        out.section(Place::Data, title);
        put_first(out, said);
    }
}

/// The first of what was not compared, and how many more there are.
fn put_first(out: &mut Document, said: &[String]) {
    out.first(6, (Tone::Normal, "  "), Tone::Faint, said, ", which --json lists");
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
        let cautions = found.cautions.iter().filter(|caution| !caution.starts_with("A: "));
        out.leads((Tone::Warn, "    ! "), Tone::Warn, cautions);
    }
}

fn scope(comparison: &Comparison) -> String {
    let [sure, least] = [comparison.confidence, comparison.threshold].map(human::percent);
    format!("intervals hold together with {sure}, differences below {least} do not count")
}

/// What the tests support, in a sentence.
fn sentence(comparison: &Comparison) -> (Tone, String) {
    let (tone, text) = supported(comparison, "B", "A");
    match comparison.verdict {
        Verdict::NotComparable => (tone, text),
        _ if has_no_interval(comparison) => (tone, text),
        _ => (tone, format!("{text} ({})", scope(comparison))),
    }
}

/// Whether all that is compared are rates of which nobody knows how sure they are.
fn has_no_interval(comparison: &Comparison) -> bool {
    !comparison.workloads.is_empty() && comparison.workloads.iter().all(|one| one.difference.is_none())
}

/// The differences of single numbers: that of one workload, or the range of several.
fn as_printed(comparison: &Comparison, b: &str, a: &str) -> Option<String> {
    let parts: Vec<f64> = comparison.workloads.iter().filter_map(|one| one.as_printed).collect();
    let [least, most] = ends(&parts)?;
    let word = |part: f64| {
        let size = human::percent(part.abs());
        if part < 0.0 { format!("{size} slower") } else { format!("{size} faster") }
    };
    let is_none = |part: f64| part.abs() < comparison.threshold;
    let is_each = comparison.workloads.len() > 1;
    let rates = match comparison.workloads.as_slice() {
        [it] => format!(" ({} in {a}, {} in {b})", it.a_bytes_per_second, it.b_bytes_per_second),
        _ => String::new(),
    };
    Some(match [least, most].map(word) {
        _ if is_none(least) && is_none(most) => {
            format!("As printed there is no difference between {a} and {b}{rates}")
        }
        [least, most] if least != most => {
            format!("As printed {b} is between {least} and {most}, by the test")
        }
        [least, _] => {
            format!("As printed {b} is {least}{rates}{}", if is_each { " in each test" } else { "" })
        }
    })
}

/// What the tests support of two results, and no more: where only some workloads differ, in how many.
fn supported(comparison: &Comparison, b: &str, a: &str) -> (Tone, String) {
    let some = match comparison.told_apart() {
        (apart, of) if apart < of => {
            format!(" in {apart} of {of} workloads; the others cannot be told apart")
        }
        _ => String::new(),
    };
    let unknown = format!("{a} and {b} cannot be told apart");
    match comparison.verdict {
        Verdict::Faster => (Tone::Good, format!("{b} is faster than {a}{some}")),
        Verdict::Slower => (Tone::Bad, format!("{b} is slower than {a}{some}")),
        Verdict::Mixed => {
            (Tone::Warn, format!("{b} is faster than {a} in some workloads and slower in others"))
        }
        Verdict::NotDistinguishable if has_no_interval(comparison) => {
            let printed = as_printed(comparison, b, a).unwrap_or(unknown);
            (Tone::Strong, format!("{printed}: one run each does not show how much another would differ"))
        }
        Verdict::NotDistinguishable => (Tone::Strong, unknown),
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
    let [a, b] = [workload.a_bytes_per_second, workload.b_bytes_per_second].map(human::rate_with_binary);
    out.say(DETAIL, Tone::Normal, format!("A {a}   B {b}"));
    let (tone, verdict) = word(workload.verdict);
    let text = match &workload.difference {
        Some(by) => format!("{} {verdict}", relative(by.relative, by.relative_interval)),
        None => {
            let printed = workload.as_printed.map(|part| format!("{} as printed, ", signed(part)));
            let reason = workload.reason.as_deref().unwrap_or("unknown");
            format!("{}{verdict}: {reason}", printed.unwrap_or_default())
        }
    };
    out.say(DETAIL, tone, text);
    put_latencies(out, &workload.latency);
    out.leads((Tone::Warn, "    ! "), Tone::Warn, &workload.cautions);
}

const fn word(verdict: Verdict) -> (Tone, &'static str) {
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
fn relative(difference: f64, [low, high]: [f64; 2]) -> String {
    format!("{} ({} … {})", signed(difference), signed(low), signed(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_tells_by_how_much_and_what_names_the_hop() {
        let text = include_str!("../../../../tests/figures/compare.json");
        let mut other: Comparison = serde_json::from_str(text).expect("a comparison");
        let Answer { sentence, todo } = answer(&other).1;
        assert!(
            sentence.contains("SEQ1M Q1T1 read: A 400 MB/s, B 200 MB/s, −50 % (−50.6 % … −49.4 %)."),
            "{sentence}"
        );
        assert!(sentence.contains("they do not tell which hop limits"), "{sentence}");
        assert!(todo[0].contains("on the slower one, names its narrowest hop"), "{todo:?}");
        other.inventory = serde_json::from_str(
            r#"[{"what": "link: width", "a": "x1", "b": "x4"}, {"what": "kernel", "a": "6.1", "b": null, "reason": "not stated"}]"#,
        )
        .unwrap();
        let named = answer(&other).1.sentence;
        assert!(named.contains("may be why: link: width (x1 → x4); kernel (6.1 → not stated)."), "{named}");
    }
}
