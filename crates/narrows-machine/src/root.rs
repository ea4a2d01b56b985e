//! The only place that opens `/sys`, `/proc` and `/dev` to learn a fact.
//!
//! A [`Root`] is the live machine, or a [`Tree`] that stands in for one. Readers get the root handed in and never ask
//! the operating system themselves, so whatever they do on a live machine they do on a snapshot, bit for bit. A live
//! root can record what it was asked ([`Root::recording`]); the record is a tree from which the same answers come.

#![expect(clippy::disallowed_methods, reason = "this is the one place that reads the machine")]

mod stat;

pub use stat::{FileId, FileKind, KernelFs, Stat};

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use crate::fact::{Fact, Source};
use crate::tree::{Miss, Node, Tree};

/// No file of `/sys` or `/proc` that narrows reads is larger than this; more is cut off rather than read.
const MAX_FILE: u64 = 16 << 20;

/// Where probes (answers that are measured, not read) are kept in a recorded tree.
pub const PROBES: &str = "/narrows/probe";

/// The machine that is being read.
#[derive(Debug)]
pub struct Root {
    backing: Backing,
    record: Option<RefCell<RootRecord>>,
    lets_sleep: bool,
}

#[derive(Debug)]
enum Backing {
    Live,
    Tree(Tree),
}

#[derive(Debug, Default)]
struct RootRecord {
    tree: Tree,
    seen: BTreeSet<String>,
    /// What each file held when it was first read, and how much of it was asked for.
    read: BTreeMap<String, (u64, Result<Vec<u8>, Miss>)>,
}

impl Root {
    /// The machine we run on.
    pub const fn live() -> Self {
        Self { backing: Backing::Live, record: None, lets_sleep: false }
    }

    /// The machine we run on; everything that is read is kept for [`Root::into_record`].
    pub fn recording() -> Self {
        Self { backing: Backing::Live, record: Some(RefCell::default()), lets_sleep: false }
    }

    /// A machine that was recorded, or a fixture.
    pub const fn from_tree(tree: Tree) -> Self {
        Self { backing: Backing::Tree(tree), record: None, lets_sleep: false }
    }

    /// The same machine, of which no device is woken: what the kernel would ask of a PCI function whose
    /// `power/runtime_status` is anything but `active` is absent.
    #[must_use]
    pub fn letting_sleep(self) -> Self {
        Self { lets_sleep: true, ..self }
    }

    /// Whether this is the machine we run on.
    pub const fn is_live(&self) -> bool {
        matches!(self.backing, Backing::Live)
    }

    /// All that was read so far, as a tree that answers the same; `None` when nothing was recorded.
    pub fn into_record(self) -> Option<Tree> {
        self.record.map(|record| record.into_inner().tree)
    }

    /// The bytes of a file. Pseudo-files are read whole, without asking their size first. An empty file says nothing
    /// and is absent: in a record it is one that was listed but could not be read.
    pub fn bytes(&self, path: &str) -> Fact<Vec<u8>> {
        self.head(path, MAX_FILE)
    }

    /// At most the first `most` bytes of a file, for one of which every byte costs an access to hardware.
    pub fn head(&self, path: &str, most: u64) -> Fact<Vec<u8>> {
        if self.lets_sleep && would_wake(path, |status| self.text(status).get()) {
            return Fact::absent(path);
        }
        let read = match &self.backing {
            Backing::Tree(tree) => tree.read(path).map(|content| first(content, most)),
            Backing::Live => self.read_noted(path, most),
        };
        fact(read.and_then(|content| if content.is_empty() { Err(Miss::Absent) } else { Ok(content) }), path)
    }

