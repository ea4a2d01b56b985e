//! What is measured: a machine, and one path of it.

use crate::cli::{Failure, facts, target};
use narrows_machine::Machine;
use narrows_machine::root::Root;
use narrows_model::path::build;
use narrows_verdict::Subject;

/// A machine, and the one path of it that is measured.
pub(in crate::cli) struct Scene {
    /// Where facts are read.
    pub(in crate::cli) root: Root,
    /// The machine.
    pub(in crate::cli) machine: Machine,
    /// The path with its ceilings, and no runs.
    pub(in crate::cli) subject: Subject,
}

impl Scene {
    /// Reads this machine and finds the path to what was typed.
    ///
    /// # Errors
    /// [`Failure`] when there is no such target.
    pub(in crate::cli) fn read(typed: &str, cpu_node: Option<u32>) -> Result<Self, Failure> {
        let root = Root::live();
        let machine = facts::read(&root);
        let asked = target::resolve(&root, &machine, typed)?;
        target::awake(&root, &machine, &asked)?;
        let options = build::Options { reader_node: cpu_node };
        let path = build::path_with(&machine, &asked, &options)
            .ok_or_else(|| Failure::new("no storage path leads to this target"))?;
        Ok(Self { root, machine, subject: Subject::of(path) })
    }
}
