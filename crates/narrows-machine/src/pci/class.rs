//! What kind of function it is, by its class code (PCI Code and ID Assignment Specification 1.15, section 1).

use super::PciDevice;

impl PciDevice {
    /// Base class and sub-class.
    fn kind(&self) -> Option<(u32, u32)> {
        self.class.value().map(|class| (class >> 16 & 0xff, class >> 8 & 0xff))
    }

    /// Whether it is a bridge to another PCI bus, as ports of PCI Express are.
    pub fn is_bridge(&self) -> bool {
        self.kind() == Some((0x06, 0x04))
    }

    /// Whether it is an NVMe controller.
    pub fn is_nvme(&self) -> bool {
        self.class.value() == Some(&0x01_08_02)
    }

    /// Whether it is a storage controller of any kind, be it one of Fibre Channel.
    pub fn is_storage(&self) -> bool {
        self.kind().is_some_and(|(base, sub)| base == 0x01 || (base, sub) == (0x0c, 0x04))
    }

    /// Whether it is a network or InfiniBand adapter.
    pub fn is_network(&self) -> bool {
        self.kind().is_some_and(|(base, sub)| base == 0x02 || (base, sub) == (0x0c, 0x06))
    }

    /// Whether it is a graphics adapter, or an accelerator that saves power as one does.
    pub fn is_display(&self) -> bool {
        self.kind().is_some_and(|(base, _)| base == 0x03 || base == 0x12)
    }

    /// A short name of its class: `NVMe controller`. Every class has one, if only `PCI device`.
    pub fn class_name(&self) -> &'static str {
        match self.class.value().map(|class| (class >> 16 & 0xff, class >> 8 & 0xff, class & 0xff)) {
            Some((0x01, 0x08, 0x02)) => "NVMe controller",
            Some((0x01, sub, _)) => storage_name(sub),
            Some((0x02, 0x00, _)) => "Ethernet adapter",
            Some((0x02, 0x07, _) | (0x0c, 0x06, _)) => "InfiniBand adapter",
            Some((0x0c, 0x04, _)) => "Fibre Channel adapter",
            Some((0x02, _, _)) => "network adapter",
            Some((0x03, _, _)) => "graphics adapter",
            Some((0x04, 0x01 | 0x03, _)) => "audio device",
            Some((0x04, _, _)) => "multimedia device",
            Some((0x05, 0x02, _)) => "CXL memory device",
            Some((0x05, _, _)) => "memory controller",
            Some((0x06, sub, _)) => bridge_name(sub),
            Some((0x07, _, _)) => "communication controller",
            Some((0x08, 0x05, _)) => "SD host controller",
            Some((0x08, _, _)) => "system peripheral",
            Some((0x0c, 0x03, _)) => "USB controller",
            Some((0x0c, 0x05, _)) => "SMBus controller",
            Some((0x0d, _, _)) => "wireless adapter",
            Some((0x10, _, _)) => "encryption controller",
            Some((0x12, _, _)) => "accelerator",
            _ => "PCI device",
        }
    }
}

const fn storage_name(sub: u32) -> &'static str {
    match sub {
        0x00 => "SCSI controller",
        0x01 => "IDE controller",
        0x04 => "RAID controller",
        0x05 => "ATA controller",
        0x06 => "SATA controller",
        0x07 => "SAS controller",
        0x08 => "non-volatile memory controller",
        _ => "storage controller",
    }
}

const fn bridge_name(sub: u32) -> &'static str {
    match sub {
        0x00 => "host bridge",
        0x01 => "ISA bridge",
        0x04 => "PCI bridge",
        0x07 => "CardBus bridge",
        _ => "bridge",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::fact::Fact;

    fn of(class: u32) -> PciDevice {
        PciDevice { class: Fact::known(class, "test"), ..PciDevice::default() }
    }

    #[test]
    fn classes_are_recognised() {
        assert!(of(0x01_0802).is_nvme() && of(0x01_0802).is_storage());
        assert!(of(0x01_0601).is_storage() && !of(0x01_0601).is_nvme());
        assert!(of(0x0c_0400).is_storage() && !of(0x0c_0330).is_storage());
        assert!(of(0x06_0400).is_bridge() && of(0x06_0401).is_bridge() && !of(0x06_0000).is_bridge());
        assert!(of(0x02_0000).is_network() && of(0x0c_0600).is_network() && !of(0x0d_8000).is_network());
        assert!(of(0x03_0000).is_display() && of(0x03_0200).is_display());
    }

    #[test]
    fn every_class_has_a_name() {
        assert_eq!(of(0x01_0802).class_name(), "NVMe controller");
        assert_eq!(of(0x01_0107).class_name(), "IDE controller");
        assert_eq!(of(0x0c_0330).class_name(), "USB controller");
        assert_eq!(of(0xff_0000).class_name(), "PCI device");
        assert_eq!(PciDevice::default().class_name(), "PCI device");
    }
}
