//! The answers of reports that have a sentence of their own: it, its interval, and what to do.

use super::{Answer, step};
use crate::copy::{CopyReport, TallyView};
use crate::figure::chart::from_to;
use crate::fleet::Record;
use crate::fleet_run::FleetRunReport;
use crate::lab::LabReport;
use crate::ladder::LadderReport;
use crate::predict::{PredictReport, PredictionView};
use crate::together::TogetherReport;
use crate::view::{CheckReport, HopView, MeasuredView, PathView};
use narrows_base::shell;
use narrows_base::units::{BytesPerSec, human};
use narrows_model::ceiling::Direction;
use narrows_model::path::HopKind;
use narrows_session::lab::aim::RankedBy;
use narrows_verdict::cohort::Change;
use narrows_verdict::cohort::{Found, Host};
use narrows_verdict::fleet::judge::Kind;
use narrows_verdict::together::Outcome;
use narrows_verdict::{Finding, Severity};

/// Of one path its sentence; of several what limits each.
pub(crate) fn check(report: &CheckReport) -> Option<Answer> {
    let [path] = report.paths.as_slice() else { return machine(report) };
    let limiting = path.limiting_hop.read.as_deref();
    let sentence = match measured(path) {
        Some(ends) => format!("{} The 95 % interval is {}.", path.sentence, from_to(ends)),
        None => path.sentence.clone(),
    };
    Some(Answer { sentence, todo: about(&report.findings, path, limiting) })
}

/// The interval of what was measured through the narrowest hop of reads, where it is to be trusted.
fn measured(path: &PathView) -> Option<[BytesPerSec; 2]> {
    let hop = path.hop(path.limiting_hop.read.as_ref()?)?;
    hop.measured.read.as_ref().filter(|it: &&MeasuredView| it.trusted)?.ci95
}

fn machine(report: &CheckReport) -> Option<Answer> {
    report.paths.first()?;
    let devices = report.paths.iter().filter(|path| path.target.starts_with("/dev/"));
    let each = devices.filter_map(|path| {
        let hop = path.hop(path.limiting_hop.read.as_ref()?)?;
        let rate = human::rate(hop.ceiling.of(Direction::Read).path_bytes_per_second?);
        Some(format!("{} reads at most {rate}, limited by the {}", path.target, hop.name))
    });
    let each = each.collect::<Vec<_>>().join("; ");
    let findings: Vec<Finding> =
        report.findings.iter().filter(|it| it.severity != Severity::Info).cloned().collect();
    Some(Answer {
        sentence: format!("{} paths: {each}.", report.paths.len()),
        todo: vec![best_advice(&findings)],
    })
}

/// What to do about the narrowest hop of a path; of other hops it is said that they are others.
fn about(findings: &[Finding], path: &PathView, limiting: Option<&str>) -> Vec<String> {
    let of: Vec<Finding> =
        findings.iter().filter(|it| it.hop.as_deref() == limiting && limiting.is_some()).cloned().collect();
    if of.iter().any(|it| !it.advice.is_empty()) {
        return vec![best_advice(&of)];
    }
    let others = findings.iter().filter(|it| it.severity != Severity::Info || it.hop.is_some());
    let other = others.flat_map(|it| &it.advice).next();
    let other = other.map(|advice| format!("About another hop: {}", advice.action));
    let none = format!("No finding asks for a change of the narrowest hop.{}", after(path));
    std::iter::once(none).chain(other).chain(unknown(path)).collect()
}

/// What would limit if the narrowest hop were wider.
fn after(path: &PathView) -> String {
    // The sentence names the next hop already.
    let next = path.next_hop.read.as_ref().and_then(|id| path.hop(id));
    let rate = next.and_then(|hop| hop.ceiling.of(Direction::Read).path_bytes_per_second);
    rate.map(|rate| format!(" Were it wider, this path would give {rate} at most.")).unwrap_or_default()
}

/// What tells whether a drive limits of which nothing is known, where nothing was measured.
fn unknown(path: &PathView) -> Option<String> {
    let is_unknown = |hop: &&HopView| {
        let ceiling = hop.ceiling.of(Direction::Read);
        hop.kind == HopKind::Device && ceiling.bytes_per_second.is_none() && !ceiling.transparent
    };
    let hop = path.hops.iter().find(is_unknown).filter(|_| path.runs.is_empty())?;
    Some(step(format!(
        "`narrows measure {}` there tells whether {}, whose ceiling is not known, limits before.",
        shell::path(&path.target),
        hop.name
    )))
}

/// The best advice of the worst finding with its gain, or that nothing asks for any.
fn best_advice(findings: &[Finding]) -> String {
    let worst = findings.iter().find(|it| it.severity != Severity::Info && !it.advice.is_empty());
    let worst = worst.or_else(|| findings.iter().find(|it| !it.advice.is_empty()));
    let Some(advice) = worst.and_then(|it| it.advice.first()) else {
        return "No finding asks for a change.".to_owned();
    };
    let gain = advice.gain_bytes_per_second.filter(|gain| gain.get() > 0.0);
    let gain = gain.map(|gain| format!(" (+{gain} at most)")).unwrap_or_default();
    step(format!("{}{gain}", advice.action))
}

