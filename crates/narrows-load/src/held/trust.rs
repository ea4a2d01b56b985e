//! Whose changes do not matter: root's, our own, and, for root, those of whoever called `sudo`.
//!
//! A directory is safe from others when its owner is one of these and neither its group nor everybody may write to it. An
//! access control list gives nobody more than the bits of the group say (`acl(5)`). With the sticky bit others may add names
//! and can neither rename nor remove those of somebody else (`inode(7)`).

use std::fmt;
use std::io::Read;

use nix::unistd::geteuid;
use rustix::fs::{FileType, Mode, OFlags, Stat};

/// Bits of a mode.
const STICKY: u32 = 0o1000;
const GROUP_WRITES: u32 = 0o020;
const ALL_WRITE: u32 = 0o002;
/// Who owns what belongs to a user that this user namespace does not know (`user_namespaces(7)`).
const OVERFLOW: u32 = 65_534;

/// Who can change a directory or a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changer {
    /// Its owner.
    Owner(u32),
    /// Its group.
    Group(u32),
    /// Everybody.
    All,
}

impl fmt::Display for Changer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner(user) => write!(f, "it belongs to the user with number {user}"),
            Self::Group(group) => write!(f, "the group with number {group} may write to it"),
            Self::All => f.write_str("everybody may write to it, and it has no sticky bit"),
        }
    }
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trust {
    /// The effective user.
    user: u32,
    /// Who called `sudo`. In a directory of theirs they can spoil what they asked for, and nothing else: links of theirs are
    /// not followed.
    caller: Option<u32>,
    /// Whether unknown users are those outside of our user namespace, who cannot be told from root.
    namespaced: bool,
}

impl Trust {
    /// Of a process of this user.
    #[cfg(test)]
    pub(super) const fn of_user(user: u32) -> Self {
        Self { user, caller: None, namespaced: false }
    }

    /// Of this process.
    pub fn of_process() -> Self {
        let user = geteuid().as_raw();
        let caller = std::env::var("SUDO_UID").ok().and_then(|text| text.parse().ok());
        Self { user, caller: caller.filter(|_| user == 0), namespaced: is_namespaced() }
    }

    /// The same, for whom the caller of `sudo` is anybody.
    pub const fn without_caller(self) -> Self {
        Self { caller: None, ..self }
    }

    /// Whether this is root.
    pub(super) const fn is_root(&self) -> bool {
        self.user == 0
    }

    fn is_us(&self, owner: u32) -> bool {
        owner == 0 || owner == self.user || self.namespaced && owner == OVERFLOW
    }

    /// Who can change what root makes in this directory; nobody where this is not root.
    pub(crate) fn refuses(&self, directory: &Stat) -> Option<Changer> {
        if self.is_root() { self.changer(directory) } else { None }
    }

    /// Whether a file in this directory can only be of us: nobody else can make one there, or it is ours by its owner. Where a
    /// file system shows other owners than those who made a file, only root insists.
    pub(crate) fn is_of_us(&self, directory: &Stat, file: &Stat) -> bool {
        let is_closed = directory.st_mode & (GROUP_WRITES | ALL_WRITE) == 0 && self.is_us(directory.st_uid);
        let is_ours = self.is_us(file.st_uid) && file.st_nlink == 1;
        let is_writable = file.st_mode & (GROUP_WRITES | ALL_WRITE) != 0;
        is_closed || is_ours && !(self.is_root() && is_writable)
    }

    /// Who can change names in this directory, the caller of `sudo` not counted.
    pub fn changer(&self, directory: &Stat) -> Option<Changer> {
        if self.caller == Some(directory.st_uid) { bits(directory) } else { self.stranger(directory) }
    }

    /// Who can change names in this directory.
    fn stranger(&self, directory: &Stat) -> Option<Changer> {
        if self.is_us(directory.st_uid) { bits(directory) } else { Some(Changer::Owner(directory.st_uid)) }
    }

    /// Who can change where `link` in `directory` leads.
    pub(super) fn link_changer(&self, directory: &Stat, link: &Stat) -> Option<Changer> {
        let of_link = (!self.is_us(link.st_uid)).then_some(Changer::Owner(link.st_uid));
        self.stranger(directory).or(of_link)
    }

    /// Whether a file or directory is ours alone: nobody else made it, can write to it, or has another name for it.
    pub(crate) fn is_ours_alone(&self, stat: &Stat) -> bool {
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        stat.st_uid == self.user
            && stat.st_mode & (GROUP_WRITES | ALL_WRITE) == 0
            && (is_directory || stat.st_nlink == 1)
    }
}

/// What the bits of a directory allow to others than its owner.
fn bits(directory: &Stat) -> Option<Changer> {
    let mode = directory.st_mode;
    if mode & STICKY != 0 {
        None
    } else if mode & ALL_WRITE != 0 {
        Some(Changer::All)
    } else {
        (mode & GROUP_WRITES != 0).then_some(Changer::Group(directory.st_gid))
    }
}

