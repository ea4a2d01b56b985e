//! Ports of Fibre Channel adapters, as their drivers report links.

use super::{Boot, Device, Line};
use narrows_base::catalog::wire;
use narrows_base::fact::Fact;
use narrows_base::units::{BitsPerSec, BytesPerSec};

/// Understands `qla2xxx [0000:84:00.0]-500a:1: LOOP UP detected (8 Gbps).`, `… LOOP DOWN detected (2 7 0 0).`, `lpfc
/// 0000:05:00.0: 0:1303 Link Up Event x1 received Data: x1 xf7 x20 x0 x0 x0 0` and `… 0:1305 Link Down Event x2 …`.
pub(super) fn take(boot: &mut Boot, device: &Device<'_>, line: &Line<'_>) -> bool {
    let said = match device.driver {
        "qla2xxx" => qlogic(device.rest),
        "lpfc" => emulex(device.rest),
        _ => None,
    };
    let Some(state) = said else { return false };
    super::pci::entry(boot, device.address).wire = match state {
        State::Up(rate) => line.known(BitsPerSec::new(rate.get() * 8.0)),
        State::Down => Fact::default(),
    };
    true
}

/// What a port's link came to.
enum State {
    /// Up, at a generation that carries so much data.
    Up(BytesPerSec),
    Down,
}

fn qlogic(said: &str) -> Option<State> {
    if said.contains("LOOP DOWN detected") {
        return Some(State::Down);
    }
    // Converged adapters say 10, which is Ethernet and no generation.
    let generation = said.split_once("LOOP UP detected (")?.1.split_once(" Gbps)")?.0.parse().ok()?;
    wire::fibre_channel(generation).map(State::Up)
}

/// The speeds in the third word of its data (kernel `drivers/scsi/lpfc/lpfc_hw.h`, `LPFC_LINK_SPEED_4GHZ` and the next). Smaller
/// ones are of adapters on other buses, or of converged ones, which count differently.
fn emulex(said: &str) -> Option<State> {
    if said.contains("1305 Link Down Event") {
        return Some(State::Down);
    }
    let data = said.split_once("1303 Link Up Event ")?.1.split_once(" Data: ")?.1;
    let generation = match data.split(' ').nth(2)? {
        "x10" => 4,
        "x20" => 8,
        "x80" => 16,
        "x90" => 32,
        "xa0" => 64,
        _ => return None,
    };
    wire::fibre_channel(generation).map(State::Up)
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
