//! Many parts, one machine.

use super::Part;
use crate::machine::Machine;

/// Puts parts together: of two known facts that of the higher rank stays; a known fact stays before a missing one.
pub fn merge(parts: Vec<Part>) -> Machine {
    let mut parts = parts;
    parts.sort_by(|a, b| b.rank.cmp(&a.rank));
    let mut machine = parts.into_iter().map(|part| part.machine).next().unwrap_or_default();
    super::join::join(&mut machine);
    machine
}
