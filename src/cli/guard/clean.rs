//! `narrows guard --clean`: clears what a killed run of ours left on a device.

use super::args::GuardArgs;
use super::watching::Watching;
use super::{blank, not_opened, open, refused, settled_usage, silence};
use crate::cli::signals::stop_on_signals;
use crate::cli::{FAILED, Failure, NOTHING_FOUND, output};
use narrows_load::guard::{self, Cleaned, Medium, Reason, Refusal};
use narrows_machine::root::Root;
use narrows_report as report;
use narrows_report::progress::Progress;

/// Clears the device and shows what came of it.
///
/// # Errors
/// [`Failure`] when somebody uses the device, it was not named, or a read or write fails.
pub(super) fn run(args: &GuardArgs, root: &Root, name: &str) -> Result<u8, Failure> {
    let stop = stop_on_signals()?;
    let device = open(name)?;
    let usage = settled_usage(root, name);
    let size = device.size();
    // What does not answer is named; what is suspended is a user of the device, and refused as such.
    if let Some([silent]) = silence(&usage)?.as_deref()
        && let Some(error) = silent.unreadable.clone()
    {
        let reasons = vec![Reason::Unreadable { device: silent.device.clone(), error }];
        return Err(refused(root, &Refusal { device: name.to_owned(), reasons }));
    }
    let permit = guard::decide_to_clean(device, &usage, args.i_own.as_deref());
    let permit = permit.map_err(|refusal| refused(root, &refusal))?;
    let progress = Progress::on_stderr(false);
    let mut watching = Watching::new(name, size, &progress, Some(&stop));
    let cleaned = guard::clean(permit, &mut |step| watching.step(step));
    drop(progress);
    let Cleaned { cleared, left, searched } = cleaned.map_err(|error| not_opened(root, &error))?;
    let reasons: Vec<Reason> = left.into_iter().chain(report::guard::left_by(name, &cleared)).collect();
    let ways = blank::ways(root, name, &reasons);
    let mut shown = report::guard::build(name, size, vec![name.to_owned()], &reasons, Some(&searched), ways);
    shown.cleaned = Some(report::guard::cleaned(&cleared));
    output::data(&super::render(&shown, args.json)?)?;
    Ok(if shown.may_write { NOTHING_FOUND } else { FAILED })
}
