//! Where the texts are: files, directories, archives, compressed or not, or standard input.
//!
//! What a file is, its content says and not its name. Nothing that is read is believed: sizes, depths and counts are
//! bounded, links are not followed out of what was named, and what is broken costs itself only. Each text is shown to
//! the readers as soon as it is there and then forgotten, so that a large archive takes no more room than a small one.

mod archive;
mod collector;
#[cfg(target_os = "linux")]
mod files;
mod format;
#[cfg(target_os = "linux")]
mod walk;

use std::io::{self, Read};
use std::time::Duration;

use narrows_machine::snapshot::SnapshotError;

use super::Text;
use collector::Collector;

pub use collector::Gathered;
#[cfg(target_os = "linux")]
pub use files::{gather, gather_with, glance, is_readable};

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

/// Gathers what is in texts, or archives of texts, each with its name.
///
/// # Errors
/// [`InputError`] when one is a damaged record of `narrows snapshot`.
pub fn gather_texts<'t>(
    texts: impl IntoIterator<Item = (&'t str, &'t [u8])>,
    viewer: &mut dyn Viewer,
) -> Result<Gathered, InputError> {
    let mut collector = Collector::new(viewer);
    for (name, content) in texts {
        collector.input(name, content).map_err(|error| unusable(name, error))?;
        collector.end_path();
    }
    Ok(collector.finish())
}

fn unusable(name: &str, error: SnapshotError) -> InputError {
    InputError::Unusable { name: name.to_owned(), error }
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

#[cfg(test)]
mod tests;
