//! A measurement that calls itself synchronous and made nothing durable.

use super::case::Case;
use crate::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use narrows_base::units::human;
use narrows_paste::results::surroundings::Word;
use narrows_paste::results::{Durability, Op, Tool};

pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    if let Some(finding) = without_barrier(case) {
        return vec![finding];
    }
    if case.result.tool != Tool::Fio {
        return Vec::new();
    }
    let claims = |label: &str| {
        let words = label.split(|c: char| !c.is_ascii_alphanumeric());
        words.into_iter().any(|word| {
            matches!(word.to_ascii_lowercase().as_str(), "sync" | "synchronous" | "fsync" | "dsync")
        })
    };
    let found = case.sides().find(|(measured, op, _)| {
        *op == Op::Write
            && claims(&measured.work.label)
            && measured.sync_ns.is_none()
            && matches!(measured.work.durability, Some(Durability::None | Durability::AtEnd))
    });
    let Some((measured, _, _)) = found else { return Vec::new() };
    let summary = format!(
        "`{}` calls itself synchronous, but its writes were not: the rate says nothing of durable writes",
        measured.work.label
    );
    let engine = measured.work.engine.clone().unwrap_or_default();
    vec![
        case.finding(Code::NotSynchronous, Severity::Limit, summary)
            .with_evidence([
                case.evidence(measured, "sync, fsync, fdatasync", "not asked for within the run"),
                case.evidence(
                    measured,
                    "ioengine",
                    format!("{engine} (`sync` only means that write(2) is called)"),
                ),
            ])
            .not_so_when("the file system or data set forces every write to be synchronous")
            .with_advice([Advice::new("ask for durability: `sync=1`, `fdatasync=1`, or `fsync=1`")]),
    ]
}

/// fsyncs were counted, and the text says that the file system was told not to wait for the drive.
fn without_barrier(case: &Case<'_>) -> Option<Finding> {
    let source = case.around.has(Word::NoBarrier)?;
    let measured =
        case.result.measurements.iter().find(|one| {
            matches!(case.result.tool, Tool::Pveperf | Tool::Pgtestfsync) && one.syncs.is_some()
        })?;
    let rate = measured.syncs.map(|syncs| human::count(syncs.get())).unwrap_or_default();
    let summary = "The text speaks of a mount without barriers: fsync does not wait for the drive there";
    Some(
        case.finding(Code::NotSynchronous, Severity::Limit, summary)
            .with_evidence([
                case.evidence(measured, "fsyncs each second", rate),
                Evidence::new("mount option", "barrier=0", source),
            ])
            .not_so_when("this run was made with barriers, or the drive's cache keeps its data without power")
            .with_advice([Advice::new("mount with barriers and measure again")])
            .with_confidence(Confidence::Low),
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{codes, verdicts};
    use super::*;

    fn of(name: &str, option: &str) -> Vec<Code> {
        let text = format!(
            r#"{{"fio version": "fio-3.36", "jobs": [{{"jobname": "{name}", "job options": {{"rw": "write", "direct": "1", "{option}": "1"}},
            "write": {{"io_bytes": 4096000000, "bw_bytes": 68266666, "bw": 66666, "iops": 100, "runtime": 60000, "total_ios": 6000}}}}]}}"#
        );
        codes(&verdicts(&text).remove(0))
    }

    #[test]
    fn the_label_is_held_against_the_options() {
        assert!(of("sync_seq_write", "end_fsync").contains(&Code::NotSynchronous));
        assert!(!of("sync_seq_write", "sync").contains(&Code::NotSynchronous));
        assert!(!of("async_seq_write", "end_fsync").contains(&Code::NotSynchronous));
    }
}
