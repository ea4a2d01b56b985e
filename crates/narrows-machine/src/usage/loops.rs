//! Loop devices: over a member of the family, or over the same file as the target. The kernel tells the identity of what
//! each holds; the path in `loop/backing_file` is what that was called once.

use std::collections::BTreeSet;

use super::class::Class;
use super::wanted::{FileBehind, Wanted};
use super::{Findings, How, number, size};
use crate::block::dm_table::parse_number_pair;
use crate::block::is_numbered;
use crate::kernel::behind_loop as ask;
use crate::mount::{self, Mount};
use crate::root::{FileId, FileKind, Root};

/// What a loop device reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behind {
    /// The file: a regular file, or the node of a device.
    pub file: FileId,
    /// The block device, when the file is the node of one.
    pub device: Option<(u32, u32)>,
    /// The part of it: its first byte, and how many it may be at most (0: to the end). Not part of what is recorded.
    pub part: (u64, u64),
}

/// What is behind a loop device; `None` when it is none, or holds nothing.
pub(super) fn behind(root: &Root, name: &str) -> Option<Told> {
    if !is_numbered(name, "loop") {
        return None;
    }
    let path = root.text(&format!("/sys/class/block/{name}/loop/backing_file")).get()?;
    let number = number(root, name).get();
    let answer = root.probe(&format!("loop/{name}"), || Some(encode(&ask(name, number?).ok()?)));
    if let Some(behind) = answer.value().and_then(|text| decode(text)) {
        return Some(Told { behind, is_sure: true });
    }
    // What the path leads to now is the best guess, and no more.
    let found = root.stat(&path);
    let device = found.and_then(|stat| match stat.kind {
        FileKind::Block(major, minor) => Some((major, minor)),
        _ => None,
    });
    let nothing = FileId { device: (0, 0), inode: 0 };
    let file = found.map_or(nothing, |stat| stat.file);
    Some(Told { behind: Behind { file, device, part: (0, 0) }, is_sure: false })
}

/// What is behind a loop device right now; `None` when the kernel does not tell.
pub fn backing(root: &Root, name: &str) -> Option<Behind> {
    ask(name, number(root, name).get()?).ok()
}

/// What is behind a loop device, and whether the kernel said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) behind: Behind,
    is_sure: bool,
}

/// The file behind a loop device, which the kernel told. Where its name leads to it no longer, it is taken to be as long as the
/// device, and its file system is told by its number.
pub(super) fn file_behind(root: &Root, name: &str, file: FileId) -> FileBehind {
    let path = root.text(&format!("/sys/class/block/{name}/loop/backing_file")).get().unwrap_or_default();
    let (bytes, stands_elsewhere) = match root.stat(&path).filter(|stat| stat.file == file) {
        Some(stat) => (stat.bytes, root.stands_elsewhere(&path)),
        None => (size(root, name).get().unwrap_or_default().get(), is_elsewhere(root, file.device)),
    };
    FileBehind { file, bytes, stands_elsewhere, device: name.to_owned() }
}

/// File systems without a device of their own that keep their files for themselves.
const KEEPS_ITS_OWN: [&str; 6] = ["tmpfs", "ramfs", "devtmpfs", "btrfs", "bcachefs", "zfs"];

/// Whether files of the file system with a number may stand on another one, too: it has no device, and is mounted in no namespace
/// as one that keeps its own. An overlay also gives numbers to files that none of its mounts has.
fn is_elsewhere(root: &Root, number: (u32, u32)) -> bool {
    number.0 == 0
        && !mounts_everywhere(root).iter().any(|mount| mount.number == number && keeps_its_own(mount))
}

fn keeps_its_own(mount: &Mount) -> bool {
    KEEPS_ITS_OWN.contains(&mount.fstype.as_str())
}

