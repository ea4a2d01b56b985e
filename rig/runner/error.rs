//! What can go wrong before a verdict.

use std::io;
use std::path::{Path, PathBuf};

/// Why the rig could not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RigError {
    /// The command line is wrong.
    #[error("{0}\nhint: `cargo test --test rig -- --help` lists the options")]
    Usage(String),
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A program is missing.
    #[error("cannot start `{tool}`: {source}\nhint: `rig/setup.sh` installs what the rig needs")]
    Start {
        /// The program.
        tool: String,
        /// What the system said.
        source: io::Error,
    },
    /// A program failed.
    #[error("`{command}` failed ({status}): {stderr}")]
    Failed {
        /// What was run.
        command: String,
        /// How it ended.
        status: String,
        /// What it said.
        stderr: String,
    },
    /// Something the rig needs is not there.
    #[error("{what} is missing\nhint: {hint}")]
    Missing {
        /// What.
        what: String,
        /// How to get it.
        hint: &'static str,
    },
    /// A scenario file is wrong.
    #[error("{}: {reason}", path.display())]
    Scenario {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The virtual machine did not do what it should.
    #[error("{0}")]
    Machine(String),
    /// The virtual machine stood still: not even its own time limits ended what ran in it.
    #[error("{0}")]
    StoodStill(String),
}

impl RigError {
    /// For `map_err` on file operations.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { path: path.to_owned(), source }
    }
}

/// A result of the rig.
pub(crate) type Result<T> = std::result::Result<T, RigError>;
