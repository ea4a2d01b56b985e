//! What processes use: open files, mapped memory, files that are registered with io_uring, and mounts of every namespace.

use std::collections::{BTreeMap, BTreeSet};

use super::How;
use super::class::Class;
use super::findings::Findings;
use super::rings::RING;
use super::texts::{self, Mapping};
use super::wanted::{Held, Wanted};
use crate::mount;
use crate::root::{FileKind, Root};
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
            let listed = root.list("/proc").into_iter().filter_map(|name| name.parse().ok());
            let new: Vec<u32> = listed.filter(|process| seen.insert(*process)).collect();
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
        let mut threads: Vec<u32> = self
            .root
            .list(&format!("/proc/{process}/task"))
            .iter()
            .filter_map(|name| name.parse().ok())
            .collect();
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

    pub(super) fn note(&mut self, held: Held, process: u32, how: impl FnOnce(u32, String) -> How) {
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
    fn mapped(&self, teller: u32, found: &Mapping) -> Result<Option<Held>, ()> {
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

#[cfg(test)]
pub(super) mod tests {
    use super::super::tests::{hows, machine, over_file};
    use super::super::{How, read};
    use super::*;
    use crate::tree::Tree;

    pub(crate) fn with(files: &[(&str, &str)]) -> Tree {
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
}
