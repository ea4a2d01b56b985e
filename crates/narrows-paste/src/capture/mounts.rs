//! What is mounted: `mount`, `/proc/mounts`, `/proc/self/mountinfo`, `/proc/self/mountstats`, `findmnt` (tree, list, pairs and JSON) and `df`.

use std::collections::BTreeMap;

use narrows_base::fact::Fact;
use narrows_machine::block::Remote;
use narrows_machine::mount::{self, Mount, unescape};
use narrows_machine::{Machine, mount as live};
use serde_json::Value;

use super::device::{device, key_of};
use super::fill::{Fill, Than};
use super::json::{documents, list, text_of};
use super::table::{TableHead, cell, is_tree, words};
use super::{Part, Rank, Text, number};

/// No machine has more mounts of devices; a text that names more was made to be slow.
const MOST_MOUNTS: usize = 4096;

/// Nor are so many mounted over each other.
const MOST_AT_ONE_POINT: usize = 16;

/// Reads every output about mounts in a text.
pub fn read(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Summary, ..Part::default() };
    let body = text.body();
    let mut found = Vec::new();
    if body.contains("\"filesystems\"") {
        found.extend(mounts_of_json(text));
    }
    if body.contains("TARGET") {
        found.extend(mounts_of_tables(text));
        found.extend(mounts_of_pairs(text));
    }
    // A mount point begins with a slash, whatever the form.
    if body.contains(" /") {
        found.extend(mounts_of_lines(text));
    }
    if body.contains(" with fstype ") {
        found.extend(mounts_of_stats(text));
    }
    let own = found.into_iter().filter(|(_, mount)| is_storage(mount));
    let mounts: Vec<Mount> = own.map(|(line, mount)| complete(mount, &text.source(line))).collect();
    part.kind = (!mounts.is_empty()).then_some("mounts");
    for name in mounts.iter().flat_map(|mount| &mount.devices) {
        device(&mut part.machine, name);
    }
    add(&mut part.machine, mounts);
    part
}

/// Whether a mount has to do with storage: that of a device, of a server, or of a file system with devices of its own.
fn is_storage(mount: &Mount) -> bool {
    mount.point.starts_with('/')
        && (mount.source.starts_with("/dev/")
            || mount.is_network()
            || matches!(mount.fstype.as_str(), "zfs" | "bcachefs"))
}

/// Fills in what follows from source and options.
fn complete(mut mount: Mount, source: &str) -> Mount {
    mount.devices = devices_of(&mount.source);
    if mount.root.is_empty() {
        mount.root = "/".to_owned();
    }
    if mount.is_network() {
        let address = Fact::of(mount.option("addr").map(str::to_owned), source);
        let port = Fact::of(mount.server_port(), source);
        mount.remote = Some(Remote { address, port, interface: Fact::absent(source) });
    }
    let has_options = mount.is_network() && !mount.options.is_empty();
    mount.connections = Fact::of(has_options.then(|| mount::connections(&mount).get()).flatten(), source);
    mount
}

/// Puts mounts down. One of the same device or source at the same point is the same mount, and fills in what is not known
/// of it.
pub(super) fn add(machine: &mut Machine, mounts: impl IntoIterator<Item = Mount>) {
    let mut at: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, known) in machine.mounts.iter().enumerate() {
        at.entry(known.point.clone()).or_default().push(index);
    }
    for mount in mounts {
        let here = at.entry(mount.point.clone()).or_default();
        let same = here.iter().copied().find(|index| {
            machine.mounts.get(*index).is_some_and(|known| {
                known.source == mount.source
                    || known.devices.first().is_some_and(|device| mount.devices.contains(device))
            })
        });
        let has_room = here.len() < MOST_AT_ONE_POINT && machine.mounts.len() < MOST_MOUNTS;
        if let Some(known) = same.and_then(|index| machine.mounts.get_mut(index)) {
            fill(known, mount);
        } else if has_room {
            here.push(machine.mounts.len());
            machine.mounts.push(mount);
        }
    }
}

