//! Where the texts are: files, directories, archives, compressed or not, or standard input.
//!
//! What a file is, its content says and not its name. Nothing that is read is believed: sizes, depths and counts are
//! bounded, links are not followed out of what was named, and what is broken costs itself only. Each text is shown to
//! the readers as soon as it is there and then forgotten, so that a large archive takes no more room than a small one.

mod collector;
mod format;
mod walk;

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use narrows_machine::snapshot::SnapshotError;

use super::Text;
use super::foreign::{self, Bounded, MOST_OF_FILE, MOST_OF_STREAM};
use collector::Collector;

pub use collector::Gathered;

/// The most of one text that is read, in bytes; the rest is left out. `lspci -vvvxxxx` of a thousand functions is 20 MB.
pub const MOST_OF_TEXT: u64 = 24 << 20;

/// As much of a text is shown to a [`Viewer`] who may take it, in bytes.
pub const OFFERED: u64 = 1 << 20;

/// The most that one input may unpack to, in bytes.
pub const MOST_UNPACKED: u64 = 1 << 30;

/// The most that all inputs may unpack to together, in bytes: archives lie in archives.
pub const MOST_UNPACKED_IN_ALL: u64 = 4 << 30;

/// The longest that archives and directories are read: an archive of all that a machine says takes some seconds.
pub const LONGEST_UNPACKING: Duration = Duration::from_secs(120);

/// The most texts in archives and directories. A report of `sos` has some ten thousand.
pub const MOST_TEXTS: usize = 50_000;

/// The most texts in which something was recognised: what was found is held until all of it is put together.
pub const MOST_KNOWN_TEXTS: usize = 5_000;

/// The most of all texts that is shown to the readers, in bytes.
pub const MOST_OF_TEXTS: u64 = 512 << 20;

/// Why an input cannot be used at all.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// It cannot be opened or read.
    #[error("cannot read `{name}`: {error}")]
    Unreadable {
        /// What was named.
        name: String,
        /// What the operating system says.
        #[source]
        error: io::Error,
    },
    /// It is a record that cannot be used, or a running machine.
    #[error("cannot use `{name}`: {error}")]
    Unusable {
        /// What was named.
        name: String,
        /// What is wrong with it.
        #[source]
        error: SnapshotError,
    },
}

/// Gathers what is in `paths`; `-` is `stdin`.
///
/// # Errors
/// [`InputError`] when one of them cannot be opened, is a running machine, or is a damaged record of `narrows
/// snapshot`. Anything else that is wrong is a note in [`Gathered::notes`].
pub fn gather(paths: &[PathBuf], stdin: impl Read) -> Result<Gathered, InputError> {
    gather_with(paths, stdin, &mut |_: &Text| false)
}

/// Who else looks at the texts.
pub trait Viewer {
    /// Looks at a text, in which the readers of captures found something if `is_known`; whether something in it is known.
    fn see(&mut self, text: &Text, is_known: bool) -> bool;

    /// Is offered a text before it is held as a whole: its name, its first bytes, whether these are all of it, and the
    /// rest. What is taken is shown to nobody else; `None` when it is not, and then nothing may have been read.
    fn take(&mut self, _name: &str, _head: &[u8], _is_whole: bool, _rest: &mut dyn Read) -> Option<Taken> {
        None
    }
}

impl<F: FnMut(&Text) -> bool> Viewer for F {
    fn see(&mut self, text: &Text, is_known: bool) -> bool {
        self(text) || is_known
    }
}

/// What became of a text that a [`Viewer`] took.
#[derive(Debug, Default)]
pub struct Taken {
    /// Whether something in it is known.
    pub is_known: bool,
    /// Why it could not be read to its end.
    pub failure: Option<io::Error>,
}

/// Gathers as [`gather`] does, and shows each text to `viewer` too, who says whether it knew something in it.
///
/// # Errors
/// As of [`gather`].
pub fn gather_with(
    paths: &[PathBuf],
    stdin: impl Read,
    viewer: &mut dyn Viewer,
) -> Result<Gathered, InputError> {
    let mut collector = Collector::new(viewer);
    let mut stdin = Some(stdin);
    for path in paths {
        let named = path.display().to_string();
        if path == Path::new("-") {
            // There is only one standard input; named again it has ended.
            if let Some(stdin) = stdin.take() {
                let stdin = Bounded::new(stdin, MOST_OF_STREAM);
                collector.input("standard input", stdin).map_err(|error| unusable("-", error))?;
            }
        } else if path.is_dir() {
            walk::walk(path, &mut collector).map_err(|error| unusable(&named, error))?;
        } else {
            let file = foreign::open(path, MOST_OF_FILE)
                .map_err(|error| InputError::Unreadable { name: named.clone(), error })?;
            collector.input(&shown(path), file).map_err(|error| unusable(&named, error))?;
        }
        collector.end_path();
    }
    Ok(collector.finish())
}

/// What the beginning of a file shows of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Glance {
    /// Whether something in it is recognised.
    pub is_known: bool,
    /// Whether it is a record of a machine.
    pub is_record: bool,
    /// What readers of captures recognise in it: `lspci -vv`, `dmesg`.
    pub kinds: Vec<&'static str>,
}

/// Looks at the first 64 KiB of a file as [`gather_with`] would at all of it. What cannot be read shows nothing.
pub fn glance(path: &Path, viewer: &mut dyn Viewer) -> Glance {
    const LOOKED_AT: u64 = 64 << 10;
    let Ok(file) = foreign::open(path, MOST_OF_FILE) else { return Glance::default() };
    let mut collector = Collector::new(viewer);
    // A record that is cut off is damaged, and a record all the same.
    let is_damaged = collector.input(&shown(path), file.take(LOOKED_AT)).is_err();
    collector.end_path();
    let gathered = collector.finish();
    let is_record = is_damaged || !gathered.trees.is_empty();
    let kinds = gathered.merger.finish().captured.map(|captured| captured.texts).unwrap_or_default();
    Glance {
        is_known: is_record || gathered.is_known.contains(&true),
        is_record,
        kinds: kinds.into_iter().flat_map(|text| text.kinds).collect(),
    }
}

/// Whether a file that a person named can be read as one: it is a file or pipe, and no kernel makes its content.
pub fn is_readable(path: &Path) -> bool {
    foreign::open(path, MOST_OF_FILE).is_ok()
}

fn unusable(name: &str, error: SnapshotError) -> InputError {
    InputError::Unusable { name: name.to_owned(), error }
}

/// How a file is called in sources: as it was typed, but never with a whole path, which tells where its owner keeps it.
fn shown(path: &Path) -> String {
    let name = if path.is_absolute() { path.file_name().map(Path::new) } else { Some(path) };
    name.unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests;