/// The group that says most: one whose limit is shared, else the largest.
pub(crate) fn together(report: &TogetherReport) -> Option<Answer> {
    let shared = report.groups.iter().find(|group| group.outcome == Outcome::SharedLimit);
    let group = shared.or(report.groups.first())?;
    let ends = group.together.ci95.map(|ends| format!(" Together they give {} (95 %).", from_to(ends)));
    let todo = match group.outcome {
        Outcome::Generator => {
            step("Run it again while nothing else uses the processors, or give fewer targets at once.")
        }
        Outcome::NotKnown => {
            step("Run it again for longer (--max-time), while nothing else uses the machine.")
        }
        Outcome::LimitEachOther => {
            step("Give the targets two by two, which tells which of them share the limit.")
        }
        Outcome::SharedLimit | Outcome::NoSharedLimit => best_advice(&report.findings),
    };
    Some(Answer { sentence: format!("{}{}", group.sentence, ends.unwrap_or_default()), todo: vec![todo] })
}

pub(crate) fn ladder(report: &LadderReport) -> Option<Answer> {
    let ladder = report.ladders.first()?;
    // Rungs are in the order of the layers, the lowest first.
    let top = ladder.rungs.last().and_then(|rung| rung.measurement.as_ref()?.ci95);
    let ends = top.map(|ends| format!(" The 95 % interval at the top is {}.", from_to(ends)));
    Some(Answer {
        sentence: format!("{}{}", ladder.sentence, ends.unwrap_or_default()),
        todo: vec![best_advice(&named(&ladder.findings))],
    })
}

/// Findings whose advice says what it is about: a picture has only the advice.
fn named(findings: &[Finding]) -> Vec<Finding> {
    let mut findings = findings.to_vec();
    for finding in &mut findings {
        let about = &finding.subject;
        finding.advice.iter_mut().for_each(|advice| advice.action = format!("{about}: {}", advice.action));
    }
    findings
}

pub(crate) fn lab(report: &LabReport) -> Option<Answer> {
    let ranking = report.rankings.first()?;
    let best = ranking.places.iter().find(|place| Some(place.outcome) == ranking.best);
    let ends = best.and_then(|it| it.score).filter(|_| ranking.unit == RankedBy::BytesPerSecond);
    let ends = ends.map(|it| [it.low, it.high].map(BytesPerSec::new));
    let ends = ends.map(|ends| format!(" (95 %: {})", from_to(ends))).unwrap_or_default();
    let todo = match best {
        Some(best) => step(format!("Build {}{ends}.", best.cell)),
        None => "No layout does all that it must.".to_owned(),
    };
    Some(Answer { sentence: ranking.sentence.clone(), todo: vec![todo] })
}

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

pub(crate) fn fleet(records: &[Record]) -> Option<Answer> {
    let summary = records.iter().find_map(|record| match record {
        Record::Summary(summary) => Some(*summary),
        _ => None,
    })?;
    let is_fault = |it: &&Found| it.severity == Severity::Fault;
    let hosts = hosts(records);
    // The first of the heat map.
    let count = |host: &Host, of: Severity| host.findings.iter().filter(|it| it.severity == of).count();
    let weight = |host: &Host| (count(host, Severity::Fault), count(host, Severity::Limit));
    let worst = hosts.iter().min_by(|a, b| weight(b).cmp(&weight(a)).then_with(|| a.host.cmp(&b.host)));
    let found = worst.and_then(|host| host.findings.iter().find(is_fault));
    let todo = match worst.zip(found) {
        Some((host, found)) => {
            let advice = found.advice.as_deref().unwrap_or_default();
            step(format!("Begin with {}: {} {advice}", host.host, found.summary))
        }
        None => "No host has a fault.".to_owned(),
    };
    let sentence = format!(
        "{} hosts: {} with faults, {} with limits only.",
        summary.hosts, summary.with_faults, summary.with_limits
    );
    Some(Answer { sentence, todo: vec![todo] })
}

pub(crate) fn fleet_run(report: &FleetRunReport) -> Option<Answer> {
    let point = report.points.first()?;
    let said: Vec<&str> = report.points.iter().map(|point| point.verdict.sentence.as_str()).collect();
    let limit = &point.verdict.limit;
    let todo = match limit.kind {
        Kind::RateCap => step("Run it again without the cap."),
        Kind::Generator => step("Give more clients, or fewer jobs on each."),
        Kind::Cache => step("Use more data than the caches hold, or direct I/O."),
        Kind::ServerNic | Kind::ClientNic | Kind::Fabric | Kind::Network => {
            step(format!("Widen the {}: nothing else gives more.", limit.name.trim_start_matches("the ")))
        }
        Kind::ServerCpu => step(format!("`narrows top` on the server shows what uses {}.", limit.name)),
        Kind::Drive => step(format!("`narrows measure` on the server names the hop of {}.", limit.name)),
        Kind::Unknown => step("Run `narrows measure` on the server, which watches every hop."),
    };
    let apart = report.points.iter().flat_map(|point| &point.outliers).map(|it| {
        let way = if it.difference < 0.0 { "slower" } else { "faster" };
        let part = human::percent(it.difference.abs());
        step(format!("See why {} is {part} {way} than the median: {}.", it.host, it.facts.join("; ")))
    });
    Some(Answer { sentence: said.join(" "), todo: std::iter::once(todo).chain(apart).collect() })
}
