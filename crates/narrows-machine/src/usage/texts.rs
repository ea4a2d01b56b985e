//! Parsers of what the kernel tells of processes and exports, as texts: `maps`, `fdinfo`, `/proc/locks`, `info` of LIO.

use crate::mount::unescape;
use crate::root::FileId;

/// One mapped file of `/proc/PID/maps`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mapping {
    /// The name of its link in `/proc/PID/map_files`.
    pub range: String,
    /// The device of its file system, as it stands there.
    pub device: String,
    pub inode: u64,
    /// The path, as it stands there.
    pub path: String,
}

/// The mappings of files in a `/proc/PID/maps`. What is malformed is left out, and what has no inode is no file.
pub fn mappings(text: &str) -> impl Iterator<Item = Mapping> {
    text.lines().filter_map(mapping)
}

/// `7f0000000000-7f0000001000 rw-s 00000000 00:06 1234    /dev/sdb`.
fn mapping(line: &str) -> Option<Mapping> {
    let mut rest = line;
    let mut field = || {
        let (one, after) = rest.split_once(' ')?;
        rest = after;
        Some(one)
    };
    let range = bare_range(field()?)?;
    let (_, _, device) = (field()?, field()?, field()?);
    let inode = rest.split(' ').next()?.parse().ok().filter(|inode| *inode != 0)?;
    let path = rest.split_once(' ').map_or("", |(_, path)| path.trim_start());
    Some(Mapping { range, device: device.to_owned(), inode, path: path.to_owned() })
}

/// `maps` pads addresses to eight digits, the names in `map_files` are not padded.
fn bare_range(range: &str) -> Option<String> {
    let (from, to) = range.split_once('-')?;
    let bare = |hex: &str| u64::from_str_radix(hex, 16).ok();
    Some(format!("{:x}-{:x}", bare(from)?, bare(to)?))
}

/// The files that are registered with a ring, as its `fdinfo` lists them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registered {
    /// The names; places that are free are left out.
    pub names: Vec<String>,
    /// Whether as many places are listed as there are. A ring that is busy lists none.
    pub is_whole: bool,
}

/// Reads `UserFiles: N` and the lines `INDEX: NAME` that follow it.
pub fn registered(fdinfo: &str) -> Registered {
    let mut lines = fdinfo.lines().skip_while(|line| !line.starts_with("UserFiles:"));
    let Some(count) = lines.next().and_then(|line| line.split_once(':')?.1.trim().parse::<u64>().ok()) else {
        return Registered::default();
    };
    let mut found = Registered::default();
    let mut listed = 0_u64;
    for line in lines {
        let Some((index, name)) = line.split_once(':') else { break };
        if index.trim().parse() != Ok(listed) {
            break;
        }
        listed += 1;
        let name = unescape(name.strip_prefix(' ').unwrap_or(name));
        if name != "<none>" {
            found.names.push(name);
        }
    }
    // Newer kernels leave free places out and count only those in use, or all: a list that ends early has fewer names.
    found.is_whole = listed >= count;
    found
}

/// Whether an `fdinfo` says that its descriptor is a path only (`O_PATH`): nothing can be read or written through it.
pub fn is_path_only(fdinfo: &str) -> bool {
    const O_PATH: u64 = 0o10_000_000;
    let flags = fdinfo.lines().find_map(|line| line.strip_prefix("flags:"));
    flags.and_then(|flags| u64::from_str_radix(flags.trim(), 8).ok()).is_some_and(|flags| flags & O_PATH != 0)
}

/// How many descriptors wait in a socket until somebody takes them, `scm_fds` of its `fdinfo`.
pub fn waiting(fdinfo: &str) -> u64 {
    let count = fdinfo.lines().find_map(|line| line.strip_prefix("scm_fds:"));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or_default()
}

