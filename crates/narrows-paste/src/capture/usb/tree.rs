//! The tree of `lsusb -t`, and the numbers that `-v` adds below each device.

use super::{Found, take_identity};
use narrows_base::fact::Fact;
use narrows_base::units::BitsPerSec;
use narrows_machine::usb::UsbAddress;

/// No chain of hubs is longer (Universal Serial Bus 3.2 Specification, section 10.1: seven tiers); kernel names stay
/// short.
const DEEPEST: usize = 8;

/// Where in the tree the line before was.
#[derive(Default)]
pub(super) struct Branch {
    bus: Option<u16>,
    /// The column and port of each device above.
    ports: Vec<(usize, u16)>,
}

/// Takes a line of the tree; whether it was one.
pub(super) fn take(found: &mut Found, line: &str, source: impl Fn() -> String) -> bool {
    let plain = line.trim_start();
    if let Some(root) = plain.strip_prefix("/:") {
        return take_root(found, root.trim_start(), source);
    }
    if let Some(child) = plain.strip_prefix("|__ ") {
        return take_child(found, column(line), child, source);
    }
    // A number on a line of its own is that of the device above it (`-v`).
    let Some(identity) = plain.strip_prefix("ID ").filter(|_| found.branch.bus.is_some()) else {
        return false;
    };
    let Some(device) = found.last() else { return false };
    take_identity(device, identity, source);
    true
}

/// The column of the first character, tabs counting as eight.
fn column(line: &str) -> usize {
    line.bytes().take_while(u8::is_ascii_whitespace).map(|byte| if byte == b'\t' { 8 } else { 1 }).sum()
}

/// `Bus 02.Port 1: Dev 1, Class=root_hub, Driver=xhci_hcd/4p, 10000M`.
fn take_root(found: &mut Found, line: &str, source: impl Fn() -> String) -> bool {
    let Some((bus, rest)) = line.strip_prefix("Bus ").and_then(|rest| rest.split_once('.')) else {
        return false;
    };
    let Ok(bus) = bus.parse() else { return false };
    found.branch = Branch { bus: Some(bus), ports: Vec::new() };
    let Some(fields) = rest.split_once(": ").and_then(|(_, fields)| Fields::parse(fields)) else {
        return false;
    };
    let Some(hub) = found.open(UsbAddress { bus, device: fields.device }) else { return true };
    hub.name = Fact::known(format!("usb{bus}"), source());
    fields.fill(hub, source);
    true
}

/// `Port 4: Dev 4, If 0, Class=Mass Storage, Driver=usb-storage, 5000M`.
fn take_child(found: &mut Found, column: usize, line: &str, source: impl Fn() -> String) -> bool {
    let Some(bus) = found.branch.bus else { return false };
    let Some((port, fields)) = line.strip_prefix("Port ").and_then(|rest| rest.split_once(": ")) else {
        return false;
    };
    let (Ok(port), Some(fields)) = (port.parse(), Fields::parse(fields)) else { return false };
    let ports = &mut found.branch.ports;
    while ports.last().is_some_and(|(above, _)| *above >= column) {
        ports.pop();
    }
    if ports.len() >= DEEPEST {
        return false;
    }
    ports.push((column, port));
    let path: Vec<String> = ports.iter().map(|(_, port)| port.to_string()).collect();
    let name = format!("{bus}-{}", path.join("."));
    let Some(device) = found.open(UsbAddress { bus, device: fields.device }) else { return true };
    device.name = Fact::known(name, source());
    fields.fill(device, source);
    true
}

/// What stands behind the place of a device.
struct Fields<'a> {
    device: u16,
    class: Option<&'a str>,
    driver: Option<&'a str>,
    speed: Option<BitsPerSec>,
}

impl<'a> Fields<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut fields = text.split(", ");
        let device = fields.next()?.strip_prefix("Dev ")?.trim().parse().ok()?;
        let mut found = Self { device, class: None, driver: None, speed: None };
        for field in fields {
            if let Some(class) = field.strip_prefix("Class=") {
                found.class = Some(class.trim());
            } else if let Some(driver) = field.strip_prefix("Driver=") {
                // Hubs add the number of their ports, `hub/4p`.
                let driver = driver.split('/').next().unwrap_or_default().trim();
                found.driver = Some(driver).filter(|driver| !driver.is_empty() && *driver != "[none]");
            } else if let Some(speed) = parse_speed(field) {
                found.speed = Some(speed);
            }
        }
        Some(found)
    }

    /// A device has a line for each interface: the one that stores counts, else the first.
    fn fill(&self, device: &mut narrows_machine::usb::UsbDevice, source: impl Fn() -> String) {
        if let Some(speed) = self.speed {
            device.speed = Fact::known(speed, source());
        }
        let is_first = device.class.value().is_none() && device.driver.value().is_none();
        if is_first || (!device.is_storage() && matches!(self.driver, Some("uas" | "usb-storage"))) {
            let known = |text: Option<&str>| text.map(|text| Fact::known(text.to_owned(), source()));
            device.class = known(self.class).unwrap_or_default();
            device.driver = known(self.driver).unwrap_or_default();
        }
    }
}

/// Reads `480M`, `1.5M`, `20000M/x2`; what somebody wrote behind it does not matter.
fn parse_speed(text: &str) -> Option<BitsPerSec> {
    let (number, rest) = text.split_once('M')?;
    let rate: f64 = number.parse().ok()?;
    let ends = rest.is_empty() || rest.starts_with(['/', ' ', '\t']);
    (ends && rate > 0.0 && rate < 1e6).then(|| BitsPerSec::from_mbit(rate))
}
