//! Something else had a part of what was measured: other programs, or other machines of the same load.

use narrows_base::stats::{mean, variance};
use narrows_base::units::{BytesPerSec, human};
use narrows_paste::results::surroundings::Word;
use narrows_paste::results::{DeviceUse, Measured, Op};

use super::result::Case;
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

fn concurrent_finding(case: &Case<'_>, summary: impl Into<String>, evidence: Vec<Evidence>) -> Finding {
    Finding::of(case, Code::ConcurrentLoad, Severity::Limit, summary)
        .with_evidence(evidence)
        .not_so_when("a run on the idle storage has the same rate")
        .advise("measure again while nothing else uses the storage (`iostat -x 1` shows it)")
        .with_confidence(Confidence::Medium)
}

fn by_word(case: &Case<'_>) -> Option<Finding> {
    let source = case.around.has(Word::Shared)?;
    let summary = "Something else used the storage meanwhile: the result is a share of what it can do";
    let evidence = Evidence::new("running meanwhile", "other work, as the text says", source);
    Some(concurrent_finding(case, summary, vec![evidence]))
}

/// A run that only reads, past the page cache, and a device that wrote much meanwhile. The reverse may be the file
/// system's own reading.
fn by_counters(case: &Case<'_>) -> Option<Finding> {
    let [measured] = case.result.measurements.as_slice() else { return None };
    let only_reads = measured.write.is_none() && measured.work.direct == Some(true);
    let own = measured.read.as_ref().filter(|_| only_reads)?.ios? as f64;
    let device: &DeviceUse = measured.devices.first()?;
    let foreign = device.write_ios as f64;
    (own > CONCURRENT_LOAD_FEWEST && foreign > FOREIGN * own).then(|| {
        let name = &device.name;
        let summary = format!(
            "{name} was written to while the tool only read: the result is a share of what it can do"
        );
        let evidence = vec![
            case.evidence(measured, "reads of the tool", human::count(own)),
            case.evidence(measured, format!("writes of {name}"), human::count(foreign)),
        ];
        concurrent_finding(case, summary, evidence)
    })
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
    let named = each.iter().filter_map(|one| Some((one.side(op)?.bytes_per_second, one.work.label.as_str())));
    let named: Vec<(BytesPerSec, &str)> = named.collect();
    let rates: Vec<f64> = named.iter().map(|(rate, _)| rate.get()).collect();
    let variation = variance(&rates).sqrt() / mean(&rates);
    if named.len() < UNEVEN_NODES_FEWEST || variation.is_nan() || variation <= UNEVEN {
        return None;
    }
    let by_rate = |a: &&(BytesPerSec, &str), b: &&(BytesPerSec, &str)| a.0.get().total_cmp(&b.0.get());
    let (slowest, fastest) = (named.iter().min_by(by_rate)?, named.iter().max_by(by_rate)?);
    let shown = |(rate, name): &(BytesPerSec, &str)| format!("`{name}` with {rate}");
    let (op, count, variation) = (op.word(), named.len(), human::percent(variation));
    let summary = format!(
        "The {op}s of {count} machines vary by {variation} of their mean: their sum hides the slow ones"
    );
    let found = Finding::of(case, Code::UnevenNodes, Severity::Limit, summary)
        .seen("coefficient of variation", variation, case.source(sum))
        .seen("slowest machine", shown(slowest), case.result.place())
        .seen("fastest machine", shown(fastest), case.result.place())
        .not_so_when("the machines were given different limits or loads on purpose");
    Some(found.advise(
        "compare where the slow machines run, and who owns their volumes: a machine on another host than its \
         volume's owner crosses the network",
    ))
}

#[cfg(test)]
mod tests {
    use narrows_paste::results::Imported;
    use narrows_paste::results::surroundings::Surroundings;

    use super::*;
    use crate::results::testing::{codes, fio_read, verdict_of, verdicts};

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
