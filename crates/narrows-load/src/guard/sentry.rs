//! Watches a device while it is filled and measured: when somebody else writes to it, all is stopped.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::census::Census;
use super::slice::Flusher;

/// How often the counters are compared.
const TICK: Duration = Duration::from_millis(50);

/// Watches until it is dropped.
#[derive(Debug)]
pub struct Sentry {
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sentry {
    /// Begins to watch. `stop` is raised when somebody else wrote; [`Census::check`] says what.
    ///
    /// # Errors
    /// There is no room for another thread.
    pub(super) fn start(census: Arc<Census>, flusher: Flusher, stop: Arc<AtomicBool>) -> io::Result<Self> {
        let end = Arc::new(AtomicBool::new(false));
        let until = end.clone();
        let look = move || {
            while !until.load(Ordering::Relaxed) {
                flusher.flush();
                if census.check().is_err() {
                    stop.store(true, Ordering::Relaxed);
                    return;
                }
                thread::sleep(TICK);
            }
        };
        let thread = thread::Builder::new().name("narrows-sentry".to_owned()).spawn(look)?;
        Ok(Self { end, thread: Some(thread) })
    }
}

impl Drop for Sentry {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
