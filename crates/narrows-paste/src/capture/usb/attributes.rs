//! Attributes of root hubs, printed with their paths: `/sys/bus/usb/devices/usb5/rx_lanes = 2`, or as `grep` does,
//! `…/usb5/speed:10000` (kernel `Documentation/ABI/testing/sysfs-bus-usb`).

use super::{Found, raise};
use narrows_base::fact::Fact;
use narrows_base::units::BitsPerSec;
use narrows_machine::usb::UsbAddress;

/// The rate of two lanes, Gen 2x2: a root hub has two only when it can do that (kernel `xhci_gen_setup`).
const TWO_LANES: f64 = 20_000.0;

/// Takes a line; whether it was one.
pub(super) fn take(found: &mut Found, line: &str, source: impl Fn() -> String) -> bool {
    let Some((_, rest)) = line.split_once("/sys/bus/usb/devices/usb") else { return false };
    let Some((bus, rest)) = rest.split_once('/') else { return false };
    let Some((name, value)) = rest.split_once(['=', ':', ' ']) else { return false };
    let value = value.trim_start_matches(['=', ':', ' ']).trim();
    let (Ok(bus), Ok(number)) = (bus.parse::<u16>(), value.parse::<f64>()) else { return false };
    let rate = match name.trim() {
        "speed" if number > 0.0 && number < 1e6 => BitsPerSec::from_mbit(number),
        "rx_lanes" | "tx_lanes" if value == "2" => BitsPerSec::from_mbit(TWO_LANES),
        _ => return false,
    };
    let Some(hub) = found.open(UsbAddress { bus, device: 1 }) else { return false };
    hub.name = Fact::known(format!("usb{bus}"), source());
    raise(&mut hub.speed, rate, source());
    true
}
