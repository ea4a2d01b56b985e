//! Runs one load on one target, or on several at once, within what the ladder may write.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::args::LadderArgs;
use crate::cli::bar::Bar;
use crate::cli::signals::stop_on_signals;
use crate::cli::{Failure, output};
use narrows_base::units::{Bytes, BytesPerSec};
use narrows_load::preset::LoadSpec;
use narrows_load::target::Target;
use narrows_machine::root::Root;
use narrows_model::ceiling::Direction;
use narrows_session::measure::{Asked, Command, Session, Timing, at_once};
use narrows_session::scene::Scene;
use narrows_session::teller::Moving;
use narrows_session::writes::{ESTIMATED_AFTER, Writes};
use narrows_verdict::Run;

/// How long the idle machine is watched first.
const IDLE: Duration = Duration::from_millis(300);

/// Everything that stays the same from rung to rung.
pub(super) struct Runner<'a> {
    /// Where facts are read.
    pub(super) root: &'a Root,
    pub(super) progress: Bar,
    /// What measures.
    pub(super) session: Session<'a>,
    time: Duration,
    warm_up: Duration,
    /// What may be written; `None` when nothing is.
    writes: Option<Writes>,
}

impl<'a> Runner<'a> {
    /// A runner on the path of `scene`, which watches the idle machine first.
    ///
    /// # Errors
    /// Signals cannot be watched for.
    pub(super) fn new(scene: &'a Scene, args: &LadderArgs, writes: Option<Writes>) -> Result<Self, Failure> {
        let (progress, stop) = (Bar::on_stderr(), stop_on_signals()?);
        progress.phase("watching the idle machine", IDLE);
        let session = scene.session(Command::Ladder, args.cpu_node, stop, IDLE);
        Ok(Self { root: &scene.root, progress, session, time: args.time, warm_up: args.warm_up, writes })
    }

    /// Where facts are read.
    pub(super) const fn root(&self) -> &Root {
        self.root
    }

    /// What may be written; `None` when nothing is.
    pub(super) const fn writes(&self) -> Option<&Writes> {
        self.writes.as_ref()
    }

    /// Whether a signal came.
    pub(super) fn is_stopped(&self) -> bool {
        self.session.is_stopped()
    }

    /// Shows how far the scratch file of `size` is, and breaks it off when a signal came.
    pub(super) fn follow(&self, begin: Instant, written: Bytes, size: Bytes) -> ControlFlow<()> {
        let rate = written.per(begin.elapsed());
        self.progress.update(begin.elapsed(), Some(rate));
        if let Some(writes) = &self.writes {
            writes.meter(self.root, None);
            if written >= size.min(ESTIMATED_AFTER) {
                self.estimate(rate, (written, size));
            }
        }
        if self.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Says what all is going to take, once: `there` of the `size` of the scratch file were written at this rate.
    pub(super) fn estimate(&self, rate: BytesPerSec, (there, size): (Bytes, Bytes)) {
        if let Some(writes) = self.writes.as_ref().filter(|writes| !writes.is_estimated()) {
            let text = writes.estimate(rate, (there, size), &[]);
            self.progress.aside(|| output::note(&text));
        }
    }

    /// Runs `load` on all `targets` at once, on the processors of the runner or on `cpus`.
    ///
    /// # Errors
    /// The load could not begin.
    pub(super) fn run(
        &self,
        label: &str,
        targets: &[&Target],
        load: &LoadSpec,
        cpus: Option<&[u32]>,
    ) -> Result<Run, Failure> {
        self.progress.phase(label, self.warm_up + self.time);
        let timing = Timing::exactly(self.time, self.warm_up);
        let (workload, mut options) = self.session.terms(load, &timing);
        if let Some(cpus) = cpus {
            options.cpus = cpus.to_vec();
        }
        let workers = options.workers;
        let allowance = self.writes.as_ref().map(|writes| writes.allow(Some(load)));
        let budget = allowance.filter(|_| load.write_percent > 0).map(|allowance| allowance.budget);
        let asked = Asked { workload, options, timing, budget, is_short: false };
        let bar = Moving { teller: &self.progress, before: self.warm_up };
        let seen = self.session.run(&asked, targets, &bar)?;
        let mut measurements = seen.measurements;
        for one in &mut measurements {
            // The verdict compares what all workers asked for with what waits in each layer.
            one.workload.queue_depth = one.workload.queue_depth.saturating_mul(workers);
        }
        let direction = if load.changes() { Direction::Write } else { Direction::Read };
        Ok(self.session.judged(direction, at_once(measurements), seen.activity))
    }
}