/// Whether this user namespace knows no user of the number that unknown ones are shown with. Where that cannot be read it
/// does.
fn is_namespaced() -> bool {
    let mut text = String::new();
    let opened = rustix::fs::open("/proc/self/uid_map", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let read = opened.is_ok_and(|map| std::fs::File::from(map).read_to_string(&mut text).is_ok());
    read && !knows(&text, OVERFLOW)
}

/// Whether a map of users has this one: lines of the first number inside, the first outside, and how many.
fn knows(map: &str, user: u32) -> bool {
    map.lines().any(|line| {
        let numbers: Vec<u32> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        matches!(numbers[..], [first, _, count] if user.checked_sub(first).is_some_and(|at| at < count))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOB: u32 = 1000;

    fn stat(owner: u32, mode: u32) -> Stat {
        let mut stat = rustix::fs::stat("/").unwrap();
        (stat.st_uid, stat.st_gid, stat.st_mode, stat.st_nlink) = (owner, 7, mode, 1);
        stat
    }

    fn trust(user: u32, caller: Option<u32>) -> Trust {
        Trust { user, caller, namespaced: false }
    }

    #[test]
    fn a_directory_is_changed_by_its_owner_and_by_who_may_write() {
        let root = trust(0, None);
        let by = |owner, mode| root.changer(&stat(owner, mode));
        assert_eq!(by(0, 0o755), None);
        assert_eq!(by(0, 0o1777), None);
        assert_eq!(by(0, 0o777), Some(Changer::All));
        assert_eq!(by(0, 0o775), Some(Changer::Group(7)));
        assert_eq!(by(BOB, 0o700), Some(Changer::Owner(BOB)));
        assert_eq!(
            by(BOB, 0o1777),
            Some(Changer::Owner(BOB)),
            "the owner of a sticky directory renames in it"
        );
        assert_eq!(trust(BOB, None).changer(&stat(BOB, 0o755)), None);
    }

    #[test]
    fn the_caller_of_sudo_counts_for_directories_and_not_for_links() {
        let root = trust(0, Some(BOB));
        assert_eq!(root.changer(&stat(BOB, 0o755)), None);
        assert_eq!(root.changer(&stat(BOB, 0o777)), Some(Changer::All));
        assert_eq!(root.changer(&stat(BOB + 1, 0o755)), Some(Changer::Owner(BOB + 1)));
        assert!(root.link_changer(&stat(BOB, 0o755), &stat(0, 0o777)).is_some());
        assert!(root.link_changer(&stat(0, 0o1777), &stat(BOB, 0o777)).is_some());
    }

    #[test]
    fn a_link_counts_where_neither_it_nor_its_directory_is_anothers() {
        let bob = trust(BOB, None);
        let by = |directory, link| bob.link_changer(&directory, &stat(link, 0o777));
        assert_eq!(by(stat(0, 0o755), 0), None);
        assert_eq!(by(stat(BOB, 0o755), BOB), None);
        assert_eq!(by(stat(0, 0o1777), BOB), None);
        assert_eq!(by(stat(0, 0o1777), 1001), Some(Changer::Owner(1001)));
        assert_eq!(by(stat(1001, 0o755), 0), Some(Changer::Owner(1001)));
        assert_eq!(by(stat(BOB, 0o775), BOB), Some(Changer::Group(7)));
    }

    #[test]
    fn users_outside_of_our_namespace_count_as_root() {
        let inside = Trust { user: 0, caller: None, namespaced: true };
        assert_eq!(inside.changer(&stat(OVERFLOW, 0o755)), None);
        assert_eq!(trust(0, None).changer(&stat(OVERFLOW, 0o755)), Some(Changer::Owner(OVERFLOW)));
        assert!(knows("         0          0 4294967295\n", OVERFLOW));
        assert!(knows("0 1000 1\n1 100000 65536\n", OVERFLOW));
        assert!(!knows("0 1000 1\n", OVERFLOW) && !knows("", OVERFLOW));
    }

    #[test]
    fn what_lies_where_others_can_make_files_is_of_us_by_its_owner() {
        let (root, bob) = (trust(0, None), trust(BOB, None));
        let (own, tmp, shared) = (stat(0, 0o700), stat(0, 0o1777), stat(0, 0o777));
        assert!(root.is_of_us(&own, &stat(BOB, 0o100_666)), "nobody else can have put it there");
        assert!(!root.is_of_us(&tmp, &stat(BOB, 0o100_600)) && root.is_of_us(&tmp, &stat(0, 0o100_600)));
        assert!(!root.is_of_us(&tmp, &stat(0, 0o100_622)), "somebody else may have written to it");
        assert!(bob.is_of_us(&shared, &stat(0, 0o100_777)), "as a file system without owners shows it");
        assert!(!bob.is_of_us(&shared, &stat(1001, 0o100_600)));
        assert!(bob.refuses(&shared).is_none() && root.refuses(&shared).is_some());
    }

    #[test]
    fn what_is_ours_alone_has_one_name_and_one_writer() {
        let root = trust(0, None);
        assert!(root.is_ours_alone(&stat(0, 0o100_600)));
        assert!(!root.is_ours_alone(&stat(BOB, 0o100_600)) && !root.is_ours_alone(&stat(0, 0o100_660)));
        let mut linked = stat(0, 0o100_600);
        linked.st_nlink = 2;
        assert!(!root.is_ours_alone(&linked));
    }
}
