//! Sorts what is found into records of `/sys` and `/proc`, and texts.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read};

use narrows_machine::pci::PciAddress;
use narrows_machine::snapshot::{self, Budget, MANIFEST, SnapshotError, directories_cost};
use narrows_machine::tree::{Node, Tree, normalise};

use super::format::{Format, HEAD, Spent, unpack};
use super::{
    MOST_KNOWN_TEXTS, MOST_OF_TEXT, MOST_OF_TEXTS, MOST_TEXTS, MOST_UNPACKED, OFFERED, Viewer, archive,
};
use crate::capture::merge::{MOST_OF_A_KIND, Merger};
use crate::capture::sysfs::{self, Missing};
use crate::capture::{Part, Text, dmidecode, lspci, parts};

/// The directories of a record.
const PARTS: [&str; 4] = ["sys", "proc", "dev", "narrows"];

/// An archive in an archive is opened, but no deeper.
const DEEPEST_ARCHIVE: u8 = 2;

/// A file may be compressed, and its archive once more.
const DEEPEST_PACKING: u8 = 3;

/// A benchmark that GNOME Disks kept begins with this, and is binary.
const BENCHMARK: &[u8] = b"version\0";

/// The most names and notes that are kept.
const MOST_NAMES: usize = 200;

/// What was gathered.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The records of `/sys`, `/proc` and `/dev`, with the place of each; a record of `narrows snapshot` is one.
    pub trees: Vec<(String, Tree)>,
    /// What the readers found in the texts.
    pub merger: Merger,
    /// The names of texts in which nothing was recognised, at most 200 of them.
    pub unrecognised: Vec<String>,
    /// How many there are in all.
    pub unrecognised_count: usize,
    /// What could not be read or was left out, for a person.
    pub notes: Vec<String>,
    /// Of each path that was given whether something in it was recognised.
    pub is_known: Vec<bool>,
}

/// How deep a file lies in archives and compressions.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Depth {
    pub(super) archives: u8,
    pub(super) packings: u8,
}

/// Takes entries of directories and archives, and whole files.
pub(super) struct Collector<'v> {
    /// Who else is shown each text; says whether it knew it.
    viewer: &'v mut dyn Viewer,
    gathered: Gathered,
    /// Whether something was recognised since the last path was named.
    is_known: bool,
    trees: BTreeMap<String, Tree>,
    budget: Budget,
    /// The path of a record that was put in last: what the next one costs depends on what both share.
    before: String,
    /// Bytes, texts, and texts with something in them that may still be read.
    texts_left: u64,
    entries_left: usize,
    known_left: usize,
    /// Whether texts were left out for that, and a note says so.
    is_full: bool,
    /// Whether devices were left out, and a note says so.
    is_cut: bool,
    spent: Spent,
}

impl<'v> Collector<'v> {
    /// A collector of nothing as yet, which also shows each text to `viewer`.
    pub(super) fn new(viewer: &'v mut dyn Viewer) -> Self {
        Self {
            viewer,
            gathered: Gathered::default(),
            is_known: false,
            trees: BTreeMap::new(),
            budget: Budget::whole(),
            before: String::new(),
            texts_left: MOST_OF_TEXTS,
            entries_left: MOST_TEXTS,
            known_left: MOST_KNOWN_TEXTS,
            is_full: false,
            is_cut: false,
            spent: Spent::nothing(),
        }
    }
}

/// What stands at a path of a directory or archive.
pub(super) enum FoundInput<'r> {
    File(Box<dyn Read + 'r>),
    /// A link, directory, or file that could not be read.
    Node(Node),
}

