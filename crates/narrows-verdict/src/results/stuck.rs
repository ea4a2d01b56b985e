//! I/Os waited at a device and none ended for a whole interval, by `iostat`.

use super::case::Case;
use crate::finding::{Advice, Code, Finding, Severity};
use narrows_base::units::human;

pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    let mut all = case.result.measurements.iter();
    let Some((measured, waiting)) = all.find_map(|one| Some((one, one.stuck?))) else { return Vec::new() };
    let name = &measured.work.label;
    vec![
        case.finding(
            Code::NoReadEnded,
            Severity::Info,
            format!(
                "{} I/Os waited at {name}, and none ended in an interval of iostat",
                human::count(waiting)
            ),
        )
        .with_evidence([case.evidence(
            measured,
            "I/Os in flight, and ended",
            format!("{} and 0", human::count(waiting)),
        )])
        .not_so_when("the interval is shorter than one I/O of this device")
        .with_advice([Advice::new("look for errors and resets of the device at that time: `dmesg`")]),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{codes, verdicts};
    use super::*;

    #[test]
    fn waiting_without_an_end_is_told() {
        let of = |reads: &str| {
            let head = "Device:  rrqm/s wrqm/s r/s w/s rMB/s wMB/s avgrq-sz avgqu-sz await svctm %util\n";
            let text = format!("{head}sdl 0.00 0.00 {reads} 0.00 0.00 0.00 0.00 42.00 0.00 0.00 100.00\n");
            codes(&verdicts(&text).remove(0)).contains(&Code::NoReadEnded)
        };
        assert!(of("0.00") && !of("7.00"));
    }
}
