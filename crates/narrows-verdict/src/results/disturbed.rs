//! Something else had a part of what was measured: other programs, an array that was busy with itself, other machines of the same load.

use narrows_base::units::{BytesPerSec, human};
use narrows_base::workload::Pattern;
use narrows_machine::block::BlockKind;
use narrows_paste::results::surroundings::Word;
use narrows_paste::results::{DeviceUse, Imported, Measured, Op, Tool};

use super::case::Case;
use super::doubtful;
use crate::attribution::is_syncing;
use crate::finding::{Code, Confidence, Evidence, Finding, Severity};

/// I/Os in the direction that the tool did not use, as a part of its own, that no journal and no access time explains.
const FOREIGN: f64 = 0.3;

/// Fewer say nothing.
const CONCURRENT_LOAD_FEWEST: f64 = 1000.0;

/// Something else used the storage at the same time.
pub(super) fn concurrent_load(case: &Case<'_>) -> Option<Finding> {
    if case.result.measurements.iter().all(|one| one.memory_only) {
        return None;
    }
    by_counters(case).or_else(|| by_word(case))
}

fn concurrent_finding(case: &Case<'_>, summary: String, evidence: Vec<Evidence>) -> Finding {
    case.finding(Code::ConcurrentLoad, Severity::Limit, summary)
        .with_evidence(evidence)
        .not_so_when("a run on the idle storage has the same rate")
        .advise("measure again while nothing else uses the storage (`iostat -x 1` shows it)")
        .with_confidence(Confidence::Medium)
}

