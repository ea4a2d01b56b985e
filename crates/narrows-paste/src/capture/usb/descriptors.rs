//! The list of devices, and what `lsusb -v` prints below each.

use super::{Found, raise, take_identity};
use narrows_base::fact::Fact;
use narrows_base::units::BitsPerSec;
use narrows_machine::usb::{UsbAddress, UsbDevice};

/// Takes a line of the list or of descriptors; whether it was one.
pub(super) fn take(found: &mut Found, line: &str, source: impl Fn() -> String) -> bool {
    let line = line.trim();
    if let Some((address, identity)) = parse_head(line) {
        found.branch = super::tree::Branch::default();
        if let Some(device) = found.open(address) {
            if device.is_root_hub() {
                device.name = Fact::known(format!("usb{}", address.bus), source());
            }
            take_identity(device, identity, source);
        }
        return true;
    }
    let Some(device) = found.last() else { return false };
    take_descriptor(device, line, source)
}

/// Reads `Bus 004 Device 002: ID 0578:0578 Intrinsix Corp. JMS580`.
fn parse_head(line: &str) -> Option<(UsbAddress, &str)> {
    let (bus, rest) = line.strip_prefix("Bus ")?.split_once(" Device ")?;
    let (device, identity) = rest.split_once(": ID ")?;
    Some((UsbAddress { bus: bus.parse().ok()?, device: device.parse().ok()? }, identity))
}

fn take_descriptor(device: &mut UsbDevice, line: &str, source: impl Fn() -> String) -> bool {
    let (key, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let value = value.trim();
    match key {
        "bcdUSB" => device.version = Fact::known(value.to_owned(), source()),
        "iProduct" => {
            // The number of the string comes before it.
            let name = value.split_once(' ').map_or("", |(_, name)| name.trim());
            if !name.is_empty() {
                device.product = Fact::known(name.to_owned(), source());
            }
        }
        "bInterfaceClass" => {
            let class = value.split_once(' ').map_or("", |(_, class)| class.trim());
            if !class.is_empty() && !device.is_storage() {
                device.class = Fact::known(class.to_owned(), source());
            }
        }
        _ => return take_rate(device, line, source),
    }
    true
}

/// The rates that a device announces, and the one that usbutils from 014 on asks the kernel for.
fn take_rate(device: &mut UsbDevice, line: &str, source: impl Fn() -> String) -> bool {
    if let Some(rate) = line.strip_prefix("Negotiated speed: ").and_then(bracketed).and_then(parse_rate) {
        device.speed = Fact::known(rate, source());
        return true;
    }
    let most = if let Some(speed) = line.strip_prefix("Device can operate at ") {
        bracketed(speed).and_then(parse_rate)
    } else if let Some((_, speed)) =
        line.strip_prefix("Speed Attribute ID: ").and_then(|rest| rest.split_once(' '))
    {
        speed.split(' ').next().and_then(parse_rate)
    } else {
        None
    };
    if let Some(most) = most {
        raise(&mut device.most_speed, most, source());
    }
    most.is_some()
}

/// The rate in `SuperSpeed+ (10Gbps)`.
fn bracketed(text: &str) -> Option<&str> {
    text.split_once('(')?.1.split_once(')').map(|(rate, _)| rate)
}

/// Reads `480Mbps`, `5Gbps`, `10Gb/s`.
fn parse_rate(text: &str) -> Option<BitsPerSec> {
    let number = |end: &str| text.split_once(end).and_then(|(number, _)| number.trim().parse::<f64>().ok());
    let megabits = number("Gb").map(|rate| rate * 1000.0).or_else(|| number("Mb"))?;
    (megabits > 0.0 && megabits < 1e6).then(|| BitsPerSec::from_mbit(megabits))
}
