//! `ethtool eth0` and `ethtool -i eth0`. The second does not name its interface: that is in the command above it, or in
//! the name of the file as sosreport makes it (`ethtool_-i_eth0`).

use super::{learn, nic};
use crate::capture::Text;
use narrows_base::units::BitsPerSec;
use narrows_machine::Machine;

/// Reads every interface; whether there was one.
pub(super) fn read(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    let mut open: Option<String> = None;
    let mut named = text.name().rsplit_once("ethtool_-i_").map(|(_, name)| name.to_owned());
    for (number, line) in text.lines() {
        let trimmed = line.trim();
        if let Some(name) = trimmed.strip_prefix("Settings for ").and_then(|name| name.strip_suffix(':')) {
            open = Some(name.to_owned());
            continue;
        }
        if let Some((_, name)) = trimmed.split_once("ethtool -i ") {
            named = name.split_whitespace().next().map(str::to_owned);
            continue;
        }
        let Some((key, value)) = trimmed.split_once(':') else { continue };
        if key == "driver" {
            open = named.take();
        }
        let Some(nic) = open.as_ref().and_then(|name| nic(machine, name)) else { continue };
        let source = text.source(number);
        let value = value.trim();
        match key {
            "Speed" => learn(&mut nic.speed, speed(value), &source),
            "Duplex" => {
                let known = Some(value.to_lowercase()).filter(|duplex| !duplex.starts_with("unknown"));
                learn(&mut nic.duplex, known, &source);
            }
            "Link detected" => {
                let state = match value {
                    "yes" => Some("up".to_owned()),
                    _ if value.starts_with("no") => Some("down".to_owned()),
                    _ => None,
                };
                learn(&mut nic.state, state, &source);
            }
            "driver" => {
                learn(&mut nic.driver, Some(value.to_owned()).filter(|name| !name.is_empty()), &source)
            }
            "bus-info" => nic.pci = nic.pci.or(value.parse().ok()),
            _ => continue,
        }
        found = true;
    }
    found
}

/// `25000Mb/s`, `Unknown!`.
fn speed(value: &str) -> Option<BitsPerSec> {
    let megabits: u32 = value.strip_suffix("Mb/s")?.parse().ok()?;
    (megabits > 0 && megabits < u32::MAX).then(|| BitsPerSec::from_mbit(f64::from(megabits)))
}
