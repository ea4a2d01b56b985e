//! Which layout is best here? Builds, measures and undoes RAID × encryption × file system.
//!
//! [`predict()`] says beforehand what a cell will give, from the [`Basis`]; [`aim`] ranks what came of it.
//!
//! A [`Cell`] is what is built; [`recipe`](recipe()) says of which [`Step`]s, and each step says its command lines. A
//! [`Workshop`] takes them: each is durable in the [`journal`] before it is taken. [`undo`](undo()) takes away what it finds
//! on the devices of a journal, in whatever state that is, and proves that the devices are as they were.

pub mod aim;
mod build;
mod call;
mod clear;
mod command;
pub mod journal;
mod journal_file;
mod key;
mod layout;
mod names;
pub mod order;
mod outcome;
mod place;
mod predict;
mod recipe;
pub mod scratch;
pub mod sight;
pub mod slice;
mod slices;
mod step;
mod tool;
mod undo;

mod watch;

pub use crate::trust::{DIRECTORY, Untrusted};
pub use build::{BuildError, Workshop};
pub use call::{Call, Input};
pub use journal_file::{JournalError, JournalFile, journals};
pub use key::Key;
pub use layout::{Cell, Encryption, FileSystem, Layout};
pub use names::{LabId, MOUNTS, Names};
pub use outcome::{
    Basis, CellCopy, CipherRate, Copied, CopySource, Mapping, Measured, Outcome, Predicted, ReadFrom, Written,
};
pub use predict::predict;
pub use recipe::{Means, notes, recipe, top, with_discards};
pub use step::{Level, On, Step};
pub use tool::{ToolError, Tools};
pub use undo::{UndoError, Undone, undo};
