//! What processes use: open files, mapped memory, files that are registered with io_uring, and mounts of every namespace.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use super::class::Class;
use super::texts::{self, Mapping};
use super::wanted::{HeldFile, Wanted};
use super::{Findings, How};
use crate::mount;
use crate::root::{FileKind, Root, Stat};
use narrows_base::fact::Fact;

/// Processes that began while others were looked at are looked at, too; this often at most.
const ROUNDS: usize = 5;

/// Looks through all processes.
pub(super) struct Processes<'a> {
    pub(super) root: &'a Root,
    pub(super) wanted: &'a Wanted,
    own: Option<u32>,
    pub(super) findings: &'a mut Findings,
    /// Mount namespaces that were looked through.
    namespaces: BTreeSet<String>,
    /// Sources of mounts without a device number, and the devices below.
    sources: BTreeMap<(String, String), Vec<String>>,
    /// Mapped files that are nothing of ours.
    harmless: BTreeSet<(String, String, u64, String)>,
    closed: Closed,
}

/// The processes that do not show something.
#[derive(Debug, Default)]
struct Closed {
    mounts: BTreeSet<u32>,
    files: BTreeSet<u32>,
    mappings: BTreeSet<u32>,
}

/// The first process of the machine. Some security modules let nobody look into it; it is no user of devices.
const INIT: u32 = 1;

impl<'a> Processes<'a> {
    /// Looks through all processes but our own.
    pub(super) fn search(root: &'a Root, wanted: &'a Wanted, findings: &'a mut Findings) {
        let own = root.link_name("/proc/self").get().and_then(|name| name.parse().ok());
        let mut all = Self {
            root,
            wanted,
            own,
            findings,
            namespaces: BTreeSet::new(),
            sources: BTreeMap::new(),
            harmless: BTreeSet::new(),
            closed: Closed::default(),
        };
        let mut seen = BTreeSet::new();
        for _ in 0..ROUNDS {
            let mut new: Vec<u32> = root.list_of("/proc");
            new.retain(|process| seen.insert(*process));
            if new.is_empty() {
                break;
            }
            new.into_iter().for_each(|process| all.process(process));
        }
        all.say_what_is_closed();
    }

    fn say_what_is_closed(&mut self) {
        let closed = [
            (&self.closed.mounts, Class::Mounts),
            (&self.closed.files, Class::OpenFiles),
            (&self.closed.mappings, Class::Mappings),
        ];
        for (processes, class) in closed {
            let count = processes.iter().filter(|process| **process != INIT).count();
            let Some(first) = processes.iter().find(|process| **process != INIT) else { continue };
            let why = match count {
                1 => format!("process {first} does not show its own (needs root)"),
                _ => format!("{count} processes do not show theirs (needs root)"),
            };
            self.findings.hide(&[class], why);
        }
    }

    fn process(&mut self, process: u32) {
        let mut threads: Vec<u32> = self.root.list_of(&format!("/proc/{process}/task"));
        if !threads.contains(&process) {
            threads.insert(0, process);
        }
        for thread in &threads {
            let directory = directory(process, *thread);
            self.mounts(process, &directory);
            let is_new = *thread == process || !self.root.shares_files(process, *thread);
            if Some(process) != self.own && is_new {
                self.open_files(process, &directory);
            }
        }
        if Some(process) != self.own {
            self.mappings(process, &threads);
        }
    }

    pub(super) fn note(&mut self, held: HeldFile, process: u32, how: impl FnOnce(u32, String) -> How) {
        let program = self.root.text(&format!("/proc/{process}/comm")).get().unwrap_or_default();
        let program = match held.through {
            Some(node) => format!("{program}, as {node}"),
            None => program,
        };
        self.findings.note(&held.device, how(process, program));
    }

    /// Looks through the mounts of a process or thread, once for each namespace.
    fn mounts(&mut self, process: u32, directory: &str) {
        let namespace = self.root.link_name(&format!("{directory}/ns/mnt"));
        if namespace.get().is_some_and(|namespace| !self.namespaces.insert(namespace)) {
            return;
        }
        let text = self.root.text(&format!("{directory}/mountinfo"));
        for found in mount::parse(text.value().map_or("", String::as_str)) {
            for device in self.devices(&found) {
                self.findings.note(&device, How::Mounted { point: found.point.clone(), process });
            }
        }
        if let Fact::Denied { .. } = text {
            self.closed.mounts.insert(process);
        }
    }

