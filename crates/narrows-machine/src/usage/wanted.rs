//! What is looked for, by identity and never by name: what tells a device from all others, the devices of a family, and the file behind a
//! loop device.

use std::collections::BTreeMap;

use super::{number, world_wide_name};
use crate::block::dm_table::parse_number_pair;
use crate::block::is_numbered;
use crate::root::{FileId, FileKind, Root, Stat};

/// What is looked for.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// Kernel names with their numbers.
    family: BTreeMap<String, Option<(u32, u32)>>,
    by_number: BTreeMap<(u32, u32), String>,
    /// Character devices that lead to a member: their names and that member.
    characters: BTreeMap<(u32, u32), (String, String)>,
    file: Option<FileBehind>,
}

/// The file behind a loop device.
#[derive(Debug)]
pub(super) struct FileBehind {
    /// Which one it is.
    pub(super) file: FileId,
    /// How long it is, in bytes.
    pub(super) bytes: u64,
    /// Whether it may stand on another file system, too, as that of an overlay does: there it has another identity.
    pub(super) stands_elsewhere: bool,
    /// The loop device.
    pub(super) device: String,
}

impl FileBehind {
    /// As a member.
    fn held(&self) -> HeldFile {
        HeldFile::plainly(&format!("the file behind {}", self.device))
    }

    /// Whether another file may be the same one under another identity. Its length is the same then.
    fn may_be(&self, other: FileId, bytes: u64, stands_elsewhere: impl FnOnce() -> bool) -> bool {
        other.device != self.file.device
            && bytes == self.bytes
            && (self.stands_elsewhere || stands_elsewhere())
    }
}

/// A member that something leads to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HeldFile {
    /// The kernel name, or `the file behind loop0`.
    pub(super) device: String,
    /// The character device through which, if through one.
    pub(super) through: Option<String>,
}

impl HeldFile {
    fn plainly(device: &str) -> Self {
        Self { device: device.to_owned(), through: None }
    }
}

impl Wanted {
    /// Makes a device a member; `false` when it was one.
    pub(super) fn join(&mut self, root: &Root, name: &str) -> bool {
        if self.family.contains_key(name) {
            return false;
        }
        let number = number(root, name).get();
        if let Some(number) = number {
            self.by_number.insert(number, name.to_owned());
        }
        self.family.insert(name.to_owned(), number);
        self.characters_of(root, name);
        true
    }

    /// The character devices of a disk: SCSI generic, block SCSI generic, the controller and the namespace of NVMe.
    fn characters_of(&mut self, root: &Root, name: &str) {
        let device = format!("/sys/class/block/{name}/device");
        let mut found = Vec::new();
        for class in ["scsi_generic", "bsg"] {
            let nodes = root.list(&format!("{device}/{class}"));
            found.extend(nodes.into_iter().map(|node| (format!("{device}/{class}/{node}"), node)));
        }
        if name.starts_with("nvme") {
            let namespace = name.replacen("nvme", "ng", 1);
            found.push((format!("/sys/class/nvme-generic/{namespace}"), namespace));
            let controllers = root.link_name(&device).get().filter(|name| name.starts_with("nvme"));
            found.extend(controllers.map(|controller| (device.clone(), controller)));
        }
        for (path, node) in found {
            if let Some(number) = root.parse(&format!("{path}/dev"), parse_number_pair).get() {
                self.characters.insert(number, (node, name.to_owned()));
            }
        }
    }

    /// Looks for a file, too, which is behind a loop device.
    pub(super) fn watch_file(&mut self, file: FileBehind) {
        self.file = Some(file);
    }

    /// The file behind the target.
    pub(super) fn file(&self) -> Option<(FileId, HeldFile)> {
        self.file.as_ref().map(|behind| (behind.file, behind.held()))
    }

    /// Whether a device is a member.
    pub(super) fn has(&self, name: &str) -> bool {
        self.family.contains_key(name)
    }

