//! SCSI hosts of SAS, RAID, Fibre Channel and virtio adapters, and what carries their disks.
//!
//! A driver speaks of its function (`mpt3sas 0000:01:00.0: …`) and later registers a host in words of its own (`scsi host0:
//! Fusion MPT SAS Host`). The host belongs to the one function of that driver that has none yet; where several wait, a log
//! does not tell which, and the disks are shown without their adapter.

use std::collections::BTreeMap;

use narrows_base::fact::Fact;
use narrows_machine::block::{Sas, Transport, makes_volumes};
use narrows_machine::pci::PciAddress;

use super::pci::entry;
use super::{Boot, DmesgDevice, LogLine};

/// What carries the disks of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carrier {
    Sas,
    FibreChannel,
    Virtio,
    /// The adapter of a hypervisor: its disks are the host's.
    Virtual,
}

/// A driver of adapters.
struct Family {
    /// The driver's names, the newest first.
    drivers: &'static [&'static str],
    /// What the line of its host starts with; behind a `*`, what it has further on (`scsi_host_template.name` and `.info` of the
    /// driver).
    host: &'static [&'static str],
    carrier: Carrier,
}

const FAMILIES: &[Family] = &[
    Family { drivers: &["mpt3sas", "mpt2sas"], host: &["Fusion MPT SAS Host"], carrier: Carrier::Sas },
    Family { drivers: &["mptsas"], host: &["ioc*LSISAS"], carrier: Carrier::Sas },
    Family { drivers: &["mptspi"], host: &["ioc*LSI53C"], carrier: Carrier::Virtual },
    Family { drivers: &["mptfc"], host: &["ioc*LSIFC"], carrier: Carrier::FibreChannel },
    Family { drivers: &["mpi3mr"], host: &["mpi3mr", "MPI3 Storage"], carrier: Carrier::Sas },
    Family { drivers: &["megaraid_sas"], host: &["megaraid_sas", "*MegaRAID"], carrier: Carrier::Sas },
    Family { drivers: &["smartpqi"], host: &["smartpqi"], carrier: Carrier::Sas },
    Family { drivers: &["hpsa"], host: &["hpsa"], carrier: Carrier::Sas },
    Family { drivers: &["aacraid"], host: &["aacraid"], carrier: Carrier::Sas },
    // Power machines have virtual adapters whose names begin alike.
    Family { drivers: &["ipr"], host: &["IBM *Storage Adapter"], carrier: Carrier::Sas },
    Family { drivers: &["ibmvfc"], host: &["IBM POWER Virtual FC"], carrier: Carrier::FibreChannel },
    Family { drivers: &["ibmvscsi"], host: &["IBM POWER Virtual SCSI"], carrier: Carrier::Virtual },
    Family { drivers: &["isci"], host: &["isci"], carrier: Carrier::Sas },
    Family { drivers: &["mvsas"], host: &["mvsas"], carrier: Carrier::Sas },
    Family { drivers: &["pm80xx"], host: &["pm80xx", "pm8001"], carrier: Carrier::Sas },
    Family { drivers: &["hisi_sas_v3_hw"], host: &["hisi_sas_v3_hw"], carrier: Carrier::Sas },
    Family { drivers: &["arcmsr"], host: &["arcmsr", "Areca"], carrier: Carrier::Sas },
    Family { drivers: &["3w-9xxx"], host: &["3ware 9000"], carrier: Carrier::Sas },
    Family { drivers: &["3w-sas"], host: &["3w-sas", "3ware 9750", "LSI 3ware"], carrier: Carrier::Sas },
    Family { drivers: &["hptiop"], host: &["hptiop", "RocketRAID"], carrier: Carrier::Sas },
    Family { drivers: &["stex"], host: &["stex"], carrier: Carrier::Sas },
    Family { drivers: &["qla2xxx"], host: &["qla2xxx", "QLogic Fibre"], carrier: Carrier::FibreChannel },
    Family { drivers: &["lpfc"], host: &["lpfc", "Emulex"], carrier: Carrier::FibreChannel },
    Family { drivers: &["bfa"], host: &["bfa", "Brocade"], carrier: Carrier::FibreChannel },
    Family { drivers: &["fnic"], host: &["fnic"], carrier: Carrier::FibreChannel },
    Family { drivers: &["bnx2fc"], host: &["QLogic Offload FCoE"], carrier: Carrier::FibreChannel },
    Family { drivers: &["qedf"], host: &["qedf", "QLogic FCoE"], carrier: Carrier::FibreChannel },
    Family { drivers: &["zfcp"], host: &["zfcp"], carrier: Carrier::FibreChannel },
    Family { drivers: &["virtio_scsi", "virtio-pci"], host: &["Virtio SCSI"], carrier: Carrier::Virtio },
    Family { drivers: &["vmw_pvscsi"], host: &["VMware PVSCSI"], carrier: Carrier::Virtual },
    Family { drivers: &["hv_storvsc"], host: &["storvsc"], carrier: Carrier::Virtual },
];

