//! `narrows guard --clean`: clears what a killed run of ours left on a device.

use super::args::GuardArgs;
use super::watching::Watching;
use super::{failure, ways};
use crate::cli::signals::stop_on_signals;
use crate::cli::{FAILED, Failure, NOTHING_FOUND, output};
use narrows_load::guard::{Cleaned, Reason};
use narrows_machine::root::Root;
use narrows_report as report;

/// Clears the device and shows what came of it.
///
/// # Errors
/// [`Failure`] when somebody uses the device, it was not named, or a read or write fails.
pub(super) fn run(args: &GuardArgs, root: &Root, name: &str) -> Result<u8, Failure> {
    let stop = stop_on_signals()?;
    let mut watching = Watching::new(name, Some(&stop));
    let cleaned =
        super::of(root, name).clean(args.i_own.as_deref(), &mut |size, step| watching.step(size, step));
    drop(watching);
    let (size, Cleaned { cleared, left, searched }) = cleaned.map_err(|error| failure(root, &error))?;
    let reasons: Vec<Reason> = left.into_iter().chain(report::guard::left_by(name, &cleared)).collect();
    let ways = ways(root, name, &reasons);
    let mut shown = report::guard::build(name, size, vec![name.to_owned()], &reasons, Some(&searched), ways);
    shown.cleaned = Some(cleared);
    output::data(&super::render(&shown, args.json)?)?;
    Ok(if shown.may_write { NOTHING_FOUND } else { FAILED })
}