fn fill(known: &mut Mount, other: Mount) {
    known.fstype.fill(other.fstype, Than::Less);
    known.options.fill(other.options, Than::Less);
    known.devices.fill(other.devices, Than::Less);
    if known.number == (0, 0) {
        known.number = other.number;
    }
    if known.root == "/" {
        known.root = other.root;
    }
    let knows_address =
        |remote: &Option<Remote>| remote.as_ref().is_some_and(|remote| remote.address.value().is_some());
    if !knows_address(&known.remote) && other.remote.is_some() {
        known.remote = other.remote;
    }
    if known.connections.value().is_none() {
        known.connections = other.connections;
    }
}

/// The block devices that a source names.
fn devices_of(source: &str) -> Vec<String> {
    // `/dev/sda2[/@home]` is a subvolume or bind mount in the words of findmnt; bcachefs joins its devices with colons.
    let source = source.split('[').next().unwrap_or_default();
    source.split(':').filter(|part| part.starts_with("/dev/")).filter_map(key_of).collect()
}

/// The options of `rw,relatime,subvol=/@`.
fn options(text: &str) -> Vec<String> {
    text.split(',').filter(|option| !option.is_empty()).map(str::to_owned).collect()
}

/// A file system named only by the device that holds it; what `df` does not say stays empty.
fn mount(source: &str, point: &str, fstype: &str, of: &str) -> Mount {
    let root = source.split_once('[').and_then(|(_, root)| root.strip_suffix(']')).unwrap_or_default();
    Mount {
        point: point.to_owned(),
        fstype: fstype.to_owned(),
        source: source.split('[').next().unwrap_or_default().to_owned(),
        options: options(of),
        root: root.to_owned(),
        ..Mount::default()
    }
}

/// One mount on each line: `mount`, `/proc/mounts`, `/proc/self/mountinfo` and `df`.
///
/// Every line that is a mount, in whatever form.
fn mounts_of_lines(text: &Text) -> impl Iterator<Item = (usize, Mount)> {
    text.lines().filter(|(_, line)| line.contains(" /")).filter_map(|(number, line)| {
        let mount =
            of_mount(line).or_else(|| of_mountinfo(line)).or_else(|| of_fstab(line)).or_else(|| of_df(line));
        mount.map(|mount| (number, mount))
    })
}

/// `/proc/self/mountstats` (kernel `fs/proc_namespace.c`, `show_vfsstat`; `fs/nfs/super.c`, `nfs_show_stats`): `device
/// nas:/vol mounted on /mnt with fstype nfs4 statvers=1.1`, and the options of an NFS mount on a line of their own.
fn mounts_of_stats(text: &Text) -> Vec<(usize, Mount)> {
    let mut found: Vec<(usize, Mount)> = Vec::new();
    for (number, line) in text.lines() {
        let line = line.trim();
        let device = line.strip_prefix("device ").and_then(|rest| rest.split_once(" mounted on "));
        if let Some((source, rest)) = device
            && let Some((point, kind)) = rest.split_once(" with fstype ")
        {
            let fstype = kind.split_whitespace().next().unwrap_or_default();
            found.push((number, mount(&unescape(source), &unescape(point), fstype, "")));
        } else if let (Some(told), Some((_, open))) = (line.strip_prefix("opts:"), found.last_mut()) {
            open.options = options(told.trim());
        }
    }
    found
}

/// `/dev/sda2 on / type ext4 (rw,relatime)`.
fn of_mount(line: &str) -> Option<Mount> {
    let (source, rest) = line.trim().split_once(" on ")?;
    let (point, rest) = rest.split_once(" type ")?;
    let (fstype, options) = rest.split_once(' ').unwrap_or((rest, ""));
    // `[label]` may follow the options (`mount -l`).
    let options =
        options.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(options, _)| options);
    (point.starts_with('/') && !source.contains(' ')).then(|| mount(source, point, fstype, options))
}

/// A line of mountinfo begins with two numbers and a device number.
fn of_mountinfo(line: &str) -> Option<Mount> {
    let is_one = line.starts_with(|c: char| c.is_ascii_digit()) && line.contains(" - ");
    is_one.then(|| live::parse(line).pop()).flatten()
}

/// `/dev/sda2 / ext4 rw,relatime 0 0`, as `/proc/mounts` has it. A line of `/etc/fstab` looks the same, but says what
/// should be and not what is; the kernel's list always has `rw` or `ro` among the options, and ends in `0 0`.
fn of_fstab(line: &str) -> Option<Mount> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [source, point, fstype, options, "0", "0"] = words.as_slice() else { return None };
    let is_live = options.split(',').any(|option| matches!(option, "rw" | "ro"));
    let is_one = point.starts_with('/') && is_live && !source.starts_with('#');
    is_one.then(|| mount(&unescape(source), &unescape(point), fstype, options))
}