/// The files of `/proc/locks` with the processes that hold the locks (0: none that we see):
/// `1: POSIX  ADVISORY  WRITE 1234 08:01:56789 0 EOF`.
pub fn locks(text: &str) -> impl Iterator<Item = (FileId, u32)> {
    text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| word.matches(':').count() == 2)?;
        let process = words.get(at.checked_sub(1)?)?.parse().unwrap_or_default();
        Some((numbered_file(words.get(at)?)?, process))
    })
}

/// The files that clients of the kernel's NFS server have open: `superblock: "08:01:56789"` in their `states`.
pub fn served(states: &str) -> impl Iterator<Item = FileId> {
    states.split("superblock: \"").skip(1).filter_map(|rest| numbered_file(rest.split('"').next()?))
}

/// `MAJOR:MINOR:INODE`, the first two in hexadecimal.
fn numbered_file(text: &str) -> Option<FileId> {
    let mut parts = text.split(':');
    let mut hex = || u32::from_str_radix(parts.next()?, 16).ok();
    let device = (hex()?, hex()?);
    let inode = parts.next()?.parse().ok()?;
    parts.next().is_none().then_some(FileId { device, inode })
}

/// What `info` of a device of LIO says it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backing {
    /// A block device: iblock.
    Number(u32, u32),
    /// A file or a node: fileio.
    Path(String),
    /// A SCSI address, host to unit: pscsi.
    Address([u32; 4]),
}