    /// The kernel names of the members, in order.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.family.keys()
    }

    /// The member with a number.
    pub(super) fn numbered(&self, number: (u32, u32)) -> Option<&str> {
        self.by_number.get(&number).map(String::as_str)
    }

    /// The member that a file leads to.
    pub(super) fn held(&self, stat: &Stat) -> Option<HeldFile> {
        match stat.kind {
            FileKind::Block(major, minor) => self.numbered((major, minor)).map(HeldFile::plainly),
            FileKind::Character(major, minor) => {
                let (node, device) = self.characters.get(&(major, minor))?;
                Some(HeldFile { device: device.clone(), through: Some(node.clone()) })
            }
            _ => self.held_file(stat.file),
        }
    }

    /// The member that a path leads to, which was looked at already; or what may be one, seen through another file system.
    pub(super) fn held_at(&self, root: &Root, path: &str, stat: &Stat) -> Option<HeldFile> {
        self.held(stat).or_else(|| match stat.kind {
            FileKind::File => self.maybe_held(stat.file, stat.bytes, || root.stands_elsewhere(path)),
            _ => None,
        })
    }

    /// What may be the file behind the target under another identity.
    pub(super) fn maybe_held(
        &self,
        file: FileId,
        bytes: u64,
        stands_elsewhere: impl FnOnce() -> bool,
    ) -> Option<HeldFile> {
        let behind = self.file.as_ref().filter(|behind| behind.may_be(file, bytes, stands_elsewhere))?;
        let like = "a file as long, one of both on an overlay or a network file system";
        Some(HeldFile::plainly(&format!("what may be the file behind {} ({like})", behind.device)))
    }

    /// The member that a file with this identity is behind.
    pub(super) fn held_file(&self, file: FileId) -> Option<HeldFile> {
        self.file.as_ref().filter(|behind| behind.file == file).map(FileBehind::held)
    }
}

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
    /// Its text, and whether it is that of memory, which no medium outlives.
    pub fn text(self) -> Option<(String, bool)> {
        match self {
            Self::Serial(text) | Self::WorldWideName(text) | Self::BackingFile(text) => Some((text, false)),
            Self::KernelName(text) => Some((text, true)),
            Self::None => None,
        }
    }

    /// What tells the device with a kernel name from all others: what a user can read on it, or in `lsblk`, and type.
    pub fn read(root: &Root, name: &str) -> Self {
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
        if let Some(name) = world_wide_name(root, name) {
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
    use super::super::tests::{SCSI, machine};
    use super::*;

    #[test]
    fn a_member_is_known_by_number_by_its_character_devices_and_by_its_file() {
        let mut tree = machine();
        tree.file(&format!("{SCSI}/sdc/device/scsi_generic/sg3/dev"), "21:3\n");
        tree.file("/sys/class/block/nvme0n1/dev", "259:0")
            .file("/sys/class/nvme-generic/ng0n1/dev", "240:0")
            .file("/sys/class/nvme/nvme0/dev", "241:0")
            .link("/sys/class/block/nvme0n1/device", "../../nvme/nvme0");
        let root = Root::from_tree(tree);
        let mut wanted = Wanted::default();
        assert!(wanted.join(&root, "sdc") && !wanted.join(&root, "sdc"));
        assert!(wanted.join(&root, "nvme0n1"));
        let file = FileId { device: (8, 1), inode: 77 };
        let device = "loop0".to_owned();
        wanted.watch_file(FileBehind { file, bytes: 4096, stands_elsewhere: false, device });
        let other = FileId { device: (8, 1), inode: 78 };
        let held = |kind, file| wanted.held(&Stat { kind, file, bytes: 4096 });
        assert_eq!(held(FileKind::Block(8, 32), other), Some(HeldFile::plainly("sdc")));
        assert_eq!(held(FileKind::Block(8, 33), other), None);
        assert_eq!(held(FileKind::File, file), Some(HeldFile::plainly("the file behind loop0")));
        assert_eq!(held(FileKind::File, other), None);
        for (number, node, device) in
            [(21, "sg3", "sdc"), (240, "ng0n1", "nvme0n1"), (241, "nvme0", "nvme0n1")]
        {
            let minor = if number == 21 { 3 } else { 0 };
            let through = Some(node.to_owned());
            let want = HeldFile { device: device.to_owned(), through };
            assert_eq!(held(FileKind::Character(number, minor), other), Some(want));
        }
    }
}

#[cfg(test)]
mod identity_tests {
    use super::*;
    use crate::tree::Tree;
    use crate::usage::tests::machine;
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