impl Collector<'_> {
    /// Puts down whether something was recognised in a path that was named, now that all of it was taken.
    pub(super) fn end_path(&mut self) {
        let is_known = std::mem::take(&mut self.is_known);
        self.gathered.is_known.push(is_known);
    }

    /// Takes a file that was named.
    ///
    /// # Errors
    /// [`SnapshotError`] when it is a record of `narrows snapshot` that is damaged or holds too much.
    pub(super) fn input<'r>(&mut self, name: &str, content: impl Read + 'r) -> Result<(), SnapshotError> {
        self.file(name, Box::new(content), Depth::default())
    }

    /// Takes what stands at `path`. A path through a directory `sys` or `proc` belongs to a record.
    ///
    /// # Errors
    /// [`SnapshotError`] when a record is of another version, or when all that was given holds too much.
    pub(super) fn entry(
        &mut self,
        path: &str,
        found: FoundInput<'_>,
        depth: Depth,
    ) -> Result<(), SnapshotError> {
        self.budget.entry()?;
        self.spent.check()?;
        let path = normalise(path);
        let path = path.trim_start_matches('/');
        if let Some((place, inside)) = split_record(path) {
            return self.record(place, inside, found, depth);
        }
        let FoundInput::File(content) = found else { return Ok(()) };
        self.entries_left =
            self.entries_left.checked_sub(1).ok_or(SnapshotError::TooLarge { limit: "50 000 texts" })?;
        // A file that cannot be used costs itself only.
        if let Err(error) = self.file(path, content, depth) {
            let error = error.to_string();
            self.note(format!("`{path}` is left out: {}", error.lines().next().unwrap_or_default()));
        }
        Ok(())
    }

    fn record(
        &mut self,
        place: &str,
        inside: &str,
        found: FoundInput<'_>,
        depth: Depth,
    ) -> Result<(), SnapshotError> {
        let node = match found {
            FoundInput::Node(node) => node,
            FoundInput::File(mut content) => {
                let mut bytes = Vec::new();
                let most = self.budget.bytes_left().saturating_add(1);
                match (&mut content).take(most).read_to_end(&mut bytes) {
                    Ok(_) => Node::File(bytes),
                    Err(error) => {
                        self.note(format!("`{inside}` cannot be read: {error}"));
                        return Ok(());
                    }
                }
            }
        };
        let size = match &node {
            Node::File(content) => content.len(),
            Node::Link(target) => target.len(),
            Node::Dir | Node::Denied => 0,
        };
        let path = format!("/{place}/{inside}");
        self.budget.bytes(size.saturating_add(directories_cost(&self.before, &path)))?;
        self.is_known |= is_of_machine(inside) && matches!(node, Node::File(_) | Node::Link(_));
        self.before = path;
        match node {
            Node::File(content) if inside == MANIFEST => snapshot::check_manifest(&content)?,
            Node::File(content) if is_shown_too(inside) => {
                let name = if place.is_empty() { inside.to_owned() } else { format!("{place}/{inside}") };
                self.file(&name, Box::new(content.as_slice()), depth)?;
                self.trees.entry(place.to_owned()).or_default().insert(inside, Node::File(content));
            }
            Node::File(content) if self.config(inside, &content) => {}
            node => self.trees.entry(place.to_owned()).or_default().insert(inside, node),
        }
        Ok(())
    }

    fn file<'r>(
        &mut self,
        name: &str,
        mut content: Box<dyn Read + 'r>,
        depth: Depth,
    ) -> Result<(), SnapshotError> {
        let mut head = Vec::new();
        if let Err(error) = (&mut content).take(HEAD).read_to_end(&mut head) {
            self.note(format!("`{name}` cannot be read: {error}"));
            return Ok(());
        }
        let format = Format::of(&head);
        let is_snapshot = head.starts_with(MANIFEST.as_bytes());
        let may_be_benchmark = head.starts_with(BENCHMARK);
        let whole: Box<dyn Read + 'r> = Box::new(Cursor::new(head).chain(content));
        match format {
            Format::Tar if is_snapshot && depth.archives == 0 => return self.snapshot(name, whole),
            Format::Tar if depth.archives < DEEPEST_ARCHIVE => {
                return archive::read_archive(self, name, whole, depth);
            }
            Format::Packed(packing) if depth.packings < DEEPEST_PACKING => match unpack(packing, whole) {
                Ok(plain) => {
                    let depth = Depth { packings: depth.packings + 1, ..depth };
                    let plain = self.spent.reader(plain);
                    return self.file(unpacked_name(name), Box::new(plain), depth);
                }
                Err(error) => self.note(format!("`{name}` cannot be unpacked: {error}")),
            },
            Format::Text => {
                // What is not packed is as long as its owner made it.
                let is_packed = depth.packings > 0 || depth.archives > 0;
                self.text(name, &mut whole.take(if is_packed { MOST_UNPACKED } else { u64::MAX }));
            }
            Format::Other if may_be_benchmark => self.text(name, &mut whole.take(MOST_UNPACKED)),
            Format::Smbios => self.smbios(name, whole),
            Format::Other if is_table(name) => self.smbios(name, whole),
            Format::Tar | Format::Packed(_) | Format::Other => self.unrecognised(name),
        }
        Ok(())
    }

    /// Takes a file of `/proc/bus/pci`; whether it was one.
    fn config(&mut self, inside: &str, content: &[u8]) -> bool {
        let Some(address) = config_of(inside) else { return false };
        let part = lspci::of_config(address, content, inside);
        if part.kind.is_some() {
            self.is_known = true;
            self.gathered.merger.add("proc/bus/pci", part);
        }
        true
    }

    /// A record of our own is taken whole or not at all.
    fn snapshot(&mut self, name: &str, mut plain: impl Read) -> Result<(), SnapshotError> {
        let tree = snapshot::read_archive(&mut plain)?;
        // What follows the archive's end mark is padding; the checksum of a compressed one stands behind it.
        io::copy(&mut plain.take(super::MOST_UNPACKED), &mut io::sink())
            .map_err(|error| SnapshotError::Damaged(error.to_string()))?;
        self.is_known = true;
        self.gathered.trees.push((name.to_owned(), tree));
        Ok(())
    }

    fn text(&mut self, name: &str, content: &mut dyn Read) {
        if self.texts_left == 0 || self.known_left == 0 {
            return self.leave_out(name);
        }
        let most = MOST_OF_TEXT.min(self.texts_left);
        let mut bytes = Vec::new();
        let offered = (&mut *content).take(OFFERED).read_to_end(&mut bytes);
        if let Err(error) = &offered {
            self.note(format!("`{name}` is cut off: {error}"));
        }
        let is_whole = bytes.len() as u64 != OFFERED;
        if let Some(taken) = self.viewer.take(name, &bytes, is_whole, content) {
            if let Some(error) = taken.failure {
                self.note(format!("`{name}` is cut off: {error}"));
            }
            self.is_known |= taken.is_known;
            if !taken.is_known {
                self.unrecognised(name);
            }
            return;
        }
        bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        let left = most.saturating_sub(bytes.len() as u64);
        if let Err(error) = (&mut *content).take(left).read_to_end(&mut bytes)
            && offered.is_ok()
        {
            self.note(format!("`{name}` is cut off: {error}"));
        }
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.texts_left = self.texts_left.saturating_sub(length);
        let is_more = length == most && matches!(content.take(1).read(&mut [0]), Ok(1));
        if is_more {
            self.note(format!("only the first {} MiB of `{name}` were read", most >> 20));
        }
        // Nothing is in it, however long it is.
        if bytes.trim_ascii().is_empty() {
            return;
        }
        let Some(text) = Text::of_file(name, &bytes) else { return self.unrecognised(name) };
        drop(bytes);
        let found = Self::parts(&text);
        let is_known = self.viewer.see(&text, !found.is_empty());
        self.known_left -= usize::from(is_known);
        self.is_known |= is_known;
        if !is_known && !text.body().trim().is_empty() {
            self.unrecognised(name);
        }
        for part in found {
            self.gathered.merger.add(name, part);
        }
        if self.gathered.merger.is_cut && !self.is_cut {
            self.is_cut = true;
            self.note(format!(
                "`{name}` tells of more than {MOST_OF_A_KIND} devices, mounts or messages of a kind: further ones were left out"
            ));
        }
    }

    /// What the readers find in as much of a text as tells of a machine: what they make of a line is larger than the line.
    fn parts(text: &Text) -> Vec<Part> {
        let enough = {
            let mut seen = Merger::default();
            text.until(MOST_OF_A_KIND, |piece| {
                parts(piece).into_iter().for_each(|part| seen.add("", part));
                seen.is_cut
            })
        };
        parts(&enough)
    }

    /// Too much was read before: says so once, with what to do.
    fn leave_out(&mut self, name: &str) {
        if !self.is_full {
            self.is_full = true;
            self.note(format!(
                "`{name}` and all behind it are left out: {} MiB of text, or {MOST_KNOWN_TEXTS} texts with something in \
                 them, are read at most; name the files that matter",
                MOST_OF_TEXTS >> 20
            ));
        }
        self.gathered.unrecognised_count += 1;
    }

    /// A raw SMBIOS table, or a dump of one that begins with its entry point.
    fn smbios(&mut self, name: &str, content: impl Read) {
        /// No table is larger; the entry point of version 3 could name more.
        const LARGEST: u64 = 1 << 20;
        let mut bytes = Vec::new();
        if content.take(LARGEST).read_to_end(&mut bytes).is_err() {
            return self.unrecognised(name);
        }
        let part = dmidecode::read_table(name, &bytes);
        if part.kind.is_none() {
            return self.unrecognised(name);
        }
        self.is_known = true;
        self.gathered.merger.add(name, part);
    }

    fn unrecognised(&mut self, name: &str) {
        self.gathered.unrecognised_count += 1;
        if self.gathered.unrecognised.len() < MOST_NAMES {
            self.gathered.unrecognised.push(name.to_owned());
        }
    }

    /// Says something of the input to its owner.
    pub(super) fn note(&mut self, note: String) {
        if self.gathered.notes.len() < MOST_NAMES {
            self.gathered.notes.push(note);
        }
    }

    /// All that was found.
    pub(super) fn finish(mut self) -> Gathered {
        for (place, mut tree) in self.trees {
            sysfs::add_names(&mut tree, Missing::Directories);
            self.gathered.trees.push((place, tree));
        }
        self.gathered
    }
}

