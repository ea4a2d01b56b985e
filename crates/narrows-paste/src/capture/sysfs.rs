//! Files of `/sys` and `/proc` with their content on one line each, as `grep . /sys/…/*` prints them:
//!
//! ```text
//! /sys/bus/pci/devices/0000:01:00.0/current_link_speed:16.0 GT/s PCIe
//! /sys/bus/usb/devices/usb5/rx_lanes = 2
//! /sys/bus/pci/devices/0000:01:00.0 -> ../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0
//! ```
//!
//! The lines are put back into a tree, and that is read as the tree of a live machine is.

use std::collections::BTreeMap;

use narrows_machine::Machine;
use narrows_machine::block::is_numbered;
use narrows_machine::pci::PciAddress;
use narrows_machine::root::Root;
use narrows_machine::snapshot::directories_cost;
use narrows_machine::tree::{Node, Tree};

use super::{Part, Rank, Text};
use crate::text::is_digits;

/// More lines than any listing of the files that narrows reads: a thousand functions have 20 each.
const MOST_LINES: usize = 60_000;

/// Longer than any path of `/sys` that matters (`PATH_MAX` is 4096).
const LONGEST: usize = 1024;

/// The most bytes of names that a listing may make: a tree makes every directory on the way to a file.
const MOST_NAMES: usize = 32 << 20;

/// Reads listings of files.
pub fn read(text: &Text) -> Part {
    let body = text.body();
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    let mut links: BTreeMap<&str, &str> = BTreeMap::new();
    let mut bare: BTreeMap<String, &str> = BTreeMap::new();
    for (name, target) in body.lines().filter_map(bare_link).take(MOST_LINES) {
        bare.extend(home(name, target).map(|path| (path, target)));
    }
    links.extend(bare.iter().map(|(path, target)| (path.as_str(), *target)));
    for (path, entry) in body.lines().filter_map(parse_line).take(MOST_LINES) {
        match entry {
            SysfsEntry::Link(target) => _ = links.insert(path, target),
            SysfsEntry::Line(content) => {
                let file = files.entry(path).or_default();
                if !file.is_empty() {
                    file.push('\n');
                }
                file.push_str(content);
            }
        }
    }
    if links.is_empty() && files.is_empty() {
        return Part::default();
    }
    let mut tree = tree(links, files);
    add_names(&mut tree, Missing::Names);
    let machine = Machine::read(&Root::from_tree(tree));
    if is_empty(&machine) {
        return Part::default();
    }
    Part { kind: Some("files of /sys and /proc"), rank: Rank::Raw, machine, gaps: Vec::new() }
}

/// A tree of the links and files. A listing may name a file by a path through a link: it is put where that leads to.
fn tree(links: BTreeMap<&str, &str>, files: BTreeMap<&str, String>) -> Tree {
    let mut tree = Tree::new();
    let place = |tree: &Tree, path: &str| {
        let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
        (tree.resolve(dir).unwrap_or_else(|_| dir.to_owned()), name.to_owned())
    };
    let mut links: Vec<(&str, &str)> = links.into_iter().collect();
    links.sort_by_key(|(path, _)| path.len());
    let mut left = MOST_NAMES;
    for (path, target) in links.into_iter().filter(|(_, target)| target.len() <= LONGEST) {
        let (dir, name) = place(&tree, path);
        // Nothing is known of what they share with others: each directory is counted for every link.
        let cost = directories_cost("", path).saturating_add(directories_cost("", target));
        let Some(rest) = left.checked_sub(cost) else { break };
        left = rest;
        let to = if target.starts_with('/') { target.to_owned() } else { format!("{dir}/{target}") };
        tree.insert(&format!("{dir}/{name}"), Node::Link(target.to_owned()));
        tree.insert(&to, Node::Dir);
    }
    let mut before = String::new();
    let mut left = MOST_NAMES;
    for (path, content) in files {
        let (dir, name) = place(&tree, path);
        let Some(rest) = left.checked_sub(directories_cost(&before, path)) else { break };
        (left, before) = (rest, path.to_owned());
        tree.insert(&format!("{dir}/{name}"), Node::File(content.into_bytes()));
    }
    tree
}

