//! What the words behind `narrows` are: parts of this machine, or files in which machines, results, reports or descriptions
//! stand. The content of a file tells, never its name.

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::fleet::entries;
use super::{Failure, files};
use narrows_answer::Seen;
use narrows_paste::capture::foreign;
use narrows_paste::capture::{Glance, glance, is_readable};
use narrows_runs::saved::{self, Saved};

/// As many entries of a directory are looked at to see whether it holds captures.
const LOOKED_AT: usize = 8;

/// As many files in each directory in it.
const LOOKED_INSIDE: usize = 4;

/// As many files in which nothing is recognised may stand beside directories of captures.
const MOST_BESIDE: usize = 2;

/// Directories without files are looked into so deep, as bench-fio leaves them.
const DEEPEST: u32 = 3;

/// What was asked.
pub(super) enum Asked {
    /// Machines, one behind each path.
    Fleet(Vec<PathBuf>),
    /// Reports that narrows made.
    Saved(Vec<PathBuf>),
    /// One machine, or results: what of it, and the files in which it stands. Files of which that is not known are among
    /// `files`, too.
    One { files: Vec<PathBuf>, targets: Vec<String> },
}

/// Sorts words.
pub(super) fn sort(words: &[String]) -> Asked {
    let (files, targets): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| is_input(word));
    let files: Vec<PathBuf> = files.into_iter().map(PathBuf::from).collect();
    if targets.is_empty() && !files.is_empty() {
        if files.iter().all(|file| is_report(file)) {
            return Asked::Saved(files);
        }
        if are_machines(&files) {
            return Asked::Fleet(files);
        }
    }
    Asked::One { files, targets: targets.into_iter().cloned().collect() }
}

/// Whether a word may be something to read: standard input, a file or pipe, or a directory of captures.
fn is_input(word: &str) -> bool {
    let path = Path::new(word);
    if path.is_dir() {
        return captures(path) != Captures::None;
    }
    let is_pipe = || path.metadata().is_ok_and(|about| about.file_type().is_fifo());
    word == "-" || is_pipe() || is_readable(path)
}

/// Whether each of several inputs, or what is in them, is a machine of its own.
fn are_machines(files: &[PathBuf]) -> bool {
    let is_record = |file: &PathBuf| file.is_file() && look(file).is_record;
    match files {
        [one] => one.is_dir() && captures(one) == Captures::Many,
        several => {
            several.iter().all(|file| file.is_dir() && captures(file) == Captures::Many || is_record(file))
        }
    }
}

fn look(path: &Path) -> Glance {
    glance(path, &mut Seen::default())
}

/// What a directory holds of captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Captures {
    /// It is a place of this machine.
    None,
    /// One machine, or results.
    One,
    /// Machines.
    Many,
}

/// What a directory holds, by its first entries: captures, where a fifth of the files are some, or most of the directories. What a file system is mounted on is a
/// place, whatever lies there.
fn captures(directory: &Path) -> Captures {
    if is_mount_point(directory) {
        return Captures::None;
    }
    if is_record(directory) {
        return Captures::One;
    }
    let Ok(entries) = entries::list(directory) else { return Captures::None };
    let of_kind = |is_file: bool| {
        let all =
            entries.iter().filter(move |(_, kind)| if is_file { kind.is_file() } else { kind.is_dir() });
        all.map(|(path, _)| path.as_path()).filter(move |path| !is_file || !is_empty(path)).take(LOOKED_AT)
    };
    let files: Vec<Glance> = of_kind(true).map(look).collect();
    // Where files tell, nobody looks further.
    let is_told = files.len() > MOST_BESIDE || files.iter().any(|one| one.is_known);
    let inside: Vec<Glance> = match is_told {
        true => Vec::new(),
        false => of_kind(false).map(|path| look_inside(path, DEEPEST)).collect(),
    };
    let known = |all: &[Glance]| all.iter().filter(|one| one.is_known).cloned().collect::<Vec<Glance>>();
    let (known_files, known_inside) = (known(&files), known(&inside));
    let count = known_files.len() + known_inside.len();
    let is_machine = |one: &Glance| one.is_record || !one.kinds.is_empty();
    let are_many = match known_files.split_first() {
        None => known_inside.iter().filter(|one| is_machine(one)).count() > 1,
        Some((first, others)) => {
            let is_in_all = |kind: &&str| others.iter().all(|other| other.kinds.contains(kind));
            let are_alike = !others.is_empty() && first.kinds.iter().any(is_in_all);
            entries.len() > 1 && (are_alike || known_files.iter().any(|one| one.is_record))
        }
    };
    let is_enough = match known_files.len() {
        0 => files.len() <= MOST_BESIDE && known_inside.len() * 2 > inside.len(),
        some => some * 5 >= files.len(),
    };
    match () {
        () if count == 0 || !is_enough => Captures::None,
        () if are_many => Captures::Many,
        () => Captures::One,
    }
}

