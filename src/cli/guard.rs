//! `narrows guard`: may narrows write to this device? Writes nothing but with `--clean`. `bench --write` asks the same here before it
//! writes.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;

use super::signals::{clearing, stop_on_signals};
use super::{FAILED, FINDINGS, Failure, NOTHING_FOUND, apart, output, target};
use narrows_base::units::{Bytes, human};
use narrows_load::guard::{Cleaned, Method, Reason, Step, WritableDevice};
use narrows_machine::root::Root;
use narrows_runs as runs;
use narrows_runs::progress::Progress;
use narrows_session::guard::{Decision, Guard, NotWritable, is_about_naming};
use narrows_session::{Teller, go_on_unless};

/// A search that takes no longer is not announced.
const SHORT: Duration = Duration::from_millis(1500);
/// How often the bar moves.
const TICK: Duration = Duration::from_millis(100);

/// What `guard` is asked.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct GuardArgs {
    /// The block device, such as /dev/nvme1n1; links are followed
    pub device: String,

    /// The serial number of the device, to show that it is the one that is meant
    #[arg(long, value_name = "SERIAL")]
    pub i_own: Option<String>,

    /// Clear exactly what a bench or sweep of narrows that was killed left on the device, and nothing else
    #[arg(long, requires = "i_own")]
    pub clean: bool,

    /// Print JSON (schema narrows/guard/1)
    #[arg(long)]
    pub json: bool,
}

/// Opens the device, reads who uses it, examines it and all that belongs to it, and decides.
///
/// # Errors
/// [`Failure`] when there is no such device, or it cannot be opened.
pub(super) fn run(args: &GuardArgs) -> Result<u8, Failure> {
    let root = Root::live();
    let instead = "name a block device such as /dev/nvme1n1; scratch files need no permission";
    let name = target::block_device(&root, &args.device, instead)?;
    if args.clean {
        return clean(args, &root, &name);
    }
    let guard = of(&root, &name);
    let decided = guard.decide(args.i_own.as_deref());
    let Decision { size, examined, permit, identity } = decided.map_err(|error| failure(&root, &error))?;
    let mut reasons = permit.map_or_else(|refusal| refusal.reasons, |_| Vec::new());
    let mut searched = None;
    if is_about_naming(&reasons) {
        let mut watching = Watching::new(&name, None);
        let (of_all, found) =
            guard.search(identity.as_deref(), &mut |size, step| watching.step(size, step))?;
        reasons.extend(found);
        searched = Some(of_all);
    }
    let ways = ways(&root, &name, &reasons);
    let shown = runs::guard::build(&name, size, examined, &reasons, searched.as_ref(), ways);
    output::json_or_text(&shown, args.json, runs::guard::render)?;
    Ok(if shown.may_write { NOTHING_FOUND } else { FINDINGS })
}

/// Clears what a killed run of ours left on the device, and shows what came of it.
///
/// # Errors
/// [`Failure`] when somebody uses the device, it was not named, or a read or write fails.
fn clean(args: &GuardArgs, root: &Root, name: &str) -> Result<u8, Failure> {
    let stop = stop_on_signals()?;
    let mut watching = Watching::new(name, Some(&stop));
    let cleaned = of(root, name).clean(args.i_own.as_deref(), &mut |size, step| watching.step(size, step));
    drop(watching);
    let (size, Cleaned { cleared, left, searched }) = cleaned.map_err(|error| failure(root, &error))?;
    let reasons: Vec<Reason> = left.into_iter().chain(runs::guard::left_by(name, &cleared)).collect();
    let ways = ways(root, name, &reasons);
    let mut shown = runs::guard::build(name, size, vec![name.to_owned()], &reasons, Some(&searched), ways);
    shown.cleaned = Some(cleared);
    output::json_or_text(&shown, args.json, runs::guard::render)?;
    Ok(if shown.may_write { NOTHING_FOUND } else { FAILED })
}

/// The guard of a device, which has a child look first whether it answers.
pub(super) fn of<'a>(root: &'a Root, name: &'a str) -> Guard<'a> {
    Guard { root, name, silent: &apart::silent }
}

