//! The line between a run and whoever watches it: stop it, follow it, act when its measured time begins and ends.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::clock::Clock;
use super::guard::Budget;
use super::stats::SAMPLE;
use narrows_base::units::{Bytes, BytesPerSec, Nanos};

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Phase {
    /// Nothing is asked for yet.
    #[default]
    SettingUp,
    /// Under load, without measuring yet.
    WarmUp,
    /// In the measured time.
    Measuring,
    /// Over, whether it succeeded or not.
    Done,
}

/// How late the bytes of a sample may be told: workers tell every 10 ms, and more than that late when the system is busy.
const LATE: Duration = Duration::from_millis(40);

/// What workers have told of the measured time.
#[derive(Debug, Default)]
struct Told {
    /// When it began.
    began: Option<Instant>,
    /// The bytes of each sample so far.
    samples: Vec<u64>,
}

/// Watches and stops one run. Make a new one for each run; a stop flag may be shared by several.
#[derive(Debug, Default)]
pub struct Control {
    stop: Arc<AtomicBool>,
    finish: AtomicBool,
    phase: Mutex<Phase>,
    told: Mutex<Told>,
    changed: Condvar,
    bytes: AtomicU64,
    budget: Option<Arc<Budget>>,
    /// The time of each sample of the series, where it is not [`SAMPLE`].
    sample: Option<Nanos>,
}

impl Control {
    /// A control that also stops when `stop` is set from elsewhere, such as a signal handler.
    pub fn with_stop(stop: Arc<AtomicBool>) -> Self {
        Self { stop, ..Self::default() }
    }

    /// The same control, of a run that writes no more than `budget` holds: it ends when the next write does not fit, with
    /// [`cut_short`](super::measurement::Measurement::cut_short) set.
    #[must_use]
    pub fn with_budget(self, budget: Arc<Budget>) -> Self {
        Self { budget: Some(budget), ..self }
    }

    /// The same control, whose [series](Self::series) has a rate for each `sample` in the place of each 100 ms: for runs that
    /// are over before there are enough of those. It divides 100 ms.
    #[must_use]
    pub fn sampling(self, sample: Nanos) -> Self {
        Self { sample: Some(sample), ..self }
    }

    /// The time that one rate of the series stands for.
    pub fn sample(&self) -> Nanos {
        self.sample.filter(|sample| sample.get() > 0).unwrap_or(SAMPLE)
    }

    /// What may be written, where that is limited.
    pub(super) fn budget(&self) -> Option<&Budget> {
        self.budget.as_deref()
    }

    /// Asks the run to end now. It ends within 50 ms, plus the time of the I/Os in flight, with what it has so far.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the run was asked to end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Ends the measured time now: enough was measured. The measurement is whole, only shorter than its workload allowed:
    /// [`cut_short`](super::measurement::Measurement::cut_short) stays `None`, which tells it from a run that was stopped.
    /// Meant for the measured time; a run that is still warming up ends without having measured anything.
    pub fn finish(&self) {
        self.finish.store(true, Ordering::Relaxed);
    }

    /// Whether the measured time was ended because enough was measured.
    pub fn is_finished(&self) -> bool {
        self.finish.load(Ordering::Relaxed)
    }

    /// The rate in each [sample](Self::sample) of the measured time so far, which
    /// [`Measurement::series`](super::measurement::Measurement::series) will hold for each 100 ms, without the last that workers may
    /// not have told of yet. An I/O that ends within the last milliseconds of a sample may still be missing from it.
    pub fn series(&self) -> Vec<BytesPerSec> {
        let is_measuring = self.phase() == Phase::Measuring;
        let told = self.told();
        let elapsed = told.began.map_or(Duration::ZERO, |began| began.elapsed().saturating_sub(LATE));
        let sample = self.sample();
        let over = usize::try_from(elapsed.as_nanos() / u128::from(sample.get())).unwrap_or(usize::MAX);
        let whole = if is_measuring { over } else { over.min(told.samples.len()) };
        // A sample in which nothing ended is zero, also when it is the last.
        let samples = told.samples.iter().copied().chain(std::iter::repeat(0));
        samples.take(whole).map(|bytes| Bytes::new(bytes).per(sample.duration())).collect()
    }

    /// Where the run is.
    pub fn phase(&self) -> Phase {
        *self.lock()
    }

    /// Blocks until the run has come to `phase` or past it, and returns where it is. A run always comes to
    /// [`Phase::Done`], also when it fails, so this returns as long as a run was begun with this control.
    pub fn wait_for(&self, phase: Phase) -> Phase {
        let reached = self.changed.wait_while(self.lock(), |now| *now < phase);
        *reached.unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`wait_for`](Self::wait_for), but for no longer than `most`.
    pub fn wait_for_at_most(&self, phase: Phase, most: Duration) -> Phase {
        let reached = self.changed.wait_timeout_while(self.lock(), most, |now| *now < phase);
        *reached.unwrap_or_else(PoisonError::into_inner).0
    }

    /// The bytes read so far in the measured time. For a progress display: brought up to date every 10 ms or so.
    pub fn bytes_done(&self) -> Bytes {
        Bytes::new(self.bytes.load(Ordering::Relaxed))
    }

