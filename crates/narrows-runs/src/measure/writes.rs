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
    let mut text = "data that cannot be compressed".to_owned();
    if let Some(counted) = writes.device_written.filter(|_| !is_device) {
        text.push_str(&format!(" ({counted} by the device's counter, whoever wrote it)"));
    }
    text.push_str(&match writes.limit_is_asked {
        false => "; that much is allowed without --max-writes".to_owned(),
        true => "; --max-writes allows that much".to_owned(),
    });
    if let Some(estimate) = &writes.estimate {
        text.push_str(&format!(
            "; estimated {} in {}, took {}",
            estimate.bytes, estimate.time, estimate.actual_time
        ));
    }
    out.say(9, Tone::Normal, text);
}