    /// The text of a file without surrounding white space. Bytes that are not UTF-8 become `�`.
    pub fn text(&self, path: &str) -> Fact<String> {
        self.bytes(path).map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// The text of a file, understood by `parse`.
    pub fn parse<T>(&self, path: &str, parse: impl FnOnce(&str) -> Option<T>) -> Fact<T> {
        self.text(path).parse(parse)
    }

    /// The number in a file, decimal or `0x` hexadecimal.
    pub fn number(&self, path: &str) -> Fact<u64> {
        self.parse(path, parse_number)
    }

    /// The names in a directory, in order; an absent or unreadable directory has none.
    pub fn list(&self, path: &str) -> Vec<String> {
        self.try_list(path).get().unwrap_or_default()
    }

    /// The names in a directory that are such things as asked for: numbers of processes, addresses.
    pub fn list_of<T: FromStr>(&self, path: &str) -> Vec<T> {
        self.list(path).iter().filter_map(|name| name.parse().ok()).collect()
    }

    /// The names in a directory, in order, or the reason why they cannot be had.
    pub fn try_list(&self, path: &str) -> Fact<Vec<String>> {
        let names = match &self.backing {
            Backing::Tree(tree) => tree.list(path),
            Backing::Live => {
                let names = list_live(path);
                self.note(path, || names.as_ref().map(|_| Node::Dir));
                for name in names.iter().flatten() {
                    self.note_entry(&format!("{path}/{name}"));
                }
                names
            }
        };
        fact(names, path)
    }

    /// The last component of a symbolic link's target: `../../bus/pci/drivers/nvme` → `nvme`.
    pub fn link_name(&self, path: &str) -> Fact<String> {
        self.link_target(path).map(|target| target.rsplit('/').next().unwrap_or_default().to_owned())
    }

    /// A symbolic link's target, as it stands there.
    pub fn link_target(&self, path: &str) -> Fact<String> {
        let target = match &self.backing {
            Backing::Tree(tree) => tree.read_link(path).map(str::to_owned),
            Backing::Live => read_link_live(path).inspect(|_| self.note_entry(path)),
        };
        fact(target, path)
    }

    /// The path with every link resolved: `/sys/block/sda` → `/sys/devices/pci0000:00/…/block/sda`.
    pub fn resolve(&self, path: &str) -> Fact<String> {
        let resolved = match &self.backing {
            Backing::Tree(tree) => tree.resolve(path),
            Backing::Live => fs::canonicalize(path)
                .map(|path| path.to_string_lossy().into_owned())
                .map_err(|error| miss(&error))
                .inspect(|_| self.note_entry(path)),
        };
        fact(resolved, path)
    }

    /// Whether something is there, links followed.
    pub fn exists(&self, path: &str) -> bool {
        self.resolve(path).value().is_some()
    }

    /// A fact that is measured or asked of the kernel rather than read from a file, under a name of its own. A live
    /// root runs `ask` (and records its answer); a tree returns what was recorded. `None` means that the machine
    /// cannot tell.
    pub fn probe(&self, name: &str, ask: impl FnOnce() -> Option<String>) -> Fact<String> {
        let path = format!("{PROBES}/{name}");
        let answer = match &self.backing {
            Backing::Tree(tree) => tree.read(&path).ok().map(|raw| String::from_utf8_lossy(raw).into_owned()),
            Backing::Live => {
                let answer = ask();
                if let (Some(record), Some(answer)) = (&self.record, &answer) {
                    record.borrow_mut().tree.file(&path, answer);
                }
                answer
            }
        };
        Fact::of(answer, format!("probe {name}"))
    }

    /// The same of what may be denied to this user; that is recorded, too.
    pub fn guarded_probe(&self, name: &str, ask: impl FnOnce() -> Result<String, Miss>) -> Fact<String> {
        const DENIED: &str = "denied";
        let answer = self.probe(name, || match ask() {
            Ok(answer) => Some(answer),
            Err(Miss::Denied) => Some(DENIED.to_owned()),
            Err(Miss::Absent) => None,
        });
        match answer {
            Fact::Known { value, source } if value == DENIED => {
                Fact::Denied { source, need: "root".to_owned() }
            }
            other => other,
        }
    }

    /// Reads a file of the live machine. While recording, a file that was read before says what it said then: a counter
    /// that moved in between would give a record that answers otherwise than the machine did.
    fn read_noted(&self, path: &str, most: u64) -> Result<Vec<u8>, Miss> {
        let Some(record) = &self.record else { return read_live(path, most) };
        if let Some((_, read)) = record.borrow().read.get(path).filter(|(asked, _)| *asked >= most) {
            return read.as_ref().map(|content| first(content, most)).map_err(|miss| *miss);
        }
        let read = read_live(path, most);
        self.note(path, || read.as_ref().map(|content| Node::File(content.clone())));
        record.borrow_mut().read.insert(path.to_owned(), (most, read.clone()));
        read
    }

    /// Records `path` with what `node` says is there, and the links that lead to it.
    fn note<'a>(&self, path: &str, node: impl FnOnce() -> Result<Node, &'a Miss>) {
        let Some(record) = &self.record else { return };
        let node = match node() {
            Ok(node) => node,
            Err(Miss::Denied) => Node::Denied,
            Err(Miss::Absent) => return,
        };
        let mut record = record.borrow_mut();
        let real = record.note_links(path);
        if let Some(real) = real {
            record.tree.insert(&real, node);
        }
    }