/// The mounts of every namespace in which a process is in sight.
fn mounts_everywhere(root: &Root) -> Vec<Mount> {
    let mut namespaces = BTreeSet::new();
    let mut found = Vec::new();
    let processes = root.list("/proc").into_iter().filter(|name| name.parse::<u32>().is_ok());
    for process in processes.chain(["self".to_owned()]) {
        let namespace = root.link_name(&format!("/proc/{process}/ns/mnt")).get();
        if namespace.is_none_or(|namespace| namespaces.insert(namespace)) {
            let text = root.text(&format!("/proc/{process}/mountinfo"));
            found.extend(mount::parse(text.value().map_or("", String::as_str)));
        }
    }
    found
}

/// Looks for loop devices other than the target.
pub(super) fn search(root: &Root, target: &str, wanted: &Wanted, findings: &mut Findings) {
    let mut unsure = Vec::new();
    for name in root.list("/sys/class/block") {
        let Some(told) = behind(root, &name) else { continue };
        if !told.is_sure {
            unsure.push(name.clone());
        }
        if name == target {
            continue;
        }
        let member = match told.behind.device {
            Some(number) => wanted.numbered(number).map(str::to_owned),
            None if wanted.held_file(told.behind.file).is_some() => Some(target.to_owned()),
            None => {
                let FileBehind { file, bytes, stands_elsewhere, .. } =
                    file_behind(root, &name, told.behind.file);
                wanted.maybe_held(file, bytes, || stands_elsewhere).map(|held| held.device)
            }
        };
        if let Some(member) = member {
            findings.note(&member, How::Loop(name));
        }
    }
    if !unsure.is_empty() {
        let why = format!("what is behind {} cannot be asked; is its node in /dev?", unsure.join(", "));
        findings.hide(&[Class::Loops], why);
    }
}

fn encode(behind: &Behind) -> String {
    let Behind { file: FileId { device, inode }, .. } = behind;
    let below = behind.device.map_or(String::new(), |(major, minor)| format!(" {major}:{minor}"));
    format!("{}:{} {inode}{below}", device.0, device.1)
}

