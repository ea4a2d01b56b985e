//! Opens the machine that was asked about and reads it once.

use std::io::{self, Read};
use std::path::PathBuf;

use super::{Failure, output};
use narrows_answer::{Facts, Seen, read};
use narrows_machine::Machine;
use narrows_machine::root::Root;
use narrows_machine::snapshot;
use narrows_model::path::file::{Document, MOST_BYTES};
use narrows_paste::capture;
use narrows_paste::capture::foreign::{self, Refusal};
use narrows_paste::capture::input::InputError;
use narrows_paste::not_read;
use narrows_report::text::reply;

/// The machine we run on, or the one that `from` holds: a record, texts, or both; `-` is `stdin`. In a text nothing may be
/// recognised. `seen` sees each text.
///
/// # Errors
/// [`Failure`] when something of `from` cannot be opened or used.
pub(super) fn open(from: &[PathBuf], stdin: impl Read, mut seen: Seen) -> Result<Facts, Failure> {
    if from.is_empty() {
        return Ok(Facts::of_root(Root::live()));
    }
    let gathered = capture::gather_with(from, stdin, &mut seen).map_err(|error| refused(&error))?;
    Ok(Facts::of(gathered, seen))
}

/// The same for what is to be a machine.
///
/// # Errors
/// As [`open`], and when nothing is recognised.
pub(super) fn machine(from: &[PathBuf]) -> Result<Facts, Failure> {
    recognised(from, open(from, io::stdin().lock(), Seen::default())?)
}

/// The same, and no device of the machine we run on is woken for it: what only the hardware could tell of one that sleeps is
/// not known. For what is asked again and again.
///
/// # Errors
/// As [`open`].
pub(super) fn open_gently(from: &[PathBuf]) -> Result<Facts, Failure> {
    if from.is_empty() { Ok(Facts::of_root(Root::live().letting_sleep())) } else { machine(from) }
}

/// The machine that one capture of a fleet holds; results in it are not read.
///
/// # Errors
/// As [`open`].
pub(super) fn machine_of(capture: &PathBuf) -> Result<Facts, Failure> {
    let from = std::slice::from_ref(capture);
    recognised(from, open(from, io::empty(), Seen::of_machines())?)
}

fn recognised(from: &[PathBuf], facts: Facts) -> Result<Facts, Failure> {
    if facts.has_nothing() { Err(nothing(from)) } else { Ok(facts) }
}

/// The descriptions of systems that files in which nothing else was recognised are, if all are.
pub(super) fn described(files: &[PathBuf]) -> Option<Vec<PathBuf>> {
    // What came out of a pipe does not come again.
    let is_one = |file: &PathBuf| {
        let is_whole = |text: &str| text.contains("\"narrows/path/") && Document::parse("", text).is_ok();
        let text = || foreign::text(file, MOST_BYTES as u64);
        file.to_string_lossy().ends_with(".path.toml")
            || file.is_file() && text().is_ok_and(|text| is_whole(&text))
    };
    files.iter().all(is_one).then(|| files.to_vec())
}

/// Files in which nothing was recognised, and what was typed beside them, as places of this machine.
///
/// # Errors
/// [`Failure`] when one is no place: standard input.
pub(super) fn places(files: &[PathBuf], typed: &[String]) -> Result<Vec<String>, Failure> {
    if files.iter().any(|file| file.as_os_str() == "-") {
        return Err(nothing(files));
    }
    /// Nobody writes a longer question.
    const LONGEST: u64 = 1 << 20;
    for file in files {
        let text =
            if file.is_file() { foreign::text(file, LONGEST).unwrap_or_default() } else { String::new() };
        let is_question = reply::speaks_of_storage(&text);
        let hint = if is_question { " (--reply writes what to ask its author)" } else { "" };
        let name = file.display();
        let found = match not_read::tool(&text) {
            Some(tool) => format!("`{name}` holds what {tool} prints, of which narrows reads nothing"),
            None => format!("nothing was recognised in `{name}`"),
        };
        output::note(&format!("narrows: {found}, so this is the path to it{hint}"));
    }
    let names = files.iter().map(|file| file.to_string_lossy().into_owned());
    Ok(names.chain(typed.iter().cloned()).collect())
}

pub(super) fn refused(error: &InputError) -> Failure {
    match error {
        InputError::Unreadable { error: why, .. } => {
            let hint = Refusal::of(why).map_or(
                "name a file or directory that you may read, made with `narrows snapshot`",
                Refusal::hint,
            );
            Failure::new(error.to_string()).hint(hint)
        }
        InputError::Unusable { .. } => Failure::with_own_hint(&error.to_string()),
    }
}

pub(super) fn nothing(from: &[PathBuf]) -> Failure {
    let name = |path: &PathBuf| match path.as_os_str() == "-" {
        true => "standard input".to_owned(),
        false => format!("`{}`", path.display()),
    };
    let names: Vec<String> = from.iter().map(name).collect();
    Failure::new(format!("nothing in {} was recognised", names.join(", "))).hint(
        "narrows reads what lspci, dmesg, lsblk, smartctl, fio, dd and many others print (docs/readers.md has the list); \
         `narrows snapshot --script` prints a collector",
    )
}

/// What of the machine cannot be seen at all, as in a container without `/sys`. The report is then a part of the truth.
/// Of a machine that was put together from texts a part is all there is.
pub(super) fn unseen(root: &Root, machine: &Machine) -> Vec<Failure> {
    if machine.captured.is_some() {
        return Vec::new();
    }
    let hint = |path: &str, kind: &str| {
        if root.is_live() {
            format!("in a container, give it `{path}` of the host; elsewhere: mount -t {kind} {kind} {path}")
        } else {
            "record the machine with `narrows snapshot`".to_owned()
        }
    };
    let parts = [
        (
            root.list("/sys").is_empty(),
            "`/sys` is empty or missing: devices and their links",
            ("/sys", "sysfs"),
        ),
        (
            !root.exists("/proc/self/mountinfo"),
            "`/proc/self/mountinfo` is missing: mounted file systems",
            ("/proc", "proc"),
        ),
    ];
    let missing = parts.into_iter().filter(|(is_missing, ..)| *is_missing);
    missing
        .map(|(_, what, (path, kind))| Failure::new(format!("{what} cannot be seen")).hint(hint(path, kind)))
        .collect()
}

/// A record of what is read on this machine, packed.
///
/// # Errors
/// [`Failure`] when it cannot be packed.
pub(super) fn record(is_redacted: bool) -> Result<Vec<u8>, Failure> {
    let root = Root::recording();
    read(&root);
    let tree = root.into_record().ok_or_else(|| Failure::new("nothing was recorded"))?;
    let mut packed = Vec::new();
    snapshot::write(&tree, &mut packed, is_redacted)
        .map_err(|error| Failure::with_own_hint(&format!("cannot pack the snapshot: {error}")))?;
    Ok(packed)
}
