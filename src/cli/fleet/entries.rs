//! Which captures are there, and which host is each of?
#![expect(clippy::disallowed_methods, reason = "the directories were named on the command line")]

use std::collections::BTreeMap;
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

use crate::cli::Failure;

/// The capture of one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Capture {
    /// The host, by the name of the capture.
    pub(super) host: String,
    /// Where it is; or why it cannot be used.
    pub(super) place: Result<PathBuf, String>,
}

/// Endings of archives.
const ARCHIVES: [&str; 11] =
    [".tar", ".tgz", ".tbz2", ".txz", ".tar.gz", ".tar.xz", ".tar.zst", ".tar.bz2", ".tzst", ".tbz", ".taz"];

/// Endings of texts and of compression.
const ENDINGS: [&str; 9] = [".txt", ".log", ".json", ".out", ".gz", ".xz", ".zst", ".bz2", ".md"];

/// Directories that collectors make for one machine: whoever holds one of them is a host and no group.
const OF_A_HOST: &str = "sys proc dev narrows sos_commands sos_logs sos_reports etc var run boot usr lib logs commands \
                         hardware devices hw.info";

/// The captures in `paths`, by host: every entry of a directory, and whatever else is named itself.
///
/// # Errors
/// [`Failure`] when a path cannot be read at all, or is standard input, which is one capture and no fleet.
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<Capture>, Failure> {
    let mut found = Vec::new();
    for path in paths {
        if path == Path::new("-") {
            return Err(Failure::new("standard input is one machine and no fleet").hint("leave out --fleet"));
        }
        let unreadable = |error: io::Error| {
            Failure::new(format!("cannot read `{}`: {error}", path.display()))
                .hint("name a directory with one capture for each host")
        };
        if fs::metadata(path).map_err(unreadable)?.is_dir() {
            in_directory(path, &mut found).map_err(unreadable)?;
        } else {
            found.push(Named::new("", path.clone(), Ok(())));
        }
    }
    Ok(name(found))
}

/// A capture with both the names that its host may have.
struct Named {
    short: String,
    long: String,
    place: Result<PathBuf, String>,
}

impl Named {
    fn new(group: &str, path: PathBuf, is_usable: Result<(), String>) -> Self {
        let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let full = |name: &str| if group.is_empty() { name.to_owned() } else { format!("{group}/{name}") };
        // Only files have endings; the name of a host may have dots.
        let short = if path.is_dir() { &file } else { stem(&file) };
        Self { short: full(short), long: full(&file), place: is_usable.map(|()| path) }
    }
}

fn in_directory(directory: &Path, found: &mut Vec<Named>) -> io::Result<()> {
    for (path, kind) in list(directory)? {
        let group = if kind.is_dir() { members(&path) } else { None };
        match group {
            Some(members) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                found
                    .extend(members.into_iter().map(|(path, kind)| Named::new(&name, path, is_usable(kind))));
            }
            None => found.push(Named::new("", path, is_usable(kind))),
        }
    }
    Ok(())
}

/// The entries of a directory but the hidden ones, by name.
pub(in crate::cli) fn list(directory: &Path) -> io::Result<Vec<(PathBuf, FileType)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            entries.push((entry.path(), entry.file_type()?));
        }
    }
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(entries)
}

/// The hosts in a directory that is a group of them.
fn members(directory: &Path) -> Option<Vec<(PathBuf, FileType)>> {
    let inside = list(directory).ok()?;
    let is_host = |(path, kind): &(PathBuf, FileType)| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match kind.is_dir() {
            true => !OF_A_HOST.split_whitespace().any(|known| known == name),
            false => kind.is_file() && ARCHIVES.iter().any(|ending| name.ends_with(ending)),
        }
    };
    (inside.len() > 1 && inside.iter().all(is_host)).then_some(inside)
}

fn is_usable(kind: FileType) -> Result<(), String> {
    match () {
        () if kind.is_symlink() => Err("it is a link, and links are not followed".to_owned()),
        () if kind.is_dir() || kind.is_file() => Ok(()),
        () => Err("it is neither a file nor a directory".to_owned()),
    }
}

