//! The answers of copies and predictions.

use super::{Answer, step};
use crate::copy::{CopyReport, TallyView};
use crate::figure::chart::from_to;
use crate::fleet::Record;
use crate::predict::{PredictReport, PredictionView};
use narrows_base::shell;
use narrows_base::units::human;
use narrows_verdict::cohort::{Change, Host};

pub(crate) fn copy(report: &CopyReport) -> Answer {
    let TallyView { files, bytes, bytes_per_second: rate, .. } = report.files;
    let moved = format!("{} files ({bytes}) in {}: {rate}.", human::grouped(files), report.elapsed_ns);
    Answer { sentence: format!("{} {moved}", report.sentence), todo: vec![after_copy(report)] }
}

/// What to do about the side that a copy waited for.
fn after_copy(report: &CopyReport) -> String {
    let path = |target: &str| {
        step(format!("`narrows measure {}` names the narrowest hop of that side.", shell::path(target)))
    };
    match report.limit.as_ref().map(|limit| limit.side.as_ref()) {
        Some("source") => path(&report.source),
        Some("destination" | "verification") => path(&report.destination),
        Some("metadata") => {
            step("Fewer and larger files (an archive) spend less time on names and attributes.")
        }
        Some("processor" | "contention") => {
            step("Copy while nothing else uses the processors, and compare the two times.")
        }
        _ => "No file was copied, so nothing limited it.".to_owned(),
    }
}

/// A prediction that is known, else the first: its narrowest hop, interval, and what to measure.
pub(crate) fn predict(report: &PredictReport) -> Option<Answer> {
    let all: Vec<&PredictionView> = report.systems.iter().flat_map(|system| &system.predictions).collect();
    let first = all.first()?;
    let of = all.iter().find(|it| it.before.is_some() && it.known).unwrap_or(first);
    let name = &of.workload.name;
    if let (Some(rate), Some(limiting)) = (of.bytes_per_second, &of.limiting) {
        let ends = of.interval_95.map(|ends| format!(" (95 %: {})", from_to(ends.into())));
        let was = of.before.as_ref().and_then(|before| before.bytes_per_second);
        let was = was.map(|was| format!(" instead of {was}")).unwrap_or_default();
        let sentence = format!(
            "The workload `{name}` gets {rate}{}{was}: {} limits.",
            ends.unwrap_or_default(),
            limiting.name
        );
        let next = of.next.as_ref().map(|next| {
            step(format!(
                "More of {} gives more, up to {}: then {} limits.",
                limiting.name, next.rate, next.name
            ))
        });
        return Some(Answer { sentence, todo: next.into_iter().collect() });
    }
    let most = of.at_most.as_ref()?;
    let sentence = format!(
        "The workload `{name}` gets at most {}: the narrowest known hop is {}. How much less is not known.",
        most.rate, most.name
    );
    let measure = of.measure_instead.as_ref().map(|it| step(format!("To know it: measure {it}.")));
    Some(Answer { sentence, todo: measure.into_iter().collect() })
}

/// Each host with what is found on it now, as the records of a fleet have them.
pub fn hosts(records: &[Record]) -> Vec<Host> {
    let mut hosts: Vec<Host> = Vec::new();
    for record in records {
        match record {
            // Its findings stand behind it, also where the host brings them along.
            Record::Host { host, .. } => hosts.push(Host { findings: Vec::new(), ..(**host).clone() }),
            Record::Finding { host, found, change } if *change != Some(Change::Gone) => {
                if let Some(last) = hosts.last_mut().filter(|last| last.host == *host) {
                    last.findings.push((**found).clone());
                }
            }
            _ => {}
        }
    }
    hosts
}
