//! How an NVMe namespace is read by the drive's own commands: its character device, identifier and block format.

use crate::health;
use crate::hex;
use crate::ioctl::{Unanswered, nvme};
use crate::root::Root;
use narrows_base::fact::Fact;
use narrows_base::units::Bytes;

/// A namespace as commands address it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Namespace {
    /// The character device, `/dev/ng0n1` (Linux 5.13).
    pub device: String,
    /// Whether it is there.
    pub exists: bool,
    /// The identifier (NSID), `/sys/class/block/nvme0n1/nsid`.
    pub id: Fact<u32>,
    /// The format of its blocks, from Identify Namespace.
    pub format: Fact<Format>,
    /// The most that one command can read: what drive and driver take in one piece, whatever pages the memory has.
    pub largest: Fact<Bytes>,
}

/// The format of a namespace's blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Format {
    /// Bytes of data in a block.
    pub block: Bytes,
    /// Bytes of metadata with each block.
    pub metadata: Bytes,
}

/// What a probe answers when the kernel refuses to tell.
const DENIED: &str = "denied";
/// The part of Identify Namespace that is kept: to the end of the first 16 formats.
const KEPT: usize = 192;
/// The smallest page.
const PAGE: u64 = 4096;

/// Asks about the namespace behind a whole block device such as `nvme0n1`.
pub fn read(root: &Root, name: &str) -> Namespace {
    let block = format!("/sys/class/block/{name}");
    let device = format!("/dev/{}", name.replacen("nvme", "ng", 1));
    let id = root.parse(&format!("{block}/nsid"), |text| text.parse::<u32>().ok());
    let controller = health::controller(root, &root.resolve(&block).get().unwrap_or_default());
    let format = match (controller, id.get()) {
        (Some(controller), Some(id)) => format(root, &controller, id),
        _ => Fact::absent(format!("{block}/nsid")),
    };
    Namespace { exists: root.exists(&device), device, id, format, largest: largest(root, &block) }
}

fn format(root: &Root, controller: &str, id: u32) -> Fact<Format> {
    let name = format!("nvme-namespace/{controller}/{id}");
    let answer = root.probe(&name, || match nvme::identify_namespace(controller, id) {
        Ok(identity) => Some(hex::encode(identity.get(..KEPT)?)),
        Err(Unanswered::Denied) => Some(DENIED.to_owned()),
        Err(Unanswered::Absent) => None,
    });
    match answer.value() {
        Some(text) if text == DENIED => {
            Fact::Denied { source: answer.source().clone(), need: "root".to_owned() }
        }
        _ => answer.parse(|text| parse_format(&hex::decode(text)?)),
    }
}

/// The format in use, from Identify Namespace (NVM Command Set Specification 1.0, figure 97): FLBAS at byte 26 says
/// which of the formats from byte 128 on; each has its metadata size in two bytes, then the power of two of its block.
pub fn parse_format(identity: &[u8]) -> Option<Format> {
    let flbas = usize::from(*identity.get(26)?);
    // Bits 6:5 are the upper ones of the index where there are more than 16 formats.
    let index = flbas & 0xf | (flbas >> 1 & 0x30);
    let format = identity.get(128 + 4 * index..)?.first_chunk::<4>()?;
    let [low, high, power, _] = *format;
    // The specification knows no blocks below 512 bytes; more than a few MiB is garbage.
    (9..=24).contains(&power).then(|| Format {
        block: Bytes::new(1 << power),
        metadata: Bytes::new(u16::from_le_bytes([low, high]).into()),
    })
}

/// A command is refused when it is longer than `max_hw_sectors_kb` or lies in more than `max_segments` pieces; memory may
/// have a piece for each page, and one more when it begins inside a page.
fn largest(root: &Root, block: &str) -> Fact<Bytes> {
    let length = root.number(&format!("{block}/queue/max_hw_sectors_kb")).map(|kib| kib.saturating_mul(1024));
    let segments = root.number(&format!("{block}/queue/max_segments")).get();
    length.map(|length| {
        let in_pieces = segments.map_or(PAGE, |count| count.saturating_sub(1).saturating_mul(PAGE));
        let most = length.min(in_pieces).max(PAGE);
        Bytes::new(1 << most.ilog2())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use proptest::prelude::*;

    /// Formats: 512 bytes, 4096 bytes, 512 bytes with 8 of metadata.
    fn identity(flbas: u8) -> Vec<u8> {
        let mut identity = vec![0; KEPT];
        identity[26] = flbas;
        identity[128..140].copy_from_slice(&[0, 0, 9, 2, 0, 0, 12, 0, 8, 0, 9, 3]);
        identity
    }

    #[test]
    fn the_format_in_use_is_found() {
        let format =
            |block, metadata| Some(Format { block: Bytes::new(block), metadata: Bytes::new(metadata) });
        assert_eq!(parse_format(&identity(0)), format(512, 0));
        assert_eq!(parse_format(&identity(1)), format(4096, 0));
        // Bit 4 says where metadata goes; it is no part of the index.
        assert_eq!(parse_format(&identity(0x12)), format(512, 8));
        assert_eq!(parse_format(&identity(3)), None, "a format that is not there");
        assert_eq!(parse_format(&identity(0x20)), None, "format 16 is beyond what was kept");
        assert_eq!(parse_format(&[]), None);
    }

    #[test]
    fn a_recorded_namespace_is_read_and_its_commands_fit_drive_and_driver() {
        let device = "/sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1";
        let mut tree = Tree::new();
        tree.link("/sys/class/block/nvme0n1", device)
            .file(&format!("{device}/nsid"), "1\n")
            .file(&format!("{device}/queue/max_hw_sectors_kb"), "512\n")
            .file(&format!("{device}/queue/max_segments"), "127\n")
            .file("/dev/ng0n1", "x")
            .file("/narrows/probe/nvme-namespace/nvme0/1", &hex::encode(&identity(1)));
        let namespace = read(&Root::from_tree(tree), "nvme0n1");
        assert_eq!((namespace.device.as_str(), namespace.exists), ("/dev/ng0n1", true));
        assert_eq!(namespace.id.get(), Some(1));
        assert_eq!(namespace.format.get().map(|format| format.block), Some(Bytes::new(4096)));
        // 126 pages are 504 KiB; the next power of two below.
        assert_eq!(namespace.largest.get(), Some(Bytes::from_kib(256)));
    }

    #[test]
    fn what_is_no_namespace_has_no_format() {
        let namespace = read(&Root::from_tree(Tree::new()), "sda");
        assert!(
            !namespace.exists && namespace.format.value().is_none() && namespace.largest.value().is_none()
        );
    }

    proptest! {
        #[test]
        fn no_identity_panics(bytes in proptest::collection::vec(any::<u8>(), 0..4100)) {
            let _ = parse_format(&bytes);
        }
    }
}
