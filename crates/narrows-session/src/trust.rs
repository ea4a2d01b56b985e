//! Which journals count: those that only root could have written, in a directory that only root can enter.

use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use nix::unistd::geteuid;
use rustix::fs::{Dir, OFlags};

use narrows_base::{hex, shell};
use narrows_load::guard::keyed_hash;
use narrows_load::held::{Aim, Held, HeldError, Maker, Trust};

/// The file of the secret, beside the journals.
const SECRET: &str = ".lab-key";
/// Where journals and records are, unless another place is asked for.
pub const DIRECTORY: &str = "/var/lib/narrows";
/// How long another process may take to write the secret.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why a file or directory is not trusted, as a phrase, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` {why}", path.display())]
pub struct Untrusted {
    /// Which file or directory.
    pub path: PathBuf,
    pub why: String,
    /// What to do next.
    pub hint: String,
}

/// What is known of a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileOwner {
    owner: u32,
    mode: u32,
    links: u64,
    is_file: bool,
}

impl FileOwner {
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

    /// What speaks against what must be the user's alone, with this mode.
    fn against(self, user: u32, mode: u32) -> Option<String> {
        if self.owner != user {
            return Some(format!("belongs to user {} and not to user {user}", self.owner));
        }
        (self.mode != mode).then(|| format!("has mode {:04o} in place of {mode:04o}", self.mode))
    }
}

/// Opens the directory that a journal lies in, by the way that was typed, once; what lies in it is then found through this
/// handle. Nobody but root can change any directory on that way, or a link on it: whoever called `sudo` is somebody else here.
///
/// # Errors
/// It is not there, or it is not trusted: then the error is made of [`Untrusted`].
pub(crate) fn directory(path: &Path) -> io::Result<File> {
    let seen = hold(path, Aim::Read)?;
    if let Some(why) = FileOwner::of(seen.handle())?.against(geteuid().as_raw(), 0o700) {
        return Err(not_closed(path, why));
    }
    let held = hold(path, Aim::Write)?;
    if !held.is(&seen)? {
        return Err(not_closed(path, "was replaced while it was looked at".to_owned()));
    }
    held.handle().try_clone()
}

fn not_closed(path: &Path, why: String) -> io::Error {
    let hint = format!(
        "a journal counts only in a directory that only root can enter: look through what is in it, then `chown root {0}` \
         and `chmod 700 {0}`, or name another place with --journal",
        shell::path(path)
    );
    io::Error::other(Untrusted { path: path.to_owned(), why, hint })
}

/// Resolves a path once, by the rules for what others can change.
fn hold(path: &Path, aim: Aim) -> io::Result<Held> {
    Held::open_as(path, aim, &Trust::of_process().without_caller()).map_err(|error| match error {
        HeldError::Io { source, .. } => source,
        error => {
            let hint = error.hint().unwrap_or("name another place with --journal").to_owned();
            io::Error::other(Untrusted { path: path.to_owned(), why: format!("is not used: {error}"), hint })
        }
    })
}

/// Makes the directory of journals, if it is missing, whatever the umask is. An empty one of the user is closed to others.
///
/// # Errors
/// It cannot be made, or others can change where it lies: then the error is made of [`Untrusted`].
pub(crate) fn make_directory(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(ErrorKind::InvalidFilename.into());
    };
    let held = match hold(parent, Aim::Write) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            DirBuilder::new().recursive(true).mode(0o755).create(parent)?;
            hold(parent, Aim::Write)?
        }
        held => held?,
    };
    match held.maker().make_directory(name.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        made => made?,
    }
    let opened = held.maker().open(name.as_bytes(), OFlags::RDONLY | OFlags::DIRECTORY)?;
    if FileOwner::of(&opened)?.owner == geteuid().as_raw() && is_empty(&opened)? {
        opened.set_permissions(Permissions::from_mode(0o700))?;
    }
    Ok(())
}

