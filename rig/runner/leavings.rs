//! What a scenario left.

#![expect(clippy::disallowed_methods, reason = "reads what the guest sent")]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::ability::LEAST_SHARE;

/// What the guest left.
#[derive(Debug)]
pub(crate) struct Leavings {
    /// Where all of it is.
    pub(crate) directory: PathBuf,
    /// How long the scenario took.
    pub(crate) elapsed: Duration,
    /// What stands on the consoles of the scenario's other guests.
    pub(crate) other_consoles: String,
    /// Which share the guest's processors got of the host's time that they asked for meanwhile; of several guests that of the worst.
    pub(crate) share: Option<f64>,
    /// How many seconds of the host's processors all its guests have used meanwhile.
    pub(crate) processor_seconds: f64,
}

impl Leavings {
    /// The contents of a result file of the guest; `None` when it was not written.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let bytes = fs::read(self.directory.join("result").join(name)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Why nothing follows from a failure: the guest's processors got too little of what they asked for. `None` where they got enough.
    pub(crate) fn lacks_processors(&self) -> Option<String> {
        let share = self.share.filter(|share| *share < LEAST_SHARE)?;
        let percent = share * 100.0;
        Some(format!(
            "this host gave the guest's processors only {percent:.0} % of the time that they asked for"
        ))
    }

    /// Whether the setup succeeded.
    pub(crate) fn is_set_up(&self) -> bool {
        self.text("setup.exit").as_deref().map(str::trim) == Some("0")
    }

    /// What stood on the guest's console.
    pub(crate) fn console(&self) -> String {
        let bytes = fs::read(self.directory.join("console.log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
