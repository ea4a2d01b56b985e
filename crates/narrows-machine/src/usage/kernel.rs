//! What the kernel itself uses: swap space, file systems out of sight, zram, crash logs, and files that are locked or
//! served.

use super::class::Class;
use super::wanted::{HeldFile, Wanted};
use super::{Findings, How, Lead, lead, texts};
use crate::block::dm_table::parse_number_pair;
use crate::mount;
use crate::root::{FileId, Root};
use narrows_base::fact::Fact;

/// One line of `/proc/swaps`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swap {
    /// The path, octal escapes undone.
    pub path: String,
    /// Whether it is a file, not a device.
    pub is_file: bool,
}

/// The first two columns of `/proc/swaps`. The first line names the columns.
pub fn parse_swaps(text: &str) -> Vec<Swap> {
    let lines = text.lines().skip(1).map(str::split_whitespace);
    let swaps = lines.filter_map(|mut words| {
        let path = words.next().filter(|path| path.starts_with('/'))?;
        // ` (deleted)` is escaped like any other blank.
        Some(Swap { path: mount::unescape(path), is_file: words.next() == Some("file") })
    });
    swaps.collect()
}

/// Looks for all of it.
pub(super) fn search(root: &Root, wanted: &Wanted, findings: &mut Findings) {
    let mut kernel = Kernel { root, wanted, findings };
    kernel.swaps();
    kernel.file_systems();
    kernel.zram();
    kernel.crash_log();
    kernel.file_users();
}

struct Kernel<'a> {
    root: &'a Root,
    wanted: &'a Wanted,
    findings: &'a mut Findings,
}

impl Kernel<'_> {
    fn swaps(&mut self) {
        let text = self.root.text("/proc/swaps");
        // A kernel without swap has no such file.
        if let Fact::Denied { .. } = text {
            self.findings.hide(&[Class::Swap], "`/proc/swaps` needs root");
        }
        for swap in parse_swaps(text.value().map_or("", String::as_str)) {
            match lead(self.root, self.wanted, &swap.path) {
                Lead::Member(held) => self.findings.note(&held.device, How::Swap(swap.path)),
                // A swap device claims itself; only behind a loop device can a file be out of sight.
                Lead::Nowhere if swap.is_file && self.wanted.file().is_some() => {
                    let why = format!("the swap file `{}` is not found by its path", swap.path);
                    self.findings.hide(&[Class::Swap], why);
                }
                _ => {}
            }
        }
    }

    /// File systems have directories that are named after their devices as long as they are mounted anywhere.
    fn file_systems(&mut self) {
        for kind in self.root.list("/sys/fs") {
            let directory = format!("/sys/fs/{kind}");
            let entries = match kind.as_str() {
                "cgroup" | "selinux" | "smackfs" | "bpf" | "pstore" | "resctrl" | "fuse" => continue,
                "btrfs" | "bcachefs" => self.members(&directory),
                _ => self.root.list(&directory),
            };
            for name in entries.into_iter().filter(|name| self.wanted.has(name)) {
                self.findings.note(&name, How::FileSystem(kind.clone()));
            }
        }
    }

    /// The devices of file systems that have several: `btrfs/UUID/devices/sdb`, `bcachefs/UUID/dev-0/block` → `…/sdb`.
    fn members(&self, directory: &str) -> Vec<String> {
        let mut names = Vec::new();
        for set in self.root.list(directory) {
            let set = format!("{directory}/{set}");
            names.extend(self.root.list(&format!("{set}/devices")));
            let places = self.root.list(&set).into_iter().filter(|name| name.starts_with("dev-"));
            names.extend(
                places.filter_map(|place| self.root.link_name(&format!("{set}/{place}/block")).get()),
            );
        }
        names
    }

    fn zram(&mut self) {
        let blocks = self.root.list("/sys/class/block");
        for name in blocks.iter().filter(|name| name.starts_with("zram")) {
            let path = self.root.text(&format!("/sys/class/block/{name}/backing_dev")).get();
            if let Some(path) = path.filter(|path| path != "none") {
                self.path(&path, &format!("{name}, which moves pages to it"));
            }
        }
    }

    fn crash_log(&mut self) {
        let device = self.root.text("/sys/module/pstore_blk/parameters/blkdev").get();
        let Some(device) = device.filter(|device| !device.is_empty() && device != "(null)") else { return };
        let who = "the kernel, for logs of crashes (pstore_blk)";
        match parse_number_pair(&device) {
            Some(number) => {
                let member = self.wanted.numbered(number).map(str::to_owned);
                member
                    .into_iter()
                    .for_each(|member| self.findings.note(&member, How::Kernel(who.to_owned())));
            }
            None => self.path(&device, who),
        }
    }

    fn path(&mut self, path: &str, who: &str) {
        match lead(self.root, self.wanted, path) {
            Lead::Member(HeldFile { device, .. }) => self.findings.note(&device, How::Kernel(who.to_owned())),
            Lead::Elsewhere => {}
            Lead::Nowhere => {
                self.findings.hide(&[Class::Kernel], format!("`{path}`, which {who} uses, leads nowhere"));
            }
        }
    }

    /// Who locks the file behind a loop device, or has it open over the network.
    fn file_users(&mut self) {
        let Some((file, HeldFile { device: shown, .. })) = self.wanted.file() else { return };
        let text = self.root.text("/proc/locks").get().unwrap_or_default();
        for (_, process) in texts::locks(&text).filter(|(other, _)| is_one(file, *other)) {
            self.findings.note(&shown, How::Locked { process });
        }
        let clients = "/proc/fs/nfsd/clients";
        for client in self.root.list(clients) {
            let states = self.root.text(&format!("{clients}/{client}/states")).get().unwrap_or_default();
            if texts::served(&states).any(|other| is_one(file, other)) {
                self.findings.note(&shown, How::Exported(format!("the NFS server (client {client})")));
            }
        }
    }
}

