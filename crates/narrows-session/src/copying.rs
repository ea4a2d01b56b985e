//! A copy that says how far it is: of `narrows copy`, and of a lab.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::Teller;
use crate::measure::Witness;
use narrows_base::units::{Bytes, human};
use narrows_load::copy::{self, CopyControl, CopyError, CopyOptions, CopyResult, MOST_MEMORY, Side};
use narrows_machine::activity::Activity;
use narrows_machine::memory;
use narrows_machine::root::Root;

/// What takes less time than this shows no progress.
const SHOW_AFTER: Duration = Duration::from_secs(1);
/// The part of what this process could still get that the blocks of a copy may take, as a divisor.
const MEMORY: u64 = 4;

/// How often it is looked at, once it has run for a second; more often before that.
const LOOK: Duration = Duration::from_millis(50);

/// What came of a copy.
#[derive(Debug)]
pub struct Copied {
    /// What was copied, and where the time went.
    pub result: CopyResult,
    /// What was counted from before the first to after the last byte, and nothing else of the machine.
    pub activity: Activity,
}

/// Copies in a thread of its own, while a `teller` hears how far that is.
///
/// # Errors
/// Nothing can be copied.
pub fn shown<T: Teller>(
    witness: &impl Witness,
    (source, destination): (&Path, &Path),
    options: &CopyOptions,
    control: &CopyControl,
    teller: fn() -> T,
) -> Result<Copied, CopyError> {
    let mut progress = None;
    let mut show = |elapsed: Duration| {
        if elapsed < SHOW_AFTER {
            return;
        }
        let bar = progress.get_or_insert_with(|| {
            let bar = teller();
            bar.phase(if options.verify { "copying and verifying" } else { "copying" }, Duration::ZERO);
            bar
        });
        let (done, whole) = control.progress();
        bar.amount(done, whole, &how_far((done, whole), control.files(), elapsed));
    };
    let before = witness.counters();
    let result = thread::scope(|scope| {
        let copying = scope.spawn(|| copy::copy(source, destination, options, control));
        let begin = Instant::now();
        while !control.is_done() && !copying.is_finished() {
            thread::sleep(LOOK.min(Duration::from_millis(5) + begin.elapsed() / 20));
            show(begin.elapsed());
        }
        let panicked = |_| Err(CopyError::Worker("it panicked; this is a bug in narrows".to_owned()));
        copying.join().unwrap_or_else(panicked)
    })?;
    Ok(Copied { result, activity: Activity::between(&before, &witness.counters()) })
}

/// `1.2 GB of 40 GB · 310 MB/s · 17 files · 2 min 5 s left`.
fn how_far((done, whole): (Bytes, Bytes), files: u64, elapsed: Duration) -> String {
    let rate = done.per(elapsed);
    let mut text =
        format!("{} of {} · {} · {files} files", human::bytes(done), human::bytes(whole), human::rate(rate));
    let left = whole.saturating_sub(done).as_f64() / rate.get();
    if let Ok(left) = Duration::try_from_secs_f64(left) {
        text.push_str(&format!(" · {} left", human::time(Duration::from_secs(left.as_secs().max(1)).into())));
    }
    text
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
    fn how_far_a_copy_is_has_a_total_and_the_time_that_is_left() {
        let gb = |count: u64| Bytes::new(count * 1_000_000_000);
        let text = how_far((gb(10), gb(40)), 17, Duration::from_secs(20));
        assert_eq!(text, "10 GB of 40 GB · 500 MB/s · 17 files · 60 s left");
        assert_eq!(how_far((gb(0), gb(40)), 0, Duration::from_secs(2)), "0 B of 40 GB · 0 B/s · 0 files");
    }

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
