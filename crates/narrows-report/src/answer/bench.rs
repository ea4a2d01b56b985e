//! What a bench tells: the highest rate and the most I/Os of each direction, and what names the hop that limits them.

use super::{Answer, against, known_to, step};
use crate::bench::{BenchReport, PathCeiling, SideView, TestResult};
use narrows_base::units::human;
use narrows_verdict::Code;

/// The answer; `None` where nothing was read or written.
pub(crate) fn bench(report: &BenchReport) -> Option<Answer> {
    let mut answer = Answer::default();
    let mut said = Vec::new();
    let reads = |it: &'_ TestResult| it.read.clone();
    let writes = |it: &'_ TestResult| it.write.clone();
    let read = side(report, "Reads", &reads, report.ceilings.read.as_ref());
    let write = side(report, "Writes", &writes, report.ceilings.write.as_ref());
    let is_read = read.is_some();
    for (text, look) in [read, write].into_iter().flatten() {
        said.push(text);
        answer.todo.extend(look.filter(|_| is_read));
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
    report: &BenchReport,
    what: &str,
    of: &dyn Fn(&TestResult) -> Option<SideView>,
    ceiling: Option<&PathCeiling>,
) -> Option<(String, Option<String>)> {
    let believed = report.results.iter().filter(|it| it.trusted != Some(false));
    let sides: Vec<(&str, SideView)> = believed.filter_map(|it| Some((it.name.as_str(), of(it)?))).collect();
    let by = |key: fn(&SideView) -> f64| {
        sides.iter().filter(|(_, side)| key(side) > 0.0).max_by(|a, b| key(&a.1).total_cmp(&key(&b.1)))
    };
    let (name, fastest) = by(|side| side.bytes_per_second.get())?;
    let most = by(|side| side.iops.get()).filter(|(other, _)| other != name);
    let iops = most.map(|(other, it)| format!(", and {} IOPS ({other})", human::count(it.iops.get())));
    let (limit, look) = against(&report.target.name, fastest.bytes_per_second, ceiling);
    let said = format!(
        "{what} of {} reach {} ({name}){}. {limit}",
        report.target.name,
        known_to(fastest.bytes_per_second, fastest.ci95),
        iops.unwrap_or_default()
    );
    Some((said, look))
}
