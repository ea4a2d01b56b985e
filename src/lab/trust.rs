//! Which journals count: those that only root could have written, in a directory that only root can enter.

#![expect(clippy::disallowed_methods, reason = "looks at the very files that the journal is made of")]

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use nix::libc;
use nix::unistd::geteuid;

use super::seal::{Place, Secret};

/// The file of the secret, beside the journals.
const SECRET: &str = ".lab-key";
/// How long another process may take to write the secret.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why a file or directory is not trusted, as a phrase, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` {why}", path.display())]
pub struct Untrusted {
    /// Which file or directory.
    pub path: PathBuf,
    /// Why.
    pub why: String,
    /// What to do next.
    pub hint: String,
}

/// What is known of a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    owner: u32,
    mode: u32,
    links: u64,
    is_file: bool,
}

impl Seen {
    fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let (owner, mode) = (metadata.uid(), metadata.mode() & 0o7777);
        Ok(Self { owner, mode, links: metadata.nlink(), is_file: metadata.is_file() })
    }

    /// What speaks against a journal, which must be the user's alone: the lab runs as root, so it is root's.
    fn against_file(self, user: u32) -> Option<String> {
        if !self.is_file {
            return Some("is no regular file".to_owned());
        }
        if self.links != 1 {
            return Some(format!("has {} names in place of one", self.links));
        }
        self.against(user, 0o600)
    }

    fn against_directory(self, user: u32) -> Option<String> {
        self.against(user, 0o700)
    }

    fn against(self, user: u32, mode: u32) -> Option<String> {
        if self.owner != user {
            return Some(format!("belongs to user {} and not to user {user}", self.owner));
        }
        (self.mode != mode).then(|| format!("has mode {:04o} in place of {mode:04o}", self.mode))
    }
}

/// Opens the directory that a journal lies in, by the way that was typed, once; what lies in it is then found through this
/// handle.
///
/// # Errors
/// It is not there; the inner error is that it is not trusted.
pub(super) fn directory(path: &Path) -> io::Result<Result<File, Untrusted>> {
    let flags = libc::O_DIRECTORY | libc::O_NONBLOCK;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let why = Seen::of(&opened)?.against_directory(geteuid().as_raw());
    Ok(why.map_or(Ok(opened), |why| {
        let hint = format!(
            "a journal counts only in a directory that only root can enter: look through what is in it, then `chown root {0}` \
             and `chmod 700 {0}`, or name another place with --journal",
            path.display()
        );
        Err(Untrusted { path: path.to_owned(), why, hint })
    }))
}

/// Makes the directory of journals, if it is missing, whatever the umask is. An empty one of the user is closed to others.
///
/// # Errors
/// It cannot be made.
pub(super) fn make_directory(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o755).create(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        made => made?,
    }
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let is_ours = Seen::of(&opened)?.owner == geteuid().as_raw();
    if is_ours && fs::read_dir(through(&opened))?.next().is_none() {
        opened.set_permissions(Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// The way to what an open directory is, whatever stands at its name now.
pub(super) fn through(directory: &File) -> PathBuf {
    use std::os::fd::AsRawFd;
    PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()))
}

/// Whether an open journal is trusted.
///
/// # Errors
/// It cannot be looked at; the inner error is that it is not trusted.
pub(super) fn file(path: &Path, opened: &File) -> io::Result<Result<(), Untrusted>> {
    let why = Seen::of(opened)?.against_file(geteuid().as_raw());
    Ok(why.map_or(Ok(()), |why| {
        let hint =
            "a journal counts only as a lab wrote it: a file of root's alone, with mode 0600 and one name; \
                    if you know what it is, remove it"
                .to_owned();
        Err(Untrusted { path: path.to_owned(), why, hint })
    }))
}

/// What tells an open file from a copy of it.
///
/// # Errors
/// The kernel does not tell.
pub(super) fn place(opened: &File) -> io::Result<Place> {
    let metadata = opened.metadata()?;
    let made = metadata.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let made = made.and_then(|time| u64::try_from(time.as_nanos()).ok()).unwrap_or(0);
    Ok(Place { inode: metadata.ino(), made })
}

