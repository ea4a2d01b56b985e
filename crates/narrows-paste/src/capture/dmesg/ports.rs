//! Network interfaces and ports of Fibre Channel adapters, as their drivers report links.

use narrows_base::catalog::wire;
use narrows_base::fact::Fact;
use narrows_base::units::BitsPerSec;
use narrows_machine::nic::Nic;

use super::{Boot, DmesgDevice, LogLine};
use crate::capture::number::bit_rate;

/// The longest name of an interface, `IFNAMSIZ` without its zero (kernel `include/uapi/linux/if.h`).
const LONGEST_NAME: usize = 15;

/// Network interfaces, as their drivers report links.
///
/// Understands `igb 0000:03:00.0 eth0: igb: eth0 NIC Link is Up 1000 Mbps Full Duplex`, `… eno1: Link is Up -
/// 1Gbps/Full`, `… eth0: Link is up at 1000 Mbps, full duplex`, `… enp6s0: NIC Up: 100 Mbps Full`, `… enp4s0: renamed
/// from eth0`.
pub(super) fn take_nic(boot: &mut Boot, device: &DmesgDevice<'_>, line: &LogLine<'_>) -> Option<()> {
    let (name, what) = device.rest.split_once(": ")?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(is_plain) {
        return None;
    }
    if let Some(old) = what.strip_prefix("renamed from ") {
        let nic = boot.machine.nics.remove(old.trim()).unwrap_or_default();
        boot.machine.nics.insert(name.to_owned(), nic);
        nic_entry(boot, name, device, line);
        return Some(());
    }
    let lower = what.to_ascii_lowercase();
    let Some((_, up)) = lower.split_once("link is up").or_else(|| lower.split_once("nic up:")) else {
        lower.contains("link is down").then_some(())?;
        let nic = nic_entry(boot, name, device, line);
        nic.state = line.known("down".to_owned());
        nic.speed = Fact::absent(line.source().as_str());
        return Some(());
    };
    let nic = nic_entry(boot, name, device, line);
    nic.state = line.known("up".to_owned());
    // ` 1000 mbps full duplex`, ` - 1gbps/full`, `, 10 gbps full duplex`, ` at 1000 mbps`.
    if let Some(speed) = up.find(|c: char| c.is_ascii_digit()).and_then(|at| bit_rate(up.get(at..)?)) {
        nic.speed = line.known(speed);
    }
    if let Some(duplex) = ["full", "half"].iter().find(|duplex| up.contains(*duplex)) {
        nic.duplex = line.known((*duplex).to_owned());
    }
    Some(())
}

fn nic_entry<'b>(
    boot: &'b mut Boot,
    name: &str,
    device: &DmesgDevice<'_>,
    line: &LogLine<'_>,
) -> &'b mut Nic {
    // A log that begins later does not list the function.
    super::pci::entry(boot, device.address);
    let nic = boot.machine.nics.entry(name.to_owned()).or_default();
    nic.name = name.to_owned();
    nic.pci = Some(device.address);
    nic.driver = line.known(device.driver.to_owned());
    nic
}

/// Ports of Fibre Channel adapters, as their drivers report links.
///
/// Understands `qla2xxx [0000:84:00.0]-500a:1: LOOP UP detected (8 Gbps).`, `… LOOP DOWN detected (2 7 0 0).`, `lpfc
/// 0000:05:00.0: 0:1303 Link Up Event x1 received Data: x1 xf7 x20 x0 x0 x0 0` and `… 0:1305 Link Down Event x2 …`.
pub(super) fn take_fc(boot: &mut Boot, device: &DmesgDevice<'_>, line: &LogLine<'_>) -> Option<()> {
    let (generation, down): (fn(&str) -> Option<u32>, _) = match device.driver {
        "qla2xxx" => (qlogic, "LOOP DOWN detected"),
        "lpfc" => (emulex, "1305 Link Down Event"),
        _ => return None,
    };
    let wire = if device.rest.contains(down) {
        Fact::default()
    } else {
        let rate = wire::fibre_channel(generation(device.rest)?)?;
        line.known(BitsPerSec::new(rate.get() * 8.0))
    };
    super::pci::entry(boot, device.address).wire = wire;
    Some(())
}

/// The generation at which a port came up. Converged adapters say 10, which is Ethernet and no generation.
fn qlogic(said: &str) -> Option<u32> {
    said.split_once("LOOP UP detected (")?.1.split_once(" Gbps)")?.0.parse().ok()
}

/// The speeds in the third word of its data (kernel `drivers/scsi/lpfc/lpfc_hw.h`, `LPFC_LINK_SPEED_4GHZ` and the next). Smaller
/// ones are of adapters on other buses, or of converged ones, which count differently.
fn emulex(said: &str) -> Option<u32> {
    let data = said.split_once("1303 Link Up Event ")?.1.split_once(" Data: ")?.1;
    Some(match data.split(' ').nth(2)? {
        "x10" => 4,
        "x20" => 8,
        "x80" => 16,
        "x90" => 32,
        "xa0" => 64,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::capture::Text;

    /// Gigabits of data per second on the wire of the only function.
    fn wire(log: &str) -> Option<f64> {
        let machine = crate::capture::dmesg::read(&Text::new("dmesg.txt", log.as_bytes())).machine;
        let wire = machine.pci.values().next()?.wire.value().copied()?;
        Some(wire.get() / 1e9)
    }

    #[test]
    fn drivers_tell_what_a_port_runs_at() {
        for (log, gigabits) in [
            ("qla2xxx [0000:84:00.0]-500a:1: LOOP UP detected (8 Gbps).\n", Some(6.4)),
            ("qla2xxx 0000:03:01.0: LOOP UP detected (2 Gbps).\n", Some(1.6)),
            ("qla2xxx [0000:af:00.7]-500a:4: LOOP UP detected (10 Gbps).\n", None),
            ("qla2xxx [0000:af:00.7]-500a:4: LOOP UP detected (? Gbps).\n", None),
            ("lpfc 0000:07:00.0: 0:1303 Link Up Event x1 received Data: x1 xf7 x20 x0 x0 x0 0\n", Some(6.4)),
            ("lpfc 0000:07:00.0: 0:1303 Link Up Event x1 received Data: x1 x0 x90 x0 x0\n", Some(25.6)),
            // A converged adapter, and a line that was cut.
            ("lpfc 0000:04:00.2: 0:1303 Link Up Event x1 received Data: x1 x0 x4 x0 x0 x0 0\n", None),
            ("lpfc 0000:04:00.2: 0:1303 Link Up Event x1 received Data: x1\n", None),
        ] {
            assert_eq!(wire(log), gigabits, "{log}");
        }
    }

    #[test]
    fn a_port_that_went_down_runs_at_nothing_that_is_known() {
        let up = "qla2xxx [0000:84:00.0]-500a:1: LOOP UP detected (8 Gbps).\n";
        let down = "qla2xxx [0000:84:00.0]-500b:1: LOOP DOWN detected (2 7 0 0).\n";
        assert_eq!(wire(&format!("{up}{down}")), None);
        let again = up.replace("(8 Gbps)", "(4 Gbps)");
        assert_eq!(wire(&format!("{up}{down}{again}")), Some(3.2));
    }
}