fn by_word(case: &Case<'_>) -> Option<Finding> {
    let source = case.around.has(Word::Shared)?;
    let summary =
        "Something else used the storage meanwhile: the result is a share of what it can do".to_owned();
    Some(concurrent_finding(
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
    (own > CONCURRENT_LOAD_FEWEST && foreign > FOREIGN * own).then(|| {
        let summary = format!(
            "{} was written to while the tool only read: the result is a share of what it can do",
            device.name
        );
        let evidence = vec![
            case.evidence(measured, "reads of the tool", human::count(own)),
            case.evidence(measured, format!("writes of {}", device.name), human::count(foreign)),
        ];
        concurrent_finding(case, summary, evidence)
    })
}

fn is_pure_reader(measured: &Measured) -> bool {
    measured.write.is_none() && measured.work.direct == Some(true)
}

/// An array that reads in order is at least as fast as one of its members, whatever its level; this much is left for
/// three seconds of reading.
const SLOWER: f64 = 0.9;

/// An array or pool was busy with itself while it was measured.
pub(super) fn raid_resync(case: &Case<'_>) -> Option<Finding> {
    if case.result.measurements.iter().all(|one| one.memory_only) {
        return None;
    }
    told(case).or_else(|| slower_than_a_member(case)).or_else(|| slower_than_any_disk(case))
}

fn resync_finding(
    case: &Case<'_>,
    summary: String,
    evidence: Vec<Evidence>,
    confidence: Confidence,
) -> Finding {
    case.finding(Code::RaidResync, Severity::Limit, summary)
        .with_evidence(evidence)
        .not_so_when("the array was idle during the run: `sync_action` or `zpool status` of that time")
        .advise("wait until it is done (/proc/mdstat, `zpool status`), and measure again")
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
    Some(resync_finding(
        case,
        summary,
        vec![Evidence::new("running meanwhile", action, source)],
        Confidence::Medium,
    ))
}

/// An array beside one of its members, by the same tool.
fn slower_than_a_member(case: &Case<'_>) -> Option<Finding> {
    let (array, rate) = rate_of(case.result).filter(|(name, _)| is_array(name))?;
    let alike = case.beside.results().filter(|one| one.tool == case.result.tool);
    let plain = alike.filter_map(rate_of).filter(|(name, _)| is_disk(name));
    let (member, best) = plain.max_by(|a, b| a.1.get().total_cmp(&b.1.get()))?;
    (rate.get() < SLOWER * best.get()).then(|| {
        let summary = format!(
            "The array {array} reads {rate}, less than {member} alone ({best}): it was busy with itself, or lacks a member"
        );
        let evidence = vec![
            Evidence::new(format!("rate of {array}"), rate, case.result.place()),
            Evidence::new(format!("rate of {member}"), best, case.result.place()),
        ];
        resync_finding(case, summary, evidence, Confidence::Low)
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
        resync_finding(case, summary, evidence, Confidence::Low)
    })
}

/// How fast a result reads its device in order; `None` of numbers that do not count.
fn rate_of(result: &Imported) -> Option<(&str, BytesPerSec)> {
    if !doubtful::errors(result).is_empty() {
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

/// The coefficient of variation (standard deviation over mean) of equal shares is no more than that of the runs
/// themselves: diskspd's own scripts call a run uneven above 0.1, this is twice that.
const UNEVEN: f64 = 0.2;

/// Of two machines one is always the slower.
const UNEVEN_NODES_FEWEST: usize = 3;

/// Machines that ran the same load together got unequal shares: their sum hides the slow ones.
pub(super) fn uneven_nodes(case: &Case<'_>) -> Option<Finding> {
    // The first measurement is the sum, those behind it are the machines.
    let [sum, each @ ..] = case.result.measurements.as_slice() else { return None };
    if sum.nodes.map(|nodes| nodes as usize) != Some(each.len()) || each.len() < UNEVEN_NODES_FEWEST {
        return None;
    }
    [Op::Read, Op::Write].into_iter().find_map(|op| uneven_shares(case, sum, each, op))
}

fn uneven_shares(case: &Case<'_>, sum: &Measured, each: &[Measured], op: Op) -> Option<Finding> {
    let mut rates: Vec<(f64, &str)> = each
        .iter()
        .filter_map(|one| Some((one.side(op)?.bytes_per_second.get(), one.work.label.as_str())))
        .collect();
    let count = rates.len() as f64;
    let mean = rates.iter().map(|(rate, _)| rate).sum::<f64>() / count;
    let squares: f64 = rates.iter().map(|(rate, _)| (rate - mean).powi(2)).sum();
    let variation = (squares / (count - 1.0)).sqrt() / mean;
    if rates.len() < UNEVEN_NODES_FEWEST || variation.is_nan() || variation <= UNEVEN {
        return None;
    }
    rates.sort_by(|a, b| a.0.total_cmp(&b.0));
    let shown = |place: Option<&(f64, &str)>| {
        let (rate, name) = place.copied().unwrap_or_default();
        format!("`{name}` with {}", BytesPerSec::new(rate))
    };
    let summary = format!(
        "The {}s of {} machines vary by {} of their mean: their sum hides the slow ones",
        op.word(),
        rates.len(),
        human::percent(variation)
    );
    let evidence = [
        case.evidence(sum, "coefficient of variation", human::percent(variation)),
        Evidence::new("slowest machine", shown(rates.first()), case.result.place()),
        Evidence::new("fastest machine", shown(rates.last()), case.result.place()),
    ];
    Some(
        case.finding(Code::UnevenNodes, Severity::Limit, summary)
            .with_evidence(evidence)
            .not_so_when("the machines were given different limits or loads on purpose")
            .advise(
                "compare where the slow machines run, and who owns their volumes: a machine \
                 on another host than its \
                 volume's owner crosses the network",
            ),
    )
}

#[cfg(test)]
mod tests {
    use narrows_base::units::BytesPerSec;
    use narrows_paste::results::Imported;
    use narrows_paste::results::surroundings::Surroundings;

    use super::super::testing::{codes, fio_read, verdict_of, verdicts};
    use super::*;

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

    fn fleet(rates: &[f64]) -> Imported {
        let mut result = fio_read("randread", 60);
        let one = result.measurements.remove(0);
        let mut sum = one.clone();
        sum.nodes = Some(rates.len() as u32);
        result.measurements.push(sum);
        for rate in rates {
            let mut one = one.clone();
            one.read.as_mut().expect("reads").bytes_per_second = BytesPerSec::from_mb(*rate);
            result.measurements.push(one);
        }
        result
    }

    #[test]
    fn a_slow_third_is_uneven_and_a_tenth_is_not() {
        let verdict = verdict_of(&fleet(&[100.0, 100.0, 50.0]), &Surroundings::default());
        assert!(codes(&verdict).contains(&Code::UnevenNodes) && verdict.limiting.is_none());
        let even = verdict_of(&fleet(&[100.0, 95.0, 90.0]), &Surroundings::default());
        assert!(!codes(&even).contains(&Code::UnevenNodes));
    }
}
