//! `narrows guard`: may narrows write to this device? Writes nothing but with `--clean`. `bench --write` asks the same here before it
//! writes.

pub mod args;
mod clean;
pub(super) mod watching;

use std::sync::atomic::AtomicBool;

use args::GuardArgs;

use super::{FINDINGS, Failure, NOTHING_FOUND, apart, output, target};
use narrows_base::units::Bytes;
use narrows_load::guard::{Reason, Refusal, WritableDevice};
use narrows_machine::root::Root;
use narrows_report as report;
use narrows_session::guard::{Decision, Guard, NotWritable, is_about_naming};
use watching::Watching;

/// Opens the device, reads who uses it, examines it and all that belongs to it, and decides.
///
/// # Errors
/// [`Failure`] when there is no such device, or it cannot be opened.
pub(super) fn run(args: &GuardArgs) -> Result<u8, Failure> {
    let root = Root::live();
    let instead = "name a block device such as /dev/nvme1n1; scratch files need no permission";
    let name = target::block_device(&root, &args.device, instead)?;
    if args.clean {
        return clean::run(args, &root, &name);
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
    let shown = report::guard::build(&name, size, examined, &reasons, searched.as_ref(), ways);
    output::data(&render(&shown, args.json)?)?;
    Ok(if shown.may_write { NOTHING_FOUND } else { FINDINGS })
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
        NotWritable::Refused(refusal) => refused(root, refusal),
        NotWritable::Load(error) => error.into(),
        NotWritable::Interrupted => Failure::new(error.to_string()),
    }
}

/// A refusal with what can be done about each of its reasons.
fn refused(root: &Root, refusal: &Refusal) -> Failure {
    let ways = ways(root, &refusal.device, &refusal.reasons);
    Failure::new(refusal.to_string()).hints(report::guard::hints(&refusal.reasons, &ways))
}

/// The commands that make a device blank.
fn ways(root: &Root, name: &str, reasons: &[Reason]) -> Vec<report::guard::WayView> {
    let discards = root.number(&format!("/sys/class/block/{name}/queue/discard_max_bytes")).get();
    report::guard::ways(name, discards.unwrap_or(0) > 0, reasons)
}

fn render(shown: &report::guard::GuardReport, json: bool) -> Result<String, Failure> {
    if !json {
        return Ok(report::guard::render(shown));
    }
    output::json(shown)
}
