//! Why a typed directory is not used.

use std::io;
use std::path::{Path, PathBuf};

use super::trust::Changer;

/// Why a typed directory is not used.
#[derive(Debug, thiserror::Error)]
pub enum HeldError {
    /// The kernel refused.
    #[error("cannot open the directory `{}`: {source}", plain(path))]
    Io {
        /// What was typed.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A symbolic link that somebody else may have changed, or may change now.
    #[error(
        "`{}` is a symbolic link that other users can change ({changer}); now it leads to `{}`",
        plain(link),
        plain(leads_to)
    )]
    Link {
        /// The link.
        link: PathBuf,
        /// Where it leads.
        leads_to: PathBuf,
        /// Who can.
        changer: Changer,
    },
    /// A link of `/proc`, which leads to what a process has open and not to what it says.
    #[error("`{}` is a link of /proc, which leads to whatever a process has open", plain(.0))]
    Magic(PathBuf),
    /// Others can change what is in the directory.
    #[error("narrows runs as root, and other users can change what is in `{}`: {changer}", plain(directory))]
    Shared {
        /// The directory, on the way to what was typed or that itself.
        directory: PathBuf,
        /// Who can.
        changer: Changer,
    },
}

impl HeldError {
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    /// What to do next, where there is something to do.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Io { .. } => None,
            Self::Link { .. } | Self::Magic(_) => {
                Some("name the directory that it leads to, if that is the one you mean")
            }
            Self::Shared { .. } => Some(
                "use a directory that only root can change, on a path that only root can change (made with \
                 `mkdir -m 700`), or run as the user whose directory it is; `bench DIR`, `copy` and `snapshot` need no root",
            ),
        }
    }
}

/// A path for a terminal: others may have chosen the names in it.
fn plain(path: &Path) -> String {
    path.display().to_string().escape_debug().to_string()
}