/// `/dev/sda2  457G  120G  314G  28% /home`, with or without a column for the type.
fn of_df(line: &str) -> Option<Mount> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let percent =
        words.iter().position(|word| word.strip_suffix('%').is_some_and(|n| n.parse::<u32>().is_ok()))?;
    let (source, fstype, sizes) = match words.get(..percent)? {
        [source, sizes @ ..] if sizes.len() == 3 => (source, "", sizes),
        [source, fstype, sizes @ ..] if sizes.len() == 3 => (source, *fstype, sizes),
        _ => return None,
    };
    let point = words.get(percent + 1..)?.join(" ");
    let are_sizes = sizes.iter().all(|word| number::binary_size(word).is_some());
    (are_sizes && point.starts_with('/')).then(|| mount(source, &point, fstype, ""))
}

/// The columns that are wanted, in the order that [`mount`] takes them.
const WANTED: [&str; 4] = ["SOURCE", "TARGET", "FSTYPE", "OPTIONS"];

/// The columns of the usual output and those that are often asked for; any other word is none of a head.
const COLUMNS: &[&str] = &[
    "TARGET",
    "SOURCE",
    "FSTYPE",
    "OPTIONS",
    "SIZE",
    "AVAIL",
    "USED",
    "USE%",
    "LABEL",
    "UUID",
    "PARTLABEL",
    "PARTUUID",
    "MAJ:MIN",
    "FSROOT",
    "PROPAGATION",
    "VFS-OPTIONS",
    "FS-OPTIONS",
    "FREQ",
    "PASSNO",
    "ID",
    "OPT-FIELDS",
    "TID",
];

/// `findmnt`: `TARGET SOURCE FSTYPE OPTIONS` as a tree or list, `-P` pairs, `-J` JSON.
///
/// Every row of every table.
fn mounts_of_tables(text: &Text) -> Vec<(usize, Mount)> {
    let mut found = Vec::new();
    let mut table: Option<TableHead<'_>> = None;
    for (number, line) in text.lines() {
        let words = words(line);
        if words.len() > 1 && words.iter().all(|word| COLUMNS.contains(&word.text)) {
            let has = |name: &str| words.iter().any(|word| word.text == name);
            table = (has("TARGET") && has("SOURCE")).then_some(TableHead(words));
            continue;
        }
        let Some(head) = &table else { continue };
        let cells = head.cells(&words);
        let [source, point, fstype, options] =
            WANTED.map(|column| cell(&cells, column).unwrap_or_default().trim_start_matches(is_tree));
        if point.starts_with('/') {
            found.push((number, mount(source, point, fstype, options)));
        } else {
            table = None;
        }
    }
    found
}

/// Every line of `TARGET="/" SOURCE="/dev/sda2" …`.
fn mounts_of_pairs(text: &Text) -> Vec<(usize, Mount)> {
    let value = |line: &str, column: &str| {
        let (_, rest) = line.split_once(&format!("{column}=\""))?;
        rest.split_once('"').map(|(value, _)| value.to_owned())
    };
    let own = text.lines().filter(|(_, line)| line.contains("TARGET=\"/"));
    own.filter_map(|(number, line)| Some((number, of_cells(WANTED.map(|column| value(line, column)))?)))
        .collect()
}

fn of_cells([source, target, fstype, options]: [Option<String>; 4]) -> Option<Mount> {
    Some(mount(&source?, &target?, &fstype.unwrap_or_default(), &options.unwrap_or_default()))
}

/// Every mount of every `filesystems` document.
fn mounts_of_json(text: &Text) -> Vec<(usize, Mount)> {
    let mut found = Vec::new();
    for (line, document) in documents(text) {
        add_found(&mut found, line, &document, "filesystems");
    }
    found
}

fn add_found(found: &mut Vec<(usize, Mount)>, line: usize, above: &Value, key: &str) {
    for value in list(above, key) {
        let member = |column: &str| text_of(value, &column.to_ascii_lowercase());
        found.extend(of_cells(WANTED.map(member)).map(|mount| (line, mount)));
        add_found(found, line, value, "children");
    }
}

#[cfg(test)]
mod tests;
