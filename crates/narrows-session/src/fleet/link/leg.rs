//! One side of a leg on a host: orders go in as lines, answers come back as lines.

use std::process::{ChildStdin, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::super::orders::{Answer, CONNECT, Order};
use super::super::started::{Started, lines, next, put};
use super::Link;

/// A side of a leg that runs. It ends when this is dropped.
pub(in crate::fleet) struct Leg {
    child: Started,
    input: Option<ChildStdin>,
    answers: Receiver<(String, u64)>,
    stop: Arc<AtomicBool>,
}

impl Link {
    /// Starts a side of a leg on the host and gives it an order.
    pub(in crate::fleet) fn leg(&self, order: &Order) -> Result<Leg, String> {
        let mut command = self.on_host("leg").map_err(|error| error.to_string())?;
        command.stdin(Stdio::piped()).stderr(Stdio::null());
        let mut child = Started::new(&mut command).map_err(|error| error.to_string())?;
        let (input, answers) = (child.child.stdin.take(), lines(child.child.stdout.take()));
        let mut leg = Leg { child, input, answers, stop: self.reach.stop.clone() };
        leg.tell(order);
        Ok(leg)
    }
}

impl Leg {
    /// Gives an order. A side that is gone does not answer.
    pub(in crate::fleet) fn tell(&mut self, order: &Order) {
        if let (Some(input), Ok(line)) = (&self.input, serde_json::to_string(order)) {
            let _ = put(input, (line + "\n").as_bytes(), Instant::now() + CONNECT, &self.stop);
        }
    }

    /// The next answer.
    pub(in crate::fleet) fn answer(&mut self, patience: Duration) -> Result<Answer, String> {
        let answer = next(&self.answers, Instant::now() + patience, &self.stop);
        let (line, _) = answer.map_err(|error| match error {
            RecvTimeoutError::Timeout => "it does not answer".to_owned(),
            RecvTimeoutError::Disconnected => "it ended without an answer".to_owned(),
        })?;
        serde_json::from_str(&line).map_err(|_| "its answer is none".to_owned())
    }
}

impl Drop for Leg {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait_until(Instant::now() + super::GRACE);
    }
}
