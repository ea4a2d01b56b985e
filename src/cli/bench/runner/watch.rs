//! Follows a run: shows how far it is, watches the machine, and ends it when its rate is known.

use std::thread;
use std::time::{Duration, Instant};

use super::super::timing::Timing;
use super::super::writes::Allowance;
use super::Runner;
use narrows_base::units::{Bytes, BytesPerSec};
use narrows_load::control::{Control, Phase};
use narrows_load::stats::{self, Decision, Outlook};
use narrows_machine::activity::{Activity, Sample};
use narrows_report::progress::Live;

/// How often a run is looked at; the intervals of [`Precision`](narrows_load::stats::Precision) are tested for this.
const LOOK: Duration = Duration::from_millis(100);

/// What was seen of a run.
pub(super) struct Watched {
    pub(super) activity: Activity,
    pub(super) outlook: Option<Outlook>,
    /// Whether the rate is known as well as was asked.
    pub(super) is_known: bool,
}

impl Runner<'_> {
    /// Follows a run: shows the rate with its interval and the time left, and stops it when it is precise enough or a
    /// signal came. Counters are taken at both ends of the measured time, states that change with the load near its end.
    /// How much processors work is looked at between the first and that, where reading all of it takes none of their time.
    pub(super) fn watch(&self, control: &Control, timing: &Timing, writing: Option<&Allowance>) -> Watched {
        let metered = self.writes.as_ref().zip(writing);
        let is_fine = writing.is_some_and(Allowance::is_short);
        if let Some((writes, _)) = metered {
            writes.begin_metering(self.root);
        }
        control.wait_for(Phase::WarmUp);
        // Threads take long to read: before the measured time, where load is warmed up.
        let threads = Sample::of_threads(self.root);
        control.wait_for(Phase::Measuring);
        let begin = Instant::now();
        let before = Sample::of_counters(self.root).with_threads_of(threads);
        let missed = control.bytes_done();
        let from = Sample::of_processors(self.root);
        let mut to = None;
        let mut under_load = None;
        let (mut last, mut is_known) = (None, false);
        while control.phase() < Phase::Done {
            thread::sleep(LOOK);
            if let Some((writes, allowance)) = metered {
                writes.meter(self.root, Some(&allowance.budget));
            }
            let elapsed = begin.elapsed();
            let outlook = timing.judge(&series(control, is_fine));
            self.show(elapsed, control.bytes_done(), outlook.as_ref(), timing);
            is_known |=
                !control.is_finished() && outlook.is_some_and(|outlook| outlook.decision == Decision::Stop);
            if under_load.is_none() && control.phase() < Phase::Done {
                to = Some(Sample::of_processors(self.root));
            }
            if under_load.is_none()
                && (is_known || elapsed > timing.longest().mul_f64(0.7))
                && control.phase() < Phase::Done
            {
                under_load = Some(Sample::of_states(self.root, self.idle.links.keys()));
            }
            if !control.is_finished() {
                last = outlook;
            }
            if is_known {
                control.finish();
            }
        }
        if let Some((writes, allowance)) = metered {
            writes.meter(self.root, Some(&allowance.budget));
            writes.end_metering(self.root);
        }
        if control.is_finished() && !is_known {
            // It ended by itself: all that was measured says how well its rate is known.
            let mut series = series(control, true);
            series.pop();
            last = timing.judge(&series);
            is_known = last.is_some_and(|outlook| outlook.decision == Decision::Stop);
        }
        let mut activity = Activity::between(&before, &Sample::read(self.root));
        activity.missed = missed;
        if let Some(to) = to {
            activity.working = Activity::between(&from, &to).working;
        }
        if let Some(sample) = under_load {
            activity.links = sample.links;
            activity.tcp = sample.tcp;
            activity.resyncs = sample.resyncs;
        }
        if self.passthrough.is_some() {
            // The kernel does not count what passes the block layer by.
            activity.disks.retain(|name, _| !self.drives.contains(name));
        }
        Watched { activity, outlook: last, is_known }
    }

    fn show(&self, elapsed: Duration, done: Bytes, outlook: Option<&Outlook>, timing: &Timing) {
        let longest = timing.longest().saturating_sub(elapsed);
        let (left, at_most) = match outlook.map(|outlook| outlook.decision) {
            Some(Decision::Continue { left: Some(expected) }) => (expected.duration().min(longest), false),
            Some(_) => (longest, true),
            None => (longest, false),
        };
        let half = outlook.and_then(Outlook::relative);
        self.progress.live(&Live { elapsed, rate: done.per(elapsed), half, left, at_most });
    }
}

/// The series of a run, in its own samples or in those of 100 ms.
fn series(control: &Control, is_fine: bool) -> Vec<BytesPerSec> {
    let series = control.series();
    let each = usize::try_from(stats::SAMPLE.get() / control.sample().get().max(1)).unwrap_or(1);
    if is_fine || each < 2 {
        return series;
    }
    let mean = |samples: &[BytesPerSec]| samples.iter().copied().sum::<BytesPerSec>() / samples.len() as f64;
    series.chunks_exact(each).map(mean).collect()
}