fn is_empty(directory: &File) -> io::Result<bool> {
    for entry in Dir::read_from(directory)? {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether an open journal is trusted.
///
/// # Errors
/// It cannot be looked at, or it is not trusted: then the error is made of [`Untrusted`].
pub(crate) fn file(path: &Path, opened: &File) -> io::Result<()> {
    let Some(why) = FileOwner::of(opened)?.against_file(geteuid().as_raw()) else { return Ok(()) };
    let hint =
        "a journal counts only as a lab wrote it: a file of root's alone, with mode 0600 and one name; \
                if you know what it is, remove it"
            .to_owned();
    Err(io::Error::other(Untrusted { path: path.to_owned(), why, hint }))
}

/// What tells an open file from a copy of it: the number of its inode, and when it was made, in nanoseconds since 1970; 0 where the
/// file system does not tell.
///
/// # Errors
/// The kernel does not tell.
pub(crate) fn place(opened: &File) -> io::Result<[u64; 2]> {
    let metadata = opened.metadata()?;
    let made = metadata.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let made = made.and_then(|time| u64::try_from(time.as_nanos()).ok()).unwrap_or(0);
    Ok([metadata.ino(), made])
}

/// The secret of this machine, which is made if there is none and `make` says so.
///
/// # Errors
/// There is none, it cannot be made, or it is not the user's alone.
pub(crate) fn secret(directory: &File, make: bool) -> io::Result<Secret> {
    let maker = Maker::of(directory);
    if make {
        make_secret(directory)?;
    }
    let begin = Instant::now();
    loop {
        let mut opened = maker.open(SECRET.as_bytes(), OFlags::RDONLY | OFlags::NONBLOCK)?;
        if FileOwner::of(&opened)?.against_file(geteuid().as_raw()).is_some() {
            return Err(io::Error::other(format!("`{SECRET}` beside it is not root's alone")));
        }
        let mut bytes = [0; 32];
        match opened.read_exact(&mut bytes) {
            Ok(()) => return Ok(Secret(bytes)),
            Err(_) if begin.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(error),
        }
    }
}

fn make_secret(directory: &File) -> io::Result<()> {
    let mut made = match Maker::of(directory).make_file(SECRET.as_bytes(), OFlags::WRONLY) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        made => made?,
    };
    made.set_permissions(Permissions::from_mode(0o600))?;
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    made.write_all(&bytes)?;
    made.sync_all()?;
    directory.sync_all()
}

/// How the line of a seal begins and ends.
const BEFORE: &[u8] = b"{\"seal\":\"";
const BEHIND: &[u8] = b"\"}";

/// The secret of this machine.
#[derive(Clone, Copy)]
pub(crate) struct Secret(pub(crate) [u8; 32]);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// Seals one line after another.
#[derive(Debug, Clone)]
pub(crate) struct Seal {
    secret: Secret,
    last: Vec<u8>,
}

impl Seal {
    /// The seals of the file at this [`place`].
    pub(crate) fn new(secret: Secret, place: [u64; 2]) -> Self {
        Self { secret, last: place.map(u64::to_le_bytes).concat() }
    }

    /// The seal of the line that comes next, as it stands behind that.
    fn of(&self, line: &[u8]) -> ([u8; 32], Vec<u8>) {
        let hash = keyed_hash(&self.secret.0, &[&self.last, line]);
        (hash, [BEFORE, hex::digits(&hash).as_bytes(), BEHIND].concat())
    }

    /// A line with its seal behind it, both with their ends. `line` has no end of its own.
    pub(crate) fn sealed(&mut self, line: &str) -> String {
        let (hash, seal) = self.of(line.as_bytes());
        self.last = hash.to_vec();
        format!("{line}\n{}\n", String::from_utf8_lossy(&seal))
    }

    /// Whether this is the seal of the line that comes next, which it then is.
    fn accepts(&mut self, line: &[u8], seal: &[u8]) -> bool {
        let (hash, wanted) = self.of(line);
        let is_it = seal == wanted;
        if is_it {
            self.last = hash.to_vec();
        }
        is_it
    }
}

/// What of a text is sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unsealed {
    /// The lines whose seals are whole, with their ends.
    pub lines: Vec<u8>,
    /// How many bytes of the text these and their seals are.
    pub whole: u64,
    /// Whether more follows that is no cut-short line: somebody or something changed the file.
    pub is_damaged: bool,
}