/// What the `info` of a device of LIO leads to.
pub fn backing(info: &str) -> Option<Backing> {
    if let Some((_, rest)) = info.split_once("File: ") {
        // `File: PATH  Size: 123  Mode: …`
        let path = rest.lines().next()?;
        let path = path.rsplit_once("  Size: ").map_or(path, |(path, _)| path);
        return Some(Backing::Path(path.trim_end().to_owned()));
    }
    let after =
        |key: &str| -> Option<u32> { info.split_once(key)?.1.split_whitespace().next()?.parse().ok() };
    if let (Some(major), Some(minor)) = (after("Major: "), after("Minor: ")) {
        return Some(Backing::Number(major, minor));
    }
    let address = [after("Host ID: ")?, after("Channel ID: ")?, after("Target ID: ")?, after("LUN: ")?];
    Some(Backing::Address(address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_mappings_of_files_are_listed_and_named_as_their_links_are() {
        let text = "00400000-00452000 r-xp 00000000 08:02 173521                             /usr/bin/dbus-daemon\n\
            00e03000-00e24000 rw-p 00000000 00:00 0                                  [heap]\n\
            7f5a70000000-7f5a70100000 rw-s 00001000 00:06 331                        /tmp/my disk (deleted)\n\
            7f5a71000000-7f5a71100000 rw-s 10000000 00:0f 1057                       anon_inode:[io_uring]\n\
            garbage\n";
        let found: Vec<Mapping> = mappings(text).collect();
        let short: Vec<(&str, &str, u64, &str)> = found
            .iter()
            .map(|one| (one.range.as_str(), one.device.as_str(), one.inode, one.path.as_str()))
            .collect();
        assert_eq!(
            short,
            [
                ("400000-452000", "08:02", 173_521, "/usr/bin/dbus-daemon"),
                ("7f5a70000000-7f5a70100000", "00:06", 331, "/tmp/my disk (deleted)"),
                ("7f5a71000000-7f5a71100000", "00:0f", 1057, "anon_inode:[io_uring]"),
            ]
        );
    }

    #[test]
    fn files_of_a_ring_are_listed_with_and_without_their_directories() {
        let text = "pos:\t0\nflags:\t02000002\nUserFiles:\t3\n    0: /dev/loop5\n    1: <none>\n    2: /tmp/a\\040b\nUserBufs:\t0\nPollList:\n";
        let names = vec!["/dev/loop5".to_owned(), "/tmp/a b".to_owned()];
        assert_eq!(registered(text), Registered { names, is_whole: true });
        let old = "UserFiles:\t1\n    0: loop5\nUserBufs:\t0\n";
        assert_eq!(registered(old), Registered { names: vec!["loop5".to_owned()], is_whole: true });
        let none = "UserFiles:\t0\nUserBufs:\t0\n";
        assert_eq!(registered(none), Registered { names: Vec::new(), is_whole: true });
        let busy = "UserFiles:\t2\nUserBufs:\t0\n";
        assert!(!registered(busy).is_whole && !registered("").is_whole);
    }

    #[test]
    fn flags_and_counts_of_a_descriptor_are_read() {
        assert!(is_path_only("pos:\t0\nflags:\t012100000\nmnt_id:\t27\n"));
        assert!(!is_path_only("pos:\t0\nflags:\t0100002\nmnt_id:\t27\n") && !is_path_only(""));
        assert_eq!(waiting("pos:\t0\nflags:\t02\nscm_fds: 3\n"), 3);
        assert_eq!(waiting("pos:\t0\n"), 0);
    }

    #[test]
    fn locks_and_states_name_files_by_their_inodes() {
        let text = "1: POSIX  ADVISORY  WRITE 1234 08:01:56789 0 EOF\n1: -> FLOCK  ADVISORY  READ 7 fd:10:13649 0 EOF\n2: LEASE  ACTIVE    READ  0 00:23:5 0 EOF\n";
        let file = |major, minor, inode| FileId { device: (major, minor), inode };
        let found: Vec<(FileId, u32)> = locks(text).collect();
        assert_eq!(found, [(file(8, 1, 56789), 1234), (file(0xfd, 0x10, 13649), 7), (file(0, 0x23, 5), 0)]);
        let states = "- 0x01000000d43b1f61: { type: open, access: rw, deny: --, superblock: \"fd:10:13649\", filename: \"x\" }\n";
        assert_eq!(served(states).collect::<Vec<_>>(), [file(0xfd, 0x10, 13649)]);
    }

    /// As `iblock_show_configfs_dev_params`, `fd_show_configfs_dev_params` and `pscsi_show_configfs_dev_params` print it.
    #[test]
    fn a_device_of_the_scsi_target_is_known_by_what_its_driver_says() {
        let head = "Status: ACTIVATED  Max Queue Depth: 0  SectorSize: 512  HwMaxSectors: 32768\n        ";
        let iblock = "iBlock device: loop5  UDEV PATH: /dev/x  readonly: 0\n        Major: 7 Minor: 5  CLAIMED: IBLOCK\n";
        assert_eq!(backing(&format!("{head}{iblock}")), Some(Backing::Number(7, 5)));
        let file =
            "TCM FILEIO ID: 0        File: /srv/my disk.img  Size: 16777216  Mode: Buffered-WCE Async: 0\n";
        assert_eq!(backing(&format!("{head}{file}")), Some(Backing::Path("/srv/my disk.img".to_owned())));
        let pscsi = "SCSI Device Bus Location: Channel ID: 0 Target ID: 1 LUN: 2 Host ID: 3\n";
        assert_eq!(backing(&format!("{head}{pscsi}")), Some(Backing::Address([3, 0, 1, 2])));
        assert_eq!(backing(head), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}", words in proptest::collection::vec("[-/:,= 0-9a-fA-Z\\\\]{0,9}", 0..14)) {
            for text in [text, words.join(" "), words.join("\n"), format!("UserFiles:\t{}", words.join("\n"))] {
                mappings(&text).count();
                registered(&text);
                is_path_only(&text);
                waiting(&text);
                locks(&text).count();
                served(&text).count();
                backing(&text);
                backing(&format!("File: {text}"));
            }
        }

        #[test]
        fn every_name_of_a_ring_comes_back(names in proptest::collection::vec("/[a-z ]{1,12}", 0..6)) {
            let mut text = format!("UserFiles:\t{}\n", names.len());
            for (index, name) in names.iter().enumerate() {
                text.push_str(&format!("{index:5}: {}\n", name.replace(' ', "\\040")));
            }
            text.push_str("UserBufs:\t0\n");
            prop_assert_eq!(registered(&text), Registered { names, is_whole: true });
        }
    }
}