    /// The members below a mount. A file system with a device of its own is known by its number alone.
    fn devices(&mut self, found: &mount::Mount) -> Vec<String> {
        if let Some(member) = self.wanted.numbered(found.number) {
            return vec![member.to_owned()];
        }
        if !found.source.starts_with("/dev/") {
            return Vec::new();
        }
        let key = (found.fstype.clone(), found.source.clone());
        let below = self.sources.entry(key).or_insert_with(|| mount::devices(self.root, found));
        below.iter().filter(|name| self.wanted.has(name)).cloned().collect()
    }

    fn open_files(&mut self, process: u32, directory: &str) {
        let listing = self.root.try_list(&format!("{directory}/fd"));
        if let Fact::Denied { .. } = listing {
            self.closed.files.insert(process);
        }
        for entry in listing.get().unwrap_or_default() {
            self.descriptor(process, directory, &entry);
        }
    }

    fn descriptor(&mut self, process: u32, directory: &str, entry: &str) {
        let path = format!("{directory}/fd/{entry}");
        let fdinfo = || self.root.text(&format!("{directory}/fdinfo/{entry}")).get().unwrap_or_default();
        let stat = self.root.stat(&path);
        if let Some(held) = stat.and_then(|stat| self.wanted.held_at(self.root, &path, &stat)) {
            if !texts::is_path_only(&fdinfo()) {
                self.note(held, process, |process, program| How::Open { process, program });
            }
            return;
        }
        match stat.map(|stat| stat.kind) {
            Some(FileKind::Socket) => self.socket(process, &fdinfo()),
            // A ring has no type of its own; newer kernels call it a regular file.
            Some(FileKind::File) if self.is_ring(&path) => self.ring(process, directory, entry),
            None => self.unknown_descriptor(process, directory, entry),
            _ => {}
        }
    }

    /// A descriptor that could not be looked at: one that was closed meanwhile, or that a security module hides.
    fn unknown_descriptor(&mut self, process: u32, directory: &str, entry: &str) {
        match self.root.link_name(&format!("{directory}/fd/{entry}")) {
            Fact::Denied { .. } => drop(self.closed.files.insert(process)),
            Fact::Known { value, .. } if value.starts_with(RING) => self.ring(process, directory, entry),
            _ => {}
        }
    }

    fn socket(&mut self, process: u32, fdinfo: &str) {
        let waiting = texts::waiting(fdinfo);
        if waiting > 0 {
            let who = self.named(process);
            let why = format!("{waiting} wait in a socket of {who}; end it, or let it take them");
            self.findings.hide(&[Class::InFlight], why);
        }
    }

    pub(super) fn named(&self, process: u32) -> String {
        let program = self.root.text(&format!("/proc/{process}/comm")).get().unwrap_or_default();
        format!("process {process} ({program})")
    }

    /// What a process has mapped.
    fn mappings(&mut self, process: u32, threads: &[u32]) {
        let (teller, maps) = self.maps(process, threads);
        let mut is_closed = matches!(maps, Fact::Denied { .. });
        let namespace = self.root.link_name(&format!("/proc/{process}/ns/mnt")).get().unwrap_or_default();
        let mut has_ring = false;
        for found in texts::mappings(&maps.get().unwrap_or_default()) {
            has_ring |= found.path.starts_with(RING);
            let key = (namespace.clone(), found.device.clone(), found.inode, found.path.clone());
            if self.harmless.contains(&key) {
                continue;
            }
            match self.mapped(teller, &found) {
                Ok(Some(held)) => {
                    self.note(held, process, |process, program| How::Mapped { process, program })
                }
                Ok(None) => drop(self.harmless.insert(key)),
                Err(()) => is_closed |= self.is_still_mapped(teller, &found),
            }
        }
        if is_closed {
            self.closed.mappings.insert(process);
        }
        if has_ring && !self.has_ring_descriptor(process, threads) {
            self.unknown_files(process, &["a ring without a descriptor".to_owned()]);
        }
    }

    /// The list of mappings, and the thread that gave it. The first thread may have ended before the others, and gives none
    /// then.
    fn maps(&self, process: u32, threads: &[u32]) -> (u32, Fact<String>) {
        let mut maps = Fact::default();
        for thread in threads {
            maps = self.root.text(&format!("{}/maps", directory(process, *thread)));
            if !matches!(maps, Fact::Absent { .. }) {
                return (*thread, maps);
            }
        }
        (process, maps)
    }