/// Opens a device for writing, exclusively, if everything permits it: `size` bytes of it, or as many as there are between
/// its ends. `own` is what the user typed to name it. The search is announced, and ends when `stop` is raised.
///
/// # Errors
/// [`Failure`] with everything that speaks against it.
pub(super) fn open_for_writing(
    root: &Root,
    name: &str,
    own: &str,
    size: Bytes,
    stop: &AtomicBool,
) -> Result<WritableDevice, Failure> {
    let mut watching = Watching::new(name, Some(stop));
    let opened = of(root, name).open_for_writing(own, size, &mut |whole, step| watching.step(whole, step));
    opened.map_err(|error| failure(root, &error))
}

/// Whether a device may be written; the same as [`open_for_writing`], which is not done.
///
/// # Errors
/// [`Failure`] with everything that speaks against it.
pub(super) fn check(root: &Root, name: &str, own: Option<&str>) -> Result<(), Failure> {
    of(root, name).check(own).map_err(|error| failure(root, &error))
}

/// Why a device is not written to, with what can be done about each reason.
pub(super) fn failure(root: &Root, error: &NotWritable) -> Failure {
    match error {
        NotWritable::Refused(refusal) => {
            let ways = ways(root, &refusal.device, &refusal.reasons);
            Failure::new(refusal.to_string()).hints(runs::guard::hints(&refusal.reasons, &ways))
        }
        NotWritable::Load(error) => error.into(),
        NotWritable::Interrupted => Failure::new(error.to_string()),
    }
}

/// The commands that make a device blank.
fn ways(root: &Root, name: &str, reasons: &[Reason]) -> Vec<runs::guard::WayView> {
    let discards = root.number(&format!("/sys/class/block/{name}/queue/discard_max_bytes")).get();
    runs::guard::ways(name, discards.unwrap_or(0) > 0, reasons)
}

/// Follows what the guard does, with a bar from the first step on.
pub(super) struct Watching<'a> {
    name: &'a str,
    bar: Option<Progress>,
    /// Ends the work when it is raised.
    stop: Option<&'a AtomicBool>,
    /// What is done, and since when.
    phase: Option<(&'static str, Instant)>,
    shown: Option<Instant>,
}

impl<'a> Watching<'a> {
    /// Follows what is done to the device with this kernel name.
    pub(super) const fn new(name: &'a str, stop: Option<&'a AtomicBool>) -> Self {
        Self { name, bar: None, stop, phase: None, shown: None }
    }

    /// Shows a step of what is done to the device, which has this size.
    pub(super) fn step(&mut self, size: Bytes, step: Step) -> ControlFlow<()> {
        match step {
            Step::Planned(plan) => {
                if plan.time > SHORT || plan.method == Method::Random {
                    let (name, size) = (self.name, human::bytes(size));
                    output::note(&format!("searches {name} ({size}) for data: {plan}"));
                }
            }
            Step::Searching { plan, done, elapsed } => {
                if self.begins("searching for data", plan.time) {
                    self.bar().say(elapsed, &format!("{done} of {} reads", plan.reads.max(done)));
                }
            }
            Step::Proving { done, of } => self.bytes("reading what may be written", done, of),
            Step::Clearing { done, of } => {
                clearing(done, of);
                self.bytes("clearing what was written", done, of);
            }
        }
        go_on_unless(self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)))
    }

    fn bar(&mut self) -> &Progress {
        self.bar.get_or_insert_with(Progress::on_stderr)
    }

    fn bytes(&mut self, phase: &'static str, done: Bytes, of: Bytes) {
        if self.begins(phase, Duration::ZERO) {
            let rate = done.per(self.phase.map_or(Duration::ZERO, |(_, began)| began.elapsed()));
            let text = format!("{} of {}, {}", human::bytes(done), human::bytes(of), human::rate(rate));
            self.bar().amount(done, of, &text);
        }
    }

    /// Whether it is time to show something; begins a phase of the bar when it is new.
    fn begins(&mut self, phase: &'static str, length: Duration) -> bool {
        if self.phase.is_none_or(|(known, _)| known != phase) {
            self.phase = Some((phase, Instant::now()));
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
