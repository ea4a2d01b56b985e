//! Something else used the storage at the same time.

use super::case::Case;
use crate::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use narrows_base::units::human;
use narrows_paste::results::surroundings::Word;
use narrows_paste::results::{DeviceUse, Measured};

/// I/Os in the direction that the tool did not use, as a part of its own, that no journal and no access time explains.
const FOREIGN: f64 = 0.3;

/// Fewer say nothing.
const FEWEST: f64 = 1000.0;

pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    if case.result.measurements.iter().all(|one| one.memory_only) {
        return Vec::new();
    }
    by_counters(case).or_else(|| by_word(case)).into_iter().collect()
}

fn finding(case: &Case<'_>, summary: String, evidence: Vec<Evidence>) -> Finding {
    case.finding(Code::ConcurrentLoad, Severity::Limit, summary)
        .with_evidence(evidence)
        .not_so_when("a run on the idle storage has the same rate")
        .with_advice([Advice::new(
            "measure again while nothing else uses the storage (`iostat -x 1` shows it)",
        )])
        .with_confidence(Confidence::Medium)
}

fn by_word(case: &Case<'_>) -> Option<Finding> {
    let source = case.around.has(Word::Shared)?;
    let summary =
        "Something else used the storage meanwhile: the result is a share of what it can do".to_owned();
    Some(finding(
        case,
        summary,
        vec![Evidence::new("running meanwhile", "other work, as the text says", source)],
    ))
}

/// A run that only reads, past the page cache, and a device that wrote much meanwhile. The reverse may be the file
/// system's own reading.
fn by_counters(case: &Case<'_>) -> Option<Finding> {
    let [measured] = case.result.measurements.as_slice() else { return None };
    let own = measured.read.as_ref().filter(|_| is_pure_reader(measured))?.ios? as f64;
    let device: &DeviceUse = measured.devices.first()?;
    let foreign = device.write_ios as f64;
    (own > FEWEST && foreign > FOREIGN * own).then(|| {
        let summary = format!(
            "{} was written to while the tool only read: the result is a share of what it can do",
            device.name
        );
        let evidence = vec![
            case.evidence(measured, "reads of the tool", human::count(own)),
            case.evidence(measured, &format!("writes of {}", device.name), human::count(foreign)),
        ];
        finding(case, summary, evidence)
    })
}

fn is_pure_reader(measured: &Measured) -> bool {
    measured.write.is_none() && measured.work.direct == Some(true)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{codes, fio_read, verdict_of, verdicts};
    use super::*;
    use narrows_paste::results::surroundings::Surroundings;

    #[test]
    fn a_device_that_writes_while_the_tool_reads_serves_somebody_else() {
        for (writes, expected) in [(400_000, true), (9_000, false)] {
            let mut result = fio_read("randread", 60);
            let device = DeviceUse {
                name: "sda".to_owned(),
                read_ios: 750_000,
                write_ios: writes,
                ..DeviceUse::default()
            };
            result.measurements[0].devices = vec![device];
            let found = codes(&verdict_of(&result, &Surroundings::default())).contains(&Code::ConcurrentLoad);
            assert_eq!(found, expected, "{writes}");
        }
    }

    #[test]
    fn a_sentence_about_other_work_is_believed() {
        let text = "bonnie while copying a backup to it:\n\
            a,4G,47392,63,59109,15,30774,5,42031,56,74651,6,146.9,0,16,+++++,+++,+++++,+++,+++++,+++,+++++,+++,+++++,+++,+++++,+++\n";
        let verdict = verdicts(text).remove(0);
        assert!(!verdict.trusted && codes(&verdict).contains(&Code::ConcurrentLoad));
    }
}