/// The secret of this machine, which is made if there is none and `make` says so.
///
/// # Errors
/// There is none, it cannot be made, or it is not the user's alone.
pub(super) fn secret(directory: &File, make: bool) -> io::Result<Secret> {
    let path = through(directory).join(SECRET);
    if make {
        make_secret(directory, &path)?;
    }
    let begin = Instant::now();
    loop {
        let mut opened = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(&path)?;
        if Seen::of(&opened)?.against_file(geteuid().as_raw()).is_some() {
            return Err(io::Error::other(format!("`{SECRET}` beside it is not root's alone")));
        }
        let mut bytes = [0; Secret::LENGTH];
        match opened.read_exact(&mut bytes) {
            Ok(()) => return Ok(Secret::new(bytes)),
            Err(_) if begin.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(error),
        }
    }
}

fn make_secret(directory: &File, path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create_new(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let mut made = match options.open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        made => made?,
    };
    made.set_permissions(Permissions::from_mode(0o600))?;
    let mut bytes = [0; Secret::LENGTH];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    made.write_all(&bytes)?;
    made.sync_all()?;
    directory.sync_all()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A directory that only we can enter, whatever the umask is.
    pub(in crate::lab) fn directory_of_ours() -> tempfile::TempDir {
        tempfile::Builder::new().permissions(Permissions::from_mode(0o700)).tempdir().unwrap()
    }

    const JOURNAL: Seen = Seen { owner: 0, mode: 0o600, links: 1, is_file: true };

    #[test]
    fn only_a_file_of_root_alone_counts() {
        assert_eq!(JOURNAL.against_file(0), None);
        for (other, why) in [
            (Seen { owner: 1000, ..JOURNAL }, "belongs to user 1000"),
            (Seen { mode: 0o640, ..JOURNAL }, "mode 0640"),
            (Seen { mode: 0o4600, ..JOURNAL }, "mode 4600"),
            (Seen { links: 2, ..JOURNAL }, "2 names"),
            (Seen { is_file: false, ..JOURNAL }, "no regular file"),
        ] {
            assert!(other.against_file(0).is_some_and(|said| said.contains(why)), "{why}");
        }
        let directory = Seen { mode: 0o700, is_file: false, links: 3, ..JOURNAL };
        assert_eq!(directory.against_directory(0), None);
        for mode in [0o755, 0o1777, 0o777, 0o710] {
            assert!(Seen { mode, ..directory }.against_directory(0).is_some(), "{mode:o}");
        }
    }

    #[test]
    fn the_directory_is_closed_to_others_unless_something_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        make_directory(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        make_directory(&path).unwrap();
        assert!(directory(&path).unwrap().is_ok(), "an empty one is mended");
        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        fs::write(path.join("planted"), "x").unwrap();
        make_directory(&path).unwrap();
        let refused = directory(&path).unwrap().unwrap_err();
        assert!(refused.to_string().contains("0777") && refused.hint.contains("chmod 700"), "{refused}");
    }

    #[test]
    fn the_secret_is_made_once_and_stays() {
        let dir = directory_of_ours();
        let opened = directory(dir.path()).unwrap().unwrap();
        assert!(secret(&opened, false).is_err());
        let made = secret(&opened, true).unwrap();
        assert_eq!(made.bytes(), secret(&opened, true).unwrap().bytes());
        assert_eq!(made.bytes(), secret(&opened, false).unwrap().bytes());
        fs::set_permissions(dir.path().join(SECRET), Permissions::from_mode(0o644)).unwrap();
        assert!(secret(&opened, true).is_err(), "others could have read it");
    }

    #[test]
    fn a_copy_has_another_place() {
        let dir = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| dir.path().join(name));
        fs::write(&one, "x").unwrap();
        fs::copy(&one, &two).unwrap();
        let place = |path: &Path| place(&File::open(path).unwrap()).unwrap();
        assert_ne!(place(&one), place(&two));
        let before = place(&one);
        fs::rename(&one, dir.path().join("three")).unwrap();
        assert_eq!(place(&dir.path().join("three")), before);
    }
}
