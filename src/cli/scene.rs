//! Finds what is to be measured by what was typed.

use super::{Failure, facts, target};
use narrows_machine::root::Root;
use narrows_session::scene::Scene;

/// Reads this machine and finds the path to what was typed.
///
/// # Errors
/// [`Failure`] when there is no such target.
pub(super) fn read(typed: &str) -> Result<Scene, Failure> {
    let root = Root::live();
    let machine = facts::read(&root);
    let asked = target::resolve(&root, &machine, typed)?;
    target::awake(&root, &machine, &asked)?;
    Scene::of(root, machine, &asked).ok_or_else(|| Failure::new("no storage path leads to this target"))
}