fn is_empty(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.len() == 0)
}

/// Whether a directory is the topmost of its file system.
fn is_mount_point(directory: &Path) -> bool {
    let device = |path: &Path| path.metadata().ok().map(|about| about.dev());
    device(directory) != device(&directory.join(".."))
}

/// What a directory in one that is asked about shows: its first files where half of them show something, or where it has none, its
/// first directory. A place of this machine is to be told without walking through it.
fn look_inside(directory: &Path, deeper: u32) -> Glance {
    if is_record(directory) {
        return Glance { is_known: true, is_record: true, kinds: Vec::new() };
    }
    let entries = entries::list(directory).unwrap_or_default();
    let files = entries.iter().filter(|(path, kind)| kind.is_file() && !is_empty(path));
    let looked: Vec<Glance> = files.take(LOOKED_INSIDE).map(|(path, _)| look(path)).collect();
    let count = looked.iter().filter(|one| one.is_known).count();
    let first = entries.iter().find(|(_, kind)| kind.is_dir()).filter(|_| looked.is_empty() && deeper > 0);
    match first {
        Some((path, _)) => look_inside(path, deeper - 1),
        None if count * 2 < looked.len() => Glance::default(),
        None => looked.into_iter().find(|one| one.is_known).unwrap_or_default(),
    }
}

/// Whether a directory is a record of a machine, and not the root of one: its `sys` has something in it, and no kernel answers
/// there.
fn is_record(directory: &Path) -> bool {
    let has = |place: &str| directory.join(place).is_dir();
    let is_kept = ["sys/bus", "sys/class", "sys/block", "sys/devices", "sos_commands"].into_iter().any(has);
    is_kept && !foreign::is_live(&directory.join("sys"))
}

/// Whether a file is a report that narrows made. What is read from a pipe is gone.
fn is_report(file: &Path) -> bool {
    file.is_file()
        && foreign::open(file, files::LARGEST).is_ok_and(|file| saved::is_report(BufReader::new(file)))
}

/// Whether a text begins as a report of narrows does, as far as it is there.
fn begins_report(head: &[u8]) -> bool {
    let plain: Vec<u8> = head.iter().filter(|byte| !byte.is_ascii_whitespace()).copied().collect();
    let says = b"\"schema\":\"narrows/";
    plain.starts_with(b"{") && plain.windows(says.len()).any(|part| part == says)
}

/// Reads reports.
///
/// # Errors
/// [`Failure`] when one cannot be read, or no page is made of it.
pub(super) fn saved(paths: &[PathBuf]) -> Result<Vec<(Saved, String)>, Failure> {
    let read = |file: &PathBuf| {
        let text = files::text(file, files::LARGEST, "name a file that --json or --save made")?;
        report_of(&file.display().to_string(), text)
    };
    paths.iter().map(read).collect()
}

fn report_of(name: &str, text: String) -> Result<(Saved, String), Failure> {
    let saved = Saved::read(&text)
        .map_err(|error| Failure::new(format!("cannot show `{name}`: {error}")).hint(error.hint()))?;
    Ok((saved, text))
}