/// Whether both are one file. File systems without a device (btrfs) have a number for each subvolume, of which the kernel
/// shows another one here: their inodes decide.
fn is_one(file: FileId, other: FileId) -> bool {
    let is_device = file.device == other.device || (file.device.0 == 0 && other.device.0 == 0);
    is_device && file.inode == other.inode
}

#[cfg(test)]
mod tests {
    use super::super::tests::{hows, machine, over_file};
    use super::super::{How, read};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn swap_is_listed_by_its_first_columns() {
        let text = "Filename\t\t\t\tType\t\tSize\n/dev/sda2                               partition\t8388604\n/swap\\040file file 1\n/gone\\040(deleted) file 1\n";
        let paths: Vec<(String, bool)> =
            parse_swaps(text).into_iter().map(|swap| (swap.path, swap.is_file)).collect();
        let want = [("/dev/sda2", false), ("/swap file", true), ("/gone (deleted)", true)];
        assert_eq!(paths, want.map(|(path, is_file)| (path.to_owned(), is_file)));
        assert!(parse_swaps("").is_empty());
    }

    #[test]
    fn a_swap_file_is_the_file_behind_a_loop_device_under_any_name() {
        let mut tree = over_file();
        tree.file("/proc/swaps", "Filename Type Size\n/srv/other-name file 1\n")
            .file("/narrows/probe/stat/srv/other-name", "file 8:1 77");
        let swap = How::Swap("/srv/other-name".to_owned());
        assert_eq!(hows(tree.clone(), "loop0"), [("the file behind loop0".to_owned(), swap)]);
        tree.file("/proc/swaps", "Filename Type Size\n/srv/x\\040(deleted) file 1\n");
        let unseen = read(&Root::from_tree(tree.clone()), "loop0").unseen;
        assert!(unseen.iter().any(|what| what.starts_with("swap space, hidden here because")), "{unseen:?}");
        assert!(read(&Root::from_tree(tree), "sdc").unseen.is_empty(), "a drive is no file");
    }

    #[test]
    fn a_file_system_that_is_mounted_nowhere_in_sight_is_found() {
        for (path, kind) in [
            ("/sys/fs/ext4/sdc/errors_count", "ext4"),
            ("/sys/fs/btrfs/11-22/devices/sdc/x", "btrfs"),
            ("/sys/fs/xfs/sdc/log/x", "xfs"),
        ] {
            let mut tree = machine();
            tree.file(path, "0").file("/sys/fs/ext4/features/lazy_itable_init", "");
            assert_eq!(hows(tree, "sdc"), [("sdc".to_owned(), How::FileSystem(kind.to_owned()))]);
        }
        let mut tree = machine();
        tree.link("/sys/fs/bcachefs/11-22/dev-0/block", "../../../../block/sdc");
        assert_eq!(hows(tree, "sdc"), [("sdc".to_owned(), How::FileSystem("bcachefs".to_owned()))]);
    }

    #[test]
    fn zram_and_crash_logs_are_found() {
        let mut tree = machine();
        tree.file("/sys/class/block/zram0/backing_dev", "/dev/sdc\n")
            .file("/sys/class/block/zram1/backing_dev", "none\n");
        assert!(matches!(&hows(tree, "sdc")[..], [(name, How::Kernel(_))] if name == "sdc"));
        for device in ["/dev/sdc", "8:32"] {
            let mut tree = machine();
            tree.file("/sys/module/pstore_blk/parameters/blkdev", device);
            assert!(matches!(&hows(tree, "sdc")[..], [(_, How::Kernel(who))] if who.contains("pstore_blk")));
        }
        let mut tree = machine();
        tree.file("/sys/class/block/zram0/backing_dev", "/gone\n");
        assert_eq!(read(&Root::from_tree(tree), "sdc").unseen.len(), 1);
    }

    #[test]
    fn a_file_that_is_locked_or_served_is_used() {
        let mut tree = over_file();
        tree.file(
            "/proc/locks",
            "1: POSIX  ADVISORY  WRITE 1234 08:01:77 0 EOF\n2: POSIX  ADVISORY  WRITE 7 08:01:78 0 EOF\n",
        )
        .file(
            "/proc/fs/nfsd/clients/3/states",
            "- 0x01: { type: open, superblock: \"08:01:77\", filename: \"x\" }\n",
        );
        let found = hows(tree, "loop0");
        let client = How::Exported("the NFS server (client 3)".to_owned());
        let of_file = |how| ("the file behind loop0".to_owned(), how);
        assert_eq!(found, [of_file(client), of_file(How::Locked { process: 1234 })]);
        let file = |major, inode| FileId { device: (major, 5), inode };
        assert!(is_one(file(0, 1), FileId { device: (0, 9), inode: 1 }) && !is_one(file(8, 1), file(0, 1)));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}") {
            parse_swaps(&text);
        }
    }
}
