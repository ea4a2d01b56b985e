//! What the guard needs of others and tells them while a device is written: who keeps the record of it, who watches the steps, and
//! the watch over its counters, which stops all when somebody else writes to it.

use std::fmt::Debug;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::census::Census;
use super::decide::Refusal;
use super::plan::Plan;
use super::slice::Flusher;
use crate::effort::looking_on;
use crate::marks::RunSecret;
use narrows_base::units::Bytes;

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
                let seen = looking_on(|| {
                    flusher.flush();
                    census.check()
                });
                if seen.is_err() {
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

/// Keeps the record of what is written to a device, and looks for others who use it.
pub trait Keeper: Debug + Send + Sync {
    /// The secret of an earlier run on this device that was not cleared, as far as its record is here.
    fn earlier(&self) -> Option<RunSecret> {
        None
    }

    /// Writes down the secret of the run that begins. It is on stable storage when this returns; nothing is written before.
    ///
    /// # Errors
    /// It is not.
    fn record(&self, secret: &RunSecret) -> io::Result<()>;

    /// Nothing bears the marks of the run any more.
    fn forget(&self) {}

    /// Whether what is behind the device is what it was. Asked again and again, and before each part that is cleared.
    ///
    /// # Errors
    /// What changed, as a sentence.
    fn check_behind(&self) -> Result<(), String> {
        Ok(())
    }

    /// Whether nobody else wrote to what is behind it. Asked as often; what bears our marks is cleared all the same, once nobody
    /// uses the device.
    ///
    /// # Errors
    /// Who did, as a sentence.
    fn check_writers(&self) -> Result<(), String> {
        Ok(())
    }

    /// Whether nobody else uses the device: the same question before it is written and before it is cleared.
    ///
    /// # Errors
    /// Somebody does.
    fn check_unused(&self) -> Result<(), Refusal> {
        Ok(())
    }
}

/// Keeps the secret in this process alone: when that is killed, nobody can tell what it wrote.
#[derive(Debug)]
pub(super) struct Unkept;

impl Keeper for Unkept {
    fn record(&self, _: &RunSecret) -> io::Result<()> {
        Ok(())
    }
}

/// What is being done to a device before and after it is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// It is going to be searched like this.
    Planned(Plan),
    /// It is being searched.
    Searching {
        /// As planned.
        plan: Plan,
        /// The reads so far.
        done: u64,
        /// The time so far.
        elapsed: Duration,
    },
    /// What may be written is being read.
    Proving {
        /// The bytes so far.
        done: Bytes,
        /// All bytes.
        of: Bytes,
    },
    /// What was written is being cleared.
    Clearing {
        /// The bytes so far.
        done: Bytes,
        /// All bytes.
        of: Bytes,
    },
}

/// Is told what is done, and ends it by answering [`ControlFlow::Break`].
pub type Watch<'a> = &'a mut dyn FnMut(Step) -> ControlFlow<()>;