/// The report that standard input is, if it is one; what else it is can be read from it as if nobody had looked.
///
/// # Errors
/// [`Failure`] when it cannot be read to its end.
pub(super) fn report_of_stdin(stdin: &mut BufReader<impl Read>) -> Result<Option<(Saved, String)>, Failure> {
    let cannot = |error: &io::Error| Failure::new(format!("cannot read standard input: {error}"));
    if !begins_report(stdin.fill_buf().map_err(|error| cannot(&error))?) {
        return Ok(None);
    }
    let mut text = String::new();
    let mut whole = foreign::Bounded::new(stdin, files::LARGEST);
    whole.read_to_string(&mut text).map_err(|error| cannot(&error))?;
    report_of("standard input", text).map(Some)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use super::*;
    use std::fs;

    const LSPCI: &str = "00:00.0 Host bridge: Intel Corporation Device 4660 (rev 02)\n\
                         01:00.0 Non-Volatile memory controller: Sandisk Corp WD Black SN770 (rev 01)\n";
    const MDSTAT: &str = "Personalities : [raid1]\nmd0 : active raid1 sda1[0] sdb1[1]\n      \
                          1000 blocks super 1.2 [2/2] [UU]\n\nunused devices: <none>\n";

    fn held(files: &[(&str, &str)]) -> (tempfile::TempDir, Captures) {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("below it")).expect("directories");
            fs::write(path, text).expect("is written");
        }
        let held = captures(dir.path());
        (dir, held)
    }

    #[test]
    fn a_directory_is_what_its_entries_are() {
        let of = |files: &[(&str, &str)]| held(files).1;
        assert_eq!(of(&[]), Captures::None);
        assert_eq!(of(&[("notes.txt", "hello\n"), ("lspci.txt", LSPCI)]), Captures::One);
        let notes: Vec<String> = (0..5).map(|number| format!("{number}.txt")).collect();
        let many: Vec<(&str, &str)> = notes.iter().map(|name| (name.as_str(), "hello\n")).collect();
        assert_eq!(of(&[&many[..], &[("lspci.txt", LSPCI)]].concat()), Captures::None);
        assert_eq!(of(&[("lspci.txt", LSPCI), ("mdstat.txt", MDSTAT)]), Captures::One);
        assert_eq!(of(&[("a.txt", LSPCI), ("b.txt", LSPCI)]), Captures::Many);
        assert_eq!(of(&[("a/lspci.txt", LSPCI), ("b/lspci.txt", LSPCI)]), Captures::Many);
        assert_eq!(of(&[("README.md", "hello\n"), ("empty", ""), ("a/mdstat.txt", MDSTAT)]), Captures::One);
        assert_eq!(of(&[("a/b/c/mdstat.txt", MDSTAT)]), Captures::One);
        // A home with captures somewhere in it.
        let home = [("src/main.rs", "fn main() {}\n"), ("src/x", "x\n"), ("pasted/lspci.txt", LSPCI)];
        assert_eq!(of(&home), Captures::None);
        assert_eq!(of(&[("sys/class/block/sda/size", "1\n"), ("proc/version", "x\n")]), Captures::One);
        assert_eq!(of(&[("sys/x", "1\n"), ("usr/bin/x", "x\n")]), Captures::None);
    }

    #[test]
    fn the_root_of_this_machine_is_a_place_of_it() {
        assert_eq!(captures(Path::new("/")), Captures::None);
    }

    #[test]
    fn a_report_says_so_where_it_begins() {
        assert!(begins_report(b"{\n  \"schema\": \"narrows/check/1\",\n"));
        assert!(begins_report(b"{\"record\":\"start\",\"schema\":\"narrows/fleet/1\"}\n{"));
        assert!(!begins_report(b"{\"fio version\" : \"fio-3.33\""));
        assert!(!begins_report(b"I ran it: {\"schema\": \"narrows/check/1\"}"));
    }

    #[test]
    fn words_are_sorted_by_what_they_name() {
        let (dir, _) = held(&[("lspci.txt", LSPCI)]);
        let file = dir.path().join("lspci.txt").display().to_string();
        let words = ["/dev/no-such-disk".to_owned(), file.clone(), "-".to_owned(), "eth0".to_owned()];
        let Asked::One { files, targets } = sort(&words) else { panic!("one machine") };
        assert_eq!(files, [PathBuf::from(file), PathBuf::from("-")]);
        assert_eq!(targets, ["/dev/no-such-disk", "eth0"]);
    }
}
