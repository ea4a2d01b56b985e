//! What a comparison tells: which is faster and by how much, what may explain it, and what names the hop.

use super::{Answer, step};
use crate::text::compare::{has_no_interval, relative, sentence};
use narrows_base::lists::some_of;
use narrows_base::units::human;
use narrows_verdict::compare::{Change, Comparison, PathChange, PathState, Verdict, WorkloadComparison};

/// So many differences of what was measured on are named.
const MOST: usize = 2;

/// The answer.
pub fn compare(comparison: &Comparison) -> Answer {
    let mut said = vec![format!("{}.", sentence(comparison).1)];
    let mut todo = Vec::new();
    match comparison.verdict {
        Verdict::Faster | Verdict::Slower | Verdict::Mixed => {
            said.extend(fastest(comparison).map(in_words));
            said.push(explained(&comparison.inventory));
            todo.push(step("`narrows measure TARGET`, on the slower one, names its narrowest hop."));
        }
        Verdict::NotDistinguishable if has_no_interval(comparison) => todo.push(step(
            "Run each several times into one file, turn by turn: `narrows compare` takes them as samples, and an interval tells.",
        )),
        Verdict::NotDistinguishable => todo.push(step("Longer runs tell smaller differences.")),
        Verdict::NotComparable => {
            let why = comparison.workloads.iter().find_map(|it| it.reason.clone());
            let why = why.or_else(|| comparison.unmatched.first().map(|it| it.reason.clone()));
            said.extend(why.map(|why| format!("{}.", why.trim_end_matches('.'))));
            todo.push(step(
                "Measure the same workload on both: `narrows measure TARGET --as kdiskmark --save FILE`.",
            ));
        }
    }
    Answer { sentence: said.join(" "), todo }
}

/// The workload with the highest rate of those that differ.
fn fastest(comparison: &Comparison) -> Option<&WorkloadComparison> {
    let differs = |it: &&WorkloadComparison| matches!(it.verdict, Verdict::Faster | Verdict::Slower);
    let most = |it: &WorkloadComparison| it.a_bytes_per_second.get().max(it.b_bytes_per_second.get());
    comparison.workloads.iter().filter(differs).max_by(|a, b| most(a).total_cmp(&most(b)))
}

fn in_words(it: &WorkloadComparison) -> String {
    let change = it.difference.as_ref().map(|by| relative(by.relative, by.relative_interval));
    let change = change.map(|change| format!(", {change}")).unwrap_or_default();
    format!("{}: A {}, B {}{change}.", it.workload, it.a_bytes_per_second, it.b_bytes_per_second)
}

/// What was recorded of both and differs.
fn explained(inventory: &[Change]) -> String {
    if inventory.is_empty() {
        return "Nothing that both results record of machine and path differs: they do not tell which hop limits."
            .to_owned();
    }
    let of = |value: &Option<String>| value.clone().unwrap_or_else(|| "not stated".to_owned());
    let said = inventory.iter().map(|it| format!("{} ({} → {})", it.what, of(&it.a), of(&it.b)));
    let said: Vec<String> = said.collect();
    format!("What differs and may be why: {}.", some_of(&said, MOST, "; "))
}

/// The answer for two texts that tell no path.
pub fn texts(comparison: &Comparison) -> Answer {
    let count = |side: &str| comparison.lines.iter().filter(|one| one.only_in == side).count();
    let lines = |count: usize| format!("{count} line{}", if count == 1 { "" } else { "s" });
    let said = match (count("A"), count("B")) {
        (0, 0) => "say the same".to_owned(),
        (a, b) => format!("differ: {} only in A, {} only in B", lines(a), lines(b)),
    };
    let sentence =
        format!("A and B do not both tell paths whose rates could be compared. Their texts {said}.");
    Answer { sentence, todo: Vec::new() }
}

/// The answer for two machines: what may be slower or faster now, and what only one of them shows.
pub fn machines(comparison: &Comparison) -> Answer {
    let all = &comparison.paths;
    let named = |state: Option<&PathState>| {
        let model = |state: &PathState| state.model.as_ref().map(|model| format!(" ({model})"));
        state.map(|state| format!("{}{}", state.target, model(state).unwrap_or_default())).unwrap_or_default()
    };
    let list = |said: Vec<String>, head: &str| {
        (!said.is_empty()).then(|| format!("{head}{}.", some_of(&said, MOST, ", ")))
    };
    let both = |verdict: Verdict| {
        let these = all.iter().filter(|path| path.verdict == verdict);
        let rate = |state: &Option<PathState>| state.as_ref().and_then(|state| state.bytes_per_second);
        let said = these.filter_map(|path| {
            let (a, b) = (human::rate(rate(&path.a)?), human::rate(rate(&path.b)?));
            Some(format!("{} from {a} to {b}", named(path.latest())))
        });
        said.collect::<Vec<String>>()
    };
    let only = |is: fn(&PathChange) -> bool| {
        all.iter().filter(|path| is(path)).map(|path| named(path.latest())).collect::<Vec<String>>()
    };
    let unchanged = |path: &&PathChange| path.verdict == Verdict::NotDistinguishable;
    let same = all.iter().filter(unchanged).count();
    let unknown =
        |path: &&PathChange| path.verdict == Verdict::NotComparable && path.a.is_some() && path.b.is_some();
    let unknown = all.iter().filter(unknown).count();
    let has_common = all.iter().any(|path| path.a.is_some() && path.b.is_some());
    let said = [
        (!has_common).then(|| {
            "A and B have no path in common: two machines, or outputs of different commands.".to_owned()
        }),
        list(both(Verdict::Slower), "What reads can get at most falls: "),
        list(both(Verdict::Faster), "What reads can get at most rises: "),
        list(only(|path| path.b.is_none()), "B does not show "),
        list(only(|path| path.a.is_none()), "New in B: "),
        list(only(PathChange::is_moved), "At another address: "),
        (same > 0).then(|| format!("Reads of {same} of {} paths can get as much as in A.", all.len())),
        (unknown > 0).then(|| format!("What reads of {unknown} can get is not known of both.")),
    ];
    Answer { sentence: said.into_iter().flatten().collect::<Vec<String>>().join(" "), todo: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_tells_by_how_much_and_what_names_the_hop() {
        let text = include_str!("../../../../tests/figures/compare.json");
        let mut other: Comparison = serde_json::from_str(text).expect("a comparison");
        let Answer { sentence, todo } = compare(&other);
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
        let named = compare(&other).sentence;
        assert!(named.contains("may be why: link: width (x1 → x4); kernel (6.1 → not stated)."), "{named}");
    }
}