    /// Records that something is at `path`: a link as a link, a directory as a directory, a file as one that was not
    /// read (its content comes when it is).
    fn note_entry(&self, path: &str) {
        let Some(record) = &self.record else { return };
        let mut record = record.borrow_mut();
        if !record.seen.insert(path.to_owned()) {
            return;
        }
        let Some(real) = record.note_links(path) else { return };
        let node = match fs::symlink_metadata(&real) {
            Ok(meta) if meta.is_dir() => Node::Dir,
            Ok(_) => Node::File(Vec::new()),
            Err(_) => return,
        };
        let is_new = record.tree.read(&real) == Err(Miss::Absent);
        if is_new {
            record.tree.insert(&real, node);
        }
    }
}

impl RootRecord {
    /// Records every symbolic link on the way to `path` and returns where it really is.
    fn note_links(&mut self, path: &str) -> Option<String> {
        let real = fs::canonicalize(path).ok()?;
        let mut at = PathBuf::from("/");
        let mut pending: Vec<PathBuf> = components(Path::new(path));
        let mut links = 0;
        while let Some(component) = pending.pop() {
            if component.as_os_str() == ".." {
                at.pop();
                continue;
            }
            let next = at.join(&component);
            match fs::read_link(&next) {
                Ok(target) => {
                    links += 1;
                    if links > 40 {
                        return None;
                    }
                    self.tree
                        .insert(&next.to_string_lossy(), Node::Link(target.to_string_lossy().into_owned()));
                    if target.is_absolute() {
                        at = PathBuf::from("/");
                    }
                    pending.extend(components(&target));
                }
                Err(_) => at = next,
            }
        }
        Some(real.to_string_lossy().into_owned())
    }
}

/// At most the first `most` bytes.
fn first(content: &[u8], most: u64) -> Vec<u8> {
    usize::try_from(most).ok().and_then(|most| content.get(..most)).unwrap_or(content).to_vec()
}

fn components(path: &Path) -> Vec<PathBuf> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(PathBuf::from(name)),
        Component::ParentDir => Some(PathBuf::from("..")),
        _ => None,
    });
    let mut parts: Vec<PathBuf> = parts.collect();
    parts.reverse();
    parts
}

fn read_live(path: &str, most: u64) -> Result<Vec<u8>, Miss> {
    let mut content = Vec::new();
    let file = fs::File::open(path).map_err(|error| miss(&error))?;
    file.take(most).read_to_end(&mut content).map_err(|error| miss(&error))?;
    Ok(content)
}

fn list_live(path: &str) -> Result<Vec<String>, Miss> {
    let entries = fs::read_dir(path).map_err(|error| miss(&error))?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

fn read_link_live(path: &str) -> Result<String, Miss> {
    fs::read_link(path).map(|path| path.to_string_lossy().into_owned()).map_err(|error| miss(&error))
}

/// A kernel attribute that cannot tell (a link that is down, a device that is asleep) answers with an error of its
/// own, such as `EINVAL` or `ENODATA`; to us that is absent.
fn miss(error: &io::Error) -> Miss {
    match error.kind() {
        ErrorKind::PermissionDenied => Miss::Denied,
        _ => Miss::Absent,
    }
}

fn fact<T>(read: Result<T, Miss>, path: &str) -> Fact<T> {
    let source = Source::new(path);
    match read {
        Ok(value) => Fact::Known { value, source },
        Err(Miss::Absent) => Fact::Absent { source },
        Err(Miss::Denied) => Fact::Denied { source, need: "root".to_owned() },
    }
}

/// Reads `42` or `0x2a`.
pub fn parse_number(text: &str) -> Option<u64> {
    let text = text.trim();
    text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok())
}

/// Attributes of a PCI function that the kernel reads from its configuration space each time (kernel `drivers/pci/pci-sysfs.c`:
/// `config`, `current_link_*`, `max_link_*`; `drivers/pci/vpd.c`).
const ASKED_OF_HARDWARE: [&str; 6] =
    ["config", "current_link_speed", "current_link_width", "max_link_speed", "max_link_width", "vpd"];

/// Whether reading `path` would wake a PCI function. `status` reads `power/runtime_status`; a kernel without power management
/// of devices has no such file, and lets none of them sleep.
fn would_wake(path: &str, status: impl FnOnce(&str) -> Option<String>) -> bool {
    let Some((function, attribute)) = path.rsplit_once('/') else { return false };
    let is_pci = function.starts_with("/sys/bus/pci/devices/") || function.starts_with("/sys/devices/pci");
    if !is_pci || !ASKED_OF_HARDWARE.contains(&attribute) {
        return false;
    }
    status(&format!("{function}/power/runtime_status")).is_some_and(|status| status != "active")
}

#[cfg(test)]
mod tests {
    use super::{Root, *};
    use crate::Machine;
    use crate::tree::Tree;

