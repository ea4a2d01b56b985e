//! What tells a device from all others.

use crate::block::device_path::is_numbered;
use crate::root::Root;

/// What tells a device from all others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Identity {
    /// The serial number that its maker gave it.
    Serial(String),
    /// Its worldwide name.
    WorldWideName(String),
    /// The file behind a loop device.
    BackingFile(String),
    /// The kernel name of a device that is memory: no medium outlives the name.
    KernelName(String),
    /// Nothing.
    #[default]
    None,
}

impl Identity {
    /// What tells the device with a kernel name from all others.
    pub fn of(root: &Root, name: &str) -> Self {
        Self::read(root, name)
    }

    /// Its text, and whether it is that of memory, which no medium outlives.
    pub fn text(self) -> Option<(String, bool)> {
        match self {
            Self::Serial(text) | Self::WorldWideName(text) | Self::BackingFile(text) => Some((text, false)),
            Self::KernelName(text) => Some((text, true)),
            Self::None => None,
        }
    }

    /// What a user can read on the device, or in `lsblk`, and type.
    pub(super) fn read(root: &Root, name: &str) -> Self {
        let block = format!("/sys/class/block/{name}");
        let text = |file: &str| root.text(&format!("{block}/{file}")).get().filter(|text| !text.is_empty());
        if is_numbered(name, "loop") {
            return text("loop/backing_file").map_or(Self::None, Self::BackingFile);
        }
        let serial = ["device/serial", "serial"].iter().find_map(|file| text(file));
        let page =
            || root.bytes(&format!("{block}/device/vpd_pg80")).get().and_then(|page| serial_of_vpd(&page));
        if let Some(serial) = serial.or_else(page) {
            return Self::Serial(serial);
        }
        if let Some(name) = ["wwid", "device/wwid"].iter().find_map(|file| text(file)) {
            return Self::WorldWideName(name);
        }
        let is_memory = is_numbered(name, "ram") || is_numbered(name, "zram") || name.starts_with("nullb");
        if is_memory { Self::KernelName(name.to_owned()) } else { Self::None }
    }
}

/// The serial number in VPD page 80h: after four bytes of header, the last two of which are its length (SPC-4, 7.8.14).
fn serial_of_vpd(page: &[u8]) -> Option<String> {
    let (header, rest) = page.split_at_checked(4)?;
    let length = usize::from(u16::from_be_bytes([*header.get(2)?, *header.get(3)?]));
    let serial = String::from_utf8_lossy(rest.get(..length)?).trim_matches(['\0', ' ']).to_owned();
    (header.get(1) == Some(&0x80) && !serial.is_empty()).then_some(serial)
}

#[cfg(test)]
mod tests {
    use super::super::tests::machine;
    use super::*;
    use crate::tree::Tree;
    use proptest::prelude::*;

    const SCSI: &str = "/sys/devices/pci0000:00/0000:00:17.0/ata2/host1/target1:0:0/1:0:0:0/block";

    #[test]
    fn a_serial_number_comes_from_the_driver_or_from_the_vital_product_data() {
        // SPC-4, 7.8.14: peripheral type, page code 80h, length in two bytes, then the number, padded with blanks.
        assert_eq!(serial_of_vpd(b"\0\x80\0\x0cWD-WX12345  "), Some("WD-WX12345".to_owned()));
        assert_eq!(serial_of_vpd(b"\0\x80\0\x0cshort"), None);
        assert_eq!(serial_of_vpd(b"\0\x83\0\x04abcd"), None);
        assert_eq!(serial_of_vpd(b""), None);
        let mut tree = machine();
        tree.file(&format!("{SCSI}/sdc/device/vpd_pg80"), "\0\u{0}");
        assert_eq!(Identity::read(&Root::from_tree(tree.clone()), "sdc"), Identity::None);
        tree.file(&format!("{SCSI}/sdc/device/wwid"), "naa.5002538d\n");
        assert_eq!(
            Identity::read(&Root::from_tree(tree.clone()), "sdc"),
            Identity::WorldWideName("naa.5002538d".to_owned())
        );
        tree.file(&format!("{SCSI}/sdc/device/serial"), "S5GX  \n");
        assert_eq!(Identity::read(&Root::from_tree(tree), "sdc"), Identity::Serial("S5GX".to_owned()));
        assert_eq!(
            Identity::read(&Root::from_tree(Tree::new()), "nullb0"),
            Identity::KernelName("nullb0".to_owned())
        );
    }

    proptest! {
        #[test]
        fn no_page_panics(page: Vec<u8>) {
            serial_of_vpd(&page);
        }
    }
}
