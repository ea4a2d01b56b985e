//! Watches the devices of a lab while it runs: whoever writes to one of them past the lab's slice is seen in the counters.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::place::Place;
use super::sight;
use super::slice::{Doubt, SliceRecord, doubt};
use narrows_load::guard::{Flusher, Keeper};
use narrows_machine::root::Root;

/// How often the counters are compared.
const TICK: Duration = Duration::from_millis(100);

/// What is watched: a disk and the slice on it.
#[derive(Debug)]
pub(super) struct Watched {
    /// Where they are.
    pub(super) place: Place,
    /// The slice, as it was made.
    pub(super) record: SliceRecord,
    /// What makes that writes are counted soon.
    pub(super) flusher: Flusher,
    /// Who watches what is behind the disk.
    pub(super) keeper: Option<Arc<dyn Keeper>>,
}

/// What was seen behind a disk: that it changed, or that others wrote to it.
pub(super) fn check_behind(keeper: Option<&Arc<dyn Keeper>>) -> Result<(), Doubt> {
    let Some(keeper) = keeper else { return Ok(()) };
    keeper.check_behind().and_then(|()| keeper.check_writers()).map_err(Doubt::Behind)
}

/// Watches until it is dropped.
#[derive(Debug)]
pub struct Watch {
    alarm: Arc<Mutex<Option<String>>>,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Begins to watch. `stop` is raised when somebody else wrote.
    pub(super) fn start(watched: Vec<Watched>, stop: Arc<AtomicBool>) -> Self {
        let (alarm, end) = (Arc::new(Mutex::new(None)), Arc::new(AtomicBool::new(false)));
        let (told, until) = (alarm.clone(), end.clone());
        let look = move || {
            let root = Root::live();
            while !until.load(Ordering::Relaxed) {
                if let Some(what) = watched.iter().find_map(|one| trouble(&root, one)) {
                    *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
                    stop.store(true, Ordering::Relaxed);
                    return;
                }
                thread::sleep(TICK);
            }
        };
        // Without a thread nobody watches; then what happened is seen when the slice is cleared, and nothing is.
        let thread = thread::Builder::new().name("watch".to_owned()).spawn(look).ok();
        Self { alarm, end, thread }
    }

    /// What was seen, as a sentence.
    pub fn alarm(&self) -> Option<String> {
        self.alarm.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// How often a mapping is asked: with I/Os in flight it may count a little later than the disk below. What others wrote stays.
const ASKED: usize = 4;

fn trouble(root: &Root, watched: &Watched) -> Option<String> {
    watched.flusher.flush();
    if let Err(why) = check_behind(watched.keeper.as_ref()) {
        return Some(sentence(&watched.place.disk, &why));
    }
    let ask = || {
        let now = sight::moment(root, &watched.place);
        // The disk is asked first: what ends in between has been counted for the slice alone. It is judged once nothing is in
        // flight, when the slice is cleared.
        let judged = doubt(&watched.record, now.as_ref(), true, false);
        judged.err().filter(|why| !matches!(why, Doubt::Hidden(_)))
    };
    let times = if watched.place.rest.is_some() { 1 } else { ASKED };
    let mut why = None;
    for _ in 0..times {
        why = Some(ask()?);
    }
    why.map(|why| sentence(&watched.place.disk, &why))
}

/// What is wrong with a device, as a sentence.
pub(super) fn sentence(disk: &str, why: &Doubt) -> String {
    format!("{disk}: {why}")
}
