//! From what was typed to what it is: `/dev/sda`, `/home`, `./file`, `0000:02:00.0`, `eth0`.

use super::fact::Fact;
use super::mount::{self, Mount};
use super::pci::PciAddress;
use super::root::{FileKind, Root};
use super::tree::normalise;
use narrows_base::near::distance;

/// What a typed target turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A block device, by kernel name (links such as `/dev/mapper/root` and `/dev/disk/by-id/…` followed).
    Block(String),
    /// A directory or file, with every link resolved.
    File(String),
    /// A PCI function.
    Pci(PciAddress),
    /// A network interface.
    Nic(String),
    /// A ZFS pool of which no mount is known, of a machine out of captures.
    Pool(String),
}

/// Why a target is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotATarget {
    /// Nothing is there.
    #[error("`{typed}` does not exist")]
    Absent {
        /// What was typed.
        typed: String,
        /// At most three targets of this machine whose names are close to it, closest first.
        similar: Vec<String>,
    },
    /// It may be there, but a directory on the way is closed to this user.
    #[error("`{0}` cannot be looked at: permission denied")]
    Denied(String),
    /// It is a block device, and nothing tells which: there is no sysfs.
    #[error("it is not known which device `{0}` is: there is no /sys/dev/block")]
    NoSysfs(String),
    /// It is there, but is nothing that stores data.
    #[error("`{0}` is {1}, not a block device, directory, file, PCI address or network interface")]
    Unsuitable(String, String),
}

impl NotATarget {
    /// What to type instead, if there is anything close.
    pub fn hint(&self) -> Option<String> {
        let similar = match self {
            Self::Absent { similar, .. } => similar,
            Self::Denied(_) => return Some("run as root, or name a directory that you may enter".to_owned()),
            Self::NoSysfs(_) => return Some("mount it: `mount -t sysfs sysfs /sys`".to_owned()),
            Self::Unsuitable(..) => return None,
        };
        let names: Vec<String> = similar.iter().map(|name| format!("`{name}`")).collect();
        match names.as_slice() {
            [] => None,
            [only] => Some(format!("did you mean {only}?")),
            [first @ .., last] => Some(format!("did you mean {} or {last}?", first.join(", "))),
        }
    }
}

/// Finds what `typed` names. A path below `/dev` is a device; a PCI address and the name of an interface are what they
/// look like when the machine has them; anything else is a file or directory, and if there is none, the kernel name of a
/// block device (`sda1`) or the source of a mount (`server:/export`, a ZFS pool).
///
/// The files of a recorded machine cannot be looked at: an absolute path is taken at its word there.
///
/// # Errors
/// [`NotATarget`] when nothing is there or it is of no use.
pub fn find(root: &Root, typed: &str) -> Result<Found, NotATarget> {
    if let Some(pci) = pci_function(root, typed) {
        return Ok(Found::Pci(pci));
    }
    if is_plain_name(typed) && root.exists(&format!("/sys/class/net/{typed}/ifindex")) {
        return Ok(Found::Nic(typed.to_owned()));
    }
    if let Some(found) = device(root, typed)? {
        return Ok(found);
    }
    if let Some(path) = file(root, typed) {
        return Ok(Found::File(path));
    }
    if is_plain_name(typed) && root.exists(&format!("/sys/class/block/{typed}")) {
        return Ok(Found::Block(typed.to_owned()));
    }
    if let Fact::Denied { .. } = root.resolve(typed) {
        return Err(NotATarget::Denied(typed.to_owned()));
    }
    let mounts = mount::read(root);
    match mounts.iter().find(|mount| mount.source == typed && !typed.is_empty()) {
        Some(mount) => Ok(Found::File(mount.point.clone())),
        None => Err(NotATarget::Absent { typed: typed.to_owned(), similar: similar(root, &mounts, typed) }),
    }
}

/// The mount that holds `path`: the one with the longest mount point on the way to it, and of several on one point the
/// last, which hides the others.
pub fn mount_of(mounts: &[Mount], path: &str) -> Option<usize> {
    let above = mounts.iter().enumerate().filter(|(_, mount)| is_below(path, &mount.point));
    above
        .max_by_key(|(index, mount)| (mount.point.trim_end_matches('/').len(), *index))
        .map(|(index, _)| index)
}

