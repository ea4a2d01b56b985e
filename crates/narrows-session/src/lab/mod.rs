//! Which layout is best here? Builds, measures and undoes RAID × encryption × file system.
//!
//! [`predict()`] says beforehand what a cell will give, from the [`Basis`]; [`aim`] ranks what came of it.
//!
//! A [`Cell`] is what is built; [`recipe`](recipe()) says of which [`Step`]s, and each step says its command lines. A
//! [`Workshop`] takes them: each is durable in the [`journal`] before it is taken. [`undo`](undo()) takes away what it finds
//! on the devices of a journal, in whatever state that is, and proves that the devices are as they were.

pub mod aim;
mod build;
pub mod journal;
mod journal_file;
mod names;
mod outcome;
mod predict;
mod recipe;
pub mod scratch;
pub mod sight;
pub mod slice;
mod slices;
mod step;
mod tool;
mod undo;

pub use crate::trust::{DIRECTORY, Untrusted};
pub use build::Workshop;
pub use journal_file::{JournalError, JournalFile, journals};
pub use names::{LabId, MOUNTS, Names};
pub use outcome::{
    APART, Basis, CellCopy, CipherRate, Copied, CopySource, Mapping, Measured, Outcome, Pairs, Predicted,
    ReadFrom, Written, is_bare, pairs,
};
pub use predict::predict;
pub use recipe::{Cell, Encryption, FileSystem, Layout};
pub use recipe::{Means, notes, recipe, top};
pub use step::{Call, Input, Level, On, Step};
pub use tool::{Key, Tools};
pub use undo::{UndoError, Undone, undo};
