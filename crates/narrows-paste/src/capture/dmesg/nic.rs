//! Network interfaces, as their drivers report links.

use super::{Boot, Device, Line};
use narrows_base::units::BitsPerSec;
use narrows_machine::nic::Nic;

/// The longest name of an interface, `IFNAMSIZ` without its zero (kernel `include/uapi/linux/if.h`).
const LONGEST_NAME: usize = 15;

/// Understands `igb 0000:03:00.0 eth0: igb: eth0 NIC Link is Up 1000 Mbps Full Duplex`, `… eno1: Link is Up -
/// 1Gbps/Full`, `… eth0: Link is up at 1000 Mbps, full duplex`, `… enp6s0: NIC Up: 100 Mbps Full`, `… enp4s0: renamed
/// from eth0`.
pub(super) fn take(boot: &mut Boot, device: &Device<'_>, line: &Line<'_>) -> bool {
    let Some((name, what)) = device.rest.split_once(": ") else { return false };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(is_plain) {
        return false;
    }
    if let Some(old) = what.strip_prefix("renamed from ") {
        let nic = boot.machine.nics.remove(old.trim()).unwrap_or_default();
        boot.machine.nics.insert(name.to_owned(), nic);
        entry(boot, name, device, line);
        return true;
    }
    let lower = what.to_ascii_lowercase();
    let is_down = lower.contains("link is down");
    let Some(up) =
        ["link is up", "nic up:"].iter().find_map(|key| lower.split_once(key)).map(|(_, rest)| rest)
    else {
        if is_down {
            let nic = entry(boot, name, device, line);
            nic.state = line.known("down".to_owned());
            nic.speed = narrows_base::fact::Fact::absent(line.source().as_str());
        }
        return is_down;
    };
    let nic = entry(boot, name, device, line);
    nic.state = line.known("up".to_owned());
    if let Some(speed) = parse_speed(up) {
        nic.speed = line.known(speed);
    }
    if let Some(duplex) = ["full", "half"].iter().find(|duplex| up.contains(*duplex)) {
        nic.duplex = line.known((*duplex).to_owned());
    }
    true
}

fn entry<'b>(boot: &'b mut Boot, name: &str, device: &Device<'_>, line: &Line<'_>) -> &'b mut Nic {
    // A log that begins later does not list the function.
    super::pci::entry(boot, device.address);
    let nic = boot.machine.nics.entry(name.to_owned()).or_default();
    nic.name = name.to_owned();
    nic.pci = Some(device.address);
    nic.driver = line.known(device.driver.to_owned());
    nic
}

/// Reads the rate in ` 1000 mbps full duplex`, ` - 1gbps/full`, `, 10 gbps full duplex`, ` at 1000 mbps`.
fn parse_speed(text: &str) -> Option<BitsPerSec> {
    let (end, scale) =
        text.find("gbps").map(|end| (end, 1000.0)).or_else(|| text.find("mbps").map(|end| (end, 1.0)))?;
    let number = text.get(..end)?.trim_end().rsplit(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    let rate: f64 = number.parse().ok()?;
    (rate > 0.0 && rate < 1e7).then(|| BitsPerSec::from_mbit(rate * scale))
}
