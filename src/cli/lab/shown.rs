//! What a lab came to, as text or JSON.

use serde::Serialize;

use crate::cli::Failure;
use crate::lab::{Basis, Cell, Outcome};
use crate::report::sanitize::inert;
use crate::units::human;

/// The report.
#[derive(Debug, Serialize)]
pub(super) struct Lab {
    schema: &'static str,
    /// Whether the devices were scratch files.
    scratch: bool,
    /// What was measured of each device alone.
    pub(super) basis: Option<Basis>,
    /// The cells.
    pub(super) outcomes: Vec<Outcome>,
}

impl Lab {
    /// A report with the outcomes that are known already.
    pub(super) const fn new(scratch: bool, outcomes: Vec<Outcome>) -> Self {
        Self { schema: "narrows/lab/1", scratch, basis: None, outcomes }
    }

    /// Whether a cell is in it.
    pub(super) fn has(&self, cell: Cell) -> bool {
        self.outcomes.iter().any(|outcome| outcome.cell == cell)
    }

    /// Whether a cell failed, or a result is not to be trusted.
    pub(super) fn has_doubts(&self) -> bool {
        self.outcomes
            .iter()
            .any(|outcome| outcome.failed.is_some() || outcome.measured.iter().any(|one| !one.trusted))
    }

    /// The whole of it.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub(super) fn text(&self, json: bool) -> Result<String, Failure> {
        if json {
            let text = serde_json::to_string_pretty(self);
            let text = text.map_err(|error| Failure::new(format!("cannot write JSON: {error}")))?;
            return Ok(text + "\n");
        }
        let mut text = String::new();
        if self.scratch {
            text.push_str("on scratch files, so these are rates of a trial\n");
        }
        for outcome in &self.outcomes {
            text.push_str(&format!("{}\n", outcome.cell));
            for one in &outcome.measured {
                let rate = human::rate(one.measurement.bytes_per_second);
                let doubt = if one.trusted { "" } else { "  not trusted" };
                text.push_str(&format!("  {:<40} {rate}{doubt}\n", one.test));
            }
            if outcome.resyncing {
                text.push_str("  the array was still resyncing\n");
            }
            for written in &outcome.written {
                text.push_str(&format!("  {} wrote {}\n", written.device, human::bytes(written.bytes)));
            }
            if let Some(why) = &outcome.failed {
                text.push_str(&format!("  failed: {}\n", inert(why)));
            }
        }
        Ok(text)
    }
}
