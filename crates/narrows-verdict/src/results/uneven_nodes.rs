//! Machines that ran the same load together got unequal shares: their sum hides the slow ones.

use super::case::Case;
use crate::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use narrows_base::units::human;
use narrows_paste::results::{Measured, Op};

/// The coefficient of variation (standard deviation over mean) of equal shares is no more than that of the runs
/// themselves: diskspd's own scripts call a run uneven above 0.1, this is twice that.
const UNEVEN: f64 = 0.2;

/// Of two machines one is always the slower.
const FEWEST: usize = 3;

pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    // The first measurement is the sum, those behind it are the machines.
    let [sum, each @ ..] = case.result.measurements.as_slice() else { return Vec::new() };
    if sum.nodes.map(|nodes| nodes as usize) != Some(each.len()) || each.len() < FEWEST {
        return Vec::new();
    }
    [Op::Read, Op::Write].into_iter().find_map(|op| of(case, sum, each, op)).into_iter().collect()
}

fn of(case: &Case<'_>, sum: &Measured, each: &[Measured], op: Op) -> Option<Finding> {
    let mut rates: Vec<(f64, &str)> = each
        .iter()
        .filter_map(|one| Some((one.side(op)?.bytes_per_second.get(), one.work.label.as_str())))
        .collect();
    let count = rates.len() as f64;
    let mean = rates.iter().map(|(rate, _)| rate).sum::<f64>() / count;
    let squares: f64 = rates.iter().map(|(rate, _)| (rate - mean).powi(2)).sum();
    let variation = (squares / (count - 1.0)).sqrt() / mean;
    if rates.len() < FEWEST || variation.is_nan() || variation <= UNEVEN {
        return None;
    }
    rates.sort_by(|a, b| a.0.total_cmp(&b.0));
    let shown = |place: Option<&(f64, &str)>| {
        let (rate, name) = place.copied().unwrap_or_default();
        format!("`{name}` with {}", human::rate(narrows_base::units::BytesPerSec::new(rate)))
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
            .with_evidence(evidence).not_so_when("the machines were given different limits or loads on purpose")
            .with_advice([Advice::new(
                "compare where the slow machines run, and who owns their volumes: a machine on another host than its \
                 volume's owner crosses the network",
            )])
            .with_confidence(Confidence::High),
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{codes, fio_read, verdict_of};
    use super::*;
    use narrows_base::units::BytesPerSec;
    use narrows_paste::results::Imported;
    use narrows_paste::results::surroundings::Surroundings;

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
