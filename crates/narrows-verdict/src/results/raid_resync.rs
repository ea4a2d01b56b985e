//! An array or pool was busy with itself while it was measured.

use super::case::Case;
use super::run_failed;
use crate::attribution::is_syncing;
use crate::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use narrows_base::units::{BytesPerSec, human};
use narrows_base::workload::Pattern;
use narrows_machine::block::BlockKind;
use narrows_paste::results::{Imported, Measured, Tool};

/// An array that reads in order is at least as fast as one of its members, whatever its level; this much is left for
/// three seconds of reading.
const SLOWER: f64 = 0.9;

pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    if case.result.measurements.iter().all(|one| one.memory_only) {
        return Vec::new();
    }
    told(case)
        .or_else(|| slower_than_a_member(case))
        .or_else(|| slower_than_any_disk(case))
        .into_iter()
        .collect()
}

fn finding(case: &Case<'_>, summary: String, evidence: Vec<Evidence>, confidence: Confidence) -> Finding {
    case.finding(Code::RaidResync, Severity::Limit, summary)
        .with_evidence(evidence)
        .not_so_when("the array was idle during the run: `sync_action` or `zpool status` of that time")
        .with_advice([Advice::new("wait until it is done (/proc/mdstat, `zpool status`), and measure again")])
        .with_confidence(confidence)
}

/// mdstat, `zpool status` or a sentence beside the result.
fn told(case: &Case<'_>) -> Option<Finding> {
    let captured = case.machine.filter(|machine| machine.captured.is_some());
    let of_machine = captured.and_then(|machine| {
        machine.block.values().find_map(|device| {
            let BlockKind::Md(array) = &device.kind else { return None };
            let action = array.sync_action.value().filter(|action| is_syncing(action))?;
            Some((action.clone(), array.sync_action.source().as_str().to_owned()))
        })
    });
    let (action, source) = case.around.resync.clone().or(of_machine)?;
    let summary = format!("A {action} ran while this was measured: it took a part of what the drives can do");
    Some(finding(case, summary, vec![Evidence::new("running meanwhile", action, source)], Confidence::Medium))
}

/// An array beside one of its members, by the same tool.
fn slower_than_a_member(case: &Case<'_>) -> Option<Finding> {
    let (array, rate) = rate_of(case.result).filter(|(name, _)| is_array(name))?;
    let alike = case.beside.results().filter(|one| one.tool == case.result.tool);
    let plain = alike.filter_map(rate_of).filter(|(name, _)| is_disk(name));
    let (member, best) = plain.max_by(|a, b| a.1.get().total_cmp(&b.1.get()))?;
    (rate.get() < SLOWER * best.get()).then(|| {
        let summary = format!(
            "The array {array} reads {}, less than {member} alone ({}): it was busy with itself, or lacks a member",
            human::rate(rate),
            human::rate(best)
        );
        let evidence = vec![
            Evidence::new(format!("rate of {array}"), human::rate(rate), case.result.place()),
            Evidence::new(format!("rate of {member}"), human::rate(best), case.result.place()),
        ];
        finding(case, summary, evidence, Confidence::Low)
    })
}

/// An array that reads in order more slowly than any hard disk or SSD has done since UDMA (ATA-4 of 1998, 33 MB/s).
fn slower_than_any_disk(case: &Case<'_>) -> Option<Finding> {
    const SLOWEST: f64 = 10e6;
    let (array, rate) = rate_of(case.result).filter(|(name, _)| is_array(name))?;
    (rate.get() < SLOWEST).then(|| {
        let shown = human::rate(rate);
        let summary = format!(
            "The array {array} reads {shown}, less than one hard disk or SSD does: it was busy with itself or with other I/O, a \
             member fails, or its members are slow cards or sticks"
        );
        let evidence = vec![Evidence::new(format!("rate of {array}"), shown, case.result.place())];
        finding(case, summary, evidence, Confidence::Low)
    })
}

/// How fast a result reads its device in order; `None` of numbers that do not count.
fn rate_of(result: &Imported) -> Option<(&str, BytesPerSec)> {
    if !run_failed::errors(result).is_empty() {
        return None;
    }
    let in_order = |one: &&Measured| {
        let is_past = one.work.direct == Some(true) || result.tool == Tool::Hdparm;
        !one.memory_only && is_past && one.work.pattern == Some(Pattern::Sequential) && one.write.is_none()
    };
    let measured = result.measurements.iter().find(in_order)?;
    Some((measured.work.target.as_deref()?, measured.read.as_ref()?.bytes_per_second))
}

fn is_array(target: &str) -> bool {
    target.starts_with("/dev/md")
}

fn is_disk(target: &str) -> bool {
    ["/dev/sd", "/dev/nvme", "/dev/hd", "/dev/vd"].iter().any(|kind| target.starts_with(kind))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{codes, verdicts};
    use super::*;

    fn hdparm(device: &str, rate: &str) -> String {
        let amount = 3.0 * rate.parse::<f64>().expect("a rate");
        format!("{device}:\n Timing buffered disk reads: {amount:.0} MB in  3.00 seconds = {rate} MB/sec\n")
    }

    #[test]
    fn what_mdstat_says_beside_a_result_tags_it() {
        let text = format!(
            "md2 : active raid1 sdb1[1] sda1[0]\n      [=>...]  resync = 12.6% (3/29) finish=127min speed=33K/sec\n{}",
            hdparm("/dev/md2", "90.00")
        );
        let verdict = verdicts(&text).remove(0);
        assert!(!verdict.trusted && codes(&verdict).contains(&Code::RaidResync));
        assert!(verdicts(&hdparm("/dev/md2", "90.00"))[0].trusted);
    }

    #[test]
    fn an_array_slower_than_its_member_is_busy() {
        let of = |array: &str| {
            let text = format!("{}{}", hdparm("/dev/sda", "180.00"), hdparm("/dev/md0", array));
            codes(verdicts(&text).last().expect("two")).contains(&Code::RaidResync)
        };
        assert!(of("40.00") && !of("178.00") && !of("350.00"));
    }

    #[test]
    fn numbers_that_the_tool_itself_doubts_tell_nothing_of_an_array() {
        let doubt = "Hmm.. suspicious results: probably not enough free memory for a proper test.\n";
        let all =
            verdicts(&format!("{}{doubt}{}{doubt}", hdparm("/dev/hdc", "3.05"), hdparm("/dev/md1", "1.43")));
        assert!(all.iter().all(|one| !codes(one).contains(&Code::RaidResync)), "{all:?}");
    }

    #[test]
    fn an_array_slower_than_any_disk_is_busy_and_a_slow_card_is_none() {
        let of = |device: &str, rate: &str| {
            codes(&verdicts(&hdparm(device, rate)).remove(0)).contains(&Code::RaidResync)
        };
        assert!(of("/dev/md1", "1.25") && !of("/dev/md1", "63.26") && !of("/dev/mmcblk0", "1.25"));
    }
}