/// Whether nothing of use was listed, such as the paths that a kernel log names in passing.
fn is_empty(machine: &Machine) -> bool {
    machine.pci.is_empty()
        && machine.block.is_empty()
        && machine.nics.is_empty()
        && machine.mounts.is_empty()
        && machine.interrupts.is_empty()
        && machine.cpus.nodes.is_empty()
        && machine.cpus.model.value().is_none()
        && machine.dmi.board.value().is_none()
        && machine.dmi.product.value().is_none()
        && machine.slots.value().is_none()
}

#[derive(Debug, PartialEq, Eq)]
enum SysfsEntry<'t> {
    Line(&'t str),
    Link(&'t str),
}

fn parse_line(line: &str) -> Option<(&str, SysfsEntry<'_>)> {
    // `ls -l` has columns before the path of a link; a prompt or a bullet may stand before any.
    let at = if line.starts_with("/sys/") || line.starts_with("/proc/") {
        0
    } else {
        line.find(" /sys/").filter(|_| line.contains(" -> "))? + 1
    };
    let line = line.get(at..)?;
    if let Some((path, target)) = line.split_once(" -> ") {
        return is_path(path).then_some((path, SysfsEntry::Link(target.trim())));
    }
    let end = end_of_path(line)?;
    let (path, rest) = line.split_at(end);
    let content = rest.trim_start().strip_prefix([':', '='])?;
    is_path(path).then_some((path, SysfsEntry::Line(content.trim())))
}

/// A link without the directory that it is in, as `ls -l /sys/block` prints it: `sda -> ../devices/pci0000:00/…`.
fn bare_link(line: &str) -> Option<(&str, &str)> {
    let (before, target) = line.split_once(" -> ")?;
    let target = target.trim();
    let is_device = target.trim_start_matches("../").starts_with("devices/") && target.starts_with("../");
    let name = before.split_whitespace().next_back()?;
    let is_own = target.rsplit('/').next() == Some(name);
    (is_device && is_own && !name.contains('/') && target.len() <= LONGEST).then_some((name, target))
}

/// Where such a link is: the place in `/sys/devices` that it leads to says what kind of device it is, and the way up how
/// deep the directory lies.
fn home(name: &str, target: &str) -> Option<String> {
    let (above, _) = target.rsplit_once('/')?;
    let kind = above.rsplit('/').next()?;
    let up = target.matches("../").count();
    let is_controller = is_numbered(kind, "nvme");
    let directory = match kind {
        _ if up == 1 => "/sys/block",
        "block" => "/sys/class/block",
        "net" => "/sys/class/net",
        "nvme" => "/sys/class/nvme",
        _ if is_controller && name.starts_with("nvme") => "/sys/class/block",
        _ if name.parse::<PciAddress>().is_ok() => "/sys/bus/pci/devices",
        _ => return None,
    };
    // As many levels as the directory has below `/sys`.
    (directory.matches('/').count() == up + 1).then(|| format!("{directory}/{name}"))
}

fn is_path(path: &str) -> bool {
    path.len() <= LONGEST && !path.contains(char::is_whitespace) && !path.ends_with('/')
}

/// Where the path ends: at the first blank, or at the first colon that is not part of a name that a bus gives.
fn end_of_path(line: &str) -> Option<usize> {
    let blank = line.find(char::is_whitespace).unwrap_or(line.len());
    let mut at = 1;
    for component in line.get(1..blank)?.split('/') {
        let is_last = at + component.len() >= blank;
        if let Some(colon) = component.find(':').filter(|_| !is_bus_name(component) || is_last) {
            return Some(at + colon);
        }
        at += component.len() + 1;
    }
    Some(blank)
}

/// Names with colons: `0000:01:00.0`, `pci0000:00`, `2:0:0:0` (SCSI), `1-4:1.0` (USB), `PNP0A08:00` (ACPI), `8:16`.
fn is_bus_name(name: &str) -> bool {
    let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if name.parse::<PciAddress>().is_ok() {
        return true;
    }
    let Some((head, tail)) = name.split_once(':') else { return false };
    let is_domain = head.strip_prefix("pci").is_some_and(is_hex) && is_hex(tail);
    let is_scsi = is_digits(head) && tail.split(':').all(is_digits);
    let is_usb =
        head.contains('-') && head.split(['-', '.']).all(is_digits) && tail.split('.').all(is_digits);
    let is_acpi = head.len() >= 7
        && head.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        && tail.len() == 2
        && is_hex(tail);
    is_domain || is_scsi || is_usb || is_acpi
}

/// Which names a tree lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// Any: a listing may have both kinds of path, each for other devices.
    Names,
    /// Those of a directory that is not there at all: a record that has it has it whole.
    Directories,
}

