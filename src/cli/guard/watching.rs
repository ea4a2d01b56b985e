//! Says what the guard does to a device while somebody waits for it.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::cli::{output, signals};
use narrows_base::units::{Bytes, human};
use narrows_load::guard::{Method, Step};
use narrows_report::progress::Progress;

/// A search that takes no longer is not announced.
const SHORT: Duration = Duration::from_millis(1500);
/// How often the bar moves.
const TICK: Duration = Duration::from_millis(100);

/// Follows what the guard does, with a bar from the first step on.
pub(in crate::cli) struct Watching<'a> {
    name: &'a str,
    bar: Option<Progress>,
    /// Ends the work when it is raised.
    stop: Option<&'a AtomicBool>,
    phase: Option<&'static str>,
    began: Option<Instant>,
    shown: Option<Instant>,
}

impl<'a> Watching<'a> {
    /// Follows what is done to the device with this kernel name.
    pub(in crate::cli) const fn new(name: &'a str, stop: Option<&'a AtomicBool>) -> Self {
        Self { name, bar: None, stop, phase: None, began: None, shown: None }
    }

    /// Shows a step of what is done to the device, which has this size.
    pub(in crate::cli) fn step(&mut self, size: Bytes, step: Step) -> ControlFlow<()> {
        match step {
            Step::Planned(plan) => {
                if plan.time > SHORT || plan.method == Method::Random {
                    output::note(&format!(
                        "searches {} ({}) for data: {plan}",
                        self.name,
                        human::bytes(size)
                    ));
                }
            }
            Step::Searching { plan, done, elapsed } => {
                if self.begins("searching for data", plan.time) {
                    self.bar().say(elapsed, &format!("{done} of {} reads", plan.reads.max(done)));
                }
            }
            Step::Proving { done, of } => self.bytes("reading what may be written", done, of),
            Step::Clearing { done, of } => {
                signals::clearing(done, of);
                self.bytes("clearing what was written", done, of);
            }
        }
        match self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn bar(&mut self) -> &Progress {
        self.bar.get_or_insert_with(|| Progress::on_stderr(false))
    }

    fn bytes(&mut self, phase: &'static str, done: Bytes, of: Bytes) {
        if self.begins(phase, Duration::ZERO) {
            let rate = done.per(self.began.map_or(Duration::ZERO, |began| began.elapsed()));
            let text = format!("{} of {}, {}", human::bytes(done), human::bytes(of), human::rate(rate));
            self.bar().amount(done.get(), of.get(), &text);
        }
    }

    /// Whether it is time to show something; begins a phase of the bar when it is new.
    fn begins(&mut self, phase: &'static str, length: Duration) -> bool {
        if self.phase != Some(phase) {
            self.phase = Some(phase);
            self.began = Some(Instant::now());
            self.shown = None;
            self.bar().phase(phase, length);
        }
        let is_due = self.shown.is_none_or(|shown| shown.elapsed() >= TICK);
        if is_due {
            self.shown = Some(Instant::now());
        }
        is_due
    }
}
