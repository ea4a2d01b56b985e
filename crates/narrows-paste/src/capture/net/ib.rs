//! `ibstat` and `ibstatus`: ports of InfiniBand and RoCE adapters, by the name of their RDMA device (`mlx5_0`).

use super::{learn, nic};
use crate::capture::Text;
use narrows_base::units::BitsPerSec;
use narrows_machine::Machine;

/// Reads every port; whether there was one. Of several ports of one adapter the first that is active counts.
pub(super) fn read(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    let mut open: Option<String> = None;
    for (number, line) in text.lines() {
        let trimmed = line.trim();
        if let Some(name) = quoted(trimmed, "CA '").or_else(|| quoted(trimmed, "Infiniband device '")) {
            open = Some(name.to_owned());
            continue;
        }
        let (Some(name), Some((key, value))) = (&open, trimmed.split_once(':')) else { continue };
        let source = text.source(number);
        let value = value.trim();
        let Some(nic) = nic(machine, name) else { continue };
        match key.to_ascii_lowercase().as_str() {
            // `Rate: 100` in Gbit/s; `rate: 100 Gb/sec (4X EDR)`.
            "rate" => {
                let gigabits = value.split_whitespace().next().and_then(|rate| rate.parse::<f64>().ok());
                let rate = gigabits.filter(|rate| (1.0..=10_000.0).contains(rate));
                learn(&mut nic.speed, rate.map(|rate| BitsPerSec::from_mbit(rate * 1000.0)), &source);
            }
            // `Active`; `4: ACTIVE`.
            "state" => {
                let state = if value.to_ascii_lowercase().ends_with("active") { "up" } else { "down" };
                learn(&mut nic.state, Some(state.to_owned()), &source);
            }
            _ => continue,
        }
        found = true;
    }
    found
}

fn quoted<'a>(line: &'a str, before: &str) -> Option<&'a str> {
    line.strip_prefix(before)?.split('\'').next()
}