/// Puts in the links by which devices are found, where only the places are there that they lead to: listings of
/// `/sys/devices`, and collectors that copy `/sys/block/*/queue` and no links.
pub(super) fn add_names(tree: &mut Tree, missing: Missing) {
    let mut links: Vec<(&str, &str, String)> = Vec::new();
    for (path, _) in tree.iter() {
        let Some((dir, name)) = path.rsplit_once('/') else { continue };
        if dir == "/sys/block" {
            links.push(("/sys/class/block", name, path.to_owned()));
        }
        if path == "/sys/devices/virtual/dmi/id" {
            links.push(("/sys/class/dmi", name, path.to_owned()));
        }
        if path.starts_with("/sys/devices/") {
            links.extend(directory_of(dir, name).map(|class| (class, name, path.to_owned())));
        }
    }
    let links: Vec<(String, String)> = links
        .into_iter()
        .filter(|(class, ..)| missing == Missing::Names || tree.resolve(class).is_err())
        .map(|(class, name, to)| (format!("{class}/{name}"), to))
        .collect();
    for (at, to) in links {
        if tree.resolve(&at).is_err() && tree.read_link(&at).is_err() {
            tree.insert(&at, Node::Link(to));
        }
    }
}

/// The directory that lists a device which lies in `dir` as `name`.
fn directory_of(dir: &str, name: &str) -> Option<&'static str> {
    match dir.rsplit('/').next() {
        Some("block") => Some("/sys/class/block"),
        Some("net") => Some("/sys/class/net"),
        _ if name.matches(':').count() == 2 && name.parse::<PciAddress>().is_ok() => {
            Some("/sys/bus/pci/devices")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use narrows_base::units::{GtPerSec, Lanes};
    use proptest::prelude::*;

    use super::*;

    fn part(text: &str) -> Part {
        read(&Text::new("sys.txt", text.as_bytes()))
    }

    fn address(text: &str) -> PciAddress {
        text.parse().expect("an address")
    }

    #[test]
    fn a_listing_of_places_is_a_machine() {
        let part = part(
            "$ grep -r . /sys/devices\n\
             /sys/devices/pci0000:00/0000:00:01.0/class:0x060400\n\
             /sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/class:0x010802\n\
             /sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/current_link_speed:8.0 GT/s PCIe\n\
             /sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/current_link_width:4\n\
             /sys/devices/virtual/dmi/id/board_name:X99-A\n",
        );
        assert_eq!((part.kind, part.rank), (Some("files of /sys and /proc"), Rank::Raw));
        let device = part.machine.pci.get(&address("01:00.0")).expect("was listed");
        assert_eq!(device.parent, Some(address("00:01.0")));
        assert_eq!(device.link.current_speed.get(), Some(GtPerSec::GEN3));
        assert_eq!(device.link.current_width.get(), Some(Lanes::new(4)));
        assert_eq!(part.machine.dmi.board.get().as_deref(), Some("X99-A"));
    }

    #[test]
    fn names_and_links_lead_to_devices() {
        let part = part(
            "lrwxrwxrwx 1 root root 0 Nov 1 /sys/bus/pci/devices/0000:01:00.0 -> ../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0\n\
             /sys/bus/pci/devices/0000:01:00.0/vendor:0x144d\n\
             /sys/bus/pci/devices/0000:01:00.0/device = 0xa808\n\
             /sys/block/sda/queue/rotational:1\n",
        );
        let device = part.machine.pci.get(&address("01:00.0")).expect("was listed");
        assert_eq!(device.parent, Some(address("00:01.0")));
        assert_eq!(device.id.get().map(|id| id.to_string()).as_deref(), Some("144d:a808"));
        assert_eq!(part.machine.block.keys().collect::<Vec<_>>(), ["sda"]);
    }

    #[test]
    fn deep_paths_cannot_take_more_memory_than_the_limit() {
        let deep: String = (0..4000).map(|line| format!("/sys/{line}{}:1\n", "/a".repeat(500))).collect();
        let mut files = BTreeMap::new();
        files.extend(deep.lines().filter_map(parse_line).map(|(path, _)| (path, String::new())));
        assert_eq!(files.len(), 4000);
        let names: usize = tree(BTreeMap::new(), files).iter().map(|(path, _)| path.len()).sum();
        assert!((MOST_NAMES / 2..=MOST_NAMES).contains(&names), "{names}");
    }

    #[test]
    fn a_path_ends_where_its_content_begins() {
        let line = |text| parse_line(text).map(|(path, entry)| (path.to_owned(), entry));
        let want = |path: &str, content| Some((path.to_owned(), SysfsEntry::Line(content)));
        assert_eq!(line("/sys/class/block/sda/dev:8:0"), want("/sys/class/block/sda/dev", "8:0"));
        assert_eq!(
            line("/sys/devices/virtual/dmi/id/modalias:dmi:bvnX/Y"),
            want("/sys/devices/virtual/dmi/id/modalias", "dmi:bvnX/Y")
        );
        assert_eq!(
            line("/sys/bus/usb/devices/1-4:1.0/driver_override:(null)"),
            want("/sys/bus/usb/devices/1-4:1.0/driver_override", "(null)")
        );
        assert_eq!(line("/sys/x: No such file"), want("/sys/x", "No such file"));
        assert_eq!(line("see /sys/class for more"), None);
        assert_eq!(line("/sys/kernel/debug"), None);
    }

    #[test]
    fn a_text_that_only_names_paths_is_not_a_listing() {
        assert_eq!(part("[    0.1] see /sys/kernel/debug/x: it\n/sys/x/y:1\n").kind, None);
        assert_eq!(part("nothing").kind, None);
    }

    #[test]
    fn listings_of_links_tell_where_devices_are() {
        let part = part(
            "$ ls -l /sys/block\n\
             lrwxrwxrwx 1 root root 0 Nov 1 10:00 nvme0n1 -> ../devices/pci0000:00/0000:00:01.0/0000:01:00.0/nvme/nvme0/nvme0n1\n\
             lrwxrwxrwx 1 root root 0 Nov 1 10:00 sda -> ../devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda\n\
             $ ls -l /sys/class/net\n\
             lrwxrwxrwx 1 root root 0 Nov 1 10:00 eth0 -> ../../devices/pci0000:00/0000:00:1c.0/0000:03:00.0/net/eth0\n\
             $ ls -l /sys/bus/pci/devices\n\
             lrwxrwxrwx 1 root root 0 Nov 1 10:00 0000:01:00.0 -> ../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0\n\
             lrwxrwxrwx 1 root root 0 Nov 1 10:00 x -> ../../../devices/y\n",
        );
        let machine = part.machine;
        let carrier = &machine.block["nvme0n1"].transport;
        assert!(
            matches!(carrier, narrows_machine::block::Transport::NvmePci { pci, .. } if *pci == address("01:00.0")),
            "{carrier:?}"
        );
        assert!(
            matches!(&machine.block["sda"].transport, narrows_machine::block::Transport::Sata(sata) if sata.pci == Some(address("00:17.0")))
        );
        assert_eq!(machine.pci[&address("01:00.0")].parent, Some(address("00:01.0")));
    }

    proptest! {
        #[test]
        fn no_listing_panics(text in "(/(sys|proc|dev|[0-9a-f:.]{1,12}|block|net| -> |:|=){1,9}\n){0,8}") {
            let _ = part(&text);
        }
    }
}