    /// The member that a mapping leads to; an error when it does not tell.
    fn mapped(&self, teller: u32, found: &Mapping) -> Result<Option<HeldFile>, ()> {
        let is_no_file =
            ["anon_inode:", "/SYSV", "/dev/zero"].iter().any(|start| found.path.starts_with(start));
        let path = format!("/proc/{teller}/map_files/{}", found.range);
        match self.root.stat(&path) {
            Some(stat) => Ok(self.wanted.held_at(self.root, &path, &stat)),
            None if is_no_file => Ok(None),
            None => Err(()),
        }
    }

    fn is_still_mapped(&self, teller: u32, found: &Mapping) -> bool {
        let text = self.root.text(&format!("/proc/{teller}/maps")).get().unwrap_or_default();
        texts::mappings(&text).any(|other| other == *found)
    }
}

/// Where the kernel tells of a thread; the first one has the number of its process.
pub(super) fn directory(process: u32, thread: u32) -> String {
    if thread == process { format!("/proc/{process}") } else { format!("/proc/{process}/task/{thread}") }
}

/// The target of a link to a ring.
const RING: &str = "anon_inode:[io_uring]";

/// What the kernel says behind the path of a file that has no name any more.
const DELETED: &str = " (deleted)";

/// How often a ring is looked at that does not tell all. The kernel leaves the files out whenever the ring's lock is held
/// (`io_uring/fdinfo.c`): in 20 to 65 % of looks at fio reading from the page cache, and longer where a submission waits
/// for a slow device. And a process that ends closes its files before its ring.
const LOOKS: u32 = 300;
const BETWEEN: Duration = Duration::from_millis(20);
/// How often one look asks for the list: a lock that is free for microseconds only is missed by looks far apart.
const AT_ONCE: u32 = 20;

