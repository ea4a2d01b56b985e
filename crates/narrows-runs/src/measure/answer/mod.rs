//! What a measurement tells: at what rate, which hop limits or that it does not tell, and what to do next.

mod sweep;
#[cfg(test)]
mod tests;

use super::{MeasureReport, PathCeiling, SideView, TestResult};
use narrows_base::shell;
use narrows_base::units::{BytesPerSec, human};
use narrows_report::answer::{Answer, step};
use narrows_report::document::half;
use narrows_verdict::{Code, REACHED};

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
        return sweep::sweep(report);
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