    #[test]
    fn numbers_are_read_in_decimal_and_hexadecimal() {
        assert_eq!(parse_number("42\n"), Some(42));
        assert_eq!(parse_number("0x010802"), Some(0x0001_0802));
        assert_eq!(parse_number("-1"), None);
        assert_eq!(parse_number(""), None);
    }

    #[test]
    fn an_empty_file_says_nothing_but_is_there() {
        let mut tree = Tree::new();
        tree.file("/sys/x", "").file("/sys/y", "\n");
        let root = Root::from_tree(tree);
        assert_eq!(root.text("/sys/x"), Fact::absent("/sys/x"));
        assert!(root.exists("/sys/x"));
        assert_eq!(root.text("/sys/y").value().map(String::as_str), Some(""));
    }

    #[test]
    fn a_counter_that_moves_stands_still_while_it_is_recorded() {
        let live = Root::recording();
        let first = live.text("/proc/uptime");
        // The clock of /proc/uptime ticks every 10 ms.
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert_eq!(live.text("/proc/uptime"), first);
        assert_eq!(live.head("/proc/uptime", 3).value().map(Vec::len), Some(3));
        let again = Root::from_tree(live.into_record().expect("was recording"));
        assert_eq!(again.text("/proc/uptime"), first);
    }

    #[test]
    fn more_of_a_file_is_recorded_when_more_is_asked_for() {
        let live = Root::recording();
        assert_eq!(live.head("/proc/version", 5).get().as_deref(), Some(&b"Linux"[..]));
        let whole = live.text("/proc/version");
        assert_eq!(live.head("/proc/version", 5).get().as_deref(), Some(&b"Linux"[..]));
        let again = Root::from_tree(live.into_record().expect("was recording"));
        assert_eq!(again.text("/proc/version"), whole);
    }

    #[test]
    fn what_a_live_root_reads_a_tree_answers_again() {
        let live = Root::recording();
        let text = live.text("/proc/version");
        let names = live.list("/sys/class/net");
        let first = names.first().cloned().unwrap_or_default();
        let mtu = live.text(&format!("/sys/class/net/{first}/mtu"));
        let gone = live.text("/sys/class/net/no-such-thing/mtu");
        let resolved = live.resolve(&format!("/sys/class/net/{first}"));
        let probe = live.probe("answer", || Some("42".to_owned()));

        let again = Root::from_tree(live.into_record().expect("was recording"));
        assert_eq!(again.text("/proc/version").value(), text.value());
        assert_eq!(again.list("/sys/class/net"), names);
        assert_eq!(again.text(&format!("/sys/class/net/{first}/mtu")), mtu);
        assert_eq!(again.text("/sys/class/net/no-such-thing/mtu"), gone);
        assert_eq!(again.resolve(&format!("/sys/class/net/{first}")), resolved);
        assert_eq!(again.probe("answer", || None), probe);
    }

    const FUNCTION: &str = "/sys/bus/pci/devices/0000:02:00.0";

    fn root(status: Option<&str>) -> Root {
        let mut tree = Tree::new();
        for (name, content) in [
            ("class", "0x010802"),
            ("config", "\x0b"),
            ("current_link_speed", "5.0 GT/s"),
            ("max_link_width", "4"),
        ] {
            tree.file(&format!("{FUNCTION}/{name}"), content);
        }
        if let Some(status) = status {
            tree.file(&format!("{FUNCTION}/power/runtime_status"), status);
        }
        Root::from_tree(tree)
    }

    /// What of the hardware's own files can be read.
    fn told(root: &Root) -> Vec<&'static str> {
        let names = ["config", "current_link_speed", "max_link_width", "class"].into_iter();
        names.filter(|name| root.text(&format!("{FUNCTION}/{name}")).value().is_some()).collect()
    }

    #[test]
    fn nothing_is_asked_of_hardware_that_sleeps() {
        for status in ["suspended\n", "suspending", "resuming", "error", "unsupported"] {
            let root = root(Some(status)).letting_sleep();
            assert_eq!(told(&root), ["class"], "{status}: what the kernel knows by itself is told");
            assert!(Machine::read(&root).pci.values().all(|one| one.link.current_speed.value().is_none()));
        }
    }

    #[test]
    fn hardware_that_is_awake_is_asked_and_so_is_all_where_nobody_minds() {
        let all = ["config", "current_link_speed", "max_link_width", "class"];
        assert_eq!(told(&root(Some("active\n")).letting_sleep()), all);
        assert_eq!(told(&root(None).letting_sleep()), all, "no power management");
        assert_eq!(told(&root(Some("suspended"))), all, "of a root that does not mind");
    }
}