/// Whether `path` is `point` or inside it. `/home2` is not inside `/home`.
fn is_below(path: &str, point: &str) -> bool {
    let rest = path.strip_prefix(point.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn pci_function(root: &Root, typed: &str) -> Option<PciAddress> {
    let address: PciAddress = typed.parse().ok()?;
    root.exists(&format!("/sys/bus/pci/devices/{address}")).then_some(address)
}

/// Whether it is the name of a device, without a directory.
pub fn is_plain_name(typed: &str) -> bool {
    !typed.is_empty() && !typed.contains('/') && typed != "." && typed != ".."
}

/// What a device node is, wherever it lies; `None` when `typed` is no device node.
fn device(root: &Root, typed: &str) -> Result<Option<Found>, NotATarget> {
    // Asked for the sake of a recording root: the links on the way are part of the answer.
    root.exists(typed);
    let unsuitable = |what: &str| Err(NotATarget::Unsuitable(typed.to_owned(), what.to_owned()));
    match root.kind(typed).filter(|_| root.is_live()) {
        Some(FileKind::Block(major, minor)) => match mount::by_number(root, (major, minor)) {
            Some(name) => Ok(Some(Found::Block(name))),
            None if !root.exists("/sys/dev/block") => Err(NotATarget::NoSysfs(typed.to_owned())),
            None => unsuitable("a block device without a driver"),
        },
        Some(FileKind::Character(..)) => unsuitable("a character device"),
        Some(FileKind::Pipe) => unsuitable("a pipe"),
        Some(FileKind::Socket) => unsuitable("a socket"),
        Some(FileKind::Directory | FileKind::File) => Ok(None),
        // On a recorded machine a device node is a path below `/dev`, or a link to one.
        None if typed.starts_with('/') => Ok(mount::by_path(root, &normalise(typed)).map(Found::Block)),
        None => Ok(None),
    }
}

/// Where a file or directory really is; `None` when there is none.
fn file(root: &Root, typed: &str) -> Option<String> {
    if let Some(real) = root.resolve(typed).get() {
        return Some(real).filter(|_| root.is_live() || typed.starts_with('/'));
    }
    let path = normalise(typed);
    let is_system = ["/dev/", "/sys/", "/proc/"].iter().any(|dir| path.starts_with(dir));
    (!root.is_live() && typed.starts_with('/') && !is_system).then_some(path)
}

/// At most three names that are close to what was typed.
fn similar(root: &Root, mounts: &[Mount], typed: &str) -> Vec<String> {
    let blocks = root.list("/sys/class/block");
    let mapped = blocks.iter().filter(|name| name.starts_with("dm-")).filter_map(|name| {
        Some(format!("/dev/mapper/{}", root.text(&format!("/sys/class/block/{name}/dm/name")).value()?))
    });
    let mut names: Vec<String> =
        blocks.iter().map(|name| format!("/dev/{}", name.replace('!', "/"))).collect();
    names.extend(mapped);
    names.extend(root.list("/sys/class/net"));
    names.extend(mounts.iter().map(|mount| mount.point.clone()));
    closest(typed, names)
}

/// At most three of `names` that are close to what was typed, closest first.
pub fn closest(typed: &str, mut names: Vec<String>) -> Vec<String> {
    const MOST: usize = 3;
    names.sort();
    names.dedup();
    let bare = |name: &str| name.strip_prefix("/dev/").unwrap_or(name).to_lowercase();
    let wanted = bare(typed);
    // A third of the letters may be wrong, and one of a short name, but never all.
    let letters = wanted.chars().count();
    let tolerance = (letters / 3).clamp(1, 4).min(letters.saturating_sub(1));
    let mut close: Vec<(usize, String)> = names
        .into_iter()
        .map(|name| (distance(&wanted, &bare(&name)), name))
        .filter(|(distance, _)| *distance <= tolerance)
        .collect();
    close.sort();
    close.into_iter().take(MOST).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use proptest::prelude::*;

    fn machine() -> Root {
        let mut tree = Tree::new();
        tree.file("/sys/class/block/sda/dev", "8:0")
            .file("/sys/class/block/sda1/dev", "8:1")
            .file("/sys/class/block/nvme0n1/dev", "259:0")
            .file("/sys/class/block/dm-0/dm/name", "cryptroot")
            .file("/sys/class/block/cciss!c0d0/dev", "104:0")
            .file("/sys/class/net/eth0/ifindex", "2")
            .file("/sys/bus/pci/devices/0000:02:00.0/class", "0x010802")
            .link("/dev/disk/by-id/ata-X", "../../sda")
            .link("/home/me/my-disk", "/dev/disk/by-id/ata-X")
            .file("/dev/sda", "")
            .file(
                "/proc/self/mountinfo",
                "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:50 / /net/data rw - nfs nas:/export rw,addr=192.0.2.1\n",
            );
        Root::from_tree(tree)
    }

    fn block(name: &str) -> Result<Found, NotATarget> {
        Ok(Found::Block(name.to_owned()))
    }

    #[test]
    fn devices_are_found_by_every_name_that_they_have() {
        let root = machine();
        assert_eq!(find(&root, "/dev/sda1"), block("sda1"));
        assert_eq!(find(&root, "/dev/disk/by-id/ata-X"), block("sda"));
        assert_eq!(find(&root, "/home/me/my-disk"), block("sda"));
        assert_eq!(find(&root, "/dev//sda1"), block("sda1"));
        assert_eq!(find(&root, "/dev/mapper/cryptroot"), block("dm-0"));
        assert_eq!(find(&root, "/dev/cciss/c0d0"), block("cciss!c0d0"));
        assert_eq!(find(&root, "nvme0n1"), block("nvme0n1"));
    }

    #[test]
    fn addresses_interfaces_and_mount_sources_are_found() {
        let root = machine();
        assert_eq!(find(&root, "02:00.0"), Ok(Found::Pci("0000:02:00.0".parse().expect("an address"))));
        assert_eq!(find(&root, "eth0"), Ok(Found::Nic("eth0".to_owned())));
        assert_eq!(find(&root, "nas:/export"), Ok(Found::File("/net/data".to_owned())));
        assert_eq!(find(&root, "/home/me/../you"), Ok(Found::File("/home/you".to_owned())));
    }

    #[test]
    fn what_is_not_there_comes_with_what_is_close() {
        let root = machine();
        let error = find(&root, "/dev/nvme1n1").expect_err("is not there");
        assert_eq!(error.to_string(), "`/dev/nvme1n1` does not exist");
        assert_eq!(error.hint().as_deref(), Some("did you mean `/dev/nvme0n1`?"));
        let error = find(&root, "/dev/sdb").expect_err("is not there");
        assert_eq!(error.hint().as_deref(), Some("did you mean `/dev/sda`?"));
        assert_eq!(find(&root, "02:01.0").expect_err("is not there").hint(), None);
        assert_eq!(find(&root, "").expect_err("is nothing").hint(), None);
    }

    #[test]
    fn on_a_live_machine_only_what_stores_data_is_a_target() {
        let live = Root::live();
        let error = find(&live, "/dev/null").expect_err("stores nothing");
        assert!(error.to_string().contains("is a character device"), "{error}");
        assert_eq!(find(&live, "/proc/../usr"), Ok(Found::File("/usr".to_owned())));
        assert!(matches!(find(&live, "."), Ok(Found::File(path)) if path.starts_with('/')));
        assert!(find(&live, "no-such-file").is_err());
    }

    #[test]
    fn a_mount_holds_a_path_only_at_whole_components() {
        let at = |point: &str| Mount { point: point.to_owned(), ..Mount::default() };
        let mounts = [at("/"), at("/home"), at("/home/me"), at("/home")];
        assert_eq!(mount_of(&mounts, "/home/me/x"), Some(2));
        assert_eq!(mount_of(&mounts, "/home/you"), Some(3));
        assert_eq!(mount_of(&mounts, "/home2"), Some(0));
        assert_eq!(mount_of(&mounts, "/"), Some(0));
        assert_eq!(mount_of(&mounts[1..], "/srv"), None);
    }

    proptest! {
        #[test]
        fn nothing_typed_panics(typed in "\\PC{0,60}") {
            let _ = find(&machine(), &typed);
        }
    }
}
