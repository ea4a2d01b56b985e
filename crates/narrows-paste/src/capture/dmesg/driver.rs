//! What a function is, where a log does not list it and its driver is known: drivers serve one class of devices.

use narrows_base::fact::Fact;
use narrows_machine::pci::PciDevice;

/// Base class, sub-class and programming interface (PCI Code and ID Assignment Specification, section 1), and the drivers in
/// Linux that serve devices of it and of no other: `mlx5_core` serves Ethernet and InfiniBand.
const CLASSES: &[(u32, &[&str])] = &[
    (0x03_0000, &["amdgpu", "ast", "i915", "mgag200", "nouveau", "nvidia", "radeon", "xe"]),
    (0x01_0802, &["nvme"]),
    (0x01_0601, &["ahci"]),
    (0x01_0700, &["isci", "mpi3mr", "mpt2sas", "mpt3sas", "mptsas", "mvsas", "pm80xx", "hisi_sas_v3_hw"]),
    (
        0x01_0400,
        &[
            "3w-9xxx",
            "3w-sas",
            "aacraid",
            "arcmsr",
            "hpsa",
            "hptiop",
            "ipr",
            "megaraid_sas",
            "smartpqi",
            "stex",
        ],
    ),
    (
        0x02_0000,
        &[
            "alx",
            "atlantic",
            "be2net",
            "bna",
            "bnx2",
            "bnx2x",
            "bnxt_en",
            "cxgb4",
            "e1000",
            "e1000e",
            "enic",
            "fm10k",
            "hinic",
            "hns3",
            "i40e",
            "ice",
            "igb",
            "igc",
            "ionic",
            "ixgbe",
            "netxen_nic",
            "nfp",
            "qede",
            "qlcnic",
            "r8169",
            "sfc",
            "sky2",
            "tg3",
        ],
    ),
    (0x0c_0400, &["bfa", "fnic", "lpfc", "qla2xxx"]),
    (0x0c_0330, &["xhci_hcd"]),
];

/// Puts down the class of a function that no line listed.
pub(super) fn take_class(device: &mut PciDevice) {
    let Fact::Known { value: driver, source } = &device.driver else { return };
    let class = CLASSES.iter().find(|(_, drivers)| drivers.contains(&driver.as_str()));
    if let Some((class, _)) = class.filter(|_| device.class.value().is_none()) {
        device.class = Fact::known(*class, source.as_str());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Text;
    use std::collections::BTreeSet;

    #[test]
    fn a_driver_serves_one_class() {
        let all: Vec<&str> = CLASSES.iter().flat_map(|(_, drivers)| drivers.iter().copied()).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }

    #[test]
    fn a_log_that_begins_after_the_start_tells_classes_by_drivers() {
        let log = "[ 1246.280222] radeon 0000:03:00.0: 16.000 Gb/s available PCIe bandwidth, limited by 5 GT/s x4 link at \
                   0000:00:1c.4 (capable of 63.008 Gb/s with 8 GT/s x8 link)\n\
                   [ 1246.291534] ipr 0010:01:00.0: Found IOA with IRQ: 0\n";
        let machine = super::super::read(&Text::new("dmesg", log.as_bytes())).machine;
        let of = |at: &str| machine.pci[&at.parse().expect("an address")].clone();
        assert!(of("0000:03:00.0").is_display());
        assert!(of("0010:01:00.0").is_storage());
    }
}
