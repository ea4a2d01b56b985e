//! One side of a leg on a host: orders go in as lines, answers come back as lines.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::super::orders::{Answer, Order};
use super::Link;

/// A side of a leg that runs. It ends when this is dropped.
pub(in crate::fleet) struct Leg {
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<String>,
}

impl Link {
    /// Starts a side of a leg on the host and gives it an order.
    pub(in crate::fleet) fn leg(&self, order: &Order) -> Result<Leg, String> {
        let mut command = self.on_host("leg").map_err(|error| error.to_string())?;
        command.stdin(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let input = child.stdin.take();
        let (tell, answers) = channel();
        if let Some(out) = child.stdout.take() {
            thread::spawn(move || {
                for line in BufReader::new(out.take(1 << 20)).lines().map_while(Result::ok) {
                    let _ = tell.send(line);
                }
            });
        }
        let mut leg = Leg { child, input, answers };
        leg.tell(order);
        Ok(leg)
    }
}

impl Leg {
    /// Gives an order. A side that is gone does not answer.
    pub(in crate::fleet) fn tell(&mut self, order: &Order) {
        if let (Some(input), Ok(line)) = (&mut self.input, serde_json::to_string(order)) {
            let _ = input.write_all((line + "\n").as_bytes()).and_then(|()| input.flush());
        }
    }

    /// The next answer.
    pub(in crate::fleet) fn answer(&mut self, patience: Duration) -> Result<Answer, String> {
        let line = self.answers.recv_timeout(patience).map_err(|error| match error {
            RecvTimeoutError::Timeout => "it does not answer".to_owned(),
            RecvTimeoutError::Disconnected => "it ended without an answer".to_owned(),
        })?;
        serde_json::from_str(&line).map_err(|_| "its answer is none".to_owned())
    }
}

impl Drop for Leg {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = super::wait_until(&mut self.child, std::time::Instant::now() + Duration::from_secs(2));
    }
}
