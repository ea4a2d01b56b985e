//! A copy that says how far it is: of `narrows copy`, and of a lab.

use std::path::Path;
use std::time::Duration;

use crate::Teller;
use crate::measure::{self, Copied};
use narrows_base::units::{Bytes, human};
use narrows_load::copy::{CopyControl, CopyError, CopyOptions, MOST_MEMORY, Side};
use narrows_machine::memory;
use narrows_machine::root::Root;

/// What takes less time than this shows no progress.
const SHOW_AFTER: Duration = Duration::from_secs(1);
/// The part of what this process could still get that the blocks of a copy may take, as a divisor.
const MEMORY: u64 = 4;

/// Copies while a `teller` hears how far that is.
///
/// # Errors
/// Nothing can be copied.
pub fn shown<T: Teller>(
    root: &Root,
    ends: (&Path, &Path),
    options: &CopyOptions,
    control: &CopyControl,
    teller: fn() -> T,
) -> Result<Copied, CopyError> {
    let mut progress = None;
    let look = &mut |elapsed: Duration| {
        if elapsed < SHOW_AFTER {
            return;
        }
        let bar = progress.get_or_insert_with(|| {
            let bar = teller();
            bar.phase(if options.verify { "copying and verifying" } else { "copying" }, Duration::ZERO);
            bar
        });
        let (done, whole) = control.progress();
        let text = format!("{} · {} files", human::rate(done.per(elapsed)), control.files());
        bar.amount(done, whole, &text);
    };
    measure::copy(root, ends, options, control, look)
}

/// What the blocks of a copy may take: a part of what this process could still get, and never more than helps.
pub fn memory(root: &Root) -> Bytes {
    let share = memory::memory_left(root).map(|left| Bytes::new(left.get() / MEMORY));
    share.map_or(MOST_MEMORY, |share| share.min(MOST_MEMORY))
}

/// A stable word for what limits a copy.
pub const fn side_name(side: Side) -> &'static str {
    match side {
        Side::Source => "source",
        Side::Destination => "destination",
        Side::Verification => "verification",
        Side::Metadata => "metadata",
        Side::Processor => "processor",
        Side::Contention => "contention",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_machine::tree::Tree;

    #[test]
    fn blocks_take_a_quarter_of_what_is_left_and_no_more_than_helps() {
        let left = |kib: &str| {
            let mut tree = Tree::new();
            tree.file("/proc/meminfo", &format!("MemAvailable: {kib} kB\n"));
            memory(&Root::from_tree(tree))
        };
        assert_eq!(left("1048576"), Bytes::from_mib(256));
        assert_eq!(left("104857600"), MOST_MEMORY);
        assert_eq!(memory(&Root::from_tree(Tree::new())), MOST_MEMORY, "nobody tells");
    }
}