fn decode(text: &str) -> Option<Behind> {
    let mut words = text.split_whitespace();
    let device = parse_number_pair(words.next()?)?;
    let inode = words.next()?.parse().ok()?;
    let below = words.next().map(parse_number_pair);
    (below != Some(None)).then(|| Behind {
        file: FileId { device, inode },
        device: below.flatten(),
        part: (0, 0),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{hows, machine, over_file};
    use super::super::{Identity, read};
    use super::*;
    use crate::tree::Tree;
    use proptest::prelude::*;

    fn backed(name: &str) -> (String, How) {
        ("loop0".to_owned(), How::Loop(name.to_owned()))
    }

    #[test]
    fn a_loop_device_over_the_same_file_is_seen_under_any_name() {
        let mut tree = over_file();
        for (name, file) in [("loop1", "8:1 77"), ("loop2", "8:1 78"), ("loop3", "8:2 77")] {
            tree.file(&format!("/sys/class/block/{name}/loop/backing_file"), "/srv/other (deleted)")
                .file(&format!("/narrows/probe/loop/{name}"), file);
        }
        assert_eq!(hows(tree.clone(), "loop0"), [backed("loop1")]);
        let identity = read(&Root::from_tree(tree), "loop0").identity;
        assert_eq!(identity, Identity::BackingFile("/srv/disk.img".to_owned()));
    }

    #[test]
    fn a_loop_device_over_a_device_is_seen_whatever_the_node_was_called() {
        let mut tree = machine();
        tree.file("/sys/class/block/loop1/loop/backing_file", "/tmp/node (deleted)")
            .file("/narrows/probe/loop/loop1", "0:5 1234 8:32");
        assert_eq!(hows(tree.clone(), "sdc"), [("sdc".to_owned(), How::Loop("loop1".to_owned()))]);
        // And the other way round: it is no disk of its own.
        let of_loop = hows(tree, "loop1");
        assert!(of_loop.contains(&("loop1".to_owned(), How::BuiltOn("sdc".to_owned()))), "{of_loop:?}");
    }

    #[test]
    fn a_loop_device_that_does_not_answer_hides_the_class() {
        let mut tree = machine();
        tree.file("/sys/class/block/loop1/loop/backing_file", "/dev/sdc");
        assert_eq!(hows(tree.clone(), "sdc"), [("sdc".to_owned(), How::Loop("loop1".to_owned()))]);
        tree.file("/sys/class/block/loop1/loop/backing_file", "/srv/other");
        let unseen = read(&Root::from_tree(tree), "sdc").unseen;
        assert!(
            unseen[0].starts_with("loop devices, hidden here because what is behind loop1"),
            "{unseen:?}"
        );
    }

    /// The file behind `loop0` with a length, and another file as long on another file system.
    fn as_long() -> Tree {
        let mut tree = over_file();
        tree.file("/narrows/probe/stat/srv/disk.img", "file 8:1 77 4096")
            .file("/narrows/probe/stat/merged/disk.img", "file 0:40 9 4096");
        tree
    }

    fn maybe(found: &[(String, How)]) -> bool {
        found
            .iter()
            .any(|(device, _)| device.starts_with("what may be the file behind loop0 (a file as long"))
    }

    #[test]
    fn a_file_that_an_overlay_shows_under_another_identity_may_be_the_same() {
        let open = |tree: &mut Tree| {
            tree.link("/proc/5/fd/3", "/merged/disk.img").file("/proc/5/comm", "dd\n");
        };
        let twin = |tree: &mut Tree| {
            tree.file("/sys/class/block/loop1/loop/backing_file", "/merged/disk.img")
                .file("/narrows/probe/loop/loop1", "0:40 9");
        };
        for used in [&open as &dyn Fn(&mut Tree), &twin] {
            let mut tree = as_long();
            used(&mut tree);
            assert_eq!(hows(tree.clone(), "loop0"), [], "both are files of their own");
            for elsewhere in ["/srv/disk.img", "/merged/disk.img"] {
                let mut tree = tree.clone();
                tree.file(&format!("/narrows/probe/again{elsewhere}"), "");
                assert!(maybe(&hows(tree.clone(), "loop0")), "{elsewhere}");
                tree.file("/narrows/probe/stat/merged/disk.img", "file 0:40 9 4097");
                assert_eq!(hows(tree.clone(), "loop0"), [], "not as long");
                tree.file("/narrows/probe/stat/merged/disk.img", "file 8:1 78 4096");
                tree.file("/narrows/probe/loop/loop1", "8:1 78");
                assert_eq!(hows(tree, "loop0"), [], "another file of the same file system");
            }
        }
    }

    #[test]
    fn a_file_that_lost_its_name_may_be_one_of_an_overlay() {
        let mut tree = as_long();
        tree.file("/sys/class/block/loop1/loop/backing_file", "/merged/disk.img (deleted)")
            .file("/sys/class/block/loop1/size", "8")
            .file("/narrows/probe/loop/loop1", "0:41 9");
        assert!(maybe(&hows(tree.clone(), "loop0")), "no mount has this number");
        tree.file("/proc/999/mountinfo", "30 1 0:41 / /merged rw - overlay overlay rw\n");
        assert!(maybe(&hows(tree.clone(), "loop0")));
        tree.file("/proc/999/mountinfo", "30 1 0:42 / /merged rw - overlay overlay rw\n")
            .link("/proc/7/ns/mnt", "mnt:[7]")
            .file("/proc/7/mountinfo", "30 1 0:41 / /dev/shm rw - tmpfs tmpfs rw\n");
        assert_eq!(
            hows(tree.clone(), "loop0"),
            [],
            "a file system in memory keeps its files, in any namespace"
        );
        tree.file("/narrows/probe/loop/loop1", "8:2 9");
        assert_eq!(hows(tree, "loop0"), [], "and so does one with a device");
    }

    proptest! {
        #[test]
        fn no_answer_panics_and_every_one_comes_back(
            text in "\\PC{0,40}",
            device: (u16, u16),
            inode: u64,
            below in proptest::option::of((1_u32..4096, 0_u32..1 << 20)),
        ) {
            decode(&text);
            let device = (u32::from(device.0), u32::from(device.1));
            let behind = Behind { file: FileId { device, inode }, device: below, part: (0, 0) };
            prop_assert_eq!(decode(&encode(&behind)), Some(behind));
        }
    }
}