/// Adapters and their hosts.
#[derive(Default)]
pub(super) struct Adapters {
    /// The functions that a driver spoke of, in that order, and whether they have a host.
    functions: Vec<(&'static str, PciAddress, bool)>,
    hosts: BTreeMap<u32, Host>,
}

struct Host {
    family: &'static Family,
    pci: Option<PciAddress>,
    /// The driver, and the line that tells it.
    driver: Fact<String>,
}

/// An adapter's driver speaks of its function.
pub(super) fn take_controller(boot: &mut Boot, device: &DmesgDevice<'_>, line: &LogLine<'_>) -> Option<()> {
    let driver = FAMILIES.iter().find(|family| family.drivers.contains(&device.driver))?.drivers.first()?;
    let known = &mut boot.adapters.functions;
    if known.iter().all(|(_, address, _)| *address != device.address) {
        known.push((driver, device.address, false));
        entry(boot, device.address).driver = line.known(device.driver.to_owned());
    }
    Some(())
}

/// The host of an adapter: `scsi host0: smartpqi`.
pub(super) fn take_host(boot: &mut Boot, host: u32, said: &str, line: &LogLine<'_>) -> Option<()> {
    let is_of = |family: &&Family| family.host.iter().any(|text| fits(said, text));
    let family = FAMILIES.iter().find(is_of)?;
    let driver = family.drivers.first().copied()?;
    let named = parse_place(said);
    let pci = named.or_else(|| boot.adapters.only_one_waiting(driver));
    if let Some(address) = named {
        line.learn(&mut entry(boot, address).driver, driver.to_owned());
    }
    boot.adapters.hosts.insert(host, Host { family, pci, driver: line.known(driver.to_owned()) });
    Some(())
}

/// Whether a line is of the form `start*further on`.
fn fits(said: &str, form: &str) -> bool {
    let (start, further) = form.split_once('*').unwrap_or((form, ""));
    said.strip_prefix(start).is_some_and(|rest| rest.contains(further))
}

/// Reads the place in `Emulex LPe12000 PCIe Fibre Channel Adapter on PCI bus 85 device 01 irq 17`: bus, and device and
/// function in one number (kernel `drivers/scsi/lpfc/lpfc_init.c`, `lpfc_info`).
fn parse_place(said: &str) -> Option<PciAddress> {
    let (bus, rest) = said.split_once(" on PCI bus ")?.1.split_once(" device ")?;
    let place = u8::from_str_radix(rest.split_whitespace().next()?, 16).ok()?;
    let bus = u8::from_str_radix(bus, 16).ok()?;
    Some(PciAddress { bus, device: place >> 3, function: place & 7, ..PciAddress::default() })
}

impl Adapters {
    /// The function of a driver that waits for a host, if there is one alone; it waits no more.
    fn only_one_waiting(&mut self, driver: &str) -> Option<PciAddress> {
        let mut of_driver = self.functions.iter_mut().filter(|(name, ..)| *name == driver);
        let mut waiting: Vec<_> = of_driver.by_ref().filter(|(_, _, has_host)| !has_host).collect();
        match waiting.as_mut_slice() {
            [(_, address, has_host)] => {
                *has_host = true;
                Some(*address)
            }
            _ => None,
        }
    }

    /// What carries the disk at a SCSI address, `0:2:1:0`.
    pub(super) fn transport(&self, at: &str) -> Option<Transport> {
        let mut numbers = at.split(':').map(|number| number.parse::<u32>().ok());
        let host = self.hosts.get(&numbers.next()??)?;
        let channel = numbers.next().flatten();
        let driver = host.family.drivers.first().copied()?;
        Some(match host.family.carrier {
            Carrier::Sas => Transport::Sas(Sas {
                driver: host.driver.clone(),
                hidden: makes_volumes(driver, channel),
                pci: host.pci,
                ..Sas::default()
            }),
            Carrier::FibreChannel | Carrier::Virtual => {
                Transport::Other { name: driver.to_owned(), pci: host.pci }
            }
            Carrier::Virtio => Transport::Virtio { pci: host.pci, flavour: "virtio-scsi".to_owned() },
        })
    }
}

#[cfg(test)]
mod tests {
    use narrows_machine::Machine;

    use super::*;
    use crate::capture::Text;

    fn machine(log: &str) -> Machine {
        super::super::read(&Text::new("dmesg", log.as_bytes())).machine
    }

