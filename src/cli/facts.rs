//! Opens the machine that was asked about and reads it once.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{Failure, output};
use narrows_answer::{Facts, Seen, read};
use narrows_machine::Machine;
use narrows_machine::root::Root;
use narrows_machine::snapshot;
use narrows_model::path::file::{Document, MOST_BYTES};
use narrows_paste::capture;
use narrows_paste::capture::foreign::{self, Refusal};
use narrows_paste::capture::input::InputError;
use narrows_paste::{not_read, results};
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

/// That what a tool printed stands in one of the files and cannot be read: whoever pastes it asks for no path.
pub(super) fn unread(files: &[PathBuf], facts: &Facts) -> Option<Failure> {
    const WHOLE: &str = "paste the whole output as it was printed; docs/readers.md lists what is read";
    let hint = |file: &str| match file {
        "-" => WHOLE.to_owned(),
        _ => {
            let file = narrows_base::shell::word(file);
            format!(
                "{WHOLE}; `narrows {file} --reply` writes what to ask, `narrows --path {file}` shows the path to the file"
            )
        }
    };
    let file = files.first()?;
    let (name, text) = (file.display().to_string(), text_of(file));
    if let Some(first) = facts.seen.unread.first().filter(|_| name == "-" || is_pasted(file, &text)) {
        return Some(Failure::new(first.clone()).hint(hint(&name)));
    }
    let tool = not_read::tool(&text)?;
    Some(
        Failure::new(format!("`{name}` holds what {tool} prints, of which narrows reads nothing"))
            .hint(hint(&name)),
    )
}

/// Whether a text that has such lines is a paste: not the source of a program that quotes them, nor a page in which one occurs.
fn is_pasted(file: &Path, text: &str) -> bool {
    const SOURCES: [&str; 12] = ["rs", "py", "sh", "pl", "rb", "js", "go", "c", "h", "cc", "cpp", "java"];
    /// Of so many lines one is of a tool.
    const FEW: usize = 30;
    let is_source = file.extension().is_some_and(|ending| SOURCES.iter().any(|source| ending == *source));
    let unread = results::unread(&results::Page { name: "", body: text }, &[]);
    let count: usize = unread.iter().map(|one| one.lines.len()).sum();
    !is_source && count * FEW >= text.lines().count()
}

/// The text of a file, where it is not too long to be a question.
fn text_of(file: &Path) -> String {
    const LONGEST: u64 = 1 << 20;
    if file.is_file() { foreign::text(file, LONGEST).unwrap_or_default() } else { String::new() }
}

/// Files in which nothing was recognised, and what was typed beside them, as places of this machine.
///
/// # Errors
/// [`Failure`] when one is no place: standard input.
pub(super) fn places(files: &[PathBuf], typed: &[String]) -> Result<Vec<String>, Failure> {
    if files.iter().any(|file| file.as_os_str() == "-") {
        return Err(nothing(files));
    }
    for file in files {
        let hint = match reply::speaks_of_storage(&text_of(file)) {
            true => " (--reply writes what to ask its author)",
            false => "",
        };
        let found = format!("nothing was recognised in `{}`", file.display());
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
