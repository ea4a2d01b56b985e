//! Ends a run when its rate is known precisely enough.

use std::thread;
use std::time::Duration;

use super::control::{Control, Phase};
use super::stats::{Decision, Outlook, Precision};

/// How often the series is looked at. The intervals of [`Precision`] are tested for this.
const LOOK: Duration = Duration::from_millis(200);

/// Watches a run from another thread until it is over, and [finishes](Control::finish) it as soon as its rate is known to
/// `precision`. `tell` is called with every look: for a progress display, which takes rate, interval and time left from
/// it. The workload's duration remains the longest time that the run may take.
///
/// Returns the last outlook, whose decision says whether the precision was reached; `None` when the run ended before the
/// first look.
pub fn until_precise(
    control: &Control,
    precision: &Precision,
    mut tell: impl FnMut(&Outlook),
) -> Option<Outlook> {
    let mut last = None;
    control.wait_for(Phase::Measuring);
    while control.phase() == Phase::Measuring {
        thread::sleep(LOOK);
        let outlook = precision.judge(&control.series());
        tell(&outlook);
        last = Some(outlook);
        if outlook.decision == Decision::Stop {
            control.finish();
            break;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run that is measuring for 4 s and has told of `series`, part of which is still to come.
    fn under_way(series: &[u64]) -> Control {
        let control = Control::default();
        for (index, bytes) in (0..).zip(series) {
            control.add_bytes(*bytes, index);
        }
        control.enter(Phase::Measuring);
        control.pretend_it_began(Duration::from_secs(4));
        control
    }

    #[test]
    fn two_percent_of_a_steady_source_is_known_at_the_first_look() {
        // 80 MB/s in blocks of 1 MiB: 7 or 8 of them in each 100 ms.
        let blocks = [8, 7, 8, 7, 8, 8, 7, 8];
        let series: Vec<u64> = blocks.iter().cycle().take(600).map(|count| count << 20).collect();
        let control = under_way(&series);
        let outlook = until_precise(&control, &Precision::new(0.02).unwrap(), |_| ()).unwrap();
        assert_eq!(outlook.decision, Decision::Stop);
        assert!(control.is_finished() && !control.is_stopped());
        assert!(outlook.rate.get() > 70e6 && outlook.relative().unwrap() < 0.02, "{outlook:?}");
    }

    #[test]
    fn a_source_that_swings_is_left_to_run() {
        let series: Vec<u64> = (0..600).map(|i| if i / 12 % 2 == 0 { 8 << 20 } else { 2 << 20 }).collect();
        let control = under_way(&series);
        let mut looks = 0;
        let outlook = until_precise(&control, &Precision::new(0.02).unwrap(), |_| {
            looks += 1;
            control.enter(Phase::Done);
        });
        assert!(matches!(outlook.unwrap().decision, Decision::Continue { .. }));
        assert!(looks == 1 && !control.is_finished());
        assert_eq!(until_precise(&control, &Precision::new(0.02).unwrap(), |_| ()), None);
    }
}
