//! What a run may write and has written, in words.

use narrows_base::units::human;
use narrows_report::document::{Blocks, Tone};
use narrows_session::writes::Account;

/// What was written, in words.
pub(crate) fn put(out: &mut impl Blocks, writes: &Account, is_device: bool) {
    let (written, limit) = (human::bytes(writes.written), human::bytes(writes.limit));
    out.gap();
    let cleared = if is_device { "; what was written is cleared afterwards" } else { "" };
    let brief = format!("{written} of the {limit} that may be written{cleared}");
    out.lead((Tone::Faint, "written: "), Tone::Normal, brief);
    out.verbose(|out| put_all(out, writes, is_device));
}

fn put_all(out: &mut impl Blocks, writes: &Account, is_device: bool) {
    let counted = writes.device_written.filter(|_| !is_device);
    let counted = counted.map(|it| format!(" ({it} by the device's counter, whoever wrote it)"));
    let allowed = match writes.limit_is_asked {
        false => "that much is allowed without --max-writes",
        true => "--max-writes allows that much",
    };
    let estimate = writes.estimate.as_ref();
    let estimate =
        estimate.map(|it| format!("; estimated {} in {}, took {}", it.bytes, it.time, it.actual_time));
    let [counted, estimate] = [counted, estimate].map(Option::unwrap_or_default);
    let text = format!("data that cannot be compressed{counted}; {allowed}{estimate}");
    out.say(9, Tone::Normal, text);
}