/// Parts a path at the directory of a record: `host/sys/block/sda` is `/sys/block/sda` of the record in `host`.
fn split_record(path: &str) -> Option<(&str, &str)> {
    let mut at = 0;
    for component in path.split('/') {
        if PARTS.contains(&component) {
            let place = path.get(..at)?.trim_end_matches('/');
            return Some((place, path.get(at..)?));
        }
        at += component.len() + 1;
    }
    None
}

/// Whether a path of a record is one by which machines are read: a directory `sys` or `proc` may be of anything else.
fn is_of_machine(inside: &str) -> bool {
    const PLACES: [&str; 16] = [
        "sys/block",
        "sys/bus",
        "sys/class",
        "sys/dev",
        "sys/devices",
        "sys/firmware",
        "sys/module",
        "proc/bus",
        "proc/cpuinfo",
        "proc/diskstats",
        "proc/mdstat",
        "proc/meminfo",
        "proc/mounts",
        "proc/partitions",
        "proc/self",
        "narrows",
    ];
    let is_at = |place: &&str| {
        inside.strip_prefix(*place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    PLACES.iter().any(is_at)
}

/// Files of `/proc` that are outputs in their own right: the arrays are read from `/proc/mdstat` where a collector kept
/// that and no `/sys`.
fn is_shown_too(inside: &str) -> bool {
    matches!(inside, "proc/mdstat")
}

/// The function whose config space a file of `/proc/bus/pci` is: `00/1f.2`, or `0000:00/1f.2` (kernel
/// `drivers/pci/proc.c`, `pci_proc_attach_device`).
fn config_of(inside: &str) -> Option<PciAddress> {
    let (bus, function) = inside.strip_prefix("proc/bus/pci/")?.split_once('/')?;
    format!("{bus}:{function}").parse().ok()
}

fn is_table(name: &str) -> bool {
    name.rsplit('/').next() == Some("DMI")
}

/// The name without the ending of a compression.
fn unpacked_name(name: &str) -> &str {
    [".gz", ".xz", ".zst", ".bz2"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_directory_of_a_record_parts_a_path() {
        assert_eq!(split_record("sys/block/sda"), Some(("", "sys/block/sda")));
        assert_eq!(split_record("host/proc/1/sys"), Some(("host", "proc/1/sys")));
        assert_eq!(split_record("a/b/sys"), Some(("a/b", "sys")));
        assert_eq!(split_record("sysx/lspci.txt"), None);
        assert_eq!(split_record(""), None);
    }

    #[test]
    fn a_file_of_proc_bus_pci_names_its_function() {
        let address = |text: &str| text.parse::<PciAddress>().ok();
        assert_eq!(config_of("proc/bus/pci/00/1f.2"), address("0000:00:1f.2"));
        assert_eq!(config_of("proc/bus/pci/0001:80/00.0"), address("0001:80:00.0"));
        assert_eq!(config_of("proc/bus/pci/devices"), None);
        assert_eq!(config_of("proc/bus/pci/00/../1f.2"), None);
    }

    #[test]
    fn a_file_loses_the_ending_of_its_compression() {
        assert_eq!(unpacked_name("a/dmesg.txt.gz"), "a/dmesg.txt");
        assert_eq!(unpacked_name("machine.tar.xz"), "machine.tar");
        assert_eq!(unpacked_name("lspci"), "lspci");
    }
}
