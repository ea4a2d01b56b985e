//! A run over a network that ended while its rate was still rising, or that too few samples describe.

use super::case::Case;
use crate::finding::{Advice, Code, Finding, Severity};
use crate::interval;
use narrows_base::units::{Nanos, human};

/// What iperf3 takes by itself, less its rounding. The first of its seconds has the start of TCP in it; of ten that is a
/// tenth at most, which is as sure as a mean has to be.
const USUAL: Nanos = Nanos::from_millis(9_500);

pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    let mut all = case.result.measurements.iter();
    let Some((measured, side)) = all.find_map(|one| Some((one, one.network.as_ref()?))) else {
        return Vec::new();
    };
    let Some(elapsed) = side.elapsed_ns.filter(|elapsed| *elapsed < USUAL) else { return Vec::new() };
    if interval::of_series(&side.series).is_some_and(|interval| interval <= interval::WIDEST) {
        return Vec::new();
    }
    let shown = human::time(elapsed);
    vec![
        case.finding(
            Code::TooShort,
            Severity::Limit,
            format!("The run over the network lasted {shown}: too short for what lasts"),
        )
        .with_evidence([case.evidence(measured, "measured time", shown)])
        .not_so_when("a run of ten seconds and more has the same rate")
        .with_advice([Advice::new("measure for ten seconds at least: `iperf3 -t 30 -O 2`")]),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{codes, verdicts};
    use super::*;

    #[test]
    fn less_than_the_usual_time_is_too_short() {
        let of = |seconds: &str, amount: &str| {
            let row = format!(
                "[  5]   0.00-{seconds}  sec  {amount} MBytes  99.0 Mbits/sec                  receiver\n"
            );
            codes(&verdicts(&row).remove(0)).contains(&Code::TooShort)
        };
        assert!(of("2.70", "31.9") && !of("10.00", "118"));
    }
}
