//! The run ended before it could say anything of what lasts.

use super::case::Case;
use super::window;
use crate::finding::{Advice, Code, Evidence, Finding, Severity};
use narrows_base::units::{Nanos, human};
use narrows_paste::results::{Measured, Op, Side, Tool};

/// Caches of drives and controllers, burst credits of cloud volumes and clock ramps last seconds; diskspd's makers
/// ask for a warm-up of a minute. Half a second is left for the tool's own rounding.
const SHORTEST: Nanos = Nanos::from_millis(29_500);

/// A run of up to this long that still changes at its end has not reached what lasts.
const STILL_CHANGING: Nanos = Nanos::from_millis(65_000);

pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    let mut short: Vec<(&Measured, Op, Nanos, bool)> = Vec::new();
    for (measured, op, side) in case.sides() {
        let Some(elapsed) = elapsed(side) else { continue };
        if elapsed < SHORTEST {
            short.push((measured, op, elapsed, false));
        } else if elapsed <= STILL_CHANGING && window::is_still_falling(case, measured, op, side) {
            short.push((measured, op, elapsed, true));
        }
    }
    if let Some(finding) = in_memory(case) {
        return vec![finding];
    }
    let Some((measured, op, elapsed, falling)) =
        short.iter().min_by_key(|(_, _, elapsed, _)| *elapsed).copied()
    else {
        return Vec::new();
    };
    // These tools' own protocol is short, and everybody's numbers are of that length.
    let severity = match case.result.tool {
        Tool::Kdiskmark | Tool::Crystaldiskmark => return Vec::new(),
        Tool::Hdparm | Tool::Ior | Tool::Io500 | Tool::Elbencho | Tool::Bonnie | Tool::Cryptsetup => {
            Severity::Info
        }
        Tool::Gnomedisks | Tool::Yabs | Tool::Nvbandwidth | Tool::Copy => Severity::Info,
        Tool::Fio | Tool::Dd | Tool::Diskspd | Tool::Iozone | Tool::Vdbench => Severity::Limit,
    };
    let why = if falling { ", and the rate still fell at its end" } else { "" };
    let more = short.len() - 1;
    let more = if more > 0 { format!(" ({more} more are as short)") } else { String::new() };
    let summary = format!(
        "The {} lasted {}{why}: too short for what lasts{more}",
        case.name(measured, op),
        human::time(elapsed)
    );
    let mut evidence = vec![case.evidence(measured, "measured time", human::time(elapsed))];
    if let Some(asked) =
        measured.work.asked_ns.filter(|asked| asked.as_secs_f64() > 1.2 * elapsed.as_secs_f64())
    {
        evidence.push(case.evidence(measured, "time asked for", human::time(asked)));
    }
    let signal = case.result.failures.iter().find(|failure| failure.contains("terminating on signal"));
    evidence.extend(signal.map(|failure| Evidence::new("the tool says", failure, case.result.place())));
    vec![case.finding(Code::TooShort, severity, summary).with_evidence(evidence).not_so_when("a run of a minute and more has the same rate").with_advice([Advice::new(
        "measure for a minute at least, writes until the rate holds: `narrows check TARGET --measure=full`",
    )])]
}

/// `cryptsetup benchmark` runs each cipher for a second (its `lib/utils_benchmark.c`), on a clock that may still rise.
fn in_memory(case: &Case<'_>) -> Option<Finding> {
    let first = case.result.measurements.first().filter(|_| case.result.tool == Tool::Cryptsetup)?;
    Some(
        case.finding(
            Code::TooShort,
            Severity::Info,
            "Each cipher was measured for about one second, in memory",
        )
        .with_evidence([case.evidence(first, "measured time", "about 1 s each, by the tool's own protocol")])
        .not_so_when("runs that are repeated have the same rates")
        .with_advice([Advice::new("repeat it some times: the processor's clock may not have been up")]),
    )
}

/// The measured time: told, or bytes over rate.
fn elapsed(side: &Side) -> Option<Nanos> {
    side.elapsed_ns.filter(|time| time.get() > 0).or_else(|| {
        let seconds = side.bytes?.as_f64() / side.bytes_per_second.get();
        (seconds.is_finite() && seconds < 1e9).then(|| Nanos::new((seconds * 1e9) as u64))
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{codes, fio_read, verdict_of, verdicts};
    use super::*;
    use narrows_paste::results::surroundings::Surroundings;

    #[test]
    fn ten_seconds_are_too_short_and_a_minute_is_not() {
        let short = verdict_of(&fio_read("randread", 10), &Surroundings::default());
        assert!(!short.trusted && codes(&short).contains(&Code::TooShort));
        assert!(verdict_of(&fio_read("randread", 60), &Surroundings::default()).trusted);
    }

    #[test]
    fn hdparm_is_always_short_and_trusted() {
        let all =
            verdicts("/dev/sda:\n Timing buffered disk reads: 510 MB in  3.01 seconds = 169.62 MB/sec\n");
        assert!(all[0].trusted && codes(&all[0]).contains(&Code::TooShort));
    }
}