/// The name without the endings of archives, texts and compression: `web01.tar.zst` is of `web01`.
fn stem(name: &str) -> &str {
    let without = |ending: &&str| name.strip_suffix(ending).filter(|rest| !rest.is_empty());
    ARCHIVES.iter().chain(&ENDINGS).find_map(without).map_or(name, stem)
}

/// Two captures whose short names are the same get their long ones, and a number where even these are the same.
fn name(found: Vec<Named>) -> Vec<Capture> {
    let mut short: BTreeMap<String, usize> = BTreeMap::new();
    for named in &found {
        *short.entry(named.short.clone()).or_default() += 1;
    }
    let mut captures: BTreeMap<String, Capture> = BTreeMap::new();
    for named in found {
        let is_alone = short.get(&named.short) == Some(&1);
        let wanted = if is_alone { named.short } else { named.long };
        let numbered = (2..).map(|number: usize| format!("{wanted} ({number})"));
        let mut names = std::iter::once(wanted.clone()).chain(numbered);
        let host = names.find(|name| !captures.contains_key(name)).unwrap_or_default();
        captures.insert(host.clone(), Capture { host, place: named.place });
    }
    captures.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn found(make: impl FnOnce(&Path)) -> Vec<(String, bool)> {
        let dir = tempfile::tempdir().expect("a directory");
        make(dir.path());
        let captures = find(&[dir.path().to_owned()]).expect("is readable");
        captures.into_iter().map(|capture| (capture.host, capture.place.is_ok())).collect()
    }

    fn file(dir: &Path, name: &str) {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().expect("below the directory")).expect("directories");
        fs::write(path, "x").expect("a file");
    }

    fn names(found: &[(String, bool)]) -> Vec<&str> {
        found.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn a_name_loses_the_endings_of_archives_and_texts_and_keeps_its_domain() {
        for (name, wanted) in [
            ("web01.tar.zst", "web01"),
            ("web01.example.org.txt", "web01.example.org"),
            ("web01.txt.gz", "web01"),
            ("web01", "web01"),
            (".txt", ".txt"),
            ("", ""),
        ] {
            assert_eq!(stem(name), wanted);
        }
    }

    #[test]
    fn every_entry_is_a_host_in_the_order_of_names() {
        let found = found(|dir| {
            ["b.txt", "a.tar.gz", "c/lspci.txt", "c/dmesg.txt", ".hidden", "d/proc/x", "d/sys/y"]
                .iter()
                .for_each(|name| file(dir, name));
        });
        assert_eq!(names(&found), ["a", "b", "c", "d"]);
    }

    #[test]
    fn a_directory_of_archives_or_directories_is_a_group_of_hosts() {
        let found = found(|dir| {
            [
                "rack1/a.tar.zst",
                "rack1/b.tar.zst",
                "rack2/c/lspci.txt",
                "rack2/d/lspci.txt",
                "one/e/lspci.txt",
            ]
            .iter()
            .for_each(|name| file(dir, name));
        });
        assert_eq!(names(&found), ["one", "rack1/a", "rack1/b", "rack2/c", "rack2/d"]);
    }

    #[test]
    fn two_captures_of_one_name_keep_their_endings() {
        let found = found(|dir| ["a.txt", "a.tar", "a.log", "b.txt"].iter().for_each(|name| file(dir, name)));
        assert_eq!(names(&found), ["a.log", "a.tar", "a.txt", "b"]);
    }

    #[test]
    fn links_are_not_followed() {
        let found = found(|dir| {
            file(dir, "a.txt");
            symlink(dir, dir.join("loop")).expect("a link");
            symlink("/etc/passwd", dir.join("passwd")).expect("a link");
        });
        assert_eq!(found, [("a".to_owned(), true), ("loop".to_owned(), false), ("passwd".to_owned(), false)]);
    }

    #[test]
    fn standard_input_is_no_fleet() {
        assert!(find(&[PathBuf::from("-")]).is_err());
        assert!(find(&[PathBuf::from("/no/such/place")]).is_err());
    }
}