    /// Tells of bytes that were moved in the [sample](Self::sample) of the measured time with this index. For whoever carries
    /// out a run; [`run`](super::run::run()) does it itself.
    pub fn add_bytes(&self, bytes: u64, sample: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let Ok(index) = usize::try_from(sample) else { return };
        let samples = &mut self.told().samples;
        if samples.len() <= index {
            samples.resize(index.saturating_add(1), 0);
        }
        if let Some(sum) = samples.get_mut(index) {
            *sum = sum.saturating_add(bytes);
        }
    }

    /// Says where the run is. For whoever carries out a run, who ends it with [`Phase::Done`] whatever happens;
    /// [`run`](super::run::run()) does it itself.
    pub fn enter(&self, phase: Phase) {
        if phase == Phase::Measuring {
            self.told().began = Some(Instant::now());
        }
        *self.lock() = phase;
        self.changed.notify_all();
    }

    #[cfg(test)]
    pub(super) fn pretend_it_began(&self, ago: Duration) {
        self.told().began = Instant::now().checked_sub(ago);
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Brings a control to its end when dropped, so that nobody waits for a run that failed.
pub(super) struct EndOfRun<'a>(pub(super) &'a Control);

impl Drop for EndOfRun<'_> {
    fn drop(&mut self) {
        self.0.enter(Phase::Done);
    }
}

/// How often the worker tells how far it is.
const EVERY: Nanos = Nanos::from_millis(10);

/// Collects bytes and tells of them now and then, and at the end of each sample of the series.
pub(super) struct Teller<'a> {
    control: &'a Control,
    /// [`EVERY`] in ticks.
    every: u64,
    untold: u64,
    /// When to tell next.
    at: u64,
    /// The sample of the series that `untold` belongs to.
    sample: u64,
}

impl<'a> Teller<'a> {
    /// A teller who has nothing to tell yet.
    pub(super) fn new(control: &'a Control, clock: &Clock) -> Self {
        Self { control, every: clock.ticks_in(EVERY), untold: 0, at: 0, sample: 0 }
    }

    /// Notes bytes that moved by the tick `now`, inside the window; `shares` says which part of them belongs to which
    /// sample, unless all belong to the same as before.
    #[inline]
    pub(super) fn add(&mut self, bytes: u64, shares: Option<Vec<(u64, u64)>>, now: u64) {
        match shares {
            None => self.untold += bytes,
            Some(shares) => {
                for (sample, share) in shares {
                    if sample != self.sample {
                        self.tell();
                        self.sample = sample;
                    }
                    self.untold += share;
                }
            }
        }
        if now >= self.at {
            self.tell();
            self.at = now.saturating_add(self.every);
        }
    }

    /// When it is time to tell again.
    pub(super) fn next(&self) -> u64 {
        self.at
    }

    /// Tells the watcher of what moved since the last time.
    pub(super) fn tell(&mut self) {
        self.control.add_bytes(std::mem::take(&mut self.untold), self.sample);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watcher_wakes_when_its_phase_is_reached_or_passed() {
        let control = Control::default();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| control.wait_for(Phase::Measuring));
            drop(EndOfRun(&control));
            assert_eq!(waiting.join().unwrap(), Phase::Done);
        });
        assert_eq!(control.wait_for(Phase::WarmUp), Phase::Done);
    }

    #[test]
    fn a_watcher_waits_no_longer_than_it_wants() {
        let control = Control::default();
        assert_eq!(control.wait_for_at_most(Phase::Done, Duration::from_millis(1)), Phase::SettingUp);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| control.wait_for_at_most(Phase::Done, Duration::from_secs(600)));
            control.enter(Phase::Done);
            assert_eq!(waiting.join().unwrap(), Phase::Done);
        });
    }

    #[test]
    fn a_shared_flag_stops_it() {
        let flag = Arc::new(AtomicBool::new(false));
        let control = Control::with_stop(flag.clone());
        assert!(!control.is_stopped());
        flag.store(true, Ordering::Relaxed);
        assert!(control.is_stopped());
    }

    #[test]
    fn finer_samples_are_as_many_as_were_asked_for() {
        let control = Control::default().sampling(Nanos::from_millis(10));
        control.enter(Phase::Measuring);
        control.add_bytes(10, 0);
        control.add_bytes(7, 2);
        control.pretend_it_began(Duration::from_millis(75));
        let rates: Vec<f64> = control.series().iter().map(|rate| rate.get()).collect();
        assert_eq!(rates[..3], [1000.0, 0.0, 700.0]);
    }

    #[test]
    fn a_watcher_sees_whole_samples_and_no_others() {
        let control = Control::default();
        assert!(control.series().is_empty());
        control.enter(Phase::Measuring);
        control.add_bytes(10, 0);
        control.add_bytes(7, 2);
        control.add_bytes(5, 0);
        assert!(control.series().is_empty(), "no sample is over yet");
        control.pretend_it_began(Duration::from_millis(450));
        let rates: Vec<f64> = control.series().iter().map(|rate| rate.get()).collect();
        assert_eq!(rates[..4], [150.0, 0.0, 70.0, 0.0], "the fourth is over, and nothing ended in it");
        control.enter(Phase::Done);
        assert_eq!(control.series().len(), 3);
        assert_eq!(control.bytes_done().get(), 22);
    }
}
