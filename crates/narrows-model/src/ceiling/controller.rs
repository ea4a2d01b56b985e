//! What a controller or storage adapter carries of its own.
//!
//! An NVMe controller is its link and its medium, which are hops of their own. A few adapter chips move less than their
//! link; the catalogue names them, with measured figures (expected error ±5 %). What a hypervisor or a server behind a
//! fabric allows is not visible from here.

use super::{Basis, Ceilings, FactRef, Limit};
use crate::path::ControllerHop;
use narrows_base::catalog::catalog;
use narrows_base::fact::Source;
use narrows_base::units::BytesPerSec;

/// The ceilings of a controller or adapter.
pub fn of_controller(hop: &ControllerHop) -> Ceilings {
    if hop.is_virtual {
        return Ceilings::unknown("what a virtual adapter carries is the host's");
    }
    if let Some(fabric) = &hop.fabric {
        return Ceilings::transparent(format!("NVMe over {fabric}: the network and the server decide"));
    }
    let known = hop.id.value().and_then(|id| Some((id, catalog().adapter_by_id(id.vendor, id.device)?)));
    let Some((id, adapter)) = known else {
        return Ceilings::transparent("its link and what is behind it are hops of their own");
    };
    let rate = BytesPerSec::from_mb(adapter.megabytes_per_second);
    Ceilings::same(Limit {
        rate,
        raw: None,
        basis: Basis::Spec,
        formula: format!("the chip of {} moves {rate} at best, less than its link", adapter.name),
        facts: vec![
            FactRef::new("adapter", id, hop.id.source()),
            FactRef::new("published rate", rate, &Source::new(adapter.source.as_str())),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceiling::Ceiling;
    use narrows_base::fact::Fact;
    use narrows_base::units::human;
    use narrows_machine::pci::PciId;

    #[test]
    fn an_adapter_that_is_known_to_limit_does_and_others_pass() {
        let hba = |device| ControllerHop {
            id: Fact::known(PciId { vendor: 0x1000, device }, "/sys/bus/pci/devices/0000:03:00.0"),
            ..ControllerHop::default()
        };
        assert_eq!(of_controller(&hba(0x0072)).read.rate().map(human::rate).as_deref(), Some("2.5 GB/s"));
        assert!(matches!(of_controller(&hba(0x0097)).read, Ceiling::Transparent(_)));
    }

    #[test]
    fn what_a_host_decides_is_unknown() {
        let hop = ControllerHop { name: "virtio-blk".into(), is_virtual: true, ..ControllerHop::default() };
        assert_eq!(of_controller(&hop), Ceilings::unknown("what a virtual adapter carries is the host's"));
    }
}
