//! What a comparison tells: which is faster and by how much, what may explain it, and what names the hop.

use super::{Answer, step};
use crate::text::compare::{relative, sentence_of};
use narrows_base::lists::some_of;
use narrows_verdict::compare::{Change, Comparison, Verdict, WorkloadComparison};

/// So many differences of what was measured on are named.
const MOST: usize = 2;

/// The answer.
pub fn compare(comparison: &Comparison) -> Answer {
    let mut said = vec![format!("{}.", sentence_of(comparison))];
    let mut todo = Vec::new();
    match comparison.verdict {
        Verdict::Faster | Verdict::Slower | Verdict::Mixed => {
            said.extend(fastest(comparison).map(in_words));
            said.push(explained(&comparison.inventory));
            todo.push(step("`narrows measure TARGET`, on the slower one, names its narrowest hop."));
        }
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