    fn disk(at: &str, name: &str) -> String {
        format!(
            "scsi {at}: Direct-Access     HITACHI  HUSMH842 CLAR100 C292 PQ: 0 ANSI: 6\n\
             sd {at}: [{name}] 195371568 512-byte logical blocks: (100 GB/93.2 GiB)\n"
        )
    }

    fn place(machine: &Machine, name: &str) -> Option<String> {
        match &machine.block[name].transport {
            Transport::Sas(sas) => sas.pci,
            Transport::Other { pci, .. } | Transport::Virtio { pci, .. } => *pci,
            other => panic!("{other:?}"),
        }
        .map(|address| address.to_string())
    }

    #[test]
    fn disks_of_an_adapter_hang_on_its_function() {
        for (driver, host, hidden) in [
            ("mpt3sas", "Fusion MPT SAS Host", false),
            ("megaraid_sas", "Avago SAS based MegaRAID driver", false),
            ("smartpqi", "smartpqi", false),
            ("aacraid", "aacraid", true),
            ("ipr", "IBM 0x0 Storage Adapter: 14010001", true),
            ("ipr", "IBM 0 Storage Adapter", true),
            ("hisi_sas_v3_hw", "hisi_sas_v3_hw", false),
            ("3w-9xxx", "3ware 9000 Storage Controller", true),
            ("mptsas", "ioc0: LSISAS1068E B3, FwRev=01000000h, Ports=1, MaxQ=266", false),
        ] {
            let log = format!("{driver} 0000:01:00.0: ready\nscsi host0: {host}\n{}", disk("0:0:1:0", "sdb"));
            let machine = machine(&log);
            assert_eq!(place(&machine, "sdb").as_deref(), Some("0000:01:00.0"), "{driver}");
            let Transport::Sas(sas) = &machine.block["sdb"].transport else { panic!("{driver}") };
            assert_eq!(sas.hidden, hidden, "{driver}");
            assert_eq!(machine.pci.values().next().and_then(|f| f.driver.get()).as_deref(), Some(driver));
        }
    }

    #[test]
    fn of_two_adapters_that_wait_for_hosts_neither_is_guessed() {
        let adapters = "mpt3sas 0000:01:00.0: a\nmpt3sas 0000:02:00.0: a\n";
        let hosts = "scsi host0: Fusion MPT SAS Host\nscsi host1: Fusion MPT SAS Host\n";
        let unsure = machine(&format!("{adapters}{hosts}{}", disk("0:0:0:0", "sda")));
        assert_eq!(place(&unsure, "sda"), None);
        let in_turn = "mpt3sas 0000:01:00.0: a\nscsi host0: Fusion MPT SAS Host\n\
                       mpt3sas 0000:02:00.0: a\nscsi host1: Fusion MPT SAS Host\n";
        let sure = machine(&format!("{in_turn}{}{}", disk("0:0:0:0", "sda"), disk("1:0:0:0", "sdb")));
        assert_eq!(place(&sure, "sda").as_deref(), Some("0000:01:00.0"));
        assert_eq!(place(&sure, "sdb").as_deref(), Some("0000:02:00.0"));
    }

    #[test]
    fn disks_of_a_virtual_adapter_do_not_hang_on_a_real_one_of_a_like_name() {
        let log = "ipr 0010:01:00.0: Found IOA with IRQ: 0\nscsi host1: IBM POWER Virtual FC Adapter\n";
        let machine = machine(&format!("{log}{}", disk("1:0:0:0", "sda")));
        let Transport::Other { name, pci } = &machine.block["sda"].transport else { panic!("virtual") };
        assert_eq!((name.as_str(), *pci), ("ibmvfc", None));
    }

    #[test]
    fn drivers_of_qlogic_put_the_function_in_brackets() {
        let log = "qla2xxx [0000:84:00.0]-001d: : Found an ISP2532 irq 48 iobase 0x000000007cdb0a1f.\n\
                   scsi host1: qla2xxx\nqla2xxx [0000:84:00.0]-500a:1: LOOP UP detected (8 Gbps).\n";
        let machine = machine(&format!("{log}{}", disk("1:0:0:0", "sda")));
        assert_eq!(place(&machine, "sda").as_deref(), Some("0000:84:00.0"));
    }

    #[test]
    fn a_fibre_channel_host_says_where_it_is() {
        let log = "scsi host9: Emulex LPe12000 PCIe Fibre Channel Adapter on PCI bus 85 device 01 irq 17\n";
        let machine = machine(&format!("{log}{}", disk("9:0:0:0", "sdc")));
        assert_eq!(place(&machine, "sdc").as_deref(), Some("0000:85:00.1"));
    }
}
