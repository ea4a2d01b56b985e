//! What processes have registered with io_uring: files that a ring holds without a descriptor of them.

use std::thread;
use std::time::Duration;

use super::How;
use super::class::Class;
use super::processes::{Processes, directory};
use super::texts;
use super::wanted::Held;
use crate::root::{FileKind, Stat};

/// The target of a link to a ring.
pub(super) const RING: &str = "anon_inode:[io_uring]";

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
    pub(super) fn is_ring(&self, path: &str) -> bool {
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

    pub(super) fn unknown_files(&mut self, process: u32, unknown: &[String]) {
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
    fn registered(&self, process: u32, directory: &str, name: &str) -> Result<Option<Held>, ()> {
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

    pub(super) fn has_ring_descriptor(&self, process: u32, threads: &[u32]) -> bool {
        threads.iter().any(|thread| {
            let directory = format!("{}/fd", directory(process, *thread));
            self.root.list(&directory).iter().any(|entry| self.is_ring(&format!("{directory}/{entry}")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::processes::tests::with;
    use super::super::tests::hows;
    use super::super::{How, read};
    use crate::root::Root;
    use crate::tree::Tree;

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