impl Processes<'_> {
    fn is_ring(&self, path: &str) -> bool {
        self.root.link_name(path).value().is_some_and(|target| target.starts_with(RING))
    }

    /// What a process has registered with a ring.
    pub(super) fn ring(&mut self, process: u32, directory: &str, entry: &str) {
        let mut unknown = Vec::new();
        // Once one ring is unknown the answer is a refusal: the others are not waited for.
        let looks = if self.findings.hides(Class::Rings) { 1 } else { LOOKS };
        for look in 0..looks {
            if look > 0 && self.root.is_live() {
                thread::sleep(BETWEEN);
            }
            unknown = self.ring_once(process, directory, entry);
            // One that is gone meanwhile has nothing registered any more.
            let is_gone = || self.root.link_name(&format!("{directory}/fd/{entry}")).value().is_none();
            if unknown.is_empty() || is_gone() {
                return;
            }
        }
        self.unknown_files(process, &unknown);
    }

    /// Notes the members that a ring holds; what of it is unknown.
    fn ring_once(&mut self, process: u32, directory: &str, entry: &str) -> Vec<String> {
        let found = self.list(&format!("{directory}/fdinfo/{entry}"));
        let mut unknown = Vec::new();
        for name in &found.names {
            match self.registered(process, directory, name) {
                Ok(Some(held)) => {
                    self.note(held, process, |process, program| How::Registered { process, program });
                }
                Ok(None) => {}
                Err(()) => unknown.push(format!("`{name}`")),
            }
        }
        if !found.is_whole {
            unknown.push("a list that does not come".to_owned());
        }
        unknown
    }

    /// What a ring says it holds; asked for again at once where the list does not come.
    fn list(&self, path: &str) -> texts::Registered {
        let ask = || texts::registered(&self.root.text(path).get().unwrap_or_default());
        let again = if self.root.is_live() { AT_ONCE } else { 1 };
        let mut found = ask();
        for _ in 1..again {
            if found.is_whole {
                break;
            }
            found = ask();
        }
        found
    }

    fn unknown_files(&mut self, process: u32, unknown: &[String]) {
        const SHOWN: usize = 3;
        if unknown.is_empty() {
            return;
        }
        let who = self.named(process);
        let names = unknown.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
        let more = if unknown.len() > SHOWN { " and more" } else { "" };
        let why = format!("which files {who} has registered cannot be told ({names}{more}); end it");
        self.findings.hide(&[Class::Rings], why);
    }

    /// The member that a registered file leads to; an error when its name does not tell which file it is.
    fn registered(&self, process: u32, directory: &str, name: &str) -> Result<Option<HeldFile>, ()> {
        let is_no_file = ["socket:[", "pipe:[", "anon_inode:"].iter().any(|start| name.starts_with(start));
        if is_no_file || name.is_empty() {
            return Ok(None);
        }
        if !name.starts_with('/') || name.ends_with(DELETED) {
            return self.unnamed(directory, name).map(|file| self.wanted.held(&file)).ok_or(());
        }
        let places = [format!("/proc/{process}/root{name}"), name.to_owned()];
        let found: Vec<_> = places.iter().filter_map(|place| Some((place, self.root.stat(place)?))).collect();
        match found.iter().find_map(|(place, stat)| self.wanted.held_at(self.root, place, stat)) {
            Some(held) => Ok(Some(held)),
            None if found.is_empty() => Err(()),
            None => Ok(None),
        }
    }

    /// The file without a name that a process has both registered and open under `name`. Only a regular file made without a
    /// name (`O_TMPFILE`) is shown as `#` and its inode number (`d_tmpfile` of the kernel's `fs/dcache.c`), so that the
    /// descriptor and the registered file are one.
    fn unnamed(&self, directory: &str, name: &str) -> Option<Stat> {
        let inode = name.strip_suffix(DELETED)?.rsplit_once("/#")?.1.parse::<u64>().ok()?;
        let descriptors = format!("{directory}/fd");
        let paths = self.root.list(&descriptors).into_iter().map(|entry| format!("{descriptors}/{entry}"));
        let mut same =
            paths.filter(|path| self.root.link_target(path).value().is_some_and(|open| open == name));
        same.find_map(|path| {
            self.root.stat(&path).filter(|stat| stat.kind == FileKind::File && stat.file.inode == inode)
        })
    }

    fn has_ring_descriptor(&self, process: u32, threads: &[u32]) -> bool {
        threads.iter().any(|thread| {
            let directory = format!("{}/fd", directory(process, *thread));
            self.root.list(&directory).iter().any(|entry| self.is_ring(&format!("{directory}/{entry}")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{hows, machine, over_file};
    use super::super::{How, read};
    use super::*;
    use crate::tree::Tree;

    fn with(files: &[(&str, &str)]) -> Tree {
        let mut tree = machine();
        put(&mut tree, files);
        tree
    }

    fn put(tree: &mut Tree, files: &[(&str, &str)]) {
        tree.file("/proc/5/comm", "dd\n");
        for (path, text) in files {
            match text.strip_prefix("-> ") {
                Some(target) => drop(tree.link(path, target)),
                None => drop(tree.file(path, text)),
            }
        }
    }

    fn open() -> How {
        How::Open { process: 5, program: "dd".to_owned() }
    }

    #[test]
    fn a_node_of_any_name_is_the_device_but_a_path_alone_is_no_use() {
        let node =
            [("/proc/5/fd/3", "-> /tmp/x (deleted)"), ("/narrows/probe/stat/tmp/x (deleted)", "block 8:32")];
        assert_eq!(hows(with(&node), "sdc"), [("sdc".to_owned(), open())]);
        let mut tree = with(&node);
        tree.file("/proc/5/fdinfo/3", "pos:\t0\nflags:\t010000000\n");
        assert_eq!(hows(tree, "sdc"), []);
    }

    #[test]
    fn the_file_behind_a_loop_device_is_known_by_its_inode() {
        let mut tree = over_file();
        put(&mut tree, &[("/proc/5/fd/3", "-> /srv/link"), ("/narrows/probe/stat/srv/link", "file 8:1 77")]);
        put(
            &mut tree,
            &[("/proc/6/fd/3", "-> /srv/other"), ("/narrows/probe/stat/srv/other", "file 8:1 78")],
        );
        assert_eq!(hows(tree, "loop0"), [("the file behind loop0".to_owned(), open())]);
    }

    #[test]
    fn a_thread_with_files_and_mounts_of_its_own_is_looked_at() {
        let tree = with(&[
            ("/proc/5/task/5/comm", "dd\n"),
            ("/proc/5/task/7/fd/3", "-> /dev/sdc"),
            ("/proc/5/task/8/ns/mnt", "-> mnt:[4026539999]"),
            ("/proc/5/task/8/mountinfo", "1 1 8:32 / /inside rw - xfs /dev/root rw\n"),
        ]);
        let mounted = How::Mounted { point: "/inside".to_owned(), process: 5 };
        assert_eq!(hows(tree, "sdc"), [("sdc".to_owned(), mounted), ("sdc".to_owned(), open())]);
    }

    const SHARED: &str = "00400000-00500000 rw-s 00000000 00:06 331    /tmp/node (deleted)\n";

    #[test]
    fn a_mapping_is_a_use_after_its_descriptor_was_closed() {
        let mapped = How::Mapped { process: 5, program: "dd".to_owned() };
        // The first thread may have ended: then another one tells.
        for place in ["/proc/5/maps", "/proc/5/task/7/maps"] {
            let teller = if place.contains("task") { 7 } else { 5 };
            let link = format!("/proc/{teller}/map_files/400000-500000");
            let node = ("/narrows/probe/stat/tmp/node (deleted)", "block 8:32");
            let tree = with(&[(place, SHARED), (&link, "-> /tmp/node (deleted)"), node]);
            assert_eq!(hows(tree, "sdc"), [("sdc".to_owned(), mapped.clone())], "{place}");
        }
    }

    #[test]
    fn a_mapping_that_does_not_tell_its_file_hides_the_class() {
        let unseen = read(&Root::from_tree(with(&[("/proc/5/maps", SHARED)])), "sdc").unseen;
        assert_eq!(
            unseen,
            ["mapped memory, hidden here because process 5 does not show its own (needs root)"]
        );
    }

    #[test]
    fn descriptors_that_wait_in_a_socket_hide_the_class() {
        let socket = |waiting: &str| {
            with(&[
                ("/proc/5/fd/4", "-> /socket:[77]"),
                ("/narrows/probe/stat/socket:[77]", "socket"),
                ("/proc/5/fdinfo/4", &format!("pos:\t0\nscm_fds: {waiting}\n")),
            ])
        };
        assert_eq!(read(&Root::from_tree(socket("0")), "sdc").unseen, [] as [&str; 0]);
        let unseen = read(&Root::from_tree(socket("2")), "sdc").unseen;
        assert!(unseen[0].contains("2 wait in a socket of process 5 (dd)"), "{unseen:?}");
    }

    fn ring(files: &str) -> Tree {
        with(&[
            ("/proc/5/fd/4", "-> anon_inode:[io_uring]"),
            ("/proc/5/fdinfo/4", &format!("pos:\t0\nUserFiles:\t1\n    0: {files}\nUserBufs:\t0\n")),
            ("/proc/5/root/dev/null", ""),
        ])
    }

    #[test]
    fn what_is_registered_with_a_ring_is_a_use() {
        let found = hows(ring("/dev/sdc"), "sdc");
        assert_eq!(found, [("sdc".to_owned(), How::Registered { process: 5, program: "dd".to_owned() })]);
        for harmless in ["<none>", "socket:[77]", "/dev/null"] {
            let usage = read(&Root::from_tree(ring(harmless)), "sdc");
            assert_eq!((usage.uses, usage.unseen), (Vec::new(), Vec::new()), "{harmless}");
        }
        for unknown in ["sdc", "/tmp/node\\040(deleted)", "/no/such/file"] {
            let unseen = read(&Root::from_tree(ring(unknown)), "sdc").unseen;
            assert!(
                unseen[0].starts_with("files registered with io_uring, hidden here because"),
                "{unseen:?}"
            );
        }
    }

    #[test]
    fn a_ring_that_does_not_list_its_files_hides_the_class() {
        let busy = with(&[
            ("/proc/5/fd/4", "-> anon_inode:[io_uring]"),
            ("/proc/5/fdinfo/4", "pos:\t0\nUserFiles:\t1\nUserBufs:\t0\n"),
        ]);
        let only_mapped = with(&[(
            "/proc/5/maps",
            "7f0000000000-7f0000001000 rw-s 10000000 00:0f 1057    anon_inode:[io_uring]\n",
        )]);
        for tree in [busy, only_mapped] {
            let unseen = read(&Root::from_tree(tree), "sdc").unseen;
            assert!(unseen[0].contains("process 5 (dd)"), "{unseen:?}");
        }
    }

    #[test]
    fn a_registered_file_without_a_name_is_told_by_its_descriptor() {
        let name = "/tmp/#12 (deleted)";
        let unseen = |stat: &str| {
            let mut tree = ring("/tmp/#12\\040(deleted)");
            tree.link("/proc/5/fd/3", name);
            tree.file(&format!("/narrows/probe/stat{name}"), stat);
            read(&Root::from_tree(tree), "sdc").unseen
        };
        assert_eq!(unseen("file 0:40 12"), [] as [&str; 0]);
        // Another file, or no regular one, is not what was made without a name.
        for other in ["file 0:40 13", "char 1:3"] {
            assert!(unseen(other)[0].starts_with("files registered with io_uring"), "{other}");
        }
    }
}
