//! A copy of real files: the pipeline of `narrows_load::copy`, followed while it runs, with what the machine counted meanwhile.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::evidence::Witness;
use narrows_load::copy::{self, CopyControl, CopyError, CopyOptions, CopyResult};
use narrows_machine::activity::Activity;

/// How often it is looked at, once it has run for a second; more often before that.
const LOOK: Duration = Duration::from_millis(50);

/// What came of a copy.
#[derive(Debug)]
pub struct Copied {
    /// What was copied, and where the time went.
    pub result: CopyResult,
    /// What was counted from before the first to after the last byte: [`Counters`](super::Evidence::Counters) only.
    pub activity: Activity,
}

/// Copies `source` to `destination` in a thread of its own, while `look` is called every now and then with the time so far.
///
/// # Errors
/// Nothing can be copied.
pub fn copy<W: Witness>(
    witness: &W,
    (source, destination): (&Path, &Path),
    options: &CopyOptions,
    control: &CopyControl,
    look: &mut dyn FnMut(Duration),
) -> Result<Copied, CopyError> {
    let before = witness.counters();
    let result = thread::scope(|scope| {
        let copying = scope.spawn(|| copy::copy(source, destination, options, control));
        let begin = Instant::now();
        while !control.is_done() && !copying.is_finished() {
            thread::sleep(LOOK.min(Duration::from_millis(5) + begin.elapsed() / 20));
            look(begin.elapsed());
        }
        let panicked = |_| Err(CopyError::Worker("it panicked; this is a bug in narrows".to_owned()));
        copying.join().unwrap_or_else(panicked)
    })?;
    Ok(Copied { result, activity: Activity::between(&before, &witness.counters()) })
}
