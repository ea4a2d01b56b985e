//! The network alone, through iperf3 where it is installed and its server runs at the far end.

use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::Value;

use crate::cli::bench::runner::Runner;
use narrows_base::units::{BitsPerSec, BytesPerSec};
use narrows_machine::program;
use narrows_machine::root::Root;
use narrows_session::fleet::LinkError;
use narrows_session::fleet::started::output;
use narrows_verdict::ladder::{Leg, LegKind};

/// How long iperf3 sends.
const SECONDS: u64 = 5;
/// How long the far end may let it wait in all.
const PATIENCE: Duration = Duration::from_secs(4 * SECONDS);

/// Both directions to `peer`, or what would measure them.
pub(super) fn legs(peer: Option<&str>, runner: &Runner<'_>) -> Vec<Leg> {
    let Some(peer) = peer else {
        let reason = "start `iperf3 --server` at the far end, if it is yours, and name it with --peer HOST";
        return vec![Leg::missing(LegKind::Network, "network", reason)];
    };
    [("network, receiving", true), ("network, sending", false)]
        .into_iter()
        .filter(|_| !runner.is_stopped())
        .map(|(name, receiving)| {
            runner.progress.phase(name, Duration::from_secs(SECONDS));
            match iperf(runner.root(), (peer, receiving), runner.stop()) {
                Ok(rate) => Leg::measured(LegKind::Network, name, 0, rate, "iperf3, one connection"),
                Err(reason) => Leg::missing(LegKind::Network, name, reason),
            }
        })
        .collect()
}

fn iperf(root: &Root, (peer, receiving): (&str, bool), stop: &AtomicBool) -> Result<BytesPerSec, String> {
    let mut command = program::command(root, "iperf3").ok_or_else(not_installed)?;
    command.args(["--json", "--time", &SECONDS.to_string(), "--connect-timeout", "3000", "--client", peer]);
    if receiving {
        command.arg("--reverse");
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let done = output(&mut command, &[], PATIENCE, stop).map_err(|error| match error {
        LinkError::Unreachable(_) => not_installed(),
        error => format!("iperf3: {error}"),
    })?;
    parse(&String::from_utf8_lossy(&done.stdout))
}

fn not_installed() -> String {
    format!("iperf3 is not installed here ({}); it measures the network", program::places())
}

/// Reads `iperf3 --json`: what arrived, or its own error.
fn parse(text: &str) -> Result<BytesPerSec, String> {
    let report: Value =
        serde_json::from_str(text).map_err(|error| format!("iperf3 printed no JSON: {error}"))?;
    if let Some(error) = report.get("error").and_then(Value::as_str) {
        return Err(format!("iperf3: {error}"));
    }
    let rate = report.pointer("/end/sum_received/bits_per_second").and_then(Value::as_f64);
    let rate = rate.filter(|rate| rate.is_finite() && *rate > 0.0);
    rate.map(|rate| BitsPerSec::new(rate).bytes_per_sec()).ok_or_else(|| "iperf3 says no rate".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_arrived_is_the_rate() {
        let text =
            r#"{"end":{"sum_sent":{"bits_per_second":9.9e9},"sum_received":{"bits_per_second":9.4e9}}}"#;
        assert_eq!(parse(text), Ok(BytesPerSec::new(9.4e9 / 8.0)));
    }

    #[test]
    fn an_error_of_its_own_is_passed_on_and_nothing_is_no_rate() {
        let refused = r#"{"start":{},"end":{},"error":"unable to connect to server: Connection refused"}"#;
        assert!(parse(refused).unwrap_err().contains("Connection refused"));
        assert!(parse("{}").is_err() && parse("").is_err() && parse("[1]").is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}") {
            let _ = parse(&text);
        }
    }
}
