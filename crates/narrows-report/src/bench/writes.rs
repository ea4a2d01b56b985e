//! What a run may write and has written, in words.

use crate::document::Blocks;
use crate::text::Tone;
use narrows_base::units::human;
use narrows_session::writes::Account;

/// What was written, in words.
pub(crate) fn put(out: &mut impl Blocks, writes: &Account, is_device: bool) {
    let (written, limit) = (human::bytes(writes.written), human::bytes(writes.limit));
    let mut text = format!("{written} of data that cannot be compressed");
    if let Some(counted) = writes.device_written.filter(|_| !is_device) {
        text.push_str(&format!(" ({counted} by the device's counter, whoever wrote it)"));
    }
    text.push_str(&match writes.limit_is_asked {
        false => format!("; {limit} are allowed without --max-writes"),
        true => format!("; --max-writes allows {limit}"),
    });
    if let Some(estimate) = &writes.estimate {
        text.push_str(&format!(
            "; estimated {} in {}, took {}",
            estimate.bytes, estimate.time, estimate.actual_time
        ));
    }
    if is_device {
        text.push_str("; what was written is cleared afterwards");
    }
    out.gap();
    out.lead((Tone::Faint, "written: "), Tone::Normal, text);
}