/// The lines of a text that `seal` accepts, from the first on, up to the first that it does not. A last line that was cut
/// short, or whose seal was, announces nothing.
pub(crate) fn unseal(text: &[u8], seal: &mut Seal) -> Unsealed {
    let mut found = Unsealed { lines: Vec::new(), whole: 0, is_damaged: false };
    let mut rest = text;
    while let Some((line, behind)) = split(rest) {
        let Some((its_seal, behind)) = split(behind) else { break };
        if !seal.accepts(line, its_seal) {
            found.is_damaged = true;
            break;
        }
        found.lines.extend_from_slice(line);
        found.lines.push(b'\n');
        rest = behind;
    }
    found.whole = (text.len() - rest.len()) as u64;
    found
}

/// The first line without its end, and what follows; `None` when no line ends.
fn split(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b'\n', text)?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use super::*;
    use crate::testing::directory_of_ours;
    use proptest::prelude::*;
    use std::fs;

    const PLACE: [u64; 2] = [12, 34];

    fn seal(secret: u8, place: [u64; 2]) -> Seal {
        Seal::new(Secret([secret; 32]), place)
    }

    fn text(lines: &[&str]) -> Vec<u8> {
        let mut seal = seal(1, PLACE);
        lines.iter().flat_map(|line| seal.sealed(line).into_bytes()).collect()
    }

    #[test]
    fn what_was_sealed_is_read_again_and_can_go_on() {
        let text = text(&["one", "", "three"]);
        let mut again = seal(1, PLACE);
        let found = unseal(&text, &mut again);
        let whole =
            Unsealed { lines: b"one\n\nthree\n".to_vec(), whole: text.len() as u64, is_damaged: false };
        assert_eq!(found, whole);
        let longer = [text, again.sealed("four").into_bytes()].concat();
        assert_eq!(unseal(&longer, &mut seal(1, PLACE)).lines, b"one\n\nthree\nfour\n");
    }

    #[test]
    fn a_copy_or_anothers_has_no_line_at_all() {
        let text = text(&["one", "two"]);
        for mut other in [seal(2, PLACE), seal(1, [13, 34]), seal(1, [12, 35])] {
            let found = unseal(&text, &mut other);
            assert!(found.lines.is_empty() && found.is_damaged && found.whole == 0);
        }
    }

    #[test]
    fn lines_that_are_swapped_left_out_or_repeated_do_not_count() {
        let text = text(&["one", "two", "three"]);
        let ends: Vec<usize> =
            text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
        let part =
            |from: usize, to: usize| &text[if from == 0 { 0 } else { ends[2 * from - 1] }..ends[2 * to - 1]];
        for (forged, count) in [
            ([part(1, 2), part(0, 1), part(2, 3)].concat(), 0),
            ([part(0, 1), part(2, 3)].concat(), 1),
            ([part(0, 2), part(1, 2)].concat(), 2),
            ([part(0, 1), b"\"two\"\n", part(1, 2)].concat(), 1),
        ] {
            let found = unseal(&forged, &mut seal(1, PLACE));
            assert_eq!(found.lines.iter().filter(|byte| **byte == b'\n').count(), count);
            assert!(found.is_damaged);
        }
    }

    proptest! {
        #[test]
        fn a_text_that_is_cut_short_has_its_whole_lines_and_no_damage(cut in 0_usize..140) {
            let text = text(&["one", "two", "three"]);
            let cut = cut.min(text.len());
            let found = unseal(&text[..cut], &mut seal(1, PLACE));
            prop_assert!(!found.is_damaged);
            prop_assert!(b"one\ntwo\nthree\n".starts_with(&found.lines));
        }

        #[test]
        fn no_changed_byte_makes_another_line(at in 0_usize..140, by in 1_u8..) {
            let mut text = text(&["one", "two", "three"]);
            let at = at % text.len();
            text[at] ^= by;
            let found = unseal(&text, &mut seal(1, PLACE));
            prop_assert!(b"one\ntwo\nthree\n".starts_with(&found.lines));
            prop_assert!(found.lines.len() < 14);
        }

        #[test]
        fn no_text_panics(text: Vec<u8>) {
            let found = unseal(&text, &mut seal(1, PLACE));
            prop_assert!(found.lines.is_empty());
        }
    }

    const JOURNAL: FileOwner = FileOwner { owner: 0, mode: 0o600, links: 1, is_file: true };

    #[test]
    fn only_a_file_of_root_alone_counts() {
        assert_eq!(JOURNAL.against_file(0), None);
        for (other, why) in [
            (FileOwner { owner: 1000, ..JOURNAL }, "belongs to user 1000"),
            (FileOwner { mode: 0o640, ..JOURNAL }, "mode 0640"),
            (FileOwner { mode: 0o4600, ..JOURNAL }, "mode 4600"),
            (FileOwner { links: 2, ..JOURNAL }, "2 names"),
            (FileOwner { is_file: false, ..JOURNAL }, "no regular file"),
        ] {
            assert!(other.against_file(0).is_some_and(|said| said.contains(why)), "{why}");
        }
        let directory = FileOwner { mode: 0o700, is_file: false, links: 3, ..JOURNAL };
        assert_eq!(directory.against(0, 0o700), None);
        for mode in [0o755, 0o1777, 0o777, 0o710] {
            assert!(FileOwner { mode, ..directory }.against(0, 0o700).is_some(), "{mode:o}");
        }
    }

    fn untrusted(refused: io::Result<File>) -> Untrusted {
        refused.unwrap_err().downcast().expect("it is not trusted")
    }

    #[test]
    fn the_directory_is_closed_to_others_unless_something_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        make_directory(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        make_directory(&path).unwrap();
        assert!(directory(&path).is_ok(), "an empty one is mended");
        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        fs::write(path.join("planted"), "x").unwrap();
        make_directory(&path).unwrap();
        let refused = untrusted(directory(&path));
        assert!(refused.to_string().contains("0777") && refused.hint.contains("chmod 700"), "{refused}");
    }

    #[test]
    fn no_directory_on_the_way_may_be_changed_by_others() {
        if !geteuid().is_root() {
            return;
        }
        let dir = directory_of_ours();
        let (open, own) = (dir.path().join("open"), dir.path().join("open/own"));
        fs::create_dir_all(&own).unwrap();
        fs::set_permissions(&own, Permissions::from_mode(0o700)).unwrap();
        fs::set_permissions(&open, Permissions::from_mode(0o755)).unwrap();
        assert!(directory(&own).is_ok());
        fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
        let refused = untrusted(directory(&own));
        assert!(refused.to_string().contains("other users can change"), "{refused}");
        assert!(make_directory(&own).unwrap_err().downcast::<Untrusted>().is_ok());
        fs::set_permissions(&open, Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::chown(&open, Some(65_534), None).unwrap();
        assert!(directory(&own).unwrap_err().downcast::<Untrusted>().is_ok(), "its owner can");
    }

    #[test]
    fn a_directory_is_reached_by_a_link_of_ours_only() {
        if !geteuid().is_root() {
            return;
        }
        let dir = directory_of_ours();
        let (own, link) = (directory_of_ours(), dir.path().join("link"));
        std::os::unix::fs::symlink(own.path(), &link).unwrap();
        assert!(directory(&link).is_ok());
        std::os::unix::fs::lchown(&link, Some(65_534), None).unwrap();
        let refused = untrusted(directory(&link));
        assert!(refused.to_string().contains("symbolic link"), "{refused}");
    }

    #[test]
    fn the_secret_is_made_once_and_stays() {
        let dir = directory_of_ours();
        let opened = directory(dir.path()).unwrap();
        assert!(secret(&opened, false).is_err());
        let made = secret(&opened, true).unwrap();
        assert_eq!(made.0, secret(&opened, true).unwrap().0);
        assert_eq!(made.0, secret(&opened, false).unwrap().0);
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
